"""Items of lists by position, nulls for positions out of bounds, and the values of enumerations."""

from __future__ import annotations

from typing import overload

import numpy as np

from kshell.values.base import types as T
from kshell.values.base.build import collapse, empty
from kshell.values.base.core import (
    NIL,
    Atom,
    Dict,
    EnumAtom,
    Flat,
    List,
    ListValue,
    Nd,
    Table,
    Value,
    Vec,
    atom,
    atom_t,
    flat_list,
    is_atom,
    seq_items,
    sym_vec,
)
from kshell.values.base.narrow import list_value
from kshell.values.base.symbols import sym_at
from kshell.values.session.context import running


def null_of(x: Value) -> Value:
    """The value of a list at an index out of bounds: the null of its type; for a general list, that of its first
    item."""
    if x.__class__ is Vec:
        if x.t == T.ENUM:
            return enum_null(x.dom)
        return atom(x.t, np.frombuffer(T.NULL[x.t], "V16")[0] if x.t == T.G else T.NULL[x.t])
    if isinstance(x, List):
        if not len(x):
            return List([])
        return nulls_like(x.item(0))
    if x.__class__ is Table:
        return Dict(sym_vec(x.names), collapse([null_of(column) for column in x.cols]))
    if x.__class__ is Dict:
        return null_of(x.v)
    return NIL


def nulls_like(x: Value) -> Value:
    """The null that replaces x: an atom's null, an empty list of a vector's type, `()` for general lists."""
    if x.__class__ is Vec:
        return empty(x.t)
    if x.__class__ is Atom or is_atom(x):
        qtype = atom_t(x)
        return (
            atom(qtype, T.NULL[qtype])
            if qtype and qtype not in (T.G, T.ENUM)
            else x
            if qtype == T.G
            else sym_at(0)
        )
    if isinstance(x, List):
        return List([])
    if x.__class__ is Dict:
        return Dict(
            x.k,
            take_at(x.v, np.full(len(x.k), -1))
            if x.keyed
            else collapse([nulls_like(item) for item in seq_items(x.v)]),
        )
    if x.__class__ is Table:
        return take_at(x, np.empty(0, np.int64))
    return NIL


@overload
def take_at(x: Vec, at: np.ndarray) -> Vec: ...
@overload
def take_at(x: Table, at: np.ndarray) -> Table: ...
@overload
def take_at(x: ListValue, at: np.ndarray) -> ListValue: ...
@overload
def take_at(x: Dict, at: np.ndarray) -> Dict: ...
@overload
def take_at(x: ListValue | Dict, at: np.ndarray) -> ListValue | Dict: ...
def take_at(x: ListValue | Dict, at: np.ndarray) -> ListValue | Dict:
    """The items of a list, or rows of a table, at int64 positions; null if out of bounds."""
    count = len(x)
    # as unsigned, negative positions are out of bounds
    inside = not len(at) or int(np.maximum.reduce(at.view(np.uint64))) < count
    if inside and type(x) is Vec:
        return Vec(x.t, x.a.take(at), "", x.dom)
    if type(x) is Table:
        return Table(x.names, [take_at(column, at) for column in x.cols])
    if type(x) is Dict:
        return Dict(take_at(x.k, at), take_at(x.v, at))
    if type(x) is Nd and inside:
        return Nd(x.t, x.a[at])
    if type(x) is Vec:
        result = np.empty(len(at), x.a.dtype)
        valid = (at >= 0) & (at < count)
        result[valid] = x.a[at[valid]]
        null = T.NULL[x.t]
        result[~valid] = np.frombuffer(null, "V16")[0] if x.t == T.G else null
        return Vec(x.t, result, "", x.dom)
    flat = x.flat if inside and len(at) else None
    if flat is not None:
        return _flat_at(flat, at)
    items = x.items
    if inside:
        return collapse([items[position] for position in at.tolist()]) if len(at) else List([])
    null = null_of(x)
    return collapse(
        [items[position] if 0 <= position < count else null for position in at.tolist()]
    )


def _flat_at(f: Flat, at: np.ndarray) -> List:
    """The vectors at some positions among those stored in one array."""
    if len(at) < _FEW:
        return List([f.item(position) for position in at.tolist()])
    sizes, starts = f.sizes[at], f.starts[at]
    ends = np.cumsum(sizes)
    return flat_list(
        f.t, f.a[np.repeat(starts - (ends - sizes), sizes) + np.arange(int(ends[-1]))], ends
    )


_FEW = 16  # fewer items are taken one by one


@overload
def unenum(x: ListValue) -> ListValue: ...
@overload
def unenum(x: Value) -> Value: ...
def unenum(x: Value) -> Value:
    """An enumeration (atom or vector) as the symbols, or other values, that it stands for; other values are unchanged.
    A link, to the rows of a table, stands for their numbers."""
    if x.__class__ is EnumAtom:
        if is_link(x.dom):
            return x.v
        members = domain(x.dom)
        return members.item(x.v) if 0 <= x.v < len(members) else enum_null(x.dom)
    if x.__class__ is Vec and x.t == T.ENUM:
        return Vec(T.J, x.a) if is_link(x.dom) else take_at(domain(x.dom), x.a)
    return x


def domain(name: str) -> ListValue:
    """The list that an enumeration indexes: the value of `name`; for a table keyed on one column, that column; for
    other tables, the row numbers."""
    value = running().names.get(name)
    if _numbered(value):
        return Vec(T.J, np.arange(len(value)))
    return value.tables[0].cols[0] if value.__class__ is Dict and value.keyed else list_value(value)


def is_link(name: str) -> bool:
    """Does an enumeration over `name` refer to rows of a table?"""
    return _numbered(running().names.find(name))


def _numbered(x: Value) -> bool:
    """A table with no key column, or several."""
    return x.__class__ is Table or (x.__class__ is Dict and x.keyed and len(x.tables[0].cols) > 1)


def enum_null(name: str) -> Value:
    """The value of an enumeration over `name` at an index out of bounds."""
    value = running().names.find(name)
    if value is None or (value.__class__ is Vec and value.t == T.S):
        return sym_at(0)
    return null_of(Vec(T.J, np.zeros(0, np.int64)) if _numbered(value) else domain(name))
