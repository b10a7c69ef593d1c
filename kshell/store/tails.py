"""Files that grow one record at a time: a partial record left by a killed writer is cut off before the next one,
because nothing after it could be read."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator

from kshell.store import kdb

MOST = 1 << 26  # maximum bytes to cut off; more than that is damage rather than a partial record
_PIECE = 1 << 16
_RECORD = b'{"step": '  # the start of each JSON line
_WHOLE: dict[tuple[int, int], tuple[int, int]] = {}  # logs found intact: size and modification time


@contextlib.contextmanager
def _alone(fd: int) -> Iterator[bool]:
    """Does no other process have the file open for appending? Until it is closed, the others see this process."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        alone = True
    except OSError:
        alone = False
    try:
        yield alone
    finally:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)


def added(fd: int, data: bytes) -> None:
    """Append a record: all of it, or nothing if that fails and no other process has appended."""
    start, remaining = -1, memoryview(data)
    try:
        while remaining:
            count = os.write(fd, remaining)
            if count < len(remaining) and start < 0:
                start = os.fstat(fd).st_size - count
            remaining = remaining[count:]
    except OSError:
        written = len(data) - len(remaining)
        if start >= 0 and os.fstat(fd).st_size == start + written:
            os.ftruncate(fd, start)
        raise


def note_whole(path: str) -> None:
    """Remember that a log contains only complete messages."""
    with contextlib.suppress(OSError):
        status = os.stat(path)
        _WHOLE[status.st_dev, status.st_ino] = status.st_size, status.st_mtime_ns


def mend_log(fd: int, path: str) -> int:
    """Cut off the last message of an open log if it is incomplete; returns the number of bytes cut. Files that are not
    logs, or are damaged otherwise, are left alone."""
    status = os.fstat(fd)
    if not status.st_size or _WHOLE.get((status.st_dev, status.st_ino)) == (
        status.st_size,
        status.st_mtime_ns,
    ):
        return 0
    with open(path, "rb") as file:
        if file.read(4) != kdb.GENERAL + b"\0\0":
            return 0
    with _alone(fd) as alone:
        if not alone:
            return 0
        end = kdb.torn_at(kdb.contents(path))
        size = os.fstat(fd).st_size
        if end < 0 or size - end > MOST:
            return 0
        os.ftruncate(fd, end)
        return size - end


def mend_lines(fd: int, path: str) -> None:
    """Cut off the last line of a file of JSON records if it is incomplete; if only its line break is missing, add
    it."""
    with _alone(fd) as alone, open(path, "rb") as file:
        size = os.fstat(fd).st_size
        if not alone or not size:
            return
        offset, tail = size, b""
        while offset and b"\n" not in tail and len(tail) < MOST:
            offset, count = max(0, offset - _PIECE), min(offset, _PIECE)
            file.seek(offset)
            tail = file.read(count) + tail
        tail = tail[tail.rfind(b"\n") + 1 :]
        if not tail:
            return
        text = tail.rstrip(b"\0")  # which a power cut may leave instead of the data
        if text[: len(_RECORD)] == _RECORD[: len(text)] and not _is_json(text):
            text = b""
        if len(text) < len(tail):
            os.ftruncate(fd, size - len(tail) + len(text))
        if text:
            os.write(fd, b"\n")


def _is_json(line: bytes) -> bool:
    import json

    try:
        json.loads(line)
    except ValueError:
        return False
    return True
