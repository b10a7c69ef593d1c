"""Internal functions on the binary form of values: `-8!`, `-9!`, `-22!`."""

from __future__ import annotations

import struct

import numpy as np

from kshell.errors import QError
from kshell.registry import Entry, add
from kshell.store.codec import decode, encode
from kshell.values import types as T
from kshell.values.core import Value, Vec

_HEAD = struct.Struct("<BBHi")  # byte order, message type, unused, length of all


def to_bytes(x: Value) -> Value:
    """The bytes of a value, as a message between processes holds it.

    q)-8!1 2
    0x010000001e00000007000200000001000000000000000200000000000000
    """
    body = encode(x)
    return Vec(T.X, np.frombuffer(_HEAD.pack(1, 0, 0, len(body) + _HEAD.size) + body, np.uint8))


def from_bytes(x: Value) -> Value:
    """The value of such bytes.

    q)-9!-8!`a`b!1 2
    a| 1
    b| 2
    """
    if x.__class__ is not Vec or x.t not in (T.X, T.C):
        raise QError("type")
    data = x.a.tobytes()
    if len(data) < _HEAD.size or data[0] != 1 or _HEAD.unpack_from(data)[3] != len(data):
        raise QError("badmsg")
    return decode(data, _HEAD.size)


def size(x: Value) -> Value:
    """The number of bytes that -8! gives.

    q)-22!1 2
    30
    """
    return len(encode(x)) + _HEAD.size


for _name, _fn in (("-8", to_bytes), ("-9", from_bytes), ("-22", size)):
    add(Entry(_name, "internal", {1: _fn}, (f"{_name}!x",), _fn.__doc__ or "", file=__file__, topic="internal"))
