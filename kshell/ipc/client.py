"""Connections to other processes: opening them, asking, and waiting for what comes."""

from __future__ import annotations

import getpass
import select
import socket
import time

from kshell.errors import QError, os_text
from kshell.ipc import peer, wire
from kshell.ipc.address import Peer
from kshell.ipc.connection import Closed, Connection
from kshell.ipc.listener import abstract_name, file_name

FOREVER = 1 << 62


def connect(to: Peer, timeout: float | None) -> Connection:
    """A connection that has logged in. 'hop if nobody listens, 'access if it is refused, 'timeout if the login is not
    answered in so many seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    if to.scheme.endswith("s"):
        raise QError("conn. OS reports: Protocol not available")
    sock = _unix(to.port) if to.scheme == "unix" else _tcp(to, timeout)
    try:
        user = to.user or _own_name()
        login = f"{user}:{to.password}".encode("utf-8", "surrogateescape")
        sock.sendall(login + bytes((wire.CAPABILITY, 0)))
        answer = _answer(sock, end)
        connection = Connection(sock, FOREVER, accepted=False)
    except BaseException:
        sock.close()
        raise
    host, _ = peer.address_of(sock)
    connection.address, connection.local = peer.as_number(host), peer.is_local(host)
    connection.capability, connection.open, connection.greeted = answer, True, True
    return connection


def _own_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def _tcp(to: Peer, timeout: float | None) -> socket.socket:
    problem = ""
    try:
        return socket.create_connection((to.host, to.port), timeout)
    except TimeoutError:
        problem = "timeout"
    except OSError as e:
        problem = f"hop. OS reports: {e.strerror or os_text(e)}"
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


def _answer(sock: socket.socket, end: float | None) -> int:
    """The byte that answers a login: the capability that both sides have."""
    wait = None if end is None else max(0, int((end - time.monotonic()) * 1000))
    poll = select.poll()
    poll.register(sock, select.POLLIN)
    if not poll.poll(wait):
        raise QError("timeout")
    problem = "access"
    try:
        data = sock.recv(1)
    except OSError as e:
        data, problem = b"", f"hop. OS reports: {e.strerror}"
    if not data:
        raise QError(problem)
    return min(data[0], wire.CAPABILITY)


def flush(connection: Connection) -> None:
    """Wait until all that is queued is written; an interrupt leaves the rest in the queue."""
    try:
        connection.flush()
        return
    except Closed:
        pass
    raise QError(f"close handle: {connection.handle}")
