"""Requests of HTTP, and the texts of responses."""

from __future__ import annotations

import base64
import binascii
import re
from typing import NamedTuple

PLAIN = {"Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff"}
LONG, LONGEST = 2000, 1 << 20  # bytes of the responses to queries that are compressed
_WEIGHTED = re.compile(
    r"([^\s,;]+)(?:\s*;\s*q=(\d(?:\.\d*)?))?"
)  # a word of a list, and its weight


class Refused(Exception):
    """A request that is answered by an error; its connection ends. `why` is for the log."""

    def __init__(self, status: str, why: str = "", **headers: str) -> None:
        super().__init__(why or status)
        self.status, self.headers = status, headers

    @property
    def data(self) -> bytes:
        """The response."""
        return response(self.status, str(self), **self.headers)


class Request(NamedTuple):
    """A request: the method, the target as it came, the headers in their original order and case, the body."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes | bytearray
    keeps: bool  # may the connection be used again, by the client's word?

    def header(self, name: str) -> str:
        """The value of a header, ignoring case; empty if there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")

    def words(self, name: str) -> list[str]:
        """The words of a header that is a list, in small letters."""
        return [word.strip().lower() for word in self.header(name).split(",")]

    @property
    def text(self) -> str:
        """The target without its first slash."""
        return self.target.removeprefix("/")

    @property
    def brings_body(self) -> bool:
        """Does a body follow?"""
        return bool(self.header("content-length").strip("0") or self.header("transfer-encoding"))

    @property
    def upgrades(self) -> bool:
        """Does it ask for a WebSocket?"""
        websocket = "websocket" in self.words("upgrade")
        return websocket and self.method == "GET" and "upgrade" in self.words("connection")


def login(request: Request) -> tuple[str, str] | None:
    """User and password of basic access, as `basic` of address.py writes them; None if the request has none."""
    kind, _, code = request.header("authorization").partition(" ")
    if kind.lower() != "basic":
        return None
    try:
        plain = base64.b64decode(code.strip(), validate=True).decode("utf-8", "surrogateescape")
    except (binascii.Error, ValueError):
        return None
    user, _, password = plain.partition(":")
    return user, password


def response(status: str, text: str, **headers: str) -> bytes:
    """A response of plain text, after which the connection ends."""
    body = (text + "\n").encode("utf-8", "surrogateescape")
    named = {key.replace("_", "-"): value for key, value in headers.items()}
    return (
        head(status, {**PLAIN, **named, "Content-Length": str(len(body)), "Connection": "close"})
        + body
    )


def head(status: str, headers: dict[str, str]) -> bytes:
    """The head of a response."""
    lines = [f"HTTP/1.1 {status}", *(f"{key}: {value}" for key, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


class Parts(NamedTuple):
    """A response of q code: its lines before the empty one, and its body."""

    lines: list[bytes]
    body: bytes | memoryview

    def has(self, name: bytes) -> bool:
        return any(line.lower().startswith(name + b":") for line in self.lines)

    def joined(self) -> bytes:
        return b"\r\n".join([*self.lines, b"", self.body])

    @property
    def ends(self) -> bool:
        """Does its reader know where it ends without the end of the connection?"""
        empty = self.lines[0].split(b" ")[1:2] in ([b"204"], [b"304"])
        return empty or self.has(b"content-length") or self.has(b"transfer-encoding")


def parts(data: bytes) -> Parts:
    """The lines and the body of a response."""
    end = data.find(b"\r\n\r\n")
    if end < 0:
        return Parts(data.split(b"\r\n"), b"")
    return Parts(data[:end].split(b"\r\n"), memoryview(data)[end + 4 :])


def packed(found: Parts) -> Parts:
    """The same response with its body compressed by gzip."""
    import gzip

    body = gzip.compress(found.body, 6, mtime=0)
    lines = [line for line in found.lines if not line.lower().startswith(b"content-length:")]
    added = [b"Content-Encoding: gzip", b"Vary: Accept-Encoding", b"Content-Length: %d" % len(body)]
    return Parts(lines + added, body)


def prepared(request: Request, data: bytes) -> bytes:
    """What is sent of a response: nothing but its head for HEAD; compressed if it answers a query, is long but not so
    long that others would have to wait, and the client can read that."""
    found = parts(data)
    is_whole = not found.has(b"content-encoding") and not found.has(b"transfer-encoding")
    if "?" in request.target and LONG <= len(data) <= LONGEST and is_whole and takes_gzip(request):
        found = packed(found)
    elif request.method != "HEAD" and found.body:
        return data
    return (found._replace(body=b"") if request.method == "HEAD" else found).joined()


def takes_gzip(request: Request) -> bool:
    """Can the client read gzip?"""
    weights = dict(_WEIGHTED.findall(request.header("accept-encoding").lower()))
    return float(weights.get("gzip", "0") or 1) > 0
