"""Steps of a model: forward, loss, backward, clipping, update."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kshell import nn
from kshell.errors import CallError, QError
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.recent import RECENT
from kshell.kapi.func.autocast import Scaler
from kshell.kapi.loss.given import on_output
from kshell.kapi.module.forward import calculate, flat
from kshell.kapi.tensor.gradients import drop_gradient
from kshell.kapi.train.clip import clip_model
from kshell.kapi.train.model import Model
from kshell.kapi.train.options import Settings
from kshell.values.base.build import floats
from kshell.values.base.core import NIL, Vec
from kshell.values.session.interrupts import HOLD, PENDING, give_up

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


def calculator() -> Callable[[Any, Sequence[Any]], Any]:
    """The forward pass for a run: the first call checks the number of inputs, later ones skip the check."""
    straight: Callable[[Any], Any] | None = None

    def run(module: Module, tensors: Sequence[Any]) -> Any:
        nonlocal straight
        if straight is not None and len(tensors) == 1 and tensors.__class__ is list:
            return straight(tensors[0])
        output = calculate(module, tensors)
        straight = nn.direct.forward_of(module)
        return output

    return run


def carried(inputs: list[Any], out: Any, s: Settings) -> list[Any]:
    """The inputs with the previous batch's hidden state, detached."""
    return (
        inputs
        if out is None or not s["hidden"]
        else [inputs[0], *(t.detach() for t in flat(out)[1:])]
    )


Batch = tuple[list[Any], list[Any]]
Note = Callable[[Sequence[Batch], Sequence[tuple[Any, Any]]], None]


class Trainer:
    """Updates of a model according to its training options: forward, loss and backward for a batch or, with
    `accumulate`, several; clipping; a step."""

    def __init__(self, model: Model, call: str) -> None:
        s = self.s = model.train
        o = self.o = model.optimizer
        self.model, self.parameters, self.call = model, o.parameters(), call
        self.finite = bool(s["stopnan"])
        # batches until the next update, and all of them: 0 if there is only one, None if that is not known
        self.done = 0
        self.total: int | None = 0
        # the number by which `batch` shows batch i of the n of an update, if it does
        self.number: Callable[[int, int], int] | None = None
        self.forward, self.loss = calculator(), on_output(model.loss)
        self.clips = s["clipnorm"] is not NIL or s["clipvalue"] is not NIL
        self.cast = model.cast(False) if s["autocast"].s else None
        self.closure = o.record.closure
        if o.abilities.gathers:
            raise CallError(
                call,
                f"{o.entry.name} optimizer takes losses by layer, not that of a model",
                says=(o.entry.name, "optimizer", "model"),
            )
        scale = s["gradscale"]
        self.scaler = Scaler(o, *scale.a.tolist()) if scale.__class__ is Vec else None
        if self.scaler is not None and self.closure:
            raise CallError(
                call,
                f"{o.entry.name} optimizer cannot step with gradscale",
                says=(o.entry.name, "optimizer"),
            )

    def _calculate(self, inputs: list[Any], targets: list[Any]) -> tuple[Any, Any]:
        """The output for a batch, and its loss."""
        output = self.forward(self.model.module, inputs)
        return output, self.loss(output, targets)

    def _gradients(self, batches: Sequence[Batch], out: Any) -> list[tuple[Any, Any]]:
        """The gradients of the mean loss over batches, the first of which follows one with output `out`. Returns the
        output and the loss of each."""
        for parameter in self.parameters:
            drop_gradient(parameter)
        results: list[tuple[Any, Any]] = []
        for inputs, targets in batches:
            carried_inputs = carried(inputs, out, self.s)
            if self.cast is None:
                out, loss = self._calculate(carried_inputs, targets)
            else:
                with self.cast():
                    out, loss = self._calculate(carried_inputs, targets)
            if self.finite and not torch.isfinite(loss).all():
                number = self.number
                n = None if number is None else number(len(results), len(batches))
                shown = "" if n is None else f"batch(m;{n}) shows it"
                raise QError(self._unusable(loss, len(results)), hint=shown)
            part = loss if len(batches) == 1 else loss / len(batches)
            part.backward() if self.scaler is None else self.scaler.backward(part)
            if self.s["sync"] and loss.device.type != "cpu":
                torch.accelerator.synchronize(loss.device)
            results.append((out, loss.detach()))
        if self.scaler is not None:
            self.scaler.unscale()
        if self.clips:
            clip_model(self.model)
        return results

    def update(
        self, batches: Sequence[Batch], out: Any = None, note: Note | None = None
    ) -> list[tuple[Any, Any]]:
        """One step. Returns the output of each batch and its loss before the step. `note` is called with the batches
        and these, if possible before the step, so that an error in it changes no parameter. Threads of peach that train
        with the same optimizer take turns: torch's gradients have no locks of their own."""
        with self.o.turn:
            return self._update(batches, out, note)

    def _update(
        self, batches: Sequence[Batch], out: Any, note: Note | None
    ) -> list[tuple[Any, Any]]:
        if not self.closure:
            results = self._gradients(batches, out)
            if RECENT.watchers:
                RECENT.note(self.model, [loss for _, loss in results])
            if note is not None:
                note(batches, results)
            with HOLD:  # in a thread, interrupts are raised elsewhere
                self.o.step() if self.scaler is None else self.scaler.step()
            return results
        first: list[tuple[Any, Any]] = []
        last: list[tuple[Any, Any]] = []

        def closure() -> Any:
            nonlocal first, last
            if PENDING:
                give_up()  # undo the step
            last = self._gradients(batches, out)
            first = first or last
            return torch.stack([found for _, found in last]).mean()

        with HOLD:
            self.o.step(closure)
        results = [(end, found) for (end, _), (_, found) in zip(last, first, strict=True)]
        if RECENT.watchers:
            RECENT.note(self.model, [loss for _, loss in results])
        if note is not None:
            note(batches, results)
        return results

    def _unusable(self, loss: Tensor, i: int) -> str:
        """The error for a loss that must not be used for a step, for batch i of this update."""
        of = "" if self.total == 0 else f" in batch {self.done + i + 1}"
        of += f" of {self.total}" if self.total else ""
        return f"{self.call}: the loss is {loss.detach().sum().item():g}{of}; stopnan is set, so no step was made by it"

    def end(self) -> None:
        """Keep the scale for the next run."""
        if self.scaler is not None:
            self.s["gradscale"] = floats(list(self.scaler.state()))
