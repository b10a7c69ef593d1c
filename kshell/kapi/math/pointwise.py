"""Pointwise functions of tensors and arrays."""

from __future__ import annotations

from typing import Any

from kshell.errors import CallError, QError
from kshell.kapi.base import guard
from kshell.kapi.base.args import is_empty, number_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import KHandle, TensorHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.math.row_options import null_bound
from kshell.kapi.math.rows import Row, arguments, inputs, register, wrapped, write
from kshell.values.base.core import NIL, Value, atom_t

EFFECT = "none"  # default for the functions here


def _unary(name: str, torch_name: str, doc: str, example: str, inplace: bool = True) -> Row:
    return Row(
        name, f"torch.{torch_name}", doc, example, inplace=f"{torch_name}_" if inplace else ""
    )


def _binary(
    name: str, torch_name: str, doc: str, example: str, options: str = "", **fields: Any
) -> Row:
    return Row(
        name,
        f"torch.{torch_name}",
        doc,
        example,
        inputs=2,
        options=options,
        inplace=f"{torch_name}_",
        **fields,
    )


ROWS = (
    _unary("Abs", "abs", "Absolute value.", "Abs -2 1 0|2 1 0"),
    _unary("Acos", "acos", "Arc cosine.", "Acos 1 1f|0 0f"),
    _unary(
        "angle",
        "angle",
        "The angle of complex numbers; for real numbers, 0 or pi.",
        "angle 1 2e|0 0e",
        False,
    ),
    _unary("Asin", "asin", "Arc sine.", "Asin 0 1f|0 1.570796"),
    _unary("Atan", "atan", "Arc tangent.", "Atan 0 1f|0 0.7853982"),
    _unary("bitwisenot", "bitwise_not", "Bitwise not.", "bitwisenot 0 1 5|-1 -2 -6"),
    _unary("ceil", "ceil", "The smallest integer not below x.", "ceil 1.5 -1.5|2 -1f"),
    _unary("cosh", "cosh", "Hyperbolic cosine.", "cosh 0 1f|1 1.543081"),
    _unary("Cos", "cos", "Cosine.", "Cos 0 1f|1 0.5403023"),
    _unary(
        "digamma",
        "digamma",
        "The derivative of the logarithm of gamma.",
        "digamma 1 2f|-0.5772157 0.4227843",
    ),
    _unary("erf", "erf", "Error function.", "erf 0 1f|0 0.8427008"),
    _unary("erfc", "erfc", "Complementary error function.", "erfc 0 1f|1 0.1572992"),
    _unary("erfinv", "erfinv", "Inverse error function.", "erfinv 0 .5|0 0.4769363"),
    _unary("Exp", "exp", "Exponential.", "Exp 0 1f|1 2.718282"),
    _unary("expm1", "expm1", "Exponential minus 1, accurate near 0.", "expm1 0 1f|0 1.718282"),
    _unary("Floor", "floor", "The largest integer not above x.", "Floor 1.5 -1.5|1 -2f"),
    _unary("frac", "frac", "The fractional part.", "frac 1.5 -1.25|0.5 -0.25"),
    _unary(
        "lgamma",
        "lgamma",
        "The logarithm of the absolute value of gamma.",
        "lgamma 1 4f|0 1.791759",
    ),
    _unary("Log", "log", "Natural logarithm.", "Log 1 2f|0 0.6931472"),
    _unary("log10", "log10", "Logarithm to base 10.", "log10 10 1000f|1 3f"),
    _unary("log1p", "log1p", "Logarithm of 1+x, accurate near 0.", "log1p 0 1f|0 0.6931472"),
    _unary("log2", "log2", "Logarithm to base 2.", "log2 2 8f|1 3f"),
    _unary("Neg", "neg", "Negative.", "Neg 1 -2|-1 2"),
    _unary("Not", "logical_not", "Logical not.", "Not 0 1 5|100b"),
    _unary("Reciprocal", "reciprocal", "1 divided by x.", "Reciprocal 2 4f|0.5 0.25"),
    _unary(
        "round",
        "round",
        "Round to the nearest integer, halves to even.",
        "round 1.5 2.5 2.7|2 2 3f",
    ),
    _unary("rsqrt", "rsqrt", "The reciprocal of the square root.", "rsqrt 1 4f|1 0.5"),
    _unary(
        "sgn",
        "sgn",
        "The sign of real numbers, the direction of complex ones.",
        "sgn -3 0 2|-1 0 1",
    ),
    _unary(
        "sigmoid",
        "sigmoid",
        "Logistic function, 1 divided by 1+exp neg x.",
        "sigmoid 0 1f|0.5 0.7310586",
    ),
    _unary("sign", "sign", "Sign: -1, 0 or 1.", "sign -3 0 2|-1 0 1"),
    _unary("Sin", "sin", "Sine.", "Sin 0 1f|0 0.841471"),
    _unary("sinh", "sinh", "Hyperbolic sine.", "sinh 0 1f|0 1.175201"),
    _unary("Sqrt", "sqrt", "Square root.", "Sqrt 4 2f|2 1.414214"),
    _unary("Tan", "tan", "Tangent.", "Tan 0 1f|0 1.557408"),
    _unary("tanh", "tanh", "Hyperbolic tangent.", "tanh 0 1f|0 0.7615942"),
    _unary("trunc", "trunc", "The integer part.", "trunc 1.5 -1.5|1 -1f"),
    _binary("atan2", "atan2", "The angle of the point (y;x).", "atan2(0 1f;1 1f)|0 0.7853982"),
    _binary("Div", "div", "x divided by y.", "Div(1 4 9f;1 2 3f)|1 2 3f", numbers=(1,)),
    _binary(
        "fmod",
        "fmod",
        "Remainder with the sign of x.",
        "fmod(-7 7;3)|-1 1",
        half=guard.divisor,
        numbers=(1,),
    ),
    _binary(
        "fpow",
        "float_power",
        "x to the power y, in double precision.",
        "fpow(1 2 3;2.5)|1 5.656854 15.58846",
    ),
    _binary("mul", "mul", "x times y.", "mul(1 4 9;1 2 3)|1 8 27", numbers=(1,)),
    _binary("pow", "pow", "x to the power y.", "pow(1 2 3;2)|1 4 9", numbers=(0, 1)),
    _binary(
        "remainder",
        "remainder",
        "Remainder with the sign of y.",
        "remainder(-7 7;3)|2 1",
        half=guard.divisor,
        numbers=(1,),
    ),
    _binary("xor", "logical_xor", "Logical exclusive or.", "xor(0011b;0101b)|0110b"),
    _binary(
        "add",
        "add",
        "x plus a multiple (1) of y.",
        "add(1 2 3;4 5 6;100)|401 502 603",
        "alpha:number",
    ),
    Row(
        "addcdiv",
        "torch.addcdiv",
        "x plus a multiple (1) of y divided by z.",
        "addcdiv(1 2f;9 16f;3 4f)|4 6f",
        inputs=3,
        options="value:number",
        inplace="addcdiv_",
    ),
    Row(
        "addcmul",
        "torch.addcmul",
        "x plus a multiple (1) of y times z.",
        "addcmul(1 2 3;3 4 5;2 1 2)|7 6 13",
        inputs=3,
        options="value:number",
        inplace="addcmul_",
    ),
    Row(
        "mvlgamma",
        "torch.mvlgamma",
        "Multivariate log-gamma of dimension p.",
        "mvlgamma(2 3f;1)|0 0.6931472",
        options="p:long*",
        inplace="mvlgamma_",
    ),
)
register(ROWS, "kapi.math.pointwise")


def _trailing(name: str, n: int, x: Value) -> tuple[list[Value], Any]:
    """The n arguments of a call and its output: a tensor handle, :: for in place, or None."""
    args = arguments(name, n, x)
    if len(args) > n + 1:
        raise QError(f"{name}: expecting up to {n + 1} args, given {len(args)}")
    if len(args) == n:
        return args, None
    output = NIL if is_empty(args[n]) else args[n]
    if output is not NIL and output.__class__ is not TensorHandle:
        raise QError(f"{name}: output must be a tensor, given {kname(output)}")
    return args[:n], output


def _finish(
    fn: Any, method: str, given: list[Value], tensors: list[Any], out: KHandle | None, wrap: bool
) -> Value:
    if out is None:
        return wrapped(fn(*tensors), wrap)
    if out is NIL:
        if given[0].__class__ is not TensorHandle:
            return wrapped(fn(*tensors), False)
        getattr(tensors[0], method)(*tensors[1:])
        return NIL
    write(fn, tensors, {}, out)
    return NIL


@api(
    "clamp",
    "clamp(x;lo;hi)",
    "clamp(x;lo;hi;output)",
    topic="kapi.math.pointwise",
    target="torch.clamp",
)
def clamp(x: Value) -> Value:
    """Limit x to the range from lo to hi; a null is no bound.

    q)clamp(-5 -1 0 1 9;-2;0N)
    -2 -1 0 1 9
    """
    args, output = _trailing("clamp", 3, x)
    tensors, wrap = inputs(args[:1])
    bounds: list[Any] = []
    for label, limit in zip(("lo", "hi"), args[1:], strict=True):
        if null_bound(limit):
            bounds.append(None)
        elif number_of(limit) is not None:
            bounds.append(number_of(limit))
        else:
            extras, wrap_bound = inputs([limit])
            wrap = wrap or wrap_bound
            bounds.append(extras[0].to(tensors[0].device))
            if limit.__class__ is not TensorHandle and atom_t(limit):
                raise CallError("clamp", expected=f"number for {label}", given=kname(limit))
    if bounds == [None, None]:  # rejected by torch
        dtype = tensors[0].dtype
        bounds = [None, float("inf") if dtype.is_floating_point else torch.iinfo(dtype).max]
    if any(isinstance(bound, torch.Tensor) for bound in bounds):
        bounds = [
            torch.as_tensor(bound, device=tensors[0].device)
            if isinstance(bound, int | float)
            else bound
            for bound in bounds
        ]
    return _finish(torch.clamp, "clamp_", args, [*tensors, *bounds], output, wrap)


@api(
    "lerp",
    "lerp(x;y;weight)",
    "lerp(x;y;weight;output)",
    topic="kapi.math.pointwise",
    target="torch.lerp",
)
def lerp(x: Value) -> Value:
    """Linear interpolation: x plus weight times y-x.

    q)lerp(1 2 3f;10 20 30f;.5)
    5.5 11 16.5
    """
    args, output = _trailing("lerp", 3, x)
    weight = number_of(args[2])
    if weight is not None:
        tensors, wrap = inputs(args[:2])
        return _finish(torch.lerp, "lerp_", args, [*tensors, weight], output, wrap)
    tensors, wrap = inputs(args)
    return _finish(torch.lerp, "lerp_", args, tensors, output, wrap)
