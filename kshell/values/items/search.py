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
    runs_of,
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
        raw_item = raw(x)
        if x.__class__ is EnumAtom:
            return qtype, raw_item, x.dom
        return qtype, "0n" if raw_item != raw_item else raw_item
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
        return "p", in_k(x.name), x.t
    if isinstance(x, Foreign):
        return "o", id(x.obj), x.t
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
    strings = string_rows(x) if len(x) > _FEW else None
    grouping = None if strings is None else strings.ids()
    if grouping is not None:
        return grouping[1]
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
    return [key_of(item) for item in x.items]


def row_codes(cols: Sequence[ListValue]) -> Array:
    """Codes of rows: equal where all columns are."""
    result = codes(cols[0])
    for column in cols[1:]:
        result = pair_codes(result, codes(column))
    return result


def pair_codes(a: Array, b: Array) -> Array:
    """Codes of pairs of codes."""
    if not len(a):
        return a
    a, a_size = _narrow(a)
    b, b_size = _narrow(b)
    if a_size * b_size >= 1 << 62:
        a, a_size = _dense(a)
        b, b_size = _dense(b)
    return a * b_size + b


def _narrow(a: Array) -> tuple[Array, int]:
    """Codes starting at zero, and the size of their range."""
    lowest, highest = bounds(a)
    if highest - lowest >= 1 << 40:
        return _dense(a)
    return a.astype(np.int64, copy=False) - lowest, highest - lowest + 1


def _dense(a: Array) -> tuple[Array, int]:
    first, group_ids = group_keys(a)
    return group_ids, len(first)


WHOLE = frozenset({T.H, T.I, T.J})  # integers of these types can match each other


def widened(a: Array, t: int) -> Array:
    """Integers of type t as longs, with the nulls and infinities of longs."""
    if t == T.J:
        return a
    row, array = T.TYPE[t], a.astype(np.int64)
    for small, large in ((row.null, -T.M63), (row.inf, T.LONG_MAX), (-row.inf, -T.LONG_MAX)):
        matches = a == small
        if matches.any():
            array[matches] = large
    return array


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
        combined = int_keys(Vec(T.G, np.concatenate([x.a, y.a])))
        return combined[:count], combined[count:]
    if x.__class__ is Table and y.__class__ is Table:
        if set(x.names) != set(y.names):
            raise QError("mismatch")
        return joint_columns(x.cols, [y.col(name) for name in x.names])
    combined = codes(List(seq_items(x) + seq_items(y)))
    return combined[:count], combined[count:]


def joint_columns(xs: Sequence[ListValue], ys: Sequence[ListValue]) -> tuple[Array, Array]:
    """joint_codes for rows, given as columns."""
    count = len(xs[0])
    result: Array | None = None
    for x, y in zip(xs, ys, strict=True):
        if not len(x) or not len(y):  # nothing can match, whatever the types
            return np.arange(count), np.arange(count, count + len(y))
        combined = np.concatenate(joint_codes(x, y))
        result = combined if result is None else pair_codes(result, combined)
    assert result is not None
    return result[:count], result[count:]


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
            return found_value([find(x, item) for item in y.items])
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
    array, wanted = x.a, row.a
    if x.t in T.FLOATS:
        array, wanted = float_keys(array), float_keys(wanted)
    return find_one((array == wanted).reshape(len(array), -1).all(1), True)


_SCANNED = 8  # shorter lists are scanned each time


def _find_one(x: List, y: Value) -> int:
    """The first item of a general list that matches y. A list that is searched repeatedly gets a dictionary."""
    items, key = x.items, key_of(y)
    count, look = len(items), x.look
    if look.__class__ is not list and count >= _SCANNED:
        x.look = look = look + 1 if look < 2 else [0, {}]  # type: ignore[operator]
    if look.__class__ is list:
        known = look[1]
        for index in range(look[0], count):
            known.setdefault(key_of(items[index]), index)
        look[0] = count
        return known.get(key, count)
    if y.__class__ is Vec:
        qtype, size = y.t, len(y.a)
        for index, item in enumerate(items):
            if item.__class__ is Vec and item.t == qtype and len(item.a) == size:
                if key_of(item) == key:
                    return index
        return count
    any_list = isinstance(y, List)
    for index, item in enumerate(items):
        if (item.__class__ is y.__class__ or any_list) and key_of(item) == key:
            return index
    return count


def _find_items(x: List, y: ListValue) -> Array:
    if len(x) * len(y) <= 64:
        keys = [key_of(i) for i in x.items]
        return np.array(
            [keys.index(key) if key in keys else len(keys) for key in map(key_of, seq_items(y))],
            np.int64,
        )
    rows: Iterable[Hashable]
    wanted: Iterable[Hashable]
    if x.__class__ is Nd and y.__class__ is Nd and x.t == y.t and x.a.shape[1:] == y.a.shape[1:]:
        rows, wanted = _item_keys(x), _item_keys(y)
    elif (strings := string_rows(x)) and (wanted_strings := string_rows(y)):
        rows, wanted = strings.items(), wanted_strings.items()
    else:
        rows, wanted = map(key_of, x.items), map(key_of, y.items)
    known: dict[Hashable, int] = {}
    for i, key in enumerate(rows):
        known.setdefault(key, i)
    count = len(x)
    return np.array([known.get(key, count) for key in wanted], np.int64)


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
            raw_item = raw(y)
            return place_one(x, raw_item) if raw_item == raw_item else find_one(np.isnan(x.a), True)
        if qtype == T.G:
            return find_one(x.a, np.frombuffer(raw(y), "V16")[0])
        return place_one(x, raw(y))
    if y.__class__ is Vec:
        if not len(y.a):
            return np.zeros(0, np.int64)
        return find_keys(*joint_codes(x, y))
    if y.__class__ is Nd and y.t == x.t:
        positions = find_keys(*joint_codes(x, Vec(y.t, y.a.ravel())))
        return Nd(T.J, positions.reshape(y.a.shape))
    if isinstance(y, List):
        return found_value([find(x, item) for item in y.items])
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
        by_name = dict(zip(reversed(names), reversed(items), strict=True))
        return find_row(x, [by_name[name] for name in x.names])
    if is_atom(y) and len(x.names) == 1:
        return find_row(x, [y])
    if not is_list(y) or len(y) != len(x.names):
        raise QError("length" if is_list(y) else "type")
    items = seq_items(y)
    if all(is_atom(item) for item in items):
        return find_row(x, items)
    columns = [
        item if is_list(item) else collapse([item] * max(map(len, filter(is_list, items))))
        for item in items
    ]
    return find_keys(*joint_columns(x.cols, columns))


def find_row(x: Table, items: Sequence[Value]) -> int:
    """The first row of a table with these items."""
    raw_items = raw_row(x, items)
    if raw_items is not None:
        first_column = x.cols[0]
        if len(raw_items) == 1 and first_column.__class__ is Vec:
            return place_one(first_column, raw_items[0])
        return place_row(x, raw_items)
    matches = np.ones(len(x), np.bool_)
    for column, item in zip(x.cols, items, strict=True):
        remaining = np.flatnonzero(matches)
        if not len(remaining):
            break
        matches &= equal_mask(column, item)
    positions = np.flatnonzero(matches)
    return int(positions[0]) if len(positions) else len(x)


def raw_row(x: Table, items: Sequence[Value]) -> tuple[Any, ...] | None:
    """Items as the raw items of a row, if the columns are vectors of their types and nothing else needs comparing."""
    raw_items = []
    for column, item in zip(x.cols, items, strict=True):
        if column.__class__ is not Vec or column.t in (T.G, T.ENUM) or atom_t(item) != column.t:
            return None
        raw_item = raw(item)
        if raw_item != raw_item:
            return None
        raw_items.append(raw_item)
    return tuple(raw_items) or None


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
        raw_item = raw(item)
        if raw_item != raw_item:
            return np.isnan(col.a)
        return np.asarray(
            col.a == (np.frombuffer(raw_item, "V16")[0] if qtype == T.G else raw_item)
        )
    key = key_of(item)
    return np.array([key_of(element) == key for element in seq_items(col)], np.bool_)


indexing.FIND.set(find)


def find_value(x: Value, y: Value) -> Value:
    """`x?y` as a value. The first item of a list y determines the depth of the items to search for: if it is a list,
    atoms elsewhere in y are not found in a vector x; if it is an atom, later lists are 'type.
    """
    if x.__class__ is Vec and y.__class__ is List and y.items:
        if depth(y.items[0]) == 0:
            raise QError("type")
        # also for atoms: one of another type is 'type
        results = [find_value(x, item) for item in y.items]
        return collapse(
            [
                result if is_list(item) else len(x)
                for item, result in zip(y.items, results, strict=True)
            ]
        )
    positions = find(x, y)
    return longs(positions) if positions.__class__ is np.ndarray else positions


# ------------------------------------------------------------------ binary search


def search_sorted(x: Value, y: Value, right: bool) -> Any:
    """`x bin y` (right) or `x binr y`: an int for an atom, an int64 array for a list."""
    is_single = x.__class__ is Vec and is_atom(y)
    if is_single:
        y = collapse([y])
    if x.__class__ is Vec and y.__class__ is Vec:
        if x.t != y.t and T.ENUM not in (x.t, y.t):
            raise QError("type")
        keys, wanted = _joint_ranks(x, y)
        positions = seek(keys, wanted, right)
        return (int(positions[0]) if is_single else positions) - (1 if right else 0)
    if not isinstance(x, List):
        raise QError("type")
    if depth(y) <= 1 and (not len(x) or depth(x.item(0)) >= depth(y)):
        return _bisect(x, y, right)
    return np.array([_bisect(x, item, right) for item in seq_items(y)], np.int64)


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
    lower, upper = 0, len(x)
    while lower < upper:
        middle = (lower + upper) // 2
        order = compare(x.item(middle), y)
        if order < 0 or (right and order == 0):
            lower = middle + 1
        else:
            upper = middle
    return lower - 1 if right else lower


def search_rows(xs: Sequence[ListValue], ys: Sequence[ListValue], right: bool) -> Array:
    """Binary search by several columns: all but the last must be equal; in the last, the greatest not above (right), or
    the least not below. -1 if no row is found. The last column must be sorted within equal others."""
    x, y = xs[-1], ys[-1]
    count, y_count = len(x), len(y)
    if not count or not y_count:
        return np.full(y_count, -1, np.int64)
    if x.__class__ is Vec and y.__class__ is Vec:
        if x.t != y.t and T.ENUM not in (x.t, y.t):
            raise QError("type")
        last_keys = np.concatenate(_joint_ranks(x, y))
    else:
        last_keys = grade_ranks(List(seq_items(x) + seq_items(y)))
    if len(xs) == 1:
        sorted_keys, needles = last_keys[:count], last_keys[count:]
        positions = seek(sorted_keys, needles, right) - (1 if right else 0)
        return np.where(positions < count, positions, -1)
    ranks, size = _ordered_dense(last_keys)
    columns = joint_columns(xs[:-1], ys[:-1])
    runs = runs_of(*columns) if columns[0].dtype.kind in "iu" else None
    if runs is not None:
        x_ids, y_ids = runs
        positions = seek(x_ids * size + ranks[:count], y_ids * size + ranks[count:], right)
        positions -= 1 if right else 0
        at = np.clip(positions, 0, count - 1)
        return np.where((positions == at) & (x_ids[at] == y_ids), at, -1)
    _, group_ids = group_keys(np.concatenate(columns))
    words = group_ids * size + ranks
    order = grade_keys(group_ids[:count])
    positions = seek(words[:count][order], words[count:], right) - (1 if right else 0)
    matches = order[np.clip(positions, 0, count - 1)]
    return np.where(
        (positions >= 0) & (positions < count) & (group_ids[matches] == group_ids[count:]),
        matches,
        -1,
    )


indexing.BIN.set(lambda x, y: search_sorted(x, y, True))
indexing.BIN_ROWS.set(search_rows)


def _ordered_dense(keys: Array) -> tuple[Array, int]:
    """Keys as small integers in the same order, and their number."""
    lowest, highest = bounds(keys)
    if highest - lowest < 1 << 31:
        return keys.astype(np.int64, copy=False) - lowest, highest - lowest + 1
    order = grade_keys(keys)
    sorted_keys = keys[order]
    ranks = np.zeros(len(keys), np.int64)
    ranks[order[1:]] = np.cumsum(sorted_keys[1:] != sorted_keys[:-1])
    return ranks, int(ranks.max()) + 1
