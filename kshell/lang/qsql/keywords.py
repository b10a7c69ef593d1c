"""Table keywords: columns and keys, sorting, grouping, insert and upsert, fby."""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount

import numpy as np

from kshell.errors import QError
from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.qsql.update import spread
from kshell.lang.tables.columns import Groups, is_column, part, sized
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
    Nd,
    Sym,
    Table,
    Value,
    Vec,
    atom_t,
    is_list,
    seq_items,
    sym_vec,
)
from kshell.values.base.functions import Prim
from kshell.values.change.grow import append_owned
from kshell.values.change.join import append, concat
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
    t = fetch(y)
    names = list(flat(t).names)
    if x.__class__ is Table and len(x) == 1:
        x = x.item(0)
    if x.__class__ is Dict:
        renamed = dict(zip(names_of(x.k), names_of(x.v), strict=True))
        if not set(renamed) <= set(names):
            raise QError("length")
        names = [renamed.get(name, name) for name in names]
    else:
        given = names_of(x)
        if len(given) > len(names):
            raise QError("length")
        names[: len(given)] = given
    return _renamed(t, names)


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
    t = fetch(y)
    if t.__class__ is not Table:
        raise QError("type")
    first = names_of(x)
    moved = set(first)
    names = first + [name for name in t.names if name not in moved]
    return Table(names, [column(t, name) for name in names])


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
    t = flat(x)
    if t.cols.__class__ is not list:
        t = Table(t.names, t.cols.sample())  # type: ignore[attr-defined]  # of a table on disk
    kinds = vec(T.C, [ord(_type_char(column)) for column in t.cols])
    attrs = sym_vec([column.attr if column.__class__ is Vec else "" for column in t.cols])
    return Dict(
        Table(["c"], [sym_vec(t.names)]),
        Table(["t", "f", "a"], [kinds, sym_vec(map(_foreign, t.cols)), attrs]),
    )


def _type_char(x: Value) -> str:
    """The type character of a column; if its first item is a vector, that vector's type in upper case."""
    if x.__class__ is Vec:
        return enum_char(x.dom) if x.t == T.ENUM else T.TYPE[x.t].char
    if isinstance(x, List) and len(x):
        first = x.item(0)
        if first.__class__ is Vec:
            return _type_char(first).upper()
    return " "


def enum_char(dom: str) -> str:
    """The type character of an enumeration over `dom`: that of its values."""
    if is_link(dom):
        return "j"
    found = running().names.find(dom)
    return _type_char(found.k.cols[0]) if found.__class__ is Dict and found.keyed else "s"


def _foreign(x: Value) -> str:
    """The name of the table that a column refers to as a foreign key or link, or an empty string."""
    if x.__class__ is not Vec or x.t != T.ENUM:
        return ""
    found = running().names.find(x.dom)
    return x.dom if found.__class__ is Table or (found.__class__ is Dict and found.keyed) else ""


@verb("fkeys")
def fkeys(x: Value) -> Value:
    """The foreign-key columns of a table, with the tables they refer to.

    q)f:([x:1 2 3]y:10 20 30)
    q)fkeys([]a:`f$2 2;b:0 0)
    a| f
    """
    t = flat(x)
    found = [(n, f) for n, column in zip(t.names, t.cols, strict=True) if (f := _foreign(column))]
    return Dict(sym_vec([n for n, _ in found]), sym_vec([f for _, f in found]))


@verb("tables")
def tables(x: Value) -> Value:
    """The tables of a namespace, sorted; `tables[]` lists the root namespace.

    q)t:([]a:1 2)
    q)`t in tables[]
    1b
    """
    space = "." if x is NIL or (is_list(x) and not len(x)) else names_of(x)[0] or "."
    names = running().names
    if space not in names.spaces:
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
    t = flat(x)
    if len(set(t.names)) < len(t.names):
        raise QError("dup")
    if not names:
        return x
    order = grade_columns([column(t, name) for name in names], down)
    out = Table(t.names, [take_at(column, order) for column in t.cols])
    if not down:
        at = t.names.index(names[0])
        out.cols[at] = sorted_attr(out.cols[at])
    return rekey(out, key_names(x))


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
    t = flat(y)
    names = names_of(x)
    tops = [column(t, name) for name in names]
    g = Groups(tops, len(t))
    tops = [take_at(top, g.first) for top in tops]
    if len(tops) == 1:
        tops = [sorted_attr(tops[0])]
    by = set(names)
    rest = [name for name in t.names if name not in by]
    return Dict(Table(names, tops), Table(rest, [split(t.col(n), g) for n in rest]))


def split(x: Value, g: Groups) -> Value:
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
    t = flat(x)
    nested = [column.__class__ is not Vec and column.__class__ is not Table for column in t.cols]
    if not any(nested) or not len(t):
        return t
    counts = None
    for col, is_nested in zip(t.cols, nested, strict=True):
        if is_nested:
            sizes = np.array([len(i) if is_column(i) else 1 for i in seq_items(col)], np.int64)
            if counts is not None and (sizes != counts).any():
                raise QError("length")
            counts = sizes
    assert counts is not None
    at = np.repeat(np.arange(len(t)), counts)
    return Table(
        t.names,
        [
            _joined(column) if n else take_at(column, at)
            for column, n in zip(t.cols, nested, strict=True)
        ],
    )


def _joined(x: Value) -> Value:
    """The items of a column's items, joined; empty items only contribute their type."""
    items = [i if is_column(i) else collapse([i]) for i in seq_items(x)]
    full = [i for i in items if len(i)]
    return concat(full) if full else items[0]


@verb("fby")
def fby(x: Value, y: Value) -> Value:
    """`(f;d) fby g`: f of the items of d in each group of g, repeated for every item of the group.

    q)(sum;1 2 3 4)fby`a`b`a`b
    4 6 4 6
    """
    if not is_list(x) or len(x) != 2:
        raise QError("type")
    f, d = seq_items(x)
    groups = y.cols if y.__class__ is Table else [y]
    if not is_column(d) or not is_column(y):
        raise QError("type")
    if len(d) != len(y):
        raise QError("length")
    if not len(d):
        return _nothing(f, d)
    g = Groups(groups, len(y), ascending=False)
    return spread(_by_groups(f, d, g), g)


def _nothing(f: Value, d: Value) -> Value:
    """fby of nothing: empty, with the type that f returns."""
    x = pyfn(f, 1)(d)
    return x if is_column(x) else take_at(sized(x, 1), np.arange(0))


def _by_groups(f: Value, d: Value, g: Groups) -> Value:
    if (
        f.__class__ is Prim
        and f.name in AGGREGATES
        and AGGREGATES[f.name].__code__.co_argcount == 2
    ):
        found = AGGREGATES[f.name](g, d)
        if found is not None:
            return found
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
    t, onto = fetch(x), append
    if x.s[:1] == ":":
        return put(x, as_appended(_upserted(t, y)))
    if kind := on_disk_kind(t):
        raise QError(kind)
    names = running().names
    names.allow(*names.split(x.s, None))  # before the table is written in place
    onto = append_owned if getrefcount(t) <= NAMED else append
    return put(x, _upserted(t, y, onto))


def _upserted(t: Value, y: Value, onto: Callable[[Value, Value], Value] = append) -> Value:
    if t.__class__ is Dict and t.attr == "s":
        raise QError("step")
    if is_table(t) and is_list(y) and not len(y):
        return t
    if is_table(t) and is_list(y) and _single(t, y):
        y = given_rows(t, y)
    if t.__class__ is Table and is_table(y) and y.__class__ is Dict:
        raise QError("type")
    return onto(t, y)


def _single(t: Value, y: Value) -> bool:
    """Is y a single record with an item that is a list?"""
    items = seq_items(y)
    return (
        len(items) == len(flat(t).names)
        and any(map(atom_t, items))
        and any(map(is_column, items))
        and y.__class__ is not Nd
    )
