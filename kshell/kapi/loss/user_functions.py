"""Functions of the user's as parts of training: losses, metrics, transforms, callbacks, sources of batches.

One of Python gets torch objects and is called directly, without a q value in between; one of q gets handles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.kapi.base.handles import (
    LossHandle,
    ModuleHandle,
    TensorHandle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.q_calls import applied
from kshell.kapi.module.forward import wrapped
from kshell.kapi.module.named_inputs import as_torch, named_output
from kshell.values.base.build import string
from kshell.values.base.core import NIL, List, Value, long, seq_items
from kshell.values.base.functions import FAILED, Foreign, Function, Prim
from kshell.values.session.interrupts import stoppable
from kshell.values.session.restrict import allow_python


def is_callable(x: Value) -> bool:
    """Is x a function of q, a module, or a Python object that can be called, bare, wrapped or declared?"""
    if isinstance(x, Foreign):
        return callable(x.obj)
    return isinstance(x, Function | ModuleHandle | LossHandle)


def user_function(x: Any, part: str) -> Callable[..., Any]:
    """A function of torch objects, or of values for a part of training, that calls the user's; its exceptions are q
    errors that begin with the name of the part."""
    is_python = isinstance(x, Foreign | ModuleHandle | LossHandle)
    return _of_python(x.obj, part) if is_python else _of_q(x)


def _of_python(fn: Callable[..., Any], part: str) -> Callable[..., Any]:
    def call(*args: Any) -> Any:
        return guarded(part, fn, *args)

    return call


def guarded(part: str, fn: Callable[..., Any], *args: Any) -> Any:
    """The result of Python code of the user's, which an interrupt may stop; a q error for its exceptions."""
    allow_python(part)
    problem: QError
    try:
        return stoppable(fn, *args)
    except Exception as exc:
        problem = FAILED.fn(part, exc)
    except SystemExit as exc:
        problem = QError(f"{part}: SystemExit: {exc.code}")
    raise problem


def _of_q(f: Value) -> Callable[..., Any]:
    one_list = isinstance(f, Prim) and f.entry is not None and f.entry.kind == "api"

    def call(*args: Any) -> Any:
        given: list[Value] = [as_q(x) for x in args] or [NIL]
        return as_torch(applied(f, [List(given)] if one_list and len(given) > 1 else given))

    return call


# ------------------------------------------------------------------ torch objects and q values


def as_q(x: Any) -> Value:
    """A torch object, or several, as a q value: what `forward` gives for an output; lists and tuples item by item,
    numbers and texts; any other object stays one of Python."""
    if x.__class__ in _ATOMS:
        return _ATOMS[x.__class__](x)
    if x.__class__ in (list, tuple):
        return List([as_q(item) for item in x])
    if isinstance(x, np.ndarray):
        return TensorHandle(tensor_of_array(x))
    if isinstance(x, torch.Tensor) or named_output(x) is not None or isinstance(x, list | tuple):
        return wrapped(x)
    return Foreign(x)


_ATOMS: dict[type, Callable[[Any], Value]] = {
    type(None): lambda x: NIL,
    bool: bool,
    int: long,
    float: float,
    str: lambda x: string(x.encode("utf-8", "replace")),
}


def tensor_of_array(a: np.ndarray) -> Any:
    """The tensor of an array; a copy if the array is read-only, because torch would write to it."""
    return torch.as_tensor(a if a.flags.writeable else a.copy())


def value_of_array(x: Value) -> Value:
    """The tensor of an array of Python's as a handle; any other value is itself."""
    if isinstance(x, Foreign) and isinstance(x.obj, np.ndarray):
        return TensorHandle(tensor_of_array(x.obj))
    return x


def batch_of(x: Value) -> Any:
    """The batch for a q value: a list of its parts, even if they have one type and size; a dictionary; inputs alone."""
    return [as_torch(item) for item in seq_items(x)] if isinstance(x, List) else as_torch(x)
