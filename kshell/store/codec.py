"""kdb+'s binary format for values: used by `-8!`, connections and files.

Layout as documented by Kx ("Serialization examples"): a type byte; for atoms, their data; for vectors, an attribute
byte, a 32-bit count and the items; symbols end in a zero byte; all numbers are little-endian.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sized
from typing import Any, cast

import numpy as np

from kshell import registry
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.store.costs import ATOM, LIST, SYM, VEC, function_cost
from kshell.store.fields import no_collection
from kshell.store.runs import FEW, flattened, symbol_bytes, symbols_at, vectors_at, vectors_bytes
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import (
    HOLE,
    NIL,
    Atom,
    Dict,
    EnumAtom,
    List,
    ListValue,
    Nd,
    Table,
    Value,
    Vec,
    atom,
    atom_t,
    flat_list,
    raw,
    sym_names,
    sym_vec,
)
from kshell.values.base.functions import ITERATORS, Comp, Derived, Iter, Lambda, Prim, Proj
from kshell.values.base.primitives import DERIVED, OPERATORS, UNARY, number, type_of_entry
from kshell.values.base.symbols import Sym, sym
from kshell.values.engine.apply import project
from kshell.values.items.pick import unenum

ATTRS = ("", "s", "u", "p", "g")
_FIXED = {t: T.TYPE[t].size for t in T.DTYPE if t not in (T.S, T.ENUM)}
_ITER = ("'", "/", "\\", "':", "/:", "\\:")
MAX_DEPTH = 200
LOCKED = "locked"  # the text of a function whose source is hidden


_NEGATIVE = 1 << 31  # what a count is at least if its writer meant a negative one
WIDE = 0x80  # added to the attribute of a vector whose count takes eight bytes


def head(t: int, attribute: int, count: int) -> bytes:
    """The bytes before the items of a vector or list: type, attribute, count."""
    if count >> 32:
        return struct.pack("<bBq", t, attribute | WIDE, count)
    return struct.pack("<bBI", t, attribute, count)


class Out(list[bytes | memoryview]):
    """The parts of an encoding. `file`: it goes into a file, where enumerations stay what they are. `without`: types
    that the receiver does not know."""

    file = False
    without: frozenset[int] = frozenset()


# the types that receivers of low capability do not know, by the first capability that has them
_INTEGER = struct.Struct("<bq")  # a long
_SINCE = ((1, frozenset((T.P, T.N))), (3, frozenset((T.G,))))


def encode(x: Value, file: bool = False, capability: int = 6) -> bytes:
    """The bytes of a value; errors and `file` as of `encoded`."""
    return b"".join(encoded(x, file, capability))


def encoded(x: Value, file: bool = False, capability: int = 6) -> Out:
    """The bytes of a value in parts, some of which are those of its arrays; one that has no such form (a handle), or
    none that a receiver of this capability knows, is 'type. Enumerations are sent as their values, but kept in a
    file."""
    parts = Out()
    if x.__class__ is int:
        parts.append(_INTEGER.pack(-T.J, x))
        return parts
    if file:
        parts.file = True
    for first, types in _SINCE:
        if capability < first:
            parts.without |= types
    _put(x, parts)
    return parts


def array_bytes(a: np.ndarray) -> memoryview:
    """The bytes of an array's items, without a copy if they are in order."""
    return np.ascontiguousarray(a).view(np.uint8).data


def _put(x: Value, out: Out) -> None:
    if x.__class__ is int:
        out.append(_INTEGER.pack(-T.J, x))
        return
    qtype = atom_t(x)
    if x.__class__ is EnumAtom:
        if out.file:
            out.append(struct.pack("b", -qtype) + _text(x.dom) + struct.pack("<q", x.v))
            return
        x = unenum(x)
        qtype = atom_t(x)
    if qtype:
        if qtype in out.without:
            raise QError("type")
        out.append(struct.pack("b", -qtype) + _atom_bytes(qtype, x))
        return
    maker = _PUT.get(x.__class__)
    if maker is None:
        maker = next((value for key, value in _PUT.items() if isinstance(x, key)), None)
    if maker is None:
        raise CallError(UNSAID, x.unsaved, given=SAID) if hasattr(x, "unsaved") else QError("type")
    maker(x, out)


def _text(s: str) -> bytes:
    return s.encode("utf-8", "surrogateescape") + b"\0"


def _atom_bytes(t: int, x: Value) -> bytes:
    if x.__class__ is Sym:
        return _text(x.s)
    if t == T.G:
        return bytes(raw(x))
    return np.array(raw(x), T.DTYPE[t]).tobytes()


def _put_vec(x: Vec, out: Out) -> None:
    qtype = x.t
    if qtype in out.without:
        raise QError("type")
    attribute = ATTRS.index(x.attr)
    if qtype == T.ENUM and not out.file:
        plain = unenum(x)
        _put(Vec(plain.t, plain.a, x.attr) if plain.__class__ is Vec else plain, out)
        return
    if qtype == T.ENUM:
        out.append(struct.pack("bB", qtype, attribute) + _text(x.dom) + struct.pack("<i", len(x.a)))
    else:
        out.append(head(qtype, attribute, len(x.a)))
    if qtype == T.S:
        out.append(symbol_bytes(x.a))
    else:
        out.append(array_bytes(x.a))


def _put_nd(x: Nd, out: Out) -> None:
    """A regular nested list of fixed-width items: every row of the last dimension is a head and its items."""
    if x.t == T.S or not x.a.size or x.t in out.without:
        _put_list(x, out)
        return
    *outer, count = x.a.shape
    rows = (
        np.ascontiguousarray(x.a)
        .reshape(-1, count)
        .view(np.uint8)
        .reshape(-1, count * x.a.itemsize)
    )
    header = np.frombuffer(struct.pack("<bBi", x.t, 0, count), np.uint8)
    block = np.concatenate([np.broadcast_to(header, (len(rows), 6)), rows], axis=1)
    for length in reversed(outer):  # lists of that many items: a header before as many rows
        header = np.frombuffer(struct.pack("<bBi", 0, 0, length), np.uint8)
        grouped = (
            block.reshape(-1, length * block.shape[1])
            if length
            else np.empty((max(len(block), 1), 0), np.uint8)
        )
        block = np.concatenate([np.broadcast_to(header, (len(grouped), 6)), grouped], axis=1)
    out.append(array_bytes(block.reshape(-1)))


def _put_list(x: List, out: Out) -> None:
    out.append(head(0, 0, len(x)))
    flat = flattened(x) if len(x) >= FEW and x.__class__ is List else None
    if flat is not None and flat.t not in out.without:
        out.append(vectors_bytes(flat))
        return
    for item in x.items:
        _put(item, out)


def _put_dict(x: Dict, out: Out) -> None:
    is_sorted = x.attr == "s"
    out.append(b"\x7f" if is_sorted else b"\x63")
    keys = x.k
    if is_sorted and keys.__class__ is Table:  # the table of keys is sorted, not its first column
        _put_table(Table(keys.names, [_without_attribute(keys.cols[0]), *keys.cols[1:]]), out, True)
    else:
        _put(keys, out)
    _put(x.v, out)


def _without_attribute(x: ListValue) -> ListValue:
    return Vec(x.t, x.a, "", x.dom) if x.__class__ is Vec else x


def _is_sorted(x: Table) -> bool:
    """Was the table sorted by `s#, and does its first column still have the attribute that this gave it?"""
    first = x.cols[0] if x.attr else None
    return first.__class__ is Vec and first.attr in ("s", "p")


def _put_table(x: Table, out: Out, is_sorted: bool = False) -> None:
    out.append(b"\x62\1\x63" if is_sorted or _is_sorted(x) else b"\x62\0\x63")
    _put(sym_vec(x.names), out)
    _put_list(List(list(x.cols)), out)


def _put_lambda(x: Lambda, out: Out) -> None:
    if x.text == LOCKED:
        raise QError("type")
    out.append(b"\x64" + _text("" if x.ctx == "." else x.ctx[1:]))
    text = x.text.encode("utf-8", "surrogateescape")
    out.append(struct.pack("<bBi", T.C, 0, len(text)) + text)


def _put_prim(x: Prim, out: Out) -> None:
    code = number(x.name)
    if code is not None:
        out.append(bytes((x.t, code)))
    elif x.name in DERIVED:
        out.append(bytes((x.t, 102, OPERATORS.index(DERIVED[x.name][0]))))
    else:  # a function that kdb+ defines in q is sent as one that calls it
        args = ";".join("xyz"[: max(x.rank, 1)])
        out.append(b"\x64\0")
        _put(Vec(T.C, np.frombuffer(f"{{{x.name}[{args}]}}".encode(), np.uint8)), out)


def _put_proj(x: Proj, out: Out) -> None:
    out.append(struct.pack("<bi", 104, len(x.args) + 1))
    _put(x.f, out)
    for argument in x.args:
        out.append(b"\x65\xff") if argument is HOLE else _put(argument, out)


def _put_comp(x: Comp, out: Out) -> None:
    out.append(struct.pack("<bi", 105, len(x.fs)))
    for function in x.fs:
        _put(function, out)


def _put_derived(x: Derived, out: Out) -> None:
    out.append(bytes((x.t,)))
    _put(x.f, out)


_PUT: dict[type, Any] = {
    Vec: _put_vec, Nd: _put_nd, List: _put_list, Dict: _put_dict, Table: _put_table, Lambda: _put_lambda,
    Prim: _put_prim, Proj: _put_proj, Comp: _put_comp, Derived: _put_derived,
    type(NIL): lambda x, out: out.append(b"\x65\0"),
    Iter: lambda x, out: out.append(bytes((103, _ITER.index(x.glyph)))),
}  # fmt: skip


def _known(t: int, a: np.ndarray) -> np.ndarray:
    """The same array; 'corrupt if it is boolean and has a byte other than 0 and 1."""
    if t == T.B and a.size and a.view(np.uint8).max() > 1:
        raise QError("corrupt")
    return a


_SIZES = {form: struct.calcsize(f"<{form}") for form in "bBiIqQ"}  # bytes of numbers


class Reader:
    """Decodes one value from bytes, with bounds checks; invalid data is 'corrupt. `need`, if given, is called with the
    bytes of memory that values need, and may raise an error. `order` is struct's letter for the byte order."""

    order = "<"

    def __init__(
        self,
        data: bytes | bytearray | memoryview,
        at: int = 0,
        need: Callable[[int], None] | None = None,
    ) -> None:
        self.need = need
        self.short = False  # was the error a lack of bytes?
        self.in_text = False  # was it an error of a function's text?
        self.longest = 1 << 62  # bytes of a function's text
        self.data, self.at, self.depth = memoryview(data), at, 0
        self.raw = data if isinstance(data, bytes | bytearray) else bytes(data)

    def take(self, n: int) -> memoryview:
        if n < 0 or self.at + n > len(self.data):
            self.short = n >= 0
            raise QError("corrupt")
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, form: str) -> int:
        return int(struct.unpack(self.order + form, self.take(_SIZES[form]))[0])

    def array(self, t: int, n: int) -> np.ndarray:
        """n items of a type with a fixed width, in the machine's order; the bytes themselves."""
        data = self.take(n * T.TYPE[t].size)
        return _known(t, np.frombuffer(data, T.DTYPE[t]))

    def text(self) -> str:
        end = self.raw.find(b"\0", self.at)
        if end < 0:
            self.short = True
            raise QError("corrupt")
        text = self.raw[self.at : end].decode("utf-8", "surrogateescape")
        self.at = end + 1
        return text

    def value(self) -> Value:
        """The value at this position."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise QError("limit")
        qtype = self.number("b")
        try:
            if qtype < 0:
                return self._atom(-qtype)
            if qtype <= 20:
                return self._vector(qtype)
            decoder = _GET.get(qtype)
            if decoder is None:
                raise QError("corrupt")
            return decoder(self, qtype)
        finally:
            self.depth -= 1

    def whole(self) -> Value:
        """The value at this position, behind which there is nothing."""
        value = self.value()
        if self.at != len(self.data):
            raise QError("corrupt")
        return value

    def _needs(self, n: int) -> None:
        if self.need is not None:
            self.need(n)

    def _atom(self, t: int) -> Value:
        self._needs(SYM if t in (T.S, T.ENUM) else ATOM)
        if t == T.S:
            return sym(self.text())
        if t == T.ENUM:
            domain = self.text()
            return EnumAtom(self.number("q"), domain)
        if t not in T.DTYPE:
            raise QError("corrupt")
        if t == T.G:
            return Atom(t, bytes(self.take(16)))
        return atom(t, self.array(t, 1)[0])

    def _vector(self, t: int) -> Value:
        attribute = self.number("B")
        domain = self.text() if t == T.ENUM else ""
        count = self.number("Q" if attribute & WIDE else "I")
        attribute &= ~WIDE
        if count > len(self.data) or attribute >= len(ATTRS):
            self.short = attribute < len(ATTRS) and count < _NEGATIVE
            raise QError("corrupt")
        self._needs(LIST + 16 * count if t == 0 else VEC + (SYM if t == T.S else 0) * count)
        if t == 0:
            return self._regular(count) or self._vectors(count) or collapse_list(self._items(count))
        if t == T.S:
            symbols = symbols_at(self.raw, self.at, count)
            if symbols is None:
                self.short = True
                raise QError("corrupt")
            self.at = symbols[1]
            return Vec(t, symbols[0], ATTRS[attribute])
        if t not in T.DTYPE:
            raise QError("corrupt")
        size = T.TYPE[t].size
        self._needs(count * size)
        items = self.array(t, count)
        # single bytes that make up most of the data are referenced, others copied
        items = items if size == 1 and 2 * count >= len(self.raw) else items.copy()
        return Vec(t, items, ATTRS[attribute], domain)

    def _regular(self, n: int) -> Value | None:
        """n vectors of one fixed-width type and one length, all at once; None if the data is anything else."""
        header = bytes(self.data[self.at : self.at + 6])
        if (
            n < 2
            or len(header) < 6
            or header[0] not in T.DTYPE
            or header[0] in (T.S, T.ENUM)
            or header[1]
        ):
            return None
        kind = T.TYPE[header[0]]
        stride = 6 + kind.size * struct.unpack("<i", header[2:])[0]
        if stride <= 6 or self.at + n * stride > len(self.data):
            return None
        rows = np.frombuffer(self.data, np.uint8, n * stride, self.at).reshape(n, stride)
        if not (rows[:, :6] == rows[0, :6]).all():
            return None
        self.at += n * stride
        self._needs(n * stride)
        return Nd(kind.num, _known(kind.num, np.ascontiguousarray(rows[:, 6:]).view(kind.dtype)))

    def _vectors(self, n: int) -> Value | None:
        """n vectors of one type and of any lengths, all at once; None if what follows is not that."""
        several = vectors_at(self.raw, self.at, n)
        if several is None:
            return None
        flat, end = several
        self._needs(VEC * n + end - self.at)
        self.at = end
        return flat_list(flat.t, _known(flat.t, flat.a), flat.ends)

    def _items(self, n: int) -> list[Value]:
        """n values; plain vectors of fixed-width items are read without a call per part."""
        buffer, end = self.raw, len(self.raw)
        values: list[Value] = []
        with no_collection():
            while len(values) < n:
                start = self.at
                size = _FIXED.get(buffer[start]) if start + 6 <= end else None
                if size is not None and buffer[start + 1] == 0:
                    qtype = buffer[start]
                    count = int.from_bytes(buffer[start + 2 : start + 6], "little")
                    self.at = start + 6 + count * size
                    if self.at > end:
                        self.short = count < _NEGATIVE
                        raise QError("corrupt")
                    if self.need is not None:
                        self.need(VEC + count * size)
                    array = _known(qtype, np.frombuffer(buffer, T.DTYPE[qtype], count, start + 6))
                    values.append(Vec(qtype, array if size == 1 else array.copy()))
                else:
                    values.append(self.value())
        return values

    def _dict(self, t: int) -> Value:
        self._needs(LIST)
        keys, values = self.value(), self.value()
        if not isinstance(keys, Sized) or not isinstance(values, Sized) or len(keys) != len(values):
            raise QError("corrupt")
        is_sorted = t == 127
        if is_sorted and keys.__class__ is Table and keys.attr and keys.cols[0].__class__ is Vec:
            keys.cols[0].attr = "s" if len(keys.cols) == 1 else "p"
        return Dict(cast("ListValue", keys), cast("ListValue", values), "s" if is_sorted else "")

    def _table(self, t: int) -> Value:
        is_sorted = self.number("B")
        if is_sorted > 1:
            raise QError("corrupt")
        mapping = self.value()
        if (
            mapping.__class__ is not Dict
            or mapping.k.__class__ is not Vec
            or mapping.k.t != T.S
            or mapping.v.__class__ is Vec
        ):
            raise QError("corrupt")
        columns = cast("list[ListValue]", mapping.v.items)
        if (
            not all(column.__class__ in (Vec, List, Nd, Table, Dict) for column in columns)
            or len(set(map(len, columns))) > 1
        ):
            raise QError("corrupt")
        return Table(sym_names(mapping.k), columns, "s" if is_sorted else "")

    def _lambda(self, t: int) -> Value:
        context, text = self.text(), self.value()
        if text.__class__ is not Vec or text.t != T.C or len(text.a) > self.longest:
            raise QError("corrupt")
        definition = text.a.tobytes().decode("utf-8", "surrogateescape")
        self._needs(function_cost(definition))
        self.in_text = True
        function = LAMBDA.fn(definition, "." + context if context else ".")
        self.in_text = False
        return function

    def _prim(self, t: int) -> Value:
        self._needs(ATOM)
        code = self.number("B")
        if t == 101 and code == 255:
            return HOLE
        names = UNARY if t == 101 else OPERATORS
        if code >= len(names):
            raise QError("corrupt")
        if t == 101 and code == 0:
            return NIL
        entry = registry.find("verb", names[code])
        if entry is None:
            raise QError("nyi")
        return Prim(entry.name, entry.fns, entry, type_of_entry(entry))

    def _iter(self, t: int) -> Value:
        self._needs(ATOM)
        code = self.number("B")
        if code >= len(_ITER):
            raise QError("corrupt")
        return Iter(_ITER[code])

    def _many(self, t: int) -> Value:
        count = self.number("i")
        if not 1 <= count <= len(self.data):
            self.short = count > 0
            raise QError("corrupt")
        self._needs(LIST)
        function, *arguments = [self.value() for _ in range(count)]
        return project(function, arguments) if t == 104 else Comp((function, *arguments))

    def _derived(self, t: int) -> Value:
        self._needs(LIST)
        return Derived(_GLYPH[t], self.value())


class BigEndianReader(Reader):
    """Decodes what a machine with the other order of bytes wrote. Guids have one order."""

    order = ">"

    def array(self, t: int, n: int) -> np.ndarray:
        dtype = np.dtype(T.DTYPE[t])
        if t == T.G:
            return super().array(t, n)
        data = self.take(n * dtype.itemsize)
        return _known(t, np.frombuffer(data, dtype.newbyteorder(">")).astype(dtype))

    def _regular(self, n: int) -> Value | None:
        return None

    def _vectors(self, n: int) -> Value | None:
        return None

    def _items(self, n: int) -> list[Value]:
        return [self.value() for _ in range(n)]


_GLYPH = {value: key for key, value in ITERATORS.items()}
_GET: dict[int, Any] = {
    98: Reader._table, 99: Reader._dict, 127: Reader._dict, 100: Reader._lambda, 101: Reader._prim, 102: Reader._prim,
    103: Reader._iter, 104: Reader._many, 105: Reader._many, **dict.fromkeys(_GLYPH, Reader._derived),
}  # fmt: skip

_COLLAPSE = (Dict, Sym)  # classes of first items

LAMBDA = registry.Hook()  # compiles a lambda from its text: lang/verbs/internal.py


def collapse_list(items: list[Value]) -> Value:
    """A general list read back. As in kdb+, similar dictionaries are a table and symbols a vector: clients that know no
    vectors of symbols write them one by one."""
    return collapse(items) if items and items[0].__class__ in _COLLAPSE else List(items)


def reader(
    data: bytes | bytearray | memoryview,
    at: int = 0,
    need: Callable[[int], None] | None = None,
    little: bool = True,
) -> Reader:
    """A decoder of bytes, in the given order of bytes."""
    return (Reader if little else BigEndianReader)(data, at, need)


def decode(
    data: bytes | bytearray | memoryview,
    at: int = 0,
    need: Callable[[int], None] | None = None,
    little: bool = True,
) -> Value:
    """The value of some bytes; anything else in them is 'corrupt. `need` as of a Reader."""
    return reader(data, at, need, little).whole()
