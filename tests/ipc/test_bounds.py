"""What one connection may use of the process: symbols, memory."""

from __future__ import annotations

import pytest

from kshell.ipc import bounds
from kshell.session import Session
from kshell.store import codec
from kshell.values.base.build import string
from kshell.values.session import memory
from tests.ipc.hostile import vector
from tests.ipc.processes import Client, framed


@pytest.fixture
def session() -> Session:
    return Session()


def symbols(first: int, last: int) -> bytes:
    """An asynchronous message of symbols, as bytes: as values they would be known to this process already."""
    items = b"".join(b"bounds%d\0" % number for number in range(first, last))
    return framed(0, vector(11, last - first, items))


def test_new_symbols_are_counted(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "NEW_SYMBOLS", 100)
    client = Client(session.listen(), b"")
    client.socket.sendall(b"me\x06\0")
    for _ in range(30):  # known ones do not count
        client.socket.sendall(symbols(0, 90))
    client.send(1, string("1+1"))
    session.serve(0.5)
    assert client.bytes(1) == b"\x06"
    assert client.message() == (2, codec.encode(2))  # all of them were read
    assert session.run("count .z.H") == 1
    client.socket.sendall(symbols(80, 120))
    session.serve(0.2)
    assert session.run("count .z.H") == 0
    session.listen(0)


def test_a_value_that_needs_more_memory_than_is_left_is_an_error(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(session.listen(), b"")
    client.socket.sendall(b"me\x06\0")
    session.serve(0.1)
    assert client.bytes(1) == b"\x06"
    monkeypatch.setattr(memory, "left", lambda: 4 << 20)
    client.send(1, session.run("1000000#`a`b"))
    client.send(1, string("1+1"))
    session.serve(0.5)
    assert client.message() == (2, b"\x80wsfull\0")
    assert client.message()[1][-8:] == (2).to_bytes(8, "little")
    session.listen(0)
