"""What an operation on checkpoints gives: tensors that are made when they are needed, delivered as a dictionary, to a
file or folder, or into a live module."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from kshell.checkpoints.base.stored import WIDTHS, Stored
from kshell.checkpoints.files import weights_writing
from kshell.checkpoints.files.weights_writing import META
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.call import reserve
from kshell.kapi.base.convert import kname, put
from kshell.kapi.base.handles import ModelHandle, ModuleHandle, handle, module_of
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.base.paths import is_path, path_of
from kshell.kapi.checkpoint.files import write_pt
from kshell.kapi.checkpoint.tree_values import to_q_value
from kshell.kapi.checkpoint_algebra.sources import Source, replaced
from kshell.kapi.tensor.storages import memory_of
from kshell.values.base.core import NIL, Value
from kshell.values.session.interrupts import PENDING, give_up
from kshell.values.session.restrict import refuse

if TYPE_CHECKING:
    from torch import dtype as DType

_FILE_BYTES = 5_000_000_000  # of a folder's files, if not given


class Made(NamedTuple):
    """A tensor of a result: its type and size, the function that makes it, what is equal for names of one tensor (None:
    it is alone), and if it is one of a source, and not new, that one. `part(start, stop)` makes some of its items, in a
    row, if these depend on no others."""

    dtype: DType
    shape: tuple[int, ...]
    make: Callable[[], Any]
    memory: Hashable = None
    passed: Stored | None = None
    part: Callable[[int, int], Any] | None = None


class Coming(Stored):
    """A tensor that is to be written: made when its bytes are asked for, which are in order, and let go after them."""

    def __init__(self, name: str, made: Made) -> None:
        self.dtype, self.shape = str(made.dtype).removeprefix("torch."), tuple(made.shape)
        self._name, self._made = name, made
        self._tensor: Any = None

    def into(self, out: memoryview, start: int = 0) -> None:
        """As for all kinds."""
        if self._made.part is not None:
            width = WIDTHS[self.dtype]
            part = self._made.part(start // width, (start + len(out)) // width).cpu()
            if len(out):
                out[:] = memory_of(part, len(out))
            return
        if self._tensor is None:
            reserve(self.shape, self._made.dtype.itemsize)
            made = self._made.make()
            if made.dtype != self._made.dtype or tuple(made.shape) != self.shape:
                text = f"{self._name} has another type or size than was said"
                raise CallError(UNSAID, text, given=SAID)
            self._tensor = made.detach().cpu().resolve_conj().resolve_neg().contiguous()
        if len(out):
            out[:] = memory_of(self._tensor, self.nbytes)[start : start + len(out)]
        if start + len(out) >= self.nbytes:
            self._tensor = None


class Result(NamedTuple):
    """Tensors by name, and the tree of values in which they are to stand."""

    tree: Any
    tensors: Mapping[str, Made]


def passed(source: Source, name: str) -> Made:
    """A tensor of a source as it is; a copy if it is in use."""

    def make() -> Any:
        tensor = source.tensor(name)
        return tensor.clone() if source.is_live() else tensor

    key = (id(source), source.memory(name))
    return Made(source.dtype(name), source.shape(name), make, key, source.stored(name))


def deliver(
    call: str,
    result: Result,
    options: Mapping[str, Any],
    beside: Callable[[str], dict[str, bytes]] | None = None,
) -> Value:
    """Deliver a result as the options `to` and `bytes` of a call say: a q dictionary; the name of the file or folder to
    which it was written; or :: if it was put into a module. `beside` gives the other files that change with a
    folder."""
    to, most = options["to"], options["bytes"]
    if to is None or to is NIL:
        if most is not None:
            raise CallError(call, "bytes is for a folder", at="bytes", given="no folder")
        return to_q_value(replaced(_values(result).__getitem__, result.tree))
    refuse(call)
    target = handle(to)
    if isinstance(target, ModuleHandle | ModelHandle):
        _into(call, module_of(target), result)
        return NIL
    if not is_path(to):
        raise CallError(call, at="to", expected="a file, a folder or a module", given=kname(to))
    path = path_of(to, call)
    is_folder = most is not None or path.endswith("/") or os.path.isdir(path)
    tree = _to_write(result)
    if not is_folder and not path.endswith(".safetensors"):
        write_pt(path, tree)
        return to
    _check(call, tree)
    if is_folder:
        path = path.rstrip("/") or path
        more = beside(path) if beside is not None else None
        weights_writing.write_folder(path, tree, most or _FILE_BYTES, more)
    else:
        weights_writing.write_file(path, tree)
    return to


def _to_write(result: Result) -> Any:
    """The tree with tensors that are read or made when they are written; names of one tensor have the same."""
    coming: dict[Hashable, Stored] = {}

    def tensor(name: str) -> Stored:
        made = result.tensors[name]
        if made.passed is not None:
            return made.passed
        key = ("alone", name) if made.memory is None else made.memory
        if key not in coming:
            coming[key] = Coming(name, made)
        return coming[key]

    return replaced(tensor, result.tree)


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


def _values(result: Result) -> dict[str, Any]:
    """The tensors for a dictionary: those that are in files stay there."""
    kept = {
        name: tensor.passed
        for name, tensor in result.tensors.items()
        if tensor.passed is not None and tensor.passed.live is None
    }
    new = {name: tensor for name, tensor in result.tensors.items() if name not in kept}
    return kept | _all(Result(None, new))


def _check(call: str, tree: Any) -> None:
    """An error of the call, if a .safetensors file cannot hold a tree."""
    entries = (
        {key: value for key, value in tree.items() if key != META} if isinstance(tree, dict) else {}
    )
    other = next((key for key, value in entries.items() if not isinstance(value, Stored)), None)
    if not entries or other is not None:
        what = f"{other} is not a tensor" if entries else "there are none"
        raise CallError(call, f"a .safetensors file holds tensors by name, {what}")
    for name, tensor in entries.items():
        if weights_writing.type_of(tensor) is None:
            raise CallError(call, f"{name}: a .safetensors file cannot hold this kind of tensor")


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
        if tensor.passed is not None:  # it may be the module's own
            made[name] = made[name].clone()
    with torch.no_grad():
        for name, tensor in own.items():
            put(tensor, made[name])
