"""Join, `x,y`: lists, dictionaries (the right one's items win) and tables; and `x,:y`, which keeps the type of x."""

from __future__ import annotations

from typing import TypeGuard, overload

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.build import as_nd, collapse, empty
from kshell.values.base.core import (
    AtomValue,
    Dict,
    EnumAtom,
    List,
    ListValue,
    Nd,
    Table,
    Value,
    Vec,
    atom_t,
    flat_list,
    is_list,
    raw,
    seq_items,
)
from kshell.values.base.functions import Handle
from kshell.values.engine.cast import convert, widen
from kshell.values.items.keys import distinct_keys
from kshell.values.items.order import is_sorted
from kshell.values.items.pick import domain, take_at, unenum
from kshell.values.items.search import codes, find


@overload
def join(x: Dict, y: Dict) -> Dict: ...
@overload
def join(x: ListValue, y: AtomValue | ListValue) -> ListValue: ...
@overload
def join(x: Value, y: Value) -> Value: ...
def join(x: Value, y: Value) -> Value:
    """`x,y`."""
    if x.__class__ is Vec and x.t != T.ENUM:
        qtype = x.t
        if y.__class__ is Vec:
            if y.t == qtype:
                return Vec(qtype, np.concatenate((x.a, y.a)))
        elif atom_t(y) == qtype:
            return Vec(qtype, np.concatenate((x.a, raw_array(y, qtype))))
    elif y.__class__ is Vec and y.t != T.ENUM and atom_t(x) == y.t:
        return Vec(y.t, np.concatenate((raw_array(x, y.t), y.a)))
    elif (qtype := atom_t(x)) and qtype == atom_t(y) and qtype not in (T.G, T.ENUM):
        return Vec(qtype, np.array((raw(x), raw(y)), T.DTYPE[qtype]))
    if x.__class__ is Table or x.__class__ is Dict or y.__class__ is Table or y.__class__ is Dict:
        return _join_maps(x, y)
    if _enum_type(x) or _enum_type(y):
        return _join_enums(x, y)
    if isinstance(x, List) and isinstance(y, List):
        joined = _join_arrays(x, y)
        if joined is not None:
            return joined
    if isinstance(x, Handle) and isinstance(y, Handle):
        return List([x.number, y.number])  # each is a list of one number, which is not a vector
    x, y = as_list(x), as_list(y)
    if not len(y) and (len(x) or x.__class__ is Vec):
        return x
    if not len(x):
        return y
    return collapse(x.items + y.items)


def as_list(x: Value) -> ListValue:
    """A list unchanged; anything else as a one-item list. For a handle, its number."""
    if x.__class__ is Vec or isinstance(x, List):
        return x
    return collapse([x.number]) if isinstance(x, Handle) else collapse([x])


def raw_array(x: Value, t: int) -> np.ndarray:
    """An atom of type t as a raw array of one item."""
    return np.frombuffer(raw(x), "V16") if t == T.G else np.array([raw(x)], T.DTYPE[t])


def _join_arrays(x: List, y: List) -> List | None:
    if x.__class__ is not Nd and y.__class__ is not Nd:
        x_flat, y_flat = x.flat, y.flat
        if x_flat is None or y_flat is None or x_flat.t != y_flat.t:
            return None
        end = int(x_flat.ends[-1])
        return flat_list(
            x_flat.t,
            np.concatenate((x_flat.a[:end], y_flat.a)),
            np.concatenate((x_flat.ends, y_flat.ends + end)),
        )
    left, right = as_nd(x), as_nd(y)
    if left is None or right is None or left.t != right.t or left.a.shape[1:] != right.a.shape[1:]:
        return None
    return Nd(left.t, np.concatenate((left.a, right.a)))


def _enum_type(x: Value) -> TypeGuard[Vec | EnumAtom]:
    return x.__class__ is EnumAtom or (x.__class__ is Vec and x.t == T.ENUM)


def _join_enums(x: Value, y: Value) -> Value:
    """Members of one enumeration stay enumerated; else vectors become symbols, and two atoms are unchanged."""
    if _enum_type(x) and _enum_type(y) and x.dom == y.dom:
        return _join_members(x, y)
    if isinstance(x, List) or isinstance(y, List):
        return collapse(as_list(x).items + as_list(y).items) if len(as_list(x)) else as_list(y)
    if x.__class__ is Vec or y.__class__ is Vec:
        return join(unenum(x), unenum(y))
    return List([x, y])


def _join_members(x: Vec | EnumAtom, y: Vec | EnumAtom) -> Vec:
    """Members of the same enumeration."""
    arrays = [
        np.array([member.v], np.int64) if isinstance(member, EnumAtom) else member.a
        for member in (x, y)
    ]
    return Vec(T.ENUM, np.concatenate(arrays), "", x.dom)


# ------------------------------------------------------------------ dictionaries and tables


@overload
def _join_maps(x: ListValue, y: ListValue) -> ListValue: ...
@overload
def _join_maps(x: Value, y: Value) -> Value: ...
def _join_maps(x: Value, y: Value) -> Value:
    if x.__class__ is Dict and x.keyed:
        if y.__class__ is Table or (y.__class__ is Dict and not y.keyed):
            return _append_dict(x, y) if len(y) else x
    if x.__class__ is Dict and y.__class__ is Dict:
        return join_dicts(x, y)
    if x.__class__ is Table and y.__class__ is Table:
        return join_tables(x, y)
    if x.__class__ is Table and y.__class__ is Dict and not y.keyed:
        return join_tables(x, row_table(y))
    if y.__class__ is Table and x.__class__ is Dict and not x.keyed:
        return join_tables(row_table(x), y)
    if x.__class__ is Dict or y.__class__ is Dict:
        if is_list(x) and not len(x):
            return y
        if is_list(y) and not len(y):
            return x
        if isinstance(x, List):
            return collapse([*x.items, y])
        raise QError("type")
    left = x if x.__class__ is Table else as_list(x)
    right = y if y.__class__ is Table else as_list(y)
    if not len(left) and left.__class__ is not Table:
        return right
    return collapse(left.items + right.items) if len(right) else left


def row_table(d: Dict) -> Table:
    """The one-row table for a dictionary with symbol keys."""
    table = collapse([d])
    if table.__class__ is not Table:
        raise QError("type")
    return table


def join_tables(x: Table, y: Table) -> Table:
    """The rows of x, then those of y, with columns matched by name."""
    if x.names == y.names:
        return Table(x.names, list(map(join, x.cols, y.cols)))
    if set(x.names) != set(y.names):
        raise QError("mismatch")
    return Table(
        x.names, [join(column, y.col(name)) for name, column in zip(x.names, x.cols, strict=True)]
    )


def join_dicts(x: Dict, y: Dict, strict: bool = False) -> Dict:
    """x updated with the items of y: those with a key of x replace its value, others are appended. `strict` keeps the
    type of x's values: 'type for others."""
    if x.keyed != y.keyed and len(x) and len(y):
        raise QError("type")
    if not len(x.k) and not x.keyed and not (strict and x.v.__class__ is Vec):
        if len(codes(y.k)) == len(distinct_keys(codes(y.k))):
            return Dict(grown(x.k, y.k) if strict else y.k, y.v)
    x_values, y_values = x.v, y.v
    if x_values.__class__ is Table and y_values.__class__ is Table and x.keyed and y.keyed:
        if x_values.names != y_values.names:
            if set(x_values.names) != set(y_values.names):
                raise QError("mismatch")
            y = Dict(y.k, Table(x_values.names, [y_values.col(name) for name in x_values.names]))
    positions, missing = place_keys(x.k, y.k)
    values = x.v
    if len(missing):
        missing_values = take_at(y.v, missing)
        values = (
            append(values, missing_values)
            if strict and (x.keyed or values.__class__ is Vec)
            else join_columns(values, missing_values)
        )
    keys = join_columns(x.k, take_at(y.k, missing)) if len(missing) else x.k
    return Dict(grown(x.k, keys) if strict else keys, scatter(values, positions, y.v, strict))


def grown(old: ListValue, new: ListValue) -> ListValue:
    """`new`, which is `old` with missing keys added, with the attribute of `old` if that is u or g."""
    if (
        old.__class__ is not Vec
        or old.attr not in ("u", "g")
        or new.__class__ is not Vec
        or new.t != old.t
    ):
        return new
    return Vec(new.t, new.a, old.attr, new.dom)


def join_columns(x: ListValue, y: ListValue) -> ListValue:
    """Lists, or tables of keys or values, concatenated: an item of y stays one item, even if it is a list."""
    if x.__class__ is Table or y.__class__ is Table:
        return _join_maps(x, y)
    return (
        join(x, y)
        if not isinstance(y, List) or y.__class__ is Nd
        else collapse(as_list(x).items + y.items)
    )


def place_keys(x: ListValue, y: ListValue) -> tuple[np.ndarray, np.ndarray]:
    """The positions of y's items in x extended by the missing ones, and which items of y those are."""
    count = len(x)
    if x.__class__ is Vec and y.__class__ is Vec and x.t != y.t and T.ENUM not in (x.t, y.t):
        positions = np.full(len(y), count)
    else:
        positions = _found(x, y)
    missing = np.flatnonzero(positions == count)
    if not len(missing):
        return positions, missing
    keys = codes(take_at(y, missing))
    first = distinct_keys(keys)
    positions = positions.copy()
    order = np.argsort(keys[first], kind="stable")
    positions[missing] = count + order[np.searchsorted(keys[first][order], keys)]
    return positions, missing[first]


def _found(x: ListValue, y: ListValue) -> np.ndarray:
    if not len(x):
        return np.zeros(len(y), np.int64)
    positions = find(x, y)
    if positions.__class__ is np.ndarray and len(positions) == len(y):
        return positions
    return np.array([find(x, item) for item in seq_items(y)], np.int64)


def scatter(x: ListValue, at: np.ndarray, y: ListValue, strict: bool = False) -> ListValue:
    """A list (or table) with the items of y at positions; if they repeat, the last one counts. Items that are not rows
    of the table turn it into a list."""
    if x.__class__ is Table and y.__class__ is Table and set(x.names) == set(y.names):
        return Table(
            x.names,
            [
                scatter(column, at, y.col(name), strict)
                for name, column in zip(x.names, x.cols, strict=True)
            ],
        )
    if x.__class__ is Vec and y.__class__ is Vec and x.t == y.t and x.dom == y.dom:
        array = x.a.copy()
        array[at] = y.a
        return Vec(x.t, array, "", x.dom)
    if strict and x.__class__ is Vec and len(at):
        raise QError("type")
    items = list(x.items)
    for position, item in zip(at.tolist(), seq_items(y), strict=True):
        items[position] = item
    return collapse(items)


# ------------------------------------------------------------------ in place


@overload
def append(x: Vec, y: Value) -> Vec: ...
@overload
def append(x: Table, y: Value) -> Table: ...
@overload
def append(x: Dict, y: Value) -> Dict: ...
@overload
def append(x: ListValue, y: ListValue) -> ListValue: ...
@overload
def append(x: Value, y: Value) -> Value: ...
def append(x: Value, y: Value) -> Value:
    """`x,:y`: a vector only accepts items of its type, an enumeration only members; a table accepts rows (lists,
    dictionaries, tables; missing columns become null); a list may accept another as one item (`as_item`). An atom is
    joined, so `x,:()` makes a list of it."""
    if x.__class__ is Vec:
        if x.t == T.ENUM:
            return _append_enum(x, y)
        result = join(x, unenum(y) if x.t == T.S else y)
        if result.__class__ is not Vec or result.t != x.t:
            raise QError("type")
        if x.attr and result is not x:
            result.attr = _kept(x, result)
        return result
    if x.__class__ is Table or x.__class__ is Dict:
        if is_list(y) and not len(y):
            return x
        return _append_rows(x, y) if type(x) is Table else _append_dict(x, y)
    if isinstance(x, List) and as_item(x, y):
        return collapse([*x.items, y])
    return join(x, y)


def as_item(x: List, y: Value) -> bool:
    """Does `x,:y` append y as one item? Yes if x is deeper than y by one, judging from the first items: a list of
    vectors accepts a vector this way. Not for `()`, which appends nothing."""
    return (
        len(x) > 0
        and (y.__class__ is Vec or isinstance(y, Handle) or (isinstance(y, List) and len(y) > 0))
        and _depth(x.item(0)) == _depth(y)
    )


def _depth(x: Value) -> int:
    """The depth of x judging from first items: 0 for an atom, 1 for a vector and a handle (a list of one number)."""
    depth = 0
    while isinstance(x, List) and x.__class__ is not Nd and len(x):
        x = x.item(0)
        depth += 1
    return depth + (
        x.a.ndim
        if x.__class__ is Nd
        else 1
        if x.__class__ is Vec or isinstance(x, List | Handle)
        else 0
    )


def _kept(x: Vec, out: Vec) -> str:
    """The attribute that x keeps when it grows to `out`: g; s and u, if they still hold; never p."""
    attribute, count = x.attr, len(x.a)
    tail = Vec(out.t, out.a[max(count - 1, 0) :], "", out.dom)
    if attribute == "g" or (attribute == "s" and is_sorted(tail)):
        return attribute
    if attribute == "u":
        added = Vec(out.t, out.a[count:], "", out.dom)
        if (
            len(distinct_keys(codes(added))) == len(added.a)
            and (np.asarray(find(x, added)) == count).all()
        ):
            return attribute
    return ""


def _append_enum(x: Vec, y: Value) -> Vec:
    if _enum_type(y) and y.dom == x.dom:
        return _join_members(x, y)
    if is_list(y) and not len(y):
        return x
    members = domain(x.dom)
    positions = np.atleast_1d(np.asarray(find(members, unenum(y)), np.int64))
    if (positions >= len(members)).any():
        raise QError("cast")
    return Vec(T.ENUM, np.concatenate((x.a, positions)), "", x.dom)


def _append_rows(t: Table, y: Value) -> Table:
    incoming = as_rows(y, t.names)
    count = len(incoming)
    columns: list[ListValue] = []
    for name, column in zip(t.names, t.cols, strict=True):
        if incoming.has(name):
            if not len(column) and _longs_for(column, incoming.col(name)):
                column = empty(T.J)
            columns.append(
                append(column, incoming.col(name))
                if column.__class__ is Vec
                else join_columns(column, incoming.col(name))
            )
        else:
            columns.append(join_columns(column, _nulls(column, count)))
    return Table(t.names, columns)


def first_rows(t: Table, more: Table) -> Table:
    """Rows that `insert` or `upsert` puts in a table; if it has none yet, longs for its int and short columns are
    converted, if they fit. (By `,:` such a column becomes one of longs, as a join with an empty list does.)"""
    if len(t):
        return more
    return Table(
        more.names,
        [
            _narrowed(column, t.col(name))
            for name, column in zip(more.names, more.cols, strict=True)
        ],
    )


def _narrowed(x: ListValue, like: ListValue) -> ListValue:
    if not _longs_for(like, x) or x.__class__ is not Vec or like.__class__ is not Vec:
        return x
    array = convert(x.a, T.J, like.t)
    return Vec(like.t, array) if (widen(array, like.t, T.J) == x.a).all() else x


def _longs_for(like: ListValue, x: ListValue) -> bool:
    """Are the items x longs, and those of `like` ints or shorts?"""
    return x.__class__ is Vec and x.t == T.J and like.__class__ is Vec and like.t in (T.H, T.I)


def _nulls(col: ListValue, n: int) -> ListValue:
    return take_at(
        col if len(col) else empty(col.t) if col.__class__ is Vec else col, np.full(n, -1, np.int64)
    )


def as_rows(y: Value, names: list[str]) -> Table:
    """Rows given as a table, a dictionary, one record or a list of records, as a table with some of these columns."""
    if y.__class__ is Dict:
        y = y.unkeyed if y.keyed else row_table(y)
    if y.__class__ is Table:
        if not set(y.names) <= set(names):
            raise QError("mismatch")
        return y
    items = seq_items(y)
    nested = (
        bool(items)
        and all(is_list(i) and len(i) == len(names) for i in items)
        and (
            y.__class__ is Nd
            or len(items) != len(names)
            or all(i.__class__ is Vec or isinstance(i, List) for i in items)
        )
    )
    rows = [seq_items(i) for i in items] if nested else [items]
    if any(len(row) != len(names) for row in rows):
        raise QError("length")
    return Table(names, [collapse([row[i] for row in rows]) for i in range(len(names))])


def _append_dict(x: Dict, y: Value) -> Dict:
    if not x.keyed:
        if y.__class__ is not Dict:
            raise QError("type")
        return join_dicts(x, y, strict=True)
    keys, values = x.tables
    all_rows = x.unkeyed
    incoming = as_rows(y, all_rows.names)
    if not set(keys.names) <= set(incoming.names):
        raise QError("mismatch")
    incoming = first_rows(all_rows, incoming)
    positions, missing = place_keys(
        keys, Table(keys.names, [incoming.col(name) for name in keys.names])
    )
    keys = Table(
        keys.names,
        [
            append(column, take_at(incoming.col(name), missing))
            for name, column in zip(keys.names, keys.cols, strict=True)
        ],
    )
    columns = []
    for name, target in zip(values.names, values.cols, strict=True):
        target = join_columns(target, _nulls(target, len(missing))) if len(missing) else target
        columns.append(
            scatter(target, positions, incoming.col(name), strict=True)
            if incoming.has(name)
            else target
        )
    return Dict(keys, Table(values.names, columns))
