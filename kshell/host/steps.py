"""The steps of a program's optimizers: how many there were, and the last of them, with what is cheap to know.

torch's own hooks around `Optimizer.step` tell of each step, whoever calls it. The loss is what `backward` was called
on: the sum of all that was called since the step before, which is the function whose gradient the step uses.
"""

from __future__ import annotations

import functools
import math
import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from itertools import pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell import torch_versions
from kshell.host.objects.parts import local
from kshell.host.plans import Plans
from kshell.values.base import types as T
from kshell.values.base.core import Table, Vec, sym_vec

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

MOST = 10_000  # steps kept
LATELY = 9  # steps that tell how long they take
RECENT = 20  # steps that tell which optimizers are in use
SHARE = 0.0005  # of a step's time that norms may cost
SETTLE = 1_000  # steps of an optimizer after which tensors that were noted become numbers
LONGEST = 1.0  # seconds that the end of another thread's step is waited for
OPTIMIZERS = os.path.join("torch", "optim", "optimizer.py")
EPOCH = 946_684_800  # 2000.01.01 in seconds since 1970


class Counted:
    """An optimizer that steps: how often it did, and at which of its steps more is to be done than to note it."""

    def __init__(
        self, optimizer: Optimizer, number: int, gone: Callable[[Any], None] | None = None
    ) -> None:
        self.ref = weakref.ref(optimizer, gone)
        self.id = id(optimizer)
        self.number = number  # in the order of their first steps
        self.steps = 0
        self.next_norm = 3  # the step whose norm is noted: the first ones take longer
        self.next_settling = SETTLE
        self.until = 0  # the steps before this one are only noted


# one step, noted as fast as it can be: the optimizer, the number of its step, when it ended, its first rate, the
# losses, the norm, bytes of memory; rates, losses and norms may be tensors of one element
Noted = tuple[Counted, int, float, Any, Any, Any, int | None]
RATE, LOSS, NORM = 3, 4, 5  # places


class _Wanted:
    """A flag of Steps. Where it is set, more is to be done than to note the next step. Any thread may set it."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = f"_{name}"

    def __get__(self, steps: Steps, owner: type) -> bool:
        on: bool = getattr(steps, self._name)
        return on

    def __set__(self, steps: Steps, on: bool) -> None:
        setattr(steps, self._name, on)
        if on:
            steps.look_soon()


class Steps:
    """What is known of the steps.

    The hook after a step runs behind kernels that leave nothing of Python's code in the processor's caches, so that
    each object it looks at costs a part of a microsecond. It notes the step and compares two numbers; what else may be
    due lowers one of these, `Counted.until`."""

    due = _Wanted()  # is something to be done after the next step?
    each = _Wanted()  # is `stepped` called after each step?

    def __init__(self) -> None:
        self.rows: deque[Noted] = deque(maxlen=MOST)
        self.counted: dict[int, Counted] = {}  # by the id of the optimizer
        # numbers or tensors of which `backward` was called since the last step
        self.losses: list[Any] = []
        self.plan_anew()
        self.due, self.each = False, True
        self._most = 0  # steps of an optimizer that is counted no more
        self._last = _NOBODY  # the optimizer that stepped last
        # is told of each tensor before `backward`, and of the number in it before a GradScaler scaled it, if it has one
        self.on_loss: Callable[[Tensor, complex | None], None] | None = None
        self._apart = True
        # what a GradScaler made of losses at last, and these
        self._scaled: list[tuple[Any, Any]] = []
        self._plain = False  # is nothing of these two looked at?
        self._stepping: Callable[..., Any] | None = None
        self._looks_before = False  # is there a hook before each step?
        self._inside = False  # does an optimizer step? known only with that hook
        self._offset = time.time() - perf_counter()
        self._asked = False  # are classes of tensors asked how `backward` is called?
        self._undo: list[Callable[[], None]] = []

    # ------------------------------------------------------------ after which steps `stepped` is called

    @property
    def number(self) -> int:
        """The count of the optimizer that has made the most steps."""
        return max([self._most, *(known.steps for known in list(self.counted.values()))])

    def plan_anew(self) -> None:
        """Nothing is planned for steps to come."""
        self.plans = Plans(lambda: self.number, self.look_soon)

    def _is_due(self) -> bool:
        return self.due or self.each or self.number >= self.plans.next_step

    def look_soon(self) -> None:
        """Something else may be due: look after the next step. Any thread may call this."""
        for known in list(self.counted.values()):
            known.until = 0

    def _until(self, known: Counted) -> int:
        """The next step of an optimizer after which more is to be done than to note it."""
        if self._is_due():
            return known.steps + 1
        return min(known.next_norm, known.next_settling, self.plans.next_step)

    # ------------------------------------------------------------ what the hooks look at

    @property
    def apart(self) -> bool:
        """Is what runs now not the program's?"""
        return self._apart

    @apart.setter
    def apart(self, on: bool) -> None:
        self._apart = on
        self._set_plain()

    def _set_plain(self) -> None:
        self._plain = not self._apart and not self._scaled

    @property
    def stepping(self) -> Callable[..., Any] | None:
        """What is called before each step, while that is wanted: stepping(optimizer, args, kwargs), which may say what
        the step is called with instead, as torch's hooks may."""
        return self._stepping

    @stepping.setter
    def stepping(self, called: Callable[..., Any] | None) -> None:
        self._stepping = called
        if called is not None and self._undo:
            self._look_before()

    # ------------------------------------------------------------ torch's hooks

    def watch(self, stepped: Callable[[Any], None]) -> None:
        """From now on, count the steps of all optimizers. After a step stepped(optimizer) is called, if that is due."""
        import torch
        from torch.optim import optimizer as optimizers

        def after(optimizer: Any, args: Any, kwargs: Any) -> None:
            self._inside = False
            known = self._last
            if known.id != id(optimizer):
                known = self._last = self._counted(optimizer)
            rate = optimizer.param_groups[0].get("lr")
            if rate.__class__ is not float and hasattr(rate, "detach"):
                rate = rate.detach().clone()
            # whoever plans something for a step lowers `until` and then reads the count: this is counted first
            known.steps = step = known.steps + 1
            if step < known.until:
                self.rows.append((known, step, perf_counter(), rate, self.losses, None, None))
                self.losses = []
            else:
                self._look(known, rate, optimizer)
                if self._is_due():
                    stepped(optimizer)

        wait_for_steps()
        self.apart = False
        self._undo = [
            optimizers.register_optimizer_step_post_hook(after).remove,
            self._follow_losses(torch.autograd),
            self._follow_scales(torch.amp.GradScaler),
        ]
        if self._stepping is not None:
            self._look_before()

    def _counted(self, optimizer: Any) -> Counted:
        """An optimizer, as it is counted."""
        known = self.counted.get(id(optimizer))
        if known is None or known.ref() is not optimizer:
            self._most = self.number
            known = self.counted[id(optimizer)] = Counted(
                optimizer, len(self.counted), self._forget_last
            )
        return known

    def _forget_last(self, ref: Any) -> None:
        """An optimizer is gone; another one may get its id."""
        self._last = _NOBODY

    def _look_before(self) -> None:
        """From now on there is a hook before each step."""
        if self._looks_before:
            return
        from torch.optim.optimizer import register_optimizer_step_pre_hook

        def before(optimizer: Any, args: Any, kwargs: Any) -> Any:
            self._inside = True
            return None if self._stepping is None else self._stepping(optimizer, args, kwargs)

        wait_for_steps()
        self._looks_before = True
        self._undo.append(register_optimizer_step_pre_hook(before).remove)

    def unwatch(self) -> None:
        """Leave torch as it was."""
        self._looks_before = False
        self.apart = True  # somebody may have taken a function out of its module meanwhile
        while self._undo:
            self._undo.pop()()

    def _follow_losses(self, owner: Any) -> Callable[[], None]:
        """Note what `backward` is called on. In a closure that a step calls again and again, the first one counts."""
        import torch
        from torch.overrides import has_torch_function_unary

        original, tensor_type = owner.backward, torch.Tensor
        self._asked = torch_versions.asks(original)

        # the method of tensors calls this function too; its arguments are spelled out, since packing them costs more
        # than all else here
        @functools.wraps(original)
        def backward(
            tensors: Any,
            grad_tensors: Any = None,
            retain_graph: Any = None,
            create_graph: Any = False,
            grad_variables: Any = None,
            inputs: Any = None,
        ) -> Any:
            # as most programs call it
            if (
                self._plain
                and tensors.__class__ is tensor_type
                and grad_tensors is None
                and tensors.is_cpu
                and not has_torch_function_unary(tensors)
            ):
                try:
                    number = tensors.item()
                except Exception:
                    self._note_losses(tensors, grad_tensors)
                else:
                    losses = self.losses
                    if not losses or not self._is_repeated():
                        losses.append(number)
                    if self.on_loss is not None:
                        self.on_loss(tensors, number)
            else:
                self._note_losses(tensors, grad_tensors)
            return original(
                tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs
            )

        return _put(owner, "backward", original, backward)

    def _follow_scales(self, owner: Any) -> Callable[[], None]:
        """Note of which loss a GradScaler made another."""
        original = owner.scale

        @functools.wraps(original)
        def scale(scaler: Any, outputs: Any) -> Any:
            made = original(scaler, outputs)
            several = made.__class__ in (tuple, list)
            pairs = zip(made, outputs, strict=True) if several else [(made, outputs)]
            self._scaled = [
                (weakref.ref(x), given.detach()) for x, given in pairs if hasattr(x, "backward")
            ]
            self._set_plain()
            return made

        return _put(owner, "scale", original, scale)

    # ------------------------------------------------------------ noting

    def _note_losses(self, tensors: Any, grad_tensors: Any) -> None:
        """Note what `backward` is called on, whatever that is."""
        import torch
        from torch.overrides import has_torch_function

        # a backward pass inside of another one is a part of that, as torch.utils.checkpoint has them, with gradients; a
        # class of tensors with a function of its own, and a mode, call `backward` again where torch asks them
        inside = grad_tensors is not None and torch._C._current_graph_task_id() != -1
        given = tensors if tensors.__class__ in (tuple, list) else (tensors,)
        if self.apart or inside or (self._asked and has_torch_function(given)):
            return
        counts = not (self.losses and self._is_repeated())
        for loss in given:
            if not isinstance(loss, torch.Tensor):
                continue
            value = loss
            if self._scaled:
                value = next((given for made, given in self._scaled if made() is loss), loss)
            # a number of the CPU is there; others are waited for later, if that can be
            number = number_of(value) if value.is_cpu or self.on_loss is not None else None
            if self.on_loss is not None:
                self.on_loss(loss, number)
            if counts:
                if number is not None:
                    self.losses.append(number)
                elif value.numel() == 1:
                    self.losses.append(value.detach())

    def _is_repeated(self) -> bool:
        """After a loss that was noted, is this one of a closure which a step calls again?"""
        if not self._looks_before:
            self._look_before()
            self._inside = _is_in_step(sys._getframe(1))
        return self._inside

    def _look(self, known: Counted, rate: Any, optimizer: Optimizer) -> None:
        """Note a step, with what is due to be measured, and when something is due again."""
        now = perf_counter()
        norm = memory = None
        if known.steps >= known.next_norm:
            norm = norm_of([p.grad for group in optimizer.param_groups for p in group["params"]])
            memory = _memory()
        self.rows.append((known, known.steps, now, rate, self.losses, norm, memory))
        self.losses = []
        if memory is not None:
            # they take a small share of the time
            share = (perf_counter() - now) / (SHARE * (self.usual() or 1.0))
            known.next_norm = known.steps + max(1, math.ceil(share))
        if known.steps >= known.next_settling:
            known.next_settling = known.steps + SETTLE
            self._settle()
        # another thread may find something due meanwhile
        while known.until != (until := self._until(known)):
            known.until = until

    def _settle(self) -> None:
        """Make numbers of the tensors that were noted, each device asked once."""
        rows = [list(row) for row in self.rows]
        waiting: list[tuple[list[Any], int, Any]] = []
        for row in reversed(rows):
            losses = row[LOSS]
            if losses.__class__ is not list:
                break  # this one and those before it are
            tensors = [x for x in losses if hasattr(x, "detach")]
            numbers = [float(x.real) for x in losses if not hasattr(x, "detach")]
            row[LOSS] = sum(numbers, 0.0) if losses else None
            waiting += [(row, LOSS, t) for t in tensors if t.numel() == 1]
            for place in (RATE, NORM):
                if hasattr(row[place], "detach"):
                    waiting.append((row, place, row[place]))
                    row[place] = 0.0
        for (row, place, _), number in zip(
            waiting, _numbers([t for *_, t in waiting]), strict=True
        ):
            row[place] += number
        self.rows = deque((tuple(row) for row in rows), maxlen=MOST)

    # ------------------------------------------------------------ asking

    @property
    def ended(self) -> float:
        """When the last step ended, by the clock `perf_counter`; 0 if there was none."""
        return self.rows[-1][2] if self.rows else 0.0

    def usual(self) -> float:
        """The seconds from one step to the next as they usually were lately; 0 if there were too few."""
        rows = self.rows
        ends = [rows[-i][2] for i in range(1, min(LATELY, len(rows)) + 1)]
        times = sorted(later - earlier for later, earlier in pairwise(ends))
        return times[len(times) // 2] if times else 0.0

    def active(self) -> list[Any]:
        """The optimizers that made the last steps."""
        recent = {self.rows[-i][0] for i in range(1, min(RECENT, len(self.rows)) + 1)}
        return [o for known in recent if (o := known.ref()) is not None]

    def table(self, names: dict[int, str]) -> Table:
        """The steps as a table; `names` are those of the optimizers, by their number."""
        self._settle()
        rows = list(self.rows)
        ended: dict[Counted, float] = {}
        seconds = []
        for known, _, now, *_ in rows:
            seconds.append(now - ended[known] if known in ended else math.nan)
            ended[known] = now
        times = np.array([round((row[2] + self._offset - EPOCH) * 1e9) for row in rows], np.int64)
        memory = [T.NULL[T.J] if row[-1] is None else row[-1] for row in rows]
        columns = {
            "step": Vec(T.J, np.array([row[1] for row in rows], np.int64)),
            "time": Vec(T.P, times),
            "opt": sym_vec([names.get(row[0].number, f"opt{row[0].number}") for row in rows]),
            "seconds": _floats(seconds),
            "lr": _floats([row[RATE] for row in rows]),
            "loss": _floats([row[LOSS] for row in rows]),
            "gradnorm": _floats([row[NORM] for row in rows]),
            "memory": Vec(T.J, np.array(memory, np.int64)),
        }
        return Table(list(columns), list(columns.values()))


class _Nobody:
    """Stands for an optimizer, as Counted's `id`."""


_NOBODY = Counted(_Nobody(), 0)  # type: ignore[arg-type]
_NOBODY.id = 0


def wait_for_steps() -> None:
    """Wait until no other thread is inside an optimizer's step, a second at most: that may be going through the list of
    hooks, which must not change meanwhile."""
    end, own = time.monotonic() + LONGEST, threading.get_ident()
    while time.monotonic() < end:
        # no other thread runs in the milliseconds after it, in which the hooks are put there
        time.sleep(0)
        others = [f for ident, f in sys._current_frames().items() if ident != own]
        if not any(map(_is_in_step, others)):
            return


def _is_in_step(frame: Any) -> bool:
    """Is this a call from an optimizer's step?"""
    while frame is not None and not frame.f_code.co_filename.endswith(OPTIMIZERS):
        frame = frame.f_back
    return frame is not None


def _put(owner: Any, name: str, original: Any, instead: Any) -> Callable[[], None]:
    """Put a method in the place of another; calling the result undoes it."""
    setattr(owner, name, instead)

    def undo() -> None:
        if getattr(owner, name) is instead:
            setattr(owner, name, original)

    return undo


def norm_of(gradients: list[Any]) -> Any:
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


def number_of(t: Tensor) -> complex | None:
    """The number in a tensor; None if it has none or several, as one on meta or of a FakeTensorMode."""
    try:
        return t.item()
    except Exception:
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
