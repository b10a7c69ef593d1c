"""Tensor gradients: grad, gradflag, detach, backward, zerograd, nograd.

`zerograd`, `nograd`, `backward` and `gradflag` for modules, optimizers and models are behaviours registered by their
own files; here are the functions that dispatch to them, and the versions for tensors, vectors and dictionaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import flag_of, items, name_of, names_of
from kshell.kapi.base.call import api, run_backward
from kshell.kapi.base.convert import as_tensor, is_array, kname, to_q
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    TensorHandle,
    VectorHandle,
    ask,
    behaviour,
    tensor_handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.q_calls import applied
from kshell.kapi.tensor.containers import is_selector, put_in, tensors_in
from kshell.kapi.tensor.handle_api import need_handle
from kshell.values.base.build import bools, collapse
from kshell.values.base.core import NIL, Dict, List, Value, is_list, seq_items, sym_vec
from kshell.values.base.functions import Function
from kshell.values.base.symbols import Sym
from kshell.values.session.context import warn_once

if TYPE_CHECKING:
    from torch import Tensor


def _head(x: Value, call: str) -> tuple[KHandle, Sequence[Value]]:
    """The handle that a call is about, and the arguments after it."""
    if isinstance(x, KHandle) or x.__class__ is not List or not x.items:
        return need_handle(x, call), ()
    args = items(x)
    return need_handle(args[0], call), args[1:]


def _grads_in(h: VectorHandle | DictHandle) -> Value:
    """The gradients of a vector's tensors, or of a dictionary's, by name."""
    tensors = tensors_in(h, None, "grad") or []
    gradients = collapse([NIL if tensor is None else to_q(tensor.grad) for _, tensor in tensors])
    if isinstance(h, DictHandle):
        return Dict(sym_vec([str(key) for key, _ in tensors]), gradients)
    return gradients


@api("grad", "grad t", "grad enlist t", "grad vector", "grad dict", effect="none")
def grad(x: Value) -> Value:
    """The gradient of a tensor as a q value, :: if there is none; for an enlisted tensor, a tensor handle.

    For a vector, the gradients as a list; for a dictionary, by name. A non-leaf tensor keeps its gradient only after
    `retaingrad`; reading it without prints a warning.

    q)x:tensor(1 2 3e;`grad)
    q)backward Sum mul(x;x)
    q)grad x
    2 4 6e
    q)m:module enlist(`linear;2;1)
    q)backward Sum forward(m;1 2#3e)
    q)grad parms m
    weight| 3 3
    bias  | 1
    """
    handle, arguments = _head(x, "grad")
    if isinstance(handle, VectorHandle | DictHandle) and handle is x:
        return _grads_in(handle)
    if handle.__class__ is not TensorHandle or arguments:
        raise CallError("grad", expecting="a tensor", given=kname(x))
    tensor = handle.get()
    gradient = None if tensor is None else tensor.grad
    if x.__class__ is List:
        if gradient is None:
            raise QError("no gradient defined", hint=_NO_LEAF if _unkept(tensor) else "")
        return tensor_handle(gradient)
    if gradient is None and _unkept(tensor):
        warn_once(f"grad: {_NO_LEAF}")
    return to_q(gradient)


_NO_LEAF = (
    "this tensor is not a leaf and keeps no gradient: call retaingrad t before backward, or make a new leaf "
    "with tensor(tensor t;`grad)"
)


def _unkept(t: Tensor | None) -> bool:
    """Is the tensor a non-leaf that does not keep its gradient?"""
    return t is not None and t.requires_grad and not t.is_leaf and not t.retains_grad


@api(
    "gradflag",
    "gradflag ptr",
    "gradflag(ptr;flag)",
    "gradflag(vector;i[;flag])",
    "gradflag(dict;key[;flag])",
    target="torch.Tensor.requires_grad_",
    effect="reads1",
)
def gradflag(x: Value) -> Value:
    """Whether a tensor requires a gradient; a flag sets it.

    q)t:tensor 1 2 3e
    q)gradflag(t;1b)
    q)gradflag t
    1b
    """
    handle, arguments = _head(x, "gradflag")
    selector = arguments[0] if arguments and is_selector(arguments[0]) else None
    arguments = arguments[1:] if selector is not None else arguments
    if selector is not None and isinstance(handle, TensorHandle):
        raise QError(
            "gradflag: expected boolean scalar, indices or names not valid with a tensor, given "
            f"{kname(selector)}"
        )
    tensors = tensors_in(handle, selector, "gradflag")
    if tensors is None:
        return ask("gradflag", handle, selector, *arguments)
    if not arguments:
        flags = [tensor is not None and tensor.requires_grad for _, tensor in tensors]
        if isinstance(handle, DictHandle) and (selector is None or selector.__class__ is not Sym):
            return Dict(sym_vec([str(key) for key, _ in tensors]), bools(flags))
        single = isinstance(handle, TensorHandle) or (
            selector is not None and not isinstance(selector, List) and not hasattr(selector, "a")
        )
        return flags[0] if single else bools(flags)
    flag = flag_of(arguments[0])
    if flag is None or len(arguments) > 1:
        raise CallError("gradflag", expected="boolean scalar", given=kname(arguments[0]))
    set_flags([tensor for _, tensor in tensors], flag)
    return NIL


def set_flags(tensors: Iterable[Any], flag: bool) -> None:
    """Set whether tensors require gradients; on an error, none is changed."""
    before = [(tensor, tensor.requires_grad) for tensor in tensors]
    try:
        for target, _ in before:
            target.requires_grad_(flag)
    except BaseException:
        for target, required in before:
            if target.requires_grad is not required:
                target.requires_grad_(required)
        raise


@api(
    "detach",
    "detach t",
    "detach(t;inplace)",
    "detach(vector[;i])",
    "detach(dict[;key])",
    effect="reads1",
)
def detach(x: Value) -> Value:
    """A tensor that shares storage but is outside the autograd graph.

    With 1b, or for a vector or dictionary, it is detached in place.

    q)x:tensor(1 2e;`grad)
    q)gradflag detach x
    0b
    """
    handle, arguments = _head(x, "detach")
    if handle.__class__ is TensorHandle:
        if arguments and (len(arguments) > 1 or flag_of(arguments[0]) is None):
            raise CallError("detach", expecting="tensor or (tensor;inplace flag)", given=kname(x))
        tensor = as_tensor(handle)
        if not arguments or not arguments[0]:
            return tensor_handle(tensor.detach())
        handle.obj = _detached(tensor)
        return NIL
    tensors = tensors_in(handle, arguments[0] if arguments else None, "detach")
    if tensors is None:
        raise QError(f"detach: not implemented for {handle.plural}")
    if len(arguments) > 1:
        raise QError(f"detach: expecting up to 2 args, given {len(arguments) + 1}")
    for position, tensor in tensors:
        put_in(handle, position, _detached(tensor))
    return NIL


def _detached(t: Tensor) -> Any:
    return t.detach() if t._is_view() else t.detach_()


# ------------------------------------------------------------------ backward

# modes of backward: (retain_graph, create_graph)
MODES = {
    "free": (False, False),
    "retain": (True, False),
    "create": (True, True),
    "createfree": (False, True),
}


def _mode(name: str) -> tuple[bool, bool]:
    """Is the graph retained, and is a graph of the gradients built?"""
    if name not in MODES:
        raise CallError(
            UNSAID,
            f"unrecognized mode for backward: `{name}, expecting one of "
            + "".join("`" + mode for mode in MODES),
            given=SAID,
        )
    return MODES[name]


def _outer_gradients(h: KHandle, tensors: Sequence[Any], rest: Sequence[Value]) -> list[Any]:
    """The output gradient given for each tensor of a handle, None where none is needed."""
    weights = _outer(h, rest[0]) if rest else [NIL] * len(tensors)
    if len(weights) != len(tensors):
        raise CallError(
            "backward",
            f"{len(tensors)} tensor(s) and {len(weights)} gradient(s)",
            given=SAID,
            expected=UNSAID,
        )
    return [_gradient(weight, tensor) for weight, tensor in zip(weights, tensors, strict=True)]


@api(
    "backward",
    "backward ptr",
    "backward(ptr;mode)",
    "backward(ptr;gradient)",
    "backward(ptr;gradient;mode)",
    "backward model",
    "backward(model;x;y)",
    held=True,
    target="torch.Tensor.backward",
    effect="changes",
)
def backward(x: Value) -> Value:
    """Compute gradients of a scalar tensor, or of any tensor given the gradient of what follows it.

    For a vector or dictionary of tensors, the gradients of their sum; pass one gradient for each, :: for a scalar.
    Modes: free, retain (keep the graph), create (also build a graph of the gradients), createfree. For a model, run
    forward, loss and backward on the given data or its own, and return the loss.

    q)x:tensor(1 2 3e;`grad)
    q)backward mean x
    q)grad x
    0.3333333 0.3333333 0.3333333e
    """
    handle, arguments = _head(x, "backward")
    if not isinstance(handle, TensorHandle | VectorHandle | DictHandle):
        return ask("backward", handle, *arguments)
    mode = name_of(arguments[-1]) if arguments else None
    retain, create = MODES["free"] if mode is None else _mode(mode)
    arguments = arguments if mode is None else arguments[:-1]
    if len(arguments) > 1:
        raise CallError(
            "backward", "unrecognized arg(s), expecting tensor, optional gradient and mode"
        )
    tensors = list(handle.tensors())
    if any(tensor is None for tensor in tensors):
        raise CallError("backward", "undefined tensor", says=("tensor",))
    gradients = _outer_gradients(handle, tensors, arguments)
    run_backward(
        "backward",
        tensors,
        lambda: torch.autograd.backward(
            tensors, gradients, retain_graph=retain, create_graph=create
        ),
    )
    return NIL


def _outer(h: KHandle, x: Value) -> list[Value]:
    """The given output gradients, one for each tensor of a handle."""
    if h.__class__ is TensorHandle:
        return [x]
    if x.__class__ is VectorHandle and h.__class__ is VectorHandle:
        return list(map(tensor_handle, x.get()))
    if h.__class__ is DictHandle and isinstance(x, Dict | DictHandle):
        gradients = (
            {key: tensor_handle(tensor) for key, tensor in x.get().items()}
            if isinstance(x, DictHandle)
            else dict(zip(names_of(x.k) or (), seq_items(x.v), strict=False))
        )
        if gradients.keys() != h.get().keys():
            raise QError(
                f"backward: expected gradients of {_listed(h.get())}, given {_listed(gradients)}"
            )
        return [gradients[key] for key in h.get()]
    if isinstance(x, KHandle) or not is_list(x):
        raise CallError("backward", expected="a gradient for each tensor", given=kname(x))
    return seq_items(x)


def _listed(names: Iterable[str]) -> str:
    return "".join("`" + name for name in names)


def _gradient(g: Value, t: Tensor) -> Any:
    """The output gradient of a tensor, None if none was given; a single number is expanded."""
    if g is NIL:
        return None
    if not isinstance(g, TensorHandle) and not is_array(g):
        raise CallError(
            "backward", "unrecognized arg(s), expecting tensor, optional gradient and mode"
        )
    outer = as_tensor(g, like=t).to(t.dtype)
    return outer.expand_as(t) if outer.dim() == 0 else outer


# ------------------------------------------------------------------ clearing gradients


@api(
    "zerograd",
    "zerograd ptr",
    held=True,
    target="torch.optim.Optimizer.zero_grad",
    effect="changes",
)
def zerograd(x: Value) -> Value:
    """Set the gradients of a tensor, vector, dictionary, module, optimizer or model to zero.

    q)x:tensor(1 2e;`grad)
    q)backward Sum x
    q)zerograd x
    q)grad x
    0 0e
    """
    ask("zerograd", need_handle(x, "zerograd"))
    return NIL


@api("nograd", "nograd ptr", "nograd(f;x;..)", held=True, target="torch.no_grad", effect="changes")
def nograd(x: Value) -> Value:
    """Remove the gradients of a tensor, vector, dictionary, module, optimizer or model.

    With a q function and its arguments, evaluate the function without building an autograd graph.

    q)x:tensor(1 2e;`grad)
    q)backward Sum x
    q)nograd x
    q)(::)~grad x
    1b

    q)gradflag nograd({x*x};x)
    0b
    """
    args = items(x)
    if len(args) > 1 and isinstance(args[0], Function):
        with torch.no_grad():
            return applied(args[0], args[1:])
    ask("nograd", need_handle(x, "nograd"))
    return NIL


def zero_gradient(t: Tensor | None) -> None:
    """Zero a tensor's gradient, if it has one, and detach it from any graph."""
    gradient = None if t is None or not t.is_leaf else t.grad
    if gradient is not None:
        if gradient.grad_fn is not None:
            gradient.detach_()
        else:
            gradient.requires_grad_(False)
        gradient.zero_()


def drop_gradient(t: Tensor | None) -> None:
    """Remove a tensor's gradient. It must outlive its removal from the tensor: otherwise a thread reading it at that
    moment gets freed memory."""
    if t is not None and t.is_leaf:
        gradient = t.grad
        t.grad = None
        del gradient


@behaviour("zerograd", TensorHandle, VectorHandle, DictHandle)
def _zero(h: KHandle) -> None:
    for tensor in h.tensors():
        zero_gradient(tensor)


@behaviour("nograd", TensorHandle, VectorHandle, DictHandle)
def _drop(h: KHandle) -> None:
    for tensor in h.tensors():
        drop_gradient(tensor)
