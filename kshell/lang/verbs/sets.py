"""Lists as sets: distinct, group, except, inter, union. Items keep the order of first appearance."""

from __future__ import annotations

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs.join import join
from kshell.lang.verbs.search import in_
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.core import Dict, List, ListValue, Table, Value, Vec, is_list
from kshell.values.base.functions import Handle
from kshell.values.base.narrow import vec_value
from kshell.values.change.join import as_list
from kshell.values.items.pick import take_at
from kshell.values.items.search import codes, distinct_at, find, group_lists


def _items(x: Value) -> ListValue:
    """The items of a list, table or dictionary (its values); an atom as a one-item list."""
    if x.__class__ is Dict:
        return x.v
    return x if x.__class__ is Table else as_list(x)


@verb("distinct", handle=True)
def distinct(x: Value) -> Value:
    """The distinct items of x, in order of first appearance.

    q)distinct 2 3 7 3 5 3
    2 3 7 5
    """
    items = _items(x)
    indices = distinct_at(items)
    return (
        items
        if len(indices) == len(items) and not getattr(items, "attr", "")
        else take_at(items, indices)
    )


@verb("group", handle=True)
def group(x: Value) -> Value:
    """A dictionary from each distinct item to its indexes.

    q)group "mississippi"
    m| ,0
    i| 1 4 7 10
    s| 2 3 5 6
    p| 8 9
    """
    if x.__class__ is Dict:
        positions, lists = group_lists(x.v)
        return Dict(take_at(x.v, positions), List([take_at(x.k, inner) for inner in lists]))
    if not (is_list(x) or x.__class__ is Table):
        raise QError("type")
    positions, lists = group_lists(x)
    return Dict(take_at(x, positions), List([Vec(T.J, inner) for inner in lists]))


def _there(x: ListValue, y: ListValue) -> np.ndarray:
    """Which items of x are in y."""
    if not len(y):
        return np.zeros(len(x), np.bool_)
    if x.__class__ is Vec and y.__class__ is Vec and len(y.a) == 1 and x.t != y.t:
        return vec_value(in_(x, y)).a  # a single item may have another type, as for `in`
    if x.__class__ is Vec or x.__class__ is Table:
        positions = find(y, x)
        if positions.__class__ is np.ndarray:
            return np.asarray(positions < len(y))
    combined = codes(List(y.items + x.items))  # mixed lists: item by item, whatever the types
    return np.isin(combined[len(y) :], combined[: len(y)])


def _asked(name: str, x: Value, y: Value) -> Value | None:
    """The verb's result as defined by a tensor operand; None if there is none, or if it is an item of a list of
    handles."""
    if isinstance(x, Handle) and x.folded:
        return x.dyad(name, x, y)
    return (
        y.dyad(name, x, y)
        if isinstance(y, Handle) and y.folded and not isinstance(x, List)
        else None
    )


@verb("except")
def except_(x: Value, y: Value) -> Value:
    """The items of x that are not in y.

    q)1 2 3 4 except 2 4
    1 3
    """
    asked = _asked("except", x, y)
    if asked is not None:
        return asked
    x = _items(x)
    return take_at(x, np.flatnonzero(~_there(x, _items(y))))


@verb("inter")
def inter(x: Value, y: Value) -> Value:
    """The items of x that are also in y.

    q)1 2 3 4 inter 2 4 6
    2 4
    """
    asked = _asked("inter", x, y)
    if asked is not None:
        return asked
    x = _items(x)
    return take_at(x, np.flatnonzero(_there(x, _items(y))))


@verb("union")
def union(x: Value, y: Value) -> Value:
    """The distinct items of x and y.

    q)1 2 3 union 2 4
    1 2 3 4
    """
    asked = _asked("union", x, y)
    return asked if asked is not None else distinct(join(_items(x), _items(y)))
