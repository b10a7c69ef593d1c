"""Gradient clipping: by norm (`clip`) and by value (`clipv`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import flag_of, items, number_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname, whole
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    TensorHandle,
    VectorHandle,
    handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.live_optimizers import optimizer_of
from kshell.kapi.train.model import Model
from kshell.values.base.build import floats
from kshell.values.base.core import NIL, NULL_J, Value, Vec, raw


def _by_norm(tensors: Iterable[Any], most: float, exponent: float) -> Any:
    """Scale gradients down; returns the previous norm as a tensor, without synchronizing."""
    return torch.nn.utils.clip_grad_norm_(list(tensors), most, exponent)


def _number(norm: Any) -> Value:
    """A norm as a number; several as a list."""
    return floats([raw(_number(n)) for n in norm]) if isinstance(norm, list) else float(whole(norm))


def _by_value(tensors: Iterable[Any], most: float) -> None:
    own = [tensor for tensor in tensors if tensor.grad is not None]
    if own:  # torch's check fails if there are none
        torch.nn.utils.clip_grad_value_(own, most)


def _tensors(h: KHandle, call: str) -> list[Any]:
    if isinstance(h, TensorHandle | VectorHandle | DictHandle):
        return [t for t in h.tensors() if t is not None]
    if isinstance(h, ModuleHandle):
        return list(h.obj.parameters())
    if isinstance(h, OptimizerHandle):
        return h.obj.parameters()
    if isinstance(h, ModelHandle):
        return h.obj.optimizer.parameters()
    raise QError(f"{call}: not implemented for {h.kind}")


def limit_of(where: str, x: Value) -> float:
    """A clipping limit; a negative one would flip gradients, and null would make them all null."""
    number = number_of(x)
    limit = math.nan if number is None or number == NULL_J.v else float(number)
    if not limit >= 0:
        raise QError(
            f"{where} is {'null' if math.isnan(limit) else f'{limit:g}'}, expecting zero or above"
        )
    return limit


def clip_model(model: Model) -> Any:
    """Clip the gradients of a model according to its training options. Returns the previous norm as a tensor, or a list
    for groups; nan if clipped by value, :: if no option requests clipping."""
    s = model.train
    norm = s["clipnorm"]
    if norm.__class__ is Vec:
        most, exponent = norm.a.tolist()
        if s["clipgroup"]:
            return [_by_norm(group["params"], most, exponent) for group in model.optimizer.groups]
        return _by_norm(model.optimizer.parameters(), most, exponent)
    value = s["clipvalue"]
    if value.__class__ is float:
        _by_value(model.optimizer.parameters(), value)
        return math.nan
    return NIL


def _head(x: Value, call: str, most: int, rest: str) -> tuple[KHandle, Sequence[Value], float]:
    args = items(x)
    h = handle(args[0]) if args else None
    if h is None:
        name, _, at = call.partition(" ")
        raise CallError(
            name, f"expects tensor(s), module, model or optimizer as 1st of 2{rest} args", at=at
        )
    if not 2 <= len(args) <= most:
        raise QError(f"{call}: expects 2{rest} args, given {len(args)}")
    limit = number_of(args[1])
    if limit is None:
        raise QError(
            f"{call}: 2nd arg, max {'value' if most == 2 else 'norm'}, is {kname(args[1])}, expecting "
            "long/double"
        )
    return h, args[2:], limit_of(f"{call}: max {'value' if most == 2 else 'norm'}", args[1])


@api(
    "clip",
    "clip(ptr;max)",
    "clip(ptr;max;exponent)",
    "clip(ptr;max;groupflag)",
    "clip(ptr;max;exponent;groupflag)",
    "clip model",
    held=True,
    target="torch.nn.utils.clip_grad_norm_",
    effect="changes",
)
def clip(x: Value) -> Value:
    """Scale gradients down so that their norm is at most a limit; returns the previous norm.

    The norm is taken over the tensors, or over all parameters of a module, optimizer or model together; with the group
    flag, over each parameter group separately. For a model alone, its training options apply.

    q)x:tensor(3 4e;`grad)
    q)backward(x;3 4e)
    q)clip(x;1)
    5f
    q)grad x
    0.5999999 0.7999998e
    """
    h = handle(x)
    if isinstance(h, ModelHandle):
        norm = clip_model(h.obj)
        return NIL if norm is NIL else _number(norm)
    call = "clip gradient norm"
    h, rest, most = _head(x, call, 4, "-4")
    exponent, groups = _exponent_and_groups(rest, call)
    if groups and isinstance(h, OptimizerHandle | ModelHandle):
        optimizer = optimizer_of(h)
        return _number([_by_norm(group["params"], most, exponent) for group in optimizer.groups])
    return _number(_by_norm(_tensors(h, call), most, exponent))


def _exponent_and_groups(rest: Sequence[Value], call: str) -> tuple[float, bool]:
    """The norm's exponent, and whether it is per group, from the arguments after the limit."""
    if not rest:
        return 2.0, False
    number, flag = number_of(rest[0]), flag_of(rest[-1])
    if len(rest) == 1 and number is None:
        if flag is None:
            raise QError(
                f"{call}: 3rd arg, group flag or norm exponent expected, given {kname(rest[0])}"
            )
        return 2.0, flag
    if number is None:
        raise QError(f"{call}: 3rd arg, norm exponent, is {kname(rest[0])}, expecting long/double")
    if len(rest) == 1:
        return limit_of(f"{call}: exponent", rest[0]), False
    if flag is None:
        raise QError(f"{call}: 4th arg, group flag, is {kname(rest[1])}, expecting boolean")
    return limit_of(f"{call}: exponent", rest[0]), flag


@api(
    "clipv", "clipv(ptr;max)", held=True, target="torch.nn.utils.clip_grad_value_", effect="changes"
)
def clipv(x: Value) -> Value:
    """Clip each gradient to the range from -max to max; returns 0n.

    q)x:tensor(1 2 3e;`grad)
    q)backward(x;1 -2 3e)
    q)clipv(x;1.5)
    0n
    q)grad x
    1 -1.5 1.5e
    """
    call = "clip gradient value"
    h, _, most = _head(x, call, 2, "")
    _by_value(_tensors(h, call), most)
    return math.nan
