"""Low-rank adapters of linear layers."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from kshell.nn.blocks.feedforward import LAYERS, TransposedLinear


class Lora(nn.Module):
    """A linear layer plus a product of two small matrices: base(x) + alpha/rank * B(A(x)); Hu et al. 2021 (arXiv
    2106.09685). The base layer is not trained. At first the product is zero. With `rooted`, alpha is divided by the
    root of the rank. The names of the parts are those of PEFT's files."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        rank: int = 8,
        alpha: float = 16.0,
        dropout: float = 0.0,
        bias: bool = True,
        rooted: bool = False,
        layer: str = "linear",
        base: nn.Module | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features, self.bias = in_features, out_features, bias
        self.rank, self.alpha, self.rooted, self.p, self.layer = rank, alpha, rooted, dropout, layer
        self.base_layer: Any = (
            LAYERS[layer](in_features, out_features, bias) if base is None else base
        )
        self.base_layer.requires_grad_(False)
        like = self.base_layer.weight
        self.lora_A = nn.Linear(in_features, rank, bias=False, dtype=like.dtype, device=like.device)
        self.lora_B = nn.Linear(
            rank, out_features, bias=False, dtype=like.dtype, device=like.device
        )
        nn.init.zeros_(self.lora_B.weight)
        if dropout:
            self.dropout = nn.Dropout(dropout)

    @property
    def strength(self) -> float:
        """The factor of the product."""
        return self.alpha / (math.sqrt(self.rank) if self.rooted else self.rank)

    @property
    def weight(self) -> Tensor:
        """The weight of the base layer, as that has it."""
        found: Tensor = self.base_layer.weight
        return found

    @property
    def is_turned(self) -> bool:
        """Is the weight of the base layer (in, out)?"""
        return self.layer == "lineart"

    def matrix(self) -> Tensor:
        """The weight of the base layer, (out, in)."""
        return self.weight.t() if self.is_turned else self.weight

    def product(self) -> Tensor:
        """What the small matrices add to the weight, (out, in)."""
        return self.strength * (self.lora_B.weight @ self.lora_A.weight)

    def merged(self) -> Tensor:
        """The weight of a linear layer that gives the same, (out, in)."""
        return self.matrix() + self.product()

    def _small(self, x: Tensor) -> Tensor:
        return self.strength * self.lora_B(self.lora_A(self.dropout(x) if self.p else x))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.base_layer(x) + self._small(x)
        return found

    def extra_repr(self) -> str:
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, rank={self.rank}, alpha={self.alpha:g}"


def layer_of(m: nn.Module) -> str:
    """The kind of a linear layer that can have an adapter, by where its sizes are: `linear` or, where the weight is
    (in, out), `lineart`; empty for any other module."""
    if type(m).forward is nn.Linear.forward and not isinstance(m, _NOT_CALLED):
        return "linear"
    if isinstance(m, TransposedLinear):
        return "lineart"
    # the layer of GPT-2 in transformers
    is_turned = type(m).__module__ == "transformers.pytorch_utils" and type(m).__name__ == "Conv1D"
    return "lineart" if is_turned else ""


# the layer inside of torch's attention, which takes its weight and does not call it
_NOT_CALLED = (nn.modules.linear.NonDynamicallyQuantizableLinear,)


def around(base: Any, **options: Any) -> Lora:
    """An adapter around a linear layer."""
    layer = layer_of(base)
    sizes = tuple(base.weight.shape)
    inputs, outputs = sizes if layer == "lineart" else sizes[::-1]
    cls = Dora if options.pop("dora") else Lora
    return cls(inputs, outputs, bias=base.bias is not None, layer=layer, base=base, **options)


class Dora(Lora):
    """A low-rank adapter whose size is learned for itself: each row of base plus product is scaled to a learned
    magnitude; Liu et al. 2024 (arXiv 2402.09353). At first it gives what the base layer gives."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.lora_magnitude_vector = nn.Parameter(torch.linalg.vector_norm(self.matrix(), dim=1))

    def _ratio(self) -> Tensor:
        """The magnitude of each row over its norm, which counts as a constant in gradients."""
        norm = torch.linalg.vector_norm(self.matrix() + self.product(), dim=1).detach()
        return self.lora_magnitude_vector / norm

    def merged(self) -> Tensor:
        return self._ratio()[:, None] * super().merged()

    def forward(self, x: Tensor) -> Tensor:
        plain = nn.functional.linear(x, self.matrix())
        out = self._ratio() * (plain + self._small(x))
        return out if self.base_layer.bias is None else out + self.base_layer.bias
