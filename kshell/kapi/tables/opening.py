"""What the user gives as a table, in parts: by the kind of the value, of the file, or of the files in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from kshell.errors import CallError, QError
from kshell.kapi.tables.array_files import IMAGES, Arrays, Images
from kshell.kapi.tables.arrow_files import Batches, Dataset
from kshell.kapi.tables.parts import Partitions, Parts, Ranges, Splayed
from kshell.store import kdb, parted, splay
from kshell.store.arrow import databases as arrow_databases
from kshell.store.arrow import files as arrow_files
from kshell.values.base import types as T
from kshell.values.base.core import Table, Vec
from kshell.values.session.context import running
from kshell.values.session.restrict import check_read

# what reads files: the parts of a path, given the files of that kind that it is or has in it
Opener = Callable[[str, list[str]], Parts]
# by the end of a file's name
FORMATS: dict[str, Opener] = {
    ".parquet": lambda path, files: Dataset(path, "parquet"),
    ".csv": lambda path, files: Dataset(path, "csv"),
    **dict.fromkeys((".arrow", ".feather"), Batches),
    ".npy": lambda path, files: Arrays({_stem(file): file for file in files}),
    **dict.fromkeys(IMAGES, Images),
}
_BESIDE = (
    ".json",
    ".md",
    ".txt",
    ".crc",
)  # ends of the names of files that stand beside data, and say something of it


def place_of(table: Table) -> tuple[str, str | None] | None:
    """The path of a table on disk, and its name if that is a database; None for one in memory."""
    cols = table.cols
    if isinstance(cols, parted.PartCols):
        name = None if isinstance(cols.db, arrow_files.Folders) else cols.name
        return os.path.abspath(cols.db.root), name
    if isinstance(cols, splay.SplayedCols | arrow_files.ArrowCols):
        return os.path.abspath(cols.path), None
    return None


def parts_of_table(table: Table, call: str) -> Parts:
    """The parts of a table of the session."""
    cols = table.cols
    if isinstance(cols, parted.PartCols) and not isinstance(cols.db, arrow_files.Folders):
        return Partitions(cols.db, cols.name)
    if isinstance(cols, splay.SplayedCols):
        return Splayed(table, cols.path)
    place = place_of(table)
    if place is None:
        return Ranges(table, "the table")
    return parts_of_path(place[0], [] if place[1] is None else [place[1]], call)


def parts_of_path(path: str, names: Sequence[str], call: str) -> Parts:
    """The parts of a table on disk; `names` are those that a query gives tables, of which the first one that a database
    has says which it is."""
    check_read(path)
    path = path.rstrip("/") or "/"
    together = arrow_databases.database_of(path) if os.path.isdir(path) else None
    if together is not None:
        return _table_of(together, names, call)
    kind, files = _kind(path)
    if kind is not None:
        return kind(path, files)
    if splay.is_splayed(path):
        _symbols(os.path.dirname(path))
        return Splayed(splay.read(path), path)
    if not os.path.isdir(path):
        raise CallError(call, f"no table at {path}", given=path)
    found = _table_of(parted.Database(path), names, call)
    _symbols(path)
    return found


def _table_of(db: parted.Database, names: Sequence[str], call: str) -> Partitions:
    """The first one of some names that is a table of a database."""
    name = next((name for name in names if name in db.tables), None)
    if name is None:
        known = ", ".join(db.tables)
        raise CallError(
            call,
            f"a query names a table of the database {db.root}, which has {known}",
            given=names[0] if names else "no query",
        )
    return Partitions(db, name)


def _kind(path: str) -> tuple[Opener | None, list[str]]:
    """What reads a file, or the files in a folder and in those in it, and these files."""
    if not os.path.isdir(path):
        return (FORMATS.get(_end(path)) if os.path.isfile(path) else None), [path]
    files: list[str] = []
    for folder, inner, names in os.walk(path):
        inner.sort()
        for name in sorted(names):
            if name[0] in "._" or _end(name) in _BESIDE:
                continue
            if _end(name) not in FORMATS:
                return None, []
            files.append(os.path.join(folder, name))
    found = {FORMATS[_end(file)] for file in files}
    return (found.pop() if len(found) == 1 else None), files


def _end(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _stem(file: str) -> str:
    return os.path.splitext(os.path.basename(file))[0]


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
