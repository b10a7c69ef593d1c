"""From emitted Python text to code objects: rendering, constants, and mapping a Python line back to q text.

The compiler emits Python as lines and nested blocks. Each operation that can fail starts a new line that ends in `#n`,
where n is the offset in the q text for the caret: the q position of a traceback's Python line is a table look-up, and
nothing is recorded at run time.
"""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any

from kshell.errors import Q_FILE, Frame, QError, Source
from kshell.registry import Hook

FILE = Q_FILE
_MARK = re.compile(r"#(\d+)$")

Block = list[Any]  # str lines and nested Blocks


class CodeInfo:
    """The origin of a compiled code object: its q source, and the q offset of each Python line; also what
    lang/session/resume.py needs to build the rest of a function: the Python text (or the tree, for code that is itself
    such a rest) and the constants."""

    __slots__ = ("consts", "offsets", "source", "text", "tree", "turn")

    def __init__(self, source: Source, offsets: list[int], text: str, consts: Consts) -> None:
        self.source, self.offsets, self.text, self.consts = source, offsets, text, consts
        self.tree: Any = None
        self.turn = 0  # how often it was continued


def render(block: Block, depth: int = 0) -> str:
    """The text of a block, one line each, with nested blocks indented."""
    lines: list[str] = []
    _render(block, " " * depth, lines)
    return "\n".join(lines)


def _render(block: Block, indent: str, out: list[str]) -> None:
    for entry in block:
        if entry.__class__ is list:
            _render(entry or ["pass"], indent + " ", out)
        else:
            out.append(indent + entry)


class Consts:
    """The constants of one code object that have no Python literal: placeholders until it is compiled."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def add(self, x: Any) -> str:
        """The Python text that loads x."""
        self.values.append(x)
        return f"'\\x00{len(self.values) - 1}\\x00'"

    def swap(self, code: CodeType, info: CodeInfo) -> CodeType:
        """The code with the real constants instead of placeholders, and its CodeInfo as the last constant."""
        return code.replace(
            co_consts=(*(self._real(const, info) for const in code.co_consts), info)
        )

    def _real(self, c: Any, info: CodeInfo) -> Any:
        if c.__class__ is str and c[:1] == "\0":
            # not a number if Python folded an operation on two of them, in a branch that is never taken
            number = c[1:-1]
            return self.values[int(number)] if number.isdigit() else c
        if c.__class__ is CodeType:
            return self.swap(c, info)
        if c.__class__ is tuple:  # Python folds a tuple of constants into one constant
            return tuple(self._real(item, info) for item in c)
        return c


def build(
    name: str, params: str, body: Block, consts: Consts, source: Source, space: dict[str, Any]
) -> FunctionType:
    """The Python function `def name(params): body` with a q namespace as its globals."""
    text = f"def {name}({params}):\n" + render(body or ["pass"], 1)
    code, offsets = _assembled(text)
    return FunctionType(consts.swap(code, CodeInfo(source, offsets, text, consts)), space, name)


@lru_cache(maxsize=1024)
def _assembled(text: str) -> tuple[CodeType, list[int]]:
    """The code of a Python function with placeholders for its constants, and the q offset of each line.

    Cached by text: phrases of functional qSQL, and strings that run repeatedly, differ at most in constants.
    """
    return KEPT.fn(text)


# the code cache of the script being compiled: lang/compiler/code_cache.py
KEPT = Hook(lambda text: assemble(text))


def assemble(text: str) -> tuple[CodeType, list[int]]:
    """The code of a Python function, compiled by Python, and the q offset of each line."""
    offsets = [0]
    for line in text.split("\n"):
        match = _MARK.search(line)
        offsets.append(int(match[1]) if match else -1)
    module = compile(text, FILE, "exec", dont_inherit=True, optimize=1)
    return next(const for const in module.co_consts if const.__class__ is CodeType), offsets


def running_code() -> tuple[CodeInfo, int] | None:
    """The q code that is running, and its current Python line; None if there is none."""
    level: FrameType | None = sys._getframe(1)
    while level is not None:
        code = level.f_code
        if code.co_filename == FILE and code.co_consts and code.co_consts[-1].__class__ is CodeInfo:
            return code.co_consts[-1], level.f_lineno
        level = level.f_back
    return None


def caller_locals() -> dict[str, Any]:
    """The local variables, by name, of the running q function."""
    level: FrameType | None = sys._getframe(1)
    while level is not None:
        consts = level.f_code.co_consts
        if (
            level.f_code.co_filename == FILE
            and consts
            and consts[-1].__class__ is CodeInfo
            and consts[-1].source.text
        ):
            return level.f_locals
        level = level.f_back
    return {}


def frames(tb: TracebackType | None) -> list[Frame]:
    """The q frames of a traceback, innermost first."""
    return [frame for frame, _ in levels(tb)]


def levels(tb: TracebackType | None) -> list[tuple[Frame, FrameType]]:
    """The q frames of a traceback with their Python frames, innermost first."""
    pairs: list[tuple[Frame, FrameType]] = []
    previous: CodeInfo | None = None
    while tb is not None:
        code = tb.tb_frame.f_code
        if code.co_filename == FILE and code.co_consts and code.co_consts[-1].__class__ is CodeInfo:
            info: CodeInfo = code.co_consts[-1]
            frame = Frame(info.source, _position(info, tb.tb_lineno))
            if not info.source.text:
                pass  # compiled from a parse tree: there is no text to show
            elif info is previous and code.co_name.startswith("_p"):
                # a phrase of a qSQL template is part of the enclosing function
                pairs[-1] = (
                    frame,
                    pairs[-1][1],
                )
            else:
                pairs.append((frame, tb.tb_frame))
            previous = info
        tb = tb.tb_next
    return pairs[::-1]


def _position(info: CodeInfo, line: int) -> int:
    """The q offset of a Python line, or of the closest earlier one that has one."""
    while line > 0 and info.offsets[line] < 0:
        line -= 1
    return info.offsets[line] if line > 0 else 0


def with_frames(error: QError, tb: TracebackType | None, name: str = "") -> QError:
    """The error with the traceback's q frames added outside those it has; for an undefined name, the caret points at
    it."""
    added = frames(tb)
    if name and added and not error.frames:
        text, pos = added[0].source.text, added[0].pos
        places = [
            match.start() for match in re.finditer(rf"(?<![\w.]){re.escape(name)}(?![\w.])", text)
        ]
        if places:  # an operand of the expression at pos
            added[0] = Frame(
                added[0].source, min(places, key=lambda p: abs(p + len(name) * (p < pos) - pos))
            )
    error.frames += added
    return error
