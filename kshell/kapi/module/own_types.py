"""Module types that torch does not have: those from kshell.nn, one row each, and callbacks into q."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kshell import nn
from kshell.errors import CallError, QError, as_qerror
from kshell.kapi.base.args import is_empty, is_pairs, names_of, pairs
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dict_q, dtype_name, dtype_named, kname, own_tensor
from kshell.kapi.base.handles import GONE, LENT, DictHandle, ModuleHandle, TensorHandle, stale
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.module.types import B, D, L, S, T, X, Z, row
from kshell.registry import Entry
from kshell.values.base.build import collapse, string, symdict, table
from kshell.values.base.core import Dict, List, Value, seq_items, sym_vec, text_of
from kshell.values.base.functions import Lambda
from kshell.values.base.narrow import is_text
from kshell.values.base.symbols import Sym, sym
from kshell.values.engine.apply import apply
from kshell.values.session.context import running
from kshell.values.session.interrupts import stoppable

if TYPE_CHECKING:
    from torch.nn import Module

    from kshell.nn.callback import Callback

# ------------------------------------------------------------------ containers

_SEQ = "kshell.nn.seq."
_OWN: dict[str, Any] = {"container": True, "whole": True}
# fmt: off  # a table
row(
    "seqdict",
    _SEQ + "SeqDict",
    "Container: named sequences in order; extra inputs are passed to each that accepts them.",
    n=(1, 8),
    pytorch="knn.SeqDict",
    **_OWN,
)
row(
    "seqlist",
    _SEQ + "SeqList",
    "Container: a list of sequences in order; extra inputs are passed to each that accepts them.",
    n=(1, 8),
    pytorch="knn.SeqList",
    **_OWN,
)
row(
    "seqjoin",
    _SEQ + "SeqJoin",
    "Container: two sequences with one input each, whose outputs are joined by a module.",
    n=(1, 2),
    pytorch="knn.SeqJoin",
    label="SeqJoin",
    **_OWN,
)
row(
    "fork",
    _SEQ + "Fork",
    "Container: two modules applied to the same input; returns a vector of both outputs.",
    pytorch="knn.Fork",
    result="tuple",
    **_OWN,
)
row(
    "residual",
    _SEQ + "Residual",
    "Container: a sequence's output plus the input, or plus a second sequence's output.",
    n=(1, 3),
    pytorch="knn.Residual",
    label="Residual",
    **_OWN,
)
row(
    "transform",
    _SEQ + "Transform",
    "Container: data transforms for training and for evaluation.",
    pytorch="knn.Transform",
    label="Transform",
    open="(",
    **_OWN,
)
row(
    "nbeats",
    _SEQ + "NBeats",
    "Container for N-BEATS: blocks that return backcast and forecast; returns the sum of forecasts.",
    pytorch="knn.NBeats",
    **_OWN,
)
row(
    "recur",
    _SEQ + "Recur",
    "Container: a recurrent layer, with sequences for its input and output.",
    B("detach", "", True),
    n=(1, 3),
    pytorch="knn.Recur",
    result="vector",
    **_OWN,
)
# fmt: on

# ------------------------------------------------------------------ operations

_OPS = "kshell.nn.ops."
row(
    "cat",
    _OPS + "Cat",
    "Concatenate two tensors along a dimension.",
    L("dim", "", 0),
    n=(2, 2),
    pytorch="torch.cat",
)
row(
    "mul",
    _OPS + "Mul",
    "Multiply two tensors element by element.",
    n=(2, 2),
    pytorch="torch.mul",
)
row(
    "matmul",
    _OPS + "Matmul",
    "Matrix product of two tensors.",
    n=(2, 2),
    pytorch="torch.matmul",
)


def _dtype(entry: Entry, given: dict[str, Any]) -> Any:
    name = given.get("dtype")
    dtype = dtype_named(name) if name else None
    if name and dtype is None:
        raise QError(f"{entry.name}: unrecognized data type `{name}")
    if given.get("classes", -1) < -1:
        raise CallError(
            entry.name, "number of classes must be nonnegative or set to -1 to derive from input"
        )
    return nn.ops.OneHot(given.get("classes", -1), dtype)


row(
    "onehot",
    _OPS + "OneHot",
    "One-hot encoding of class indices.",
    L("classes", "", -1),
    S("dtype", "", None),
    also={"classes": 10},
    always=("classes",),
    make=_dtype,
    hide=lambda o: {key: value for key, value in o.items() if key != "dtype" or value},
    read={"dtype": lambda m: None if m.dtype is None else dtype_name(m.dtype)},
    pytorch="torch.nn.functional.one_hot",
)
_DIM = {"dim": "no dimension defined"}
row(
    "select",
    _OPS + "Select",
    "Select one index of a dimension.",
    L("dim"),
    L("ind"),
    eg=(1, -1),
    need={**_DIM, "ind": "no index defined"},
    pytorch="torch.Tensor.select",
)


def _indices(entry: Entry, given: dict[str, Any]) -> Any:
    indices = given["ind"]
    if indices.dtype != torch.int64:
        raise QError(f"{entry.name} ind: long(s) expected, given {dtype_name(indices.dtype)}(s)")
    if indices.dim() > 1:
        raise QError(
            f"{entry.name}: expecting scalar index or 1-dim list, given {indices.dim()}-d tensor"
        )
    return nn.ops.IndexSelect(given["dim"], indices)


row(
    "indexselect",
    _OPS + "IndexSelect",
    "Select several indices of a dimension.",
    L("dim"),
    T("ind"),
    eg=(1, (0, 1, 2)),
    need={**_DIM, "ind": "no index defined"},
    pytorch="torch.index_select",
    make=_indices,
    read={"ind": lambda m: m.ind},
)
row(
    "droppath",
    _OPS + "DropPath",
    "Stochastic depth: in training, whole samples are set to zero.",
    D("p", "", 0.0),
    always=("p",),
    also={"p": 0.1},
    pytorch="knn.DropPath",
)

# ------------------------------------------------------------------ embeddings, attention

_ROWS = {"rows": "positive number of rows required", "cols": "positive number of columns required"}
row(
    "embedpos",
    _OPS + "EmbedPosition",
    "Learned position embedding: a vector for each position of a sequence.",
    L("rows", low=1),
    L("cols", low=1),
    eg=(120, 512),
    need=_ROWS,
    pytorch="knn.EmbedPosition",
)
row(
    "embedseq",
    _OPS + "EmbedSequence",
    "The sum of token embedding and learned position embedding.",
    L("rows", low=1),
    L("cols", low=1),
    L("length", low=1),
    eg=(5000, 512, 120),
    args="module enlist(`embedseq;10;12;8)",
    need={**_ROWS, "length": "positive sequence length required"},
    pytorch="knn.EmbedSequence",
)
row(
    "selfattention",
    _OPS + "SelfAttention",
    "Multi-head self-attention.",
    L("dim", low=1),
    L("heads", low=1),
    D("dropout", "", 0.0),
    B("norm", "", False),
    eg=(512, 8),
    n=(1, 3),
    also={"dropout": 0.1},
    args="module enlist(`selfattention;16;2)",
    need={
        "dim": "positive embedding dimension required",
        "heads": "positive number of heads required",
    },
    read={"norm": lambda m: "norm" in m._modules},
    pytorch="knn.SelfAttention",
)

# ------------------------------------------------------------------ images


def _zscore(entry: Entry, given: dict[str, Any]) -> Any:
    """Integer means and standard deviations are converted to doubles."""
    for key, label in (("mean", "mean(s)"), ("std", "stddev(s)")):
        tensor = given[key]
        if not tensor.numel():
            raise QError(f"{entry.name}: no {label} defined")
        if tensor.dtype == torch.int64:
            given = {**given, key: tensor.double()}
        elif not tensor.is_floating_point():
            raise QError(
                f"{entry.name} {key}: double(s) expected, given {dtype_name(tensor.dtype)}(s)"
            )
    return nn.ops.Zscore(given["mean"], given["std"], given.get("inplace", False))


row(
    "zscore",
    _OPS + "Zscore",
    "(x - mean) / std, per channel if several are given.",
    T("mean"),
    T("std"),
    B("inplace", "", False),
    eg=((0.51, 0.49, 0.47), (0.25, 0.25, 0.21)),
    label="Zscore",
    make=_zscore,
    need={"mean": "no mean(s) defined", "std": "no stddev(s) defined"},
    args="module enlist(`zscore;.5;.25)",
    read={"mean": lambda m: m.mean, "std": lambda m: m.stddev},
    pytorch="torchvision.transforms",
)
row(
    "randomcrop",
    _OPS + "RandomCrop",
    "Pad images, then crop them to a size at random positions.",
    Z("size", low=1),
    Z("pad", "", 0),
    S("padmode", "", "constant", choices=("constant", "reflect", "replicate", "circular")),
    D("value", "", 0.0),
    eg=(32,),
    also={"pad": 4, "padmode": "reflect"},
    dims=2,
    widths={"pad": 4},
    args="module enlist(`randomcrop;32)",
    need={"size": "positive cropping height & width not given"},
    label="RandomCrop",
    pytorch="torchvision.transforms",
)
row(
    "randomflip",
    _OPS + "RandomFlip",
    "Flip images along a dimension at random.",
    D("p", "", 0.5),
    L("dim", "", -1),
    label="RandomFlip",
    pytorch="torchvision.transforms",
)

# ------------------------------------------------------------------ callbacks

_SIGNATURES = ("{[m;x]}", "{[m;x;y]}", "{[m;x;y;z]}")
_FIELDS = ("fn", "in", "out", "parms", "buffers")


def _callback_fields(args: Sequence[Value]) -> dict[str, Value]:
    """The options of a callback as given, by name."""
    positional = list(args)
    named: Sequence[tuple[str, Value]] = ()
    if (
        positional
        and is_pairs(positional[-1])
        and (named_fields := pairs(positional[-1]))
        and named_fields[0][0] in _FIELDS
    ):
        named = named_fields
        positional.pop()
    if len(positional) > len(_FIELDS):
        raise QError(f"callback: expecting up to {len(_FIELDS)} options, {len(positional)} given")
    fields = dict(zip(_FIELDS, positional, strict=False))
    for key, value in named:
        if key not in _FIELDS:
            raise QError(f"callback option: {key} not recognized")
        fields[key] = value
    return fields


def _callback_args(entry: Entry, args: Sequence[Value]) -> dict[str, Any]:
    """The options of a callback: function, inputs, output, parameters, buffers, in this order or by name."""
    fields = _callback_fields(args)
    function = fields.get("fn")
    if function is None:
        raise CallError("callback", "no k function defined")
    # its text defines it completely; in a namespace it would also need that namespace's names
    if isinstance(function, Lambda) and not function.ctx.strip("."):
        if 1 < function.rank <= 4:
            fields.setdefault("in", _inputs(function.rank - 1))
        function = string(function.text)
    if not (function.__class__ is Sym and function.s) and not (
        is_text(function) and text_of(function)
    ):
        raise QError(f"callback function expected as symbol or string, given {kname(function)}")
    words = names_of(fields.get("in", sym("tensor")))
    if not words or any(name != "tensor" for name in words) or len(words) > 3:
        raise QError("callback in: expecting 1-3 symbols, each `tensor")
    output = fields.get("out", sym("tensor"))
    if output.__class__ is not Sym or output.s != "tensor":
        raise QError("callback out: expecting `tensor")
    return {
        "fn": function,
        "in": len(words),
        "parms": _named("parms", fields.get("parms")),
        "buffers": _named("buffers", fields.get("buffers")),
    }


def _named(word: str, x: Value | None) -> dict[str, Any]:
    """Tensors by name: from a dictionary of values or tensors, a handle to one, or (names;values)."""
    if x is None:
        return {}
    if x.__class__ is DictHandle:
        return dict(x.get())
    if x.__class__ is Dict and (not len(x.k) or names_of(x.k) is not None):
        names, values = names_of(x.k) or [], seq_items(x.v)
    elif x.__class__ is List and len(x.items) == 2 and (names := names_of(x.items[0]) or []):
        values = [x.items[1]] if x.items[0].__class__ is Sym else seq_items(x.items[1])
    elif x.__class__ is List and not x.items:
        return {}
    else:
        raise CallError(
            "callback", at=word, expecting="k dictionary or (syms;vals)", given=kname(x)
        )
    if len(names) != len(values):
        raise QError(f"callback {word}: {len(names)} name(s) but {len(values)} value(s)")
    tensors = map(own_tensor, values)
    return {key: tensor for key, tensor in zip(names, tensors, strict=True) if tensor is not None}


class _QFunction:
    """A q function, given by global name or source text, as a callback module's function."""

    def __init__(self, source: Value) -> None:
        self.source = source
        self.text = source.s if source.__class__ is Sym else text_of(source)
        # the session that evaluated the text, and the lambda
        self.made: tuple[weakref.ref[Any], Value] | None = None

    def __deepcopy__(self, memo: dict[int, Any]) -> _QFunction:
        return self  # a copy of the module shares the function

    def _function(self) -> Value:
        """The function: for a name, its current value; for text, its value, which a lambda caches."""
        session = running()
        if self.source.__class__ is Sym:
            return session.names.get(self.text)
        if self.made is None or self.made[0]() is not session:
            function = session.evaluate(self.text)
            if not isinstance(function, Lambda):
                return function
            self.made = weakref.ref(session), function
        return self.made[1]

    def __call__(self, m: Module, *inputs: Any) -> Any:
        function = self._function()
        handles = [ModuleHandle(m), *map(TensorHandle, inputs)]
        try:
            result = stoppable(apply, function, handles)
            if result.__class__ is TensorHandle and result.obj is GONE:
                raise stale(result)
            if result.__class__ is not TensorHandle or result.obj is None:
                raise QError(f"callback: {self.text} must return a tensor, given {kname(result)}")
            return result.obj
        except QError:
            raise
        except Exception as exc:
            # the traceback has the q frames
            error = as_qerror(exc).with_traceback(exc.__traceback__)
        finally:
            for handle in handles:
                handle.free(LENT)
        raise error


def _callback(entry: Entry, given: dict[str, Any]) -> Any:
    return nn.callback.Callback(
        _QFunction(given["fn"]), given["in"], given["parms"], given["buffers"]
    )


def _callback_live(m: Callback, every: bool, state: bool) -> Dict:
    """The options of a live callback; parameters and buffers are in its state."""
    function: Any = m.fn
    options: dict[str, Value] = {"fn": function.source}
    if every or m.inputs != 1:
        options["in"] = _inputs(m.inputs)
    if every:
        options["out"] = sym("tensor")
    for key, method in (("parms", m.named_parameters), ("buffers", m.named_buffers)):
        named = {} if state else dict(method(recurse=False))
        if named or (every and not state):
            options[key] = dict_q(named)
    return symdict(list(options), list(options.values()))


def _callback_text(m: Callback) -> str:
    function: Any = m.fn
    return f"fn={function.text}, in={','.join(['tensor'] * m.inputs)}, out=tensor"


def _inputs(n: int) -> Value:
    return sym("tensor") if n == 1 else sym_vec(["tensor"] * n)


_CALLBACK = """A module whose forward is a q function of the module and its inputs.

The function is a name, text or lambda. It calls the module's children with kforward and reads its tensors with parm
and buffer: kforward(m;`child;x), parm(m;`w). It returns a tensor.

q)m:module enlist(`callback;{[m;x]x*parm(m;`w)};`parms,enlist(enlist`w)!enlist 2 3e)
q)evaluate(m;4 5e)
8 15e"""
row(
    "callback",
    "kshell.nn.callback.Callback",
    _CALLBACK,
    X("fn", "-"),
    *(X(field, "-", None) for field in _FIELDS[1:]),
    n=(1, 3),
    also={"in": "tensor", "out": "tensor"},
    parse=_callback_args,
    make=_callback,
    live=_callback_live,
    text=_callback_text,
    children="any",
    alone="no k function defined, 2nd symbol, `{}, defines callback module name",
    pytorch="knn.Callback",
    eg=(sym("f"),),
    args='module enlist(`callback;"{[m;x]x}")',
    **_OWN,
)


@api("callbacks", "callbacks[]", effect="none")
def callbacks(x: Value) -> Value:
    """The signatures that a callback module's function can have.

    q)exec out from callbacks[]
    `tensor`tensor`tensor
    """
    if not is_empty(x):
        raise QError(f"callbacks: empty arg expected, given {kname(x)}")
    return table(
        ["fn", "in", "out"],
        [
            List([string(signature) for signature in _SIGNATURES]),
            collapse([_inputs(index + 1) for index in range(len(_SIGNATURES))]),
            sym_vec(["tensor"] * len(_SIGNATURES)),
        ],
    )
