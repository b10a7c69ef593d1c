"""The first value of a run that is not finite: the step, the layer, and the rows of the batch.

The loss is looked at in each backward pass, before it begins; the gradients, as often as that takes a small share of
the time, before the optimizer uses them. If one is not finite, the calls of the program's modules are repeated, layer
by layer, from the state that they began with; where that finds nothing, the graph of the loss is looked at.
"""

from __future__ import annotations

import cmath
import time
import weakref
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any

from kshell.errors import first_line, message_of
from kshell.host.objects import graph
from kshell.host.objects.calls import Bad, Calls
from kshell.host.objects.kept import states_of
from kshell.host.objects.parts import layers, local
from kshell.host.steps import norm_of, number_of

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module
    from torch.optim import Optimizer

    from kshell.host.steps import Steps

SHARE = 0.002  # of the time that looking at gradients may cost
ROWS = 20  # rows of a batch that are named


class Finding:
    """What was found about the first value that is not finite."""

    def __init__(self, step: int, what: str, layer: str, rows: list[int], near: bool) -> None:
        self.step, self.what, self.layer, self.rows = step, what, layer, rows
        self.is_near = near  # did it arise in the layer or after it?
        self.optimizer: Any = None  # the one whose step it is

    @property
    def text(self) -> str:
        """A line that says it."""
        place = "in or after" if self.is_near else "in"
        where = f" {place} {self.layer}" if self.layer else ""
        rows = f", rows {' '.join(map(str, self.rows[:ROWS]))}" if self.rows else ""
        more = f" and {len(self.rows) - ROWS} more" if len(self.rows) > ROWS else ""
        return f"step {self.step}: {self.what} not finite{where}{rows}{more}"


class Finite:
    """Looks for it in the steps of a program, in the thread that trains."""

    def __init__(
        self,
        steps: Steps,
        thread: int,
        module_of: Callable[[Any], Module | None],
        report: Callable[[Finding], None],
    ) -> None:
        self.steps, self.thread, self.module_of, self.report = steps, thread, module_of, report
        self.calls = Calls(thread)
        self.pending: Finding | None = None  # found, and nothing was done about it yet
        self.holds = False  # was a value not finite in the last step?
        self._is_bad = False  # in this step
        self._last: Any = None  # the optimizer of the last finding
        self._next = 0.0  # when gradients are looked at again
        # of optimizers, as found after a step: inside of one, `fully_shard` has other parameters
        self._modules: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
        # the id of the one that was looked for last: an id costs less to compare than a weak reference
        self._known = 0
        self._known_ref: Any = None

    def begin(self) -> None:
        """Look from now on."""
        self.steps.on_loss = self.look_at_loss
        self.calls.begin()

    def end(self) -> None:
        """Look no more."""
        self.steps.on_loss = None
        self.calls.end()

    # ------------------------------------------------------------ looking

    def look_at_loss(self, loss: Tensor, number: complex | None) -> None:
        """`backward` is about to be called on a loss. The number in it is another one if a GradScaler made it."""
        if get_ident() != self.thread:
            return
        self.calls.looked_at()
        if number is not None and not cmath.isfinite(number):
            self._found(lambda: self._explained(loss))

    def look_at_gradients(self, optimizer: Optimizer) -> None:
        """An optimizer is about to use its gradients."""
        start = time.perf_counter()
        if self._is_bad or start < self._next:
            return
        gradients = [p.grad for group in optimizer.param_groups for p in group["params"]]
        norm = norm_of(gradients)
        number = None if norm is None else number_of(norm)
        if number is None:
            return
        is_finite = cmath.isfinite(number)
        end = time.perf_counter()
        self._next = end + (end - start) / SHARE
        # the norm of finite numbers of a small type may be infinite
        if not is_finite and not all(_is_finite(g) for g in gradients if g is not None):
            self._found(lambda: self._of_gradient(optimizer))

    def is_plain(self, optimizer: Any) -> bool:
        """Is this a step, about to be made, after which `step_ended` has nothing to do?"""
        if self._is_bad or self.holds or self._known != id(optimizer):
            return False
        return self.calls.step_is_plain()

    def step_ended(self, optimizer: Any) -> None:
        """An optimizer has stepped."""
        if self._is_bad:
            self.holds = True
        elif self._last in (None, optimizer):
            self.holds = False
        self._is_bad = False
        self.calls.step_ended()
        if optimizer not in self._modules:
            module = self.module_of(optimizer)
            self._modules[optimizer] = None if module is None else weakref.ref(module)
        self._known, self._known_ref = id(optimizer), weakref.ref(optimizer, self._forget)

    def _forget(self, ref: Any) -> None:
        """An optimizer is gone; another one may get its id."""
        self._known = 0

    def _found(self, explained: Callable[[], Finding]) -> None:
        """A value is not finite: find out more if it is the first one."""
        self._is_bad = True
        if self.holds or self.pending is not None:
            return
        try:
            found = explained()
        except Exception as e:  # of the program's modules, when they are called again
            problem = f"{type(e).__name__}: {first_line(message_of(e))}"
            what = f"the loss is (where is not known: {problem})"
            found = Finding(self.steps.number + 1, what, "", [], False)
        self.pending, self._last = found, found.optimizer
        self.report(found)

    # ------------------------------------------------------------ explaining

    def _explained(self, loss: Tensor) -> Finding:
        optimizer = self._owner(loss)
        step = self._step_of(optimizer)
        module = self._module(optimizer) if optimizer is not None else None
        finding = self._of_parameters(step, module, optimizer) or self._of_calls(step, module, loss)
        finding.optimizer = optimizer
        return finding

    def _step_of(self, optimizer: Any) -> int:
        """The number of the step that an optimizer is to make."""
        counted = self.steps.counted.get(id(optimizer))
        return (counted.steps if counted is not None else self.steps.number) + 1

    def _module(self, optimizer: Any) -> Any:
        """The module that has the parameters of an optimizer, if any has."""
        known = self._modules.get(optimizer)
        return self.module_of(optimizer) if known is None else known()

    def _owner(self, loss: Tensor) -> Any:
        """The optimizer of the first parameter of a loss that one has."""
        known = [o for counted in self.steps.counted.values() if (o := counted.ref()) is not None]
        owners = {id(p): o for o in known for group in o.param_groups for p in group["params"]}
        found = (owners.get(id(p)) for p in graph.parameters(loss))
        return next((o for o in found if o is not None), known[0] if len(known) == 1 else None)

    def _of_parameters(self, step: int, module: Module | None, optimizer: Any) -> Finding | None:
        """Is a parameter not finite? If its state in the optimizer is not either, the step before did that."""
        for name, p in module.named_parameters() if module is not None else ():
            if _is_finite(p):
                continue
            layer, states = name.rpartition(".")[0], states_of(optimizer).get(p, {}).values()
            if all(_is_finite(x) for x in states if hasattr(x, "is_floating_point")):
                return Finding(step, f"parameter {name} is", layer, [], False)
            return Finding(step - 1, f"the gradient of {name} was", layer, [], False)
        return None

    def _of_calls(self, step: int, module: Module | None, loss: Tensor) -> Finding:
        inner = list(module.named_modules()) if module is not None else []
        repeated = self.calls.repeat({id(m): name for name, m in inner})
        if repeated is not None:
            return Finding(step, "the loss is", repeated.layer, repeated.rows, False)
        known = layers(module) if module is not None else {}
        saved = graph.first_bad(loss, known, self.calls.batch()) or Bad("", [])
        rows = saved.rows or self.calls.made_rows()
        return Finding(step, "the loss is", saved.layer, rows, bool(saved.layer))

    def _of_gradient(self, optimizer: Optimizer) -> Finding:
        """A value that is not finite goes from a layer to all those before it: the last one tells."""
        step = self._step_of(optimizer)
        module = self._module(optimizer)
        parameters = list(module.named_parameters()) if module is not None else []
        bad = [name for name, p in parameters if p.grad is not None and not _is_finite(p.grad)]
        layer = bad[-1].rpartition(".")[0] if bad else ""
        finding = Finding(step, "the gradient is", layer, [], False)
        finding.optimizer = optimizer
        return finding


def _is_finite(t: Any) -> bool:
    """Are all numbers finite? Those of sparse tensors are not looked at."""
    import torch

    here = local(t).detach()
    return here.layout != torch.strided or bool(torch.isfinite(here).all())
