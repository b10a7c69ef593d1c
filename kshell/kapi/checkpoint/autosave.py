"""Autosave: a snapshot of the session every so many seconds or optimizer steps.

The state is copied between two lines, or between two steps of a line that trains, and written by a separate thread. So
a line waits only for the copy, and the copy never contains half a step.
"""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError, first_line
from kshell.kapi.base.args import flag_of, items, long_of, name_of, number_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.paths import path_of
from kshell.kapi.checkpoint.snapshot import Captured, capture, left_out
from kshell.store.archive import write
from kshell.values.base.build import symdict
from kshell.values.base.core import NIL, Dict, Value
from kshell.values.base.symbols import sym
from kshell.values.session import context
from kshell.values.session.context import running

if TYPE_CHECKING:
    from kshell.values.session.context import Running

LEAST = 0.1  # seconds
clock = time.monotonic


class Autosave:
    """Saves a session to `path` every `every` seconds, or steps if `steps`; the session holds its lock while a line
    runs.

    `due` is the time of the next save, `count` the steps since the last; `saves` counts the files written.
    """

    def __init__(self, session: Running, path: str, every: float, steps: bool) -> None:
        self.session, self.given, self.every, self.steps = session, path, every, steps
        self.path = os.path.abspath(path)
        self.saves = self.count = 0
        self.due = self._next()
        self.changed = True  # has a line run since the last save?
        self.lock = threading.Lock()
        self._told, self._problem = "", ""
        self._left: list[str] = []  # variables with objects of Python, not told yet
        self.left: set[str] = set()  # those that were told
        self._job: Captured | None = None
        self._closed = False
        self._wake = threading.Event()
        self._gate = threading.Lock()  # guards the next two
        self._rest = threading.Event()  # is no file being written or queued?
        self._rest.set()
        self._thread = threading.Thread(target=self._work, daemon=True, name="autosave")

    def start(self) -> None:
        """Start, in the middle of a line."""
        self.lock.acquire()
        self._thread.start()

    def begin(self) -> None:
        """A line begins."""
        self.lock.acquire()
        self.changed = True

    def end(self) -> None:
        """A line has ended: if a save is due, copy now, because the next line may follow at once. Errors from files are
        reported once."""
        token = context.enter(self.session)
        try:
            self.between()
        finally:
            context.leave(token)
            self.lock.release()
        left, self._left = [name for name in self._left if name not in self.left], []
        if left:
            self.left.update(left)
            self.session.warn(f"autosave: {left_out(left)}\n")
        if self._problem != self._told:
            self._told = self._problem
            if self._told:
                self.session.warn(f"autosave: {self._told.removeprefix('autosave: ')}\n")

    def stepped(self) -> None:
        """An optimizer has stepped, in the running line."""
        self.count += 1
        self.between()

    def between(self) -> None:
        """The running line is at a point where it can be saved."""
        if (
            self.count >= self.every if self.steps else clock() >= self.due
        ) and self._rest.is_set():
            job = self._captured()
            if job is not None:
                with self._gate:
                    self._job = job
                    self._rest.clear()
                self._wake.set()

    def rest(self) -> None:
        """Wait until no file is being written."""
        self._rest.wait()

    def close(self) -> None:
        """Stop, after finishing a file that is being written."""
        self.rest()
        self._closed = True
        self._wake.set()

    def _next(self) -> float:
        return float("inf") if self.steps else clock() + self.every

    def _captured(self) -> Captured | None:
        """A copy of the state to save, None if something in it cannot be saved."""
        self.count, self.due, self.changed = 0, self._next(), False
        try:
            captured = capture(None, "autosave", True)
            self._left = captured.left
            return captured
        except QError as e:
            self._problem = e.text
        except MemoryError:
            self._problem = "wsfull"
        except Exception as e:  # the thread continues and tries the next save
            self._problem = first_line(str(e)) or type(e).__name__
        return None

    def _idle(self) -> Captured | None:
        """A copy made while no line runs, None if one does or nothing has changed."""
        if not self.lock.acquire(blocking=False):
            return None
        token = context.enter(self.session)
        try:
            if clock() < self.due or self._closed:
                return None
            if not self.changed:
                self.due = self._next()
                return None
            return self._captured()
        finally:
            context.leave(token)
            self.lock.release()

    def _work(self) -> None:
        """The thread: wait, then write what a line has copied, or copy what is due between lines."""
        while not self._closed:
            remaining = self.due - clock()  # overdue: a line is running, and copies when it ends
            self._wake.wait(None if self.steps else remaining if remaining > 0 else LEAST)
            self._wake.clear()
            with self._gate:
                job, self._job = self._job, None
                if job is None and clock() >= self.due:
                    self._rest.clear()
            if job is None and not self._rest.is_set():
                job = self._idle()
            if job is not None:
                self._write(job)
            with self._gate:
                if self._job is None:  # no line has copied anything meanwhile
                    self._rest.set()

    def _write(self, job: Captured) -> None:
        try:
            write(self.path, job.manifest, job.members, job.needs)
            self.saves += 1
            self._problem = ""
        except QError as e:
            self._problem = e.text
        except Exception as e:
            self._problem = first_line(str(e)) or type(e).__name__

    def shown(self) -> Dict:
        """The autosave settings, and the number of files written."""
        every = int(self.every) if self.every == int(self.every) else self.every
        return symdict(
            ["file", "every", "unit", "saves"],
            [sym(":" + self.given), every, sym("steps" if self.steps else "seconds"), self.saves],
        )


def _stop(session: Running) -> None:
    if session.autosave is not None:
        session.autosave.close()
        session.autosave = None


@api(
    "autosave",
    "autosave(`:file.ks;seconds)",
    "autosave(`:file.ks;n;`steps)",
    "autosave[]",
    "autosave 0b",
    held=True,
    since="kshell",
    effect="changes",
)
def autosave(x: Value) -> Value:
    """Save the session now, like `snapshot`, and from then on every so many seconds or optimizer steps.

    Returns the file. Saves are skipped if nothing has run. `0b` stops; without an argument, returns a dictionary of the
    settings and the number of files written, or :: if autosave is off. A line waits only while the state is copied in
    memory, not for the disk. The old file stays intact until the new one is complete. Later errors are reported on
    standard error, and the next save is tried. With several processes, the first one saves.

    q)autosave(`:docs.ks;60)
    `:docs.ks
    q)autosave[]`every`unit
    60
    `seconds
    q)autosave 0b
    q)hdel`:docs.ks
    `:docs.ks
    """
    session: Any = running()
    arguments = items(x)
    if not arguments or x is NIL:
        return NIL if session.autosave is None else session.autosave.shown()
    if len(arguments) == 1 and flag_of(arguments[0]) is False:
        _stop(session)
        return NIL
    if not 2 <= len(arguments) <= 3:
        raise CallError("autosave", expecting="(file;seconds) or (file;n;`steps)", given=kname(x))
    path = path_of(arguments[0], "autosave")
    unit = name_of(arguments[2]) if len(arguments) == 3 else "seconds"
    if unit not in ("seconds", "steps"):
        raise QError(
            f"autosave: unit is seconds or steps, given {kname(arguments[2]) if unit is None else unit}"
        )
    every = long_of(arguments[1]) if unit == "steps" else number_of(arguments[1])
    if every is None:
        raise CallError("autosave", expecting=f"a number of {unit}", given=kname(arguments[1]))
    if not (1 if unit == "steps" else LEAST) <= every < 1e9:
        raise QError(f"autosave: number of {unit} out of range, given {every:g}")
    if session.rank:
        return arguments[0]
    captured = capture(None, "autosave")
    if session.autosave is not None:
        session.autosave.rest()
    write(path, captured.manifest, captured.members, captured.needs)
    for note in captured.notes:
        session.warn(f"autosave: not saved: {note}\n")
    if captured.left:
        session.warn(f"autosave: {left_out(captured.left)}\n")
    _stop(session)
    session.autosave = Autosave(session, path, every, unit == "steps")
    session.autosave.left.update(captured.left)
    session.autosave.start()
    return arguments[0]
