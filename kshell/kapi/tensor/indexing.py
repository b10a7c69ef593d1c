"""q's indexing of tensors: `x[i]`, `x[i]:v`, `@[t;i;f;y]`, `?[x;y;z]`, rows, and comparison of two tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import long_of
from kshell.kapi.base.call import invoke
from kshell.kapi.base.convert import as_tensor, kname
from kshell.kapi.base.handles import TensorHandle, behaviour, tensor_handle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor.operators import operand
from kshell.values.base.core import HOLE, NIL, Value, is_list
from kshell.values.base.functions import Prim
from kshell.values.engine.apply import apply
from kshell.values.session.interrupts import stoppable

if TYPE_CHECKING:
    from torch import Tensor


def _index_of(i: Value, t: Tensor) -> Any:
    """An index in torch's form: an int, or a tensor of indices or flags; None for a whole dimension."""
    if i is NIL or i is HOLE:
        return None
    number = long_of(i)
    if number is not None:
        return number
    if i.__class__ is TensorHandle or is_list(i):
        tensor = as_tensor(i, t)
        if tensor.dtype == torch.bool:
            return tensor
        if not tensor.is_floating_point() or not tensor.numel():
            return tensor.to(torch.int64)
    raise CallError("index", expected="long(s) or boolean(s)", given=kname(i))


def _checked(at: Tensor | int | None, size: int) -> Any:
    """The index itself; 'index if out of bounds (checked before torch is called, because a GPU cannot recover)."""
    if isinstance(at, int):
        if not -size <= at < size:
            raise QError("index")
    elif at is not None and at.dtype != torch.bool and at.numel():
        low, high = torch.aminmax(at)
        if int(low) < -size or int(high) >= size:
            raise QError("index")
    return at


def _indices(args: Sequence[Value], t: Tensor) -> list[Any]:
    if len(args) > t.dim() and not (len(args) == 1 and (args[0] is NIL or args[0] is HOLE)):
        raise QError("rank")
    return [_checked(_index_of(index, t), size) for index, size in zip(args, t.shape, strict=False)]


def _select(t: Tensor, at: Sequence[Any]) -> Any:
    """t[i;j;..], where each index selects along its own dimension, as in q. A view if possible."""
    for dim in range(len(at) - 1, -1, -1):
        index = at[dim]
        if index is None:
            continue
        if isinstance(index, int):
            t = t.select(dim, index)
        elif index.dtype == torch.bool or index.dim() != 1:
            t = t[(slice(None),) * dim + (index,)]
        else:
            t = t.index_select(dim, torch.where(index < 0, index + t.shape[dim], index))
    return t


@behaviour("do_index", TensorHandle)
def index(h: TensorHandle, args: Sequence[Value]) -> Value:
    """`t i`, `t[i;j]`: a tensor; single items are 0-dimensional. Negative indices count from the end."""
    tensor = as_tensor(h)
    return tensor_handle(invoke("index", lambda: _select(tensor, _indices(args, tensor))))


def _places(t: Tensor, at: Sequence[Any]) -> tuple[Any, ...]:
    """Indices for several dimensions, broadcast so that torch's advanced indexing selects all their combinations."""
    lists = [index for index in at if isinstance(index, torch.Tensor)]
    if len(lists) < 2:
        return tuple(slice(None) if index is None else index for index in at)
    indices: list[Any] = []
    axis = 0
    filled = [
        torch.arange(length, device=t.device) if index is None else index
        for index, length in zip(at, t.shape, strict=False)
    ]
    dims = sum(not isinstance(index, int) for index in filled)
    for index in filled:
        if isinstance(index, int):
            indices.append(index)
            continue
        index = index.nonzero().squeeze(-1) if index.dtype == torch.bool else index
        shape = [1] * dims
        shape[axis] = -1
        indices.append(index.reshape(shape))
        axis += 1
    return tuple(indices)


@behaviour("do_same", TensorHandle)
def same(h: TensorHandle, other: TensorHandle) -> bool:
    """Do two tensors have the same type, size and elements? Doubles are compared with q's tolerance."""
    left, right = as_tensor(h), as_tensor(other)
    if left.dtype != right.dtype or left.shape != right.shape or left.device != right.device:
        return False
    if not (left.is_floating_point() or left.is_complex()):
        return invoke("converge", torch.equal, left, right)
    return invoke("converge", torch.allclose, left, right, rtol=2.0**-43, atol=0, equal_nan=True)


@behaviour("do_rows", TensorHandle)
def rows(h: TensorHandle) -> list[Value]:
    """The items along the first dimension; a tensor without dimensions is its own only item."""
    tensor = as_tensor(h)
    return [tensor_handle(row) for row in invoke("rows", tensor.unbind)] if tensor.dim() else [h]


@behaviour("do_choose", TensorHandle)
def choose(h: TensorHandle, x: Value, y: Value, z: Value) -> Value:
    """`?[x;y;z]`: the elements of y where x is true, of z elsewhere."""
    tensor = as_tensor(h)
    where = operand("?", x, tensor)
    if getattr(where, "dtype", None) is not torch.bool:
        raise QError(f"?: expected boolean(s), given {kname(x)}")
    return tensor_handle(
        invoke("?", torch.where, where, operand("?", y, tensor), operand("?", z, tensor))
    )


@behaviour("do_length", TensorHandle)
def length(h: TensorHandle) -> int:
    """The number of rows."""
    tensor = as_tensor(h)
    if not tensor.dim():
        raise QError("rank")
    return len(tensor)


@behaviour("do_amend", TensorHandle)
def amend(h: TensorHandle, args: Sequence[Value], f: Value, y: Value) -> Value:
    """`t[i]:y`, `t[i]+:y`, `@[t;i;f;y]`: amend the tensor in place. With + and -, repeated indices accumulate."""
    tensor = as_tensor(h)

    def run() -> None:
        indices = _places(tensor, _indices(args, tensor))
        name = f.name if f.__class__ is Prim else ""
        with _writing(tensor):
            if f is None or f is NIL or name == ":":
                tensor[indices] = _value(y, tensor)
            elif (
                name in ("+", "-")
                and y is not NIL
                and y is not HOLE
                and any(isinstance(index, torch.Tensor) for index in indices)
            ):
                _add_at(tensor, indices, _value(y, tensor), 1 if name == "+" else -1)
            else:
                current = tensor_handle(tensor[indices].clone())
                result = stoppable(apply, f, (current,) if y is NIL or y is HOLE else (current, y))
                tensor[indices] = _value(result, tensor)

    invoke("amend", run)
    return h


def _writing(t: Tensor) -> Any:
    """A context for writing to a tensor: parameters are set without recording gradients."""
    whole = t if t.is_leaf or t._base is None else t._base
    return torch.set_grad_enabled(
        torch.is_grad_enabled() and not (whole.is_leaf and whole.requires_grad)
    )


@behaviour("do_undo", TensorHandle)
def undo(h: TensorHandle, args: Sequence[Value]) -> Callable[[], None]:
    """A function that restores the current elements at an index, with their autograd history."""
    tensor = as_tensor(h)

    def kept() -> tuple[Any, Any]:
        indices = _places(tensor, _indices(args, tensor))
        with _writing(tensor):
            return indices, tensor[indices].clone()

    indices, original = invoke("amend", kept)

    def put_back() -> None:
        with _writing(tensor):
            tensor[indices] = original

    return put_back


def _add_at(t: Tensor, at: tuple[Any, ...], v: Tensor, sign: int) -> None:
    shape = t[at].shape
    whole = [
        torch.arange(length, device=t.device) if isinstance(index, slice) else index
        for index, length in zip(at, t.shape, strict=False)
    ]
    if (
        any(isinstance(index, slice) for index in at)
        or len(at) < t.dim()
        or any(isinstance(index, torch.Tensor) and index.dtype == torch.bool for index in whole)
    ):
        if len(at) == 1 and at[0].dtype != torch.bool and at[0].dim() == 1:
            t.index_add_(0, at[0], v.expand(shape).to(t.dtype), alpha=sign)
        else:
            t[at] = t[at] + sign * v
        return
    indices = tuple(
        index if isinstance(index, torch.Tensor) else torch.tensor(index, device=t.device)
        for index in at
    )
    t.index_put_(indices, (sign * v.to(t.dtype)).expand(shape), accumulate=True)


def _value(y: Value, t: Tensor) -> Any:
    """The values to write, as a tensor of the right type."""
    values = operand("amend", y, t)
    values = values if isinstance(values, torch.Tensor) else torch.tensor(values)
    return values.to(device=t.device, dtype=t.dtype)
