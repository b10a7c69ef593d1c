"""Training with half-precision parameters: master weights in single precision, and dynamic loss scaling.

Micikevicius et al. 2017, arXiv 1710.03740.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from kshell.errors import said
from kshell.optim import comm
from kshell.optim.abilities import Extra, abilities
from kshell.optim.aggregate import Aggregation, clip_
from kshell.optim.groups import settings_of


class LossScale:
    """A scale that is divided by `factor` at each overflow, and multiplied by it after `window` consecutive steps
    without one, up to `most`. Micikevicius et al. 2017, arXiv 1710.03740, section 3.2; after mlbench_core's
    DynamicLossScaler. ValueError for values out of range."""

    def __init__(
        self,
        init: float = 2.0**15,
        factor: float = 2.0,
        window: int = 2000,
        most: float | None = None,
    ) -> None:
        for name, value, least in (
            ("init", init, 0),
            ("factor", factor, 1),
            ("max", math.inf if most is None else most, 0),
        ):
            if not value > least or (name != "max" and math.isinf(value)):
                raise said(ValueError(f"Invalid {name} value: {value:g}"))
        if window < 1:
            raise said(ValueError(f"Invalid window value: {window}"))
        self.factor, self.window, self.most = factor, window, most
        self.scale = init if most is None else min(init, most)
        self.iter, self.last = 0, -1

    def update(self, overflow: bool) -> None:
        """Record a step, and whether its gradients overflowed."""
        if overflow:
            self.scale /= self.factor
            self.last = self.iter
        elif (self.iter - self.last) % self.window == 0:
            self.scale *= self.factor
            if self.most is not None:
                self.scale = min(self.scale, self.most)
        self.iter += 1


def _check(clip: float, least: float, most: float | None) -> None:
    """ValueError if the norm limit or the loss-scale bounds are out of range."""
    if not clip > 0:
        raise said(ValueError(f"Invalid clip value: {clip:g}"))
    if not least >= 0:
        raise said(ValueError(f"Invalid min value: {least:g}"))
    if most is not None and least > most:
        raise said(ValueError(f"Invalid min value: {least:g}, expecting no more than max {most:g}"))


class FP16(Extra, Optimizer):
    """An optimizer for half-precision parameters that wraps another one, which steps single-precision copies.

    Micikevicius et al. 2017, arXiv 1710.03740, sections 3.1 and 3.2; mlbench_core's FP16Optimizer. `params` are
    parameters or groups; `inner(groups)` makes the optimizer for the copies. The copy of a group is one flat
    vector of its parameters in order, without frozen ones. It takes its options from the group here, so rates are set
    here. A step, with S the loss scale, f = S multiplier, and `average`, `before`, `bylayer` as in Aggregation:

        half-precision gradients are aggregated, still scaled
        master gradient = these in single precision / f; clipped to `clip`
        if its norm is not finite: reduce S, change nothing else, return False
        else: S may increase, the inner optimizer steps, parameters <- master, return True

    RuntimeError if the scale falls to `least` or below. ValueError for options out of range.
    """

    meets = True  # a step with several processes is collective

    def __init__(
        self,
        params: Iterable[Any],
        inner: Callable[[list[dict[str, Any]]], Optimizer],
        init: float = 1024,
        factor: float = 2,
        window: int = 128,
        most: float | None = None,
        least: float = 1e-4,
        clip: float = math.inf,
        average: str = "world",
        before: bool = False,
        bylayer: bool = False,
    ) -> None:
        self.scaler, self.least, self.clip = LossScale(init, factor, window, most), least, clip
        self.aggregation = Aggregation(average, before, bylayer)
        _check(clip, least, most)
        super().__init__(params, {})
        self.masters = [_master(group["params"]) for group in self.param_groups]
        self.inner = inner(
            [
                {**settings_of(group), "params": [master]}
                for group, master in zip(self.param_groups, self.masters, strict=True)
            ]
        )
        self.defaults.update(self.inner.defaults)
        for mine, group in zip(self.param_groups, self.inner.param_groups, strict=True):
            mine.update(settings_of(group))

    @property
    def by_process(self) -> bool:  # type: ignore[override]
        """Does the state depend on the process, as that of the inner optimizer may?"""
        return abilities(self.inner).by_process

    # ------------------------------------------------------------ the copies

    def attached(self) -> None:
        """Parameters or groups were added: create their copies. The state of a group whose parameters changed is
        reset."""
        for i, group in enumerate(self.param_groups):
            if i == len(self.masters):
                self.masters.append(_master(group["params"]))
                self.inner.add_param_group({**settings_of(group), "params": [self.masters[i]]})
            elif self.masters[i].numel() != sum(p.numel() for p in comm.trained(group["params"])):
                self.inner.state.pop(self.masters[i], None)
                self.masters[i] = _master(group["params"])
                self.inner.param_groups[i]["params"] = [self.masters[i]]

    def flat_master(self) -> Tensor:
        """The copies of all groups as one vector."""
        return torch.cat([master.detach() for master in self.masters])

    @torch.no_grad()
    def master_to_model(self) -> None:
        """Copy master weights to parameters."""
        for group, master in zip(self.param_groups, self.masters, strict=True):
            comm.spread(master, comm.trained(group["params"]))

    @torch.no_grad()
    def model_to_master(self) -> None:
        """Copy parameters to master weights."""
        for group, master in zip(self.param_groups, self.masters, strict=True):
            params = comm.trained(group["params"])
            if params:
                master.copy_(torch.cat([param.detach().reshape(-1).float() for param in params]))

    @torch.no_grad()
    def gradients_to_master(self) -> None:
        """Copy gradients to the master weights, in single precision; missing ones are zeros."""
        for group, master in zip(self.param_groups, self.masters, strict=True):
            params = comm.trained(group["params"])
            if any(param.grad is not None and param.grad.is_sparse for param in params):
                raise ValueError("fp16: sparse gradients not implemented")
            if params:
                master.grad = torch.cat(
                    [
                        (torch.zeros_like(param) if param.grad is None else param.grad)
                        .reshape(-1)
                        .float()
                        for param in params
                    ]
                )

    # ------------------------------------------------------------ several processes

    def _own(self, multiplier: float = 1) -> tuple[tuple[str, str], ...]:
        s = self.scaler
        return (
            ("loss scales", f"{s.scale * multiplier:g}"),
            ("options of fp16", f"clip {self.clip:g}"),
            ("options of fp16", f"factor {s.factor:g}"),
            ("options of fp16", f"window {s.window}"),
            ("options of fp16", f"max {s.most}"),
            ("options of fp16", f"min {self.least:g}"),
        )

    def agree(self, call: str) -> None:
        """Check that all processes have the same parameters and options; if not, ValueError on all."""
        self.aggregation.agree(call, self.param_groups, *self._own())

    # ------------------------------------------------------------ steps

    def backward(self, loss: Tensor, **options: Any) -> None:
        """Compute gradients of the scaled loss; the loss itself is unchanged."""
        (loss.float() * self.scaler.scale).backward(**options)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients of parameters and copies."""
        super().zero_grad(set_to_none)
        self.inner.zero_grad(set_to_none)

    def step(  # type: ignore[override]
        self,
        closure: Callable[[], Any] | None = None,
        multiplier: float = 1,
        denom: float | None = None,
    ) -> bool:
        """One update; returns whether it was made, or skipped because gradients overflowed. A closure calls `backward`
        itself."""
        if not 0 < multiplier < math.inf:
            raise said(ValueError(f"Invalid multiplier value: {multiplier:g}"))
        comm.loss_of(closure)
        self.aggregation.gradients(
            self.param_groups, denom, call="step: fp16", own=self._own(multiplier)
        )
        self.gradients_to_master()
        f = self.scaler.scale * multiplier
        held = [master for master in self.masters if master.grad is not None]
        if f != 1:
            for m in held:
                m.grad.div_(f)  # type: ignore[union-attr]
        norm = clip_(held, self.clip) if held else torch.zeros(())
        overflow = not bool(norm.isfinite())
        self.scaler.update(overflow)
        if overflow:
            if self.scaler.scale <= self.least:
                least, scale = f"{self.least:g}", f"{self.scaler.scale:g}"
                raise said(RuntimeError(f"Minimum loss scale ({least}) reached: {scale}"))
            return False
        for mine, group in zip(self.param_groups, self.inner.param_groups, strict=True):
            group.update(settings_of(mine))
        self.inner.step()
        self.master_to_model()
        return True

    # ------------------------------------------------------------ state

    def get_extra(self) -> dict[str, Any]:
        """The copies, the inner optimizer's state by group and its extra state, the scale and its counts."""
        kept = self.inner.state_dict()
        within = {"within": kept["extra"]} if kept.get("extra") else {}
        return {
            **within,
            "master": [master.detach().clone() for master in self.masters],
            "inner": [kept["state"].get(i, {}) for i in range(len(self.masters))],
            "scale": float(self.scaler.scale),
            "iter": self.scaler.iter,
            "last": self.scaler.last,
        }

    def set_extra(self, extra: dict[str, Any]) -> None:
        """Restore a state from `get_extra`."""
        if not extra:
            return
        with torch.no_grad():
            for master, kept in zip(self.masters, extra["master"], strict=True):
                master.copy_(kept)
        groups = [
            {**settings_of(group), "params": [i]} for i, group in enumerate(self.inner.param_groups)
        ]
        within = {"extra": extra["within"]} if "within" in extra else {}
        self.inner.load_state_dict(
            {
                "state": {i: s for i, s in enumerate(extra["inner"]) if s},
                "param_groups": groups,
                **within,
            }
        )
        self.scaler.scale, self.scaler.iter, self.scaler.last = (
            extra["scale"],
            extra["iter"],
            extra["last"],
        )


def _master(params: Iterable[Tensor]) -> Tensor:
    """The copy of some parameters: a vector in single precision."""
    params = comm.trained(params)
    parts = [param.detach().reshape(-1).float() for param in params]
    return torch.cat(parts).requires_grad_() if parts else torch.zeros(0, requires_grad=True)
