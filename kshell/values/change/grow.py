"""`x,:y` in place: a vector that nothing else refers to grows in an over-allocated array, so that the cost of an append
depends only on the new items.

Reference counts show whether anything else can see a value. Each expected count here consists of one owner, the names
and arguments on the way, and getrefcount's own argument.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import getrefcount

import numpy as np

from kshell.values.base import types as T
from kshell.values.base.core import Dict, List, Nd, Table, Value, Vec, atom_t, is_list, raw
from kshell.values.base.functions import Handle, Prim
from kshell.values.base.symbols import Sym
from kshell.values.change.amend import assign_in_place, first_value
from kshell.values.change.join import append, as_item, as_rows, raw_array
from kshell.values.engine.apply import pyfn
from kshell.values.items.keys import place_one
from kshell.values.items.search import find_row, raw_row
from kshell.values.session.interrupts import HOLD

_FEW = 16  # up to this many new items are added to the index of the existing ones


def _counted(x: object) -> int:
    return getrefcount(x)


def _named() -> int:
    x = object()
    return _counted(x)


# Python 3.14 lends arguments without counting them: then nothing is known to be alone
COUNTS = _named() > _counted(object())
# the attribute that holds an array or list (or another owner), a local name, and getrefcount's argument
ALONE = 3 if COUNTS else -1


def lone_array(x: Vec | Nd) -> bool:
    """Can the array of x, a vector or rectangular list with one owner, be written?"""
    array = x.a
    if getrefcount(array) > ALONE or not array.flags.writeable:
        return False
    base = array.base
    return base is None or (base.__class__ is np.ndarray and getrefcount(base) <= ALONE)


def lone_items(x: List) -> bool:
    """Can the items of x, a general list with one owner, be changed?"""
    items = x.items
    return getrefcount(items) <= ALONE


def append_owned(x: Value, y: Value) -> Value:
    """append(x, y), for a caller that holds the only reference to x."""
    if type(x) is Vec:
        qtype = x.t
        if (
            (y.__class__ is int and qtype == T.J) or (y.__class__ is float and qtype == T.F)
        ) and x.attr in ("", "g"):
            if not lone_array(x):
                return append(x, y)
            _take(x, _longer(x, y, 1))
            return x
        raw_items = _fitting(x, y)
        if raw_items is not None and lone_array(x):
            _take(x, _longer(x, raw_items, len(raw_items)))
            return x
    elif type(x) is List:
        if lone_items(x) and _extend(x, y):
            return x
    elif (type(x) is Table or type(x) is Dict) and is_list(y) and not len(y):
        return x
    elif type(x) is Table:
        if len(x):
            return _grow_rows(x, y)
    elif type(x) is Dict:
        if len(x) and not x.attr and (_put_rows(x, y) if x.keyed else _put_one(x, y)):
            return x
    return append(x, y)


def _fitting(x: Vec, y: Value) -> np.ndarray | None:
    """The raw items of y, if they all have the type of x and need no further checks."""
    qtype = x.t
    if qtype == T.ENUM or x.attr not in ("", "g"):
        return None
    if y.__class__ is Vec:
        return y.a if y.t == qtype else None
    return raw_array(y, qtype) if atom_t(y) == qtype else None


def _longer(x: Vec, more: np.ndarray | float, count: int) -> np.ndarray:
    """The items of x with room for `count` more, in the array of x if possible. x is unchanged until `_take` installs
    this array, so that running out of memory changes nothing."""
    array = x.a
    length = len(array)
    size = length + count
    room = array.base
    if (
        room.__class__ is not np.ndarray
        or room.ndim != 1
        or len(room) < size
        or room.dtype != array.dtype
        or not room.flags.writeable
        or array.strides != room.strides
        or not np.may_share_memory(array[:1], room[:1])
    ):
        room = np.empty(size + size // 2 + 8, array.dtype)
        room[:length] = array
    room[length:size] = more
    return room[:size]


def _take(x: Vec, longer: np.ndarray) -> None:
    """Install the longer array from `_longer` in x."""
    count = len(x.a)
    x.a = longer
    x.whole = False
    look = getattr(x, "look", 0)
    if look.__class__ is dict:
        x.look = 0  # until the new items are indexed, for which memory may be lacking
        if len(longer) - count <= _FEW:
            for position, raw_item in enumerate(longer[count:].tolist(), count):
                look.setdefault(raw_item, position)
            x.look = look


def _take_all(cols: Sequence[Vec], longer: Sequence[np.ndarray]) -> None:
    """`_take` for columns: an interrupt finds all of them unchanged or all longer.

    This function stays short, like every function here with a `with` block: see `test_blocks_end_without_memory`."""
    with HOLD:
        for column, array in zip(cols, longer, strict=True):
            _take(column, array)


def _extend(x: List, y: Value) -> bool:
    """Append y to a general list that stays one; False if that is not certain."""
    items = x.items
    if not items or x.attr or items[0].__class__ is Dict:
        return False
    if as_item(x, y):
        items.append(y)
    elif type(y) is Vec or type(y) is Table or isinstance(y, List):
        items.extend(y.items)
    else:
        items.append(y.number if isinstance(y, Handle) else y)
    return True


def _grow_rows(t: Table, y: Value) -> Value:
    """A table with more rows: its columns grow in place if all of them can."""
    rows = as_rows(y, t.names)
    columns = t.cols
    if set(rows.names) != set(t.names) or getrefcount(columns) > ALONE:
        return append(t, rows)
    vectors, arrays = [], []
    for index, name in enumerate(t.names):
        column = columns[index]
        if column.__class__ is not Vec or getrefcount(column) > ALONE:
            return append(t, rows)
        raw_items = _fitting(column, rows.col(name))
        if raw_items is None or not lone_array(column):
            return append(t, rows)
        vectors.append(column)
        arrays.append(_longer(column, raw_items, len(raw_items)))
    _take_all(vectors, arrays)
    return t


# ------------------------------------------------------------------ dictionaries and tables


def put_owned(x: Value, path: tuple[Value, ...], y: Value) -> bool:
    """Do `x[path]:y` in place, for a caller that holds the only reference to x: one item of a dictionary, possibly new,
    or one cell of a table. False, without doing anything, if that is not certain to work."""
    if x.__class__ is Dict:
        if x.k.__class__ is Table and x.v.__class__ is Table:
            position = _key_at(x.k, path[0]) if len(path) == 2 and not x.attr else None
            return (
                position is not None
                and getrefcount(x.v) <= ALONE - 1
                and _put_cell(x.v, position, path[1], y)
            )
        position = _place(x, path[0]) if len(path) == 1 else None
        return position is not None and _put_item(x, path[0], position, y)
    if len(path) != 2:
        return False
    row, name = path if path[1].__class__ is Sym else path[::-1]
    if x.__class__ is not Table or row.__class__ is not int:
        return False
    return 0 <= row < len(x) and _put_cell(x, row, name, y)


def amend_owned(d: Dict, key: Value, f: Prim, y: Value) -> bool:
    """Do `d[key]f:y` in place, like put_owned."""
    position = None if d.keyed else _place(d, key)
    if position is None:
        return False
    if position == len(d.k):
        return _put_item(d, key, position, first_value(d, f, y))
    values = d.v
    if (
        f.name == ","
        and values.__class__ is List
        and getrefcount(values) <= ALONE
        and lone_items(values)
    ):
        vector = values.items[position]
        if vector.__class__ is Vec and getrefcount(vector) <= ALONE:
            raw_items = _fitting(vector, y)
            if raw_items is not None and not vector.attr and lone_array(vector):
                _take(vector, _longer(vector, raw_items, len(raw_items)))
                return True
        del vector
    amended = pyfn(f, 2)(values.item(position), y)
    del values  # otherwise it would have another owner
    return _put_item(d, key, position, amended)


def _put_one(d: Dict, y: Value) -> bool:
    """Do `d,:y` in place for a y with one item."""
    if y.__class__ is not Dict or y.keyed or len(y) != 1:
        return False
    key, item = y.k.item(0), y.v.item(0)
    position = _place(d, key)
    qtype = atom_t(item)
    fits = qtype == d.v.t if d.v.__class__ is Vec else not qtype
    return position is not None and fits and _put_item(d, key, position, item)


def _place(d: Dict, key: Value) -> int | None:
    """The position of a key in a plain dictionary of atoms, its length if new; None for other dictionaries."""
    keys = d.k
    if (
        d.attr
        or keys.__class__ is not Vec
        or not len(keys.a)
        or keys.t in (T.G, T.ENUM)
        or atom_t(key) != keys.t
    ):
        return None
    raw_item = raw(key)
    return place_one(keys, raw_item) if raw_item == raw_item else None


def _put_item(d: Dict, key: Value, at: int, y: Value) -> bool:
    """Store y under a key of a dictionary; a new key is at its end."""
    keys, values = d.k, d.v
    if getrefcount(values) > ALONE or keys.__class__ is not Vec:
        return False
    if at < len(keys.a):
        if not (
            lone_array(values)
            if type(values) is Vec
            else type(values) is List and lone_items(values)
        ):
            return False
        d.v = assign_in_place(values, (at,), y)
        return True
    if keys.attr not in ("", "u", "g") or getrefcount(keys) > ALONE or not lone_array(keys):
        return False
    if type(values) is List:
        if values.attr or not values.items or not lone_items(values):
            return False
        _append_pair(keys, _longer(keys, raw(key), 1), values.items, y)
        return True
    if type(values) is not Vec or values.attr or atom_t(y) != values.t or values.t in (T.G, T.ENUM):
        return False
    if not lone_array(values):
        return False
    _take_all((keys, values), (_longer(keys, raw(key), 1), _longer(values, raw(y), 1)))
    return True


def _append_pair(k: Vec, keys: np.ndarray, items: list[Value], y: Value) -> None:
    with HOLD:
        items.append(y)
        _take(k, keys)


def _put_cell(t: Table, i: int, name: Value, y: Value) -> bool:
    """Store y in one cell of a table that has one owner, or whose dictionary has."""
    if t.__class__ is not Table or name.__class__ is not Sym or not t.has(name.s):
        return False
    columns, index = t.cols, t.place(name.s)
    column = columns[index]
    if getrefcount(columns) > ALONE or getrefcount(column) > ALONE:
        return False
    if not (
        lone_array(column)
        if column.__class__ is Vec
        else column.__class__ is List and lone_items(column)
    ):
        return False
    columns[index] = assign_in_place(column, (i,), y)
    t.look = 0
    return True


def _key_at(k: Table, key: Value) -> int | None:
    """The row of a keyed table whose key column holds an atom; None if there is none, or if the key is not an atom."""
    if len(k.cols) != 1 or raw_row(k, (key,)) is None:
        return None
    position = find_row(k, (key,))
    return position if position < len(k) else None


def _put_rows(d: Dict, y: Value) -> bool:
    """Store one row in a keyed table in place, if its columns can be written; False, without doing anything, if not."""
    if d.k.__class__ is not Table or d.v.__class__ is not Table:
        return False
    rows = as_rows(y, d.k.names + d.v.names)
    if len(rows) != 1 or set(rows.names) != {*d.k.names, *d.v.names}:
        return False
    raw_key = raw_row(d.k, [rows.col(name).item(0) for name in d.k.names])
    if raw_key is None:
        return False
    position = find_row(d.k, [rows.col(name).item(0) for name in d.k.names])
    fitted = _row_fit(d.v, rows)
    if fitted is None:
        return False
    columns, arrays = fitted
    if position < len(d.k):
        _write_row(columns, position, arrays)
        return True
    key_fit = _row_fit(d.k, rows)
    if key_fit is None:
        return False
    columns, arrays = [*key_fit[0], *columns], [*key_fit[1], *arrays]
    longer = [_longer(column, array, 1) for column, array in zip(columns, arrays, strict=True)]
    look = getattr(d.k, "look", 0)
    if len(raw_key) > 1 and look.__class__ is dict:
        look[raw_key] = len(d.k)
    _take_all(columns, longer)
    return True


def _write_row(cols: Sequence[Vec], at: int, row: Sequence[np.ndarray]) -> None:
    with HOLD:
        for column, array in zip(cols, row, strict=True):
            column.a[at] = array[0]
            column.wrote()


def _row_fit(t: Table, more: Table) -> tuple[list[Vec], list[np.ndarray]] | None:
    """The columns of a table that can be written in place, and the raw items for them; None if a column cannot, or
    an item does not fit."""
    columns = t.cols
    if getrefcount(t) > ALONE or getrefcount(columns) > ALONE:
        return None
    vectors, arrays = [], []
    for index, name in enumerate(t.names):
        column = columns[index]
        if column.__class__ is not Vec or getrefcount(column) > ALONE or not lone_array(column):
            return None
        raw_items = _fitting(column, more.col(name))
        if raw_items is None:
            return None
        vectors.append(column)
        arrays.append(raw_items)
    return vectors, arrays
