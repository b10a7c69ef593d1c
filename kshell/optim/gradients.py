"""Gradients of parameters that optimizers drop."""

from __future__ import annotations

from torch import Tensor


def drop_gradient(p: Tensor) -> None:
    """Take a parameter's gradient away; it lives until the parameter is without it, for threads that read it now."""
    old = p.grad
    p.grad = None
    del old
