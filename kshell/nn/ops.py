"""Tensor operations as modules without parameters, for use in sequences."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from kshell.errors import said
from kshell.nn.bounds import within
from kshell.nn.tables import Embedding


class Cat(nn.Module):
    """Concatenate two tensors along a dimension."""

    def __init__(self, dim: int = 0) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.cat((x, y), self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Mul(nn.Module):
    """Multiply two tensors element by element."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x * y


class Matmul(nn.Module):
    """Matrix product of two tensors."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x @ y


class OneHot(nn.Module):
    """One-hot encoding of class indices along a new last dimension; -1 classes: as many as occur. The result is float
    unless another type is requested."""

    def __init__(self, classes: int = -1, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.classes, self.dtype = classes, dtype

    def forward(self, x: Tensor) -> Tensor:
        if not x.is_cpu:
            within("onehot", x, None if self.classes < 0 else self.classes, "classes")
        return F.one_hot(x, self.classes).to(self.dtype or torch.float32)

    def extra_repr(self) -> str:
        return f"num_classes={self.classes}"


class Select(nn.Module):
    """Select one index of a dimension."""

    def __init__(self, dim: int, ind: int) -> None:
        super().__init__()
        self.dim, self.ind = dim, ind

    def forward(self, x: Tensor) -> Tensor:
        return x.select(self.dim, self.ind)

    def extra_repr(self) -> str:
        return f"dim={self.dim},ind={self.ind}"


class IndexSelect(nn.Module):
    """Select several indices of a dimension; the indices are a buffer, `ind`."""

    ind: Tensor

    def __init__(self, dim: int, ind: Tensor | tuple[int, ...]) -> None:
        super().__init__()
        self.dim = dim
        self.register_buffer("ind", torch.as_tensor(ind))

    def forward(self, x: Tensor) -> Tensor:
        if not x.is_cpu and -x.dim() <= self.dim < x.dim():
            within("indexselect", self.ind, x.shape[self.dim], "places")
        return x.index_select(self.dim, self.ind)

    def extra_repr(self) -> str:
        return f"dim={self.dim},ind={_short(self.ind)}"


class DropPath(nn.Module):
    """Stochastic depth: in training, whole samples (along the first dimension) are zeroed with probability p, the
    others scaled by 1/(1-p). Huang et al. 2016 (arXiv 1603.09382)."""

    def __init__(self, p: float = 0.0) -> None:
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        if not self.p or not self.training:
            return x
        keep = 1 - self.p
        shape = (x.shape[0], *(1,) * (x.dim() - 1))
        mask = (torch.rand(shape, dtype=x.dtype, device=x.device) + keep).floor()
        return x / keep * mask if keep else x * 0

    def extra_repr(self) -> str:
        return f"p={self.p:g}"


# ------------------------------------------------------------------ embeddings, attention


class EmbedPosition(nn.Module):
    """Learned position embedding: (1, n, cols) for an input of n columns, all rows for an input with one more
    dimension; initially zero."""

    def __init__(self, rows: int, cols: int) -> None:
        super().__init__()
        self.rows, self.cols = rows, cols
        self.pos = nn.Parameter(torch.zeros(1, rows, cols))

    def forward(self, x: Tensor) -> Tensor:
        return self.pos[:, : x.size(-1)]

    def extra_repr(self) -> str:
        return f"rows={self.rows}, cols={self.cols}"


class EmbedSequence(nn.Module):
    """The sum of a token embedding (rows x cols) and a learned position embedding for `length` positions."""

    def __init__(self, rows: int, cols: int, length: int) -> None:
        super().__init__()
        self.rows, self.cols, self.length = rows, cols, length
        self.tok = Embedding(rows, cols)
        self.pos = EmbedPosition(length, cols)

    def forward(self, x: Tensor) -> Tensor:
        n = x.size(-1)
        if n > self.length:
            raise said(
                ValueError(f"embedseq: sequence of {n} is longer than the {self.length} positions"),
                n,
                self.length,
            )
        return self.tok(x) + self.pos(x)

    def extra_repr(self) -> str:
        return f"rows={self.rows}, cols={self.cols}, length={self.length}"


class SelfAttention(nn.Module):
    """Multi-head self-attention, from (batch, n, dim) to the same shape; Vaswani et al. 2017, section 3.2
    (arXiv 1706.03762). With `norm`, a layer normalization comes first.

    A mask, (n, n) or larger, is added to the scores: -inf where attention is not allowed. A padding mask, (batch, n),
    is true where the input is padding.
    """

    most_inputs = 3

    def __init__(self, dim: int, heads: int, dropout: float = 0.0, norm: bool = False) -> None:
        super().__init__()
        if dim % heads or heads >= dim:
            raise ValueError(
                f"selfattention: model dimension of {dim} not divisible by {heads} heads"
            )
        self.dim, self.heads, self.dropout = dim, heads, dropout
        if norm:
            self.norm = nn.LayerNorm(dim)
        self.add_module("in", nn.Linear(dim, 3 * dim, bias=not norm))
        self.drop = nn.Dropout(dropout)
        self.out = nn.Linear(dim, dim)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, padmask: Tensor | None = None
    ) -> Tensor:
        b, n, _ = x.shape
        first: Any = self._modules["in"]
        h = first(self.norm(x) if "norm" in self._modules else x)
        q, k, v = h.reshape(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        # scale n x d numbers instead of n x n
        scores = (q * (self.dim // self.heads) ** -0.5) @ k.transpose(-2, -1)
        if mask is not None:
            scores = scores + (mask if mask.size(-1) == n else mask[..., :n, :n])
        if padmask is not None:
            scores = scores.masked_fill(padmask.bool()[:, None, None, :], float("-inf"))
        out = self.drop(torch.softmax(scores, -1)) @ v
        return self.out(out.transpose(1, 2).reshape(b, n, -1))

    def extra_repr(self) -> str:
        return f"dim={self.dim}, heads={self.heads}, dropout={self.dropout:g}, norm={'norm' in self._modules}"


# ------------------------------------------------------------------ images


class Zscore(nn.Module):
    """(x - mean) / std, with one mean and standard deviation, or one per channel of (.., channels, height, width)."""

    mean: Tensor
    stddev: Tensor

    def __init__(self, mean: Tensor, std: Tensor, inplace: bool = False) -> None:
        super().__init__()
        for word, t in (("mean(s)", mean), ("std deviation(s)", std)):
            if t is None or not t.is_floating_point():
                raise ValueError(f"zscore: {word} not defined as float/double")
        self.register_buffer("mean", mean)
        self.register_buffer("stddev", std)
        self.inplace = inplace

    def forward(self, x: Tensor) -> Tensor:
        mean, std = (t.view(-1, 1, 1) if t.dim() == 1 else t for t in (self.mean, self.stddev))
        return x.sub_(mean).div_(std) if self.inplace else (x - mean) / std

    def extra_repr(self) -> str:
        return f"mean={_short(self.mean)}, stddev={_short(self.stddev)}, inplace={self.inplace}"


def _short(t: Tensor) -> str:
    """The first three numbers of a tensor."""
    return ",".join(f"{v:g}" for v in t.flatten()[:3].tolist()) + ".." * (t.numel() > 3)


class RandomCrop(nn.Module):
    """Pad images, then crop them to a size at a random position, separately for each image in a batch."""

    def __init__(
        self,
        size: tuple[int, int],
        pad: int | tuple[int, ...] = 0,
        padmode: str = "constant",
        value: float = 0.0,
    ) -> None:
        super().__init__()
        self.size, self.padmode, self.value = size, padmode, value
        self.pad = (pad,) * 4 if isinstance(pad, int) else pad

    def forward(self, x: Tensor) -> Tensor:
        if not 2 <= x.dim() <= 4:
            raise said(ValueError(f"randomcrop: not implemented for {x.dim()}-dim tensor"))
        h, w = self.size
        padded = x
        if any(self.pad):
            padded = F.pad(
                x, self.pad, self.padmode, self.value if self.padmode == "constant" else None
            )
        high, wide = padded.shape[-2] - h, padded.shape[-1] - w
        if not high and not wide:
            return padded
        if high < 0 or wide < 0:
            size, crop = f"{padded.shape[-2]}x{padded.shape[-1]}", f"{h}x{w}"
            raise said(
                ValueError(f"randomcrop: size {crop}, exceeds tensor dim(s) {size}"),
                crop,
                size,
                "tensor",
            )
        n = x.shape[0] if x.dim() == 4 else 1
        down, right = torch.randint(high + 1, (n,)), torch.randint(wide + 1, (n,))
        if n == 1:
            i, j = int(down), int(right)
            return padded[..., i : i + h, j : j + w]
        rows = (down[:, None] + torch.arange(h)).to(x.device)
        cols = (right[:, None] + torch.arange(w)).to(x.device)
        at = torch.arange(n, device=x.device)[:, None, None]
        return padded[at, :, rows[:, :, None], cols[:, None, :]].movedim(-1, 1)

    def extra_repr(self) -> str:
        return f"size={list(self.size)}" + (f", pad={list(self.pad)}" if any(self.pad) else "")


class RandomFlip(nn.Module):
    """Flip images along a dimension with probability p, separately for each image in a batch."""

    def __init__(self, p: float = 0.5, dim: int = -1) -> None:
        super().__init__()
        self.p, self.dim = p, dim

    def forward(self, x: Tensor) -> Tensor:
        if not 2 <= x.dim() <= 4:
            raise said(ValueError(f"randomflip: not implemented for {x.dim()}-dim tensor"))
        n = x.shape[0] if x.dim() == 4 else 1
        chosen = torch.rand(n, dtype=torch.float64) < self.p
        if n == 1:
            return x.flip(self.dim) if bool(chosen) else x
        mask = chosen.to(x.device).view(-1, *(1,) * (x.dim() - 1))
        return torch.where(mask, x.flip(self.dim), x)

    def extra_repr(self) -> str:
        return f"p={self.p:g}, dim={self.dim}"
