"""Memory: how much there is, is used, and may be used."""

from __future__ import annotations

import ctypes
import mmap
import os
import threading
from contextlib import suppress

from kshell.errors import BALLAST, SHORTAGE, QError, megabytes
from kshell.values.session.restrict import lifted

try:
    import resource
except ImportError:  # not a Unix system
    resource = None  # type: ignore[assignment]

# the program itself, with torch, without data
OWN = 256 << 20
_SHARE = 0.95  # fraction of the machine's memory that the process may use


def status(field: str) -> int:
    """A figure in bytes that the system reports for the process, by its name in /proc/self/status; 0 if unavailable."""
    with suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


def _in_use() -> tuple[int, int]:
    """The resident bytes of the process, and its private bytes: not mapped from files, not shared."""
    with suppress(OSError, ValueError), open("/proc/self/statm") as file:
        _, resident, shared, *_ = map(int, file.read().split())
        page = os.sysconf("SC_PAGE_SIZE")
        return resident * page, (resident - shared) * page
    return 0, 0


def physical() -> int:
    """The memory of the machine, or of the container if that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with suppress(OSError, ValueError), open("/sys/fs/cgroup/memory.max") as file:
        total = min(total, int(file.read()))
    return total


def trim() -> None:
    """Return freed memory to the system, so that what is used next counts as used."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _trim_top() -> None:
    """Also return the free end of the thread's arena, which `malloc_trim` skips unless it is the main one: a thread
    whose request was refused there continues in another. The caller resets the thresholds."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.malloc.restype = ctypes.c_void_p
        libc.mallopt(-1, 0)  # M_TRIM_THRESHOLD
        # large enough to make the allocator trim the end
        libc.free(ctypes.c_void_p(libc.malloc(100_000)))


_KEEPS = [False]  # does the allocator keep freed memory?


def keep_freed(keep: bool) -> None:
    """Let the allocator keep freed blocks of up to a gigabyte for the next request, or only those below its own
    thresholds."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(-1, (1 << 31) - 1 if keep else 1 << 26)  # M_TRIM_THRESHOLD
        libc.mallopt(-3, 1 << 30 if keep else 1 << 25)  # M_MMAP_THRESHOLD
        _KEEPS[0] = keep


class Grown:
    """The peak memory in use while a block runs, in addition to what was in use before: `with Grown() as g: ..`, then
    g.most.

    If the block exceeded the process's previous peak, the system's own record, VmHWM, has the answer; it is not reset,
    because other programs read it. Below it, a thread samples from time to time, and memory in use at the end is
    counted before freed memory is returned, which includes most of what was freed in between. Private memory is also
    counted separately: meanwhile the system may evict pages of the program's files, which is not freed memory."""

    _EVERY = 0.005  # seconds between samples

    def __enter__(self) -> Grown:
        self._kept = _KEEPS[0]
        _trim_top()
        trim()
        keep_freed(True)
        self._record = status("VmHWM")
        self._resident, self._private = _in_use()
        self.most = 0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def _count(self) -> None:
        resident, private = _in_use()
        self.most = max(self.most, resident - self._resident, private - self._private)

    def _look(self) -> None:
        while not self._over.wait(self._EVERY):
            self._count()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._count()
        record = status("VmHWM")
        if not self._kept:
            keep_freed(False)
        if record > self._record:
            self.most = max(self.most, record - self._resident)


class _Limit:
    """A process limit enforced by the system: q code may use `base` bytes, a session that ran out may use up to `most`,
    so that it can report the error and free something."""

    __slots__ = ("base", "field", "hard", "kind", "most")

    def __init__(self, kind: int, field: str, base: int, most: int, hard: int) -> None:
        self.kind, self.field, self.base, self.most, self.hard = kind, field, base, most, hard

    def set(self, n: int) -> None:
        with lifted(), suppress(OSError, ValueError):
            resource.setrlimit(self.kind, (n, self.hard))


_RESERVE = 128 << 20  # bytes reserved for the session itself
_LEAST = 1 << 20  # bytes that a line may always use, however little is left
_LIMITS: list[_Limit] = []
_SHORT = [False]  # did a request fail, and is that memory still in use?


def limit(asked: int = 0) -> None:
    """Make the system refuse memory beyond a limit in megabytes: the request is then 'wsfull, and the process survives.
    Without a limit, what the machine does not have is refused: otherwise it would be granted, and the process killed on
    use."""
    if resource is None:
        return
    most = OWN + (asked << 20) if asked else int(physical() * _SHARE)
    if most >= 1 << 63:
        raise QError("limit")
    _LIMITS.clear()
    if asked or not os.path.exists("/dev/nvidiactl"):  # a GPU driver reserves more than it uses
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        _LIMITS.append(_Limit(resource.RLIMIT_DATA, "VmData", *_with_reserve(most, hard), hard))
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)  # set by `ulimit -v`
    if soft > 0 and soft - status("VmSize") > 2 * _RESERVE:
        _LIMITS.append(_Limit(resource.RLIMIT_AS, "VmSize", soft - _RESERVE, soft, hard))
    for bound in _LIMITS:
        bound.set(bound.base)
    _fill()
    SHORTAGE[:] = [relieve] if _LIMITS else []


def left() -> int:
    """The bytes that q code may still use; without a limit, as if there were no end."""
    return min((bound.base - status(bound.field) for bound in _LIMITS), default=1 << 62)


def _with_reserve(most: int, hard: int) -> tuple[int, int]:
    """The memory limits of q code and of the session: with the reserve, unless the system grants no more."""
    return (
        (most, most + _RESERVE)
        if hard < 0 or most + _RESERVE <= hard
        else (min(most, hard - _RESERVE), hard)
    )


def relieve() -> str:
    """A request failed: let the session use its reserve to report it, until `recover`. Returns a description of the
    available memory."""
    BALLAST.clear()
    _SHORT[0] = True
    for bound in _LIMITS:
        bound.set(bound.most)
    remaining, bound = min(
        ((bound.base - status(bound.field), bound) for bound in _LIMITS), key=lambda pair: pair[0]
    )
    return f"of {megabytes(bound.base)} that the process may use {megabytes(remaining)} are left"


def recover() -> None:
    """Before q code runs: if a request failed, set what code may use now: the normal limit or, while the memory is
    still in use, part of the reserve, so that lines that free it can run."""
    if not _SHORT[0]:
        return
    _SHORT[0] = False
    _fill()
    for bound in _LIMITS:
        used = status(bound.field)
        if used + _LEAST > bound.base:
            _SHORT[0] = True
            bound.set(used + max(_LEAST, (bound.most - used) // 4))
        else:
            bound.set(bound.base)


def _fill() -> None:
    """Allocate memory to be given up. It is mapped, because Python's allocator next asks for mapped memory."""
    with suppress(OSError, MemoryError):
        BALLAST[:] = [mmap.mmap(-1, 4 * _LEAST, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)]
