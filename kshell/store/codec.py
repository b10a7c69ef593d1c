"""kdb+'s own binary form of values: what `-8!` gives, ports carry and files hold.

Layout as Kx documents it ("Serialization examples"): a type byte; atoms their data; vectors an attribute byte, a
32-bit count and the items; symbols end in a zero byte; all numbers little-endian.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from kshell import registry
from kshell.errors import QError
from kshell.values import types as T
from kshell.values.apply import project
from kshell.values.build import collapse, sym_vec
from kshell.values.core import (
    HOLE,
    NIL,
    Atom,
    Dict,
    List,
    Nd,
    Table,
    Value,
    Vec,
    atom,
    atom_t,
    raw,
    sym,
)
from kshell.values.functions import ITERATORS, Comp, Derived, Iter, Lambda, Prim, Proj

ATTRS = ("", "s", "u", "p", "g")
# the operators of type 102 by their code
OPERATORS = (":", "+", "-", "*", "%", "&", "|", "^", "=", "<", ">", "$", ",", "#", "_", "~", "!", "?", "@", ".",
             "0:", "1:", "2:", "in", "within", "like", "bin", "ss", "insert", "wsum", "wavg", "div", "xexp", "setenv",
             "binr", "cov", "cor")  # fmt: skip
_UNARY = ("::", "flip", "neg", "first", "reciprocal", "where", "reverse", "null", "group", "iasc", "idesc", "string",
          "enlist", "count", "floor", "not", "key", "distinct", "type", "value", "read0", "read1", "2::", "avg", "last",
          "sum", "prd", "min", "max", "exit", "getenv", "abs", "sqrt", "log", "exp", "sin", "asin", "cos", "acos",
          "tan", "atan", "enlist", "var", "dev", "hopen")  # fmt: skip
_ITER = ("'", "/", "\\", "':", "/:", "\\:")
MAX_DEPTH = 200


def encode(x: Value) -> bytes:
    """The bytes of a value; one that has no such form (a handle) is 'type."""
    out: list[bytes] = []
    _put(x, out)
    return b"".join(out)


def _put(x: Value, out: list[bytes]) -> None:
    t = atom_t(x)
    if t:
        out.append(struct.pack("b", -t if t != T.ENUM else -T.S) + _atom_bytes(t, x))
        return
    maker = _PUT.get(x.__class__)
    if maker is None:
        maker = next((m for c, m in _PUT.items() if isinstance(x, c)), None)
    if maker is None:
        raise QError("type")
    maker(x, out)


def _text(s: str) -> bytes:
    return s.encode("utf-8", "surrogateescape") + b"\0"


def _atom_bytes(t: int, x: Value) -> bytes:
    if t == T.S:
        return _text(x.s)
    if t == T.G:
        return bytes(x.v)
    if t == T.ENUM:
        return _text(str(x.v))
    return np.array(raw(x), T.DTYPE[t]).tobytes()


def _put_vec(x: Vec, out: list[bytes]) -> None:
    t = x.t
    if t == T.ENUM:
        raise QError("type")
    out.append(struct.pack("<bBi", t, ATTRS.index(x.attr), len(x.a)))
    if t == T.S:
        out.extend(_text(s.s) for s in x.items)
    else:
        out.append(np.ascontiguousarray(x.a).tobytes())


def _put_list(x: List, out: list[bytes]) -> None:
    items = x.items
    out.append(struct.pack("<bBi", 0, 0, len(items)))
    for i in items:
        _put(i, out)


def _put_dict(x: Dict, out: list[bytes]) -> None:
    out.append(b"\x7f" if x.attr == "s" else b"\x63")
    _put(x.k, out)
    _put(x.v, out)


def _put_table(x: Table, out: list[bytes]) -> None:
    out.append(b"\x62\0\x63")
    _put(sym_vec(x.names), out)
    _put_list(List(list(x.cols)), out)


def _put_lambda(x: Lambda, out: list[bytes]) -> None:
    out.append(b"\x64" + _text("" if x.ctx == "." else x.ctx[1:]))
    text = x.text.encode("utf-8", "surrogateescape")
    out.append(struct.pack("<bBi", T.C, 0, len(text)) + text)


def _put_prim(x: Prim, out: list[bytes]) -> None:
    if x.name in OPERATORS:
        out.append(bytes((102, OPERATORS.index(x.name))))
    elif x.name in _UNARY:
        out.append(bytes((101, _UNARY.index(x.name))))
    else:
        raise QError("type")


def _put_proj(x: Proj, out: list[bytes]) -> None:
    out.append(struct.pack("<bi", 104, len(x.args) + 1))
    _put(x.f, out)
    for a in x.args:
        out.append(b"\x65\xff") if a is HOLE else _put(a, out)


def _put_comp(x: Comp, out: list[bytes]) -> None:
    out.append(struct.pack("<bi", 105, len(x.fs)))
    for f in x.fs:
        _put(f, out)


def _put_derived(x: Derived, out: list[bytes]) -> None:
    out.append(bytes((x.t,)))
    _put(x.f, out)


_PUT: dict[type, Any] = {
    Vec: _put_vec, Nd: _put_list, List: _put_list, Dict: _put_dict, Table: _put_table, Lambda: _put_lambda,
    Prim: _put_prim, Proj: _put_proj, Comp: _put_comp, Derived: _put_derived,
    type(NIL): lambda x, out: out.append(b"\x65\0"),
    Iter: lambda x, out: out.append(bytes((103, _ITER.index(x.glyph)))),
}  # fmt: skip


class Reader:
    """Decodes one value from bytes, within bounds; whatever is not the form is 'corrupt."""

    def __init__(self, data: bytes | memoryview, at: int = 0) -> None:
        self.data, self.at, self.depth = memoryview(data), at, 0

    def take(self, n: int) -> memoryview:
        if n < 0 or self.at + n > len(self.data):
            raise QError("corrupt")
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, form: str) -> int:
        return int(struct.unpack(form, self.take(struct.calcsize(form)))[0])

    def text(self) -> str:
        end = bytes(self.data[self.at : self.at + 65536]).find(b"\0")
        if end < 0:
            raise QError("corrupt")
        s = bytes(self.take(end)).decode("utf-8", "surrogateescape")
        self.at += 1
        return s

    def value(self) -> Value:
        """The value that starts here."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise QError("limit")
        t = self.number("b")
        try:
            if t < 0:
                return self._atom(-t)
            if t < 20:
                return self._vector(t)
            made = _GET.get(t)
            if made is None:
                raise QError("corrupt")
            return made(self, t)
        finally:
            self.depth -= 1

    def _atom(self, t: int) -> Value:
        if t == T.S:
            return sym(self.text())
        if t not in T.DTYPE or t == T.ENUM:
            raise QError("corrupt")
        if t == T.G:
            return Atom(t, bytes(self.take(16)))
        return atom(t, np.frombuffer(self.take(T.TYPE[t].size), T.DTYPE[t])[0])

    def _vector(self, t: int) -> Value:
        attr, n = self.number("B"), self.number("<i")
        if n < 0 or attr >= len(ATTRS):
            raise QError("corrupt")
        if t == 0:
            return collapse_list([self.value() for _ in range(n)]) if n <= len(self.data) else self._bad()
        if t == T.S:
            return Vec(t, np.array([sym(self.text()).v for _ in range(n)], np.int32), ATTRS[attr])
        if t not in T.DTYPE:
            raise QError("corrupt")
        size = T.TYPE[t].size
        return Vec(t, np.frombuffer(bytes(self.take(n * size)), T.DTYPE[t]), ATTRS[attr])

    def _bad(self) -> Value:
        raise QError("corrupt")

    def _dict(self, t: int) -> Value:
        k, v = self.value(), self.value()
        if not hasattr(k, "__len__") or not hasattr(v, "__len__") or len(k) != len(v):
            raise QError("corrupt")
        return Dict(k, v, "s" if t == 127 else "")

    def _table(self, t: int) -> Value:
        self.take(1)
        d = self.value()
        if d.__class__ is not Dict or d.k.__class__ is not Vec or d.k.t != T.S or len({len(c) for c in d.v.items}) > 1:
            raise QError("corrupt")
        return Table([s.s for s in d.k.items], d.v.items)

    def _lambda(self, t: int) -> Value:
        ctx, text = self.text(), self.value()
        if text.__class__ is not Vec or text.t != T.C:
            raise QError("corrupt")
        return LAMBDA[0](text.a.tobytes().decode("utf-8", "surrogateescape"), "." + ctx if ctx else ".")

    def _prim(self, t: int) -> Value:
        code = self.number("B")
        if t == 101 and code == 255:
            return HOLE
        names = _UNARY if t == 101 else OPERATORS
        if code >= len(names):
            raise QError("corrupt")
        if t == 101 and code == 0:
            return NIL
        entry = registry.find("verb", names[code])
        if entry is None:
            raise QError("nyi")
        return Prim(entry.name, entry.fns, entry, entry.qtype)

    def _iter(self, t: int) -> Value:
        return Iter(_ITER[min(self.number("B"), 5)])

    def _many(self, t: int) -> Value:
        n = self.number("<i")
        if not 1 <= n <= len(self.data):
            raise QError("corrupt")
        f, *args = [self.value() for _ in range(n)]
        return project(f, args) if t == 104 else Comp((f, *args))

    def _derived(self, t: int) -> Value:
        return Derived(_GLYPH[t], self.value())


_GLYPH = {n: g for g, n in ITERATORS.items()}
_GET: dict[int, Any] = {
    98: Reader._table, 99: Reader._dict, 127: Reader._dict, 100: Reader._lambda, 101: Reader._prim, 102: Reader._prim,
    103: Reader._iter, 104: Reader._many, 105: Reader._many, **dict.fromkeys(_GLYPH, Reader._derived),
}  # fmt: skip

# how a lambda's text becomes a Lambda: set by the session, which has a compiler
LAMBDA: list[Any] = [None]


def collapse_list(items: list[Value]) -> Value:
    """A general list read back: it stays general, save that a list of dictionaries alike is a table."""
    return collapse(items) if items and items[0].__class__ is Dict else List(items)


def decode(data: bytes | memoryview, at: int = 0) -> Value:
    """The value of some bytes; anything else in them is 'corrupt."""
    reader = Reader(data, at)
    x = reader.value()
    if reader.at != len(reader.data):
        raise QError("corrupt")
    return x

