"""Order: comparing q values, grading any list, sorting, and dense codes for items."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.core import Dict, List, Nd, Table, Value, Vec, atom_t, raw, seq_items
from kshell.values.base.functions import Handle
from kshell.values.base.symbols import Sym
from kshell.values.items.integer_keys import float_keys, grade_keys, int_keys, symbol_ranks
from kshell.values.items.pick import unenum
from kshell.values.items.rows import string_rows

Array = np.ndarray


def sort_keys(x: Vec) -> Array:
    """Integers in the order of the items."""
    if x.t == T.S:
        return symbol_ranks(x.a)
    if x.t == T.ENUM:
        symbols = unenum(x)
        return sort_keys(symbols) if symbols.__class__ is Vec else grade_ranks(symbols)
    return float_keys(x.a) if x.t in T.FLOATS else int_keys(x)


# ------------------------------------------------------------------ grade of any list


def grade(x: Value, down: bool = False) -> Array:
    """The stable permutation that sorts a list, table (by its columns) or dictionary (by its values)."""
    if x.__class__ is Vec:
        if not down and x.attr == "s":
            return np.arange(len(x.a))
        return grade_keys(sort_keys(x), down)
    if isinstance(x, List):
        return _grade_list(x, down)
    if x.__class__ is Table:
        return grade_columns(x.cols, down)
    if x.__class__ is Dict:
        return grade(x.v, down)
    raise QError("type")


def grade_columns(cols: Sequence[Value], down: bool = False) -> Array:
    """The stable permutation that sorts rows by the first column, then the second, and so on."""
    order = grade(cols[-1], down)
    for column in reversed(cols[:-1]):
        keys = sort_keys(column)[order] if column.__class__ is Vec else grade_ranks(column)[order]
        order = order[grade_keys(keys, down)]
    return order


def grade_ranks(x: Value) -> Array:
    """The dense rank of each item of a list: equal for equal items."""
    if x.__class__ is Vec:
        keys = sort_keys(x)
        order = grade_keys(keys)
        keys = keys[order]
        differs = keys[1:] != keys[:-1]
    else:
        order = grade(x)
        items = seq_items(x)
        differs = np.array(
            [compare(items[before], items[after]) != 0 for before, after in pairwise(order)],
            np.bool_,
        )
    ranks = np.empty(len(order), np.int64)
    ranks[order[:1]] = 0
    ranks[order[1:]] = np.cumsum(differs)
    return ranks


_FEW = 64  # shorter lists of strings are compared without looking for equal ones


def _grade_list(x: List, down: bool) -> Array:
    count = len(x)
    rows = string_rows(x)
    grouping = rows.ids() if rows is not None and count > _FEW else None
    # each distinct string is compared once
    if rows is not None and grouping is not None and len(grouping[0]) * 4 < count:
        distinct = [rows.item(position) for position in grouping[0].tolist()]
        ranks = np.empty(len(distinct), np.int64)
        ranks[sorted(range(len(distinct)), key=distinct.__getitem__)] = np.arange(len(distinct))
        return grade_keys(ranks[grouping[1]], down)
    items = seq_items(x)
    if rows is not None:
        keys: list[Any] = rows.items()
    elif x.__class__ is Nd and x.a.ndim == 2 and x.t not in (T.S, T.G, T.ENUM, T.E, T.F, T.Z):
        keys = x.a.tolist()
    else:
        keys = list(map(cmp_to_key(compare), items))
    if not down:
        return np.array(sorted(range(count), key=keys.__getitem__), np.int64)
    return np.array(sorted(range(count - 1, -1, -1), key=keys.__getitem__)[::-1], np.int64)


def _kind(x: Value) -> int:
    """The first sort criterion for items of a mixed list: the type number without its sign."""
    if x.__class__ is Vec:
        return int(x.t)
    if isinstance(x, (List, Handle)):
        return 0
    qtype = atom_t(x)
    return qtype if qtype else 98 if x.__class__ is Table else 99 if x.__class__ is Dict else 100


def compare(x: Value, y: Value) -> int:
    """-1, 0 or 1 if x sorts before, with or after y in a mixed list: by type, then atoms first, then value."""
    x_kind, y_kind = _kind(x), _kind(y)
    if x_kind != y_kind:
        return -1 if x_kind < y_kind else 1
    qtype, y_type = atom_t(x), atom_t(y)
    if qtype and y_type:
        return _compare_atoms(x, y, qtype)
    if qtype or y_type:
        return -1 if qtype else 1
    if x_kind < 98:
        x_items, y_items = seq_items(x), seq_items(y)
        for x_item, y_item in zip(x_items, y_items, strict=False):
            order = compare(x_item, y_item)
            if order:
                return order
        return (len(x_items) > len(y_items)) - (len(x_items) < len(y_items))
    if x.__class__ is Table and y.__class__ is Table:
        return compare(List([*x.cols]), List([*y.cols]))
    if x.__class__ is Dict and y.__class__ is Dict:
        return compare(x.v, y.v) or compare(x.k, y.k)
    return 0


def _compare_atoms(x: Value, y: Value, t: int) -> int:
    if t == T.ENUM:
        return compare(unenum(x), unenum(y))
    x_raw: Any
    y_raw: Any
    if x.__class__ is Sym and y.__class__ is Sym:
        x_raw, y_raw = x.s, y.s
    else:
        x_raw, y_raw = raw(x), raw(y)
    if t in T.FLOATS and (x_raw != x_raw or y_raw != y_raw):
        return int(x_raw == x_raw) - int(y_raw == y_raw)
    return (x_raw > y_raw) - (x_raw < y_raw)


# ------------------------------------------------------------------ sorting


def sort_vec(x: Vec, down: bool = False) -> Vec:
    """A vector's items sorted; the array is new."""
    qtype = x.t
    if qtype in (T.S, T.G, T.ENUM):
        return Vec(qtype, x.a[grade(x, down)], "", x.dom)
    array = np.sort(x.a)
    # numpy puts nulls last, q first
    if qtype in T.FLOATS and len(array) and array[-1] != array[-1]:
        array = np.roll(array, int(np.isnan(array).sum()))
    return Vec(qtype, array[::-1].copy() if down else array)


def is_sorted(x: Value) -> bool:
    """Are the items of a list in ascending order?"""
    if x.__class__ is Vec:
        if x.attr == "s":
            return True
        if len(x.a) > 1000 and not is_sorted(Vec(x.t, x.a[:100], "", x.dom)):
            return False  # most unsorted lists are detected early
        keys = sort_keys(x)
        return bool((keys[1:] >= keys[:-1]).all())
    if x.__class__ is Table:
        order = grade_columns(x.cols) if x.cols else np.arange(0)
        return bool((order[1:] > order[:-1]).all())
    items = seq_items(x)
    return all(compare(before, after) <= 0 for before, after in pairwise(items))
