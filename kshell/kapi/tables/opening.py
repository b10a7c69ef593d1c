"""What the user gives as a table, in parts: by the kind of the value, of the file, or of the files in a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import names_of
from kshell.kapi.tables.array_files import IMAGES, Arrays, Images
from kshell.kapi.tables.arrow_files import Batches, Dataset
from kshell.kapi.tables.parts import Partitions, Parts, Ranges, Splayed
from kshell.store import kdb, parted, splay
from kshell.store.arrow import databases as arrow_databases
from kshell.store.arrow import files as arrow_files
from kshell.values.base import types as T
from kshell.values.base.core import Table, Value, Vec
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
# ends of the names of files that stand beside data, and say something of it
_BESIDE = (
    ".json",
    ".md",
    ".txt",
    ".crc",
)


def place_of(table: Table) -> tuple[str, str | None] | None:
    """The path of a table on disk, and its name if that is a database; None for one in memory."""
    cols = table.cols
    if isinstance(cols, parted.PartCols):
        name = None if isinstance(cols.db, arrow_files.Folders) else cols.name
        return os.path.abspath(cols.db.root), name
    if isinstance(cols, splay.SplayedCols | arrow_files.ArrowCols):
        return os.path.abspath(cols.path), None
    return None


def parts_of(source: Value, names: Sequence[str], name: str | None, call: str) -> Parts:
    """The parts of a table, of one at a path, or of the first of several paths. `names` are those that a query gives
    tables, `name` that of a table of a database, if not the query says it.

    Tables that the query names beside it, at the other paths or of the session, and that are partitioned by the same
    field, are those of one database with it."""
    others: dict[str, Table] = {}
    if isinstance(source, Table):
        parts = parts_of_table(source, call)
    else:
        paths = [path[1:] for path in names_of(source) or ()]
        others = {_stem(path.rstrip("/")): _beside(path, call) for path in paths[1:]}
        parts = parts_of_path(paths[0], [name] if name else names, call)
    own = parts.name if isinstance(parts, Partitions) else _stem(parts.what)
    if own not in names:
        found = next((n for n in names if n not in others), None)
        if found is None and others:
            given = f"of {', '.join(names) or 'none'}"
            raise CallError(
                call, expected=f"a query of {own}, the table of the first path", given=given
            )
        own = found or own
    known = parts.db.tables if isinstance(parts, Partitions) else {}
    for n in names:
        found = None if n == own or n in known or n in others else running().names.find(n, None)
        if found.__class__ is Table and isinstance(found.cols, parted.PartCols):
            others[n] = found
    db = _database(source, parts)
    alike = {n: t.cols for n, t in others.items() if db is not None and _is_alike(t, db[0])}
    if db is not None and alike:
        tables = {n: (db[0], n) for n in known} | {own: db}
        tables |= {n: (cols.db, cols.name) for n, cols in alike.items()}  # type: ignore[attr-defined]
        parts = Partitions(parted.Beside(tables), own)
    parts.further = {n: t for n, t in others.items() if n not in alike}
    return parts


def _beside(path: str, call: str) -> Table:
    """The table at a path that is named beside another one."""
    check_read(path)
    if splay.is_splayed(path):
        _symbols(os.path.dirname(path.rstrip("/")))
        return splay.read(path)
    if arrow_files.is_arrow(path):
        return arrow_files.read(path)
    raise CallError(
        call,
        f"{path}: a path beside the first is that of Parquet, Arrow or a splayed table",
        given=path,
    )


def _database(source: Value, parts: Parts) -> tuple[parted.Database, str] | None:
    """The database of a table, and its name there; None if it is not partitioned."""
    if isinstance(parts, Partitions):
        return parts.db, parts.name
    if isinstance(source, Table):
        cols = source.cols
        return (cols.db, cols.name) if isinstance(cols, parted.PartCols) else None
    folders = (
        arrow_files.folders_of(parts.what)
        if os.path.isdir(parts.what) and isinstance(parts, Dataset)
        else None
    )
    return None if folders is None else (folders, folders.name)


def _is_alike(table: Table, db: parted.Database) -> bool:
    """Is a table partitioned by the same field?"""
    cols = table.cols
    return isinstance(cols, parted.PartCols) and (cols.db.field, cols.db.t) == (db.field, db.t)


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
