"""Forward passes of modules and models: forward, nforward, eforward, evaluate, kforward.

The usual call, one module and one tensor in the module's current mode, has its own fast path.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from kshell import nn
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import longs_of, names_of
from kshell.kapi.base.call import api, known_to_all
from kshell.kapi.base.convert import as_tensor, is_array, kname, list_q, to_q, to_tensor
from kshell.kapi.base.handles import (
    GONE,
    DictHandle,
    KHandle,
    ModelHandle,
    ModuleHandle,
    TensorHandle,
    VectorHandle,
    dict_handle,
    handle,
    module_of,
    stale,
    vector_handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.module.api import device_of_module
from kshell.kapi.module.describe import type_name, type_of
from kshell.kapi.module.named_inputs import Inputs, add_named, named_output
from kshell.kapi.module.options import module_record
from kshell.kapi.module.parts import child_of
from kshell.values.base.build import symdict
from kshell.values.base.core import NIL, Dict, List, Value, long, seq_items
from kshell.values.base.functions import Foreign
from kshell.values.base.symbols import Sym, sym
from kshell.values.session.context import warn_once

if TYPE_CHECKING:
    from torch.nn import Module

EFFECT = "none"  # default for the functions here

# ------------------------------------------------------------------ inputs


def inputs_of(x: Value, m: Module | None, call: str, gaps: bool = False) -> list[Any]:
    """The tensors in one argument: a tensor or array, a vector of tensors, (vector;indices), (dictionary;keys), or a
    list of these. Arrays become tensors on the module's device and keep their type. With `gaps`, an undefined tensor or
    `::` keeps its position, as None."""
    if x.__class__ is TensorHandle:
        tensor = x.get()
        return [tensor] if tensor is not None or gaps else []
    if gaps and x is NIL:
        return [None]
    if x.__class__ is VectorHandle:
        return list(x.get())
    if x.__class__ is DictHandle:
        return list(x.get().values())
    if is_array(x):
        device = torch.device("cpu") if m is None else device_of_module(m)
        # a module may write to its input
        return [to_tensor(x, own=device.type == "cpu").to(device)]
    if isinstance(x, Foreign) and (h := handle(x)) is not None:
        return inputs_of(h, m, call, gaps)
    if x.__class__ is not List:
        raise CallError(call, f"unrecognized arg, {kname(x)}", given=SAID, expected=UNSAID)
    chosen = chosen_of(x.items, call)
    return (
        chosen
        if chosen is not None
        else [tensor for item in x.items for tensor in inputs_of(item, m, call, gaps)]
    )


def inputs_with_names(
    given: Sequence[Value], m: Module, at: Module, call: str, gaps: bool = False
) -> list[Any]:
    """The inputs of a module from arguments, the last of which may be a dictionary of inputs by name. Arrays become
    tensors on the device of the module `at`. `gaps` is as for `inputs_of`."""
    last: Any = given[-1] if given else None
    if last.__class__ is not Dict and last.__class__ is not DictHandle:
        return [tensor for argument in given for tensor in inputs_of(argument, at, call, gaps)]
    before = [tensor for argument in given[:-1] for tensor in inputs_of(argument, at, call, True)]
    inputs = add_named(before, last, m, call, device_of_module(at))
    if inputs is not None:
        return inputs
    tensors: Any = last
    return [*before, *tensors.get().values()]


def chosen_of(given: Sequence[Value], call: str) -> list[Any] | None:
    """The tensors selected by a (vector;indices) or (dictionary;keys) pair; None if it is not such a pair."""
    if len(given) != 2:
        return None
    source, selection = given
    if source.__class__ is VectorHandle:
        positions = longs_of(selection)
        if positions is None or isinstance(selection, KHandle):
            return None
        tensors = source.get()
        for position in positions:
            if not 0 <= position < len(tensors):
                raise QError(
                    f"{call}: vector[{position}] invalid for {len(tensors)}-element vector"
                )
        return [tensors[position] for position in positions]
    if source.__class__ is DictHandle:
        names = names_of(selection)
        if names is None:
            return None
        for name in names:
            if name not in source.get():
                raise QError(f"{call}: dictionary key: `{name} not found")
        return [source.obj[name] for name in names]
    return None


# ------------------------------------------------------------------ the calculation


def calculate(m: Module, tensors: Sequence[Any]) -> Any:
    """The output of a module for its input tensors; an LSTM's two hidden tensors are passed as a pair."""
    if tensors.__class__ is Inputs:
        return m(*tensors, **tensors.named)
    count = len(tensors)
    if count == 1:
        try:
            return m(tensors[0])
        except (TypeError, NotImplementedError):
            _check_count(m, count)
            raise
    _check_count(m, count)
    return nn.seq.call(m, *tensors)


def _check_count(m: Module, n: int) -> None:
    """Does the module take this number of inputs?"""
    entry = type_of(m)
    if entry is None:
        if not n:
            raise QError(f"{type(m).__name__}: forward(tensor) not implemented given empty")
        return
    name = entry.name
    record = module_record(entry)
    if record.result == "":
        raise CallError(name, "no forward calculation defined")
    if record.container and not record.whole:
        first = next(m.children(), None)
        if first is None:
            raise CallError(name, "no forward calculation defined")
        _check_count(first, n)
        return
    least, most = record.n
    if entry.name == "callback":
        callback: Any = m
        least = most = callback.inputs
    if n == 0:
        raise QError(f"{entry.name}: forward(tensor) not implemented given empty")
    if n < least:
        raise QError(f"{entry.name}: {n} tensor(s) supplied, but at least {least} required")
    if n > most:
        raise QError(f"{entry.name}: {n} tensors supplied, but only {most} expected")
    if entry.name in ("lstm", "lstmcell") and n == 2:
        raise QError(f"{entry.name}: expects 3 tensors for (tensor,tuple) input but {n} given")


def in_mode(m: Module, train: bool, run: Callable[[], Any]) -> Any:
    """run() with the module in training or evaluation mode; afterwards the mode of every submodule is restored."""
    if m.training is train:
        return run()
    modes = [(submodule, submodule.training) for submodule in m.modules()]
    m.train(train)
    try:
        return run()
    finally:
        for module, training in modes:
            if module.training is not training:
                module.training = training


def with_gradients(grad: bool, run: Callable[[], Any]) -> Any:
    """run() with gradients enabled or disabled."""
    if torch.is_grad_enabled() is grad:
        return run()
    with torch.set_grad_enabled(grad):
        return run()


def flat(out: Any, gaps: bool = False, inside: bool = False) -> list[Any]:
    """The tensors of an output, with nested tuples flattened; with `gaps`, None for each missing one. Other values in
    the output are left out."""
    if isinstance(out, torch.Tensor):
        return [out]
    if out is None:
        return [None] if gaps else []
    named = named_output(out)
    if named is None and not isinstance(out, tuple | list):
        if inside:
            return []
        raise QError(f"the output is a {type(out).__name__}, expecting tensors")
    return [
        tensor
        for value in (out if named is None else named.values())
        for tensor in flat(value, gaps, True)
    ]


def first_of(out: Any) -> Any:
    """The tensor of an output that a loss and the metrics are about: the first; of an output by name, the first that
    is not its loss."""
    if out.__class__ is torch.Tensor:
        return out
    named = named_output(out)
    if named is not None:
        out = [value for name, value in named.items() if name != "loss"]
    tensors = flat(out)
    if not tensors:
        raise QError("the output has no tensor")
    return tensors[0]


def wrapped(out: Any) -> Value:
    """The handle for an output: a tensor, or a vector or dictionary of tensors; for a named output, a q dictionary."""
    if out is None or isinstance(out, torch.Tensor):
        return TensorHandle(out)
    if out.__class__ is dict and all(isinstance(value, torch.Tensor) for value in out.values()):
        return dict_handle(out)
    named = named_output(out)
    return vector_handle(flat(out, True)) if named is None else _by_name(named, wrapped)


def _by_name(named: dict[str, Any], value: Callable[[Any], Value]) -> Value:
    """The parts of an output by name: tensors, lists and dictionaries of tensors, numbers and strings; other objects
    stay those of Python."""
    fields: dict[str, Value] = {}
    for key, field in named.items():
        if field is None or isinstance(field, bool | float):
            fields[key] = NIL if field is None else field
        elif isinstance(field, int | str):
            fields[key] = long(field) if isinstance(field, int) else sym(field)
        elif isinstance(field, torch.Tensor | tuple | list) or named_output(field) is not None:
            fields[key] = value(field)
        else:
            fields[key] = Foreign(field)
    return symdict(list(fields), list(fields.values()))


def _values(out: Any) -> Value:
    if out is None or isinstance(out, torch.Tensor):
        return to_q(out)
    named = named_output(out)
    return list_q(flat(out, True)) if named is None else _by_name(named, _values)


def _arguments(x: Value, call: str, test: bool) -> tuple[Any, list[Any]]:
    """The module and the input tensors of a call."""
    args = x.items if x.__class__ is List else [x]
    target = handle(args[0]) if args else None
    if isinstance(target, ModelHandle) and len(args) == 1:
        return target.obj.module, target.obj.inputs(test)
    if not isinstance(target, ModuleHandle | ModelHandle):
        raise CallError(call, "requires a module or model and at least one input")
    module = module_of(target)
    arguments = args[1:]
    device = module
    if len(arguments) > 1 and arguments[0].__class__ is Sym:
        module, arguments = child_of(module, arguments[0], call), arguments[1:]
    if not arguments:
        raise CallError(call, "requires a module or model and at least one input")
    if (
        len(arguments) == 2
        and arguments[0].__class__ is DictHandle
        and names_of(arguments[1]) is not None
    ):
        return module, chosen_of(arguments, call) or []
    if arguments[-1].__class__ is Dict or arguments[-1].__class__ is DictHandle:
        return module, inputs_with_names(arguments, module, device, call)
    tensors = [
        tensor for argument in arguments for tensor in inputs_of(argument, device, call, True)
    ]
    while tensors and tensors[-1] is None:
        tensors.pop()
    if tensors and tensors[0] is None:
        raise CallError(call, "the first input is undefined")
    return module, tensors


def output(x: Value, call: str, train: bool, grad: bool) -> Any:
    """The torch output of a forward call with q arguments."""
    try:
        module, tensors = _arguments(x, call, not train)
        if train and not module.training:
            _check_mode(module, call)
        return with_gradients(
            grad, lambda: in_mode(module, train, lambda: calculate(module, tensors))
        )
    except Exception as exc:
        raise known_to_all(call, exc, _module_of(x), grad, x) from None


def _check_mode(m: Module, call: str) -> None:
    """Warn if a callback running in evaluation mode runs one of its layers in training mode, with dropout and
    gradients."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code is not nn.callback.Callback.forward.__code__:
        frame = frame.f_back
    if frame is not None and any(submodule is m for submodule in frame.f_locals["self"].modules()):
        warn_once(
            f"{call} in a callback calculates `{type_name(m)} in training mode: kforward keeps the mode"
        )


def _module_of(x: Value) -> Any:
    """The module on which a call runs forward, None if unknown."""
    args = x.items if x.__class__ is List else [x]
    target = handle(args[0]) if args else None
    if not isinstance(target, ModuleHandle | ModelHandle) or target.obj is GONE:
        return None
    module = module_of(target)
    if len(args) > 2 and args[1].__class__ is Sym:
        try:
            return child_of(module, args[1], "forward")
        except QError:
            return None
    return module


@api("forward", "forward(m;x;..)", "forward(m;child;x;..)", "forward model")
def forward(x: Value) -> Value:
    """The output of a module or model in training mode, with gradients.

    An input is a tensor, an array, a vector, (vector;indices) or (dictionary;keys); `[]` and an undefined tensor stand
    for an omitted input. A dictionary in last position passes inputs by name, like Python's keyword arguments: tensors
    and arrays, and atoms for numbers, flags and strings. If none of its names is one of the module's inputs, the
    dictionary itself is an input. A named output (a dataclass, a named tuple, a ModelOutput from transformers) becomes
    a dictionary of its parts; a dictionary of tensors becomes one as in ktorch.

    q)m:module enlist(`linear;2;1)
    q)size forward(m;3 2#1e)
    3 1

    q)m:module enlist(`bilinear;2;3;1)
    q)size forward(m;`input2`input1!(4 3#1e;4 2#1e))
    4 1
    """
    if x.__class__ is List and len(x.items) == 2:
        target, argument = x.items
        if target.__class__ is ModuleHandle and argument.__class__ is TensorHandle:
            module, tensor = target.obj, argument.obj
            if module is GONE or tensor is GONE:
                raise stale(target if module is GONE else argument)
            if tensor is not None and module.training and torch.is_grad_enabled():
                try:
                    result = calculate(module, (tensor,))
                    return (
                        TensorHandle(result)
                        if isinstance(result, torch.Tensor)
                        else wrapped(result)
                    )
                except Exception as exc:
                    raise known_to_all("forward", exc, module, True, x) from None
    return wrapped(output(x, "forward", True, True))


@api("nforward", "nforward(m;x;..)", "nforward(m;child;x;..)", "nforward model")
def nforward(x: Value) -> Value:
    """The output of a module or model in training mode, without gradients.

    q)m:module enlist(`linear;2;1)
    q)gradflag nforward(m;3 2#1e)
    0b
    """
    return wrapped(output(x, "nforward", True, False))


@api("eforward", "eforward(m;x;..)", "eforward(m;child;x;..)", "eforward model")
def eforward(x: Value) -> Value:
    """The output of a module or model in evaluation mode, without gradients.

    q)tensor eforward(module`drop;1 2 3e)
    1 2 3e
    """
    return wrapped(output(x, "eforward", False, False))


@api("evaluate", "evaluate(m;x;..)", "evaluate(m;child;x;..)", "evaluate model")
def evaluate(x: Value) -> Value:
    """The output of a module or model in evaluation mode as a q array.

    q)evaluate(module`relu;-1 2 3e)
    0 2 3e
    """
    return _values(output(x, "evaluate", False, False))


@api("kforward", "kforward(m;x;..)", "kforward(m;child;x;..)")
def kforward(x: Value) -> Value:
    """The output of a module in its current mode, training or evaluation, for use in callbacks.

    q)m:module`drop
    q)training(m;0b)
    q)tensor kforward(m;1 2 3e)
    1 2 3e
    """
    if isinstance(x, ModelHandle):
        raise CallError("kforward", "cannot be called without input(s)")
    try:
        module, tensors = _arguments(x, "kforward", False)
        return wrapped(calculate(module, tensors))
    except Exception as exc:
        raise known_to_all("kforward", exc, _module_of(x), torch.is_grad_enabled(), x) from None


@api(
    "functionalcall", "functionalcall(m;d;x;..)", since="torch", target="torch.func.functional_call"
)
def functionalcall(x: Value) -> Value:
    """Run a module with tensors from a dictionary in place of its own parameters and buffers.

    The module runs in its current mode and is itself unchanged. Parameters thus become an input like any other, to
    differentiate with respect to, or to vectorize over.

    q)m:module enlist(`linear;2;1)
    q)tensor functionalcall(m;`weight`bias!(1 2#1 2e;enlist 5e);1 2#10 20e)
    55

    q)p:parms m
    q)g:autograd({[m;x;p]Sum functionalcall(m;p;x)}[m;tensor 3 2#1e];p)
    q)dict g
    weight| 3 3
    bias  | 3
    """
    args = x.items if x.__class__ is List else [x]
    target = handle(args[0]) if args else None
    if len(args) < 3 or not isinstance(target, ModuleHandle | ModelHandle):
        raise CallError("functionalcall", "expecting (module;dictionary;input;..)")
    module = module_of(target)
    named = _substitutes(args[1], module)
    try:
        tensors = _arguments(List([args[0], *args[2:]]), "functionalcall", False)[1]
        options = tensors.named if isinstance(tensors, Inputs) else {}
        return wrapped(
            torch.func.functional_call(
                nn.called.Called(module, _called), named, tuple(tensors), options
            )
        )
    except Exception as exc:
        raise known_to_all("functionalcall", exc, module, torch.is_grad_enabled(), x) from None


def _called(m: Module, tensors: Sequence[Any], named: dict[str, Any]) -> Any:
    return calculate(m, Inputs(tensors, named) if named else tensors)


def _substitutes(d: Value, m: Module) -> dict[str, Any]:
    """The tensors of a dictionary by their names in `Called`; the module must have parts with these names."""
    names: list[str] | None = None
    if isinstance(d, DictHandle):
        names, values = list(d.get()), list(d.get().values())
    elif d.__class__ is Dict and (names := names_of(d.k)) is not None:
        values = [as_tensor(item) for item in seq_items(d.v)]
    if names is None:
        raise CallError(
            "functionalcall", expecting="a dictionary of tensors by name", given=kname(d)
        )
    known = dict(
        (*m.named_parameters(remove_duplicate=False), *m.named_buffers(remove_duplicate=False))
    )
    for name in names:
        if name not in known:
            raise QError(f"functionalcall: no parameter or buffer `{name}")
    return {f"m.{name}": value for name, value in zip(names, values, strict=True)}
