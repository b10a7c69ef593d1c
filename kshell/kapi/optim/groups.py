"""Changes to an optimizer's parameter groups: schedulers follow, both the session's and those of a host Python program,
and the user is told who else sets the rates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from kshell import optim
from kshell.errors import UNSAID, CallError, QError
from kshell.kapi.optim.host_wrappers import chain
from kshell.kapi.optim.optimizer import NEW_GROUP, Opt, Values, edit_group, group_values, set_rate
from kshell.kapi.optim.parameters import owners, parameters_of
from kshell.kapi.optim.scheduler import Sched, extended, rebased, schedulers_of
from kshell.values.session.context import running


class Group(NamedTuple):
    """A planned group: its options, its parameters, and the number of the group it comes from."""

    values: Values
    params: list[Any]
    source: int | None = None


def commit(o: Opt, groups: Sequence[Group]) -> None:
    """Install the groups in the optimizer. The state of parameters moves with them."""
    check_movable(o, groups)
    retained = {id(param) for group in groups for param in group.params}
    for param in o.parameters():
        if id(param) not in retained:
            o.state.drop(param)
    count = len(o.groups)
    moved = any(
        [*map(id, group["params"])] != [*map(id, target.params)]
        for group, target in zip(o.groups, groups, strict=False)
    )
    o.placed = None
    with with_names(o):
        for group, target in zip(o.groups, groups[:count], strict=True):
            group["params"][:] = target.params  # keep the list object: lbfgs refers to it too
        for index, target in enumerate(groups):
            edit_group(
                o,
                index,
                target.values,
                target.params if index >= count else [],
                target.source,
                last=False,
            )
    for wrapper in o.wraps.values():
        wrapper.attached(o)
    if moved and o.record.added is not None:
        o.record.added(o.torch)


def check_movable(o: Opt, groups: Sequence[Group], call: str = "") -> None:
    """Reject moving parameters of an optimizer whose wrapper has partitioned them. The error begins with the call, or
    with the optimizer."""
    if o.inner is not None and [[*map(id, group["params"])] for group in o.groups] != [
        [*map(id, group.params)] for group in groups
    ]:
        raise CallError(
            call or o.entry.name,
            f"a {type(o.torch).__name__} has partitioned its parameters: their groups cannot be changed",
            given=UNSAID,
        )


def check_groups(o: Opt, params: Sequence[Sequence[Any]]) -> None:
    """Can the optimizer have groups with these parameters, a subset of its current ones?"""
    count, limit = len(params), o.record.groups or len(params)
    if (
        count > limit
        or (count != len(o.groups) and o.record.parts is not None)
        or count < len(o.groups)
    ):
        raise QError(
            f"{o.entry.name}: {count} parameter group(s) are given, the optimizer has {len(o.groups)}"
        )
    check_movable(o, [Group({}, list(members)) for members in params])


def regroup(o: Opt, params: Sequence[Sequence[Any]]) -> None:
    """Make groups with these parameters, a subset of the optimizer's current ones. New groups take the options of the
    groups they come from."""
    if [[*map(id, group["params"])] for group in o.groups] == [
        [*map(id, members)] for members in params
    ]:
        return
    check_groups(o, params)
    indices = {
        id(param): index for index, group in enumerate(o.groups) for param in group["params"]
    }
    count = len(o.groups)
    groups = []
    for index, members in enumerate(params):
        source = index if index < count else indices[id(members[0])] if members else count - 1
        groups.append(Group(group_values(o.entry, o.groups[source]), list(members), source))
    commit(o, groups)


def restored_groups(o: Opt, given: Sequence[Sequence[str]]) -> list[list[Any]] | None:
    """The parameters with these names by group; None if they are not all of the optimizer's, or names are unknown."""
    by_name = {row.name: row.p for row in parameters_of(o)} if o.container is not None else {}
    names = [name for members in given for name in members]
    if not names or len(set(names)) < len(names) or any(name not in by_name for name in names):
        return None
    return [[by_name[name] for name in members] for members in given]


@contextmanager
def with_names(o: Opt) -> Iterator[None]:
    """Keep parameter names set by a Python program while groups change. (torch has groups with or without names, but
    not a mix.)"""
    if "param_names" not in o.groups[0]:
        yield
        return
    program_names = {
        id(param): name
        for group in o.groups
        for param, name in zip(group["params"], group["param_names"], strict=True)
    }
    for group in o.groups:
        group.pop("param_names", None)
    try:
        yield
    finally:
        named = owners(o.container)
        for group in o.groups:
            group["param_names"] = [
                program_names.get(id(param)) or named.get(id(param), ("", f"param{index}"))[1]
                for index, param in enumerate(group["params"])
            ]


# ------------------------------------------------------------------ schedulers


def _of_program(o: Opt) -> list[Any]:
    """The schedulers that a Python program has attached to an optimizer which it also knows."""
    return _scan(o) if o.program is None else o.program


def _scan(o: Opt) -> list[Any]:
    optimizers = [optimizer for optimizer in (o.torch, o.outer, o.inner) if optimizer is not None]
    if not o.crossed:
        return []
    if o.outer is not None:
        optimizers += [
            optimizer
            for optimizer in chain(o.outer)
            if all(optimizer is not earlier for earlier in optimizers)
        ]
    session_ids = {id(child.torch) for sched in _of_session(o) for child in sched.parts}
    return [sched for sched in optim.schedules.attached(optimizers) if id(sched) not in session_ids]


def _of_session(o: Opt) -> list[Sched]:
    schedulers = schedulers_of(o)
    return schedulers if o.waiting is None else [*schedulers, o.waiting]


def _follow(o: Opt, source: int | None) -> None:
    """A group was added to an optimizer: extend the schedulers that know its groups. Their rates for it are those of
    the group it came from, multiplied by the ratio of the two groups' rates."""
    schedulers, program = _of_session(o), _of_program(o)
    if len(o.groups) < 2 or not (schedulers or program or source is not None):
        return
    index = len(o.groups) - 2 if source is None else source
    source_rate, new_rate = float(o.groups[index]["lr"]), float(o.groups[-1]["lr"])
    ratio = new_rate / source_rate if source_rate > 0 and new_rate != source_rate else 1.0
    if source is not None or program or any(not sched.computes for sched in schedulers):
        optim.schedules.inherit(o.groups, index, ratio)
    for sched in schedulers:
        extended(sched, index, ratio, source is not None)
    for torch_scheduler in program:
        optim.schedules.extend(torch_scheduler, o.groups, index, ratio)


NEW_GROUP.append(_follow)


@contextmanager
def edited(o: Opt, call: str, moved: bool = False) -> Iterator[None]:
    """An edit of groups or rates. Afterwards, print a line for each way in which schedulers also set the rates, if
    these changed and were not `moved` with them, and for each scheduler of a program that got new groups."""
    if not (o.crossed or o.scheduled or o.waiting is not None):
        yield
        return
    former_rates = [float(group["lr"]) for group in o.groups]
    o.program = program = _scan(o)
    try:
        yield
    finally:
        o.program = None
    schedulers, count = _of_session(o), len(former_rates)
    lines = []
    if len(o.groups) > count and program:
        lines.append(
            f"{_list([type(sched).__name__ for sched in program])} of the program now has {len(o.groups)} groups"
        )
    if not moved and [float(group["lr"]) for group in o.groups[:count]] != former_rates:
        by_manner: dict[str, list[str]] = {}
        for sched in schedulers:
            by_manner.setdefault(
                "computed" if sched.computes else optim.schedules.manner(sched.torch), []
            ).append(sched.entry.name)
        for torch_scheduler in program:
            by_manner.setdefault(optim.schedules.manner(torch_scheduler), []).append(
                f"{type(torch_scheduler).__name__} of the program"
            )
        lines += [_SAID[way].format(_list(by_manner[way])) for way in _SAID if way in by_manner]
    for line in lines:
        running().warn(f"{call}: {line}\n")


_SAID = {
    "computed": "{} also sets the rates: its next step recomputes them, and yours are lost",
    "following": "{} also sets the rates: its next step continues from yours",
    "unknown": "{} also sets the rates, at each of its steps",
}


def _list(names: Sequence[str]) -> str:
    return " and ".join(dict.fromkeys(names))


def move_base(o: Opt, rates: Sequence[float]) -> None:
    """Set the rates and, in proportion, the rates from which schedulers compute. An error if a rate is currently 0."""
    schedulers, program = _of_session(o), _of_program(o)
    current_rates = [float(group["lr"]) for group in o.groups]
    if 0.0 in current_rates and (schedulers or program):
        raise QError(
            f"lr: the rate of group {current_rates.index(0.0)} is 0 now, so there is no ratio for its schedulers"
        )
    ratios = [
        rate / current if current else 1.0
        for rate, current in zip(rates, current_rates, strict=True)
    ]
    for group, rate, ratio in zip(o.groups, rates, ratios, strict=True):
        set_rate(group, rate)
        for key in optim.schedules.GROUP_RATES if schedulers or program else ():
            if key in group:
                group[key] = optim.schedules.scaled(group[key], ratio)
    for sched in schedulers:
        rebased(sched, ratios)
    for torch_scheduler in program:
        optim.schedules.rebase(torch_scheduler, o.groups, ratios)
