"""`\\l`: load scripts, data files, splayed tables, databases."""

from __future__ import annotations

import os
from typing import Any

from kshell.errors import QError
from kshell.lang.verbs.disk import load_any
from kshell.store import compress, kdb, parted, splay, unfinished
from kshell.values.base.core import NIL, Value, sym
from kshell.values.session.context import running

SCRIPTS = (".q", ".k", ".s", ".p", ".t", ".q_")
_DATA = (kdb.GENERAL, kdb.VECTOR, kdb.PAGED, compress.MAGIC[:2])


def found(path: str, caller: str = "") -> str:
    """The path of a script or folder: in the current folder, next to the script that loads it, or in QHOME."""
    path = os.path.expanduser(path)
    places = ["", os.path.dirname(caller), os.environ.get("QHOME", "")]
    for place in places:
        here = os.path.join(place, path) if place or place == "" else path
        if os.path.exists(here):
            return here
    return path


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
        n
        for n in unfinished.names_in(root)
        if not n.startswith(".") and not n.endswith(("$", "#")) and not unfinished.is_earlier(n)
    ]
    parts = parted.kind_of(names)
    code = [name for name in names if name.endswith(SCRIPTS)]
    skip = {"par.txt", *code, *(parts[2] if parts else [])}
    for n in names:
        where = f"{root}/{n}"
        if n not in skip and (os.path.isdir(where) or is_data(where)):
            session.names.set(n, load_any(where), ".")
    if parts or os.path.isfile(f"{root}/par.txt"):
        open_database(root)
    if scripts and not reload:
        for n in code:
            session.load(f"{root}/{n}")
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
    db = session.database
    session.names.set(db.field, db.vec(db.pv), ".")
    for name in db.tables:
        session.names.set(name, parted.table(db, name), ".")
