"""Parts of modules: names, child modules, parameters and buffers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import items, name_of, number_word, unknown
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import as_tensor, kname, put, to_tensor
from kshell.kapi.base.handles import (
    DictHandle,
    LossHandle,
    ModelHandle,
    ModuleHandle,
    TensorHandle,
    ask,
    behaviour,
    handle,
    module_handle,
    module_of,
    tensor_handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.live_optimizers import live_optimizers
from kshell.kapi.module.api import device_of_module, module_behind
from kshell.kapi.module.describe import type_name
from kshell.values.base.build import collapse, symdict
from kshell.values.base.core import NIL, Dict, List, Special, Value, sym_vec
from kshell.values.base.symbols import Sym, sym

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module, Parameter

_WORDS = {"child": "child", "parm": "parameter", "buffer": "buffer"}  # classes for results


class Parameters(dict[str, Any]):
    """The parameters of a module by name."""

    objtype = "parameter"


class Buffers(dict[str, Any]):
    """The buffers of a module by name."""

    objtype = "buffer"


def child_of(m: Module, x: Sym | int | Special, call: str) -> Any:
    """A submodule by dotted name, or by index among all submodules, depth first."""
    if isinstance(x, Sym):
        child = _inside(m, x.s)
        if child is None:
            raise unknown(
                "no child module named `", x.s, (name for name, _ in m.named_modules()), call=call
            )
        return child
    index = x.v if isinstance(x, Special) else x
    every = list(m.modules())[1:]
    if not 0 <= index < len(every):
        raise CallError(
            call,
            f"invalid index[{number_word(index)}] for {len(every)} child module{'s' * (len(every) != 1)}",
            given=SAID,
            expected=UNSAID,
        )
    return every[index]


def _inside(m: Module, path: str) -> Any:
    """The submodule with a dotted name; for an empty name the module itself; None if there is none."""
    submodule: Module | None = m
    for key in path.split(".") if path else ():
        if submodule is None:
            break
        submodule = submodule._modules.get(key)
    return submodule


@behaviour("do_reached", ModuleHandle, ModelHandle)
def _reached(h: ModuleHandle | ModelHandle, name: str) -> str:
    module, letter = module_of(h), "k" if isinstance(h, ModelHandle) else "m"
    for call, members in (
        ("child", module._modules),
        ("parm", module._parameters),
        ("buffer", module._buffers),
    ):
        if name in members:
            return f"{call}({letter};`{name}) is its {_WORDS[call]} of this name"
    return "training(m;1b) sets the mode" if name == "train" else ""


def _module_and_child(x: Value, call: str) -> Any:
    """The module for `m` or `(m;child)`."""
    args = items(x)
    if len(args) != 1 and len(args) != 2:
        raise QError(
            f"{call}: expecting up to two args, (object; index/name), given {len(args)} args"
        )
    module = module_behind(args[0], call)
    if len(args) == 1:
        return module
    child = args[1]
    if child.__class__ is int or child.__class__ is Special or child.__class__ is Sym:
        return child_of(module, child, call)
    raise CallError(call, expecting="integer or symbol for 2nd arg", given=kname(child))


def _names_of(x: Value, call: str, find: Callable[[Any], Any]) -> Value:
    if x.__class__ is DictHandle:
        return sym_vec(x.get())
    return sym_vec([name for name, _ in find(_module_and_child(x, call)) if name])


@api("names", "names m", "names(m;name)", "names(m;index)", "names dict", effect="none")
def names(x: Value) -> Value:
    """The names of all modules inside a module or one of its children; the keys of a tensor dictionary.

    q)names module seq(`sequential;(`linear;`fc;2;1);`relu)
    `fc`1
    """
    return _names_of(x, "names", lambda m: m.named_modules())


@api("childnames", "childnames m", "childnames(m;name)", "childnames(m;index)", effect="none")
def childnames(x: Value) -> Value:
    """The names of the immediate children of a module or one of its children.

    q)childnames module seq(`sequential;(`linear;`fc;2;1);`relu)
    `fc`1
    """
    return _names_of(x, "children", lambda m: m.named_children())


@api("parmnames", "parmnames m", "parmnames(m;name)", "parmnames(m;index)", effect="none")
def parmnames(x: Value) -> Value:
    """The parameter names of a module or one of its children.

    q)parmnames module enlist(`linear;2;1)
    `weight`bias
    """
    return _names_of(x, "parmnames", lambda m: m.named_parameters())


@api("buffernames", "buffernames m", "buffernames(m;name)", "buffernames(m;index)", effect="none")
def buffernames(x: Value) -> Value:
    """The buffer names of a module or one of its children.

    q)buffernames module enlist(`batchnorm2d;8)
    `running_mean`running_var`num_batches_tracked
    """
    return _names_of(x, "buffernames", lambda m: m.named_buffers())


def _handles(found: Any) -> Value:
    named = dict(found)
    return Dict(
        sym_vec(named), collapse([module_handle(submodule) for submodule in named.values()])
    )


@api(
    "modules",
    "modules m",
    "modules(m;name)",
    "modules(m;index)",
    target="torch.nn.Module.named_modules",
    effect="none",
)
def modules(x: Value) -> Value:
    """All modules inside a module or one of its children, as a dictionary by dotted name.

    q)objtype each modules module seq(`sequential;(`linear;`fc;2;1);`relu)
    fc| linear
    1 | relu
    """
    return _handles(
        (name, submodule)
        for name, submodule in _module_and_child(x, "modules").named_modules()
        if name
    )


@api(
    "children",
    "children m",
    "children(m;name)",
    "children(m;index)",
    target="torch.nn.Module.named_children",
    effect="none",
)
def children(x: Value) -> Value:
    """The immediate children of a module or one of its children, as a dictionary.

    q)objtype each children module seq(`sequential;(`linear;`fc;2;1);`relu)
    fc| linear
    1 | relu
    """
    return _handles(_module_and_child(x, "children").named_children())


@api(
    "parms",
    "parms m",
    "parms(m;name)",
    "parms(m;index)",
    target="torch.nn.Module.named_parameters",
    effect="none",
)
def parms(x: Value) -> Value:
    """The parameters of a module or one of its children, as a dictionary of the module's own tensors.

    q)size parms module enlist(`linear;2;1)
    weight| 1 2
    bias  | ,1
    """
    return DictHandle(Parameters(_module_and_child(x, "parms").named_parameters()))


@api(
    "buffers",
    "buffers m",
    "buffers(m;name)",
    "buffers(m;index)",
    target="torch.nn.Module.named_buffers",
    effect="none",
)
def buffers(x: Value) -> Value:
    """The buffers of a module or one of its children, as a dictionary of the module's own tensors.

    q)dict buffers module enlist(`batchnorm1d;2)
    running_mean       | 0 0e
    running_var        | 1 1e
    num_batches_tracked| 0
    """
    return DictHandle(Buffers(_module_and_child(x, "buffers").named_buffers()))


@api("parmtypes", "parmtypes m", effect="none")
def parmtypes(x: Value) -> Value:
    """Parameter names and the types of the modules that own them.

    q)parmtypes module seq(`sequential;(`linear;`a;2;1;0b);(`batchnorm1d;`b;1))
    a.weight| linear
    b.weight| batchnorm1d
    b.bias  | batchnorm1d
    """
    if handle(x) is None:
        raise CallError("parmtypes", expecting="model, module or optimizer", given=kname(x))
    types = {}
    for path, submodule in module_behind(x, "parmtypes").named_modules():
        for key in dict(submodule.named_parameters(recurse=False)):
            types[f"{path}.{key}" if path else key] = sym(type_name(submodule))
    return symdict(list(types), list(types.values()))


@api("inputmodule", "inputmodule m", effect="none")
def inputmodule(x: Value) -> Value:
    """The type of the module that receives a network's input; the null symbol for an empty container.

    q)inputmodule module seq(`sequential;(`linear;2;1);`relu)
    `linear
    """
    return _end_type(x, "inputmodule", 0)


@api("outputmodule", "outputmodule m", effect="none")
def outputmodule(x: Value) -> Value:
    """The type of the module that produces a network's output; the null symbol for an empty container.

    q)outputmodule module seq(`sequential;(`linear;2;1);`relu)
    `relu
    """
    return _end_type(x, "outputmodule", -1)


def _end_type(x: Value, call: str, at: int) -> Value:
    """The type of a network's first or last module; for a loss, its own."""
    target = handle(x)
    if isinstance(target, LossHandle):
        return ask("objtype", target)
    module = end_of(module_behind(x, call), at)
    return sym("" if module is None else type_name(module))


# containers that only hold modules, or pass their input from one to the next; others compute themselves
_HOLDERS = ("sequential", "moduledict", "modulelist", "parmdict")


def end_of(m: Module | None, at: int) -> Any:
    """The first (0) or last (-1) computing module of a network, descending into containers; None if they are empty."""
    while m is not None and type_name(m) in _HOLDERS:
        children = list(m.children())
        m = children[at] if children else None
    return m


# ------------------------------------------------------------------ single parameters and buffers


def _tensor(x: Value, kind: str, call: str) -> Value:
    """Get, set or register one parameter or buffer."""
    args = items(x)
    if not args or handle(args[0]) is None:
        raise CallError(call, "first arg must be a module, model, loss or optimizer")
    module = module_behind(args[0], call)
    if not 2 <= len(args) <= 3:
        raise QError(
            f"{call}: expecting 2-3 args, e.g. (module;{kind} name) or (module;{kind} name;value), "
            f"but given {len(args)} args"
        )
    name = name_of(args[1])
    if name is None:
        raise QError(f"{call}: second arg is {kind} name, expecting symbol given {kname(args[1])}")
    path, _, last = name.rpartition(".")
    owner = _inside(module, path)
    tensor = (
        None
        if owner is None
        else (owner._parameters if kind == "parameter" else owner._buffers).get(last)
    )
    if len(args) == 2:
        if tensor is None:
            known = module.named_parameters() if kind == "parameter" else module.named_buffers()
            raise unknown(f"{kind} `", name, (key for key, _ in known), " not found", call=call)
        return tensor_handle(tensor)
    value = args[2]
    tied = _enlisted(value) if kind == "parameter" else None
    if tensor is not None:
        if tied is None:
            put(tensor, as_tensor(value))
        else:
            _tie(owner, last, tensor, tied)
        return NIL
    if owner is None:
        raise QError(f"{call}: no child module named `{path}")
    registered = tied
    if value.__class__ is TensorHandle:
        registered = as_tensor(value)
    elif registered is None:
        registered = to_tensor(value).to(device_of_module(module))
    if kind == "parameter":
        owner.register_parameter(last, _as_parameter(registered))
    else:
        owner.register_buffer(last, registered)
    return NIL


def _enlisted(x: Value) -> Any:
    """The parameter whose handle is the only item of a list; None if x is not such a list."""
    if x.__class__ is not List or len(x.items) != 1 or x.items[0].__class__ is not TensorHandle:
        return None
    tensor = as_tensor(x.items[0])
    return tensor if isinstance(tensor, torch.nn.Parameter) else None


def _tie(owner: Module, name: str, old: Tensor, new: Parameter) -> None:
    """Replace a module's parameter by another module's."""
    if old.shape != new.shape:
        raise QError(f"parm: size mismatch, {name} is {list(old.shape)}, given {list(new.shape)}")
    if old is not new and any(
        param is old for optimizer in live_optimizers() for param in optimizer.parameters()
    ):
        raise CallError(
            "parm",
            f"an optimizer has {name} already; parameters are shared before it is made",
            says=(name, "optimizer"),
        )
    owner._parameters[name] = new


def _as_parameter(t: Tensor) -> Any:
    """A tensor as a parameter. A leaf becomes the parameter itself, so that its handle shows the parameter's
    gradients."""
    gradients = t.is_floating_point() or t.is_complex()
    if isinstance(t, torch.nn.Parameter):
        return t
    if t.__class__ is not torch.Tensor or not t.is_leaf:
        return torch.nn.Parameter(t, requires_grad=gradients)
    t._is_param = True  # how torch recognizes a parameter of another class
    return t.requires_grad_(gradients)


@api(
    "parm",
    "parm(m;name)",
    "parm(m;name;value)",
    "parm(m;name;enlist parameter)",
    held=True,
    target="torch.nn.Module.register_parameter",
    effect="reads2",
)
def parm(x: Value) -> Value:
    """Read or set one parameter of a module.

    Returns the parameter as a tensor; with a value, sets it (or registers it if new). With an enlisted parameter, of
    this module or another, the two are tied: both modules share it from then on.

    q)m:module enlist(`linear;2;1)
    q)parm(m;`bias;.5)
    q)tensor parm(m;`bias)
    ,0.5e

    q)m:module seq(`modulelist;(`embed;9;4);(`linear;4;9;0b))
    q)parm(m;`1.weight;enlist parm(m;`0.weight))
    q)parmnames m
    ,`0.weight
    """
    return _tensor(x, "parameter", "parm")


@api(
    "buffer",
    "buffer(m;name)",
    "buffer(m;name;value)",
    held=True,
    target="torch.nn.Module.register_buffer",
    effect="reads2",
)
def buffer(x: Value) -> Value:
    """Read one buffer of a module as a tensor; with a value, set it (or register it if new).

    q)tensor buffer(module enlist(`batchnorm1d;2);`running_var)
    1 1e
    """
    return _tensor(x, "buffer", "buffer")
