"""Standard input: lines for the console and for `read0 0`, from one buffer, with an optional timeout."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Callable

CHUNK = 1 << 16


class Input:
    """Input from a file descriptor (by default standard input), or from `ask`, if set, which returns a line with its
    line break, or nothing at the end of input."""

    __slots__ = ("ask", "buffer", "fd")

    def __init__(self, fd: int | None = None) -> None:
        self.fd = fd
        self.buffer = b""
        self.ask: Callable[[], bytes] | None = None

    def number(self) -> int:
        """The file descriptor that is read."""
        return sys.stdin.fileno() if self.fd is None else self.fd

    def holds_line(self) -> bool:
        """Is a line there that need not be waited for?"""
        return self.ask is not None or b"\n" in self.buffer

    def _more(self, timeout: float | None) -> bytes | None:
        """Read more input into the buffer and return it: empty at the end of input, None on timeout."""
        if self.ask is not None:
            received = self.ask()
        else:
            descriptor = self.number()
            if timeout is not None and not select.select([descriptor], [], [], timeout)[0]:
                return None
            received = os.read(descriptor, CHUNK)
        self.buffer += received
        return received

    def _cut(self, n: int) -> bytes:
        taken, self.buffer = self.buffer[:n], self.buffer[n:]
        return taken

    def line(self, timeout: float | None = None) -> bytes | None:
        """The next line with its line break; at the end of input, the remaining text, then nothing. None on timeout."""
        searched = 0
        while (end := self.buffer.find(b"\n", searched)) < 0:
            searched = len(self.buffer)
            received = self._more(timeout)
            if received is None:
                return None
            if not received:
                return self._cut(searched)
        return self._cut(end + 1)

    def take(self, n: int) -> bytes:
        """The next n bytes; fewer at the end of input."""
        while len(self.buffer) < n and self._more(None):
            pass
        return self._cut(n)
