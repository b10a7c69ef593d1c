"""Wrappers around the steps of an optimizer, such as aggregation and scaling rules, one class each.

A step runs the phases of all wrappers in a fixed order, whatever the order in which they were added: gradients are
aggregated, inspected and clipped, rates are scaled; then comes the optimizer's own step; then temporary changes are
undone. A wrapper is part of the optimizer: `opt o` shows its options, `state o` includes it, and it is restored from
there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kshell import optim
from kshell.errors import CallError, QError
from kshell.kapi.base.args import pairs
from kshell.kapi.base.call import run_backward
from kshell.kapi.base.plain_values import ToQ
from kshell.registry import Hook
from kshell.values.base.build import symdict
from kshell.values.base.core import Dict, Value

if TYPE_CHECKING:
    from torch import Tensor

    from kshell.kapi.optim.optimizer import Opt

# the phases of a wrapper before the step, in this order; if one returns False, the step is skipped
PHASES = ("aggregate", "note", "clip", "rates")


class Wrap:
    """A wrapper around the steps of an optimizer. `name` is its key in a state, `given` the step arguments it
    accepts."""

    name = ""
    given: tuple[str, ...] = ()
    meets = False  # is a step with several processes collective?

    def options(self) -> Dict:
        """Its options, for `opt` and `state`."""
        raise NotImplementedError

    def kept(self) -> dict[str, Any]:
        """Its state between steps, a tree of leaves (kshell/optim/leaves.py)."""
        return {}

    def keep(self, tree: dict[str, Any]) -> None:
        """Restore the state from `kept`."""

    def state(self) -> Dict:
        """Its options and its state."""
        tree = self.kept()
        fields = dict(pairs(self.options())) | ({"state": ToQ().value(tree)} if tree else {})
        return symdict(list(fields), list(fields.values()))

    @classmethod
    def restore(cls, o: Opt, options: list[tuple[str, Value]]) -> None:
        """Add one to an optimizer again, from its options in a state."""
        raise NotImplementedError

    def idle(self) -> bool:
        """Has it nothing to do in a step without arguments for it?"""
        return False

    def aggregate(self, o: Opt, given: dict[str, Any]) -> Any:
        """Aggregate the gradients of several processes."""

    def note(self, o: Opt, given: dict[str, Any]) -> Any:
        """Inspect the aggregated gradients."""

    def clip(self, o: Opt, given: dict[str, Any]) -> Any:
        """Clip the gradients."""

    def rates(self, o: Opt, given: dict[str, Any]) -> Any:
        """Change rates for this step."""

    def done(self, o: Opt) -> Any:
        """After the step."""

    def failed(self, o: Opt) -> Any:
        """After a step that failed."""
        self.done(o)

    def attached(self, o: Opt, at: int | None = None, params: Sequence[Any] = ()) -> Any:
        """Parameters were added to a group of the optimizer; without a number, groups have changed otherwise."""

    def moved(self) -> Any:
        """Parameters of the optimizer were moved to another device or type."""
        self.keep(self.kept())

    def pending(self) -> Any:
        """The state of an unfinished step as plain numbers, for a snapshot; None if there is none."""

    def set_pending(self, found: Any) -> None:
        """Continue an unfinished step."""


KINDS: dict[str, type[Wrap]] = {}
# a scaling rule from its state, added to its optimizer if requested: families/adaptdl/api.py
RULE = Hook()


def kind(cls: type[Wrap]) -> type[Wrap]:
    """Register a class of wrappers by its name."""
    KINDS[cls.name] = cls
    return cls


# companions of an optimizer that do not wrap its steps, by name: (function for their value in `opt` or `state`, None
# for nothing; function that restores it)
BESIDE: dict[str, tuple[Callable[[Opt, bool], Value | None], Callable[[Opt, Value], None]]] = {}


def shown(o: Opt, state: bool = False) -> Dict:
    """The wrappers of an optimizer and its companions, {name: options or state}."""
    fields = {key: value.state() if state else value.options() for key, value in o.wraps.items()}
    for name, (show, _) in BESIDE.items():
        value = show(o, state)
        if value is not None:
            fields[name] = value
    return symdict(list(fields), list(fields.values()))


def restore(o: Opt, found: Value) -> None:
    """Restore the wrappers of a state on an optimizer."""
    if found.__class__ is not Dict:
        raise CallError("opt", "unrecognized wrap, expecting dictionary")
    for name, options in pairs(found):
        if name in BESIDE:
            BESIDE[name][1](o, options)
            continue
        if name not in KINDS:
            raise QError(f"opt: unrecognized wrap: {name}")
        KINDS[name].restore(o, pairs(options))


def step(o: Opt, closure: Callable[[], Any] | None, given: dict[str, Any]) -> Any:
    """A step with all wrappers. The result is the closure's loss, or the optimizer's own result."""
    accepted = {name for wrapper in o.wraps.values() for name in wrapper.given}
    for name in given:
        if name not in accepted:
            raise CallError("step", f"{o.entry.name} takes no {name}", says=(o.entry.name, name))
    start, before = time.perf_counter(), optim.comm.METER.seconds
    abilities = o.abilities
    if "fp16" in o.wraps or not (o.wraps or abilities.gathers):
        result = o.bare_step(closure, **given)
        _count(o, start, before)
        return result
    if closure is not None and o.record.closure:
        raise CallError(
            "step",
            f"{o.entry.name} calls back for the loss, which {'`'.join(['', *o.wraps])} "
            "cannot follow",
            says=(o.entry.name,),
        )
    loss = optim.comm.loss_of(closure)
    due = abilities.gather(bool(o.wraps))
    _clock(o, "backward", time.perf_counter() - start)
    start, before = time.perf_counter(), optim.comm.METER.seconds
    result = _around(o, given) if due else False
    abilities.settle()
    _count(o, start, before)
    return result if loss is None or abilities.gathers else loss


def _around(o: Opt, given: dict[str, Any]) -> Any:
    """The phases of all wrappers around the optimizer's own update. (If a wrapper accumulates gradients over steps and
    a due update fails, the accumulated gradients are restored.)"""
    abilities, stepping = o.abilities, True
    try:
        for phase in PHASES:
            for wrapper in o.wraps.values():
                stepping = stepping and getattr(wrapper, phase)(o, given) is not False
    except BaseException:
        abilities.undo()
        raise
    result: Any = False
    try:
        if not stepping:
            abilities.undo()
        elif abilities.gathers:
            abilities.update()
            result = True
        else:
            result = o.bare_step()
    except BaseException:
        abilities.undo()
        for wrapper in o.wraps.values():
            wrapper.failed(o)
        raise
    for wrapper in o.wraps.values():
        wrapper.done(o)
    return result


# ------------------------------------------------------------------ timings


def _clock(o: Opt, phase: str, seconds: float) -> None:
    if o.timings is not None:
        o.timings[phase] += seconds


def _count(o: Opt, start: float, before: float) -> None:
    """Record the time of a step that began at `start`, when communication had taken `before` seconds."""
    if o.timings is not None:
        spent = optim.comm.METER.seconds - before
        o.timings["communication"] += spent
        o.timings["update"] += time.perf_counter() - start - spent


def backward(o: Opt, loss: Tensor, **options: Any) -> None:
    """Compute the gradients of a loss as the wrappers of an optimizer require."""
    start = time.perf_counter()
    run_backward("backward", [loss], lambda: o.abilities.backward(loss, **options))
    _clock(o, "backward", time.perf_counter() - start)
