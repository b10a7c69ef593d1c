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
from dataclasses import dataclass
from math import prod
from operator import attrgetter, sub
from typing import Any, NamedTuple

from kshell.checkpoints.base.stored import MOST_DIMS, WIDTHS, File, Form
from kshell.store.archive import Room, bounded_names, one_value

# fmt: off  # a table
# types by name: torch's name of each, and bytes per item
DTYPES = {
    "F4": "float4_e2m1fn_x2",
    "BOOL": "bool",
    "U8": "uint8",
    "I8": "int8",
    "F8_E5M2": "float8_e5m2",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E8M0": "float8_e8m0fnu",
    "I16": "int16",
    "U16": "uint16",
    "F16": "float16",
    "BF16": "bfloat16",
    "I32": "int32",
    "U32": "uint32",
    "F32": "float32",
    "F64": "float64",
    "I64": "int64",
    "U64": "uint64",
    "C64": "complex64",
}
# fmt: on
SIZES = {name: WIDTHS[dtype] for name, dtype in DTYPES.items()}
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
_ENTRY_COST = 1600  # of those, what is taken of an entry that is found by its pattern
_META = "__metadata__"
_BEGIN = f'{{"{_META}":'


@dataclass(eq=False, slots=True)
class FileForm(Form):
    """The same as a header has it: the name of the type, and the size, which counts values."""

    word: str
    size: Sequence[int]


def form_of(word: str, size: Sequence[int]) -> FileForm:
    """That of a type and size in a header. ValueError says what is wrong with these."""
    if word not in _BITS:
        raise ValueError(f"has type {word}, which is not known")
    if len(size) > MOST_DIMS:  # their product may be very long
        raise ValueError(f"has {len(size)} dimensions")
    if any(n.__class__ is not int or n < 0 for n in size):
        raise ValueError("has wrong numbers")
    shape, bits = tuple(size), prod(size) * _BITS[word]
    if bits % 8 or (word in HALVES and (not shape or shape[-1] % 2)):
        raise ValueError("has a wrong shape")
    if word in DTYPES:
        shape = (*shape[:-1], shape[-1] // 2) if word in HALVES else shape
        return FileForm(DTYPES[word], shape, bits // 8, "", word, size)
    return FileForm("uint8", (bits // 8,), bits // 8, word, word, size)  # torch has no such type


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
    forms: list[FileForm]
    starts: list[int]
    ends: list[int]
    metadata: dict[str, str]
    order: Sequence[int]
    origin: int

    @property
    def places(self) -> list[Place]:
        """The tensors one by one."""
        forms = self.forms
        words, sizes = [form.word for form in forms], [form.size for form in forms]
        return [*map(Place, self.names, words, sizes, self.starts, self.ends)]


# the first ones of these columns
_Columns = tuple[list[str], list[FileForm], list[int], list[int], dict[str, str]]


def read_header(file: File, room: Room) -> Header:
    """The tensors in a file. ValueError and the like if the header is invalid, or does not match the file."""
    size = file.size
    length = int.from_bytes(file.begin[:8], "little")
    if size < 8 or not 2 <= length <= min(MOST, size - 8):
        raise ValueError("the header has a wrong length")
    data = file.read(8, length)
    marks = min(data.count(_OFFSETS), length // _SHORTEST)
    room.left += _GRANTED * marks
    columns = _found(data, marks, room) or _parsed(data, room)
    names, _, starts, ends, _ = columns
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
    forms, starts, ends = map(list, columns) if entries else ([], [], [])
    return [*entries], forms, starts, ends, metadata


def _checked(metadata: Any) -> dict[str, str]:
    if not isinstance(metadata, dict) or any(
        value.__class__ is not str for value in metadata.values()
    ):
        raise ValueError("the metadata are no texts")
    return metadata


def _place(name: str, v: dict[str, Any]) -> tuple[FileForm, int, int]:
    """The form of a tensor by its entry in a header, its first and last byte."""
    try:
        word, size, (start, end) = v["dtype"], v["shape"], v["data_offsets"]
    except KeyError:
        raise ValueError(f"{name} has a wrong description") from None
    try:
        form = form_of(word, size)
    except ValueError as e:
        raise ValueError(f"{name} {e}") from None
    if start.__class__ is not int or end.__class__ is not int or start < 0:
        raise ValueError(f"{name} has wrong numbers")
    if end - start != form.nbytes:
        raise ValueError(f"{name} has a wrong length")
    return form, start, end


_NUMBER = "(?:0|[1-9][0-9]*+)"
# a tensor's entry as programs write it, without blanks and escapes; beside its groups it has so many characters
_ENTRY = re.compile(
    r'"([^"\\\x00-\x1f]*+)":\{"dtype":"([^\]]*+)\],"data_offsets":\['
    + f"({_NUMBER}),({_NUMBER})"
    + r'\]\}(?:,(?=")|\}\Z)'
)
_BESIDE = len('"":{"dtype":"],"data_offsets":[,]},')
# its second group: the type and size, which many tensors have in common
_FORM = re.compile(rf'(\w+)","shape":\[((?:{_NUMBER}(?:,{_NUMBER})*)?)')


def _found(data: bytes, marks: int, room: Room) -> _Columns | None:
    """The same of a header as programs write it, in less than half the time, if it has at most so many entries. None
    for others, which are to be parsed; also for wrong ones: parsing tells what is wrong."""
    before = room.left
    try:
        room.need(_ENTRY_COST * marks + 5 * len(data))  # characters of up to four bytes
        return _by_column(data)
    except ValueError:
        room.left = before
        return None


def _by_column(data: bytes) -> _Columns:
    """Find the entries in the text, and convert and compare a column at a time: they are all of it if they are as long
    together. ValueError if something else is there, or an entry is wrong."""
    text = data.rstrip(b" ").decode()
    metadata: Any = {}
    begin = 1
    if text.startswith(_BEGIN):
        metadata, end = one_value(text, len(_BEGIN))
        if text[end : end + 1] != ",":
            raise ValueError
        begin = end + 1
    columns = [*zip(*_ENTRY.findall(text, begin), strict=True)]
    names, kinds, firsts, lasts = columns
    by_kind = {kind: _form_in(kind) for kind in {*kinds}}
    forms, ends = [*map(by_kind.__getitem__, kinds)], [*map(int, lasts)]
    is_in_order = firsts == ("0", *lasts[:-1])
    starts = [0, *ends[:-1]] if is_in_order else [*map(int, firsts)]
    is_right = (
        text.startswith("{")
        and len(text) - begin
        == sum(len("".join(column)) for column in columns) + _BESIDE * len(names)
        and [*map(sub, ends, starts)] == [*map(_NBYTES, forms)]
        and len({*names, _META}) == len(names) + 1  # none is twice
    )
    if not is_right:
        raise ValueError
    return [*names], forms, starts, ends, _checked(metadata)


_NBYTES = attrgetter("nbytes")


def _form_in(text: str) -> FileForm:
    """The form that a text of an entry says."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError
    word, size = found.groups()
    return form_of(word, [*map(int, size.split(","))] if size else [])


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
