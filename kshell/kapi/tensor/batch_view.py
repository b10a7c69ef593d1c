"""In-place batches: a tensor becomes a view of part of itself along a dimension until it is restored; shuffling.

`batch`, `restore` and `shuffle` for tensors, vectors and dictionaries of tensors are here; those for models apply the
same functions to the model's data (kapi/train/data.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kshell.errors import CallError, QError
from kshell.kapi.base.args import items, long_of, longs_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    ModelHandle,
    TensorHandle,
    VectorHandle,
    ask,
    behaves,
    handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.values.base.core import NIL, Value

if TYPE_CHECKING:
    from torch import Tensor


class _Part(NamedTuple):
    """What a tensor that shows a batch was made from: the whole tensor, the dimension, and the start."""

    whole: Any
    dim: int
    start: int


# batches shown, by tensor; created on first use, because torch is not imported earlier
_PARTS: list[Any] = []


def _parts() -> Any:
    if not _PARTS:
        from torch.utils.weak import WeakTensorKeyDictionary

        _PARTS.append(WeakTensorKeyDictionary())
    return _PARTS[0]


def part_of(t: Tensor) -> _Part | None:
    """The record of a tensor that shows a batch; None for other tensors, and if its memory has been replaced."""
    record = _parts().get(t)
    if (
        record is not None
        and record.whole.untyped_storage().data_ptr() != t.untyped_storage().data_ptr()
    ):
        del _parts()[t]
        return None
    return record


def show_part(t: Tensor, start: int, n: int, dim: int = 0) -> None:
    """Make a tensor show n items of its whole from `start` along a dimension."""
    record = part_of(t)
    whole = t.detach() if record is None else record.whole
    if record is not None and record.dim != dim:
        t.data = whole
    view = whole.narrow(dim, start, n)
    _parts()[t] = _Part(whole, dim, start)
    t.data = view


def show_whole(t: Tensor) -> None:
    """Make a tensor show its whole again."""
    record = part_of(t)
    if record is not None:
        t.data = record.whole
        del _parts()[t]


def whole_of(t: Tensor) -> Any:
    """The whole tensor, whatever batch it shows."""
    record = part_of(t)
    return t if record is None else record.whole


def count(n: int, w: int, drop: bool = False) -> int:
    """The number of batches of w items in n; the last may be shorter, unless `drop` leaves it out."""
    return 0 if not n or not w else n // w if drop else -(-n // w)


# ------------------------------------------------------------------ tensors of a handle


def _members(x: Value, call: str) -> list[tuple[str, Any]]:
    """The tensors of a handle, each with a description for messages."""
    source = handle(x)
    if isinstance(source, TensorHandle):
        return [] if source.obj is None else [("tensor", source.obj)]
    if isinstance(source, VectorHandle):
        return [
            (f"vector[{position}]", tensor)
            for position, tensor in enumerate(source.obj)
            if tensor is not None
        ]
    if isinstance(source, DictHandle):
        return [
            (f"dictionary[{name}]", tensor)
            for name, tensor in source.obj.items()
            if tensor is not None
        ]
    raise CallError(call, expecting="tensor, vector, dictionary or model", given=kname(x))


def _extent(found: Sequence[tuple[str, Any]], dim: int, call: str) -> int:
    """The size of the whole tensors along a dimension, which must be the same for all."""
    extent = -1
    for label, tensor in found:
        whole = whole_of(tensor)
        if not whole.dim():
            raise CallError(call, f"{label} has no dimensions", says=(label,))
        if not 0 <= dim < whole.dim():
            raise CallError(
                call, f"dimension {dim} is not in the range 0-{whole.dim() - 1}", says=(dim,)
            )
        size = whole.size(dim)
        if extent >= 0 and size != extent:
            raise QError(
                f"{label} size={size}, but previous tensor(s) have size={extent} for dim {dim}"
            )
        extent = size
    return extent


def _next(found: Sequence[tuple[str, Any]], w: int, dim: int) -> bool:
    extent = _extent(found, dim, "batch")
    if extent <= 0:
        return False
    if not 0 < w < extent:
        raise QError(
            f"batch: size {w} not in the range 1-{extent - 1} (tensor size is {extent} for dimension {dim})"
        )
    record, shown = part_of(found[0][1]), found[0][1].size(dim)
    start = (
        0 if record is None or record.dim != dim or shown == extent else record.start // w * w + w
    )
    for _, tensor in found:
        if start < extent:
            show_part(tensor, start, min(w, extent - start), dim)
        else:
            show_whole(tensor)
    return start < extent


@api(
    "batch",
    "batch(ptr;w)",
    "batch(ptr;(w;dim))",
    "batch(ptr;w;i)",
    "batch model",
    "batch(model;n)",
    arity=(1, 2, 3),
    effect="changes",
)
def batch(x: Value, *more: Value) -> Value:
    """Show the next batch of a tensor, vector or dictionary of tensors in place.

    Returns 1b for each batch; after the last one it restores the whole tensors and returns 0b. With an index, shows
    that batch. For a model, shows the next batch of its training data, or the batch with a number, from 0, of the
    present pass, which leaves the place where `run` goes on as it is.

    q)t:tensor til 7
    q)while[batch(t;3);show tensor t]
    0 1 2
    3 4 5
    ,6

    q)m:model(module`identity;loss`mse;opt`sgd)
    q)train(m;`batchsize;3)
    q)train(m;til 7);
    q)batch(m;1)
    q)return input m
    3 4 5
    """
    args = (x, *more) if more else items(x)
    target = handle(args[0]) if args else None
    if target is None:
        raise QError(f"batch: not implemented for {kname(x)}")
    if behaves("batch", target) is not None:
        return ask("batch", target, *args[1:])
    if not 2 <= len(args) <= 3:
        raise QError(f"batch: expecting 2-3 args, given {len(args)}")
    members = _members(target, "batch")
    width, dim = _width_and_dim(args[1])
    if len(args) == 2:
        return _next(members, width, dim)
    _show_at(members, width, dim, args[2])
    return NIL


def _width_and_dim(x: Value) -> tuple[int, int]:
    """The batch size of a call, and the batch dimension."""
    sizes = longs_of(x)
    if sizes is None:
        raise QError(
            f"batch: 2nd arg is batch size or batch size & dimension, but given {kname(x)}"
        )
    if not 1 <= len(sizes) <= 2:
        raise QError(
            f"batch: 2nd arg is batch size or batch size & dimension, but given {len(sizes)} elements"
        )
    width, dim = sizes[0], sizes[1] if len(sizes) == 2 else 0
    if dim < 0:
        raise CallError("batch", "dimension cannot be negative")
    return width, dim


def _show_at(members: Any, w: int, dim: int, x: Value) -> None:
    """Show the batch at an index, of width w."""
    index = long_of(x)
    if index is None:
        raise QError(f"batch: 3rd arg is batch index, but given {kname(x)}")
    extent = _extent(members, dim, "batch")
    w = min(w, extent)
    if w < 1:
        raise CallError("batch", f"size {w} not in the range 1-{extent}", says=(w,))
    if not 0 <= index * w < extent:
        raise QError(f"batch[{index}] invalid, valid range is from 0-{count(extent, w, True) - 1}")
    for _, tensor in members:
        show_part(tensor, index * w, min(w, extent - index * w), dim)


@api("restore", "restore(ptr;dim)", "restore ptr", "restore model", effect="changes")
def restore(x: Value) -> Value:
    """Restore tensors that show a batch to their full size; returns their size along the batch dimension.

    q)t:tensor til 10
    q)batch(t;4)
    1b
    q)restore t
    10
    """
    target, dim = _with_dim(x, "restore")
    if behaves("restore", target) is not None:
        return ask("restore", target)
    extent = 0
    for _, tensor in _members(target, "restore"):
        record = part_of(tensor)
        along = dim if record is None else record.dim
        show_whole(tensor)
        extent = tensor.size(along) if along < tensor.dim() else 0
    return extent


def _with_dim(x: Value, call: str) -> tuple[KHandle, int]:
    """The handle of a call and an optional dimension."""
    args = items(x)
    target = handle(args[0]) if args else None
    if target is None:
        raise CallError(call, expecting="tensor, vector, dictionary or model", given=kname(x))
    if len(args) > 2:
        raise QError(
            f"{call}: expecting 1-2 args, tensor/vector/dictionary/model & optional dimension, but given "
            f"{len(args)} args"
        )
    dim = long_of(args[1]) if len(args) == 2 else 0
    if dim is None:
        raise QError(f"{call}: 2nd arg is dimension, but given {kname(args[1])}")
    if dim and isinstance(target, ModelHandle):
        raise QError(
            f"{call}: model data is only batched on dimension 0, but given dimension {dim}"
        )
    if dim < 0:
        raise CallError(call, "dimension cannot be negative")
    return target, dim


@api("shuffle", "shuffle ptr", "shuffle(ptr;dim)", "shuffle model", held=True, effect="changes")
def shuffle(x: Value) -> Value:
    """Shuffle tensors along a dimension.

    All tensors of a vector or dictionary, or of a model's training data, are shuffled in the same order.

    q)t:tensor til 7
    q)shuffle t
    q)til[7]~asc tensor t
    1b
    """
    target, dim = _with_dim(x, "shuffle")
    if behaves("shuffle", target) is not None:
        return ask("shuffle", target)
    members = _members(target, "shuffle")
    extent = _extent(members, dim, "shuffle")
    if extent <= 0:
        return NIL
    order = torch.randperm(extent, device=members[0][1].device)
    shuffled = reordered([whole_of(tensor) for _, tensor in members], order, dim)
    if isinstance(target, TensorHandle):
        target.obj = shuffled[0]
    elif isinstance(target, VectorHandle):
        target.obj[:] = _filled(target.obj, shuffled)
    else:
        target.obj.update(
            zip(list(target.obj), _filled(target.obj.values(), shuffled), strict=True)
        )
    return NIL


def _filled(old: Iterable[Any], moved: Sequence[Any]) -> list[Any]:
    replacements = iter(moved)
    return [None if tensor is None else next(replacements) for tensor in old]


def reordered(tensors: Iterable[Any], order: Tensor, dim: int = 0) -> list[Any]:
    """Tensors reordered along a dimension, outside the autograd graph; their gradient flags are kept."""
    with torch.no_grad():
        return [
            tensor.index_select(
                dim, order if order.device == tensor.device else order.to(tensor.device)
            ).requires_grad_(tensor.requires_grad)
            for tensor in tensors
        ]
