"""The parts of a block between its attention and the next: layers of one matrix, gated ones, mixtures of experts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from kshell.errors import said


class TransposedLinear(nn.Module):
    """x times weight, plus bias: a linear layer whose weight is (in, out), as GPT-2's."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None
        nn.init.normal_(self.weight, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        if self.bias is None:
            return x @ self.weight
        flat = torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight)
        return flat.view(*x.shape[:-1], self.out_features)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


LAYERS: dict[str, Callable[[int, int, bool], nn.Module]] = {
    "linear": nn.Linear,
    "lineart": TransposedLinear,
}
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "silu": F.silu,
    "gelu": F.gelu,
    "gelutanh": partial(F.gelu, approximate="tanh"),
    "relu": F.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "identity": lambda x: x,
}
GATED = ("gate", "up", "down")


class Gated(nn.Module):
    """down(fn(gate(x)) * up(x)); Shazeer 2020 (arXiv 2002.05202)."""

    def __init__(
        self,
        dim: int,
        hidden: int,
        fn: str = "silu",
        bias: bool = False,
        names: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.dim, self.hidden, self.fn, self.bias = dim, hidden, fn, bias
        self.names = tuple(names) or GATED
        if len({*self.names}) != len(GATED):
            raise said(ValueError("swiglu: its layers are gate up down, and need as many names"))
        for name, one, other in zip(
            self.names, (dim, dim, hidden), (hidden, hidden, dim), strict=True
        ):
            self.add_module(name, nn.Linear(one, other, bias))
        self._call = ACTIVATIONS[fn]

    def forward(self, x: Tensor) -> Tensor:
        children: Any = self._modules
        gate, up, down = self.names
        found: Tensor = children[down](self._call(children[gate](x)) * children[up](x))
        return found

    def extra_repr(self) -> str:
        return f"dim={self.dim}, hidden={self.hidden}, fn={self.fn}, bias={self.bias}"


class Experts(nn.Module):
    """A mixture of gated layers: a router chooses `top` of them for each place, and weighs their results; Jiang et al.
    2024 (arXiv 2401.04088). With `norm`, the weights of those chosen add up to 1."""

    def __init__(
        self,
        dim: int,
        hidden: int,
        experts: int,
        top: int = 2,
        norm: bool = True,
        fn: str = "silu",
        names: Sequence[str] = (),
    ) -> None:
        super().__init__()
        if not 0 < top <= experts:
            raise said(
                ValueError(f"moe: {top} of {experts} experts cannot be chosen"), top, experts
            )
        self.dim, self.hidden, self.count, self.top = dim, hidden, experts, top
        self.norm, self.fn = norm, fn
        self.names = tuple(names) or GATED
        self.gate = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            Gated(dim, hidden, fn, names=self.names) for _ in range(experts)
        )

    def chosen(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """The weights and numbers of the experts for each place."""
        weights, numbers = torch.topk(torch.softmax(self.gate(x).float(), -1), self.top, -1)
        if self.norm:
            weights = weights / weights.sum(-1, keepdim=True)
        return weights.to(x.dtype), numbers

    def forward(self, x: Tensor) -> Tensor:
        flat = x.reshape(-1, self.dim)
        weights, numbers = self.chosen(flat)
        if len(flat) == 1:
            parts = [
                self.experts[n](flat) * weights[:, i : i + 1]
                for i, n in enumerate(numbers[0].tolist())
            ]
            return torch.stack(parts).sum(0).view_as(x)
        out = torch.zeros_like(flat)
        for n in numbers.unique().tolist():
            rows, which = torch.where(numbers == n)
            out = out.index_add(0, rows, self.experts[n](flat[rows]) * weights[rows, which, None])
        return out.view_as(x)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, hidden={self.hidden}, experts={self.count}, top={self.top}"
