"""Helpers for matching a value with a pattern: the parts of a value, or an error that says they are missing."""

from __future__ import annotations

from typing import cast

from kshell.errors import QError
from kshell.lang.tables.tables import names_of
from kshell.values.base import types as T
from kshell.values.base.build import collapse, symdict
from kshell.values.base.core import Dict, List, ListValue, Table, Value, Vec, atom_t, seq_items
from kshell.values.base.functions import Handle
from kshell.values.base.match import match
from kshell.values.base.symbols import sym
from kshell.values.change.join import join_dicts
from kshell.values.items.index import find_at, index1


class NoMatch(QError):
    """A value does not match a pattern: 'match, 'type or 'length."""


def same(x: Value, y: Value) -> None:
    """x must equal y."""
    if not match(x, y):
        raise NoMatch("match")


def items(x: Value, n: int) -> list[Value]:
    """The n items of a list or table, or of an object with several tensors; an atom or function is assigned to every
    name."""
    if x.__class__ is Dict:
        raise NoMatch("type")
    if isinstance(x, Handle):
        tensors = x.parts()
        if tensors is not None and len(tensors) != n:
            raise NoMatch("length")
        return [x] * n if tensors is None else tensors
    if x.__class__ is not Vec and x.__class__ is not Table and not isinstance(x, List):
        return [x] * n
    if len(x) != n:
        raise NoMatch("length")
    return seq_items(x)


def at_key(x: Value, key: Value) -> Value:
    """The item of a dictionary under a key that it must have."""
    if x.__class__ is not Dict:
        raise NoMatch("type")
    if find_at(x.k, key) >= len(x.k):
        raise NoMatch("match")
    return index1(x, key)


def at_keys(x: Value, keys: Value) -> Value:
    """The items of a dictionary under several keys."""
    return collapse([at_key(x, key) for key in seq_items(keys)])


def parts(x: Value) -> tuple[ListValue, ListValue]:
    """Keys and values of a dictionary."""
    if x.__class__ is not Dict:
        raise NoMatch("type")
    return x.k, x.v


def tables(x: Value) -> tuple[Table, Table]:
    """The key columns and the other columns of a keyed table."""
    if x.__class__ is not Dict or not x.keyed:
        raise NoMatch("type")
    return x.tables


def column(x: Value, name: str) -> Value:
    """A column that a table must have."""
    if x.__class__ is not Table:
        raise NoMatch("type")
    if not x.has(name):
        raise NoMatch("match")
    return x.col(name)


def columns(x: Value) -> Value:
    """The dictionary of the columns of a table."""
    if x.__class__ is not Table:
        raise NoMatch("type")
    return symdict(x.names, list(x.cols))


def of_type(x: Value, char: str) -> None:
    """x must be an atom of the type with a lower-case letter, or a vector of the type with an upper-case one."""
    expected = T.BY_CHAR.get(char.lower())
    actual = (x.t if x.__class__ is Vec else 0) if char.isupper() else atom_t(x)
    if expected is None or actual != expected.num:
        raise NoMatch("type")


def with_items(x: Value, keys: list[Value], values: list[Value]) -> Dict | Table:
    """A dictionary or table with the items or columns that a pattern changed replaced."""
    if x.__class__ is Table:
        columns = cast("list[ListValue]", values)
        replaced = dict(zip(names_of(collapse(keys)), columns, strict=True))
        return Table(
            x.names,
            [replaced.get(name, column) for name, column in zip(x.names, x.cols, strict=True)],
        )
    if x.__class__ is not Dict:
        raise NoMatch("type")
    return join_dicts(x, Dict(collapse(keys), collapse(values)))


CALLS = {
    "_same": same, "_items": items, "_at_key": at_key, "_at_keys": at_keys, "_parts": parts, "_tables": tables,
    "_column": column, "_columns": columns, "_of_type": of_type, "_with": with_items, "_dict": Dict, "_sym": sym,
    "_NoMatch": NoMatch,
}  # fmt: skip
