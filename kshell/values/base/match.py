"""Match, `x~y`: do two values have the same type and content? Attributes do not count; floats may differ slightly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kshell.values.base import types as T
from kshell.values.base.core import Atom, Dict, EnumAtom, List, Nd, Special, Table, Value, Vec
from kshell.values.base.functions import (
    Comp,
    Derived,
    Foreign,
    Iter,
    Lambda,
    ListProj,
    Prim,
    Proj,
    PyCall,
    PyFunction,
)
from kshell.values.base.primitives import in_k
from kshell.values.base.symbols import Sym

TOLERANCE = 2.0**-43  # relative, as in q's comparisons


def close(x: float, y: float) -> bool:
    """Are two floats equal under q's comparison tolerance? Nulls equal each other."""
    if x == y:
        return True
    if x != x:
        return y != y
    difference = abs(x - y)
    return difference <= TOLERANCE * max(abs(x), abs(y)) and difference != float("inf")


def all_close(a: np.ndarray, b: np.ndarray) -> bool:
    """`close` for all items of two arrays of one shape."""
    equal = a == b
    if equal.all():
        return True
    a_items, b_items = a[~equal], b[~equal]
    with np.errstate(all="ignore"):
        difference = np.abs(a_items - b_items)
        near = (difference <= TOLERANCE * np.maximum(np.abs(a_items), np.abs(b_items))) & (
            difference != np.inf
        )
    return bool((near | (np.isnan(a_items) & np.isnan(b_items))).all())


def match(x: Value, y: Value) -> bool:
    """Is `x~y`?"""
    if x is y:
        return True
    x_class, y_class = x.__class__, y.__class__
    if x_class is not y_class:
        return isinstance(x, List) and isinstance(y, List) and _lists(x, y)
    rule = _RULES.get(x_class)
    if rule is not None:
        return bool(rule(x, y))
    return isinstance(x, Lambda) and isinstance(y, Lambda) and x.text == y.text


def _same(x: Value, y: Value) -> bool:
    return bool(x == y)


def _never(x: Value, y: Value) -> bool:
    return False  # types whose equal values are the same object


def _atoms(x: Atom, y: Atom) -> bool:
    if x.t != y.t:
        return False
    return close(x.v, y.v) if x.t in T.FLOATS else bool(x.v == y.v)


def _enum_atoms(x: EnumAtom, y: EnumAtom) -> bool:
    return x.dom == y.dom and x.v == y.v


def _vectors(x: Vec, y: Vec) -> bool:
    if x.t != y.t or len(x.a) != len(y.a):
        return False
    if x.t in (T.F, T.Z):
        return all_close(x.a, y.a)
    if x.t == T.E:
        return bool(((x.a == y.a) | ((x.a != x.a) & (y.a != y.a))).all())
    return x.dom == y.dom and bool((x.a == y.a).all())


def _lists(x: List, y: List) -> bool:
    count = len(x)
    return count == len(y) and all(match(x.item(index), y.item(index)) for index in range(count))


def _arrays(x: Nd, y: Nd) -> bool:
    if x.t != y.t:
        return False
    if x.a.shape != y.a.shape:
        return not len(x.a) and not len(y.a)
    return _vectors(Vec(x.t, x.a.ravel()), Vec(y.t, y.a.ravel()))


def _tables(x: Table, y: Table) -> bool:
    return x.names == y.names and all(map(match, x.cols, y.cols))


def _prims(x: Prim, y: Prim) -> bool:
    """kdb+'s primitives may have several names."""
    return in_k(x.name) == in_k(y.name) and x.t == y.t


def _all(xs: Sequence[Value], ys: Sequence[Value]) -> bool:
    return len(xs) == len(ys) and all(map(match, xs, ys))


_RULES: dict[type, Any] = {
    int: _same,
    bool: _same,
    float: close,
    Special: _never,
    Sym: _never,
    Atom: _atoms,
    EnumAtom: _enum_atoms,
    Vec: _vectors,
    List: _lists,
    Nd: _arrays,
    Dict: lambda x, y: match(x.k, y.k) and match(x.v, y.v),
    Table: _tables,
    Prim: _prims,
    Foreign: lambda x, y: x.obj is y.obj,
    PyCall: lambda x, y: x.obj is y.obj and x.how == y.how,
    PyFunction: lambda x, y: x.obj is y.obj and x.door is y.door,
    Proj: lambda x, y: match(x.f, y.f) and _all(x.args, y.args),
    ListProj: lambda x, y: _all(x.args, y.args),
    Comp: lambda x, y: _all(x.fs, y.fs),
    Iter: lambda x, y: x.glyph == y.glyph,
    Derived: lambda x, y: x.glyph == y.glyph and match(x.f, y.f),
}
