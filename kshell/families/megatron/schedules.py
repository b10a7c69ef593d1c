"""Megatron's schedules: warm-up, decay, increasing weight decay, and parameter groups with their own rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kshell import registry
from kshell.extend import (
    REQUIRED,
    CallError,
    Dict,
    Entry,
    Opt,
    Option,
    QError,
    Sched,
    SchedulerFromQ,
    Values,
    class_of,
    kname,
    pairs,
    renamed,
    scheduler_record,
    scheduler_row,
    valued,
)
from kshell.families.megatron import scheduler
from kshell.families.megatron.scheduler import WD_STYLES, WSD_STYLES

_CLASS = "kshell.families.megatron.scheduler.OptimizerParamScheduler"
# settings that a parameter group may override, by name here
OVERRIDES = dict(
    zip(("max", "min", "startwd", "endwd", "wdmult"), scheduler.OVERRIDES, strict=True)
)
# decay styles for wsd: name here -> name in the class
WSD_FALLS = {name.replace("_", ""): name for name in WSD_STYLES}
LOADS = ("checkpoint", "override", "strict")


def _d(name: str, default: Any, torch_name: str, doc: str) -> Option:
    return Option(name, "double", default, torch_name, doc)


def _j(name: str, default: Any, torch_name: str, doc: str) -> Option:
    return Option(name, "long", default, torch_name, doc)


_RATES = (
    _d("init", 0.0, "init_lr", "learning rate at the start of warm-up"),
    _d("max", REQUIRED, "max_lr", "highest rate"),
    _d("min", 0.0, "min_lr", "lowest rate"),
    _d("warmup", 0.0, "lr_warmup_steps", "warm-up steps"),
)
_STEPS = _j("steps", REQUIRED, "lr_decay_steps", "steps until the minimum rate, including warm-up")
_DECAY = (
    _d(
        "startwd",
        None,
        "start_wd",
        "initial weight decay; if not given, weight decay is left alone",
    ),
    _d("endwd", None, "end_wd", "final weight decay"),
    _j(
        "wdsteps", None, "wd_incr_steps", "steps between these, by default the same as for the rate"
    ),
    Option(
        "wdstyle",
        "symbol",
        "linear",
        "wd_incr_style",
        "how the weight decay increases",
        choices=WD_STYLES,
    ),
    Option(
        "load",
        "symbol",
        "checkpoint",
        "",
        "whose settings to use when loading a state: checkpoint, override (the "
        "scheduler's own), strict (they must agree)",
        choices=LOADS,
    ),
)
_OF_WSD = (
    _j("wsdsteps", REQUIRED, "wsd_decay_steps", "steps of the final decay"),
    Option(
        "wsdstyle",
        "symbol",
        "exponential",
        "lr_wsd_decay_style",
        "shape of the decay",
        choices=tuple(WSD_FALLS),
    ),
)
_NAMES = {rate.torch: rate.name for rate in (*_RATES, _STEPS, *_OF_WSD, *_DECAY) if rate.torch} | {
    "wd_mult": "wdmult"
}


def in_options(text: str) -> str:
    """A message of Megatron's scheduler with the option names used here."""
    return renamed(text, _NAMES)


class _Groups:
    """The current parameter groups of an optimizer: all that Megatron's scheduler sees of it."""

    def __init__(self, o: Opt) -> None:
        self.o = o

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return self.o.groups


class MegatronSched(Sched):
    """A Megatron scheduler. Without overrides it has one rate for all groups, computed from the step count."""

    __slots__ = ()
    computes = True
    decay = {"style": "wdstyle", "start": "startwd", "end": "endwd", "steps": "wdsteps"}

    @classmethod
    def proper(cls, entry: Entry, values: Values, o: Opt, shared: bool) -> Any:
        for group in o.groups:
            # a torch scheduler left its own maximum and minimum rate there
            if "initial_lr" in group:
                for k in ("max_lr", "min_lr"):
                    if k not in group.get("overrides", ()):
                        group.pop(k, None)
        settings = _settings(entry, values)
        if settings["end_wd"] and not all("weight_decay" in group for group in o.groups):
            raise CallError(
                entry.name,
                f"the optimizer {o.entry.name} has no weight decay",
                says=("optimizer", o.entry.name),
            )
        return valued(entry, lambda: class_of(entry)(_Groups(o), **settings), _NAMES)

    @property
    def count(self) -> int:
        return int(self.torch.num_steps)

    def kept_of(self, group: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in group.items() if key in OVERRIDES.values()}

    def step(self, count: int = 1, *measured: float) -> None:
        self.torch.step(count)

    def extend(self, source: int, ratio: float, split: bool) -> None:
        if split:
            self._give_rates(self.opt.groups[-1], self.opt.groups[source], ratio)

    def rebase(self, ratios: Sequence[float]) -> None:
        for group, ratio in zip(self.opt.groups, ratios, strict=True):
            if "max_lr" not in group:  # otherwise the group's were multiplied
                self._give_rates(group, {}, ratio)

    def _give_rates(self, group: dict[str, Any], of: dict[str, Any], ratio: float) -> None:
        """Give a group another group's maximum and minimum rate times a ratio, as overrides."""
        if ratio != 1.0:
            for k in ("max_lr", "min_lr"):
                group[k] = float(of.get(k, getattr(self.torch, k))) * ratio
            group["overrides"] = tuple(
                dict.fromkeys((*group.get("overrides", ()), "max_lr", "min_lr"))
            )

    def computed(self, steps: Any) -> tuple[Any, Any]:
        groups = self.opt.groups
        rates = np.stack([self.torch.lr_at(steps, group) for group in groups], 1)
        decays = [self.torch.wd_at(steps, group) for group in groups]
        if all(decay is None for decay in decays):
            return rates, None
        return rates, np.stack(
            [
                np.full(len(steps), group.get("weight_decay", 0.0)) if decay is None else decay
                for decay, group in zip(decays, groups, strict=True)
            ],
            1,
        )

    @classmethod
    def prepare(cls, group: dict[str, Any], own: dict[str, Any]) -> None:
        group.update({key: value for key, value in own.items() if key in OVERRIDES.values()})
        group["overrides"] = tuple(own)

    def put(self, state: dict[str, Any], groups: Sequence[dict[str, Any]]) -> None:
        """Set the scheduler from a state, ignoring the option `load` for others' settings."""
        t = self.torch
        flags = t.use_checkpoint, t.override
        t.use_checkpoint, t.override = True, False
        try:
            self._load(state)
        finally:
            t.use_checkpoint, t.override = flags

    def load(self, d: Dict) -> bool:
        """Load a state according to the option `load`, also a plain one with Megatron's own names."""
        fields = dict(pairs(d))
        state = SchedulerFromQ().value(fields.get("state", d))
        if not isinstance(state, dict):
            raise QError(
                f"sched: unrecognized state, expecting dictionary, given {kname(fields['state'])}"
            )
        # a JSON null is nan
        self._load(
            {key: value for key, value in state.items() if value is not None and value == value}
        )
        self._adopt()
        return True

    def _load(self, state: dict[str, Any]) -> None:
        try:
            self.torch.load_state_dict(state)
            return
        except (ValueError, KeyError) as exc:
            error = QError(f"sched: {in_options(str(exc.args[0]))}")
        raise error

    def _adopt(self) -> None:
        """Update the entry and option values from the settings of Megatron's scheduler."""
        t = self.torch
        self._read_options()
        style = next(
            (
                entry
                for entry in registry.entries("scheduler")
                if scheduler_record(entry).style == t.lr_decay_style
            ),
            self.entry,
        )
        if style is not self.entry:
            self.entry = style
            self.values = {
                option.name: self.values.get(option.name, option.default)
                for option in style.options
            }
            self._read_options()
        if "wsdstyle" in self.values and t.lr_wsd_decay_style:
            self.values["wsdstyle"] = t.lr_wsd_decay_style.replace("_", "")

    def _read_options(self) -> None:
        for option in self.entry.options:
            if option.torch and option.name != "wsdstyle":
                self.values[option.name] = getattr(self.torch, option.torch)


def _settings(entry: Entry, values: Values) -> Values:
    """The arguments for Megatron's scheduler."""
    v = dict(values)
    load, style = v.pop("load"), v.pop("wsdstyle", None)
    if v["steps"] is None:
        v["steps"] = math.floor(v["warmup"]) + 1
    if v["wdsteps"] is None:
        v["wdsteps"] = v["steps"]
    if v["startwd"] is None or v["endwd"] is None:
        v["startwd"] = v["endwd"] = v["endwd"] if v["startwd"] is None else v["startwd"]
    names = {option.name: option.torch for option in entry.options}
    out = {names[key]: x for key, x in v.items()}
    return out | {
        "lr_decay_style": scheduler_record(entry).style,
        "lr_wsd_decay_style": WSD_FALLS[style] if style else None,
        "use_checkpoint_opt_param_scheduler": load == "checkpoint",
        "override_opt_param_scheduler": load == "override",
    }


# fmt: off  # a table
scheduler_row(
    "constant",
    _CLASS,
    """Warm-up, then a constant rate at the maximum.

q)s:sched(opt`sgd;`constant;`max`warmup!(.1;2))
q)exec lr from lrs(s;til 5)
0 0.05 0.1 0.1 0.1
""",
    *_RATES,
    _STEPS._replace(default=None),
    *_DECAY,
    kind=MegatronSched,
    style="constant",
)

scheduler_row(
    "linear",
    _CLASS,
    """Warm-up, then linear decay to the minimum rate.

q)s:sched(opt`sgd;`linear;0;.1;0;2;6)
q)exec lr from lrs(s;til 8)
0 0.05 0.1 0.075 0.05 0.025 0 0
""",
    *_RATES,
    _STEPS,
    *_DECAY,
    kind=MegatronSched,
    style="linear",
)

scheduler_row(
    "cosine",
    _CLASS,
    """Warm-up, then cosine decay to the minimum rate.

Loshchilov and Hutter 2017, arXiv 1608.03983 (without restarts).

q)s:sched(opt`sgd;`cosine;0;.1;0;2;6)
q)exec lr from lrs(s;0 1 2 4 6 7)
0 0.05 0.1 0.05 0 0
""",
    *_RATES,
    _STEPS,
    *_DECAY,
    kind=MegatronSched,
    style="cosine",
)

scheduler_row(
    "invsqrt",
    _CLASS,
    """Warm-up, then decay with the inverse square root of the step count; the minimum rate after the last step.

Vaswani et al. 2017, arXiv 1706.03762.

q)s:sched(opt`sgd;`invsqrt;0;.1;0;4;100)
q)exec lr from lrs(s;0 2 4 16 100 101)
0 0.05 0.1 0.05 0.02 0
""",
    *_RATES,
    _STEPS,
    *_DECAY,
    kind=MegatronSched,
    style="inverse-square-root",
)

scheduler_row(
    "wsd",
    _CLASS,
    """Warm-up, stable rate at the maximum, and decay in the last steps (WSD).

Hu et al. 2024, arXiv 2404.06395.

q)s:sched(opt`sgd;`wsd;`max`warmup`steps`wsdsteps`wsdstyle!(.1;2;10;4;`linear))
q)exec lr from lrs(s;0 1 2 6 7 8 10 11)
0 0.05 0.1 0.1 0.075 0.05 0 0
""",
    *_RATES,
    _STEPS,
    *_OF_WSD,
    *_DECAY,
    kind=MegatronSched,
    style="WSD",
)
# fmt: on
