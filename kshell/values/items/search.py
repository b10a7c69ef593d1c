"""Search: find, distinct, group, membership and binary search in any list or table.

Everything is reduced to integers (see keys.py): vectors give int_keys, anything else dense codes. Comparisons are
exact.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.build import as_nd, collapse, longs
from kshell.values.base.core import (
    Dict,
    EnumAtom,
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
from kshell.values.base.functions import Comp, Derived, Foreign, Iter, Lambda, Prim, Proj
from kshell.values.base.primitives import in_k
from kshell.values.items import index as indexing
from kshell.values.items.integer_keys import bounds, float_keys, grade_keys, int_keys
from kshell.values.items.keys import (
    distinct_keys,
    find_keys,
    find_one,
    group_keys,
    group_lists_of,
    place_one,
    place_row,
    seek,
)
from kshell.values.items.order import compare, grade_ranks, sort_keys
from kshell.values.items.pick import unenum
from kshell.values.items.rows import string_rows

Array = np.ndarray


# ------------------------------------------------------------------ codes of any value


def key_of(x: Value) -> Hashable:
    """A Python key that is equal for matching values (floats exactly)."""
    qtype = atom_t(x)
    if qtype:
        v = raw(x)
        if x.__class__ is EnumAtom:
            return qtype, v, x.dom
        return qtype, "0n" if v != v else v
    if x.__class__ is Vec:
        array = float_keys(x.a) if x.t in T.FLOATS else x.a
        return -x.t, x.dom, array.tobytes()
    if isinstance(x, List):
        return "L", tuple(map(key_of, x.items))
    if x.__class__ is Dict:
        return "D", key_of(x.k), key_of(x.v)
    if x.__class__ is Table:
        return "T", tuple(x.names), tuple(map(key_of, x.cols))
    return _function_key(x)


def _function_key(x: Value) -> Hashable:
    if isinstance(x, Lambda):
        return "l", x.text
    if isinstance(x, Prim):
        return ("p", in_k(x.name), x.t) if x.python is None else ("o", id(x.python))
    if x.__class__ is Foreign:
        return "o", id(x.obj)
    if isinstance(x, Derived):
        return "d", x.glyph, key_of(x.f)
    if isinstance(x, Iter):
        return "i", x.glyph
    if isinstance(x, (Proj, Comp)):
        return "j", tuple(map(key_of, (x.f, *x.args) if isinstance(x, Proj) else x.fs))
    return "o", id(x)


def codes(x: Value) -> Array:
    """Integers that are equal where items of a list (or rows of a table) match."""
    if x.__class__ is Vec:
        return int_keys(x)
    if x.__class__ is Table:
        return row_codes(x.cols)
    if x.__class__ is Dict:
        return codes(x.v)
    if not isinstance(x, List):
        raise QError("type")
    rows = string_rows(x) if len(x) > _FEW else None
    ids = None if rows is None else rows.ids()
    if ids is not None:
        return ids[1]
    known: dict[Hashable, int] = {}
    return np.array([known.setdefault(key, len(known)) for key in _item_keys(x)], np.int64)


_FEW = 16  # shorter lists of strings are handled one by one


def _item_keys(x: List) -> Sequence[Hashable]:
    """A key per item, in bulk for rectangular lists and strings; comparable only within the same list."""
    strings = string_rows(x)
    if strings is not None:
        return strings.items()
    if x.__class__ is Nd and x.t not in T.FLOATS:
        rows = np.ascontiguousarray(x.a)
        size = rows[0].nbytes if len(rows) else 0
        if size:
            return rows.reshape(len(rows), -1).view(f"V{size}").ravel().tolist()
    return [key_of(i) for i in x.items]


def row_codes(cols: Sequence[ListValue]) -> Array:
    """Codes of rows: equal where all columns are."""
    out = codes(cols[0])
    for col in cols[1:]:
        out = pair_codes(out, codes(col))
    return out


def pair_codes(a: Array, b: Array) -> Array:
    """Codes of pairs of codes."""
    if not len(a):
        return a
    a, wide = _narrow(a)
    b, size = _narrow(b)
    if wide * size >= 1 << 62:
        a, wide = _dense(a)
        b, size = _dense(b)
    return a * size + b


def _narrow(a: Array) -> tuple[Array, int]:
    """Codes starting at zero, and the size of their range."""
    lo, hi = bounds(a)
    if hi - lo >= 1 << 40:
        return _dense(a)
    return a.astype(np.int64, copy=False) - lo, hi - lo + 1


def _dense(a: Array) -> tuple[Array, int]:
    first, ids = group_keys(a)
    return ids, len(first)


WHOLE = frozenset({T.H, T.I, T.J})  # integers of these types can match each other


def widened(a: Array, t: int) -> Array:
    """Integers of type t as longs, with the nulls and infinities of longs."""
    if t == T.J:
        return a
    row, out = T.TYPE[t], a.astype(np.int64)
    for small, large in ((row.null, -T.M63), (row.inf, T.LONG_MAX), (-row.inf, -T.LONG_MAX)):
        hit = a == small
        if hit.any():
            out[hit] = large
    return out


def joint_codes(x: ListValue, y: ListValue) -> tuple[Array, Array]:
    """Codes of the items of two lists or tables, equal where an item of one matches an item of the other."""
    count = len(x)
    if x.__class__ is Vec and y.__class__ is Vec:
        if x.t != y.t or x.dom != y.dom:
            if T.ENUM in (x.t, y.t):
                return joint_codes(unenum(x), unenum(y))
            if x.t in WHOLE and y.t in WHOLE:
                return widened(x.a, x.t), widened(y.a, y.t)
            raise QError("type")
        if x.t != T.G:
            return int_keys(x), int_keys(y)
        both = int_keys(Vec(T.G, np.concatenate([x.a, y.a])))
        return both[:count], both[count:]
    if x.__class__ is Table and y.__class__ is Table:
        if set(x.names) != set(y.names):
            raise QError("mismatch")
        return joint_columns(x.cols, [y.col(name) for name in x.names])
    both = codes(List(seq_items(x) + seq_items(y)))
    return both[:count], both[count:]


def joint_columns(xs: Sequence[ListValue], ys: Sequence[ListValue]) -> tuple[Array, Array]:
    """joint_codes for rows, given as columns."""
    count = len(xs[0])
    out: Array | None = None
    for x, y in zip(xs, ys, strict=True):
        if not len(x) or not len(y):  # nothing can match, whatever the types
            return np.arange(count), np.arange(count, count + len(y))
        both = np.concatenate(joint_codes(x, y))
        out = both if out is None else pair_codes(out, both)
    assert out is not None
    return out[:count], out[count:]


# ------------------------------------------------------------------ distinct and group


def distinct_at(x: ListValue | Dict) -> Array:
    """The positions of first occurrences of items of a list, or rows of a table."""
    if x.__class__ is Vec and x.attr == "u":
        return np.arange(len(x.a))
    return distinct_keys(codes(x)) if len(x) else np.arange(0)


def group_lists(x: ListValue | Dict) -> tuple[Array, list[Array]]:
    """(first position of each distinct item, positions of each)."""
    return group_lists_of(codes(x)) if len(x) else (np.arange(0), [])


# ------------------------------------------------------------------ find


def depth(x: Value) -> int:
    """0 for an atom, 1 for a vector, one more than the first item's for a general list."""
    if x.__class__ is Vec:
        return 1
    if x.__class__ is Nd:
        return int(x.a.ndim)
    if x.__class__ is List:
        return 1 + (depth(x.items[0]) if x.items else 0)
    return 0


def find(x: Value, y: Value) -> Any:
    """The positions of y among the items of x: an int if y is one item, an int64 array if it is a list of items (or a
    table of rows); len(x) if missing. If `y` is nested deeper, a list value."""
    if x.__class__ is Vec:
        return _find_in_vec(x, y)
    if x.__class__ is Table:
        return _find_in_table(x, y)
    if not isinstance(x, List):
        raise QError("type")
    if is_list(y) and (not len(x) or depth(y) > depth(x.item(0))):
        if not len(x):
            return np.zeros(len(y), np.int64)
        if 1 <= depth(x.item(0)) < depth(y) - 1:
            return found_value([find(x, i) for i in y.items])
        return _find_items(x, y)
    if y.__class__ is Table and (not len(x) or x.item(0).__class__ is not Table):
        return _find_items(x, y) if len(x) else np.zeros(len(y), np.int64)
    if y.__class__ is List and not len(y) and not isinstance(x.item(0), List):
        return np.zeros(0, np.int64)  # () among vectors: no items to search for
    if not len(x) or depth(y) != depth(x.item(0)):
        return len(x)
    return _find_row(x, y) if isinstance(x, Nd) else _find_one(x, y)


def _find_row(x: Nd, y: Value) -> int:
    """The first row of a rectangular list that matches y."""
    row = y if y.__class__ is Vec else as_nd(y)
    if row is None or row.t != x.t or row.a.shape != x.a.shape[1:]:
        return len(x)
    a, b = x.a, row.a
    if x.t in T.FLOATS:
        a, b = float_keys(a), float_keys(b)
    return find_one((a == b).reshape(len(a), -1).all(1), True)


_SCANNED = 8  # shorter lists are scanned each time


def _find_one(x: List, y: Value) -> int:
    """The first item of a general list that matches y. A list that is searched repeatedly gets a dictionary."""
    items, key = x.items, key_of(y)
    count, look = len(items), x.look
    if look.__class__ is not list and count >= _SCANNED:
        x.look = look = look + 1 if look < 2 else [0, {}]  # type: ignore[operator]
    if look.__class__ is list:
        known = look[1]
        for i in range(look[0], count):
            known.setdefault(key_of(items[i]), i)
        look[0] = count
        return known.get(key, count)
    if y.__class__ is Vec:
        qtype, size = y.t, len(y.a)
        for i, item in enumerate(items):
            if item.__class__ is Vec and item.t == qtype and len(item.a) == size:
                if key_of(item) == key:
                    return i
        return count
    many = isinstance(y, List)
    for i, item in enumerate(items):
        if (item.__class__ is y.__class__ or many) and key_of(item) == key:
            return i
    return count


def _find_items(x: List, y: ListValue) -> Array:
    if len(x) * len(y) <= 64:
        keys = [key_of(i) for i in x.items]
        return np.array(
            [keys.index(k) if k in keys else len(keys) for k in map(key_of, seq_items(y))], np.int64
        )
    rows: Iterable[Hashable]
    wanted: Iterable[Hashable]
    if x.__class__ is Nd and y.__class__ is Nd and x.t == y.t and x.a.shape[1:] == y.a.shape[1:]:
        rows, wanted = _item_keys(x), _item_keys(y)
    elif (a := string_rows(x)) and (b := string_rows(y)):
        rows, wanted = a.items(), b.items()
    else:
        rows, wanted = map(key_of, x.items), map(key_of, y.items)
    known: dict[Hashable, int] = {}
    for i, k in enumerate(rows):
        known.setdefault(k, i)
    count = len(x)
    return np.array([known.get(k, count) for k in wanted], np.int64)


def _find_in_vec(x: Vec, y: Value) -> Any:
    qtype = atom_t(y)
    if qtype:
        if qtype != x.t or qtype == T.ENUM:
            if T.ENUM in (qtype, x.t):
                return find(unenum(x), unenum(y))
            if qtype in WHOLE and x.t in WHOLE:
                return int(
                    find_keys(
                        widened(x.a, x.t), widened(np.array([raw(y)], T.DTYPE[qtype]), qtype)
                    )[0]
                )
            raise QError("type")
        if qtype in T.FLOATS:
            v = raw(y)
            return place_one(x, v) if v == v else find_one(np.isnan(x.a), True)
        if qtype == T.G:
            return find_one(x.a, np.frombuffer(raw(y), "V16")[0])
        return place_one(x, raw(y))
    if y.__class__ is Vec:
        if not len(y.a):
            return np.zeros(0, np.int64)
        return find_keys(*joint_codes(x, y))
    if y.__class__ is Nd and y.t == x.t:
        at = find_keys(*joint_codes(x, Vec(y.t, y.a.ravel())))
        return Nd(T.J, at.reshape(y.a.shape))
    if isinstance(y, List):
        return found_value([find(x, i) for i in y.items])
    raise QError("type")


def found_value(parts: list[Any]) -> Value:
    """Results of find as a list value."""
    return collapse([longs(part) if part.__class__ is np.ndarray else part for part in parts])


def _find_in_table(x: Table, y: Value) -> Any:
    if y.__class__ is Table:
        return find_keys(*joint_codes(x, y))
    if y.__class__ is Dict:
        if y.keyed or not is_list(y.v) or y.k.__class__ is not Vec or y.k.t != T.S:
            raise QError("type")
        names = sym_names(y.k)
        if set(names) != set(x.names):
            raise QError("mismatch")
        items = seq_items(y.v)
        if len(items) != len(names):
            raise QError("length")
        at = dict(zip(reversed(names), reversed(items), strict=True))
        return find_row(x, [at[name] for name in x.names])
    if is_atom(y) and len(x.names) == 1:
        return find_row(x, [y])
    if not is_list(y) or len(y) != len(x.names):
        raise QError("length" if is_list(y) else "type")
    items = seq_items(y)
    if all(is_atom(i) for i in items):
        return find_row(x, items)
    cols = [
        i if is_list(i) else collapse([i] * max(map(len, filter(is_list, items)))) for i in items
    ]
    return find_keys(*joint_columns(x.cols, cols))


def find_row(x: Table, items: Sequence[Value]) -> int:
    """The first row of a table with these items."""
    raws = raw_row(x, items)
    if raws is not None:
        first = x.cols[0]
        if len(raws) == 1 and first.__class__ is Vec:
            return place_one(first, raws[0])
        return place_row(x, raws)
    hit = np.ones(len(x), np.bool_)
    for col, item in zip(x.cols, items, strict=True):
        left = np.flatnonzero(hit)
        if not len(left):
            break
        hit &= equal_mask(col, item)
    positions = np.flatnonzero(hit)
    return int(positions[0]) if len(positions) else len(x)


def raw_row(x: Table, items: Sequence[Value]) -> tuple[Any, ...] | None:
    """Items as the raw items of a row, if the columns are vectors of their types and nothing else needs comparing."""
    out = []
    for col, item in zip(x.cols, items, strict=True):
        if col.__class__ is not Vec or col.t in (T.G, T.ENUM) or atom_t(item) != col.t:
            return None
        v = raw(item)
        if v != v:
            return None
        out.append(v)
    return tuple(out) or None


def equal_mask(col: ListValue, item: Value) -> Array:
    """Where the items of a list match one item, exactly."""
    if col.__class__ is Vec:
        qtype = atom_t(item)
        if T.ENUM in (qtype, col.t):
            col, item = unenum(col), unenum(item)
            qtype = atom_t(item)
        if not len(col):
            return np.zeros(0, np.bool_)
        if col.__class__ is not Vec or qtype != col.t:
            raise QError("type")
        v = raw(item)
        if v != v:
            return np.isnan(col.a)
        return np.asarray(col.a == (np.frombuffer(v, "V16")[0] if qtype == T.G else v))
    key = key_of(item)
    return np.array([key_of(i) == key for i in seq_items(col)], np.bool_)


indexing.FIND.set(find)


def find_value(x: Value, y: Value) -> Value:
    """`x?y` as a value. The first item of a list y determines the depth of the items to search for: if it is a list,
    atoms elsewhere in y are not found in a vector x; if it is an atom, later lists are 'type.
    """
    if x.__class__ is Vec and y.__class__ is List and y.items:
        if depth(y.items[0]) == 0:
            raise QError("type")
        found = [find_value(x, i) for i in y.items]  # also for atoms: one of another type is 'type
        return collapse([f if is_list(i) else len(x) for i, f in zip(y.items, found, strict=True)])
    positions = find(x, y)
    return longs(positions) if positions.__class__ is np.ndarray else positions


# ------------------------------------------------------------------ binary search


def search_sorted(x: Value, y: Value, right: bool) -> Any:
    """`x bin y` (right) or `x binr y`: an int for an atom, an int64 array for a list."""
    one = x.__class__ is Vec and is_atom(y)
    if one:
        y = collapse([y])
    if x.__class__ is Vec and y.__class__ is Vec:
        if x.t != y.t and T.ENUM not in (x.t, y.t):
            raise QError("type")
        a, b = _joint_ranks(x, y)
        at = seek(a, b, right)
        return (int(at[0]) if one else at) - (1 if right else 0)
    if not isinstance(x, List):
        raise QError("type")
    if depth(y) <= 1 and (not len(x) or depth(x.item(0)) >= depth(y)):
        return _bisect(x, y, right)
    return np.array([_bisect(x, i, right) for i in seq_items(y)], np.int64)


def _joint_ranks(x: Vec, y: Vec) -> tuple[Array, Array]:
    """Keys of two vectors in a common order."""
    if x.t in (T.S, T.G, T.ENUM) or y.t == T.ENUM:
        left, right = unenum(x), unenum(y)
        if left.__class__ is not Vec or right.__class__ is not Vec or left.t != right.t:
            raise QError("type")
        keys = sort_keys(Vec(left.t, np.concatenate([left.a, right.a])))
        return keys[: len(x)], keys[len(x) :]
    return sort_keys(x), sort_keys(y)


def _bisect(x: List, y: Value, right: bool) -> int:
    lo, hi = 0, len(x)
    while lo < hi:
        mid = (lo + hi) // 2
        order = compare(x.item(mid), y)
        if order < 0 or (right and order == 0):
            lo = mid + 1
        else:
            hi = mid
    return lo - 1 if right else lo


def search_rows(xs: Sequence[ListValue], ys: Sequence[ListValue], right: bool) -> Array:
    """Binary search by several columns: all but the last must be equal; in the last, the greatest not above (right), or
    the least not below. -1 if no row is found. The last column must be sorted within equal others."""
    x, y = xs[-1], ys[-1]
    count, m = len(x), len(y)
    if not count or not m:
        return np.full(m, -1, np.int64)
    if x.__class__ is Vec and y.__class__ is Vec:
        if x.t != y.t and T.ENUM not in (x.t, y.t):
            raise QError("type")
        last = np.concatenate(_joint_ranks(x, y))
    else:
        last = grade_ranks(List(seq_items(x) + seq_items(y)))
    if len(xs) == 1:
        a, b = last[:count], last[count:]
        at = seek(a, b, right) - (1 if right else 0)
        return np.where(at < count, at, -1)
    _, ids = group_keys(np.concatenate(joint_columns(xs[:-1], ys[:-1])))
    ranks, size = _ordered_dense(last)
    words = ids * size + ranks
    order = grade_keys(ids[:count])
    at = seek(words[:count][order], words[count:], right) - (1 if right else 0)
    found = order[np.clip(at, 0, count - 1)]
    return np.where((at >= 0) & (at < count) & (ids[found] == ids[count:]), found, -1)


indexing.BIN.set(lambda x, y: search_sorted(x, y, True))
indexing.BIN_ROWS.set(search_rows)


def _ordered_dense(keys: Array) -> tuple[Array, int]:
    """Keys as small integers in the same order, and their number."""
    lo, hi = bounds(keys)
    if hi - lo < 1 << 31:
        return keys.astype(np.int64, copy=False) - lo, hi - lo + 1
    order = grade_keys(keys)
    tops = keys[order]
    out = np.zeros(len(keys), np.int64)
    out[order[1:]] = np.cumsum(tops[1:] != tops[:-1])
    return out, int(out.max()) + 1
