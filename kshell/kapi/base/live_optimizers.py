"""The optimizers that live handles step, and the session's hook after a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kshell.kapi.base.handles import KHandle, ModelHandle, OptimizerHandle, RuleHandle, table
from kshell.values.session import context

if TYPE_CHECKING:
    from kshell.kapi.optim.optimizer import Opt


def optimizer_of(h: KHandle) -> Opt:
    """The optimizer of an optimizer or model handle."""
    return h.get() if isinstance(h, OptimizerHandle) else h.get().optimizer


def live_optimizers() -> Iterator[Opt]:
    """The optimizers that live handles step, without duplicates: their own, and those of models and scaling rules. If
    an optimizer and its wrapper both have handles, only the wrapper."""
    found: dict[int, Opt] = {}
    for h in table():
        if isinstance(h, OptimizerHandle | ModelHandle):
            o = optimizer_of(h)
        elif isinstance(h, RuleHandle) and h.obj.opt.wraps.get("scale") is h.obj:
            o = h.obj.opt
        else:
            continue
        if o.outer is not None or id(o.torch) not in found:
            found[id(o.torch)] = o
    return iter(found.values())


def optimizers_with(params: Iterable[Any]) -> list[Opt]:
    """The live optimizers that have any of these parameters."""
    ids = set(map(id, params))
    return [
        optimizer
        for optimizer in live_optimizers()
        if any(id(param) in ids for param in optimizer.parameters())
    ]


def stepped() -> None:
    """Called after an optimizer step: the session may be due for autosave (kapi/checkpoint/autosave.py)."""
    saver = context.running().autosave
    if saver is not None and context.worker() is None:
        saver.stepped()
