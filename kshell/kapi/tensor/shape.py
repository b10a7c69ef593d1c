"""Tensor shapes, views and parts: reshape, View, resize, transpose, permute, squeeze, cat, stack, index, narrow..

Each takes a tensor or q array first and returns the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base import guard
from kshell.kapi.base.args import data_items, flag_of, is_empty, items, long_of, longs_of, size_text
from kshell.kapi.base.call import api, reserve
from kshell.kapi.base.convert import as_tensor, as_tensors, kname, result, to_q
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    TensorHandle,
    VectorHandle,
    dict_handle,
    vector_handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor.containers import fits, tensors_in
from kshell.values.base.core import NIL, NULL_J, List, Value, Vec, is_atom, is_list, seq_items

if TYPE_CHECKING:
    from torch import Tensor

EFFECT = "none"  # default for the functions here


def _first(x: Value, call: str, low: int, high: int) -> tuple[Any, bool, list[Value]]:
    """The tensor of the first argument, whether it was a handle, and the arguments after it."""
    # (1 2;2 1) is one array only if one argument is enough
    args = items(x) if low > 1 else data_items(x)
    if not args or not low <= len(args) <= high:
        raise QError(
            f"{call}: expecting {low}-{high} args, given {len(args)}"
            if low != high
            else f"{call}: expecting {low} args, given {len(args)}"
        )
    return as_tensor(args[0]), args[0].__class__ is TensorHandle, list(args[1:])


def _size(x: Value, call: str) -> list[int]:
    """A size: longs, or the size of an example tensor."""
    if x.__class__ is TensorHandle:
        return list(as_tensor(x).shape)
    lengths = longs_of(x)
    if lengths is None:
        raise CallError(call, expected="size or example tensor", given=kname(x))
    return [-1 if length == NULL_J.v else length for length in lengths]


def _long(x: Value, call: str, word: str) -> int:
    number = long_of(x)
    if number is None:
        raise CallError(call, expected=f"long scalar for {word}", given=kname(x))
    return number


def _dims(x: Value, call: str) -> list[int]:
    dims = longs_of(x)
    if dims is None:
        raise CallError(call, expected="long(s) for dimensions", given=kname(x))
    return dims


def _inplace(rest: list[Value], wrap: bool) -> bool:
    """Remove a trailing flag from the arguments: change the tensor itself? (For an array there is always a result.)"""
    flag = flag_of(rest[-1]) if rest else None
    if flag is None:
        return False
    rest.pop()
    return flag and wrap


def _sized(name: str, method: str, doc: str, example: str) -> None:
    def run(x: Value) -> Value:
        tensor, wrap, arguments = _first(x, name, 2, 2)
        return result(getattr(tensor, method)(_size(arguments[0], name)), wrap)

    run.__doc__ = f"{doc}\n\nThe size is longs (-1 or 0N: computed from the rest) or an example tensor.\n\n{example}\n"
    api(name, f"{name}(x;size)", f"{name}(x;example)")(run)


_sized(
    "reshape",
    "reshape",
    "Reshape a tensor; returns a view if possible, else a copy.",
    "q)reshape(til 6;2 -1)\n0 1 2\n3 4 5",
)
_sized(
    "View",
    "view",
    "A view with another shape, always on the same storage.",
    "q)tensor View(tensor til 6;3 2)\n0 1\n2 3\n4 5",
)
_sized(
    "expand",
    "expand",
    "Expand dimensions of size 1 to a larger size without copying; -1 keeps a size.",
    "q)expand(1 3#1 2 3;2 -1)\n1 2 3\n1 2 3",
)


@api("resize", "resize(tensor;size)", "resize(array;size)", held=True, effect="changes")
def resize(x: Value) -> Value:
    """Resize a tensor in place; new elements are 0.

    q)t:tensor 2 3#til 6
    q)resize(t;2 2)
    q)tensor t
    0 1
    2 3
    """
    tensor, wrap, arguments = _first(x, "resize", 2, 2)
    size = _size(arguments[0], "resize")
    if any(length < 0 for length in size):
        size = _inferred(size, tensor.numel())
    reserve(size, tensor.element_size())
    if wrap:
        with torch.no_grad(), guard.kept((tensor,), sizes=True):
            before = tensor.untyped_storage().nbytes() // tensor.element_size()
            tensor.resize_(size)
            added = tensor.untyped_storage().nbytes() // tensor.element_size() - before
            if added > 0:
                tensor.new_empty(0).set_(tensor.untyped_storage(), before, (added,), (1,)).zero_()
        return NIL
    fresh = torch.zeros(size, dtype=tensor.dtype)
    count = min(tensor.numel(), fresh.numel())
    fresh.view(-1)[:count] = tensor.reshape(-1)[:count]
    return to_q(fresh, copy=False)


def _inferred(size: Sequence[int], count: int) -> list[int]:
    """A size for a number of elements, with the dimension given as -1 computed."""
    known = 1
    for length in size:
        known *= length if length != -1 else 1
    if size.count(-1) > 1:
        raise CallError("resize", "only one dimension can be inferred")
    if min(size) < -1:
        raise CallError("resize", f"invalid shape dimension {min(size)}", says=(min(size),))
    if not known or count % known:
        raise CallError(
            "resize",
            f"shape {size_text(size)} is invalid for input of size {count}",
            says=(*size, count),
        )
    return [length if length != -1 else count // known for length in size]


@api("transpose", "transpose x", "transpose(x;dim1;dim2)", "transpose(t;[dim1;dim2;]inplace)")
def transpose(x: Value) -> Value:
    """Swap two dimensions; without dimensions, transpose a matrix. With 1b at the end, in place.

    Tensors with fewer than two dimensions are unchanged.

    q)transpose 2 3#til 6
    0 3
    1 4
    2 5
    """
    if x.__class__ is Vec or (is_atom(x) and not isinstance(x, KHandle)):
        return x
    tensor, wrap, arguments = _first(x, "transpose", 1, 4)
    inplace = _inplace(arguments, wrap)
    if len(arguments) not in (0, 2):
        raise CallError("transpose", "expecting both dimensions or none")
    if not arguments and tensor.dim() > 2:
        raise CallError(
            "transpose",
            f"expecting a matrix if no dimensions are given, not {tensor.dim()} dimension(s)",
        )
    return _apply(
        tensor,
        "transpose" if arguments else "t",
        [_long(dim, "transpose", "dim") for dim in arguments],
        inplace,
        wrap,
    )


def _apply(t: Tensor, method: str, args: Sequence[Any], inplace: bool, wrap: bool) -> Value:
    if inplace:
        getattr(t, method + "_")(*args)
        return NIL
    return result(getattr(t, method)(*args), wrap)


@api("permute", "permute(x;dims)")
def permute(x: Value) -> Value:
    """Reorder the dimensions.

    q)permute(1 2 3#til 6;2 0 1)
    0 3
    1 4
    2 5
    """
    tensor, wrap, arguments = _first(x, "permute", 2, 2)
    dims = _dims(arguments[0], "permute")
    if len(dims) != tensor.dim():
        raise QError(
            f"permute: expecting an order of {tensor.dim()} dimension(s), given {len(dims)}"
        )
    return result(tensor.permute(dims), wrap)


@api("squeeze", "squeeze x", "squeeze(x;dims)", "squeeze(x;[dims;]inplace)")
def squeeze(x: Value) -> Value:
    """Remove dimensions of size 1, all or the given ones; 0N means all.

    q)squeeze 1 3#til 3
    0 1 2
    """
    tensor, wrap, arguments = _first(x, "squeeze", 1, 3)
    inplace = _inplace(arguments, wrap)
    if len(arguments) > 1:
        raise QError(f"squeeze: expecting dimensions and a flag, given {len(arguments) + 1} args")
    dims = [] if not arguments or arguments[0] is NULL_J else _dims(arguments[0], "squeeze")
    return _apply(
        tensor,
        "squeeze",
        [tuple(dims)] if arguments and not is_atom(arguments[0]) else dims,
        inplace,
        wrap,
    )


@api("unsqueeze", "unsqueeze(x;dim[;inplace])")
def unsqueeze(x: Value) -> Value:
    """Insert a dimension of size 1 at a position.

    q)unsqueeze(til 3;0)
    0 1 2
    """
    tensor, wrap, arguments = _first(x, "unsqueeze", 2, 3)
    inplace = _inplace(arguments, wrap)
    if len(arguments) != 1 or arguments[0] is NULL_J:
        raise CallError("unsqueeze", "expecting a dimension")
    return _apply(tensor, "unsqueeze", [_long(arguments[0], "unsqueeze", "dim")], inplace, wrap)


@api("narrow", "narrow(x;dim;offset;size)")
def narrow(x: Value) -> Value:
    """Part of one dimension of a tensor, or of each tensor of a vector or dictionary: `size` items from `offset`.

    The result is a view.

    q)narrow(til 10;0;3;4)
    3 4 5 6
    """
    args = items(x)
    if len(args) != 4:
        raise QError(f"narrow: expecting 4 args, given {len(args)}")
    dim, start, size = (
        _long(arg, "narrow", label)
        for arg, label in zip(args[1:], ("dim", "offset", "size"), strict=True)
    )
    if args[0].__class__ is VectorHandle:
        return vector_handle([tensor.narrow(dim, start, size) for tensor in args[0].get()])
    if args[0].__class__ is DictHandle:
        return dict_handle(
            {key: tensor.narrow(dim, start, size) for key, tensor in args[0].get().items()}
        )
    return result(as_tensor(args[0]).narrow(dim, start, size), args[0].__class__ is TensorHandle)


@api("index", "index(x;dim;i)", "index(x;dim;indices)")
def index(x: Value) -> Value:
    """The items at one or more indices of a dimension.

    q)index(2 3#til 6;1;0 2)
    0 2
    3 5
    """
    source, wrap, arguments = _first(x, "index", 3, 3)
    dim = _long(arguments[0], "index", "dim")
    position = long_of(arguments[1])
    if position is not None:
        return result(source.select(dim, position), wrap)
    indices = (
        torch.empty(0, dtype=torch.int64, device=source.device)
        if is_empty(arguments[1])
        else as_tensor(arguments[1], like=source)
    )
    # checked before torch is called: a GPU could not recover
    guard.indices()("index", source, indices, dim=dim)
    return result(source.index_select(dim, indices), wrap)


# ------------------------------------------------------------------ joining


def _joined(name: str, fn: str, doc: str, example: str) -> None:
    def run(x: Value) -> Value:
        return _join(name, getattr(torch, fn), x)

    run.__doc__ = f"{doc}\n\n{example}\n"
    api(
        name, f"{name}(a;b;..)", f"{name}(list;dim)", f"{name}(list;[dim;]output)", f"{name} vector"
    )(run)


def _join(name: str, fn: Callable[..., Any], x: Value) -> Value:
    """The parts are a vector, a list of tensors and arrays, or the arguments themselves; then come dim and output."""
    if x.__class__ is VectorHandle:
        return result(fn(x.get()), True)
    args = items(x)
    if not args:
        raise CallError(name, "expecting tensors or arrays")
    first, arguments = args[0], list(args[1:])
    # an output or dimension can only follow a list, and a single list has the parts; else every argument is a part
    if first.__class__ is VectorHandle:
        tensors: Sequence[Any] = first.get()
        wrap = True
    elif isinstance(first, List) and not is_empty(first) and (not arguments or _tail(arguments)):
        tensors, wrap = as_tensors(first.items)
    else:
        tensors, wrap = as_tensors(args)
        arguments = []
    dim = 0
    if arguments and long_of(arguments[0]) is not None:
        dim = _long(arguments.pop(0), name, "dim")
    if arguments and arguments[0].__class__ is TensorHandle:
        fn(list(tensors), dim, out=arguments[0].get())
        return NIL
    if arguments:
        raise CallError(name, "unrecognized arg(s), expecting tensors, dimension and output tensor")
    return result(fn(list(tensors), dim), wrap)


def _tail(rest: Sequence[Value]) -> bool:
    """Are these a dimension, an output tensor, or both in this order?"""
    if len(rest) == 2:
        return long_of(rest[0]) is not None and rest[1].__class__ is TensorHandle
    return len(rest) == 1 and (long_of(rest[0]) is not None or rest[0].__class__ is TensorHandle)


_joined(
    "cat",
    "cat",
    "Concatenate tensors or arrays along a dimension (0).",
    "q)cat(1 2;3 4 5)\n1 2 3 4 5",
)
_joined(
    "stack",
    "stack",
    "Stack tensors or arrays of equal size along a new dimension (0).",
    "q)stack((1 2;3 4);1)\n1 3\n2 4",
)


@api(
    "amend",
    "amend(tensor;values[;async])",
    "amend(vector;i;values[;async])",
    "amend(dict;key;values[;async])",
    held=True,
    effect="changes",
)
def amend(x: Value) -> Value:
    """Overwrite the values of a tensor, or of tensors in a vector or dictionary; size, type and device are kept.

    q)t:tensor 1 2 3
    q)amend(t;4 5 6)
    q)tensor t
    4 5 6
    """
    args = list(items(x))
    n = 2 if args and args[0].__class__ is TensorHandle else 3
    wait = not (len(args) == n + 1 and flag_of(args[-1]) is not None and args.pop())
    targets = tensors_in(args[0], None if n == 2 else args[1], "amend") if len(args) == n else None
    if targets is None:
        raise CallError(
            "amend", "expecting a tensor and values, or a vector or dictionary, a place and values"
        )
    values = (
        [args[-1]]
        if n == 2 or is_atom(args[1])
        else seq_items(args[-1])
        if is_list(args[-1])
        else []
    )
    if len(values) != len(targets):
        raise QError(f"amend: {len(targets)} place(s) and {len(values)} value(s)")
    pairs = [
        (_set(tensor, "amend"), _set(as_tensor(value), "amend"))
        for (_, tensor), value in zip(targets, values, strict=True)
    ]
    _overwrite(pairs, wait)
    return NIL


def _overwrite(pairs: Sequence[tuple[Any, Any]], wait: bool) -> None:
    """Copy the second tensor of each pair into the first; checks that all fit before writing anything."""
    for target, source in pairs:
        if not fits(source.shape, target.shape):
            raise QError(f"amend: size {list(source.shape)} does not fit {list(target.shape)}")
    with torch.no_grad():
        for target, source in pairs:
            target.copy_(source, non_blocking=not wait)


def _set(t: Tensor | None, call: str) -> Any:
    """The tensor, which must be defined."""
    if t is None:
        raise CallError(call, "undefined tensor", says=("tensor",))
    return t


@api(
    "reset",
    "reset(t;offset)",
    "reset(t;offset;size)",
    "reset(t;offset;size;stride)",
    held=True,
    effect="changes",
)
def reset(x: Value) -> Value:
    """Change a tensor's view of its storage: offset, size and strides.

    Without strides, the size is laid out in rows; exceeding the storage is an error.

    q)t:tensor til 10
    q)reset(t;2;2 3)
    q)tensor t
    2 3 4
    5 6 7
    """
    args = items(x)
    if not 2 <= len(args) <= 4:
        raise QError(
            f"reset: up to 4 arguments expected, (tensor;offset;sizes;strides), but {len(args)} given"
        )
    if args[0].__class__ is not TensorHandle:
        raise CallError("reset", "tensor expected as 1st of at least two arguments")
    tensor = as_tensor(args[0])
    start, size, stride = _layout(tensor, args)
    last = (
        start + sum((length - 1) * step for length, step in zip(size, stride, strict=True)) + 1
        if all(size)
        else start
    )
    room = tensor.untyped_storage().nbytes() // tensor.element_size()
    if last > room:
        raise QError(
            f"reset: size {size} and stride {stride} require total of {last - start} plus offset of {start} "
            f"exceeds storage size of {room}"
        )
    with torch.no_grad():
        tensor.set_(tensor.untyped_storage(), start, size, stride)
    return NIL


def _layout(tensor: Any, args: Sequence[Value]) -> tuple[int, list[int], list[int]]:
    """The offset, sizes and strides given to `reset` for a tensor."""
    start = long_of(args[1])
    if start is None:
        raise QError(f"reset: offset (long) expected as 2nd argument, given {kname(args[1])}")
    layout: list[Any] = [longs_of(arg) for arg in args[2:]]
    for arg, label, ordinal in zip(
        args[2:], ("size(s)", "stride(s)"), ("3rd", "4th"), strict=False
    ):
        if longs_of(arg) is None:
            raise QError(f"reset: {label} expected as {ordinal} argument, given {kname(arg)}")
    size = list(tensor.shape) if not layout else layout[0]
    stride = list(tensor.stride()) if not layout else layout[1] if len(layout) > 1 else _rows(size)
    if len(size) != len(stride):
        raise QError(f"reset: {len(size)} size(s) but {len(stride)} stride(s)")
    if start < 0 or any(number < 0 for number in (*size, *stride)):
        raise CallError("reset", "offset, sizes and strides cannot be negative")
    return start, size, stride


def _rows(size: Sequence[int]) -> list[int]:
    """The strides for a size laid out in rows."""
    strides, step = [], 1
    for length in reversed(size):
        strides.append(step)
        step *= max(length, 1)
    return strides[::-1]
