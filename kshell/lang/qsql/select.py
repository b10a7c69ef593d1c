"""select and exec of one table.

The phrases arrive compiled, as functions of the columns at hand (columns.py). A query runs so: the where phrases
restrict the rows one after another; `by` makes groups of them; then each column is computed, for all groups at once if
it is an aggregate that has a way (aggregates.py), else a group at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from kshell.errors import QError
from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.tables.columns import Array, Columns, GroupColumns, Groups, sized
from kshell.lang.tables.tables import flat, key_names, rekey, sorted_attr
from kshell.parse import tree as N
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
    """One phrase of a template. `fn` is its function of the columns, `node` its parse tree, `name` the name of its
    column or None; `agg`, if it is an aggregate, (verb, argument, ...): the name of a column, or a Phrase to be
    computed over all rows."""

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
    values: Mapping[str, Value]  # what phrases see: these, or the items of a dictionary

    def __init__(self, x: Value) -> None:
        self.value = x
        self.plain = False
        if x.__class__ is Dict and not x.keyed:
            self.plain = True
            self.keys: list[str] = []
            self.values = dict(zip(names_in(x.k), seq_items(x.v), strict=True))
            self.cols = {}
            self.n = max(
                (len(value) for value in self.values.values() if has_items(value)), default=1
            )
            return
        t = flat(x)
        self.keys, self.n = key_names(x), len(t)
        self.values = self.cols = dict(zip(t.names, t.cols, strict=True))


# ------------------------------------------------------------------ where, limit


def matching(p: Phrase, c: Columns) -> Array | None:
    """The rows, by position, that meet a condition; None if all do."""
    x = p.fn(c)
    count = len(c)
    if x.__class__ is not Vec:
        if is_list(x):
            if len(x) == count == 0:
                return None
            raise QError("type")
        qtype = atom_t(x)
        if qtype not in (T.B, T.X, T.H, T.I, T.J):
            raise QError("type")
        return None if raw(x) else np.arange(0)
    if x.t not in (T.B, T.X, T.H, T.I, T.J):
        raise QError("type")
    if len(x) != count:
        raise QError("length")
    positions = np.flatnonzero(x.a)
    return None if len(positions) == count else positions


def restricted(c: Columns, where: list[Phrase]) -> Columns:
    """The columns at the rows that meet all conditions; each is tested where those before it are met."""
    for p in where:
        at = matching(p, c)
        if at is not None:
            c = c.restrict(at)
    return c


def _span(n: Value, size: int) -> tuple[int, int]:
    """Start and end of the rows that `select[n]`, `select[m n]` keep of so many."""
    if n.__class__ is Vec and n.t in (T.H, T.I, T.J) and len(n) == 2:
        start, count = (int(v) for v in n.a)
        return min(max(start, 0), size), min(max(start + count, 0), size)
    if n.__class__ is Vec and len(n) == 1:
        n = n.item(0)
    if atom_t(n) not in (T.H, T.I, T.J):
        raise QError("type")
    count = int(raw(n))
    return (0, min(count, size)) if count >= 0 else (max(size + count, 0), size)


def limited(c: Columns, limit: Limit) -> Array | None:
    """The rows, by position and in order, that a limit expression keeps; None for all."""
    if limit is None:
        return None
    n, way, p = limit
    at: Array | None = None
    if p is not None:
        x = p.fn(c)
        at = np.asarray(x.a) if way is None and x.__class__ is Vec else grade(x, way == ">")
    if n is not None:
        start, end = _span(n, len(c))
        at = np.arange(start, end) if at is None else at[start:end]
    return at


# ------------------------------------------------------------------ groups


def group_by(c: Columns, by: Named) -> tuple[list[ListValue], Groups]:
    """The key columns, an item a group, and the groups."""
    count = len(c)
    keys = [sized(p.fn(c), count) for _, p in by]
    g = Groups(keys, count)
    return [take_at(key, g.first) for key in keys], g


def per_group(p: Phrase, c: Columns, g: Groups, span: GroupColumns) -> ListValue:
    """The list of a phrase's results, one a group."""
    if not g.k:
        return _of_nothing(p, c)
    if p.agg is not None:
        found = _at_once(p.agg, c, g)
        if found is not None:
            return found
    fn, out = p.fn, []
    for span.start, span.end in g.spans():
        out.append(fn(span))
    return collapse(out)


def _at_once(agg: tuple[Any, ...], c: Columns, g: Groups) -> ListValue | None:
    """An aggregate of all groups together, or None if it has to go group by group."""
    fn = AGGREGATES.get(agg[0])
    if fn is None:
        return None
    args = []
    for a in agg[1:]:
        if isinstance(a, str):
            if a not in c:
                return None
            args.append(a if agg[0] == "count" else c[a])
        else:
            x = _whole(a, c)
            if x is None:
                return None
            args.append(x)
    return fn(g, *args) if fn.__code__.co_argcount == len(args) + 1 else None


def _whole(p: Phrase, c: Columns) -> Value | None:
    """A phrase over all rows, if that works and gives a column."""
    try:
        x = p.fn(c)
    except QError:
        return None
    return x if x.__class__ is Vec and len(x) == len(c) else None


def _of_nothing(p: Phrase, c: Columns) -> ListValue:
    """The column of a query that has no group: empty, of the type that the phrase would give."""
    try:
        x = p.fn(c)
    except QError:
        return List([])
    return empty(atom_t(x)) if atom_t(x) not in (0, T.ENUM) else List([])


# ------------------------------------------------------------------ select


def as_rows(values: list[Value]) -> list[ListValue]:
    """The columns of a result: atoms are repeated to the length of the lists; one row if there are atoms only."""
    n = next((len(value) for value in values if has_items(value)), 1)
    return [sized(value, n) for value in values]


def _take_columns(c: Columns, names: list[str]) -> Table:
    return Table(names, [c.column(name) for name in names])


def run_select(
    src: Source, c: Columns, by: Named | None, cols: Named, distinct: bool, limit: Limit
) -> Value:
    """The result of a select: a table, keyed by `by`."""
    if by is not None:
        return _cut(_select_by(src, c, by, cols), limit)
    at = limited(c, limit)
    if at is not None:
        c = c.restrict(at)
    if src.plain:
        return _select_dict(src, c, cols)
    if cols:
        out: Value = Table([str(n) for n, _ in cols], as_rows([p.fn(c) for _, p in cols]))
    elif c.rows is None:
        out = src.value
    else:
        out = rekey(_take_columns(c, list(src.cols)), src.keys)
    if distinct:
        t = flat(out)
        out = rekey(take_at(t, distinct_at(t)), key_names(out))
    return out


def _select_dict(src: Source, c: Columns, cols: Named) -> Value:
    if not cols and c.rows is None:
        return src.value
    pairs = (
        [(str(n), p.fn(c)) for n, p in cols]
        if cols
        else [(column, c[column]) for column in src.values]
    )
    return symdict([n for n, _ in pairs], [v for _, v in pairs])


def _select_by(src: Source, c: Columns, by: Named, cols: Named) -> Dict:
    tops, g = group_by(c, by)
    if len(tops) == 1:
        tops = [sorted_attr(tops[0])]
    return Dict(Table([str(n) for n, _ in by], tops), _values_by(src, c, g, by, cols))


def _values_by(src: Source, c: Columns, g: Groups, by: Named, cols: Named) -> Table:
    """The value columns of a grouped query; without phrases, the last row of each group."""
    if not cols:
        keys = {n for n, _ in by}
        names = [column for column in src.cols if column not in keys]
        last = c.restrict(g.last)
        return _take_columns(last, names)
    span = GroupColumns(c, g)
    return Table([str(n) for n, _ in cols], [per_group(p, c, g, span) for _, p in cols])


def _cut(x: Dict, limit: Limit) -> Value:
    """A limit applied to a grouped result."""
    if limit is None:
        return x
    t = flat(x)
    at = limited(Columns(dict(zip(t.names, t.cols, strict=True)), len(t)), limit)
    return x if at is None else take_at(x, at)


# ------------------------------------------------------------------ exec


def run_exec(src: Source, c: Columns, by: Named | None, cols: Named, distinct: bool) -> Value:
    """The result of an exec: a list for one column without a name, else a dictionary; by groups, keys!values."""
    if by is not None:
        return _exec_by(src, c, by, cols)
    if not cols:
        if src.plain:
            return src.value
        t = _take_columns(c, list(src.cols))
        return t.item(len(t) - 1) if len(t) else take_at(t, np.array([-1])).item(0)
    values = [p.fn(c) for _, p in cols]
    if distinct:
        values[0] = _distinct(values[0])
    if cols[0][0] is None:
        return values[0]
    return symdict([str(n) for n, _ in cols], values)


def _distinct(x: Value) -> Value:
    return take_at(x, distinct_at(x)) if has_items(x) else x


def _exec_by(src: Source, c: Columns, by: Named, cols: Named) -> Value:
    tops, g = group_by(c, by)
    keys: ListValue = tops[0]
    if by[0][0] is not None:
        keys = Table([str(n) for n, _ in by], tops)
    if cols and cols[0][0] is None:
        return mkdict(keys, per_group(cols[0][1], c, g, GroupColumns(c, g)))
    return mkdict(keys, _values_by(src, c, g, by, cols))
