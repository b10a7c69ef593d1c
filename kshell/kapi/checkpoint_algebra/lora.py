"""Low-rank adapters: merging LoRA, rsLoRA and DoRA into weights, and extracting one from two weights.

Hu et al. 2021, "LoRA: Low-rank adaptation of large language models" (arXiv 2106.09685); Kalajdzievski 2023, "A rank
stabilization scaling factor for fine-tuning with LoRA" (arXiv 2312.03732); Liu et al. 2024, "DoRA: Weight-decomposed
low-rank adaptation" (arXiv 2402.09353). In float32 the results have the bits of peft 0.21.2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kshell.errors import said
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.checkpoint_algebra.patterns import is_suffix
from kshell.kapi.checkpoint_algebra.problems import problem

if TYPE_CHECKING:
    from torch import Tensor

LINEAR, TRANSPOSED, EMBEDDING, CONVOLUTION = "linear", "transposed", "embedding", "convolution"


def _of_pattern(config: Mapping[str, Any], pattern: str, default: str, module: str) -> Any:
    """A setting of a module: of the first key of a pattern that names it, else the general one."""
    entries = config.get(pattern) or {}
    if not isinstance(entries, Mapping):
        raise problem(f"{pattern} of the adapter is no dictionary")
    key = next((key for key in entries if is_suffix(str(key), module)), None)
    return config.get(default) if key is None else entries[key]


def scale_of(config: Mapping[str, Any], module: str, rank: int) -> float:
    """The factor of an adapter of this rank for a module: alpha / r, or alpha / sqrt(r) with `use_rslora`, where r and
    alpha may be set for some modules by `rank_pattern` and `alpha_pattern`. QError if they are no numbers, or the rank
    is another."""
    r = _of_pattern(config, "rank_pattern", "r", module)
    alpha = _of_pattern(config, "alpha_pattern", "lora_alpha", module)
    r = rank if r is None else r
    alpha = r if alpha is None else alpha
    for number in (r, alpha):
        if not isinstance(number, int | float) or isinstance(number, bool) or number <= 0:
            raise problem(f"the rank and alpha of {module} are no numbers above 0")
    if r != rank:
        raise problem(f"the rank of {module} is {rank}, and {r} in the adapter's settings")
    return alpha / math.sqrt(r) if config.get("use_rslora") else alpha / r


def kind_of(weight: Tensor, a: Tensor, b: Tensor, is_embedding: bool, fan_in_fan_out: bool) -> str:
    """How an adapter's parts A and B belong to a weight, by their sizes: of a linear layer (out, in), of one whose
    weight is transposed (`fan_in_fan_out`, where the sizes do not tell), an embedding or a convolution. ValueError if
    they do not fit, or the convolution is grouped."""
    fits = a.dim() == b.dim() and b.shape[1:2] == a.shape[:1]
    if is_embedding:
        if fits and a.dim() == 2 and (a.shape[1], b.shape[0]) == tuple(weight.shape):
            return EMBEDDING
    elif weight.dim() == 2 and fits and a.dim() == 2:
        size = b.shape[0], a.shape[1]
        is_turned = size[::-1] == tuple(weight.shape)
        if is_turned and (fan_in_fan_out or size != tuple(weight.shape)):
            return TRANSPOSED
        if size == tuple(weight.shape):
            return LINEAR
    elif fits and 3 <= weight.dim() <= 5 and a.dim() == weight.dim():
        if (b.shape[0], *a.shape[1:]) == tuple(weight.shape) and math.prod(b.shape[2:]) == 1:
            return CONVOLUTION
    sizes = " and ".join(str(list(t.shape)) for t in (a, b))
    raise said(
        ValueError(f"parts of sizes {sizes} do not fit a weight of size {list(weight.shape)}")
    )


def delta(a: Tensor, b: Tensor, scale: float, kind: str) -> Any:
    """The change of a weight: `scale (B A)`, transposed for an embedding or a weight that is. Of a convolution it is
    the convolution of A with B. Numbers of 16 bits are multiplied in float32, and the product is rounded again."""
    half = a.dtype if a.dtype in (torch.float16, torch.bfloat16) else None
    a, b = (t.detach().float() if half else t.detach() for t in (a, b))
    if kind == CONVOLUTION:
        change = _of_convolution(a, b) * scale
    elif kind == LINEAR:
        change = (b @ a) * scale
    else:
        change = (b @ a).T * scale
    return change.to(half) if half else change


def _of_convolution(a: Tensor, b: Tensor) -> Any:
    if a.dim() == 4 and a.shape[2:] == (1, 1):
        return (b[:, :, 0, 0] @ a[:, :, 0, 0])[:, :, None, None]
    convolve = {3: torch.conv1d, 4: torch.conv2d, 5: torch.conv3d}[a.dim()]
    return convolve(a.transpose(0, 1), b).transpose(0, 1)


def merged(
    weight: Tensor,
    change: Tensor,
    kind: str,
    magnitude: Tensor | None = None,
    base: Tensor | None = None,
) -> Any:
    """The weight with a change added: `W + D`. With DoRA's magnitude m it is `(m / n) (W + D)`, where n are the norms
    of the rows of `W0 + D`, one for each output; W0 is `base`, if it differs from the weight because other adapters
    have been merged into it. The type is that of the weight."""
    weight = weight.detach()
    if magnitude is None:
        if kind == EMBEDDING:
            change = change.to(weight.dtype)
        return (weight + change).to(weight.dtype)
    norms = _norms(weight if base is None else base.detach(), change, kind)
    factor = magnitude.detach().reshape(-1) / norms
    if kind in (TRANSPOSED, EMBEDDING):
        factor = factor.reshape(1, -1)
    else:
        factor = factor.reshape(-1, *[1] * (weight.dim() - 1))
    return (factor * (weight + change)).to(weight.dtype)


def _norms(weight: Tensor, change: Tensor, kind: str) -> Any:
    """The norm of the weights of each output, after the change."""
    if kind == CONVOLUTION:
        total = weight + change
        return total.norm(p=2, dim=tuple(range(1, total.dim())), keepdim=True).reshape(-1)
    if kind in (TRANSPOSED, EMBEDDING):
        weight, change = weight.T, change.T
    total = weight + change
    return torch.linalg.norm(total, dim=1).to(total.dtype)


def merged_bias(bias: Tensor, change: Tensor, scale: float) -> Any:
    """The bias with an adapter's bias added: `b + scale c`, in the type of the bias."""
    return (bias.detach() + change.detach() * scale).to(bias.dtype)


def extracted(
    change: Tensor, rank: int | None = None, epsilon: float = 0.0
) -> tuple[Any, Any, list[float]]:
    """The parts A and B of the product `B A` of a rank nearest to a matrix, by its singular values: with `U S V` the
    decomposition, `B = U sqrt(S)` and `A = sqrt(S) V`, of the largest `rank` singular values, or of those above
    `epsilon`. At least one is taken. Also the singular values that are left out: the norm of the error is the square
    root of the sum of their squares (Eckart and Young 1936).

    A tensor of more dimensions, as of a convolution, is taken as the matrix of its outputs.
    """
    matrix = change.detach().flatten(1)
    u, s, v = torch.linalg.svd(matrix, full_matrices=False)
    count = len(s) if rank is None else min(rank, len(s))
    if epsilon > 0:
        count = min(count, int((s > epsilon).sum()))
    count = max(count, 1)
    root = s[:count].sqrt()
    a, b = root[:, None] * v[:count], u[:, :count] * root
    rest: list[float] = s[count:].tolist()
    if change.dim() > 2:
        a = a.reshape(count, *change.shape[1:])
        b = b.reshape(*b.shape, *[1] * (change.dim() - 2))
    return a, b, rest
