"""The optimizers that live handles step, and the session's hook after a step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from kshell.kapi.base.handles import KHandle, OptimizerHandle, table
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
        o = h.stepped()
        if o is None:
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
    """An optimizer has stepped: it may be time to save the session (kapi/checkpoint/autosave.py), or to answer other
    processes (ipc/port.py)."""
    session = context.running()
    if session.autosave is not None and context.worker() is None:
        session.autosave.stepped()
    if session.ipc is not None:
        session.ipc.between()
