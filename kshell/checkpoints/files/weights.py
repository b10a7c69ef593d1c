"""Files of tensors by name: .safetensors, and folders of them or of .bin files, with an index."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

from kshell.checkpoints.base.stored import File, Form, Memory, Pieced, Stored, Strided
from kshell.checkpoints.files import safetensors
from kshell.errors import QError
from kshell.store.archive import Room, bounded_names

INDEX = re.compile(r"(.*)\.(safetensors|bin)\.index(\.[\w-]+)?\.json")  # also of a variant, as fp16
SHARDING = "DCP_SHARDING_INFO"  # in the metadata of files of torch.distributed.checkpoint


class Packed(Strided):
    """Numbers of a type that torch does not have: their bytes, and the type as `scheme`."""


def is_safetensors(begin: bytes, size: int) -> bool:
    """Are these the first bytes of a .safetensors file of a size?"""
    length = int.from_bytes(begin[:8], "little")
    return begin[8:].lstrip()[:1] == b"{" and 2 <= length <= size - 8


class Columns(NamedTuple):
    """Tensors by name: what is known of them before one is read, by column."""

    names: list[str]
    forms: Sequence[Form]  # one object for many of them, where they are read from headers

    @classmethod
    def of(cls, tensors: dict[str, Stored]) -> Columns:
        """Those of tensors."""
        forms = [Form(t.dtype, t.shape, t.nbytes, t.scheme) for t in tensors.values()]
        return cls([*tensors], forms)


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
        rows = zip(found.names, found.forms, found.starts, sums or repeat(0), strict=False)
        return {
            name: _stored(form, Memory(file, found.origin + start, form.nbytes, name, crc=crc))
            for name, form, start, crc in rows
        }

    return Weights(Columns(found.names, found.forms), make), found.metadata


def _stored(form: safetensors.FileForm, memory: Memory) -> Stored:
    if not form.scheme:
        return Strided.whole(form.dtype, tuple(form.shape), memory)
    packed = Packed(form.dtype, form.shape, memory)
    packed.scheme = form.scheme
    packed.options = {"size": tuple(form.size)}
    return packed


# ------------------------------------------------------------------ folders


def read_index(path: str, suffix: str) -> tuple[dict[str, str], Any]:
    """The file of each tensor of a folder, from its index, and the metadata; the names of files end in `suffix`."""
    file = File(path)
    if file.size > safetensors.MOST:
        raise ValueError("it is too long")
    index = bounded_names(file.read(0, file.size), Room(file.size))
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
    try:
        found = {name: contents[file][name] for name, file in locations.items()}
    except KeyError:
        name, file = next(pair for pair in locations.items() if pair[0] not in contents[pair[1]])
        raise QError(f"ckpt: {os.path.join(folder, file)} has no {name}") from None
    if len(found) < sum(map(len, contents.values())):
        for tensors in contents.values():
            for name, tensor in tensors.items():
                found.setdefault(name, tensor)
    return found


def joined_weights(folder: str, locations: dict[str, str], contents: dict[str, Weights]) -> Weights:
    """The same of .safetensors files, of which no tensor is made."""
    forms = {file: dict(zip(*weights.columns, strict=True)) for file, weights in contents.items()}
    found = joined(folder, locations, forms)

    def make() -> dict[str, Stored]:
        tensors = {file: weights.tensors for file, weights in contents.items()}
        return joined(folder, locations, tensors)

    return Weights(Columns([*found], [*found.values()]), make)


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
