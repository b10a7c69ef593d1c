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
from collections.abc import Sequence
from typing import Any, BinaryIO, NamedTuple, TypeGuard, cast

import numpy as np

from kshell.errors import QError, refused
from kshell.store import atomic, compress, unfinished
from kshell.store.codec import ATTRS, Reader, encode
from kshell.store.runs import FEW, flattened, with_heads, without_heads
from kshell.values.base import types as T
from kshell.values.base.build import as_nd
from kshell.values.base.core import List, Nd, Value, Vec, atom, char, flat_list

Array = np.ndarray
Part = bytes | memoryview
Bytes = bytes | mmap.mmap  # of a file

GENERAL = b"\xff\x01"
VECTOR = b"\xfe\x20"
PAGED = b"\xfd\x20"
OLD = b"\xff\x20"
PAGE = 4096
ANYMAP = 77  # the type of a list whose items are in a second file
HEAD = struct.Struct("<2sbB4xq")
_MAPPED = 1 << 16  # files of at least this size are mapped instead of read
_SHORT = 127  # an item with a one-byte header, 127 + type, and one byte for its length
_LONG = 256  # items of the shortest one that has a long header


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
    elif is_nested(x):
        entries, items = nested(x)
        page = PAGED.ljust(PAGE - 16, b"\0")
        first: list[Part] = [page, HEAD.pack(b"\0\0", ANYMAP, 0, len(entries)), view(entries)]
        files = [(path + "#", [page.ljust(PAGE, b"\0"), view(items)]), (path, first)]
    else:
        files = [(path, [GENERAL, encode(x, file=True)])]
    if packing is not None and packing.algorithm:
        return [
            (name, [compress.pack(b"".join(parts), packing.logical, packing.level)])
            for name, parts in files
        ]
    return files


def view(a: Array) -> memoryview:
    plain: Any = np.ascontiguousarray(a).reshape(-1).view(np.uint8)
    return memoryview(plain)


def _vector_parts(x: Vec) -> list[Part]:
    magic = VECTOR if x.t != T.ENUM else b"\0\0"
    return [HEAD.pack(magic, x.t, ATTRS.index(x.attr), len(x.a)), view(x.a)]


def is_nested(x: Value) -> TypeGuard[List]:
    """Is it a list of only vectors of fixed-width items?"""
    if x.__class__ is Nd:
        return bool(x.a.ndim == 2 and x.t != T.S)
    if x.__class__ is List and x.flat is not None:
        return x.flat.t not in (T.S, T.ENUM)
    return (
        x.__class__ is List
        and bool(x.items)
        and all(
            item.__class__ is Vec and item.t not in (T.S, T.ENUM) and not item.attr
            for item in x.items
        )
    )


def nested(x: List) -> tuple[Array, Array]:
    """The offset of each item, with a flag in the top byte for those with a short header; and the bytes of the
    items."""
    regular = as_nd(x)
    if regular is not None:
        return _rows(regular)
    flat = flattened(x)
    if flat is not None and int(flat.sizes.max()) < _LONG:
        heads = np.empty((len(flat), 2), np.uint8)
        heads[:, 0], heads[:, 1] = _SHORT + flat.t, flat.sizes
        starts, encoded = with_heads(flat, heads)
        return starts.astype(np.uint64) | np.uint64(1 << 56), encoded
    entries = np.empty(len(x.items), np.uint64)
    blocks: list[bytes] = []
    offset = 0
    for index, item in enumerate(cast("list[Vec]", x.items)):
        count = len(item.a)
        if count < _LONG:
            block, flag = bytes((_SHORT + item.t, count)) + item.a.tobytes(), 1
        else:
            padding = -offset % 16
            block, flag = (
                bytes(padding) + HEAD.pack(b"\0\0", item.t, 0, count) + item.a.tobytes(),
                0,
            )
            offset += padding
        entries[index] = offset | flag << 56
        blocks.append(block)
        offset += len(block) if flag else len(block) - padding
    return entries, np.frombuffer(b"".join(blocks), np.uint8)


def _rows(x: Nd) -> tuple[Array, Array]:
    rows, count = x.a.shape
    items = np.ascontiguousarray(x.a).view(np.uint8).reshape(rows, count * x.a.itemsize)
    short = count < _LONG
    header = bytes((_SHORT + x.t, count)) if short else HEAD.pack(b"\0\0", x.t, 0, count)
    stride = len(header) + items.shape[1]
    stride += 0 if short else -stride % 16
    array = np.zeros((rows, stride), np.uint8)
    array[:, : len(header)] = np.frombuffer(header, np.uint8)
    array[:, len(header) : len(header) + items.shape[1]] = items
    entries = np.arange(rows, dtype=np.uint64) * np.uint64(stride)
    return entries | np.uint64(1 << 56) if short else entries, array


# ------------------------------------------------------------------ reading


def size_of(path: str) -> int:
    """The size of a file's content in bytes, uncompressed."""
    location, record = unfinished.look(path)
    if os.path.isfile(location) and os.path.getsize(location) > len(compress.MAGIC):
        with open(location, "rb") as file:
            if file.read(len(compress.MAGIC)) == compress.MAGIC:
                with (
                    mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
                    memoryview(data) as view,
                ):
                    return compress.tail_of(view).size
    return record.size if record else os.path.getsize(location)


def contents(path: str) -> Bytes:
    """The bytes of a file: mapped if large, decompressed if compressed."""
    problem: OSError | None = None
    size, (location, record) = 0, unfinished.look(path)
    try:
        with open(location, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            data: Any = (
                mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
                if size >= _MAPPED
                else file.read()
            )
    except OSError as error:
        problem = error
    if problem is not None:
        if location != path:  # it has just been moved
            return contents(path)
        raise refused(problem, asked=size)
    if record is not None:
        return data[: record.at] + record.head + data[record.at + len(record.head) : record.size]
    return compress.unpack(data[:]) if data[:8] == compress.MAGIC else data


_DAMAGE = ("type", "corrupt", "badtail")


def read(path: str) -> Value:
    """The value saved in a file. Errors for an invalid file (type) or a damaged one (corrupt, badtail) name the
    file."""
    try:
        return _read(path)
    except QError as exception:
        error = exception
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
    value = reader.value()
    if reader.at != len(reader.data):
        raise QError("corrupt")
    return value


def records(data: Bytes) -> Any:
    """The values, one after another, in a file with a general list; 'badtail at an incomplete value."""
    reader = Reader(bytes(data), 8)
    damaged = False
    while reader.at < len(reader.data):
        try:
            value = reader.value()
        except (QError, struct.error):
            damaged = True
        if damaged:
            raise QError("badtail")
        yield value


def valid_part(data: Bytes) -> tuple[int, int, bool]:
    """The number of values in a general list's file, the end of the last complete one, and whether nothing follows
    it."""
    reader = Reader(bytes(data), 8)
    count, end = 0, 8
    while reader.at < len(reader.data):
        try:
            reader.value()
        except (QError, struct.error):
            return count, end, False
        count, end = count + 1, reader.at
    return count, end, True


def torn_at(data: Bytes) -> int:
    """The start of the last value in a general list's file, if only its first bytes are there; -1 if not."""
    reader = Reader(bytes(data), 8)
    while reader.at < len(reader.data):
        start = reader.at
        try:
            reader.value()
        except (QError, struct.error):
            return start if reader.short else -1
    return -1


def head_at(data: Bytes, at: int) -> tuple[int, str, int]:
    """Type, attribute and count in the header at an offset."""
    if len(data) < at + 16:
        raise QError("corrupt")
    _, qtype, attribute, count = HEAD.unpack(bytes(data[at : at + 16]))
    if attribute >= len(ATTRS):
        raise QError("corrupt")
    return qtype, ATTRS[attribute], count


def _vector(data: Bytes, at: int, dom: str = "") -> Value:
    qtype, attribute, count = head_at(data, at)
    if qtype not in T.DTYPE or qtype == T.S:
        raise QError("corrupt")
    size = T.TYPE[qtype].size
    if count == 0:
        # in files made by appending, the count may not be updated
        count = (len(data) - at - 16) // size
    if count < 0 or at + 16 + count * size > len(data):
        raise QError("corrupt")
    return Vec(qtype, np.frombuffer(data, T.DTYPE[qtype], count, at + 16), attribute, dom)


def read_rows(path: str, start: int, count: int | None) -> tuple[int, Vec] | None:
    """The number of items of a vector's file, and up to `count` of them from `start` on, which alone take memory.
    None if the file has to be read whole: lists, compressed files, unfinished ones."""
    location, record = unfinished.look(path)
    if record is not None or not os.path.isfile(location):
        return None
    with open(location, "rb") as file:
        head = file.read(PAGE)
        at = 0 if head[:2] == VECTOR else PAGE - 16
        if head[:2] not in (VECTOR, PAGED) or len(head) < at + 16:
            return None
        t, _, n = head_at(head, at)
        if not (t in T.DTYPE and t != T.S) and not T.ENUM <= t < ANYMAP:
            return None
        t = min(t, T.ENUM)
        size = T.TYPE[t].size
        there = (os.fstat(file.fileno()).st_size - at - 16) // size
        n = n or there
        if not 0 <= n <= there:
            raise QError(f"{path}: corrupt")
        file.seek(at + 16 + start * size)
        wanted = max(0, n - start if count is None else min(count, n - start))
        a = np.frombuffer(file.read(wanted * size), T.DTYPE[t])
    return n, Vec(t, a, "", _domain(head) if t == T.ENUM else "")


def _domain(head: Bytes) -> str:
    """The name of the list that an enumeration indexes."""
    return bytes(head[16 : PAGE - 16]).split(b"\0", 1)[0].decode("utf-8", "surrogateescape")


def _paged(path: str, data: Bytes) -> Value:
    qtype, _, _ = head_at(data, PAGE - 16)
    domain = _domain(data)
    if T.ENUM <= qtype < ANYMAP:
        data = data if qtype == T.ENUM else data[: PAGE - 14] + bytes((T.ENUM,)) + data[PAGE - 13 :]
        return _vector(data, PAGE - 16, domain)
    if qtype != ANYMAP:
        return _vector(data, PAGE - 16)
    count = head_at(data, PAGE - 16)[2] or (len(data) - PAGE) // 8
    if PAGE + 8 * count > len(data):
        raise QError("corrupt")
    return _items(np.frombuffer(data, np.uint64, count, PAGE), contents(path + "#"))


def _items(entries: Array, data: Bytes) -> Value:
    """The list whose items begin at these offsets in the second file."""
    offsets = (entries & np.uint64((1 << 56) - 1)).astype(np.int64) + PAGE
    short = entries >> np.uint64(56) == 1
    if not len(offsets):
        return List([])
    if int(offsets.max()) >= len(data):
        raise QError("corrupt")
    return (
        _same(offsets, short, data)
        or _short_vectors(offsets, short, data)
        or List(
            [
                _item(data, int(offset), bool(is_short))
                for offset, is_short in zip(offsets, short, strict=True)
            ]
        )
    )


def _same(at: Array, short: Array, data: Bytes) -> Value | None:
    """The items as one array, if they have one type and length and are evenly spaced; else None."""
    count = len(at)
    stride = int(at[1] - at[0]) if count > 1 else 0
    header_size = 2 if short[0] else 16
    if (
        count < 2
        or stride <= header_size
        or (short != short[0]).any()
        or (np.diff(at) != stride).any()
    ):
        return None
    first = _item(data, int(at[0]), bool(short[0]))
    if first.__class__ is not Vec:
        return None
    size = len(first.a) * first.a.itemsize
    if int(at[-1]) + header_size + size > len(data):
        return None
    array = np.frombuffer(data, np.uint8, int(at[-1] - at[0]) + header_size + size, int(at[0]))
    rows = np.lib.stride_tricks.as_strided(
        array, (count, header_size + size), (stride, 1), writeable=False
    )
    if (
        rows[:, 2 if not short[0] else 0 : header_size]
        != rows[0, 2 if not short[0] else 0 : header_size]
    ).any():
        return None
    return Nd(first.t, np.ascontiguousarray(rows[:, header_size:]).view(first.a.dtype))


def _short_vectors(at: Array, short: Array, data: Bytes) -> Value | None:
    """The items as vectors of one type, one after the other, if they all have a short header; else None."""
    array = np.frombuffer(data, np.uint8)
    if len(at) < FEW or not short.all() or int(at.max()) + 1 >= len(data):
        return None
    qtype = int(array[at[0]]) - _SHORT
    if qtype not in T.DTYPE or qtype in (T.S, T.ENUM) or (array[at] != array[at[0]]).any():
        return None
    ends = at + 2 + array[at + 1] * np.int64(T.TYPE[qtype].size)
    if int(ends[-1]) > len(data) or (ends[:-1] != at[1:]).any():
        return None
    flat = without_heads(array[at[0] : ends[-1]], at - at[0], 2, qtype)
    return flat_list(flat.t, flat.a, flat.ends)


def _item(data: Bytes, at: int, short: bool) -> Value:
    """The item of a list that begins at an offset in its second file."""
    if short:
        qtype, count = data[at] - _SHORT, 1
        start = at + 1
        if qtype > 0:
            if at + 1 >= len(data):
                raise QError("corrupt")
            count, start = data[at + 1], at + 2
    else:
        qtype, _, count = head_at(data, at)
        start = at + 16
    row = T.TYPE.get(abs(qtype))
    if row is None or row.num in (T.S, T.ENUM):
        raise QError("nyi")
    if start + count * row.size > len(data):
        raise QError("corrupt")
    array = np.frombuffer(data, row.dtype, count, start)
    return (
        Vec(qtype, array)
        if qtype > 0
        else char(chr(array[0]))
        if row.num == T.C
        else atom(row.num, array[0])
    )


def _old(data: Bytes) -> Value:
    """A vector in the format of kdb+ before 64-bit counts."""
    qtype, attribute, count = struct.unpack("<bxBxi", bytes(data[8:16]))
    if (
        qtype not in T.DTYPE
        or qtype in (T.S, T.ENUM)
        or attribute >= len(ATTRS)
        or not 0 <= count * T.TYPE[qtype].size <= len(data) - 16
    ):
        raise QError("type")
    return Vec(qtype, np.frombuffer(data, T.DTYPE[qtype], count, 16), ATTRS[attribute])
