"""The names visible to template phrases: the columns of a table, restricted to the current rows or group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs
from kshell.values.base.core import Dict, List, Nd, Table, Value, Vec
from kshell.values.change.names import dotted
from kshell.values.engine.cast import is_part
from kshell.values.items.integer_keys import grade_keys
from kshell.values.items.keys import group_keys
from kshell.values.items.order import grade, grade_columns
from kshell.values.items.pick import take_at
from kshell.values.items.search import codes, row_codes
from kshell.values.session.context import running

Array = np.ndarray


class Columns:
    """The columns of a table by name, for some of its rows; each is taken on first use and cached.

    Besides its own columns it has `i`, the row numbers, and dotted names: what a foreign key or link refers to
    (`s.city`), parts of a temporal column (`time.minute`). `table` returns the table with a name; if it is None, the
    global is used.
    """

    __slots__ = ("cols", "kept", "n", "rows", "table")

    def __init__(
        self,
        cols: dict[str, Value],
        n: int,
        rows: Array | None = None,
        table: Callable[[str], Value] | None = None,
    ) -> None:
        self.cols, self.n, self.rows, self.table = cols, n, rows, table
        self.kept: dict[str, Value] = {}

    def __len__(self) -> int:
        return self.n if self.rows is None else len(self.rows)

    def __contains__(self, name: str) -> bool:
        return name in self.cols or name == "i" or ("." in name and self._has_part(name))

    def _has_part(self, name: str) -> bool:
        head, _, rest = name.partition(".")
        col = self.cols.get(head)
        if col.__class__ is Vec:
            return col.t == T.ENUM or (col.t in T.TEMPORAL and (is_part(rest) or rest in T.BY_NAME))
        return col.__class__ is Table

    def __getitem__(self, name: str) -> Value:
        found = self.kept.get(name)
        if found is None:
            found = self.kept[name] = self._take(name)
        return found

    def _take(self, name: str) -> Value:
        x = self.cols.get(name)
        if x is not None:
            return x if self.rows is None else take_at(x, self.rows)
        if name == "i":
            return longs(np.arange(self.n) if self.rows is None else self.rows)
        head, *path = name.split(".")
        x = self[head]
        for step in path:
            x = follow(x, step, self.table)
        return x

    def restrict(self, at: Array) -> Columns:
        """The same columns for some of these rows, by position among them."""
        return Columns(self.cols, self.n, at if self.rows is None else self.rows[at], self.table)


def follow(x: Value, step: str, table: Callable[[str], Value] | None = None) -> Value:
    """`x.step` for a column: a column of the table that an enumeration refers to, or part of a temporal."""
    if x.__class__ is not Vec or x.t != T.ENUM:
        return dotted(x, step)
    target: Any = (table or running().names.get)(x.dom)
    sides: tuple[Any, ...] = (target,)
    if target.__class__ is Dict and target.keyed:
        sides = (target.v, target.k)
    elif target.__class__ is not Table:
        raise QError("type")
    for side in sides:
        if side.has(step):
            return take_at(side.col(step), x.a)
    raise QError(step)


def part(x: Value, start: int, end: int) -> Value:
    """Items start to end of a list, or rows of a table."""
    cls = x.__class__
    if cls is Vec:
        return Vec(x.t, x.a[start:end], "", x.dom)
    if cls is Nd:
        return Nd(x.t, x.a[start:end])
    if cls is Table:
        return Table(x.names, [part(col, start, end) for col in x.cols])
    return collapse(x.items[start:end])


class Groups:
    """Rows grouped by the values of key columns; groups are in ascending order of their keys.

    ids: the group of each row; first: the first row of each group; k groups of n rows.
    """

    __slots__ = ("_counts", "_ends", "_order", "first", "ids", "k", "n")

    def __init__(self, keys: list[Value], n: int, ascending: bool = True) -> None:
        self.n = n
        self._order: Array | None = None
        self._ends: Array | None = None
        if not n or not keys:
            self.first, self.ids = np.arange(min(n, 1)), np.zeros(n, np.int64)
        else:
            self.first, self.ids = group_keys(codes(keys[0]) if len(keys) == 1 else row_codes(keys))
            if ascending:
                self._sort(keys)
        self.k = len(self.first)
        self._counts = np.bincount(self.ids, minlength=self.k)

    def _sort(self, keys: list[Value]) -> None:
        """Number the groups in the order of their keys."""
        tops = [take_at(key, self.first) for key in keys]
        order = grade(tops[0]) if len(tops) == 1 else grade_columns(tops)
        if (order[1:] < order[:-1]).any():
            rank = np.empty(len(order), np.int64)
            rank[order] = np.arange(len(order))
            self.first, self.ids = self.first[order], rank[self.ids]

    @property
    def counts(self) -> Array:
        """The number of rows of each group."""
        return self._counts

    @property
    def order(self) -> Array:
        """The rows, group by group, ascending within each group."""
        if self._order is None:
            self._order = grade_keys(self.ids)
        return self._order

    @property
    def ends(self) -> Array:
        """Where each group ends in `order`."""
        if self._ends is None:
            self._ends = np.cumsum(self._counts)
        return self._ends

    @property
    def starts(self) -> Array:
        return self.ends - self._counts

    def spans(self) -> list[tuple[int, int]]:
        """(start, end) of each group in `order`."""
        ends = self.ends.tolist()
        return list(zip([0, *ends], ends, strict=False))

    @property
    def last(self) -> Array:
        """The last row of each group."""
        out = np.empty(self.k, np.int64)
        out[self.ids] = np.arange(self.n)  # the last write wins
        return out

    def back(self) -> Array:
        """For each row, its position in `order`."""
        out = np.empty(self.n, np.int64)
        out[self.order] = np.arange(self.n)
        return out


class GroupColumns(Columns):
    """The columns of one group after another: set `start` and `end`, a range of rows in group order."""

    __slots__ = ("base", "end", "groups", "start")

    def __init__(self, base: Columns, groups: Groups) -> None:
        super().__init__(base.cols, base.n)
        self.base, self.groups = base, groups
        self.start, self.end = 0, groups.n

    def __len__(self) -> int:
        return self.end - self.start

    def __getitem__(self, name: str) -> Value:
        x = self.kept.get(name)
        if x is None:
            x = self.kept[name] = take_at(self.base[name], self.groups.order)
        return part(x, self.start, self.end)


def sized(x: Value, n: int) -> Value:
    """A value as a column of n rows: anything but a list is repeated; 'length for a list of another length."""
    if x.__class__ is Vec or isinstance(x, List) or x.__class__ is Table:
        if len(x) != n:
            raise QError("length")
        return x
    return repeat(x, n)


def repeat(x: Value, n: int) -> Value:
    """The list of n times x."""
    one = collapse([x])
    if one.__class__ is List:
        return List([x] * n)
    return take_at(one, np.zeros(n, np.int64))


def is_column(x: Value) -> bool:
    """Is it a list, or a table (a list of rows)?"""
    cls: Any = x.__class__
    return cls is Vec or cls is Table or isinstance(x, List)
