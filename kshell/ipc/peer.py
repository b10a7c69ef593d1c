"""The user at the other end of a local connection, according to the operating system."""

from __future__ import annotations

import os
import socket
import struct
import sys
from typing import NamedTuple

_SOCK_DIAG, _BY_FAMILY = 4, 20  # of netlink: who answers, and the request
_ANY = struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)  # any interface, any socket of that name
# the states of a socket that a process still has: established, or with its own end finished
_OWNED = (1, 4, 5)


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
        return _credentials(sock)[1] if hasattr(socket, "SO_PEERCRED") else None
    host, _ = address_of(sock)
    return _tcp_user(sock) if is_local(host) and sys.platform == "linux" else None


def _credentials(sock: socket.socket) -> tuple[int, int, int]:
    """The process, user and group at the other end of a unix socket."""
    data = sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    process, user, group = struct.unpack("3i", data)
    return process, user, group


class Owner(NamedTuple):
    """A TCP socket as the system describes it: its state, the number of its user, and its inode."""

    state: int
    user: int
    inode: int


def _tcp_user(sock: socket.socket) -> int | None:
    """The user of the socket at the other end. A socket that its process has closed already has no inode and no user,
    which the system writes as 0: it is nobody's, not root's."""
    try:
        found = asked(sock)
    except OSError:
        found = listed(sock)
    return found.user if found is not None and found.state in _OWNED and found.inode else None


def asked(sock: socket.socket) -> Owner | None:
    """The answer of the system when asked about the socket at the other end alone (sock_diag of Linux). OSError if it
    does not know the socket, or has no such answers."""
    address, port = _packed(sock.getpeername(), sock.family)
    own_address, own_port = _packed(sock.getsockname(), sock.family)
    name = struct.pack(">HH16s16s", port, own_port, address, own_address) + _ANY
    request = struct.pack("=BBBBI", sock.family, socket.IPPROTO_TCP, 0, 0, 0xFFFFFFFF) + name
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as system:
        system.settimeout(1.0)
        system.send(struct.pack("=IHHII", 16 + len(request), _BY_FAMILY, 1, 1, 0) + request)
        answer = system.recv(1 << 12)
    if len(answer) < 88 or struct.unpack_from("=H", answer, 4)[0] != _BY_FAMILY:
        raise OSError("no answer")
    user, inode = struct.unpack_from("=II", answer, 80)
    return Owner(answer[17], user, inode)


def listed(sock: socket.socket) -> Owner | None:
    """The entry of the socket at the other end in the system's table of all sockets: both address pairs must agree."""
    table = "/proc/net/tcp6" if sock.family == socket.AF_INET6 else "/proc/net/tcp"
    wanted = _hex(sock.getpeername(), sock.family), _hex(sock.getsockname(), sock.family)
    try:
        with open(table, encoding="ascii") as file:
            rows = [line.split() for line in file.readlines()[1:]]
    except OSError:
        return None
    found = next((row for row in rows if (row[1], row[2]) == wanted), None)
    return None if found is None else Owner(int(found[3], 16), int(found[7]), int(found[9]))


def _packed(name: tuple[str, int], family: int) -> tuple[bytes, int]:
    """An address as bytes, and its port."""
    return socket.inet_pton(family, name[0].partition("%")[0]), name[1]


def _hex(name: tuple[str, int], family: int) -> str:
    """An address as the system's table writes it: words of four bytes in the machine's order, then the port."""
    packed, port = _packed(name, family)
    words = struct.unpack(f">{len(packed) // 4}I", packed)
    host = struct.pack(f"={len(words)}I", *words).hex().upper()
    return f"{host}:{port:04X}"


def trusted(user: int | None) -> bool:
    """Is it the user of this process, or root?"""
    return user is not None and user in (0, os.getuid())
