"""Rows drawn by weight, with replacement, as torch's WeightedRandomSampler draws them: a row comes with a probability
in proportion to its weight, as many rows a pass as there are.

The sums of the weights of the parts are known from one reading. Of a pass, how many rows each part gives is drawn from
these sums; which ones, from the weights in the part, when it is read. So no more than a window and a part are in
memory, and the rows of a pass are a function of the seed and the number of the pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from kshell.errors import CallError, QError
from kshell.kapi.base.convert import kname
from kshell.kapi.tables.order import Order
from kshell.kapi.tables.rows import Rows
from kshell.values.base import types as T
from kshell.values.base.core import Table, Vec
from kshell.values.items.pick import take_at

_NUMBERS = (T.B, T.X, T.H, T.I, T.J, T.E, T.F)
_DRAWS = 1 << 40  # from here on the numbers that an order makes for draws, beside those for windows


class Draw(NamedTuple):
    """So many rows that a part gives to a window; `number` counts these."""

    part: int
    rows: int
    number: int


class Weights:
    """The weights of the rows of a table, in one of its columns."""

    def __init__(self, rows: Rows, column: str, call: str) -> None:
        self._rows, self._column = rows, column
        self.counts: list[int] = []
        sums: list[float] = []
        kept: list[np.ndarray] = []
        for i in range(len(rows)):
            ends = self._up_to(*rows.taken(i), rows.parts.where(i))
            self.counts.append(len(ends))
            sums.append(ends[-1] if len(ends) else 0.0)
            if rows.free:
                kept.append(ends)
        self.n, self._sums = sum(self.counts), np.array(sums)
        total = float(np.cumsum(self._sums)[-1])
        if not self.n:
            raise CallError(call, at="weight", expected="rows", given=f"none in {rows.parts.what}")
        if not 0 < total < np.inf:
            raise CallError(
                call,
                at="weight",
                expected="a sum above zero" if not total else "a finite sum",
                given=f"the column {column}, {'all of it' if not total else 'with a sum of'} {total:g}",
            )
        # of a table of which any row can be read alone, the weights of all rows up to each
        starts = np.cumsum([0.0, *sums[:-1]])
        self._ends = (
            np.concatenate([a + s for a, s in zip(kept, starts, strict=True)]) if kept else None
        )

    def _up_to(self, table: Table, at: np.ndarray | None, where: str) -> np.ndarray:
        """For each row of a part, the sum of the weights up to it."""
        column = table.col(self._column)
        if column.__class__ is not Vec or column.t not in _NUMBERS:
            if not len(column):
                return np.zeros(0)
            raise QError(
                f"{where}: column {self._column}: expected numbers as weights, given {kname(column)}"
            )
        a = column.a.astype(np.float64)
        null = _nulls(column.a)
        wrong = null | (a < 0) | np.isinf(a)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            told = "a null" if null[row] else f"the weight {a[row]:g}"
            raise QError(
                f"{where}: column {self._column} has {told} in row {row if at is None else at[row]}, "
                "expected finite weights, none below zero"
            )
        with np.errstate(over="ignore"):
            return np.cumsum(a)

    # ------------------------------------------------------------ a pass

    def windows(self, order: Order) -> Iterator[list[Draw]]:
        """What the parts give to each window of a pass. A part that gives more rows than it has, and than a quarter of
        a window, gives them in several goes."""
        window: list[Draw] = []
        have = 0
        for number, (part, rows) in enumerate(self._goes(order)):
            window.append(Draw(part, rows, number))
            have += rows
            if have >= order.window:
                yield window
                window, have = [], 0
        if window:
            yield window

    def _goes(self, order: Order) -> list[tuple[int, int]]:
        """The parts in the order of a pass, and how many rows each gives."""
        there = np.flatnonzero(self._sums)
        sums = self._sums[there]
        given = order.numbers(_DRAWS).multinomial(self.n, sums / sums.sum())
        goes: list[tuple[int, int]] = []
        for part, rows in zip(there.tolist(), given.tolist(), strict=True):
            most = max(self.counts[part], order.window // 4)
            whole, rest = divmod(rows, most)
            goes += [(part, most)] * whole + [(part, rest)] * bool(rest)
        return [goes[i] for i in order.parts(len(goes))]

    def taken(self, order: Order, draw: Draw) -> tuple[Table, np.ndarray]:
        """The rows that a part gives, and where they are in it."""
        table, at = self._rows.taken(draw.part)
        where = self._rows.parts.where(draw.part)
        ends = self._up_to(table, at, where)
        if not len(ends) or not ends[-1] > 0:
            raise QError(
                f"{where}: column {self._column} has no weights above zero, as it had when the data was set"
            )
        found = _drawn(ends, draw.rows, order.numbers(_DRAWS + 1 + draw.number))
        return take_at(table, found), found if at is None else at[found]

    def anywhere(self, order: Order) -> np.ndarray:
        """The rows of a pass over a table of which any row can be read alone."""
        assert self._ends is not None
        return _drawn(self._ends, self.n, order.numbers(_DRAWS))[order.rows(0, self.n)]


def _nulls(a: np.ndarray) -> np.ndarray:
    if a.dtype.kind == "f":
        return np.isnan(a)
    return a == np.iinfo(a.dtype).min if a.dtype.kind == "i" else np.zeros(len(a), bool)


def _drawn(ends: np.ndarray, n: int, numbers: np.random.Generator) -> np.ndarray:
    """n rows in ascending order, each by its weight; `ends` are the sums of the weights up to each row."""
    last = int(np.searchsorted(ends, ends[-1]))  # the last row with a weight
    places = numbers.random(n)
    places.sort()  # in order they are found several times faster
    found = np.searchsorted(ends, places * ends[-1], side="right")
    return np.minimum(found, last)
