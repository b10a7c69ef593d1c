"""The container of snapshots: a zip without compression that holds manifest.json and arrays as .npy members.

Every member has its checksum in the zip; the manifest says of each array its type and shape. What is read is checked
first: checksums, bounds, heads. Nothing in the file is code, and nothing is taken from it but numbers and text.
"""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from kshell.errors import QError, os_text
from kshell.store import atomic
from kshell.values.progress import Task

FORMAT = "kshell snapshot"
VERSION = 1
MANIFEST = "manifest.json"
_CHUNK = 1 << 22  # read and checked at a time
_LOCAL = struct.Struct("<4s22xHH")  # a member's own head: signature, lengths of name and extra field
_ZIP64 = 1 << 30  # members above this get 64-bit sizes
WRONG = (ValueError, KeyError, TypeError, IndexError, AttributeError, NotImplementedError, RuntimeError, EOFError,
          OverflowError, struct.error, zipfile.BadZipFile)


class Member(NamedTuple):
    """An array to be written: numpy's word for its type, its shape, its memory."""

    descr: str
    shape: tuple[int, ...]
    data: memoryview


def head(descr: str, shape: Sequence[int]) -> bytes:
    """The first bytes of a .npy file of an array."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": descr, "fortran_order": False, "shape": tuple(shape)})
    return out.getvalue()


def member(a: np.ndarray) -> Member:
    """An array as a member; it must not change until it is written."""
    a = np.ascontiguousarray(a)
    data = memoryview(a.reshape(-1).view(np.uint8).data) if a.size else memoryview(b"")
    return Member(str(np.lib.format.dtype_to_descr(a.dtype)), a.shape, data)


def name_of(i: int) -> str:
    """The name of array number i."""
    return f"arrays/{i}.npy"


def write(path: str, manifest: dict[str, Any], members: Sequence[Member]) -> None:
    """Make `path` hold a manifest and its arrays, all of it or what it held before."""
    table = [[m.descr, list(m.shape)] for m in members]
    text = json.dumps({"format": FORMAT, "version": VERSION, **manifest, "arrays": table}).encode()

    def fill(f: BinaryIO) -> None:
        work = Task("saving", sum(len(m.data) for m in members))
        with zipfile.ZipFile(f, "w", zipfile.ZIP_STORED) as z:
            _add(z, MANIFEST, work, text)
            for i, m in enumerate(members):
                _add(z, name_of(i), work, head(m.descr, m.shape), m.data)

    atomic.write(path, fill)


def _add(z: zipfile.ZipFile, name: str, work: Task, *parts: bytes | memoryview) -> None:
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o600 << 16
    with z.open(info, "w", force_zip64=sum(map(len, parts)) > _ZIP64) as out:
        for p in parts:
            atomic.pour(out, p, work)


def places(f: BinaryIO, size: int) -> dict[str, tuple[int, int, int]]:
    """By name, where the members of a zip without compression begin, their lengths and checksums. ValueError or
    BadZipFile for one that is compressed, has members twice or over one another, or ends too early."""
    with zipfile.ZipFile(f) as z:
        found = z.infolist()
    out: dict[str, tuple[int, int, int]] = {}
    last = 0
    for info in sorted(found, key=lambda i: i.header_offset):
        if info.compress_type or info.compress_size != info.file_size or info.flag_bits & 1:
            raise ValueError(f"{info.filename} is compressed")
        f.seek(info.header_offset)
        signature, n, extra = _LOCAL.unpack(f.read(_LOCAL.size))
        name = info.orig_filename.encode("utf-8" if info.flag_bits & 0x800 else "cp437")
        if signature != b"PK\3\4" or f.read(n) != name:
            raise ValueError(f"{info.filename} has a wrong head")
        start = info.header_offset + _LOCAL.size + int(n) + int(extra)
        if info.header_offset < last or start + info.file_size > size:
            raise ValueError(f"{info.filename} is out of bounds")
        if info.filename in out:
            raise ValueError(f"{info.filename} is there twice")
        last = start + info.file_size
        out[info.filename] = start, info.file_size, info.CRC
    return out


def verify(f: BinaryIO, size: int) -> list[str]:
    """Check all of a zip without compression: its bounds, and the checksum of each member; the names of them."""
    found = places(f, size)
    buffer = bytearray(_CHUNK)
    work = Task("checking", size)
    for name, (start, n, want) in found.items():
        f.seek(start)
        crc = 0
        while n:
            got = f.readinto(memoryview(buffer)[: min(n, _CHUNK)])  # type: ignore[attr-defined]
            if not got:
                raise ValueError(f"{name} is cut off")
            crc = zlib.crc32(memoryview(buffer)[:got], crc)
            n -= got
            work.add(got)
        if crc != want:
            raise ValueError(f"{name} has a wrong checksum")
    return list(found)


class Archive:
    """An open container, to be read: `with Archive(path) as a:`. What is wrong with it is a q error that says so."""

    def __init__(self, path: str, call: str) -> None:
        self.path, self.call = path, call
        self.manifest: dict[str, Any] = {}
        self._places: dict[str, tuple[int, int, int]] = {}  # by name: start, length, checksum
        self._work: Task | None = None
        self._taken: set[int] = set()
        problem = None
        try:
            self._file: BinaryIO = open(path, "rb")  # noqa: SIM115
        except OSError as e:
            problem = QError(os_text(e, path))
        if problem is not None:
            raise problem

    def __enter__(self) -> Archive:
        problem = None
        try:
            self._open()
            return self
        except WRONG as e:
            problem = self.damaged(str(e))
        except OSError as e:
            problem = QError(os_text(e, self.path))
        finally:
            if not self.manifest:
                self._file.close()
        raise problem

    def __exit__(self, *_: Any) -> None:
        self._file.close()

    def damaged(self, why: str) -> QError:
        """The error of a file that is not as it was written."""
        return QError(f"{self.call}: {self.path} is damaged: {why.splitlines()[0] if why else 'its content is wrong'}")

    def _open(self) -> None:
        self.size = os.fstat(self._file.fileno()).st_size
        if self._file.read(4) != b"PK\3\4":
            raise QError(f"{self.call}: {self.path} is not a snapshot")
        for name, place in places(self._file, self.size).items():
            self._places[name] = place
        self._work = Task("loading", self.size)
        self._read_manifest()

    def _read_manifest(self) -> None:
        start, n, crc = self._places[MANIFEST]
        text = bytearray(n)
        self._pour(MANIFEST, start, memoryview(text), crc)
        found = json.loads(text)
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            raise QError(f"{self.call}: {self.path} is not a snapshot")
        if found["version"] != VERSION:
            raise QError(f"{self.call}: {self.path} has version {found['version']} of the format, this is {VERSION}")
        if len(self._places) != len(found["arrays"]) + 1:
            raise ValueError("arrays are missing")
        self.manifest = found

    def _pour(self, name: str, start: int, into: memoryview, want: int, crc: int = 0) -> None:
        """Read bytes into memory, and check them."""
        self._file.seek(start)
        for at in range(0, len(into), _CHUNK):
            part = into[at : at + _CHUNK]
            if self._file.readinto(part) != len(part):  # type: ignore[attr-defined]
                raise ValueError(f"{name} is cut off")
            crc = zlib.crc32(part, crc)
            if self._work is not None:
                self._work.add(len(part))
        if crc != want:
            raise ValueError(f"{name} has a wrong checksum")

    def entry(self, i: int) -> tuple[str, tuple[int, ...], int]:
        """Type, shape and length in bytes of array i, which may be taken once."""
        if i.__class__ is not int or i in self._taken:
            raise ValueError(f"array {i} is not there")
        descr, shape = self.manifest["arrays"][i]
        dtype = np.dtype(descr)
        if dtype.hasobject or dtype.fields or any(n.__class__ is not int or n < 0 for n in shape):
            raise ValueError(f"array {i} has a wrong type")
        length = self._places[name_of(i)][1] - len(head(descr, shape))
        count = 1
        for n in shape:
            count *= n
        if length != count * dtype.itemsize:
            raise ValueError(f"array {i} has a wrong length")
        return descr, tuple(shape), length

    def pour(self, i: int, into: memoryview) -> None:
        """Read array i into memory of its length, and check it."""
        descr, shape, length = self.entry(i)
        start, _, crc = self._places[name_of(i)]
        want = head(descr, shape)
        self._file.seek(start)
        got = self._file.read(len(want))
        if got != want or len(into) != length:
            raise ValueError(f"array {i} has a wrong head")
        self._taken.add(i)
        self._pour(name_of(i), start + len(want), into, crc, zlib.crc32(got))

    def array(self, i: int) -> np.ndarray:
        """Array i, in memory of its own."""
        descr, shape, _ = self.entry(i)
        out = np.empty(shape, np.dtype(descr))
        self.pour(i, memoryview(out.reshape(-1).view(np.uint8).data) if out.size else memoryview(b""))
        return out
