"""Error reports: the text, and for each level of the q call stack the source with a caret."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType

from kshell.errors import Frame, QError
from kshell.lang.compiler import code_objects
from kshell.values.session import context

LONGEST = 400  # characters of a source line shown in a report
LONGEST_TEXT = 999  # characters printed per line of an error's text
DEEPEST = 24  # levels shown in full; of a deeper stack, the innermost and outermost ones
INNER, OUTER = 6, 3


def frame_lines(frame: Frame, n: int) -> list[str]:
    """Two lines for level n: location and source, and the caret under the failed part.

    For a text of several lines, only the relevant one; for a verb without text, its name.
    """
    source = frame.source
    text = source.text
    if not text:
        return [f"  [{n}]  ({source.name})", ""]
    pos = min(max(frame.pos, 0), len(text))
    start = text.rfind("\n", 0, pos) + 1
    end = text.find("\n", start)
    line = text[start:] if end < 0 else text[start:end]
    place = f"  [{n}]  "
    if source.file:
        within = f" in {source.name}" if source.is_python and source.name else ""
        place += f"{source.file}:{source.line + text.count(chr(10), 0, start)}{within}: "
    if source.name and not start and not source.is_python:
        place += f"{source.name}:"
    line, pos = _window(line, pos - start)
    return [place + _plain(line), " " * len(place) + _plain(line[:pos], blank=True) + "^"]


def _window(line: str, pos: int) -> tuple[str, int]:
    """A line and a position in it, cut to the surroundings of the position if it is very long."""
    if len(line) <= LONGEST:
        return line, pos
    start = max(0, pos - LONGEST // 2)
    before, after = ".." * (start > 0), ".." * (start + LONGEST < len(line))
    return before + line[start : start + LONGEST] + after, pos - start + len(before)


def _plain(line: str, blank: bool = False) -> str:
    """Text that cannot control the terminal, one column per character; with `blank`, blanks of the same width."""
    return "".join(
        "\t" if c == "\t" else " " if blank else c if c.isprintable() else "\ufffd" for c in line
    )


def error_text(error: QError) -> list[str]:
    """The lines the console prints for an error: the text after a quote, the frames, innermost first, the note and the
    hint."""
    headline, *details = error.text.split("\n")[:DEEPEST]
    note = [f"  ({_plain(error.note[:LONGEST_TEXT])})"] if error.note else []
    hint = ["hint: " + _plain(error.hint[:LONGEST_TEXT])] if error.hint else []
    return [
        "'" + _plain(headline[:LONGEST_TEXT]),
        *(_plain(line[:LONGEST_TEXT]) for line in details),
        *stack_lines([frame for frame in error.frames if frame.source.text]),
        *note,
        *hint,
    ]


def stack_lines(frames: Sequence[Frame]) -> list[str]:
    """The lines for the levels of a call stack; for a very deep one, the middle is omitted and its depth stated."""
    count = len(frames)
    lines: list[str] = []
    for index, frame in enumerate(frames):
        if count <= DEEPEST or index < INNER or index >= count - OUTER:
            lines += frame_lines(frame, count - 1 - index)
        elif index == INNER:
            lines.append(f"  ..{count - INNER - OUTER} levels left out")
    return lines


def place_text(at: tuple[code_objects.CodeInfo, int], longest: int = 80) -> str:
    """The line of q text for a Python line of its code, with file and line number if known."""
    info, line = at
    source = info.source
    pos = min(max(code_objects._position(info, line), 0), len(source.text))
    start = source.text.rfind("\n", 0, pos) + 1
    end = source.text.find("\n", start)
    text = _plain(source.text[start:] if end < 0 else source.text[start:end]).strip()
    text = text if len(text) <= longest else text[:longest] + ".."
    location = (
        f"{source.file}:{source.line + source.text.count(chr(10), 0, start)}: "
        if source.file
        else ""
    )
    return location + text


context.CODE[0], context.LINE[0] = code_objects.running_code, place_text


def backtrace_text(frames: list[Frame]) -> str:
    """Frames as printed by `.Q.bt`, each line with a line break."""
    return "".join(line + "\n" for line in stack_lines(frames))


def live_frames() -> list[Frame]:
    """The q call stack of the running code, innermost first."""
    frames: list[Frame] = []
    level: FrameType | None = sys._getframe(1)
    # of the qSQL phrase just seen: part of the enclosing function
    phrase: code_objects.CodeInfo | None = None
    while level is not None:
        consts = level.f_code.co_consts
        if (
            level.f_code.co_filename == code_objects.FILE
            and consts
            and consts[-1].__class__ is code_objects.CodeInfo
        ):
            info: code_objects.CodeInfo = consts[-1]
            if info is not phrase and info.source.text:
                frames.append(Frame(info.source, code_objects._position(info, level.f_lineno)))
            phrase = info if level.f_code.co_name.startswith("_p") else None
        level = level.f_back
    return frames
