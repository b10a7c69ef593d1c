"""Training and test data of models: collected from arguments, shown in batches in place, shuffled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kshell import parallel
from kshell.errors import SAID, CallError, QError
from kshell.kapi.base.args import (
    is_empty,
    long_of,
    names_of,
)
from kshell.kapi.base.convert import is_array
from kshell.kapi.base.handles import (
    DictHandle,
    TensorHandle,
    VectorHandle,
    handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.loss.user_functions import value_of_array
from kshell.kapi.module.forward import inputs_of
from kshell.kapi.tables.columns import Vocabulary
from kshell.kapi.tensor.batch_view import count, reordered, show_part, show_whole, whole_of
from kshell.kapi.train.model import Data, Model, parts_of
from kshell.kapi.train.options import Settings
from kshell.kapi.train.skip_option import check_unset, counted
from kshell.kapi.train.sources import Items, Reader, Source, batches, source_of
from kshell.kapi.train.table_data import TableData, is_table, table_data
from kshell.kapi.train.user_parts import transform_of
from kshell.parallel import group
from kshell.values.base.core import NIL, NULL_J, Dict, List, Special, Value, raw, seq_items

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module


def _named(d: DictHandle | Dict, m: Module, call: str) -> Iterator[tuple[str, Any]]:
    """The tensors of a dictionary, with their names."""
    if isinstance(d, DictHandle):
        yield from d.get().items()
    else:
        for name, x in zip(names_of(d.k) or (), seq_items(d.v), strict=True):
            yield name, inputs_of(x, m, call)[0]


def gather(given: Sequence[Value], m: Module, call: str) -> Any:
    """Arguments as data: None, a tensor, a list of tensors, or a dictionary of them. Tensors of handles are shared."""
    x = given[0] if len(given) == 1 else NIL
    parts = x.items if x.__class__ is List else given
    dicts = [
        p for p in parts if isinstance(p, DictHandle) or (p.__class__ is Dict and names_of(p.k))
    ]
    if parts and len(dicts) == len(parts):
        return {key: value for d in dicts for key, value in _named(d, m, call)}
    if len(given) == 1:
        if is_empty(x):
            return None
        if x.__class__ is TensorHandle or is_array(x):
            tensors = inputs_of(x, m, call)
            return tensors[0] if tensors else None
        tensors = inputs_of(x, m, call)
        return tensors[0] if len(tensors) == 1 and x.__class__ is not VectorHandle else tensors
    return [t for x in given for t in inputs_of(x, m, call)] or None


def _check_sizes(x: Any, y: Any) -> int:
    """The common size of all tensors along the first dimension, -1 if there are none."""
    n = -1
    for t in (*parts_of(x), *parts_of(y)):
        whole = whole_of(t)
        size = whole.size(0) if whole.dim() else 1
        if n >= 0 and size != n:
            raise QError(f"tensor size mismatch, {n} vs {size}")
        n = size
    return n


def assign(model: Model, test: bool, x: Any, y: Any) -> int | Special:
    n = _check_sizes(x, y)
    model.put_data(Data(x, y, n), test)
    return _batches(model, test)


def define(model: Model, given: Sequence[Value], test: bool, call: str) -> int | Special:
    """Set new inputs and, if given, targets, or what gives batches of both."""
    if len(given) > 1 and is_table(given[1]):
        settings = model.settings(test)
        data = table_data(given[1:], model.module, settings, _words(model, test), call)
        model.put_data(data, test)
        settings["skip"] = counted(settings["skip"], data.reading(call).left.counts)
        return _batches(model, test)
    check_unset(model.settings(test)["skip"], call)
    if len(given) > 3:
        raise QError(
            f"{call}: up to 3 args expected, (model;inputs;targets) but {len(given)} given"
        )
    given = [*given[:1], *(value_of_array(x) for x in given[1:])]
    source = source_of(given[1], call) if len(given) == 2 and handle(given[1]) is None else None
    if source is not None:
        if source.own and model.settings(test).get("shuffle"):
            raise CallError(
                call,
                f"{source.what} has an order of its own, shuffle is set: train(m;`shuffle;0b) before",
                says=(call,),
            )
        model.put_data(source, test)
        return _batches(model, test)
    x = gather(given[1:2], model.module, call)
    y = gather(given[2:3], model.module, call)
    return assign(model, test, x, y)


def _words(model: Model, test: bool) -> Vocabulary:
    """The vocabulary that a model knows by its data: a word has one number in training and testing."""
    own, other = (
        d.known() if isinstance(d, TableData) else {} for d in (model.data, model.testdata)
    )
    return own if test else other | own


def _batches(model: Model, test: bool) -> int | Special:
    """The number of batches in the data, -1 without data, 0N if it is not known."""
    data = model.data_of(test)
    s = model.settings(test)
    if isinstance(data, Source):
        length = data.length(s)
        return NULL_J if length is None else length
    if data.n < 0:
        return -1
    return count(data.n, min(s["batchsize"] or data.n, data.n), s["droplast"])


def restore(data: Data) -> int | Special:
    """Show the whole data; its size, 0N if that is not known."""
    if isinstance(data, Source):
        data.hide()
        n = data.rows()
        return NULL_J if n is None else n
    for tensor in data.tensors():
        show_whole(tensor)
    data.batch, data.hidden = -1, None
    return max(data.n, 0)


def _order(model: Model, data: Data, n: int, device: Any) -> Any:
    """A new order for the training data: from the global generator or, if several tasks share the data, from one that
    is the same for all."""
    s = model.train
    if s["tasks"] < 2:
        return torch.randperm(n, device=device)
    if data.generator is None:
        data.generator = torch.Generator(device if s["shufflecuda"] else "cpu").manual_seed(
            long_of(s["shuffleseed"])
        )
    return torch.randperm(n, generator=data.generator, device=data.generator.device)


def reorder(data: Data, order: Tensor) -> None:
    data.x, data.y = _replaced(data.x, order), _replaced(data.y, order)


def _replaced(part: Any, order: Tensor) -> Any:
    if part is None:
        return None
    moved = reordered(parts_of(part), order)
    return (
        dict(zip(part, moved, strict=True))
        if isinstance(part, dict)
        else moved
        if isinstance(part, list)
        else moved[0]
    )


def shuffle(model: Model) -> None:
    data = model.data
    restore(data)
    if isinstance(data, TableData):
        data.shuffle(long_of(model.train["shuffleseed"]) or 0)
    elif isinstance(data, Items):
        data.shuffled(_order(model, data, len(data.obj), "cpu"))
    elif isinstance(data, Source):
        raise CallError("shuffle", f"{data.what} has an order of its own", says=("model",))
    elif data.n > 0:
        order = _order(model, data, data.n, data.tensors()[0].device)
        reorder(data, order)
        data.order = order if data.order is None else data.order[order.to(data.order.device)]


def begin(model: Model, test: bool) -> int | Special:
    """Start an epoch: restore the whole tensors, shuffle if requested; returns the number of batches."""
    data = model.data_of(test)
    if isinstance(data, TableData) and data.at:  # the pass that was left in the middle goes on
        restore(data)
    elif not test and (model.train["shuffle"] or (isinstance(data, TableData) and data.drawn)):
        shuffle(model)
    else:
        restore(data)
        if isinstance(data, TableData) and data.seed is None:
            data.epoch += 1
    return _batches(model, test)


def _steps(model: Model, source: Source, test: bool, start: int) -> Iterator[Any]:
    """The batches of a pass from one on, for this task."""
    call, s = "testbatch" if test else "batch", model.settings(test)
    change, m = transform_of(s["transform"]), model.module
    return batches(call, source, s, m, change, start, is_together(m, not test))


def is_together(m: Module, grad: bool) -> bool:
    """Do all processes compute with a module together?"""
    return group.joined() and parallel.around.together(m, grad)


def _next_of(model: Model, source: Source, test: bool) -> bool:
    """Show the next batch that a source gives; after the last one, or an error, the next pass begins anew."""
    if source.steps is None:
        source.at = 0
        begin(model, test)
        source.steps = _steps(model, source, test, 0)
    at, found = source.batch + 1, None
    try:
        found = next(source.steps, None)
    finally:
        if found is None:
            source.hide()
    if found is None:
        return False
    source.show(*found)
    source.batch = at
    return True


def show_batch(model: Model, n: int, test: bool) -> None:
    """Show the batch with a number, of all tasks', in the present pass. The place at which a run goes on stays; `batch`
    goes on with the one after it."""
    call, data, s = "testbatch" if test else "batch", model.data_of(test), model.settings(test)
    data.check_there(call, "test" if test else "train")
    if isinstance(data, Source):
        found = data.numbered(call, s, n) if n >= 0 else None
        if found is None:
            raise _none_such(call, n, data.length(s))
        change = transform_of(s["transform"])
        inputs = Reader(model.module, call).read(found if change is None else change(found))
        data.hide()
        data.show(*inputs)
        data.batch = n
        data.steps = _steps(model, data, test, n - n % s["tasks"] + s["tasks"])
        return
    total = max(0, raw(_batches(model, test)))
    if not 0 <= n < total:
        raise _none_such(call, n, total)
    _show(data, s, n, call)


def _none_such(call: str, n: int, total: int | None) -> QError:
    known = "" if total is None else f", which has {total}, from 0"
    return CallError(call, f"there is no batch {n} in this pass{known}", given=SAID)


def _show(data: Data, s: Settings, i: int, call: str) -> None:
    """Show a batch of arrays."""
    w = min(s["batchsize"] or data.n, data.n)
    for tensor in data.tensors():
        if not whole_of(tensor).dim():
            raise CallError(call, "tensor has no dimensions", says=("tensor",))
        show_part(tensor, i * w, min(w, data.n - i * w))
    data.batch = i


def next_batch(model: Model, test: bool) -> bool:
    data, s = model.data_of(test), model.settings(test)
    if isinstance(data, Source):
        return _next_of(model, data, test)
    data.check_there(*("testbatch", "test") if test else ("batch", "train"))
    first = data.batch < 0
    i = s["task"] if first else data.batch + s["tasks"]
    if i >= raw(_batches(model, test)):
        restore(data)
        return False
    if first:
        begin(model, test)
    _show(data, s, i, "testbatch" if test else "batch")
    return True
