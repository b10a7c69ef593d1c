"""q's verbs that put the rows of a tensor in order: nulls are least and equal, rows are compared item by item."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kshell.errors import QError
from kshell.kapi.args import long_of
from kshell.kapi.call import torch
from kshell.kapi.convert import kname
from kshell.values.core import Value


def numbered(t: Any) -> Any:
    """A whole number for each element, ordered as they are. (torch puts NaN last, and does not know equal ones.)"""
    if t.is_floating_point():
        t = t.detach() if t.element_size() > 1 else t.detach().to(torch.float32)
        whole = {8: torch.int64, 4: torch.int32, 2: torch.int16}[t.element_size()]
        bits = (t + 0.0).view(whole)  # -0.0 is 0.0
        bits = torch.where(bits < 0, bits ^ torch.iinfo(whole).max, bits)
        t = torch.where(torch.isnan(t), torch.iinfo(whole).min, bits)
    return t


def _keys(t: Any) -> Any:
    """A whole number for each row, ordered as the rows are."""
    t = numbered(t)
    return torch.unique(t.flatten(1), dim=0, return_inverse=True)[1] if t.dim() > 1 else t


def place(x: Any, y: Any, right: bool) -> Any:
    """Where in the sorted x each of y belongs, before equal ones or behind."""
    return torch.searchsorted(numbered(x), numbered(y), right=right)


def grade(t: Any, descending: bool = False) -> Any:
    """The indices that sort the rows; equal ones stay in their order."""
    return torch.argsort(_keys(t), dim=0, descending=descending, stable=True)


def ordered(t: Any, descending: bool = False) -> Any:
    return t.index_select(0, grade(t, descending)) if t.dim() else t


def rank(t: Any) -> Any:
    """Where each row would stand if they were sorted."""
    return torch.argsort(grade(t), dim=0)


def xrank(x: Value, t: Any) -> Any:
    """In which of x equal parts of the sorted rows each row falls."""
    n = long_of(x)
    if n is None:
        raise QError(f"xrank: expected a long, given {kname(x)}")
    return torch.floor_divide(rank(t) * n, max(len(t), 1) if t.dim() else 1)


def distinct(t: Any) -> Any:
    """The rows that differ, in the order in which they come."""
    if not t.dim():
        return t.reshape(1)
    place = torch.unique(_keys(t), return_inverse=True)[1]
    at = torch.arange(len(t), device=t.device)
    first = torch.full_like(at, len(t)).scatter_reduce(0, place, at, "amin")
    return t.index_select(0, torch.masked_select(at, first[place] == at))


MONADS: dict[str, Callable[..., Any]] = {
    "iasc": grade, "idesc": lambda t: grade(t, True), "asc": ordered, "desc": lambda t: ordered(t, True), "rank": rank,
    "distinct": distinct,
}
COUNTED: dict[str, Callable[..., Any]] = {"xrank": xrank}
