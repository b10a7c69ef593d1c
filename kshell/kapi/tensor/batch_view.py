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
    part = _parts().get(t)
    if (
        part is not None
        and part.whole.untyped_storage().data_ptr() != t.untyped_storage().data_ptr()
    ):
        del _parts()[t]
        return None
    return part


def show_part(t: Tensor, start: int, n: int, dim: int = 0) -> None:
    """Make a tensor show n items of its whole from `start` along a dimension."""
    shown = part_of(t)
    whole = t.detach() if shown is None else shown.whole
    if shown is not None and shown.dim != dim:
        t.data = whole
    part = whole.narrow(dim, start, n)
    _parts()[t] = _Part(whole, dim, start)
    t.data = part


def show_whole(t: Tensor) -> None:
    """Make a tensor show its whole again."""
    part = part_of(t)
    if part is not None:
        t.data = part.whole
        del _parts()[t]


def whole_of(t: Tensor) -> Any:
    """The whole tensor, whatever batch it shows."""
    part = part_of(t)
    return t if part is None else part.whole


def count(n: int, w: int, drop: bool = False) -> int:
    """The number of batches of w items in n; the last may be shorter, unless `drop` leaves it out."""
    return 0 if not n or not w else n // w if drop else -(-n // w)


# ------------------------------------------------------------------ tensors of a handle


def _members(x: Value, call: str) -> list[tuple[str, Any]]:
    """The tensors of a handle, each with a description for messages."""
    h = handle(x)
    if isinstance(h, TensorHandle):
        return [] if h.obj is None else [("tensor", h.obj)]
    if isinstance(h, VectorHandle):
        return [(f"vector[{i}]", t) for i, t in enumerate(h.obj) if t is not None]
    if isinstance(h, DictHandle):
        return [(f"dictionary[{key}]", value) for key, value in h.obj.items() if value is not None]
    raise CallError(call, expecting="tensor, vector, dictionary or model", given=kname(x))


def _extent(found: Sequence[tuple[str, Any]], dim: int, call: str) -> int:
    """The size of the whole tensors along a dimension, which must be the same for all."""
    n = -1
    for word, t in found:
        whole = whole_of(t)
        if not whole.dim():
            raise CallError(call, f"{word} has no dimensions", says=(word,))
        if not 0 <= dim < whole.dim():
            raise CallError(
                call, f"dimension {dim} is not in the range 0-{whole.dim() - 1}", says=(dim,)
            )
        size = whole.size(dim)
        if n >= 0 and size != n:
            raise QError(f"{word} size={size}, but previous tensor(s) have size={n} for dim {dim}")
        n = size
    return n


def _next(found: Sequence[tuple[str, Any]], w: int, dim: int) -> bool:
    n = _extent(found, dim, "batch")
    if n <= 0:
        return False
    if not 0 < w < n:
        raise QError(
            f"batch: size {w} not in the range 1-{n - 1} (tensor size is {n} for dimension {dim})"
        )
    part, shown = part_of(found[0][1]), found[0][1].size(dim)
    start = 0 if part is None or part.dim != dim or shown == n else part.start // w * w + w
    for _, t in found:
        if start < n:
            show_part(t, start, min(w, n - start), dim)
        else:
            show_whole(t)
    return start < n


@api(
    "batch", "batch(ptr;w)", "batch(ptr;(w;dim))", "batch(ptr;w;i)", "batch model", effect="changes"
)
def batch(x: Value) -> Value:
    """Show the next batch of a tensor, vector or dictionary of tensors in place.

    Returns 1b for each batch; after the last one it restores the whole tensors and returns 0b. With an index, shows
    that batch. For a model, shows the next batch of its training data.

    q)t:tensor til 7
    q)while[batch(t;3);show tensor t]
    0 1 2
    3 4 5
    ,6
    """
    args = items(x)
    h = handle(args[0]) if args else None
    if h is None:
        raise QError(f"batch: not implemented for {kname(x)}")
    if len(args) == 1 and behaves("batch", h) is not None:
        return ask("batch", h)
    if not 2 <= len(args) <= 3:
        raise QError(f"batch: expecting 2-3 args, given {len(args)}")
    members = _members(h, "batch")
    w, dim = _width_and_dim(args[1])
    if len(args) == 2:
        return _next(members, w, dim)
    _show_at(members, w, dim, args[2])
    return NIL


def _width_and_dim(x: Value) -> tuple[int, int]:
    """The batch size of a call, and the batch dimension."""
    size = longs_of(x)
    if size is None:
        raise QError(
            f"batch: 2nd arg is batch size or batch size & dimension, but given {kname(x)}"
        )
    if not 1 <= len(size) <= 2:
        raise QError(
            f"batch: 2nd arg is batch size or batch size & dimension, but given {len(size)} elements"
        )
    w, dim = size[0], size[1] if len(size) == 2 else 0
    if dim < 0:
        raise CallError("batch", "dimension cannot be negative")
    return w, dim


def _show_at(members: Any, w: int, dim: int, x: Value) -> None:
    """Show the batch at an index, of width w."""
    i = long_of(x)
    if i is None:
        raise QError(f"batch: 3rd arg is batch index, but given {kname(x)}")
    n = _extent(members, dim, "batch")
    w = min(w, n)
    if w < 1:
        raise CallError("batch", f"size {w} not in the range 1-{n}", says=(w,))
    if not 0 <= i * w < n:
        raise QError(f"batch[{i}] invalid, valid range is from 0-{count(n, w, True) - 1}")
    for _, t in members:
        show_part(t, i * w, min(w, n - i * w), dim)


@api("restore", "restore(ptr;dim)", "restore ptr", "restore model", effect="changes")
def restore(x: Value) -> Value:
    """Restore tensors that show a batch to their full size; returns their size along the batch dimension.

    q)t:tensor til 10
    q)batch(t;4)
    1b
    q)restore t
    10
    """
    h, dim = _with_dim(x, "restore")
    if behaves("restore", h) is not None:
        return ask("restore", h)
    n = 0
    for _, t in _members(h, "restore"):
        part = part_of(t)
        along = dim if part is None else part.dim
        show_whole(t)
        n = t.size(along) if along < t.dim() else 0
    return n


def _with_dim(x: Value, call: str) -> tuple[KHandle, int]:
    """The handle of a call and an optional dimension."""
    args = items(x)
    h = handle(args[0]) if args else None
    if h is None:
        raise CallError(call, expecting="tensor, vector, dictionary or model", given=kname(x))
    if len(args) > 2:
        raise QError(
            f"{call}: expecting 1-2 args, tensor/vector/dictionary/model & optional dimension, but given "
            f"{len(args)} args"
        )
    dim = long_of(args[1]) if len(args) == 2 else 0
    if dim is None:
        raise QError(f"{call}: 2nd arg is dimension, but given {kname(args[1])}")
    if dim and isinstance(h, ModelHandle):
        raise QError(
            f"{call}: model data is only batched on dimension 0, but given dimension {dim}"
        )
    if dim < 0:
        raise CallError(call, "dimension cannot be negative")
    return h, dim


@api("shuffle", "shuffle ptr", "shuffle(ptr;dim)", "shuffle model", held=True, effect="changes")
def shuffle(x: Value) -> Value:
    """Shuffle tensors along a dimension.

    All tensors of a vector or dictionary, or of a model's training data, are shuffled in the same order.

    q)t:tensor til 7
    q)shuffle t
    q)til[7]~asc tensor t
    1b
    """
    h, dim = _with_dim(x, "shuffle")
    if behaves("shuffle", h) is not None:
        return ask("shuffle", h)
    members = _members(h, "shuffle")
    n = _extent(members, dim, "shuffle")
    if n <= 0:
        return NIL
    order = torch.randperm(n, device=members[0][1].device)
    moved = reordered([whole_of(t) for _, t in members], order, dim)
    if isinstance(h, TensorHandle):
        h.obj = moved[0]
    elif isinstance(h, VectorHandle):
        h.obj[:] = _filled(h.obj, moved)
    else:
        h.obj.update(zip(list(h.obj), _filled(h.obj.values(), moved), strict=True))
    return NIL


def _filled(old: Iterable[Any], moved: Sequence[Any]) -> list[Any]:
    new = iter(moved)
    return [None if t is None else next(new) for t in old]


def reordered(tensors: Iterable[Any], order: Tensor, dim: int = 0) -> list[Any]:
    """Tensors reordered along a dimension, outside the autograd graph; their gradient flags are kept."""
    with torch.no_grad():
        return [
            tensor.index_select(
                dim, order if order.device == tensor.device else order.to(tensor.device)
            ).requires_grad_(tensor.requires_grad)
            for tensor in tensors
        ]
