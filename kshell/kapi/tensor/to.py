"""`to` and `copyto`: change device, data type or layout, in place or as a copy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base.args import flag_of, items
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import kname
from kshell.kapi.base.device_options import TensorOptions, convert_to, like_options, tensor_options
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    TensorHandle,
    VectorHandle,
    ask,
    dict_handle,
    tensor_handle,
    vector_handle,
)
from kshell.kapi.tensor.containers import put_in, tensors_in
from kshell.kapi.tensor.handle_api import need_handle
from kshell.values.base.core import NIL, Value

if TYPE_CHECKING:
    from torch import Tensor


def _parse(x: Value, call: str) -> tuple[KHandle, TensorOptions, bool]:
    """The handle, the requested options (from symbols or an example tensor), and whether to wait for the copy."""
    args: Sequence[Value] = items(x)
    if not 2 <= len(args) <= 3:
        raise QError(
            f"{call}: expecting 2-3 args, given {len(args) if not isinstance(x, KHandle) else 1}"
        )
    handle = need_handle(args[0], call)
    if handle.__class__ is TensorHandle and handle.get() is None:
        raise CallError(call, "cannot change attribute(s) of an undefined tensor", says=("tensor",))
    wait = True
    if len(args) == 3:
        flag = flag_of(args[2])
        if flag is None:
            raise CallError(call, expected="boolean for async flag", given=kname(args[2]))
        wait = not flag
    if args[1].__class__ is TensorHandle:
        example = args[1].get()
        if example is None:
            raise CallError(call, "example tensor is undefined", says=("tensor",))
        return handle, like_options(example), wait
    return handle, tensor_options(args[1], call), wait


@api("to", "to(ptr;options[;async])", "to(ptr;example[;async])", held=True, effect="changes")
def to(x: Value) -> Value:
    """Change device, data type, layout or gradient flag of an object in place.

    Objects are tensors, vectors, dictionaries, modules and models. An example tensor specifies its device and data
    type.

    q)t:tensor 1 2 3
    q)to(t;`double)
    q)tensor t
    1 2 3f
    """
    handle, options, wait = _parse(x, "to")
    tensors = tensors_in(handle)
    if tensors is None:
        ask("to", handle, options, wait)
        return NIL
    converted = [
        (position, tensor if tensor is None else convert_to(tensor, options, wait=wait))
        for position, tensor in tensors
    ]
    for position, tensor in converted:
        put_in(handle, position, tensor)
    return NIL


@api("copyto", "copyto(ptr;options[;async])", "copyto(ptr;example[;async])", effect="none")
def copyto(x: Value) -> Value:
    """Copy a tensor, vector or dictionary with another device, data type, layout or gradient flag.

    q)t:tensor 1 2 3
    q)tensor copyto(t;`float)
    1 2 3e
    """
    handle, options, wait = _parse(x, "copyto")

    def copied(t: Tensor | None) -> Any:
        return None if t is None else convert_to(t, options, copy=True, wait=wait)

    if handle.__class__ is TensorHandle:
        return tensor_handle(copied(handle.get()))
    if handle.__class__ is VectorHandle:
        return vector_handle([copied(tensor) for tensor in handle.obj])
    if handle.__class__ is DictHandle:
        return dict_handle({key: copied(tensor) for key, tensor in handle.obj.items()})
    return ask("copyto", handle, options, wait)
