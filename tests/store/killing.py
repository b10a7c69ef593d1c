"""A process that is killed at a chosen one of its system calls that change a file, by ptrace.

`Tried` forks a child, lets it work, and counts such calls: open to write, write, truncate, rename, unlink, mkdir, rmdir,
chmod, fsync. The child is killed before the call with a given number; or, of a write of several bytes, when half of them
are written.
"""

from __future__ import annotations

import ctypes
import os
import platform
import signal
from collections.abc import Callable

_LIBC = ctypes.CDLL(None, use_errno=True)
_LIBC.ptrace.restype = ctypes.c_long
_LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_TRACE_ME, _GET_REGS, _SET_REGS, _NEXT_CALL, _OPTIONS = 0, 12, 13, 24, 0x4200
_CALLS_MARKED, _ENDS_WITH_TRACER = 1, 1 << 20
_STOP = signal.SIGTRAP | 0x80  # how a stop at a system call is told from others
_CHANGES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# the numbers of the calls of x86-64: those that write, and the others that change a file
_WRITES = {1: "write", 18: "pwrite64"}
_OTHERS = {20: "writev", 74: "fsync", 75: "fdatasync", 76: "truncate", 77: "ftruncate", 82: "rename", 83: "mkdir",
           84: "rmdir", 85: "creat", 86: "link", 87: "unlink", 88: "symlink", 90: "chmod", 91: "fchmod", 40: "sendfile",
           258: "mkdirat", 263: "unlinkat", 264: "renameat", 265: "linkat", 266: "symlinkat", 268: "fchmodat",
           285: "fallocate", 316: "renameat2", 326: "copy_file_range"}
_OPEN, _OPENAT = 2, 257
CAN = platform.system() == "Linux" and platform.machine() == "x86_64"


class _Registers(ctypes.Structure):
    _fields_ = [(n, ctypes.c_ulonglong) for n in (
        "r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10", "r9", "r8", "rax", "rcx", "rdx", "rsi", "rdi",
        "orig_rax", "rip", "cs", "eflags", "rsp", "ss", "fs_base", "gs_base", "ds", "es", "fs", "gs")]


def _trace(request: int, pid: int, address: int = 0, data: object = 0) -> None:
    pointer = ctypes.c_void_p(data) if isinstance(data, int) else ctypes.cast(ctypes.byref(data), ctypes.c_void_p)  # type: ignore[arg-type]
    if _LIBC.ptrace(request, pid, ctypes.c_void_p(address), pointer) < 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def _change(r: _Registers) -> str:
    """The name of the call that a process is about to make, if that changes a file."""
    n = r.orig_rax
    if n in _WRITES:
        return _WRITES[n] if r.rdi > 2 else ""
    if n in (_OPEN, _OPENAT):
        return "open" if (r.rsi if n == _OPEN else r.rdx) & _CHANGES else ""
    return _OTHERS.get(n, "")


def _kill(pid: int) -> bool:
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return True


def killed(work: Callable[[], None], at: int = -1, half: bool = False) -> tuple[list[str], bool]:
    """Have a child process do some work, and kill it before its change number `at`, with `half` in the middle of that
    write. The names of the changes it was about to make or has made, and whether it was killed; RuntimeError if the work
    failed."""
    pid = os.fork()
    if not pid:
        code = 1
        try:
            _trace(_TRACE_ME, 0)
            os.kill(os.getpid(), signal.SIGSTOP)
            work()
            code = 0
        finally:
            os._exit(code)
    os.waitpid(pid, 0)
    _trace(_OPTIONS, pid, 0, _CALLS_MARKED | _ENDS_WITH_TRACER)
    made: list[str] = []
    entering, gives, r = True, 0, _Registers()
    while True:
        _trace(_NEXT_CALL, pid, 0, gives)
        _, status = os.waitpid(pid, 0)
        if os.WIFEXITED(status) or os.WIFSIGNALED(status):
            if os.WIFEXITED(status) and os.WEXITSTATUS(status):
                raise RuntimeError("the work failed")
            return made, os.WIFSIGNALED(status)
        gives = 0
        if os.WSTOPSIG(status) != _STOP:
            gives = os.WSTOPSIG(status)
            continue
        if entering:
            _trace(_GET_REGS, pid, 0, r)
            name = _change(r)
            if name:
                made.append(name)
                if len(made) - 1 == at:
                    if not half:
                        return made, _kill(pid)
                    r.rdx //= 2
                    _trace(_SET_REGS, pid, 0, r)
        elif half and len(made) - 1 == at:
            return made, _kill(pid)
        entering = not entering
