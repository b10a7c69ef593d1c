"""Vectorized verbs: the same results as `each`, `'`, each-left and each-right, computed for all items at once.

An argument is *many*, a list of n items, or one value shared by all items. The items of a list that is many are atoms
of one type, or vectors of one type: a Part (lang/tables/flat_items.py). A vectorized version (a lift) returns the list
of results, or None if it has no fast path; the verb then runs on one item at a time, and both ways must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numpy as np

from kshell.lang.tables.flat_items import Part, part, places, ragged, rows
from kshell.lang.verbs.matrix import products
from kshell.registry import find
from kshell.values.base import types as T
from kshell.values.base.build import bools, longs
from kshell.values.base.core import Atom, Dict, List, Nd, Table, Value, Vec, atom_t, raw, sym_names
from kshell.values.engine.dispatch import ATOMIC
from kshell.values.items.index import index1
from kshell.values.items.pick import take_at

Array = np.ndarray
length = cast("Callable[[Value], int]", len)  # for an argument with many items
FEW = 64  # with fewer items, they are evaluated one by one
FEW_ROWS = 4  # the same for the rows of a matrix product
LIMIT = 1 << 23  # items in the vectors of a result, or
_EACH = 64  # this many per vector


def fits(size: int, n: int) -> bool:
    """Is there room for n vectors with this many items in total?"""
    return size <= max(LIMIT, _EACH * n)


# maximum number of floats summed from first to last, as grouped sums do (stats.float_sum)
IN_ORDER = 2048
_WHOLE = (T.B, T.X, T.H, T.I, T.J)
_PLAIN = (*_WHOLE, T.C, T.S, *T.TEMPORAL)  # equal if their raw values are


def prim(name: str, n: int) -> Callable[..., Value] | None:
    """The function of a verb with n arguments."""
    entry = find("verb", name)
    return None if entry is None else entry.fns.get(n)


# ------------------------------------------------------------------ the tables of vectorized versions

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
    layout = part(x)
    if layout is None:
        return None
    if (name, 1) in ATOMIC:
        function = prim(name, 1)
        return None if function is None else layout.filled(function(layout.vector()))
    method = ONE.get(name)
    return None if method is None else method(layout)


def dyad(name: str, x: Value, mx: bool, y: Value, my: bool) -> Value | None:
    """The verb on corresponding items of x and y, of which at least one is many, or None."""
    count = length(x if mx else y)
    if mx and my and count != length(y):
        return None
    if (name, 2) in ATOMIC:
        return _atomic(name, x, mx, y, my, count)
    method = TWO.get(name)
    return None if method is None else method(x, mx, y, my, count)


# ------------------------------------------------------------------ two arguments


def _atomic(name: str, x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    function = prim(name, 2)
    shape, layouts = None, []
    for value, many in ((x, mx), (y, my)):
        layout = part(value) if many else None
        if many and layout is None:
            return None
        layouts.append(layout)
        if layout is not None and (shape is None or (shape.m == -1 and layout.m != -1)):
            shape = layout
    if function is None or shape is None:
        return None
    for value, many in ((x, mx), (y, my)):
        if not many and value.__class__ is Vec and shape.m == -1:  # each atom with a whole vector
            count = len(value.a)
            if not count or not fits(count * n, n) or value.t in (T.G, T.ENUM):
                return None
            shape = Part(value.t, np.empty(count * n, np.bool_), n, count)
    sides: list[Value] = []
    for value, layout in ((x, layouts[0]), (y, layouts[1])):
        if layout is not None:
            if layout.m == -1 and shape.m != -1:
                sides.append(Vec(layout.t, layout.spread(shape)))
            elif layout is shape or layout.alike(shape):
                sides.append(layout.vector())
            else:
                return None
        elif atom_t(value):
            sides.append(value)
        elif value.__class__ is Vec and len(value.a) == shape.m:
            sides.append(Vec(value.t, np.tile(value.a, n), "", value.dom))
        else:
            return None
    return shape.filled(function(*sides))


def side(v: Value, many: bool, n: int) -> Part | None:
    """An argument as n items; a single value is repeated."""
    if many:
        return part(v)
    qtype = atom_t(v)
    if qtype and qtype not in (T.G, T.ENUM):
        return Part(qtype, np.full(n, raw(v), T.DTYPE[qtype]), n, -1)
    if v.__class__ is Vec and v.t not in (T.G, T.ENUM) and fits(len(v.a) * n, n):
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
    left, right = side(x, mx, n), side(y, my, n)
    if left is None or right is None or left.t != right.t:
        return None
    if left.m is not None and right.m is not None:
        return Nd(left.t, np.concatenate([left.a.reshape(n, -1), right.a.reshape(n, -1)], 1))
    sizes, right_sizes = left.sizes, right.sizes
    ends = np.cumsum(sizes + right_sizes)
    items = np.empty(int(ends[-1]), left.a.dtype)
    if len(left.a):
        items[places(ends - sizes - right_sizes, sizes)] = left.a
    if len(right.a):
        items[places(ends - right_sizes, right_sizes)] = right.a
    return rows(left.t, items, n, None, ends)


def _counts(x: Value, many: bool, n: int) -> Array | None:
    """Counts, if none is negative."""
    if not many:
        return np.full(n, x) if x.__class__ is int and 0 <= x <= LIMIT else None
    return (
        x.a if x.__class__ is Vec and x.t == T.J and x.a.min() >= 0 and x.a.max() <= LIMIT else None
    )


@two("#")
def _take(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    sizes = _counts(x, mx, n)
    if sizes is None or not fits(int(sizes.sum()), n):
        return None
    if not my:
        if atom_t(y) and atom_t(y) not in (T.G, T.ENUM):
            return ragged(atom_t(y), np.full(int(sizes.sum()), raw(y), T.DTYPE[atom_t(y)]), sizes)
        if y.__class__ is not Vec or not len(y.a) or y.t in (T.G, T.ENUM):
            return None
        positions = places(np.zeros(n, np.int64), sizes)
        return ragged(
            y.t, y.a[positions % len(y.a) if int(sizes.max()) > len(y.a) else positions], sizes
        )
    layout = part(y)
    if layout is None:
        return None
    if layout.m == -1:
        return ragged(layout.t, np.repeat(layout.a, sizes), sizes)
    available = layout.sizes
    if (available < sizes).any():
        if not available.all():
            return None
        positions = places(np.zeros(n, np.int64), sizes)
        return ragged(
            layout.t,
            layout.a[positions % np.repeat(available, sizes) + np.repeat(layout.starts, sizes)],
            sizes,
        )
    return ragged(layout.t, layout.a[places(layout.starts, sizes)], sizes)


@two("_")
def _drop(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    backwards = False
    if not mx and x.__class__ is int and x < 0:
        backwards, x = True, -x
    sizes = _counts(x, mx, n)
    layout = part(y) if my else None
    if sizes is None or layout is None or layout.m == -1:
        return None
    remaining = np.maximum(layout.sizes - sizes, 0)
    return ragged(
        layout.t,
        layout.a[
            places(
                layout.starts if backwards else layout.starts + layout.sizes - remaining, remaining
            )
        ],
        remaining,
    )


@two("@")
def at(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    """`x y` for lists and dictionaries."""
    if not mx:
        return _at_each(x, y)
    layout = part(x)
    if layout is None or layout.m == -1:
        return None
    if not my:
        if y.__class__ is int:
            index = np.full(n, y)
        elif (
            y.__class__ is Vec
            and y.t == T.J
            and len(y.a)
            and int(y.a.min()) >= 0
            and int(y.a.max()) < layout.sizes.min()
        ):
            return Nd(layout.t, layout.a[(layout.starts[:, None] + y.a[None, :])])
        else:
            return None
    else:
        indices = part(y)
        if indices is None or indices.t != T.J:
            return None
        if indices.m != -1:
            if (indices.a < 0).any() or (indices.a >= layout.sizes[indices.ids]).any():
                return None
            return indices.filled(Vec(layout.t, layout.a[layout.starts[indices.ids] + indices.a]))
        index = indices.a
    inside = (index >= 0) & (index < layout.sizes)
    items = np.empty(n, layout.a.dtype)
    items[inside], items[~inside] = layout.a[(layout.starts + index)[inside]], T.NULL[layout.t]
    return Vec(layout.t, items)


def _at_each(x: Value, y: Value) -> Value | None:
    """Index one list or dictionary by each atom of y."""
    if x.__class__ is Vec and y.__class__ is not Vec and (indices := part(y)) is not None:
        return (
            indices.filled(take_at(x, indices.a))
            if indices.t == T.J and x.t not in (T.G, T.ENUM)
            else None
        )
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
    layout = part(v)
    return (
        p.a == layout.spread(p)
        if layout is not None and layout.m == -1 and layout.t == p.t
        else None
    )


@two("?")
def _find(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    if not mx:
        function = prim("?", 2)
        return (
            function(x, y)
            if x.__class__ is Vec and y.__class__ is Vec and function is not None
            else None
        )
    layout = part(x)
    hits = None if layout is None else _same(layout, y, my)
    if hits is None or layout is None:
        return None
    positions = np.flatnonzero(hits)
    owners = layout.ids[positions]
    indices = layout.sizes.copy()
    # if there are several, the first is written last
    indices[owners[::-1]] = (positions - layout.starts[owners])[::-1]
    return longs(indices)


@two("in")
def _in(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    if not my:
        function = prim("in", 2)
        layout = part(x)
        if function is None or layout is None or y.__class__ is not Vec or layout.t != y.t:
            return None
        return layout.filled(function(layout.vector(), y))
    layout = part(y)
    hits = None if layout is None else _same(layout, x, mx)
    return (
        None
        if hits is None or layout is None
        else bools(np.bincount(layout.ids[hits], minlength=n) > 0)
    )


@two("within")
def _between(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    layout, function = part(x), prim("within", 2)
    if my or function is None or layout is None or y.__class__ is not Vec or len(y.a) != 2:
        return None
    return layout.filled(function(layout.vector(), y))


def _members(keep: bool) -> Callable[..., Value | None]:
    def run(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
        function, layout = prim("in", 2), part(x) if mx else None
        if (
            my
            or function is None
            or layout is None
            or layout.m == -1
            or y.__class__ is not Vec
            or y.t != layout.t
        ):
            return None
        found = function(layout.vector(), y)
        if found.__class__ is not Vec:
            return None
        mask = found.a == keep
        return ragged(layout.t, layout.a[mask], np.bincount(layout.ids[mask], minlength=n))

    return run


two("inter")(_members(True))
two("except")(_members(False))


@two("xbar")
def _xbar(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    function, layout = prim("xbar", 2), part(y) if my else None
    return (
        None
        if mx or function is None or layout is None or not atom_t(x)
        else layout.filled(function(x, layout.vector()))
    )


@two("~")
def _match(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    left, right = side(x, mx, n), side(y, my, n)
    if left is None or right is None or left.t not in _PLAIN or right.t not in _PLAIN:
        return None
    if left.t != right.t or (left.m == -1) != (right.m == -1):
        return bools(np.zeros(n, np.bool_))
    if left.m == -1:
        return bools(left.a == right.a)
    equal = left.sizes == right.sizes
    if equal.all():
        return bools(np.bincount(left.ids[left.a != right.a], minlength=n) == 0)
    positions = np.flatnonzero(equal)
    sizes = left.sizes[positions]
    if len(positions) and sizes.sum():
        differ = (
            left.a[places(left.starts[positions], sizes)]
            != right.a[places(right.starts[positions], sizes)]
        )
        equal[positions] = (
            np.bincount(
                np.repeat(np.arange(len(positions)), sizes)[differ], minlength=len(positions)
            )
            == 0
        )
    return bools(equal)


@two("mmu")
def _product(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    return None if mx and my else products(x, y, True) if mx else products(y, x, False)


@two("$")
def _cast(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    if mx or not atom_t(x):
        return _product(x, mx, y, my, n)
    function, layout = prim("$", 2), part(y)
    if function is None or layout is None or atom_t(x) not in (T.C, T.S, T.H):
        return None
    if layout.t == T.C:  # text is parsed: one value per string
        return function(x, y) if layout.m != -1 else None
    if x.__class__ is Atom and x.t == T.C and chr(x.v).isupper():
        return None
    return layout.filled(function(x, layout.vector()))


@two("!")
def _dict(x: Value, mx: bool, y: Value, my: bool, n: int) -> Value | None:
    """A list of dictionaries with the same symbol keys is a table."""
    if mx or x.__class__ is not Vec or x.t != T.S or len(set(x.a.tolist())) != len(x.a):
        return None
    layout = part(y)
    if layout is None or layout.m != len(x.a):
        return None
    columns = np.ascontiguousarray(layout.a.reshape(n, layout.m).T)
    return Table(sym_names(x), [Vec(layout.t, column) for column in columns])
