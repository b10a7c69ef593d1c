"""Grouped queries of a table that is stored in pieces or in partitions: each is grouped by itself, in threads, and what
they give for a group is put together. No more than a few pieces are in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from kshell.errors import QError
from kshell.lang.compiler.aggregate_calls import AGGREGATES
from kshell.lang.qsql.aggregates import column_of_floats, products_of_floats, total, whole_sums
from kshell.lang.qsql.conditions import leading
from kshell.lang.qsql.row_phrases import columns_in, of_rows
from kshell.lang.qsql.select import Named, Phrase, columns_of, restricted
from kshell.lang.tables.columns import Array, Columns, Groups, OnDisk, sized
from kshell.parse import tree as N
from kshell.store.parted import joined
from kshell.store.splay import Coded
from kshell.values.base import types as T
from kshell.values.base.build import floats, longs
from kshell.values.base.core import ListValue, Table, Vec
from kshell.values.engine.cast import has_null, to_float
from kshell.values.items.integer_keys import bounds
from kshell.values.items.pick import take_at

_WHOLE = (T.H, T.I, T.J)
_SLOTS = 1 << 17  # the most places of groups in a table of them, if the rows are not more
# what a piece gives for an aggregate: columns with a row for each of its groups
Parts = list[ListValue]


class Unfit(Exception):
    """A column whose aggregate cannot be put together from pieces."""


class Way(NamedTuple):
    """How an aggregate is computed: of the groups of a piece, and of those of all, from what the pieces gave."""

    of_piece: Callable[..., Parts]  # of the groups and the columns
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
    if x.__class__ is Vec and x.t in _WHOLE and not has_null(x.a, x.t):
        return [floats(total(g, x.a)), longs(g.counts)]
    column = column_of_floats(g, x)
    if column is None:
        raise Unfit
    return [floats(total(g, column.a)), longs(column.n)]


def _mean_of_all(g: Groups, parts: Parts) -> ListValue:
    sums, counts = (_vec(part).a for part in parts)
    return floats(total(g, sums) / whole_sums(g, counts))


def _products_of_piece(g: Groups, x: ListValue, y: ListValue) -> Parts:
    found = products_of_floats(g, x, y)
    if found is None:
        raise Unfit
    return [floats(part) for part in found]


def _ratio_of_all(g: Groups, parts: Parts) -> ListValue:
    products, weights = (_vec(part).a for part in parts)
    return floats(total(g, products) / total(g, weights))


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
    "count": Way(lambda g: [longs(g.counts)], _sum_of_all),
    "sum": Way(_sum_of_piece, _sum_of_all),
    "avg": Way(_mean_of_piece, _mean_of_all),
    "wavg": Way(_products_of_piece, _ratio_of_all),
    **{name: _alike(name) for name in ("min", "max", "all", "any")},
    "first": _end(lambda g: g.first),
    "last": _end(lambda g: g.last),
}


# the columns of keys and of values; none if there are no rows
Found = tuple[list[ListValue], list[ListValue]]


class Made(NamedTuple):
    """What some rows give: the keys of their groups, and for each value its parts."""

    keys: list[ListValue]
    parts: list[Parts]


class Grouping:
    """A grouped query of some columns. It `fits` if its keys are of single rows, and its values such aggregates."""

    def __init__(self, columns: Sequence[str], where: list[Phrase], by: Named, cols: Named) -> None:
        self._where = where
        self._keys = [phrase for _, phrase in by]
        calls = [phrase.agg or ("",) for _, phrase in cols]
        ways = [(_WAYS.get(call[0]), () if call[0] == "count" else call[1:]) for call in calls]
        self._ways = [(way, arguments) for way, arguments in ways if way is not None]
        given = [x for _, arguments in self._ways for x in arguments]
        direct = {x for x in given if isinstance(x, str)}
        phrases = [*self._keys, *(x for x in given if isinstance(x, Phrase))]
        self.fits = bool(cols) and len(self._ways) == len(cols) and direct <= {*columns}
        self.fits = self.fits and all(of_rows(phrase, columns) for phrase in phrases)
        used = {*columns_in([*phrases, *where], columns), *direct}
        self.names = [name for name in columns if name in used]

    def of_table(self, t: Table) -> Made | None:
        return self.of_columns(lambda: restricted(Columns(columns_of(t), len(t)), self._where))

    def of_columns(self, chosen: Callable[[], Columns]) -> Made | None:
        """What the rows that were chosen give; None if there are none. An error leaves it to the query of the whole,
        which says it."""
        try:
            c = chosen()
            n = len(c)
            if not n:
                return None
            g, keys = _grouped([_key(c, phrase) for phrase in self._keys], n)
            columns = [[_argument(c, x) for x in arguments] for _, arguments in self._ways]
            ways = zip(self._ways, columns, strict=True)
            return Made(keys, [way.of_piece(g, *given) for (way, _), given in ways])
        except QError:
            pass
        raise Unfit

    def together(self, made: Sequence[Made | None]) -> Found:
        there = [piece for piece in made if piece is not None]
        if not there:
            return [], []
        keys = [_joined(columns) for columns in zip(*(piece.keys for piece in there), strict=True)]
        g = Groups(keys, len(keys[0]))
        values = []
        for i, (way, _) in enumerate(self._ways):
            several = zip(*(piece.parts[i] for piece in there), strict=True)
            values.append(way.of_all(g, [_joined(parts) for parts in several]))
        return [take_at(column, g.first) for column in keys], values


def _key(c: Columns, phrase: Phrase) -> Coded | ListValue:
    """A column of keys; as places, if there are few values."""
    node = phrase.node
    if isinstance(node, N.Name) and isinstance(c.cols, OnDisk) and node.name in c.cols:
        coded = c.cols.source.coded(node.name)
        if coded is not None:
            return coded if c.rows is None else Coded(coded.places[c.rows], coded.values)
    column = sized(phrase.fn(c), len(c))
    if column.__class__ is not Vec or column.a.dtype.kind not in "iub":
        return column
    a = column.a.view(np.uint8) if column.a.dtype.kind == "b" else column.a
    low, high = bounds(a)
    if high - low >= max(_SLOTS, len(a)):
        return column
    values = np.arange(low, high + 1, dtype=np.int64).astype(column.a.dtype)
    return Coded(np.subtract(a, low, dtype=np.int64), Vec(column.t, values, "", column.dom))


def _grouped(keys: list[Coded | ListValue], n: int) -> tuple[Groups, list[ListValue]]:
    """The groups of n rows, in any order, and their keys."""
    coded = [key for key in keys if isinstance(key, Coded)]
    sizes = [len(key.values) for key in coded]
    if len(coded) == len(keys) and math.prod(sizes) <= max(_SLOTS, n):
        slots = coded[0].places.astype(np.int64, copy=False)
        for key, size in zip(coded[1:], sizes[1:], strict=True):
            slots = slots * size
            slots += key.places
        g, used = Groups.of_slots(slots, math.prod(sizes))
        found: list[ListValue] = []
        for key, size in zip(reversed(coded), reversed(sizes), strict=True):
            found.append(take_at(key.values, used % size))
            used = used // size
        return g, found[::-1]
    columns = [take_at(k.values, k.places) if isinstance(k, Coded) else k for k in keys]
    g = Groups(columns, n, ascending=False)
    return g, [take_at(column, g.first) for column in columns]


def _argument(c: Columns, x: str | Phrase) -> ListValue:
    """A column that is aggregated."""
    column = c.column(x) if isinstance(x, str) else x.fn(c)
    if column.__class__ is not Vec and isinstance(x, Phrase):
        raise Unfit
    return sized(column, len(c))


def _joined(parts: Sequence[ListValue]) -> ListValue:
    """Parts of a column as one, if they are of one type."""
    if len({(x.t, x.dom) if x.__class__ is Vec else None for x in parts}) > 1:
        raise Unfit
    return joined(parts)


def by_pieces(c: Columns, where: list[Phrase], by: Named, cols: Named) -> Found | None:
    """What a grouped query gives for a table that is stored in pieces; None if it is not, or the query is of another
    kind."""
    if not isinstance(c.cols, OnDisk):
        return None
    source = c.cols.source
    grouping = Grouping(source.names, where, by, cols)
    if not grouping.fits or not all(of_rows(phrase, source.names) for phrase in where):
        return None
    try:
        made = source.in_pieces(
            grouping.names or source.names[:1],
            grouping.of_table,
            leading(source.names, where),
        )
        return None if made is None else grouping.together(made)
    except Unfit:
        return None
