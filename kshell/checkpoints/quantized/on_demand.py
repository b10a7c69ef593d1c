"""Tensors that are computed from the bytes of others, as much of them as is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kshell.checkpoints.base.stored import PIECE, WIDTHS, Stored
from kshell.checkpoints.quantized import numbers
from kshell.values.session.interrupts import PENDING, give_up

AT_ONCE = 1 << 19  # numbers that are computed at a time
_KEPT = 1 << 23  # bytes of columns that are kept


class OnDemand(Stored):
    """A tensor whose numbers are computed in units of so many consecutive ones: a block, or a row. `parts` are the
    tensors that they are computed from, by their names in the file."""

    def __init__(
        self,
        dtype: str,
        shape: Sequence[int],
        scheme: str,
        unit: int,
        parts: Mapping[str, Stored],
    ) -> None:
        self.dtype, self.shape, self.scheme = dtype, tuple(shape), scheme
        self.unit, self.parts = unit, dict(parts)

    def compute(self, first: int, last: int) -> np.ndarray:
        """The numbers of units first..last-1, one after the other, as floats; the last unit of the tensor may be
        short. QError if the parts do not allow it."""
        raise NotImplementedError

    def into(self, out: memoryview, start: int = 0) -> None:
        """As for all kinds: only the units that are asked for are computed."""
        width = WIDTHS[self.dtype]
        begin, end = start // width, (start + len(out)) // width
        units = max(AT_ONCE // max(self.unit, 1), 1)
        while begin < end:
            if PENDING:
                give_up()
            first = begin // self.unit
            last = min(first + units, -(-end // self.unit))
            with np.errstate(all="ignore"):
                found = self.compute(first, last)
            stop = min(end, last * self.unit)
            found = found[begin - first * self.unit : stop - first * self.unit]
            place = slice(begin * width - start, stop * width - start)
            out[place] = memoryview(numbers.bytes_of(found, self.dtype).data).cast("B")
            begin = stop


def items(part: Stored, first: int, last: int) -> np.ndarray:
    """Items first..last-1 of a tensor, as numbers."""
    width = WIDTHS[part.dtype]
    data = bytearray((last - first) * width)
    part.into(memoryview(data), first * width)
    return numbers.numbers(data, part.dtype)


class Columns:
    """The columns of a matrix, for rows of its transpose. The file is passed for each run of columns that is asked for;
    when one follows another, more are read, and kept until they are used."""

    def __init__(self, part: Stored) -> None:
        self._part = part
        self._kept: tuple[int, int, np.ndarray] | None = None
        self._next = -1

    def __call__(self, first: int, last: int) -> np.ndarray:
        """Columns first..last-1, as numbers."""
        height, length = self._part.shape
        kept = self._kept
        if kept is None or not kept[0] <= first <= last <= kept[1]:
            follows = self._next - 1 <= first <= self._next  # a word may be in two runs
            wide = _KEPT // (height * WIDTHS[self._part.dtype]) if follows else 0
            end = min(max(last, first + wide), length)
            kept = first, end, self._read(first, end)
        start, end, data = kept
        self._next, self._kept = last, kept if last < end else None
        return data[:, first - start : last - start]

    def _read(self, first: int, last: int) -> np.ndarray:
        """Columns, by whole rows: short reads would take longer."""
        height, length = self._part.shape
        width = WIDTHS[self._part.dtype]
        found = np.empty((height, last - first), f"V{width}")
        rows = max(PIECE // (length * width), 1)
        data = memoryview(bytearray(min(rows, height) * length * width))
        for i in range(0, height, rows):
            piece = data[: (min(i + rows, height) - i) * length * width]
            self._part.into(piece, i * length * width)
            found[i : i + rows] = np.frombuffer(piece, found.dtype).reshape(-1, length)[
                :, first:last
            ]
        return numbers.numbers(found.reshape(-1).view(np.uint8), self._part.dtype).reshape(
            found.shape
        )
