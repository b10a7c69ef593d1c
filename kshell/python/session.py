"""The session of a Python program: what goes in and comes out are Python's values.

    from kshell import Session
    s = Session()
    s.x = numpy.arange(5)
    s("sum x*x")                        # 30
    s("{x xexp y}", 2, [1, 2, 3])       # arguments of a function

A variable of q is an attribute, or an item (`s["x"]`) where a session has an attribute of that name. `run` gives q
values, as it does inside kshell.
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
_SETTABLE = ("out", "err", "read_only", "interactive", "picture", "annotate", "log")
_KEYWORDS = ("select", "exec", "update", "delete", "from", "by", "where")


class Session(session.Session):
    """A q session whose calls and variables are Python values. An error is a QError, with the q frames as its notes.

    Arrays and frames are copied on the way in and out; tensors, modules, losses and optimizers are the same objects on
    both sides.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.__dict__["_made"] = True

    def __call__(self, text: str, *args: Any) -> Any:
        """The value of q text; with arguments, that of the function that the text is, applied to them."""

        def work() -> Any:
            value = self._run(text, "", 0, False)
            return from_q(apply(value, [to_q(arg) for arg in args]) if args else value)

        return self.for_python(work)

    def apply(self, f: Value, args: Sequence[Any]) -> Any:
        """Apply a q value to Python arguments."""
        return self.for_python(lambda: from_q(apply(f, [to_q(arg) for arg in args])))

    def for_python(self, work: Callable[[], Any]) -> Any:
        """Run work for a Python caller: an interrupt waits for what is to be finished, as at a prompt, and is
        Python's own afterwards; `exit n` is a SystemExit."""
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
        """An error that goes on to Python, with the lines of its report as notes."""
        for line in self.error_lines(e)[1:]:
            e.add_note(line)
        kept = self.last_error = QError(
            e.text
        )  # not the error that goes on: it will hold the callers' frames
        kept.frames = e.frames
        return e

    def _interruptible(self, work: Callable[[], Any]) -> Any:
        """work(). If Ctrl-C is Python's own in the program, it waits there for what is to be finished, as at a prompt,
        and is a KeyboardInterrupt afterwards, with the lines of the report as its notes. None is lost."""
        if not _stopped_by_python():
            return work()
        over, came, late = False, False, False
        stop: KeyboardInterrupt | None = None

        def handler(signum: int, frame: FrameType | None) -> None:
            nonlocal came, late
            came, late = True, over
            if self._runs and not over:
                self.interrupt(signum, frame)
            elif not over:
                raise KeyboardInterrupt

        try:
            interrupts.FORGOTTEN.clear()
            signal.signal(signal.SIGINT, handler)
            return work()
        except QError as e:
            if e.text != "stop" or not came:
                raise
            stop = KeyboardInterrupt()
            for line in self.error_lines(e)[1:]:
                stop.add_note(line)
        finally:
            over = True
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if (late or interrupts.FORGOTTEN) and stop is None:
                signal.raise_signal(signal.SIGINT)
        raise stop

    def run(self, text: str, file: str = "", line: int = 0, show: bool = False) -> Value:
        try:
            return self._interruptible(lambda: session.Session.run(self, text, file, line, show))
        except QError as e:
            error = e if self._runs else self._noted(e)
        raise error

    def enter(self, line: str) -> None:
        self._interruptible(lambda: session.Session.enter(self, line))

    def write(self, text: str) -> None:
        """Text to the console, which may be a stream that takes no bytes outside UTF-8."""
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
        space, last = self.names.split(name)
        return last in self.names.members(space) or (
            space == "." and self.names.view(last) is not None
        )

    def __iter__(self) -> Iterator[str]:
        """The names of the variables of the present namespace."""
        return iter(self.names.members(self.names.current))

    def __getattr__(self, name: str) -> Any:
        """The variable of that name; AttributeError if there is none."""
        if name[:1] == "_" or "_made" not in self.__dict__ or name not in self:
            raise AttributeError(f"the session has no variable {name}")
        return self[name]

    def __setattr__(self, name: str, x: object) -> None:
        own = callable(getattr(type(self), name, None)) or (
            name in self.__dict__ and name not in _SETTABLE and not _within_kshell()
        )
        if "_made" in self.__dict__ and name[:1] != "_" and own:
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
    """Is Ctrl-C Python's own here, a KeyboardInterrupt in the main thread?"""
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )


def _within_kshell() -> bool:
    """Is an attribute assigned by kshell itself?"""
    return str(sys._getframe(2).f_globals.get("__name__")).partition(".")[0] == "kshell"


def check(name: str) -> None:
    """'assign of what cannot be the name of a variable."""
    parts = name.removeprefix(".").split(".")
    good = all(
        part.isascii() and part.replace("_", "a").isalnum() and part[0].isalpha() for part in parts
    )
    if not good or name in _KEYWORDS or registry.find("verb", name) is not None:
        raise QError("assign", hint=f"{name} cannot be the name of a variable")
