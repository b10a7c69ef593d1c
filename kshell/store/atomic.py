"""The one door to files that are written: beside, synced, renamed; an interrupted save leaves the old file whole."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from typing import BinaryIO

from kshell.errors import QError, os_text

# a test's probe: called with the name of each step, may raise or kill
PROBE: list[Callable[[str], None] | None] = [None]


def _step(name: str) -> None:
    if PROBE[0] is not None:
        PROBE[0](name)


def write(path: str, fill: Callable[[BinaryIO], None]) -> None:
    """Make `path` hold what fill(stream) writes, all of it or (on any failure) what it held before.

    Folders on the way are made. A symbolic link is followed, and the file's mode is kept.
    """
    problem: OSError | None = None
    try:
        target = os.path.realpath(path)
        folder = os.path.dirname(target)
        os.makedirs(folder, exist_ok=True)
        sweep(target)
        _replace(target, folder, fill)
        return
    except OSError as e:
        problem = e
    raise QError(os_text(problem))


def _replace(target: str, folder: str, fill: Callable[[BinaryIO], None]) -> None:
    beside = f"{target}.{os.getpid()}.tmp"
    mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else None
    try:
        with open(beside, "wb") as f:
            fill(f)
            _step("written")
            f.flush()
            os.fsync(f.fileno())
        if mode is not None:
            os.chmod(beside, mode)
        _step("synced")
        os.replace(beside, target)
    except BaseException:
        if os.path.exists(beside):
            os.unlink(beside)
        raise
    _step("renamed")
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

    def fill(f: BinaryIO) -> None:
        for p in parts:
            f.write(p)

    write(path, fill)
