"""torch functions that ktorch does not have: selecting and scattering elements, splitting and joining, search, bits,
tensors like others.

A name that q already uses begins with a capital: Where, Diff, Cov.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base import guard
from kshell.kapi.base.args import items, looks_paired
from kshell.kapi.base.call import api, reserve
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import KHandle, VectorHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.math.choosing import CHOOSING, PARTS, row
from kshell.kapi.math.row_options import match, option_words
from kshell.kapi.math.rows import Row, along_last, inputs, register, wrapped
from kshell.values.base import types as T
from kshell.values.base.core import NIL, Value, Vec, is_atom

if TYPE_CHECKING:
    from torch import Tensor

EFFECT = "none"  # default for the functions here


def _quantiles(name: str) -> Callable[..., Any]:
    """A torch quantile function, extended to integers."""

    def run(x: Tensor, q: Tensor, **options: Any) -> Any:
        x = x if x.is_floating_point() else x.to(torch.get_default_dtype())
        return getattr(torch, name)(x, q.to(x.dtype), **options)

    return run


def lcm(x: Tensor, y: Tensor, **out: Any) -> Any:
    """torch.lcm for numbers whose multiple fits their type."""
    guard.multiples("lcm", x, y)
    return torch.lcm(x, y, **out)


def _lcm_(x: Tensor, y: Tensor) -> None:
    x.copy_(lcm(x, y))


def vander(x: Tensor, n: int | None = None, increasing: bool = False) -> Any:
    """torch.vander."""
    reserve((x.numel(), n or x.numel()), x.element_size())
    return torch.vander(x, n, increasing)


def full_like(x: Tensor, value: Tensor | float, **options: Any) -> Any:
    """torch.full_like."""
    return torch.full_like(x, value, **options)


def _unary(name: str, torch_name: str, doc: str, example: str, inplace: bool = True) -> Row:
    return row(name, torch_name, doc, example, inplace=f"{torch_name}_" if inplace else "")


def _binary(
    name: str,
    torch_name: str,
    doc: str,
    example: str,
    inplace: bool = True,
    options: str = "",
    **fields: Any,
) -> Row:
    return row(
        name,
        torch_name,
        doc,
        example,
        inputs=2,
        inplace=f"{torch_name}_" if inplace else "",
        options=options,
        **fields,
    )


_SEARCH = (
    row(
        "searchsorted",
        "searchsorted",
        "The insertion point in sorted x for each of y, before (or, if right, after) equal values.",
        "searchsorted(1 3 5;3 4)|1 2",
        inputs=2,
        options="right:flag",
    ),
    row(
        "bucketize",
        "bucketize",
        "The bucket of each of x, between boundaries y.",
        "bucketize(3 4;1 3 5)|1 2",
        inputs=2,
        options="right:flag",
    ),
    row(
        "quantile",
        _quantiles("quantile"),
        "Quantiles of x at fractions y, overall or along a dimension.",
        "quantile(1 2 3 4f;.5)|2.5",
        inputs=2,
        options="dim:dim keepdim:flag interpolation:symbol",
    ),
    row(
        "nanquantile",
        _quantiles("nanquantile"),
        "Quantiles of the non-null values of x at fractions y.",
        "nanquantile(1 2 3 0n;.5)|2f",
        inputs=2,
        options="dim:dim keepdim:flag interpolation:symbol",
    ),
    row(
        "cummax",
        along_last("cummax"),
        "Cumulative maximum and its index, along a dimension (the last).",
        "cummax 1 3 2|1 3 3\\n0 1 1",
        options="dim:dim",
        outputs=2,
    ),
    row(
        "cummin",
        along_last("cummin"),
        "Cumulative minimum and its index, along a dimension (the last).",
        "cummin 3 1 2|3 1 1\\n0 1 1",
        options="dim:dim",
        outputs=2,
    ),
    row(
        "logcumsumexp",
        along_last("logcumsumexp"),
        "Cumulative log-sum-exp along a dimension (the last).",
        "logcumsumexp 0 0f|0 0.6931472",
        options="dim:dim",
    ),
    row(
        "cdist",
        "cdist",
        "The p-norm (2) distance between each row of x and each row of y.",
        "cdist(1 2#0 0f;2 2#3 4 0 1f)|5 1",
        inputs=2,
        options="p:number",
        out=False,
    ),
    row(
        "trapezoid",
        "trapezoid",
        "Integral by the trapezoidal rule along a dimension (the last).",
        "trapezoid 1 2 3f|4f",
        more=1,
        options="dim:dim",
        out=False,
    ),
    row(
        "Diff",
        "diff",
        "The n-th (1) differences along a dimension (the last).",
        "Diff 1 4 9|3 5",
        options="n:long dim:dim",
        out=False,
    ),
    row(
        "Cov",
        "cov",
        "The covariance matrix of the rows of x.",
        "Cov 2 3#1 2 3 3 2 1f|1  -1\\n-1 1",
        out=False,
        options="correction:long",
    ),
    row(
        "corrcoef",
        "corrcoef",
        "The correlation matrix of the rows of x.",
        "corrcoef 2 3#1 2 3 3 2 1f|1  -1\\n-1 1",
        out=False,
    ),
    row("kron", "kron", "The Kronecker product.", "kron(1 2;1 10)|1 10 2 20", inputs=2),
    row(
        "vander",
        vander,
        "The powers of each item of a list.",
        "vander 1 2 3|1 1 1\\n4 2 1\\n9 3 1",
        options="n:long increasing:flag",
        out=False,
    ),
    row(
        "matrixexp",
        "matrix_exp",
        "The exponential of a matrix.",
        "matrixexp 2 2#0f|1 0\\n0 1",
        out=False,
    ),
    row("cond", "linalg.cond", "The condition number of a matrix.", "cond 2 2#2 0 0 1f|2f"),
)

_POINTWISE = (
    _binary(
        "sub", "sub", "x minus a multiple (1) of y.", "sub(5 6;1 2)|4 4", options="alpha:number"
    ),
    _binary("bitwiseand", "bitwise_and", "Bitwise and.", "bitwiseand(6;3)|2"),
    _binary("bitwiseor", "bitwise_or", "Bitwise or.", "bitwiseor(6;3)|7"),
    _binary("bitwisexor", "bitwise_xor", "Bitwise exclusive or.", "bitwisexor(6;3)|5"),
    _binary(
        "leftshift",
        "bitwise_left_shift",
        "The bits of x shifted left by y.",
        "leftshift(1 2;3)|8 16",
    ),
    _binary(
        "rightshift",
        "bitwise_right_shift",
        "The bits of x shifted right by y.",
        "rightshift(8 16;3)|1 2",
    ),
    _binary("logicaland", "logical_and", "Logical and.", "logicaland(0011b;0101b)|0001b"),
    _binary("logicalor", "logical_or", "Logical or.", "logicalor(0011b;0101b)|0111b"),
    _binary(
        "floordiv",
        "floor_divide",
        "x divided by y, rounded down.",
        "floordiv(7 -7;2)|3 -4",
        half=guard.divisor,
    ),
    _binary(
        "copysign",
        "copysign",
        "The magnitude of x with the sign of y.",
        "copysign(1 2f;-1 1f)|-1 2f",
    ),
    _binary(
        "nextafter",
        "nextafter",
        "The next floating-point number after x towards y.",
        "0<nextafter(0f;1f)|1b",
        first_gradient="2.13",
    ),
    _binary("hypot", "hypot", "The square root of the sum of squares.", "hypot(3f;4f)|5f"),
    _binary("gcd", "gcd", "The greatest common divisor.", "gcd(12 18;8)|4 2"),
    row("lcm", lcm, "The least common multiple.", "lcm(4 6;10)|20 30", inputs=2, inplace=_lcm_),
    _binary(
        "heaviside",
        "heaviside",
        "Step function: 0 for negative x, 1 for positive, y at 0.",
        "heaviside(-1 0 1f;.5)|0 0.5 1",
    ),
    _binary(
        "logaddexp",
        "logaddexp",
        "The logarithm of the sum of the exponentials of x and y.",
        "logaddexp(0f;0f)|0.6931472",
        False,
    ),
    _binary(
        "xlogy", "xlogy", "x times the logarithm of y, 0 where x is 0.", "xlogy(0 1f;0 1f)|0 0f"
    ),
    _unary("square", "square", "x times x.", "square 2 3|4 9"),
    _unary("exp2", "exp2", "2 to the power x.", "exp2 2 3f|4 8f"),
    _unary("asinh", "asinh", "Inverse hyperbolic sine.", "asinh 0 1f|0 0.8813736"),
    _unary("acosh", "acosh", "Inverse hyperbolic cosine.", "acosh 1 2f|0 1.316958"),
    _unary("atanh", "atanh", "Inverse hyperbolic tangent.", "atanh 0 .5|0 0.5493061"),
    _unary("sinc", "sinc", "The sine of pi x divided by pi x.", "sinc 0 .5|1 0.6366198"),
    _unary("deg2rad", "deg2rad", "Degrees to radians.", "deg2rad 0 180f|0 3.141593"),
    _unary("rad2deg", "rad2deg", "Radians to degrees.", "rad2deg 0 1f|0 57.29578"),
    _unary("signbit", "signbit", "Is the sign negative?", "signbit -1 1f|10b", False),
    row(
        "logit",
        "logit",
        "The logarithm of x divided by 1-x; eps clamps x away from 0 and 1.",
        "logit .5 .75|0 1.098612",
        options="eps:float",
        inplace="logit_",
    ),
    row(
        "nantonum",
        "nan_to_num",
        "Replace nulls by 0 and infinities by the largest numbers, or by given values.",
        "nantonum(0n 1 0w;0;9)|0 1 9f",
        options="nan:number posinf:number neginf:number",
        inplace="nan_to_num_",
    ),
)


def _like(
    name: str, target: str | Callable[..., Any], doc: str, example: str, options: str = ""
) -> Row:
    return row(name, target, doc, example, options=f"{options} dtype:dtype", out=False)


_LIKE = (
    _like(
        "zeroslike",
        "zeros_like",
        "Zeros with the size, type and device of x, or of a given data type.",
        "zeroslike 2 2#1 2 3 4e|0 0\\n0 0",
    ),
    _like(
        "oneslike",
        "ones_like",
        "Ones with the size, type and device of x, or of a given data type.",
        "oneslike 5 6 7|1 1 1",
    ),
    _like(
        "fulllike",
        full_like,
        "A fill value with the size, type and device of x, or of a given data type.",
        "fulllike(1 2e;.5)|0.5 0.5e",
        "value:scalar*",
    ),
    _like(
        "randlike",
        "rand_like",
        "Uniform random numbers from 0 to below 1, with the size, type and device of x.",
        "randlike[2 3#0e]within 0 1e|111b\\n111b",
    ),
    _like(
        "randnlike",
        "randn_like",
        "Standard normal random numbers, with the size, type and device of x.",
        "count randnlike 1 2 3e|3",
    ),
)

ROWS = (*CHOOSING, *PARTS, *_SEARCH, *_POINTWISE, *_LIKE)
register(ROWS, "kapi.math.indexing")


@api(
    "einsum",
    "einsum(equation;x;y;..)",
    topic="kapi.math.indexing",
    target="torch.einsum",
    since="torch",
)
def einsum(x: Value) -> Value:
    """Sums of products of tensors and arrays, with indices given by an equation.

    q)einsum("ij,jk->ik";2 2#1 2 3 4;2 2#0 1 1 0)
    2 1
    4 3
    """
    args = items(x)
    if len(args) < 2 or args[0].__class__ is not Vec or args[0].t != T.C:
        raise QError(
            "einsum: expecting an equation and tensors or arrays, given "
            + (kname(args[0]) if args else "nothing")
        )
    tensors, wrap = inputs(args[1:])
    return wrapped(torch.einsum(args[0].a.tobytes().decode("latin-1"), *tensors), wrap)


_PADDING = option_words("batchfirst/batch_first:flag value/padding_value:scalar")


@api(
    "padsequence",
    "padsequence(x;y;..[;batchfirst;value])",
    "padsequence(vector[;batchfirst;value])",
    topic="kapi.math.indexing",
    target="torch.nn.utils.rnn.pad_sequence",
    since="torch",
)
def padsequence(x: Value) -> Value:
    """Pad sequences of different lengths with a value (0) into one tensor: one sequence per column, or per row with 1b.

    q)padsequence(1 2 3;4 5)
    1 4
    2 5
    3 0
    q)padsequence(1 2 3;4 5;1b;-1)
    1 2 3
    4 5 -1
    """
    args = items(x)
    count = next(
        (
            index
            for index, arg in enumerate(args)
            if not isinstance(arg, KHandle) and (is_atom(arg) or looks_paired(arg))
        ),
        len(args),
    )
    options = match("padsequence", _PADDING, args[count:])
    first = args[0] if args else NIL
    if count == 1 and first.__class__ is VectorHandle:
        tensors, wrap = list(first.get()), True
    else:
        tensors, wrap = inputs(args[:count])
    if not tensors or any(tensor is None or not tensor.dim() for tensor in tensors):
        raise CallError(
            "padsequence", "expecting sequences, each a tensor or array of one dimension or more"
        )
    return wrapped(torch.nn.utils.rnn.pad_sequence(tensors, **options), wrap)
