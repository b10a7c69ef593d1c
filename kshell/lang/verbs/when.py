"""Dates and times as text, in the many forms that tok accepts. Each function returns the raw value, or None."""

from __future__ import annotations

import re
from datetime import date as _Date

from kshell.values.engine.cast import DAY
from kshell.values.session.context import running

_EPOCH = _Date(2000, 1, 1).toordinal()
_UNIX = 10957 * 86_400  # seconds from 1970 to 2000
_MONTHS = {
    m: i + 1
    for i, m in enumerate(
        (
            b"jan",
            b"feb",
            b"mar",
            b"apr",
            b"may",
            b"jun",
            b"jul",
            b"aug",
            b"sep",
            b"oct",
            b"nov",
            b"dec",
        )
    )
}
_YMD = re.compile(rb"(\d{4})[-./](\d{1,2}|[A-Za-z]{3})[-./](\d{1,2})\Z")
_PLAIN = re.compile(rb"(\d{4}|\d{2})(\d{2})(\d{2})\Z")
_DMY = re.compile(rb"(\d{1,2})[- ./]?([A-Za-z]{3})[- ./]?(\d{4}|\d{2})\Z")
_XXY = re.compile(rb"(\d{1,2}|[A-Za-z]{3})[-./](\d{1,2}|[A-Za-z]{3})[-./](\d{4}|\d{2})\Z")
_MONTH = re.compile(rb"(\d{4})[-./]?(\d{2})m?\Z")
_CLOCK = re.compile(rb"(\d{1,3}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?\Z")
_DIGITS = re.compile(rb"(\d{2})(\d{2})(?:(\d{2})(\d*))?\Z")
_UNIX_SECONDS = re.compile(rb"(\d{9,11})(?:\.(\d*))?\Z")
_SPLIT = re.compile(
    rb"(\d{4}[-./]\w{1,3}[-./]\d{1,2}|\d{8}|\d{1,2} [A-Za-z]{3} \d{4})[DT -](.*)\Z", re.S
)


def _year(s: bytes) -> int:
    """Two-digit years are 1950 to 2049."""
    year = int(s)
    return year if len(s) == 4 else year + (1900 if year >= 50 else 2000)


def _month(s: bytes) -> int:
    return int(s) if s.isdigit() else _MONTHS.get(s.lower(), 0)


def _day_number(y: int, m: int, d: int) -> int | None:
    try:
        return _Date(y, m, d).toordinal() - _EPOCH
    except ValueError:
        return None


def _day_first() -> bool:
    """The setting \\z: is 1/2/2024 the first of February?"""
    try:
        return bool(getattr(running().settings, "z", 0))
    except LookupError:
        return False


def date(s: bytes) -> int | None:
    """The day number of a date."""
    if (match := _YMD.match(s)) is not None:
        return _day_number(int(match[1]), _month(match[2]), int(match[3]))
    if (match := _PLAIN.match(s)) is not None:
        return _day_number(_year(match[1]), int(match[2]), int(match[3]))
    if (match := _DMY.match(s)) is not None:
        return _day_number(_year(match[3]), _month(match[2]), int(match[1]))
    if (match := _XXY.match(s)) is not None:
        month_digits, day_digits = (match[2], match[1]) if _day_first() else (match[1], match[2])
        return (
            _day_number(_year(match[3]), _month(month_digits), int(day_digits))
            if day_digits.isdigit()
            else None
        )
    pieces = _SPLIT.match(s)
    return date(pieces[1]) if pieces is not None else None


def month(s: bytes) -> int | None:
    """The month number from a month or date."""
    match = _MONTH.match(s)
    if match is not None and 1 <= int(match[2]) <= 12:
        return (int(match[1]) - 2000) * 12 + int(match[2]) - 1
    day_number = date(s)
    if day_number is None:
        return None
    calendar_date = _Date.fromordinal(day_number + _EPOCH)
    return (calendar_date.year - 2000) * 12 + calendar_date.month - 1


def _fraction(s: bytes | None) -> int:
    """Digits after the point as nanoseconds."""
    return int((s or b"")[:9].ljust(9, b"0"))


def _clock(s: bytes) -> int | None:
    """Nanoseconds of hh:mm[:ss[.fraction]], or of the same digits without separators."""
    match = _CLOCK.match(s) or _DIGITS.match(s)
    if match is None:
        return None
    hours, minutes, seconds = int(match[1]), int(match[2]), int(match[3] or 0)
    if minutes > 59 or seconds > 59:
        return None
    return ((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + _fraction(match[4])


def _hours(s: bytes) -> int | None:
    """_clock for text after a D, where hours may stand alone."""
    return int(s) * 3_600_000_000_000 if len(s) < 3 and s.isdigit() else _clock(s)


def timespan(s: bytes) -> int | None:
    """Nanoseconds of [-][days D]clock."""
    sign = -1 if s[:1] == b"-" else 1
    body = s[1:] if s[:1] in (b"-", b"+") else s
    days, mark, clock = body.partition(b"D")
    if mark and not days.isdigit():
        return None
    nanos = _hours(clock) if mark and clock else 0 if mark else _clock(body)
    return None if nanos is None else sign * ((int(days) * DAY if mark else 0) + nanos)


def _within(s: bytes, unit: int) -> int | None:
    pieces = _SPLIT.match(s)
    nanos = timespan(pieces[2].rstrip(b"Z") if pieces is not None else s)
    return None if nanos is None else nanos // unit if nanos >= 0 else -(-nanos // unit)


def time(s: bytes) -> int | None:
    """Milliseconds of a time."""
    return _within(s, 1_000_000)


def second(s: bytes) -> int | None:
    """Seconds of a time."""
    return _within(s, 1_000_000_000)


def minute(s: bytes) -> int | None:
    """Minutes of a time."""
    return _within(s, 60_000_000_000)


def timestamp(s: bytes) -> int | None:
    """Nanoseconds of a date with time, a date, or Unix seconds (9 to 11 digits)."""
    match = _UNIX_SECONDS.match(s)
    if match is not None:
        return (int(match[1]) - _UNIX) * 1_000_000_000 + _fraction(match[2])
    pieces = _SPLIT.match(s)
    day = date(pieces[1] if pieces is not None else s)
    if day is None:
        return None
    clock = pieces[2].rstrip(b"Z") if pieces is not None else b""
    nanos = _hours(clock) if clock else 0
    if nanos is None or abs(day) > 106_751:
        return None
    return day * DAY + nanos


def datetime(s: bytes) -> float | None:
    """Days, with the time of day as a fraction."""
    nanos = timestamp(s)
    return None if nanos is None else nanos / DAY
