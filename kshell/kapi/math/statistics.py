"""Statistics of tensors: norm, mean, deviation, range and the number of non-finite values.

Each tensor takes a few torch reductions; the results for all tensors of a type are fetched from a device in one
transfer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell.kapi.base.convert import whole
from kshell.kapi.base.lazy_torch import torch
from kshell.values.base.build import floats, longs
from kshell.values.base.core import NULL_J, Vec
from kshell.values.session.interrupts import PENDING, stop_here

if TYPE_CHECKING:
    from torch import Tensor

NAMES = ("norm", "mean", "std", "lo", "hi", "bad")
_AT_ONCE = 1 << 22  # values whose deviations from the mean are held at once
_LONG = 1 << 25  # values between checks for interrupts


def _values(t: Tensor) -> Any:
    """The values of a tensor to measure, as floats or doubles: absolute values for complex tensors, stored values for
    sparse ones, doubles for integers."""
    v = whole(t.detach())
    if v.is_nested:
        v = torch.cat([part.reshape(-1) for part in v.unbind()])
    if v.is_quantized:
        v = v.dequantize()
    if v.layout is not torch.strided:
        v = v.coalesce().values() if v.layout is torch.sparse_coo else v.values()
    if v.is_complex():
        v = v.abs()
    if not v.is_floating_point():
        return v.double()
    return v.float() if v.itemsize < 4 else v


def _kinds(tensors: Sequence[Any]) -> Iterator[tuple[list[int], list[Any]]]:
    """The values of tensors of one device and data type, with their positions; None and empty tensors are left out.
    Converted values come in parts, so that only a few of them, or one large one, are held twice."""
    groups: dict[Any, tuple[list[int], list[Any]]] = {}
    copied: dict[Any, int] = {}
    for i, tensor in enumerate(tensors):
        if PENDING:
            stop_here()
        if tensor is None or not (v := _values(tensor)).numel():
            continue
        converted = v.dtype != tensor.dtype
        key = v.device, v.dtype, converted
        if converted:
            if copied.get(key, 0) + v.numel() > _AT_ONCE and key in groups:
                yield groups.pop(key)
                copied[key] = 0
            copied[key] = copied.get(key, 0) + v.numel()
        at, values = groups.setdefault(key, ([], []))
        at.append(i)
        values.append(v)
    yield from groups.values()


def _spread(v: Tensor) -> tuple[Any, Any, Any, Any]:
    """Mean, standard deviation, minimum and maximum of a tensor's values.

    The deviation is computed as the norm of the differences from the mean: torch.std works value by value and takes 30
    times as long on a CPU.
    """
    if PENDING:
        stop_here()
    mean = v.mean()
    if v.numel() == 1:
        return mean, torch.full_like(mean, math.nan), mean, mean
    parts = [torch.linalg.vector_norm(word - mean) for word in v.reshape(-1).split(_AT_ONCE)]
    norm = parts[0] if len(parts) == 1 else torch.linalg.vector_norm(torch.stack(parts))
    return mean, norm / math.sqrt(v.numel() - 1), *torch.aminmax(v)


def activity(t: Tensor) -> Any:
    """Mean, standard deviation, fraction of zeros and number of non-finite values of a tensor: four numbers on its
    device, fetched by `activities`. None if its values are not available."""
    v = _values(t)
    if v.is_meta:
        return None
    if not v.numel():
        return torch.tensor([math.nan, math.nan, math.nan, 0.0], device=v.device)
    mean, std, _, _ = _spread(v)
    kind = torch.float32 if v.device.type == "mps" else torch.float64
    zeros = (v == 0).sum().to(kind) / v.numel()
    return torch.stack([mean.to(kind), std.to(kind), zeros, (~torch.isfinite(v)).sum().to(kind)])


def activities(found: Sequence[Any]) -> list[Vec]:
    """The numbers from `activity` as columns, null for None; one transfer per device."""
    table = np.full((len(found), 4), math.nan)
    places: dict[Any, list[int]] = {}
    for i, numbers in enumerate(found):
        if numbers is not None:
            places.setdefault(numbers.device, []).append(i)
    for value in places.values():
        table[value] = (
            torch.stack([found[i].double() if found[i].is_cpu else found[i] for i in value])
            .cpu()
            .numpy()
        )
    bad = np.where(np.isnan(table[:, 3]), NULL_J.v, np.nan_to_num(table[:, 3])).astype(np.int64)
    return [*(floats(np.ascontiguousarray(c)) for c in table.T[:3]), longs(bad)]


def _host(numbers: Sequence[Any]) -> np.ndarray:
    """Single-number tensors as an array of doubles, in one transfer."""
    array: np.ndarray = torch.stack(list(numbers)).double().cpu().numpy()
    return array


def _norms(values: Sequence[Any]) -> list[Any]:
    """The norm of each tensor, with one call per block."""
    norms: list[Any] = []
    start = count = 0
    for i, value in enumerate(values):
        count += value.numel()
        if count >= _LONG or i == len(values) - 1:
            norms += torch._foreach_norm(values[start : i + 1])
            start, count = i + 1, 0
            if PENDING:
                stop_here()
    return norms


def norms(tensors: Sequence[Any]) -> np.ndarray:
    """The norm of each tensor: 0 if empty, nan for None."""
    result = np.array([math.nan if tensor is None else 0.0 for tensor in tensors])
    for at, values in _kinds(tensors):
        result[at] = _host(_norms(values))
    return result


def _bad(values: Sequence[Any], norms_: np.ndarray) -> np.ndarray:
    """The number of non-finite values in each tensor; if the norm is finite, there are none."""
    counts = np.zeros(len(values))
    odd = np.flatnonzero(~np.isfinite(norms_)).tolist()
    if odd:
        counts[odd] = _host([(~torch.isfinite(values[k])).sum() for k in odd])
    return counts


def measured(tensors: Sequence[Any]) -> np.ndarray:
    """A row of numbers per tensor, in the order of NAMES; nan for None. An empty tensor has norm 0 and no non-finite
    values."""
    table = np.full((len(tensors), len(NAMES)), math.nan)
    present = [i for i, tensor in enumerate(tensors) if tensor is not None]
    table[present, 0] = table[present, -1] = 0
    for at, values in _kinds(tensors):
        columns = [_norms(values), *zip(*map(_spread, values), strict=True)]
        numbers = _host([n for column in columns for n in column]).reshape(len(columns), len(at))
        table[at, :-1] = numbers.T
        table[at, -1] = _bad(values, numbers[0])
    return table


def norm_and_bad(tensors: Sequence[Any]) -> list[Vec]:
    """Norm and number of non-finite values of each tensor, as columns; null for tensors without values."""
    tensors = [None if tensor.device.type == "meta" else tensor for tensor in tensors]
    sizes = norms(tensors)
    bad = np.array([math.nan if tensor is None else 0.0 for tensor in tensors])
    for i in np.flatnonzero(~np.isfinite(sizes)).tolist():
        if tensors[i] is not None:
            bad[i] = _bad([_values(tensors[i])], sizes[i : i + 1])[0]
    return [floats(sizes), _counts(bad)]


def _counts(found: np.ndarray) -> Vec:
    """Counts as longs, NaN as null."""
    return longs(np.where(np.isnan(found), NULL_J.v, np.nan_to_num(found)).astype(np.int64))


def columns(tensors: Sequence[Any]) -> list[Vec]:
    """The statistics of tensors as table columns, in the order of NAMES."""
    table = measured(tensors)
    return [*(floats(np.ascontiguousarray(c)) for c in table.T[:-1]), _counts(table[:, -1])]
