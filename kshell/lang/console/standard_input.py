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

    def _more(self, timeout: float | None) -> bytes | None:
        """Read more input into the buffer and return it: empty at the end of input, None on timeout."""
        if self.ask is not None:
            data = self.ask()
        else:
            fd = sys.stdin.fileno() if self.fd is None else self.fd
            if timeout is not None and not select.select([fd], [], [], timeout)[0]:
                return None
            data = os.read(fd, CHUNK)
        self.buffer += data
        return data

    def _cut(self, n: int) -> bytes:
        out, self.buffer = self.buffer[:n], self.buffer[n:]
        return out

    def line(self, timeout: float | None = None) -> bytes | None:
        """The next line with its line break; at the end of input, the remaining text, then nothing. None on timeout."""
        at = 0
        while (end := self.buffer.find(b"\n", at)) < 0:
            at = len(self.buffer)
            data = self._more(timeout)
            if data is None:
                return None
            if not data:
                return self._cut(at)
        return self._cut(end + 1)

    def take(self, n: int) -> bytes:
        """The next n bytes; fewer at the end of input."""
        while len(self.buffer) < n and self._more(None):
            pass
        return self._cut(n)
