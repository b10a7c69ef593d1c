"""Lists of strings as offsets into one character array, for vectorized work."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kshell.values.base import types as T
from kshell.values.base.core import List, Nd, Value, Vec, flat_list
from kshell.values.items.keys import group_keys

Array = np.ndarray
_BLANKS = 24  # blanks stripped from all texts at once; more are stripped text by text
_LINES = 1 << 14  # put together at a time: they stay in the cache
_LONG = 64  # longer texts are copied character by character
_WIDE = 40  # longer texts are not laid out as character columns: numbers are shorter


class Rows:
    """Texts as ranges of one array: text k is data[starts[k] : starts[k] + sizes[k]]. `raw` is the same as bytes."""

    __slots__ = ("data", "raw", "sizes", "starts")

    def __init__(self, raw: bytes, starts: Array, sizes: Array, data: Array | None = None) -> None:
        self.raw, self.starts, self.sizes = raw, starts, sizes
        self.data = np.frombuffer(raw, np.uint8) if data is None else data

    def __len__(self) -> int:
        return len(self.starts)

    def item(self, k: int) -> bytes:
        return self.raw[self.starts[k] : self.starts[k] + self.sizes[k]]

    def at(self, places: Array | slice) -> Rows:
        """Some of the texts, by position in the list."""
        return Rows(self.raw, self.starts[places], self.sizes[places], self.data)

    def items(self) -> list[bytes]:
        """The texts as byte strings."""
        raw = self.raw
        return [
            raw[start:end]
            for start, end in zip(
                self.starts.tolist(), (self.starts + self.sizes).tolist(), strict=True
            )
        ]

    def stripped(self) -> Rows:
        """The texts without surrounding blanks; these rows, if there are none."""
        starts, sizes, data = self.starts, self.sizes, self.data
        nonempty = None if len(sizes) and sizes.min() else np.flatnonzero(sizes)
        left, ends = (
            (starts, starts + sizes)
            if nonempty is None
            else (starts[nonempty], starts[nonempty] + sizes[nonempty])
        )
        left, right = np.flatnonzero(data[left] == 32), np.flatnonzero(data[ends - 1] == 32)
        if nonempty is not None:
            left, right = nonempty[left], nonempty[right]
        if not len(left) and not len(right):
            return self
        starts, sizes = starts.copy(), sizes.copy()
        for _ in range(_BLANKS):
            starts[left] += 1
            sizes[left] -= 1
            left = left[sizes[left] > 0]
            left = left[data[starts[left]] == 32]
        right = right[sizes[right] > 0]
        for _ in range(_BLANKS):
            sizes[right] -= 1
            right = right[sizes[right] > 0]
            right = right[data[starts[right] + sizes[right] - 1] == 32]
        if len(left) or len(right):
            return rows_of([text.strip(b" ") for text in self.items()])
        return Rows(self.raw, starts, sizes, data)

    def _width(self) -> int:
        """The size of the longest; 0 if it is too long for work by character columns."""
        width = int(self.sizes.max()) if len(self.sizes) else 0
        return width if width <= _WIDE else 0

    def _gather(self, w: int, at: Array) -> Array:
        """w bytes from each offset, whatever they are, as items of w bytes; zero outside the data."""
        data = self.data
        low, high = (int(at.min()), int(at.max()) + w) if len(at) else (0, w)
        if low < 0 or high > len(data):
            low = max(-low, 0)
            data = np.concatenate(
                [np.zeros(low, np.uint8), data, np.zeros(max(high - len(data), 0), np.uint8)]
            )
            at = at + low if low else at
        item = "i8" if w == 8 else f"V{w}"  # numpy indexes integers faster than bytes
        return np.ndarray((len(data) - w + 1,), item, data, 0, (1,))[at]

    def first(self) -> Array:
        """The first byte of each text; arbitrary for an empty one."""
        return (
            self.data.take(self.starts, mode="clip")
            if len(self.data)
            else np.zeros(len(self), np.uint8)
        )

    def matrix(self, right: bool = False) -> Array | None:
        """The texts as columns of bytes, zero after the end of each; or right-aligned, with the character 0 in front;
        None if one is too long."""
        width = self._width()
        if not width:
            return None
        offsets = self.starts + self.sizes - width if right else self.starts
        columns = np.ascontiguousarray(
            self._gather(width, offsets).view(np.uint8).reshape(-1, width).T
        )
        sizes, least = self.sizes.astype(np.uint8), int(self.sizes.min())
        padding = columns[: width - least] if right else columns[:0]
        padding ^= 48
        for position in range(least, width):
            columns[width - 1 - position if right else position] &= (sizes <= position).view(
                np.uint8
            ) - np.uint8(1)
        padding ^= 48
        return columns

    def ids(self) -> tuple[Array, Array] | None:
        """(first position of each distinct text, its group number for each text); None if one is too long."""
        width = self._width()
        if not width:
            return None
        first, group_ids = group_keys(self._word(0))
        words = [self._word(offset) for offset in range(8, width, 8)]
        # otherwise a shorter text would appear to end in the character 0
        if not self.joined().all():
            words.append(self.sizes)
        for word in words:
            first, group_ids = group_keys(group_keys(word)[1] * len(first) + group_ids)
        return first, group_ids

    def words(self, most: int) -> list[Array] | None:
        """The texts as integers of eight characters each, zero after their ends; None if too many are needed."""
        width = int(self.sizes.max()) if len(self.sizes) else 0
        if width > 8 * most:
            return None
        return [self._word(offset) for offset in range(0, max(width, 1), 8)]

    def _word(self, at: int) -> Array:
        """Eight characters of each text, from an offset, as an integer; zero after its end."""
        return (
            self._gather(8, self.starts + at).view(np.int64)
            & _MASKS[np.clip(self.sizes - at, 0, 8)]
        )

    def joined(self) -> Array:
        """The characters of all texts, concatenated."""
        positions = np.repeat(self.starts - np.cumsum(self.sizes) + self.sizes, self.sizes)
        positions += np.arange(len(positions))
        return self.data.take(positions)

    def strings(self) -> List:
        """A list of strings."""
        return string_list(self.joined(), self.sizes)


# masks by number of characters kept of eight
_MASKS: Array = (
    np.array([[255 * (k < n) for k in range(8)] for n in range(9)], np.uint8).view(np.int64).ravel()
)


def side_by_side(columns: Sequence[Rows], sep: bytes, end: bytes) -> tuple[Array, Array]:
    """The texts of columns in lines, one of each column, with a separator between them, and each line with an end: the
    characters of all lines, one after the other, and the size of each. Separator and end have one character or none."""
    sizes = np.sum([column.sizes for column in columns], 0)
    sizes += (len(columns) - 1) * len(sep) + len(end)
    ends = np.cumsum(sizes)
    total = int(ends[-1]) if len(ends) else 0
    out = np.zeros(total + 8, np.uint8)
    for start in range(0, len(sizes), _LINES):
        lines = slice(start, start + _LINES)
        at = ends[lines] - sizes[lines]
        for number, column in enumerate(columns):
            if number and sep:
                out[at] = sep[0]
                at += 1
            texts = column.at(lines)
            _put(out, at, texts, int(sizes[lines].min()))
            at += texts.sizes
        if end:
            out[at] = end[0]
    return out[:total], sizes


def _put(out: Array, at: Array, texts: Rows, distance: int) -> None:
    """Write texts to places that are this far apart, at least, where there are zeros."""
    longest = int(texts.sizes.max())
    if distance < 8 or longest > _LONG:
        positions = np.repeat(at - np.cumsum(texts.sizes) + texts.sizes, texts.sizes)
        positions += np.arange(len(positions))
        out[positions] = texts.joined()
        return
    # eight characters at a time; what is behind the end of a text stays, as a zero is or-ed to it
    words = np.ndarray((len(out) - 7,), "<i8", out, 0, (1,))
    for offset in range(0, longest, 8):
        if offset:
            longer = np.flatnonzero(texts.sizes > offset)
            texts, at = texts.at(longer), at[longer]
        words[at + offset] |= texts._word(offset)


def rows_of(items: Sequence[bytes]) -> Rows:
    """The rows of byte strings."""
    sizes = np.fromiter(map(len, items), np.int64, len(items))
    return Rows(b"".join(items), np.cumsum(sizes) - sizes, sizes)


def string_rows(x: Value) -> Rows | None:
    """The rows of a list of strings; None if x is anything else."""
    if x.__class__ is Nd:
        if x.t != T.C or x.a.ndim != 2:
            return None
        count, width = x.a.shape
        return Rows(x.a.tobytes(), np.arange(count) * width, np.full(count, width))
    if x.__class__ is not List:
        return None
    flat = x.flat
    if flat is not None:
        return Rows(flat.a.tobytes(), flat.starts, flat.sizes) if flat.t == T.C else None
    texts = []
    for item in x.items:
        if item.__class__ is not Vec or item.t != T.C:
            return None
        texts.append(item.a)
    return rows_of([text.tobytes() for text in texts])


def string_list(flat: Array, sizes: Array) -> List:
    """Strings stored one after another in an array, given their sizes."""
    count = len(sizes)
    if count > 1 and sizes[0] and (sizes == sizes[0]).all():
        return Nd(T.C, flat.reshape(count, int(sizes[0])))
    return flat_list(T.C, flat, np.cumsum(sizes))


def strings_of(items: Sequence[bytes]) -> List:
    """A list of strings from byte strings."""
    sizes = np.fromiter(map(len, items), np.int64, len(items))
    return string_list(np.frombuffer(b"".join(items), np.uint8), sizes)


def each_string(x: Value, fn: Callable[[bytes], bytes]) -> List | None:
    """Apply fn to each string of a list, giving another; None if x is anything else."""
    rows = string_rows(x)
    return None if rows is None else strings_of(list(map(fn, rows.items())))
