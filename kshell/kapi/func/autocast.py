"""Mixed precision: torch's autocast, and gradient scaling for 16-bit types.

Micikevicius et al. 2017, "Mixed precision training" (arXiv 1710.03740).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import name_of
from kshell.kapi.base.convert import dtype_named, dtype_symbol, kname
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.optim.optimizer import Opt
from kshell.values.base.core import Value

CASTS = ("bfloat16", "half")


def cast_name(call: str, x: Value) -> str:
    """The name of an autocast data type."""
    name = name_of(x)
    if name is None:
        raise CallError(call, expected="symbol for data type", given=kname(x))
    cast = dtype_symbol(name)
    if cast not in CASTS:
        raise QError(
            f"{call}: unrecognized data type `{name}, expecting one of "
            + "".join("`" + cast for cast in CASTS)
        )
    return cast


def casting(name: str, tensors: Any) -> Callable[[], AbstractContextManager[Any]] | None:
    """A factory for autocast contexts with a data type, on the device of the first tensor; None for an empty name."""
    if not name:
        return None
    first = next(iter(tensors), None)
    device, dtype = "cpu" if first is None else first.device.type, dtype_named(name)
    return lambda: torch.autocast(device, dtype=dtype)


class _Step:
    """An optimizer for torch's gradient scaler: its step is the k-api's."""

    def __init__(self, o: Opt) -> None:
        self.o = o

    @property
    def param_groups(self) -> Any:
        return self.o.groups

    def step(self) -> Any:
        return self.o.step()


class Scaler:
    """Scales losses, so that small gradients do not underflow in half precision, and unscales gradients before a step.

    A step with non-finite gradients is skipped and the scale halved; after `GROWTH` steps without one it is doubled.
    `state` is the scale and the number of steps since it changed.
    """

    GROWTH = 2000

    def __init__(self, o: Opt, scale: float, since: float) -> None:
        first = next(iter(o.parameters()), None)
        self.step_of = _Step(o)
        self.scaler = torch.amp.GradScaler(
            "cpu" if first is None else first.device.type,
            init_scale=scale,
            growth_interval=self.GROWTH,
        )
        self.scaler.load_state_dict(self.scaler.state_dict() | {"_growth_tracker": int(since)})

    def backward(self, loss: Any) -> None:
        """Backward pass from the scaled loss."""
        self.scaler.scale(loss).backward()

    def unscale(self) -> None:
        """Unscale the gradients, before clipping."""
        self.scaler.unscale_(self.step_of)

    def step(self) -> None:
        """Step the optimizer, unless a gradient is not finite; then update the scale."""
        self.scaler.step(self.step_of)
        self.scaler.update()

    def state(self) -> tuple[float, float]:
        """The scale, and the number of steps since it changed."""
        state_of_scaler = self.scaler.state_dict()
        return float(state_of_scaler["scale"]), float(state_of_scaler["_growth_tracker"])
