"""qSQL update and delete: of a table or dictionary by value, or in place by name."""

from __future__ import annotations

import numpy as np

from kshell.errors import QError
from kshell.lang.qsql.select import Named, Phrase, Source, group_by, per_group, restricted
from kshell.lang.tables.columns import Array, Columns, GroupColumns, Groups, sized
from kshell.lang.tables.tables import by_name, member, on_disk_kind, rekey
from kshell.store import splay
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import Dict, List, ListValue, Nd, Table, Value, Vec, seq_items
from kshell.values.base.narrow import has_items, names_in
from kshell.values.base.symbols import Sym, sym
from kshell.values.change.concat import concat
from kshell.values.engine.cast import widen
from kshell.values.items.pick import take_at
from kshell.values.session.context import running
from kshell.values.session.interrupts import edit
from kshell.values.session.restrict import check_read

# ------------------------------------------------------------------ update


def update(table: Value, where: list[Phrase], by: Named | None, cols: Named) -> Value:
    """Change or add columns of a table, at the rows that meet the conditions."""
    return by_name(_in_memory(table), lambda x: _updated(x, where, by, cols))


def _in_memory(table: Value, drops: bool = False) -> Value:
    """A table in a folder is never changed there; the result is a table with its columns in memory. Its name cannot be
    used for an in-place change, and its columns cannot be dropped: 'splay. A partitioned table cannot be held in
    memory: 'par."""
    is_name = False
    stored: Value | None = table
    if table.__class__ is Sym and table.s[:1] != ":":
        is_name, stored = True, running().names.find(table.s)
    if stored.__class__ is Sym and stored.s[:1] == ":":
        check_read(stored.s[1:])
    if stored.__class__ is Sym and splay.is_splayed(stored.s[1:]):
        stored = splay.read(stored.s[1:])
    kind = "" if stored is None else on_disk_kind(stored)
    if kind and (is_name or drops or kind == "par"):
        raise QError(kind)
    return Table(stored.names, list(stored.cols)) if kind and stored.__class__ is Table else table


def _updated(x: Value, where: list[Phrase], by: Named | None, cols: Named) -> Value:
    source = Source(x)
    if source.plain:
        return _updated_dict(source, where, by, cols)
    columns = restricted(Columns(source.cols, source.n), where)
    # with a condition, columns keep their types
    rows = np.arange(source.n) if where and columns.rows is None else columns.rows
    updated = dict(source.cols)
    for name, value in _values(columns, by, cols):
        updated[name] = placed(source.cols.get(name), source.n, rows, value)
    return rekey(Table(list(updated), list(updated.values())), source.keys)


def _values(c: Columns, by: Named | None, cols: Named) -> list[tuple[str, ListValue]]:
    """The new columns, one item per row."""
    if by is None:
        return [(str(name), sized(phrase.fn(c), len(c))) for name, phrase in cols]
    _, groups = group_by(c, by)
    span = GroupColumns(c, groups)
    return [
        (str(name), spread(per_group(phrase, c, groups, span), groups)) for name, phrase in cols
    ]


def _updated_dict(src: Source, where: list[Phrase], by: Named | None, cols: Named) -> Dict:
    if by is not None or where:
        raise QError("type")
    columns = Columns(src.values, src.n)
    updated = dict(src.values)
    for name, phrase in cols:
        updated[str(name)] = phrase.fn(columns)
    return Dict(
        Vec(T.S, np.array([sym(name).v for name in updated], np.int32)),
        collapse(list(updated.values())),
    )


def spread(results: ListValue, g: Groups) -> ListValue:
    """Results, one per group, as a column: an atom goes to every row of its group, a list is spread along the rows."""
    if results.__class__ is Vec:
        return take_at(results, g.ids)
    counts = g.counts.tolist()
    stretched = [
        sized(result, count) if has_items(result) else _same(result, count)
        for result, count in zip(seq_items(results), counts, strict=True)
    ]
    return take_at(concat(stretched), g.back()) if stretched else List([])


def _same(x: Value, n: int) -> ListValue:
    return sized(x, n) if x.__class__ is not Dict else collapse([x] * n)


# columns that accept narrower integers: counts are ints, columns written as `n:0` are longs
_WIDER = {T.H: (T.I, T.J), T.I: (T.J,)}


def placed(old: ListValue | None, n: int, rows: Array | None, new: ListValue) -> ListValue:
    """A column with new items at some rows: all rows if rows is None; a new column is null elsewhere. Items of another
    type are 'type, except narrower integers."""
    if rows is None:
        return new
    if old is None:
        positions = np.full(n, -1, np.int64)
        positions[rows] = np.arange(len(rows))
        return take_at(new, positions)
    if not len(rows):
        return old
    if old.__class__ is Vec:
        if old.t == T.ENUM:
            new = member(new, old.dom)
        if new.__class__ is not Vec or (new.t != old.t and old.t not in _WIDER.get(new.t, ())):
            raise QError("type")
        array = old.a.copy()
        array[rows] = new.a if new.t == old.t else widen(new.a, new.t, old.t)
        return Vec(old.t, array, "", old.dom)
    return _placed_items(old, rows, new)


def _placed_items(old: ListValue, rows: Array, new: ListValue) -> ListValue:
    if (
        old.__class__ is Nd
        and new.__class__ is Nd
        and old.t == new.t
        and old.a.shape[1:] == new.a.shape[1:]
    ):
        array = old.a.copy()
        array[rows] = new.a
        return Nd(old.t, array)
    items = list(old.items)
    for row, item in zip(rows.tolist(), seq_items(new), strict=True):
        items[row] = item
    return collapse(items)


# ------------------------------------------------------------------ delete


def delete(table: Value, where: list[Phrase], names: list[str]) -> Value:
    """Delete some columns, or the rows that meet the conditions (all if there are none); keys of a dictionary;
    variables of a namespace (by name)."""
    if table.__class__ is Sym and _is_space(table.s):
        space = running().names
        members = space.members(table.s)
        prefix = "" if table.s == "." else f"{table.s}."
        for name in names:
            if name not in members and (prefix or space.view(name) is None):
                raise QError(prefix + name)
        _delete_variables([prefix + member for member in dict.fromkeys(names or members)])
        return table
    return by_name(_in_memory(table, bool(names)), lambda x: _deleted(x, where, names))


@edit("delete")
def _delete_variables(names: list[str]) -> None:
    space = running().names
    for name in names:
        space.delete(name, ".")


def _is_space(name: str) -> bool:
    return name == "." or (name.startswith(".") and name in running().names.spaces)


def _deleted(x: Value, where: list[Phrase], names: list[str]) -> Value:
    source = Source(x)
    if names:
        if where:
            raise QError("nyi")
        if x.__class__ is Dict and source.plain:
            return _without_keys(x, names)
        dropped = set(names)
        remaining = {key: column for key, column in source.cols.items() if key not in dropped}
        return rekey(
            Table(list(remaining), list(remaining.values())),
            [key for key in source.keys if key in remaining],
        )
    if source.plain:
        if where:
            raise QError("type")
        return _rows(x, np.arange(0))
    columns = restricted(Columns(source.cols, source.n), where)
    mask = np.ones(source.n, np.bool_)
    mask[... if columns.rows is None else columns.rows] = False
    return _rows(x, np.flatnonzero(mask))


def _rows(x: Value, at: Array) -> Value:
    if x.__class__ is Table or x.__class__ is Dict:
        return take_at(x, at)
    raise QError("type")


def _without_keys(d: Dict, names: list[str]) -> Dict:
    dropped = set(names)
    positions = np.array(
        [position for position, name in enumerate(names_in(d.k)) if name not in dropped], np.int64
    )
    return Dict(take_at(d.k, positions), take_at(d.v, positions))
