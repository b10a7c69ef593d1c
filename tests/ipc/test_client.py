"""hopen and the handles it gives, against a kshell and against peers that behave badly."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.session import Session
from tests.ipc.processes import Server, framed


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("client"), "f:{x+y}\nback:{neg[.z.w](`here;x);x+1}\n")
    yield running
    running.end()


@pytest.fixture
def q() -> Session:
    return Session()


FORMS = ["{p}", "{p}h", "`::{p}", "`:localhost:{p}", "`:127.0.0.1:{p}:me:pw", '":localhost:{p}"', "(`::{p};5000)", "`:unix://{p}", "(`:unix://{p}:me:p:w;2000)"]


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_hopen(server: Server, q: Session, form: str) -> None:
    q.run("h:hopen " + form.format(p=server.port))
    assert q.run("-6h~type h") is True
    assert q.run('h"1+1"') == 2
    assert q.run("h(`f;2;3)") == 5
    assert q.run("h({x*y};3;4)") == 12
    q.run("hclose h")
    with pytest.raises(QError, match="Bad file descriptor"):
        q.run('h"1+1"')


def test_async_flush_and_messages(server: Server, q: Session) -> None:
    q.run(f"h:hopen {server.port}")
    q.run('neg[h]"x:10"')
    q.run("neg[h][]")
    assert q.run('h"x"') == 10
    q.run("here:{got::x}")
    assert q.run("h(`back;7)") == 8  # what comes meanwhile is handled
    assert q.run("got") == 7
    # within one function: between two statements what came is handled
    assert q.show(q.run('{neg[h]"neg[.z.w]1 2 3";h[]}[]')) == "1 2 3"
    assert q.show(q.run("h each (\"1+1\";\"2+2\")")) == "2 4"
    assert q.run(".z.W[h]") == 0
    with pytest.raises(QError, match="type"):
        q.run("h\"1+`a\"")
    q.run("hclose h")


def test_requests_without_a_handle(server: Server, q: Session) -> None:
    assert q.run(f'`::{server.port} "1+1"') == 2
    assert q.run(f"`:localhost:{server.port}:me (`f;2;3)") == 5
    assert q.run(f'`::[((`::{server.port};2000);"2+2")]') == 4
    with pytest.raises(QError, match="type"):
        q.run(f'`::{server.port} "1+`a"')
    assert q.run("count .z.H") == 0


@pytest.mark.parametrize(
    ("form", "error"),
    [("`::1", "hop. OS reports: Connection refused"), ("`:unix://1", "hop. OS reports"), ("`:nosuch.invalid:5000", "hop. OS reports"), ("`:localhost:nosuch", "hop. OS reports: nosuch"), ("(1 2;3)", "type"), ("`a", "type")],
)
def test_what_cannot_be_opened(q: Session, form: str, error: str) -> None:
    with pytest.raises(QError, match=error):
        q.run(f"hopen {form}")


def peer(work: Callable[[socket.socket], None]) -> int:
    """A process's port whose only connection is treated so."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        sock, _ = listener.accept()
        with sock, listener:
            work(sock)

    threading.Thread(target=run, daemon=True).start()
    return int(listener.getsockname()[1])


def login(sock: socket.socket) -> None:
    sock.recv(100)
    sock.sendall(b"\3")


def test_a_login_that_is_refused_or_not_answered(q: Session) -> None:
    port = peer(lambda sock: (sock.recv(100), None)[1])
    with pytest.raises(QError, match="access"):
        q.run(f"hopen {port}")
    done = threading.Event()
    port = peer(lambda sock: (done.wait(20), None)[1])
    with pytest.raises(QError, match="timeout"):
        q.run(f"hopen(`::{port};200)")
    done.set()


def test_a_peer_that_goes_away_or_sends_noise(q: Session) -> None:
    def leaves(sock: socket.socket) -> None:
        login(sock)
        sock.recv(100)

    q.run(f"h:hopen {peer(leaves)}")
    q.run(".z.pc:{gone::x}")
    with pytest.raises(QError, match=r"close handle: \d+"):
        q.run('h"1"')
    assert q.run("gone=h") is True

    def raves(sock: socket.socket) -> None:
        login(sock)
        sock.recv(100)
        sock.sendall(b"\xff" * 100)
        sock.recv(1)

    q.run(f"h:hopen {peer(raves)}")
    with pytest.raises(QError, match="badmsg"):
        q.run('h"1"')

    def errs(sock: socket.socket) -> None:
        login(sock)
        sock.recv(100)
        sock.sendall(framed(2, b"\x80mine\0"))
        sock.recv(1)

    q.run(f"h:hopen {peer(errs)}")
    with pytest.raises(QError, match=r"^mine"):
        q.run('h"1"')


def test_two_processes_ask_each_other(tmp_path: Path, server: Server) -> None:
    other = Server(tmp_path, f"h:hopen {server.port}\nask:{{h x}}\n")
    session = Session()
    session.run(f"h:hopen {other.port}")
    assert session.run("h(`ask;\"6*7\")") == 42
    session.run("hclose h")
    other.end()
