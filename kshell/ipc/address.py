"""Addresses: the words of `-p` and `\\p`, and what `hopen` is given."""

from __future__ import annotations

import re
from typing import NamedTuple

from kshell.errors import QError

LOOPBACK = ("127.0.0.1", "::1", "localhost")
NO_HOST = "not the name of a host"
FREE = (32768, 60999)  # the ports that 0W chooses from
_PORT = re.compile(r"-?(0W|\d+(/\d+)?|[A-Za-z][\w.+-]*(/[A-Za-z][\w.+-]*)?)$")


def is_loopback(host: str) -> bool:
    """Is it a local name or a loopback address?"""
    return host in LOOPBACK or host.startswith("127.")


class Place(NamedTuple):
    """Where to listen: `host` is empty for this machine alone; `first` and `last` bound the ports to choose from; both
    are 0 to stop. `shared` lets other processes listen on the same port, `reads` allows no update."""

    host: str
    first: int
    last: int
    shared: bool
    reads: bool


def place(words: str) -> Place:
    """What `-p` and `\\p` ask for: [rp,][host:]port; anything else is 'type, with the forms."""
    text = words.strip()
    shared = text.startswith("rp,")
    host, colon, port = text.removeprefix("rp,").rpartition(":")
    if not _PORT.match(port):
        raise QError(f"\\p: expected [rp,][host:]port, given {words}")
    if colon and not host:
        host = "0.0.0.0"
    reads = port.startswith("-")
    port = port.lstrip("-")
    if port == "0W":
        return Place(host.strip("[]"), *FREE, shared, reads)
    first, _, last = port.partition("/")
    low = number(first)
    return Place(host.strip("[]"), low, number(last) if last else low, shared, reads)


def number(word: str) -> int:
    """The number of a port, which may be a name of the system's services."""
    if word.isdigit():
        if int(word) < 1 << 16:
            return int(word)
        raise QError(f"port {word} is above 65535")
    import socket

    try:
        return socket.getservbyname(word, "tcp")
    except OSError:
        pass
    raise QError(f"{word}: no service of this name")


class Peer(NamedTuple):
    """A server to connect to: `scheme` is tcp, unix, or their forms with TLS, tcps and unixs."""

    scheme: str
    host: str
    port: int
    user: str
    password: str

    def __str__(self) -> str:
        where = "//" if self.scheme.startswith("unix") else f"{self.host}:"
        return f"{self.scheme}:{where}{self.port}"


_SCHEMES = ("tcps://", "unixs://", "unix://", "tcp://")


def peer(text: str) -> Peer | None:
    """The process that a name with a colon in front names, `:host:port[:user[:password]]`; None if it names a file.
    What has no slash and no port after its colon is 'hop."""
    scheme = "tcp"
    rest = text[1:] if text.startswith(":") else text
    for word in _SCHEMES:
        if rest.startswith(word):
            scheme, rest = word[:-3], rest[len(word) :]
            break
    if scheme.startswith("unix"):
        rest = ":" + rest
    if rest.startswith("["):
        host, _, rest = rest[1:].partition("]")
        rest = rest[1:]
    else:
        host, colon, rest = rest.partition(":")
        if not colon:
            return None
    word, _, login = rest.partition(":")
    user, _, password = login.partition(":")
    if not (word.isdigit() or _is_service(word)):
        if "/" in rest:
            return None
        raise QError(f"hop. OS reports: {word}: no such port or service")
    return Peer(scheme, host or "localhost", number(word), user, password)


def _is_service(word: str) -> bool:
    import socket

    try:
        socket.getservbyname(word, "tcp")
        return True
    except (OSError, UnicodeError):
        return False


class Url(NamedTuple):
    """A server of HTTP or WebSockets: `scheme` is http, https, ws or wss."""

    scheme: str
    host: str
    port: int
    user: str
    password: str

    @property
    def secure(self) -> bool:
        return self.scheme in ("https", "wss")


_URL = re.compile(
    r":?(https?|wss?)://(?:(?P<user>[^:@/]*)(?::(?P<password>[^@/]*))?@)?"
    r"(?:\[(?P<six>[^]]+)\]|(?P<host>[^:/\[]+))(?::(?P<port>\w+))?/?$"
)


def url(text: str) -> Url | None:
    """The server with an address like `:http://user:password@host:port`; None if the text has another form."""
    found = _URL.match(text)
    if found is None:
        return None
    port = found["port"] or ("443" if found[1] in ("https", "wss") else "80")
    user, password = found["user"] or "", found["password"] or ""
    return Url(found[1], found["six"] or found["host"], number(port), user, password)


def basic(user: str, password: str) -> str:
    """User and password as the value of the header `Authorization`, which `login` of web/request.py reads."""
    import base64

    plain = f"{user}:{password}".encode("utf-8", "surrogateescape")
    return f"Basic {base64.b64encode(plain).decode()}"
