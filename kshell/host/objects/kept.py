"""Copies of the state of a run, to go back to: parameters, buffers, and what optimizers know of the parameters."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from kshell.host.objects.parts import local

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from torch.optim import Optimizer

MOST = 3  # copies that clients asked for
SHARE = 0.001  # of the time that copies made now and then may cost
ROOM = 4  # times its size that must be free for another copy to be made unasked


class Kept:
    """The state after a step, copied to the memory of the CPU."""

    def __init__(self, step: int, optimizers: list[Optimizer], modules: Iterable[Module]) -> None:
        self.step = step
        tensors = _tensors(optimizers, modules)
        self.tensors = [(t, local(t).detach().to("cpu", copy=True)) for t in tensors]
        self.states = [
            (o, {p: _copied(dict(state)) for p, state in states_of(o).items()}) for o in optimizers
        ]

    @property
    def size(self) -> int:
        """Its bytes, about: optimizers keep up to two numbers for each of a parameter's."""
        return 3 * sum(copy.nbytes for _, copy in self.tensors)

    def is_finite(self) -> bool:
        """Are all parameters and buffers finite?"""
        import torch

        return all(bool(torch.isfinite(c).all()) for _, c in self.tensors if c.is_floating_point())

    def put_back(self) -> None:
        """Give the objects the values that they had. Rates and other options stay as they are."""
        import torch

        with torch.no_grad():
            for t, copy in self.tensors:
                local(t).detach().copy_(copy)
        for optimizer, states in self.states:
            now = states_of(optimizer)
            for p in [p for p in now if p not in states]:
                del now[p]
            for p, state in states.items():
                _put_back(now[p], state, p)


class States:
    """The copies: those that clients asked for, and one made now and then."""

    def __init__(self) -> None:
        self.asked: list[Kept] = []
        self.latest: Kept | None = None  # of those made now and then
        self._next = 0.0  # when the next one is due

    def keep(self, kept: Kept) -> None:
        """Have a copy that a client asked for, in the place of an old one if there are many."""
        self.asked = [*self.asked[1 - MOST :], kept]

    def is_due(self) -> bool:
        """Is it time to make another copy unasked?"""
        return time.perf_counter() >= self._next

    def renew(self, make: Callable[[], Kept]) -> None:
        """Make a copy unasked, if there is memory for it and all of it is finite; the next one is due when that will
        have taken a small share of the time."""
        start = time.perf_counter()
        if self.latest is None or _free() >= ROOM * self.latest.size:
            kept = make()
            if kept.is_finite():
                self.latest = kept
        end = time.perf_counter()
        self._next = end + (end - start) / SHARE

    def find(self, step: int | None) -> Kept | None:
        """The copy after a step; the last one if no step is given."""
        known = [*self.asked, *([self.latest] if self.latest is not None else [])]
        if step is None:
            return max(known, key=lambda kept: kept.step, default=None)
        return next((kept for kept in known if kept.step == step), None)


def _tensors(optimizers: Iterable[Optimizer], modules: Iterable[Module]) -> list[Tensor]:
    """The parameters and buffers, each once."""
    found = {id(t): t for m in modules for t in (*m.parameters(), *m.buffers())}
    for optimizer in optimizers:
        found.update({id(p): p for group in optimizer.param_groups for p in group["params"]})
    return list(found.values())


def states_of(optimizer: Optimizer) -> Any:
    """What an optimizer knows of each parameter."""
    return optimizer.state


def _copied(x: Any, device: Any = "cpu") -> Any:
    """A state with copies of the tensors in it, on a device."""
    from torch import Tensor
    from torch.utils._pytree import tree_map

    return tree_map(
        lambda t: local(t).detach().to(device, copy=True) if isinstance(t, Tensor) else t, x
    )


def _put_back(state: dict[str, Any], kept: dict[str, Any], p: Tensor) -> None:
    """Give the state of a parameter in an optimizer what it had; tensors that are there are written."""
    for key in [key for key in state if key not in kept]:
        del state[key]
    for key, x in kept.items():
        now = state.get(key)
        if hasattr(now, "detach") and local(now).shape == x.shape:
            local(now).detach().copy_(x)
        else:
            state[key] = _copied(x, local(p).device)


def _free() -> int:
    """The bytes of memory that programs can have."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found = [line for line in file if line.startswith("MemAvailable")]
        return int(found[0].split()[1]) * 1024
    except (OSError, IndexError, ValueError):
        return 0
