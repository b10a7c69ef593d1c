"""qSQL update and delete: of a table or dictionary by value, or in place by name."""

from __future__ import annotations

import numpy as np

from kshell.errors import QError
from kshell.lang.qsql.select import Named, Phrase, Source, group_by, per_group, restricted
from kshell.lang.tables.columns import Array, Columns, GroupColumns, Groups, is_column, sized
from kshell.lang.tables.tables import by_name, member, on_disk_kind, rekey
from kshell.store import splay
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import Dict, List, Nd, Sym, Table, Value, Vec, seq_items, sym
from kshell.values.change.join import concat
from kshell.values.engine.cast import widen
from kshell.values.items.pick import take_at
from kshell.values.session.context import running
from kshell.values.session.interrupts import edit

# ------------------------------------------------------------------ update


def update(table: Value, where: list[Phrase], by: Named | None, cols: Named) -> Value:
    """Change or add columns of a table, at the rows that meet the conditions."""
    return by_name(_in_memory(table), lambda x: _updated(x, where, by, cols))


def _in_memory(table: Value, drops: bool = False) -> Value:
    """A table in a folder is never changed there; the result is a table with its columns in memory. Its name cannot be
    used for an in-place change, and its columns cannot be dropped: 'splay. A partitioned table cannot be held in
    memory: 'par."""
    is_name = table.__class__ is Sym and table.s[:1] != ":"
    x = running().names.find(table.s) if is_name else table
    if x.__class__ is Sym and splay.is_splayed(x.s[1:]):
        x = splay.read(x.s[1:])
    kind = on_disk_kind(x)
    if kind and (is_name or drops or kind == "par"):
        raise QError(kind)
    return Table(x.names, list(x.cols)) if kind else table


def _updated(x: Value, where: list[Phrase], by: Named | None, cols: Named) -> Value:
    src = Source(x)
    if src.plain:
        return _updated_dict(src, where, by, cols)
    c = restricted(Columns(src.cols, src.n), where)
    rows = (
        np.arange(src.n) if where and c.rows is None else c.rows
    )  # with a condition, columns keep their types
    out = dict(src.cols)
    for name, value in _values(c, by, cols):
        out[name] = placed(src.cols.get(name), src.n, rows, value)
    return rekey(Table(list(out), list(out.values())), src.keys)


def _values(c: Columns, by: Named | None, cols: Named) -> list[tuple[str, Value]]:
    """The new columns, one item per row."""
    if by is None:
        return [(str(n), sized(p.fn(c), len(c))) for n, p in cols]
    _, g = group_by(c, by)
    span = GroupColumns(c, g)
    return [(str(n), spread(per_group(p, c, g, span), g)) for n, p in cols]


def _updated_dict(src: Source, where: list[Phrase], by: Named | None, cols: Named) -> Dict:
    if by is not None or where:
        raise QError("type")
    c = Columns(src.cols, src.n)
    out = dict(src.cols)
    for name, p in cols:
        out[str(name)] = p.fn(c)
    return Dict(Vec(T.S, np.array([sym(n).v for n in out], np.int32)), collapse(list(out.values())))


def spread(results: Value, g: Groups) -> Value:
    """Results, one per group, as a column: an atom goes to every row of its group, a list is spread along the rows."""
    if results.__class__ is Vec:
        return take_at(results, g.ids)
    counts = g.counts.tolist()
    parts = [
        sized(x, count) if is_column(x) else _same(x, count)
        for x, count in zip(seq_items(results), counts, strict=True)
    ]
    return take_at(concat(parts), g.back()) if parts else List([])


def _same(x: Value, n: int) -> Value:
    return sized(x, n) if x.__class__ is not Dict else collapse([x] * n)


# columns that accept narrower integers: counts are ints, columns written as `n:0` are longs
_WIDER = {T.H: (T.I, T.J), T.I: (T.J,)}


def placed(old: Value | None, n: int, rows: Array | None, new: Value) -> Value:
    """A column with new items at some rows: all rows if rows is None; a new column is null elsewhere. Items of another
    type are 'type, except narrower integers."""
    if rows is None:
        return new
    if old is None:
        at = np.full(n, -1, np.int64)
        at[rows] = np.arange(len(rows))
        return take_at(new, at)
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


def _placed_items(old: Value, rows: Array, new: Value) -> Value:
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
    for row, x in zip(rows.tolist(), seq_items(new), strict=True):
        items[row] = x
    return collapse(items)


# ------------------------------------------------------------------ delete


def delete(table: Value, where: list[Phrase], names: list[str]) -> Value:
    """Delete some columns, or the rows that meet the conditions (all if there are none); keys of a dictionary;
    variables of a namespace (by name)."""
    if table.__class__ is Sym and _is_space(table.s):
        space = running().names
        known = space.members(table.s)
        prefix = "" if table.s == "." else f"{table.s}."
        for n in names:
            if n not in known and (prefix or space.view(n) is None):
                raise QError(prefix + n)
        _delete_variables([prefix + fromkey for fromkey in dict.fromkeys(names or known)])
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
    src = Source(x)
    if names:
        if where:
            raise QError("nyi")
        if src.plain:
            return _without_keys(x, names)
        gone = set(names)
        left = {key: col for key, col in src.cols.items() if key not in gone}
        return rekey(
            Table(list(left), list(left.values())), [key for key in src.keys if key in left]
        )
    if src.plain:
        if where:
            raise QError("type")
        return take_at(x, np.arange(0))
    c = restricted(Columns(src.cols, src.n), where)
    keep = np.ones(src.n, np.bool_)
    keep[... if c.rows is None else c.rows] = False
    return take_at(x, np.flatnonzero(keep))


def _without_keys(d: Dict, names: list[str]) -> Dict:
    gone = set(names)
    keep = np.array([i for i, item in enumerate(seq_items(d.k)) if item.s not in gone], np.int64)
    return Dict(take_at(d.k, keep), take_at(d.v, keep))
