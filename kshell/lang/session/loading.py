"""`\\l`: load scripts, data files, splayed tables, databases."""

from __future__ import annotations

import os
from typing import Any

from kshell.errors import QError
from kshell.lang.verbs.disk import load_any
from kshell.registry import Hook
from kshell.store import compress, kdb, parted, splay, unfinished
from kshell.values.base.core import NIL, Value
from kshell.values.base.symbols import sym
from kshell.values.session.context import running
from kshell.values.session.restrict import allow_python, check_read, expanded, is_outside

SCRIPTS = (".q", ".k", ".s", ".p", ".t", ".q_")
PYTHON_FILE = Hook()  # runs one, or gives its statements to the program's own `.p.e`
PYTHON_MODULE = Hook()  # runs one as a module of its own, whose entries and classes become types
_DATA = (kdb.GENERAL, kdb.VECTOR, kdb.PAGED, compress.MAGIC[:2])


def found(name: str, caller: str = "") -> str:
    """The path of a script or folder: in the current folder, next to the script that loads it, or in QHOME."""
    path = os.path.expanduser(name)
    places = ["", os.path.dirname(caller), os.environ.get("QHOME", "")]
    for place in places:
        candidate = os.path.join(place, path) if place or place == "" else path
        if not is_outside(candidate) and os.path.exists(candidate):
            return candidate
    return expanded(name)


def load(arg: str) -> Value:
    """`\\l arg`: run a script, load a data file or a folder."""
    session: Any = running()
    path = found(arg, session.scripts[-1] if session.scripts else "")
    if os.path.isdir(path):
        return load_folder(path)
    if is_data(path):
        name = os.path.basename(path)
        session.names.set(name, kdb.read(path))
        return sym(name)
    if path.endswith(".py") and os.path.isfile(path):
        allow_python("\\l")  # Python may do anything
        PYTHON_MODULE.fn(path)
        return NIL
    if path.endswith(".p") and os.path.isfile(path):
        PYTHON_FILE.fn(path, session.names.spaces.get(".p", {}).get("e"))
        return NIL
    return session.load(path)


def is_data(path: str) -> bool:
    """Is it a file in kdb+'s binary format?"""
    try:
        return unfinished.opened(path, lambda f: f.read(2)) in _DATA
    except OSError:
        return False


def load_folder(path: str, enter: bool = True, scripts: bool = True) -> Value:
    """Load a splayed table or a database; a database becomes the current folder."""
    session: Any = running()
    check_read(path)
    if splay.is_splayed(path):
        name = os.path.basename(os.path.abspath(path))
        session.names.set(name, splay.read(path))
        return sym(name)
    reload = os.path.abspath(path) == os.getcwd()
    root = "."
    if enter:
        _enter(path)
    else:
        root = path.rstrip("/")
    names = [
        entry
        for entry in unfinished.names_in(root)
        if not entry.startswith(".")
        and not entry.endswith(("$", "#"))
        and not unfinished.is_earlier(entry)
    ]
    partitions = parted.kind_of(names)
    script_names = [name for name in names if name.endswith(SCRIPTS)]
    skipped = {"par.txt", *script_names, *(partitions[2] if partitions else [])}
    for entry in names:
        location = f"{root}/{entry}"
        if entry not in skipped and (os.path.isdir(location) or is_data(location)):
            session.names.set(entry, load_any(location), ".")
    if partitions or os.path.isfile(f"{root}/par.txt"):
        open_database(root)
    if scripts and not reload:
        for entry in script_names:
            session.load(f"{root}/{entry}")
    return NIL


def _enter(path: str) -> None:
    problem: OSError | None = None
    try:
        os.chdir(path)
        return
    except OSError as e:
        problem = e
    raise QError(f"{path}. OS reports: {problem.strerror}")


def open_database(root: str) -> None:
    """Define the tables of a partitioned database, and its partition values."""
    session: Any = running()
    session.database = parted.Database(root)
    show_tables()


def show_tables() -> None:
    """Assign the partitioned tables and the partition values to their names."""
    session: Any = running()
    database = session.database
    session.names.set(database.field, database.vec(database.pv), ".")
    for name in database.tables:
        session.names.set(name, parted.table(database, name), ".")
