"""Values on disk: set and get of files and folders, save and load of globals, in-place changes to splayed tables."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from kshell import registry
from kshell.errors import QError
from kshell.lang.tables import tables
from kshell.lang.verbs.dicts import enumerate_value
from kshell.lang.verbs.files import path_of, save_lines
from kshell.lang.verbs.internal import packing
from kshell.registry import LOAD_INTO, verb
from kshell.store import appending, kdb, splay, unfinished
from kshell.store.arrow import files as arrow_files
from kshell.store.runs import flattened
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import (
    Dict,
    List,
    ListValue,
    Nd,
    Table,
    Value,
    Vec,
    atom_t,
    flat_list,
    is_list,
    seq_items,
    sym_vec,
)
from kshell.values.base.functions import Handle, Prim
from kshell.values.base.narrow import has_items, list_value
from kshell.values.base.symbols import Sym, sym
from kshell.values.change.join import append
from kshell.values.items.pick import unenum
from kshell.values.session.context import running
from kshell.values.session.interrupts import edit
from kshell.values.session.restrict import check_read, refuse

# compression of files: one setting for all, or by column, with the empty name for the others
Packings = kdb.Packing | dict[str, Any] | None


# ------------------------------------------------------------------ set and get


def read_path(x: Sym) -> Value:
    """The value in a data file, the splayed table in a folder, or the table in files of Parquet or Arrow."""
    path = path_of(x)
    if arrow_files.is_arrow(path):
        return arrow_files.read(path)
    if os.path.isdir(path) or path.endswith("/"):
        return splay.read(path)
    return kdb.read(path)


def entry(x: Sym, path: Sequence[Value], make: bool = False) -> tuple[Sym, Sequence[Value]]:
    """Resolve the leading names of a path from a folder: the file or folder they lead to, and the rest of the path.
    Folders work like dictionaries of files, splayed tables like dictionaries of columns. An empty name ends in a slash.
    With `make`, folders need not exist yet."""
    while path and path[0].__class__ is Sym:
        folder, name = path_of(x), path[0].s
        if not os.path.isdir(folder) and (not make or os.path.exists(folder)):
            break
        if name and splay.is_splayed(folder) and name in splay.names_in(folder):
            break
        x, path = sym(f"{x.s.rstrip('/')}/{name}"), path[1:]
    return x, path


def write_path(x: Value, y: Value) -> Value:
    """`file set y`, `folder/ set table`, `(file;block;algorithm;level) set y`, `(folder;how) set table`."""
    packings: Packings = default_packing()
    if is_list(x):
        items = seq_items(x)
        if len(items) == 4:
            x, packings = items[0], packing(*items[1:])
        elif len(items) == 2 and items[1].__class__ is Dict:
            x, packings = items[0], by_column(items[1], packings)
        else:
            raise QError("type")
    _write(x, y, packings)
    return x


def _write(x: Value, y: Value, how: Packings) -> None:
    path = path_of(x)
    if path.endswith("/"):
        splay.write(path, y, how)
    else:
        kdb.write(path, y, how.get("") if isinstance(how, dict) else how)


def _packing_there(where: str) -> Packings:
    """The current compression of a file, or of each column of a splayed table; `.z.zd` if it does not exist."""
    if not os.path.isdir(where):
        return kdb.packing_of(where) or default_packing()
    default = default_packing()
    return (dict(default) if isinstance(default, dict) else {"": default}) | splay.packings_of(
        where
    )


def default_packing() -> Packings:
    """The compression that `.z.zd` sets for files."""
    setting = running().names.find(".z.zd")
    if setting.__class__ is Dict:
        return by_column(setting, None)
    return packing(*setting.items) if setting.__class__ is Vec and len(setting) == 3 else None


def by_column(d: Dict, default: Packings) -> dict[str, Any]:
    """The compression of columns by name; the empty name is the default."""
    packings: dict[str, Any] = {"": default}
    for name, value in zip(seq_items(d.k), seq_items(d.v), strict=True):
        numbers = seq_items(value)
        if name.__class__ is not Sym or len(numbers) != 3:
            raise QError("type")
        packings[name.s] = packing(*numbers)
    return packings


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Lock the folder of this file, so that no other process that uses the lock changes it meanwhile."""
    check_read(path)
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


# ------------------------------------------------------------------ amended in place


def _amend_columns(
    where: str, path: Sequence[Value], f: Value, y: Value, amend: Callable[..., Value]
) -> None:
    """Amend columns of a splayed table atomically; the path begins with their names."""
    names = tables.names_of(path[0])
    items = [y] * len(names)
    if path[0].__class__ is Vec and len(path) == 1 and is_list(y):  # one item per column
        items = seq_items(y)
        if len(items) != len(names):
            raise QError("length")
    kdb.write_all(
        [
            _amended_column(f"{where.rstrip('/')}/{name}", path[1:], f, item, amend)
            for name, item in zip(names, items, strict=True)
        ]
    )


def amend_path(
    x: Sym, path: Sequence[Value], f: Value, y: Value, amend: Callable[..., Value]
) -> None:
    """`.[file;path;f;y]`: amend the value in a file or the columns of a splayed table, or append to either. Leading
    names select items of a folder, which need not exist yet."""
    refuse("set" if f.__class__ is not Prim else f.name)
    if not splay.is_splayed(path_of(x)) or (path and path[0].__class__ is Sym and not path[0].s):
        x, path = entry(x, path, make=True)
    where = path_of(x)
    unfinished.settle(where if os.path.isdir(where) else os.path.dirname(where) or ".")
    named = bool(path) and _is_names(path[0])
    folder = where.endswith("/") or os.path.isdir(where) or (named and not os.path.exists(where))
    appends = not path and f.__class__ is Prim and f.name == ","
    if appends and _appended_in_place(where, folder, y):
        return
    if folder and named:
        _amend_columns(where, path, f, y, amend)
        return
    data = read_path(x) if path or _needs_old(f, where) else List([])
    if (
        path
        and not folder
        and (isinstance(data, List) or (data.__class__ is Vec and (data.attr or data.t == T.ENUM)))
    ):
        raise QError(f"type/attr error amending file {where}")
    if appends and not _stays_vector(data, y):
        raise QError("type")
    result = amend(data, path, f, y) if path or not (appends and not os.path.exists(where)) else y
    if appends and os.path.exists(where):
        result = tables.as_appended(result)
    _write(
        x if not folder or where.endswith("/") else sym(x.s + "/"), result, _packing_there(where)
    )


def _appended_in_place(where: str, folder: bool, y: Value) -> bool:
    """Append rows to a splayed table or items to a vector; false if the file must be rewritten."""
    if folder:
        return y.__class__ is Table and _appended(where, y)
    return y.__class__ is Vec and os.path.exists(where) and appending.append([(where, y)])


def _stays_vector(old: Value, y: Value) -> bool:
    """If a file holds a vector, does it remain one with y appended?"""
    qtype = y.t if y.__class__ is Vec else atom_t(y)
    if old.__class__ is not Vec or T.ENUM in (old.t, qtype):
        return True
    return qtype == old.t or (is_list(y) and not len(y))


def _is_names(i: Value) -> bool:
    return i.__class__ is Sym or (i.__class__ is Vec and i.t == T.S)


def _needs_old(f: Value, where: str) -> bool:
    """Does the function need the old content? Not for assigning, nor for appending to a file that does not exist
    yet."""
    name = f.name if f.__class__ is Prim else ""
    return name != ":" and (name != "," or os.path.exists(where.rstrip("/")))


def _amended_column(
    file: str, path: Sequence[Value], f: Value, y: Value, amend: Callable[..., Value]
) -> Any:
    """The file of a column, its new content and its compression."""
    data = kdb.read(file) if path or _needs_old(f, file) else List([])
    result = amend(data, path, f, y)
    if not splay.storable(result) and os.path.basename(file) != ".d":
        raise QError("type")
    packings = _packing_there(file)
    return file, result, packings if not isinstance(packings, dict) else None


def _appended(where: str, y: Table) -> bool:
    """Append rows to a splayed table; it is created if it does not exist."""
    if not splay.is_splayed(where):
        splay.write(where, y, default_packing())
        return True
    names = splay.names_in(where)
    if sorted(names) != sorted(y.names):
        raise QError("mismatch")
    rows = Table(names, [y.col(name) for name in names])
    if splay.append(where, rows):
        return True
    grown = append(Table(names, list(splay.read(where).cols)), rows)
    splay.write(where, tables.as_appended(grown), _packing_there(where))
    return True


def upsert_splayed(x: Sym, y: Value) -> bool:
    """`folder upsert rows` for a splayed table, in place; false if there is none."""
    where = path_of(x)
    if not splay.is_splayed(where):
        return False
    if is_list(y) and not len(y):
        return True
    return _appended(where, tables.given_rows(splay.read(where), y))


# ------------------------------------------------------------------ save and load


def _path(x: Sym) -> str:
    return x.s.removeprefix(":")


@verb("save", effect="changes")
@edit("save")
def save(x: Value) -> Value:
    """Save a global under its own name: as binary, or as text by file extension (csv, txt, xml, xls).

    q)v:1 2 3
    q)save`:/tmp/kshelldb/v
    `:/tmp/kshelldb/v
    q)hdel`:/tmp/kshelldb/v;
    """
    if x.__class__ is Vec and x.t == T.S:
        return collapse([save(item) for item in x.items])
    if x.__class__ is not Sym:
        raise QError("type")
    path = _path(x)
    name, extension = os.path.splitext(os.path.basename(path.rstrip("/")))
    value = running().names.get(name)
    if not extension:
        return write_path(sym(":" + path), value)
    exporter = registry.find("name", ".h.tx")
    writers = exporter.fns[0]().v.items if exporter else []
    kinds = (
        dict(zip((item.s for item in exporter.fns[0]().k.items), writers, strict=True))
        if exporter
        else {}
    )
    if extension[1:] not in kinds:
        raise QError("type")
    text_lines = kinds[extension[1:]].call([value])
    return save_lines(sym(":" + path), text_lines)


@verb("load", effect="changes")
@edit("load")
def load(x: Value) -> Value:
    """Load a saved file or folder into the global with its name; a checkpoint's tensors into a module, given both.

    For a module the result is a table: what became of each name of the module and of the file.

    q)v:1 2 3
    q)save`:/tmp/kshelldb/v;
    q)load`:/tmp/kshelldb/v
    `v
    q)hdel`:/tmp/kshelldb/v;
    q)m:module enlist(`linear;2;1)
    q)ckpt(`:docs.pt;`weight`bias!(tensor enlist 1 2e;tensor enlist 3e));
    q)load(m;`:docs.pt)
    name   status dtype size given
    ------------------------------
    weight loaded float 1 2  1 2
    bias   loaded float ,1   ,1
    q)hdel`:docs.pt;
    """
    if x.__class__ is List and len(x.items) > 1 and isinstance(x.items[0], Handle):
        loaded: Value = LOAD_INTO.fn(x)
        return loaded
    if x.__class__ is Vec and x.t == T.S:
        return collapse([load(item) for item in x.items])
    if x.__class__ is not Sym:
        raise QError("type")
    path = _path(x).rstrip("/")
    check_read(path)
    name = os.path.basename(path)
    running().names.set(name, load_any(path))
    return sym(name)


def load_any(path: str) -> Value:
    """The value of a data file, a splayed table, or a dictionary of a folder's contents."""
    if not os.path.isdir(path):
        return kdb.read(path)
    if splay.is_splayed(path):
        return splay.read(path)
    files = [name for name in unfinished.names_in(path) if not name.endswith(("#", "$"))]
    return Dict(sym_vec(files), List([load_any(os.path.join(path, file)) for file in files]))


@verb("rsave", effect="changes")
@edit("rsave")
def rsave(x: Value) -> Value:
    """Save a table splayed, to a folder with its name.

    q)t:([]a:1 2)
    q)rsave`:/tmp/kshelldb/t
    `:/tmp/kshelldb/t/
    """
    if x.__class__ is not Sym:
        raise QError("type")
    path = _path(x).rstrip("/")
    write_path(sym(f":{path}/"), running().names.get(os.path.basename(path)))
    return sym(f":{path}/")


@verb("rload", effect="changes")
@edit("rload")
def rload(x: Value) -> Value:
    """Load the splayed table in a folder into the global with its name.

    q)`:/tmp/kshelldb/t/ set ([]a:1 2);
    q)rload`:/tmp/kshelldb/t
    `t
    q)t
    a
    -
    1
    2
    """
    if x.__class__ is not Sym:
        raise QError("type")
    path = _path(x).rstrip("/")
    name = os.path.basename(path)
    running().names.set(name, splay.read(path))
    return sym(name)


@verb("dsave", effect="changes")
@edit("dsave")
def dsave(x: Value, y: Value) -> Value:
    """Save global tables splayed and enumerated in folder x, with the first column of each parted.

    q)t:([]s:`a`b;v:1 2)
    q)`:/tmp/kshelldb dsave`t
    `t
    q)get`:/tmp/kshelldb/t/v
    1 2
    """
    segments = tables.names_of(x)
    names = tables.names_of(y)
    if not segments or not segments[0].startswith(":"):
        raise QError("type")
    root = segments[0]
    folder = "/".join([root.rstrip("/"), *segments[1:]])
    for name in names:
        table = enumerated(root[1:], tables.flat(sym(name)), "sym")
        columns = list(table.cols)
        columns[0] = registry.known("verb", "#").fns[2](sym("p"), columns[0])
        write_path(sym(f"{folder}/{name}/"), Table(table.names, columns))
    return y


# ------------------------------------------------------------------ enumerations


def enumerated(root: str | None, t: Table, name: str) -> Table:
    """Enumerate a table's symbol columns against the list `name`, extending it; with a folder, the list is read from
    its file there and saved back."""
    if root is None:
        return _enumerate(t, name)
    path = os.path.join(root, name)
    with locked(path):
        names = running().names
        if os.path.exists(path):
            names.set(name, kdb.read(path), ".")
        elif not any(_symbols(column) for column in t.cols):
            return t
        else:
            names.set(name, sym_vec([]), ".")
        before = names.get(name, ".")
        result = _enumerate(t, name)
        if len(names.get(name, ".")) > len(before) or not os.path.exists(path):
            save_list(path, name, before)
    return result


def save_list(path: str, name: str, before: Value) -> None:
    """Save an extended enumeration list to its file. If the file is compressed, raise an error and restore the list."""
    names = running().names
    if kdb.packing_of(path) is not None:
        names.set(name, before, ".")
        raise QError(f"no append to zipped enums: {path}")
    kdb.write(path, names.get(name, "."))


def _symbols(c: Value) -> bool:
    """Does a column hold unenumerated symbols?"""
    if isinstance(c, List):
        flat = c.flat
        if flat is not None:
            return flat.t == T.S
        return any(
            _symbols(item) for item in (c.items if not isinstance(c, Nd) or c.t == T.S else ())
        )
    return c.__class__ is Vec and c.t == T.S


def _enumerate(t: Table, name: str) -> Table:
    return Table(t.names, [_enumerate_column(column, name) for column in t.cols])


def _enumerate_column(c: ListValue, name: str) -> ListValue:
    if c.__class__ is Vec and c.t == T.ENUM and c.dom != name:
        named = unenum(c)
        if named.__class__ is Vec and named.t == T.S:
            c = named
    if c.__class__ is Vec and c.t == T.S:
        names = running().names
        before, names.current = names.current, "."
        try:
            return list_value(enumerate_value(name, c, True))
        finally:
            names.current = before
    flat = flattened(c) if c.__class__ is List else None
    if flat is not None:  # strings and the like: as they are stored
        return flat_list(flat.t, flat.a, flat.ends)
    if _symbols(c):
        return List(
            [_enumerate_column(item, name) if has_items(item) else item for item in c.items]
        )
    return c
