"""Containers for blocks and models."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from kshell.errors import said
from kshell.nn.blocks.context import CURRENT, Context, using


class Block(nn.Module):
    """Branches of modules in order, each of whose result is added to its input: x plus f(norm(x)), and so on. `sizes`
    are the numbers of modules of the branches."""

    def __init__(self, sizes: int | tuple[int, ...] = (2, 2)) -> None:
        super().__init__()
        self.sizes = (sizes,) if isinstance(sizes, int) else tuple(sizes)

    def forward(self, x: Tensor) -> Tensor:
        parts: list[Any] = list(self._modules.values())
        if len(parts) != sum(self.sizes):
            raise said(
                ValueError(
                    f"block: its branches have {sum(self.sizes)} modules, but it has {len(parts)}"
                ),
                len(parts),
                sum(self.sizes),
            )
        at = 0
        for size in self.sizes:
            y = x
            for part in parts[at : at + size]:
                y = part(y)
            x = x + y
            at += size
        return x

    def extra_repr(self) -> str:
        return f"sizes={' '.join(map(str, self.sizes))}"


class Skip(nn.Module):
    """Modules in order; the last one gets two inputs: the result of the one before it, and that one's input."""

    def forward(self, x: Tensor) -> Any:
        *parts, last = self._modules.values() or (None,)
        if not parts or last is None:
            raise ValueError("skip: it has fewer than two modules")
        before = x
        for part in parts:
            before, x = x, part(x)  # type: ignore[misc]
        return last(x, before)


class AddNorm(nn.Module):
    """A linear layer, whose result plus a second input is normalized: norm(dense(x) + y)."""

    def __init__(
        self, in_features: int, out_features: int, eps: float = 1e-5, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.in_features, self.out_features, self.eps, self.p = (
            in_features,
            out_features,
            eps,
            dropout,
        )
        self.dense = nn.Linear(in_features, out_features)
        self.LayerNorm = nn.LayerNorm(out_features, eps)
        if dropout:
            self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        x = self.dense(x)
        if self.p:
            x = self.dropout(x)
        found: Tensor = self.LayerNorm(x + y)
        return found

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, eps={self.eps:g}"


class Masked(nn.Module):
    """Modules in order. A second input, (batch, places), is true where there is something, false where there is
    padding: no attention inside looks there. A third is the type of each token, for the embeddings."""

    most_inputs = 3

    def forward(
        self,
        x: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
    ) -> Any:
        if attention_mask is None and token_type_ids is None:
            return self._run(x)
        if attention_mask is not None and (
            attention_mask.dim() != 2 or attention_mask.shape != x.shape[:2]
        ):
            raise ValueError(
                "seqmask: the mask is not of the sizes of the input's first two dimensions"
            )
        mask = None if attention_mask is None else attention_mask.bool()
        if CURRENT.get() is not None and mask is not None:
            raise said(ValueError("seqmask: a mask is given within another"))
        with using(Context(mask, token_type_ids)):
            return self._run(x)

    def _run(self, x: Any) -> Any:
        parts: list[Any] = [part for part in self._modules.values() if part is not None]
        last = parts.pop() if parts else None
        context = CURRENT.get()
        is_last_asked = context is not None and context.is_last_asked
        if context is not None:
            context.is_last_asked = False  # of the outermost one
        for part in parts:
            x = part(x)
        if is_last_asked and isinstance(last, nn.Linear) and x.dim() == 3:
            x = x[:, -1:]
        return x if last is None else last(x)


class Pooler(nn.Module):
    """The first place, through a linear layer and tanh; with `both`, a dictionary of the input and that."""

    def __init__(self, dim: int, both: bool = True, fn: str = "tanh") -> None:
        super().__init__()
        self.dim, self.both, self.fn = dim, both, fn
        self.dense = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Any:
        pooled = torch.tanh(self.dense(x[:, 0]))
        return {"last_hidden_state": x, "pooler_output": pooled} if self.both else pooled

    def extra_repr(self) -> str:
        return f"dim={self.dim}, both={self.both}"
