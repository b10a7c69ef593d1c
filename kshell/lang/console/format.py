"""Text for atoms and vector items: digits, nulls, infinities, dates and times.

There are two styles: the bare one for `string` and cells (nulls are empty, no type suffix), and that of q source, where
`0N`, suffixes, quotes and backticks show the type.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np

from kshell.values.base import types as T
from kshell.values.base.core import Atom, Dict, EnumAtom, Special, Table, Value, Vec
from kshell.values.base.symbols import Sym, sym_at
from kshell.values.engine.cast import DAY
from kshell.values.items.pick import take_at
from kshell.values.session.context import running

_EPOCH = date(2000, 1, 1).toordinal()
_FIRST_DAY, _LAST_DAY = 1 - _EPOCH, date.max.toordinal() - _EPOCH  # years 1 to 9999

# ------------------------------------------------------------------ one ordinary raw value, by type


def float_text(v: float, digits: int) -> str:
    """A finite float or real with `digits` significant digits, all 17 if that is 0."""
    return f"{v:.{digits or 17}g}"


def date_text(days: int) -> str:
    """The date that many days after 2000.01.01."""
    if not _FIRST_DAY <= days <= _LAST_DAY:
        return "0000.00.00"
    day = date.fromordinal(days + _EPOCH)
    return f"{day.year:04d}.{day.month:02d}.{day.day:02d}"


def month_text(months: int) -> str:
    """The month that many months after 2000.01, without the suffix."""
    year, month = divmod(months, 12)
    return f"{year + 2000:04d}.{month + 1:02d}"


def clock_text(n: int, seconds: bool = True) -> str:
    """Minutes as hh:mm, or seconds as hh:mm:ss."""
    sign, n = ("-", -n) if n < 0 else ("", n)
    if not seconds:
        return f"{sign}{n // 60:02d}:{n % 60:02d}"
    return f"{sign}{n // 3600:02d}:{n // 60 % 60:02d}:{n % 60:02d}"


def time_text(ms: int) -> str:
    """Milliseconds as hh:mm:ss.mmm."""
    sign, ms = ("-", -ms) if ms < 0 else ("", ms)
    return f"{sign}{clock_text(ms // 1000)}.{ms % 1000:03d}"


def span_text(ns: int) -> str:
    """Nanoseconds as dDhh:mm:ss.nnnnnnnnn."""
    sign, ns = ("-", -ns) if ns < 0 else ("", ns)
    days, nanoseconds = divmod(ns, DAY)
    return (
        f"{sign}{days}D{clock_text(nanoseconds // 1_000_000_000)}.{nanoseconds % 1_000_000_000:09d}"
    )


def stamp_text(ns: int) -> str:
    """The timestamp that many nanoseconds after 2000.01.01."""
    days, nanoseconds = divmod(ns, DAY)
    return f"{date_text(days)}D{clock_text(nanoseconds // 1_000_000_000)}.{nanoseconds % 1_000_000_000:09d}"


def datetime_text(v: float) -> str:
    """The datetime that many days after 2000.01.01, to the millisecond."""
    days, milliseconds = divmod(int(np.floor(v * 86_400_000 + 0.5)), 86_400_000)
    return f"{date_text(days)}T{time_text(milliseconds)}"


def guid_text(v: bytes) -> str:
    """Sixteen bytes as a guid is written."""
    digits = bytes(v).hex()
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


_PLAIN: dict[int, Callable[[Any], str]] = {
    T.H: str, T.I: str, T.J: str, T.P: stamp_text, T.M: month_text, T.D: date_text, T.Z: datetime_text,
    T.N: span_text, T.U: lambda v: clock_text(v, False), T.V: clock_text, T.T: time_text,
}  # fmt: skip
# types without null or infinity, or whose null has no special word
_ALWAYS: dict[int, Callable[[Any], str]] = {
    T.B: lambda v: "1" if v else "0", T.X: "{:02x}".format, T.G: guid_text, T.S: lambda v: sym_at(v).s,
    T.C: lambda v: chr(v if v < 128 else 0xDC00 + v),  # bytes that are not characters are written unchanged
}  # fmt: skip


def raw_text(t: int, v: Any, digits: int, null: str = "") -> str:
    """The text of a raw value of type t without type marks; for a null, the text `null`."""
    writer = _ALWAYS.get(t)
    if writer is not None:
        return writer(v)
    if t in T.FLOATS:
        if v != v:
            return null
        if v in (T.INF, -T.INF):
            return "0w" if v > 0 else "-0w"
        return datetime_text(v) if t == T.Z else float_text(v, digits)
    type_row = T.TYPE[t]
    if v == type_row.null:
        return null
    if t != T.H and (v == type_row.inf or v == -type_row.inf):  # short infinity has no word
        return "0W" if v > 0 else "-0W"
    return _PLAIN[t](v)


# ------------------------------------------------------------------ the items of a vector


def _extreme(a: np.ndarray, t: int) -> bool:
    """Does a contain a null or an infinity?"""
    if not a.size:
        return False
    if t in T.FLOATS:
        return not bool(np.isfinite(a).all())
    type_row = T.TYPE[t]
    return bool(a.min() <= -type_row.inf or a.max() == type_row.inf)


def extremes(t: int, a: np.ndarray) -> np.ndarray:
    """Which items are nulls or infinities."""
    if t in T.FLOATS:
        return ~np.isfinite(a)
    infinity = T.TYPE[t].inf
    return (a <= -infinity) | (a == infinity)


def enum_values(v: Vec) -> Vec | None:
    """The items that an enumeration stands for; None if its list does not exist."""
    try:
        domain = running().names.find(v.dom)
    except LookupError:
        domain = None
    if domain.__class__ is Dict and domain.k.__class__ is Table and len(domain.k.cols) == 1:
        domain = domain.k.cols[0]
    if domain.__class__ is not Vec:
        return None
    return take_at(domain, v.a)


_FEW = 16  # shorter vectors are formatted item by item


def text_matrix(t: int, a: np.ndarray) -> np.ndarray | None:
    """The texts of dates, times or timestamps (none null or infinite) as rows of characters; None if they have no such
    layout."""
    if t not in (T.D, T.T, T.P) or len(a) < _FEW or _extreme(a, t):
        return None
    days, times = (a, None) if t == T.D else (None, a) if t == T.T else np.divmod(a, DAY)
    if days is not None and not _FIRST_DAY <= int(days.min()) <= int(days.max()) <= _LAST_DAY:
        return None
    if times is not None and not 0 <= int(times.min()) <= int(times.max()) < (
        DAY if t == T.P else DAY // 1_000_000
    ):
        return None
    characters = np.empty((len(a), {T.D: 10, T.T: 12, T.P: 29}[t]), np.uint8)
    if days is not None:
        _put_dates(characters, days)
    if times is not None:
        _put_times(characters, times, *((11, 9) if t == T.P else (0, 3)))
        if t == T.P:
            characters[:, 10] = 68
    return characters


def _put_dates(out: np.ndarray, day: np.ndarray) -> None:
    """Format days since 2000 into character rows, as 2000.01.01."""
    least = int(day.min())
    count = int(day.max()) - least + 1
    if count < len(day):  # each day is there several times
        days = np.empty((count, 10), np.uint8)
        _put_dates(days, np.arange(least, least + count))
        out[:, :10] = days[day - least]
        return
    date = day.astype(np.int64).astype("M8[D]") + np.timedelta64(10957, "D")
    month = date.astype("M8[M]")
    months = month.astype(np.int64)
    for column, width, value in (
        (0, 4, months // 12 + 1970),
        (5, 2, months % 12 + 1),
        (8, 2, (date - month).astype(np.int64) + 1),
    ):
        _digits(out, column, width, value)
    out[:, 4] = out[:, 7] = 46


def _put_times(out: np.ndarray, rest: np.ndarray, at: int, places: int) -> None:
    """Write times of day into rows of characters from a column on, as 00:00:00.000, with so many places."""
    second, fraction = np.divmod(rest.astype(np.int64), 10**places)
    minute = second // 60
    for start, width, value in (
        (at, 2, minute // 60),
        (at + 3, 2, minute % 60),
        (at + 6, 2, second % 60),
        (at + 9, places, fraction),
    ):
        _digits(out, start, width, value)
    out[:, at + 2] = out[:, at + 5] = 58
    out[:, at + 8] = 46


def _digits(out: np.ndarray, at: int, width: int, value: np.ndarray) -> None:
    """Write numbers as digits into character columns."""
    value = value.astype(np.int32)
    for column in range(at + width - 1, at - 1, -1):
        value, digit = np.divmod(value, 10)
        out[:, column] = digit + 48


def raw_texts(t: int, a: np.ndarray, digits: int, null: str = "") -> list[str]:
    """`raw_text` of every item of a one-dimensional array of type t."""
    if t == T.G:
        return [guid_text(guid) for guid in a]
    matrix = text_matrix(t, a)
    if matrix is not None:
        return matrix.view(f"S{matrix.shape[1]}").ravel().astype(str).tolist()
    raws = a.tolist()
    writer = _ALWAYS.get(t)
    if writer is not None:
        return list(map(writer, raws))
    if _extreme(a, t):
        special = extremes(t, a)
        texts = raw_texts(t, np.where(special, a.dtype.type(0), a), digits, null)
        for index in np.flatnonzero(special).tolist():
            texts[index] = raw_text(t, raws[index], digits, null)
        return texts
    if t == T.F or t == T.E:
        form = f"%.{digits or 17}g"
        return [form % raw for raw in raws]
    return list(map(_PLAIN[t], raws))


def integer_flat(t: int, a: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """The texts of integers (none null or infinite) concatenated in a character array, and their sizes; None for other
    types, short vectors or unsuitable values."""
    if t not in (T.H, T.I, T.J) or len(a) < _FEW or _extreme(a, t):
        return None
    below = a < 0
    quotient = np.abs(a)
    if t == T.J and int(quotient.max()) < 1 << 31:
        quotient = quotient.astype(np.int32)  # faster to divide
    sizes = (
        np.searchsorted(_TENS[: 10 if quotient.dtype != np.int64 else None], quotient, "right") + 1
    )
    bounds = np.cumsum(sizes + below)
    characters = np.full(int(bounds[-1]), 45, np.uint8)
    positions = bounds - 1
    while True:
        above = quotient // 10
        characters[positions] = quotient - above * 10 + 48
        unfinished = np.flatnonzero(above)
        if not len(unfinished):
            return characters, sizes + below
        quotient, positions = above, positions - 1
        if len(unfinished) < len(quotient):
            quotient, positions = quotient[unfinished], positions[unfinished]


_TENS = 10 ** np.arange(1, 19)


def vec_texts(v: Vec, digits: int, null: str = "") -> list[str]:
    """The bare texts of a vector's items; for an enumeration, those of its values."""
    if v.t != T.ENUM:
        return raw_texts(v.t, v.a, digits, null)
    targets = enum_values(v)
    return (
        [str(number) for number in v.a.tolist()]
        if targets is None
        else vec_texts(targets, digits, null)
    )


# ------------------------------------------------------------------ q source

SUFFIX = {T.H: "h", T.I: "i", T.E: "e", T.F: "f", T.M: "m"}
_ESCAPES = {10: "\\n", 13: "\\r", 9: "\\t", 34: '\\"', 92: "\\\\"}
_ESCAPED = {n: _ESCAPES.get(n) or (chr(n) if 32 <= n < 127 else f"\\{n:03o}") for n in range(256)}
_PRINTABLE = re.compile(rb"[ !#-\[\]-~]*")


def quoted(data: bytes) -> str:
    """A q string in quotes, with control characters and non-ASCII bytes as octal escapes."""
    if _PRINTABLE.fullmatch(data):
        return f'"{data.decode("ascii")}"'
    return '"' + "".join([_ESCAPED[byte] for byte in data]) + '"'


def null_word(t: int) -> str:
    """How a null of type t is written, before its suffix."""
    return "0n" if t == T.F else "0N"


def suffix_for(t: int, texts: list[str]) -> str:
    """The suffix for numbers or times of type t written as these words; empty if the words show the type."""
    if t == T.J:
        return ""
    if t == T.F:
        return "" if any(character in text for text in texts for character in ".enw") else "f"
    if t == T.E and len(texts) == 1 and "e" in texts[0]:
        return ""  # q's console: 6.777422e-05, with no further letter after the exponent
    if t in SUFFIX:
        return SUFFIX[t]
    return "" if any(text[-1] not in "NWw" for text in texts) else T.TYPE[t].char


def vec_words(t: int, texts: list[str]) -> str:
    """Numbers or times of type t on one line, with a suffix if the words do not show the type."""
    return " ".join(texts) + suffix_for(t, texts)


def marked(t: int, texts: list[str]) -> str:
    """Items of type t, given as words, in q source form."""
    if t == T.S:
        return "`" + "`".join(texts)
    if t == T.B:
        return "".join(texts) + "b"
    if t == T.X:
        return "0x" + "".join(texts)
    return " ".join(texts) if t == T.G else vec_words(t, texts)


def atom_text(t: int, v: Any, digits: int) -> str:
    """The q source for an atom of type t with raw value v."""
    if t == T.C:
        return quoted(bytes((v,)))
    return marked(t, [raw_text(t, v, digits, null_word(t))])


def atom_string(x: Value, digits: int) -> str | None:
    """`string` of an atom; None if x is not an atom (or is a function)."""
    kind = x.__class__
    if kind is int:
        return str(x)
    if kind is float:
        return raw_text(T.F, x, digits)
    if kind is bool:
        return "1" if x else "0"
    if x.__class__ is Sym:
        return x.s
    if x.__class__ is Special:
        return raw_text(T.J, x.v, digits)
    if x.__class__ is Atom:
        return raw_text(x.t, x.v, digits)
    if x.__class__ is EnumAtom:
        return vec_texts(Vec(T.ENUM, np.array([x.v]), "", x.dom), digits)[0]
    return None
