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
    """Rows of fields: `marks` has where the separator or line end behind each stands, a row for each column."""

    __slots__ = ("carriage", "data", "marks", "raw")

    def __init__(self, raw: bytes, data: Array, marks: Array, carriage: bool) -> None:
        self.raw, self.data, self.marks, self.carriage = raw, data, marks, carriage

    @property
    def width(self) -> int:
        """The number of columns."""
        return len(self.marks)

    def column(self, i: int, first: int = 0, last: int | None = None) -> Rows:
        """Column i from a row on, up to the last row or another."""
        ends = self.marks[i, first:last]
        if i:
            starts = self.marks[i - 1, first:last] + 1
        else:
            starts = np.empty_like(ends)
            starts[1:] = self.marks[-1, first:last][:-1]
            starts[0] = self.marks[-1, first - 1] if first else -1
            starts += 1
        sizes = ends - starts
        if self.carriage and i == self.width - 1:
            sizes -= (sizes > 0) & (self.data[starts + sizes - 1] == 13)
        return Rows(self.raw, starts, sizes, self.data)


def fields_of(raw: bytes, sep: bytes) -> Fields | None:
    """The fields of separated text, if none is quoted and all rows have as many; else None."""
    if b'"' in raw or sep == b"\n":
        return None
    if raw[-1:] != b"\n":
        raw += b"\n"
    data = np.frombuffer(raw, np.uint8)
    lines = data == 10
    n, first = int(np.count_nonzero(lines)), raw.find(b"\n")
    per = raw.count(sep, 0, first) + 1
    lines |= data == sep[0]
    marks = np.flatnonzero(lines)
    if n < _FEW or len(marks) != n * per or (data[marks[per - 1 :: per]] != 10).any():
        return None
    return Fields(raw, data, np.ascontiguousarray(marks.reshape(n, per).T), raw[first - 1 : first] == b"\r")
