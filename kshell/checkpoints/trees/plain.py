"""A tree of values without objects: what `torch.load(weights_only=True)` takes, in the place of what it refuses."""

from __future__ import annotations

import copy
import datetime
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from kshell.checkpoints.base.stored import WIDTHS, Composite, Stored
from kshell.checkpoints.pickles.editing import STORAGES, encoded, filled, of_array, tensor
from kshell.checkpoints.pickles.machine import Global, Node
from kshell.checkpoints.pickles.meanings import Branch, Kept, Meanings
from kshell.checkpoints.pickles.writing import call
from kshell.checkpoints.trees.leaves import class_of, fields_of, is_module, module_tensors
from kshell.errors import QError

_MOST = 1_000_000  # values that are looked at
_DEEPEST = 200
_LONGEST = 2000  # bits of a whole number: one of more than 255 bytes is refused
_UTILS = "torch._utils."
# functions and classes that are called for a file by default, in torch/_weights_only_unpickler.py
_CALLED = {
    "collections.OrderedDict",
    "collections.Counter",
    "_codecs.encode",
    "builtins.bytearray",
    "builtins.set",
    "builtins.complex",
    "torch.Size",
    "torch.device",
    "torch.serialization._get_layout",
    "torch.nn.parameter.Parameter",
    "torch._tensor._rebuild_from_type_v2",
    *(
        f"{_UTILS}_rebuild_{name}"
        for name in (
            "tensor",
            "tensor_v2",
            "tensor_v3",
            "parameter",
            "parameter_with_state",
            "qtensor",
            "sparse_tensor",
            "meta_tensor_no_storage",
            "nested_tensor",
        )
    ),
}
_HOLDING = (dict, list, tuple, Node, Global)
_FILLED = {"collections.OrderedDict", "collections.Counter"}
# names alone: types of tensors and of their memory, and schemes of quantised ones
_WORDS = {f"torch.{dtype}" for dtype in WIDTHS} | {
    f"torch.{begin}{name}Storage"
    for name in STORAGES.values()
    for begin in ("", "cuda.")
    if not begin or name[0] != "Q"
} | {"torch.storage.UntypedStorage", "torch.Tensor"} | {
    f"torch.per_{of}_{kind}" for of in ("tensor", "channel") for kind in ("affine", "symmetric")
} | {"torch.per_channel_affine_float_qparams"}  # fmt: skip


class Change(NamedTuple):
    """Where something was, the class of which it was, and what stands in its place."""

    name: str
    cls: str
    becomes: str


class Plain:
    """Makes the plain objects for the parts of one tree. `changes`: what was put in the place of something else."""

    def __init__(self) -> None:
        self.changes: list[Change] = []
        self._made: dict[int, tuple[Any, Any]] = {}  # by identity: an object, and what it became
        self._within: dict[int, Any] = {}  # that are being made
        self._count = 0

    def of(self, tree: Any, name: str = "") -> Any:
        """The object to be written for a tree. 'limit if it has too many parts, or is nested too deep."""
        if isinstance(tree, Branch):
            return self._object(tree.meanings, tree.graph, name)
        if isinstance(tree, dict):
            return {_key(key): self.of(part, _below(name, key)) for key, part in tree.items()}
        if isinstance(tree, list | tuple):
            return tree.__class__(self.of(p, _below(name, i)) for i, p in enumerate(tree))
        if isinstance(tree, Stored) and tree.origin is not None:
            return self._tensor(tree, name)
        return self._new(tree, name)

    # ------------------------------------------------------------ objects of a file

    def _object(self, m: Meanings, x: Any, name: str) -> Any:
        """What stands for an object; the same for an object that is there twice, nothing inside of itself."""
        self._count += 1
        if self._count > _MOST or len(self._within) > _DEEPEST:
            raise QError("limit")
        if id(x) in self._within:
            self._note(name, class_of(x) if x.__class__ is Node else type(x).__name__, "nothing")
            return None
        if x.__class__ not in _HOLDING:
            return self._new(x, name)
        found = self._made.get(id(x))
        if found is None:
            self._within[id(x)] = x
            found = self._made[id(x)] = (x, self._make(m, x, name))
            del self._within[id(x)]
        return found[1]

    def _make(self, m: Meanings, x: Any, name: str) -> Any:
        value = m.of(x)
        if isinstance(value, Stored):
            return self._tensor(value, name)
        if isinstance(value, dict):
            pairs = {
                _key(m.of(k)): self._object(m, part, _below(name, k)) for k, part in value.items()
            }
            return self._dictionary(m, x, pairs, name)
        if x.__class__ in (list, tuple):
            return x.__class__(self._inner(m, x, name))
        is_known = value is not x or x.__class__ is Global or x.how == "object"
        return x if is_known and _is_taken(x) else self._instead(m, x, value, name)

    def _dictionary(self, m: Meanings, x: Any, pairs: dict[Any, Any], name: str) -> Any:
        if x.__class__ is not Node:
            return pairs
        if x.name not in _FILLED:
            self._note(name, x.name, "dictionary")
            return pairs
        made = filled(m, x, pairs)
        states = [part for kind, part in made.steps if kind == "state"]
        if not all(_is_taken(part) for part in states):
            made.steps = [step for step in made.steps if step[0] != "state"]
        return made

    def _tensor(self, x: Stored, name: str) -> Any:
        if x.origin is not None and _is_taken(x.origin.graph):
            return x.origin.graph
        cls = class_of(x.origin.graph) if x.origin is not None else ""
        if isinstance(x, Composite) and x.kind[:6] not in ("sparse", "meta"):
            self._note(name, cls, "dictionary")
            return {key: self._tensor(part, _below(name, key)) for key, part in x.parts.items()}
        bare = copy.copy(x)
        bare.traits = bare.origin = None
        self._note(name, cls, "tensor")
        return tensor(bare)

    def _instead(self, m: Meanings, x: Any, value: Any, name: str) -> Any:
        """What stands for an object that is not taken."""
        if x.__class__ is Global:
            self._note(name, x.known, "text")
            return x.known
        cls = class_of(x)
        if value.__class__ is not Node:
            made = self._new(value, name) if not isinstance(value, list | tuple) else (
                self._inner(m, value, name)
            )  # fmt: skip
            self._note(name, cls, _kind(made))
            return made
        if is_module(m, x):
            self._note(name, cls, "state_dict")
            tensors = module_tensors(m, x)
            pairs = [(key, self._tensor(part, _below(name, key))) for key, part in tensors]
            made = call("collections.OrderedDict")
            made.steps = [("pairs", pairs)] if pairs else []
            return made
        fields = fields_of(m, x)
        if [*fields] in (["args"], ["items"]):
            (items,) = fields.values()
            is_one = [*fields] == ["args"] and isinstance(items, list) and len(items) == 1
            made = self._object(m, items[0] if is_one else items, name)  # one: as of an enum
        else:
            made = {
                _key(m.of(k)): self._object(m, part, _below(name, k)) for k, part in fields.items()
            }
        self._note(name, cls, _kind(made))
        return made

    def _inner(self, m: Meanings, parts: Any, name: str) -> list[Any]:
        return [self._object(m, part, _below(name, i)) for i, part in enumerate(parts)]

    # ------------------------------------------------------------ values

    def _new(self, x: Any, name: str) -> Any:
        """What stands for a value that is no object of a file."""
        if isinstance(x, np.ndarray):
            return self._array(x)
        if isinstance(x, np.generic):
            return self._new(x.item(), name)
        if isinstance(x, Kept):
            return None
        if x.__class__ is int and x.bit_length() > _LONGEST:
            self._note(name, "int", "text")
            return str(x)
        if x is None or x.__class__ in (bool, int, float, str, bytes, complex):
            return x
        if isinstance(x, bytearray):
            return bytes(x)
        if isinstance(x, str):
            return str(x)
        if isinstance(x, Stored):
            return encoded(x)
        if isinstance(x, datetime.date | datetime.time):
            return x.isoformat()
        return x.total_seconds() if isinstance(x, datetime.timedelta) else str(x)

    def _array(self, x: np.ndarray) -> Any:
        if x.dtype.names:
            return {name: self._array(x[name]) for name in x.dtype.names}
        if str(x.dtype.newbyteorder("=")) in WIDTHS:
            return tensor(of_array(x.astype(x.dtype.newbyteorder("="), copy=False)))
        items = x.astype("datetime64[us]").astype(str) if x.dtype.kind == "M" else x
        return [self._new(item, "") for item in items.tolist()]

    def _note(self, name: str, cls: str, becomes: str) -> None:
        self.changes.append(Change(name, cls, becomes))


def _kind(x: Any) -> str:
    """What a plain object is."""
    if x.__class__ is Node:
        return "tensor" if x.name.startswith(_UTILS) else "dictionary"
    names = {dict: "dictionary", list: "list", tuple: "list", str: "text", bytes: "bytes"}
    return "nothing" if x is None else names.get(x.__class__, "number")


def _below(name: str, key: Any) -> str:
    key = key if key.__class__ in (str, int) else _key(key)
    return f"{name}.{key}" if name else str(key)


def _key(x: Any) -> Any:
    """A key for another: a number, a text, or a tuple of such."""
    if x.__class__ is tuple:
        return tuple(map(_key, x))
    if isinstance(x, np.generic):
        x = x.item()
    if x is None or x.__class__ in (bool, int, float, str, bytes):
        return x
    return str(x)


def _is_taken(x: Any) -> bool:
    """Is an object with all that is in it one that `weights_only` takes?"""
    waiting, seen = [x], set()
    while waiting:
        part = waiting.pop()
        if part.__class__ is Global:
            if part.known not in _WORDS | _CALLED:
                return False
        elif part.__class__ in (Node, dict, list, tuple):
            if id(part) not in seen:
                seen.add(id(part))
                waiting += _parts(part)
                if part.__class__ is Node and part.how not in ("call", "object", "new"):
                    return False
        elif part.__class__ is int and part.bit_length() > _LONGEST:
            return False
        if len(seen) > _MOST:
            raise QError("limit")
    return True


def _parts(x: Any) -> Iterator[Any]:
    if x.__class__ is dict:
        yield from x.keys()
        yield from x.values()
    elif x.__class__ is Node:
        yield from x.parts()
    else:
        yield from x
