"""Splits of the rows of a table in sides, as for training and for testing: by a hash of columns, by the values of a
column, or by every n-th row.

A split gives each row the number of a piece. Cuts make one piece more than they are: rows below the first cut are piece
0. Folds are pieces of about the same size.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from kshell.errors import CallError, QError
from kshell.kapi.base.args import doubles_of, long_of, longs_of, name_of, names_of, unknown
from kshell.kapi.base.convert import kname
from kshell.kapi.base.q_calls import applied
from kshell.kapi.tables.row_hashes import shares
from kshell.kapi.tables.rows import Rows
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import List, Table, Value, Vec, long
from kshell.values.base.symbols import Sym
from kshell.values.items.pick import take_at
from kshell.values.session.context import running

TRAIN, TEST = "train", "test"  # the sides of a split
_IN_ORDER = "{(0<count x)&all[(1_x)>-1_x]&not any null x}"  # of the cuts of a column
_PIECES = '{[cuts;column]sum"j"$cuts<=\\:column}'
_FORMS = "a share, a number of folds, (cuts;columns), (folds;fold;columns) or (column;cuts)"


class Split:
    """How rows are numbered. `columns` are those that it names; `pieces` is their number; `test` is that for testing;
    of `folds` the others are all for training, else it is the first."""

    columns: Sequence[str] = ()
    by_all = False  # by all columns of the table?
    by_place = False  # by the number of the row, and by nothing else?
    folds = False

    def __init__(self, pieces: int, test: int) -> None:
        self.pieces, self.test = pieces, test

    def numbers(self, table: Table, first: int, where: str) -> np.ndarray:
        """The piece of each row; `first` is the number of the first row of these among all."""
        raise NotImplementedError


class ByHash(Split):
    """By a hash of columns, of all if none are named: cuts of the range from 0 to 1."""

    def __init__(self, cuts: Sequence[float], columns: Sequence[str], fold: int | None) -> None:
        super().__init__(len(cuts) + 1, len(cuts) if fold is None else fold)
        self.columns, self.by_all = columns, not columns
        self.folds, self._cuts = fold is not None, np.array(cuts)

    def numbers(self, table: Table, first: int, where: str) -> np.ndarray:
        found = shares(table, self.columns or table.names, where)
        return np.searchsorted(self._cuts, found, side="right")


class ByPlace(Split):
    """Every n-th row."""

    by_place = folds = True

    def numbers(self, table: Table, first: int, where: str) -> np.ndarray:
        return (first + np.arange(len(table))) % self.pieces


class ByValue(Split):
    """By the values of a column: those from a cut on, up to the next one."""

    def __init__(self, column: str, cuts: Vec) -> None:
        self.columns, self._cuts = [column], cuts
        n = len(cuts)
        super().__init__(n + 1, n)
        self._from: Value = running().evaluate(_PIECES)

    def numbers(self, table: Table, first: int, where: str) -> np.ndarray:
        column, problem = table.col(self.columns[0]), ""
        if not len(column):
            return np.zeros(0, np.int64)
        try:
            found = applied(self._from, [self._cuts, column])
            if found.__class__ is Vec and found.t in (T.I, T.J) and len(found) == len(column):
                return found.a
        except QError as e:
            problem = f" ({e.text})"
        raise QError(
            f"{where}: column {self.columns[0]}: expected values that compare with the cuts of the split, "
            f"{kname(self._cuts)}, given {kname(column)}{problem}"
        )


class Side(Rows):
    """The rows of some pieces of a split."""

    def __init__(self, rows: Rows, split: Split, piece: int, others: bool) -> None:
        self._rows, self._split, self._piece, self._others = rows, split, piece, others
        self.parts = rows.parts
        counts = rows.counted() if split.by_place else []
        self._starts = [0, *np.cumsum(counts).tolist()]
        # of a table of which any row can be read alone, the rows of this side
        self._places = self._all_places() if rows.free else None

    def _all_places(self) -> np.ndarray:
        if self._split.by_place:
            return np.flatnonzero(self._chosen(np.arange(self._starts[-1]) % self._split.pieces))
        found, start = [], 0
        for i in range(len(self)):
            _, at = self.taken(i)
            found.append(at + start)
            start += self._rows.rows_of(i) or 0
        return np.concatenate(found)

    def _chosen(self, numbers: np.ndarray) -> np.ndarray:
        return (numbers != self._piece) if self._others else (numbers == self._piece)

    def rows_of(self, i: int) -> int | None:
        if not self._split.by_place:
            return None
        start, end = self._starts[i : i + 2]
        n, piece = self._split.pieces, self._piece
        found = (end - 1 - piece) // n - (start - 1 - piece) // n
        return end - start - found if self._others else found

    def rows(self) -> int | None:
        return super().rows() if self._places is None else len(self._places)

    def taken(self, i: int) -> tuple[Table, np.ndarray]:
        table, _ = self._rows.taken(i)
        first = self._starts[i] if self._split.by_place else 0
        where = self.parts.where(i)
        at = np.flatnonzero(self._chosen(self._split.numbers(table, first, where)))
        return take_at(table, at), at

    @property
    def free(self) -> bool:
        return self._places is not None

    def places(self, rows: np.ndarray) -> np.ndarray:
        assert self._places is not None
        return self._places[rows]

    def read_at(self, rows: np.ndarray) -> Table:
        return self._rows.read_at(self.places(rows))


# ------------------------------------------------------------------ what the user gives


def split_of(x: Value, names: Sequence[str], call: str) -> Split:
    """The split that the option says, of a table with columns of these names."""
    split = _by_form(x, call)
    if split is None:
        raise CallError(call, at="split", expected=_FORMS, given=kname(x))
    for name in split.columns:
        if name not in names:
            raise unknown("split: no column ", name, names)
    return split


def side_of(x: Value, split: Split, call: str) -> tuple[int, bool]:
    """The piece that a side is, and whether it is all others instead."""
    name, number = name_of(x), long_of(x)
    if name == TRAIN:
        return (split.test, True) if split.folds else (0, False)
    if name == TEST:
        return split.test, False
    if number is None or not 0 <= number < split.pieces:
        raise CallError(
            call,
            at="side",
            expected=f"`train, `test or the number of a piece, from 0 to {split.pieces - 1}",
            given=name or (kname(x) if number is None else f"{long(number)}"),
        )
    return number, False


def _by_form(x: Value, call: str) -> Split | None:
    """The split, by the form of what is given: None if it has none of them."""
    if x.__class__ is Vec and x.t == T.S and len(x) > 1:
        return _by_value(x.item(0), Vec(T.S, x.a[1:]), call)
    items = list(x.items) if x.__class__ is List else [x]
    if len(items) == 2 and items[0].__class__ is Sym:
        return _by_value(items[0], items[1], call)
    columns = names_of(items[-1]) if len(items) > 1 else None
    head = items if columns is None else items[:-1]
    folds = [long_of(n) for n in head] if len(head) == 2 else longs_of(head[0])
    if folds and None not in folds:
        return _in_folds(folds, columns, call)  # type: ignore[arg-type]
    cuts = doubles_of(head[0]) if len(head) == 1 else None
    if not cuts:
        return None
    if not all(a < b for a, b in pairwise([0.0, *cuts, 1.0])):
        raise CallError(
            call,
            at="split",
            expected="shares in ascending order, above 0 and below 1",
            given=" ".join(f"{cut:g}" for cut in cuts),
        )
    return ByHash(cuts, columns or (), None)


def _in_folds(given: Sequence[int], columns: Sequence[str] | None, call: str) -> Split | None:
    """Folds, and which one is for testing: the last one if that is not said."""
    if len(given) > 2:
        return None
    n, fold = given[0], given[1] if len(given) == 2 else given[0] - 1
    if n < 2 or not 0 <= fold < n:
        raise CallError(
            call,
            at="split",
            expected="two folds or more, and the number of one of them from 0",
            given=" ".join(f"{long(n)}" for n in given),
        )
    if columns is None:
        return ByPlace(n, fold)
    return ByHash([i / n for i in range(1, n)], columns, fold)


def _by_value(column: Value, cuts: Value, call: str) -> Split:
    assert isinstance(column, Sym)
    found = cuts if cuts.__class__ is Vec else collapse([cuts])
    if found.__class__ is not Vec or applied(running().evaluate(_IN_ORDER), [found]) is not True:
        raise CallError(
            call,
            at="split",
            expected=f"values in ascending order at which pieces of column {column.s} begin",
            given=kname(cuts),
        )
    return ByValue(column.s, found)
