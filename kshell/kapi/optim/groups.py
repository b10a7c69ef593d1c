"""Changes to an optimizer's parameter groups: schedulers follow, both the session's and those of a host Python program,
and the user is told who else sets the rates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from kshell import optim
from kshell.errors import QError
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
    stay = {id(param) for group in groups for param in group.params}
    for param in o.parameters():
        if id(param) not in stay:
            o.state.drop(param)
    count = len(o.groups)
    moved = any(
        [*map(id, group["params"])] != [*map(id, new.params)]
        for group, new in zip(o.groups, groups, strict=False)
    )
    o.placed = None
    with with_names(o):
        for group, new in zip(o.groups, groups[:count], strict=True):
            group["params"][:] = new.params  # keep the list object: lbfgs refers to it too
        for i, new in enumerate(groups):
            edit_group(o, i, new.values, new.params if i >= count else [], new.source, last=False)
    for value in o.wraps.values():
        value.attached(o)
    if moved and o.record.added is not None:
        o.record.added(o.torch)


def check_movable(o: Opt, groups: Sequence[Group], call: str = "") -> None:
    """Reject moving parameters of an optimizer whose wrapper has partitioned them. The error begins with the call, or
    with the optimizer."""
    if o.inner is not None and [[*map(id, group["params"])] for group in o.groups] != [
        [*map(id, group.params)] for group in groups
    ]:
        raise QError(
            f"{call or o.entry.name}: a {type(o.torch).__name__} has partitioned its parameters: their "
            "groups cannot be changed"
        )


def check_groups(o: Opt, params: Sequence[Sequence[Any]]) -> None:
    """Can the optimizer have groups with these parameters, a subset of its current ones?"""
    count, most = len(params), o.record.groups or len(params)
    if (
        count > most
        or (count != len(o.groups) and o.record.parts is not None)
        or count < len(o.groups)
    ):
        raise QError(
            f"{o.entry.name}: {count} parameter group(s) are given, the optimizer has {len(o.groups)}"
        )
    check_movable(o, [Group({}, list(own)) for own in params])


def regroup(o: Opt, params: Sequence[Sequence[Any]]) -> None:
    """Make groups with these parameters, a subset of the optimizer's current ones. New groups take the options of the
    groups they come from."""
    if [[*map(id, group["params"])] for group in o.groups] == [[*map(id, own)] for own in params]:
        return
    check_groups(o, params)
    at = {id(param): i for i, group in enumerate(o.groups) for param in group["params"]}
    count = len(o.groups)
    groups = []
    for i, own in enumerate(params):
        source = i if i < count else at[id(own[0])] if own else count - 1
        groups.append(Group(group_values(o.entry, o.groups[source]), list(own), source))
    commit(o, groups)


def restored_groups(o: Opt, given: Sequence[Sequence[str]]) -> list[list[Any]] | None:
    """The parameters with these names by group; None if they are not all of the optimizer's, or names are unknown."""
    known = {row.name: row.p for row in parameters_of(o)} if o.container is not None else {}
    names = [n for own in given for n in own]
    if not names or len(set(names)) < len(names) or any(name not in known for name in names):
        return None
    return [[known[n] for n in own] for own in given]


@contextmanager
def with_names(o: Opt) -> Iterator[None]:
    """Keep parameter names set by a Python program while groups change. (torch has groups with or without names, but
    not a mix.)"""
    if "param_names" not in o.groups[0]:
        yield
        return
    own_names = {
        id(param): name
        for group in o.groups
        for param, name in zip(group["params"], group["param_names"], strict=True)
    }
    for group in o.groups:
        group.pop("param_names", None)
    try:
        yield
    finally:
        known = owners(o.container)
        for group in o.groups:
            group["param_names"] = [
                own_names.get(id(param)) or known.get(id(param), ("", f"param{i}"))[1]
                for i, param in enumerate(group["params"])
            ]


# ------------------------------------------------------------------ schedulers


def _of_program(o: Opt) -> list[Any]:
    """The schedulers that a Python program has attached to an optimizer which it also knows."""
    return _scan(o) if o.program is None else o.program


def _scan(o: Opt) -> list[Any]:
    held = [x for x in (o.torch, o.outer, o.inner) if x is not None]
    if not o.crossed:
        return []
    if o.outer is not None:
        held += [x for x in chain(o.outer) if all(x is not y for y in held)]
    own = {id(part.torch) for s in _of_session(o) for part in s.parts}
    return [s for s in optim.schedules.attached(held) if id(s) not in own]


def _of_session(o: Opt) -> list[Sched]:
    schedulers = schedulers_of(o)
    return schedulers if o.waiting is None else [*schedulers, o.waiting]


def _follow(o: Opt, source: int | None) -> None:
    """A group was added to an optimizer: extend the schedulers that know its groups. Their rates for it are those of
    the group it came from, multiplied by the ratio of the two groups' rates."""
    own, program = _of_session(o), _of_program(o)
    if len(o.groups) < 2 or not (own or program or source is not None):
        return
    at = len(o.groups) - 2 if source is None else source
    was, rate = float(o.groups[at]["lr"]), float(o.groups[-1]["lr"])
    ratio = rate / was if was > 0 and rate != was else 1.0
    if source is not None or program or any(not s.computes for s in own):
        optim.schedules.inherit(o.groups, at, ratio)
    for s in own:
        extended(s, at, ratio, source is not None)
    for p in program:
        optim.schedules.extend(p, o.groups, at, ratio)


NEW_GROUP.append(_follow)


@contextmanager
def edited(o: Opt, call: str, moved: bool = False) -> Iterator[None]:
    """An edit of groups or rates. Afterwards, print a line for each way in which schedulers also set the rates, if
    these changed and were not `moved` with them, and for each scheduler of a program that got new groups."""
    if not (o.crossed or o.scheduled or o.waiting is not None):
        yield
        return
    before = [float(group["lr"]) for group in o.groups]
    o.program = program = _scan(o)
    try:
        yield
    finally:
        o.program = None
    own, count = _of_session(o), len(before)
    lines = []
    if len(o.groups) > count and program:
        lines.append(
            f"{_list([type(s).__name__ for s in program])} of the program now has {len(o.groups)} groups"
        )
    if not moved and [float(group["lr"]) for group in o.groups[:count]] != before:
        by_manner: dict[str, list[str]] = {}
        for s in own:
            by_manner.setdefault(
                "computed" if s.computes else optim.schedules.manner(s.torch), []
            ).append(s.entry.name)
        for p in program:
            by_manner.setdefault(optim.schedules.manner(p), []).append(
                f"{type(p).__name__} of the program"
            )
        lines += [_SAID[k].format(_list(by_manner[k])) for k in _SAID if k in by_manner]
    for text in lines:
        running().warn(f"{call}: {text}\n")


_SAID = {
    "computed": "{} also sets the rates: its next step recomputes them, and yours are lost",
    "following": "{} also sets the rates: its next step continues from yours",
    "unknown": "{} also sets the rates, at each of its steps",
}


def _list(names: Sequence[str]) -> str:
    return " and ".join(dict.fromkeys(names))


def move_base(o: Opt, rates: Sequence[float]) -> None:
    """Set the rates and, in proportion, the rates from which schedulers compute. An error if a rate is currently 0."""
    own, program = _of_session(o), _of_program(o)
    now = [float(group["lr"]) for group in o.groups]
    if 0.0 in now and (own or program):
        raise QError(
            f"lr: the rate of group {now.index(0.0)} is 0 now, so there is no ratio for its schedulers"
        )
    ratios = [new / was if was else 1.0 for new, was in zip(rates, now, strict=True)]
    for group, rate, ratio in zip(o.groups, rates, ratios, strict=True):
        set_rate(group, rate)
        for k in optim.schedules.GROUP_RATES if own or program else ():
            if k in group:
                group[k] = optim.schedules.scaled(group[k], ratio)
    for s in own:
        rebased(s, ratios)
    for p in program:
        optim.schedules.rebase(p, o.groups, ratios)
