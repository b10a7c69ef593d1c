"""Weights that are quantised by other packages, computed from their parts a few rows or blocks at a time.

All arithmetic is in float32, in the order that the packages have; what is asked for in a narrower type is rounded once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np

from kshell.checkpoints.base.stored import WIDTHS, Stored
from kshell.checkpoints.quantized.on_demand import Columns, OnDemand, items
from kshell.errors import QError

# the column that each four bits of a word belong to, from the low ones on
AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)


def floats(part: Stored, first: int, last: int) -> np.ndarray:
    """Items first..last-1 of a tensor in float32."""
    return items(part, first, last).astype(np.float32, copy=False)


def bytes_at(part: Stored, first: int, last: int) -> np.ndarray:
    """Bytes first..last-1 of a tensor of any type."""
    width = WIDTHS[part.dtype]
    start, end = first // width * width, min(-(-last // width) * width, part.nbytes)
    data = bytearray(end - start)
    part.into(memoryview(data), start)
    return np.frombuffer(data, np.uint8)[first - start : last - start]


class Nested(NamedTuple):
    """The scales of blocks as codes of 8 bits: a table, a scale a block of them, and an offset."""

    table: Stored
    scales: Stored
    block: int
    offset: float


class FourBits(OnDemand):
    """bitsandbytes in 4 bits: two codes a byte, the first in the high half; a table of 16 numbers; a scale for each
    block of the flattened tensor. float32; bitsandbytes makes `cast_to` of it."""

    def __init__(
        self,
        shape: Sequence[int],
        scheme: str,
        parts: Mapping[str, Stored],
        weight: Stored,
        table: Stored,
        scales: Stored,
        block: int,
        nested: Nested | None,
        cast_to: str,
    ) -> None:
        super().__init__("float32", shape, scheme, block, parts)
        self._weight, self._table, self._scales, self._nested = weight, table, scales, nested
        self.cast_to = cast_to

    def compute(self, first: int, last: int) -> np.ndarray:
        """The numbers of blocks first..last-1."""
        begin, end = first * self.unit, min(last * self.unit, self.count)
        data = bytes_at(self._weight, begin // 2, (end + 1) // 2)
        codes = np.stack([data >> 4, data & 15], axis=1).reshape(-1)
        found = floats(self._table, 0, 16)[codes]
        found.resize((last - first) * self.unit, refcheck=False)  # the last block may be short
        scaled = found.reshape(last - first, self.unit)
        scaled *= self._scale(first, last)[:, None]
        return found[: end - begin]

    def _scale(self, first: int, last: int) -> np.ndarray:
        """The scales of blocks."""
        if self._nested is None:
            return floats(self._scales, first, last)
        table, scales, block, offset = self._nested
        found = floats(table, 0, 256)[items(self._scales, first, last)]
        start = first // block
        outer = floats(scales, start, -(-last // block))
        found *= outer[np.arange(first, last) // block - start]
        return found + np.float32(offset)


class Scaled(OnDemand):
    """Integers or small floats, a scale for each block of them, and perhaps an integer zero that is subtracted before:
    (weight - zero) x scale x factor, in this order. `blocks` has the length of a block in each dimension; the last ones
    may be short."""

    def __init__(
        self,
        dtype: str,
        scheme: str,
        parts: Mapping[str, Stored],
        weight: Stored,
        scale: Stored,
        blocks: Sequence[int],
        zero: Stored | None = None,
        factor: float = 1,
    ) -> None:
        super().__init__(dtype, weight.shape, scheme, weight.shape[-1], parts)
        self._weight, self._scale, self._zero = weight, scale, zero
        self._blocks, self._factor = tuple(blocks), np.float32(factor)
        self._grid = grid(weight.shape, blocks)

    def compute(self, first: int, last: int) -> np.ndarray:
        """The numbers of rows first..last-1."""
        found = floats(self._weight, first * self.unit, last * self.unit).reshape(-1, self.unit)
        rows = self._rows(first, last)
        if self._zero is not None:
            found = found - self._spread(self._zero, rows)
        found = found * self._spread(self._scale, rows)
        return (found if self._factor == 1 else found * self._factor).reshape(-1)

    def _rows(self, first: int, last: int) -> np.ndarray:
        """The row of scales of each row of the weight."""
        lead = self.shape[:-1]
        if not lead:
            return np.zeros(last - first, np.int64)
        places = np.unravel_index(np.arange(first, last), lead)
        blocks = [place // block for place, block in zip(places, self._blocks, strict=False)]
        return np.ravel_multi_index(blocks, self._grid[:-1])

    def _spread(self, part: Stored, rows: np.ndarray) -> np.ndarray:
        """Scales, or zeros, of rows of the weight, for each of its columns, or one for all of them."""
        low, high, length = int(rows.min()), int(rows.max()) + 1, self._grid[-1]
        found = floats(part, low * length, high * length).reshape(-1, length)[rows - low]
        if length == 1:
            return found
        return np.repeat(found, self._blocks[-1], axis=1)[:, : self.unit]


def grid(shape: Sequence[int], blocks: Sequence[int]) -> tuple[int, ...]:
    """The number of blocks in each dimension."""
    return tuple(-(-n // block) for n, block in zip(shape, blocks, strict=True))


class Grouped(OnDemand):
    """A matrix for inputs in rows of numbers that are packed into words of 32 bits, with a scale and a zero for each
    group of inputs and each output. Its transpose, as nn.Linear has it: (integer - zero) x scale in float32."""

    def __init__(
        self,
        name: str,
        inputs: int,
        scheme: str,
        parts: Mapping[str, Stored],
        weight: Callable[[int, int], np.ndarray],
        zeros: Callable[[int, int], np.ndarray],
        scales: Stored,
        group: int | Stored,
    ) -> None:
        """`weight(a, b)` and `zeros(a, b)` give the integers of outputs a..b-1, with inputs or groups in rows. `group`
        is the number of inputs in a group, or the tensor that has the group of each."""
        super().__init__("float32", (scales.shape[1], inputs), scheme, inputs, parts)
        self.name, self._integers, self._zeros = name, weight, zeros
        self._scales, self._group, self._count = Columns(scales), group, scales.shape[0]

    def compute(self, first: int, last: int) -> np.ndarray:
        """The numbers of outputs first..last-1."""
        groups = self._groups()
        found = self._integers(first, last).astype(np.float32)
        found -= self._zeros(first, last).astype(np.float32)[groups]
        found *= self._scales(first, last).astype(np.float32)[groups]
        return found.T.reshape(-1)

    def _groups(self) -> np.ndarray:
        """The group of each input."""
        if isinstance(self._group, int):
            return np.arange(self.unit) // self._group
        found = items(self._group, 0, self.unit)
        if found.min() < 0 or found.max() >= self._count:
            raise QError(f"ckpt: {self.name}: the group of an input is out of bounds")
        return found


def run_of_bits(words: np.ndarray, bits: int, start: int, count: int) -> np.ndarray:
    """`count` small integers down each column of words: a run of bits, low bits first, from bit `start` on. One may
    lie across two words."""
    places = start + bits * np.arange(count)
    at, shift = places // 32, (places % 32).astype(np.uint32)
    words = words.view(np.uint32)
    found = words[at] >> shift[:, None]
    across = np.flatnonzero(shift + bits > 32)
    found[across] |= words[at[across] + 1] << (np.uint32(32) - shift[across, None])
    return found & np.uint32((1 << bits) - 1)


def gptq_weight(part: Stored, bits: int) -> Callable[[int, int], np.ndarray]:
    """The integers of GPTQ, packed along the inputs."""
    count, columns = part.shape[0] * 32 // bits, Columns(part)

    def found(first: int, last: int) -> np.ndarray:
        return run_of_bits(columns(first, last), bits, 0, count)

    return found


def gptq_zeros(part: Stored, bits: int, is_less: bool) -> Callable[[int, int], np.ndarray]:
    """The zeros of GPTQ, packed along the outputs; one less than they are if `is_less`, modulo the bits."""
    columns = Columns(part)

    def found(first: int, last: int) -> np.ndarray:
        start = first * bits // 32
        words = columns(start, -(-last * bits // 32))
        zeros = run_of_bits(
            np.ascontiguousarray(words.T), bits, first * bits - 32 * start, last - first
        )
        return (zeros + np.uint32(is_less) & np.uint32((1 << bits) - 1)).T

    return found


def awq(part: Stored) -> Callable[[int, int], np.ndarray]:
    """The integers of AWQ, eight in a word along the outputs, in an order of their own."""
    shifts = np.zeros(8, np.uint32)
    shifts[list(AWQ_ORDER)] = 4 * np.arange(8)
    columns = Columns(part)

    def found(first: int, last: int) -> np.ndarray:
        start = first // 8
        words = columns(start, -(-last // 8)).view(np.uint32)
        numbers_of = (words[:, :, None] >> shifts & np.uint32(15)).reshape(len(words), -1)
        return numbers_of[:, first - 8 * start : last - 8 * start]

    return found


def blocks_of(
    shape: Sequence[int], scales: Sequence[int], sizes: Sequence[int] = ()
) -> tuple[int, ...] | None:
    """The length of a block in each dimension of a weight, from the shape of its scales: one for all, one a row, or as
    many dimensions as the weight has, each 1, as long, a divisor, or as many blocks of one of `sizes` for the last
    dimensions. None if nothing fits."""
    if prod(scales) == 1:
        return tuple(shape)
    if len(scales) == 1 and len(shape) == 2:
        scales = (scales[0], 1)
    if len(scales) != len(shape):
        return None
    sizes = [*(0 for _ in shape), *sizes][len(sizes) :]
    found = []
    for n, count, size in zip(shape, scales, sizes, strict=True):
        if size and -(-n // size) == count and count not in (1, n):
            found.append(size)
        elif count and n % count == 0:
            found.append(n // count)
        else:
            return None
    return tuple(found)
