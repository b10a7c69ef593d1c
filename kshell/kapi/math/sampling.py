"""Random sampling: values drawn with given probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.math.rows import Row, register

if TYPE_CHECKING:
    from torch import Tensor


def multinomial(x: Tensor, n: int | None = None, **options: Any) -> Any:
    """torch.multinomial; by default one sample, without its own dimension."""
    return (
        torch.multinomial(x, n, **options)
        if n is not None
        else torch.multinomial(x, 1, **options).squeeze(-1)
    )


def _bernoulli(x: Tensor) -> None:
    x.copy_(torch.bernoulli(x))


ROWS = (
    Row(
        "bernoulli",
        "torch.bernoulli",
        "0 or 1, where x is the probability of 1.",
        "bernoulli 0 1 1 0f|0 1 1 0f",
        inplace=_bernoulli,
        out="copy",
    ),
    Row(
        "multinomial",
        multinomial,
        "Draw n (1) indices per row, with the row's numbers as weights; with replacement if the "
        "flag is set.",
        "multinomial(0 1 0f;3;1b)|1 1 1",
        options="n:long replace/replacement:flag",
        out="copy",
    ),
)
register(ROWS, "kapi.math.sampling")
