"""Distinct, group and find on integer keys.

For a small key range, a table of first positions is used; for a large one, packed words are sorted (see order.py).
"""

from __future__ import annotations

from collections.abc import Callable
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
    lowest, highest = bounds(keys)
    size = highest - lowest + 1
    return (lowest, size) if size <= _TABLE and size <= min(64 * n, 16 * n + 65536) else None


def _offset(keys: Array, lo: int) -> Array:
    if lo == 0 and keys.dtype.itemsize >= 4:
        return keys
    return np.subtract(keys, lo, dtype=np.int64)


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
        known: dict[int, int] = {}
        for position, key in enumerate(keys.tolist()):
            if key not in known:
                known[key] = position
        return np.array(list(known.values()), np.int64)
    small_range = _small(keys, count)
    if small_range is not None:
        return _distinct_small(_offset(keys, small_range[0]), small_range[1])
    lowest, highest = bounds(keys)
    words, low_bits, lost_bits = pack(keys, lowest, highest - lowest)
    words.sort()
    order = (words & _U64((1 << low_bits) - 1)).view(np.int64)
    words >>= _U64(low_bits)
    changed = _changes(words)
    if lost_bits and not changed.all():
        return _distinct_lost(keys, order, changed)
    positions = order[changed]
    positions.sort()
    return positions


def _changes(a: Array) -> Array:
    """Where items of a sorted array differ from their predecessor; true for the first."""
    changed = np.empty(len(a), np.bool_)
    changed[:1] = True
    np.not_equal(a[1:], a[:-1], out=changed[1:])
    return changed


def _distinct_lost(keys: Array, order: Array, new: Array) -> Array:
    """The same if the words lack the low bits of the keys: items with equal words are examined again."""
    repeated = ~new
    repeated[:-1] |= repeated[1:]
    doubtful = np.sort(order[repeated])
    doubtful_keys = keys[doubtful]
    if len(doubtful) > 1000 and len(doubtful) < len(keys):
        doubtful_first = doubtful[distinct_keys(doubtful_keys)]
    else:
        sorting = grade_keys(doubtful_keys)
        doubtful_first = doubtful[sorting[_changes(doubtful_keys[sorting])]]
    positions = np.concatenate((order[~repeated], doubtful_first))
    positions.sort()
    return positions


def _distinct_small(at: Array, size: int, many: int | None = None) -> Array:
    """The same for a small range, in which there are so `many` keys, if that is known: usually all are seen early, and
    the rest is only scanned."""
    early = at[:_HEAD]
    table = _first_table(early, size)
    seen = table < len(early)
    later = at[_HEAD:]
    if len(later) and np.count_nonzero(seen) < (size if many is None else many):
        unseen = np.flatnonzero(~seen[later])
        if len(unseen):
            unseen_first = _first_table(later[unseen], size)
            new_keys = np.flatnonzero(unseen_first < len(unseen))
            table[new_keys] = unseen[unseen_first[new_keys]] + len(early)
            seen[new_keys] = True
    positions = table[seen]
    positions.sort()
    return positions


def group_keys(keys: Array) -> tuple[Array, Array]:
    """Group integer keys: (first position of each in order of appearance, group number of each item)."""
    first, ids, _ = group_counted(keys)
    return first, ids


def group_counted(
    keys: Array, order_of: Callable[[Array], Array | None] | None = None
) -> tuple[Array, Array, Array]:
    """The same, and the number of items of each group. `order_of` says, of the first positions, in which order the
    groups are instead; None for the same."""
    count = len(keys)
    small_range = None if count <= _LITTLE else _small(keys, count)
    if small_range is not None:
        offsets = _offset(keys, small_range[0]).astype(np.intp, copy=False)
        counts = np.bincount(offsets, minlength=small_range[1])
        first = _distinct_small(offsets, small_range[1], int(np.count_nonzero(counts)))
        order = None if order_of is None else order_of(first)
        if order is not None:
            first = first[order]
        table = np.empty(small_range[1], np.int64)
        table[offsets[first]] = np.arange(len(first))
        return first, table[offsets], counts[offsets[first]]
    first, ids = _group_little(keys) if count <= _LITTLE else _group_sorted(keys)
    order = None if order_of is None else order_of(first)
    if order is not None:
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        first, ids = first[order], ranks[ids]
    return first, ids, np.bincount(ids, minlength=len(first))


def _group_sorted(keys: Array) -> tuple[Array, Array]:
    """The first position of each key in order of appearance, and the number of each item, for a large range."""
    order = grade_keys(keys)
    sorted_keys = keys[order]
    changed = _changes(sorted_keys)
    group_starts = order[changed]
    first = np.sort(group_starts)
    group_ids = np.empty(len(keys), np.int64)
    group_ids[first] = np.arange(len(first))
    group_ids[order] = group_ids[group_starts][np.cumsum(changed) - 1]
    return first, group_ids


def _group_little(keys: Array) -> tuple[Array, Array]:
    """The same for few keys, with a dictionary."""
    known: dict[int, int] = {}
    first: list[int] = []
    group_ids: list[int] = []
    for position, key in enumerate(keys.tolist()):
        group = known.get(key)
        if group is None:
            group = known[key] = len(first)
            first.append(position)
        group_ids.append(group)
    return np.array(first, np.int64), np.array(group_ids, np.int64)


def _lists_little(keys: Array) -> tuple[Array, list[Array]]:
    """`group_lists_of` for few keys, with a dictionary."""
    known: dict[int, list[int]] = {}
    for position, key in enumerate(keys.tolist()):
        positions = known.get(key)
        if positions is None:
            known[key] = [position]
        else:
            positions.append(position)
    lists = list(known.values())
    order: list[int] = []
    ends = []
    for positions in lists:
        order += positions
        ends.append(len(order))
    flat = np.array(order, np.int64)
    return flat[[0, *ends[:-1]]], [
        flat[start:end] for start, end in zip([0, *ends], ends, strict=False)
    ]


def group_lists_of(keys: Array) -> tuple[Array, list[Array]]:
    """Group integer keys: (first position of each in order of appearance, positions of each)."""
    count = len(keys)
    if not count or (count <= _LITTLE and keys.dtype.itemsize > 1):
        return _lists_little(keys) if count else (np.arange(0), [])
    small_range = _small(keys, count)
    if small_range is None or small_range[1] > min(16 * count + 256, 65536):
        first, group_ids = group_keys(keys)
        return first, split_groups(group_ids, len(first))
    if small_range[1] <= _TWO:
        matches = keys == keys[0]
        first, differing = matches.nonzero()[0], (~matches).nonzero()[0]
        if not len(differing):
            return np.array([0]), [first]
        # as for booleans, and classes -1 and 1
        if small_range[1] == 2 or (keys[differing] == keys[differing[0]]).all():
            return np.array([0, differing[0]]), [first, differing]
    offsets = _offset(keys, small_range[0]).astype(np.uint16 if small_range[1] > 256 else np.uint8)
    order = np.argsort(offsets, kind="stable")
    counts = np.bincount(offsets, minlength=small_range[1])
    ends = np.cumsum(counts)
    present = np.flatnonzero(counts)
    first = order[ends[present] - counts[present]]
    appearance = np.argsort(first)
    present, first = present[appearance], first[appearance]
    stops = ends[present].tolist()
    starts = (ends[present] - counts[present]).tolist()
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
    return [order[start:stop] for start, stop in zip([0, *ends], ends, strict=False)]


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
    if keys.dtype == tops.dtype == np.int64:
        positions = _seek_from_table(tops, keys, right)
        if positions is not None:
            return positions
    low_bits = (len(keys) - 1).bit_length()
    lowest, highest = bounds(keys)
    if (highest - lowest).bit_length() + low_bits > 64:
        # nearly sorted, which is enough to access memory in one direction
        words = pack(keys, lowest, highest - lowest)[0]
        words.sort()
        words &= _U64((1 << low_bits) - 1)
        order = words.view(np.int64)
    else:
        order = grade_keys(keys)
    positions = np.empty(len(keys), np.int64)
    positions[order] = np.searchsorted(tops, keys[order], side)
    return positions


_MANY = 1 << 15  # more keys do not fit in the cache
_PARTS = 23  # bits of the most parts of a range
_STEPS = 8  # from where the table leads to; then it is searched


def _seek_from_table(tops: Array, keys: Array, right: bool) -> Array | None:
    """The same by a table of the positions at which equal parts of the range of `tops` begin: from there most keys have
    a step or two. None if the range is too wide, or `tops` is not in order after all."""
    low, high = int(tops[0]), int(tops[-1])
    if high - low >= 1 << 62 or (tops[1:] < tops[:-1]).any():
        return None
    parts = min(len(tops).bit_length() + 2, _PARTS)
    shift = max((high - low).bit_length() - parts, 0)
    starts = np.zeros(((high - low) >> shift) + 2, np.int64)
    np.cumsum(np.bincount((tops - low) >> shift, minlength=len(starts) - 1), out=starts[1:])
    part = np.clip(keys, low, high)
    part -= low
    part >>= shift
    positions = starts.take(part)
    passes = np.less_equal if right else np.less
    ends = np.append(tops, np.iinfo(np.int64).max)
    further = passes(ends.take(positions, mode="clip"), keys)
    positions += further
    left = np.flatnonzero(further)
    for _ in range(_STEPS):
        left = left[passes(ends.take(positions.take(left), mode="clip"), keys.take(left))]
        positions[left] += 1
    if len(left):
        positions[left] = np.searchsorted(tops, keys[left], "right" if right else "left")
    return np.minimum(positions, len(tops))


def runs_of(keys: Array, wanted: Array) -> tuple[Array, Array] | None:
    """The number of its run for each of some integer keys, of which equal ones stand together, and of the run with its
    key for each wanted one, -1 if there is none. None for other keys, many runs and a large range."""
    starts = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1])
    if len(starts) > len(keys) >> 3:
        return None
    firsts = keys[starts].astype(np.int64)
    lowest, highest = bounds(firsts)
    if highest - lowest >= _TABLE:
        return None
    numbers = np.arange(len(starts))
    known = np.full(highest - lowest + 1, -1, np.int64)
    known[firsts - lowest] = numbers
    if (known[firsts - lowest] != numbers).any():
        return None
    found = known[np.clip(wanted.astype(np.int64, copy=False), lowest, highest) - lowest]
    if int(wanted.min()) < lowest or int(wanted.max()) > highest:
        found[(wanted < lowest) | (wanted > highest)] = -1
    return np.repeat(numbers, np.diff(starts, append=len(keys))), found


def find_keys(hay: Array, needles: Array) -> Array:
    """The first position of each needle among integer keys; len(hay) if missing."""
    count, needle_count = len(hay), len(needles)
    if not count or not needle_count:
        return np.full(needle_count, count, np.int64)
    if count <= _LITTLE and needle_count <= _LITTLE:
        known = dict(zip(reversed(hay.tolist()), range(count - 1, -1, -1), strict=True))
        lookup = known.get
        return np.array([lookup(needle, count) for needle in needles.tolist()], np.int64)
    if needle_count <= 4 and count > 64:
        return np.array([find_one(hay, needle) for needle in needles.tolist()], np.int64)
    small_range = _small(hay, count + needle_count)
    if small_range is not None:
        lowest, size = small_range
        table = _first_table(_offset(hay, lowest), size)
        offsets = _offset(needles, lowest)
        if int(offsets.min()) >= 0 and int(offsets.max()) < size:
            return table[offsets]
        # one slot on either side for needles outside the range
        padded = np.full(size + 2, count, np.int64)
        padded[1:-1] = table
        return padded[np.clip(offsets, -1, size) + 1]
    lowest, highest = bounds(hay)
    words, low_bits, lost_bits = pack(hay, lowest, highest - lowest)
    if lost_bits:
        order = grade_keys(hay)
        return _search(hay[order], order, needles)
    words.sort()
    return _search_words(words, low_bits, needles, lowest, highest)


def _search(tops: Array, order: Array, needles: Array) -> Array:
    """Needles in sorted keys, whose positions are in `order`."""
    count = len(tops)
    needle_order = grade_keys(needles)  # sorted needles access memory in one direction
    sorted_needles = needles[needle_order]
    insertions = np.searchsorted(tops, sorted_needles)
    insertions[insertions == count] = 0
    positions = np.empty(len(needles), np.int64)
    positions[needle_order] = np.where(tops[insertions] == sorted_needles, order[insertions], count)
    return positions


def _search_words(words: Array, low: int, needles: Array, lo: int, hi: int) -> Array:
    """Needles in sorted words with keys above positions: the first word not below (needle, 0) is the match."""
    count = len(words)
    inside = np.flatnonzero((needles >= lo) & (needles <= hi))
    needle_words = needles[inside].astype(np.int64, copy=False) - np.int64(lo)
    needle_order = grade_keys(needle_words)
    needle_words = needle_words[needle_order].view(_U64) << _U64(low)
    insertions = np.searchsorted(words, needle_words)
    insertions[insertions == count] = 0
    candidates = words[insertions]
    mask = _U64((1 << low) - 1)
    positions = np.full(len(needles), count, np.int64)
    positions[inside[needle_order]] = np.where(
        (candidates & ~mask) == needle_words, (candidates & mask).view(np.int64), count
    )
    return positions


_HASHED = 256  # shorter vectors are scanned each time
_LOOKS = 64  # single-item searches before a dictionary is built
_FEW_LOOKS = 2  # the same of a shorter vector, whose dictionary costs no more than three searches


def place_one(x: Vec, v: object) -> int:
    """The first position in a vector of one raw item, which is not a null float; its length if missing.

    A vector that is searched repeatedly gets a dictionary of its items, so that the time per look-up in a loop does not
    grow with the length.
    """
    array = x.a
    count = len(array)
    look = getattr(x, "look", 0)
    if look.__class__ is dict:
        return look.get(v, count)
    if x.t == T.G:
        return find_one(array, v)
    if look < (_FEW_LOOKS if count < _HASHED else _LOOKS):
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
            raw_columns = [column.a.tolist() for column in x.cols if column.__class__ is Vec]
            rows = list(zip(*raw_columns, strict=True))
            x.look = known = dict(zip(reversed(rows), range(count - 1, -1, -1), strict=True))
            return known.get(raws, count)
        x.look = look + 1
    matches = np.logical_and.reduce(
        [
            column.a == raw_item
            for column, raw_item in zip(x.cols, raws, strict=True)
            if column.__class__ is Vec
        ]
    )
    position = int(matches.argmax()) if count else 0
    return position if count and matches[position] else count


def find_one(hay: Array, v: object) -> int:
    """The first position of one key, searching in growing blocks."""
    count, start, step = len(hay), 0, 4096
    while start < count:
        matches = hay[start : start + step] == v
        position = int(matches.argmax()) if len(matches) else 0
        if len(matches) and matches[position]:
            return start + position
        start += step
        step *= 4
    return count
