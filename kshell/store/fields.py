"""The fields of separated text as places in one array, so that columns are made without an object for each field."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from kshell.values import types as T
from kshell.values.core import List, Nd, Value, Vec

Array = np.ndarray
_FEW = 16  # rows; less are split as text is
_WIDE = 40  # no number has more characters


@contextmanager
def no_collection() -> Iterator[None]:
    """While inside, the collector of cycles does not look at the many objects that are made."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class Fields:
    """Rows of fields: those of column i are data[starts[:, i] : ends[:, i]]."""

    __slots__ = ("data", "ends", "raw", "starts")

    def __init__(self, raw: bytes, data: Array, starts: Array, ends: Array) -> None:
        self.raw, self.data, self.starts, self.ends = raw, data, starts, ends

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.starts.shape[1])

    def item(self, row: int, i: int) -> bytes:
        return self.raw[self.starts[row, i] : self.ends[row, i]]

    def items(self, i: int, first: int = 0) -> list[bytes]:
        """Column i from a row on, as byte strings."""
        raw = self.raw
        return [raw[a:b] for a, b in zip(self.starts[first:, i].tolist(), self.ends[first:, i].tolist(), strict=True)]

    def matrix(self, i: int, first: int = 0) -> Array | None:
        """Column i from a row on as rows of bytes, zero after the end of each; None if one is too long."""
        starts = self.starts[first:, i]
        sizes = self.ends[first:, i] - starts
        w = int(sizes.max()) if len(sizes) else 0
        if not 0 < w <= _WIDE:
            return None
        out = np.zeros((len(starts), w), np.uint8)
        top = len(self.data) - 1
        short = int(sizes.min()) < w
        for k in range(w):
            np.take(self.data, np.minimum(starts + k, top) if short else starts + k, out=out[:, k])
            if short:
                out[sizes <= k, k] = 0
        return out

    def strings(self, i: int, first: int = 0) -> Value:
        """Column i from a row on as a list of strings."""
        starts, ends = self.starts[first:, i], self.ends[first:, i]
        sizes = ends - starts
        before = np.cumsum(sizes) - sizes
        flat = self.data[np.repeat(starts - before, sizes) + np.arange(int(sizes.sum()))]
        return string_list(flat, sizes)


def string_list(flat: Array, sizes: Array) -> Value:
    """Strings that stand one after the other in an array, by their sizes."""
    n = len(sizes)
    if n > 1 and sizes[0] and (sizes == sizes[0]).all():
        return Nd(T.C, flat.reshape(n, int(sizes[0])))
    ends = np.cumsum(sizes).tolist()
    with no_collection():
        return List([Vec(T.C, flat[a:b]) for a, b in zip([0, *ends[:-1]], ends, strict=True)] if n else [])


def strings_of(items: Sequence[bytes]) -> Value:
    """A list of strings from byte strings."""
    sizes = np.fromiter(map(len, items), np.int64, len(items))
    return string_list(np.frombuffer(b"".join(items), np.uint8), sizes)


def fields_of(raw: bytes, sep: bytes) -> Fields | None:
    """The fields of separated text, if none is quoted and all rows have as many; else None."""
    if b'"' in raw:
        return None
    if raw[-1:] != b"\n":
        raw += b"\n"
    data = np.frombuffer(raw, np.uint8)
    marks = np.flatnonzero((data == sep[0]) | (data == 10))
    first = raw.find(b"\n")
    per = raw.count(sep, 0, first) + 1
    if len(marks) % per or len(marks) // per < _FEW or sep == b"\n":
        return None
    ends = marks.reshape(-1, per)
    if (data[ends[:, -1]] != 10).any() or (data[ends[:, :-1]] != sep[0]).any():
        return None
    starts = np.empty_like(ends)
    starts[:, 1:] = ends[:, :-1] + 1
    starts[1:, 0] = ends[:-1, -1] + 1
    starts[0, 0] = 0
    if first and raw[first - 1 : first] == b"\r":
        ends = ends.copy()
        last = ends[:, -1]
        ends[:, -1] = np.where((last > starts[:, -1]) & (data[last - 1] == 13), last - 1, last)
    return Fields(raw, data, starts, ends)
