"""hopen and the handles it gives, against a kshell and against peers that behave badly."""

from __future__ import annotations

import os
import signal
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.session import Session
from kshell.store import codec
from kshell.values.base.build import string
from tests.ipc.processes import Server, framed

SCRIPT = "f:{x+y}\nback:{neg[.z.w](`here;x);x+1}\n"


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


def test_a_message_is_left_for_the_next_statement(server: Server, q: Session) -> None:
    """Although messages are handled between statements: this one came before `h[]` began."""
    q.run(f"h:hopen {server.port}")
    for _ in range(20):
        q.run('neg[h]"neg[.z.w]1 2 3"; system"sleep .01"')
        assert q.show(q.run("h[]")) == "1 2 3"
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


# ------------------------------------------------------------------ compression, peach, interrupts, pipes


def test_compression_is_set_for_a_handle(server: Server, q: Session) -> None:
    q.run(f"h:hopen {server.port}")
    assert q.run("(-38!h)`z") is False
    q.run(".Q.ipc[h;enlist[`z]!enlist 1b]")
    assert q.run("(-38!h)`z") is True
    assert q.run('x~h({x};x:10000#"kshell ")') is True
    q.run(".Q.ipc[h;enlist[`z]!enlist 0b]")
    assert q.run("(-38!h)`z") is False
    assert q.run("(exec z from -38!enlist h)~enlist 0b") is True
    for wrong in ("enlist[`z]!enlist 1", "enlist[`y]!enlist 1b", "`z", "`z`y!01b"):
        with pytest.raises(QError, match=r"\.Q\.ipc: options: expected"):
            q.run(f".Q.ipc[h;{wrong}]")
    q.run("hclose h")
    with pytest.raises(QError, match="is not an ipc handle"):
        q.run(".Q.ipc[h;enlist[`z]!enlist 1b]")


def test_what_goes_out_compressed(q: Session) -> None:
    seen: list[bytes] = []

    def takes(sock: socket.socket) -> None:
        login(sock)
        while data := sock.recv(100_000):
            seen.append(data)
            if len(seen) == 1:
                sock.sendall(framed(2, b"\xf9" + bytes(8)))

    q.run(f"h:hopen {peer(takes)};.Q.ipc[h;enlist[`z]!enlist 1b]")
    q.run('neg[h]20000#"a";neg[h][];h"1";hclose h')
    assert seen[0][2] == 1 and len(b"".join(seen)) < 10_000


def test_the_table_of_no_connections(q: Session) -> None:
    assert q.show(q.run("(count;cols)@\\:-38!`int$()")) == "0\n`p`f`z`n`m"
    assert q.run("(-38!())~-38!`int$()") is True


def test_connections_in_peach(server: Server, q: Session) -> None:
    q.run(f"p:{server.port};h:hopen p")
    q.run("\\s 2")
    assert q.show(q.run("{(`$\"::\",string p)(`f;x;1)}peach 1 2 3 4")) == "2 3 4 5"
    for text in ('{h"1"}peach 1 2', "{neg[h]1}peach 1 2", "{hopen p}peach 1 2"):
        with pytest.raises(QError, match="nosocket"):
            q.run(text)
    q.run("\\s 0")
    assert q.run('h"1+1"') == 2
    q.run("hclose h")


def test_a_request_without_a_handle_takes_nothing_but_its_answer(q: Session) -> None:
    def chatters(sock: socket.socket) -> None:
        login(sock)
        sock.recv(100)
        sock.sendall(framed(0, b"\xf9" + bytes(8)))
        sock.recv(1)

    with pytest.raises(QError, match="expected response msg"):
        q.run(f'`::{peer(chatters)} "1"')


def test_an_interrupt_of_a_request_ends_its_connection(q: Session) -> None:
    done = threading.Event()

    def waits(sock: socket.socket) -> None:
        login(sock)
        done.wait(20)

    q.run(f"h:hopen {peer(waits)}")
    before = signal.signal(signal.SIGALRM, q.interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(QError, match=r"rcv handle: \d+\. OS reports: Interrupted system call"):
            q.run('h"1"')
    finally:
        signal.signal(signal.SIGALRM, before)
        done.set()
    with pytest.raises(QError, match="Bad file descriptor"):
        q.run('h"1"')


def test_a_named_pipe(q: Session, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text("first\nsecond\n"), daemon=True)
    writer.start()
    q.run(f"h:hopen`:fifo://{path}")
    assert q.show(q.run("read0 h")) == '"first"'
    assert q.show(q.run("read0 h")) == '"second"'
    q.run("hclose h")
    with pytest.raises(QError, match="No such file"):
        q.run(f"hopen`:fifo://{path}.missing")


@pytest.mark.parametrize("end", ["reset", "close"])
def test_a_server_that_ends_the_handshake(q: Session, end: str) -> None:
    def ends(sock: socket.socket) -> None:
        sock.recv(100)
        if end == "reset":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with pytest.raises(QError, match=r"hop\. OS reports: Connection reset by peer" if end == "reset" else "access"):
        q.run(f"hopen {peer(ends)}")


def test_what_comes_with_an_answer_is_handled(q: Session) -> None:
    """A message right behind the answer to the login, and one behind a response."""

    def work(sock: socket.socket) -> None:
        sock.recv(100)
        sock.sendall(b"\3" + framed(0, codec.encode(string("one:1"))))
        sock.recv(100)
        sock.sendall(framed(2, codec.encode(7)) + framed(0, codec.encode(string("two:2"))))
        sock.recv(100)

    q.use_ipc()
    q.run(f"h:hopen {peer(work)}")
    q.serve(0.1)
    assert q.names.find("one") == 1
    assert q.run('h"x"') == 7
    q.serve(0.1)
    assert q.names.find("two") == 2
    q.run("hclose h")


@pytest.mark.parametrize("data", [framed(2, b"\x15" + bytes(8)), b"\7\2" + bytes(10)], ids=["body", "header"])
def test_a_response_that_is_no_message_is_given_to_bm(q: Session, data: bytes) -> None:
    def work(sock: socket.socket) -> None:
        login(sock)
        sock.recv(100)
        sock.sendall(data)
        sock.recv(100)

    q.run(f"h:hopen {peer(work)}")
    q.run(".z.bm:{bad::x}")
    with pytest.raises(QError, match="badmsg"):
        q.run('h"x"')
    assert q.run("bad[0]=h") is True
    assert bytes(q.run("bad 1").a) == data  # type: ignore[union-attr]


def test_a_broadcast_to_a_handle_twice(q: Session) -> None:
    """The second one of a connection whose queue was too long finds it closed."""
    waits = threading.Event()
    q.run(f"h:hopen {peer(lambda sock: (login(sock), waits.wait(20), None)[2])}")
    q.ipc.network.queue_limit = 1
    q.run('-25!((h;h;h);20000000#"a")')
    assert not q.ipc.network.connections and q.ipc.network.patience(None) is None
    waits.set()
