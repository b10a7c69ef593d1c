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
    sock = _unix(to.port) if to.scheme.startswith("unix") else connected(to.host, to.port, timeout)
    try:
        connection = Connection(sock, FOREVER, accepted=False)
        if to.scheme.endswith("s"):
            encrypt(connection, to.host if to.scheme == "tcps" else "", end)
        user = to.user or _own_name()
        login = f"{user}:{to.password}".encode("utf-8", "surrogateescape")
        connection.queue(login + bytes((wire.CAPABILITY, 0)))
        answer = _answer(connection, end)
        identify(connection)
    except BaseException:
        sock.close()
        raise
    connection.capability, connection.open, connection.greeted = answer, True, True
    return connection


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


def _unix(port: int) -> socket.socket:
    """A connection to the unix socket of a port: the name without a file, else the file; its owner must be the user of
    this process or root."""
    problem = "No such file or directory"
    for name in (abstract_name(port), file_name(port)):
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.connect(name)
        except OSError as e:
            problem = e.strerror or str(e)
            sock.close()
            continue
        if peer.trusted(peer.user_of(sock)):
            return sock
        sock.close()
        raise QError("access: the socket belongs to another user")
    raise QError(f"hop. OS reports: {problem}")


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


def _answer(connection: Connection, end: float | None) -> int:
    """The byte that answers a login: the capability that both sides have."""
    while not len(connection.incoming) and not connection.ended:
        step(connection, end)
    if not len(connection.incoming):
        raise QError(connection.error or "access")
    return min(connection.incoming.take(1)[0], wire.CAPABILITY)


def flush(connection: Connection) -> None:
    """Wait until all that is queued is written; an interrupt leaves the rest in the queue."""
    try:
        connection.flush()
        return
    except Closed:
        pass
    raise QError(f"close handle: {connection.handle}")
