"""Sparse tensors: creation, indices and values, conversion to dense."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import data_items, long_of
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import as_tensor, kname, result, to_q
from kshell.kapi.base.handles import TensorHandle, tensor_handle
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor.handle_api import need_handle
from kshell.values.base.core import NIL, List, Value

if TYPE_CHECKING:
    from torch import Tensor

EFFECT = "none"  # default for the functions here


def _input(x: Value, call: str) -> tuple[Any, bool, Value | None]:
    """The tensor of the first argument, whether it was a handle, and the second argument."""
    args = data_items(x)
    if not 1 <= len(args) <= 2:
        raise QError(f"{call}: expecting 1-2 args, given {len(args)}")
    return (
        as_tensor(args[0]),
        args[0].__class__ is TensorHandle,
        args[1] if len(args) == 2 else None,
    )


def _dims(x: Value | None, t: Tensor, call: str) -> int:
    """The requested number of sparse dimensions; all by default."""
    if x is None:
        return t.dim()
    number = long_of(x)
    if number is None or not 0 < number <= t.dim():
        raise QError(
            f"{call}: expected 1-{t.dim()} sparse dimension(s), given {kname(x) if number is None else number}"
        )
    return number


@api("sparse", "sparse x", "sparse(x;sparsedim)", "sparse(x;mask)")
def sparse(x: Value) -> Value:
    """Convert an array or tensor to a sparse tensor.

    All dimensions are sparse, or only the given number of leading ones; with another sparse tensor, its pattern is
    used. To make one from indices and values (torch's sparse_coo_tensor), use ``tensor(`sparse;indices;values;size)``.

    q)values sparse 0 3 0 5f
    3 5f
    q)tensor dense tensor(`sparse;(0 1 1;2 0 2);3 4 5;2 3)
    0 0 3
    4 0 5
    """
    tensor, _wrap, second = _input(x, "sparse")
    if second.__class__ is TensorHandle:
        mask = as_tensor(second)
        if mask.layout is torch.strided:
            raise QError("sparse: 2nd arg is not a sparse tensor, unable to use its indices")
        return tensor_handle(tensor.sparse_mask(mask.coalesce()))
    result = (
        tensor.to_sparse(_dims(second, tensor, "sparse"))
        if tensor.layout is torch.strided
        else tensor
    )
    return tensor_handle(result)


@api("sparseindex", "sparseindex x", "sparseindex(x;sparsedim)")
def sparseindex(x: Value) -> Value:
    """The indices of the non-zero values: one row per sparse dimension, one column per value.

    q)sparseindex(0 9 0;3 0 0)
    0 1
    1 0
    """
    tensor, wrap, second = _input(x, "sparseindex")
    dims = _dims(second, tensor, "sparseindex")
    dense = tensor if tensor.layout is torch.strided else tensor.to_dense()
    return result(dense.to_sparse(dims).indices().clone(), wrap)


def _sparse_of(x: Value, call: str) -> tuple[Any, bool]:
    """The sparse tensor of a handle, and whether the handle was enlisted (then a tensor is returned)."""
    handle = need_handle(x, call)
    if handle.__class__ is not TensorHandle:
        raise QError(f"{call}: not implemented for {handle.plural}")
    tensor = as_tensor(handle)
    if tensor.layout is torch.strided:
        raise CallError(call, "expecting a sparse tensor")
    return tensor, x.__class__ is List


def _part(t: Tensor, enlisted: bool) -> Value:
    return tensor_handle(t) if enlisted else to_q(t)


@api("indices", "indices t", "indices enlist t")
def indices(x: Value) -> Value:
    """The indices of a sparse tensor's values, one row per sparse dimension; for an enlisted tensor, as a tensor.

    q)indices tensor(2 4#0 0 0 1 0 0 3 0;`sparse)
    0 1
    3 2
    """
    tensor, enlisted = _sparse_of(x, "indices")
    return _part(tensor._indices(), enlisted)


@api("values", "values t", "values enlist t")
def values(x: Value) -> Value:
    """The values of a sparse tensor; for an enlisted tensor, as a tensor.

    q)values tensor(0 3 0 5;`sparse)
    3 5
    """
    tensor, enlisted = _sparse_of(x, "values")
    return _part(tensor._values(), enlisted)


@api("dense", "dense t")
def dense(x: Value) -> Value:
    """Convert a sparse tensor to dense.

    q)tensor dense sparse 0 3 0
    0 3 0
    """
    tensor, _ = _sparse_of(x, "dense")
    return tensor_handle(tensor.to_dense())


@api("coalesce", "coalesce t", held=True, effect="changes")
def coalesce(x: Value) -> Value:
    """Coalesce a sparse tensor: sum values with the same index and sort by index.

    q)t:tensor(`sparse;1 3#2 1 1;9 5 -11;4)
    q)coalesce t
    q)values t
    -6 9
    """
    tensor, _ = _sparse_of(x, "coalesce")
    need_handle(x, "coalesce").obj = tensor.coalesce()
    return NIL
