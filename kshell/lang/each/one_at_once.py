"""Vectorized verbs of one argument."""

from __future__ import annotations

import numpy as np

from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.each.verb_at_once import IN_ORDER, LIMIT, fits, one, prim
from kshell.lang.tables.columns import codes
from kshell.lang.tables.flat_items import Part, ragged, rows
from kshell.values.base import types as T
from kshell.values.base.build import longs
from kshell.values.base.core import Nd, Value, Vec, atom_t, raw
from kshell.values.items.keys import group_keys


@one("count")
def _count(p: Part) -> Value:
    return longs(p.sizes)


def _end(p: Part, last: bool) -> Value:
    if p.m == -1:
        return p.vector()
    if p.m:
        return Vec(p.t, np.ascontiguousarray(p.a.reshape(p.n, p.m)[:, -1 if last else 0]))
    items = np.empty(p.n, p.a.dtype)
    nonempty = p.sizes > 0
    items[nonempty] = p.a[(p.starts + p.sizes - 1 if last else p.starts)[nonempty]]
    items[~nonempty] = T.NULL[p.t]
    return Vec(p.t, items)


one("first")(lambda p: _end(p, False))
one("last")(lambda p: _end(p, True))


@one("reverse")
def _reverse(p: Part) -> Value | None:
    if p.m == -1:
        return p.vector()
    if p.m is not None:
        return Nd(p.t, p.a.reshape(p.n, p.m)[:, ::-1])
    ends = p.starts + p.ends
    return rows(p.t, p.a[ends[p.ids] - 1 - np.arange(len(p.a))], p.n, None, p.ends)


@one("enlist")
def _enlist(p: Part) -> Value | None:
    return Nd(p.t, p.a.reshape(-1, 1)) if p.m == -1 else None


@one("til")
def _til(p: Part) -> Value | None:
    if (
        p.m != -1
        or p.t != T.J
        or int(p.a.min()) < 0
        or int(p.a.max()) > LIMIT
        or not fits(int(p.a.sum()), p.n)
    ):
        return None
    ends = np.cumsum(p.a)
    return rows(T.J, np.arange(int(ends[-1])) - np.repeat(ends - p.a, p.a), p.n, None, ends)


@one("string")
def _string(p: Part) -> Value | None:
    function = prim("string", 1)
    return None if p.m != -1 or function is None else function(p.vector())


@one("where")
def _where(p: Part) -> Value | None:
    if p.m == -1 or p.t != T.B:
        return None
    positions = np.flatnonzero(p.a)
    owners = p.ids[positions]
    return ragged(T.J, positions - p.starts[owners], np.bincount(owners, minlength=p.n))


@one("distinct")
def _distinct(p: Part) -> Value | None:
    if p.m == -1 or not len(p.a):
        return None
    first_seen, groups = group_keys(codes(p.vector()))
    if len(first_seen) * p.n > 1 << 62:
        return None
    firsts = group_keys(p.ids * len(first_seen) + groups)[0]
    return ragged(p.t, p.a[firsts], np.bincount(p.ids[firsts], minlength=p.n))


class Runs:
    """The non-empty vectors of a Part, in the form that aggregates expect groups."""

    __slots__ = ("counts", "first", "ids", "k", "n", "order", "starts")

    def __init__(self, p: Part, some: np.ndarray | None) -> None:
        sizes = p.sizes if some is None else p.sizes[some]
        self.counts, self.k, self.n, self.order = sizes, len(sizes), len(p.a), slice(None)
        self.starts = self.first = np.cumsum(sizes) - sizes
        self.ids = p.ids if some is None else np.repeat(np.arange(len(sizes)), sizes)


def _aggregate(name: str) -> None:
    @one(name)
    def run(p: Part) -> Value | None:
        if p.m == -1 or not len(p.a):
            return None
        longest = p.m if p.m is not None else int(p.sizes.max())
        if p.t in T.FLOATS and (
            name == "prd" or (name in ("sum", "avg") and (p.t != T.F or longest > IN_ORDER))
        ):
            return None
        if (
            p.t not in T.FLOATS
            and name == "avg"
            and longest > 8
            and max(-int(p.a.min()), int(p.a.max())) > 1 << 40
        ):
            return None  # the float sum may not be exact
        nonempty = p.sizes > 0 if p.m is None else None
        if nonempty is not None and nonempty.all():
            nonempty = None
        column = AGGREGATES[name](Runs(p, nonempty), p.vector())
        if column is None or nonempty is None:
            return column
        function = prim(name, 1)
        empty_result = function(Vec(p.t, p.a[:0])) if function is not None else None
        if column.__class__ is not Vec or empty_result is None or atom_t(empty_result) != column.t:
            return None
        results = np.empty(p.n, column.a.dtype)
        results[nonempty], results[~nonempty] = column.a, raw(empty_result)
        return Vec(column.t, results)


for _name in ("sum", "prd", "max", "min", "avg", "all", "any"):
    _aggregate(_name)
