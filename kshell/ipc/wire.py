"""Messages between q processes: the header, whole messages out of a stream of bytes, and values to messages and back.

Layout as Kx documents it: eight bytes of header, then one object. Byte 0 is 1 for little-endian numbers, byte 1 the
kind of message, byte 2 says whether it is compressed, byte 3 is the fifth byte of the length, which the last four hold.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np

from kshell.errors import QError
from kshell.store import codec, compress
from kshell.values.base import types as T
from kshell.values.base.core import Value, Vec

HEADER = 8  # bytes
KIND = 1  # the byte of a header that says which message it is
ASYNC, SYNC, RESPONSE = range(3)
CAPABILITY = 6  # the highest that this side has
ERROR = 0x80  # the type byte of an error, -128
SHORT, LONG = 2000, 1 << 24  # bytes of the messages that are compressed; longer ones take too long
SMALL = 1 << 20  # bytes of a message about whose memory nobody asks
LARGE = 1 << 31  # bytes that a message has only from capability 5 on
LONGEST = 1 << 40  # bytes that no message reaches
WIDE = 2  # of byte 2: compressed, and the plain size has eight bytes
FUNCTION = 1 << 20  # maximum bytes of a function's text
_HEADER = struct.Struct("<BBBBI")
_TEXT = struct.Struct("<BBBBIBBI")  # the same, and the beginning of a vector
_MALFORMED = ("corrupt", "badmsg", "limit")  # errors of the codec that its input causes


class BadMessage(Exception):
    """Bytes that are not a message; the text says what is wrong. `data` is the message, if its end was known."""

    data: bytes | bytearray = b""


class Remote(Exception):
    """The error that a response holds."""


Header = tuple[
    bool, int, int, int
]  # of a message: is it little-endian, kind, packed, size with these bytes


def header(data: bytes | bytearray | memoryview) -> Header:
    """The header at the start of some bytes; BadMessage if they cannot be one."""
    if len(data) < HEADER:
        raise BadMessage(f"{len(data)} bytes")
    order, kind, packed, high, low = _HEADER.unpack_from(data)
    if order > 1 or kind > RESPONSE or packed > WIDE:
        raise BadMessage(f"header {bytes(data[:HEADER]).hex()}")
    if not order:
        low = int.from_bytes(data[4:HEADER], "big")
    size = high << 32 | low
    if size <= HEADER:
        raise BadMessage(f"length {size}")
    return bool(order), kind, packed, size


class Stream:
    """Received bytes that are not read yet. Memory is allocated as they arrive, whatever size a header announces."""

    __slots__ = ("_header", "buffer", "limit", "room")

    def __init__(self, limit: int) -> None:
        self.limit = limit  # bytes of one message
        # the same, as of now, asked about messages that are not small
        self.room: Callable[[], int] | None = None
        self.buffer = bytearray()  # to be read only
        self._header: Header | None = None

    def __len__(self) -> int:
        return len(self.buffer)

    def feed(self, data: bytes) -> None:
        """Add received bytes."""
        self.buffer += data

    def take(self, end: int) -> bytes:
        """Remove the first bytes and return them."""
        with memoryview(self.buffer) as whole:
            taken = bytes(whole[:end])
        del self.buffer[:end]
        return taken

    def until(self, byte: int, most: int) -> bytes | None:
        """Remove and return what stands up to a byte, with it; None if it is not there yet. BadMessage if it is not
        among the first `most` bytes."""
        end = self.buffer.find(byte, 0, most) + 1
        if not end and len(self.buffer) >= most:
            raise BadMessage(f"nothing ends within {most} bytes")
        return self.take(end) if end else None

    def put_back(self, data: bytes) -> None:
        """Put bytes in front of what is there."""
        self.buffer[:0] = data

    def paragraph(self, most: int) -> bytes | None:
        """Remove and return what stands up to an empty line, with it; None if there is none among the first `most`
        bytes."""
        ends = [self.buffer.find(mark, 0, most) for mark in (b"\n\r\n", b"\n\n")]
        found = [at + size for at, size in zip(ends, (3, 2), strict=True) if at >= 0]
        return self.take(min(found)) if found else None

    def starts(self, most: int) -> bytes:
        """The first bytes, without removing them."""
        return bytes(self.buffer[:most])

    def message(self) -> bytes | bytearray | None:
        """Remove and return the first message if all of it is there."""
        if self._header is None:
            if len(self.buffer) < HEADER:
                return None
            self._header = header(self.buffer)
            if self._header[3] > min(SMALL, self.limit):
                self._within(self._header[3])
        _, _, packed, size = self._header
        if len(self.buffer) < size:
            return None
        if packed:
            self._within(plain_size(self.buffer))
        self._header = None
        if len(self.buffer) == size:
            whole, self.buffer = self.buffer, bytearray()
            return whole
        return self.take(size)

    def _within(self, size: int) -> None:
        limit = self.limit
        if self.room is not None and size > SMALL:
            limit = min(limit, self.room())
        if size > limit:
            raise BadMessage(f"{size} bytes, the limit is {limit}")


def plain_size(data: bytes | bytearray) -> int:
    """The bytes of a compressed message once it is decompressed, as it says itself."""
    size = compress.plain_size(data)
    if size < 0:
        raise BadMessage("compressed message without its size, or one that it cannot hold")
    return size


def message(kind: int, x: Value, capability: int = CAPABILITY, packed: bool = False) -> bytes:
    """The message of a value; what its receiver cannot read is 'type, what is too long for it 'limit."""
    return _framed(kind, codec.encoded(x, capability=capability), capability, packed)


def error(text: str) -> bytes:
    """The response for a failed request."""
    clean = text.encode("utf-8", "surrogateescape").split(b"\0", 1)[0][: 1 << 16]
    return _framed(RESPONSE, [bytes((ERROR,)), clean, b"\0"], CAPABILITY, False)


def _framed(kind: int, parts: list[bytes | memoryview], capability: int, packed: bool) -> bytes:
    """The message of some parts, joined once: they may be large."""
    size = HEADER + sum(map(len, parts))
    if size >= (LARGE if capability < 5 else LONGEST):
        raise QError("limit")
    header = _HEADER.pack(1, kind, 0, size >> 32, size & 0xFFFFFFFF)
    whole = b"".join([header, *parts])
    if packed and SHORT < size <= LONG:
        return compress.compress(whole)
    return whole


def value(data: bytes | bytearray, need: Callable[[int], None] | None = None) -> Value:
    """The value in a complete message. BadMessage if its bytes are not a value; Remote, with its text, if it is
    an error. An error in the text of a function is that of the message. `need` as of a codec's Reader."""
    text = text_in(data)
    if text is not None:
        return Vec(T.C, np.frombuffer(text, np.uint8))
    little, kind, packed, size = header(data)
    if size != len(data):
        raise BadMessage(f"length {size} of {len(data)} bytes")
    body: bytes | bytearray = data
    if packed:
        plain_size(data)
        body = _plain(bytes(data))
    if body[HEADER] == ERROR:
        raise _remote(kind, body)
    return _read(codec.reader(body, HEADER, need, little))


def text_in(data: bytes | bytearray) -> memoryview | None:
    """The characters of a message that is a text and nothing else, which most requests are; None for any other."""
    if len(data) < _TEXT.size:
        return None
    order, _kind, packed, high, size, qtype, attribute, n = _TEXT.unpack_from(data)
    if (order, packed, high, size, qtype, attribute) != (1, 0, 0, len(data), T.C, 0):
        return None
    return memoryview(data)[_TEXT.size :] if n == size - _TEXT.size else None


def _plain(data: bytes) -> bytes:
    try:
        return compress.decompress(data)
    except QError as e:
        problem = e.text
    raise BadMessage(problem)


def _remote(kind: int, body: bytes | bytearray) -> Exception:
    """The error that a message holds, or what is wrong with it."""
    text = bytes(body[HEADER + 1 :])
    if kind != RESPONSE or text.find(b"\0") != len(text) - 1:
        return BadMessage("error that has no end, or that answers nothing")
    return Remote(text[:-1].decode("utf-8", "surrogateescape"))


def _read(reader: codec.Reader) -> Value:
    reader.longest = FUNCTION
    try:
        return reader.whole()
    except QError as e:
        if not reader.in_text and e.text not in _MALFORMED:
            raise
        if reader.in_text and e.text != "corrupt":
            raise
        problem = e.text
    if reader.in_text:
        raise QError("bad lambda")
    raise BadMessage(problem)
