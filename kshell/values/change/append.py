"""Items that a vector, list or table accepts: those of its own type, at its end or in place of others."""

from __future__ import annotations

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import (
    Dict,
    EnumAtom,
    List,
    ListValue,
    Table,
    Value,
    Vec,
    atom_t,
    raw,
    seq_items,
    sym_names,
)
from kshell.values.base.narrow import names_in
from kshell.values.items.pick import domain, unenum
from kshell.values.items.search import find


def retype(x: Vec, items: list[Value]) -> Vec:
    """Items as a vector of x's type; 'type if one has another type."""
    if x.t == T.ENUM:
        return Vec(T.ENUM, np.array([enum_code(x, item) for item in items], np.int64), "", x.dom)
    vector = collapse(items)
    if vector.__class__ is not Vec or vector.t != x.t:
        raise QError("type")
    return vector


def enum_code(x: Vec, item: Value) -> int:
    if item.__class__ is EnumAtom and item.dom == x.dom:
        return int(item.v)
    positions = find(domain(x.dom), item)
    if positions >= len(domain(x.dom)):
        raise QError("cast")
    return int(positions)


def append_item(x: ListValue, item: Value) -> ListValue:
    """A list with one more item. A vector stays one: an item of another type is 'type; an empty list may become a
    vector of the item's type."""
    if x.__class__ is Vec:
        qtype = atom_t(item)
        if x.t == T.ENUM:
            return Vec(T.ENUM, np.append(x.a, enum_code(x, item)), "", x.dom)
        if qtype == T.ENUM and x.t == T.S:
            item, qtype = unenum(item), T.S
        if qtype != x.t:
            raise QError("type")
        raw_item = raw(item)
        array = np.frombuffer(raw_item, "V16") if qtype == T.G else np.array([raw_item], x.a.dtype)
        return Vec(qtype, np.concatenate([x.a, array]), "")
    if x.__class__ is Table:
        if item.__class__ is Dict and item.k.__class__ is Vec and item.k.t == T.S:
            if sym_names(item.k) == x.names:
                return append_row(x, item)
        return List([*x.items, item])
    if not len(x):
        return collapse([item])
    result = List([*x.items, item])
    if x.__class__ is List and x.look.__class__ is list:
        result.look, x.look = x.look, 0  # what is known about the existing items stays valid
    return result


def append_row(t: Table, row: Value) -> Table:
    """A table with one more row, from a dictionary by column or a list of items."""
    if row.__class__ is Dict:
        names = names_in(row.k)
        items = seq_items(row.v)
        if set(names) != set(t.names):
            raise QError("mismatch")
        by_name = dict(zip(reversed(names), reversed(items), strict=True))
        items = [by_name[name] for name in t.names]
    else:
        items = seq_items(row)
        if len(items) != len(t.names):
            raise QError("length")
    return Table(
        t.names, [append_item(column, item) for column, item in zip(t.cols, items, strict=True)]
    )
