"""The files of torch.save before version 1.6, and the tar files of before 0.1.10.

The first are five pickles one after the other, then the memory of the tensors: a number that marks such files, the
version, the sizes and order of bytes, the value, and the keys of the storages in the order of their bytes. The others
have the storages, the tensors and the value in members of their own.
"""

from __future__ import annotations

import struct
import sys
import tarfile
from typing import Any

from kshell.checkpoints.base.stored import WIDTHS, File, Memory, Strided
from kshell.checkpoints.files.pt import NotOne, Plain, storage_id
from kshell.checkpoints.pickles.editing import tensor
from kshell.checkpoints.pickles.machine import Machine
from kshell.checkpoints.pickles.meanings import Branch, Kept, Meanings, Unknown
from kshell.checkpoints.pickles.torch_meanings import storage_dtype
from kshell.store.archive import Room

MAGIC = 0x1950A86A20F9469CFC6C
_BEGIN = (
    b"\x8a\x0a" + MAGIC.to_bytes(10, "little") + b"."
)  # after the protocol, and perhaps a frame
_VERSION = 1001
_FIRST = 1 << 16  # bytes that are read for the pickles; more, if that is not enough
_MEMBERS = ("pickle", "storages", "tensors", "sys_info")


def is_legacy(begin: bytes) -> bool:
    """Are these the first 32 bytes of a file of before 1.6?"""
    is_text = begin.startswith(b"L%dL\n." % MAGIC)  # in protocols 0 and 1
    return is_text or (begin[:1] == b"\x80" and begin.find(_BEGIN, 0, 32) in (2, 11))


def is_tar(begin: bytes) -> bool:
    """Are these the first 512 bytes of a tar?"""
    return begin[257:262] == b"ustar"


def read(file: File, room: Room) -> Branch:
    """What is in a file of before 1.6. ValueError and the like if it is damaged."""
    length, left = min(file.size, _FIRST), room.left
    while True:
        room.need(length)
        machine = Machine(file.read(0, length), room)
        try:
            magic, version, system, value, keys = (machine.next() for _ in range(5))
            break
        except (IndexError, ValueError):
            if length == file.size:
                raise
            length, room.left = min(file.size, 4 * length), left
    if magic != MAGIC or version != _VERSION or system.__class__ is not dict:
        raise ValueError("its beginning is wrong")
    is_foreign = system.get("little_endian", True) is not (sys.byteorder == "little")
    memories = _memories(file, machine, keys)

    def kept(asked: Any) -> Kept:
        _, (dtype, is_untyped), key, _, count, part = storage_id(asked, 6)
        memory = memories[key]
        if memory.length != count * WIDTHS[dtype]:
            raise ValueError(f"memory {key} has a wrong length")
        return Kept(memory, dtype, is_untyped, 0 if part is None else _start(part, count))

    return Plain(machine, value).branch(Meanings(kept, room, is_foreign), file)


def _memories(file: File, machine: Machine, keys: Any) -> dict[str, Memory]:
    """The memory of each key: behind the pickles, for each a count of items, and their bytes."""
    widths: dict[str, int] = {}
    for node in machine.kept:
        try:
            _, (dtype, _), key, *_ = storage_id(node.args, 6)
        except Unknown:  # an object of another kind
            continue
        if widths.setdefault(key, WIDTHS[dtype]) != WIDTHS[dtype]:
            raise ValueError(f"memory {key} has items of two sizes")
    if keys.__class__ is not list or {*keys} != {*widths} or len(keys) != len(widths):
        raise ValueError("the memory of its tensors is not what they need")
    memories, at = {}, machine.at
    for key in keys:
        (count,) = struct.unpack("<q", file.read(at, min(8, file.size - at)))
        length = count * widths[key]
        if not 0 <= length <= file.size - at - 8:
            raise ValueError(f"memory {key} is cut off")
        memories[key] = Memory(file, at + 8, length, key)
        at += 8 + length
    if at != file.size:
        raise ValueError("it goes on after its end")
    return memories


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


# ------------------------------------------------------------------ tar


def read_tar(file: File, room: Room) -> Branch:
    """What is in a tar of before 0.1.10; NotOne if it is another tar. Nothing is unpacked."""
    parts = _members(file, room)
    if not {"pickle", "storages", "tensors"} <= {*parts}:
        raise NotOne("no storages, tensors and pickle")
    machines = {name: _machine(parts[name], room) for name in ("pickle", "storages", "tensors")}
    storages = _storages(machines["storages"], parts["storages"])
    tensors = _tensors(machines["tensors"], storages)

    machine = machines.pop("pickle")
    graph = machine.read()
    for other in machines.values():  # their names are those of the file, too
        machine.globals |= other.globals
        machine.nodes += other.nodes
    for node in machine.kept:  # as later versions name a tensor
        if node.args.__class__ in (str, int) and str(node.args) in tensors:
            made = tensor(tensors[str(node.args)])
            node.how, node.callee, node.args = made.how, made.callee, made.args
    return Plain(machine, graph).branch(Meanings(_memory, room), file)


def _members(file: File, room: Room) -> dict[str, File]:
    """The members that such a tar has, where they are."""
    parts: dict[str, File] = {}
    try:
        with tarfile.open(fileobj=file.stream, mode="r:") as archive:
            for member in archive:
                room.need(1000)
                if member.name not in _MEMBERS:
                    continue
                if not member.isreg() or member.name in parts:
                    raise ValueError(f"{member.name} is no file")
                parts[member.name] = file.part(member.offset_data, member.size)
    except tarfile.TarError as e:
        raise ValueError(str(e)) from None
    return parts


def _memory(asked: Any) -> Kept:
    """The memory in the id that `tensor` makes."""
    if asked.__class__ is not tuple or len(asked) != 5 or not isinstance(asked[2], Memory):
        raise Unknown
    found = storage_dtype(asked[1].known)
    if found is None:
        raise Unknown
    return Kept(asked[2], *found)


def _machine(file: File, room: Room) -> Machine:
    room.need(file.size)
    return Machine(file.read(0, file.size), room)


def _count(machine: Machine) -> int:
    count = machine.next()
    if count.__class__ is not int or not 0 <= count <= len(machine.data):
        raise ValueError("a wrong count")
    return count


def _storages(machine: Machine, file: File) -> dict[str, tuple[Memory, str, int]]:
    """The storages by key: memory, type, and first item."""
    found: dict[str, tuple[Memory, str, int]] = {}
    for _ in range(_count(machine)):
        key, _, cls = machine.next()
        dtype = storage_dtype(cls.known)
        (count,) = struct.unpack("<q", machine.take(8))
        if dtype is None:
            raise ValueError(f"memory {key} is of an unknown kind")
        length = count * WIDTHS[dtype[0]]
        found[str(key)] = (Memory(file, machine.at, length, str(key)), dtype[0], 0)
        machine.take(length)
    for view, root, offset, _ in machine.next():
        memory, dtype_name, _ = found[str(root)]
        found[str(view)] = (memory, dtype_name, offset)
    return found


def _tensors(machine: Machine, storages: dict[str, tuple[Memory, str, int]]) -> dict[str, Strided]:
    """The tensors by key."""
    found = {}
    for _ in range(_count(machine)):
        key, storage, _ = machine.next()
        dimensions, _ = struct.unpack("<ii", machine.take(8))
        numbers = struct.unpack(f"<{2 * dimensions + 1}q", machine.take(16 * dimensions + 8))
        memory, dtype, start = storages[str(storage)]
        shape, stride = numbers[:dimensions], numbers[dimensions:-1]
        found[str(key)] = Strided(dtype, shape, memory, stride, start + numbers[-1])
    return found
