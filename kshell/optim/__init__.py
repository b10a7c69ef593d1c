"""Optimizers, schedulers, wrappers and optimizer state, based on torch; nothing here depends on q.

Its modules import torch, so each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kshell.lazy_package import lazy_package

if TYPE_CHECKING:
    from kshell.optim import (
        abilities,
        aggregate,
        comm,
        fused,
        gradients,
        groups,
        leaves,
        schedules,
        state_tree,
    )
else:
    __getattr__ = lazy_package(__name__)
