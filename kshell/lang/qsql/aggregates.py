"""Grouped aggregates, for the verbs that templates use most.

Each function takes the groups and the columns, and returns the vector of results, or None if it has no fast path; the
verb then runs on one group at a time, and both ways must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.tables.columns import Array, Groups
from kshell.lang.verbs.arith import mul
from kshell.lang.verbs.stats import SMALL, TEXT, greatest_of, least_of, sum_type
from kshell.values.base import types as T
from kshell.values.base.build import floats, longs
from kshell.values.base.core import ListValue, Value, Vec
from kshell.values.engine.cast import null_mask, to_float
from kshell.values.items.integer_keys import grade_keys
from kshell.values.items.order import sort_keys
from kshell.values.items.pick import take_at

_NO_SUM = (T.C, *TEXT)
_EXACT = 1 << 53  # whole numbers below it are exact as floats


def _agg(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        AGGREGATES[name] = fn
        return fn

    return register


def _reduce(g: Groups, ufunc: np.ufunc, a: Array, **options: Any) -> Array:
    """ufunc over the items of each group."""
    return np.asarray(ufunc.reduceat(a[g.order], g.starts, **options))


def total(g: Groups, a: Array) -> Array:
    """The sums of floats, as floats."""
    return np.bincount(g.ids, a, g.k)


def _numbers(x: Value, refused: tuple[int, ...]) -> TypeGuard[Vec]:
    return x.__class__ is Vec and x.t not in refused


# ------------------------------------------------------------------ any list


@_agg("count")
def _count(g: Groups, x: ListValue) -> Vec:
    return longs(g.counts)


@_agg("first")
def _first(g: Groups, x: ListValue) -> ListValue:
    return take_at(x, g.first)


@_agg("last")
def _last(g: Groups, x: ListValue) -> ListValue:
    return take_at(x, g.last)


# ------------------------------------------------------------------ sums and products


def whole_sums(g: Groups, a: Array, null: int | None = None) -> Array:
    """Exact sums of integers but for nulls, modulo 2^64."""
    if not len(a):
        return np.zeros(g.k, np.int64)
    least = int(a.min())
    if least == null:
        a = np.where(a == null, a.dtype.type(0), a)
        least = int(a.min())
    if len(a) * max(abs(least), abs(int(a.max()))) < _EXACT:
        return total(g, a).astype(np.int64)
    return _reduce(g, np.add, a, dtype=np.int64)


@_agg("sum")
def _sum(g: Groups, x: Value) -> Vec | None:
    if not _numbers(x, _NO_SUM):
        return None
    qtype = sum_type(x.t)
    array = x.a
    if qtype in T.FLOATS:
        missing = null_mask(array, x.t)
        totals = total(g, array if missing is None else np.where(missing, 0, array))
    else:
        totals = whole_sums(g, array, T.NULL[x.t] if x.t in T.SIGNED else None)
    return Vec(qtype, totals.astype(T.DTYPE[qtype], copy=False))


@_agg("prd")
def _prd(g: Groups, x: ListValue) -> Vec | None:
    if not _numbers(x, _NO_SUM):
        return None
    qtype = sum_type(x.t)
    array = x.a
    missing = null_mask(array, x.t)
    if missing is not None:
        array = np.where(missing, array.dtype.type(1), array)
    products = _reduce(g, np.multiply, array, dtype=np.float64 if qtype in T.FLOATS else np.int64)
    return Vec(qtype, products.astype(T.DTYPE[qtype], copy=False))


# ------------------------------------------------------------------ extremes and truth


@_agg("max")
def _max(g: Groups, x: ListValue) -> Vec | None:
    if not _numbers(x, TEXT):
        return None
    qtype = x.t
    if qtype in T.FLOATS:
        maxima = _reduce(g, np.fmax, x.a)
        missing = np.isnan(maxima)
    else:
        maxima = _reduce(g, np.maximum, x.a)
        missing = maxima == T.NULL[qtype] if qtype in T.SIGNED else None
    return Vec(
        qtype,
        maxima
        if missing is None
        else np.where(missing, maxima.dtype.type(least_of(qtype)), maxima),
    )


@_agg("min")
def _min(g: Groups, x: ListValue) -> Vec | None:
    if not _numbers(x, TEXT):
        return None
    qtype, array = x.t, x.a
    if qtype in T.FLOATS:
        minima = _reduce(g, np.fmin, array)
        return Vec(qtype, np.where(np.isnan(minima), minima.dtype.type(greatest_of(qtype)), minima))
    missing = null_mask(array, qtype) if qtype in T.SIGNED else None
    return Vec(
        qtype,
        _reduce(
            g,
            np.minimum,
            array
            if missing is None
            else np.where(missing, array.dtype.type(greatest_of(qtype)), array),
        ),
    )


def _truth(name: str, ufunc: np.ufunc) -> None:
    @_agg(name)
    def run(g: Groups, x: ListValue) -> Vec | None:
        if x.__class__ is not Vec or x.t != T.B:
            return None
        return Vec(T.B, _reduce(g, ufunc, x.a))


_truth("all", np.logical_and)
_truth("any", np.logical_or)


# ------------------------------------------------------------------ mean, median, spread


class _Floats:
    """A column as floats with nulls as zeros: `a`; `null` marks the nulls, or is None; `n` counts the others in each
    group."""

    __slots__ = ("a", "n", "null")

    def __init__(self, g: Groups, a: Array, null: Array | None) -> None:
        self.null = null
        self.a = a if null is None else np.where(null, 0.0, a)
        self.n = g.counts if null is None else np.bincount(g.ids[~null], minlength=g.k)


def column_of_floats(g: Groups, x: ListValue) -> _Floats | None:
    """A column of numbers as floats; None for any other."""
    if not _numbers(x, TEXT):
        return None
    return _Floats(g, to_float(x.a, x.t), null_mask(x.a, x.t))


@_agg("avg")
def _avg(g: Groups, x: ListValue) -> Vec | None:
    column = column_of_floats(g, x)
    return None if column is None else floats(total(g, column.a) / column.n)


def _variances(g: Groups, f: _Floats) -> Array:
    deviations = f.a - (total(g, f.a) / f.n)[g.ids]
    if f.null is not None:
        deviations[f.null] = 0.0
    return total(g, deviations * deviations) / f.n


def _spread(name: str, sample: bool, root: bool) -> None:
    @_agg(name)
    def run(g: Groups, x: ListValue) -> Vec | None:
        column = column_of_floats(g, x)
        if column is None:
            return None
        variances = _variances(g, column)
        if sample:
            variances = np.where(column.n > 1, variances * (column.n / (column.n - 1)), np.nan)
        return floats(np.sqrt(variances) if root else variances)


# fmt: off  # a table
_spread("var", False, False)
_spread("dev", False, True)
_spread("svar", True, False)
_spread("sdev", True, True)
# fmt: on


@_agg("med")
def _med(g: Groups, x: ListValue) -> Vec | None:
    if not _numbers(x, TEXT) or null_mask(x.a, x.t) is not None:
        return None
    by_value = grade_keys(sort_keys(x))
    order = by_value[grade_keys(g.ids[by_value])]
    ordered = to_float(x.a, x.t)[order]
    lower, upper = ordered[g.starts + (g.counts - 1) // 2], ordered[g.starts + g.counts // 2]
    return floats(np.where(lower == upper, lower, (lower + upper) / 2))


# ------------------------------------------------------------------ two columns


def _pairs(g: Groups, x: ListValue, y: ListValue) -> tuple[_Floats, _Floats] | None:
    """Two columns as floats; where either is null, both are."""
    if not _numbers(x, TEXT) or not _numbers(y, TEXT) or len(x) != len(y):
        return None
    nulls = [mask for operand in (x, y) if (mask := null_mask(operand.a, operand.t)) is not None]
    missing = np.logical_or.reduce(nulls) if nulls else None
    return _Floats(g, to_float(x.a, x.t), missing), _Floats(g, to_float(y.a, y.t), missing)


@_agg("wsum")
def _wsum(g: Groups, x: ListValue, y: ListValue) -> Vec | None:
    if not _numbers(x, TEXT) or not _numbers(y, TEXT):
        return None
    if x.t in (*SMALL, T.J) and y.t in (*SMALL, T.J):
        x = floats(to_float(x.a, x.t))
    return _sum(g, mul(x, y))


def products_of_floats(g: Groups, x: ListValue, y: ListValue) -> tuple[Array, Array] | None:
    """The sums of the products of two columns, and of the first one where neither is null."""
    columns = _pairs(g, x, y)
    if columns is None:
        return None
    return total(g, columns[0].a * columns[1].a), total(g, columns[0].a)


@_agg("wavg")
def _wavg(g: Groups, x: ListValue, y: ListValue) -> Vec | None:
    sums = products_of_floats(g, x, y)
    return None if sums is None else floats(sums[0] / sums[1])


def _comoments(g: Groups, x: _Floats, y: _Floats) -> tuple[Array, Array, Array]:
    """Mean products of deviations: xy, xx, yy."""
    deviations = []
    for column in (x, y):
        deviation = column.a - (total(g, column.a) / column.n)[g.ids]
        if column.null is not None:
            deviation[column.null] = 0.0
        deviations.append(deviation)
    x_deviation, y_deviation = deviations
    return (
        total(g, x_deviation * y_deviation) / x.n,
        total(g, x_deviation * x_deviation) / x.n,
        total(g, y_deviation * y_deviation) / x.n,
    )


@_agg("cov")
def _cov(g: Groups, x: ListValue, y: ListValue) -> Vec | None:
    columns = _pairs(g, x, y)
    return None if columns is None else floats(_comoments(g, *columns)[0])


@_agg("scov")
def _scov(g: Groups, x: ListValue, y: ListValue) -> Vec | None:
    columns = _pairs(g, x, y)
    if columns is None:
        return None
    counts = columns[0].n
    return floats(
        np.where(counts > 1, _comoments(g, *columns)[0] * (counts / (counts - 1)), np.nan)
    )


@_agg("cor")
def _cor(g: Groups, x: ListValue, y: ListValue) -> Vec | None:
    columns = _pairs(g, x, y)
    if columns is None:
        return None
    covariance, x_variance, y_variance = _comoments(g, *columns)
    return floats(covariance / np.sqrt(x_variance * y_variance))


# ------------------------------------------------------------------ which phrases can go at once
