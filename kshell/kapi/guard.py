"""Checks before calls that end or hang the process in torch instead of raising an error (seen with the CPU build).

Others that do, and what keeps them away: sparse indices outside the size (torch's own checks are switched on when it is
loaded), offsets of embedding bags (torch checks them), linear algebra on nulls (not in the k-api).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kshell.errors import QError

WINDOW_MAX = (1 << 31) - 1  # torch takes most windows as 32-bit integers; where it does not, it walks through them
WINDOWS = ("size", "stride", "pad", "dilate")


def windows(name: str, given: dict[str, Any]) -> None:
    """The windows of a convolution or pooling, by option: `maxpool1d` does not return from one of 2^40."""
    for key in WINDOWS:
        value = given.get(key)
        sizes: Iterable[Any] = value if isinstance(value, list | tuple) else (value,)
        if any(k.__class__ is int and abs(k) > WINDOW_MAX for k in sizes):
            raise QError(f"{name}: {key} is more than {WINDOW_MAX}")


def ctc(x: Any, y: Any, nx: Any, ny: Any) -> None:
    """The inputs, targets and lengths of a ctc loss: torch reads outside its arrays if they are out of range."""
    classes, steps = x.shape[-1], x.shape[0]
    if y.numel() and (int(y.min()) < 0 or int(y.max()) >= classes):
        raise QError(f"ctc: targets must be in the range 0-{classes - 1}")
    longest = y.shape[-1] if y.dim() > 1 else y.numel()
    for name, n, limit in (("input", nx, steps), ("target", ny, longest)):
        if n.numel() and (int(n.min()) < 0 or int(n.max()) > limit):
            raise QError(f"ctc: {name} lengths must be in the range 0-{limit}")
    if y.dim() == 1 and x.dim() == 3 and int(ny.sum()) > y.numel():
        raise QError(f"ctc: target lengths add up to {int(ny.sum())}, but {y.numel()} target(s) given")
