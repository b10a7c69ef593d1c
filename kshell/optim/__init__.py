"""Optimizers, schedulers, wrappers and optimizer state, over torch; nothing here knows q.

Its modules import torch, so each is imported when it is first used.
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
