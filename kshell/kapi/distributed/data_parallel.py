"""Data-parallel and sharded modules: `ddp`, `fsdp`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kshell import optim, parallel
from kshell.errors import CallError, QError
from kshell.kapi.base.args import flag_of, parse_options, split
from kshell.kapi.base.call import api, told_by, with_all
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.live_optimizers import optimizers_with
from kshell.kapi.module.api import of_module
from kshell.kapi.optim.optimizer import Opt
from kshell.registry import Option
from kshell.values.base.core import NIL, Value

if TYPE_CHECKING:
    from torch import Tensor

_DDP = (
    Option(
        "unused",
        "boolean",
        False,
        "find_unused_parameters",
        doc="outputs need not depend on all parameters",
    ),
    Option(
        "bucket",
        "double",
        25.0,
        "bucket_cap_mb",
        doc="megabytes of gradients sent together",
        low=0,
    ),
)


@api(
    "ddp",
    "ddp m",
    "ddp(m;options..)",
    "ddp(m;0b)",
    held=True,
    since="kshell",
    target="torch.nn.parallel.DistributedDataParallel",
    effect="changes",
)
def ddp(x: Value) -> Value:
    """Wrap a module or model in torch's DistributedDataParallel, in place.

    backward then averages gradients over all processes. All processes start with the values of process 0; 0b removes
    the wrapper. Options: unused (outputs need not depend on all parameters, which is otherwise an error), bucket
    (megabytes of gradients sent together). With one process, nothing changes.

    q)m:module seq(`sequential;(`linear;2;3);`relu;(`linear;3;1))
    q)ddp m
    q)o:opt(`sgd;m;.1)
    q)backward Sum forward(m;4 2#1e)
    q)step o
    """
    with with_all("ddp", x):
        return _averaged(x)


def _averaged(x: Value) -> Value:
    m, rest = of_module(x, "ddp")
    if len(rest) == 1 and flag_of(rest[0]) is False:
        if parallel.around.is_sharded(m):
            raise CallError("ddp", "parameters are sharded")
        parallel.around.alone(m)
        return NIL
    options = parse_options("ddp", _DDP, *split(rest))
    if parallel.around.is_sharded(m):
        raise CallError("ddp", "parameters are sharded")
    if next(m.parameters(), None) is None:
        raise CallError("ddp", "there are no parameters")
    parallel.around.average(
        m, {o.torch: options.get(o.name, o.default) for o in _DDP}, told_by("forward")
    )
    return NIL


@api(
    "fsdp",
    "fsdp m",
    held=True,
    since="kshell",
    target="torch.distributed.fsdp.fully_shard",
    effect="changes",
)
def fsdp(x: Value) -> Value:
    """Shard a module or model with torch's FSDP2, in place.

    Each process stores a shard of every parameter, gradient and optimizer buffer; layers are gathered only while they
    are computed, and gradients are averaged over all processes. All processes start with the values of process 0.
    Optimizers that have the parameters continue with the shards; earlier handles of parameters no longer change.
    Functions that read parameters (`state`, `dict parms`, `tensor`) gather them, so all processes must call them; the
    same applies to `evaluate` and `forward`. With one process, nothing changes.

    q)m:module seq(`sequential;(`linear;2;3);`relu;(`linear;3;1))
    q)fsdp m
    q)o:opt(`adam;m)
    q)backward Sum forward(m;4 2#1e)
    q)step o
    q)size parms m
    0.weight| 3 2
    0.bias  | ,3
    2.weight| 1 3
    2.bias  | ,1
    """
    with with_all("fsdp", x):
        return _sharded(x)


def _check_shardable(o: Opt, held: set[int]) -> None:
    """A q error for an optimizer that does not support sharded parameters; `held` has the ids of those to shard."""
    extra = optim.state_tree.leaves_of(o.state.extra())
    whole = any(isinstance(v, torch.Tensor) and v.is_floating_point() for _, v in extra)
    if o.wraps or not o.record.sharded or whole:
        told = f"{o.entry.name} with `{next(iter(o.wraps))}" if o.wraps else o.entry.name
        raise QError(f"fsdp: {told} does not take sharded parameters")
    for _, t, p in o.state.buffers():
        if id(p) in held and isinstance(t, torch.Tensor) and t.dim() and t.shape != p.shape:  # type: ignore[union-attr]
            raise CallError(
                "fsdp",
                f"{o.entry.name} has buffers that cannot be sharded",
                says=(o.entry.name,),
            )


def _sharded(x: Value) -> Value:
    def part_of(value: object, p: Tensor) -> Any:
        return parallel.around.part_like(value, p) if isinstance(value, torch.Tensor) else value

    m, rest = of_module(x, "fsdp")
    if rest:
        raise QError(f"fsdp: expecting 1 arg, given {len(rest) + 1}")
    parallel.around.check_shards(m)
    if not parallel.group.joined():
        return NIL
    held = {id(param) for param in m.parameters()}
    using = optimizers_with(m.parameters())
    for o in using:
        _check_shardable(o, held)
    new = parallel.around.shard(m, told_by("forward"))
    for o in using:
        o.placed = o.contents = None
        o.state.exchange(new, lambda leaf, p: part_of(leaf.value, p))
        for submodule in () if o.container is None else o.container.modules():
            submodule._parameters.update(
                {
                    name: new[id(value)]
                    for name, value in submodule._parameters.items()
                    if id(value) in new
                }
            )
    return NIL
