"""Listening sockets: TCP, and a unix socket named as in kdb+."""

from __future__ import annotations

import atexit
import errno
import os
import random
import socket
import stat
import sys
from contextlib import suppress

from kshell.errors import QError
from kshell.ipc.address import NO_HOST, Place, is_loopback

BACKLOG = 1024
# the loopback address of a machine's own name on Debian; asking a resolver could take long where there is no network
OWN_NAME = "127.0.1.1"


def folder() -> str:
    """The folder of unix sockets: `QUDSPATH`, else the user's runtime folder, else /tmp; empty switches them off."""
    return os.environ.get("QUDSPATH", os.environ.get("XDG_RUNTIME_DIR") or "/tmp")


def abstract_name(port: int) -> str:
    """The name without a file under which kdb+ on Linux listens beside a port."""
    return f"\0{os.environ.get('QUDSPATH', '/tmp')}/kx.{port}"


def file_name(port: int) -> str:
    return f"{folder()}/kx.{port}"


class Listeners:
    """The sockets of one port. `host` is the address asked for, empty for this machine alone."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.host, self.sockets = place.host, [_tcp(place)]
        self.port = int(self.sockets[0].getsockname()[1])
        self._file = ""
        # names and addresses of this machine that lead here, besides those that each machine has
        self.names = {place.host.lower()} if is_loopback(place.host) else set()
        if not place.host:
            self._listen_locally(place)
        if not place.shared and folder():
            self._listen_beside()

    def _listen_locally(self, place: Place) -> None:
        """Listen on the other loopback addresses that this machine has: ::1, and the one of its own name."""
        with suppress(OSError):
            self.sockets.append(_bound(socket.AF_INET6, "::1", self.port, place.shared))
        with suppress(OSError):
            self.sockets.append(_bound(socket.AF_INET, OWN_NAME, self.port, place.shared))
        self.names |= {OWN_NAME, socket.gethostname().lower()}

    def _listen_beside(self) -> None:
        """Listen on unix sockets too. They are a convenience, so what the system refuses is left out."""
        if sys.platform == "linux":
            with suppress(OSError):
                self.sockets.append(_unix(abstract_name(self.port)))
        path = file_name(self.port)
        with suppress(OSError):
            _clear(path)
            before = os.umask(0o177)
            try:
                self.sockets.append(_unix(path))
            finally:
                os.umask(before)
            self._file = path
            atexit.register(self.close)

    def close(self) -> None:
        """Stop listening; connections stay."""
        atexit.unregister(self.close)
        for sock in self.sockets:
            sock.close()
        if self._file:
            with suppress(OSError):
                os.unlink(self._file)


def _tcp(place: Place) -> socket.socket:
    """A socket on one of the ports asked for, tried in random order."""
    host = place.host or "127.0.0.1"
    problem: OSError | None = None
    family = _family(host)
    ports = list(range(place.first, place.last + 1))
    random.shuffle(ports)
    for port in ports:
        try:
            return _bound(family, host, port, place.shared)
        except OSError as e:
            problem = e
            if e.errno != errno.EADDRINUSE:
                break
    why = "no port" if problem is None else problem.strerror
    raise QError(f"{place.first}: {why}")


def _family(host: str) -> int:
    """The family of the address of a host."""
    problem = ""
    try:
        return socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][0]
    except OSError as e:
        problem = e.strerror or str(e)
    except ValueError:
        problem = NO_HOST
    raise QError(f"{host}. OS reports: {problem}")


def _bound(family: int, host: str, port: int, shared: bool) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind((host, port))
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def _unix(name: str) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        sock.bind(name)
        sock.listen(BACKLOG)
        sock.setblocking(False)
    except OSError:
        sock.close()
        raise
    return sock


def _clear(path: str) -> None:
    """Remove the socket that a process left behind, if nobody listens on it."""
    if not os.path.exists(path) or not stat.S_ISSOCK(os.stat(path).st_mode):
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as trial:
        try:
            trial.connect(path)
        except ConnectionRefusedError:
            os.unlink(path)
