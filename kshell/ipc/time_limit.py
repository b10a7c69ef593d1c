"""The time limit of a client's call."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN = (
    1.0  # seconds after which a call that goes on is interrupted again; a trap cannot catch that
)


@contextmanager
def time_limit(
    interrupt: Callable[[int, FrameType | None], None], seconds: float
) -> Iterator[list[float]]:
    """Inside, call `interrupt` as the handler of a signal after so many seconds, and every second from then on; never
    if there is no limit. One call of torch ends first. Outside of the main thread, which alone has signals, there is no
    limit. What it gives is empty until the limit is reached."""
    reached: list[float] = []
    if seconds <= 0 or threading.current_thread() is not threading.main_thread():
        yield reached
        return
    running = [True]

    def due(number: int, frame: FrameType | None) -> None:
        if running:
            reached.append(seconds)
            interrupt(signal.SIGINT, frame)

    before = signal.signal(signal.SIGALRM, due)
    outer = signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
    try:
        yield reached
    finally:
        running.clear()
        signal.setitimer(signal.ITIMER_REAL, *outer)
        signal.signal(signal.SIGALRM, before)
