"""Loading a checkpoint's tensors into a live module, and what became of each name.

Large tensors are not copied: a parameter's memory becomes a private map of the file, of which only the pages that are
written are copied.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from kshell.checkpoints.base.stored import Stored, Strided
from kshell.checkpoints.trees.leaves import tensors_of
from kshell.checkpoints.trees.opening import opened
from kshell.errors import CallError, QError
from kshell.kapi.base.args import items
from kshell.kapi.base.convert import dtype_symbol, kname, put
from kshell.kapi.base.handles import ModelHandle, ModuleHandle, handle, module_of
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.paths import is_path, path_of
from kshell.kapi.checkpoint.stored_tensors import read_tensor, tensor_of
from kshell.registry import LOAD_INTO
from kshell.values.base.build import longs, table
from kshell.values.base.core import List, Value, sym_vec
from kshell.values.session.interrupts import held_edit

if TYPE_CHECKING:
    from torch import Tensor

_MAPPED = 1 << 18  # bytes from which on a tensor's memory becomes a map
_LOOKED_AT = 50  # names of a module by which a prefix is found


def fitting(own: dict[str, Any], given: dict[str, Stored]) -> dict[str, Stored]:
    """The tensors of a checkpoint by a module's names: without what stands before most of them in the checkpoint, which
    is the name of a file, a key as `model`, or of a wrapper as `module`."""
    before: Counter[str] = Counter()
    for name in list(own)[:_LOOKED_AT]:
        before.update(
            key.removesuffix(name) for key in given if key == name or key.endswith(f".{name}")
        )
    if not before:
        return given
    best = min(before, key=lambda prefix: (-before[prefix], len(prefix)))
    return {key.removeprefix(best): t for key, t in given.items() if key.startswith(best)}


@LOAD_INTO.set
def load_into(x: Value) -> Value:
    """``load(module;`:file)``: the tensors of a file or folder into a module.

    A table with a row for each name of the module or the file: its type, its size in each, and what became of it:
    loaded, missing, unexpected or size."""
    arguments = items(x)
    target = handle(arguments[0])
    if len(arguments) != 2 or not isinstance(target, ModuleHandle | ModelHandle):
        raise CallError("load", expected="a module and a file or folder", given=kname(arguments[0]))
    if not is_path(arguments[1]):
        raise CallError("load", expected="a file or folder", given=kname(arguments[1]))
    path = path_of(arguments[1], "load")
    own = module_of(target).state_dict(keep_vars=True)
    given = fitting(own, tensors_of(opened(path).value))
    fits = [name for name in own if name in given and tuple(own[name].shape) == given[name].shape]
    if own and not fits:
        raise QError(
            f"load: nothing in {path} fits the module",
            hint="the module has " + _some(own) + ", the file " + _some(given),
        )
    _apply(own, given, fits)
    return _report(own, given, {*fits})


def _some(names: dict[str, Any]) -> str:
    listed = list(names)
    return ", ".join(listed[:3]) + (", .." if len(listed) > 3 else "") if listed else "nothing"


@held_edit("the module was loaded")
def _apply(own: dict[str, Any], given: dict[str, Stored], names: list[str]) -> None:
    """Everything is read and checked before the first parameter changes."""
    read = {
        name: tensor_of(given[name])
        if _is_map(own[name], given[name])
        else read_tensor(given[name])
        for name in names
    }
    for name, tensor in read.items():
        if _is_map(own[name], given[name]):
            own[name].data = tensor
        else:
            put(own[name], tensor)


def _is_map(own: Tensor, given: Stored) -> bool:
    """Can a parameter have the memory of the file?"""
    return (
        given.__class__ is Strided
        and given.nbytes >= _MAPPED
        and given.memory.length == given.nbytes
        and type(own) in (torch.nn.Parameter, torch.Tensor)
        and own.device.type == "cpu"
        and str(own.dtype) == f"torch.{given.dtype}"
        and own.is_contiguous()
        and own.untyped_storage().nbytes() == given.nbytes  # it shares its memory with no other
        and given.is_contiguous
    )


def _report(own: dict[str, Any], given: dict[str, Stored], fits: set[str]) -> Value:
    names = [*own, *(name for name in given if name not in own)]

    def status(name: str) -> str:
        if name in fits:
            return "loaded"
        return "missing" if name not in given else "unexpected" if name not in own else "size"

    def dtype(name: str) -> str:
        kind = given[name].dtype if name in given else str(own[name].dtype).removeprefix("torch.")
        return dtype_symbol(kind) or kind

    def sizes(found: dict[str, Any]) -> List:
        return List(
            [longs(list(found[name].shape)) if name in found else longs([]) for name in names]
        )

    return table(
        ["name", "status", "dtype", "size", "given"],
        [
            sym_vec(names),
            sym_vec(list(map(status, names))),
            sym_vec(list(map(dtype, names))),
            sizes(own),
            sizes(given),
        ],
    )
