"""Another number of rows for embeddings and output heads, and for the state that an optimizer keeps of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.checkpoint_algebra.merging import wide
from kshell.kapi.checkpoint_algebra.problems import problem
from kshell.values.session.interrupts import PENDING, give_up

if TYPE_CHECKING:
    from torch import Generator, Tensor

FILLS = ("zeros", "mean", "normal")
_AT_ONCE = 1 << 24  # random numbers that are held at once


def resized(
    weight: Tensor,
    rows: int,
    fill: str = "zeros",
    generator: Generator | None = None,
    spread: float = 1.0,
) -> Any:
    """The tensor with this many rows: the first of the old ones, and new ones after them, which are `zeros`, the `mean`
    of the old rows, or `normal`: drawn from the normal distribution with the mean of the old rows and `spread` times
    their covariance, `m + sqrt(spread / n) Z (W - m)` with standard normal Z.

    Hewitt 2021, "Initializing new word embeddings for pretrained language models". The mean and the sums are float32
    (float64 stays).
    """
    old = weight.detach()
    count = len(old)
    result = torch.zeros((rows, *old.shape[1:]), dtype=old.dtype, device=old.device)
    result[: min(rows, count)] = old[:rows]
    if rows > count and count and fill != "zeros":
        values = old.to(wide(old.dtype)).reshape(count, -1)
        mean = values.mean(dim=0)
        new = result[count:].reshape(rows - count, -1)
        new[:] = mean.to(old.dtype)
        if fill == "normal":
            _draw(new, values, mean, spread, generator)
    return result


def _draw(
    new: Tensor, values: Tensor, mean: Tensor, spread: float, generator: Generator | None
) -> None:
    """Fill rows with values of the distribution of others, some rows at a time."""
    count = len(values)
    at_once = max(1, _AT_ONCE // count)
    for start in range(0, len(new), at_once):
        if PENDING:
            give_up()
        part = new[start : start + at_once]
        random = torch.randn(len(part), count, generator=generator, dtype=values.dtype)
        random = random.to(values.device)
        # Z (W - m), where the sum of Z counts the mean
        moved = random @ values - random.sum(1, keepdim=True) * mean
        part[:] = (mean + moved * (spread / count) ** 0.5).to(new.dtype)


def is_by_row(key: str, size: Sequence[int], old: Sequence[int]) -> bool:
    """Has a buffer of an optimizer's state one entry, or row of entries, for each row of a parameter of this size?
    That is a buffer of the parameter's size, such as `exp_avg` or `momentum_buffer`, and Adafactor's sums of rows,
    `exp_avg_sq_row` or `row_var`."""
    size, old = tuple(size), tuple(old)
    return bool(size) and (
        size == old or ("row" in key and size[0] == old[0] and size in (old[:1], (*old[:-1], 1)))
    )


def _fits(buffers: Mapping[str, Sequence[int]], size: Sequence[int]) -> bool:
    """May these buffers be of a parameter of this size?"""
    size = tuple(size)
    rows = {key: tuple(shape) for key, shape in buffers.items() if "row" in key}
    columns = {key: tuple(shape) for key, shape in buffers.items() if "col" in key}
    if any(tuple(shape) == size for key, shape in buffers.items() if key not in rows | columns):
        return True
    wanted = [(*size[:-2], *size[-1:]), (*size[:-2], 1, *size[-1:])] if len(size) > 1 else []
    return any(is_by_row(key, shape, size) for key, shape in rows.items()) and any(
        shape in wanted for shape in columns.values()
    )


def positions(
    buffers: Mapping[Any, Mapping[str, Sequence[int]]],
    sizes: Mapping[str, Sequence[int]],
    names: Sequence[str],
    order: Sequence[str] | None = None,
) -> list[Any]:
    """The keys in an optimizer's state of the parameters with these names.

    `buffers` has the sizes of each parameter's buffers, by its key; `sizes` those of the model's tensors, in which one
    tensor with two names is only once. With `order`, the names of the parameters in the order of the optimizer's
    groups, they are counted there. Without, they are found by size, which is enough if no other tensor has it. QError
    if that is not certain.
    """
    if order is not None:
        missing = next((name for name in names if name not in order), None)
        if missing is not None:
            raise problem(f"{missing} is not among the parameters of the optimizer")
        found = [key for key in (order.index(name) for name in names) if key in buffers]
        for name, key in zip(names, (order.index(name) for name in names), strict=True):
            parts = [tuple(size) for size in buffers.get(key, {}).values() if len(size)]
            if parts and not _fits(buffers[key], sizes[name]):
                raise problem(f"parameter {key} of the optimizer has not the size of {name}")
        return found
    result: list[Any] = []
    for size in dict.fromkeys(tuple(sizes[name]) for name in names):
        wanted = [name for name in names if tuple(sizes[name]) == size]
        others = [name for name, shape in sizes.items() if tuple(shape) == size]
        keys = [key for key, parts in buffers.items() if _fits(parts, size)]
        if keys and (len(keys) > len(wanted) or len(others) > len(wanted)):
            other = next((name for name in others if name not in wanted), f"parameter {keys[-1]}")
            raise problem(
                f"{wanted[0]} and {other} have the same size: give the order of the parameters"
            )
        result += keys
    return result
