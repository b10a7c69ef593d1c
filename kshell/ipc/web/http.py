"""The conversation with a client of HTTP: requests are read by h11, one at a time, and answered by q code."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple
from typing import Protocol as Protocol_

from kshell.ipc import conversation
from kshell.ipc.bounds import NAME
from kshell.ipc.web.body import Body, TooLarge
from kshell.ipc.web.request import Refused, Request, prepared

if TYPE_CHECKING:
    from kshell.ipc.connection import Connection
    from kshell.ipc.network import Network

HEAD, LINES = 1 << 16, 100  # bytes and header lines of a request
ENTRY = 1 << 16  # bytes of a body that whoever decides about the request is given
# seconds until a request line and its headers, with ENTRY bytes of the body if they are needed, must be complete
HEAD_TIME = 10.0
_FOLDED = re.compile(rb"\n[ \t]")
MISSING = "HTTP needs h11 and wsproto: pip install kshell[web]"


class Answer(NamedTuple):
    """What is sent for a request, and for how many seconds the connection stays for another one; 0 ends it."""

    data: bytes
    keep: float = 0.0


class Site(Protocol_):
    """The handler of the requests; `Web` in kshell/ipc/web/handlers.py."""

    network: Network

    def reads_body(self, connection: Connection, request: Request) -> bool:
        """Does the decision about a request need the first bytes of its body? Refused if it is clear without them."""

    def enter(self, connection: Connection, request: Request) -> None:
        """May this request be made, and by whom? Refused if not. Its body has not been read, or at most ENTRY bytes
        of it."""

    def answer(self, connection: Connection, request: Request) -> Answer | None:
        """The answer to a request; None if the connection goes on in another protocol."""


def available() -> bool:
    """Can HTTP be read?"""
    try:
        import h11  # noqa: F401
        import wsproto  # noqa: F401
    except ImportError:
        return False
    return True


class Http(conversation.Quiet):
    """Requests and responses on one connection."""

    takes_turns = True

    def __init__(self, site: Site, connection: Connection) -> None:
        super().__init__(site.network, connection)
        self.site = site
        # the `Authorization` that was let in on this connection, and its user
        self.known: tuple[str, str] | None = None
        self.noted: str | None = None  # the user whom the log knows
        self._until = time.monotonic() + HEAD_TIME  # when the next head must be complete
        self._begun = True  # has the next request begun, or are we waiting for one?
        self._parser: Any = None  # of the request whose body is being read
        self._request: Request | None = None
        self._body = Body()
        self._entered = False  # may the request that is being read be made?

    # ------------------------------------------------------------ events

    def handle(self) -> bool:
        """Answer the requests that came in, up to a turn's share, one after the other has been sent; are there
        more?"""
        end = time.monotonic() + conversation.TURN_TIME
        for _ in range(conversation.TURN_MESSAGES):
            if self.connection.outgoing and not self.connection.ended:
                return False  # `drained` goes on
            try:
                if not self._one():
                    return False
            except Refused as refused:
                self._refuse(refused)
            if self.connection.conversation is not self:
                return not self.connection.closed
            if time.monotonic() > end:
                break
        return True

    def _one(self) -> bool:
        """Answer one request; false if no whole one is there."""
        request = self._next()
        if request is None:
            if self.connection.ended:
                self.network.finish(self.connection, "close")
            return False
        answer = self.site.answer(self.connection, request)
        if answer is None or self.connection.closed:
            return True
        self.network.send(self.connection, prepared(request, answer.data))
        if answer.keep:
            self._begun, self._until = False, time.monotonic() + answer.keep
        else:
            self.network.finish(self.connection, "close")
        return True

    def _refuse(self, refused: Refused) -> None:
        why = f"HTTP {refused.status.partition(' ')[0]}: {refused}"
        self.network.send(self.connection, refused.data)
        self.network.finish(self.connection, why)

    def due(self) -> float | None:
        connection = self.connection
        if connection.outgoing:
            return self.untaken()
        if self._parser is not None and self._entered:
            return connection.since + conversation.STALLED
        return self._until

    def overdue(self) -> None:
        if self.connection.outgoing:
            self.network.drop(self.connection, "answer not taken in time")
        elif self._begun or self._parser is not None:
            self._refuse(Refused("408 Request Timeout", "request not complete in time"))
        else:
            self.network.finish(self.connection, "idle")

    def drained(self) -> None:
        if len(self.connection.incoming):
            self.network.again(self.connection)

    # ------------------------------------------------------------ reading

    def _next(self) -> Request | None:
        """The next request, if all of it is there."""
        if self._parser is None and not self._read_head():
            return None
        return self._read_body()

    def _read_head(self) -> bool:
        """Read the request line and the headers, if they are complete, and ask whether the request may be made."""
        incoming = self.connection.incoming
        if not self._begun and len(incoming):
            self._begun, self._until = True, time.monotonic() + HEAD_TIME
        head = incoming.paragraph(HEAD)
        if head is None:
            if len(incoming) >= HEAD:
                raise Refused("431 Request Header Fields Too Large", f"head above {HEAD} bytes")
            return False
        if _FOLDED.search(head):
            raise Refused("400 Bad Request", "folded header line")
        if head.count(b"\n") > LINES + 2:
            raise Refused("431 Request Header Fields Too Large", f"more than {LINES} header lines")
        self._parser = _parser()
        self._body = Body(self.network.message_limit, self.network.room)
        self._request = _request(self._event(head), head)
        self._entered = not self.site.reads_body(self.connection, self._request)
        if self._entered:
            self.site.enter(self.connection, self._request)
        length = self._request.header("content-length")
        if length.isdecimal():
            self._grow(self._body.expect, int(length[:20]))
        if self._parser.they_are_waiting_for_100_continue:
            self.network.send(self.connection, b"HTTP/1.1 100 Continue\r\n\r\n")
        return True

    def _read_body(self) -> Request | None:
        """Read on in a body; the request, once all of it is there."""
        incoming = self.connection.incoming
        event = self._event(incoming.take(len(incoming)))
        while (kind := type(event).__name__) == "Data":
            self._grow(self._body.add, event.data)
            self._enter(len(self._body.data) >= ENTRY)
            event = self._event(b"")
        self._enter(kind == "EndOfMessage")
        if kind != "EndOfMessage" or self._request is None:
            return None
        incoming.put_back(self._parser.trailing_data[0])
        request = self._request._replace(body=self._body.data)
        self._parser = self._request = None
        self._body = Body()
        return request

    def _enter(self, ready: bool) -> None:
        """Ask whether the request may be made, if enough of its body is there for whoever decides that."""
        if ready and not self._entered and self._request is not None:
            body = bytes(self._body.data[:ENTRY])
            self.site.enter(self.connection, self._request._replace(body=body))
            self._entered = True

    def _grow(self, step: Callable[[Any], None], x: Any) -> None:
        """A step of the body; Refused if there is no room for it."""
        try:
            step(x)
            return
        except TooLarge as e:
            problem = str(e)
        self._body = Body()
        raise Refused("413 Content Too Large", f"body {problem}")

    def _event(self, data: bytes) -> Any:
        """The next event that h11 reads, once it has this data too."""
        import h11

        try:
            if data:
                self._parser.receive_data(data)
            return self._parser.next_event()
        except h11.RemoteProtocolError as e:
            status, problem = e.error_status_hint, str(e)
        reason = {431: "431 Request Header Fields Too Large", 501: "501 Not Implemented"}
        raise Refused(reason.get(status, "400 Bad Request"), problem)


def _parser() -> Any:
    import h11

    return h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD)


def _request(event: Any, head: bytes) -> Request:
    """The request of an event of h11. A body length given twice can be read differently by a proxy, so it is
    refused."""
    if type(event).__name__ != "Request":
        raise Refused("400 Bad Request", "no request")
    names = [name.lower() for name, _ in event.headers.raw_items()]
    if b"content-length" in names and b"transfer-encoding" in names:
        raise Refused("400 Bad Request", "two lengths of the body")
    if max(map(len, names), default=0) > NAME:
        raise Refused("431 Request Header Fields Too Large", f"header name above {NAME} bytes")
    headers = [(_text(name), _text(value)) for name, value in event.headers.raw_items()]
    request = Request(_text(event.method), _text(event.target), headers, b"", True)
    old = event.http_version < b"1.1"
    words = request.words("connection")
    return request._replace(keeps="keep-alive" in words if old else "close" not in words)


def _text(data: bytes) -> str:
    return bytes(data).decode("utf-8", "surrogateescape")
