"""Tables as a whole: creating, keying, unkeying, finding by name and storing; inserting rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from sys import getrefcount

import numpy as np

from kshell import registry
from kshell.errors import QError
from kshell.lang.tables.columns import is_column, sized
from kshell.store import kdb, parted, splay
from kshell.store.parted import PartCols
from kshell.store.splay import SplayedCols
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs
from kshell.values.base.core import (
    Dict,
    List,
    Nd,
    Sym,
    Table,
    Value,
    Vec,
    is_list,
    seq_items,
    sym,
    sym_vec,
)
from kshell.values.change.grow import append_owned
from kshell.values.change.join import append
from kshell.values.engine.apply import named
from kshell.values.items.pick import domain
from kshell.values.items.search import find
from kshell.values.session.context import running
from kshell.values.session.interrupts import ASSIGNED, PENDING, brief, let_through, stoppable

Array = np.ndarray
NAMED = 3  # getrefcount of a value held only by a global: the global, a local name, and its own argument


# ------------------------------------------------------------------ making


def make_table(keys: list[tuple[str, Value]] | None, cols: list[tuple[str, Value]]) -> Value:
    """The value of a table literal: atoms are repeated to the length of the lists; 'rank if there is no list."""
    keys = keys or []
    done = columns_of([v for _, v in keys + cols])
    names = [n for n, _ in keys + cols]
    if len(set(names)) < len(names):
        raise QError("dup")
    count = len(keys)
    table = Table(names[count:], done[count:])
    return Dict(Table(names[:count], done[:count]), table) if keys else table


def columns_of(values: list[Value]) -> list[Value]:
    """Values as columns of one table; 'rank if all are atoms, 'length if they differ in length."""
    n = next((len(value) for value in values if is_column(value)), None)
    if n is None:
        raise QError("rank")
    return [sized(value, n) for value in values]


def table_from_dict(d: Dict) -> Table:
    """The table that `flip` makes from a dictionary of columns."""
    if d.k.__class__ is not Vec or d.k.t != T.S:
        raise QError("type")
    if d.v.__class__ is Sym:
        return on_disk([item.s for item in d.k.items], d.v)
    values = seq_items(d.v)
    if d.v.__class__ is Vec:
        raise QError("rank")
    return Table([item.s for item in d.k.items], columns_of(values))


def on_disk(names: list[str], place: Sym) -> Table:
    """The table with these columns in a folder, `` `:folder/ ``, or in the loaded partitioned database."""
    if place.s[:1] == ":":
        return Table(names, splay.SplayedCols(names, place.s[1:].rstrip("/")))
    db = running().database
    if db is not None and place.s in db.tables:
        return parted.table(db, place.s)
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
        found = registry.find("verb", "set")
        if found is None:
            raise QError("nyi")
        found.fns[2](_as_packed(path), x)
    else:
        running().names.set(name.s, x)
    return let_through(ASSIGNED, name) if PENDING else name


def _as_packed(path: str) -> Value:
    """The left argument of `set` for a file or folder, keeping its current compression."""
    how = kdb.packing_of(path[1:])
    if how is not None:
        return List([sym(path), *how])
    by = splay.packings_of(path[1:].rstrip("/"))
    return (
        List([sym(path), Dict(sym_vec(list(by)), List([longs(value) for value in by.values()]))])
        if by
        else sym(path)
    )


def is_table(x: Value) -> bool:
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
        return Table(x.k.names + x.v.names, x.k.cols + x.v.cols)
    raise QError("type")


def key_names(x: Value) -> list[str]:
    """The names of the key columns; none for a simple table."""
    return x.k.names if x.__class__ is Dict and x.keyed else []


def rekey(t: Table, keys: Iterable[str]) -> Value:
    """A simple table with some columns as its keys; with none, the table itself."""
    names = list(keys)
    if not names:
        return t
    taken = set(names)
    rest = [name for name in t.names if name not in taken]
    return Dict(
        Table(names, [column(t, name) for name in names]), Table(rest, [t.col(n) for n in rest])
    )


def as_appended(x: Value) -> Value:
    """A value as it is after an append on disk, which leaves no attribute but s on vectors, also in tables."""
    if x.__class__ is Dict and x.keyed:
        return Dict(as_appended(x.k), as_appended(x.v))
    if x.__class__ is Table:
        return Table(list(x.names), [as_appended(column) for column in x.cols])
    return Vec(x.t, x.a, "", x.dom) if x.__class__ is Vec and x.attr not in ("", "s") else x


def column(t: Table, name: str) -> Value:
    """A column by name; the error for an unknown one is its name."""
    if not t.has(name):
        raise QError(name)
    return t.col(name)


def names_of(x: Value) -> list[str]:
    """The names in a symbol, symbol vector or empty list."""
    if x.__class__ is Sym:
        return [x.s]
    if x.__class__ is Vec and x.t == T.S:
        return [item.s for item in x.items]
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
    x = fetch(t)
    if on_disk_kind(x) == "par":
        raise QError("par")
    return put(t, stoppable(change, x))


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
    old = names.find(name.s)
    if old is None:
        if not is_table(y):
            raise QError("type")
        names.set(name.s, y)
        return np.arange(len(y))
    if not is_table(old):
        raise QError("type")
    if kind := on_disk_kind(old):
        raise QError(kind)
    count = len(old)
    rows = given_rows(old, y)
    if old.__class__ is Dict and len(old) and len(rows):
        keys = Table(old.k.names, [column(rows, name) for name in old.k.names])
        if (np.asarray(find(old.k, typed_like(keys, old.k))) < count).any():
            raise QError("insert")
    names.allow(*names.split(name.s, None))  # before the table is written in place
    new = append_owned(old, rows) if getrefcount(old) <= NAMED else append(old, rows)
    names.set(name.s, new)
    return np.arange(count, len(new))


def typed_like(rows: Table, like: Table) -> Table:
    """Rows of symbols enumerated like the columns of `like`; 'cast for symbols that are not members."""
    cols = []
    for col, column in zip(rows.cols, like.cols, strict=True):
        cols.append(
            member(col, column.dom) if column.__class__ is Vec and column.t == T.ENUM else col
        )
    return Table(rows.names, cols)


def member(x: Value, dom: str) -> Value:
    """A list enumerated over `dom`; 'cast for an item that is not a member."""
    if x.__class__ is Vec and x.t == T.ENUM and x.dom == dom:
        return x
    values = domain(dom)
    array = np.asarray(find(values, x), np.int64)
    if (array >= len(values)).any():
        raise QError("cast")
    return Vec(T.ENUM, array, "", dom)


def given_rows(t: Value, y: Value) -> Table:
    """The rows passed to `insert` as a table: from a table, a dictionary, one record, or a list of columns."""
    names = [*key_names(t), *(t.v.names if t.__class__ is Dict else t.names)]
    if is_table(y):
        return flat(y)
    if y.__class__ is Dict:
        one = collapse([y])
        if one.__class__ is not Table:
            raise QError("type")
        return one
    if not is_list(y):
        raise QError("type")
    items = seq_items(y)
    if len(items) != len(names):
        raise QError("length")
    if is_record(flat(t), items):
        return Table(names, [collapse([i]) for i in items])
    return Table(names, columns_of(items))


def is_record(t: Table, items: list[Value]) -> bool:
    """Are these the items of one row (rather than columns)? They are if they include an atom and every list is for a
    column of lists. (Next to atoms, one-item lists are columns: the row is enlisted.)"""
    lists = [i for i in items if is_column(i)]
    if len(lists) == len(items):
        return False
    if lists and all(is_list(i) and len(i) == 1 and is_list(i.item(0)) for i in lists):
        return False
    return all(not is_column(i) or holds_lists(col) for i, col in zip(items, t.cols, strict=True))


def holds_lists(col: Value) -> bool:
    """Can an item of this column be a list?"""
    return col.__class__ is List or col.__class__ is Nd


def sorted_attr(x: Value) -> Value:
    """A list known to be ascending, with the attribute s if it is a vector."""
    return Vec(x.t, x.a, "s", x.dom) if x.__class__ is Vec else x
