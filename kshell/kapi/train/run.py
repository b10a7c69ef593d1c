"""Running models: `run` and `testrun` over the data with metrics, `backstep` for one step.

A run is one Python loop: forward, loss, backward and update for each batch. No q code is evaluated inside, except the
user's functions, and nothing is read back from the device before the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from kshell import parallel
from kshell.errors import CallError, QError
from kshell.kapi.base.args import items
from kshell.kapi.base.call import api, known_to_all
from kshell.kapi.base.convert import kname, to_q
from kshell.kapi.base.handles import ModelHandle, handle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.live_optimizers import stepped
from kshell.kapi.loss.given import on_output
from kshell.kapi.module.api import beside, brought
from kshell.kapi.module.forward import (
    flat,
    in_mode,
    inputs_of,
    inputs_with_names,
    with_gradients,
)
from kshell.kapi.module.named_inputs import Inputs, by_name
from kshell.kapi.tensor.batch_view import count
from kshell.kapi.train import sources
from kshell.kapi.train.batches import begin, define, is_together
from kshell.kapi.train.data import both
from kshell.kapi.train.model import Data, Model, parts_of
from kshell.kapi.train.options import Settings
from kshell.kapi.train.records import Record
from kshell.kapi.train.table_data import TableData
from kshell.kapi.train.trainer import Trainer, calculator, carried
from kshell.kapi.train.user_parts import callback_of, metrics_of, transform_of
from kshell.values.base.core import Value, sym_names
from kshell.values.session.context import running, warn_once
from kshell.values.session.interrupts import PENDING, stop_here
from kshell.values.session.progress import Task, clock, line

if TYPE_CHECKING:
    from torch.nn import Module


def batches_of(
    call: str, data: Data, s: Settings, m: Module, grad: bool
) -> Iterator[tuple[list[Any], list[Any]]]:
    """The inputs and targets of each batch for this task, after the option `transform`; of arrays they are views or, if
    the module is on another device than the data, copies there, one batch at a time."""
    change = transform_of(s["transform"])
    if isinstance(data, sources.Source):
        yield from sources.batches(call, data, s, m, change, data.at, is_together(m, grad))
    elif change is None:
        yield from _of_arrays(call, data, s, m)
    else:
        reader = sources.Reader(m, call)
        for batch in _of_arrays(call, data, s, m):
            yield reader.read(change(_whole(*batch)))


def _whole(inputs: list[Any], targets: list[Any]) -> Any:
    """The parts of a batch of arrays as a loader would give them."""
    x = inputs.named if isinstance(inputs, Inputs) else inputs if len(inputs) > 1 else inputs[0]
    return (x, targets if len(targets) > 1 else targets[0]) if targets else x


def _of_arrays(
    call: str, data: Data, s: Settings, m: Module
) -> Iterator[tuple[list[Any], list[Any]]]:
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
    if is_together(model.module, grad):
        updates = [("batches of an update", str(model.train["accumulate"]))] if grad else []
        parallel.meet.meet(
            call,
            parallel.meet.told(("numbers of batches", str(_expected(data, s, True))), *updates),
        )


def _expected(data: Data, s: Settings, together: bool) -> int | None:
    """The number of batches for this task; None if it is not known."""
    start, tasks = 0, s["tasks"]
    if isinstance(data, sources.Source):
        n = data.length(s)
        if n is None:
            return None
        start = data.at
        if together and isinstance(data, TableData):
            n = start - (start - n) // tasks * tasks  # so that all have as many
    else:
        n = count(data.n, min(s["batchsize"] or data.n, data.n), s["droplast"]) if data.n > 0 else 0
    return start // tasks + len(range(start + s["task"], n, tasks))


def _task(call: str, data: Data, s: Settings, together: bool) -> Task:
    """The batches for this task, with a progress line."""
    return Task(call, _expected(data, s, together), "batches")


def _record(s: Settings) -> Record:
    return Record(sym_names(s["metrics"]), metrics_of(s["metric"]))


def _state(done: int, total: int | None, loss: Any, record: Record) -> dict[str, Any]:
    """What a callback is told."""
    return {"batch": done, "batches": total, "loss": loss, "metrics": record.last()}


def _train(model: Model, kept: bool) -> Value:
    """One pass over the training data, which is `kept` if the pass fails."""
    s = model.train
    begin(model, False)
    record, told = _record(s), callback_of(s["callback"])
    trainer = Trainer(model, "run")
    _agreed("run", model, model.data, s, True)

    def loop() -> None:
        output: Any = None
        batches = batches_of("run", model.data, s, model.module, True)
        work = _task("run", model.data, s, is_together(model.module, True))
        table = model.data if isinstance(model.data, TableData) else None
        done = 0 if table is None else table.at // s["tasks"]  # of a pass that goes on
        began = clock()
        trainer.total, trainer.done = work.total, done
        if kept:
            trainer.number = _numbering(model.data, s, trainer)
        while several := list(islice(batches, s["accumulate"])):
            made = trainer.update(several, output, record.note)
            output, loss = made[-1]
            done = trainer.done = done + len(several)
            if table is not None:
                table.at = table.reached
            if told is not None:
                told(_state(done, work.total, _mean([found for _, found in made]), record))
            if clock() >= work.line.due:
                work.tell(done, partial(_so_far, record, loss, table, clock() - began))
            stepped()
            if PENDING and (work.total is None or done < work.total):
                stop_here(work.stopped(done))
        if table is not None:
            table.at = 0
            if advice := table.advice(clock() - began):
                warn_once(f"run: {advice}")

    try:
        with_gradients(True, lambda: in_mode(model.module, True, loop))
    finally:
        trainer.end()
    record.log("run")
    return record.result(s)


def _numbering(data: Data, s: Settings, trainer: Trainer) -> Callable[[int, int], int] | None:
    """The number by which `batch` shows batch i of the n of an update."""
    task, tasks = s["task"], s["tasks"]
    if isinstance(data, TableData):
        return lambda i, n: data.reached - tasks * (n - i) + task
    if isinstance(data, sources.Source) and data.own:
        return None
    return lambda i, n: (trainer.done + i) * tasks + task


def _so_far(record: Record, loss: Any, table: TableData | None, seconds: float) -> dict[str, float]:
    """What the progress line says besides the batches."""
    found = record.so_far(loss)
    return found if table is None else {**found, **table.progress(seconds)}


def _mean(found: list[Any]) -> Any:
    return found[0] if len(found) == 1 else torch.stack(found).mean()


def _test(model: Model) -> Value:
    """One pass over the test data, in evaluation mode without gradients."""
    s = model.test
    begin(model, True)
    record, told = _record(s), callback_of(s["callback"])
    forward, cast, loss_of = calculator(), model.cast(True), on_output(model.loss)
    _agreed("testrun", model, model.testdata, s, False)
    port = running().ipc

    def loop() -> None:
        output: Any = None
        work = _task("testrun", model.testdata, s, is_together(model.module, False))
        for done, (inputs, targets) in enumerate(
            batches_of("testrun", model.testdata, s, model.module, False)
        ):
            with cast():
                output = forward(model.module, carried(inputs, output, s))
                loss = None if record.loss is None else loss_of(output, targets)
            record.add(output, targets, loss)
            if told is not None:
                told(_state(done + 1, work.total, loss, record))
            if clock() >= work.line.due:
                work.tell(done + 1, None if loss is None else partial(record.so_far, loss))
            if port is not None:
                port.between()
            if PENDING and (work.total is None or done + 1 < work.total):
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
        if not model.data_of(test).there:
            kind, setup = ("test", "test") if test else ("training", "train")
            model.data_of(test).check_there(call, setup)
            raise CallError(
                call,
                f"the model has no {kind} data, expecting {setup}(m;inputs;targets) before, or "
                f"{call}(m;inputs;targets)",
            )
        return _test(model) if test else _train(model, True)
    old = model.data_of(test)
    try:
        define(model, given, test, call)
        return _test(model) if test else _train(model, False)
    except BaseException:  # data is not kept if no run has completed with it
        model.put_data(old, test)
        raise


both(
    "run",
    "testrun",
    _run,
    " m|(m;inputs;targets)|(m;loader)|(m;table[;query][;options])",
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
        trainer, data = Trainer(model, "backstep"), model.data
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
