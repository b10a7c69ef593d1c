"""Schedulers: the user's functions `sched`, `lrs`, and the functions of all handle classes for scheduler handles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from kshell import registry
from kshell.entry_kinds import answers
from kshell.errors import CallError, QError
from kshell.kapi.base.args import is_pairs, items, long_of, longs_of, number_of, pairs, split
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import (
    KHandle,
    ModelHandle,
    OptimizerHandle,
    SchedulerHandle,
    behaviour,
    handle,
    lend,
    scheduler_handle,
)
from kshell.kapi.base.live_optimizers import optimizer_of
from kshell.kapi.base.plain_values import SchedulerFromQ, SchedulerToQ
from kshell.kapi.optim.optimizer import Opt, set_rate
from kshell.kapi.optim.scheduler import (
    Sched,
    _Undo,
    defaults,
    is_numbers,
    kind_of,
    make,
    rates_of,
    schedulers_of,
    shown,
    tabulated,
)
from kshell.kapi.optim.scheduler_types import MEASURED, Values, entry_of, parse
from kshell.kapi.optim.wraps import BESIDE
from kshell.registry import Entry
from kshell.values.base.build import collapse, floats, longs, string, symdict
from kshell.values.base.core import (
    NIL,
    Dict,
    List,
    ListValue,
    Table,
    Value,
    is_atom,
    long,
    seq_items,
    sym_vec,
)
from kshell.values.base.symbols import Sym, sym

# ------------------------------------------------------------------ sched


@api(
    "sched",
    "sched(o;name;options..)",
    "sched(o;name;options..;decay)",
    "sched s",
    "sched(o;state)",
    "sched(s;state)",
    "sched o",
    held=True,
    since="kshell",
    effect="reads1",
)
def sched(x: Value) -> Value:
    """Make a scheduler for an optimizer's learning rates, get its definition, restore it from a state.

    help`scheduler lists the types. Options are positional, then name-value pairs or a dictionary; weight decay options
    (style, start, end, steps) may be given in a second dictionary. The parameter groups get the rates of step 0. Call
    `step s` after each `step o`, or `step(s;n)` for n steps at once. Optimizer and name may be swapped. When a
    scheduler loads the state of another, its option `load` decides whose settings count. `sched o` is a handle for the
    scheduler that was restored with an optimizer.

    q)o:opt(`sgd;();.1)
    q)s:sched(o;`cosine;`max`warmup`steps!(.1;2;6))
    q)lr o
    ,0f
    q)step(s;2)
    q)lr s
    ,0.1
    q)lrs(s;til 4)
    step lr
    ---------------
    0    0
    1    0.05
    2    0.1
    3    0.08535534
    """
    arguments = items(x)
    target = handle(arguments[0]) if arguments else None
    if isinstance(target, SchedulerHandle):
        if len(arguments) == 1:
            return definition(target.obj)
        if len(arguments) == 2 and arguments[1].__class__ is Dict:
            load(target.obj, arguments[1])
            return NIL
        raise CallError("sched", "expecting scheduler and optional state")
    if len(arguments) == 1 and isinstance(target, OptimizerHandle | ModelHandle):
        return _waiting(optimizer_of(target))
    optimizer, name = head(arguments, "sched", "scheduler")
    if name.__class__ is Dict and len(arguments) == 2:
        return scheduler_handle(restored(name, optimizer))
    if name.__class__ is not Sym:
        raise CallError("sched", expecting="a scheduler's name", given=kname(name))
    entry = entry_of(name.s)
    values, handles = _with_handles(
        entry, parse(entry, *_arguments(entry, arguments[2:]), before=2), optimizer
    )
    scheduler = scheduler_handle(make(entry, values, optimizer))
    lend(handles, scheduler)
    return scheduler


def head(given: Sequence[Value], call: str, what: str) -> tuple[Opt, Value]:
    """The optimizer and the other of the first two arguments, in either order."""
    for x, name in (given[:2], given[1::-1]) if len(given) > 1 else ():
        subject = handle(x)
        if isinstance(subject, OptimizerHandle | ModelHandle):
            return optimizer_of(subject), name
    raise CallError(call, f"expecting optimizer or model, and the name of a {what}")


def _arguments(entry: Entry, given: Sequence[Value]) -> tuple[list[Value], list[tuple[str, Value]]]:
    """Positional and named options; a second dictionary at the end is for the weight decay."""
    allowed = kind_of(entry).decay
    if len(given) > 1 and given[-1].__class__ is Dict and is_pairs(given[-2]) and allowed:
        ramp = pairs(given[-1])
        for name, _ in ramp:
            if name not in allowed:
                raise QError(f"{entry.name}: unrecognized setting of the weight decay: {name}")
        positional, named = split(given[:-1])
        return positional, [*named, *((allowed[name], value) for name, value in ramp)]
    return split(given)


def _with_handles(entry: Entry, values: Values, o: Opt) -> tuple[Values, list[KHandle]]:
    """The option values with handles replaced by their schedulers, and the handles."""
    schedulers = values.get("schedulers")
    if schedulers is None:
        return values, []
    handles: list[KHandle] = []
    for scheduler in schedulers:
        if not isinstance(handle(scheduler), SchedulerHandle) or any(
            scheduler.obj is earlier.obj for earlier in handles
        ):
            raise CallError(
                entry.name, at="schedulers", expected="different schedulers", given=kname(scheduler)
            )
        handles.append(scheduler)
    if not handles:
        raise QError(f"{entry.name} schedulers: expected schedulers, given none")
    return {**values, "schedulers": [scheduler.obj for scheduler in handles]}, handles


# ------------------------------------------------------------------ steps and rates


@behaviour("step", SchedulerHandle)
def _step(h: SchedulerHandle, *args: Value) -> Value:
    scheduler: Sched = h.obj
    if len(args) > 1:
        raise QError(f"step: expecting 1-2 args, given {1 + len(args)}")
    if scheduler.entry.name == MEASURED or (
        scheduler.children and any(child.entry.name == MEASURED for child in scheduler.children)
    ):
        number = number_of(args[0]) if args else None
        if number is None or math.isnan(number):
            raise CallError("step", f"{scheduler.entry.name} expects the measured number")
        scheduler.step(1, float(number))
        return NIL
    count = long_of(args[0]) if args else 1
    if count is None or not 0 <= count <= 1 << 53:
        raise CallError("step", expecting="the number of steps", given=kname(args[0]))
    scheduler.step(count)
    return NIL


@behaviour("lr", SchedulerHandle)
def _lr(h: SchedulerHandle, *args: Value) -> Value:
    if args:
        raise CallError(
            "lr",
            "a scheduler sets the rates itself; set those of the optimizer",
            says=("scheduler", "optimizer"),
        )
    return floats(rates_of(h.obj.opt))


@api("lrs", "lrs(s;steps)", since="kshell", effect="none")
def lrs(x: Value) -> Value:
    """The learning rates of a scheduler after each number of steps, with weight decays if it sets them.

    For several parameter groups, each is a list. Neither the scheduler nor the optimizer changes.

    q)o:opt(`sgd;();.1)
    q)s:sched(o;`linear;`max`steps!(1;4);`start`end`steps!(0;.1;2))
    q)lrs(s;0 2 4)
    step lr  wd
    ------------
    0    1   0
    2    0.5 0.1
    4    0   0.1
    """
    arguments = items(x)
    subject = handle(arguments[0]) if arguments else None
    if not isinstance(subject, SchedulerHandle):
        raise CallError(
            "lrs",
            expecting="scheduler and numbers of steps",
            given=kname(arguments[0] if arguments else x),
        )
    steps = longs_of(arguments[1]) if len(arguments) == 2 else None
    if steps is None or min(steps, default=0) < 0:
        raise CallError("lrs", "expecting scheduler and numbers of steps from 0 on")
    rates, decays = tabulated(subject.obj, np.array(steps, dtype=np.int64))
    names = ["step", "lr"]
    contents: list[ListValue] = [longs(steps), _column(rates)]
    if decays is not None:
        names.append("wd")
        contents.append(_column(decays))
    return Table(names, contents)


def _column(a: np.ndarray) -> ListValue:
    return floats(a[:, 0]) if a.shape[1] == 1 else collapse([floats(row) for row in a])


# ------------------------------------------------------------------ definition and state


def definition(s: Sched) -> Dict:
    """A scheduler as a dictionary: name, options, steps made, current rates."""
    return symdict(
        ["scheduler", "options", "steps", "lr"],
        [sym(s.entry.name), shown(s), long(s.count), floats(rates_of(s.opt))],
    )


@behaviour("options", SchedulerHandle)
@behaviour("help", SchedulerHandle)
def _options(h: SchedulerHandle) -> Value:
    return shown(h.obj)


@behaviour("objtype", SchedulerHandle)
def _objtype(h: SchedulerHandle) -> Value:
    return sym(h.obj.entry.name)


@behaviour("holds", SchedulerHandle)
def _holds(h: SchedulerHandle) -> list[Any]:
    return [h.obj, h.obj.opt]


@behaviour("state", SchedulerHandle)
def _state(h: SchedulerHandle, every: bool = True) -> Value:
    return state_of(h.obj)


_TO_Q, _FROM_Q = SchedulerToQ(), SchedulerFromQ()


def state_of(s: Sched) -> Dict:
    """Everything needed to recreate the scheduler: name, options and state."""
    fields = {name: _TO_Q.value(value) for name, value in s.kept().items()}
    return symdict(
        ["scheduler", "options", *fields], [sym(s.entry.name), shown(s), *fields.values()]
    )


def _field(d: Dict, key: str) -> Value:
    fields = dict(pairs(d))
    if key not in fields:
        raise CallError("sched", f"the state has no {key}", says=(key, "state"))
    return fields[key]


def _name(d: Dict) -> str:
    name = _field(d, "scheduler")
    if name.__class__ is not Sym:
        raise QError(
            f"sched: unrecognized state, expecting a scheduler's name, given {kname(name)}"
        )
    return name.s


def _groups(d: Dict, o: Opt) -> list[dict[str, Any]]:
    """The entries of each parameter group in a state: numbers, and lists of them."""
    x = _field(d, "groups")
    groups = (
        []
        if is_atom(x) and x.__class__ is not Table
        else [_FROM_Q.value(item) for item in seq_items(x)]
    )
    for entries in groups:
        if not isinstance(entries, dict) or not all(
            is_numbers(tuple(value) if isinstance(value, list) else value)
            for value in entries.values()
        ):
            raise QError("sched: unrecognized state, expecting numbers for each parameter group")
    if len(groups) != len(o.groups):
        raise QError(
            f"sched: the state is of {len(groups)} parameter group(s), the optimizer has {len(o.groups)}"
        )
    return groups


def restored(d: Dict, o: Opt) -> Sched:
    """A scheduler from a state, for an optimizer with the same number of parameter groups; on an error, nothing
    changes."""
    name = _name(d)
    rates, groups = _FROM_Q.value(_field(d, "rates")), _groups(d, o)
    if (
        not isinstance(rates, list)
        or not 0 < len(rates) <= len(groups)
        or not all(map(is_numbers, rates))
    ):
        raise QError("sched: unrecognized state, expecting a rate for each parameter group")
    kind = kind_of(entry_of(name))
    with _Undo(o, schedulers_of(o)):
        for group, rate in zip(o.groups, rates, strict=False):
            set_rate(group, float(rate))
        for group, entries in zip(o.groups, groups, strict=True):
            group.pop("initial_lr", None)
            kind.prepare(group, entries)
        # created after the scheduler, so not in it
        later = [] if kind.computes else o.groups[len(rates) :]
        del o.groups[len(o.groups) - len(later) :]
        try:
            scheduler = _from_state(name, _field(d, "options"), o)
        finally:
            o.groups.extend(later)
        _put(scheduler, _field(d, "state"), groups)
        scheduler.rates = [float(rate) for rate in rates]
    return scheduler


def _from_state(name: str, options: Value, o: Opt, beside: bool = False) -> Sched:
    """The scheduler with a state's name and options, at step 0."""
    entry = entry_of(name)
    named = pairs(options)
    children = [
        _from_state(_name(mapping), _field(mapping, "options"), o, beside or index > 0)
        for option, value in named
        if option == "schedulers"
        for index, mapping in enumerate(_dicts(value))
    ]
    values = parse(
        entry, [], [(option, value) for option, value in named if value is not NIL], before=2
    )
    if children:
        values["schedulers"] = children
    return make(entry, values, o, beside)


def _dicts(x: Value) -> list[Dict]:
    found = seq_items(x)
    dicts = [mapping for mapping in found if mapping.__class__ is Dict]
    if not dicts or len(dicts) < len(found):
        raise CallError("sched", "unrecognized state, expecting the definitions of schedulers")
    return dicts


def _put(s: Sched, x: Value, groups: Sequence[dict[str, Any]]) -> None:
    """Set a scheduler that is at step 0 from a state."""
    state = _FROM_Q.value(x)
    if not isinstance(state, dict):
        raise QError(f"sched: unrecognized state, expecting dictionary, given {kname(x)}")
    s.put(state, groups)


def load(s: Sched, d: Dict) -> None:
    """Load a state into a scheduler; for torch's schedulers, only a state of the same type."""
    if s.load(d):
        return
    name = _field(d, "scheduler")
    if name.__class__ is not Sym or name.s != s.entry.name:
        raise CallError("sched", expecting=f"a state of {s.entry.name}", given=kname(name))
    groups = _groups(d, s.opt)
    with _Undo(s.opt, [s]):
        _put(s, _field(d, "state"), groups)


# ------------------------------------------------------------------ help and options by name


@answers("table", "scheduler")
def _schedulers() -> Table:
    """The table for help`scheduler."""
    entries = sorted(registry.entries("scheduler"), key=lambda e: e.name)
    return Table(
        ["scheduler", "pytorch", "options"],
        [
            sym_vec([entry.name for entry in entries]),
            List([string(entry.target if entry.since == "torch" else "") for entry in entries]),
            List([defaults(entry) for entry in entries]),
        ],
    )


@answers("values", "scheduler")
def _named_options(name: str) -> Value | None:
    entry = registry.find("scheduler", name)
    return None if entry is None else defaults(entry)


# ------------------------------------------------------------------ schedulers with their optimizer


def _beside(o: Opt, state: bool) -> Value | None:
    """The last scheduler made for an optimizer, for `opt o` and `state o`."""
    schedulers = schedulers_of(o) or ([o.waiting] if o.waiting is not None else [])
    return (
        None
        if not schedulers
        else state_of(schedulers[-1])
        if state
        else definition(schedulers[-1])
    )


def _put_beside(o: Opt, x: Value) -> None:
    if x.__class__ is not Dict:
        raise QError(f"opt: unrecognized scheduler, expecting dictionary, given {kname(x)}")
    if "state" in dict(pairs(x)):  # the one from `opt o` is only informative
        o.waiting = restored(x, o)


BESIDE["sched"] = _beside, _put_beside


def _waiting(o: Opt) -> Value:
    """The scheduler of an optimizer: the one restored with it, or the last one made."""
    scheduler = o.waiting or next(iter(reversed(schedulers_of(o))), None)
    if scheduler is None:
        raise CallError("sched", "the optimizer has no scheduler", says=("optimizer",))
    o.waiting = None
    return scheduler_handle(scheduler)
