"""Weight averaging: copies, running and exponential means of parameters, batch normalization statistics.

Izmailov et al. 2018, "Averaging weights leads to wider optima and better generalization" (arXiv 1803.05407).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base import guard
from kshell.kapi.base.args import items, named_values, number_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dtype_name, kname, to_tensor
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    dict_handle,
    handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.module.api import module_behind
from kshell.kapi.module.forward import calculate, in_mode, with_gradients
from kshell.kapi.train.batches import begin
from kshell.kapi.train.run import batches_of
from kshell.kapi.train.trainer import carried
from kshell.values.base.build import symdict
from kshell.values.base.core import NIL, Dict, Value, seq_items
from kshell.values.base.symbols import Sym
from kshell.values.session.interrupts import PENDING, stop_here

if TYPE_CHECKING:
    from torch.nn import Module

COUNT = ".n"  # the key for the number of averages; parameter names never start with a dot


def _module(h: KHandle, call: str) -> Any:
    """The module of a module, model or optimizer handle."""
    if not isinstance(h, ModuleHandle | ModelHandle | OptimizerHandle):
        raise QError(f"{call}: expecting module, model or optimizer, given {h.kind}")
    return module_behind(h, call)


def _head(x: Value, call: str, most: int = 2) -> tuple[KHandle, Any, list[Value]]:
    args = items(x)
    h = handle(args[0]) if args else None
    if h is None:
        raise CallError(
            call, expecting="module, model or optimizer", given=kname(args[0] if args else x)
        )
    if len(args) > most:
        raise QError(f"{call}: expecting 1-{most} args, given {len(args)}")
    return h, _module(h, call), args[1:]


def _source(x: Value, call: str) -> dict[str, Any]:
    """The tensors in a dictionary of tensors or arrays."""
    if x.__class__ is DictHandle:
        return x.get()
    if x.__class__ is Dict and all(item.__class__ is Sym for item in seq_items(x.k)):
        return {name: to_tensor(v) for name, v in named_values(x).items()}
    raise CallError(call, expecting="dictionary of tensors", given=kname(x))


@api("copyparms", "copyparms m", "copyparms(m;dict)", held=True, effect="reads1")
def copyparms(x: Value) -> Value:
    """Copy a module's parameters to a dictionary, or copy tensors from a dictionary to the parameters.

    With a dictionary, its tensors go to the parameters with the same names; the result is which of the names were
    found.

    q)m:module enlist(`linear;2;1)
    q)p:copyparms m
    q)dict(p;`bias;5)
    q)copyparms(m;p)
    weight| 1
    bias  | 1
    q)tensor parm(m;`bias)
    ,5e
    """
    _, m, rest = _head(x, "copyparms")
    own = dict(m.named_parameters())
    if not rest:
        return dict_handle({key: value.detach().clone() for key, value in own.items()})
    source = _source(rest[0], "copyparms")
    new = {
        key: value.to(device=own[key].device, dtype=own[key].dtype)
        for key, value in source.items()
        if key in own and value is not None
    }
    for k, value in new.items():  # check all shapes before copying anything
        if torch.broadcast_tensors(own[k], value)[0].shape != own[k].shape:
            raise QError(
                f"copyparms: size {list(value.shape)} of {k} does not fit {list(own[k].shape)}"
            )
    with torch.no_grad():
        for k, value in new.items():
            own[k].copy_(value)
    return symdict(list(own), [k in new for k in own])


@api(
    "avgparms",
    "avgparms(m;dict)",
    held=True,
    target="torch.optim.swa_utils.AveragedModel",
    effect="changes",
)
def avgparms(x: Value) -> Value:
    """Update the running means of a module's parameters in a dictionary.

    The result is the number of parameter sets averaged, including the first copy; it is stored in the dictionary as
    `.n`.

    q)m:module enlist(`linear;2;1)
    q)p:copyparms m
    q)parm(m;`bias;10e);dict(p;`bias;enlist 5e)
    q)avgparms(m;p)
    2
    q)dict(p;`bias)
    ,7.5e
    """
    _, m, rest = _head(x, "avgparms")
    if len(rest) != 1 or rest[0].__class__ is not DictHandle:
        raise CallError("avgparms", "expecting (module;dictionary of tensors)")
    means, own, n = _averaged(m, rest[0], "avgparms")
    with torch.no_grad():
        # check all before setting any
        new = {
            key: means[key] + (value.to(means[key]) - means[key]) / (n + 1)
            for key, value in own.items()
        }
        for key, value in new.items():
            if value.shape == means[key].shape:
                means[key].copy_(value)
            else:
                means[key] = value
    means[COUNT] = torch.tensor(n + 1, dtype=torch.float64)
    return int(n) + 1


def _averaged(m: Module, h: DictHandle, call: str) -> tuple[dict[str, Any], dict[str, Any], float]:
    """The means in a dictionary, the module's parameters that have one there, and the number of averages."""
    means: dict[str, Any] = h.get()
    own = {
        name: param.detach() for name, param in m.named_parameters() if means.get(name) is not None
    }
    if not own:
        raise CallError(call, "no parameter in the dictionary", says=("dictionary",))
    return means, own, 1.0 if means.get(COUNT) is None else float(means[COUNT])


def _check_means(means: dict[str, Any], own: dict[str, Any]) -> None:
    """A q error for averages that are not floating-point tensors with the parameters' sizes."""
    for k, value in own.items():
        if means[k].shape != value.shape:
            raise QError(f"emaparms: size {list(means[k].shape)} of {k} is not {list(value.shape)}")
        if not means[k].is_floating_point():
            raise QError(
                f"emaparms: {k} is {dtype_name(means[k].dtype)}, expecting a floating-point type"
            )


@api(
    "emaparms",
    "emaparms(m;dict;decay)",
    held=True,
    since="kshell",
    target="torch.optim.swa_utils.get_ema_avg_fn",
    effect="changes",
)
def emaparms(x: Value) -> Value:
    """Update the exponential moving averages (EMA) of a module's parameters in a dictionary.

    Each becomes decay*average + (1-decay)*parameter. The result is the number of parameter sets averaged, including the
    first copy; it is stored in the dictionary as `.n`. `copyparms m` makes the initial dictionary, `copyparms(m;dict)`
    copies the averages into a module. `avgparms` weights all updates equally.

    q)m:module enlist(`linear;2;1)
    q)parm(m;`bias;1e)
    q)p:copyparms m
    q)parm(m;`bias;2e)
    q)emaparms(m;p;.9)
    2
    q)dict(p;`bias)
    ,1.1e
    """
    _, m, rest = _head(x, "emaparms", 3)
    decay = number_of(rest[1]) if len(rest) == 2 else None
    if len(rest) != 2 or rest[0].__class__ is not DictHandle or decay is None:
        raise CallError("emaparms", "expecting (module;dictionary of tensors;decay)")
    if not 0 <= decay <= 1:
        raise CallError("emaparms", f"decay {decay:g} is not between 0 and 1", says=(f"{decay:g}",))
    means, own, n = _averaged(m, rest[0], "emaparms")
    _check_means(means, own)
    with torch.no_grad():
        for group in _alike(means, own):
            torch._foreach_lerp_(
                [means[k] for k in group], [own[k].to(means[k]) for k in group], 1 - float(decay)
            )
    means[COUNT] = torch.tensor(n + 1, dtype=torch.float64)
    return int(n) + 1


def _alike(means: dict[str, Any], own: dict[str, Any]) -> list[list[str]]:
    """The names of parameters grouped by data type and device of their means, so that each group takes one call."""
    names: dict[Any, list[str]] = {}
    for k in own:
        names.setdefault((means[k].dtype, means[k].device), []).append(k)
    return list(names.values())


def _norms(m: Module) -> dict[str, Any]:
    """The batch normalizations of a module, by name."""
    return {
        name: submodule
        for name, submodule in m.named_modules()
        if isinstance(submodule, torch.nn.modules.batchnorm._BatchNorm)
    }


@api(
    "batchnorm",
    "batchnorm m",
    "batchnorm(m;dict)",
    target="torch.optim.swa_utils.update_bn",
    effect="changes",
)
def batchnorm(x: Value) -> Value:
    """Reset the running statistics of a module's batch normalizations, and set their momentum to none (plain averages).

    The result is the previous momenta; with a dictionary of momenta, set them. For a model with training data, the
    statistics are computed over the data and the momenta restored.

    q)m:module seq(`sequential;(`linear;`a;2;3);(`batchnorm1d;`b;3))
    q)batchnorm m
    b| 0.1
    q)batchnorm(m;(enlist`b)!enlist .1)
    """
    h, m, rest = _head(x, "batchnorm")
    norms = _norms(m)
    if rest:
        _set_momenta(norms, rest[0])
        return NIL
    momenta = {key: value.momentum for key, value in norms.items()}
    with guard.kept([buffer for value in norms.values() for buffer in value.buffers()]):
        for value in norms.values():
            value.reset_running_stats()
            value.momentum = None
        if isinstance(h, ModelHandle) and h.obj.data.there:
            try:
                with_gradients(False, lambda: in_mode(m, True, lambda: _pass(h)))
            finally:
                for key, value in norms.items():
                    value.momentum = momenta[key]
    return symdict(
        list(momenta), [math.nan if value is None else value for value in momenta.values()]
    )


def _pass(h: ModelHandle) -> None:
    begin(h.obj, False)
    output: Any = None
    for inputs, _ in batches_of("batchnorm", h.obj.data, h.obj.train, h.obj.module, False):
        output = calculate(h.obj.module, carried(inputs, output, h.obj.train))
        if PENDING:
            stop_here()  # restore the statistics


def _set_momenta(norms: dict[str, Any], x: Value) -> None:
    if x.__class__ is not Dict:
        raise CallError("batchnorm", expecting="dictionary of names and momenta", given=kname(x))
    momenta = {}
    for item, v in zip(seq_items(x.k), seq_items(x.v), strict=True):
        number = number_of(v)
        if item.__class__ is not Sym or item.s not in norms:
            raise QError(f"batchnorm: no batch normalization named {item!r}")
        if number is None:
            raise QError(f"batchnorm: momentum of `{item.s} is {kname(v)}, expecting long/double")
        momenta[item.s] = None if math.isnan(number) else float(number)
    for name, momentum in momenta.items():
        norms[name].momentum = momentum
