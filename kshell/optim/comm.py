"""What the optimizers of several processes have in common: collectives over flat buckets, and what they cost.

Everything works on the default group of torch.distributed, and does nothing where there is none. Calls must be the same
on every process, in the same order.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor

R = TypeVar("R")


_ALONE = [0]
_AVAILABLE = dist.is_available()


@contextmanager
def alone() -> Iterator[None]:
    """Inside the block there is one process: for objects that are made to look at them only."""
    _ALONE[0] += 1
    try:
        yield
    finally:
        _ALONE[0] -= 1


def is_alone() -> bool:
    """Is this inside a block of `alone`?"""
    return _ALONE[0] > 0


def _grouped() -> bool:
    return not _ALONE[0] and _AVAILABLE and dist.is_initialized()


def world() -> int:
    """The number of processes, 1 without a process group."""
    return dist.get_world_size() if _grouped() else 1


def rank() -> int:
    """The number of this process, 0 without a process group."""
    return dist.get_rank() if _grouped() else 0


class Meter:
    """What communication has cost this process: seconds, calls, and bytes that it gave to collectives."""

    def __init__(self) -> None:
        self.seconds, self.calls, self.bytes = 0.0, 0, 0

    def run(self, fn: Callable[[], R], *sent: Tensor) -> R:
        """Do a communication that gives away the tensors `sent`."""
        start = time.perf_counter()
        out = fn()
        self.seconds += time.perf_counter() - start
        self.calls += 1
        self.bytes += sum(t.numel() * t.element_size() for t in sent)
        return out


METER = Meter()


def all_reduce(t: Tensor) -> Tensor:
    """The sum of a tensor over all processes, in place."""
    METER.run(lambda: dist.all_reduce(t), t)
    return t


def all_gather(t: Tensor) -> list[Tensor]:
    """A tensor of each process, all of one size."""
    out = [torch.empty_like(t) for _ in range(world())]
    METER.run(lambda: dist.all_gather(out, t), t)
    return out


def gathered(values: Sequence[float], dtype: torch.dtype = torch.float64) -> list[list[float]]:
    """A few numbers of each process."""
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    return [t.tolist() for t in all_gather(torch.tensor(list(values), dtype=dtype, device=device))]


def buckets(tensors: Iterable[Tensor], apart: bool = False) -> list[list[Tensor]]:
    """Tensors by data type and device, in their order; with `apart` each by itself."""
    if apart:
        return [[t] for t in tensors]
    found: dict[Any, list[Tensor]] = {}
    for t in tensors:
        found.setdefault((t.dtype, t.device), []).append(t)
    return list(found.values())


def flat(tensors: Sequence[Tensor], extra: Sequence[float] = ()) -> Tensor:
    """The elements of tensors of one type, row by row, in one vector, with some numbers behind."""
    parts = [t.detach().reshape(-1) for t in tensors]
    if len(extra):
        parts.append(torch.tensor(list(extra), dtype=parts[0].dtype, device=parts[0].device))
    return torch.cat(parts)


def spread(vector: Tensor, tensors: Sequence[Tensor]) -> None:
    """Put the elements of a vector into tensors, in order; the reverse of `flat`."""
    at = 0
    for t in tensors:
        t.copy_(vector[at:at + t.numel()].view(t.shape))
        at += t.numel()


def agree(params: Sequence[Tensor], what: str) -> None:
    """Are the parameters of the same sizes and types on every process? A ValueError that is the same on all, if not."""
    if world() == 1:
        return
    if any(hasattr(p, "full_tensor") for p in params):
        raise ValueError(f"{what}: sharded parameters have the gradients of all processes already")
    text = ";".join(f"{tuple(p.shape)}{p.dtype}{p.requires_grad}" for p in params)
    number = 0
    for byte in text.encode():
        number = (number * 257 + byte) % ((1 << 61) - 1)
    found = gathered([len(params), sum(p.numel() for p in params), number], torch.int64)
    for r, other in enumerate(found):
        if other != found[0]:
            raise ValueError(f"{what}: parameters differ between processes ({found[0][0]} of {found[0][1]} elements on "
                             f"0, {other[0]} of {other[1]} on {r})")


def check(o: Any, params: Sequence[Tensor], what: str) -> None:
    """`agree`, if these are not the parameters with which it was last called for this object."""
    if world() > 1:
        key = (world(), *((id(p), p.shape, p.dtype, p.requires_grad) for p in params))
        if key != vars(o).get("_agreed"):
            agree(params, what)
            o._agreed = key


def loss_of(closure: Callable[[], Any] | None) -> Any:
    """The loss that a closure computes, with gradients enabled; None without one."""
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def trained(params: Iterable[Tensor]) -> list[Tensor]:
    """The parameters that take part: frozen ones do not."""
    return [p for p in params if p.requires_grad]


class Extra:
    """A torch optimizer with state of its own beside that of its parameters: `get_extra` gives it as a dictionary of
    numbers, tensors, lists and dictionaries, and `set_extra` takes it back. It is the entry `extra` of a state_dict."""

    def get_extra(self) -> dict[str, Any]:
        """The state that belongs to no parameter."""
        return {}

    def set_extra(self, extra: dict[str, Any]) -> None:
        """Go on from a state that `get_extra` gave."""

    def state_dict(self) -> dict[str, Any]:
        """torch's state, and the entry `extra`."""
        return {**super().state_dict(), "extra": self.get_extra()}  # type: ignore[misc]

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore what `state_dict` gave."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "extra"})  # type: ignore[misc]
        self.set_extra(state_dict.get("extra", {}))


def generator_state(made: np.random.RandomState) -> Tensor:
    """The state of a generator, whole numbers in a tensor."""
    kept: Any = made.get_state()
    return torch.tensor([*kept[1].tolist(), kept[2]])


def generator_of(state: Tensor) -> np.random.RandomState:
    """The generator of a state that `generator_state` gave."""
    *key, at = state.tolist()
    made = np.random.RandomState()
    made.set_state(("MT19937", np.array(key, np.uint32), at, 0, 0.0))
    return made
