"""The steps of a program's optimizers: how many there were, and the last of them, with what is cheap to know.

torch's own hooks around `Optimizer.step` tell of each step, whoever calls it. The loss is what `backward` was called
on: the sum of all that was called since the step before, which is the function whose gradient the step uses.
"""

from __future__ import annotations

import functools
import math
import time
import weakref
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kshell.host.parts import local
from kshell.values.base import types as T
from kshell.values.base.core import Table, Vec, sym_vec

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

MOST = 10_000  # steps kept
SHARE = 0.002  # of a step's time that norms may cost
SETTLE = 1_000  # steps after which tensors that were noted become numbers
EPOCH = 946_684_800  # 2000.01.01 in seconds since 1970


class Row(NamedTuple):
    """One step: of which optimizer, when it ended (seconds since 1970), how long after the one before, and numbers,
    which may be tensors of one element until somebody asks."""

    step: int
    optimizer: int
    at: float
    seconds: float
    rate: Any
    loss: Any
    norm: Any
    memory: int | None


class Counted:
    """An optimizer that steps: how often it did, and how its norms are paced."""

    def __init__(self, optimizer: Optimizer, number: int) -> None:
        self.ref = weakref.ref(optimizer)
        self.number = number  # in the order of their first steps
        self.steps = 0
        self.ended = 0.0  # when its last step ended
        self.next_norm = 3  # the step whose gradients' norm is noted: the first ones take longer
        self.cost = 0.0  # seconds that a norm took


class Steps:
    """What is known of the steps; `number` is the count of the optimizer that has made the most."""

    def __init__(self) -> None:
        self.number = 0
        self.rows: deque[Row] = deque(maxlen=MOST)
        self.counted: dict[int, Counted] = {}  # by the id of the optimizer
        self.losses: list[Tensor] = []  # of which `backward` was called since the last step
        self._scaled: tuple[Any, Any] = (
            None,
            None,
        )  # what a GradScaler made of a loss, and the loss
        self._inside = False  # does an optimizer step?
        self._unsettled = 0
        self._undo: list[Callable[[], None]] = []

    # ------------------------------------------------------------ torch's hooks

    def watch(self, stepping: Callable[[Any], None], stepped: Callable[[], None]) -> None:
        """From now on, count the steps of all optimizers; call stepping(optimizer) before each, and `stepped` after."""
        import torch
        from torch.optim import optimizer as optimizers

        def after(optimizer: Any, args: Any, kwargs: Any) -> None:
            self._inside = False
            self._note(optimizer)
            stepped()

        def before(optimizer: Any, args: Any, kwargs: Any) -> None:
            self._inside = True
            stepping(optimizer)

        self._undo = [
            optimizers.register_optimizer_step_pre_hook(before).remove,
            optimizers.register_optimizer_step_post_hook(after).remove,
            _wrap(torch.Tensor, "backward", self._backward),
            _wrap(torch.amp.GradScaler, "scale", self._scale),
        ]

    def unwatch(self) -> None:
        """Leave torch as it was."""
        while self._undo:
            self._undo.pop()()

    def _backward(
        self, original: Callable[..., Any], loss: Tensor, *args: Any, **kwargs: Any
    ) -> Any:
        """`backward` of a tensor: note it, if it is a number. In a closure that a step calls again and again, the first
        one counts."""
        scaled = self._scaled[0]
        given = self._scaled[1] if scaled is not None and scaled() is loss else loss
        if given.numel() == 1 and not (self._inside and self.losses):
            self.losses.append(given.detach())
        self._scaled = None, None
        return original(loss, *args, **kwargs)

    def _scale(self, original: Callable[..., Any], scaler: Any, outputs: Any) -> Any:
        made = original(scaler, outputs)
        self._scaled = (weakref.ref(made), outputs) if hasattr(made, "backward") else (None, None)
        return made

    # ------------------------------------------------------------ noting

    def _note(self, optimizer: Optimizer) -> None:
        known = self.counted.get(id(optimizer))
        if known is None or known.ref() is not optimizer:
            known = self.counted[id(optimizer)] = Counted(optimizer, len(self.counted))
        now = time.perf_counter()
        seconds = now - known.ended if known.ended else math.nan
        known.steps += 1
        self.number = max(self.number, known.steps)
        rate: Any = optimizer.param_groups[0].get("lr")
        if rate.__class__ is not float and hasattr(rate, "detach"):
            rate = rate.detach().clone()
        losses, self.losses = self.losses, []
        loss: Any = losses[0] if len(losses) == 1 else sum(losses) if losses else None
        norm = memory = None
        if known.steps >= known.next_norm:
            norm, memory = self._measured(optimizer, known, seconds), _memory()
        self.rows.append(
            Row(known.steps, known.number, time.time(), seconds, rate, loss, norm, memory)
        )
        self._unsettled += 1
        if self._unsettled >= SETTLE:
            self._settle()
        known.ended = time.perf_counter() if norm is None else now

    def _measured(self, optimizer: Optimizer, known: Counted, seconds: float) -> Any:
        """The norm of the gradients that a step used, and when the next one is due: norms take a small share of the
        time."""
        start = time.perf_counter()
        norm = _norm([p.grad for group in optimizer.param_groups for p in group["params"]])
        known.cost = time.perf_counter() - start
        known.next_norm = known.steps + max(1, math.ceil(known.cost / (SHARE * seconds)))
        return norm

    def _settle(self) -> None:
        """Make numbers of the tensors that were noted, each device asked once."""
        rows = list(self.rows)
        waiting = [
            (i, field)
            for i in range(max(0, len(rows) - self._unsettled), len(rows))
            for field in ("rate", "loss", "norm")
            if hasattr(getattr(rows[i], field), "detach")
        ]
        numbers = _numbers([getattr(rows[i], field) for i, field in waiting])
        for (i, field), number in zip(waiting, numbers, strict=True):
            rows[i] = rows[i]._replace(**{field: number})  # type: ignore[arg-type]
        self.rows = deque(rows, maxlen=MOST)
        self._unsettled = 0

    # ------------------------------------------------------------ asking

    def table(self, names: dict[int, str]) -> Table:
        """The steps as a table; `names` are those of the optimizers, by their number."""
        self._settle()
        rows = list(self.rows)
        times = np.array([round((row.at - EPOCH) * 1e9) for row in rows], np.int64)
        memory = [T.NULL[T.J] if row.memory is None else row.memory for row in rows]
        columns = {
            "step": Vec(T.J, np.array([row.step for row in rows], np.int64)),
            "time": Vec(T.P, times),
            "opt": sym_vec([names.get(row.optimizer, f"opt{row.optimizer}") for row in rows]),
            "seconds": _floats([row.seconds for row in rows]),
            "lr": _floats([row.rate for row in rows]),
            "loss": _floats([row.loss for row in rows]),
            "gradnorm": _floats([row.norm for row in rows]),
            "memory": Vec(T.J, np.array(memory, np.int64)),
        }
        return Table(list(columns), list(columns.values()))


def _wrap(owner: Any, name: str, instead: Callable[..., Any]) -> Callable[[], None]:
    """Put instead(original, ..) in the place of a method; calling the result undoes it."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return instead(original, self, *args, **kwargs)

    setattr(owner, name, method)

    def undo() -> None:
        if getattr(owner, name) is method:
            setattr(owner, name, original)

    return undo


def _norm(gradients: list[Any]) -> Any:
    """The norm of all gradients together, a tensor of one element; None if there are none, or they are of kinds or
    devices that have none in common."""
    import torch

    present = [local(g) for g in gradients if g is not None and g.layout == torch.strided]
    if not present:
        return None
    try:
        with torch.no_grad():
            return torch.stack(torch._foreach_norm(present)).norm()
    except (RuntimeError, NotImplementedError):
        return None


def _numbers(tensors: list[Any]) -> list[float]:
    """Tensors of one element as floats."""
    import torch

    found = [math.nan] * len(tensors)
    by_device: dict[Any, list[int]] = {}
    for i, t in enumerate(tensors):
        by_device.setdefault(t.device, []).append(i)
    for places in by_device.values():
        values = torch.stack([tensors[i].detach().double().reshape(()) for i in places]).tolist()
        for i, value in zip(places, values, strict=True):
            found[i] = value
    return found


def _floats(values: list[Any]) -> Vec:
    return Vec(T.F, np.array([math.nan if x is None else float(x) for x in values], np.float64))


def _memory() -> int:
    """Bytes in use: of the GPUs if any is in use, else of the process."""
    import torch

    if torch.cuda.is_initialized():
        return sum(torch.cuda.memory_allocated(i) for i in range(torch.cuda.device_count()))
    return resident()


def resident() -> int:
    """The bytes of memory that the process has."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * 4096
    except (OSError, IndexError, ValueError):
        return 0
