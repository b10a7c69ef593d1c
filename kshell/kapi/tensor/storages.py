"""Tensor memory: its bytes, and tensors that view part of it, with all bounds checked."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kshell.kapi.base.call import reserve
from kshell.kapi.base.lazy_torch import torch

if TYPE_CHECKING:
    from torch import Tensor, UntypedStorage

DIMS = 64  # torch operations support no more dimensions


def memory_of(data: UntypedStorage | Tensor, n: int) -> memoryview:
    """The n bytes of a storage or of a contiguous CPU tensor, which stays alive while they are referenced."""
    if not n:
        return memoryview(b"")
    buffer = (ctypes.c_uint8 * n).from_address(data.data_ptr())
    buffer.owner = data  # type: ignore[attr-defined]
    return memoryview(buffer).cast("B")


def fresh(n: int) -> tuple[Any, memoryview]:
    """A new CPU storage of n bytes, and the bytes, for writing. (Memory that numpy has seen could not be resized
    later.)"""
    reserve([n], 1)
    storage = torch.empty(n, dtype=torch.uint8).untyped_storage()
    return storage, memory_of(storage, n)


def view(
    held: UntypedStorage, dtype: object, shape: Sequence[int], stride: Sequence[int], offset: int
) -> Any:
    """The tensor that views these items of a storage; ValueError if they are out of bounds or not valid items."""
    if (
        not isinstance(dtype, torch.dtype)
        or len(shape) != len(stride)
        or len(shape) > DIMS
        or any(number.__class__ is not int or number < 0 for number in (*shape, *stride, offset))
    ):
        raise ValueError("a wrong tensor")
    last = (
        offset + sum((number - 1) * step for number, step in zip(shape, stride, strict=True))
        if all(shape)
        else -1
    )
    if (last + 1) * dtype.itemsize > held.nbytes():
        raise ValueError("a tensor is out of bounds")
    tensor = torch.empty(0, dtype=dtype, device=held.device).set_(held, offset, shape, stride)
    if dtype is torch.bool and tensor.numel() and int(tensor.view(torch.uint8).max()) > 1:
        raise ValueError("a tensor has wrong booleans")
    return tensor
