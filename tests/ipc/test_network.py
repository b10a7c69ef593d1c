"""The loop: what one connection does ends or delays no other, and nothing makes it spin."""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kshell.errors import QError, QExit
from kshell.ipc import conversation, entry, network
from kshell.ipc.connection import Connection
from kshell.session import Session
from kshell.store import codec
from kshell.values.base.build import string
from tests.ipc.processes import Client, eventually, framed


@pytest.fixture
def session() -> Iterator[Session]:
    made = Session()
    yield made
    made.end_ipc()


def logged_in(session: Session, port: int) -> Client:
    client = Client(port, b"")
    client.socket.sendall(b"me\6\0")
    session.serve(0.05)
    assert client.bytes(1) == b"\6"
    return client


def events(session: Session) -> list[str]:
    return [event.what for event in session.ipc.network.log.events]


def request(text: str) -> bytes:
    return framed(1, codec.encode(string(text)))


def turns(session: Session, monkeypatch: pytest.MonkeyPatch, seconds: float) -> int:
    """How many turns a session takes in so many seconds."""
    taken, turn = [0], session.ipc.network.turn

    def counted(*args: Any, **options: Any) -> Any:
        taken[0] += 1
        return turn(*args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(session.ipc.network, "turn", counted)
        session.serve(seconds)
    return taken[0]


def test_it_stays_awake_only_while_a_client_asks_again_and_again(session: Session) -> None:
    client = logged_in(session, session.listen())
    for _ in range(20):
        client.socket.sendall(request("1+1"))
        session.serve(0.001)
    before = time.process_time()
    session.serve(0.5)
    assert time.process_time() - before < 0.1


# ------------------------------------------------------------------ faults


@pytest.mark.parametrize("where", ["read", "send", "handle", "overdue"])
def test_an_error_that_nothing_expected_ends_its_connection_only(session: Session, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    port = session.listen()
    session.run(".z.pc:{gone::x}")
    bad, good = logged_in(session, port), logged_in(session, port)
    first = next(iter(session.ipc.network.connections.values()))

    def fault(*_: Any) -> None:
        raise ZeroDivisionError("planted")

    if where == "overdue":
        first.conversation.due = lambda: 0.0
        session.ipc.network.time(first)
    monkeypatch.setattr(first if where in ("read", "send") else first.conversation, where, fault)
    for client in (bad, good):
        client.socket.sendall(request("1+1"))
        session.serve(0.1)
    assert good.message()[1] == codec.encode(2)
    assert first.closed and len(session.ipc.network.connections) == 1
    found = [what for what in events(session) if "planted" in what]
    assert len(found) == 1 and found[0].startswith("internal error: ZeroDivisionError: planted (test_network.py:")
    assert session.run("gone").v == first.handle  # type: ignore[union-attr]


def test_a_login_that_fails_unexpectedly(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    port = session.listen()

    def fault(*_: Any) -> bool:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(session.ipc.gate, "answer", fault)
        refused = Client(port, b"")
        refused.socket.sendall(b"me\6\0")
        session.serve(0.1)
        assert refused.ended()
    logged_in(session, port)


def test_what_ends_the_process_is_let_through(session: Session) -> None:
    session.hosted = False
    client = logged_in(session, session.listen())
    client.socket.sendall(request("exit 3"))
    with pytest.raises(QExit):
        session.serve(0.2)


# ------------------------------------------------------------------ what came in already


def test_a_request_that_came_with_the_login_is_answered(session: Session) -> None:
    client = Client(session.listen(), b"")
    client.socket.sendall(b"me\6\0" + request("1+1"))
    session.serve(0.2)
    assert client.bytes(1) == b"\6"
    assert client.message() == (2, codec.encode(2))


def test_what_came_during_long_work_is_in_time(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The times of others are looked at when what came in meanwhile has been read."""
    monkeypatch.setattr(conversation, "STALLED", 0.2)
    port = session.listen()
    waiting, busy = logged_in(session, port), logged_in(session, port)
    data = request("2+2")
    waiting.socket.sendall(data[:12])
    session.serve(0.05)
    busy.socket.sendall(request('system"sleep .5"'))
    sent = threading.Timer(0.2, waiting.socket.sendall, (data[12:],))
    sent.start()
    session.serve(0.8)
    sent.join()
    assert waiting.message() == (2, codec.encode(4))


def test_no_more_than_a_login_is_read_before_it(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    most, read = [0], Connection.read

    def counted(connection: Connection, *args: int) -> bool:
        found = read(connection, *args)
        most[0] = max(most[0], len(connection.incoming))
        return found

    monkeypatch.setattr(Connection, "read", counted)
    client = Client(session.listen(), b"")
    sender = threading.Thread(target=lambda: suppress_sending(client.socket, b"x" * (4 << 20)))
    sender.start()
    assert eventually(lambda: session.serve(0.05) or "bad login" in " ".join(events(session)))
    sender.join()
    assert 0 < most[0] <= network.LOGIN + 1


def suppress_sending(to: socket.socket, data: bytes) -> None:
    with suppress(OSError):
        to.sendall(data)


def test_requests_of_a_client_that_takes_no_answer_are_not_read(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("h11")
    pytest.importorskip("wsproto")
    monkeypatch.setattr(network, "BACKLOG", 1 << 16)
    session.run('.z.ph:{.h.ka 5000;.h.hy[`txt;20000000#"a"]}')
    port = session.listen()
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(("127.0.0.1", port))
    one = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
    client.sendall(one)
    session.serve(0.2)
    (connection,) = session.ipc.network.others.values()
    sender = threading.Thread(target=lambda: suppress_sending(client, one * 2_000_000))
    sender.start()
    end = time.monotonic() + 0.5
    while time.monotonic() < end:
        session.serve(0.05)
        assert len(connection.incoming) < 10 << 20
    assert turns(session, monkeypatch, 0.2) < 20
    client.shutdown(socket.SHUT_RDWR)
    sender.join()
    client.close()
    assert eventually(lambda: session.serve(0.05) or not session.ipc.network.others)


# ------------------------------------------------------------------ nothing spins


def test_sending_on_a_closed_connection_does_nothing(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    logged_in(session, session.listen())
    (connection,) = session.ipc.network.connections.values()
    session.ipc.network.drop(connection)
    session.ipc.network.send(connection, b"x")
    session.ipc.network.write(connection)
    session.ipc.network.again(connection)
    assert session.ipc.network.patience(None) is None


@pytest.mark.parametrize("login", [b"me:pw", b"me:pw\6\0"], ids=["part", "whole"])
def test_a_delayed_login_whose_client_has_finished(session: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, login: bytes) -> None:
    """What cannot become a login ends; a whole one waits, and is answered."""
    monkeypatch.setattr(entry, "DELAY", 0.6)
    path = tmp_path / "users"
    path.write_text("me:pw\n")
    path.chmod(0o600)
    session.restrict_clients(users=str(path))
    port = session.listen()
    for _ in range(3):
        refused = Client(port, b"")
        refused.socket.sendall(b"me:x\6\0")
        session.serve(0.05)
        assert refused.ended()
    client = Client(port, b"")
    client.socket.sendall(login)
    client.socket.shutdown(socket.SHUT_WR)
    assert turns(session, monkeypatch, 0.3) < 30
    session.serve(0.6)
    assert client.bytes(1) == login[-2:-1] * (login[-1:] == b"\0")


def test_accepting_is_tried_again_later(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the system refuses, nothing spins or waits, and others are served."""
    monkeypatch.setattr(network, "RETRY", 0.3)
    port = session.listen()
    client = logged_in(session, port)

    class Refusing:
        """A listener, as it is when the process has no more files."""

        def __init__(self, real: socket.socket) -> None:
            self.fileno, self.close, self.accept = real.fileno, real.close, self.refuse

        def refuse(self) -> None:
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    listening = session.ipc.network.listening
    real = listening.sockets
    session.ipc.network._accept_none()
    listening.sockets = [Refusing(sock) for sock in real]
    session.ipc.network._accept_again()
    second = Client(port, b"")
    second.socket.sendall(b"me\6\0")
    assert turns(session, monkeypatch, 0.2) < 10
    client.socket.sendall(request("1+1"))
    session.serve(0.02)
    assert client.message() == (2, codec.encode(2))
    assert events(session).count("conn") == 1
    listening.sockets = real
    session.serve(0.4)
    assert second.bytes(1) == b"\6"


# ------------------------------------------------------------------ the session's own handlers


@pytest.mark.parametrize(("words", "read_only"), [("0W", True), ("-0W", False)])
def test_pc_of_a_read_only_port_may_update(session: Session, words: str, read_only: bool) -> None:
    session.run("n:0;.z.pc:{n::n+1}")
    session.restrict_clients(read_only=read_only)
    session.listen(words)
    client = logged_in(session, abs(session.ipc.number))
    client.socket.sendall(request("n::5"))
    session.serve(0.1)
    assert client.message()[1].startswith(b"\x80noupdate")
    client.close()
    session.serve(0.1)
    assert session.run("n") == 1


@pytest.mark.parametrize("data", [framed(0, b"\x15" + bytes(20)), framed(1, b"\7\0\xff\xff\xff\x7f"), b"\7" * 20, framed(0, b"\xf9" + bytes(9))])
def test_bm_is_given_the_bytes(session: Session, data: bytes) -> None:
    port = session.listen()
    session.run(".z.bm:{bad::x}")
    client = logged_in(session, port)
    client.socket.sendall(data)
    session.serve(0.1)
    assert client.ended()
    assert bytes(session.run("bad 1").a) == data  # type: ignore[union-attr]


# ------------------------------------------------------------------ this machine's own name


def test_the_address_of_the_machines_own_name(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Debian gives it 127.0.1.1."""
    try:
        socket.create_server(("127.0.1.1", 0)).close()
    except OSError:
        pytest.skip("127.0.0.1 alone is here")
    monkeypatch.setattr(socket, "gethostname", lambda: "Atelier")
    monkeypatch.setattr(socket, "gethostbyname", None)  # not asked: it can take long
    port = session.listen()
    client = socket.create_connection(("127.0.1.1", port), timeout=20)
    client.sendall(b"me\6\0")
    session.serve(0.1)
    assert client.recv(1) == b"\6"
    client.close()
    for host in ("127.0.1.1", "atelier", "localhost"):
        assert session.run(f"hopen`:{host}:{port}").v == 0  # type: ignore[union-attr]
    pytest.importorskip("h11")
    pytest.importorskip("wsproto")
    for host, answer in (("atelier", b"200"), (f"Atelier:{port}", b"200"), ("127.0.1.1", b"200"), ("other", b"403")):
        with socket.create_connection(("127.0.1.1", port), timeout=20) as client:
            client.sendall(f"GET /?1+1 HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            session.serve(0.1)
            assert client.recv(12)[9:] == answer


@pytest.mark.parametrize("host", ["a..b", "x" * 70])
@pytest.mark.parametrize("line", ['hopen`$":{host}:5000"', '(`$":http://{host}:80")"GET / HTTP/1.1\\r\\n\\r\\n"', "\\p {host}:5000"])
def test_a_host_that_is_no_name(session: Session, host: str, line: str) -> None:
    session.restrict_clients(is_open=True)
    with pytest.raises(QError, match=r"OS reports: .*not the name of a host"):
        session.run(line.format(host=host))
