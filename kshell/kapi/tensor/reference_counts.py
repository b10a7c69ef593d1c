"""Addresses and reference counts of torch objects: ptr, sptr, ref, sref, weakref, same, alias."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import items
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    TensorHandle,
    VectorHandle,
    behaviour,
    table,
    whole_of,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.tensor.handle_api import need_handle
from kshell.values.base.build import collapse
from kshell.values.base.core import Dict, Value, long, sym_vec

if TYPE_CHECKING:
    from torch import Tensor

EFFECT = "none"  # default for the functions here

# real addresses have 14 digits; each is shown as its own eight-digit number
_SHOWN: dict[int, int] = {}


def address(found: object) -> int:
    """An address-like number for a torch object: stable for its lifetime, equal for all its handles."""
    identity = found._cdata if isinstance(found, torch.Tensor) else id(found)
    shown = _SHOWN.get(identity)
    if shown is None:
        shown = _SHOWN[identity] = 80_000_000 + 16 * len(_SHOWN)
    return shown


def _each(h: KHandle, fn: Callable[[Any], Value]) -> Value:
    """Apply fn to a tensor, or to each tensor of a vector or dictionary."""
    if h.__class__ is VectorHandle:
        return collapse([fn(tensor) for tensor in h.obj])
    if h.__class__ is DictHandle:
        return Dict(sym_vec(h.obj), collapse([fn(tensor) for tensor in h.obj.values()]))
    return fn(h.obj)


@api("ptr", "ptr ptr")
def ptr(x: Value) -> Value:
    """The address of the torch object behind a handle; for a vector or dictionary, of each tensor.

    q)b:addref a:tensor 1 2 3
    q)ptr[a]=ptr b
    1b
    """
    return _each(need_handle(x, "ptr"), lambda t: long(0 if t is None else address(t)))


@api("sptr", "sptr ptr")
def sptr(x: Value) -> Value:
    """The address of a tensor's storage.

    q)a:tensor til 12
    q)sptr[a]=sptr reshape(a;3 4)
    1b
    """
    handle = need_handle(x, "sptr")
    if not isinstance(handle, TensorHandle | VectorHandle | DictHandle):
        raise QError(f"sptr: not implemented for {handle.plural}")
    return _each(handle, lambda t: long(storage_ptr(t)))


def storage_ptr(t: Tensor | None) -> int:
    """The address of a tensor's data, which all its views share."""
    if t is None or t.layout is not torch.strided:
        return 0
    return t.untyped_storage().data_ptr()


def references(found: object) -> int:
    """The number of references to a torch object: its handles, the vectors, dictionaries, modules, optimizers and
    models that contain it, and its views. (Counted from the session's live handles; the interpreter's own references do
    not concern the user.)"""
    handles = [handle for handle in table() if whole_of(handle) is None]
    return max(sum(item is found for handle in handles for item in handle.holds()), 1)


@behaviour("holds", TensorHandle)
def _holds(h: TensorHandle) -> list[Any]:
    """The tensor itself, and the one it is a view of."""
    base = None if h.obj is None else h.obj._base
    return [h.obj] if base is None else [h.obj, base]


@behaviour("holds", VectorHandle, DictHandle)
def _holds_all(h: KHandle) -> list[Any]:
    return list(h.tensors())


@api("ref", "ref ptr")
def ref(x: Value) -> Value:
    """The number of references to a torch object: its handles, containers and views.

    q)a:tensor 1 2 3
    q)v:vector(addref a;4 5)
    q)ref a
    2
    """
    return _each(need_handle(x, "ref"), references)


@api("sref", "sref ptr")
def sref(x: Value) -> Value:
    """The number of tensors in the session that share a tensor's storage.

    q)a:tensor til 12
    q)b:reshape(a;3 4)
    q)sref a
    2
    """
    handle = need_handle(x, "sref")
    if not isinstance(handle, TensorHandle | VectorHandle | DictHandle):
        raise QError(f"sref: not implemented for {handle.plural}")
    return _each(handle, storage_references)


def storage_references(t: Tensor | None) -> int:
    if t is None:
        return 0
    pointer = storage_ptr(t)
    sharing = {
        id(o) for h in table() for o in h.tensors() if o is not None and storage_ptr(o) == pointer
    }
    return max(len(sharing), 1)


@api("weakref", "weakref ptr")
def weakref(x: Value) -> Value:
    """The number of non-owning references; always 0.

    q)weakref tensor 1 2 3
    1
    """
    return _each(need_handle(x, "weakref"), lambda t: 1)


@api("same", "same(t1;t2)")
def same(x: Value) -> Value:
    """Whether two handles refer to the same tensor.

    q)a:tensor 1 2 3
    q)same(a;detach a)
    0b
    """
    first, second = _two(x, "same")
    return first is second


@api("alias", "alias(t1;t2)")
def alias(x: Value) -> Value:
    """Whether two tensors share their storage.

    q)a:tensor 1 2 3
    q)alias(a;detach a)
    1b
    """
    first, second = _two(x, "alias")
    return first is second or (
        first is not None and second is not None and storage_ptr(first) == storage_ptr(second) != 0
    )


def _two(x: Value, call: str) -> tuple[Any, Any]:
    args = items(x)
    handles = [arg for arg in args if arg.__class__ is TensorHandle]
    if len(args) != 2 or len(handles) != 2:
        raise CallError(call, expecting="two tensors", given=kname(x))
    return handles[0].obj, handles[1].obj
