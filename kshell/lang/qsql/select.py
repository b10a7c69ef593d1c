"""select and exec on one table.

The phrases arrive compiled, as functions of the available columns (columns.py). A query runs as follows: the where
phrases restrict the rows one after another; `by` groups them; then each column is computed, for all groups at once if
it is an aggregate with a grouped version (aggregates.py), else one group at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from kshell.errors import QError
from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.tables.columns import Array, Columns, GroupColumns, Groups, OnDisk, sized
from kshell.lang.tables.tables import flat, key_names, rekey, sorted_attr
from kshell.parse import tree as N
from kshell.store.splay import LazyCols
from kshell.values.base import types as T
from kshell.values.base.build import collapse, empty, mkdict, symdict
from kshell.values.base.core import (
    Dict,
    List,
    ListValue,
    Table,
    Value,
    Vec,
    atom_t,
    is_list,
    raw,
    seq_items,
)
from kshell.values.base.narrow import has_items, names_in
from kshell.values.items.order import grade
from kshell.values.items.pick import take_at
from kshell.values.items.search import distinct_at


class Phrase:
    """A phrase of a template. `fn` is its function of the columns, `node` its parse tree, `name` the column name or
    None; `agg`, if it is an aggregate, is (verb, argument, ...), where an argument is a column name, or a Phrase to be
    evaluated over all rows."""

    __slots__ = ("agg", "fn", "name", "node")

    def __init__(
        self,
        fn: Callable[[Columns], Value],
        node: N.Node,
        name: str | None,
        agg: tuple[Any, ...] | None = None,
    ) -> None:
        self.fn, self.node, self.name, self.agg = fn, node, name, agg


Named = list[tuple[str | None, Phrase]]
Limit: TypeAlias = "tuple[Value | None, str | None, Phrase | None] | None"


class Source:
    """The source of a query: a table, a keyed table (`keys` names its keys) or a dictionary."""

    __slots__ = ("cols", "keys", "n", "plain", "value", "values")
    cols: Mapping[str, ListValue]  # of a table
    values: Mapping[str, Value]  # visible to phrases: these, or a dictionary's items

    def __init__(self, x: Value) -> None:
        self.value = x
        self.plain = False
        if x.__class__ is Dict and not x.keyed:
            self.plain = True
            self.keys: list[str] = []
            self.values = dict(zip(names_in(x.k), seq_items(x.v), strict=True))
            self.cols = {}
            self.n = max(
                (len(column) for column in self.values.values() if has_items(column)), default=1
            )
            return
        table = flat(x)
        self.keys, self.n = key_names(x), len(table)
        self.values = self.cols = columns_of(table)


def columns_of(t: Table) -> Mapping[str, ListValue]:
    """The columns of a table by name; those on disk are not read yet."""
    cols = t.cols
    return OnDisk(cols) if isinstance(cols, LazyCols) else dict(zip(t.names, cols, strict=True))


# ------------------------------------------------------------------ where, limit


def matching(p: Phrase, c: Columns) -> Array | None:
    """The positions of the rows that meet a condition; None for all."""
    flags = p.fn(c)
    count = len(c)
    if flags.__class__ is not Vec:
        if is_list(flags):
            if len(flags) == count == 0:
                return None
            raise QError("type")
        qtype = atom_t(flags)
        if qtype not in (T.B, T.X, T.H, T.I, T.J):
            raise QError("type")
        return None if raw(flags) else np.arange(0)
    if flags.t not in (T.B, T.X, T.H, T.I, T.J):
        raise QError("type")
    if len(flags) != count:
        raise QError("length")
    positions = np.flatnonzero(flags.a)
    return None if len(positions) == count else positions


def restricted(c: Columns, where: list[Phrase]) -> Columns:
    """The columns at the rows that meet all conditions; each condition is tested only where those before it hold."""
    for phrase in where:
        positions = matching(phrase, c)
        if positions is not None:
            c = c.restrict(positions)
    return c


def _span(n: Value, size: int) -> tuple[int, int]:
    """Start and end of the rows that `select[n]` or `select[m n]` keeps."""
    if n.__class__ is Vec and n.t in (T.H, T.I, T.J) and len(n) == 2:
        start, count = (int(number) for number in n.a)
        return min(max(start, 0), size), min(max(start + count, 0), size)
    if n.__class__ is Vec and len(n) == 1:
        n = n.item(0)
    if atom_t(n) not in (T.H, T.I, T.J):
        raise QError("type")
    count = int(raw(n))
    return (0, min(count, size)) if count >= 0 else (max(size + count, 0), size)


def limited(c: Columns, limit: Limit) -> Array | None:
    """The positions, in order, of the rows that a limit expression keeps; None for all."""
    if limit is None:
        return None
    count, order, phrase = limit
    positions: Array | None = None
    if phrase is not None:
        column = phrase.fn(c)
        positions = (
            np.asarray(column.a)
            if order is None and column.__class__ is Vec
            else grade(column, order == ">")
        )
    if count is not None:
        start, stop = _span(count, len(c))
        positions = np.arange(start, stop) if positions is None else positions[start:stop]
    return positions


# ------------------------------------------------------------------ groups


def group_by(c: Columns, by: Named) -> tuple[list[ListValue], Groups]:
    """The key columns, one item per group, and the groups."""
    count = len(c)
    keys = [sized(phrase.fn(c), count) for _, phrase in by]
    groups = Groups(keys, count)
    return [take_at(column, groups.first) for column in keys], groups


def per_group(p: Phrase, c: Columns, g: Groups, span: GroupColumns) -> ListValue:
    """A phrase's results as a list, one per group."""
    if not g.k:
        return _of_nothing(p, c)
    if p.agg is not None:
        column = _at_once(p.agg, c, g)
        if column is not None:
            return column
    function, results = p.fn, []
    for span.start, span.end in g.spans():
        results.append(function(span))
    return collapse(results)


def _at_once(agg: tuple[Any, ...], c: Columns, g: Groups) -> ListValue | None:
    """An aggregate for all groups together, or None if it has to be computed group by group."""
    aggregate = AGGREGATES.get(agg[0])
    if aggregate is None:
        return None
    arguments = []
    for argument in agg[1:]:
        if isinstance(argument, str):
            if argument not in c:
                return None
            arguments.append(argument if agg[0] == "count" else c[argument])
        else:
            column = _whole(argument, c)
            if column is None:
                return None
            arguments.append(column)
    return (
        aggregate(g, *arguments) if aggregate.__code__.co_argcount == len(arguments) + 1 else None
    )


def _whole(p: Phrase, c: Columns) -> Value | None:
    """A phrase over all rows, if that works and gives a column."""
    try:
        column = p.fn(c)
    except QError:
        return None
    return column if column.__class__ is Vec and len(column) == len(c) else None


def _of_nothing(p: Phrase, c: Columns) -> ListValue:
    """The column of a query without groups: empty, with the type that the phrase would give."""
    try:
        result = p.fn(c)
    except QError:
        return List([])
    return empty(atom_t(result)) if atom_t(result) not in (0, T.ENUM) else List([])


# ------------------------------------------------------------------ select


def as_rows(values: list[Value]) -> list[ListValue]:
    """The columns of a result: atoms are repeated to the length of the lists; if there are only atoms, one row."""
    length = next((len(column) for column in values if has_items(column)), 1)
    return [sized(column, length) for column in values]


def _take_columns(c: Columns, names: list[str]) -> Table:
    return Table(names, [c.column(name) for name in names])


def run_select(
    src: Source, c: Columns, by: Named | None, cols: Named, distinct: bool, limit: Limit
) -> Value:
    """The result of a select: a table, keyed by `by`."""
    if by is not None:
        return _cut(_select_by(src, c, by, cols), limit)
    positions = limited(c, limit)
    if positions is not None:
        c = c.restrict(positions)
    if src.plain:
        return _select_dict(src, c, cols)
    if cols:
        result: Value = Table(
            [str(name) for name, _ in cols], as_rows([phrase.fn(c) for _, phrase in cols])
        )
    elif c.rows is None:
        result = src.value
    else:
        result = rekey(_take_columns(c, list(src.cols)), src.keys)
    if distinct:
        table = flat(result)
        result = rekey(take_at(table, distinct_at(table)), key_names(result))
    return result


def _select_dict(src: Source, c: Columns, cols: Named) -> Value:
    if not cols and c.rows is None:
        return src.value
    pairs = (
        [(str(name), phrase.fn(c)) for name, phrase in cols]
        if cols
        else [(column, c[column]) for column in src.values]
    )
    return symdict([name for name, _ in pairs], [value for _, value in pairs])


def _select_by(src: Source, c: Columns, by: Named, cols: Named) -> Dict:
    keys, groups = group_by(c, by)
    return _keyed(by, keys, _values_by(src, c, groups, by, cols))


def _keyed(by: Named, keys: list[ListValue], values: Table) -> Dict:
    if len(keys) == 1:
        keys = [sorted_attr(keys[0])]
    return Dict(Table([str(name) for name, _ in by], keys), values)


def of_groups(
    is_exec: bool,
    by: Named,
    cols: Named,
    found: tuple[list[ListValue], list[ListValue]],
    limit: Limit,
) -> Value:
    """The result of a grouped query, from its columns of keys and of values."""
    keys, columns = found
    values = Table([str(name) for name, _ in cols], columns)
    if not is_exec:
        return _cut(_keyed(by, keys, values), limit)
    return mkdict(_exec_keys(by, keys), columns[0] if cols[0][0] is None else values)


def _values_by(src: Source, c: Columns, g: Groups, by: Named, cols: Named) -> Table:
    """The value columns of a grouped query; without phrases, the last row of each group."""
    if not cols:
        keys = {name for name, _ in by}
        names = [column for column in src.cols if column not in keys]
        last_rows = c.restrict(g.last)
        return _take_columns(last_rows, names)
    span = GroupColumns(c, g)
    return Table(
        [str(name) for name, _ in cols], [per_group(phrase, c, g, span) for _, phrase in cols]
    )


def _cut(x: Dict, limit: Limit) -> Value:
    """Apply a limit to a grouped result."""
    if limit is None:
        return x
    table = flat(x)
    positions = limited(Columns(dict(zip(table.names, table.cols, strict=True)), len(table)), limit)
    return x if positions is None else take_at(x, positions)


# ------------------------------------------------------------------ exec


def run_exec(src: Source, c: Columns, by: Named | None, cols: Named, distinct: bool) -> Value:
    """The result of an exec: a list for one unnamed column, else a dictionary; with groups, keys!values."""
    if by is not None:
        return _exec_by(src, c, by, cols)
    if not cols:
        if src.plain:
            return src.value
        table = _take_columns(c, list(src.cols))
        return table.item(len(table) - 1) if len(table) else take_at(table, np.array([-1])).item(0)
    values = [phrase.fn(c) for _, phrase in cols]
    if distinct:
        values[0] = _distinct(values[0])
    if cols[0][0] is None:
        return values[0]
    return symdict([str(name) for name, _ in cols], values)


def _distinct(x: Value) -> Value:
    return take_at(x, distinct_at(x)) if has_items(x) else x


def _exec_by(src: Source, c: Columns, by: Named, cols: Named) -> Value:
    columns, groups = group_by(c, by)
    keys = _exec_keys(by, columns)
    if cols and cols[0][0] is None:
        return mkdict(keys, per_group(cols[0][1], c, groups, GroupColumns(c, groups)))
    return mkdict(keys, _values_by(src, c, groups, by, cols))


def _exec_keys(by: Named, columns: list[ListValue]) -> ListValue:
    return columns[0] if by[0][0] is None else Table([str(name) for name, _ in by], columns)
