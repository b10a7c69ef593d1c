"""Interrupts: where Ctrl-C or SIGTERM can stop q code, and where they wait until an operation is complete.

A signal handler may run between any two steps of Python code. It raises at once, with exceptions:

- Inside a held section (`with HOLD:`), or inside a function registered with `whole`, the interrupt waits in PENDING.
  It is raised at the end of the section or function, with a note that the operation was carried out.
- Work inside such an operation may be interrupted where it is safe: q code called by a whole function, anything called
  through `stoppable`, and wherever `stop_here` is called.
- A function registered with `brief` ends soon: the interrupt waits until it calls `let_through`, or is sent again a
  little later. The same applies to imports, because a half-imported module cannot be repaired.
"""

from __future__ import annotations

import _thread
import signal
import sys
import threading
import time
from collections.abc import Callable
from importlib import _bootstrap
from threading import get_ident
from types import CodeType, FrameType
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

from kshell.errors import Q_FILE, QExit, Stop

F = TypeVar("F", bound=Callable[..., Any])

# pending signals: checked at the end of whole work
PENDING: list[int] = []
FORGOTTEN: list[int] = []  # a signal that came too late to stop anything
LEAVES = 128 + signal.SIGTERM  # the exit code of a program that was told to exit
_OPEN, _WHOLE, _BRIEF = range(3)
# how a function reacts to interrupts, by code object; the innermost function listed here, or of q, decides
_BRIEF_FUNCTIONS: tuple[Any, ...] = (
    getattr(_bootstrap, "_find_and_load"),  # noqa: B009
    getattr(_bootstrap, "_find_and_load_unlocked"),  # noqa: B009
    # called by Python itself, so exceptions raised in them would be lost
    *(getattr(kind(), "_remove") for kind in (WeakSet, WeakKeyDictionary, WeakValueDictionary)),  # noqa: B009
)
_KINDS = {id(function.__code__): _BRIEF for function in _BRIEF_FUNCTIONS}
_MAIN = threading.main_thread().ident or 0
_AGAIN = 0.002  # seconds until an interrupt in a brief function is sent again
_COMING: set[int] = set()  # signals to be sent again
_LATE: list[int] = []  # signals sent again


def whole(*codes: CodeType) -> None:
    """Make interrupts wait for the end of functions with these codes, which must call `wake` if PENDING."""
    _KINDS.update((id(code), _WHOLE) for code in codes)


def brief(fn: F) -> F:
    """fn, a short edit that must not be left half done (a decorator): an interrupt is sent again after it. A loop of
    such edits may never reach a point where it can stop, so it calls `let_through` after each."""
    _KINDS[id(fn.__code__)] = _BRIEF
    return fn


def _kind(frame: FrameType | None, past: int | None = None) -> int:
    """The kind of code that a frame is in; frames of the kind `past` are skipped."""
    while frame is not None:
        kind = _KINDS.get(id(frame.f_code))
        if kind is not None and kind != past:
            return kind
        if frame.f_code.co_filename == Q_FILE:
            return _OPEN
        frame = frame.f_back
    return _OPEN


class Hold:
    """Held sections, which can nest. Signals arrive in the main thread, whose depth is `depth`; other threads only
    record whether they can be stopped."""

    __slots__ = ("depth", "others")

    def __init__(self) -> None:
        self.depth = 0
        self.others: dict[int, int] = {}

    def __enter__(self) -> None:
        ident = get_ident()
        if ident == _MAIN:
            self.depth += 1
        else:
            self.others[ident] = self.others.get(ident, 0) + 1

    def __exit__(self, *_: Any) -> None:
        ident = get_ident()
        if ident != _MAIN:
            self.others[ident] -= 1
            return
        self.depth -= 1
        if PENDING:
            wake()

    def holds(self, ident: int) -> bool:
        """Is that other thread in a held section?"""
        return self.others.get(ident, 0) > 0


HOLD = Hold()


def wake(note: str = "", out: object = None) -> Any:
    """At the end of work for which a signal waited: raise what it requests, unless a caller's work must be completed
    first; in that case return `out`. The note says what was done."""
    if get_ident() == _MAIN and not HOLD.depth:
        kind = _kind(sys._getframe(1).f_back)
        if kind == _OPEN:
            _stop(note)
        if kind == _BRIEF:
            for signum in PENDING:
                _again(signum)
    return out


# the note of the last edit made by a verb in the running statement, for later interrupts
EDITED = [""]
# notes of interrupts that waited for an assignment
ASSIGNED, AMENDED = "the assignment was carried out", "amend was carried out"


def let_through(note: str, out: object = None) -> Any:
    """Call this if PENDING, at a point where brief work is not half done: raise what a signal requests, unless
    enclosing whole work must be completed first; in that case return `out`. The note says what was done, if anything
    was."""
    if get_ident() == _MAIN and not HOLD.depth and _kind(sys._getframe(1), _BRIEF) == _OPEN:
        _stop(note)
    return out


def stop_here(note: str = "") -> None:
    """Call this if PENDING, at a point where whole work can be stopped: what it has done so far is kept, or undone by
    its caller. Does nothing inside a held section."""
    if get_ident() == _MAIN and not HOLD.depth:
        _stop(note)


def give_up() -> None:
    """Call this if PENDING, at a point where whole work can be abandoned, even in a held section: nothing has changed,
    or its caller undoes it."""
    if get_ident() == _MAIN:
        _stop("")


def _stop(note: str) -> None:
    leaves = signal.SIGTERM in PENDING
    PENDING.clear()
    raise QExit(LEAVES) if leaves else Stop(note)


def stoppable(fn: Callable[..., Any], *args: Any) -> Any:
    """fn(*args) inside whole work that handles any error of it, and therefore interrupts: a user's function, which may
    take long. Held sections are suspended."""
    ident = get_ident()
    if ident != _MAIN:
        sections, HOLD.others[ident] = HOLD.others.get(ident, 0), 0
        try:
            return fn(*args)
        finally:
            HOLD.others[ident] = sections
    depth, HOLD.depth = HOLD.depth, 0
    try:
        if PENDING:
            _stop("")
        return called(fn, args)
    finally:
        HOLD.depth = depth


def called(fn: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """A marker where interrupts are raised at once, in `stoppable`."""
    return fn(*args)


def opens(code: CodeType) -> None:
    """Let interrupts be raised at once in any function with this code, and in what it calls."""
    _KINDS[id(code)] = _OPEN


whole(stoppable.__code__)
opens(called.__code__)


def is_late(signum: int) -> bool:
    """Is a signal one that was sent again? It has no meaning if none is pending any more."""
    if signum not in _LATE:
        return False
    _LATE.clear()
    return True


def must_wait(frame: FrameType | None, signum: int = signal.SIGINT) -> bool:
    """A signal arrived while `frame` ran: must it wait? It is then sent again by itself."""
    kind = _WHOLE if HOLD.depth else _kind(frame)
    if kind == _OPEN:
        PENDING[:] = [number for number in PENDING if number != signum]
        return False
    if signum not in PENDING:
        PENDING.append(signum)
    if kind == _BRIEF:
        _again(signum)
    return True


def _again(signum: int) -> None:
    """Send a signal again a little later."""
    if signum not in _COMING:
        _COMING.add(signum)
        _thread.start_new_thread(_come_again, (signum,))


def _come_again(signum: int) -> None:
    time.sleep(_AGAIN)
    _COMING.discard(signum)
    if signum in PENDING and callable(signal.getsignal(signum)):
        _LATE.append(signum)
        # a real signal: by now the main thread may wait in a system call, from which only that wakes it
        signal.pthread_kill(_MAIN, signum)


def begin() -> None:
    """Forget earlier interrupts and edits when a statement begins."""
    if PENDING:
        forget()
    EDITED[0] = ""


def forget() -> None:
    """Drop a pending interrupt, because what it should stop has ended; a pending request to exit stays."""
    if signal.SIGINT in PENDING:
        PENDING.remove(signal.SIGINT)
        FORGOTTEN[:] = [signal.SIGINT]


def carried_out(name: str) -> str:
    """The note for an interrupt that waited for a call."""
    return f"{name} was carried out"


def said(stop: KeyboardInterrupt, note: str) -> None:
    """Add a note to an interrupt that has none yet, saying what was done before it."""
    if not getattr(stop, "note", ""):
        stop.__dict__["note"] = note


def edit(name: str) -> Callable[[F], F]:
    """A decorator for a verb that changes something: an interrupt waits for it, then says that it was done."""
    return lambda fn: _around(fn, fn, carried_out(name))


def held_edit(note: str) -> Callable[[F], F]:
    """A decorator for a function that is a held section, with the note for an interrupt that waited for it."""
    return lambda fn: _around(fn, held_section(fn), note)


def held_section(fn: F, note: str = "") -> F:
    """fn as a held section (a decorator); with a note, it is an edit that later interrupts report."""

    def run(*args: Any, **options: Any) -> Any:
        with HOLD:
            result = fn(*args, **options)
            if note:
                EDITED[0] = note
            return result

    run.__doc__, run.__name__, run.__wrapped__ = fn.__doc__, fn.__name__, fn  # type: ignore[attr-defined]
    return run  # type: ignore[return-value]


def _after(note: str, out: object) -> Any:
    """Like `wake` at the end of an edit, which may be all that enclosing brief work has to do."""
    if get_ident() == _MAIN and not HOLD.depth and _kind(sys._getframe(1).f_back, _BRIEF) == _OPEN:
        _stop(note)
    return out


def _around(fn: F, work: Callable[..., Any], note: str) -> F:
    """fn, run by `work`, as whole work."""

    def run(*args: Any, **options: Any) -> Any:
        try:
            result = work(*args, **options)
        except BaseException:
            if PENDING:
                wake()
            raise
        EDITED[0] = note
        return _after(note, result) if PENDING else result

    code = fn.__code__
    run.__code__ = run.__code__.replace(
        co_filename=code.co_filename, co_firstlineno=code.co_firstlineno, co_name=code.co_name
    )
    run.__doc__, run.__name__, run.__wrapped__ = fn.__doc__, fn.__name__, fn  # type: ignore[attr-defined]
    run.__module__ = fn.__module__
    whole(run.__code__)
    return run  # type: ignore[return-value]
