"""The session timer: when to call `.z.ts` next. The shell calls it while it waits for input."""

from __future__ import annotations

import time

from kshell.lang.session.clock import utc
from kshell.values.base import types as T
from kshell.values.base.core import Atom
from kshell.values.engine.apply import apply1
from kshell.values.session.context import running
from kshell.values.session.restrict import forbid


class Timer:
    """Ticks every `interval` milliseconds; 0 turns it off. The first tick is due immediately."""

    __slots__ = ("due", "interval")

    def __init__(self) -> None:
        self.interval = 0
        self.due = 0.0  # on the monotonic clock

    def set(self, interval: int) -> None:
        """Tick that often from now on; 'access if a confined evaluation changes the interval."""
        if interval != self.interval:
            forbid("\\t")
        self.interval, self.due = interval, time.monotonic()

    def wait(self) -> float | None:
        """Seconds until the next tick, 0 if it is due; None if the timer is off."""
        return max(0.0, self.due - time.monotonic()) if self.interval else None

    def next(self) -> int:
        """Advance to the next tick; returns when the current one was due, as a timestamp. Missed ticks are dropped."""
        current = time.monotonic()
        due_time = utc() - int((current - self.due) * 1e9)
        seconds = self.interval / 1000
        self.due = self.due + seconds if self.due + seconds > current else current + seconds
        return due_time


def tick() -> None:
    """Call `.z.ts`, if assigned, with the time at which it was due."""
    session = running()
    handler = session.names.find(".z.ts")
    due_time = session.timer.next()
    if handler is not None:
        apply1(handler, Atom(T.P, due_time))
