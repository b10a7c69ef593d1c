"""What happened on the port: the last events, as a table, and on standard error if asked."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

MOST = 10_000  # number of events kept


class Event(NamedTuple):
    """One event: the time in seconds since 1970, and texts."""

    at: float
    handle: int
    peer: str
    user: str
    what: str


class Log:
    """The events; `put`, if set, is given each as a line."""

    def __init__(self) -> None:
        self.events: deque[Event] = deque(maxlen=MOST)
        self.put: Callable[[str], None] | None = None

    def add(self, what: str, handle: int = 0, peer: str = "", user: str = "") -> None:
        """Note an event. What came from the other side is shown with escapes only."""
        event = Event(time.time(), handle, _plain(peer), _plain(user), _plain(what))
        self.events.append(event)
        if self.put is not None:
            stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(event.at))
            parts = [stamp, str(handle), event.peer or "-", event.user or "-", event.what]
            self.put(" ".join(parts) + "\n")


def _plain(text: str) -> str:
    """Text without control characters, at most 1,024 characters."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text[:1024])
