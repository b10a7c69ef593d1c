"""Statistics with a float result: avg med var dev, weighted sums, covariance and correlation.

They ignore nulls, work by column on a list of vectors, and treat dictionaries and tables as `sum` does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeGuard

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs.arith import div_, mul
from kshell.lang.verbs.stats import (
    SMALL,
    TEXT,
    float_sum,
    mixed,
    ordered_type,
    over_items,
    present,
    sum_,
)
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import as_nd, collapse, floats
from kshell.values.base.core import Dict, List, Nd, Table, Value, Vec, atom_t
from kshell.values.engine.cast import array1, has_null, null_mask, to_float
from kshell.values.engine.dispatch import Array
from kshell.values.items.order import grade
from kshell.values.items.pick import take_at

# ------------------------------------------------------------------ mean, median, spread


def _float_items(x: Value) -> Array | None:
    """The items of a vector (nulls removed), or of a general list of atoms, as float64; None for nested lists."""
    if x.__class__ is Vec:
        if x.t in TEXT:
            raise QError("type")
        return to_float(present(x.a, x.t), x.t)
    qtype = atom_t(x)
    if qtype:
        ordered_type(qtype)
        return to_float(present(array1(x, qtype), qtype), qtype)
    if x.__class__ is List and all(atom_t(item) for item in x.items):
        typed = [(item, ordered_type(atom_t(item))) for item in mixed(x).items]
        return np.concatenate(
            [np.zeros(0), *[to_float(array1(item, qtype), qtype) for item, qtype in typed]]
        )
    return None


def _nested(x: Value) -> Nd:
    """A list of vectors of equal length as one array; 'length if the lengths differ, 'type if they are not numeric."""
    if not isinstance(x, List):
        raise QError("type")
    nested = as_nd(x)
    if nested is None:
        rows = [_float_row(item) for item in x.items]
        if len({len(row) for row in rows}) > 1:
            raise QError("length")
        nested = Nd(T.F, np.stack(rows))
    if nested.t in TEXT:
        raise QError("type")
    return nested


def _float_row(x: Value) -> Array:
    if x.__class__ is not Vec or x.t in TEXT:
        raise QError("type")
    return to_float(x.a, x.t)


def _spread(x: Value, agg: Callable[[Value], Value], fn: Callable[[Array], Any]) -> Value:
    """A float statistic of a vector, or of every column of a nested list."""
    array = _float_items(x)
    if array is not None:
        return float(fn(array)) if array.size else T.NAN
    result = over_items(x, agg)
    if result is not None:
        return result
    nested = _nested(x)
    array = to_float(nested.a, nested.t)
    if np.isnan(array).any() or array.ndim > 2:
        return collapse([agg(nested.wrap(column)) for column in np.moveaxis(nested.a, 1, 0)])
    return floats(fn(array))


def variance(a: Array) -> Array:
    """Mean squared distance from the mean, along the first axis."""
    deviations = a - np.mean(a, axis=0)
    return np.mean(deviations * deviations, axis=0)


def _sample(a: Array) -> Array:
    return variance(a) * (len(a) / (len(a) - 1)) if len(a) > 1 else np.full(a.shape[1:], np.nan)


@verb("avg", handle=True)
def avg(x: Value) -> Value:
    """Mean of the items, a float.

    q)avg 1 0N 3
    2f
    """
    if x.__class__ is List or x.__class__ is Nd:
        if not len(x):
            return T.NAN
        return div_(sum_(x), len(x))
    if x.__class__ is Vec and x.t == T.F and len(x.a):
        total = float_sum(x.a)
        if total == total:
            return total / len(x.a)
    array = _float_items(x)
    if array is not None:
        return float(float_sum(array) / array.size) if array.size else T.NAN
    result = over_items(x, avg)
    if result is None:
        raise QError("type")
    return result


def _median(a: Array) -> Array:
    ordered = np.sort(a, axis=0)
    count = len(ordered)
    lower, upper = ordered[(count - 1) // 2], ordered[count // 2]
    return np.asarray(np.where(lower == upper, lower, (lower + upper) / 2))


@verb("med", handle=True)
def med(x: Value) -> Value:
    """Median of the items, a float: the middle one in sorted order, or the mean of the middle two. Also for rows.

    q)med 10 34 23 123 5 56
    28.5
    """
    items = x.v if x.__class__ is Dict else x
    if items.__class__ in (List, Nd, Table) and len(items) and _float_items(items) is None:
        count = len(items)
        return avg(take_at(items, grade(items, False)[[(count - 1) // 2, count // 2]]))
    # nulls sort first and are counted
    if x.__class__ is Vec and null_mask(x.a, x.t) is not None and x.t not in TEXT:
        ordered = np.sort(np.where(np.isnan(column := to_float(x.a, x.t)), -T.INF, column))
        middle = {ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]} - {-T.INF}
        return float(np.mean(list(middle))) if middle else T.NAN
    return _spread(x, med, _median)


@verb("var", handle=True)
def var(x: Value) -> Value:
    """Variance.

    q)var 2 3 5 7
    3.6875
    """
    return _spread(x, var, variance)


@verb("dev", handle=True)
def dev(x: Value) -> Value:
    """Standard deviation.

    q)dev 10 343 232 55
    134.3484
    """
    return _spread(x, dev, lambda a: np.sqrt(variance(a)))


@verb("svar", handle=True)
def svar(x: Value) -> Value:
    """Sample variance.

    q)svar 2 3 5 7
    4.916667
    """
    return _spread(x, svar, _sample)


@verb("sdev", handle=True)
def sdev(x: Value) -> Value:
    """Sample standard deviation.

    q)sdev 10 343 232 55
    155.1322
    """
    return _spread(x, sdev, lambda a: np.sqrt(_sample(a)))


# ------------------------------------------------------------------ two lists


def _pairs(x: Value, y: Value) -> tuple[Array, Array] | None:
    """Two vectors (an atom pairs with every item) as floats, without pairs that contain a null; None for nested
    lists."""
    if not all(operand.__class__ is Vec or atom_t(operand) for operand in (x, y)):
        return None
    arrays = []
    for operand in (x, y):
        qtype = operand.t if operand.__class__ is Vec else atom_t(operand)
        if qtype in TEXT:
            raise QError("type")
        arrays.append(
            to_float(operand.a if operand.__class__ is Vec else array1(operand, qtype), qtype)
        )
    left, right = arrays
    if x.__class__ is Vec and y.__class__ is Vec and len(left) != len(right):
        raise QError("length")
    if len(left) != len(right):
        left, right = np.broadcast_arrays(left, right)
    if not has_null(left, T.F) and not has_null(right, T.F):
        return left, right
    missing = np.isnan(left) | np.isnan(right)
    return left[~missing], right[~missing]


def _is_whole(x: Value) -> TypeGuard[Vec]:
    return x.__class__ is Vec and x.t in (*SMALL, T.J)


@verb("wsum", handle=True)
def wsum(x: Value, y: Value) -> Value:
    """Sum of the products of x and y.

    q)2 3 4 wsum 1 2 4
    24f
    """
    if _is_whole(x) and _is_whole(y):
        x = floats(to_float(x.a, x.t))
    if y.__class__ is Dict and not y.keyed:
        y = y.v
    return sum_(mul(x, y))


@verb("wavg", handle=True)
def wavg(x: Value, y: Value) -> Value:
    """Mean of y weighted by x.

    q)2 3 4 wavg 1 2 4
    2.666667
    """
    if x.__class__ is Vec and y.__class__ is Vec and x.t == y.t == T.F and len(x.a) == len(y.a):
        average = float_sum(x.a * y.a) / (float_sum(x.a) or T.NAN) if len(x.a) else T.NAN
        if average == average:  # null if there is a null, or no items or weights
            return average
    pairs = _pairs(x, y)
    if pairs is not None:
        weights, values = pairs
        return (
            float(np.float64(float_sum(weights * values)) / float_sum(weights))
            if weights.size
            else T.NAN
        )
    if y.__class__ is Dict and not y.keyed:
        y = y.v
    return div_(sum_(mul(x, y)), sum_(x))


def _two(x: Value, y: Value, fn: Callable[[Array, Array], float]) -> Value:
    pairs = _pairs(x, y)
    if pairs is None:
        raise QError("type")
    return float(fn(*pairs)) if pairs[0].size else T.NAN


def _cov(a: Array, b: Array) -> float:
    return float(np.mean((a - a.mean()) * (b - b.mean())))


def _cor(a: Array, b: Array) -> float:
    a_deviations, b_deviations = a - a.mean(), b - b.mean()
    return float(
        np.mean(a_deviations * b_deviations)
        / np.sqrt(np.mean(a_deviations * a_deviations) * np.mean(b_deviations * b_deviations))
    )


@verb("cov", handle=True)
def cov(x: Value, y: Value) -> Value:
    """Covariance.

    q)2 3 5 7 cov 3 3 5 9
    4.5
    """
    return _two(x, y, _cov)


@verb("scov", handle=True)
def scov(x: Value, y: Value) -> Value:
    """Sample covariance.

    q)2 3 5 7 scov 3 3 5 9
    6f
    """
    return _two(x, y, lambda a, b: _cov(a, b) * len(a) / (len(a) - 1) if len(a) > 1 else T.NAN)


@verb("cor", handle=True)
def cor(x: Value, y: Value) -> Value:
    """Correlation coefficient.

    q)29 10 54 cor 1 3 9
    0.7727746
    """
    return _two(x, y, _cor)
