"""Texts of Arrow as symbols: many at once are looked up in a table of hashes by numpy, and only words that are new
become symbols one by one."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from kshell.values.base.symbols import sym_codes

Array = np.ndarray
_LONGEST = 64  # bytes of a text that is looked up so
_SHIFT, _FACTOR = np.uint64(31), np.uint64(0x9E3779B97F4A7C15)
_MASKS = np.array([(1 << 8 * n) - 1 for n in range(9)], np.uint64)  # of the first n bytes of eight
_NONE = -1
_BLOCK = 1 << 16  # texts at a time, as many as caches have room for
# bits of the number of slots at first, and how many more once a quarter of them are taken
_BITS, _MORE = 12, 2


class Words:
    """The words that there have been. A text is a row of numbers: its length, and its bytes by eight."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._bits, self.count = _BITS, 0
        self._slots = np.full(1 << _BITS, _NONE, np.int32)  # the word that is there
        # of the words, by column; there is room for more than there are
        self._numbers = [np.zeros(0, np.uint64)]
        self._hashes, self._codes = np.zeros(0, np.uint64), np.zeros(0, np.int32)

    def symbols(self, chunks: Sequence[Any]) -> Array | None:
        """The codes of the symbols that the texts in arrays of Arrow are; None if some are very long."""
        texts = [Texts(chunk) for chunk in chunks if len(chunk)]
        if any(text.longest > _LONGEST for text in texts):
            return None
        found = [np.zeros(0, np.int32)]
        for text in texts:
            numbers = text.numbers()
            hashes = _hashes(numbers)
            with self._lock:
                for start in range(0, len(hashes), _BLOCK):
                    block = slice(start, start + _BLOCK)
                    columns = [column[block] for column in numbers]
                    found.append(self._found(text, start, columns, hashes[block]))
        return np.concatenate(found)

    def _found(self, texts: Texts, first: int, numbers: list[Array], hashes: Array) -> Array:
        """The codes of the texts from the first of these on that have such numbers."""
        words = np.empty(len(hashes), np.intp)
        rows: Array | slice = slice(None)  # those that have not been found yet
        tries = 0
        while True:
            slots = self._place(hashes[rows], tries)
            at = self._slots.take(slots).astype(np.intp)
            new = np.flatnonzero(at == _NONE)
            if len(new):
                places = new if isinstance(rows, slice) else rows[new]
                if self._add(slots[new], places, texts, first, numbers, hashes):
                    tries = 0  # all places are others now
                    continue
                at = self._slots.take(slots).astype(np.intp)
            words[rows] = at
            # lengths too, so that any more bytes are none
            pairs = zip(self._numbers, numbers, strict=False)
            same = np.logical_and.reduce(
                [known.take(at) == column[rows] for known, column in pairs]
            )
            left = np.flatnonzero(~same)
            if not len(left):
                return self._codes.take(words)
            rows = left if isinstance(rows, slice) else rows[left]
            tries += 1

    def _place(self, hashes: Array, tries: int) -> Array:
        """The slots in which words are looked for after some tries. Steps are odd, and so lead to all slots."""
        first = hashes >> np.uint64(64 - self._bits)
        if tries:
            low = np.uint64((1 << self._bits) - 1)
            first += np.uint64(tries) * (hashes & low | np.uint64(1))
            first &= low
        return first.view(np.int64)

    def _add(
        self,
        slots: Array,
        rows: Array,
        texts: Texts,
        first: int,
        numbers: list[Array],
        hashes: Array,
    ) -> bool:
        """Put one text into each of some empty slots, which several texts may have. Are there more slots then?"""
        won = self._take(slots, np.arange(len(slots), dtype=np.int32))
        rows = rows[won]
        start, self.count = self.count, self.count + len(rows)
        end = self.count
        self._make_room(len(numbers))
        self._slots[slots[won]] = np.arange(start, end)
        for known, column in zip(self._numbers, numbers, strict=False):
            known[start:end] = column[rows]
        self._hashes[start:end] = hashes[rows]
        self._codes[start:end] = sym_codes(texts.at(rows + first))
        if 4 * end <= len(self._slots):
            return False
        while 4 * end > len(self._slots):
            self._spread()
        return True

    def _take(self, slots: Array, numbers: Array) -> Array:
        """Put numbers into slots: which of them are there then, as only one can be in each."""
        self._slots[slots] = numbers
        return np.flatnonzero(self._slots[slots] == numbers)

    def _make_room(self, columns: int) -> None:
        room = len(self._codes)
        if self.count > room:
            room = 2 * self.count
            self._numbers = [_longer(column, room) for column in self._numbers]
            self._hashes, self._codes = _longer(self._hashes, room), _longer(self._codes, room)
        while len(self._numbers) < columns:
            self._numbers.append(np.zeros(room, np.uint64))

    def _spread(self) -> None:
        """Put the words into more slots."""
        self._bits += _MORE
        self._slots = np.full(1 << self._bits, _NONE, np.int32)
        left = np.arange(self.count, dtype=np.int32)
        tries = 0
        while len(left):
            slots = self._place(self._hashes[left], tries)
            free = np.flatnonzero(self._slots[slots] == _NONE)
            there = np.zeros(len(left), bool)
            there[free[self._take(slots[free], left[free])]] = True
            left = left[~there]
            tries += 1


class Texts:
    """The texts in an array of Arrow; a null is an empty one."""

    def __init__(self, array: Any) -> None:
        _, offsets, data = array.buffers()
        kind = np.int64 if str(array.type) == "large_string" else np.int32
        ends = np.frombuffer(offsets, kind)[array.offset : array.offset + len(array) + 1]
        first, last = int(ends[0]), int(ends[-1])
        # eight bytes can be read from the beginning of each
        self._bytes = np.zeros(last - first + 8, np.uint8)
        if last > first:
            self._bytes[:-8] = np.frombuffer(data, np.uint8)[first:last]
        self._starts = ends[:-1].astype(np.int64) - first
        self._lengths = np.diff(ends).astype(np.int64)
        if array.null_count:
            self._lengths[array.is_null().to_numpy(zero_copy_only=False)] = 0
        self.longest = int(self._lengths.max())

    def numbers(self) -> list[Array]:
        """The lengths, and the bytes by eight, with zeros after the text."""
        found = [self._lengths.view(np.uint64)]
        words = np.ndarray((len(self._bytes) - 7,), "<u8", self._bytes.data, strides=(1,))
        one_length = int(self._lengths.min()) == self.longest
        for start in range(0, self.longest, 8):
            column = words[np.minimum(self._starts + start, len(words) - 1)]
            left = self.longest if one_length else self._lengths
            column &= _MASKS[np.clip(left - start, 0, 8)]
            found.append(column)
        return found

    def at(self, rows: Array) -> list[str]:
        whole = self._bytes.data
        starts = self._starts[rows]
        ends = starts + self._lengths[rows]
        return [
            str(whole[start:end], "utf-8", "surrogateescape")
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        ]


def _hashes(numbers: Sequence[Array]) -> Array:
    found = np.zeros(len(numbers[0]), np.uint64)
    for column in numbers:
        found ^= column
        found *= _FACTOR
        found ^= found >> _SHIFT
    found *= _FACTOR
    return found


def _longer(a: Array, n: int) -> Array:
    more = np.zeros(n, a.dtype)
    more[: len(a)] = a
    return more
