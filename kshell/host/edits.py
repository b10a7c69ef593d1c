"""Edits of a training program: each is carried out whole or not at all, and logged in a table and in a file of q that
can be replayed over a restart."""

from __future__ import annotations

import errno
import os
import time
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from kshell.errors import QError
from kshell.host.objects.changes import Before, Change
from kshell.host.objects.generators import Random
from kshell.host.objects.parts import local
from kshell.host.objects.replicas import Wrapped
from kshell.host.objects.trained import Trained
from kshell.host.steps import EPOCH
from kshell.values.base import types as T
from kshell.values.base.build import string
from kshell.values.base.core import NIL, List, Table, Value, Vec, sym_vec, text_of
from kshell.values.base.symbols import Sym

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


class Edits:
    """The log of edits. A session's port has it as its log of updates: it carries out each message."""

    ready = True  # messages are taken

    def __init__(
        self, session: Any, step: Callable[[], int], objects: Callable[[], dict[str, Any]]
    ) -> None:
        self.session, self.step, self.objects = session, step, objects
        self.done: list[Edit] = []
        self.user: Callable[[], str] = lambda: ""  # who is asking
        self.frozen = ""  # why nothing can be edited now; empty if it can
        self.path = os.environ.get("KSHELL_EDITS") or f"kshell-edits-{os.getpid()}.q"
        self.path = os.path.abspath(self.path)  # the program may change the folder
        self.busy = False  # is a message carried out?
        # in a job: plans a text in all processes, and gives the step; what is planned is carried out here
        self.everywhere: Callable[[str], int] | None = None
        self.carries_out = False  # is it what was planned that is carried out?
        self.digests: list[tuple[int, int]] = []  # of the last edits: step, digest
        self.needs: list[tuple[int, str]] = []  # what a replay of the edit must have carried out
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
        names = dict(self.session.names.spaces["."])
        objects = self.objects()
        before, wrapped, random = Before(objects), Wrapped(objects), Random()
        trained = Trained(objects)
        # before the first step a replay cannot be made at the same place, so numbers do not depend on it
        is_early = not self.frozen and self.step() == 0
        if is_early:
            random.seed(seed_of(0, text))
        self.busy, self.needs = True, []
        try:
            with wrapped.apart(), before.watching():
                out = work(*args)
            changes = before.changes()
            if changes and not self.frozen:  # in a forward call units have their parameters whole
                wrapped.check()
            if changes and self.everywhere is not None and not self.carries_out:
                self._put_back(changes, random, names)
                trained.measure()
                step = self.everywhere(text)
                self.session.warn(f"edit: after step {step}, in all processes\n")
                return NIL
            if changes:
                self.note(text, changes)
                trained.follow()
                wrapped.follow()
            if is_early or not changes:
                random.restore()
            return out
        except BaseException:
            self._put_back(before.changes(), random, names)
            trained.measure()
            raise
        finally:
            self.busy = False

    def _put_back(self, changes: list[Change], random: Random, names: dict[str, Any]) -> None:
        for change in reversed(changes):
            change.undo()
        random.restore()
        variables = self.session.names.spaces["."]
        variables.clear()
        variables.update(names)

    def note(self, text: str, changes: list[Change]) -> None:
        """Log an edit that was carried out; an error if nothing can be edited now, or if it cannot be logged."""
        if self.frozen:
            raise QError(f"edit: {self.frozen}", hint='plan it: .run.at[step;"text"]')
        edit = Edit(self._number, self.step(), time.time(), self.user(), text, changes)
        self._write(edit)
        self._number += 1
        self.done.append(edit)
        self.digests = [*self.digests[1 - UNDONE :], (edit.step, _digest(edit, self.objects()))]
        for old in self.done[-UNDONE - 1 : -UNDONE]:
            old.changes[:] = [c._replace(undo=_forgotten) for c in old.changes]

    def _write(self, edit: Edit) -> None:
        """Add an edit to the file before it counts; an error if it cannot be written."""
        stamp = time.strftime("%Y.%m.%dD%H:%M:%S", time.gmtime(edit.at))
        notes = [f"/ {stamp} {edit.user}: {_line(c)}\n" for c in edit.changes]
        calls = [
            f".run.at[{n};{quoted(text)}]\n" for n, text in (*self.needs, (edit.step, edit.text))
        ]
        if problem := _appended(self.path, "".join(notes + calls)):
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


def _appended(path: str, text: str) -> str:
    """Add a text to a file, whole or not at all; why it cannot be done, empty if it is."""
    data = text.encode("utf-8", "surrogateescape")
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            before = os.fstat(file).st_size
            # one call: other processes of a job may write the same file
            if os.write(file, data) == len(data):
                return ""
            os.ftruncate(file, before)
        finally:
            os.close(file)
    except OSError as e:
        return e.strerror or str(e)
    return os.strerror(errno.ENOSPC)


def seed_of(step: int, text: str) -> int:
    """The seed of the random numbers of an edit that is to draw the same ones wherever it is made."""
    return zlib.crc32(f"{step} {text}".encode("utf-8", "surrogateescape"))


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


def _digest(edit: Edit, objects: dict[str, Any]) -> int:
    """A number that is the same in processes in which an edit did the same, and whose whole parameters are alike."""
    words = [f"{change.where} {change.after}" for change in edit.changes]
    sharded = False
    for name, module in objects.items():
        for p in module.parameters() if hasattr(module, "named_modules") else ():
            sharded = sharded or hasattr(p, "placements")
            if not sharded:
                words.append(f"{name} {local(p).detach().double().sum().item():.17g}")
    if sharded:  # each process has other parts, with other norms
        words = [change.where for change in edit.changes]
    return zlib.crc32("\n".join(words).encode())


def _line(change: Change) -> str:
    text = f"{change.where}: {change.before} -> {change.after}"
    return " ".join(text.split())


def quoted(text: str) -> str:
    """A text as a string of q, on one line."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(escapes.get(c, c) for c in text) + '"'
