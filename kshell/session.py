"""A session: names, settings, handles and streams, and the only way to run q text with them.

The prompt, scripts, Python callers and tests all use `Session.run`. Only QError (and QExit) leaves it.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, TextIO, TypeVar

import numpy as np

from kshell import registry
from kshell.errors import QError, QExit
from kshell.k_api import load_kapi
from kshell.lang.compiler.built_ins import prim
from kshell.lang.console.show import error_text, show_text
from kshell.lang.console.standard_input import Input
from kshell.lang.session import (
    assignment_hook,
    parse_tree,
    settings_commands,
    timer,
)
from kshell.lang.session.helpers import HELPERS
from kshell.lang.session.settings import Settings
from kshell.lang.verbs import connect
from kshell.session_job import JobMixin
from kshell.session_lines import LinesMixin
from kshell.session_port import PortMixin
from kshell.session_prompt import PromptMixin
from kshell.values.base.core import List, Value, text_of
from kshell.values.change.names import Names
from kshell.values.engine.apply import apply1
from kshell.values.session import context, interrupts, progress, restrict

R = TypeVar("R")
registry.load_package("kshell.lang")
registry.load_package("kshell.embedpy")


class Session(LinesMixin, JobMixin, PortMixin, PromptMixin):
    """One q session. `out` and `err` are its console streams, `args` the value of `.z.x`, `script` that of `.z.f`."""

    def __init__(
        self,
        out: TextIO | None = None,
        err: TextIO | None = None,
        args: list[str] | None = None,
        script: str = "",
    ) -> None:
        self.out, self.err = out, err
        self.args, self.script = args or [], script
        self.names = Names(self._add_api)
        self.names.builtins.update(HELPERS)
        assignment_hook.connect(self.names)
        known = registry.entries("name")
        self.names.builtins.update((e.name, e.fns[0]()) for e in known if e.name[0] != ".")
        self.settings = Settings()
        # made when a number is first drawn: numpy.random takes long to import
        self._generators: dict[bool, Any] = {}
        self._seed = abs(self.settings.S)
        self.input = Input()
        self.timer = timer.Timer()
        self.progress = progress.Line(self)
        self.log: Any = None  # the metrics log, if requested: kapi/train/logs.py
        # shows an image in a notebook (its bytes, and text to use instead)
        self.picture: Any = None
        # autosave, if requested: kapi/checkpoint/autosave.py
        self.autosave: Any = None
        self.pool: Any = None
        self.files: dict[int, Any] = {}
        self.ipc: Any = None  # connections to other processes, once there were any
        self.database: Any = None
        self._handles: Any = None
        # adds the prompt's notes to a value's text
        self.annotate: Callable[[str, Value], str] | None = None
        self.together: Any = None  # the console for several processes, if they share lines
        self._no_lines_yet()

    def limit_memory(self, megabytes: int = 0) -> None:
        """Make memory requests beyond this amount, or beyond what the machine has, fail with 'wsfull."""
        settings_commands.limit_memory(self.settings, megabytes)

    @property
    def rng(self) -> Any:
        """The random generator; peach threads have their own, and so do restricted evaluations, so that they do not
        affect the numbers drawn by others."""
        worker = context.worker()
        if worker is not None:
            return worker.rng
        restricted = bool(context.restricted())
        if restricted not in self._generators:
            seed = [self._seed, 1] if restricted else self._seed
            self._generators[restricted] = np.random.default_rng(seed)
        return self._generators[restricted]

    @rng.setter
    def rng(self, made: Any) -> None:
        self._generators[False] = made

    # ------------------------------------------------------------ what the packages below use
    def write(self, text: str) -> None:
        """Write text to the console."""
        if self.progress.shown:
            self.progress.erase()
        if text:
            self.progress.fresh = text[-1] == "\n"
        self.output.write(text)

    @property
    def output(self) -> TextIO:
        """The stream for shown values."""
        return self.out or sys.stdout

    @property
    def errors(self) -> TextIO:
        """The stream for errors and warnings."""
        return self.err or sys.stderr

    def warn(self, text: str) -> None:
        """Write text to standard error, after pending console output."""
        if self.progress.shown:
            self.progress.erase()
        self.output.flush()
        self.errors.write(text)
        self.errors.flush()

    def send(self, handle: int, args: Sequence[Value]) -> Value | None:
        """Write to a handle: text unchanged, or strings one per line; with a negative handle, line breaks are added."""
        if len(args) != 1:
            raise QError("rank")
        if handle == 0:
            return self.message(args[0])
        if abs(handle) not in (1, 2):
            return connect.send(handle, args)
        if context.restricted() == restrict.REVAL or (self.ipc is not None and self.ipc.client):
            restrict.refuse(f"handle {handle}")
        write = self.write if abs(handle) == 1 else self.warn
        x = args[0]
        ending = "\n" if handle < 0 else ""
        if isinstance(x, List):
            for item in x.items:
                write(text_of(item) + ending)
        else:
            write(text_of(x) + ending)
        return handle

    def message(self, x: Value) -> Value:
        """Evaluate a message to handle 0 through `.z.ps`, `.z.pg` or the verb value; with -l or -L it is logged, as one
        of a client."""
        updates = None if self.ipc is None else self.ipc.updates
        if updates is None or updates.busy or not updates.ready:
            return self._message(x)
        return updates.carry_out(x, lambda: self._message(x))

    def _message(self, x: Value) -> Value:
        for name in (".z.ps", ".z.pg"):
            handler = self.names.find(name)
            if handler is not None:
                return apply1(handler, x)
        return registry.known("verb", "value").fns[1](x)

    def receive(self, handle: int, n: int) -> bytes:
        """A line (n < 0), or up to n bytes, from the console (0) or an open pipe."""
        return connect.receive(handle, n)

    def show(self, x: Value) -> str:
        """The console's text of a value."""
        return show_text(x, self.settings)

    @property
    def handles(self) -> Any:
        """The k-api's handle table."""
        if self._handles is None:
            from kshell.kapi.base.handles import HandleTable

            self._handles = HandleTable()
        return self._handles

    def hold(self) -> interrupts.Hold:
        """A held section, `with session.hold():`: interrupts wait until it ends."""
        return interrupts.HOLD

    def interrupt(self, signum: int = 0, frame: FrameType | None = None) -> None:
        """Handle Ctrl-C (a signal handler): 'stop at once, or after work that must be completed first. Between lines
        there is nothing to stop. A second one within two seconds cannot be caught by a trap."""
        again, late = False, interrupts.is_late(signal.SIGINT)
        if not self._runs or (late and not interrupts.PENDING):
            return
        if not late:
            moment = time.monotonic()
            again, self._stopped = moment - self._stopped < 2, moment
        if not interrupts.must_wait(frame):
            raise KeyboardInterrupt(*["again"] * again)

    @property
    def was_stopped(self) -> bool:
        """Was the last error an interrupt?"""
        return self._stopped > 0 and self.last_error is not None and self.last_error.text == "stop"

    def terminate(self, signum: int = 0, frame: FrameType | None = None) -> None:
        """Handle SIGTERM (a signal handler): exit with 143, after work that must be completed first."""
        if interrupts.is_late(signum) and signum not in interrupts.PENDING:
            return
        if not interrupts.must_wait(frame, signum):
            raise QExit(interrupts.LEAVES)

    def _add_api(self, builtins: dict[str, Any]) -> None:
        """Make the k-api's functions known by name; importing them does not import torch."""
        with interrupts.HOLD, restrict.lifted():
            load_kapi()
            for entry in registry.entries("api"):
                builtins.setdefault(entry.name, prim(entry))

    # ------------------------------------------------------------ for callers in Python
    def __setitem__(self, name: str, x: Value) -> None:
        self.names.set(name, x)

    def __getitem__(self, name: str) -> Value:
        return self.names.get(name)

    def error_lines(self, error: QError) -> list[str]:
        """The console's report for an error: text, frames and carets."""
        return error_text(error)


parse_tree.connect()
