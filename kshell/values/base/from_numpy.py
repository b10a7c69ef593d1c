"""Arrays that go between q and Python: the q type for each of numpy's, and the items in q's form."""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.build import regular

# numpy types -> q types that can represent every value
_TYPES = {
    "b1": T.B,
    "u1": T.X,
    "i1": T.H,
    "i2": T.H,
    "u2": T.I,
    "i4": T.I,
    "u4": T.J,
    "i8": T.J,
    "u8": T.J,
    "f2": T.E,
    "f4": T.E,
    "f8": T.F,
}
_EPOCH = {"M": 360, "D": 10957, "ns": 946_684_800_000_000_000}  # 2000.01.01, counted from 1970
# timedelta64 units for which q has types; others become timespans
_SPANS = {
    "m": T.U,
    "s": T.V,
    "ms": T.T,
}
# nanoseconds per unit
_NANOS = {
    "W": 604_800 * 10**9,
    "D": 86_400 * 10**9,
    "h": 3600 * 10**9,
    "m": 60 * 10**9,
    "s": 10**9,
    "ms": 10**6,
    "us": 1000,
    "ns": 1,
}


# q's own types, by numpy's character
NATIVE = {np.dtype(T.DTYPE[t]).char: t for t in (T.B, T.X, T.H, T.I, T.J, T.E, T.F)}


def _references(box: list[Any]) -> int:
    x = box.pop()
    return getrefcount(x)


_ALONE = _references([np.empty(0)])


def taken(box: list[Any], to_q: Callable[[Any], Any]) -> Any:
    """The q value of the one item of a list, which it is taken out of: an array that nothing else refers to becomes
    q's as it is, anything else what `to_q` makes of it."""
    x = box.pop()
    if type(x) is np.ndarray and getrefcount(x) <= _ALONE and x.base is None and x.size and x.ndim:
        qtype, flags = NATIVE.get(x.dtype.char), x.flags
        if (
            qtype is not None
            and x.dtype.isnative
            and flags.c_contiguous
            and flags.owndata
            and flags.writeable
        ):
            return regular(qtype, x)
    return to_q(x)


def view_of(a: np.ndarray) -> np.ndarray:
    """A read-only view of an array of q's, for Python."""
    view = a.view()
    view.setflags(write=False)
    return view


class NoType(QError):
    """A numpy data type without a q equivalent."""


def typed(a: np.ndarray) -> tuple[int, np.ndarray]:
    """The q type for an array of numbers, times or spans, and its items as q has them. NoType if q has no such type,
    'limit if an item is out of range."""
    kind = a.dtype.kind
    if kind in "mM" and np.datetime_data(a.dtype)[1] != 1:
        a = a.astype(f"{kind}8[{_unit(a)}]")  # a unit such as 25 seconds
    return _dates(a) if kind == "M" else _spans(a) if kind == "m" else _numbers(a)


def _numbers(a: np.ndarray) -> tuple[int, np.ndarray]:
    if a.dtype.kind == "V" and a.dtype.itemsize == 16:
        return T.G, np.array(a, "V16")
    qtype = (
        T.F
        if a.dtype.kind == "f" and a.dtype.itemsize > 8
        else _TYPES.get(f"{a.dtype.kind}{a.dtype.itemsize}")
    )
    if qtype is None:
        raise NoType(f"no q type for numpy's {a.dtype}")
    if a.dtype.kind == "u" and a.dtype.itemsize == 8 and a.size and a.max() >= T.M63:
        raise QError("limit")
    return qtype, np.array(a, T.DTYPE[qtype], order="C")


def _unit(a: np.ndarray) -> str:
    return np.datetime_data(a.dtype)[0]


def _dates(a: np.ndarray) -> tuple[int, np.ndarray]:
    unit = _unit(a)
    if unit in ("Y", "M"):
        return T.M, _counts(a.astype("M8[M]"), _EPOCH["M"], T.M)
    if unit in ("W", "D"):
        return T.D, _counts(a.astype("M8[D]"), _EPOCH["D"], T.D)
    return T.P, _counts(a, _EPOCH["ns"], T.P)


def _spans(a: np.ndarray) -> tuple[int, np.ndarray]:
    qtype = _SPANS.get(_unit(a), T.N)
    if qtype != T.N:
        known = a.astype(np.int64)[~np.isnat(a)]
        if known.size and (known.min() <= -(1 << 31) or known.max() >= 1 << 31):
            qtype = T.N
    return qtype, _counts(a, 0, qtype)


def _counts(a: np.ndarray, epoch: int, t: int) -> np.ndarray:
    """Counts since q's epoch in units of type t, null where there is no time. 'limit if out of range for the type."""
    counts, absent, factor, limit = a.astype(np.int64), np.isnat(a), 1, int(T.TYPE[t].inf)
    if t in (T.P, T.N):
        factor = _NANOS.get(_unit(a), 0)
        if not factor:  # finer than nanoseconds, or only NaT
            counts, factor = a.astype(f"{a.dtype.kind}8[ns]").astype(np.int64), 1
    shift = epoch // factor
    wrong = (counts < shift - limit // factor) | (counts > min(limit // factor + shift, T.LONG_MAX))
    if (wrong & ~absent).any():
        raise QError("limit")
    return np.asarray(np.where(absent, T.NULL[t], (counts - shift) * factor)).astype(T.DTYPE[t])
