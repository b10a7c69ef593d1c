"""Order: how q values compare, the grade of any list, sorting, and dense codes of items.

A vector is graded by sorting one 64-bit word an item, its key above its position: numpy sorts words with vector
instructions, so this beats a stable argsort by far, and positions below the keys make it stable.
"""

from __future__ import annotations

from functools import cmp_to_key
from itertools import pairwise
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.values import types as T
from kshell.values.cast import unenum
from kshell.values.core import _SYMS, Dict, List, Nd, Table, Value, Vec, atom_t, raw, seq_items
from kshell.values.functions import Handle

Array = np.ndarray
_SIGN = np.int64(-T.M63)
_U64 = np.uint64
_RANKS: list[Any] = [None, 0]  # the rank of every symbol of the pool, and how many symbols that was made for


# ------------------------------------------------------------------ keys


def float_keys(a: Array) -> Array:
    """Integers in the order of floats, nulls first; equal for the two zeros and for all nulls."""
    a = a + 0.0 if a.dtype == np.float64 else a.astype(np.float64) + 0.0
    bits = a.view(np.int64)
    keys = np.where(bits < 0, bits ^ np.int64(T.LONG_MAX), bits)
    null = np.isnan(a)
    if null.any():
        keys[null] = _SIGN
    return keys


def symbol_ranks(codes: Array) -> Array:
    """The alphabetic ranks of symbol codes. Equal ranks are equal symbols, for one call."""
    n = len(_SYMS)
    if _RANKS[1] == n:
        return _RANKS[0][codes]  # type: ignore[no-any-return]
    if n > 4 * len(codes) + 1000:
        used = np.sort(codes, axis=None)
        used = used[np.concatenate([[True], used[1:] != used[:-1]])] if len(used) else used  # np.unique is slow
        order = sorted(range(len(used)), key=[_SYMS[c].s for c in used.tolist()].__getitem__)
        ranks = np.empty(len(used), np.int64)
        ranks[order] = np.arange(len(used))
        return ranks[np.searchsorted(used, codes)]
    order = sorted(range(n), key=[s.s for s in _SYMS].__getitem__)
    ranks = np.empty(n, np.int64)
    ranks[order] = np.arange(n)
    _RANKS[:] = ranks, n
    return ranks[codes]


def guid_keys(a: Array) -> Array:
    """Dense ranks of guids."""
    halves = np.ascontiguousarray(a).view(">u8").reshape(-1, 2)
    hi, lo = halves[:, 0].astype(np.uint64), halves[:, 1].astype(np.uint64)
    order = np.lexsort((lo, hi))
    hi, lo = hi[order], lo[order]
    step = np.zeros(len(a), np.int64)
    step[1:] = (hi[1:] != hi[:-1]) | (lo[1:] != lo[:-1])
    out = np.empty(len(a), np.int64)
    out[order] = np.cumsum(step)
    return out


def int_keys(x: Vec) -> Array:
    """Integers that are equal where the items are: for finding, not for sorting. Of guids, only within one call."""
    t = x.t
    if t in T.FLOATS:
        a = x.a + 0.0 if x.a.dtype == np.float64 else x.a.astype(np.float64) + 0.0  # one zero only, and one null
        bits = a.view(np.int64)
        null = np.isnan(a)
        if null.any():
            bits[null] = _SIGN
        return bits
    if t == T.G:
        return guid_keys(x.a)
    return x.a.view(np.uint8) if t == T.B else x.a


def sort_keys(x: Vec) -> Array:
    """Integers in the order of the items."""
    if x.t == T.S:
        return symbol_ranks(x.a)
    if x.t == T.ENUM:
        found = unenum(x)
        return sort_keys(found) if found.__class__ is Vec else grade_ranks(found)
    return float_keys(x.a) if x.t in T.FLOATS else int_keys(x)


# ------------------------------------------------------------------ grade of integers


def bounds(keys: Array) -> tuple[int, int]:
    """Least and greatest of some integer keys; there must be any."""
    return int(np.minimum.reduce(keys)), int(np.maximum.reduce(keys))


def pack(keys: Array, lo: int, span: int) -> tuple[Array, int, int]:
    """Words that hold (key - lo) above the position: (words, bits of a position, bits of the key that were lost)."""
    n = len(keys)
    low = max(n - 1, 1).bit_length()
    lost = max(span.bit_length() + low - 64, 0)
    words = (keys.astype(np.int64, copy=False) - np.int64(lo)).view(_U64)  # wraps, as it should
    if lost:
        words >>= _U64(lost)
    words <<= _U64(low)
    words |= np.arange(n, dtype=_U64)
    return words, low, lost


def grade_keys(keys: Array, down: bool = False) -> Array:
    """The stable permutation that sorts integer keys, ascending or descending."""
    n = len(keys)
    if n < 2:
        return np.arange(n)
    if down:
        keys = ~keys
    if keys.dtype.itemsize <= 2 or n < 64:
        return np.argsort(keys, kind="stable")
    lo, hi = bounds(keys)
    if hi - lo < 65536:
        return np.argsort((keys - keys.dtype.type(lo)).astype(np.uint16), kind="stable")
    words, low, lost = pack(keys, lo, hi - lo)
    words.sort()
    order = (words & _U64((1 << low) - 1)).view(np.int64)
    return _mend(keys, order, words >> _U64(low)) if lost else order


def _mend(keys: Array, order: Array, tops: Array) -> Array:
    """Sort again where items that differ in the lost bits only stand wrong."""
    sorted_keys = keys[order]
    bad = np.flatnonzero(sorted_keys[1:] < sorted_keys[:-1])
    if not len(bad):
        return order
    run = np.zeros(len(tops), np.int64)
    np.cumsum(tops[1:] != tops[:-1], out=run[1:])
    wrong = np.zeros(int(run[-1]) + 1, np.bool_)
    wrong[run[bad]] = True
    where = np.flatnonzero(wrong[run])
    part = order[where]
    order = order.copy()
    order[where] = part[np.lexsort((keys[part], run[where]))]
    return order


# ------------------------------------------------------------------ grade of any list


def grade(x: Value, down: bool = False) -> Array:
    """The stable permutation that sorts a list, table (by its columns) or dictionary (by its values)."""
    c = x.__class__
    if c is Vec:
        if not down and x.attr == "s":
            return np.arange(len(x.a))
        return grade_keys(sort_keys(x), down)
    if isinstance(x, List):
        return _grade_list(x, down)
    if c is Table:
        return grade_columns(x.cols, down)
    if c is Dict:
        return grade(x.v, down)
    raise QError("type")


def grade_columns(cols: list[Value], down: bool = False) -> Array:
    """The stable permutation that sorts rows by the first column, then the second, and so on."""
    order = grade(cols[-1], down)
    for col in reversed(cols[:-1]):
        keys = sort_keys(col)[order] if col.__class__ is Vec else grade_ranks(col)[order]
        order = order[grade_keys(keys, down)]
    return order


def grade_ranks(x: Value) -> Array:
    """The dense rank of each item of a list: equal for equal items."""
    if x.__class__ is Vec:
        keys = sort_keys(x)
        order = grade_keys(keys)
        keys = keys[order]
        step = keys[1:] != keys[:-1]
    else:
        order = grade(x)
        items = seq_items(x)
        step = np.array([compare(items[i], items[j]) != 0 for i, j in pairwise(order)], np.bool_)
    out = np.empty(len(order), np.int64)
    out[order[:1]] = 0
    out[order[1:]] = np.cumsum(step)
    return out


_FEW = 64  # strings, of which fewer are compared without a look for equal ones


def _grade_list(x: Value, down: bool) -> Array:
    from kshell.values.rows import string_rows

    n = len(x)
    rows = string_rows(x)
    ids = rows.ids() if rows is not None and n > _FEW else None
    if rows is not None and ids is not None and len(ids[0]) * 4 < n:  # each different string compared once
        first = [rows.item(k) for k in ids[0].tolist()]
        ranks = np.empty(len(first), np.int64)
        ranks[sorted(range(len(first)), key=first.__getitem__)] = np.arange(len(first))
        return grade_keys(ranks[ids[1]], down)
    items = seq_items(x)
    if rows is not None:
        keys: list[Any] = rows.items()
    elif x.__class__ is Nd and x.a.ndim == 2 and x.t not in (T.S, T.G, T.ENUM, T.E, T.F, T.Z):
        keys = x.a.tolist()
    else:
        keys = list(map(cmp_to_key(compare), items))
    if not down:
        return np.array(sorted(range(n), key=keys.__getitem__), np.int64)
    return np.array(sorted(range(n - 1, -1, -1), key=keys.__getitem__)[::-1], np.int64)


def _kind(x: Value) -> int:
    """The first thing two items of a mixed list compare by: the type number without its sign."""
    if x.__class__ is Vec:
        return int(x.t)
    if isinstance(x, (List, Handle)):
        return 0
    t = atom_t(x)
    return t if t else 98 if x.__class__ is Table else 99 if x.__class__ is Dict else 100


def compare(x: Value, y: Value) -> int:
    """-1, 0 or 1 as x comes before, with or after y in a mixed list: by type, then atoms first, then value."""
    a, b = _kind(x), _kind(y)
    if a != b:
        return -1 if a < b else 1
    tx, ty = atom_t(x), atom_t(y)
    if tx and ty:
        return _compare_atoms(x, y, tx)
    if tx or ty:
        return -1 if tx else 1
    if a < 98:
        for i, j in zip(seq_items(x), seq_items(y), strict=False):
            order = compare(i, j)
            if order:
                return order
        return (len(x) > len(y)) - (len(x) < len(y))
    if a == 98:
        return compare(List(x.cols), List(y.cols))
    if a == 99:
        return compare(x.k, y.k) or compare(x.v, y.v)
    return 0


def _compare_atoms(x: Value, y: Value, t: int) -> int:
    if t == T.ENUM:
        return compare(unenum(x), unenum(y))
    p, q = (x.s, y.s) if t == T.S else (raw(x), raw(y))
    if t in T.FLOATS and (p != p or q != q):
        return int(p == p) - int(q == q)
    return (p > q) - (p < q)


# ------------------------------------------------------------------ sorting


def sort_vec(x: Vec, down: bool = False) -> Vec:
    """A vector's items in order; the array is new."""
    t = x.t
    if t in (T.S, T.G, T.ENUM):
        return Vec(t, x.a[grade(x, down)], "", x.dom)
    a = np.sort(x.a)
    if t in T.FLOATS and len(a) and a[-1] != a[-1]:  # numpy puts nulls last, q first
        a = np.roll(a, int(np.isnan(a).sum()))
    return Vec(t, a[::-1].copy() if down else a)


def is_sorted(x: Value) -> bool:
    """Are the items of a list in ascending order?"""
    if x.__class__ is Vec:
        if x.attr == "s":
            return True
        if len(x.a) > 1000 and not is_sorted(Vec(x.t, x.a[:100], "", x.dom)):
            return False  # most that are not sorted show it soon
        keys = sort_keys(x)
        return bool((keys[1:] >= keys[:-1]).all())
    if x.__class__ is Table:
        order = grade_columns(x.cols) if x.cols else np.arange(0)
        return bool((order[1:] > order[:-1]).all())
    items = seq_items(x)
    return all(compare(p, q) <= 0 for p, q in pairwise(items))

