"""Schedulers of a Python program as handles: the program's own objects, which q reads, steps and edits.

A torch scheduler shows the options it was made with, as far as they can be read from it; for any other class, the
options are its plain attributes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell import registry, torch_versions
from kshell.errors import CallError, QError
from kshell.kapi.base.handles import SchedulerHandle, table
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.optim.optimizer import Opt, class_of
from kshell.kapi.optim.scheduler import MOST_STEPS, Sched, _quiet
from kshell.kapi.optim.scheduler_types import MEASURED, SchedulerRecord, options_of
from kshell.optim.groups import settings_of
from kshell.registry import Entry, Option

if TYPE_CHECKING:
    from torch.optim import Optimizer
    from torch.optim.lr_scheduler import LRScheduler

_TYPES = {bool: "boolean", int: "long", float: "double", str: "symbol"}
# attributes of every scheduler, which are not options
_COMMON = ("optimizer", "base_lrs", "last_epoch", "verbose")
# entries of a parameter group that schedulers write
_WRITTEN = (
    "lr",
    "initial_lr",
    "max_lr",
    "min_lr",
    "swa_lr",
    "momentum",
    "betas",
    "max_momentum",
    "base_momentum",
)


class LiveSched(Sched):
    """A scheduler made by the program. `given` is the program's object: the scheduler, or a wrapper around it."""

    __slots__ = ("given",)
    live = True

    def __init__(
        self, entry: Entry, o: Opt, x: LRScheduler, given: Any, values: dict[str, Any]
    ) -> None:
        rates = [float(group.get("initial_lr", group["lr"])) for group in o.groups]
        super().__init__(
            entry,
            values,
            o,
            x,
            rates,
            [name for name in _WRITTEN if any(name in group for group in o.groups)],
        )
        self.given = given

    @property
    def known(self) -> bool:
        """Can an equal one be made: is the class registered, and can all options be read?"""
        return (
            registry.find("scheduler", self.entry.name) is self.entry
            and all(
                scheduler.values[option.name] is not None or option.name in _MAYBE
                for scheduler in self.parts
                for option in options_of(scheduler.entry)
            )
            and all(type(scheduler.torch) is class_of(scheduler.entry) for scheduler in self.parts)
        )

    def advance(self, *measured: float) -> None:
        """Step the program's object."""
        self.given.step(*measured)

    def ahead(self, steps: np.ndarray) -> Any:
        """The rates after each number of steps, none before the current one, from a copy that continues from here."""
        current, last_step = self.count, int(steps.max(initial=0))
        if int(steps.min(initial=current)) < current:
            raise CallError(
                "lrs",
                f"the rates before step {current} cannot be told of a {type(self.torch).__name__} that "
                "the Python program made",
            )
        if last_step - current > MOST_STEPS:
            raise QError("limit")
        groups = [
            {**settings_of(group), "params": [torch.nn.Parameter(torch.zeros(1))]}
            for group in self.opt.groups
        ]
        optimizer = torch.optim.Optimizer(groups, dict(self.opt.torch.defaults))
        twin, rates = _twin(self.torch, optimizer), []
        for count in range(current, last_step + 1):
            if count > current:
                _quiet(twin.step)
            rates.append([float(group["lr"]) for group in optimizer.param_groups])
        return np.array(rates)[steps - current]


def _twin(x: Any, o: Optimizer) -> Any:
    """A copy of a scheduler for another optimizer; functions in it are shared."""
    twin = object.__new__(type(x))
    vars(twin).update(
        {
            name: value.copy() if isinstance(value, list | dict) else value
            for name, value in vars(x).items()
        },
        optimizer=o,
    )
    if "_schedulers" in vars(x):
        twin._schedulers = [_twin(scheduler, o) for scheduler in x._schedulers]
    return twin


# ------------------------------------------------------------------ taking one


def proper(x: object) -> Any:
    """The torch scheduler that a Python object is, or that it wraps; None for anything else."""
    schedulers = sys.modules.get("torch.optim.lr_scheduler")
    if schedulers is None:
        return None
    if issubclass(type(x), schedulers.LRScheduler):
        return x
    if not all(hasattr(type(x), name) for name in ("step", "state_dict", "get_last_lr")):
        return None
    inner = getattr(x, "__dict__", {}).get("scheduler")
    return inner if issubclass(type(inner), schedulers.LRScheduler) else None


def taken(x: object, opt_of: Callable[[Any], Opt]) -> Sched | None:
    """The Sched for a program's scheduler, shared by all its handles; None if x is not a scheduler."""
    inner = proper(x)
    if inner is None or getattr(inner, "optimizer", None) is None:
        return None
    for handle in table():
        if isinstance(handle, SchedulerHandle) and handle.obj.torch is inner:
            return handle.obj
    return _made(inner, x, opt_of(inner.optimizer))


def _made(x: Any, given: object, o: Opt) -> LiveSched:
    entry = _entry(type(x))
    values = (
        {option.name: _value(option, x, o) for option in options_of(entry)}
        if entry is not None
        else {}
    )
    if entry is None:
        entry, values = _plain(x)
    if "_schedulers" in vars(x):
        values["schedulers"] = [_made(scheduler, scheduler, o) for scheduler in x._schedulers]
    o.scheduled = True
    return LiveSched(entry, o, x, given, values)


def _entry(cls: type) -> Entry | None:
    """The registered scheduler for a class; a class derived from that of ReduceLROnPlateau also counts."""
    for entry in registry.entries("scheduler"):
        if entry.target.rsplit(".", 1)[-1] == cls.__name__ and class_of(entry) is cls:
            return entry
    measured = registry.find("scheduler", MEASURED)
    return measured if measured is not None and issubclass(cls, class_of(measured)) else None


def _plain(x: LRScheduler) -> tuple[Entry, dict[str, Any]]:
    """An entry for an unregistered class, with its plain attributes as options."""
    options, values = (
        [Option("baselrs", "doubles", None, "base_lrs")],
        {"baselrs": [float(rate) for rate in getattr(x, "base_lrs", ())]},
    )
    for name, value in vars(x).items():
        option_name = name.replace("_", "").lower()
        if (
            name[0] != "_"
            and name not in _COMMON
            and type(value) in _TYPES
            and option_name not in values
        ):
            options.append(Option(option_name, _TYPES[type(value)], None, name))
            values[option_name] = value
    scheduler_class = type(x)
    return Entry(
        scheduler_class.__name__.lower(),
        "scheduler",
        options=tuple(options),
        record=SchedulerRecord(cls=scheduler_class),
        target=f"{scheduler_class.__module__}.{scheduler_class.__qualname__}",
    ), values


# ------------------------------------------------------------------ the options that one was made with


def _of_groups(name: str) -> Callable[[Any, Opt], Any]:
    return lambda x, o: [float(group[name]) for group in o.groups]


def _list(name: str) -> Callable[[Any, Opt], Any]:
    return lambda x, o: [float(number) for number in getattr(x, name)]


def _milestones(x: LRScheduler, o: Opt) -> list[int]:
    attributes = vars(x)
    return (
        sorted(attributes["milestones"].elements())
        if "milestones" in attributes
        else list(attributes["_milestones"])
    )


def _rises(x: Any, o: Opt) -> float:
    """The fraction of steps on the way up in a one-cycle schedule."""
    return (float(x._schedule_phases[0]["end_step"]) + 1) / int(x.total_steps)


# options of torch's schedulers that are not attributes with that name: where to read them, tried in order
_FOUND: dict[str, tuple[Callable[[Any, Opt], Any], ...]] = {
    "milestones": (_milestones,),
    "base_lr": (_list("base_lrs"),),
    "max_lr": (_list("max_lrs"), _of_groups("max_lr")),
    "min_lr": (_list("min_lrs"),),
    "base_momentum": (_list("base_momentums"), _of_groups("base_momentum")),
    "max_momentum": (_list("max_momentums"), _of_groups("max_momentum")),
    "swa_lr": (_of_groups("swa_lr"),),
    "step_size_up": (lambda x, o: round(x.total_size * x.step_ratio),),
    "step_size_down": (lambda x, o: round(x.total_size - x.total_size * x.step_ratio),),
    "anneal_strategy": (
        lambda x, o: x._anneal_strategy,
        lambda x, o: x._anneal_func_type,
        lambda x, o: torch_versions.annealing(x),
    ),
    "pct_start": (_rises,),
    "three_phase": (lambda x, o: len(x._schedule_phases) == 3,),
    "div_factor": (lambda x, o: o.groups[0]["max_lr"] / o.groups[0]["initial_lr"],),
    "final_div_factor": (lambda x, o: o.groups[0]["initial_lr"] / o.groups[0]["min_lr"],),
    "scale_fn": (lambda x, o: x._scale_fn_custom,),
}
# options that may be absent
_MAYBE = ("epochs", "stepsperepoch", "scalefn", "basemomentum", "maxmomentum")


def _value(p: Option, x: LRScheduler, o: Opt) -> Any:
    """The value of an option, None if unknown: a Python function has no q value."""
    name = p.torch or p.name
    getters = (
        (lambda x, o: vars(x)[name], *_FOUND.get(name, ()))
        if name not in ("milestones",)
        else _FOUND[name]
    )
    for getter in getters:
        try:
            raw_value = getter(x, o)
        except (KeyError, AttributeError, TypeError, ValueError, IndexError, ZeroDivisionError):
            continue
        value = _as(p.type, raw_value)
        if value is not None:
            return value
    return None


def _as(kind: str, v: Any) -> Any:
    """v as an option value of some type, None if it cannot be one."""
    if v is None or callable(v) or kind == "any":
        return None
    if kind in ("doubles", "longs"):
        numbers = list(v) if isinstance(v, list | tuple) else [v]
        return [float(number) if kind == "doubles" else int(number) for number in numbers]
    if isinstance(v, list):  # one number per parameter group, for an option that is common to all
        return _as(kind, v[0]) if v and all(number == v[0] for number in v) else None
    return {"long": int, "double": float, "boolean": bool, "symbol": str}[kind](v)
