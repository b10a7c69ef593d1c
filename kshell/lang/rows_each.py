"""`n _' x`, `n #' x` and `x ,' y` of matrices and their like, for all rows at once: what each gives, sooner."""

from __future__ import annotations

import numpy as np

from kshell.values import types as T
from kshell.values.core import Nd, Value, Vec, atom_t
from kshell.values.functions import Prim

_PLAIN = (T.B, T.X, T.H, T.I, T.J, T.E, T.F)


def pairs(f: Value, x: Value, y: Value) -> Value | None:
    """`x f' y`, of which one is held as one array of rows; None if there is no quicker way. Lengths conform."""
    if f.__class__ is not Prim or (x.__class__ is not Nd and y.__class__ is not Nd):
        return None
    if f.name == ",":
        return _joined(x, y)
    if f.name in ("_", "#") and x.__class__ is int and y.__class__ is Nd:
        have = y.a.shape[1]
        if f.name == "_":
            return Nd(y.t, y.a[:, x:] if x >= 0 else y.a[:, :x]) if abs(x) < have else None
        return Nd(y.t, y.a[:, :x] if x > 0 else y.a[:, x:]) if 0 < abs(x) <= have else None
    return None


def _joined(x: Value, y: Value) -> Value | None:
    """Rows with an item put before or behind each, or the rows of two matrices side by side."""
    whole: Nd = x if x.__class__ is Nd else y
    parts = []
    for side in (x, y):
        if side.__class__ is Nd and side.t == whole.t and side.a.shape[2:] == whole.a.shape[2:]:
            parts.append(side.a)
        elif side.__class__ is Vec and side.t == whole.t and whole.a.ndim == 2 and whole.t in _PLAIN:
            parts.append(side.a[:, None])
        elif atom_t(side) == whole.t and whole.a.ndim == 2 and whole.t == T.J and side.__class__ is int:
            parts.append(np.full((len(whole), 1), side, whole.a.dtype))
        else:
            return None
    return Nd(whole.t, np.concatenate(parts, 1))
