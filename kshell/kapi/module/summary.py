"""Summary of a module, layer by layer: `summary`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import SAID, CallError
from kshell.kapi.base.args import size_text
from kshell.kapi.base.call import api, known_to_all, reserve
from kshell.kapi.base.convert import default_dtype
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.module.api import device_of_module, of_module
from kshell.kapi.module.describe import name_of_module, named_parameters, type_name
from kshell.kapi.module.forward import calculate, flat, in_mode, inputs_of, with_gradients
from kshell.values.base import types as T
from kshell.values.base.build import longs, table
from kshell.values.base.core import List, Value, Vec, sym_vec

if TYPE_CHECKING:
    from torch.nn import Module

EFFECT = "none"  # default for the functions here


@api("summary", "summary m", "summary(m;size)", "summary(m;x;..)", since="kshell")
def summary(x: Value) -> Value:
    """A table of the modules in a module or model: depth, name, type, parameters, trainable parameters, and bytes.

    Each count includes everything inside the module, so the first row has the totals. With inputs, these are run
    through the module in evaluation mode, and size is the size of each output (a list if there are several). An input
    is a tensor or an array; a list of longs is the size of an input of zeros.

    q)m:module seq(`sequential;(`linear;`a;3;4);`relu;(`linear;`b;4;2))
    q)freeze(m;`b.weight`b.bias)
    q)summary(m;5 3)
    depth name module     size elements trainable bytes
    ---------------------------------------------------
    0          sequential 5 2  26       16        104
    1     a    linear     5 4  16       16        64
    1     1    relu       5 4  0        0         0
    1     b    linear     5 2  10       0         40
    """
    m, inputs = of_module(x, "summary")
    try:
        sizes = _sizes(m, [t for value in inputs for t in _inputs(m, value)]) if inputs else {}
    except Exception as exc:
        raise known_to_all("summary", exc, m, False, x) from None
    names, modules = zip(*m.named_modules(), strict=True)
    owned = [{id(p): p for p, _, _ in named_parameters(module)}.values() for module in modules]
    return table(
        ["depth", "name", "module", "size", "elements", "trainable", "bytes"],
        [
            longs([name.count(".") + bool(name) for name in names]),
            sym_vec([name_of_module(m), *names[1:]]),
            sym_vec([type_name(module) for module in modules]),
            List([sizes.get(id(module), longs([])) for module in modules]),
            longs([sum(p.numel() for p in params) for params in owned]),
            longs([sum(p.numel() for p in params if p.requires_grad) for params in owned]),
            longs([sum(p.numel() * p.element_size() for p in params) for params in owned]),
        ],
    )


def _inputs(m: Module, x: Value) -> Sequence[Any]:
    """The tensors in an input; for a list of longs, zeros of that size, with the type and device of the module."""
    if x.__class__ is not Vec or x.t != T.J:
        return inputs_of(x, m, "summary")
    size = x.a.tolist()
    if any(length < 0 for length in size):
        raise CallError("summary", f"size {size_text(size)} has a negative dimension", given=SAID)
    dtype = next(
        (param.dtype for param in m.parameters() if param.is_floating_point()), default_dtype()
    )
    reserve(size, dtype.itemsize)
    return [torch.zeros(size, dtype=dtype, device=device_of_module(m))]


def _sizes(m: Module, inputs: Sequence[Any]) -> dict[int, Value]:
    """The output sizes by module (its id): a size, or a list of sizes."""
    by_id: dict[int, Value] = {}

    def note(part: Module, _: Any, found: Any) -> None:
        sizes = [longs(list(tensor.shape)) for tensor in flat(found)]
        by_id[id(part)] = sizes[0] if len(sizes) == 1 else List(list(sizes))

    hooks = [submodule.register_forward_hook(note) for submodule in m.modules()]
    try:
        with_gradients(False, lambda: in_mode(m, False, lambda: calculate(m, inputs)))
    finally:
        for hook in hooks:
            hook.remove()
    # sequences with several inputs run only their children
    for submodule in reversed(list(m.modules())):
        if (
            isinstance(submodule, torch.nn.Sequential)
            and id(submodule) not in by_id
            and len(submodule)
            and id(submodule[-1]) in by_id
        ):
            by_id[id(submodule)] = by_id[id(submodule[-1])]
    return by_id
