"""Create lists and take them apart: til, count, first, last, enlist, reverse, rotate, where, flip, cross, type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np

from kshell.errors import QError
from kshell.lang.tables.tables import table_from_dict
from kshell.lang.verbs.join import join, raze
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import as_nd, collapse, short
from kshell.values.base.core import (
    Dict,
    List,
    ListValue,
    Nd,
    Table,
    Value,
    Vec,
    atom_t,
    is_atom,
    raw,
    seq_items,
    sym_names,
    sym_vec,
)
from kshell.values.base.functions import Function, Handle
from kshell.values.base.narrow import has_items, list_value
from kshell.values.base.symbols import Sym
from kshell.values.items.pick import null_of, take_at

__all__ = [
    "count",
    "cross",
    "enlist",
    "first",
    "flip",
    "join",
    "last",
    "raze",
    "reverse",
    "rotate",
    "til",
    "type_",
    "where",
]

_LARGEST = 1 << 40  # the longest possible list


def int_of(x: Value) -> int:
    """The Python int of an integer atom; 'type for anything else."""
    if x.__class__ is int:
        return x
    if atom_t(x) in (T.B, T.X, T.H, T.I, T.J):
        return int(raw(x))
    raise QError("type")


@verb("til")
def til(x: Value) -> Value:
    """The first x integers, from 0.

    q)til 5
    0 1 2 3 4
    """
    number = int_of(x)
    if number < 0:
        raise QError("domain" if number != -T.M63 else "type")
    if number > _LARGEST:
        raise QError("limit")
    vector = Vec(T.J, np.arange(number))
    vector.whole = True
    return vector


@verb("count")
def count(x: Value) -> Value:
    """The number of items of x; 1 for an atom.

    q)count 2 3 5 7
    4
    q)count `a`b!(1 2 3;4)
    2
    """
    if x.__class__ is Vec:
        return len(x.a)
    if isinstance(x, (List, Dict, Table)):
        return len(x)
    return 1


@verb("first", handle=True)
def first(x: Value) -> Value:
    """The first item; null if there is none; an atom is returned unchanged.

    q)first 10 20 30
    10
    q)first 0#0
    0N
    """
    return _end(x, 0)


@verb("last", handle=True)
def last(x: Value) -> Value:
    """The last item; null if there is none; an atom is returned unchanged.

    q)last `a`b`c
    `c
    """
    return _end(x, -1)


def _end(x: Value, at: int) -> Value:
    if x.__class__ is Dict:
        x = x.v
    if x.__class__ is Vec or isinstance(x, List) or x.__class__ is Table:
        count = len(x)
        return x.item(at % count) if count else null_of(x)
    return x


@verb("enlist", "enlist x", "enlist[x;y;..]")
def enlist(x: Value) -> Value:
    """Make a list of the arguments; a dictionary becomes a table with one row.

    q)enlist 5
    ,5
    q)enlist[1;`a;"x"]
    1
    `a
    "x"
    """
    return collapse([x])


@verb("enlist", arity=-1)
def enlist_many(*xs: Value) -> Value:
    return collapse(list(xs))


@overload
def reverse(x: ListValue) -> ListValue: ...
@overload
def reverse(x: Value) -> Value: ...
@verb("reverse")
def reverse(x: Value) -> Value:
    """The items (entries, rows) in reverse order.

    q)reverse 1 2 3
    3 2 1
    """
    if x.__class__ is Vec:
        return Vec(x.t, x.a[::-1].copy(), "", x.dom)
    if type(x) is Nd:
        return Nd(x.t, x.a[::-1].copy())
    if type(x) is List:
        return List(x.items[::-1])
    if x.__class__ is Dict:
        return Dict(reverse(x.k), reverse(x.v))
    if x.__class__ is Table:
        return Table(x.names, [reverse(column) for column in x.cols])
    return x.monad("reverse") if isinstance(x, Handle) and x.folded else x


@verb("rotate", handle=True)
def rotate(x: Value, y: Value) -> Value:
    """List y rotated by x items, to the left if x is positive.

    q)2 rotate 1 2 3 4 5
    3 4 5 1 2
    q)-1 rotate "abc"
    "cab"
    """
    number = int_of(x)
    if y.__class__ is Dict:
        return Dict(_rotated(number, y.k) if y.keyed else y.k, _rotated(number, list_value(y.v)))
    return _rotated(number, list_value(y))


def _rotated(number: int, y: ListValue) -> ListValue:
    if y.__class__ is Table:
        return Table(y.names, [_rotated(number, column) for column in y.cols])
    if y.__class__ is Vec:
        return Vec(y.t, np.roll(y.a, -number), "", y.dom)
    if y.__class__ is Nd:
        return Nd(y.t, np.roll(y.a, -number, 0))
    offset = number % len(y) if len(y) else 0
    return List(y.items[offset:] + y.items[:offset])


@verb("where", handle=True)
def where(x: Value) -> Value:
    """The indexes (or keys) of the 1s; with counts, each repeated that many times.

    q)where 01101b
    1 2 4
    q)where `a`b`c!2 0 1
    `a`a`c
    """
    if x.__class__ is Dict:
        return take_at(x.k, where_at(x.v))
    return Vec(T.J, where_at(x))


def where_at(x: Value) -> np.ndarray:
    """`where` as an array of positions."""
    if x.__class__ is not Vec:
        if isinstance(x, List) and not len(x):
            return np.zeros(0, np.int64)
        raise QError("type")
    if x.t == T.B:
        return np.flatnonzero(x.a)
    if x.t not in (T.X, T.H, T.I, T.J):
        raise QError("type")
    if len(x.a) and int(x.a.min()) < 0:
        raise QError("domain")
    return np.repeat(np.arange(len(x.a)), x.a)


@verb("flip", handle=True)
def flip(x: Value) -> Value:
    """Transpose a matrix, or convert between a table and a dictionary of columns.

    q)flip (1 2 3;4 5 6)
    1 4
    2 5
    3 6
    q)flip `a`b!(1 2;`x`y)
    a b
    ---
    1 x
    2 y
    """
    if x.__class__ is Table:
        return Dict(sym_vec(x.names), List(list(x.cols)))
    if x.__class__ is Dict:
        if x.v.__class__ is Sym:
            return table_from_dict(x)
        return _flip_dict(x)
    if x.__class__ is Nd:
        return Nd(x.t, np.ascontiguousarray(x.a.swapaxes(0, 1))) if x.a.shape[1] else List([])
    if x.__class__ is not List:
        raise QError("rank" if x.__class__ is Vec or is_atom(x) else "type")
    return List(x.items) if not x.items else _flip_list(x)


def _flip_list(x: List) -> Value:
    rows = _extend(x.items)
    nested = as_nd(List([*rows]))
    if nested is not None:
        return flip(nested)
    count = len(rows[0])
    if count and all(row.__class__ is Vec or isinstance(row, List) for row in rows):
        return collapse(
            [collapse(list(column)) for column in zip(*(row.items for row in rows), strict=True)]
        )
    return List([collapse([row.item(index) for row in rows]) for index in range(count)])


def _extend(items: Sequence[Value]) -> list[ListValue]:
    """Lists of equal length; atoms are repeated. 'length if the lists differ in length, 'rank if there are none."""
    lengths = {len(item) for item in items if isinstance(item, (Vec, List, Table, Dict))}
    if len(lengths) != 1:
        raise QError("length" if lengths else "rank")
    count = lengths.pop()
    zeros = np.zeros(count, np.int64)
    return [
        item if has_items(item) else take_at(list_value(collapse([item])), zeros) for item in items
    ]


def _flip_dict(d: Dict) -> Value:
    if d.keyed:
        raise QError("nyi")
    if d.k.__class__ is not Vec or d.k.t != T.S:
        raise QError("type")
    if d.v.__class__ is Table:  # dictionary of rows: transposed, a dictionary of columns
        return Dict(
            sym_vec(d.v.names),
            Table(
                sym_names(d.k),
                [collapse(seq_items(d.v.item(index).v)) for index in range(len(d.v))],
            ),
        )
    if not isinstance(d.v, List):
        raise QError("rank" if d.v.__class__ is Vec else "type")
    return Table(sym_names(d.k), _extend(d.v.items) if len(d.v) else [])


@verb("cross")
def cross(x: Value, y: Value) -> Value:
    """Every item of x joined with every item of y.

    q)1 2 cross `a`b
    1 `a
    1 `b
    2 `a
    2 `b
    """
    if x.__class__ is Dict and y.__class__ is Dict:
        return Dict(_cross(x.k, y.k), _cross(x.v, y.v))
    return _cross(x, y)


def _cross(x: Value, y: Value) -> ListValue:
    x_items, y_items = _items(x), _items(y)
    x_count, y_count = len(x_items), len(y_items)
    x_indices, y_indices = (
        np.repeat(np.arange(x_count), y_count),
        np.tile(np.arange(y_count), x_count),
    )
    if x.__class__ is Table and y.__class__ is Table:
        a, b = take_at(x, x_indices), take_at(y, y_indices)
        return Table(a.names + b.names, a.cols + b.cols)
    if x_items.__class__ is Vec and y_items.__class__ is Vec and x_items.t == y_items.t != T.ENUM:
        return (
            Nd(x_items.t, np.stack((x_items.a[x_indices], y_items.a[y_indices]), 1))
            if x_count * y_count
            else List([])
        )
    right_items = y_items.items
    return collapse([join(item, b) for item in x_items.items for b in right_items])


def _items(x: Value) -> ListValue:
    return x if has_items(x) else list_value(collapse([x]))


@verb("type")
def type_(x: Value) -> Value:
    """The type number of x, a short: negative for atoms.

    q)type each (1;1 2;"a";`a`b!1 2;+)
    -7 7 -10 99 102h
    """
    return short(type_number(x))


def type_number(x: Value) -> int:
    """The type number of a value."""
    if x.__class__ is Vec:
        return int(x.t)
    qtype = atom_t(x)
    if qtype:
        return -qtype
    if isinstance(x, (List, Handle)):
        return 0
    if x.__class__ is Dict:
        return 99
    if x.__class__ is Table:
        return 98
    return x.t if isinstance(x, Function) else 101


def rows_of(x: Value) -> list[Value]:
    """The items of a list or table as Python objects; an atom alone."""
    return seq_items(x) if has_items(x) else [x]
