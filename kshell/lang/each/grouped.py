"""A dictionary for each of n items, as made by `group`: verbs on all of them at once.

As in verb_at_once.py, None means that there is no fast path, or that the case is in doubt; the verb then runs on one
item at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.each import one_at_once, verb_at_once
from kshell.lang.tables.flat_items import Part, part, places, ragged, rows, sizes_of
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import Dict, ListValue, Value, Vec, atom_t, seq_items
from kshell.values.base.narrow import has_items
from kshell.values.engine.dispatch import ATOMIC
from kshell.values.items.integer_keys import grade_keys
from kshell.values.items.keys import group_keys
from kshell.values.items.pick import take_at
from kshell.values.items.search import codes

Array = np.ndarray
_SIMPLE = (T.X, T.H, T.I, T.J, T.C, T.S)  # types whose values are equal if their raw numbers are
_NUMBERS = (T.B, T.H, T.I, T.J, T.F)
_WHOLE = ("sum", "max", "min", "avg", "first", "last", "all", "any")


class Dicts:
    """n dictionaries: the keys of all in one vector, with end offsets, and the list of all values."""

    __slots__ = ("_ids", "_sizes", "ends", "k", "v")

    def __init__(self, k: Vec, ends: Array, v: ListValue, ids: Array | None = None) -> None:
        self.k, self.ends, self.v, self._ids = k, ends, v, ids
        self._sizes: Array | None = None

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def sizes(self) -> Array:
        if self._sizes is None:
            self._sizes = sizes_of(self.ends)
        return self._sizes

    @property
    def ids(self) -> Array:
        """The item that each key belongs to."""
        if self._ids is None:
            self._ids = np.repeat(np.arange(len(self.ends)), self.sizes)
        return self._ids

    def alike(self, other: Dicts) -> bool:
        """Do both have the same keys?"""
        return self.k is other.k and self.ends is other.ends

    def like(self, v: Value | None) -> Dicts | None:
        """Other values with the same keys."""
        if v is None or not has_items(v) or len(v) != len(self.k):
            return None
        return Dicts(self.k, self.ends, v, self._ids)

    def keys(self) -> Value:
        return rows(self.k.t, self.k.a, len(self), None, self.ends)

    def values(self) -> Value | None:
        """`value` of each dictionary, if the values are vectors; else None."""
        return (
            rows(self.v.t, self.v.a, len(self), None, self.ends)
            if self.v.__class__ is Vec
            else None
        )

    def items(self) -> list[Value]:
        ends = self.ends.tolist()
        starts = [0, *ends[:-1]]
        qtype, array, values = self.k.t, self.k.a, self.v
        if values.__class__ is Vec:
            return [
                Dict(Vec(qtype, array[start:end]), Vec(values.t, values.a[start:end]))
                for start, end in zip(starts, ends, strict=True)
            ]
        items = seq_items(values)
        return [
            Dict(Vec(qtype, array[start:end]), collapse(items[start:end]))
            for start, end in zip(starts, ends, strict=True)
        ]

    def taken(self, at: Array) -> Dicts:
        """The dictionaries of some items."""
        sizes = self.sizes[at]
        positions = places((self.ends - self.sizes)[at], sizes)
        return Dicts(
            Vec(self.k.t, self.k.a[positions]), np.cumsum(sizes), take_at(self.v, positions)
        )


def group(x: Value) -> Dicts | None:
    """`group` of each of n vectors."""
    layout = part(x)
    if layout is None or layout.m == -1 or not len(layout.a) or not layout.sizes.all():
        return None
    flags = layout.a if layout.t == T.B else _either(layout.a) if layout.t in _SIMPLE else None
    if flags is not None:
        return _two_groups(layout, flags)
    first_seen, groups = group_keys(codes(layout.vector()))
    if len(first_seen) * layout.n > 1 << 40:
        return None
    firsts, group_ids = group_keys(layout.ids * len(first_seen) + groups)
    order = grade_keys(group_ids)
    ids = layout.ids[firsts]
    counts = np.bincount(group_ids, minlength=len(firsts))
    positions = ragged(T.J, order - layout.starts[layout.ids[order]], counts)
    return Dicts(
        Vec(layout.t, layout.a[firsts]),
        np.cumsum(np.bincount(ids, minlength=layout.n)),
        positions,
        ids,
    )


def _either(a: Array) -> Array | None:
    """Flags for values that differ from the first, if all of those are the same."""
    flags: Array = a != a[0]
    position = int(flags.argmax())
    return flags if flags[position] and ((a == a[position]) == flags).all() else None


def _two_groups(p: Part, flags: Array) -> Dicts:
    """`group` for vectors with two distinct values; flags tell which is where."""
    starts, sizes = p.starts, p.sizes  # from here on: does it differ from the first of its vector?
    if p.m:
        square = flags.reshape(p.n, p.m)
        square = square ^ square[:, :1]
        second_counts = np.count_nonzero(square, axis=1)
        positions = np.argsort(square, axis=1, kind="stable").reshape(-1)
        first_counts = sizes - second_counts
    else:
        flags = flags ^ np.repeat(flags[starts], sizes)
        second_counts = np.add.reduceat(flags, starts, dtype=np.int64)
        first_counts = sizes - second_counts
        positions = np.empty(len(flags), np.int64)
        others = np.flatnonzero(flags), starts + first_counts, second_counts
        for selected, begin, count in ((np.flatnonzero(~flags), starts, first_counts), others):
            positions[
                np.arange(len(selected)) + np.repeat(begin - (np.cumsum(count) - count), count)
            ] = selected
        positions -= np.repeat(starts, sizes)
    has_second = second_counts > 0
    counts, firsts = (
        np.stack([first_counts, second_counts], 1).reshape(-1),
        np.stack([starts, starts], 1),
    )
    firsts[has_second, 1] += positions[(starts + first_counts)[has_second]]
    nonempty = counts > 0
    ends = np.cumsum(1 + has_second)
    return Dicts(
        Vec(p.t, p.a[firsts.reshape(-1)[nonempty]]), ends, ragged(T.J, positions, counts[nonempty])
    )


def monad(name: str, d: Dicts) -> Any:
    """A verb on each dictionary: Dicts, a list of results, or None."""
    if name == "key":
        return d.keys()
    if name == "value":
        return d.values()
    if name == "count":
        return Vec(T.J, d.sizes.copy())
    if (name, 1) in ATOMIC:
        return d.like(verb_at_once.monad(name, d.v))
    if name in _WHOLE and d.v.__class__ is Vec:
        values = d.values()
        return None if values is None else verb_at_once.monad(name, values)
    if name == "first":
        return take_at(d.v, d.ends - d.sizes)
    return None


def dyad(name: str, x: Any, mx: bool, y: Any, my: bool) -> Any:
    """A verb of two arguments, at least one of them Dicts; either may be many."""
    if name == "@":
        return _at(x, mx, y) if y.__class__ is Dicts and x.__class__ is not Dicts else None
    if name in ("wsum", "wavg"):
        product = dyad("*", x, mx, y, my) if name == "wsum" and x.__class__ is y.__class__ else None
        return None if product is None else monad("sum", product)
    if (name, 2) not in ATOMIC:
        return None
    shape = x if x.__class__ is Dicts else y
    sides = []
    for operand, is_many in ((x, mx), (y, my)):
        if operand.__class__ is Dicts:
            if not shape.alike(operand):
                return None
            sides.append((operand.v, True))
        elif not is_many:
            if not atom_t(operand):
                return None
            sides.append((operand, False))
        else:
            layout = part(operand)
            if layout is None:
                return None
            if layout.m == -1:
                sides.append((Vec(layout.t, layout.a[shape.ids]), True))
            elif np.array_equal(layout.sizes, shape.sizes):
                sides.append((layout.vector(), True))
            else:
                return None
    return shape.like(verb_at_once.dyad(name, *sides[0], *sides[1]))


def _at(x: Value, mx: bool, d: Dicts) -> Dicts | None:
    """`x d`: a list indexed by the values of each dictionary."""
    if not mx:
        if x.__class__ is not Vec:
            return None
        indices = part(d.v)
        if indices is None or indices.t != T.J:
            return None
        return (
            d.like(indices.filled(take_at(x, indices.a)))
            if not x.attr and x.t not in (T.G, T.ENUM)
            else None
        )
    layout, indices = part(x), part(d.v)
    if layout is None or indices is None or layout.m == -1 or indices.t != T.J:
        return None
    starts, sizes, largest = layout.starts[d.ids], layout.sizes[d.ids], indices.a
    if indices.m != -1:
        if indices.m is None and indices.sizes.all():
            largest = np.maximum.reduceat(indices.a, indices.starts)
        else:
            sizes = np.repeat(sizes, indices.sizes)
        starts = np.repeat(starts, indices.sizes)
    if len(indices.a) and (int(indices.a.min()) < 0 or (largest >= sizes).any()):
        return None
    return d.like(indices.filled(Vec(layout.t, layout.a[starts + indices.a])))


def types(x: Value) -> Value | None:
    """`type` of each item."""
    layout = part(x)
    return (
        None
        if layout is None
        else Vec(T.H, np.full(layout.n, -layout.t if layout.m == -1 else layout.t, np.int16))
    )


def _weighed(name: str) -> None:
    @verb_at_once.two(name)
    def run(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
        """Two vectors at a time: products are summed from first to last, as the verbs do for vectors this short."""
        left, right = verb_at_once.side(x, mx, n), verb_at_once.side(y, my, n)
        if (
            left is None
            or right is None
            or left.m == -1
            or right.m == -1
            or not left.alike(right)
            or not left.sizes.all()
        ):
            return None
        if (
            left.t not in _NUMBERS
            or right.t not in _NUMBERS
            or int(left.sizes.max()) > verb_at_once.IN_ORDER
        ):
            return None
        result: Value | None = AGGREGATES[name](
            one_at_once.Runs(left, None), left.vector(), right.vector()
        )
        return result


_weighed("wsum")
_weighed("wavg")
