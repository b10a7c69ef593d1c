"""The .Q namespace: loading and querying databases on disk."""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell import registry
from kshell.errors import QError
from kshell.lang.each.accumulators import is_collection
from kshell.lang.names.define import name, verb
from kshell.lang.qsql import partitioned
from kshell.lang.session import loading
from kshell.lang.tables import tables
from kshell.parse import split_script
from kshell.store import splay
from kshell.store.parted import PartCols
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs, string
from kshell.values.base.core import (
    NIL,
    Dict,
    List,
    Table,
    Value,
    Vec,
    is_list,
    raw,
    seq_items,
    sym_vec,
    text_of,
)
from kshell.values.base.functions import Handle
from kshell.values.base.symbols import Sym, sym
from kshell.values.session.context import running


def database() -> Any:
    """The loaded partitioned database; its names are undefined without one."""
    return running().database


def _need(what: str) -> Any:
    loaded = database()
    if loaded is None:
        raise QError(what)
    return loaded


# ------------------------------------------------------------------ loading


@name(".Q.l", effect="changes")
def load(x: Value) -> Value:
    """Load a folder; same as `\\l`.

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
    """Load a folder without changing to it, or without running its scripts.

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
    """Add new partitions to the loaded database.

    q)t:([]sym:`a`b`a;v:1 2 3)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
    q)\\l db
    q).Q.dpft[`:.;2024.01.03;`sym]`t;
    q).Q.li 2024.01.03
    q).Q.pv
    2024.01.01 2024.01.02 2024.01.03
    """
    database = _need(".Q.li")
    before = set(database.PV)
    requested = {int(raw(item)) for item in (seq_items(x) if is_list(x) else [x])}
    database.scan()
    partitions = [
        partition for partition in database.PV if partition in before or partition in requested
    ]
    database.PD = [
        folder
        for partition, folder in zip(database.PV, database.PD, strict=True)
        if partition in partitions
    ]
    database.PV = partitions
    database.view(None)
    loading.show_tables()
    return NIL


@name(".Q.ld")
def grouped_lines(x: Value) -> Value:
    """The statements of a script, each with its lines and the number of the first one, including comments.

    q).Q.ld("f:{";" x}";"f 1")
    1          3
    "f:{\\n x}" "f 1"
    """
    statements = split_script("\n".join(text_of(item) for item in seq_items(x)), comments=True)
    return List(
        [
            longs([number for number, _ in statements]),
            List([string(statement) for _, statement in statements]),
        ]
    )


@name(".Q.view", ".Q.view x", effect="changes")
def view(x: Value) -> Value:
    """Restrict queries on a partitioned database to some partitions; without arguments, lift the restriction.

    q)t:([]sym:`a`b`a;v:1 2 3)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
    q)\\l db
    q).Q.view 2024.01.02
    q)select sum v by date from t
    date      | v
    ----------| -
    2024.01.02| 6
    """
    database = _need(".Q.view")
    unrestricted = x is NIL or (is_list(x) and not len(x))
    database.view(
        None if unrestricted else [int(raw(item)) for item in (seq_items(x) if is_list(x) else [x])]
    )
    loading.show_tables()
    return NIL


@name(".Q.bv", ".Q.bv[]", ".Q.bv[`]", effect="changes")
def bv(x: Value) -> Value:
    """Treat tables missing from some partitions as empty there.

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
    database = _need(".Q.bv")
    database.prototypes = {}
    database.fill(first=x is not NIL)
    loading.show_tables()
    return NIL


@name(".Q.bvi", effect="changes")
def bvi(x: Value) -> Value:
    """Same as `.Q.bv`.

    q)t:([]sym:`a`b`a;v:1 2 3)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
    q)\\l db
    q).Q.bvi[]
    """
    return bv(x)


@name(".Q.MAP")
def map_all(x: Value) -> Value:
    """Keep the files of a database open; does nothing here.

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
    """Rows of a partitioned table by row number.

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
    """The row count of a partitioned table by partition.

    q)t:([]sym:`a`b`a;v:1 2 3)
    q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
    q)\\l db
    q).Q.cn t
    3 3
    """
    if t.__class__ is Table and isinstance(t.cols, PartCols):
        return longs(t.cols.db.count(t.cols.name))
    if is_collection(t) or isinstance(t, Handle):
        return len(t)
    raise QError("type")


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
    """The table that a column refers to; an empty symbol if it is not a foreign key.

    q)k:([id:1 2]v:3 4)
    q)t:([]r:`k$1 2 1)
    q).Q.fk t`r
    `k
    """
    if x.__class__ is not Vec or x.t != T.ENUM:
        return sym("")
    target = running().names.find(x.dom)
    return sym(x.dom if tables.is_table(target) else "")


_SAVED = """
q)t:([]sym:`a`b`a;v:1 2 3)
q).Q.dpft[`:db;2024.01.01;`sym;`t];.Q.dpft[`:db;2024.01.02;`sym;`t];
q)\\l db
"""


def _state(short: str, doc: str, example: str, make: Any, before: Value | None = None) -> None:
    """Register a name that is defined while a partitioned database is loaded, and is `before` until then, if given."""
    full_name = f".Q.{short}"

    def run() -> Value:
        return make(_need(full_name)) if before is None or database() is not None else before

    registry.add(
        registry.Entry(
            full_name,
            "name",
            {0: run},
            doc=f"{doc}\n{_SAVED}{example}",
            topic=".Q",
            file=__file__,
            effect="none",
        )
    )


def _folders(paths: list[str]) -> Value:
    return sym_vec([":" + path for path in paths])


def _counts(db: Any) -> Value:
    values: list[Value] = [
        longs(db.counts[table]) if table in db.counts else List([]) for table in db.tables
    ]
    return Dict(sym_vec(db.tables), collapse(values) if values else List([]))


def _prototypes(db: Any) -> Value:
    values: list[Value] = [
        Table([db.field, *value.names], [db.vec([]), *value.cols])
        for value in db.prototypes.values()
    ]
    return Dict(sym_vec(db.prototypes), List(values))


# fmt: off  # a table
_state(
    "pf",
    "The partition field: date, month, year or int.",
    "q).Q.pf\n`date",
    lambda db: sym(db.field),
)
_state(
    "pt",
    "The partitioned tables; an empty list before a database is loaded.",
    "q).Q.pt\n,`t",
    lambda db: sym_vec(db.tables),
    List([]),
)
_state(
    "pv",
    "The partition values in view.",
    "q).Q.pv\n2024.01.01 2024.01.02",
    lambda db: db.vec(db.pv),
)
_state(
    "PV",
    "All partition values.",
    "q).Q.PV\n2024.01.01 2024.01.02",
    lambda db: db.vec(db.PV),
)
_state(
    "pd",
    "The folders of the partitions in view.",
    "q).Q.pd\n`:.`:.",
    lambda db: _folders(db.pd),
)
_state("PD", "The folders of all partitions.", "q).Q.PD\n`:.`:.", lambda db: _folders(db.PD))
_state(
    "pn",
    "The row counts of tables by partition, as far as they have been computed.",
    "q)count t;.Q.pn\nt| 3 3",
    _counts,
)
_state("vp", "The empty tables used for missing ones.", "q)count .Q.vp\n0", _prototypes)
_state("P", "The segments of the database.", "q).Q.P\n`symbol$()", lambda db: _folders(db.segments))
_state(
    "D",
    "The partitions of each segment.",
    "q).Q.D\n2024.01.01 2024.01.02",
    lambda db: List([db.vec(p) for p in db.per_segment]),
)
_state(
    "u",
    "Whether each partition is in a single segment.",
    "q).Q.u\n1b",
    lambda db: len(set(db.PV)) == len(db.PV),
)
# fmt: on
