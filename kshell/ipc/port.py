"""The port of a session: what the language asks of its connections."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from threading import get_ident

from kshell.errors import QError
from kshell.ipc import bounds, client, tls, wire
from kshell.ipc.address import LOOPBACK, Peer, Url, is_loopback, place
from kshell.ipc.arrivals import arrivals
from kshell.ipc.connection import Connection
from kshell.ipc.conversation import Conversation
from kshell.ipc.handlers import Handlers, Host, evaluate
from kshell.ipc.listener import Listeners
from kshell.ipc.messages import bad_bytes
from kshell.ipc.web import client as web_client
from kshell.values.base import types as T
from kshell.values.base.build import string, text_bytes
from kshell.values.base.core import NIL, Atom, List, Value, char
from kshell.values.session import interrupts
from kshell.values.session.context import restricted

# errors of a handle that is no connection: of -25! and -38!, and of anything else
NO_CONNECTION = "{} is not an ipc handle"
NO_FILE = "Cannot write to handle {}. OS reports: Bad file descriptor"
LOOK = 0.005  # seconds between checks for messages during long work


class Port(Handlers):
    """The connections of a session, in and out."""

    def __init__(self, session: Host) -> None:
        super().__init__(session)
        self.without_input = False  # has standard input ended?
        self._thread = get_ident()
        self._certified = False  # do clients need a certificate?
        self._look = 0.0  # time of the next check for messages during long work

    # ------------------------------------------------------------ listening

    @property
    def number(self) -> int:
        """The port that is listened on, negative if its clients may change nothing; 0 if there is none."""
        listening = self.network.listening
        if listening is None:
            return 0
        return -listening.port if listening.place.reads else listening.port

    def listen(self, words: str) -> None:
        """Do what `\\p words` asks for."""
        where = place(words)
        if not where.first and not where.last:
            self.network.listen(None)
            return
        if where.host and not is_loopback(where.host):
            self._let_others_in(words)
        self.network.listen(Listeners(where))

    def _let_others_in(self, words: str) -> None:
        """Other machines can reach the port: an error if anybody could then connect, a warning if anybody could
        read."""
        only_tls = self.network.encryption > 1
        guarded = self.gate.rules.guarded or (only_tls and self._certified)
        if not guarded and self._find(".z.pw") is None:
            raise QError(
                f"\\p: {words} lets other machines in: expected a file of users (-u or -U), --token, .z.pw, or --open"
            )
        if only_tls:
            return
        warning = f"\\p: {words}: what other machines send is not encrypted"
        self.network.log.add(warning)
        self.session.warn(f"warning: {warning}\n")

    @property
    def encryption(self) -> int:
        """0 if the port takes plain connections alone, 1 if TLS too, 2 if it takes TLS alone."""
        return self.network.encryption

    def encrypt(self, how: int) -> None:
        """Do what `\\E how` asks for; the certificate is read again."""
        if how:
            context = tls.server_context()
            self.network.new_channel = lambda: tls.Channel(context, is_server=True)
            self._certified = context.verify_mode.name == "CERT_REQUIRED"
        self.network.encryption = how
        self.network.log.add(f"TLS {('off', 'on', 'only')[how]}")

    @property
    def stays(self) -> bool:
        """Should the process keep running when it has nothing else to do?"""
        return self.network.listening is not None

    def arrivals(self) -> AsyncIterator[None]:
        """An item each time that a turn of the loop has something to do, in an event loop of the program's own."""
        return arrivals(self.network)

    def input_ended(self) -> None:
        """Standard input has ended; `.z.pc` is called with 0, as kdb+ does."""
        if not self.without_input:
            self.without_input = True
            self._notify(None, ".z.pc", 0)

    def between(self, statements: bool = False) -> None:
        """Long work is at a point where messages can be handled: do so, if it is time to look for them. Between two
        statements, as in `neg[h]x;h[]`, what comes on connections of our own making is left for the next one. What is
        restricted, as by `reval`, is not interrupted: the messages are not."""
        if self.updates is not None and not self.updates.ready:
            return
        now = time.monotonic()
        if now >= self._look and get_ident() == self._thread and not restricted():
            self._look = now + LOOK
            interrupts.stoppable(self.network.turn, 0.0, None, statements)

    # ------------------------------------------------------------ as a client

    def open(self, to: Peer, timeout: float | None) -> int:
        """Connect to a process; the handle. The port of this process itself is handle 0."""
        if self._is_own(to):
            return 0
        connection = client.connect(to, timeout)
        self.network.add(connection)
        return connection.handle

    def _is_own(self, to: Peer | Url) -> bool:
        """Is it the port of this process?"""
        is_here = to.host in LOOPBACK or to.host.lower() in self.network.names
        return is_here and to.port == abs(self.number) != 0

    def pack(self, handle: int, packs: bool) -> None:
        """Compress what is sent on a connection from now on, or do not."""
        connection = self._connection(handle, NO_CONNECTION)
        connection.packed = packs and connection.capability > 0

    def has(self, handle: int) -> bool:
        """Is it the handle of a connection?"""
        return handle in self.network.connections

    def close(self, handle: int) -> bool:
        """Close a connection; false if the handle is none."""
        connection = self.network.connections.get(handle)
        if connection is None:
            return False
        goodbye = connection.conversation.goodbye() if connection.conversation else b""
        if goodbye:
            self.network.send(connection, goodbye)
            self.network.finish(connection, "close")
        else:
            self.network.drop(connection)
        return True

    def send(self, handle: int, x: Value) -> None:
        """Queue an asynchronous message."""
        connection = self._connection(handle)
        self.network.send(connection, _spoken(connection).encoded(x))

    def flush(self, handle: int) -> None:
        """Wait until everything queued is written."""
        client.flush(self._connection(handle))

    def ask(self, handle: int, x: Value) -> Value:
        """Send a request and wait for its answer. What comes on the same connection meanwhile is handled."""
        connection = self._messages(handle)
        data = wire.message(wire.SYNC, x, connection.capability, connection.packed)
        connection.queue(data)
        return self._awaited(connection, response=True)

    def ask_once(self, to: Peer, timeout: float | None, x: Value) -> Value:
        """The answer to a request by a connection that is made for it; anything else that comes is an error. Works in
        peach too, since the loop does not know the connection."""
        if self._is_own(to):
            return evaluate(self.session, x)
        connection = client.connect(to, timeout)
        connection.incoming.room = self.network.room
        try:
            connection.queue(wire.message(wire.SYNC, x, connection.capability, connection.packed))
            return self._awaited(connection, response=True, alone=True)
        finally:
            self.network.drop(connection)

    def ask_web(self, to: Url, timeout: float | None, x: Value) -> Value:
        """The response of a server of HTTP to the text of a request; or a handle of a WebSocket, asked for by the head
        of a request, and the head of the response, where the handle is null if the server opened none."""
        if self._is_own(to):
            raise QError(
                f"{to.scheme}: {to.port} is the port of this process, which cannot answer while it waits"
            )
        text = text_bytes(x)
        if to.scheme.startswith("http"):
            return string(web_client.ask(to, text, timeout))
        if self._find(".z.ws") is None:
            raise QError(f"{to.scheme}: .z.ws is not set: nothing would receive the messages")
        opened = web_client.open_websocket(to, text, timeout)
        if opened.connection is None:
            return List([Atom(T.I, T.NULL[T.I]), string(opened.answer)])
        self.begin(opened.connection, opened.frames, opened.packed)
        if len(opened.connection.incoming):
            self.network.again(opened.connection)
        return List([Atom(T.I, opened.connection.handle), string(opened.answer)])

    def receive(self, handle: int) -> Value:
        """Wait for a message, and give the value in it as it is."""
        return self._awaited(self._messages(handle), response=False)

    def broadcast(self, handles: list[int], x: Value) -> None:
        """Send one message to several connections, or to none of them if it cannot be sent to one."""
        connections = [self._connection(handle, NO_CONNECTION) for handle in handles]
        if x is NIL:
            for connection in connections:
                client.flush(connection)
            return
        for connection, data in zip(connections, _for_all(connections, x), strict=True):
            self.network.send(connection, data)

    def described(self, handle: int) -> list[Value]:
        """The result of `-38!` for a handle: protocol, family, compression, and messages and bytes that wait."""
        connection = self._connection(handle, NO_CONNECTION)
        family = char("u" if connection.unix else "t")
        waiting = len(connection.outgoing)
        return [
            char(_spoken(connection).letter),
            family,
            connection.packed,
            waiting,
            connection.queued,
        ]

    def _connection(self, handle: int, error: str = NO_FILE) -> Connection:
        connection = self.network.connections.get(handle)
        if connection is None:
            raise QError(error.format(handle))
        return connection

    def _messages(self, handle: int) -> Connection:
        """The connection of a handle that speaks q's protocol; a WebSocket has no answers to wait for, so it is
        'nyi."""
        connection = self._connection(handle)
        if _spoken(connection).letter != "q":
            raise QError(
                "nyi", hint="a WebSocket has no answers: send with neg[h], receive in .z.ws"
            )
        return connection

    def _awaited(self, connection: Connection, response: bool, alone: bool = False) -> Value:
        """The value of the next response, or of the next message of any kind, on a connection; `alone`: before the
        response there must be nothing else. What came behind it is handled in the next turn."""
        problem = ""
        try:
            found = self._next(connection, response, alone)
            if len(connection.incoming) and not alone:
                self.network.again(connection)
            return found
        except KeyboardInterrupt as stop:
            self.network.drop(connection, "interrupted")
            if stop.args or self.serving:  # sent twice, or the time limit of a client
                raise
            problem = f"rcv handle: {connection.handle}. OS reports: Interrupted system call"
        except wire.Remote as e:
            problem = str(e)
        except wire.BadMessage as e:
            problem = "badmsg"
            if not alone:
                self._show_bad(connection, bad_bytes(connection, e))
            self.network.lost(connection, f"badmsg: {e}")
        raise QError(problem)

    def _next(self, connection: Connection, response: bool, alone: bool) -> Value:
        client.flush(connection)
        while not connection.closed:
            data = connection.incoming.message()
            if data is None:
                if connection.ended:
                    break
                connection.wait(None)
                connection.read()
                continue
            kind = data[wire.KIND]
            if kind == wire.RESPONSE or not response:
                return bounds.value(connection, data)
            if alone:
                raise QError("expected response msg")
            self.carry_out(connection, kind, data)
        self.network.lost(connection)
        raise QError(f"close handle: {connection.handle}")


def _spoken(connection: Connection) -> Conversation:
    """The conversation of a connection that is open."""
    assert connection.conversation is not None
    return connection.conversation


def _for_all(connections: list[Connection], x: Value) -> list[bytes]:
    """The bytes of one message for each of several connections; those of q have the same, made once."""
    capability = min((c.capability for c in connections if _spoken(c).letter == "q"), default=None)
    problem = ""
    at = connections[0].handle
    try:
        shared = b"" if capability is None else wire.message(wire.ASYNC, x, capability)
        found = []
        for connection in connections:
            at = connection.handle
            speaker = _spoken(connection)
            found.append(shared if speaker.letter == "q" else speaker.encoded(x))
        return found
    except QError as e:
        problem = f"{e.text} error serializing for handle {at}"
    raise QError(problem)
