"""The last losses of each model, kept only while somebody watches the session's training."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from kshell.kapi.base.lazy_torch import torch

if TYPE_CHECKING:
    from torch import Tensor

MOST = 2000  # losses kept of each model


class Curve:
    """The last losses of one model. They stay on their device until somebody reads them."""

    def __init__(self) -> None:
        self.count = 0  # losses so far
        self._new: deque[Tensor] = deque(maxlen=MOST)
        self._values: deque[float] = deque(maxlen=MOST)

    def note(self, losses: Sequence[Tensor]) -> None:
        """Keep losses; of one with several elements, the mean."""
        self._new.extend(
            loss.detach() if loss.numel() == 1 else loss.detach().float().mean() for loss in losses
        )
        self.count += len(losses)

    def after(self, count: int) -> list[float]:
        """The losses behind so many, as far as they are kept."""
        if self._new:
            self._values.extend(_read(list(self._new)))
            self._new.clear()
        missing = min(max(0, self.count - count), len(self._values))
        return list(self._values)[len(self._values) - missing :]


def _read(losses: list[Tensor]) -> list[float]:
    """The numbers, read once from each device; nan for those that a tensor of the device `meta` does not have."""
    found = [math.nan] * len(losses)
    by_device: dict[Any, list[int]] = {}
    for i, loss in enumerate(losses):
        if loss.device.type != "meta":
            by_device.setdefault(loss.device, []).append(i)
    for places in by_device.values():
        values = torch.stack([losses[i].float().reshape(()) for i in places]).tolist()
        for i, value in zip(places, values, strict=True):
            found[i] = value
    return found


class Recent:
    """The curves of all models, and that of losses that were given to `backward`."""

    def __init__(self) -> None:
        self.watchers = 0
        self._curves: WeakKeyDictionary[Any, Curve] = WeakKeyDictionary()
        self._other = Curve()

    def note(self, model: Any, losses: Sequence[Tensor]) -> None:
        """Keep losses of a model, or of none."""
        curve = self.of(model)
        if curve is None:
            curve = self._curves[model] = Curve()
        curve.note(losses)

    def of(self, model: Any) -> Curve | None:
        """The curve of a model, if it has one; for None, that of losses without a model."""
        return self._other if model is None else self._curves.get(model)

    def watch(self, more: int) -> None:
        """Somebody begins to watch (1), or ends (-1). Without watchers nothing is kept."""
        self.watchers += more
        if not self.watchers:
            self._curves.clear()
            self._other = Curve()


RECENT = Recent()
