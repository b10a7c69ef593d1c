"""Files in kdb+'s own binary form: what `set` writes and `get` reads.

A vector of fixed-width items is a 16-byte head (fe20, type, attribute, count) and its items as they lie in memory; any
other value is ff01 and its serialized form.
"""

from __future__ import annotations

import os
import struct

import numpy as np

from kshell.errors import QError, os_text
from kshell.store import atomic
from kshell.store.codec import ATTRS, decode, encode
from kshell.values import types as T
from kshell.values.core import Value, Vec

GENERAL = b"\xff\x01"
VECTOR = b"\xfe\x20"


def write(path: str, x: Value) -> None:
    """Save a value to a file, whole or not at all."""
    if x.__class__ is Vec and x.t not in (T.S, T.ENUM):
        head = VECTOR + struct.pack("<bB4xq", x.t, ATTRS.index(x.attr), len(x.a))
        atomic.write_bytes(path, head, np.ascontiguousarray(x.a).tobytes())
    else:
        atomic.write_bytes(path, GENERAL, encode(x))


def read(path: str) -> Value:
    """The value saved in a file; one that holds none is 'corrupt (or of another kind: 'type)."""
    problem: OSError | None = None
    try:
        with open(path, "rb") as f:
            data = f.read()
    except OSError as e:
        problem = e
    if problem is not None:
        raise QError(os_text(problem))
    if data[:2] == GENERAL:
        return decode(data, 2)
    if data[:2] == VECTOR:
        return _vector(data)
    raise QError(os.path.basename(path) if not data else "type")


def _vector(data: bytes) -> Value:
    if len(data) < 16:
        raise QError("corrupt")
    t, attr, n = struct.unpack("<bB4xq", data[2:16])
    if t not in T.DTYPE or t in (T.S, T.ENUM) or attr >= len(ATTRS):
        raise QError("corrupt")
    size = T.TYPE[t].size
    if n == 0:
        n = (len(data) - 16) // size  # files made by appending may not have their count written back
    if n < 0 or 16 + n * size > len(data):
        raise QError("corrupt")
    return Vec(t, np.frombuffer(data, T.DTYPE[t], n, 16), ATTRS[attr])
