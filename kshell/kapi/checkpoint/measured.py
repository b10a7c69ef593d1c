"""The tensors of a checkpoint as a table whose statistics are computed when they are asked for, and only for the rows
that are.

A statistic is made from pieces of a tensor in the order of its items, so that it does not depend on how large the
tensor is, and no more than a piece is in memory. Norms are the root of the sum of squares, right to seven digits of any
type.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from kshell.checkpoints.base.stored import Composite, Stored
from kshell.checkpoints.files.weights import Columns
from kshell.checkpoints.trees.leaves import tensors_of
from kshell.checkpoints.trees.opening import Opened
from kshell.kapi.base.convert import dtype_symbol
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.checkpoint.stored_tensors import Windows, read_tensor, windows
from kshell.kapi.math.statistics import norm_and_bad
from kshell.store.splay import LazyCols
from kshell.values.base import types as T
from kshell.values.base.build import floats, longs
from kshell.values.base.core import NULL_J, List, ListValue, Table, Value, Vec, flat_list, sym_vec
from kshell.values.base.symbols import sym, sym_codes
from kshell.values.session.interrupts import PENDING, give_up
from kshell.values.session.progress import Task

PLAIN = ("name", "dtype", "size", "bytes", "scheme")
_SUMS, _RANGE, _DIGEST = ("norm", "bad"), ("lo", "hi", "mean", "sparsity"), ("digest",)
MEASURED = (*_SUMS, *_RANGE, *_DIGEST)
_ITEMS = 1 << 20  # of which sums are made
_PIECE = 1 << 22  # bytes of which a digest is made
_ROW = 512  # items whose squares are added in single precision
_LEAST = (
    1e-12  # the mean square of rows beside which squares that single precision loses are nothing
)


def _pieces(tensor: Stored, maps: Windows) -> Any:
    """A tensor's numbers, flat and a piece at a time."""
    if isinstance(tensor, Composite) or tensor.live is not None:
        whole = read_tensor(tensor).detach()
        whole = whole.dequantize() if whole.is_quantized else whole
        whole = whole if whole.layout is torch.strided else whole.to_dense()
        yield whole.reshape(-1)
        return
    for window in windows(tensor, maps):
        for piece in window.split(_ITEMS) if len(window) > _ITEMS else (window,):
            if PENDING:
                give_up()
            yield piece


def _real(piece: Any) -> Any:
    """Numbers with which torch computes."""
    if piece.is_complex():
        return torch.view_as_real(piece).reshape(-1)
    return piece if piece.is_floating_point() and piece.element_size() > 1 else piece.float()


def _is_counted(tensor: Stored) -> bool:
    """Has a tensor numbers with which torch computes?"""
    is_meta = isinstance(tensor, Composite) and tensor.kind == "meta"
    return not is_meta and not tensor.dtype.startswith(("bits", "float4_", "float6_"))


def sums(tensor: Stored, maps: Windows) -> tuple[float, int]:
    """The norm of a tensor, and the number of its values that are not finite; null if it has no numbers."""
    if not _is_counted(tensor):
        return math.nan, NULL_J.v
    total, bad = 0.0, 0
    for piece in _pieces(tensor, maps):
        real = _real(piece)
        squares = _squares(real)
        if not math.isfinite(squares):
            bad += int((~torch.isfinite(real)).sum())
        total += squares
    return math.sqrt(total) if total == total else math.nan, bad


def _squares(real: Any) -> float:
    """The sum of the squares of some numbers, added in double precision: of short rows, whose norms single precision
    holds, unless these are so small that squares are lost."""
    if real.dtype != torch.float64:
        count = real.numel() - real.numel() % _ROW
        rows = real[:count].reshape(-1, _ROW)
        wide = {} if real.dtype == torch.float32 else {"dtype": torch.float32}
        norms = torch.linalg.vector_norm(rows, dim=1, **wide).double()
        total = float(torch.dot(norms, norms))
        if math.isfinite(total) and total > _LEAST * len(norms):
            rest = real[count:]
            return total + float(rest.double().square().sum()) if len(rest) else total
    return float(real.double().square().sum())


def extent(tensor: Stored, maps: Windows) -> tuple[float, float, float, float]:
    """The lowest and highest finite value of a tensor, their mean, and the share of zeros; nan if there are none."""
    if not _is_counted(tensor):
        return math.nan, math.nan, math.nan, math.nan
    low, high, total, finite, zeros, count = math.inf, -math.inf, 0.0, 0, 0, 0
    for piece in _pieces(tensor, maps):
        real = _real(piece)
        count += real.numel()
        zeros += int((real == 0).sum())
        kept = real[torch.isfinite(real)]
        if kept.numel():
            least, most = torch.aminmax(kept)
            low, high = min(low, float(least)), max(high, float(most))
            total += float(kept.sum(dtype=torch.float64))
            finite += kept.numel()
    some = finite > 0
    return (
        low if some else math.nan,
        high if some else math.nan,
        total / finite if some else math.nan,
        zeros / count if count else math.nan,
    )


def digest(tensor: Stored, _: Windows) -> tuple[str]:
    """The SHA-256 of a tensor's bytes in the order of its items."""
    made = hashlib.sha256()
    if isinstance(tensor, Composite):
        for part in tensor.parts.values():
            made.update(part.read())
    else:
        for piece in tensor.pieces(_PIECE):
            if PENDING:
                give_up()
            made.update(piece)
    return (made.hexdigest(),)


_PASSES: tuple[tuple[tuple[str, ...], Callable[[Stored, Windows], Sequence[Any]]], ...] = (
    (_SUMS, sums), (_RANGE, extent), (_DIGEST, digest),
)  # fmt: skip


class MeasuredCols(LazyCols):
    """The columns of such a table; `schemes` says how tensors are quantised."""

    def __init__(self, found: Opened, columns: Columns, schemes: dict[str, str]) -> None:
        super().__init__([*PLAIN, *MEASURED], found.path)
        self._found, self._columns = found, columns
        self._described = Described(columns, schemes)
        self._known: dict[tuple[int, str], Any] = {}  # by row and column

    @cached_property
    def _tensors(self) -> list[Stored]:
        return list(tensors_of(self._found.value).values())

    @cached_property
    def _nbytes(self) -> list[int]:
        return [form.nbytes for form in self._columns.forms]

    def make(self, i: int) -> Value:
        name = self.names[i]
        if name in PLAIN:
            return self._described.column(name)
        return self._column(name, range(len(self._nbytes)))

    def taken(self, name: str, rows: np.ndarray) -> ListValue:
        """Some rows of a column: no others are computed."""
        if name in PLAIN:
            return super().taken(name, rows)
        return self._column(name, rows.tolist())

    def head(self, n: int) -> Table:
        """The first rows."""
        rows = np.arange(min(n, len(self._nbytes)))
        return Table(self.names, [self.taken(name, rows) for name in self.names])

    def _column(self, name: str, rows: Sequence[int]) -> ListValue:
        names, work = next((names, work) for names, work in _PASSES if name in names)
        missing = [row for row in rows if (row, name) not in self._known]
        task = Task("reading", sum(self._nbytes[row] for row in missing))
        maps = Windows()
        for row in missing:
            for column, value in zip(names, work(self._tensors[row], maps), strict=True):
                self._known[row, column] = value
            task.add(self._nbytes[row])
        return column_of(name, [self._known[row, name] for row in rows])


def column_of(name: str, values: list[Any]) -> ListValue:
    """The values of a statistic as a column."""
    if name == "digest":
        return sym_vec(values)
    return longs(values) if name == "bad" else floats(values)


class Described:
    """Names, types, sizes, bytes and schemes of tensors, as columns; `schemes` has those that are others, by name."""

    def __init__(self, columns: Columns, schemes: dict[str, str]) -> None:
        self._names, self._schemes = columns.names, schemes
        self._forms = [*{*columns.forms}]  # the same one may be that of many
        numbers = dict(zip(self._forms, range(len(self._forms)), strict=True))
        self._rows = np.array([*map(numbers.__getitem__, columns.forms)], np.int64)

    def column(self, name: str) -> ListValue:
        """One of them."""
        if name == "name":
            return Vec(T.S, sym_codes(self._names))
        if name == "size":
            return _sizes([form.shape for form in self._forms], self._rows)
        if name == "bytes":
            return Vec(T.J, np.array([form.nbytes for form in self._forms], np.int64)[self._rows])
        if name == "scheme":
            return self._scheme()
        types = [dtype_symbol(form.dtype) or form.dtype for form in self._forms]
        return Vec(T.S, _words(types)[self._rows])

    def _scheme(self) -> Vec:
        own = [form.scheme for form in self._forms]
        if not self._schemes:
            return Vec(T.S, _words(own)[self._rows])
        rows = zip(self._names, self._rows.tolist(), strict=True)
        return Vec(T.S, _words([self._schemes.get(name, own[row]) for name, row in rows]))


def _words(values: list[str]) -> np.ndarray:
    """Words, of which few are different, as symbols."""
    codes = {value: sym(value).v for value in {*values}}
    return np.array([codes[value] for value in values], np.int32)


def _sizes(shapes: Sequence[Sequence[int]], rows: np.ndarray) -> List:
    """The shapes with some numbers as a column."""
    counts = np.array([*map(len, shapes)], np.int64)
    places = np.arange(counts.max(initial=0))
    padded = np.zeros((len(shapes), len(places)), np.int64)
    is_there = places < counts[:, None]
    padded[is_there] = [*chain.from_iterable(shapes)]
    return flat_list(T.J, padded[rows][is_there[rows]], np.cumsum(counts[rows]))


def norms_and_bad(tensors: Sequence[Stored]) -> list[Vec]:
    """The norms of tensors and their numbers of values that are not finite, null without values, as columns."""
    if all(tensor.live is not None for tensor in tensors):  # as parmtable has them
        return norm_and_bad([tensor.live for tensor in tensors])
    task = Task("loading", sum(tensor.nbytes for tensor in tensors))
    rows: list[tuple[float, int]] = []
    maps = Windows()
    for tensor in tensors:
        rows.append(sums(tensor, maps))
        task.add(tensor.nbytes)
    bad = np.array([bad for _, bad in rows], np.int64)
    return [floats([norm for norm, _ in rows]), Vec(T.J, bad)]
