"""Batches of a model's data: shown one after the other or by their numbers, and the whole data again."""

from __future__ import annotations

from kshell.errors import CallError, QError
from kshell.kapi.base.args import items, long_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import ModelHandle, behaviour, handle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.train.batches import begin, next_batch, reorder, restore, show_batch, shuffle
from kshell.kapi.train.data import both, model_of
from kshell.kapi.train.sources import Source
from kshell.kapi.train.table_data import TableData
from kshell.values.base.core import NIL, Special, Value


def _batch_of(h: ModelHandle, rest: tuple[Value, ...], test: bool, call: str) -> Value:
    """The next batch, or the one with a number."""
    if not rest:
        return next_batch(h.obj, test)
    number = long_of(rest[0])
    if len(rest) > 1 or number is None:
        raise CallError(
            call,
            expected="a model and the number of a batch",
            given=f"{1 + len(rest)} arguments" if len(rest) > 1 else kname(rest[0]),
        )
    show_batch(h.obj, number, test)
    return NIL


@behaviour("batch", ModelHandle)
def _batch(h: ModelHandle, *rest: Value) -> Value:
    return _batch_of(h, rest, False, "batch")


@api("testbatch", "testbatch m", "testbatch(m;n)", arity=(1, 2), effect="changes")
def testbatch(x: Value, *more: Value) -> Value:
    """Show the next batch of a model's test data in place: 1b for each batch, then 0b, when the data is whole again.

    With a number, shows that batch, the first one being 0.

    q)m:model(module`identity;loss`mse;opt`sgd)
    q)test(m;`batchsize;5)
    q)test(m;til 10);
    q)while[testbatch m;show evaluate m]
    0 1 2 3 4
    5 6 7 8 9
    q)testbatch(m;1)
    q)evaluate m
    5 6 7 8 9
    """
    given = (x, *more) if more else items(x)
    h = handle(given[0]) if given else None
    if not isinstance(h, ModelHandle):
        raise CallError("testbatch", expected="model as argument", given=kname(x))
    return _batch_of(h, tuple(given[1:]), True, "testbatch")


@behaviour("restore", ModelHandle)
def _restored(h: ModelHandle) -> int | Special:
    if isinstance(h.obj.data, Source):
        h.obj.data.at = 0
    return restore(h.obj.data)


@api("testrestore", "testrestore m", effect="changes")
def testrestore(x: Value) -> Value:
    """Restore a model's test data to its full size; returns its size along the first dimension.

    q)m:model(module`identity;loss`mse;opt`sgd)
    q)test(m;til 10);
    q)testrestore m
    10
    """
    return restore(model_of(x, "testrestore").testdata)


both(
    "batchinit",
    "testinit",
    lambda x, test, call: begin(model_of(x, call), test),
    " m",
    "Restart a model's training data: whole, and shuffled if set; returns the number of batches.",
    "Restart a model's test data; returns the number of batches.",
    "q)m:model(module`identity;loss`mse;opt`sgd)\nq)batchinit m\n-1",
    held=True,
    effect="changes",
)


@behaviour("shuffle", ModelHandle)
def _shuffled(h: ModelHandle) -> Value:
    shuffle(h.obj)
    return NIL


@api("unshuffle", "unshuffle m", held=True, effect="changes")
def unshuffle(x: Value) -> Value:
    """Restore a model's training data to its original order.

    q)m:model(module`identity;loss`mse;opt`sgd)
    q)train(m;til 7);
    q)shuffle m
    q)unshuffle m
    q)return input m
    0 1 2 3 4 5 6
    """
    h = handle(x)
    if not isinstance(h, ModelHandle):
        raise QError(f"unshuffle: requires model argument, given {kname(x)}")
    data = h.obj.data
    restore(data)
    if isinstance(data, TableData):
        data.seed, data.at = None, 0
    if data.order is not None:
        reorder(data, torch.argsort(data.order))
        data.order = None
    return NIL
