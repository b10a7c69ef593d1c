"""Computing losses from tensors, as torch does or as the k-api always has."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.entry_kinds import KINDS
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base import guard
from kshell.kapi.base.convert import as_tensor, is_array, kname, undefined
from kshell.kapi.base.handles import (
    TensorHandle,
    VectorHandle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.python_options import inputs_of, options_of, parameters
from kshell.kapi.base.python_types import PyType, entry_of_object, factory
from kshell.kapi.module.forward import chosen_of
from kshell.kapi.module.options import TypeRecord, class_of, python_fields
from kshell.registry import Entry, Option
from kshell.values.base.core import List, Value

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

_BY_CLASS: dict[type, Entry] = {}  # of torch's


@dataclass(frozen=True, slots=True, kw_only=True)
class LossRecord(TypeRecord):
    """The fields of a loss entry besides name and options."""

    n: tuple[int, int] = (2, 2)  # minimum and maximum number of tensors
    # arguments for an example of the function with the loss's name, and the result
    eg: tuple[str, str] = (
        "",
        "",
    )
    functions: Sequence[str] = ()  # functions that replace the one with the loss's name
    # attributes in libtorch's text for the loss; None: not even brackets
    shown: Sequence[str] | None = ()
    text: str = ""  # that text, where ktorch has its own class


KINDS["loss"].record = LossRecord


@factory("loss")
def _of_python(t: PyType) -> tuple[tuple[Option, ...], LossRecord]:
    least, most = inputs_of(t.obj)
    fields = python_fields(t) | {"n": (least, most if most > 1 else 9)}
    return options_of(parameters(t.obj)), LossRecord(**fields)


def loss_record(entry: Entry) -> LossRecord:
    """The record of a loss."""
    record: LossRecord = entry.record
    return record


def type_of(m: Module) -> Entry:
    """The loss type of a live torch module."""
    if not _BY_CLASS:
        torchs = [entry for entry in registry.entries("loss") if loss_record(entry).python is None]
        _BY_CLASS.update({class_of(entry): entry for entry in torchs})
    found = entry_of_object(m, "loss", _BY_CLASS)
    if found is not None:
        return found
    raise CallError(UNSAID, f"unrecognized loss module: {type(m).__name__}", given=SAID)


def calculate(m: Module, tensors: Sequence[Any]) -> Any:
    """The loss for tensors: input, target and whatever else it takes (batch weights, lengths)."""
    least, most, special = _RULES.get(m.__class__) or _rule(m)
    count = len(tensors)
    if not least <= count <= most:
        takes = f"{least}-{most}" if most > least else str(least)
        raise QError(f"{type_of(m).name}: loss calculation expects {takes} tensors, {count} given")
    x = tensors[0]
    if x is None or tensors[-1] is None:
        raise undefined()
    device = x.device
    for tensor in tensors:
        if tensor.device != device:
            tensors = _one_device(tensors)
            break
    if not tensors[0].is_cpu:
        _on_device(m, tensors[0], tensors[1])
    if special is not None:
        return special(m, *tensors)
    weight = m._buffers.get("weight")
    if weight is not None and (weight.dtype != x.dtype or weight.device != tensors[0].device):
        m = copy.copy(m)
        m._buffers = {**m._buffers, "weight": weight.to(tensors[0])}
    return m(*tensors)


# torch class -> minimum and maximum number of tensors, and a function that computes instead of it
_RULES: dict[type, tuple[int, int, Callable[..., Any] | None]] = {}


def _rule(m: Module) -> tuple[int, int, Callable[..., Any] | None]:
    entry = type_of(m)
    rule = _RULES[m.__class__] = (*loss_record(entry).n, _SPECIAL.get(entry.name))
    return rule


def _on_device(m: Module, x: Tensor, y: Tensor) -> None:
    """Reject what the CPU implementation rejects and would kill a GPU context."""
    name = type_of(m).name
    if name in _CLASSES and guard.readable(x) and guard.readable(y):
        guard.classes(x, y, getattr(m, "ignore_index", _CLASSES[name]))
    elif name == "bce" and guard.readable(x):
        guard.probabilities(x)


# losses whose targets may be class indices, and the attribute with an index to ignore
_CLASSES = {"ce": -100, "nll": -100, "multimargin": None, "multilabel": -1}


def _one_device(tensors: Sequence[Any]) -> list[Any]:
    """CPU tensors moved to the first other device among them."""
    device = next(tensor.device for tensor in tensors if tensor.device.type != "cpu")
    return [tensor.to(device) if tensor.device.type == "cpu" else tensor for tensor in tensors]


def _bce(m: Module, x: Tensor, y: Tensor, w: Tensor | None = None) -> Any:
    """torch only accepts targets from 0 to 1; others are computed by the formula, as the k-api always has."""
    w = None if w is None else w.to(x.dtype)
    known = x.is_cpu or y.dtype is torch.bool or not y.numel() or not guard.readable(y)
    low, high = (0, 1) if known else guard.span(y)  # see guard.classes
    y = _flags(x, y)
    try:
        if low >= 0 and high <= 1:
            return torch.nn.functional.binary_cross_entropy(x, y, w, reduction=m.reduction)
    except RuntimeError as exc:
        if "target should be between 0 and 1" not in str(exc):
            raise
    losses = -(y * x.log().clamp(min=-100) + (1 - y) * (-x).log1p().clamp(min=-100))
    losses = losses if w is None else losses * w
    return (
        losses
        if m.reduction == "none"
        else losses.mean()
        if m.reduction == "mean"
        else losses.sum()
    )


def _flags(x: Tensor, y: Tensor) -> Any:
    """Integer or boolean targets converted to the input's type."""
    return y if y.is_floating_point() else y.to(x.dtype)


def _bcelogits(m: Module, x: Tensor, y: Tensor, w: Tensor | None = None) -> Any:
    class_weight = m.pos_weight
    return torch.nn.functional.binary_cross_entropy_with_logits(
        x,
        _flags(x, y),
        None if w is None else w.to(x.dtype),
        reduction=m.reduction,
        pos_weight=None if class_weight is None else class_weight.to(x),
    )


def _kl(m: Module, x: Tensor, y: Tensor) -> Any:
    """torch always warns about the mean over all elements; this computes the same number without the warning."""
    if m.reduction != "mean":
        return m(x, y)
    return torch.nn.functional.kl_div(x, y, reduction="none", log_target=m.log_target).mean()


def _ctc(m: Module, x: Tensor, y: Tensor, nx: Tensor, ny: Tensor) -> Any:
    guard.ctc(x, y, nx, ny)
    return m(x, y, nx, ny)


_SPECIAL: dict[str, Callable[..., Any]] = {
    "bce": _bce,
    "bcelogits": _bcelogits,
    "ctc": _ctc,
    "kl": _kl,
}


def inputs(args: Sequence[Value]) -> list[Any]:
    """The tensors of a call: tensor handles, vectors of them, arrays, (vector;indices), or lists of these."""
    tensors = []
    for x in args:
        if x.__class__ is TensorHandle or is_array(x):
            tensors.append(as_tensor(x))
        elif x.__class__ is VectorHandle:
            tensors.extend(x.get())
        elif x.__class__ is List:
            chosen = chosen_of(x.items, "loss")
            tensors.extend(inputs(x.items) if chosen is None else chosen)
        else:
            raise CallError("loss", f"unrecognized arg, {kname(x)}", given=SAID, expected=UNSAID)
    return tensors
