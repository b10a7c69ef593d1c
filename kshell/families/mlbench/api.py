"""Distributed optimizers: wrappers for any optimizer (`agg`, `fp16`), and functions that query one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from kshell import optim
from kshell.extend import (
    NIL,
    CallError,
    Dict,
    Opt,
    OptimizerHandle,
    Option,
    QError,
    Sym,
    TensorHandle,
    Value,
    api,
    as_tensor,
    behaviour,
    class_of,
    create,
    entry_of,
    fill_options,
    flag_of,
    group_values,
    handle,
    items,
    kname,
    long_of,
    longs,
    name_of,
    optimizer_handle,
    options_q,
    parse_optimizer,
    parse_options,
    put_parameters,
    result,
    split,
    symdict,
    torch_args,
    vector_handle,
    with_all,
    wraps,
)
from kshell.families.mlbench.optimizer_rows import AGGREGATION, boolean, double

# ------------------------------------------------------------------ arguments


def _optimizer(x: Value, call: str) -> Opt:
    h = handle(x)
    if not isinstance(h, OptimizerHandle):
        raise CallError(call, expecting="an optimizer", given=kname(x))
    return h.obj


def _head(x: Value, call: str) -> tuple[Opt, Sequence[Value]]:
    """The optimizer of a call, and all its arguments."""
    given = items(x)
    return _optimizer(given[0] if given else NIL, call), given


# ------------------------------------------------------------------ aggregation

_AVERAGE = Option("average", "symbol", "world", choices=("world", "custom"))
_CLIP = double("clip", math.inf)
AGG_OPTIONS = (_AVERAGE, *AGGREGATION, _CLIP)


@wraps.kind
class AggWrap(wraps.Wrap):
    """Gradients or weights averaged over processes."""

    name = "agg"
    given = ("denom",)
    meets = True

    def __init__(self, values: dict[str, Any]) -> None:
        self.values, self.inside = values, optim.aggregate.Aggregation(**values)
        self.plain = values["average"] == "world" and values["clip"] == math.inf
        self.world = optim.comm.world

    def options(self) -> Dict:
        return options_q(AGG_OPTIONS, self.values)

    @classmethod
    def restore(cls, o: Opt, options: list[tuple[str, Value]]) -> None:
        _aggregate(
            o, fill_options("agg", AGG_OPTIONS, parse_options("agg", AGG_OPTIONS, [], options))
        )

    def idle(self) -> bool:
        return self.plain and self.world() == 1

    def aggregate(self, o: Opt, given: dict[str, Any]) -> None:
        self.inside.gradients(o.groups, given.get("denom"), clip=False)

    def clip(self, o: Opt, given: dict[str, Any]) -> None:
        if self.inside.clip != math.inf:
            optim.aggregate.clip_(o.parameters(), self.inside.clip)

    def done(self, o: Opt) -> None:
        self.inside.weights(o.groups)


def _aggregate(o: Opt, values: dict[str, Any]) -> None:
    if "fp16" in o.wraps:
        raise CallError("agg", "fp16 aggregates by options of its own")
    if o.record.closure:
        raise CallError("agg", f"{o.entry.name} calls back for the loss", says=(o.entry.name,))
    made = AggWrap(values)
    made.inside.agree("agg", o.groups)
    made.inside.weights(o.groups)
    o.wraps["agg"] = made


@api(
    "agg",
    "agg(o;`world;options..)",
    "agg(o;`custom;options..)",
    "agg o",
    held=True,
    since="kshell",
    effect="changes",
)
def agg(x: Value) -> Value:
    """Average gradients over all processes in the steps of any optimizer.

    For an optimizer alone, returns the options set. Options: average (world, or custom: `step(o;denom)` divides the sum
    by denom), bylayer (send each parameter separately), agggrad (0b: step first, then average the weights), before
    (divide before summing), clip (maximum norm of the aggregated gradients).

    q)t:tensor(1 2e;`grad)
    q)o:opt(`sgd;t;1.)
    q)agg(o;`custom)
    q)backward(t;4 8e)
    q)step(o;4)
    q)tensor t
    0 0e
    """
    o, given = _head(x, "agg")
    if len(given) == 1:
        if "agg" not in o.wraps:
            raise CallError("agg", "no aggregation set")
        return o.wraps["agg"].options()
    with with_all("agg", x):
        _not_sharded(o, "agg")
        values = parse_options("agg", AGG_OPTIONS, *split(given, 1), before=1)
        _aggregate(o, fill_options("agg", AGG_OPTIONS, values))
    return NIL


def _not_sharded(o: Opt, call: str) -> None:
    if any(hasattr(param, "full_tensor") for param in o.parameters()):
        raise CallError(call, "parameters are sharded")


# ------------------------------------------------------------------ half precision

FP16_OPTIONS = (
    double("init", 1024),
    double("factor", 2),
    Option("window", "long", 128, low=1),
    Option("max", "double", None, "most"),
    double("min", 1e-4, "least", low=0),
    _CLIP,
    _AVERAGE,
    boolean("before"),
    boolean("bylayer"),
)


@wraps.kind
class FP16Wrap(wraps.Wrap):
    """Master weights in single precision and a loss scale; the optimizer's torch object is an FP16 that wraps the
    original one."""

    name = "fp16"
    given = ("denom", "multiplier")
    meets = True

    def __init__(self, values: dict[str, Any]) -> None:
        self.values = values

    def options(self) -> Dict:
        return options_q(FP16_OPTIONS, self.values)

    @classmethod
    def restore(cls, o: Opt, options: list[tuple[str, Value]]) -> None:
        _halve(o, _fp16_values([], options, 0))


def _fp16_values(
    positional: Sequence[Value], named: Sequence[tuple[str, Value]], before: int
) -> dict[str, Any]:
    found = fill_options(
        "fp16", FP16_OPTIONS, parse_options("fp16", FP16_OPTIONS, positional, named, before=before)
    )
    if found["max"] is not None and math.isnan(found["max"]):
        found["max"] = None
    return found


def _halve(o: Opt, values: dict[str, Any]) -> None:
    """Wrap the torch optimizer of one that has made no step yet in an FP16."""
    from kshell.families.mlbench.fp16 import FP16

    _check_halvable(o)
    args = torch_args(o.entry, group_values(o.entry, o.groups[0]))

    def inner(groups: list[dict[str, Any]]) -> Any:
        return class_of(o.entry)(groups, **args)

    options = {option.torch or option.name: values[option.name] for option in FP16_OPTIONS}
    made = FP16(o.groups, inner, **options)
    made.agree("fp16")
    o.torch, o.placed, o.contents = made, None, None
    o.wraps["fp16"] = FP16Wrap(values)


def _check_halvable(o: Opt) -> None:
    """A q error for an optimizer that FP16 cannot wrap."""
    _not_sharded(o, "fp16")
    if o.record.closure:
        raise CallError("fp16", f"{o.entry.name} calls back for the loss", says=(o.entry.name,))
    if o.abilities.gathers:
        raise CallError("fp16", f"{o.entry.name} takes losses by layer", says=(o.entry.name,))
    if o.outer is not None or o.inner is not None:
        raise CallError(
            "fp16",
            f"{o.entry.name} is inside of a {type(o.outer or o.torch).__name__}",
            says=(o.entry.name,),
        )
    if o.record.dims is not None:
        raise CallError(
            "fp16",
            f"{o.entry.name} takes parameters of {o.record.dims} dimensions, and the "
            "copies are vectors",
            says=(o.entry.name,),
        )
    if o.wraps:
        raise QError(f"fp16: {'`'.join(['', *o.wraps])} already around the optimizer")
    if len(o.state):
        raise CallError("fp16", "the optimizer has already made steps", says=("optimizer",))


@api(
    "fp16",
    "fp16(parms;optimizer;options..)",
    "fp16(o;options..)",
    "fp16 o",
    held=True,
    since="kshell",
    effect="changes",
)
def fp16(x: Value) -> Value:
    """Make or wrap an optimizer for half-precision parameters: it steps single-precision copies, and scales the loss.

    `backward(o;loss)` applies the scale; `step o` is 0b if gradients overflowed: the scale is then reduced and nothing
    else changes. The optimizer is a name, or a list of name and options as for opt; one already made by opt is changed
    in place. Options: init, factor, window, max and min of the scale; clip; average, before and bylayer as in agg.
    `step(o;denom)` and `step(o;denom;multiplier)` pass a denominator (:: for none) and a factor by which the loss was
    multiplied.

    q)t:tensor(1 2e;`half`grad)
    q)o:fp16(t;(`sgd;.5);`init`window!16 2)
    q)backward(o;Sum t)
    q)step o
    1b
    q)tensor t
    0.5 1.5e
    """
    given = items(x)
    h = handle(given[0]) if given else None
    if isinstance(h, OptimizerHandle):
        o: Opt = h.obj
        if len(given) > 1:
            with with_all("fp16", x):
                _halve(o, _fp16_values(*split(given, 1), 1))
            return NIL
        if "fp16" not in o.wraps:
            raise CallError("fp16", "not set")
        return o.wraps["fp16"].options()
    with with_all("fp16", x):
        return _fp16_around(given)


def _fp16_around(given: Sequence[Value]) -> Value:
    """A new optimizer for parameters, wrapped in fp16."""
    if len(given) < 2:
        raise CallError("fp16", "expecting parameters and an optimizer")
    inner = [given[1]] if given[1].__class__ is Sym else items(given[1])
    if not inner or inner[0].__class__ is not Sym:
        raise CallError(
            "fp16", expecting="the name of an optimizer, and options", given=kname(given[1])
        )
    values = _fp16_values(*split(given, 2), 2)
    entry = entry_of(inner[0].s)
    o = create(entry, parse_optimizer(entry, *split(inner, 1), before=1))
    put_parameters(o, 0, {}, given[0])
    _halve(o, values)
    return optimizer_handle(o)


def _fp16_of(x: Value, call: str) -> Any:
    o = _optimizer(x, call)
    if "fp16" not in o.wraps:
        raise CallError(call, "expecting an optimizer made by fp16")
    return o.torch


@api("lossscale", "lossscale o", since="kshell", effect="none")
def lossscale(x: Value) -> Value:
    """The loss scale of an optimizer made by fp16.

    q)lossscale fp16(tensor(1 2e;`half`grad);`sgd;64)
    64f
    """
    return float(_fp16_of(x, "lossscale").scaler.scale)


@api("masters", "masters o", since="kshell", effect="none")
def masters(x: Value) -> Value:
    """The single-precision copies of an optimizer made by fp16, one tensor per group, in a vector.

    q)vector masters fp16(tensor(1 2e;`half`grad);`sgd)
    1 2
    """
    return vector_handle([master.detach() for master in _fp16_of(x, "masters").masters])


# ------------------------------------------------------------------ estimates, neighbours, timings


@api(
    "estimated",
    "estimated o",
    "estimated(o;t)",
    "estimated(o;t;k)",
    held=True,
    since="kshell",
    effect="changes",
)
def estimated(x: Value) -> Value:
    """The parameter estimates of sparsifiedsgd or centralizedsparsifiedsgd, as a vector of tensors.

    With t, the number of a step counted from 0, first add the parameters to these running means; k overrides the
    option's number of coordinates.

    q)t:tensor(4#1e;`grad)
    q)o:opt(`sparsifiedsgd;t;.5;`k,4)
    q)backward Sum t
    q)step o
    q)estimated(o;0)
    q)vector estimated o
    0.5 0.5 0.5 0.5
    """
    o, given = _head(x, "estimated")
    from kshell.families.mlbench.optimizers import SparsifiedSGD

    if not isinstance(o.torch, SparsifiedSGD):
        raise CallError("estimated", f"{o.entry.name} has no estimates")
    if len(given) == 1:
        return vector_handle(o.torch.estimates())
    numbers = [number for i in given[1:] if (number := long_of(i)) is not None]
    if len(given) > 3 or len(numbers) < len(given) - 1:
        raise CallError(
            "estimated", "expecting an optimizer, the number of the step and that of coordinates"
        )
    o.torch.update_estimates(*numbers)
    return NIL


@api("orthogonalize", "orthogonalize x", since="kshell", effect="none")
def orthogonalize(x: Value) -> Value:
    """Orthonormal columns with the span of a matrix, each in the direction of its own column.

    Zeros stay zeros. powersgd applies this to its products.

    q)orthogonalize(3 0f;4 1f)
    0.6 -0.8
    0.8 0.6
    """
    from kshell.families.mlbench.powersgd import orthogonalize as work

    tensor = as_tensor(x)
    if tensor is None or tensor.dim() != 2 or not tensor.is_floating_point():
        raise CallError("orthogonalize", "expecting a matrix of floats")
    return result(work(tensor), isinstance(x, TensorHandle))


@api("topo", "topo name", "topo(name;rank;world)", since="kshell", effect="none")
def topo(x: Value) -> Value:
    """The neighbours of this process, or of any, in a ring, full graph, line or star (around 0), for decentralizedsgd.

    q)topo(`ring;0;4)
    1 3
    q)topo(`star;2;4)
    ,0
    q)topo`full
    `long$()
    """
    from kshell.families.mlbench.optimizers import neighbors_of

    given = items(x)
    name = name_of(given[0]) if given else None
    numbers = [n for i in given[1:] if (n := long_of(i)) is not None]
    if len(given) == 1:
        numbers = [optim.comm.rank(), optim.comm.world()]
    if name is None or len(numbers) != 2 or len(given) not in (1, 3):
        raise CallError("topo", "expecting the name of a topology, or (name;rank;world)")
    r, n = numbers
    if not (n >= 1 and 0 <= r < n):
        raise CallError("topo", f"there is no process {r} among {n}", says=(r, n))
    return longs(neighbors_of(name, r, n))


@api("timings", "timings o", "timings(o;flag)", since="kshell", effect="reads1")
def timings(x: Value) -> Value:
    """Seconds spent in the phases of an optimizer's steps: backward, communication, update.

    1b starts measuring, 0b stops. Backward is measured in `backward(o;loss)`.

    q)o:opt(`sgd;tensor(1 2e;`grad))
    q)timings(o;1b)
    q)step o
    q)key timings o
    `backward`communication`update
    """
    o, given = _head(x, "timings")
    if len(given) == 1:
        if o.timings is None:
            raise CallError("timings", "not asked for, by timings(o;1b)")
        return symdict(list(o.timings), [float(value) for value in o.timings.values()])
    flag = flag_of(given[1])
    if flag is None or len(given) > 2:
        raise CallError("timings", "expecting an optimizer and a boolean")
    o.timings = {"backward": 0.0, "communication": 0.0, "update": 0.0} if flag else None
    return NIL


@api("traffic", "traffic[]", since="kshell", effect="none")
def traffic(x: Value) -> Value:
    """Communication by optimizers in this process so far: calls, bytes passed to collectives, seconds.

    q)traffic[]
    calls  | 0
    bytes  | 0
    seconds| 0f
    """
    meter = optim.comm.METER
    return symdict(["calls", "bytes", "seconds"], [meter.calls, meter.bytes, meter.seconds])


@behaviour("backward", OptimizerHandle)
def _backward(h: OptimizerHandle, *rest: Value) -> Value:
    """`backward(o;loss)`: compute gradients of a loss as the optimizer requires."""
    if len(rest) != 1 or not isinstance(rest[0], TensorHandle):
        raise CallError("backward", "expecting an optimizer and a loss")
    wraps.backward(h.obj, as_tensor(rest[0]))
    return NIL
