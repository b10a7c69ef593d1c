"""The one exception class of q code, the table of its names, and the map from foreign exceptions to it."""

from __future__ import annotations

from typing import Any

# the file name of compiled q code, by which its frames are told from Python's
Q_FILE = "<q>"
# q's error names, what each means, and a q line that raises it
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


class Source:
    """A text that was read as one: a line, a lambda or a script; with its file and first line if it has them."""

    __slots__ = ("file", "line", "name", "text")

    def __init__(self, text: str, file: str = "", line: int = 0, name: str = "") -> None:
        self.text, self.file, self.line, self.name = text, file, line, name


class Frame:
    """One level of the q call stack at an error: the text that was running, and the offset of the failing part."""

    __slots__ = ("pos", "source")

    def __init__(self, source: Source, pos: int) -> None:
        self.source, self.pos = source, pos


class QError(Exception):
    """A q error. `text` is what q prints after the quote; `frames` the q call stack, innermost first.

    Raise it after an `except` block, never inside one: a kept exception keeps its tensors.
    """

    def __init__(self, text: str, pos: int | None = None, source: Source | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.frames: list[Frame] = []
        if source is not None and pos is not None:
            self.frames.append(Frame(source, pos))


class Agreed(QError):
    """An error that every process of a job has, with the same text: nothing is added to it."""

    alike = True


class QExit(BaseException):
    """`exit n`: leaves every handler of q and ends the program with code n."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def first_line(text: str, limit: int = 255) -> str:
    """The first line of a foreign message, without control characters, at most `limit` characters."""
    line = text.strip().split("\n", 1)[0]
    return "".join(c if c.isprintable() else " " for c in line)[:limit]


_BY_CLASS: tuple[tuple[type[BaseException], str], ...] = (
    (RecursionError, "stack"),
    (KeyboardInterrupt, "stop"),
    (MemoryError, "wsfull"),
    (OverflowError, "limit"),
    (ZeroDivisionError, "domain"),
    (IndexError, "index"),
    (FloatingPointError, "domain"),
    (SyntaxError, "limit"),  # emitted Python nests deeper than Python's own compiler takes
)


def as_qerror(exc: BaseException) -> QError:
    """The q error that a foreign exception means. The result holds nothing of `exc`, so its frames can be freed."""
    if isinstance(exc, QError):
        return exc
    if isinstance(exc, (NameError, UnboundLocalError)):
        return QError(str(getattr(exc, "name", None) or "value"))
    for cls, text in _BY_CLASS:
        if isinstance(exc, cls):
            return QError(text)
    if isinstance(exc, OSError):
        return QError(os_text(exc))
    message = first_line(str(exc))
    low = message.lower()
    if isinstance(exc, RuntimeError) and ("allocate memory" in low or "out of memory" in low):
        return QError("cuda: out of memory" if "cuda" in low else "wsfull")
    if isinstance(exc, (TypeError, AttributeError, KeyError)):
        return QError("type")  # a value of a kind that the verb has no rule for
    if isinstance(exc, ValueError):
        if "broadcast" in low or "shapes" in low or "same length" in low:
            return QError("length")
        return QError("domain")
    return QError(f"{message}" if message else "nyi")


def os_text(exc: OSError, path: str = "") -> str:
    """q's form of an operating system's refusal: the file (the one it is about, unless given) and the reason."""
    reason = exc.strerror or first_line(str(exc))
    name: Any = path or exc.filename
    if isinstance(name, bytes):
        name = name.decode(errors="replace")
    return f"{name}. OS reports: {reason}" if name else reason
