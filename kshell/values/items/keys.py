"""Distinct, group and find on integer keys.

For a small key range, a table of first positions is used; for a large one, packed words are sorted (see order.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.values.base import types as T
from kshell.values.base.core import Table, Vec
from kshell.values.items.integer_keys import bounds, grade_keys, pack

Array = np.ndarray
_TABLE = 1 << 22  # the largest key range for a table of positions
_U64 = np.uint64
_LITTLE = 64  # up to this many keys, a dictionary is faster
_HEAD = 1 << 15  # keys examined before the rest is only checked for new ones


def _small(keys: Array, n: int) -> tuple[int, int] | None:
    """The minimum key and the size of the range, if a table over it is worthwhile for n items."""
    lo, hi = bounds(keys)
    size = hi - lo + 1
    return (lo, size) if size <= _TABLE and size <= min(64 * n, 16 * n + 65536) else None


def _offset(keys: Array, lo: int) -> Array:
    if lo == 0 and keys.dtype.itemsize >= 4:
        return keys
    return keys.astype(np.int64, copy=False) - lo


def _first_table(at: Array, size: int) -> Array:
    """For each key in a small range, its first position; len(at) if it does not occur."""
    count = len(at)
    table = np.full(size, count, np.int64)
    table[at[::-1]] = np.arange(count - 1, -1, -1)  # the last write wins
    return table


def distinct_keys(keys: Array) -> Array:
    """The positions, ascending, of first occurrences of integer keys."""
    count = len(keys)
    if count <= _LITTLE:
        seen: dict[int, int] = {}
        for k, key in enumerate(keys.tolist()):
            if key not in seen:
                seen[key] = k
        return np.array(list(seen.values()), np.int64)
    small = _small(keys, count)
    if small is not None:
        return _distinct_small(_offset(keys, small[0]), small[1])
    lo, hi = bounds(keys)
    words, low, lost = pack(keys, lo, hi - lo)
    words.sort()
    order = (words & _U64((1 << low) - 1)).view(np.int64)
    words >>= _U64(low)
    new = _changes(words)
    if lost and not new.all():
        return _distinct_lost(keys, order, new)
    first = order[new]
    first.sort()
    return first


def _changes(a: Array) -> Array:
    """Where items of a sorted array differ from their predecessor; true for the first."""
    new = np.empty(len(a), np.bool_)
    new[:1] = True
    np.not_equal(a[1:], a[:-1], out=new[1:])
    return new


def _distinct_lost(keys: Array, order: Array, new: Array) -> Array:
    """The same if the words lack the low bits of the keys: items with equal words are examined again."""
    again = ~new
    again[:-1] |= again[1:]
    some = np.sort(order[again])
    part = keys[some]
    if len(some) > 1000 and len(some) < len(keys):
        late = some[distinct_keys(part)]
    else:
        by = grade_keys(part)
        late = some[by[_changes(part[by])]]
    first = np.concatenate((order[~again], late))
    first.sort()
    return first


def _distinct_small(at: Array, size: int) -> Array:
    """The same for a small range: usually all keys are seen early, and the rest is only scanned."""
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
    """Group integer keys: (first position of each in order of appearance, group number of each item)."""
    count = len(keys)
    if count <= _LITTLE:
        return _group_little(keys)
    small = _small(keys, count)
    if small is not None:
        first = distinct_keys(keys)
        at = _offset(keys, small[0])
        table = np.empty(small[1], np.int64)
        table[at[first]] = np.arange(len(first))
        return first, table[at]
    order = grade_keys(keys)
    tops = keys[order]
    new = _changes(tops)
    heads = order[new]
    first = np.sort(heads)
    ids = np.empty(count, np.int64)
    ids[first] = np.arange(len(first))
    ids[order] = ids[heads][np.cumsum(new) - 1]
    return first, ids


def _group_little(keys: Array) -> tuple[Array, Array]:
    """The same for few keys, with a dictionary."""
    known: dict[int, int] = {}
    first: list[int] = []
    ids: list[int] = []
    for k, key in enumerate(keys.tolist()):
        g = known.get(key)
        if g is None:
            g = known[key] = len(first)
            first.append(k)
        ids.append(g)
    return np.array(first, np.int64), np.array(ids, np.int64)


def _lists_little(keys: Array) -> tuple[Array, list[Array]]:
    """`group_lists_of` for few keys, with a dictionary."""
    known: dict[int, list[int]] = {}
    for k, key in enumerate(keys.tolist()):
        g = known.get(key)
        if g is None:
            known[key] = [k]
        else:
            g.append(k)
    lists = list(known.values())
    order: list[int] = []
    ends = []
    for g in lists:
        order += g
        ends.append(len(order))
    a = np.array(order, np.int64)
    return a[[0, *ends[:-1]]], [a[i:j] for i, j in zip([0, *ends], ends, strict=False)]


def group_lists_of(keys: Array) -> tuple[Array, list[Array]]:
    """Group integer keys: (first position of each in order of appearance, positions of each)."""
    count = len(keys)
    if not count or (count <= _LITTLE and keys.dtype.itemsize > 1):
        return _lists_little(keys) if count else (np.arange(0), [])
    small = _small(keys, count)
    if small is None or small[1] > min(16 * count + 256, 65536):
        first, ids = group_keys(keys)
        return first, split_groups(ids, len(first))
    if small[1] <= _TWO:
        here = keys == keys[0]
        first, other = here.nonzero()[0], (~here).nonzero()[0]
        if not len(other):
            return np.array([0]), [first]
        if (
            small[1] == 2 or (keys[other] == keys[other[0]]).all()
        ):  # as for booleans, and classes -1 and 1
            return np.array([0, other[0]]), [first, other]
    at = _offset(keys, small[0]).astype(np.uint16 if small[1] > 256 else np.uint8)
    order = np.argsort(at, kind="stable")
    counts = np.bincount(at, minlength=small[1])
    ends = np.cumsum(counts)
    there = np.flatnonzero(counts)
    first = order[ends[there] - counts[there]]
    place = np.argsort(first)
    there, first = there[place], first[place]
    stops = ends[there].tolist()
    starts = (ends[there] - counts[there]).tolist()
    return first, [order[start:stop] for start, stop in zip(starts, stops, strict=True)]


_TWO = 4  # key range up to which there may well be only two distinct keys


def split_groups(ids: Array, count: int) -> list[Array]:
    """The positions of each group, ascending, from the group number of each item."""
    if count <= 65536:
        order = np.argsort(
            ids.astype(np.uint16) if count > 256 else ids.astype(np.uint8), kind="stable"
        )
    else:
        order = grade_keys(ids)
    ends = np.cumsum(np.bincount(ids, minlength=count)).tolist()
    return [order[end:b] for end, b in zip([0, *ends], ends, strict=False)]


def seek(tops: Array, keys: Array, right: bool) -> Array:
    """The insertion points of keys among sorted ones: before equal keys or, with right, after them."""
    side: Any = "right" if right else "left"
    if (
        len(keys) < _MANY
        or len(tops) < _MANY
        or keys.dtype.kind not in "iu"
        or keys.dtype.itemsize < 8
    ):
        return np.searchsorted(tops, keys, side)
    low = (len(keys) - 1).bit_length()
    lo, hi = bounds(keys)
    if (hi - lo).bit_length() + low > 64:
        by = pack(keys, lo, hi - lo)[
            0
        ]  # nearly sorted, which is enough to access memory in one direction
        by.sort()
        by &= _U64((1 << low) - 1)
        order = by.view(np.int64)
    else:
        order = grade_keys(keys)
    out = np.empty(len(keys), np.int64)
    out[order] = np.searchsorted(tops, keys[order], side)
    return out


_MANY = 1 << 15  # more keys do not fit in the cache


def find_keys(hay: Array, needles: Array) -> Array:
    """The first position of each needle among integer keys; len(hay) if missing."""
    count, m = len(hay), len(needles)
    if not count or not m:
        return np.full(m, count, np.int64)
    if count <= _LITTLE and m <= _LITTLE:
        places = dict(zip(reversed(hay.tolist()), range(count - 1, -1, -1), strict=True))
        get = places.get
        return np.array([get(needle, count) for needle in needles.tolist()], np.int64)
    if m <= 4 and count > 64:
        return np.array([find_one(hay, needle) for needle in needles.tolist()], np.int64)
    small = _small(hay, count + m)
    if small is not None:
        lo, size = small
        table = _first_table(_offset(hay, lo), size)
        at = _offset(needles, lo)
        if int(at.min()) >= 0 and int(at.max()) < size:
            return table[at]
        edged = np.full(
            size + 2, count, np.int64
        )  # one slot on either side for needles outside the range
        edged[1:-1] = table
        return edged[np.clip(at, -1, size) + 1]
    lo, hi = bounds(hay)
    words, low, lost = pack(hay, lo, hi - lo)
    if lost:
        order = grade_keys(hay)
        return _search(hay[order], order, needles)
    words.sort()
    return _search_words(words, low, needles, lo, hi)


def _search(tops: Array, order: Array, needles: Array) -> Array:
    """Needles in sorted keys, whose positions are in `order`."""
    count = len(tops)
    by = grade_keys(needles)  # sorted needles access memory in one direction
    some = needles[by]
    at = np.searchsorted(tops, some)
    at[at == count] = 0
    out = np.empty(len(needles), np.int64)
    out[by] = np.where(tops[at] == some, order[at], count)
    return out


def _search_words(words: Array, low: int, needles: Array, lo: int, hi: int) -> Array:
    """Needles in sorted words with keys above positions: the first word not below (needle, 0) is the match."""
    count = len(words)
    inside = np.flatnonzero((needles >= lo) & (needles <= hi))
    some = needles[inside].astype(np.int64, copy=False) - np.int64(lo)
    by = grade_keys(some)
    some = some[by].view(_U64) << _U64(low)
    at = np.searchsorted(words, some)
    at[at == count] = 0
    found = words[at]
    mask = _U64((1 << low) - 1)
    out = np.full(len(needles), count, np.int64)
    out[inside[by]] = np.where((found & ~mask) == some, (found & mask).view(np.int64), count)
    return out


_HASHED = 256  # shorter vectors are scanned each time
_LOOKS = 64  # single-item searches before a dictionary is built


def place_one(x: Vec, v: object) -> int:
    """The first position in a vector of one raw item, which is not a null float; its length if missing.

    A vector that is searched repeatedly gets a dictionary of its items, so that the time per look-up in a loop does not
    grow with the length.
    """
    array = x.a
    count = len(array)
    if count < _HASHED or x.t == T.G:
        return find_one(array, v)
    look = getattr(x, "look", 0)
    if look.__class__ is dict:
        return look.get(v, count)
    if look < _LOOKS:
        x.look = look + 1
        return find_one(array, v)
    x.look = known = dict(zip(reversed(array.tolist()), range(count - 1, -1, -1), strict=True))
    return known.get(v, count)


def place_row(x: Table, raws: tuple[Any, ...]) -> int:
    """The first row of a table of vectors with these raw items, like place_one; its length if missing."""
    count = len(x)
    look = getattr(x, "look", 0)
    if look.__class__ is dict:
        return look.get(raws, count)
    if count >= _HASHED:
        if look >= _LOOKS:
            raw_columns = [col.a.tolist() for col in x.cols if col.__class__ is Vec]
            rows = list(zip(*raw_columns, strict=True))
            x.look = known = dict(zip(reversed(rows), range(count - 1, -1, -1), strict=True))
            return known.get(raws, count)
        x.look = look + 1
    hit = np.logical_and.reduce(
        [col.a == v for col, v in zip(x.cols, raws, strict=True) if col.__class__ is Vec]
    )
    at = int(hit.argmax()) if count else 0
    return at if count and hit[at] else count


def find_one(hay: Array, v: object) -> int:
    """The first position of one key, searching in growing blocks."""
    count, start, step = len(hay), 0, 4096
    while start < count:
        hit = hay[start : start + step] == v
        at = int(hit.argmax()) if len(hit) else 0
        if len(hit) and hit[at]:
            return start + at
        start += step
        step *= 4
    return count
