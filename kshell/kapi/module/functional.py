"""Modules as functions: activations, pooling, padding and others, applied to arrays or tensors with the options of the
module type of that name; and functions of torch.nn.functional that are not modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

# isort: off
# module types in completion order; some are functions here
import kshell.kapi.module.types
import kshell.kapi.module.window_types
import kshell.kapi.module.sequence_types
import kshell.kapi.module.activation_types
import kshell.kapi.module.own_types
import kshell.kapi.module.torch_types  # noqa: F401

# isort: on
from kshell import registry
from kshell.errors import CallError, QError
from kshell.kapi.base.args import data_items, items
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import as_tensor, as_tensors, is_array, kname, result
from kshell.kapi.base.handles import TensorHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.option_docs import worded
from kshell.kapi.math.rows import Row, register
from kshell.kapi.module.builders import build, entry_of, size_or_scale, split_args
from kshell.kapi.module.options import ModuleRecord, module_record, parse
from kshell.kapi.module.types import B, D, L
from kshell.registry import REQUIRED, Entry
from kshell.values.base.core import NIL, Value, Vec
from kshell.values.base.symbols import Sym
from kshell.values.base.types import NUMERIC

if TYPE_CHECKING:
    from torch import Tensor
    from torch import dtype as DType

EFFECT = "none"  # default for the functions here

# fmt: off  # a table
# module type: an example of the function, `expression|result`
_EXAMPLES = {
    "celu": "celu(-1 0 1f)|-0.6321206 0 1",
    "elu": "elu(-1 0 1f;2)|-1.264241 0 1",
    "gelu": "gelu(-1 0 1f)|-0.1586553 0 0.8413447",
    "glu": "glu 1 2 3 4f|0.9525741 1.964028",
    "hardshrink": "hardshrink(-1 .2 1f)|-1 0 1f",
    "hardtanh": "hardtanh(-3 .5 3f)|-1 0.5 1",
    "leakyrelu": "leakyrelu(-1 0 1f;.1)|-0.1 0 1",
    "logsigmoid": "logsigmoid 0 1f|-0.6931472 -0.3132617",
    "mish": "mish 0 1f|0 0.8650984",
    "relu": "relu(-1 0 1f)|0 0 1f",
    "relu6": "relu6(-1 5 9f)|0 5 6f",
    "rrelu": "rrelu(-1 0 1f)|-0.2291667 0 1",
    "selu": "selu 0 1f|0 1.050701",
    "silu": "silu 0 1f|0 0.7310586",
    "softplus": "softplus 0 1f|0.6931472 1.313262",
    "softshrink": "softshrink(-1 .2 1f)|-0.5 0 0.5",
    "softsign": "softsign(-1 0 1f)|-0.5 0 0.5",
    "tanhshrink": "tanhshrink 0 1f|0 0.2384058",
    "threshold": "threshold(1 2 3;2;9)|9 9 3",
    "adaptavg1d": "raze over adaptavg1d(1 6#1f+til 6;2)|2 5f",
    "adaptavg2d": 'raze over adaptavg2d(1 4 4#"f"$til 16;1)|,7.5',
    "adaptavg3d": 'raze over adaptavg3d(1 2 2 2#"f"$til 8;1)|,3.5',
    "adaptmax1d": 'raze over adaptmax1d(1 6#"f"$til 6;2)|2 5f',
    "adaptmax2d": 'raze over adaptmax2d(1 4 4#"f"$til 16;1)|,15f',
    "adaptmax3d": 'raze over adaptmax3d(1 2 2 2#"f"$til 8;1)|,7f',
    "avgpool1d": 'raze over avgpool1d(1 6#"f"$til 6;2)|0.5 2.5 4.5',
    "avgpool2d": 'raze over avgpool2d(1 2 2#"f"$til 4;2)|,1.5',
    "avgpool3d": 'raze over avgpool3d(1 2 2 2#"f"$til 8;2)|,3.5',
    "maxpool1d": 'raze over maxpool1d(1 6#"f"$til 6;2)|1 3 5f',
    "maxpool2d": 'raze over maxpool2d(1 2 2#"f"$til 4;2)|,3f',
    "maxpool3d": 'raze over maxpool3d(1 2 2 2#"f"$til 8;2)|,7f',
    "lppool1d": "raze over lppool1d(1 4#1f;2f;2)|1.414214 1.414214",
    "lppool2d": "raze over lppool2d(1 2 2#1f;2f;2)|,2f",
    "fmaxpool2d": 'raze over fmaxpool2d(1 2 2#"f"$til 4;2;1)|,3f',
    "fmaxpool3d": 'raze over fmaxpool3d(1 3 3 3#"f"$til 27;2;1)|,26f',
    "fold": "fold(4 1#1f;2;2)|1 1 1 1",
    "unfold": "unfold(1 2 2#1f;2)|1\n1\n1\n1",
    "onehot": "onehot(2 0;3)|0 0 1\n1 0 0",
    "pad": "pad(1 2;1 1)|0 1 2 0",
    "pairwise": "pairwise(1 2#0f;1 2#3 4f)|,4.999999",
    "similar": "similar(1 2#1 0f;1 2#1 0f)|,1f",
    "zscore": "zscore(1 2 3f;2f;1f)|-1 0 1f",
    "channelshuffle": "raze over channelshuffle(1 4 1#til 4;2)|0 2 1 3",
    "hardsigmoid": "hardsigmoid(-3 0 3f)|0 0.5 1",
    "hardswish": "hardswish(-3 0 3f)|-0 0 3f",
    "pixelshuffle": "pixelshuffle(4 1 1#til 4;2)|0 1 2 3",
    "pixelunshuffle": "raze over pixelunshuffle(1 2 2#til 4;2)|0 1 2 3",
    "randomcrop": "randomcrop(2 2#1;2)|1 1\n1 1",
    "randomflip": "randomflip(1 2#1 2;0f)|1 2",
}
# fmt: on


_ATOMS = frozenset((int, float, bool, Sym))
_KEPT_MOST = 64  # modules cached per function


def _key(a: Value) -> Any:
    """A key for an option that is an atom or a few numbers; None for any other."""
    if a.__class__ in _ATOMS:
        return a.__class__, a
    return (a.t, a.a.tobytes()) if a.__class__ is Vec and a.t in NUMERIC and len(a) <= 8 else None


def _module(entry: Entry, args: Sequence[Value], n: int, kept: dict[Any, Any]) -> Any:
    """The module for some options, in evaluation mode; cached if the options have keys and the module has no
    tensors."""
    key = tuple([_key(arg) for arg in args])
    if None in key:
        return build(entry, args, n).eval()
    module = kept.get(key)
    if module is None:
        module = build(entry, args, n).eval()
        if not getattr(module, "inplace", False) and not module.state_dict():
            if len(kept) >= _KEPT_MOST:
                kept.clear()
            kept[key] = module
    return module


def _call(entry: Entry, x: Value, kept: dict[Any, Any]) -> Value:
    """Apply the module with the options after the inputs."""
    count = module_record(entry).n[0]
    # if several arguments are required, a rectangular list is the argument list, not one array
    several = count > 1 or any(option.default is REQUIRED for option in entry.options)
    args = items(x) if several else data_items(x)
    if len(args) < count:
        raise QError(f"{entry.name}: expects at least {count} args, {len(args)} given")
    for arg in args[:count]:
        if arg.__class__ is not TensorHandle and not is_array(arg):
            raise CallError(entry.name, expected="tensor or array", given=kname(arg))
    tensors, handles = as_tensors(args[:count])
    module = _module(entry, args[count:], count, kept)
    if not tensors[0].is_cpu:
        module.to(tensors[0].device)
    if getattr(module, "inplace", False):
        if not handles:
            module.inplace = False  # q arrays are never written
        else:
            module(*tensors)  # gradients flow through it, as through other in-place calls
            return NIL
    return result(module(*tensors), handles)


def _register(name: str) -> None:
    entry = entry_of(name)
    inputs = "xy"[: module_record(entry).n[0]]
    call, _, shown = _EXAMPLES[name].partition("|")

    modules: dict[Any, Any] = {}

    def run(x: Value) -> Value:
        return _call(entry, x, modules)

    run.__doc__ = (
        f"{entry.summary}\n\nThe module type `{name}` as a function: its options follow the input.\n\n"
        f"q){call}\n{shown}\n"
    )
    form = f"{name}({';'.join(inputs)}[;options..])"
    since = "kshell" if name in ("gelu", "mish", "silu") else entry.since
    api(name, form, since=since, first_torch=entry.first_torch)(run)


for _name in _EXAMPLES:
    _register(_name)


# ------------------------------------------------------------------ functions that are no modules


def _soft(name: str) -> Any:
    """Softmax along a dimension; without one, torch's rule: the first for 0, 1 or 3 dimensions, else the second."""

    def run(x: Tensor, dim: int | None = None, dtype: DType | None = None) -> Any:
        dim = (0 if x.dim() in (0, 1, 3) else 1) if dim is None else dim
        if dtype is None and not x.is_floating_point():
            dtype = torch.get_default_dtype()
        return getattr(torch.nn.functional, name)(x, dim=dim, dtype=dtype)

    return run


def _linear(x: Tensor, w: Tensor, b: Tensor | None = None) -> Any:
    return torch.nn.functional.linear(x, w, b)


def _bilinear(x: Tensor, y: Tensor, w: Tensor, b: Tensor | None = None) -> Any:
    return torch.nn.functional.bilinear(x, y, w, b)


ROWS = (
    Row(
        "softmax",
        _soft("softmax"),
        "Exponentials divided by their sum, along a dimension.",
        "softmax 0 0f|0.5 0.5",
        options="dim:dim dtype:dtype",
        out=False,
    ),
    Row(
        "softmin",
        _soft("softmin"),
        "Softmax of the negated input.",
        "softmin 0 0f|0.5 0.5",
        options="dim:dim dtype:dtype",
        out=False,
    ),
    Row(
        "logsoftmax",
        _soft("log_softmax"),
        "Logarithm of softmax.",
        "logsoftmax 0 0f|-0.6931472 -0.6931472",
        options="dim:dim dtype:dtype",
        out=False,
    ),
    Row(
        "prelu",
        "torch.prelu",
        "Negative inputs multiplied by a weight, one in all or one per channel.",
        "prelu(-2 3f;enlist .5)|-1 3f",
        inputs=2,
        out=False,
    ),
    Row(
        "linear",
        _linear,
        "x times the transposed weight, plus bias.",
        "linear(1 2f;2 2#1 2 3 4f)|5 11f",
        inputs=2,
        more=1,
        out=False,
    ),
    Row(
        "bilinear",
        _bilinear,
        "Bilinear form of two inputs with a weight, plus bias.",
        "bilinear(1 2f;3 4f;1 2 2#1f)|,21f",
        inputs=3,
        more=1,
        out=False,
    ),
    Row(
        "normalize",
        "torch.nn.functional.normalize",
        "The input divided by its p-norm along a dimension.",
        "normalize(3 4f;2;0)|0.6 0.8",
        options="p:number dim:dim eps:number",
    ),
    Row(
        "pdist",
        "torch.pdist",
        "The p-norm distances between all pairs of rows.",
        "pdist(0 0f;3 4f)|,5f",
        options="p:number",
        out=False,
    ),
)
register(ROWS, "functions of modules")

_UPSAMPLE = registry.find("module", "upsample")
assert _UPSAMPLE is not None
_INTERPOLATE = Entry(
    "interpolate",
    "module",
    target="torch.nn.functional.interpolate",
    options=worded(
        "upsample",
        (
            *(
                option._replace(choices=(*option.choices, "area"))
                if option.name == "mode"
                else option
                for option in _UPSAMPLE.options
            ),
            B("rescale", "", None),
        ),
    ),
    record=ModuleRecord(example={"size": 4}),
)
# functions that help lists with the module types, because they have the same kind of options
FUNCTIONS = (
    _INTERPOLATE,
    Entry(
        "normalize",
        "module",
        target="torch.nn.functional.normalize",
        options=worded("normalize", (D("p", "", 2.0), L("dim", "", 1), D("eps", "", 1e-12))),
        record=ModuleRecord(),
    ),
)
_MODES = {"nearestexact": "nearest-exact"}


@api("interpolate", "interpolate(x;size;scale;mode;align;rescale)")
def interpolate(x: Value) -> Value:
    """Resize to a size or by a scale; mode, corner alignment and rescaling are torch's.

    q)interpolate(1 1 2#1 2f;4)
    1 1 2 2
    """
    args = data_items(x)
    if not args or (args[0].__class__ is not TensorHandle and not is_array(args[0])):
        raise CallError(
            "interpolate", expected="tensor or array", given=kname(args[0] if args else x)
        )
    positional, named = split_args(_INTERPOLATE, args[1:])
    options = parse(_INTERPOLATE, positional, named)
    size_or_scale(_INTERPOLATE, options)
    tensor = as_tensor(args[0])
    spatial = max(tensor.dim() - 2, 1)
    size, scale, mode = (options.get(name) for name in ("size", "scale", "mode"))
    resized = torch.nn.functional.interpolate(
        tensor,
        _spread(size, spatial),
        _spread(scale, spatial),
        _MODES.get(mode or "", mode or "nearest"),
        options.get("align"),
        options.get("rescale"),
    )
    return result(resized, args[0].__class__ is TensorHandle)


def _spread(v: Any, n: int) -> Any:
    """A size or scale for each spatial dimension; one stands for all."""
    return v * n if v and len(v) == 1 else v or None
