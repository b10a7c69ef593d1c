"""When a condition holds, and how often `do` runs."""

from __future__ import annotations

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.core import Atom, Special, Value
from kshell.values.base.functions import Handle


def truth(x: Value) -> bool:
    """Does a condition hold? Numeric atoms are accepted; anything else is 'type."""
    if x.__class__ is bool or x.__class__ is int or x.__class__ is float:
        return bool(x)
    if x.__class__ is Special:
        return bool(x.v)
    if x.__class__ is Atom and x.t in T.INTEGRAL | T.FLOATS:
        return bool(x.v)
    if isinstance(x, Handle):
        return truth(x.monad("item"))
    raise QError("type")


def times(x: Value) -> int:
    """The repeat count of `do`."""
    if x.__class__ is int or x.__class__ is bool:
        return max(int(x), 0)
    if x.__class__ is Atom and x.t in (T.H, T.I, T.X):
        return max(x.v, 0)
    if x.__class__ is Special:
        return max(x.v, 0)
    raise QError("type")
