"""The fields of delimited text as offsets in one array, so that columns are created without an object per field."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from kshell.store.text import split_fields
from kshell.values.items.rows import Rows

Array = np.ndarray
_FEW = 16  # minimum number of rows; shorter text is split as text
_PART = 1 << 18  # bytes searched at a time, so that they stay in the cache
_END, _QUOTE = 10, 34


@contextmanager
def no_collection() -> Iterator[None]:
    """Inside, the garbage collector does not scan the many new objects."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


class Fields:
    """Rows of fields: `marks` has the offsets of separators and line ends, in order. If each row has `width` fields,
    `last` is None, else it gives the mark that ends each row. In the columns `quoted`, or in all if that is None, a
    field that begins with a quote ends with one, and neither belongs to its text. Fields in `singled` have their text
    there."""

    __slots__ = (
        "block",
        "data",
        "ends",
        "last",
        "marks",
        "quoted",
        "raw",
        "rows",
        "singled",
        "width",
    )

    def __init__(self, raw: bytes, marks: Array, rows: int) -> None:
        self.raw, self.data, self.marks, self.rows = raw, np.frombuffer(raw, np.uint8), marks, rows
        self.quoted: set[int] | None = set()
        self.singled: Singled | None = None
        # the rows requested last, and where their fields end
        self.block, self.ends = (
            slice(0),
            marks,
        )
        self.width = width = max(len(marks) // rows, 1)
        self.last: Array | None = None
        if len(marks) != rows * width or (self.data[marks[width - 1 :: width]] != _END).any():
            self.last = np.flatnonzero(self.data[marks] == _END)

    def column(self, i: int, first: int = 0, last: int | None = None) -> Rows:
        """Column i from one row up to the last or another; empty where a row lacks the field."""
        rows = slice(first, self.rows if last is None else last)
        starts, sizes = (
            self._regular(i, rows) if self.last is None else self._ragged(i, rows, self.last)
        )
        if self.quoted is None or i in self.quoted:
            inside = self.data.take(starts) == _QUOTE
            inside &= sizes > 1
            starts += inside
            sizes -= 2 * inside.view(np.int8)
            if self.singled is not None:
                return self._with_singled(i, rows, starts, sizes, self.singled)
        return Rows(self.raw, starts, sizes, self.data)

    def _with_singled(
        self, i: int, rows: slice, starts: Array, sizes: Array, other: Singled
    ) -> Rows:
        """The column with the text of such fields appended to the text of its rows."""
        low, high = np.searchsorted(other.rows, [rows.start, rows.stop]).tolist()
        positions = np.flatnonzero(other.columns[low:high] == i) + low
        if not len(positions):
            return Rows(self.raw, starts, sizes, self.data)
        row_numbers, upper = other.rows[positions] - rows.start, int((starts + sizes).max())
        lower, begin = int(starts.min()), int(other.starts[positions[0]])
        starts -= lower
        starts[row_numbers] = other.starts[positions] + (upper - lower - begin)
        sizes[row_numbers] = other.sizes[positions]
        text = other.text[begin : int(other.starts[positions[-1]] + other.sizes[positions[-1]])]
        return Rows(b"".join([memoryview(self.raw)[lower:upper], text.data]), starts, sizes)

    def _regular(self, i: int, rows: slice) -> tuple[Array, Array]:
        if i >= self.width:
            nothing = np.zeros(rows.stop - rows.start, np.int64)
            return nothing, nothing.copy()
        if self.block != rows:
            self.block, self.ends = rows, self._ends(rows)
        starts = self.ends[i] + 1
        return starts, self.ends[i + 1] - starts

    def _ends(self, rows: slice) -> Array:
        """Where the fields of some rows end, one column each, after a column with the ends of the previous rows."""
        width, count = self.width, rows.stop - rows.start
        ends = np.empty((width + 1, count), np.int64)
        ends[1:] = self.marks[rows.start * width : rows.stop * width].reshape(count, width).T
        if count:
            ends[0, 0] = self.marks[rows.start * width - 1] if rows.start else -1
            ends[0, 1:] = ends[-1, :-1]
        return ends

    def _ragged(self, i: int, rows: slice, last: Array) -> tuple[Array, Array]:
        stop = last[rows]
        # the mark after the field, if there is one
        positions = np.concatenate([[0], last + 1])[rows] + i
        ends = self.marks[np.minimum(positions, stop)].astype(np.int64)
        starts = np.where(
            positions > 0, self.marks[np.minimum(positions, stop + 1) - 1].astype(np.int64) + 1, 0
        )
        starts = np.where(positions <= stop, starts, ends)
        return starts, ends - starts


def fields_of(raw: bytes, sep: bytes, breaks: bool = False) -> Fields | None:
    """The fields of delimited text; with `breaks`, a line break in quotes belongs to its field. None if there are only
    few rows, or with `breaks` if quotes occur other than around fields."""
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
    """The offsets of separators, line ends and other characters, and the number of line ends."""
    data, rows = np.frombuffer(raw, np.uint8), 0
    chunks, dtype = [], np.int32 if len(raw) < 1 << 31 else np.int64
    for offset in range(0, len(data), _PART):
        block = data[offset : offset + _PART]
        matches = block == _END
        rows += int(np.count_nonzero(matches))
        for character in (sep[0], *others):
            matches |= block == character
        places: Array = np.flatnonzero(matches).astype(dtype)
        places += offset
        chunks.append(places)
    return np.concatenate(chunks), rows


def _quoted(raw: bytes, sep: bytes, breaks: bool) -> Fields | None:
    """The fields of text with quotes. If each pair of quotes surrounds a field, or is doubled inside one, a separator
    after an odd number of quotes belongs to a field; lines that violate this are first rewritten."""
    reader = _Quotes(raw, sep, breaks)
    if not reader.read():
        if breaks:
            return None
        reader = _Quotes(_rewritten(raw, sep), sep, breaks)
        reader.read()
    fields = Fields(reader.raw, np.concatenate(reader.found), reader.rows)
    fields.quoted = reader.columns(fields.width) if fields.last is None else None
    fields.singled = reader.singled(fields)
    return fields


class _Quotes:
    """Text with quotes, processed in blocks: `found` has the offsets of separators and line ends outside quotes. In
    each block, the characters of a kind are bits, 64 of them per integer."""

    def __init__(self, raw: bytes, sep: bytes, breaks: bool) -> None:
        self.raw, self.data, self.sep, self.breaks = (
            raw,
            np.frombuffer(raw, np.uint8),
            sep[0],
            breaks,
        )
        self.found: list[Array] = []
        self.opened: list[Array] = []  # the field number of each opening quote
        # the field number of each second quote, and its offset
        self.doubled: list[tuple[Array, Array]] = []
        self.rows = self.count = 0
        # is the last character in quotes; is it the closing quote?
        self.inside = self.closed = False
        self.starts = True  # does a field start after it?

    def read(self) -> bool:
        """Process it; False if a quote, or a line break in quotes, is at a wrong place."""
        for offset in range(0, len(self.data), _PART):
            if not self._part(offset, self.data[offset : offset + _PART]):
                return False
        return not self.inside

    def _part(self, start: int, part: Array) -> bool:
        quotes, ends = part == _QUOTE, part == _END
        marks = ends | (part == self.sep)
        if not self.inside and not self.closed and not quotes.any():
            self._keep(start, marks, ends)
            self.starts = bool(marks[-1])
            return True
        size, (quote, mark) = len(part), map(_bits, (quotes, marks))
        inside = _between(quote, self.inside)
        opening, closing, real = quote & inside, quote & ~inside, mark & ~inside
        behind = _next(closing, self.closed)
        wrong = (opening & ~(_next(real, self.starts) | behind)) | (behind & ~(real | opening))
        # the text after the block is not known yet
        wrong[-1] &= np.uint64((2 << (size - 1) % 64) - 1)
        if wrong.any():
            return False
        within = _places_of(mark & inside)
        if len(within):
            if not self.breaks and ends[within].any():
                return False
            marks[within] = ends[within] = False
        at, first = self._keep(start, marks, ends), self.count - len(self.found[-1])
        opened = np.flatnonzero(quotes[1:].take(at, mode="clip")) + 1 if size > 1 else at[:0]
        if self.starts and quotes[0]:
            opened = np.concatenate([[0], opened])
        self.opened.append(opened + first)
        behind &= opening
        second = _places_of(behind)
        if len(second):
            self.doubled.append((np.searchsorted(at, second) + first, second + start))
        self.inside, self.closed, self.starts = (_bit(x, size - 1) for x in (inside, closing, real))
        return True

    def _keep(self, start: int, marks: Array, ends: Array) -> Array:
        """Record the offsets of marks; returns those within the block."""
        positions = np.flatnonzero(marks)
        offsets: Array = positions.astype(np.int32 if len(self.data) < 1 << 31 else np.int64)
        offsets += start
        self.found.append(offsets)
        self.count += len(positions)
        self.rows += int(np.count_nonzero(ends))
        return positions

    def columns(self, width: int) -> set[int]:
        """The columns with quoted fields, where each row has this many fields."""
        return set(
            np.flatnonzero(
                np.bincount(np.concatenate([np.zeros(0, np.int64), *self.opened]) % width)
            ).tolist()
        )

    def singled(self, fields: Fields) -> Singled | None:
        """The fields with doubled quotes after each pair is replaced by one; None if there are none."""
        if not self.doubled:
            return None
        number, places = (np.concatenate(x) for x in zip(*self.doubled, strict=True))
        first = np.flatnonzero(np.diff(number, prepend=-1))
        field = number[first]
        if fields.last is None:
            row, column = np.divmod(field, fields.width)
        else:
            row = np.searchsorted(fields.last, field)
            column = field - np.concatenate([[0], fields.last + 1])[row]
        starts = np.where(field > 0, fields.marks[field - 1].astype(np.int64) + 2, 1)
        sizes = fields.marks[field] - 1 - starts
        before = np.cumsum(sizes) - sizes
        counts = np.diff(first, append=len(number))
        text = Rows(self.raw, starts, sizes, self.data).joined()
        keep = np.ones(len(text), np.bool_)
        keep[places - np.repeat(starts - before, counts)] = False
        sizes -= counts
        return Singled(row, column, text[keep], np.cumsum(sizes) - sizes, sizes)


class Singled(NamedTuple):
    """Fields, by row and column in order, whose text differs from that between their marks."""

    rows: Array
    columns: Array
    text: Array
    starts: Array
    sizes: Array


_BIT = {k: np.uint64(k) for k in (1, 2, 4, 8, 16, 32, 63)}


def _bits(here: Array) -> Array:
    """Booleans as bits of integers, the first as the lowest bit."""
    packed = np.packbits(here, bitorder="little")
    if len(packed) % 8:
        packed = np.concatenate([packed, np.zeros(-len(packed) % 8, np.uint8)])
    return packed.view("<u8")


def _bit(bits: Array, place: int) -> bool:
    return bool(int(bits[place // 64]) >> place % 64 & 1)


def _places_of(bits: Array) -> Array:
    """The positions of set bits, which are few."""
    groups = bits.view(np.uint8)
    nonzero = np.flatnonzero(groups != 0)
    positions = np.flatnonzero(np.unpackbits(groups[nonzero], bitorder="little").view(np.bool_))
    return nonzero[positions >> 3] * 8 + (positions & 7)


def _next(bits: Array, first: bool) -> Array:
    """The bits shifted by one position; the first is given."""
    shifted = bits << _BIT[1]
    shifted[1:] |= bits[:-1] >> _BIT[63]
    shifted[0] |= first
    return shifted


def _between(quote: Array, inside: bool) -> Array:
    """Bits set from each odd-numbered bit up to the one before the next; if one is open, from the start."""
    result = quote.copy()
    for shift in (1, 2, 4, 8, 16, 32):
        result ^= result << _BIT[shift]
    parity = np.bitwise_xor.accumulate(result >> _BIT[63])
    if inside:
        parity ^= _BIT[1]
        result[0] = ~result[0]
    result[1:] ^= -parity[:-1]
    return result


def _irregular(raw: bytes, sep: bytes) -> tuple[Array, Array]:
    """The line ends of a text, and the numbers of lines in which quotes do not pairwise surround fields."""
    marks = _places(raw, sep, _QUOTE)[0]
    kinds = np.frombuffer(raw, np.uint8)[marks]
    quote, ends = kinds == _QUOTE, np.flatnonzero(kinds == _END)
    inside = np.logical_xor.accumulate(quote)
    before = np.concatenate([[False], inside[ends[:-1]]])
    irregular = np.flatnonzero(before != inside[ends])
    inside ^= np.repeat(before, np.diff(ends, prepend=-1))  # a line begins outside quotes
    adjacent = np.diff(marks, prepend=-1) == 1
    behind = np.flatnonzero(quote & ~inside) + 1
    wrong = np.concatenate(
        [np.flatnonzero(quote & inside & ~adjacent), behind[~adjacent[behind]] - 1]
    )
    return marks[ends], np.union1d(irregular, np.searchsorted(ends, wrong))


def _rewritten(raw: bytes, sep: bytes) -> bytes:
    """The text with such lines rewritten so that quotes surround fields, and are doubled inside them."""
    ends, lines = _irregular(raw, sep)
    parts, copied = [], 0
    starts = np.concatenate([[0], ends[:-1] + 1])
    for start, stop in zip(starts[lines].tolist(), ends[lines].tolist(), strict=True):
        parts.append(raw[copied:start])
        parts.append(
            sep.join([_in_quotes(field, sep) for field in split_fields(raw[start:stop], sep)])
        )
        copied = stop
    return b"".join([*parts, raw[copied:]])


def _in_quotes(text: bytes, sep: bytes) -> bytes:
    return b'"' + text.replace(b'"', b'""') + b'"' if b'"' in text or sep in text else text
