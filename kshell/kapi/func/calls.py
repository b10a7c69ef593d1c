"""q functions as called by torch with tensor handles, and their inputs.

Derivatives use ordinary tensors, so a function may read their values and branch on them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import items, names_of
from kshell.kapi.base.convert import as_tensor, as_tensors, is_array, kname, to_q, to_tensor
from kshell.kapi.base.handles import (
    GONE,
    LENT,
    DictHandle,
    ModuleHandle,
    TensorHandle,
    VectorHandle,
    dict_handle,
    handle,
    tensor_handle,
    vector_handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.q_calls import applied
from kshell.kapi.module.forward import calculate, flat
from kshell.values.base.build import collapse, symdict
from kshell.values.base.core import Dict, List, Value, seq_items
from kshell.values.base.functions import Function
from kshell.values.base.narrow import is_text
from kshell.values.base.symbols import Sym
from kshell.values.session.context import perhaps

if TYPE_CHECKING:
    from torch import Tensor


def is_function(x: Value) -> bool:
    """Can x be the function in these calls: a function, its name or source text, or a module?"""
    return isinstance(x, Function | ModuleHandle) or x.__class__ is Sym or is_text(x)


# the names of the tensors in a dictionary argument, None for a single tensor
Names = Sequence[str] | None


def grouped(tensors: Sequence[Any], names: Sequence[Names]) -> list[Any]:
    """A flat list of tensors as arguments, with the tensors of each dictionary grouped."""
    if not any(names):
        return list(tensors)
    rest = iter(tensors)
    return [next(rest) if name is None else {k: next(rest) for k in name} for name in names]


class QFunction:
    """A q function as a function of tensors, for torch to call. It may return a tensor, an array, or a vector or
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
        own = [
            dict_handle(t) if isinstance(t, dict) else TensorHandle(t)
            for t in grouped(inputs, self.names)
        ]
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


class Later(QFunction):
    """A q function called during backward, possibly in the threads in which torch computes device gradients, which
    belong to no session."""

    def __init__(self, f: Value, call: str) -> None:
        super().__init__(f, call)
        self.context = copy_context()

    def __call__(self, *inputs: Any) -> Any:
        run = super().__call__
        return run(*inputs) if perhaps() is not None else self.context.copy().run(run, *inputs)


class _Depth(threading.local):
    """The depth of vmap calls in this thread: tensors are then tracked by torch.func, and only it can differentiate."""

    n = 0


VMAPS = _Depth()


class _Duals(threading.local):
    """Whether this thread is in a jvp call, where tensors may carry a tangent for forward mode."""

    inside = False


DUALS = _Duals()


def _direction(t: Tensor) -> Any:
    """The tangent of a tensor in a jvp call, None if it has none."""
    return (
        torch.autograd.forward_ad.unpack_dual(t).tangent if DUALS.inside and not VMAPS.n else None
    )


def _members(x: Value, call: str, dicts: bool) -> tuple[Sequence[Value], Names]:
    """The tensors and arrays of an input, and their names if it is a dictionary (allowed with `dicts`)."""
    if x.__class__ is TensorHandle or is_array(x):
        return [x], None
    if not dicts:
        raise CallError(call, expecting="tensor or array for input", given=kname(x))
    if x.__class__ is DictHandle:
        return [tensor_handle(value) for value in x.get().values()], list(x.get())
    names = names_of(x.k) if x.__class__ is Dict else None
    values = seq_items(x.v) if x.__class__ is Dict else []
    if names is None or not all(i.__class__ is TensorHandle or is_array(i) for i in values):
        raise CallError(
            call, expecting="tensor or array, or dictionary of these, for input", given=kname(x)
        )
    return values, names


class Call:
    """A function with its inputs, as passed to the functions here; arrays become new tensors. For an input that is a
    dictionary of tensors, each tensor is an input; `names` records which belong together."""

    def __init__(self, x: Value, call: str, least: int = 1, dicts: bool = True) -> None:
        args = items(x)
        if x.__class__ is not List or len(args) < 1 + least:
            raise QError(
                f"{call}: expecting (function;input;..), given {len(args)} arg{'s' * (len(args) != 1)}"
            )
        parts = [_members(i, call, dicts) for i in args[1:]]
        self.f = QFunction(args[0], call)
        self.f.names = self.names = [names for _, names in parts]
        each = [i for members, _ in parts for i in members]
        tensors, self.wrap = as_tensors(each)
        self.inputs = [
            tensor if i.__class__ is TensorHandle else tensor.clone()
            for i, tensor in zip(each, tensors, strict=True)
        ]
        # derivatives with respect to tensors that are part of a graph, or have a tangent, can be differentiated again
        self.directed = any(_direction(value) is not None for value in self.inputs)
        self.graph = self.directed or any(value.requires_grad for value in self.inputs)

    def leaves(self, inputs: Sequence[Any]) -> list[Any]:
        """Tensors to differentiate with respect to."""
        return [value.view_as(value) if value.requires_grad else _leaf(value) for value in inputs]

    def gradients(
        self, inputs: Sequence[Any], weights: Sequence[Any] | None = None
    ) -> tuple[Any, Sequence[Any]]:
        """The function's result, and its weighted derivatives with respect to the inputs."""
        if VMAPS.n:
            value, back = torch.func.vjp(self.f, *inputs)
            return value, back(torch.ones_like(value) if weights is None else weights)
        with torch.enable_grad():
            by = self.leaves(inputs)
            value = self._one(*by)
            if not value.requires_grad:
                return value, [torch.zeros_like(value) for value in inputs]
            return value, torch.autograd.grad(
                value, by, weights, create_graph=self.graph, materialize_grads=True
            )

    def directional(self, n: int) -> tuple[Any, Any]:
        """The function's result for the first n inputs, and its derivative in the direction of the others, by two
        backward passes: torch's forward mode supports one tangent, which an outer jvp call uses."""
        with torch.enable_grad():
            by = self.leaves(self.inputs[:n])
            value = self._one(*by)
            if not value.requires_grad:
                return value, torch.zeros_like(value)
            weights = torch.zeros_like(value).detach().requires_grad_()
            grads = torch.autograd.grad(
                value, by, weights, create_graph=True, materialize_grads=True
            )
            if not any(t.requires_grad for t in grads):
                return value, torch.zeros_like(value)
            grads = [
                (grad, value)
                for grad, value in zip(grads, self.inputs[n:], strict=True)
                if grad.requires_grad
            ]
            return value, torch.autograd.grad(
                [t for t, _ in grads],
                weights,
                [v for _, v in grads],
                create_graph=True,
                materialize_grads=True,
            )[0]

    def by_input(self, found: Sequence[Any]) -> Any:
        """Group a list with one item per tensor by input; for a single input, just its items."""
        groups = grouped(found, self.names)
        return groups[0] if len(groups) == 1 else groups

    def all(self, transform: Callable[..., Any], times: int) -> Value:
        """All first or second derivatives, by a function from torch.autograd.functional."""
        results = self._all(transform, times)
        if not any(self.names):
            return wrapped(results, self.wrap)
        if len(self.inputs) == 1:
            results = [results] if times == 1 else [[results]]
        return wrapped(
            self.by_input(results if times == 1 else [self.by_input(row) for row in results]),
            self.wrap,
        )

    def _one(self, *inputs: Any) -> Any:
        """The function's result, which must be one tensor."""
        result = self.f(*inputs)
        if not isinstance(result, torch.Tensor):
            raise QError(f"{self.f.call}: the function must return one tensor, given {len(result)}")
        return result

    def _all(self, transform: Callable[..., Any], times: int) -> Any:
        if VMAPS.n:
            at = 0 if len(self.inputs) == 1 else tuple(range(len(self.inputs)))
            f: Any = self._one if any(self.names) else self.f
            for _ in range(times):
                f = torch.func.jacrev(f, at)
            return f(*self.inputs)
        inputs = self.leaves(self.inputs) if self.directed else self.inputs
        args = inputs[0] if len(inputs) == 1 else tuple(inputs)
        with torch.enable_grad():
            return transform(
                self._one if any(self.names) else self.f,
                args,
                create_graph=self.graph,
                vectorize=not self.directed,
            )


def _leaf(t: Tensor) -> Any:
    """A tensor with the same values and tangent, to differentiate with respect to."""
    direction, leaf = _direction(t), t.detach().requires_grad_()
    return leaf if direction is None else torch.autograd.forward_ad.make_dual(leaf, direction)


def wrapped(found: Any, wrap: bool) -> Value:
    """A result: a tensor or array; several become a vector or list, named ones a dictionary, lists of these a list."""
    if isinstance(found, torch.Tensor):
        return TensorHandle(found) if wrap else to_q(found)
    if isinstance(found, dict):
        if wrap and all(isinstance(value, torch.Tensor) for value in found.values()):
            return dict_handle(found)
        return symdict(list(found), [wrapped(value, wrap) for value in found.values()])
    if wrap and all(isinstance(t, torch.Tensor) for t in found):
        return vector_handle(found)
    return collapse([wrapped(t, wrap) for t in found])
