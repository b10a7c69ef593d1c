"""The verb ? (find, roll, vector conditional, functional select, enumerate), in, within, bin and binr."""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell import registry
from kshell.errors import QError
from kshell.lang.verbs import disk, random
from kshell.lang.verbs.dicts import enumerate_value
from kshell.registry import Hook, verb
from kshell.store import kdb
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs
from kshell.values.base.core import (
    Dict,
    List,
    ListValue,
    Nd,
    Special,
    Table,
    Value,
    Vec,
    atom_t,
    is_atom,
    is_list,
    raw,
    seq_items,
)
from kshell.values.base.functions import Function, Handle
from kshell.values.base.narrow import list_value
from kshell.values.base.symbols import Sym
from kshell.values.items.index import index1, positions
from kshell.values.items.order import sort_keys
from kshell.values.items.pick import null_of, take_at
from kshell.values.items.search import WHOLE, find, find_value, search_rows, search_sorted
from kshell.values.session.context import running
from kshell.values.session.restrict import refuse

SELECT = Hook()  # `?[t;c;b;a]`: lang/qsql/functional.py

_INTS = (T.X, T.H, T.I, T.J)


@verb("?", "x?y", "n?x", "?[c;a;b]", "?[t;c;b;a]", qtype=102, effect="own")
def query(x: Value, y: Value) -> Value:
    """Find the index of y in list x (count x if missing); for a number x, random picks from y.

    q)10 20 30?20 40
    1 3
    q)(`a`b!1 2)?2
    `b
    """
    if x.__class__ is int or x.__class__ is Special or atom_t(x) in _INTS:
        return random.roll(x, y) if raw(x) >= 0 else random.deal(x, y)
    if x.__class__ is Sym:
        return extend_enum(x, y)
    if x.__class__ is Dict:
        if x.keyed or x.v.__class__ is Table:
            return _keys_at(x, find(x.v, y))
        return _keys_at(x, find_value(x.v, y))
    if isinstance(x, Handle):
        return x.dyad("?", x, y)
    if x.__class__ is Vec and isinstance(y, Handle) and y.folded:
        return y.dyad("?", x, y)
    if x.__class__ is Vec or x.__class__ is Table or isinstance(x, List):
        return find_value(x, y)
    raise QError("type")


def _keys_at(d: Dict, at: Value | np.ndarray) -> Value:
    return index1(d.k, longs(at) if isinstance(at, np.ndarray) else at)


def extend_enum(x: Sym, y: Value) -> Value:
    """`` `name?symbols ``: enumerate, adding missing symbols to the named list (or to the file of a path)."""
    if not x.s.startswith(":"):
        return enumerate_value(x.s, y, True)
    refuse("?")
    path = x.s[1:]
    name = path.rsplit("/", 1)[-1]
    with disk.locked(path):
        exists = disk.os.path.exists(path)
        running().names.set(name, kdb.read(path) if exists else Vec(T.S, np.zeros(0, np.int32)))
        before = running().names.get(name)
        enumerated = enumerate_value(name, y, True)
        if len(running().names.get(name)) > len(before) or not exists:
            disk.save_list(path, name, before)
    return enumerated


@verb("?", arity=3)
def conditional(x: Value, y: Value, z: Value) -> Value:
    """Items of y where x is true, of z elsewhere."""
    if x.__class__ is Table or (x.__class__ is Dict and x.keyed) or x.__class__ is Sym:
        table = running().names.get(x.s) if x.__class__ is Sym else x
        if y.__class__ is Vec:
            indices = positions(y)
            if indices is None or not (
                table.__class__ is Table or (table.__class__ is Dict and table.keyed)
            ):
                raise QError("type")
            table = take_at(table, indices)
        return SELECT.fn(table, List([]), List([]), z)
    if x.__class__ is bool:
        return y if x else z
    for operand in (x, y, z):
        if isinstance(operand, Handle) and operand.folded and (operand is x or x.__class__ is Vec):
            return operand.choose(x, y, z)
    if x.__class__ is Dict:
        y_values, z_values = (
            operand.v if operand.__class__ is Dict else operand for operand in (y, z)
        )
        return Dict(x.k, list_value(conditional(x.v, y_values, z_values)))
    if isinstance(x, List):
        choices = [operand.items if is_list(operand) else [operand] * len(x) for operand in (y, z)]
        if any(len(choice) != len(x) for choice in choices):
            raise QError("length")
        return collapse([conditional(*row) for row in zip(x.items, *choices, strict=True)])
    if x.__class__ is not Vec or x.t != T.B:
        raise QError("type")
    return _choose(x.a, y, z)


def _choose(mask: np.ndarray, y: Value, z: Value) -> Value:
    count = len(mask)
    for operand in (y, z):
        if (is_list(operand) or operand.__class__ is Table) and len(operand) != count:
            raise QError("length")
    y_type, z_type = (
        operand.t if operand.__class__ is Vec else atom_t(operand) for operand in (y, z)
    )
    if y_type and y_type == z_type and y_type not in (T.G, T.ENUM):
        left, right = (
            operand.a if operand.__class__ is Vec else np.array(raw(operand), T.DTYPE[y_type])
            for operand in (y, z)
        )
        return Vec(y_type, np.where(mask, left, right))
    if y_type and z_type and y_type != z_type and y.__class__ is Vec and z.__class__ is Vec:
        raise QError("type")
    y_items, z_items = (
        seq_items(operand) if is_list(operand) or operand.__class__ is Table else [operand] * count
        for operand in (y, z)
    )
    return collapse(
        [
            left if is_true else right
            for is_true, left, right in zip(mask.tolist(), y_items, z_items, strict=True)
        ]
    )


@verb("?", arity=(4, 5, 6))
def functional(*args: Value) -> Value:
    return SELECT.fn(*args)


# ------------------------------------------------------------------ membership


@verb("in", handle=True)
def in_(x: Value, y: Value) -> Value:
    """Whether x, or each item of x, is an item of y.

    q)1 5 3 in 3 4 5
    011b
    q)`a in `b`c
    0b
    """
    if x.__class__ is Vec and y.__class__ is Vec and x.t == y.t and x.t in (T.C, T.X):
        present = np.zeros(256, np.bool_)
        present[y.a] = True
        return Vec(T.B, present[x.a])
    if x.__class__ is Dict and y.__class__ is not Table:
        return Dict(x.k, list_value(in_(x.v, y)))
    if is_atom(y) or (y.__class__ is Vec and len(y.a) == 1 and _types_differ(x, y)):
        return equal(x, y if is_atom(y) else y.item(0))
    if y.__class__ is Dict:
        y = y.v
    if isinstance(y, Function):
        raise QError("type")
    if y.__class__ is Vec and not len(y.a) and _types_differ(x, y):
        raise QError("type")
    if y.__class__ is Vec or isinstance(y, List) or y.__class__ is Table:
        return _flags(find(y, x), len(y))
    raise QError("type")


def _types_differ(x: Value, y: Vec) -> bool:
    qtype = x.t if x.__class__ in (Vec, Nd) else atom_t(x)
    return (
        bool(qtype)
        and qtype != y.t
        and T.ENUM not in (qtype, y.t)
        and not (qtype in WHOLE and y.t in WHOLE)
    )


def _flags(at: Value | np.ndarray, n: int) -> Value:
    if at.__class__ is int:
        return at < n
    if isinstance(at, np.ndarray):
        return Vec(T.B, at < n)
    if at.__class__ is Nd:
        return Nd(T.B, at.a < n)
    if at.__class__ is Vec:
        return Vec(T.B, at.a < n)
    return collapse([_flags(item, n) for item in seq_items(at)])


def equal(x: Value, y: Value) -> Value:
    """`x=y`, through the registered verb."""
    return _verb("=")(x, y)


def _verb(name: str) -> Any:
    entry = registry.find("verb", name)
    if entry is None:
        raise QError("nyi")
    return entry.fns[2]


@verb("within")
def within(x: Value, y: Value) -> Value:
    """Whether each item of x lies between two bounds, inclusive.

    q)1 3 10 6 4 within 2 6
    01011b
    """
    if x.__class__ is Dict:
        return Dict(x.k, list_value(within(x.v, y)))
    if isinstance(y, Handle):
        if y.length() != 2:
            raise QError("length")
        return _verb("&")(_verb(">=")(x, y.index((0,))), _verb("<=")(x, y.index((1,))))
    if not is_list(y):
        raise QError("type")
    if len(y) != 2:
        raise QError("length")
    lower, upper = y.item(0), y.item(1)
    if x.__class__ is Vec and y.__class__ is Vec and x.t == y.t and x.t not in (T.S, T.G, T.ENUM):
        keys, bounds = sort_keys(x), sort_keys(y)
        return Vec(T.B, (keys >= bounds[0]) & (keys <= bounds[1]))
    return _verb("&")(_verb(">=")(x, lower), _verb("<=")(x, upper))


# ------------------------------------------------------------------ binary search


@verb("bin", handle=True)
def bin_(x: Value, y: Value) -> Value:
    """The index of the last item of sorted x not above y, or -1.

    q)0 2 4 6 bin 5 -1
    2 -1
    """
    return _binary(x, y, True)


@verb("binr", handle=True)
def binr(x: Value, y: Value) -> Value:
    """The index of the first item of sorted x not below y.

    q)0 1 1 2 binr 0 1 2
    0 1 3
    """
    return _binary(x, y, False)


def _binary(x: Value, y: Value, right: bool) -> Value:
    if x.__class__ is Dict:
        return _at_or_null(x.k, _binary(x.v, y, right))
    if x.__class__ is Table:
        return _binary_rows(x, y, right)
    if y.__class__ is Dict:
        return Dict(y.k, list_value(_binary(x, y.v, right)))
    if x.__class__ is Vec and isinstance(y, List):
        return collapse([_binary(x, item, right) for item in y.items])
    indices = search_sorted(x, y, right)
    return longs(indices) if indices.__class__ is np.ndarray else indices


def _at_or_null(keys: ListValue, at: Value) -> Value:
    if at.__class__ is Vec and at.t == T.J:
        return take_at(keys, at.a)
    return keys.item(at) if at.__class__ is int and 0 <= at < len(keys) else null_of(keys)


def _binary_rows(x: Table, y: Value, right: bool) -> Value:
    """Search by rows: all columns but the last must be equal, the last is searched."""
    is_row = y.__class__ is Dict and not y.keyed
    if is_row:
        y = collapse([y])
    if y.__class__ is not Table:
        raise QError("type")
    if not all(map(y.has, x.names)):
        raise QError("mismatch")
    indices = search_rows(x.cols, [y.col(name) for name in x.names], right)
    if len(x.cols) > 1:
        indices = np.where(indices < 0, T.NULL[T.J], indices)
    result = longs(indices)
    return result.item(0) if is_row else result
