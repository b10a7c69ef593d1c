"""Dropping gradients in optimizers."""

from __future__ import annotations

from torch import Tensor


def drop_gradient(p: Tensor) -> None:
    """Remove a parameter's gradient; it outlives the removal, for threads reading it at that moment."""
    old = p.grad
    p.grad = None
    del old
