"""One connection: its socket, the bytes that came in, the messages that wait to go out."""

from __future__ import annotations

import select
import socket
import time
from collections import deque
from contextlib import suppress
from typing import Protocol

from kshell.ipc import peer, wire
from kshell.ipc.conversation import Conversation

FIRST, CHUNK = 1 << 13, 1 << 20  # maximum bytes of the first and of each further read
MOST = 1 << 23  # maximum bytes read per turn
# writing to a socket that the other side closed is an error, not the end of the process by SIGPIPE
NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)
_NO_SIGPIPE = 0x1022  # SO_NOSIGPIPE, where there is no such flag (macOS)


class Closed(Exception):
    """The other side closed the connection, or the system did."""


class Broken(Exception):
    """The encryption of a connection failed; the text says why."""


class Channel(Protocol):
    """The encryption of a connection: `Channel` in kshell/ipc/tls.py."""

    established: bool
    ended: bool
    certified: bool
    fault: str

    @property
    def protocol(self) -> str:
        """The version of TLS."""

    def received(self, data: bytes) -> bytes:
        """The bytes of messages in what came from the socket, up to where it is no TLS: `fault` says what is wrong."""

    def sealed(self, data: bytes | memoryview) -> bytes:
        """The bytes of messages, encrypted. Broken if nothing can be sent any more."""

    def leaving(self) -> bytes:
        """The bytes that the encryption itself has to send."""

    def last(self) -> bytes:
        """The last bytes to send before the connection is closed."""

    def described(self) -> tuple[str, str, dict[str, str]]:
        """Cipher, protocol, and the other side's certificate."""


class Connection:
    """A connection that was accepted, or that `hopen` made. Its handle is the number of its socket.

    Messages go out in the order in which they were queued; a queue is written when the socket takes it.
    """

    def __init__(self, sock: socket.socket, limit: int, accepted: bool) -> None:
        sock.setblocking(False)
        if not NO_SIGNAL:
            sock.setsockopt(socket.SOL_SOCKET, _NO_SIGPIPE, 1)
        self.sock, self.handle, self.accepted = sock, sock.fileno(), accepted
        self.unix = sock.family == socket.AF_UNIX
        if not self.unix:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.incoming = wire.Stream(limit)
        self.outgoing: deque[memoryview] = deque()
        self.queued = 0  # bytes in `outgoing`
        self.events = 0  # those of its socket for which the loop waits
        self.held = False  # is nothing read for now?
        self.capability = 0  # agreed in the handshake
        self.open = False  # is the handshake complete?
        self.closed = False
        self.ended = False  # has the other side finished sending?
        self.user = ""
        self.refusal = "access"  # why its login was refused
        self.address = 0  # IPv4, as `.z.a` shows it
        self.local = self.unix  # is the peer on this machine?
        self.channel: Channel | None = None  # encrypts and decrypts
        self.error = ""  # what the system said when it ended
        self.fault = ""  # what is wrong with the encryption
        self.peer = ""  # as the log shows it
        self.host = ""  # its address as text; empty for a unix socket
        self.owner: int | None = None  # the user who runs the other side, if that is known
        self.reads = False  # may it change nothing, as on a negative port?
        self.packed = False  # are messages compressed?
        self.symbols = 0  # new ones in its messages
        self.deferred = 0  # pending responses after -30!
        self.made = self.since = time.monotonic()  # `since`: when bytes last came in
        self.greeted = False  # was `.z.po` called?
        self.conversation: Conversation | None = None  # by the protocol of its first bytes

    def fileno(self) -> int:
        return self.handle

    def identify(self) -> None:
        """Find out who is at the other side, as long as the system knows: of a connection that was reset it does not.
        OSError if it is gone already."""
        self.host, _ = peer.address_of(self.sock)
        self.address, self.local = peer.as_number(self.host), peer.is_local(self.host)
        self.peer = peer.described(self.sock)
        self.owner = peer.user_of(self.sock) if self.accepted else None

    @property
    def secure(self) -> bool:
        """Is it encrypted?"""
        return self.channel is not None

    # ------------------------------------------------------------ in

    def read(self, most: int = MOST) -> bool:
        """Read received bytes; true if there were any. `ended` is set when the other side will send no more."""
        total = 0
        # memory for a large read costs more than reading a small message
        size = min(FIRST, most)
        while total < most and not self.closed:
            try:
                data = self.sock.recv(size)
            except BlockingIOError:
                break
            except OSError as e:
                data, self.error = b"", f"hop. OS reports: {e.strerror}"
            if not data:
                self.ended = True
                break
            if self.channel is None:
                self.incoming.feed(data)
            else:
                self._decrypt(self.channel, data)
            total += len(data)
            if len(data) < size:
                break
            size = min(CHUNK, most - total)
        if total:
            self.since = time.monotonic()
        if self.outgoing and self.secure:  # what a handshake answers
            with suppress(Closed):
                self.write()
        return bool(total)

    def _decrypt(self, channel: Channel, data: bytes) -> None:
        """Take encrypted bytes."""
        self.incoming.feed(channel.received(data))
        if channel.fault:
            self.ended, self.fault = True, f"TLS: {channel.fault}"
        self.ended = self.ended or channel.ended
        self._put(channel.leaving())

    def encrypt(self, channel: Channel) -> None:
        """Encrypt from now on; what has come in is the beginning of a handshake."""
        begun = self.incoming.take(len(self.incoming))
        self.channel = channel
        self._decrypt(channel, begun)

    # ------------------------------------------------------------ out

    def queue(self, data: bytes) -> None:
        """Queue bytes to be written when the socket is ready; none if the encryption has failed, which ends the
        connection."""
        if self.channel is None:
            self._put(data)
            return
        try:
            self._put(self.channel.sealed(data))
        except Broken as e:
            self.ended, self.fault = True, self.fault or f"TLS: {e}"
            self.discard()

    def send(self, data: bytes) -> None:
        """Queue bytes, and write what the socket takes now; Closed if the connection is gone."""
        if self.channel is not None or self.outgoing:
            self.queue(data)
            self.write()
            return
        try:
            sent = self.sock.send(data, NO_SIGNAL)
        except OSError as e:
            sent = self._refused(e)
        if sent < len(data):
            self._put(memoryview(data)[sent:])

    def _refused(self, e: OSError) -> int:
        """The socket took nothing: 0 if it will, Closed if it is gone."""
        if isinstance(e, BlockingIOError):
            return 0
        self.ended = True
        raise Closed

    def discard(self) -> None:
        """Send nothing of what is queued."""
        self.outgoing.clear()
        self.queued = 0

    def _put(self, data: bytes | memoryview) -> None:
        if data:
            self.outgoing.append(memoryview(data))
            self.queued += len(data)

    def write(self) -> None:
        """Write as much of the queue as the socket takes; Closed if the connection is gone."""
        while self.outgoing:
            part = self.outgoing[0]
            try:
                sent = self.sock.send(part, NO_SIGNAL)
            except OSError as e:
                sent = self._refused(e)
            self.queued -= sent
            if sent < len(part):
                self.outgoing[0] = part[sent:]
                return
            self.outgoing.popleft()

    def wait(self, timeout: float | None, reading: bool = True) -> bool:
        """Wait until bytes came in, or the socket takes bytes that are queued; False if neither came in time."""
        poll = select.poll()
        events = (select.POLLIN if reading else 0) | (select.POLLOUT if self.outgoing else 0)
        poll.register(self.handle, events)
        return bool(poll.poll(None if timeout is None else max(0, int(timeout * 1000))))

    def flush(self) -> None:
        """Write the whole queue, and wait for it; Closed if the connection is gone."""
        self.write()
        while self.outgoing:
            self.wait(None, reading=False)
            self.write()

    def finish(self) -> None:
        """Tell the other side that nothing more will be sent."""
        with suppress(OSError):
            if self.channel is not None:
                self.sock.send(self.channel.last(), NO_SIGNAL)
            self.sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close the socket, discarding queued bytes."""
        if self.channel is not None and not self.outgoing:
            with suppress(OSError):
                self.sock.send(self.channel.last(), NO_SIGNAL)
        self.closed = True
        self.discard()
        self.sock.close()
