"""The layout of .safetensors files: a length, a JSON header with type, shape and offsets of each tensor, then their
bytes.

As documented: the offsets are in bounds and consecutive, without overlaps or holes. Files written by kshell have in
their metadata a checksum of each tensor, and a digest of the header, which is verified on reading.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Sequence
from math import prod
from operator import mul, sub
from typing import Any, NamedTuple

from kshell.checkpoints.base.stored import MOST_DIMS, File
from kshell.store.archive import Room, bounded_names, one_value

# fmt: off  # a table
# type names and bytes per item
SIZES = {
    "F4": 1,
    "BOOL": 1,
    "U8": 1,
    "I8": 1,
    "F8_E5M2": 1,
    "F8_E4M3": 1,
    "F8_E5M2FNUZ": 1,
    "F8_E4M3FNUZ": 1,
    "F8_E8M0": 1,
    "I16": 2,
    "U16": 2,
    "F16": 2,
    "BF16": 2,
    "I32": 4,
    "U32": 4,
    "F32": 4,
    "F64": 8,
    "I64": 8,
    "U64": 8,
    "C64": 8,
}
# fmt: on
HALVES = {"F4"}  # types whose items are pairs of values in a byte; shapes count values
BITS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6}  # of a value, where it is not whole bytes
_BITS = {name: 8 * size for name, size in SIZES.items()} | BITS  # of a value of each type
DIGEST = "kshell_header_sha256"
SUMS = "kshell_crc32"  # of the tensors in the order of their bytes, eight digits each
OWN = (DIGEST, SUMS)  # in the metadata of files written by kshell
MOST = 100_000_000  # maximum bytes of a header
_TENSOR = 1000  # approximate bytes of memory per tensor, besides its content
# bytes of memory allowed for a tensor in a header, by its mark, and the bytes that it takes there at least
_GRANTED, _OFFSETS, _SHORTEST = 2400, b'"data_offsets"', 51
_PART = 60  # and per part of a header's text
_META = "__metadata__"
_BEGIN = f'{{"{_META}":'


class Place(NamedTuple):
    """A tensor in a file: name, type, shape, first and last byte after the header."""

    name: str
    dtype: str
    shape: Sequence[int]
    start: int
    end: int


class Header(NamedTuple):
    """The tensors in a file, by column in the header's order; `order` are their numbers in the order of their bytes,
    `origin` is the offset of these."""

    names: list[str]
    dtypes: list[str]
    shapes: list[Sequence[int]]
    starts: list[int]
    ends: list[int]
    metadata: dict[str, str]
    order: Sequence[int]
    origin: int

    @property
    def places(self) -> list[Place]:
        """The tensors one by one."""
        return [*map(Place, self.names, self.dtypes, self.shapes, self.starts, self.ends)]


# the first ones of these columns
_Columns = tuple[list[str], list[str], list[Sequence[int]], list[int], list[int], dict[str, str]]


def read_header(file: File, room: Room) -> Header:
    """The tensors in a file. ValueError and the like if the header is invalid, or does not match the file."""
    size = file.size
    length = int.from_bytes(file.read(0, min(8, size)), "little")
    if size < 8 or not 2 <= length <= min(MOST, size - 8):
        raise ValueError("the header has a wrong length")
    data = file.read(8, length)
    room.left += _GRANTED * min(data.count(_OFFSETS), length // _SHORTEST)
    columns = _cut(data, room) or _parsed(data, room)
    names, _, _, starts, ends, _ = columns
    order: Sequence[int] = range(len(names))
    if starts != [0, *ends[:-1]]:
        spans = [*zip(starts, ends, strict=True)]
        order = sorted(order, key=spans.__getitem__)
        offset = 0
        for i in order:
            if starts[i] != offset:
                raise ValueError(f"{names[i]} is out of place")
            offset = ends[i]
    if (ends[order[-1]] if names else 0) != size - 8 - length:
        raise ValueError("the file has a wrong length")
    return Header(*columns, order, 8 + length)


def _parsed(data: bytes, room: Room) -> _Columns:
    """The tensors of a header, and its metadata. ValueError and the like if it is invalid."""
    entries = bounded_names(data, room)
    if not isinstance(entries, dict):
        raise ValueError("the header is no dictionary")
    room.need(_TENSOR * len(entries))
    metadata = _checked(entries.pop(_META, None) or {})
    columns = zip(*(_place(key, value) for key, value in entries.items()), strict=True)
    names, dtypes, shapes, starts, ends = map(list, columns) if entries else ([] for _ in range(5))
    return names, dtypes, shapes, starts, ends, metadata


def _checked(metadata: Any) -> dict[str, str]:
    if not isinstance(metadata, dict) or any(
        value.__class__ is not str for value in metadata.values()
    ):
        raise ValueError("the metadata are no texts")
    return metadata


_NUMBER = "(?:0|[1-9][0-9]*)"
# a tensor's entry as programs write it, without blanks and escapes; beside its groups it has so many characters
_ENTRY = re.compile(
    r'"([^"\\\x00-\x1f]*)":\{"dtype":"(\w+)","shape":\[((?:'
    + f"{_NUMBER}(?:,{_NUMBER})*"
    + r')?)\],"data_offsets":\[('
    + f"{_NUMBER}),({_NUMBER}"
    + r')\]\}(?:,(?=")|\}\Z)'
)
_BESIDE = len('"":{"dtype":"","shape":[],"data_offsets":[,]},')


def _cut(data: bytes, room: Room) -> _Columns | None:
    """The same of a header as programs write it, in half the time. None for others, which are to be parsed; also for
    wrong ones: parsing tells what is wrong."""
    before = room.left
    try:
        # parts of ten quotes each, and characters of up to four bytes
        room.need(_PART * data.count(b'"') + 13 * len(data))
        return _by_column(data, room)
    except (ValueError, KeyError):
        room.left = before
        return None


def _by_column(data: bytes, room: Room) -> _Columns:
    """Find the entries in the text, and convert and compare a column at a time: they are all of it if they are as long
    together. ValueError or KeyError if something else is there, or an entry is wrong."""
    text = data.rstrip(b" ").decode()
    metadata: Any = {}
    begin = 1
    if text.startswith(_BEGIN):
        metadata, end = one_value(text, len(_BEGIN))
        if text[end : end + 1] != ",":
            raise ValueError
        begin = end + 1
    names, dtypes, sizes, firsts, lasts = (
        [*column] for column in zip(*_ENTRY.findall(text, begin), strict=True)
    )
    count = len(names)
    room.need(_TENSOR * count)
    shapes = {size: [*map(int, size.split(","))] if size else [] for size in {*sizes}}
    if max(map(len, shapes.values())) > MOST_DIMS:  # their product may be very long
        raise ValueError
    lengths = {size: prod(shape) for size, shape in shapes.items()}
    starts, ends = [*map(int, firsts)], [*map(int, lasts)]
    bits = map(mul, map(_BITS.__getitem__, dtypes), map(lengths.__getitem__, sizes))
    columns = (names, dtypes, sizes, firsts, lasts)
    is_right = (
        text.startswith("{")
        and len(text) - begin == _BESIDE * count + sum(len("".join(column)) for column in columns)
        and [*bits] == [8 * length for length in map(sub, ends, starts)]
        and len({*names, _META}) == count + 1  # none is twice
        and BITS.keys().isdisjoint(dtypes)
    )
    if not is_right:
        raise ValueError
    return names, dtypes, [*map(shapes.__getitem__, sizes)], starts, ends, _checked(metadata)


def _place(name: str, v: dict[str, Any]) -> Place:
    try:
        dtype, shape, (start, end) = v["dtype"], v["shape"], v["data_offsets"]
        length = _BITS[dtype]
    except KeyError as e:
        if isinstance(v, dict) and "dtype" in v and e.args[0] == v["dtype"]:
            raise ValueError(f"{name} has type {v['dtype']}, which is not known") from None
        raise ValueError(f"{name} has a wrong description") from None
    if len(shape) > MOST_DIMS:
        raise ValueError(f"{name} has {len(shape)} dimensions")
    for number in shape:
        if number.__class__ is not int or number < 0:
            raise ValueError(f"{name} has wrong numbers")
        length *= number
    if start.__class__ is not int or end.__class__ is not int or start < 0:
        raise ValueError(f"{name} has wrong numbers")
    if dtype in BITS and (length % 8 or (dtype in HALVES and (not shape or shape[-1] % 2))):
        raise ValueError(f"{name} has a wrong shape")
    if 8 * (end - start) != length:
        raise ValueError(f"{name} has a wrong length")
    return Place(name, dtype, tuple(shape), start, end)


def layout(tensors: Sequence[tuple[str, str, Sequence[int]]]) -> list[Place]:
    """Offsets for tensors, given by name, type and shape: the widest items first, so that all are aligned."""
    lengths = {}
    for name, dtype, shape in tensors:
        lengths[name] = prod(shape) * _BITS[dtype] // 8
    starts, offset = {}, 0
    for name, _, _ in sorted(tensors, key=lambda t: -SIZES.get(t[1], 1)):
        starts[name] = offset
        offset += lengths[name]
    return [
        Place(name, dtype, tuple(shape), starts[name], starts[name] + lengths[name])
        for name, dtype, shape in tensors
    ]


def digest(places: Sequence[Place], meta: dict[str, str]) -> str:
    """The digest of a header: names, types, shapes, offsets and metadata."""
    entries = sorted((key, value) for key, value in meta.items() if key != DIGEST)
    text = json.dumps([sorted(map(list, places)), entries])
    return hashlib.sha256(text.encode()).hexdigest()


def sums(found: Header) -> list[int]:
    """The checksum of each tensor, in the order of the header; none if another program wrote the file. ValueError if
    the header is not as it was written."""
    meta = found.metadata
    if not {*OWN} & {*meta}:
        return []
    if meta.get(DIGEST) != digest(found.places, meta):
        raise ValueError("the digest is another")
    text = meta[SUMS]
    result = [0] * len(found.names)
    for i, row in enumerate(found.order):
        result[row] = int(text[8 * i : 8 * i + 8], 16)
    return result


def header(places: Sequence[Place], meta: dict[str, str]) -> bytes:
    """The first bytes of a file."""
    text: dict[str, Any] = {_META: meta} if meta else {}
    text |= {
        place.name: {
            "dtype": place.dtype,
            "shape": list(place.shape),
            "data_offsets": [place.start, place.end],
        }
        for place in places
    }
    data = json.dumps(text, separators=(",", ":")).encode()
    data += b" " * (-len(data) % 8)
    return struct.pack("<Q", len(data)) + data
