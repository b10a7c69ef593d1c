"""Running models: `run` and `testrun` over the data with metrics, `backstep` for one step.

A run is one Python loop: forward, loss, backward and update for each batch. No q code is evaluated inside (except
callbacks), and nothing is read back from the device before the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from kshell import nn, parallel
from kshell.errors import CallError, QError
from kshell.kapi.base.args import items
from kshell.kapi.base.call import api, known_to_all
from kshell.kapi.base.convert import kname, to_q
from kshell.kapi.base.handles import ModelHandle, dict_handle, handle, tensor_handle, vector_handle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.live_optimizers import stepped
from kshell.kapi.base.recent import RECENT
from kshell.kapi.func.autocast import Scaler
from kshell.kapi.loss import losses
from kshell.kapi.module.api import beside, brought
from kshell.kapi.module.forward import (
    calculate,
    flat,
    in_mode,
    inputs_of,
    inputs_with_names,
    with_gradients,
)
from kshell.kapi.module.named_inputs import Inputs, by_name
from kshell.kapi.tensor.batch_view import count
from kshell.kapi.tensor.gradients import drop_gradient
from kshell.kapi.train import logs
from kshell.kapi.train.batches import begin, define
from kshell.kapi.train.clip import clip_model
from kshell.kapi.train.data import both
from kshell.kapi.train.model import Data, Model, parts_of
from kshell.kapi.train.options import Settings
from kshell.parallel import group
from kshell.values.base.build import collapse, floats, symdict
from kshell.values.base.core import NIL, List, Value, Vec, sym_names
from kshell.values.session.context import running
from kshell.values.session.interrupts import HOLD, PENDING, give_up, stop_here
from kshell.values.session.progress import Task, clock, line

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


def hidden_of(out: Sequence[Any], metric: str) -> Any:
    """The hidden state, or with `hiddencell` the cell state, in a recurrent module's output."""
    tensors = flat(out)
    at = 2 if metric == "hiddencell" else 1
    if len(tensors) <= at:
        raise QError(f"metric: unable to retrieve {metric} from output of {len(tensors)} tensor(s)")
    return tensors[at]


_LOGGED = ("batchloss", "loss", "accuracy", "matches")


def _joined(kept: Sequence[Any]) -> Any:
    """The results of all batches, as one tensor."""
    return torch.cat(kept) if kept[0].dim() else torch.stack(kept)


class _Record:
    """The outputs and losses of each batch needed for the metrics; nothing is read from the device before `result`."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.kept: dict[str, list[Any]] = {}
        self.loss: list[Any] | None = None
        for name in names:
            kind = {"batchloss": "loss", "accuracy": "matches"}.get(name, name)
            self.kept.setdefault(kind, [])
        self.loss = self.kept.get("loss")
        self.rest = [k for k in self.kept if k != "loss"]
        self.seen = 0
        self._good, self._counted = 0, 0  # matches read back so far, and for how many batches

    def add(self, out: Any, targets: Sequence[Any], loss: Any) -> None:
        if self.loss is not None:
            self.loss.append(loss.detach())
        if self.rest:
            self._add(out, targets)

    def note(
        self, batches: Sequence[tuple[list[Any], list[Any]]], made: Sequence[tuple[Any, Any]]
    ) -> None:
        """Record what the metrics need from some batches, their outputs and losses."""
        for (_, targets), (out, loss) in zip(batches, made, strict=True):
            self.add(out, targets, loss)

    def _add(self, out: Any, targets: Sequence[Any]) -> None:
        first = flat(out)[0].detach()
        guess = None
        for name in self.rest:
            kept = self.kept[name]
            if name == "output":
                kept.append(first.clone())
            elif name in ("hidden", "hiddencell"):
                kept.append(hidden_of(out, name).detach())
            else:
                guess = first.argmax(-1) if guess is None else guess
                if name == "predict":
                    kept.append(guess)
                elif len(targets) != 1:
                    raise QError(f"unable to calculate matches from {len(targets)} target(s)")
                # otherwise each target would be compared with every prediction
                elif targets[0].shape != guess.shape:
                    raise QError(
                        f"unable to calculate matches: size of targets is {list(targets[0].shape)}, that of "
                        f"predictions {list(guess.shape)}"
                    )
                else:
                    kept.append(targets[0].eq(guess).sum())
                    self.seen += targets[0].numel()

    def so_far(self, last: Tensor) -> dict[str, float]:
        """The metrics for a progress line: the loss of the last batch, and the accuracy, if requested."""
        metrics = {"loss": float(last)}
        new = self.kept.get("matches", [])[self._counted :]
        if new:
            self._good += int(torch.stack(new).sum())
            self._counted += len(new)
        if self._counted:
            metrics["accuracy"] = 100 * self._good / self.seen
        return metrics

    def log(self, call: str) -> None:
        """Log the numeric metrics, if the session has a log; for matches, their number."""
        if running().log is None:
            return
        metrics = {name: self._one(name) for name in self.names if name in _LOGGED}
        logs.note(
            call,
            {
                key: value[0].item() if key == "matches" else value.tolist()
                for key, value in metrics.items()
                if value is not None
            },
        )

    def _one(self, name: str) -> Any:
        """A metric over all batches; None if there are none."""
        kept = self.kept[{"batchloss": "loss", "accuracy": "matches"}.get(name, name)]
        if not kept:
            return None
        if name == "loss":
            return _joined(kept).sum().double() / len(kept)
        if name in ("accuracy", "matches"):
            good = torch.stack(kept).sum()
            return (
                100 * good.double() / self.seen
                if name == "accuracy"
                else torch.stack((good, torch.tensor(self.seen, device=good.device)))
            )
        return _joined(kept)

    def result(self, s: Settings) -> Value:
        """The metrics: a single one by itself, several as a list, or a dictionary; q values, or tensors if set."""
        metrics = {name: self._one(name) for name in self.names}
        if s["tensor"]:
            if s["dictionary"]:
                return dict_handle(metrics)
            tensors = list(metrics.values())
            return tensor_handle(tensors[0]) if len(tensors) == 1 else vector_handle(tensors)
        values = [to_q(value) for value in metrics.values()]
        if s["dictionary"]:
            return symdict(list(metrics), values)
        return values[0] if len(values) == 1 else collapse(values) if values else List([])


def batches_of(
    call: str, data: Data, s: Settings, m: Module
) -> Iterator[tuple[list[Any], list[Any]]]:
    """The inputs and targets of each batch for this task, as views; if the module is on another device than the data,
    copies on its device, one batch at a time."""
    if data.n < 1:  # no data: metrics without values
        return
    w = min(s["batchsize"] or data.n, data.n)
    xs, ys = parts_of(data.x), parts_of(data.y)
    n = count(data.n, w, s["droplast"])
    if not n:
        return
    for t in (*xs, *ys):
        if not t.dim():
            raise CallError(call, "tensor has no dimensions", says=("tensor",))
    cut_x, cut_y = [t.split(w) for t in xs], [t.split(w) for t in ys]
    away = beside((*xs, *ys), m) is not None
    names = list(data.x) if isinstance(data.x, dict) and by_name(m, data.x) else []
    for i in range(s["task"], n, s["tasks"]):
        inputs, targets = [t[i] for t in cut_x], [t[i] for t in cut_y]
        if away:
            inputs, targets = brought(inputs, m), brought(targets, m)
        yield Inputs((), dict(zip(names, inputs, strict=True))) if names else inputs, targets


def _agreed(call: str, model: Model, data: Data, s: Settings, grad: bool) -> None:
    """If all processes compute with the module together: do they have the same number of batches?"""
    if not group.joined():
        return
    if parallel.around.together(model.module, grad):
        updates = [("batches of an update", str(model.train["accumulate"]))] if grad else []
        parallel.meet.meet(
            call, parallel.meet.told(("numbers of batches", str(_batches(data, s))), *updates)
        )


def _batches(data: Data, s: Settings) -> int:
    """The number of batches for this task."""
    n = count(data.n, min(s["batchsize"] or data.n, data.n), s["droplast"]) if data.n > 0 else 0
    return len(range(s["task"], n, s["tasks"]))


def _task(call: str, data: Data, s: Settings) -> Task:
    """The batches for this task, with a progress line."""
    return Task(call, _batches(data, s), "batches")


def _calculator() -> Callable[[Any, Sequence[Any]], Any]:
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


class _Trainer:
    """Updates of a model according to its training options: forward, loss and backward for a batch or, with
    `accumulate`, several; clipping; a step."""

    def __init__(self, model: Model, call: str) -> None:
        s = self.s = model.train
        o = self.o = model.optimizer
        self.model, self.parameters, self.call = model, o.parameters(), call
        self.finite = bool(s["stopnan"])
        # batches until the next update, and all of them, 0 if there is only one
        self.done = self.total = 0
        self.forward = _calculator()
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
        first = flat(output)[0] if output.__class__ is not torch.Tensor else output
        return output, losses.calculate(self.model.loss, [first, *targets])

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
                raise QError(self._unusable(loss, len(results)))
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
        of = f" in batch {self.done + i + 1} of {self.total}" if self.total else ""
        return f"{self.call}: the loss is {loss.detach().sum().item():g}{of}; stopnan is set, so no step was made by it"

    def end(self) -> None:
        """Keep the scale for the next run."""
        if self.scaler is not None:
            self.s["gradscale"] = floats(list(self.scaler.state()))


def _train(model: Model) -> Value:
    """One pass over the training data."""
    s = model.train
    begin(model, False)
    record = _Record(sym_names(s["metrics"]))
    trainer = _Trainer(model, "run")
    _agreed("run", model, model.data, s, True)

    def loop() -> None:
        output: Any = None
        batches = batches_of("run", model.data, s, model.module)
        work, done = _task("run", model.data, s), 0
        trainer.total = work.total
        while several := list(islice(batches, s["accumulate"])):
            output, loss = trainer.update(several, output, record.note)[-1]
            done = trainer.done = done + len(several)
            if clock() >= work.line.due:
                work.tell(done, partial(record.so_far, loss))
            stepped()
            if PENDING and done < work.total:
                stop_here(work.stopped(done))

    try:
        with_gradients(True, lambda: in_mode(model.module, True, loop))
    finally:
        trainer.end()
    record.log("run")
    return record.result(s)


def _test(model: Model) -> Value:
    """One pass over the test data, in evaluation mode without gradients."""
    s = model.test
    begin(model, True)
    record = _Record(sym_names(s["metrics"]))
    forward, cast = _calculator(), model.cast(True)
    _agreed("testrun", model, model.testdata, s, False)
    port = running().ipc

    def loop() -> None:
        output: Any = None
        work = _task("testrun", model.testdata, s)
        for done, (inputs, targets) in enumerate(
            batches_of("testrun", model.testdata, s, model.module)
        ):
            with cast():
                output = forward(model.module, carried(inputs, output, s))
                loss = (
                    None
                    if record.loss is None
                    else losses.calculate(model.loss, [flat(output)[0], *targets])
                )
            record.add(output, targets, loss)
            if clock() >= work.line.due:
                work.tell(done + 1, None if loss is None else partial(record.so_far, loss))
            if port is not None:
                port.between()
            if PENDING and done + 1 < work.total:
                stop_here(work.stopped(done + 1))

    with_gradients(False, lambda: in_mode(model.module, False, loop))
    record.log("testrun")
    return record.result(s)


def _run(x: Value, test: bool, call: str) -> Value:
    args = items(x)
    h = handle(args[0]) if args else None
    if not isinstance(h, ModelHandle):
        raise QError(
            f"{call}: model expected as 1st argument, given {kname(args[0] if args else x)}"
        )
    model: Model = h.obj
    try:
        return _ran(model, args, test, call)
    except Exception as exc:
        raise known_to_all(call, exc, model.module, not test, x) from None


def _ran(model: Model, given: Sequence[Value], test: bool, call: str) -> Value:
    if len(given) == 1:
        if model.data_of(test).n < 0:
            kind, setup = ("test", "test") if test else ("training", "train")
            raise CallError(
                call,
                f"the model has no {kind} data, expecting {setup}(m;inputs;targets) before, or "
                f"{call}(m;inputs;targets)",
            )
        return _test(model) if test else _train(model)
    old = model.data_of(test)
    try:
        define(model, given, test, call)
        return _test(model) if test else _train(model)
    except BaseException:  # data is not kept if no run has completed with it
        model.put_data(old, test)
        raise


both(
    "run",
    "testrun",
    _run,
    " m|(m;inputs;targets)",
    "Train a model for one pass over its training data, or over the given data; returns the metrics.",
    "Test a model on its test data, or on the given data; returns the metrics.",
    "q)q:module enlist(`linear;1;1)\nq)m:model(q;loss`mse;opt(`sgd;q))\n"
    "q)train(m;`metrics`dictionary;(`loss`batchloss;1b))\nq)type each run(m;4 1#1e;4 1#1e)\n"
    "loss     | -9\nbatchloss| 8",
    effect="changes",
)


def _batch(model: Model, given: Sequence[Value]) -> tuple[Any, Any]:
    """The inputs and targets given to `backstep`, or else the model's."""
    if not given:
        return model.inputs(), model.targets()
    inputs = inputs_with_names(given[:1], model.module, model.module, "backstep")
    return inputs, inputs_of(given[1], model.module, "backstep")


@api("backstep", "backstep m", "backstep(m;inputs;targets)", held=True, effect="changes")
def backstep(x: Value) -> Value:
    """One training step of a model, on the given data or its own: forward, loss, backward, clipping, update.

    Returns the loss before the update.

    q)q:module enlist(`linear;1;1)
    q)m:model(q;loss`mse;opt(`sgd;q))
    q)type backstep(m;4 1#1e;4 1#1e)
    -8h
    """
    args = items(x)
    h = handle(args[0]) if args else None
    if not isinstance(h, ModelHandle):
        raise QError(
            f"backstep: model expected as 1st argument, given {kname(args[0] if args else x)}"
        )
    model: Model = h.obj
    if len(args) not in (1, 3):
        raise QError(f"backstep expecting (model;inputs;targets), but {len(args)} args given")
    try:
        inputs, targets = _batch(model, args[1:])
        trainer, data = _Trainer(model, "backstep"), model.data
        before = data.hidden if len(args) == 1 else None
        try:
            results = with_gradients(True, lambda: trainer.update([(inputs, targets)], before))
        finally:
            trainer.end()
        if len(args) == 1 and model.train["hidden"] and data.batch >= 0:
            data.hidden = [t.detach() for t in flat(results[0][0])]
    except Exception as exc:
        raise known_to_all("backstep", exc, model.module, True, x) from None
    loss = results[0][1]
    line().tally("backstep", lambda: {"loss": float(loss)})
    stepped()
    return to_q(loss)
