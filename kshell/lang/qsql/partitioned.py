"""qSQL on partitioned tables: conditions on the partition field select partitions; the others run in each partition
separately."""

from __future__ import annotations

from functools import reduce
from typing import Any, TypeGuard

import numpy as np

from kshell.errors import QError
from kshell.lang.compiler import tree_queries
from kshell.lang.qsql import select
from kshell.lang.qsql.by_pieces import Found, Grouping, Made, Unfit
from kshell.lang.qsql.row_phrases import of_rows
from kshell.lang.qsql.select import Limit, Named, Phrase
from kshell.lang.tables.columns import Columns
from kshell.lang.tables.tables import flat, key_names, rekey
from kshell.parse import tree as N
from kshell.store.parted import PartCols, joined
from kshell.store.threads import in_threads
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs
from kshell.values.base.core import Dict, ListValue, Table, Value, is_list
from kshell.values.change.join import join_dicts
from kshell.values.items.pick import take_at
from kshell.values.session.context import running

MANY = 1 << 20  # rows from which on a grouped query takes one partition after the other
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


def is_partitioned(x: Value) -> TypeGuard[Table]:
    """Is it a partitioned table?"""
    return x.__class__ is Table and isinstance(x.cols, PartCols)


def names_used(phrases: list[Phrase]) -> set[str]:
    """The names in phrases; for dotted names, the first part."""
    nodes = [phrase.node for phrase in phrases]
    return {
        node.name.split(".")[0] for node in tree_queries.walk(nodes) if isinstance(node, N.Name)
    }


def _links(source: PartCols, phrases: list[Phrase]) -> list[str]:
    """The dotted names in phrases that go through a link, whose target differs by partition."""
    named = {
        reference.name
        for reference in tree_queries.walk([phrase.node for phrase in phrases])
        if isinstance(reference, N.Name) and "." in reference.name
    }
    columns = dict(zip(source.names, source.sample(), strict=True)) if named else {}
    return sorted(
        reference
        for reference in named
        if getattr(columns.get(reference.split(".")[0]), "t", 0) == T.ENUM
    )


def query(
    is_exec: bool,
    x: Table,
    where: list[Phrase],
    by: Named | None,
    cols: Named,
    distinct: bool,
    limit: Limit,
) -> Value:
    """select or exec from a partitioned table."""
    if limit is not None:
        raise QError("nyi")
    source: PartCols = x.cols  # type: ignore[assignment]
    partitions, where = chosen(source, where)
    phrases = [phrase for _, phrase in [*(by or []), *cols]]
    used_names = names_used(phrases)
    if is_exec and by is None and not cols:
        return _last_row(source, partitions, where)
    if (by is None and cols and not used_names & _WHOLE) or not (by or cols):
        return _each(is_exec, source, partitions, where, cols, distinct)
    if by is not None:
        found = _by_partition(source, partitions, where, by, cols)
        if found is not None and found[0]:
            return select.of_groups(is_exec, by, cols, found, None)
        partitions = partitions if found is None else []  # no row meets the conditions
    names = [name for name in x.names if name in used_names] if cols else list(x.names)
    names += _links(source, phrases)
    table = gathered(source, partitions, where, names, "i" in used_names)
    subject = select.Source(table)
    columns = Columns(subject.cols, subject.n)
    if not names:
        subject.n = columns.n = sum(_rows(source, partitions, where))
    if is_exec:
        return select.run_exec(subject, columns, by, cols, distinct)
    return select.run_select(subject, columns, by, cols, distinct, None)


def _by_partition(
    source: PartCols, partitions: list[int], where: list[Phrase], by: Named, cols: Named
) -> Found | None:
    """What a grouped query gives, if the partitions can be grouped one by one, and have many rows."""
    grouping = Grouping(source.names, where, by, cols)
    if len(partitions) < 2 or not grouping.fits:
        return None
    counts = source.db.count(source.name)
    if sum(counts[i] for i in partitions) <= MANY:
        return None

    def of_partition(i: int) -> Made | None:
        return grouping.of_columns(lambda: _columns(source, i, where)[1])

    every: Any = in_threads if all(of_rows(p, source.names) for p in where) else map
    try:
        return grouping.together(list(every(of_partition, partitions)))
    except Unfit:
        return None


def chosen(source: PartCols, where: list[Phrase]) -> tuple[list[int], list[Phrase]]:
    """The partitions that meet the leading conditions that depend on nothing else, and the other conditions."""
    field = source.names[0]
    others = {*source.names[1:], "i"}
    partitions = np.arange(len(source.db.pv))
    while where:
        used_names = names_used(where[:1])
        if field not in used_names or used_names & others:
            break
        columns = Columns(
            {field: source.db.vec([source.db.pv[partition] for partition in partitions])},
            len(partitions),
        )
        positions = select.matching(where[0], columns)
        partitions = partitions if positions is None else partitions[positions]
        where = where[1:]
    return partitions.tolist(), where


def _columns(source: PartCols, part: int, where: list[Phrase]) -> tuple[select.Source, Columns]:
    stored = source.of(part)
    columns = _Lazy(stored)
    subject = select.Source(Table([], []))
    subject.value, subject.n = stored, source.db.count(source.name)[part]
    subject.cols = subject.values = columns

    def table(name: str) -> Value:  # links refer to the same partition
        target = running().names.get(name)
        cols = target.cols if target.__class__ is Table else None
        return cols.of(part) if isinstance(cols, PartCols) else target

    return subject, select.restricted(Columns(columns, subject.n, None, table), where)


class _Lazy(dict[str, Any]):
    """The columns of a table by name, read on demand."""

    def __init__(self, t: Table) -> None:
        super().__init__(dict.fromkeys(t.names))
        self.t = t

    def __getitem__(self, name: str) -> ListValue:
        return self.t.col(name)

    def get(self, name: str, default: Any = None) -> Any:
        return self.t.col(name) if name in self else default


def _rows(source: PartCols, parts: list[int], where: list[Phrase]) -> list[int]:
    return [len(_columns(source, partition, where)[1]) for partition in parts]


def gathered(
    source: PartCols, parts: list[int], where: list[Phrase], names: list[str], numbers: bool
) -> Table:
    """Some columns of the matching rows, from all chosen partitions; `i` has the row numbers within each."""
    collected: list[list[ListValue]] = [[] for _ in range(len(names) + numbers)]
    for partition in parts:
        _, columns = _columns(source, partition, where)
        for chunks, name in zip(collected, [*names, "i"], strict=False):
            chunks.append(columns.column(name))
    if not parts:
        empty = source.sample()
        no_rows = np.zeros(0, np.int64)
        columns = Columns(dict(zip(source.names, empty, strict=True)), 0, no_rows)
        collected = [[columns.column(name)] for name in names] + [[longs([])]] * numbers
    return Table(names + ["i"] * numbers, [joined(chunks) for chunks in collected])


def _each(
    is_exec: bool,
    source: PartCols,
    parts: list[int],
    where: list[Phrase],
    cols: Named,
    distinct: bool,
) -> Value:
    """The results for each chosen partition, in order."""
    results = []
    for partition in parts:
        subject, columns = _columns(source, partition, where)
        results.append(
            select.run_exec(subject, columns, None, cols, False)
            if is_exec
            else select.run_select(subject, columns, None, cols, False, None)
        )
    if not results:
        return _nothing(is_exec, source, where, cols)
    if is_exec and results[0].__class__ is not Table:
        return _joined_exec(results, cols[0][0] is None, distinct)
    names, tables = flat(results[0]).names, [flat(result) for result in results]
    table = Table(
        names,
        [joined([result.cols[position] for result in tables]) for position in range(len(names))],
    )
    if distinct:
        table = take_at(table, select.distinct_at(table))
    return rekey(table, key_names(table))


def _last_row(source: PartCols, parts: list[int], where: list[Phrase]) -> Value:
    """The last matching row; a row of nulls if there is none."""
    for partition in reversed(parts):
        subject, columns = _columns(source, partition, where)
        if len(columns):
            return select.run_exec(subject, columns, None, [], False)
    return _nothing(True, source, where, [])


def _nothing(is_exec: bool, source: PartCols, where: list[Phrase], cols: Named) -> Value:
    """The result if no partition was chosen: that of an empty table."""
    table = gathered(source, [], [], source.names, False)
    subject = select.Source(table)
    columns = Columns(subject.cols, 0)
    if is_exec:
        return select.run_exec(subject, columns, None, cols, False)
    return select.run_select(subject, columns, None, cols, False, None)


def _joined_exec(out: list[Value], single: bool, distinct: bool) -> Value:
    """The results of an exec in each partition, combined; `single` if it has one unnamed column."""
    if not single:
        dicts = [result for result in out if result.__class__ is Dict]
        keys = dicts[0].k
        values: list[Value] = [
            _joined_values([d.v.item(position) for d in dicts]) for position in range(len(keys))
        ]
        return Dict(keys, collapse(values))
    column = _joined_values(out)
    return take_at(column, select.distinct_at(column)) if distinct else column


def _joined_values(out: list[Value]) -> ListValue | Dict:
    dicts = [result for result in out if result.__class__ is Dict]
    if len(dicts) == len(out):
        return reduce(join_dicts, dicts)
    lists = [result for result in out if is_list(result)]
    return joined(lists) if len(lists) == len(out) else collapse(out)


def rows_at(x: Table, at: np.ndarray) -> Table:
    """`.Q.ind`: rows of a partitioned table by row number across all partitions."""
    source: PartCols = x.cols  # type: ignore[assignment]
    counts = np.array(source.db.count(source.name), np.int64)
    ends = np.cumsum(counts)
    if len(at) and (at.min() < 0 or at.max() >= (ends[-1] if len(ends) else 0)):
        raise QError("index")
    partitions = np.searchsorted(ends, at, side="right")
    tables, order = [], []
    for partition in np.unique(partitions).tolist():
        positions = np.flatnonzero(partitions == partition)
        tables.append(
            take_at(
                Table(x.names, list(source.of(partition).cols)),
                at[positions] - (ends[partition] - counts[partition]),
            )
        )
        order.append(positions)
    if not tables:
        return gathered(source, [], [], source.names, False)
    result = Table(
        x.names, [joined([table.cols[index] for table in tables]) for index in range(len(x.names))]
    )
    return take_at(result, np.argsort(np.concatenate(order), kind="stable"))
