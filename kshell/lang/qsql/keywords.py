"""Table keywords: columns and keys, sorting, grouping, insert and upsert, fby."""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount

import numpy as np

from kshell.errors import QError
from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.qsql.update import spread
from kshell.lang.tables.columns import Groups, part, sized
from kshell.lang.tables.tables import (
    NAMED,
    as_appended,
    by_name,
    column,
    exists,
    fetch,
    flat,
    given_rows,
    insert_rows,
    is_table,
    key_names,
    names_of,
    on_disk_kind,
    put,
    rekey,
    sorted_attr,
)
from kshell.lang.verbs import disk
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs, vec
from kshell.values.base.core import (
    NIL,
    Dict,
    List,
    ListValue,
    Nd,
    Table,
    Value,
    Vec,
    atom_t,
    is_list,
    seq_items,
    sym_vec,
)
from kshell.values.base.functions import Prim
from kshell.values.base.narrow import has_items
from kshell.values.base.symbols import Sym
from kshell.values.change.concat import concat
from kshell.values.change.grow import append_owned
from kshell.values.change.join import append, as_rows, first_rows
from kshell.values.change.names import PERMANENT
from kshell.values.engine.apply import pyfn
from kshell.values.items.order import grade_columns
from kshell.values.items.pick import is_link, take_at
from kshell.values.session.context import running
from kshell.values.session.interrupts import edit

# ------------------------------------------------------------------ names of columns


@verb("cols")
def cols(x: Value) -> Value:
    """The column names of a table.

    q)cols([]a:1 2;b:3 4)
    `a`b
    """
    return sym_vec(flat(x).names)


@verb("keys")
def keys(x: Value) -> Value:
    """The key column names of a table.

    q)keys([a:1 2]b:3 4)
    ,`a
    """
    return sym_vec(_key_names(fetch(x)))


def _key_names(x: Value) -> list[str]:
    if not is_table(x):
        raise QError("type")
    return key_names(x)


@verb("xkey")
def xkey(x: Value, y: Value) -> Value:
    """Make columns x the keys of table y; given a table's name, in place.

    q)`b xkey([]a:1 2;b:3 4)
    b| a
    -| -
    3| 1
    4| 2
    """
    names = names_of(x)
    return by_name(y, lambda t: rekey(flat(t), names))


@verb("xcol")
def xcol(x: Value, y: Value) -> Value:
    """Rename the first columns of table y, or with a dictionary the columns that are its keys.

    q)`c xcol([]a:1 2;b:3 4)
    c b
    ---
    1 3
    2 4
    """
    table = fetch(y)
    names = list(flat(table).names)
    if x.__class__ is Table and len(x) == 1:
        x = x.item(0)
    if x.__class__ is Dict:
        renamed = dict(zip(names_of(x.k), names_of(x.v), strict=True))
        if not set(renamed) <= set(names):
            raise QError("length")
        names = [renamed.get(name, name) for name in names]
    else:
        new_names = names_of(x)
        if len(new_names) > len(names):
            raise QError("length")
        names[: len(new_names)] = new_names
    return _renamed(table, names)


def _renamed(t: Value, names: list[str]) -> Value:
    count = len(key_names(t))
    table = Table(names, flat(t).cols)
    return rekey(table, names[:count]) if count else table


@verb("xcols")
def xcols(x: Value, y: Value) -> Value:
    """Table y with columns x first.

    q)`b xcols([]a:1 2;b:3 4)
    b a
    ---
    3 1
    4 2
    """
    table = fetch(y)
    if table.__class__ is not Table:
        raise QError("type")
    leading = names_of(x)
    moved = set(leading)
    names = leading + [name for name in table.names if name not in moved]
    return Table(names, [column(table, name) for name in names])


# ------------------------------------------------------------------ metadata


@verb("meta")
def meta(x: Value) -> Value:
    """Types, foreign keys and attributes of a table's columns.

    q)meta([]a:1 2;b:`x`y)
    c| t f a
    -| -----
    a| j
    b| s
    """
    table = flat(x)
    if table.cols.__class__ is not list:
        table = Table(table.names, table.cols.sample())  # type: ignore[attr-defined]  # of a table on disk
    kinds = vec(T.C, [ord(_type_char(column)) for column in table.cols])
    attributes = sym_vec([column.attr if column.__class__ is Vec else "" for column in table.cols])
    return Dict(
        Table(["c"], [sym_vec(table.names)]),
        Table(["t", "f", "a"], [kinds, sym_vec(map(_foreign, table.cols)), attributes]),
    )


def _type_char(x: Value) -> str:
    """The type character of a column; if its first item is a vector, that vector's type in upper case."""
    if x.__class__ is Vec:
        return enum_char(x.dom) if x.t == T.ENUM else T.TYPE[x.t].char
    if isinstance(x, List) and len(x):
        first_item = x.item(0)
        if first_item.__class__ is Vec:
            return _type_char(first_item).upper()
    return " "


def enum_char(dom: str) -> str:
    """The type character of an enumeration over `dom`: that of its values."""
    if is_link(dom):
        return "j"
    domain = running().names.find(dom)
    return (
        _type_char(domain.tables[0].cols[0]) if domain.__class__ is Dict and domain.keyed else "s"
    )


def _foreign(x: Value) -> str:
    """The name of the table that a column refers to as a foreign key or link, or an empty string."""
    if x.__class__ is not Vec or x.t != T.ENUM:
        return ""
    domain = running().names.find(x.dom)
    return x.dom if domain.__class__ is Table or (domain.__class__ is Dict and domain.keyed) else ""


@verb("fkeys")
def fkeys(x: Value) -> Value:
    """The foreign-key columns of a table, with the tables they refer to.

    q)f:([x:1 2 3]y:10 20 30)
    q)fkeys([]a:`f$2 2;b:0 0)
    a| f
    """
    table = flat(x)
    foreign_keys = [
        (name, domain)
        for name, column in zip(table.names, table.cols, strict=True)
        if (domain := _foreign(column))
    ]
    return Dict(
        sym_vec([name for name, _ in foreign_keys]), sym_vec([domain for _, domain in foreign_keys])
    )


@verb("tables")
def tables(x: Value) -> Value:
    """The tables of a namespace, sorted; `tables[]` lists the root namespace.

    q)t:([]a:1 2)
    q)`t in tables[]
    1b
    """
    space = "." if x is NIL or (is_list(x) and not len(x)) else names_of(x)[0] or "."
    names = running().names
    if space not in names.spaces and space not in PERMANENT:
        raise QError(space)
    return sym_vec(
        [member for member in names.members(space) if is_table(names.spaces[space][member])]
    )


# ------------------------------------------------------------------ sorting


@verb("xasc")
def xasc(x: Value, y: Value) -> Value:
    """Sort table y by columns x in ascending order; given a table's name, in place.

    q)`a xasc([]a:3 1 2;b:`x`y`z)
    a b
    ---
    1 y
    2 z
    3 x
    """
    names = names_of(x)
    return by_name(y, lambda t: _sorted(t, names, False))


@verb("xdesc")
def xdesc(x: Value, y: Value) -> Value:
    """Sort table y by columns x in descending order; given a table's name, in place.

    q)`a xdesc([]a:3 1 2;b:`x`y`z)
    a b
    ---
    3 x
    2 z
    1 y
    """
    names = names_of(x)
    return by_name(y, lambda t: _sorted(t, names, True))


def _sorted(x: Value, names: list[str], down: bool) -> Value:
    table = flat(x)
    if len(set(table.names)) < len(table.names):
        raise QError("dup")
    if not names:
        return x
    order = grade_columns([column(table, name) for name in names], down)
    result = Table(table.names, [take_at(column, order) for column in table.cols])
    if not down:
        position = table.names.index(names[0])
        result.cols[position] = sorted_attr(result.cols[position])
    return rekey(result, key_names(x))


# ------------------------------------------------------------------ grouping


@verb("xgroup")
def xgroup(x: Value, y: Value) -> Value:
    """Group table y by columns x into a keyed table of lists.

    q)`a xgroup([]a:0 0 1;b:1 2 3)
    a| b
    -| ---
    0| 1 2
    1| ,3
    """
    table = flat(y)
    names = names_of(x)
    keys = [column(table, name) for name in names]
    grouping = Groups(keys, len(table))
    keys = [take_at(key, grouping.first) for key in keys]
    if len(keys) == 1:
        keys = [sorted_attr(keys[0])]
    grouped = set(names)
    value_names = [name for name in table.names if name not in grouped]
    return Dict(
        Table(names, keys),
        Table(value_names, [split(table.col(name), grouping) for name in value_names]),
    )


def split(x: ListValue, g: Groups) -> ListValue:
    """A column as a list of parts, one per group."""
    x = take_at(x, g.order)
    return collapse([part(x, start, end) for start, end in g.spans()])


@verb("ungroup")
def ungroup(x: Value) -> Value:
    """Expand a table of lists: one row for each of their items.

    q)ungroup([]a:`x`y;b:(1 2;enlist 3))
    a b
    ---
    x 1
    x 2
    y 3
    """
    table = flat(x)
    nested = [
        column.__class__ is not Vec and column.__class__ is not Table for column in table.cols
    ]
    if not any(nested) or not len(table):
        return table
    counts = None
    for items, is_nested in zip(table.cols, nested, strict=True):
        if is_nested:
            sizes = np.array(
                [len(item) if has_items(item) else 1 for item in seq_items(items)], np.int64
            )
            if counts is not None and (sizes != counts).any():
                raise QError("length")
            counts = sizes
    assert counts is not None
    rows = np.repeat(np.arange(len(table)), counts)
    return Table(
        table.names,
        [
            _joined(column) if is_nested else take_at(column, rows)
            for column, is_nested in zip(table.cols, nested, strict=True)
        ],
    )


def _joined(x: ListValue) -> ListValue:
    """The items of a column's items, joined; empty items only contribute their type."""
    items = [item if has_items(item) else collapse([item]) for item in seq_items(x)]
    nonempty = [item for item in items if len(item)]
    return concat(nonempty) if nonempty else items[0]


@verb("fby")
def fby(x: Value, y: Value) -> Value:
    """`(f;d) fby g`: f of the items of d in each group of g, repeated for every item of the group.

    q)(sum;1 2 3 4)fby`a`b`a`b
    4 6 4 6
    """
    if not is_list(x) or len(x) != 2:
        raise QError("type")
    function, items = seq_items(x)
    if not has_items(items) or not has_items(y):
        raise QError("type")
    groups = y.cols if y.__class__ is Table else [y]
    if len(items) != len(y):
        raise QError("length")
    if not len(items):
        return _nothing(function, items)
    grouping = Groups(groups, len(y), ascending=False)
    return spread(_by_groups(function, items, grouping), grouping)


def _nothing(f: Value, d: ListValue) -> Value:
    """fby of nothing: empty, with the type that f returns."""
    result = pyfn(f, 1)(d)
    return result if has_items(result) else take_at(sized(result, 1), np.arange(0))


def _by_groups(f: Value, d: ListValue, g: Groups) -> ListValue:
    if (
        f.__class__ is Prim
        and f.name in AGGREGATES
        and AGGREGATES[f.name].__code__.co_argcount == 2
    ):
        results = AGGREGATES[f.name](g, d)
        if results is not None:
            return results
    function = pyfn(f, 1)
    d = take_at(d, g.order)
    return collapse([function(part(d, start, end)) for start, end in g.spans()])


# ------------------------------------------------------------------ rows


@verb("insert", effect="own")
@edit("insert")
def insert(x: Value, y: Value) -> Value:
    """Append rows to the table named x; returns their row numbers.

    q)t:([]a:1 2;b:`x`y)
    q)`t insert(3;`z)
    ,2
    """
    if x.__class__ is not Sym:
        raise QError("type")
    return longs(insert_rows(x, y))


@verb("upsert", effect="own")
@edit("upsert")
def upsert(x: Value, y: Value) -> Value:
    """Append rows to table x, or replace those with the same key; given a table's name, in place.

    q)([k:`a`b]v:1 2)upsert(`b;20)
    k| v
    -| --
    a| 1
    b| 20
    """
    if x.__class__ is Sym and x.s[:1] == ":":
        if disk.upsert_splayed(x, y):
            return x
    if x.__class__ is Sym and not exists(x):
        if not is_table(y):
            raise QError(x.s)
        return put(x, y)
    if x.__class__ is not Sym:
        return _upserted(x, y)
    table = fetch(x)
    if x.s[:1] == ":":
        return put(x, as_appended(_upserted(table, y)))
    if kind := on_disk_kind(table):
        raise QError(kind)
    names = running().names
    names.allow(*names.split(x.s, None))  # before the table is written in place
    alone = getrefcount(table) <= NAMED
    return put(x, _upserted(table, y, append_owned if alone else append))


def _upserted(t: Value, y: Value, onto: Callable[[Value, Value], Value] = append) -> Value:
    if t.__class__ is Dict and t.attr == "s":
        raise QError("step")
    if is_table(t) and is_list(y) and not len(y):
        return t
    if is_table(t) and is_list(y) and _single(t, y):
        y = given_rows(t, y)
    if t.__class__ is Table and is_table(y) and y.__class__ is Dict:
        raise QError("type")
    if t.__class__ is Table and not len(t):
        y = first_rows(t, as_rows(y, t.names))
    return onto(t, y)


def _single(t: Value, y: Value) -> bool:
    """Is y a single record with an item that is a list?"""
    fields = seq_items(y)
    return (
        len(fields) == len(flat(t).names)
        and any(map(atom_t, fields))
        and any(map(has_items, fields))
        and y.__class__ is not Nd
    )
