"""The log of updates: what clients changed, in a file that is replayed at the next start (`-l`, `-L`)."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from typing import Any

from kshell.errors import QError
from kshell.store import atomic, codec, kdb, tails, unfinished
from kshell.values.base import types as T
from kshell.values.base.core import Dict, List, Value, Vec, seq_items, sym_names, sym_vec
from kshell.values.change.names import Names, is_helper
from kshell.values.session import interrupts

_EMPTY = kdb.GENERAL + codec.encode(List([]), file=True)  # a log without messages


class Updates:
    """The log of updates of a session: `NAME.log`, beside the checkpoint `NAME.qdb`. A message is logged if it changed
    a variable of the root, before it is answered; one that fails is undone."""

    def __init__(self, names: Names, base: str, synced: bool) -> None:
        self.names, self.synced = names, synced
        base = os.path.abspath(base.removesuffix(".q"))  # the console may change the folder
        self.log, self.checkpoint_file = f"{base}.log", f"{base}.qdb"
        self.ready = False  # was the log replayed? Until then no message is taken
        self._before: list[dict[str, Any]] = []  # the variables before each message in progress
        self._fd = -1

    # ------------------------------------------------------------ at start

    def replay(self, work: Callable[[Value], Any]) -> int:
        """Bring back the variables of the checkpoint, then do work(message) for each message of the log; how many bytes
        of an incomplete message at its end were cut off."""
        if unfinished.there(self.checkpoint_file):
            saved = kdb.read(self.checkpoint_file)
            if saved.__class__ is not Dict or saved.k.__class__ is not Vec or saved.k.t != T.S:
                raise QError(f"{self.checkpoint_file}: expected a dictionary of variables")
            for name, x in zip(sym_names(saved.k), seq_items(saved.v), strict=True):
                self.names.set(name, x)
        removed = self._open()
        count = 0
        problem = None
        for message in kdb.records(kdb.contents(self.log)):
            count += 1
            try:
                work(message)
            except QError as e:
                problem = e.text
                break
        if problem is not None:
            raise QError(f"{self.log}: message {count}: {problem}")
        self.ready = True
        return removed

    def _open(self) -> int:
        """Open the log, made if it is not there, for this process alone; how many bytes were cut off."""
        problem: OSError | None = None
        try:
            self._fd = os.open(self.log, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            removed = tails.mend_log(self._fd, self.log)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.fstat(self._fd).st_size:
                tails.added(self._fd, _EMPTY)
            return removed
        except BlockingIOError:
            raise QError(f"{self.log}: another process has it open") from None
        except OSError as e:
            problem = e
        raise QError(f"{self.log}. OS reports: {problem.strerror}")

    def close(self) -> None:
        """Let another process have the log."""
        if self._fd >= 0:
            os.close(self._fd)
        self.ready, self._fd = False, -1

    # ------------------------------------------------------------ a message

    @property
    def _variables(self) -> dict[str, Any]:
        return self.names.spaces["."]

    @property
    def busy(self) -> bool:
        """Is a message being carried out?"""
        return bool(self._before)

    def carry_out(self, message: Value, work: Callable[..., Value], *args: Any) -> Value:
        """work(*args), which carries out the message; it is logged if it changed a variable, and undone if it failed,
        or if it cannot be logged."""
        variables = self._variables
        before = dict(variables)  # a value that is also held here is not changed in place
        self._before.append(before)
        logged = False
        try:
            out = work(*args)
            changed = _changed(before, variables)
            with interrupts.HOLD:
                if changed:
                    self._add(message)
                logged = True
        except BaseException:
            if not logged and _changed(before, variables):
                variables.clear()
                variables.update(before)
            raise
        finally:
            self._before.pop()
        # what is logged is not undone with the message that it came in between of
        for outer in self._before:
            for name in changed:
                outer.pop(name, None)
                if name in variables:
                    outer[name] = variables[name]
        return out

    def _add(self, message: Value) -> None:
        problem: OSError | None = None
        try:
            tails.added(self._fd, codec.encode(message, file=True))
            if self.synced:
                os.fdatasync(self._fd)
            return
        except OSError as e:
            problem = e
        raise QError(f"{self.log}. OS reports: {problem.strerror}")

    # ------------------------------------------------------------ \l

    def checkpoint(self) -> None:
        """Save the variables of the root, and empty the log: both or neither, whatever happens meanwhile."""
        if self.busy:
            raise QError("\\l: a client's message is being carried out")
        found = {
            name: x for name, x in self._variables.items() if not is_helper(name) and name[0] != "."
        }
        for name, x in found.items():
            _check(name, x)
        saved = Dict(sym_vec(list(found)), List(list(found.values())))
        parts = kdb.files_of(self.checkpoint_file, saved)
        files = [(path, atomic.filling(content)) for path, content in parts]
        atomic.write_all([*files, (self.log, atomic.filling([_EMPTY]))])
        os.close(self._fd)  # of the file that the new one replaced
        self._open()


def _check(name: str, x: Value) -> None:
    """An error that names a variable which no file can hold, such as a tensor."""
    problem = ""
    try:
        codec.encode(x, file=True)
        return
    except QError as e:
        problem = e.text
    raise QError(f"\\l: {name} cannot be saved: {problem}")


def _changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """The names whose values are others."""
    return {
        name for name in before.keys() | after.keys() if before.get(name) is not after.get(name)
    }
