"""Conversions between q types on whole arrays, preserving nulls: the arithmetic behind `$`, promotion and comparison.

Arrays here are raw: numpy arrays of T.DTYPE[t]; an atom is an array of one item.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.core import Atom, List, Nd, Special, Value, Vec, atom, atom_t
from kshell.values.base.symbols import Sym
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
        x.whole = complete = not has_null(x.a, x.t)
        return complete


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
    mask = is_null(a, t)
    return mask if mask.any() else None


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
    floats = a.astype(np.float64)
    if t in _LIMITS or t == T.ENUM:
        mask = null_mask(a, t if t != T.ENUM else T.J)
        if mask is not None:
            floats[mask] = np.nan
    return floats


def as_float(a: Array, t: int) -> Array:
    """A raw array in a form that a ufunc computing in float64 can read: unchanged, unless it contains integer nulls."""
    return to_float(a, t) if t == T.ENUM or (t in _LIMITS and has_null(a, t)) else a


def narrow(r: Array, t: int) -> Array:
    """int64 values, including 0N, as type t: values out of range become infinities."""
    if r.dtype == T.DTYPE[t]:
        return r
    if not r.size:
        return r.astype(T.DTYPE[t])
    largest, null = _LIMITS[t]
    lowest, highest = r.item(r.argmin()), r.item(r.argmax())
    if -largest <= lowest and highest <= largest:
        return r.astype(T.DTYPE[t])
    result = np.clip(r, -largest, largest).astype(T.DTYPE[t])
    if lowest == T.NULL[T.J]:
        result[r == lowest] = null
    return result


def from_float(a: Array, t: int) -> Array:
    """Floats rounded to integers of type t; nan becomes null, values out of range infinities."""
    rounded = np.floor(a.astype(np.float64) + 0.5)
    return float_to_int(rounded, t)


def float_to_int(r: Array, t: int) -> Array:
    """Whole-numbered floats as integers of type t; nan becomes null, values out of range infinities."""
    largest, null = _LIMITS[t]
    if not r.size:
        return r.astype(T.DTYPE[t])
    lowest, highest = float(r.min()), float(r.max())
    bound = float(largest)
    if -bound < lowest and highest < bound:  # also false for nan
        return r.astype(T.DTYPE[t])
    is_nan = np.isnan(r)
    result = np.where(is_nan | (np.abs(r) >= bound), 0.0, r).astype(T.DTYPE[t])
    result[r >= bound] = largest
    result[r <= -bound] = -largest
    result[is_nan] = null
    return result


def widen(a: Array, f: int, t: int) -> Array:
    """Integers of type f as the wider type t; null becomes the wider null."""
    result = a.astype(T.DTYPE[t])
    if f in _LIMITS and f != t:
        mask = null_mask(a, f)
        if mask is not None:
            result[mask] = T.NULL[t]
    return result


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
    ints = a if a.dtype == np.int32 else convert(a, f, T.I)
    return (ints & 0xFF).astype(np.uint8)


# ------------------------------------------------------------------ temporals


def days_to_months(d: Array) -> Array:
    """Day numbers (int64, from 2000.01.01) as month numbers (from 2000.01)."""
    return (d + EPOCH_DAYS).view("M8[D]").astype("M8[M]").view(np.int64) - EPOCH_MONTHS


def months_to_days(m: Array) -> Array:
    """Month numbers as the day number of the first of the month."""
    return (m + EPOCH_MONTHS).view("M8[M]").astype("M8[D]").view(np.int64) - EPOCH_DAYS


def _millis(z: Array) -> tuple[Array, Array]:
    """Datetimes as whole days and milliseconds of the day."""
    days = np.floor(z)
    millis = np.floor((z - days) * 86_400_000.0 + 0.5)
    overflow = millis >= 86_400_000.0
    return (days + overflow).astype(np.int64), np.where(overflow, 0, millis).astype(np.int64)


def _temporal(a: Array, f: int, t: int) -> Array:
    """Conversion between temporal types; null stays null."""
    mask = null_mask(a, f)
    if mask is not None:
        a = np.where(mask, 0, a).astype(a.dtype)
    result = _temporal_raw(a, f, t)
    if result.dtype != T.DTYPE[t]:
        result = result.astype(T.DTYPE[t]) if t == T.Z else narrow(result, t)
    if mask is not None:
        result = np.where(mask, T.NULL[t], result).astype(T.DTYPE[t])
    return result


def _temporal_raw(a: Array, f: int, t: int) -> Array:
    if f in SPANS:
        nanos = a.astype(np.int64) * NANOS[f]
        if t in SPANS:
            return nanos // NANOS[t]
        return nanos if t == T.P else nanos / DAY if t == T.Z else _from_days(nanos // DAY, t)
    if f == T.Z:
        days, millis = _millis(a)
        return (
            millis * 1_000_000 // NANOS[t]
            if t in SPANS
            else days * DAY + millis * 1_000_000
            if t == T.P
            else _from_days(days, t)
        )
    if f == T.P:
        if t in SPANS:
            return a % DAY // NANOS[t]
        return a / DAY if t == T.Z else _from_days(a // DAY, t)
    days = months_to_days(a.astype(np.int64)) if f == T.M else a.astype(np.int64)
    if t in SPANS:
        return np.zeros(a.shape, np.int64)
    if t == T.P:
        return np.where(np.abs(days) > 106_751, np.sign(days) * T.LONG_MAX, days * DAY)
    return days.astype(np.float64) if t == T.Z else _from_days(days, t)


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
    result = _calendar(a, f, name) if calendar else _clock(a, f, name)
    qtype = T.D if name == "week" else T.I
    result = result.astype(np.int32)
    if mask is not None:
        result[mask] = T.NULL[qtype]
    return qtype, result


def _calendar(a: Array, f: int, name: str) -> Array:
    if name in ("year", "mm"):
        months = convert(a, f, T.M).astype(np.int64)
        return months // 12 + 2000 if name == "year" else months % 12 + 1
    days = convert(a, f, T.D).astype(np.int64)
    return (
        days - (days - 2) % 7 if name == "week" else days - months_to_days(days_to_months(days)) + 1
    )


def _clock(a: Array, f: int, name: str) -> Array:
    nanos = convert(a, f, T.N)
    seconds = nanos // 1_000_000_000
    return seconds // 3600 if name == "hh" else seconds // 60 % 60 if name == "uu" else seconds % 60


# ------------------------------------------------------------------ values


def array1(x: Value, t: int) -> Array:
    """An atom of type t as a raw array of one item."""
    cls = x.__class__
    if cls is int:
        return np.array((x,))
    raw_item: Any = x
    if cls is Special or cls is Sym or isinstance(x, Atom):
        raw_item = raw_item.v
        if t == T.G:
            return np.frombuffer(raw_item, "V16")
    return np.array([raw_item], T.DTYPE[t])


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
