"""Reductions: sums, means, extremes, norms, distinct values.

Options that torch requires together are completed here: keepdim alone means every dimension (or the last, where torch
works on one dimension).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base import guard
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.math.rows import Row, register

if TYPE_CHECKING:
    from torch import Tensor


def _all_dims(x: Tensor, options: dict[str, Any]) -> dict[str, Any]:
    """Options for a reduction over any dimensions: keepdim or an output without dim means all dimensions."""
    if ("keepdim" in options or "out" in options) and "dim" not in options:
        options["dim"] = tuple(range(x.dim()))
    return options


def _over(name: str) -> Callable[..., Any]:
    """A torch reduction over any dimensions."""

    def run(x: Tensor, **options: Any) -> Any:
        return getattr(torch, name)(x, **_all_dims(x, options))

    return run


def _truth(name: str) -> Callable[..., Any]:
    """torch.all or torch.any: overall or over dimensions; over the last if only keepdim is given."""
    over = _over(name)

    def run(x: Tensor, **options: Any) -> Any:
        if "keepdim" in options:
            options.setdefault("dim", -1)
        return over(x, **options)

    return run


def _along(name: str) -> Callable[..., Any]:
    """A torch reduction along one dimension, the last if only keepdim or an output is given."""

    def run(x: Tensor, **options: Any) -> Any:
        if options and "dim" not in options:
            options["dim"] = -1
        return getattr(torch, name)(x, **options)

    return run


def aminmax(x: Tensor, **options: Any) -> Any:
    """torch.aminmax; over all elements, both results are in one tensor."""
    return _along("aminmax")(x, **options) if options else torch.stack(torch.aminmax(x))


def prod(x: Tensor, **options: Any) -> Any:
    """torch.prod; keepdim without dim means all dimensions."""
    function = torch.prod
    output = options.pop("out", None)
    if "dim" in options:
        if len(options["dim"]) > 1:
            raise QError(
                f"prod: product can only be calculated along a single dimension, given {len(options['dim'])}"
            )
        options["dim"] = options["dim"][0]
        return function(x, **options, **({} if output is None else {"out": output}))
    keepdim = options.pop("keepdim", False)
    result = function(x, **options)
    result = result.reshape((1,) * x.dim()) if keepdim else result
    return result if output is None else output.resize_(result.shape).copy_(result)


def _spread(name: str) -> Callable[..., Any]:
    """std, var and the like, extended to integers, which are converted to floats first."""

    def run(x: Tensor, **options: Any) -> Any:
        if not x.is_floating_point() and not x.is_complex():
            x = x.to(torch.get_default_dtype())
        if options and "dim" not in options:
            options["dim"] = tuple(range(x.dim()))
        return getattr(torch, name)(x, **options)

    return run


def _with_mean(name: str) -> Callable[..., Any]:
    spread = _spread(name)

    def run(x: Tensor, **options: Any) -> Any:
        deviation, mean = spread(x, **options)
        return torch.stack((mean, deviation))

    return run


def logsumexp(x: Tensor, **options: Any) -> Any:
    """torch.logsumexp, which needs a dimension."""
    if "dim" not in options:
        raise CallError("logsumexp", "needs explicit dimension(s) for log of summed exponentials")
    return torch.logsumexp(x, **options)


def unique(
    x: Tensor,
    dim: int | None = None,
    sort: bool = True,
    indices: bool = False,
    counts: bool = False,
) -> Any:
    """Distinct elements (or slices along dim); on request, the index of each input among them, and counts."""
    return torch.unique(x, sorted=sort, return_inverse=indices, return_counts=counts, dim=dim)


def uniquec(x: Tensor, dim: int | None = None, indices: bool = False, counts: bool = False) -> Any:
    """The first of each run of equal elements; on request, run numbers and lengths."""
    return torch.unique_consecutive(x, return_inverse=indices, return_counts=counts, dim=dim)


def _matrix(order: str | float | None) -> Callable[..., Any]:
    """A fixed kind of matrix norm, or any with `ord`."""

    def run(
        x: Tensor, ord: float | None = None, dim: Sequence[int] = (-2, -1), **options: Any
    ) -> Any:
        return torch.linalg.matrix_norm(x, order if ord is None else ord, tuple(dim), **options)

    return run


def vector_norm(x: Tensor, **options: Any) -> Any:
    """torch.linalg.vector_norm."""
    return torch.linalg.vector_norm(x, **options)


_DIMS, _DIM, _TYPED = (
    "dim:dims keepdim:flag",
    "dim:dim keepdim:flag",
    "dim:dims keepdim:flag dtype:dtype",
)
_SPREAD = "dim:dims unbiased:flag keepdim:flag"
_M = "2 2#1 2 3 4e"

ROWS = (
    Row(
        "All",
        _truth("all"),
        "Are all elements true, overall or along a dimension?",
        "All(2 2#1101b;0)|01b",
        options=_DIMS,
    ),
    Row(
        "Any",
        _truth("any"),
        "Is any element true, overall or along a dimension?",
        "Any 010b|1b",
        options=_DIMS,
    ),
    Row(
        "amax",
        _over("amax"),
        "The maximum, overall or over dimensions.",
        "amax(2 3#til 6;1)|2 5",
        options=_DIMS,
    ),
    Row(
        "amin",
        _over("amin"),
        "The minimum, overall or over dimensions.",
        "amin(2 3#til 6;1)|0 3",
        options=_DIMS,
    ),
    Row(
        "aminmax",
        aminmax,
        "The minimum and the maximum.",
        "aminmax 3 1 2|1 3",
        options=_DIM,
        outputs=2,
        last=True,
        first_gradient="2.12",
    ),
    Row(
        "argmax",
        "torch.argmax",
        "The index of the maximum, in the flat input or along a dimension.",
        "argmax((1 3 2;6 5 4);1)|1 0",
        options=_DIM,
    ),
    Row(
        "argmin",
        "torch.argmin",
        "The index of the minimum, in the flat input or along a dimension.",
        "argmin((1 3 2;6 5 4);1)|0 2",
        options=_DIM,
    ),
    Row(
        "Max",
        _along("max"),
        "The maximum; along a dimension, the maxima and their indices.",
        "Max(2 3#til 6;0)|3 4 5\\n1 1 1",
        options=_DIM,
        outputs=2,
        last=True,
    ),
    Row(
        "Min",
        _along("min"),
        "The minimum; along a dimension, the minima and their indices.",
        "Min(2 3#til 6;0)|0 1 2\\n0 0 0",
        options=_DIM,
        outputs=2,
        last=True,
    ),
    Row(
        "mean",
        _over("mean"),
        "The mean, overall or over dimensions, optionally in a given data type.",
        "mean 1 2 3.4|2.133333",
        options=_TYPED,
        half=guard.castable,
    ),
    Row(
        "nanmean",
        _over("nanmean"),
        "The mean of the non-null values.",
        "nanmean 1 2 0n 6|3f",
        options=_TYPED,
    ),
    Row(
        "median",
        _along("median"),
        "The median; along a dimension, the medians and their indices.",
        "median 1 2 3 4 5f|3f",
        options=_DIM,
        outputs=2,
        last=True,
    ),
    Row(
        "nanmedian",
        _along("nanmedian"),
        "The median of the non-null values.",
        "nanmedian 1 2 3 0n|2f",
        options=_DIM,
        outputs=2,
        last=True,
    ),
    Row(
        "mode",
        "torch.mode",
        "The most frequent value and one of its indices, along a dimension (the last).",
        "mode 1 2 2 3|2 2",
        options=_DIM,
        outputs=2,
    ),
    Row(
        "std",
        _spread("std"),
        "Standard deviation, unbiased unless the flag is 0b.",
        "std 1 2 3 4f|1.290994",
        options=_SPREAD,
    ),
    Row(
        "variance",
        _spread("var"),
        "Variance, unbiased unless the flag is 0b.",
        "variance(1 2 3 4f;0b)|1.25",
        options=_SPREAD,
    ),
    Row(
        "meanstd",
        _with_mean("std_mean"),
        "Mean and standard deviation.",
        "meanstd 1 2 3f|2 1f",
        options=_SPREAD,
        out=False,
    ),
    Row(
        "meanvar",
        _with_mean("var_mean"),
        "Mean and variance.",
        "meanvar 1 2 3f|2 1f",
        options=_SPREAD,
        out=False,
    ),
    Row(
        "prod",
        prod,
        "The product, overall or along a dimension.",
        "prod 1 2 3 4|24",
        options=_TYPED,
    ),
    Row(
        "Sum",
        _over("sum"),
        "The sum, overall or over dimensions, optionally in a given data type.",
        "Sum(2 3#til 6;1)|3 12",
        options=_TYPED,
    ),
    Row(
        "nansum",
        _over("nansum"),
        "The sum of the non-null values.",
        "nansum 1 2 0n|3f",
        options=_TYPED,
    ),
    Row(
        "unique",
        unique,
        "Distinct elements, with indices and counts on request.",
        "unique 1 1 2 0 1|0 1 2",
        options="dim:dim sort:flag indices:flag counts:flag",
        out=False,
    ),
    Row(
        "uniquec",
        uniquec,
        "The first of each run of equal elements, with run numbers and lengths on request.",
        "uniquec 1 1 2 0 0 1|1 2 0 1",
        options="dim:dim indices:flag counts:flag",
        out=False,
    ),
    Row(
        "dist",
        "torch.dist",
        "The p-norm (2) of x minus y.",
        "dist(1 2 3e;0 3 9e)|6.164414e",
        inputs=2,
        options="p:number",
        out=False,
    ),
    Row(
        "logsumexp",
        logsumexp,
        "The logarithm of the sum of exponentials over dimensions.",
        "logsumexp(2 2#0f;1)|0.6931472 0.6931472",
        options=_DIMS,
    ),
    Row(
        "fnorm",
        _matrix("fro"),
        "Frobenius norm of matrices.",
        f"fnorm {_M}|5.477226e",
        options=_TYPED,
    ),
    Row(
        "nnorm",
        _matrix("nuc"),
        "Nuclear norm of matrices.",
        f"nnorm {_M}|5.830952e",
        options=_TYPED,
    ),
    Row(
        "mnorm",
        _matrix("fro"),
        "Matrix norm; `ord` is a float: 0w -0w 1 -1 2 -2, else Frobenius.",
        f"mnorm({_M};1f)|6e",
        options="ord:float " + _TYPED,
    ),
    Row(
        "vnorm",
        vector_norm,
        "Vector norm; `ord` is a float, 2 if not given.",
        "vnorm 3 4e|5e",
        options="ord:float " + _TYPED,
    ),
)
register(ROWS, "kapi.math.reduce")
