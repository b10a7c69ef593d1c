"""The clock: now, in nanoseconds since 2000.01.01."""

from __future__ import annotations

import time

from kshell.values.session.context import running

_EPOCH = 946_684_800 * 1_000_000_000  # 2000.01.01 in Unix time, nanoseconds


def utc() -> int:
    """Nanoseconds since 2000.01.01 in UTC."""
    return time.time_ns() - _EPOCH


def local() -> int:
    """Nanoseconds since 2000.01.01 in local time: the system's, or as set by \\o."""
    now = time.time_ns()
    o = getattr(running().settings, "o", None)
    if o is None:
        seconds = time.localtime(now // 1_000_000_000).tm_gmtoff
    else:
        seconds = o * 3600 if abs(o) < 24 else o * 60
    return now - _EPOCH + seconds * 1_000_000_000
