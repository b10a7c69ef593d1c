"""Common code of the distributed optimizers: collectives over flat buckets, and their cost.

Everything uses the default group of torch.distributed, and does nothing if there is none. Calls must be the same on
every process, in the same order.
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

from kshell.optim.abilities import Abilities, Extra
from kshell.optim.groups import settings_of
from kshell.parallel import meet as meeting
from kshell.parallel.collect import plain

R = TypeVar("R")


_ALONE = [0]
_AVAILABLE = dist.is_available()


@contextmanager
def alone() -> Iterator[None]:
    """Inside the block, act as a single process: for objects created only for inspection."""
    _ALONE[0] += 1
    try:
        yield
    finally:
        _ALONE[0] -= 1


def is_alone() -> bool:
    """Is this inside an `alone` block?"""
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
    """The cost of communication in this process: seconds, calls, and bytes passed to collectives."""

    def __init__(self) -> None:
        self.seconds, self.calls, self.bytes = 0.0, 0, 0

    def run(self, fn: Callable[[], R], *sent: Tensor) -> R:
        """Run a communication that sends the tensors `sent`."""
        start = time.perf_counter()
        out = meeting.carried(fn)
        self.seconds += time.perf_counter() - start
        self.calls += 1
        self.bytes += sum(t.numel() * t.element_size() for t in sent)
        return out


METER = Meter()


def all_reduce(t: Tensor) -> Tensor:
    """Sum a tensor over all processes, in place."""
    METER.run(lambda: dist.all_reduce(t), t)
    return t


def all_gather(t: Tensor) -> list[Tensor]:
    """A tensor from each process, all of one size."""
    out = [torch.empty_like(t) for _ in range(world())]
    METER.run(lambda: dist.all_gather(out, t), t)
    return out


def gathered(values: Sequence[float], dtype: torch.dtype = torch.float64) -> list[list[float]]:
    """A few numbers from each process."""
    device = "cuda" if dist.get_backend() == "nccl" else "cpu"
    return [t.tolist() for t in all_gather(torch.tensor(list(values), dtype=dtype, device=device))]


def buckets(tensors: Iterable[Tensor], apart: bool = False) -> list[list[Tensor]]:
    """Tensors grouped by data type and device, in order; with `apart`, each separately."""
    if apart:
        return [[tensor] for tensor in tensors]
    found: dict[Any, list[Tensor]] = {}
    for tensor in tensors:
        found.setdefault((tensor.dtype, tensor.device), []).append(tensor)
    return list(found.values())


def flat(tensors: Sequence[Tensor], extra: Sequence[float] = ()) -> Tensor:
    """The elements of tensors of one type, row by row, in one vector, followed by some numbers."""
    parts = [tensor.detach().reshape(-1) for tensor in tensors]
    if len(extra):
        parts.append(torch.tensor(list(extra), dtype=parts[0].dtype, device=parts[0].device))
    return torch.cat(parts)


def spread(vector: Tensor, tensors: Sequence[Tensor]) -> None:
    """Copy the elements of a vector into tensors, in order; the inverse of `flat`."""
    at = 0
    for tensor in tensors:
        tensor.copy_(vector[at : at + tensor.numel()].view(tensor.shape))
        at += tensor.numel()


_HOW = ("foreach", "fused", "capturable", "differentiable")  # implementation flags


def _told_of(group: dict[str, Any], free: Iterable[str]) -> dict[str, Any]:
    """The options of a group that must be the same on every process."""
    return {
        key: float(value) if isinstance(value, Tensor) and value.numel() == 1 else value
        for key, value in settings_of(group).items()
        if key not in _HOW
        and key not in free
        and isinstance(value, bool | int | float | str | tuple | list | Tensor | None)
    }


def meet(
    o: Any,
    call: str,
    groups: Sequence[dict[str, Any]],
    free: Callable[[dict[str, Any]], Iterable[str]] | None = None,
    own: Sequence[tuple[str, str]] = (),
    more: int = 0,
    dense: bool = True,
) -> list[int]:
    """The start of a collective operation of an optimizer (or its wrapper); returns what each process passed as `more`.
    Refused on all, before anything else is sent, if they are not all in this operation, or if their parameters or
    options differ.

    `groups` are the parameter groups; `free(group)` names the options that may differ between processes; `own` lists
    further (name, value) pairs that must be the same. With `dense`, sparse gradients are rejected."""
    params = [param for group in groups for param in group["params"]]
    if any(hasattr(param, "full_tensor") for param in params):
        raise ValueError(f"{call}: sharded parameters have the gradients of all processes already")
    if dense and any(param.grad is not None and param.grad.is_sparse for param in params):
        meeting.refuse(call, f"{call}: sparse gradients not implemented")
    options = [_told_of(group, free(group) if free is not None else ()) for group in groups]
    key = (
        [(id(param), param.shape, param.dtype, param.requires_grad) for param in params],
        options,
    )
    known = vars(o).get("_told")
    if known is None or known[0] != key:
        known = o._told = key, _lines(groups, options)
    same = known[1]
    if own:
        last = meeting.told(*own)
        same = meeting.Told((*same.parts, *own), same.number ^ last.number)
    return METER.run(lambda: meeting.meet(call, same, more), _HEAD)


class Together(Abilities):
    """A torch optimizer whose steps are collective."""

    meets = True
    param_groups: Any

    def free(self, group: dict[str, Any]) -> Iterable[str]:
        """The options of a group that may differ between processes."""
        return ()

    def meet(self, call: str, **more: Any) -> list[int]:
        """`meet` at the start of a collective operation (a step, or adding parameters)."""
        return meet(
            self, f"{call}: {type(self).__name__.lower()}", self.param_groups, self.free, **more
        )

    def attached(self) -> None:
        """Parameters were added, or options changed, on all processes alike."""
        if world() > 1:
            self.meet("opt", dense=False)


_HEAD = torch.zeros(4, dtype=torch.int64)  # the header sent by a barrier


def _lines(groups: Sequence[dict[str, Any]], options: Sequence[dict[str, Any]]) -> meeting.Told:
    out = [("parameter groups", str(len(groups)))]
    for i, group in enumerate(groups):
        out += [
            (
                "parameters",
                f"parameter {n} of group {i}: {plain(param)}{'' if param.requires_grad else ' frozen'}",
            )
            for n, param in enumerate(group["params"])
        ]
        out.append(("parameters", f"{len(group['params'])} in group {i}"))
    out += [
        ("options", f"{key} {value!r} in group {i}")
        for i, found in enumerate(options)
        for key, value in sorted(found.items())
    ]
    return meeting.told(*out)


def loss_of(closure: Callable[[], Any] | None) -> Any:
    """The loss computed by a closure, with gradients enabled; None without one."""
    if closure is None:
        return None
    with torch.enable_grad():
        return closure()


def trained(params: Iterable[Tensor]) -> list[Tensor]:
    """The participating parameters: all except frozen ones."""
    return [param for param in params if param.requires_grad]


def finite(tensors: Iterable[Tensor | None]) -> list[bool]:
    """Which tensors have only finite elements, read back in one transfer; a missing one counts as finite."""
    flags = [None if tensor is None else tensor.isfinite().all() for tensor in tensors]
    held = [flag for flag in flags if flag is not None]
    read = iter(torch.stack([f.to(held[0].device) for f in held]).tolist() if held else ())
    return [flag is None or next(read) for flag in flags]


class Draws(Extra):
    """A torch optimizer with its own random generator, created on first use from the first group's seed."""

    by_process = True
    param_groups: Any
    _made: np.random.RandomState | None = None

    def seed(self) -> int:
        """The seed of the generator."""
        return self.param_groups[0]["seed"]

    @property
    def draws(self) -> np.random.RandomState:
        """The generator."""
        if self._made is None:
            self._made = np.random.RandomState(self.seed())
        return self._made

    def get_extra(self) -> dict[str, Any]:
        """The generator's state, integers in a tensor; empty before its first use."""
        if self._made is None:
            return {}
        kept: Any = self._made.get_state()
        return {"generator": torch.tensor([*kept[1].tolist(), kept[2]])}

    def set_extra(self, extra: dict[str, Any]) -> None:
        """Continue drawing from a saved state."""
        if "generator" in extra:
            *key, at = extra["generator"].tolist()
            made = np.random.RandomState()
            made.set_state(("MT19937", np.array(key, np.uint32), at, 0, 0.0))
            self._made = made
