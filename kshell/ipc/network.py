"""The connections of a session and the loop that serves them.

One thread runs q. A turn of the loop accepts, reads what came in on any connection, handles whole messages of each in
turn, and writes what waits to go out; it never waits for a single connection. A turn is taken while the session waits
for input, and where long work of q can be interrupted for it.
"""

from __future__ import annotations

import errno
import os
import resource
import selectors
import socket
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any
from typing import Protocol as Protocol_

from kshell.ipc import wire
from kshell.ipc.connection import Channel, Closed, Connection
from kshell.ipc.conversation import Conversation, Farewell
from kshell.ipc.listener import Listeners
from kshell.ipc.log import Log
from kshell.ipc.messages import Messages

LOGIN = 1 << 16  # maximum bytes of a login
LOGIN_TIME = 10.0  # seconds until a login must be complete
GREETING = 0.05  # seconds after which .z.po is called though nothing came in yet
AWAKE = 1e-4  # seconds of a short wait for something to do
CHECK = 0.25  # seconds between checks for connections that are due
ACCEPTS = 64  # maximum connections accepted per turn
RETRY = 0.1  # seconds until accepting is tried again, after the system refused
READ, WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_VERBS = (b"GET ", b"POST ", b"PUT ", b"PATCH ", b"DELETE ", b"OPTIONS ", b"HEAD ")  # of HTTP
BACKLOG = 1 << 24  # bytes of whole messages that wait, from which on a connection is not read


class Protocol(Protocol_):
    """The owner of the connections, which is told of every event; `Handlers` in kshell/ipc/handlers.py."""

    def admit(self, connection: Connection, user: str, password: str) -> bool:
        """May this user connect?"""

    def delayed(self, connection: Connection) -> bool:
        """Must the login of this connection wait?"""

    def opened(self, connection: Connection) -> None:
        """A connection was accepted, and has logged in."""

    def gone(self, connection: Connection) -> None:
        """The other side ended a connection."""

    def message(self, connection: Connection, data: bytes | bytearray) -> None:
        """A whole message came in. BadMessage if its bytes are no value."""

    def bad(self, connection: Connection, data: bytes) -> None:
        """Bytes came in that are no message."""

    def web(self, connection: Connection) -> Conversation | None:
        """The conversation with a client of HTTP; None if that is not served."""


class Network:
    """All connections of a session, by handle."""

    def __init__(self, protocol: Protocol) -> None:
        self.protocol = protocol
        self.connections: dict[int, Connection] = {}
        self.listening: Listeners | None = None
        self.log = Log()
        # bytes of a message of HTTP or a WebSocket, and of what may wait to go out before more; 0 is no limit
        self.message_limit, self.queue_limit = 1 << 30, 1 << 30
        self.room: Callable[[], int] | None = None  # bytes that a message of q may have now
        self._ready: dict[int, Connection] = {}  # those with messages that are not handled
        self._new: dict[int, Connection] = {}  # those that have not logged in, or were not greeted
        self.others: dict[
            int, Connection
        ] = {}  # those that are no handles of q: HTTP, and what ends
        self._timed: dict[int, Connection] = {}  # those about which something is due some time
        self._check = 0.0  # when to look at those again
        self._accept_after = 0.0  # when to accept again, after the system refused; else 0
        self._turning = False
        self._is_awake = False  # was the last wait a short one?
        self._beside: int | None = None  # a file beside the connections whose input ends the wait
        self.encryption = 0  # 1 takes TLS too, 2 nothing else
        self.new_channel: Callable[[], Channel] | None = None  # the encryption of a new connection

    @cached_property
    def selector(self) -> selectors.DefaultSelector:
        """The selector of the sockets. It takes a descriptor, so it is made when there is something to wait for."""
        return selectors.DefaultSelector()

    # ------------------------------------------------------------ listening

    def listen(self, listeners: Listeners | None) -> None:
        """Listen on these sockets in the place of those before."""
        if self.listening is not None:
            self._accept_none()
            self.listening.close()
        self.listening, self._accept_after = listeners, 0.0
        if listeners is not None:
            _raise_limit_of_files()
            self._accept_again()
            self.log.add(f"listen {listeners.host or 'localhost'}:{listeners.port}")

    def listen_too(self, sock: socket.socket) -> None:
        """Listen on one more socket."""
        self.selector.register(sock, READ, None)

    def _accept_none(self) -> None:
        for sock in self.listening.sockets if self.listening is not None else ():
            with suppress(KeyError):
                self.selector.unregister(sock)

    def _accept_again(self) -> None:
        self._accept_after = 0.0
        for sock in self.listening.sockets if self.listening is not None else ():
            self.selector.register(sock, READ, None)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(ACCEPTS):
            try:
                sock, _name = listener.accept()
            except BlockingIOError:
                return
            except OSError as e:
                if e.errno in (errno.EMFILE, errno.ENFILE):
                    self.log.add("conn")
                    self._accept_none()
                    self._accept_after = time.monotonic() + RETRY
                return
            self._accepted(sock)

    def _accepted(self, sock: socket.socket) -> None:
        try:
            connection = Connection(sock, LOGIN, accepted=True)
            connection.identify()
        except OSError:  # it closed immediately
            sock.close()
            return
        connection.reads = self.listening is not None and self.listening.place.reads
        self._new[connection.handle] = connection
        self._watch(connection)

    @property
    def names(self) -> set[str]:
        """The names and addresses of this machine that lead to the port, besides localhost and its addresses."""
        return set() if self.listening is None else self.listening.names

    # ------------------------------------------------------------ connections

    def add(self, connection: Connection) -> None:
        """Take a connection that is open into the loop."""
        connection.incoming.limit, connection.incoming.room = 1 << 62, self.room
        if connection.conversation is None:
            connection.conversation = Messages(self, connection)
        self.others.pop(connection.handle, None)
        self.connections[connection.handle] = connection
        self._watch(connection)
        if len(connection.incoming):  # came with the login, or with the answer to it
            self.again(connection)
        self.time(connection)

    def _watch(self, connection: Connection) -> None:
        """Wait for what is to be done about a connection: to write what is queued, and to read, unless nothing more
        can come, or more has come than is handled soon."""
        if connection.events == READ and not connection.outgoing and not connection.held:
            return
        speaker = connection.conversation
        is_behind = speaker is not None and speaker.takes_turns and _is_long(connection)
        reads = not (connection.held or (connection.outgoing and (connection.ended or is_behind)))
        events = READ * reads | WRITE * bool(connection.outgoing)
        if events == connection.events:
            return
        if not events:
            self.selector.unregister(connection.handle)
        elif connection.events:
            self.selector.modify(connection.handle, events, connection)
        else:
            self.selector.register(connection.handle, events, connection)
        connection.events = events

    def drop(self, connection: Connection, why: str = "close") -> None:
        """Close a connection; nothing is called."""
        if connection.closed:
            return
        if connection.events:
            self.selector.unregister(connection.handle)
            connection.events = 0
        for table in (self.connections, self.others, self._ready, self._new, self._timed):
            if table.get(connection.handle) is connection:
                del table[connection.handle]
        connection.close()
        self.log.add(why, connection.handle, connection.peer, connection.user)
        if connection.conversation is not None:
            connection.conversation.over()

    def lost(self, connection: Connection, why: str = "close") -> None:
        """Close a connection that the other side, or a fault of it, ended; if it was open, say so to the session."""
        known = connection.open and not connection.closed
        self.drop(connection, why)
        if known and connection.conversation is not None:
            connection.conversation.gone()

    def finish(self, connection: Connection, why: str) -> None:
        """Send what is queued, then close; nothing that comes in meanwhile is read. It is no connection any more."""
        if connection.closed:
            return
        for table in (self.connections, self._new):
            if table.get(connection.handle) is connection:
                del table[connection.handle]
        self.others[connection.handle] = connection
        connection.open = False
        if connection.conversation is not None:
            connection.conversation.over()
        farewell = connection.conversation = Farewell(self, connection, why)
        self.time(connection)
        if not connection.outgoing:
            farewell.drained()

    def send(self, connection: Connection, data: bytes) -> None:
        """Queue bytes, and write what the socket takes now. If the queue was longer than its limit before, and still
        is, drop the connection."""
        if connection.closed:
            return
        waited = connection.queued
        self._pass_on(connection, connection.send, data)
        if connection.fault:
            self.again(connection)  # the next turn finds it
        if waited > self.queue_limit > 0 and connection.queued > self.queue_limit:
            self.lost(connection, f"queue of {connection.queued} bytes")

    def write(self, connection: Connection) -> None:
        """Write what the socket takes; the loop goes on with the rest."""
        if not connection.closed:
            self._pass_on(connection, connection.write)

    def _pass_on(self, connection: Connection, work: Callable[..., None], *args: bytes) -> None:
        """work(*args), which gives bytes to the socket; then wait for what is to be done next about the connection."""
        try:
            work(*args)
        except Closed:
            connection.discard()
            if connection.conversation is not None and connection.conversation.takes_turns:
                connection.incoming.take(len(connection.incoming))  # no answer would arrive
            self.again(connection)  # the next turn finds the end
            return
        self._watch(connection)
        if not connection.outgoing and connection.conversation is not None:
            connection.conversation.drained()

    def again(self, connection: Connection) -> None:
        """Let the next turn look at what came in, though nothing new does."""
        if not connection.closed:
            self._ready[connection.handle] = connection

    # ------------------------------------------------------------ the loop

    def turn(
        self, timeout: float | None, beside: int | None = None, accepted: bool = False
    ) -> bool:
        """Take one turn, waiting for at most `timeout` seconds for something to do. `beside` is a file whose input
        ends the wait: is there any? If `accepted`, messages on connections that `hopen` made stay for whoever asks for
        them."""
        if self._turning:
            return False
        self._turning = True
        input_ready = False
        if self._accept_after and time.monotonic() >= self._accept_after:
            self._accept_again()
        if (
            beside != self._beside
            and (beside is not None or timeout != 0.0)
            and not self._look_at(beside)
        ):
            timeout, input_ready = 0.0, True
        try:
            for key, events in self._selected(self.patience(timeout)):
                found = key.data
                if found is None:
                    self._accept(key.fileobj)  # type: ignore[arg-type]
                elif found is self._beside:
                    input_ready = beside is not None
                else:
                    try:
                        if events & READ:
                            self._read(found)
                        if events & WRITE:
                            self.write(found)
                    except Exception as e:
                        self._failed(found, e)
            if self._new:
                self._look_after_new()
            # work of q may have taken long, so what came in meanwhile is read before the times are looked at
            if self._timed:
                self._look_after_timed()
            for connection in list(self._ready.values()):
                if not connection.closed and (connection.accepted or not accepted):
                    try:
                        self._handle(connection)
                    except Exception as e:
                        self._failed(connection, e)
        finally:
            self._turning = False
        return input_ready

    def _selected(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        """The sockets that have something to do, for which it waits at most `timeout` seconds. After a wait that was
        short, the next one begins by asking again and again, as long as a client that asks at once may take: to fall
        asleep and be woken costs more than a small request."""
        select = self.selector.select
        if timeout == 0.0:
            return select(0.0)
        start = time.monotonic()
        end = start + AWAKE if self._is_awake else start
        found = select(0.0) if self._is_awake else []
        while not found and time.monotonic() < end:
            os.sched_yield()
            found = select(0.0)
        if not found:
            found = select(timeout)
            self._is_awake = time.monotonic() - start < AWAKE
        return found

    def _contained(self, connection: Connection, work: Callable[..., Any], *args: Any) -> None:
        """work(*args) about a connection."""
        try:
            work(*args)
        except Exception as e:
            self._failed(connection, e)

    def _failed(self, connection: Connection, e: Exception) -> None:
        """An error that nothing expected ends this connection, and no other."""
        *_, (frame, line) = traceback.walk_tb(e.__traceback__)
        place = f"{os.path.basename(frame.f_code.co_filename)}:{line}"
        problem = f"internal error: {type(e).__name__}: {e} ({place})"
        try:
            self.lost(connection, problem)
        except Exception:
            self.drop(connection, problem)

    def _look_at(self, beside: int | None) -> bool:
        """From now on, input of this file ends the wait of a turn; false for a file that is always ready."""
        if self._beside is not None:
            with suppress(KeyError, ValueError, OSError):
                self.selector.unregister(self._beside)
        self._beside = None
        try:
            if beside is not None:
                self.selector.register(beside, READ, beside)
        except PermissionError:
            return False
        self._beside = beside
        return True

    def patience(self, timeout: float | None) -> float | None:
        """How long a turn may wait: not past a limit of time, nor while messages wait."""
        if self._ready:
            return 0.0
        if not (self._new or self._timed or self._accept_after):
            return timeout
        now = time.monotonic()
        limits = [] if timeout is None else [timeout]
        if self._new:
            limits.append(GREETING)
        if self._timed:
            limits.append(max(0.0, self._check - now))
        if self._accept_after:
            limits.append(max(0.0, self._accept_after - now))
        return min(limits, default=None)

    def _read(self, connection: Connection) -> None:
        if connection.closed or (connection.handle in self._ready and _is_long(connection)):
            return
        if connection.conversation is None:
            connection.read(max(1, LOGIN + 1 - len(connection.incoming)))
        else:
            connection.read()
            self._ready[connection.handle] = connection
        if connection.outgoing:
            self.write(connection)
        if connection.conversation is None and connection.accepted:
            self._log_in(connection)

    def _log_in(self, connection: Connection) -> None:
        """Read a login, if all of it came in, and let the peer in or close the connection."""
        if not self._readable(connection):
            return
        other = other_protocol(connection.incoming.starts(8))
        if other:
            self._speak(connection, other)
            return
        is_whole = 0 in connection.incoming.starts(LOGIN)
        if connection.ended and not is_whole:
            self.drop(connection)
            return
        is_delayed = self.protocol.delayed(connection)
        # its end would be read over and over
        connection.held = is_delayed and connection.ended
        self._watch(connection)
        if is_delayed:
            if len(connection.incoming) > LOGIN:
                self.drop(connection, f"bad login: more than {LOGIN} bytes")
            return
        try:
            login = connection.incoming.until(0, LOGIN)
        except wire.BadMessage as e:
            self.drop(connection, f"bad login: {e}")
            return
        if login is None:
            return
        user, password, asked = read_login(login)
        connection.user = user
        if not self.protocol.admit(connection, user, password):
            self.drop(connection, connection.refusal)
            return
        if connection.closed:  # by .z.pw
            return
        connection.capability = agreed(asked)
        connection.open = True
        connection.packed = connection.capability > 0 and not connection.local
        connection.made = time.monotonic()
        self.add(connection)
        self.send(connection, bytes((connection.capability,)))
        how = f"open {connection.channel.protocol}" if connection.channel is not None else "open"
        self.log.add(how, connection.handle, connection.peer, user)

    def _readable(self, connection: Connection) -> bool:
        """Are there bytes of a client, decrypted if it uses TLS? Drops a client that may not use it, or has to."""
        is_hello = connection.incoming.starts(1) == b"\x16"
        if connection.secure:
            if connection.fault:
                self.drop(connection, connection.fault)
        elif is_hello and self.encryption and self.new_channel is not None:
            connection.encrypt(self.new_channel())
            if connection.outgoing:
                self.write(connection)
            return self._readable(connection) and bool(len(connection.incoming))
        elif is_hello:
            self.drop(connection, "TLS not enabled")
        elif self.encryption > 1 and len(connection.incoming):
            self.drop(connection, "not TLS: this port accepts only TLS")
        return not connection.closed

    def _speak(self, connection: Connection, other: str) -> None:
        """Begin a conversation in another protocol than q's."""
        del self._new[connection.handle]
        connection.conversation = self.protocol.web(connection) if other == "HTTP" else None
        if connection.conversation is None:
            self.drop(connection, f"{other} is not served")
            return
        connection.greeted = True
        self.others[connection.handle] = self._ready[connection.handle] = connection

    def _look_after_new(self) -> None:
        """Greet connections that have just logged in, and drop logins that take too long."""
        now = time.monotonic()
        for connection in list(self._new.values()):
            waited = now - connection.made
            if connection.open:
                if connection.handle in self._ready or waited >= GREETING:
                    self._contained(connection, self._greet, connection)
            elif waited > LOGIN_TIME:
                self.drop(connection, "login not complete in time")
            elif len(connection.incoming):  # it was delayed
                self._contained(connection, self._log_in, connection)

    def time(self, connection: Connection) -> None:
        """Remember when something is due about a connection, if it is."""
        due = None if connection.conversation is None else connection.conversation.due()
        if due is None or connection.closed:
            if self._timed:
                self._timed.pop(connection.handle, None)
            return
        if not self._timed or due < self._check:
            self._check = max(due, time.monotonic())
        self._timed[connection.handle] = connection

    def _look_after_timed(self) -> None:
        """Let conversations about which something is due do it: a ping, or the end of a connection."""
        now = time.monotonic()
        if now < self._check:
            return
        self._check = now + CHECK
        for connection in list(self._timed.values()):
            # something came in from those that are ready
            if connection.conversation is None or connection.handle in self._ready:
                continue
            due = connection.conversation.due()
            if due is not None and due <= now and not connection.closed:
                self._contained(connection, connection.conversation.overdue)
        times = [found.conversation.due() for found in self._timed.values() if found.conversation]
        self._check = max(
            self._check, min((t for t in times if t is not None), default=self._check)
        )

    def _greet(self, connection: Connection) -> None:
        self._new.pop(connection.handle, None)
        if not connection.greeted:
            connection.greeted = True
            self.protocol.opened(connection)

    def _handle(self, connection: Connection) -> None:
        """Let a connection have its turn."""
        speaker = connection.conversation
        if speaker is None:  # its answer in a handshake could not be written
            self.drop(connection)
            return
        if not connection.greeted:
            self._greet(connection)
        if not connection.closed and not speaker.handle():
            if self._ready.get(connection.handle) is connection:
                del self._ready[connection.handle]
            if not connection.closed:
                self._watch(connection)
            self.time(connection)

    def close(self) -> None:
        """Close everything."""
        self.listen(None)
        for table in (self.connections, self._new, self.others):
            for connection in list(table.values()):
                self.drop(connection)


def read_login(data: bytes) -> tuple[str, str, int]:
    """User, password and capability of a login, whose last byte is zero. Clients before kdb+ 2.6 send no capability."""
    text, asked = data[:-1], 0
    if text and text[-1] < 0x20:
        text, asked = text[:-1], text[-1]
    user, _, password = text.decode("utf-8", "surrogateescape").partition(":")
    return user, password, asked


def other_protocol(start: bytes) -> str:
    """The protocol of a client that begins so, if it is another one than q's; else empty."""
    if start[:1] == b"\x16":
        return "TLS"
    return "HTTP" if start.startswith(_VERBS) else ""


def agreed(asked: int) -> int:
    """The capability of a connection: what the other side asked for, as far as it is there; 4 is reserved."""
    return 3 if asked == 4 else min(asked, wire.CAPABILITY)


def _is_long(connection: Connection) -> bool:
    """Has so much come in that it is to be handled before more is read?"""
    return len(connection.incoming) > BACKLOG


def _raise_limit_of_files() -> None:
    """Let the process have as many connections as the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
