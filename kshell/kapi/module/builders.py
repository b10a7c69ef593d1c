"""Builders and readers for module types that need more than calling a class with arguments.

A builder takes the entry and the given options, {name: Python value}, and returns the torch module; a reader takes the
live module and returns the value of one option.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kshell import nn
from kshell.errors import CallError, QError
from kshell.kapi.base import guard, python_options
from kshell.kapi.base.args import entry_named, is_empty, named_values, split
from kshell.kapi.base.call import mapped
from kshell.kapi.base.convert import dict_q, kname, own_tensor
from kshell.kapi.base.handles import DictHandle, KHandle, ModuleHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.module.options import (
    Given,
    Pairs,
    as_dict,
    check,
    class_of,
    live_values,
    module_record,
    parse,
    remember,
    torch_args,
)
from kshell.registry import Entry
from kshell.values.base.build import longs, symdict
from kshell.values.base.core import NIL, Dict, List, Value, Vec, is_atom, seq_items
from kshell.values.base.symbols import Sym, sym

if TYPE_CHECKING:
    from torch.nn import Module, TransformerDecoder, TransformerEncoder


def build(entry: Entry, args: Sequence[Value], before: int = 1) -> Any:
    """The torch module for an entry, from its arguments: positional ones, then name-value pairs in last position."""
    record = module_record(entry)
    if record.python is not None:
        return python_options.build(record.python, entry, args, before)
    if record.parse is not None:
        options = record.parse(entry, args)
    else:
        positional, named = split_args(entry, args)
        options = parse(entry, positional, named, before)
        check(entry, options)
    guard.windows(entry.name, options)
    try:
        module = (record.make or _plain)(entry, options)
        remember(entry, module, options)
        return module
    except QError:
        raise
    except Exception as exc:
        error = mapped(entry.name, exc)
    raise error


def split_args(entry: Entry, args: Sequence[Value]) -> tuple[list[Value], Pairs]:
    """Positional arguments and pairs. If the last argument is a nested specification for an option of type any, it is
    positional."""
    last = args[-1] if args else NIL
    if args and entry.options and last.__class__ is not Dict:
        position = len(args) - 1
        if (
            position < len(entry.options)
            and entry.options[position].type == "any"
            and not is_empty(last)
        ):
            return list(args), []
        if last.__class__ is List and not last.items:  # `()`: no pairs, or an omitted option
            return list(args[:-1]), []
    names = [arg.s for arg in args if arg.__class__ is Sym]
    if (
        len(args) > 1
        and len(names) == len(args)
        and len(args) % 2 == 0
        and not (entry.options and entry.options[0].type == "symbol")
    ):
        return [], list(zip(names[::2], args[1::2], strict=True))
    return split(args)


def _plain(entry: Entry, given: Given) -> Any:
    return class_of(entry)(**torch_args(entry, given))


def entry_of(name: str) -> Entry:
    """The module type with a name; `unrecognized module type: `name` if there is none."""
    return entry_named("module", "unrecognized module type: `", name)


# ------------------------------------------------------------------ parameter dictionaries


def parmdict_parse(entry: Entry, args: Sequence[Value]) -> Given:
    """`(`parmdict;d)`: d is a q dictionary of arrays or a dictionary of tensors."""
    if not args or is_empty(args[0]):
        return {}
    x = args[0]
    if x.__class__ is DictHandle:
        return dict(x.get())
    if x.__class__ is not Dict:
        raise QError(
            "module: parameter dictionary expects a k dictionary or an allocated dictionary of tensors, "
            f"given {kname(x)}"
        )
    return {name: own_tensor(value) for name, value in named_values(x).items()}


def parmdict(entry: Entry, given: Given) -> Any:
    """A ParameterDict; parameters whose type cannot have gradients are held without."""
    parameter = torch.nn.Parameter
    return torch.nn.ParameterDict(
        {
            key: value
            if isinstance(value, parameter)
            else parameter(value, requires_grad=value.is_floating_point())
            for key, value in given.items()
        }
    )


def parmdict_live(m: Module, every: bool, state: bool) -> Dict:
    """Its parameters are its options, unless they are shown as its state."""
    return symdict([], []) if state else dict_q(dict(m.named_parameters(recurse=False)))


# ------------------------------------------------------------------ embedding


def _is_weight(positional: Sequence[Value]) -> bool:
    return bool(positional) and not is_atom(positional[0])


def embed_place(positional: Sequence[Value]) -> list[str]:
    """Either rows and columns, or weights and a flag to freeze them, then the other options."""
    leading = ["weight", "freeze"] if _is_weight(positional) else ["rows", "cols"]
    return [*leading, "padindex", "maxnorm", "p", "scale", "sparse"]


def prelu_place(positional: Sequence[Value]) -> list[str]:
    """The number of slopes and the initial slope; the latter is not an integer and may come alone."""
    return ["init"] if len(positional) == 1 and positional[0].__class__ is float else ["in", "init"]


def pad_place(positional: Sequence[Value]) -> list[str]:
    """Sizes and mode, then the value, which may directly follow the sizes."""
    return (
        ["pad", "value", "mode"]
        if len(positional) == 2 and positional[1].__class__ is not Sym
        else ["pad", "mode", "value"]
    )


def embedbag_place(positional: Sequence[Value]) -> list[str]:
    """As for embed; a symbol in last position is the mode, wherever it falls."""
    leading = ["weight", "freeze"] if _is_weight(positional) else ["rows", "cols"]
    order = [*leading, "maxnorm", "p", "scale", "mode", "sparse", "padindex"]
    count = len(positional)
    if 1 < count < 6 and positional[-1].__class__ is Sym:
        return [*order[: count - 1], "mode"]
    return order


def embed(entry: Entry, given: Given) -> Any:
    """An embedding with rows and columns, or with given weights, optionally frozen."""
    cls = getattr(nn.tables, class_of(entry).__name__)
    keywords = torch_args(
        entry,
        {
            key: value
            for key, value in given.items()
            if key not in ("rows", "cols", "weight", "freeze")
        },
    )
    weight = given.get("weight")
    sizes: Given = {key: given.get(key) for key in ("rows", "cols")}
    if weight is None:
        for key, label in (("rows", "rows"), ("cols", "columns")):
            if sizes[key] is None or sizes[key] <= 0:
                raise QError(f"{entry.name}: positive number of {label} required")
        module = cls(sizes["rows"], sizes["cols"], **keywords)
    else:
        if weight.ndim != 2:
            raise QError(f"{entry.name}: weight matrix expected, given {weight.ndim} dimension(s)")
        if not weight.is_floating_point():
            raise CallError(entry.name, "weight matrix is not floating point")
        for key, size in zip(sizes, weight.shape, strict=True):
            if sizes[key] not in (None, size):
                raise QError(
                    f"{entry.name}: {key} = {sizes[key]} but weights are {list(weight.shape)}"
                )
        module = cls(*weight.shape, _weight=weight.detach(), **keywords)
    if weight is not None or "freeze" in given:
        module.from_weights = True
    if given.get("freeze"):
        module.weight.requires_grad_(False)
    return module


def embed_live(m: Module, every: bool, state: bool) -> Dict:
    """The options of a live embedding. If it was made from weights, these replace its size; a state contains them
    once."""
    entry = entry_of("embedbag" if isinstance(m, torch.nn.EmbeddingBag) else "embed")
    values = live_values(entry, m)
    if getattr(m, "from_weights", False):
        values["freeze"] = not m.weight.requires_grad
        if not state:
            values["weight"] = m.weight
            del values["rows"], values["cols"]
    return as_dict(entry, values, every)


def embed_hide(values: Given) -> Given:
    """The options without those for weights."""
    return {key: value for key, value in values.items() if key not in ("weight", "freeze")}


EMBED_READ: dict[str, Callable[[Any], Any]] = {"weight": lambda m: None, "freeze": lambda m: False}


# ------------------------------------------------------------------ pools, padding and resizing


def avgpool1d(entry: Entry, given: Given) -> Any:
    """One-dimensional average pooling with a divisor, which torch's module lacks."""
    divisor = given.get("divisor")
    pool = _plain(entry, {key: value for key, value in given.items() if key != "divisor"})
    return pool if divisor is None else nn.shape.AvgPool1d(pool, divisor)


AVGPOOL1D_READ: dict[str, Callable[[Any], Any]] = {
    "divisor": lambda m: getattr(m, "divisor_override", None)
}


def pad(entry: Entry, given: Given) -> Any:
    """Padding with pairs of sizes."""
    count = len(given["pad"])
    if not count or count % 2:
        raise QError(
            f"{entry.name}: {count} pad size(s) given, expecting pairs for left,right or left,right,top,bottom.."
        )
    return _plain(entry, given)


def fractional(entry: Entry, given: Given) -> Any:
    """Fractional pooling: exactly one of output size and ratio must be given."""
    if given.get("outsize") is None and given.get("ratio") is None:
        raise CallError(entry.name, "no output size or ratio given")
    if given.get("outsize") is not None and given.get("ratio") is not None:
        raise CallError(entry.name, "cannot specify both output size & output ratio")
    if given.get("ratio") is not None:
        ratio, dims = given["ratio"], module_record(entry).dims
        given = {**given, "ratio": ratio * dims if len(ratio) == 1 else ratio}
    return _plain(entry, given)


def upsample(entry: Entry, given: Given) -> Any:
    """Resizing to a size or by a scale."""
    size_or_scale(entry, given)
    given = {key: value for key, value in given.items() if value != ()}
    options = {
        key: value[0] if isinstance(value, tuple) and len(value) == 1 else value
        for key, value in given.items()
    }
    if options.get("mode") == "nearestexact":
        options["mode"] = "nearest-exact"
    return _plain(entry, options)


def size_or_scale(entry: Entry, given: Given) -> None:
    """Check that exactly one of size and scale is given."""
    size, scale = given.get("size") or None, given.get("scale") or None
    if size is None and scale is None:
        raise CallError(entry.name, "no output size or scale factor given")
    if size is not None and scale is not None:
        raise QError(f"{entry.name}: both output size and scale factor given")


def upsample_mode(m: Module) -> str:
    return str(m.mode).replace("-", "")


# ------------------------------------------------------------------ attention and transformers

ATTENTION_READ: dict[str, Callable[[Any], Any]] = {
    "bias": lambda m: m.in_proj_bias is not None,
    "addbias": lambda m: m.bias_k is not None,
}


def _activation(m: Module) -> str:
    function = m.activation
    return str(getattr(function, "__name__", type(function).__name__)).lower()


LAYER_READ: dict[str, Callable[[Any], Any]] = {
    "in": lambda m: m.self_attn.embed_dim,
    "heads": lambda m: m.self_attn.num_heads,
    "dim": lambda m: m.linear1.out_features,
    "dropout": lambda m: m.dropout.p,
    "fn": _activation,
    "batchfirst": lambda m: m.self_attn.batch_first,
}

EXAMPLE_LAYER = symdict(["in", "heads", "dim", "dropout", "fn"], [512, 8, 2048, 0.1, sym("relu")])


EXAMPLE_NORM = symdict(["shape", "eps", "affine"], [longs([512]), 1e-5, True])


def _options(kind: str, m: Module) -> Callable[[bool], Dict]:
    """The options of part of a module, all or only those that differ from their defaults."""
    entry = entry_of(kind)
    return lambda every: as_dict(entry, live_values(entry, m), every)


def _norm(m: TransformerEncoder | TransformerDecoder) -> Any:
    return symdict([], []) if m.norm is None else _options("layernorm", m.norm)


def _first(kind: str, m: TransformerEncoder | TransformerDecoder) -> Any:
    """The options of the layers of an encoder or decoder, if it has any."""
    return _options(kind, m.layers[0]) if len(m.layers) else symdict([], [])


CODER_READ: dict[str, dict[str, Callable[[Any], Any]]] = {
    kind: {
        f"{kind}layer": lambda m, kind=kind: _first(f"{kind}layer", m),  # type: ignore[misc]
        "layers": lambda m: m.num_layers,
        "layernorm": _norm,
    }
    for kind in ("encoder", "decoder")
}


def attention(entry: Entry, given: Given) -> Any:
    """Attention; non-positive sizes for keys and values mean the input size."""
    return _plain(
        entry,
        {
            key: None if key in ("kdim", "vdim") and value is not None and value <= 0 else value
            for key, value in given.items()
        },
    )


def _part(kind: str, x: Value) -> Any:
    """A module of one kind from another module's option: a handle, a type with arguments, just arguments, or a
    dictionary of options."""
    entry = entry_of(kind)
    if isinstance(x, ModuleHandle):
        return x.get()
    if x.__class__ is Dict:
        return build(entry, [x], 0)
    if x is NIL or isinstance(x, KHandle):
        raise CallError(kind, expecting="module, type and arguments, or options", given=kname(x))
    args = [x] if is_atom(x) else list(seq_items(x))
    if args and args[0].__class__ is Sym:
        if args[0].s != kind:
            raise QError(f"unexpected layer '{args[0].s}', expecting {kind}")
        args = args[2:] if len(args) > 1 and args[1].__class__ is Sym else args[1:]
    return build(entry, args)


def coder(entry: Entry, given: Given) -> Any:
    """A stack of encoder or decoder layers, optionally with a final layer normalization."""
    layer = _part(f"{entry.name}layer", given[f"{entry.name}layer"])
    norm = given.get("layernorm")
    final = None
    if norm is not None and not is_empty(norm) and not (norm.__class__ is Dict and not len(norm)):
        bare = norm.__class__ is Sym or (norm.__class__ is Vec and not len(norm))
        final = torch.nn.LayerNorm(layer.self_attn.embed_dim) if bare else _part("layernorm", norm)
    keywords = {"enable_nested_tensor": False} if entry.name == "encoder" else {}
    return class_of(entry)(layer, given["layers"], norm=final, **keywords)
