"""Grouped aggregates, for the verbs that templates use most.

Each function takes the groups and the columns, and returns the vector of results, or None if it has no fast path; the
verb then runs on one group at a time, and both ways must agree.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.tables.columns import Array, Groups
from kshell.lang.verbs.arith import mul
from kshell.lang.verbs.stats import SMALL, TEXT, greatest_of, least_of, sum_type
from kshell.values.base import types as T
from kshell.values.base.build import floats, longs
from kshell.values.base.core import Value, Vec
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


def _total(g: Groups, a: Array) -> Array:
    """The sums of floats, as floats."""
    return np.bincount(g.ids, a, g.k)


def _numbers(x: Value, refused: tuple[int, ...]) -> bool:
    return x.__class__ is Vec and x.t not in refused


# ------------------------------------------------------------------ any list


@_agg("count")
def _count(g: Groups, x: Value) -> Value:
    return longs(g.counts)


@_agg("first")
def _first(g: Groups, x: Value) -> Value:
    return take_at(x, g.first)


@_agg("last")
def _last(g: Groups, x: Value) -> Value:
    return take_at(x, g.last)


# ------------------------------------------------------------------ sums and products


def _whole_sums(g: Groups, a: Array) -> Array:
    """Exact sums of integers, modulo 2^64."""
    if not len(a):
        return np.zeros(g.k, np.int64)
    if len(a) * max(abs(int(a.min())), abs(int(a.max()))) < _EXACT:
        return _total(g, a).astype(np.int64)
    return _reduce(g, np.add, a, dtype=np.int64)


@_agg("sum")
def _sum(g: Groups, x: Value) -> Value | None:
    if not _numbers(x, _NO_SUM):
        return None
    t = sum_type(x.t)
    array = x.a
    null = null_mask(array, x.t)
    if null is not None:
        array = np.where(null, array.dtype.type(0), array)
    sums = _total(g, array) if t in T.FLOATS else _whole_sums(g, array)
    return Vec(t, sums.astype(T.DTYPE[t], copy=False))


@_agg("prd")
def _prd(g: Groups, x: Value) -> Value | None:
    if not _numbers(x, _NO_SUM):
        return None
    t = sum_type(x.t)
    array = x.a
    null = null_mask(array, x.t)
    if null is not None:
        array = np.where(null, array.dtype.type(1), array)
    out = _reduce(g, np.multiply, array, dtype=np.float64 if t in T.FLOATS else np.int64)
    return Vec(t, out.astype(T.DTYPE[t], copy=False))


# ------------------------------------------------------------------ extremes and truth


@_agg("max")
def _max(g: Groups, x: Value) -> Value | None:
    if not _numbers(x, TEXT):
        return None
    qtype = x.t
    if qtype in T.FLOATS:
        r = _reduce(g, np.fmax, x.a)
        null = np.isnan(r)
    else:
        r = _reduce(g, np.maximum, x.a)
        null = r == T.NULL[qtype] if qtype in T.SIGNED else None
    return Vec(qtype, r if null is None else np.where(null, r.dtype.type(least_of(qtype)), r))


@_agg("min")
def _min(g: Groups, x: Value) -> Value | None:
    if not _numbers(x, TEXT):
        return None
    qtype, array = x.t, x.a
    if qtype in T.FLOATS:
        r = _reduce(g, np.fmin, array)
        return Vec(qtype, np.where(np.isnan(r), r.dtype.type(greatest_of(qtype)), r))
    null = null_mask(array, qtype) if qtype in T.SIGNED else None
    return Vec(
        qtype,
        _reduce(
            g,
            np.minimum,
            array if null is None else np.where(null, array.dtype.type(greatest_of(qtype)), array),
        ),
    )


def _truth(name: str, ufunc: np.ufunc) -> None:
    @_agg(name)
    def run(g: Groups, x: Value) -> Value | None:
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


def _column(g: Groups, x: Value) -> _Floats | None:
    if not _numbers(x, TEXT):
        return None
    return _Floats(g, to_float(x.a, x.t), null_mask(x.a, x.t))


@_agg("avg")
def _avg(g: Groups, x: Value) -> Value | None:
    f = _column(g, x)
    return None if f is None else floats(_total(g, f.a) / f.n)


def _variances(g: Groups, f: _Floats) -> Array:
    d = f.a - (_total(g, f.a) / f.n)[g.ids]
    if f.null is not None:
        d[f.null] = 0.0
    return _total(g, d * d) / f.n


def _spread(name: str, sample: bool, root: bool) -> None:
    @_agg(name)
    def run(g: Groups, x: Value) -> Value | None:
        f = _column(g, x)
        if f is None:
            return None
        out = _variances(g, f)
        if sample:
            out = np.where(f.n > 1, out * (f.n / (f.n - 1)), np.nan)
        return floats(np.sqrt(out) if root else out)


# fmt: off  # a table
_spread("var", False, False)
_spread("dev", False, True)
_spread("svar", True, False)
_spread("sdev", True, True)
# fmt: on


@_agg("med")
def _med(g: Groups, x: Value) -> Value | None:
    if not _numbers(x, TEXT) or null_mask(x.a, x.t) is not None:
        return None
    by_value = grade_keys(sort_keys(x))
    order = by_value[grade_keys(g.ids[by_value])]
    a = to_float(x.a, x.t)[order]
    low, high = a[g.starts + (g.counts - 1) // 2], a[g.starts + g.counts // 2]
    return floats(np.where(low == high, low, (low + high) / 2))


# ------------------------------------------------------------------ two columns


def _pairs(g: Groups, x: Value, y: Value) -> tuple[_Floats, _Floats] | None:
    """Two columns as floats; where either is null, both are."""
    if not _numbers(x, TEXT) or not _numbers(y, TEXT) or len(x) != len(y):
        return None
    nulls = [mask for v in (x, y) if (mask := null_mask(v.a, v.t)) is not None]
    null = np.logical_or.reduce(nulls) if nulls else None
    return _Floats(g, to_float(x.a, x.t), null), _Floats(g, to_float(y.a, y.t), null)


@_agg("wsum")
def _wsum(g: Groups, x: Value, y: Value) -> Value | None:
    if not _numbers(x, TEXT) or not _numbers(y, TEXT):
        return None
    if x.t in (*SMALL, T.J) and y.t in (*SMALL, T.J):
        x = floats(to_float(x.a, x.t))
    return _sum(g, mul(x, y))


@_agg("wavg")
def _wavg(g: Groups, x: Value, y: Value) -> Value | None:
    pair = _pairs(g, x, y)
    return None if pair is None else floats(_total(g, pair[0].a * pair[1].a) / _total(g, pair[0].a))


def _comoments(g: Groups, x: _Floats, y: _Floats) -> tuple[Array, Array, Array]:
    """Mean products of deviations: xy, xx, yy."""
    d = []
    for f in (x, y):
        away = f.a - (_total(g, f.a) / f.n)[g.ids]
        if f.null is not None:
            away[f.null] = 0.0
        d.append(away)
    u, v = d
    return _total(g, u * v) / x.n, _total(g, u * u) / x.n, _total(g, v * v) / x.n


@_agg("cov")
def _cov(g: Groups, x: Value, y: Value) -> Value | None:
    pair = _pairs(g, x, y)
    return None if pair is None else floats(_comoments(g, *pair)[0])


@_agg("scov")
def _scov(g: Groups, x: Value, y: Value) -> Value | None:
    pair = _pairs(g, x, y)
    if pair is None:
        return None
    n = pair[0].n
    return floats(np.where(n > 1, _comoments(g, *pair)[0] * (n / (n - 1)), np.nan))


@_agg("cor")
def _cor(g: Groups, x: Value, y: Value) -> Value | None:
    pair = _pairs(g, x, y)
    if pair is None:
        return None
    xy, xx, yy = _comoments(g, *pair)
    return floats(xy / np.sqrt(xx * yy))


# ------------------------------------------------------------------ which phrases can go at once
