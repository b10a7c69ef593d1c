"""Local and universal time: ltime, gtime."""

from __future__ import annotations

import time

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs.arith import add, sub
from kshell.lang.verbs.cast import part as part  # for `x.year`
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.core import Atom, Value, Vec, atom_t, raw
from kshell.values.engine.cast import EPOCH_DAYS, cast_value


def _offset(x: Value, local: bool) -> Value:
    """The UTC offset of local time at the times x, as timespans."""
    qtype = x.t if x.__class__ is Vec else atom_t(x)
    if qtype not in (T.P, T.Z):
        raise QError("type")
    timestamps = cast_value(x, T.P)
    nanoseconds = timestamps.a if timestamps.__class__ is Vec else np.array([raw(timestamps)])
    seconds = np.where(
        nanoseconds == T.NULL[T.P], 0, nanoseconds // 1_000_000_000 + EPOCH_DAYS * 86_400
    )
    if local:
        seconds = seconds - time.localtime().tm_gmtoff
    # offsets change on quarter hours
    quarters, inverse = np.unique(seconds // 900, return_inverse=True)
    offsets = np.array(
        [time.localtime(int(quarter) * 900).tm_gmtoff for quarter in quarters.tolist()], np.int64
    )
    spans = offsets[inverse] * 1_000_000_000
    return Vec(T.N, spans) if x.__class__ is Vec else Atom(T.N, int(spans[0]))


@verb("ltime")
def ltime(x: Value) -> Value:
    """Local time of a UTC timestamp or datetime.

    q)x~gtime ltime x:2024.06.01D12:00
    1b
    """
    return _like(add(x, _offset(x, False)), x)


@verb("gtime")
def gtime(x: Value) -> Value:
    """UTC of a local timestamp or datetime.

    q)type gtime 2024.06.01D12:00
    -12h
    """
    return _like(sub(x, _offset(x, True)), x)


def _like(r: Value, x: Value) -> Value:
    return cast_value(r, x.t if x.__class__ is Vec else atom_t(x))
