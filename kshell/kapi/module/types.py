"""The module types, one row each: the source of creation, options, state, help, completion and documentation.
Containers, linear layers, convolution, normalization, embedding and dropout are here; window_types.py,
sequence_types.py and activation_types.py have the others.

A row is name, torch class, summary, options in positional order. To add a type, add a row; a class that torch lacks is
a file in kshell/nn and a row whose target names it, or a class in any file under `@module(name)`.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.entry_kinds import KINDS
from kshell.kapi.base.option_docs import worded
from kshell.kapi.module import builders as make
from kshell.kapi.module.options import Given, signature_options, with_defaults
from kshell.kapi.tensor.text import scalar_text
from kshell.registry import REQUIRED, Entry, Option

if TYPE_CHECKING:
    from torch.nn import Module, ParameterDict


def _option(kind: str) -> Callable[..., Option]:
    def build(
        name: str,
        torch: str = "",
        default: Any = REQUIRED,
        low: float | None = None,
        choices: tuple[str, ...] = (),
        high: float | None = None,
    ) -> Option:
        return Option(name, kind, default, torch, low=low, high=high, choices=choices)

    return build


L, D, B, S = _option("long"), _option("double"), _option("boolean"), _option("symbol")
Z, LS, DS, T, P, X = (_option(k) for k in ("size", "longs", "doubles", "tensor", "pad", "any"))

_TOPIC = {"module": "kapi.module.types", "loss": "losses"}
_NAMES: dict[type, Callable[[Any], str]] = {
    str: "`{}".format,
    bool: lambda v: "01"[v] + "b",
    int: str,
    float: lambda v: f"{v:g}" + "f" * (v == int(v)),
}


def q_text(v: object) -> str:
    """q source for an example value."""
    if isinstance(v, tuple):
        return " ".join(map(str, v)) + "f" * (isinstance(v[-1], float) and v[-1] == int(v[-1]))
    return _NAMES[type(v)](v)


def _doc(
    name: str, summary: str, options: tuple[Option, ...], example: dict[str, Any], args: str
) -> str:
    """The help text: summary, options, and an example that makes one."""
    if not args:
        needed = [q_text(example[option.name]) for option in options if option.default is REQUIRED]
        args = f"module enlist(`{name};{';'.join(needed)})" if needed else f"module`{name}"
    return f"{summary}\n\nq)objtype {args}\n`{name}\n"


def row(
    name: str,
    target: str,
    summary: str,
    *options: Option,
    kind: str = "module",
    eg: Iterable[Any] = (),
    args: str = "",
    also: Given | None = None,
    since: str = "ktorch",
    first_torch: str = "",
    **fields: Any,
) -> Entry:
    """Register a module type. `eg` are example values for the required options, in order, and `also` for others; `args`
    is the call in the help text's example, if different; `since` says whose name it is, `first_torch` which version of
    torch has it first. Further fields are those of ModuleRecord (kapi/module/options.py)."""
    example = dict(
        zip([option.name for option in options if option.default is REQUIRED], eg, strict=True)
    )
    example |= also or {}
    lines = sys._getframe(1)
    return registry.add(
        Entry(
            name,
            kind,
            doc=_doc(name, summary, options, example, args),
            options=worded(name, options),
            topic=_TOPIC[kind],
            target=target if "." in target else f"torch.nn.{target}",
            since=since,
            first_torch=first_torch,
            file=lines.f_code.co_filename,
            line=lines.f_lineno,
            record=KINDS[kind].record(example=example, **fields),
        )
    )


def module(
    name: str,
    *options: Option,
    kind: str = "module",
    since: str = "kshell",
    first_torch: str = "",
    **fields: Any,
) -> Callable[[type], type]:
    """Register a torch module class as a module type, as a decorator; its docstring is the help text.

    Options that are not declared are read from the signature, as are missing defaults. Each option is an argument of
    the class; the arguments of each module are recorded, and an attribute with the same name takes precedence. `fields`
    are those of ModuleRecord (kapi/module/options.py).
    """

    def register(cls: type) -> type:
        code = getattr(vars(cls).get("__init__"), "__code__", None)
        registry.add(
            Entry(
                name,
                kind,
                doc=inspect.getdoc(cls) or name,
                topic=_TOPIC["module"],
                options=with_defaults(cls, options) or signature_options(cls),
                target=f"{cls.__module__}.{cls.__qualname__}",
                since=since,
                first_torch=first_torch,
                file=code.co_filename if code else "",
                line=code.co_firstlineno if code else 0,
                record=KINDS[kind].record(cls=cls, **fields),
            )
        )
        return cls

    return register


# ------------------------------------------------------------------ containers

# fmt: off  # a table
row(
    "sequential",
    "Sequential",
    "Container: each child's output is the next child's input.",
    container=True,
)
row(
    "seqnest",
    "kshell.nn.seq.SeqNest",
    "A sequential that can be a child of another container.",
    container=True,
    pytorch="knn.SeqNest",
    n=(1, 3),
)
row(
    "moduledict",
    "ModuleDict",
    "Container of named modules, without forward.",
    container=True,
    result="",
    children="any",
    replaces=True,
)
row(
    "modulelist",
    "ModuleList",
    "Container of modules in order, without forward.",
    container=True,
    result="",
    children="any",
    numbered=True,
)
row(
    "parmdict",
    "ParameterDict",
    "Container of named parameters.",
    container=True,
    result="",
    parse=make.parmdict_parse,
    make=make.parmdict,
    live=make.parmdict_live,
    args="module enlist(`parmdict;`a`b!(1 2e;3e))",
    text=lambda m: _parameters(m),
)
# fmt: on


def _parameters(m: ParameterDict) -> str:
    """The parameters of a dictionary in libtorch's form, one per line."""
    return "\n" + "".join(
        f"({key}): Parameter containing: [{scalar_text(param)} of size {list(param.shape)}]\n"
        for key, param in m.items()
    )


# ------------------------------------------------------------------ linear, convolution

_IN = "positive input size required"
row(
    "linear",
    "Linear",
    "Affine map of the last dimension: x times the transposed weight, plus bias.",
    L("in", "in_features", low=1),
    L("out", "out_features", low=1),
    B("bias", "", True),
    eg=(784, 10),
    need={"in": _IN, "out": "positive output size required"},
)
row(
    "bilinear",
    "Bilinear",
    "Bilinear map of two inputs.",
    L("in1", "in1_features", low=1),
    L("in2", "in2_features", low=1),
    L("out", "out_features", low=1),
    B("bias", "", True),
    eg=(20, 30, 40),
    n=(2, 2),
    need={
        "in1": "positive input sizes required",
        "in2": "positive input sizes required",
        "out": "positive output size required",
    },
)

_CHANNELS = (L("in", "in_channels", low=1), L("out", "out_channels", low=1))
_CONV_NEED = {
    "in": "number of input channels not defined",
    "out": "number of output channels not defined",
    "size": "no kernel size(s) given",
}
_PADMODE = S(
    "padmode", "padding_mode", "zeros", choices=("zeros", "reflect", "replicate", "circular")
)
for _d in (1, 2, 3):
    row(
        f"conv{_d}d",
        f"Conv{_d}d",
        f"Convolution over {_d} dimension{'s' * (_d > 1)}.",
        *_CHANNELS,
        Z("size", "kernel_size", low=1),
        Z("stride", "", 1),
        P("pad", "padding", 0),
        Z("dilate", "dilation", 1),
        L("groups", "", 1),
        B("bias", "", True),
        _PADMODE,
        dims=_d,
        eg=(16, 32, (3, 5, 2)[:_d] if _d > 1 else 3),
        need=_CONV_NEED,
    )
for _d in (1, 2, 3):
    row(
        f"convtranspose{_d}d",
        f"ConvTranspose{_d}d",
        f"Transposed convolution over {_d} dimension{'s' * (_d > 1)}.",
        *_CHANNELS,
        Z("size", "kernel_size", low=1),
        Z("stride", "", 1),
        Z("pad", "padding", 0),
        Z("outpad", "output_padding", 0),
        L("groups", "", 1),
        B("bias", "", True),
        Z("dilate", "dilation", 1),
        _PADMODE,
        dims=_d,
        n=(1, 2),
        eg=(128, 64, 5 if _d == 1 else (3, 5, 2)[:_d]),
        need=_CONV_NEED,
    )

# ------------------------------------------------------------------ normalization

_FEATURES = {"in": "number of input features not defined"}
for _d in (1, 2, 3):
    row(
        f"batchnorm{_d}d",
        f"BatchNorm{_d}d",
        f"Batch normalization, {_d}-d.",
        L("in", "num_features", low=1),
        D("eps", "", 1e-5),
        D("momentum", "", 0.1, choices=("null",)),
        B("affine", "", True),
        B("track", "track_running_stats", True),
        eg=(32,),
        need=_FEATURES,
    )
for _d in (1, 2, 3):
    row(
        f"instancenorm{_d}d",
        f"InstanceNorm{_d}d",
        f"Instance normalization, {_d}-d.",
        L("in", "num_features", low=1),
        D("eps", "", 1e-5),
        D("momentum", "", 0.1),
        B("affine", "", False),
        B("track", "track_running_stats", False),
        eg=(100,),
        need=_FEATURES,
    )
row(
    "groupnorm",
    "GroupNorm",
    "Group normalization: normalize channels in groups.",
    L("groups", "num_groups", low=1),
    L("channels", "num_channels", low=1),
    D("eps", "", 1e-5),
    B("affine", "", True),
    eg=(3, 6),
    need={
        "groups": "specify no. of groups to separate the channels into",
        "channels": "specify no. of channels expected in input",
    },
)
row(
    "layernorm",
    "LayerNorm",
    "Layer normalization over the last dimensions.",
    LS("shape", "normalized_shape", low=0),
    D("eps", "", 1e-5),
    B("affine", "elementwise_affine", True),
    eg=((32, 10),),
    need={"shape": "no normalized shape given"},
)
_NEIGHBOURS = {"size": "specify no. of neighboring channels to use for normalization"}
row(
    "localnorm",
    "LocalResponseNorm",
    "Local response normalization over neighbouring channels.",
    L("size"),
    D("alpha", "", 1e-4),
    D("beta", "", 0.75),
    D("k", "", 1.0),
    eg=(2,),
    need=_NEIGHBOURS,
)
row(
    "crossmap2d",
    "CrossMapLRN2d",
    "Local response normalization across maps.",
    L("size"),
    D("alpha", "", 1e-4),
    D("beta", "", 0.75),
    L("k", "", 1),
    eg=(2,),
    need=_NEIGHBOURS,
)

# ------------------------------------------------------------------ embedding

_EMBED = (
    L("rows", "num_embeddings", None),
    L("cols", "embedding_dim", None),
    T("weight", "-", None),
    B("freeze", "-", False),
)
_TABLE: dict[str, Any] = {
    "make": make.embed,
    "read": make.EMBED_READ,
    "live": make.embed_live,
    "hide": make.embed_hide,
    "always": ("freeze",),
    "also": {"rows": 1000, "cols": 64},
    "text": lambda m: _table(m),
}
row(
    "embed",
    "Embedding",
    "Embedding: a look-up table of vectors by index.",
    *_EMBED,
    L("padindex", "padding_idx", None),
    D("maxnorm", "max_norm", None),
    D("p", "norm_type", 2.0),
    B("scale", "scale_grad_by_freq", False),
    B("sparse", "", False),
    **_TABLE,
    place=make.embed_place,
    args="module enlist(`embed;1000;64)",
    made="kshell.nn.tables.Embedding",
)
row(
    "embedbag",
    "EmbeddingBag",
    "Sum, mean or maximum of bags of embeddings.",
    *_EMBED,
    D("maxnorm", "max_norm", None),
    D("p", "norm_type", 2.0),
    B("scale", "scale_grad_by_freq", False),
    S("mode", "", "mean", choices=("sum", "mean", "max")),
    B("sparse", "", False),
    B("lastoffset", "include_last_offset", False),
    L("padindex", "padding_idx", None),
    **_TABLE,
    place=make.embedbag_place,
    args="module enlist(`embedbag;1000;64)",
    made="kshell.nn.tables.EmbeddingBag",
    n=(1, 3),
)

# ------------------------------------------------------------------ dropout

for _n, _c, _s in (
    ("drop", "Dropout", "Dropout: set random elements to zero in training."),
    ("drop2d", "Dropout2d", "Dropout of entire 2-d channels."),
    ("drop3d", "Dropout3d", "Dropout of entire 3-d channels."),
    ("adrop", "AlphaDropout", "Dropout that preserves mean and variance."),
    ("fadrop", "FeatureAlphaDropout", "Alpha dropout of entire channels."),
):
    row(_n, _c, _s, D("p", "", 0.5), B("inplace", "", False), shortflag=True)


def _table(m: Module) -> str:
    """The options of an embedding in libtorch's form: sizes, and options that were set."""
    extras: list[tuple[str, Any]] = [
        ("padding_idx", None),
        ("max_norm", None),
        ("norm_type", 2.0),
        ("scale_grad_by_freq", False),
        ("sparse", False),
    ]
    if hasattr(m, "mode"):  # a bag
        extras = [*extras[1:], ("mode", "mean"), ("include_last_offset", False), extras[0]]
    return f"num_embeddings={m.num_embeddings}, embedding_dim={m.embedding_dim}" + "".join(
        f", {name}={cpp_value(getattr(m, name))}"
        for name, default in extras
        if getattr(m, name) != default
    )


def cpp_value(v: object) -> str:
    """A number or enumerated value in C++ notation."""
    return (
        f"{v:g}" if v.__class__ is float else f"k{v.capitalize()}" if v.__class__ is str else str(v)
    )
