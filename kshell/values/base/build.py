"""Creating values: vectors from Python data, lists that collapse to vectors and tables, dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.core import (
    COLLAPSE,
    Atom,
    Dict,
    EnumAtom,
    List,
    Nd,
    Special,
    Table,
    Value,
    Vec,
    atom,
    atom_t,
    sym_vec,
)


def vec(t: int, data: Any) -> Vec:
    """The vector of type t over raw data (a sequence or an array)."""
    return Vec(t, np.asarray(data, T.DTYPE[t]))


def longs(data: Any) -> Vec:
    return Vec(T.J, np.asarray(data, np.int64))


def floats(data: Any) -> Vec:
    return Vec(T.F, np.asarray(data, np.float64))


def bools(data: Any) -> Vec:
    return Vec(T.B, np.asarray(data, np.bool_))


def string(s: str | bytes) -> Vec:
    """The q string (char vector) for a text, in UTF-8."""
    if isinstance(s, str):
        s = s.encode("utf-8", "surrogateescape")
    return Vec(T.C, np.frombuffer(s, np.uint8))


def empty(t: int = 0) -> Value:
    """The empty vector of type t; for type 0, the empty general list."""
    return Vec(t, np.empty(0, T.DTYPE[t])) if t else List([])


def guid_vec(data: Sequence[bytes]) -> Vec:
    return Vec(T.G, np.frombuffer(b"".join(data), "V16"))


@COLLAPSE.set
def collapse(items: list[Value]) -> Value:
    """The list of these items as q would make it: a vector if all are atoms of one type, a table if all are
    dictionaries with the same symbol keys, else a general list. Takes ownership of `items`."""
    if not items:
        return List(items)
    first = items[0]
    cls = first.__class__
    if cls is Vec or cls is List:
        return List(items)
    qtype = atom_t(first)
    if not qtype:
        return _rows(items) if cls is Dict and not first.keyed else List(items)
    classes = set(map(type, items))
    if len(classes) == 1:
        if qtype in (T.J, T.F, T.B) and first.__class__ is not Special:
            return Vec(qtype, np.fromiter(items, T.DTYPE[qtype], len(items)))
        if qtype == T.S:
            return Vec(qtype, np.array([x.v for x in items], np.int32))
    elif not classes <= {int, Special}:
        return List(items)
    if first.__class__ is EnumAtom:
        dom = first.dom
        if all(x.dom == dom for x in items):
            return Vec(T.ENUM, np.array([x.v for x in items], np.int64), "", dom)
        return List(items)
    if qtype == T.J:
        return Vec(qtype, np.array([x if x.__class__ is int else x.v for x in items], np.int64))
    if any(x.t != qtype for x in items):
        return List(items)
    if qtype == T.G:
        return guid_vec([x.v for x in items])
    return Vec(qtype, np.array([x.v for x in items], T.DTYPE[qtype]))


def _rows(items: list[Value]) -> Value:
    """A list of dictionaries with equal symbol keys is a table."""
    keys = items[0].k
    if keys.__class__ is not Vec or keys.t != T.S or not len(keys):
        return List(items)
    for item in items:
        if item.__class__ is not Dict or item.k.__class__ is not Vec or item.k.t != T.S:
            return List(items)
        if item.k is not keys and not np.array_equal(item.k.a, keys.a):
            return List(items)
    names = [item.s for item in keys.items]
    values = [item.v for item in items]
    t = getattr(values[0], "t", T.ENUM)
    if t != T.ENUM and all(value.__class__ is Vec and value.t == t for value in values):
        return Table(
            names,
            [Vec(t, a) for a in np.ascontiguousarray(np.stack([value.a for value in values]).T)],
        )
    rows = [item.v.items for item in items]
    return Table(names, [collapse([row[i] for row in rows]) for i in range(len(names))])


def enlist(x: Value) -> Value:
    """The one-item list of x; for a dictionary with symbol keys, a one-row table."""
    return collapse([x])


def regular(t: int, a: np.ndarray) -> Value:
    """A value for an array of any number of dimensions: atom, vector or rectangular nested list."""
    return atom(t, a[()]) if a.ndim == 0 else Vec(t, a) if a.ndim == 1 else Nd(t, a)


def as_nd(x: Value) -> Nd | None:
    """The Nd for a general list of equally long vectors of one type (or of such lists), else None."""
    if x.__class__ is Nd:
        return x
    if x.__class__ is not List or not x.items:
        return None
    first = x.items[0]
    if first.__class__ is Vec:
        qtype, count = first.t, len(first.a)
        if qtype == T.ENUM or any(
            item.__class__ is not Vec or item.t != qtype or len(item.a) != count for item in x.items
        ):
            return None
        return Nd(qtype, np.stack([item.a for item in x.items]))
    if not isinstance(first, List):
        return None
    parts = [as_nd(item) for item in x.items]
    head = parts[0]
    if head is None or any(
        part is None or part.t != head.t or part.a.shape != head.a.shape for part in parts
    ):
        return None
    return Nd(head.t, np.stack([part.a for part in parts if part is not None]))


def mkdict(k: Value, v: Value) -> Dict:
    """The dictionary k!v of two lists; 'length if they differ in length."""
    if len(k) != len(v):
        raise QError("length")
    return Dict(k, v)


def symdict(names: Sequence[str], values: list[Value]) -> Dict:
    """A dictionary with symbol keys; the values collapse to a vector if possible."""
    return Dict(sym_vec(names), collapse(values))


def table(names: Sequence[str], cols: Sequence[Value]) -> Table:
    """A table from columns that are lists of equal length; 'length otherwise."""
    if len({len(column) for column in cols}) > 1:
        raise QError("length")
    return Table(list(names), list(cols))


def real(x: float) -> Atom:
    """The real atom nearest to x."""
    return Atom(T.E, float(np.float32(x)))


def short(n: int) -> Atom:
    return Atom(T.H, n)
