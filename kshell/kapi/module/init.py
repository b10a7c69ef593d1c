"""Filling existing tensors: constants, distributions, parameter initializations.

All take a tensor or a collection of tensors, then a selection (indices, names), then options, and return nothing. For a
q array, they return a filled copy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kshell.errors import CallError, QError
from kshell.kapi.base.args import (
    data_items,
    items,
    long_of,
    longs_of,
    name_of,
    names_of,
    need,
    number_of,
    size_text,
)
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import as_tensor, kname, to_q, to_tensor, undefined
from kshell.kapi.base.handles import (
    KHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    TensorHandle,
    VectorHandle,
    handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.math.row_options import TYPES, MathOption, match, option_words
from kshell.kapi.module.api import module_behind
from kshell.kapi.tensor.containers import tensors_in
from kshell.values.base.core import NIL, Value, Vec
from kshell.values.base.symbols import Sym

if TYPE_CHECKING:
    from torch import Tensor

EFFECT = "none"  # default for the functions here


class Init(NamedTuple):
    """A function that fills a tensor in place, with options declared as in math rows; symbols and numbers may come in
    any order. With `indexed`, a long directly after a tensor or vector is an index, never an option."""

    name: str
    fill: Callable[..., Any]
    doc: str
    example: str
    options: str = ""
    indexed: bool = False


# names of nonlinearities and fan modes that differ from torch's
_NONLINEAR = {
    "leakyrelu": "leaky_relu",
    **{f"convtranspose{n}d": f"conv_transpose{n}d" for n in (1, 2, 3)},
}
_FANS = {"fanin": "fan_in", "fanout": "fan_out"}
NONLINEAR = (
    "linear",
    "sigmoid",
    "tanh",
    "relu",
    "leakyrelu",
    "selu",
    *(f"conv{n}d" for n in (1, 2, 3)),
    *(f"convtranspose{n}d" for n in (1, 2, 3)),
)


def nonlinearity(x: Value) -> str | None:
    """torch's name for a nonlinearity, None if x does not name one."""
    name = name_of(x)
    return _NONLINEAR.get(name, name) if name in NONLINEAR else None


def _fan(x: Value) -> str | None:
    return _FANS.get(name_of(x) or "")


def _init(name: str) -> Callable[..., Any]:
    """A function of torch.nn.init, looked up when called."""

    def run(t: Tensor, **options: Any) -> None:
        getattr(torch.nn.init, name)(t, **options)

    return run


def _method(name: str) -> Callable[..., Any]:
    """An in-place tensor method."""

    def run(t: Tensor, **options: Any) -> None:
        getattr(t, name)(**options)

    return run


def random(t: Tensor, low: float | None = None, high: float | None = None) -> None:
    """Integers below a bound, between two bounds, or over the full range of the type."""
    if any(isinstance(bound, float) and not bound.is_integer() for bound in (low, high)):
        raise CallError("random", "requires integers for low & high limits")
    t.random_(*(int(bound) for bound in (low, high) if bound is not None))


def snormal(t: Tensor, fraction: float, std: float = 0.01) -> None:
    """torch.nn.init.sparse_ with a validated fraction."""
    if not 0 <= fraction <= 1:
        raise QError(f"snormal: fraction is {fraction}, must be between 0 and 1")
    torch.nn.init.sparse_(t, fraction, std)


_FAN = "nonlinearity:nonlinearity fan/mode:fan slope/a:number"
ROWS = (
    Init("zeros", _init("zeros_"), "Set to 0.", "zeros 1 2f|0 0f"),
    Init("ones", _init("ones_"), "Set to 1.", "ones 2 3f|1 1f"),
    Init("fill", _method("fill_"), "Set to a value.", "fill(0 0f;2.5)|2.5 2.5", "value:scalar*"),
    Init(
        "filldiagonal",
        _method("fill_diagonal_"),
        "Set the diagonal to a value; with the flag, it wraps around in a tall matrix.",
        "filldiagonal(2 2#0;7)|7 0\\n0 7",
        "value/fill_value:scalar* wrap:flag",
    ),
    Init("eye", _init("eye_"), "Set a matrix to the identity.", "eye 2 2#0f|1 0\\n0 1"),
    Init(
        "dirac",
        _init("dirac_"),
        "Set the weights of a convolution so that it preserves its input.",
        "dirac 1 1 3#0f|0 1 0",
    ),
    Init(
        "orthogonal",
        _init("orthogonal_"),
        "Set to an orthogonal matrix, times a gain (1).",
        "{all 1e-6>abs raze tril(mmt(x;x);-1)}orthogonal 3 3#0f|1b",
        "gain:number",
        True,
    ),
    Init(
        "knormal",
        _init("kaiming_normal_"),
        "Kaiming initialization with a normal distribution.",
        "count knormal(3 4#0f;`relu;`fanout)|3",
        _FAN,
        True,
    ),
    Init(
        "kuniform",
        _init("kaiming_uniform_"),
        "Kaiming initialization with a uniform distribution.",
        "count kuniform(3 4#0f;`relu;`fanin)|3",
        _FAN,
        True,
    ),
    Init(
        "snormal",
        snormal,
        "Set a fraction of each column to 0, draw the rest from a normal distribution with a deviation (0.01).",
        "sum 0=snormal(4 2#1f;.5)|2 2i",
        "fraction:number* std:number",
        True,
    ),
    Init(
        "xnormal",
        _init("xavier_normal_"),
        "Xavier initialization with a normal distribution, times a gain (1).",
        "count xnormal 3 4#0f|3",
        "gain:number",
        True,
    ),
    Init(
        "xuniform",
        _init("xavier_uniform_"),
        "Xavier initialization with a uniform distribution, times a gain (1).",
        "all 1>=abs raze xuniform 3 3#0f|1b",
        "gain:number",
        True,
    ),
    Init(
        "normal",
        _method("normal_"),
        "Draw from a normal distribution with a mean (0) and standard deviation (1).",
        "count normal(5#0f;10;.5)|5",
        "mean:number std:number",
    ),
    Init(
        "uniform",
        _method("uniform_"),
        "Draw from a uniform distribution between two bounds (0 and 1).",
        "(uniform(5#0f;2;3))within 2 3|11111b",
        "low/from:number high/to:number",
    ),
    Init(
        "random",
        random,
        "Draw integers below a bound, or from a lower to below an upper bound.",
        "(random(5#0;3))within 0 2|11111b",
        "low:number high:number",
    ),
    Init(
        "cauchy",
        _method("cauchy_"),
        "Draw from a Cauchy distribution with a median (0) and a half-width (1).",
        "count cauchy 5#0f|5",
        "median:number sigma:number",
    ),
    Init(
        "exponential",
        _method("exponential_"),
        "Draw from an exponential distribution with a rate (1).",
        "all 0<exponential(5#0f;2)|1b",
        "rate/lambd:number",
    ),
    Init(
        "geometric",
        _method("geometric_"),
        "Draw from a geometric distribution: trials up to the first success with a given probability.",
        "all 1<=geometric(3#0f;.5)|1b",
        "p:number*",
    ),
    Init(
        "lognormal",
        _method("log_normal_"),
        "Draw from a log-normal distribution, with a mean (1) and standard deviation (2) of the logarithm.",
        "all 0<lognormal(5#0f;0;1)|1b",
        "mean:number std:number",
    ),
)


# ------------------------------------------------------------------ arguments


def _given(name: str, x: Value) -> list[Value]:
    args = data_items(x)
    if not args:
        raise CallError(name, "expecting tensors or an array")
    return list(args)


def _selected(
    options: Sequence[MathOption], named: bool, rest: list[Value], indexed: bool
) -> Value | None:
    """Take the selection from the arguments: a list of indices, or names; a single number or symbol only if it cannot
    be an option, or is a long and `indexed`."""
    x = rest[0] if rest else NIL
    if x.__class__ is Vec:
        selects = bool(names_of(x)) if named else bool(longs_of(x))
    elif named:
        selects = name_of(x) is not None and not any(
            option.read(x) is not None for option in options
        )
    else:
        numbers = [option for option in options if option.read(0) is not None]
        selects = long_of(x) is not None and (
            indexed or sum(number_of(argument) is not None for argument in rest) > len(numbers)
        )
    return rest.pop(0) if selects else None


def _tensors(name: str, h: KHandle, select: Value | None) -> list[Any]:
    """The tensors to fill: all of a collection, the selected ones, or selected parts of a tensor."""
    if isinstance(h, ModuleHandle | ModelHandle | OptimizerHandle):
        if select is None:
            raise QError(f"{name}: not implemented for single {h.kind} argument")
        module = module_behind(h, name)
        known = {**dict(module.named_buffers()), **dict(module.named_parameters())}
        for key in names_of(select) or ():
            if key not in known:
                raise QError(f"{name}: unable to find parameter or buffer `{key}")
        return [known[key] for key in names_of(select) or ()]
    if h.__class__ is TensorHandle and select is not None:
        return _parts(name, as_tensor(h), select)
    named = tensors_in(h, select, name)
    if named is None:
        raise QError(f"{name}: not implemented for {h.plural}")
    if any(tensor is None for _, tensor in named):
        raise undefined()
    return [tensor for _, tensor in named]


def _parts(name: str, t: Tensor, select: Value) -> list[Any]:
    """The items of a tensor at the selected indices."""
    positions = longs_of(select) or []
    for position in positions:
        if not t.dim() or not 0 <= position < t.shape[0]:
            raise QError(
                f"{name}: index {position} out of bounds for a tensor of size {size_text(t.shape)}"
            )
    return [t[position] for position in positions]


def _fill(fn: Callable[..., Any], tensors: Sequence[Any], options: dict[str, Any]) -> None:
    """Fill all tensors or, on an error, none."""
    with torch.no_grad():
        if len(tensors) == 1:
            fn(tensors[0], **options)
            return
        filled = [tensor.clone() for tensor in tensors]
        for target in filled:
            fn(target, **options)
        for target, source in zip(tensors, filled, strict=True):
            target.copy_(source)


def _register(row: Init) -> None:
    options = option_words(row.options)

    def run(x: Value) -> Value:
        data, *arguments = _given(row.name, x)
        target = handle(data)
        select = None
        if target is not None or row.name == "fill":
            named = target is not None and target.__class__ not in (TensorHandle, VectorHandle)
            select = _selected(options, named, arguments, row.indexed)
        arguments.sort(
            key=lambda a: next(
                (index for index, option in enumerate(options) if option.read(a) is not None),
                len(options),
            )
        )
        options_given = match(row.name, options, arguments)
        if target is not None:
            _fill(row.fill, _tensors(row.name, target, select), options_given)
            return NIL
        tensor = to_tensor(data)
        _fill(
            row.fill,
            [tensor] if select is None else _parts(row.name, tensor, select),
            options_given,
        )
        return to_q(tensor, copy=False)

    _add(row, options, run)


def _add(row: Init, options: Sequence[MathOption], run: Callable[[Value], Value]) -> None:
    """Register a row's function, with its signatures and help."""
    expression, _, output = row.example.partition("|")
    shown = output.replace("\\n", "\n")
    run.__doc__ = f"{row.doc}\n\nq){expression}\n{shown}\n"
    names = "".join(f";{option.name}" for option in options)
    forms = (
        f"{row.name} x",
        f"{row.name}(x{names})",
        f"{row.name}(tensors;indices{names})",
        f"{row.name}(tensors;names{names})",
    )
    api(
        row.name,
        *(forms[1:] if any(option.required for option in options) else dict.fromkeys(forms)),
        topic="kapi.module.init",
        held=True,
        effect="none",
    )(run)


TYPES["nonlinearity"] = (nonlinearity, "name of a nonlinearity")
TYPES["fan"] = (_fan, "`fanin or `fanout")
for _row in ROWS:
    _register(_row)


@api("gain", "gain nonlinearity", "gain(nonlinearity;factor)")
def gain(x: Value) -> Value:
    """The recommended scale factor for weights before a nonlinearity.

    q)gain`relu
    1.414214
    q)gain(`leakyrelu;.5)
    1.264911
    """
    args = items(x)
    if not 1 <= len(args) <= 2:
        raise QError(f"gain: expecting 1-2 args, given {len(args)}")
    name = nonlinearity(args[0])
    if name is None:
        known = "".join("`" + choice for choice in NONLINEAR)
        raise QError(
            f"gain: expected a nonlinearity, one of {known}, given "
            + (f"`{name_of(args[0])}" if args[0].__class__ is Sym else kname(args[0]))
        )
    factor = None if len(args) < 2 else need(number_of(args[1]), "gain factor", "number", args[1])
    return float(torch.nn.init.calculate_gain(name, factor))
