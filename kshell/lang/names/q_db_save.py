"""The .Q namespace: saving tables to databases on disk."""

from __future__ import annotations

import os
from typing import cast

from kshell.errors import QError
from kshell.lang.names.define import name, verb
from kshell.lang.tables import tables
from kshell.lang.verbs import disk
from kshell.lang.verbs.files import path_of
from kshell.store import parted as store
from kshell.values.base import types as T
from kshell.values.base.core import (
    NIL,
    Dict,
    List,
    Table,
    Value,
    Vec,
    atom_t,
    raw,
    seq_items,
    sym_vec,
)
from kshell.values.base.narrow import list_value
from kshell.values.base.symbols import Sym, sym
from kshell.values.engine.apply import apply1
from kshell.values.session.context import running
from kshell.values.session.interrupts import edit


def folder_of(x: Value) -> str:
    """The path of a folder given as a file symbol, without the trailing /."""
    return path_of(x).rstrip("/") or "/"


@name(".Q.en", ".Q.en[folder;table]", effect="changes")
@edit(".Q.en")
def en(d: Value, t: Value) -> Value:
    """Enumerate a table's symbols against the list sym in a folder; :: keeps the list in memory only.

    q)t:.Q.en[`:/tmp/kshelldb]([]s:`a`b;v:1 2)
    q)key t`s
    `sym
    """
    return ens(d, t, sym("sym"))


@name(".Q.ens", ".Q.ens[folder;table;name]", effect="changes")
@edit(".Q.ens")
def ens(d: Value, t: Value, s: Value) -> Value:
    """Enumerate a table's symbols against a named list, kept in a file of that name in a folder.

    q).Q.ens[`:db;([]c:`a`b`a);`kinds]
    c
    -
    a
    b
    a
    q)get`:db/kinds
    `a`b
    """
    if s.__class__ is not Sym or not tables.is_table(t):
        raise QError("type")
    enumerated = disk.enumerated(None if d is NIL else folder_of(d), tables.flat(t), s.s)
    return tables.rekey(enumerated, tables.key_names(t))


def save_part(d: Value, p: Value, f: Value | None, t: Value, s: str) -> Value:
    """Save a global table splayed to a partition, sorted by a field, which becomes the first column and parted."""
    if t.__class__ is not Sym:
        raise QError("type")
    table = running().names.get(t.s)
    if table.__class__ is not Table:
        raise QError("type" if table.__class__ is not Dict else "nyi")
    if any(not _mappable(column) for column in table.cols):
        raise QError("unmappable")
    if f is not None:
        if f.__class__ is not Sym or f.s not in table.names:
            raise QError("type" if f.__class__ is not Sym else f.s)
        ordered = tables.unkeyed(verb("xasc", 2)(f, table))
        names = [f.s, *(name for name in ordered.names if name != f.s)]
        table = Table(names, [ordered.col(name) for name in names])
    table = disk.enumerated(folder_of(d), table, s)
    if f is not None:
        table.cols[0] = list_value(verb("#", 2)(sym("p"), table.cols[0]))
    disk.write_path(sym(f"{par(d, p, t).s}/"), table)
    return t


def _mappable(c: Value) -> bool:
    """Can the column be mapped: is it a vector, or a list of vectors of one type?"""
    if c.__class__ is Vec:
        return True
    return (
        isinstance(c, List)
        and len({item.t if item.__class__ is Vec else 0 for item in c.items} | {-1}) <= 2
        and all(item.__class__ is Vec for item in c.items)
    )


@name(".Q.dpft", ".Q.dpft[folder;partition;field;name]", effect="changes")
@edit(".Q.dpft")
def dpft(d: Value, p: Value, f: Value, t: Value) -> Value:
    """Save a global table to a partition, sorted and parted by a field, with symbols enumerated against sym.

    q)kt:([]s:`b`a;v:1 2)
    q).Q.dpft[`:/tmp/kshelldb;2024.01.01;`s;`kt]
    `kt
    q)get`:/tmp/kshelldb/2024.01.01/kt/v
    2 1
    """
    return save_part(d, p, f, t, "sym")


@name(".Q.dpfts", ".Q.dpfts[folder;partition;field;name;list]", effect="changes")
@edit(".Q.dpfts")
def dpfts(d: Value, p: Value, f: Value, t: Value, s: Value) -> Value:
    """Save a global table to a partition, sorted and parted by a field, with symbols enumerated against a named list.

    q)t:([]sym:`b`a;v:1 2)
    q).Q.dpfts[`:db;2024.01.01;`sym;`t;`kinds]
    `t
    q)get`:db/2024.01.01/t/v
    2 1
    q)get`:db/kinds
    `a`b
    """
    return save_part(d, p, f, t, s.s if s.__class__ is Sym else "sym")


@name(".Q.dpt", ".Q.dpt[folder;partition;name]", effect="changes")
def dpt(d: Value, p: Value, t: Value) -> Value:
    """Save a global table to a partition in its current order.

    q)t:([]sym:`b`a;v:1 2)
    q).Q.dpt[`:db;2024.01.01;`t]
    `t
    q)get`:db/2024.01.01/t/v
    1 2
    """
    return save_part(d, p, None, t, "sym")


@name(".Q.dpts", ".Q.dpts[folder;partition;name;list]", effect="changes")
def dpts(d: Value, p: Value, t: Value, s: Value) -> Value:
    """Save a global table to a partition in its current order, with symbols enumerated against a named list.

    q)t:([]sym:`b`a;v:1 2)
    q).Q.dpts[`:db;2024.01.01;`t;`kinds]
    `t
    q)get`:db/2024.01.01/t/v
    1 2
    """
    return save_part(d, p, None, t, s.s if s.__class__ is Sym else "sym")


@name(".Q.hdpf", ".Q.hdpf[port;folder;partition;field]", effect="changes")
def hdpf(h: Value, d: Value, p: Value, f: Value) -> Value:
    """Save all tables to a partition, empty them, and have the database at a port reload.

    q)t:([]sym:`b`a;v:1 2)
    q).Q.hdpf[0;`:db;2024.01.01;`sym]
    q)count t
    0
    q)get`:db/2024.01.01/t/v
    2 1
    """
    names = running().names
    for label in tables.names_of(verb("tables", 1)(NIL)):
        table = names.get(label)
        if table.__class__ is Table:
            dpft(d, p, f, sym(label))
            names.set(label, store.empty_like(table))
    if h is not NIL and not (atom_t(h) and raw(h) == 0):
        verb("hopen", 1)(h)
    return NIL


@name(
    ".Q.dsftg",
    ".Q.dsftg[(folder;partition;table);(file;offset;length);fields;(types;widths);g]",
    effect="changes",
)
def dsftg(d: Value, s: Value, f: Value, t: Value, g: Value) -> Value:
    """Load records from a binary file piece by piece, apply g, and append them to a table in a partition.

    q)`:r.bin 1:0x0102 0x0304;
    q)`:r.bin 1:0x01020304;
    q).Q.dsftg[(`:db;2024.01.01;`t);(`:r.bin;0;0);`a`b;("xx";1 1);::]
    `t
    q)get`:db/2024.01.01/t/a
    0x0103
    """
    folder, partition, table = seq_items(d)
    source, offset, length = seq_items(s)
    types, widths = seq_items(t)
    record_size = sum(int(item) for item in cast("list[int]", seq_items(widths)))
    start, file_size = int(raw(offset)), os.path.getsize(path_of(source))
    byte_count = int(raw(length))
    stop = start + byte_count if byte_count > 0 else file_size + byte_count
    record_limit = running().names.get(".Q.M")
    rows = min(record_limit if record_limit.__class__ is int else 1_000_000, 1_000_000)
    target = sym(f"{par(folder, partition, table).s}/")
    for position in range(start, stop - record_size + 1, rows * record_size):
        portion = List(
            [
                source,
                position,
                min(rows * record_size, (stop - position) // record_size * record_size),
            ]
        )
        columns = verb("1:", 2)(List([types, widths]), portion)
        given = Dict(list_value(f), list_value(columns))
        rows_ = tables.table_from_dict(given)
        disk._appended(path_of(target), tables.flat(en(folder, apply1(g, rows_))))
    return table


@name(".Q.chk", effect="changes")
@edit(".Q.chk")
def chk(d: Value) -> Value:
    """Create empty tables that are missing from partitions of a database; returns what was created in each partition.

    q)t:([]sym:`b`a;v:1 2)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];u:t;.Q.dpft[`:db;2024.01.02;`sym]each`t`u;
    q).Q.chk`:db
    ()
    ,`:db/2024.01.01
    q)key`:db/2024.01.01
    `t`u
    """
    return List(
        [
            sym_vec([":" + path for path in paths]) if paths else List([])
            for paths in store.check(folder_of(d))
        ]
    )


@name(".Q.par", ".Q.par[folder;partition;table]")
def par(d: Value, p: Value, t: Value) -> Sym:
    """The folder of a table in a partition; with par.txt, in its segment.

    q).Q.par[`:db;2024.01.02;`t]
    `:db/2024.01.02/t
    """
    table = "" if t.__class__ is not Sym else t.s
    qtype = atom_t(p)
    if qtype in (T.D, T.M):
        return sym(":" + store.expected(folder_of(d), int(raw(p)), qtype, table))
    if qtype in (T.I, T.J, T.H):
        return sym(":" + store.expected(folder_of(d), int(raw(p)), T.I, table))
    if p.__class__ is Sym:
        return sym("/".join([f":{folder_of(d)}", p.s, table]))
    raise QError("type")


@name(".Q.Xf", ".Q.Xf[type;file]", effect="changes")
def xf(t: Value, file: Value) -> Value:
    """Create a file with an empty list of vectors.

    q).Q.Xf[`long;`:v]
    `:v
    q)get`:v
    ()
    """
    disk.write_path(file, List([]))
    return file


@name(".Q.Cf", effect="changes")
def cf(file: Value) -> Value:
    """Create a file with an empty list of strings.

    q).Q.Cf`:s
    `:s
    q)get`:s
    ()
    """
    return xf(sym("char"), file)
