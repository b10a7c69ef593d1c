"""Integers that order or identify the items of a vector, and grading of integers.

A vector is graded by sorting one 64-bit word per item, with the key above the position: numpy sorts words with vector
instructions, which is far faster than a stable argsort, and the positions in the low bits make it stable.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.values.base import types as T
from kshell.values.base.core import Vec
from kshell.values.base.symbols import SYMBOLS

Array = np.ndarray
_SIGN = np.int64(-T.M63)
_U64 = np.uint64
# the rank of every symbol in the pool, and the pool size it was computed for
_RANKS: list[Any] = [
    None,
    0,
]


def float_keys(a: Array) -> Array:
    """Integers in the order of the floats, nulls first; equal for the two zeros and for all nulls."""
    a = a + 0.0 if a.dtype == np.float64 else a.astype(np.float64) + 0.0
    bits = a.view(np.int64)
    keys = np.where(bits < 0, bits ^ np.int64(T.LONG_MAX), bits)
    nulls = np.isnan(a)
    if nulls.any():
        keys[nulls] = _SIGN
    return keys


def symbol_ranks(codes: Array) -> Array:
    """The alphabetic ranks of symbol codes. Equal ranks mean equal symbols, within one call."""
    count = len(SYMBOLS)
    # both read at once, as another thread may be storing those of fewer symbols
    known, known_count = _RANKS
    if known_count == count:
        return np.asarray(known[codes])
    if count > 4 * len(codes) + 1000:
        used = np.sort(codes, axis=None)
        # np.unique is slow
        used = used[np.concatenate([[True], used[1:] != used[:-1]])] if len(used) else used
        order = sorted(
            range(len(used)), key=[SYMBOLS[code].s for code in used.tolist()].__getitem__
        )
        ranks = np.empty(len(used), np.int64)
        ranks[order] = np.arange(len(used))
        return ranks[np.searchsorted(used, codes)]
    order = sorted(range(count), key=[symbol.s for symbol in SYMBOLS].__getitem__)
    ranks = np.empty(count, np.int64)
    ranks[order] = np.arange(count)
    _RANKS[:] = ranks, count
    return ranks[codes]


def guid_keys(a: Array) -> Array:
    """Dense ranks of guids."""
    halves = np.ascontiguousarray(a).view(">u8").reshape(-1, 2)
    high, low = halves[:, 0].astype(np.uint64), halves[:, 1].astype(np.uint64)
    order = np.lexsort((low, high))
    high, low = high[order], low[order]
    differs = np.zeros(len(a), np.int64)
    differs[1:] = (high[1:] != high[:-1]) | (low[1:] != low[:-1])
    ranks = np.empty(len(a), np.int64)
    ranks[order] = np.cumsum(differs)
    return ranks


def int_keys(x: Vec) -> Array:
    """Integers that are equal where the items are: for searching, not for sorting. For guids, only within one call."""
    qtype = x.t
    if qtype in T.FLOATS:
        # a single zero, and a single null
        floats = x.a + 0.0 if x.a.dtype == np.float64 else x.a.astype(np.float64) + 0.0
        bits = floats.view(np.int64)
        nulls = np.isnan(floats)
        if nulls.any():
            bits[nulls] = _SIGN
        return bits
    if qtype == T.G:
        return guid_keys(x.a)
    return x.a.view(np.uint8) if qtype == T.B else x.a


def bounds(keys: Array) -> tuple[int, int]:
    """Minimum and maximum of integer keys, which must not be empty."""
    return int(np.minimum.reduce(keys)), int(np.maximum.reduce(keys))


def pack(keys: Array, lo: int, span: int) -> tuple[Array, int, int]:
    """Words with (key - lo) above the position: (words, bits of a position, key bits that were lost)."""
    count = len(keys)
    low_bits = max(count - 1, 1).bit_length()
    lost_bits = max(span.bit_length() + low_bits - 64, 0)
    words = (keys.astype(np.int64, copy=False) - np.int64(lo)).view(_U64)  # wraps, as intended
    if lost_bits:
        words >>= _U64(lost_bits)
    words <<= _U64(low_bits)
    words |= np.arange(count, dtype=_U64)
    return words, low_bits, lost_bits


def grade_keys(keys: Array, down: bool = False) -> Array:
    """The stable permutation that sorts integer keys, ascending or descending."""
    count = len(keys)
    if count < 2:
        return np.arange(count)
    if down:
        keys = ~keys
    if keys.dtype.itemsize <= 2 or count < 64:
        return np.argsort(keys, kind="stable")
    lowest, highest = bounds(keys)
    if highest - lowest < 65536:
        return np.argsort((keys - keys.dtype.type(lowest)).astype(np.uint16), kind="stable")
    words, low_bits, lost_bits = pack(keys, lowest, highest - lowest)
    words.sort()
    order = (words & _U64((1 << low_bits) - 1)).view(np.int64)
    return _mend(keys, order, words >> _U64(low_bits)) if lost_bits else order


def _mend(keys: Array, order: Array, tops: Array) -> Array:
    """Sort again where items that differ only in the lost bits are out of order."""
    sorted_keys = keys[order]
    misplaced = np.flatnonzero(sorted_keys[1:] < sorted_keys[:-1])
    if not len(misplaced):
        return order
    runs = np.zeros(len(tops), np.int64)
    np.cumsum(tops[1:] != tops[:-1], out=runs[1:])
    wrong = np.zeros(int(runs[-1]) + 1, np.bool_)
    wrong[runs[misplaced]] = True
    affected = np.flatnonzero(wrong[runs])
    positions = order[affected]
    order = order.copy()
    order[affected] = positions[np.lexsort((keys[positions], runs[affected]))]
    return order
