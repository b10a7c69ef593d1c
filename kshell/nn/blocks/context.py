"""What holds for a whole forward calculation: which places are padding, where the input begins, what was seen before.

A module that needs it asks for the context, so that any container, which passes on its input alone, may be around it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

CURRENT: ContextVar[Context | None] = ContextVar("CURRENT", default=None)


class Context:
    """The circumstances of a forward calculation.

    `mask` is true where attention may look, (batch, places); `types` are the kinds of the tokens; `length` counts the
    places before the input, and `skipped` the padding at the start of each row, which does not count as places.
    `layers` are the caches of the attention modules, None without a cache."""

    def __init__(self, mask: Tensor | None = None, types: Tensor | None = None) -> None:
        self.mask, self.types = mask, types
        self.length, self.limit = 0, 0
        self.is_last_asked = False  # is only the result at the last place asked for?
        self.skipped: Tensor | None = None
        self.layers: dict[nn.Module, LayerCache] | None = None
        self.tables: dict[Hashable, Any] = {}  # what modules share within one calculation

    def advance(self, n: int) -> None:
        """The next input begins n places later."""
        self.length += n
        self.tables.clear()

    def layer(self, m: nn.Module, window: int | None) -> LayerCache | None:
        """The cache of an attention module; None without a cache."""
        if self.layers is None:
            return None
        found = self.layers.get(m)
        if found is None:
            found = self.layers[m] = LayerCache(self.limit, window)
        return found


@contextmanager
def using(context: Context) -> Iterator[Context]:
    """The context of the calculations within the block."""
    token = CURRENT.set(context)
    try:
        yield context
    finally:
        CURRENT.reset(token)


class LayerCache:
    """The keys and values that an attention module has seen, (batch * heads, places, size): all of them, or those
    within a window."""

    def __init__(self, limit: int, window: int | None) -> None:
        self.limit, self.window = limit, window
        self.keys: Any = None
        self.values: Any = None
        self.used = 0  # places of the memory

    def extended(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """The keys and values that new ones may be looked at together with, those included."""
        n = keys.size(1)
        if self.keys is None or self.used + n > self.keys.size(1):
            self._make_room(keys, values, n)
        end = self.used + n
        self.keys[:, self.used : end] = keys
        self.values[:, self.used : end] = values
        self.used = end
        start = 0 if self.window is None else max(0, end - n - self.window + 1)
        return self.keys[:, start:end], self.values[:, start:end]

    def _make_room(self, keys: Tensor, values: Tensor, n: int) -> None:
        kept = self.used if self.window is None else min(self.used, self.window - 1)
        wanted = max(self.limit, kept + n)
        if self.window is not None:
            wanted = min(wanted, kept + n + self.window)
        elif self.keys is not None:
            wanted = max(wanted, 2 * self.used)
        old = self.keys, self.values
        self.keys = keys.new_empty((keys.size(0), wanted, keys.size(2)))
        self.values = values.new_empty((values.size(0), wanted, values.size(2)))
        if old[0] is not None:
            self.keys[:, :kept] = old[0][:, self.used - kept : self.used]
            self.values[:, :kept] = old[1][:, self.used - kept : self.used]
        self.used = kept


def places(n: int, device: torch.device) -> tuple[int, Tensor | None]:
    """The place of the first of n inputs; where rows begin with padding, also the place of each input, by row."""
    context = CURRENT.get()
    if context is None:
        return 0, None
    if context.skipped is None:
        return context.length, None
    found: Tensor | None = context.tables.get("places")
    if found is None:
        count = torch.arange(context.length, context.length + n, device=device)
        found = (count - context.skipped[:, None]).clamp_(min=0)
        context.tables["places"] = found
    return context.length, found
