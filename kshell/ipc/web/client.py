"""Asking servers of HTTP, and opening WebSockets."""

from __future__ import annotations

import base64
import os
import time
from contextlib import closing
from typing import Any, NamedTuple

from kshell.errors import QError
from kshell.ipc.address import Url, basic
from kshell.ipc.client import FOREVER, connected, encrypt, identify, step
from kshell.ipc.connection import Connection

HEAD = 1 << 16  # bytes of the head of a response
_BODILESS = (b"204", b"304")


class Exchange:
    """One request and its response, over a socket of its own."""

    def __init__(self, url: Url, timeout: float | None) -> None:
        self._end = None if timeout is None else time.monotonic() + timeout
        sock = connected(url.host, url.port, timeout)
        try:
            self.connection = Connection(sock, FOREVER, accepted=False)
            if url.secure:
                encrypt(self.connection, url.host, self._end)
        except BaseException:
            sock.close()
            raise
        self.rest = b""  # what came behind the part that has been read

    def send(self, data: bytes) -> None:
        """Send bytes; 'snd if the server ends, 'timeout if it does not take them in time."""
        self.connection.queue(data)
        while self.connection.outgoing and not self.connection.ended:
            step(self.connection, self._end)
        if self.connection.outgoing:
            raise QError(f"snd. OS reports: {self.connection.error or 'Connection reset by peer'}")

    def more(self) -> bytes:
        """What comes next; 'close if the server ends, 'timeout if nothing comes in time."""
        incoming = self.connection.incoming
        while not len(incoming):
            if self.connection.ended:
                raise QError("close")
            step(self.connection, self._end)
        return incoming.take(len(incoming))

    def line(self) -> bytes:
        """The next line, with its end."""
        while b"\n" not in self.rest:
            if len(self.rest) > HEAD:
                raise QError("badmsg")
            self.rest += self.more()
        line, _, self.rest = self.rest.partition(b"\n")
        return line + b"\n"

    def exactly(self, size: int) -> bytes:
        """The next bytes."""
        parts, missing = [self.rest[:size]], size - len(self.rest)
        self.rest = self.rest[size:]
        while missing > 0:
            data = self.more()
            parts.append(data[:missing])
            self.rest, missing = data[missing:], missing - len(data)
        return b"".join(parts)

    def head(self) -> bytes:
        """The lines up to the empty one, those of an interim answer left out."""
        while True:
            lines = [self.line()]
            while lines[-1].strip() and sum(map(len, lines)) <= HEAD:
                lines.append(self.line())
            if not lines[0].startswith(b"HTTP/1.") or lines[-1].strip():
                raise QError("badmsg")
            status = _status(lines[0])
            if not status.startswith(b"1") or status == b"101":
                return b"".join(lines)

    def body(self, head: bytes, method: bytes) -> bytes:
        """The body behind a head: of its length, or in chunks, which are joined; 'close if the head tells neither."""
        fields = _fields(head)
        if method == b"HEAD" or _status(head) in _BODILESS:
            return b""
        if fields.get(b"transfer-encoding", b"").lower().endswith(b"chunked"):
            return self._chunks()
        length = fields.get(b"content-length")
        if length is None:
            raise QError("close")
        return self.exactly(_number(length, 10))

    def _chunks(self) -> bytes:
        parts = []
        while size := _number(self.line().partition(b";")[0], 16):
            parts.append(self.exactly(size))
            self.line()
        while self.line().strip():
            pass
        return b"".join(parts)


def _number(text: bytes, base: int) -> int:
    """A number of bytes; 'badmsg if it is none."""
    try:
        size = int(text.strip()[:20], base)
    except ValueError:
        size = -1
    if size < 0:
        raise QError("badmsg")
    return size


def _status(head: bytes) -> bytes:
    return head.split(b" ", 2)[1][:3] if head.count(b" ") else b""


def _fields(head: bytes) -> dict[bytes, bytes]:
    """The header lines, names in small letters."""
    pairs = [line.partition(b":") for line in head.splitlines()[1:] if b":" in line]
    return {name.strip().lower(): value.strip() for name, _, value in pairs}


def ask(url: Url, text: bytes, timeout: float | None) -> bytes:
    """The whole response to a request whose text is sent as it is."""
    exchange = Exchange(url, timeout)
    with closing(exchange.connection):
        exchange.send(text)
        head = exchange.head()
        return head + exchange.body(head, text.partition(b" ")[0])


class Opened(NamedTuple):
    """The answer to a request for a WebSocket: the head, or the whole response of a server that opened none; the
    connection and the state of its frames, if it did."""

    answer: bytes
    connection: Connection | None
    frames: Any
    packed: bool


def open_websocket(url: Url, text: bytes, timeout: float | None) -> Opened:
    """Ask for a WebSocket, by the head of a request to which the lines for it are added."""
    exchange = Exchange(url, timeout)
    connection = exchange.connection
    try:
        key = base64.b64encode(os.urandom(16))
        deflate = _deflate()
        exchange.send(_request(url, text, key, deflate.offer().encode()))
        head = exchange.head()
        if _status(head) != b"101":
            with closing(connection):
                return Opened(head + exchange.body(head, b"GET"), None, None, False)
        frames = _frames(head, key, deflate)
        connection.incoming.feed(exchange.rest)
        identify(connection)
    except BaseException:
        connection.close()
        raise
    return Opened(head, connection, frames, deflate.enabled())


def _deflate() -> Any:
    problem = ""
    try:
        from wsproto.extensions import PerMessageDeflate

        return PerMessageDeflate()
    except ImportError:
        problem = "WebSockets need h11 and wsproto: pip install kshell[web]"
    raise QError(problem)


def _request(url: Url, text: bytes, key: bytes, offer: bytes) -> bytes:
    """The head of the request, with the lines that ask for a WebSocket."""
    lines = text.rstrip(b"\r\n").split(b"\r\n")
    lines += [b"Upgrade: websocket", b"Connection: Upgrade", b"Sec-WebSocket-Version: 13"]
    lines += [
        b"Sec-WebSocket-Key: " + key,
        b"Sec-WebSocket-Extensions: permessage-deflate; " + offer,
    ]
    if url.user or url.password:
        lines.append(b"Authorization: " + basic(url.user, url.password).encode())
    return b"\r\n".join(lines) + b"\r\n\r\n"


def _frames(head: bytes, key: bytes, deflate: Any) -> Any:
    """The state of the frames of a WebSocket that a server has opened; an answer that is not to our request is an
    error."""
    from wsproto.connection import CLIENT
    from wsproto.connection import Connection as Frames
    from wsproto.utilities import generate_accept_token

    fields = _fields(head)
    if fields.get(b"sec-websocket-accept") != generate_accept_token(key):
        raise QError("badmsg: Sec-WebSocket-Accept is not of this request")
    accepted = fields.get(b"sec-websocket-extensions", b"").decode("latin-1")
    if not accepted:
        return Frames(CLIENT, [])
    if accepted.partition(";")[0].strip() != deflate.name:
        raise QError(f"badmsg: the server uses {accepted}, which was not offered")
    deflate.finalize(accepted)
    return Frames(CLIENT, [deflate])
