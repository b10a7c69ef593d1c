"""Appending to files in kdb+'s binary format, in place."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from kshell.errors import refused
from kshell.store import unfinished
from kshell.store.codec import ATTRS
from kshell.store.kdb import ANYMAP, HEAD, PAGE, PAGED, VECTOR, head_at, is_nested, nested, view
from kshell.values.base import types as T
from kshell.values.base.core import List, Value, Vec


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
    except OSError as error:
        problem = error
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
        records = [_before(self.path, self.f, self.first)]
        if self.second is not None:
            records.append(_before(self.path + "#", self.second))
        return records

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
            headers = [target.poured() for target in targets]
            for file, offset, header in headers:
                _put(file, offset, header)
        return True


def _opened(streams: ExitStack, path: str) -> BinaryIO:
    """Open an existing file to read and write; it is closed with the others."""
    return streams.enter_context(open(path, "r+b", 0))


def _target(streams: ExitStack, path: str, x: Value) -> _Target | None:
    """The file to append x to; None if it cannot be appended to in place."""
    file = _opened(streams, path)
    first_page = file.read(PAGE)
    if not _can_append(first_page, x):
        return None
    second = None if x.__class__ is Vec else _opened(streams, path + "#")
    return _Target(path, file, first_page, second, x)


def _before(path: str, f: BinaryIO, first: bytes = b"") -> unfinished.Before:
    """The record from which a file with this header is restored if appending fails."""
    status = os.fstat(f.fileno())
    offset = 0 if first[:2] == VECTOR else PAGE - 16
    return unfinished.Before(
        os.path.basename(path), status.st_ino, status.st_size, offset, first[offset : offset + 16]
    )


def _can_append(first: bytes, x: Value) -> bool:
    """Can x be appended in place to a file with this header?"""
    if x.__class__ is not Vec:
        return (
            is_nested(x)
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
    with memoryview(data) as remaining:
        written = 0
        while written < len(remaining):
            written += f.write(remaining[written:])


def _poured(f: BinaryIO, first: bytes, x: Vec) -> tuple[BinaryIO, int, bytes]:
    """Append a vector to the one in a file with this header; returns the offset and content of its new header."""
    offset = 0 if first[:2] == VECTOR else PAGE - 16
    qtype, attribute, count = head_at(first, offset)
    size = T.TYPE[qtype].size
    count = count or (os.fstat(f.fileno()).st_size - offset - 16) // size
    attr_code = ATTRS.index(
        attribute if attribute == "s" and _still_sorted(f, offset, count, x) else ""
    )
    _put(f, offset + 16 + count * size, view(x.a))
    return f, offset, HEAD.pack(first[offset : offset + 2], qtype, attr_code, count + len(x.a))


def _poured_items(f: BinaryIO, first: bytes, g: BinaryIO, x: List) -> tuple[BinaryIO, int, bytes]:
    """Append vectors to those in a file and its second one, like _poured."""
    count = head_at(first, PAGE - 16)[2] or (os.fstat(f.fileno()).st_size - PAGE) // 8
    start = os.fstat(g.fileno()).st_size - PAGE
    start += -start % 16
    entries, items = nested(x)
    _put(g, PAGE + start, view(items))
    _put(f, PAGE + 8 * count, view(entries + np.uint64(start)))
    return f, PAGE - 16, HEAD.pack(first[PAGE - 16 : PAGE - 14], ANYMAP, 0, count + len(entries))


def _still_sorted(f: BinaryIO, at: int, n: int, x: Vec) -> bool:
    """Is a sorted vector still sorted with x appended?"""
    f.seek(at + 16 + max(n - 1, 0) * x.a.itemsize)
    last_item = np.frombuffer(f.read(x.a.itemsize) if n else b"", x.a.dtype)
    if x.t in (T.G, T.ENUM):
        return False
    joined = np.concatenate([last_item, x.a])
    return bool((joined[1:] >= joined[:-1]).all())
