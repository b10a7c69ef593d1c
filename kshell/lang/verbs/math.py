"""Unary math: square root, exponential, logarithm, trigonometry, rounding."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.core import Value, long
from kshell.values.base.symbols import sym, sym_at
from kshell.values.engine.cast import float_to_int, to_float
from kshell.values.engine.dispatch import Array, Plan, monad

_TEXT = (T.S, T.G, T.ENUM)


def _float_verb(name: str, ufunc: Callable[[Array], Array]) -> Callable[[Value], Value]:
    """A verb from any number to a float (datetimes stay datetimes)."""

    return monad(name, lambda t: _float_plan(ufunc, t))


def _float_plan(ufunc: Callable[[Array], Array], t: int) -> Plan | None:
    if t in _TEXT:
        return None
    return Plan(T.Z if t == T.Z else T.F, ufunc if t == T.F else lambda a: ufunc(to_float(a, t)))


_sqrt = _float_verb("sqrt", np.sqrt)
_exp = _float_verb("exp", np.exp)
_log = _float_verb("log", np.log)
_sin, _cos, _tan = (
    _float_verb("sin", np.sin),
    _float_verb("cos", np.cos),
    _float_verb("tan", np.tan),
)
_asin, _acos = _float_verb("asin", np.arcsin), _float_verb("acos", np.arccos)
_atan = _float_verb("atan", np.arctan)


def _reciprocal_planner(t: int) -> Plan | None:
    if t == T.P:  # one of two temporal types that stay unchanged; q's reference gives no reason
        return Plan(t, lambda a: float_to_int(np.floor(np.reciprocal(to_float(a, t)) + 0.5), t))
    return _float_plan(np.reciprocal, t)


_reciprocal = monad("reciprocal", _reciprocal_planner)


@verb("sqrt")
def sqrt(x: Value) -> Value:
    """Square root; null for negative numbers.

    q)sqrt 4 2 -1
    2 1.414214 0n
    """
    return _sqrt(x)


@verb("exp")
def exp(x: Value) -> Value:
    """e to the power x.

    q)exp 0 1
    1 2.718282
    """
    return _exp(x)


@verb("log")
def log(x: Value) -> Value:
    """Natural logarithm; null for negative numbers.

    q)log 1 0 10
    0 -0w 2.302585
    """
    return _log(x)


@verb("sin")
def sin(x: Value) -> Value:
    """Sine of an angle in radians.

    q)sin 0 0.5
    0 0.4794255
    """
    return _sin(x)


@verb("cos")
def cos(x: Value) -> Value:
    """Cosine of an angle in radians.

    q)cos 0 0.5
    1 0.8775826
    """
    return _cos(x)


@verb("tan")
def tan(x: Value) -> Value:
    """Tangent of an angle in radians.

    q)tan 0 0.5
    0 0.5463025
    """
    return _tan(x)


@verb("asin")
def asin(x: Value) -> Value:
    """Arcsine in radians; null outside -1 to 1.

    q)asin 0 0.5 2
    0 0.5235988 0n
    """
    return _asin(x)


@verb("acos")
def acos(x: Value) -> Value:
    """Arccosine in radians; null outside -1 to 1.

    q)acos 1 0.5
    0 1.047198
    """
    return _acos(x)


@verb("atan")
def atan(x: Value) -> Value:
    """Arctangent in radians.

    q)atan 0 1
    0 0.7853982
    """
    return _atan(x)


@verb("reciprocal")
def reciprocal(x: Value) -> Value:
    """1 divided by x.

    q)reciprocal 4 0
    0.25 0w
    """
    return _reciprocal(x)


# ------------------------------------------------------------------ rounding


def _lower_symbols(a: Array) -> Array:
    codes, inverse = np.unique(a, return_inverse=True)
    return np.array([sym(sym_at(code).s.lower()).v for code in codes.tolist()], np.int32)[
        inverse
    ].reshape(a.shape)


def _lower_bytes(a: Array) -> Array:
    return np.where((a >= 65) & (a <= 90), a + 32, a).astype(np.uint8)


def _rounding(ufunc: np.ufunc, ceil: bool) -> Callable[[int], Plan | None]:
    def planner(t: int) -> Plan | None:
        if t in (T.E, T.F):
            return Plan(T.J, lambda a: float_to_int(ufunc(a.astype(np.float64)), T.J))
        if t in (T.H, T.I, T.J):
            return Plan(t, lambda a: a)
        if ceil:
            return Plan(T.I, lambda a: a.astype(np.int32)) if t in (T.B, T.X, T.C) else None
        return Plan(t, _lower_bytes) if t == T.C else Plan(t, _lower_symbols) if t == T.S else None

    return planner


_floor = monad("floor", _rounding(np.floor, False))
_ceiling = monad("ceiling", _rounding(np.ceil, True))


@verb("floor")
def floor(x: Value) -> Value:
    """Greatest integer not above x; text in lower case.

    q)floor -2.1 0 2.9
    -3 0 2
    """
    if x.__class__ is int:
        return x
    if x.__class__ is float and -1e18 < x < 1e18:
        return long(int(x // 1))
    return _floor(x)


@verb("ceiling")
def ceiling(x: Value) -> Value:
    """Least integer not below x.

    q)ceiling -2.1 0 2.9
    -2 0 3
    """
    return x if x.__class__ is int else _ceiling(x)
