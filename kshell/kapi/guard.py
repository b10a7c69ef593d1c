"""Checks before torch calls that would end or hang the process instead of raising an error (CPU build).

Each function takes the tensors or numbers of the call and raises what torch should have raised.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kshell.errors import QError
from kshell.kapi.call import torch

POWER_MAX = 1 << 31


def finite(name: str, t: Any) -> None:
    """No NaN and no infinity: eigenvalues of such a matrix kill the process."""
    if (t.is_floating_point() or t.is_complex()) and not bool(torch.isfinite(t).all()):
        raise QError(f"{name}: input contains nulls or infinities")


def targets(name: str, t: Any, classes: int, ignore: int | None = None) -> None:
    """Every target in 0..classes-1 (or the ignored value): others read outside the memory in ctc, and on a GPU they
    ruin the device for the process."""
    if not t.numel() or t.is_floating_point() or t.is_complex():
        return
    bad = (t < 0) | (t >= classes)
    if ignore is not None:
        bad &= t != ignore
    if bool(bad.any()):
        raise QError(f"{name}: target {int(t[bad][0])} is not in the range 0-{classes - 1}")


def ctc(log_probs: Any, target: Any, input_lengths: Any, target_lengths: Any, blank: int) -> None:
    """The arguments of the ctc loss: classes and lengths in range."""
    targets("ctc", target, log_probs.shape[-1])
    if not 0 <= blank < log_probs.shape[-1]:
        raise QError(f"ctc: blank {blank} is not in the range 0-{log_probs.shape[-1] - 1}")
    for word, n, most in (("input", input_lengths, log_probs.shape[0]),
                          ("target", target_lengths, target.shape[-1] if target.dim() > 1 else target.numel())):
        n = torch.as_tensor(n)
        if n.numel() and (int(n.min()) < 0 or int(n.max()) > most):
            raise QError(f"ctc: {word} length is not in the range 0-{most}")
    if target.dim() == 1 and torch.as_tensor(target_lengths).sum() > target.numel():
        raise QError("ctc: target lengths add up to more than the targets")


def not_empty(name: str, *tensors: Any) -> None:
    """No dimension of size 0: lstsq of such a right side kills the process."""
    for t in tensors:
        if not t.numel():
            raise QError(f"{name}: input has no elements")


def same_batch(name: str, a: Any, b: Any, trailing: tuple[int, int] = (2, 1)) -> None:
    """Two inputs with equal batch shapes before their last dimensions (lu_unpack)."""
    if a.shape[: a.dim() - trailing[0]] != b.shape[: b.dim() - trailing[1]]:
        raise QError(f"{name}: batch sizes {list(a.shape)} and {list(b.shape)} do not agree")


def offsets(name: str, offset: Any, n: int) -> None:
    """Offsets of an embedding bag: sorted, from 0, not past the input."""
    if not offset.numel():
        return
    if int(offset[0]) != 0 or int(offset.min()) < 0 or int(offset.max()) > n or bool((offset[1:] < offset[:-1]).any()):
        raise QError(f"{name}: offsets must start at 0, ascend and not exceed {n}")


def kernel(name: str, sizes: Iterable[int], shape: Iterable[int], padding: Iterable[int] = ()) -> None:
    """A pooling window within the padded input: torch does not return from a huge one."""
    pads = [*padding] or [0]
    shape = list(shape)
    for i, k in enumerate(sizes):
        pad = pads[i] if i < len(pads) else pads[-1]
        most = shape[i] + 2 * pad if i < len(shape) else shape[-1] + 2 * pad
        if not 0 < k <= most:
            raise QError(f"{name}: kernel size {k} is not in the range 1-{most}")


def power(name: str, n: int) -> None:
    """A matrix power that ends: at most 2^31 in size."""
    if abs(n) > POWER_MAX:
        raise QError(f"{name}: power {n} is not in the range -{POWER_MAX}-{POWER_MAX}")


def indices(name: str, at: Any, size: int) -> None:
    """Indices within a dimension: a GPU cannot recover from one outside it."""
    if at.numel():
        low, high = torch.aminmax(at)
        if int(low) < -size or int(high) >= size:
            raise QError(f"{name}: index {int(low) if int(low) < -size else int(high)} is out of range for size {size}")
