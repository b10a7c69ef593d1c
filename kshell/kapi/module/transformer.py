"""How a transformer is made of a specification, and its options read from one."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from kshell.errors import CallError
from kshell.kapi.base.args import is_empty
from kshell.kapi.base.handles import ModuleHandle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.module.builders import Given, entry_of
from kshell.kapi.module.describe import options_of, type_name
from kshell.kapi.module.options import class_of, live_values, torch_args
from kshell.kapi.module.spec import create
from kshell.registry import Entry
from kshell.values.base.build import symdict
from kshell.values.base.core import Dict, Value, sym


def _layer_of(coder: Any) -> Given | None:
    """The options of the layers of an encoder or decoder as torch makes it in a transformer; None of any other."""
    kind = {torch.nn.TransformerEncoder: "encoderlayer", torch.nn.TransformerDecoder: "decoderlayer"}.get(type(coder))
    if kind is None or coder.norm is None or not len(coder.layers):
        return None
    return live_values(entry_of(kind), coder.layers[0])


def _layer(m: Any) -> Given:
    """The options of the layers of a transformer that are not custom ones."""
    layers = [v for v in (_layer_of(m.decoder), _layer_of(m.encoder)) if v is not None]
    layers.sort(key=lambda v: (v["in"], v["heads"]) != (m.d_model, m.nhead))
    return layers[0] if layers else {"dim": 2048, "dropout": .1, "fn": "relu", "normfirst": False}


def _coder_options(m: Any, coder: Any) -> Any:
    """The options of the encoder or decoder of a transformer, if it is a custom one."""
    own = type(coder) in (torch.nn.TransformerEncoder, torch.nn.TransformerDecoder) and coder.norm is not None
    if own and (not len(coder.layers) or _layer_of(coder) == _layer(m)):
        return symdict([], [])
    return lambda every: symdict(["module", "options"], [sym(type_name(coder)), options_of(coder, every, False)])


READ: dict[str, Callable[[Any], Any]] = {
    "in": lambda m: m.d_model, "heads": lambda m: m.nhead,
    "elayers": lambda m: getattr(m.encoder, "num_layers", 6), "dlayers": lambda m: getattr(m.decoder, "num_layers", 6),
    "dim": lambda m: _layer(m)["dim"], "dropout": lambda m: _layer(m)["dropout"], "fn": lambda m: _layer(m)["fn"],
    "normfirst": lambda m: _layer(m).get("normfirst", False),
    "encoder": lambda m: _coder_options(m, m.encoder), "decoder": lambda m: _coder_options(m, m.decoder)}


def make(entry: Entry, given: Given) -> Any:
    """A transformer, of torch's own encoder and decoder or given ones."""
    custom = {}
    for key in ("encoder", "decoder"):
        x = given.get(key)
        if x is not None and not is_empty(x) and not (x.__class__ is Dict and not len(x)):
            custom[f"custom_{key}"] = _custom(x)
    if given.get("heads", 1) <= 0:
        raise CallError(entry.name, "positive number of heads required")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's remarks on nested tensors
        return class_of(entry)(**torch_args(entry, given), **custom)


def _custom(x: Value) -> Any:
    if isinstance(x, ModuleHandle):
        return x.get()
    return create(x)
