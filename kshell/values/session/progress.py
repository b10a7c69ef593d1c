"""The progress line for long work: redrawn on a terminal and erased at the end, elsewhere a line from time to time.

Work that may be long creates a `task` and reports how much is done. That only costs reading the clock: text is
formatted only when it is shown.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, TextIO

from kshell.values.session import context

FIRST = 1.0  # seconds before progress of a line of q is shown
EVERY = 0.1  # seconds between updates on a terminal
_NEVER = float("inf")
_ERASE = "\r\x1b[K"
_MEGA = 1 << 20

clock = time.monotonic
Metrics = Callable[[], dict[str, float]]


class Line:
    """The progress line of a session, on its standard error.

    `due` is the time of the next update; `shown` says whether a terminal's last line is this one; `fresh` whether the
    console is at the start of a line, because progress must not overwrite anything else.
    """

    __slots__ = ("_plain", "_session", "counts", "due", "fresh", "shown")

    def __init__(self, session: context.Running | None = None) -> None:
        self._session: Any = session
        self.due = self._plain = _NEVER
        self.shown, self.fresh = False, True
        # tallies: their number, and the time of the first
        self.counts: dict[str, tuple[int, float]] = {}

    def begin(self) -> None:
        """A line of q begins, or the next statement of a script."""
        period = self._session.settings.progress
        self.counts.clear()
        if self.shown:
            self.erase()
        if period:
            start = clock()
            self.due = start + FIRST
            if self._plain == _NEVER:
                self._plain = start + period

    def end(self) -> None:
        """It has ended: nothing stays on a terminal."""
        self.due = self._plain = _NEVER
        if self.shown:
            self.erase()

    def erase(self) -> None:
        """Erase the line from the terminal, so that something else can be written."""
        self.shown = False
        self._put(_ERASE)

    def draw(self, text: str) -> None:
        """Show a text, if an update is due."""
        moment = clock()
        if _is_terminal(self._session.errors):
            self.due = moment + EVERY
            if self.fresh:
                self.shown = True
                self._put(f"\r{text[: _columns(self._session.errors) - 1]}\x1b[K")
        elif moment < self._plain:
            self.due = self._plain
        else:
            self.due = self._plain = moment + self._session.settings.progress
            self._put(text + "\n")

    def _put(self, text: str) -> None:
        try:
            self._session.output.flush()
            self._session.errors.write(text)
            self._session.errors.flush()
        except (OSError, ValueError):  # there is no one to read it
            self.due = _NEVER

    def tally(self, what: str, metrics: Metrics | None = None) -> None:
        """Count one more of something that a line of q does many times."""
        count, start = self.counts.get(what) or (0, clock())
        self.counts[what] = count + 1, start
        if clock() >= self.due:
            self.draw(_text(what, count + 1, None, "", clock() - start, metrics))


def _is_terminal(stream: TextIO) -> bool:
    isatty = getattr(stream, "isatty", None)
    try:
        return (
            isatty is not None and isatty() and os.environ.get("TERM", "dumb") not in ("dumb", "")
        )
    except ValueError:  # it is closed
        return False


def _columns(stream: TextIO) -> int:
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError, AttributeError):
        return 80


_OFF = Line()


def line() -> Line:
    """The progress line of the running session; a silent one if there is none, or in a peach thread."""
    session = context.perhaps()
    return _OFF if session is None or context.worker() is not None else session.progress


class Task:
    """Work of a size: `total` units, or bytes if the unit is `B`; None if that is not known. In a loop, pass the
    current count."""

    __slots__ = ("_start", "done", "line", "total", "unit", "what")

    def __init__(self, what: str, total: int | None, unit: str = "B") -> None:
        self.line = line()
        self.what, self.total, self.unit, self.done = what, total, unit, 0
        self._start = clock()
        if self.line is not _OFF:
            count, first = self.line.counts.get(what) or (0, self._start)
            self.line.counts[what] = count + 1, first
            self.what += f" {count + 1}" * (count > 0)

    def add(self, n: int = 1) -> None:
        """Add to the amount done."""
        self.done += n
        self.tell(self.done)

    def tell(self, done: int, metrics: Metrics | None = None) -> None:
        """Set the amount done. Loops with short iterations check `line.due` themselves."""
        if clock() >= self.line.due:
            self.line.draw(
                _text(self.what, done, self.total, self.unit, clock() - self._start, metrics)
            )

    def stopped(self, done: int) -> str:
        """The note for an interrupt at this amount."""
        of = "" if self.total is None else f" of {self.total:,}"
        return f"{self.what}: {done:,}{of} {self.unit} done"


def _text(
    what: str, done: int, total: int | None, unit: str, seconds: float, metrics: Metrics | None
) -> str:
    """`run 3: 340/938 batches 36% 1,204/s 0:04 left loss 0.3127`; without a total, the elapsed time."""
    scale = _MEGA if unit == "B" else 1
    rate = done / seconds if seconds > 0 else 0.0
    name = "MB" if unit == "B" else unit
    share = f"/{total // scale:,}" if total else ""
    parts = [f"{what}: {done // scale:,}{share}{' ' * bool(name)}{name}"]
    if total:
        parts.append(f"{100 * done // total}%")
    parts.append(_rate(rate / scale) + (" MB/s" if unit == "B" else "/s"))
    if not total:
        parts.append(_time(seconds))
    elif rate:
        parts.append(f"{_time((total - done) / rate)} left")
    if metrics is not None:
        parts += [f"{key} {value:.4g}" for key, value in metrics().items()]
    return "  ".join(parts)


def _rate(x: float) -> str:
    return f"{x:,.0f}" if x >= 100 else f"{x:.3g}"


def _time(seconds: float) -> str:
    """Minutes and seconds, with hours if there are any."""
    rounded = round(seconds)
    return (
        f"{rounded // 3600}:{rounded // 60 % 60:02}:{rounded % 60:02}"
        if rounded >= 3600
        else f"{rounded // 60}:{rounded % 60:02}"
    )
