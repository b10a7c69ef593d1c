"""Tok: text to values, as `"J"$"12"`; one string at a time, or a list of them with whole-column work."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs import when
from kshell.values import types as T
from kshell.values.build import collapse, empty, guid_vec
from kshell.values.cast import months_to_days
from kshell.values.core import Atom, Dict, List, Nd, Table, Value, Vec, atom, sym, sym_codes
from kshell.values.dispatch import Array
from kshell.values.rows import Rows, rows_of, string_rows

_FEW = 8  # strings; a longer list is parsed as a column
_INT = re.compile(rb"[+-]?\d+\Z")
_FLOAT = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")
_HEX = re.compile(rb"(0x)?[0-9a-fA-F]{1,2}\Z")
_GUID = re.compile(rb"[0-9a-fA-F]{8}-?([0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}\Z")
_IP = re.compile(rb"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})\Z")


def tok_text(y: Vec) -> str:
    """The text of a string without blanks around it."""
    return y.a.tobytes().strip(b" ").decode("utf-8", "surrogateescape")


def tok(t: int, y: Value) -> Value:
    """The strings in y parsed as type t; what is no such value gives null."""
    c = y.__class__
    if c is Vec and y.t == T.C:
        return tok_bytes(t, y.a.tobytes())
    if c is Atom and y.t == T.C:
        return tok_bytes(t, bytes([y.v]))
    if c is List:
        return _tok_list(t, y)
    if c is Nd and y.t == T.C and y.a.ndim == 2:
        return _tok_list(t, y)
    if c is Nd:
        return collapse([tok(t, i) for i in y.items])
    if c is Dict:
        return Dict(y.k, tok(t, y.v))
    if c is Table:
        return Table(y.names, [tok(t, col) for col in y.cols])
    if t == T.S and (getattr(y, "t", 0) == T.S):
        return y
    raise QError("type")


def _tok_list(t: int, x: List) -> Value:
    if not len(x):
        return empty(t)
    rows = string_rows(x)
    return collapse([tok(t, i) for i in x.items]) if rows is None else tok_rows(t, rows)


def tok_bytes(t: int, s: bytes) -> Value:
    """One text parsed as type t: an atom (of "C", the string itself unless it is one character)."""
    if t == T.C:
        return Atom(T.C, s[0]) if len(s) == 1 else Vec(T.C, np.frombuffer(s, np.uint8))
    raw = _PARSERS[t](s.strip(b" "))
    return raw if t == T.S else atom(t, T.NULL[t] if raw is None else raw)


def tok_strings(t: int, items: list[bytes]) -> Value:
    """A list of texts parsed as type t: a vector."""
    return tok_rows(t, rows_of(items)) if t != T.C else collapse([tok_bytes(t, s) for s in items])


def tok_rows(t: int, rows: Rows) -> Value:
    """Texts parsed as type t: a vector."""
    if t == T.C:
        return collapse([tok_bytes(t, s) for s in rows.items()])
    parse = _PARSERS[t]
    if t == T.S:
        return _symbols(rows)
    if t == T.G:
        return guid_vec([parse(s.strip(b" ")) or T.NULL[T.G] for s in rows.items()])
    null = T.NULL[t]
    column, right = _COLUMNS.get(t, (None, False)) if len(rows) > _FEW else (None, False)
    m = rows.matrix(right) if column is not None else None
    if m is None or (m == 32).any():
        rows = rows.stripped()
        m = rows.matrix(right) if column is not None else None
    if m is None or column is None:
        raws = [parse(s.strip(b" ")) for s in rows.items()]
        return Vec(t, np.array([null if r is None else r for r in raws], T.DTYPE[t]))
    found, good = column(t, m, rows)
    out = found.astype(T.DTYPE[t], copy=False)
    if good.all():
        return Vec(t, out)
    nothing = rows.sizes == 0
    out[nothing] = null
    for k in np.flatnonzero(~(good | nothing)).tolist():
        raw = parse(rows.item(k).strip(b" "))
        out[k] = null if raw is None else raw
    return Vec(t, out)


def _symbols(rows: Rows) -> Vec:
    """The symbols of texts, each different text looked up once."""
    ids = rows.ids() if len(rows) > _FEW else None
    if ids is not None and len(ids[0]) * 4 < len(rows):
        first, which = ids
        known = sym_codes([rows.item(k).strip(b" ").decode("utf-8", "surrogateescape") for k in first.tolist()])
        return Vec(T.S, known[which])
    items = rows.stripped().items()
    joined = b"\n".join(items)
    if joined.count(b"\n") == len(items) - 1:  # one text is quicker to decode than many
        return Vec(T.S, sym_codes(joined.decode("utf-8", "surrogateescape").split("\n")))
    return Vec(T.S, sym_codes([s.decode("utf-8", "surrogateescape") for s in items]))


# ------------------------------------------------------------------ columns


def _number(m: Array) -> tuple[Array, Array]:
    """The numbers whose digits are the rows of an array, at most 19, and which are digits alone: ints of less than five
    digits, longs of more. Two rows at a time become one, in the least type that holds it."""
    digits = m - np.uint8(48)
    good = digits.max(axis=0) <= 9
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
    return digits[0].astype(np.int32 if len(m) < 5 else np.int64), good


def _signs(m: Array, rows: Rows) -> Array:
    """Which of the texts that end where the columns do begin with a minus sign, which becomes a nought."""
    negative: Array = (rows.first() == 45) & (rows.sizes > 0)
    if negative.any():
        at = np.flatnonzero(negative)
        m[len(m) - rows.sizes[at], at] = 48
    return negative


def _int_column(t: int, m: Array, rows: Rows) -> tuple[Array, Array]:
    negative = _signs(m, rows)
    value, good = _number(m[-19:])
    count = rows.sizes - negative
    good &= (count > 0) & (count <= 18) & (value <= T.TYPE[t].inf)
    return np.where(negative, -value, value) if negative.any() else value, good


_TENS = 10.0 ** np.arange(23)


def _float_column(t: int, m: Array, rows: Rows) -> tuple[Array, Array]:
    """At most 15 digits and a point are a whole number and a power of ten, whose quotient is exact."""
    negative = _signs(m, rows)
    m = m[-17:]
    points = m == 46
    count = rows.sizes - negative
    after = np.zeros(m.shape[1], np.uint8)
    pointed = points.sum(axis=0, dtype=np.uint8)
    if pointed.any():
        count = count - pointed
        behind = pointed == 0  # of texts without a point all digits stay where they are
        digits = np.full_like(m, 48)
        digits[1:] = m[:-1]  # those before a point move over it
        for k, row in enumerate(m):
            np.copyto(digits[k], row, where=behind)
            after += behind.view(np.uint8)
            behind |= points[k]
        after *= pointed
        m = digits
    value, good = _number(m)
    good &= (count > 0) & (count <= 15) & (pointed <= 1)
    out = value / _TENS.take(after, mode="clip")
    if negative.any():
        out = np.where(negative, -out, out)
    late = np.flatnonzero(~good & (rows.sizes > 0))
    left = Rows(rows.raw, rows.starts[late], rows.sizes[late], rows.data).matrix()
    if left is not None:
        rest = np.ascontiguousarray(left.T)
        ok = _IN_FLOAT[rest].all(axis=1) & (rest[:, 0] != 0)
        try:
            out[late[ok]] = rest[ok].view(f"S{rest.shape[1]}").ravel().astype(np.float64)
            good[late[ok]] = True
        except ValueError:
            pass
    return out, good


_IN_FLOAT = np.zeros(256, np.bool_)
_IN_FLOAT[list(b"\0" + b"0123456789+-.eE")] = True


def _stamp_column(t: int, m: Array, rows: Rows) -> tuple[Array, Array]:
    """yyyy.mm.ddDhh:mm:ss, perhaps with .nnnnnnnnn, of which digits at the end may be missing."""
    if not 19 <= len(m) <= 29:
        return _none(m)
    day, good = _date_column(T.D, m[:10], rows)
    good &= (m[10] == 68) | (m[10] == 84) | (m[10] == 32)
    second, ok = _time_column(T.V, m[11:19], rows)
    good &= ok & (np.abs(day) < 100_000)
    part: Array | int = 0
    if len(m) > 20:
        found, ok = _number(np.where(m[20:] == 0, np.uint8(48), m[20:]))
        good &= ok
        part = found.astype(np.int64) * 10 ** (29 - len(m))
    if len(m) > 19:
        good &= (m[19] == 46) | (m[19] == 0)
    return (day.astype(np.int64) * 86400 + second) * 1_000_000_000 + part, good


def _none(m: Array) -> tuple[Array, Array]:
    """No text is of the form that is laid out as columns."""
    n = m.shape[1]
    return np.zeros(n, np.int64), np.zeros(n, np.bool_)


def _date_column(t: int, m: Array, rows: Rows) -> tuple[Array, Array]:
    """yyyy.mm.dd, with . - or / between."""
    if len(m) != 10:
        return _none(m)
    good = ((m[4] == 46) | (m[4] == 45) | (m[4] == 47)) & (m[4] == m[7])
    (year, a), (month, b), (day, c) = _number(m[:4]), _number(m[5:7]), _number(m[8:])
    good &= a & b & c & (year > 0) & (month >= 1) & (month <= 12) & (day >= 1)
    if not good.any():
        return _none(m)
    first = np.where(good, (year - 2000) * 12 + month - 1, 0)
    low = int(first.min())
    starts = months_to_days(np.arange(low, int(first.max()) + 2)).astype(np.int32)
    first -= low
    start = starts[first]
    good &= day <= starts[first + 1] - start
    return start + day - 1, good


def _time_column(t: int, m: Array, rows: Rows) -> tuple[Array, Array]:
    """hh:mm:ss, perhaps with .mmm"""
    if len(m) not in (8, 12):
        return _none(m)
    good = (m[2] == 58) & (m[5] == 58)
    (hour, a), (minute, b), (second, c) = _number(m[:2]), _number(m[3:5]), _number(m[6:8])
    ms: Array | int = 0
    if len(m) == 12:
        good &= m[8] == 46
        ms, ok = _number(m[9:])
        good &= ok
    good &= a & b & c & (minute < 60) & (second < 60)
    total = (hour * 60 + minute) * 60 + second
    return (total * 1000 + ms if t == T.T else total if t == T.V else total // 60), good


# with whether the texts are to end where the columns do
_COLUMNS: dict[int, tuple[Callable[[int, Array, Rows], tuple[Array, Array]], bool]] = {
    T.H: (_int_column, True), T.I: (_int_column, True), T.J: (_int_column, True),
    T.E: (_float_column, True), T.F: (_float_column, True), T.D: (_date_column, False), T.T: (_time_column, False),
    T.V: (_time_column, False), T.U: (_time_column, False), T.P: (_stamp_column, False)}


# ------------------------------------------------------------------ one text


def _integer(t: int) -> Callable[[bytes], int | None]:
    top, low = T.TYPE[t].inf, T.TYPE[t].null

    def parse(s: bytes) -> int | None:
        if _INT.match(s):
            n = int(s)
            return n if low < n <= top else None
        if s in (b"0W", b"-0W"):
            return top if s == b"0W" else -top
        if t == T.I and (ip := _IP.match(s)) is not None:
            n = 0
            for g in ip.groups():
                if int(g) > 255:
                    return None
                n = n << 8 | int(g)
            return n - (1 << 32) if n >> 31 else n
        return None

    return parse


def _floating(s: bytes) -> float | None:
    if _FLOAT.match(s):
        return float(s)
    return {b"0w": T.INF, b"-0w": -T.INF, b"0W": T.INF, b"-0W": -T.INF}.get(s)


def _boolean(s: bytes) -> bool:
    return len(s) == 1 and s in b"txyTXY1"


def _byte(s: bytes) -> int | None:
    return int(s[-2:] if s[:2] == b"0x" else s, 16) if _HEX.match(s) and s != b"0x" else None


def _guid(s: bytes) -> bytes | None:
    return bytes.fromhex(s.replace(b"-", b"").decode()) if _GUID.match(s) else None


def _symbol(s: bytes) -> Any:
    return sym(s.decode("utf-8", "surrogateescape"))


_PARSERS: dict[int, Callable[[bytes], Any]] = {
    T.B: _boolean, T.G: _guid, T.X: _byte, T.H: _integer(T.H), T.I: _integer(T.I), T.J: _integer(T.J),
    T.E: _floating, T.F: _floating, T.S: _symbol, T.P: when.timestamp, T.M: when.month, T.D: when.date,
    T.Z: when.datetime, T.N: when.timespan, T.U: when.minute, T.V: when.second, T.T: when.time}


def _bounded(t: int, parse: Callable[[bytes], int | None]) -> Callable[[bytes], int | None]:
    """The parser, with null for what is too large for the type."""
    low, high = T.TYPE[t].null, T.TYPE[t].inf

    def run(s: bytes) -> int | None:
        n = parse(s)
        return n if n is not None and low <= n <= high else None

    return run


for _t in (T.P, T.M, T.D, T.N, T.U, T.V, T.T):
    _PARSERS[_t] = _bounded(_t, _PARSERS[_t])
