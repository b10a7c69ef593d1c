"""Losses without a loss class: a function of the user's, and the loss that an output carries itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from torch import nn

from kshell.errors import said


class GivenLoss(nn.Module):
    """A function of an output and targets. `given` is what the user gave for it."""

    def __init__(self, given: Any, fn: Callable[..., Any]) -> None:
        super().__init__()
        self.given, self.fn = given, fn

    def forward(self, output: Any, *targets: Any) -> Any:
        return self.fn(output, *targets)


class OwnLoss(nn.Module):
    """What a module's output, a dictionary or an object with names, has under the name `loss`."""

    def forward(self, output: Any, *targets: Any) -> Any:
        if isinstance(output, Mapping):
            loss = output.get("loss")
        else:
            named = dataclasses.is_dataclass(output) or hasattr(output, "_asdict")
            loss = output.loss if named and hasattr(output, "loss") else None
        if loss is None:
            raise said(ValueError(f"{_what(output)}, but the model has no other loss"))
        return loss


def _what(output: Any) -> str:
    if isinstance(output, Mapping):
        return f"the output has no loss, only {' '.join(map(str, output))}"
    return f"the output is a {type(output).__name__} without a loss"
