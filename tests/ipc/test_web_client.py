"""Asking servers of HTTP, .Q.hg .Q.hp .Q.hmb, and WebSockets opened from here, against kshell and against others."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.ipc.address import Url, basic, url
from kshell.ipc.web.request import Request, login
from kshell.session import Session
from kshell.values.session import memory
from tests.ipc.processes import Server, eventually
from tests.ipc.test_client import peer

SCRIPT = """
.z.ph:{.h.hy[`txt;$[x[0]like"long*";5000#"a";x[0]like"user";string .z.u;"ph ",x 0]]}
.z.pp:{.h.hy[`txt;"pp ",x 0]}
.z.pm:{.h.hn["201 Created";`txt;(string x 0)," ",x 1]}
.z.ws:{got::x;neg[.z.w]x;if[x~"bye";hclose .z.w]}
.z.wc:{gone::x}
"""


@pytest.fixture
def q() -> Iterator[Session]:
    session = Session()
    yield session
    session.end_ipc()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (":http://h:80", Url("http", "h", 80, "", "")), (":ws://u:p:w@h:5000", Url("ws", "h", 5000, "u", "p:w")), (":https://h", Url("https", "h", 443, "", "")),
        (":ws://[::1]:5/", Url("ws", "::1", 5, "", "")), (":wss://h", Url("wss", "h", 443, "", "")), (":host:5000", None), (":http://h:80/path", None), (":tcps://h:1", None), (":file", None),
    ],
)
def test_addresses(text: str, found: Url | None) -> None:
    assert url(text) == found


def test_the_text_of_a_request(server: Server, q: Session) -> None:
    ask = f'(`$":http://localhost:{server.port}") '
    answer = q.run(ask + '"GET /?x HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n"').a.tobytes()
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and answer.endswith(b"\r\n\r\nph ?x")
    answer = q.run(ask + '"HEAD / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n"').a.tobytes()
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and answer.endswith(b"\r\n\r\n")
    answer = q.run(ask + '"POST /p HTTP/1.1\\r\\nHost: localhost\\r\\nContent-Length: 2\\r\\n\\r\\nab"').a.tobytes()
    assert answer.endswith(b"pp p ab")


def served(*answers: bytes) -> int:
    """The port of a server that answers a request by these bytes, one after the other."""

    def work(sock: socket.socket) -> None:
        sock.recv(1 << 16)
        with suppress(OSError):  # the other side may have had enough
            for answer in answers:
                sock.sendall(answer)
                time.sleep(0.02)

    return peer(work)


ASK = '"GET / HTTP/1.1\\r\\nHost: h\\r\\n\\r\\n"'


@pytest.mark.parametrize(
    ("answers", "result"),
    [
        ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", b"2;x=y\r\nde\r\n0\r\nTrailer: 1\r\n\r\n"), b"abcde"),
        ((b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbo", b"dy"), b"body"), ((b"HTTP/1.1 204 No Content\r\n\r\n",), b""), ((b"HTTP/1.0 200 OK\n", b"content-length:1\n\nx"), b"x"),
    ],
)
def test_bodies(q: Session, answers: tuple[bytes, ...], result: bytes) -> None:
    whole = q.run(f'(`$":http://localhost:{served(*answers)}") {ASK}').a.tobytes()
    assert whole.replace(b"\r", b"").partition(b"\n\n")[2] == result


@pytest.mark.parametrize(
    ("answers", "error"),
    [
        ((b"HTTP/1.1 200 OK\r\n\r\nbody without length",), "close"), ((b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",), "close"), ((b"hello\r\n\r\n",), "badmsg"), ((b"",), "close"),
        ((b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",), "badmsg"), ((b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",), "badmsg"), ((b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 20_000,), "badmsg"),
    ],
)
def test_answers_that_are_none(q: Session, answers: tuple[bytes, ...], error: str) -> None:
    with pytest.raises(QError, match=f"^{error}"):
        q.run(f'(`$":http://localhost:{served(*answers)}") {ASK}')


def test_who_cannot_be_asked(q: Session) -> None:
    with pytest.raises(QError, match=r"hop. OS reports: Connection refused"):
        q.run(f'(`$":http://localhost:1") {ASK}')
    silent = threading.Event()
    port = peer(lambda sock: (silent.wait(20), None)[1])
    with pytest.raises(QError, match=r"^timeout"):
        q.run(f'`::[(((`$":http://localhost:{port}");200);{ASK})]')
    silent.set()
    own = q.listen()
    with pytest.raises(QError, match="port of this process"):
        q.run(f'(`$":http://localhost:{own}") {ASK}')
    with pytest.raises(QError, match=r"^access"):
        q.run('reval parse"(`$\\":http://localhost:1\\")\\"x\\""')


def test_hg_hp_hmb(server: Server, q: Session) -> None:
    place = f":http://localhost:{server.port}"
    assert q.run(f'.Q.hg`$"{place}/a?b"').a.tobytes() == b"ph a?b"
    assert q.run(f'.Q.hg"{place}/long?"').a.tobytes() == b"a" * 5000  # compressed on its way
    assert q.run(f'.Q.hg"{place.replace("//", "//ann:secret@")}/user"').a.tobytes() == b"ann"
    assert q.run(f'.Q.hp["{place}/p";.h.ty`json;"{{}}"]').a.tobytes() == b"pp p {}"
    head, body = q.run(f'.Q.hmb["{place}/m";`PUT;(.h.ty`txt;"text")]').items
    assert head.a.tobytes().startswith(b"HTTP/1.1 201 Created\r\n") and body.a.tobytes() == b"PUT m text"
    assert q.run(f'last .Q.hmb["{place}/m";`DELETE;()]').a.tobytes() == b"DELETE m"
    with pytest.raises(QError, match=r"^domain"):
        q.run('.Q.hg":ftp://x"')


def heads(answer: bytes, heard: list[bytes]) -> int:
    """The port of a server that answers each request so, and keeps what it heard."""

    def work(sock: socket.socket) -> None:
        heard.append(sock.recv(1 << 16))
        sock.sendall(answer)

    return peer(work)


FOUND = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"


def redirect(to: str) -> bytes:
    return f"HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()


@pytest.mark.parametrize("call", ['.Q.hg"{}"', '.Q.hp["{}";.h.ty`txt;"a"]', 'last .Q.hmb["{}";`GET;()]'])
def test_a_redirect_to_another_server_does_not_get_the_password(q: Session, call: str) -> None:
    first: list[bytes] = []
    second: list[bytes] = []
    other = heads(FOUND, second)
    port = heads(redirect(f"http://127.0.0.1:{other}/there"), first)
    assert q.run(call.format(f"http://ann:secret@127.0.0.1:{port}/")).a.tobytes() == b"ok"
    assert b"\r\nAuthorization: Basic YW5uOnNlY3JldA==\r\n" in first[0]
    assert second[0].startswith(b"GET /there ") and b"authorization" not in second[0].lower()


def test_a_redirect_to_the_same_server_keeps_the_password(q: Session) -> None:
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def work() -> None:
            for answer in (redirect("/there"), FOUND):
                sock, _ = listener.accept()
                with sock:
                    heard.append(sock.recv(1 << 16))
                    sock.sendall(answer)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        assert q.run(f'.Q.hg"http://ann:secret@127.0.0.1:{listener.getsockname()[1]}/"').a.tobytes() == b"ok"
        thread.join(10)
    assert len(heard) == 2 and all(b"\r\nAuthorization: Basic YW5uOnNlY3JldA==\r\n" in h for h in heard)


@pytest.mark.parametrize("status", ["200 OK", "404 Not Found"])
@pytest.mark.parametrize(
    ("head", "body"),
    [
        ("Content-Encoding: gzip", b"no gzip at all"), ("Content-Encoding: gzip", gzip.compress(b"a" * 99)[:-9]),
        ("Content-Encoding: gzip", gzip.compress(b"a" * 99)[:10] + b"\xff" * 40), ("Content-Length: 50", b"short"), ("Transfer-Encoding: chunked", b"zz\r\n"),
    ],
    ids=["no gzip", "short gzip", "damaged gzip", "short", "no chunk"],
)
def test_the_error_of_a_damaged_body_names_the_address(q: Session, status: str, head: str, body: bytes) -> None:
    port = served(f"HTTP/1.1 {status}\r\n{head}\r\nConnection: close\r\n\r\n".encode() + body)
    with pytest.raises(QError, match=f"^http://127.0.0.1:{port}/x: ."):
        q.run(f'.Q.hg"http://127.0.0.1:{port}/x"')


def test_the_error_of_no_http_names_the_address(q: Session) -> None:
    port = served(b"nothing of the kind\r\n\r\n")
    with pytest.raises(QError, match=f"^http://127.0.0.1:{port}/x: ."):
        q.run(f'.Q.hg"http://127.0.0.1:{port}/x"')


@pytest.mark.parametrize("pair", [("ann", "secret"), ("ann", ""), ("", "a:b"), ("\u00e9", "\udcff")])
def test_basic_access_is_read_as_it_is_written(pair: tuple[str, str]) -> None:
    assert login(Request("GET", "/", [("Authorization", basic(*pair))], b"", True)) == pair


def opened(q: Session, port: int) -> None:
    q.run(f'r:(`$":ws://localhost:{port}")"GET / HTTP/1.1\\r\\nHost: localhost:{port}\\r\\n\\r\\n";h:r 0')


def until(q: Session, line: str) -> bool:
    """Is this true after some turns of the loop?"""
    return eventually(lambda: (q.serve(0.02), q.run(line) is True)[1])


def test_a_websocket(server: Server, q: Session) -> None:
    with pytest.raises(QError, match=r".z.ws is not set"):
        opened(q, server.port)
    q.run(".z.ws:{came,:enlist(.z.w;x)};came:();.z.wc:{ended::x};.z.wo:{made::x}")
    opened(q, server.port)
    assert q.run('type[h]=-6h') is True and q.run('(r 1)like"HTTP/1.1 101*"') is True
    assert q.show(q.run("`p`z#-38!h")) == 'p| "w"\nz| 1b'
    q.run('neg[h]"text";neg[h]0x00ff;neg[h]100000#"long"')
    assert until(q, "3=count came")
    assert q.run('came~((h;"text");(h;0x00ff);(h;100000#"long"))') is True
    assert q.run(".z.H~`s#enlist h") is True and q.run("`made in key`.") is False
    q.run('neg[h]"bye"')
    assert until(q, "`ended in key`.")
    assert q.run("ended=h") is True and q.run("count .z.H") == 0


def test_a_websocket_that_we_close(server: Server, q: Session) -> None:
    q.run(".z.ws:{}")
    opened(q, server.port)
    q.run("hclose h")
    own = Session()
    own.run(f"c:hopen {server.port}")
    assert eventually(lambda: own.run('c"`gone in key`."') is True)
    own.end_ipc()


def test_servers_that_open_none(q: Session) -> None:
    q.run(".z.ws:{}")
    opened(q, served(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone"))
    assert q.run("null h") is True and q.run('type[h]=-6h') is True and q.run('(r 1)like"HTTP/1.1 404*none"') is True
    with pytest.raises(QError, match=r"Sec-WebSocket-Accept"):
        opened(q, served(b"HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: wrong\r\n\r\n"))


def test_basic_access(tmp_path: Path, q: Session) -> None:
    users = tmp_path / "users"
    users.write_text("ann:secret\n")
    users.chmod(0o600)
    q.run(".z.ws:{came::x}")
    with Server(tmp_path, ".z.ws:{neg[.z.w]string .z.u}\n", ("-U", str(users))) as server:
        opened(q, server.port)
        assert q.run('(null h)&(r 1)like"HTTP/1.1 401*"') is True
        q.run(f'r:(`$":ws://ann:secret@localhost:{server.port}")"GET / HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n"')
        q.run('neg[r 0]"who"')
        assert until(q, '$[`came in key`.;came~"ann";0b]')


@pytest.mark.extra
def test_a_server_of_the_websockets_package(q: Session) -> None:
    websockets = pytest.importorskip("websockets")
    ready, over = threading.Event(), threading.Event()
    found: list[int] = []

    async def echo(talk: object) -> None:
        await talk.send("welcome")  # type: ignore[attr-defined]
        async for message in talk:  # type: ignore[attr-defined]
            await talk.send(message)  # type: ignore[attr-defined]

    async def serve() -> None:
        async with websockets.serve(echo, "127.0.0.1", 0) as made:
            found.append(made.sockets[0].getsockname()[1])
            ready.set()
            while not over.is_set():
                await asyncio.sleep(0.02)

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(10)
    try:
        q.run(".z.ws:{came,:enlist x};came:()")
        opened(q, found[0])
        q.run('neg[h]"a";neg[h]0x01')
        assert until(q, '(came~("welcome";"a";0x01))|came~("welcome";enlist"a";enlist 0x01)')
    finally:
        over.set()
        thread.join(10)


def test_many_chunks(q: Session) -> None:
    """They are read in one pass: 40,000 of them took more than a second once, four times as long for twice as many."""
    parts = [(b"abcdefgh" * 5)[: k % 40 + 1] for k in range(40_000)]
    data = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"".join(b"%x;ext\r\n%s\r\n" % (len(part), part) for part in parts)
    port = served(data[:100_001], data[100_001:300_000], data[300_000:] + b"0\r\nTrailer: x\r\n\r\n")
    body = q.run(f'(`$":http://localhost:{port}") {ASK}').a.tobytes().partition(b"\r\n\r\n")[2]
    assert body == b"".join(parts)


def test_a_response_fits_the_memory_that_is_left(q: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    big = b"HTTP/1.1 200 OK\r\nContent-Length: 3000000\r\n\r\n" + bytes(3_000_000)
    many = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"fffff\r\n%s\r\n" % bytes(0xFFFFF) * 3 + b"0\r\n\r\n"
    for answer in (big, many):
        assert len(q.run(f'(`$":http://localhost:{served(answer)}") {ASK}')) > 3_000_000
    monkeypatch.setattr(memory, "left", lambda: 1 << 20)
    for answer in (big, many, b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"):
        with pytest.raises(QError, match=r"^wsfull$"):
            q.run(f'(`$":http://localhost:{served(answer)}") {ASK}')


def test_trailers_are_limited(q: Session) -> None:
    answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n" + b"a: b\r\n" * 100_000
    with pytest.raises(QError, match=r"^badmsg$"):
        q.run(f'(`$":http://localhost:{served(answer)}") {ASK}')
