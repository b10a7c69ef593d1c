"""The report of an error: its text, and for each level of the q call stack the text that ran and a caret."""

from __future__ import annotations

import sys

from kshell.errors import Frame, QError
from kshell.lang import code


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
    gap = "".join("\t" if c == "\t" else " " for c in line[: pos - start])
    return [place + line, " " * len(place) + gap + "^"]


def error_text(error: QError) -> list[str]:
    """The lines the console prints for an error: the text after a quote, then the frames, innermost first."""
    out = [f"'{error.text}"]
    for i, frame in enumerate(error.frames):
        out += frame_lines(frame, len(error.frames) - 1 - i)
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
