"""Restricted evaluation: what `reval` and a read-only session allow, and how it is enforced.

Inside, nothing outside the expression may change, run or be opened; files are read only below the current folder. Three
barriers are layered: the declared `effect` of a registry entry is checked before its function runs; assignments check
`context`; and an audit hook sees whatever Python is about to open, write, start or connect, which also catches
functions that nobody thought of. The k-api adds its own for tensor memory (`kapi/checkpoint/unwritten.py`).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kshell import registry
from kshell.errors import Agreed, QError
from kshell.values.base.core import NIL, List, Vec
from kshell.values.base.functions import forget_direct
from kshell.values.session.context import CONFINED, RESTRICTED, block, restricted, unblock

__all__ = ["check_read", "expanded", "guarded", "lifted", "refuse", "restricted", "restriction"]

REVAL, READ_ONLY = "reval", "read-only"
# the effects that an entry may declare; those that are refused, with the error; those that only read when they are
# called with at most so many arguments ("own" checks itself)
WORDS = {"changes": "noupdate", "opens": "access"}
READS = {"reads0": 0, "reads1": 1, "reads2": 2}
# set if clients may write in the current folder, from which Python imports nothing then
SHARED_FOLDER: list[bool] = []
EFFECTS = ("none", "own", *READS, *WORDS)


def refuse(what: str, word: str = "noupdate") -> None:
    """The error of a restricted evaluation, if this is one: 'noupdate for a change, 'access for running, opening or
    reading; `what` is the function or path."""
    if RESTRICTED.get():
        raise Agreed(f"{word}: {what}")


def guarded(name: str, effect: str | None, fn: Callable[..., Any]) -> Callable[..., Any]:
    """fn, which first checks whether it may run, given its entry's declared effect. Without a declaration it counts as
    changing things."""
    if effect in ("none", "own"):
        return fn
    word, limit = WORDS.get(effect or "", "noupdate"), READS.get(effect or "", -1)

    def run(*args: Any) -> Any:
        if RESTRICTED.get() and _count(args) > limit:
            raise Agreed(f"{word}: {name}")
        return fn(*args)

    return run


def _count(args: tuple[Any, ...]) -> int:
    """The number of arguments of a k-api call: `f(a;b)` passes a list, `f[]` and `f()` nothing."""
    if len(args) != 1:
        return len(args)
    x = args[0]
    if x is NIL:
        return 0
    return len(x) if isinstance(x, List) or x.__class__ is Vec else 1


def check_read(path: str) -> None:
    """'access if a restricted or confined evaluation names a file that is not below the current folder, after following
    links. Call it before anything asks the system about the file, or the answer says whether there is one."""
    if is_outside(path):
        raise Agreed(f"access: {path}")


def is_outside(path: str) -> bool:
    """Is this a restricted or confined evaluation, and the path not below the current folder?"""
    return bool(RESTRICTED.get() or CONFINED.get()) and not _inside(path, os.getcwd())


def expanded(text: str) -> str:
    """The path that a text names, which may begin with `~` or `~user`, checked as by check_read. The error shows the
    text, and an unknown user is outside as a known one is: neither says who has an account."""
    path = os.path.expanduser(text)
    if is_outside(path) or (path[:1] == "~" and (RESTRICTED.get() or CONFINED.get())):
        raise Agreed(f"access: {text}")
    return path


def _inside(path: str, folder: str) -> bool:
    target, root = os.path.realpath(path), os.path.realpath(folder)
    return target == root or target.startswith(root.rstrip("/") + "/")


@contextmanager
def lifted(confined: bool = False) -> Iterator[None]:
    """Inside, the barriers are lifted for the program's own operations: reading parts of a table that it already holds,
    importing a library, querying memory use. `confined`: a confined evaluation stays so."""
    if not RESTRICTED.get() and not CONFINED.get():
        yield
        return
    restricted_before = RESTRICTED.set("")
    confined_before = CONFINED.set(confined and CONFINED.get())
    try:
        yield
    finally:
        RESTRICTED.reset(restricted_before)
        CONFINED.reset(confined_before)


@contextmanager
def confinement() -> Iterator[None]:
    """Inside, only files below the current folder are used, and no other program is run, as for the clients of a
    process that was started with -u."""
    _watch()
    token = CONFINED.set(True)
    try:
        yield
    finally:
        CONFINED.reset(token)


def forbid(what: str) -> None:
    """'access if this is a confined evaluation; `what` is the function."""
    if CONFINED.get():
        raise Agreed(f"access: {what}")


# set, and never unset, if the process runs no Python of its user's
PYTHON_OFF: list[bool] = []


# set, and never unset, once there is a reason to ask before Python of the user's runs
PYTHON_WATCHED: list[bool] = []


def turn_python_off() -> None:
    """From now on, the process runs no Python of its user's."""
    PYTHON_OFF.append(True)
    _watch_python()


def _watch_python() -> None:
    PYTHON_WATCHED.append(True)
    forget_direct()


def allow_python(what: str) -> None:
    """An error where no Python of the user's may run: 'access if the process or a confined evaluation runs none,
    'noupdate in a restricted one; `what` is the function."""
    if PYTHON_OFF:
        raise QError(
            "access: Python is off", hint="this process runs none: --no-python, setting(`python;0b)"
        )
    refuse(what)
    forbid(what)


# code of functions that restrict what they evaluate
RESTRICTING: set[int] = set()


@contextmanager
def restriction(how: str = REVAL) -> Iterator[None]:
    """Inside, evaluation is restricted, here and in threads started by peach."""
    _watch()
    before, token = block(True), RESTRICTED.set(RESTRICTED.get() or how)
    try:
        with wall():
            yield
    finally:
        RESTRICTED.reset(token)
        unblock(before)


@contextmanager
def wall() -> Iterator[None]:
    """The k-api's part of a restriction in this thread, if the k-api is loaded."""
    entry = registry.find("handler", "restrict")
    if entry is None:
        yield
        return
    with entry.fns[0]():
        yield


# ------------------------------------------------------------------ what Python is about to do

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CHANGES = frozenset(
    (
        "os.remove",
        "os.rename",
        "os.rmdir",
        "os.mkdir",
        "os.link",
        "os.symlink",
        "os.truncate",
        "os.chmod",
        "os.chown",
        "os.utime",
        "os.putenv",
        "os.unsetenv",
        "os.chdir",
        "os.fchdir",
        "os.setxattr",
        "os.removexattr",
        "os.lockf",
        "os.kill",
        "os.killpg",
        "tempfile.mkstemp",
        "tempfile.mkdtemp",
        "resource.setrlimit",
        "signal.pthread_kill",
    )
)
_RUNS = frozenset(
    (
        "subprocess.Popen",
        "os.system",
        "os.exec",
        "os.posix_spawn",
        "os.spawn",
        "os.fork",
        "os.forkpty",
        "pty.spawn",
        "socket.connect",
        "socket.bind",
        "socket.sendto",
        "socket.sendmsg",
    )
)
# of the changes, those of the process itself
_OF_PROCESS = frozenset(
    (
        "os.putenv",
        "os.unsetenv",
        "os.chdir",
        "os.fchdir",
        "os.kill",
        "os.killpg",
        "resource.setrlimit",
        "signal.pthread_kill",
    )
)
_READS = frozenset(("os.listdir", "os.scandir"))
_SEEN = frozenset((*_CHANGES, *_RUNS, *_READS, "open"))
# files of the system that kshell and libraries read by these names
_SYSTEM = frozenset(
    (
        "/proc/self/status",
        "/proc/self/statm",
        "/proc/cpuinfo",
        "/proc/meminfo",
        "/sys/fs/cgroup/memory.max",
        "/dev/null",
        "/dev/urandom",
        "/etc/localtime",
    )
)
_watching: list[bool] = []


def _watch() -> None:
    """From now on, Python reports what it is about to do."""
    if not _watching:
        _watching.append(True)
        _watch_python()
        sys.addaudithook(_about)


def _about(event: str, args: tuple[Any, ...]) -> None:
    if event not in _SEEN or not (RESTRICTED.get() or CONFINED.get()) or _importing():
        return
    if not RESTRICTED.get():
        _about_confined(event, args)
        return
    if event in _RUNS:
        raise Agreed(f"access: {event}")
    if event in _CHANGES:
        raise Agreed(f"noupdate: {event}")
    path = args[0] if args else None
    if not isinstance(path, str | bytes | os.PathLike):
        return  # an already open file
    name = os.fsdecode(path)
    if event == "open" and _writes(args) and name != os.devnull:
        raise Agreed(f"noupdate: {name}")
    if not (_is_library(name) or _inside(name, os.getcwd())):
        raise Agreed(f"access: {name}")


def _is_library(name: str) -> bool:
    """Is it a file of the system, of Python or of kshell, which anything may read?"""
    return name in _SYSTEM or any(_inside(name, library) for library in _LIBRARIES)


def _about_confined(event: str, args: tuple[Any, ...]) -> None:
    """Refuse what a confined evaluation must not do: run programs, change the process, use other folders' files."""
    if event in _OF_PROCESS or (event in _RUNS and not event.startswith("socket.")):
        raise Agreed(f"access: {event}")
    is_open = event == "open"
    for path in args[: 1 if is_open else 2]:
        if not isinstance(path, str | bytes | os.PathLike):
            continue
        name = os.fsdecode(path)
        is_free = name == os.devnull or (is_open and not _writes(args) and _is_library(name))
        if not is_free and not _inside(name, os.getcwd()):
            raise Agreed(f"access: {name}")


def _writes(args: tuple[Any, ...]) -> bool:
    """Does an event of opening a file ask to write?"""
    return len(args) > 2 and isinstance(args[2], int) and bool(args[2] & _WRITES)


# the folders of Python's and kshell's own files, and of time zones
_LIBRARIES = tuple(
    {
        sys.prefix,
        sys.base_prefix + "/lib",
        os.path.dirname(os.__file__),
        os.path.dirname(registry.__file__),
        "/usr/share/zoneinfo",
    }
)


def _importing() -> bool:
    """Is the request made by an import, whatever the imported module does?"""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


registry.GUARD.set(guarded)
