"""Bodies of messages that are damaged or meant to do harm, and what is to become of each."""

from __future__ import annotations

import struct


def vector(t: int, count: int, items: bytes, attribute: int = 0) -> bytes:
    return struct.pack("<bBI", t, attribute, count) + items


NAMES = vector(11, 2, b"a\0b\0")
# refused as no message
BAD = {
    "nothing follows the type": b"\x07",
    "bytes are left over": b"\xf9" + bytes(9),
    "too few bytes": b"\xf9" + bytes(7),
    "an unknown type": b"\x15" + bytes(20),
    "type 3": vector(3, 1, b"\0"),
    "type -3": b"\xfd\0",
    "type 77": b"\x4d" + bytes(20),
    "a C function": b"\x70\0",
    "attribute 5": vector(7, 1, bytes(8), 5),
    "a negative count": vector(7, 0xFFFFFFFF, bytes(8)),
    "a count above the bytes": vector(7, 2, bytes(8)),
    "a count of eight bytes above them": struct.pack("<bBQ", 7, 0x80, 1 << 40) + bytes(8),
    "boolean 2": b"\xff\2",
    "booleans with a 2": vector(1, 3, b"\0\1\2"),
    "a list of booleans with a 2": vector(0, 20, vector(1, 2, b"\0\1") * 19 + vector(1, 2, b"\0\2")),
    "operator 200": b"\x66\xc8",
    "iterator 6": b"\x67\6",
    "a symbol without its end": b"\xf5ab",
    "symbols without their end": vector(11, 2, b"a\0b"),
    "sides of different lengths": b"\x63" + NAMES + vector(7, 1, bytes(8)),
    "sides that are atoms": b"\x63\xf9" + bytes(8) + b"\xf9" + bytes(8),
    "columns of different lengths": b"\x62\0\x63" + NAMES + vector(0, 2, vector(7, 1, bytes(8)) + vector(7, 2, bytes(16))),
    "columns that are atoms": b"\x62\0\x63" + NAMES + vector(0, 2, b"\xf9" + bytes(8) + b"\xf9" + bytes(8)),
    "a table of no dictionary": b"\x62\0" + NAMES,
    "a table byte of 2": b"\x62\2\x63" + NAMES + vector(0, 2, vector(7, 0, b"") * 2),
    "lists 100,000 deep": vector(0, 1, b"") * 100_000 + vector(7, 0, b""),
    "dictionaries 100,000 deep": b"\x63" * 100_000,
    "functions 100,000 deep": b"\x6a" * 100_000 + b"\x66\1",
    "a projection of nothing": b"\x68" + struct.pack("<i", 0),
    "2,147,483,647 empty lists": vector(0, 0x7FFFFFFF, vector(7, 0, b"")),
    "a function's text of 2 MiB": b"\x64\0" + vector(10, 2 << 20, b"{" + b" " * ((2 << 20) - 2) + b"}"),
    "a function's text that is no text": b"\x64\0" + vector(7, 1, bytes(8)),
}
# an error of their own message: the body, and the error
WRONG = {
    "text that does not parse": (b"\x64\0" + vector(10, 3, b"{1+"), ""),
    "text of something else": (b"\x64\0" + vector(10, 3, b"1+1"), "bad lambda"),
    "k text": (b"\x64q\0" + vector(10, 6, b"k){x}a"), "nyi"),
}
