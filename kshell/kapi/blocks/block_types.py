"""Module types of transformers as they are built today: positions, attention, gated layers, experts, adapters, and the
containers of blocks and models; one row each. The classes are in kshell.nn.blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import is_empty, names_of, number_of
from kshell.kapi.base.convert import kname
from kshell.kapi.module.builders import build, entry_of
from kshell.kapi.module.options import Given, as_dict, class_of, live_values, torch_args
from kshell.kapi.module.types import DS, LS, B, D, L, S, X, Z, row
from kshell.registry import Entry
from kshell.values.base.build import symdict
from kshell.values.base.core import Dict, Value, is_list, seq_items, sym_vec
from kshell.values.base.symbols import Sym

if TYPE_CHECKING:
    from torch.nn import Module

_IN = "kshell.nn.blocks."
_KSHELL: dict[str, Any] = {"since": "kshell"}
_DIM = {"dim": "positive size required", "hidden": "positive hidden size required"}
_LINEAR = {"in": "positive input size required", "out": "positive output size required"}
# the child with the dropout has the name of the option
_DROPOUT = D("dropout", "", 0.0, 0, high=1)
_DROPS: dict[str, Any] = {"read": {"dropout": lambda m: m.p}}
FNS = ("silu", "gelu", "gelutanh", "relu", "sigmoid", "tanh", "identity")

# ------------------------------------------------------------------ positions

row(
    "rope",
    _IN + "positions.Rope",
    "Rotary positions: pairs of the last dimension are turned by angles that grow with the place.",
    D("base", "", 10000.0, 1),
    L("dim", "", None, 2),
    B("adjacent", "", False),
    S("scaling", "", "none", choices=("none", "linear", "llama3", "yarn", "dynamic", "longrope")),
    D("factor", "", 1.0),
    L("length", "", 8192, 1),
    D("low", "", 1.0),
    D("high", "", 4.0),
    D("attention", "", None),
    DS("short", "", None),
    DS("long", "", None),
    always=("base",),  # so that an attention's option shows that it has them
    **_KSHELL,
)
row(
    "positions",
    _IN + "positions.LearnedPositions",
    "Adds a learned vector for each place.",
    L("rows", low=1),
    L("cols", low=1),
    L("offset", "", 0, 0),
    eg=(1024, 512),
    args="module enlist(`positions;128;16)",
    need={
        "rows": "positive number of rows required",
        "cols": "positive number of columns required",
    },
    **_KSHELL,
)
row(
    "alibi",
    _IN + "positions.Alibi",
    "Adds to scores of attention a bias that falls with the distance, by head.",
    L("heads", low=1),
    eg=(8,),
    need={"heads": "positive number of heads required"},
    **_KSHELL,
)

# ------------------------------------------------------------------ attention


def _names(call: str, given: Given) -> Given:
    """The options with the names of layers as Python's."""
    x = given.get("names")
    if x is None or is_empty(x):
        return {key: value for key, value in given.items() if key != "names"}
    names = names_of(x)
    if names is None or any(not name or "." in name for name in names):
        raise CallError(call, at="names", expecting="symbols without dots", given=kname(x))
    return {**given, "names": tuple(names)}


def _symbols(m: Any) -> Value:
    return sym_vec(m.names)


def _rope(x: Value) -> Any:
    """The rotary positions in an option: a base, the type with or without options, or options by name."""
    entry = entry_of("rope")
    base = number_of(x)
    if x.__class__ is Dict:
        return build(entry, [x], 0)
    if base is not None:
        return build(entry, [base])
    parts = seq_items(x) if is_list(x) else [x]
    if not parts or parts[0].__class__ is not Sym or parts[0].s != "rope":
        raise CallError(
            "gqa", at="rope", expecting="`rope, its base or its options", given=kname(x)
        )
    return build(entry, parts[1:])


def _gqa(entry: Entry, given: Given) -> Any:
    """Attention, with rotary positions if they are asked for."""
    given = _names(entry.name, given)
    x = given.pop("rope", None)
    absent = x is None or is_empty(x) or (x.__class__ is Dict and not len(x))
    rope = None if absent else _rope(x)
    size = given.get("headdim") or given["dim"] // max(given["heads"], 1)
    if rope is not None and (rope.dim or size) > size:
        raise QError(f"gqa: turns {rope.dim} columns, but heads have {size}")
    return class_of(entry)(**torch_args(entry, given), rope=rope)


def _options_of(kind: str, m: Module | None) -> Any:
    """The options of a part of a module; empty if it has none."""
    if m is None:
        return symdict([], [])
    entry = entry_of(kind)
    return lambda every: as_dict(entry, live_values(entry, m), every)


row(
    "gqa",
    _IN + "attention.GroupedAttention",
    "Self-attention whose heads share keys and values, with rotary positions, a window and a cache.",
    L("dim", low=1),
    L("heads", low=1),
    L("kvheads", "", None, 1),
    X("rope", "-", None),
    L("window", "", None, 1),
    L("headdim", "", None, 1),
    B("causal", "", True),
    B("bias", "", False),
    B("outbias", "", False),
    D("dropout", "", 0.0, 0, high=1),
    B("alibi", "", False),
    D("scale", "", None),
    B("fused", "", False),
    B("project", "", True),
    S("layer", "", "linear", choices=("linear", "lineart")),
    X("names", "", None),
    eg=(512, 8),
    n=(1, 2),
    like={"kvheads": "heads"},
    make=_gqa,
    read={"rope": lambda m: _options_of("rope", m._modules.get("rope")), "names": _symbols},
    need={**_DIM, "heads": "positive number of heads required"},
    args="module enlist(`gqa;16;4;2;`rope)",
    **_KSHELL,
)

# ------------------------------------------------------------------ layers between attention


def _named(entry: Entry, given: Given) -> Any:
    return class_of(entry)(**torch_args(entry, _names(entry.name, given)))


row(
    "lineart",
    _IN + "feedforward.TransposedLinear",
    "Affine map of the last dimension, x times the weight (in, out), plus bias: the Conv1D of GPT-2.",
    L("in", "in_features", low=1),
    L("out", "out_features", low=1),
    B("bias", "", True),
    eg=(784, 10),
    need=_LINEAR,
    **_KSHELL,
)
row(
    "swiglu",
    _IN + "feedforward.Gated",
    "A gated layer: down(fn(gate x) times up x), with silu if no other function is given.",
    L("dim", low=1),
    L("hidden", low=1),
    S("fn", "", "silu", choices=FNS),
    B("bias", "", False),
    X("names", "", None),
    eg=(512, 1376),
    args="module enlist(`swiglu;16;40)",
    need=_DIM,
    make=_named,
    read={"names": _symbols},
    **_KSHELL,
)
row(
    "moe",
    _IN + "feedforward.Experts",
    "A mixture of gated layers, of which a router chooses some for each place.",
    L("dim", low=1),
    L("hidden", low=1),
    L("experts", low=1, high=10_000),
    L("top", "", 2, 1),
    B("norm", "", True),
    S("fn", "", "silu", choices=FNS),
    X("names", "", None),
    eg=(512, 1376, 8),
    args="module enlist(`moe;16;40;4)",
    need={**_DIM, "experts": "positive number of experts required"},
    make=_named,
    read={"experts": lambda m: m.count, "names": _symbols},
    **_KSHELL,
)

# ------------------------------------------------------------------ adapters

for _n, _c, _s in (
    ("lora", "Lora", "A linear layer plus a trained product of two small matrices."),
    (
        "dora",
        "Dora",
        "A linear layer plus such a product, with the size of each row trained for itself.",
    ),
):
    row(
        _n,
        f"{_IN}adapters.{_c}",
        _s,
        L("in", "in_features", low=1),
        L("out", "out_features", low=1),
        L("rank", "", 8, 1),
        D("alpha", "", 16.0),
        _DROPOUT,
        B("bias", "", True),
        B("rooted", "", False),
        S("layer", "", "linear", choices=("linear", "lineart")),
        eg=(512, 512),
        args=f"module enlist(`{_n};16;8;4)",
        need=_LINEAR,
        **_DROPS,
        **_KSHELL,
    )

# ------------------------------------------------------------------ containers

_OWN: dict[str, Any] = {"container": True, "whole": True, "since": "kshell"}
row(
    "block",
    _IN + "containers.Block",
    "Container: branches of modules in order, each of whose result is added to its input.",
    LS("sizes", "", (2, 2), 1),
    **_OWN,
)
row(
    "skip",
    _IN + "containers.Skip",
    "Container: modules in order, the last with two inputs: the result of the one before it and that one's input.",
    **_OWN,
)
row(
    "seqmask",
    _IN + "containers.Masked",
    "Container: modules in order; a second input says where there is no padding, a third the types of tokens.",
    n=(1, 3),
    **_OWN,
)
row(
    "addnorm",
    _IN + "containers.AddNorm",
    "A linear layer, and the normalization of its result plus a second input.",
    L("in", "in_features", low=1),
    L("out", "out_features", low=1),
    D("eps", "", 1e-5),
    _DROPOUT,
    eg=(512, 512),
    n=(2, 2),
    need=_LINEAR,
    **_DROPS,
    **_KSHELL,
)
row(
    "pooler",
    _IN + "containers.Pooler",
    "The first place through a linear layer and tanh, alone or in a dictionary with the input.",
    L("dim", low=1),
    B("both", "", True),
    eg=(512,),
    need=_DIM,
    **_KSHELL,
)

# ------------------------------------------------------------------ embeddings

row(
    "embedtypes",
    _IN + "embeddings.TypedEmbeddings",
    "The normalized sum of the embeddings of tokens, places and types of tokens.",
    L("rows", low=1),
    L("cols", low=1),
    L("length", low=1),
    L("types", "", 2, 1),
    D("eps", "", 1e-12),
    _DROPOUT,
    L("padindex", "", None),
    eg=(30522, 768, 512),
    n=(1, 2),
    args="module enlist(`embedtypes;30;8;16)",
    need={
        "rows": "positive number of rows required",
        "cols": "positive number of columns required",
        "length": "positive sequence length required",
    },
    **_DROPS,
    **_KSHELL,
)
row(
    "patches",
    _IN + "embeddings.PatchEmbeddings",
    "Images as a sequence of embedded patches after a learned vector, with learned positions.",
    Z("size", low=1),
    Z("patch", low=1),
    L("dim", low=1),
    L("channels", "", 3, 1),
    _DROPOUT,
    eg=(224, 16, 768),
    dims=2,
    args="module enlist(`patches;8;4;16)",
    need={**_DIM, "size": "no size of images given", "patch": "no size of patches given"},
    **_DROPS,
    **_KSHELL,
)
