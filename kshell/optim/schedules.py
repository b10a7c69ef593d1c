"""Schedulers from torch and other libraries that are attached to an optimizer: finding them, and extending them to new
groups.

A scheduler has lists with one item per parameter group, and entries in the groups themselves. When a group is added,
its items are derived from those of the group that it came from.
"""

from __future__ import annotations

import copy
import gc
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.optim import lr_scheduler as lrs
from torch.optim import swa_utils

if TYPE_CHECKING:
    from torch.optim import Optimizer
    from torch.optim.lr_scheduler import LRScheduler

# per-group attributes: rates are scaled with a group's rate, the others are only copied
_RATES = ("base_lrs", "max_lrs", "base_values")
_OTHERS = ("lr_lambdas", "min_lrs", "base_momentums", "max_momentums")
_LAST = "_last_lr"
# in classes of other libraries
_OWN = re.compile(r"(lrs?|rates?|lambdas|momentums?|decays?|factors?|gammas?)$")
GROUP_RATES = ("initial_lr", "max_lr", "min_lr", "swa_lr")  # group entries that are rates
_HERE = ("torch.", "kshell.")

# computed from the base rates
COMPUTED = (
    lrs.LambdaLR,
    lrs.CyclicLR,
    lrs.OneCycleLR,
    lrs.CosineAnnealingWarmRestarts,
)
FOLLOWING = (
    lrs.MultiplicativeLR,
    lrs.StepLR,
    lrs.MultiStepLR,
    lrs.ConstantLR,
    lrs.LinearLR,
    lrs.ExponentialLR,
    lrs.PolynomialLR,
    lrs.CosineAnnealingLR,
    lrs.ReduceLROnPlateau,
    lrs.ChainedScheduler,
    swa_utils.SWALR,
)


def attached(optimizers: Sequence[Any]) -> list[Any]:
    """The schedulers that refer to any of these objects (an optimizer and its wrappers); a scheduler that is part of
    another is included in that."""
    out: dict[int, Any] = {}
    for optimizer in optimizers:
        found = gc.get_referrers(optimizer)
        own = [r for r in found if isinstance(r, dict) and r.get("optimizer") is optimizer]
        for r in (*found, *(gc.get_referrers(*own) if own else ())):
            if r.__class__ is not dict and r is not optimizer and _is_scheduler(r, optimizer):
                out[id(r)] = r
    parts = {id(part) for value in out.values() for part in _parts(value) if part is not value}
    return [value for key, value in out.items() if key not in parts]


def _is_scheduler(x: object, o: Optimizer) -> bool:
    own = getattr(x, "__dict__", None)
    if (
        not isinstance(own, dict)
        or own.get("optimizer") is not o
        or not callable(getattr(x, "step", None))
    ):
        return False
    return isinstance(x, lrs.LRScheduler) or any(isinstance(own.get(rate), list) for rate in _RATES)


def _parts(s: LRScheduler) -> Iterable[Any]:
    """A scheduler and its parts."""
    yield s
    for p in vars(s).get("_schedulers") or ():
        yield from _parts(p)


def _lists(s: LRScheduler, n: int) -> list[str]:
    """The attributes of a scheduler with one item for each of n groups."""
    own = vars(s)
    known = [rate for rate in (*_RATES, *_OTHERS, _LAST) if rate in own]
    if not type(s).__module__.startswith(_HERE):
        known += [k for k in own if k not in known and _OWN.search(k)]
    return [k for k in known if isinstance(own[k], list | tuple) and len(own[k]) == n]


def extend(s: LRScheduler, groups: Sequence[dict[str, Any]], source: int, ratio: float) -> None:
    """Extend a scheduler to the last of these groups, which came from the group `source` and has `ratio` times its
    rate. A scheduler for a different number of groups is left alone."""
    for part in _parts(s):
        own = vars(part)
        for inner in _lists(part, len(groups) - 1):
            held = own[inner]
            item = groups[-1]["lr"] if inner == _LAST else held[source]
            if isinstance(item, torch.Tensor):
                item = item.clone()
            own[inner] = type(held)((*held, scaled(item, ratio) if inner in _RATES else item))


def inherit(groups: Sequence[dict[str, Any]], source: int, ratio: float) -> None:
    """Copy to the last group every entry of the group `source` that it lacks; rates times `ratio`."""
    new = groups[-1]
    for key, value in groups[source].items():
        if key not in new and key != "param_names":  # torch requires names in all groups or in none
            new[key] = scaled(copy.copy(value), ratio) if key in GROUP_RATES else copy.copy(value)


def rebase(s: LRScheduler, groups: Sequence[dict[str, Any]], ratios: Sequence[float]) -> None:
    """Multiply the base rates of a scheduler, with one ratio per group."""
    for part in _parts(s):
        own = vars(part)
        for inner in _lists(part, len(groups)):
            if inner in _RATES:
                own[inner] = type(own[inner])(
                    scaled(v, ratio) for v, ratio in zip(own[inner], ratios, strict=True)
                )


def scaled(rate: Any, ratio: float) -> Any:
    """A rate times a ratio; the same object if the ratio is 1."""
    return (
        rate if ratio == 1.0 or not isinstance(rate, int | float | torch.Tensor) else rate * ratio
    )


def manner(s: LRScheduler) -> str:
    """How a scheduler treats a rate set elsewhere: `computed` (the next step overwrites it), `following` (the next step
    continues from it), or `unknown`."""
    cls = type(s)
    if isinstance(s, lrs.SequentialLR):
        return "unknown"
    return "computed" if cls in COMPUTED else "following" if cls in FOLLOWING else "unknown"
