"""Losses of models that are functions of the user's or modules of any class, and the loss that an output carries.

Losses of kshell get the first tensor of an output; these get the output as forward gave it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kshell import nn, registry
from kshell.errors import CallError, QError
from kshell.kapi.base.handles import ADOPT
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.loss.calculation import calculate
from kshell.kapi.loss.user_functions import guarded, is_callable, user_function
from kshell.kapi.module.forward import first_of
from kshell.kapi.module.options import class_of
from kshell.values.base.core import NIL, Value

if TYPE_CHECKING:
    from torch.nn import Module


def loss_of(x: Value) -> Module | None:
    """The loss for a part of a model that is no loss of kshell: `::` for the loss of the output, a function; None for
    anything else."""
    if x is NIL:
        return nn.given_losses.OwnLoss()
    if is_callable(x):
        return nn.given_losses.GivenLoss(x, user_function(x, "loss"))
    return None


def missing_loss() -> Module:
    """In the place of a loss that a file does not hold."""

    def missing(*_: Any) -> Any:
        raise CallError(
            "loss",
            "the model has none: its file does not hold the function of Python; model(m;f) sets it",
            says=("model",),
        )

    return nn.given_losses.GivenLoss(NIL, missing)


def given_for(m: Module) -> Value | None:
    """What was given for a loss that is no module: a function, or `::`; None for a module."""
    if m.__class__ is nn.given_losses.OwnLoss:
        return NIL
    if m.__class__ is nn.given_losses.GivenLoss:
        given: Value = m.given
        return given
    return None


def value_of(m: Module) -> Value:
    """The q value of a loss: a handle, or what was given for it."""
    given = given_for(m)
    return ADOPT.fn(m) if given is None else given


def computed(m: Module) -> bool:
    """Is it a loss that kshell computes from tensors: of a class in its table, or one derived without a forward?"""
    own = [entry for entry in registry.entries("loss") if entry.file.startswith(registry.FOLDER)]
    computes = next((cls for cls in type(m).__mro__ if "forward" in cls.__dict__), None)
    return any(class_of(entry) is computes for entry in own)


def on_output(m: Module) -> Callable[[Any, Sequence[Any]], Any]:
    """The loss as a function of a module's output and a list of targets."""
    if m.__class__ is nn.given_losses.GivenLoss:
        fn: Callable[..., Any] = m.fn
        return lambda output, targets: _one(fn(output, *targets))
    if m.__class__ is nn.given_losses.OwnLoss:
        return lambda output, targets: _one(m(output))
    if computed(m):
        return lambda output, targets: calculate(m, [first_of(output), *targets])
    return lambda output, targets: _one(guarded(type(m).__name__, m, output, *targets))


def _one(loss: Any) -> Any:
    """A loss, which must be a tensor of one number."""
    if isinstance(loss, torch.Tensor):
        if loss.numel() == 1:
            return loss
        raise QError(
            f"loss: expected a tensor of one number, given one of size {' '.join(map(str, loss.shape))}"
        )
    raise CallError("loss", expected="a tensor of one number", given=f"a {type(loss).__name__}")
