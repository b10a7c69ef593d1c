"""The port beside the servers and readers of others: small requests against aiokdb's server and against one that only
sends fixed bytes, a large table against the time that PyKX takes to decode it, a training run with a port that nobody uses,
and what 1,000 connections take."""

from __future__ import annotations

import importlib.util
import io
import os
import socket
import statistics
import struct
import subprocess
import sys
import time
from typing import Any

from kshell.ipc import wire
from kshell.session import Session
from tests.bench.timing import paired, row

REQUESTS = 4000
AIOKDB = """
import asyncio
from functools import partial
from aiokdb import kj
from aiokdb.server import ServerContext, handle_connection
class Constant(ServerContext):
    async def on_sync_request(self, x, w):
        return kj(2)
async def main():
    server = await asyncio.start_server(partial(handle_connection, Constant()), "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()
asyncio.run(main())
"""
FIXED = """
import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
s.listen()
print(s.getsockname()[1], flush=True)
while True:
    c, _ = s.accept()
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    c.recv(99)
    c.sendall(b"\\3")
    while c.recv(4096):
        c.sendall(bytes.fromhex("0102000011000000f90200000000000000"))
"""
KSHELL = "\\p 0W\n-1 string system\"p\";\n"
PYKX = """
import os, sys, time
os.environ["PYKX_UNLICENSED"] = "true"
import pykx
data = open(sys.argv[1], "rb").read()
times = []
for _ in range(5):
    start = time.perf_counter()
    pykx.deserialize(data)
    times.append(time.perf_counter() - start)
print(sorted(times)[2])
"""
TABLE = ("n:2000000;y:(n?`3;n?`3;2000.01.01D+n?0D;n?0D;n?100;n?100;n#(\"abc\";\"de \";\"xyz\")),{n?1f}each til 7;"
         "t:flip(`$\"c\",/:string til 14)!y;")


def _started(words: list[str], given: str = "") -> tuple[subprocess.Popen[str], int]:
    """A server, and the port that it prints."""
    server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None and server.stdout is not None
    server.stdin.write(given)
    server.stdin.flush()
    return server, int(server.stdout.readline())


def _connected(port: int) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port))
    client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    client.sendall(b"me:\x03\0")
    client.recv(9)
    return client


def _asks(port: int) -> Any:
    """Asks `1+1` again and again."""
    client = _connected(port)
    body = b"\x0a\0" + struct.pack("<I", 3) + b"1+1"
    message = struct.pack("<BBHI", 1, 1, 0, 8 + len(body)) + body

    def ask() -> None:
        for _ in range(REQUESTS):
            client.sendall(message)
            client.recv(999)

    return ask


def _requests() -> list[str]:
    servers = [_started([sys.executable, "-m", "kshell", "-q"], KSHELL), _started([sys.executable, "-c", FIXED])]
    rows = []
    try:
        ours = _asks(servers[0][1])
        a, b = paired(ours, _asks(servers[1][1]), 5)
        rows.append(row("1+1 asked over the port", a / REQUESTS, b / REQUESTS, 3, "the same bytes always"))
        if importlib.util.find_spec("aiokdb") is not None:
            servers.append(_started([sys.executable, "-c", AIOKDB]))
            a, b = paired(ours, _asks(servers[2][1]), 5)
            rows.append(row("1+1 asked over the port", a / REQUESTS, b / REQUESTS, 0.65, "aiokdb, a constant"))
    finally:
        for server, _ in servers:
            server.kill()
    return rows


def _table() -> list[str]:
    """The message of a large table: to write it, and for another program to read it."""
    if importlib.util.find_spec("pykx") is None:
        return []
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run(TABLE)
    times = []
    for _ in range(5):
        start = time.perf_counter()
        data = wire.message(wire.RESPONSE, s["t"])
        times.append(time.perf_counter() - start)
    path = f"/tmp/kshell-bench-{os.getpid()}"
    try:
        with open(path, "wb") as f:
            f.write(data)
        done = subprocess.run([sys.executable, "-c", PYKX, path], capture_output=True, text=True, check=True)
    finally:
        os.unlink(path)
    peer = float(done.stdout.split()[-1])
    return [row("2,000,000 x 14 to a message", statistics.median(times), peer, 0.8, "PyKX decodes it")]


def _idle() -> list[str]:
    """A training run with a port that nobody uses, and with 1,000 connections that are silent."""
    make = ("q:module seq(`sequential;(`linear;16;32);`relu;(`linear;32;4));m:model(q;loss`ce;opt(`adam;q));"
            "train(m;`batchsize;16);train(m;tensor(`randn;8000 16);tensor(`randint;4;8000));")
    sessions = [Session(out=io.StringIO(), err=io.StringIO()) for _ in range(2)]
    for s in sessions:
        s.run(make)
    port = sessions[0].listen()
    a, b = paired(lambda: sessions[0].run("run m"), lambda: sessions[1].run("run m"), 9)
    rows = [row("run with an idle port", a, b, 1.02, "without a port")]
    before, clients = _resident(), []
    for _ in range(1000):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"me:\x03\0")
        clients.append(client)
        sessions[0].serve(0.002)
    sessions[0].serve(0.5)
    taken = _resident() - before
    mark = "ok  " if taken < 30 << 20 else "MISS"
    rows.append(f"{mark} 1,000 idle connections {taken / 2**20:.1f} MB (<= 30)")
    a, b = paired(lambda: sessions[0].run("run m"), lambda: sessions[1].run("run m"), 9)
    rows.append(row("run with 1,000 idle connections", a, b, 1.02, "without a port"))
    for client in clients:
        client.close()
    sessions[0].end_ipc()
    return rows


def _resident() -> int:
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) << 10 for line in f if line.startswith("VmRSS"))


def report() -> list[str]:
    return [*_requests(), *_table(), *_idle()]
