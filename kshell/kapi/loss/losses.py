"""Losses: one row each; `loss` makes, describes and computes them, and each row is also a function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import (
    entry_named,
    flag_of,
    is_empty,
    items,
    length_of,
    named_values,
    split,
)
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import as_tensor, kname, to_q
from kshell.kapi.base.handles import (
    KHandle,
    LossHandle,
    ModelHandle,
    TensorHandle,
    behaves,
    behaviour,
    handle,
    loss_handle,
    tensor_handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.option_docs import worded
from kshell.kapi.base.python_options import build as build_of_python
from kshell.kapi.loss.calculation import LossRecord, calculate, inputs, loss_record, type_of
from kshell.kapi.loss.given import computed, given_for, on_output, value_of
from kshell.kapi.module.api import every_option, tell_unknown
from kshell.kapi.module.describe import cpp_text, number
from kshell.kapi.module.describe import type_of as type_of_module
from kshell.kapi.module.named_inputs import as_torch
from kshell.kapi.module.options import as_dict, class_of, live_values, parse, torch_args
from kshell.kapi.module.spec import is_state
from kshell.kapi.module.types import B, D, L, S, T
from kshell.kapi.tensor.text import tensor_text
from kshell.registry import Entry, Option
from kshell.values.base.build import string, symdict
from kshell.values.base.core import NIL, Dict, List, Value, Vec
from kshell.values.base.symbols import Sym, sym

if TYPE_CHECKING:
    from torch.nn import Module

EFFECT = "none"  # default for the functions here

_REDUCE = S("reduce", "reduction", "mean", choices=("none", "mean", "sum"))
_REDUCE_KL = S("reduce", "reduction", "mean", choices=("none", "batchmean", "mean", "sum"))
_WEIGHT, _MARGIN = T("weight", "", None), D("margin", "", 1.0)
_HERE = __file__

# ------------------------------------------------------------------ the rows


def row(
    name: str,
    target: str,
    summary: str,
    *options: Option,
    least: int = 2,
    most: int = 2,
    eg: str = "",
    out: str = "",
    first_torch: str = "",
    **fields: Any,
) -> Entry:
    """Register a loss: torch class, options, number of tensors; `eg` are arguments for an example call of the function
    with that name, and `out` is its result. Further fields are those of LossRecord."""
    return registry.add(
        Entry(
            name,
            "loss",
            doc=f"{summary}\n\nq)class loss`{name}\n`loss\n",
            options=worded(name, options),
            topic="losses",
            since="ktorch",
            target=f"torch.nn.{target}",
            first_torch=first_torch,
            file=_HERE,
            record=LossRecord(n=(least, most), eg=(eg, out), **fields),
        )
    )


# fmt: off  # a table
row(
    "bce",
    "BCELoss",
    "Binary cross entropy of probabilities.",
    _REDUCE,
    most=3,
    eg="(.1 .9;0 1f)",
    out="0.1053605",
    text="BCELoss()",
)
row(
    "bcelogits",
    "BCEWithLogitsLoss",
    "Binary cross entropy of logits.",
    T("weight", "pos_weight", None),
    _REDUCE,
    most=3,
    functions=("bcelogit1", "bcelogit2"),
    text="BCEWithLogitsLoss()",
)
row(
    "ce",
    "CrossEntropyLoss",
    "Cross entropy of logits and class indices or probabilities.",
    _WEIGHT,
    L("ignore", "ignore_index", -100),
    D("smoothing", "label_smoothing", 0.0),
    _REDUCE,
    eg="((1 2 3f;3 2 1f);2 0)",
    out="0.407606",
)
row(
    "cosineloss",
    "CosineEmbeddingLoss",
    "Cosine distance of similar (1) or dissimilar (-1) pairs.",
    D("margin", "", 0.0),
    _REDUCE,
    least=3,
    most=3,
    eg="((1 0f;0 1f);(1 0f;0 1f);1 -1)",
    out="0.5",
    shown=("margin",),
)
row(
    "ctc",
    "CTCLoss",
    "Connectionist temporal classification.",
    L("blank", "", 0),
    B("zeroinf", "zero_infinity", False),
    _REDUCE,
    least=4,
    most=4,
    eg="(log 3 1 2#.5;1 1#1;enlist 3;enlist 1)",
    out="0.2876821",
)
row(
    "hinge",
    "HingeEmbeddingLoss",
    "Hinge embedding loss of distances, similar (1) or dissimilar (-1).",
    _MARGIN,
    _REDUCE,
    eg="(.5 .5;1 -1)",
    out="0.5",
    shown=("margin",),
)
row(
    "huber",
    "HuberLoss",
    "Huber loss: squared for small errors, absolute for large ones.",
    D("delta", "", 1.0),
    _REDUCE,
    eg="(1 2f;1 5f)",
    out="1.25",
    shown=None,
)
row(
    "kl",
    "KLDivLoss",
    "Kullback-Leibler divergence of log probabilities and probabilities.",
    _REDUCE_KL,
    eg="(log .5 .5;.5 .5;`sum)",
    out="0f",
)
row("l1", "L1Loss", "Mean absolute error.", _REDUCE, eg="(1 2f;1 4f)", out="1f")
row(
    "margin",
    "MarginRankingLoss",
    "Margin ranking loss: should the first input rank above the second?",
    D("margin", "", 0.0),
    _REDUCE,
    least=3,
    most=3,
    eg="(1 2f;2 1f;1 1)",
    out="0.5",
)
row("mse", "MSELoss", "Mean squared error.", _REDUCE, eg="(1 3 6 9.0;1 2 4 8.0)", out="1.5")
row(
    "multilabel",
    "MultiLabelMarginLoss",
    "Margin loss for multi-label classification.",
    _REDUCE,
    eg="(1 2 4f;2 -1 0)",
    out="0f",
)
row(
    "multimargin",
    "MultiMarginLoss",
    "Margin loss for multi-class classification.",
    L("p", "", 1),
    _MARGIN,
    _WEIGHT,
    _REDUCE,
    eg="(1 2 4f;2)",
    out="0f",
    shown=("p", "margin", "weight", "reduction"),
)
row(
    "multisoft",
    "MultiLabelSoftMarginLoss",
    "Cross entropy for multi-label classification.",
    _WEIGHT,
    _REDUCE,
    eg="(enlist 0 0f;enlist 1 0f)",
    out="0.6931472",
)
row(
    "nll",
    "NLLLoss",
    "Negative log likelihood of log probabilities and class indices.",
    _WEIGHT,
    L("ignore", "ignore_index", -100),
    _REDUCE,
    eg="((-1 -2f;-3 -4f);0 1)",
    out="2.5",
)
row(
    "pairwise",
    "PairwiseDistance",
    "p-norm distance between two inputs.",
    D("p", "", 2.0),
    D("eps", "", 1e-6),
    B("keepdim", "", False),
    read={"p": lambda m: float(m.norm)},
    functions=("",),
)
row(
    "poissonloss",
    "PoissonNLLLoss",
    "Negative log likelihood of Poisson counts.",
    B("log", "log_input", True),
    B("full", "", False),
    D("eps", "", 1e-8),
    _REDUCE,
    eg="(0 0f;1 2f)",
    out="1f",
)
row(
    "similar",
    "CosineSimilarity",
    "Cosine similarity between two inputs.",
    L("dim", "", 1),
    D("eps", "", 1e-8),
    functions=("",),
)
row(
    "smoothl1",
    "SmoothL1Loss",
    "Smooth L1 loss: squared for errors below beta, absolute above.",
    D("beta", "", 1.0),
    _REDUCE,
    eg="(1 2f;1 5f)",
    out="1.25",
    shown=None,
)
row(
    "softmargin",
    "SoftMarginLoss",
    "Two-class logistic loss with targets 1 and -1.",
    _REDUCE,
    eg="(0 0f;1 -1)",
    out="0.6931472",
)
row(
    "triplet",
    "TripletMarginLoss",
    "Triplet margin loss: anchor near positive and far from negative.",
    _MARGIN,
    D("p", "", 2.0),
    D("eps", "", 1e-6),
    B("swap", "", False),
    _REDUCE,
    least=3,
    most=3,
    eg="((1 0f;0 1f);(1 0f;0 1f);(0 1f;1 0f))",
    out="0f",
    shown=("margin", "p", "eps", "swap"),
)
# fmt: on


def entry_of(name: str) -> Entry:
    """The loss with a name."""
    return entry_named("loss", "unrecognized loss function: ", name)


# ------------------------------------------------------------------ making one


def parse_options(entry: Entry, args: Sequence[Value], before: int = 1) -> dict[str, Any]:
    """The given options as {name: Python value}. A symbol in last position is the reduction."""
    positional, named = _arguments(args)
    reduce: dict[str, Any] = {}
    names = [option.name for option in entry.options]
    if positional and positional[-1].__class__ is Sym and names[-1] == "reduce":
        reduce = parse(entry, (), [("reduce", positional.pop())])
    if names == ["reduce"]:
        if len(positional) + len(reduce) > 1:
            raise QError(
                f"{entry.name}: only 1 positional argument(reduce) expected, {len(positional) + len(reduce)} given"
            )
        if positional:
            raise CallError(entry.name, at="reduce", expected="symbol", given=kname(positional[0]))
        for key, _ in named:
            if key != "reduce":
                raise CallError(
                    UNSAID,
                    f"unrecognized option: {key}, {entry.name} loss expects single option: reduce",
                    given=SAID,
                )
    slots = len(names) - (names[-1] == "reduce")
    values = parse(entry, positional[:slots], (), before)
    if len(positional) > slots:
        raise QError(
            f"{entry.name}: expecting up to {before + slots} additional positional args, "
            f"{before + len(positional) + len(reduce)} given"
        )
    tensors = {option.name for option in entry.options if option.type == "tensor"}
    # without weights
    named = [
        (key, NIL if key in tensors and x.__class__ is Vec and not len(x) else x)
        for key, x in named
    ]
    return {**values, **reduce, **parse(entry, (), named, before)}


def _arguments(args: Sequence[Value]) -> tuple[list[Value], Sequence[tuple[str, Value]]]:
    """Positional arguments and pairs; `()` or `::` in last position means no pairs, or an omitted option."""
    if args and is_empty(args[-1]):
        return list(args[:-1]), ()
    names = [arg.s for arg in args if arg.__class__ is Sym]
    if len(args) > 1 and len(args) % 2 == 0 and len(names) == len(args):
        return [], list(zip(names[::2], args[1::2], strict=True))
    return split(args)


def make(entry: Entry, args: Sequence[Value]) -> Any:
    """The torch module for a loss, from its arguments."""
    python = loss_record(entry).python
    if python is not None:
        return build_of_python(python, entry, args, 1)
    return class_of(entry)(**torch_args(entry, parse_options(entry, args)))


def definition(m: Module, every: bool) -> Value:
    """Type and options of a loss; of another class its name alone; what was given for a function or none."""
    given = given_for(m)
    if given is not None:
        return given
    try:
        entry = type_of(m)
    except QError:
        return symdict(["module"], [sym(type(m).__name__)])
    return symdict(["module", "options"], [sym(entry.name), options_of(m, every)])


def options_of(m: Module, every: bool) -> Dict:
    """The options of a loss."""
    entry = type_of(m)
    live = loss_record(entry).live
    return as_dict(entry, live_values(entry, m), every) if live is None else live(m, every, False)


# ------------------------------------------------------------------ the function


@api(
    "loss",
    "loss`name",
    "loss(name;options..)",
    "loss enlist(name;options..)",
    "loss dict",
    "loss l",
    "loss(l;flag)",
    "loss(l;x;y)",
    "loss(model;x;y)",
    "loss model",
    "loss(o;layer;z;timescale)",
)
def loss(x: Value) -> Value:
    """Make a loss, get its definition, or compute it for inputs and targets.

    Options are positional or name-value pairs; the reduction (none, mean or sum) may be a symbol in last position. An
    optimizer that trains layer by layer (streamer) is given the loss z of a layer.

    q)l:loss(`ce;`smoothing,.1)
    q)loss(l;0b)
    module | `ce
    options| (,`smoothing)!,0.1

    q)l:loss(`mse;`sum)
    q)tensor loss(l;1 2 3e;0 2 4e)
    2e
    """
    if x.__class__ is List and len(x.items) == 3:  # the call in a training loop
        source, prediction, truth = x.items
        if (
            source.__class__ is LossHandle
            and prediction.__class__ is truth.__class__ is TensorHandle
        ):
            return TensorHandle(calculate(source.get(), (prediction.get(), truth.get())))
    if x.__class__ is Sym:
        return loss_handle(make(entry_of(x.s), ()))
    if is_state(x) and x.__class__ is Dict:
        return _from_dict(x)
    args = items(x)
    if len(args) == 1 and args[0].__class__ is List and len(args[0]):  # enlisted, as modules are
        args = args[0].items
    first = args[0] if args else None
    if first.__class__ is Sym:
        return loss_handle(make(entry_of(first.s), args[1:]))
    method = behaves("loss", first) if isinstance(first, KHandle) else None
    return _of_object(first, args[1:]) if method is None else method(first, *args[1:])


def _of_object(h: Value | None, rest: Sequence[Value]) -> Value:
    """The definition of a loss, the loss of a model, or its value for inputs and targets."""
    if not isinstance(h, LossHandle | ModelHandle):
        raise CallError("loss", "unrecognized arg(s)", expected=UNSAID)
    handle(h)
    module = h.obj if isinstance(h, LossHandle) else h.obj.loss
    if not rest:
        return definition(module, every_option()) if isinstance(h, LossHandle) else value_of(module)
    flag = flag_of(rest[0]) if len(rest) == 1 else None
    if flag is not None and isinstance(h, LossHandle):
        return definition(module, flag)
    if not computed(module):
        return tensor_handle(on_output(module)(as_torch(rest[0]), inputs(rest[1:])))
    return tensor_handle(calculate(module, inputs(rest)))


def _from_dict(d: Dict) -> Value:
    fields = named_values(d)
    kind = fields["module"]
    if kind.__class__ is not Sym:
        raise CallError("loss", expected="symbol for loss type", given=kname(kind))
    options = fields.get("options", NIL)
    if options.__class__ is not Dict and not is_empty(options):
        raise CallError("loss", expected="dictionary for options", given=kname(options))
    return loss_handle(
        make(entry_of(kind.s), [] if is_empty(options) or not length_of(options) else [options])
    )


# ------------------------------------------------------------------ as functions


def _function(name: str, entry: Entry, n: int, weighted: bool) -> Callable[[Value], Value]:
    """The function of a loss: n tensors (plus batch weights, if `weighted` and not an option), then options."""
    plain: dict[int, Any] = {}  # a loss without options

    def run(x: Value) -> Value:
        args = items(x)
        if len(args) < n:
            raise QError(f"{name}: expects at least {n} args, {len(args)} given")
        count = n
        if weighted and len(args) > n and not _is_option(args[n]):
            count += 1
        if len(args) > count:
            module = class_of(entry)(**torch_args(entry, parse_options(entry, args[count:], count)))
        else:
            module = plain[0] if plain else plain.setdefault(0, make(entry, ()))
        tensors = [as_tensor(arg) for arg in args[:count]]
        result = calculate(module, tensors)
        if any(isinstance(arg, KHandle) for arg in args[:count]):
            return tensor_handle(result)
        return to_q(result)

    return run


def _is_option(x: Value) -> bool:
    """Is an argument after the tensors an option (a symbol, pairs, nothing) rather than batch weights?"""
    return x.__class__ in (Sym, Dict) or (x.__class__ is Vec and x.t == 11) or is_empty(x)


def _register(
    name: str, entry: Entry, n: int, weighted: bool, form: str, example: tuple[str, str]
) -> None:
    run = _function(name, entry, n, weighted)
    run.__doc__ = (
        f"{entry.summary}\n\nArrays give an array, tensors a tensor. Options follow the "
        f"tensors: {' '.join(option.name for option in entry.options)}.\n\nq){name}{example[0]}\n{example[1]}\n"
    )
    api(name, form)(run)


def _register_all() -> None:
    for entry in registry.entries("loss"):
        record = loss_record(entry)
        if record.functions:
            continue
        least, most = record.n
        names = {2: "x;y", 3: "x;y;z", 4: "x;y;nx;ny"}[least]
        _register(
            entry.name,
            entry,
            least,
            most > least,
            f"{entry.name}({names}{'[;w]' if most > least else ''}[;options..])",
            record.eg,
        )
    logits = entry_of("bcelogits")
    _register(
        "bcelogit1",
        logits,
        2,
        False,
        "bcelogit1(x;y[;weight][;reduce])",
        ("(0 0f;0 1f)", "0.6931472"),
    )
    _register(
        "bcelogit2",
        logits,
        3,
        False,
        "bcelogit2(x;y;w[;weight][;reduce])",
        ("(0 0f;0 1f;1 0f)", "0.3465736"),
    )


_register_all()


# ------------------------------------------------------------------ what loss handles answer


@behaviour("objtype", LossHandle)
def _objtype(h: LossHandle) -> Value:
    return sym(type_of(h.obj).name)


@behaviour("str", LossHandle)
def _str(h: LossHandle) -> Value:
    module = h.obj
    entry = type_of(module)
    record = loss_record(entry)
    if record.text:
        return string(record.text)
    if type_of_module(module) is not None or not entry.target.startswith("torch.nn."):
        return string(cpp_text(module))
    shown = record.shown
    inner = (
        ""
        if shown is None
        else f"({', '.join(f'{name}={_cpp(getattr(module, name))}' for name in shown)})"
    )
    return string("torch::nn::" + entry.target.removeprefix("torch.nn.") + inner)


def _cpp(x: Any) -> str:
    """An attribute of a loss in libtorch's form."""
    if isinstance(x, bool):
        return str(x).lower()
    if isinstance(x, str):
        return "k" + x.capitalize()
    return tensor_text(x) if x is None or isinstance(x, torch.Tensor) else number(x)


@behaviour("options", LossHandle)
def _options(h: LossHandle) -> Value:
    tell_unknown(h.obj, type_of(h.obj))
    return options_of(h.obj, every_option())


@behaviour("state", LossHandle)
def _state(h: LossHandle, every: bool) -> Value:
    return definition(h.obj, every)
