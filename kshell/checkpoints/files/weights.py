"""Files of tensors by name: .safetensors, and folders of them or of .bin files, with an index."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain, repeat
from operator import sub
from typing import Any, NamedTuple

from kshell.checkpoints.base.stored import File, Memory, Pieced, Stored, Strided
from kshell.checkpoints.files import safetensors
from kshell.errors import QError
from kshell.store.archive import Room, bounded_names

INDEX = re.compile(r"(.*)\.(safetensors|bin)\.index(\.[\w-]+)?\.json")  # also of a variant, as fp16
SHARDING = "DCP_SHARDING_INFO"  # in the metadata of files of torch.distributed.checkpoint
# fmt: off  # a table
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


class Packed(Strided):
    """Numbers of a type that torch does not have: their bytes, and the type as `scheme`."""


def is_safetensors(begin: bytes, size: int) -> bool:
    """Are these the first bytes of a .safetensors file of a size?"""
    length = int.from_bytes(begin[:8], "little")
    return begin[8:].lstrip()[:1] == b"{" and 2 <= length <= size - 8


class Columns(NamedTuple):
    """Tensors by name: the columns of what is known of them before one is read."""

    names: list[str]
    dtypes: list[str]  # torch's names
    shapes: list[Sequence[int]]
    nbytes: list[int]
    schemes: list[str]

    @classmethod
    def of(cls, tensors: dict[str, Stored]) -> Columns:
        """Those of tensors."""
        found = tensors.values()
        return cls(
            list(tensors),
            [tensor.dtype for tensor in found],
            [tensor.shape for tensor in found],
            [tensor.nbytes for tensor in found],
            [tensor.scheme for tensor in found],
        )


class Weights:
    """The tensors of .safetensors files, which are made when they are asked for: a file may have very many, and often
    only their names, types and sizes are wanted."""

    def __init__(self, columns: Columns, make: Callable[[], dict[str, Stored]]) -> None:
        self.columns, self._make = columns, make

    @cached_property
    def tensors(self) -> dict[str, Stored]:
        """The tensors by name."""
        return self._make()


def read_file(file: File, room: Room) -> tuple[Weights, dict[str, str]]:
    """The tensors of a .safetensors file, and its metadata. ValueError and the like if it is damaged."""
    found = safetensors.read_header(file, room)
    sums = safetensors.sums(found)

    def make() -> dict[str, Stored]:
        crcs = sums or repeat(0)
        return {
            place.name: _stored(place, file, found.origin, crc)
            for place, crc in zip(found.places, crcs, strict=False)
        }

    if safetensors.BITS.keys() & {*found.dtypes}:
        weights = Weights(Columns.of(tensors := make()), lambda: tensors)
    else:
        dtypes = list(map(DTYPES.__getitem__, found.dtypes))
        nbytes = list(map(sub, found.ends, found.starts))
        columns = Columns(found.names, dtypes, found.shapes, nbytes, [""] * len(dtypes))
        weights = Weights(columns, make)
    return weights, found.metadata


def _stored(place: safetensors.Place, file: File, origin: int, crc: int) -> Stored:
    name, kind, shape, start, end = place
    part = Memory(file, origin + start, end - start, name, crc=crc)
    dtype = DTYPES.get(kind)
    if dtype is None:
        packed = Packed("uint8", (end - start,), part)
        packed.scheme = kind
        packed.options = {"size": tuple(shape)}
        return packed
    if kind in safetensors.HALVES:
        shape = (*shape[:-1], shape[-1] // 2)
    return Strided.whole(dtype, tuple(shape), part)


# ------------------------------------------------------------------ folders


def read_index(path: str, suffix: str, room: Room) -> tuple[dict[str, str], Any]:
    """The file of each tensor of a folder, from its index, and the metadata; the names of files end in `suffix`."""
    file = File(path)
    if file.size > safetensors.MOST:
        raise ValueError("it is too long")
    index = bounded_names(file.read(0, file.size), room)
    locations = index["weight_map"]
    outside = {
        place
        for place in {*locations.values()}
        if place.__class__ is not str or "/" in place or not place.endswith(suffix)
    }
    if outside:
        name = next(name for name, place in locations.items() if place in outside)
        raise ValueError(f"{name} is in a file outside the folder")
    return locations, index.get("metadata")


def index_digest(where: dict[str, str], digests: dict[str, Any]) -> str:
    """The digest of an index: which tensor is in which file, and the files' digests."""
    return hashlib.sha256(json.dumps([where, digests], sort_keys=True).encode()).hexdigest()


def check_index(where: dict[str, str], digests: dict[str, Any], about: Any) -> None:
    """ValueError if an index that kshell wrote is not the one of these files, by their digests."""
    own = about.get(safetensors.DIGEST) if isinstance(about, dict) else None
    is_ours = None not in digests.values()
    if (own is None and is_ours) or (own is not None and own != index_digest(where, digests)):
        raise ValueError("its digest is another")


def joined(
    folder: str, locations: dict[str, str], contents: dict[str, dict[str, Any]]
) -> dict[str, Any]:
    """The tensors of a folder's files (`contents`, by name of the file), in the order of its index; those that it does
    not name at the end. QError if one is missing."""
    found = {}
    for name, file in locations.items():
        if name not in contents[file]:
            raise QError(f"ckpt: {os.path.join(folder, file)} has no {name}")
        found[name] = contents[file][name]
    for tensors in contents.values():
        for name, tensor in tensors.items():
            found.setdefault(name, tensor)
    return found


def joined_weights(folder: str, locations: dict[str, str], contents: dict[str, Weights]) -> Weights:
    """The same of .safetensors files, of which no tensor is made."""
    columns = [
        [*chain.from_iterable(parts)]
        for parts in zip(*(weights.columns for weights in contents.values()), strict=True)
    ]
    names, files = columns[0], []
    for file, weights in contents.items():
        files += [file] * len(weights.columns.names)
    rows = dict(zip(names, range(len(names)), strict=True))
    order: list[Any] = [*map(rows.get, locations)]
    is_exact = len(rows) == len(names) == len(locations) and None not in order
    if not is_exact or [*map(files.__getitem__, order)] != [*locations.values()]:
        numbers: dict[str, dict[str, int]] = {file: {} for file in contents}
        for i, (file, name) in enumerate(zip(files, names, strict=True)):
            numbers[file][name] = i
        order = [*joined(folder, locations, numbers).values()]
    taken = [[*map(column.__getitem__, order)] for column in columns]

    def make() -> dict[str, Stored]:
        tensors = {file: weights.tensors for file, weights in contents.items()}
        return joined(folder, locations, tensors)

    return Weights(Columns(*taken), make)


def sharded(files: list[tuple[dict[str, Stored], dict[str, str]]]) -> dict[str, Stored]:
    """The whole tensors of files that torch.distributed.checkpoint wrote, one a process, each with parts."""
    parts: dict[str, list[tuple[tuple[int, ...], Stored]]] = {}
    for tensors, meta in files:
        offsets = json.loads(meta[SHARDING])
        for name, tensor in tensors.items():
            parts.setdefault(name, []).append((tuple(offsets[name]["saved_offsets"]), tensor))
    return {name: _whole(name, pieces) for name, pieces in parts.items()}


def _whole(name: str, parts: list[tuple[tuple[int, ...], Stored]]) -> Stored:
    ends = [[o + n for o, n in zip(offsets, part.shape, strict=True)] for offsets, part in parts]
    shape = [max(column) for column in zip(*ends, strict=True)]
    return Pieced(parts[0][1].dtype, shape, parts, f"a part of {name} is missing")
