"""Schedulers as objects: creating them for an optimizer, stepping, tabulating, showing. The rows are in
scheduler_types.py.

On an error nothing changes: parameter groups and schedulers are restored.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from kshell import optim
from kshell.errors import CallError, QError
from kshell.kapi.base.args import number_of
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import SchedulerHandle, table
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.plain_values import options_q
from kshell.kapi.base.q_calls import applied
from kshell.kapi.optim.optimizer import Opt, add_buffers, set_rate
from kshell.kapi.optim.scheduler_types import (
    MEASURED,
    Values,
    class_of,
    options_of,
    scheduler_record,
)
from kshell.muted import muted
from kshell.optim.groups import settings_of
from kshell.registry import Entry, Option
from kshell.values.base.build import symdict
from kshell.values.base.core import NULL_J, Dict, List, Value
from kshell.values.base.symbols import sym
from kshell.values.session.interrupts import PENDING, give_up, stop_here

# ------------------------------------------------------------------ the scheduler of a handle


class Sched:
    """The object behind a scheduler handle: the registered entry, its option values, the k-api's optimizer, the
    underlying scheduler (`torch`), the learning rates before it was created, and the group entries that it writes."""

    __slots__ = ("entry", "opt", "rates", "torch", "values", "written")
    live = False  # was it made by the Python program? (kapi/optim/host_schedulers.py)
    computes = False  # does a step compute the rates of all groups from the step count alone?
    # options that may be given in a separate dictionary, by their names there
    decay: Mapping[str, str] = {}

    def __init__(
        self,
        entry: Entry,
        values: Values,
        o: Opt,
        made: Any,
        rates: list[float],
        written: list[str],
    ) -> None:
        self.entry, self.values, self.opt, self.torch = entry, values, o, made
        self.rates, self.written = rates, written

    @classmethod
    def proper(cls, entry: Entry, values: Values, o: Opt, shared: bool) -> Any:
        """The underlying scheduler for an optimizer whose rates others may also set (`shared`)."""
        return _torch_one(entry, values, o, shared)

    @property
    def count(self) -> int:
        """The number of steps made."""
        epoch = getattr(self.torch, "last_epoch", None)
        return self.children[0].count if epoch is None else int(epoch)

    @property
    def children(self) -> list[Sched]:
        return self.values.get("schedulers") or []

    @property
    def parts(self) -> Iterator[Sched]:
        """The scheduler itself and all its parts."""
        yield self
        for child in self.children:
            yield from child.parts

    def kept(self) -> dict[str, Any]:
        """Its state besides its options, as a tree of leaves: the rates before it was created, what it has written to
        the parameter groups, and its own state. A program's class may have leaves that are not numbers."""
        groups = [self.kept_of(group) for group in self.opt.groups]
        return {"rates": self.rates, "groups": groups, "state": self.torch.state_dict()}

    def kept_of(self, group: dict[str, Any]) -> dict[str, Any]:
        """The entries of a parameter group saved in a state: the numbers that the scheduler writes there."""
        names = sorted({*self.written, "lr", "initial_lr"})
        return {
            name: float(group[name]) if name == "lr" else group[name]
            for name in names
            if name in group and (name == "lr" or is_numbers(group[name]))
        }

    def step(self, count: int = 1, *measured: float) -> None:
        """Advance the count; if that fails, everything is restored."""
        self.check()
        with _Undo(self.opt, [self]):
            for _ in range(count):
                self.advance(*measured)
                if PENDING:
                    give_up()

    def advance(self, *measured: float) -> None:
        """Step the underlying scheduler."""
        self.torch.step(*measured)

    def extend(self, source: int, ratio: float, split: bool) -> None:
        """Add the last group, which came from the group `source` with `ratio` times its rate, to the underlying
        scheduler; `split` tells whether it was split off or is new."""
        optim.schedules.extend(self.torch, self.opt.groups, source, ratio)

    def rebase(self, ratios: Sequence[float]) -> None:
        """Multiply the base rates of the underlying scheduler, with one ratio per group."""
        optim.schedules.rebase(self.torch, self.opt.groups, ratios)

    def computed(self, steps: np.ndarray) -> tuple[Any, Any]:
        """For kinds that `computes`: rates and weight decays after each number of steps."""
        raise NotImplementedError

    @classmethod
    def prepare(cls, group: dict[str, Any], own: dict[str, Any]) -> None:
        """Prepare a parameter group for a scheduler created from a state, in which it has `own`."""

    def put(self, state: dict[str, Any], groups: Sequence[dict[str, Any]]) -> None:
        """Set the scheduler, which is at step 0, and the parameter groups from a state."""
        _fill(self, state)
        for group, saved in zip(self.opt.groups, groups, strict=True):
            for key, value in saved.items():
                if key == "lr":
                    set_rate(group, float(value))
                else:
                    group[key] = tuple(value) if isinstance(value, list) else value

    def load(self, d: Dict) -> bool:
        """Load a state in a format of its own; False if the kind has none."""
        return False

    def check(self) -> None:
        """Reject an optimizer that has gained parameter groups: torch's schedulers only know the old ones."""
        for scheduler in self.parts:
            count = len(getattr(scheduler.torch, "base_lrs", self.opt.groups))
            if count != len(self.opt.groups):
                raise CallError(
                    scheduler.entry.name,
                    f"made for {count} parameter group(s), the optimizer has "
                    f"{len(self.opt.groups)}",
                )


def is_numbers(value: object) -> bool:
    """Is an entry of a parameter group a number, or a tuple of numbers, as written by schedulers?"""
    return isinstance(value, int | float) or (
        isinstance(value, tuple) and all(isinstance(number, float) for number in value)
    )


def rates_of(o: Opt) -> list[float]:
    """The learning rates of an optimizer, one per group."""
    return [float(group["lr"]) for group in o.groups]


def schedulers_of(o: Opt) -> list[Sched]:
    """The schedulers of an optimizer that have live handles."""
    if not o.scheduled:
        return []
    return [
        handle.obj
        for handle in table()
        if isinstance(handle, SchedulerHandle) and handle.obj.opt is o
    ]


class _Undo:
    """Restores parameter groups and schedulers if its block ends in an error."""

    def __init__(self, o: Opt, found: Sequence[Sched]) -> None:
        self.groups = [(group, settings_of(group), float(group["lr"])) for group in o.groups]
        self.objects = [
            (
                scheduler.torch,
                {
                    name: list(value) if isinstance(value, list) else value
                    for name, value in vars(scheduler.torch).items()
                },
            )
            for parent in found
            for scheduler in parent.parts
        ]

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, exc: object, trace: object) -> None:
        if kind is None:
            return
        for group, previous, rate in self.groups:
            for key in settings_of(group).keys() - previous.keys():
                del group[key]
            group.update(previous)
            set_rate(group, rate)
        for torch_scheduler, attributes in self.objects:
            vars(torch_scheduler).clear()
            vars(torch_scheduler).update(attributes)


def _fill(s: Sched, state: dict[str, Any]) -> None:
    """Copy a state's plain values into a torch scheduler; values set by its options stay."""
    attributes = vars(s.torch)
    for child, child_state in zip(s.children, state.get("_schedulers") or [], strict=False):
        _fill(child, child_state)
    for name, value in state.items():
        current = attributes.get(name)
        numbers = isinstance(current, list) and all(
            isinstance(number, int | float) for number in current
        )
        if name in attributes and (numbers or isinstance(current, int | float | str | None)):
            attributes[name] = (
                float(value) if isinstance(current, float) and isinstance(value, int) else value
            )


# ------------------------------------------------------------------ making one


def make(entry: Entry, values: Values, o: Opt, beside: bool = False) -> Sched:
    """A scheduler for an optimizer, whose parameter groups get the values of step 0. On an error, nothing changes.
    torch's initial rates are the current ones, or with `beside` those of another scheduler."""
    children = values.get("schedulers") or []
    if any(child.computes or child.opt is not o for child in children):
        raise CallError(entry.name, "expecting schedulers of torch, of the same optimizer")
    alive = [*schedulers_of(o), *children]
    rates = [float(group["initial_lr"]) for group in o.groups] if children else rates_of(o)
    backup = [dict(group) for group in o.groups]
    with _Undo(o, alive):
        proper = kind_of(entry).proper(entry, values, o, beside or bool(alive))
    for group in o.groups:
        add_buffers(o, group)  # it may have set a momentum
    written = sorted(
        {
            key
            for group, previous in zip(o.groups, backup, strict=True)
            for key, value in settings_of(group).items()
            if key not in previous or key == "lr" or value is not previous[key]
        }
    )
    o.scheduled = True
    return kind_of(entry)(entry, values, o, proper, rates, written)


def kind_of(entry: Entry) -> type[Sched]:
    """The class of the object owned by a handle of this scheduler."""
    return scheduler_record(entry).kind or Sched


def valued(entry: Entry, fn: Callable[[], Any], names: Mapping[str, str] | None = None) -> Any:
    """fn(), where ValueError or KeyError becomes a q error with the option names."""
    try:
        return fn()
    except (ValueError, KeyError) as exc:
        error = QError(f"{entry.name}: {renamed(str(exc.args[0]), names or _names(entry))}")
    raise error


def _names(entry: Entry) -> dict[str, str]:
    return {option.torch: option.name for option in options_of(entry) if option.torch}


def renamed(text: str, names: Mapping[str, str]) -> str:
    """A message with the option names used here."""
    return re.sub(r"\w+", lambda m: names.get(m[0], m[0]), text)


def _torch_one(entry: Entry, values: Values, o: Opt, shared: bool) -> Any:
    torch_class, arguments = class_of(entry), {}
    for option in options_of(entry):
        arguments[option.torch or option.name] = _argument(entry, option, values[option.name])
    if not shared:
        for group in o.groups:  # left by an earlier scheduler
            group.pop("initial_lr", None)
    base_method = torch.optim.lr_scheduler.LRScheduler.get_lr
    for scheduler in values["schedulers"] if entry.name == "sequentiallr" else ():
        if type(scheduler.torch).get_lr is base_method:
            raise QError(f"sequentiallr: {scheduler.entry.name} cannot be part of it")
    if "optimizer" in inspect.signature(torch_class).parameters:
        arguments["optimizer"] = o.torch
    return valued(entry, lambda: _quiet(lambda: torch_class(**arguments)))


def _quiet(fn: Callable[[], Any]) -> Any:
    """fn() without torch's warnings about the order of steps: a scheduler created later is treated as one created
    first."""
    with muted():
        return fn()


def _argument(entry: Entry, option: Option, value: Any) -> Any:
    if option.type != "any" or value is None:
        return value
    if option.name == "schedulers":
        return [scheduler.torch for scheduler in value]
    if value.__class__ is List:
        return [_function(entry, item) for item in value.items]
    return _function(entry, value)


def _function(entry: Entry, f: Value) -> Callable[[Any], float]:
    """A q function as a function from a number to a number."""

    def call(n: Value) -> float:
        result = applied(f, [n])
        number = number_of(result)
        if number is None or result is NULL_J or not math.isfinite(number):
            raise QError(f"{entry.name}: the function must give a number, given {kname(result)}")
        return float(number)

    return call


# ------------------------------------------------------------------ groups that come later

# options with one value per group, if given as a list
_BY_GROUP = ("baselr", "basemomentum", "lrlambda", "maxlr", "maxmomentum", "minlr", "swalr")
_RATE_OPTIONS = ("baselr", "maxlr", "swalr")


def extended(s: Sched, source: int, ratio: float, split: bool = True) -> None:
    """Extend a scheduler to the group added last, which came from the group `source` with `ratio` times its rate: it
    gets that group's share of everything; `split` says whether it was split off or is new."""
    count = len(s.opt.groups) - 1
    s.extend(source, ratio, split)
    for scheduler in s.parts:
        if len(scheduler.rates) == count:
            scheduler.rates = [*scheduler.rates, scheduler.rates[source] * ratio]
        for option in _BY_GROUP:
            value, scale = scheduler.values.get(option), ratio if option in _RATE_OPTIONS else 1.0
            if value.__class__ is List and len(value.items) == count:
                scheduler.values[option] = List([*value.items, value.items[source]])
            elif isinstance(value, list) and len(value) == count:
                scheduler.values[option] = [*value, value[source] * scale]
            elif isinstance(value, float) and scale != 1.0:
                scheduler.values[option] = [*[value] * count, value * scale]


def rebased(s: Sched, ratios: Sequence[float]) -> None:
    """Multiply the base rates of a scheduler, with one ratio per group."""
    s.rebase(ratios)
    for scheduler in s.parts:
        scheduler.rates = [
            rate * ratio for rate, ratio in zip(scheduler.rates, ratios, strict=False)
        ]
        for option in _RATE_OPTIONS:
            value = scheduler.values.get(option)
            if isinstance(value, float) or (isinstance(value, list) and len(value) == len(ratios)):
                rates = value if isinstance(value, list) else [value] * len(ratios)
                scheduler.values[option] = [
                    rate * ratio for rate, ratio in zip(rates, ratios, strict=True)
                ]


# ------------------------------------------------------------------ tabulating

MOST_STEPS = 10_000_000


def tabulated(s: Sched, steps: np.ndarray) -> tuple[Any, Any]:
    """Learning rates and weight decays after each number of steps, as arrays (step, group); no decays if the scheduler
    does not set them. Neither the scheduler nor the optimizer changes."""
    if s.computes:
        return s.computed(steps)
    if any(scheduler.entry.name == MEASURED for scheduler in s.parts):
        raise CallError("lrs", f"the rates of {MEASURED} depend on the metric passed to each step")
    s.check()
    if s.live and (not s.known or int(steps.min(initial=s.count)) >= s.count):  # type: ignore[attr-defined]
        return s.ahead(steps), None  # type: ignore[attr-defined]
    last_step = int(steps.max(initial=0))
    if last_step > MOST_STEPS:
        raise QError("limit")
    params = [
        {
            **{
                name: value for name, value in group.items() if name not in ("params", "initial_lr")
            },
            "lr": rate,
            "params": [torch.nn.Parameter(torch.zeros(1))],
        }
        for group, rate in zip(s.opt.groups, s.rates, strict=True)
    ]
    optimizer = Opt(s.opt.entry, torch.optim.Optimizer(params, dict(s.opt.torch.defaults)))
    twin, rates = again(s, optimizer), []
    for _ in range(last_step):
        rates.append(rates_of(optimizer))
        _quiet(twin.torch.step)
        if PENDING:
            stop_here()
    rates.append(rates_of(optimizer))
    return np.array(rates)[steps], None


def again(s: Sched, o: Opt, beside: bool = False) -> Sched:
    """An equal scheduler, as when it was created, for another optimizer."""
    values = dict(s.values)
    if s.children:
        values["schedulers"] = [
            again(child, o, beside or index > 0) for index, child in enumerate(s.children)
        ]
    return make(s.entry, values, o, beside)


# ------------------------------------------------------------------ as q values


def shown(s: Sched) -> Dict:
    """The options of a scheduler as a dictionary; nested schedulers as their definitions."""
    values = dict(s.values)
    if isinstance(values.get("schedulers"), list):
        values["schedulers"] = List(
            [
                symdict(["scheduler", "options"], [sym(child.entry.name), shown(child)])
                for child in s.children
            ]
        )
    return options_q(options_of(s.entry), values)


def defaults(entry: Entry) -> Dict:
    """The options of a scheduler with their defaults; nulls if there are none."""
    return options_q(options_of(entry))
