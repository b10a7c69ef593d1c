"""The container for snapshots: an uncompressed zip with manifest.json and arrays as .npy members.

The zip has a checksum for every member; the manifest has type and shape of each array. Everything is verified before it
is used: checksums, bounds, headers. Nothing in the file is code; only numbers and text are read from it.
"""

from __future__ import annotations

import io
import json
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from kshell.errors import QError, as_qerror, of_memory, os_text
from kshell.store import atomic
from kshell.values.session.interrupts import PENDING, give_up
from kshell.values.session.progress import Task

FORMAT = "kshell snapshot"
VERSION = 1
MANIFEST = "manifest.json"
_CHUNK = 1 << 22  # bytes read and checked at a time
_LOCAL = struct.Struct("<4s22xHH")  # local file header: signature, lengths of name and extra field
# central directory entry, including the offset of the local header
_ENTRY = struct.Struct("<4s4xHH4xIIIHHH8xI")
# end record: disks, members, size and offset of the directory, length of a comment
_END = struct.Struct("<4sHHHHIIH")
_LOCATOR = struct.Struct("<4sIQI")  # zip64 end locator
_END64 = struct.Struct("<4s28xQQQ")  # zip64 end record
_M32 = 0xFFFFFFFF  # means "see the 64-bit number"
_DEFLATED = 8  # the method of compression
_AFTER = 69_562  # bytes after its end with which PyTorch reads a zip: a comment, or what a download has added
_MEMBERS = 250_000  # members allowed in any zip; larger files may have more
_ZIP64 = 1 << 30  # members above this get 64-bit sizes
_SLACK = 48 << 20  # bytes of memory allowed for any file
_MEMBER = 400  # approximate bytes of memory per member, besides its content
_REASON = 150  # characters of a reason that are shown
WRONG = (
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OverflowError,
    struct.error,
    zipfile.BadZipFile,
)


class Member(NamedTuple):
    """An array to write: numpy's type string, shape, memory."""

    descr: str
    shape: tuple[int, ...]
    data: memoryview


def head(descr: str, shape: Sequence[int]) -> bytes:
    """The header of a .npy file for an array."""
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        buffer, {"descr": descr, "fortran_order": False, "shape": tuple(shape)}
    )
    return buffer.getvalue()


def member(a: np.ndarray) -> Member:
    """An array as a member; it must not change until it is written."""
    a = np.ascontiguousarray(a)
    data = memoryview(a.reshape(-1).view(np.uint8).data) if a.size else memoryview(b"")
    return Member(str(np.lib.format.dtype_to_descr(a.dtype)), a.shape, data)


def name_of(i: int) -> str:
    """The name of array number i."""
    return f"arrays/{i}.npy"


def write(path: str, manifest: dict[str, Any], members: Sequence[Member], needs: int = 0) -> None:
    """Write a manifest and its arrays to `path`, atomically. `needs`: the bytes that the values need in memory besides
    their arrays, as counted by the reader. If that is more than a file of its size may require, an array of zeros is
    added to make it large enough."""
    members = list(members)
    text = _described(manifest, members)
    size = len(text) + sum(len(member.data) for member in members)
    shortage = needs + described_cost(text) + _MEMBER * len(members) + size - Room(size).left
    if shortage > 0:
        members.append(member(np.zeros(shortage // 2 + (1 << 16), np.uint8)))
        text = _described(manifest, members)

    def fill(f: BinaryIO) -> None:
        task = Task("saving", sum(len(member.data) for member in members))
        with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as archive:
            _add(archive, MANIFEST, task, text)
            for index, member in enumerate(members):
                _add(archive, name_of(index), task, head(member.descr, member.shape), member.data)

    atomic.write(path, fill)


def _described(manifest: dict[str, Any], members: Sequence[Member]) -> bytes:
    table = [[member.descr, list(member.shape)] for member in members]
    return json.dumps({"format": FORMAT, "version": VERSION, **manifest, "arrays": table}).encode()


def _add(z: zipfile.ZipFile, name: str, work: Task, *parts: bytes | memoryview) -> None:
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o600 << 16
    with z.open(info, "w", force_zip64=sum(map(len, parts)) > _ZIP64) as stream:
        for chunk in parts:
            atomic.pour(stream, chunk, work)


# approximate bytes in memory by JSON token
_COSTS = (("[", 80), ("{", 150), (",", 32), ('"', 8), (":", 130))


class TooMuch(ValueError):
    """The content of a file would need more memory than it may."""


class Compressed(ValueError):
    """A zip has compressed members."""


class Room:
    """The memory budget for reading a file: initially twice its size plus some megabytes, so that a short file cannot
    claim much. Allocations are counted before they are made."""

    def __init__(self, size: int) -> None:
        self.left = 2 * size + _SLACK

    def need(self, n: int) -> None:
        """Use n bytes; TooMuch if they are not left."""
        self.left -= n
        if self.left < 0:
            raise TooMuch("reading it would take more memory than twice its size plus 64 MB")


def wrong(call: str, path: str, e: Exception) -> QError:
    """The error for a file that is not as it was written, or needs too much memory; or for lack of memory, whatever the
    file."""
    if isinstance(e, MemoryError) or (isinstance(e, RuntimeError) and of_memory(str(e).lower())):
        return as_qerror(e)
    lines = str(e).splitlines()
    reason = lines[0] if lines else "its content is wrong"
    if len(reason) > _REASON:  # it may show a name in the file
        reason = reason[:_REASON] + ".."
    return QError(
        f"{call}: {path} is {'refused' if isinstance(e, TooMuch) else 'damaged'}: {reason}"
    )


def described_cost(text: bytes | bytearray) -> int:
    """The approximate memory that a JSON text and its values need."""
    found = np.frombuffer(text, np.uint8)
    highest = int(found.max(initial=0))
    width = 4 if highest >= 0xF0 else 2 if highest >= 0xC4 else 1  # bytes per character in Python
    # one byte is found in less time than two
    value_width = 4 if width > 1 or (b"\\" in text and b"\\u" in text) else 1
    return len(text) * (1 + width + value_width) + sum(
        int(np.count_nonzero(found == ord(mark))) * cost for mark, cost in _COSTS
    )


def bounded(text: bytes | bytearray, room: Room) -> Any:
    """The value of UTF-8 JSON text, within the budget; ValueError also for duplicate names, and for numbers that are
    not valid JSON."""
    room.need(described_cost(text))
    return _UNIQUE_JSON.decode(text.decode())


def bounded_names(text: bytes | bytearray, room: Room) -> Any:
    """The same for a dictionary of many names, in less time: no name of it and of the dictionaries in it is twice if
    there are as many colons as names."""
    room.need(described_cost(text))
    found = _PLAIN_JSON.decode(text.decode())
    if found.__class__ is dict:
        names = len(found) + sum(len(part) for part in found.values() if part.__class__ is dict)
        if names == text.count(b":"):
            return found
    return _UNIQUE_JSON.decode(text.decode())


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number")


def one_value(text: str, start: int) -> tuple[Any, int]:
    """The value of JSON that begins at a place in a text, and where it ends; ValueError as for `bounded`."""
    found: tuple[Any, int] = _UNIQUE_JSON.raw_decode(text, start)
    return found


def _unique(found: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(found)
    if len(result) != len(found):
        raise ValueError("a name is there twice")
    return result


_PLAIN_JSON = json.JSONDecoder(parse_constant=_no_number)
_UNIQUE_JSON = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number)


class Place(NamedTuple):
    """The offset of a member, its length and its checksum; the bytes that it takes if it is compressed."""

    start: int
    length: int
    crc: int
    packed: int = -1


def _end_of(f: BinaryIO, size: int, most: int) -> int:
    """The offset of the last end record of a zip, which so many bytes may follow."""
    for after in (0, most):  # most zips have nothing there: little is read
        first = max(size - _END.size - after, 0)
        f.seek(first)
        end = f.read(size - first).rfind(b"PK\5\6", 0, size - first - _END.size + 4)
        if end >= 0:
            return first + end
    raise ValueError("its end is not that of a zip")


def _directory(f: BinaryIO, size: int, foreign: bool) -> tuple[memoryview, int]:
    """The directory of a zip, at its end, and the number of members it declares."""
    if size < _END.size:
        raise ValueError("it is cut off")
    end = _end_of(f, size, _AFTER if foreign else 0)
    f.seek(end)
    _, *disks, on_disk, count, length, start, comment = _END.unpack(f.read(_END.size))
    if any(disks) or on_disk != count or (comment and not foreign):
        raise ValueError("its end is not that of a zip")
    # large zips, and torch's, have a zip64 end record before it
    if end >= _LOCATOR.size + _END64.size:
        f.seek(end - _LOCATOR.size)
        signature, disk, large, disk_count = _LOCATOR.unpack(f.read(_LOCATOR.size))
        if signature == b"PK\6\7":
            end = large
            f.seek(end)
            signature, count, length, start = _END64.unpack(f.read(_END64.size))
            if signature != b"PK\6\6" or disk or disk_count != 1:
                raise ValueError("its end is not that of a zip")
    if start + length != end or count > _MEMBERS + size // 256:
        raise ValueError("its directory is out of place")
    f.seek(start)
    return memoryview(f.read(length)), count


def _entries(
    f: BinaryIO, size: int, room: Room, foreign: bool
) -> Iterator[tuple[int, bytes, str, Place]]:
    """For each member in the directory: the offset of its header, its name as bytes and text, and its location if the
    header has no extra field."""
    data, count = _directory(f, size, foreign)
    room.need(len(data) + _MEMBER * count)
    position = 0
    for _ in range(count):
        signature, flags, method, crc, packed, length, name_length, extra, comment, offset = (
            _ENTRY.unpack_from(data, position)
        )
        position += _ENTRY.size
        name, extra_fields = (
            bytes(data[position : position + name_length]),
            data[position + name_length : position + name_length + extra],
        )
        position += name_length + extra + comment
        if signature != b"PK\1\2" or position > len(data):
            raise ValueError("its directory is damaged")
        is_wide = [number == _M32 for number in (length, packed, offset)]
        if any(is_wide):
            numbers = _wide(extra_fields, sum(is_wide))
            length, packed, offset = (
                numbers.pop(0) if flag else number
                for flag, number in zip(is_wide, (length, packed, offset), strict=True)
            )
        text = name.decode("utf-8" if flags & 0x800 else "cp437")
        place = Place(offset + _LOCAL.size + name_length, length, crc)
        if method == _DEFLATED and foreign and not flags & 1:
            place = place._replace(packed=packed)
        elif method or packed != length or flags & 1:
            raise Compressed(f"{text} is compressed")
        yield offset, name, text, place
    if position != len(data):
        raise ValueError("its directory is damaged")


def _wide(extra: memoryview, n: int) -> list[int]:
    """The 64-bit numbers of a member."""
    offset = 0
    while offset + 4 <= len(extra):
        kind, length = struct.unpack_from("<HH", extra, offset)
        if kind == 1:
            return list(struct.unpack_from(f"<{n}Q", extra, offset + 4))
        offset += 4 + length
    raise ValueError("its directory is damaged")


def places(f: BinaryIO, size: int, room: Room, foreign: bool = False) -> dict[str, Place]:
    """The members of a zip, by name. ValueError and the like if it has duplicate or overlapping members, or ends too
    early, or exceeds the budget; unless it is `foreign`, also if it is compressed by deflate, or ends too late."""
    by_name: dict[str, Place] = {}
    previous_end = 0
    for offset, raw_name, name, place in sorted(_entries(f, size, room, foreign)):
        f.seek(offset)
        signature, name_length, extra = _LOCAL.unpack(f.read(_LOCAL.size))
        if (
            signature != b"PK\3\4"
            or name_length != len(raw_name)
            or f.read(name_length) != raw_name
        ):
            raise ValueError(f"{name} has a wrong head")
        start = place.start + extra
        end = start + (place.length if place.packed < 0 else place.packed)
        if offset < previous_end or end > size:
            raise ValueError(f"{name} is out of bounds")
        if name in by_name:
            raise ValueError(f"{name} is there twice")
        previous_end = end
        by_name[name] = place._replace(start=start)
    return by_name


def pour(
    f: BinaryIO,
    name: str,
    place: Place,
    into: memoryview | None,
    work: Task,
    crc: int = 0,
    lenient: bool = False,
) -> None:
    """Read a member into memory of its length, or discard it, and check it; `crc` is the checksum of what precedes
    it. If `lenient`, a checksum of 0 is none: its writer computed none."""
    if into is not None and len(into) != place.length:
        raise ValueError(f"{name} has a wrong length")
    f.seek(place.start)
    read = f.readinto if place.packed < 0 else _Inflated(f, place.packed).readinto  # type: ignore[attr-defined]
    buffer = into or memoryview(bytearray(min(place.length, _CHUNK)))
    for offset in range(0, place.length, _CHUNK):
        if PENDING:  # nothing changes before everything is read
            give_up()
        count = min(_CHUNK, place.length - offset)
        chunk = buffer[offset : offset + count] if into is not None else buffer[:count]
        if read(chunk) != count:
            raise ValueError(f"{name} is cut off")
        crc = zlib.crc32(chunk, crc)
        work.add(count)
    if crc != place.crc and not (lenient and not place.crc):
        raise ValueError(f"{name} has a wrong checksum")


class _Inflated:
    """The content of a compressed member, from where a file stands."""

    def __init__(self, f: BinaryIO, packed: int) -> None:
        self._file, self._left = f, packed
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        self._waiting = b""

    def readinto(self, into: memoryview) -> int:
        """Fill memory, as far as there is content; how much of it was filled. ValueError if it is damaged."""
        done = 0
        while done < len(into) and not self._inflate.eof:
            if not self._waiting:
                self._waiting = self._file.read(min(self._left, _CHUNK))
                self._left -= len(self._waiting)
                if not self._waiting:
                    break
            try:
                part = self._inflate.decompress(self._waiting, len(into) - done)
            except zlib.error as e:
                raise ValueError(str(e)) from None
            self._waiting = self._inflate.unconsumed_tail
            into[done : done + len(part)] = part
            done += len(part)
        return done


class Archive:
    """An open container for reading: `with Archive(path) as a:`. Problems are q errors that say what is wrong."""

    def __init__(self, path: str, call: str) -> None:
        self.path, self.call = path, call
        self.manifest: dict[str, Any] = {}
        self._places: dict[str, Place] = {}
        self.room: Room
        self._work: Task
        self._taken: set[int] = set()
        problem = None
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                problem = QError(f"{call}: {path} is not a snapshot")
            else:
                self._file: BinaryIO = open(path, "rb")  # noqa: SIM115
        except OSError as error:
            problem = QError(os_text(error, path))
        if problem is not None:
            raise problem

    def __enter__(self) -> Archive:
        problem = None
        try:
            self._open()
            return self
        except WRONG as error:
            problem = self.damaged(error)
        except OSError as error:
            problem = QError(os_text(error, self.path))
        finally:
            if not self.manifest:
                self._file.close()
        raise problem

    def __exit__(self, *_: Any) -> None:
        self._file.close()

    def damaged(self, e: Exception) -> QError:
        """The error for a file that is not as it was written."""
        return wrong(self.call, self.path, e)

    def _open(self) -> None:
        self.size = os.fstat(self._file.fileno()).st_size
        if self._file.read(4) != b"PK\3\4":
            raise QError(f"{self.call}: {self.path} is not a snapshot")
        self.room = Room(self.size)
        self._places = places(self._file, self.size, self.room)
        self._work = Task("loading", self.size)
        self._read_manifest()

    def _read_manifest(self) -> None:
        text = bytearray(self._places[MANIFEST].length)
        self._pour(MANIFEST, self._places[MANIFEST], memoryview(text))
        manifest = bounded(text, self.room)
        if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
            raise QError(f"{self.call}: {self.path} is not a snapshot")
        if manifest["version"] != VERSION:
            raise QError(
                f"{self.call}: {self.path} has version {manifest['version']} of the format, this is {VERSION}"
            )
        if len(self._places) != len(manifest["arrays"]) + 1:
            raise ValueError("arrays are missing")
        self.manifest = manifest

    def _pour(self, name: str, place: Place, into: memoryview, crc: int = 0) -> None:
        pour(self._file, name, place, into, self._work, crc)

    def entry(self, i: int) -> tuple[str, tuple[int, ...], int]:
        """Type, shape and length in bytes of array i, which may be taken once."""
        if i.__class__ is not int or i in self._taken:
            raise ValueError(f"array {i} is not there")
        descr, shape = self.manifest["arrays"][i]
        dtype = np.dtype(descr)
        if (
            dtype.hasobject
            or dtype.fields
            or any(dimension.__class__ is not int or dimension < 0 for dimension in shape)
        ):
            raise ValueError(f"array {i} has a wrong type")
        length = self._places[name_of(i)].length - len(head(descr, shape))
        count = 1
        for dimension in shape:
            count *= dimension
        if length != count * dtype.itemsize:
            raise ValueError(f"array {i} has a wrong length")
        return descr, tuple(shape), length

    def pour(self, i: int, into: memoryview) -> None:
        """Read array i into memory of its length, and check it."""
        descr, shape, length = self.entry(i)
        place = self._places[name_of(i)]
        expected = head(descr, shape)
        self._file.seek(place.start)
        header = self._file.read(len(expected))
        if header != expected or len(into) != length:
            raise ValueError(f"array {i} has a wrong head")
        self._taken.add(i)
        self.room.need(length)
        self._pour(
            name_of(i),
            Place(place.start + len(expected), length, place.crc),
            into,
            zlib.crc32(header),
        )

    def array(self, i: int) -> np.ndarray:
        """Array i, in its own memory."""
        descr, shape, _ = self.entry(i)
        array = np.empty(shape, np.dtype(descr))
        self.pour(
            i, memoryview(array.reshape(-1).view(np.uint8).data) if array.size else memoryview(b"")
        )
        return array
