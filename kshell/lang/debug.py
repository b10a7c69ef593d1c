"""The debugger: what an error stopped, level by level, with the local variables of each.

The functions have ended when the debugger opens: what is kept of them are their variables, not their execution. So a
level can be looked at and lines run in it, but it cannot go on.
"""

from __future__ import annotations

from types import FrameType, FunctionType, TracebackType
from typing import Any

from kshell.errors import Frame, QError
from kshell.lang import code, trace
from kshell.values.core import Value
from kshell.values.names import Names

# errors of which nothing is kept: there is no memory for it, or it was asked to stop
NEVER = ("stop", "wsfull", "stack")


class Level:
    """One level: where it failed, its local variables by name, and the namespace it ran in."""

    __slots__ = ("frame", "locals", "space")

    def __init__(self, frame: Frame, ran: FrameType | None, space: str) -> None:
        self.frame, self.space = frame, space
        own = {} if ran is None or ran.f_code.co_name == "_s" else ran.f_locals
        self.locals = {k.removeprefix("_l_"): v for k, v in own.items() if k[0] != "_" or k.startswith("_l_")}

    def run(self, fn: Any, names: Names) -> Value:
        """The value of a compiled statement that sees the level's variables before the globals.

        What it assigns to them stays in the level; any other name that it assigns is a global.
        """
        if not isinstance(fn, FunctionType):
            return fn()
        space = fn.__globals__
        seen = {**space, **self.locals}
        before = dict(seen)
        value = FunctionType(fn.__code__, seen, fn.__name__, fn.__defaults__, fn.__closure__)()
        for name, x in seen.items():
            if name in self.locals:
                self.locals[name] = x
            elif before.get(name) is not x:
                names.set(name, x, self.space)
        return value


class Suspension:
    """An error and the levels that it went through, innermost first; `at` is the one that is looked at."""

    __slots__ = ("at", "error", "levels")

    def __init__(self, error: QError, levels: list[Level]) -> None:
        self.error, self.levels, self.at = error, levels, 0

    @property
    def level(self) -> Level:
        return self.levels[self.at]

    def lines(self, whole: bool = False) -> list[str]:
        """The lines of the present level, after the error's text if `whole`."""
        head = ["'" + self.error.text] if whole else []
        return head + trace.frame_lines(self.level.frame, len(self.levels) - 1 - self.at)

    def backtrace(self) -> str:
        """The lines of all levels, >> before the present one."""
        lines = trace.stack_lines([level.frame for level in self.levels])
        mark = f"  [{len(self.levels) - 1 - self.at}]"
        return "".join((">>" + line[2:] if line.startswith(mark) else line) + "\n" for line in lines)

    def move(self, by: int) -> None:
        """Go to the caller (1), or back (-1); at the ends nothing changes."""
        self.at = min(max(self.at + by, 0), len(self.levels) - 1)

    def cut(self, text: str) -> QError | None:
        """Signal an error from the innermost level, which goes; the error, or None if there is a level to look at."""
        error = QError(text)
        self.levels = self.levels[1:]
        error.frames = [level.frame for level in self.levels]
        self.error, self.at = error, 0
        return None if len(self.levels) > 1 else error


def suspension(error: QError, tb: TracebackType | None, names: Names) -> list[Suspension]:
    """What an error with its frames stopped, if a function was running; nothing if only a line was."""
    found = code.levels(tb)
    if all(ran.f_code.co_name == "_s" for _, ran in found):
        return []
    inner = error.frames[: len(error.frames) - len(found)]  # of a text that a verb parsed: without variables
    space = space_of(found[0][1], names)
    levels = [Level(f, None, space) for f in inner if f.source.text]
    outer = error.frames[len(inner):]
    levels += [Level(f, ran, space_of(ran, names)) for f, (_, ran) in zip(outer, found, strict=True)]
    return [Suspension(error, levels)]


def space_of(ran: FrameType, names: Names) -> str:
    """The namespace that a compiled function runs in."""
    return next((name for name, space in names.spaces.items() if space is ran.f_globals), ".")
