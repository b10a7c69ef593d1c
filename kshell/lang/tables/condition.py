"""When a condition holds, and how often `do` runs."""

from __future__ import annotations

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.core import Atom, Special, Value
from kshell.values.base.functions import Handle


def truth(x: Value) -> bool:
    """Does a condition hold? Numeric atoms are accepted; anything else is 'type."""
    cls = x.__class__
    if cls is bool or cls is int:
        return bool(x)
    if cls is Special or cls is float:
        return bool(x.v if cls is Special else x)
    if cls is Atom and x.t in T.INTEGRAL | T.FLOATS:
        return bool(x.v)
    if isinstance(x, Handle):
        return truth(x.monad("item"))
    raise QError("type")


def times(x: Value) -> int:
    """The repeat count of `do`."""
    cls = x.__class__
    if cls is int or cls is bool:
        return max(int(x), 0)
    if cls is Atom and x.t in (T.H, T.I, T.X):
        return max(x.v, 0)
    if cls is Special:
        return max(x.v, 0)
    raise QError("type")
