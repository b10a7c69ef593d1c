"""Tables that are read part by part: in memory, splayed, partitioned, and in the files of Arrow and Parquet.

A part is what is in memory at once: a range of rows of a table, a partition of a database, a row group of a Parquet
file, a file of another format.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kshell.errors import CallError, QError, first_line, message_of
from kshell.store import kdb, parted, splay
from kshell.values.base import types as T
from kshell.values.base.core import ListValue, Table, Value, Vec
from kshell.values.base.functions import FROM_ARROW
from kshell.values.items.pick import take_at
from kshell.values.session.context import running
from kshell.values.session.restrict import check_read

ROWS = 65_536  # of a part of a table that has no parts of its own
FORMATS = {  # the ends of files' names, and what Arrow calls the format
    ".parquet": "parquet",
    ".arrow": "ipc",
    ".feather": "feather",
    ".csv": "csv",
}


class Parts:
    """A table in parts. `what` names it in messages, `names` are its columns."""

    what: str
    names: list[str]
    advice = "ask for fewer columns"  # what makes reading faster
    natural = False  # does q itself evaluate a query without aggregates in each part?

    def __len__(self) -> int:
        """The number of parts."""
        raise NotImplementedError

    def rows(self, i: int) -> int | None:
        """The number of rows of a part; None if that is not known without reading it."""
        raise NotImplementedError

    def read(self, i: int, names: Sequence[str]) -> Table:
        """Some columns of a part."""
        raise NotImplementedError

    def whole(self, names: Sequence[str]) -> Table:
        """Some columns of all rows."""
        raise NotImplementedError

    def where(self, i: int) -> str:
        """Where a part is, for messages."""
        raise NotImplementedError


class Ranges(Parts):
    """A table whose columns are in memory or mapped, in ranges of rows."""

    def __init__(self, table: Table, what: str) -> None:
        self.table, self.what, self.names = table, what, list(table.names)
        self.n = len(table)

    def __len__(self) -> int:
        return -(-self.n // ROWS)

    def rows(self, i: int) -> int:
        return min(ROWS, self.n - i * ROWS)

    def read(self, i: int, names: Sequence[str]) -> Table:
        start = i * ROWS
        at = slice(start, start + self.rows(i))
        return Table(list(names), [_range(self.table.col(name), at) for name in names])

    def whole(self, names: Sequence[str]) -> Table:
        return Table(list(names), [self.table.col(name) for name in names])

    def where(self, i: int) -> str:
        return f"rows {i * ROWS} to {i * ROWS + self.rows(i) - 1} of {self.what}"


def _range(column: ListValue, at: slice) -> ListValue:
    """Adjacent rows of a column; those of a vector are a view."""
    if column.__class__ is Vec:
        return Vec(column.t, column.a[at], "", column.dom)
    return take_at(column, np.arange(at.start, at.stop))


class Splayed(Ranges):
    """A splayed table: of each column the rows of a part are read, as far as its file allows that."""

    def __init__(self, table: Table, path: str) -> None:
        self.table, self.what, self.names, self._path = table, path, list(table.names), path
        first = kdb.read_rows(self._file(self.names[0]), 0, 0) if self.names else None
        self.n = len(table) if first is None else first[0]

    def _file(self, name: str) -> str:
        return f"{self._path}/{name}"

    def read(self, i: int, names: Sequence[str]) -> Table:
        start, n = i * ROWS, self.rows(i)
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

    def where(self, i: int) -> str:
        return f"{self.name} in {self.db.folder(i)}"


class Files(Parts):
    """Files that Arrow reads, or a folder of them, with the names and values in its folders' names as columns. A part
    is a row group, or a file of another format than Parquet."""

    def __init__(self, path: str, kind: str) -> None:
        self.what = path
        if kind == "csv":
            self.advice = "save it as a splayed table or as Parquet, which are not read as text"
        self._dataset = _read(path, _dataset, _arrow(path), path, kind)
        self.names = list(self._dataset.schema.names)
        found = list(self._dataset.get_fragments())
        if kind == "parquet":
            found = [part for f in found for part in _read(f.path, f.split_by_row_group)]
        self._fragments = found

    def __len__(self) -> int:
        return len(self._fragments)

    def rows(self, i: int) -> int | None:
        groups = getattr(self._fragments[i], "row_groups", None)
        return None if groups is None else sum(group.num_rows for group in groups)

    def read(self, i: int, names: Sequence[str]) -> Table:
        fragment, schema = self._fragments[i], self._dataset.schema
        return _table(self.where(i), fragment.to_table, schema=schema, columns=list(names))

    def whole(self, names: Sequence[str]) -> Table:
        return _table(self.what, self._dataset.to_table, columns=list(names))

    def where(self, i: int) -> str:
        fragment = self._fragments[i]
        groups = getattr(fragment, "row_groups", None)
        return f"row group {groups[0].id} of {fragment.path}" if groups else str(fragment.path)


# a name and its value in the name of a folder, and a value that is a date
_FOLDER = re.compile(r"([^/=]+)=([^/]*)(?=/)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _dataset(datasets: Any, path: str, kind: str) -> Any:
    """The files of Arrow at a path. Folders' names that are dates, which Arrow takes for texts, are dates."""
    found = datasets.dataset(path, format=kind, partitioning="hive")
    values: dict[str, set[str]] = {}
    for file in found.files:
        for name, value in _FOLDER.findall(file[len(path) :]):
            values.setdefault(name, set()).add(value)
    dates = [name for name, given in values.items() if all(map(_DATE.fullmatch, given))]
    if not dates:
        return found
    arrow = importlib.import_module("pyarrow")
    types = [(n, arrow.date32() if n in dates else found.schema.field(n).type) for n in values]
    by_folder = datasets.partitioning(arrow.schema(types), flavor="hive")
    return datasets.dataset(path, format=kind, partitioning=by_folder)


def _arrow(path: str) -> Any:
    try:
        return importlib.import_module("pyarrow.dataset")
    except ImportError:
        kind = os.path.splitext(path)[1]
        raise QError(
            f"{path}: pyarrow is needed to read {kind or 'it'}", hint="pip install kshell[frames]"
        ) from None


def _table(where: str, read: Callable[..., Any], **named: Any) -> Table:
    """A table of Arrow as one of q."""
    found: Value = FROM_ARROW.fn(_read(where, read, **named))
    if found.__class__ is not Table:
        raise QError(f"{where}: a column cannot be one of q")
    return found


def _read(where: str, f: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """What Arrow reads; its exceptions name the file, and the row group."""
    problem = ""
    try:
        return f(*args, **named)
    except Exception as exc:  # of any kind, for what stands in a damaged file
        problem = first_line(message_of(exc))
    raise QError(f"{where}: {problem}")


# ------------------------------------------------------------------ what the user gives


def parts_of_table(table: Table) -> Parts:
    """The parts of a table of the session."""
    if isinstance(table.cols, parted.PartCols):
        return Partitions(table.cols.db, table.cols.name)
    if isinstance(table.cols, splay.SplayedCols):
        return Splayed(table, table.cols.path)
    return Ranges(table, "the table")


def parts_of_path(path: str, name: str | None, call: str) -> Parts:
    """The parts of a table on disk; `name` is that which a query gives it, which says the table of a database."""
    check_read(path)
    path = path.rstrip("/") or "/"
    kind = _kind(path)
    if kind is not None:
        return Files(path, kind)
    if splay.is_splayed(path):
        _symbols(os.path.dirname(path))
        return Splayed(splay.read(path), path)
    if not os.path.isdir(path):
        raise CallError(call, f"no table at {path}", given=path)
    db = parted.Database(path)
    if name is None or name not in db.tables:
        known = ", ".join(db.tables)
        raise CallError(
            call,
            f"a query names a table of the database {path}, which has {known}",
            given=name or "no query",
        )
    _symbols(path)
    return Partitions(db, name)


def _kind(path: str) -> str | None:
    """What Arrow calls the format of a file, or of the files in a folder and in those in it."""
    if not os.path.isdir(path):
        return FORMATS.get(os.path.splitext(path)[1].lower())
    for _, _, names in os.walk(path):
        found = {FORMATS.get(os.path.splitext(name)[1].lower()) for name in names}
        if names:
            return found.pop() if len(found) == 1 else None
    return None


def _symbols(folder: str) -> None:
    """The symbols that a database's columns are numbers of are a list of the session, as `\\l` makes it."""
    path = os.path.join(folder, "sym")
    if not os.path.isfile(path):
        return
    names, stored = running().names, kdb.read(path)
    known = names.find("sym", None)
    if known is None:
        names.set("sym", stored)
    elif known.__class__ is not Vec or known.t != T.S or not _begins(known, stored):
        raise QError(f"sym: the session's is not that of {folder}", hint=f"\\l {folder}")


def _begins(known: Vec, stored: Any) -> bool:
    n = len(stored)
    return len(known) >= n and bool((known.a[:n] == stored.a).all())
