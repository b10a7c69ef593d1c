"""The fields of separated text as places in one array, so that columns are made without an object for each field."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from kshell.values.rows import Rows

Array = np.ndarray
_FEW = 16  # rows; less are split as text is


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

    @property
    def width(self) -> int:
        """The number of columns."""
        return int(self.starts.shape[1])

    def item(self, row: int, i: int) -> bytes:
        return self.raw[self.starts[row, i] : self.ends[row, i]]

    def column(self, i: int, first: int = 0) -> Rows:
        """Column i from a row on."""
        starts = np.ascontiguousarray(self.starts[first:, i])
        return Rows(self.raw, starts, self.ends[first:, i] - starts, self.data)


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
    if ((data[marks] == 10).reshape(-1, per) != (np.arange(per) == per - 1)).any():
        return None
    ends = marks.reshape(-1, per)
    starts = np.empty_like(ends)
    starts[0, 0] = 0
    np.add(marks[:-1], 1, out=starts.reshape(-1)[1:])
    if first and raw[first - 1 : first] == b"\r":
        ends = ends.copy()
        last = ends[:, -1]
        ends[:, -1] = np.where((last > starts[:, -1]) & (data[last - 1] == 13), last - 1, last)
    return Fields(raw, data, starts, ends)
