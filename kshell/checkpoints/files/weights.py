"""Files of tensors by name: .safetensors, and folders of them or of .bin files, with an index."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from typing import Any

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


def read_file(file: File, room: Room) -> tuple[dict[str, Stored], dict[str, str]]:
    """The tensors of a .safetensors file by name, and its metadata. ValueError and the like if it is damaged."""
    places, meta, origin = safetensors.read_header(file, room)
    sums = safetensors.sums(places, meta)
    memory = Memory(file, origin, file.size - origin)
    return {place.name: _stored(place, memory, sums.get(place.name, 0)) for place in places}, meta


def _stored(place: safetensors.Place, memory: Memory, crc: int) -> Stored:
    start, length = memory.offset + place.start, place.end - place.start
    part = Memory(memory.file, start, length, place.name, crc=crc)
    dtype = DTYPES.get(place.dtype)
    if dtype is None:
        packed = Packed("uint8", (place.end - place.start,), part)
        packed.scheme = place.dtype
        packed.options = {"size": place.shape}
        return packed
    shape = place.shape
    if place.dtype in safetensors.HALVES:
        shape = (*shape[:-1], shape[-1] // 2)
    return Strided.whole(dtype, shape, part)


# ------------------------------------------------------------------ folders


def read_index(path: str, suffix: str, room: Room) -> tuple[dict[str, str], Any]:
    """The file of each tensor of a folder, from its index, and the metadata; the names of files end in `suffix`."""
    file = File(path)
    if file.size > safetensors.MOST:
        raise ValueError("it is too long")
    index = bounded_names(file.read(0, file.size), room)
    locations = index["weight_map"]
    for name, place in locations.items():
        if place.__class__ is not str or "/" in place or not place.endswith(suffix):
            raise ValueError(f"{name} is in a file outside the folder")
    return dict(locations), index.get("metadata")


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
    folder: str, locations: dict[str, str], read: Callable[[str], dict[str, Any]]
) -> dict[str, Any]:
    """The tensors of a folder's files, in the order of its index; those that it does not name at the end. QError if one
    is missing."""
    contents = {
        file: read(os.path.join(folder, file)) for file in dict.fromkeys(locations.values())
    }
    found = {}
    for name, file in locations.items():
        if name not in contents[file]:
            raise QError(f"ckpt: {os.path.join(folder, file)} has no {name}")
        found[name] = contents[file][name]
    for tensors in contents.values():
        for name, tensor in tensors.items():
            found.setdefault(name, tensor)
    return found


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
