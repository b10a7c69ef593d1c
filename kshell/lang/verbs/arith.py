"""Arithmetic: + - * % neg abs signum, with q's type promotion and nulls."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.core import Special, Value, Vec, atom_t, long
from kshell.values.change.grow import lone_array
from kshell.values.engine.cast import (
    NANOS,
    SPANS,
    array1,
    as_float,
    convert,
    has_null,
    number_nulls,
    to_float,
)
from kshell.values.engine.dispatch import Array, Plan, dyad, monad

NUMBERS = (T.B, T.X, T.H, T.I, T.J, T.E, T.F)
SMALL = (T.B, T.X, T.H, T.I)
_MAX = T.LONG_MAX


# ------------------------------------------------------------------ types of results


def number_type(tx: int, ty: int) -> int:
    """The type of a sum or product of two numeric types: int, long, real or float."""
    return T.I if tx in SMALL and ty in SMALL else max(tx, ty)


def scaled_type(tx: int, ty: int) -> int:
    """The type of a sum or product when at most one type is temporal (or with a char); 0 means 'type."""
    if tx in NUMBERS and ty in NUMBERS:
        return number_type(tx, ty)
    for temporal, other in ((tx, ty), (ty, tx)):
        if temporal in T.TEMPORAL:
            if other == T.F:
                return T.Z if temporal in (T.D, T.Z) else T.F
            return temporal if other in NUMBERS or other == T.C else 0
    return T.F if (tx, ty) in ((T.C, T.F), (T.F, T.C)) else 0


def _span_type(tx: int, ty: int) -> int:
    """The finer of two time spans: minute, second, time, timespan."""
    return T.N if T.N in (tx, ty) else max(tx, ty)


def _sum_type(tx: int, ty: int) -> int:
    if tx in T.TEMPORAL and ty in T.TEMPORAL:
        if tx in SPANS and ty in SPANS:
            return _span_type(tx, ty)
        if tx in SPANS or ty in SPANS:
            point, span = (ty, tx) if tx in SPANS else (tx, ty)
            return T.Z if point == T.Z and span != T.N else T.P
        return {T.P: T.N, T.M: T.I, T.D: T.I, T.Z: T.F}[tx] if tx == ty else 0
    return scaled_type(tx, ty)


def _difference_type(tx: int, ty: int) -> int:
    if ty == T.C and tx in NUMBERS and tx != T.F:
        return number_type(tx, T.I)
    return _sum_type(tx, ty)


def _operand_type(t: int, tr: int) -> int:
    """The type to which a temporal operand is converted before addition, for a result of type tr."""
    if t in SPANS:
        return T.N if tr in (T.P, T.N) else tr if tr in SPANS or tr == T.Z else t
    return T.P if t in T.TEMPORAL and tr == T.P else t


# ------------------------------------------------------------------ plans


def _int_plan(
    ufunc: np.ufunc, op: Callable[[Any, Any], Any], tx: int, ty: int, tr: int, ox: int, oy: int
) -> Plan:
    """Integer arithmetic that wraps and propagates nulls. The operands are first converted to the types ox and oy."""
    dtype, null = T.DTYPE[tr], T.NULL[tr]
    if tx == ty == tr == ox == oy:
        return Plan(tr, _native(ufunc, null), int_one(op, tx, ty, tr, ox, oy), ufunc)

    def fn(a: Array, b: Array) -> Array:
        x_nulls, y_nulls = number_nulls(a, tx), number_nulls(b, ty)
        result = ufunc(convert(a, tx, ox), convert(b, ty, oy), dtype=dtype, casting="unsafe")
        if x_nulls is not None:
            np.copyto(result, null, where=x_nulls)
        if y_nulls is not None:
            np.copyto(result, null, where=y_nulls)
        return result

    # if an operand is converted, atoms take the vector path, so infinities are converted in one place only
    return Plan(tr, fn, int_one(op, tx, ty, tr, ox, oy) if (ox, oy) == (tx, ty) else None)


def _native(ufunc: np.ufunc, null: int) -> Callable[[Array, Array], Array]:
    """ufunc on arrays of one integer type, as close to the bare ufunc as checking for nulls allows."""

    def fn(a: Array, b: Array) -> Array:
        result = ufunc(a, b)
        if result.size and (a.item(a.argmin()) == null or b.item(b.argmin()) == null):
            np.copyto(result, null, where=(a == null) | (b == null))
        return result

    return fn


def int_one(
    op: Callable[[Any, Any], Any], tx: int, ty: int, tr: int, ox: int, oy: int
) -> Callable[..., Any] | None:
    """The same for two raw atoms, if their conversion is a multiplication."""
    factor_x, factor_y = _factor(tx, ox), _factor(ty, oy)
    if factor_x is None or factor_y is None:
        return None
    null_x = T.NULL[tx] if tx in T.SIGNED else None
    null_y = T.NULL[ty] if ty in T.SIGNED else None
    null = T.NULL[tr]
    half = -null

    def one(x: float, y: float) -> int:
        if x == null_x or y == null_y:
            return null
        return (op(int(x) * factor_x, int(y) * factor_y) + half) % (2 * half) - half

    return one


def _factor(t: int, o: int) -> int | None:
    if t == o:
        return 1
    if t in SPANS and o in SPANS:
        return NANOS[t] // NANOS[o]
    return NANOS[T.V] * 86_400 if (t, o) == (T.D, T.P) else None


def _days(a: Array, t: int) -> Array:
    """Time spans as fractions of a day, for sums with datetimes; other types as floats."""
    return to_float(convert(a, t, T.Z) if t in SPANS else a, T.Z if t in SPANS else t)


def _float_plan(ufunc: np.ufunc, tx: int, ty: int, tr: int) -> Plan:
    """Float results; also temporals combined with reals, rounded back to the temporal type."""
    if tx == ty == tr and tr in (T.F, T.E):
        return Plan(tr, ufunc)
    lift = _days if tr == T.Z else as_float

    def fn(a: Array, b: Array) -> Array:
        result = ufunc(lift(a, tx), lift(b, ty), dtype=np.float64)
        return result if T.DTYPE[tr] == np.float64 else convert(result, T.F, tr)

    return Plan(tr, fn)


def _planner(
    ufunc: np.ufunc, op: Callable[[Any, Any], Any], type_rule: Callable[[int, int], int]
) -> Callable[[int, int], Plan | None]:
    def planner(tx: int, ty: int) -> Plan | None:
        result_type = type_rule(tx, ty)
        if not result_type:
            return None
        if result_type in T.FLOATS or T.E in (tx, ty) or T.F in (tx, ty):
            return _float_plan(ufunc, tx, ty, result_type)
        return _int_plan(
            ufunc,
            op,
            tx,
            ty,
            result_type,
            _operand_type(tx, result_type),
            _operand_type(ty, result_type),
        )

    return planner


def _divide_planner(tx: int, ty: int) -> Plan | None:
    if tx in (T.S, T.G, T.ENUM) or ty in (T.S, T.G, T.ENUM):
        return None
    if tx == ty == T.F:
        return Plan(T.F, np.divide, divide_floats)
    if tx == ty == T.J:
        return Plan(T.F, _divide_longs)
    return Plan(T.F, lambda a, b: np.divide(as_float(a, tx), as_float(b, ty), dtype=np.float64))


def _divide_longs(a: Array, b: Array) -> Array:
    if has_null(a, T.J) or has_null(b, T.J):
        a, b = to_float(a, T.J), to_float(b, T.J)
    return np.divide(a, b)


def divide_floats(x: float, y: float) -> float:
    """x%y for Python floats; division by zero gives an infinity or null."""
    if y:
        return x / y
    if x != x or x == 0 or y != y:
        return T.NAN
    return math.copysign(T.INF, x) * math.copysign(1.0, y)


def _negative_right(v: Value, left: bool) -> Value:
    return v if left else _neg(v)


_LONG = 1 << 14  # longer vectors are overwritten if nothing else can see them


def _owners(x: object) -> int:
    """The number of references to a verb's argument, counted from a function that the verb calls."""
    return _owners_below(x)


def _owners_below(x: object) -> int:
    return getrefcount(x)


def _named() -> int:
    x = object()
    return _owners(x)


_OWN = _owners(object())  # the count if only the verb refers to its argument
if _named() == _OWN:
    _OWN = 0  # a Python without usable reference counts


def _over(ufunc: np.ufunc, x: Value, y: Value) -> Value | None:
    """A float verb whose result overwrites an operand that is a temporary; None if neither operand is."""
    into_left = x.__class__ is Vec and x.t == T.F and getrefcount(x) == _OWN and lone_array(x)
    if not into_left and not (
        y.__class__ is Vec and y.t == T.F and getrefcount(y) == _OWN and lone_array(y)
    ):
        return None
    x_floats, y_floats = _floats(x), _floats(y)
    if (
        x_floats is None
        or y_floats is None
        or (x.__class__ is y.__class__ and len(x_floats) != len(y_floats))
    ):
        return None
    return Vec(T.F, ufunc(x_floats, y_floats, out=x_floats if into_left else y_floats))


def _floats(x: Value) -> Any:
    """A vector's float array, or a number that is not null; else None."""
    if x.__class__ is Vec:
        return x.a if x.t == T.F else None
    return x if x.__class__ is float or x.__class__ is int else None


_add = dyad("+", _planner(np.add, operator.add, _sum_type))
_sub = dyad("-", _planner(np.subtract, operator.sub, _difference_type), _negative_right)
_mul = dyad("*", _planner(np.multiply, operator.mul, scaled_type))
_div = dyad("%", _divide_planner)


@verb("+")
def add(x: Value, y: Value) -> Value:
    """Sum; items pair up, and an atom is added to every item.

    q)2+3 4 5
    5 6 7
    """
    if x.__class__ is int or x.__class__ is float:
        if y.__class__ is int or y.__class__ is float:
            result = x + y
            return long(result) if result.__class__ is int and not -_MAX < result < _MAX else result
    if (y.__class__ is Vec and len(y.a) > _LONG) or (x.__class__ is Vec and len(x.a) > _LONG):
        overwritten = _over(np.add, x, y)
        if overwritten is not None:
            return overwritten
    return _add(x, y)


@verb("-")
def sub(x: Value, y: Value) -> Value:
    """Difference; for two dates, the number of days between them.

    q)2024.03.01-2024.02.01
    29i
    """
    if x.__class__ is int or x.__class__ is float:
        if y.__class__ is int or y.__class__ is float:
            result = x - y
            return long(result) if result.__class__ is int and not -_MAX < result < _MAX else result
    if (y.__class__ is Vec and len(y.a) > _LONG) or (x.__class__ is Vec and len(x.a) > _LONG):
        overwritten = _over(np.subtract, x, y)
        if overwritten is not None:
            return overwritten
    return _sub(x, y)


@verb("*")
def mul(x: Value, y: Value) -> Value:
    """Product.

    q)1.5*2 4
    3 6f
    """
    if x.__class__ is int or x.__class__ is float:
        if y.__class__ is int or y.__class__ is float:
            result = x * y
            return long(result) if result.__class__ is int and not -_MAX < result < _MAX else result
    if (y.__class__ is Vec and len(y.a) > _LONG) or (x.__class__ is Vec and len(x.a) > _LONG):
        overwritten = _over(np.multiply, x, y)
        if overwritten is not None:
            return overwritten
    return _mul(x, y)


@verb("%")
def div_(x: Value, y: Value) -> Value:
    """Quotient, always float.

    q)6 1 0%4 0 0
    1.5 0w 0n
    """
    if x.__class__ is int or x.__class__ is float:
        if y.__class__ is int or y.__class__ is float:
            return x / y if y else divide_floats(x, y)
    if (y.__class__ is Vec and len(y.a) > _LONG) or (x.__class__ is Vec and len(x.a) > _LONG):
        overwritten = _over(np.divide, x, y)
        if overwritten is not None:
            return overwritten
    return _div(x, y)


# ------------------------------------------------------------------ sign


def _signed_type(t: int) -> int:
    return 0 if t in (T.S, T.G, T.ENUM) else T.I if t in (T.B, T.X, T.C) else t


def _sign_planner(ufunc: np.ufunc) -> Callable[[int], Plan | None]:
    def planner(t: int) -> Plan | None:
        result_type = _signed_type(t)
        if not result_type:
            return None
        if result_type == t:  # the pattern of an integer null is its own negative
            return Plan(result_type, ufunc)
        return Plan(result_type, lambda a: ufunc(a.astype(np.int32)))

    return planner


_neg = monad("neg", _sign_planner(np.negative))
_abs = monad("abs", _sign_planner(np.abs))


@verb("neg")
def neg(x: Value) -> Value:
    """Negative; a temporal is mirrored at 2000.01.01.

    q)neg 1 -2 0N
    -1 2 0N
    """
    if x.__class__ is int or x.__class__ is float or x.__class__ is Special:
        return -x
    return _neg(x)


@verb("abs")
def abs_(x: Value) -> Value:
    """Absolute value.

    q)abs -3 0N 2
    3 0N 2
    """
    return abs(x) if x.__class__ is int or x.__class__ is float else _abs(x)


def signum_array(a: Array, t: int) -> Array:
    """-1, 0 or 1 as int for each item; null counts as negative."""
    signs = np.sign(a if a.dtype.kind in "if" else a.astype(np.int32))
    if t in T.FLOATS:
        signs = np.where(np.isnan(signs), -1, signs)
    return signs.astype(np.int32)


_signum = monad(
    "signum", lambda t: None if t in (T.S, T.G, T.ENUM) else Plan(T.I, lambda a: signum_array(a, t))
)


@verb("signum")
def signum(x: Value) -> Value:
    """-1, 0 or 1 by sign; -1 for null.

    q)signum -2.5 0 3 0n
    -1 0 1 -1i
    """
    return _signum(x)


def one_array(x: Value) -> tuple[int, Array]:
    """Type and raw array of an atom or vector, for verbs that treat both alike; type 0 for anything else."""
    if x.__class__ is Vec:
        return x.t, x.a
    qtype = atom_t(x)
    return (qtype, array1(x, qtype)) if qtype else (0, np.empty(0))
