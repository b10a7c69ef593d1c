"""Derivatives and vectorization of q functions: autograd, jacobian, hessian, jvp, vjp, vmap.

The function is called with tensor handles and returns a handle. Derivatives use ordinary tensors, so the function may
read their values and branch on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kshell import nn
from kshell.errors import CallError, QError, first_line
from kshell.kapi.base.args import items, name_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import as_tensor, dtype_name, kname
from kshell.kapi.base.errors import reported
from kshell.kapi.base.handles import (
    LENT,
    DictHandle,
    ModuleHandle,
    TensorHandle,
    VectorHandle,
    dict_handle,
    table,
    vector_handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.func.calls import DUALS, VMAPS, Call, Later, grouped, wrapped
from kshell.kapi.tensor.gradients import MODES
from kshell.values.base.core import NIL, List, Value

EFFECT = "none"  # default for the functions here


@api(
    "autograd",
    "autograd(f;x;..)",
    "autograd(t;x)",
    "autograd(t;x;mode)",
    since="kshell",
    target="torch.autograd.grad",
)
def autograd(x: Value) -> Value:
    """The gradient of a scalar-valued function at its input; for several inputs, a list of gradients.

    The function is a lambda, a name, source text or a module, and takes tensors. Inputs are arrays or tensors, or
    dictionaries of these such as `parms` returns; the gradient is then a dictionary. For a tensor that has already been
    computed, returns its gradient with respect to a tensor, vector or dictionary it depends on; the gradients stored
    for `grad` are unchanged. Modes are as for `backward`: free, retain, create, createfree.

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
    if not 2 <= len(given) <= 3 or not isinstance(
        given[1], TensorHandle | VectorHandle | DictHandle
    ):
        raise CallError(
            "autograd", "expecting (tensor;tensor, vector or dictionary) and optional mode"
        )
    mode = name_of(given[2]) if len(given) == 3 else "free"
    if mode not in MODES:
        raise CallError(
            "autograd",
            "unrecognized mode, expecting one of " + "".join("`" + mode for mode in MODES),
            says=(*(f"`{m}" for m in MODES),),
        )
    retain, create = MODES[mode]
    held = as_tensor(given[1]) if given[1].__class__ is TensorHandle else given[1].get()
    by = list(held.values()) if isinstance(held, dict) else held
    gradients = torch.autograd.grad(
        y, by, retain_graph=retain, create_graph=create, materialize_grads=True
    )
    if isinstance(held, torch.Tensor):
        return TensorHandle(gradients[0])
    return (
        dict_handle(dict(zip(held, gradients, strict=True)))
        if isinstance(held, dict)
        else vector_handle(gradients)
    )


@api("jacobian", "jacobian(f;x;..)", since="kshell", target="torch.autograd.functional.jacobian")
def jacobian(x: Value) -> Value:
    """All derivatives of a function's result with respect to its input.

    The dimensions are those of the result, then those of the input. For several inputs, a list.

    q)jacobian({x*x};1 2 3e)
    2 0 0
    0 4 0
    0 0 6
    """
    return Call(x, "jacobian").all(torch.autograd.functional.jacobian, 1)


@api("hessian", "hessian(f;x;..)", since="kshell", target="torch.autograd.functional.hessian")
def hessian(x: Value) -> Value:
    """All second derivatives of a scalar-valued function. For several inputs, a list of lists.

    q)hessian({prd x};1 2 3e)
    0 3 2
    3 0 1
    2 1 0
    """
    return Call(x, "hessian").all(torch.autograd.functional.hessian, 2)


@api("vmap", "vmap(f;x;..)", since="kshell", target="torch.func.vmap")
def vmap(x: Value) -> Value:
    """Vectorize a function over the first dimension of tensors or arrays, evaluating it once for all items.

    The function sees tensors of one item, whose values it cannot read because they stand for all items; handles that it
    makes are freed when it ends. Use a projection for arguments shared by all items. With autograd inside, this gives a
    gradient per item.

    q)vmap({x mmu y};2 2 2#1 2 3 4 5 6 7 8e;2 2#1 0 0 1e)
    1 3
    6 8
    q)vmap({[w;x]autograd({[x;w]Sum w*w*x}[x];w)}[tensor 1 2e];2 2#1 1 10 0e)
    2  4
    20 0
    """
    c = Call(x, "vmap")
    for value in c.inputs:
        if not value.dim():
            raise CallError("vmap", "tensor has no dimensions", says=("tensor",))
    before = TensorHandle(None).number
    VMAPS.n += 1
    try:
        result = torch.func.vmap(c.f, randomness="different")(*c.inputs)
    finally:
        VMAPS.n -= 1
        for h in table():
            if h.number > before:
                h.free(LENT)
    return wrapped(result, c.wrap)


@api("jvp", "jvp(f;x;..;v;..)", since="kshell", target="torch.func.jvp")
def jvp(x: Value) -> Value:
    """A function's result, and its derivative in a direction, with one direction for each input.

    q)jvp({x*x};1 2 3e;1 0 1e)
    1 4 9
    2 0 6
    """
    c = Call(x, "jvp", 2)
    n, half = len(c.inputs) // 2, len(c.names) // 2
    if len(c.names) % 2 or c.names[:half] != c.names[half:]:
        raise CallError(
            "jvp", "expecting (function;input;..;direction;..), one direction for each input"
        )
    c.f.names = c.names[:half]
    if VMAPS.n:
        return wrapped(torch.func.jvp(c.f, tuple(c.inputs[:n]), tuple(c.inputs[n:])), c.wrap)
    if DUALS.inside:
        return wrapped(c.directional(n), c.wrap)
    forward = torch.autograd.forward_ad
    DUALS.inside = True
    try:
        with forward.dual_level():
            dual = c._one(
                *[
                    forward.make_dual(value, v)
                    for value, v in zip(c.inputs[:n], c.inputs[n:], strict=True)
                ]
            )
            value, direction = forward.unpack_dual(dual)
            result = value, torch.zeros_like(value) if direction is None else direction
    finally:
        DUALS.inside = False
    return wrapped(result, c.wrap)


@api("vjp", "vjp(f;x;..;v)", since="kshell", target="torch.func.vjp")
def vjp(x: Value) -> Value:
    """A function's result, and its derivative with respect to each input, weighted by a tensor of the result's size.

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
    """A function's result, with a custom backward pass.
    b gets the gradient of the result, then the inputs, and returns the gradient of the input; for several, a list.

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
        raise QError(
            f"customgrad: expecting (function;function of gradient and inputs;input;..), given {len(args)} "
            f"arg{'s' * (len(args) != 1)}"
        )
    c = Call(List([args[0], *args[2:]]), "customgrad", dicts=False)
    back = Later(args[1], "customgrad")

    def gradients(*tensors: Any) -> Any:
        results = back(*tensors)
        count = len(results) if isinstance(results, tuple) else 1
        if count != len(c.inputs):
            raise QError(
                f"customgrad: {len(c.inputs)} gradients expected, one for each input, given {count}"
            )
        return results

    return wrapped(nn.custom.Custom.apply(c.f, gradients, *c.inputs), c.wrap)


@api("gradcheck", "gradcheck(f;x;..)", since="torch", target="torch.autograd.gradcheck")
def gradcheck(x: Value) -> Value:
    """Compare a function's gradients with finite differences: 1b, or an error that says where they differ.

    Use it for functions with a custom `customgrad`. Inputs are converted to doubles.

    q)gradcheck({customgrad({x*x};{[d;x]2*d*x};x)};1 2 3)
    1b
    """
    c = Call(x, "gradcheck")
    if isinstance(c.f.f, ModuleHandle):
        for t in c.f.f.get().parameters():
            if t.is_floating_point() and t.dtype is not torch.float64:
                raise CallError(
                    "gradcheck",
                    f"the parameters of the module are {dtype_name(t.dtype)}, expecting double",
                )
    inputs = [value.detach().to(torch.float64, copy=True).requires_grad_() for value in c.inputs]
    from torch.autograd.gradcheck import GradcheckError

    try:
        return bool(torch.autograd.gradcheck(c.f, inputs))
    except GradcheckError as exc:
        error = reported("gradcheck", exc, first_line(str(exc)).rstrip(","))
    raise error


class _Hook(Later):
    """The hook that `registerhook` sets on a tensor."""

    def __call__(self, *inputs: Any) -> Any:
        gradient = super().__call__(*inputs)
        if gradient is not None and (
            not isinstance(gradient, torch.Tensor) or gradient.shape != inputs[0].shape
        ):
            raise CallError(
                "registerhook",
                f"the function must return a gradient of size {list(inputs[0].shape)}, or ::",
            )
        return None if gradient is None else gradient.to(inputs[0].dtype)

    def _tensors(self, found: Value) -> Any:
        return None if found is NIL else super()._tensors(found)


@api(
    "registerhook",
    "registerhook(t;f)",
    "registerhook(t;::)",
    since="torch",
    target="torch.Tensor.register_hook",
    effect="changes",
)
def registerhook(x: Value) -> Value:
    """Call a function with the gradient of a tensor when `backward` has computed it.

    The function's result replaces the gradient; if it is ::, the gradient is unchanged. Passing :: as the function
    removes the tensor's hooks.

    q)w:tensor(1 2 3e;`grad)
    q)registerhook(w;{x*1 0 1e})
    q)backward Sum w*w
    q)grad w
    2 0 6e
    """
    args = items(x)
    if len(args) != 2 or args[0].__class__ is not TensorHandle:
        raise CallError("registerhook", "expecting (tensor;function)")
    tensor = as_tensor(args[0])
    if args[1] is NIL:
        hooks = tensor._backward_hooks or {}
        for k in [key for key, value in hooks.items() if isinstance(value, _Hook)]:
            del hooks[k]
    else:
        tensor.register_hook(_Hook(args[1], "registerhook"))
    return NIL


@api(
    "retaingrad", "retaingrad t", since="torch", target="torch.Tensor.retain_grad", effect="changes"
)
def retaingrad(x: Value) -> Value:
    """Let a non-leaf tensor keep its gradient, so that `grad` can read it.

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
