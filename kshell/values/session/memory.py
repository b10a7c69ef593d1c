"""How much memory there is, is used, and may be used."""

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

# the program itself, with torch, before it holds any data
OWN = 256 << 20
_SHARE = 0.95  # of the machine's memory that the process may fill


def status(field: str) -> int:
    """A figure that the system keeps of the process, in bytes, by its name in /proc/self/status; 0 if it keeps none."""
    with suppress(OSError), open("/proc/self/status") as file:
        for line in file:
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


def _in_use() -> tuple[int, int]:
    """The bytes of the process that are in memory, and those of them that are its own: not of a file, not shared."""
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
    """Give freed memory back to the system, so that what is used next counts as used."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _trim_top() -> None:
    """Give back the free end of the thread's arena too, which `malloc_trim` leaves alone unless it is the main one: a
    thread whose request was refused there goes on in another. The caller sets the thresholds again."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.malloc.restype = ctypes.c_void_p
        libc.mallopt(-1, 0)  # M_TRIM_THRESHOLD
        libc.free(
            ctypes.c_void_p(libc.malloc(100_000))
        )  # large enough for the allocator to look at the end


_KEEPS = [False]  # does the allocator keep what is freed?


def keep_freed(keep: bool) -> None:
    """Let the allocator keep what is freed for the next request, of up to a gigabyte; or only what is below the bounds
    that it reaches by itself."""
    with suppress(OSError, AttributeError):
        libc = ctypes.CDLL("libc.so.6")
        libc.mallopt(-1, (1 << 31) - 1 if keep else 1 << 26)  # M_TRIM_THRESHOLD
        libc.mallopt(-3, 1 << 30 if keep else 1 << 25)  # M_MMAP_THRESHOLD
        _KEEPS[0] = keep


class Grown:
    """The most memory in use while a block runs, beside what was in use before: `with Grown() as g: ..`, then g.most.

    The system's own record, VmHWM, tells if the block reached more than the process ever did; it is not made to begin
    anew, as other programs read it. Below it a thread looks now and then, and what is in use at the end is counted
    before freed memory is given back, which keeps most of what was freed in between. Private memory is counted by
    itself too: the system may take pages of the program's files away meanwhile, which is not memory that was freed."""

    _EVERY = 0.005  # seconds between two looks

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
    """A limit of the process that the system enforces: q code may use `base` bytes, a session that ran out of them
    up to `most`, so that it can tell and something can be freed."""

    __slots__ = ("base", "field", "hard", "kind", "most")

    def __init__(self, kind: int, field: str, base: int, most: int, hard: int) -> None:
        self.kind, self.field, self.base, self.most, self.hard = kind, field, base, most, hard

    def set(self, n: int) -> None:
        with lifted(), suppress(OSError, ValueError):
            resource.setrlimit(self.kind, (n, self.hard))


_RESERVE = 128 << 20  # bytes that the session keeps for itself of what it may use
_LEAST = 1 << 20  # and those that a line may use, however little is left of them
_LIMITS: list[_Limit] = []
_SHORT = [False]  # did a request fail, and is what it ran into still in use?


def limit(asked: int = 0) -> None:
    """Let the system refuse memory past a limit of so many megabytes: the request then is 'wsfull, and the process
    lives. Without one, what the machine does not have is refused: it would be granted, and the process killed when it
    is used."""
    if resource is None:
        return
    most = OWN + (asked << 20) if asked else int(physical() * _SHARE)
    if most >= 1 << 63:
        raise QError("limit")
    _LIMITS.clear()
    if asked or not os.path.exists("/dev/nvidiactl"):  # a GPU's driver reserves more than it uses
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        _LIMITS.append(_Limit(resource.RLIMIT_DATA, "VmData", *_with_reserve(most, hard), hard))
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)  # what `ulimit -v` has set
    if soft > 0 and soft - status("VmSize") > 2 * _RESERVE:
        _LIMITS.append(_Limit(resource.RLIMIT_AS, "VmSize", soft - _RESERVE, soft, hard))
    for one in _LIMITS:
        one.set(one.base)
    _fill()
    SHORTAGE[:] = [relieve] if _LIMITS else []


def _with_reserve(most: int, hard: int) -> tuple[int, int]:
    """The memory limits of q code and of the session: with the reserve, unless the system gives no more."""
    return (
        (most, most + _RESERVE)
        if hard < 0 or most + _RESERVE <= hard
        else (min(most, hard - _RESERVE), hard)
    )


def relieve() -> str:
    """A request failed: let the session use its reserve, to tell of it. `recover` ends that. The result is what there
    is, for people."""
    BALLAST.clear()
    _SHORT[0] = True
    for one in _LIMITS:
        one.set(one.most)
    left, one = min(
        ((one.base - status(one.field), one) for one in _LIMITS), key=lambda pair: pair[0]
    )
    return f"of {megabytes(one.base)} that the process may use {megabytes(left)} are left"


def recover() -> None:
    """Before q code runs: if a request failed, what code may use now. That is the limit, or while something holds as
    much, a part of the reserve, so that lines that free it can run."""
    if not _SHORT[0]:
        return
    _SHORT[0] = False
    _fill()
    for one in _LIMITS:
        used = status(one.field)
        if used + _LEAST > one.base:
            _SHORT[0] = True
            one.set(used + max(_LEAST, (one.most - used) // 4))
        else:
            one.set(one.base)


def _fill() -> None:
    """Hold memory to give up. It is mapped: what Python's allocator asks for next is mapped too."""
    with suppress(OSError, MemoryError):
        BALLAST[:] = [mmap.mmap(-1, 4 * _LEAST, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)]
