"""The debugger: inspect what an error stopped, level by level, with the local variables.

The functions have ended when the debugger opens; their variables and the points of failure are saved. To continue,
`lang/session/resume.py` builds the rest of each function from these.
"""

from __future__ import annotations

import ast
from contextlib import nullcontext
from inspect import CO_VARARGS
from types import FrameType, FunctionType, TracebackType
from typing import Any

from kshell.errors import Frame, QError
from kshell.lang.compiler import code_objects
from kshell.lang.compiler.built_ins import prim
from kshell.lang.console import error_report
from kshell.lang.session import resume
from kshell.values.base.core import NIL, Value
from kshell.values.change.names import Names
from kshell.values.session.restrict import RESTRICTING, restriction

# errors that open no debugger: out of memory, or stopped on request
NEVER = ("stop", "wsfull", "stack")


class Level:
    """One level: where it failed, its local variables by name, and its namespace; the rest of the function, and what is
    done with its result before it reaches the caller."""

    __slots__ = ("after", "before", "frame", "locals", "rest", "space")

    def __init__(self, frame: Frame, ran: FrameType | None, space: str) -> None:
        self.frame, self.space = frame, space
        variables = {} if ran is None or ran.f_code.co_name == "_s" else ran.f_locals
        self.locals = {
            key.removeprefix("_l_"): value
            for key, value in variables.items()
            if key[0] != "_" or key.startswith("_l_")
        }
        self.rest: resume.Rest | None = None
        self.before: list[resume.Stuck] = []  # the query in which it failed
        self.after: list[resume.Step | resume.Stuck] = []

    @property
    def top(self) -> bool:
        """Is it a top-level line rather than a function?"""
        return self.rest is None or self.rest.code.co_name == "_s"

    def stuck(self) -> bool:
        """Is it unable to continue?"""
        return (
            bool(self.before)
            or (self.rest is not None and self.rest.failed() is None)
            or any(isinstance(step, resume.Stuck) for step in self.after)
        )

    def go_on(self, value: Value) -> Value:
        """Run the rest with the current values of the variables, and return the result."""
        if self.rest is None:
            return value
        for local in self.rest.locals:
            name = local.removeprefix("_l_")
            if name in self.locals:
                self.rest.locals[local] = self.locals[name]
        return self.rest(value)

    def run(self, fn: Any, names: Names) -> Value:
        """The value of a compiled statement that sees the level's variables before the globals.

        Assignments to them stay in the level; assignments to other names are global.
        """
        if not isinstance(fn, FunctionType):
            return fn()
        seen = {**fn.__globals__, **self.locals}
        before = dict(seen)
        return self.take(
            FunctionType(fn.__code__, seen, fn.__name__, fn.__defaults__, fn.__closure__)(),
            seen,
            before,
            names,
        )

    def take(
        self, value: Value, seen: dict[str, Any], before: dict[str, Any], names: Names
    ) -> Value:
        """Store a statement's assignments; returns its value."""
        for name, assigned in seen.items():
            if name in self.locals:
                self.locals[name] = assigned
            elif before.get(name) is not assigned:
                names.set(name, assigned, self.space)
        return value


class Suspension:
    """An error and the levels that it passed, innermost first; `at` is the current level. `given` are the arguments of
    the failed call. With `restricted`, the error came from inside `reval`, and the rest continues under `reval` too."""

    __slots__ = ("at", "coming", "error", "given", "levels", "restricted")

    def __init__(
        self, error: QError, levels: list[Level], given: list[Value], restricted: bool = False
    ) -> None:
        self.restricted = restricted
        self.error, self.levels, self.at, self.given = error, levels, 0, given
        self.coming: tuple[list[Level], list[resume.Step]] = [], []

    def failed(self) -> tuple[Value, list[Value]]:
        """The verb or function that failed, with its arguments; :: if what failed was not a call of one."""
        remainder = self.levels[0].rest
        failure = None if remainder is None or not self.given else remainder.failed()
        function = (
            failure[1].func if failure is not None and isinstance(failure[1], ast.Call) else None
        )
        name = function.id if isinstance(function, ast.Name) else ""
        if name in ("_ap1", "_ap2", "_ap", "_amended"):
            return self.given[0], self.given[1:]
        if name == "_result":  # of a Python function, which had raised an exception
            return self.given[0], self.given[2:]
        entry = resume.verb_called(name)
        return (NIL, []) if entry is None else (prim(entry), self.given)

    @property
    def level(self) -> Level:
        return self.levels[self.at]

    def lines(self, whole: bool = False) -> list[str]:
        """The lines of the current level, after the error's text if `whole`."""
        lines = ["'" + self.error.text] if whole else []
        return lines + error_report.frame_lines(self.level.frame, len(self.levels) - 1 - self.at)

    def backtrace(self) -> str:
        """The lines of all levels, with >> before the current one."""
        lines = error_report.stack_lines([level.frame for level in self.levels])
        number = f"  [{len(self.levels) - 1 - self.at}]"
        return "".join(
            (">>" + line[2:] if line.startswith(number) else line) + "\n" for line in lines
        )

    def move(self, by: int) -> None:
        """Move to the caller (1), or back (-1); does nothing at the ends."""
        self.at = min(max(self.at + by, 0), len(self.levels) - 1)

    def cut(self, text: str) -> QError | None:
        """Signal an error from the innermost level, which is removed; returns the error, or None if there are levels
        left to inspect."""
        error = QError(text)
        self.levels = self.levels[1:]
        error.frames = [level.frame for level in self.levels]
        self.error, self.at, self.given = error, 0, []
        return None if len(self.levels) > 1 else error

    def stuck(self) -> int:
        """The number of the outermost level that cannot continue with a value for the failed call; -1 if all can."""
        return next(
            (
                len(self.levels) - 1 - index
                for index, level in enumerate(self.levels)
                if level.stuck()
            ),
            -1,
        )

    def go_on(self, value: Value) -> Value:
        """Continue with a value in place of the failed call. After an error, `coming` is what would have come next."""
        with restriction() if self.restricted else nullcontext():
            for index, level in enumerate(self.levels):
                steps: list[Any] = [level.go_on, *level.after]
                while steps:
                    step = steps.pop(0)
                    self.coming = self.levels[index + 1 :], steps
                    value = step(value)
        return value


def _add_outer(levels: list[Level], error: QError, outer: Suspension) -> None:
    """Add the levels that remain to be resumed in the current suspension."""
    further, steps = outer.coming
    if levels:
        levels[-1].after += steps
    levels += further
    error.frames += [level.frame for level in further]


def suspension(
    error: QError, tb: TracebackType | None, names: Names, outer: Suspension | None = None
) -> list[Suspension]:
    """The suspension for an error with its frames, if a function was running; empty if only a line was. `outer` is the
    suspension that was being resumed; its remaining levels are appended, also to the error."""
    pairs = code_objects.levels(tb)
    # from text parsed by a verb: no variables
    parsed = error.frames[: len(error.frames) - len(pairs)]
    space = space_of(pairs[0][1], names) if pairs else "."
    levels = [Level(frame, None, space) for frame in parsed if frame.source.text]
    levels += [
        Level(frame, python_frame, space_of(python_frame, names))
        for frame, (_, python_frame) in zip(error.frames[len(parsed) :], pairs, strict=True)
    ]
    _add_rests(
        {
            id(python_frame): level
            for level, (_, python_frame) in zip(
                levels[len(levels) - len(pairs) :], pairs, strict=True
            )
        },
        tb,
    )
    if outer is not None:
        _add_outer(levels, error, outer)
    if all(level.top for level in levels):
        return []
    return [
        Suspension(
            error, levels, _given(tb), (outer is not None and outer.restricted) or _within_reval(tb)
        )
    ]


def _within_reval(tb: TracebackType | None) -> bool:
    """Did an error pass through a restricted evaluation?"""
    while tb is not None and id(tb.tb_frame.f_code) not in RESTRICTING:
        tb = tb.tb_next
    return tb is not None


def _add_rests(levels: dict[int, Level], tb: TracebackType | None) -> None:
    """Tell each level, from the frame that ran it, what remains to be run."""
    steps = list(resume.way(tb))
    last_step = max(
        (
            index
            for index, step in enumerate(steps)
            if isinstance(step, resume.Rest) or (isinstance(step, resume.Stuck) and step.q)
        ),
        default=-1,
    )
    within: list[Any] = []
    for step in reversed(steps[: last_step + 1]):
        level = None
        if isinstance(step, resume.Rest):
            level, step.ran = levels.get(id(step.ran)), None
        if level is not None and isinstance(step, resume.Rest):
            level.rest = step
            level.before = [stuck for stuck in within if isinstance(stuck, resume.Stuck)]
            within = level.after
        else:
            within.append(step)


def _given(tb: TracebackType | None) -> list[Value]:
    """The arguments of the failed verb or function, if it is a Python function."""
    innermost: FrameType | None = None
    while tb is not None:
        innermost = (
            None
            if tb.tb_frame.f_code.co_filename == code_objects.FILE
            else innermost or tb.tb_frame
        )
        tb = tb.tb_next
    if innermost is None:
        return []
    code, variables = innermost.f_code, innermost.f_locals
    arguments = [variables.get(name, NIL) for name in code.co_varnames[: code.co_argcount]]
    return (
        [*arguments, *variables.get(code.co_varnames[code.co_argcount], ())]
        if code.co_flags & CO_VARARGS
        else arguments
    )


def space_of(ran: FrameType, names: Names) -> str:
    """The namespace of a compiled function."""
    return next((name for name, space in names.spaces.items() if space is ran.f_globals), ".")
