"""A module's forward calculation as plain calls, without what torch does around each call of a submodule.

Where no submodule has hooks, the result is that of the module itself, bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn
from torch.nn.modules import module as _base

_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_GLOBAL = (
    "_global_forward_hooks",
    "_global_forward_pre_hooks",
    "_global_backward_hooks",
    "_global_backward_pre_hooks",
)


def plain(m: nn.Module) -> bool:
    """Is a call of the module nothing but a call of its forward?"""
    return (
        not any(getattr(m, name) for name in _HOOKS)
        and m._compiled_call_impl is None
        and m.__class__.__call__ is nn.Module.__call__
        and m.__class__ is not nn.Module
    )


def forward_of(m: nn.Module) -> Callable[[Any], Any]:
    """A function of one tensor that does what the module does, for as long as its submodules stay the same.

    A sequential's children are called one after the other; any other module is called by its `forward`.
    """
    if any(getattr(_base, name) for name in _GLOBAL) or not plain(m):
        return m
    if m.__class__.forward is not nn.Sequential.forward or "forward" in m.__dict__:
        return m.forward
    calls = tuple(forward_of(child) for child in m)  # type: ignore[attr-defined]

    def run(x: Any) -> Any:
        for call in calls:
            x = call(x)
        return x

    return run
