"""Counts, cumulative sums, diagonals, triangles and other functions that fit nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.math.rows import APART, Row, along_last, register

if TYPE_CHECKING:
    from torch import Tensor


def _cumulative_(name: str) -> Callable[..., Any]:
    """An in-place cumulative function along a dimension (by default the last)."""

    def run(x: Tensor, dim: int = -1, **options: Any) -> None:
        getattr(x, name)(dim, **options)

    return run


def tensordot(
    x: Tensor,
    y: Tensor,
    dims: Sequence[int] | None = None,
    other: Sequence[int] | None = None,
) -> Any:
    """torch.tensordot over a number of dimensions (2; for two numbers 0), or over given dimensions of x and y."""
    dims = dims if dims is not None else [2] if x.dim() or y.dim() else [0]
    if other is None:
        return torch.tensordot(x, y, dims if len(dims) != 1 else dims[0])
    return torch.tensordot(x, y, (dims, other))


def bincount(x: Tensor, weights: Tensor | None = None, **options: Any) -> Any:
    """torch.bincount."""
    return torch.bincount(x, weights, **options)


def flip(x: Tensor, dims: Sequence[int]) -> Any:
    """torch.flip."""
    return torch.flip(x, dims)


def _triangle(name: str, doc: str, example: str) -> Row:
    return Row(
        name, f"torch.{name}", doc, example, options="offset/diagonal:long", inplace=f"{name}_"
    )


_TYPED = "dim:dim dtype:dtype"

ROWS = (
    Row(
        "bincount",
        bincount,
        "The number of occurrences of each integer from 0, or the sum of their weights.",
        "bincount 4 3 6 3 4|0 0 0 2 2 0 1",
        more=1,
        options="bins/minlength:long",
        out=False,
    ),
    Row(
        "cumprod",
        along_last("cumprod"),
        "Cumulative products along a dimension (the last).",
        "cumprod 1 2 3|1 2 6",
        options=_TYPED,
        inplace=_cumulative_("cumprod_"),
    ),
    Row(
        "cumsum",
        along_last("cumsum"),
        "Cumulative sums along a dimension (the last).",
        "cumsum 1 2 3|1 3 6",
        options=_TYPED,
        inplace=_cumulative_("cumsum_"),
    ),
    Row(
        "diag",
        "torch.diag",
        "The diagonal of a matrix, or a matrix with a given diagonal.",
        "diag 1 2|1 0\\n0 2",
        options="offset/diagonal:long",
    ),
    Row(
        "diagflat",
        "torch.diagflat",
        "A matrix with the elements of x on its diagonal.",
        "diagflat(1 2;1)|0 1 0\\n0 0 2\\n0 0 0",
        options="offset:long",
        out=False,
    ),
    Row(
        "diagonal",
        "torch.diagonal",
        "The diagonal along two dimensions (the first two).",
        "diagonal 2 2#1 2 3 4|1 4",
        options="offset:long dim1:dim dim2:dim",
        out=False,
    ),
    Row(
        "flatten",
        "torch.flatten",
        "Flatten the dimensions from start (0) to end (-1).",
        "flatten 2 3#til 6|0 1 2 3 4 5",
        options="start/start_dim:dim end/end_dim:dim",
        out=False,
    ),
    Row(
        "Flip",
        flip,
        "Reverse the order of elements along dimensions.",
        "Flip(2 2#1 2 3 4;0 1)|4 3\\n2 1",
        options="dims:axes*",
        out=False,
    ),
    Row(
        "histc",
        "torch.histc",
        "Count values in equal-width bins (100) from low to high; if both are 0, from the smallest "
        "to the largest value.",
        "histc(1 2 1 4f;4)|2 1 0 1f",
        options="bins:long low/min:number high/max:number",
        half=APART,
    ),
    Row(
        "renorm",
        "torch.renorm",
        "Scale slices along a dimension down to a maximum p-norm.",
        "renorm(2 2#3 4 .3 .4;2;0;1f)|0.6 0.8\\n0.3 0.4",
        options="p:number* dim:dim* maxnorm:number*",
        inplace="renorm_",
    ),
    Row(
        "roll",
        "torch.roll",
        "Shift elements along dimensions, or as one flat list; elements pushed off one end return "
        "at the other.",
        "roll(1 2 3 4;1)|4 1 2 3",
        options="shifts:dims* dims:dims",
        out=False,
    ),
    Row(
        "tensordot",
        tensordot,
        "The sum of products over dimensions: a number of them, or those of x and those of y.",
        "tensordot(2 2#1 2 3 4;2 2#0 1 1 0;2)|5",
        inputs=2,
        options="dim/dims:axes dim2/other:axes",
        out=False,
    ),
    Row(
        "trace", "torch.trace", "The sum of the diagonal elements.", "trace 3 3#til 9|12", out=False
    ),
    _triangle("tril", "The lower triangle, with zeros above.", "tril 3 3#1|1 0 0\\n1 1 0\\n1 1 1"),
    _triangle("triu", "The upper triangle, with zeros below.", "triu 3 3#1|1 1 1\\n0 1 1\\n0 0 1"),
)
register(ROWS, "kapi.math.misc")
