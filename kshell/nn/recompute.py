"""Activation checkpointing: a module that stores only its inputs, and recomputes what backward needs.

Chen et al. 2016, "Training deep nets with sublinear memory cost" (arXiv 1604.06174).
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from kshell.nn.seq import chain, parameters_of


class Recomputed(nn.Module):
    """The mixin for module classes whose `forward` does not store values for backward."""

    def forward(self, *inputs: Any, **options: Any) -> Any:
        run: Any = super().forward
        if len(inputs) > 1 and type(self).__mro__[2] is nn.Sequential:
            run = partial(chain, self)  # type: ignore[arg-type]
        if not torch.is_grad_enabled():
            return run(*inputs, **options)
        return checkpoint(run, *inputs, use_reentrant=False, **options)

    @property
    def most_inputs(self) -> int:
        found = getattr(super(), "most_inputs", None)
        return parameters_of(super().forward) if found is None else int(found)


_CLASSES: dict[type, type] = {}


def recomputes(m: nn.Module) -> bool:
    """Does the module recompute?"""
    return isinstance(m, Recomputed)


def set_recompute(m: nn.Module, flag: bool) -> None:
    """Turn recomputation on or off for a module: its class becomes a subclass that recomputes, or the original one."""
    if flag is recomputes(m):
        return
    if not flag:
        if m.__class__ not in _CLASSES.values():  # torch has changed its class
            raise ValueError("parameters are sharded")
        m.__class__ = m.__class__.__mro__[2]
        return
    own = m.__class__
    made = _CLASSES.get(own)
    if made is None:
        made = _CLASSES[own] = type(own.__name__, (Recomputed, own), {"__module__": own.__module__})
    m.__class__ = made
