"""How much memory there is, is used, and may be used."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

from kshell.errors import QError

# the program itself, with torch, before it holds any data
OWN = 256 << 20
_SHARE = 0.95  # of the machine's memory that the process may fill


def status(field: str) -> int:
    """A figure that the system keeps of the process, in bytes, by its name in /proc/self/status; 0 if it keeps none."""
    with suppress(OSError), open("/proc/self/status") as f:
        for line in f:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


def physical() -> int:
    """The memory of the machine, or of the container if that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError), open("/sys/fs/cgroup/memory.max") as f:
        total = min(total, int(f.read()))
    return total


def trim() -> None:
    """Give freed memory back to the system, so that what is used next counts as used."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def limit(megabytes: int = 0) -> None:
    """Let the system refuse memory past a limit: the request then is 'wsfull, and the process lives. Without one, what
    the machine does not have is refused: it would be granted, and the process killed when it is used."""
    try:
        import resource
    except ImportError:
        return
    most = OWN + (megabytes << 20) if megabytes else int(physical() * _SHARE)
    if not megabytes and os.path.exists("/dev/nvidiactl"):
        return  # a GPU's driver reserves more than it uses
    if most >= 1 << 63:
        raise QError("limit")
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))
