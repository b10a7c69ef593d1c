"""Module types for sequences: recurrent layers, attention, transformers; one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError
from kshell.kapi.base.args import is_empty
from kshell.kapi.base.handles import ModuleHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.module import builders as make
from kshell.kapi.module.builders import entry_of
from kshell.kapi.module.describe import options_of, type_name
from kshell.kapi.module.options import Given, class_of, live_values, torch_args
from kshell.kapi.module.stack import create
from kshell.kapi.module.types import B, D, L, S, X, row
from kshell.muted import muted
from kshell.registry import Entry
from kshell.values.base.build import symdict
from kshell.values.base.core import Dict, Value
from kshell.values.base.symbols import sym

if TYPE_CHECKING:
    from torch.nn import Module, Transformer

# ------------------------------------------------------------------ recurrent, attention

MOST = 10_000  # maximum number of layers: each is allocated separately, and more would only fill the memory by mistake
_RECUR = (
    L("in", "input_size", low=1),
    L("hidden", "hidden_size", low=1),
    L("layers", "num_layers", 1, 1, high=MOST),
)
_RECUR_NEED = {"in": "positive input size required", "hidden": "positive hidden size required"}
_RTAIL = (
    B("bias", "", True),
    B("batchfirst", "batch_first", False),
    D("dropout", "", 0.0),
    B("bi", "bidirectional", False),
)
_TEXT = (
    "input_size",
    "hidden_size",
    "num_layers",
    "bias",
    "batch_first",
    "dropout",
    "bidirectional",
)


def _recurrent(m: Module) -> str:
    """The options of a recurrent layer in libtorch's form."""
    return ", ".join(
        f"{k}={v:g}" if (v := getattr(m, k)).__class__ is float else f"{k}={v}" for k in _TEXT
    )


row(
    "rnn",
    "RNN",
    "Elman recurrent layers.",
    *_RECUR,
    S("fn", "nonlinearity", "tanh", choices=("tanh", "relu")),
    *_RTAIL,
    eg=(10, 20),
    n=(1, 2),
    result="tuple",
    need=_RECUR_NEED,
    text=_recurrent,
)
row(
    "gru",
    "GRU",
    "Gated recurrent layers.",
    *_RECUR,
    *_RTAIL,
    eg=(10, 20),
    n=(1, 2),
    result="tuple",
    need=_RECUR_NEED,
    text=_recurrent,
)
row(
    "lstm",
    "LSTM",
    "Long short-term memory layers.",
    *_RECUR,
    *_RTAIL,
    eg=(10, 20),
    n=(1, 3),
    result="nested",
    need=_RECUR_NEED,
    text=_recurrent,
)
# torch options that ktorch's types lack: shown if set
_BATCHFIRST, _NORMFIRST = B("batchfirst", "batch_first", False), B("normfirst", "norm_first", False)


def _hidden(o: dict[str, Any]) -> dict[str, Any]:
    return {
        key: value for key, value in o.items() if value or key not in ("batchfirst", "normfirst")
    }


row(
    "attention",
    "MultiheadAttention",
    "Multi-head attention.",
    L("dim", "embed_dim", low=1),
    L("heads", "num_heads", low=1),
    D("dropout", "", 0.0),
    B("bias", "", True),
    B("addbias", "add_bias_kv", False),
    B("addzero", "add_zero_attn", False),
    L("kdim", "", None),
    L("vdim", "", None),
    _BATCHFIRST,
    eg=(2048, 8),
    n=(3, 6),
    result="tuple",
    like={"kdim": "dim", "vdim": "dim"},
    read=make.ATTENTION_READ,
    make=make.attention,
    need={
        "dim": "positive embedding dimension required",
        "heads": "positive number of heads required",
    },
    hide=_hidden,
)
_LAYER_NEED = {
    "in": "positive number of input features required",
    "heads": "positive number of heads required",
}
_LAYER = (
    L("in", "d_model", low=1),
    L("heads", "nhead", low=1),
    L("dim", "dim_feedforward", 2048, 1),
    D("dropout", "", 0.1),
    S("fn", "activation", "relu", choices=("relu", "gelu")),
    _BATCHFIRST,
    _NORMFIRST,
)
row(
    "encoderlayer",
    "TransformerEncoderLayer",
    "A transformer encoder layer.",
    *_LAYER,
    eg=(512, 8),
    n=(1, 3),
    read=make.LAYER_READ,
    need=_LAYER_NEED,
    suffix="Impl",
    hide=_hidden,
)
row(
    "decoderlayer",
    "TransformerDecoderLayer",
    "A transformer decoder layer.",
    *_LAYER,
    eg=(512, 8),
    n=(2, 6),
    read=make.LAYER_READ,
    need=_LAYER_NEED,
    suffix="Impl",
    hide=_hidden,
)
for _n, _w in (("encoder", "Encoder"), ("decoder", "Decoder")):
    row(
        _n,
        f"Transformer{_w}",
        f"A stack of transformer {_n} layers.",
        X(f"{_n}layer", "-"),
        L("layers", "-", low=1, high=MOST),
        X("layernorm", "-", None),
        make=make.coder,
        read=make.CODER_READ[_n],
        n=(1, 3) if _n == "encoder" else (2, 6),
        always=("layernorm",),
        also={"layernorm": make.EXAMPLE_NORM},
        need={"layers": "number of layers must be defined"},
        args=f"module enlist(`{_n};(`{_n}layer;16;2;32);2)",
        eg=(make.EXAMPLE_LAYER, 6),
        suffix="Impl",
    )


def _layer_of(coder: Any) -> Given | None:
    """The layer options of an encoder or decoder as torch makes it in a transformer; None for any other."""
    kind = {
        torch.nn.TransformerEncoder: "encoderlayer",
        torch.nn.TransformerDecoder: "decoderlayer",
    }.get(type(coder))
    if kind is None or coder.norm is None or not len(coder.layers):
        return None
    return live_values(entry_of(kind), coder.layers[0])


def _layer(m: Transformer) -> Given:
    """The options of a transformer's layers, unless they are custom."""
    layers = [
        options for options in (_layer_of(m.decoder), _layer_of(m.encoder)) if options is not None
    ]
    layers.sort(key=lambda v: (v["in"], v["heads"]) != (m.d_model, m.nhead))
    return layers[0] if layers else {"dim": 2048, "dropout": 0.1, "fn": "relu", "normfirst": False}


def _coder_options(m: Transformer, coder: Any) -> Any:
    """The options of a transformer's encoder or decoder, if custom."""
    standard = (
        type(coder) in (torch.nn.TransformerEncoder, torch.nn.TransformerDecoder)
        and coder.norm is not None
    )
    if standard and (not len(coder.layers) or _layer_of(coder) == _layer(m)):
        return symdict([], [])
    return lambda every: symdict(
        ["module", "options"], [sym(type_name(coder)), options_of(coder, every, False)]
    )


_TRANSFORMER_READ: dict[str, Callable[[Any], Any]] = {
    "in": lambda m: m.d_model,
    "heads": lambda m: m.nhead,
    "elayers": lambda m: getattr(m.encoder, "num_layers", 6),
    "dlayers": lambda m: getattr(m.decoder, "num_layers", 6),
    "dim": lambda m: _layer(m)["dim"],
    "dropout": lambda m: _layer(m)["dropout"],
    "fn": lambda m: _layer(m)["fn"],
    "normfirst": lambda m: _layer(m).get("normfirst", False),
    "encoder": lambda m: _coder_options(m, m.encoder),
    "decoder": lambda m: _coder_options(m, m.decoder),
}


def _transformer(entry: Entry, given: Given) -> Any:
    """A transformer, with torch's encoder and decoder or custom ones."""
    custom = {}
    for key in ("encoder", "decoder"):
        x = given.get(key)
        if x is not None and not is_empty(x) and not (x.__class__ is Dict and not len(x)):
            custom[f"custom_{key}"] = _custom(x)
    if given.get("heads", 1) <= 0:
        raise CallError(entry.name, "positive number of heads required")
    with muted():  # torch's warnings about nested tensors
        return class_of(entry)(**torch_args(entry, given), **custom)


def _custom(x: Value) -> Any:
    if isinstance(x, ModuleHandle):
        return x.get()
    return create(x)


row(
    "transformer",
    "Transformer",
    "A transformer: encoder and decoder stacks.",
    L("in", "d_model", 512, 1),
    L("heads", "nhead", 8, 1),
    L("elayers", "num_encoder_layers", 6, 0, high=MOST),
    L("dlayers", "num_decoder_layers", 6, 0, high=MOST),
    L("dim", "dim_feedforward", 2048, 1),
    D("dropout", "", 0.1),
    S("fn", "activation", "relu", choices=("relu", "gelu")),
    X("encoder", "-", None),
    X("decoder", "-", None),
    _BATCHFIRST,
    _NORMFIRST,
    hide=_hidden,
    make=_transformer,
    read=_TRANSFORMER_READ,
    need=_LAYER_NEED,
    n=(2, 8),
    args="module enlist(`transformer;16;2;1;1;32)",
    suffix="Impl",
)
