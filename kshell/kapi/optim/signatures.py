"""Options of optimizers from the signatures of their classes, and optimizers of Python's own classes and functions."""

from __future__ import annotations

import inspect
from typing import Any

from kshell.errors import QError
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.python_options import annotated
from kshell.kapi.base.python_types import PyType, mark
from kshell.registry import REQUIRED, Entry, Option
from kshell.values.base.functions import RUN_PYTHON

_TYPES = {bool: "boolean", int: "long", float: "double", str: "symbol"}
_SHORT = {"weight_decay": "decay"}
# how torch computes, not what; and flags that turn one torch class into another
HOW = ("foreach", "fused", "maximize", "capturable", "differentiable")
_OTHER = "decoupled_weight_decay"


def signature_options(cls: type) -> tuple[Option, ...]:
    """Options from the signature of a torch optimizer: numbers, flags, names and tuples of numbers with defaults."""
    options = []
    for name, value in list(inspect.signature(cls).parameters.items())[1:]:
        if name in HOW or name == _OTHER or value.kind in (value.VAR_POSITIONAL, value.VAR_KEYWORD):
            continue
        if name == "lr":
            options.append(
                Option(
                    "lr",
                    "double",
                    REQUIRED if value.default is value.empty else float(value.default),
                )
            )
        elif name == "betas" and isinstance(value.default, tuple):
            options += [
                Option(f"beta{index + 1}", "double", beta, f"betas.{index}")
                for index, beta in enumerate(value.default)
            ]
        elif type(value.default) in _TYPES:
            options.append(
                Option(_SHORT.get(name, name), _TYPES[type(value.default)], value.default, name)
            )
        elif value.default in (value.empty, None) and (kind := annotated(value)) in _TYPES.values():
            default = None if value.default is None else REQUIRED
            options.append(Option(_SHORT.get(name, name), kind, default, name))
    return tuple(options)


def called(entry: Entry, dummy: Any, keywords: dict[str, Any]) -> Any:
    """The optimizer that a class or function of Python's makes. Options that it does not keep in its groups are put
    there, since the state of an optimizer has them."""
    python: PyType = entry.record.python
    made = RUN_PYTHON.fn(entry.name, python.obj, [dummy], **keywords)
    if not isinstance(made, torch.optim.Optimizer):
        raise QError(f"{entry.name}: made a {type(made).__name__}, not an optimizer")
    mark(made, python, "optimizer", {})
    for name, value in keywords.items():
        made.param_groups[0].setdefault(name, value)
    return made
