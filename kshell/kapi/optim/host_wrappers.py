"""Optimizers of a Python program as k-api optimizers, including those inside wrappers.

accelerate, Lightning and others wrap the optimizer in an object that has it as an attribute. Groups, options and state
are those of the inner optimizer; a step goes through the wrapper, as in the program.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from kshell import registry
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.optim.optimizer import Opt, OptimizerRecord, class_of, signature_options
from kshell.registry import Entry

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


def _held(x: Any) -> Any:
    """The optimizer or wrapper that a wrapper holds; None if x is not a wrapper."""
    attributes: Any = None
    with suppress(Exception):
        attributes = object.__getattribute__(x, "__dict__")
    if attributes.__class__ is not dict:
        return None
    return next(
        (
            y
            for n in _INSIDE
            if (y := attributes.get(n)) is not None and y is not x and is_optimizer(y)
        ),
        None,
    )


def _entry(cls: type) -> Entry | None:
    """The registered optimizer for a class."""
    return next(
        (
            entry
            for entry in registry.entries("optimizer")
            if entry.target.rsplit(".", 1)[-1] == cls.__name__ and class_of(entry) is cls
        ),
        None,
    )


def chain(x: Any) -> list[Any]:
    """x and everything that it wraps, from the outermost wrapper to the optimizer."""
    wrappers = [x]
    while _entry(type(x)) is None:
        x = _held(x)
        if x is None or any(x is y for y in wrappers):
            break
        wrappers.append(x)
    return wrappers


def adopt(x: Any, container: Any = None) -> Opt:
    """An optimizer made in plain Python as a k-api optimizer, found inside its wrappers; an unregistered class shows
    the options it has."""
    if isinstance(x, Opt):
        return x
    inner = chain(x)[-1]
    cls = type(inner)
    entry = _entry(cls) or Entry(
        cls.__name__.lower(),
        "optimizer",
        options=signature_options(cls),
        record=OptimizerRecord(cls=cls),
        target=f"{cls.__module__}.{cls.__qualname__}",
    )
    if x is inner:
        return Opt(entry, x, container)
    if len(x.param_groups) == len(inner.param_groups) and all(
        group is b for group, b in zip(x.param_groups, inner.param_groups, strict=True)
    ):
        o = Opt(entry, inner, container)
        o.outer = x
        return o
    o = Opt(
        entry, x, container
    )  # ZeroRedundancyOptimizer: the inner optimizer has only this process's parameters
    o.inner = inner
    return o
