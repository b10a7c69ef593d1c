"""The body of a request or a response, and the message of a WebSocket, while their bytes come in."""

from __future__ import annotations

from collections.abc import Callable

STEP = 1 << 20  # bytes after which the memory that is left is asked about again


class TooLarge(Exception):
    """There are more bytes than there may be; the text says how many may be."""


class Body:
    """Bytes that come in piece by piece, at most `limit` of them (0 is no limit), and no more than the memory has room
    for, which `room` tells."""

    def __init__(self, limit: int = 0, room: Callable[[], int] | None = None) -> None:
        self.data = bytearray()
        self._limit, self._room = limit, room
        self._checked = STEP  # up to this size nobody asks about memory
        self._has_room = True

    def expect(self, size: int) -> None:
        """As many bytes will come; TooLarge if they may not."""
        limit = self._limit or size
        if size > STEP and self._room is not None:
            limit = min(limit, self._room())
        if size > limit:
            raise TooLarge(f"above {max(limit, 0)} bytes")

    def add(self, data: bytes | bytearray | memoryview) -> None:
        """Take the next bytes; TooLarge if that makes too many."""
        size = len(self.data) + len(data)
        if self._limit and size > self._limit:
            raise TooLarge(f"above {self._limit} bytes")
        if size > self._checked and self._room is not None:
            self._has_room = self._room() >= len(data) + STEP
            self._checked = size + STEP
        try:
            if self._has_room:
                self.data += data
                return
        except MemoryError:  # growing may need a second copy
            pass
        raise TooLarge(f"above {len(self.data)} bytes, which is what memory has room for")
