"""A dictionary for each of n items, as made by `group`: verbs on all of them at once.

As in verb_at_once.py, None means that there is no fast path, or that the case is in doubt; the verb then runs on one
item at a time.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.each import verb_at_once
from kshell.lang.tables.flat_items import Part, part, places, ragged, rows, sizes_of
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import Dict, Value, Vec, atom_t, seq_items
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

    def __init__(self, k: Vec, ends: Array, v: Value, ids: Array | None = None) -> None:
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
        return (
            None if v is None or len(v) != len(self.k) else Dicts(self.k, self.ends, v, self._ids)
        )

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
        qtype, array, v = self.k.t, self.k.a, self.v
        if v.__class__ is Vec:
            return [
                Dict(Vec(qtype, array[i:j]), Vec(v.t, v.a[i:j]))
                for i, j in zip(starts, ends, strict=True)
            ]
        items = seq_items(v)
        return [
            Dict(Vec(qtype, array[i:j]), collapse(items[i:j]))
            for i, j in zip(starts, ends, strict=True)
        ]

    def taken(self, at: Array) -> Dicts:
        """The dictionaries of some items."""
        sizes = self.sizes[at]
        here = places((self.ends - self.sizes)[at], sizes)
        return Dicts(Vec(self.k.t, self.k.a[here]), np.cumsum(sizes), take_at(self.v, here))


def group(x: Value) -> Dicts | None:
    """`group` of each of n vectors."""
    p = part(x)
    if p is None or p.m == -1 or not len(p.a) or not p.sizes.all():
        return None
    flags = p.a if p.t == T.B else _either(p.a) if p.t in _SIMPLE else None
    if flags is not None:
        return _two_groups(p, flags)
    first, groups = group_keys(codes(p.vector()))
    if len(first) * p.n > 1 << 40:
        return None
    at, where = group_keys(p.ids * len(first) + groups)
    order = grade_keys(where)
    ids = p.ids[at]
    counts = np.bincount(where, minlength=len(at))
    inner = ragged(T.J, order - p.starts[p.ids[order]], counts)
    return Dicts(Vec(p.t, p.a[at]), np.cumsum(np.bincount(ids, minlength=p.n)), inner, ids)


def _either(a: Array) -> Array | None:
    """Flags for values that differ from the first, if all of those are the same."""
    flags: Array = a != a[0]
    k = int(flags.argmax())
    return flags if flags[k] and ((a == a[k]) == flags).all() else None


def _two_groups(p: Part, flags: Array) -> Dicts:
    """`group` for vectors with two distinct values; flags tell which is where."""
    starts, sizes = p.starts, p.sizes  # from here on: does it differ from the first of its vector?
    if p.m:
        square = flags.reshape(p.n, p.m)
        square = square ^ square[:, :1]
        more = np.count_nonzero(square, axis=1)
        inner = np.argsort(square, axis=1, kind="stable").reshape(-1)
        less = sizes - more
    else:
        flags = flags ^ np.repeat(flags[starts], sizes)
        more = np.add.reduceat(flags, starts, dtype=np.int64)
        less = sizes - more
        inner = np.empty(len(flags), np.int64)
        others = np.flatnonzero(flags), starts + less, more
        for here, begin, count in ((np.flatnonzero(~flags), starts, less), others):
            inner[np.arange(len(here)) + np.repeat(begin - (np.cumsum(count) - count), count)] = (
                here
            )
        inner -= np.repeat(starts, sizes)
    both = more > 0
    counts, at = np.stack([less, more], 1).reshape(-1), np.stack([starts, starts], 1)
    at[both, 1] += inner[(starts + less)[both]]
    some = counts > 0
    ends = np.cumsum(1 + both)
    return Dicts(Vec(p.t, p.a[at.reshape(-1)[some]]), ends, ragged(T.J, inner, counts[some]))


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
    d = x if x.__class__ is Dicts else y
    sides = []
    for v, many in ((x, mx), (y, my)):
        if v.__class__ is Dicts:
            if not d.alike(v):
                return None
            sides.append((v.v, True))
        elif not many:
            if not atom_t(v):
                return None
            sides.append((v, False))
        else:
            p = part(v)
            if p is None:
                return None
            if p.m == -1:
                sides.append((Vec(p.t, p.a[d.ids]), True))
            elif np.array_equal(p.sizes, d.sizes):
                sides.append((p.vector(), True))
            else:
                return None
    return d.like(verb_at_once.dyad(name, *sides[0], *sides[1]))


def _at(x: Value, mx: bool, d: Dicts) -> Dicts | None:
    """`x d`: a list indexed by the values of each dictionary."""
    if not mx:
        if x.__class__ is not Vec:
            return None
        q = part(d.v)
        if q is None or q.t != T.J:
            return None
        return (
            d.like(q.filled(take_at(x, q.a))) if not x.attr and x.t not in (T.G, T.ENUM) else None
        )
    p, q = part(x), part(d.v)
    if p is None or q is None or p.m == -1 or q.t != T.J:
        return None
    begin, room, last = p.starts[d.ids], p.sizes[d.ids], q.a
    if q.m != -1:
        if q.m is None and q.sizes.all():
            last = np.maximum.reduceat(q.a, q.starts)
        else:
            room = np.repeat(room, q.sizes)
        begin = np.repeat(begin, q.sizes)
    if len(q.a) and (int(q.a.min()) < 0 or (last >= room).any()):
        return None
    return d.like(q.filled(Vec(p.t, p.a[begin + q.a])))


def types(x: Value) -> Value | None:
    """`type` of each item."""
    p = part(x)
    return None if p is None else Vec(T.H, np.full(p.n, -p.t if p.m == -1 else p.t, np.int16))


def _weighed(name: str) -> None:
    @verb_at_once.two(name)
    def run(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
        """Two vectors at a time: products are summed from first to last, as the verbs do for vectors this short."""
        p, q = verb_at_once.side(x, mx, n), verb_at_once.side(y, my, n)
        if p is None or q is None or p.m == -1 or q.m == -1 or not p.alike(q) or not p.sizes.all():
            return None
        if p.t not in _NUMBERS or q.t not in _NUMBERS or int(p.sizes.max()) > verb_at_once.IN_ORDER:
            return None
        found: Value | None = AGGREGATES[name](verb_at_once.Runs(p, None), p.vector(), q.vector())
        return found


_weighed("wsum")
_weighed("wavg")
