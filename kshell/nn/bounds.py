"""Checks of numbers on a device before a computation that would kill the GPU context if they were out of range.

The CPU rejects them with an error; on a GPU, the error makes the device unusable for the process.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils.weak import WeakTensorKeyDictionary

from kshell.errors import said

_SPANS = WeakTensorKeyDictionary()  # by tensor: its version, minimum and maximum
# by tensor on a device: its version, its source and the source's version
_COPIES = WeakTensorKeyDictionary()
_PASSED = WeakTensorKeyDictionary()  # by tensor: its version, and the checks it has passed


def span(t: Tensor) -> tuple[float, float]:
    """The minimum and maximum of a tensor, or of the one that it is part of; read back from a device, and cached until
    something writes it."""
    whole = t if t._base is None else t._base
    if whole.is_inference():  # it has no version
        return tuple(torch.stack(torch.aminmax(t)).tolist())
    found = _SPANS.get(whole)
    if found is None or found[0] != whole._version:
        found = _SPANS[whole] = (
            whole._version,
            *torch.stack(torch.aminmax(whole.detach())).tolist(),
        )
    return found[1], found[2]


def copied(t: Tensor, there: Tensor) -> None:
    """A copy on a device takes the range of its source, which the CPU can read without synchronizing."""
    if t.is_cpu and t.numel() and not (t.is_floating_point() or t.is_complex() or t.is_inference()):
        _SPANS[there] = (there._version, *span(t))
        _COPIES[there] = (there._version, t, t._version)


def original(t: Tensor) -> Tensor:
    """The tensor that a tensor on a device was copied from, if neither has been written since; else the tensor
    itself."""
    found = _COPIES.get(t)
    return (
        found[1]
        if found is not None and (found[0], found[2]) == (t._version, found[1]._version)
        else t
    )


def passes(t: Tensor, what: Hashable, check: Callable[[Tensor], bool]) -> bool:
    """Does a check hold for a tensor, or for all of the one that it is part of? The result is cached until something
    writes it."""
    whole = t if t._base is None else t._base
    if whole.is_inference():
        return check(t)
    found = _PASSED.get(whole)
    if found is None or found[0] != whole._version:
        found = _PASSED[whole] = (whole._version, {})
    if what not in found[1]:
        found[1][what] = check(whole)
    return found[1][what] or (whole is not t and check(t))


def readable(t: Tensor) -> bool:
    """Does a tensor have values, and may they be read now? Not on meta, and not during tracing."""
    if t.is_meta or isinstance(t, FakeTensor) or torch.compiler.is_compiling():
        return False
    return not (t.is_cuda and torch.cuda.is_current_stream_capturing())


def within(name: str, t: Tensor, n: int | None, what: str) -> None:
    """Reject integers that are not indices into n things, or into any number; other types are left to torch."""
    if t.is_floating_point() or t.is_complex() or not t.numel() or not readable(t):
        return
    low, high = span(t)
    if low >= 0 and (n is None or high < n):
        return
    if t._base is not None:  # perhaps the ones out of range are in another part
        low, high = torch.stack(torch.aminmax(t.detach())).tolist()
    if n is not None and high >= n:
        raise said(IndexError(f"{name}: index {high} is out of bounds for {n} {what}"), high, n)
    if low < 0:
        raise said(IndexError(f"{name}: index {low} is below 0"), low)
