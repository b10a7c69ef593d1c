"""The verb ! (dictionaries, keyed tables, enumerations, internal functions, functional update) and key."""

from __future__ import annotations

import os

import numpy as np

from kshell import registry
from kshell.errors import QError
from kshell.lang.tables.tables import by_name, unkeyed
from kshell.lang.verbs.lists import til
from kshell.registry import Hook, verb
from kshell.store import unfinished
from kshell.values.base import types as T
from kshell.values.base.core import Dict, EnumAtom, List, Table, Value, Vec, atom_t, raw, sym_vec
from kshell.values.base.functions import Handle
from kshell.values.base.narrow import has_items
from kshell.values.base.symbols import Sym, sym
from kshell.values.change.join import grown, join
from kshell.values.items.index import positions
from kshell.values.items.pick import domain, is_link
from kshell.values.items.search import distinct_at, find
from kshell.values.session.context import running
from kshell.values.session.interrupts import PENDING, brief, carried_out, let_through
from kshell.values.session.restrict import expanded

UPDATE = Hook()  # `![t;c;b;a]`: lang/qsql/functional.py

_INTS = (T.B, T.X, T.H, T.I, T.J)


@verb("!", "keys!values", "n!table", "`enum!indexes", "-n!x", "![t;c;b;a]", qtype=102, effect="own")
def bang(x: Value, y: Value) -> Value:
    """Make a dictionary from keys x and values y, or key table y on its first x columns.

    q)`a`b!1 2
    a| 1
    b| 2
    q)1!([]k:`x`y;v:1 2)
    k| v
    -| -
    x| 1
    y| 2
    """
    if x.__class__ is int or atom_t(x) in _INTS:
        number = int(raw(x))
        return internal(number, y) if number < 0 else enkey(number, y)
    if x.__class__ is Sym and (positions(y) is not None or atom_t(y) in _INTS):
        return enum_of(x.s, y)
    return make_dict(x, y)


@verb("!", arity=4)
def functional_update(t: Value, c: Value, b: Value, a: Value) -> Value:
    return UPDATE.fn(t, c, b, a)


def make_dict(x: Value, y: Value) -> Value:
    """`x!y` of two lists (or tables) of equal length; y of () makes one empty list per key."""
    if isinstance(y, Handle):
        y = List([y])
    if y.__class__ is Sym and x.__class__ is Vec and x.t == T.S:
        # columns and location of a table on disk: the only dictionary whose values are not a list
        return Dict(x, y)  # type: ignore[arg-type]
    if y.__class__ is Dict:
        y = y.v
    if not has_items(x) or not has_items(y):
        raise QError("type")
    if len(x) == len(y):
        return Dict(x, y)
    if not isinstance(y, List) or len(y):
        raise QError("length")
    return Dict(x, List([y] * len(x)))


def enkey(n: int, y: Value) -> Value:
    """`n!y`: key a table (keyed, unkeyed or by name) on its first n columns."""
    if y.__class__ is Sym:
        return by_name(y, lambda t: enkey(n, t))
    table = unkeyed(y)
    if n == 0:
        return table
    if n >= len(table.names):
        raise QError("length")
    return Dict(Table(table.names[:n], table.cols[:n]), Table(table.names[n:], table.cols[n:]))


def internal(n: int, y: Value) -> Value:
    """`-n!y`: an internal function."""
    entry = registry.find("internal", str(n))
    if entry is None:
        raise QError("nyi")
    return entry.fns[1](y)


def enum_of(name: str, y: Value) -> Value:
    """`name!indexes`: an enumeration from its indexes; 'index if one is outside the list of that name. Indexes into a
    table (a link) may be outside: they refer to nothing."""
    linked = is_link(name)
    count = 0 if linked else len(domain(name))
    if atom_t(y):
        index = int(raw(y))
        if not (linked or 0 <= index < count):
            raise QError("index")
        return EnumAtom(index, name)
    indices = positions(y)
    assert indices is not None
    if not linked and len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= count):
        raise QError("index")
    return Vec(T.ENUM, indices.astype(np.int64), "", name)


# ------------------------------------------------------------------ key


@verb("key", handle=True, effect="own")
def key(x: Value) -> Value:
    """The keys of a dictionary; for a name, file or vector, what it stands for.

    q)key `a`b!1 2
    `a`b
    q)key 1 2 3
    `long
    """
    if x.__class__ is Dict:
        return x.k
    if x.__class__ is Sym:
        return _key_of_file(x) if x.s.startswith(":") else _key_of_name(x.s)
    if x.__class__ is EnumAtom or (x.__class__ is Vec and x.t == T.ENUM):
        return sym(x.dom)
    if x.__class__ is Vec:
        return sym(T.TYPE[x.t].name)
    if atom_t(x) in (T.B, T.X, T.H, T.I, T.J):
        return til(x)
    raise QError("type")


def _key_of_name(name: str) -> Value:
    names = running().names
    if name == "":
        return sym_vec(names.children())
    value = names.as_dict(".") if name == "." else names.find(name)
    if value is None:
        return List([])
    return value.k if value.__class__ is Dict else sym(name)


def _key_of_file(x: Sym) -> Value:
    path = expanded(x.s[1:])
    if os.path.isdir(path):
        return sym_vec(unfinished.names_in(path))
    return x if os.path.exists(path) or unfinished.there(path) else List([])


@brief
def enumerate_value(name: str, y: Value, extend: bool) -> Value:
    """Symbols enumerated over the list named `name`; missing ones are added to the list, or 'cast."""
    names = running().names
    existing = names.find(name)
    members = (
        existing
        if existing is not None and not (existing.__class__ is Dict and existing.keyed)
        else domain(name)
        if existing is not None
        else sym_vec([])
    )
    atom_type = atom_t(y)
    items = Vec(atom_type, np.array([raw(y)], T.DTYPE[atom_type])) if atom_type else y
    if items.__class__ is not Vec:
        raise QError("type")
    positions = find(members, items)
    if (positions >= len(members)).any():
        if not extend:
            raise QError("cast")
        missing = Vec(items.t, items.a[positions >= len(members)])
        members = grown(members, join(members, Vec(missing.t, missing.a[distinct_at(missing)])))
        names.set(name, members)
        positions = find(members, items)
    if PENDING:
        let_through(carried_out("?"))
    return (
        EnumAtom(int(positions[0]), name) if atom_type else Vec(T.ENUM, positions, items.attr, name)
    )
