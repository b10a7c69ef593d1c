"""The conversation over a WebSocket (RFC 6455): frames are read and written by wsproto, messages go to q code."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from typing import Protocol as Protocol_

import numpy as np

from kshell.errors import QError
from kshell.ipc import conversation
from kshell.ipc.web.body import Body, TooLarge
from kshell.ipc.web.request import Refused, Request
from kshell.values.base import types as T
from kshell.values.base.core import Value, Vec, atom_t, raw

if TYPE_CHECKING:
    from kshell.ipc.connection import Connection
    from kshell.ipc.network import Network

SILENT, PATIENCE = 30.0, 30.0  # seconds without a byte until a ping, and then until the end
# bytes inflated at once, so that no more than a thousand times as many come out before the next check
PIECE = 1 << 12
PLAIN = "kxnodeflate"  # the subprotocol of a client that cannot inflate
NORMAL, TOO_BIG = 1000, 1009  # codes of a close frame


class Receiver(Protocol_):
    """The owner of WebSockets, which is told of their events."""

    network: Network

    def websocket_message(self, connection: Connection, x: Value) -> None:
        """A whole message came in: a string, or a byte vector."""

    def websocket_gone(self, connection: Connection) -> None:
        """The other side, or a fault of its, ended the connection."""


class WebSocket(conversation.Quiet):
    """Messages over a WebSocket that is open; `frames` is the state of wsproto."""

    letter = "w"

    def __init__(self, receiver: Receiver, connection: Connection, frames: Any) -> None:
        super().__init__(receiver.network, connection)
        self.receiver, self._frames = receiver, frames
        self._body = self._empty()  # of the message that is coming in
        self._is_text = False  # is it a string?
        self._pinged: float | None = None  # when we asked whether the other side is there

    # ------------------------------------------------------------ in

    def handle(self) -> bool:
        """Handle what came in, up to a turn's share; is there more?"""
        connection = self.connection
        self._pinged = None
        end = time.monotonic() + conversation.TURN_TIME
        while len(connection.incoming):
            self._feed(connection.incoming.take(min(len(connection.incoming), PIECE)))
            if connection.conversation is not self or connection.closed:
                return not connection.closed
            if time.monotonic() > end:
                return bool(len(connection.incoming)) or connection.ended
        if connection.ended:
            self.network.lost(connection)
        return False

    def _feed(self, data: bytes) -> None:
        """Handle the events that some bytes make; a fault of the protocol ends the connection with its code."""
        from wsproto.utilities import RemoteProtocolError

        code, problem = 0, ""
        try:
            self._frames.receive_data(data)
            for event in self._frames.events():
                self._event(event)
                if self.connection.conversation is not self or self.connection.closed:
                    return
            return
        except RemoteProtocolError as e:
            code, problem = int(getattr(e.event_hint, "code", 1002)), str(e)
        self._end(code, f"websocket {code}: {problem}")

    def _event(self, event: Any) -> None:
        kind = type(event).__name__
        if kind in ("TextMessage", "BytesMessage"):
            self._message(event)
        elif kind == "Ping":
            self.network.send(self.connection, self._frames.send(event.response()))
        elif kind == "CloseConnection" and self._frames.state.name == "OPEN":
            self._end(int(event.code), f"websocket {int(event.code)}: {event.reason}")  # a fault
        elif kind == "CloseConnection":
            self._end(NORMAL, "close")

    def _message(self, event: Any) -> None:
        """Take a part of a message; if it is the last one, hand the message on."""
        data, problem = event.data, ""
        if isinstance(data, str):
            self._is_text, data = True, data.encode()
        try:
            self._body.add(data)
        except TooLarge as e:
            problem = str(e)
        if problem:
            self._body = self._empty()
            self._end(TOO_BIG, f"websocket {TOO_BIG}: message {problem}")
            return
        if not event.message_finished:
            return
        whole, is_text = self._body.data, self._is_text
        self._body, self._is_text = self._empty(), False
        self.received(Vec(T.C if is_text else T.X, np.frombuffer(whole, np.uint8)))

    def _empty(self) -> Body:
        return Body(self.network.message_limit, self.network.room)

    def received(self, x: Value) -> None:
        """A whole message came in: a string, or a byte vector."""
        self.receiver.websocket_message(self.connection, x)

    def _end(self, code: int, why: str) -> None:
        """End the connection from this side, because of the other."""
        self.network.send(self.connection, self.goodbye(code))
        if self.connection.closed:  # its queue was too long: it is gone already
            return
        self.network.finish(self.connection, why)
        self.gone()

    def gone(self) -> None:
        self.receiver.websocket_gone(self.connection)

    # ------------------------------------------------------------ out

    def encoded(self, x: Value) -> bytes:
        """The frame of a message: text for a string, binary for bytes; anything else is 'type, text that is no UTF-8
        'utf8."""
        from wsproto.events import BytesMessage, TextMessage

        qtype = x.t if x.__class__ is Vec else atom_t(x)
        if qtype not in (T.C, T.X):
            raise QError("type", hint="a WebSocket takes a string or bytes")
        data = x.a.tobytes() if isinstance(x, Vec) else bytes((raw(x),))
        if qtype == T.X:
            return bytes(self._frames.send(BytesMessage(data=data)))
        try:
            text = data.decode()
        except UnicodeDecodeError:
            text = None
        if text is None:
            raise QError("utf8")
        return bytes(self._frames.send(TextMessage(data=text)))

    def goodbye(self, code: int = NORMAL) -> bytes:
        """A close frame, if none has been sent."""
        from wsproto.events import CloseConnection
        from wsproto.utilities import LocalProtocolError

        try:
            return bytes(self._frames.send(CloseConnection(code=code)))
        except LocalProtocolError:
            return b""

    # ------------------------------------------------------------ time

    def due(self) -> float | None:
        if self._pinged is not None:
            return self._pinged + PATIENCE
        return self.connection.since + SILENT

    def overdue(self) -> None:
        """Ask a silent client whether it is there; end the connection of one that did not answer."""
        from wsproto.events import Ping

        if self._pinged is not None:
            self.network.lost(self.connection, "no answer to a ping")
            return
        self._pinged = time.monotonic()
        self.network.send(self.connection, self._frames.send(Ping()))


def accepted(request: Request) -> tuple[bytes, Any, bool]:
    """The response to a request for a WebSocket, the state of its frames, and whether they are compressed. Refused if
    the request is none."""
    from wsproto import ConnectionType
    from wsproto.events import AcceptConnection
    from wsproto.extensions import PerMessageDeflate
    from wsproto.handshake import H11Handshake
    from wsproto.utilities import RemoteProtocolError

    headers = [
        (name.encode("utf-8", "surrogateescape"), value.encode("utf-8", "surrogateescape"))
        for name, value in request.headers
    ]
    plain = PLAIN in request.words("sec-websocket-protocol")
    deflate = PerMessageDeflate()
    status, problem = 400, ""
    try:
        handshake = H11Handshake(ConnectionType.SERVER)
        handshake.initiate_upgrade_connection(headers, request.target)
        answer = AcceptConnection(
            extensions=[] if plain else [deflate], subprotocol=PLAIN if plain else None
        )
        return handshake.send(answer), handshake.connection, deflate.enabled()
    except RemoteProtocolError as e:
        status, problem = int(getattr(e.event_hint, "status_code", 400) or 400), str(e)
    except (ValueError, AssertionError) as e:  # parameters of an extension, names of hosts
        problem = str(e)
    text = "426 Upgrade Required" if status == 426 else "400 Bad Request"
    raise Refused(text, problem, Sec_WebSocket_Version="13")
