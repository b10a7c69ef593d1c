"""Resizing the vocabulary: the rows of embeddings and output heads, and of an optimizer's state for them."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from kshell.checkpoints.trees.opening import settings_at
from kshell.errors import CallError
from kshell.kapi.base.args import items, long_of, names_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import ModelHandle, ModuleHandle, handle, module_of
from kshell.kapi.checkpoint.state_dicts import NAMES, is_optimizer
from kshell.kapi.checkpoint_algebra import vocabulary
from kshell.kapi.checkpoint_algebra.adapters import name_in
from kshell.kapi.checkpoint_algebra.choosing import chosen, patterns_of
from kshell.kapi.checkpoint_algebra.combining import generator
from kshell.kapi.checkpoint_algebra.options import BYTES, SEED, TO, options_of
from kshell.kapi.checkpoint_algebra.results import Made, Result, deliver, passed
from kshell.kapi.checkpoint_algebra.sources import Named, Source, source_of
from kshell.registry import Option
from kshell.values.base.core import Value


class _Model(NamedTuple):
    """The sizes of a model's tensors, each under its first name, and the first name for each name."""

    sizes: dict[str, tuple[int, ...]]
    first: dict[str, str]


def _optimizers(tree: Any) -> Iterator[dict[str, Any]]:
    """The state_dicts of optimizers in a tree."""
    if isinstance(tree, dict):
        if is_optimizer(tree):
            yield tree
            return
        for value in tree.values():
            yield from _optimizers(value)
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from _optimizers(value)


def _buffers(source: Source, state: Mapping[Any, Any]) -> dict[Any, dict[str, tuple[int, ...]]]:
    """The sizes of the buffers of each parameter, by its key in an optimizer's state."""
    return {
        key: {
            str(name): source.shape(value.name)
            for name, value in parts.items()
            if isinstance(value, Named)
        }
        for key, parts in state.items()
        if isinstance(parts, dict)
    }


def _order_of(call: str, given: Value | None) -> list[str] | None:
    """The names of the optimizer's parameters, in order; None if not given."""
    if given is None:
        return None
    h = handle(given)
    if isinstance(h, ModuleHandle | ModelHandle):
        return [name for name, _ in module_of(h).named_parameters()]
    names = names_of(given)
    if names is None:
        raise CallError(call, at="order", expected="names or a module", given=kname(given))
    return names


def _group_names(groups: Sequence[Any]) -> list[str] | None:
    """The names of parameters that groups have, as torch's named groups do; None if not all have them."""
    lists = [group.get(NAMES) if isinstance(group, dict) else None for group in groups]
    if not lists or any(not isinstance(names, list | tuple) for names in lists):
        return None
    return [str(name) for names in lists if names is not None for name in names]


def _numbers(groups: Sequence[Any]) -> list[Any]:
    """The keys of the parameters in an optimizer's state, in the order of the groups."""
    return [
        number for group in groups if isinstance(group, dict) for number in group.get("params", ())
    ]


def _grown_in(
    call: str,
    source: Source,
    optimizer: Mapping[str, Any],
    model: _Model,
    grown: Mapping[str, tuple[int, ...]],
    order: list[str] | None,
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """The names of the buffers of an optimizer that get another number of rows, with their sizes before."""
    state, groups = optimizer["state"], optimizer["param_groups"]
    buffers = _buffers(source, state)
    names = list(grown)
    if buffers and all(isinstance(key, str) for key in buffers):
        keys = [key for key in buffers if any(key == n or n.endswith(f".{key}") for n in names)]
    else:
        own = _group_names(groups)
        order = own if order is None else order
        numbers = _numbers(groups)
        if order is not None:
            if len(order) != len(numbers):
                expected = f"{len(numbers)} parameters"
                raise CallError(call, at="order", expected=expected, given=str(len(order)))
            places = {i: buffers[key] for i, key in enumerate(numbers) if key in buffers}
            order = [model.first[name_in(model.first, name)] for name in order]
            found = vocabulary.positions(places, model.sizes, names, order)
            keys = [numbers[i] for i in found]
        else:
            keys = vocabulary.positions(buffers, model.sizes, names)
    old = {tuple(size) for size in grown.values()}
    for key in keys:
        for name, value in state[key].items():
            if isinstance(value, Named):
                size = source.shape(value.name)
                if any(vocabulary.is_by_row(str(name), size, before) for before in old):
                    yield value.name, size


def _resized(source: Source, name: str, rows: int, options: Mapping[str, Any], seed: str) -> Any:
    """A tensor with another number of rows; without a seed, which an optimizer's buffers have none of, new ones are
    zeros."""
    fill = options["fill"] if seed else "zeros"
    random = generator(options["seed"], seed) if fill == "normal" else None
    return vocabulary.resized(source.tensor(name), rows, fill, random, options["spread"])


def _inside(tree: Any) -> set[str]:
    """The names of the tensors in the optimizers of a tree."""
    found: set[str] = set()
    for optimizer in _optimizers(tree):
        for parts in optimizer["state"].values():
            if isinstance(parts, dict):
                found |= {value.name for value in parts.values() if isinstance(value, Named)}
    return found


def _once(model: Source, names: Sequence[str]) -> _Model:
    """The tensors of a model, those with several names once."""
    first: dict[Hashable, str] = {}
    for name in names:
        first.setdefault(model.memory(name), name)
    by_name = {name: first[model.memory(name)] for name in names}
    return _Model({name: model.shape(name) for name in first.values()}, by_name)


@api(
    "ckptvocab",
    "ckptvocab(d;names;rows)",
    "ckptvocab(d;names;rows;fill;seed;spread;order;of;to;bytes)",
    held=True,
    since="kshell",
    effect="own",
    options=(
        Option("fill", "symbol", "normal", doc="what new rows are", choices=vocabulary.FILLS),
        SEED,
        Option("spread", "double", 1.0, doc="a factor for the covariance of normal", low=0),
        Option("order", "any", None, doc="the optimizer's parameters in order: names, or a module"),
        Option("of", "any", None, doc="the model, if an optimizer's state alone is given"),
        TO,
        BYTES,
    ),
)
def ckptvocab(x: Value) -> Value:
    """Resize a vocabulary: the rows of embeddings, output heads and their biases, and of an optimizer's state.

    The first rows stay; new ones are appended, or the last ones removed. New rows are drawn from the `normal
    distribution with the mean of the old rows and spread times their covariance (if fill is not given), or are the
    `mean of the old rows, or `zeros. Hewitt 2021, "Initializing new word embeddings for pretrained language models";
    transformers' mean_resizing is the spread 1e-9. Names may be patterns of `like`; tied weights are resized once.

    If the checkpoint holds an optimizer's state_dict, new rows of exp_avg, exp_avg_sq, momentum_buffer and other
    buffers of the parameter's size, and of Adafactor's row sums, are zeros; step counts stay. The optimizer's
    parameters are found by their size; if other parameters have the same size, give the `order` of its parameters, a
    list of names or the module. For a file that holds only the optimizer, give the model as `of`. The result is a
    dictionary, or goes to a file, folder or module as in `ckptavg`.

    q)d:`emb.weight`out.weight!(tensor(1 2e;3 4e);tensor(1 0e;0 1e))
    q)tensor ckptvocab[(d;`emb.weight;3;`mean)]`emb.weight
    1 2
    3 4
    2 3
    q)size each ckptvocab(d;"*.weight";5)
    emb.weight| 5 2
    out.weight| 5 2
    """
    call = "ckptvocab"
    given = items(x)
    rows = long_of(given[2]) if len(given) > 2 else None
    if rows is None or rows < 1:
        raise CallError(call, expecting="a checkpoint, names and a number of rows")
    options = options_of(call, given[3:], 3)
    source = source_of(given[0], call)
    tree = source.tree()
    model = source if options["of"] is None else source_of(options["of"], call)
    moments = _inside(tree) if model is source else set()
    names = [name for name in model.names() if name not in moments]
    wanted = chosen(call, names, patterns_of(call, given[1]))
    _check_rows(call, model, wanted)
    made = {name: passed(source, name) for name in source.names()}
    if model is source:
        _grow(source, wanted, rows, options, made)
    single = _once(model, names)
    memories = {model.memory(name) for name in wanted}
    sizes = {n: size for n, size in single.sizes.items() if model.memory(n) in memories}
    order = _order_of(call, options["order"])
    for optimizer in _optimizers(tree):
        for name, size in _grown_in(call, source, optimizer, single, sizes, order):
            make = partial(_resized, source, name, rows, options, "")
            made[name] = Made(source.dtype(name), (rows, *size[1:]), make)
    before = model.shape(wanted[0])[0]
    result = Result(tree, made)
    return deliver(call, result, options, lambda path: _settings(path, before, rows))


def _settings(path: str, before: int, rows: int) -> dict[str, bytes]:
    """The settings of a folder's model with another number of rows, if it has the former number there."""
    file = os.path.join(path, "config.json")
    found = settings_at(file) if os.path.isfile(file) else {}
    places = [found, *(part for part in found.values() if isinstance(part, dict))]
    changed = [part for part in places if part.get("vocab_size") == before]
    for part in changed:
        part["vocab_size"] = rows
    text = json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    return {"config.json": text.encode()} if changed else {}


def _check_rows(call: str, model: Source, names: Sequence[str]) -> None:
    """All tensors have the same number of rows."""
    first = model.shape(names[0])
    for name in names:
        size = model.shape(name)
        if not size or size[0] != first[0] or not model.dtype(name).is_floating_point:
            sizes = f"{names[0]} is {list(first)}, {name} {list(size)}"
            raise CallError(call, f"the numbers of rows differ: {sizes}", says=(name,))


def _grow(
    source: Source,
    names: Sequence[str],
    rows: int,
    options: Mapping[str, Any],
    made: dict[str, Made],
) -> None:
    """Resize tensors, and those tied to one of them."""
    first: dict[Hashable, str] = {}
    for name in names:
        first.setdefault(source.memory(name), name)
    for name in list(made):
        owner = first.get(source.memory(name))
        if owner is not None:
            make = partial(_resized, source, owner, rows, options, owner)
            size = rows, *source.shape(owner)[1:]
            made[name] = Made(source.dtype(owner), size, make, ("rows", owner))
