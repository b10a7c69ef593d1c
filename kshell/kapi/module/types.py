"""The module types: one row each, from which creation, options, state, help, completion and the docs come.

A row is name, torch class, summary, options in positional order. To add a type, add a row; a class that torch lacks
is a file in kshell/nn and a row whose target names it, or a class in any file under `@module(name)`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Any

from kshell import registry
from kshell.kapi.base.option_docs import worded
from kshell.kapi.module import builders as make
from kshell.kapi.module import transformer
from kshell.kapi.module.options import RECORDS, Given, signature_options, with_defaults
from kshell.kapi.tensor.text import scalar_text
from kshell.registry import REQUIRED, Entry, Option


def _option(kind: str) -> Callable[..., Option]:
    def build(name: str, torch: str = "", default: Any = REQUIRED, low: float | None = None,
              choices: tuple[str, ...] = (), high: float | None = None) -> Option:
        return Option(name, kind, default, torch, low=low, high=high, choices=choices)

    return build


L, D, B, S = _option("long"), _option("double"), _option("boolean"), _option("symbol")
Z, LS, DS, T, P, X = (_option(k) for k in ("size", "longs", "doubles", "tensor", "pad", "any"))

_TOPIC = {"module": "kapi.module.types", "loss": "losses"}
_NAMES: dict[type, Callable[[Any], str]] = {
    str: "`{}".format, bool: lambda v: "01"[v] + "b", int: str, float: lambda v: f"{v:g}" + "f" * (v == int(v))}


def q_text(v: Any) -> str:
    """q source of an example's value."""
    if isinstance(v, tuple):
        return " ".join(map(str, v)) + "f" * (isinstance(v[-1], float) and v[-1] == int(v[-1]))
    return _NAMES[type(v)](v)


def _doc(name: str, summary: str, options: tuple[Option, ...], example: dict[str, Any], args: str) -> str:
    """The help text: summary, options, and an example that makes one."""
    if not args:
        needed = [q_text(example[option.name]) for option in options if option.default is REQUIRED]
        args = f"module enlist(`{name};{';'.join(needed)})" if needed else f"module`{name}"
    return f"{summary}\n\nq)objtype {args}\n`{name}\n"


def row(name: str, target: str, summary: str, *options: Option, kind: str = "module", eg: Iterable[Any] = (),
        args: str = "", also: Given | None = None, since: str = "ktorch", **fields: Any) -> Entry:
    """Register a module type. `eg` are example values for the required options, in order, and `also` for others;
    `args` is the call of the help text's example, if it is another; `since` says whose name it is. Further fields are
    those of ModuleRecord (kapi/module/options.py)."""
    example = dict(zip([option.name for option in options if option.default is REQUIRED], eg, strict=True))
    example |= also or {}
    lines = sys._getframe(1)
    return registry.add(Entry(
        name, kind, doc=_doc(name, summary, options, example, args), options=worded(name, options), topic=_TOPIC[kind],
        target=target if "." in target else f"torch.nn.{target}", since=since,
        file=lines.f_code.co_filename, line=lines.f_lineno, record=RECORDS[kind](example=example, **fields)))


def module(name: str, *options: Option, kind: str = "module", since: str = "kshell",
           **fields: Any) -> Callable[[type], type]:
    """Register a torch module class as a module type, as its decorator; its docstring is the help text.

    Options that are not given are read from the signature, and so is the default of one that has none. Each is an
    argument of the class; what a module was made with is remembered, and an attribute of the same name is followed.
    `fields` are those of ModuleRecord (kapi/module/options.py).
    """

    def register(cls: type) -> type:
        code = getattr(vars(cls).get("__init__"), "__code__", None)
        registry.add(Entry(
            name, kind, doc=inspect.getdoc(cls) or name, topic=_TOPIC["module"],
            options=with_defaults(cls, options) or signature_options(cls),
            target=f"{cls.__module__}.{cls.__qualname__}",
            since=since, file=code.co_filename if code else "",
            line=code.co_firstlineno if code else 0, record=RECORDS[kind](cls=cls, **fields)))
        return cls

    return register


# ------------------------------------------------------------------ containers

row("sequential", "Sequential", "Container: each child's output is the input of the next.", container=True)
row("seqnest", "kshell.nn.seq.SeqNest", "Sequential that may be a child of another container.", container=True,
    pytorch="knn.SeqNest", n=(1, 3))
row("moduledict", "ModuleDict", "Container of named modules, without a forward calculation.", container=True,
    result="", children="any", replaces=True)
row("modulelist", "ModuleList", "Container of modules in order, without a forward calculation.", container=True,
    result="", children="any", numbered=True)
row("parmdict", "ParameterDict", "Container of named parameters.",
    container=True, result="", parse=make.parmdict_parse, make=make.parmdict, live=make.parmdict_live,
    args="module enlist(`parmdict;`a`b!(1 2e;3e))", text=lambda m: _parameters(m))


def _parameters(m: Any) -> str:
    """The parameters of a dictionary as libtorch writes them, a line each."""
    return "\n" + "".join(f"({key}): Parameter containing: [{scalar_text(value)} of size {list(value.shape)}]\n"
                          for key, value in m.items())


# ------------------------------------------------------------------ linear, convolution

_IN = "positive input size required"
row("linear", "Linear", "Affine map of the last dimension: x times weight transposed, plus bias.",
    L("in", "in_features", low=1), L("out", "out_features", low=1), B("bias", "", True), eg=(784, 10),
    need={"in": _IN, "out": "positive output size required"})
row("bilinear", "Bilinear", "Bilinear map of two inputs.",
    L("in1", "in1_features", low=1), L("in2", "in2_features", low=1), L("out", "out_features", low=1),
    B("bias", "", True), eg=(20, 30, 40), n=(2, 2),
    need={"in1": "positive input sizes required", "in2": "positive input sizes required",
          "out": "positive output size required"})

_CHANNELS = (L("in", "in_channels", low=1), L("out", "out_channels", low=1))
_CONV_NEED = {"in": "number of input channels not defined", "out": "number of output channels not defined",
              "size": "no kernel size(s) given"}
_PADMODE = S("padmode", "padding_mode", "zeros", choices=("zeros", "reflect", "replicate", "circular"))
for _d in (1, 2, 3):
    row(f"conv{_d}d", f"Conv{_d}d", f"Convolution over {_d} dimension{'s' * (_d > 1)}.",
        *_CHANNELS, Z("size", "kernel_size", low=1), Z("stride", "", 1),
        P("pad", "padding", 0), Z("dilate", "dilation", 1), L("groups", "", 1), B("bias", "", True), _PADMODE,
        dims=_d, eg=(16, 32, (3, 5, 2)[:_d] if _d > 1 else 3), need=_CONV_NEED)
for _d in (1, 2, 3):
    row(f"convtranspose{_d}d", f"ConvTranspose{_d}d", f"Transposed convolution over {_d} dimension{'s' * (_d > 1)}.",
        *_CHANNELS, Z("size", "kernel_size", low=1), Z("stride", "", 1),
        Z("pad", "padding", 0), Z("outpad", "output_padding", 0), L("groups", "", 1), B("bias", "", True),
        Z("dilate", "dilation", 1), _PADMODE, dims=_d, n=(1, 2),
        eg=(128, 64, 5 if _d == 1 else (3, 5, 2)[:_d]), need=_CONV_NEED)

# ------------------------------------------------------------------ normalization

_FEATURES = {"in": "number of input features not defined"}
for _d in (1, 2, 3):
    row(f"batchnorm{_d}d", f"BatchNorm{_d}d", f"Batch normalization, {_d}-d.",
        L("in", "num_features", low=1), D("eps", "", 1e-5), D("momentum", "", .1, choices=("null",)),
        B("affine", "", True), B("track", "track_running_stats", True), eg=(32,), need=_FEATURES)
for _d in (1, 2, 3):
    row(f"instancenorm{_d}d", f"InstanceNorm{_d}d", f"Instance normalization, {_d}-d.",
        L("in", "num_features", low=1), D("eps", "", 1e-5), D("momentum", "", .1), B("affine", "", False),
        B("track", "track_running_stats", False), eg=(100,), need=_FEATURES)
row("groupnorm", "GroupNorm", "Group normalization: channels in groups.",
    L("groups", "num_groups", low=1), L("channels", "num_channels", low=1), D("eps", "", 1e-5), B("affine", "", True),
    eg=(3, 6),
    need={"groups": "specify no. of groups to separate the channels into",
          "channels": "specify no. of channels expected in input"})
row("layernorm", "LayerNorm", "Layer normalization over the last dimensions.",
    LS("shape", "normalized_shape", low=0), D("eps", "", 1e-5), B("affine", "elementwise_affine", True), eg=((32, 10),),
    need={"shape": "no normalized shape given"})
_NEIGHBOURS = {"size": "specify no. of neighboring channels to use for normalization"}
row("localnorm", "LocalResponseNorm", "Local response normalization over neighbouring channels.",
    L("size"), D("alpha", "", 1e-4), D("beta", "", .75), D("k", "", 1.0), eg=(2,), need=_NEIGHBOURS)
row("crossmap2d", "CrossMapLRN2d", "Local response normalization across maps.",
    L("size"), D("alpha", "", 1e-4), D("beta", "", .75), L("k", "", 1), eg=(2,), need=_NEIGHBOURS)

# ------------------------------------------------------------------ embedding

_EMBED = (L("rows", "num_embeddings", None), L("cols", "embedding_dim", None), T("weight", "-", None),
          B("freeze", "-", False))
_TABLE: dict[str, Any] = {"make": make.embed, "read": make.EMBED_READ, "live": make.embed_live, "hide": make.embed_hide,
                          "always": ("freeze",), "also": {"rows": 1000, "cols": 64}, "text": lambda m: _table(m)}
row("embed", "Embedding", "Look-up table of vectors by index.",
    *_EMBED, L("padindex", "padding_idx", None), D("maxnorm", "max_norm", None), D("p", "norm_type", 2.0),
    B("scale", "scale_grad_by_freq", False), B("sparse", "", False), **_TABLE,
    place=make.embed_place, args="module enlist(`embed;1000;64)", made="kshell.nn.tables.Embedding")
row("embedbag", "EmbeddingBag", "Sums or means of bags of embeddings.",
    *_EMBED, D("maxnorm", "max_norm", None), D("p", "norm_type", 2.0), B("scale", "scale_grad_by_freq", False),
    S("mode", "", "mean", choices=("sum", "mean", "max")), B("sparse", "", False),
    B("lastoffset", "include_last_offset", False), L("padindex", "padding_idx", None), **_TABLE,
    place=make.embedbag_place, args="module enlist(`embedbag;1000;64)", made="kshell.nn.tables.EmbeddingBag", n=(1, 3))

# ------------------------------------------------------------------ dropout

for _n, _c, _s in (("drop", "Dropout", "Dropout: zeroes elements at random in training."),
                   ("drop2d", "Dropout2d", "Dropout of whole 2-d channels."),
                   ("drop3d", "Dropout3d", "Dropout of whole 3-d channels."),
                   ("adrop", "AlphaDropout", "Dropout that keeps mean and variance."),
                   ("fadrop", "FeatureAlphaDropout", "Alpha dropout of whole channels.")):
    row(_n, _c, _s, D("p", "", .5), B("inplace", "", False), shortflag=True)

# ------------------------------------------------------------------ pooling

_KERNEL = {"size": "no kernel size given"}
for _d in (1, 2, 3):
    row(f"maxpool{_d}d", f"MaxPool{_d}d", f"Max pooling, {_d}-d.",
        Z("size", "kernel_size"), Z("stride", "", None), Z("pad", "padding", 0), Z("dilate", "dilation", 1),
        B("ceiling", "ceil_mode", False), dims=_d, eg=(3 if _d == 1 else (3, 2, 2)[:_d],), need=_KERNEL,
        like={"stride": "size"})
_WITH_DIVISOR: dict[int, Any] = {1: {"make": make.avgpool1d, "read": make.AVGPOOL1D_READ,
                                          "made": "kshell.nn.shape.AvgPool1d"}, 2: {}, 3: {}}
for _d in (1, 2, 3):
    row(f"avgpool{_d}d", f"AvgPool{_d}d", f"Average pooling, {_d}-d.",
        Z("size", "kernel_size"), Z("stride", "", None), Z("pad", "padding", 0), B("ceiling", "ceil_mode", False),
        B("countpad", "count_include_pad", True), L("divisor", "divisor_override" if _d > 1 else "-", None),
        dims=_d, eg=(3 if _d == 1 else (3, 2, 2)[:_d],), need=_KERNEL, like={"stride": "size"}, **_WITH_DIVISOR[_d])
for _k, _w in (("avg", "average"), ("max", "max")):
    for _d in (1, 2, 3):
        row(f"adapt{_k}{_d}d", f"Adaptive{_k.title()}Pool{_d}d", f"Adaptive {_w} pooling to a given size, {_d}-d.",
            Z("size", "output_size", choices=("null",)), dims=_d,
            eg=(3 if _d == 1 else (3, 2, 4)[:_d],),
            need={"size": "no output size given"})
for _d in (2, 3):
    row(f"fmaxpool{_d}d", f"FractionalMaxPool{_d}d", f"Fractional max pooling, {_d}-d.",
        Z("size", "kernel_size"), Z("outsize", "output_size", None), DS("ratio", "output_ratio", None), dims=_d,
        eg=((2, 4, 3)[:_d],), also={"outsize": (16, 32, 24)[:_d]}, need=_KERNEL, make=make.fractional,
        args=f"module enlist(`fmaxpool{_d}d;2;16)")


def _lppool(dims: int) -> Callable[[Any], str]:
    """The options of a power-average pool as libtorch writes them."""
    def size(v: Any) -> str:
        many = v if isinstance(v, tuple) else (v,) * dims
        return str(list(many) if dims > 1 else many[0])

    return lambda m: (f"norm_type={m.norm_type:g}, kernel_size={size(m.kernel_size)}, "
                      f"stride={size(m.stride or m.kernel_size)}, ceil_mode={m.ceil_mode}")


for _d in (1, 2):
    row(f"lppool{_d}d", f"LPPool{_d}d", f"Power-average pooling, {_d}-d.",
        D("p", "norm_type"), Z("size", "kernel_size"), Z("stride", "", None), B("ceiling", "ceil_mode", False),
        dims=_d, eg=(2.0, 3) if _d == 1 else (1.2, (2, 3)), need={"p": "no power given", **_KERNEL},
        like={"stride": "size"}, text=_lppool(_d))

# ------------------------------------------------------------------ padding, folding, resizing

_PADS = {"pad": "no padding sizes given"}


def _padding(m: Any) -> str:
    return f"padding={list(m.padding)}"


row("pad", "kshell.nn.shape.Pad", "Padding by sizes from the last dimension on.",
    LS("pad"), S("mode", "", "constant", choices=("constant", "reflect", "replicate", "circular")),
    D("value", "", 0.0), eg=((1, 2, 2, 1, 1, 2),), need=_PADS, pytorch="torch.nn.functional.pad",
    place=make.pad_place, make=make.pad, empty=True)
for _d in (1, 2, 3):
    row(f"pad{_d}d", f"ConstantPad{_d}d", f"Padding with a constant, {_d}-d.",
        Z("pad", "padding"), D("value", "", 0.0), widths={"pad": 2 * _d}, own={"value": 0.0}, always=("value",),
        eg=((1, 2) if _d == 1 else (1, 1, 2, 2) if _d == 2 else (3, 3, 6, 6, 0, 1),), need=_PADS,
        also={"value": 3.5} if _d == 3 else {})
for _n, _c, _last in (("reflect", "Reflection", 2), ("replicate", "Replication", 3)):
    for _d in range(1, _last + 1):
        row(f"{_n}{_d}d", f"{_c}Pad{_d}d", f"Padding by {_c.lower()} of the edge, {_d}-d.",
            Z("pad", "padding"), widths={"pad": 2 * _d}, need=_PADS, text=_padding,
            eg=((1, 2) if _d == 1 else (1, 1, 2, 0) if _d == 2 else (3, 3, 6, 6, 1, 1),))
row("zeropad2d", "ZeroPad2d", "Padding with zeros, 2-d.",
    Z("pad", "padding"), widths={"pad": 4}, eg=((1, 1, 2, 0),), need=_PADS, text=_padding)
row("fold", "Fold", "Combines sliding blocks into images.",
    Z("out", "output_size"), Z("size", "kernel_size"), Z("dilate", "dilation", 1), Z("pad", "padding", 0),
    Z("stride", "", 1), dims=2, eg=((4, 6), (2, 3)), need={"out": "no output size given", **_KERNEL})
row("unfold", "Unfold", "Sliding blocks of images as columns.",
    Z("size", "kernel_size"), Z("dilate", "dilation", 1), Z("pad", "padding", 0), Z("stride", "", 1), dims=2,
    eg=((2, 3),), need=_KERNEL)
row("upsample", "Upsample", "Resizes to a size or by a scale.",
    LS("size", "", None), DS("scale", "scale_factor", None),
    S("mode", "", "nearest", choices=("nearest", "linear", "bilinear", "bicubic", "trilinear", "nearestexact")),
    B("align", "align_corners", None), make=make.upsample, read={"mode": make.upsample_mode},
    args="module enlist(`upsample;`scale,2.0)", text=lambda m: _resize(m))

# ------------------------------------------------------------------ recurrent, attention

MOST = 10_000  # layers: each is made by itself, and more are a mistake that would fill the memory
_RECUR = (L("in", "input_size", low=1), L("hidden", "hidden_size", low=1), L("layers", "num_layers", 1, 1, high=MOST))
_RECUR_NEED = {"in": "positive input size required", "hidden": "positive hidden size required"}
_RTAIL = (B("bias", "", True), B("batchfirst", "batch_first", False), D("dropout", "", 0.0),
          B("bi", "bidirectional", False))
_TEXT = ("input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout", "bidirectional")


def _recurrent(m: Any) -> str:
    """The options of a recurrent layer as libtorch writes them."""
    return ", ".join(f"{k}={v:g}" if (v := getattr(m, k)).__class__ is float else f"{k}={v}" for k in _TEXT)


def _table(m: Any) -> str:
    """The options of an embedding as libtorch writes them: the sizes, and what was asked for."""
    more: list[tuple[str, Any]] = [("padding_idx", None), ("max_norm", None), ("norm_type", 2.0),
                                   ("scale_grad_by_freq", False), ("sparse", False)]
    if hasattr(m, "mode"):  # a bag
        more = [*more[1:], ("mode", "mean"), ("include_last_offset", False), more[0]]
    return f"num_embeddings={m.num_embeddings}, embedding_dim={m.embedding_dim}" + "".join(
        f", {k}={_cpp(getattr(m, k))}" for k, v in more if getattr(m, k) != v)


def _cpp(v: Any) -> str:
    """A number or enumerated value as C++ writes it."""
    return f"{v:g}" if v.__class__ is float else f"k{v.capitalize()}" if v.__class__ is str else str(v)


def _resize(m: Any) -> str:
    """The options of a resizing module as libtorch writes them."""
    key, v = ("size", m.size) if m.scale_factor is None else ("scale_factor", m.scale_factor)
    sizes = ", ".join(_cpp(n) for n in (v if isinstance(v, tuple | list) else (v,)))
    return f"{key}=[{sizes}], mode={_cpp(make.upsample_mode(m))}"


row("rnn", "RNN", "Elman recurrent layers.",
    *_RECUR, S("fn", "nonlinearity", "tanh", choices=("tanh", "relu")), *_RTAIL, eg=(10, 20), n=(1, 2),
    result="tuple", need=_RECUR_NEED, text=_recurrent)
row("gru", "GRU", "Gated recurrent layers.", *_RECUR, *_RTAIL, eg=(10, 20), n=(1, 2), result="tuple", need=_RECUR_NEED,
    text=_recurrent)
row("lstm", "LSTM", "Long short-term memory layers.", *_RECUR, *_RTAIL, eg=(10, 20), n=(1, 3), result="nested",
    need=_RECUR_NEED, text=_recurrent)
# options of torch that ktorch's types lack: shown where they are set
_BATCHFIRST, _NORMFIRST = B("batchfirst", "batch_first", False), B("normfirst", "norm_first", False)


def _hidden(o: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in o.items() if value or key not in ("batchfirst", "normfirst")}


row("attention", "MultiheadAttention", "Multi-head attention.",
    L("dim", "embed_dim", low=1), L("heads", "num_heads", low=1), D("dropout", "", 0.0), B("bias", "", True),
    B("addbias", "add_bias_kv", False), B("addzero", "add_zero_attn", False), L("kdim", "", None), L("vdim", "", None),
    _BATCHFIRST, eg=(2048, 8), n=(3, 6), result="tuple", like={"kdim": "dim", "vdim": "dim"}, read=make.ATTENTION_READ,
    make=make.attention, need={"dim": "positive embedding dimension required",
                               "heads": "positive number of heads required"}, hide=_hidden)
_LAYER_NEED = {"in": "positive number of input features required", "heads": "positive number of heads required"}
_LAYER = (L("in", "d_model", low=1), L("heads", "nhead", low=1), L("dim", "dim_feedforward", 2048, 1),
          D("dropout", "", .1), S("fn", "activation", "relu", choices=("relu", "gelu")), _BATCHFIRST, _NORMFIRST)
row("encoderlayer", "TransformerEncoderLayer", "One transformer encoder layer.", *_LAYER, eg=(512, 8), n=(1, 3),
    read=make.LAYER_READ, need=_LAYER_NEED, suffix="Impl", hide=_hidden)
row("decoderlayer", "TransformerDecoderLayer", "One transformer decoder layer.", *_LAYER, eg=(512, 8), n=(2, 6),
    read=make.LAYER_READ, need=_LAYER_NEED, suffix="Impl", hide=_hidden)
for _n, _w in (("encoder", "Encoder"), ("decoder", "Decoder")):
    row(_n, f"Transformer{_w}", f"A stack of transformer {_n} layers.",
        X(f"{_n}layer", "-"), L("layers", "-", low=1, high=MOST), X("layernorm", "-", None), make=make.coder,
        read=make.CODER_READ[_n], n=(1, 3) if _n == "encoder" else (2, 6), always=("layernorm",),
        also={"layernorm": make.EXAMPLE_NORM}, need={"layers": "number of layers must be defined"},
        args=f"module enlist(`{_n};(`{_n}layer;16;2;32);2)",
        eg=(make.EXAMPLE_LAYER, 6), suffix="Impl")
row("transformer", "Transformer", "Encoder and decoder stacks.",
    L("in", "d_model", 512, 1), L("heads", "nhead", 8, 1), L("elayers", "num_encoder_layers", 6, 0, high=MOST),
    L("dlayers", "num_decoder_layers", 6, 0, high=MOST), L("dim", "dim_feedforward", 2048, 1), D("dropout", "", .1),
    S("fn", "activation", "relu", choices=("relu", "gelu")), X("encoder", "-", None), X("decoder", "-", None),
    _BATCHFIRST, _NORMFIRST, hide=_hidden, make=transformer.make, read=transformer.READ, need=_LAYER_NEED,
    n=(2, 8), args="module enlist(`transformer;16;2;1;1;32)", suffix="Impl")

# ------------------------------------------------------------------ activations

_INPLACE = B("inplace", "", False)
for _n, _c, _s in (("relu", "ReLU", "Rectified linear unit."), ("relu6", "ReLU6", "Rectified linear unit up to 6."),
                   ("selu", "SELU", "Scaled exponential linear unit.")):
    row(_n, _c, _s, _INPLACE)
for _n, _c, _s in (("elu", "ELU", "Exponential linear unit."), ("celu", "CELU", "Smooth exponential linear unit.")):
    row(_n, _c, _s, D("alpha", "", 1.0), _INPLACE, shortflag=True)
row("leakyrelu", "LeakyReLU", "Rectified linear unit with a small negative slope.",
    D("slope", "negative_slope", .01), _INPLACE, shortflag=True)
row("glu", "GLU", "Gated linear unit.", L("dim", "", -1))
for _n, _c in (("hardshrink", "Hardshrink"), ("softshrink", "Softshrink")):
    row(_n, _c, f"{_c[:4]} shrinkage.", D("lambda", "lambd", .5))
for _n, _c, _s in (("softmax", "Softmax", "Softmax over one dimension."),
                   ("softmin", "Softmin", "Softmin over one dimension."),
                   ("logsoftmax", "LogSoftmax", "Logarithm of softmax.")):
    row(_n, _c, _s, L("dim"), eg=(1,), need={"dim": "no dimension given"})
row("softplus", "Softplus", "Smooth rectified linear unit.", D("beta", "", 1.0), D("threshold", "", 20.0))
_LEVELS = "both threshold level & replacement value must be given"
row("threshold", "Threshold", "Values up to a threshold become another value.",
    D("threshold"), D("value"), _INPLACE, eg=(.1, 0.0), shortflag=True,
    need={"threshold": _LEVELS, "value": _LEVELS})
row("hardtanh", "Hardtanh", "Values limited to a range.",
    D("min", "min_val", -1.0), D("max", "max_val", 1.0), _INPLACE, shortflag=True)
row("rrelu", "RReLU", "Rectified linear unit with a random negative slope.",
    D("lower", "", .125), D("upper", "", 1 / 3), _INPLACE, shortflag=True)
row("prelu", "PReLU", "Rectified linear unit with a learnt negative slope.",
    L("in", "num_parameters", 1, 1), D("init", "", .25), place=make.prelu_place)
row("gelu", "GELU", "Gaussian error linear unit; its approximation by tanh, if told, is what GPT-2 has.",
    S("approximate", "", "none", choices=("none", "tanh")),
    hide=lambda o: {key: value for key, value in o.items() if value != "none"},  # ktorch's type has no options
    text=lambda m: "" if m.approximate == "none" else f"approximate={m.approximate}")
for _n, _c, _s in (("logsigmoid", "LogSigmoid", "Log of the sigmoid."),
                   ("identity", "Identity", "The input itself."), ("mish", "Mish", "Mish activation."),
                   ("sigmoid", "Sigmoid", "Logistic sigmoid."), ("silu", "SiLU", "Sigmoid linear unit."),
                   ("softsign", "Softsign", "x over 1+|x|."), ("softmax2d", "Softmax2d", "Softmax over channels."),
                   ("tanh", "Tanh", "Hyperbolic tangent."), ("tanhshrink", "Tanhshrink", "x minus tanh x.")):
    row(_n, _c, _s)

# ------------------------------------------------------------------ shape and distance

row("flatten", "Flatten", "Dimensions start to end made one.", L("start", "start_dim", 1), L("end", "end_dim", -1))
for _n, _c, _s, _eg in (("reshape", "Reshape", "The input in another shape.", (-1, 1, 28, 28)),
                        ("expand", "Expand", "The input broadcast to a size.", (-1, -1, 28, 28)),
                        ("permute", "Permute", "The input with dimensions reordered.", (0, 2, 3, 1))):
    row(_n, f"kshell.nn.shape.{_c}", _s, LS("size"), eg=(_eg,), need={"size": "no size given"}, empty=True,
        pytorch=f"torch.{_n}" if _n != "expand" else "torch.Tensor.expand")
row("squeeze", "kshell.nn.shape.Squeeze", "The input without dimensions of size 1.",
    L("dim", "", None), _INPLACE, also={"dim": 1}, shortflag=True, pytorch="torch.squeeze",
    hide=lambda o: {key: value for key, value in o.items() if value is not None})
row("unsqueeze", "kshell.nn.shape.Unsqueeze", "The input with a new dimension of size 1.",
    L("dim"), _INPLACE, eg=(0,), need={"dim": "no dimension given"}, pytorch="torch.unsqueeze")
row("transpose", "kshell.nn.shape.Transpose", "The input with two dimensions swapped.",
    L("dim0", "", -2), L("dim1", "", -1), always=("dim0", "dim1"), pytorch="knn.Transpose")
row("pairwise", "PairwiseDistance", "p-norm distance of two inputs.",
    D("p", "", 2.0), D("eps", "", 1e-6), B("keepdim", "", False), n=(2, 2), read={"p": lambda m: float(m.norm)},
    text=lambda m: f"p={m.norm:g}, eps={m.eps:g}, keepdim={m.keepdim}")
row("similar", "CosineSimilarity", "Cosine similarity of two inputs.", L("dim", "", 1), D("eps", "", 1e-8), n=(2, 2),
    text=lambda m: f"dim={m.dim}, eps={m.eps:g}")
