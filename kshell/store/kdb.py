"""Files in kdb+'s binary format: what `set` writes and `get` reads.

A vector of fixed-width items is a 16-byte header (fe20, type, attribute, count) followed by its items as in memory. An
enumeration or a list of vectors begins with a page of 4096 bytes (fd20; the name of the domain at 16; a header as above
at 4080); the items of a list are in a second file, whose name ends in #, and the first has their offsets. Any other
value is ff01 followed by its serialized form.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, BinaryIO, NamedTuple, TypeGuard, cast

import numpy as np

from kshell.errors import QError, refused
from kshell.store import atomic, compress, unfinished
from kshell.store.codec import ATTRS, Reader, encode
from kshell.values.base import types as T
from kshell.values.base.build import as_nd
from kshell.values.base.core import List, Nd, Value, Vec, atom, char

Array = np.ndarray
Part = bytes | memoryview
Bytes = bytes | mmap.mmap  # of a file

GENERAL = b"\xff\x01"
VECTOR = b"\xfe\x20"
PAGED = b"\xfd\x20"
OLD = b"\xff\x20"
PAGE = 4096
ANYMAP = 77  # the type of a list whose items are in a second file
_HEAD = struct.Struct("<2sbB4xq")
_MAPPED = 1 << 16  # files of at least this size are mapped instead of read
_SHORT = 127  # an item with a one-byte header, 127 + type, and one byte for its length


class Packing(NamedTuple):
    """How to compress a file: blocks of 2^logical bytes, algorithm, level. Every algorithm except none is replaced by
    zlib."""

    logical: int
    algorithm: int
    level: int


def packing_of(path: str) -> Packing | None:
    """The compression of a file; None if it is not compressed or does not exist."""

    def work(f: BinaryIO) -> Packing | None:
        if f.read(8) != compress.MAGIC:
            return None
        f.seek(0)
        tail = compress.tail_of(f.read())
        return Packing(tail.block.bit_length() - 1, tail.algorithm, tail.level)

    return unfinished.opened(path, work) if unfinished.there(path) else None


# ------------------------------------------------------------------ writing


def write(path: str, x: Value, packing: Packing | None = None) -> None:
    """Save a value to a file, atomically."""
    write_all([(path, x, packing)])


def write_all(values: Sequence[tuple[str, Value, Packing | None]], over_file: bool = False) -> None:
    """Save values to files; those in one folder change together."""
    files = [f for value in values for f in files_of(*value)]
    atomic.write_all([(name, atomic.filling(parts)) for name, parts in files], over_file)
    written = {name for name, _ in files}
    for path, _, _ in values:  # left by a list previously saved there
        if path + "#" not in written and os.path.exists(path + "#"):
            os.unlink(path + "#")


def files_of(path: str, x: Value, packing: Packing | None = None) -> list[tuple[str, list[Part]]]:
    """The files that hold a value, by name, and their contents."""
    if x.__class__ is Vec and x.t == T.ENUM:
        page = PAGED + bytes(14) + x.dom.encode("utf-8", "surrogateescape")
        files = [(path, [page.ljust(PAGE - 16, b"\0"), *_vector_parts(x)])]
    elif x.__class__ is Vec and x.t != T.S:
        files = [(path, _vector_parts(x))]
    elif _is_nested(x):
        entries, items = _nested(x)
        page = PAGED.ljust(PAGE - 16, b"\0")
        first: list[Part] = [page, _HEAD.pack(b"\0\0", ANYMAP, 0, len(entries)), _view(entries)]
        files = [(path + "#", [page.ljust(PAGE, b"\0"), _view(items)]), (path, first)]
    else:
        files = [(path, [GENERAL, encode(x, file=True)])]
    if packing is not None and packing.algorithm:
        return [
            (name, [compress.pack(b"".join(parts), packing.logical, packing.level)])
            for name, parts in files
        ]
    return files


def _view(a: Array) -> memoryview:
    plain: Any = np.ascontiguousarray(a).reshape(-1).view(np.uint8)
    return memoryview(plain)


def _vector_parts(x: Vec) -> list[Part]:
    magic = VECTOR if x.t != T.ENUM else b"\0\0"
    return [_HEAD.pack(magic, x.t, ATTRS.index(x.attr), len(x.a)), _view(x.a)]


def _is_nested(x: Value) -> TypeGuard[List]:
    """Is it a list of only vectors of fixed-width items?"""
    if x.__class__ is Nd:
        return bool(x.a.ndim == 2 and x.t != T.S)
    return (
        x.__class__ is List
        and bool(x.items)
        and all(
            item.__class__ is Vec and item.t not in (T.S, T.ENUM) and not item.attr
            for item in x.items
        )
    )


def _nested(x: List) -> tuple[Array, Array]:
    """The offset of each item, with a flag in the top byte for those with a short header; and the bytes of the
    items."""
    regular = as_nd(x)
    if regular is not None:
        return _rows(regular)
    entries = np.empty(len(x.items), np.uint64)
    parts: list[bytes] = []
    at = 0
    for k, item in enumerate(cast("list[Vec]", x.items)):
        count = len(item.a)
        if count < 256:
            part, flag = bytes((_SHORT + item.t, count)) + item.a.tobytes(), 1
        else:
            gap = -at % 16
            part, flag = bytes(gap) + _HEAD.pack(b"\0\0", item.t, 0, count) + item.a.tobytes(), 0
            at += gap
        entries[k] = at | flag << 56
        parts.append(part)
        at += len(part) if flag else len(part) - gap
    return entries, np.frombuffer(b"".join(parts), np.uint8)


def _rows(x: Nd) -> tuple[Array, Array]:
    rows, n = x.a.shape
    data = np.ascontiguousarray(x.a).view(np.uint8).reshape(rows, n * x.a.itemsize)
    short = n < 256
    head = bytes((_SHORT + x.t, n)) if short else _HEAD.pack(b"\0\0", x.t, 0, n)
    step = len(head) + data.shape[1]
    step += 0 if short else -step % 16
    out = np.zeros((rows, step), np.uint8)
    out[:, : len(head)] = np.frombuffer(head, np.uint8)
    out[:, len(head) : len(head) + data.shape[1]] = data
    entries = np.arange(rows, dtype=np.uint64) * np.uint64(step)
    return entries | np.uint64(1 << 56) if short else entries, out


# ------------------------------------------------------------------ reading


def size_of(path: str) -> int:
    """The size of a file's content in bytes, uncompressed."""
    where, before = unfinished.look(path)
    if os.path.isfile(where) and os.path.getsize(where) > len(compress.MAGIC):
        with open(where, "rb") as file:
            if file.read(len(compress.MAGIC)) == compress.MAGIC:
                with (
                    mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
                    memoryview(data) as view,
                ):
                    return compress.tail_of(view).size
    return before.size if before else os.path.getsize(where)


def contents(path: str) -> Bytes:
    """The bytes of a file: mapped if large, decompressed if compressed."""
    problem: OSError | None = None
    size, (where, before) = 0, unfinished.look(path)
    try:
        with open(where, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            data: Any = (
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                if size >= _MAPPED
                else file.read()
            )
    except OSError as e:
        problem = e
    if problem is not None:
        if where != path:  # it has just been moved
            return contents(path)
        raise refused(problem, asked=size)
    if before is not None:
        return data[: before.at] + before.head + data[before.at + len(before.head) : before.size]
    return compress.unpack(data[:]) if data[:8] == compress.MAGIC else data


_DAMAGE = ("type", "corrupt", "badtail")


def read(path: str) -> Value:
    """The value saved in a file. Errors for an invalid file (type) or a damaged one (corrupt, badtail) name the
    file."""
    try:
        return _read(path)
    except QError as e:
        error = e
    raise QError(f"{path}: {error.text}") if error.text in _DAMAGE else error


def _read(path: str) -> Value:
    data = contents(path)
    kind = bytes(data[:2])
    if kind == GENERAL:
        return _general(data)
    if kind == VECTOR:
        return _vector(data, 0)
    if kind == PAGED and len(data) >= PAGE:
        return _paged(path, data)
    if kind == OLD and len(data) >= 16:
        return _old(data)
    raise QError(os.path.basename(path) if not len(data) else "type")


def _general(data: Bytes) -> Value:
    if data[2:4] == b"\0\0" and len(data) >= 8:
        return List(list(records(data)))  # a log: appended items are not counted in its header
    reader = Reader(bytes(data), 2)
    x = reader.value()
    if reader.at != len(reader.data):
        raise QError("corrupt")
    return x


def records(data: Bytes) -> Any:
    """The values, one after another, in a file with a general list; 'badtail at an incomplete value."""
    reader = Reader(bytes(data), 8)
    bad = False
    while reader.at < len(reader.data):
        try:
            x = reader.value()
        except (QError, struct.error):
            bad = True
        if bad:
            raise QError("badtail")
        yield x


def valid_part(data: Bytes) -> tuple[int, int, bool]:
    """The number of values in a general list's file, the end of the last complete one, and whether nothing follows
    it."""
    reader = Reader(bytes(data), 8)
    n, end = 0, 8
    while reader.at < len(reader.data):
        try:
            reader.value()
        except (QError, struct.error):
            return n, end, False
        n, end = n + 1, reader.at
    return n, end, True


def torn_at(data: Bytes) -> int:
    """The start of the last value in a general list's file, if only its first bytes are there; -1 if not."""
    reader = Reader(bytes(data), 8)
    while reader.at < len(reader.data):
        end = reader.at
        try:
            reader.value()
        except (QError, struct.error):
            return end if reader.short else -1
    return -1


def _head_at(data: Bytes, at: int) -> tuple[int, str, int]:
    """Type, attribute and count in the header at an offset."""
    if len(data) < at + 16:
        raise QError("corrupt")
    _, t, attr, n = _HEAD.unpack(bytes(data[at : at + 16]))
    if attr >= len(ATTRS):
        raise QError("corrupt")
    return t, ATTRS[attr], n


def _vector(data: Bytes, at: int, dom: str = "") -> Value:
    t, attr, n = _head_at(data, at)
    if t not in T.DTYPE or t == T.S:
        raise QError("corrupt")
    size = T.TYPE[t].size
    if n == 0:
        n = (
            len(data) - at - 16
        ) // size  # in files made by appending, the count may not be updated
    if n < 0 or at + 16 + n * size > len(data):
        raise QError("corrupt")
    return Vec(t, np.frombuffer(data, T.DTYPE[t], n, at + 16), attr, dom)


def _paged(path: str, data: Bytes) -> Value:
    t, _, _ = _head_at(data, PAGE - 16)
    dom = bytes(data[16 : PAGE - 16]).split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
    if T.ENUM <= t < ANYMAP:
        data = data if t == T.ENUM else data[: PAGE - 14] + bytes((T.ENUM,)) + data[PAGE - 13 :]
        return _vector(data, PAGE - 16, dom)
    if t != ANYMAP:
        return _vector(data, PAGE - 16)
    n = _head_at(data, PAGE - 16)[2] or (len(data) - PAGE) // 8
    if PAGE + 8 * n > len(data):
        raise QError("corrupt")
    return _items(np.frombuffer(data, np.uint64, n, PAGE), contents(path + "#"))


def _items(entries: Array, data: Bytes) -> Value:
    """The list whose items begin at these offsets in the second file."""
    at = (entries & np.uint64((1 << 56) - 1)).astype(np.int64) + PAGE
    short = entries >> np.uint64(56) == 1
    if not len(at):
        return List([])
    if int(at.max()) >= len(data):
        raise QError("corrupt")
    return _same(at, short, data) or List(
        [_item(data, int(k), bool(s)) for k, s in zip(at, short, strict=True)]
    )


def _same(at: Array, short: Array, data: Bytes) -> Value | None:
    """The items as one array, if they have one type and length and are evenly spaced; else None."""
    count = len(at)
    step = int(at[1] - at[0]) if count > 1 else 0
    head = 2 if short[0] else 16
    if count < 2 or step <= head or (short != short[0]).any() or (np.diff(at) != step).any():
        return None
    first = _item(data, int(at[0]), bool(short[0]))
    if first.__class__ is not Vec:
        return None
    size = len(first.a) * first.a.itemsize
    if int(at[-1]) + head + size > len(data):
        return None
    array = np.frombuffer(data, np.uint8, int(at[-1] - at[0]) + head + size, int(at[0]))
    rows = np.lib.stride_tricks.as_strided(array, (count, head + size), (step, 1), writeable=False)
    if (rows[:, 2 if not short[0] else 0 : head] != rows[0, 2 if not short[0] else 0 : head]).any():
        return None
    return Nd(first.t, np.ascontiguousarray(rows[:, head:]).view(first.a.dtype))


def _item(data: Bytes, at: int, short: bool) -> Value:
    """The item of a list that begins at an offset in its second file."""
    if short:
        t, n = data[at] - _SHORT, 1
        start = at + 1
        if t > 0:
            n, start = data[at + 1], at + 2
    else:
        t, _, n = _head_at(data, at)
        start = at + 16
    row = T.TYPE.get(abs(t))
    if row is None or row.num in (T.S, T.ENUM):
        raise QError("nyi")
    if start + n * row.size > len(data):
        raise QError("corrupt")
    array = np.frombuffer(data, row.dtype, n, start)
    return (
        Vec(t, array)
        if t > 0
        else char(chr(array[0]))
        if row.num == T.C
        else atom(row.num, array[0])
    )


def _old(data: Bytes) -> Value:
    """A vector in the format of kdb+ before 64-bit counts."""
    t, attr, n = struct.unpack("<bxBxi", bytes(data[8:16]))
    if (
        t not in T.DTYPE
        or t in (T.S, T.ENUM)
        or attr >= len(ATTRS)
        or not 0 <= n * T.TYPE[t].size <= len(data) - 16
    ):
        raise QError("type")
    return Vec(t, np.frombuffer(data, T.DTYPE[t], n, 16), ATTRS[attr])


# ------------------------------------------------------------------ appending


def append(files: Sequence[tuple[str, Value]]) -> bool:
    """Append to files in one folder, vectors or lists of vectors, in place: to all or none, even if the process ends;
    returns false if one cannot be appended to. The attribute s is kept if a vector is still ascending; any other is
    dropped.

    The new counts are written last, after all items. Data is not synced, unlike when a file is replaced: appending is
    for rows that come by the thousand.
    """
    problem: OSError | None = None
    appending = _Appending(files)
    try:
        return unfinished.in_turn(os.path.dirname(files[0][0]) or ".", appending.work)
    except OSError as e:
        problem = e
    raise refused(problem, appending.path)


class _Target(NamedTuple):
    """An open file that x is appended to, its first bytes, and the second file of a list."""

    path: str
    f: BinaryIO
    first: bytes
    second: BinaryIO | None
    x: Any  # a list if there is a second file, else a vector

    def before(self) -> list[unfinished.Before]:
        """The records from which its files are restored if an append fails."""
        out = [_before(self.path, self.f, self.first)]
        if self.second is not None:
            out.append(_before(self.path + "#", self.second))
        return out

    def poured(self) -> tuple[BinaryIO, int, bytes]:
        """Write the items; returns what must be written last, as _poured does."""
        if self.second is None:
            return _poured(self.f, self.first, self.x)
        return _poured_items(self.f, self.first, self.second, self.x)


class _Appending:
    """Values to append to files; `path` is the last opened file, for error messages."""

    def __init__(self, files: Sequence[tuple[str, Value]]) -> None:
        self.files = files
        self.path = ""

    def work(self, note: Callable[[list[unfinished.Before]], None]) -> bool:
        """Append to all files; false, with nothing done, if one of them does not allow it."""
        with ExitStack() as streams:
            targets: list[_Target] = []
            for path, x in self.files:
                self.path = path
                target = _target(streams, path, x)
                if target is None:
                    return False
                targets.append(target)
            note([record for target in targets for record in target.before()])
            heads = [target.poured() for target in targets]
            for f, at, head in heads:
                _put(f, at, head)
        return True


def _opened(streams: ExitStack, path: str) -> BinaryIO:
    """Open an existing file to read and write; it is closed with the others."""
    return streams.enter_context(open(path, "r+b", 0))


def _target(streams: ExitStack, path: str, x: Value) -> _Target | None:
    """The file to append x to; None if it cannot be appended to in place."""
    f = _opened(streams, path)
    first = f.read(PAGE)
    if not _can_append(first, x):
        return None
    second = None if x.__class__ is Vec else _opened(streams, path + "#")
    return _Target(path, f, first, second, x)


def _before(path: str, f: BinaryIO, first: bytes = b"") -> unfinished.Before:
    """The record from which a file with this header is restored if appending fails."""
    about = os.fstat(f.fileno())
    at = 0 if first[:2] == VECTOR else PAGE - 16
    return unfinished.Before(
        os.path.basename(path), about.st_ino, about.st_size, at, first[at : at + 16]
    )


def _can_append(first: bytes, x: Value) -> bool:
    """Can x be appended in place to a file with this header?"""
    if x.__class__ is not Vec:
        return (
            _is_nested(x)
            and first[:2] == PAGED
            and len(first) == PAGE
            and first[PAGE - 14] == ANYMAP
        )
    if x.t == T.ENUM:
        return (
            first[:2] == PAGED
            and first[PAGE - 14] == T.ENUM
            and (
                first[16 : PAGE - 16].split(b"\0", 1)[0] == x.dom.encode("utf-8", "surrogateescape")
            )
        )
    return x.t != T.S and first[:2] == VECTOR and first[2] == x.t


def _put(f: BinaryIO, at: int, data: bytes | memoryview) -> None:
    """Write bytes at an offset of a file."""
    f.seek(at)
    with memoryview(data) as left:
        done = 0
        while done < len(left):
            done += f.write(left[done:])


def _poured(f: BinaryIO, first: bytes, x: Vec) -> tuple[BinaryIO, int, bytes]:
    """Append a vector to the one in a file with this header; returns the offset and content of its new header."""
    at = 0 if first[:2] == VECTOR else PAGE - 16
    t, attr, n = _head_at(first, at)
    size = T.TYPE[t].size
    n = n or (os.fstat(f.fileno()).st_size - at - 16) // size
    keep = ATTRS.index(attr if attr == "s" and _still_sorted(f, at, n, x) else "")
    _put(f, at + 16 + n * size, _view(x.a))
    return f, at, _HEAD.pack(first[at : at + 2], t, keep, n + len(x.a))


def _poured_items(f: BinaryIO, first: bytes, g: BinaryIO, x: List) -> tuple[BinaryIO, int, bytes]:
    """Append vectors to those in a file and its second one, like _poured."""
    n = _head_at(first, PAGE - 16)[2] or (os.fstat(f.fileno()).st_size - PAGE) // 8
    base = os.fstat(g.fileno()).st_size - PAGE
    base += -base % 16
    entries, items = _nested(x)
    _put(g, PAGE + base, _view(items))
    _put(f, PAGE + 8 * n, _view(entries + np.uint64(base)))
    return f, PAGE - 16, _HEAD.pack(first[PAGE - 16 : PAGE - 14], ANYMAP, 0, n + len(entries))


def _still_sorted(f: BinaryIO, at: int, n: int, x: Vec) -> bool:
    """Is a sorted vector still sorted with x appended?"""
    f.seek(at + 16 + max(n - 1, 0) * x.a.itemsize)
    last = np.frombuffer(f.read(x.a.itemsize) if n else b"", x.a.dtype)
    if x.t in (T.G, T.ENUM):
        return False
    array = np.concatenate([last, x.a])
    return bool((array[1:] >= array[:-1]).all())
