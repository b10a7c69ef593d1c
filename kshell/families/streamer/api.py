"""STREAMER's optimizer: its row, losses per layer, and layers added during training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

from kshell.extend import (
    NIL,
    CallError,
    KHandle,
    List,
    Opt,
    OptimizerHandle,
    Option,
    QError,
    TensorHandle,
    Value,
    Values,
    api,
    as_tensor,
    behaviour,
    check_new,
    floats,
    handle,
    is_empty,
    items,
    kept_parameters,
    kname,
    long_of,
    longs,
    number_of,
    optimizer_row,
    put_parameters,
    select_parameters,
)
from kshell.families import streamer

_INNER = ("adam", "adamw", "nadam", "radam", "adamax", "adagrad", "adadelta", "sgd")


def _fill(values: Values) -> None:
    """Inner optimizer options that were not given take its defaults."""
    for o in _OWN:
        name, _, item = (o.torch or o.name).partition(".")
        if values.get(o.name) is None:
            found = streamer.optimizer.defaults_of(values["inner"]).get(name)
            values[o.name] = found[int(item)] if item and found is not None else found


# options of inner optimizers; null is the inner optimizer's own default
_OWN = tuple(
    Option(name, "double", None, torch_name)
    for name, torch_name in (
        ("momentum", ""),
        ("decay", "weight_decay"),
        ("beta1", "betas.0"),
        ("beta2", "betas.1"),
        ("eps", ""),
    )
)


def _parts(x: Value) -> list[Value]:
    """The parameters of each group, from layers: a list of (encoder;predictor), one such pair, or an encoder alone."""
    found = [x] if _is_layer(x) else list(x.items) if x.__class__ is List and x.items else [x]
    layers = [layer for layer in found if _is_layer(layer)]
    if len(layers) < len(found):
        if x.__class__ is not List or not x.items or handle(x.items[0]) is not None:
            return [x, NIL]
        i = next(i for i, v in enumerate(found) if not _is_layer(v))
        raise QError(
            f"opt: layer {i} of streamer: expecting (encoder;predictor), given {kname(found[i])}"
        )
    return [part for layer in layers for part in layer.items]


def _is_layer(x: Value) -> TypeGuard[List]:
    return (
        x.__class__ is List
        and len(x) == 2
        and all(map(_is_part, x.items))
        and not all(map(is_empty, x.items))
    )


def _is_part(x: Value) -> bool:
    """Can this be the parameters of one module: an object, an object and a selection from it, or ()?"""
    if is_empty(x) or isinstance(x, KHandle):
        return True
    return (
        x.__class__ is List
        and len(x) == 2
        and isinstance(x.items[0], KHandle)
        and not isinstance(x.items[1], KHandle)
        and not is_empty(x.items[1])
    )


optimizer_row(
    "streamer",
    "kshell.families.streamer.optimizer.Streamer",
    """Layers that learn at different paces, and can be added during training.

Mounir, Vijayaraghavan and Sarkar 2023, NeurIPS. The parameters are layers, each (encoder;predictor): groups 0 and 1 are
those of layer 0, 2 and 3 those of layer 1. Call `loss(o;layer;z;timescale)` for each layer that ran, then
`step o`, which returns 1b if it updated parameters: when the top layer has had `optimize` losses. Each encoder's weight
for a loss is alpha to the power minus its distance from the layer; `groups` shows the weights. With several processes,
parameters are averaged every `average` steps.

q)f:tensor(1 2e;`grad)
q)p:tensor(1 1e;`grad)
q)o:opt(`streamer;enlist(f;p);`inner`lr`optimize!(`sgd;.5;2))
q)loss(o;0;Sum mul(f;p);2)
q)step o
0b
q)loss(o;0;Sum mul(f;p);2)
q)step o
1b
q)tensor f
0.5 1.5e
""",
    Option(
        "inner", "symbol", "adam", "", "optimizer for each encoder and predictor", choices=_INNER
    ),
    Option("lr", "double", 1e-4),
    Option("alpha", "double", 3.0, "", "factor by which a loss counts less per layer of distance"),
    Option(
        "optimize", "long", 100, "optimize_every", "losses of the top layer before an update", low=1
    ),
    Option(
        "average", "long", 1000, "average_every", "steps between averaging over processes", low=1
    ),
    Option("timescale", "boolean", True, "", "weight losses by their time scales"),
    Option("reach", "boolean", True, "", "weight losses by distance"),
    Option("maxlayers", "long", 3, "max_layers", "maximum number of layers", low=1),
    *_OWN,
    fill=_fill,
    parts=_parts,
    same=("alpha", "optimize", "average", "timescale", "reach", "maxlayers"),
    sharded=False,
    since="streamer",
)


def _streamer(x: Value, call: str) -> Opt:
    h = handle(x)
    if not isinstance(h, OptimizerHandle) or not h.obj.abilities.gathers:
        raise QError(
            f"{call}: expecting an optimizer of layers (streamer), given "
            + (h.obj.entry.name if isinstance(h, OptimizerHandle) else kname(x))
        )
    return h.obj


def _head(x: Value, call: str, n: int, what: str) -> tuple[Opt, Sequence[Value]]:
    given = items(x)
    o = _streamer(given[0] if given else x, call)
    if len(given) != n:
        raise CallError(call, f"expecting {what}")
    return o, given


@behaviour("loss", OptimizerHandle)
def _loss(h: OptimizerHandle, *rest: Value) -> Value:
    """`loss(o;layer;z;timescale)`: the loss of a layer that ran."""
    o = _streamer(h, "loss")
    layer = long_of(rest[0]) if rest else None
    scale = number_of(rest[2]) if len(rest) == 3 else 1.0
    if (
        layer is None
        or scale is None
        or not 2 <= len(rest) <= 3
        or rest[1].__class__ is not TensorHandle
    ):
        raise CallError(
            "loss", "expecting an optimizer, the number of a layer, its loss and the time scale"
        )
    o.torch.loss(layer, as_tensor(rest[1]), float(scale))
    return NIL


@api("groups", "groups(o;layer)", since="streamer", effect="none")
def groups(x: Value) -> Value:
    """The layers that the loss of a layer reaches, by distance, and the weight of each distance.

    q)o:opt(`streamer;{(x;y)}'[tensor each 4#enlist 1e;4#enlist()];`maxlayers,4)
    q)groups(o;1)
    ,1        0 2       ,3
    0.6923077 0.2307692 0.07692308
    """
    o, given = _head(x, "groups", 2, "an optimizer and the number of a layer")
    layer = long_of(given[1])
    if layer is None:
        raise CallError("groups", expecting="the number of a layer", given=kname(given[1]))
    found, weights = o.torch.groups(layer)
    return List([List([longs(g) for g in found]), floats(weights)])


@api("addlayer", "addlayer(o;(f;p))", held=True, since="streamer", effect="changes")
def addlayer(x: Value) -> Value:
    """Add a layer (encoder and predictor) on top of those of a streamer optimizer; () for no predictor.

    q)o:opt(`streamer;enlist(tensor(1e;`grad);()))
    q)addlayer(o;(tensor(2e;`grad);tensor(3e;`grad)))
    q)exec parmgroup from opt[o]`parms
    0 2 3
    """
    o, given = _head(x, "addlayer", 2, "an optimizer, and (encoder;predictor)")
    layer = given[1]
    if not _is_layer(layer):
        raise CallError("addlayer", expecting="(encoder;predictor)", given=kname(layer))
    chosen = [select_parameters(part) for part in layer.items]
    check_new(o, [param for c in chosen if c is not None for param in c.params])
    most = o.torch.settings["max_layers"]
    if o.torch.layers >= most:
        raise CallError(
            "addlayer", f"no more than {most} layer(s), the option maxlayers", says=(most,)
        )
    _put(o, 2 * o.torch.layers, layer.items)
    return NIL


def _put(o: Opt, at: int, parts: Sequence[Value]) -> None:
    """Add parameters to groups from `at` on; on an error, everything is restored."""
    back, held = kept_parameters(o), [(group, list(group["params"])) for group in o.groups]
    first = min(at, len(o.groups))
    try:
        for i, part in enumerate([NIL] * (at - first) + list(parts), first):
            put_parameters(o, i, {}, part)
    except BaseException:
        back()
        del o.groups[len(held) :]
        for group, params in held:
            group["params"][:] = params
        o.torch.attached()
        raise
