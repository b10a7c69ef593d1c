"""Containers that run their children in order."""

from __future__ import annotations

from typing import Any

from torch import nn


class SeqNest(nn.Sequential):
    """A Sequential whose first child may take up to three inputs, so that it can be nested."""

    def forward(self, *inputs: Any) -> Any:
        """Run the children in order; the first gets all inputs, each other one the output before it."""
        children = iter(self)
        first = next(children, None)
        if first is None:
            return inputs[0]
        x = first(*inputs)
        for child in children:
            x = child(x)
        return x
