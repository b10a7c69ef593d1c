"""`hub`: a folder with config.json and weights as a module."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from kshell.checkpoints.base.stored import Stored
from kshell.checkpoints.trees.opening import dequantized, opened, settings_at
from kshell.errors import CallError, QError
from kshell.kapi.base.args import items, name_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import module_handle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.paths import is_path, path_of
from kshell.kapi.checkpoint.stored_tensors import tensor_of
from kshell.kapi.hub.family import FAMILIES, Family, Plan, Settings, pairs, plain
from kshell.kapi.module.spec import define
from kshell.kapi.module.stack import ALONE
from kshell.registry import load_package
from kshell.values.base.core import Dict, List, Value

if TYPE_CHECKING:
    from torch.nn import Module

load_package("kshell.kapi.hub.families")
# classes whose weights are drawn from a normal distribution
_DRAWN = {"Linear", "Embedding", "TransposedLinear", "LearnedPositions", "Conv2d"}
_FILES = ("model.safetensors", "pytorch_model.bin")


@api(
    "hub",
    "hub`:folder",
    "hub(`:folder;architecture)",
    "hub settings",
    "hub(settings;architecture)",
    since="kshell",
    effect="opens",
)
def hub(x: Value) -> Value:
    """The model in a folder of the Hugging Face hub's form, as a module of the types here, without transformers.

    The folder has config.json and the weights, as .safetensors or .bin, in one file or several. The families are llama,
    qwen2, mistral, mixtral, gpt2, bert and vit. The names of the parts and parameters are those in the files; large
    parameters are maps of the files, of which only the pages that are written are copied. An architecture, such as
    `BertModel, opens only that part of the model.

    For a dictionary, the settings of config.json, the model is new, with random weights.

    q)c:`model_type`vocab_size`hidden_size`intermediate_size!(`llama;50;8;12)
    q)m:hub c,`num_hidden_layers`num_attention_heads!1 2
    q)size forward(m;2 3#til 6)
    2 3 50
    q)childnames child(m;`model.layers.0)
    `input_layernorm`self_attn`post_attention_layernorm`mlp
    """
    given = [x] if x.__class__ is Dict else items(x)
    is_new = bool(given) and given[0].__class__ is Dict
    if not 1 <= len(given) <= 2 or not (is_new or is_path(given[0])):
        raise CallError(
            "hub",
            expecting="a folder or settings, and optionally an architecture",
            given=kname(given[0] if given else x),
        )
    chosen = name_of(given[1]) if len(given) > 1 else ""
    if chosen is None:
        raise CallError("hub", at="architecture", expecting="a symbol", given=kname(given[1]))
    if is_new:
        module = new_model(Settings(plain(given[0], "settings"), "the dictionary"), chosen)
    else:
        module = model_in(path_of(given[0], "hub"), chosen)
    module.__dict__[ALONE] = True
    return module_handle(module)


def model_in(folder: str, chosen: str = "") -> Module:
    """The model in a folder; with an architecture, that part of it."""
    if not os.path.isdir(folder):
        raise QError(f"hub: {folder} is not a folder")
    where = os.path.join(folder, "config.json")
    if not os.path.isfile(where):
        raise QError(f"hub: {folder} has no config.json")
    c = Settings(settings_at(where), where)
    family = _family(c)
    plan = _plan(c, family, chosen)
    with torch.device("meta"):
        module: Any = define(List(pairs(plan.root)))
    _fill(module, plan, family, _weights(folder, plan.renamed), bool(chosen))
    return module


def new_model(c: Settings, chosen: str) -> Module:
    """A model with random weights, drawn as the settings say."""
    plan = _plan(c, _family(c), chosen)
    module: Any = define(List(pairs(plan.root)))
    deviation = c.number("initializer_range", 0.02)
    with torch.no_grad():
        for part in module.modules():
            if type(part).__name__ not in _DRAWN:
                continue
            part.weight.normal_(0, deviation)
            if getattr(part, "bias", None) is not None:
                part.bias.zero_()
    _tie(module, plan)
    return module


def _family(c: Settings) -> Family:
    kind = c.get("model_type")
    family = FAMILIES.get(kind) if isinstance(kind, str) else None
    if family is None:
        given = f"{c.where} has " + ("no model_type" if kind is None else f"the model_type {kind}")
        raise QError(f"hub: {given}, known are " + " ".join(FAMILIES))
    return family


def _plan(c: Settings, family: Family, chosen: str) -> Plan:
    """What an architecture, given or that of the settings, consists of."""
    named = c.get("architectures")
    own = named[0] if isinstance(named, list) and named and isinstance(named[0], str) else ""
    wanted = chosen or own
    if not wanted:
        return next(iter(family.architectures.values()))(c)
    for end, make in family.architectures.items():
        if wanted.lower() in (f"{family.name}{end}".lower(), end.lower()):
            return make(c)
    known = " ".join(own_name(family, end) for end in family.architectures)
    raise QError(f"hub: the architecture {wanted} is not known, those of {family.name} are {known}")


def own_name(family: Family, end: str) -> str:
    """An architecture's name as transformers writes it."""
    upper = {"gpt2": "GPT2", "vit": "ViT"}
    return upper.get(family.name, family.name.capitalize()) + end


def _weights(folder: str, renamed: dict[str, str]) -> dict[str, Stored]:
    """The tensors of a folder by name."""
    file = next((name for name in _FILES if os.path.isfile(os.path.join(folder, name))), "")
    found = dequantized(opened(os.path.join(folder, file) if file else folder))
    names = {}
    for name, stored in found.items():
        for pattern, new in renamed.items():
            name = re.sub(pattern, new, name)
        names[name] = stored
    return names


def _own(given: dict[str, Stored], base: str, own: dict[str, Any]) -> dict[str, Stored]:
    """The tensors by the module's names: with the name of the model within a head's, or without."""
    before = f"{base}."
    has = any(name.startswith(before) for name in given)
    wants = any(name.startswith(before) for name in own)
    if has and not wants:
        return {name.removeprefix(before): stored for name, stored in given.items()}
    if wants and not has:
        return {name if name in own else before + name: stored for name, stored in given.items()}
    return given


def _fill(m: Module, plan: Plan, family: Family, given: dict[str, Stored], part: bool) -> None:
    """Give a module its weights. An error names what is missing, what is there beside it, and what has another size."""
    own = dict(m.named_parameters())
    given = _own(given, family.base, own)
    missing = [name for name in own if name not in given and name not in plan.tied]
    if missing:
        raise QError(f"hub: the files have no {_some(missing)}")
    ignored = re.compile("|".join(plan.ignored) or "$^")
    beside = [name for name in given if name not in own and not ignored.fullmatch(name)]
    if beside and not part:
        raise QError(
            f"hub: the files have {_some(beside)}, which the model has not",
            hint="an architecture opens a part of a model: hub(`:folder;`name)",
        )
    for name, parameter in own.items():
        if name not in plan.tied and tuple(parameter.shape) != given[name].shape:
            sizes = f"{list(given[name].shape)}, expecting {list(parameter.shape)}"
            raise QError(f"hub: {name} of the files is {sizes}")
    modules = dict(m.named_modules())
    for name in own:
        if name not in plan.tied:
            tensor = tensor_of(given[name])
            grad = tensor.is_floating_point()
            _set(modules, name, torch.nn.Parameter(tensor, requires_grad=grad))
    _tie(m, plan)


def _tie(m: Module, plan: Plan) -> None:
    """Parameters that are others' too."""
    modules = dict(m.named_modules())
    for name, source in plan.tied.items():
        _set(modules, name, m.get_parameter(source))


def _set(modules: dict[str, Any], name: str, parameter: Any) -> None:
    path, _, key = name.rpartition(".")
    modules[path]._parameters[key] = parameter


def _some(names: list[str]) -> str:
    """Some names, and how many others there are."""
    rest = len(names) - 5
    return " ".join(names[:5]) + (f" and {rest} others" if rest > 0 else "")
