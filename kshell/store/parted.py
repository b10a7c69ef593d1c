"""Partitioned databases: a folder of folders named by date, month, year or number, each containing splayed tables."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.store import splay, unfinished
from kshell.values.base import types as T
from kshell.values.base.core import List, ListValue, Table, Value, Vec
from kshell.values.change.concat import concat
from kshell.values.session.restrict import check_read

# kinds of partition: name and type of the virtual column, pattern of the folder names
KINDS = (
    ("date", T.D, re.compile(r"\d{4}\.\d\d\.\d\d$")),
    ("month", T.M, re.compile(r"\d{4}\.\d\d$")),
    ("year", T.I, re.compile(r"\d{4}$")),
    ("int", T.I, re.compile(r"\d+$")),
)
_EPOCH = {T.D: np.datetime64("2000-01-01", "D"), T.M: np.datetime64("2000-01", "M")}


def kind_of(names: list[str]) -> tuple[str, int, list[str]] | None:
    """Field, type and folders of the partitions among some names; None if there are none."""
    folders = [
        name
        for name in names
        if name[:1].isdigit() and any(pattern.match(name) for _, _, pattern in KINDS)
    ]
    for field, qtype, pattern in KINDS:
        if folders and all(pattern.match(name) for name in folders):
            return field, qtype, folders
    return None


def raw_of(name: str, t: int) -> int:
    """The raw value of a partition, from its folder name."""
    if t not in _EPOCH:
        return int(name)
    try:
        value = np.datetime64(name.replace(".", "-"))
        return int((value - _EPOCH[t]).astype(np.int64))
    except ValueError:
        pass
    raise QError("part")


def name_of(value: int, t: int) -> str:
    """The name of a partition's folder."""
    if t not in _EPOCH:
        return str(value)
    return str(_EPOCH[t] + np.timedelta64(value, "D" if t == T.D else "M")).replace("-", ".")


class Database:
    """The loaded database. `PV` are its partition values and `PD` their folders; `pv` and `pd` those in view; `tables`
    the columns of each partitioned table."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.segments = segments_of(root)
        self.scan()

    def scan(self) -> None:
        """Find the partitions and tables."""
        partitions: list[tuple[int, str]] = []
        self.per_segment: list[list[int]] = []
        kind = None
        for folder in self.segments or [self.root]:
            check_read(folder)
            segment_kind = kind_of(
                unfinished.names_in(folder) if os.path.isdir(folder) or not self.segments else []
            )
            self.per_segment.append([])
            if segment_kind is not None:
                kind = segment_kind
                self.per_segment[-1] = sorted(
                    raw_of(name, segment_kind[1]) for name in segment_kind[2]
                )
                partitions += [(value, folder) for value in self.per_segment[-1]]
        if kind is None:
            raise QError("empty" if self.segments else "part")
        self.field, self.t = kind[0], kind[1]
        partitions.sort(key=lambda f: f[0])
        self.PV, self.PD = [value for value, _ in partitions], [folder for _, folder in partitions]
        self.view(None)
        self.prototypes: dict[str, Table] = {}
        self.tables: dict[str, list[str]] = {}
        folder = self.folder(len(self.pv) - 1)
        for name in unfinished.names_in(folder):
            path = f"{folder}/{name}"
            if splay.is_splayed(path) and not name.endswith("$"):
                self.tables[name] = splay.names_in(path)

    def view(self, values: list[int] | None) -> None:
        """Restrict the view to some partitions; None for all."""
        indices = [
            index for index, value in enumerate(self.PV) if values is None or value in values
        ]
        if not indices:
            raise QError("invalid partition filter")
        self.pv, self.pd = (
            [self.PV[index] for index in indices],
            [self.PD[index] for index in indices],
        )
        self.counts: dict[str, list[int]] = {}

    def vec(self, values: list[int]) -> Vec:
        """Partition values as a vector."""
        return Vec(self.t, np.array(values, T.DTYPE[self.t]))

    def folder(self, part: int) -> str:
        """The folder of partition number `part` in view."""
        return f"{self.pd[part]}/{name_of(self.pv[part], self.t)}"

    def count(self, name: str) -> list[int]:
        """The number of rows of a table in each partition in view."""
        counts = self.counts.get(name)
        if counts is None:
            counts = self.counts[name] = [
                len(self.part(name, index)) for index in range(len(self.pv))
            ]
        return counts

    def part(self, name: str, i: int) -> Table:
        """A table in one partition, with its columns not read yet; without the virtual column."""
        path = f"{self.folder(i)}/{name}"
        if name in self.prototypes and not splay.is_splayed(path):
            return self.prototypes[name]
        names = self.tables.get(name)
        if names is None:
            raise QError(name)
        return Table(list(names), splay.SplayedCols(list(names), path))

    def empty(self, name: str) -> Table:
        """A table without rows."""
        return empty_like(self.part(name, len(self.pv) - 1))

    def fill(self, first: bool = False) -> None:
        """Record an empty table for each table that is missing from some partition (`.Q.bv`)."""
        order = range(len(self.pv)) if first else range(len(self.pv) - 1, -1, -1)
        for partition in order:
            folder = self.folder(partition)
            for name in unfinished.names_in(folder):
                path = f"{folder}/{name}"
                if name not in self.prototypes and splay.is_splayed(path):
                    splayed = splay.read(path)
                    self.tables.setdefault(name, splayed.names)
                    if any(
                        not splay.is_splayed(f"{self.folder(partition)}/{name}")
                        for partition in range(len(self.pv))
                    ):
                        self.prototypes[name] = empty_like(splayed)


class Beside(Database):
    """Tables of several databases that are partitioned by the same field, by new names. A value of the field that one
    lacks is a partition without rows there."""

    def __init__(self, tables: dict[str, tuple[Database, str]], root: str = "") -> None:
        self._of = tables
        databases = [db for db, _ in tables.values()]
        self.root = root or ", ".join(dict.fromkeys(db.root for db in databases))
        self.field, self.t = databases[0].field, databases[0].t
        self.segments, self.per_segment, self.prototypes = [], [], {}
        self.tables = {name: db.tables[inner] for name, (db, inner) in tables.items()}
        self.PV = sorted({value for db in databases for value in db.pv})
        self.PD = [self.root] * len(self.PV)
        self.view(None)

    def folder(self, part: int) -> str:
        return f"{self.root}, {self.field} {name_of(self.pv[part], self.t)}"

    def part(self, name: str, i: int) -> Table:
        (db, inner), value = self._of[name], self.pv[i]
        return db.part(inner, db.pv.index(value)) if value in db.pv else db.empty(inner)


def empty_like(t: Table) -> Table:
    """A table of the same columns without rows."""
    return Table(list(t.names), [none_of(column) for column in t.cols])


def none_of(c: ListValue) -> ListValue:
    """An empty column of the same type."""
    return Vec(c.t, c.a[:0], "", c.dom) if c.__class__ is Vec else List([])


def segments_of(root: str) -> list[str]:
    """The folders listed in par.txt; none if the file does not exist."""
    path = os.path.join(root, "par.txt")
    if not os.path.isfile(path):
        return []
    with open(path) as file:
        lines = [line.strip() for line in file]
    return [os.path.join(root, line.rstrip("/")) for line in lines if line]


class PartCols(splay.LazyCols):
    """The columns of a partitioned table over all partitions in view, the partition values first."""

    def __init__(self, db: Database, name: str) -> None:
        super().__init__([db.field, *db.tables[name]], name)
        self.db, self.name = db, name

    def make(self, i: int) -> Value:
        counts = self.db.count(self.name)
        if i == 0:
            return Vec(self.db.t, np.repeat(self.db.vec(self.db.pv).a, counts))
        return joined(
            [self.db.part(self.name, partition).cols[i - 1] for partition in range(len(counts))]
        )

    def of(self, part: int) -> Table:
        """The table in one partition, with the partition value as its first column."""
        stored = self.db.part(self.name, part)
        count = self.db.count(self.name)[part]
        first = Vec(self.db.t, np.full(count, self.db.pv[part], T.DTYPE[self.db.t]))
        return Table(self.names, _WithFirst(self.names, first, stored.cols))

    def there(self) -> bool:
        """Does it exist in the first partition in view, or count as empty where it is missing?"""
        return (
            self.name in self.db.prototypes
            or not self.db.pv
            or splay.is_splayed(f"{self.db.folder(0)}/{self.name}")
        )

    def shown(self) -> list[str]:
        return self.names[1:]

    def sample(self) -> list[Any]:
        return list(self.of(len(self.db.pv) - 1).cols)

    def head(self, n: int) -> Table:
        pieces, count = [], 0
        for partition in range(len(self.db.pv)):
            pieces.append(self.of(partition))
            count += self.db.count(self.name)[partition]
            if count >= n:
                break
        return Table(
            self.names,
            [joined([piece.cols[index] for piece in pieces]) for index in range(len(self.names))],
        )


class _WithFirst(splay.LazyCols):
    """A computed column before others that are read on use."""

    def __init__(self, names: list[str], first: Vec, rest: Sequence[ListValue]) -> None:
        super().__init__(names, "")
        self.first, self.rest = first, rest

    def make(self, i: int) -> Value:
        return self.first if i == 0 else self.rest[i - 1]


def joined(parts: Sequence[ListValue]) -> ListValue:
    """The parts of a column as one."""
    nonempty = [part for part in parts if len(part)]
    if len(nonempty) <= 1:
        return nonempty[0] if nonempty else parts[0] if parts else List([])
    return concat(nonempty)


def table(db: Database, name: str) -> Table:
    """A partitioned table of a database."""
    columns = PartCols(db, name)
    return Table(list(columns.names), columns)


def expected(root: str, value: int, t: int, name: str) -> str:
    """The expected location of a table in a partition: with par.txt, in its number's segment."""
    segments = segments_of(root)
    folder = segments[value % len(segments)] if segments else root
    return "/".join(part for part in (folder, name_of(value, t), name) if part)


def check(root: str) -> list[list[str]]:
    """Create empty tables that partitions lack, like those of the latest partition that has them; for each partition,
    latest first, its folder if something was created there."""
    database = Database(root)
    prototypes: dict[str, Table] = {}
    for partition in reversed(range(len(database.pv))):
        for name in unfinished.names_in(database.folder(partition)):
            if name not in prototypes and splay.is_splayed(f"{database.folder(partition)}/{name}"):
                prototypes[name] = empty_like(splay.read(f"{database.folder(partition)}/{name}"))
    created: list[list[str]] = []
    for partition in reversed(range(len(database.pv))):
        lacking = [
            name
            for name in prototypes
            if not splay.is_splayed(f"{database.folder(partition)}/{name}")
        ]
        for name in lacking:
            splay.write(f"{database.folder(partition)}/{name}", prototypes[name])
        created.append([database.folder(partition)] if lacking else [])
    return created
