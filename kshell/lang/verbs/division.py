"""Integer division and powers: div mod xbar xexp xlog."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.lang.verbs.arith import NUMBERS, SMALL, int_one, mul, scaled_type
from kshell.lang.verbs.cast import deep
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.core import Nd, Value, Vec, atom_t, long
from kshell.values.engine.cast import cast_value, convert, float_to_int, number_nulls, to_float
from kshell.values.engine.dispatch import Array, Plan, dyad

# ------------------------------------------------------------------ whole-number division


def _div_type(tx: int, ty: int) -> int:
    if tx in (T.S, T.G, T.ENUM) or ty in (T.S, T.G, T.ENUM):
        return 0
    return T.I if tx in (*SMALL, T.C) else T.F if tx == T.E else tx


def _idiv_planner(tx: int, ty: int) -> Plan | None:
    result_type = _div_type(tx, ty)
    if not result_type:
        return None
    if tx in T.FLOATS or ty in T.FLOATS:

        def fn(a: Array, b: Array) -> Array:
            quotient = np.floor(to_float(a, tx) / to_float(b, ty))
            return quotient if result_type in T.FLOATS else float_to_int(quotient, result_type)

        return Plan(result_type, fn)
    return _whole_plan(np.floor_divide, operator.floordiv, tx, ty, result_type)


def _whole_plan(ufunc: np.ufunc, op: Callable[[Any, Any], Any], tx: int, ty: int, tr: int) -> Plan:
    """div or mod of integers: null where the divisor is zero."""
    null = T.NULL[tr]
    wide_dtype = (
        np.int64
        if T.J in (tx, ty) or T.DTYPE[tx].itemsize == 8 or T.DTYPE[ty].itemsize == 8
        else np.int32
    )

    def fn(a: Array, b: Array) -> Array:
        x_nulls, y_nulls, is_zero = number_nulls(a, tx), number_nulls(b, ty), b == 0
        result = ufunc(a, b, dtype=wide_dtype, casting="unsafe")
        if result.dtype != T.DTYPE[tr]:
            result = result.astype(T.DTYPE[tr])
        for mask in (x_nulls, y_nulls, is_zero if is_zero.any() else None):
            if mask is not None:
                np.copyto(result, null, where=mask)
        return result

    inner = int_one(lambda x, y: op(x, y), tx, ty, tr, tx, ty)

    def one(x: int, y: int) -> Any:
        return inner(x, y) if y and inner is not None else null

    return Plan(tr, fn, one)


def _mod_type(tx: int, ty: int) -> int:
    if ty in (T.S, T.G, T.ENUM):
        return 0
    if ty in T.TEMPORAL and tx in T.TEMPORAL:
        return 0
    if tx in T.TEMPORAL:
        if ty == T.F:
            return 0 if tx == T.D else T.F
        return {T.P: T.N, T.M: T.I, T.D: T.I, T.Z: T.F}.get(tx, tx)
    return scaled_type(T.F if tx == T.E else tx, ty)


def _mod_planner(tx: int, ty: int) -> Plan | None:
    result_type = _mod_type(tx, ty)
    if not result_type:
        return None
    if result_type in T.FLOATS or tx in T.FLOATS or ty in T.FLOATS:

        def fn(a: Array, b: Array) -> Array:
            dividend, divisor = to_float(a, tx), to_float(b, ty)
            remainder = dividend - divisor * np.floor(dividend / divisor)
            return (
                remainder
                if T.DTYPE[result_type] == np.float64
                else convert(remainder, T.F, result_type)
            )

        return Plan(result_type, fn)
    return _whole_plan(np.mod, operator.mod, tx, ty, result_type)


_idiv = dyad("div", _idiv_planner, tables=False)
_mod = dyad("mod", _mod_planner, tables=False)


@verb("div")
def idiv(x: Value, y: Value) -> Value:
    """Integer quotient, rounded down, of the type of x.

    q)-7 7 div 2
    -4 3
    """
    if x.__class__ is int and y.__class__ is int and y:
        quotient = x // y
        return quotient if -T.LONG_MAX < quotient < T.LONG_MAX else long(quotient)
    return _idiv(x, y)


@verb("mod")
def mod(x: Value, y: Value) -> Value:
    """Remainder of the division rounded down; it has the sign of y.

    q)-7 7 mod 3
    2 1
    """
    if x.__class__ is int and y.__class__ is int and y:
        return x % y
    return _mod(x, y)


@verb("xbar", handle=True)
def xbar(x: Value, y: Value) -> Value:
    """y rounded down to a multiple of x.

    q)5 xbar 3 7 12
    0 5 10
    """
    if x.__class__ is not int:
        x = deep(x, _no_span)
    return mul(x, _idiv(y, x))


def _no_span(x: Value) -> Value:
    """A timespan as a long, so that xbar keeps the type of y."""
    qtype = x.t if x.__class__ is Vec or x.__class__ is Nd else atom_t(x)
    return cast_value(x, T.J) if qtype == T.N else x


# ------------------------------------------------------------------ powers and logarithms


def _power_planner(tx: int, ty: int) -> Plan | None:
    if tx not in NUMBERS or ty not in NUMBERS:
        return None

    def fn(a: Array, b: Array) -> Array:
        base, exponent = to_float(a, tx), to_float(b, ty)
        is_single = exponent.size == 1
        if is_single and exponent.item() == 2:
            return base * base
        power = np.exp(exponent * np.log(base))
        power = np.where((exponent == 0) & (base >= 0), 1.0, power)
        return power if is_single else np.where(exponent == 2, base * base, power)

    return Plan(T.F, fn)


def _log_planner(tx: int, ty: int) -> Plan | None:
    if tx in (T.S, T.G, T.ENUM, T.Z) or ty in (T.S, T.G, T.ENUM, T.Z):
        return None
    return Plan(T.F, lambda a, b: np.log(to_float(b, ty)) / np.log(to_float(a, tx)))


_xexp = dyad("xexp", _power_planner, tables=False)
_xlog = dyad("xlog", _log_planner)


@verb("xexp")
def xexp(x: Value, y: Value) -> Value:
    """x to the power y, computed as exp y*log x; null for negative x, except that squares are computed exactly as x*x.

    q)2 xexp 8 0.5
    256 1.414214
    q)-3 xexp 2 3
    9 0n
    """
    return _xexp(x, y)


@verb("xlog")
def xlog(x: Value, y: Value) -> Value:
    """Logarithm of y to base x.

    q)2 xlog 8 0.125
    3 -3f
    """
    return _xlog(x, y)
