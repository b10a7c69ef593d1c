"""A computation with a custom backward pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch


class Custom(torch.autograd.Function):
    """f(*inputs), whose gradients are b(gradient of the result, *inputs): one per input, or None."""

    generate_vmap_rule = True

    @staticmethod
    def forward(f: Callable[..., Any], b: Callable[..., Any], *inputs: Any) -> Any:
        found = f(*inputs)
        if isinstance(found, tuple):
            return tuple(_apart(t, inputs) for t in found)
        return _apart(found, inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.b = inputs[1]
        ctx.save_for_backward(*inputs[2:])

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        found = ctx.b(*gradients, *ctx.saved_tensors)
        return None, None, *(found if isinstance(found, tuple) else (found,))


def _apart(t: Any, inputs: tuple[Any, ...]) -> Any:
    """A result that is not the same object as an input: torch keeps that for backward."""
    return t.view_as(t) if any(t is i for i in inputs) else t
