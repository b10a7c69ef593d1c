"""The exception class for q code, the table of q's error names, and the conversion of foreign exceptions."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from typing import Any, TypeVar

E = TypeVar("E", bound=Exception)
# file name of compiled q code, which distinguishes its frames from Python's
Q_FILE = "<q>"
# q's error names, their meaning, and a q line that raises each
ERRORS: dict[str, tuple[str, str]] = {
    "type": ("wrong type of argument", "1+`a"),
    "length": ("arguments do not have the same length", "1 2+1 2 3"),
    "rank": ("wrong number of arguments", "{x}[1;2]"),
    "domain": ("argument outside the domain of the function", "til -1"),
    "index": ("index outside the list, in an assignment", "@[1 2 3;5;:;0]"),
    "value": ("no such name or value", "nosuchname"),
    "nyi": ("not implemented", ""),
    "assign": ("the name cannot be assigned", "til:3"),
    "cast": ("value not in the domain of an enumeration", ""),
    "mismatch": ("columns do not agree", "([]a:1 2),([]b:1 2)"),
    "stack": ("calls nested too deep", "{.z.s x}1"),
    "stop": ("interrupted", ""),
    "limit": ("a limit of the language or of memory was met", "til 0W"),
    "wsfull": ("out of memory", ""),
    "params": ("more than 8 parameters", "{[a;b;c;d;e;f;g;h;i]a}"),
    "parse": ("text is not q", "1+)"),
    "u-fail": ("the items are not unique, as attribute u asks", "`u#1 1"),
    "s-fail": ("the items are not sorted, as attribute s asks", "`s#2 1"),
    "insert": ("a row with that key is already there", ""),
    "stale pointer": ("the handle's object was freed", ""),
    "access": ("not allowed", ""),
    "noupdate": ("a change where none is allowed", ""),
    "corrupt": ("a file's contents are damaged", ""),
    "unsafe": ("a file would run code if loaded", ""),
    "version": ("a file was written by a newer version", ""),
    "os": ("the operating system refused", ""),
    "conversion": ("no such conversion", ""),
    "char": ("a character that is not q", ""),
}


def _no_function() -> None:
    """In place of a weak reference to nothing."""


class Source:
    """A text that was parsed as a unit: a line, a lambda or a script; with file and first line number if known. Or a
    line of a Python function with this name."""

    __slots__ = ("file", "function", "is_python", "line", "name", "text")

    def __init__(self, text: str, file: str = "", line: int = 0, name: str = "") -> None:
        self.text, self.file, self.line, self.name = text, file, line, name
        self.is_python = False
        # a weak reference to the function whose text it is, or what gives None
        self.function: Callable[[], Any] = _no_function


class Frame:
    """One level of the q call stack at an error: the text that was running, and the offset of the failed part."""

    __slots__ = ("pos", "source")

    def __init__(self, source: Source, pos: int) -> None:
        self.source, self.pos = source, pos


class Stop(KeyboardInterrupt):
    """A deferred interrupt; `note` says what was completed before it, if anything."""

    def __init__(self, note: str = "") -> None:
        super().__init__()
        self.note = note


class QError(Exception):
    """A q error. `text` is what q prints after the quote, and what a trap gets; `frames` the q call stack, innermost
    first. The other two are shown only for uncaught errors: `hint`, a sentence on what to do, and `note`, what had been
    completed before an interrupt.

    Raise it after an `except` block, never inside one: a chained exception keeps its tensors alive.
    """

    note = ""

    def __init__(
        self, text: str, pos: int | None = None, source: Source | None = None, hint: str = ""
    ) -> None:
        super().__init__(text)
        self.text = text
        self.hint = hint
        self.frames: list[Frame] = []
        if source is not None and pos is not None:
            self.frames.append(Frame(source, pos))


class Agreed(QError):
    """An error that every process of a job has, with the same text: nothing is added to it."""

    alike = True


# markers for a part of a CallError: the reason already says it, or the gateway must add it
SAID, UNSAID = None, ""
# maximum length of a reason if other parts are added
_REASON = 180


class CallError(QError):
    """An error in the use of a call, by its parts, from which the text is composed, here and nowhere else: `call`, the
    name it begins with (UNSAID: the call that it ends); `at`, the option or argument concerned; `reason`; and
    descriptions of what was `given` and `expected`, SAID if the reason includes them. Without a reason, these two form
    the text, with the word `expecting` in some of ktorch's messages. `says` lists names, numbers and object types in
    the reason: if one is that of an argument, the reason counts as saying what was given.

    The gateway of the call `call` fills in UNSAID parts; an error of another call is left alone. `home` is the call
    that documents the text without a name. `below` are lines for `stackframe.
    """

    def __init__(
        self,
        call: str,
        reason: str = "",
        *,
        at: str = "",
        given: str | None = UNSAID,
        says: tuple[object, ...] = (),
        expected: str | None = SAID,
        expecting: str = "",
        hint: str = "",
        home: str = "",
        below: str = "",
    ) -> None:
        self.call, self.reason, self.at, self.home, self.below = call, reason, at, home, below
        self.says = says
        self.given, self.expected = given, expecting or expected
        self.expecting = expecting  # `expected`, in a text with that word
        super().__init__(self._composed(), hint=hint)

    def _composed(self) -> str:
        heading = f"{self.call} {self.at}".strip()
        if not self.reason:
            word = "expecting" if self.expecting else "expected"
            return f"{heading}: {word} {self.expected}, given {self.given}{self.below}"
        text = f"{heading}: {self.reason}" if heading else self.reason
        details = [
            f"{word} {part}"
            for word, part in (("given", self.given), ("expected", self.expected))
            if part
        ]
        return (
            first_line(f"{_short(text)} ({'; '.join(details)})") if details else text
        ) + self.below

    def completed(
        self, call: str, given: Callable[[], str | None], expected: Callable[[], str]
    ) -> CallError:
        """This error as one of the call `call`, with UNSAID parts filled in; itself if there are none."""
        if call == self.call and UNSAID not in (self.given, self.expected):
            return self
        wanted = expected() or SAID if self.expected == UNSAID else self.expected
        return CallError(
            call,
            self.reason,
            at=self.at,
            given=given() if self.given == UNSAID else self.given,
            expected=wanted,
            expecting=self.expecting,
            hint=self.hint,
            below=self.below,
        )


def said(exc: E, *says: object) -> E:
    """Mark an exception raised by kshell's torch modules as one whose message says what was given, or does if that is
    one of the names and numbers in `says`. For any other, the call's gateway adds what was given."""
    exc.given, exc.says = UNSAID if says else SAID, says  # type: ignore[attr-defined]
    return exc


def _short(text: str) -> str:
    """A long reason without its last sentences."""
    if len(text) > _REASON:
        stop = text.rfind(". ", 0, _REASON)
        return text[:_REASON].rstrip() + ".." if stop < 0 else text[:stop]
    return text.rstrip(" .")


class QExit(SystemExit):
    """`exit n`: passes through all q handlers and ends the program with code n, as sys.exit does."""

    code: int

    def __init__(self, code: int) -> None:
        super().__init__(code)


def first_line(text: str, limit: int = 255) -> str:
    """The first line of a foreign message, without control characters, at most `limit` characters."""
    line = text.strip().split("\n", 1)[0]
    return "".join(char if char.isprintable() else " " for char in line)[:limit]


def message_of(exc: BaseException) -> str:
    """The message of a foreign exception; empty if it has none."""
    try:
        return str(exc)
    except Exception:
        return ""


_BY_CLASS: tuple[tuple[type[BaseException], str], ...] = (
    (RecursionError, "stack"),
    (KeyboardInterrupt, "stop"),
    (OverflowError, "limit"),
    (ZeroDivisionError, "domain"),
    (IndexError, "index"),
    (FloatingPointError, "domain"),
    (SyntaxError, "limit"),  # emitted Python is nested too deeply for Python's compiler
)


# memory freed first when a request has failed: reporting it takes some
BALLAST: list[Any] = []
# called when a request for memory has failed: frees the reserve and describes the available memory
SHORTAGE: list[Callable[[], str]] = []
# the requested size in numpy's and torch's messages
_ASKED = re.compile(r"allocate ([\d.]+) ?(KiB|MiB|GiB|TiB|bytes)")
_UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def wsfull(asked: float = 0) -> QError:
    """The error for a failed memory request; its hint says how many bytes were requested, if known, and how many are
    available."""
    sentences = [f"{megabytes(asked)} were asked for"] if asked >= 1 << 20 else []
    sentences += [text for relieve in SHORTAGE if (text := relieve())]
    return QError("wsfull", hint="; ".join(sentences))


def megabytes(n: float) -> str:
    """A number of bytes in readable form."""
    return (
        f"{max(n, 0) / (1 << 20):,.0f} MB" if n >= 10 << 20 else f"{max(n, 0) / (1 << 10):,.0f} kB"
    )


def _asked(message: str) -> float:
    """The bytes of a failed request according to its message; 0 if unknown."""
    match = _ASKED.search(message)
    return float(match[1]) * _UNITS[match[2]] if match else 0


# phrases in torch's messages about failed memory requests
_MEMORY = ("allocate memory", "out of memory", "storage size calculation overflowed", "bad_alloc")


def of_memory(message: str) -> bool:
    """Is a torch message, in lower case, about lack of memory?"""
    return any(phrase in message for phrase in _MEMORY)


def as_qerror(exc: BaseException) -> QError:
    """The q error for a foreign exception. The result holds no reference to `exc`, so its frames can be freed."""
    if isinstance(exc, QError):
        return exc
    try:
        if isinstance(exc, MemoryError):
            BALLAST.clear()
            return wsfull(_asked(str(exc)))
        if isinstance(exc, SystemError):  # Python had no memory for a MemoryError
            BALLAST.clear()
            if "without" in str(exc):
                return wsfull()
        return _translated(exc)
    except MemoryError:
        BALLAST.clear()
        return wsfull()


def _translated(exc: BaseException) -> QError:
    """The q error for an exception whose class does not indicate lack of memory."""
    if isinstance(exc, (NameError, UnboundLocalError)):
        return QError(str(getattr(exc, "name", None) or "value"))
    for cls, text in _BY_CLASS:
        if isinstance(exc, cls):
            error = QError(text)
            error.note = getattr(exc, "note", "")
            return error
    if isinstance(exc, OSError):
        return refused(exc)
    message = first_line(message_of(exc))
    lowered = message.lower()
    if isinstance(exc, RuntimeError) and of_memory(lowered):
        return QError("cuda: out of memory") if "cuda" in lowered else wsfull(_asked(message))
    if isinstance(exc, (TypeError, AttributeError, KeyError)):
        return QError("type")  # a value of a type for which the verb has no rule
    if isinstance(exc, ValueError):
        if "broadcast" in lowered or "shapes" in lowered or "same length" in lowered:
            return QError("length")
        return QError("domain")
    return QError(f"{message}" if message else "nyi")


def refused(exc: OSError, path: str = "", asked: float = 0) -> QError:
    """The q error for an operating system error: lack of memory for `asked` bytes, or `os_text`."""
    return wsfull(asked) if exc.errno == errno.ENOMEM else QError(os_text(exc, path))


def os_text(exc: OSError, path: str = "") -> str:
    """An operating system error in q's form: the file (by default the one it is about) and the reason."""
    reason = exc.strerror or first_line(str(exc))
    name: Any = path or exc.filename
    if isinstance(name, bytes):
        name = name.decode(errors="replace")
    return f"{name}. OS reports: {reason}" if name else reason
