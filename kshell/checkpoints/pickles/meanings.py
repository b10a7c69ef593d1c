"""What the objects in a pickle mean: for a closed table of names, the value that Python or PyTorch would make of them.

`Meanings.of` looks at one object at a time: a value's parts are again objects of the pickle. What no name of the table
makes, or not in the way that the table knows, stays a `Node`. Nothing is imported or called for a name in a file.
"""

from __future__ import annotations

import datetime
import struct
import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from weakref import ref

from kshell.checkpoints.base.stored import Run, Stored
from kshell.checkpoints.pickles.machine import Global, Node
from kshell.errors import QError
from kshell.store.archive import WRONG, Room, wrong


class Unknown(ValueError):
    """An object is not made in the way that is known for its name."""


class Word(str):
    """A name that is a value: of a type, a device, a layout."""

    __slots__ = ()


class Attributed(dict):
    """A dictionary with attributes of its own, as state_dicts have."""

    attributes: Any = None


class Kept:
    """Memory that a pickle refers to, and the type of its items, by torch's name."""

    __slots__ = ("dtype", "is_untyped", "memory", "start")

    def __init__(self, memory: Run, dtype: str, is_untyped: bool = False, start: int = 0) -> None:
        self.memory, self.dtype, self.is_untyped = memory, dtype, is_untyped
        self.start = start  # of the part that it is of the memory, in items


def content(kept: Kept) -> bytearray:
    """The bytes of some memory."""
    out = bytearray(kept.memory.length)
    kept.memory.into(memoryview(out))
    return out


@dataclass(frozen=True, eq=False, slots=True)
class Branch:
    """An object of a pickle, and the meanings of that pickle's objects."""

    meanings: Meanings
    graph: Any

    def __iter__(self) -> Iterator[Any]:
        return iter((self.meanings, self.graph))


Maker = Callable[["Meanings", Node], Any]
_ODD = (TypeError, AttributeError, KeyError, IndexError, OverflowError, struct.error)
KNOWN: dict[str, Maker] = {}  # by name
# by how a name begins: what the name itself means, or None
WORDS: dict[str, Callable[[str], Any]] = {}
KEYS = (str, int, float, bool, bytes, type(None), complex)


def known(*names: str) -> Callable[[Maker], Maker]:
    """Register what the calls of some names mean."""

    def add(maker: Maker) -> Maker:
        KNOWN.update(dict.fromkeys(names, maker))
        return maker

    return add


class Meanings:
    """The meanings of the objects of one pickle. `kept(id)` gives the memory for an id, and raises Unknown for others;
    ValueError if it is damaged. `is_foreign`: are bytes of numbers in the other order?"""

    def __init__(self, kept: Callable[[Any], Kept], room: Room, is_foreign: bool = False) -> None:
        self._kept, self.room, self.is_foreign = kept, room, is_foreign
        self.document: Any = None  # that these objects are of
        self.path = ""  # of the file
        self.constants: list[Any] = []  # of a TorchScript program
        self.is_changed = False  # has anybody changed an object?
        # by identity: the object, and its meaning; a tensor, which refers to this, by a weak reference
        self._found: dict[int, tuple[Any, Any]] = {}

    def of(self, x: Any) -> Any:
        """The meaning of an object, the object itself if it has none. QError if it is damaged."""
        if x.__class__ is Global:
            return self._word(x)
        if x.__class__ is not Node:
            return x
        found = self._found.get(id(x))
        if found is not None:
            value = found[1]() if found[1].__class__ is ref else found[1]
            if value is not None:
                return value
        else:
            self.room.need(400)
        value = self._made(x)
        if isinstance(value, Stored):
            if value.origin is None:
                value.origin = Branch(self, x)
            self._found[id(x)] = (x, ref(value))
        else:
            self._found[id(x)] = (x, value)
        return value

    def forget(self, x: Node) -> None:
        """An object was changed: look at it again, and at everything that may hold it."""
        self._found.clear()
        self.is_changed = True

    def _word(self, x: Global) -> Any:
        for begin, maker in WORDS.items():
            if x.known.startswith(begin) and (word := maker(x.known)) is not None:
                return word
        return x

    def _made(self, x: Node) -> Any:
        problem: QError
        try:
            if x.how == "object":
                return self._kept(x.args)
            maker = KNOWN.get(x.name)
            if maker is None or x.args.__class__ is not tuple or x.kwargs is not None:
                return x
            return maker(self, x)
        except (Unknown, UnicodeError, *_ODD):
            return x
        except (RecursionError, *WRONG) as e:
            problem = wrong("ckpt", self.path, e)
        raise problem

    # ------------------------------------------------------------ for makers

    def plain(self, x: Any, *kinds: type) -> Any:
        """The meaning of a part, which must be of one of these classes; Unknown if it is not."""
        value = self.of(x)
        if value.__class__ not in kinds:
            raise Unknown
        return value

    def ints(self, x: Any) -> tuple[int, ...]:
        """A tuple or list of whole numbers."""
        values = self.plain(x, tuple, list)
        if any(n.__class__ is not int for n in values):
            raise Unknown
        return tuple(values)


def given(x: Node, least: int, most: int = 0) -> tuple[Any, ...]:
    """The arguments of an object. Unknown if they are fewer or more, as in files of other versions."""
    args: tuple[Any, ...] = x.args
    if len(args) < least or len(args) > (most or len(args)):
        raise Unknown
    return args


def pairs_of(m: Meanings, x: Node) -> dict[Any, Any]:
    """The dictionary that a node was filled with; those given as its argument first."""
    given: Any = m.of(x.args[0]) if x.args else ()
    pairs: Iterable[Any] = given.items() if isinstance(given, dict) else given
    if pairs.__class__ in (Node, Global):
        raise Unknown
    result = Attributed()
    for pair in (*pairs, *x.pairs):
        key, value = pair
        result[hashable(m, key)] = value
    m.room.need(120 * len(result))
    result.attributes = x.state
    return result


def hashable(m: Meanings, key: Any) -> Any:
    """A key of a dictionary: numbers and texts, tuples of them, or an object, which is equal to itself alone."""
    value = m.of(key) if key.__class__ is Node else key
    return value if value.__class__ in KEYS else key


# ------------------------------------------------------------------ Python's own


@known("collections.OrderedDict", "collections.Counter")
def _ordered(m: Meanings, x: Node) -> dict[Any, Any]:
    return pairs_of(m, x)


@known("collections.defaultdict")
def _defaulting(m: Meanings, x: Node) -> dict[Any, Any]:
    if len(x.args) > 1:
        raise Unknown
    result = Attributed((hashable(m, key), value) for key, value in x.pairs)
    result.attributes = x.state
    return result


@known("collections.deque")
def _deque(m: Meanings, x: Node) -> list[Any]:
    return [*(m.plain(x.args[0], list, tuple) if x.args else ()), *x.items]


@known("builtins.set", "builtins.frozenset")
def _set(m: Meanings, x: Node) -> list[Any]:
    return [*(m.plain(x.args[0], list, tuple, set) if x.args else ()), *x.items]


@known("builtins.complex")
def _complex(m: Meanings, x: Node) -> complex:
    return complex(*(m.plain(part, float, int) for part in x.args))


@known("builtins.bytearray", "_codecs.encode", "builtins.bytes")
def _bytes(m: Meanings, x: Node) -> bytes:
    given = m.of(x.args[0]) if x.args else b""
    if given.__class__ is str:
        if x.args[1:] not in ((), ("latin1",), ("latin-1",)):
            raise Unknown
        m.room.need(2 * len(given))
        return given.encode("latin-1")
    if given.__class__ not in (bytes, bytearray):
        raise Unknown
    m.room.need(len(given))
    return bytes(given)


@known("builtins.range", "builtins.slice")
def _range(m: Meanings, x: Node) -> list[Any]:
    if any(n.__class__ is not int and n is not None for n in x.args):
        raise Unknown
    return list(x.args)


@known("argparse.Namespace", "types.SimpleNamespace")
def _namespace(m: Meanings, x: Node) -> dict[Any, Any]:
    if x.args or len(x.states) > 1:
        raise Unknown
    return m.plain(x.state, dict) if x.states else {}


def _path(m: Meanings, x: Node) -> str:
    parts = [m.plain(part, str) for part in x.args]
    between = "\\" if "Windows" in x.name else "/"
    text = ""
    for part in parts:
        text += part if not text or text.endswith(between) else between + part
    return text or "."


for _kind in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath", "Path", "PurePath"):
    known(f"pathlib.{_kind}", f"pathlib._local.{_kind}")(_path)


def _stamp(m: Meanings, x: Node, size: int) -> tuple[bytes, datetime.tzinfo | None]:
    """The bytes of a date or time, and its zone."""
    data = m.of(x.args[0])
    if data.__class__ is str:  # as Python 2 wrote it
        data = data.encode("latin-1")
    if data.__class__ is not bytes or len(data) != size or len(x.args) > 2:
        raise Unknown
    zone = m.of(x.args[1]) if len(x.args) == 2 else None
    if zone is not None and not isinstance(zone, datetime.tzinfo):
        raise Unknown
    return data, zone


def _time(data: bytes, zone: datetime.tzinfo | None) -> datetime.time:
    return datetime.time(data[0], data[1], data[2], int.from_bytes(data[3:]), zone)


@known("datetime.date")
def _date(m: Meanings, x: Node) -> datetime.date:
    data, _ = _stamp(m, x, 4)
    return datetime.date(int.from_bytes(data[:2]), *data[2:])


@known("datetime.time")
def _time_of_day(m: Meanings, x: Node) -> datetime.time:
    data, zone = _stamp(m, x, 6)
    return _time(bytes((data[0] & 0x7F,)) + data[1:], zone)


@known("datetime.datetime")
def _datetime(m: Meanings, x: Node) -> datetime.datetime:
    data, zone = _stamp(m, x, 10)
    date = datetime.date(int.from_bytes(data[:2]), data[2] & 0x7F, data[3])
    return datetime.datetime.combine(date, _time(data[4:], zone))


@known("datetime.timedelta")
def _span(m: Meanings, x: Node) -> datetime.timedelta:
    return datetime.timedelta(*m.ints(x.args))


@known("datetime.timezone")
def _zone(m: Meanings, x: Node) -> datetime.timezone:
    return datetime.timezone(*(m.plain(part, datetime.timedelta, str) for part in x.args))


@known("uuid.UUID")
def _uuid(m: Meanings, x: Node) -> uuid.UUID:
    return uuid.UUID(int=m.plain(m.plain(x.state, dict)["int"], int))


@known("copyreg._reconstructor")
def _old_object(m: Meanings, x: Node) -> Any:
    """An object of protocols 0 and 1: as NEWOBJ makes it."""
    cls, base, *_ = given(x, 2)
    if (
        cls.__class__ is not Global
        or base.__class__ is not Global
        or base.known != "builtins.object"
    ):
        raise Unknown
    made = Node("new", cls)
    made.steps = x.steps
    value = m.of(made)
    return x if value is made else value


@known("omegaconf.dictconfig.DictConfig", "omegaconf.listconfig.ListConfig")
def _settings(m: Meanings, x: Node) -> Any:
    """Settings of Hydra programs."""
    return m.plain(m.plain(x.state, dict)["_content"], dict, list, str, type(None))


def _setting(m: Meanings, x: Node) -> Any:
    return m.of(m.plain(x.state, dict)["_val"])


for _kind in ("Any", "Integer", "Float", "String", "Boolean", "Path", "Bytes"):
    known(f"omegaconf.nodes.{_kind}Node")(_setting)
