"""Sorting and grading; implemented in values/items/order.py."""

from __future__ import annotations

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs.attributes import set_attribute
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import longs
from kshell.values.base.core import (
    NIL,
    NULL_J,
    Dict,
    List,
    ListValue,
    Table,
    Value,
    Vec,
    atom_t,
    is_list,
    raw,
)
from kshell.values.base.narrow import list_value
from kshell.values.items.order import grade, is_sorted, sort_vec
from kshell.values.items.pick import take_at
from kshell.values.session.context import running


def _sortable(x: Value) -> ListValue | Dict:
    """x, if a list, table or dictionary; else 'rank."""
    if is_list(x) or x.__class__ is Dict or x.__class__ is Table:
        return x
    raise QError("rank")


@verb("asc", handle=True)
def asc(x: Value) -> Value:
    """x in ascending order, with the sorted attribute; a dictionary is sorted by its values.

    q)asc 2 1 3 1
    `s#1 1 2 3
    q)asc `a`b`c!2 1 3
    b| 1
    a| 2
    c| 3
    """
    x = _sortable(x)
    if x.__class__ is Vec:
        if x.attr == "s" or is_sorted(x):
            return set_attribute("s", x)
        ascending = sort_vec(x)
        ascending.attr = "s"
        return ascending
    if x.__class__ is Table:
        return _mark(take_at(x, grade(x)))
    if x.__class__ is Dict and x.keyed:
        key_table, value_table = x.tables
        order = grade(value_table)
        return Dict(take_at(key_table, order), _mark(take_at(value_table, order)))
    ordered = _ordered(x, grade(x))
    if isinstance(ordered, List) and ordered is not x and x.__class__ is not Dict:
        ordered.attr = "s"
    return ordered


@verb("desc", handle=True)
def desc(x: Value) -> Value:
    """x in descending order; a dictionary is sorted by its values.

    q)desc 2 1 3 1
    3 2 1 1
    """
    x = _sortable(x)
    if x.__class__ is Vec:
        return sort_vec(x, True)
    return _ordered(x, grade(x, True))


def _ordered(x: ListValue | Dict, order: np.ndarray) -> ListValue | Dict:
    if isinstance(x, List) and not len(x):
        return x
    return take_at(x, order)


def _mark(t: Table) -> Table:
    """A sorted table with an attribute on its first column: parted, if it was sorted by more columns."""
    if not t.cols or t.cols[0].__class__ is not Vec:
        return t
    column = t.cols[0]
    return Table(t.names, [set_attribute("s" if len(t.cols) == 1 else "p", column), *t.cols[1:]])


@verb("iasc", handle=True)
def iasc(x: Value) -> Value:
    """The indexes (for a dictionary, keys) that sort x in ascending order.

    q)iasc 30 10 20
    1 2 0
    """
    return _grade(x, False)


@verb("idesc", handle=True)
def idesc(x: Value) -> Value:
    """The indexes (for a dictionary, keys) that sort x in descending order.

    q)idesc 30 10 20
    0 2 1
    """
    return _grade(x, True)


def _grade(x: Value, down: bool) -> Value:
    _sortable(x)
    order = grade(x, down)
    return take_at(x.k, order) if x.__class__ is Dict else longs(order)


@verb("rank", handle=True)
def rank(x: Value) -> Value:
    """The position of each item in sorted order. `rank[]` is the number of this process in a job of several.

    q)rank 30 10 20
    2 0 1
    """
    if x is NIL:
        return running().rank
    _sortable(x)
    if x.__class__ is Dict:
        return _grade(_grade(x, False), False)
    return longs(_ranks(x))


def _ranks(x: Value) -> np.ndarray:
    order = grade(x)
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


@verb("xrank", handle=True)
def xrank(x: Value, y: Value) -> Value:
    """The quantile of each item of y, with x quantiles.

    q)4 xrank 10 40 20 30 80 70 60 50
    0 1 0 1 3 3 2 2
    """
    if atom_t(x) not in (T.B, T.X, T.H, T.I, T.J):
        raise QError("type")
    if y.__class__ is Dict:
        return Dict(y.k, list_value(xrank(x, y.v)))
    _sortable(y)
    order = _ranks(y)
    if not len(order):
        return longs(order)
    if x is NULL_J:
        return longs(np.full(len(order), T.NULL[T.J]))
    return longs(order * int(raw(x)) // len(order))
