"""Distinct, group and find on integer keys.

A small range of keys uses a table of first positions, a wide one sorts packed words (see order.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.values.order import bounds, grade_keys, pack

Array = np.ndarray
_TABLE = 1 << 22  # the largest range of keys that a table of positions is made for
_U64 = np.uint64
_HEAD = 1 << 15  # how many keys are looked at before the rest is only checked for new ones


def _small(keys: Array, n: int) -> tuple[int, int] | None:
    """Least key and size of the range, if a table over it is worth making for n items."""
    lo, hi = bounds(keys)
    size = hi - lo + 1
    return (lo, size) if size <= _TABLE and size <= 16 * n + 65536 else None


def _offset(keys: Array, lo: int) -> Array:
    if lo == 0 and keys.dtype.itemsize >= 4:
        return keys
    return keys.astype(np.int64, copy=False) - lo


def _first_table(at: Array, size: int) -> Array:
    """For each key of a small range, its first position; len(at) where it does not occur."""
    n = len(at)
    table = np.full(size, n, np.int64)
    table[at[::-1]] = np.arange(n - 1, -1, -1)  # the last write counts
    return table


def distinct_keys(keys: Array) -> Array:
    """The positions, ascending, at which integer keys occur for the first time."""
    n = len(keys)
    if n < 2:
        return np.arange(n)
    small = _small(keys, n)
    if small is not None:
        return _distinct_small(_offset(keys, small[0]), small[1])
    lo, hi = bounds(keys)
    words, low, lost = pack(keys, lo, hi - lo)
    if lost:
        order = grade_keys(keys)
        tops = keys[order]
    else:
        words.sort()
        tops = words >> _U64(low)
    new = np.empty(n, np.bool_)
    new[0] = True
    np.not_equal(tops[1:], tops[:-1], out=new[1:])
    first = order[new] if lost else (words[new] & _U64((1 << low) - 1)).view(np.int64)
    first.sort()
    return first


def _distinct_small(at: Array, size: int) -> Array:
    """The same over a small range: mostly all keys are seen early, and the rest is only looked through."""
    head = at[:_HEAD]
    table = _first_table(head, size)
    seen = table < len(head)
    rest = at[_HEAD:]
    if len(rest) and not seen.all():
        new = np.flatnonzero(~seen[rest])
        if len(new):
            late = _first_table(rest[new], size)
            found = np.flatnonzero(late < len(new))
            table[found] = new[late[found]] + len(head)
            seen[found] = True
    first = table[seen]
    first.sort()
    return first


def group_keys(keys: Array) -> tuple[Array, Array]:
    """Integer keys as (first positions of each in order of appearance, the number of its group for each item)."""
    n = len(keys)
    first = distinct_keys(keys)
    if not n:
        return first, first
    small = _small(keys, n)
    if small is not None:
        at = _offset(keys, small[0])
        table = np.empty(small[1], np.int64)
        table[at[first]] = np.arange(len(first))
        return first, table[at]
    order = grade_keys(keys)
    tops = keys[order]
    new = np.empty(n, np.bool_)
    new[0] = True
    np.not_equal(tops[1:], tops[:-1], out=new[1:])
    numbers = np.searchsorted(first, order[new])
    ids = np.empty(n, np.int64)
    ids[order] = numbers[np.cumsum(new) - 1]
    return first, ids


def split_groups(ids: Array, count: int) -> list[Array]:
    """The positions of each group, ascending, from the group number of each item."""
    if count <= 65536:
        order = np.argsort(ids.astype(np.uint16) if count > 256 else ids.astype(np.uint8), kind="stable")
    else:
        order = grade_keys(ids)
    ends = np.cumsum(np.bincount(ids, minlength=count)).tolist()
    return [order[a:b] for a, b in zip([0, *ends], ends, strict=False)]


def find_keys(hay: Array, needles: Array) -> Array:
    """The first position of each needle among integer keys; len(hay) where there is none."""
    n, m = len(hay), len(needles)
    if not n or not m:
        return np.full(m, n, np.int64)
    if m <= 4 and n > 64:
        return np.array([find_one(hay, v) for v in needles.tolist()], np.int64)
    small = _small(hay, n + m)
    if small is not None:
        lo, size = small
        table = _first_table(_offset(hay, lo), size)
        at = _offset(needles, lo)
        if int(at.min()) >= 0 and int(at.max()) < size:
            return table[at]  # type: ignore[no-any-return]
        inside = (at >= 0) & (at < size)
        out = np.full(m, n, np.int64)
        out[inside] = table[at[inside]]
        return out
    order = grade_keys(hay)
    tops = hay[order]
    if m > 1000:  # sorted needles walk through memory in one direction
        by = grade_keys(needles)
        out = np.empty(m, np.int64)
        out[by] = _search(tops, order, needles[by])
        return out
    return _search(tops, order, needles)


def _search(tops: Array, order: Array, needles: Array) -> Array:
    at = np.searchsorted(tops, needles)
    n = len(tops)
    at[at == n] = 0
    return np.where(tops[at] == needles, order[at], n)


def find_one(hay: Array, v: Any) -> int:
    """The first position of one key, looking at ever larger blocks."""
    n, start, step = len(hay), 0, 4096
    while start < n:
        hit = hay[start:start + step] == v
        at = int(hit.argmax()) if len(hit) else 0
        if len(hit) and hit[at]:
            return start + at
        start += step
        step *= 4
    return n
