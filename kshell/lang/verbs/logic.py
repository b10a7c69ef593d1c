"""Truth: not, null, and, or."""

from __future__ import annotations

import numpy as np

from kshell.lang.verbs.compare import max_, min_
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import NIL, List, Value, Vec
from kshell.values.base.functions import Function, Prim
from kshell.values.engine.cast import is_null
from kshell.values.engine.dispatch import ATOMIC, Plan, monad

_not = monad(
    "not", lambda t: None if t in (T.S, T.G, T.ENUM) else Plan(T.B, lambda a: np.asarray(a == 0))
)
_null = monad("null", lambda t: Plan(T.B, lambda a: is_null(a, t)))

ATOMIC |= {("and", 2), ("or", 2)}  # other names for & and |


@verb("not")
def not_(x: Value) -> Value:
    """Is it zero? Null is not zero.

    q)not 1 0 0N
    010b
    """
    return not x if x.__class__ is bool else _not(x)


@verb("null")
def null(x: Value) -> Value:
    """Is it null?

    q)null 1 0N 3
    010b
    """
    if x is NIL or (x.__class__ is Prim and x.name == "::"):
        return True
    if x.__class__ is List:
        return collapse([null(item) for item in x.items])
    if x.__class__ is Vec and x.t == T.ENUM:
        return Vec(T.B, is_null(x.a, T.ENUM))
    return False if isinstance(x, Function) else _null(x)


@verb("and")
def and_(x: Value, y: Value) -> Value:
    """The lesser of x and y; for booleans, are both true?

    q)1100b and 1010b
    1000b
    """
    return min_(x, y)


@verb("or")
def or_(x: Value, y: Value) -> Value:
    """The greater of x and y; for booleans, is either true?

    q)1100b or 1010b
    1110b
    """
    return max_(x, y)
