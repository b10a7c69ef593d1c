"""MLBench's distributed optimizers: aggregation, compression, half precision.

Its modules import torch, so each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kshell.lazy_package import lazy_package

if TYPE_CHECKING:
    from kshell.families.mlbench import fp16, optimizer_rows, optimizers, powersgd
else:
    __getattr__ = lazy_package(__name__)
