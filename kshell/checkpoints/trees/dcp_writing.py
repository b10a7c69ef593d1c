"""Writing folders of torch.distributed.checkpoint, by one process: torch's `load` reads them on any number."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from kshell.checkpoints.base.stored import Composite, Stored
from kshell.checkpoints.files import pt_writing
from kshell.checkpoints.pickles.editing import encoded, tensor
from kshell.checkpoints.pickles.machine import Global, Node
from kshell.checkpoints.pickles.meanings import Meanings
from kshell.checkpoints.pickles.writing import Pickler
from kshell.errors import CallError, QError
from kshell.store import atomic

_PACKAGE = "torch.distributed.checkpoint"
_DATA = "__0_0.distcp"
_PROTOCOL = 4

Path = tuple[Any, ...]


def flattened(tree: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The entries of nested dictionaries, as torch names them: lists are entered if tensors or dictionaries are in
    them."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from flattened(value, (*path, str(key)))
    elif isinstance(tree, list) and _is_entered(tree):
        for i, value in enumerate(tree):
            yield from flattened(value, (*path, i))
    else:
        yield path, tree


def _is_entered(x: list[Any]) -> bool:
    return any(
        isinstance(item, dict | Stored) or (isinstance(item, list) and _is_entered(item))
        for item in x
    )


def _object(module: str, name: str, state: Any) -> Node:
    made = Node("new", Global(f"{_PACKAGE}.{module}", name, _PROTOCOL))
    made.steps.append(("state", state))
    return made


def _size(shape: Any) -> Node:
    return Node("call", Global("torch", "Size", _PROTOCOL), (tuple(shape),))


class _Described:
    """What is written for each entry: in the metadata what it is, and where."""

    def __init__(self) -> None:
        self.entries: dict[str, Any] = {}
        self.paths: dict[str, Path] = {}
        self.places: dict[Any, Any] = {}
        layout = Node(
            "call", Global("torch.serialization", "_get_layout", _PROTOCOL), ("torch.strided",)
        )
        memory = Node(
            "call", Global(f"{_PACKAGE}.metadata", "_MEM_FORMAT_ENCODING", _PROTOCOL), (0,)
        )
        self._rest = (layout, False, memory, False)

    def add(self, name: str, path: Path, value: Any, start: int, length: int) -> None:
        """Describe an entry that is at a place of the file."""
        self.paths[name] = path
        index: dict[str, Any] = {"fqn": name}
        if isinstance(value, Stored):
            self.entries[name] = self._tensor(value)
            index |= {"offset": _size((0,) * len(value.shape)), "index": 0}
        else:
            self.entries[name] = _object("metadata", "BytesStorageMetadata", {})
            index["index"] = None
        place = {"relative_path": _DATA, "offset": start, "length": length}
        self.places[_object("metadata", "MetadataIndex", index)] = _object(
            "filesystem", "_StorageInfo", place
        )

    def _tensor(self, value: Stored) -> Node:
        dtype = Global("torch", value.dtype, _PROTOCOL)
        size = _size(value.shape)
        chunk = {"offsets": _size((0,) * len(value.shape)), "sizes": size}
        state = {
            "properties": _object("metadata", "TensorProperties", (dtype, *self._rest)),
            "size": size,
            "chunks": [_object("metadata", "ChunkStorageMetadata", chunk)],
        }
        return _object("metadata", "TensorStorageMetadata", state)

    def metadata(self) -> bytes:
        """The pickle of all."""
        state = {
            "state_dict_metadata": self.entries,
            "planner_data": self.paths,
            "storage_data": self.places,
            "storage_meta": None,
            "version": "1.0.0",
        }
        return Pickler(_PROTOCOL, lambda node: node.args).bytes_of(
            _object("metadata", "Metadata", state)
        )


def write(
    folder: str,
    tree: Any,
    sources: list[Meanings],
    beside: Sequence[tuple[str, atomic.Fill]] = (),
) -> None:
    """Write nested dictionaries of tensors and other values to a folder, which may be there, and files beside. QError
    for values that it cannot hold."""
    if not isinstance(tree, dict):
        raise CallError("ckptdcp", "expecting a dictionary")
    entries = {".".join(map(str, path)): (path, value) for path, value in flattened(tree)}
    for name, (_, value) in entries.items():
        if isinstance(value, Composite) or (
            isinstance(value, Stored) and value.options.get("scheme")
        ):
            raise QError(f"ckptdcp: {name}: such a folder cannot hold this kind of tensor")
    graphs = {
        name: tensor(value) if isinstance(value, Stored) else encoded(value)
        for name, (_, value) in entries.items()
    }
    described = _Described()

    def fill(f: BinaryIO) -> None:
        at = 0
        for name, (path, value) in entries.items():
            own = [] if isinstance(value, Stored) else sources
            length = pt_writing.write(f, graphs[name], own, 2, "archive", at)
            described.add(name, path, value, at, length)
            at += length

    def fill_metadata(f: BinaryIO) -> None:
        f.write(described.metadata())

    files = [
        (os.path.join(folder, _DATA), fill),
        (os.path.join(folder, ".metadata"), fill_metadata),
        *beside,
    ]
    atomic.write_all(files)
