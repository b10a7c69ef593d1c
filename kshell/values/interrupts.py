"""Interrupts: where Ctrl-C or SIGTERM may stop q code, and where it waits until what is being done is whole.

A signal's handler may run between any two steps of Python code. It raises there at once, unless the code is inside a
held section (`with HOLD:`), or inside a function registered with `whole`: the interrupt then waits in PENDING, and the
end of the section or of the function raises it. An import is let finish too, since half a module cannot be repaired.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
from collections.abc import Callable
from importlib import _bootstrap
from threading import get_ident
from types import CodeType, FrameType
from typing import Any, TypeVar

from kshell.errors import QExit

F = TypeVar("F", bound=Callable[..., Any])

# the signals that wait: the ends of whole work look here
PENDING: list[int] = []
LEAVES = 128 + signal.SIGTERM  # the exit code of a program that was told to end
_WHOLE: set[int] = set()
_IMPORTS = {id(f.__code__) for f in (_bootstrap._find_and_load, _bootstrap._find_and_load_unlocked)}  # type: ignore[attr-defined]
_MAIN = threading.main_thread().ident
_AGAIN = 0.05  # seconds until an interrupt during an import is tried again


def whole(code: CodeType) -> None:
    """Let interrupts wait for the end of any function with this code, which is to call `wake` if PENDING."""
    _WHOLE.add(id(code))


def _among(frame: FrameType | None, codes: set[int]) -> bool:
    while frame is not None:
        if id(frame.f_code) in codes:
            return True
        frame = frame.f_back
    return False


class Hold:
    """Held sections, which may nest. Signals come to the main thread; `depth` is its depth, other threads only tell
    whether they may be stopped."""

    __slots__ = ("depth", "others")

    def __init__(self) -> None:
        self.depth = 0
        self.others: dict[int, int] = {}

    def __enter__(self) -> None:
        me = get_ident()
        if me == _MAIN:
            self.depth += 1
        else:
            self.others[me] = self.others.get(me, 0) + 1

    def __exit__(self, *_: Any) -> None:
        me = get_ident()
        if me != _MAIN:
            self.others[me] -= 1
            return
        self.depth -= 1
        if PENDING:
            wake()

    def holds(self, ident: int) -> bool:
        """Is that other thread in a held section?"""
        return self.others.get(ident, 0) > 0


HOLD = Hold()


def wake() -> None:
    """At the end of work that a signal waited for: raise what it asks for, unless a caller's work is to be finished
    first."""
    if get_ident() != _MAIN:
        return
    frame = sys._getframe(1).f_back
    if not HOLD.depth and not _among(frame, _WHOLE):
        leaves = signal.SIGTERM in PENDING
        PENDING.clear()
        raise QExit(LEAVES) if leaves else KeyboardInterrupt


def must_wait(frame: FrameType | None, signum: int = signal.SIGINT) -> bool:
    """A signal came while `frame` ran: does it have to wait? It then comes back by itself."""
    if HOLD.depth or _among(frame, _WHOLE):
        PENDING.append(signum)
        return True
    if _among(frame, _IMPORTS):
        timer = threading.Timer(_AGAIN, _thread.interrupt_main, (signum,))
        timer.daemon = True
        timer.start()
        return True
    return False


def forget() -> None:
    """Forget an interrupt that waits, for what it was to stop has ended; the program is still to leave, if told to."""
    PENDING[:] = [n for n in PENDING if n != signal.SIGINT]


def held_section(fn: F) -> F:
    """fn as a held section (a decorator)."""

    def run(*args: Any, **options: Any) -> Any:
        with HOLD:
            return fn(*args, **options)

    run.__doc__, run.__name__, run.__wrapped__ = fn.__doc__, fn.__name__, fn  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]
