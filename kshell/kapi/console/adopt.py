"""torch objects of a Python program as handles, and back. Nothing is copied: both sides share the object."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.kapi.base import python_types as python_types
from kshell.kapi.base.convert import dtype_name
from kshell.kapi.base.handles import (
    ADOPT,
    DictHandle,
    KHandle,
    LossHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    SchedulerHandle,
    TensorHandle,
    VectorHandle,
    ask,
    behaviour,
    dict_handle,
    loss_handle,
    module_handle,
    optimizer_handle,
    scheduler_handle,
    table,
    tensor_handle,
    vector_handle,
)
from kshell.kapi.base.python_types import made_of, type_of_class
from kshell.kapi.module.options import class_of
from kshell.kapi.optim import host_schedulers
from kshell.kapi.optim.host_wrappers import adopt, is_optimizer
from kshell.kapi.optim.optimizer import Opt
from kshell.values.base.core import Value
from kshell.values.base.symbols import sym

if TYPE_CHECKING:
    from torch.nn import Module
    from torch.optim import Optimizer

_OPT = "_kshell_opt"  # attribute of a torch optimizer with the Opt that all its handles share


@ADOPT.set
def value_of(x: Any) -> Value | None:
    """The handle for a tensor, module, loss, optimizer or scheduler, the symbol for a data type or device; None for
    anything else. The actual class counts, not `__class__`, which a proxy can fake."""
    torch, cls = sys.modules.get("torch"), type(x)
    if torch is None or not hasattr(torch, "optim"):
        return None  # if torch is not imported, nothing can be one of its objects
    if issubclass(cls, torch.Tensor):
        return tensor_handle(x)
    if issubclass(cls, torch.nn.Module):
        return loss_handle(x) if _is_loss(x) else module_handle(x)
    if is_optimizer(x):
        return optimizer_handle(opt_of(x))
    if issubclass(cls, torch.dtype):
        return sym(dtype_name(x))
    if issubclass(cls, torch.device):
        return sym(str(x))
    return _scheduler(x)


def _scheduler(x: object) -> Value | None:
    scheduler = host_schedulers.taken(x, opt_of) if host_schedulers.proper(x) is not None else None
    return None if scheduler is None else scheduler_handle(scheduler)


def _is_loss(m: Module) -> bool:
    made = made_of(m)
    if made is not None:
        return made.kind == "loss"
    if any(class_of(entry) is type(m) for entry in registry.entries("loss")):
        return True
    found = type_of_class(type(m))
    return found is not None and found.kinds[0] == "loss"


def opt_of(o: Optimizer) -> Opt:
    """The Opt of a torch optimizer, shared by all its handles. Parameters are named as in the module that contains them
    all, if the session has a handle for one."""
    known: Opt | None = o.__dict__.get(_OPT)
    if known is None:
        known = adopt(o)
        o.__dict__[_OPT] = known
    known.crossed, known.placed = True, None
    if known.container is None:
        mine = {id(param) for param in known.parameters()}
        known.container = next(
            (
                h.obj
                for h in table()
                if isinstance(h, ModuleHandle)
                and mine <= {id(param) for param in h.obj.parameters()}
            ),
            None,
        )
    return known


def all_tensors(items: Sequence[Any]) -> bool:
    """Are these all tensors, and is there at least one?"""
    torch = sys.modules.get("torch")
    return (
        torch is not None and bool(items) and all(issubclass(type(x), torch.Tensor) for x in items)
    )


def vector_of(items: Sequence[Any]) -> Value:
    """The handle for a list of tensors."""
    return vector_handle(items)


def dict_of(items: Mapping[str, Any]) -> Value:
    """The handle for a dictionary of tensors, such as a `state_dict`."""
    return dict_handle(dict(items))


def object_of(h: KHandle) -> Any:
    """The torch object of a handle; a list for a vector, a dict for a dictionary or model. Rules, and schedulers made
    in q, belong to kshell and stay handles. 'stale pointer for a freed handle."""
    return ask("to_python", h)


@behaviour("to_python", TensorHandle, ModuleHandle, LossHandle)
def _object(h: KHandle) -> Any:
    return h.obj


@behaviour("to_python", VectorHandle)
def _list(h: VectorHandle) -> Any:
    return list(h.obj)


@behaviour("to_python", DictHandle)
def _dict(h: DictHandle) -> Any:
    return dict(h.obj)


@behaviour("to_python", OptimizerHandle)
def _optimizer(h: OptimizerHandle) -> Any:
    return _given(h.obj)


@behaviour("to_python", ModelHandle)
def _model(h: ModelHandle) -> Any:
    m = h.obj
    return {"module": m.module, "loss": m.loss, "optimizer": _given(m.optimizer)}


@behaviour("to_python", SchedulerHandle)
def _scheduler_object(h: SchedulerHandle) -> Any:
    return h.obj.given if h.obj.live else h


def _given(o: Opt) -> Any:
    """The torch optimizer of a handle, or its outer wrapper, marked with what its handles own."""
    outermost = o.torch if o.outer is None else o.outer
    o.crossed, o.placed = True, None
    outermost.__dict__[_OPT] = o
    return outermost
