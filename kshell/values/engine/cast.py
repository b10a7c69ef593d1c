"""Conversions between q types on whole arrays, preserving nulls: the arithmetic behind `$`, promotion and comparison.

Arrays here are raw: numpy arrays of T.DTYPE[t]; an atom is an array of one item.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.core import Atom, List, Nd, Special, Sym, Value, Vec, atom, atom_t
from kshell.values.items.pick import unenum

DAY = 86_400_000_000_000  # nanoseconds
NANOS = {T.N: 1, T.U: 60_000_000_000, T.V: 1_000_000_000, T.T: 1_000_000}
SPANS = frozenset(NANOS)
POINTS = frozenset({T.P, T.M, T.D, T.Z})
EPOCH_DAYS, EPOCH_MONTHS = 10957, 360  # 2000.01.01 counted from 1970.01.01
_LIMITS = {t: (T.TYPE[t].inf, T.NULL[t]) for t in T.SIGNED}
_GUID0 = np.zeros(1, "V16")[0]

Array = np.ndarray


def has_null(a: Array, t: int) -> bool:
    """Does a raw array of type t contain a null?"""
    if t in _LIMITS:
        return a.size > 0 and a.item(a.argmin()) == _LIMITS[t][1]
    if t in T.FLOATS:
        return bool(np.isnan(a).any())
    return t in (T.C, T.S, T.G, T.ENUM) and bool(is_null(a, t).any())


def whole(x: Vec) -> bool:
    """Is a vector of integers known to contain no null? The first answer is cached in the vector."""
    try:
        return x.whole
    except AttributeError:
        x.whole = found = not has_null(x.a, x.t)
        return found


def is_null(a: Array, t: int) -> Array:
    """Where a raw array of type t is null."""
    if t in T.FLOATS:
        return np.isnan(a)
    if t in (T.B, T.X):
        return np.zeros(a.shape, np.bool_)
    if t == T.G:
        return np.asarray(a == _GUID0)
    return np.asarray(a == T.NULL[t])


def null_mask(a: Array, t: int) -> Array | None:
    """Where a raw array of type t is null, or None if it contains no null."""
    if t in _LIMITS:
        null = _LIMITS[t][1]
        return a == null if a.size and a.item(a.argmin()) == null else None
    if t in (T.B, T.X):
        return None
    m = is_null(a, t)
    return m if m.any() else None


def number_nulls(a: Array, t: int) -> Array | None:
    """null_mask for arithmetic, where a blank is a number: its code."""
    return None if t == T.C else null_mask(a, t)


def null_raw(t: int) -> Any:
    """The raw null of a type, in a form that numpy can assign."""
    return _GUID0 if t == T.G else T.NULL[t]


def to_float(a: Array, t: int) -> Array:
    """A raw array as float64; integer nulls become nan."""
    if a.dtype == np.float64:
        return a
    r = a.astype(np.float64)
    if t in _LIMITS or t == T.ENUM:
        mask = null_mask(a, t if t != T.ENUM else T.J)
        if mask is not None:
            r[mask] = np.nan
    return r


def as_float(a: Array, t: int) -> Array:
    """A raw array in a form that a ufunc computing in float64 can read: unchanged, unless it contains integer nulls."""
    return to_float(a, t) if t == T.ENUM or (t in _LIMITS and has_null(a, t)) else a


def narrow(r: Array, t: int) -> Array:
    """int64 values, including 0N, as type t: values out of range become infinities."""
    if r.dtype == T.DTYPE[t]:
        return r
    if not r.size:
        return r.astype(T.DTYPE[t])
    top, null = _LIMITS[t]
    low, high = r.item(r.argmin()), r.item(r.argmax())
    if -top <= low and high <= top:
        return r.astype(T.DTYPE[t])
    out = np.clip(r, -top, top).astype(T.DTYPE[t])
    if low == T.NULL[T.J]:
        out[r == low] = null
    return out


def from_float(a: Array, t: int) -> Array:
    """Floats rounded to integers of type t; nan becomes null, values out of range infinities."""
    r = np.floor(a.astype(np.float64) + 0.5)
    return float_to_int(r, t)


def float_to_int(r: Array, t: int) -> Array:
    """Whole-numbered floats as integers of type t; nan becomes null, values out of range infinities."""
    top, null = _LIMITS[t]
    if not r.size:
        return r.astype(T.DTYPE[t])
    low, high = float(r.min()), float(r.max())
    edge = float(top)
    if -edge < low and high < edge:  # also false for nan
        return r.astype(T.DTYPE[t])
    odd = np.isnan(r)
    safe = np.where(odd | (np.abs(r) >= edge), 0.0, r).astype(T.DTYPE[t])
    safe[r >= edge] = top
    safe[r <= -edge] = -top
    safe[odd] = null
    return safe


def widen(a: Array, f: int, t: int) -> Array:
    """Integers of type f as the wider type t; null becomes the wider null."""
    r = a.astype(T.DTYPE[t])
    if f in _LIMITS and f != t:
        mask = null_mask(a, f)
        if mask is not None:
            r[mask] = T.NULL[t]
    return r


def convert(a: Array, f: int, t: int) -> Array:
    """A raw array of type f as type t, as by `t$x`; 'type if q has no such conversion."""
    if f == t:
        return a
    if f == T.ENUM:
        f = T.J
        if t == T.J:
            return a
    if f in (T.S, T.G) or t in (T.S, T.G, T.ENUM):
        raise QError("type")
    if t == T.B:
        return a != 0
    if f in T.TEMPORAL and t in T.TEMPORAL:
        return _temporal(a, f, t)
    if t in (T.X, T.C):
        return _bytes(a, f)
    if t in T.FLOATS:
        return to_float(a, f).astype(T.DTYPE[t])
    if f in T.FLOATS:
        return from_float(a, t)
    if f not in _LIMITS:
        return a.astype(T.DTYPE[t])
    if a.dtype.itemsize <= T.DTYPE[t].itemsize:
        return widen(a, f, t)
    return narrow(a if a.dtype == np.int64 else widen(a, f, T.J), t)


def _bytes(a: Array, f: int) -> Array:
    """Numbers as bytes: the low byte of the nearest int."""
    if f in (T.B, T.X, T.C):
        return a.astype(np.uint8)
    if f == T.H:
        return (a & 0xFF).astype(np.uint8)
    i = a if a.dtype == np.int32 else convert(a, f, T.I)
    return (i & 0xFF).astype(np.uint8)


# ------------------------------------------------------------------ temporals


def days_to_months(d: Array) -> Array:
    """Day numbers (int64, from 2000.01.01) as month numbers (from 2000.01)."""
    return (d + EPOCH_DAYS).view("M8[D]").astype("M8[M]").view(np.int64) - EPOCH_MONTHS


def months_to_days(m: Array) -> Array:
    """Month numbers as the day number of the first of the month."""
    return (m + EPOCH_MONTHS).view("M8[M]").astype("M8[D]").view(np.int64) - EPOCH_DAYS


def _millis(z: Array) -> tuple[Array, Array]:
    """Datetimes as whole days and milliseconds of the day."""
    day = np.floor(z)
    ms = np.floor((z - day) * 86_400_000.0 + 0.5)
    over = ms >= 86_400_000.0
    return (day + over).astype(np.int64), np.where(over, 0, ms).astype(np.int64)


def _temporal(a: Array, f: int, t: int) -> Array:
    """Conversion between temporal types; null stays null."""
    mask = null_mask(a, f)
    if mask is not None:
        a = np.where(mask, 0, a).astype(a.dtype)
    r = _temporal_raw(a, f, t)
    if r.dtype != T.DTYPE[t]:
        r = r.astype(T.DTYPE[t]) if t == T.Z else narrow(r, t)
    if mask is not None:
        r = np.where(mask, T.NULL[t], r).astype(T.DTYPE[t])
    return r


def _temporal_raw(a: Array, f: int, t: int) -> Array:
    if f in SPANS:
        ns = a.astype(np.int64) * NANOS[f]
        if t in SPANS:
            return ns // NANOS[t]
        return ns if t == T.P else ns / DAY if t == T.Z else _from_days(ns // DAY, t)
    if f == T.Z:
        day, ms = _millis(a)
        return (
            ms * 1_000_000 // NANOS[t]
            if t in SPANS
            else day * DAY + ms * 1_000_000
            if t == T.P
            else _from_days(day, t)
        )
    if f == T.P:
        if t in SPANS:
            return a % DAY // NANOS[t]
        return a / DAY if t == T.Z else _from_days(a // DAY, t)
    day = months_to_days(a.astype(np.int64)) if f == T.M else a.astype(np.int64)
    if t in SPANS:
        return np.zeros(a.shape, np.int64)
    if t == T.P:
        return np.where(np.abs(day) > 106_751, np.sign(day) * T.LONG_MAX, day * DAY)
    return day.astype(np.float64) if t == T.Z else _from_days(day, t)


def _from_days(day: Array, t: int) -> Array:
    return days_to_months(day) if t == T.M else day


_PARTS = ("year", "mm", "dd", "week", "hh", "uu", "ss")


def is_part(name: str) -> bool:
    """Is it the name of a temporal part that is not a type: year, mm, dd, week, hh, uu, ss?"""
    return name in _PARTS


def part_array(a: Array, f: int, name: str) -> tuple[int, Array]:
    """Part `name` of temporals of type f: (result type, raw array). 'type if f has no such part."""
    if name == "mm" and f in SPANS:
        name = "uu"  # for a time of day, mm means minutes
    calendar = name in ("year", "mm", "dd", "week")
    if (
        f not in T.TEMPORAL
        or (calendar and f in SPANS)
        or (f == T.M and name not in ("year", "mm"))
        or (f == T.D and not calendar)
    ):
        raise QError("type")
    mask = null_mask(a, f)
    if mask is not None:
        a = np.where(mask, 0, a).astype(a.dtype)
    r = _calendar(a, f, name) if calendar else _clock(a, f, name)
    t = T.D if name == "week" else T.I
    r = r.astype(np.int32)
    if mask is not None:
        r[mask] = T.NULL[t]
    return t, r


def _calendar(a: Array, f: int, name: str) -> Array:
    if name in ("year", "mm"):
        month = convert(a, f, T.M).astype(np.int64)
        return month // 12 + 2000 if name == "year" else month % 12 + 1
    day = convert(a, f, T.D).astype(np.int64)
    return day - (day - 2) % 7 if name == "week" else day - months_to_days(days_to_months(day)) + 1


def _clock(a: Array, f: int, name: str) -> Array:
    ns = convert(a, f, T.N)
    second = ns // 1_000_000_000
    return second // 3600 if name == "hh" else second // 60 % 60 if name == "uu" else second % 60


# ------------------------------------------------------------------ values


def array1(x: Value, t: int) -> Array:
    """An atom of type t as a raw array of one item."""
    cls = x.__class__
    if cls is int:
        return np.array((x,))
    v: Any = x
    if cls is Special or cls is Sym or isinstance(x, Atom):
        v = v.v
        if t == T.G:
            return np.frombuffer(v, "V16")
    return np.array([v], T.DTYPE[t])


def cast_value(x: Value, t: int) -> Value:
    """An atom or vector (or rectangular nested list) converted to type t, as by `t$x`; 'type for anything else."""
    if x.__class__ is Vec:
        if x.t == t:
            return x
        if x.t == T.ENUM and t == T.S:
            return unenum(x)
        return Vec(t, convert(x.a, x.t, t))
    if x.__class__ is Nd:
        return Nd(t, convert(x.a, x.t, t)) if x.t != t else x
    qtype = atom_t(x)
    if not qtype or isinstance(x, List):
        raise QError("type")
    if qtype == t:
        return x
    if qtype == T.ENUM and t == T.S:
        return unenum(x)
    return atom(t, convert(array1(x, qtype), qtype, t)[0])
