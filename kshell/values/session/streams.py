"""Where Python code prints while a session runs a line: where the session writes, if that is a stream of its own. Other
threads of the program keep theirs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from threading import get_ident
from typing import Any


class OfThread:
    """A stream in the place of another: what one thread writes goes to a function, and all else to the other stream."""

    def __init__(self, other: Any, write: Callable[[str], None]) -> None:
        self.other, self._write, self._thread = other, write, get_ident()
        self._writes = (
            False  # does the function write now? What it prints itself goes to the other stream
        )

    def write(self, text: str) -> int:
        """Write text; the number of its characters."""
        if get_ident() != self._thread or self._writes:
            return int(self.other.write(text))
        self._writes = True
        try:
            self._write(text)
        finally:
            self._writes = False
        return len(text)

    def writelines(self, lines: Any) -> None:
        """Write each of some texts."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.other, name)


def redirect(out: Callable[[str], None] | None, err: Callable[[str], None] | None) -> Any:
    """Give this thread's `sys.stdout` and `sys.stderr` to functions, where given. The result undoes it (`restore`)."""
    before = sys.stdout, sys.stderr
    if out is not None:
        sys.stdout = OfThread(sys.stdout, out)
    if err is not None:
        sys.stderr = OfThread(sys.stderr, err)
    return before


def restore(before: Any) -> None:
    """Give them back."""
    sys.stdout, sys.stderr = before
