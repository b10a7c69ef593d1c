"""Tok: text to values, as `"J"$"12"`; one string at a time, or a list of them with whole-column work."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs import when
from kshell.store.fields import Fields
from kshell.values import types as T
from kshell.values.build import collapse, empty, guid_vec
from kshell.values.cast import months_to_days
from kshell.values.core import Atom, Dict, List, Nd, Table, Value, Vec, atom, sym
from kshell.values.dispatch import Array
from kshell.values.keys import group_keys

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
        return _tok_list(t, y.items)
    if c is Nd and y.t == T.C and y.a.ndim == 2:
        return tok_strings(t, [row.tobytes() for row in y.a])
    if c is Nd:
        return collapse([tok(t, i) for i in y.items])
    if c is Dict:
        return Dict(y.k, tok(t, y.v))
    if c is Table:
        return Table(y.names, [tok(t, col) for col in y.cols])
    if t == T.S and (getattr(y, "t", 0) == T.S):
        return y
    raise QError("type")


def _tok_list(t: int, items: list[Value]) -> Value:
    if not items:
        return empty(t)
    if all(i.__class__ is Vec and i.t == T.C for i in items):
        return tok_strings(t, [i.a.tobytes() for i in items])
    return collapse([tok(t, i) for i in items])


def tok_bytes(t: int, s: bytes) -> Value:
    """One text parsed as type t: an atom (of "C", the string itself unless it is one character)."""
    if t == T.C:
        return Atom(T.C, s[0]) if len(s) == 1 else Vec(T.C, np.frombuffer(s, np.uint8))
    raw = _PARSERS[t](s.strip(b" "))
    return raw if t == T.S else atom(t, T.NULL[t] if raw is None else raw)


def tok_strings(t: int, items: list[bytes]) -> Value:
    """A list of texts parsed as type t: a vector."""
    if t == T.C:
        return collapse([tok_bytes(t, s) for s in items])
    parse = _PARSERS[t]
    if t == T.S:
        known = {s: parse(s.strip(b" ")).v for s in dict.fromkeys(items)}
        return Vec(T.S, np.fromiter(map(known.__getitem__, items), np.int32, len(items)))
    if t == T.G:
        return guid_vec([parse(s.strip(b" ")) or T.NULL[T.G] for s in items])
    column = _COLUMNS.get(t)
    if column is not None and len(items) > _FEW:
        m = _matrix(items)
        if m is not None:
            found, good = column(t, m)
            return _patched(t, found, good, items, parse)
    null = T.NULL[t]
    raws = [parse(s.strip(b" ")) for s in items]
    return Vec(t, np.array([null if r is None else r for r in raws], T.DTYPE[t]))


def tok_fields(t: int, fields: Fields, i: int, first: int) -> Value:
    """Column i of fields, from a row on, parsed as type t: a vector."""
    m = fields.matrix(i, first)
    column = _COLUMNS.get(t)
    if m is None or (column is None and t != T.S):
        return tok_strings(t, fields.items(i, first))
    if column is not None:
        found, good = column(t, m)
        out = found.astype(T.DTYPE[t])
        for k in np.flatnonzero(~good).tolist():
            raw = _PARSERS[t](fields.item(first + k, i).strip(b" "))
            out[k] = T.NULL[t] if raw is None else raw
        return Vec(t, out)
    w = m.shape[1]
    if w > 8:
        return tok_strings(t, fields.items(i, first))
    words = np.zeros((len(m), 8), np.uint8)
    words[:, :w] = m
    keys = words.view(np.int64).ravel()
    firsts, ids = group_keys(keys)
    known = [_symbol(fields.item(first + k, i).strip(b" ")).v for k in firsts.tolist()]
    return Vec(T.S, np.array(known, np.int32)[ids])


def _patched(t: int, found: Array, good: Array, items: list[bytes], parse: Callable[[bytes], Any]) -> Vec:
    """What the column rule could not read, read one by one."""
    out = found.astype(T.DTYPE[t])
    for i in np.flatnonzero(~good).tolist():
        raw = parse(items[i].strip(b" "))
        out[i] = T.NULL[t] if raw is None else raw
    return Vec(t, out)


# ------------------------------------------------------------------ columns


def _matrix(items: list[bytes]) -> Array | None:
    """The texts as rows of bytes, zero after the end of each; None if one is too long to be a number."""
    a = np.array(items, "S")
    w = a.dtype.itemsize
    return a.view(np.uint8).reshape(len(items), w) if w <= 40 else None


def _int_column(t: int, m: Array) -> tuple[Array, Array]:
    digit = m - np.uint8(48)
    is_digit, is_pad = digit <= 9, m == 0
    negative = m[:, 0] == 45
    ok = is_digit | is_pad
    ok[:, 0] = is_digit[:, 0] | negative
    count = is_digit.sum(axis=1)
    good = ok.all(axis=1) & (count > 0) & (count <= 18)
    v = np.zeros(len(m), np.int64)
    for k in range(m.shape[1]):
        here = is_digit[:, k]
        v = np.where(here, v * 10 + digit[:, k], v)
    top = T.TYPE[t].inf
    return np.where(negative, -v, v), good & (v <= top)


def _float_column(t: int, m: Array) -> tuple[Array, Array]:
    allowed = np.zeros(256, np.bool_)
    allowed[list(b"\0" + b"0123456789+-.eE")] = True
    good = allowed[m].all(axis=1) & (m[:, 0] != 0)
    out = np.zeros(len(m))
    try:
        out[good] = np.ascontiguousarray(m[good]).view(f"S{m.shape[1]}").ravel().astype(np.float64)
    except ValueError:
        good[:] = False
    return out, good


def _date_column(t: int, m: Array) -> tuple[Array, Array]:
    """yyyy.mm.dd, with . - or / between."""
    if m.shape[1] != 10:
        return np.zeros(len(m), np.int64), np.zeros(len(m), np.bool_)
    d = (m - np.uint8(48)).astype(np.int64)
    places = [0, 1, 2, 3, 5, 6, 8, 9]
    good = (d[:, places] <= 9).all(axis=1) & np.isin(m[:, 4], list(b".-/")) & (m[:, 4] == m[:, 7])
    year = d[:, 0] * 1000 + d[:, 1] * 100 + d[:, 2] * 10 + d[:, 3]
    month, day = d[:, 5] * 10 + d[:, 6], d[:, 8] * 10 + d[:, 9]
    good &= (year > 0) & (month >= 1) & (month <= 12) & (day >= 1)
    first = np.where(good, (year - 2000) * 12 + month - 1, 0)
    start = months_to_days(first)
    good &= day <= months_to_days(first + 1) - start
    return start + day - 1, good


def _time_column(t: int, m: Array) -> tuple[Array, Array]:
    """hh:mm:ss, perhaps with .mmm"""
    if m.shape[1] not in (8, 12):
        return np.zeros(len(m), np.int64), np.zeros(len(m), np.bool_)
    d = (m - np.uint8(48)).astype(np.int64)
    good = (d[:, [0, 1, 3, 4, 6, 7]] <= 9).all(axis=1) & (m[:, 2] == 58) & (m[:, 5] == 58)
    minute, second = d[:, 3] * 10 + d[:, 4], d[:, 6] * 10 + d[:, 7]
    ms = np.zeros(len(m), np.int64)
    if m.shape[1] == 12:
        good &= (m[:, 8] == 46) & (d[:, 9:] <= 9).all(axis=1)
        ms = d[:, 9] * 100 + d[:, 10] * 10 + d[:, 11]
    good &= (minute < 60) & (second < 60)
    total = ((d[:, 0] * 10 + d[:, 1]) * 60 + minute) * 60 + second
    return (total * 1000 + ms if t == T.T else total if t == T.V else total // 60), good


_COLUMNS: dict[int, Callable[[int, Array], tuple[Array, Array]]] = {
    T.H: _int_column, T.I: _int_column, T.J: _int_column, T.E: _float_column, T.F: _float_column, T.D: _date_column,
    T.T: _time_column, T.V: _time_column, T.U: _time_column}


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
