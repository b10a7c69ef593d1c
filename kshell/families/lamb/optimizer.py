"""LAMB: layer-wise adaptive moments for training with large batches.

You et al. 2019 (arXiv 1904.00962), in the variant that first divides every gradient by the global norm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from kshell.errors import said

# options that must not be negative, by their name in the error text
_FROM_ZERO = {
    "lr": "learning rate",
    "eps": "epsilon value",
    "weight_decay": "weight_decay value",
    "trustmin": "trustmin value",
}


def _check(options: Mapping[str, Any]) -> None:
    """ValueError for options out of range."""
    for key, words in _FROM_ZERO.items():
        if not options[key] >= 0.0:
            raise said(ValueError(f"Invalid {words}: {options[key]}"))
    for i, beta in enumerate(options["betas"]):
        if not 0.0 <= beta < 1.0:
            raise said(ValueError(f"Invalid beta parameter at index {i}: {beta}"))
    if not options["trustmax"] >= options["trustmin"]:
        raise said(ValueError(f"Invalid trustmax value: {options['trustmax']}"))


class Lamb(Optimizer):
    """Adam's update, scaled for each parameter by the ratio of the parameter's norm to the update's norm.

    You et al. 2019, arXiv 1904.00962, algorithm 2. For a parameter p with gradient g at its t-th step:

        g <- g / G                                  G is the global gradient norm; if `globalnorm`
        m <- b1 m + (1-b1) g,   v <- b2 v + (1-b2) g*g
        u = m / (sqrt(v) + eps)                     with `unbiased`, m / (1-b1^t) and sqrt(v) / sqrt(1-b2^t)
        u <- u + weight_decay p
        r = |p| / |u|                               1 if either norm is 0; clipped to the trust limits if `trustclip`
        p <- p - lr r u

    G is the norm over all groups, including those without `globalnorm`; each group's option decides whether its
    gradients are divided by it. The gradients themselves are not modified. If all gradients are zero, they are not
    divided. ValueError for options out of range, RuntimeError for sparse gradients.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        unbiased: bool = True,
        globalnorm: bool = True,
        trustclip: bool = True,
        trustmin: float = 0.0,
        trustmax: float = 1.0,
    ) -> None:
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "unbiased": unbiased,
            "globalnorm": globalnorm,
            "trustclip": trustclip,
            "trustmin": trustmin,
            "trustmax": trustmax,
        }
        _check(defaults)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update of every parameter that has a gradient; with a closure, evaluate it first and return its loss."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        norm = self._norm() if any(group["globalnorm"] for group in self.param_groups) else None
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self._update(param, param.grad, group, norm if group["globalnorm"] else None)
        return loss

    def _norm(self) -> Tensor | None:
        """The global gradient norm, 1 if all gradients are zero; None if there are none."""
        grads = [
            param.grad
            for group in self.param_groups
            for param in group["params"]
            if param.grad is not None
        ]
        if any(grad.is_sparse for grad in grads):
            raise RuntimeError("lamb: sparse gradients not implemented")
        if not grads:
            return None
        home = grads[0].device
        total = torch.stack([grad.abs().square().sum().to(home) for grad in grads]).sum().sqrt()
        return torch.where(total == 0, 1, total)  # tested on the device, without synchronizing

    def _update(self, p: Tensor, grad: Tensor, group: dict[str, Any], norm: Tensor | None) -> None:
        if grad.is_sparse:
            raise RuntimeError("lamb: sparse gradients not implemented")
        if norm is not None:
            grad = grad / norm.to(grad.device)
        state = self.state[p]
        if not state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(p, memory_format=torch.preserve_format)
            state["exp_avg_sq"] = torch.zeros_like(p, memory_format=torch.preserve_format)
        state["step"] += 1
        u = self._direction(state, grad, group)
        if group["weight_decay"]:
            u.add_(p, alpha=group["weight_decay"])
        p.sub_(u.mul_(self._trust(p, u, group)), alpha=group["lr"])

    @staticmethod
    def _direction(state: dict[str, Any], grad: Tensor, group: dict[str, Any]) -> Tensor:
        """Adam's direction, after updating the running averages."""
        beta1, beta2 = group["betas"]
        m, v, t = state["exp_avg"], state["exp_avg_sq"], state["step"]
        m.mul_(beta1).add_(grad, alpha=1 - beta1)
        v.mul_(beta2).addcmul_(grad, grad.conj(), value=1 - beta2)
        if not group["unbiased"]:
            return m / v.sqrt().add_(group["eps"])
        low = v.sqrt().div_((1 - beta2**t) ** 0.5).add_(group["eps"])
        return (m / (1 - beta1**t)).div_(low)

    @staticmethod
    def _trust(p: Tensor, u: Tensor, group: dict[str, Any]) -> Tensor:
        """The ratio of the norms of parameter and update."""
        a, b = torch.linalg.vector_norm(p), torch.linalg.vector_norm(u)
        r = torch.where((a > 0) & (b > 0), a / b, torch.ones_like(a))
        return r.clamp_(group["trustmin"], group["trustmax"]) if group["trustclip"] else r
