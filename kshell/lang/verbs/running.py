"""Uniform list verbs: sums prds maxs mins avgs, deltas ratios differ, prev next xprev, fills, ema."""

from __future__ import annotations

from collections.abc import Callable
from itertools import accumulate, pairwise

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs.arith import add, div_, mul, sub
from kshell.lang.verbs.compare import fill as filled
from kshell.lang.verbs.compare import max_ as greater
from kshell.lang.verbs.compare import min_ as lesser
from kshell.lang.verbs.compare import ne
from kshell.lang.verbs.stats import (
    TEXT,
    greatest_of,
    least_of,
    number_or_time,
    ordered_type,
    sum_type,
)
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import as_nd, bools, collapse, floats
from kshell.values.base.core import (
    Dict,
    List,
    ListValue,
    Nd,
    Table,
    Value,
    Vec,
    atom_t,
    is_list,
)
from kshell.values.base.functions import Handle
from kshell.values.base.match import match
from kshell.values.base.narrow import list_value, vec_value
from kshell.values.change.join import join
from kshell.values.engine.cast import array1, convert, is_null, null_mask, null_raw, to_float, whole
from kshell.values.engine.dispatch import Array
from kshell.values.items.pick import null_of, take_at


def along(x: Value, fn: Callable[[Value], Value]) -> Dict | Table | None:
    """Apply a uniform verb to a dictionary (along its values) or a table (along every column); None for other
    values."""
    if x.__class__ is Dict:
        return Dict(x.k, list_value(fn(x.v)))
    if x.__class__ is Table:
        return Table(x.names, [list_value(fn(column)) for column in x.cols])
    return None


def _scan(x: List, f: Callable[[Value, Value], Value]) -> ListValue:
    return collapse(list(accumulate(x.items, f)))


def _uniform(
    x: Value,
    name: str,
    on_vec: Callable[[int, Array], Vec],
    op: Callable[[Value, Value], Value],
    again: Callable[[Value], Value],
) -> Value:
    """on_vec for a vector, a scan with op for a general list; atoms unchanged."""
    if x.__class__ is Vec:
        return on_vec(x.t, x.a)
    if x.__class__ is Nd:
        added = name not in ("maxs", "mins")
        number_or_time(x.t) if added else ordered_type(x.t)
        # between vectors, nulls propagate; the first row keeps its type, and spans are added to moments
        if null_mask(x.a, x.t) is not None or (added and x.t not in (T.I, T.J, T.E, T.F)):
            return _scan(x, op)
        scanned = on_vec(x.t, x.a)
        return Nd(scanned.t, scanned.a)
    if x.__class__ is List:
        return _scan(x, op)
    if isinstance(x, Handle):
        return x.monad(name)
    result = along(x, again)
    if result is None:
        qtype = atom_t(x)
        if not qtype:
            raise QError("type")
        on_vec(qtype, array1(x, qtype))
        return x
    return result


def _filled_with(t: int, a: Array, value: object) -> Array:
    mask = null_mask(a, t)
    return a if mask is None else np.where(mask, np.array(value, a.dtype), a)


def _sums_vec(t: int, a: Array) -> Vec:
    result_type = sum_type(t)
    if t == T.F:
        sums = np.add.accumulate(a)
        if not sums.size or not np.isnan(sums[-1]).any():  # a null would have propagated to the end
            return Vec(t, sums)
    return Vec(result_type, np.add.accumulate(_filled_with(t, a, 0), dtype=T.DTYPE[result_type]))


def _prds_vec(t: int, a: Array) -> Vec:
    result_type = sum_type(t)
    return Vec(
        result_type, np.multiply.accumulate(_filled_with(t, a, 1), dtype=T.DTYPE[result_type])
    )


def _maxs_vec(t: int, a: Array) -> Vec:
    return Vec(
        ordered_type(t), np.maximum.accumulate(_filled_with(t, a, least_of(t)) if t != T.C else a)
    )


def _mins_vec(t: int, a: Array) -> Vec:
    return Vec(
        ordered_type(t),
        np.minimum.accumulate(_filled_with(t, a, greatest_of(t)) if t != T.C else a),
    )


@verb("sums")
def sums(x: Value) -> Value:
    """Running sums; nulls count as zero.

    q)sums 2 3 0N 7
    2 5 5 12
    """
    if x.__class__ is Vec and x.t == T.J and whole(x):
        return Vec(T.J, np.add.accumulate(x.a))
    return _uniform(x, "sums", _sums_vec, add, sums)


@verb("prds")
def prds(x: Value) -> Value:
    """Running products; nulls count as one.

    q)prds 2 3 0N 7
    2 6 6 42
    """
    return _uniform(x, "prds", _prds_vec, mul, prds)


@verb("maxs")
def maxs(x: Value) -> Value:
    """Running maximums.

    q)maxs 2 5 1 7 3
    2 5 5 7 7
    """
    return _uniform(x, "maxs", _maxs_vec, greater, maxs)


@verb("mins")
def mins(x: Value) -> Value:
    """Running minimums.

    q)mins 2 5 1 7 3
    2 2 1 1 1
    """
    return _uniform(x, "mins", _mins_vec, lesser, mins)


def _avgs_vec(t: int, a: Array) -> Vec:
    number_or_time(t)
    numbers = to_float(a, t)
    present = ~np.isnan(numbers)
    return floats(
        np.add.accumulate(np.where(present, numbers, 0.0))
        / np.add.accumulate(present, dtype=np.int64)
    )


@verb("avgs")
def avgs(x: Value) -> Value:
    """Running means.

    q)avgs 1 2 3 0n 4
    1 1.5 2 2 2.5
    """
    if x.__class__ is List or x.__class__ is Nd:
        return collapse([div_(item, index + 1) for index, item in enumerate(_scan(x, add).items)])
    if atom_t(x):
        return _avgs_vec(atom_t(x), array1(x, atom_t(x))).item(0)
    return _uniform(x, "avgs", _avgs_vec, add, avgs)


# ------------------------------------------------------------------ neighbours


def _steps(
    x: Value,
    f: Callable[[Value, Value], Value],
    first: Callable[[Vec, int], Vec],
    none: bool,
    again: Callable[[Value], Value],
) -> Value:
    """f of each item and its predecessor; the first is paired with `none`; for a vector, `first` computes the first
    result."""
    if is_list(x):
        if x.__class__ is Vec:
            steps = vec_value(f(Vec(x.t, x.a[1:]), Vec(x.t, x.a[:-1])))
            first_step = first(Vec(x.t, x.a[:1]), steps.t)
            return Vec(steps.t, np.concatenate([first_step.a, steps.a]))
        items = x.items
        return collapse(
            [
                *(f(item, none) for item in items[:1]),
                *(f(current, previous) for previous, current in pairwise(items)),
            ]
        )
    result = along(x, again)
    return x if result is None else result


@verb("deltas", handle=True)
def deltas(x: Value) -> Value:
    """Differences between adjacent items; the first item is unchanged.

    q)deltas 1 4 9 16
    1 3 5 7
    """
    return _steps(x, sub, lambda v, t: Vec(t, v.a.astype(T.DTYPE[t])), False, deltas)


@verb("ratios", handle=True)
def ratios(x: Value) -> Value:
    """Each item divided by its predecessor; the first item is unchanged.

    q)ratios 2 4 6
    2 2 1.5
    """
    return _steps(x, div_, lambda v, t: Vec(t, to_float(v.a, v.t)), True, ratios)


def _steps_from(
    x: Value, y: Value, f: Callable[[Value, Value], Value], plain: Callable[[Value], Value]
) -> Value:
    """f of each item of y and its predecessor; the first is paired with x."""
    if is_list(y):
        if not len(y):
            return y
        items = y.items
        return (
            collapse(
                [f(items[0], x), *(f(current, previous) for previous, current in pairwise(items))]
            )
            if y.__class__ is not Vec
            else join(f(y.item(0), x), take_at(list_value(plain(y)), np.arange(1, len(y))))
        )
    result = along(y, lambda v: _steps_from(x, v, f, plain))
    return f(y, x) if result is None else result


@verb("deltas", infix=False, handle=True)
def deltas_from(x: Value, y: Value) -> Value:
    return _steps_from(x, y, sub, deltas)


@verb("ratios", infix=False, handle=True)
def ratios_from(x: Value, y: Value) -> Value:
    return _steps_from(x, y, div_, ratios)


@verb("differ", handle=True)
def differ(x: Value) -> Value:
    """Whether each item differs from its predecessor; true for the first.

    q)differ 1 3 3 4
    1101b
    """
    if x.__class__ is Vec:
        differs = np.ones(len(x.a), np.bool_)
        if len(differs) > 1:
            differs[1:] = (
                x.a[1:] != x.a[:-1]
                if x.t == T.ENUM
                else vec_value(ne(Vec(x.t, x.a[1:]), Vec(x.t, x.a[:-1]))).a
            )
        return bools(differs)
    if x.__class__ is Table:
        return bools(np.logical_or.reduce([vec_value(differ(column)).a for column in x.cols]))
    if x.__class__ is Dict:
        return Dict(x.k, list_value(differ(x.v)))
    if x.__class__ is List or x.__class__ is Nd:
        items = x.items
        return bools(
            [True, *(not match(previous, current) for previous, current in pairwise(items))][
                : len(items)
            ]
        )
    return x


def shift(x: Value, n: int) -> Value:
    """For each item, the item n places before it; null outside the list."""
    if x.__class__ is Vec:
        shifted = np.empty_like(x.a)
        count = min(abs(n), len(shifted))
        null = null_raw(x.t)
        if n >= 0:
            shifted[:count], shifted[count:] = null, x.a[: len(shifted) - count]
        else:
            shifted[len(shifted) - count :], shifted[: len(shifted) - count] = null, x.a[count:]
        return Vec(x.t, shifted, "", x.dom)
    if x.__class__ is List or x.__class__ is Nd:
        items, null = x.items, null_of(x)
        count = min(abs(n), len(items))
        return collapse(
            [null] * count + items[: len(items) - count]
            if n >= 0
            else items[count:] + [null] * count
        )
    result = along(x, lambda v: shift(v, n))
    if result is None:
        raise QError("type")
    return result


@verb("prev", handle=True)
def prev(x: Value) -> Value:
    """The predecessor of each item; null for the first.

    q)prev 2 3 5
    0N 2 3
    """
    return x if atom_t(x) else shift(x, 1)


@verb("next", handle=True)
def next_(x: Value) -> Value:
    """The successor of each item; null for the last.

    q)next 2 3 5
    3 5 0N
    """
    return x if atom_t(x) else shift(x, -1)


@verb("xprev", handle=True)
def xprev(x: Value, y: Value) -> Value:
    """The item x places before each item of y; null if there is none.

    q)2 xprev 2 7 5 3
    0N 0N 2 7
    """
    qtype = atom_t(x)
    if qtype not in (T.B, T.X, T.H, T.I, T.J):
        raise QError("type")
    return shift(y, int(array1(x, qtype)[0]))


@verb("fills", handle=True)
def fills(x: Value) -> Value:
    """Nulls replaced by the preceding non-null item.

    q)fills 0N 2 0N 0N 7
    0N 2 2 2 7
    """
    if x.__class__ is Vec:
        missing = is_null(x.a, x.t)
        indices = np.maximum.accumulate(np.where(missing, 0, np.arange(len(missing))))
        return take_at(x, indices) if missing.any() else x
    if x.__class__ is List or x.__class__ is Nd:
        return _scan(x, filled)
    result = along(x, fills)
    return x if result is None else result


@verb("ema", handle=True)
def ema(x: Value, y: Value) -> Value:
    """Exponential moving average of y with smoothing factor x, either one factor or one per item.

    q)0.5 ema 1 2 3
    1 1.5 2.25
    """
    if isinstance(y, List):
        nested = as_nd(y)
        if nested is None or atom_t(x) == 0:
            raise QError("type")
        return collapse(
            list(accumulate(nested.items, lambda a, b: add(mul(sub(1.0, x), a), mul(x, b))))
        )
    if y.__class__ is not Vec or y.t in TEXT:
        raise QError("type")
    numbers = to_float(y.a, y.t).tolist()
    if x.__class__ is Vec:
        if len(x) != len(numbers):
            raise QError("length")
        ordered_type(x.t)
        pairs = list(zip(to_float(x.a, x.t).tolist(), numbers, strict=True))
        state, averages = numbers[0] if numbers else 0.0, []
        for factor, value in pairs:
            state = state * (1 - factor) + factor * value
            averages.append(state)
        return floats(([numbers[0], *averages[1:]]) if numbers else [])
    qtype = atom_t(x)
    if not qtype or qtype in TEXT:
        raise QError("type")
    factor = float(convert(array1(x, qtype), qtype, T.F)[0])
    retained = 1 - factor
    return floats(list(accumulate(numbers, lambda a, b: retained * a + factor * b)))
