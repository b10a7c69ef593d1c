"""Indexing: `x[i]`, `x[i;j]`, `x i` for lists, dictionaries, tables, keyed tables and handles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.registry import Hook
from kshell.values.base import types as T
from kshell.values.base.build import collapse, regular
from kshell.values.base.core import (
    HOLE,
    NIL,
    Atom,
    Dict,
    EnumAtom,
    List,
    ListValue,
    Nd,
    Special,
    Table,
    Value,
    Vec,
    atom,
    flat_list,
    is_atom,
    raw,
    seq_items,
    sym_names,
    sym_vec,
)
from kshell.values.base.functions import APPLY, Handle
from kshell.values.base.narrow import list_value
from kshell.values.base.symbols import Sym
from kshell.values.items.keys import place_one
from kshell.values.items.pick import null_of, nulls_like, take_at
from kshell.values.items.rows import string_rows

_INTEGER = (T.B, T.X, T.H, T.I, T.J)


def index1(x: Value, i: Value) -> Value:
    """`x i` for one index: an atom, a list, a dictionary or :: (all)."""
    if i is NIL or i is HOLE:
        return x
    if type(x) is Vec or type(x) is List or type(x) is Nd:
        if i.__class__ is int:
            return x.item(i) if 0 <= i < len(x) else null_of(x)
        return _list_at(x, i)
    if x.__class__ is Dict:
        return _dict_at(x, i)
    if x.__class__ is Table:
        return _table_at(x, i)
    if isinstance(x, Handle):
        return x.index((i,))
    raise QError("type")


def positions(i: Value) -> np.ndarray | None:
    """An integer vector of indexes as int64, nulls as -1; None if i is not such a vector."""
    if i.__class__ is not Vec or i.t not in _INTEGER:
        return None
    array = i.a
    if array.dtype != np.int64:
        return array.astype(np.int64)  # nulls of narrower types are negative, so also out of bounds
    return array


def list_positions(i: Value) -> np.ndarray | None:
    """The positions for an index into a list; for an enumeration, its positions in the domain."""
    return i.a if i.__class__ is Vec and i.t == T.ENUM else positions(i)


def _list_at(x: Vec | List, i: Value) -> Value:
    if i.__class__ is Vec and i.t == T.J:
        return take_at(x, i.a)
    if i.__class__ is bool:
        return x.item(int(i)) if int(i) < len(x) else null_of(x)
    if i.__class__ is Special:
        return null_of(x)
    positions = list_positions(i)
    if positions is not None:
        return take_at(x, positions)
    if i.__class__ is EnumAtom or (i.__class__ is Atom and i.t in _INTEGER):
        return x.item(i.v) if 0 <= i.v < len(x) else null_of(x)
    if i.__class__ is List and x.__class__ is Vec and x.t != T.ENUM:
        flat = i.flat
        if flat is not None and flat.t in _INTEGER:
            return flat_list(x.t, take_at(x, flat.a.astype(np.int64)).a, flat.ends)
    if i.__class__ is List or i.__class__ is Nd:
        return collapse(
            [
                take_at(x, item.a) if item.__class__ is Vec and item.t == T.J else index1(x, item)
                for item in i.items
            ]
        )
    if i.__class__ is Dict:
        return Dict(i.k, list_value(index1(x, i.v)))
    raise QError("type")


def find_at(keys: ListValue, i: Value) -> Any:
    """Positions of i among keys: an int for one key, an int64 array for a list of keys; len(keys) if missing.

    lang's search verb gives the same answer for `keys?i`; it installs this hook, so that both share one implementation.
    """
    return FIND.fn(keys, i)


FIND = Hook()  # values/items/search.py
BIN = Hook()  # `keys bin i` for one list: values/items/search.py
BIN_ROWS = Hook()  # by the columns of two tables: values/items/search.py


def _dict_at(d: Dict, i: Value) -> Value:
    keys = d.k
    if keys.__class__ is Vec and i.__class__ is Sym:  # fast path for the usual case
        if keys.t == T.S:
            position = place_one(keys, i.v)
            return d.v.item(position) if position < len(keys.a) else null_of(d.v)
    elif i.__class__ is int and keys.__class__ is Vec and keys.t == T.J and not d.attr:
        position = place_one(keys, i)
        return d.v.item(position) if position < len(keys.a) else null_of(d.v)
    if keys.__class__ is Table:
        return _keyed_at(d, keys, i)
    if i.__class__ is Dict and not i.keyed:
        return Dict(i.k, list_value(_dict_at(d, i.v)))
    if isinstance(i, List) and keys.__class__ is Vec:
        return collapse([_dict_at(d, key) for key in i.items])
    position = find_at(keys, i)
    if isinstance(position, List):  # nested lists of keys that are lists
        return collapse([_dict_at(d, key) for key in seq_items(i)])
    if position.__class__ is not np.ndarray:
        if d.attr == "s" and position >= len(keys):
            return step_at(d, i)
        return d.v.item(position) if position < len(keys) else null_of(d.v)
    if d.attr == "s" and (position >= len(keys)).any():
        position = BIN.fn(keys, i)
    return take_at(d.v, position)


def step_at(d: Dict, i: Value) -> Value:
    """A step function's value at i: that of the last key not above it."""
    position = BIN.fn(d.k, i)
    return d.v.item(position) if position >= 0 else null_of(d.v)


def _keyed_at(d: Dict, keys: Table, i: Value) -> Value:
    """A keyed table at a key (an atom, list, dictionary), or at a table or list of keys."""
    place = _row_of(keys, i)
    if 0 <= place < len(keys):
        return d.v.item(place)
    if place >= 0 and d.attr != "s":
        return null_of(d.v)
    if i.__class__ is Table:
        rows = find_at(keys, i)
        if d.attr == "s" and (rows >= len(keys)).any():
            rows = BIN_ROWS.fn(keys.cols, [i.col(name) for name in keys.names], True)
        return take_at(d.v, rows)
    if i.__class__ is Dict:
        i = collapse([_dict_at(i, item) for item in sym_vec(keys.names).items])
    if not isinstance(i, List) and i.__class__ is not Vec:
        if len(keys.names) != 1:
            raise QError("type")
        i = List([i])
    elif len(keys.names) == 1 and i.__class__ is Vec and keys.cols[0].__class__ is Vec:
        if len(i) != 1:  # a vector is one key, with one item per key column
            raise QError("length")
        i = List([i.item(0)])
    elif (
        isinstance(i, List)
        and i.items
        and all(key.__class__ is Vec or isinstance(key, List) for key in i.items)
        and not (len(keys.names) == len(i) and not isinstance(i.items[0], List) and is_atom_list(i))
    ):
        if len(keys.names) > 1 or keys.cols[0].__class__ is Vec:
            return collapse([_keyed_at(d, keys, key) for key in i.items])
    row = find_at(keys, Dict(sym_vec(keys.names), i))
    if d.attr == "s" and int(row) >= len(keys):
        row = BIN_ROWS.fn(keys.cols, [collapse([item]) for item in seq_items(i)], True)[0]
        return d.v.item(int(row)) if row >= 0 else null_of(d.v)
    return d.v.item(int(row)) if int(row) < len(keys) else null_of(d.v)


def is_atom_list(x: Vec | List) -> bool:
    return all(is_atom(item) for item in x.items)


def _table_at(t: Table, i: Value) -> Value:
    if i.__class__ is Sym:
        return _column(t, i.s)
    if i.__class__ is Vec and i.t == T.S:
        return List([_column(t, name) for name in sym_names(i)])
    rows = positions(i)
    if rows is not None:
        return take_at(t, rows)
    if isinstance(i, int) or i.__class__ is Special or (i.__class__ is Atom and i.t in _INTEGER):
        row = raw(i)
        return t.item(int(row)) if 0 <= row < len(t) else null_of(t)
    if i.__class__ is List or i.__class__ is Nd:
        return collapse([_table_at(t, item) for item in i.items])
    if i.__class__ is Dict:
        return Dict(i.k, list_value(_table_at(t, i.v)))
    raise QError("type")


def _column(t: Table, name: str) -> Value:
    """A column by name; a missing one is, as in any dictionary of lists, an empty list of the first's type."""
    return t.col(name) if t.has(name) else nulls_like(t.cols[0])


def index2(x: Value, i: Value, j: Value) -> Value:
    """`x[i;j]`, for single items of lists and of columns directly."""
    if i.__class__ is int and i >= 0:
        if x.__class__ is List and i < len(x):
            row = x.item(i)
            if row.__class__ is Vec and j.__class__ is int and 0 <= j < len(row.a):
                return row.item(j)
        elif x.__class__ is Nd and x.a.ndim == 2 and j.__class__ is int:
            rows, columns = x.a.shape
            if i < rows and 0 <= j < columns and x.t != T.G:
                return atom(x.t, x.a.item(i, j))
        elif x.__class__ is Table and j.__class__ is Sym and i < len(x) and x.has(j.s):
            return x.col(j.s).item(i)
    if x.__class__ is Dict and x.k.__class__ is Table and j.__class__ is Sym:
        values = x.v
        row_number = _row_of(x.k, i)
        if values.__class__ is Table and 0 <= row_number < len(values) and values.has(j.s):
            return values.col(j.s).item(row_number)
    return index(x, (i, j))


def _row_of(keys: Table, i: Value) -> int:
    """The row of keys in one column that has an atom; their count if none has, -1 if it is another kind of key."""
    if len(keys.names) == 1:
        column = keys.cols[0]
        if column.__class__ is Vec and (
            (i.__class__ is int and column.t == T.J) or (i.__class__ is Sym and column.t == T.S)
        ):
            return place_one(column, raw(i))
    return -1


def index(x: Value, args: Sequence[Value]) -> Value:
    """`x[i;j;...]`: the first index selects, the others index each selected item."""
    if isinstance(x, Handle):
        return x.index(args)
    first_index = args[0]
    if len(args) == 1:
        return index1(x, first_index)
    rest = args[1:]
    if x.__class__ is Nd and len(args) <= x.a.ndim:
        result = _nd_at(x, args)
        if result is not None:
            return result
    if x.__class__ is Table and (
        first_index.__class__ is Sym or (first_index.__class__ is Vec and first_index.t == T.S)
    ):
        return index(index1(x, first_index), rest)
    if x.__class__ is Table and len(rest) == 1 and rest[0].__class__ is Sym:
        return index1(_table_at(x, rest[0]), first_index)
    if first_index is NIL or first_index is HOLE:
        if x.__class__ is Dict:
            return Dict(x.k, list_value(index(x.v, (NIL, *rest))))
        if x.__class__ is Table and rest[0].__class__ is Sym:
            return index(index1(x, rest[0]), rest[1:]) if len(rest) > 1 else index1(x, rest[0])
        if x.__class__ is Table and len(rest) == 1 and rest[0].__class__ is Vec and len(rest[0]):
            return rows_of(seq_items(index1(x, rest[0])))
        result = _column_of(x, rest)
        return collapse([deep(item, rest) for item in seq_items(x)]) if result is None else result
    if x.__class__ is Dict and x.keyed and first_index.__class__ is Table:
        return index(index1(x, first_index), (NIL, *rest))
    if is_atom(first_index) or (
        x.__class__ is Dict
        and x.keyed
        and first_index.__class__ is not Table
        and (
            not isinstance(first_index, List)
            or (len(first_index) == len(x.tables[0].names) > 1 and is_atom_list(first_index))
        )
    ):
        return deep(index1(x, first_index), rest)
    if first_index.__class__ is Dict:
        return Dict(first_index.k, list_value(index(x, (first_index.v, *rest))))
    return collapse([index(x, (key, *rest)) for key in seq_items(first_index)])


def rows_of(cols: list[Value]) -> Value:
    """A list of columns as a list of rows."""
    first = cols[0]
    if first.__class__ is Vec and first.t != T.ENUM:
        qtype = first.t
        arrays = [column.a for column in cols if column.__class__ is Vec and column.t == qtype]
        if len(arrays) == len(cols):
            return Nd(qtype, np.stack(arrays, 1)) if len(first) else List([])
    return collapse(
        [collapse(list(row)) for row in zip(*(seq_items(column) for column in cols), strict=True)]
    )


def _column_of(x: Value, rest: Sequence[Value]) -> Value | None:
    """`x[;k]` for lists that all have an item k; None for anything else."""
    if len(rest) != 1 or rest[0].__class__ is not int or x.__class__ is not List or len(x) < 2:
        return None
    position = rest[0]
    flat = x.flat
    if flat is not None:
        if flat.t == T.ENUM or not 0 <= position < int(flat.sizes.min()):
            return None
        return Vec(flat.t, flat.a[flat.starts + position])
    items = x.items
    if items[0].__class__ is List:
        lists = [item for item in items if item.__class__ is List and item.flat is None]
        if position < 0 or len(lists) < len(items):
            return None
        try:
            return collapse([item.items[position] for item in lists])
        except IndexError:
            return None
    rows = string_rows(x)
    if rows is None or not 0 <= position < int(rows.sizes.min()):
        return None
    return Vec(T.C, rows.data[rows.starts + position])


def deep(x: Value, rest: Sequence[Value]) -> Value:
    """Index or apply the result of a first index; for an atom, 'rank."""
    if is_atom(x):
        raise QError("rank")
    return APPLY.fn(x, rest)


def _nd_at(x: Nd, args: Sequence[Value]) -> Value | None:
    """An n-d array indexed in several dimensions at once, if each index is ::, an atom or a vector in bounds."""
    array = x.a
    axis = 0
    for length, axis_index in zip(x.a.shape, args, strict=False):
        if axis_index is NIL or axis_index is HOLE:
            axis += 1
        elif axis_index.__class__ is int and 0 <= axis_index < length:
            array = array.take(axis_index, axis)
        else:
            positions = list_positions(axis_index)
            if positions is None or (
                len(positions) and (int(positions.min()) < 0 or int(positions.max()) >= length)
            ):
                return None
            array = array.take(positions, axis)
            axis += 1
    return regular(x.t, array)
