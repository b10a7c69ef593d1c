"""Comparing two tensors, and statistics of one, in one pass over pieces of 2^20 items.

Sums are made by numpy in float64, piece by piece in the order of the items, so that results do not depend on the number
of threads.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.checkpoint_algebra.merging import pieces
from kshell.kapi.tensor.storages import memory_of

if TYPE_CHECKING:
    from torch import Tensor

_NULL = math.nan
_OPAQUE = ("torch.float4", "torch.bits")  # types without arithmetic


class Statistics(NamedTuple):
    """What `statistics` computes of a tensor. Numbers that have no value are nan: lo, hi and mean without finite
    values, zeros without any."""

    norm: float
    bad: int
    lo: float
    hi: float
    mean: float
    zeros: float
    digest: str


class Difference(NamedTuple):
    """What `compared` finds of two tensors."""

    same: bool
    maxabs: float
    rel: float
    cos: float
    changed: float


OTHER_SIZE = Difference(False, *[_NULL] * 4)


def plain(t: Tensor) -> Any:
    """The tensor as a flat run of items on the CPU, in the order of its dimensions."""
    t = t.detach()
    if t.is_quantized:
        t = t.dequantize()
    if t.layout is not torch.strided:
        t = t.to_dense()
    return t.cpu().resolve_conj().resolve_neg().reshape(-1).contiguous()


def _bytes(piece: Tensor) -> memoryview:
    return memory_of(piece, piece.numel() * piece.element_size())


def _same_bytes(a: Tensor, b: Tensor) -> bool:
    x, y = (np.frombuffer(_bytes(piece), np.uint8) for piece in (a, b))
    return np.array_equal(x, y)


def doubles(piece: Tensor) -> np.ndarray:
    """The values of a piece in float64; complex numbers as pairs. None of types that torch cannot convert."""
    if str(piece.dtype).startswith(_OPAQUE):
        return np.empty(0)
    if piece.is_complex():
        piece = torch.view_as_real(piece).reshape(-1)
    array: np.ndarray = piece.double().numpy()
    return array


def _sum(values: np.ndarray) -> float:
    return float(np.add.reduce(values))  # pairwise, by one thread


def statistics(t: Tensor) -> Statistics:
    """The norm (square root of the sum of squares, in float64), the number of values that are not finite, the least,
    greatest and mean finite value, the share of zeros, and the SHA-256 of the bytes of the contiguous tensor, as
    hexadecimal digits. A complex number counts as two values."""
    flat = plain(t)
    digest = hashlib.sha256()
    squares = total = 0.0
    lo, hi = math.inf, -math.inf
    count = finite_count = zeros = 0
    for place in pieces(len(flat)):
        piece = flat[place]
        digest.update(_bytes(piece))
        values = doubles(piece)
        finite = np.isfinite(values)
        chosen = values if finite.all() else values[finite]
        with np.errstate(over="ignore", invalid="ignore"):
            squares += _sum(values * values)
            total += _sum(chosen)
        count += len(values)
        finite_count += len(chosen)
        zeros += int(np.count_nonzero(values == 0))
        if len(chosen):
            lo, hi = min(lo, float(chosen.min())), max(hi, float(chosen.max()))
    return Statistics(
        math.sqrt(squares),
        count - finite_count,
        lo if finite_count else _NULL,
        hi if finite_count else _NULL,
        total / finite_count if finite_count else _NULL,
        zeros / count if count else _NULL,
        digest.hexdigest(),
    )


def difference(a: Tensor, b: Tensor) -> Difference:
    """Compare two tensors as `compared` does; the numbers are nan if the sizes differ."""
    if a.shape != b.shape:
        return OTHER_SIZE
    x, y = plain(a), plain(b)
    return compared(a.dtype == b.dtype, ((x[place], y[place]) for place in pieces(len(x))))


def compared(is_same_type: bool, pairs: Iterable[tuple[Tensor, Tensor]]) -> Difference:
    """Compare two tensors of the same size, of which the pairs are flat pieces: are type, size and bytes the same; the
    largest absolute difference; the norm of a-b over that of a; the cosine of the angle between them, as vectors; and
    the share of items that have another value (two NaN are the same value). nan where it is not defined: norms of 0, no
    items, values that are not finite."""
    same = is_same_type
    sums = np.zeros(4)
    count = 0
    changed = most = 0.0
    for p, q in pairs:
        count += len(p)
        if p.dtype == q.dtype:
            same = same and _same_bytes(p, q)
        u, v = doubles(p), doubles(q)
        with np.errstate(over="ignore", invalid="ignore"):
            gap = u - v
            sums += [_sum(u * u), _sum(v * v), _sum(u * v), _sum(gap * gap)]
            most = float(np.maximum(most, np.max(np.abs(gap), initial=0.0)))
        other = (u != v) & ~(np.isnan(u) & np.isnan(v))
        if p.is_complex():
            other = other.reshape(-1, 2).any(1)
        changed += int(np.count_nonzero(other))
    uu, vv, uv, gaps = (float(n) for n in sums)
    return Difference(
        same,
        most if count else _NULL,
        _ratio(math.sqrt(gaps), math.sqrt(uu)),
        _ratio(uv, math.sqrt(uu) * math.sqrt(vv)),
        changed / count if count else _NULL,
    )


def _ratio(a: float, b: float) -> float:
    return a / b if b and math.isfinite(b) else _NULL
