"""Positions in an array: a path of q indexes as a numpy index, and q values as raw data that fits there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.build import as_nd, regular
from kshell.values.base.core import HOLE, NIL, EnumAtom, Nd, Value, Vec, atom_t, raw
from kshell.values.items.index import list_positions
from kshell.values.items.keys import distinct_keys
from kshell.values.items.pick import domain, unenum
from kshell.values.items.search import find

_INDEX = (T.B, T.X, T.H, T.I, T.J, T.ENUM)
_BIG = 1 << 31


def place(x: Vec | Nd, path: Sequence[Value]) -> tuple[Any, ...] | None:
    """The numpy index for a path into an array, or None if there is none. 'length if out of bounds."""
    array = x.a
    indexes: list[Any] = []
    vectors = 0
    if len(path) > array.ndim:
        return None
    for index, length in zip(path, array.shape, strict=False):
        if index is NIL or index is HOLE:
            indexes.append(np.arange(length))
            vectors += 1
        elif index.__class__ is int or (atom_t(index) in _INDEX):
            position = int(raw(index))
            if not 0 <= position < length:
                raise QError("length")
            indexes.append(position)
        else:
            positions = list_positions(index)
            if positions is None:
                return None
            if len(positions) and not (int(positions.min()) >= 0 and int(positions.max()) < length):
                raise QError("length")
            indexes.append(positions)
            vectors += 1
    if vectors > 1:
        return _mesh(indexes)
    return tuple(indexes)


def _mesh(parts: list[Any]) -> tuple[Any, ...]:
    """Indexes of several axes, made to select every combination."""
    count = sum(part.__class__ is np.ndarray for part in parts)
    indexes, axis = [], 0
    for part in parts:
        if part.__class__ is np.ndarray:
            indexes.append(part.reshape((-1,) + (1,) * (count - 1 - axis)))
            axis += 1
        else:
            indexes.append(part)
    return tuple(indexes)


def single(place: tuple[Any, ...]) -> bool:
    """Does an index select no item twice?"""
    for index in place:
        if index.__class__ is np.ndarray and index.size > 1:
            flat = index.ravel()
            steps = np.diff(flat)
            if not (steps > 0).all() and len(distinct_keys(flat)) < len(flat):
                return False
    return True


def part(x: Vec | Nd, place: tuple[Any, ...]) -> Value:
    """The item or part of an array at an index."""
    array = x.a[place]
    if x.t == T.ENUM and x.__class__ is Vec:
        return Vec(x.t, array, "", x.dom) if array.ndim else EnumAtom(int(array), x.dom)
    return regular(x.t, np.asarray(array))


def block(x: Vec | Nd, place: tuple[Any, ...], y: Value) -> Any:
    """Raw data from y for an index into an array, or None if it does not fit unchanged."""
    qtype = x.t
    atom_type = atom_t(y)
    if qtype == T.ENUM and x.__class__ is Vec:
        return _enum_block(x, y)
    if atom_type:
        # an atom in place of a list would make the array irregular
        if atom_type != qtype or len(place) < x.a.ndim:
            return None
        return np.frombuffer(raw(y), "V16")[0] if qtype == T.G else raw(y)
    data = y if y.__class__ is Vec else as_nd(y)
    if data is None or data.t != qtype:
        return None
    shape = (
        np.broadcast_shapes(*(index.shape for index in place if index.__class__ is np.ndarray))
        + x.a.shape[len(place) :]
    )
    if data.a.shape != shape and all(index.__class__ is int for index in place):
        return None  # one item is replaced, whatever the value
    return _fitted(data.a, shape)


def _fitted(a: np.ndarray, shape: tuple[int, ...]) -> Any:
    """An array of items for a shape: equal, or items for the leading axes, repeated along the others."""
    if a.ndim > len(shape):
        return None
    if a.shape != shape[: a.ndim]:
        if a.shape[:1] != shape[:1]:
            if shape:
                raise QError("length")
        return None
    return a if a.ndim == len(shape) else None


def _enum_block(x: Vec, y: Value) -> Any:
    """Symbols assigned into an enumeration become members of it: 'cast if they are not in its list."""
    if (y.__class__ is EnumAtom or (y.__class__ is Vec and y.t == T.ENUM)) and y.dom == x.dom:
        return y.v if isinstance(y, EnumAtom) else y.a
    if atom_t(y) not in (T.S, T.ENUM) and not (y.__class__ is Vec and y.t in (T.S, T.ENUM)):
        return None
    members = domain(x.dom)
    positions = find(members, unenum(y))
    if np.any(np.asarray(positions) >= len(members)):
        raise QError("cast")
    return positions


def plain_numbers(a: np.ndarray, t: int) -> bool:
    """Numbers that numpy adds like q: no nulls, and integers small enough not to overflow."""
    if not len(a):
        return True
    if t == T.F:
        return not np.isnan(a).any()
    lowest, highest = int(a.min()), int(a.max())
    return (
        (lowest > -_BIG and highest < _BIG)
        if t == T.J
        else lowest > -(1 << 14) and highest < 1 << 14 and t == T.I
    )
