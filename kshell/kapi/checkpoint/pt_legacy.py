"""The files of torch.save before version 1.6: five pickles one after the other, then the memory of the tensors.

The pickles are: a number that marks such files, the version, the sizes and order of bytes, the value, and the keys of
the storages in the order of their bytes.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from kshell.kapi.checkpoint.pt_names import STORAGE, StorageType, Typed, named
from kshell.kapi.tensor import storages
from kshell.store.archive import Room
from kshell.store.pickled import Reader, Refused
from kshell.values.session.interrupts import PENDING, give_up
from kshell.values.session.progress import Task

MAGIC = 0x1950A86A20F9469CFC6C
_BEGIN = (
    b"\x8a\x0a" + MAGIC.to_bytes(10, "little") + b"."
)  # after the protocol, and perhaps a frame
BEGIN = 32  # bytes that tell such a file
_VERSION = 1001
_FIRST = 1 << 16  # bytes that are read for the pickles; more, if that is not enough
_CHUNK = 1 << 22


def is_legacy(begin: bytes) -> bool:
    """Are these the first bytes of such a file?"""
    return begin[:1] == b"\x80" and begin.find(_BEGIN, 0, BEGIN) in (2, 11)


def read(f: BinaryIO, size: int, room: Room) -> tuple[Any, int, Callable[[int], None]]:
    """The value, the number of values in its pickle, and the memory guard. ValueError and the like for a file that is
    damaged, Refused for one that holds more than plain values."""
    length, left = min(size, _FIRST), room.left
    while True:
        try:
            return _File(f, size, length, room).read()
        except _CutOff:
            length, room.left = min(size, 4 * length), left


class _CutOff(Exception):
    """The pickles do not end in the bytes that were read, and there are more."""


class _Held:
    """The memory of a storage, to be filled; the type of its items."""

    def __init__(self, length: int, dtype: Any) -> None:
        self.storage, self.memory = storages.fresh(length)
        self.dtype = dtype
        if str(dtype) == "torch.bool":  # of which a tensor may not have others than 0 and 1
            self.storage.fill_(0)


class _File:
    """One such file, of which the first bytes are read."""

    def __init__(self, f: BinaryIO, size: int, length: int, room: Room) -> None:
        self.file, self.size, self.room = f, size, room
        f.seek(0)
        self.is_whole = length == size
        room.need(length)
        self.reader = Reader(f.read(length), named, self.storage, room.need)
        self.held: dict[str, _Held] = {}  # by key

    def read(self) -> tuple[Any, int, Callable[[int], None]]:
        try:
            magic, version, system, value, keys = (self.reader.next() for _ in range(5))
        except (IndexError, ValueError):
            if not self.is_whole:
                raise _CutOff from None
            raise
        if magic != MAGIC or version != _VERSION or system.__class__ is not dict:
            raise ValueError("its beginning is wrong")
        if keys.__class__ is not list or {*keys} != {*self.held} or len(keys) != len(self.held):
            raise ValueError("the memory of its tensors is not what they need")
        self._fill(keys, system.get("little_endian", True) is not (sys.byteorder == "little"))
        return value, self.reader.made, self.room.need

    def storage(self, asked: Any) -> Typed:
        """The memory that a pickle refers to: ('storage', class, key, device, number of items, part of another)."""
        if asked.__class__ is not tuple or len(asked) != 6 or asked[0] != "storage":
            raise Refused("an object that is kept elsewhere")
        _, kind, key, _, count, part = asked
        if kind.__class__ is not StorageType or key.__class__ is not str:
            raise Refused("memory of an unknown kind")
        if count.__class__ is not int or count < 0:
            raise ValueError("memory of a wrong length")
        length = count * kind.dtype.itemsize
        if key not in self.held:
            if length > self.size:
                raise ValueError(f"memory {key} is longer than the file")
            self.room.need(STORAGE + length)
            self.held[key] = _Held(length, kind.dtype)
        held = self.held[key]
        if len(held.memory) != length or held.dtype != kind.dtype:
            raise ValueError(f"memory {key} has a wrong length")
        return Typed(held.storage, kind.dtype, set(), 0 if part is None else _start(part, count))

    def _fill(self, keys: list[str], is_foreign: bool) -> None:
        """Read the memory, which stands behind the pickles: for each key a count of items, and their bytes."""
        self.file.seek(self.reader.at)
        work = Task("loading", self.size)
        for key in keys:
            held = self.held[key]
            (count,) = struct.unpack("<q", self.file.read(8))
            if count * held.dtype.itemsize != len(held.memory):
                raise ValueError(f"memory {key} has a wrong length")
            for at in range(0, len(held.memory), _CHUNK):
                if PENDING:  # nothing changes before everything is read
                    give_up()
                piece = held.memory[at : at + _CHUNK]
                if self.file.readinto(piece) != len(piece):  # type: ignore[attr-defined]
                    raise ValueError(f"memory {key} is cut off")
                work.add(len(piece))
            if is_foreign and held.memory:
                Typed(held.storage, held.dtype, {held.storage.data_ptr()}).turn(held.dtype)
            if str(held.dtype) == "torch.bool" and held.memory and max(held.memory) > 1:
                raise ValueError(f"memory {key} has wrong booleans")
        if self.file.read(1):
            raise ValueError("it goes on after its end")


def _start(part: Any, count: int) -> int:
    """Where the part of a storage begins that a tensor is of."""
    if part.__class__ is not tuple or len(part) != 3:
        raise ValueError("a wrong part of memory")
    _, offset, length = part
    if offset.__class__ is not int or length.__class__ is not int:
        raise ValueError("a wrong part of memory")
    if not 0 <= offset <= offset + length <= count:
        raise ValueError("a part of memory that is out of bounds")
    return offset
