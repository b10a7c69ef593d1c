"""Aggregates: sum prd max min all any.

Nulls in a vector are ignored; a list of vectors is aggregated by column; a dictionary by its values; a table gives a
dictionary with one result per column.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs.arith import add, mul
from kshell.lang.verbs.compare import max_ as greater
from kshell.lang.verbs.compare import min_ as lesser
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import as_nd, collapse
from kshell.values.base.core import Dict, List, Nd, Table, Value, Vec, atom, atom_t, long, sym_vec
from kshell.values.engine.cast import array1, convert, null_mask, whole
from kshell.values.engine.dispatch import Array

SMALL = (T.B, T.X, T.H, T.I)
_NO_SUM = (T.C, T.S, T.G, T.ENUM)
TEXT = (T.S, T.G, T.ENUM)


def over_items(x: Value, agg: Callable[[Value], Value]) -> Value | None:
    """Aggregate a dictionary (its values) or a table (column by column); None for other values."""
    if x.__class__ is Dict:
        return agg(x.v)
    if x.__class__ is Table:
        return Dict(sym_vec(x.names), collapse([agg(column) for column in x.cols]))
    return None


def _fold(x: List, f: Callable[[Value, Value], Value], nothing: Value) -> Value:
    """Fold f over the items of a general list."""
    items = x.items
    return reduce(f, items) if items else nothing


def present(a: Array, t: int) -> Array:
    """The non-null items of a raw array."""
    mask = null_mask(a, t)
    return a if mask is None else a[~mask]


def sum_type(t: int) -> int:
    """The type of a sum of items of type t; 'type if they cannot be summed."""
    return T.I if number_or_time(t) in SMALL else t


def _wrapped(t: int, n: int) -> Value:
    """A Python int as an atom of integer type t, wrapped to its width."""
    if t == T.J:
        return long(n)
    half = -T.NULL[t]
    return atom(t, (n + half) % (2 * half) - half)


# ------------------------------------------------------------------ sum, product


_IN_ORDER = 2048  # floats; up to this many are added from first to last, as in q; more by numpy's faster pairwise sum


def float_sum(a: Array) -> float:
    """The sum of floats."""
    if 8 <= len(a) <= _IN_ORDER:
        return float(np.add.accumulate(a)[-1])
    return float(np.add.reduce(a))


def _sum_vec(t: int, a: Array) -> Value:
    result_type = sum_type(t)
    if result_type in T.FLOATS:
        total = float_sum(a)
        return atom(result_type, float_sum(present(a, t)) if total != total else total)
    a = present(a, t)
    return _wrapped(result_type, int(np.add.reduce(a, dtype=np.int64)))


def _prd_vec(t: int, a: Array) -> Value:
    result_type = sum_type(t)
    a = present(a, t)
    if result_type in T.FLOATS:
        return atom(result_type, float(np.multiply.reduce(a)))
    return _wrapped(result_type, int(np.multiply.reduce(a, dtype=np.int64)))


_NUMBERS = (T.B, T.X, T.H, T.I, T.J, T.E, T.F)


def _columns_reduce(x: Nd, ufunc: np.ufunc) -> Value:
    """ufunc along the first axis of an array; a null makes its column null."""
    result_type = sum_type(x.t)
    reduced = ufunc.reduce(x.a, axis=0, dtype=T.DTYPE[result_type])
    mask = null_mask(x.a, x.t) if result_type not in T.FLOATS else None
    if mask is not None:
        np.copyto(reduced, T.NULL[result_type], where=mask.any(axis=0))
    return (
        x.wrap(reduced)
        if result_type == x.t
        else Vec(result_type, reduced)
        if reduced.ndim == 1
        else Nd(result_type, reduced)
    )


_ROWS = 4  # fewer vectors are added one by one
_WIDE = 4096  # with longer vectors, stacking costs more than adding


def _as_rows(x: List) -> List:
    """A list of short numeric vectors of one type and length as one array, else unchanged; also unchanged for one-item
    vectors, which numpy would not add from first to last."""
    if x.__class__ is not List or len(x) < _ROWS:
        return x
    row = x.item(0)
    if row.__class__ is not Vec or row.t not in _NUMBERS or not 1 < len(row.a) <= _WIDE:
        return x
    return as_nd(x) or x


def mixed(x: List) -> List:
    """A general list of atoms only, with nulls removed."""
    if x.items and all(atom_t(item) for item in x.items):
        return List(
            [
                item
                for item in x.items
                if null_mask(array1(item, atom_t(item)), atom_t(item)) is None
            ]
        )
    return x


@verb("sum", handle=True)
def sum_(x: Value) -> Value:
    """Sum of the items; nulls count as zero.

    q)sum 2 3 0N 7
    12
    """
    if x.__class__ is Vec:
        if x.t == T.F and (total := float_sum(x.a)) == total:
            return total
        if x.t == T.J and len(x.a) > 4096 and whole(x):
            return long(int(np.add.reduce(x.a)))
        return _sum_vec(x.t, x.a)
    if x.__class__ is List:
        x = _as_rows(x)
    if x.__class__ is Nd and x.t in _NUMBERS:
        return _columns_reduce(x, np.add)
    if isinstance(x, List):
        return _fold(mixed(x), add, 0)
    result = over_items(x, sum_)
    return _whole(x, sum_type) if result is None else result


def _whole(x: Value, rule: Callable[[int], int]) -> Value:
    """The aggregate of an atom: the atom itself; `rule` rejects unsupported types."""
    qtype = atom_t(x)
    if not qtype:
        raise QError("type")
    rule(qtype)
    return x


@verb("prd", handle=True)
def prd(x: Value) -> Value:
    """Product of the items; nulls count as one.

    q)prd 2 3 0N 7
    42
    """
    if x.__class__ is Vec:
        return _prd_vec(x.t, x.a)
    if x.__class__ is List:
        x = _as_rows(x)
    if x.__class__ is Nd and x.t in _NUMBERS:
        return _columns_reduce(x, np.multiply)
    if isinstance(x, List):
        return _fold(mixed(x), mul, 1)
    result = over_items(x, prd)
    return _whole(x, sum_type) if result is None else result


# ------------------------------------------------------------------ greatest, least


def ordered_type(t: int) -> int:
    """t, or 'type if its items are not ordered."""
    if t in TEXT:
        raise QError("type")
    return t


def number_or_time(t: int) -> int:
    """t, or 'type if its items cannot be added."""
    if t in _NO_SUM:
        raise QError("type")
    return t


def least_of(t: int) -> object:
    """The lowest raw value of type t other than null."""
    return -T.INF if t in T.FLOATS else -T.TYPE[t].inf if t in T.SIGNED else 0


def greatest_of(t: int) -> object:
    """The highest raw value of type t."""
    return T.TYPE[t].inf if T.TYPE[t].inf is not None else t == T.B or 255


def _max_vec(t: int, a: Array) -> Value:
    ordered_type(t)
    if not a.size:
        return atom(t, least_of(t))
    maximum = np.maximum.reduce(a)
    if t in T.FLOATS and maximum != maximum:
        maximum = np.fmax.reduce(a)
    return atom(
        t,
        least_of(t) if maximum != maximum or (t in T.SIGNED and maximum == T.NULL[t]) else maximum,
    )


def _min_vec(t: int, a: Array) -> Value:
    ordered_type(t)
    minimum = np.minimum.reduce(a) if a.size else None
    if minimum is not None and (minimum != minimum or (t in T.SIGNED and minimum == T.NULL[t])):
        a = present(a, t)
        minimum = np.minimum.reduce(a) if a.size else None
    return atom(t, greatest_of(t) if minimum is None else minimum)


@verb("max", handle=True)
def max_(x: Value) -> Value:
    """Greatest item; nulls are ignored.

    q)max 2 5 0N 3
    5
    """
    if x.__class__ is Vec:
        return _max_vec(x.t, x.a)
    if x.__class__ is Nd:
        ordered_type(x.t)
        return x.wrap((np.fmax if x.t in T.FLOATS else np.maximum).reduce(x.a, axis=0))
    if x.__class__ is List:
        return _fold(x, greater, long(-T.LONG_MAX))
    result = over_items(x, max_)
    return _whole(x, ordered_type) if result is None else result


@verb("min", handle=True)
def min_(x: Value) -> Value:
    """Least item; nulls are ignored.

    q)min 2 5 0N 3
    2
    """
    if x.__class__ is Vec:
        return _min_vec(x.t, x.a)
    if x.__class__ is Nd:
        ordered_type(x.t)
        return x.wrap(np.minimum.reduce(x.a, axis=0))
    if x.__class__ is List:
        return _fold(mixed(x), lesser, long(T.LONG_MAX))
    result = over_items(x, min_)
    return _whole(x, ordered_type) if result is None else result


# ------------------------------------------------------------------ truth


def _truth(x: Value) -> Value:
    """Items as booleans: everything except zero is true."""
    if x.__class__ is List:
        return collapse([_truth(item) for item in x.items])
    if x.__class__ is Vec or x.__class__ is Nd:
        return type(x)(T.B, convert(x.a, x.t, T.B))
    qtype = atom_t(x)
    if not qtype or qtype in TEXT:
        raise QError("type")
    return bool(convert(array1(x, qtype), qtype, T.B)[0])


def _all_any(x: Value, name: str) -> Value:
    aggregate, ufunc, op = (
        (all_, np.logical_and, lesser) if name == "all" else (any_, np.logical_or, greater)
    )
    result = over_items(x, aggregate)
    if result is not None:
        return result
    truth = _truth(x)
    if truth.__class__ is Vec:
        return bool(ufunc.reduce(truth.a))
    if truth.__class__ is Nd:
        return truth.wrap(ufunc.reduce(truth.a, axis=0))
    return _fold(truth, op, name == "all") if isinstance(truth, List) else truth


@verb("all", handle=True)
def all_(x: Value) -> Value:
    """Are all items non-zero?

    q)all 1 2 0
    0b
    """
    return _all_any(x, "all")


@verb("any", handle=True)
def any_(x: Value) -> Value:
    """Is any item non-zero?

    q)any 0 0 2
    1b
    """
    return _all_any(x, "any")
