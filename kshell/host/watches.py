"""Watches: conditions that are looked at after each step."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.build import string
from kshell.values.base.core import List, Table, Value, Vec, is_atom, raw, sym_vec

FINITE = "finite"  # the condition that is kshell's own


class Watch:
    """A condition in q and what to do when it holds: once, until it has been false again."""

    def __init__(self, name: str, condition: str, action: str) -> None:
        self.name, self.condition, self.action = name, condition, action
        self.holds = False
        self.fired = 0
        self.step = 0  # the last one at which it fired
        self.problem = ""  # why the condition could not be evaluated


class Watches:
    """The conditions, by name."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.known: dict[str, Watch] = {}
        self.tell = tell  # a line for the log

    def add(self, name: str, condition: str, action: str) -> None:
        """Watch a condition from now on, in the place of one of the same name."""
        self.known[name] = Watch(name, condition, action)

    def remove(self, name: str) -> None:
        """Watch it no more; an error if there is none."""
        if self.known.pop(name, None) is None:
            raise QError(
                f"unwatch: {name}: no such watch",
                hint=f"there are {', '.join(self.known) or 'none'}",
            )

    @property
    def conditions(self) -> list[Watch]:
        """Those in q."""
        return [watch for watch in self.known.values() if watch.condition != FINITE]

    @property
    def finite(self) -> Watch | None:
        """The one of values that are not finite."""
        return next((w for w in self.known.values() if w.condition == FINITE), None)

    def look(self, step: int, evaluate: Callable[[str], Value]) -> list[Watch]:
        """Evaluate the conditions; those that hold now and did not before."""
        fired = []
        for watch in self.conditions:
            try:
                holds, watch.problem = _is_true(evaluate(watch.condition)), ""
            except QError as e:
                holds = False
                if watch.problem != e.text:
                    self.tell(f"step {step}: watch {watch.name}: '{e.text}")
                watch.problem = e.text
            if holds and not watch.holds:
                watch.fired, watch.step = watch.fired + 1, step
                fired.append(watch)
            watch.holds = holds
        return fired

    def table(self) -> Table:
        """A row for each."""
        watches = list(self.known.values())
        columns: dict[str, Vec | List | Table] = {
            "name": sym_vec([w.name for w in watches]),
            "condition": List([string(w.condition) for w in watches]),
            "action": List([string(w.action) for w in watches]),
            "fired": Vec(T.J, np.array([w.fired for w in watches], np.int64)),
            "step": Vec(
                T.J, np.array([w.step if w.fired else T.NULL[T.J] for w in watches], np.int64)
            ),
            "problem": List([string(w.problem) for w in watches]),
        }
        return Table(list(columns), list(columns.values()))


def _is_true(x: Value) -> bool:
    """The truth of a condition's value: an atom, as in `if`."""
    if not is_atom(x):
        raise QError("type", hint="a condition is an atom, such as any 0<..")
    return bool(raw(x))
