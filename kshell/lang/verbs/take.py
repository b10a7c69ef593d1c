"""Parts of lists, dictionaries and tables by count: take, reshape, drop, cut, sublist."""

from __future__ import annotations

from itertools import pairwise
from math import prod
from typing import overload

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs.attributes import ATTRIBUTES, set_attribute
from kshell.lang.verbs.lists import int_of
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import (
    Dict,
    List,
    ListValue,
    Nd,
    Table,
    Value,
    Vec,
    atom_t,
    is_atom,
    is_list,
    raw,
    seq_items,
    sym_names,
)
from kshell.values.base.functions import Handle
from kshell.values.base.narrow import has_items, list_value
from kshell.values.base.symbols import Sym
from kshell.values.change.join import as_list
from kshell.values.items.index import index1, positions
from kshell.values.items.pick import null_of, take_at
from kshell.values.items.search import depth, find

_INTS = (T.B, T.X, T.H, T.I, T.J)


@verb("#", "n#y", "2 3#y", "`a`b#table", "`s#y", qtype=102)
def take(x: Value, y: Value) -> Value:
    """Take x items of y, cycling; reshape; select keys or columns; set attributes (`s#).

    A negative x takes from the end. Several numbers reshape y; one of them may be null, which is then computed from the
    length. Symbols select entries of a dictionary or columns of a table; `s# `u# `p# `g# set an attribute, `# removes
    it.

    q)3#til 10
    0 1 2
    q)-2#"abc"
    "bc"
    q)2 3#til 6
    0 1 2
    3 4 5
    q)`a`c#`a`b`c!1 2 3
    a| 1
    c| 3
    """
    if isinstance(y, Handle) and y.folded:
        return y.dyad("#", x, y)
    if x.__class__ is int or atom_t(x) in _INTS:
        return take_n(int(raw(x)), y)
    if x.__class__ is Sym:
        return set_attribute(x.s, y) if x.s in ATTRIBUTES else take(collapse([x]), y)
    if y.__class__ is Table and not (x.__class__ is Vec and x.t in _INTS and len(x)):
        return _take_columns(x, y)
    if y.__class__ is Dict:
        return _take_keys(x, y)
    if isinstance(x, List) and not len(x):
        return y
    shape = positions(x)
    if shape is None:
        raise QError("type")
    return reshape(shape.tolist(), y)


def _take_columns(names: Value, t: Table) -> Table:
    """The columns with these names."""
    if names.__class__ is not Vec or names.t != T.S:
        raise QError("type")
    return Table(sym_names(names), [list_value(index1(t, name)) for name in names.items])


def _take_keys(x: Value, y: Dict) -> Dict:
    """The entries of a dictionary, or rows of a keyed table, at the given keys."""
    if y.keyed:
        if x.__class__ is not Table:
            raise QError("type")
        indices = find(y.k, x)
        indices = indices[indices < len(y.k)]
        return Dict(take_at(y.k, indices), take_at(y.v, indices))
    return Dict(list_value(x), list_value(index1(y, x)))


def take_n(n: int, y: Value) -> ListValue | Dict:
    """The first n (or last -n) items, repeated as needed."""
    if y.__class__ is Dict:
        return Dict(list_value(take_n(n, y.k)), list_value(take_n(n, y.v)))
    if abs(n) > 1 << 40:
        raise QError("limit" if n != -T.M63 else "type")
    count = abs(n)
    if not has_items(y):
        single = as_list(y)
        if single.__class__ is Vec:
            return Vec(single.t, np.repeat(single.a, count), "", single.dom)
        return List(single.items * count)
    length = len(y)
    if count <= length:
        return cut_at(y, 0, count) if n >= 0 else cut_at(y, length - count, length)
    if not length:
        return (
            take_at(y, np.full(count, -1, np.int64))
            if y.__class__ is not List
            else List([null_of(y)] * count)
        )
    return take_at(y, np.arange(n, 0) % length if n < 0 else np.arange(n) % length)


@overload
def cut_at(y: ListValue, a: int, b: int) -> ListValue: ...
@overload
def cut_at(y: ListValue | Dict, a: int, b: int) -> ListValue | Dict: ...
def cut_at(y: ListValue | Dict, a: int, b: int) -> ListValue | Dict:
    """Items a to b of a list, table or dictionary."""
    if type(y) is Vec:
        return Vec(y.t, y.a[a:b], "", y.dom)
    if type(y) is Nd:
        return Nd(y.t, y.a[a:b]) if a < b else List([])
    if type(y) is Table:
        return Table(y.names, [cut_at(column, a, b) for column in y.cols])
    if type(y) is Dict:
        return Dict(cut_at(y.k, a, b), cut_at(y.v, a, b), y.attr)
    items = y.items[a:b]
    return (
        collapse(items)
        if items and (is_atom(items[0]) or items[0].__class__ is Dict)
        else List(items)
    )


def reshape(shape: list[int], y: Value) -> Value:
    """y reshaped, its items repeated as needed; a null dimension is computed from the length."""
    if len(shape) == 1:
        return take_n(shape[0], y)
    if -T.M63 in shape or -(1 << 31) in shape:
        return _ragged(shape, y)
    if not shape or min(shape) < 0 or 0 in shape[1:-1]:
        raise QError("domain")
    if y.__class__ is Dict or y.__class__ is Table:
        return _nested(shape, y)
    y = as_list(y)
    count = 1
    for dimension in shape:
        count *= dimension
    if not shape[0]:
        return List([])
    if y.__class__ is Nd or (isinstance(y, List) and len(y)):
        return _nested(shape, y)
    taken = take_n(count, y)
    if taken.__class__ is not Vec:
        return _nested(shape, y)
    if taken.t == T.ENUM:
        return _nested(shape, taken)
    return Nd(taken.t, taken.a.reshape(shape))


def _nested(shape: list[int], y: Value) -> Value:
    """The same for items other than atoms of one type."""
    count = 1
    for dimension in shape:
        count *= dimension
    if y.__class__ is Nd and count:
        return Nd(y.t, y.a[np.arange(count) % len(y)].reshape(*shape, *y.a.shape[1:]))
    blocks = list_value(take_n(count, y))
    for dimension in reversed(shape[1:]):
        # only the last can be 0: the other dimensions give the number of empty lists
        empty = not dimension
        blocks = List(
            [blocks] * prod(shape[:-1])
            if empty
            else [
                cut_at(blocks, start, start + dimension)
                for start in range(0, len(blocks), dimension)
            ]
        )
    return blocks


def _ragged(shape: list[int], y: Value) -> Value:
    """`0N 3#y`: rows of 3, the last perhaps shorter; `3 0N#y`: 3 rows, as even as possible."""
    if len(shape) != 2:
        raise QError("domain")
    y = y if has_items(y) else as_list(y)
    rows, width = (None if count in (-T.M63, -(1 << 31)) else count for count in shape)
    count = len(y)
    if rows is None and width is None:
        raise QError("domain")
    if rows is None:
        assert width is not None
        if width <= 0:
            raise QError("domain")
        if y.__class__ is Vec and count and count % width == 0 and y.t != T.ENUM:
            return Nd(y.t, y.a.reshape(-1, width))
        return List(
            [cut_at(y, index, min(index + width, count)) for index in range(0, count, width)]
        )
    if rows <= 0:
        if rows:
            raise QError("domain")
        return List([])
    edges = [count * index // rows for index in range(rows + 1)]
    if y.__class__ is Vec and count and count % rows == 0 and y.t != T.ENUM:
        return Nd(y.t, y.a.reshape(rows, -1))
    return List([cut_at(y, begin, end) for begin, end in pairwise(edges)])


# ------------------------------------------------------------------ drop and cut


@verb("_", "n _ y", "2 5 _ y", "y _ i", "`a`b _ table", qtype=102)
def drop(x: Value, y: Value) -> Value:
    """y without x items, keys or columns; or cut y at positions x.

    A negative x drops from the end. With a list or dictionary on the left, drops the item at index or key y.

    q)2_til 5
    2 3 4
    q)0 2_"abcde"
    "ab"
    "cde"
    q)10 20 30_1
    10 30
    q)`a _ `a`b!1 2
    b| 2
    """
    for handle in (y, x):
        if isinstance(handle, Handle) and handle.folded:
            return handle.dyad("_", x, y)
    if is_list(x) or x.__class__ is Dict or x.__class__ is Table:
        if not (is_list(y) or y.__class__ in (Dict, Table)) or (
            x.__class__ is Dict and y.__class__ is not Table
        ):
            return drop_index(x, y)
    if y.__class__ is Dict and not (is_atom(x) and atom_t(x) in _INTS):
        return drop_keys(x if is_list(x) or x.__class__ is Table else collapse([x]), y)
    if y.__class__ is Table and x.__class__ is Vec and x.t == T.S:
        return _without_columns(x, y)
    if is_list(x):
        array = positions(x) if len(x) or x.__class__ is Vec else np.zeros(0, np.int64)
        if array is None:
            raise QError("type")
        return cut_list(array, y)
    return drop_n(int_of(x), y)


def _without_columns(names: Vec, t: Table) -> Table:
    """A table without the columns with these names."""
    dropped = set(sym_names(names))
    indices = [index for index, name in enumerate(t.names) if name not in dropped]
    return Table([t.names[index] for index in indices], [t.cols[index] for index in indices])


def drop_n(n: int, y: Value) -> Value:
    """y without its first n (or last -n) items."""
    if not isinstance(y, (Vec, List, Table, Dict)):
        if isinstance(y, Handle):
            return y.dyad("_", n, y)
        raise QError("type")
    length = len(y)
    return cut_at(y, min(n, length), length) if n >= 0 else cut_at(y, 0, max(length + n, 0))


def drop_index(x: Value, y: Value) -> Value:
    """x without the item at an index, or the entry with a key."""
    if x.__class__ is Dict:
        if (
            is_list(y)
            and not x.keyed
            and not (isinstance(x.k, List) and len(x.k) and depth(x.k) > depth(y))
        ):
            raise QError("type")
        return drop_keys(
            y if x.keyed and y.__class__ is Dict else List([y]) if is_list(y) else collapse([y]), x
        )
    index = int_of(y)
    x = list_value(x)
    if not 0 <= index < len(x):
        return x
    return take_at(x, np.delete(np.arange(len(x)), index))


def drop_keys(keys: Value, d: Dict) -> Dict:
    """A dictionary without the given keys."""
    if d.keyed and keys.__class__ is not Table and keys.__class__ is not Dict:
        key_table = d.tables[0]
        if len(key_table.names) != 1:
            raise QError("type")
        matches = find(key_table.cols[0], keys)
    else:
        matches = (
            [find(d.k, key) for key in seq_items(keys)]
            if isinstance(d.k, List)
            else find(d.k, keys)
        )
    if isinstance(matches, List) or (
        isinstance(matches, list) and not all(isinstance(match, int) for match in matches)
    ):
        raise QError("type")  # keys nested deeper than those of d
    indices = np.atleast_1d(np.asarray(matches, np.int64))
    keep_mask = np.ones(len(d), np.bool_)
    keep_mask[indices[indices < len(d)]] = False
    remaining = np.flatnonzero(keep_mask)
    return Dict(take_at(d.k, remaining), take_at(d.v, remaining))


def cut_list(at: np.ndarray, y: Value) -> Value:
    """y cut at ascending positions into a list of parts."""
    if not has_items(y):
        raise QError("type")
    count = len(y)
    if len(at) and (int(at[0]) < 0 or bool((at[1:] < at[:-1]).any())):
        raise QError("domain")
    if len(at) and int(at[-1]) > count:
        raise QError("length")
    edges = [*at.tolist(), count]
    return List([cut_at(y, begin, end) for begin, end in pairwise(edges)])


@verb("cut", handle=True)
def cut(x: Value, y: Value) -> Value:
    """Cut y into parts of x items; with a list x, same as _.

    q)2 cut til 5
    0 1
    2 3
    ,4
    """
    if is_list(x):
        return drop(x, y)
    number = int_of(x)
    if number <= 0:
        raise QError("domain")
    if not isinstance(y, (Vec, List, Table, Dict)):
        raise QError("type")
    if y.__class__ is Vec and len(y) and len(y) % number == 0 and y.t != T.ENUM:
        return Nd(y.t, y.a.reshape(-1, number))
    return cut_list(np.arange(0, len(y), number), y)


@verb("sublist", handle=True)
def sublist(x: Value, y: Value) -> Value:
    """At most x items of y; two numbers x are start and count.

    q)3 sublist 1 2
    1 2
    q)1 2 sublist "abcde"
    "bc"
    """
    if not isinstance(y, (Vec, List, Table, Dict)):
        raise QError("type")
    count = len(y)
    if not is_list(x):
        number = int_of(x)
        return (
            cut_at(y, 0, min(number, count))
            if number >= 0
            else cut_at(y, max(count + number, 0), count)
        )
    pair = positions(x)
    if pair is None:
        raise QError("type")
    if len(pair) != 2:
        raise QError("length")
    start, length = (int(bound) for bound in pair)
    begin = min(max(start, 0), count)
    return cut_at(y, begin, min(max(start + max(length, 0), begin), count))
