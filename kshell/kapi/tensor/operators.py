"""q's operators on tensor handles: `x*y`, `2*x`, `neg x`, `sum x`, `x$y`, `x[i]`, `x[i]:v`.

They give new tensors, on the tensor's device and with gradients, and broadcast as torch does. Reductions work along
the first dimension, as q's do. An array among the operands is read as a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import long_of, longs_of, name_of
from kshell.kapi.base.call import VALUELESS, invoke, reserve
from kshell.kapi.base.convert import as_tensor, dtype_named, dtype_of_q, kname
from kshell.kapi.base.handles import GONE, JOINED, STALE, KHandle, TensorHandle, behaviour, tensor_handle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor import sorting, windows
from kshell.kapi.tensor.windows import floating
from kshell.values.base import types as T
from kshell.values.base.core import HOLE, NIL, Atom, List, Sym, Value, is_list
from kshell.values.base.functions import Prim
from kshell.values.engine.apply import apply
from kshell.values.session.context import running
from kshell.values.session.interrupts import stoppable

Fn = Callable[..., Any]

# ------------------------------------------------------------------ one operand


def _first(name: str, **options: Any) -> Fn:
    """A reduction along the first dimension; a scalar is its own."""

    def run(t: Any) -> Any:
        return getattr(torch, name)(t, **({"dim": 0} if t.dim() else {}), **options)

    return run


def _first_floating(name: str, **options: Any) -> Fn:
    reduce = _first(name, **options)
    return lambda t: reduce(floating(t))


def _median(t: Any) -> Any:
    """q's median: the mean of the two middle values if there is an even number."""
    return torch.quantile(floating(t), 0.5, dim=0 if t.dim() else None)


def _where(t: Any) -> Any:
    """The indexes of what is true, of whole numbers each as often as it says."""
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
    return torch.repeat_interleave(torch.arange(len(t), device=t.device), t.to(torch.int64), output_size=total)


def _lsq(a: Any, b: Any) -> Any:
    if a.dim() < 2 or b.dim() < 2:
        raise CallError("lsq", "expected two matrices")
    return torch.linalg.lstsq(b.mT, a.mT).solution.mT


def _flip(t: Any) -> Any:
    if t.dim() < 2:
        raise QError("rank")
    return t.transpose(0, 1)


def _ends(at: int) -> Fn:
    def run(t: Any) -> Any:
        if not t.dim():
            return t
        if not len(t):
            raise QError("index")
        return t[at]

    return run


def _named(name: str) -> Fn:
    return lambda t: getattr(torch, name)(t)


def _counted(name: str) -> Fn:
    """A function of numbers, of bits as numbers too."""
    return lambda t: getattr(torch, name)(_number(t))


MONADS: dict[str, Fn] = {
    "neg": _counted("neg"), "abs": _counted("abs"), "sqrt": _named("sqrt"), "exp": _named("exp"), "log": _named("log"),
    "sin": _named("sin"), "cos": _named("cos"), "tan": _named("tan"), "asin": _named("asin"), "acos": _named("acos"),
    "atan": _named("atan"), "floor": _named("floor"), "ceiling": _counted("ceil"), "signum": _counted("sign"),
    "reciprocal": _named("reciprocal"), "not": _named("logical_not"), "null": _named("isnan"),
    "inv": lambda t: torch.linalg.inv(t), "flip": _flip, "last": _ends(-1), "reverse": lambda t: t.flip(0),
    "sum": _first("sum"), "prd": _first("prod"), "max": _first("amax"), "min": _first("amin"), "all": _first("all"),
    "any": _first("any"), "avg": _first_floating("mean"), "var": _first_floating("var", correction=0),
    "dev": _first_floating("std", correction=0), "svar": _first_floating("var", correction=1),
    "sdev": _first_floating("std", correction=1), "med": _median, **windows.MONADS,
    "raze": lambda t: t.flatten(0, 1) if t.dim() > 1 else t, "where": _where, **sorting.MONADS,
}


@behaviour("monad", TensorHandle)
def monad(h: TensorHandle, name: str) -> Value:
    """The q verb `name` of a tensor: a new tensor; `item`, a scalar's truth or number, as a Python value."""
    if name == "item":
        value = invoke("condition", as_tensor(h).item)
        if isinstance(value, torch.SymBool | torch.SymInt | torch.SymFloat):
            raise QError(f"condition: {VALUELESS}")
        return value
    fn = MONADS.get(name)
    if fn is None:
        raise QError(f"{name}: not implemented for tensors")
    return tensor_handle(invoke(name, fn, operand(name, h)))


# ------------------------------------------------------------------ two operands


def _floor_div(a: Any, b: Any) -> Any:
    return torch.floor_divide(a, b).to(torch.int64)


def _mod(a: Any, b: Any) -> Any:
    return torch.remainder(a, b)


def _logical(fn: str, bits: str) -> Fn:
    """& and |: the smaller and the larger; of booleans and, or."""

    def run(a: Any, b: Any) -> Any:
        return getattr(torch, bits)(a, b) if a.dtype == b.dtype == torch.bool else getattr(torch, fn)(a, b)

    return run


def _fill(a: Any, b: Any) -> Any:
    """x^y: y with its nulls replaced by x."""
    if b.is_floating_point():
        return torch.where(torch.isnan(b), a.to(b.dtype), b)
    return b.expand(torch.broadcast_shapes(a.shape, b.shape))


def _number(t: Any) -> Any:
    """Bits as numbers."""
    return int(t) if isinstance(t, bool) else t.to(torch.int32) if getattr(t, "dtype", None) is torch.bool else t


def _plus(a: Any, b: Any) -> Any:
    """The sum; of bits their number, where torch has a bit."""
    r = a + b
    return r if r.dtype is not torch.bool else _number(a) + _number(b)


def _minus(a: Any, b: Any) -> Any:
    """The difference, also of bits, which torch refuses."""
    if getattr(a, "dtype", None) is torch.bool or getattr(b, "dtype", None) is torch.bool:
        return _number(a) - _number(b)
    return a - b


def _alike(verbs: dict[str, Fn]) -> dict[str, Fn]:
    """Functions of two tensors of one type as those of any two."""
    return {name: lambda a, b, fn=fn: fn(*_one_type(a, b)) for name, fn in verbs.items()}


_LEAST, _MOST = _logical("minimum", "logical_and"), _logical("maximum", "logical_or")
DYADS: dict[str, Fn] = {
    "+": _plus, "-": _minus, "*": lambda a, b: a * b, "%": lambda a, b: a / b,
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b, ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b, "&": _LEAST, "|": _MOST, "and": _LEAST, "or": _MOST,
    "mmu": lambda a, b: torch.matmul(*_one_type(a, b)), "$": lambda a, b: torch.matmul(*_one_type(a, b)),
    "div": _floor_div, "mod": _mod, "xexp": lambda a, b: torch.pow(floating(a), b), "^": _fill,
    "xlog": lambda a, b: torch.log(floating(b)) / torch.log(floating(a)),
    "lsq": _lsq,
    "cov": lambda a, b: _covariance(floating(a), floating(b)), "scov": lambda a, b: _sample(floating(a), floating(b)),
    "cor": lambda a, b: _correlation(floating(a), floating(b)), "in": lambda a, b: torch.isin(*_one_type(a, b)),
    "bin": lambda a, b: sorting.place(*_one_type(a, b), right=True) - 1,
    "binr": lambda a, b: sorting.place(*_one_type(a, b), right=False), **windows.DYADS, **_alike(sorting.DYADS),
    "wsum": lambda a, b: _first("sum")(_number(a) * b), "wavg": lambda a, b: _weighted(*torch.broadcast_tensors(a, b)),
}


def _weighted(a: Any, b: Any) -> Any:
    return _first("sum")(_number(a) * b) / _first("sum")(a)


def _covariance(a: Any, b: Any) -> Any:
    return ((a - a.mean()) * (b - b.mean())).mean()


def _sample(a: Any, b: Any) -> Any:
    n = torch.broadcast_shapes(a.shape, b.shape).numel()
    return _covariance(a, b) * n / (n - 1) if n > 1 else _covariance(a, b) * torch.nan


def _correlation(a: Any, b: Any) -> Any:
    return _covariance(a, b) / torch.sqrt(_covariance(a, a) * _covariance(b, b))


def _one_type(a: Any, b: Any) -> tuple[Any, Any]:
    """Two factors of one data type, which a product of matrices needs."""
    if a.dtype == b.dtype:
        return a, b
    kind = torch.promote_types(a.dtype, b.dtype)
    return a.to(kind), b.to(kind)


def _cast(x: Value, t: Any) -> Any:
    """`float$t, "e"$t, 8h$t: t in another data type; None if x is no name of a type."""
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
    return t.to(dtype) if dtype.is_floating_point or not t.is_floating_point() else _rounded(t, dtype)


def _rounded(t: Any, kind: Any) -> Any:
    """Floats as whole numbers: the nearest, halves up; nulls and infinities as q's."""
    if kind.is_complex or kind == torch.bool:
        return t.to(kind)
    most = torch.iinfo(kind).max
    low = torch.floor(t)
    r = (low + (t - low >= 0.5)).to(kind)
    r = torch.where(torch.isnan(t), torch.iinfo(kind).min, r)
    return torch.where(torch.isinf(t), torch.where(t > 0, most, -most), r).to(kind)


def operand(name: str, x: Any, like: Any = None) -> Any:
    """An operand of the verb `name` as torch takes it: plain numbers as they are, so that they do not change the
    tensor's type."""
    cls = x.__class__
    if cls is int or cls is float or cls is bool or isinstance(x, torch.Tensor):
        return x
    try:
        t = as_tensor(x, like)
        error = None if t is not None else f"expected a tensor or numbers, given {kname(x)}"
    except QError as exc:
        if exc.text == STALE:
            raise
        error = exc.text
    if error is not None:
        if cls is List and any(isinstance(i, KHandle) for i in x.items):  # what stands right of a call's list joins it
            error = f"expected a tensor or numbers, given {kname(x)}; {JOINED}"
        raise QError(f"{name}: {error}")
    return t


@behaviour("dyad", TensorHandle)
def dyad(h: TensorHandle, name: str, x: Value, y: Value) -> Value:
    """The q operator or verb `name` of two operands, one or both tensors: a new tensor."""
    fn = DYADS.get(name)
    if fn is not None and x.__class__ is TensorHandle and y.__class__ is TensorHandle:
        a, b = x.obj, y.obj
        if a is None or b is None or a is GONE or b is GONE:
            a, b = operand(name, x), operand(name, y)  # the error that says which
        return TensorHandle(invoke(name, fn, a, b))
    if y.__class__ in _NUMBERS and name in _BEFORE and h.obj is not None and h.obj is not GONE:
        return TensorHandle(invoke(name, DYADS[name], h.obj, y))
    other = y if x is h else x
    if isinstance(other, KHandle) and other.__class__ is not TensorHandle:
        return other.dyad(name, x, y)
    if y is h and (name == "cut" or (name == "_" and is_list(x))):
        return List([tensor_handle(t) for t in invoke(name, windows.parts, name, x, operand(name, h))])
    return TensorHandle(pair(name, x, y, operand(name, h)))


def pair(name: str, x: Any, y: Any, like: Any) -> Any:
    """The operator or verb `name` of two operands, each a q value or a tensor, of which `like` is one."""
    fn = DYADS.get(name)
    if name in _PLAIN and fn is not None:
        return invoke(name, fn, operand(name, x, like), operand(name, y, like))
    right = y.__class__ is TensorHandle or isinstance(y, torch.Tensor)
    if name == "$" and right and x.__class__ in (Sym, Atom):
        cast = invoke("$", _cast, x, like)
        if cast is not None:
            return cast
    if name == "ema":
        return invoke(name, windows.ema, operand(name, x, like), _tensors(operand(name, y, like), like))
    if name in _COUNTED and right and x.__class__ is not TensorHandle:
        return invoke(name, _COUNTED[name], x, like)
    if name == "_" and not right:
        return invoke(name, windows.without, like, y)
    if fn is None:
        raise QError(f"{name}: not implemented for {kname(x)} and {kname(y)}")
    a, b = _tensors(operand(name, x, like), like), operand(name, y, like)
    return invoke(name, fn, a, b if name in _BEFORE else _tensors(b, like))


_NUMBERS = (int, float)
# the operators that torch gives for a tensor and a plain number
_PLAIN = frozenset(["+", "-", "*", "%", "=", "<>", "<", ">", "<=", ">="])
_BEFORE = _PLAIN | {"xexp"}  # and of a tensor before one: its square is t*t, which a power of two tensors need not be


def _tensors(a: Any, like: Any) -> Any:
    """An operand as a tensor; a plain number changes the other's type as torch's own numbers do."""
    if isinstance(a, torch.Tensor):
        return a
    return torch.scalar_tensor(a, dtype=torch.result_type(like, a), device=like.device)


def _take(x: Value, t: Any) -> Any:
    """n#t: the first (last if negative) n, from the start again if there are fewer; a list of sizes reshapes."""
    n = long_of(x)
    if n is None:
        sizes = longs_of(x)
        if not sizes:
            raise QError(f"#: expected long(s), given {kname(x)}")
        return t.reshape([-1 if s == -(1 << 63) else s for s in sizes])
    t = t if t.dim() else t.reshape(1)
    if abs(n) > len(t):
        if not len(t):
            raise QError("length")
        reserve((abs(n), *t.shape[1:]), t.element_size())
        return t[torch.arange(min(n, 0), max(n, 0), device=t.device) % len(t)]
    return t[:n] if n >= 0 else t[len(t) + n:]


def _drop(x: Value, t: Any) -> Any:
    n = long_of(x)
    if n is None:
        raise CallError("_", expected="a long", given=kname(x))
    if not t.dim():
        raise CallError("_", "expected a list")
    return t[min(n, len(t)):] if n >= 0 else t[:max(len(t) + n, 0)]


def _rotate(x: Value, t: Any) -> Any:
    n = long_of(x)
    if n is None:
        raise CallError("rotate", expected="a long", given=kname(x))
    return t.roll(-(n % len(t)), 0) if t.dim() and len(t) else t


# the verbs whose left argument is a number of rows, or other q values
_COUNTED: dict[str, Fn] = {"#": _take, "_": _drop, "rotate": _rotate, **windows.COUNTED, **sorting.COUNTED}

# ------------------------------------------------------------------ indexing


def _index_of(i: Value, t: Any) -> Any:
    """One index as torch takes it: int, or a tensor of indices or flags; None for the whole dimension."""
    if i is NIL or i is HOLE:
        return None
    n = long_of(i)
    if n is not None:
        return n
    if i.__class__ is TensorHandle or is_list(i):
        at = as_tensor(i, t)
        if at.dtype == torch.bool:
            return at
        if not at.is_floating_point() or not at.numel():
            return at.to(torch.int64)
    raise CallError("index", expected="long(s) or boolean(s)", given=kname(i))


def _checked(at: Any, size: int) -> Any:
    """The index itself; 'index if it is outside a dimension (asked before torch is, since a GPU cannot recover)."""
    if isinstance(at, int):
        if not -size <= at < size:
            raise QError("index")
    elif at is not None and at.dtype != torch.bool and at.numel():
        low, high = torch.aminmax(at)
        if int(low) < -size or int(high) >= size:
            raise QError("index")
    return at


def _indices(args: Sequence[Value], t: Any) -> list[Any]:
    if len(args) > t.dim() and not (len(args) == 1 and (args[0] is NIL or args[0] is HOLE)):
        raise QError("rank")
    return [_checked(_index_of(i, t), size) for i, size in zip(args, t.shape, strict=False)]


def _select(t: Any, at: Sequence[Any]) -> Any:
    """t[i;j;..], each index selecting along its own dimension, as q's do. A view where that can be."""
    for dim in range(len(at) - 1, -1, -1):
        i = at[dim]
        if i is None:
            continue
        if isinstance(i, int):
            t = t.select(dim, i)
        elif i.dtype == torch.bool or i.dim() != 1:
            t = t[(slice(None),) * dim + (i,)]
        else:
            t = t.index_select(dim, torch.where(i < 0, i + t.shape[dim], i))
    return t


@behaviour("at", TensorHandle)
def index(h: TensorHandle, args: Sequence[Value]) -> Value:
    """`t i`, `t[i;j]`: a tensor; single items are 0-dimensional tensors. Negative indices count from the end."""
    t = as_tensor(h)
    return tensor_handle(invoke("index", lambda: _select(t, _indices(args, t))))


def _places(t: Any, at: Sequence[Any]) -> tuple[Any, ...]:
    """Indices of several dimensions as torch's advanced indexing takes them for all their combinations."""
    lists = [i for i in at if isinstance(i, torch.Tensor)]
    if len(lists) < 2:
        return tuple(slice(None) if i is None else i for i in at)
    indices: list[Any] = []
    seen = 0
    full = [torch.arange(n, device=t.device) if i is None else i for i, n in zip(at, t.shape, strict=False)]
    count = sum(not isinstance(i, int) for i in full)
    for i in full:
        if isinstance(i, int):
            indices.append(i)
            continue
        i = i.nonzero().squeeze(-1) if i.dtype == torch.bool else i
        shape = [1] * count
        shape[seen] = -1
        indices.append(i.reshape(shape))
        seen += 1
    return tuple(indices)


@behaviour("same", TensorHandle)
def same(h: TensorHandle, other: TensorHandle) -> bool:
    """Have two tensors the same type, size and elements? Doubles may differ a little, as in q's comparisons."""
    a, b = as_tensor(h), as_tensor(other)
    if a.dtype != b.dtype or a.shape != b.shape or a.device != b.device:
        return False
    if not (a.is_floating_point() or a.is_complex()):
        return invoke("converge", torch.equal, a, b)
    return invoke("converge", torch.allclose, a, b, rtol=2.0**-43, atol=0, equal_nan=True)


@behaviour("rows", TensorHandle)
def rows(h: TensorHandle) -> list[Value]:
    """The items along the first dimension; a tensor without dimensions is its own."""
    t = as_tensor(h)
    return [tensor_handle(i) for i in invoke("rows", t.unbind)] if t.dim() else [h]


@behaviour("choose", TensorHandle)
def choose(h: TensorHandle, x: Value, y: Value, z: Value) -> Value:
    """`?[x;y;z]`: the elements of y where x is true, else those of z."""
    t = as_tensor(h)
    where = operand("?", x, t)
    if getattr(where, "dtype", None) is not torch.bool:
        raise QError(f"?: expected boolean(s), given {kname(x)}")
    return tensor_handle(invoke("?", torch.where, where, operand("?", y, t), operand("?", z, t)))


@behaviour("length", TensorHandle)
def length(h: TensorHandle) -> int:
    """How many rows there are."""
    t = as_tensor(h)
    if not t.dim():
        raise QError("rank")
    return len(t)


@behaviour("amend", TensorHandle)
def amend(h: TensorHandle, args: Sequence[Value], f: Value, y: Value) -> Value:
    """`t[i]:y`, `t[i]+:y`, `@[t;i;f;y]`: changes the tensor in place. + and - count an index given twice twice."""
    t = as_tensor(h)

    def run() -> None:
        at = _places(t, _indices(args, t))
        name = f.name if f.__class__ is Prim else ""
        with _writing(t):
            if f is None or f is NIL or name == ":":
                t[at] = _value(y, t)
            elif name in ("+", "-") and y is not NIL and y is not HOLE and any(isinstance(i, torch.Tensor) for i in at):
                _add_at(t, at, _value(y, t), 1 if name == "+" else -1)
            else:
                part = tensor_handle(t[at].clone())
                result = stoppable(apply, f, (part,) if y is NIL or y is HOLE else (part, y))
                t[at] = _value(result, t)

    invoke("amend", run)
    return h


def _writing(t: Any) -> Any:
    """The mode to write into a tensor in: a parameter is set, not differentiated."""
    whole = t if t.is_leaf or t._base is None else t._base
    return torch.set_grad_enabled(torch.is_grad_enabled() and not (whole.is_leaf and whole.requires_grad))


@behaviour("undo", TensorHandle)
def undo(h: TensorHandle, args: Sequence[Value]) -> Callable[[], None]:
    """A function that restores the present values of the elements at an index, with their gradient history."""
    t = as_tensor(h)

    def kept() -> tuple[Any, Any]:
        at = _places(t, _indices(args, t))
        with _writing(t):
            return at, t[at].clone()

    at, before = invoke("amend", kept)

    def put_back() -> None:
        with _writing(t):
            t[at] = before

    return put_back


def _add_at(t: Any, at: tuple[Any, ...], v: Any, sign: int) -> None:
    shape = t[at].shape
    whole = [torch.arange(n, device=t.device) if isinstance(i, slice) else i for i, n in zip(at, t.shape, strict=False)]
    if any(isinstance(i, slice) for i in at) or len(at) < t.dim() or any(
            isinstance(i, torch.Tensor) and i.dtype == torch.bool for i in whole):
        if len(at) == 1 and at[0].dtype != torch.bool and at[0].dim() == 1:
            t.index_add_(0, at[0], v.expand(shape).to(t.dtype), alpha=sign)
        else:
            t[at] = t[at] + sign * v
        return
    index = tuple(i if isinstance(i, torch.Tensor) else torch.tensor(i, device=t.device) for i in at)
    t.index_put_(index, (sign * v.to(t.dtype)).expand(shape), accumulate=True)


def _value(y: Value, t: Any) -> Any:
    """The values to put in: a tensor of the tensor's type."""
    v = operand("amend", y, t)
    v = v if isinstance(v, torch.Tensor) else torch.tensor(v)
    return v.to(device=t.device, dtype=t.dtype)


def operators() -> tuple[list[str], list[str]]:
    """The q verbs of one and of two arguments that tensors know (for the reference)."""
    return sorted(MONADS), sorted({*DYADS, *_COUNTED, "cut", "ema"})
