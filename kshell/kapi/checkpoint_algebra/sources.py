"""Where the tensors of a checkpoint come from: names, and a tensor for each when it is asked for.

A source is made of a q value: a dictionary of tensors, as `ckpt` returns, a module, or the name of a file or folder.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

from kshell.checkpoints.base.stored import Composite, Stored, Strided
from kshell.checkpoints.pickles.editing import like
from kshell.checkpoints.pickles.meanings import Branch
from kshell.checkpoints.trees.leaves import tensors_of
from kshell.errors import CallError, QError
from kshell.kapi.base.args import items
from kshell.kapi.base.convert import kname
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    ModelHandle,
    ModuleHandle,
    OptimizerHandle,
    handle,
)
from kshell.kapi.base.paths import is_path, path_of
from kshell.kapi.base.plain_values import within
from kshell.kapi.checkpoint.files import read
from kshell.kapi.checkpoint.stored_tensors import (
    dtype_of,
    is_in_order,
    read_part,
    read_pieces,
    read_tensor,
)
from kshell.kapi.checkpoint.trees import tree_of
from kshell.kapi.checkpoint_algebra import merging
from kshell.kapi.checkpoint_algebra.comparing import plain
from kshell.kapi.checkpoint_algebra.problems import problem
from kshell.optim.leaves import leaves_of
from kshell.values.base.core import Dict, List, Table, Value, Vec, seq_items

if TYPE_CHECKING:
    from torch import dtype as DType

EXPECTED = "a dictionary of tensors, a module, or a file or folder"


@dataclass(frozen=True)
class Named:
    """In a tree of values, the place of the tensor of this name."""

    name: str


class Source(Protocol):
    """The tensors of a checkpoint by name, in their order."""

    def names(self) -> list[str]:
        """The names; parts of nested dictionaries are joined by dots."""

    def dtype(self, name: str) -> DType:
        """The type of a tensor."""

    def is_numeric(self, name: str) -> bool:
        """Is it an array of floating-point numbers, not sparse, nested or quantised?"""

    def shape(self, name: str) -> tuple[int, ...]:
        """The size of a tensor."""

    def tensor(self, name: str) -> Any:
        """The tensor, read now if it is in a file. It may share memory with others, and is not to be changed."""

    def part(self, name: str, start: int, stop: int) -> Any:
        """Some items of it, in a row."""

    def pieces(self, name: str) -> Iterator[Any]:
        """All items of it, flat, as many at a time as `merging.pieces` has; a piece is gone when the next one comes."""

    def stored(self, name: str) -> Stored:
        """The tensor as it is to be written if nothing changes it."""

    def memory(self, name: str) -> Hashable:
        """What is equal for two names of the same tensor: tied weights."""

    def tree(self) -> Any:
        """The nested dictionaries and lists of the checkpoint, with all values beside the tensors; these are `Named`
        there."""

    def is_live(self) -> bool:
        """Are the tensors those of a module or optimizer that is in use?"""


class TreeSource:
    """The tensors in a tree of dictionaries and lists: in files, of which they are read when they are asked for, or
    live."""

    def __init__(self, value: Any, live: bool = False) -> None:
        self._tensors: dict[str, Stored] = {}
        self._live = live
        for path, leaf in leaves_of(value):
            if isinstance(leaf, Stored):
                name = dotted(path)
                if name in self._tensors:
                    raise problem(f"two tensors have the name {name}")
                self._tensors[name] = leaf
        self._tree = self._named(value, ())

    def _named(self, x: Any, path: tuple[Any, ...]) -> Any:
        """A tree with names of tensors in their place. Its dictionaries are still of the classes of a file's."""
        if isinstance(x, dict):
            return like(x, [(key, self._named(part, (*path, key))) for key, part in x.items()])
        if isinstance(x, list | tuple):
            return type(x)([self._named(part, (*path, i)) for i, part in enumerate(x)])
        return Named(dotted(path)) if isinstance(x, Stored) else x

    def names(self) -> list[str]:
        return list(self._tensors)

    def dtype(self, name: str) -> Any:
        found = self._tensors[name]
        return found.live.dtype if found.live is not None else dtype_of(found.dtype)

    def is_numeric(self, name: str) -> bool:
        is_array = not isinstance(self._tensors[name], Composite)
        return is_array and bool(self.dtype(name).is_floating_point)

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self._tensors[name].shape)

    def tensor(self, name: str) -> Any:
        return read_tensor(self._tensors[name]).detach()

    def part(self, name: str, start: int, stop: int) -> Any:
        return read_part(self._tensors[name], start, stop)

    def pieces(self, name: str) -> Iterator[Any]:
        t = self._tensors[name]
        if is_in_order(t):
            yield from read_pieces(t, merging.PIECE)
            return
        flat = plain(self.tensor(name))
        yield from (flat[place] for place in merging.pieces(len(flat)))

    def stored(self, name: str) -> Stored:
        return self._tensors[name]

    def memory(self, name: str) -> Hashable:
        t = self._tensors[name]
        if not isinstance(t, Strided) or not t.count or t.options:
            return name
        return id(t.memory), t.dtype, t.shape, t.stride, t.start

    def tree(self) -> Any:
        return self._tree

    def is_live(self) -> bool:
        return self._live


def dotted(path: tuple[Any, ...]) -> str:
    """The name of a place in nested dictionaries and lists."""
    return str(reduce(within, path, ""))


def replaced(fn: Callable[[str], Any], tree: Any) -> Any:
    """A tree with fn(name) in place of each `Named`."""
    if isinstance(tree, Named):
        return fn(tree.name)
    if isinstance(tree, dict):
        return like(tree, [(key, replaced(fn, value)) for key, value in tree.items()])
    if isinstance(tree, list | tuple):
        return type(tree)([replaced(fn, value) for value in tree])
    return tree


# ------------------------------------------------------------------ from q


def is_source(x: Value) -> bool:
    """Can x be a source?"""
    kinds = (DictHandle, ModuleHandle, ModelHandle, OptimizerHandle)
    return x.__class__ is Dict or isinstance(x, kinds) or is_path(x)


def source_of(x: Value, call: str) -> Source:
    """The source of a q value; an error of the call for others, or if it holds what a checkpoint cannot hold."""
    if not is_source(x):
        raise CallError(call, expected=EXPECTED, given=kname(x))
    if is_path(x):
        return file_source(path_of(x, call))
    h = handle(x)
    return TreeSource(_tree(x), isinstance(h, KHandle) and not isinstance(h, DictHandle))


def _tree(x: Value) -> Any:
    """The tree of a checkpoint; an error of the call if it holds what no checkpoint can hold."""
    text = ""
    try:
        return tree_of(x)
    except QError as error:
        if not error.text.startswith("ckpt: "):
            raise
        text = error.text.removeprefix("ckpt: ")
    raise problem(text)


def file_source(path: str) -> Source:
    """The source of a file or folder."""
    tree = tree_of(read(path))
    return TreeSource(tensors_of(tree) if isinstance(tree, Branch) else tree)


def sources_of(x: Value, call: str) -> list[Source]:
    """The sources of a q list; a single one counts as a list of one."""
    given = [x] if is_source(x) else seq_items(x) if isinstance(x, List | Vec | Table) else []
    if not given:
        raise CallError(call, expected=f"a list of checkpoints, each {EXPECTED}", given=kname(x))
    return [source_of(item, call) for item in given]


def arguments(x: Value) -> list[Value]:
    """The arguments in x. A list of dictionaries with the same keys, which q makes a table, is one of arguments."""
    return seq_items(x) if x.__class__ is Table else items(x)
