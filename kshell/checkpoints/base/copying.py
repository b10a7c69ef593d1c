"""Bytes that go from file to file as they are: the system copies them, this process does not read them.

So their checksum is not computed either: where the file that they come from has one, it goes with them, and tells later
whether they are right; where it has none, the new file has none.
"""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from kshell.checkpoints.base.stored import PIECE, WIDTHS, File, Memory, Stored, Strided

_TURN = 1 << 25  # bytes that are copied between two looks at what has happened meanwhile
_LEAST = 1 << 16  # bytes for which the system is asked
# the system cannot copy these files, or none; other errors are of the disk
_CANNOT = {errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM}


class FileRun(NamedTuple):
    """Bytes of a file in a row. `crc`: their checksum, 0 if none is known."""

    file: File
    offset: int
    length: int
    crc: int = 0

    def turns(self) -> Iterator[FileRun]:
        """Parts of them, one after the other, each of which is copied in a moment."""
        for start in range(0, self.length, _TURN):
            yield FileRun(self.file, self.offset + start, min(_TURN, self.length - start))

    def joined(self, other: FileRun) -> FileRun | None:
        """The bytes of both, if the other ones follow these; None else."""
        if self.file is not other.file or self.offset + self.length != other.offset:
            return None
        return FileRun(self.file, self.offset, self.length + other.length)

    def copy(self, out: BinaryIO) -> None:
        """Write them to a file. QError if the one they are in has changed since it was opened."""
        self.file.check()
        if self.length < _LEAST or not self._by_system(out):
            for start in range(0, self.length, PIECE):
                length = min(PIECE, self.length - start)
                out.write(self.file.read(self.offset + start, length))
        self.file.check()

    def _by_system(self, out: BinaryIO) -> bool:
        """Have the system copy them; false if it cannot: then the file's position is as it was."""
        if not out.seekable():
            return False
        out.flush()
        at, begin, done = out.tell(), self.file.start + self.offset, 0
        while done < self.length:
            try:
                count = os.copy_file_range(
                    self.file.descriptor, out.fileno(), self.length - done, begin + done, at + done
                )
            except OSError as e:
                if e.errno not in _CANNOT and not isinstance(e, io.UnsupportedOperation):
                    raise
                return False
            if not count:
                return False
            done += count
        out.seek(at + done)
        return True


def run_of(memory: Any) -> FileRun | None:
    """The bytes of memory that is in a file as it is; None for other memory."""
    if memory.__class__ is not Memory or memory.packed >= 0:
        return None
    return FileRun(memory.file, memory.offset, memory.length, memory.crc)


def run_of_tensor(tensor: Stored) -> FileRun | None:
    """The bytes of a tensor that are in a file as they are to be written; None for other tensors."""
    if not isinstance(tensor, Strided) or tensor.foreign or not tensor.is_contiguous:
        return None
    run = run_of(tensor.memory)
    if run is None or run.length == tensor.nbytes:
        return run
    return FileRun(run.file, run.offset + tensor.start * WIDTHS[tensor.dtype], tensor.nbytes)
