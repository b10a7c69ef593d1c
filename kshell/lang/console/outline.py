"""The parts of a value by name, for completion: nothing is evaluated, and data on disk is not read."""

from __future__ import annotations

from kshell.values.base import types as T
from kshell.values.base.core import Dict, Table, Value, Vec, sym_names

MOST = 5000  # maximum number of keys examined


def outline(x: Value | None) -> list[tuple[str, str]]:
    """The columns of a table or the keys of a symbol dictionary, with a description of each; empty for any other
    value."""
    if x.__class__ is Table:
        return [(name, "column") for name in x.names]
    if x.__class__ is not Dict:
        return []
    if x.k.__class__ is Table:
        return [(name, "key column") for name in x.k.names] + outline(x.v)
    if x.k.__class__ is Vec and x.k.t == T.S:
        return [(name, "key") for name in sym_names(Vec(T.S, x.k.a[:MOST])) if name]
    return []


def is_table(x: object) -> bool:
    """Is it a table, keyed or not?"""
    return x.__class__ is Table or (isinstance(x, Dict) and x.k.__class__ is Table)
