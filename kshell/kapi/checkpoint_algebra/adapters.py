"""The files of low-rank adapters, in PEFT's format: which tensors belong to which module, and the settings."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kshell.checkpoints.trees.opening import settings_at
from kshell.kapi.checkpoint_algebra.patterns import is_like
from kshell.kapi.checkpoint_algebra.problems import problem
from kshell.kapi.checkpoint_algebra.sources import Source, file_source

CONFIG = "adapter_config.json"
FILES = ("adapter_model.safetensors", "adapter_model.bin")
PREFIX = "base_model.model."
_MOST = 10_000_000  # bytes of the settings
_LORA = re.compile(
    r"(?:(?P<module>.*)\.)?lora_(?:"
    r"(?P<part>[AB])(?:\.[^.]+)?\.weight|embedding_(?P<embedding>[AB])(?:\.[^.]+)?"
    r"|(?P<bias>B)(?:\.[^.]+)?\.bias|(?P<magnitude>magnitude_vector)(?:\.[^.]+)*)"
)
# settings that change the weights in ways that are not merged here
_OTHERS = (
    "target_parameters",
    "layer_replication",
    "trainable_token_indices",
    "use_qalora",
    "use_bdlora",
    "alora_invocation_tokens",
    "arrow_config",
    "megatron_config",
)


class Parts(NamedTuple):
    """The names of an adapter's tensors for one module; empty if it has none."""

    a: str = ""
    b: str = ""
    is_embedding: bool = False
    magnitude: str = ""
    bias: str = ""


class Adapter(NamedTuple):
    """An adapter: its tensors, its settings, the parts for each module, and the names of tensors that replace those of
    the model, by the names that these have in it."""

    source: Source
    config: Mapping[str, Any]
    modules: dict[str, Parts]
    whole: dict[str, str]


def check(config: Mapping[str, Any]) -> None:
    """QError if these are the settings of an adapter that cannot be merged here."""
    kind = config.get("peft_type", "LORA")
    if str(kind).rpartition(".")[2].upper() != "LORA":
        raise problem(f"an adapter of type {kind} cannot be merged, only LORA")
    other = next((name for name in _OTHERS if config.get(name)), None)
    if other is not None:
        raise problem(f"an adapter with {other} cannot be merged")


def adapter_of(source: Source, config: Mapping[str, Any]) -> Adapter:
    """The adapter with these tensors and settings. QError if it cannot be merged, or a part is missing."""
    check(config)
    modules: dict[str, Parts] = {}
    whole = {}
    for name in source.names():
        short = name.removeprefix(PREFIX)
        found = _LORA.fullmatch(short)
        if found is None:
            if re.search(r"(^|\.)(lora_|hada_|lokr_|oft_|ia3_|trainable_tokens_|prompt_)", short):
                raise problem(f"{name} of the adapter is of a kind that cannot be merged")
            whole[_without_wrappers(short)] = name
            continue
        module = found["module"] or ""
        parts = modules.get(module, Parts())
        key = found["part"] or found["embedding"]
        if key:
            is_embedding = bool(found["embedding"])
            parts = parts._replace(**{key.lower(): name}, is_embedding=is_embedding)
        elif found["bias"]:
            parts = parts._replace(bias=name)
        else:
            parts = parts._replace(magnitude=name)
        modules[module] = parts
    for module, parts in modules.items():
        if not (parts.a and parts.b):
            raise problem(f"the adapter has no {'B' if parts.a else 'A'} for {module}")
    return Adapter(source, config, modules, whole)


def _without_wrappers(name: str) -> str:
    """The name in the model of a tensor that PEFT saves whole."""
    name = re.sub(r"(^|\.)base_layer\.", r"\1", name)
    return re.sub(r"(^|\.)modules_to_save\.(?:default\.)?", r"\1", name)


def folder_adapter(path: str) -> Adapter:
    """The adapter in a folder. QError if it is none."""
    names = sorted(os.listdir(path))
    file = next((name for name in FILES if name in names), None)
    if file is None or CONFIG not in names:
        missing = CONFIG if file else FILES[0]
        raise problem(f"{path} is no adapter: it has no {missing}")
    config = settings_at(os.path.join(path, CONFIG))
    if not config:
        raise problem(f"{os.path.join(path, CONFIG)} is no dictionary")
    return adapter_of(file_source(os.path.join(path, file)), config)


def name_in(names: Iterable[str], wanted: str) -> str:
    """The name of the model that is the wanted one, or the only one of which one ends in the other, after a dot. QError
    if there is none, or several."""
    names = list(names)
    if wanted in names:
        return wanted
    found = [n for n in names if n.endswith(f".{wanted}") or wanted.endswith(f".{n}")]
    if len(found) != 1:
        few = f", {found[0]} and {found[1]} end so" if found else ""
        raise problem(f"the model has no {wanted}{few}")
    return found[0]


def targets(
    adapter: Adapter, names: Sequence[str]
) -> tuple[dict[str, str], dict[str, str], dict[str, str]]:
    """What an adapter changes in a model with these names: name -> module for weights and for biases, and name -> name
    of the tensor that replaces it."""
    weights, biases = {}, {}
    for module, parts in adapter.modules.items():
        weights[name_in(names, f"{module}.weight" if module else "weight")] = module
        if parts.bias:
            biases[name_in(names, f"{module}.bias" if module else "bias")] = module
    return weights, biases, {name_in(names, own): name for own, name in adapter.whole.items()}


# ------------------------------------------------------------------ extraction


class Plan(NamedTuple):
    """Which tensors of a tuned model become low-rank parts, and which are saved whole, by name."""

    low_rank: list[str]
    whole: list[str]


def plan(tuned: Source, changed: Iterable[str], patterns: Sequence[str]) -> Plan:
    """Weights of two to five dimensions become low-rank parts, unless they match one of these patterns of `like`."""
    low_rank: list[str] = []
    whole: list[str] = []
    for name in changed:
        fits = name.endswith("weight") and tuned.dtype(name).is_floating_point
        fits = fits and 2 <= len(tuned.shape(name)) <= 5
        is_whole = not fits or any(name == p or is_like(p, name) for p in patterns)
        (whole if is_whole else low_rank).append(name)
    return Plan(low_rank, whole)


def part_names(name: str) -> tuple[str, str]:
    """The names in a file of the parts A and B of a weight."""
    module = name.removesuffix("weight")
    return f"{PREFIX}{module}lora_A.weight", f"{PREFIX}{module}lora_B.weight"


def whole_name(name: str, low_rank: Sequence[str]) -> str:
    """The name in a file of a tensor that is saved whole: a bias of a module with low-rank parts is its layer's."""
    module, _, last = name.rpartition(".")
    is_trained_bias = last == "bias" and f"{module}.weight" in low_rank
    return f"{PREFIX}{module}.base_layer.bias" if is_trained_bias else f"{PREFIX}{name}"


def pattern(module: str) -> str:
    """A key of `rank_pattern` and `alpha_pattern` for a module alone."""
    return re.escape(module).replace("\\-", "-")


def settings(ranks: Mapping[str, int], whole: Sequence[str]) -> dict[str, Any]:
    """The settings of an extracted adapter, with alpha equal to r, so that its scale is 1. `ranks` are those of the
    low-rank weights by name."""
    modules = {name.removesuffix(".weight"): rank for name, rank in ranks.items()}
    most = max(modules.values(), default=1)
    ranks_of = {pattern(m): r for m, r in modules.items() if r != most}
    biases = [name for name in whole if name.endswith(".bias") and f"{name[:-5]}.weight" in ranks]
    saved = dict.fromkeys(name.rpartition(".")[0] for name in whole if name not in biases)
    return {
        "peft_type": "LORA",
        "task_type": None,
        "base_model_name_or_path": "",
        "r": most,
        "lora_alpha": most,
        "rank_pattern": ranks_of,
        "alpha_pattern": ranks_of,
        "lora_dropout": 0.0,
        "target_modules": list(modules),
        "modules_to_save": list(saved) or None,
        "bias": "lora_only" if biases else "none",
        "fan_in_fan_out": False,
        "use_rslora": False,
        "use_dora": False,
        "inference_mode": True,
    }


def as_json(config: Mapping[str, Any]) -> bytes:
    """The settings as a file has them."""
    return json.dumps(config, indent=2).encode()
