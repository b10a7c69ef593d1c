"""Who is at the other end of a connection: one's own processes, those of another user, and what is gone already."""

from __future__ import annotations

import os
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from kshell.ipc import peer
from kshell.session import Session
from kshell.store import codec
from kshell.values.base.build import string
from tests.ipc.processes import Client, eventually, framed

NOBODY = 65534
needs_linux = pytest.mark.skipif(sys.platform != "linux", reason="the system tells the user of a TCP socket on Linux alone")
needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can act as another user")

# connects to a port, sends what standard input has, and ends as it is told, once a line is written
PEER = """
import os, socket, sys, time
port, user, how = map(int, sys.argv[1:])
if user: os.setuid(user)
data = sys.stdin.buffer.read()
one = socket.socket()
one.connect(("127.0.0.1", port))
one.sendall(data)
if how == 1: one.shutdown(socket.SHUT_WR)
if how == 2: one.close()
print("sent", flush=True)
time.sleep(60)
"""
OPEN, FINISHED, CLOSED = range(3)


@contextmanager
def another_process(port: int, data: bytes, how: int, user: int = 0) -> Iterator[None]:
    """A process that has sent some bytes to a port."""
    made = subprocess.Popen([sys.executable, "-c", PEER, str(port), str(user), str(how)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert made.stdin is not None and made.stdout is not None
    try:
        made.stdin.write(data)
        made.stdin.close()
        assert made.stdout.readline() == b"sent\n"
        yield
    finally:
        made.kill()
        made.wait()
        made.stdout.close()


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session()
    yield made
    made.listen(0)


LOGIN = b"me:\3\0" + framed(0, codec.encode(string("told:1")))


@needs_linux
@needs_root
@pytest.mark.parametrize("table", [False, True], ids=["asked", "listed"])
@pytest.mark.parametrize("how", [OPEN, FINISHED, CLOSED])
def test_another_user_does_not_get_in_by_leaving(session: Session, monkeypatch: pytest.MonkeyPatch, how: int, table: bool) -> None:
    """The system writes user 0 for a socket that its process has closed."""
    if table:
        monkeypatch.setattr(peer, "asked", refused)
    port = session.listen()
    with another_process(port, LOGIN, how, NOBODY):
        assert eventually(lambda: not states(port) & {"04"})  # the end of its side has been acknowledged
        session.serve(0.3)
    assert session.names.find("told") is None
    assert [event.what for event in session.ipc.network.log.events][-1] == "access"


@needs_linux
@pytest.mark.parametrize("table", [False, True], ids=["asked", "listed"])
@pytest.mark.parametrize("how", [OPEN, FINISHED])
def test_ones_own_processes_get_in(session: Session, monkeypatch: pytest.MonkeyPatch, how: int, table: bool) -> None:
    if table:
        monkeypatch.setattr(peer, "asked", refused)
    with another_process(session.listen(), LOGIN, how):
        session.serve(0.3)
    assert any(event.what == "open" for event in session.ipc.network.log.events)


def states(port: int) -> set[str]:
    """The states of the sockets of this machine that are connected to a port, as the system's table writes them."""
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return {row[3] for row in rows if row[2].endswith(f":{port:04X}")}


def refused(sock: socket.socket) -> None:
    raise OSError("no such answers")


@needs_linux
@pytest.mark.parametrize("ask", [peer.asked, peer.listed])
@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_the_system_tells_the_owner_of_the_other_end(family: int, ask: Callable[[socket.socket], peer.Owner | None]) -> None:
    listener = socket.socket(family)
    try:
        listener.bind(("127.0.0.1" if family == socket.AF_INET else "::1", 0))
    except OSError:
        pytest.skip("no IPv6 here")
    listener.listen()
    client = socket.socket(family)
    client.connect(listener.getsockname())
    accepted, _ = listener.accept()
    for end in (accepted, client):
        found = ask(end)
        assert found is not None and found.user == os.getuid() and found.inode
    assert found == (1, os.getuid(), os.fstat(accepted.fileno()).st_ino)
    client.close()
    left = ask(accepted)
    assert left is None or not left.inode
    for made in (listener, accepted):
        made.close()


@pytest.mark.parametrize("data", [b"me:\3\0", b"me:secret\3\0", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /train HTTP/1.1\r\n"])
def test_a_connection_that_is_reset_before_it_is_looked_at(session: Session, data: bytes) -> None:
    port = session.listen()
    for accepts in (0.0, 0.1):  # before it is accepted, and after
        made = socket.create_connection(("127.0.0.1", port))
        session.serve(accepts)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        made.sendall(data)
        made.close()
        session.serve(0.1)
    client = Client(port, b"")
    client.socket.sendall(b"me\3\0")
    session.serve(0.1)
    assert client.bytes(1) == b"\3"
    assert session.run("count .z.H") == 1
