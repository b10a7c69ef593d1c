"""Casts of single numbers that need no array: the same as `cast_value` gives, for the values they take."""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import Any

from kshell.values.base import types as T
from kshell.values.base.core import Atom, Value

_EXACT = 1 << 52  # below it each float has a half


def _of_integers(t: int) -> Callable[[int], Value | None]:
    """A long as another type of whole numbers, if it is in range."""
    largest = T.TYPE[t].inf

    def cast(x: int) -> Value | None:
        return Atom(t, x) if -largest < x < largest else None

    return cast


def _rounded(x: float) -> int | None:
    return floor(x + 0.5) if -_EXACT < x < _EXACT else None


# by the class of the number and the type to cast to; None leaves it to `cast_value`
DIRECT: dict[tuple[type, int], Callable[[Any], Value | None]] = {
    (int, T.F): float,
    (int, T.J): int,
    (int, T.B): bool,
    (float, T.F): float,
    (float, T.J): _rounded,
    (bool, T.J): int,
    (bool, T.F): float,
    **{(int, t): _of_integers(t) for t in T.SIGNED if t != T.J},
}
