"""The unfinished files of a save in a folder, and their fate when its process is gone.

Its names begin with `.kshell-`, so nobody takes it for data; the save holds a lock on it, which goes with the process.

- `.kshell-N-M.tmp`, a file or a folder: not all of it is written yet. What can be locked is removed.
- `.kshell-save`, a folder: all is written, and the files in it are on their way to their places in the folder around
  it. The save has happened: readers see these files, and whoever can lock it moves the rest.
- `.kshell-save`, a file: rows are being appended to files of the folder, and here is how long these were and what their
  heads were. The rows are not there yet: readers see what was, and whoever can lock it puts that back.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
import json
import os
import re
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kshell.values.session.context import blocked
from kshell.values.session.interrupts import HOLD, PENDING, give_up

MARK = ".kshell-"
SAVE = MARK + "save"
_EARLIER = re.compile(r".+\.\d+\.tmp", re.DOTALL)
_PAUSE = 0.001  # seconds between two looks whether a turn has ended
_NUMBER = itertools.count(1)


class Before(NamedTuple):
    """A file that is appended to, as it was: name, number of its inode, length, where its head is, and that."""

    name: str
    inode: int
    size: int
    at: int
    head: bytes


def is_ours(name: str) -> bool:
    """Is this the name of something that is not data?"""
    return name.startswith(MARK)


def is_earlier(name: str) -> bool:
    """Is this how versions before named what they had not finished?"""
    return name.endswith(".tmp") and _EARLIER.match(name) is not None


# ------------------------------------------------------------------ locks


def lock(fd: int, wait: bool = False, pid: int = 0) -> bool:
    """Lock what is open; false if another has it. Where there are no locks, as on some network file systems, it is
    another's while the process with that number lives."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        return not pid or not _alive(pid)
    return True


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _stands(fd: int, path: str) -> bool:
    """Is what is open still what has this name?"""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False


def made(folder: str, is_folder: bool = False) -> tuple[str, int]:
    """A new file or folder in a folder, locked: its path, and it open (a file for writing)."""
    while True:
        path = os.path.join(folder, f"{MARK}{os.getpid()}-{next(_NUMBER)}.tmp")
        try:
            fd = _new(path, is_folder)
        except FileExistsError:  # of a process that had this number
            continue
        if fd >= 0:
            if lock(fd) and _stands(fd, path):
                return path, fd
            os.close(fd)


def _new(path: str, is_folder: bool) -> int:
    """A new file or folder, open; -1 if it was swept before that."""
    if not is_folder:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    os.mkdir(path)
    with contextlib.suppress(FileNotFoundError):
        return os.open(path, os.O_RDONLY)
    return -1


# ------------------------------------------------------------------ what a process that is gone has left


def clean(folder: str) -> None:
    """Finish, take back or remove what processes that are gone have left in a folder, as far as that can be."""
    if not blocked():
        settle(folder)
        sweep(folder)


def sweep(folder: str) -> None:
    """Remove what saves that ended before all was written have left in a folder."""
    with contextlib.suppress(OSError):  # another process sweeps it, or it may not be removed here
        for name in os.listdir(folder):
            if name.startswith(MARK) and name.endswith(".tmp"):
                _remove_left(os.path.join(folder, name))


def _remove_left(path: str) -> None:
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            pid = os.path.basename(path)[len(MARK) :].partition("-")[0]
            if lock(fd, pid=int(pid) if pid.isdigit() else 0) and _stands(fd, path):
                remove(path)
        finally:
            os.close(fd)


def remove(path: str) -> None:
    """Remove a file, or a folder with all that is in it."""
    if not os.path.isdir(path) or os.path.islink(path):
        os.unlink(path)
        return
    for name in os.listdir(path):
        remove(os.path.join(path, name))
    os.rmdir(path)


def settle(folder: str, wait: bool = False) -> bool:
    """Finish or take back what a process that is gone had begun in a folder; with `wait` also wait for one that is at
    work there, and let errors out. Is nothing under way in the folder any more?"""
    path = os.path.join(folder, SAVE)
    try:
        while True:
            try:
                fd = os.open(path, os.O_RDONLY)
            except (FileNotFoundError, NotADirectoryError):
                return True
            try:
                if (blocked() and not wait) or not lock(fd, wait, _records(fd)[0]):
                    return False
                if not _stands(fd, path):
                    continue
                if os.path.isdir(path):
                    finish(folder)
                else:
                    take_back(folder, _records(fd)[1])
                    os.unlink(path)
                return True
            finally:
                os.close(fd)
    except OSError:
        if wait:
            raise
    return False


def finish(folder: str, names: Sequence[str] | None = None) -> None:
    """Move the files of a save that has happened to their places, in this order if one is given."""
    held = os.path.join(folder, SAVE)
    for name in sorted(os.listdir(held)) if names is None else names:
        _take_place(os.path.join(held, name), os.path.join(folder, name))
    with contextlib.suppress(OSError):  # it is gone, or already that of another save
        os.rmdir(held)


def _take_place(source: str, target: str) -> None:
    """Rename a file; where the target is a link, it is the file that is linked to that is replaced."""
    if os.path.islink(target):
        target = os.path.realpath(target)
    try:
        os.replace(source, target)
        return
    except FileNotFoundError:  # somebody else has done it
        if not os.path.exists(source):
            return
        raise
    except OSError as e:
        if e.errno != errno.EXDEV:
            raise
    with open(source, "rb") as file:
        beside, fd = made(os.path.dirname(target))
        with open(fd, "wb") as to:
            while data := file.read(1 << 20):
                to.write(data)
            to.flush()
            os.fsync(fd)
            os.replace(beside, target)
    os.unlink(source)


# ------------------------------------------------------------------ rows that are appended


class Busy(Exception):
    """Another process is at work in the folder."""


def in_turn(folder: str, work: Callable[[Any], bool]) -> bool:
    """work(note) while no other process appends to the files of this folder. `note` is to be given what files
    were: from then on they are put back if the process ends or the work fails. An interrupt comes before or after."""
    while True:
        with contextlib.suppress(Busy), HOLD, turn(folder) as note:
            return work(note)
        if PENDING:
            give_up()
        settle(folder, wait=True)
        time.sleep(_PAUSE)


@contextlib.contextmanager
def turn(folder: str) -> Any:
    """The turn of in_turn; Busy if another process has it."""
    path = os.path.join(folder, SAVE)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except IsADirectoryError:
        fd = -1
    if fd < 0:
        raise Busy
    about = os.fstat(fd)
    if not lock(fd, pid=_records(fd)[0] if about.st_size else 0) or not os.fstat(fd).st_nlink:
        os.close(fd)
        raise Busy
    noted: list[Before] = []

    def note(files: Sequence[Before]) -> None:
        noted[:] = files
        text = json.dumps([os.getpid(), [[*file[:4], file.head.hex()] for file in files]])
        os.pwrite(fd, text.encode() + b"\n", 0)

    done = False
    try:
        if os.fstat(fd).st_size:
            take_back(folder, _records(fd)[1])
            os.ftruncate(fd, 0)
        yield note
        done = True
    finally:
        if not done:
            take_back(folder, noted)
        os.unlink(path)
        os.close(fd)


def _records(fd: int) -> tuple[int, list[Before]]:
    """The process that appends and what the files were, of a file that notes it; none if that is not all there, since
    then nothing has been appended."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        data = os.pread(fd, os.fstat(fd).st_size, 0)
        if data.endswith(b"\n"):
            pid, files = json.loads(data)
            return pid, [
                Before(name, inode, size, at, bytes.fromhex(head))
                for name, inode, size, at, head in files
            ]
    return 0, []


def take_back(folder: str, files: Sequence[Before]) -> None:
    """Make files what they were before rows were appended, but for those that have been replaced since."""
    for file in files:
        with contextlib.suppress(FileNotFoundError):
            fd = os.open(os.path.join(folder, file.name), os.O_RDWR)
            try:
                if os.fstat(fd).st_ino == file.inode:
                    os.pwrite(fd, file.head, file.at)
                    os.ftruncate(fd, file.size)
            finally:
                os.close(fd)


# ------------------------------------------------------------------ reading


def look(path: str) -> tuple[str, Before | None]:
    """Where the content of a file is, which may be on its way there; and what it was, if rows are being appended."""
    folder = path[: path.rfind("/") + 1]
    if not os.access(folder + SAVE, os.F_OK) or settle(folder or "."):
        return path, None
    name, held = path[len(folder) :], folder + SAVE
    if os.path.isdir(held):
        there = f"{held}/{name}"
        return there if os.path.exists(there) else path, None
    with contextlib.suppress(OSError):
        fd = os.open(held, os.O_RDONLY)
        try:
            inode = os.stat(path).st_ino
            return path, next(
                (b for b in _records(fd)[1] if b.name == name and b.inode == inode), None
            )
        finally:
            os.close(fd)
    return path, None


def opened(path: str, work: Callable[[Any], Any]) -> Any:
    """work(file) of a file that is read, wherever its content is at the moment."""
    where = look(path)[0]
    try:
        with open(where, "rb") as file:
            return work(file)
    except FileNotFoundError:
        if where == path:
            raise
    with open(path, "rb") as file:  # it has just been moved there
        return work(file)


def there(path: str) -> bool:
    """Is there a file of this name, whose content may be on its way there?"""
    return os.path.isfile(look(path)[0]) or os.path.isfile(path)


def names_in(folder: str) -> list[str]:
    """The names of what is in a folder, sorted; what is no data is left out, and removed if its process is gone."""
    found = os.listdir(folder)
    if any(map(is_ours, found)):
        clean(folder)
        found = os.listdir(folder)
        with contextlib.suppress(OSError):
            found += os.listdir(os.path.join(folder, SAVE))
        found = list({n for n in found if not is_ours(n)})
    return sorted(found)
