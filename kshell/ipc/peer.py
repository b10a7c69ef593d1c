"""The user at the other end of a local connection, according to the operating system."""

from __future__ import annotations

import os
import socket
import struct
import sys


def address_of(sock: socket.socket) -> tuple[str, int]:
    """The host and the port at the other end; empty and 0 for a unix socket."""
    name = sock.getpeername()
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) else ("", 0)


def is_local(host: str) -> bool:
    """Is it an address of this machine's loopback?"""
    return host.startswith("127.") or host in ("::1", "") or host.startswith("::ffff:127.")


def as_number(host: str) -> int:
    """An IPv4 address as q shows it, a signed 32-bit integer; 0 for others."""
    try:
        packed = socket.inet_aton(host.removeprefix("::ffff:"))
    except OSError:
        return 0
    return int.from_bytes(packed, "big", signed=True)


def described(sock: socket.socket) -> str:
    """The other end as the log shows it: address and port, or the user and process of a unix socket."""
    host, port = address_of(sock)
    if host:
        return f"{host}:{port}"
    if sock.family != socket.AF_UNIX or not hasattr(socket, "SO_PEERCRED"):
        return ""
    process, user, _ = _credentials(sock)
    return f"uid {user}, pid {process}"


def user_of(sock: socket.socket) -> int | None:
    """The number of the user who runs the other end, on this machine; None where it cannot be found out."""
    if sock.family == socket.AF_UNIX:
        return _unix_user(sock)
    host, _ = address_of(sock)
    return _tcp_user(sock) if is_local(host) and sys.platform == "linux" else None


def _unix_user(sock: socket.socket) -> int | None:
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    return _credentials(sock)[1]


def _credentials(sock: socket.socket) -> tuple[int, int, int]:
    """The process, user and group at the other end of a unix socket."""
    data = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    process, user, group = struct.unpack("3i", data)
    return process, user, group


def _tcp_user(sock: socket.socket) -> int | None:
    """The owner of the socket at the other end, from the system's table of sockets: both address pairs must agree."""
    table = "/proc/net/tcp6" if sock.family == socket.AF_INET6 else "/proc/net/tcp"
    wanted = _hex(sock.getpeername(), sock.family), _hex(sock.getsockname(), sock.family)
    try:
        with open(table, encoding="ascii") as file:
            rows = [line.split() for line in file.readlines()[1:]]
    except OSError:
        return None
    return next((int(row[7]) for row in rows if (row[1], row[2]) == wanted), None)


def _hex(name: tuple[str, int], family: int) -> str:
    """An address as the system's table writes it: words of four bytes in the machine's order, then the port."""
    packed = socket.inet_pton(family, name[0].split("%")[0])
    words = struct.unpack(f">{len(packed) // 4}I", packed)
    host = struct.pack(f"={len(words)}I", *words).hex().upper()
    return f"{host}:{name[1]:04X}"


def trusted(user: int | None) -> bool:
    """Is it the user of this process, or root?"""
    return user is not None and user in (0, os.getuid())
