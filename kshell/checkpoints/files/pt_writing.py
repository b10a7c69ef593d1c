"""Writing the zip files of torch.save, also over one that was read: what nobody changed is copied as it is.

The memory of tensors is written a piece at a time, wherever it comes from. Tensors that shared memory still do.
"""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Callable
from typing import Any, BinaryIO

from kshell.checkpoints.base.copying import FileRun, run_of
from kshell.checkpoints.base.stored import PIECE, WIDTHS, Memory, Run, turn
from kshell.checkpoints.pickles.machine import Node
from kshell.checkpoints.pickles.meanings import Kept, Meanings
from kshell.checkpoints.pickles.writing import Pickler
from kshell.errors import QError
from kshell.values.session.interrupts import PENDING, give_up
from kshell.values.session.progress import Task

_ALIGNED = 64  # torch's own
_WIDE = 0xFFFFFFFF
_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_ENTRY = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END = struct.Struct("<4sHHHHIIH")
_END64 = struct.Struct("<4sQHHIIQQQQ")
_LOCATOR = struct.Struct("<4sIQI")
_DATE = 0x21  # 1980-01-01: the bytes of a file say nothing of when it was written


class ZipWriter:
    """Writes a zip whose members are not compressed, and begin at multiples of 64 bytes; it begins at `start` of a
    file."""

    def __init__(self, f: BinaryIO, start: int = 0) -> None:
        self._file, self._at, self._start = f, 0, start
        self._entries: list[tuple[bytes, int, int, int]] = []  # name, checksum, length, offset

    def add(
        self, name: str, length: int, into: Callable[[memoryview, int], None], work: Task
    ) -> int:
        """Add a member of some bytes, which into(memory, start) gives; its checksum."""
        raw, extra = self._begun(name, 0, length)
        crc = 0
        out = memoryview(bytearray(min(PIECE, length)))
        for start in range(0, length, PIECE):
            if PENDING:
                give_up()
            piece = out[: min(PIECE, length - start)]
            into(piece, start)
            crc = zlib.crc32(piece, crc)
            self._file.write(piece)
            work.add(len(piece))
        self._file.seek(self._start + self._at)
        self._head(raw, crc, length, extra)
        self._ended(raw, crc, length, extra)
        self._file.seek(self._start + self._at)
        return crc

    def copy(self, name: str, run: FileRun, work: Task) -> None:
        """Add a member whose bytes are in a file, with the checksum that they have there."""
        raw, extra = self._begun(name, run.crc, run.length)
        for part in run.turns():
            if PENDING:
                give_up()
            part.copy(self._file)
            work.add(part.length)
        self._ended(raw, run.crc, run.length, extra)

    def _begun(self, name: str, crc: int, length: int) -> tuple[bytes, bytes]:
        """Write the head of a member; its name and its extra field."""
        raw = name.encode()
        extra = struct.pack("<HHQQ", 1, 16, length, length) if length >= _WIDE else b""
        padding = -(self._at + _LOCAL.size + len(raw) + len(extra) + 4) % _ALIGNED
        extra += struct.pack("<HH", 0x4246, padding) + b"Z" * padding
        self._head(raw, crc, length, extra)
        return raw, extra

    def _ended(self, raw: bytes, crc: int, length: int, extra: bytes) -> None:
        """Note a member of which everything is written."""
        self._entries.append((raw, crc, length, self._at))
        self._at += _LOCAL.size + len(raw) + len(extra) + length

    def _head(self, raw: bytes, crc: int, length: int, extra: bytes) -> None:
        size = min(length, _WIDE)
        version = 45 if length >= _WIDE else 20
        head = _LOCAL.pack(
            b"PK\3\4", version, 0x800, 0, 0, _DATE, crc, size, size, len(raw), len(extra)
        )
        self._file.write(head + raw + extra)

    def close(self) -> int:
        """Write the directory; the bytes of the zip."""
        start, count = self._at, len(self._entries)
        directory = b"".join(map(self._entry, self._entries))
        size = len(directory)
        end64 = _END64.pack(b"PK\6\6", 44, 45, 45, 0, 0, count, count, size, start)
        locator = _LOCATOR.pack(b"PK\6\7", 0, start + size, 1)
        few, small, near = min(count, 0xFFFF), min(size, _WIDE), min(start, _WIDE)
        end = _END.pack(b"PK\5\6", 0, 0, few, few, small, near, 0)
        self._file.write(directory + end64 + locator + end)
        return start + size + len(end64) + len(locator) + len(end)

    @staticmethod
    def _entry(entry: tuple[bytes, int, int, int]) -> bytes:
        raw, crc, length, offset = entry
        wide = [n for n in (length, length, offset) if n >= _WIDE]
        extra = struct.pack(f"<HH{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
        size, at = min(length, _WIDE), min(offset, _WIDE)
        return _ENTRY.pack(
            b"PK\1\2", 45, 45 if wide else 20, 0x800, 0, 0, _DATE, crc, size, size,
            len(raw), len(extra), 0, 0, 0, 0, at,
        ) + raw + extra  # fmt: skip


class _Memories:
    """The memory that a new file is to have, each under a key."""

    def __init__(self, sources: list[Meanings]) -> None:
        self._of = {id(node): m for m in sources for node in m.document.machine.kept}
        self.found: dict[str, Any] = {}  # by key
        self._keys: dict[int, str] = {}  # by identity of the memory
        self._parts: dict[tuple[int, int, int], _Turned] = {}

    def kept(self, node: Node) -> Any:
        """The id to write for an object that is kept outside of the pickle."""
        asked = node.args
        if (
            asked.__class__ is not tuple
            or len(asked) < 5
            or asked[0] not in ("storage", b"storage")
        ):
            return asked
        _, cls, key, device, count, *_ = asked
        m = self._of.get(id(node))
        if m is None:
            return ("storage", cls, self._key(key, ""), device, count)
        found = m.of(node)
        if found.__class__ is not Kept:
            return asked
        memory: Run = found.memory
        if m.is_foreign and found.is_untyped and memory.length > 1:
            raise QError(
                "ckpt: memory of an unknown type in the other order of bytes cannot be written"
            )
        if m.is_foreign or found.start:
            memory = self._part(found, count, m.is_foreign)
        return ("storage", cls, self._key(memory, str(key)), device, count)

    def forget(self) -> None:
        """There is none yet."""
        self.found.clear()
        self._keys.clear()

    def _part(self, kept: Kept, count: int, is_foreign: bool) -> _Turned:
        place = (id(kept.memory), kept.start, count)
        if place not in self._parts:
            self._parts[place] = _Turned(kept, count, is_foreign)
        return self._parts[place]

    def _key(self, memory: Any, wanted: str) -> str:
        """The key of some memory: the one that it had, if it is free."""
        known = self._keys.get(id(memory))
        if known is None:
            known = wanted
            if not wanted or wanted in self.found or not wanted.isdigit() or len(wanted) > 9:
                known = str(len(self.found))
                while known in self.found:
                    known = str(int(known) + 1)
            self._keys[id(memory)] = known
            self.found[known] = memory
        return known


class _Turned:
    """A part of memory, in this machine's order of bytes."""

    def __init__(self, kept: Kept, count: int, is_foreign: bool) -> None:
        width = WIDTHS[kept.dtype]
        self._kept, self._start = kept, kept.start * width
        self.length, self._is_foreign = count * width, is_foreign

    def into(self, out: memoryview, start: int = 0) -> None:
        """As for all memory."""
        self._kept.memory.into(out, self._start + start)
        if self._is_foreign:
            turn(out, self._kept.dtype)


def write(
    f: BinaryIO,
    graph: Any,
    sources: list[Meanings],
    protocol: int = 2,
    root: str = "archive",
    start: int = 0,
) -> int:
    """Write a file of torch.save with an object, from byte `start` of a file on; the bytes that it takes. `sources`:
    the pickles from which parts of the object are."""
    memories = _Memories(sources)
    data = _unchanged(graph, sources, memories)
    if data is None:
        data = Pickler(protocol, memories.kept).bytes_of(graph)
    order = sys.byteorder.encode()
    texts = [
        ("data.pkl", data), (".format_version", b"1"), (".storage_alignment", b"64"), ("byteorder", order),
    ]  # fmt: skip
    program = _program(graph, sources)
    written = [*memories.found.values(), *program.values()]
    work = Task("saving", sum(memory.length for memory in written))
    archive = ZipWriter(f, start)
    for name, text in texts:
        archive.add(f"{root}/{name}", len(text), _giving(text), work)
    for name, memory in program.items():
        archive.add(f"{root}/{name}", memory.length, memory.into, work)
    for key in sorted(memories.found, key=int):
        memory, name = memories.found[key], f"{root}/data/{key}"
        run = run_of(memory)
        if run is not None and run.crc:
            archive.copy(name, run, work)
            continue
        crc = archive.add(name, memory.length, memory.into, work)
        if isinstance(memory, Memory):  # what is damaged gets no checksum that says otherwise
            memory.compare(crc)
    if "version" not in program:
        archive.add(f"{root}/version", 2, _giving(b"3\n"), work)
    return archive.close()


def _program(graph: Any, sources: list[Meanings]) -> dict[str, Memory]:
    """What the file of a TorchScript program has beside the attributes of its module, by name: code and constants, as
    they are. Nothing for other objects."""
    if graph.__class__ is not Node or not graph.name.startswith("__torch__."):
        return {}
    for source in sources:
        old: Any = getattr(source.document, "archive", None)
        if old is None:
            continue
        root = source.document.name.removesuffix("data.pkl")
        if f"{root}constants.pkl" in old.members:
            own = (f"{root}data.pkl", f"{root}data/", f"{root}byteorder", f"{root}.")
            names = [name for name in old.members if not name.startswith(own)]
            return {name.removeprefix(root): old.memory(name) for name in names}
    return {}


def _unchanged(graph: Any, sources: list[Meanings], memories: _Memories) -> bytes | None:
    """The pickle of a file of which nobody changed anything, as it is."""
    if len(sources) != 1 or sources[0].is_changed or sources[0].is_foreign:
        return None
    document = sources[0].document
    data: bytes | None = getattr(document, "data", None)  # of a zip
    if data is None or document.graph is not graph:
        return None
    asked = [node.args for node in document.machine.kept]
    written = [memories.kept(node) for node in document.machine.kept]
    if written == asked:
        return data
    memories.forget()
    return None


def _giving(text: bytes) -> Callable[[memoryview, int], None]:
    def into(out: memoryview, start: int) -> None:
        out[:] = text[start : start + len(out)]

    return into
