"""Vectorized verbs: the same results as `each`, `'`, each-left and each-right, computed for all items at once.

An argument is *many*, a list of n items, or one value shared by all items. The items of a list that is many are atoms
of one type, or vectors of one type: a Part (lang/tables/flat_items.py). A vectorized version (a lift) returns the list
of results, or None if it has no fast path; the verb then runs on one item at a time, and both ways must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.tables.columns import codes
from kshell.lang.tables.flat_items import Part, part, places, ragged, rows
from kshell.lang.verbs.matrix import products
from kshell.registry import find
from kshell.values.base import types as T
from kshell.values.base.build import bools, longs
from kshell.values.base.core import Atom, Dict, List, Nd, Table, Value, Vec, atom_t, raw
from kshell.values.engine.dispatch import ATOMIC
from kshell.values.items.index import index1
from kshell.values.items.keys import group_keys
from kshell.values.items.pick import take_at

Array = np.ndarray
FEW = 64  # with fewer items, they are evaluated one by one
FEW_ROWS = 4  # the same for the rows of a matrix product
_LIMIT = 1 << 23  # items in the vectors of a result, or
_EACH = 64  # this many per vector


def _fits(size: int, n: int) -> bool:
    """Is there room for n vectors with this many items in total?"""
    return size <= max(_LIMIT, _EACH * n)


IN_ORDER = (
    2048  # the most floats that are summed from first to last, as grouped sums do (stats.float_sum)
)
_WHOLE = (T.B, T.X, T.H, T.I, T.J)
_PLAIN = (*_WHOLE, T.C, T.S, *T.TEMPORAL)  # equal if their raw values are


def prim(name: str, n: int) -> Callable[..., Value] | None:
    """The function of a verb with n arguments."""
    entry = find("verb", name)
    return None if entry is None else entry.fns.get(n)


# ------------------------------------------------------------------ one argument

ONE: dict[str, Callable[[Part], Value | None]] = {}
TWO: dict[str, Callable[[Value, bool, Value, bool, int], Value | None]] = {}


def one(*names: str) -> Callable[[Callable[[Part], Value | None]], Any]:
    def register(fn: Callable[[Part], Value | None]) -> Any:
        ONE.update(dict.fromkeys(names, fn))
        return fn

    return register


def two(*names: str) -> Callable[[Callable[..., Value | None]], Any]:
    def register(fn: Callable[..., Value | None]) -> Any:
        TWO.update(dict.fromkeys(names, fn))
        return fn

    return register


def has(name: str, n: int) -> bool:
    """Is there a vectorized version of a verb with n arguments?"""
    return (name, n) in ATOMIC or name in (ONE if n == 1 else TWO if n == 2 else ())


def monad(name: str, x: Value) -> Value | None:
    """The verb on each item of x, or None."""
    p = part(x)
    if p is None:
        return None
    if (name, 1) in ATOMIC:
        fn = prim(name, 1)
        return None if fn is None else p.filled(fn(p.vector()))
    lift = ONE.get(name)
    return None if lift is None else lift(p)


def dyad(name: str, x: Value, mx: bool, y: Value, my: bool) -> Value | None:
    """The verb on corresponding items of x and y, of which at least one is many, or None."""
    count = len(x) if mx else len(y)
    if mx and my and count != len(y):
        return None
    if (name, 2) in ATOMIC:
        return _atomic(name, x, mx, y, my, count)
    lift = TWO.get(name)
    return None if lift is None else lift(x, mx, y, my, count)


@one("count")
def _count(p: Part) -> Value:
    return longs(p.sizes)


def _end(p: Part, last: bool) -> Value:
    if p.m == -1:
        return p.vector()
    if p.m:
        return Vec(p.t, np.ascontiguousarray(p.a.reshape(p.n, p.m)[:, -1 if last else 0]))
    out = np.empty(p.n, p.a.dtype)
    some = p.sizes > 0
    out[some] = p.a[(p.starts + p.sizes - 1 if last else p.starts)[some]]
    out[~some] = T.NULL[p.t]
    return Vec(p.t, out)


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
        or int(p.a.max()) > _LIMIT
        or not _fits(int(p.a.sum()), p.n)
    ):
        return None
    ends = np.cumsum(p.a)
    return rows(T.J, np.arange(int(ends[-1])) - np.repeat(ends - p.a, p.a), p.n, None, ends)


@one("string")
def _string(p: Part) -> Value | None:
    fn = prim("string", 1)
    return None if p.m != -1 or fn is None else fn(p.vector())


@one("where")
def _where(p: Part) -> Value | None:
    if p.m == -1 or p.t != T.B:
        return None
    positions = np.flatnonzero(p.a)
    ids = p.ids[positions]
    return ragged(T.J, positions - p.starts[ids], np.bincount(ids, minlength=p.n))


@one("distinct")
def _distinct(p: Part) -> Value | None:
    if p.m == -1 or not len(p.a):
        return None
    first, groups = group_keys(codes(p.vector()))
    if len(first) * p.n > 1 << 62:
        return None
    at = group_keys(p.ids * len(first) + groups)[0]
    return ragged(p.t, p.a[at], np.bincount(p.ids[at], minlength=p.n))


class Runs:
    """The non-empty vectors of a Part, in the form that aggregates expect groups."""

    __slots__ = ("counts", "first", "ids", "k", "n", "order", "starts")

    def __init__(self, p: Part, some: Array | None) -> None:
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
        some = p.sizes > 0 if p.m is None else None
        if some is not None and some.all():
            some = None
        found = AGGREGATES[name](Runs(p, some), p.vector())
        if found is None or some is None:
            return found
        fn = prim(name, 1)
        none = fn(Vec(p.t, p.a[:0])) if fn is not None else None
        if atom_t(none) != found.t:
            return None
        out = np.empty(p.n, found.a.dtype)
        out[some], out[~some] = found.a, raw(none)
        return Vec(found.t, out)


for _name in ("sum", "prd", "max", "min", "avg", "all", "any"):
    _aggregate(_name)


# ------------------------------------------------------------------ two arguments


def _atomic(name: str, x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    fn = prim(name, 2)
    shape, parts = None, []
    for v, many in ((x, mx), (y, my)):
        p = part(v) if many else None
        if many and p is None:
            return None
        parts.append(p)
        if p is not None and (shape is None or (shape.m == -1 and p.m != -1)):
            shape = p
    if fn is None or shape is None:
        return None
    for v, many in ((x, mx), (y, my)):
        if not many and v.__class__ is Vec and shape.m == -1:  # each atom with a whole vector
            count = len(v.a)
            if not count or not _fits(count * n, n) or v.t in (T.G, T.ENUM):
                return None
            shape = Part(v.t, np.empty(count * n, np.bool_), n, count)
    sides: list[Value] = []
    for v, p in ((x, parts[0]), (y, parts[1])):
        if p is not None:
            if p.m == -1 and shape.m != -1:
                sides.append(Vec(p.t, p.spread(shape)))
            elif p is shape or p.alike(shape):
                sides.append(p.vector())
            else:
                return None
        elif atom_t(v):
            sides.append(v)
        elif v.__class__ is Vec and len(v.a) == shape.m:
            sides.append(Vec(v.t, np.tile(v.a, n), "", v.dom))
        else:
            return None
    return shape.filled(fn(*sides))


def side(v: Value, many: bool, n: int) -> Part | None:
    """An argument as n items; a single value is repeated."""
    if many:
        return part(v)
    qtype = atom_t(v)
    if qtype and qtype not in (T.G, T.ENUM):
        return Part(qtype, np.full(n, raw(v), T.DTYPE[qtype]), n, -1)
    if v.__class__ is Vec and v.t not in (T.G, T.ENUM) and _fits(len(v.a) * n, n):
        count = len(v.a)
        return Part(
            v.t,
            np.tile(v.a, n),
            n,
            count if count else None,
            None if count else np.zeros(n, np.int64),
        )
    return None


@two(",")
def _join(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    p, q = side(x, mx, n), side(y, my, n)
    if p is None or q is None or p.t != q.t:
        return None
    if p.m is not None and q.m is not None:
        return Nd(p.t, np.concatenate([p.a.reshape(n, -1), q.a.reshape(n, -1)], 1))
    sizes, more = p.sizes, q.sizes
    ends = np.cumsum(sizes + more)
    out = np.empty(int(ends[-1]), p.a.dtype)
    if len(p.a):
        out[places(ends - sizes - more, sizes)] = p.a
    if len(q.a):
        out[places(ends - more, more)] = q.a
    return rows(p.t, out, n, None, ends)


def _counts(x: Value, many: bool, n: int) -> Array | None:
    """Counts, if none is negative."""
    if not many:
        return np.full(n, x) if x.__class__ is int and 0 <= x <= _LIMIT else None
    return (
        x.a
        if x.__class__ is Vec and x.t == T.J and x.a.min() >= 0 and x.a.max() <= _LIMIT
        else None
    )


@two("#")
def _take(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    sizes = _counts(x, mx, n)
    if sizes is None or not _fits(int(sizes.sum()), n):
        return None
    if not my:
        if atom_t(y) and atom_t(y) not in (T.G, T.ENUM):
            return ragged(atom_t(y), np.full(int(sizes.sum()), raw(y), T.DTYPE[atom_t(y)]), sizes)
        if y.__class__ is not Vec or not len(y.a) or y.t in (T.G, T.ENUM):
            return None
        at = places(np.zeros(n, np.int64), sizes)
        return ragged(y.t, y.a[at % len(y.a) if int(sizes.max()) > len(y.a) else at], sizes)
    p = part(y)
    if p is None:
        return None
    if p.m == -1:
        return ragged(p.t, np.repeat(p.a, sizes), sizes)
    have = p.sizes
    if (have < sizes).any():
        if not have.all():
            return None
        at = places(np.zeros(n, np.int64), sizes)
        return ragged(p.t, p.a[at % np.repeat(have, sizes) + np.repeat(p.starts, sizes)], sizes)
    return ragged(p.t, p.a[places(p.starts, sizes)], sizes)


@two("_")
def _drop(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    back = not mx and x.__class__ is int and x < 0
    sizes = _counts(-x if back else x, mx, n)
    p = part(y) if my else None
    if sizes is None or p is None or p.m == -1:
        return None
    rest = np.maximum(p.sizes - sizes, 0)
    return ragged(p.t, p.a[places(p.starts if back else p.starts + p.sizes - rest, rest)], rest)


@two("@")
def at(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    """`x y` for lists and dictionaries."""
    if not mx:
        return _at_each(x, y)
    p = part(x)
    if p is None or p.m == -1:
        return None
    if not my:
        if y.__class__ is int:
            y = np.full(n, y)
        elif (
            y.__class__ is Vec
            and y.t == T.J
            and len(y.a)
            and int(y.a.min()) >= 0
            and int(y.a.max()) < p.sizes.min()
        ):
            return Nd(p.t, p.a[(p.starts[:, None] + y.a[None, :])])
        else:
            return None
    else:
        q = part(y)
        if q is None or q.t != T.J:
            return None
        if q.m != -1:
            if (q.a < 0).any() or (q.a >= p.sizes[q.ids]).any():
                return None
            return q.filled(Vec(p.t, p.a[p.starts[q.ids] + q.a]))
        y = q.a
    good = (y >= 0) & (y < p.sizes)
    out = np.empty(n, p.a.dtype)
    out[good], out[~good] = p.a[(p.starts + y)[good]], T.NULL[p.t]
    return Vec(p.t, out)


def _at_each(x: Value, y: Value) -> Value | None:
    """Index one list or dictionary by each atom of y."""
    q = part(y) if x.__class__ is Vec and y.__class__ is not Vec else None
    if q is not None:
        return q.filled(take_at(x, q.a)) if q.t == T.J and x.t not in (T.G, T.ENUM) else None
    if (
        y.__class__ is not Vec
        or x.__class__ not in (Vec, List, Nd, Dict)
        or (x.__class__ is Dict and x.keyed)
    ):
        return None
    if y.t == T.ENUM or (x.__class__ is Dict and x.k.__class__ is not Vec):
        return None
    if x.__class__ is not Dict and y.t not in _WHOLE:
        return None
    return index1(x, y)


def _same(p: Part, v: Value, many: bool) -> Array | None:
    """Which values of vectors equal an atom, or the atom paired with each vector."""
    if p.t not in _PLAIN or p.m == -1:
        return None
    if not many:
        return p.a == raw(v) if atom_t(v) == p.t else None
    q = part(v)
    return p.a == q.spread(p) if q is not None and q.m == -1 and q.t == p.t else None


@two("?")
def _find(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    if not mx:
        fn = prim("?", 2)
        return fn(x, y) if x.__class__ is Vec and y.__class__ is Vec and fn is not None else None
    p = part(x)
    hits = None if p is None else _same(p, y, my)
    if hits is None or p is None:
        return None
    where = np.flatnonzero(hits)
    ids = p.ids[where]
    out = p.sizes.copy()
    out[ids[::-1]] = (where - p.starts[ids])[
        ::-1
    ]  # if there are several, the first is written last
    return longs(out)


@two("in")
def _in(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    if not my:
        fn = prim("in", 2)
        p = part(x)
        if fn is None or p is None or y.__class__ is not Vec or p.t != y.t:
            return None
        return p.filled(fn(p.vector(), y))
    p = part(y)
    hits = None if p is None else _same(p, x, mx)
    return None if hits is None or p is None else bools(np.bincount(p.ids[hits], minlength=n) > 0)


@two("within")
def _between(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    p, fn = part(x), prim("within", 2)
    if my or fn is None or p is None or y.__class__ is not Vec or len(y.a) != 2:
        return None
    return p.filled(fn(p.vector(), y))


def _members(keep: bool) -> Callable[..., Value | None]:
    def run(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
        fn, p = prim("in", 2), part(x) if mx else None
        if my or fn is None or p is None or p.m == -1 or y.__class__ is not Vec or y.t != p.t:
            return None
        mask = fn(p.vector(), y).a == keep
        return ragged(p.t, p.a[mask], np.bincount(p.ids[mask], minlength=n))

    return run


two("inter")(_members(True))
two("except")(_members(False))


@two("xbar")
def _xbar(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    fn, p = prim("xbar", 2), part(y) if my else None
    return None if mx or fn is None or p is None or not atom_t(x) else p.filled(fn(x, p.vector()))


@two("~")
def _match(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    p, q = side(x, mx, n), side(y, my, n)
    if p is None or q is None or p.t not in _PLAIN or q.t not in _PLAIN:
        return None
    if p.t != q.t or (p.m == -1) != (q.m == -1):
        return bools(np.zeros(n, np.bool_))
    if p.m == -1:
        return bools(p.a == q.a)
    same = p.sizes == q.sizes
    if same.all():
        return bools(np.bincount(p.ids[p.a != q.a], minlength=n) == 0)
    here = np.flatnonzero(same)
    sizes = p.sizes[here]
    if len(here) and sizes.sum():
        differ = p.a[places(p.starts[here], sizes)] != q.a[places(q.starts[here], sizes)]
        same[here] = (
            np.bincount(np.repeat(np.arange(len(here)), sizes)[differ], minlength=len(here)) == 0
        )
    return bools(same)


@two("mmu")
def _product(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    return None if mx and my else products(x, y, True) if mx else products(y, x, False)


@two("$")
def _cast(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    if mx or not atom_t(x):
        return _product(x, mx, y, my, n)
    fn, p = prim("$", 2), part(y)
    if fn is None or p is None or atom_t(x) not in (T.C, T.S, T.H):
        return None
    if p.t == T.C:  # text is parsed: one value per string
        return fn(x, y) if p.m != -1 else None
    if x.__class__ is Atom and x.t == T.C and chr(x.v).isupper():
        return None
    return p.filled(fn(x, p.vector()))


@two("!")
def _dict(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    """A list of dictionaries with the same symbol keys is a table."""
    if mx or x.__class__ is not Vec or x.t != T.S or len(set(x.a.tolist())) != len(x.a):
        return None
    p = part(y)
    if p is None or p.m != len(x.a):
        return None
    cols = np.ascontiguousarray(p.a.reshape(n, p.m).T)
    return Table([item.s for item in x.items], [Vec(p.t, column) for column in cols])
