"""The report of an error: its text, and for each level of the q call stack the text that ran and a caret."""

from __future__ import annotations

import sys

from kshell.errors import Frame, QError
from kshell.lang import code

LONGEST = 400  # characters of a source line that a report shows
LONGEST_TEXT = 999  # characters of an error's text that are printed
DEEPEST, OUTER = 24, 4  # levels that a report shows, and how many of them are the outermost ones


def frame_lines(frame: Frame, n: int) -> list[str]:
    """Two lines for level n: where and what ran, and the caret under the part that failed.

    Of a text of several lines only the one concerned is shown.
    """
    source = frame.source
    text = source.text
    pos = min(max(frame.pos, 0), len(text))
    start = text.rfind("\n", 0, pos) + 1
    end = text.find("\n", start)
    line = text[start:] if end < 0 else text[start:end]
    place = f"  [{n}]  "
    if source.file:
        place += f"{source.file}:{source.line + text.count(chr(10), 0, start)}: "
    if source.name and not start:
        place += f"{source.name}:"
    line, pos = _window(line, pos - start)
    return [place + _plain(line), " " * len(place) + _plain(line[:pos], blank=True) + "^"]


def _window(line: str, pos: int) -> tuple[str, int]:
    """A line and a place in it, cut to what stands around the place if it is very long."""
    if len(line) <= LONGEST:
        return line, pos
    start = max(0, pos - LONGEST // 2)
    head, tail = ".." * (start > 0), ".." * (start + LONGEST < len(line))
    return head + line[start : start + LONGEST] + tail, pos - start + len(head)


def _plain(line: str, blank: bool = False) -> str:
    """A text that cannot drive the terminal, a column a character; with `blank`, as wide as it and empty."""
    return "".join("\t" if c == "\t" else " " if blank else c if c.isprintable() else "\ufffd" for c in line)


def error_text(error: QError) -> list[str]:
    """The lines the console prints for an error: the text after a quote, then the frames, innermost first."""
    n = len(error.frames)
    out = ["'" + _plain(error.text[:LONGEST_TEXT])]
    for i, frame in enumerate(error.frames):
        if n <= DEEPEST or i < DEEPEST - OUTER or i >= n - OUTER:
            out += frame_lines(frame, n - 1 - i)
        elif i == n - OUTER - 1:
            out.append("  ..")
    return out


def backtrace_text(frames: list[Frame]) -> str:
    """Frames as `.Q.sbt` gives them: a line's end after each line."""
    lines: list[str] = []
    for i, frame in enumerate(frames):
        lines += frame_lines(frame, len(frames) - 1 - i)
    return "".join(line + "\n" for line in lines)


def live_frames() -> list[Frame]:
    """The q call stack of the code that runs now, innermost first."""
    out: list[Frame] = []
    level = sys._getframe(1)
    last: code.CodeInfo | None = None
    while level is not None:
        consts = level.f_code.co_consts
        if level.f_code.co_filename == code.FILE and consts and consts[-1].__class__ is code.CodeInfo:
            info: code.CodeInfo = consts[-1]
            if info is not last:
                out.append(Frame(info.source, code._position(info, level.f_lineno)))
            last = info
        level = level.f_back  # type: ignore[assignment]
    return out
