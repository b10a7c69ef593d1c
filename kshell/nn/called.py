"""A wrapper module through which torch.func.functional_call calls a module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch import nn


class Called(nn.Module):
    """`run` of the module `m`, its inputs, and those by name."""

    def __init__(
        self, m: nn.Module, run: Callable[[nn.Module, Sequence[Any], dict[str, Any]], Any]
    ) -> None:
        super().__init__()
        self.m, self.run = m, run

    def forward(self, *inputs: Any, **named: Any) -> Any:
        return self.run(self.m, inputs, named)
