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
from kshell.checkpoints.pickles.editing import SHOWN, Read, encoded, filled, merged
from kshell.checkpoints.pickles.machine import Global, Node
from kshell.checkpoints.pickles.meanings import Branch, Meanings
from kshell.checkpoints.trees.leaves import tensors_of
from kshell.errors import QError
from kshell.kapi.base.handles import KHandle, TensorHandle, stale
from kshell.kapi.base.lazy_torch import loaded, torch
from kshell.kapi.checkpoint.state_dicts import FromValue, named_state, not_held, of_handle
from kshell.kapi.checkpoint.stored_tensors import Living, Unwritten, origin_of, stored_of, tensor_of
from kshell.kapi.checkpoint.tree_values import noted, to_q_value
from kshell.kapi.optim.tables import TENSORS_IN
from kshell.values.base import types as T
from kshell.values.base.core import Atom, Dict, List, Nd, Value, Vec
from kshell.values.base.match import match

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

    def keys(self, x: Dict, where: str) -> list[Any]:
        found = noted(x)
        return super().keys(x, where) if found is None else found.keys

    def dictionary(self, x: Dict, where: str) -> dict[Any, Any]:
        found = noted(x)
        made = super().dictionary(x, where)
        return made if found is None else Read(made.items(), found.branch)

    def atom(self, x: Value, where: str) -> Any:
        try:
            if x.__class__ is Atom and x.t in _NUMPYS:
                return np.asarray(x.v, T.DTYPE[x.t])[()]
            if x.__class__ is Atom and x.t == T.G:
                return uuid.UUID(bytes=bytes(x.v))
            if x.__class__ is Atom and x.t in (T.P, T.D, T.N):
                return _time(x, where)
            return super().atom(x, where)
        except QError as e:
            if x.__class__ is not Atom:
                raise
            return Shown(x, e)

    def array(self, x: Value, where: str) -> Any:
        if x.__class__ in (Vec, Nd) and x.t == T.E:
            return np.ascontiguousarray(x.a, np.float32)
        if x.__class__ is Nd and x.t == T.X:
            return np.ascontiguousarray(x.a, np.uint8)
        if x.__class__ is List:
            return super().array(x, where)
        try:
            return super().array(x, where)
        except QError as e:
            if x.__class__ is not Vec and x.__class__ is not Nd:
                raise
            return Shown(x, e)


class Shown:
    """A value that a checkpoint holds only where the file has what shows as it."""

    is_unheld = True

    def __init__(self, x: Value, problem: QError) -> None:
        self.shown, self.problem = x, problem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Shown) and match(self.shown, other.shown)

    __hash__ = None  # type: ignore[assignment]

    def shows(self, m: Meanings, old: Any) -> bool:
        """Is it what q shows for an object of a pickle?"""
        return match(to_q_value(Branch(m, old)), self.shown)


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


@SHOWN.set
def _shown(m: Meanings, old: Any) -> Any:
    """What q shows for an object of a pickle, as it is written."""
    return tree_of(to_q_value(Branch(m, old)))


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
    for above, leaf in _leaves(tree):
        for part in (*above, leaf):
            branch = _branch_of(part)
            if branch is not None and branch.meanings.document is not None:
                found[id(branch.meanings)] = branch.meanings
    return list(found.values())


def _branch_of(part: Any) -> Branch | None:
    """The object of a file that a part of a tree is, or was."""
    if isinstance(part, Branch):
        return part
    if part.__class__ is Read:
        branch: Branch = part.branch
        return branch
    return part.origin if isinstance(part, Stored) else None


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


def graph_of(tree: Any) -> Any:
    """The object to be written for a tree."""
    if isinstance(tree, Branch):
        return tree.graph
    # by the identity of a part of the tree: a file's object in its place
    beside: dict[int, Branch] = {}
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
    old = tree.branch if tree.__class__ is Read else beside.get(id(tree))
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
