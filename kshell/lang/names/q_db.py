"""The .Q namespace: databases on disk."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from kshell import registry
from kshell.errors import QError
from kshell.lang.names.define import name, verb
from kshell.lang.qsql import partitioned
from kshell.lang.session import loading
from kshell.lang.tables import tables
from kshell.lang.verbs import disk
from kshell.lang.verbs.files import path_of
from kshell.parse import split_script
from kshell.store import parted as store
from kshell.store import splay
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs, string
from kshell.values.base.core import (
    NIL,
    Dict,
    List,
    Sym,
    Table,
    Value,
    Vec,
    atom_t,
    is_list,
    raw,
    seq_items,
    sym,
    sym_vec,
    text_of,
)
from kshell.values.engine.apply import apply1
from kshell.values.session.context import running
from kshell.values.session.interrupts import edit


def database() -> Any:
    """The partitioned database that is loaded; its names are not known without one."""
    return running().database


def _need(what: str) -> Any:
    db = database()
    if db is None:
        raise QError(what)
    return db


def folder_of(x: Value) -> str:
    """The path of a folder given as a file symbol, without / at its end."""
    return path_of(x).rstrip("/") or "/"


# ------------------------------------------------------------------ saving


@name(".Q.en", ".Q.en[folder;table]", effect="changes")
@edit(".Q.en")
def en(d: Value, t: Value) -> Value:
    """A table with its symbols enumerated against the list sym, kept in a folder; :: keeps it in memory only.

    q)t:.Q.en[`:/tmp/kshelldb]([]s:`a`b;v:1 2)
    q)key t`s
    `sym
    """
    return ens(d, t, sym("sym"))


@name(".Q.ens", ".Q.ens[folder;table;name]", effect="changes")
@edit(".Q.ens")
def ens(d: Value, t: Value, s: Value) -> Value:
    """A table with its symbols enumerated against a list, kept in a file of its name in a folder.

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
    out = disk.enumerated(None if d is NIL else folder_of(d), tables.flat(t), s.s)
    return tables.rekey(out, tables.key_names(t))


def save_part(d: Value, p: Value, f: Value | None, t: Value, s: str) -> Value:
    """Save a global table splayed to a partition, sorted by a field that comes first and is parted."""
    if t.__class__ is not Sym:
        raise QError("type")
    table = running().names.get(t.s)
    if table.__class__ is not Table:
        raise QError("type" if table.__class__ is not Dict else "nyi")
    if any(not _mappable(c) for c in table.cols):
        raise QError("unmappable")
    if f is not None:
        if f.__class__ is not Sym or f.s not in table.names:
            raise QError("type" if f.__class__ is not Sym else f.s)
        table = verb("xasc", 2)(f, table)
        names = [f.s, *(n for n in table.names if n != f.s)]
        table = Table(names, [table.col(n) for n in names])
    table = disk.enumerated(folder_of(d), table, s)
    if f is not None:
        table.cols[0] = verb("#", 2)(sym("p"), table.cols[0])
    disk.write_path(sym(f"{par(d, p, t).s}/"), table)
    return t


def _mappable(c: Value) -> bool:
    """Can a column be mapped: a vector, or a list of vectors of one type?"""
    if c.__class__ is Vec:
        return True
    return isinstance(c, List) and len({v.t if v.__class__ is Vec else 0 for v in c.items} | {-1}) <= 2 and all(
        v.__class__ is Vec for v in c.items)


@name(".Q.dpft", ".Q.dpft[folder;partition;field;name]", effect="changes")
@edit(".Q.dpft")
def dpft(d: Value, p: Value, f: Value, t: Value) -> Value:
    """Save a global table to a partition, sorted and parted by a field, symbols enumerated against sym.

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
    """Save a global table to a partition, sorted and parted by a field, symbols enumerated against a list.

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
    """Save a global table to a partition in the order it has.

    q)t:([]sym:`b`a;v:1 2)
    q).Q.dpt[`:db;2024.01.01;`t]
    `t
    q)get`:db/2024.01.01/t/v
    1 2
    """
    return save_part(d, p, None, t, "sym")


@name(".Q.dpts", ".Q.dpts[folder;partition;name;list]", effect="changes")
def dpts(d: Value, p: Value, t: Value, s: Value) -> Value:
    """Save a global table to a partition in the order it has, symbols enumerated against a list.

    q)t:([]sym:`b`a;v:1 2)
    q).Q.dpts[`:db;2024.01.01;`t;`kinds]
    `t
    q)get`:db/2024.01.01/t/v
    1 2
    """
    return save_part(d, p, None, t, s.s if s.__class__ is Sym else "sym")


@name(".Q.hdpf", ".Q.hdpf[port;folder;partition;field]", effect="changes")
def hdpf(h: Value, d: Value, p: Value, f: Value) -> Value:
    """Save all tables to a partition, empty them, and have the database at a port load itself again.

    q)t:([]sym:`b`a;v:1 2)
    q).Q.hdpf[0;`:db;2024.01.01;`sym]
    q)count t
    0
    q)get`:db/2024.01.01/t/v
    2 1
    """
    names = running().names
    for t in verb("tables", 1)(NIL).items:
        if names.get(t.s).__class__ is Table:
            dpft(d, p, f, t)
            names.set(t.s, store.empty_like(names.get(t.s)))
    if h is not NIL and not (atom_t(h) and raw(h) == 0):
        verb("hopen", 1)(h)
    return NIL


@name(".Q.dsftg", ".Q.dsftg[(folder;partition;table);(file;offset;length);fields;(types;widths);g]", effect="changes")
def dsftg(d: Value, s: Value, f: Value, t: Value, g: Value) -> Value:
    """Load records of a binary file, a piece at a time, and append them, after g, to a table of a partition.

    q)`:r.bin 1:0x0102 0x0304;
    q)`:r.bin 1:0x01020304;
    q).Q.dsftg[(`:db;2024.01.01;`t);(`:r.bin;0;0);`a`b;("xx";1 1);::]
    `t
    q)get`:db/2024.01.01/t/a
    0x0103
    """
    folder, part, table = seq_items(d)
    source, offset, length = seq_items(s)
    types, widths = seq_items(t)
    size = sum(int(w) for w in seq_items(widths))
    start, total = int(raw(offset)), os.path.getsize(path_of(source))
    n = int(raw(length))
    end = start + n if n > 0 else total + n
    most = running().names.get(".Q.M")
    rows = min(most if most.__class__ is int else 1_000_000, 1_000_000)
    target = sym(f"{par(folder, part, table).s}/")
    for at in range(start, end - size + 1, rows * size):
        piece = List([source, at, min(rows * size, (end - at) // size * size)])
        cols = verb("1:", 2)(List([types, widths]), piece)
        rows_ = tables.table_from_dict(Dict(f, cols))
        disk._appended(path_of(target), tables.flat(en(folder, apply1(g, rows_))))
    return table


@name(".Q.chk", effect="changes")
@edit(".Q.chk")
def chk(d: Value) -> Value:
    """Make, empty, the tables that partitions of a database lack; for each partition what was made.

    q)t:([]sym:`b`a;v:1 2)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];u:t;.Q.dpft[`:db;2024.01.02;`sym]each`t`u;
    q).Q.chk`:db
    ()
    ,`:db/2024.01.01
    q)key`:db/2024.01.01
    `t`u
    """
    return List([sym_vec([":" + p for p in made]) if made else List([]) for made in store.check(folder_of(d))])


@name(".Q.par", ".Q.par[folder;partition;table]")
def par(d: Value, p: Value, t: Value) -> Value:
    """The folder of a table in a partition; with par.txt, in the segment it falls to.

    q).Q.par[`:db;2024.01.02;`t]
    `:db/2024.01.02/t
    """
    table = "" if t.__class__ is not Sym else t.s
    kind = atom_t(p)
    if kind in (T.D, T.M):
        return sym(":" + store.expected(folder_of(d), int(raw(p)), kind, table))
    if kind in (T.I, T.J, T.H):
        return sym(":" + store.expected(folder_of(d), int(raw(p)), T.I, table))
    if p.__class__ is Sym:
        return sym("/".join([f":{folder_of(d)}", p.s, table]))
    raise QError("type")


@name(".Q.Xf", ".Q.Xf[type;file]", effect="changes")
def xf(t: Value, file: Value) -> Value:
    """Make a file of an empty list of vectors.

    q).Q.Xf[`long;`:v]
    `:v
    q)get`:v
    ()
    """
    disk.write_path(file, List([]))
    return file


@name(".Q.Cf", effect="changes")
def cf(file: Value) -> Value:
    """Make a file of an empty list of strings.

    q).Q.Cf`:s
    `:s
    q)get`:s
    ()
    """
    return xf(sym("char"), file)


# ------------------------------------------------------------------ loading


@name(".Q.l", effect="changes")
def load(x: Value) -> Value:
    """Load a folder: the same as `\\l`.

    q)t:([]sym:`a`b`a;v:1 2 3)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
    q).Q.l`db
    q)select sum v by date from t
    date      | v
    ----------| -
    2024.01.01| 6
    2024.01.02| 6
    """
    if x.__class__ is not Sym:
        raise QError("type")
    return loading.load_folder(x.s.removeprefix(":"))


@name(".Q.lo", ".Q.lo[folder;enter;scripts]", effect="changes")
def load_without(x: Value, cd: Value, scripts: Value) -> Value:
    """Load a folder without making it the present one, or without running its scripts.

    q)t:([]sym:`a`b`a;v:1 2 3)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
    q).Q.lo[`:db;0;0]
    q)select sum v by date from t
    date      | v
    ----------| -
    2024.01.01| 6
    2024.01.02| 6
    """
    if x.__class__ is not Sym:
        raise QError("type")
    return loading.load_folder(x.s.removeprefix(":"), bool(raw(cd)), bool(raw(scripts)))


@name(".Q.li", effect="changes")
def load_parts(x: Value) -> Value:
    """Add partitions that have come to the database that is loaded.

    q)t:([]sym:`a`b`a;v:1 2 3)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
    q)\\l db
    q).Q.dpft[`:.;2024.01.03;`sym]`t;
    q).Q.li 2024.01.03
    q).Q.pv
    2024.01.01 2024.01.02 2024.01.03
    """
    db = _need(".Q.li")
    before = set(db.PV)
    wanted = {int(raw(v)) for v in (seq_items(x) if is_list(x) else [x])}
    db.scan()
    keep = [v for v in db.PV if v in before or v in wanted]
    db.PD = [d for v, d in zip(db.PV, db.PD, strict=True) if v in keep]
    db.PV = keep
    db.view(None)
    loading.show_tables()
    return NIL


@name(".Q.ld")
def grouped_lines(x: Value) -> Value:
    """The lines of a script, those of one statement together, each with the number of its first; comments too.

    q).Q.ld("f:{";" x}";"f 1")
    1          3
    "f:{\\n x}" "f 1"
    """
    found = split_script("\n".join(text_of(s) for s in seq_items(x)), comments=True)
    return List([longs([n for n, _ in found]), List([string(s) for _, s in found])])


@name(".Q.view", ".Q.view x", effect="changes")
def view(x: Value) -> Value:
    """Restrict what queries see of a partitioned database to some partitions; without any, to all.

    q)t:([]sym:`a`b`a;v:1 2 3)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
    q)\\l db
    q).Q.view 2024.01.02
    q)select sum v by date from t
    date      | v
    ----------| -
    2024.01.02| 6
    """
    db = _need(".Q.view")
    all_ = x is NIL or (is_list(x) and not len(x))
    db.view(None if all_ else [int(raw(v)) for v in (seq_items(x) if is_list(x) else [x])])
    loading.show_tables()
    return NIL


@name(".Q.bv", ".Q.bv[]", ".Q.bv[`]", effect="changes")
def bv(x: Value) -> Value:
    """Have tables that are missing from some partitions taken as empty there.

    q)t:([]sym:`a`b`a;v:1 2 3)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
    q)\\l db
    q)u:([]sym:`a`b;w:1 2);.Q.dpft[`:.;2024.01.02;`sym;`u];
    q)\\l .
    q).Q.bv[]
    q)select count i by date from u
    date      | x
    ----------| -
    2024.01.02| 2
    """
    db = _need(".Q.bv")
    db.prototypes = {}
    db.fill(first=x is not NIL)
    loading.show_tables()
    return NIL


@name(".Q.bvi", effect="changes")
def bvi(x: Value) -> Value:
    """The same as `.Q.bv`.

    q)t:([]sym:`a`b`a;v:1 2 3)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
    q)\\l db
    q).Q.bvi[]
    """
    return bv(x)


@name(".Q.MAP")
def map_all(x: Value) -> Value:
    """Keep the files of a database open; here there is nothing to do.

    q)t:([]sym:`a`b`a;v:1 2 3)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
    q)\\l db
    q).Q.MAP[]
    q)count t
    6
    """
    return NIL


# ------------------------------------------------------------------ asking


@name(".Q.ind", ".Q.ind[table;rows]")
def ind(t: Value, at: Value) -> Value:
    """Rows of a partitioned table by their numbers.

    q)t:([]sym:`a`b`a;v:1 2 3)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
    q)\\l db
    q).Q.ind[t;0 4]
    date       sym v
    ----------------
    2024.01.01 a   1
    2024.01.02 a   3
    """
    if not partitioned.is_partitioned(t):
        return verb("@", 2)(t, at)
    if is_list(at) and not len(at):
        at = longs([])
    rows = at if is_list(at) else longs([raw(at)])
    if rows.__class__ is not Vec or rows.t not in (T.J, T.I, T.H):
        raise QError("type")
    return partitioned.rows_at(t, rows.a.astype(np.int64))


@name(".Q.cn")
def cn(t: Value) -> Value:
    """The number of rows of a partitioned table in each partition.

    q)t:([]sym:`a`b`a;v:1 2 3)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
    q)\\l db
    q).Q.cn t
    3 3
    """
    if not partitioned.is_partitioned(t):
        return len(t)
    return longs(t.cols.db.count(t.cols.name))


@name(".Q.qp")
def qp(x: Value) -> Value:
    """Whether a table is partitioned (1b) or splayed (0b); 0 for anything else.

    q).Q.qp ([]a:1 2)
    0
    """
    if partitioned.is_partitioned(x):
        return True
    return False if x.__class__ is Table and isinstance(x.cols, splay.SplayedCols) else 0


@name(".Q.fk")
def fk(x: Value) -> Value:
    """The table that a column refers to; an empty symbol if it is no foreign key.

    q)k:([id:1 2]v:3 4)
    q)t:([]r:`k$1 2 1)
    q).Q.fk t`r
    `k
    """
    if x.__class__ is not Vec or x.t != T.ENUM:
        return sym("")
    found = running().names.find(x.dom)
    return sym(x.dom if tables.is_table(found) else "")


_SAVED = """
q)t:([]sym:`a`b`a;v:1 2 3)
q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
q)\\l db
"""


def _state(short: str, doc: str, example: str, make: Any) -> None:
    """Register a name that is known while a partitioned database is loaded."""
    full = f".Q.{short}"

    def run() -> Value:
        return make(_need(full))

    registry.add(registry.Entry(full, "name", {0: run}, doc=f"{doc}\n{_SAVED}{example}", topic=".Q", file=__file__,
                                effect="none"))


def _folders(paths: list[str]) -> Value:
    return sym_vec([":" + p for p in paths])


def _counts(db: Any) -> Value:
    values = [longs(db.counts[t]) if t in db.counts else List([]) for t in db.tables]
    return Dict(sym_vec(db.tables), collapse(values) if values else List([]))


def _prototypes(db: Any) -> Value:
    values = [Table([db.field, *t.names], [db.vec([]), *t.cols]) for t in db.prototypes.values()]
    return Dict(sym_vec(db.prototypes), List(values))


_state("pf", "The field of the partitions: date, month, year or int.", "q).Q.pf\n`date", lambda db: sym(db.field))
_state("pt", "The partitioned tables.", "q).Q.pt\n,`t", lambda db: sym_vec(db.tables))
_state("pv", "The values of the partitions in view.", "q).Q.pv\n2024.01.01 2024.01.02", lambda db: db.vec(db.pv))
_state("PV", "The values of all partitions.", "q).Q.PV\n2024.01.01 2024.01.02", lambda db: db.vec(db.PV))
_state("pd", "The folders that the partitions in view are in.", "q).Q.pd\n`:.`:.", lambda db: _folders(db.pd))
_state("PD", "The folders that all partitions are in.", "q).Q.PD\n`:.`:.", lambda db: _folders(db.PD))
_state("pn", "The counts of tables by partition, as far as they were asked for.", "q)count t;.Q.pn\nt| 3 3", _counts)
_state("vp", "The empty tables that stand for missing ones.", "q)count .Q.vp\n0", _prototypes)
_state("P", "The segments of the database.", "q).Q.P\n`symbol$()", lambda db: _folders(db.segments))
_state("D", "The partitions of each segment.", "q).Q.D\n2024.01.01 2024.01.02",
       lambda db: List([db.vec(p) for p in db.per_segment]))
_state("u", "Whether each partition is in one segment.", "q).Q.u\n1b", lambda db: len(set(db.PV)) == len(db.PV))

