"""Asking servers of HTTP, and opening WebSockets."""

from __future__ import annotations

import base64
import os
import time
from contextlib import closing
from typing import Any, NamedTuple

from kshell.errors import QError
from kshell.ipc import bounds
from kshell.ipc.address import Url, basic
from kshell.ipc.client import FOREVER, connected, encrypt, identify, step
from kshell.ipc.connection import Connection
from kshell.ipc.web.body import Body, TooLarge

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
        self.rest = bytearray()  # what came
        self._at = 0  # how much of it has been read

    def send(self, data: bytes) -> None:
        """Send bytes; 'snd if the server ends, 'timeout if it does not take them in time."""
        self.connection.queue(data)
        while self.connection.outgoing and not self.connection.ended:
            step(self.connection, self._end)
        if self.connection.outgoing:
            raise QError(f"snd. OS reports: {self.connection.error or 'Connection reset by peer'}")

    def more(self) -> bytes:
        """The next bytes; 'close if the server ends, 'timeout if nothing comes in time."""
        incoming = self.connection.incoming
        while not len(incoming):
            if self.connection.ended:
                raise QError("close")
            step(self.connection, self._end)
        return incoming.take(len(incoming))

    def line(self) -> bytes:
        """The next line, with its end."""
        while (end := self.rest.find(b"\n", self._at)) < 0:
            if len(self.rest) - self._at > HEAD:
                raise QError("badmsg")
            self._fetch()
        begin, self._at = self._at, end + 1
        return bytes(self.rest[begin : self._at])

    def _fetch(self) -> None:
        """Get more bytes; those that have been read make room for them."""
        del self.rest[: self._at]
        self._at = 0
        self.rest += self.more()

    def exactly(self, size: int, body: Body) -> None:
        """Add the next bytes to a body."""
        while size > 0:
            if self._at == len(self.rest):
                self._fetch()
            end = min(len(self.rest), self._at + size)
            body.add(memoryview(self.rest)[self._at : end])
            size -= end - self._at
            self._at = end

    def unread(self) -> bytes:
        """The bytes after the part that has been read."""
        return bytes(self.rest[self._at :])

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

    def body(self, head: bytes, method: bytes) -> bytearray:
        """The body behind a head: of its length, or in chunks, which are joined; 'close if the head tells neither,
        'wsfull if it does not fit the memory that is left."""
        fields = _fields(head)
        body = Body(0, bounds.room)
        if method == b"HEAD" or _status(head) in _BODILESS:
            return body.data
        is_chunked = fields.get(b"transfer-encoding", b"").lower().endswith(b"chunked")
        length = fields.get(b"content-length")
        if length is None and not is_chunked:
            raise QError("close")
        try:
            if is_chunked:
                self._chunks(body)
            else:
                size = _number(length or b"", 10)
                body.expect(size)
                self.exactly(size, body)
            return body.data
        except TooLarge:
            pass
        raise QError("wsfull")

    def _chunks(self, body: Body) -> None:
        while size := _number(self.line().partition(b";")[0], 16):
            self.exactly(size, body)
            self.line()
        end = HEAD
        while (line := self.line()).strip():
            end -= len(line)
            if end < 0:
                raise QError("badmsg")


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
        connection.incoming.feed(exchange.unread())
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
        raise QError("badmsg: Sec-WebSocket-Accept does not match the request")
    accepted = fields.get(b"sec-websocket-extensions", b"").decode("latin-1")
    if not accepted:
        return Frames(CLIENT, [])
    if accepted.partition(";")[0].strip() != deflate.name:
        raise QError(f"badmsg: the server uses {accepted}, which was not offered")
    deflate.finalize(accepted)
    return Frames(CLIENT, [deflate])
