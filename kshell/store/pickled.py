"""An interpreter for the pickle operations used in checkpoints, restricted to plain values.

A pickle is a program for a small stack machine. PyTorch checkpoints use few of its operations, which create numbers,
strings, lists, tuples, sets and dictionaries. Everything else that a pickle names is looked up in a table of the
caller; nothing is imported, no class is instantiated, no method is looked up. Values are counted before they are
created, so that a short pickle cannot claim much memory.
"""

from __future__ import annotations

import codecs
import struct
import sys
from collections.abc import Callable
from typing import Any

_LONG = 4096  # texts of at least this many bytes are counted before they are created
_KEYS = (str, int, float, bool, bytes, type(None), complex)
_I4, _U2, _U4, _U8, _F8 = (struct.Struct(f) for f in ("<i", "<H", "<I", "<Q", ">d"))


class Refused(Exception):
    """A pickle requests more than plain values and the names known to the caller."""


class Maker:
    """The callable for a name: `make(*args)` with plain values, `cost` the bytes it may need, and `each` those per item
    of its first argument."""

    __slots__ = ("cost", "each", "make")

    def __init__(self, make: Callable[..., Any], cost: int = 100, each: int = 0) -> None:
        self.make, self.cost, self.each = make, cost, each


class Reader:
    """Reads one pickle. `named(name)` returns the object for `module.name`, or raises Refused; `persistent(id)` returns
    data stored outside the pickle. `need` is called with the approximate bytes of memory for what is created next, and
    may raise an error."""

    def __init__(
        self,
        data: bytes,
        named: Callable[[str], Any],
        persistent: Callable[[Any], Any],
        need: Callable[[int], None],
    ) -> None:
        self.data, self.named, self.persistent, self.need = data, named, persistent, need
        self.at = self.made = 0  # made: number of values so far
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def read(self) -> Any:
        """The value. ValueError and the like for an invalid pickle, Refused for values that are not plain."""
        value = self.next()
        if self.at != len(self.data):
            raise ValueError("the pickle does not end where it should")
        return value

    def next(self) -> Any:
        """The value of a pickle after which there may be more, from `at` on."""
        data = self.data
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
                raise Refused(f"operation {code:#04x} of a pickle")
            operation(self)

    # ------------------------------------------------------------ parts

    def push(self, x: object, cost: int = 40) -> None:
        self.need(cost)
        self.made += 1
        self.stack.append(x)

    def take(self, n: int) -> bytes:
        if n > len(self.data) - self.at:
            raise ValueError("the pickle is cut off")
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, form: struct.Struct) -> Any:
        return form.unpack(self.take(form.size))[0]

    def line(self) -> str:
        return self.bytes_of_line().decode()

    def bytes_of_line(self) -> bytes:
        end = self.data.index(b"\n", self.at)
        text = self.data[self.at : end]
        self.at = end + 1
        return text

    def text(self, n: int) -> None:
        if n > _LONG:
            self.need(4 * min(n, len(self.data) - self.at))
        text = self.take(n).decode()
        self.push(text, 0 if n > _LONG else sys.getsizeof(text))

    def marked(self) -> list[Any]:
        """Pop the items pushed since the last mark."""
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def top(self, kind: type) -> Any:
        target = self.stack[-1]
        if target.__class__ is not kind or (self.marks and len(self.stack) <= self.marks[-1]):
            raise Refused(f"additions to a {type(target).__name__}")
        return target

    def pop(self) -> Any:
        if self.marks and len(self.stack) <= self.marks[-1]:
            raise ValueError("a wrong pickle")
        return self.stack.pop()

    # ------------------------------------------------------------ operations

    def _global(self) -> None:
        module = self.line()
        self._named(module, self.line())

    def _stack_global(self) -> None:
        name, module = self.pop(), self.pop()
        if module.__class__ is not str or name.__class__ is not str:
            raise ValueError("a wrong name")
        self._named(module, name)

    def _named(self, module: str, name: str) -> None:
        self.push(self.named(f"{'builtins' if module == '__builtin__' else module}.{name}"))

    def _reduce(self) -> None:
        arguments, maker = self.pop(), self.pop()
        if maker.__class__ is not Maker or arguments.__class__ is not tuple:
            raise Refused(f"a call of a {type(maker).__name__}")
        self.need(
            maker.cost
            + (
                maker.each * len(arguments[0])
                if arguments and hasattr(arguments[0], "__len__")
                else 0
            )
        )
        self.push(maker.make(*arguments), 8)

    def _build(self) -> None:
        state, target = self.pop(), self.stack[-1]
        # attributes of a state_dict: dropped
        if target.__class__ is not dict or state.__class__ is not dict:
            raise Refused(f"attributes of a {type(target).__name__}")

    def _persistent(self) -> None:
        self.push(self.persistent(self.pop()), 100)

    def _put(self, i: int) -> None:
        self.need(100)
        self.memo[i] = self.stack[-1]

    def _tuple(self, items: list[Any]) -> None:
        self.push(tuple(items), 64 + 8 * len(items))

    def _last(self, n: int) -> None:
        self._tuple([self.pop() for _ in range(n)][::-1])

    def _append(self) -> None:
        item = self.pop()
        self.need(16)
        self.top(list).append(item)

    def _appends(self) -> None:
        items = self.marked()
        self.need(16 * len(items))
        self.top(list).extend(items)

    def _set(self, keys: list[Any], values: list[Any]) -> None:
        target = self.top(dict)
        self.need(120 * len(keys))
        for key in keys:
            plain_key(key)
        target.update(zip(keys, values, strict=True))

    def _item(self) -> None:
        value, key = self.pop(), self.pop()
        self._set([key], [value])

    def _items(self) -> None:
        pairs = self.marked()
        self._set(pairs[::2], pairs[1::2])

    def _add(self) -> None:
        items = self.marked()
        self.need(120 * len(items))
        self.top(set).update(map(plain_key, items))

    def _mark(self) -> None:
        self.need(16)
        self.marks.append(len(self.stack))

    def _drop_marked(self) -> None:
        self.marked()

    def _drop(self) -> None:
        self.pop()

    def _frame(self) -> None:
        self.take(8)

    def _version(self) -> None:
        if not self.take(1)[0] <= 5:
            raise ValueError("a pickle of an unknown version")

    # the operations of the first protocols, whose arguments are lines of text

    def _integer_line(self) -> None:
        text = self.line()
        if text in ("00", "01"):  # booleans
            self.push(text == "01")
            return
        self.need(2 * len(text))
        self.push(int(text.removesuffix("L")))

    def _float_line(self) -> None:
        self.push(float(self.line()))

    def _quoted_line(self) -> None:
        text = self.bytes_of_line()
        if len(text) < 2 or text[:1] != text[-1:] or text[:1] not in (b"'", b'"'):
            raise ValueError("a wrong text")
        self.need(8 * len(text))
        self.old_text(codecs.escape_decode(text[1:-1])[0])

    def _unicode_line(self) -> None:
        text = self.bytes_of_line()
        self.need(8 * len(text))
        self.push(text.decode("raw-unicode-escape"))

    def old_text(self, data: bytes) -> None:
        """A text as Python 2 wrote it: in UTF-8, or in any other encoding."""
        self.need(4 * len(data))
        try:
            self.push(data.decode())
        except UnicodeDecodeError:
            self.push(data.decode("latin-1"))

    def _persistent_line(self) -> None:
        self.push(self.persistent(self.line()), 100)

    def _get(self, i: int) -> None:
        self.push(self.memo[i], 8)

    def _dict(self) -> None:
        pairs = self.marked()
        self.push({}, 240)
        self._set(pairs[::2], pairs[1::2])

    def _list(self) -> None:
        items = self.marked()
        self.push(items, 80 + 16 * len(items))

    def _frozen(self) -> None:
        items = self.marked()
        self.push(set(map(plain_key, items)), 250 + 120 * len(items))

    def _array(self, n: int) -> None:
        self.push(bytearray(self.take(n)), 60 + 2 * n)

    def _bytes(self, n: int) -> None:
        self.push(self.take(n), 60 + 2 * n)

    def _long(self, n: int) -> None:
        self.push(int.from_bytes(self.take(n), "little", signed=True), 60 + 2 * n)


def plain_key(k: object) -> Any:
    """A key of a dictionary or an item of a set: a number, a string, or a tuple of these."""
    if k.__class__ not in _KEYS and not (
        k.__class__ is tuple and all(item.__class__ in _KEYS for item in k)
    ):
        raise Refused(f"a key that is a {type(k).__name__}")
    return k


_WORK: dict[int, Callable[[Reader], None]] = {
    ord("c"): Reader._global, 0x93: Reader._stack_global, ord("R"): Reader._reduce, ord("b"): Reader._build,
    ord("Q"): Reader._persistent, 0x80: Reader._version, 0x95: Reader._frame,
    ord("("): Reader._mark, ord("0"): Reader._drop, ord("1"): Reader._drop_marked,
    ord("N"): lambda r: r.push(None), 0x88: lambda r: r.push(True), 0x89: lambda r: r.push(False),
    ord("K"): lambda r: r.push(r.take(1)[0]), ord("M"): lambda r: r.push(r.number(_U2)),
    ord("J"): lambda r: r.push(r.number(_I4)), ord("G"): lambda r: r.push(r.number(_F8)),
    0x8A: lambda r: r._long(r.take(1)[0]), 0x8B: lambda r: r._long(r.number(_U4)),
    ord("X"): lambda r: r.text(r.number(_U4)), 0x8C: lambda r: r.text(r.take(1)[0]),
    0x8D: lambda r: r.text(r.number(_U8)),
    ord("B"): lambda r: r._bytes(r.number(_U4)), ord("C"): lambda r: r._bytes(r.take(1)[0]),
    0x8E: lambda r: r._bytes(r.number(_U8)),
    ord(")"): lambda r: r._tuple([]), ord("]"): lambda r: r.push([], 80), ord("}"): lambda r: r.push({}, 240),
    0x8F: lambda r: r.push(set(), 250),
    ord("t"): lambda r: r._tuple(r.marked()), 0x85: lambda r: r._last(1), 0x86: lambda r: r._last(2),
    0x87: lambda r: r._last(3), ord("a"): Reader._append, ord("e"): Reader._appends, ord("s"): Reader._item,
    ord("u"): Reader._items, 0x90: Reader._add,
    ord("q"): lambda r: r._put(r.take(1)[0]), ord("r"): lambda r: r._put(r.number(_U4)),
    0x94: lambda r: r._put(len(r.memo)),
    ord("h"): lambda r: r._get(r.take(1)[0]), ord("j"): lambda r: r._get(r.number(_U4)),
    ord("g"): lambda r: r._get(int(r.line())), ord("p"): lambda r: r._put(int(r.line())),
    ord("I"): Reader._integer_line, ord("L"): Reader._integer_line, ord("F"): Reader._float_line,
    ord("S"): Reader._quoted_line, ord("V"): Reader._unicode_line, ord("P"): Reader._persistent_line,
    ord("d"): Reader._dict, ord("l"): Reader._list, ord("2"): lambda r: r.push(r.stack[-1], 8),
    ord("T"): lambda r: r.old_text(r.take(r.number(_I4))), ord("U"): lambda r: r.old_text(r.take(r.take(1)[0])),
    0x91: Reader._frozen, 0x96: lambda r: r._array(r.number(_U8)),
}  # fmt: skip
