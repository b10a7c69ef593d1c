"""The fields of separated text as places in one array, so that columns are made without an object for each field."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from kshell.store.text import split_fields
from kshell.values.rows import Rows

Array = np.ndarray
_FEW = 16  # rows; less are split as text is
_PART = 1 << 18  # bytes that are searched at once, so that they stay in the processor's cache
_FAR = 64  # bytes between two doubled quotes from which on what stands between is copied piece by piece
_END, _QUOTE = 10, 34


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
    """Rows of fields: `marks` has the places of the separators and line ends, in order. If each row has `width` fields,
    `last` is None, else it says which of the marks is the line end of each row. In the columns `quoted`, or in all if
    that is None, a field that begins with a quote ends with one, and neither belongs to its text."""

    __slots__ = ("data", "last", "marks", "quoted", "raw", "rows", "width")

    def __init__(self, raw: bytes, marks: Array, rows: int) -> None:
        self.raw, self.data, self.marks, self.rows = raw, np.frombuffer(raw, np.uint8), marks, rows
        self.quoted: set[int] | None = set()
        self.width = width = max(len(marks) // rows, 1)
        self.last: Array | None = None
        if len(marks) != rows * width or (self.data[marks[width - 1 :: width]] != _END).any():
            self.last = np.flatnonzero(self.data[marks] == _END)

    def column(self, i: int, first: int = 0, last: int | None = None) -> Rows:
        """Column i from a row on, up to the last row or another; empty where a row has no such field."""
        rows = slice(first, self.rows if last is None else last)
        starts, ends = self._regular(i, rows) if self.last is None else self._ragged(i, rows, self.last)
        sizes = ends - starts
        if self.quoted is None or i in self.quoted:
            inside = (sizes > 1) & (self.data[starts] == _QUOTE)
            starts += inside
            sizes -= 2 * inside
        return Rows(self.raw, starts, sizes, self.data)

    def _regular(self, i: int, rows: slice) -> tuple[Array, Array]:
        width = self.width
        if i >= width:
            nothing = np.zeros(rows.stop - rows.start, np.int64)
            return nothing, nothing.copy()
        low, high = rows.start * width + i, rows.stop * width
        ends = self.marks[low:high:width].astype(np.int64)
        if low:
            return self.marks[low - 1 : high - 1 : width].astype(np.int64) + 1, ends
        starts = np.zeros_like(ends)
        starts[1:] = self.marks[width - 1 : high - 1 : width]
        starts[1:] += 1
        return starts, ends

    def _ragged(self, i: int, rows: slice, last: Array) -> tuple[Array, Array]:
        stop = last[rows]
        at = np.concatenate([[0], last + 1])[rows] + i  # where the mark behind the field is, if it is there
        ends = self.marks[np.minimum(at, stop)].astype(np.int64)
        starts = np.where(at > 0, self.marks[np.minimum(at, stop + 1) - 1].astype(np.int64) + 1, 0)
        return np.where(at <= stop, starts, ends), ends


def fields_of(raw: bytes, sep: bytes, breaks: bool = False) -> Fields | None:
    """The fields of separated text; with `breaks`, a line's end in quotes belongs to its field. None if there are only
    a few rows, or quotes with breaks stand in other places than around fields."""
    if sep in (b"\n", b'"', b"\r"):
        return None
    if b"\r" in raw:
        raw = raw.replace(b"\r\n", b"\n")
    if raw[-1:] != b"\n":
        raw += b"\n"
    if raw.count(b"\n", 0, 1 << 16) < _FEW and raw.count(b"\n") < _FEW:
        return None
    if b'"' in raw:
        return _quoted(raw, sep, breaks)
    marks, rows = _places(raw, sep)
    return Fields(raw, marks, rows)


def _places(raw: bytes, sep: bytes, *others: int) -> tuple[Array, int]:
    """Where separators, line ends and other characters stand, and the number of line ends."""
    data, rows = np.frombuffer(raw, np.uint8), 0
    found, dtype = [], np.int32 if len(raw) < 1 << 31 else np.int64
    for at in range(0, len(data), _PART):
        part = data[at : at + _PART]
        here = part == _END
        rows += int(np.count_nonzero(here))
        for c in (sep[0], *others):
            here |= part == c
        places: Array = np.flatnonzero(here).astype(dtype)
        places += at
        found.append(places)
    return np.concatenate(found), rows


def _quoted(raw: bytes, sep: bytes, breaks: bool) -> Fields | None:
    """The fields of text with quotes. Where each pair of them stands around a field, or is doubled in one, a separator
    behind an odd number of quotes belongs to a field; lines in which that is not so are written in that way first."""
    reader = _Quotes(raw, sep, breaks)
    if not reader.read():
        if breaks:
            return None
        reader = _Quotes(_rewritten(raw, sep), sep, breaks)
        reader.read()
    out = Fields(reader.text(), np.concatenate(reader.found), reader.rows)
    out.quoted = reader.columns(out.width) if out.last is None else None
    return out


class _Quotes:
    """Text with quotes, read in parts: `found` has the places of separators and line ends outside of quotes, as they
    are when the second of two quotes that stand for one is left out."""

    def __init__(self, raw: bytes, sep: bytes, breaks: bool) -> None:
        self.raw, self.data, self.sep, self.breaks = raw, np.frombuffer(raw, np.uint8), sep[0], breaks
        self.found: list[Array] = []
        self.opened: list[Array] = []  # the number of the field of each quote that opens one
        self.pieces: list[Any] = []  # arrays and bytes
        self.rows = self.count = self.removed = 0
        self.inside = self.quote = False  # behind the last mark; was that a quote?
        self.last = -1  # where it stands

    def text(self) -> bytes:
        """The text without the quotes that are left out."""
        return b"".join(self.pieces) if self.removed else self.raw

    def read(self) -> bool:
        """Read it; False if a quote, or a line's end in quotes, stands where it should not."""
        for at in range(0, len(self.data), _PART):
            if not self._part(at, self.data[at : at + _PART]):
                return False
        return not self.inside

    def _part(self, start: int, part: Array) -> bool:
        here = part == _END
        here |= part == self.sep
        here |= part == _QUOTE
        at = np.flatnonzero(here)
        if not len(at):
            self.pieces.append(part)
            return True
        kinds = part[at]
        quote, end = kinds == _QUOTE, kinds == _END
        inside = np.logical_xor.accumulate(quote) ^ self.inside
        near = np.empty(len(at), np.bool_)  # right behind the mark before it
        near[0] = at[0] + start == self.last + 1
        np.equal(at[1:], at[:-1] + 1, out=near[1:])
        opening, behind = quote & inside, np.empty(len(at), np.bool_)
        behind[0], behind[1:] = self.quote, quote[:-1]
        far = ~near & (opening | (behind & ~(quote | inside)))  # opened, or closed, in the middle of a field
        if far.any() or (not self.breaks and (end & inside).any()):
            return False
        real, doubled = ~(quote | inside), opening & near & behind
        self.opened.append(np.cumsum(real)[opening & ~doubled] + self.count)
        self.rows += int(np.count_nonzero(real & end))
        self.count += int(np.count_nonzero(real))
        self._keep(start, part, at, real, doubled)
        self.inside, self.quote, self.last = bool(inside[-1]), bool(quote[-1]), int(at[-1]) + start
        return True

    def _keep(self, start: int, part: Array, at: Array, real: Array, doubled: Array) -> None:
        """Note the places that count, and the text without its doubled quotes."""
        found = at[real] + (start - self.removed)
        if doubled.any():
            found -= np.cumsum(doubled)[real]
            out = at[doubled]
            self.removed += len(out)
            if len(out) * _FAR < len(part):
                raw, out = self.raw, out + start
                starts, ends = [start, *(out + 1).tolist()], [*out.tolist(), start + len(part)]
                self.pieces += [raw[a:b] for a, b in zip(starts, ends, strict=True)]
            else:
                keep = np.ones(len(part), np.bool_)
                keep[out] = False
                self.pieces.append(part[keep])
        else:
            self.pieces.append(part)
        self.found.append(found.astype(np.int32 if len(self.data) < 1 << 31 else np.int64))

    def columns(self, width: int) -> set[int]:
        """The columns with fields in quotes, where each row has so many fields."""
        return set(np.flatnonzero(np.bincount(np.concatenate(self.opened) % width)).tolist())


def _irregular(raw: bytes, sep: bytes) -> tuple[Array, Array]:
    """Where the lines of a text end, and the numbers of those in which quotes do not stand in pairs around fields."""
    marks = _places(raw, sep, _QUOTE)[0]
    kinds = np.frombuffer(raw, np.uint8)[marks]
    quote, ends = kinds == _QUOTE, np.flatnonzero(kinds == _END)
    inside = np.logical_xor.accumulate(quote)
    before = np.concatenate([[False], inside[ends[:-1]]])
    odd = np.flatnonzero(before != inside[ends])
    inside ^= np.repeat(before, np.diff(ends, prepend=-1))  # a line begins outside of quotes
    near = np.diff(marks, prepend=-1) == 1
    behind = np.flatnonzero(quote & ~inside) + 1
    wrong = np.concatenate([np.flatnonzero(quote & inside & ~near), behind[~near[behind]] - 1])
    return marks[ends], np.union1d(odd, np.searchsorted(ends, wrong))


def _rewritten(raw: bytes, sep: bytes) -> bytes:
    """The text with such lines written so that quotes stand around fields, and are doubled in them."""
    ends, lines = _irregular(raw, sep)
    parts, done = [], 0
    starts = np.concatenate([[0], ends[:-1] + 1])
    for start, stop in zip(starts[lines].tolist(), ends[lines].tolist(), strict=True):
        parts.append(raw[done:start])
        parts.append(sep.join([_in_quotes(s, sep) for s in split_fields(raw[start:stop], sep)]))
        done = stop
    return b"".join([*parts, raw[done:]])


def _in_quotes(text: bytes, sep: bytes) -> bytes:
    return b'"' + text.replace(b'"', b'""') + b'"' if b'"' in text or sep in text else text
