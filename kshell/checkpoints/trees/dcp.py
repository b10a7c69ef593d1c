"""The folders of torch.distributed.checkpoint: .metadata says of which parts each tensor is made, and where they are.

Each part is a file of torch.save of its own, in a file of many. Neither a process group nor torch is needed to read
them, and the pickle of the metadata is not run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from kshell.checkpoints.base.stored import WIDTHS, File, Pieced, Stored
from kshell.checkpoints.files import weights
from kshell.checkpoints.files.pt import NotOne, Zip, bare
from kshell.checkpoints.files.pt import read as read_zip
from kshell.checkpoints.pickles.machine import Node
from kshell.checkpoints.pickles.meanings import Branch, Meanings
from kshell.checkpoints.trees.leaves import fields_of
from kshell.errors import QError, refused
from kshell.store.archive import WRONG, Room, wrong

_PACKAGE = "torch.distributed.checkpoint."


def is_beside(name: Any) -> bool:
    """Is this the name of a file of another kind in such a folder, as Lightning's meta.pt?"""
    is_name = name.__class__ is str and name == os.path.basename(name)
    return is_name and name.endswith((".pt", ".ckpt"))


class _Place(NamedTuple):
    """Where an entry is: in a file that is open since its folder was, or was not there then."""

    path: str
    offset: int
    length: int
    file: File | None


class _Item(Stored):
    """A part of a tensor, which is a file of torch.save in a file: opened when its numbers are asked for."""

    def __init__(self, dtype: str, shape: Sequence[int], place: _Place) -> None:
        self.dtype, self.shape, self._place = dtype, tuple(shape), place
        self._opened: Stored | None = None

    def into(self, out: memoryview, start: int = 0) -> None:
        """As for all kinds."""
        if self._opened is None:
            self._opened = self._open()
        self._opened.into(out, start)

    def _open(self) -> Stored:
        tree = _item(self._place)
        found = tree.meanings.of(tree.graph)
        if not isinstance(found, Stored) or (found.dtype, found.shape) != (self.dtype, self.shape):
            path, offset = self._place.path, self._place.offset
            raise QError(f"ckpt: {path}: the part at {offset} is of another type or size")
        return found


def _item(place: _Place) -> Branch:
    path, offset, length = place.path, place.offset, place.length
    problem: QError
    try:
        part = (place.file or File(path)).part(offset, length)
        tree = read_zip(Zip(part, Room(length)))
    except OSError as e:
        problem = refused(e, path)
    except NotOne as e:
        problem = QError(f"ckpt: {path} is damaged: the part at {offset} has {e}")
    except (RecursionError, *WRONG) as e:
        problem = wrong("ckpt", path, e)
    else:
        if isinstance(tree, Branch):
            return tree
        problem = QError(f"ckpt: {path} is damaged: the part at {offset} is no value")
    raise problem


def _opened(path: str) -> File | None:
    """A file of the folder; None if it cannot be opened, which is an error for those who read what is in it."""
    try:
        return File(path)
    except (OSError, ValueError):
        return None


class _Metadata:
    """A folder's metadata: what the pickle says, by name."""

    def __init__(self, folder: str, file: str) -> None:
        self.folder = folder
        opened = File(os.path.join(folder, file))
        tree = bare(opened, Room(opened.size))
        self.tree = tree
        self.m: Meanings = tree.meanings
        self.root = self.record(tree.graph, "metadata.Metadata")

    def record(self, x: Any, *names: str) -> dict[str, Any]:
        """The fields of an object of one of some classes. ValueError if it is another."""
        node = self.m.of(x)
        if node.__class__ is not Node or not node.name.endswith(names):
            raise ValueError("its metadata are of an unknown form")
        return fields_of(self.m, node)

    def places(self) -> dict[tuple[str, tuple[int, ...]], _Place]:
        """Where the part of a tensor is that begins at some offsets; other values have no offsets."""
        found = {}
        files: dict[str, File | None] = {}
        ends: dict[str, int] = {}  # of the values that are no tensors
        for index, info in self._dict(self.root["storage_data"]).items():
            key = self.record(index, "metadata.MetadataIndex")
            place = self.record(info, "filesystem._StorageInfo")
            if self.m.of(place.get("transform_descriptors")):
                raise QError(f"ckpt: {self.folder}: {key['fqn']} is compressed by an extension")
            path = place["relative_path"]
            if key["fqn"].__class__ is not str:
                raise ValueError("its metadata are of an unknown form")
            if path != os.path.basename(path) or path in (".", ".."):
                raise ValueError(f"{key['fqn']} is in a file outside the folder")
            offsets = key.get("offset")
            where = self.m.ints(self.m.of(offsets)) if offsets is not None else ()
            numbers = (place["offset"], place["length"])
            if any(n.__class__ is not int or n < 0 for n in numbers):
                raise ValueError(f"{key['fqn']} has a wrong place")
            if path not in files:
                files[path], ends[path] = _opened(os.path.join(self.folder, path)), 0
            place_of = _Place(os.path.join(self.folder, path), *numbers, files[path])
            found[key["fqn"], where] = place_of
            if offsets is None:
                ends[path] = max(ends[path], sum(numbers))
        self.blobs = {path: _blob(file, ends[path]) for path, file in files.items() if file}
        return found

    def _dict(self, x: Any) -> dict[Any, Any]:
        value = self.m.of(x)
        if not isinstance(value, dict):
            raise ValueError("its metadata are of an unknown form")
        return value

    def paths(self) -> dict[str, tuple[Any, ...]]:
        """Where each entry was among nested dictionaries and lists, as far as that is told."""
        found = {}
        planned = self.m.of(self.root.get("planner_data"))
        for name, path in planned.items() if isinstance(planned, dict) else ():
            keys = self.m.of(path)
            if keys.__class__ is tuple and all(key.__class__ in (str, int) for key in keys):
                found[name] = keys
        return found

    def entries(self) -> dict[str, Any]:
        """The tensors and other values by name."""
        places = self.places()
        found: dict[str, Any] = {}
        for name, entry in self._dict(self.root["state_dict_metadata"]).items():
            node = self.m.of(entry)
            if node.__class__ is Node and node.name.endswith("BytesStorageMetadata"):
                found[name] = _item(places[name, ()])
            else:
                found[name] = self._tensor(name, entry, places)
        return found

    def _tensor(self, name: str, entry: Any, places: dict[Any, Any]) -> Stored:
        fields = self.record(entry, "metadata.TensorStorageMetadata")
        properties = self.m.of(self.m.of(fields["properties"]).state)
        dtype = str(
            self.m.of(properties[0] if properties.__class__ is tuple else properties["dtype"])
        )
        dtype = dtype.removeprefix("torch.")
        if dtype not in WIDTHS:
            raise ValueError(f"{name} has type {dtype}, which is not known")
        shape = self.m.ints(self.m.of(fields["size"]))
        parts = []
        for chunk in self.m.of(fields["chunks"]):
            part = self.record(chunk, "metadata.ChunkStorageMetadata", "metadata.ShardMetadata")
            offsets = self.m.ints(self.m.of(part.get("offsets", part.get("shard_offsets"))))
            sizes = self.m.ints(self.m.of(part.get("sizes", part.get("shard_sizes"))))
            place = places.get(
                (name, offsets), places.get((name, ())) if not any(offsets) else None
            )
            if place is not None:
                parts.append((offsets, self._part(name, dtype, sizes, place)))
        return Pieced(dtype, shape, parts, f"{self.folder}: a part of {name} is missing")

    def _part(self, name: str, dtype: str, sizes: tuple[int, ...], place: _Place) -> Stored:
        blob = self.blobs.get(os.path.basename(place.path))
        if blob is None:
            return _Item(dtype, sizes, place)
        found = blob[name]
        if (found.dtype, found.shape) != (dtype, sizes):
            raise ValueError(f"the part of {name} in {place.path} is of another type or size")
        return found


def _blob(file: File, start: int) -> dict[str, Stored] | None:
    """The tensors of a file of which the end, after the values that are no tensors, is a .safetensors file: of these
    the metadata tell places that are not true. None if each part is a file of torch.save."""
    size = file.size - start
    if size < 10 or not weights.is_safetensors(file.read(start, min(size, 64)), size):
        return None
    return weights.read_file(file.part(start, size), Room(size))[0].tensors


def nested(entries: dict[str, Any], paths: dict[str, tuple[Any, ...]]) -> dict[str, Any]:
    """The entries in the dictionaries and lists in which they were saved. Those of which that is not told, or which do
    not fit together, stay under their names."""
    root: dict[str, Any] = {}
    for name, value in entries.items():
        path = paths.get(name)
        if not path or not _put(root, path, value):
            root[name] = value
    return {key: _lists(value) for key, value in root.items()}


def _put(root: dict[Any, Any], path: tuple[Any, ...], value: Any) -> bool:
    """Put a value at a path of keys; False if there is something else."""
    inner: Any = root
    for key in path[:-1]:
        inner = inner.setdefault(key, _Inner())
        if inner.__class__ is not _Inner:
            return False
    if path[-1] in inner:
        return False
    inner[path[-1]] = value
    return True


class _Inner(dict[Any, Any]):
    """A dictionary or a list, of which the keys tell which."""


def _lists(x: Any) -> Any:
    if x.__class__ is not _Inner:
        return x
    if {*x} == {*range(len(x))}:
        return [_lists(x[i]) for i in range(len(x))]
    return {str(key): _lists(value) for key, value in x.items()}


def read(folder: str, beside: list[Branch]) -> dict[str, Any]:
    """The tensors and values of a folder: whole, whatever processes have written them, in the dictionaries and lists in
    which they were saved. What the metadata say is added to `beside`. ValueError and the like if they are damaged."""
    names = sorted(name for name in os.listdir(folder) if name.endswith(".metadata"))
    entries: dict[str, Any] = {}
    paths: dict[str, tuple[Any, ...]] = {}
    for name in [".metadata"] if ".metadata" in names else names:
        metadata = _Metadata(folder, name)
        beside.append(metadata.tree)
        paths |= metadata.paths()
        for key, value in metadata.entries().items():
            entries[key] = _united(entries[key], value) if key in entries else value
    ordered = {name: entries[name] for name in paths if name in entries}  # as they were saved
    return nested(ordered | entries, paths)


def _united(a: Any, b: Any) -> Any:
    """An entry of which the metadata of two processes tell: a tensor has the parts of both. Values that are no tensors
    are the first one's, as where processes write together."""
    if not isinstance(a, Pieced) or not isinstance(b, Pieced):
        return a
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        raise ValueError("its processes have written tensors of different sizes under one name")
    return Pieced(a.dtype, a.shape, [*a.parts, *b.parts], a.missing)
