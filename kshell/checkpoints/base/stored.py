"""Tensors that are in files: their type and shape, and how their numbers are read.

Opening a checkpoint makes a `Stored` of each of its tensors; numbers are read when they are asked for. Each kind has
one method, `into`, which fills memory with consecutive bytes of the tensor as if it were contiguous and its numbers in
this machine's order.
"""

from __future__ import annotations

import copy
import io
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from types import MappingProxyType
from typing import Any, BinaryIO, NamedTuple, Protocol, cast

import numpy as np

from kshell.errors import QError
from kshell.values.session.interrupts import PENDING, give_up

PIECE = 1 << 22  # bytes that are read at a time
_FIRST = 512  # bytes that tell the kind of a file
# bytes that are read ahead where a file is read in order; Python 3.14 would read 16 times as many
_AHEAD = 1 << 13
MOST_DIMS = 64  # torch operations support no more dimensions
_LARGEST = 1 << 63  # the first number that no size, stride or offset can be
# fmt: off  # a table
# bytes of an item, by torch's name of the type
WIDTHS = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "uint16": 2,
    "int32": 4,
    "uint32": 4,
    "int64": 8,
    "uint64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    "complex32": 4,
    "complex64": 8,
    "complex128": 16,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1,
    "float8_e8m0fnu": 1,
    "float4_e2m1fn_x2": 1,
    "qint8": 1,
    "quint8": 1,
    "qint32": 4,
    "quint4x2": 1,
    "quint2x4": 1,
    "bits8": 1,
    "bits16": 2,
    "bits1x8": 1,
    "bits2x4": 1,
    "bits4x2": 1,
}
# fmt: on


class _Descriptor:
    """The number of an open file, which is closed with the last one that has it."""

    def __init__(self, path: str) -> None:
        self.number = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if "number" in self.__dict__:  # none if it could not be opened
            close(self.number)


class File:
    """An open file, or a part of one, whose content may be asked for later: QError if it is another by then."""

    def __init__(self, path: str) -> None:
        """Open a file. OSError if it cannot be opened, ValueError if it is no file."""
        self.path, self.start = path, 0
        self._open = _Descriptor(path)
        self.descriptor = self._open.number
        found = os.fstat(self.descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is no file")
        self._state = (found.st_size, found.st_mtime_ns)
        self.size = found.st_size

    def part(self, start: int, size: int) -> File:
        """A run of its bytes as a file of its own, which stays open with it. ValueError if it is out of bounds."""
        if start < 0 or not 0 <= size <= self.size - start:
            raise ValueError("it is cut off")
        made = copy.copy(self)
        made.start, made.size = self.start + start, size
        made.__dict__.pop("begin", None)
        return made

    @cached_property
    def begin(self) -> bytes:
        """Its first bytes, which tell its kind."""
        return self.read(0, min(_FIRST, self.size))

    @property
    def stream(self) -> BinaryIO:
        """The bytes in order, for those who read so."""
        return cast("BinaryIO", io.BufferedReader(_Stream(self), _AHEAD))

    def check(self) -> None:
        """QError if the file is no longer as it was when it was opened."""
        found = os.fstat(self.descriptor)
        if (found.st_size, found.st_mtime_ns) != self._state:
            raise QError(f"ckpt: {self.path} has changed since it was opened")

    def into(self, out: memoryview, offset: int) -> None:
        """Fill memory with the bytes from an offset on; QError if the file has changed, or ends before."""
        self.check()
        for start in range(0, len(out), PIECE):
            if PENDING:
                give_up()
            piece = out[start : start + PIECE]
            at = 0
            while at < len(piece):
                count = os.preadv(self.descriptor, [piece[at:]], self.start + offset + start + at)
                if not count:
                    raise QError(f"ckpt: {self.path} is cut off")
                at += count

    def read(self, offset: int, length: int) -> bytes:
        """The bytes at an offset."""
        if length <= PIECE:  # most are short: in half the time
            self.check()
            data = os.pread(self.descriptor, length, self.start + offset)
            if len(data) == length:
                return data
        out = bytearray(length)
        self.into(memoryview(out), offset)
        return bytes(out)


class Run(Protocol):
    """A run of bytes that tensors view."""

    length: int

    def into(self, out: memoryview, start: int = 0) -> None:
        """Fill memory with its bytes from `start` on."""


class _Stream(io.RawIOBase):
    """A file's bytes in order."""

    def __init__(self, file: File) -> None:
        self._file, self._at = file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = 0) -> int:
        base = (0, self._at, self._file.size)[whence]
        if base + offset < 0:
            raise ValueError("an offset is out of bounds")
        self._at = base + offset
        return self._at

    def readinto(self, out: Any) -> int:
        count = max(min(len(out), self._file.size - self._at), 0)
        self._file.into(memoryview(out)[:count], self._at)
        self._at += count
        return count


class Memory:
    """A run of bytes in a file, which tensors view: the storage of torch. `packed`: the bytes that it takes in the file
    if it is compressed there by deflate. `key` is its name in the file."""

    def __init__(
        self, file: File, offset: int, length: int, key: str = "", packed: int = -1, crc: int = 0
    ) -> None:
        self.file, self.offset, self.length = file, offset, length
        self.key, self.packed, self.crc = key, packed, crc  # crc: 0 if its writer computed none
        self._unpacked: bytes | None = None
        self._is_verified = False

    def into(self, out: memoryview, start: int = 0) -> None:
        """Fill memory with its bytes from `start` on. If they are all of it, the checksum is verified."""
        if self.packed < 0:
            self.file.into(out, self.offset + start)
        elif len(out):
            self._unpack(out, start)
        if len(out) == self.length:
            self.verified(out)

    @property
    def is_to_verify(self) -> bool:
        """Has it a checksum with which its bytes were not compared yet?"""
        return bool(self.crc) and not self._is_verified

    def verified(self, data: memoryview) -> None:
        """QError if these bytes, all of it, are not those for which the checksum was computed."""
        if self.is_to_verify:
            self.compare(zlib.crc32(data))

    def compare(self, crc: int) -> None:
        """QError if this, the checksum of all bytes, is not the one that was computed when they were written."""
        if self.crc and crc != self.crc:
            raise QError(f"ckpt: {self.file.path} is damaged: {self.key} has a wrong checksum")
        self._is_verified = True

    def _unpack(self, out: memoryview, start: int) -> None:
        if self._unpacked is None:
            packed = self.file.read(self.offset, self.packed)
            try:
                data = zlib.decompressobj(-15).decompress(packed, self.length)
            except zlib.error:
                data = b""
            if len(data) != self.length:
                raise QError(f"ckpt: {self.file.path} is damaged: {self.key} is cut off")
            self._unpacked = data
        out[:] = self._unpacked[start : start + len(out)]


class Bytes:
    """The same for bytes that are at hand."""

    def __init__(self, data: bytes, key: str = "") -> None:
        self.data, self.length, self.key = data, len(data), key

    def into(self, out: memoryview, start: int = 0) -> None:
        """Fill memory with its bytes from `start` on."""
        if len(out):
            out[:] = memoryview(self.data)[start : start + len(out)]


class Traits(NamedTuple):
    """What a tensor is besides its numbers: an object of a class, by the class's name if it is not a plain tensor, that
    asks for a gradient, with attributes; `state` is what the attributes were read from."""

    cls: str = ""
    grad: bool = False
    attributes: Mapping[Any, Any] = MappingProxyType({})
    state: Any = None


@dataclass(eq=False, slots=True)
class Form:
    """The type, size and bytes of a tensor, and how it is quantised: what is shown of it before it is read."""

    dtype: str
    shape: Sequence[int]
    nbytes: int
    scheme: str


class Turns:
    """Memory for pieces of bytes, which take turns: one is written over when so many others were taken."""

    def __init__(self, count: int) -> None:
        self._memory = [bytearray() for _ in range(count)]
        self._taken = 0

    def take(self, size: int) -> memoryview:
        """Memory for the next piece."""
        place = self._taken % len(self._memory)
        self._taken += 1
        if len(self._memory[place]) < size:
            self._memory[place] = bytearray(size)
        return memoryview(self._memory[place])[:size]


class Stored:
    """A tensor in a file: `dtype` is torch's name of the type, `scheme` how it is quantised, if it is, with what
    numbers (`options`)."""

    dtype: str
    shape: tuple[int, ...]
    scheme: str = ""
    options: Mapping[str, Any] = MappingProxyType({})
    traits: Traits | None = None
    origin: Any = None  # what it was read from, for those who write that again
    live: Any = None  # the tensor in memory that it stands for, if it is in no file

    @property
    def count(self) -> int:
        """The number of items."""
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of all items."""
        return self.count * WIDTHS[self.dtype]

    def into(self, out: memoryview, start: int = 0) -> None:
        """Fill memory with the bytes of the contiguous tensor from byte `start` on; both are multiples of an item."""
        raise NotImplementedError

    def read(self) -> bytearray:
        """All bytes of the contiguous tensor."""
        out = bytearray(self.nbytes)
        self.into(memoryview(out))
        return out

    def pieces(self, most: int = PIECE, turns: Turns | None = None) -> Iterator[memoryview]:
        """The bytes of the contiguous tensor, at most so many at a time, each in memory that is used again for the next
        piece, or when it is its turn."""
        total, width = self.nbytes, WIDTHS[self.dtype]
        size = min(total, max(most // width, 1) * width)
        turns = turns or Turns(1)
        for start in range(0, total, size or 1):
            piece = turns.take(min(size, total - start))
            self.into(piece, start)
            yield piece


class Strided(Stored):
    """Items of memory, by offset and strides, which count items. `foreign`: their bytes are in the other order.
    ValueError if the memory is too short for them."""

    def __init__(
        self,
        dtype: str,
        shape: Sequence[int],
        memory: Run,
        stride: Sequence[int] | None = None,
        start: int = 0,
        foreign: bool = False,
    ) -> None:
        self.dtype, self.shape, self.memory, self.start = dtype, tuple(shape), memory, start
        self.stride = contiguous(self.shape) if stride is None else tuple(stride)
        self.foreign = foreign and WIDTHS[dtype] > 1
        numbers = (*self.shape, *self.stride, start)
        if len(self.shape) != len(self.stride) or any(
            n.__class__ is not int or not 0 <= n < _LARGEST for n in numbers
        ):
            raise ValueError("a wrong tensor")
        _check_dimensions(self.shape)
        if self.span * WIDTHS[dtype] > memory.length - start * WIDTHS[dtype]:
            raise ValueError("a tensor is out of bounds")

    @classmethod
    def whole(cls, dtype: str, shape: tuple[int, ...], memory: Run) -> Strided:
        """The contiguous tensor that is all of some memory, of which the caller knows that it is as long as that."""
        made = cls.__new__(cls)
        made.dtype, made.shape, made.memory, made.start, made.foreign = (
            dtype,
            shape,
            memory,
            0,
            False,
        )
        made.stride = contiguous(shape)
        return made

    @property
    def span(self) -> int:
        """The items from its first to its last one in memory."""
        if not all(self.shape):
            return 0
        return 1 + sum((n - 1) * step for n, step in zip(self.shape, self.stride, strict=True))

    @property
    def is_contiguous(self) -> bool:
        """Do its items follow each other in memory?"""
        return self.count < 2 or all(
            n == 1 or have == want
            for n, have, want in zip(self.shape, self.stride, contiguous(self.shape), strict=True)
        )

    def into(self, out: memoryview, start: int = 0) -> None:
        """As for all kinds."""
        width = WIDTHS[self.dtype]
        if self.is_contiguous:
            self.memory.into(out, self.start * width + start)
        elif len(out):
            whole = bytearray(self.span * width)
            self.memory.into(memoryview(whole), self.start * width)
            items = np.frombuffer(whole, f"V{width}")
            steps = [step * width for step in self.stride]
            view = np.lib.stride_tricks.as_strided(items, self.shape, steps).reshape(-1)
            out[:] = view[start // width : (start + len(out)) // width].tobytes()
        if self.foreign:
            turn(out, self.dtype)

    def pieces(self, most: int = PIECE, turns: Turns | None = None) -> Iterator[memoryview]:
        """As for all kinds; if they are all of its memory, the checksum is verified after the last one."""
        memory = self.memory
        is_all = memory.length == self.nbytes and self.is_contiguous and not self.foreign
        if not is_all or not isinstance(memory, Memory) or not memory.is_to_verify:
            yield from super().pieces(most, turns)
            return
        crc = 0
        for piece in super().pieces(most, turns):
            crc = zlib.crc32(piece, crc)
            yield piece
        memory.compare(crc)


class Flipped(Stored):
    """A tensor of which the conjugate or the negative is meant (`marks`: "conj", "neg"), as torch's lazy views are."""

    def __init__(self, of: Stored, marks: tuple[str, ...]) -> None:
        self.of, self.marks = of, marks
        self.dtype, self.shape = of.dtype, of.shape

    def into(self, out: memoryview, start: int = 0) -> None:
        """As for all kinds."""
        self.of.into(out, start)
        items = np.frombuffer(
            out, {"complex64": "c8", "complex128": "c16"}.get(self.dtype, self.dtype)
        )
        if "conj" in self.marks:
            np.conjugate(items, out=items)
        if "neg" in self.marks:
            np.negative(items, out=items)


class Composite(Stored):
    """A tensor that is made of others: sparse, nested, or none at all on the meta device (`kind`)."""

    def __init__(
        self,
        kind: str,
        dtype: str,
        shape: Sequence[int],
        parts: dict[str, Stored],
        options: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        self.kind, self.dtype, self.shape = kind, dtype, tuple(shape)
        self.parts, self.options = parts, options
        _check_dimensions(self.shape)

    @property
    def nbytes(self) -> int:
        """The bytes of its parts."""
        return sum(part.nbytes for part in self.parts.values())

    def into(self, out: memoryview, start: int = 0) -> None:
        """QError: its parts have the numbers."""
        raise QError(f"ckpt: a {self.kind} tensor is not contiguous; its parts are tensors")


class Pieced(Stored):
    """A tensor whose parts are tensors elsewhere: (offsets, part) each. ValueError if a part is out of bounds; QError
    when items are read that no part has."""

    def __init__(
        self,
        dtype: str,
        shape: Sequence[int],
        parts: Sequence[tuple[Sequence[int], Stored]],
        missing: str = "a part is missing",
    ) -> None:
        self.dtype, self.shape, self.parts, self.missing = dtype, tuple(shape), list(parts), missing
        _check_dimensions(self.shape)
        for offsets, part in parts:
            bounds = zip(offsets, part.shape, self.shape, strict=True)
            if part.dtype != dtype or any(o < 0 or o + n > size for o, n, size in bounds):
                raise ValueError("a part is out of bounds")

    def into(self, out: memoryview, start: int = 0) -> None:
        """As for all kinds: whole rows are put together."""
        width = WIDTHS[self.dtype]
        shape = self.shape or (1,)
        row = prod(shape[1:]) * width
        if not len(out) or not row:
            return
        first, last = start // row, -(-(start + len(out)) // row)
        is_direct = start == first * row and len(out) == (last - first) * row
        rows = out if is_direct else memoryview(bytearray((last - first) * row))
        items = np.frombuffer(rows, f"V{width}").reshape(last - first, *shape[1:])
        if not self._is_covered(first, last):
            raise QError(f"ckpt: {self.missing}")
        for offsets, part in self.parts:
            self._put(items, first, last, offsets or (0,), part)
        if not is_direct:
            out[:] = rows[start - first * row : start - first * row + len(out)]

    def _put(
        self, items: np.ndarray, first: int, last: int, offsets: Sequence[int], part: Stored
    ) -> None:
        """Put what a part has of some rows."""
        shape = part.shape or (1,)
        low, high = max(first, offsets[0]), min(last, offsets[0] + shape[0])
        if low >= high or not part.count:
            return
        width = WIDTHS[self.dtype]
        line = prod(shape[1:]) * width
        data = bytearray((high - low) * line)
        part.into(memoryview(data), (low - offsets[0]) * line)
        target = items[low - first : high - first]
        where = tuple(slice(o, o + n) for o, n in zip(offsets[1:], shape[1:], strict=True))
        target[(slice(None), *where)] = np.frombuffer(data, f"V{width}").reshape(
            high - low, *shape[1:]
        )

    def _is_covered(self, first: int, last: int) -> bool:
        """Do the parts, which may overlap, cover these rows?"""
        shape = self.shape or (1,)
        if all((part.shape or (1,))[1:] == shape[1:] for _, part in self.parts):  # whole rows
            for offsets, part in sorted(self.parts, key=lambda pair: tuple(pair[0])):
                low, count = (offsets or (0,))[0], (part.shape or (1,))[0]
                if low <= first:
                    first = max(first, low + count)
            return first >= last
        seen = np.zeros((last - first, *shape[1:]), bool)
        for offsets, part in self.parts:
            begin, sizes = offsets or (0,), part.shape or (1,)
            low, high = max(first, begin[0]), min(last, begin[0] + sizes[0])
            where = tuple(slice(o, o + n) for o, n in zip(begin[1:], sizes[1:], strict=True))
            if low < high:
                seen[(slice(low - first, high - first), *where)] = True
        return bool(seen.all())


class Computed(Stored):
    """A tensor that is computed from others when its numbers are asked for: `make()` gives its bytes."""

    def __init__(
        self,
        dtype: str,
        shape: Sequence[int],
        scheme: str,
        make: Callable[[], bytes | bytearray | memoryview],
    ) -> None:
        self.dtype, self.shape, self.scheme, self.make = dtype, tuple(shape), scheme, make

    def into(self, out: memoryview, start: int = 0) -> None:
        """As for all kinds."""
        if len(out):
            out[:] = memoryview(self.make()).cast("B")[start : start + len(out)]


def _check_dimensions(shape: Sequence[int]) -> None:
    """ValueError if there are more than torch has: their product may be very long."""
    if len(shape) > MOST_DIMS:
        raise ValueError(f"a tensor has {len(shape)} dimensions")


@lru_cache(1000)
def contiguous(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a contiguous tensor, in items."""
    steps, step = [], 1
    for n in reversed(shape):
        steps.append(step)
        step *= max(n, 1)
    return tuple(reversed(steps))


def turn(out: memoryview, dtype: str) -> None:
    """Turn the bytes of items around, in place."""
    width = WIDTHS[dtype] // (2 if dtype.startswith("complex") else 1)
    if width > 1 and len(out):
        np.frombuffer(out, f"u{width}").byteswap(inplace=True)


def is_foreign(order: str) -> bool:
    """Are bytes in this order, "little" or "big", not in the machine's?"""
    return order != sys.byteorder
