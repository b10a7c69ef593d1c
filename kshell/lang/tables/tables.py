"""Tables as a whole: creating, keying, unkeying, finding by name and storing; inserting rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from sys import getrefcount
from typing import TypeGuard, cast, overload

import numpy as np

from kshell import registry
from kshell.errors import QError
from kshell.lang.tables.columns import sized
from kshell.store import kdb, parted, splay
from kshell.store.parted import PartCols
from kshell.store.splay import SplayedCols
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs
from kshell.values.base.core import (
    Dict,
    List,
    ListValue,
    Nd,
    Table,
    Value,
    Vec,
    is_list,
    seq_items,
    sym_names,
    sym_vec,
)
from kshell.values.base.narrow import has_items
from kshell.values.base.symbols import Sym, sym
from kshell.values.change.grow import ALONE, append_owned
from kshell.values.change.join import append, first_rows
from kshell.values.engine.apply import named
from kshell.values.items.pick import domain
from kshell.values.items.search import find
from kshell.values.session.context import running
from kshell.values.session.interrupts import ASSIGNED, PENDING, brief, let_through, stoppable

Array = np.ndarray
NAMED = ALONE  # getrefcount of a value held only by a global: the global, a local name, and its own argument


# ------------------------------------------------------------------ making


def make_table(keys: list[tuple[str, Value]] | None, cols: list[tuple[str, Value]]) -> Table | Dict:
    """The value of a table literal: atoms are repeated to the length of the lists; 'rank if there is no list."""
    keys = keys or []
    columns = columns_of([value for _, value in keys + cols])
    names = [name for name, _ in keys + cols]
    if len(set(names)) < len(names):
        raise QError("dup")
    count = len(keys)
    table = Table(names[count:], columns[count:])
    return Dict(Table(names[:count], columns[:count]), table) if keys else table


def columns_of(values: list[Value]) -> list[ListValue]:
    """Values as columns of one table; 'rank if all are atoms, 'length if they differ in length."""
    length = next((len(column) for column in values if has_items(column)), None)
    if length is None:
        raise QError("rank")
    return [sized(column, length) for column in values]


def table_from_dict(d: Dict) -> Table:
    """The table that `flip` makes from a dictionary of columns."""
    if d.k.__class__ is not Vec or d.k.t != T.S:
        raise QError("type")
    if d.v.__class__ is Sym:
        return on_disk(sym_names(d.k), d.v)
    values = seq_items(d.v)
    if d.v.__class__ is Vec:
        raise QError("rank")
    return Table(sym_names(d.k), columns_of(values))


def on_disk(names: list[str], place: Sym) -> Table:
    """The table with these columns in a folder, `` `:folder/ ``, or in the loaded partitioned database."""
    if place.s[:1] == ":":
        path = place.s[1:].rstrip("/")
        splay.check_columns(path, names)
        return Table(names, splay.SplayedCols(names, path))
    database = running().database
    if database is not None and place.s in database.tables:
        return parted.table(database, place.s)
    return Table(names, splay.NoCols(names, place.s))


# ------------------------------------------------------------------ names


def fetch(t: Value) -> Value:
    """A table, or the table with a name: a variable or a file."""
    return named(t) if t.__class__ is Sym else t


def exists(name: Sym) -> bool:
    """Is there a variable or a file with this name?"""
    return (
        os.path.exists(name.s[1:])
        if name.s[:1] == ":"
        else running().names.find(name.s) is not None
    )


@brief
def put(name: Sym, x: Value) -> Sym:
    """Assign a table to a name: a variable, or a file, which stays compressed if it is. Returns the name."""
    if name.s[:1] == ":":
        path = name.s if not os.path.isdir(name.s[1:]) or name.s.endswith("/") else name.s + "/"
        setter = registry.find("verb", "set")
        if setter is None:
            raise QError("nyi")
        setter.fns[2](_as_packed(path), x)
    else:
        running().names.set(name.s, x)
    return let_through(ASSIGNED, name) if PENDING else name


def _as_packed(path: str) -> Value:
    """The left argument of `set` for a file or folder, keeping its current compression."""
    packing = kdb.packing_of(path[1:])
    if packing is not None:
        return List([sym(path), *packing])
    packings = splay.packings_of(path[1:].rstrip("/"))
    return (
        List(
            [
                sym(path),
                Dict(sym_vec(list(packings)), List([longs(value) for value in packings.values()])),
            ]
        )
        if packings
        else sym(path)
    )


def is_table(x: Value) -> TypeGuard[Table | Dict]:
    """Is it a table, simple or keyed?"""
    return x.__class__ is Table or (x.__class__ is Dict and x.keyed)


def flat(x: Value) -> Table:
    """`0!x`: a table without keys, also by name; 'type for anything else."""
    return unkeyed(fetch(x))


def unkeyed(x: Value) -> Table:
    """A table without its keys; 'type for anything else, including a name."""
    if x.__class__ is Table:
        return x
    if x.__class__ is Dict and x.keyed:
        k, v = x.tables
        return Table(k.names + v.names, k.cols + v.cols)
    raise QError("type")


def key_names(x: Value) -> list[str]:
    """The names of the key columns; none for a simple table."""
    return x.tables[0].names if x.__class__ is Dict and x.keyed else []


def rekey(t: Table, keys: Iterable[str]) -> Table | Dict:
    """A simple table with some columns as its keys; with none, the table itself."""
    names = list(keys)
    if not names:
        return t
    key_names = set(names)
    others = [name for name in t.names if name not in key_names]
    return Dict(
        Table(names, [column(t, name) for name in names]),
        Table(others, [t.col(name) for name in others]),
    )


@overload
def as_appended(x: ListValue) -> ListValue: ...
@overload
def as_appended(x: Value) -> Value: ...
def as_appended(x: Value) -> Value:
    """A value as it is after an append on disk, which leaves no attribute but s on vectors, also in tables."""
    if x.__class__ is Dict and x.keyed:
        return Dict(as_appended(x.k), as_appended(x.v))
    if x.__class__ is Table:
        return Table(list(x.names), [as_appended(column) for column in x.cols])
    return Vec(x.t, x.a, "", x.dom) if x.__class__ is Vec and x.attr not in ("", "s") else x


def column(t: Table, name: str) -> ListValue:
    """A column by name; the error for an unknown one is its name."""
    if not t.has(name):
        raise QError(name)
    return t.col(name)


def names_of(x: Value) -> list[str]:
    """The names in a symbol, symbol vector or empty list."""
    if x.__class__ is Sym:
        return [x.s]
    if x.__class__ is Vec and x.t == T.S:
        return sym_names(x)
    if is_list(x) and not len(x):
        return []
    raise QError("type")


def by_name(t: Value, change: Callable[[Value], Value]) -> Value:
    """change(t); if t is a name, its table is changed in place and the name is the result. A partitioned table is not
    in memory: 'par."""
    if t.__class__ is not Sym:
        return change(t)
    return _change(t, change)


@brief
def _change(t: Sym, change: Callable[[Value], Value]) -> Value:
    stored = fetch(t)
    if on_disk_kind(stored) == "par":
        raise QError("par")
    return put(t, stoppable(change, stored))


def on_disk_kind(x: Value) -> str:
    """The kind of a table on disk, as errors name it: `par` if partitioned, `splay` if splayed; empty for other
    values."""
    if x.__class__ is not Table or x.cols.__class__ is list:
        return ""
    return (
        "par"
        if isinstance(x.cols, PartCols)
        else "splay"
        if isinstance(x.cols, SplayedCols)
        else ""
    )


# ------------------------------------------------------------------ rows


def insert_rows(name: Sym, y: Value) -> Array:
    """`name insert y`: append rows to the table with that name, creating it if there is none. Returns their numbers."""
    names = running().names
    table = names.find(name.s)
    if table is None:
        if not is_table(y):
            raise QError("type")
        names.set(name.s, y)
        return np.arange(len(y))
    if not is_table(table):
        raise QError("type")
    if kind := on_disk_kind(table):
        raise QError(kind)
    count = len(table)
    rows = given_rows(table, y)
    if table.__class__ is Dict and len(table) and len(rows):
        known = table.tables[0]
        keys = Table(known.names, [column(rows, name) for name in known.names])
        if (np.asarray(find(known, typed_like(keys, known))) < count).any():
            raise QError("insert")
    if table.__class__ is Table:
        rows = first_rows(table, rows)
    names.allow(*names.split(name.s, None))  # before the table is written in place
    appended = append_owned(table, rows) if getrefcount(table) <= NAMED else append(table, rows)
    names.set(name.s, appended)
    return np.arange(count, len(cast("Table | Dict", appended)))


def typed_like(rows: Table, like: Table) -> Table:
    """Rows of symbols enumerated like the columns of `like`; 'cast for symbols that are not members."""
    columns = []
    for values, column in zip(rows.cols, like.cols, strict=True):
        columns.append(
            member(values, column.dom) if column.__class__ is Vec and column.t == T.ENUM else values
        )
    return Table(rows.names, columns)


def member(x: ListValue, dom: str) -> ListValue:
    """A list enumerated over `dom`; 'cast for an item that is not a member."""
    if x.__class__ is Vec and x.t == T.ENUM and x.dom == dom:
        return x
    values = domain(dom)
    array = np.asarray(find(values, x), np.int64)
    if (array >= len(values)).any():
        raise QError("cast")
    return Vec(T.ENUM, array, "", dom)


def given_rows(t: Table | Dict, y: Value) -> Table:
    """The rows passed to `insert` as a table: from a table, a dictionary, one record, or a list of columns."""
    plain = unkeyed(t)
    names = list(plain.names)
    if is_table(y):
        return flat(y)
    if y.__class__ is Dict:
        record = collapse([y])
        if record.__class__ is not Table:
            raise QError("type")
        return record
    if not is_list(y):
        raise QError("type")
    items = seq_items(y)
    if len(items) != len(names):
        raise QError("length")
    if is_record(plain, items):
        return Table(names, [collapse([item]) for item in items])
    return Table(names, columns_of(items))


def is_record(t: Table, items: list[Value]) -> bool:
    """Are these the items of one row (rather than columns)? They are if they include an atom and every list is for a
    column of lists. (Next to atoms, one-item lists are columns: the row is enlisted.)"""
    lists = [item for item in items if has_items(item)]
    if len(lists) == len(items):
        return False
    if lists and all(is_list(item) and len(item) == 1 and is_list(item.item(0)) for item in lists):
        return False
    return all(
        not has_items(item) or holds_lists(column)
        for item, column in zip(items, t.cols, strict=True)
    )


def holds_lists(col: ListValue) -> bool:
    """Can an item of this column be a list?"""
    return col.__class__ is List or col.__class__ is Nd


def sorted_attr(x: ListValue) -> ListValue:
    """A list known to be ascending, with the attribute s if it is a vector."""
    return Vec(x.t, x.a, "s", x.dom) if x.__class__ is Vec else x
