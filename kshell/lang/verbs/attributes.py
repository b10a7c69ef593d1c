"""Attributes: declared properties of a list (sorted, unique, parted, grouped), `s# and attr."""

from __future__ import annotations

from typing import overload

from kshell.errors import QError
from kshell.registry import verb
from kshell.values.base.core import Dict, List, ListValue, Nd, Table, Value, Vec, is_list
from kshell.values.base.symbols import sym
from kshell.values.items.order import is_sorted
from kshell.values.items.search import codes, distinct_at

ATTRIBUTES = ("", "s", "u", "p", "g")


@verb("attr")
def attr(x: Value) -> Value:
    """The attribute of x: one of `s`u`p`g, or ` for none.

    q)attr `s#1 2 3
    `s
    q)attr 1 2 3
    `
    """
    return sym(attribute_of(x))


def attribute_of(x: Value) -> str:
    """The attribute's letter, or an empty string."""
    if x.__class__ is Vec or x.__class__ is Dict or isinstance(x, List):
        return str(x.attr)
    if x.__class__ is Table:
        return "s" if x.cols and attribute_of(x.cols[0]) == "s" else ""
    return ""


@overload
def set_attribute(a: str, x: ListValue) -> ListValue: ...
@overload
def set_attribute(a: str, x: Value) -> Value: ...
def set_attribute(a: str, x: Value) -> Value:
    """`a#x`: set an attribute on x, after checking it; the empty symbol removes it."""
    if x.__class__ is Vec:
        if x.attr == a:
            return x
        _check(a, x)
        # as in q, no copy is made, so every reference to the vector sees the attribute
        if a == "s" and not x.attr:
            x.attr = a
            return x
        return Vec(x.t, x.a, a, x.dom)
    if x.__class__ is Dict:
        return _on_dict(a, x)
    if x.__class__ is Table:
        return _on_table(a, x)
    if isinstance(x, List):
        if x.attr == a:
            return x
        _check(a, x)
        copied = Nd(x.t, x.a) if x.__class__ is Nd else List(x.items)
        copied.attr = a
        return copied
    if is_list(x) or not a:
        return x
    raise QError("type")


def _check(a: str, x: Vec | List) -> None:
    if a == "s" and not is_sorted(x):
        raise QError("s-fail")
    if a == "u" and len(distinct_at(x)) < len(x):
        raise QError("u-fail")
    if a == "p" and not parted(x):
        raise QError("u-fail")
    if a in ("p", "g") and x.__class__ is not Vec:
        raise QError("type")


def parted(x: ListValue) -> bool:
    """Are equal items adjacent?"""
    keys = codes(x)
    changes = int((keys[1:] != keys[:-1]).sum()) + 1 if len(keys) else 0
    return changes == len(distinct_at(x))


def _on_dict(a: str, d: Dict) -> Dict:
    if a not in ("", "s"):
        raise QError("type")
    if d.keyed:
        key_table, value_table = d.tables
        return (
            Dict(_on_table(a, key_table), value_table, a)
            if a
            else Dict(_plain(key_table), _plain(value_table))
        )
    return Dict(set_attribute(a, d.k), d.v, a)


def _plain(t: Table) -> Table:
    return Table(t.names, [set_attribute("", column) for column in t.cols])


def _on_table(a: str, t: Table) -> Table:
    """A table whose first column has the attribute; parted if the rows are sorted by more columns than that one."""
    if not a:
        return _plain(t)
    if a != "s":
        raise QError("type")
    if not is_sorted(t):
        raise QError("s-fail")
    column = t.cols[0]
    letter = "s" if len(t.cols) == 1 else "p"
    first = set_attribute(letter, column) if column.__class__ is Vec else column
    return Table(t.names, [first, *t.cols[1:]], a)
