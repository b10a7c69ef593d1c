"""Classes of all the kinds that pickles have, and how two graphs of objects are compared."""

from __future__ import annotations

import collections
import datetime
import decimal
import enum
import fractions
import math
import pathlib
import pickle
import uuid
from typing import Any, NamedTuple

import numpy as np

from kshell.checkpoints.pickles.machine import Machine
from kshell.checkpoints.pickles.writing import Pickler
from kshell.store.archive import Room


class Plain:
    """State is a dictionary."""


class Maker:
    """Makes things, and keeps them in its state."""

    def __init__(self) -> None:
        self.made: list[Thing] = []

    def __call__(self) -> Thing:
        return Thing(self)


class Thing:
    """What a maker makes, by being called."""

    def __init__(self, maker: Maker) -> None:
        self.maker = maker

    def __reduce__(self) -> tuple[Maker, tuple[()]]:
        return self.maker, ()


class Slots:
    """State is a dictionary or None, and a dictionary of slots."""

    __slots__ = ("a", "b")


class Both(Slots):
    """Attributes in slots and others."""


class Pair(NamedTuple):
    """A tuple of a class."""

    left: Any
    right: Any


class Color(enum.Enum):
    """Made by a call with its value."""

    RED, BLUE = 1, "blue"


class Word(enum.StrEnum):
    """A text and a member."""

    YES = "yes"


class Listed(list):
    """Items, and perhaps attributes."""


class Keyed(dict):
    """Keys and values, and perhaps attributes."""


class Named:
    """Made with names, as protocols from 2 on can."""

    def __new__(cls, *, size: Any = 0) -> Named:
        made = super().__new__(cls)
        made.size = size  # type: ignore[attr-defined]
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[()], dict[str, Any]]:
        return (), {"size": self.size}  # type: ignore[attr-defined]


class Counted:
    """A call with arguments, a state that is no dictionary, items and pairs."""

    def __init__(self, first: Any = 0) -> None:
        self.first, self.state = first, None
        self.items: list[Any] = []
        self.pairs: dict[Any, Any] = {}

    def append(self, x: Any) -> None:
        self.items.append(x)

    def extend(self, x: Any) -> None:
        self.items.extend(x)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.pairs[key] = value

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def __reduce__(self) -> Any:
        return Counted, (self.first,), self.state or None, iter(self.items), iter(self.pairs.items())


def graph_of(data: bytes) -> tuple[Machine, Any]:
    """What a pickle says."""
    machine = Machine(data, Room(len(data)))
    return machine, machine.read()


def rewritten(data: bytes) -> bytes:
    """A pickle that was read and is written again."""
    machine, graph = graph_of(data)
    return Pickler(machine.protocol, lambda node: node.args).bytes_of(graph)


# whether Python has these once or twice tells nothing
VALUES = (bytes, np.dtype, datetime.date, datetime.time, datetime.timedelta, datetime.timezone, decimal.Decimal,
          fractions.Fraction, uuid.UUID, pathlib.PurePath)


class Same:
    """Compares two graphs: equal values of the same classes, and where one has an object twice, the other has, too."""

    def __init__(self) -> None:
        self.seen: dict[int, int] = {}
        self.turned: dict[int, int] = {}
        self.alive: list[Any] = []
        self.other: Any = None  # the first that are not the same

    def __call__(self, a: Any, b: Any) -> bool:
        if self.alike(a, b):
            return True
        self.other = self.other or (a, b)
        return False

    def alike(self, a: Any, b: Any) -> bool:
        if a.__class__ is not b.__class__:
            return False
        if a is None or isinstance(a, bool | int | str | enum.Enum | type | range) or a is ...:
            return bool(a == b)
        if isinstance(a, float):
            return math.isnan(b) if math.isnan(a) else (a == b and math.copysign(1, a) == math.copysign(1, b))
        if isinstance(a, complex):
            return self(a.real, b.real) and self(a.imag, b.imag)
        if isinstance(a, np.generic):
            return a.dtype == b.dtype and a.tobytes() == b.tobytes()
        if isinstance(a, VALUES) or (isinstance(a, tuple | frozenset) and not a):
            return bool(a == b)
        if id(a) in self.seen or id(b) in self.turned:
            return self.seen.get(id(a)) == id(b) and self.turned.get(id(b)) == id(a)
        self.seen[id(a)], self.turned[id(b)] = id(b), id(a)
        self.alive.append((a, b))
        return self.parts(a, b)

    def parts(self, a: Any, b: Any) -> bool:
        if isinstance(a, bytearray):
            return a == b
        if isinstance(a, np.ndarray) and a.dtype != object:
            return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        if isinstance(a, set | frozenset):
            return len(a) == len(b) and all(map(self, sorted(a, key=repr), sorted(b, key=repr)))
        return self.inside(a, b) and self(attributes(a), attributes(b))

    def inside(self, a: Any, b: Any) -> bool:
        if isinstance(a, np.ndarray):
            a, b = list(a.flat), list(b.flat)
        if isinstance(a, dict):
            if a.__class__ is collections.defaultdict and a.default_factory is not b.default_factory:
                return False
            return len(a) == len(b) and all(self(x, y) for x, y in zip(a.items(), b.items(), strict=True))
        if isinstance(a, list | tuple | collections.deque):
            if isinstance(a, collections.deque) and a.maxlen != b.maxlen:
                return False
            return len(a) == len(b) and all(map(self, a, b))
        return True


def attributes(x: Any) -> dict[str, Any] | None:
    """What an object has beside its items."""
    found = dict(getattr(x, "__dict__", {}))
    if isinstance(x, Slots):
        found |= {name: getattr(x, name) for name in ("a", "b") if hasattr(x, name)}
    return found or None


def assert_same(wanted: Any, got: Any) -> None:
    """Fail if two graphs are not the same."""
    same = Same()
    assert same(wanted, got), same.other


def loads(data: bytes) -> Any:
    """The value of a pickle that a test made."""
    return pickle.loads(data)
