"""Averaging gradients or weights over processes around the steps of any optimizer, as in mlbench_core.

With W processes and a divisor D, which is W (`world`) or passed at each step (`custom`):

    x <- x / D where `before`,   x <- sum of x over the processes,   x <- x / D otherwise

x are the gradients before the step or, with `agggrad` off, the weights after it. All x of one type are sent in one
vector, or with `bylayer` separately. A single process sends nothing, but custom divisors still apply.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Adam, Optimizer

from kshell.errors import said
from kshell.optim import comm
from kshell.parallel.meet import refuse

AVERAGES = ("world", "custom")


def mean_(
    tensors: Sequence[Tensor], divisor: float, before: bool = False, bylayer: bool = False
) -> None:
    """Replace tensors by their sum over the processes, divided by a number; in place."""
    if comm.world() == 1:
        if divisor != 1:
            for tensor in tensors:
                tensor.div_(divisor)
        return
    for part in comm.buckets(tensors, bylayer):
        v = comm.flat(part)
        comm.spread(_reduced(v, divisor, before), part)


def _reduced(v: Tensor, divisor: float, before: bool) -> Tensor:
    if before:
        v.div_(divisor)
    comm.all_reduce(v)
    return v if before else v.div_(divisor)


def lacking(params: Iterable[Tensor]) -> int:
    """The number of participating parameters that have no gradient of their own type here."""
    return sum(p.grad is None or p.grad.dtype != p.dtype for p in comm.trained(params))


def mean_gradients(
    params: Iterable[Tensor],
    divisor: float,
    before: bool = False,
    bylayer: bool = False,
    every: bool = False,
) -> None:
    """`mean_` of gradients. Frozen parameters are skipped; a gradient missing here counts as zeros, and one missing
    everywhere stays missing: after the elements, each process sends which gradients it has. `every`: none is missing
    anywhere, so only the elements are sent (the extra data would change where the vector is split for the sum, and so
    the rounding)."""
    params = comm.trained(params)
    if every or comm.world() == 1:
        mean_([param.grad for param in params if param.grad is not None], divisor, before, bylayer)
        return
    for part in comm.buckets(params, bylayer):
        grads = [torch.zeros_like(p) if p.grad is None else p.grad.to(p.dtype) for p in part]
        v = _reduced(comm.flat(grads, [float(p.grad is not None) for p in part]), divisor, before)
        comm.spread(v, grads)
        for p, grad, held in zip(part, grads, v[-len(part) :].tolist(), strict=True):
            if not held:
                continue
            if p.grad is None:
                p.grad = grad
            elif p.grad is not grad:
                p.grad.copy_(grad)


def clip_(params: Iterable[Tensor], limit: float) -> Tensor:
    """Scale gradients so that their norm is at most `limit`: g min(1, limit / (norm + 1e-6)); returns the previous
    norm."""
    held = [param for param in params if param.grad is not None]
    if any(p.grad is not None and p.grad.is_sparse for p in held):
        raise ValueError("sparse gradients cannot be clipped")
    return torch.nn.utils.clip_grad_norm_(held, limit)


class Aggregation:
    """Aggregation around the steps of an optimizer: see the top of the file. `clip` is the maximum norm of aggregated
    gradients (with `agggrad` off, of each process's own).

    After AllReduceAggregation and CustomCentralizedOptimizer in mlbench_core. ValueError for options that are unknown,
    out of range or incompatible; the same one on all processes if they disagree.
    """

    def __init__(
        self,
        average: str = "world",
        before: bool = False,
        bylayer: bool = False,
        agggrad: bool = True,
        clip: float = math.inf,
    ) -> None:
        if average not in AVERAGES:
            raise said(
                ValueError(f"agg: unrecognized average {average}, expecting world or custom"),
                average,
            )
        if average == "custom" and not agggrad:
            raise ValueError("agg: weights can only be averaged over the world")
        if not clip > 0:
            raise said(ValueError(f"agg: Invalid clip value: {clip:g}"))
        self.average, self.before, self.bylayer, self.agggrad, self.clip = (
            average,
            before,
            bylayer,
            agggrad,
            clip,
        )

    def divisor(self, denom: float | None) -> float:
        """The divisor for a step; ValueError if invalid."""
        if self.average == "world":
            if denom is not None:
                raise ValueError("agg: a denominator is for custom averages")
            return comm.world()
        d = math.nan if denom is None else float(denom)
        if not 0 < d < math.inf:
            raise ValueError("agg: a custom average needs a denominator above 0 at each step")
        return d

    def agree(
        self,
        call: str,
        groups: Sequence[dict[str, Any]],
        *own: tuple[str, str],
        dense: bool = False,
        more: int = 0,
    ) -> list[int]:
        """Check that all processes are in this call, with the same parameters and options; if not, ValueError on all.
        (If weights are averaged, rates may differ.) Returns what each passed as `more`."""
        if comm.world() == 1:
            return [more]
        return comm.meet(
            self,
            call,
            groups,
            self._free,
            (
                *own,
                ("options of agg", f"average {self.average}"),
                *(
                    ("options of agg", f"{k} {getattr(self, k)!r}")
                    for k in ("before", "bylayer", "agggrad", "clip")
                ),
            ),
            more=more,
            dense=dense,
        )

    def meet(
        self,
        call: str,
        groups: Sequence[dict[str, Any]],
        denom: float | None,
        *own: tuple[str, str],
    ) -> tuple[float, bool]:
        """The divisor for a step, agreed by all processes, and whether all have every gradient."""
        try:
            divisor = self.divisor(denom)
        except ValueError as exc:
            if comm.world() == 1:
                raise
            text = str(exc)
        else:
            if comm.world() == 1:
                return divisor, True
            missing = self.agree(
                call,
                groups,
                ("denominators", f"{divisor:g}"),
                *own,
                dense=self.agggrad,
                more=lacking(param for group in groups for param in group["params"]),
            )
            return divisor, not any(missing)
        refuse(call, f"{call}: {text.removeprefix('agg: ')}")
        raise AssertionError

    def _free(self, group: dict[str, Any]) -> Iterable[str]:
        return () if self.agggrad else group

    def start(self, groups: Sequence[dict[str, Any]], call: str = "agg") -> None:
        """With `agggrad` off, set the weights of every process to their mean."""
        if not self.agggrad and comm.world() > 1:
            self.agree(call, groups)
            self.weights(groups)

    @torch.no_grad()
    def gradients(
        self,
        groups: Sequence[dict[str, Any]],
        denom: float | None = None,
        clip: bool = True,
        call: str = "step: agg",
        own: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Before the step: aggregate and clip gradients."""
        divisor, every = self.meet(call, groups, denom, *own)
        params = [param for group in groups for param in group["params"]]
        if self.agggrad and (comm.world() > 1 or divisor != 1):
            mean_gradients(params, divisor, self.before, self.bylayer, every)
        if clip and self.clip != math.inf:
            clip_(params, self.clip)

    @torch.no_grad()
    def weights(self, groups: Sequence[dict[str, Any]]) -> None:
        """After the step: with `agggrad` off, average the weights."""
        if not self.agggrad and comm.world() > 1:
            mean_(
                comm.trained(param for group in groups for param in group["params"]),
                comm.world(),
                self.before,
                self.bylayer,
            )

    def step(
        self,
        inner: Callable[[], Any],
        groups: Sequence[dict[str, Any]],
        closure: Callable[[], Any] | None = None,
        denom: float | None = None,
    ) -> Any:
        """A whole step with `inner`; returns the closure's loss. (Aggregation must follow the closure, which computes
        the gradients, so the inner optimizer gets no closure.)"""
        loss = comm.loss_of(closure)
        self.gradients(groups, denom)
        inner()
        self.weights(groups)
        return loss


class Aggregated:
    """An optimizer with aggregation around its steps; everything else is the optimizer's own. Options are
    those of Aggregation; invalid ones raise ValueError."""

    def __init__(
        self,
        inner: Optimizer,
        average: str = "world",
        before: bool = False,
        bylayer: bool = False,
        agggrad: bool = True,
        clip: float = math.inf,
    ) -> None:
        self.inner, self.aggregation = inner, Aggregation(average, before, bylayer, agggrad, clip)
        self.aggregation.start(inner.param_groups)

    def step(self, closure: Callable[[], Any] | None = None, denom: float | None = None) -> Any:
        """Aggregate and step; returns the closure's loss."""
        return self.aggregation.step(self.inner.step, self.inner.param_groups, closure, denom)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["inner"], name)


class _Central(comm.Together, Optimizer):
    """Aggregation over the world as options of an optimizer's groups."""

    def _take(self, **options: bool) -> None:
        """Set the options of aggregation, the same in every group."""
        self.defaults.update(options)
        for group in self.param_groups:
            for key, value in options.items():
                group.setdefault(key, value)
        if comm.world() > 1 and not all(group["agggrad"] for group in self.param_groups):
            self.attached()

    def _kinds(self) -> list[tuple[Aggregation, list[Any]]]:
        """The groups with equal aggregation options."""
        found: dict[tuple[bool, bool, bool], list[Any]] = {}
        for group in self.param_groups:
            found.setdefault((group["before"], group["bylayer"], group["agggrad"]), []).append(
                group
            )
        made = vars(self).setdefault("_made", {})
        for key in found:
            if key not in made:
                made[key] = Aggregation("world", *key)
        return [(made[key], groups) for key, groups in found.items()]

    def free(self, group: dict[str, Any]) -> Iterable[str]:
        """If weights are averaged, rates may differ."""
        return () if group["agggrad"] else group.keys() - {"before", "bylayer", "agggrad"}

    def attached(self) -> None:
        """Parameters were added: if weights are averaged, they start as the mean over the processes."""
        super().attached()
        self._start()

    def _start(self) -> None:
        for how, groups in self._kinds():
            how.weights(groups)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Aggregate the gradients and step, or step and average the weights; returns the closure's loss."""
        loss = comm.loss_of(closure)
        kinds = self._kinds()
        if comm.world() > 1:
            every = not any(
                self.meet(
                    "step",
                    more=lacking(param for group in self.param_groups for param in group["params"]),
                )
            )
            for how, groups in kinds:
                if how.agggrad:
                    with torch.no_grad():
                        mean_gradients(
                            (param for group in groups for param in group["params"]),
                            comm.world(),
                            how.before,
                            how.bylayer,
                            every,
                        )
        super().step()
        for how, groups in kinds:
            how.weights(groups)
        return loss


class CentralizedSGD(_Central, SGD):
    """torch's SGD with the mean gradient, or with the mean weights, over all processes; after mlbench_core's
    CentralizedSGD. ValueError for options out of range, and on all processes for parameters or options that differ."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.01,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        bylayer: bool = False,
        agggrad: bool = True,
        before: bool = False,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
        )
        self._take(bylayer=bylayer, agggrad=agggrad, before=before)


class CentralizedAdam(_Central, Adam):
    """torch's Adam with the mean gradient, or with the mean weights, over all processes; after mlbench_core's
    CentralizedAdam. ValueError for options out of range, and on all processes for parameters or options that differ."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.001,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        bylayer: bool = False,
        agggrad: bool = True,
        before: bool = False,
    ) -> None:
        super().__init__(
            params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad
        )
        self._take(bylayer=bylayer, agggrad=agggrad, before=before)
