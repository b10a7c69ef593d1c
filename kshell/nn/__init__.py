"""Modules, losses and tensor operations built on torch that torch itself does not have.

Its modules import torch, so each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kshell.lazy_package import lazy_package

if TYPE_CHECKING:
    from kshell.nn import (
        bounds,
        callback,
        called,
        custom,
        direct,
        given_losses,
        ops,
        recompute,
        seq,
        shape,
        tables,
    )
else:
    __getattr__ = lazy_package(__name__)
