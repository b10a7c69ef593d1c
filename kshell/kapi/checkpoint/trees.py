"""q values as trees that are to be written: dictionaries and lists, whose leaves are plain values, tensors as they are
in files or in memory, and objects of pickles; and such a tree as a pickle's object.

What came from a file and is still the same stays the file's own object, so that the program which wrote it reads what
it wrote. Where a tree has parts of a file, its other parts are compared with that file's, and take their kinds.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np

from kshell.checkpoints.base.stored import Stored
from kshell.checkpoints.pickles.editing import encoded, filled, merged
from kshell.checkpoints.pickles.machine import Global, Node
from kshell.checkpoints.pickles.meanings import Branch, Meanings
from kshell.checkpoints.trees.leaves import tensors_of
from kshell.kapi.base.handles import KHandle, TensorHandle, stale
from kshell.kapi.base.lazy_torch import loaded, torch
from kshell.kapi.checkpoint.state_dicts import FromValue, named_state, not_held, of_handle
from kshell.kapi.checkpoint.stored_tensors import Living, Unwritten, origin_of, stored_of, tensor_of
from kshell.kapi.optim.tables import TENSORS_IN
from kshell.values.base import types as T
from kshell.values.base.core import Atom, Nd, Value, Vec
from kshell.values.base.from_numpy import typed

_MOST = 1_000_000  # objects of a file that are compared
_NUMPYS = (T.E, T.X)  # types of atoms that Python has in numpy alone
_P_EPOCH, _D_EPOCH = datetime.datetime(2000, 1, 1), datetime.date(2000, 1, 1)


class _FromQ(FromValue):
    """Tensors stay in their files, reals are numpy's, so that they can take the place of numpy's."""

    def __init__(self, is_named: bool = False) -> None:
        self.living = Living()
        self.is_named = is_named  # do parameters have names in optimizers' states?
        self.is_unwritten = Unwritten()

    def value(self, x: Value, where: str = "") -> Any:
        if not isinstance(x, KHandle):
            return super().value(x, where)
        if x.freed:
            raise stale(x)
        if isinstance(x, TensorHandle):
            return self._tensor(x, where)
        branch = x.obj
        if isinstance(branch, Branch):
            return branch
        plain = named_state(x) if self.is_named else None
        return self._settled(of_handle(x, where) if plain is None else plain)

    def _tensor(self, h: TensorHandle, where: str) -> Any:
        stored = stored_of(h)
        if stored is not None and self.is_unwritten(stored):
            return stored
        tensor = of_handle(h, where)
        if tensor is None:
            return None
        origin = origin_of(tensor)
        is_origin = origin is not None and self.is_unwritten(origin)
        return origin if is_origin else self.living.of(tensor)

    def _settled(self, x: Any) -> Any:
        """A value of Python with tensors of torch, with tensors that are to be written."""
        if isinstance(x, dict):
            return {key: self._settled(value) for key, value in x.items()}
        if isinstance(x, list | tuple):
            return x.__class__(map(self._settled, x))
        return self.living.of(x) if loaded() and isinstance(x, torch.Tensor) else x

    def atom(self, x: Value, where: str) -> Any:
        if x.__class__ is Atom and x.t in _NUMPYS:
            return np.asarray(x.v, T.DTYPE[x.t])[()]
        if x.__class__ is Atom and x.t == T.G:
            return uuid.UUID(bytes=bytes(x.v))
        if x.__class__ is Atom and x.t in (T.P, T.D, T.N):
            return _time(x, where)
        return super().atom(x, where)

    def array(self, x: Value, where: str) -> Any:
        if x.__class__ in (Vec, Nd) and x.t == T.E:
            return np.ascontiguousarray(x.a, np.float32)
        if x.__class__ in (Vec, Nd) and x.t in (T.P, T.D, T.N):
            return Times(x.t, x.a)
        return super().array(x, where)


class Times:
    """Times, dates or spans of q, which are written only where a file has the same."""

    def __init__(self, t: int, a: np.ndarray) -> None:
        self.t, self.a = t, a

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, np.ndarray) or other.dtype.kind not in "mM":
            return False
        kind, items = typed(other)
        return kind == self.t and np.array_equal(items, self.a)

    __hash__ = None  # type: ignore[assignment]


def _time(x: Atom, where: str) -> Any:
    """A timestamp, date or timespan. QError if Python's has not its precision, or x is none."""
    try:
        if x.t == T.D:
            return _D_EPOCH + datetime.timedelta(days=x.v)
        if x.v % 1000 == 0:
            span = datetime.timedelta(microseconds=x.v // 1000)
            return span if x.t == T.N else _P_EPOCH + span
    except OverflowError:
        pass
    raise not_held(x, where)


def tree_of(x: Value, is_named: bool = False) -> Any:
    """The tree of a q value. `is_named`: in an optimizer's state, parameters have their names. QError if a checkpoint
    cannot hold it."""
    return _FromQ(is_named).value(x)


@TENSORS_IN.set
def tensors_in(x: Value) -> list[tuple[str, Any]]:
    """The tensors in a value that a checkpoint can hold, under dotted names for their location."""
    return [(name, tensor_of(stored)) for name, stored in tensors_of(tree_of(x)).items()]


# ------------------------------------------------------------------ the object for a tree


class _Places:
    """Where the objects of a file are in others: for each that another holds, that one."""

    def __init__(self, branch: Branch) -> None:
        self.meanings = branch.meanings
        self.above: dict[int, Any] = {}
        self._alive: list[Any] = []
        waiting = [branch.graph]
        for _ in range(_MOST):
            if not waiting:
                break
            x = waiting.pop()
            for part in self._parts(x):
                if (
                    part.__class__ in _HOLDING
                    and id(part) not in self.above
                    and part is not branch.graph
                ):
                    self.above[id(part)] = x
                    self._alive.append(part)
                    waiting.append(part)

    def _parts(self, x: Any) -> Iterator[Any]:
        value = self.meanings.of(x)
        if isinstance(value, dict):
            yield from value.values()
        elif isinstance(value, list | tuple):
            yield from value


_HOLDING = (dict, list, tuple, Node, Global)


def sources_of(tree: Any) -> list[Meanings]:
    """The pickles of which a tree has parts."""
    found: dict[int, Meanings] = {}
    for _, leaf in _leaves(tree):
        branch = _branch_of(leaf)
        if branch is not None:
            found[id(branch.meanings)] = branch.meanings
    return list(found.values())


def _branch_of(leaf: Any) -> Branch | None:
    """The object of a file that a leaf is."""
    if isinstance(leaf, Branch):
        return leaf
    return leaf.origin if isinstance(leaf, Stored) else None


def _leaves(tree: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The leaves of a tree, each with the dictionaries and lists around it, the innermost last."""
    if isinstance(tree, dict):
        for value in tree.values():
            yield from _leaves(value, (*above, tree))
    elif isinstance(tree, list | tuple):
        for value in tree:
            yield from _leaves(value, (*above, tree))
    else:
        yield above, tree


def graph_of(tree: Any, file: Branch | None = None) -> Any:
    """The object to be written for a tree; `file` is what it was read as, if that is known otherwise."""
    if isinstance(tree, Branch):
        return tree.graph
    # by the identity of a part of the tree: a file's object in its place
    beside: dict[int, Branch] = {}
    if file is not None:
        beside[id(tree)] = file
    places: dict[int, _Places] = {}
    for above, leaf in _leaves(tree):
        branch = _branch_of(leaf)
        document = branch.meanings.document if branch is not None else None
        if branch is None or document is None:
            continue
        if id(branch.meanings) not in places:
            places[id(branch.meanings)] = _Places(Branch(branch.meanings, document.graph))
        x: Any = branch.graph
        for part in reversed(above):
            x = places[id(branch.meanings)].above.get(id(x))
            if x is None or id(part) in beside:
                break
            beside[id(part)] = Branch(branch.meanings, x)
    return _graph(tree, beside)


def _graph(tree: Any, beside: dict[int, Branch]) -> Any:
    """The object for a part of a tree: compared with what the file has in its place."""
    old = beside.get(id(tree))
    if old is not None and _is_of(tree, old.meanings):
        return merged(old.meanings, old.graph, tree)
    if isinstance(tree, dict):
        pairs = {encoded(key): _graph(value, beside) for key, value in tree.items()}
        return pairs if old is None else filled(old.meanings, old.graph, pairs)
    if isinstance(tree, list | tuple):
        return tree.__class__(_graph(value, beside) for value in tree)
    return encoded(tree)


def _is_of(tree: Any, m: Meanings) -> bool:
    """Is all in a tree that is of a file of this one?"""
    branches = (_branch_of(leaf) for _, leaf in _leaves(tree))
    return all(branch is None or branch.meanings is m for branch in branches)


def protocol_of(sources: list[Meanings]) -> int:
    """The version of pickles to write: that of the file of which all parts are, else torch's."""
    if len(sources) != 1:
        return 2
    protocol: int = sources[0].document.machine.protocol
    return protocol
