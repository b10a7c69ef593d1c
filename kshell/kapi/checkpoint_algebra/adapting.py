"""Merging low-rank adapters into checkpoints and extracting them."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

from kshell.checkpoints.files import weights_writing
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import long_of, named_values
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dtype_name, kname
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.paths import is_path, path_of
from kshell.kapi.checkpoint.state_dicts import from_q
from kshell.kapi.checkpoint.stored_tensors import Living
from kshell.kapi.checkpoint.tree_values import to_q_value
from kshell.kapi.checkpoint_algebra import adapters, lora
from kshell.kapi.checkpoint_algebra.adapters import Adapter
from kshell.kapi.checkpoint_algebra.choosing import patterns_of
from kshell.kapi.checkpoint_algebra.combining import factors
from kshell.kapi.checkpoint_algebra.merging import wide
from kshell.kapi.checkpoint_algebra.options import BYTES, TO, options_of
from kshell.kapi.checkpoint_algebra.problems import first_few
from kshell.kapi.checkpoint_algebra.results import Made, Result, deliver, passed
from kshell.kapi.checkpoint_algebra.sources import Source, arguments, is_source, source_of
from kshell.registry import Option
from kshell.store import atomic
from kshell.values.base.build import symdict
from kshell.values.base.core import Dict, List, Table, Value, Vec, seq_items
from kshell.values.session.interrupts import PENDING, give_up
from kshell.values.session.restrict import refuse


def _adapter(call: str, x: Value, config: Value | None) -> Adapter:
    """The adapter of a q value: a folder, a dictionary `config`tensors, or tensors beside the settings."""
    if config is None and x.__class__ is Dict:
        fields = named_values(x)
        if set(fields) == {"config", "tensors"}:
            config, x = fields["config"], fields["tensors"]
    if config is not None:
        plain = from_q(config)
        if not isinstance(plain, dict):
            raise CallError(call, at="config", expected="a dictionary", given=kname(config))
        # of a null in JSON, `.j.k` makes a null number
        nulls = [key for key, v in plain.items() if isinstance(v, float) and v != v]
        settings = {**plain, **dict.fromkeys(nulls)}
        return adapters.adapter_of(source_of(x, call), settings)
    if is_path(x):
        path = path_of(x, call)
        if os.path.isdir(path):
            return adapters.folder_adapter(path)
    hint = "give adapter_config.json as a dictionary: (`config;.j.k raze read0 file)"
    raise CallError(
        call,
        "the settings of the adapter are not there",
        given=SAID if is_path(x) else UNSAID,
        expected=UNSAID,
        hint=hint,
    )


class _Step:
    """What one adapter does to one weight or bias of the model."""

    def __init__(self, adapter: Adapter, module: str, scale: float) -> None:
        self.adapter, self.scale = adapter, scale
        self.parts = adapter.modules[module]
        rank = adapter.source.shape(self.parts.a)[0]
        self.factor = lora.scale_of(adapter.config, module, rank) * scale

    def check(self, base: Source, name: str) -> None:
        """ValueError if a weight cannot be merged with the adapter's parts, by their types and sizes."""
        if not base.dtype(name).is_floating_point:
            raise ValueError(f"a weight of type {dtype_name(base.dtype(name))} cannot be merged")
        sizes = [self.adapter.source.shape(part) for part in (self.parts.a, self.parts.b)]
        self.kind(*(torch.empty(size, device="meta") for size in (base.shape(name), *sizes)))

    def kind(self, weight: Any, a: Any, b: Any) -> str:
        is_turned = bool(self.adapter.config.get("fan_in_fan_out"))
        return lora.kind_of(weight, a, b, self.parts.is_embedding, is_turned)

    def part(self, name: str, like: Any) -> Any:
        return self.adapter.source.tensor(name).to(like.device)

    def merged(self, weight: Any, base: Any) -> Any:
        a, b = self.part(self.parts.a, weight), self.part(self.parts.b, weight)
        kind = self.kind(weight, a, b)
        magnitude = self.part(self.parts.magnitude, weight) if self.parts.magnitude else None
        return lora.merged(weight, lora.delta(a, b, self.factor, kind), kind, magnitude, base)

    def merged_bias(self, bias: Any, base: Any) -> Any:
        return lora.merged_bias(bias, self.part(self.parts.bias, bias), self.factor)


class _Replaced:
    """A tensor of an adapter in place of the model's, of the same size; ValueError for another."""

    def __init__(self, source: Source, name: str, size: tuple[int, ...]) -> None:
        self.source, self.name = source, name
        if source.shape(name) != size:
            raise ValueError(f"size mismatch, {list(size)}, given {list(source.shape(name))}")

    def __call__(self, tensor: Any, base: Any) -> Any:
        return self.source.tensor(self.name).to(tensor.device, tensor.dtype)


def _merged(base: Source, name: str, steps: Sequence[Any]) -> Any:
    """A tensor of the base after all steps of the adapters."""
    tensor = start = base.tensor(name)
    for step in steps:
        tensor = step(tensor, start)
        start = tensor if isinstance(step, _Replaced) else start
    return tensor


def _steps(call: str, adapter: Adapter, scale: float, base: Source) -> dict[str, list[Any]]:
    """What an adapter does to the tensors of a model, by name: replacing before adding."""
    weights, biases, whole = adapters.targets(adapter, base.names())
    steps: dict[str, list[Any]] = {}
    problem = ""
    try:
        for name, own in whole.items():
            steps.setdefault(name, []).append(_Replaced(adapter.source, own, base.shape(name)))
        for name, module in weights.items():
            step = _Step(adapter, module, scale)
            step.check(base, name)
            steps.setdefault(name, []).append(step.merged)
        for name, module in biases.items():
            steps.setdefault(name, []).append(_Step(adapter, module, scale).merged_bias)
        return steps
    except ValueError as error:
        problem = str(error)
    raise QError(f"{call}: {name}: {problem}")


@api(
    "ckptmerge",
    "ckptmerge(base;adapter)",
    "ckptmerge(base;adapters;scale;config;to;bytes)",
    held=True,
    since="kshell",
    effect="own",
    options=(
        Option("scale", "doubles", None, doc="a factor for each adapter, 1 if not given"),
        Option("config", "any", None, doc="the adapter's settings, if it is a dictionary or file"),
        TO,
        BYTES,
    ),
)
def ckptmerge(x: Value) -> Value:
    """Merge LoRA adapters of PEFT into the weights of a checkpoint: W+scale*s*B mmu A.

    The factor s is lora_alpha%r of the settings, or lora_alpha%sqrt r with use_rslora; rank_pattern and alpha_pattern
    are followed. Hu et al. 2021 (arXiv 2106.09685), Kalajdzievski 2023 (arXiv 2312.03732). With use_dora each output's
    weights V=W+D become (m%norm V)*V with m the magnitude, Liu et al. 2024 (arXiv 2402.09353). Layers may be linear,
    transposed, embeddings and convolutions; biases are added, modules_to_save and trained biases replaced. In float32
    the bits are those of PEFT's merge_and_unload.

    An adapter is a folder with adapter_config.json and its weights, a dictionary `config`tensors as of `ckptlora`, or
    a file or dictionary of tensors with the settings as `config`. Several adapters, in a list, are merged one after the
    other. Other kinds of adapters are an error. The result is a dictionary, or goes to a file, folder or module as in
    `ckptavg`, one tensor at a time.

    q)base:`lin.weight`lin.bias!(tensor(1 0e;0 1e);tensor 0 0e)
    q)n:`$"base_model.model.lin.lora_",/:("A.weight";"B.weight")
    q)a:n!(tensor enlist 1 2e;tensor(1#1e;1#-1e))
    q)tensor ckptmerge[(base;a;(`config;`r`lora_alpha!1 2))]`lin.weight
    3  4
    -2 -3
    """
    call = "ckptmerge"
    given = arguments(x)
    if len(given) < 2:
        raise CallError(call, expecting="a checkpoint and an adapter", given=kname(x))
    options = options_of(call, given[2:], 2)
    base = source_of(given[0], call)
    items = [given[1]] if is_source(given[1]) else _items(call, given[1])
    found = [_adapter(call, item, options["config"]) for item in items]
    scales = factors(call, options["scale"], len(found), "scale")
    names = base.names()
    # by memory: what is done to one of tied weights is done to all
    work: dict[Hashable, list[Any]] = {}
    for adapter, factor in zip(found, scales, strict=True):
        for name, steps in _steps(call, adapter, factor, base).items():
            work.setdefault(base.memory(name), []).extend(steps)
    made = {}
    for name in names:
        made[name] = passed(base, name)
        if steps := work.get(base.memory(name), []):
            make = partial(_merged, base, name, steps)
            made[name] = Made(
                base.dtype(name), base.shape(name), make, ("merged", base.memory(name))
            )
    return deliver(call, Result(base.tree(), made), options)


def _items(call: str, x: Value) -> list[Value]:
    if not isinstance(x, List | Table | Vec) or not len(x):
        raise CallError(call, expected="an adapter or a list of them", given=kname(x))
    return seq_items(x)


# ------------------------------------------------------------------ extraction

_WHOLE_NAMES = ("*embed*", "*wte.*", "*wpe.*", "*lm_head*")


def _same(a: Any, b: Any) -> bool:
    return a.dtype == b.dtype and bool(torch.equal(a, b.to(a.device)))


@api(
    "ckptlora",
    "ckptlora(tuned;base;rank)",
    "ckptlora(tuned;base;rank;epsilon;whole;to)",
    held=True,
    since="kshell",
    effect="own",
    options=(
        Option("epsilon", "double", 0.0, doc="singular values up to it are left out", low=0),
        Option("whole", "any", None, doc="patterns of like for weights to be saved whole"),
        TO,
    ),
)
def ckptlora(x: Value) -> Value:
    """Extract a LoRA adapter, in PEFT's format, from a tuned checkpoint and its base.

    For each weight, the difference D=tuned-base is decomposed in float32 into singular values and vectors, U S V, of
    which the largest `rank` above epsilon are kept: B is U*sqrt S, A is sqrt[S]*V, and lora_alpha is r. So B mmu A is
    the matrix of that rank nearest to D, and the norm of the error is the square root of the sum of the squares of the
    other singular values (Eckart and Young 1936). A null rank keeps all above epsilon. Weights that do not differ are
    left out. Tensors of one dimension, and weights whose names are like one of `whole` (embeddings and output heads if
    not given), are saved as they are in the tuned model, as modules_to_save.

    The result is a dictionary, `config`tensors, which `ckptmerge` takes. If `to` names a folder,
    adapter_config.json and adapter_model.safetensors are written to it.

    q)base:(enlist`lin.weight)!enlist tensor(1 0e;0 1e)
    q)tuned:(enlist`lin.weight)!enlist tensor(3 4e;-2 -3e)
    q)a:ckptlora(tuned;base;1)
    q)a[`config]`r`target_modules
    1
    ,`lin
    q)1e-5>max max abs(tensor tuned`lin.weight)-tensor ckptmerge[(base;a)]`lin.weight
    1b
    """
    call = "ckptlora"
    given = arguments(x)
    if len(given) < 3:
        raise CallError(call, expecting="a tuned checkpoint, its base and a rank", given=kname(x))
    rank = _rank(call, given[2])
    options = options_of(call, given[3:], 3)
    whole = options["whole"]
    patterns = list(_WHOLE_NAMES) if whole is None else patterns_of(call, whole, "whole")
    tuned, base = (source_of(item, call) for item in given[:2])
    single = [name for name in tuned.names() if name not in set(base.names())]
    if single:
        raise CallError(call, f"the base has no {first_few(single)}")
    tensors, config = _extracted(call, tuned, base, rank, options["epsilon"], patterns)
    if options["to"] is None:
        return symdict(["config", "tensors"], [to_q_value(config), to_q_value(tensors)])
    return write_adapter(call, options["to"], tensors, config)


def _rank(call: str, x: Value) -> int | None:
    """The rank; None for a null, which is all."""
    number = long_of(x)
    if number is None or (number < 1 and number != -(1 << 63)):
        raise CallError(call, at="rank", expected="a rank of at least 1", given=kname(x))
    return None if number < 0 else number


def _extracted(
    call: str,
    tuned: Source,
    base: Source,
    rank: int | None,
    epsilon: float,
    patterns: Sequence[str],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tensors of an adapter, and its settings."""
    for name in tuned.names():
        if tuned.shape(name) != base.shape(name):
            sizes = f"{list(base.shape(name))}, given {list(tuned.shape(name))}"
            raise QError(f"{call}: size mismatch, {name} is {sizes}")
    changed = [n for n in tuned.names() if not _same(tuned.tensor(n), base.tensor(n))]
    plan = adapters.plan(tuned, changed, patterns)
    tensors: dict[str, Any] = {}
    ranks = {}
    for name in plan.low_rank:
        if PENDING:
            give_up()
        new = tuned.tensor(name)
        old = base.tensor(name).to(new.device)
        kind = wide(new.dtype)
        a, b, _ = lora.extracted(new.to(kind) - old.to(kind), rank, epsilon)
        ranks[name] = len(a)
        for key, part in zip(adapters.part_names(name), (a, b), strict=True):
            tensors[key] = part.to(new.dtype).contiguous()
    for name in plan.whole:
        tensors[adapters.whole_name(name, plan.low_rank)] = tuned.tensor(name).clone()
    return tensors, adapters.settings(ranks, plan.whole)


def write_adapter(call: str, to: Value, tensors: dict[str, Any], config: dict[str, Any]) -> Value:
    """Write an adapter to a folder."""
    refuse(call)
    if not is_path(to):
        raise CallError(call, at="to", expected="a folder", given=kname(to))
    path = path_of(to, call)
    if os.path.exists(path) and not os.path.isdir(path):
        raise CallError(call, f"{path} is there already, and not a folder", at="to")
    living = Living()
    coming = {name: living.of(tensor) for name, tensor in tensors.items()}
    weights = weights_writing.File(*weights_writing.named_tensors(coming))
    atomic.write_all(
        [
            (os.path.join(path, adapters.FILES[0]), weights.fill),
            (os.path.join(path, adapters.CONFIG), atomic.filling([adapters.as_json(config)])),
        ]
    )
    return to
