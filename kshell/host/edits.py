"""Edits of a training program: each is carried out whole or not at all, and logged in a table and in a file of q that
can be replayed over a restart."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kshell.errors import QError
from kshell.host.changes import Before, Change
from kshell.host.steps import EPOCH
from kshell.values.base import types as T
from kshell.values.base.build import string
from kshell.values.base.core import List, Sym, Table, Value, Vec, sym_vec, text_of

UNDONE = 20  # edits that can be undone: copies of what they wrote are kept
OWN = ".run."  # functions of kshell's own, which a client calls by name


class Edit(NamedTuple):
    """One edit that was carried out."""

    number: int
    step: int
    at: float  # seconds since 1970
    user: str
    text: str
    changes: list[Change]


class Planned(NamedTuple):
    """An edit for the safe point after a step."""

    step: int
    user: str
    text: str


class Edits:
    """The log of edits. A session's port has it as its log of updates: it carries out each message."""

    ready = True  # messages are taken

    def __init__(
        self, session: Any, step: Callable[[], int], objects: Callable[[], dict[str, Any]]
    ) -> None:
        self.session, self.step, self.objects = session, step, objects
        self.done: list[Edit] = []
        self.planned: list[Planned] = []
        self.user: Callable[[], str] = lambda: ""  # who is asking
        self.frozen = ""  # why nothing can be edited now; empty if it can
        self.path = os.environ.get("KSHELL_EDITS") or f"kshell-edits-{os.getpid()}.q"
        self.path = os.path.abspath(self.path)  # the program may change the folder
        self.busy = False  # is a message carried out?
        self._number = 0

    # ------------------------------------------------------------ carrying out

    def carry_out(self, message: Value, work: Callable[..., Value], *args: Any) -> Value:
        """work(*args), which carries out a client's message; if it changes an object of the program it is an edit."""
        if self.busy or _is_own(message):
            return work(*args)
        return self.attempt(_text(message, self.session), work, *args)

    def attempt(self, text: str, work: Callable[..., Any], *args: Any) -> Any:
        """work(*args), which a text asks for. What it changed is undone if it fails, else logged as an edit; random
        numbers that it drew are drawn again if it changed nothing."""
        if self.busy:
            return work(*args)
        variables = self.session.names.spaces["."]
        names = dict(variables)
        before, random = Before(self.objects()), _Random()
        self.busy = True
        try:
            with before.watching():
                out = work(*args)
            changes = before.changes()
            if changes:
                self.note(text, changes)
            else:
                random.restore()
            return out
        except BaseException:
            for change in reversed(before.changes()):
                change.undo()
            random.restore()
            variables.clear()
            variables.update(names)
            raise
        finally:
            self.busy = False

    def note(self, text: str, changes: list[Change]) -> None:
        """Log an edit that was carried out; an error if nothing can be edited now, or if it cannot be logged."""
        if self.frozen:
            raise QError(f"edit: {self.frozen}", hint='plan it: .run.at[step;"text"]')
        edit = Edit(self._number, self.step(), time.time(), self.user(), text, changes)
        self._write(edit)
        self._number += 1
        self.done.append(edit)
        for old in self.done[-UNDONE - 1 : -UNDONE]:
            old.changes[:] = [c._replace(undo=_forgotten) for c in old.changes]

    def _write(self, edit: Edit) -> None:
        """Add an edit to the file before it counts; an error if it cannot be written."""
        stamp = time.strftime("%Y.%m.%dD%H:%M:%S", time.gmtime(edit.at))
        notes = [f"/ {stamp} {edit.user}: {_line(c)}\n" for c in edit.changes]
        problem = ""
        try:
            with open(
                os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                "a",
                encoding="utf-8",
            ) as file:
                file.write("".join(notes) + f".run.at[{edit.step};{quoted(edit.text)}]\n")
            return
        except OSError as e:
            problem = e.strerror or str(e)
        raise QError(f"{self.path}. OS reports: {problem}")

    def checkpoint(self) -> None:
        """`\\l` without a file: there is no log of messages that it could empty."""
        raise QError("\\l: the log of edits is kept whole")

    # ------------------------------------------------------------ undoing

    def undo(self, count: int) -> int:
        """Put back what the last edits changed, the last one first; that is an edit itself."""
        if not 0 < count <= min(len(self.done), UNDONE):
            raise QError(f"undo: expected 1 to {min(len(self.done), UNDONE)} edits, given {count}")
        undone = self.done[-count:]

        def work() -> None:
            for edit in reversed(undone):
                for change in reversed(edit.changes):
                    change.undo()

        self.attempt(f".run.undo {count}", work)
        return count

    # ------------------------------------------------------------ planning

    def plan(self, step: int, text: str, user: str) -> None:
        """Carry out a text at the safe point after a step; it must not be over."""
        if step <= self.step() and self.step():
            raise QError(f"at: step {step} is over: the last one was {self.step()}")
        self.planned.append(Planned(step, user, text))
        self.planned.sort(key=lambda planned: planned.step)

    @property
    def next_step(self) -> int | None:
        """The step after which something is planned."""
        return self.planned[0].step if self.planned else None

    def due(self) -> list[Planned]:
        """What is planned for now, removed."""
        now = self.step()
        found = [planned for planned in self.planned if planned.step <= now]
        self.planned = [planned for planned in self.planned if planned.step > now]
        return found

    # ------------------------------------------------------------ asking

    def table(self) -> Table:
        """A row for each change of each edit."""
        rows = [(edit, change) for edit in self.done for change in edit.changes]
        times = np.array([round((edit.at - EPOCH) * 1e9) for edit, _ in rows], np.int64)
        columns: dict[str, Vec | List | Table] = {
            "edit": Vec(T.J, np.array([edit.number for edit, _ in rows], np.int64)),
            "step": Vec(T.J, np.array([edit.step for edit, _ in rows], np.int64)),
            "time": Vec(T.P, times),
            "user": sym_vec([edit.user for edit, _ in rows]),
            "text": List([string(edit.text) for edit, _ in rows]),
            "what": List([string(change.where) for _, change in rows]),
            "before": List([string(change.before) for _, change in rows]),
            "after": List([string(change.after) for _, change in rows]),
        }
        return Table(list(columns), list(columns.values()))


class _Random:
    """The states of torch's random generators."""

    def __init__(self) -> None:
        import torch

        self.generators = [torch.default_generator]
        if torch.cuda.is_initialized():
            self.generators += torch.cuda.default_generators
        self.states = [generator.get_state() for generator in self.generators]

    def restore(self) -> None:
        for generator, state in zip(self.generators, self.states, strict=True):
            generator.set_state(state)


def _forgotten() -> None:
    raise QError(f"undo: only the last {UNDONE} edits can be undone")


def _is_own(message: Value) -> bool:
    first = message.items[0] if message.__class__ is List and message.items else None
    return isinstance(first, Sym) and first.s.startswith(OWN)


def _text(message: Value, session: Any) -> str:
    """The text that does what a message asks for."""
    if message.__class__ is Vec and message.t == T.C:
        return text_of(message)
    return f"value {session.show(message)}"


def _line(change: Change) -> str:
    text = f"{change.where}: {change.before} -> {change.after}"
    return " ".join(text.split())


def quoted(text: str) -> str:
    """A text as a string of q, on one line."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(c, c) for c in text) + '"'
