"""Writing .safetensors files from tensors that are made one at a time, when their turn comes.

Types and sizes are known before the first is made, so the header is written first; only its digest is filled in at the
end, which has the same length always.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from kshell.errors import SAID, UNSAID, CallError
from kshell.kapi.base.call import reserve
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.checkpoint.safetensors_files import (
    _DTYPES,
    _INDEX,
    _earlier,
    _index_digest,
    _names,
)
from kshell.kapi.tensor.storages import memory_of
from kshell.store import atomic, safetensors
from kshell.values.session.interrupts import PENDING, give_up
from kshell.values.session.progress import Task

if TYPE_CHECKING:
    from torch import dtype as DType

_CHUNK = 1 << 24
_NO_DIGEST = "0" * 64


class Coming(NamedTuple):
    """A tensor to be written: its type and size, and the function that makes it."""

    dtype: DType
    shape: tuple[int, ...]
    make: Callable[[], Any]


class _Shard:
    """One file: `fill` writes it, and then `digest` is known."""

    def __init__(self, tensors: Mapping[str, Coming], meta: dict[str, str], task: Task) -> None:
        kinds = {getattr(torch, value): key for key, value in _DTYPES.items()}
        self.tensors, self.meta, self.task, self.digest = tensors, meta, task, ""
        self.places = safetensors.layout(
            [
                (name, kinds[t.dtype], _values(kinds[t.dtype], t.shape))
                for name, t in tensors.items()
            ]
        )

    def header(self, digest: str) -> bytes:
        own = {**self.meta, safetensors.OWN: "1", safetensors.DIGEST: digest}
        return safetensors.header(self.places, own)

    def fill(self, f: BinaryIO) -> None:
        """Write the file."""
        start = f.tell()
        f.write(self.header(_NO_DIGEST))
        digest = hashlib.sha256(safetensors.described(self.places, self.meta))
        for place in sorted(self.places, key=lambda p: (p.start, p.end)):
            self.pour(f, place.name, digest)
        self.digest = digest.hexdigest()
        f.seek(start)
        f.write(self.header(self.digest))
        f.seek(0, os.SEEK_END)

    def pour(self, f: BinaryIO, name: str, digest: Any) -> None:
        """Make one tensor and write it."""
        want = self.tensors[name]
        reserve(want.shape, want.dtype.itemsize)
        made = want.make()
        if made.dtype != want.dtype or tuple(made.shape) != tuple(want.shape):
            text = f"{name} has another type or size than was said"
            raise CallError(UNSAID, text, given=SAID)
        tensor = made.detach().cpu().resolve_conj().resolve_neg().contiguous()
        del made
        memory = memory_of(tensor, tensor.numel() * tensor.element_size())
        for offset in range(0, len(memory), _CHUNK):
            if PENDING:
                give_up()
            piece = memory[offset : offset + _CHUNK]
            digest.update(piece)
            f.write(piece)
            self.task.add(len(piece))


def _values(kind: str, shape: Sequence[int]) -> list[int]:
    """The shape of a tensor as a file has it."""
    sizes = list(shape)
    return [*sizes[:-1], 2 * (sizes or [1])[-1]] if kind in safetensors.HALVES else sizes


def _bytes(t: Coming) -> int:
    count: int = t.dtype.itemsize
    for size in t.shape:
        count *= size
    return count


def check(tensors: Mapping[str, Coming]) -> None:
    """An error of the call, if a .safetensors file cannot hold one of these tensors."""
    known = {getattr(torch, value) for value in _DTYPES.values()}
    for name, tensor in tensors.items():
        if tensor.dtype not in known:
            text = f"{name}: a .safetensors file cannot hold this kind of tensor"
            raise CallError(UNSAID, text, given=SAID)


def filling(tensors: Mapping[str, Coming], meta: dict[str, str]) -> Callable[[BinaryIO], None]:
    """A function that writes a .safetensors file with these tensors and metadata."""
    check(tensors)
    task = Task("saving", sum(map(_bytes, tensors.values())))
    return _Shard(tensors, {"format": "pt", **meta}, task).fill


def write_file(path: str, tensors: Mapping[str, Coming], meta: dict[str, str]) -> None:
    """Write tensors to one .safetensors file, with metadata; each is made when it is written."""
    atomic.write(path, filling(tensors, meta))


def write_folder(path: str, tensors: Mapping[str, Coming], meta: dict[str, str], most: int) -> None:
    """Write tensors to .safetensors files of at most so many bytes (at least one tensor each), and their index, in
    place of those of an earlier save; the other files of the folder stay."""
    check(tensors)
    earlier = _earlier(path)
    total = sum(map(_bytes, tensors.values()))
    task = Task("saving", total)
    parts: list[dict[str, Coming]] = []
    room = 0
    for name, tensor in tensors.items():
        size = _bytes(tensor)
        if not parts or size > room:
            parts.append({})
            room = most
        parts[-1][name] = tensor
        room -= size
    shards = [_Shard(part, {"format": "pt", **meta}, task) for part in parts]
    names = _names(earlier, [secrets.token_hex(16) for _ in shards])
    locations = {key: name for name, part in zip(names, parts, strict=True) for key in part}

    def fill(f: BinaryIO) -> None:
        """The index, which comes last."""
        digests = {name: shard.digest for name, shard in zip(names, shards, strict=True)}
        digest = _index_digest(locations, digests)
        metadata = {"total_size": total, safetensors.DIGEST: digest}
        index = {"metadata": metadata, "weight_map": locations}
        f.write(json.dumps(index, indent=1).encode())

    files = [
        (os.path.join(path, name), shard.fill) for name, shard in zip(names, shards, strict=True)
    ]
    atomic.write_all([*files, (os.path.join(path, earlier.stem + _INDEX), fill)])
    for name in earlier.files:
        if name not in names:
            os.unlink(os.path.join(path, name))
