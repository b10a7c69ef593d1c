"""All file writes: to a temporary file, synced, then renamed; a failed save leaves the old files intact.

A single file is renamed. Several files in one folder change together: they are written to a temporary folder, which
becomes the new folder or, in an existing one, its `.kshell-save` (unfinished.py). That rename commits the save.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Callable, Sequence
from typing import IO, BinaryIO

from kshell.errors import refused
from kshell.store import unfinished
from kshell.values.session.interrupts import held_edit
from kshell.values.session.progress import Task
from kshell.values.session.restrict import refuse

Fill = Callable[[BinaryIO], None]
_PIECE = 1 << 23  # bytes written at a time
_AT_CWD, _EXCHANGE = -100, 2  # flag of renameat2
_OCCUPIED = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)
_TRIES = 100
# a test probe: called with the name of each step, may raise or kill
PROBE: list[Callable[[str], None] | None] = [None]


def _step(name: str) -> None:
    if PROBE[0] is not None:
        PROBE[0](name)


def write(path: str, fill: Fill) -> None:
    """Make `path` contain what fill(stream) writes, all of it, or on any failure its old content.

    Missing folders are created. A symbolic link is followed, and the file's mode is kept.
    """
    write_all([(path, fill)])


def write_all(files: Sequence[tuple[str, Fill]], over_file: bool = False) -> None:
    """Make several files contain what their fill(stream) writes. All are written and synced before the first is moved
    into place: a failed write changes none. Files in one folder change together, whatever happens. With `over_file`,
    the folder may replace a file."""
    refuse(files[0][0] if files else "files")
    problem: OSError | None = None
    path = ""
    folders: dict[str, str] = {}
    try:
        for path, _ in files:
            folder = os.path.dirname(path)
            if folder not in folders:
                folders[folder] = os.path.realpath(folder)
                unfinished.settle(folders[folder], wait=True)
    except OSError as error:
        problem = error
    if problem is not None:
        raise refused(problem, path)
    grouped: dict[str, list[tuple[str, Fill]]] = {}
    for path, fill in files:
        grouped.setdefault(folders[os.path.dirname(path)], []).append((path, fill))
    _write_all(grouped, over_file)


@held_edit("the file was written")
def _write_all(grouped: dict[str, list[tuple[str, Fill]]], over_file: bool) -> None:
    """Write the files of each folder to temporary places, then move them into place folder by folder."""
    problem: OSError | None = None
    path = ""
    saves: list[_OneFile | _Files] = []
    try:
        try:
            for folder, files in grouped.items():
                path, fill = files[0]
                if len(files) == 1 and _is_special(path):
                    _pour(path, fill)
                    continue
                saves.append(
                    _OneFile(path)
                    if len(files) == 1 and os.path.isdir(folder)
                    else _Files(folder, over_file)
                )
                for path, fill in files:
                    saves[-1].add(os.path.basename(path), fill)
            _step("synced")
            for save in saves:
                save.commit()
        finally:
            for save in saves:
                save.close()
        _step("renamed")
        return
    except OSError as error:
        problem = error
    raise refused(problem, path)


def _is_special(path: str) -> bool:
    """Is it a device or a named pipe, which must not be replaced?"""
    return os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)


def _pour(path: str, fill: Fill) -> None:
    with open(path, "wb") as file:
        fill(file)


def _filled(fd: int, target: str, fill: Fill) -> None:
    """Write and sync a temporary file, and close it unless it is to stay locked; it gets the mode of the file it
    replaces."""
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), target)
    mode = os.stat(target).st_mode & 0o777 if os.path.exists(target) else None
    with open(fd, "wb", closefd=False) as file:
        fill(file)
        _step("written")
        file.flush()
        os.fsync(fd)
    if mode is not None:
        os.fchmod(fd, mode)


class _OneFile:
    """A file to be moved into an existing folder."""

    def __init__(self, path: str) -> None:
        self.target = os.path.realpath(path)
        self.folder = os.path.dirname(self.target)
        unfinished.sweep(self.folder)
        self.beside, self.fd = unfinished.made(self.folder)

    def add(self, name: str, fill: Fill) -> None:
        _filled(self.fd, self.target, fill)

    def commit(self) -> None:
        os.replace(self.beside, self.target)
        self.beside = ""
        _sync(self.folder)

    def close(self) -> None:
        if self.beside:
            os.unlink(self.beside)
        os.close(self.fd)


class _Files:
    """Files to be changed together in a folder, which need not exist: `top` is its missing part."""

    def __init__(self, folder: str, over_file: bool) -> None:
        self.folder, self.over_file = folder, over_file
        top = self._missing()
        parent = os.path.dirname(top) if top else folder
        for place in {parent, os.path.dirname(folder)} if over_file else {parent}:
            unfinished.sweep(place)
        self.staged, self.fd = unfinished.made(parent, is_folder=True)
        self.inner = folder[len(top) :] if top else ""
        self.names: list[str] = []
        if self.inner:
            os.makedirs(self.staged + self.inner)

    def _missing(self) -> str:
        """The topmost missing folder on the path; an empty text if none is missing."""
        if self.over_file and os.path.isfile(self.folder):
            return self.folder
        topmost, folder = "", self.folder
        while not os.path.lexists(folder):
            topmost, folder = folder, os.path.dirname(folder)
        return topmost

    def add(self, name: str, fill: Fill) -> None:
        fd = os.open(f"{self.staged}{self.inner}/{name}", os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        try:
            _filled(fd, f"{self.folder}/{name}", fill)
        finally:
            os.close(fd)
        self.names.append(name)

    def commit(self) -> None:
        folder = self.staged + self.inner
        while len(folder) >= len(self.staged):
            _sync(folder)
            folder = os.path.dirname(folder)
        for _ in range(_TRIES):
            top = self._missing()
            missing = self.folder[len(top) :] if top else ""
            if not self.inner.endswith(missing):
                break  # parent folders have disappeared meanwhile
            source = (
                self.staged + self.inner[: len(self.inner) - len(missing)]
                if top
                else self.staged + self.inner
            )
            if self._renamed(source, top or f"{self.folder}/{unfinished.SAVE}"):
                _sync(os.path.dirname(top) if top else self.folder)
                if not top:
                    _step("committed")
                    unfinished.finish(self.folder, self.names)
                return
            unfinished.settle(self.folder, wait=True)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.folder)

    def _renamed(self, source: str, target: str) -> bool:
        """Rename a folder to its final name; false if the name is taken."""
        try:
            if self.over_file and os.path.isfile(target) and target == self.folder:
                _exchange(source, target)
            else:
                os.rename(source, target)
            return True
        except OSError as error:
            if error.errno not in _OCCUPIED:
                raise
        return False

    def close(self) -> None:
        if os.path.exists(self.staged):
            unfinished.remove(self.staged)
        os.close(self.fd)


def _exchange(a: str, b: str) -> None:
    """Exchange two names, atomically if the file system supports it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "renameat2") and not libc.renameat2(
        _AT_CWD, os.fsencode(a), _AT_CWD, os.fsencode(b), _EXCHANGE
    ):
        return
    temporary = f"{b}.{os.getpid()}.old"
    os.rename(b, temporary)
    try:
        os.rename(a, b)
    except BaseException:
        os.rename(temporary, b)
        raise
    os.rename(temporary, a)


def _sync(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sweep(path: str) -> None:
    """Finish or remove the remains of saves in this file's folder whose processes are gone."""
    unfinished.clean(os.path.dirname(os.path.realpath(path)))


def write_bytes(path: str, *parts: bytes | memoryview) -> None:
    """Make `path` contain these bytes, in order."""
    write(path, filling(parts))


def filling(parts: Sequence[bytes | memoryview]) -> Callable[[BinaryIO], None]:
    """A function that writes these bytes, in order."""

    def fill(f: BinaryIO) -> None:
        task = Task("saving", sum(map(len, parts)))
        for part in parts:
            pour(f, part, task)

    return fill


def pour(f: IO[bytes], data: bytes | memoryview, work: Task) -> None:
    """Write bytes, in pieces if there are many, to allow a progress line."""
    if len(data) <= _PIECE:
        f.write(data)
        work.add(len(data))
        return
    with memoryview(data) as view:
        for offset in range(0, len(view), _PIECE):
            piece = view[offset : offset + _PIECE]
            f.write(piece)
            work.add(len(piece))
