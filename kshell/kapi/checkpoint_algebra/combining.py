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
from kshell.kapi.checkpoint_algebra.options import (
    BYTES,
    DENSITY,
    KEEP,
    LAMBDA,
    SEED,
    TO,
    WEIGHTS,
    options_of,
)
from kshell.kapi.checkpoint_algebra.problems import first_few
from kshell.kapi.checkpoint_algebra.results import Made, Result, deliver, passed
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

Work = Callable[[str, Iterator[Any]], Any]


def combined(
    call: str, sources: Sequence[Source], work: Work, keep: bool, is_itemwise: bool = False
) -> Result:
    """The result of work(name, tensors) for each name of floating-point tensors. `is_itemwise`: an item of it depends
    only on the items in the same place, so that parts of the tensors give a part of it. Other tensors, and the tree,
    are taken from the first source. Names that some sources lack are an error, or with `keep` taken from the first
    source that has them."""
    names = list(dict.fromkeys(name for source in sources for name in source.names()))
    sets = [set(source.names()) for source in sources]
    single = [name for name in names if not all(name in own for own in sets)]
    if single and not keep:
        raise CallError(
            call,
            f"{first_few(single)} {'is' if len(single) == 1 else 'are'} in some only",
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
            call, f"the first is no dictionary, to which {first_few(list(added))} can be added"
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


def factors(
    call: str, given: float | Sequence[float] | None, count: int, what: str = "weights"
) -> list[float]:
    """One number for each checkpoint or adapter; a single one, 1 if none is given, is that of all."""
    single = 1.0 if given is None else given
    numbers = [single] * count if isinstance(single, int | float) else list(single)
    if len(numbers) != count or not all(map(math.isfinite, numbers)):
        text = f"{len(numbers)} numbers" if len(numbers) != count else "a number that is not finite"
        raise CallError(call, at=what, expected=f"{count} numbers", given=text)
    return numbers


def _list_and_options(x: Value) -> tuple[Value, list[Value]]:
    """The list of checkpoints, and the other arguments, of a call `f(list;..)`. If all arguments are checkpoints, they
    are the list."""
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
    options = options_of(call, rest, 1)
    sources = sources_of(given, call)
    weights = factors(call, options["weights"], len(sources))
    if normalize and not sum(weights):
        raise CallError(call, "the sum of the weights is 0", at="weights")

    def work(name: str, tensors: Iterator[Any]) -> Any:
        return merging.linear(tensors, weights, normalize)

    result = combined(call, sources, work, options["keep"], is_itemwise=True)
    return deliver(call, result, options)


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

    Model soups, Wortsman et al. 2022 (arXiv 2203.05482); of checkpoints of one run, stochastic weight averaging,
    Izmailov et al. 2018 (arXiv 1803.05407). Each checkpoint is a dictionary of tensors, a module, or the name of a file
    or folder. The mean is computed in float32 (float64 for tensors of that type), in the order given, and rounded once.
    Integers and all other values are taken from the first checkpoint. A name that some checkpoints lack is an error;
    with the flag keep, its tensor is taken from the first that has it.

    The result is a dictionary. With `to` it is written, one tensor at a time, to a file or to a folder (whose files
    have at most `bytes` bytes), or put into a live module, all tensors or none.

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

    With the weights 1 -1, the sum of a tuned model and its base is a task vector.

    q)a:(enlist`w)!enlist tensor 1 2e
    q)b:(enlist`w)!enlist tensor 3 6e
    q)tensor ckptsum[((b;a);1 -1)]`w
    2 4e
    """
    return _averaged("ckptsum", x, False)


def _of_base(call: str, x: Value) -> tuple[list[Source], list[float], dict[str, Any]]:
    """The base and the other checkpoints, their weights and the options of a call `f(base;list;..)`."""
    given = arguments(x)
    if len(given) < 2:
        raise CallError(call, expecting="a base and a list of checkpoints", given=kname(x))
    options = options_of(call, given[2:], 2)
    sources = [source_of(given[0], call), *sources_of(given[1], call)]
    return sources, factors(call, options["weights"], len(sources) - 1), options


@api(
    "ckpttask",
    "ckpttask(base;list)",
    "ckpttask(base;list;weights;lambda;to;bytes;keep)",
    held=True,
    since="kshell",
    effect="own",
    options=(WEIGHTS, LAMBDA, TO, BYTES, KEEP),
)
def ckpttask(x: Value) -> Value:
    """Task arithmetic: add the weighted differences of tuned models to their base, base+lambda*sum w*(x-base).

    Ilharco et al. 2022, "Editing models with task arithmetic" (arXiv 2212.04089). A negative weight removes a task.
    Options, results and errors as for `ckptavg`.

    q)base:(enlist`w)!enlist tensor 1 1e
    q)a:(enlist`w)!enlist tensor 3 1e
    q)b:(enlist`w)!enlist tensor 1 0e
    q)tensor ckpttask[(base;(a;b))]`w
    3 0e
    q)tensor ckpttask[(base;(a;b);1 -1;.5)]`w
    2 1.5e
    """
    sources, weights, options = _of_base("ckpttask", x)

    def work(name: str, tensors: Iterator[Any]) -> Any:
        return merging.task_arithmetic(next(tensors), list(tensors), weights, options["lambda"])

    result = combined("ckpttask", sources, work, options["keep"], is_itemwise=True)
    return deliver("ckpttask", result, options)


@api(
    "ckptslerp",
    "ckptslerp(a;b;t)",
    "ckptslerp(a;b;t;to;bytes;keep)",
    held=True,
    since="kshell",
    effect="own",
    options=(TO, BYTES, KEEP),
)
def ckptslerp(x: Value) -> Value:
    """Spherical interpolation between two checkpoints: a at t=0, b at t=1, along the arc between.

    For each pair of tensors, taken as vectors with the angle o between them, it is
    (a*sin[o*1-t]%sin o)+b*sin[o*t]%sin o, or (a*1-t)+b*t if they are almost parallel (cosine above .9995). Shoemake
    1985, "Animating rotation with quaternion curves". Options, results and errors as for `ckptavg`.

    q)a:(enlist`w)!enlist tensor 1 0e
    q)b:(enlist`w)!enlist tensor 0 1e
    q)tensor ckptslerp[(a;b;.5)]`w
    0.7071068 0.7071068e
    """
    given = arguments(x)
    t = number_of(given[2]) if len(given) > 2 else None
    if t is None or not math.isfinite(t):
        raise CallError("ckptslerp", expecting="two checkpoints and a number")
    options = options_of("ckptslerp", given[3:], 3)
    sources = [source_of(item, "ckptslerp") for item in given[:2]]

    def work(name: str, tensors: Iterator[Any]) -> Any:
        return merging.slerp(next(tensors), next(tensors), t)

    result = combined("ckptslerp", sources, work, options["keep"])
    return deliver("ckptslerp", result, options)


def _densities(
    call: str, given: float | Sequence[float] | None, default: float, count: int
) -> list[float]:
    numbers = factors(call, default if given is None else given, count, "density")
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
    options=(
        WEIGHTS,
        DENSITY,
        LAMBDA,
        Option("normalize", "boolean", True, doc="divide by the weights of those that agree"),
        TO,
        BYTES,
        KEEP,
    ),
)
def ckptties(x: Value) -> Value:
    """TIES merging of tuned models: trim their differences from the base, elect a sign, and average those that agree.

    Of each difference x-base the share `density` of the items largest in absolute value is kept (.2 if not given). For
    each item the sign of the weighted sum is elected, and items of the other sign are dropped. The result is
    base+lambda*d, where d is the weighted mean of the items that are left, or their weighted sum with normalize 0b.
    Yadav et al. 2023, "TIES-merging: resolving interference when merging models" (arXiv 2306.01708). Options, results
    and errors as for `ckptavg`.

    q)base:(enlist`w)!enlist tensor 0 0 0e
    q)a:(enlist`w)!enlist tensor 4 -1 .5e
    q)b:(enlist`w)!enlist tensor -1 -3 0e
    q)tensor ckptties[(base;(a;b);(`density;1))]`w
    4 -2 0.5e
    """
    call = "ckptties"
    sources, weights, options = _of_base(call, x)
    density = _densities(call, options["density"], 0.2, len(weights))

    def work(name: str, tensors: Iterator[Any]) -> Any:
        base, normalize = next(tensors), options["normalize"]
        return merging.ties(base, list(tensors), weights, density, options["lambda"], normalize)

    result = combined(call, sources, work, options["keep"])
    return deliver(call, result, options)


def generator(seed: int, name: str, number: int = 0) -> Any:
    """The random generator for one tensor of a checkpoint, whose numbers don't depend on other tensors."""
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
    options=(
        WEIGHTS,
        DENSITY,
        LAMBDA,
        Option(
            "rescale",
            "symbol",
            "paper",
            doc="what is kept is divided by density, or gets the l1 norm of all",
            choices=("paper", "l1", "none"),
        ),
        Option("ties", "boolean", False, doc="elect signs, as ckptties does"),
        SEED,
        TO,
        BYTES,
        KEEP,
    ),
)
def ckptdare(x: Value) -> Value:
    """DARE merging of tuned models: drop items of their differences from the base at random, rescale the rest, add.

    Each item is kept with probability `density` (.5 if not given) and divided by it; with rescale `l1 the kept items
    are scaled so that the sum of absolute values stays the same, with `none they stay as they are. The differences are
    then added as in `ckpttask`, or with the flag ties after the election of signs of `ckptties`. Yu et al. 2023,
    "Language models are super Mario" (arXiv 2311.03099). The same seed drops the same items of a tensor, whatever else
    the checkpoint contains. Options, results and errors as for `ckptavg`.

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
    sources, weights, options = _of_base(call, x)
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
    return deliver(call, result, options)
