"""Low-rank adapters of the layers of a module: put around them, read as PEFT's files have them, merged or taken off."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import flag_of, items
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.parameter_marks import FROZEN
from kshell.kapi.checkpoint.tree_values import to_q_value
from kshell.kapi.checkpoint_algebra import adapters, lora
from kshell.kapi.checkpoint_algebra.adapting import write_adapter
from kshell.kapi.checkpoint_algebra.choosing import matching, nothing_like, patterns_of
from kshell.kapi.checkpoint_algebra.options import options_of
from kshell.kapi.module.api import module_behind
from kshell.kapi.optim.replace_child import put_child
from kshell.nn import blocks
from kshell.registry import Option
from kshell.values.base.build import longs, symdict
from kshell.values.base.core import Table, Value, Vec, sym_vec

if TYPE_CHECKING:
    from torch.nn import Module


def _adapters(m: Module) -> dict[str, Any]:
    """The adapters in a module, by name."""
    found = blocks.adapters.Lora
    return {name: part for name, part in m.named_modules() if isinstance(part, found)}


def _layers(m: Module) -> dict[str, Any]:
    """The linear layers that may have an adapter, by name: those that are a part of one have one."""
    inside = tuple(f"{name}." if name else "" for name in _adapters(m))
    return {
        name: part
        for name, part in m.named_modules()
        if name and blocks.adapters.layer_of(part) and not (inside and name.startswith(inside))
    }


def _chosen(call: str, layers: dict[str, Any], patterns: Sequence[str]) -> list[str]:
    """The names of layers that are like one of the patterns, or end in one after a dot."""
    ends = {name: [p for p in patterns if name.endswith(f".{p}")] for name in layers}
    found = {name: matching(patterns, name) + ends[name] for name in layers}
    for pattern in patterns:
        if not any(pattern in used for used in found.values()):
            raise nothing_like(call, pattern, "no linear layer without an adapter has")
    return [name for name in layers if found[name]]


@api(
    "adapt",
    "adapt(m;patterns)",
    "adapt(m;patterns;rank;alpha;dropout;rooted;dora;seed)",
    since="kshell",
    effect="changes",
    options=(
        Option("rank", "long", 8, doc="rows of A and columns of B", low=1),
        Option("alpha", "double", 16.0, doc="the product is multiplied by alpha over the rank"),
        Option("dropout", "double", 0.0, doc="of the input of A", low=0, high=1),
        Option("rooted", "boolean", False, doc="divide alpha by the root of the rank"),
        Option("dora", "boolean", False, doc="learn the size of each output too"),
        Option("seed", "long", None, doc="seed of A; without it, torch's own generator"),
    ),
)
def adapt(x: Value) -> Value:
    """Put low-rank adapters around all linear layers of a module whose names match a pattern, and freeze all else.

    A pattern is one of `like`, or the end of a name after a dot, as PEFT's target_modules; several are a list. A layer
    W becomes W+alpha%rank*B mmu A, with B zero and A drawn as a linear layer's weight, so that the module gives at
    first what it gave; Hu et al. 2021 (arXiv 2106.09685). With dora it is the type `dora, else `lora. The layers are
    those of the types `linear and `lineart, torch's Linear and the Conv1D of transformers, in a module of any class.
    Optimizers of the module get the new parameters. The result is a table of the adapters that were made.

    `adapter` gives them in PEFT's format, `unadapt` merges them into the weights.

    q)m:module seq(`sequential;(`linear;`one;3;4);`relu;(`linear;`two;4;2))
    q)adapt(m;"*";`rank`alpha!(2;4))
    name type layer  in out r elements
    ----------------------------------
    one  lora linear 3  4   2 14
    two  lora linear 4  2   2 12
    q)exec name from parmtable m where gradflag
    `one.lora_A.weight`one.lora_B.weight`two.lora_A.weight`two.lora_B.weight
    """
    call = "adapt"
    args = items(x)
    if len(args) < 2:
        raise CallError(call, expecting="a module, patterns of names and options", given=kname(x))
    m = module_behind(args[0], call)
    options = options_of(call, args[2:], 2)
    layers = _layers(m)
    names = _chosen(call, layers, patterns_of(call, args[1], "patterns"))
    kept = {id(p) for part in _adapters(m).values() for p in _small(part)}
    trained = [p for p in m.parameters() if p.requires_grad and id(p) not in kept]
    seed = options.pop("seed")
    with nullcontext() if seed is None else torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(seed)
        made = {name: blocks.adapters.around(layers[name], **options) for name in names}
    for p in trained:
        p.requires_grad_(False)
        setattr(p, FROZEN, True)
    for name, part in made.items():
        put_child(m, name, part.train(layers[name].training))
    return _table(made)


def _small(part: Any) -> Iterator[Any]:
    """The parameters of an adapter itself."""
    for name, p in part.named_parameters():
        if not name.startswith("base_layer."):
            yield p


def _table(made: dict[str, Any]) -> Table:
    parts = list(made.values())
    kinds = ["dora" if isinstance(p, blocks.adapters.Dora) else "lora" for p in parts]
    columns: dict[str, Vec] = {
        "name": sym_vec(list(made)),
        "type": sym_vec(kinds),
        "layer": sym_vec([p.layer for p in parts]),
        "in": longs([p.in_features for p in parts]),
        "out": longs([p.out_features for p in parts]),
        "r": longs([p.rank for p in parts]),
        "elements": longs([sum(t.numel() for t in _small(p)) for p in parts]),
    }
    return Table(list(columns), list(columns.values()))


# ------------------------------------------------------------------ as PEFT has them


@api(
    "adapter",
    "adapter m",
    "adapter(m;`:folder)",
    held=True,
    since="kshell",
    effect="own",
)
def adapter(x: Value) -> Value:
    """The low-rank adapters in a module in PEFT's format: a dictionary, `config`tensors, which `ckptmerge` takes, or a
    folder with adapter_config.json and adapter_model.safetensors.

    Other parameters with gradients, such as those that `unfreeze` gave, are saved as modules_to_save or trained biases.

    q)m:module seq(`sequential;(`linear;`one;3;4);`relu;(`linear;`two;4;2))
    q)adapt(m;"two";2);
    q)a:adapter m
    q)key a`tensors
    `base_model.model.two.lora_A.weight`base_model.model.two.lora_B.weight
    q)a[`config]`r`lora_alpha`target_modules
    2
    16
    ,`two
    """
    call = "adapter"
    args = items(x)
    if not 1 <= len(args) <= 2:
        raise CallError(call, expecting="a module, and optionally a folder", given=kname(x))
    m = module_behind(args[0], call)
    found = _there(call, m)
    tensors = {}
    for name, part in found.items():
        for own, p in part.named_parameters():
            if not own.startswith("base_layer."):
                tensors[f"{adapters.PREFIX}{name}.{own}"] = p.detach().clone().contiguous()
    whole = _whole(m, found)
    low_rank = [f"{name}.weight" for name in found]
    for name, p in whole.items():
        tensors[adapters.whole_name(name, low_rank)] = p.detach().clone().contiguous()
    config = _config(call, found, list(whole))
    if len(args) == 2:
        return write_adapter(call, args[1], tensors, config)
    return symdict(["config", "tensors"], [to_q_value(config), to_q_value(tensors)])


def _there(call: str, m: Module) -> dict[str, Any]:
    """The adapters in a module, of which there is one at least."""
    found = _adapters(m)
    if not found:
        raise CallError(
            call,
            "the module has no low-rank adapters: adapt(m;patterns) makes them",
            says=("module",),
        )
    if "" in found:
        raise CallError(
            call, "the module is an adapter itself, and not around one", says=("module",)
        )
    return found


def _whole(m: Module, found: dict[str, Any]) -> dict[str, Any]:
    """The trained parameters outside of adapters, by the names that they have without these."""
    kept = {id(p) for part in found.values() for p in _small(part)}
    return {
        name.replace(".base_layer.", "."): p
        for name, p in m.named_parameters()
        if p.requires_grad and id(p) not in kept
    }


def _config(call: str, found: dict[str, Any], whole: Sequence[str]) -> dict[str, Any]:
    """The settings of adapters as PEFT has them."""
    parts = list(found.values())
    first = parts[0]
    for what, of in (
        ("dora", lambda p: isinstance(p, blocks.adapters.Dora)),
        ("rooted", lambda p: p.rooted),
        ("dropout", lambda p: p.p),
    ):
        if any(of(p) != of(first) for p in parts):
            raise QError(f"{call}: the adapters differ in {what}, which a file has once for all")
    turned = [p.is_turned for p in parts]
    square = [p for p in parts if p.in_features == p.out_features and not p.is_turned]
    if any(turned) and square:
        raise QError(
            f"{call}: some layers are lineart, some linear and square, which a file cannot tell apart"
        )
    config = adapters.settings({f"{name}.weight": p.rank for name, p in found.items()}, whole)
    most = max(parts, key=lambda p: p.rank).alpha
    names = {name: p.alpha for name, p in found.items() if p.alpha != most}
    return config | {
        "lora_alpha": int(most) if most == int(most) else most,
        "alpha_pattern": {adapters.pattern(name): alpha for name, alpha in names.items()},
        "lora_dropout": first.p,
        "fan_in_fan_out": any(turned),
        "use_rslora": first.rooted,
        "use_dora": isinstance(first, blocks.adapters.Dora),
    }


# ------------------------------------------------------------------ off again


@api("unadapt", "unadapt m", "unadapt(m;merge)", since="kshell", effect="changes")
def unadapt(x: Value) -> Value:
    """Take the low-rank adapters of a module off: each is merged into the weight of its layer, or dropped if `merge` is
    0b. The layer is in its place again, and what `adapt` froze has gradients again. Returns the names.

    The merged weights are those of `ckptmerge`. A weight that is also another layer's becomes one of its own.

    q)m:module seq(`sequential;(`linear;`one;3;4);`relu;(`linear;`two;4;2))
    q)a:evaluate(m;1 3#1e)
    q)adapt(m;"*");
    q)parm(m;`two.lora_B.weight;2 8#.1e)
    q)b:evaluate(m;1 3#1e)
    q)unadapt m
    `one`two
    q)1e-5>max max abs b-evaluate(m;1 3#1e)
    1b
    q)names m
    `one`1`two
    """
    call = "unadapt"
    args = items(x)
    merge = True if len(args) < 2 else flag_of(args[1])
    if not 1 <= len(args) <= 2 or merge is None:
        raise CallError(call, expecting="a module, and optionally a boolean", given=kname(x))
    m = module_behind(args[0], call)
    found = _there(call, m)
    for name, part in found.items():
        base = part.base_layer.train(part.training)
        if merge:
            _merge(m, part, base)
        put_child(m, name, base)
    for p in m.parameters():
        if p.__dict__.pop(FROZEN, False):
            p.requires_grad_(True)
    return sym_vec(list(found))


def _merge(m: Module, part: Any, base: Any) -> None:
    """Add the product of an adapter to the weight of its layer."""
    kind = lora.TRANSPOSED if part.is_turned else lora.LINEAR
    change = lora.delta(part.lora_A.weight, part.lora_B.weight, part.strength, kind)
    magnitude = getattr(part, "lora_magnitude_vector", None)
    weight = lora.merged(base.weight, change, kind, magnitude)
    owners = {id(q) for q in m.modules() for p in q._parameters.values() if p is base.weight}
    if len(owners) > 1:
        frozen = getattr(base.weight, FROZEN, False)
        base.weight = torch.nn.Parameter(weight, requires_grad=False)
        setattr(base.weight, FROZEN, frozen)
        return
    with torch.no_grad():
        base.weight.copy_(weight)
