"""From literal text to raw data: a type character with plain Python numbers, as in `tree.Lit`.

A null or infinity is its bit pattern. Text that looks like a literal but is not is an error with that text, as in q; a
number outside its type's range is 'limit.
"""

from __future__ import annotations

import re
from contextlib import suppress
from functools import lru_cache
from typing import Any

from kshell.errors import QError

NAN, INF = float("-nan"), float("inf")  # with the sign of q's null
NULL = (
    {"h": -(1 << 15), "j": -(1 << 63)}
    | dict.fromkeys("imduvt", -(1 << 31))
    | dict.fromkeys("pn", -(1 << 63))
)
# the raw infinity; its negative is negative infinity
LIMIT = {key: -value - 1 for key, value in NULL.items()}
DAY = 86_400_000_000_000  # nanoseconds
EPOCH_DAYS = 730_119  # 2000.01.01 in the proleptic Gregorian calendar, where 0001.01.01 is 0

_DATE = r"(\d{4})\.(\d\d)\.(\d\d)"
_CLOCK = r"(\d+):(\d\d)(?::(\d\d)(?:[.:](\d*))?)?"
_FULL_DATE = re.compile(_DATE)
_FULL_MONTH = re.compile(r"(\d{4})\.(\d\d)m?")
_FULL_CLOCK = re.compile(_CLOCK)
_SPAN = re.compile(r"(\d+)D(?:(\d+)(?::(\d\d)(?::(\d\d)(?:\.(\d*))?)?)?)?")
_STAMP = re.compile(_DATE + r"([DT])(?:(\d\d?)(?::(\d\d)(?::(\d\d)(?:\.(\d*))?)?)?)?")
_SPECIAL = re.compile(r"(-?)0([NnWw])([a-z]?)")
_ESCAPE = re.compile(rb"\\([0-7]{3}|(?s:.))")
_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b'"': b'"', b"\\": b"\\"}
_SUFFIXES = "hijefpmdznuvt"
_WHOLE = "hijpmdnuvt"  # types whose raw data are integers
_RANK = "gcbxhijefmdpznuvt"  # for mixed items, the rightmost of these types is the vector's
_NANOS = {"u": 60_000_000_000, "v": 1_000_000_000, "t": 1_000_000, "n": 1, "p": 1, "d": DAY}


# ---------------------------------------------------------------------------------------------------- strings, symbols
def string(text: str) -> tuple[str, Any]:
    """The char or bytes of a quoted text."""
    encoded = text[1:-1].encode("utf-8", "surrogateescape")
    if b"\\" in encoded:
        encoded = _ESCAPE.sub(_unescape, encoded)
    return ("c", chr(encoded[0])) if len(encoded) == 1 else ("c", encoded)


def _unescape(m: re.Match[bytes]) -> bytes:
    escape = m[1]
    if len(escape) == 3 and escape.isdigit():
        return bytes([int(escape, 8) & 255])
    return _ESCAPES.get(escape, escape)


def symbol(text: str) -> tuple[str, Any]:
    """The name or names in `` `a`b ``."""
    names = text[1:].split("`")
    return "s", names[0] if len(names) == 1 else names


# ---------------------------------------------------------------------------------------------------- numbers
def number(text: str) -> tuple[str, Any]:
    """Type and data of a number literal: an atom, or a vector of items separated by blanks."""
    return _number(text) if len(text) < 64 else _read(text)


@lru_cache(maxsize=4096)
def _number(text: str) -> tuple[str, Any]:
    return _read(text)


def _read(text: str) -> tuple[str, Any]:
    if len(text) < 19 and text.isdigit():
        return "j", int(text)
    # a list over several lines, with comments
    items = (re.sub(r"/[^\n]*", "", text) if "/" in text else text).split()
    if len(items) == 1:
        return _scalar(text)
    return _vector(items)


def _scalar(text: str) -> tuple[str, Any]:
    if text[:2] == "0x":
        return _bytes(text)
    if text[-1] == "b":
        return _bits(text)
    return item(text)


def _bits(text: str) -> tuple[str, Any]:
    if text.strip("01") != "b":
        raise QError(text)
    bits = [digit == "1" for digit in text[:-1]]
    return "b", bits[0] if len(bits) == 1 else bits


def _bytes(text: str) -> tuple[str, Any]:
    digits = text[2:]
    if not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        raise QError(text)
    values = list(bytes.fromhex("0" * (len(digits) % 2) + digits))
    return "x", values[0] if len(values) == 1 else values


def _vector(items: list[str]) -> tuple[str, Any]:
    """A vector's type is its last item's suffix, or the widest type among its items."""
    simple = _plain(items)
    if simple is not None:
        return simple
    final = items[-1]
    suffix = final[-1]
    if suffix in "bx" or final[:2] == "0x" or items[0][:2] == "0x":
        return _joined(items)
    target = ""
    if suffix in _SUFFIXES and not (suffix == "n" and _SPECIAL.fullmatch(final)):
        target = suffix
        if _SPECIAL.fullmatch(final) is None:
            items = [*items[:-1], final[:-1] if suffix != "m" else final]
    pairs = [_month_item(word) if target == "m" else item(word) for word in items]
    kinds = {
        qtype
        for (qtype, _), item in zip(pairs, items, strict=True)
        if qtype != "j" or not _SPECIAL.fullmatch(item)
    }
    target = target or max(kinds or {qtype for qtype, _ in pairs}, key=_RANK.index)
    return target, [
        cast(qtype, number, target, item)
        for (qtype, number), item in zip(pairs, items, strict=True)
    ]


def _plain(items: list[str]) -> tuple[str, list[Any]] | None:
    """A vector of ordinary longs or floats, whose items need no individual checks."""
    numbers: list[Any] = []
    if max(map(len, items)) > 100:  # Python rejects integers with thousands of digits
        return None
    with suppress(ValueError):
        numbers = list(map(int, items))
    if numbers:
        if max(numbers) > LIMIT["j"] or min(numbers) < NULL["j"]:
            raise QError("limit")
        return "j", numbers
    final = items[-1]
    try:
        return "f", list(map(float, [*items[:-1], final[:-1] if final[-1] == "f" else final]))
    except ValueError:
        return None


def _joined(items: list[str]) -> tuple[str, Any]:
    """`1b 0b`, `0x01 02`: concatenated."""
    values: list[Any] = []
    kind = ""
    for item in items:
        qtype, value = _scalar(item)
        if qtype not in "bx" or kind not in ("", qtype):
            raise QError(item)
        kind = qtype
        values += value if isinstance(value, list) else [value]
    return kind, values


def _month_item(text: str) -> tuple[str, Any]:
    return item(text if text[-1] == "m" or _SPECIAL.fullmatch(text) else text + "m")


def item(text: str) -> tuple[str, Any]:
    """Type and raw value of one number, null, infinity or temporal."""
    match = _SPECIAL.fullmatch(text)
    if match is not None:
        return _special(text, match)
    negative = text[0] == "-"
    body = text[1:] if negative else text
    suffix = body[-1] if body[-1] in _SUFFIXES else ""
    if ":" in body or "D" in body or "T" in body or body.count(".") > 1 or suffix == "m":
        parsed = temporal(body)
        if parsed is None and suffix and suffix != "m":
            parsed = temporal(body[:-1])
            parsed = None if parsed is None else (suffix, cast(*parsed, suffix, text))
        if parsed is None:
            raise QError(text)
        return (parsed[0], -parsed[1]) if negative else parsed
    return _numeric(text, suffix)


def _numeric(text: str, suffix: str) -> tuple[str, Any]:
    plain = text[:-1] if suffix else text
    if plain.lstrip("-").isdigit():
        if suffix in ("e", "f", "z"):
            return suffix, _float(plain, text)
        if len(plain.lstrip("-0")) > 19:
            raise QError("limit")
        return suffix or "j", _ranged(int(plain), suffix or "j")
    if suffix in ("", "e", "f"):
        return suffix or "f", _float(plain, text)
    raise QError(text)


def _float(text: str, whole: str) -> float:
    value = None
    with suppress(ValueError):
        value = float(text)
    if value is None:
        raise QError(whole)
    return value


def _ranged(n: int, t: str) -> int:
    if t in LIMIT and not NULL[t] <= n <= LIMIT[t]:
        raise QError("limit")
    return n


def _special(text: str, m: re.Match[str]) -> tuple[str, Any]:
    """`0N` and the like. The lower-case letter alone is a float, the upper-case one a long."""
    sign, letter, qtype = m[1], m[2], m[3]
    qtype = qtype or ("f" if letter in "nw" else "j")
    if letter in "Nn":
        if qtype == "g":
            return qtype, bytes(16)
        if qtype == "c":
            return qtype, " "
        if qtype not in _SUFFIXES:
            raise QError(text)
        return qtype, NULL.get(qtype, NAN)
    if qtype not in _SUFFIXES:
        raise QError(text)
    value = LIMIT.get(qtype, INF)
    return qtype, -value if sign else value


def cast(t: str, x: Any, to: str, text: str) -> Any:
    """A raw value of type t as an item of a vector of type `to`; `text` is the error."""
    if t == to:
        return x
    if t in "gc" or to in "gc":
        raise QError(text)
    if t in NULL and x in (NULL[t], LIMIT[t], -LIMIT[t]):
        special = NULL if x == NULL[t] else LIMIT
        converted = special.get(to, NAN if x == NULL[t] else INF)
        return -converted if x == -LIMIT[t] else converted
    if isinstance(x, float) and (x != x or abs(x) == INF) and to in NULL:
        return NULL[to] if x != x else LIMIT[to] if x > 0 else -LIMIT[to]
    if to in "efz" and t in "hijef":
        return float(x)
    if to in _WHOLE and t in "hij":
        return _ranged(x, to)
    if t in "duvtnp" and to in "uvtnp":
        return _ranged(x * _NANOS[t] // _NANOS[to], to)
    if t in "dp" and to == "z":
        return x * _NANOS[t] / DAY
    raise QError(text)


# ---------------------------------------------------------------------------------------------------- temporals
def days(year: int, month: int, day: int) -> int | None:
    """Days from 2000.01.01 to a date, None if there is no such date."""
    if year < 1 or not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    lengths = (
        31,
        29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28,
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
    )
    if month < 12 and day > lengths[month - 1]:
        return None
    completed = year - 1
    return (
        completed * 365
        + completed // 4
        - completed // 100
        + completed // 400
        + sum(lengths[: month - 1])
        + day
        - 1
        - EPOCH_DAYS
    )


def _nanos(h: str | None, m: str | None, s: str | None, fraction: str | None) -> int | None:
    """Nanoseconds of a clock's parts, None if minutes or seconds are 60 or more."""
    if int(m or 0) > 59 or int(s or 0) > 59 or len(h or "") > 9:
        return None
    seconds = (int(h or 0) * 60 + int(m or 0)) * 60 + int(s or 0)
    return seconds * 1_000_000_000 + int((fraction or "")[:9].ljust(9, "0"))


def temporal(text: str) -> tuple[str, Any] | None:
    """Type and raw value of a temporal of any form, None if it is not one."""
    for reader in (parse_date, parse_month, _clock, parse_timespan, _stamp):
        parsed = reader(text)
        if parsed is not None:
            return parsed if isinstance(parsed, tuple) else (_TYPES[reader], parsed)
    return None


def parse_date(text: str) -> int | None:
    """`2000.01.01`: days since then."""
    match = _FULL_DATE.fullmatch(text)
    return days(int(match[1]), int(match[2]), int(match[3])) if match else None


def parse_month(text: str) -> int | None:
    """`2000.01m`: months since then."""
    match = _FULL_MONTH.fullmatch(text)
    return (
        (int(match[1]) - 2000) * 12 + int(match[2]) - 1
        if match and 1 <= int(match[2]) <= 12
        else None
    )


def _clock(text: str) -> tuple[str, int] | None:
    """`12:00` is a minute, `12:00:00` a second, `12:00:00.000` a time, with more digits a timespan."""
    match = _FULL_CLOCK.fullmatch(text)
    nanos = _nanos(*match.groups()) if match else None
    if match is None or nanos is None:
        return None
    qtype = (
        "u" if match[3] is None else "v" if match[4] is None else "t" if len(match[4]) <= 3 else "n"
    )
    amount = nanos // _NANOS[qtype]
    return (qtype, amount) if qtype not in LIMIT or amount <= LIMIT[qtype] else None


def parse_timespan(text: str) -> int | None:
    """`1D12:00:00.123456789`: nanoseconds."""
    match = _SPAN.fullmatch(text)
    nanos = _nanos(*match.groups()[1:]) if match and len(match[1]) < 7 else None
    if match is None or nanos is None:
        return None
    nanos += int(match[1]) * DAY
    return nanos if nanos < LIMIT["n"] else None


def _stamp(text: str) -> tuple[str, Any] | None:
    """`2000.01.01D12:00:00` is a timestamp, `2000.01.01T12:00:00` a datetime."""
    match = _STAMP.fullmatch(text)
    if match is None:
        return None
    day = days(int(match[1]), int(match[2]), int(match[3]))
    nanos = _nanos(*match.groups()[4:])
    if day is None or nanos is None:
        return None
    timestamp = day * DAY + nanos
    if match[4] == "T":
        return "z", day + nanos / DAY
    return ("p", timestamp) if -LIMIT["p"] < timestamp < LIMIT["p"] else None


_TYPES: dict[Any, str] = {parse_date: "d", parse_month: "m", parse_timespan: "n"}
