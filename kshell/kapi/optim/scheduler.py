"""Schedulers as objects: made for an optimizer, stepped, tabulated, shown. The rows are in scheduler_types.py.

On an error nothing changes: parameter groups and schedulers are put back as they were.
"""

from __future__ import annotations

import inspect
import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.kapi.base.args import number_of
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import SchedulerHandle, table
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.plain_values import options_q
from kshell.kapi.base.q_calls import applied
from kshell.kapi.optim.optimizer import Opt, add_buffers, set_rate
from kshell.kapi.optim.scheduler_types import MEASURED, WSD_FALLS, Values, class_of, megatron_names, options_of
from kshell.optim.groups import settings_of
from kshell.registry import Entry, Option
from kshell.values.build import symdict
from kshell.values.core import NULL_J, Dict, List, Value, sym
from kshell.values.interrupts import PENDING, give_up, stop_here

# ------------------------------------------------------------------ the scheduler of a handle


# what a parameter group may have of its own, by its name here
OVERRIDES = {"max": "max_lr", "min": "min_lr", "startwd": "start_wd", "endwd": "end_wd", "wdmult": "wd_mult"}


class _Groups:
    """The parameter groups of an optimizer as they are at any time: all that Megatron's scheduler sees of it."""

    def __init__(self, o: Opt) -> None:
        self.o = o

    @property
    def param_groups(self) -> list[dict[str, Any]]:
        return self.o.groups


class Sched:
    """What a scheduler handle owns: the registered entry, its option values, the k-api's optimizer, the scheduler
    proper (`torch`), the learning rates before it was made, and which entries of a group it writes."""

    __slots__ = ("entry", "opt", "rates", "torch", "values", "written")
    live = False  # did the Python program make it? (kapi/optim/host_schedulers.py)

    def __init__(self, entry: Entry, values: Values, o: Opt, made: Any, rates: list[float], written: list[str]) -> None:
        self.entry, self.values, self.opt, self.torch = entry, values, o, made
        self.rates, self.written = rates, written

    @property
    def megatron(self) -> bool:
        return "style" in self.entry.extra

    @property
    def count(self) -> int:
        """The steps made."""
        if self.megatron:
            return int(self.torch.num_steps)
        found = getattr(self.torch, "last_epoch", None)
        return self.children[0].count if found is None else int(found)

    @property
    def children(self) -> list[Sched]:
        return self.values.get("schedulers") or []

    @property
    def parts(self) -> Iterator[Sched]:
        """Itself and all that are part of it."""
        yield self
        for c in self.children:
            yield from c.parts

    def kept(self) -> dict[str, Any]:
        """A tree of leaves that makes it again, beside its options: the rates before it was made, what it has
        written into the parameter groups (for Megatron's kind the groups' overrides), and the state proper. Of a class
        of the program's there may be leaves that are no numbers."""
        if self.megatron:
            groups = [{k: v for k, v in g.items() if k in OVERRIDES.values()} for g in self.opt.groups]
        else:
            names = sorted({*self.written, "lr", "initial_lr"})
            groups = [{k: float(g[k]) if k == "lr" else g[k] for k in names
                       if k in g and (k == "lr" or is_numbers(g[k]))} for g in self.opt.groups]
        return {"rates": self.rates, "groups": groups, "state": self.torch.state_dict()}

    def step(self, count: int = 1, *measured: float) -> None:
        """Count on; if that fails, everything is as it was."""
        if self.megatron:
            self.torch.step(count)
            return
        self.check()
        with _Undo(self.opt, [self]):
            for _ in range(count):
                self.advance(*measured)
                if PENDING:
                    give_up()

    def advance(self, *measured: float) -> None:
        """One step of the scheduler proper."""
        self.torch.step(*measured)

    def check(self) -> None:
        """Refuse an optimizer that has got parameter groups since: torch's schedulers know only those."""
        for s in self.parts:
            n = len(getattr(s.torch, "base_lrs", self.opt.groups))
            if n != len(self.opt.groups):
                raise QError(f"{s.entry.name}: made for {n} parameter group(s), the optimizer has "
                             f"{len(self.opt.groups)}")


def is_numbers(value: Any) -> bool:
    """Is an entry of a parameter group a number, or a tuple of them, as schedulers write these?"""
    return isinstance(value, int | float) or (isinstance(value, tuple) and all(isinstance(v, float) for v in value))


def rates_of(o: Opt) -> list[float]:
    """The learning rates of an optimizer, a group each."""
    return [float(g["lr"]) for g in o.groups]


def schedulers_of(o: Opt) -> list[Sched]:
    """The schedulers of the live handles that are of an optimizer."""
    if not o.scheduled:
        return []
    return [h.obj for h in table() if isinstance(h, SchedulerHandle) and h.obj.opt is o]


class _Undo:
    """Puts parameter groups and schedulers back as they were if its block ends in an error."""

    def __init__(self, o: Opt, found: Sequence[Sched]) -> None:
        self.groups = [(g, settings_of(g), float(g["lr"])) for g in o.groups]
        self.objects = [(s.torch, {k: list(v) if isinstance(v, list) else v for k, v in vars(s.torch).items()})
                        for top in found for s in top.parts]

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, exc: Any, trace: Any) -> None:
        if kind is None:
            return
        for group, was, rate in self.groups:
            for k in settings_of(group).keys() - was.keys():
                del group[k]
            group.update(was)
            set_rate(group, rate)
        for o, own in self.objects:
            vars(o).clear()
            vars(o).update(own)


# ------------------------------------------------------------------ making one


def make(entry: Entry, values: Values, o: Opt, beside: bool = False) -> Sched:
    """A scheduler of an optimizer, whose parameter groups get the values of step 0. On an error nothing changes. What
    torch calls the initial rates are those of now, or with `beside` those that another scheduler has found."""
    own = values.get("schedulers") or []
    if any(s.megatron or s.opt is not o for s in own):
        raise QError(f"{entry.name}: expecting schedulers of torch, of the same optimizer")
    alive = [*schedulers_of(o), *own]
    rates = [float(g["initial_lr"]) for g in o.groups] if own else rates_of(o)
    before = [dict(g) for g in o.groups]
    with _Undo(o, alive):
        made = _megatron(entry, values, o) if "style" in entry.extra else \
            _torch_one(entry, values, o, beside or bool(alive))
    for g in o.groups:
        add_buffers(o, g)  # it may have set a momentum
    written = sorted({k for g, was in zip(o.groups, before, strict=True) for k, v in settings_of(g).items()
                      if k not in was or k == "lr" or v is not was[k]})
    o.scheduled = True
    return Sched(entry, values, o, made, rates, written)


def _megatron(entry: Entry, values: Values, o: Opt) -> Any:
    for group in o.groups:
        if "initial_lr" in group:  # a scheduler of torch's left its own highest and lowest rate there
            for k in ("max_lr", "min_lr"):
                if k not in group.get("overrides", ()):
                    group.pop(k, None)
    settings = megatron_settings(entry, values)
    if settings["end_wd"] and not all("weight_decay" in g for g in o.groups):
        raise QError(f"{entry.name}: the optimizer {o.entry.name} has no weight decay")
    return _valued(entry, lambda: class_of(entry)(_Groups(o), **settings))


def megatron_settings(entry: Entry, values: Values) -> Values:
    """The arguments of Megatron's scheduler."""
    v = dict(values)
    load, style = v.pop("load"), v.pop("wsdstyle", None)
    if v["steps"] is None:
        v["steps"] = math.floor(v["warmup"]) + 1
    if v["wdsteps"] is None:
        v["wdsteps"] = v["steps"]
    if v["startwd"] is None or v["endwd"] is None:
        v["startwd"] = v["endwd"] = v["endwd"] if v["startwd"] is None else v["startwd"]
    names = {o.name: o.torch for o in entry.options}
    out = {names[k]: x for k, x in v.items()}
    return out | {"lr_decay_style": entry.extra["style"], "lr_wsd_decay_style": WSD_FALLS[style] if style else None,
                  "use_checkpoint_opt_param_scheduler": load == "checkpoint",
                  "override_opt_param_scheduler": load == "override"}


_NAMES = megatron_names()  # in its refusals


def _valued(entry: Entry, fn: Callable[[], Any]) -> Any:
    """fn(), whose ValueError or KeyError becomes a q error with the names of the options."""
    try:
        return fn()
    except (ValueError, KeyError) as exc:
        error = QError(f"{entry.name}: {renamed(str(exc.args[0]))}")
    raise error


def renamed(text: str) -> str:
    """A message of Megatron's scheduler with the names of the options here."""
    return re.sub(r"\w+", lambda m: _NAMES.get(m[0], m[0]), text)


def _torch_one(entry: Entry, values: Values, o: Opt, shared: bool) -> Any:
    cls, args = class_of(entry), {}
    for option in options_of(entry):
        args[option.torch or option.name] = _argument(entry, option, values[option.name])
    if not shared:
        for group in o.groups:  # left there by an earlier scheduler
            group.pop("initial_lr", None)
    bare = torch.optim.lr_scheduler.LRScheduler.get_lr
    for s in values["schedulers"] if entry.name == "sequentiallr" else ():
        if type(s.torch).get_lr is bare:
            raise QError(f"sequentiallr: {s.entry.name} cannot be part of it")
    if "optimizer" in inspect.signature(cls).parameters:
        args["optimizer"] = o.torch
    return _valued(entry, lambda: _quiet(lambda: cls(**args)))


def _quiet(fn: Callable[[], Any]) -> Any:
    """fn() without torch's warnings on the order of steps: a scheduler made later counts as one made at first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fn()


def _argument(entry: Entry, option: Option, value: Any) -> Any:
    if option.type != "any" or value is None:
        return value
    if option.name == "schedulers":
        return [s.torch for s in value]
    if value.__class__ is List:
        return [_function(entry, f) for f in value.items]
    return _function(entry, value)


def _function(entry: Entry, f: Value) -> Callable[[Any], float]:
    """A function of q as one of a number that gives a number."""

    def call(n: Any) -> float:
        found = applied(f, [n])
        number = number_of(found)
        if number is None or found is NULL_J or not math.isfinite(number):
            raise QError(f"{entry.name}: the function must give a number, given {kname(found)}")
        return float(number)

    return call


# ------------------------------------------------------------------ groups that come later

# options with a value for each group, if a list is given
_BY_GROUP = ("baselr", "basemomentum", "lrlambda", "maxlr", "maxmomentum", "minlr", "swalr")
_RATE_OPTIONS = ("baselr", "maxlr", "swalr")


def extended(s: Sched, source: int, ratio: float, split: bool = True) -> None:
    """Tell a scheduler of a group that was added last, which came from the group `source` and has `ratio` times its
    rate: it gets that group's part in everything. Megatron's kind has one rate for all groups without overrides, also
    for a group that is new and was not `split` from another."""
    from kshell.optim.schedules import extend

    n = len(s.opt.groups) - 1
    if s.megatron:
        _own_rates(s, s.opt.groups[-1], s.opt.groups[source], ratio if split else 1.0)
    else:
        extend(s.torch, s.opt.groups, source, ratio)
    for p in s.parts:
        if len(p.rates) == n:
            p.rates = [*p.rates, p.rates[source] * ratio]
        for k in _BY_GROUP:
            value, scale = p.values.get(k), ratio if k in _RATE_OPTIONS else 1.0
            if value.__class__ is List and len(value.items) == n:
                p.values[k] = List([*value.items, value.items[source]])
            elif isinstance(value, list) and len(value) == n:
                p.values[k] = [*value, value[source] * scale]
            elif isinstance(value, float) and scale != 1.0:
                p.values[k] = [*[value] * n, value * scale]


def _own_rates(s: Sched, group: dict[str, Any], of: dict[str, Any], ratio: float) -> None:
    """Give a group the highest and lowest rate of another one times a ratio: Megatron's kind calls these overrides."""
    if ratio != 1.0:
        for k in ("max_lr", "min_lr"):
            group[k] = float(of.get(k, getattr(s.torch, k))) * ratio
        group["overrides"] = tuple(dict.fromkeys((*group.get("overrides", ()), "max_lr", "min_lr")))


def rebased(s: Sched, ratios: Sequence[float]) -> None:
    """Multiply the rates from which a scheduler computes, a ratio for each group."""
    from kshell.optim.schedules import rebase

    if s.megatron:
        for group, ratio in zip(s.opt.groups, ratios, strict=True):
            if "max_lr" not in group:  # otherwise those of the group were multiplied
                _own_rates(s, group, {}, ratio)
    else:
        rebase(s.torch, s.opt.groups, ratios)
    for p in s.parts:
        p.rates = [r * ratio for r, ratio in zip(p.rates, ratios, strict=False)]
        for k in _RATE_OPTIONS:
            value = p.values.get(k)
            if isinstance(value, float) or (isinstance(value, list) and len(value) == len(ratios)):
                each = value if isinstance(value, list) else [value] * len(ratios)
                p.values[k] = [v * ratio for v, ratio in zip(each, ratios, strict=True)]


# ------------------------------------------------------------------ tabulating

MOST_STEPS = 10_000_000


def tabulated(s: Sched, steps: Any) -> tuple[Any, Any]:
    """Learning rates and weight decays after each number of steps, as arrays (step, group); no decays for a scheduler
    that does not set them. Neither the scheduler nor the optimizer changes."""
    if s.megatron:
        groups = s.opt.groups
        lr = np.stack([s.torch.lr_at(steps, g) for g in groups], 1)
        found = [s.torch.wd_at(steps, g) for g in groups]
        if all(w is None for w in found):
            return lr, None
        return lr, np.stack([np.full(len(steps), g.get("weight_decay", 0.0)) if w is None else w
                             for w, g in zip(found, groups, strict=True)], 1)
    if any(c.entry.name == MEASURED for c in s.parts):
        raise QError(f"lrs: the rates of {MEASURED} depend on what is measured")
    s.check()
    if s.live and (not s.known or int(steps.min(initial=s.count)) >= s.count):  # type: ignore[attr-defined]
        return s.ahead(steps), None  # type: ignore[attr-defined]
    last = int(steps.max(initial=0))
    if last > MOST_STEPS:
        raise QError("limit")
    params = [{**{k: v for k, v in g.items() if k not in ("params", "initial_lr")}, "lr": rate,
               "params": [torch.nn.Parameter(torch.zeros(1))]} for g, rate in zip(s.opt.groups, s.rates, strict=True)]
    o = Opt(s.opt.entry, torch.optim.Optimizer(params, dict(s.opt.torch.defaults)))
    twin, rates = again(s, o), []
    for _ in range(last):
        rates.append(rates_of(o))
        _quiet(twin.torch.step)
        if PENDING:
            stop_here()
    rates.append(rates_of(o))
    return np.array(rates)[steps], None


def again(s: Sched, o: Opt, beside: bool = False) -> Sched:
    """A scheduler like this one, as it was when it was made, of another optimizer."""
    values = dict(s.values)
    if s.children:
        values["schedulers"] = [again(c, o, beside or k > 0) for k, c in enumerate(s.children)]
    return make(s.entry, values, o, beside)


# ------------------------------------------------------------------ as q values


def shown(s: Sched) -> Dict:
    """The options of a scheduler as a dictionary; schedulers among them as their definitions."""
    values = dict(s.values)
    if isinstance(values.get("schedulers"), list):
        values["schedulers"] = List([symdict(["scheduler", "options"], [sym(c.entry.name), shown(c)])
                                     for c in s.children])
    return options_q(options_of(s.entry), values)


def defaults(entry: Entry) -> Dict:
    """The options of a scheduler with their defaults; nulls where there is none."""
    return options_q(options_of(entry))
