"""Grouped queries of a table that is stored in pieces: each piece is grouped by itself, in threads, and what the pieces
give for a group is put together. No more than a few pieces are in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.qsql.aggregates import column_of_floats, total, whole_sums
from kshell.lang.tables.columns import Array, Columns, Groups, OnDisk
from kshell.parse import tree as N
from kshell.store.parted import joined
from kshell.values.base import types as T
from kshell.values.base.build import floats, longs
from kshell.values.base.core import ListValue, Table, Vec
from kshell.values.engine.cast import to_float
from kshell.values.items.pick import take_at

# what a piece gives for an aggregate: columns with a row for each of its groups
Parts = list[ListValue]


class Unfit(Exception):
    """A column whose aggregate cannot be put together from pieces."""


class Way(NamedTuple):
    """How an aggregate is computed: of the groups of a piece, and of those of all, from what the pieces gave."""

    of_piece: Callable[[Groups, ListValue], Parts]
    of_all: Callable[[Groups, Parts], ListValue]


def _vec(x: ListValue | None) -> Vec:
    if x.__class__ is not Vec:
        raise Unfit
    return x


def _sum_of_piece(g: Groups, x: ListValue) -> Parts:
    if x.__class__ is Vec and x.t == T.E:  # rounded once, at the end
        return [_vec(AGGREGATES["sum"](g, floats(to_float(x.a, x.t)))), Vec(T.E, x.a[:0])]
    return [_vec(AGGREGATES["sum"](g, x))]


def _sum_of_all(g: Groups, parts: Parts) -> ListValue:
    column = _vec(parts[0])
    qtype = parts[-1].t  # type: ignore[union-attr]
    sums = total(g, column.a) if column.t in T.FLOATS else whole_sums(g, column.a)
    return Vec(qtype, sums.astype(T.DTYPE[qtype], copy=False))


def _mean_of_piece(g: Groups, x: ListValue) -> Parts:
    column = column_of_floats(g, x)
    if column is None:
        raise Unfit
    return [floats(total(g, column.a)), longs(column.n)]


def _mean_of_all(g: Groups, parts: Parts) -> ListValue:
    sums, counts = (_vec(part).a for part in parts)
    return floats(total(g, sums) / whole_sums(g, counts))


def _alike(name: str) -> Way:
    """An aggregate that is the same over the pieces as in each."""
    aggregate = AGGREGATES[name]

    def over(g: Groups, x: ListValue) -> Parts:
        return [_vec(aggregate(g, x))]

    return Way(over, lambda g, parts: _vec(aggregate(g, parts[0])))


def _end(where: Callable[[Groups], Array]) -> Way:
    return Way(
        lambda g, x: [take_at(x, where(g))],
        lambda g, parts: take_at(parts[0], where(g)),
    )


_WAYS = {
    "count": Way(lambda g, x: [longs(g.counts)], _sum_of_all),
    "sum": Way(_sum_of_piece, _sum_of_all),
    "avg": Way(_mean_of_piece, _mean_of_all),
    **{name: _alike(name) for name in ("min", "max", "all", "any")},
    "first": _end(lambda g: g.first),
    "last": _end(lambda g: g.last),
}


def by_pieces(
    c: Columns, by: Sequence[Any], cols: Sequence[Any]
) -> tuple[list[ListValue], list[ListValue]] | None:
    """The columns of keys and of values of a grouped query over all rows, if all its keys are columns, its values such
    aggregates of columns, and the table is stored in pieces; else None."""
    if c.rows is not None or c.cols.__class__ is not OnDisk or not cols:
        return None
    keys = [p.node.name if isinstance(p.node, N.Name) else "" for _, p in by]
    calls = [p.agg if p.agg is not None and p.agg[0] in _WAYS else ("", "") for _, p in cols]
    columns = {*keys, *(call[1] for call in calls if call[0] != "count")}
    if not all(isinstance(name, str) and name in c.cols for name in columns):
        return None
    # each aggregate once: an average is asked for beside a sum
    ways = [(_WAYS[call[0]], "" if call[0] == "count" else call[1]) for call in calls]

    def of_piece(piece: Table) -> tuple[list[ListValue], list[Parts]]:
        found = [piece.col(name) for name in keys]
        g = Groups(found, len(piece))
        parts = [way.of_piece(g, piece.col(name or keys[0])) for way, name in ways]
        return [take_at(column, g.first) for column in found], parts

    try:
        made = c.cols.source.in_pieces(sorted(columns), of_piece)
        if made is None:
            return None
        found = [joined([piece[0][i] for piece in made]) for i in range(len(keys))]
        g = Groups(found, len(found[0]))
        values = []
        for i, (way, _) in enumerate(ways):
            several = zip(*(piece[1][i] for piece in made), strict=True)
            values.append(way.of_all(g, [joined(list(parts)) for parts in several]))
    except Unfit:
        return None
    return [take_at(column, g.first) for column in found], values
