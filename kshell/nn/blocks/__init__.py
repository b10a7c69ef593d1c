"""Building blocks of today's models: positions, attention with a cache, gated layers, experts, adapters, containers.

Each of its modules imports torch, and is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kshell.lazy_package import lazy_package

if TYPE_CHECKING:
    from kshell.nn.blocks import (
        adapters,
        attention,
        containers,
        context,
        embeddings,
        feedforward,
        generation,
        positions,
    )
else:
    __getattr__ = lazy_package(__name__)
