"""Tables that are read part by part: those of a session, splayed and partitioned ones.

A part is what is in memory at once, as a range of rows of a table, or a partition of a database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.store import kdb, parted
from kshell.values.base.core import ListValue, Table, Vec
from kshell.values.items.pick import take_at

ROWS = 65_536  # the most rows of a part of a table that has no parts of its own
BYTES = 32 << 20  # of such a part, about
LEAST = 64  # rows of it, however long they are


def rows_of_part(row: int) -> int:
    """The rows of a part, from the bytes of one."""
    return min(ROWS, max(LEAST, BYTES // max(1, row)))


class Parts:
    """A table in parts. `what` names it in messages, `names` are its columns."""

    what: str
    names: list[str]
    advice = "ask for fewer columns"  # what makes reading faster
    natural = False  # does q itself evaluate a query without aggregates in each part?
    further: Mapping[str, Table] = {}  # whole tables that a query may name beside it
    free = False  # does a row cost the same wherever it is? Then `read_at` gives some rows, in any order

    def __len__(self) -> int:
        """The number of parts."""
        raise NotImplementedError

    def rows(self, i: int) -> int | None:
        """The number of rows of a part; None if that is not known without reading it."""
        raise NotImplementedError

    def read(self, i: int, names: Sequence[str]) -> Table:
        """Some columns of a part."""
        raise NotImplementedError

    def on_use(self, i: int, names: Sequence[str]) -> Table:
        """The same, of which a query may read only what it needs, if it leaves out rows."""
        return self.read(i, names)

    def whole(self, names: Sequence[str]) -> Table:
        """Some columns of all rows."""
        raise NotImplementedError

    def read_at(self, rows: np.ndarray, names: Sequence[str]) -> Table:
        """Some columns of some rows, if the table is `free`."""
        raise NotImplementedError

    def beside(self, i: int, tables: Sequence[str]) -> list[Table]:
        """Other tables of the database of this one, cut to the same part."""
        assert not tables, f"{self.what} is no database"
        return []

    def where(self, i: int) -> str:
        """Where a part is, for messages."""
        raise NotImplementedError


class Equal(Parts):
    """A table of `n` rows in parts of `step` rows, but for the last one."""

    n: int
    step: int

    def __len__(self) -> int:
        return -(-self.n // self.step)

    def rows(self, i: int) -> int:
        return min(self.step, self.n - i * self.step)


class Ranges(Equal):
    """A table whose columns are in memory or mapped, in ranges of rows."""

    def __init__(self, table: Table, what: str) -> None:
        self.table, self.what, self.names = table, what, list(table.names)
        self.n = len(table)
        self.step = rows_of_part(sum(map(_row, table.cols)))

    def read(self, i: int, names: Sequence[str]) -> Table:
        start = i * self.step
        at = slice(start, start + self.rows(i))
        return Table(list(names), [_range(self.table.col(name), at) for name in names])

    def whole(self, names: Sequence[str]) -> Table:
        return Table(list(names), [self.table.col(name) for name in names])

    def where(self, i: int) -> str:
        start = i * self.step
        return f"rows {start} to {start + self.rows(i) - 1} of {self.what}"


def _row(column: ListValue) -> int:
    """About the bytes of a row of a column."""
    if column.__class__ is Vec:
        return column.a.itemsize
    if not len(column):
        return 0
    first: Any = column.item(0)
    return int(getattr(getattr(first, "a", None), "nbytes", 8))


def _range(column: ListValue, at: slice) -> ListValue:
    """Adjacent rows of a column; those of a vector are a view."""
    if column.__class__ is Vec:
        return Vec(column.t, column.a[at], "", column.dom)
    return take_at(column, np.arange(at.start, at.stop))


class Splayed(Ranges):
    """A splayed table: of each column the rows of a part are read, as far as its file allows that."""

    def __init__(self, table: Table, path: str) -> None:
        self.table, self.what, self.names, self._path = table, path, list(table.names), path
        heads = [kdb.read_rows(self._file(name), 0, 1) for name in self.names]
        first = heads[0] if heads else None
        self.n = len(table) if first is None else first[0]
        row = sum(
            _row(table.col(n) if h is None else h[1])
            for n, h in zip(self.names, heads, strict=True)
        )
        self.step = rows_of_part(row)

    def _file(self, name: str) -> str:
        return f"{self._path}/{name}"

    def read(self, i: int, names: Sequence[str]) -> Table:
        start, n = i * self.step, self.rows(i)
        columns: list[Any] = []
        for name in names:
            found = kdb.read_rows(self._file(name), start, n)
            column = found[1] if found else _range(self.table.col(name), slice(start, start + n))
            if len(column) != n:
                raise QError(f"{self._file(name)}: {start + len(column)} rows, expected {self.n}")
            columns.append(column)
        return Table(list(names), columns)


class Partitions(Parts):
    """A table of a partitioned database, one partition at a time."""

    natural = True

    def __init__(self, db: parted.Database, name: str) -> None:
        self.db, self.name, self.what = db, name, name
        self.cols = parted.PartCols(db, name)
        self.names = list(self.cols.names)

    def __len__(self) -> int:
        return len(self.db.pv)

    def rows(self, i: int) -> int:
        return self.db.count(self.name)[i]

    def read(self, i: int, names: Sequence[str]) -> Table:
        part = self.cols.of(i)
        return Table(list(names), [part.col(name) for name in names])

    def whole(self, names: Sequence[str]) -> Table:
        return Table(self.names, self.cols)

    def beside(self, i: int, tables: Sequence[str]) -> list[Table]:
        return [parted.PartCols(self.db, name).of(i) for name in tables]

    def where(self, i: int) -> str:
        return f"{self.name} in {self.db.folder(i)}"
