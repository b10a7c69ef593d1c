"""Splayed tables: a folder with one file per column and `.d`, which lists them. Columns are read on first use."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, SupportsIndex, TypeVar

import numpy as np

from kshell.errors import QError
from kshell.store import appending, kdb, unfinished
from kshell.values.base import types as T
from kshell.values.base.core import Dict, List, ListValue, Table, Value, Vec, sym_names, sym_vec
from kshell.values.items.pick import take_at
from kshell.values.session.restrict import check_read, lifted

Result = TypeVar("Result")


class Condition(NamedTuple):
    """A condition on the values of one column: =, <, <=, >, >=, in or within some values of a type (its character), as
    they are stored; symbols as bytes."""

    name: str
    verb: str
    type: str
    values: Sequence[Any]


class Coded(NamedTuple):
    """A column as places in a list of values, no two of which are the same."""

    places: np.ndarray
    values: Vec


class LazyCols(list[Any]):
    """The columns of a table on disk: a list whose items are created on access.

    `origin` is what q shows instead of the columns: a file symbol's text, or the name of a partitioned table.
    """

    def __init__(self, names: list[str], origin: str) -> None:
        super().__init__([None] * len(names))
        self.names, self.origin = names, origin

    def make(self, i: int) -> Value:
        """Column i."""
        raise NotImplementedError

    def rows(self) -> int:
        """The number of rows."""
        return len(self[0]) if self.names else 0

    def read(self, i: int) -> ListValue | None:
        """Column i, if it has been read."""
        found: ListValue | None = list.__getitem__(self, i)
        return found

    def sample(self) -> list[Any]:
        """Columns of the same types, possibly shorter."""
        return self[:]

    def there(self) -> bool:
        """Is there a table to show?"""
        return True

    def shown(self) -> list[str]:
        """The names of the columns, as shown before the origin."""
        return self.names

    def head(self, n: int) -> Table:
        """A table of the first rows, at least n of them if there are that many."""
        return Table(self.names, self[:])

    def candidates(self, conditions: Sequence[Condition]) -> np.ndarray | None:
        """The rows that may meet all conditions, by what is known without reading columns; None for all."""
        return None

    def in_pieces(
        self,
        names: Sequence[str],
        work: Callable[[Table], Result],
        conditions: Sequence[Condition] = (),
    ) -> list[Result] | None:
        """What `work` gives for some columns of each piece of the rows, in their order, computed in threads; the
        columns are to be read only. Pieces without rows that may meet all conditions can be left out. None for a table
        that is not stored in pieces, or if they have been read."""
        return None

    def coded(self, name: str) -> Coded | None:
        """A column as places in a list of values, if it is stored so."""
        return None

    def taken(self, name: str, rows: np.ndarray) -> ListValue:
        """Some rows of a column."""
        return take_at(self[self.names.index(name)], rows)

    def _at(self, i: int) -> Value:
        column = list.__getitem__(self, i)
        if column is None:
            column = self.make(i if i >= 0 else i + len(self))
            list.__setitem__(self, i, column)
        return column

    def __getitem__(self, i: SupportsIndex | slice) -> Any:
        if isinstance(i, slice):
            return [self._at(index) for index in range(*i.indices(len(self)))]
        return self._at(i.__index__())

    def __iter__(self) -> Iterator[Any]:
        return map(self._at, range(len(self)))

    def __add__(self, other: Iterable[Any]) -> Any:
        return [*self, *other]

    def __radd__(self, other: Iterable[Any]) -> Any:
        return [*other, *self]

    def __reversed__(self) -> Iterator[Any]:
        return reversed(self[:])

    def copy(self) -> list[Any]:
        return self[:]


class SplayedCols(LazyCols):
    """The columns of a splayed table; `path` is its folder, without a trailing /."""

    def __init__(self, names: list[str], path: str) -> None:
        super().__init__(names, f":{path}/")
        self.path = path

    def make(self, i: int) -> Value:
        with lifted():  # code that holds the table may read its content
            return kdb.read(f"{self.path}/{self.names[i]}")

    def there(self) -> bool:
        return os.path.isdir(self.path)


class NoCols(LazyCols):
    """The columns of a missing table: reading one is an error that names the table."""

    def make(self, i: int) -> Value:
        raise QError(self.origin)

    def there(self) -> bool:
        return False


def is_splayed(path: str) -> bool:
    """Is this the folder of a splayed table?"""
    return unfinished.there(f"{path}/.d")


def names_in(path: str) -> list[str]:
    """The names of the columns of a splayed table."""
    names = kdb.read(os.path.join(path, ".d"))
    if names.__class__ is List and not names.items:
        return []
    if names.__class__ is not Vec or names.t != T.S:
        raise QError("type")
    found = sym_names(names)
    check_columns(path, found)
    return found


def check_columns(path: str, names: Iterable[str]) -> None:
    """'access if a restricted or confined evaluation may not read these columns of a table in a folder: a table that it
    holds reads them without being asked again. A name with a slash leads out of the folder: 'type."""
    check_read(path)
    for name in names:
        if "/" in name:
            raise QError("type")
        check_read(f"{path}/{name}")


def read(path: str) -> Table:
    """The splayed table in a folder."""
    path = path.rstrip("/") or "/"
    names = names_in(path)
    return Table(names, SplayedCols(names, path))


def write(path: str, x: Value, packing: kdb.Packing | dict[str, kdb.Packing] | None = None) -> None:
    """Save a table splayed: 'type if it is keyed or has unenumerated symbols. `packing` is the compression: one Packing
    for all files, or a dictionary by column ('' for the others)."""
    if x.__class__ is Dict or x.__class__ is not Table:
        raise QError("type")
    path = path.rstrip("/")
    values: list[Any] = []
    for name, column in zip(x.names, x.cols, strict=True):
        if not storable(column):
            raise QError("type")
        column_packing = (
            packing.get(name, packing.get("")) if isinstance(packing, dict) else packing
        )
        values.append((f"{path}/{name}", column, column_packing))
    kdb.write_all([*values, (f"{path}/.d", sym_vec(x.names), None)], over_file=True)


def packings_of(path: str) -> dict[str, kdb.Packing]:
    """The compression of a splayed table's compressed columns."""
    if not os.path.isdir(path):
        return {}
    packings = {
        name: kdb.packing_of(os.path.join(path, name)) for name in unfinished.names_in(path)
    }
    return {name: packing for name, packing in packings.items() if packing is not None}


def storable(col: Value) -> bool:
    """Can a column be a file of a splayed table: does it have no unenumerated symbols?"""
    if col.__class__ is Vec:
        return bool(col.t != T.S)
    if not isinstance(col, List):
        return False
    flat = col.flat
    if flat is not None:
        return flat.t != T.S
    return getattr(col, "t", 0) != T.S and all(
        item.__class__ is not Vec or item.t != T.S
        for item in (col.items if col.__class__ is List else ())
    )


def append(path: str, rows: Table) -> bool:
    """Append rows to a splayed table in place, to all columns or none; false if that is not possible."""
    path = path.rstrip("/")
    if rows.names != names_in(path):
        return False
    if any(not storable(column) for column in rows.cols):
        return False
    return appending.append(
        [(f"{path}/{name}", column) for name, column in zip(rows.names, rows.cols, strict=True)]
    )
