"""Writing tensors by name: a .safetensors file, or a folder of them with an index, a piece of a tensor at a time."""

from __future__ import annotations

import json
import os
import queue
import re
import threading
import zlib
from collections.abc import Callable, Mapping
from typing import BinaryIO, NamedTuple

from kshell.checkpoints.base.copying import FileRun, run_of_tensor
from kshell.checkpoints.base.stored import Composite, Stored, Turns
from kshell.checkpoints.files import safetensors
from kshell.checkpoints.files.weights import Packed, index_digest
from kshell.errors import CallError, QError
from kshell.store import atomic, unfinished
from kshell.values.session.interrupts import PENDING, give_up
from kshell.values.session.progress import Task

META = "__metadata__"
_INDEX = ".safetensors.index.json"
_PIECE = 1 << 22
_TURNS = 4  # pieces of which one is made, one waits, and one is written
_NAMES = {dtype: name for name, dtype in safetensors.DTYPES.items()}
# what follows the stem in the name of one file of several; the last part is there if an earlier save had the name
_SHARD = re.compile(r"-\d{5}-of-\d{5}(-[0-9a-f]{8})?\.safetensors")


def named_tensors(value: object) -> tuple[dict[str, Stored], dict[str, str]]:
    """The tensors by name, and the metadata, to be written. QError for values that such a file cannot hold."""
    if not isinstance(value, dict):
        raise CallError("ckpt", "a .safetensors file holds tensors by name")
    value = dict(value)
    meta = value.pop(META, {})
    if not isinstance(meta, dict) or any(
        not isinstance(text, str) for text in (*meta, *meta.values())
    ):
        raise QError(f"ckpt: {META} holds texts by name")
    for name, tensor in value.items():
        if not isinstance(name, str) or not isinstance(tensor, Stored):
            raise CallError(
                "ckpt", f"a .safetensors file holds tensors by name, {name} is not a tensor"
            )
        if isinstance(tensor, Composite) or type_of(tensor) is None:
            raise QError(f"ckpt: {name}: a .safetensors file cannot hold this kind of tensor")
    kept = {key: text for key, text in meta.items() if key not in safetensors.OWN}
    return value, {"format": "pt", **kept}


def type_of(tensor: Stored) -> str | None:
    """The name that a file has for the type of a tensor; None if it has none."""
    return tensor.scheme if isinstance(tensor, Packed) else _NAMES.get(tensor.dtype)


def _shape_of(tensor: Stored) -> list[int]:
    """The shape of a tensor as a file has it."""
    if isinstance(tensor, Packed):
        return list(tensor.options["size"])
    shape = list(tensor.shape)
    if type_of(tensor) in safetensors.HALVES:
        return [*shape[:-1], 2 * (shape or [1])[-1]]
    return shape


class File:
    """A .safetensors file that is to be written. `digest` is known when it is."""

    def __init__(self, tensors: Mapping[str, Stored], meta: dict[str, str]) -> None:
        self._tensors, self._meta = tensors, meta
        self._places = safetensors.layout(
            [(name, type_of(t) or "", _shape_of(t)) for name, t in tensors.items()]
        )
        self.size = sum(place.end - place.start for place in self._places)
        self.digest = ""

    def fill(self, f: BinaryIO) -> None:
        """Write it. The checksums stand before what they are of: their place is written again, or if that cannot be,
        the tensors are read twice."""
        unknown = "0" * (8 * len(self._places))
        sums = unknown if f.seekable() else self._pour(None)
        f.write(self._header(sums))
        found = self._pour(f)
        header = self._header(found)
        if sums is unknown:
            f.seek(0)
            f.write(header)
            f.seek(0, os.SEEK_END)

    def _header(self, sums: str) -> bytes:
        meta = {**self._meta, safetensors.SUMS: sums}
        self.digest = safetensors.digest(self._places, meta)
        return safetensors.header(self._places, {**meta, safetensors.DIGEST: self.digest})

    def _pour(self, f: BinaryIO | None) -> str:
        """Read the tensors in the order of the file, and write them unless there is nowhere to; their checksums. Those
        that a file has as they are to be are copied from it, neighbours at once."""
        work = Task("saving", self.size)
        waiting: FileRun | None = None
        turns = Turns(_TURNS)
        with _Behind(f) as behind:

            def copy(run: FileRun | None) -> None:
                for turn in run.turns() if run is not None else ():
                    if PENDING:
                        give_up()
                    behind.write(turn)
                    work.add(turn.length)

            for place in sorted(self._places, key=lambda p: (p.start, p.end)):
                tensor = self._tensors[place.name]
                run = run_of_tensor(tensor)
                both = waiting and run and waiting.joined(run)
                if both is None:
                    copy(waiting)
                waiting = both or run
                behind.begin(run.crc if run is not None else 0)
                for piece in tensor.pieces(_PIECE, turns) if run is None else ():
                    if PENDING:
                        give_up()
                    behind.write(piece)
                    work.add(len(piece))
            copy(waiting)
        return "".join(f"{crc:08x}" for crc in behind.sums)


class _Behind:
    """Writes pieces in a thread of its own, while the next ones are read or made; `sums` are the checksums of the
    tensors of which they are. Not more than two pieces wait, so that the memory of a third can be used again."""

    def __init__(self, f: BinaryIO | None) -> None:
        self._file = f
        self._waiting: queue.Queue[memoryview | FileRun | int | None] = queue.Queue(1)
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="kshell writer", daemon=True)
        self.sums: list[int] = []

    def __enter__(self) -> _Behind:
        self._thread.start()
        return self

    def __exit__(self, kind: object, *rest: object) -> None:
        self._waiting.put(None)
        self._thread.join()
        if self._problem is not None and kind is None:
            raise self._problem

    def begin(self, crc: int) -> None:
        """The next piece is the first of another tensor; this is the checksum of what is copied."""
        self._waiting.put(crc)

    def write(self, piece: memoryview | FileRun) -> None:
        """Have a piece written. OSError if an earlier one could not be."""
        if self._problem is not None:
            raise self._problem
        self._waiting.put(piece)

    def _run(self) -> None:
        while (piece := self._waiting.get()) is not None:
            if self._problem is not None:
                continue
            try:
                self._take(piece)
            except BaseException as e:
                self._problem = e

    def _take(self, piece: memoryview | FileRun | int) -> None:
        if isinstance(piece, int):
            self.sums.append(piece)
        elif isinstance(piece, FileRun):
            if self._file is not None:
                piece.copy(self._file)
        else:
            if self._file is not None:
                self._file.write(piece)
            self.sums[-1] = zlib.crc32(piece, self.sums[-1])


def write_file(path: str, value: object) -> None:
    """Write named tensors to one file."""
    atomic.write(path, File(*named_tensors(value)).fill)


# ------------------------------------------------------------------ folders


def write_folder(
    path: str, value: object, most: int, beside: Mapping[str, bytes] | None = None
) -> None:
    """Write tensors to files of at most so many bytes (at least one tensor each), and their index.

    Files of an earlier save are replaced, others in the folder stay. At any moment the folder is one checkpoint: new
    files have names that the earlier index has not, and the new index comes last. What a killed save left is removed.
    `beside`: other files of the folder, which change together with it.
    """
    earlier = _earlier(path)
    tensors, meta = named_tensors(value)
    files = [File(shard, meta) for shard in _shards(tensors, most)]
    names = _names(earlier, len(files))
    shards = _shards(tensors, most)
    locations = {key: name for name, shard in zip(names, shards, strict=True) for key in shard}

    def index(f: BinaryIO) -> None:
        digests = {name: file.digest for name, file in zip(names, files, strict=True)}
        text = {
            "metadata": {
                "total_size": sum(file.size for file in files),
                safetensors.DIGEST: index_digest(locations, digests),
            },
            "weight_map": locations,
        }
        f.write(json.dumps(text, indent=1).encode())

    atomic.write_all(
        [
            *(
                (os.path.join(path, name), file.fill)
                for name, file in zip(names, files, strict=True)
            ),
            *((os.path.join(path, name), _filled(text)) for name, text in (beside or {}).items()),
            (os.path.join(path, earlier.stem + _INDEX), index),
        ]
    )
    for name in earlier.files:
        if name not in names:
            os.unlink(os.path.join(path, name))


def _filled(text: bytes) -> Callable[[BinaryIO], None]:
    def fill(f: BinaryIO) -> None:
        f.write(text)

    return fill


def _shards(tensors: dict[str, Stored], most: int) -> list[dict[str, Stored]]:
    """Tensors in groups of at most so many bytes."""
    shards: list[dict[str, Stored]] = []
    room = 0
    for key, tensor in tensors.items():
        if not shards or tensor.nbytes > room:
            shards.append({})
            room = most
        shards[-1][key] = tensor
        room -= tensor.nbytes
    return shards


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


def _names(earlier: _Earlier, count: int) -> list[str]:
    """Names for new files, which an earlier save has not given to others."""
    stems = [f"{earlier.stem}-{i + 1:05}-of-{count:05}" for i in range(count)]
    if any(f"{stem}.safetensors" in earlier.files for stem in stems):
        tag = os.urandom(4).hex()
        stems = [f"{stem}-{tag}" for stem in stems]
    return [f"{stem}.safetensors" for stem in stems]
