"""Rows of a table as tensors, of which some are left out: these have places, so that the order and the numbers of
batches are the same with and without them, and a batch is smaller by them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell.errors import QError
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tables.columns import DROP, Columns
from kshell.values.base.core import Table
from kshell.values.items.pick import take_at

if TYPE_CHECKING:
    from torch import Tensor

# inputs, targets, and which rows are not left out, None if all are there
Tensors = tuple["Tensor", "Tensor | None", "Tensor | None"]


def with_holes(
    columns: Columns, table: Table, left: np.ndarray | None, where: str, at: np.ndarray | None
) -> Tensors:
    """Rows as tensors. Those that are left out are not looked at. `at` the rows are in their part, if they are not all
    of it."""
    if left is None:
        return spread(columns, columns.tensors(table, where, at), None)
    rows = np.flatnonzero(~left)
    if columns.nulls == DROP:
        stays = ~_nulls(columns, table, rows, where)
        rows, left = np.flatnonzero(~left & stays), left[stays]
    numbers = rows if at is None else at[rows]
    found = columns.tensors(take_at(table, rows), where, numbers) if len(rows) else None
    return spread(columns, found, left)


def _nulls(columns: Columns, table: Table, rows: np.ndarray, where: str) -> np.ndarray:
    """Which rows have nulls. If those that are left out cannot be looked at, the other `rows` tell."""
    with suppress(QError):
        return columns.with_nulls(table, where)
    found = np.zeros(len(table), bool)
    found[rows] = columns.with_nulls(take_at(table, rows), where)
    return found


def spread(
    columns: Columns, found: tuple[Tensor, Tensor | None] | None, left: np.ndarray | None
) -> Tensors:
    """Rows, with zeros between them in the places of those that are left out; `found` is None if these are all."""
    x, y = found or columns.none
    if left is None:
        return x, y, None
    kept = torch.from_numpy(~left)

    def wide(t: Tensor) -> Tensor:
        whole: Tensor = t.new_zeros((len(left), *t.shape[1:]))
        whole[kept] = t
        return whole

    return wide(x), None if y is None else wide(y), kept


def mixed(rows: Sequence[Tensors], order: Any) -> Tensors:
    at = torch.from_numpy(order)
    return _sides(joined(rows), lambda t: t[at])


def _sides(rows: Tensors, change: Callable[[Tensor], Tensor]) -> Tensors:
    x, y, kept = rows
    return change(x), None if y is None else change(y), None if kept is None else change(kept)


def joined(rows: Sequence[Tensors]) -> Tensors:
    if len(rows) == 1:
        return rows[0]
    x = torch.cat([x for x, _, _ in rows])
    targets = [y for _, y, _ in rows if y is not None]
    y = torch.cat(targets) if targets else None
    if all(kept is None for _, _, kept in rows):
        return x, y, None
    there = [torch.ones(len(x), dtype=torch.bool) if kept is None else kept for x, _, kept in rows]
    return x, y, torch.cat(there)


def cut(rows: Tensors, start: int, end: int) -> Tensors:
    return _sides(rows, lambda t: t[start:end])


def _there(rows: Tensors) -> tuple[Tensor, Tensor | None]:
    """A batch: the rows that are not left out."""
    x, y, kept = rows
    if kept is None or bool(kept.all()):
        return x, y
    return x[kept], None if y is None else y[kept]


def batches(windows: Iterable[Tensors], width: int, droplast: bool) -> Iterator[Any]:
    """Batches of so many rows, 0 for all, across the ends of windows."""
    rest: list[Tensors] = []
    have = 0
    for rows in windows:
        start, n = 0, len(rows[0])
        if have or not width:
            start = n if not width else min(width - have, n)
            rest.append(cut(rows, 0, start))
            have += start
            if have == width:
                yield _there(joined(rest))
                rest, have = [], 0
        while n - start >= width > 0:
            yield _there(cut(rows, start, start + width))
            start += width
        if start < n:
            rest.append(cut(rows, start, n))
            have += n - start
    if have and not (droplast and width):
        yield _there(joined(rest))
