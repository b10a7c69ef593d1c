"""The names visible to template phrases: the columns of a table, restricted to the current rows or group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell.errors import QError
from kshell.store.splay import LazyCols
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs
from kshell.values.base.core import Dict, List, ListValue, Nd, Table, Value, Vec
from kshell.values.base.narrow import has_items, list_value
from kshell.values.change.names import dotted
from kshell.values.engine.cast import is_part
from kshell.values.items.integer_keys import grade_keys
from kshell.values.items.keys import group_counted
from kshell.values.items.order import grade, grade_columns
from kshell.values.items.pick import take_at
from kshell.values.items.search import codes, row_codes
from kshell.values.session.context import running

if TYPE_CHECKING:
    pass

Array = np.ndarray


class OnDisk(dict[str, Any]):
    """The columns of a table that are read or computed on use, by name."""

    def __init__(self, cols: LazyCols) -> None:
        super().__init__(dict.fromkeys(cols.names))
        self.source = cols

    def __getitem__(self, name: str) -> ListValue:
        return self.source[self.source.names.index(name)]

    def get(self, name: str, default: Any = None) -> Any:
        if name in self:
            return self[name]
        return default


class Columns:
    """The columns of a table by name, for some of its rows; each is taken on first use and cached.

    Besides its own columns it has `i`, the row numbers, and dotted names: what a foreign key or link refers to
    (`s.city`), parts of a temporal column (`time.minute`). `table` returns the table with a name; if it is None, the
    global is used.
    """

    __slots__ = ("cols", "kept", "n", "rows", "table")

    def __init__(
        self,
        cols: Mapping[str, Value],
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
        column_name, _, part_name = name.partition(".")
        column = self.cols.get(column_name)
        if column.__class__ is Vec:
            return column.t == T.ENUM or (
                column.t in T.TEMPORAL and (is_part(part_name) or part_name in T.BY_NAME)
            )
        return column.__class__ is Table

    def __getitem__(self, name: str) -> Value:
        column = self.kept.get(name)
        if column is None:
            column = self.kept[name] = self._take(name)
        return column

    def column(self, name: str) -> ListValue:
        """A column of a table; in a dictionary, the value with this name may not be a list."""
        return list_value(self[name])

    def _take(self, name: str) -> Value:
        if self.rows is not None and self.cols.__class__ is OnDisk and name in self.cols:
            return self.cols.source.taken(name, self.rows)
        column = self.cols.get(name)
        if column is not None:
            if self.rows is None:
                return column
            if column.__class__ is Dict or has_items(column):
                return take_at(column, self.rows)
            raise QError("type")
        if name == "i":
            return longs(np.arange(self.n) if self.rows is None else self.rows)
        column_name, *path = name.split(".")
        column = self[column_name]
        for step in path:
            column = follow(column, step, self.table)
        return column

    def restrict(self, at: Array) -> Columns:
        """The same columns for some of these rows, by position among them."""
        return Columns(self.cols, self.n, at if self.rows is None else self.rows[at], self.table)


def follow(x: Value, step: str, table: Callable[[str], Value] | None = None) -> Value:
    """`x.step` for a column: a column of the table that an enumeration refers to, or part of a temporal."""
    if x.__class__ is not Vec or x.t != T.ENUM:
        return dotted(x, step)
    target = (table or running().names.get)(x.dom)
    if target.__class__ is Table:
        sides: tuple[Table, ...] = (target,)
    elif target.__class__ is Dict and target.keyed:
        sides = target.tables[::-1]
    else:
        raise QError("type")
    for side in sides:
        if side.has(step):
            return take_at(side.col(step), x.a)
    raise QError(step)


def part(x: ListValue, start: int, end: int) -> ListValue:
    """Items start to end of a list, or rows of a table."""
    if x.__class__ is Vec:
        return Vec(x.t, x.a[start:end], "", x.dom)
    if x.__class__ is Nd:
        return Nd(x.t, x.a[start:end])
    if x.__class__ is Table:
        return Table(x.names, [part(column, start, end) for column in x.cols])
    return collapse(x.items[start:end])


class Groups:
    """Rows grouped by the values of key columns; groups are in ascending order of their keys.

    ids: the group of each row; k groups of n rows.
    """

    __slots__ = ("_counts", "_ends", "_first", "_order", "ids", "k", "n")
    _first: Array | None

    def __init__(self, keys: list[ListValue], n: int, ascending: bool = True) -> None:
        self.n = n
        self._order: Array | None = None
        self._ends: Array | None = None
        if not n or not keys:
            self._first, self.ids = np.arange(min(n, 1)), np.zeros(n, np.int64)
            self._counts = np.full(len(self._first), n)
        else:
            order_of = partial(_order_of_keys, keys) if ascending else None
            found = codes(keys[0]) if len(keys) == 1 else row_codes(keys)
            self._first, self.ids, self._counts = group_counted(found, order_of)
        self.k = len(self._counts)

    @classmethod
    def of_slots(cls, slots: Array, size: int) -> tuple[Groups, Array]:
        """The groups of rows that each have a slot of so many, in the order of the slots; and the slots that have
        rows."""
        groups = cls.__new__(cls)
        groups.n, groups._first, groups._order, groups._ends = len(slots), None, None, None
        counts = np.bincount(slots, minlength=size)
        used = np.flatnonzero(counts)
        if len(used) < size:
            table = np.empty(size, np.int64)
            table[used] = np.arange(len(used))
            slots, counts = table[slots], counts[used]
        groups.ids, groups._counts, groups.k = slots, counts, len(used)
        return groups, used

    @classmethod
    def of_runs(cls, sizes: Array) -> Groups:
        """The groups of rows that stand together, so many in each; none is empty."""
        groups = cls.__new__(cls)
        groups.k, groups._counts, groups._ends = len(sizes), sizes, np.cumsum(sizes)
        groups.n = int(groups._ends[-1])
        groups._first, groups._order = groups._ends - sizes, np.arange(groups.n)
        groups.ids = np.repeat(np.arange(len(sizes)), sizes)
        return groups

    @property
    def first(self) -> Array:
        """The first row of each group."""
        if self._first is None:
            self._first = np.empty(self.k, np.int64)
            self._first[self.ids[::-1]] = np.arange(self.n - 1, -1, -1)  # the last write wins
        return self._first

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
        positions = np.empty(self.k, np.int64)
        positions[self.ids] = np.arange(self.n)  # the last write wins
        return positions

    def back(self) -> Array:
        """For each row, its position in `order`."""
        positions = np.empty(self.n, np.int64)
        positions[self.order] = np.arange(self.n)
        return positions


def _order_of_keys(keys: list[ListValue], first: Array) -> Array | None:
    """The order of the keys at some rows; None if they are in order."""
    first_keys = [take_at(key, first) for key in keys]
    order = grade(first_keys[0]) if len(first_keys) == 1 else grade_columns(first_keys)
    return order if (order[1:] < order[:-1]).any() else None


class GroupColumns(Columns):
    """The columns of one group after another: set `start` and `end`, a range of rows in group order."""

    __slots__ = ("base", "end", "groups", "start", "taken")

    def __init__(self, base: Columns, groups: Groups) -> None:
        super().__init__(base.cols, base.n)
        self.base, self.groups = base, groups
        self.start, self.end = 0, groups.n
        self.taken: dict[str, ListValue] = {}

    def __len__(self) -> int:
        return self.end - self.start

    def __getitem__(self, name: str) -> Value:
        column = self.taken.get(name)
        if column is None:
            column = self.taken[name] = take_at(self.base.column(name), self.groups.order)
        return part(column, self.start, self.end)


def sized(x: Value, n: int) -> ListValue:
    """A value as a column of n rows: anything but a list is repeated; 'length for a list of another length."""
    if x.__class__ is Vec or isinstance(x, List) or x.__class__ is Table:
        if len(x) != n:
            raise QError("length")
        return x
    return repeat(x, n)


def repeat(x: Value, n: int) -> ListValue:
    """The list of n times x."""
    single = collapse([x])
    if single.__class__ is List:
        return List([x] * n)
    return take_at(single, np.zeros(n, np.int64))
