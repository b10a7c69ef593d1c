"""A module's forward as plain calls, without torch's overhead around each submodule call.

If no submodule has hooks, the result is bit for bit the module's own.
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
    """Is calling the module just calling its forward?"""
    return (
        not any(getattr(m, name) for name in _HOOKS)
        and m._compiled_call_impl is None
        and m.__class__.__call__ is nn.Module.__call__
        and m.__class__ is not nn.Module
    )


def forward_of(m: nn.Module) -> Callable[[Any], Any]:
    """A function of one tensor equivalent to the module, as long as its submodules stay the same.

    The children of a sequential are called one after another; any other module's `forward` is called.
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
