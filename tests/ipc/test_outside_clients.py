"""Clients and servers of others against ours: every type, with its null and infinities, there and back.

`make setup-all` installs them: node-q and its own live suite, aiokdb, kola, PyKX without a licence. Each runs in a process
of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.ipc.processes import Server, eventually

pytestmark = pytest.mark.extra

# q text of every type that travels, with nulls and infinities
ATOMS = ["1b", "0b", "0x00", "0xff", "0Ng", '"G"$"0a59ac0e-f8f1-44bd-a3d9-f0a6f4a4f3f0"', "1h", "0Nh", "0Wh", "-0Wh", "1i", "0Ni",
         "0Wi", "-0Wi", "1", "0N", "0W", "-0W", "1.5e", "0Ne", "0We", "-0We", "1.5", "0n", "0w", "-0w", '"a"', '" "', "`a", "`",
         "`$\"\u00e9\u4e2d\"", "2000.01.01D12:34:56.123456789", "0Np", "0Wp", "-0Wp", "2020.03m", "0Nm", "0Wm", "2020.03.04", "0Nd",
         "0Wd", "-0Wd", "2020.03.04T12:00:00.000", "0Nz", "0D01:02:03.000000004", "0Nn", "0Wn", "-0Wn", "12:34", "0Nu", "0Wu",
         "12:34:56", "0Nv", "0Wv", "12:34:56.789", "0Nt", "0Wt", "-0Wt"]
LISTS = ["01b", "0x0102", "1 0N 0W -0Wh", "1 0N 0W -0Wi", "1 0N 0W -0W", "1 0n 0w -0we", "1 0n 0w -0w", '"abc"', '""', '"\u00e9"',
         "`a``b", "2#0Ng", "2000.01.01D 0N 0W", "2020.03 2020.04m", "2020.03.04 0Nd", "2020.03.04T12 0Nz", "0D01 0N 0Wn",
         "12:34 0Nu", "12:34:56 0Nv", "12:34:56.789 0Nt", "()", "`long$()", "`symbol$()", '("abc";"de")', '(1;`a;"x";2.5)',
         "(1 2;`a`b)", "`s#1 2 3", "`u#`a`b", "`p#1 1 2", "`g#1 2 1", "enlist 1", "(();())"]
KEYED = ["`a`b!1 2", "(`a`b)!((1 2);\"xy\")", "1 2!`a`b", "([]a:1 2;b:`x`y)", "([k:`a`b]v:1 2)", "([]s:(\"ab\";\"c\");t:0Np,2000.01.01D)",
         "([]a:`long$())", "([k:1 2;l:`a`b]v:1 0n)", "(`$())!()"]


def needs(package: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=f"{package} is not installed")


def program(text: str, *words: str, given: Any = None, folder: Path | None = None) -> Any:
    """What a Python program prints on its last line, as JSON; it finds `given` as JSON on its standard input."""
    done = subprocess.run([sys.executable, "-c", text, *words], input=json.dumps(given), capture_output=True, text=True,
                          timeout=120, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), "PYKX_UNLICENSED": "true"},
                          check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


# ------------------------------------------------------------------ aiokdb

# its writer packs these vectors as unsigned numbers, and fails for the negative ones in them
UNSIGNED = {"1 0N 0W -0Wh", "1 0N 0W -0Wi", "2020.03.04 0Nd", "12:34 0Nu", "12:34:56 0Nv", "12:34:56.789 0Nt"}
FOR_AIOKDB = [text for text in [*ATOMS, *LISTS, *KEYED] if text not in UNSIGNED]

AIOKDB = """
import asyncio, json, sys
from aiokdb import cv, kk
from aiokdb.client import open_qipc_connection, ClientContext

async def connected():
    _, writer = await open_qipc_connection(port=int(sys.argv[1]), user="me", password="pw", context=ClientContext())
    return writer

async def main():
    wrong = []
    writer = await connected()
    for text in json.load(sys.stdin):
        try:
            value = await asyncio.wait_for(writer.sync_req(cv(text)), 5)
            same = await asyncio.wait_for(writer.sync_req(kk(cv("{x~value y}"), value, cv(text))), 5)
            if not same.aB():
                wrong.append(text)
        except Exception as e:
            wrong.append(f"{text}: {type(e).__name__} {e}")
            writer = await connected()
    try:
        await writer.sync_req(cv("1+`a"))
        wrong.append("no error")
    except Exception as e:
        if str(e) != "type":
            wrong.append(f"error {e}")
    print(json.dumps(wrong))

asyncio.run(main())
"""


@needs("aiokdb")
def test_aiokdb_takes_and_gives_every_type(server: Server) -> None:
    assert program(AIOKDB, str(server.port), given=FOR_AIOKDB) == []


AIOKDB_SERVER = """
import asyncio, sys
from functools import partial
from aiokdb import cv, kk, krr
from aiokdb.server import ServerContext, handle_connection

class Echo(ServerContext):
    def check_login(self, user, password):
        return password == "pw"
    async def on_sync_request(self, x, w):
        text = x.aS() if x.t == 10 else None
        if text == "fail":
            raise Exception("failed")
        if text == "push":
            w.async_msg(kk(cv("push"), cv("a")))
        return x
    async def on_async_message(self, x, w):
        w.async_msg(x)

async def main():
    server = await asyncio.start_server(partial(handle_connection, Echo("pw")), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await asyncio.wait_for(server.serve_forever(), 100)

asyncio.run(main())
"""
ECHO = """
h:hopen`$":localhost:",(.z.x 0),":me:pw";
texts:read0`:texts.txt;
wrong:texts where{not x~y}'[value each texts;{(h(::;value x))1}each texts];
refused:@[hopen;`$":localhost:",(.z.x 0),":me:no";{x}];
failed:@[h;"fail";{x}];
hclose h;
closed:@[h;"1";{x}];
-1 .j.j(wrong;refused;failed;closed);
exit 0
"""


@needs("aiokdb")
def test_hopen_of_an_aiokdb_server(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", AIOKDB_SERVER], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None
            port = other.stdout.readline().strip()
            (tmp_path / "texts.txt").write_text("\n".join(FOR_AIOKDB))
            (tmp_path / "echo.q").write_text(ECHO)
            done = subprocess.run([sys.executable, "-m", "kshell", "-q", "echo.q", port], cwd=tmp_path, capture_output=True,
                                  text=True, timeout=100, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)})
            wrong, refused, failed, closed = json.loads(done.stdout or "null") or [done.stderr] * 4
            assert (wrong, refused, failed) == ([], "access", "failed")
            assert closed.startswith("Cannot write to handle")
        finally:
            other.kill()


# ------------------------------------------------------------------ kola

KOLA = """
import datetime, json, sys
import kola, polars as pl
q = kola.Q("127.0.0.1", int(sys.argv[1]), user="me", passwd="pw")
q.connect()
wrong = []
for text, expected in json.load(sys.stdin):
    try:
        value = q.sync(text)
        if expected is not None and str(value) != expected:
            wrong.append(f"{text}: {value}")
        if not q.sync("{x~value string y}", value, text):
            wrong.append(f"{text}: back as " + q.sync("{-3!x}", value))
    except Exception as e:
        wrong.append(f"{text}: {type(e).__name__} {e}")
frame = q.sync("([]s:`a`b;f:1 0n;j:1 2;p:2000.01.01D 2001.01.01D)")
if frame.shape != (2, 4) or q.sync("{(meta x)`t}", frame) is None or not q.sync("{x~([]s:`a`b;f:1 0n;j:1 2;p:2000.01.01D 2001.01.01D)}", frame):
    wrong.append(f"table {frame}")
try:
    q.sync("1+`a")
    wrong.append("no error")
except Exception as e:
    if "type" not in str(e):
        wrong.append(f"error {e}")
q.asyn("sent:7")
if q.sync("sent") != 7:
    wrong.append("async")
print(json.dumps(wrong))
"""
# what kola has a Python value for, without losing its type
KOLA_VALUES = [("1b", "True"), ("1", "1"), ("-5", "-5"), ("2.5", "2.5"), ("0w", "inf"), ("`a", "a"), ("2020.03.04", "2020-03-04"),
               ("12:34:56.789", "12:34:56.789000"), ("0D01:02:03", "1:02:03"), ("1 2 3", None), ("1.5 0w", None), ("`a`b", None),
               ("1 2 3h", None), ("1 2 3i", None), ("1.5 2e", None), ("01b", None), ("0x0102", None),
               ("2020.03.04 2020.03.05", None), ("2000.01.01D 2001.01.01D", None), ("0D01 0D02", None)]


@needs("kola")
def test_kola_takes_and_gives_values(server: Server) -> None:
    assert program(KOLA, str(server.port), given=KOLA_VALUES) == []


# ------------------------------------------------------------------ PyKX

PYKX = """
import json, sys
import pykx as kx
port, unix, texts = int(sys.argv[1]), sys.argv[2] == "unix", json.load(sys.stdin)
wrong = []
with kx.SyncQConnection(host="0.0.0.0" if unix else "localhost", port=port, username="me", password="pw", unix=unix) as q:
    for text in texts:
        try:
            value = q(text)
            if not q("{x~value y}", value, text.encode()).py():
                wrong.append(text)
        except Exception as e:
            wrong.append(f"{text}: {type(e).__name__} {e}")
    try:
        q("1+`a")
        wrong.append("no error")
    except kx.QError as e:
        if str(e) != "type":
            wrong.append(f"error {e}")
    if q("{x+y}", 1, 2).py() != 3:
        wrong.append("call")
    q(".Q.ipc[.z.w;([z:1b])]")
    for text in ("til 300", "til 200000", "200000#`a`bc`def", '3000000#"kshell "', "([]a:til 50000;p:2000.01.01D+50000#0 1)"):
        if not q("{x~value y}", q(text), text.encode()).py():
            wrong.append(text)
print(json.dumps(wrong))
"""


@needs("pykx")
@pytest.mark.parametrize("way", ["tcp", "unix"])
def test_pykx_takes_and_gives_every_type(server: Server, way: str) -> None:
    assert program(PYKX, str(server.port), way, given=[*ATOMS, *LISTS, *KEYED]) == []


# ------------------------------------------------------------------ node-q

MODULES = ROOT / ".venv" / "node" / "node_modules"
SUITE = ["asyncreq", "compression", "connect", "deserialization", "emptyChar2null", "flipTables", "issue18", "nanos2date", "readme",
         "serialization", "subs", "syncreqres", "unicode"]
SUITE_PORT = 5000  # it stands in the suite's files


TLS_PORT = 6000  # it stands in tls.js


def free(port: int) -> bool:
    with socket.socket() as trial:
        return trial.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.skipif(shutil.which("node") is None or not (MODULES / "node-q").is_dir(), reason="node-q is not installed")
@pytest.mark.parametrize("name", SUITE)
@pytest.mark.xdist_group("port 5000")
def test_the_live_suite_of_node_q(name: str) -> None:
    """A fresh server for each file, in the folder of tick/u.q: they leave timers and globals behind."""
    if not free(SUITE_PORT):
        pytest.skip(f"port {SUITE_PORT} is taken")
    with subprocess.Popen([sys.executable, "-m", "kshell", "-q", "-p", str(SUITE_PORT)], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=ROOT / "examples",
                          env={**os.environ, "PYTHONPATH": str(ROOT), "TZ": "UTC"}) as server:
        try:
            assert eventually(lambda: not free(SUITE_PORT))
            done = subprocess.run(["node", str(MODULES / "mocha" / "bin" / "_mocha"), "-t", "20000", f"itest/{name}.js"],
                                  cwd=MODULES / "node-q", env={**os.environ, "TZ": "UTC"}, capture_output=True, text=True,
                                  timeout=100, check=False)
            ended = server.poll()
            server.terminate()  # what it printed tells more than that there was no answer
            assert done.returncode == 0, f"{done.stdout[-3000:]}{done.stderr[-1000:]}server: {ended} {server.communicate(timeout=30)[0]!r}"
            assert "passing" in done.stdout
        finally:
            server.kill()


@pytest.mark.skipif(shutil.which("node") is None or not (MODULES / "node-q").is_dir(), reason="node-q is not installed")
@pytest.mark.skipif(shutil.which("openssl") is None, reason="the openssl command is not there")
@pytest.mark.xdist_group("port 5000")
def test_node_q_with_tls(tmp_path: Path) -> None:
    if not (free(SUITE_PORT) and free(TLS_PORT)):
        pytest.skip(f"port {SUITE_PORT} or {TLS_PORT} is taken")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=localhost", "-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem"], check=True, capture_output=True)
    env = {**os.environ, "PYTHONPATH": str(ROOT), "KX_SSL_CERT_FILE": f"{tmp_path}/cert.pem", "KX_SSL_KEY_FILE": f"{tmp_path}/key.pem"}
    servers = [subprocess.Popen([sys.executable, "-m", "kshell", "-q", "-p", str(port), *words], stdin=subprocess.DEVNULL, env=env)
               for port, words in ((SUITE_PORT, ()), (TLS_PORT, ("-E", "2")))]
    try:
        assert eventually(lambda: not free(SUITE_PORT) and not free(TLS_PORT))
        done = subprocess.run(["node", str(MODULES / "mocha" / "bin" / "_mocha"), "-t", "20000", "itest/tls.js"], cwd=MODULES / "node-q",
                              env={**os.environ, "NODE_TLS_REJECT_UNAUTHORIZED": "0"}, capture_output=True, text=True, timeout=100,
                              check=False)
        assert done.returncode == 0 and "3 passing" in done.stdout, done.stdout[-3000:]
    finally:
        for server in servers:
            server.kill()
            server.wait()
