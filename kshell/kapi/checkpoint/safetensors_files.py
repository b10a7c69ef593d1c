"""Reading and writing .safetensors files, and folders of them with an index."""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from kshell.errors import CallError, QError, refused
from kshell.kapi.base.call import reserve
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor.storages import DIMS, memory_of
from kshell.store import atomic, safetensors, unfinished
from kshell.store.archive import WRONG, Room, bounded, wrong
from kshell.values.session.interrupts import PENDING, give_up

if TYPE_CHECKING:
    from torch import Tensor

# fmt: off  # a table
_DTYPES = {
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
META = "__metadata__"
_INDEX = ".safetensors.index.json"
_CHUNK = 1 << 24
# what follows the stem in the name of one file of several; the last part is there if an earlier save had the name
_SHARD = re.compile(r"-\d{5}-of-\d{5}(-[0-9a-f]{8})?\.safetensors")


def opened(path: str, work: Callable[[BinaryIO, int], Any]) -> Any:
    """work(file, size) on an existing file; errors become q errors that name the file."""
    problem: QError | None = None
    try:
        location = unfinished.look(path)[0]
        if not stat.S_ISREG(os.stat(location).st_mode):
            raise ValueError("it is no file")
        with open(location, "rb") as file:
            return work(file, os.fstat(file.fileno()).st_size)
    except OSError as e:
        problem = refused(e, path)
    except (RecursionError, *WRONG) as e:
        problem = wrong("ckpt", path, e)
    raise problem


def _memory(t: Tensor) -> memoryview:
    """The bytes of a contiguous CPU tensor."""
    return memory_of(t, t.numel() * t.element_size())


def read_safetensors(path: str) -> tuple[dict[str, Any], dict[str, str], str | None]:
    """The tensors in a file, its metadata, and its digest if it was written by kshell."""

    def work(f: BinaryIO, size: int) -> tuple[dict[str, Any], dict[str, str], str | None]:
        room = Room(size)
        places, meta, origin = safetensors.read_header(f, size, room)
        room.need(sum(place.end - place.start for place in places))
        reserve([size], 1)
        tensors: dict[str, Any] = {}
        expected = meta.pop(safetensors.DIGEST, None)
        if meta.pop(safetensors.OWN, None) is not None and expected is None:
            raise ValueError("it has no digest")
        digest = hashlib.sha256(safetensors.described(places, meta))
        for place in sorted(places, key=lambda p: (p.start, p.end)):
            if len(place.shape) > DIMS:
                raise ValueError(f"{place.name} has {len(place.shape)} dimensions")
            shape = place.shape
            if place.dtype in safetensors.HALVES:
                shape = (*shape[:-1], shape[-1] // 2)
            tensor = tensors[place.name] = torch.empty(
                shape, dtype=getattr(torch, _DTYPES[place.dtype])
            )
            memory = _memory(tensor)
            f.seek(origin + place.start)
            for offset in range(0, len(memory), _CHUNK):
                if PENDING:
                    give_up()
                chunk = memory[offset : offset + _CHUNK]
                if f.readinto(chunk) != len(chunk):  # type: ignore[attr-defined]
                    raise ValueError(f"{place.name} is cut off")
                if expected is not None:
                    digest.update(chunk)
            if (
                place.dtype == "BOOL"
                and place.end > place.start
                and int(tensor.view(torch.uint8).max()) > 1
            ):
                raise ValueError(f"{place.name} has wrong booleans")
        if expected is not None and digest.hexdigest() != expected:
            raise ValueError("the digest is another")
        return {place.name: tensors[place.name] for place in places}, meta, expected

    return opened(path, work)


def _named_tensors(value: object) -> tuple[dict[str, Any], dict[str, str]]:
    """The tensors by name, and the metadata, to be written."""
    if not isinstance(value, dict):
        raise CallError("ckpt", "a .safetensors file holds tensors by name")
    value = dict(value)
    meta = value.pop(META, {})
    if not isinstance(meta, dict) or any(
        not isinstance(value, str) for value in (*meta, *meta.values())
    ):
        raise QError(f"ckpt: {META} holds texts by name")
    dtypes = {getattr(torch, value) for value in _DTYPES.values() if hasattr(torch, value)}
    for name, tensor in value.items():
        if not isinstance(name, str) or not isinstance(tensor, torch.Tensor):
            raise CallError(
                "ckpt", f"a .safetensors file holds tensors by name, {name} is not a tensor"
            )
        if tensor.layout is not torch.strided or tensor.dtype not in dtypes:
            raise QError(f"ckpt: {name}: a .safetensors file cannot hold this kind of tensor")
    return value, {"format": "pt", **meta}


def _values_of(kind: str, t: Tensor) -> list[int]:
    """The shape of a tensor as a file has it."""
    shape = list(t.shape)
    return [*shape[:-1], 2 * (shape or [1])[-1]] if kind in safetensors.HALVES else shape


def _filling(
    tensors: dict[str, Any], meta: dict[str, str]
) -> tuple[Callable[[BinaryIO], None], int, str]:
    """A function that writes a .safetensors file with these tensors, the size of their data in bytes, and the
    digest."""
    names = {getattr(torch, value): key for key, value in _DTYPES.items() if hasattr(torch, value)}
    plain = {
        key: value.detach().cpu().resolve_conj().resolve_neg().contiguous()
        for key, value in tensors.items()
    }
    places = safetensors.layout(
        [(key, names[t.dtype], _values_of(names[t.dtype], t)) for key, t in plain.items()]
    )
    order = [plain[place.name] for place in sorted(places, key=lambda p: (p.start, p.end))]
    digest = hashlib.sha256(safetensors.described(places, meta))
    for tensor in order:
        digest.update(_memory(tensor))
    header = safetensors.header(
        places, {**meta, safetensors.OWN: "1", safetensors.DIGEST: digest.hexdigest()}
    )

    def fill(f: BinaryIO) -> None:
        f.write(header)
        for tensor in order:
            f.write(_memory(tensor))

    return fill, sum(place.end - place.start for place in places), digest.hexdigest()


def write_safetensors(path: str, value: object) -> None:
    """Write named tensors to one file."""
    fill, _, _ = _filling(*_named_tensors(value))
    atomic.write(path, fill)


# ------------------------------------------------------------------ folders


def read_folder(path: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The tensors in a folder of .safetensors files with an index, or in its only such file."""
    paths = [os.path.join(path, name) for name in unfinished.names_in(path)]
    indexes = [name for name in paths if name.endswith(_INDEX)]
    if len(indexes) != 1:
        single = [name for name in paths if name.endswith(".safetensors")]
        if not indexes and len(single) == 1:
            return read_safetensors(single[0])[:2]
        raise QError(f"ckpt: {path} has {len(indexes) or 'no'} index of .safetensors files")
    locations, index_meta = read_index(indexes[0], ".safetensors")
    contents: dict[str, dict[str, Any]] = {}
    meta: dict[str, str] = {}
    digests: dict[str, str | None] = {}
    for file in dict.fromkeys(locations.values()):
        contents[file], file_meta, digests[file] = read_safetensors(os.path.join(path, file))
        meta |= file_meta
    missing = next((name for name, file in locations.items() if name not in contents[file]), None)
    if missing is not None:
        raise QError(f"ckpt: {os.path.join(path, locations[missing])} has no {missing}")
    metadata = index_meta if isinstance(index_meta, dict) else {}
    if metadata.get(safetensors.DIGEST, _index_digest(locations, digests)) != _index_digest(
        locations, digests
    ) or (None not in digests.values() and safetensors.DIGEST not in metadata):
        raise QError(f"ckpt: {indexes[0]} is damaged: its digest is another")
    return {name: contents[file][name] for name, file in locations.items()}, meta


def read_index(path: str, suffix: str) -> tuple[dict[str, str], Any]:
    """The file of each tensor of a folder, from its index, and the metadata; the names of files end in `suffix`."""

    def work(f: BinaryIO, size: int) -> tuple[dict[str, str], Any]:
        index = bounded(f.read(safetensors.MOST), Room(size))
        locations = index["weight_map"]
        for name, file in locations.items():
            is_name = file.__class__ is str and file == os.path.basename(file)
            if not is_name or not file.endswith(suffix):
                raise ValueError(f"{name} is in a file outside the folder")
        return dict(locations), index.get("metadata")

    found: tuple[dict[str, str], Any] = opened(path, work)
    return found


def _index_digest(where: dict[str, str], digests: dict[str, Any]) -> str:
    """The digest of an index: which tensor is in which file, and the files' digests."""
    return hashlib.sha256(json.dumps([where, digests], sort_keys=True).encode()).hexdigest()


def write_folder(path: str, value: object, most: int) -> None:
    """Write tensors to files of at most so many bytes (at least one tensor each), and their index.

    Files of an earlier save are replaced, others in the folder stay. At any moment the folder is one checkpoint: new
    files have names that the earlier index has not, and the new index comes last. What a killed save left is removed.
    """
    earlier = _earlier(path)
    tensors, meta = _named_tensors(value)
    shards: list[dict[str, Any]] = []
    room = 0
    for key, tensor in tensors.items():
        size = tensor.numel() * tensor.element_size()
        if not shards or size > room:
            shards.append({})
            room = most
        shards[-1][key] = tensor
        room -= size
    files = [_filling(shard, meta) for shard in shards]
    names = _names(earlier, [digest for *_, digest in files])
    locations = {key: name for name, shard in zip(names, shards, strict=True) for key in shard}
    digest = _index_digest(
        locations, {name: digest for name, (_, _, digest) in zip(names, files, strict=True)}
    )
    index = {
        "metadata": {"total_size": sum(size for _, size, _ in files), safetensors.DIGEST: digest},
        "weight_map": locations,
    }
    text = json.dumps(index, indent=1).encode()
    atomic.write_all(
        [
            *(
                (os.path.join(path, name), fill)
                for name, (fill, _, _) in zip(names, files, strict=True)
            ),
            (os.path.join(path, earlier.stem + _INDEX), atomic.filling([text])),
        ]
    )
    for name in earlier.files:
        if name not in names:
            os.unlink(os.path.join(path, name))


class _Earlier(NamedTuple):
    """What a folder has of earlier saves: how the names of its files begin, and those that hold weights. Other programs
    take a single file before an index, so it is the first to be removed."""

    stem: str
    files: list[str]


def _earlier(path: str) -> _Earlier:
    if not os.path.lexists(path):
        return _Earlier("model", [])
    if not os.path.isdir(path):
        raise QError(f"ckpt: {path} is there already, and not a folder")
    names = unfinished.names_in(path)
    stems = [name.removesuffix(_INDEX) for name in names if name.endswith(_INDEX)]
    if len(stems) > 1:
        raise QError(f"ckpt: {path} has {len(stems)} indexes of .safetensors files")
    stem = stems[0] if stems else "model"
    single = [name for name in names if name == f"{stem}.safetensors"]
    return _Earlier(
        stem, single + [name for name in names if _SHARD.fullmatch(name.removeprefix(stem))]
    )


def _names(earlier: _Earlier, digests: list[str]) -> list[str]:
    """Names for new files, which an earlier save has not given to others."""
    stems = [f"{earlier.stem}-{i + 1:05}-of-{len(digests):05}" for i in range(len(digests))]
    if any(f"{stem}.safetensors" in earlier.files for stem in stems):
        tag = hashlib.sha256("".join(digests).encode()).hexdigest()[:8]
        stems = [f"{stem}-{tag}" for stem in stems]
    return [f"{stem}.safetensors" for stem in stems]
