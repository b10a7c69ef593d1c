"""Tok for columns: texts in the usual layout, as rows of an array, parsed all at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kshell.values.base import types as T
from kshell.values.engine.cast import months_to_days
from kshell.values.engine.dispatch import Array
from kshell.values.items.rows import Rows


class Form(NamedTuple):
    """How texts of a type are parsed: a function from (type, characters, texts) to values and a validity mask; whether
    the texts are right-aligned; their maximum length."""

    parse: Callable[[int, Array, Rows], tuple[Array, Array]]
    right: bool
    widest: int


def _number(m: Array) -> tuple[Array, Array]:
    """The numbers whose digits are the rows of an array (at most 19), and which rows are all digits: ints up to four
    digits, else longs. Adjacent digits are combined pairwise, in the smallest type that fits."""
    digits = m - np.uint8(48)
    valid = digits.max(axis=0) <= 9
    scale = 10
    for dtype in (np.uint8, np.uint16, np.uint32, np.uint64, np.uint64):
        if len(digits) == 1:
            break
        odd = len(digits) % 2
        joined = np.empty(((len(digits) + 1) // 2, digits.shape[1]), dtype)
        joined[:odd] = digits[:odd]
        np.multiply(digits[odd::2], scale, out=joined[odd:], dtype=dtype)
        joined[odd:] += digits[odd + 1 :: 2]
        digits, scale = joined, scale * scale
    return digits[0].astype(np.int32 if len(m) < 5 else np.int64), valid


def _signs(m: Array, rows: Rows) -> Array:
    """Which right-aligned texts begin with a minus sign; the sign is replaced by 0."""
    minus = m == 45
    if not minus.any():
        return np.zeros(m.shape[1], np.bool_)
    signs = minus.view(np.uint8)
    count = signs.sum(axis=0, dtype=np.uint8)
    # how many characters there are from that point
    remaining = np.arange(len(m), 0, -1, dtype=np.uint8)[:, None]
    negative: Array = ((signs * remaining).sum(axis=0, dtype=np.uint8) == rows.sizes) & (count == 1)
    wrong = count != negative
    signs *= 3
    m += signs
    m[-1] |= -wrong.view(np.uint8)  # rows with one in another place
    return negative


def _int_column(t: int, m: Array, rows: Rows) -> tuple[Array, Array]:
    negative = _signs(m, rows)
    value, valid = _number(m[-19:])
    count = rows.sizes - negative
    valid &= (count > 0) & (count <= 18) & (value <= T.TYPE[t].inf)
    if negative.any():
        value *= 1 - 2 * negative.view(np.int8)
    return value, valid


_TENS = 10.0 ** np.arange(23)
# of 64 bits, which hold any 18 digits
_LONG = np.longdouble if np.finfo(np.longdouble).nmant == 63 else None
_LONG_TENS = np.cumprod(np.array([1] + 27 * [10], _LONG)) if _LONG else None  # exact


def _float_column(t: int, m: Array, rows: Rows) -> tuple[Array, Array]:
    """Up to 18 digits and a point are an integer and a power of ten, whose quotient is rounded once."""
    negative = _signs(m, rows)
    pointed, after = _without_points(m)
    mantissas, valid = _number(m[-18:])
    valid &= (m[:-18] == 48).all(axis=0) & (rows.sizes > pointed + negative) & (pointed <= 1)
    values = mantissas / _TENS.take(after, mode="clip")
    inexact = np.flatnonzero(valid & ((mantissas >= 1 << 53) | (after >= len(_TENS))))
    if 2 * len(inexact) > len(values):
        values, computed = _quotients(mantissas, after)
        valid &= computed
    elif len(inexact):
        values[inexact], valid[inexact] = _quotients(mantissas[inexact], after[inexact])
    if negative.any():
        values *= 1 - 2 * negative.view(np.int8)
    fallback = np.flatnonzero(~valid & (rows.sizes > 0))
    if len(fallback):
        values[fallback], valid[fallback] = _by_numpy(rows.at(fallback))
    return values, valid


def _without_points(m: Array) -> tuple[Array, Array]:
    """The number of points in each text, and the number of digits after the point; the digits before it are shifted
    over it."""
    points = m == 46
    point_rows = np.flatnonzero(points.any(axis=1))
    if not len(point_rows):
        zeros = np.zeros(m.shape[1], np.uint8)
        return zeros, zeros
    first_row, last_row = int(point_rows[0]), int(point_rows[-1])
    pointed = points[first_row : last_row + 1].sum(axis=0, dtype=np.uint8)
    moved = m[: last_row + 1].copy()
    moved[0] ^= 48
    moved[1:] ^= m[:last_row]
    behind = (pointed == 0).view(np.uint8)  # in texts without a point, all digits stay in place
    moved[: first_row + 1] &= behind - np.uint8(1)
    after = np.full(m.shape[1], len(m) - 1 - last_row, np.uint8)
    for row in range(first_row, last_row):
        behind |= points[row]
        after += behind
        moved[row + 1] &= behind - np.uint8(1)
    m[: last_row + 1] ^= moved
    after *= pointed
    return pointed, after


def _quotients(value: Array, after: Array) -> tuple[Array, Array]:
    """Integers divided by powers of ten, and where the result is the nearest float: the extended-precision quotient is
    the nearest, and still is after rounding to a float unless it lies exactly between two floats."""
    if _LONG is None or _LONG_TENS is None:
        return value.astype(np.float64), np.zeros(len(value), np.bool_)
    quotients = value.astype(_LONG) / _LONG_TENS.take(after, mode="clip")
    between = quotients.view(np.uint64)[::2] & 0x7FF == 0x400
    return quotients.astype(np.float64), ~between & (after < len(_LONG_TENS))


def _by_numpy(rows: Rows) -> tuple[Array, Array]:
    """Float texts parsed by numpy, and which of them were valid."""
    matrix = rows.matrix()
    count = len(rows)
    if matrix is None:
        return np.zeros(count), np.zeros(count, np.bool_)
    texts = np.ascontiguousarray(matrix.T)
    valid = _IN_FLOAT[texts].all(axis=1) & (texts[:, 0] != 0)
    values = np.zeros(count)
    try:
        values[valid] = texts[valid].view(f"S{texts.shape[1]}").ravel().astype(np.float64)
    except ValueError:
        valid[:] = False
    return values, valid


_IN_FLOAT = np.zeros(256, np.bool_)
_IN_FLOAT[list(b"\0" + b"0123456789+-.eE")] = True


def _stamp_column(t: int, m: Array, rows: Rows) -> tuple[Array, Array]:
    """yyyy.mm.ddDhh:mm:ss, optionally .nnnnnnnnn, where trailing digits may be missing, optionally Z."""
    if not 19 <= len(m) <= 30:
        return _none(m)
    if (m[19:] == 90).any():
        zoned = np.flatnonzero(rows.sizes > 19)
        zoned = zoned[m[rows.sizes[zoned] - 1, zoned] == 90]
        m[rows.sizes[zoned] - 1, zoned] = 0
    days, valid = _date_column(T.D, m[:10], rows)
    valid &= (m[10] == 68) | (m[10] == 84) | (m[10] == 32)
    if len(m) == 30:
        valid &= m[29] == 0
        m = m[:29]
    seconds, parsed = _clock(m[11:19])
    valid &= parsed & (np.abs(days) < 100_000)
    nanoseconds: Array | int = 0
    if len(m) > 20:
        padding = m[20:] == 0
        fraction, parsed = _number(
            np.where(padding, np.uint8(48), m[20:]) if padding.any() else m[20:]
        )
        valid &= parsed
        nanoseconds = fraction.astype(np.int64) * 10 ** (29 - len(m))
    if len(m) > 19:
        valid &= (m[19] == 46) | (m[19] == 0)
    return (days.astype(np.int64) * 86400 + seconds) * 1_000_000_000 + nanoseconds, valid


def _none(m: Array) -> tuple[Array, Array]:
    """No text has a column layout."""
    count = m.shape[1]
    return np.zeros(count, np.int64), np.zeros(count, np.bool_)


def _date_column(t: int, m: Array, rows: Rows) -> tuple[Array, Array]:
    """yyyy.mm.dd, with . - or / as separator; a time may follow."""
    if len(m) < 10:
        return _none(m)
    valid = ((m[4] == 46) | (m[4] == 45) | (m[4] == 47)) & (m[4] == m[7])
    if len(m) > 10:
        valid &= _DAY_END[m[10]]
    (year, is_year), (month, is_month), (day, is_day) = (
        _number(m[:4]),
        _number(m[5:7]),
        _number(m[8:10]),
    )
    valid &= is_year & is_month & is_day & (year > 0) & (month >= 1) & (month <= 12) & (day >= 1)
    if not valid.any():
        return _none(m)
    month_index = ((year - 2000) * 12 + month - 1) * valid
    earliest = int(month_index.min())
    month_starts = months_to_days(np.arange(earliest, int(month_index.max()) + 2)).astype(np.int32)
    positions = (month_index - earliest).astype(np.int64)
    valid &= day <= np.diff(month_starts).take(positions)
    return month_starts.take(positions) + day - 1, valid


_DAY_END = np.zeros(256, np.bool_)
_DAY_END[list(b"\0DT -")] = True


def _clock(m: Array) -> tuple[Array, Array]:
    """The seconds of hh:mm:ss, and which are valid."""
    valid = (m[2] == 58) & (m[5] == 58)
    (hour, is_hour), (minute, is_minute), (second, is_second) = (
        _number(m[:2]),
        _number(m[3:5]),
        _number(m[6:8]),
    )
    valid &= is_hour & is_minute & is_second & (minute < 60) & (second < 60)
    return (hour * 60 + minute) * 60 + second, valid


def _time_column(t: int, m: Array, rows: Rows) -> tuple[Array, Array]:
    """hh:mm:ss, optionally .mmm"""
    if len(m) not in (8, 12):
        return _none(m)
    total, valid = _clock(m)
    millis: Array | int = 0
    if len(m) == 12:
        without_millis = rows.sizes == 8
        fraction, parsed = _number(m[9:])
        valid &= without_millis | ((rows.sizes == 12) & (m[8] == 46) & parsed)
        millis = np.where(without_millis, 0, fraction)
    return (total * 1000 + millis if t == T.T else total if t == T.V else total // 60), valid


def _span_column(t: int, m: Array, rows: Rows) -> tuple[Array, Array]:
    """hh:mm:ss.nnnnnnnnn, optionally with days and a D first."""
    if len(m) < 18:
        return _none(m)
    negative = _signs(m, rows)
    days, valid = _number(m[:-19]) if len(m) > 19 else _none(m[:1])
    sizes = rows.sizes - negative
    valid &= (m[-19] == 68) & (sizes > 19) if len(m) > 18 else False
    valid |= sizes == 18
    seconds, is_clock = _clock(m[-18:-10])
    nanoseconds, is_fraction = _number(m[-9:])
    valid &= is_clock & is_fraction & (m[-10] == 46) & (days < 100_000)
    total = (
        np.where(sizes == 18, 0, days.astype(np.int64)) * 86400 + seconds
    ) * 1_000_000_000 + nanoseconds
    return np.where(negative, -total, total), valid


_HEX = np.full(256, 255, np.uint8)
_HEX[list(b"0123456789abcdefABCDEF")] = [*range(16), *range(10, 16)]


def _guid_column(t: int, m: Array, rows: Rows) -> tuple[Array, Array]:
    """32 hexadecimal digits in five groups."""
    if len(m) != 36:
        return np.zeros(m.shape[1], "V16"), _none(m)[1]
    marks = [8, 13, 18, 23]
    digits = _HEX[np.delete(m, marks, axis=0)]
    valid = (m[marks] == 45).all(axis=0) & (digits.max(axis=0) < 16)
    return np.ascontiguousarray((digits[::2] << 4 | digits[1::2]).T).view("V16").ravel(), valid


FORMS = {
    T.G: Form(_guid_column, False, 36),
    T.H: Form(_int_column, True, 20),
    T.I: Form(_int_column, True, 20),
    T.J: Form(_int_column, True, 20),
    T.E: Form(_float_column, True, 26),
    T.F: Form(_float_column, True, 26),
    T.D: Form(_date_column, False, 36),
    T.T: Form(_time_column, False, 12),
    T.V: Form(_time_column, False, 12),
    T.U: Form(_time_column, False, 12),
    T.P: Form(_stamp_column, False, 30),
    T.N: Form(_span_column, True, 26),
}
