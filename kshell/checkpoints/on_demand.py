"""Tensors that are computed from the bytes of others, as much of them as is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from kshell.checkpoints import numbers
from kshell.checkpoints.stored import WIDTHS, Stored
from kshell.values.session.interrupts import PENDING, give_up

AT_ONCE = 1 << 19  # numbers that are computed at a time


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


def columns(part: Stored, first: int, last: int) -> np.ndarray:
    """Columns first..last-1 of a matrix, as numbers: only their bytes are read."""
    height, length = part.shape
    width = WIDTHS[part.dtype]
    if (first, last) == (0, length):
        return items(part, 0, part.count).reshape(part.shape)
    row = (last - first) * width
    data = memoryview(bytearray(height * row))
    for i in range(height):
        part.into(data[i * row : (i + 1) * row], (i * length + first) * width)
    return numbers.numbers(data, part.dtype).reshape(height, last - first)
