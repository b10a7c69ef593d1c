"""Data that comes batch by batch: from Python's loaders, datasets, iterables and generators, and from q functions.

A batch is a pair (input;target); of more items the last is the target; a dictionary is the inputs by name, and has the
target under `labels` or `target`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell.errors import SAID, CallError, QError, first_line, message_of
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.q_calls import applied
from kshell.kapi.loss.user_functions import batch_of, guarded, tensor_of_array
from kshell.kapi.module.api import brought, tensors_of_module
from kshell.kapi.module.named_inputs import Inputs
from kshell.kapi.tensor.batch_view import count
from kshell.kapi.train.model import Data
from kshell.kapi.train.options import Settings
from kshell.values.base.core import NIL, Value
from kshell.values.base.functions import FAILED, Foreign, Function
from kshell.values.session.interrupts import stoppable

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

TARGETS = ("labels", "target")  # the names of a target in a batch that is a dictionary
_END: Any = object()


class Source(Data):
    """Data from a Python object or a q function. `given` is what the user gave for it; `own` says that it makes batches
    itself, so that the options about them have no meaning."""

    __slots__ = ("at", "given", "obj", "reached", "steps", "what")
    own = True

    def __init__(self, given: Value, obj: Any, what: str) -> None:
        super().__init__()
        self.given, self.obj, self.what = given, obj, what
        self.at = 0  # the batch, of all tasks', that a pass begins with: above 0 if it goes on
        self.reached = 0  # the first batch after those that have been given
        # the rest of the pass of which a batch is shown
        self.steps: Iterator[tuple[list[Any], list[Any]]] | None = None

    @property
    def there(self) -> bool:
        return True

    def rows(self) -> int | None:
        """The number of rows; None if there are none of which batches are made here, or it is not known."""
        return None

    def length(self, s: Settings) -> int | None:
        """The number of batches of a pass; None if it is not known before."""
        size = getattr(self.obj, "__len__", None)
        if size is None:
            return None
        try:
            return int(size())
        except (TypeError, NotImplementedError):  # of a loader over an iterable without a length
            return None

    def open(self, s: Settings) -> Iterator[Any]:
        """Begin a pass: an iterator over its batches."""
        return iter(self.obj)

    def begin(self, call: str, s: Settings, at: int) -> Iterator[Any]:
        """`open`, where Python may run; what has batches by number begins with the batch `at`."""
        opened: Iterator[Any] = guarded(f"{call}: {self.what}", self.open, s)
        return opened

    def numbered(self, call: str, s: Settings, n: int) -> Any:
        """The batch with a number in the present pass; None if there are not so many."""
        raise CallError(
            call,
            f"{self.what} gives its batches one after the other, none by its number",
            given=SAID,
        )

    def is_empty(self, batch: Any) -> bool:
        """Is it a batch of which all rows are left out?"""
        return False

    def shared(self, batches: Iterator[tuple[int, Any]], s: Settings) -> Iterator[tuple[int, Any]]:
        """The batches, of which each task of several that compute together gets the same number, as far as that can be
        had."""
        return batches

    def again(self) -> bool:
        """Can there be another pass?"""
        return not hasattr(self.obj, "__next__")

    def show(self, inputs: list[Any], targets: list[Any]) -> None:
        """The batch that is shown from now on."""
        self.shown = inputs, targets
        named = inputs.named if isinstance(inputs, Inputs) else {}
        self.x = {
            name: value for name, value in named.items() if isinstance(value, torch.Tensor)
        } or _side(inputs)
        self.y = _side(targets)

    def hide(self) -> None:
        """End the pass of which a batch is shown: the next one is the first of a new pass."""
        self.shown = self.x = self.y = self.steps = self.hidden = None
        self.batch = -1


def _side(items: list[Any]) -> Any:
    """The tensors on one side of a batch as data has them: None, one, or several."""
    tensors = [item for item in items if isinstance(item, torch.Tensor)]
    return tensors[0] if len(tensors) == 1 else tensors or None


class Begun(Source):
    """A Python function that begins a pass: a generator function, or any whose result can be iterated over."""

    __slots__ = ()

    def length(self, s: Settings) -> int | None:
        return None

    def open(self, s: Settings) -> Iterator[Any]:
        return iter(self.obj())


class Asked(Source):
    """A q function without arguments, each call of which gives a batch, or `::` after the last one."""

    __slots__ = ()

    def length(self, s: Settings) -> int | None:
        return None

    def begin(self, call: str, s: Settings, at: int) -> Iterator[Any]:
        return self.open(s)

    def open(self, s: Settings) -> Iterator[Any]:
        while (batch := applied(self.given, [NIL])) is not NIL:
            yield batch_of(batch)


class Items(Source):
    """A dataset with a length and items, of which batches are made by the options of the model."""

    __slots__ = ()
    own = False

    def rows(self) -> int:
        return len(self.obj)

    def length(self, s: Settings) -> int | None:
        size = len(self.obj)
        return count(size, min(s["batchsize"] or size, size), s["droplast"]) if size else 0

    def begin(self, call: str, s: Settings, at: int) -> Iterator[Any]:
        opened: Iterator[Any] = guarded(f"{call}: {self.what}", self._from, s, at)
        return opened

    def _from(self, s: Settings, at: int) -> Iterator[Any]:
        for i in range(at, self.length(s) or 0):
            yield self._at(i, s)

    def numbered(self, call: str, s: Settings, n: int) -> Any:
        if n >= (self.length(s) or 0):
            return None
        return guarded(f"{call}: batch {n + 1} of {self.what}", self._at, n, s)

    def _at(self, i: int, s: Settings) -> Any:
        size = len(self.obj)
        width = min(s["batchsize"] or size, size)
        rows = range(i * width, min((i + 1) * width, size))
        return self._batch(
            rows if self.order is None else self.order[rows.start : rows.stop].tolist()
        )

    def _batch(self, rows: Sequence[int]) -> Any:
        many = getattr(self.obj, "__getitems__", None)
        items = [self.obj[i] for i in rows] if many is None else many(list(rows))
        return torch.utils.data.default_collate(items)

    def shuffled(self, order: Tensor) -> None:
        """The rows in another order, after the present one."""
        self.order = order if self.order is None else self.order[order]


def source_of(x: Value, call: str) -> Source | None:
    """The source of batches for an argument; None for one that is no Python object or function."""
    if not isinstance(x, Foreign):
        return Asked(x, None, "the function") if isinstance(x, Function) else None
    obj = x.obj
    what = f"the {type(obj).__name__}"
    if isinstance(obj, str | bytes | Mapping | type):
        raise CallError(
            call, expected="batches, from a loader, dataset, iterable or function", given=what
        )
    if _has_items(obj):
        return Items(x, obj, what)
    if hasattr(obj, "__iter__") or hasattr(obj, "__next__"):
        return Source(x, obj, what)
    if callable(obj):
        return Begun(x, obj, f"the function {getattr(obj, '__name__', type(obj).__name__)}")
    raise CallError(
        call,
        expected="batches, from a loader, dataset, iterable or function",
        given=f"an object of class {type(obj).__name__}",
    )


def _has_items(obj: Any) -> bool:
    """Is it a dataset with a length and items, of which batches have to be made?"""
    data = sys.modules.get("torch.utils.data")
    if data is not None and isinstance(obj, data.IterableDataset | data.DataLoader):
        return False
    items = hasattr(obj, "__getitem__") and hasattr(obj, "__len__")
    of_torch = data is not None and isinstance(obj, data.Dataset)
    return items and (of_torch or hasattr(obj, "__getitems__") or not hasattr(obj, "__iter__"))


# ------------------------------------------------------------------ one batch


class Reader:
    """Takes batches apart for a module: inputs and targets, on its device."""

    def __init__(self, m: Module, call: str) -> None:
        self.m, self.call = m, call
        first = next(iter(tensors_of_module(m)), None)
        self.device = None if first is None else first.device
        self._names: frozenset[str] | None = None

    def read(self, batch: Any) -> tuple[list[Any], list[Any]]:
        """The inputs and targets of a batch."""
        if batch.__class__ is tuple or batch.__class__ is list:
            if len(batch) == 2:
                x, y = batch
                if x.__class__ is torch.Tensor and y.__class__ is torch.Tensor:
                    return self._here([x]), self._here([y])
                return self._inputs(x), self._targets(y)
            if len(batch) > 2:
                return self._here([self._one(x) for x in batch[:-1]]), self._targets(batch[-1])
            if batch:
                return self._inputs(batch[0]), []
        if isinstance(batch, Mapping):
            return self._named(batch)
        if isinstance(batch, torch.Tensor | np.ndarray):
            return self._here([self._one(batch)]), []
        if isinstance(batch, tuple | list) and batch:
            return self.read(tuple(batch))
        what = (
            "an empty list"
            if isinstance(batch, tuple | list)
            else f"of class {type(batch).__name__}"
        )
        raise CallError(
            self.call,
            f"a batch is {what}, expected (input;target) or a dictionary of inputs by name",
            given=SAID,
        )

    def _named(self, batch: Mapping[Any, Any]) -> tuple[list[Any], list[Any]]:
        named = {str(name): self._one(value) for name, value in batch.items()}
        found = next((name for name in TARGETS if name in named), None)
        targets: list[Any] = []
        if found is not None:
            if self._names is None:
                self._names = frozenset(inspect.signature(self.m.forward).parameters)
            taken = named[found] if found in self._names else named.pop(found)
            targets = self._here(self._targets(taken))
        here = self._here(list(named.values()))
        return Inputs((), dict(zip(named, here, strict=True))), targets

    def _inputs(self, x: Any) -> list[Any]:
        if isinstance(x, Mapping):
            named = {str(name): self._one(value) for name, value in x.items()}
            here = self._here(list(named.values()))
            return Inputs((), dict(zip(named, here, strict=True)))
        if isinstance(x, tuple | list) and _tensors(x):
            return self._here([self._one(item) for item in x])
        return self._here([self._one(x)])

    def _targets(self, y: Any) -> list[Any]:
        if isinstance(y, tuple | list) and _tensors(y):
            return self._here([self._one(item) for item in y])
        if isinstance(y, bool | int | float | np.generic):
            y = torch.as_tensor(y)
        return [] if y is None else self._here([self._one(y)])

    def _one(self, x: Any) -> Any:
        """An item of a batch: arrays become tensors."""
        return tensor_of_array(x) if isinstance(x, np.ndarray) else x

    def _here(self, items: list[Any]) -> list[Any]:
        """Items of which the tensors are on the module's device."""
        device = self.device
        if device is None:
            return items
        for item in items:
            if isinstance(item, torch.Tensor):
                if item.device != device:
                    break
            elif not isinstance(item, _PLAIN):
                break
        else:
            return items
        return [self._moved(item) for item in items]

    def _moved(self, x: Any) -> Any:
        if isinstance(x, torch.Tensor):
            return brought([x], self.m)[0]
        if x.__class__ in (list, tuple):
            return type(x)(self._moved(item) for item in x)
        if x.__class__ is dict:
            return {name: self._moved(item) for name, item in x.items()}
        return x


_PLAIN = (str, int, float, type(None))


def _tensors(x: Sequence[Any]) -> bool:
    """Are the items of a list tensors or arrays, and is there one?"""
    return bool(x) and all(isinstance(item, torch.Tensor | np.ndarray) for item in x)


# ------------------------------------------------------------------ all batches of a pass

# where the exception of a worker process begins, in the message that torch makes of it
_WORKER = re.compile(r"^Caught \w+ in (.+? process \d+)\.\nOriginal Traceback")


def batches(
    call: str,
    source: Source,
    s: Settings,
    m: Module,
    change: Callable[[Any], Any] | None,
    start: int,
    together: bool = False,
) -> Iterator[tuple[list[Any], list[Any]]]:
    """The inputs and targets of each batch for this task, beginning with batch `start`. `change` is applied to each
    batch as it came. Tasks whose processes compute `together` get the same number of batches of a table."""
    reader = Reader(m, call)
    opened = source.begin(call, s, start)
    found: Iterator[tuple[int, Any]] = _numbered(call, source, opened, start)
    if together:
        found = source.shared(found, s)
    empty, task, tasks = True, s["task"], s["tasks"]
    for i, batch in found:
        empty = False
        if (i - start) % tasks == task and not source.is_empty(batch):
            source.reached = i - task + tasks
            yield reader.read(batch if change is None else change(batch))
    if empty and not source.again():
        raise CallError(
            call,
            f"{source.what} has ended: it gives its batches once, a generator function begins anew with each run",
            says=(call,),
        )


def _numbered(
    call: str, source: Source, opened: Iterator[Any], start: int
) -> Iterator[tuple[int, Any]]:
    """The batches as they come, each with its number in the pass."""
    for i in range(start, sys.maxsize):
        batch = _next(call, source, opened, i)
        if batch is _END:
            return
        yield i, batch


def _next(call: str, source: Source, opened: Iterator[Any], i: int) -> Any:
    """The next batch as it comes; _END after the last one. An exception of a worker process is told as its own."""
    problem: QError
    try:
        return stoppable(next, opened, _END)
    except Exception as exc:
        where = f"{call}: batch {i + 1} of {source.what}"
        problem = FAILED.fn(where, exc)
        told = _WORKER.match(message_of(exc))
        if told is not None and not isinstance(exc, QError):
            last = message_of(exc).rstrip().rpartition("\n")[2]
            problem.text = first_line(f"{where}, {told[1]}: {last}")
            problem.args = (problem.text,)
    raise problem
