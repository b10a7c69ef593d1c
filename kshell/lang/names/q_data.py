"""The .Q namespace: tables, and applying functions to them."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.lang.compiler.built_ins import prim
from kshell.lang.each import peach
from kshell.lang.names.define import name, verb
from kshell.lang.names.q_core import RESERVED, clean
from kshell.lang.tables.tables import is_table, names_of, unkeyed
from kshell.registry import entries, find
from kshell.values.base.build import collapse, longs, string, table
from kshell.values.base.core import NIL, Dict, List, Table, Value, is_list, sym_vec, text_of
from kshell.values.base.narrow import has_items
from kshell.values.base.symbols import Sym, sym
from kshell.values.change.names import KEYWORD
from kshell.values.engine.apply import apply1
from kshell.values.items.index import index1
from kshell.values.items.pick import take_at
from kshell.values.session.context import running


@name(".Q.qt")
def qt(x: Value) -> Value:
    """Whether x is a table.

    q).Q.qt ([]a:1 2)
    1b
    """
    return is_table(x)


@name(".Q.ft", ".Q.ft[f;t]")
def ft(f: Value, t: Value) -> Value:
    """Apply f to a table without its keys, then key the result again.

    q).Q.ft[reverse;([k:1 2]v:3 4)]
    k| v
    -| -
    2| 4
    1| 3
    """
    if not isinstance(t, Dict):
        return apply1(f, t)
    count = len(t.tables[0].names) if t.keyed else 0
    result = apply1(f, unkeyed(t))
    if result.__class__ is not Table:
        raise QError("type")
    return Dict(
        Table(result.names[:count], result.cols[:count]),
        Table(result.names[count:], result.cols[count:]),
    )


@name(".Q.ff", ".Q.ff[t;u]")
def ff(t: Value, u: Value) -> Value:
    """A table with another table's missing columns added, filled with nulls.

    q).Q.ff[([]a:1 2);([]a:1 2;b:3 4)]
    a b
    ---
    1
    2
    """
    if t.__class__ is not Table or not is_table(u):
        raise QError("type")
    table = unkeyed(u)
    missing = np.full(len(t), -1, np.int64)
    added = [
        (name, take_at(column, missing))
        for name, column in zip(table.names, table.cols, strict=True)
        if not t.has(name)
    ]
    return Table(t.names + [name for name, _ in added], t.cols + [column for _, column in added])


@name(".Q.fu", ".Q.fu[f;x]")
def fu(f: Value, x: Value) -> Value:
    """Apply f to the distinct items of x and expand the result.

    q).Q.fu[neg;1 2 1]
    -1 -2 -1
    """
    if not is_list(x):
        return apply1(f, x)
    distinct = verb("distinct", 1)(x)
    return index1(apply1(f, distinct), verb("?", 2)(distinct, x))


@name(".Q.fc", ".Q.fc[f;x]")
def fc(f: Value, x: Value) -> Value:
    """Apply f to x in parallel: x is cut into as many pieces as there are threads (`\\s`).

    q).Q.fc[neg;1 2]
    -1 -2
    """
    threads = peach.wanted(len(x)) if has_items(x) else 0
    if threads < 2 or not has_items(x):
        return apply1(f, x)
    bounds = [len(x) * index // threads for index in range(threads + 1)]
    chunks = [index1(x, longs(np.arange(start, end))) for start, end in pairwise(bounds)]
    return verb("raze", 1)(List(peach.share(lambda piece: apply1(f, piece), chunks, threads)))


@name(".Q.V")
def columns(x: Value) -> Value:
    """The columns of a table, as a dictionary.

    q).Q.V ([]a:1 2)
    a| 1 2
    """
    table = unkeyed(running().names.get(x.s) if x.__class__ is Sym else x)
    columns: Any = table.cols
    return Dict(
        sym_vec(table.names),
        collapse(list(columns if columns.__class__ is list else columns.sample())),
    )


@name(".Q.v")
def value(x: Value) -> Value:
    """The value of a global or file given as a symbol; anything else is returned unchanged.

    q).Q.v 42
    42
    """
    if x.__class__ is not Sym:
        return x
    return verb("get", 1)(x) if x.s.startswith(":") else running().names.get(x.s)


@name(".Q.id")
def identifiers(x: Value) -> Value:
    """Make symbols, or the column names of a table, valid q names.

    q).Q.id `$"a/b"
    `ab
    q).Q.id `$"2+2"
    `a22
    """
    if x.__class__ is Sym:
        return sym(clean(x.s))
    if x.__class__ is Table:
        return Table(sane(x.names), x.cols)
    if x.__class__ is Dict and x.keyed:
        k, v = x.tables
        names = sane(k.names + v.names)
        count = len(k.names)
        return Dict(Table(names[:count], k.cols), Table(names[count:], v.cols))
    if x.__class__ is Dict:
        return Dict(sym_vec(sane(names_of(x.k))), x.v)
    raise QError("type")


def sane(names: list[str]) -> list[str]:
    """Valid q names, none a keyword, without duplicates."""
    words = set(RESERVED) | {entry.name for entry in entries("verb") if entry.name[:1].isalpha()}
    cleaned: list[str] = []
    counts: dict[str, int] = {}
    for original in names:
        cleaned_name = clean(original)
        if cleaned_name in words:
            cleaned_name += "1"
        count = counts.get(cleaned_name, 0)
        counts[cleaned_name] = count + 1
        cleaned.append(f"{cleaned_name}{count}" if count else cleaned_name)
    return cleaned


@name(".Q.nct", ".Q.nct table")
def columns_in_root(x: Value) -> Value:
    """The columns of a table in the root, given by name, or with the null symbol of all of them: table, column, type.

    q)t:([]a:1 2;b:`x`y)
    q).Q.nct`t
    n c t
    -----
    t a j
    t b s
    """
    if x is NIL or (x.__class__ is Sym and not x.s):
        names = names_of(verb("tables", 1)(sym(".")))
    elif x.__class__ is Sym:
        names = [x.s]
    else:
        raise QError("type")
    rows = [(owner, column, letter) for owner in names for column, letter in _columns(owner)]
    owners, found, letters = ([row[index] for row in rows] for index in range(3))
    return table(["n", "c", "t"], [sym_vec(owners), sym_vec(found), string("".join(letters))])


def _columns(owner: str) -> list[tuple[str, str]]:
    """The columns of a table with their type letters."""
    described = verb("meta", 1)(sym(owner))
    if described.__class__ is not Dict or not described.keyed:
        raise QError("type")
    keys, others = described.tables
    return list(zip(names_of(keys.cols[0]), text_of(others.cols[0]), strict=True))


# the order in which kdb+ defines its first keywords; the rest is not documented
_FIRST = ("neg", "not", "null", "string", "reciprocal", "floor", "ceiling", "signum", "mod", "xbar", "xlog", "and",
          "or", "each")  # fmt: skip


@name(".q")
def keywords() -> Value:
    """The keywords of the language and their functions.

    q).q`neg
    -:
    """
    words = [entry for entry in entries("verb") if _is_in_q(entry.name)]
    words.sort(key=lambda e: (_FIRST.index(e.name) if e.name in _FIRST else len(_FIRST), e.name))
    return Dict(sym_vec(["", *(word.name for word in words)]), List([NIL, *map(prim, words)]))


@KEYWORD.set
def keyword(name: str) -> Value | None:
    """The function of a keyword that is an item of `.q`, or None."""
    entry = find("verb", name) if _is_in_q(name) else None
    return None if entry is None else prim(entry)


def _is_in_q(name: str) -> bool:
    return name[:1].isalpha() and name not in RESERVED
