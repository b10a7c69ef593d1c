"""The temporary files of a save in a folder, and what happens to them when its process is gone.

Their names begin with `.kshell-`, so they are never taken for data; the save holds a lock on them, which ends with the
process.

- `.kshell-N-M.tmp`, a file or a folder: not completely written yet. If it can be locked, it is removed.
- `.kshell-save`, a folder: everything is written, and its files are being moved to their places in the surrounding
  folder. The save is committed: readers see these files, and a process that can lock it moves the rest.
- `.kshell-save`, a file: rows are being appended to files in the folder, and this records their previous lengths and
  headers. The append is not committed: readers see the previous state, and a process that can lock it restores that.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import itertools
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
_PAUSE = 0.001  # seconds between checks whether a turn has ended
_NUMBER = itertools.count(1)


class Before(NamedTuple):
    """The previous state of a file being appended to: name, inode number, length, and offset and content of its
    header."""

    name: str
    inode: int
    size: int
    at: int
    head: bytes


def is_ours(name: str) -> bool:
    """Is this the name of something that is not data?"""
    return name.startswith(MARK)


def is_earlier(name: str) -> bool:
    """Is this a name that earlier versions used for unfinished files?"""
    return name.endswith(".tmp") and _EARLIER.match(name) is not None


# ------------------------------------------------------------------ locks


def lock(fd: int, wait: bool = False, pid: int = 0) -> bool:
    """Lock an open file or folder; false if another process holds the lock. Without lock support, as on some network
    file systems, it counts as locked while the process with that id is alive."""
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
    """Does this name still refer to the open file?"""
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except OSError:
        return False


def made(folder: str, is_folder: bool = False) -> tuple[str, int]:
    """A new file or folder in a folder, locked: its path and descriptor (a file is open for writing)."""
    while True:
        path = os.path.join(folder, f"{MARK}{os.getpid()}-{next(_NUMBER)}.tmp")
        try:
            fd = _new(path, is_folder)
        except FileExistsError:  # of a process that had the same id
            continue
        if fd >= 0:
            if lock(fd) and _stands(fd, path):
                return path, fd
            os.close(fd)


def _new(path: str, is_folder: bool) -> int:
    """A new file or folder, open; -1 if it was swept first."""
    if not is_folder:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    os.mkdir(path)
    with contextlib.suppress(FileNotFoundError):
        return os.open(path, os.O_RDONLY)
    return -1


# ------------------------------------------------------------------ what a process that is gone has left


def clean(folder: str) -> None:
    """Finish, roll back or remove what dead processes have left in a folder, as far as possible."""
    if not blocked():
        settle(folder)
        sweep(folder)


def sweep(folder: str) -> None:
    """Remove the remains of saves in a folder that ended before they were completely written."""
    with contextlib.suppress(OSError):  # another process is sweeping it, or it cannot be removed
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
    """Remove a file, or a folder with its contents."""
    if not os.path.isdir(path) or os.path.islink(path):
        os.unlink(path)
        return
    for name in os.listdir(path):
        remove(os.path.join(path, name))
    os.rmdir(path)


def settle(folder: str, wait: bool = False) -> bool:
    """Finish or roll back what a dead process had started in a folder; with `wait`, also wait for a process at work
    there, and raise errors. Returns whether nothing is in progress there any more."""
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
    """Move the files of a committed save to their places, in this order if given."""
    staged = os.path.join(folder, SAVE)
    for name in sorted(os.listdir(staged)) if names is None else names:
        _take_place(os.path.join(staged, name), os.path.join(folder, name))
    with contextlib.suppress(OSError):  # it is gone, or already belongs to another save
        os.rmdir(staged)


def _take_place(source: str, target: str) -> None:
    """Rename a file; if the target is a link, replace the file it links to."""
    if os.path.islink(target):
        target = os.path.realpath(target)
    try:
        os.replace(source, target)
        return
    except FileNotFoundError:  # another process has done it
        if not os.path.exists(source):
            return
        raise
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    with open(source, "rb") as file:
        temporary, fd = made(os.path.dirname(target))
        with open(fd, "wb") as output:
            while data := file.read(1 << 20):
                output.write(data)
            output.flush()
            os.fsync(fd)
            os.replace(temporary, target)
    os.unlink(source)


# ------------------------------------------------------------------ rows that are appended


class Busy(Exception):
    """Another process is at work in the folder."""


def in_turn(folder: str, work: Callable[[Any], bool]) -> bool:
    """work(note) while no other process appends to files in this folder. Call `note` with the previous states of the
    files: from then on they are restored if the process ends or the work fails. An interrupt comes before or after."""
    while True:
        with contextlib.suppress(Busy), HOLD, turn(folder) as note:
            return work(note)
        if PENDING:
            give_up()
        settle(folder, wait=True)
        time.sleep(_PAUSE)


@contextlib.contextmanager
def turn(folder: str) -> Any:
    """The turn for in_turn; Busy if another process has it."""
    import json

    path = os.path.join(folder, SAVE)
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except IsADirectoryError:
        fd = -1
    if fd < 0:
        raise Busy
    status = os.fstat(fd)
    if not lock(fd, pid=_records(fd)[0] if status.st_size else 0) or not os.fstat(fd).st_nlink:
        os.close(fd)
        raise Busy
    noted: list[Before] = []

    def note(files: Sequence[Before]) -> None:
        noted[:] = files
        text = json.dumps([os.getpid(), [[*file[:4], file.head.hex()] for file in files]])
        os.pwrite(fd, text.encode() + b"\n", 0)

    complete = False
    try:
        if os.fstat(fd).st_size:
            take_back(folder, _records(fd)[1])
            os.ftruncate(fd, 0)
        yield note
        complete = True
    finally:
        if not complete:
            take_back(folder, noted)
        os.unlink(path)
        os.close(fd)


def _records(fd: int) -> tuple[int, list[Before]]:
    """The process that is appending and the previous states of the files, from a file that records them; none if that
    is incomplete, since nothing has then been appended."""
    import json

    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        data = os.pread(fd, os.fstat(fd).st_size, 0)
        if data.endswith(b"\n"):
            pid, files = json.loads(data)
            return pid, [
                Before(name, inode, size, offset, bytes.fromhex(header))
                for name, inode, size, offset, header in files
            ]
    return 0, []


def take_back(folder: str, files: Sequence[Before]) -> None:
    """Restore files to their state before an append, except those replaced since."""
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
    """Where the content of a file is (it may still have to be moved there), and its previous state if rows are being
    appended."""
    folder = path[: path.rfind("/") + 1]
    if not os.access(folder + SAVE, os.F_OK) or settle(folder or "."):
        return path, None
    name, save = path[len(folder) :], folder + SAVE
    if os.path.isdir(save):
        location = f"{save}/{name}"
        return location if os.path.exists(location) else path, None
    with contextlib.suppress(OSError):
        fd = os.open(save, os.O_RDONLY)
        try:
            inode = os.stat(path).st_ino
            return path, next(
                (
                    record
                    for record in _records(fd)[1]
                    if record.name == name and record.inode == inode
                ),
                None,
            )
        finally:
            os.close(fd)
    return path, None


def opened(path: str, work: Callable[[Any], Any]) -> Any:
    """work(file) on a file opened for reading, wherever its content currently is."""
    location = look(path)[0]
    try:
        with open(location, "rb") as file:
            return work(file)
    except FileNotFoundError:
        if location == path:
            raise
    with open(path, "rb") as file:  # it has just been moved there
        return work(file)


def there(path: str) -> bool:
    """Does a file with this name exist, including one still to be moved there?"""
    return os.path.isfile(look(path)[0]) or os.path.isfile(path)


def names_in(folder: str) -> list[str]:
    """The names in a folder, sorted; temporary files are left out, and removed if their process is gone."""
    names = os.listdir(folder)
    if any(map(is_ours, names)):
        clean(folder)
        names = os.listdir(folder)
        with contextlib.suppress(OSError):
            names += os.listdir(os.path.join(folder, SAVE))
        names = list({name for name in names if not is_ours(name)})
    return sorted(names)
