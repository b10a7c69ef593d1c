"""Order: comparing q values, grading any list, sorting, and dense codes for items."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.core import Dict, List, Nd, Sym, Table, Value, Vec, atom_t, raw, seq_items
from kshell.values.base.functions import Handle
from kshell.values.items.integer_keys import float_keys, grade_keys, int_keys, symbol_ranks
from kshell.values.items.pick import unenum
from kshell.values.items.rows import string_rows

Array = np.ndarray


def sort_keys(x: Vec) -> Array:
    """Integers in the order of the items."""
    if x.t == T.S:
        return symbol_ranks(x.a)
    if x.t == T.ENUM:
        found = unenum(x)
        return sort_keys(found) if found.__class__ is Vec else grade_ranks(found)
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
    for col in reversed(cols[:-1]):
        keys = sort_keys(col)[order] if col.__class__ is Vec else grade_ranks(col)[order]
        order = order[grade_keys(keys, down)]
    return order


def grade_ranks(x: Value) -> Array:
    """The dense rank of each item of a list: equal for equal items."""
    if x.__class__ is Vec:
        keys = sort_keys(x)
        order = grade_keys(keys)
        keys = keys[order]
        step = keys[1:] != keys[:-1]
    else:
        order = grade(x)
        items = seq_items(x)
        step = np.array([compare(items[i], items[j]) != 0 for i, j in pairwise(order)], np.bool_)
    out = np.empty(len(order), np.int64)
    out[order[:1]] = 0
    out[order[1:]] = np.cumsum(step)
    return out


_FEW = 64  # shorter lists of strings are compared without looking for equal ones


def _grade_list(x: List, down: bool) -> Array:
    count = len(x)
    rows = string_rows(x)
    ids = rows.ids() if rows is not None and count > _FEW else None
    if (
        rows is not None and ids is not None and len(ids[0]) * 4 < count
    ):  # each distinct string is compared once
        first = [rows.item(k) for k in ids[0].tolist()]
        ranks = np.empty(len(first), np.int64)
        ranks[sorted(range(len(first)), key=first.__getitem__)] = np.arange(len(first))
        return grade_keys(ranks[ids[1]], down)
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
    a, b = _kind(x), _kind(y)
    if a != b:
        return -1 if a < b else 1
    qtype, ty = atom_t(x), atom_t(y)
    if qtype and ty:
        return _compare_atoms(x, y, qtype)
    if qtype or ty:
        return -1 if qtype else 1
    if a < 98:
        xs, ys = seq_items(x), seq_items(y)
        for i, j in zip(xs, ys, strict=False):
            order = compare(i, j)
            if order:
                return order
        return (len(xs) > len(ys)) - (len(xs) < len(ys))
    if x.__class__ is Table and y.__class__ is Table:
        return compare(List([*x.cols]), List([*y.cols]))
    if x.__class__ is Dict and y.__class__ is Dict:
        return compare(x.k, y.k) or compare(x.v, y.v)
    return 0


def _compare_atoms(x: Value, y: Value, t: int) -> int:
    if t == T.ENUM:
        return compare(unenum(x), unenum(y))
    p: Any
    q: Any
    if x.__class__ is Sym and y.__class__ is Sym:
        p, q = x.s, y.s
    else:
        p, q = raw(x), raw(y)
    if t in T.FLOATS and (p != p or q != q):
        return int(p == p) - int(q == q)
    return (p > q) - (p < q)


# ------------------------------------------------------------------ sorting


def sort_vec(x: Vec, down: bool = False) -> Vec:
    """A vector's items sorted; the array is new."""
    qtype = x.t
    if qtype in (T.S, T.G, T.ENUM):
        return Vec(qtype, x.a[grade(x, down)], "", x.dom)
    a = np.sort(x.a)
    if qtype in T.FLOATS and len(a) and a[-1] != a[-1]:  # numpy puts nulls last, q first
        a = np.roll(a, int(np.isnan(a).sum()))
    return Vec(qtype, a[::-1].copy() if down else a)


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
    return all(compare(p, q) <= 0 for p, q in pairwise(items))
