"""PyTorch checkpoints as q values: .pt files, .safetensors files and folders of them, read, edited and written.

The room kshell/checkpoints reads and writes the files; nothing in them is run. Numbers are read when they are used.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, BinaryIO

from kshell.checkpoints.files import pt_writing, safetensors, weights_writing
from kshell.checkpoints.files.weights_writing import META
from kshell.checkpoints.pickles.meanings import Branch, Meanings
from kshell.checkpoints.trees import dcp, dcp_writing
from kshell.checkpoints.trees.leaves import tensors_of
from kshell.checkpoints.trees.opening import opened
from kshell.errors import SAID, CallError, QError
from kshell.kapi.base.args import flag_of, items, long_of, name_of, named_values, names_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import is_array, kname, put, to_tensor
from kshell.kapi.base.handles import ModelHandle, ModuleHandle, OptimizerHandle, handle, module_of
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.paths import path_of
from kshell.kapi.checkpoint import objects  # noqa: F401  # registers the handles of objects
from kshell.kapi.checkpoint.state_dicts import NAMES, from_q
from kshell.kapi.checkpoint.tree_values import to_q_value
from kshell.kapi.checkpoint.trees import graph_of, protocol_of, sources_of, tree_of
from kshell.kapi.module.spec import is_state, state_dict
from kshell.kapi.optim.groups import check_groups, regroup, restored_groups
from kshell.kapi.optim.optimizer import Opt
from kshell.kapi.optim.state import is_opt_state, load_state, restore
from kshell.store import atomic
from kshell.values.base.build import symdict
from kshell.values.base.core import NIL, Dict, Table, Value, seq_items, sym_vec
from kshell.values.base.symbols import Sym
from kshell.values.session.context import running

if TYPE_CHECKING:
    from torch.nn import Module

    from kshell.kapi.train.model import Model
from kshell.kapi.train.places import place_of_state


def write_pt(path: str, tree: object) -> None:
    """Write a tree to a .pt file."""
    atomic.write(path, _filling(path, tree))


def _filling(path: str, tree: object) -> atomic.Fill:
    """What writes a tree to a .pt file."""
    sources = sources_of(tree)
    return _writing(path, graph_of(tree), sources, protocol_of(sources))


def write_graph(path: str, graph: object, sources: list[Meanings], protocol: int) -> None:
    """Write an object to a .pt file; `sources` are the pickles of which it has parts."""
    atomic.write(path, _writing(path, graph, sources, protocol))


def _writing(path: str, graph: object, sources: list[Meanings], protocol: int) -> atomic.Fill:
    def fill(f: BinaryIO) -> None:
        pt_writing.write(f, graph, sources, protocol, _root(path))

    return fill


def _root(path: str) -> str:
    """The folder in a .pt file, as torch.save names it."""
    name = os.path.basename(path)
    return os.path.splitext(name)[0] or "archive"


# ------------------------------------------------------------------ the functions


def read(path: str) -> Value:
    """The q value of a checkpoint: what its pickle holds, or tensors by name."""
    found = opened(path)
    tree, meta = found.value, dict(found.metadata)
    for own in ("format", *safetensors.OWN):
        meta.pop(own, None)
    if meta:
        tree = {**tree, META: meta}
    return to_q_value(tree, found.made, path)


@api(
    "ckpt",
    "ckpt`:file",
    "ckpt(`:file;value)",
    "ckpt(`:folder;value;bytes)",
    held=True,
    since="kshell",
    target="torch.save",
    effect="reads1",
)
def ckpt(x: Value) -> Value:
    """Open a checkpoint of any kind, a file or a folder, or write one: .safetensors if so named, a folder of such
    files, else .pt.

    To write a folder with an index, give the maximum number of bytes per file. Python dictionaries become dictionaries,
    tensors tensor handles, which are read or mapped when they are used; lists of dictionaries and an optimizer's
    parameter groups become tables, its state a keyed table, objects of unknown classes handles. Nothing in a file is
    run. When writing, a module or optimizer stands for its state_dict; what was read and not changed is written as it
    was.

    q)m:module enlist(`linear;2;1)
    q)ckpt(`:docs.pt;`epoch`model!(3;m))
    `:docs.pt
    q)d:ckpt`:docs.pt
    q)key d`model
    `weight`bias
    q)d`epoch
    3
    q)hdel`:docs.pt
    `:docs.pt
    """
    arguments = items(x)
    if not 1 <= len(arguments) <= 3:
        raise QError(f"ckpt: expecting 1-3 args, given {len(arguments)}")
    path = path_of(arguments[0], "ckpt")
    if len(arguments) == 1:
        return read(path)
    tree = tree_of(arguments[1])
    if isinstance(tree, Branch) and (len(arguments) == 3 or path.endswith(".safetensors")):
        tree = tensors_of(tree)  # of a module in a file
    _tell_name(arguments)
    if len(arguments) == 3:
        limit = long_of(arguments[2])
        if limit is None or limit < 1:
            raise CallError("ckpt", "expected the most bytes of a file, a number above zero")
        weights_writing.write_folder(path, tree, limit)
    elif path.endswith(".safetensors"):
        weights_writing.write_file(path, tree)
    else:
        write_pt(path, tree)
    return arguments[0]


@api(
    "ckptdcp",
    "ckptdcp(`:folder;value)",
    held=True,
    since="kshell",
    target="torch.distributed.checkpoint.save",
    effect="changes",
)
def ckptdcp(x: Value) -> Value:
    """Write a dictionary to a folder of torch.distributed.checkpoint, which torch's `load` reads on any number of
    processes, and `ckpt` too. In an optimizer's state parameters have their names, as in torch's `get_state_dict`. What
    has a name with the ending .pt, as Lightning's `meta.pt`, is a file of its own.

    q)m:module enlist(`linear;2;1)
    q)ckptdcp(`:docsdcp;`epoch`model!(3;m))
    `:docsdcp
    q)key ckpt[`:docsdcp]`model
    `weight`bias
    q)system"rm -r docsdcp";
    """
    arguments = items(x)
    if len(arguments) != 2:
        raise QError(f"ckptdcp: expecting a folder and a dictionary, given {len(arguments)} args")
    path = path_of(arguments[0], "ckptdcp")
    tree = tree_of(arguments[1], is_named=True)
    files = _beside(path, tree)
    dcp_writing.write(path, tree, sources_of(tree), files)
    return arguments[0]


def _beside(folder: str, tree: Any) -> list[tuple[str, atomic.Fill]]:
    """The parts of a tree that are files beside those of torch.distributed.checkpoint, and leave the tree for that."""
    if not isinstance(tree, dict):
        return []
    names = [name for name, value in tree.items() if isinstance(value, dict | Branch)]
    names = [name for name in names if dcp.is_beside(name)]
    paths = {name: os.path.join(folder, name) for name in names}
    return [(path, _filling(path, tree.pop(name))) for name, path in paths.items()]


def _tell_name(given: list[Value]) -> None:
    """Note that a symbol is written literally if there is a variable with that name, which may have been meant."""
    x, session = given[1], running()
    if x.__class__ is Sym and x.s and session.names.find(x.s, session.names.current) is not None:
        session.warn(
            f"ckpt: the symbol `{x.s} is written, not the variable {x.s}: "
            f"ckpt(`{name_of(given[0])};{x.s}) writes what the variable holds\n"
        )


@api(
    "putstate",
    "putstate(module;d[;strict])",
    "putstate(module;state[;strict])",
    "putstate(module;module[;strict])",
    "putstate(optimizer;d)",
    "putstate(optimizer;state)",
    "putstate(model;d[;strict])",
    held=True,
    since="kshell",
    target="torch.nn.Module.load_state_dict",
    effect="changes",
)
def putstate(x: Value) -> Value:
    """Load a state_dict into a module or an optimizer, as read by `ckpt`, or a state from `state`, or another module's.

    A module gets the parameters and buffers, an optimizer the groups and state; both remain the same objects. Names,
    sizes and counts are checked before anything changes. A model takes a checkpoint made from a model, or its state:
    `module, `loss and `optimizer, as far as present, each for its part, and `place of a model whose data is a table;
    files of scripts that name the module `model also work.

    With the flag 0b (strict=False in torch), a module takes the matching names and ignores the rest; the result is the
    missing and the unexpected names. Sizes must still match.

    q)m:module enlist(`linear;2;1)
    q)putstate(m;`weight`bias!(tensor enlist 1 2e;tensor enlist 3e))
    q)evaluate(m;enlist 1 1e)
    6

    q)s:state m
    q)parm(m;`bias;0)
    q)putstate(m;s)
    q)tensor parm(m;`bias)
    ,3e

    q)putstate(m;`bias`scale!(tensor enlist 4e;tensor enlist 1e);0b)
    missing   | weight
    unexpected| scale
    """
    arguments = items(x)
    target = handle(arguments[0]) if len(arguments) > 1 else None
    strict = flag_of(arguments[2]) if len(arguments) == 3 else True
    if (
        not isinstance(target, ModuleHandle | OptimizerHandle | ModelHandle)
        or len(arguments) > 3
        or strict is None
    ):
        raise CallError(
            "putstate",
            "expecting a module or an optimizer, a dictionary, and for a module a strict flag",
        )
    if len(arguments) == 3 and isinstance(target, OptimizerHandle):
        raise CallError("putstate", "a strict flag is for modules")
    given = arguments[1]
    if isinstance(target, OptimizerHandle) and is_opt_state(given):
        _put_state_of(target.obj, given)
        return NIL
    if isinstance(target, OptimizerHandle):
        _put_optimizer(target.obj, _dictionary(from_q(given), given))
        return NIL
    parts = _parts_of(given) if isinstance(target, ModelHandle) else None
    if parts is not None:
        return _put_model(target.obj, parts, strict)
    return _put_tensors(module_of(target), given, strict)()


def _dictionary(value: object, x: Value) -> dict[Any, Any]:
    if not isinstance(value, dict):
        raise CallError(
            "putstate",
            expecting="a module or an optimizer, and a dictionary of its state",
            given=kname(x),
        )
    return value


_MODULE = ("module", "model")  # keys for a model's module, and those that many training scripts use


def _parts_of(x: Value) -> dict[str, Value] | None:
    """The module, loss and optimizer in a model's checkpoint or state, by name; None if x is not one."""
    if x.__class__ is not Dict or not names_of(x.k):
        return None
    fields = named_values(x)
    parts = {
        ("module" if name in _MODULE else name): value
        for name, value in fields.items()
        if name in (*_MODULE, "loss", "optimizer", "place")
    }
    states = [value for name, value in parts.items() if name not in ("loss", "place")]
    return (
        parts if any(state.__class__ in (Dict, Table, ModuleHandle) for state in states) else None
    )


def _put_model(m: Model, parts: dict[str, Value], strict: bool) -> Value:
    """Load a checkpoint into the parts of a model. All parts are checked before any changes."""
    place = place_of_state(m, parts["place"], "putstate") if "place" in parts else None
    put = [_put_tensors(m.module, parts["module"], strict)] if "module" in parts else []
    loss = parts.get("loss")
    if loss.__class__ is Dict and len(loss) and not is_state(loss):
        put.append(_put_tensors(m.loss, loss, strict))
    state = parts.get("optimizer")
    if state is not None and is_opt_state(state):
        _put_state_of(m.optimizer, state)
    elif state is not None:
        _put_optimizer(m.optimizer, _dictionary(from_q(state), state))
    results = [job() for job in put]
    if place is not None:
        place()
    return results[0] if results else NIL


def _put_tensors(m: Module, x: Value, strict: bool) -> Callable[[], Value]:
    """Check the tensors in a state_dict, a state or another module, and return a function that copies them into a
    module."""
    of_state = is_state(x) and _parts_of(x) is None
    value = _dictionary(state_dict(x) if of_state else from_q(x), x)
    if x.__class__ is Dict and not of_state:  # arrays of any type count as tensors here
        value |= {
            name: to_tensor(item)
            for name, item in zip(value, seq_items(x.v), strict=True)
            if is_array(item)
        }
    present = m.state_dict(keep_vars=True)
    value = {
        name: torch.as_tensor(value) if isinstance(value, bool | int | float) else value
        for name, value in value.items()
    }
    missing, more = _fits(present, value, strict)

    def apply() -> Value:
        for name, tensor in present.items():
            if name in value:
                put(tensor, value[name])
        return (
            NIL if strict else symdict(["missing", "unexpected"], [sym_vec(missing), sym_vec(more)])
        )

    return apply


def _groups_by_name(o: Opt, groups: list[Any]) -> list[list[Any]]:
    """The parameters of each group in a state_dict, by name if it has names, else in the order of the groups."""
    if any(not isinstance(group, dict) for group in groups):
        raise CallError("putstate", "expecting state and param_groups")
    names = [group.pop(NAMES, None) for group in groups]
    if all(
        isinstance(group_names, list) and len(group_names) == len(group.get("params", ()))
        for group_names, group in zip(names, groups, strict=True)
    ):
        by_name = restored_groups(o, names)
        if by_name is not None:
            check_groups(o, by_name)
            return by_name
    if [len(group.get("params", ())) for group in groups] != [
        len(group["params"]) for group in o.groups
    ]:
        raise CallError("putstate", "the parameter groups have other sizes")
    return [list(group["params"]) for group in o.groups]


def _put_state_of(o: Opt, state: Dict) -> None:
    """Load an optimizer's earlier state into it."""
    if o.container is None or o.own:
        raise CallError(
            "putstate", "expecting an optimizer of the parameters of one module", given=SAID
        )
    container = ModuleHandle(o.container)
    try:
        restored = restore(state, container)
    finally:
        container.free()
    if restored.entry is not o.entry:
        raise QError(
            f"putstate: expecting a state of {o.entry.name}, given one of {restored.entry.name}"
        )
    if {*map(id, restored.parameters())} != {*map(id, o.parameters())}:
        raise CallError("putstate", "the groups of the state have other parameters")
    regroup(o, [list(group["params"]) for group in restored.groups])
    load_state(o, restored.torch.state_dict())


# q's names for the Python types that q values become
_KINDS: dict[type, str] = {
    str: "a symbol or string",
    bool: "a boolean",
    int: "an integer",
    float: "a float",
}


def _fits(own: dict[str, Any], given: dict[str, Any], strict: bool) -> tuple[list[str], list[str]]:
    """The missing and unexpected names, which are errors if `strict`; sizes must match."""
    missing = [name for name in own if name not in given]
    unexpected = [name for name in given if name not in own]
    if strict and (missing or unexpected):
        parent = next(
            (name for name, v in given.items() if isinstance(v, dict) and set(v) >= set(own)), None
        )
        if parent is not None:
            raise QError(f"putstate: no {missing[0]} given, it is in `{parent} of the dictionary")
        raise CallError(
            "putstate", f"no {missing[0]} given" if missing else f"unable to find {unexpected[0]}"
        )
    for name, tensor in own.items():
        if name in given and (
            not isinstance(given[name], torch.Tensor) or given[name].shape != tensor.shape
        ):
            if not isinstance(given[name], torch.Tensor):
                raise QError(
                    f"putstate: expecting a tensor of size {list(tensor.shape)} for {name}, given "
                    + (
                        "null, which is what a dictionary returns for a missing key"
                        if given[name] is None
                        else _KINDS.get(type(given[name]), f"a {type(given[name]).__name__}")
                    )
                )
            raise QError(
                f"putstate: size mismatch, {name} is {list(tensor.shape)}, given {list(given[name].shape)}"
            )
    return missing, unexpected


def _numbered(value: dict[str, Any]) -> dict[str, Any]:
    """A state whose parameters are named, as torch.distributed.checkpoint's are, with numbers, and the names beside
    them; any other as it is."""
    groups = value["param_groups"]
    if not all(isinstance(group, dict) for group in groups):
        return value
    names = [name for group in groups for name in group.get("params", ())]
    if not names or not all(name.__class__ is str for name in names):
        return value
    places = {name: i for i, name in enumerate(names)}
    unknown = next((name for name in value["state"] if name not in places), None)
    if unknown is not None:
        raise QError(f"putstate: {unknown} has a state, but is in no group")
    numbered = [
        {
            **group,
            "params": [places[name] for name in group["params"]],
            NAMES: list(group["params"]),
        }
        for group in groups
    ]
    state = {places[name]: buffers for name, buffers in value["state"].items()}
    return {**value, "state": state, "param_groups": numbered}


def _put_optimizer(o: Opt, value: dict[str, Any]) -> None:
    groups = value.get("param_groups")
    if not isinstance(groups, list) or not isinstance(value.get("state"), dict):
        raise CallError("putstate", "expecting state and param_groups")
    value = _numbered(value)
    groups = value["param_groups"]
    params = _groups_by_name(o, groups)
    places = dict(
        zip(
            [index for group in groups for index in group["params"]],
            [param for members in params for param in members],
            strict=True,
        )
    )
    for index, state in value["state"].items():
        for key, buffer in state.items():
            param = places.get(index)
            if param is None or (
                isinstance(buffer, torch.Tensor)
                and buffer.dim()
                and buffer.numel() not in (1, param.numel())
                and key.startswith(("exp_", "max_exp", "momentum", "square", "sum"))
            ):
                raise QError(f"putstate: {key} of parameter {index} has a wrong size")
    regroup(o, params)
    backup = copy.deepcopy(o.torch.state_dict()) if o.abilities.keeps_extra else None
    try:
        load_state(o, copy.deepcopy(value))  # steps write to the state, so it must not be shared
    except BaseException:
        if backup is not None:  # the extra state is checked after the parameters' state was set
            o.torch.load_state_dict(backup)
        raise
