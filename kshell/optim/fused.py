"""Steps of torch's own optimizers by direct calls of their fused kernels.

The same algorithm and state as `optimizer.step()` with `fused=True`, bit for bit, at a third of the cost for a small
model: torch's overhead around the kernel at each step (hooks, profiling, regrouping) is skipped if it has no effect.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Adagrad, Adam, AdamW, Optimizer
from torch.optim import optimizer as _base

_OFF = ("foreach", "capturable", "differentiable")  # implementation flags of a group
_DEVICES = ("cpu", "cuda")
# torch's kernel for bfloat16 reads uninitialized momenta
_TYPES = (
    torch.float32,
    torch.float64,
)


def step(o: Optimizer) -> bool:
    """Update the parameters that have gradients; False, without doing anything, if only `o.step()` can do it (another
    class, hooks, a group with implementation flags, sparse gradients, parameters without a fused kernel)."""
    kernel = _KERNELS.get(o.__class__)
    if kernel is None or o._optimizer_step_pre_hooks or o._optimizer_step_post_hooks or _watched(o):
        return False
    work = []
    for group in o.param_groups:
        if (
            group.get("fused") is False
            or any(group.get(k) for k in _OFF)
            or group["lr"].__class__ is not float
        ):
            return False
        params = [param for param in group["params"] if param.grad is not None]
        if params:
            lots = _lots(params)
            if lots is None:
                return False
            work += [(group, lot) for lot in lots]
    was = torch.is_grad_enabled()
    torch._C._set_grad_enabled(False)
    try:
        for group, lot in work:
            kernel(o, group, lot)
    finally:
        torch._C._set_grad_enabled(was)
    o._opt_called = True  # type: ignore[attr-defined]  # torch's schedulers read this flag
    return True


def plain(o: Optimizer, closure: Callable[[], Any] | None = None) -> Any:
    """`o.step(closure)`. torch's wrapper around step imports its compiler (80 MB, most of a second), only to exclude
    step from compilation; as long as nothing has imported the compiler, that is skipped."""
    own = _own(o)
    if own is None:
        return o.step() if closure is None else o.step(closure)
    was = torch.is_grad_enabled()
    torch._C._set_grad_enabled(bool(o.defaults["differentiable"]))
    try:
        loss = own(o, closure)
    finally:
        torch._C._set_grad_enabled(was)
    o._opt_called = True  # type: ignore[attr-defined]
    return loss


def _own(o: Optimizer) -> Callable[..., Any] | None:
    """The undecorated step of one of torch's classes; None if all of its wrapper is needed."""
    if (
        "torch._dynamo" in sys.modules
        or o._optimizer_step_pre_hooks
        or o._optimizer_step_post_hooks
        or _watched(o)
    ):
        return None
    # decorated by someone else
    if "step" in vars(o) and not hasattr(o.step, "_wrapped_by_lr_sched"):
        return None
    around: Any = getattr(o.__class__.step, "__wrapped__", None)
    if getattr(getattr(around, "__code__", None), "co_name", "") != "_use_grad":
        return None
    return around.__wrapped__


def _watched(o: Optimizer) -> bool:
    """Does anything observe every step: hooks on all optimizers, gradient scaling?"""
    return bool(_base._global_optimizer_pre_hooks or _base._global_optimizer_post_hooks) or hasattr(
        o, "grad_scale"
    )


def _lots(params: list[Tensor]) -> Sequence[list[Tensor]] | None:
    """The parameters by device and data type, as a kernel takes them; None if one has no kernel."""
    first = params[0]
    dtype, device = first.dtype, first.device
    if device.type not in _DEVICES or dtype not in _TYPES:
        return None
    same = True
    for param in params:
        g: Any = param.grad
        if g.layout is not torch.strided or g.dtype is not param.dtype or g.__class__ is not Tensor:
            return None
        if param.dtype is not dtype or param.device != device:
            same = False
    if same:
        return (params,)
    found: dict[Any, list[Tensor]] = {}
    for param in params:
        if param.device.type not in _DEVICES or param.dtype not in _TYPES:
            return None
        found.setdefault((param.device, param.dtype), []).append(param)
    return list(found.values())


def _steps(states: Sequence[dict[str, Any]], params: Sequence[Tensor]) -> list[Tensor]:
    """The step counters, on the device of the parameters, incremented."""
    device = params[0].device
    for state in states:
        if state["step"].device != device:
            state["step"] = state["step"].to(device)
    counters = [state["step"] for state in states]
    torch._foreach_add_(counters, 1)
    return counters


def _adam(o: Optimizer, group: dict[str, Any], params: list[Tensor]) -> None:
    """Adam, and AdamW with its decoupled weight decay."""
    amsgrad = group["amsgrad"]
    states = [o.state[param] for param in params]
    for param, state in zip(params, states, strict=True):
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=param.device)
            state["exp_avg"], state["exp_avg_sq"] = torch.zeros_like(param), torch.zeros_like(param)
        if amsgrad and "max_exp_avg_sq" not in state:
            state["max_exp_avg_sq"] = torch.zeros_like(param)
    counters = _steps(states, params)
    beta1, beta2 = group["betas"]
    fn = torch._fused_adamw_ if group["decoupled_weight_decay"] else torch._fused_adam_
    grads: list[Any] = [param.grad for param in params]
    fn(
        params,
        grads,
        [state["exp_avg"] for state in states],
        [state["exp_avg_sq"] for state in states],
        [state["max_exp_avg_sq"] for state in states] if amsgrad else [],
        counters,
        lr=group["lr"],
        beta1=beta1,
        beta2=beta2,
        weight_decay=group["weight_decay"],
        eps=group["eps"],
        amsgrad=amsgrad,
        maximize=group["maximize"],
        grad_scale=None,
        found_inf=None,
    )


def _sgd(o: Optimizer, group: dict[str, Any], params: list[Tensor]) -> None:
    """SGD. A first step with momentum uses the gradient as the momentum; parameters at their first step and others need
    two calls."""
    if not group["momentum"]:
        _sgd_call(group, params, [], False)
        return
    fresh = [param for param in params if o.state[param].get("momentum_buffer") is None]
    for p in fresh:
        o.state[p]["momentum_buffer"] = torch.empty_like(p)
    if fresh:
        _sgd_call(group, fresh, [o.state[p]["momentum_buffer"] for p in fresh], True)
    if len(fresh) < len(params):
        begun = {id(p) for p in fresh}
        rest = [param for param in params if id(param) not in begun] if fresh else params
        _sgd_call(group, rest, [o.state[p]["momentum_buffer"] for p in rest], False)


def _sgd_call(
    group: dict[str, Any], params: list[Tensor], momenta: list[Tensor], first: bool
) -> None:
    grads: list[Any] = [param.grad for param in params]
    torch._fused_sgd_(
        params,
        grads,
        momenta,
        weight_decay=group["weight_decay"],
        momentum=group["momentum"],
        lr=group["lr"],
        dampening=group["dampening"],
        nesterov=group["nesterov"],
        maximize=group["maximize"],
        is_first_step=first,
        grad_scale=None,
        found_inf=None,
    )


def _adagrad(o: Optimizer, group: dict[str, Any], params: list[Tensor]) -> None:
    """Adagrad."""
    states = [o.state[param] for param in params]
    for param, state in zip(params, states, strict=True):
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=param.device)
            state["sum"] = torch.full_like(param, group["initial_accumulator_value"])
    counters = _steps(states, params)
    grads: list[Any] = [param.grad for param in params]
    torch._fused_adagrad_(
        params,
        grads,
        [state["sum"] for state in states],
        counters,
        lr=group["lr"],
        lr_decay=group["lr_decay"],
        weight_decay=group["weight_decay"],
        eps=group["eps"],
        maximize=group["maximize"],
        grad_scale=None,
        found_inf=None,
    )


_KERNELS: dict[type, Callable[[Optimizer, dict[str, Any], list[Tensor]], None]] = {
    SGD: _sgd,
    Adam: _adam,
    AdamW: _adam,
    Adagrad: _adagrad,
}
