"""`x,:y` in place: a vector that nothing else refers to grows in an array with room to spare, so that an append costs
what is appended and not what is there.

Reference counts say whether anything else can see a value. Each count here is that of one owner, the names and
arguments on the way, and getrefcount's own.
"""

from __future__ import annotations

from sys import getrefcount

import numpy as np

from kshell.values import types as T
from kshell.values.core import Dict, List, Table, Value, Vec, atom_t
from kshell.values.join import append, as_rows, raw_array

_ALONE = 3  # the attribute that holds an array or list, a local name, and getrefcount's argument


def lone_array(x: Value) -> bool:
    """May the array of x, a vector or regular list that has one owner, be written?"""
    a = x.a
    if getrefcount(a) > _ALONE or not a.flags.writeable:
        return False
    base = a.base
    return base is None or (base.__class__ is np.ndarray and getrefcount(base) <= _ALONE)


def lone_items(x: List) -> bool:
    """May the items of x, a general list that has one owner, be changed?"""
    items = x.items
    return getrefcount(items) <= _ALONE


def append_owned(x: Value, y: Value) -> Value:
    """append(x, y), for a caller that holds the only reference to x."""
    c = x.__class__
    if c is Vec:
        cy, t = y.__class__, x.t
        if ((cy is int and t == T.J) or (cy is float and t == T.F)) and not x.attr:
            return _grow(x, y, 1) if lone_array(x) else append(x, y)
        more = _fitting(x, y)
        if more is not None and lone_array(x):
            return _grow(x, more, len(more))
    elif c is List:
        if lone_items(x) and _extend(x, y):
            return x
    elif c is Table and len(x):
        return _grow_rows(x, y)
    return append(x, y)


def _fitting(x: Vec, y: Value) -> np.ndarray | None:
    """The raw items of y, if they are all of the type of x and there is no more to check."""
    t = x.t
    if t == T.ENUM or x.attr:
        return None
    if y.__class__ is Vec:
        return y.a if y.t == t else None  # type: ignore[no-any-return]
    return raw_array(y, t) if atom_t(y) == t else None


def _grow(x: Vec, more: np.ndarray | float, count: int) -> Vec:
    """x with more items at its end, in its own array if there is room."""
    a = x.a
    n = len(a)
    size = n + count
    room = a.base
    if room.__class__ is not np.ndarray or room.ndim != 1 or len(room) < size or room.dtype != a.dtype \
            or not room.flags.writeable or a.strides != room.strides or _start(room) != _start(a):
        room = np.empty(size + size // 2 + 8, a.dtype)
        room[:n] = a
    room[n:size] = more
    x.a = room[:size]
    x.whole = False
    return x


def _start(a: np.ndarray) -> int:
    """The address of the first item."""
    return a.__array_interface__["data"][0]  # type: ignore[no-any-return]


def _extend(x: List, y: Value) -> bool:
    """Put y at the end of a general list that stays one; False if that is not sure."""
    items = x.items
    if not items or x.attr or atom_t(items[0]) or items[0].__class__ is Dict or y.__class__ in (Table, Dict):
        return False
    if y.__class__ is Vec:
        first, last = items[0], items[-1]
        if first.__class__ is Vec and last.__class__ is Vec and first.t == last.t == y.t:
            items.append(y)  # a list of vectors takes a vector as one item
        else:
            items.extend(y.items)
    elif isinstance(y, List):
        items.extend(y.items)
    elif atom_t(y):
        items.append(y)
    else:
        return False
    return True


def _grow_rows(t: Table, y: Value) -> Value:
    """A table with more rows: its columns grow in place if all of them may."""
    more = as_rows(y, t.names)
    cols = t.cols
    if set(more.names) != set(t.names) or getrefcount(cols) > _ALONE:
        return append(t, more)
    new = []
    for i, name in enumerate(t.names):
        col = cols[i]
        fit = _fitting(col, more.col(name)) if col.__class__ is Vec and getrefcount(col) <= _ALONE else None
        if fit is None or not lone_array(col):
            return append(t, more)
        new.append(fit)
    for col, fit in zip(cols, new, strict=True):
        _grow(col, fit, len(fit))
    return t
