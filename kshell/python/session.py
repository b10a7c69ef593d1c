"""A session for Python programs: it takes and returns Python values.

    from kshell import Session
    s = Session()
    s.x = numpy.arange(5)
    s("sum x*x")                        # 30
    s("{x xexp y}", 2, [1, 2, 3])       # arguments of a function

q variables are attributes, or items (`s["x"]`) if the session has an attribute with that name. `run` returns q values,
as inside kshell.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any

from kshell import registry, session
from kshell.errors import QError, QExit
from kshell.python import arrowout, display  # noqa: F401 (tables show themselves by these)
from kshell.python.into import to_q
from kshell.python.objects import Table as Table
from kshell.python.outof import from_q
from kshell.values.base.core import Value
from kshell.values.engine.apply import apply
from kshell.values.session import interrupts

# attributes that a program may set
_SETTABLE = ("out", "err", "read_only", "hosted", "interactive", "picture", "annotate", "log")
_KEYWORDS = ("select", "exec", "update", "delete", "from", "by", "where")


class Session(session.Session):
    """A q session that takes and returns Python values. An error is a QError with the q frames as its notes.

    Arrays and data frames are copied on the way in and out; tensors, modules, losses and optimizers are the same
    objects on both sides.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.__dict__["_made"] = True

    def __call__(self, text: str, *args: Any) -> Any:
        """The value of q text; with arguments, that of the function it evaluates to, applied to them."""

        def work() -> Any:
            value = self._run(text, "", 0, False)
            return from_q(apply(value, [to_q(argument) for argument in args]) if args else value)

        return self.for_python(work)

    def apply(self, f: Value, args: Sequence[Any]) -> Any:
        """Apply a q value to Python arguments."""
        return self.for_python(lambda: from_q(apply(f, [to_q(argument) for argument in args])))

    def for_python(self, work: Callable[[], Any]) -> Any:
        """Run work for a Python caller: interrupts wait for work that must be completed, as at a prompt, and are
        Python's own afterwards; `exit n` becomes a SystemExit."""
        try:
            return self._interruptible(lambda: self._guarded(work))
        except QExit as e:
            code, error = e.code, None
        except QError as e:
            error = self._noted(e)
        if error is None:
            raise SystemExit(code)
        raise error

    def _noted(self, e: QError) -> QError:
        """An error passed on to Python, with the lines of its report as notes."""
        for line in self.error_lines(e)[1:]:
            e.add_note(line)
        # not the error passed on, which will hold the callers' frames
        reported = self.last_error = QError(e.text)
        reported.frames = e.frames
        return e

    def _interruptible(self, work: Callable[[], Any]) -> Any:
        """work(). If the program leaves Ctrl-C to Python, it waits there for work that must be completed, as at a
        prompt, and then raises KeyboardInterrupt, with the lines of the report as its notes. None is lost."""
        if not _stopped_by_python():
            return work()
        returned, came, late = False, False, False
        interruption: KeyboardInterrupt | None = None

        def handler(signum: int, frame: FrameType | None) -> None:
            nonlocal came, late
            came, late = True, returned
            if self._runs and not returned:
                self.interrupt(signum, frame)
            elif not returned:
                raise KeyboardInterrupt

        try:
            interrupts.FORGOTTEN.clear()
            signal.signal(signal.SIGINT, handler)
            return work()
        except QError as e:
            if e.text != "stop" or not came:
                raise
            interruption = KeyboardInterrupt()
            for line in self.error_lines(e)[1:]:
                interruption.add_note(line)
        finally:
            returned = True
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if (late or interrupts.FORGOTTEN) and interruption is None:
                signal.raise_signal(signal.SIGINT)
        raise interruption

    def run(self, text: str, file: str = "", line: int = 0, show: bool = False) -> Value:
        try:
            return self._interruptible(lambda: session.Session.run(self, text, file, line, show))
        except QError as e:
            error = e if self._runs else self._noted(e)
        raise error

    def enter(self, line: str) -> None:
        self._interruptible(lambda: session.Session.enter(self, line))

    def write(self, text: str) -> None:
        """Write text to the console, whose stream may not accept bytes that are invalid UTF-8."""
        super().write(text if text.isascii() else text.encode("utf-8", "replace").decode())

    # ------------------------------------------------------------ variables
    def __setitem__(self, name: str, x: object) -> None:
        check(name)

        def work() -> None:
            self.names.load_builtins()
            self.names.set(name, to_q(x))

        self.for_python(work)

    def __getitem__(self, name: str) -> Any:
        return self.for_python(lambda: from_q(self.names.get(name)))

    def __delitem__(self, name: str) -> None:
        self.for_python(lambda: self.names.delete(name))

    def __contains__(self, name: str) -> bool:
        space, last_part = self.names.split(name)
        return last_part in self.names.members(space) or (
            space == "." and self.names.view(last_part) is not None
        )

    def __iter__(self) -> Iterator[str]:
        """The names of the variables in the current namespace."""
        return iter(self.names.members(self.names.current))

    def __getattr__(self, name: str) -> Any:
        """The variable with that name; AttributeError if there is none."""
        if name[:1] == "_" or "_made" not in self.__dict__ or name not in self:
            raise AttributeError(f"the session has no variable {name}")
        return self[name]

    def __setattr__(self, name: str, x: object) -> None:
        is_reserved = callable(getattr(type(self), name, None)) or (
            name in self.__dict__ and name not in _SETTABLE and not _within_kshell()
        )
        if "_made" in self.__dict__ and name[:1] != "_" and is_reserved:
            raise AttributeError(
                f"{name} is a session's own: assign the variable as session[{name!r}]"
            )
        if (
            name[:1] == "_"
            or "_made" not in self.__dict__
            or hasattr(type(self), name)
            or name in self.__dict__
        ):
            object.__setattr__(self, name, x)
        else:
            self[name] = x

    def __delattr__(self, name: str) -> None:
        if name in self.__dict__ or hasattr(type(self), name):
            object.__delattr__(self, name)
        else:
            del self[name]


def _stopped_by_python() -> bool:
    """Does Ctrl-C raise Python's own KeyboardInterrupt here, in the main thread?"""
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


def _within_kshell() -> bool:
    """Is an attribute being assigned by kshell itself?"""
    return str(sys._getframe(2).f_globals.get("__name__")).partition(".")[0] == "kshell"


def check(name: str) -> None:
    """'assign if it cannot be the name of a variable."""
    segments = name.removeprefix(".").split(".")
    is_valid = all(
        segment.isascii() and segment.replace("_", "a").isalnum() and segment[0].isalpha()
        for segment in segments
    )
    if not is_valid or name in _KEYWORDS or registry.find("verb", name) is not None:
        raise QError("assign", hint=f"{name} cannot be the name of a variable")
