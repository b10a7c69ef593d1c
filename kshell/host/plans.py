"""Edits that are planned for the end of a step to come. Other threads may plan one, so there is a lock.

Those of one step are carried out in the order of the processes that were asked for them, and of each in the order in
which it was asked: so it is the same order in all processes of a job, whatever the order in which they heard of them.
"""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable
from typing import NamedTuple

NEVER = sys.maxsize


class Planned(NamedTuple):
    """A text to be carried out at the end of a step."""

    step: int
    user: str
    text: str
    # of the process that was asked; -1 if each process plans it itself, as in a replay
    rank: int = -1
    turn: int = 0  # among what that process was asked for


class Plans:
    """What is planned; `number` says how many steps there were, `changed` is called when `next_step` did."""

    def __init__(self, number: Callable[[], int], changed: Callable[[], None]) -> None:
        self.number = number
        self.changed = changed
        self.next_step = NEVER  # the step after which something is to be done
        self.pause_at = NEVER  # the step after which the program pauses
        self.turns = itertools.count()  # of what this process is asked for
        self._planned: list[Planned] = []
        self._lock = threading.Lock()

    def add(self, planned: Planned) -> bool:
        """Plan a text; false if its step is over. The step is made known before it is looked at: so it cannot end
        unseen in between."""
        with self._lock:
            self.next_step = min(self.next_step, planned.step)
            self.changed()
            if planned.step <= self.number():
                self._set()
                return False
            self._planned.append(planned)
            self._set()
            return True

    def remove(self, planned: Planned) -> None:
        """Plan it no more."""
        with self._lock:
            self._planned = [other for other in self._planned if other != planned]
            self._set()

    def due(self) -> list[Planned]:
        """What is planned for now, removed, in the order in which it is to be carried out."""
        if self.number() < self.next_step:
            return []
        with self._lock:
            now = self.number()
            found = [planned for planned in self._planned if planned.step <= now]
            self._planned = [planned for planned in self._planned if planned.step > now]
            self._set()
            return sorted(found, key=lambda planned: (planned.step, planned.rank, planned.turn))

    def pause(self, step: int) -> None:
        """Let the program pause after a step, or never."""
        with self._lock:
            self.pause_at = step
            self._set()

    def _set(self) -> None:
        steps = [planned.step for planned in self._planned]
        self.next_step = min([*steps, self.pause_at])
        self.changed()
