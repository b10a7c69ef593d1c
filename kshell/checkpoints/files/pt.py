"""The zip files of PyTorch: those of torch.save, TorchScript programs and exported programs.

A file of torch.save is a pickle (data.pkl) and the memory of its tensors, one member each. A TorchScript program has
such a pickle of its attributes, and code, which is text. Opening one reads the directory and the pickles; tensors say
where their numbers are.
"""

from __future__ import annotations

import sys
from typing import Any

from kshell.checkpoints.base.stored import WIDTHS, File, Memory, Strided
from kshell.checkpoints.pickles import numpy_meanings  # noqa: F401  # registers what its names mean
from kshell.checkpoints.pickles.machine import Global, Machine
from kshell.checkpoints.pickles.meanings import Branch, Kept, Meanings, Unknown
from kshell.checkpoints.pickles.torch_meanings import storage_dtype
from kshell.store.archive import Place, Room, bounded, places

_ORDERS = {"little", "big"}
_GRANTED = (
    500  # bytes of memory allowed for a member besides its content: its entry in the directory
)
_MOST = 1 << 16  # bytes of members that are texts
# fmt: off  # a table
# torch's numbers of types in exported programs
_EXPORTED = {
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    5: "int64",
    6: "float16",
    7: "float32",
    8: "float64",
    9: "complex32",
    10: "complex64",
    11: "complex128",
    12: "bool",
    13: "bfloat16",
    28: "uint16",
    29: "float8_e4m3fn",
    30: "float8_e5m2",
    31: "float8_e4m3fnuz",
    32: "float8_e5m2fnuz",
    33: "float8_e8m0fnu",
    34: "uint32",
    35: "uint64",
}
# fmt: on


class NotOne(Exception):
    """A file is no checkpoint, but another of its kind."""


class Zip:
    """A zip file of PyTorch, open: `members` by name, of which `root` is the folder."""

    def __init__(self, file: File, room: Room) -> None:
        """Read the directory. ValueError and the like if it is damaged, or needs more memory than there is room for."""
        self.file, self.room = file, room
        self.members = places(file.stream, file.size, room, foreign=True)
        room.left += _GRANTED * len(self.members)
        for place in self.members.values():
            if place.packed >= 0:
                room.need(place.length)  # a short member may declare a long one
        self.memories: dict[str, Memory] = {}

    def member(self, name: str, most: int = -1) -> bytes:
        """The bytes of a member; ValueError if its checksum is wrong."""
        place = self.members[name]
        if 0 <= most < place.length:
            raise ValueError(f"{name} is too long")
        self.room.need(2 * place.length)
        data = bytearray(place.length)
        self.memory(name).into(memoryview(data))
        return bytes(data)

    def memory(self, name: str) -> Memory:
        """The bytes of a member, to be read later."""
        if name not in self.memories:
            place: Place = self.members[name]
            self.memories[name] = Memory(
                self.file, place.start, place.length, name, place.packed, place.crc
            )
        return self.memories[name]


class Document:
    """A pickle in a zip: its objects are in `graph`. `folder` is where the memory of its tensors is. What the objects
    mean refers to it, it does not refer to them: a file is closed when nothing of it is used any more."""

    def __init__(self, archive: Zip, name: str, folder: str) -> None:
        self.archive, self.name, self.folder = archive, name, folder
        self.data = archive.member(name)
        self.machine = Machine(self.data, archive.room, archive.members[name].packed)
        self.graph = self.machine.read()

    @property
    def protocol(self) -> int:
        """The version of the pickle's operations."""
        return self.machine.protocol

    def branch(self, is_foreign: bool) -> Branch:
        """The objects with their meanings."""
        meanings = Meanings(self._kept, self.archive.room, is_foreign)
        meanings.path, meanings.document = self.archive.file.path, self
        return Branch(meanings, self.graph)

    def _kept(self, asked: Any) -> Kept:
        """The memory for ('storage', class, key, device, number of items)."""
        _, cls, key, _, count = storage_id(asked, 5)
        name = f"{self.folder}{key}"
        dtype, is_untyped = cls
        if name not in self.archive.members:
            raise ValueError(f"memory {key} is not there")
        memory = self.archive.memory(name)
        if memory.length != count * WIDTHS[dtype]:
            raise ValueError(f"memory {key} has a wrong length")
        return Kept(memory, dtype, is_untyped)


def storage_id(asked: Any, size: int) -> tuple[Any, ...]:
    """The id of memory in a pickle, with the type of its items in the place of its class; Unknown if it is none."""
    if asked.__class__ is not tuple or len(asked) != size:
        raise Unknown
    word, cls, key, device, count, *more = (
        x.decode() if x.__class__ is bytes else x for x in asked
    )
    if word != "storage" or cls.__class__ is not Global or key.__class__ is not str:
        raise Unknown
    dtype = storage_dtype(cls.known)
    if dtype is None or count.__class__ is not int or count < 0:
        raise Unknown
    return (word, dtype, key, device, count, *more)


def is_archive(begin: bytes) -> bool:
    """Are these the first bytes of a zip file?"""
    return begin.startswith(b"PK\3\4")


def read(archive: Zip) -> Any:
    """What is in a zip of PyTorch: a Branch, or tensors by name. ValueError and the like if it is damaged, NotOne if it
    is no such zip."""
    names = archive.members
    if any(name.split("/", 1)[-1] == "archive_format" for name in names):
        return _exported(archive)
    roots = [name.removesuffix("data.pkl") for name in names if _is_pickle(name)]
    if len(roots) != 1:
        raise NotOne("two of data.pkl" if roots else "no data.pkl")
    root = roots[0]
    branch = Document(archive, f"{root}data.pkl", f"{root}data/").branch(_is_foreign(archive, root))
    if f"{root}constants.pkl" in names:
        _add_constants(archive, branch.meanings, root)
    return branch


def _is_pickle(name: str) -> bool:
    return name == "data.pkl" or (name.endswith("/data.pkl") and name.count("/") == 1)


def _is_foreign(archive: Zip, root: str) -> bool:
    """Are numbers in the other order than this machine's?"""
    name = f"{root}byteorder"
    order = archive.member(name, _MOST).decode() if name in archive.members else "little"
    if order not in _ORDERS:
        raise ValueError("its bytes are in an unknown order")
    return order != sys.byteorder


# ------------------------------------------------------------------ TorchScript


def _add_constants(archive: Zip, meanings: Meanings, root: str) -> None:
    """Let a program's attributes refer to its constants, which are a pickle of their own."""
    document = Document(archive, f"{root}constants.pkl", f"{root}constants/")
    constants = document.branch(meanings.is_foreign)
    if document.graph.__class__ is tuple:
        meanings.constants = [constants.meanings.of(x) for x in document.graph]


# ------------------------------------------------------------------ exported programs


def _exported(archive: Zip) -> dict[str, Any]:
    """The weights and constants of an exported program, by name."""
    root = next(iter(archive.members)).split("/", 1)[0] + "/"
    is_foreign = _is_foreign(archive, root)
    found: dict[str, Any] = {}
    for name in archive.members:
        if name.endswith(("_weights_config.json", "_constants_config.json")):
            folder = name.rsplit("/", 1)[0]
            config = bounded(archive.member(name), archive.room)["config"]
            for key, entry in config.items():
                found[key] = _of_entry(archive, folder, key, entry, is_foreign)
    return found


def _of_entry(archive: Zip, folder: str, key: str, entry: dict[str, Any], is_foreign: bool) -> Any:
    name = f"{folder}/{entry['path_name']}"
    if entry["use_pickle"]:
        return _packed(archive, name)
    meta = entry["tensor_meta"]
    numbers = (*meta["sizes"], *meta["strides"], meta["storage_offset"])
    if any("as_int" not in n for n in numbers):
        raise ValueError(f"{key} has a size that is not known before the program runs")
    if meta["dtype"] not in _EXPORTED:
        raise ValueError(f"{key} has an unknown type")
    sizes, strides = ([n["as_int"] for n in meta[field]] for field in ("sizes", "strides"))
    start = meta["storage_offset"]["as_int"]
    return Strided(
        _EXPORTED[meta["dtype"]], sizes, archive.memory(name), strides, start, is_foreign
    )


def _packed(archive: Zip, name: str) -> Any:
    """What is in a member that is a file of torch.save, or a pickle."""
    memory = archive.memory(name)
    if memory.packed >= 0:
        raise ValueError(f"{name} is compressed")
    begin = bytearray(min(4, memory.length))
    memory.into(memoryview(begin))
    part = archive.file.part(memory.offset, memory.length)
    if is_archive(bytes(begin)):
        return read(Zip(part, archive.room))
    return bare(part, archive.room)


class Plain:
    """A pickle that is no member of a zip: its objects are in `graph`."""

    def __init__(self, machine: Machine, graph: Any) -> None:
        self.machine, self.graph = machine, graph

    def branch(self, meanings: Meanings, file: File) -> Branch:
        """The objects with these meanings."""
        meanings.path, meanings.document = file.path, self
        return Branch(meanings, self.graph)


def bare(file: File, room: Room) -> Branch:
    """What is in a file that is a pickle alone."""
    room.need(2 * file.size)
    machine = Machine(file.read(0, file.size), room)
    return Plain(machine, machine.read()).branch(Meanings(_nowhere, room), file)


def _nowhere(asked: Any) -> Kept:
    raise Unknown
