"""What an operation on checkpoints gives: tensors that are made when they are needed, delivered as a dictionary, to a
file or folder, or into a live module."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kshell.errors import CallError, QError
from kshell.kapi.base.args import parse_options, split
from kshell.kapi.base.call import reserve
from kshell.kapi.base.convert import kname, put
from kshell.kapi.base.handles import ModelHandle, ModuleHandle, handle, module_of
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.paths import path_of
from kshell.kapi.checkpoint.files import ckpt
from kshell.kapi.checkpoint.safetensors_files import META
from kshell.kapi.checkpoint.state_dicts import to_q_value
from kshell.kapi.checkpoint.streamed import Coming, check, write_file, write_folder
from kshell.kapi.checkpoint_algebra.sources import Named, Source, file_of, replaced
from kshell.registry import Option
from kshell.values.base.core import NIL, List, Value
from kshell.values.session.interrupts import PENDING, give_up
from kshell.values.session.restrict import refuse

if TYPE_CHECKING:
    from torch import dtype as DType

TO = Option("to", "any", None, doc="a file, a folder or a module to write the result to")
BYTES = Option("bytes", "long", None, doc="the most bytes of a file in a folder", low=1)
KEEP = Option("keep", "boolean", False, doc="keep tensors that not all have")


class Made(NamedTuple):
    """A tensor of a result: its type and size, the function that makes it, what is equal for names of one tensor (None:
    it is alone), and whether it is one of a source, and not new."""

    dtype: DType
    shape: tuple[int, ...]
    make: Callable[[], Any]
    memory: Hashable = None
    is_passed: bool = False


class Result(NamedTuple):
    """Tensors by name, and the tree of values in which they are to stand."""

    tree: Any
    tensors: Mapping[str, Made]


def passed(source: Source, name: str) -> Made:
    """A tensor of a source as it is; a copy if it is in use."""

    def make() -> Any:
        tensor = source.tensor(name)
        return tensor.clone() if source.is_live() else tensor

    return Made(
        source.dtype(name), source.shape(name), make, (id(source), source.memory(name)), True
    )


def options_of(
    call: str, options: tuple[Option, ...], rest: list[Value], before: int
) -> dict[str, Any]:
    """The values of a call's options, given or default; an error of the call for wrong ones."""
    given = parse_options(call, options, *split(rest), before=before)
    return {option.name: given.get(option.name, option.default) for option in options}


def deliver(call: str, result: Result, to: Value | None, most: int | None) -> Value:
    """The result as a q dictionary; or, written to a file or folder, that; or :: when it is put into a module."""
    if to is None or to is NIL:
        if most is not None:
            raise CallError(call, "bytes is for a folder", at="bytes", given="no folder")
        made = _all(result)
        return to_q_value(replaced(made.__getitem__, result.tree))
    refuse(call)
    target = handle(to)
    if isinstance(target, ModuleHandle | ModelHandle):
        _into(call, module_of(target), result)
        return NIL
    if not file_of(to):
        raise CallError(call, at="to", expected="a file, a folder or a module", given=kname(to))
    path = path_of(to, call)
    if most is None and not path.endswith(".safetensors") and not os.path.isdir(path):
        made = _all(result)
        ckpt(List([to, to_q_value(replaced(made.__getitem__, result.tree))]))
        return to
    tensors, meta = _named(call, result)
    if most is None and not os.path.isdir(path):
        write_file(path, tensors, meta)
    else:
        write_folder(path, tensors, meta, 5_000_000_000 if most is None else most)
    return to


def _all(result: Result) -> dict[str, Any]:
    """All tensors, made now; names of one tensor get the same."""
    made: dict[str, Any] = {}
    by_memory: dict[Hashable, Any] = {}
    for name, tensor in result.tensors.items():
        if PENDING:
            give_up()
        key = ("alone", name) if tensor.memory is None else tensor.memory
        if key not in by_memory:
            reserve(tensor.shape, tensor.dtype.itemsize)
            by_memory[key] = tensor.make()
        made[name] = by_memory[key]
    return made


def _named(call: str, result: Result) -> tuple[dict[str, Coming], dict[str, str]]:
    """The tensors and the metadata of a .safetensors file."""
    tree = dict(result.tree) if isinstance(result.tree, dict) else {}
    meta = tree.pop(META, {})
    other = next((key for key, value in tree.items() if not isinstance(value, Named)), None)
    if not tree or other is not None:
        what = f"{other} is not a tensor" if tree else "there are none"
        raise CallError(call, f"a .safetensors file holds tensors by name, {what}")
    if not isinstance(meta, dict) or not all(
        isinstance(text, str) for text in (*meta, *meta.values())
    ):
        raise CallError(call, f"{META} holds texts by name")
    named = {str(key): result.tensors[value.name] for key, value in tree.items()}
    tensors = {key: Coming(made.dtype, made.shape, made.make) for key, made in named.items()}
    check(tensors)
    return tensors, meta


def _into(call: str, module: Any, result: Result) -> None:
    """Put the tensors into a module, all or none: every one is made before the first is put."""
    own = module.state_dict(keep_vars=True)
    names = dict.fromkeys([*own, *result.tensors])
    wrong = next((name for name in names if name not in own or name not in result.tensors), None)
    if wrong is not None:
        which = "the module" if wrong in result.tensors else "the result"
        raise CallError(call, f"{which} has no {wrong}")
    for name, tensor in own.items():
        if tuple(tensor.shape) != tuple(result.tensors[name].shape):
            sizes = f"{list(tensor.shape)}, given {list(result.tensors[name].shape)}"
            raise QError(f"{call}: size mismatch, {name} is {sizes}")
    made = _all(result)
    for name, tensor in result.tensors.items():
        if tensor.is_passed:  # it may be the module's own
            made[name] = made[name].clone()
    with torch.no_grad():
        for name, tensor in own.items():
            put(tensor, made[name])
