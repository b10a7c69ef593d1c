"""`str`: torch objects as text, in libtorch's format."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from kshell.errors import QError
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dtype_name
from kshell.kapi.base.handles import TensorHandle, ask
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor.handle_api import need_handle
from kshell.values.base.build import string
from kshell.values.base.core import Value

if TYPE_CHECKING:
    from torch import Tensor

LINE = 80
# libtorch's type names that are not just the capitalized symbol
_TYPES = {
    "bfloat16": "BFloat16",
    "cfloat": "ComplexFloat",
    "cdouble": "ComplexDouble",
    "chalf": "ComplexHalf",
    "uint": "UInt32",
    "ushort": "UInt16",
    "ulong": "UInt64",
    "float8e4m3": "Float8_e4m3fn",
    "float8e5m2": "Float8_e5m2",
    "float8e4m3fnuz": "Float8_e4m3fnuz",
    "float8e5m2fnuz": "Float8_e5m2fnuz",
    "float8e8m0": "Float8_e8m0fnu",
}


class _Format:
    """Number format for one tensor: common scale, width, and fixed, scientific or general notation."""

    def __init__(self, t: Tensor) -> None:
        finite = t[torch.isfinite(t)]
        whole = bool((finite == finite.ceil()).all())
        low, high = _exponents(finite.abs())
        self.scale, self.form = 1.0, "g"
        if whole:
            self.width = 11 if high > 9 else high + 1
            self.form = "e" if high > 9 else "g"
        elif high - low > 4:
            self.width, self.form = (12 if abs(high) > 99 or abs(low) > 99 else 11), "e"
        elif high > 5 or high < 0:
            self.width, self.form, self.scale = 7, "f", 10.0 ** (high - 1)
        else:
            self.width, self.form = (7 if high == 0 else high + 6), "f"

    def number(self, v: float) -> str:
        v = v / self.scale
        if not math.isfinite(v):
            text = "nan" if v != v else "inf" if v > 0 else "-inf"
        else:
            text = f"{v:g}" if self.form == "g" else f"{v:.4{self.form}}"
        return text.rjust(self.width)

    @property
    def head(self) -> str:
        """The line before the numbers, if they are scaled."""
        return f"{self.scale:g} *\n" if self.scale != 1 else ""


def _exponents(size: Tensor) -> tuple[int, int]:
    """The number of digits before the point for the smallest and largest absolute value."""
    if not size.numel():
        return 1, 1
    low, high = (
        math.floor(math.log10(extreme)) + 1 if extreme else 1
        for extreme in (float(size.min()), float(size.max()))
    )
    return low, high


def _matrix(t: Tensor, indent: str) -> str:
    """The rows of a matrix, in blocks of as many columns as fit on a line."""
    form = _Format(t)
    per_line = max((LINE - len(indent)) // (form.width + 1), 1)
    rows, columns = t.tolist(), t.shape[1]
    blocks = []
    for first in range(0, columns, per_line):
        last = min(first + per_line, columns)
        heading = f"Columns {first + 1} to {last} {indent}" if per_line < columns else ""
        lines = [" ".join(form.number(number) for number in row[first:last]) for row in rows]
        between = "\n" + indent + (indent if form.scale != 1 else "")
        blocks.append(
            indent
            + heading
            + (form.head + indent if form.head else "")
            + between.join(lines)
            + "\n"
        )
    return "\n".join(blocks)


def scalar_text(t: Tensor) -> str:
    """libtorch's name for a tensor's data type: Float, ComplexDouble."""
    name = dtype_name(t.dtype)
    return _TYPES.get(name, name.capitalize())


def type_text(t: Tensor) -> str:
    """libtorch's name for a tensor's type: CPUFloatType, CUDADoubleType, SparseCPULongType."""
    sparse = "" if t.layout is torch.strided else "Sparse"
    return f"{sparse}{t.device.type.upper()}{scalar_text(t)}Type"


def tensor_text(t: Tensor | None) -> str:
    """A tensor in libtorch's format: its numbers, then type and size in brackets."""
    if t is None:
        return "[ Tensor (undefined) ]"
    footer = f"[ {type_text(t)}{{{','.join(map(str, t.shape))}}} ]"
    t = t.detach()
    if t.layout is not torch.strided or t.is_complex():
        return f"{t.cpu()}\n{footer}"
    values = t.to("cpu", torch.float64)
    if not values.numel():
        return footer
    if not values.dim():
        return f"{values.item():g}\n{footer}"
    if values.dim() == 1:
        form = _Format(values)
        return form.head + "".join(form.number(value) + "\n" for value in values.tolist()) + footer
    if values.dim() == 2:
        return _matrix(values, "") + footer
    blocks = []
    for position in itertools.product(*(range(length) for length in values.shape[:-2])):
        blocks.append(
            "("
            + "".join(f"{index + 1}," for index in position)
            + ".,.) = \n"
            + _matrix(values[position], " ")
        )
    return "\n".join(blocks) + footer


@api("str", "str ptr", effect="none")
def str_(x: Value) -> Value:
    """A tensor or module as text in libtorch's format, with embedded line breaks.

    q)-1 str tensor(2 3#til 6;`double);
     0  1  2
     3  4  5
    [ CPUDoubleType{2,3} ]
    """
    handle = need_handle(x, "str")
    if handle.__class__ is TensorHandle:
        return string(tensor_text(handle.obj))
    text = ask("str", handle)
    if isinstance(text, str):
        return string(text)
    if text is None:
        raise QError(f"str: not implemented for {handle.plural}")
    return text
