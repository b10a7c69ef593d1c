"""Functions of q that torch differentiates and vectorizes: autograd, jacobian, hessian, jvp, vjp, vmap.

The function is called with handles of tensors and gives a handle. Derivatives are those of tensors that are as any
others, so that the function may read their values and decide by them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any

from kshell import nn
from kshell.errors import CallError, QError, first_line
from kshell.kapi.base.args import items, name_of, names_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import as_tensor, as_tensors, dtype_name, is_array, kname, to_q, to_tensor
from kshell.kapi.base.errors import reported
from kshell.kapi.base.handles import (
    GONE,
    LENT,
    DictHandle,
    ModuleHandle,
    TensorHandle,
    VectorHandle,
    dict_handle,
    handle,
    table,
    tensor_handle,
    vector_handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.q_calls import applied
from kshell.kapi.module.forward import calculate, flat
from kshell.kapi.tensor.gradients import MODES
from kshell.values.base.build import collapse, symdict
from kshell.values.base.core import NIL, Dict, List, Sym, Value, is_text, seq_items
from kshell.values.base.functions import Function
from kshell.values.session.context import perhaps

EFFECT = "none"  # of the functions here, if they say nothing else


def is_function(x: Value) -> bool:
    """Can x be the function of these calls: a function, its name or source text, or a module?"""
    return isinstance(x, Function | ModuleHandle) or x.__class__ is Sym or is_text(x)


# the names of the tensors of an argument that is a dictionary of them, None for one tensor
Names = Sequence[str] | None


def grouped(tensors: Sequence[Any], names: Sequence[Names]) -> list[Any]:
    """Tensors one after the other as arguments: those of a dictionary together."""
    if not any(names):
        return list(tensors)
    rest = iter(tensors)
    return [next(rest) if n is None else {k: next(rest) for k in n} for n in names]


class QFunction:
    """A function of q as one of tensors, for torch to call. It may give a tensor, an array, or a vector or
    dictionary of tensors."""

    def __init__(self, f: Value, call: str) -> None:
        if not is_function(f):
            raise CallError(call, expecting="function, its name or text, or module", given=kname(f))
        handle(f)
        self.f, self.call = f, call
        self.names: Sequence[Names] = ()

    def __call__(self, *inputs: Any) -> Any:
        if isinstance(self.f, ModuleHandle):
            outputs = flat(calculate(self.f.get(), inputs))
            return outputs[0] if len(outputs) == 1 else tuple(outputs)
        own = [dict_handle(t) if isinstance(t, dict) else TensorHandle(t) for t in grouped(inputs, self.names)]
        try:
            return self._tensors(applied(self.f, own))
        finally:
            for h in own:
                h.free(LENT)

    def _tensors(self, found: Value) -> Any:
        if found.__class__ is TensorHandle and found.obj is not GONE and found.obj is not None:
            return found.obj
        if found.__class__ is VectorHandle and found.obj is not GONE:
            return tuple(found.obj)
        if found.__class__ is DictHandle and found.obj is not GONE:
            return dict(found.obj)
        if is_array(found):
            return to_tensor(found)
        if found.__class__ is List and any(i.__class__ is TensorHandle for i in found.items):
            return tuple(as_tensor(i) for i in found.items)
        raise QError(f"{self.call}: the function must return a tensor, given {kname(found)}")


class _Later(QFunction):
    """A function of q that a backward calculation calls, also in the threads that torch calculates the gradients of
    devices in, which know of no session."""

    def __init__(self, f: Value, call: str) -> None:
        super().__init__(f, call)
        self.context = copy_context()

    def __call__(self, *inputs: Any) -> Any:
        run = super().__call__
        return run(*inputs) if perhaps() is not None else self.context.copy().run(run, *inputs)


class _Depth(threading.local):
    """How many calls of vmap this thread is in: tensors are then followed by torch.func, and only it differentiates."""

    n = 0


_VMAPS = _Depth()


class _Duals(threading.local):
    """Whether this thread is in a call of jvp: tensors may then have a direction, which is followed forwards."""

    inside = False


_DUALS = _Duals()


def _direction(t: Any) -> Any:
    """The direction of a tensor in a call of jvp, None if it has none."""
    return torch.autograd.forward_ad.unpack_dual(t).tangent if _DUALS.inside and not _VMAPS.n else None


def _members(x: Value, call: str, dicts: bool) -> tuple[Sequence[Value], Names]:
    """The tensors and arrays of an input, and their names if it is a dictionary, as with `dicts` it may be."""
    if x.__class__ is TensorHandle or is_array(x):
        return [x], None
    if not dicts:
        raise CallError(call, expecting="tensor or array for input", given=kname(x))
    if x.__class__ is DictHandle:
        return [tensor_handle(t) for t in x.get().values()], list(x.get())
    names = names_of(x.k) if x.__class__ is Dict else None
    if names is None or not all(i.__class__ is TensorHandle or is_array(i) for i in seq_items(x.v)):
        raise CallError(call, expecting="tensor or array, or dictionary of these, for input", given=kname(x))
    return seq_items(x.v), names


class Call:
    """A function with its inputs, as the functions here are given them: arrays have been made tensors of their own.
    Of an input that is a dictionary of tensors, each is an input; `names` knows which belong together."""

    def __init__(self, x: Value, call: str, least: int = 1, dicts: bool = True) -> None:
        args = items(x)
        if x.__class__ is not List or len(args) < 1 + least:
            raise QError(f"{call}: expecting (function;input;..), given {len(args)} arg{'s' * (len(args) != 1)}")
        parts = [_members(i, call, dicts) for i in args[1:]]
        self.f = QFunction(args[0], call)
        self.f.names = self.names = [names for _, names in parts]
        each = [i for members, _ in parts for i in members]
        tensors, self.wrap = as_tensors(each)
        self.inputs = [t if i.__class__ is TensorHandle else t.clone() for i, t in zip(each, tensors, strict=True)]
        # derivatives by tensors that are part of a graph, or have a direction, can be differentiated again
        self.directed = any(_direction(t) is not None for t in self.inputs)
        self.graph = self.directed or any(t.requires_grad for t in self.inputs)

    def leaves(self, inputs: Sequence[Any]) -> list[Any]:
        """Tensors to differentiate by."""
        return [t.view_as(t) if t.requires_grad else _leaf(t) for t in inputs]

    def gradients(self, inputs: Sequence[Any], weights: Any = None) -> tuple[Any, Sequence[Any]]:
        """The function's result, and its derivatives by the inputs, weighed."""
        if _VMAPS.n:
            value, back = torch.func.vjp(self.f, *inputs)
            return value, back(torch.ones_like(value) if weights is None else weights)
        with torch.enable_grad():
            by = self.leaves(inputs)
            value = self._one(*by)
            if not value.requires_grad:
                return value, [torch.zeros_like(t) for t in inputs]
            return value, torch.autograd.grad(value, by, weights, create_graph=self.graph, materialize_grads=True)

    def directional(self, n: int) -> tuple[Any, Any]:
        """The function's result of the first n inputs, and its derivative in the direction of the others, by two
        backward calculations: torch follows one direction forwards, and another call of jvp has it."""
        with torch.enable_grad():
            by = self.leaves(self.inputs[:n])
            value = self._one(*by)
            if not value.requires_grad:
                return value, torch.zeros_like(value)
            weights = torch.zeros_like(value).detach().requires_grad_()
            grads = torch.autograd.grad(value, by, weights, create_graph=True, materialize_grads=True)
            if not any(t.requires_grad for t in grads):
                return value, torch.zeros_like(value)
            grads = [(t, v) for t, v in zip(grads, self.inputs[n:], strict=True) if t.requires_grad]
            return value, torch.autograd.grad([t for t, _ in grads], weights, [v for _, v in grads], create_graph=True,
                                              materialize_grads=True)[0]

    def by_input(self, found: Sequence[Any]) -> Any:
        """Group one item for each tensor by input; for a single input, its items alone."""
        groups = grouped(found, self.names)
        return groups[0] if len(groups) == 1 else groups

    def all(self, transform: Callable[..., Any], times: int) -> Value:
        """All derivatives, of the first or second order, by one of torch.autograd.functional's functions."""
        results = self._all(transform, times)
        if not any(self.names):
            return wrapped(results, self.wrap)
        if len(self.inputs) == 1:
            results = [results] if times == 1 else [[results]]
        return wrapped(self.by_input(results if times == 1 else [self.by_input(row) for row in results]), self.wrap)

    def _one(self, *inputs: Any) -> Any:
        """The function's result, which is to be one tensor."""
        result = self.f(*inputs)
        if not isinstance(result, torch.Tensor):
            raise QError(f"{self.f.call}: the function must return one tensor, given {len(result)}")
        return result

    def _all(self, transform: Callable[..., Any], times: int) -> Any:
        if _VMAPS.n:
            at = 0 if len(self.inputs) == 1 else tuple(range(len(self.inputs)))
            f: Any = self._one if any(self.names) else self.f
            for _ in range(times):
                f = torch.func.jacrev(f, at)
            return f(*self.inputs)
        inputs = self.leaves(self.inputs) if self.directed else self.inputs
        args = inputs[0] if len(inputs) == 1 else tuple(inputs)
        with torch.enable_grad():
            return transform(self._one if any(self.names) else self.f, args, create_graph=self.graph,
                             vectorize=not self.directed)


def _leaf(t: Any) -> Any:
    """A tensor of the same values, with the same direction, to differentiate by."""
    direction, leaf = _direction(t), t.detach().requires_grad_()
    return leaf if direction is None else torch.autograd.forward_ad.make_dual(leaf, direction)


def wrapped(found: Any, wrap: bool) -> Value:
    """A result: a tensor or array; of several a vector or list, of names a dictionary, of lists of these a list."""
    if isinstance(found, torch.Tensor):
        return TensorHandle(found) if wrap else to_q(found)
    if isinstance(found, dict):
        if wrap and all(isinstance(t, torch.Tensor) for t in found.values()):
            return dict_handle(found)
        return symdict(list(found), [wrapped(t, wrap) for t in found.values()])
    if wrap and all(isinstance(t, torch.Tensor) for t in found):
        return vector_handle(found)
    return collapse([wrapped(t, wrap) for t in found])


@api("autograd", "autograd(f;x;..)", "autograd(t;x)", "autograd(t;x;mode)", since="kshell",
     target="torch.autograd.grad")
def autograd(x: Value) -> Value:
    """The gradient of a function that gives a scalar, at its input; of several inputs, a list of gradients.

    The function is a lambda, a name, a text or a module, and takes tensors; its inputs are arrays or tensors, or
    dictionaries of these, as `parms` gives one: the gradient is a dictionary then. Of a tensor that was calculated
    already, the gradient by a tensor, vector or dictionary that it came from: what `grad` holds stays as it is. The
    mode is that of `backward`: free, retain, create, createfree.

    q)autograd({Sum x*x*x};1 2 3e)
    3 12 27e
    q)autograd({Sum x*y};1 2e;3 4e)
    3 4
    1 2

    q)w:tensor(1 2e;`grad)
    q)tensor autograd(Sum w*w;w)
    2 4e
    """
    args = items(x)
    if args and args[0].__class__ is TensorHandle:
        return _of_tensor(args)
    c = Call(x, "autograd")
    return wrapped(c.by_input(c.gradients(c.inputs)[1]), c.wrap)


def _of_tensor(given: Sequence[Value]) -> Value:
    y = as_tensor(given[0])
    if not 2 <= len(given) <= 3 or not isinstance(given[1], TensorHandle | VectorHandle | DictHandle):
        raise CallError("autograd", "expecting (tensor;tensor, vector or dictionary) and optional mode")
    mode = name_of(given[2]) if len(given) == 3 else "free"
    if mode not in MODES:
        raise CallError("autograd", "unrecognized mode, expecting one of " + "".join("`" + m for m in MODES))
    retain, create = MODES[mode]
    held = as_tensor(given[1]) if given[1].__class__ is TensorHandle else given[1].get()
    by = list(held.values()) if isinstance(held, dict) else held
    gradients = torch.autograd.grad(y, by, retain_graph=retain, create_graph=create, materialize_grads=True)
    if isinstance(held, torch.Tensor):
        return TensorHandle(gradients[0])
    return dict_handle(dict(zip(held, gradients, strict=True))) if isinstance(held, dict) else vector_handle(gradients)


@api("jacobian", "jacobian(f;x;..)", since="kshell", target="torch.autograd.functional.jacobian")
def jacobian(x: Value) -> Value:
    """All derivatives of a function's result by its input: the size of the result, then that of the input. Of several
    inputs, a list.

    q)jacobian({x*x};1 2 3e)
    2 0 0
    0 4 0
    0 0 6
    """
    return Call(x, "jacobian").all(torch.autograd.functional.jacobian, 1)


@api("hessian", "hessian(f;x;..)", since="kshell", target="torch.autograd.functional.hessian")
def hessian(x: Value) -> Value:
    """All second derivatives of a function that gives a scalar. Of several inputs, a list of lists.

    q)hessian({prd x};1 2 3e)
    0 3 2
    3 0 1
    2 1 0
    """
    return Call(x, "hessian").all(torch.autograd.functional.hessian, 2)


@api("vmap", "vmap(f;x;..)", since="kshell", target="torch.func.vmap")
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
            raise CallError("vmap", "tensor has no dimensions")
    before = TensorHandle(None).number
    _VMAPS.n += 1
    try:
        result = torch.func.vmap(c.f, randomness="different")(*c.inputs)
    finally:
        _VMAPS.n -= 1
        for h in table():
            if h.number > before:
                h.free(LENT)
    return wrapped(result, c.wrap)


@api("jvp", "jvp(f;x;..;v;..)", since="kshell", target="torch.func.jvp")
def jvp(x: Value) -> Value:
    """A function's result, and its derivative in a direction: one direction for each input.

    q)jvp({x*x};1 2 3e;1 0 1e)
    1 4 9
    2 0 6
    """
    c = Call(x, "jvp", 2)
    n, half = len(c.inputs) // 2, len(c.names) // 2
    if len(c.names) % 2 or c.names[:half] != c.names[half:]:
        raise CallError("jvp", "expecting (function;input;..;direction;..), one direction for each input")
    c.f.names = c.names[:half]
    if _VMAPS.n:
        return wrapped(torch.func.jvp(c.f, tuple(c.inputs[:n]), tuple(c.inputs[n:])), c.wrap)
    if _DUALS.inside:
        return wrapped(c.directional(n), c.wrap)
    forward = torch.autograd.forward_ad
    _DUALS.inside = True
    try:
        with forward.dual_level():
            dual = c._one(*[forward.make_dual(t, v) for t, v in zip(c.inputs[:n], c.inputs[n:], strict=True)])
            value, direction = forward.unpack_dual(dual)
            result = value, torch.zeros_like(value) if direction is None else direction
    finally:
        _DUALS.inside = False
    return wrapped(result, c.wrap)


@api("vjp", "vjp(f;x;..;v)", since="kshell", target="torch.func.vjp")
def vjp(x: Value) -> Value:
    """A function's result, and its derivative by each input, weighed by a tensor of the size of the result.

    q)vjp({x*x};1 2 3e;1 0 10e)
    1 4 9
    2 0 60
    """
    c = Call(x, "vjp", 2)
    if c.names[-1] is not None:
        raise CallError("vjp", "expecting a tensor or array for weights")
    c.f.names = c.names[:-1]
    value, gradients = c.gradients(c.inputs[:-1], c.inputs[-1])
    return wrapped((value if c.graph else value.detach(), *grouped(gradients, c.f.names)), c.wrap)


@api("customgrad", "customgrad(f;b;x;..)", since="kshell", target="torch.autograd.Function")
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
    args = items(x)
    if x.__class__ is not List or len(args) < 3:
        raise QError(f"customgrad: expecting (function;function of gradient and inputs;input;..), given {len(args)} "
                     f"arg{'s' * (len(args) != 1)}")
    c = Call(List([args[0], *args[2:]]), "customgrad", dicts=False)
    back = _Later(args[1], "customgrad")

    def gradients(*tensors: Any) -> Any:
        results = back(*tensors)
        n = len(results) if isinstance(results, tuple) else 1
        if n != len(c.inputs):
            raise QError(f"customgrad: {len(c.inputs)} gradients expected, one for each input, given {n}")
        return results

    return wrapped(nn.custom.Custom.apply(c.f, gradients, *c.inputs), c.wrap)


@api("gradcheck", "gradcheck(f;x;..)", since="torch", target="torch.autograd.gradcheck")
def gradcheck(x: Value) -> Value:
    """Are the gradients of a function those that small changes of its inputs show? 1b, or an error that says where they
    are not: for functions with a `customgrad` of one's own. Inputs are taken as doubles.

    q)gradcheck({customgrad({x*x};{[d;x]2*d*x};x)};1 2 3)
    1b
    """
    c = Call(x, "gradcheck")
    if isinstance(c.f.f, ModuleHandle):
        for t in c.f.f.get().parameters():
            if t.is_floating_point() and t.dtype is not torch.float64:
                raise CallError("gradcheck",
                                f"the parameters of the module are {dtype_name(t.dtype)}, expecting double")
    inputs = [t.detach().to(torch.float64, copy=True).requires_grad_() for t in c.inputs]
    from torch.autograd.gradcheck import GradcheckError

    try:
        return bool(torch.autograd.gradcheck(c.f, inputs))
    except GradcheckError as exc:
        error = reported("gradcheck", exc, first_line(str(exc)).rstrip(","))
    raise error


class _Hook(_Later):
    """The hook that `registerhook` sets on a tensor."""

    def __call__(self, *inputs: Any) -> Any:
        gradient = super().__call__(*inputs)
        if gradient is not None and (not isinstance(gradient, torch.Tensor) or gradient.shape != inputs[0].shape):
            raise CallError("registerhook",
                            f"the function must return a gradient of size {list(inputs[0].shape)}, or ::")
        return None if gradient is None else gradient.to(inputs[0].dtype)

    def _tensors(self, found: Value) -> Any:
        return None if found is NIL else super()._tensors(found)


@api("registerhook", "registerhook(t;f)", "registerhook(t;::)", since="torch", target="torch.Tensor.register_hook",
     effect="changes")
def registerhook(x: Value) -> Value:
    """Let `backward` call a function with the gradient of a tensor, when it has calculated it. What the function gives
    takes the gradient's place; if that is ::, the gradient stays. With :: as the function, those of the tensor go.

    q)w:tensor(1 2 3e;`grad)
    q)registerhook(w;{x*1 0 1e})
    q)backward Sum w*w
    q)grad w
    2 0 6e
    """
    args = items(x)
    if len(args) != 2 or args[0].__class__ is not TensorHandle:
        raise CallError("registerhook", "expecting (tensor;function)")
    t = as_tensor(args[0])
    if args[1] is NIL:
        hooks = t._backward_hooks or {}
        for k in [k for k, f in hooks.items() if isinstance(f, _Hook)]:
            del hooks[k]
    else:
        t.register_hook(_Hook(args[1], "registerhook"))
    return NIL


@api("retaingrad", "retaingrad t", since="torch", target="torch.Tensor.retain_grad", effect="changes")
def retaingrad(x: Value) -> Value:
    """Let `grad` have the gradient of a tensor that was calculated from others, too.

    q)w:tensor(1 2 3e;`grad)
    q)y:w*w
    q)retaingrad y
    q)backward Sum 2*y
    q)grad y
    2 2 2e
    """
    if x.__class__ is not TensorHandle:
        raise CallError("retaingrad", expecting="a tensor", given=kname(x))
    as_tensor(x).retain_grad()
    return NIL
