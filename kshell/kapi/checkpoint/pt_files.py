"""The .pt files of torch.save: a zip of a pickle and of the tensors' memory.

Checksums and bounds are verified, and the pickle is interpreted by our own reader, which knows plain values and the few
names below: those from which tensors, parameters and their types are built. Memory is read from where the zip says it
is.
"""

from __future__ import annotations

import sys
import zipfile
from collections.abc import Callable
from typing import Any, BinaryIO

from kshell.errors import QError, first_line
from kshell.kapi.checkpoint import pt_legacy
from kshell.kapi.checkpoint.numpy_files import ARRAY, read_array, read_arrays
from kshell.kapi.checkpoint.pt_names import STORAGE, StorageType, Typed, named
from kshell.kapi.tensor import storages
from kshell.store.archive import Compressed, Room, places, pour
from kshell.store.kinds import kind_of, kind_of_archive
from kshell.store.pickled import Reader, Refused
from kshell.values.session.progress import Task

# bytes allowed per storage besides its content: a small tensor is larger than its bytes
_GRANTED = 2500
_LONGEST = 100  # characters of a name that are shown
_ZEROS = 1 << 20  # written at once
_SCRIPTED = "a TorchScript program, which torch.jit.load runs"
_PLAIN = (
    "if you trust the file, save its tensors by themselves in Python: c=torch.load(old,weights_only=False), "
    "torch.save(c['model'],new)"
)


# ------------------------------------------------------------------ files


class _File:
    """A zip file written by torch.save."""

    def __init__(self, f: BinaryIO, size: int, room: Room) -> None:
        self.file, self.size, self.room = f, size, room
        self.left = places(f, size, self.room, deflated=True)
        self.work = Task("loading", size)
        self.held: dict[str, Any] = {}  # storages by name
        self.foreign: set[int] = set()  # those with bytes in the other order, by address
        self.is_foreign = False

    def member(self, name: str) -> bytes:
        """The bytes of a small member."""
        data = bytearray(self.left[name].length)
        self.pour(name, memoryview(data))
        return bytes(data)

    def pour(self, name: str, into: memoryview | None) -> None:
        pour(self.file, name, self.left.pop(name), into, self.work, lenient=True)

    def read(self) -> tuple[Any, int, Callable[[int], None]]:
        """The value, the number of values in its pickle, and the memory guard."""
        pickles = [name for name in self.left if name.endswith("/data.pkl")]
        if self.left and all(name.endswith(".npy") for name in self.left):
            arrays = read_arrays(self.file, self.left, self.room, self.work)
            return arrays, len(arrays) + 1, self.room.need
        if len(pickles) != 1:
            kind, advice = ("", "") if pickles else kind_of_archive(self.file.name, self.left)
            raise QError(
                f"it is {kind}" if kind else f"it has {'two of' if pickles else 'no'} data.pkl",
                hint=advice,
            )
        self.root = pickles[0].removesuffix("data.pkl")
        if f"{self.root}constants.pkl" in self.left:
            raise QError(f"it is {_SCRIPTED}")
        byte_order = self.root + "byteorder"
        if byte_order in self.left and self.left[byte_order].length < 9:
            order = self.member(byte_order).decode()
            if order not in ("little", "big"):
                raise ValueError("its bytes are in an unknown order")
            self.is_foreign = order != sys.byteorder
        self.room.need(2 * self.left[pickles[0]].length)
        reader = Reader(self.member(pickles[0]), named, self.storage, self.room.need)
        value = reader.read()
        for name, place in list(self.left.items()):  # verify unreferenced members too
            if place.packed < 0:  # others may be very long
                self.pour(name, None)
        return value, reader.made, self.room.need

    def storage(self, asked: Any) -> Typed:
        """The memory that a pickle refers to: ('storage', class, name, device, number of items)."""
        if asked.__class__ is not tuple or len(asked) != 5 or asked[0] != "storage":
            raise Refused("an object that is kept elsewhere")
        _, kind, key, _, count = asked
        if (
            kind.__class__ is not StorageType
            or key.__class__ is not str
            or count.__class__ is not int
            or count < 0
        ):
            raise Refused("memory of an unknown kind")
        length = count * kind.dtype.itemsize
        if key not in self.held:
            name = f"{self.root}data/{key}"
            if name not in self.left or self.left[name].length != length:
                raise ValueError(f"memory {key} has a wrong length")
            self.room.need(STORAGE + length - _GRANTED)
            self.held[key], memory = storages.fresh(length)
            self.pour(name, memory)
            if self.is_foreign and length:
                self.foreign.add(self.held[key].data_ptr())
        if self.held[key].nbytes() != length:
            raise ValueError(f"memory {key} has a wrong length")
        return Typed(self.held[key], kind.dtype, self.foreign)


def read(
    path: str, f: BinaryIO, size: int, room: Room | None = None
) -> tuple[Any, int, Callable[[int], None]]:
    """The value of a .pt file, its number of values, and the guard for memory used later; the whole file is verified.
    Raises an error if it is not such a file, or requests more memory than `room` allows or a file of its size may."""
    begin = f.read(pt_legacy.BEGIN)
    is_legacy, is_array = pt_legacy.is_legacy(begin), begin.startswith(ARRAY)
    if begin[:4] != b"PK\3\4" and not is_legacy and not is_array:
        kind, advice = kind_of(path, begin)
        what = f"it is {kind}" if kind else "PyTorch writes no such file"
        raise QError(f"ckpt: {path} is not a checkpoint: {what}", hint=advice)
    problem = hint = ""
    try:
        room = room or Room(size)
        if is_array:
            return read_array(f, size, room), 1, room.need
        return pt_legacy.read(f, size, room) if is_legacy else _File(f, size, room).read()
    except Compressed:  # torch.save does not compress members; TorchScript code is compressed
        f.seek(0)
        members = zipfile.ZipFile(f).namelist()
        scripted = any(name.endswith("/constants.pkl") for name in members)
        kind, hint = (_SCRIPTED, "") if scripted else kind_of_archive(path, members)
        if not kind:
            raise
        problem = f"is not a checkpoint: it is {kind}"
    except Refused as e:
        culprit = first_line(str(e), _LONGEST)
        problem = f"is refused: it holds more than tensors and plain values: {culprit}"
        hint = _PLAIN
    except QError as e:
        if e.text == "wsfull":
            raise
        problem, hint = f"is not a checkpoint: {e.text}", e.hint
    raise QError(f"ckpt: {path} {problem}", hint=hint)


def add_zeros(f: BinaryIO, n: int) -> None:
    """Add a member of n zeros to a .pt file."""
    with zipfile.ZipFile(f, "a", zipfile.ZIP_STORED) as archive:
        root = next(name for name in archive.namelist() if name.endswith("/data.pkl")).removesuffix(
            "data.pkl"
        )
        with archive.open(f"{root}.data/zeros", "w", force_zip64=True) as member:
            for position in range(0, n, _ZEROS):
                member.write(bytes(min(_ZEROS, n - position)))
