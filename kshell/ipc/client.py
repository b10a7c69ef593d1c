"""Connections to other processes: opening them, asking, and waiting for what comes."""

from __future__ import annotations

import getpass
import socket
import time
from contextlib import suppress

from kshell.errors import QError, os_text
from kshell.ipc import peer, tls, wire
from kshell.ipc.address import NO_HOST, Peer
from kshell.ipc.connection import Broken, Closed, Connection
from kshell.ipc.listener import abstract_name, file_name

FOREVER = 1 << 62


def connect(to: Peer, timeout: float | None) -> Connection:
    """A connection that has logged in. 'hop if nobody listens, 'access if it is refused, 'timeout if the login is not
    answered in so many seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    sock = (
        _beside(to.port) if to.scheme.startswith("unix") else connected(to.host, to.port, timeout)
    )
    try:
        connection = Connection(sock, FOREVER, accepted=False)
        if to.scheme.endswith("s"):
            encrypt(connection, to.host if to.scheme == "tcps" else "", end)
        greet(connection, to.user, to.password)
        while not is_open(connection) and not connection.ended:
            step(connection, end)
        if not connection.open:
            raise QError(connection.error or "access")
        identify(connection)
    except BaseException:
        sock.close()
        raise
    return connection


def connect_at(path: str) -> Connection:
    """A connection to the unix socket with this path, whose login is queued; `is_open` says when it is answered.
    OSError if nobody listens there, or too many others wait to be accepted."""
    connection = Connection(_unix(path, waits=False), FOREVER, accepted=False)
    greet(connection)
    return connection


def greet(connection: Connection, user: str = "", password: str = "") -> None:
    """Queue the login, by default that of the user of this process."""
    login = f"{user or _own_name()}:{password}".encode("utf-8", "surrogateescape")
    connection.queue(login + bytes((wire.CAPABILITY, 0)))


def is_open(connection: Connection) -> bool:
    """Is the login answered? The answer is a byte, the capability that both sides have."""
    if not connection.open and len(connection.incoming):
        connection.capability = min(connection.incoming.take(1)[0], wire.CAPABILITY)
        connection.open = connection.greeted = True
    return connection.open


def identify(connection: Connection) -> None:
    """Find out who is at the other side; 'hop if it is gone already."""
    problem = ""
    try:
        connection.identify()
        return
    except OSError as e:
        problem = os_text(e)
    raise QError(f"hop. OS reports: {problem}")


def _own_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def connected(host: str, port: int, timeout: float | None) -> socket.socket:
    """A socket that is connected to a port; 'hop or 'timeout if that fails."""
    problem = ""
    try:
        return socket.create_connection((host, port), timeout)
    except TimeoutError:
        problem = "timeout"
    except OSError as e:
        problem = f"hop. OS reports: {e.strerror or os_text(e)}"
    except ValueError:
        problem = f"hop. OS reports: {host}: {NO_HOST}"
    raise QError(problem)


def _beside(port: int) -> socket.socket:
    """A connection to the unix socket of a port: the name without a file, else the file."""
    problem = "No such file or directory"
    for name in (abstract_name(port), file_name(port)):
        try:
            return _unix(name)
        except OSError as e:
            problem = e.strerror or str(e)
    raise QError(f"hop. OS reports: {problem}")


def _unix(name: str, waits: bool = True) -> socket.socket:
    """A connection to a unix socket, whose owner must be the user of this process or root. Does it wait if too many
    others do?"""
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.setblocking(waits)
        sock.connect(name)
        if peer.trusted(peer.user_of(sock)):
            return sock
    except OSError:
        sock.close()
        raise
    sock.close()
    raise QError("access: the socket belongs to another user")


def encrypt(connection: Connection, host: str, end: float | None) -> None:
    """Set up TLS with the other side, within ten seconds. If a host is given, the certificate must be valid for it."""
    problem = ""
    try:
        context = tls.client_context(bool(host))
        channel = tls.Channel(context, is_server=False, host=host)
        channel.advance()
        connection.encrypt(channel)
        limit = time.monotonic() + tls.HANDSHAKE
        while not channel.established:
            step(connection, limit if end is None else min(end, limit))
            problem = connection.fault.removeprefix("TLS: ")
            if connection.ended:
                break
    except (Broken, ValueError) as e:
        problem = str(e)
    except QError as e:
        if e.text == "timeout":
            raise
        problem = e.text
    if problem or not channel.established:
        raise QError(f"conn. OS reports: {problem or 'Connection reset by peer'}")


def step(connection: Connection, end: float | None) -> None:
    """Write what waits, and read what comes until a time; 'timeout if nothing does."""
    left = None if end is None else max(0.0, end - time.monotonic())
    with suppress(Closed):
        connection.write()
    if not connection.wait(left) and left is not None:
        raise QError("timeout")
    connection.read()


def flush(connection: Connection) -> None:
    """Wait until all that is queued is written; an interrupt leaves the rest in the queue."""
    try:
        connection.flush()
        return
    except Closed:
        pass
    raise QError(f"close handle: {connection.handle}")
