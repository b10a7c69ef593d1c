"""Locked scripts, `f.q_`: scripts whose text cannot be read and whose functions show no source."""

from __future__ import annotations

import zlib
from itertools import cycle

from kshell.errors import QError

_MARK = b"\0kshell\0"
_KEY = bytes((k * 167 + 89) & 255 for k in range(61))  # not secret: only obfuscates the text


def _mix(data: bytes) -> bytes:
    return bytes(byte ^ key_byte for byte, key_byte in zip(data, cycle(_KEY)))


def lock(text: bytes) -> bytes:
    """The contents of a locked script."""
    return _MARK + _mix(zlib.compress(text))


def read(data: bytes) -> bytes:
    """The text of a script, locked or not."""
    if not data.startswith(_MARK):
        return data
    try:
        return zlib.decompress(_mix(data[len(_MARK) :]))
    except zlib.error:
        pass
    raise QError("corrupt")
