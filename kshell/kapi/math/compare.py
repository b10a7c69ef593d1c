"""Comparison and sorting functions for tensors and arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.math.rows import Row, register

if TYPE_CHECKING:
    from torch import Tensor


def _compare(name: str, doc: str, example: str) -> Row:
    return Row(name, f"torch.{name}", doc, example, inputs=2, inplace=f"{name}_")


def _special(name: str, doc: str, output: str) -> Row:
    return Row(name, f"torch.is{name}", doc, f"{name} 0 0n -0w 0w|{output}", out=False)


def _extreme(name: str, doc: str, example: str) -> Row:
    return Row(name, f"torch.{name}", doc, example, inputs=2)


def _promoted(x: Tensor, y: Tensor) -> tuple[Any, Any]:
    dtype = torch.promote_types(x.dtype, y.dtype)
    return x.to(dtype), y.to(dtype)


def isclose(x: Tensor, y: Tensor, **options: Any) -> Any:
    """torch.isclose for inputs whose types may differ."""
    return torch.isclose(*_promoted(x, y), **options)


def allclose(x: Tensor, y: Tensor, **options: Any) -> bool:
    """torch.allclose for inputs whose types may differ."""
    return bool(torch.allclose(*_promoted(x, y), **options))


def equal(x: Tensor, y: Tensor) -> bool:
    """Do two tensors have the same size and equal elements?"""
    return x.shape == y.shape and bool(torch.equal(*_promoted(x, y)))


def sort(
    x: Tensor, dim: int = -1, descending: bool = False, stable: bool = False, **out: Any
) -> Any:
    """Sorted values and the sorting indices."""
    return torch.sort(x, dim=dim, descending=descending, stable=stable, **out)


_CLOSE = "rtol:float atol:float equal_nan:flag"

ROWS = (
    _compare("eq", "Is x equal to y?", "eq(1 2 3;4 3 3)|001b"),
    _compare("ge", "Is x greater than or equal to y?", "ge(1 2 3;2)|011b"),
    _compare("gt", "Is x greater than y?", "gt(1 2 3;2)|001b"),
    _compare("le", "Is x less than or equal to y?", "le(1 2 3;2)|110b"),
    _compare("lt", "Is x less than y?", "lt(1 2 3;2)|100b"),
    _compare("ne", "Is x not equal to y?", "ne(1 2 3;1 5 3)|010b"),
    _special("finite", "Is a value finite?", "1000b"),
    _special("inf", "Is a value infinite?", "0011b"),
    _special("nan", "Is a value not a number (null)?", "0100b"),
    _special("neginf", "Is a value negative infinity?", "0010b"),
    _special("posinf", "Is a value positive infinity?", "0001b"),
    Row(
        "allclose",
        allclose,
        "Are all elements of x and y equal within a tolerance?",
        "allclose(1 2 3e;1.000001 2.000001 2.99999e)|1b",
        inputs=2,
        options=_CLOSE,
        outputs=0,
        out=False,
    ),
    Row(
        "close",
        isclose,
        "Is each element of x equal to that of y within a tolerance?",
        "close(1 2 3e;1 2.00001 3.0001e)|110b",
        inputs=2,
        options=_CLOSE,
        out=False,
    ),
    Row(
        "equal",
        equal,
        "Do x and y have the same size and equal elements?",
        "equal(1 2 3;1 2 3)|1b",
        inputs=2,
        outputs=0,
        out=False,
    ),
    _extreme(
        "fmax", "The larger of x and y; a null only if both are.", "fmax(1 2 0n;1 3 3)|1 3 3f"
    ),
    _extreme(
        "fmin", "The smaller of x and y; a null only if both are.", "fmin(1 2 0n;1 3 3)|1 2 3f"
    ),
    _extreme(
        "maximum", "The larger of x and y; a null if either is.", "maximum(1 2 0n;1 3 3)|1 3 0n"
    ),
    _extreme(
        "minimum", "The smaller of x and y; a null if either is.", "minimum(1 2 0n;1 3 3)|1 2 0n"
    ),
    Row(
        "sort",
        sort,
        "Sorted values and sorting indices along a dimension (the last).",
        "sort 5 2 9|2 5 9\\n1 0 2",
        options="dim:dim descending:flag stable:flag",
        outputs=2,
    ),
    Row("msort", "torch.msort", "Sort along the first dimension.", "msort(3 1;2 5)|2 1\\n3 5"),
    Row(
        "argsort",
        "torch.argsort",
        "Sorting indices along a dimension (the last).",
        "argsort 5 2 9|1 0 2",
        options="dim:dim descending:flag",
        out=False,
    ),
    Row(
        "topk",
        "torch.topk",
        "The k largest (0b: smallest) values and their indices, along a dimension (the last).",
        "topk(100.5+til 7;3)|106.5 105.5 104.5\\n6     5     4",
        options="k:long* dim:dim largest:flag sorted:flag",
        outputs=2,
    ),
    Row(
        "kthvalue",
        "torch.kthvalue",
        "The k-th smallest value and its index, along a dimension (the last).",
        "kthvalue(1 2 3 4 5;2)|2 1",
        options="k:long* dim:dim keepdim:flag",
        outputs=2,
    ),
    Row(
        "In",
        "torch.isin",
        "Is each element of x in y?",
        "In(1 2 3;3 4 5 6)|001b",
        inputs=2,
        options="assume_unique:flag invert:flag",
    ),
)
register(ROWS, "kapi.math.compare")
