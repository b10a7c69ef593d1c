"""select and exec on one table.

The phrases arrive compiled, as functions of the available columns (columns.py). A query runs as follows: the where
phrases restrict the rows one after another; `by` groups them; then each column is computed, for all groups at once if
it is an aggregate with a grouped version (aggregates.py), else one group at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.tables.columns import Array, Columns, GroupColumns, Groups, is_column, sized
from kshell.lang.tables.tables import flat, key_names, rekey, sorted_attr
from kshell.values.base import types as T
from kshell.values.base.build import collapse, empty, mkdict, symdict
from kshell.values.base.core import Dict, List, Table, Value, Vec, atom_t, is_list, raw, seq_items
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
        node: Any,
        name: str | None,
        agg: tuple[Any, ...] | None = None,
    ) -> None:
        self.fn, self.node, self.name, self.agg = fn, node, name, agg


Named = list[tuple[str | None, Phrase]]
Limit = tuple[Value | None, str | None, Phrase | None] | None


class Source:
    """The source of a query: a table, a keyed table (`keys` names its keys) or a dictionary."""

    __slots__ = ("cols", "keys", "n", "plain", "value")

    def __init__(self, x: Value) -> None:
        self.value = x
        self.plain = x.__class__ is Dict and not x.keyed
        if self.plain:
            if x.k.__class__ is not Vec or x.k.t != T.S:
                if len(x.k):
                    raise QError("type")
            self.keys: list[str] = []
            self.cols = {item.s: v for item, v in zip(seq_items(x.k), seq_items(x.v), strict=True)}
            self.n = max(
                (len(value) for value in self.cols.values() if is_column(value)), default=1
            )
            return
        t = flat(x)
        self.keys, self.n = key_names(x), len(t)
        self.cols = dict(zip(t.names, t.cols, strict=True))


# ------------------------------------------------------------------ where, limit


def matching(p: Phrase, c: Columns) -> Array | None:
    """The positions of the rows that meet a condition; None for all."""
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
    """The columns at the rows that meet all conditions; each condition is tested only where those before it hold."""
    for p in where:
        at = matching(p, c)
        if at is not None:
            c = c.restrict(at)
    return c


def _span(n: Value, size: int) -> tuple[int, int]:
    """Start and end of the rows that `select[n]` or `select[m n]` keeps."""
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
    """The positions, in order, of the rows that a limit expression keeps; None for all."""
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


def group_by(c: Columns, by: Named) -> tuple[list[Value], Groups]:
    """The key columns, one item per group, and the groups."""
    count = len(c)
    keys = [sized(p.fn(c), count) for _, p in by]
    g = Groups(keys, count)
    return [take_at(key, g.first) for key in keys], g


def per_group(p: Phrase, c: Columns, g: Groups, span: GroupColumns) -> Value:
    """A phrase's results as a list, one per group."""
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


def _at_once(agg: tuple[Any, ...], c: Columns, g: Groups) -> Value | None:
    """An aggregate for all groups together, or None if it has to be computed group by group."""
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


def _of_nothing(p: Phrase, c: Columns) -> Value:
    """The column of a query without groups: empty, with the type that the phrase would give."""
    try:
        x = p.fn(c)
    except QError:
        return List([])
    return empty(atom_t(x)) if atom_t(x) not in (0, T.ENUM) else List([])


# ------------------------------------------------------------------ select


def as_rows(values: list[Value]) -> list[Value]:
    """The columns of a result: atoms are repeated to the length of the lists; if there are only atoms, one row."""
    n = next((len(value) for value in values if is_column(value)), 1)
    return [sized(value, n) for value in values]


def _take_columns(c: Columns, names: list[str]) -> Table:
    return Table(names, [c[name] for name in names])


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


def _select_dict(src: Source, c: Columns, cols: Named) -> Dict:
    if not cols and c.rows is None:
        return src.value
    pairs = (
        [(str(n), p.fn(c)) for n, p in cols]
        if cols
        else [(column, c[column]) for column in src.cols]
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
    """Apply a limit to a grouped result."""
    if limit is None:
        return x
    t = flat(x)
    at = limited(Columns(dict(zip(t.names, t.cols, strict=True)), len(t)), limit)
    return x if at is None else take_at(x, at)


# ------------------------------------------------------------------ exec


def run_exec(src: Source, c: Columns, by: Named | None, cols: Named, distinct: bool) -> Value:
    """The result of an exec: a list for one unnamed column, else a dictionary; with groups, keys!values."""
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
    return take_at(x, distinct_at(x)) if is_column(x) else x


def _exec_by(src: Source, c: Columns, by: Named, cols: Named) -> Value:
    tops, g = group_by(c, by)
    keys: Value = tops[0]
    if by[0][0] is not None:
        keys = Table([str(n) for n, _ in by], tops)
    if cols and cols[0][0] is None:
        return mkdict(keys, per_group(cols[0][1], c, g, GroupColumns(c, g)))
    return mkdict(keys, _values_by(src, c, g, by, cols))
