"""What optimizers keep, brought along when their parameters go to another device or become another type."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer


def drop_gradient(p: Tensor) -> None:
    """Take a parameter's gradient away; it lives until the parameter is without it, for threads that read it now."""
    old = p.grad
    p.grad = None
    del old


# a parameter as it was: itself, and its type then
Was = tuple[Tensor, torch.dtype]


def follow(o: Optimizer, was: Mapping[int, Was]) -> None:
    """Bring the state of an optimizer to its parameters, after those have moved.

    `was` has, by the id of each parameter that moved, the parameter that stands there now (the same object, save on
    devices like meta, for which torch makes another) and the type it had. Buffers go to the parameter's device; those
    of the type it had become of the type it has. A step counter stays on the CPU unless the group is fused or
    capturable, as torch's `load_state_dict` has it. Optimizers within this one (of copies in single precision, of
    layers) follow too.
    """
    groups = {id(p): g for g in o.param_groups for p in g["params"]}
    for held in list(vars(o).values()):
        for inner in held if isinstance(held, list) else [held]:
            if isinstance(inner, Optimizer):
                follow(inner, {**was, **_copies(o, inner, groups, was)})
    for p in list(o.state):
        if id(p) in was:
            now, dtype = was[id(p)]
            g = groups.get(id(p), {})
            o.state[now] = {k: _moved(v, now, dtype, k == "step" and not (g.get("fused") or g.get("capturable")))
                            for k, v in o.state.pop(p).items()}
    for params in [g["params"] for g in o.param_groups]:
        params[:] = [was[id(p)][0] if id(p) in was else p for p in params]


def _copies(o: Optimizer, inner: Optimizer, own: Mapping[int, object], was: Mapping[int, Was]) -> dict[int, Was]:
    """The parameters that an inner optimizer has for itself, group by group, moved to the device of the outer ones."""
    out = {}
    for g, mine in zip(o.param_groups, inner.param_groups, strict=False):
        first = g["params"][0] if g["params"] else None
        device = None if first is None else was.get(id(first), (first,))[0].device
        for p in mine["params"]:
            if id(p) not in own and device is not None and p.device != device:
                _move(p, device)
                out[id(p)] = p, p.dtype
    return out


def _move(p: Tensor, device: torch.device) -> None:
    """Move a parameter and its gradient; it stays the same object, on devices like meta too."""
    there, gradient = p.data.to(device), None if p.grad is None else p.grad.to(device)
    if torch._has_compatible_shallow_copy_type(p.data, there):
        p.data = there
    else:
        p.grad = None
        torch.utils.swap_tensors(p, torch.nn.Parameter(there, p.requires_grad))
    p.grad = gradient


def _moved(x: Any, p: Tensor, dtype: torch.dtype, counter: bool) -> Any:
    """A buffer, or those in it, as the parameter needs them."""
    if isinstance(x, Tensor):
        if counter and x.device.type == "cpu":
            return x
        return x.to(device=p.device, dtype=p.dtype if x.dtype == dtype and x.is_floating_point() and x.dim() else None)
    if isinstance(x, dict):
        return {k: _moved(v, p, dtype, counter) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return type(x)(_moved(v, p, dtype, counter) for v in x)
    return x


def append(t: Any, group: dict[str, Any]) -> None:
    """Add a group whose parameters are known to be in no other. (torch would look through all groups for them.)"""
    held = t.param_groups
    if type(t).add_param_group is not Optimizer.add_param_group:
        t.add_param_group(group)
        return
    t.param_groups = []
    try:
        t.add_param_group(group)
    finally:
        made, t.param_groups = t.param_groups, held
    held.extend(made)
