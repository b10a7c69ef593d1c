"""Optimizers of a Python program as k-api optimizers, including those inside wrappers.

accelerate, Lightning and others wrap the optimizer in an object that has it as an attribute. Groups, options and state
are those of the inner optimizer; a step goes through the wrapper, as in the program.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.python_types import made_of, type_of_class
from kshell.kapi.optim.optimizer import Opt, OptimizerRecord, class_of
from kshell.kapi.optim.signatures import signature_options
from kshell.registry import Entry

if TYPE_CHECKING:
    from torch.nn import Module

# attributes in which wrappers hold the wrapped optimizer
_INSIDE = ("optimizer", "optim", "_optimizer", "base_optimizer", "inner_optimizer", "_optim")


def is_optimizer(x: Any) -> bool:
    """Is x a torch optimizer, or something with parameter groups that wraps one? The actual class counts, not
    `__class__` or a proxy's attributes, and exceptions raised by x are suppressed."""
    if issubclass(type(x), torch.optim.Optimizer):
        return True
    if not hasattr(type(x), "step") or _held(x) is None:
        return False
    with suppress(Exception):
        return isinstance(x.param_groups, list)
    return False


def _held(x: object) -> Any:
    """The optimizer or wrapper that a wrapper holds; None if x is not a wrapper."""
    attributes: Any = None
    with suppress(Exception):
        attributes = object.__getattribute__(x, "__dict__")
    if attributes.__class__ is not dict:
        return None
    return next(
        (
            y
            for name in _INSIDE
            if (y := attributes.get(name)) is not None and y is not x and is_optimizer(y)
        ),
        None,
    )


def _entry(x: Any) -> Entry | None:
    """The registered optimizer for the class of an object."""
    cls = type(x)
    made, python = made_of(x), type_of_class(cls)
    if made is not None:
        return made.type.entry("optimizer")
    found = next(
        (
            entry
            for entry in registry.entries("optimizer")
            if entry.target.rsplit(".", 1)[-1] == cls.__name__ and class_of(entry) is cls
        ),
        None,
    )
    return python.entry("optimizer") if found is None and python is not None else found


def chain(x: object) -> list[Any]:
    """x and everything that it wraps, from the outermost wrapper to the optimizer."""
    wrappers = [x]
    while _entry(x) is None:
        x = _held(x)
        if x is None or any(x is wrapper for wrapper in wrappers):
            break
        wrappers.append(x)
    return wrappers


def adopt(x: Any, container: Module | None = None) -> Opt:
    """An optimizer made in plain Python as a k-api optimizer, found inside its wrappers; an unregistered class shows
    the options it has."""
    if isinstance(x, Opt):
        return x
    inner = chain(x)[-1]
    inner_class = type(inner)
    entry = _entry(inner) or Entry(
        inner_class.__name__.lower(),
        "optimizer",
        options=signature_options(inner_class),
        record=OptimizerRecord(cls=inner_class),
        target=f"{inner_class.__module__}.{inner_class.__qualname__}",
    )
    if x is inner:
        return Opt(entry, x, container)
    if len(x.param_groups) == len(inner.param_groups) and all(
        group is inner_group
        for group, inner_group in zip(x.param_groups, inner.param_groups, strict=True)
    ):
        optimizer = Opt(entry, inner, container)
        optimizer.outer = x
        return optimizer
    # ZeroRedundancyOptimizer: the inner optimizer has only this process's parameters
    optimizer = Opt(entry, x, container)
    optimizer.inner = inner
    return optimizer
