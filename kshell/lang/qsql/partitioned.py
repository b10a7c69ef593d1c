"""qSQL on partitioned tables: conditions on the partition field select partitions; the others run in each partition
separately."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.lang.compiler import tree_queries
from kshell.lang.qsql import select
from kshell.lang.tables.columns import Columns
from kshell.lang.tables.tables import key_names, rekey
from kshell.parse import tree as N
from kshell.store.parted import PartCols, joined
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs
from kshell.values.base.core import Dict, Table, Value, is_list
from kshell.values.change.join import join_dicts
from kshell.values.items.pick import take_at
from kshell.values.session.context import running

# a phrase with one of these is evaluated over the rows of all partitions together
_WHOLE = frozenset(
    {
        "all",
        "any",
        "avg",
        "cor",
        "count",
        "cov",
        "dev",
        "distinct",
        "first",
        "last",
        "max",
        "med",
        "min",
        "prd",
        "scov",
        "sdev",
        "sum",
        "svar",
        "var",
        "wavg",
        "wsum",
    }
)


def is_partitioned(x: Value) -> bool:
    """Is it a partitioned table?"""
    return x.__class__ is Table and isinstance(x.cols, PartCols)


def names_used(phrases: list[Any]) -> set[str]:
    """The names in phrases; for dotted names, the first part."""
    nodes = [phrase.node for phrase in phrases]
    return {n.name.split(".")[0] for n in tree_queries.walk(nodes) if isinstance(n, N.Name)}


def _links(source: PartCols, phrases: list[Any]) -> list[str]:
    """The dotted names in phrases that go through a link, whose target differs by partition."""
    named = {
        n.name
        for n in tree_queries.walk([phrase.node for phrase in phrases])
        if isinstance(n, N.Name) and "." in n.name
    }
    cols = dict(zip(source.names, source.sample(), strict=True)) if named else {}
    return sorted(n for n in named if getattr(cols.get(n.split(".")[0]), "t", 0) == T.ENUM)


def query(
    is_exec: bool, x: Table, where: list[Any], by: Any, cols: Any, distinct: bool, limit: Any
) -> Value:
    """select or exec from a partitioned table."""
    if limit is not None:
        raise QError("nyi")
    source: PartCols = x.cols  # type: ignore[assignment]
    parts, where = chosen(source, where)
    phrases = [p for _, p in [*(by or []), *cols]]
    used = names_used(phrases)
    if is_exec and by is None and not cols:
        return _last_row(source, parts, where)
    if (by is None and cols and not used & _WHOLE) or not (by or cols):
        return _each(is_exec, source, parts, where, cols, distinct)
    names = [name for name in x.names if name in used] if cols else list(x.names)
    names += _links(source, phrases)
    t = gathered(source, parts, where, names, "i" in used)
    src = select.Source(t)
    c = Columns(src.cols, src.n)
    if not names:
        src.n = c.n = sum(_rows(source, parts, where))
    if is_exec:
        return select.run_exec(src, c, by, cols, distinct)
    return select.run_select(src, c, by, cols, distinct, None)


def chosen(source: PartCols, where: list[Any]) -> tuple[list[int], list[Any]]:
    """The partitions that meet the leading conditions that depend on nothing else, and the other conditions."""
    field = source.names[0]
    others = {*source.names[1:], "i"}
    parts = np.arange(len(source.db.pv))
    while where:
        used = names_used(where[:1])
        if field not in used or used & others:
            break
        c = Columns({field: source.db.vec([source.db.pv[part] for part in parts])}, len(parts))
        at = select.matching(where[0], c)
        parts = parts if at is None else parts[at]
        where = where[1:]
    return parts.tolist(), where


def _columns(source: PartCols, part: int, where: list[Any]) -> tuple[select.Source, Columns]:
    t = source.of(part)
    cols = _Lazy(t)
    src = select.Source(Table([], []))
    src.value, src.cols, src.n = t, cols, source.db.count(source.name)[part]

    def table(name: str) -> Value:  # links refer to the same partition
        found = running().names.get(name)
        return found.cols.of(part) if is_partitioned(found) else found

    return src, select.restricted(Columns(cols, src.n, None, table), where)


class _Lazy(dict[str, Any]):
    """The columns of a table by name, read on demand."""

    def __init__(self, t: Table) -> None:
        super().__init__(dict.fromkeys(t.names))
        self.t = t

    def __getitem__(self, name: str) -> Any:
        return self.t.col(name)

    def get(self, name: str, default: Any = None) -> Any:
        return self.t.col(name) if name in self else default


def _rows(source: PartCols, parts: list[int], where: list[Any]) -> list[int]:
    return [len(_columns(source, part, where)[1]) for part in parts]


def gathered(
    source: PartCols, parts: list[int], where: list[Any], names: list[str], numbers: bool
) -> Table:
    """Some columns of the matching rows, from all chosen partitions; `i` has the row numbers within each."""
    pieces: list[list[Value]] = [[] for _ in range(len(names) + numbers)]
    for part in parts:
        _, c = _columns(source, part, where)
        for piece, name in zip(pieces, [*names, "i"], strict=False):
            piece.append(c[name])
    if not parts:
        empty = source.sample()
        none = np.zeros(0, np.int64)
        c = Columns(dict(zip(source.names, empty, strict=True)), 0, none)
        pieces = [[c[name]] for name in names] + [[longs([])]] * numbers
    return Table(names + ["i"] * numbers, [joined(piece) for piece in pieces])


def _each(
    is_exec: bool, source: PartCols, parts: list[int], where: list[Any], cols: Any, distinct: bool
) -> Value:
    """The results for each chosen partition, in order."""
    out = []
    for part in parts:
        src, c = _columns(source, part, where)
        out.append(
            select.run_exec(src, c, None, cols, False)
            if is_exec
            else select.run_select(src, c, None, cols, False, None)
        )
    if not out:
        return _nothing(is_exec, source, where, cols)
    if is_exec and out[0].__class__ is not Table:
        return _joined_exec(out, cols[0][0] is None, distinct)
    t = Table(out[0].names, [joined([o.cols[i] for o in out]) for i in range(len(out[0].names))])
    if distinct:
        t = take_at(t, select.distinct_at(t))
    return rekey(t, key_names(t))


def _last_row(source: PartCols, parts: list[int], where: list[Any]) -> Value:
    """The last matching row; a row of nulls if there is none."""
    for part in reversed(parts):
        src, c = _columns(source, part, where)
        if len(c):
            return select.run_exec(src, c, None, [], False)
    return _nothing(True, source, where, [])


def _nothing(is_exec: bool, source: PartCols, where: list[Any], cols: Any) -> Value:
    """The result if no partition was chosen: that of an empty table."""
    t = gathered(source, [], [], source.names, False)
    src = select.Source(t)
    c = Columns(src.cols, 0)
    if is_exec:
        return select.run_exec(src, c, None, cols, False)
    return select.run_select(src, c, None, cols, False, None)


def _joined_exec(out: list[Value], single: bool, distinct: bool) -> Value:
    """The results of an exec in each partition, combined; `single` if it has one unnamed column."""
    if not single:
        values = [_joined_values([o.v.item(i) for o in out]) for i in range(len(out[0].k))]
        return Dict(out[0].k, collapse(values))
    x = _joined_values(out)
    return take_at(x, select.distinct_at(x)) if distinct else x


def _joined_values(out: list[Value]) -> Value:
    if all(o.__class__ is Dict for o in out):
        return reduce(join_dicts, out)
    return joined(out) if all(map(is_list, out)) else collapse(out)


def rows_at(x: Table, at: np.ndarray) -> Table:
    """`.Q.ind`: rows of a partitioned table by row number across all partitions."""
    source: PartCols = x.cols  # type: ignore[assignment]
    counts = np.array(source.db.count(source.name), np.int64)
    ends = np.cumsum(counts)
    if len(at) and (at.min() < 0 or at.max() >= (ends[-1] if len(ends) else 0)):
        raise QError("index")
    part = np.searchsorted(ends, at, side="right")
    pieces, order = [], []
    for k in np.unique(part).tolist():
        mine = np.flatnonzero(part == k)
        pieces.append(
            take_at(Table(x.names, list(source.of(k).cols)), at[mine] - (ends[k] - counts[k]))
        )
        order.append(mine)
    if not pieces:
        return gathered(source, [], [], source.names, False)
    t = Table(x.names, [joined([piece.cols[i] for piece in pieces]) for i in range(len(x.names))])
    return take_at(t, np.argsort(np.concatenate(order), kind="stable"))
