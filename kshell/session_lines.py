"""The side of a session that runs q text: lines, scripts, what the debugger has suspended, and what an error becomes.

Only QError (and QExit) leaves it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from io import TextIOBase
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import numpy as np

from kshell import registry
from kshell.errors import BALLAST, QError, QExit, Source, as_qerror, first_line
from kshell.lang.compiler import code_cache, hints, stepwise
from kshell.lang.compiler.built_ins import is_infix
from kshell.lang.compiler.code_objects import with_frames
from kshell.lang.compiler.compile import check_stores, compile_statement
from kshell.lang.console import locked
from kshell.lang.names import k_texts
from kshell.lang.session import commands, debugger, loading, resume, timer
from kshell.lang.session.known_texts import KnownTexts
from kshell.lang.session.views import statement as view_statement
from kshell.parse import parse, split_script
from kshell.parse import tree as N
from kshell.values.base import types as T
from kshell.values.base.build import string
from kshell.values.base.core import NIL, Value, Vec, text_of
from kshell.values.change.names import Names
from kshell.values.engine.apply import apply1
from kshell.values.session import context, interrupts, memory, progress, restrict, streams

if TYPE_CHECKING:
    from kshell.lang.session.settings import Settings

R = TypeVar("R")


class LinesMixin:
    """The part of a session that runs q text."""

    if TYPE_CHECKING:
        names: Names
        settings: Settings
        progress: progress.Line
        autosave: Any
        ipc: Any
        annotate: Callable[[str, Value], str] | None
        _handles: Any

        out: TextIO | None
        err: TextIO | None

        def write(self, text: str) -> None: ...
        def warn(self, text: str) -> None: ...
        def show(self, x: Value) -> str: ...

    def _no_lines_yet(self) -> None:
        """Initialize the state of running lines."""
        self.last_error: QError | None = None
        self.scripts: list[str] = []  # scripts being loaded
        self.keeps_code = False  # is the code cache used?
        self._texts = KnownTexts()
        self._kept: code_cache.Kept | None = None  # the code cache of the script being loaded
        self._runs = 0  # active calls of `run`
        self._stopped = -9.0  # time of the last interrupt
        self.read_only = False  # are lines evaluated under reval?
        # does it belong to a program, which its clients' `exit` does not end? The kshell command's own does not
        self.hosted = True
        self.interactive = False  # is this the session of a prompt on a terminal?
        self.warned: set[Any] = set()  # subjects of warnings already given
        self.suspended: list[debugger.Suspension] = []  # suspensions by errors, the latest on top
        self._going_on: debugger.Suspension | None = None  # the suspension being resumed

    def run(self, text: str, file: str = "", line: int = 0, show: bool = False) -> Value:
        """Run q text, statement by statement, and return the last value (:: if its statement ends in a semicolon).

        With `show`, values are printed as on the console. Every error is a QError with the q frames it passed through.
        """
        return (self._asked if self.read_only else self._guarded)(self._run, text, file, line, show)

    __call__ = run

    def enter(self, line: str) -> None:
        """Handle a line typed at the console: if `.z.pi` is assigned, it is called with the line including the line
        break, and the text it returns is printed; else the line is run and its values are printed."""
        if self.names.find(".z.pi") is None:
            self.run(line, show=True)
        else:
            self._asked(self._enter, line)

    def _enter(self, line: str) -> Value:
        result = apply1(self.names.get(".z.pi"), string(line + "\n"))
        if result is not NIL:
            self.write(
                text_of(result)
                if result.__class__ is Vec and result.t == T.C
                else self.show(result) + "\n"
            )
        return NIL

    def tick(self) -> None:
        """Call `.z.ts` when due; errors are as for `run`."""
        self._guarded(timer.tick)

    def run_suspended(self, text: str, show: bool = True) -> Value:
        """Run a line at the debugger's current level, with its local variables; values are printed, unless `show` is
        false. Returns the last one."""
        return self._asked(self._run_suspended, self.suspended[-1].level, text, show)

    def _run_suspended(self, level: debugger.Level, text: str, show: bool) -> Value:
        source = Source(text)
        return self._run_level(level, iter(parse(text, is_infix, source)), source, show)

    def _run_level(
        self,
        level: debugger.Level,
        nodes: Iterator[Any],
        source: Source,
        show: bool,
        value: Value = NIL,
    ) -> Value:
        before, self.names.current = self.names.current, level.space
        try:
            for node in nodes:
                value = (
                    self._statement(node, source)
                    if not isinstance(node, N.Statement)
                    else level.run(self._compile(node.expr, source), self.names)
                )
                value = self._shown(node, value, show, False)
        finally:
            self.names.current = before
        return value

    def go_on(self, value: Value) -> None:
        """Continue after the error shown by the debugger, with a value in place of the failed call."""
        suspension = self._going_on = self.suspended.pop()
        try:
            self._asked(suspension.go_on, value)
        finally:
            self._going_on = None

    def run_script(self, path: str) -> None:
        """Run a script file from outside q; errors are as for `run`."""
        self._guarded(loading.load, path)

    def at_exit(self, code: int) -> None:
        """Call `.z.exit` with the exit code; errors are as for `run`."""
        if self.names.find(".z.exit") is not None:
            self._guarded(commands.call_exit, code)

    def _asked(self, work: Callable[..., Value], *args: Any) -> Value:
        """Do work requested by the user: restricted, if the session is read-only. The timer and handlers are not
        restricted."""
        if not self.read_only:
            return self._guarded(work, *args)
        check_stores(self.names)
        return self._guarded(self._restricted, work, *args)

    def _restricted(self, work: Callable[..., Value], *args: Any) -> Value:
        with restrict.restriction(restrict.READ_ONLY):
            return work(*args)

    def _guarded(self, work: Callable[..., R], *args: Any) -> R:
        outer = not self._runs
        if outer:
            self.progress.begin()
            if self.autosave is not None:
                self.autosave.begin()
        before, stepwise.DEBUGGED[0] = stepwise.DEBUGGED[0], self._debugs()
        value: Any = None
        token: Any = None
        own: Any = None
        if outer and (self.out is not None or self.err is not None):
            own = streams.redirect(
                self.write if isinstance(self.out, TextIOBase) else None,
                self.warn if isinstance(self.err, TextIOBase) else None,
            )
        self._runs += 1  # from here on, interrupts wait
        try:
            token = context.enter(self)  # type: ignore[arg-type]
            if outer:
                interrupts.begin()
            memory.recover()
            with np.errstate(all="ignore"):  # q's arithmetic gives infinities and nulls
                value = interrupts.stoppable(work, *args)
            if interrupts.PENDING:
                interrupts.wake(interrupts.carried_out("the line"))
            return value
        except QExit:
            raise
        except BaseException as e:
            error, missing = _error_of(e)
            tb, value = e.__traceback__, None
        finally:
            stepwise.DEBUGGED[0] = before
            if token is not None:
                context.leave(token)
            self._runs -= 1
            if own is not None:
                streams.restore(own)
            if outer:
                self.progress.end()
                if self.autosave is not None:
                    self.autosave.end()
                interrupts.forget()
        self._explain(error, tb, missing)
        # the frames hold torch objects
        error.__traceback__ = error.__context__ = error.__cause__ = tb = None
        self.last_error = error
        raise error

    def _debugs(self) -> bool:
        """Do errors suspend the work they pass through?"""
        return self.interactive and bool(self.settings.debug)

    def _explain(self, error: QError, tb: Any, missing: str) -> None:
        """Add to an error its frames and, at the outermost level, a hint; the prompt may suspend the work."""
        with_frames(error, tb, missing)
        if self._runs:
            return
        has_handles = bool(self._handles is not None and self._handles.live)
        error.hint = hints.hint_of(error, tb, self.names, has_handles)
        if self._debugs() and error.text not in debugger.NEVER:
            self.suspended += debugger.suspension(error, tb, self.names, self._going_on)

    def _run(self, text: str, file: str, line: int, show: bool, scripted: bool = False) -> Value:
        """Parse, compile and run. In a script, only the results of system commands are shown."""
        source = Source(text, file, line)
        return self._run_nodes(iter(parse(text, is_infix, source)), source, show, scripted)

    def _run_nodes(
        self, nodes: Iterator[Any], source: Source, show: bool, scripted: bool, value: Value = NIL
    ) -> Value:
        """Run statements; returns the value of the last one, or `value` if there are none."""
        last_node: Any = None
        for node in nodes:
            if scripted:
                self._between()
            if self.ipc is not None:
                self.ipc.between(True)
            deferred = interrupts.HOLD.depth or interrupts.HOLD.others
            interrupts.EDITED[0] = ""
            try:
                value = (
                    interrupts.stoppable(self._statement, node, source)
                    if deferred
                    else self._statement(node, source)
                )
            except KeyboardInterrupt as stop:
                interrupts.said(
                    stop,
                    interrupts.EDITED[0]
                    or ("" if last_node is None else _carried_out(last_node, source)),
                )
                raise
            if interrupts.PENDING:
                interrupts.wake(_carried_out(node, source))
            try:
                value = self._shown(node, value, show, scripted)
            except KeyboardInterrupt as stop:  # interrupted while printing
                stop.__dict__["note"] = _carried_out(node, source)
                raise
            last_node = node
        return value

    def _shown(self, node: N.Node, value: Value, show: bool, scripted: bool) -> Value:
        """A statement's value, :: if it ends in a semicolon; printed if requested."""
        if isinstance(node, N.Statement) and not node.show:
            return NIL
        if (show or (scripted and isinstance(node, N.Command))) and value is not NIL:
            interrupts.stoppable(self._print, value)
        return value

    def _print(self, value: Value) -> None:
        text = self.show(value)
        self.write((text if self.annotate is None else self.annotate(text, value)) + "\n")

    def _between(self) -> None:
        """Between two statements of a script: the same as between two lines."""
        self.progress.begin()
        if self.autosave is not None:
            self.autosave.between()

    def _statement(self, node: N.Line, source: Source) -> Value:
        if isinstance(node, N.Command):
            return commands.run(node.text)
        if isinstance(node, N.Prefixed):
            return self._foreign(node)
        code = node.code or self._compile(node.expr, source)
        if node.keeps:
            node.code = code
        try:
            return code()
        except MemoryError:
            # here, where an error takes no memory on its way out: without any, CPython 3.11 goes round for ever in a
            # `with` or `finally` beyond a function's first 256 instructions
            BALLAST.clear()
            raise

    def _compile(self, expr: N.Node, source: Source) -> Callable[[], Value]:
        compile_: Callable[..., Callable[[], Value]] = (
            view_statement if expr.__class__ is N.View else compile_statement
        )
        if self._kept is None or not source.file:
            return compile_(expr, source, self.names)
        with self._kept:
            return compile_(expr, source, self.names)

    def _foreign(self, node: N.Prefixed) -> Value:
        """A line in another language, `k)...`: passed to a registered handler; else answered, if it is one of the few
        known texts in k, or rejected."""
        entry = registry.find("handler", node.letter)
        if entry is not None:
            return entry.fns[1](node.text)
        handler = self.names.find(f".{node.letter}.e")
        if handler is None:
            text = k_texts.q_text(f"{node.letter}){node.text}")
            if text is not None:
                return self.evaluate(text)
            raise QError(f"{node.letter}) code is not supported")
        return apply1(handler, string(node.text))

    def evaluate(self, text: str) -> Value:
        """The value of q text, for verbs that run text (`value`, `.`); errors keep their frames. A line break
        in it is a blank."""
        source, nodes = self._texts.parsed(text, self.names)
        return self._run_nodes(iter(nodes), source, False, False)

    def load(self, path: str) -> Value:
        """Run a script file. Relative paths start at the current folder."""
        try:
            with open(path, "rb") as file:
                content = file.read()
            problem = ""
        except OSError as e:
            content, problem = b"", e.strerror or "cannot be read"
        if problem:
            raise QError(f"{path}. OS reports: {problem}")
        plain = locked.read(content)
        lines = iter(split_script(plain.decode("utf-8", "surrogateescape")))
        return self._load(
            path, lines, code_cache.of(content) if self.keeps_code and plain is content else None
        )

    def _load(
        self, path: str, lines: Iterator[tuple[int, str]], kept: Any, space: str = ""
    ) -> Value:
        """Run the lines of a script, or the remaining ones, in a namespace if given."""
        # f.t is a script of t) lines
        letter = path[-1] if path[-2:-1] == "." and path[-1] != "q" else ""
        before, full_path = self.names.current, os.path.abspath(path)
        outer, depth, last_line = self._kept, len(self.scripts), 0
        try:
            try:
                self._kept, self.names.current = kept, space or before
                self.scripts.append(path)
                for line, text in lines:
                    if letter and text[1:2] != ")":
                        self._foreign(N.Prefixed(letter, text, 0, len(text)))
                    else:
                        self._run(text, full_path, line, False, True)
                    last_line = line
            finally:
                with interrupts.HOLD:
                    space, self.names.current = self.names.current, before
                    del self.scripts[depth:]
                    if self._kept is not None:
                        self._kept.save()
                    self._kept = outer
        except KeyboardInterrupt as stop:
            interrupts.said(
                stop, interrupts.carried_out(path) + f" up to line {last_line}" if last_line else ""
            )
            raise
        return NIL

    def _go_on_nodes(self, at: dict[str, Any], value: Value) -> Value:
        value = self._shown(at["node"], value, at["show"], at["scripted"])
        return self._run_nodes(at["nodes"], at["source"], at["show"], at["scripted"], value)

    def _go_on_level(self, at: dict[str, Any], value: Value) -> Value:
        value = self._shown(at["node"], value, at["show"], False)
        return self._run_level(at["level"], at["nodes"], at["source"], at["show"], value)


def _error_of(e: BaseException) -> tuple[QError, str]:
    """An exception as a q error, and for a NameError the name without a value."""
    if isinstance(e, KeyboardInterrupt):  # one sent again after the last statement ended
        interrupts.said(e, interrupts.EDITED[0])
    error = as_qerror(e)
    return error, error.text if isinstance(e, NameError) else ""


def _carried_out(node: N.Node, source: Source) -> str:
    """The note for an interrupt that comes when a statement has ended."""
    return interrupts.carried_out(first_line(source.text[node.start : node.end], 60))


interrupts.whole(LinesMixin._guarded.__code__, LinesMixin._run_nodes.__code__)
interrupts.opens(LinesMixin._statement.__code__)
# how the Python functions here that run between q functions continue when the debugger supplies a result
resume.CONTINUED.update(
    {
        LinesMixin._guarded.__code__: None,
        interrupts.stoppable.__code__: None,
        interrupts.called.__code__: None,
        debugger.Suspension.go_on.__code__: None,
        commands.run.__code__: None,
        debugger.Level.run.__code__: lambda at, x: at["self"].take(
            x, at["seen"], at["before"], at["names"]
        ),
        LinesMixin._run_nodes.__code__: lambda at, x: at["self"]._go_on_nodes(at, x),
        LinesMixin._run_level.__code__: lambda at, x: at["self"]._go_on_level(at, x),
        LinesMixin._load.__code__: lambda at, _: at["self"]._load(
            at["path"], at["lines"], None, at["space"]
        ),
    }
)
