"""The items of a list in one array: atoms or vectors of one type, for vectorized work."""

from __future__ import annotations

from typing import cast

import numpy as np

from kshell.values.base import types as T
from kshell.values.base.core import Flat, List, Nd, Value, Vec, flat_list
from kshell.values.session.context import worker

Array = np.ndarray
_ROOM = 256  # average vector length up to which vectors go into one array; longer ones are as fast separately


class Part:
    """The items of a list that is many: type `t`, all values in one array `a`, n items. `m` is -1 for atoms, the common
    length of the vectors, or None: then `ends` has the end offset of each vector."""

    __slots__ = ("_ids", "_sizes", "a", "ends", "m", "n", "t")

    def __init__(self, t: int, a: Array, n: int, m: int | None, ends: Array | None = None) -> None:
        self.t, self.a, self.n, self.m, self.ends = t, a, n, m, ends
        self._ids: Array | None = None
        self._sizes: Array | None = None

    @property
    def sizes(self) -> Array:
        if self.m is not None:
            return np.full(self.n, abs(self.m))
        if self._sizes is None:
            self._sizes = sizes_of(self.ends)  # type: ignore[arg-type]
        return self._sizes

    @property
    def starts(self) -> Array:
        if self.m is None:
            starts = np.zeros_like(self.ends)
            starts[1:] = self.ends[:-1]  # type: ignore[index]
            return starts
        return np.arange(self.n) * abs(self.m)

    @property
    def ids(self) -> Array:
        """The item that each value belongs to."""
        if self._ids is None:
            self._ids = np.repeat(np.arange(self.n), self.sizes if self.m is None else abs(self.m))
        return self._ids

    def vector(self) -> Vec:
        return Vec(self.t, self.a)

    def value(self) -> Vec | List:
        return self.vector() if self.m == -1 else rows(self.t, self.a, self.n, self.m, self.ends)

    def alike(self, other: Part) -> bool:
        """Do corresponding vectors in both have the same length?"""
        if self.m is None or other.m is None:
            return self.m is None and other.m is None and np.array_equal(self.ends, other.ends)  # type: ignore[arg-type]
        return self.m == other.m

    def spread(self, shape: Part) -> Array:
        """Atoms, each repeated for every value of the corresponding vector in another."""
        return np.repeat(self.a, shape.sizes if shape.m is None else shape.m)

    def filled(self, v: Value) -> Vec | List | None:
        """The list of items with this shape and the values v."""
        if v.__class__ is not Vec or len(v.a) != len(self.a) or (v.t == T.ENUM and self.m != -1):
            return None
        return v if self.m == -1 else rows(v.t, v.a, self.n, self.m, self.ends)


def sizes_of(ends: Array) -> Array:
    """The lengths of vectors from their end offsets."""
    sizes = ends.copy()
    sizes[1:] -= ends[:-1]
    return sizes


def part(x: Value) -> Part | None:
    """The items of a list, if they are atoms or vectors of one type."""
    if x.__class__ is Vec:
        return None if x.t in (T.G, T.ENUM) else Part(x.t, x.a, len(x.a), -1)
    if x.__class__ is Nd:
        return Part(x.t, x.a.reshape(-1), len(x.a), x.a.shape[1]) if x.a.ndim == 2 else None
    if x.__class__ is not List:
        return None
    flat = x.flat
    if flat is not None:
        return None if flat.t in (T.G, T.ENUM) else Part(flat.t, flat.a, len(flat), None, flat.ends)
    items = cast("list[Vec]", x.items)
    if set(map(type, items)) != {Vec}:
        return None
    qtype = items[0].t
    if qtype in (T.G, T.ENUM) or any([item.t != qtype for item in items]):
        return None
    arrays = [item.a for item in items]
    ends = np.cumsum(np.fromiter(map(len, arrays), np.int64, len(arrays)))
    if ends[-1] > _ROOM * len(items):
        return None
    array = np.concatenate(arrays)
    # stored this way from now on; not while threads may be reading it
    if worker() is None and not any([item.attr for item in items]):
        x.flat = Flat(qtype, array, ends)
        del x.items
    return Part(qtype, array, len(arrays), None, ends)


def rows(t: int, a: Array, n: int, m: int | None, ends: Array | None = None) -> List:
    """The list of n vectors stored in an array: each of length m, or with end offsets."""
    if m is None and ends is not None:
        length = int(ends[0])
        if not length or length * n != len(a) or (np.diff(ends) != length).any():
            return flat_list(t, a, ends)
        m = length
    if not m:
        return flat_list(t, a, np.zeros(n, np.int64))
    return Nd(t, a.reshape(n, m))


def ragged(t: int, a: Array, sizes: Array) -> List:
    """The list of vectors of given sizes stored in an array."""
    return rows(t, a, len(sizes), None, np.cumsum(sizes))


def places(starts: Array, sizes: Array) -> Array:
    """The positions of vectors with given sizes and start offsets in an array, one vector after the other."""
    ends = np.cumsum(sizes)
    return np.repeat(starts - (ends - sizes), sizes) + np.arange(int(ends[-1]))
