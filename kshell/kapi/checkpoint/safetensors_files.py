"""Reading and writing .safetensors files, and folders of them with an index."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Callable
from typing import Any, BinaryIO

from kshell.errors import CallError, QError, refused
from kshell.kapi.base.call import reserve
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor.storages import DIMS, memory_of
from kshell.store import atomic, safetensors, unfinished
from kshell.store.archive import WRONG, Room, bounded, wrong
from kshell.values.session.interrupts import PENDING, give_up

# fmt: off  # a table
_DTYPES = {
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


def opened(path: str, work: Callable[[BinaryIO, int], Any]) -> Any:
    """work(file, size) on an existing file; errors become q errors that name the file."""
    problem: QError | None = None
    try:
        where = unfinished.look(path)[0]
        if not stat.S_ISREG(os.stat(where).st_mode):
            raise ValueError("it is no file")
        with open(where, "rb") as file:
            return work(file, os.fstat(file.fileno()).st_size)
    except OSError as e:
        problem = refused(e, path)
    except (RecursionError, *WRONG) as e:
        problem = wrong("ckpt", path, e)
    raise problem


def _memory(t: Any) -> memoryview:
    """The bytes of a contiguous CPU tensor."""
    return memory_of(t, t.numel() * t.element_size())


def read_safetensors(path: str) -> tuple[dict[str, Any], dict[str, str], str | None]:
    """The tensors in a file, its metadata, and its digest if it was written by kshell."""

    def work(f: BinaryIO, size: int) -> tuple[dict[str, Any], dict[str, str], str | None]:
        room = Room(size)
        places, meta, first = safetensors.read_header(f, size, room)
        room.need(sum(place.end - place.start for place in places))
        reserve([size], 1)
        tensors: dict[str, Any] = {}
        want = meta.pop(safetensors.DIGEST, None)
        if meta.pop(safetensors.OWN, None) is not None and want is None:
            raise ValueError("it has no digest")
        digest = hashlib.sha256(safetensors.described(places, meta))
        for place in sorted(places, key=lambda p: (p.start, p.end)):
            if len(place.shape) > DIMS:
                raise ValueError(f"{place.name} has {len(place.shape)} dimensions")
            t = tensors[place.name] = torch.empty(
                place.shape, dtype=getattr(torch, _DTYPES[place.dtype])
            )
            into = _memory(t)
            f.seek(first + place.start)
            for at in range(0, len(into), _CHUNK):
                if PENDING:
                    give_up()
                part = into[at : at + _CHUNK]
                if f.readinto(part) != len(part):  # type: ignore[attr-defined]
                    raise ValueError(f"{place.name} is cut off")
                if want is not None:
                    digest.update(part)
            if (
                place.dtype == "BOOL"
                and place.end > place.start
                and int(t.view(torch.uint8).max()) > 1
            ):
                raise ValueError(f"{place.name} has wrong booleans")
        if want is not None and digest.hexdigest() != want:
            raise ValueError("the digest is another")
        return {place.name: tensors[place.name] for place in places}, meta, want

    return opened(path, work)


def _named_tensors(value: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """The tensors by name, and the metadata, to be written."""
    if not isinstance(value, dict):
        raise CallError("ckpt", "a .safetensors file holds tensors by name")
    value = dict(value)
    meta = value.pop(META, {})
    if not isinstance(meta, dict) or any(
        not isinstance(value, str) for value in (*meta, *meta.values())
    ):
        raise QError(f"ckpt: {META} holds texts by name")
    known = {getattr(torch, value) for value in _DTYPES.values()}
    for key, t in value.items():
        if not isinstance(key, str) or not isinstance(t, torch.Tensor):
            raise CallError(
                "ckpt", f"a .safetensors file holds tensors by name, {key} is not a tensor"
            )
        if t.layout is not torch.strided or t.dtype not in known:
            raise QError(f"ckpt: {key}: a .safetensors file cannot hold this kind of tensor")
    return value, {"format": "pt", **meta}


def _filling(
    tensors: dict[str, Any], meta: dict[str, str]
) -> tuple[Callable[[BinaryIO], None], int, str]:
    """A function that writes a .safetensors file with these tensors, the size of their data in bytes, and the
    digest."""
    names = {getattr(torch, value): key for key, value in _DTYPES.items()}
    plain = {
        key: value.detach().cpu().resolve_conj().resolve_neg().contiguous()
        for key, value in tensors.items()
    }
    places = safetensors.layout(
        [(key, names[value.dtype], list(value.shape)) for key, value in plain.items()]
    )
    order = [plain[place.name] for place in sorted(places, key=lambda p: (p.start, p.end))]
    digest = hashlib.sha256(safetensors.described(places, meta))
    for t in order:
        digest.update(_memory(t))
    head = safetensors.header(
        places, {**meta, safetensors.OWN: "1", safetensors.DIGEST: digest.hexdigest()}
    )

    def fill(f: BinaryIO) -> None:
        f.write(head)
        for t in order:
            f.write(_memory(t))

    return fill, sum(place.end - place.start for place in places), digest.hexdigest()


def write_safetensors(path: str, value: Any) -> None:
    """Write named tensors to one file."""
    fill, _, _ = _filling(*_named_tensors(value))
    atomic.write(path, fill)


# ------------------------------------------------------------------ folders


def read_folder(path: str) -> tuple[dict[str, Any], dict[str, str]]:
    """The tensors in a folder of .safetensors files with an index, or in its only such file."""
    there = [os.path.join(path, n) for n in unfinished.names_in(path)]
    indexes = [n for n in there if n.endswith(_INDEX)]
    if len(indexes) != 1:
        alone = [n for n in there if n.endswith(".safetensors")]
        if not indexes and len(alone) == 1:
            return read_safetensors(alone[0])[:2]
        raise QError(f"ckpt: {path} has {len(indexes) or 'no'} index of .safetensors files")

    def work(f: BinaryIO, size: int) -> tuple[dict[str, str], Any]:
        index = bounded(f.read(safetensors.MOST), Room(size))
        known = index["weight_map"]
        for name, file in known.items():
            if (
                file.__class__ is not str
                or file != os.path.basename(file)
                or not file.endswith(".safetensors")
            ):
                raise ValueError(f"{name} is in a file outside the folder")
        return dict(known), index.get("metadata")

    where: dict[str, str]
    where, about = opened(indexes[0], work)
    held: dict[str, dict[str, Any]] = {}
    meta: dict[str, str] = {}
    digests: dict[str, str | None] = {}
    for file in dict.fromkeys(where.values()):
        held[file], more, digests[file] = read_safetensors(os.path.join(path, file))
        meta |= more
    missing = next((key for key, file in where.items() if key not in held[file]), None)
    if missing is not None:
        raise QError(f"ckpt: {os.path.join(path, where[missing])} has no {missing}")
    own = about if isinstance(about, dict) else {}
    if own.get(safetensors.DIGEST, _index_digest(where, digests)) != _index_digest(
        where, digests
    ) or (None not in digests.values() and safetensors.DIGEST not in own):
        raise QError(f"ckpt: {indexes[0]} is damaged: its digest is another")
    return {key: held[file][key] for key, file in where.items()}, meta


def _index_digest(where: dict[str, str], digests: dict[str, Any]) -> str:
    """The digest of an index: which tensor is in which file, and the files' digests."""
    return hashlib.sha256(json.dumps([where, digests], sort_keys=True).encode()).hexdigest()


def write_folder(path: str, value: Any, most: int) -> None:
    """Write tensors to files of at most so many bytes (at least one tensor each), and their index."""
    if os.path.exists(path) and (not os.path.isdir(path) or unfinished.names_in(path)):
        raise QError(f"ckpt: {path} is there already, and not an empty folder")
    tensors, meta = _named_tensors(value)
    parts: list[dict[str, Any]] = []
    room = 0
    for k, t in tensors.items():
        n = t.numel() * t.element_size()
        if not parts or n > room:
            parts.append({})
            room = most
        parts[-1][k] = t
        room -= n
    names = [f"model-{i + 1:05}-of-{len(parts):05}.safetensors" for i in range(len(parts))]
    files = [_filling(part, meta) for part in parts]
    where = {k: name for name, part in zip(names, parts, strict=True) for k in part}
    digest = _index_digest(where, {name: d for name, (_, _, d) in zip(names, files, strict=True)})
    index = {
        "metadata": {"total_size": sum(n for _, n, _ in files), safetensors.DIGEST: digest},
        "weight_map": where,
    }
    text = json.dumps(index, indent=1).encode()
    atomic.write_all(
        [
            *(
                (os.path.join(path, name), fill)
                for name, (fill, _, _) in zip(names, files, strict=True)
            ),
            (os.path.join(path, "model" + _INDEX), atomic.filling([text])),
        ]
    )
