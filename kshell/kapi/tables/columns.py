"""Columns of tables as tensors.

Of inputs, the columns of numbers are side by side in one matrix: of whole numbers if all are, else of the type of the
module's parameters. A column of equal vectors is a matrix of its own, which is beside them too. The target is a column
of whole numbers (classes) or, as a module of one output has it, a matrix of one column. Symbols and texts are their
places in a vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell.errors import QError
from kshell.kapi.base.lazy_torch import torch
from kshell.values.base import types as T
from kshell.values.base.build import as_nd
from kshell.values.base.core import ListValue, Table, Vec, text_of
from kshell.values.base.narrow import is_text
from kshell.values.base.symbols import sym_at
from kshell.values.items.pick import unenum

if TYPE_CHECKING:
    from torch import Tensor

DAY = 86_400.0
# how a temporal column becomes numbers: days or months since 2000, and seconds
_UNITS = {T.D: 1.0, T.M: 1.0, T.Z: 1.0, T.P: 1e9, T.N: 1e9, T.U: 1 / 60, T.V: 1.0, T.T: 1e3}
_WHOLE = (T.B, T.X, T.H, T.I, T.J)
_REAL = (T.E, T.F)
_CODED = (T.S, T.ENUM)
DROP, ERROR = "drop", "error"
Vocabulary = dict[str, dict[str, int]]


_TURNED = 1 << 19  # bytes of columns that are turned together
_COMMON = ("float32", "float64", "int64")  # types that numpy has too


class Columns:
    """How the columns of a table become inputs and targets. `nulls` is `error`, `drop`, or a number to put in their
    place; `dtype` that of numbers that are not whole."""

    def __init__(
        self, inputs: Sequence[str], targets: Sequence[str], nulls: str | float, dtype: Any
    ) -> None:
        self.inputs, self.targets, self.nulls, self.dtype = inputs, targets, nulls, dtype
        self.vocabulary: Vocabulary = {}  # of each column of symbols or texts, the places of the words
        self.none: Any = None  # no rows, once there have been any
        self._forms: dict[str, str] = {}  # what the columns are in the first rows, in words

    def tensors(
        self, table: Table, where: str, rows: np.ndarray | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """The inputs and the targets of some rows; `where` these are, and the numbers of the `rows` if they are not
        all there, for messages."""
        arrays = {
            name: self._array(table.col(name), name, where)
            for name in (*self.inputs, *self.targets)
        }
        for name, a in arrays.items():
            form, usual = _form(a), self._forms.setdefault(name, _form(a))
            if form != usual:
                raise QError(f"{where}: column {name}: expected {usual} as before, given {form}")
        arrays = self._without_nulls(arrays, where, rows)
        y = self._side([arrays[name] for name in self.targets], True) if self.targets else None
        x = self._side([arrays[name] for name in self.inputs], False)
        self.none = x[:0], None if y is None else y[:0]
        return x, y

    def has_words(self, table: Table) -> bool:
        """Is a column one of symbols or texts?"""
        return any(words_of(table.col(name)) is not None for name in (*self.inputs, *self.targets))

    def learn(self, table: Table) -> None:
        """Put the words of some rows into the vocabulary, in the order of their first appearance."""
        for name in (*self.inputs, *self.targets):
            found = words_of(table.col(name))
            if found is not None:
                known = self.vocabulary.setdefault(name, {})
                for word in found[0]:
                    known.setdefault(word, len(known))

    # ------------------------------------------------------------ columns

    def _array(self, column: ListValue, name: str, where: str) -> np.ndarray:
        """A column as numbers, with NaN or the null of its type where it has none."""
        if column.__class__ is Vec and (column.t in _WHOLE or column.t in _REAL):
            return column.a
        if column.__class__ is Vec and column.t in _UNITS:
            a = column.a / _UNITS[column.t]
            return np.where(column.a == T.NULL[column.t], np.nan, a) if column.t != T.Z else a
        words = words_of(column)
        if words is not None:
            return self._codes(*words, name, where)
        rows = as_nd(column)
        if rows is None or (rows.t not in _WHOLE and rows.t not in _REAL):
            raise QError(
                f"{where}: column {name}: expected numbers, words, times or vectors of one length, "
                f"given {_kind(column)}"
            )
        return rows.a

    def _codes(self, words: list[str], places: np.ndarray, name: str, where: str) -> np.ndarray:
        """The places in the vocabulary of words, each of which stands at some places of a column."""
        known = self.vocabulary.get(name, {})
        unknown = next((word for word in words if word not in known), None)
        if unknown is not None:
            raise QError(
                f"{where}: column {name}: {unknown!r} is not in the vocabulary of {len(known)} words"
            )
        return np.array([known[word] for word in words], np.int64)[places]

    def with_nulls(self, table: Table, where: str) -> np.ndarray:
        """Which rows have nulls."""
        names = [*self.inputs, *self.targets]
        found = [_nulls(self._array(table.col(name), name, where)) for name in names]
        none = np.zeros(len(table), bool)
        return np.logical_or.reduce([none, *(at for at in found if at is not None)])

    def _without_nulls(
        self, arrays: dict[str, np.ndarray], where: str, rows: np.ndarray | None
    ) -> dict[str, np.ndarray]:
        """The columns without nulls: an error, without their rows, or with a number instead."""
        nulls = {name: at for name, a in arrays.items() if (at := _nulls(a)) is not None}
        if not nulls:
            return arrays
        if self.nulls == ERROR:
            name, at = next(iter(nulls.items()))
            row = np.flatnonzero(at)[0]
            raise QError(
                f"{where}: column {name} has a null in row {row if rows is None else rows[row]}",
                hint="the option nulls is `drop, or a number to put in their place; skip leaves out rows",
            )
        if self.nulls == DROP:
            kept = ~np.logical_or.reduce(list(nulls.values()))
            return {name: a[kept] for name, a in arrays.items()}
        found = dict(arrays)
        for name in nulls:
            a = found[name] = arrays[name].copy()
            a[_at(a)] = self.nulls
        return found

    # ------------------------------------------------------------ sides

    def _side(self, arrays: Sequence[np.ndarray], target: bool) -> Tensor:
        """Columns side by side."""
        whole = all(a.dtype.kind in "biu" for a in arrays)
        dtype = torch.int64 if whole else self.dtype
        if len(arrays) == 1 and (arrays[0].ndim > 1 or (target and whole)):
            return _tensor(arrays[0]).to(dtype)
        if str(dtype).removeprefix("torch.") in _COMMON and all(a.ndim == 1 for a in arrays):
            return torch.from_numpy(_turned(arrays, str(dtype).removeprefix("torch.")))
        wide = [_tensor(a).to(dtype) for a in arrays]
        return torch.cat([t.flatten(1) if t.dim() > 1 else t.unsqueeze(1) for t in wide], 1)


def _turned(arrays: Sequence[np.ndarray], dtype: str) -> np.ndarray:
    """Columns of numbers as a matrix of a type: some rows at a time, as many as stay in a cache while they are
    turned."""
    n, width = len(arrays[0]), len(arrays)
    found = np.empty((n, width), dtype)
    step = max(_TURNED // (width * found.itemsize), 16)
    block = np.empty((width, min(step, n)), dtype)
    for start in range(0, n, step):
        end = min(start + step, n)
        rows = block[:, : end - start]
        for i, a in enumerate(arrays):
            rows[i] = a[start:end]
        found[start:end] = rows.T
    return found


def _tensor(a: np.ndarray) -> Any:
    return torch.from_numpy(a if a.flags.writeable else a.copy())


def words_of(column: ListValue) -> tuple[list[str], np.ndarray] | None:
    """The distinct words of a column of symbols or texts in the order of their first appearance, and for each row the
    place of its word among them; None for any other column."""
    if column.__class__ is Vec:
        if column.t not in _CODED:
            return None
        plain = unenum(column)
        assert plain.__class__ is Vec
        codes, first, places = np.unique(plain.a, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return [sym_at(code).s for code in codes[order].tolist()], np.argsort(order)[places]
    items = column.items
    if not items or not all(map(is_text, items)):
        return None
    known: dict[str, int] = {}
    found = [known.setdefault(text_of(x), len(known)) for x in items]
    return list(known), np.array(found, np.int64)


def _at(a: np.ndarray) -> np.ndarray:
    """Where a column has nulls."""
    if a.dtype.kind == "f":
        return np.isnan(a)
    none = np.zeros(a.shape, bool)
    return np.equal(a, np.iinfo(a.dtype).min, out=none) if a.dtype.kind == "i" else none


def _nulls(a: np.ndarray) -> np.ndarray | None:
    """The rows of a column with nulls; None if there are none."""
    if a.size and a.dtype.kind in "fi":
        least = a.min()  # NaN if one is
        if least > (np.iinfo(a.dtype).min if a.dtype.kind == "i" else -np.inf):
            return None
    at = _at(a)
    if not at.any():
        return None
    rows: np.ndarray = np.logical_or.reduce(at.reshape(len(a), -1), axis=1)
    return rows


def _form(a: np.ndarray) -> str:
    """What the items of a column are."""
    numbers = "whole numbers" if a.dtype.kind in "biu" else "real numbers"
    return numbers if a.ndim == 1 else f"vectors of {'x'.join(map(str, a.shape[1:]))} {numbers}"


def _kind(column: ListValue) -> str:
    if column.__class__ is Vec:
        return f"type {column.t}h"
    return "lists of other kinds or lengths"
