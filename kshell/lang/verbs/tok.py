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
    column = _COLUMNS.get(t)
    m = rows.matrix() if column is not None and len(rows) > _FEW else None
    if m is None or (m == 32).any():
        rows = rows.stripped()
        m = rows.matrix() if column is not None and len(rows) > _FEW else None
    if m is None or column is None:
        raws = [parse(s.strip(b" ")) for s in rows.items()]
        return Vec(t, np.array([null if r is None else r for r in raws], T.DTYPE[t]))
    found, good = column(t, m)
    out = found.astype(T.DTYPE[t])
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


def _digit_rows(m: Array, fraction: bool) -> tuple[Array, Array, Array, Array]:
    """The digits of each text as one number; where it is below zero; how many digits stand after the point; where that
    is right: a sign, at most 18 digits (of a fraction 15, so that the quotient is exact), at most one point."""
    n = m.shape[1]
    value = np.zeros(n, np.int64)
    count, after = np.zeros(n, np.uint8), np.zeros(n, np.uint8)
    bad, seen = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    negative = m[0] == 45
    for k, row in enumerate(m):
        digit = row - np.uint8(48)
        here = digit <= 9
        if here.all():
            value *= 10
            value += digit
        else:
            value = np.where(here, value * 10 + digit, value)
            other = here | (row == 0) if k else here | negative
            if fraction:
                point = row == 46
                bad |= point & seen
                seen |= point
                other |= point
            bad |= ~other
        count += here
        if fraction:
            after += here & seen
    return value, negative, after, ~bad & (count > 0) & (count <= (15 if fraction else 18))


def _int_column(t: int, m: Array) -> tuple[Array, Array]:
    value, negative, _, good = _digit_rows(m, False)
    good &= value <= T.TYPE[t].inf
    return np.where(negative, -value, value) if negative.any() else value, good


_TENS = 10.0 ** np.arange(23)


def _float_column(t: int, m: Array) -> tuple[Array, Array]:
    value, negative, after, good = _digit_rows(m, True)
    out = value / _TENS[np.minimum(after, 22)]
    if negative.any():
        out = np.where(negative, -out, out)
    late = np.flatnonzero(~good)
    if len(late):
        rest = np.ascontiguousarray(m[:, late].T)
        ok = _IN_FLOAT[rest].all(axis=1) & (rest[:, 0] != 0)
        try:
            out[late[ok]] = rest[ok].view(f"S{rest.shape[1]}").ravel().astype(np.float64)
            good[late[ok]] = True
        except ValueError:
            pass
    return out, good


_IN_FLOAT = np.zeros(256, np.bool_)
_IN_FLOAT[list(b"\0" + b"0123456789+-.eE")] = True


def _stamp_column(t: int, m: Array) -> tuple[Array, Array]:
    """yyyy.mm.ddDhh:mm:ss, perhaps with .nnnnnnnnn, of which digits at the end may be missing."""
    n = m.shape[1]
    if not 19 <= len(m) <= 29:
        return np.zeros(n, np.int64), np.zeros(n, np.bool_)
    day, good = _date_column(T.D, m[:10])
    good &= (m[10] == 68) | (m[10] == 84) | (m[10] == 32)
    second, ok = _time_column(T.V, m[11:19])
    good &= ok & (np.abs(day) < 100_000)
    part = np.zeros(n, np.int64)
    if len(m) > 19:
        good &= (m[19] == 46) | (m[19] == 0)
        for row in m[20:]:
            digit = np.where(row == 0, 0, row - np.uint8(48))
            good &= digit <= 9
            part *= 10
            part += digit
        part *= 10 ** (29 - len(m))
    return (day * 86400 + second) * 1_000_000_000 + part, good


def _date_column(t: int, m: Array) -> tuple[Array, Array]:
    """yyyy.mm.dd, with . - or / between."""
    n = m.shape[1]
    if len(m) != 10:
        return np.zeros(n, np.int64), np.zeros(n, np.bool_)
    good = ((m[4] == 46) | (m[4] == 45) | (m[4] == 47)) & (m[4] == m[7])
    year, month, day = (_number(m, at, good) for at in ((0, 1, 2, 3), (5, 6), (8, 9)))
    good &= (year > 0) & (month >= 1) & (month <= 12) & (day >= 1)
    if not good.any():
        return np.zeros(n, np.int64), good
    first = np.where(good, (year - 2000) * 12 + month - 1, 0)
    low = int(first.min())
    starts = months_to_days(np.arange(low, int(first.max()) + 2))
    first -= low
    start = starts[first]
    good &= day <= starts[first + 1] - start
    return start + day - 1, good


def _number(m: Array, rows: tuple[int, ...], good: Array) -> Array:
    """The number whose digits are in these rows; `good` is cleared where one is no digit."""
    out = np.zeros(m.shape[1], np.int64)
    for k in rows:
        digit = m[k] - np.uint8(48)
        good &= digit <= 9
        out *= 10
        out += digit
    return out


def _time_column(t: int, m: Array) -> tuple[Array, Array]:
    """hh:mm:ss, perhaps with .mmm"""
    n = m.shape[1]
    if len(m) not in (8, 12):
        return np.zeros(n, np.int64), np.zeros(n, np.bool_)
    good = (m[2] == 58) & (m[5] == 58)
    hour, minute, second = (_number(m, at, good) for at in ((0, 1), (3, 4), (6, 7)))
    ms = np.zeros(n, np.int64)
    if len(m) == 12:
        good &= m[8] == 46
        ms = _number(m, (9, 10, 11), good)
    good &= (minute < 60) & (second < 60)
    total = (hour * 60 + minute) * 60 + second
    return (total * 1000 + ms if t == T.T else total if t == T.V else total // 60), good


_COLUMNS: dict[int, Callable[[int, Array], tuple[Array, Array]]] = {
    T.H: _int_column, T.I: _int_column, T.J: _int_column, T.E: _float_column, T.F: _float_column, T.D: _date_column,
    T.T: _time_column, T.V: _time_column, T.U: _time_column, T.P: _stamp_column}


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
