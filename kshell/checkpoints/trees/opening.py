"""Opening a checkpoint of any kind: what it is, by its first bytes or by the files of its folder, never by its name.

`opened(path)` gives a tree: dictionaries and lists whose leaves are `Stored` tensors, plain values, and `Branch`es, the
objects of a pickle. Only names, types and places are read.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from kshell.checkpoints.base.stored import File, Stored
from kshell.checkpoints.files import arrays, legacy, pt, safetensors, weights
from kshell.checkpoints.files.weights import Columns, Weights
from kshell.checkpoints.pickles.machine import Node
from kshell.checkpoints.pickles.meanings import Branch, Meanings
from kshell.checkpoints.quantized import gguf
from kshell.checkpoints.quantized import joining as quantized
from kshell.checkpoints.trees import dcp, deepspeed, leaves, universal
from kshell.errors import QError, refused
from kshell.store import unfinished
from kshell.store.archive import WRONG, Room, described_cost, wrong
from kshell.store.kinds import kind_of, kind_of_archive

# types of which quantised weights are made
_QUANTIZED = {"uint8", "int8", "int32", "float8_e4m3fn", "float8_e5m2"}
_LOG = "trainer_state.json"  # of transformers' Trainer
# files that only a training run saves beside its weights
_RUN = re.compile(
    r"trainer_state\.json|optimizer\.(pt|bin)|random_states_\d+\.pkl|rng_state(_\d+)?\.pth"
)
_SHARD = re.compile(r".*-\d{5}-of-\d{5}(-[0-9a-f]{8})?\.(safetensors|bin)")
_MODULES = "modules.json"
_SETTINGS = 1 << 26  # bytes of a file of settings


@dataclass
class Opened:
    """A checkpoint, open: what it holds, and of what kind it is. `metadata` are texts by name, of weights alone."""

    path: str
    kind: str
    content: Any  # its value, or the weights that are it
    metadata: dict[str, Any] = field(default_factory=dict)
    made: int = 0  # values in its pickles
    beside: list[Branch] = field(
        default_factory=list
    )  # what was read in its pickles that is not in its value

    @property
    def value(self) -> Any:
        """What it holds."""
        content = self.content
        return content.tensors if isinstance(content, Weights) else content

    @property
    def columns(self) -> Columns:
        """The names, types and sizes of its tensors."""
        content = self.content
        if isinstance(content, Weights):
            return content.columns
        return Columns.of(leaves.tensors_of(content))


def opened(path: str) -> Opened:
    """Open a file or folder. QError if it is no checkpoint, or damaged."""
    problem: QError
    try:
        location = unfinished.look(path)[0]
        if os.path.isdir(location):
            return _folder(location)
        return of_file(location)
    except OSError as e:
        problem = refused(e, path)
    except (RecursionError, *WRONG) as e:
        problem = wrong("ckpt", path, e)
    raise problem


def of_file(path: str) -> Opened:
    """Open a file. QError if it is no checkpoint, ValueError and the like if it is damaged."""
    file = File(path)
    room = Room(file.size)
    for kind, is_kind, read in _KINDS:
        if is_kind(file.begin, file.size):
            return read(path, kind, file, room)
    if path.endswith(".safetensors"):  # a damaged one
        return _weights(path, "safetensors", file, room)
    what, advice = kind_of(path, file.begin)
    text = f"it is {what}" if what else "PyTorch writes no such file"
    raise QError(f"ckpt: {path} is not a checkpoint: {text}", hint=advice)


def _zip(path: str, kind: str, file: File, room: Room) -> Opened:
    archive = pt.Zip(file, room)
    if archive.members and all(name.endswith(".npy") for name in archive.members):
        return Opened(path, "npz", arrays.read_arrays(archive, room))
    try:
        value = pt.read(archive)
    except pt.NotOne as e:
        what, advice = kind_of_archive(path, archive.members)
        text = f"it is {what}" if what else f"it has {e}"
        raise QError(f"ckpt: {path} is not a checkpoint: {text}", hint=advice) from None
    made = value.meanings.document.machine.made if isinstance(value, Branch) else len(value)
    return Opened(path, kind, value, made=made)


def _weights(path: str, kind: str, file: File, room: Room) -> Opened:
    found, metadata = weights.read_file(file, room)
    return Opened(path, kind, found, metadata, len(found.columns.names))


def dequantized(found: Opened) -> dict[str, Stored]:
    """The tensors of weights, those that are quantised as what they stand for."""
    folder = found.path if os.path.isdir(found.path) else os.path.dirname(found.path)
    tensors = leaves.tensors_of(found.value, _torchao)
    if found.kind == "gguf" or not may_be_quantized(tensor.dtype for tensor in tensors.values()):
        return tensors  # GGUF's are that already
    return quantized.joined(tensors, found.metadata, _settings(folder))


def may_be_quantized(dtypes: Iterable[str]) -> bool:
    """Is one of these a type of which quantised weights are made?"""
    return not _QUANTIZED.isdisjoint(dtypes)


def _torchao(m: Meanings, node: Node) -> Stored | None:
    """The tensor that an object of torchao stands for; None for other objects."""
    name = leaves.class_of(node)
    if not name.startswith("torchao.") or len(node.args) != 4:
        return None
    fields = {key: m.of(part) for key, part in leaves.fields_of(m, node).items()}
    parts = {key: part for key, part in fields.items() if isinstance(part, Stored)}
    declared = m.of(node.args[2])
    dtype = str(m.of(declared[1])).removeprefix("torch.") if declared.__class__ is tuple else ""
    sizes = fields.get("block_size", ())
    is_sizes = sizes.__class__ in (list, tuple) and all(n.__class__ is int for n in sizes)
    return quantized.torchao(name.rsplit(".", 1)[-1], dtype, parts, sizes if is_sizes else ())


def _settings(folder: str) -> dict[str, Any]:
    """How the weights of a folder are quantised, as its files of settings say."""
    for name, key in (
        ("quantize_config.json", ""),
        ("quant_config.json", ""),
        ("config.json", "quantization_config"),
    ):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            found = _checked(path, lambda path=path: settings_in(path))  # type: ignore[misc]
            found = found.get(key) if key else found
            if isinstance(found, dict):
                return found
    return {}


def settings_at(path: str) -> dict[str, Any]:
    """The content of a file of settings, JSON; empty if it is no dictionary. QError if it cannot be read."""
    found: dict[str, Any] = _checked(path, lambda: settings_in(path))
    return found


def settings_in(path: str) -> dict[str, Any]:
    """The content of a file of settings, JSON. ValueError and the like if it is none."""
    found = json_in(path)
    return found if isinstance(found, dict) else {}


def json_in(path: str) -> Any:
    """The content of a file of JSON. ValueError and the like if it is none."""
    file = File(path)
    if file.size > _SETTINGS:
        raise ValueError("it is too long")
    text = file.read(0, file.size)
    Room(file.size).need(described_cost(text))
    return json.loads(text)  # also with NaN, as Python writes a loss that is none


def _tar(path: str, kind: str, file: File, room: Room) -> Opened:
    try:
        return Opened(path, kind, legacy.read_tar(file, room))
    except pt.NotOne as e:
        raise QError(f"ckpt: {path} is not a checkpoint: it is a tar with {e}") from None


def _gguf(path: str, kind: str, file: File, room: Room) -> Opened:
    tensors, fields = gguf.read(file, room)
    return Opened(path, kind, tensors, fields, len(tensors))


def _is_pickle(begin: bytes, size: int) -> bool:
    return begin[:1] == b"\x80" and size > 2 and begin[1] <= 5


_Read = Callable[[str, str, File, Room], Opened]
_KINDS: tuple[tuple[str, Callable[[bytes, int], bool], _Read], ...] = (
    ("pt", lambda begin, _: pt.is_archive(begin), _zip),
    ("safetensors", weights.is_safetensors, _weights),
    ("gguf", lambda begin, _: begin.startswith(b"GGUF"), _gguf),
    ("npy", lambda begin, _: begin.startswith(arrays.BEGIN),
     lambda path, kind, file, room: Opened(path, kind, arrays.read_array(file, room))),
    ("legacy", lambda begin, _: legacy.is_legacy(begin[:32]),
     lambda path, kind, file, room: Opened(path, kind, legacy.read(file, room))),
    ("tar", lambda begin, _: legacy.is_tar(begin), _tar),
    ("pickle", _is_pickle, lambda path, kind, file, room: Opened(path, kind, pt.bare(file, room))),
)  # fmt: skip


# ------------------------------------------------------------------ folders


def _folder(path: str) -> Opened:
    """Open a folder, by the files in it."""
    names = sorted(unfinished.names_in(path))
    for read in _FOLDERS:
        found = read(path, names)
        if found is not None:
            return found
    raise QError(f"ckpt: {path} has no checkpoint in it")


def _one_of(path: str, names: list[str], suffix: str) -> list[str]:
    return [os.path.join(path, name) for name in names if name.endswith(suffix)]


def _of_dcp(path: str, names: list[str]) -> Opened | None:
    """A folder of torch.distributed.checkpoint; other files in it, as Lightning's meta.pt, under their names."""
    if not any(name.endswith(".metadata") for name in names):
        return None
    beside: list[Branch] = []
    tree = dcp.read(path, beside)
    for name in names:
        file = os.path.join(path, name)
        if dcp.is_beside(name) and os.path.isfile(file):
            tree[name] = _checked(file, lambda file=file: of_file(file)).value  # type: ignore[misc]
    return Opened(path, "dcp", tree, beside=beside)


def _of_run(path: str, names: list[str]) -> Opened | None:
    """What a training run has saved, or a model of several folders: each file under its name, weights in several files
    under that of one, folders of torch.distributed.checkpoint and of modules under theirs, and what DeepSpeed has
    joined."""
    modules = _modules(path, names)
    if not modules and not any(_RUN.fullmatch(name) for name in names):
        return None
    tree: dict[str, Any] = {}
    weights_files: set[str] = set()
    index = _indexed(path, names)
    if index is not None:
        stem = next(m[1] + "." + m[2] for name in names if (m := weights.INDEX.fullmatch(name)))
        weights_files = {name for name in names if _SHARD.fullmatch(name)}
        tree[stem] = index.value
    for name in names:
        inner = os.path.join(path, name)
        files = sorted(os.listdir(inner)) if os.path.isdir(inner) else []
        kinds = _FLAT if name in modules else (_of_dcp,)
        for read in kinds if files else ():
            part = _checked(inner, lambda inner=inner, files=files, read=read: read(inner, files))  # type: ignore[misc]
            if part is not None:
                tree[name] = part.value
                break
    joined = _of_deepspeed(path, [name for name in names if name.startswith("latest")])
    if joined is not None:
        tree = joined.value | tree
    return _several(path, [name for name in names if name not in weights_files], tree)


def _modules(path: str, names: list[str]) -> set[str]:
    """The folders with the modules of a model of sentence-transformers, beside the one that is in its own folder."""
    file = os.path.join(path, _MODULES)
    if _MODULES not in names:
        return set()
    found = _checked(file, lambda: json_in(file))
    parts = [part for part in found if isinstance(part, dict)] if isinstance(found, list) else []
    listed = [part.get("path") for part in parts]
    return {name for name in names if name in listed and not os.path.islink(f"{path}/{name}")}


def _indexed(path: str, names: list[str]) -> Opened | None:
    """Weights in several files, with an index."""
    found = [m for name in names if (m := weights.INDEX.fullmatch(name))]
    indexes = [m[0] for m in found if not m[3]] or [m[0] for m in found]
    if not indexes:
        return None
    by_kind = [name for name in indexes if ".safetensors." in name] or indexes
    if len(by_kind) != 1:
        raise QError(f"ckpt: {path} has {len(by_kind)} indexes of weights")
    suffix = ".safetensors" if ".safetensors." in by_kind[0] else ".bin"
    index = os.path.join(path, by_kind[0])
    locations, about = _checked(index, lambda: weights.read_index(index, suffix))
    metadata: dict[str, Any] = {}
    digests: dict[str, Any] = {}
    beside: list[Branch] = []

    parts: dict[str, Opened] = {}
    for name in dict.fromkeys(locations.values()):
        file = os.path.join(path, name)
        part = _checked(file, lambda file=file: of_file(file))  # type: ignore[misc]
        metadata.update(part.metadata)
        digests[name] = part.metadata.get(safetensors.DIGEST)
        parts[name] = part
    contents = {
        name: part.content for name, part in parts.items() if isinstance(part.content, Weights)
    }
    tensors: Any
    if len(contents) == len(parts):
        tensors = weights.joined_weights(path, locations, contents)
    else:
        beside = [branch for part in parts.values() for branch in leaves.branches_of(part.value)]
        by_name = {name: leaves.by_name(part.value) for name, part in parts.items()}
        tensors = weights.joined(path, locations, by_name)
    _checked(index, lambda: weights.check_index(locations, digests, about))
    return Opened(path, "sharded", tensors, metadata, beside=beside)


def _checked(path: str, work: Callable[[], Any]) -> Any:
    """work(), with errors that name a file of the folder."""
    try:
        return work()
    except OSError as e:
        problem = refused(e, path)
    except (RecursionError, *WRONG) as e:
        problem = wrong("ckpt", path, e)
    raise problem


def _sharded(path: str, names: list[str]) -> Opened | None:
    """Files of torch.distributed.checkpoint, one a process, of which each has parts of tensors."""
    files = _one_of(path, names, ".safetensors")
    if len(files) < 2:
        return None
    parts = [_checked(file, lambda file=file: of_file(file)) for file in files]  # type: ignore[misc]
    if any(weights.SHARDING not in part.metadata for part in parts):
        return None
    return Opened(path, "dcp", weights.sharded([(part.value, part.metadata) for part in parts]))


def _of_deepspeed(path: str, names: list[str]) -> Opened | None:
    """A folder of DeepSpeed's, of which another names the one with the parts; other files of that under their names."""
    for kind in (deepspeed, universal):
        folder = kind.folder_of(path, names)
        if folder is not None:
            tree = kind.read(folder, lambda file: _checked(file, lambda: of_file(file)).value)
            others = [name for name in names if folder != path and name not in tree]
            found = _several(path, others, tree)
            return Opened(path, "deepspeed", tree if found is None else found.value)
    return None


def _several(path: str, names: list[str], tree: dict[str, Any] | None = None) -> Opened | None:
    """Files of tensors and others, beside what is known of a folder: each under its name; the only one for itself."""
    found: dict[str, Any] = dict(tree or {})
    for name in names:
        file = os.path.join(path, name)
        if os.path.isfile(file) and name.endswith(leaves.SUFFIXES):
            found[name] = _checked(file, lambda file=file: of_file(file))  # type: ignore[misc]
    opened_files = [part for part in found.values() if isinstance(part, Opened)]
    if len(found) == 1 and opened_files and _LOG not in names:
        return opened_files[0]
    if not found:
        return None
    values = {
        name: part.value if isinstance(part, Opened) else part for name, part in found.items()
    }
    joined = leaves.joined(values)
    if _LOG in names:  # the losses of a run's steps
        joined[_LOG] = settings_at(os.path.join(path, _LOG))
    return Opened(path, "folder", joined)


def _inside(path: str, names: list[str], depth: int = 1) -> Opened | None:
    """The checkpoints in the folders of a folder, by name: of diffusers' pipelines, of a run's steps, and, one deeper,
    of a hub's cache."""
    tree: dict[str, Any] = {}
    for name in names:
        inner = os.path.join(path, name)
        if name.startswith(".") or os.path.islink(inner) or not os.path.isdir(inner):
            continue
        files = sorted(unfinished.names_in(inner))
        found = next((part for read in _FLAT if (part := read(inner, files)) is not None), None)
        if found is None and depth:
            found = _inside(inner, files, depth - 1)
        if found is not None:
            tree[name] = found.value
    return Opened(path, "folder", tree) if tree else None


_FLAT = (_of_dcp, _of_run, _of_deepspeed, _indexed, _sharded, _several)
_FOLDERS = (*_FLAT, _inside)


def tensors_of(value: Any) -> dict[str, Stored]:
    """The tensors in a tree, under dotted names."""
    return leaves.tensors_of(value)
