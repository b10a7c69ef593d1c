"""A hash of the values in columns of a table: the same for the same values, whatever the type that holds them, the
order of the rows, the file or the process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from kshell.errors import QError
from kshell.kapi.base.convert import kname
from kshell.kapi.tables.columns import words_of
from kshell.values.base import types as T
from kshell.values.base.build import as_nd
from kshell.values.base.core import ListValue, Table, Vec
from kshell.values.base.symbols import sym_at
from kshell.values.items.pick import unenum

# between the places of values: 2 to the 64 over the golden ratio
_STEP = np.uint64(0x9E3779B97F4A7C15)
_NULL = np.uint64(0xD6E8FEB86659FD93)  # of all types
_DAY = 86_400_000_000_000
# nanoseconds of temporal types: since 2000, or of a time
_NANOSECONDS = {T.P: 1, T.N: 1, T.D: _DAY, T.U: 60 * 10**9, T.V: 10**9, T.T: 10**6}


def shares(table: Table, names: Sequence[str], where: str) -> np.ndarray:
    """For each row a number from 0 up to, but not with, 1, by the hash of its values in some columns. Their order does
    not matter."""
    total = np.zeros(len(table), np.uint64)
    for place, name in enumerate(sorted(names)):
        total += _mixed(_hashes(table.col(name), name, where) + _place(place))
    found: np.ndarray = (_mixed(total) >> np.uint64(11)).astype(np.float64)
    return found * 2.0**-53


def _place(i: int) -> np.uint64:
    return np.uint64((int(_STEP) * (i + 1)) & 0xFFFFFFFFFFFFFFFF)


def _mixed(a: np.ndarray) -> np.ndarray:
    """Numbers whose bits all depend on all bits of the given ones."""
    a = (a ^ (a >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    a = (a ^ (a >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = a ^ (a >> np.uint64(31))
    return mixed


def _hashes(column: ListValue, name: str, where: str) -> np.ndarray:
    """The hash of each item of a column."""
    if not len(column):
        return np.zeros(0, np.uint64)
    if column.__class__ is Vec:
        plain = unenum(column)
        assert plain.__class__ is Vec
        return _of_symbols(plain.a) if plain.t == T.S else _of_vector(plain)
    found = words_of(column)
    if found is not None:
        words, places = found
        return np.array([_of_text(word) for word in words], np.uint64)[places]
    rows = as_nd(column)
    if rows is None or rows.t == T.G:
        raise QError(
            f"{where}: column {name}: expected numbers, words, times or vectors of one length to split by, "
            f"given a {kname(column)}"
        )
    each = _of_vector(Vec(rows.t, rows.a.reshape(-1))).reshape(len(rows.a), -1)
    places = np.arange(1, each.shape[1] + 1, dtype=np.uint64) * _STEP
    return np.add.reduce(_mixed(each + places), axis=1, dtype=np.uint64)


def _of_symbols(codes: np.ndarray) -> np.ndarray:
    there = np.zeros(int(codes.max()) + 1, bool)
    there[codes] = True
    hashes = np.zeros(len(there), np.uint64)
    for code in np.flatnonzero(there).tolist():
        hashes[code] = _of_text(sym_at(code).s)
    return hashes[codes]


@lru_cache(1 << 16)
def _of_text(word: str) -> int:
    digest = hashlib.blake2b(word.encode("utf-8", "surrogateescape"), digest_size=8).digest()
    return int.from_bytes(digest, "little")


def _of_vector(v: Vec) -> np.ndarray:
    """The hash of each item: numbers that are equal have the same, and nulls."""
    if v.t == T.G:
        halves = np.ascontiguousarray(v.a).view("<u8").reshape(-1, 2).astype(np.uint64)
        return _mixed(halves[:, 0] + _STEP) ^ halves[:, 1]
    if v.t == T.C:
        letters, places = np.unique(v.a, return_inverse=True)
        return np.array([_of_text(chr(c)) for c in letters.tolist()], np.uint64)[places]
    if v.t in T.FLOATS:
        return _of_reals(v.a.astype(np.float64) if v.t != T.Z else _nanoseconds_of(v.a))
    whole = v.a.astype(np.int64)
    found: np.ndarray = _WHOLE.get(v.t, lambda a: a * _NANOSECONDS.get(v.t, 1))(whole).view(
        np.uint64
    )
    return np.where(v.a == T.NULL[v.t], _NULL, found) if v.t in T.SIGNED else found


def _nanoseconds_of(days: np.ndarray) -> np.ndarray:
    """Of datetimes, which are in days, to the millisecond."""
    nanoseconds: np.ndarray = np.rint(days * 86_400_000.0) * 1e6
    return nanoseconds


def _of_reals(a: np.ndarray) -> np.ndarray:
    """Whole ones have the hash of the whole number; others count to the precision of a real, since of a real that was
    written as text there is no more."""
    with np.errstate(invalid="ignore", over="ignore"):
        is_whole = (np.abs(a) < 2.0**63) & (np.trunc(a) == a)
        real = a.astype(np.float32).view(np.uint32).astype(np.uint64)
    whole = np.where(is_whole, a, 0.0).astype(np.int64).view(np.uint64)
    found = np.where(is_whole, whole, real ^ _STEP)
    return np.where(np.isnan(a), _NULL, found)


def _first_days(months: np.ndarray) -> np.ndarray:
    """The nanoseconds of the first day of months since 2000."""
    days = (months + 360).astype("M8[M]").astype("M8[D]").astype(np.int64) - 10_957
    return days * _DAY


_WHOLE: dict[int, Callable[[np.ndarray], np.ndarray]] = {T.M: _first_days}
