"""Averages, task vectors and interpolations of checkpoints."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import number_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.checkpoint_algebra import merging
from kshell.kapi.checkpoint_algebra.results import (
    BYTES,
    KEEP,
    TO,
    Made,
    Result,
    deliver,
    options_of,
    passed,
)
from kshell.kapi.checkpoint_algebra.sources import (
    Named,
    Source,
    arguments,
    is_source,
    source_of,
    sources_of,
)
from kshell.registry import Option
from kshell.values.base import types as T
from kshell.values.base.core import List, Table, Value, Vec

WEIGHTS = Option("weights", "doubles", None, doc="a factor for each checkpoint, 1 if not given")
LAMBDA = Option("lambda", "double", 1.0, doc="a factor for the sum of the differences")
_FEW = 4  # names in a message
Work = Callable[[str, Iterator[Any]], Any]


def listed(names: Sequence[str]) -> str:
    """Some names, as text."""
    more = len(names) - _FEW
    return ", ".join(names[:_FEW]) + (f" and {more} more" if more > 0 else "")


def combined(
    call: str, sources: Sequence[Source], work: Work, keep: bool, is_itemwise: bool = False
) -> Result:
    """The result of work(name, tensors) for each name of floating point. `is_itemwise`: an item of it depends on those
    in its place alone, so that a part of the tensors gives a part of it. Others, integers for example, are taken from
    the first source, and so is the tree. Names that not all have are an error, or kept as they are in the first source
    that has them."""
    names = list(dict.fromkeys(name for source in sources for name in source.names()))
    sets = [set(source.names()) for source in sources]
    single = [name for name in names if not all(name in own for own in sets)]
    if single and not keep:
        raise CallError(
            call,
            f"{listed(single)} {'is' if len(single) == 1 else 'are'} in some only",
            hint="with `keep!1b such tensors are kept as they are",
        )
    tensors = {}
    for name in names:
        owners = [source for source, own in zip(sources, sets, strict=True) if name in own]
        if len(owners) < len(sources) or not owners[0].is_numeric(name):
            tensors[name] = passed(owners[0], name)
        else:
            tensors[name] = _made(call, name, owners, work, is_itemwise)
    tree = sources[0].tree()
    added = {name: Named(name) for name in names if name not in sets[0]}
    if added and not isinstance(tree, dict):
        raise CallError(
            call, f"the first is no dictionary, to which {listed(list(added))} can be added"
        )
    return Result({**tree, **added} if added else tree, tensors)


def _made(call: str, name: str, sources: Sequence[Source], work: Work, is_itemwise: bool) -> Made:
    shape = sources[0].shape(name)
    for number, source in enumerate(sources):
        if source.shape(name) != shape:
            sizes = f"{list(shape)} in the first, {list(source.shape(name))} in number {number}"
            raise QError(f"{call}: size mismatch, {name} is {sizes}")
        if not source.dtype(name).is_floating_point:
            raise QError(f"{call}: {name} is of type {source.dtype(name)} in number {number}")
    memory = tuple(source.memory(name) for source in sources)
    make = partial(_work, call, work, name, sources)
    return Made(sources[0].dtype(name), shape, make, memory, part=make if is_itemwise else None)


def _work(
    call: str, work: Work, name: str, sources: Sequence[Source], start: int = 0, stop: int = -1
) -> Any:
    """The tensor of one name, or some of its items in a row; they are read one after the other."""
    problem = ""
    try:
        return work(name, _read(name, sources, start, stop))
    except ValueError as error:
        problem = str(error)
    raise QError(f"{call}: {name}: {problem}")


def _read(name: str, sources: Sequence[Source], start: int, stop: int) -> Iterator[Any]:
    """The tensor of this name of each source, or some items of it, on the device of the first."""
    device = None
    for source in sources:
        tensor = source.tensor(name) if stop < 0 else source.part(name, start, stop)
        device = tensor.device if device is None else device
        yield tensor.to(device)
        del tensor


def _factors(
    call: str, given: float | Sequence[float] | None, count: int, what: str = "weights"
) -> list[float]:
    """One number for each checkpoint; a single one, 1 if there is none, counts for all."""
    single = 1.0 if given is None else given
    numbers = [single] * count if isinstance(single, int | float) else list(single)
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        text = f"{len(numbers)} numbers" if len(numbers) != count else "a number that is not finite"
        raise CallError(call, at=what, expected=f"{count} numbers", given=text)
    return numbers


def _list_and_options(x: Value) -> tuple[Value, list[Value]]:
    """The list of checkpoints among the arguments of a call that takes one, and the other arguments. A call of
    checkpoints alone is one of a list."""
    is_names = x.__class__ is Vec and x.t == T.S
    if (
        x.__class__ is Table
        or is_names
        or (isinstance(x, List) and len(x) and is_source(x.items[0]))
    ):
        return x, []
    given = arguments(x)
    return (given[0], given[1:]) if given else (x, [])


def _averaged(call: str, x: Value, normalize: bool) -> Value:
    given, rest = _list_and_options(x)
    options = options_of(call, (WEIGHTS, TO, BYTES, KEEP), rest, 1)
    sources = sources_of(given, call)
    weights = _factors(call, options["weights"], len(sources))
    if normalize and not sum(weights):
        raise CallError(call, "the sum of the weights is 0", at="weights")

    def work(name: str, tensors: Iterator[Any]) -> Any:
        return merging.linear(tensors, weights, normalize)

    result = combined(call, sources, work, options["keep"], is_itemwise=True)
    return deliver(call, result, options["to"], options["bytes"])


@api(
    "ckptavg",
    "ckptavg list",
    "ckptavg(list;weights;to;bytes;keep)",
    held=True,
    since="kshell",
    effect="own",
    options=(WEIGHTS, TO, BYTES, KEEP),
)
def ckptavg(x: Value) -> Value:
    """The weighted mean of checkpoints, tensor by tensor: sum(w*x)%sum w, the weights 1 if not given.

    Model soups, Wortsman et al. 2022 (arXiv 2203.05482); of points of one run: stochastic weight averaging, Izmailov et
    al. 2018 (arXiv 1803.05407). Each checkpoint is a dictionary of tensors, a module, or the name of a file or folder.
    The mean is computed in float32 (double stays), in the order given, and rounded once. Integers and all other values
    are those of the first checkpoint. A name that not all have is an error; with keep it stays as it is.

    The result is a dictionary; with `to`, a file, a folder (with the most bytes of a file), or a live module, it goes
    there, one tensor at a time, and into a module whole or not at all.

    q)a:`w`n!(tensor 1 2e;tensor 3)
    q)b:`w`n!(tensor 3 6e;tensor 5)
    q)tensor each ckptavg(a;b)
    w| 2 4e
    n| 3
    q)tensor ckptavg[((a;b);1 3)]`w
    2.5 5e
    """
    return _averaged("ckptavg", x, True)


@api(
    "ckptsum",
    "ckptsum list",
    "ckptsum(list;weights;to;bytes;keep)",
    held=True,
    since="kshell",
    effect="own",
    options=(WEIGHTS, TO, BYTES, KEEP),
)
def ckptsum(x: Value) -> Value:
    """The weighted sum of checkpoints, tensor by tensor: sum w*x. Everything else is as in `ckptavg`.

    With the weights 1 -1 it is the task vector of a tuned model, with 1 1 the model again.

    q)a:(enlist`w)!enlist tensor 1 2e
    q)b:(enlist`w)!enlist tensor 3 6e
    q)tensor ckptsum[((b;a);1 -1)]`w
    2 4e
    """
    return _averaged("ckptsum", x, False)


_TASK = (WEIGHTS, LAMBDA, TO, BYTES, KEEP)


def _of_base(
    call: str, x: Value, options: tuple[Option, ...]
) -> tuple[list[Source], list[float], dict[str, Any]]:
    """The base and the other checkpoints, their weights and the options of a call `f(base;list;..)`."""
    given = arguments(x)
    if len(given) < 2:
        raise CallError(call, expecting="a base and a list of checkpoints", given=kname(x))
    found = options_of(call, options, given[2:], 2)
    sources = [source_of(given[0], call), *sources_of(given[1], call)]
    return sources, _factors(call, found["weights"], len(sources) - 1), found


@api(
    "ckpttask",
    "ckpttask(base;list)",
    "ckpttask(base;list;weights;lambda;to;bytes;keep)",
    held=True,
    since="kshell",
    effect="own",
    options=_TASK,
)
def ckpttask(x: Value) -> Value:
    """Task arithmetic: base+lambda*sum w*(x-base), the differences of tuned models from their base, added.

    Ilharco et al. 2022, "Editing models with task arithmetic" (arXiv 2212.04089). A negative weight takes a task away.
    Arguments, results and errors as for `ckptavg`.

    q)base:(enlist`w)!enlist tensor 1 1e
    q)a:(enlist`w)!enlist tensor 3 1e
    q)b:(enlist`w)!enlist tensor 1 0e
    q)tensor ckpttask[(base;(a;b))]`w
    3 0e
    q)tensor ckpttask[(base;(a;b);1 -1;.5)]`w
    2 1.5e
    """
    sources, weights, options = _of_base("ckpttask", x, _TASK)

    def work(name: str, tensors: Iterator[Any]) -> Any:
        return merging.task_arithmetic(next(tensors), list(tensors), weights, options["lambda"])

    result = combined("ckpttask", sources, work, options["keep"], is_itemwise=True)
    return deliver("ckpttask", result, options["to"], options["bytes"])


_SLERP = (TO, BYTES, KEEP)


@api(
    "ckptslerp",
    "ckptslerp(a;b;t)",
    "ckptslerp(a;b;t;to;bytes;keep)",
    held=True,
    since="kshell",
    effect="own",
    options=_SLERP,
)
def ckptslerp(x: Value) -> Value:
    """Spherical interpolation between two checkpoints: a at t=0, b at t=1, along the arc between.

    Of each pair of tensors, taken as vectors with the angle o between them, it is
    (sin[o*1-t]*a%sin o)+sin[o*t]*b%sin o; linear if they are almost parallel (cosine above .9995). Shoemake 1985,
    "Animating rotation with quaternion curves". Arguments, results and errors as for `ckptavg`.

    q)a:(enlist`w)!enlist tensor 1 0e
    q)b:(enlist`w)!enlist tensor 0 1e
    q)tensor ckptslerp[(a;b;.5)]`w
    0.7071068 0.7071068e
    """
    given = arguments(x)
    t = number_of(given[2]) if len(given) > 2 else None
    if t is None or not math.isfinite(t):
        raise CallError("ckptslerp", expecting="two checkpoints and a number")
    options = options_of("ckptslerp", _SLERP, given[3:], 3)
    sources = [source_of(item, "ckptslerp") for item in given[:2]]

    def work(name: str, tensors: Iterator[Any]) -> Any:
        return merging.slerp(next(tensors), next(tensors), t)

    result = combined("ckptslerp", sources, work, options["keep"])
    return deliver("ckptslerp", result, options["to"], options["bytes"])


_DENSITY = Option("density", "doubles", None, doc="the share of items kept of each difference")
_NORMALIZE = Option("normalize", "boolean", True, doc="divide by the weights of those that agree")
_TIES = (WEIGHTS, _DENSITY, LAMBDA, _NORMALIZE, TO, BYTES, KEEP)


def _densities(
    call: str, given: float | Sequence[float] | None, default: float, count: int
) -> list[float]:
    numbers = _factors(call, default if given is None else given, count, "density")
    if not all(0 <= number <= 1 for number in numbers):
        raise CallError(call, "a share from 0 to 1 is expected", at="density")
    return numbers


@api(
    "ckptties",
    "ckptties(base;list)",
    "ckptties(base;list;weights;density;lambda;normalize;to;bytes;keep)",
    held=True,
    since="kshell",
    effect="own",
    options=_TIES,
)
def ckptties(x: Value) -> Value:
    """TIES merging of tuned models: trim their differences from the base, elect a sign, and average those that agree.

    Of each difference the share `density` of the largest items is kept (.2 if not given). For each item the sign is
    elected that the weighted sum of all has; those with another sign are left out, and the rest is averaged with the
    weights, or added with normalize 0b. The base plus lambda times that is the result. Yadav et al. 2023,
    "TIES-merging: resolving interference when merging models" (arXiv 2306.01708). Arguments, results and errors as for
    `ckptavg`.

    q)base:(enlist`w)!enlist tensor 0 0 0e
    q)a:(enlist`w)!enlist tensor 4 -1 .5e
    q)b:(enlist`w)!enlist tensor -1 -3 0e
    q)tensor ckptties[(base;(a;b);(`density;1))]`w
    4 -2 0.5e
    """
    call = "ckptties"
    sources, weights, options = _of_base(call, x, _TIES)
    density = _densities(call, options["density"], 0.2, len(weights))

    def work(name: str, tensors: Iterator[Any]) -> Any:
        base, normalize = next(tensors), options["normalize"]
        return merging.ties(base, list(tensors), weights, density, options["lambda"], normalize)

    result = combined(call, sources, work, options["keep"])
    return deliver(call, result, options["to"], options["bytes"])


_RESCALE = Option(
    "rescale",
    "symbol",
    "paper",
    doc="what is kept is divided by density, or gets the l1 norm of all",
    choices=("paper", "l1", "none"),
)
_ELECT = Option("ties", "boolean", False, doc="elect signs, as ckptties does")
_SEED = Option("seed", "long", 0, doc="of the random numbers")
_DARE = (WEIGHTS, _DENSITY, LAMBDA, _RESCALE, _ELECT, _SEED, TO, BYTES, KEEP)


def generator(seed: int, name: str, number: int = 0) -> Any:
    """Random numbers for one tensor of a checkpoint, the same whatever else is computed."""
    data = hashlib.sha256(f"{seed} {number} {name}".encode()).digest()
    made = torch.Generator()
    made.manual_seed(int.from_bytes(data[:8], "little") >> 1)
    return made


@api(
    "ckptdare",
    "ckptdare(base;list)",
    "ckptdare(base;list;weights;density;lambda;rescale;ties;seed;to;bytes;keep)",
    held=True,
    since="kshell",
    effect="own",
    options=_DARE,
)
def ckptdare(x: Value) -> Value:
    """DARE merging of tuned models: drop items of their differences from the base at random, rescale the rest, add.

    Each item is kept with probability `density` (.5 if not given) and divided by it; with rescale `l1 all that is kept
    is multiplied so that the sum of absolute values is what it was. Then it is task arithmetic, or with the flag ties
    the election of signs of `ckptties`, added and not averaged. Yu et al. 2023, "Language models are super Mario"
    (arXiv 2311.03099). The same seed drops the same items, whatever the rest of the checkpoint is. Arguments, results
    and errors as for `ckptavg`.

    q)base:(enlist`w)!enlist tensor 1000#0e
    q)a:(enlist`w)!enlist tensor 1000#1e
    q)w:tensor ckptdare[(base;a;(`density;.25))]`w
    q)distinct w
    4 0e
    q)(avg w)within .8 1.2
    1b
    q)w~tensor ckptdare[(base;a;`density`seed!(.25;0))]`w
    1b
    """
    call = "ckptdare"
    sources, weights, options = _of_base(call, x, _DARE)
    density = _densities(call, options["density"], 0.5, len(weights))

    def work(name: str, tensors: Iterator[Any]) -> Any:
        base = next(tensors)
        masks = [
            merging.dropped(base.numel(), share, generator(options["seed"], name, number))
            for number, share in enumerate(density)
        ]
        return merging.dare(
            base,
            list(tensors),
            weights,
            density,
            masks,
            options["lambda"],
            options["rescale"],
            options["ties"],
        )

    result = combined(call, sources, work, options["keep"])
    return deliver(call, result, options["to"], options["bytes"])
