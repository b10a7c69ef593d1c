"""The layout of GGUF files: fields of metadata, a description of each tensor, then their bytes at aligned offsets.

As documented for versions 2 and 3, in either byte order. Opening a file reads the fields and descriptions only.
"""

from __future__ import annotations

import struct
from math import prod
from typing import Any, NamedTuple

import numpy as np

from kshell.checkpoints.base.stored import (
    WIDTHS,
    File,
    Memory,
    Stored,
    Strided,
    contiguous,
    is_foreign,
)
from kshell.checkpoints.quantized import quants
from kshell.checkpoints.quantized.on_demand import OnDemand
from kshell.errors import QError
from kshell.store.archive import Room

MAGIC = b"GGUF"
ALIGNMENT = "general.alignment"
_USUAL_ALIGNMENT = 32
_WINDOW = 1 << 18  # bytes of the head that are read at a time
_DEEPEST = 4  # arrays within one another
_MOST_DIMENSIONS = 4
_LONGEST = 1 << 63  # no tensor has as many numbers
_TENSOR = 1500  # approximate bytes of memory per tensor, besides its name
_FIELD = 200  # and per field
_LIST, _ITEM = 56, 8  # bytes of a list, and of a place in it
_FLOAT, _INTEGER = 24, 32  # bytes of a number; Python has small integers once
_ASCII, _TEXT = 56, 80  # bytes of a text besides its characters
_SHORTEST_FIELD = 8 + 4 + 1  # bytes that a field has in a file at least
_SHORTEST_TENSOR = 8 + 4 + 4 + 8
_IS_TEXT, _IS_ARRAY, _IS_BOOL = 8, 9, 7
# fmt: off  # a table
# by number: struct's letters of the types of fields
_FIELDS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "B",
    10: "Q",
    11: "q",
    12: "d",
}
# types of tensors whose items are numbers: name, and torch's name
PLAIN = {
    0: ("F32", "float32"),
    1: ("F16", "float16"),
    24: ("I8", "int8"),
    25: ("I16", "int16"),
    26: ("I32", "int32"),
    27: ("I64", "int64"),
    28: ("F64", "float64"),
    30: ("BF16", "bfloat16"),
}
# fmt: on


class Blocks(OnDemand):
    """A tensor of quantised blocks, as float32. `packed`: its bytes as they are in the file, by row."""

    def __init__(
        self, name: str, shape: tuple[int, ...], scheme: str, packed: Strided, foreign: bool
    ) -> None:
        kind = quants.KINDS[scheme]
        super().__init__("float32", shape, scheme, kind.size, {name: packed})
        self.packed, self._length, self._foreign = packed, kind.length, foreign

    def compute(self, first: int, last: int) -> np.ndarray:
        """The numbers of blocks first..last-1."""
        data = bytearray((last - first) * self._length)
        self.packed.into(memoryview(data), first * self._length)
        return quants.dequantised(self.scheme, data, self._foreign)


class Listed(Stored):
    """A tensor whose numbers are not computed, since its type is not known or needs tables. `packed` as for blocks,
    None if the length of its bytes is not known."""

    dtype = "float32"

    def __init__(
        self, path: str, name: str, shape: tuple[int, ...], scheme: str, packed: Strided | None
    ) -> None:
        self.path, self.name, self.shape = path, name, shape
        self.scheme, self.packed = scheme, packed

    def into(self, out: memoryview, start: int = 0) -> None:
        """QError that says so."""
        kind = self.scheme.removeprefix("type ")
        raise QError(
            f"ckpt: {self.path}: {_shown(self.name)} is of type {kind}, whose numbers kshell does not compute"
        )


class _Tensor(NamedTuple):
    """A description: name, shape in torch's order, number of the type, offset from the first byte of the data."""

    name: str
    shape: tuple[int, ...]
    kind: int
    offset: int


class _Head:
    """The head of a file, read in order. ValueError if it ends too early."""

    def __init__(self, file: File, room: Room) -> None:
        self._file, self.room = file, room
        self._window, self._start, self._at = b"", 0, 0
        self.order = "<"
        room.need(2 * _WINDOW)

    @property
    def position(self) -> int:
        """The offset of the next byte in the file."""
        return self._start + self._at

    @property
    def left(self) -> int:
        """The bytes of the file from there on."""
        return self._file.size - self.position

    def _have(self, n: int) -> None:
        """Have the next n bytes in the window."""
        if self._at + n <= len(self._window):
            return
        if n > self.left:
            raise ValueError("it is cut off")
        if n > _WINDOW:
            self.room.need(2 * n)
        self._start, self._at = self.position, 0
        self._window = self._file.read(self._start, min(max(n, _WINDOW), self.left))

    def take(self, n: int) -> bytes:
        """The next n bytes."""
        self._have(n)
        self._at += n
        return self._window[self._at - n : self._at]

    def number(self, letter: str) -> Any:
        """A number, by struct's letter of its type."""
        width = struct.calcsize("<" + letter)
        return struct.unpack(self.order + letter, self.take(width))[0]

    def text(self) -> str:
        """A text. Bytes that are not UTF-8, as tokens may be, are written as escapes."""
        (found,) = self.texts(1)
        return found

    def texts(self, count: int) -> list[str]:
        """So many texts. This loop runs for each of some 100,000 tokens."""
        if count > self.left // 8:
            raise ValueError("it is cut off")
        self.room.need(_LIST + _ITEM * count)
        found: list[str] = []
        length_of = struct.Struct(self.order + "Q").unpack_from
        for _ in range(count):
            if self._at + 8 > len(self._window):
                self._have(8)
            (n,) = length_of(self._window, self._at)
            self._at += 8
            if self._at + n > len(self._window):
                self._have(n)
            data = self._window[self._at : self._at + n]
            self._at += n
            self.room.need(_ASCII + n if data.isascii() else _TEXT + 4 * n)
            found.append(data.decode(errors="backslashreplace"))
        return found

    def value(self, kind: int, depth: int = 0) -> Any:
        """The value of a field of a type."""
        if kind == _IS_TEXT:
            return self.text()
        if kind == _IS_ARRAY:
            return self._array(depth + 1)
        if kind not in _FIELDS:
            raise ValueError(f"its type {kind} is not known")
        found = self.number(_FIELDS[kind])
        return bool(found) if kind == _IS_BOOL else found

    def _array(self, depth: int) -> list[Any]:
        if depth > _DEEPEST:
            raise ValueError(f"its arrays are more than {_DEEPEST} deep")
        kind, count = self.number("I"), self.number("Q")
        if kind == _IS_TEXT:
            return self.texts(count)
        if kind == _IS_ARRAY:
            if count > self.left // 12:
                raise ValueError("it is cut off")
            self.room.need(_LIST + _ITEM * count)
            return [self._array(depth + 1) for _ in range(count)]
        if kind not in _FIELDS:
            raise ValueError(f"its type {kind} is not known")
        return self._numbers(kind, count)

    def _numbers(self, kind: int, count: int) -> list[Any]:
        """An array of numbers."""
        dtype = np.dtype(self.order + np.dtype(_FIELDS[kind]).str[1:])
        if count > self.left // dtype.itemsize:
            raise ValueError("it is cut off")
        self.room.need(_LIST + (_ITEM + dtype.itemsize) * count)
        found = np.frombuffer(self.take(count * dtype.itemsize), dtype)
        is_made = (found < -5) | (found > 256)
        self.room.need(
            _FLOAT * count if dtype.kind == "f" else _INTEGER * int(np.count_nonzero(is_made))
        )
        return (found != 0 if kind == _IS_BOOL else found).tolist()


def read(file: File, room: Room) -> tuple[dict[str, Stored], dict[str, Any]]:
    """The tensors of a file by name, and its fields: numbers, texts, and lists of them. ValueError that names the
    tensor or field if something is wrong with it, or if reading the head would need more than the budget."""
    head = _Head(file, room)
    tensors, fields = _counts(head)
    metadata: dict[str, Any] = {}
    for i in range(fields):
        _read_field(head, metadata, i)
    described: dict[str, _Tensor] = {}
    for i in range(tensors):
        found = _tensor(head, i)
        if found.name in described:
            raise ValueError(f"tensor {_shown(found.name)} is there twice")
        described[found.name] = found
    alignment = _alignment(metadata)
    start = -(-head.position // alignment) * alignment
    _check_places(list(described.values()), file.size - start, alignment)
    foreign = is_foreign("little" if head.order == "<" else "big")
    return {
        t.name: _stored(file, start, t, foreign, head.order) for t in described.values()
    }, metadata


def _counts(head: _Head) -> tuple[int, int]:
    """The numbers of tensors and of fields, after what comes before them."""
    if head.left < 24 or head.take(4) != MAGIC:
        raise ValueError("it is no GGUF file")
    version = head.take(4)
    if version[:2] == b"\0\0":  # a number below 65,536 with its high bytes first
        head.order = ">"
    (number,) = struct.unpack(head.order + "I", version)
    if number not in (2, 3):
        raise ValueError(f"version {number} of GGUF is not known")
    tensors, fields = head.number("Q"), head.number("Q")
    for count, shortest, what in (
        (tensors, _SHORTEST_TENSOR, "tensors"),
        (fields, _SHORTEST_FIELD, "fields"),
    ):
        if count > head.left // shortest:
            raise ValueError(f"it declares {count} {what}, and is too short for them")
    head.room.need(_TENSOR * tensors + _FIELD * fields)
    return tensors, fields


def _read_field(head: _Head, metadata: dict[str, Any], i: int) -> None:
    """Put the next field, number i, into a dictionary."""
    key = f"number {i}"
    problem = ""
    try:
        key = head.text()
        if key in metadata:
            problem = "it is there twice"
        else:
            metadata[key] = head.value(head.number("I"))
    except ValueError as error:
        if error.__class__ is not ValueError:  # too much memory
            raise
        problem = str(error)
    if problem:
        raise ValueError(f"field {_shown(key)}: {problem}")


def _tensor(head: _Head, i: int) -> _Tensor:
    """The next description, number i."""
    name = f"number {i}"
    try:
        name = head.text()
        dimensions = head.number("I")
        if dimensions > _MOST_DIMENSIONS:
            raise ValueError(f"it has {dimensions} dimensions")
        shape = tuple(head.number("Q") for _ in range(dimensions))[::-1]
        kind, offset = head.number("I"), head.number("Q")
        if not all(shape) or prod(shape) >= _LONGEST:
            raise ValueError(f"it has a wrong shape, {' '.join(map(str, shape))}")
        return _Tensor(name, shape, kind, offset)
    except ValueError as error:
        if error.__class__ is not ValueError:
            raise
        problem = str(error)
    raise ValueError(f"tensor {_shown(name)}: {problem}")


def _shown(name: str) -> str:
    """A name for an error."""
    text = "".join(c if c.isprintable() else "?" for c in name[:100])
    return text + ".." if len(name) > 100 else text


def _alignment(metadata: dict[str, Any]) -> int:
    found = metadata.get(ALIGNMENT, _USUAL_ALIGNMENT)
    if found.__class__ is not int or found < 1 or found & (found - 1):
        raise ValueError(f"field {ALIGNMENT}: it is no power of two")
    return found


def _length(t: _Tensor) -> int:
    """The bytes of a tensor; 0 if its type is not known."""
    if t.kind in PLAIN:
        return prod(t.shape) * WIDTHS[PLAIN[t.kind][1]]
    if t.kind not in quants.QUANTISED:
        return 0
    scheme, kind = quants.QUANTISED[t.kind]
    if not t.shape or t.shape[-1] % kind.size:
        raise ValueError(
            f"tensor {_shown(t.name)}: its rows are no multiple of {kind.size}, as those of {scheme} are"
        )
    return prod(t.shape) // kind.size * kind.length


def _check_places(tensors: list[_Tensor], size: int, alignment: int) -> None:
    """ValueError if a tensor is not at a multiple of the alignment, or out of bounds, or overlaps another."""
    end, previous = 0, ""
    for t in sorted(tensors, key=lambda t: (t.offset, _length(t))):
        if t.offset % alignment:
            raise ValueError(
                f"tensor {_shown(t.name)}: its offset {t.offset} is no multiple of {alignment}"
            )
        if t.offset < end:
            raise ValueError(f"tensor {_shown(t.name)} overlaps {_shown(previous)}")
        end, previous = t.offset + _length(t), t.name
        if end > size:
            raise ValueError(f"tensor {_shown(t.name)} is out of bounds")


def _stored(file: File, start: int, t: _Tensor, foreign: bool, order: str) -> Stored:
    """The tensor of a description. The bytes of blocks are in the file's order, whatever the machine's."""
    length = _length(t)
    memory = Memory(file, start + t.offset, length, t.name)
    if t.kind in PLAIN:
        return Strided(PLAIN[t.kind][1], t.shape, memory, foreign=foreign)
    if t.kind not in quants.QUANTISED:
        return Listed(file.path, t.name, t.shape, f"type {t.kind}", None)
    scheme, kind = quants.QUANTISED[t.kind]
    rows = (*t.shape[:-1], t.shape[-1] // kind.size * kind.length)
    packed = Strided("uint8", rows, memory, contiguous(rows))
    if kind.compute is None:
        return Listed(file.path, t.name, t.shape, scheme, packed)
    return Blocks(t.name, t.shape, scheme, packed, order == ">")
