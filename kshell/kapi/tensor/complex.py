"""Parts of complex tensors: real, imag, isreal."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell.errors import QError
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import as_tensor, to_q
from kshell.kapi.base.handles import TensorHandle, tensor_handle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor.handle_api import need_handle
from kshell.values.base.core import List, Value

if TYPE_CHECKING:
    from torch import Tensor

EFFECT = "none"  # default for the functions here


def _part(name: str, fn: Callable[[Any], Any], doc: str, example: str) -> None:
    def run(x: Value) -> Value:
        handle = need_handle(x, name)
        if handle.__class__ is not TensorHandle:
            raise QError(f"{name}: not implemented for {handle.plural}")
        tensor = as_tensor(handle)
        tensor = fn(tensor.to_dense() if tensor.layout is not torch.strided else tensor)
        return tensor_handle(tensor) if x.__class__ is List else to_q(tensor)

    run.__doc__ = f"{doc}\n\nFor an enlisted tensor, the result is a tensor.\n\n{example}\n"
    api(name, f"{name} t", f"{name} enlist t")(run)


def _imaginary(t: Tensor) -> Any:
    return t.imag if t.is_complex() else torch.zeros_like(t)


_part(
    "real",
    lambda t: t.real,
    "The real part of a complex tensor.",
    "q)real tensor(`complex;1 2 3;-1 0 2)\n1 2 3e",
)
_part(
    "imag",
    _imaginary,
    "The imaginary part of a complex tensor.",
    "q)imag tensor(`complex;1 2 3;-1 0 2)\n-1 0 2e",
)
_part(
    "isreal",
    lambda t: torch.isreal(t),
    "Whether the imaginary part of each element is zero.",
    "q)isreal tensor(`complex;1 2 3;-1 0 2)\n010b",
)
