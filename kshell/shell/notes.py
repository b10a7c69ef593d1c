"""Grey notes at a prompt on a terminal: what a handle's object is, next to its number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kshell.session import Session

GREY, END = "\x1b[90m", "\x1b[0m"


def annotator(session: Session, colours: bool) -> Callable[[str, Any], str]:
    """A function that adds notes to the console's text for a value. The text itself is unchanged; a note that does not
    fit the console's width is omitted."""

    def annotate(text: str, value: Any) -> str:
        notes = session.notes(value)
        if not notes:
            return text
        lines, width = text.split("\n"), session.settings.c[1]
        noted = [
            bool(note) and not line.endswith("..") for line, note in zip(lines, notes, strict=False)
        ]
        widest = max(
            (len(line) for line, is_noted in zip(lines, noted, strict=False) if is_noted), default=0
        )
        for index, is_noted in enumerate(noted):
            if is_noted and widest + 2 + len(notes[index]) < width:
                lines[index] += " " * (widest - len(lines[index]) + 2) + (
                    f"{GREY}{notes[index]}{END}" if colours else notes[index]
                )
        return "\n".join(lines)

    return annotate
