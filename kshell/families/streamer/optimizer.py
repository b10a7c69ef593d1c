"""STREAMER's optimizer: a chain of layers that learn at different paces, to which layers can be added during training.

Mounir, Vijayaraghavan and Sarkar, NeurIPS 2023. Layer l has an encoder f_l and a predictor p_l, each with its own inner
optimizer. Its loss L_l, passed to `loss` when the layer has run, depends on p_l and, through the messages between
layers, on every encoder. With n layers, x_l base steps since layer l last ran (its time scale), and the distance
d = |j - l|:

    w_d = alpha^-d / (sum of alpha^-e over the distances e that occur from l)
    gradient of p_l += x_l dL_l/dp_l,             counter of p_l += x_l
    gradient of f_j += x_l w_d dL_l/df_j,         counter of f_j += x_l,      for every j

When the top layer has had `optimize_every` losses, every gradient is divided by its counter, the inner optimizers step,
and gradients and counters are reset. With several processes, parameters are averaged over the processes every
`average_every` steps, once all have the same number of layers.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Adadelta, Adagrad, Adam, Adamax, AdamW, NAdam, Optimizer, RAdam

from kshell.errors import said
from kshell.optim import comm, fused
from kshell.optim.abilities import Extra
from kshell.optim.aggregate import mean_
from kshell.optim.gradients import drop_gradient
from kshell.optim.groups import settings_of
from kshell.parallel import meet as meeting

# inner optimizers by name
INNER: dict[str, type[Optimizer]] = {
    "adadelta": Adadelta,
    "adagrad": Adagrad,
    "adam": Adam,
    "adamax": Adamax,
    "adamw": AdamW,
    "nadam": NAdam,
    "radam": RAdam,
    "sgd": SGD,
}
# settings that are the same for all layers and groups
SETTINGS = ("alpha", "optimize_every", "average_every", "timescale", "reach", "max_layers")
# options of inner optimizers; None is the inner optimizer's own default
OPTIONS = ("momentum", "weight_decay", "betas", "eps")


def _too_many(most: float) -> ValueError:
    return said(ValueError(f"no more than {most} layer(s), the option maxlayers"), most)


def reach_of(layer: int, layers: int, alpha: float = 3) -> tuple[list[list[int]], list[float]]:
    """The layers by distance from a given one, nearest first, and the weights of these distances; they sum to 1."""
    if not 0 <= layer < layers:
        raise said(ValueError(f"layer {layer} is not there, layers: {layers}"), layer)
    _check(alpha=alpha)
    groups = [
        sorted({layer - d, layer + d} & set(range(layers)))
        for d in range(max(layer, layers - 1 - layer) + 1)
    ]
    distances = torch.arange(len(groups), dtype=torch.float64)
    return groups, torch.softmax(distances * -math.log(alpha), 0).tolist()


def defaults_of(inner: str) -> dict[str, Any]:
    """The available options of an inner optimizer, with its own defaults."""
    if inner not in INNER:
        raise ValueError(
            f"unrecognized inner optimizer {inner}, expecting one of {', '.join(sorted(INNER))}"
        )
    found = inspect.signature(INNER[inner]).parameters
    return {option: found[option].default for option in OPTIONS if option in found}


class Streamer(Extra, Optimizer):
    """Accumulates gradients of layers that run at different paces until the top layer is ready: see the top of the file
    for formulas and source (the optimizer of streamer-torch).

    `layers` are pairs (encoder, predictor), each a module, a tensor, or tensors; () means none, and an encoder can be
    given alone. Layer l has the groups 2l (encoder) and 2l+1 (predictor), with their own rates. `inner` is a name in
    INNER, or a function from a list of parameters to an optimizer. Without `timescale`, all time scales are 1; without
    `reach`, all weights of a loss are equal.

    Call `loss(l, z, x)` for each layer that ran, then `step()`, which runs the backward passes and returns True if it
    updated parameters. Gradients accumulate between updates, which clear them; `zero_grad()` drops them.

    ValueError for settings out of range, unknown inner optimizers, parameters in two layers and missing layers; on all
    processes if they would average at different steps.
    """

    gathers = by_process = True

    def __init__(
        self,
        layers: Iterable[Any],
        inner: str | Callable[[list[Tensor]], Optimizer] = "adam",
        lr: float = 1e-4,
        alpha: float = 3,
        optimize_every: int = 100,
        average_every: int = 1000,
        timescale: bool = True,
        reach: bool = True,
        max_layers: int = 3,
        momentum: float | None = None,
        weight_decay: float | None = None,
        betas: tuple[float, float] | None = None,
        eps: float | None = None,
    ) -> None:
        steps, flags = (optimize_every, average_every), (bool(timescale), bool(reach))
        settings = (float(alpha), *steps, *flags, max_layers)
        self.settings = dict(zip(SETTINGS, settings, strict=True))
        _check(**self.settings)
        self._make = None if isinstance(inner, str) else inner
        self._inner: list[Optimizer] = []
        self._ready: dict[int, tuple[Tensor, float]] = {}
        self._unscaled: list[tuple[Tensor, Tensor]] = []
        self._begin()
        self.waited = 0  # steps since the parameters were last averaged
        self._met: Any = None
        parts = [part for layer in layers for part in _pair(layer)] or [[], []]
        name = inner if isinstance(inner, str) else ""
        options = dict(zip(OPTIONS, (momentum, weight_decay, betas, eps), strict=True))
        super().__init__(
            [{"params": part} for part in parts],
            {"inner": name, "lr": lr, **self.settings, **options},
        )

    # ------------------------------------------------------------ layers

    @property
    def layers(self) -> int:
        """The number of layers, up to the last that has parameters."""
        return max(
            (i // 2 + 1 for i, group in enumerate(self.param_groups) if group["params"]), default=0
        )

    def add_layer(self, encoder: Any, predictor: Any = ()) -> None:
        """Add a layer on top."""
        at, parts = 2 * self.layers, _pair((encoder, predictor))
        if at >= 2 * self.settings["max_layers"]:
            raise _too_many(self.settings["max_layers"])
        held = {id(param) for group in self.param_groups for param in group["params"]}
        given = [id(p) for part in parts for p in part]
        if len({*held, *given}) < len(held) + len(given):
            raise ValueError("some parameters appear in more than one layer")
        first = min(at, len(self.param_groups))
        for i, part in enumerate([[]] * (at - first) + parts, first):
            if i < len(self.param_groups):
                self.param_groups[i]["params"].extend(part)
            else:
                self.add_param_group({"params": part})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add the next group: the encoder of a further layer, or its predictor."""
        if len(self.param_groups) >= 2 * self.settings["max_layers"]:
            raise _too_many(self.settings["max_layers"])
        group = {**self.defaults, **param_group}
        inner = self._inner_of(group)
        own = settings_of(inner.param_groups[0])
        if any(setting in own for setting in SETTINGS):
            raise ValueError(f"{type(inner).__name__} has options of the same names")
        super().add_param_group(
            {**group, **own, "inner": group["inner"] or type(inner).__name__.lower()}
        )
        self._inner.append(inner)

    def _inner_of(self, group: dict[str, Any]) -> Optimizer:
        """A new inner optimizer with the options of a group."""
        dummy = torch.nn.Parameter(torch.zeros(1, 1))
        if self._make is not None:
            found = self._make([dummy])
            if isinstance(found, torch.optim.LBFGS) or len(found.param_groups) != 1:
                raise said(
                    ValueError(f"{type(found).__name__} cannot be an inner optimizer"), "optimizer"
                )
            return found
        known = defaults_of(group["inner"])
        options: dict[str, Any] = {"lr": group["lr"]}
        for option in OPTIONS:
            v = group.get(option)
            if isinstance(v, tuple | list):
                v = (
                    None
                    if all(i is None for i in v)
                    else tuple(
                        d if i is None else i for i, d in zip(v, known.get(option, v), strict=True)
                    )
                )
            if v is not None:
                if option not in known:
                    raise ValueError(f"streamer: {group['inner']} inside has no {option}")
                options[option] = v
        return INNER[group["inner"]]([dummy], **options)

    def attached(self) -> None:
        """Groups were changed from outside: a value set in one group applies to all layers, and is checked."""
        del self._inner[len(self.param_groups) :]
        now = dict(self.settings)
        for group, inner in zip(self.param_groups, self._inner, strict=True):
            if group["inner"] != type(inner).__name__.lower():
                raise said(
                    ValueError("the inner optimizer of a layer cannot be changed"), "optimizer"
                )
            now.update(
                {
                    setting: group[setting]
                    for setting in SETTINGS
                    if group[setting] != self.settings[setting]
                }
            )
        _check(**now)
        if self.layers > now["max_layers"]:
            raise _too_many(now["max_layers"])
        self.settings = now
        for known in (self.defaults, *self.param_groups):
            known.update(now)

    def groups(self, layer: int) -> tuple[list[list[int]], list[float]]:
        """The layers by distance from a given one, nearest first, and the weights of its loss for their encoders."""
        return reach_of(layer, self.layers, self.settings["alpha"] if self.settings["reach"] else 1)

    def _params(self, group: int) -> list[Tensor]:
        return self.param_groups[group]["params"] if group < len(self.param_groups) else []

    # ------------------------------------------------------------ what steps gather

    def _begin(self) -> None:
        """Reset the counters: by encoder, by predictor, and losses by layer."""
        self.f_counter: list[float] = []
        self.p_counter: list[float] = []
        self.step_counter: list[int] = []
        self._unscaled = []

    def _widen(self) -> None:
        for counter in (self.f_counter, self.p_counter, self.step_counter):
            counter.extend([0] * (self.layers - len(counter)))

    def loss(self, layer: int, loss: Tensor, timescale: float = 1.0) -> None:
        """Record the loss of a layer that ran, for the next step (only the last one counts), with the base steps since
        it last ran."""
        if not 0 <= layer < self.layers:
            raise said(ValueError(f"layer {layer} is not there, layers: {self.layers}"), layer)
        if not (loss.is_floating_point() and loss.numel() == 1 and loss.requires_grad):
            raise ValueError("a loss is a single number that was calculated from parameters")
        if not 0 < timescale < math.inf:
            raise said(ValueError(f"Invalid timescale value: {timescale:g}"))
        self._ready[layer] = loss, float(timescale)

    def backward(self, loss: Tensor, **options: Any) -> None:
        """Losses are given per layer."""
        raise ValueError(
            "the losses of a streamer are given by layer, and step does the backward passes"
        )

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients and counters accumulated since the last update."""
        if set_to_none:
            for group in self.param_groups:
                for param in group["params"]:
                    drop_gradient(param)
        super().zero_grad(set_to_none)
        self.forget()

    def forget(self) -> None:
        """Gradients were dropped: drop their counters too."""
        self._begin()

    def _agree_on(self, due: bool) -> None:
        """ValueError on all processes if an update is due on only some of them."""
        more = comm.meet(self, "step: streamer", self.param_groups, more=int(due), dense=False)
        found = [bool(v) for v in more]
        if len(set(found)) > 1:
            raise ValueError(
                "an update is due on some processes only: "
                + " ".join(str(r) for r, v in enumerate(found) if v)
            )

    def gather(self, together: bool = False) -> bool:
        """Add the gradients of the losses given since the last step; returns whether an update is due, in which case
        gradients are divided by their counters. With `together`, all processes must agree on that: if not, ValueError
        on all."""
        self._meet()
        self.attached()
        self._widen()
        n, top = self.layers, self.layers - 1
        due = (
            bool(n)
            and self.step_counter[top] + (top in self._ready) >= self.settings["optimize_every"]
        )
        if together and comm.world() > 1:
            self._agree_on(due)
        encoders = [comm.trained(self._params(2 * j)) for j in range(n)]
        sums: dict[int, tuple[Any, Tensor]] = {}
        ready = sorted(self._ready)
        for l in ready:
            self._add(sums, l, encoders, l != ready[-1])
        with torch.no_grad():
            for p, g in sums.values():
                p.grad = g if p.grad is None else p.grad + g
        for l in ready:
            scale = self._scale(l)
            self.p_counter[l] += scale
            self.step_counter[l] += 1
            for j in range(n):
                self.f_counter[j] += scale
        self._ready.clear()
        self._opt_called = True  # read by torch's schedulers
        if due:
            self._divide()
        return due

    def _scale(self, layer: int) -> float:
        return self._ready[layer][1] if self.settings["timescale"] else 1.0

    def _add(
        self,
        sums: dict[int, tuple[Any, Tensor]],
        layer: int,
        encoders: Sequence[list[Tensor]],
        keep: bool,
    ) -> None:
        """Add the weighted gradients of a layer's loss to sums by parameter. (They are kept separately: if a backward
        pass fails, no gradient has changed.)"""
        own = comm.trained(self._params(2 * layer + 1))
        inputs, weights = list(own), [1.0] * len(own)
        for near, w in zip(*self.groups(layer), strict=True):
            for j in near:
                inputs += encoders[j]
                weights += [w] * len(encoders[j])
        if not inputs:
            return
        z = self._ready[layer][0]
        with torch.enable_grad():
            found = torch.autograd.grad(
                z,
                inputs,
                torch.full_like(z, self._scale(layer)),
                retain_graph=keep,
                allow_unused=True,
            )
        for value, g, w in zip(inputs, found, weights, strict=True):
            if g is not None:
                held = sums.get(id(value))
                sums[id(value)] = value, g * w if held is None else held[1] + g * w

    @torch.no_grad()
    def _divide(self) -> None:
        """Divide gradients by their counters; the originals are kept until the update is complete."""
        self._unscaled = []
        for i in range(len(self.param_groups)):
            counters = self.p_counter if i % 2 else self.f_counter
            counter = counters[i // 2] if i // 2 < len(counters) else 0
            for param in self._params(i):
                if counter and param.grad is not None:
                    self._unscaled.append((param, param.grad))
                    param.grad = param.grad / counter

    def undo(self) -> None:
        """The update failed: gradients are sums again, and the next step tries again."""
        for p, g in self._unscaled:
            p.grad = g
        self._unscaled = []

    # ------------------------------------------------------------ steps

    def update(self) -> None:
        """Step the inner optimizers with the current gradients, then clear these and their counters."""
        for group, inner in zip(self.param_groups, self._inner, strict=True):
            if any(param.grad is not None for param in group["params"]):
                inner.state, inner.param_groups = self.state, [group]
                if not fused.step(inner):
                    inner.step()
        self.zero_grad()

    def _meet(self) -> None:
        """Check that all processes have the same count; if not, ValueError on all."""
        key = comm.world(), self.settings["average_every"]
        if key == self._met:
            return
        if comm.world() > 1:
            meeting.meet("step: streamer begins")
            found = comm.gathered([self.settings["average_every"], self.waited])
            if any(f != found[0] for f in found):
                raise ValueError(
                    "processes average at different steps: every "
                    + " ".join(f"{int(a)} (after {int(b)})" for a, b in found)
                )
        self._met = key

    @torch.no_grad()
    def settle(self) -> None:
        """End of a step: average the parameters over the processes if due."""
        if comm.world() == 1:
            return
        self.waited += 1
        if self.waited < self.settings["average_every"]:
            return
        counts = comm.METER.run(lambda: meeting.meet("step: streamer averages", more=self.layers))
        if min(counts) == max(counts):
            comm.meet(self, "step: streamer", self.param_groups, lambda g: g, dense=False)
            mean_([param for group in self.param_groups for param in group["params"]], comm.world())
            self.waited = 0

    def step(self, closure: Callable[[], Any] | None = None) -> bool:  # type: ignore[override]
        """Process the losses, update if due, average if due; returns whether there was an update. A closure is called
        first, to compute and pass losses."""
        comm.loss_of(closure)
        due = self.gather()
        if due:
            try:
                self.update()
            except BaseException:
                self.undo()
                raise
        self.settle()
        return due

    # ------------------------------------------------------------ state

    def get_extra(self) -> dict[str, Any]:
        """The counters, and the gradients accumulated so far, one per parameter. Losses passed for the next step have
        no state."""
        self._widen()
        kept: dict[str, Any] = {
            "f": list(map(float, self.f_counter)),
            "p": list(map(float, self.p_counter)),
            "steps": list(self.step_counter),
            "waited": self.waited,
        }
        if any(self.step_counter):
            kept["gradients"] = [
                param.grad for group in self.param_groups for param in group["params"]
            ]
        return kept

    @torch.no_grad()
    def _kept(
        self, extra: dict[str, Any]
    ) -> tuple[list[list[Any]], list[tuple[Tensor, Tensor | None]]]:
        """Counters and gradients from an extra state, checked."""
        params = [param for group in self.param_groups for param in group["params"]]
        counters = [_numbers(extra.get(k, ())) for k in ("f", "p", "steps")]
        if any(
            len(counter) != len(counters[0]) or len(counter) > self.layers for counter in counters
        ):
            raise ValueError(
                f"the state has counters of {len(counters[0])} layers, there are {self.layers}"
            )
        grads = list(extra.get("gradients", ()))
        if "gradients" in extra and len(grads) != len(params):
            raise ValueError(
                f"the state has {len(grads)} gradients, there are {len(params)} parameters"
            )
        return counters, [
            (
                param,
                torch.as_tensor(grad).to(param).reshape(param.shape).clone()
                if isinstance(grad, Tensor | float)
                else None,
            )
            for param, grad in zip(params, grads, strict=False)
        ]

    def set_extra(self, extra: dict[str, Any]) -> None:
        """Restore a state from `get_extra`."""
        counters, grads = self._kept(extra)
        for p, g in grads:
            p.grad = g
        self._begin()
        self.f_counter, self.p_counter = (
            [float(c) for c in counters[0]],
            [float(c) for c in counters[1]],
        )
        self.step_counter = [int(c) for c in counters[2]]
        self.waited, self._met = int(extra.get("waited", 0)), None

    def __getstate__(self) -> dict[str, Any]:
        """The state for a copy: everything except losses waiting for a step."""
        return {
            **super().__getstate__(),
            "settings": dict(self.settings),
            "waited": self.waited,
            "_make": self._make,
            "_inner": self._inner,
            "_ready": {},
            "_unscaled": [],
            "_met": None,
            "f_counter": self.f_counter,
            "p_counter": self.p_counter,
            "step_counter": self.step_counter,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore a state from `state_dict`, with the same number of layers and the same inner optimizers."""
        names = [type(inner).__name__.lower() for inner in self._inner]
        if [group.get("inner") for group in state_dict["param_groups"]] != names:
            raise ValueError(
                f"the state is not of {len(names)} groups with {' '.join(sorted(set(names)))} inside"
            )
        self._kept(state_dict.get("extra", {}))
        super().load_state_dict(state_dict)
        self.attached()


def _check(**settings: Any) -> None:
    """Check that all settings are valid."""
    for key, value in settings.items():
        low = 1 if key.endswith(("every", "layers")) else 0
        if not (
            isinstance(value, int | float)
            and value >= low
            and math.isfinite(value)
            and (value or key != "alpha")
        ):
            raise said(
                ValueError(f"Invalid {key.removesuffix('_every').replace('_', '')} value: {value}")
            )


def _pair(layer: Any) -> list[list[Tensor]]:
    """The parameters of a layer's encoder and predictor."""
    parts = layer if isinstance(layer, tuple | list) and len(layer) == 2 else (layer, ())
    return [
        list(x.parameters())
        if isinstance(x, torch.nn.Module)
        else [x]
        if isinstance(x, Tensor)
        else list(x)
        for x in parts
    ]


def _numbers(x: Any) -> list[Any]:
    """A list of numbers, possibly from a tensor."""
    return list(x.tolist()) if isinstance(x, Tensor) else list(x)
