"""The running session: how verbs reach settings, names and streams without globals of their own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextvars import ContextVar, Token
from threading import get_ident
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

    from kshell.values.base.core import Value


class Running(Protocol):
    """The part of a session available to the packages below it."""

    names: Any  # all globals, by namespace: values/change/names.py
    settings: Any  # P, c, C, S, z, W, o, e ... as attributes: lang/session/settings.py
    rng: Any  # numpy Generator, seeded by \S
    files: Any  # open files by number: lang/verbs/connect.py
    input: Any  # standard input: lang/console/standard_input.py
    timer: Any  # when to call `.z.ts`: lang/session/timer.py
    pool: Any  # the peach threads, or None: lang/each/peach.py
    ipc: Any  # connections to other processes, or None: ipc/port.py
    database: Any  # the loaded partitioned database, or None: store/parted.py
    progress: Any  # the progress line: values/session/progress.py
    log: Any  # the metrics log, or None: kapi/train/logs.py
    picture: Any  # shows an image, or None: notebook.py
    autosave: Any  # autosave, or None: kapi/checkpoint/autosave.py
    warned: set[Any]  # warnings already given

    @property
    def handles(self) -> Any:
        """The k-api's handle table."""

    @property
    def rank(self) -> int:
        """The rank of this process: kapi/distributed/processes.py."""

    def write(self, text: str) -> None:
        """Write text to the console (standard output)."""

    def warn(self, text: str) -> None:
        """Write text to standard error."""

    def send(self, handle: int, args: Sequence[Value]) -> Value | None:
        """Apply a file handle: 1 and 2 write to the console's streams, -1 and -2 add a line break; None if the handle
        is the result."""

    def receive(self, handle: int, n: int) -> bytes:
        """A line (n < 0), or up to n bytes, from the console (0) or an open pipe."""

    def use_ipc(self) -> Any:
        """The connections to other processes, for which the network is ready from then on."""

    def hold(self) -> Any:
        """A context manager: inside it an interrupt waits until the block ends (a held section)."""

    def evaluate(self, text: str) -> Any:
        """The value of q text, evaluated in the session's current namespace."""

    def load(self, path: str) -> Value:
        """Run a script file, as `\\l` does."""

    def show(self, x: Value) -> str:
        """The console's text of a value, under the session's settings."""


# set by lang/console/error_report.py: the running q code (None if there is none), and the line of text for such code
CODE: list[Callable[[], Any]] = [lambda: None]
LINE: list[Callable[[Any], str]] = [str]


class Worker:
    """A peach thread: its number, and its own random numbers, so that these do not depend on scheduling."""

    __slots__ = ("number", "rng")

    def __init__(self, number: int, rng: np.random.Generator) -> None:
        self.number, self.rng = number, rng


_RUNNING: ContextVar[Running] = ContextVar("running")
_WORKER: ContextVar[Worker | None] = ContextVar("worker", default=None)
_BLOCKED: ContextVar[bool] = ContextVar("blocked", default=False)
# the restriction on evaluation (see values/session/restrict.py); empty if there is none
RESTRICTED: ContextVar[str] = ContextVar("restricted", default="")
# may code use only files below the current folder, and run nothing?
CONFINED: ContextVar[bool] = ContextVar("confined", default=False)


def running() -> Running:
    """The session whose `run` is on the stack."""
    return _RUNNING.get()


def perhaps() -> Running | None:
    """The session whose `run` is on the stack; None if there is none, as in a thread not started by a session."""
    return _RUNNING.get(None)


RECURSION_LIMIT = 6000  # Python frames: one per q call, 2 to 5 through iterators; Python 3.11 crashes far above this
_DEEP: set[int] = set()  # the threads in which sessions run
_HOST_LIMIT = [0]  # the recursion limit of the host program


def enter(session: Running) -> Token[Running]:
    """Make `session` the running one; pass the result to `leave` afterwards.

    In between, Python's recursion limit allows the depth that q functions need; outside, the host program's limit
    applies."""
    _DEEP.add(get_ident())
    limit = sys.getrecursionlimit()
    if limit < RECURSION_LIMIT:
        _HOST_LIMIT[0] = limit
        sys.setrecursionlimit(RECURSION_LIMIT)
    return _RUNNING.set(session)


def leave(token: Token[Running]) -> None:
    """End the effect of `enter`."""
    _RUNNING.reset(token)
    if _RUNNING.get(None) is not None:
        return
    _DEEP.discard(get_ident())
    if not _DEEP and sys.getrecursionlimit() == RECURSION_LIMIT and _HOST_LIMIT[0]:
        sys.setrecursionlimit(_HOST_LIMIT[0])


def worker() -> Worker | None:
    """The current peach thread, if this is one."""
    return _WORKER.get()


def work_as(found: Worker) -> None:
    """Mark the current context as that of a peach thread, which must not change globals."""
    _WORKER.set(found)
    _BLOCKED.set(True)


def blocked() -> bool:
    """Must globals stay unchanged, as in a peach thread and in reval?"""
    return _BLOCKED.get()


def restricted() -> str:
    """The current restriction on evaluation, `reval` or `read-only`; empty if there is none."""
    return RESTRICTED.get()


def block(on: bool) -> Token[bool]:
    """Block changes of globals, or allow them; pass the result to `unblock` afterwards."""
    return _BLOCKED.set(on)


def unblock(token: Token[bool]) -> None:
    _BLOCKED.reset(token)


def warn_once(text: str) -> None:
    """A warning on standard error, once per line of q."""
    session: Any = running()
    code = CODE[0]()
    key = text, LINE[0](code) if code else ""
    if key not in session.warned:
        session.warned.add(key)
        session.warn(f"warning: {text}\n")
