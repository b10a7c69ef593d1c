"""Numbers that describe tensors: norm, mean, deviation, range and how many values are not finite.

Each tensor takes a handful of torch's own reductions; the numbers of all of them come from a device in one transfer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kshell.kapi.call import torch
from kshell.kapi.convert import whole
from kshell.values.build import floats, longs
from kshell.values.core import NULL_J, Value

NAMES = ("norm", "mean", "std", "lo", "hi", "bad")


def _measured(t: Any) -> Any:
    """A tensor's numbers as a tensor of doubles, on its device."""
    v = whole(t.detach())
    if v.layout is not torch.strided:
        v = v.coalesce().values() if v.layout is torch.sparse_coo else v.values()
    if v.is_complex():
        v = v.abs()
    if not v.is_floating_point():
        v = v.double()
    elif v.itemsize < 4:
        v = v.float()
    norm, bad = torch.linalg.vector_norm(v), v.numel() - torch.isfinite(v).sum()
    nan = norm.new_full((), float("nan"))
    if not v.numel():
        return torch.stack([norm.double(), *[nan.double()] * 4, bad.double()])
    var, mean = torch.var_mean(v, correction=1) if v.numel() > 1 else (nan, v.mean())
    lo, hi = torch.aminmax(v)
    return torch.stack([n.double() for n in (norm, mean, var.sqrt(), lo, hi, bad)])


def measured(tensors: Sequence[Any]) -> np.ndarray:
    """A row of numbers for each tensor, in the order of NAMES; nan for None. Of complex tensors those of the absolute
    values, of sparse ones those of the values that they hold, of integers those of the same doubles."""
    out = np.full((len(tensors), len(NAMES)), np.nan)
    places: dict[Any, list[int]] = {}
    for i, t in enumerate(tensors):
        if t is not None:
            places.setdefault(t.device, []).append(i)
    for at in places.values():
        out[at] = torch.stack([_measured(tensors[i]) for i in at]).cpu().numpy()
    return out


def columns(tensors: Sequence[Any]) -> list[Value]:
    """The numbers of tensors as the columns of a table, in the order of NAMES."""
    found = measured(tensors)
    bad = found[:, -1]
    counts = np.where(np.isnan(bad), NULL_J.v, np.nan_to_num(bad)).astype(np.int64)
    return [*(floats(np.ascontiguousarray(c)) for c in found.T[:-1]), longs(counts)]
