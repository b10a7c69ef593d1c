"""Datasets of the user's classes by name, and loaders of their batches: a snapshot can make again what q made."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from kshell.entry_kinds import Kind
from kshell.errors import CallError, QError
from kshell.kapi.base.args import items, name_of, names_of, parse_options, split, unknown
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import KHandle, TensorHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.plain_values import options_q
from kshell.kapi.base.python_options import has_functions, made, options_of, parameters
from kshell.kapi.base.python_types import PyType, factory, type_of_name
from kshell.kapi.loss.user_functions import guarded
from kshell.registry import Option, entries
from kshell.values.base.core import List, Value
from kshell.values.base.functions import Foreign

_MADE = "kshell_made_by"  # the attribute of an object with how q made it
OPTIONS = (
    Option("batchsize", "long", 32, doc="rows of a batch", low=1),
    Option("shuffle", "boolean", False, doc="draw the order of the rows anew for each run"),
    Option("droplast", "boolean", False, doc="leave out an incomplete last batch"),
    Option("workers", "long", 0, doc="worker processes that read rows", low=0, high=1024),
)


class Dataset(Kind):
    name, calls, form = "dataset", ("pydata", "pyloader"), "pydata(`{}"

    def values(self, name: str) -> Value | None:
        entry = self.find(name)
        return None if entry is None else options_q(entry.options)


@factory("dataset")
def _of_python(t: PyType) -> tuple[tuple[Option, ...], PyType]:
    return options_of(parameters(t.obj)), t


class Recipe:
    """How q made a dataset, or a loader of one. Copies share it; nothing of it is written into a pickle."""

    __slots__ = ()

    def __deepcopy__(self, memo: object) -> Recipe:
        return self

    def __reduce__(self) -> Any:
        return str, ()


class DatasetRecipe(Recipe):
    """A type and its arguments: q values, tensors as torch has them."""

    __slots__ = ("args", "type")

    def __init__(self, by: PyType, args: Sequence[Any]) -> None:
        self.type, self.args = by, tuple(args)


class LoaderRecipe(Recipe):
    """The options of a loader; its dataset is an attribute of it."""

    __slots__ = ("options",)

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options


def recipe_of(x: Any) -> Recipe | None:
    """How q made an object; None if it did not."""
    found = getattr(x, "__dict__", {}).get(_MADE)
    return found if isinstance(found, Recipe) else None


def _marked(x: Any, recipe: Recipe) -> Any:
    own: dict[str, Any] | None = getattr(x, "__dict__", None)
    if own is not None:
        own[_MADE] = recipe
    return x


def make_dataset(t: PyType, args: Sequence[Any], is_from_file: bool = False) -> Any:
    """A dataset of a type; it knows how it was made. What could call a function in it is not made of a file's values:
    it would run the file's code."""
    entry = t.entry("dataset")
    if entry is None:
        raise QError(f"pydata: {t.name} makes no dataset")
    given: list[Any] = [TensorHandle(x) if isinstance(x, torch.Tensor) else x for x in args]
    if is_from_file and any(map(has_functions, given)):
        raise QError(f"{t.name}: a function is among the options of a dataset")
    return _marked(made(t, entry, given, 0 if is_from_file else 1), DatasetRecipe(t, args))


def make_loader(call: str, dataset: Any, options: dict[str, Any]) -> Any:
    """A DataLoader of torch over a dataset; it knows how it was made."""
    every = {o.name: options.get(o.name, o.default) for o in OPTIONS}
    found = guarded(
        call,
        lambda: torch.utils.data.DataLoader(
            dataset,
            every["batchsize"],
            every["shuffle"] or None,
            drop_last=every["droplast"],
            num_workers=every["workers"],
        ),
    )
    return _marked(found, LoaderRecipe(options))


def checked(options: Any) -> dict[str, Any]:
    """The options of a loader that a file holds; ValueError if they are none."""
    by_name = {o.name: o for o in OPTIONS}
    if not isinstance(options, dict) or not set(options) <= set(by_name):
        raise ValueError("wrong options of a loader")
    for name, value in options.items():
        o = by_name[name]
        kind = bool if o.type == "boolean" else int
        if type(value) is not kind or (
            kind is int and not (o.low or 0) <= value <= (o.high or 1 << 40)
        ):
            raise ValueError(f"{name} of a loader is wrong")
    return options


def _named(call: str, args: Sequence[Value]) -> Any:
    """The dataset of a name and its arguments."""
    name = name_of(args[0]) if args else None
    if not name:
        raise CallError(
            call,
            expecting="the name of a class of datasets",
            given=kname(args[0]) if args else "nothing",
        )
    entry = type_of_name("dataset", name)
    if entry is None:
        problem = unknown(
            "unrecognized dataset: ", name, [e.name for e in entries("dataset")], call=call
        )
        problem.hint = (
            problem.hint
            or "a class of a file that \\l loaded, or of a p) block, derived from torch's Dataset"
        )
        raise problem
    kept = [_kept(call, x) for x in args[1:]]
    return make_dataset(entry.record, kept)


def _kept(call: str, x: Value) -> Any:
    """An argument as a recipe has it: a tensor stays when its handle is freed."""
    if x.__class__ is TensorHandle:
        return x.get()
    if isinstance(x, KHandle):
        raise CallError(call, expecting="tensors and q values as arguments", given=kname(x))
    return x


@api("pydata", "pydata`name", "pydata(`name;option;..)", since="kshell", effect="opens")
def pydata(x: Value) -> Value:
    """Make a dataset of the user's own class, by its name and the arguments of its constructor: data of `train`.

    The class is derived from torch's Dataset, and of a file that `\\l` loaded or of a `p)` block. A snapshot keeps its
    name and the arguments, never a pickle: to resume one, load the file first.

    q).p.e"import torch"
    q).p.e"class Ones(torch.utils.data.TensorDataset):\\n def __init__(s,n:int): super().__init__(torch.ones(n,1))"
    q)k:model(module`identity;loss`mse;opt`sgd)
    q)train(k;pydata(`Ones;100))
    4
    """
    return Foreign(_named("pydata", items(x)))


@api(
    "pyloader",
    "pyloader(dataset;batchsize;shuffle;droplast;workers)",
    "pyloader((`name;option;..);..)",
    since="kshell",
    effect="opens",
    options=OPTIONS,
)
def pyloader(x: Value) -> Value:
    """Make a loader, a DataLoader of torch, of a dataset: one that `pydata` made, its name and arguments, or any other
    of Python.

    A snapshot keeps the options of the loader, if q made the dataset by its name, and begins with the next pass.

    q).p.e"import torch"
    q).p.e"class Ones(torch.utils.data.TensorDataset):\\n def __init__(s,n:int): super().__init__(torch.ones(n,1))"
    q)k:model(module`identity;loss`mse;opt`sgd)
    q)train(k;pyloader((`Ones;100);10;`shuffle,1b))
    10
    """
    args = items(x)
    first = args[0] if args else x
    name = items(first) if _is_name(first) else []
    data = _named("pyloader", name) if name else _given(first)
    options = parse_options("pyloader", OPTIONS, *split(args[1:]), before=1)
    return Foreign(make_loader("pyloader", data, options))


def _given(x: Value) -> Any:
    """A dataset that is an object of Python."""
    if isinstance(x, Foreign) and _is_dataset(x.obj):
        return x.obj
    given = f"a Python {type(x.obj).__name__}" if isinstance(x, Foreign) else kname(x)
    raise CallError("pyloader", expecting="a dataset, or its name and arguments", given=given)


def _is_name(x: Value) -> bool:
    """Is it the name of a dataset, alone or with arguments?"""
    first = x.items[0] if x.__class__ is List and x.items else x
    return name_of(first) is not None or bool(names_of(first))


def _is_dataset(x: Any) -> bool:
    """Can a loader read from an object: by rows, or as an iterable dataset?"""
    data = sys.modules.get("torch.utils.data")
    if data is not None and isinstance(x, data.IterableDataset):
        return True
    return (
        hasattr(x, "__getitem__")
        and hasattr(x, "__len__")
        and not isinstance(x, str | bytes | dict)
    )
