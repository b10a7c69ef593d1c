"""The one door to files that are written: beside, synced, renamed; a save that fails leaves the old file whole."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Callable, Sequence
from typing import IO, BinaryIO

from kshell.errors import QError, os_text
from kshell.values.interrupts import held_section
from kshell.values.progress import Task

_PIECE = 1 << 23  # bytes written at a time
# a test's probe: called with the name of each step, may raise or kill
PROBE: list[Callable[[str], None] | None] = [None]


def _step(name: str) -> None:
    if PROBE[0] is not None:
        PROBE[0](name)


def write(path: str, fill: Callable[[BinaryIO], None]) -> None:
    """Make `path` hold what fill(stream) writes, all of it or (on any failure) what it held before.

    Folders on the way are made. A symbolic link is followed, and the file's mode is kept.
    """
    write_all([(path, fill)])


@held_section
def write_all(files: Sequence[tuple[str, Callable[[BinaryIO], None]]]) -> None:
    """Make several files hold what their fill(stream) writes. All are written and synced beside before the first takes
    its place, in the order given: what fails while writing changes none of them."""
    problem: OSError | None = None
    path = ""
    ready: list[tuple[str, str]] = []
    try:
        try:
            for path, fill in files:
                target = os.path.realpath(path)
                if os.path.exists(target) and not os.path.isfile(target):
                    _pour(target, fill)
                    continue
                os.makedirs(os.path.dirname(target), exist_ok=True)
                sweep(target)
                beside = f"{target}.{os.getpid()}.tmp"
                ready.append((beside, target))
                _fill(beside, target, fill)
            _step("synced")
            while ready:
                path = ready[0][1]
                os.replace(*ready[0])
                ready.pop(0)
        finally:
            for beside, _ in ready:
                if os.path.exists(beside):
                    os.unlink(beside)
        _step("renamed")
        for folder in {os.path.dirname(os.path.realpath(path)) for path, _ in files if os.path.isfile(path)}:
            _sync(folder)
        return
    except OSError as e:
        problem = e
    raise QError(os_text(problem, path))


def _pour(target: str, fill: Callable[[BinaryIO], None]) -> None:
    """Write to a device or a named pipe, which no file may replace."""
    with open(target, "wb") as f:
        fill(f)


def _fill(beside: str, target: str, fill: Callable[[BinaryIO], None]) -> None:
    """Write and sync the file beside; it has the mode of the one it is to replace."""
    mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else None
    with open(beside, "wb") as f:
        fill(f)
        _step("written")
        f.flush()
        os.fsync(f.fileno())
    if mode is not None:
        os.chmod(beside, mode)


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(target: str) -> None:
    """Remove what savers of this file that are gone left beside it."""
    for name in glob.glob(glob.escape(target) + ".*.tmp"):
        pid = name.rsplit(".", 2)[1]
        if pid.isdigit() and int(pid) != os.getpid() and not _alive(int(pid)):
            with contextlib.suppress(OSError):  # another process has swept it, or the folder is read-only
                os.unlink(name)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def write_bytes(path: str, *parts: bytes | memoryview) -> None:
    """Make `path` hold these bytes, one after the other."""
    write(path, filling(parts))


def filling(parts: Sequence[bytes | memoryview]) -> Callable[[BinaryIO], None]:
    """What writes these bytes, one after the other."""

    def fill(f: BinaryIO) -> None:
        work = Task("saving", sum(map(len, parts)))
        for p in parts:
            pour(f, p, work)

    return fill


def pour(f: IO[bytes], data: bytes | memoryview, work: Task) -> None:
    """Write bytes, in pieces if they are many, so that a progress line can tell how far that is."""
    if len(data) <= _PIECE:
        f.write(data)
        work.add(len(data))
        return
    with memoryview(data) as whole:
        for at in range(0, len(whole), _PIECE):
            part = whole[at : at + _PIECE]
            f.write(part)
            work.add(len(part))
