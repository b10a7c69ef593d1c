"""Many short things of kdb+'s binary form at once: symbols, and lists of vectors of one type such as strings.

Each has a form of its own in the bytes: a symbol ends in a zero byte, a vector has a head of six bytes. Both are found
and made for a whole list here, without a call for each item.
"""

from __future__ import annotations

import struct

import numpy as np

from kshell.values.base import types as T
from kshell.values.base.core import SYMBOLS, Flat, List, Vec, sym_codes

HEAD = 6  # bytes: type, attribute, count
FEW = 16  # items of a list that are not worth it
_count = struct.Struct("<i").unpack_from
_ENCODED: list[bytes] = []  # of each symbol, by code


def symbol_bytes(codes: np.ndarray) -> bytes:
    """Symbols one after the other, each with a zero byte at its end."""
    if len(_ENCODED) < len(SYMBOLS):
        added = SYMBOLS[len(_ENCODED) :]
        _ENCODED.extend([symbol.s.encode("utf-8", "surrogateescape") + b"\0" for symbol in added])
    return b"".join(map(_ENCODED.__getitem__, codes.tolist()))


def symbols_at(raw: bytes | bytearray, at: int, n: int) -> tuple[np.ndarray, int] | None:
    """The codes of n symbols that stand from a place on, and where they end; None if they are not all there."""
    window = 16 * n
    while True:
        zeros = np.flatnonzero(np.frombuffer(raw, np.uint8, min(window, len(raw) - at), at) == 0)
        if len(zeros) >= n:
            break
        if window >= len(raw) - at:
            return None
        window *= 4
    end = at + int(zeros[n - 1]) + 1 if n else at
    names = raw[at : max(end - 1, at)].decode("utf-8", "surrogateescape").split("\0") if n else []
    return sym_codes(names), end


def flattened(x: List) -> Flat | None:
    """The items of a list one after the other, if they are vectors without attributes, all of one type whose items have
    one width; else None."""
    flat = x.flat
    if flat is not None:
        return flat if flat.t in T.DTYPE and flat.t not in (T.S, T.ENUM) else None
    items = x.items
    first = items[0] if len(items) >= FEW else None
    if first.__class__ is not Vec or first.t in (T.S, T.ENUM):
        return None
    qtype = first.t
    arrays = [
        item.a for item in items if item.__class__ is Vec and item.t == qtype and not item.attr
    ]
    if len(arrays) < len(items):
        return None
    return Flat(qtype, np.concatenate(arrays), np.cumsum([len(array) for array in arrays]))


def vectors_bytes(flat: Flat) -> bytes:
    """The bytes of the vectors, each with its head."""
    width = T.TYPE[flat.t].size
    sizes = flat.sizes
    starts = HEAD * np.arange(len(flat)) + flat.starts * width  # where each head stands
    encoded = np.empty(HEAD * len(flat) + int(flat.ends[-1]) * width, np.uint8)
    is_body = np.ones(len(encoded), bool)
    heads = np.empty((len(flat), HEAD), np.uint8)
    heads[:, 0], heads[:, 1] = flat.t, 0
    heads[:, 2:] = sizes.astype("<i4").view(np.uint8).reshape(-1, 4)
    places = starts[:, None] + np.arange(HEAD)
    is_body[places] = False
    encoded[places] = heads
    encoded[is_body] = np.ascontiguousarray(flat.a[: flat.ends[-1]]).view(np.uint8)
    return encoded.tobytes()


def vectors_at(raw: bytes | bytearray, at: int, n: int) -> tuple[Flat, int] | None:
    """n vectors of one type, without attributes, that stand from a place on, and where they end; None if what stands
    there is something else."""
    kind = raw[at] if at + HEAD <= len(raw) else 0
    if n < FEW or kind not in T.DTYPE or kind in (T.S, T.ENUM):
        return None
    width, end, limit = T.TYPE[kind].size, at, len(raw) - HEAD
    starts = []
    for _ in range(n):
        if end > limit or raw[end] != kind or raw[end + 1]:
            return None
        (count,) = _count(raw, end + 2)
        if count < 0:
            return None
        starts.append(end)
        end += HEAD + count * width
    if end > len(raw):
        return None
    heads = np.array(starts) - at
    sizes = np.diff(heads, append=end - at) - HEAD
    is_body = np.ones(end - at, bool)
    is_body[heads[:, None] + np.arange(HEAD)] = False
    items = np.frombuffer(raw, np.uint8, end - at, at)[is_body].view(T.DTYPE[kind])
    return Flat(kind, items, np.cumsum(sizes) // width), end
