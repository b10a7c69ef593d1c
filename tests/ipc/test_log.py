"""The log of a port: as a table, in a file, on standard error."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from kshell.ipc import log
from kshell.session import Session
from kshell.values.base.build import string as text
from tests.ipc.processes import Client, Server, eventually


def test_the_events_as_a_table() -> None:
    session = Session()
    assert session.run('count system"portlog"') == 0
    port = session.listen()
    client = Client(port, b"")
    client.socket.sendall(b"me\x1b[2J:pw\x06\0")
    session.serve(0.1)
    client.socket.sendall(b"\7" * 20)
    session.serve(0.1)
    session.run('t:system"portlog"')
    assert session.show(session.run("cols t")) == "`time`handle`peer`user`event"
    assert session.show(session.run("type each t`time`handle")) == "12 6h"
    assert session.run("(exec event from t)[1]~\"open\"") is True
    assert session.run("all(exec time from t)within .z.p+-00:01 00:01") is True
    assert session.show(session.run("(exec user from t)1")) == '"me\\\\x1b[2J"'
    assert session.run('(last exec event from t)like"badmsg*"') is True
    assert session.run('(exec peer from t)[1]like"127.0.0.1:*"') is True
    session.listen(0)


def test_only_the_last_events_are_kept() -> None:
    events = log.Log()
    for k in range(log.MOST + 5):
        events.add(f"event {k}")
    assert len(events.table()) == log.MOST
    assert events.events[0].what == "event 5"


def test_queries_are_written_if_asked(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Server(tmp_path, "", ("--log", str(path), "--log-queries")) as server:
        client = Client(server.port, b"me:secret\x06\0")
        client.ask(text("1+1"))
        client.ask(text("count" + '"' + "x" * 3000 + '"'))
        client.send(0, text("a:\n1"))
        client.ask(text("(+;2;3)"))
        assert eventually(lambda: "(+;2;3)" in path.read_text())
    lines = path.read_text().splitlines()
    assert any(line.endswith(" me sync 1+1") for line in lines)
    assert any(line.endswith("async a:\\x0a1") for line in lines)
    assert max(map(len, lines)) < 1200 and "secret" not in path.read_text()


def test_limits_are_written(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with Server(tmp_path, "", ("--log", str(path), "-T", "1", "-w", "500")) as server:
        client = Client(server.port)
        with pytest.raises(ValueError, match="stop"):
            client.ask(text("while[1b;1]"))
        big = Client(server.port)
        big.socket.sendall(b"\1\1\0\0\xff\xff\xff\xff")
        assert big.ended()
        long = Client(server.port, b"")
        long.socket.sendall(b"x" * (1 << 17))
        assert long.ended()
        assert eventually(lambda: "nothing ends within" in path.read_text())
    written = path.read_text()
    assert "stopped after 1 seconds" in written and "4294967295 bytes, the limit is " in written


def test_the_log_on_standard_error(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "kshell", "-q", "--log", "-", "-p", "0W"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert process.stderr is not None
    assert " - - listen localhost:" in process.stderr.readline()
    process.communicate("exit 0\n", timeout=20)
