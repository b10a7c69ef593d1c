"""The layout of .safetensors files: a length, a JSON header with type, shape and offsets of each tensor, then their
bytes.

As documented: the offsets are in bounds and consecutive, without overlaps or holes. Files written by kshell have in
their metadata a checksum of each tensor, and a digest of the header, which is verified on reading.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Sequence
from math import prod
from operator import itemgetter
from typing import Any, NamedTuple

from kshell.checkpoints.base.stored import MOST_DIMS, File
from kshell.store.archive import Room, bounded_names

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
_META = "__metadata__"


_SPAN = itemgetter(3, 4)  # of a Place: first and last byte


class Place(NamedTuple):
    """A tensor in a file: name, type, shape, first and last byte after the header."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    start: int
    end: int


def read_header(file: File, room: Room) -> tuple[list[Place], dict[str, str], int]:
    """The tensors in a file, in the header's order, its metadata, and the offset of the data. ValueError and the like
    if the header is invalid, or does not match the file."""
    size = file.size
    length = int.from_bytes(file.read(0, min(8, size)), "little")
    if size < 8 or not 2 <= length <= min(MOST, size - 8):
        raise ValueError("the header has a wrong length")
    entries = bounded_names(file.read(8, length), room)
    if not isinstance(entries, dict):
        raise ValueError("the header is no dictionary")
    room.need(_TENSOR * len(entries))
    metadata = entries.pop(_META, None) or {}
    if not isinstance(metadata, dict) or any(
        value.__class__ is not str for value in metadata.values()
    ):
        raise ValueError("the metadata are no texts")
    places = [_place(key, value) for key, value in entries.items()]
    offset = 0
    for place in sorted(places, key=_SPAN):
        if place.start != offset:
            raise ValueError(f"{place.name} is out of place")
        offset = place.end
    if offset != size - 8 - length:
        raise ValueError("the file has a wrong length")
    return places, metadata, 8 + length


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


def sums(places: Sequence[Place], meta: dict[str, str]) -> dict[str, int]:
    """The checksum of each tensor, by name; none if another program wrote the file. ValueError if the header is not as
    it was written."""
    if not {*OWN} & {*meta}:
        return {}
    if meta.get(DIGEST) != digest(places, meta):
        raise ValueError("the digest is another")
    text, order = meta[SUMS], sorted(places, key=lambda p: (p.start, p.end))
    return {place.name: int(text[8 * i : 8 * i + 8], 16) for i, place in enumerate(order)}


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
