"""Learning rates scaled to the usefulness of larger batches, after AdaptDL: the gradient noise scale and four rules.

Johnson et al. 2020, "AdaScale SGD" (arXiv 2007.05105); McCandlish et al. 2018, "An empirical model of large-batch
training" (arXiv 1812.06162); You et al. 2019, LEGW (arXiv 1901.08256); Qiao et al. 2021, "Pollux" (arXiv 2008.12260).

A step consists of W processes with c micro-batches each, whose gradients are averaged; its scale is s = a c, where a is
the batch size of one micro-step over all processes, in base batches. With estimates of the squared norm of the true
gradient (sqr) and of the trace of its covariance at the base batch size (var), the gain of the step is (var + sqr) /
(var / s + sqr).
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import Optimizer

from kshell.errors import said
from kshell.optim import comm
from kshell.optim.aggregate import mean_gradients
from kshell.optim.gradients import drop_gradient

SMOOTHING = 0.999  # decay of the estimates per step, to the power of the scale
_LEAST = 1e-6  # minimum variance


def _square(t: Tensor) -> Tensor:
    """The sum of squares of a tensor, in double precision."""
    t = t.detach()
    t = t.coalesce().values() if t.is_sparse else t
    t = torch.view_as_real(t) if t.is_complex() else t
    return torch.linalg.vector_norm(t, dtype=torch.float64).square()


class GradientNoiseScale:
    """Estimates of sqr and var for each parameter group, from the gradients of the optimizer's parameters.

    McCandlish et al. 2018, arXiv 1812.06162, appendix A; AdaptDL's GradientNoiseScale. With N gradients g in a step of
    scale s, where L is the mean of |g|^2 and T = |mean of g|^2, the exponential means are updated with

        sqr: (N T - L) / (N - 1),   var: (L - T) s / (N - 1)

    with decay 0.999^s. Every backward pass is observed; `update` ends a step: it averages gradients and updates the
    estimates. With one process and one micro-batch, the estimate uses this gradient and the previous step's. ValueError
    for a scale that is not a positive number.
    """

    def __init__(
        self, optimizer: Any, accum_scale: float | None = None, loss_scale: float = 1.0
    ) -> None:
        if accum_scale is not None:
            _positive("accum_scale", accum_scale)
        self.optimizer = optimizer
        self.loss_scale = _positive("loss_scale", loss_scale)
        self._accum_scale = accum_scale
        self.about = ""  # further values that must be the same on every process
        count = len(optimizer.param_groups)
        self.sqr, self.var = [1.0] * count, [0.0] * count
        # weighted sqr and its weight, weighted var and its weight
        self._sums = [[0.0, 0.0, 0.0, 0.0] for _ in range(count)]
        self.biased = False
        self._last: dict[int, Tensor] | None = None  # the previous step's gradients, by parameter
        self._hooks: dict[int, tuple[Tensor, Any]] = {}
        self._places: dict[int, int] = {}  # the group of each parameter
        self._counts: dict[int, int] = {}
        self._local: dict[int, Tensor] = {}
        self.attach()

    # -------------------------------------------------------------- what backward passes bring

    def _every(self) -> Iterator[tuple[int, Tensor]]:
        for i, group in enumerate(self.optimizer.param_groups):
            for param in group["params"]:
                yield i, param

    def _parameters(self) -> Iterator[tuple[int, Tensor]]:
        return ((i, p) for i, p in self._every() if p.requires_grad)

    def attach(self) -> None:
        """Observe the gradients of all parameters that the optimizer has now, in their current groups. A frozen
        parameter is observed once it is trained again; one that has left the optimizer is no longer observed."""
        self._places = {}
        for i, group in enumerate(self.optimizer.param_groups):
            self.add(i, group["params"])
        for key in self._hooks.keys() - self._places.keys():
            self._hooks.pop(key)[1].remove()
            self._counts.pop(key, None)
            if self._last is not None:
                self._last.pop(key, None)

    def add(self, group: int, params: Sequence[Tensor]) -> None:
        """Also observe the gradients of some parameters of a group."""
        for _ in range(len(self.optimizer.param_groups) - len(self.sqr)):
            self.sqr.append(1.0)
            self.var.append(0.0)
            self._sums.append([0.0, 0.0, 0.0, 0.0])
        for param in params:
            key = id(param)
            self._places[key] = group
            if key not in self._hooks and (param.is_floating_point() or param.is_complex()):
                self._hooks[key] = param, _hooked(param, _noticing(weakref.ref(self), key))

    def detach(self) -> None:
        """Stop observing gradients."""
        for _, hook in self._hooks.values():
            hook.remove()
        self._hooks.clear()

    def _notice(self, key: int, grad: Tensor) -> None:
        group, n = self._places[key], _square(grad)
        held = self._local.get(group)
        self._local[group] = n if held is None else held + n.to(held.device)
        self._counts[key] = self._counts.get(key, 0) + 1

    @property
    def accum_count(self) -> int:
        """The number of backward passes since the last step."""
        return max(self._counts.values(), default=0)

    def reset(self) -> None:
        """Forget the backward passes since the last step."""
        self._counts.clear()
        self._local.clear()

    @property
    def accum_scale(self) -> float:
        """The batch size of one micro-step over all processes, in base batches."""
        return float(comm.world()) if self._accum_scale is None else self._accum_scale

    def set_accum_scale(self, value: float) -> None:
        """Change it; existing gradients are then dropped."""
        if not math.isclose(
            _positive("accum_scale", value), self.accum_scale, rel_tol=1e-5, abs_tol=1e-8
        ):
            self.reset()
            for _, p in self._parameters():
                drop_gradient(p)
        self._accum_scale = float(value)

    @property
    def scale(self) -> float:
        """The scale of the current step: accum_scale times the number of backward passes."""
        return self.accum_scale * self.accum_count

    def agree(self, call: str, dense: bool = False) -> None:
        """Check that all processes have the same parameters and options; if not, ValueError on all."""
        if comm.world() > 1:
            comm.meet(
                self,
                call,
                self.optimizer.param_groups,
                own=(
                    ("options of scale", self.about),
                    ("options of scale", f"accum {self.accum_scale:g}"),
                    ("options of scale", f"lossscale {self.loss_scale:g}"),
                ),
                dense=dense,
            )

    # -------------------------------------------------------------- the end of a step

    def gathered(self) -> list[float]:
        """The squared norms of all micro-gradients of all processes, by group. ValueError, the same on every process,
        if one has none, or a different number."""
        count = len(self.sqr)
        own = [float(self._local[i]) if i in self._local else 0.0 for i in range(count)]
        counts, squares = [self.accum_count], [own]
        if comm.world() > 1:
            self.agree("step: scale", True)
            found = comm.gathered([float(self.accum_count), *own])
            counts, squares = [int(f[0]) for f in found], [f[1:] for f in found]
        if not all(counts):
            raise ValueError(
                "no gradient" + (f" on process {counts.index(0)}" if len(counts) > 1 else "")
            )
        if len(set(counts)) > 1:
            raise ValueError(
                f"numbers of micro-batches differ between processes: {' '.join(map(str, counts))}"
            )
        return [sum(square[i] for square in squares) / self.loss_scale**2 for i in range(count)]

    @torch.no_grad()
    def update(self, squares: Sequence[float] | None = None, aggregated: bool = False) -> bool:
        """Average gradients over micro-batches and, unless already done, over processes; update the estimates. Returns
        False, with unchanged estimates, if a gradient is not finite. `squares` comes from `gathered`."""
        squares = self.gathered() if squares is None else squares
        params = [p for _, p in self._parameters()]
        if not aggregated:
            mean_gradients(params, float(comm.world()))
        count, scale = self.accum_count, self.scale
        divisor = count * self.loss_scale
        grads = [(i, p.grad) for i, p in self._parameters() if p.grad is not None]
        if divisor != 1:
            for _, g in grads:
                g.div_(divisor)
        totals = self._by_group(grads)
        if not all(map(math.isfinite, (*squares, *totals))):
            return False
        n = comm.world() * count
        if n > 1:
            if self.biased:
                self._sums = [[0.0, 0.0, 0.0, 0.0] for _ in self._sums]
            self.biased, self._last = False, None
            self._estimate([x / n for x in squares], totals, n, scale)
        else:
            self._estimate_by_pair(params, totals)
        return True

    def _estimate_by_pair(self, params: Sequence[Any], totals: Sequence[float]) -> None:
        """Estimate from the gradients of this step and the previous one, for steps with a single gradient, whose
        squares are `totals`; the first one is only stored."""
        now = {
            id(param): (
                torch.zeros_like(param) if param.grad is None else param.grad.detach().clone()
            )
            for param in params
        }
        last, self._last, self.biased = self._last, now, True
        if last is not None and last.keys() == now.keys():
            pairs = [(i, last[id(p)], now[id(p)]) for i, p in self._parameters()]
            before = self._by_group([(i, a) for i, a, _ in pairs])
            mean = self._by_group([(i, (a.to(b) + b) / 2) for i, a, b in pairs])
            self._estimate(
                [(a + total) / 2 for a, total in zip(before, totals, strict=True)],
                mean,
                2,
                2 * self.accum_scale,
            )

    def _by_group(self, found: Sequence[tuple[int, Tensor]]) -> list[float]:
        out = [0.0] * len(self.sqr)
        for i in {i for i, _ in found}:
            own = [t for k, t in found if k == i]
            if len({t.device for t in own}) == 1 and not any(
                t.is_sparse or t.is_complex() for t in own
            ):
                norms = torch._foreach_norm([t.detach() for t in own], 2, dtype=torch.float64)
                out[i] = float(torch.stack(norms).square().sum())
            else:
                out[i] = sum(float(_square(t)) for t in own)
        return out

    def _estimate(self, each: Sequence[float], mean: Sequence[float], n: int, scale: float) -> None:
        """Update the estimates with the mean square of n gradients and the square of their mean, by group."""
        keep = SMOOTHING**scale
        for i, (one, all_) in enumerate(zip(each, mean, strict=True)):
            s = self._sums[i]
            for at, new in ((0, (n * all_ - one) / (n - 1)), (2, (one - all_) * scale / (n - 1))):
                s[at] = keep * s[at] + (1 - keep) * new
                s[at + 1] = keep * s[at + 1] + (1 - keep)
            self.sqr[i], self.var[i] = s[0] / s[1], s[2] / s[3]

    def gain(self, scale: float) -> float:
        """The gain of a step at this scale, in steps at the base batch size."""
        var, sqr = sum(max(v, _LEAST) for v in self.var), sum(max(q, 0.0) for q in self.sqr)
        return (var + sqr) / (var / scale + sqr)

    # -------------------------------------------------------------- state

    def state_dict(self) -> dict[str, Any]:
        """The estimates and what they are computed from, without the gradients of an unfinished step. `last` has the
        previous step's gradients for the parameters in order, None where there was none."""
        self.attach()
        last = self._last
        return {
            "accum_scale": self._accum_scale,
            "sqr": list(self.sqr),
            "var": list(self.var),
            "sums": [list(s) for s in self._sums],
            "biased": self.biased,
            "last": None if last is None else [last.get(id(p)) for _, p in self._every()],
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state; ValueError if its number of groups or parameters differs."""
        count = len(self.optimizer.param_groups)
        if not len(state["sqr"]) == len(state["var"]) == len(state["sums"]) == count:
            raise ValueError(
                f"the state is of {len(state['sqr'])} parameter group(s), the optimizer has {count}"
            )
        last = state["last"]
        if last is not None:
            params = [p for _, p in self._every()]
            if len(last) != len(params):  # older states have no entries for frozen parameters
                params = [param for param in params if param.requires_grad]
            if len(last) != len(params) or any(
                t is not None and t.shape != param.shape
                for t, param in zip(last, params, strict=True)
            ):
                raise ValueError(
                    "the gradients in the state are not of the sizes of the parameters"
                )
            last = {
                id(param): t.detach().to(device=param.device, dtype=param.dtype).clone()
                for t, param in zip(last, params, strict=True)
                if t is not None
            }
        if state["accum_scale"] is not None:
            _positive("accum_scale", state["accum_scale"])
        self._accum_scale = state["accum_scale"]
        self.sqr, self.var = list(map(float, state["sqr"])), list(map(float, state["var"]))
        self._sums = [list(map(float, s)) for s in state["sums"]]
        self.biased, self._last = bool(state["biased"]), last
        self.reset()

    def pending(self) -> tuple[list[int], list[float | None]]:
        """The state of the unfinished step: the number of backward passes of each parameter, and the sum of squares of
        each group, None for a group without any yet."""
        self.attach()
        squares = [self._local.get(i) for i in range(len(self.sqr))]
        return (
            [self._counts.get(id(p), 0) for _, p in self._every()],
            [None if square is None else float(square) for square in squares],
        )

    def set_pending(self, counts: Sequence[int], squares: Sequence[float | None]) -> None:
        """Continue an unfinished step; ValueError if it has other parameters."""
        keys = [id(p) for _, p in self._every()]
        if len(counts) != len(keys) or len(squares) != len(self.sqr):
            raise ValueError("the step that was being made is one of other parameters")
        self._counts = {key: count for key, count in zip(keys, counts, strict=True) if count}
        self._local = {
            i: torch.tensor(square, dtype=torch.float64)
            for i, square in enumerate(squares)
            if square is not None
        }


def _noticing(found: Any, key: int) -> Callable[[Tensor], None]:
    """A hook on a parameter that does not keep the estimator alive."""

    def hook(grad: Tensor) -> None:
        noise = found()
        if noise is not None:
            noise._notice(key, grad)

    return hook


def _hooked(p: Tensor, hook: Callable[[Tensor], None]) -> Any:
    """Hook the gradient of a parameter. torch only accepts hooks on trainable parameters, but keeps them while one is
    frozen."""
    frozen = not p.requires_grad
    if frozen:
        p.requires_grad_(True)
    try:
        return p.register_hook(hook)
    finally:
        if frozen:
            p.requires_grad_(False)


def _positive(name: str, value: float) -> float:
    if not (isinstance(value, int | float) and math.isfinite(value) and value > 0):
        raise said(ValueError(f"{name} is {value}, expecting a positive number"))
    return float(value)


# ------------------------------------------------------------------ the rules


class ScalingRule:
    """A rule that multiplies the learning rates of an optimizer at each step by a factor for its scale; after AdaptDL's
    ScalingRuleBase.

    `accum_scale` is the batch size of one micro-step over all processes in base batches (by default the number of
    processes), `loss_scale` the factor applied to losses. After the backward passes of a step, call `step()`, then
    `zero_grad()`. `progress` is the sum of the gains of the steps. Subclasses implement `factors`. Values out of range
    raise ValueError; a step without gradients, or with numbers of micro-batches that differ, raises it on every
    process.
    """

    def __init__(
        self, optimizer: Optimizer, accum_scale: float | None = None, loss_scale: float = 1.0
    ) -> None:
        self.optimizer = optimizer
        self.noise = GradientNoiseScale(optimizer, accum_scale, loss_scale)
        self.noise.about = type(self).__name__.lower()
        self.progress = 0.0
        # scale, factors and gain of the last step
        self.last: tuple[float, list[float], float] | None = None
        self._rates: list[Any] | None = None

    def factors(self, scale: float) -> list[float]:
        """The factor for the learning rate of each group."""
        raise NotImplementedError

    def begin(self, squares: Sequence[float] | None = None, aggregated: bool = False) -> bool:
        """The part of a step before rates are scaled: average gradients and update estimates. False means that there
        must be no step."""
        self.noise.attach()
        fine = self.noise.update(squares, aggregated)
        if not fine:
            self._tell()
        return fine

    def _tell(self) -> list[float]:
        """The factors for this step, also stored as those of the last one, even if the step is skipped."""
        scale = self.noise.scale
        self.last = scale, self.factors(scale), self.noise.gain(scale)
        return self.last[1]

    def raise_rates(self) -> None:
        """Scale the learning rates until `end`."""
        factors = self._tell()
        self._rates = [group["lr"] for group in self.optimizer.param_groups]
        for group, factor in zip(self.optimizer.param_groups, factors, strict=True):
            group["lr"] = factor * group["lr"]

    def end(self, made: bool = True) -> None:
        """Restore the learning rates; unless the step failed, count it."""
        if self._rates is not None:
            for group, rate in zip(self.optimizer.param_groups, self._rates, strict=True):
                group["lr"] = rate
            if made and self.last is not None:
                self.progress += self.last[2]
        self._rates = None
        self.noise.reset()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """A step with scaled rates; skipped if a gradient is not finite. Returns the closure's loss. ValueError without
        a backward pass since the last step."""
        loss = comm.loss_of(closure)
        squares = self.noise.gathered()
        try:
            if self.begin(squares):
                self.raise_rates()
                self.optimizer.step()
        except BaseException:
            self.end(False)
            raise
        self.end()
        return loss

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Clear the gradients and forget the backward passes since the last step."""
        self.noise.reset()
        self.optimizer.zero_grad(set_to_none=set_to_none)

    def state_dict(self) -> dict[str, Any]:
        """Progress and the state of the noise scale; the optimizer has its own state."""
        return {"progress": self.progress, **self.noise.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a state."""
        self.noise.load_state_dict(
            {key: value for key, value in state.items() if key != "progress"}
        )
        self.progress = float(state["progress"])


class AdaScale(ScalingRule):
    """(var + sqr) / (var / s + sqr), by group: between 1 and s. Johnson et al. 2020, arXiv 2007.05105, algorithm 1."""

    def factors(self, scale: float) -> list[float]:
        out = []
        for var, sqr in zip(self.noise.var, self.noise.sqr, strict=True):
            v, q = max(var, _LEAST), max(sqr, 0.0)
            out.append((v + q) / (v / scale + q))
        return out


class AdamScale(AdaScale):
    """The square root of AdaScale's factor, for optimizers that divide by the root of squared gradients; as in
    AdaptDL."""

    def factors(self, scale: float) -> list[float]:
        return [math.sqrt(factor) for factor in super().factors(scale)]


class LinearScale(ScalingRule):
    """The scale itself. Goyal et al. 2017, arXiv 1706.02677, section 2.1."""

    def factors(self, scale: float) -> list[float]:
        return [float(scale)] * len(self.optimizer.param_groups)


class SqrtScale(ScalingRule):
    """The square root of the scale. Krizhevsky 2014, arXiv 1404.5997."""

    def factors(self, scale: float) -> list[float]:
        return [math.sqrt(scale)] * len(self.optimizer.param_groups)


class LEGWScale(ScalingRule):
    """The square root of the scale, after a linear warm-up over base_warmup_epochs times the scale epochs; an epoch is
    data_size / batch_size steps of the base batch, counted by progress. You et al. 2019, arXiv 1901.08256. ValueError
    for invalid values."""

    def __init__(
        self,
        optimizer: Optimizer,
        base_warmup_epochs: float,
        data_size: int,
        batch_size: int,
        accum_scale: float | None = None,
        loss_scale: float = 1.0,
    ) -> None:
        if not (math.isfinite(base_warmup_epochs) and base_warmup_epochs >= 0):
            raise said(
                ValueError(f"base_warmup_epochs is {base_warmup_epochs}, expecting 0 or above")
            )
        _positive("data_size", data_size)
        _positive("batch_size", batch_size)
        super().__init__(optimizer, accum_scale, loss_scale)
        self.base_warmup_epochs, self.data_size, self.batch_size = (
            base_warmup_epochs,
            data_size,
            batch_size,
        )

    def factors(self, scale: float) -> list[float]:
        need = self.base_warmup_epochs * scale * self.data_size / self.batch_size
        share = min(1.0, self.progress / need) if need else 1.0
        return [math.sqrt(scale) * share] * len(self.optimizer.param_groups)
