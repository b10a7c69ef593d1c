"""The log of the port: the last events, and a line for each in a file or on standard error if asked."""

from __future__ import annotations

import io
import os
import stat
import sys
import time
from collections import deque
from typing import NamedTuple, TextIO

import numpy as np

from kshell.values.base import types as T
from kshell.values.base.build import string
from kshell.values.base.core import List, Table, Vec

MOST = 10_000  # number of events kept
EPOCH = 946_684_800 * 10**9  # 2000.01.01 in nanoseconds since 1970
AGAIN = 1.0  # seconds in which two refusals are one


class Event(NamedTuple):
    """One event: the time in seconds since 1970, and texts."""

    at: float
    handle: int
    peer: str
    user: str
    what: str


class Log:
    """The events; a file, if one is opened, has a line for each."""

    def __init__(self) -> None:
        self.events: deque[Event] = deque(maxlen=MOST)
        self._file: TextIO | None = None
        self._failed = False  # could the last line not be written?
        self._refused: Event | None = None  # the last login that was refused

    def open(self, path: str) -> None:
        """Append a line for each event to a file from now on. Only its owner may read and write it: what others may of
        a file that is there already ends, and one that is not ours to change is an OSError. `-` is standard error."""
        self._failed = False
        if path == "-":
            self._file = sys.stderr
            return
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) and mode & 0o077:
            try:
                os.fchmod(descriptor, 0o600)
            except OSError:
                os.close(descriptor)
                raise
        raw = os.fdopen(descriptor, "ab", buffering=0)
        self._file = io.TextIOWrapper(
            raw,
            encoding="utf-8",
            errors="backslashreplace",
            write_through=True,
        )

    def add(self, what: str, handle: int = 0, peer: str = "", user: str = "") -> None:
        """Note an event. What came from the other side is shown with escapes only."""
        event = Event(time.time(), handle, _plain(peer), _plain(user), _plain(what))
        if self._is_second_try(event):
            return
        self.events.append(event)
        self._write(event)

    def _write(self, event: Event) -> None:
        """Write the line of an event. That it cannot be written is an event too, once; later ones may be written."""
        problem = ""
        try:
            if self._file is not None:
                stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(event.at))
                parts = [stamp, str(event.handle), event.peer or "-", event.user or "-", event.what]
                self._file.write(" ".join(parts) + "\n")
        except (OSError, ValueError) as e:  # the disk is full, standard error is closed
            problem = str(getattr(e, "strerror", "") or e)
        if problem and not self._failed:
            self.events.append(Event(time.time(), 0, "", "", f"the log: {problem}"))
        self._failed = bool(problem)

    def table(self) -> Table:
        """The events as a table, the first one first. Texts of clients are strings: symbols would stay for ever."""
        events = list(self.events)
        times = np.array([int(event.at * 1e9) - EPOCH for event in events], np.int64)
        handles = np.array([event.handle for event in events], np.int32)
        texts = [(event.peer, event.user, event.what) for event in events]
        columns = [List([string(row[index]) for row in texts]) for index in range(3)]
        return Table(
            ["time", "handle", "peer", "user", "event"],
            [Vec(T.P, times), Vec(T.I, handles), *columns],
        )

    def _is_second_try(self, event: Event) -> bool:
        """Is it a refusal within a second of the same peer's last one? Some clients try twice at once."""
        if not event.what.startswith("access"):
            return False
        before = self._refused
        if (
            before is not None
            and event.at - before.at < AGAIN
            and before.user == event.user
            and before.peer.rpartition(":")[0] == event.peer.rpartition(":")[0]
        ):
            return True
        self._refused = event
        return False


def _plain(text: str) -> str:
    """Text without control characters, at most 1,024 characters."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text[:1024])
