"""Per-group settings for Megatron's schedulers: `override`, `combine`, `okey`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kshell.extend import (
    NIL,
    CallError,
    Dict,
    List,
    ModelHandle,
    Opt,
    OptimizerHandle,
    Option,
    QError,
    Sym,
    Table,
    Value,
    Vec,
    api,
    group_number,
    handle,
    items,
    kname,
    match,
    number_of,
    optimizer_of,
    pairs,
    read_option,
    schedulers_of,
    seq_items,
    sym,
    symdict,
)
from kshell.families import megatron
from kshell.families.megatron.schedules import OVERRIDES, in_options


@api(
    "override",
    "override(o;group)",
    "override(o;group;options)",
    held=True,
    since="kshell",
    effect="changes",
)
def override(x: Value) -> Value:
    """Override max, min, startwd, endwd of Megatron's schedulers for a parameter group of an optimizer.

    wdmult multiplies the group's weight decay; :: removes an override. Returns the group's overrides.

    q)o:opt(`sgd;();.1)
    q)opt(o;1;())
    q)override(o;1;`max`wdmult!(.2;0f))
    max   | 0.2
    wdmult| 0
    q)s:sched(o;`constant;`max`startwd!(.1;.01))
    q)lr o
    0.1 0.2
    """
    given = items(x)
    h = handle(given[0]) if given else None
    if not isinstance(h, OptimizerHandle | ModelHandle):
        raise CallError(
            "override", expecting="optimizer or model, group and options", given=kname(x)
        )
    optimizer = optimizer_of(h)
    n = group_number(given[1]) if len(given) > 1 else None
    if n is None or not 0 <= n < len(optimizer.groups) or len(given) > 3:
        raise CallError(
            "override", f"expecting optimizer, one of {len(optimizer.groups)} group(s), and options"
        )
    group = optimizer.groups[n]
    if len(given) == 3:
        _set_overrides(optimizer, group, _changed(group, given[2]))
    return symdict(*_own(group))


def _changed(group: dict[str, Any], x: Value) -> dict[str, float]:
    """A group's overrides after applying the options x, by their names in the group."""
    new = {value: group.get(value) for value in OVERRIDES.values()}
    for key, value in pairs(x):
        if key not in OVERRIDES:
            raise CallError(
                "override",
                f"unrecognized option `{key}, expecting one of "
                + "".join("`" + override for override in OVERRIDES),
                says=(f"`{key}",),
            )
        new[OVERRIDES[key]] = _number(key, value)
    return {key: value for key, value in new.items() if value is not None}


def _number(key: str, value: Value) -> float | None:
    if value is NIL:
        return None
    n = read_option(
        "override", Option(key, "double", low=0, high=float(np.finfo(float).max)), value, True
    )
    if n is None or math.isnan(n):
        raise QError(f"override {key}: expected long/double scalar, given null")
    return float(n)


def _set_overrides(o: Opt, group: dict[str, Any], own: dict[str, float]) -> None:
    """Change a group's overrides, unless a scheduler of the optimizer rejects them; schedulers then set their rates
    again."""
    live = [s for s in schedulers_of(o) if s.computes]
    for s in live:
        _checked(lambda s=s: s.torch._check_group(own))
    for above, below in (("max_lr", "min_lr"), ("end_wd", "start_wd")):
        if own.get(above, math.inf) < own.get(below, 0):
            names = {torch: key for key, torch in OVERRIDES.items()}
            raise QError(
                f"override: {names[above]} {own[above]:g} is below {names[below]} {own[below]:g}"
            )
    for value in OVERRIDES.values():
        group.pop(value, None)
    group.update(own)
    group["overrides"] = tuple(own)
    for s in live:
        s.torch.write()


def _checked(fn: Any) -> None:
    try:
        fn()
        return
    except ValueError as exc:
        error = QError(f"override: {in_options(str(exc))}")
    raise error


def _own(group: dict[str, Any]) -> tuple[list[str], list[Value]]:
    found = [
        (key, float(group[value]))
        for key, value in OVERRIDES.items()
        if group.get(value) is not None
    ]
    return [k for k, _ in found], [v for _, v in found]


@api("combine", "combine overrides", since="kshell", effect="none")
def combine(x: Value) -> Value:
    """The union of overrides: a list of dictionaries, :: for none.

    Any keys are allowed; two values for one key are an error.

    q)combine((`wdmult`max!0 .2;::;`wdmult`min!0 .01))
    wdmult| 0
    max   | 0.2
    min   | 0.01

    q)combine((`wdmult`max!0 .2;(1#`wdmult)!1#1f))
    'combine: conflicting overrides for wdmult: 0 and 1
      [0]  combine((`wdmult`max!0 .2;(1#`wdmult)!1#1f))
           ^
    """
    given = seq_items(x) if x.__class__ in (List, Vec, Table) else [x]
    found = []
    for d in given:
        if d is not NIL and d.__class__ is not Dict:
            raise CallError("combine", expecting="dictionaries", given=kname(d))
        found.append(None if d is NIL else dict(pairs(d)))
    try:
        compared = [
            None if d is None else {key: _Compared(value) for key, value in d.items()}
            for d in found
        ]
        out = megatron.scheduler.combine_param_group_overrides(compared)
        return symdict(list(out), [value.x for value in out.values()])
    except ValueError as exc:
        error = QError(f"combine: {str(exc)[:1].lower()}{str(exc)[1:]}")
    raise error


class _Compared:
    """A q value that compares equal by q's match, and prints as its text."""

    def __init__(self, x: Value) -> None:
        self.x = x

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Compared) and match(self.x, other.x)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        number = number_of(self.x)
        return (
            (self.x.s if isinstance(self.x, Sym) else kname(self.x))
            if number is None
            else f"{number:g}"
        )


@api("okey", "okey d", since="kshell", effect="none")
def okey(x: Value) -> Value:
    """An override as a key for grouping parameters: its names and values as pairs, sorted by name.

    :: is returned unchanged.

    q)okey`wdmult`max!0 .2
    `max    0.2
    `wdmult 0f
    """
    if x is not NIL and x.__class__ is not Dict:
        raise CallError("okey", expecting="dictionary", given=kname(x))
    found = megatron.scheduler.param_group_override_to_tuple(None if x is NIL else dict(pairs(x)))
    return NIL if found is None else List([List([sym(k), v]) for k, v in found])
