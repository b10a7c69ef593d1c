"""Moving windows: msum mavg mcount mdev mmax mmin over the last x items."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs.running import along
from kshell.lang.verbs.stats import TEXT, least_of, number_or_time, ordered_type, sum_type
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import as_nd, floats, longs
from kshell.values.base.core import List, Nd, Value, Vec, atom_t
from kshell.values.engine.cast import array1, is_null, null_mask, to_float
from kshell.values.engine.dispatch import Array


def _window(x: Value) -> int:
    qtype = atom_t(x)
    if qtype not in (T.B, T.X, T.H, T.I, T.J):
        raise QError("type")
    return int(array1(x, qtype)[0])


def _moving(
    x: Value, y: Value, fn: Callable[[int, Vec], Vec], again: Callable[[Value, Value], Value]
) -> Value:
    """fn over a vector; along the first axis of a list of vectors; over each value of a dictionary or column of a
    table."""
    length = _window(x)
    if y.__class__ is Vec:
        if y.t in TEXT:
            raise QError("type")
        return fn(length, y)
    if isinstance(y, List):
        nested = as_nd(y)
        if nested is None:
            if not y.items:
                return y
            raise QError("type")
        ordered_type(nested.t)
        if not nested.a.size:  # empty lists: only the type may change
            moved = fn(length, Vec(nested.t, nested.a.reshape(-1)))
            return Nd(moved.t, moved.a.reshape(nested.a.shape))
        columns = [
            fn(length, Vec(nested.t, column)) for column in nested.a.reshape(len(nested.a), -1).T
        ]
        return Nd(
            columns[0].t, np.stack([column.a for column in columns], axis=1).reshape(nested.a.shape)
        )
    qtype = atom_t(y)
    if qtype:
        ordered_type(qtype)
        return fn(length, Vec(qtype, array1(y, qtype))).item(0)
    result = along(y, lambda v: again(x, v))
    if result is None:
        raise QError("type")
    return result


def _behind(s: Array, n: int) -> Array:
    """Moving totals over n items from running totals s."""
    totals = s.copy()
    if n <= 0:
        return np.zeros_like(s)
    if n < len(s):
        totals[n:] -= s[:-n]
    return totals


def _window_sum(n: int, a: Array) -> Array:
    return _behind(np.add.accumulate(a), n)


_MOVED = {T.P: T.N, T.M: T.I, T.D: T.I, T.Z: T.F}


def _msum(n: int, y: Vec) -> Vec:
    result_type = _MOVED.get(y.t) or sum_type(y.t)  # computed as a difference of running sums
    mask = null_mask(y.a, y.t)
    array = (
        y.a.astype(T.DTYPE[result_type])
        if mask is None
        else np.where(mask, 0, y.a).astype(T.DTYPE[result_type])
    )
    return Vec(result_type, _window_sum(n, array))


@verb("msum", handle=True)
def msum(x: Value, y: Value) -> Value:
    """Moving sums over the last x items; nulls count as zero.

    q)3 msum 1 2 3 5 7
    1 3 6 10 15
    """
    return _moving(x, y, _msum, msum)


@verb("mcount", handle=True)
def mcount(x: Value, y: Value) -> Value:
    """The number of non-null items among the last x.

    q)3 mcount 0N 1 2 3
    0 1 2 3
    """
    return _moving(
        x, y, lambda n, v: longs(_window_sum(n, (~is_null(v.a, v.t)).astype(np.int64))), mcount
    )


def _parts(n: int, y: Vec) -> tuple[Array, Array, Array]:
    """Items as floats with nulls zero and the mean subtracted; the window counts; the mean."""
    numbers = to_float(y.a, y.t)
    present = ~np.isnan(numbers)
    return np.where(present, numbers, 0.0), _window_sum(n, present.astype(np.float64)), present


def _mavg(n: int, y: Vec) -> Vec:
    number_or_time(y.t)
    numbers, count, _ = _parts(n, y)
    return floats(_window_sum(n, numbers) / count)


@verb("mavg", handle=True)
def mavg(x: Value, y: Value) -> Value:
    """Moving averages over the last x items; nulls are ignored.

    q)2 mavg 1 2 3 5
    1 1.5 2.5 4
    """
    return _moving(x, y, _mavg, mavg)


def _mdev(n: int, y: Vec) -> Vec:
    numbers, count, present = _parts(n, y)
    finite = numbers[present & np.isfinite(numbers)]
    # squares of centred items lose little precision
    numbers = np.where(present, numbers - (np.rint(finite.mean()) if finite.size else 0.0), 0.0)
    means = _window_sum(n, numbers) / count
    return floats(
        np.sqrt(np.maximum(_window_sum(n, numbers * numbers) / count - means * means, 0.0))
    )


@verb("mdev", handle=True)
def mdev(x: Value, y: Value) -> Value:
    """Moving standard deviations over the last x items.

    q)2 mdev 1 2 3 5 7
    0 0.5 0.5 1 1
    """
    return _moving(x, y, _mdev, mdev)


def _window_best(n: int, a: Array, ufunc: np.ufunc) -> Array:
    """ufunc (maximum or minimum) over the last n items, by doubling windows."""
    best, width = a.copy(), 1
    n = min(n, len(a))
    while width < n:
        step = min(width, n - width)
        best[step:] = ufunc(best[step:], best[:-step].copy())
        width += step
    return best


def _mmax(n: int, y: Vec) -> Vec:
    mask = null_mask(y.a, ordered_type(y.t)) if y.t != T.C else None
    array = y.a if mask is None else np.where(mask, np.array(least_of(y.t), y.a.dtype), y.a)
    return Vec(y.t, _window_best(n, array, np.maximum))


@verb("mmax", handle=True)
def mmax(x: Value, y: Value) -> Value:
    """Moving maximums over the last x items.

    q)3 mmax 2 7 1 3 5
    2 7 7 7 5
    """
    return _moving(x, y, _mmax, mmax)


@verb("mmin", handle=True)
def mmin(x: Value, y: Value) -> Value:
    """Moving minimums over the last x items; null is lowest.

    q)3 mmin 2 7 1 3 5
    2 2 1 1 1
    """
    return _moving(
        x, y, lambda n, v: Vec(ordered_type(v.t), _window_best(n, v.a, np.minimum)), mmin
    )
