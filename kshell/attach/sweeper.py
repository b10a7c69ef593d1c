"""A tiny process that removes a program's sockets when the program has ended, however that did: nothing else runs when
a program is killed.

It is a shell in a session of its own, and no child of the program, which may wait for all of its children. It reads
from a pipe that only the program can write to, so it goes on when the program has ended. Then it removes each file that
is still the one that it was started with: it holds these, so that no other file can get their inode numbers meanwhile.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Sequence
from contextlib import suppress

SHELL = "/bin/sh"
# the pipe is standard output, since a shell gives what runs in the background an empty standard input
SCRIPT = """trap '' HUP INT TERM
{
  read -r line <&1
  while [ $# -gt 0 ]; do
    [ "$1" -ef "$2" ] && rm -f -- "$1"
    shift 2
  done
} &"""
FIRST = 10  # the smallest descriptor of a file that is held: the shell uses those below
GET_CHILD_SUBREAPER = 37  # what prctl is asked, see prctl(2)


class Sweeper:
    """Removes files when this process has ended, or when `let_go` is called; those that are gone or replaced by then
    are left alone. Where that needs what the system does not have, nothing is removed."""

    def __init__(self, paths: Sequence[str]) -> None:
        self._end = -1  # of the pipe: it is closed when this process ends, by whatever way
        with suppress(OSError):
            if hasattr(os, "O_PATH") and os.path.exists(SHELL) and not _adopts():
                self._start([os.path.abspath(path) for path in paths])

    def let_go(self) -> None:
        """Let it remove the files that are still there, and end. In a forked child: leave it to the parent."""
        end, self._end = self._end, -1
        if end >= 0:
            with suppress(OSError):
                os.close(end)

    def _start(self, paths: list[str]) -> None:
        held: list[int] = []
        reads, writes = os.pipe()
        try:
            held += [_held(path) for path in paths]
            words = [
                word
                for path, file in zip(paths, held, strict=True)
                for word in (path, f"/proc/self/fd/{file}")
            ]
            with subprocess.Popen(
                [SHELL, "-c", SCRIPT, "kshell-sweep", *words],
                stdin=subprocess.DEVNULL,
                stdout=reads,
                stderr=subprocess.DEVNULL,
                pass_fds=held,
                start_new_session=True,
                cwd="/",
                env={"PATH": os.environ.get("PATH", os.defpath)},
            ):
                pass  # its first process ends at once
            self._end, writes = writes, -1
        finally:
            for file in (reads, writes, *held):
                if file >= 0:
                    os.close(file)


def _held(path: str) -> int:
    """A descriptor that holds a file, without opening it."""
    import fcntl

    first = os.open(path, os.O_PATH | os.O_NOFOLLOW)
    try:
        return fcntl.fcntl(first, fcntl.F_DUPFD_CLOEXEC, FIRST)
    finally:
        os.close(first)


def _adopts() -> bool:
    """Do processes whose parent has ended become children of this one? So it is with the first process of a container,
    and with one that has asked for it."""
    if os.getpid() == 1:
        return True
    found = ctypes.c_int(0)
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(GET_CHILD_SUBREAPER, ctypes.byref(found), 0, 0, 0)
    return bool(found.value)
