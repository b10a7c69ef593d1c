"""Watches: conditions that are looked at after each step, and the first value that is not finite."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kshell.errors import QError
from kshell.host.parts import local
from kshell.values.base import types as T
from kshell.values.base.build import string
from kshell.values.base.core import List, Table, Value, Vec, is_atom, raw, sym_vec

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from torch.optim import Optimizer

FINITE = "finite"  # the condition that is kshell's own
ACTIONS = ("log", "pause")  # words; anything else is q text that is run
SHARE = 0.003  # of a step's time that looking at gradients may cost
ROWS = 20  # rows of a batch that are named


class Watch:
    """A condition in q and what to do when it holds: once, until it has been false again."""

    def __init__(self, name: str, condition: str, action: str) -> None:
        self.name, self.condition, self.action = name, condition, action
        self.holds = False
        self.fired = 0
        self.step = 0  # the last one at which it fired
        self.problem = ""  # why the condition could not be evaluated


class Finding:
    """What was found about the first value that is not finite."""

    def __init__(self, step: int, what: str, layer: str, rows: list[int]) -> None:
        self.step, self.what, self.layer, self.rows = step, what, layer, rows

    @property
    def text(self) -> str:
        """A line that says it."""
        where = f" in {self.layer}" if self.layer else ""
        rows = f", rows {' '.join(map(str, self.rows[:ROWS]))}" if self.rows else ""
        more = f" and {len(self.rows) - ROWS} more" if len(self.rows) > ROWS else ""
        return f"step {self.step}: {self.what} not finite{where}{rows}{more}"


class Watches:
    """The conditions, by name."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.known: dict[str, Watch] = {}
        self.tell = tell  # a line for the log

    def add(self, name: str, condition: str, action: str) -> None:
        """Watch a condition from now on, in the place of one of the same name."""
        self.known[name] = Watch(name, condition, action)

    def remove(self, name: str) -> None:
        """Watch it no more; an error if there is none."""
        if self.known.pop(name, None) is None:
            raise QError(
                f"unwatch: {name}: no such watch",
                hint=f"there are {', '.join(self.known) or 'none'}",
            )

    @property
    def conditions(self) -> list[Watch]:
        """Those in q."""
        return [watch for watch in self.known.values() if watch.condition != FINITE]

    @property
    def finite(self) -> Watch | None:
        """The one of values that are not finite."""
        return next((w for w in self.known.values() if w.condition == FINITE), None)

    def look(self, step: int, evaluate: Callable[[str], Value]) -> list[Watch]:
        """Evaluate the conditions; those that hold now and did not before."""
        fired = []
        for watch in self.conditions:
            try:
                holds, watch.problem = _is_true(evaluate(watch.condition)), ""
            except QError as e:
                holds = False
                if watch.problem != e.text:
                    self.tell(f"step {step}: watch {watch.name}: '{e.text}")
                watch.problem = e.text
            if holds and not watch.holds:
                watch.fired, watch.step = watch.fired + 1, step
                fired.append(watch)
            watch.holds = holds
        return fired

    def table(self) -> Table:
        """A row for each."""
        watches = list(self.known.values())
        columns: dict[str, Vec | List | Table] = {
            "name": sym_vec([w.name for w in watches]),
            "condition": List([string(w.condition) for w in watches]),
            "action": List([string(w.action) for w in watches]),
            "fired": Vec(T.J, np.array([w.fired for w in watches], np.int64)),
            "step": Vec(
                T.J, np.array([w.step if w.fired else T.NULL[T.J] for w in watches], np.int64)
            ),
            "problem": List([string(w.problem) for w in watches]),
        }
        return Table(list(columns), list(columns.values()))


def _is_true(x: Value) -> bool:
    """The truth of a condition's value: an atom, as in `if`."""
    if not is_atom(x):
        raise QError("type", hint="a condition is an atom, such as any 0<..")
    return bool(raw(x))


class Finite:
    """Looks for the first value that is not finite, before an optimizer uses it: at the loss in every step, at the
    gradients as often as that takes a small share of the time. Inputs of the outermost module are kept by reference,
    so that its call can be repeated, layer by layer."""

    def __init__(self, module: Module, optimizer: Optimizer) -> None:
        self.module, self.optimizer = module, optimizer
        self._called_with: _Call | None = None
        self._hook = module.register_forward_pre_hook(self._called, with_kwargs=True)
        self._repeating = False
        self._skip = 0  # steps until gradients are looked at again
        self._last = 0.0

    def remove(self) -> None:
        """Look no more."""
        self._hook.remove()
        self._called_with = None

    def _called(self, module: Module, args: Any, kwargs: Any) -> None:
        if not self._repeating:
            self._called_with = _Call(args, kwargs, _random_states(), _casts())

    def look(self, step: int, losses: list[Tensor]) -> Finding | None:
        """What is not finite before a step; None if all is, as far as it was looked at."""
        import torch

        start = time.perf_counter()
        since, self._last = start - self._last if self._last else 0.0, start
        if any(loss.numel() == 1 and not math.isfinite(loss.item()) for loss in losses):
            return self._explained(step, "the loss is")
        if self._skip:
            self._skip -= 1
            return None
        gradients = [p.grad for group in self.optimizer.param_groups for p in group["params"]]
        present = [local(g) for g in gradients if g is not None and g.layout == torch.strided]
        if present:
            total = torch.stack(torch._foreach_norm(present)).sum()
            if not torch.isfinite(total).item():
                return self._explained(step, "the gradient is")
        cost = time.perf_counter() - start
        self._skip = int(cost / (SHARE * since)) if since else 0
        return None

    def _explained(self, step: int, what: str) -> Finding:
        import torch

        for name, p in self.module.named_parameters():
            if not torch.isfinite(local(p).detach()).all():
                return Finding(step, f"parameter {name} is", name.rpartition(".")[0], [])
        found = self._repeated()
        if found is not None:
            layer, rows = found
            return Finding(step, what, layer, rows)
        for name, p in self.module.named_parameters():
            if p.grad is not None and not torch.isfinite(local(p.grad)).all():
                return Finding(step, what, name.rpartition(".")[0], [])
        return Finding(step, what, "", [])

    def _repeated(self) -> tuple[str, list[int]] | None:
        """Call the module again with what it was called with: the first layer whose output is not finite, and the rows
        of the batch that are not; an input that is not finite is named as the input."""
        import torch

        call = self._called_with
        if call is None:
            return None
        # a compiled module has hooks of its own alone
        module = getattr(self.module, "_orig_mod", self.module)
        for t in _tensors((call.args, call.kwargs)):
            if _rows(t):
                return "the input", _rows(t)
        found: list[tuple[str, list[int]]] = []
        hooks = []
        for name, m in module.named_modules():
            if not any(True for _ in m.children()):
                hooks.append(m.register_forward_hook(_noting(name, found)))
        buffers = [(b, b.detach().clone()) for b in self.module.buffers()]
        now = _random_states()
        self._repeating = True
        try:
            _set_random(call.random)
            with contextlib.ExitStack() as stack:
                stack.enter_context(torch.no_grad())
                for device, dtype in call.casts:
                    stack.enter_context(torch.autocast(device, dtype))
                module(*call.args, **call.kwargs)
        except _Found:
            pass
        finally:
            self._repeating = False
            for hook in hooks:
                hook.remove()
            with torch.no_grad():
                for b, copy in buffers:
                    b.copy_(copy)
            _set_random(now)
        return found[0] if found else None


class _Call(NamedTuple):
    """A call of the outermost module: arguments, random states before it, autocast's devices and types."""

    args: Any
    kwargs: Any
    random: list[tuple[Any, Any]]
    casts: list[tuple[str, Any]]


def _casts() -> list[tuple[str, Any]]:
    import torch

    return [
        (device, torch.get_autocast_dtype(device))
        for device in ("cpu", "cuda")
        if torch.is_autocast_enabled(device)
    ]


class _Found(Exception):
    """The layer was found; the rest of the call is of no interest."""


def _noting(name: str, found: list[tuple[str, list[int]]]) -> Callable[..., None]:
    def hook(module: Module, args: Any, output: Any) -> None:
        for t in _tensors(output):
            rows = _rows(t)
            if rows:
                found.append((name, rows))
                raise _Found

    return hook


def _tensors(x: Any) -> Iterator[Tensor]:
    """The floating-point tensors in a value."""
    from torch import Tensor
    from torch.utils._pytree import tree_leaves

    return (
        leaf for leaf in tree_leaves(x) if isinstance(leaf, Tensor) and leaf.is_floating_point()
    )


def _rows(t: Tensor) -> list[int]:
    """The rows, by the first dimension, with values that are not finite; the row of a number is 0."""
    import torch

    if not t.numel():
        return []
    bad = ~torch.isfinite(t.detach())
    rows: list[int] = bad.reshape(len(t) if t.dim() else 1, -1).any(1).nonzero().flatten().tolist()
    return rows


def _random_states() -> list[tuple[Any, Any]]:
    import torch

    generators = [torch.default_generator]
    if torch.cuda.is_initialized():
        generators += torch.cuda.default_generators
    return [(generator, generator.get_state()) for generator in generators]


def _set_random(states: list[tuple[Any, Any]]) -> None:
    for generator, state in states:
        generator.set_state(state)
