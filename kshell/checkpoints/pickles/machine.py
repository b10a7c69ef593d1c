"""Reading pickles without running them: what the operations of a pickle say is recorded, nothing is imported or called.

A pickle is a program for a small stack machine. Numbers, texts, lists, tuples, sets and dictionaries become Python's.
A name stays a `Global`; what a pickle would call, create or fill becomes a `Node`, which keeps the name, the arguments
and what was added to the object afterwards. What nodes mean is for others to say (pickle_values.py), and a graph of
nodes is written back as it was read (pickling.py).

Values are counted before they are created, so that a short pickle cannot claim much memory.
"""

from __future__ import annotations

import codecs
import struct
import sys
from _compat_pickle import IMPORT_MAPPING, NAME_MAPPING
from collections.abc import Callable, Iterator
from typing import Any

from kshell.store.archive import Room

_LONG = 4096  # texts of at least this many bytes are counted before they are created
_DEEPEST = 20  # tuples in tuples that are a key
_NESTED = 1000  # tuples in tuples: Python looks into them without a limit of its own, as when it needs their hash
_TIMES = 48  # bytes of memory allowed for a byte of a pickle: small values are larger in memory
_NODE = 400  # approximate bytes of a node, besides its arguments
_I4, _U2, _U4, _U8, _F8 = (struct.Struct(f) for f in ("<i", "<H", "<I", "<Q", ">d"))


class Global:
    """A name in a pickle: of a class, a function or anything else of a module. `module` and `name` are as written."""

    __slots__ = ("at", "known", "module", "name")

    def __init__(self, module: str, name: str, protocol: int = 4, at: int = 0) -> None:
        self.module, self.name, self.at = module, name, at
        if protocol < 3:  # in which Python 3 writes the names of Python 2
            module, name = NAME_MAPPING.get(
                (module, name), (IMPORT_MAPPING.get(module, module), name)
            )
        self.known = f"{module}.{name}"  # the name today

    def __repr__(self) -> str:
        return self.known


class Node:
    """An object that a pickle would make.

    `how`: `call` of a function with arguments, `new` object of a class, `instance` of a class as protocols 0 and 1 make
    it, `object` for something kept elsewhere (by its id), `extension` for a number in a registry. `steps` is what was
    done to it then: ("items", values), ("pairs", keys and values), ("state", value), and ("effect", a call with it as
    the first argument, whose result is not used), in order.
    """

    __slots__ = ("__weakref__", "args", "callee", "how", "kwargs", "steps")

    def __init__(
        self, how: str, callee: Any, args: Any = (), kwargs: dict[Any, Any] | None = None
    ) -> None:
        self.how, self.callee, self.args, self.kwargs = how, callee, args, kwargs
        self.steps: list[tuple[str, Any]] = []

    @property
    def name(self) -> str:
        """The name of the class or function that made it; empty if that is not a name itself."""
        callee = self.callee
        if callee.__class__ is Node and callee.has_source:
            callee = callee.args[1]
        return callee.known if callee.__class__ is Global else ""

    @property
    def has_source(self) -> bool:
        """Is it a class that is kept with its source text, as files of before 1.6 keep those of modules? The class
        itself is the second part of its id."""
        return self.args.__class__ is tuple and self.args[:1] == ("module",)

    @property
    def items(self) -> list[Any]:
        """The items that were added to it."""
        return [item for kind, items in self.steps if kind == "items" for item in items]

    @property
    def pairs(self) -> list[tuple[Any, Any]]:
        """The keys and values that were put into it."""
        return [pair for kind, pairs in self.steps if kind == "pairs" for pair in pairs]

    @property
    def states(self) -> list[Any]:
        """The states that it was given, also by functions of its class."""
        return [
            added if kind == "state" else added.args[1]
            for kind, added in self.steps
            if kind == "state" or (kind == "effect" and len(added.args) == 2)
        ]

    @property
    def state(self) -> Any:
        """The last of these, or None."""
        return next(reversed(self.states), None)

    def parts(self) -> Iterator[Any]:
        """Everything that it was made of."""
        yield from (self.callee, self.args, self.kwargs)
        for kind, added in self.steps:
            if kind == "pairs":
                for pair in added:
                    yield from pair
            else:
                yield added

    def __repr__(self) -> str:
        return f"<{self.name or self.how}>"


class Machine:
    """Reads the pickles in some bytes, one after the other. `stored`: the bytes that they take in the file, if they are
    compressed there; their values may need a multiple of it."""

    def __init__(self, data: bytes, room: Room, stored: int = -1) -> None:
        self.data, self.room = data, room
        room.left += _TIMES * (len(data) if stored < 0 else stored)
        self.at = self.made = 0  # made: number of values so far
        self.protocol = 0
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.globals: dict[tuple[str, str], Global] = {}
        self.nodes: list[Node] = []  # in the order in which they are made
        self.kept: list[Node] = []  # those that are kept elsewhere
        self._depths: dict[int, int] = {}  # of tuples that have others in them, by identity

    def read(self) -> Any:
        """The value of a pickle that is all of the bytes. ValueError and the like if it is not valid."""
        value = self.next()
        if self.at != len(self.data):
            raise ValueError("the pickle does not end where it should")
        return value

    def next(self) -> Any:
        """The value of the pickle at `at`, which is moved behind it."""
        data = self.data
        self.protocol = data[self.at + 1] if data[self.at] == 0x80 else 0
        while True:
            code = data[self.at]
            self.at += 1
            if code == 0x2E:  # '.': the end
                if self.marks or len(self.stack) != 1:
                    raise ValueError("the pickle does not end where it should")
                self.memo.clear()
                return self.stack.pop()
            operation = _WORK.get(code)
            if operation is None:
                raise ValueError(f"a pickle has the unknown operation {code:#04x}")
            operation(self)

    # ------------------------------------------------------------ parts

    def push(self, x: object, cost: int = 40) -> None:
        """Put a value on the stack that takes so many bytes."""
        self.room.need(cost)
        self.made += 1
        self.stack.append(x)

    def take(self, n: int) -> bytes:
        """The next n bytes."""
        if not 0 <= n <= len(self.data) - self.at:
            raise ValueError("the pickle is cut off")
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, form: struct.Struct) -> Any:
        """The next number."""
        return form.unpack(self.take(form.size))[0]

    def line(self) -> bytes:
        """The bytes up to the end of a line."""
        end = self.data.index(b"\n", self.at)
        text = self.data[self.at : end]
        self.at = end + 1
        return text

    def text(self, n: int) -> None:
        """Push a text of n bytes."""
        if n > _LONG:
            self.room.need(4 * min(n, len(self.data) - self.at))
        text = self.take(n).decode("utf-8", "surrogatepass")
        self.push(text, 0 if n > _LONG else sys.getsizeof(text))

    def marked(self) -> list[Any]:
        """Pop the values pushed since the last mark."""
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    @property
    def top(self) -> Any:
        """The value that is last on the stack."""
        if self.marks and len(self.stack) <= self.marks[-1]:
            raise ValueError("a wrong pickle")
        return self.stack[-1]

    def pop(self) -> Any:
        """Take it from there."""
        value = self.top
        self.stack.pop()
        return value

    def node(self, how: str, callee: Any, args: Any, kwargs: Any = None) -> None:
        """Push a node."""
        node = Node(how, callee, args, kwargs)
        self.nodes.append(node)
        self.push(node, _NODE)

    # ------------------------------------------------------------ names, calls, objects

    def _global(self) -> None:
        start = self.at - 1
        module = self.line().decode()
        self._named(module, self.line().decode(), start)

    def _stack_global(self) -> None:
        name, module = self.pop(), self.pop()
        if module.__class__ is not str or name.__class__ is not str:
            raise ValueError("a wrong name")
        self._named(module, name, self.at - 1)

    def _named(self, module: str, name: str, at: int) -> None:
        known = self.globals.get((module, name))
        if known is None:
            self.room.need(_NODE)
            known = self.globals[module, name] = Global(module, name, self.protocol, at)
        self.push(known)

    def _reduce(self) -> None:
        arguments, callee = self.pop(), self.pop()
        self.node("call", callee, arguments)

    def _new(self) -> None:
        arguments, callee = self.pop(), self.pop()
        self.node("new", callee, arguments)

    def _new_with_names(self) -> None:
        named, arguments, callee = self.pop(), self.pop(), self.pop()
        self.node("new", callee, arguments, named)

    def _instance(self) -> None:
        start = self.at - 1
        module = self.line().decode()
        self._named(module, self.line().decode(), start)
        callee = self.stack.pop()
        self.node("instance", callee, tuple(self.marked()))

    def _object(self) -> None:
        callee, *arguments = self.marked()
        self.node("instance", callee, tuple(arguments))

    def _build(self) -> None:
        state, target = self.pop(), self.top
        if target.__class__ is not Node:
            raise ValueError(f"a pickle gives a {type(target).__name__} a state")
        self.room.need(100)
        target.steps.append(("state", state))

    def _persistent(self) -> None:
        self.node("object", None, self.pop())
        self.kept.append(self.stack[-1])

    def _persistent_line(self) -> None:
        self.node("object", None, self.line().decode())
        self.kept.append(self.stack[-1])

    def _extension(self, number: int) -> None:
        self.node("extension", None, number)

    # ------------------------------------------------------------ the memo

    def _put(self, i: int) -> None:
        self.room.need(100)
        self.memo[i] = self.top

    def _get(self, i: int) -> None:
        self.push(self.memo[i], 8)

    # ------------------------------------------------------------ containers

    def _tuple(self, items: list[Any]) -> None:
        made = tuple(items)
        self.push(made, 64 + 8 * len(items))
        inner = [id(item) for item in items if item.__class__ is tuple]
        if inner:
            self.room.need(100)
            depth = self._depths[id(made)] = 1 + max(self._depths.get(key, 1) for key in inner)
            if depth > _NESTED:
                raise ValueError("tuples are nested too deep")
        elif self._depths:
            self._depths.pop(id(made), None)  # another one had its place in memory

    def _last(self, n: int) -> None:
        self._tuple([self.pop() for _ in range(n)][::-1])

    def _extend(self, items: list[Any]) -> None:
        self.room.need(16 * len(items))
        target = self.top
        if target.__class__ is list:
            target.extend(items)
        elif target.__class__ is Node:
            target.steps.append(("items", items))
        else:
            raise ValueError(f"a pickle adds to a {type(target).__name__}")

    def _append(self) -> None:
        item = self.pop()
        self._extend([item])

    def _set(self, keys: list[Any], values: list[Any]) -> None:
        target = self.top
        self.room.need(120 * len(keys))
        pairs = zip(keys, values, strict=True)
        if target.__class__ is dict:
            for key in keys:
                _check_key(key)
            target.update(pairs)
        elif target.__class__ is Node:
            target.steps.append(("pairs", list(pairs)))
        else:
            raise ValueError(f"a pickle puts keys into a {type(target).__name__}")

    def _item(self) -> None:
        value, key = self.pop(), self.pop()
        self._set([key], [value])

    def _items(self) -> None:
        pairs = self.marked()
        self._set(pairs[::2], pairs[1::2])

    def _add(self) -> None:
        items = self.marked()
        if self.top.__class__ is set:
            self.room.need(120 * len(items))
            for item in items:
                _check_key(item)
            self.top.update(items)
        else:
            self._extend(items)

    def _dict(self) -> None:
        pairs = self.marked()
        self.push({}, 240)
        self._set(pairs[::2], pairs[1::2])

    def _list(self) -> None:
        items = self.marked()
        self.push(items, 80 + 16 * len(items))

    def _frozen(self) -> None:
        items = self.marked()
        for item in items:
            _check_key(item)
        self.push(frozenset(items), 250 + 120 * len(items))

    def _mark(self) -> None:
        self.room.need(16)
        self.marks.append(len(self.stack))

    def _drop(self) -> None:
        if self.marks and len(self.stack) == self.marks[-1]:
            self.marks.pop()
            return
        made = self.pop()
        target = (
            made.args[0]
            if made.__class__ is Node and made.args.__class__ is tuple and made.args
            else None
        )
        if target.__class__ is Node and made.how == "call":  # for what it does to the object
            self.room.need(100)
            target.steps.append(("effect", made))

    def _drop_marked(self) -> None:
        self.marked()

    def _frame(self) -> None:
        self.take(8)  # a length, which is only a hint

    def _version(self) -> None:
        if not self.take(1)[0] <= 5:
            raise ValueError("a pickle of an unknown version")

    def _buffer(self) -> None:
        raise ValueError("the pickle needs memory that was kept outside of it")

    # ------------------------------------------------------------ numbers and texts

    def _integer_line(self) -> None:
        text = self.line().decode()
        if text in ("00", "01"):  # booleans
            self.push(text == "01")
            return
        self.room.need(2 * len(text))
        self.push(int(text.removesuffix("L")))

    def _float_line(self) -> None:
        self.push(float(self.line()))

    def _quoted_line(self) -> None:
        text = self.line()
        if len(text) < 2 or text[:1] != text[-1:] or text[:1] not in (b"'", b'"'):
            raise ValueError("a wrong text")
        self.room.need(8 * len(text))
        self._old_text(codecs.escape_decode(text[1:-1])[0])

    def _unicode_line(self) -> None:
        text = self.line()
        self.room.need(8 * len(text))
        self.push(text.decode("raw-unicode-escape"))

    def _old_text(self, data: bytes) -> None:
        """A text as Python 2 wrote it: in UTF-8, or in any other encoding."""
        self.room.need(4 * len(data))
        try:
            self.push(data.decode())
        except UnicodeDecodeError:
            self.push(data.decode("latin-1"))

    def _array(self, n: int) -> None:
        self.push(bytearray(self.take(n)), 60 + 2 * n)

    def _bytes(self, n: int) -> None:
        self.push(self.take(n), 60 + 2 * n)

    def _long(self, n: int) -> None:
        self.push(int.from_bytes(self.take(n), "little", signed=True), 60 + 2 * n)


def _check_key(key: Any, depth: int = 0) -> None:
    """ValueError for what cannot be a key, or is too deep for Python to compare."""
    if key.__class__ in (tuple, frozenset):
        if depth > _DEEPEST:
            raise ValueError("a key is too deep")
        for item in key:
            _check_key(item, depth + 1)
    elif key.__class__ in (list, dict, set, bytearray):
        raise ValueError(f"a {type(key).__name__} is a key")


_WORK: dict[int, Callable[[Machine], None]] = {
    ord("c"): Machine._global, 0x93: Machine._stack_global, ord("i"): Machine._instance, ord("o"): Machine._object,
    ord("R"): Machine._reduce, 0x81: Machine._new, 0x92: Machine._new_with_names, ord("b"): Machine._build,
    ord("Q"): Machine._persistent, ord("P"): Machine._persistent_line, 0x80: Machine._version,
    0x82: lambda m: m._extension(m.take(1)[0]), 0x83: lambda m: m._extension(m.number(_U2)),
    0x84: lambda m: m._extension(m.number(_I4)), 0x95: Machine._frame,
    0x97: Machine._buffer, 0x98: lambda m: None,
    ord("("): Machine._mark, ord("0"): Machine._drop, ord("1"): Machine._drop_marked,
    ord("2"): lambda m: m.push(m.top, 8),
    ord("N"): lambda m: m.push(None), 0x88: lambda m: m.push(True), 0x89: lambda m: m.push(False),
    ord("K"): lambda m: m.push(m.take(1)[0]), ord("M"): lambda m: m.push(m.number(_U2)),
    ord("J"): lambda m: m.push(m.number(_I4)), ord("G"): lambda m: m.push(m.number(_F8)),
    0x8A: lambda m: m._long(m.take(1)[0]), 0x8B: lambda m: m._long(m.number(_I4)),
    ord("X"): lambda m: m.text(m.number(_U4)), 0x8C: lambda m: m.text(m.take(1)[0]),
    0x8D: lambda m: m.text(m.number(_U8)),
    ord("B"): lambda m: m._bytes(m.number(_U4)), ord("C"): lambda m: m._bytes(m.take(1)[0]),
    0x8E: lambda m: m._bytes(m.number(_U8)), 0x96: lambda m: m._array(m.number(_U8)),
    ord("T"): lambda m: m._old_text(m.take(m.number(_I4))), ord("U"): lambda m: m._old_text(m.take(m.take(1)[0])),
    ord(")"): lambda m: m._tuple([]), ord("]"): lambda m: m.push([], 80), ord("}"): lambda m: m.push({}, 240),
    0x8F: lambda m: m.push(set(), 250), 0x91: Machine._frozen, 0x90: Machine._add,
    ord("t"): lambda m: m._tuple(m.marked()), 0x85: lambda m: m._last(1), 0x86: lambda m: m._last(2),
    0x87: lambda m: m._last(3), ord("a"): Machine._append, ord("e"): lambda m: m._extend(m.marked()),
    ord("s"): Machine._item, ord("u"): Machine._items, ord("d"): Machine._dict, ord("l"): Machine._list,
    ord("q"): lambda m: m._put(m.take(1)[0]), ord("r"): lambda m: m._put(m.number(_U4)),
    0x94: lambda m: m._put(len(m.memo)), ord("p"): lambda m: m._put(int(m.line())),
    ord("h"): lambda m: m._get(m.take(1)[0]), ord("j"): lambda m: m._get(m.number(_U4)),
    ord("g"): lambda m: m._get(int(m.line())),
    ord("I"): Machine._integer_line, ord("L"): Machine._integer_line, ord("F"): Machine._float_line,
    ord("S"): Machine._quoted_line, ord("V"): Machine._unicode_line,
}  # fmt: skip
