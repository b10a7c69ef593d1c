"""Functions of q that torch differentiates and vectorizes: autograd, jacobian, hessian, jvp, vjp, vmap.

The function is called with handles of tensors and gives a handle. Derivatives are those of tensors that are as any
others, so that the function may read their values and decide by them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any

from kshell.errors import QError, as_qerror
from kshell.kapi.args import items, name_of
from kshell.kapi.call import api, torch
from kshell.kapi.convert import as_tensor, as_tensors, is_array, kname, to_q, to_tensor
from kshell.kapi.forward import calculate, flat
from kshell.kapi.gradients import MODES
from kshell.kapi.handles import GONE, ModuleHandle, TensorHandle, VectorHandle, handle, table, vector_handle
from kshell.values import types as T
from kshell.values.apply import apply
from kshell.values.build import collapse
from kshell.values.context import perhaps, running
from kshell.values.core import List, Sym, Value, Vec, text_of
from kshell.values.functions import Function


def is_function(x: Value) -> bool:
    """Can x be the function of these calls: a function, its name or source text, or a module?"""
    return isinstance(x, Function | ModuleHandle) or x.__class__ is Sym or (x.__class__ is Vec and x.t == T.C)


def applied(f: Value, args: Sequence[Value]) -> Value:
    """f of q values; foreign exceptions become q errors, as anywhere in q."""
    error: QError
    try:
        if f.__class__ is Vec:
            f = running().evaluate(text_of(f))
        return apply(f, args)
    except QError:
        raise
    except Exception as exc:
        error = as_qerror(exc).with_traceback(exc.__traceback__)  # which has the q frames
    raise error


class QFunction:
    """A function of q as one of tensors, for torch to call. It may give a tensor, an array, or a vector of tensors."""

    def __init__(self, f: Value, call: str) -> None:
        if not is_function(f):
            raise QError(f"{call}: expecting function, its name or text, or module, given {kname(f)}")
        handle(f)
        self.f, self.call = f, call

    def __call__(self, *inputs: Any) -> Any:
        if isinstance(self.f, ModuleHandle):
            found = flat(calculate(self.f.get(), inputs))
            return found[0] if len(found) == 1 else tuple(found)
        own = [TensorHandle(t) for t in inputs]
        try:
            return self._tensors(applied(self.f, own))
        finally:
            for h in own:
                h.free()

    def _tensors(self, found: Value) -> Any:
        if found.__class__ is TensorHandle and found.obj is not GONE and found.obj is not None:
            return found.obj
        if found.__class__ is VectorHandle and found.obj is not GONE:
            return tuple(found.obj)
        if is_array(found):
            return to_tensor(found)
        if found.__class__ is List and any(i.__class__ is TensorHandle for i in found.items):
            return tuple(as_tensor(i) for i in found.items)
        raise QError(f"{self.call}: the function must return a tensor, given {kname(found)}")


class _Depth(threading.local):
    """How many calls of vmap this thread is in: tensors are then followed by torch.func, and only it differentiates."""

    n = 0


_VMAPS = _Depth()


class Call:
    """A function with its inputs, as the functions here are given them: arrays have been made tensors of their own."""

    def __init__(self, x: Value, call: str, least: int = 1) -> None:
        given = items(x)
        if x.__class__ is not List or len(given) < 1 + least:
            raise QError(f"{call}: expecting (function;input;..), given {len(given)} arg{'s' * (len(given) != 1)}")
        for i in given[1:]:
            if i.__class__ is not TensorHandle and not is_array(i):
                raise QError(f"{call}: expecting tensor or array for input, given {kname(i)}")
        self.f = QFunction(given[0], call)
        found, self.wrap = as_tensors(given[1:])
        self.inputs = [t if i.__class__ is TensorHandle else t.clone() for i, t in zip(given[1:], found, strict=True)]
        # derivatives by tensors that are part of a graph can be differentiated again
        self.graph = any(t.requires_grad for t in self.inputs)

    def leaves(self, inputs: Sequence[Any]) -> list[Any]:
        """Tensors to differentiate by."""
        return [t.view_as(t) if t.requires_grad else t.detach().requires_grad_() for t in inputs]

    def gradients(self, inputs: Sequence[Any], weights: Any = None) -> tuple[Any, Sequence[Any]]:
        """The function's result, and its derivatives by the inputs, weighed."""
        if _VMAPS.n:
            out, back = torch.func.vjp(self.f, *inputs)
            return out, back(torch.ones_like(out) if weights is None else weights)
        with torch.enable_grad():
            by = self.leaves(inputs)
            out = self.f(*by)
            if not isinstance(out, torch.Tensor):
                raise QError(f"{self.f.call}: the function must return one tensor, given {len(out)}")
            if not out.requires_grad:
                return out, [torch.zeros_like(t) for t in inputs]
            return out, torch.autograd.grad(out, by, weights, create_graph=self.graph, materialize_grads=True)

    def all(self, transform: Callable[..., Any], times: int) -> Value:
        """All derivatives, of the first or second order, by one of torch.autograd.functional's functions."""
        if _VMAPS.n:
            at = 0 if len(self.inputs) == 1 else tuple(range(len(self.inputs)))
            f: Any = self.f
            for _ in range(times):
                f = torch.func.jacrev(f, at)
            return wrapped(f(*self.inputs), self.wrap)
        given = self.inputs[0] if len(self.inputs) == 1 else tuple(self.inputs)
        with torch.enable_grad():
            return wrapped(transform(self.f, given, create_graph=self.graph, vectorize=True), self.wrap)


def wrapped(found: Any, wrap: bool) -> Value:
    """A result: a tensor or array; of several a vector or list, of lists of these a list."""
    if isinstance(found, torch.Tensor):
        return TensorHandle(found) if wrap else to_q(found)
    if wrap and all(isinstance(t, torch.Tensor) for t in found):
        return vector_handle(found)
    return collapse([wrapped(t, wrap) for t in found])


@api("autograd", "autograd(f;x;..)", "autograd(t;x)", "autograd(t;x;mode)", since="kshell")
def autograd(x: Value) -> Value:
    """The gradient of a function that gives a scalar, at its input; of several inputs, a list of gradients.

    The function is a lambda, a name, a text or a module, and takes tensors; its inputs are arrays or tensors. Of a
    tensor that was calculated already, the gradient by a tensor or vector that it came from: what `grad` holds stays as
    it is. The mode is that of `backward`: free, retain, create, createfree.

    q)autograd({Sum x*x*x};1 2 3e)
    3 12 27e
    q)autograd({Sum x*y};1 2e;3 4e)
    3 4
    1 2

    q)w:tensor(1 2e;`grad)
    q)tensor autograd(Sum w*w;w)
    2 4e
    """
    given = items(x)
    if given and given[0].__class__ is TensorHandle:
        return _of_tensor(given)
    c = Call(x, "autograd")
    found = c.gradients(c.inputs)[1]
    return wrapped(found[0] if len(found) == 1 else found, c.wrap)


def _of_tensor(given: Sequence[Value]) -> Value:
    y = as_tensor(given[0])
    if not 2 <= len(given) <= 3 or not isinstance(given[1], TensorHandle | VectorHandle):
        raise QError("autograd: expecting (tensor;tensor or vector) and optional mode")
    mode = name_of(given[2]) if len(given) == 3 else "free"
    if mode not in MODES:
        raise QError("autograd: unrecognized mode, expecting one of " + "".join("`" + m for m in MODES))
    retain, create = MODES[mode]
    single = given[1].__class__ is TensorHandle
    by = [as_tensor(given[1])] if single else list(given[1].get())
    found = torch.autograd.grad(y, by, retain_graph=retain, create_graph=create, materialize_grads=True)
    return TensorHandle(found[0]) if single else vector_handle(found)


@api("jacobian", "jacobian(f;x;..)", since="kshell")
def jacobian(x: Value) -> Value:
    """All derivatives of a function's result by its input: the size of the result, then that of the input. Of several
    inputs, a list.

    q)jacobian({x*x};1 2 3e)
    2 0 0
    0 4 0
    0 0 6
    """
    return Call(x, "jacobian").all(torch.autograd.functional.jacobian, 1)


@api("hessian", "hessian(f;x;..)", since="kshell")
def hessian(x: Value) -> Value:
    """All second derivatives of a function that gives a scalar. Of several inputs, a list of lists.

    q)hessian({prd x};1 2 3e)
    0 3 2
    3 0 1
    2 1 0
    """
    return Call(x, "hessian").all(torch.autograd.functional.hessian, 2)


@api("vmap", "vmap(f;x;..)", since="kshell")
def vmap(x: Value) -> Value:
    """A function of the items of tensors or arrays, along their first dimension, for all items at once.

    The function sees tensors of one item, whose values it cannot read, for they have many; what it makes of them is
    freed when it ends. A projection holds what is the same for all. With autograd in it, a gradient for each item.

    q)vmap({x mmu y};2 2 2#1 2 3 4 5 6 7 8e;2 2#1 0 0 1e)
    1 3
    6 8
    q)vmap({[w;x]autograd({[x;w]Sum w*w*x}[x];w)}[tensor 1 2e];2 2#1 1 10 0e)
    2  4
    20 0
    """
    c = Call(x, "vmap")
    for t in c.inputs:
        if not t.dim():
            raise QError("vmap: tensor has no dimensions")
    before = TensorHandle(None).number
    _VMAPS.n += 1
    try:
        found = torch.func.vmap(c.f, randomness="different")(*c.inputs)
    finally:
        _VMAPS.n -= 1
        for h in table():
            if h.number > before:
                h.free()
    return wrapped(found, c.wrap)


@api("jvp", "jvp(f;x;..;v;..)", since="kshell")
def jvp(x: Value) -> Value:
    """A function's result, and its derivative in a direction: one direction for each input.

    q)jvp({x*x};1 2 3e;1 0 1e)
    1 4 9
    2 0 6
    """
    c = Call(x, "jvp", 2)
    n = len(c.inputs) // 2
    if len(c.inputs) % 2:
        raise QError("jvp: expecting (function;input;..;direction;..), one direction for each input")
    if _VMAPS.n:
        return wrapped(torch.func.jvp(c.f, tuple(c.inputs[:n]), tuple(c.inputs[n:])), c.wrap)
    forward = torch.autograd.forward_ad
    with forward.dual_level():
        out = c.f(*[forward.make_dual(t, v) for t, v in zip(c.inputs[:n], c.inputs[n:], strict=True)])
        if not isinstance(out, torch.Tensor):
            raise QError(f"jvp: the function must return one tensor, given {len(out)}")
        value, direction = forward.unpack_dual(out)
        found = value, torch.zeros_like(value) if direction is None else direction
    return wrapped(found, c.wrap)


@api("vjp", "vjp(f;x;..;v)", since="kshell")
def vjp(x: Value) -> Value:
    """A function's result, and its derivative by each input, weighed by a tensor of the size of the result.

    q)vjp({x*x};1 2 3e;1 0 10e)
    1 4 9
    2 0 60
    """
    c = Call(x, "vjp", 2)
    out, found = c.gradients(c.inputs[:-1], c.inputs[-1])
    return wrapped((out if c.graph else out.detach(), *found), c.wrap)


@api("customgrad", "customgrad(f;b;x;..)", since="kshell")
def customgrad(x: Value) -> Value:
    """A function's result, with a backward calculation of one's own: b is given the gradient of the result and then the
    inputs, and gives the gradient of the input; of several inputs, a list of gradients.

    q)t:tensor(-2 .5 3e;`grad)
    q)y:customgrad(signum;{[d;x]d*1>=abs x};t)
    q)backward Sum y*1 2 3e
    q)(tensor y;grad t)
    -1 1 1
    0  2 0

    q)autograd({Sum customgrad({x*y};{[d;x;y](d*y;2*d*x)};x;y)};1 2e;3 4e)
    3 4
    2 4
    """
    given = items(x)
    if x.__class__ is not List or len(given) < 3:
        raise QError(f"customgrad: expecting (function;function of gradient and inputs;input;..), given {len(given)} "
                     f"arg{'s' * (len(given) != 1)}")
    c = Call(List([given[0], *given[2:]]), "customgrad")
    back, context = QFunction(given[1], "customgrad"), copy_context()

    def gradients(*tensors: Any) -> Any:
        # the gradients of a device are calculated in a thread that knows of no session
        found = back(*tensors) if perhaps() is not None else context.copy().run(back, *tensors)
        n = len(found) if isinstance(found, tuple) else 1
        if n != len(c.inputs):
            raise QError(f"customgrad: {len(c.inputs)} gradients expected, one for each input, given {n}")
        return found

    from kshell.nn.custom import Custom

    return wrapped(Custom.apply(c.f, gradients, *c.inputs), c.wrap)  # type: ignore[no-untyped-call]
