"""q's sorting verbs on tensor rows: nulls are lowest and equal; rows are compared item by item."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kshell import torch_versions
from kshell.errors import CallError, QError
from kshell.kapi.base.args import long_of
from kshell.kapi.base.convert import kname
from kshell.kapi.base.lazy_torch import torch
from kshell.values.base.core import Value

if TYPE_CHECKING:
    from torch import Tensor


def numbered(t: Tensor) -> Any:
    """An integer for each element, in the same order. (torch puts NaN last, and does not treat NaNs as equal.)"""
    if t.is_floating_point():
        t = t.detach() if t.element_size() > 1 else t.detach().to(torch.float32)
        whole = {8: torch.int64, 4: torch.int32, 2: torch.int16}[t.element_size()]
        bits = torch_versions.bits(t + 0.0, whole)  # -0.0 is 0.0
        bits = torch.where(bits < 0, bits ^ torch.iinfo(whole).max, bits)
        t = torch.where(torch.isnan(t), torch.iinfo(whole).min, bits)
    return t.to(torch.uint8) if t.dtype is torch.bool else t


def _keys(t: Tensor) -> Any:
    """An integer for each row, in the same order as the rows."""
    t = numbered(t)
    return torch.unique(t.flatten(1), dim=0, return_inverse=True)[1] if t.dim() > 1 else t


def place(x: Tensor, y: Tensor, right: bool) -> Any:
    """The insertion point in sorted x for each of y, before or after equal rows."""
    return torch.searchsorted(numbered(x), numbered(y), right=right)


def grade(t: Tensor, descending: bool = False) -> Any:
    """The indices that sort the rows; the sort is stable."""
    return torch.argsort(_keys(t), dim=0, descending=descending, stable=True)


def ordered(t: Tensor, descending: bool = False) -> Any:
    return t.index_select(0, grade(t, descending)) if t.dim() else t


def rank(t: Tensor) -> Any:
    """The position of each row in sorted order."""
    return torch.argsort(grade(t), dim=0)


def xrank(x: Value, t: Tensor) -> Any:
    """The quantile of each row, with x quantiles."""
    number = long_of(x)
    if number is None:
        raise CallError("xrank", expected="a long", given=kname(x))
    return torch.floor_divide(rank(t) * number, max(len(t), 1) if t.dim() else 1)


def distinct(t: Tensor) -> Any:
    """The distinct rows, in order of appearance."""
    if not t.dim():
        return t.reshape(1)
    groups = torch.unique(_keys(t), return_inverse=True)[1]
    positions = torch.arange(len(t), device=t.device)
    first = torch.full_like(positions, len(t)).scatter_reduce(0, groups, positions, "amin")
    return t.index_select(0, torch.masked_select(positions, first[groups] == positions))


def _listed(t: Tensor) -> Any:
    return t if t.dim() else t.reshape(1)


def _alike(name: str, t: Tensor, given: Sequence[int], rows: Sequence[int]) -> None:
    if given != t.shape[1:]:
        raise QError(
            f"{name}: expected rows of size {list(t.shape[1:])}, given a tensor of size {list(rows)}"
        )


def find(t: Tensor, y: Tensor) -> Any:
    """The first position of each row of y in t, or the number of rows if missing; for a single row, just its
    position."""
    t = _listed(t)
    _alike("?", t, y.shape[max(y.dim() - t.dim() + 1, 0) :], y.shape)
    rows = y.reshape(-1, *t.shape[1:])
    keys = _keys(torch.cat((t, rows)) if t.dim() > 1 else t)
    wanted = keys[len(t) :] if t.dim() > 1 else numbered(rows)
    sorted_, order = torch.sort(keys[: len(t)], stable=True)
    positions = torch.searchsorted(sorted_, wanted)
    matched = (
        torch.cat((sorted_, sorted_[:1]))[positions] == wanted
        if len(t)
        else torch.zeros_like(positions, dtype=torch.bool)
    )
    positions = torch.where(
        matched & (positions < len(t)),
        torch.cat((order, order.new_full((1,), len(t))))[positions],
        len(t),
    )
    return positions.reshape(y.shape[: y.dim() - t.dim() + 1])


def _chosen(name: str, there: bool) -> Callable[..., Any]:
    """The rows of a tensor that are, or are not, rows of another."""

    def run(t: Tensor, y: Tensor) -> Any:
        t, y = _listed(t), _listed(y)
        _alike(name, t, y.shape[1:], y.shape)
        return t[(find(y, t) < len(y)) == there]

    return run


def _union(t: Tensor, y: Tensor) -> Any:
    t, y = _listed(t), _listed(y)
    _alike("union", t, y.shape[1:], y.shape)
    return distinct(torch.cat((t, y)))


MONADS: dict[str, Callable[..., Any]] = {
    "iasc": grade,
    "idesc": lambda t: grade(t, True),
    "asc": ordered,
    "desc": lambda t: ordered(t, True),
    "rank": rank,
    "distinct": distinct,
}
# for two tensors of one type
DYADS: dict[str, Callable[..., Any]] = {
    "?": find,
    "except": _chosen("except", False),
    "inter": _chosen("inter", True),
    "union": _union,
}
COUNTED: dict[str, Callable[..., Any]] = {"xrank": xrank}
