"""WebSockets of the port: messages both ways, compression, fragments, pings, limits, handles, other sites."""

from __future__ import annotations

import asyncio
import base64
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kshell.errors import QError
from kshell.ipc import conversation
from kshell.ipc.web import websocket
from tests.ipc.processes import Client, Server, eventually
from tests.ipc.test_http import basic
from tests.ipc.web import Raw, Served, logged, reply, serving

wsproto = pytest.importorskip("wsproto")
from wsproto import ConnectionType, WSConnection  # noqa: E402
from wsproto.events import (  # noqa: E402
    AcceptConnection,
    BytesMessage,
    CloseConnection,
    Ping,
    Pong,
    RejectConnection,
    Request,
    TextMessage,
)
from wsproto.extensions import PerMessageDeflate  # noqa: E402

ECHO = (".z.ws:{got,:enlist x;neg[.z.w]x}", "got:()", ".z.wo:{opened,:x;users,:.z.u}", "opened:();users:()", ".z.wc:{closed,:(x;.z.w)}", "closed:()")


class Talk:
    """A client of wsproto's on a bare socket."""

    def __init__(self, port: int, target: str = "/", deflate: bool = False, **headers: str) -> None:
        self.raw, self.state = Raw(port), WSConnection(ConnectionType.CLIENT)
        self.waiting: list[Any] = []
        named = [(key.replace("_", "-").encode(), value.encode()) for key, value in headers.items()]
        self.say(Request(host="localhost", target=target, extra_headers=named, extensions=[PerMessageDeflate()] if deflate else []))
        self.answer = self.event()

    def say(self, event: Any) -> None:
        self.raw.send(self.state.send(event))

    def event(self) -> Any:
        """The next event, whole messages joined; None at the end of the connection."""
        parts: list[Any] = []
        while True:
            while not self.waiting:
                try:
                    data = self.raw.socket.recv(1 << 16)
                except ConnectionResetError:
                    data = b""
                if not data:
                    return None
                self.state.receive_data(data)
                self.waiting += self.state.events()
            event = self.waiting.pop(0)
            if not isinstance(event, TextMessage | BytesMessage):
                return event
            parts.append(event.data)
            if event.message_finished:
                return parts[0][:0].join(parts)

    def close(self) -> None:
        self.raw.close()


@pytest.fixture
def site() -> Iterator[tuple[Served, int]]:
    with serving(*ECHO) as made:
        yield made


@pytest.mark.parametrize("deflate", [False, True])
def test_messages_both_ways(site: tuple[Served, int], deflate: bool) -> None:
    session, port = site
    talk = Talk(port, deflate=deflate)
    assert isinstance(talk.answer, AcceptConnection) and bool(talk.answer.extensions) is deflate
    for data in ("text", "", "é€😀", "x" * 300_000, b"\x00\xff", b"", bytes(range(256)) * 1000):
        talk.say(TextMessage(data) if isinstance(data, str) else BytesMessage(data))
        assert talk.event() == data
    assert session.run("type each got").a.tolist() == [10, 10, 10, 10, 4, 4, 4]
    talk.close()


def test_fragments_are_joined(site: tuple[Served, int]) -> None:
    talk = Talk(site[1], deflate=True)
    for part, finished in (("one ", False), ("two ", False), ("three", True)):
        talk.say(TextMessage(part, message_finished=finished))
    assert talk.event() == "one two three"
    assert site[0].run("count got") == 1
    talk.close()


def test_byte_by_byte(site: tuple[Served, int]) -> None:
    talk = Talk(site[1])
    for byte in talk.state.send(TextMessage("slowly é")):
        talk.raw.send(bytes((byte,)))
        time.sleep(0.001)
    assert talk.event() == "slowly é"
    talk.close()


def test_handles(site: tuple[Served, int]) -> None:
    session, port = site
    talk = Talk(port, "/path")
    talk.say(TextMessage("a"))
    talk.event()
    handle = session.run("first opened").v
    assert session.run(".z.H").a.tolist() == session.run("key .z.W").a.tolist() == [handle]
    assert session.show(session.run(f"`p`f`z#-38!{handle}i")) == 'p| "w"\nf| "t"\nz| 0b'
    assert session.run("users~enlist`") is True
    for sync in (f'{handle}i "x"', f"{handle}i[]"):
        with pytest.raises(QError, match=r"^nyi"):
            session.run(sync)
    for wrong, error in (("1 2", "type"), ("`a", "type"), ("(1;2)", "type"), ('"c"$0xff', "utf8")):
        with pytest.raises(QError, match=f"^{error}"):
            session.run(f"neg[{handle}i] {wrong}")
    session.run(f'neg[{handle}i]"sent";neg[{handle}i]0x0102;neg[{handle}i]"c";neg[{handle}i][]')
    assert [talk.event() for _ in range(3)] == ["sent", b"\1\2", "c"]
    session.run(f'-25!({handle} {handle}i;"all")')
    assert [talk.event() for _ in range(2)] == ["all", "all"]
    session.run(f"hclose {handle}i")
    last = talk.event()
    assert isinstance(last, CloseConnection) and last.code == 1000
    assert session.run("count .z.H") == 0 and session.run("count closed") == 0
    talk.close()


def test_the_end_is_told(site: tuple[Served, int]) -> None:
    session, port = site
    for polite in (True, False):
        talk = Talk(port)
        assert eventually(lambda: session.run("count .z.H") == 1)
        handle = session.run("last opened").v
        if polite:
            talk.say(CloseConnection(1000))
            assert talk.event().code == 1000
        talk.close()
        assert eventually(lambda h=handle: session.show(session.run("-2#closed")) == f"{h} 0i")
        assert session.run("count .z.H") == 0


def test_pings(site: tuple[Served, int]) -> None:
    talk = Talk(site[1])
    talk.say(Ping(b"are you there"))
    assert talk.event() == Pong(b"are you there")
    talk.close()


def test_silent_clients_are_asked_and_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket, "SILENT", 0.3)
    monkeypatch.setattr(websocket, "PATIENCE", 0.6)
    with serving(*ECHO) as (session, port):
        talk = Talk(port)
        for _ in range(2):
            ping = talk.event()
            assert isinstance(ping, Ping)
            talk.say(ping.response())
        assert isinstance(talk.event(), Ping)
        assert talk.event() is None  # nothing was answered
        assert logged(session, "no answer to a ping")
        assert session.run("count closed") == 2


def frame(opcode: int, payload: bytes, first: int = 0x80, masked: bool = True) -> bytes:
    """A frame byte by byte."""
    head = bytes((first | opcode,))
    size = len(payload)
    length = bytes((size,)) if size < 126 else b"\x7e" + size.to_bytes(2, "big") if size < 1 << 16 else b"\x7f" + size.to_bytes(8, "big")
    if not masked:
        return head + length + payload
    return head + bytes((length[0] | 0x80,)) + length[1:] + bytes(4) + payload


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (frame(1, b"plain", masked=False), 1002), (frame(3, b""), 1002), (frame(1, b"\xff\xfe"), 1007), (frame(1, b"ok") [:1] + b"\xff" + (1 << 63).to_bytes(8, "big") + bytes(4), 1002),
        (frame(9, b"x" * 126), 1002), (frame(0, b"no beginning"), 1002), (frame(1, b"a", 0) + frame(1, b"b"), 1002), (frame(8, b"\x03"), 1002), (frame(1, b"x", 0xC0), 1002),
    ],
)
def test_broken_frames_end_their_connection_only(site: tuple[Served, int], monkeypatch: pytest.MonkeyPatch, data: bytes, code: int) -> None:
    monkeypatch.setattr(conversation, "LINGER", 0.1)  # its client does not close
    session, port = site
    other, talk = Talk(port), Talk(port)
    talk.raw.send(data)
    last = talk.event()
    assert isinstance(last, CloseConnection) and last.code == code
    assert talk.event() is None
    assert logged(session, f"websocket {code}")
    other.say(TextMessage("fine"))
    assert other.event() == "fine"
    other.close()
    talk.close()


def test_messages_are_limited_once_inflated(site: tuple[Served, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "LINGER", 0.1)
    session, port = site
    session.network.message_limit = 1 << 20
    for deflate in (False, True):
        talk = Talk(port, deflate=deflate)
        data = talk.state.send(BytesMessage(bytes(1 << 22)))
        assert len(data) < 1 << 17 or not deflate
        try:
            talk.raw.send(data)
        except OSError:  # it was given up while we wrote
            pass
        else:
            last = talk.event()
            assert last is None or last.code == 1009
        assert logged(session, "websocket 1009")
        session.network.log.events.clear()
        talk.close()
    talk = Talk(port, deflate=True)
    for _ in range(100):  # many parts
        try:
            talk.say(BytesMessage(os.urandom(1 << 15), message_finished=False))
        except OSError:
            break
    assert logged(session, "websocket 1009")
    assert session.run("count got") == 0


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 101), ({"Origin": "https://evil.example"}, 403), ({"Origin": "http://localhost"}, 101), ({"Sec_Fetch_Site": "cross-site"}, 403), ({"Origin": "null"}, 403),
    ],
)
def test_pages_of_other_sites_are_kept_out(site: tuple[Served, int], headers: dict[str, str], status: int) -> None:
    talk = Talk(site[1], "/", False, **headers)
    if status == 101:
        assert isinstance(talk.answer, AcceptConnection)
    else:
        assert isinstance(talk.answer, RejectConnection) and talk.answer.status_code == status
    assert eventually(lambda: site[0].run("count opened") == int(status == 101))
    talk.close()


def upgrade(*lines: str) -> bytes:
    return "\r\n".join(["GET / HTTP/1.1", "Host: localhost", "Connection: Upgrade", "Upgrade: websocket", *lines, "", ""]).encode()


KEY = "Sec-WebSocket-Key: " + base64.b64encode(bytes(16)).decode()


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((KEY, "Sec-WebSocket-Version: 12"), 426), (("Sec-WebSocket-Version: 13",), 400), ((KEY,), 400), ((KEY, "Sec-WebSocket-Version: 13"), 101),
        ((KEY, "Sec-WebSocket-Version: 13", "Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits=zz"), 400),
    ],
)
def test_requests_for_one(site: tuple[Served, int], lines: tuple[str, ...], status: int) -> None:
    raw = Raw(site[1], upgrade(*lines))
    assert raw.until(b"\r\n\r\n").startswith(b"HTTP/1.1 %d " % status)
    raw.close()


def test_a_client_that_cannot_inflate_says_so(site: tuple[Served, int]) -> None:
    raw = Raw(site[1], upgrade(KEY, "Sec-WebSocket-Version: 13", "Sec-WebSocket-Extensions: permessage-deflate", "Sec-WebSocket-Protocol: kxnodeflate"))
    head = raw.until(b"\r\n\r\n").lower()
    assert b"sec-websocket-protocol: kxnodeflate" in head and b"deflate;" not in head and b"sec-websocket-extensions" not in head
    raw.close()


def test_without_a_handler_there_is_none() -> None:
    with serving("a:1") as (session, port):
        talk = Talk(port)
        assert isinstance(talk.answer, RejectConnection) and talk.answer.status_code == 501
        assert logged(session, ".z.ws is not set")
        assert reply(port, "GET", "/?a")[0] == 200


def test_users_and_errors(tmp_path: Path) -> None:
    users = tmp_path / "users"
    users.write_text("ann:secret\n")
    users.chmod(0o600)
    script = '.z.ws:{if[x~"fail";\'`broken];neg[.z.w]string .z.u}\n'
    with Server(tmp_path, script, ("-U", str(users), "-b")) as server:
        talk = Talk(server.port)
        assert isinstance(talk.answer, RejectConnection) and talk.answer.status_code == 401
        talk = Talk(server.port, "/", False, Authorization=basic("ann:secret")["Authorization"])
        talk.say(TextMessage("fail"))
        assert "'broken" in server.line()
        talk.close()


def test_beside_messages_of_q(tmp_path: Path) -> None:
    """Both kinds of handles of one process; a message to all of both."""
    with Server(tmp_path, "\n".join(ECHO) + "\n") as server:
        talk, client = Talk(server.port), Client(server.port)
        from kshell.values.base.build import string

        assert eventually(lambda: client.ask(string("count .z.H")) == 2)
        client.send(0, string('-25!(.z.H;"both")'))
        assert talk.event() == "both"
        assert client.message()[0] == 0
        talk.close()


@pytest.mark.extra
def test_the_websockets_package(site: tuple[Served, int]) -> None:
    websockets = pytest.importorskip("websockets")

    async def go() -> None:
        async with websockets.connect(f"ws://localhost:{site[1]}/", max_size=None) as talk:
            for data in ("text", "é" * 10_000, b"bytes", os.urandom(1 << 20)):
                await talk.send(data)
                assert await talk.recv() == data
            await talk.send(["in ", "pieces"])
            assert await talk.recv() == "in pieces"
            await asyncio.wait_for(await talk.ping(), 10)

    asyncio.run(go())
    assert eventually(lambda: site[0].run("count .z.H") == 0)


def test_the_end_of_a_full_queue_is_told_once(site: tuple[Served, int]) -> None:
    """A client that does not read sends a fault: the goodbye passes the limit of its queue."""
    session, port = site
    talk = Talk(port)
    talk.say(TextMessage("a"))
    talk.event()
    session.run('neg[first opened]20000000#"a"')
    session.network.queue_limit = 1000
    talk.raw.send(frame(3, b""))
    assert logged(session, "queue of")
    session.network.queue_limit = 1 << 30
    assert eventually(lambda: session.run("count closed") > 0)
    assert session.run("count closed") == 2  # one pair: its handle, and that of its handler
    talk.close()
