"""What the clients of HTTP and WebSockets may use of the process: memory, and nothing before they are let in."""

from __future__ import annotations

import http.client
import subprocess
import sys
from pathlib import Path

import pytest

from kshell.ipc import bounds, conversation, entry
from kshell.ipc.web.body import STEP, Body, TooLarge
from kshell.values.session import memory
from tests.ipc.processes import Client, Server
from tests.ipc.web import Raw, logged, reply, serving

wsproto_events = pytest.importorskip("wsproto.events")
from kshell.values.base.build import string  # noqa: E402
from tests.ipc.test_http import basic  # noqa: E402
from tests.ipc.test_websocket import Talk, frame  # noqa: E402

POST = b"POST /x HTTP/1.1\r\nHost: localhost\r\n"


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def pushed(raw: Raw, data: bytes) -> None:
    """Send data, as much as the other side takes."""
    try:
        raw.send(data)
    except OSError:
        pass


# ------------------------------------------------------------------ memory


def test_a_body_has_a_limit_and_room() -> None:
    body = Body(10)
    body.add(b"0123456789")
    with pytest.raises(TooLarge, match="above 10 bytes"):
        body.add(b"x")
    with pytest.raises(TooLarge, match="above 10 bytes"):
        Body(10).expect(11)
    left = [4 * STEP]
    body = Body(0, lambda: left[0])
    body.expect(4 * STEP)
    with pytest.raises(TooLarge):
        body.expect(4 * STEP + 1)
    body.add(bytes(STEP))
    body.add(b"x")  # asked now
    left[0] = 0
    body.add(bytes(STEP - 1))  # nobody asks at every piece
    with pytest.raises(TooLarge, match="memory"):
        body.add(bytes(2))


@pytest.mark.sampled(2)
def test_bodies_and_messages_fit_the_memory_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "LINGER", 0.1)
    with serving(".z.pp:{.h.hy[`txt;string count x 0]}", ".z.ws:{got::count x}", "got:0") as (session, port):
        assert reply(port, "POST", "/x", bytes(4 << 20)) == (200, b"4194306")
        monkeypatch.setattr(memory, "left", lambda: 1 << 20)
        raw = Raw(port, POST + b"Content-Length: 4000000\r\n\r\n")
        assert raw.all().startswith(b"HTTP/1.1 413 ")  # before a byte of it
        raw = Raw(port, POST + b"Transfer-Encoding: chunked\r\n\r\n")
        pushed(raw, chunk(bytes(1 << 19)) * 8)
        assert logged(session, "what memory has room for")
        assert reply(port, "POST", "/x", bytes(1 << 20)) == (200, b"1048578")  # nobody asks about small ones
        session.network.log.events.clear()
        for event in (wsproto_events.BytesMessage(bytes(3 << 19)), wsproto_events.TextMessage("a" * (3 << 19))):
            talk = Talk(port, deflate=True)
            pushed(talk.raw, talk.state.send(event))
            assert logged(session, "websocket 1009")
            session.network.log.events.clear()
            talk.close()
        assert session.run("got") == 0


def test_a_large_body_leaves_the_process_alive(tmp_path: Path) -> None:
    with Server(tmp_path, ".z.pp:{.h.hy[`txt;string count x 0]}\n", ("-w", "100"), by=subprocess.Popen) as server:
        for head, piece in ((b"Content-Length: 600000000", bytes(1 << 20)), (b"Transfer-Encoding: chunked", chunk(bytes(1 << 20)))):
            raw = Raw(server.port, POST + head + b"\r\n\r\n")
            try:
                for _ in range(600):
                    raw.send(piece)
            except OSError:
                pass
            raw.close()
        assert reply(server.port, "POST", "/", b"abc") == (200, b"4")
        assert Client(server.port).ask(string("1+1")) == 2


@pytest.mark.sampled(2)
def test_the_bytes_of_text_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(".z.ws:{got::count x}", "got:0") as (session, port):
        session.network.message_limit = 1000
        talk = Talk(port)
        talk.say(wsproto_events.TextMessage("é" * 500))
        talk.say(wsproto_events.TextMessage("😀" * 251))
        assert logged(session, "websocket 1009")
        assert session.run("got") == 1000
        talk.close()


def test_parts_without_content_take_nothing() -> None:
    with serving(".z.ws:{got,:enlist x}", "got:()") as (session, port):
        for opcode, kind in ((1, 10), (2, 4)):
            talk = Talk(port)
            talk.raw.send(frame(opcode, b"", 0) + frame(0, b"", 0) * 20_000)
            talk.say(wsproto_events.Ping())
            talk.event()
            speaker = next(iter(session.network.connections.values())).conversation
            held = session.do(lambda _, s=speaker: sum(sys.getsizeof(x) for x in vars(s).values() if isinstance(x, list | bytearray)))
            assert held < 10_000
            talk.raw.send(frame(0, b"end"))
            talk.say(wsproto_events.Ping())
            talk.event()
            assert session.run(f"{kind}h=type last got") is True and session.run('"end"~"c"$last got') is True
            talk.close()
            assert logged(session, "close")
            session.network.log.events.clear()


def test_a_body_that_nobody_takes_is_not_read() -> None:
    with serving("a:1") as (session, port):
        for method, status in (("POST", 405), ("PUT", 405)):
            raw = Raw(port, f"{method} /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\nExpect: 100-continue\r\n\r\n".encode())
            assert raw.all().startswith(b"HTTP/1.1 %d " % status)  # without "100 Continue"
        assert logged(session, "HTTP 405")


# ------------------------------------------------------------------ names


def test_names_of_strangers_are_few_and_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "STRANGERS", 5)
    with serving(".z.pw:{[u;p]asked,:u;u in`known`new0}", "asked:`$()") as (session, port):
        assert Client(port, b"x" * 257 + b":p\x03\0").capability == b""
        assert logged(session, "the user name is too long")
        monkeypatch.setattr(entry, "FAILURES", 1000)
        for k in range(20):
            Client(port, b"strange%d:p\x03\0" % k).close()
        assert session.run("count asked") == 5
        assert Client(port, b"known:p\x03\0").capability == b"\x03"  # a symbol that there is already
        assert reply(port, "GET", "/", headers=basic("strange19:p"))[0] == 401


def test_header_names_of_strangers_are_few_and_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "STRANGERS", 100)
    with serving('.z.ac:{asked+:1;(0;"")}', "asked:0") as (session, port):
        for k in range(4):
            lines = b"".join(b"strange-%d-%d: 1\r\n" % (k, n) for n in range(40))
            answer = Raw(port, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + lines + b"\r\n").all()
            assert answer.startswith(b"HTTP/1.1 401" if k < 2 else b"HTTP/1.1 429")
        assert reply(port, "GET", "/", headers={"strange-0-0": "known"})[0] == 401
        assert session.run("asked") == 3
        assert Raw(port, b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"x" * 257 + b": 1\r\n\r\n").all().startswith(b"HTTP/1.1 431")


def test_the_user_of_each_request() -> None:
    access = '.z.ac:{$[x[0]~"own";(1;"kim");(4;"")]}'
    with serving(access, ".z.pw:{[u;p]1b}", '.z.ph:{ssr[.h.hy[`txt;string .z.u];"close";.h.ka 5000]}') as (_, port):
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        for target, user in (("/", b"ann"), ("/own", b"kim"), ("/", b"ann")):
            client.request("GET", target, headers=basic("ann:x"))
            assert client.getresponse().read() == user
        client.close()
