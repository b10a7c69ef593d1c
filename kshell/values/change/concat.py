"""Many values joined end to end: `raze`, and `concat` of any number."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, overload

import numpy as np

from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import (
    Dict,
    EnumAtom,
    List,
    ListValue,
    Nd,
    Table,
    Value,
    Vec,
    flat_list,
)
from kshell.values.base.functions import Handle
from kshell.values.change.join import as_list, join


def raze(x: Value) -> Value:
    """`,/x`: the items of the items in one list."""
    if type(x) is List:
        flat = x.flat
        if flat is not None:
            return Vec(flat.t, flat.a[: int(flat.ends[-1])])
        items = x.items
        if len(items) > 1:
            return concat(items)
        if not items:
            return x
        return items[0] if items[0].__class__ in (Dict, Table) else as_list(items[0])
    if type(x) is Dict:
        return raze(x.v)
    if type(x) is Nd:
        return (
            Vec(x.t, x.a.reshape(-1)) if x.a.ndim == 2 else Nd(x.t, x.a.reshape(-1, *x.a.shape[2:]))
        )
    if type(x) is Vec:
        return x if x.t != T.ENUM or not x.attr else Vec(x.t, x.a, "", x.dom)
    return raze(List(x.items)) if type(x) is Table else as_list(x)


def _end_to_end(arrays: list[np.ndarray]) -> np.ndarray:
    """Arrays of one type concatenated. For many short ones, joining bytes takes half the time."""
    if len(arrays) > 64 and max(map(len, arrays)) < 256:
        return np.frombuffer(
            bytearray().join([array.tobytes() for array in arrays]), arrays[0].dtype
        )
    return np.concatenate(arrays)


def _flats(items: Sequence[List]) -> List | None:
    """Concatenate lists of vectors that are each stored in an array."""
    first = items[0].flat
    if first is None:
        return None
    stored = [item.flat for item in items]
    flats = [flat for flat in stored if flat is not None and flat.t == first.t]
    if len(flats) < len(stored):
        return None
    sizes = [int(flat.ends[-1]) for flat in flats]
    ends = np.concatenate([flat.ends for flat in flats])
    ends += np.repeat(np.cumsum([0, *sizes[:-1]]), list(map(len, items)))
    return flat_list(
        first.t,
        np.concatenate([flat.a[:size] for flat, size in zip(flats, sizes, strict=True)]),
        ends,
    )


def _concat_alike(first: Value, items: Sequence[Value]) -> ListValue | None:
    """Concatenate values of one class: lists, or compatible arrays or tables."""
    if first.__class__ is Vec:
        type_code, domain = first.t, first.dom
        arrays = [i.a for i in items if i.__class__ is Vec and i.t == type_code and i.dom == domain]
        if len(arrays) == len(items):
            return Vec(type_code, _end_to_end(arrays), "", domain)
    elif first.__class__ is List:
        lists = cast("Sequence[List]", items)
        joined = _flats(lists)
        if joined is not None:
            return joined
        flat: list[Value] = []
        for entry in lists:
            flat += entry.items
        return collapse(flat)
    elif first.__class__ is Nd:
        type_code, shape = first.t, first.a.shape[1:]
        arrays = [
            i.a for i in items if i.__class__ is Nd and i.t == type_code and i.a.shape[1:] == shape
        ]
        if len(arrays) == len(items):
            return Nd(type_code, np.concatenate(arrays))
    elif first.__class__ is Table:
        names = first.names
        tables = cast("Sequence[Table]", items)
        columns = [i.cols for i in tables if i.names == names]
        if len(columns) == len(items):
            return Table(
                names, [concat([column[i] for column in columns]) for i in range(len(names))]
            )
        if any(set(i.names) != set(names) for i in tables):
            return collapse([row for table in tables for row in table.items])
    return None


_MAPS = {Dict, Table, EnumAtom}  # with fewer, each is joined separately


@overload
def concat(items: Sequence[ListValue]) -> ListValue: ...
@overload
def concat(items: Sequence[Value]) -> Value: ...
def concat(items: Sequence[Value]) -> Value:
    """Concatenate values."""
    first = items[0]
    classes = set(map(type, items))
    if len(classes) == 1:
        alike = _concat_alike(first, items)
        if alike is not None:
            return alike
    if classes & _MAPS or (
        Vec in classes and any([item.__class__ is Vec and item.t == T.ENUM for item in items])
    ):
        result = first
        for item in items[1:]:
            result = join(result, item)
        return as_list(result) if result.__class__ not in (Dict, Table) else result
    return _of_any_kind(items)


def _of_any_kind(items: Sequence[Value]) -> Value:
    """Concatenate lists and atoms item by item."""
    flat: list[Value] = []
    for item in items:
        if item.__class__ is Vec or isinstance(item, List):
            flat += item.items
        else:
            flat.append(item.number if isinstance(item, Handle) else item)
    if not flat:
        return next((item for item in items if item.__class__ is Vec), List([]))
    return collapse(flat)
