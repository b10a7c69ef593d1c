"""Checked conversions to one class of value: a list, a vector, names; 'type for anything else."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.core import Atom, List, ListValue, Table, Value, Vec, sym_names

if TYPE_CHECKING:
    from typing_extensions import TypeIs


def has_items(x: Value) -> TypeIs[ListValue]:
    """Is x a vector, a general list or a table?"""
    return x.__class__ is Vec or isinstance(x, List) or x.__class__ is Table


def is_text(x: Value) -> TypeGuard[Vec | Atom]:
    """Is x a string, or a char (one letter in quotes)?"""
    return (x.__class__ is Vec or x.__class__ is Atom) and x.t == T.C


def list_value(x: Value) -> ListValue:
    """x, if a list or a table; else 'type."""
    if x.__class__ is Vec or isinstance(x, List) or x.__class__ is Table:
        return x
    raise QError("type")


def vec_value(x: Value) -> Vec:
    """x, if a vector; else 'type."""
    if x.__class__ is Vec:
        return x
    raise QError("type")


def names_in(x: ListValue) -> list[str]:
    """The names in a list of symbols, which may be empty; else 'type."""
    if x.__class__ is Vec and x.t == T.S:
        return sym_names(x)
    if len(x):
        raise QError("type")
    return []
