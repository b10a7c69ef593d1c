"""Comparison: = <> < > <= >=, lesser & and greater |, and fill ^.

Floats are compared with q's tolerance; nulls are lowest; temporals of different types are compared in the coarser unit;
symbols are equal by identity and ordered by text.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.core import List, Value, Vec
from kshell.values.base.match import TOLERANCE, close
from kshell.values.engine.cast import SPANS, convert, has_null, null_mask, to_float, widen
from kshell.values.engine.dispatch import Array, Plan, dyad
from kshell.values.items.integer_keys import symbol_ranks
from kshell.values.items.pick import null_of

_BLOCK = 8192  # items per block, so that the steps of a tolerant comparison stay in the cache
_RANK = {T.B: 0, T.X: 1, T.H: 2, T.I: 3, T.J: 4, T.E: 5, T.F: 6, T.C: 7}


def common_type(tx: int, ty: int) -> int:
    """The common type for & | and ^, and of temporals for comparison; 0 means 'type."""
    if tx in T.TEMPORAL and ty in T.TEMPORAL:
        return tx if tx == ty else _meet(tx, ty)
    if tx in T.TEMPORAL and ty in _RANK:
        return tx
    if ty in T.TEMPORAL and tx in _RANK:
        return ty
    return max(tx, ty, key=_RANK.__getitem__) if tx in _RANK and ty in _RANK else 0


def _meet(tx: int, ty: int) -> int:
    """The common type of two temporal types: for a point in time and a span, the span."""
    if tx in SPANS and ty in SPANS:
        return T.N if T.N in (tx, ty) else max(tx, ty)
    if tx in SPANS or ty in SPANS:
        point, span = (ty, tx) if tx in SPANS else (tx, ty)
        return span if point in (T.P, T.Z) else 0
    pair = {tx, ty}
    return T.P if T.P in pair else T.D if pair == {T.M, T.D} else T.Z if pair == {T.D, T.Z} else 0


# ------------------------------------------------------------------ tolerance


def near_array(a: Array, b: Array) -> Array:
    """`close` for each item of float64 arrays, which may broadcast."""
    size = max(a.size, b.size)
    if size <= _BLOCK or a.ndim > 1 or b.ndim > 1 or a.size != b.size:
        return _near_block(a, b, np.empty(0), np.empty(0))
    is_near, gap, top = np.empty(size, np.bool_), np.empty(_BLOCK), np.empty(_BLOCK)
    for begin in range(0, size, _BLOCK):
        end = min(begin + _BLOCK, size)
        is_near[begin:end] = _near_block(
            a[begin:end], b[begin:end], gap[: end - begin], top[: end - begin]
        )
    return is_near


def _near_block(a: Array, b: Array, gap: Array, top: Array) -> Array:
    """gap and top are scratch space of the result's size, or empty to allocate it."""
    allocate = not gap.size
    gap = np.subtract(a, b, out=None if allocate else gap)
    np.abs(gap, out=gap)
    top = np.maximum(np.abs(a, out=None if allocate else top), np.abs(b))
    if not top.size or np.isfinite(top.max()):
        np.multiply(top, TOLERANCE, out=top)
        return np.asarray(gap <= top)
    # infinities and nulls are close only if equal
    is_near = (gap <= top * TOLERANCE) & np.isfinite(top)
    return np.asarray(is_near | (a == b) | (np.isnan(a) & np.isnan(b)))


def _near_end(c: float, away: float) -> float:
    """The least float close to c (not null); with `away` infinity, the greatest."""
    x = c + math.copysign(TOLERANCE, away) * abs(c) if math.isfinite(c) else c
    while not close(x, c):
        x = math.nextafter(x, c)
    while x != away and close(beyond := math.nextafter(x, away), c) and beyond != x:
        x = beyond
    return x


def _lowest(c: float) -> float:
    return _near_end(c, -math.inf)


def _highest(c: float) -> float:
    return _near_end(c, math.inf)


# compare an array with one float, which is close to everything from low to high; nan, the null, is less than
# everything else
_RANGED: dict[str, Callable[[Array, float], Array]] = {
    "=": lambda a, c: (a >= _lowest(c)) & (a <= _highest(c)),
    "<>": lambda a, c: ~((a >= _lowest(c)) & (a <= _highest(c))),
    "<": lambda a, c: ~(a >= _lowest(c)),
    ">": lambda a, c: a > _highest(c),
    "<=": lambda a, c: ~(a > _highest(c)),
    ">=": lambda a, c: a >= _lowest(c),
}
_MIRROR = {"=": "=", "<>": "<>", "<": ">", ">": "<", "<=": ">=", ">=": "<="}


def _float_compare(name: str) -> Callable[[Array, Array], Array]:
    """Compare float64 arrays: equal within the tolerance counts as equal; null is less than anything."""

    def fn(a: Array, b: Array) -> Array:
        if b.size == 1 and a.size > 1 and b.item(0) == b.item(0):
            return _RANGED[name](a, b.item(0))
        if a.size == 1 and b.size > 1 and a.item(0) == a.item(0):
            return _RANGED[_MIRROR[name]](b, a.item(0))
        near_ = near_array(a, b)
        if name == "=":
            return near_
        if name == "<>":
            return ~near_
        left, right = (a, b) if name[0] == "<" else (b, a)
        is_less = left < right
        missing = np.isnan(left)
        if missing.any():
            is_less |= missing & ~np.isnan(right)
        return is_less | near_ if len(name) == 2 else is_less & ~near_

    return fn


def _less(x: float, y: float) -> bool:
    return not close(x, y) if x < y else x != x and y == y


# the same for two Python floats
_ATOMS: dict[str, Callable[[float, float], bool]] = {
    "=": close,
    "<>": lambda x, y: not close(x, y),
    "<": _less,
    ">": lambda x, y: _less(y, x),
    "<=": lambda x, y: _less(x, y) or close(x, y),
    ">=": lambda x, y: _less(y, x) or close(x, y),
}
_NUMBERS = frozenset((T.B, T.H, T.I, T.J, T.E, T.F))

# ------------------------------------------------------------------ plans

_UFUNC: dict[str, tuple[np.ufunc, Callable[[Any, Any], Any]]] = {
    "=": (np.equal, operator.eq),
    "<>": (np.not_equal, operator.ne),
    "<": (np.less, operator.lt),
    ">": (np.greater, operator.gt),
    "<=": (np.less_equal, operator.le),
    ">=": (np.greater_equal, operator.ge),
}


def _ranks(a: Array, b: Array) -> tuple[Array, Array]:
    """Symbol codes as ranks in text order."""
    ranks = symbol_ranks(np.concatenate([a.ravel(), b.ravel()]))
    return ranks[: a.size].reshape(a.shape), ranks[a.size :].reshape(b.shape)


def _guid_keys(a: Array) -> Array:
    """Guids in a form that numpy can sort; as a void array, the 16 bytes would be compared in two halves."""
    return np.frombuffer(np.ascontiguousarray(a).tobytes(), ">u8").reshape(*a.shape, 2)


def _guid_compare(name: str) -> Callable[[Array, Array], Array]:
    ufunc = _UFUNC[name][0]

    def fn(a: Array, b: Array) -> Array:
        left, right = _guid_keys(a), _guid_keys(b)
        high = np.sign(
            (left[..., 0] > right[..., 0]).astype(np.int8) - (left[..., 0] < right[..., 0])
        )
        low = np.sign(
            (left[..., 1] > right[..., 1]).astype(np.int8) - (left[..., 1] < right[..., 1])
        )
        return np.asarray(ufunc(np.where(high != 0, high, low), 0))

    return fn


def _compare_planner(name: str) -> Callable[[int, int], Plan | None]:
    ufunc, op = _UFUNC[name]

    def planner(tx: int, ty: int) -> Plan | None:
        if tx == ty == T.S:
            if name in ("=", "<>"):
                return Plan(T.B, ufunc, op)
            return Plan(T.B, lambda a, b: ufunc(*_ranks(a, b)))
        if tx == ty == T.G:
            return Plan(T.B, _guid_compare(name))
        target = common_type(tx, ty)
        if not target:
            return None
        if tx in T.FLOATS or ty in T.FLOATS:
            return _floating(name, tx, ty)
        if tx == ty:
            return Plan(T.B, ufunc, op)
        if tx in T.TEMPORAL and ty in T.TEMPORAL:
            return Plan(T.B, lambda a, b: ufunc(convert(a, tx, target), convert(b, ty, target)))
        return Plan(
            T.B,
            lambda a, b: ufunc(_common_null(a, tx, b), _common_null(b, ty, a)),
            lambda x, y: op(_least(x, tx), _least(y, ty)),
        )

    return planner


def _floating(name: str, tx: int, ty: int) -> Plan:
    compare = _float_compare(name)
    if tx in T.TEMPORAL and ty in T.TEMPORAL and tx != ty:
        target = common_type(tx, ty)
        return Plan(
            T.B,
            lambda a, b: compare(
                to_float(convert(a, tx, target), target), to_float(convert(b, ty, target), target)
            ),
        )
    atomic = _ATOMS[name]
    return Plan(
        T.B,
        lambda a, b: compare(to_float(a, tx), to_float(b, ty)),
        None
        if not {tx, ty} <= _NUMBERS
        else atomic
        if tx == ty
        else lambda x, y: atomic(_as_float(x, tx), _as_float(y, ty)),
    )


def _as_float(x: float, t: int) -> float:
    """A raw number as a Python float; integer nulls become nan."""
    return math.nan if t in T.SIGNED and x == T.NULL[t] else float(x)


def _common_null(a: Array, t: int, b: Array) -> Array:
    """Integers prepared for a comparison with integers of another width: nulls become the long null. An atom that fits
    the type of a long vector stays narrow, so the vector need not be widened."""
    if a.size == 1 and b.size > 1 and b.dtype.kind != "b":
        value, limits = int(a.item(0)), np.iinfo(b.dtype)
        if limits.min < value < limits.max and (t not in T.SIGNED or value != T.NULL[t]):
            return np.array([value], b.dtype)
    if t in T.SIGNED and a.dtype != np.int64 and has_null(a, t):
        return widen(a, t, T.J)
    return a


def _least(x: float, t: int) -> Any:
    return T.NULL[T.J] if t in T.SIGNED and x == T.NULL[t] else x


def _one_sided(name: str) -> Callable[[Value, bool], Value]:
    """Compare a value without a counterpart in the other dictionary: with null."""

    def alone(v: Value, left: bool) -> Value:
        if not isinstance(v, (Vec, List)):
            return v
        return VERBS[name](v, null_of(v)) if left else VERBS[name](null_of(v), v)

    return alone


_OF_NULLS = {"=": True, "<>": False}  # programs test an argument for (::) with =
VERBS = {
    name: dyad(name, _compare_planner(name), _one_sided(name), of_nulls=_OF_NULLS.get(name))
    for name in _UFUNC
}
_eq, _ne, _lt = VERBS["="], VERBS["<>"], VERBS["<"]
_gt, _le, _ge = VERBS[">"], VERBS["<="], VERBS[">="]


@verb("=")
def eq(x: Value, y: Value) -> Value:
    """Equal, item by item? Floats are equal within a tolerance of 2 xexp -43.

    q)1 2 3=3 2 1
    010b
    """
    if x.__class__ is int and y.__class__ is int:
        return x == y
    if x.__class__ is float and y.__class__ is float:
        return close(x, y)
    return _eq(x, y)


@verb("<>")
def ne(x: Value, y: Value) -> Value:
    """Different, item by item?

    q)"hello"<>"jelly"
    10001b
    """
    if x.__class__ is int and y.__class__ is int:
        return x != y
    if x.__class__ is float and y.__class__ is float:
        return not close(x, y)
    return _ne(x, y)


@verb("<")
def lt(x: Value, y: Value) -> Value:
    """Is x less than y? Null is less than everything else.

    q)0N 1 5<3
    110b
    """
    if x.__class__ is int and y.__class__ is int:
        return x < y
    if x.__class__ is float and y.__class__ is float:
        return _less(x, y)
    return _lt(x, y)


@verb(">")
def gt(x: Value, y: Value) -> Value:
    """Is x greater than y?

    q)`b>`a`b`c
    100b
    """
    if x.__class__ is int and y.__class__ is int:
        return x > y
    if x.__class__ is float and y.__class__ is float:
        return _less(y, x)
    return _gt(x, y)


@verb("<=")
def le(x: Value, y: Value) -> Value:
    """Is x at most y?

    q)1 2 3<=2
    110b
    """
    if x.__class__ is int and y.__class__ is int:
        return x <= y
    if x.__class__ is float and y.__class__ is float:
        return _less(x, y) or close(x, y)
    return _le(x, y)


@verb(">=")
def ge(x: Value, y: Value) -> Value:
    """Is x at least y?

    q)1 2 3>=2
    011b
    """
    if x.__class__ is int and y.__class__ is int:
        return x >= y
    if x.__class__ is float and y.__class__ is float:
        return _less(y, x) or close(x, y)
    return _ge(x, y)


# ------------------------------------------------------------------ lesser, greater, fill


def _pick_planner(
    ufunc: np.ufunc, floating: np.ufunc, op: Callable[..., Any]
) -> Callable[[int, int], Plan | None]:
    def planner(tx: int, ty: int) -> Plan | None:
        target = common_type(tx, ty)
        if not target:
            return None
        if tx == ty:
            return Plan(target, floating) if target in T.FLOATS else Plan(target, ufunc, op)
        if target not in T.FLOATS and (tx in T.FLOATS or ty in T.FLOATS):
            return Plan(
                target,
                lambda a, b: convert(floating(to_float(a, tx), to_float(b, ty)), T.F, target),
            )
        pick = floating if target in T.FLOATS else ufunc
        return Plan(target, lambda a, b: pick(convert(a, tx, target), convert(b, ty, target)))

    return planner


def _fill_planner(tx: int, ty: int) -> Plan | None:
    target = tx if tx == ty and tx in (T.S, T.G) else common_type(tx, ty)
    if not target:
        return None

    def fn(a: Array, b: Array) -> Array:
        mask = null_mask(b, ty)
        a, b = convert(a, tx, target), convert(b, ty, target)
        if mask is None:
            shape = np.broadcast_shapes(a.shape, b.shape)
            return b if b.shape == shape else np.broadcast_to(b, shape).copy()
        return np.where(mask, a, b)

    return Plan(target, fn)


_min = dyad("&", _pick_planner(np.minimum, np.minimum, min))
_max = dyad("|", _pick_planner(np.maximum, np.fmax, max))
_fill = dyad("^", _fill_planner)


@verb("&")
def min_(x: Value, y: Value) -> Value:
    """The lesser of x and y; for booleans, logical and.

    q)1 5 3&2
    1 2 2
    """
    if x.__class__ is bool and y.__class__ is bool:
        return x and y
    return _min(x, y)


@verb("|")
def max_(x: Value, y: Value) -> Value:
    """The greater of x and y; for booleans, logical or.

    q)1 5 3|2
    2 5 3
    """
    if x.__class__ is bool and y.__class__ is bool:
        return x or y
    return _max(x, y)


@verb("^")
def fill(x: Value, y: Value) -> Value:
    """y with its nulls replaced by x.

    q)0^1 0N 3
    1 0 3
    """
    return _fill(x, y)
