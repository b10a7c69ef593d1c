"""Modules: the user's functions `module`, `state`, `seq`, `tree`, `dv`, `clone`, `training`, and the functions of all
handle classes for module handles (size, bytes, device, to, zerograd, ...)."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base import guard, python_types
from kshell.kapi.base.args import flag_of, is_empty, items, names_of, need
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dtype_name, kname, ktype_of
from kshell.kapi.base.device_options import TensorOptions, memory_format
from kshell.kapi.base.handles import (
    KHandle,
    LossHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    TensorHandle,
    ask,
    behaviour,
    handle,
    lend,
    module_handle,
    module_of,
    table,
    tensor_handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.live_optimizers import live_optimizers
from kshell.kapi.module import types as _rows  # noqa: F401 (registers the module types)
from kshell.kapi.module.builders import entry_of
from kshell.kapi.module.describe import cpp_text, definition, options_of, type_name, type_of
from kshell.kapi.module.options import type_record
from kshell.kapi.module.spec import define, extend, pairs_from_tree, seq_of, tree_from_pairs
from kshell.kapi.module.stack import ALONE
from kshell.kapi.tensor.gradients import drop_gradient, set_flags
from kshell.kapi.tensor.handle_api import bytes_of, elements_of
from kshell.registry import Entry
from kshell.values.base import types as T
from kshell.values.base.build import string, symdict
from kshell.values.base.core import NIL, List, Value, char, sym_vec
from kshell.values.base.functions import Foreign
from kshell.values.base.symbols import Sym, sym
from kshell.values.session.context import running

if TYPE_CHECKING:
    from torch.nn import Module


def every_option() -> bool:
    """Does the session show all options (setting alloptions), or only those that differ from their defaults?"""
    return bool(table().state.get("alloptions", True))


def module_behind(x: Value, call: str) -> Any:
    """The torch module of a module, loss, model or optimizer handle."""
    target = handle(x)
    if target is None:
        raise QError(f"{call}: expecting pytorch object, not implemented for {kname(x)}")
    return target.torch_module(call)


def of_module(x: Value, call: str) -> tuple[Any, Sequence[Value]]:
    """The torch module of a call's first argument, a module or model, and the arguments after it."""
    args = items(x)
    target = handle(args[0]) if args else None
    if not isinstance(target, ModuleHandle | ModelHandle):
        raise CallError(call, expecting="module or model", given=kname(args[0] if args else x))
    return module_of(target), args[1:]


# ------------------------------------------------------------------ module


@api(
    "module",
    "module spec",
    "module ptr",
    "module(ptr;flag)",
    "module(ptr;spec)",
    "module(ptr;depth;spec)",
    "module(ptr;module)",
    "module(ptr;depth;module)",
    "module model",
    "module optimizer",
    "module[name;class]",
    arity=(1, 2),
    held=True,
    effect="reads1",
)
def module(x: Value, *more: Value) -> Value:
    """Make a module, add to one, or get its definition.

    A specification is a symbol (`` `relu ``), a list of type, optional name and options, enlisted
    (``enlist(`linear;784;10)``), a tree of these, (depth;value) pairs, or a definition or state returned earlier.
    Options are positional or name-value pairs. If the first argument is a module, the specification is added to it in
    place. An existing module can be used as a layer, and is then shared. `module[name;class]` makes a class or
    function of Python a type under a name, as `.p.type` does.

    q)m:module enlist(`linear;784;10)
    q)module m
    depth  | 0
    module | `linear
    name   | `
    options| `in`out`bias!(784;10;1b)

    q)q:module seq(`sequential;(`linear;`a;784;10);`relu)
    q)module(q;`sigmoid)
    q)childnames q
    `a`1`2

    q)m:module seq(`sequential;child(q;`a);`tanh)
    q)childnames m
    `a`1
    """
    if more or _names_python(x):
        return _name_python(*((more and (x, *more)) or items(x)))
    args = items(x) if x.__class__ is List else [x]
    first = args[0] if args else NIL
    if isinstance(first, KHandle):
        return _of_handle(first, args[1:])
    if is_empty(x):
        raise CallError("module", "empty list", expected=UNSAID)
    built = define(x)
    built.__dict__[ALONE] = True
    return module_handle(built)


def _names_python(x: Value) -> bool:
    """Is it a name and a Python object: (name;class), which no specification is?"""
    if x.__class__ is not List or len(x.items) != 2 or x.items[0].__class__ is not Sym:
        return False
    return isinstance(x.items[1], Foreign)


def _name_python(name: Value, made: Value) -> Value:
    """Make a class or function of Python a type under a name."""
    if name.__class__ is not Sym or not isinstance(made, Foreign):
        raise CallError(
            "module",
            expecting="a name and a class or function of Python",
            given=f"{kname(name)}, {kname(made)}",
            hint="other arguments are one list in parentheses: module(ptr;flag)",
        )
    python_types.named("module", name.s, made.obj)
    return NIL


def _of_handle(h: KHandle, rest: Sequence[Value]) -> Value:
    """`module` on a module: its definition, or add modules to it; on a model or optimizer: its module."""
    handle(h)
    if isinstance(h, ModuleHandle):
        return _with_module(h, rest)
    if not rest and isinstance(h, ModelHandle | OptimizerHandle):
        return module_handle(module_behind(h, "module"))
    raise CallError("module", f"unrecognized arg(s), {kname(h)}", given=SAID, expected=UNSAID)


def _with_module(h: ModuleHandle, rest: Sequence[Value]) -> Value:
    """`module` with a module as its first argument: return its definition, or extend it."""
    module = h.obj
    flag = flag_of(rest[0]) if len(rest) == 1 else None
    if not rest or flag is not None:
        return definition(module, every_option() if flag is None else flag)
    if len(rest) == 1 and isinstance(rest[0], ModuleHandle):
        extend(module, rest[0].get())
        lend(rest, h, True)
    elif len(rest) == 1:
        define(rest[0], module)
    elif len(rest) == 2 and rest[0].__class__ is int:
        if isinstance(rest[1], ModuleHandle):
            extend(module, rest[1].get(), rest[0])
            lend(rest, h, True)
        else:
            define(rest[1], module, rest[0])
    else:
        raise QError(
            f"module: {type_name(module)} given as 1st arg, but unable to parse remaining arg(s)"
        )
    return NIL


@api("seq", "seq(layer;layer;..)", effect="changes")
def seq(x: Value) -> Value:
    """A container and its layers as a tree: the items of a list, all but the first enlisted.

    A container among the layers that has layers of its own is left as it is.

    q)seq`a`b`c
    `a
    ,`b
    ,`c
    q)m:module seq(`sequential; (`linear;2;2); seq(`residual; seq(`sequential;(`linear;2;2);`relu)); `tanh)
    q)childnames m
    `0`1`2
    """
    return seq_of(x)


@api("dv", "dv tree", effect="none")
def dv(x: Value) -> Value:
    """The (depth;value) pairs for a tree of modules.

    q)dv seq`a`b`c
    0 `a
    1 `b
    1 `c
    """
    return List(pairs_from_tree(x))


@api("tree", "tree pairs", effect="none")
def tree(x: Value) -> Value:
    """The tree for (depth;value) pairs.

    q)tree((0;`a);(1;`b);(1;(`c;1)))
    `a
    ,`b
    ,(`c;1)
    """
    return tree_from_pairs(x)


# ------------------------------------------------------------------ state and copies


@api("state", "state ptr", "state(ptr;flag)", target="torch.nn.Module.state_dict", effect="none")
def state(x: Value) -> Value:
    """The definition of a module, loss, optimizer or model, with its parameters and buffers.

    A dictionary for a single module, a table for a container. The function that made the object recreates it from its
    state: ``module get`:file``. The flag 0b omits options that equal their defaults.

    q)m:module enlist(`batchnorm1d;`b;2)
    q)s:state m
    q)s`buffers
    running_mean       | 0 0e
    running_var        | 1 1e
    num_batches_tracked| 0
    q)s~state module s
    1b
    """
    args = items(x)
    flag = flag_of(args[1]) if len(args) == 2 else None
    target = handle(args[0]) if args else None
    if target is None or len(args) > 2 or (len(args) == 2 and flag is None):
        raise CallError(
            "state", expecting="module, loss, optimizer or model and optional flag", given=kname(x)
        )
    return ask("state", target, every_option() if flag is None else flag)


@behaviour("state", ModuleHandle)
def _module_state(h: ModuleHandle, every: bool) -> Value:
    return definition(h.obj, every, True)


@api("clone", "clone ptr", held=True, effect="none")
def clone(x: Value) -> Value:
    """A deep copy of a module, loss or tensor; for a model or optimizer, of its module.

    q)a:module enlist(`linear;3;2)
    q)state[a]~state clone a
    1b
    """
    target = handle(x)
    if isinstance(target, TensorHandle):
        return tensor_handle(None if target.obj is None else target.obj.detach().clone())
    if target is None:
        raise QError(f"clone: expecting module, model or optimizer, not implemented for {kname(x)}")
    duplicate = copy.deepcopy(module_behind(target, "clone"))
    return LossHandle(duplicate) if isinstance(target, LossHandle) else module_handle(duplicate)


@api("training", "training m", "training(m;flag)", held=True, effect="reads1")
def training(x: Value) -> Value:
    """Whether a module or model is in training mode; a flag sets the mode.

    q)m:module`relu
    q)training(m;0b)
    q)training m
    0b
    """
    args = items(x)
    target = handle(args[0]) if args else None
    flag = flag_of(args[1]) if len(args) == 2 else None
    if target is None or len(args) > 2 or (len(args) == 2 and flag is None):
        raise CallError("training", "unrecognized arg(s), expects module/model and optional flag")
    if not isinstance(target, ModuleHandle | ModelHandle):
        raise QError(f"training: not implemented for {target.kind}")
    module = module_behind(target, "training")
    if flag is None:
        return bool(module.training)
    module.train(flag)
    return NIL


# ------------------------------------------------------------------ what module handles answer


@behaviour("objtype", ModuleHandle)
def _objtype(h: ModuleHandle) -> Value:
    return sym(type_name(h.obj))


def tensors_of_module(m: Module) -> Iterable[Any]:
    """The parameters and buffers of a module."""
    yield from m.parameters()
    yield from m.buffers()


@behaviour("tensors", ModuleHandle, LossHandle)
def _tensors(h: KHandle) -> Iterable[Any]:
    return tensors_of_module(h.obj)


@behaviour("holds", ModuleHandle)
def _holds(h: ModuleHandle) -> list[Any]:
    """The module and its submodules, all parameters and buffers."""
    return [*h.obj.modules(), *h.obj.parameters(), *h.obj.buffers()]


@behaviour("parameters", ModuleHandle)
def _parameters(h: ModuleHandle) -> list[tuple[str, Any]]:
    return list(h.obj.named_parameters())


@behaviour("size", ModuleHandle, LossHandle)
def _size(h: KHandle) -> Value:
    """The number of parameters."""
    return sum(1 for _ in h.obj.parameters())


@behaviour("tensorcount", ModuleHandle, LossHandle)
def _tensorcount(h: KHandle) -> Value:
    """The number of parameters and buffers."""
    return sum(1 for _ in tensors_of_module(h.obj))


@behaviour("elements", ModuleHandle, LossHandle)
def _elements(h: KHandle) -> Value:
    return sum(elements_of(tensor) for tensor in tensors_of_module(h.obj))


@behaviour("numel", ModuleHandle, LossHandle)
def _numel(h: KHandle) -> Value:
    return sum(tensor.numel() for tensor in tensors_of_module(h.obj))


@behaviour("bytes", ModuleHandle, LossHandle)
def _bytes(h: KHandle) -> Value:
    return sum(bytes_of(tensor) for tensor in tensors_of_module(h.obj))


def device_of_module(m: Module) -> Any:
    """The device of a module's first parameter or buffer; the CPU if it has none."""
    tensor = next(iter(tensors_of_module(m)), None)
    return torch.device("cpu") if tensor is None else tensor.device


def beside(tensors: Sequence[Any], m: Module) -> Any:
    """The device of a module, if one of the tensors is elsewhere; None if all are there, or if it has no parameters."""
    first = next(iter(tensors_of_module(m)), None)
    return (
        None
        if first is None or all(tensor.device == first.device for tensor in tensors)
        else first.device
    )


def brought(tensors: list[Any], m: Module) -> list[Any]:
    """Tensors moved to the device of a module."""
    device = beside(tensors, m)
    if device is None:
        return tensors
    wait = device.type == "cpu"  # the CPU reads the data next
    moved = [tensor.to(device, non_blocking=not wait) for tensor in tensors]
    for tensor, result in zip(tensors, moved, strict=True):
        guard.copied(tensor, result)
    return moved


@behaviour("device", ModuleHandle, LossHandle)
def _device(h: KHandle) -> Value:
    return sym(str(device_of_module(h.obj)))


def _named(h: KHandle) -> dict[str, Any]:
    """The parameters of a module, loss or model, by name."""
    return dict(module_behind(h, "parameters").named_parameters())


@behaviour("dtype", ModuleHandle, LossHandle, ModelHandle)
def _dtype(h: KHandle) -> Value:
    """Data types by parameter name."""
    named = _named(h)
    return symdict(list(named), [sym(dtype_name(param.dtype)) for param in named.values()])


@behaviour("ktype", ModuleHandle, LossHandle, ModelHandle)
def _ktype(h: KHandle) -> Value:
    """The q type characters by parameter name."""
    named = _named(h)
    return symdict(
        list(named), [char(T.TYPE[ktype_of(param.dtype)].char) for param in named.values()]
    )


@behaviour("gradient", ModuleHandle, LossHandle, ModelHandle)
def _gradient(h: KHandle) -> Value:
    """By parameter name, whether gradients are computed."""
    named = _named(h)
    return symdict(
        list(named), [sym("grad" if param.requires_grad else "nograd") for param in named.values()]
    )


@behaviour("gradflag", ModuleHandle, LossHandle, ModelHandle)
def _gradflag(h: KHandle, select: Value | None = None, *rest: Value) -> Value:
    """Get or set, by parameter name, whether gradients are computed; for all parameters or the selected ones."""
    named = _named(h)
    if select is not None:
        wanted = names_of(select)
        missing = [name for name in wanted or [""] if name not in named]
        if wanted is None or missing:
            raise QError(
                f"gradflag: no parameter `{missing[0]}"
                if wanted
                else f"gradflag: expected parameter name(s), given {kname(select)}"
            )
        named = {name: named[name] for name in wanted}
    if rest:
        flag = need(flag_of(rest[0]), "gradflag", "boolean scalar", rest[0])
        set_flags(named.values(), flag)
        return NIL
    if select.__class__ is Sym:
        return bool(named[select.s].requires_grad)
    return symdict(list(named), [bool(param.requires_grad) for param in named.values()])


@behaviour("zerograd", ModuleHandle)
def _zerograd(h: ModuleHandle) -> Value:
    h.obj.zero_grad(set_to_none=False)
    return NIL


@behaviour("nograd", ModuleHandle)
def _nograd(h: ModuleHandle) -> Value:
    for param in h.obj.parameters():
        drop_gradient(param)
    return NIL


def move(m: Module, how: Callable[[Any], Any]) -> None:
    """Move a module or convert its type, together with the state of live optimizers for its parameters; all or
    nothing."""
    records = [
        (submodule, dict(submodule._parameters), dict(submodule._buffers))
        for submodule in m.modules()
    ]
    before = {
        id(value): (value, value.data, value.grad, submodule, name)
        for submodule, parameters, _ in records
        for name, value in parameters.items()
        if value is not None
    }
    try:
        how(m)
    except BaseException:
        for tensor, data, grad, _, _ in before.values():
            tensor.data, tensor.grad = data, grad
        for submodule, parameters, buffers in records:
            submodule._parameters.update(parameters)
            submodule._buffers.update(buffers)
        raise
    changed: dict[int, tuple[Any, Any]] = {}
    for identity, (_, data, _, submodule, name) in before.items():
        current: Any = submodule._parameters[name]
        if current.device != data.device or current.dtype != data.dtype:
            changed[identity] = current, data.dtype
    if changed:
        for optimizer in live_optimizers():
            if any(id(param) in changed for param in optimizer.parameters()):
                optimizer.moved(changed)


@behaviour("to", ModuleHandle, LossHandle)
def _to(h: KHandle, options: TensorOptions, wait: bool) -> Value:
    """Move a module to a device, or change the type of its floating-point tensors or their memory format, in place."""
    if options.layout == "sparse" or options.grad is not None or options.pinned is not None:
        raise CallError(
            "to",
            "converts device, type & memory format of a module, but cannot be used for layout, "
            "gradient or pinned memory",
            given=SAID,
            expected=UNSAID,
        )
    keywords = {} if options.memory is None else {"memory_format": memory_format(options.memory)}
    move(
        h.obj,
        lambda m: m.to(
            device=options.device, dtype=options.dtype, non_blocking=not wait, **keywords
        ),
    )
    return NIL


def tell_unknown(m: Module, entry: Entry | None) -> None:
    """Say why the options of a module or loss of a Python class are empty, if Python made it."""
    if entry is None or (type_record(entry).python is not None and not python_types.is_known(m)):
        running().warn(f"options: Python made this {type(m).__name__}, with what is not known\n")


@behaviour("options", ModuleHandle)
def _options(h: ModuleHandle) -> Value:
    tell_unknown(h.obj, type_of(h.obj))
    return options_of(h.obj, every_option(), False)


@behaviour("str", ModuleHandle)
def _str(h: KHandle) -> Value:
    return string(cpp_text(h.obj))


@api("moduletypes", "moduletypes m", "moduletypes(m;type)", "moduletypes(m;types)", effect="none")
def moduletypes(x: Value) -> Value:
    """Module names and their types; with one type, the names of that type; with several, a dictionary.

    q)moduletypes module seq(`sequential;(`linear;`a;2;1);`relu`b)
     | sequential
    a| linear
    b| relu
    """
    args = items(x)
    if not args or len(args) > 2:
        raise QError(
            "moduletypes: expecting 1-2 arguments, e.g. module or (module;types), but "
            f"{len(args)} args supplied"
        )
    types = {
        name: type_name(submodule)
        for name, submodule in module_behind(args[0], "moduletypes").named_modules()
    }
    if len(args) == 1:
        return symdict(list(types), [sym(kind) for kind in types.values()])
    wanted = names_of(args[1])
    if wanted is None:
        raise CallError(
            "moduletypes", expecting="2nd arg of module types(symbols)", given=kname(args[1])
        )
    for kind in wanted:
        entry_of(kind)
    types = {name: kind for name, kind in types.items() if kind in wanted}
    if args[1].__class__ is Sym:
        return sym_vec(types)
    return symdict(list(types), [sym(kind) for kind in types.values()])
