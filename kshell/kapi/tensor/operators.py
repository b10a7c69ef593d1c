"""q's operators on tensor handles: `x*y`, `2*x`, `neg x`, `sum x`, `x$y`.

They return new tensors on the tensor's device, with gradients, and broadcast like torch. Reductions work along the
first dimension, as in q. Array operands are converted to tensors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Union

from kshell.errors import CallError, QError
from kshell.kapi.base.args import long_of, longs_of, name_of
from kshell.kapi.base.call import VALUELESS, invoke, reserve
from kshell.kapi.base.convert import as_tensor, dtype_named, dtype_of_q, kname
from kshell.kapi.base.handle_kind import JOINED
from kshell.kapi.base.handles import (
    GONE,
    STALE,
    KHandle,
    TensorHandle,
    behaviour,
    tensor_handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor import sorting, windows
from kshell.kapi.tensor.windows import floating
from kshell.values.base import types as T
from kshell.values.base.core import Atom, List, Value, is_list
from kshell.values.base.symbols import Sym
from kshell.values.session.context import running

if TYPE_CHECKING:
    from torch import Tensor
    from torch import dtype as DType

Operand = Union["Tensor", float]  # a plain number next to a tensor stays a number
Fn = Callable[..., Any]

# ------------------------------------------------------------------ one operand


def _first(name: str, **options: Any) -> Fn:
    """A reduction along the first dimension; a scalar is returned unchanged."""

    def run(t: Tensor) -> Any:
        return getattr(torch, name)(t, **({"dim": 0} if t.dim() else {}), **options)

    return run


def _first_floating(name: str, **options: Any) -> Fn:
    reduce = _first(name, **options)
    return lambda t: reduce(floating(t))


def _median(t: Tensor) -> Any:
    """q's median: for an even count, the mean of the two middle values."""
    return torch.quantile(floating(t), 0.5, dim=0 if t.dim() else None)


def _where(t: Tensor) -> Any:
    """The indexes of true elements; for integers, each repeated that many times."""
    if t.is_floating_point() or t.is_complex():
        raise CallError("where", "expected booleans or whole numbers")
    if t.dtype == torch.bool:
        return torch.nonzero(t).squeeze(-1)
    if t.numel() and int(t.min()) < 0:
        raise QError("domain")
    if t.dim() != 1:
        raise CallError("where", "expected a list")
    total = int(t.sum())
    reserve((total,), 8)
    return torch.repeat_interleave(
        torch.arange(len(t), device=t.device), t.to(torch.int64), output_size=total
    )


def _lsq(a: Tensor, b: Tensor) -> Any:
    if a.dim() < 2 or b.dim() < 2:
        raise CallError("lsq", "expected two matrices")
    return torch.linalg.lstsq(b.mT, a.mT).solution.mT


def _flip(t: Tensor) -> Any:
    if t.dim() < 2:
        raise QError("rank")
    return t.transpose(0, 1)


def _ends(at: int) -> Fn:
    def run(t: Tensor) -> Any:
        if not t.dim():
            return t
        if not len(t):
            raise QError("index")
        return t[at]

    return run


def _named(name: str) -> Fn:
    return lambda t: getattr(torch, name)(t)


def _counted(name: str) -> Fn:
    """Extend a numeric function to booleans, treated as numbers."""
    return lambda t: getattr(torch, name)(_number(t))


# fmt: off  # a table
MONADS: dict[str, Fn] = {
    "neg": _counted("neg"),
    "abs": _counted("abs"),
    "sqrt": _named("sqrt"),
    "exp": _named("exp"),
    "log": _named("log"),
    "sin": _named("sin"),
    "cos": _named("cos"),
    "tan": _named("tan"),
    "asin": _named("asin"),
    "acos": _named("acos"),
    "atan": _named("atan"),
    "floor": _named("floor"),
    "ceiling": _counted("ceil"),
    "signum": _counted("sign"),
    "reciprocal": _named("reciprocal"),
    "not": _named("logical_not"),
    "null": _named("isnan"),
    "inv": lambda t: torch.linalg.inv(t),
    "flip": _flip,
    "last": _ends(-1),
    "reverse": lambda t: t.flip(0),
    "sum": _first("sum"),
    "prd": _first("prod"),
    "max": _first("amax"),
    "min": _first("amin"),
    "all": _first("all"),
    "any": _first("any"),
    "avg": _first_floating("mean"),
    "var": _first_floating("var", correction=0),
    "dev": _first_floating("std", correction=0),
    "svar": _first_floating("var", correction=1),
    "sdev": _first_floating("std", correction=1),
    "med": _median,
    **windows.MONADS,
    "raze": lambda t: t.flatten(0, 1) if t.dim() > 1 else t,
    "where": _where,
    **sorting.MONADS,
}
# fmt: on


@behaviour("do_monad", TensorHandle)
def monad(h: TensorHandle, name: str) -> Value:
    """Apply the q verb `name` to a tensor: a new tensor; `item` returns a scalar's truth value or number as a Python
    value."""
    if name == "item":
        value = invoke("condition", as_tensor(h).item)
        if isinstance(value, torch.SymBool | torch.SymInt | torch.SymFloat):
            raise QError(f"condition: {VALUELESS}")
        return value
    function = MONADS.get(name)
    if function is None:
        raise QError(f"{name}: not implemented for tensors")
    return tensor_handle(invoke(name, function, operand(name, h)))


# ------------------------------------------------------------------ two operands


def _floor_div(a: Tensor, b: Tensor) -> Any:
    return torch.floor_divide(a, b).to(torch.int64)


def _mod(a: Tensor, b: Tensor) -> Any:
    return torch.remainder(a, b)


def _logical(fn: str, bits: str) -> Fn:
    """& and |: minimum and maximum; for booleans, and and or."""

    def run(a: Tensor, b: Tensor) -> Any:
        return (
            getattr(torch, bits)(a, b)
            if a.dtype == b.dtype == torch.bool
            else getattr(torch, fn)(a, b)
        )

    return run


def _fill(a: Tensor, b: Tensor) -> Any:
    """x^y: y with its nulls replaced by x."""
    if b.is_floating_point():
        return torch.where(torch.isnan(b), a.to(b.dtype), b)
    return b.expand(torch.broadcast_shapes(a.shape, b.shape))


def _number(t: Any) -> Any:
    """Booleans as numbers."""
    return (
        int(t)
        if isinstance(t, bool)
        else t.to(torch.int32)
        if getattr(t, "dtype", None) is torch.bool
        else t
    )


def _plus(a: Operand, b: Operand) -> Any:
    """Sum; booleans are counted, where torch would return a boolean."""
    total: Any = a + b
    return total if total.dtype is not torch.bool else _number(a) + _number(b)


def _minus(a: Operand, b: Operand) -> Any:
    """Difference, also of booleans, which torch rejects."""
    if getattr(a, "dtype", None) is torch.bool or getattr(b, "dtype", None) is torch.bool:
        return _number(a) - _number(b)
    return a - b


def _alike(verbs: dict[str, Fn]) -> dict[str, Fn]:
    """Extend a function of two tensors of one type to any two types."""
    return {
        name: lambda a, b, fn=function: fn(*_one_type(a, b)) for name, function in verbs.items()
    }


_LEAST, _MOST = _logical("minimum", "logical_and"), _logical("maximum", "logical_or")
# fmt: off  # a table
DYADS: dict[str, Fn] = {
    "+": _plus,
    "-": _minus,
    "*": lambda a, b: a * b,
    "%": lambda a, b: a / b,
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "&": _LEAST,
    "|": _MOST,
    "and": _LEAST,
    "or": _MOST,
    "mmu": lambda a, b: torch.matmul(*_one_type(a, b)),
    "$": lambda a, b: torch.matmul(*_one_type(a, b)),
    "div": _floor_div,
    "mod": _mod,
    "xexp": lambda a, b: torch.pow(floating(a), b),
    "^": _fill,
    "xlog": lambda a, b: torch.log(floating(b)) / torch.log(floating(a)),
    "lsq": _lsq,
    "cov": lambda a, b: _covariance(floating(a), floating(b)),
    "scov": lambda a, b: _sample(floating(a), floating(b)),
    "cor": lambda a, b: _correlation(floating(a), floating(b)),
    "in": lambda a, b: torch.isin(*_one_type(a, b)),
    "bin": lambda a, b: sorting.place(*_one_type(a, b), right=True) - 1,
    "binr": lambda a, b: sorting.place(*_one_type(a, b), right=False),
    **windows.DYADS,
    **_alike(sorting.DYADS),
    "wsum": lambda a, b: _first("sum")(_number(a) * b),
    "wavg": lambda a, b: _weighted(*torch.broadcast_tensors(a, b)),
}
# fmt: on


def _weighted(a: Tensor, b: Tensor) -> Any:
    return _first("sum")(_number(a) * b) / _first("sum")(a)


def _covariance(a: Tensor, b: Tensor) -> Any:
    return ((a - a.mean()) * (b - b.mean())).mean()


def _sample(a: Tensor, b: Tensor) -> Any:
    count = torch.broadcast_shapes(a.shape, b.shape).numel()
    return _covariance(a, b) * count / (count - 1) if count > 1 else _covariance(a, b) * torch.nan


def _correlation(a: Tensor, b: Tensor) -> Any:
    return _covariance(a, b) / torch.sqrt(_covariance(a, a) * _covariance(b, b))


def _one_type(a: Tensor, b: Tensor) -> tuple[Any, Any]:
    """Two factors with one data type, as matrix products require."""
    if a.dtype == b.dtype:
        return a, b
    dtype = torch.promote_types(a.dtype, b.dtype)
    return a.to(dtype), b.to(dtype)


def _cast(x: Value, t: Tensor) -> Any:
    """`float$t, "e"$t, 8h$t: t in another data type; None if x does not name a type."""
    name = name_of(x)
    if name is not None:
        dtype = dtype_named({"real": "float", "float": "double", "boolean": "bool"}.get(name, name))
    elif x.__class__ is Atom and x.t == T.C:
        dtype = dtype_of_q(T.BY_CHAR[chr(x.v)].num) if chr(x.v) in "befxhijc" else None
    elif x.__class__ is Atom and x.t == T.H:
        dtype = dtype_of_q(x.v)
    else:
        return None
    if dtype is None:
        raise QError(f"$: expected a data type, given {running().show(x).strip()}")
    return (
        t.to(dtype) if dtype.is_floating_point or not t.is_floating_point() else _rounded(t, dtype)
    )


def _rounded(t: Tensor, kind: DType) -> Any:
    """Floats rounded to integers: to the nearest, halves up; nulls and infinities as in q."""
    if kind.is_complex or kind == torch.bool:
        return t.to(kind)
    largest = torch.iinfo(kind).max
    floor = torch.floor(t)
    rounded = (floor + (t - floor >= 0.5)).to(kind)
    rounded = torch.where(torch.isnan(t), torch.iinfo(kind).min, rounded)
    return torch.where(torch.isinf(t), torch.where(t > 0, largest, -largest), rounded).to(kind)


def operand(name: str, x: Any, like: Tensor | None = None) -> Any:
    """An operand of the verb `name` for torch: plain numbers stay plain, so that they do not change the tensor's
    type."""
    if (
        x.__class__ is int
        or x.__class__ is float
        or x.__class__ is bool
        or isinstance(x, torch.Tensor)
    ):
        return x
    try:
        tensor = as_tensor(x, like)
        error = None if tensor is not None else f"expected a tensor or numbers, given {kname(x)}"
    except QError as exc:
        if exc.text == STALE:
            raise
        error = exc.text
    if error is not None:
        # text to the right of a call's list becomes part of it
        if x.__class__ is List and any(isinstance(item, KHandle) for item in x.items):
            error = f"expected a tensor or numbers, given {kname(x)}; {JOINED}"
        raise QError(f"{name}: {error}")
    return tensor


@behaviour("do_dyad", TensorHandle)
def dyad(h: TensorHandle, name: str, x: Value, y: Value) -> Value:
    """The q operator or verb `name` on two operands, at least one of them a tensor: a new tensor."""
    function = DYADS.get(name)
    if function is not None and x.__class__ is TensorHandle and y.__class__ is TensorHandle:
        first, second = x.obj, y.obj
        if first is None or second is None or first is GONE or second is GONE:
            first, second = operand(name, x), operand(name, y)  # raises the error that says which
        return TensorHandle(invoke(name, function, first, second))
    if y.__class__ in _NUMBERS and name in _BEFORE and h.obj is not None and h.obj is not GONE:
        return TensorHandle(invoke(name, DYADS[name], h.obj, y))
    partner = y if x is h else x
    if isinstance(partner, KHandle) and partner.__class__ is not TensorHandle:
        return partner.dyad(name, x, y)
    if y is h and (name == "cut" or (name == "_" and is_list(x))):
        return List(
            [
                tensor_handle(tensor)
                for tensor in invoke(name, windows.parts, name, x, operand(name, h))
            ]
        )
    return TensorHandle(pair(name, x, y, operand(name, h)))


def pair(name: str, x: Any, y: Any, like: Tensor) -> Any:
    """The operator or verb `name` on two operands, each a q value or a tensor; `like` is one of the tensors."""
    function = DYADS.get(name)
    if name in _PLAIN and function is not None:
        return invoke(name, function, operand(name, x, like), operand(name, y, like))
    right = y.__class__ is TensorHandle or isinstance(y, torch.Tensor)
    if name == "$" and right and x.__class__ in (Sym, Atom):
        cast = invoke("$", _cast, x, like)
        if cast is not None:
            return cast
    if name == "ema":
        return invoke(
            name, windows.ema, operand(name, x, like), _tensors(operand(name, y, like), like)
        )
    if name in _COUNTED and right and x.__class__ is not TensorHandle:
        return invoke(name, _COUNTED[name], x, like)
    if name == "_" and not right:
        return invoke(name, windows.without, like, y)
    if function is None:
        raise QError(f"{name}: not implemented for {kname(x)} and {kname(y)}")
    first, second = _tensors(operand(name, x, like), like), operand(name, y, like)
    return invoke(name, function, first, second if name in _BEFORE else _tensors(second, like))


_NUMBERS = (int, float)
# operators that torch has for a tensor and a plain number
_PLAIN = frozenset(["+", "-", "*", "%", "=", "<>", "<", ">", "<=", ">="])
# and for a tensor before a number: its square is t*t, which a power of two tensors need not equal
_BEFORE = _PLAIN | {"xexp"}


def _tensors(a: Operand, like: Tensor) -> Any:
    """An operand as a tensor; a plain number affects the other's type only as torch's own numbers do."""
    if isinstance(a, torch.Tensor):
        return a
    return torch.scalar_tensor(a, dtype=torch.result_type(like, a), device=like.device)


def _take(x: Value, t: Tensor) -> Any:
    """n#t: the first n rows (the last if negative), cycling if there are fewer; a list of sizes reshapes."""
    number = long_of(x)
    if number is None:
        sizes = longs_of(x)
        if not sizes:
            raise QError(f"#: expected long(s), given {kname(x)}")
        return t.reshape([-1 if size == -(1 << 63) else size for size in sizes])
    t = t if t.dim() else t.reshape(1)
    if abs(number) > len(t):
        if not len(t):
            raise QError("length")
        reserve((abs(number), *t.shape[1:]), t.element_size())
        return t[torch.arange(min(number, 0), max(number, 0), device=t.device) % len(t)]
    return t[:number] if number >= 0 else t[len(t) + number :]


def _drop(x: Value, t: Tensor) -> Any:
    number = long_of(x)
    if number is None:
        raise CallError("_", expected="a long", given=kname(x))
    if not t.dim():
        raise CallError("_", "expected a list")
    return t[min(number, len(t)) :] if number >= 0 else t[: max(len(t) + number, 0)]


def _rotate(x: Value, t: Tensor) -> Any:
    number = long_of(x)
    if number is None:
        raise CallError("rotate", expected="a long", given=kname(x))
    return t.roll(-(number % len(t)), 0) if t.dim() and len(t) else t


# verbs whose left argument is a row count or another q value
_COUNTED: dict[str, Fn] = {
    "#": _take,
    "_": _drop,
    "rotate": _rotate,
    **windows.COUNTED,
    **sorting.COUNTED,
}


def operators() -> tuple[list[str], list[str]]:
    """The unary and binary q verbs supported by tensors (for the reference)."""
    return sorted(MONADS), sorted({*DYADS, *_COUNTED, "cut", "ema"})
