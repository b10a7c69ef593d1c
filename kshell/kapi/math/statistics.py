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
    values = whole(t.detach())
    if values.is_nested:
        values = torch.cat([item.reshape(-1) for item in values.unbind()])
    if values.is_quantized:
        values = values.dequantize()
    if values.layout is not torch.strided:
        values = (
            values.coalesce().values() if values.layout is torch.sparse_coo else values.values()
        )
    if values.is_complex():
        values = values.abs()
    if not values.is_floating_point():
        return values.double()
    return values.float() if values.itemsize < 4 else values


def _kinds(tensors: Sequence[Any]) -> Iterator[tuple[list[int], list[Any]]]:
    """The values of tensors of one device and data type, with their positions; None and empty tensors are left out.
    Converted values come in parts, so that only a few of them, or one large one, are held twice."""
    groups: dict[Any, tuple[list[int], list[Any]]] = {}
    copied: dict[Any, int] = {}
    for index, tensor in enumerate(tensors):
        if PENDING:
            stop_here()
        if tensor is None or not (data := _values(tensor)).numel():
            continue
        converted = data.dtype != tensor.dtype
        key = data.device, data.dtype, converted
        if converted:
            if copied.get(key, 0) + data.numel() > _AT_ONCE and key in groups:
                yield groups.pop(key)
                copied[key] = 0
            copied[key] = copied.get(key, 0) + data.numel()
        positions, values = groups.setdefault(key, ([], []))
        positions.append(index)
        values.append(data)
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
    block_norms = [
        torch.linalg.vector_norm(block - mean) for block in v.reshape(-1).split(_AT_ONCE)
    ]
    norm = (
        block_norms[0]
        if len(block_norms) == 1
        else torch.linalg.vector_norm(torch.stack(block_norms))
    )
    return mean, norm / math.sqrt(v.numel() - 1), *torch.aminmax(v)


def activity(t: Tensor) -> Any:
    """Mean, standard deviation, fraction of zeros and number of non-finite values of a tensor: four numbers on its
    device, fetched by `activities`. None if its values are not available."""
    values = _values(t)
    if values.is_meta:
        return None
    if not values.numel():
        return torch.tensor([math.nan, math.nan, math.nan, 0.0], device=values.device)
    mean, std, _, _ = _spread(values)
    dtype = torch.float32 if values.device.type == "mps" else torch.float64
    zeros = (values == 0).sum().to(dtype) / values.numel()
    return torch.stack(
        [mean.to(dtype), std.to(dtype), zeros, (~torch.isfinite(values)).sum().to(dtype)]
    )


def activities(found: Sequence[Any]) -> list[Vec]:
    """The numbers from `activity` as columns, null for None; one transfer per device."""
    table = np.full((len(found), 4), math.nan)
    by_device: dict[Any, list[int]] = {}
    for index, numbers in enumerate(found):
        if numbers is not None:
            by_device.setdefault(numbers.device, []).append(index)
    for positions in by_device.values():
        table[positions] = (
            torch.stack(
                [
                    found[index].double() if found[index].is_cpu else found[index]
                    for index in positions
                ]
            )
            .cpu()
            .numpy()
        )
    bad = np.where(np.isnan(table[:, 3]), NULL_J.v, np.nan_to_num(table[:, 3])).astype(np.int64)
    return [*(floats(np.ascontiguousarray(column)) for column in table.T[:3]), longs(bad)]


def _host(numbers: Sequence[Any]) -> np.ndarray:
    """Single-number tensors as an array of doubles, in one transfer."""
    array: np.ndarray = torch.stack(list(numbers)).double().cpu().numpy()
    return array


def _norms(values: Sequence[Any]) -> list[Any]:
    """The norm of each tensor, with one call per block."""
    norms: list[Any] = []
    start = count = 0
    for index, value in enumerate(values):
        count += value.numel()
        if count >= _LONG or index == len(values) - 1:
            norms += torch._foreach_norm(values[start : index + 1])
            start, count = index + 1, 0
            if PENDING:
                stop_here()
    return norms


def norms(tensors: Sequence[Any]) -> np.ndarray:
    """The norm of each tensor: 0 if empty, nan for None."""
    result = np.array([math.nan if tensor is None else 0.0 for tensor in tensors])
    for positions, values in _kinds(tensors):
        result[positions] = _host(_norms(values))
    return result


def _bad(values: Sequence[Any], norms_: np.ndarray) -> np.ndarray:
    """The number of non-finite values in each tensor; if the norm is finite, there are none."""
    counts = np.zeros(len(values))
    positions = np.flatnonzero(~np.isfinite(norms_)).tolist()
    if positions:
        counts[positions] = _host([(~torch.isfinite(values[index])).sum() for index in positions])
    return counts


def measured(tensors: Sequence[Any]) -> np.ndarray:
    """A row of numbers per tensor, in the order of NAMES; nan for None. An empty tensor has norm 0 and no non-finite
    values."""
    table = np.full((len(tensors), len(NAMES)), math.nan)
    present = [index for index, tensor in enumerate(tensors) if tensor is not None]
    table[present, 0] = table[present, -1] = 0
    for positions, values in _kinds(tensors):
        columns = [_norms(values), *zip(*map(_spread, values), strict=True)]
        numbers = _host([number for column in columns for number in column]).reshape(
            len(columns), len(positions)
        )
        table[positions, :-1] = numbers.T
        table[positions, -1] = _bad(values, numbers[0])
    return table


def norm_and_bad(tensors: Sequence[Any]) -> list[Vec]:
    """Norm and number of non-finite values of each tensor, as columns; null for tensors without values."""
    tensors = [None if tensor.device.type == "meta" else tensor for tensor in tensors]
    sizes = norms(tensors)
    bad = np.array([math.nan if tensor is None else 0.0 for tensor in tensors])
    for index in np.flatnonzero(~np.isfinite(sizes)).tolist():
        if tensors[index] is not None:
            bad[index] = _bad([_values(tensors[index])], sizes[index : index + 1])[0]
    return [floats(sizes), _counts(bad)]


def _counts(found: np.ndarray) -> Vec:
    """Counts as longs, NaN as null."""
    return longs(np.where(np.isnan(found), NULL_J.v, np.nan_to_num(found)).astype(np.int64))


def columns(tensors: Sequence[Any]) -> list[Vec]:
    """The statistics of tensors as table columns, in the order of NAMES."""
    table = measured(tensors)
    return [
        *(floats(np.ascontiguousarray(column)) for column in table.T[:-1]),
        _counts(table[:, -1]),
    ]
