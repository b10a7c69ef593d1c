"""vs and sv: split and join text, symbols and paths; digits, bits and bytes of numbers."""

from __future__ import annotations

import math
import re
from functools import reduce
from typing import TypeGuard

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs.arith import add, mul
from kshell.lang.verbs.division import idiv, mod
from kshell.lang.verbs.stats import max_
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import bools, collapse, string
from kshell.values.base.core import (
    Atom,
    List,
    Nd,
    Special,
    Value,
    Vec,
    atom,
    atom_t,
    flat_list,
    is_list,
    raw,
    sym_names,
    sym_vec,
    text_of,
)
from kshell.values.base.symbols import Sym, sym
from kshell.values.engine.cast import array1
from kshell.values.items.rows import string_rows, strings_of

_FEW = 16  # shorter lists are made string by string
_INTS = (T.B, T.X, T.H, T.I, T.J)
_BY_WIDTH = {1: T.X, 2: T.H, 4: T.I, 8: T.J, 16: T.G}


def _text(x: Value) -> bytes | None:
    """The bytes of a string, char or byte vector; None for anything else."""
    if x.__class__ is Vec and x.t in (T.C, T.X):
        return x.a.tobytes()
    if x.__class__ is Atom and x.t == T.C:
        return bytes([x.v])
    return None


def _is_byte(x: Value) -> TypeGuard[Atom]:
    return x.__class__ is Atom and x.t == T.X


@verb("vs")
def vs(x: Value, y: Value) -> Value:
    """Split y by x, or write y in base x; 0b gives bits, 0x0 bytes.

    q)"," vs "one,two"
    "one"
    "two"
    q)` vs `:dir/file
    `:dir`file
    q)10 vs 1995
    1 9 9 5
    q)0x0 vs 2413h
    0x096d
    """
    if x.__class__ is bool:
        return _bits(y)
    if _is_byte(x):
        return _bytes(y, x.v or 256)
    if x.__class__ is Sym:
        if x.s:
            raise QError("type")
        return _split_symbol(y.s) if y.__class__ is Sym else _lines(y)
    separator = _text(x)
    if separator is not None:
        return _split(separator, y)
    return _digits(x, y)


def _split(mark: bytes, y: Value) -> Value:
    text = _text(y)
    if text is None:
        if y.__class__ is List and not y.items:
            return y
        raise QError("type")
    if not mark:
        raise QError("length")
    pieces = text.split(mark)
    return strings_of(pieces) if len(pieces) > _FEW else List([string(piece) for piece in pieces])


def _lines(y: Value) -> Value:
    text = _text(y)
    if text is None:
        raise QError("type")
    lines = re.split(rb"\r?\n", text)
    return strings_of(lines[:-1] if lines[-1] == b"" else lines)


def _split_symbol(s: str) -> Value:
    """Split a path into folder and file, any other symbol at its dots."""
    if s.startswith(":"):
        folder, _, file = s.rpartition("/")
        return sym_vec([folder, file] if folder else [":." if s[1:] else ":", s[1:]])
    return sym_vec(s.split("."))


def _width(y: Value) -> tuple[int, bytes]:
    """Type and big-endian bytes of an atom."""
    qtype = atom_t(y)
    if not qtype or qtype in (T.S, T.ENUM):
        raise QError("type")
    a = array1(y, qtype)
    return qtype, a.tobytes() if qtype == T.G else a.astype(a.dtype.newbyteorder(">")).tobytes()


def _bytes(y: Value, base: int) -> Value:
    """The bytes of a number; in bases other than 256, as many digits as its width can hold."""
    if y.__class__ is Vec and base == 256 and y.t not in (T.S, T.ENUM, T.G) and len(y.a):
        return Nd(T.X, _big_endian(y))
    if is_list(y):
        return collapse([_bytes(item, base) for item in y.items])
    data = _width(y)[1]
    if base == 256:
        return Vec(T.X, np.frombuffer(data, np.uint8))
    if base < 2:
        raise QError("domain")
    number, digits = int.from_bytes(data, "big"), []
    for _ in range(int(8 * len(data) / math.log2(base))):
        number, digit = divmod(number, base)
        digits.append(digit)
    return Vec(T.X, np.array(digits[::-1], np.uint8))


def _big_endian(y: Vec) -> np.ndarray:
    """The bytes of a vector's items, one row per item, most significant byte first."""
    array = y.a.astype(y.a.dtype.newbyteorder(">"))
    return array.view(np.uint8).reshape(len(array), -1)


def _bits(y: Value) -> Value:
    if y.__class__ is Vec and y.t not in (T.B, T.S, T.ENUM, T.G) and len(y.a):
        return Nd(T.B, np.unpackbits(_big_endian(y), axis=1).view(np.bool_))
    if is_list(y):
        return collapse([_bits(item) for item in y.items])
    qtype, data = _width(y)
    if qtype == T.B:
        return bools([raw(y)])
    return bools(np.unpackbits(np.frombuffer(data, np.uint8)).astype(np.bool_))


def _digits(x: Value, y: Value) -> Value:
    """y in base x: as many digits as the greatest item needs; with a list of bases, one digit for each."""
    bases = x.items if x.__class__ is Vec and x.t in (*_INTS, T.F) else None
    rows: list[Value] = []
    if bases is not None:
        for base in reversed(bases):
            is_zero = not array1(base, atom_t(base))[0]
            rows.append(y if is_zero else mod(y, base))
            y = y if is_zero else idiv(y, base)
        return collapse(rows[::-1])
    if atom_t(x) not in _INTS or array1(x, atom_t(x))[0] < 2:
        raise QError("type")
    while True:
        rows.append(mod(y, x))
        y = idiv(y, x)
        greatest = _greatest(y)
        if greatest <= 0:
            return collapse(rows[::-1])


def digits_each(base: int, y: Vec) -> List:
    """`base vs'y` for non-negative longs: the digits of each item, as many as it needs."""
    quotient = y.a
    rows: list[np.ndarray] = []
    while not rows or quotient.any():
        quotient, digit = np.divmod(quotient, base)
        rows.append(digit)
    matrix = np.stack(rows[::-1], 1)
    sizes = np.maximum(len(rows) - (matrix != 0).argmax(1), 1)
    sizes[~matrix.any(1)] = 1
    return flat_list(
        T.J, matrix[np.arange(len(rows)) >= (len(rows) - sizes)[:, None]], np.cumsum(sizes)
    )


def _greatest(y: Value) -> int:
    while is_list(y):
        if not len(y):
            return 0
        y = (
            max_(Vec(y.t, y.a.ravel()))
            if y.__class__ is Nd
            else max(_greatest(item) for item in y.items)
            if y.__class__ is List
            else max_(y)
        )
    return int(array1(y, atom_t(y))[0]) if atom_t(y) in _INTS else 0


# ------------------------------------------------------------------ sv


@verb("sv")
def sv(x: Value, y: Value) -> Value:
    """Join the items of y with x, or read them as digits in base x.

    q)", " sv ("one";"two")
    "one, two"
    q)` sv `:dir`file
    `:dir/file
    q)10 sv 1 9 9 5
    1995
    q)0x0 sv 0x096d
    2413h
    """
    if x.__class__ is bool or _is_byte(x):
        return _number(y, bits=x.__class__ is bool)
    if x.__class__ is Sym:
        if x.s:
            raise QError("type")
        return _join_symbols(y)
    separator = _text(x)
    if separator is not None and not (x.__class__ is Vec and x.t == T.X):
        return string(separator.join(_pieces(y)))
    return _from_digits(x, y)


def _pieces(y: Value) -> list[bytes]:
    if y.__class__ is Vec and y.t == T.C:
        return [bytes([char]) for char in y.a.tolist()]
    if not isinstance(y, List):
        raise QError("type")
    rows = string_rows(y)
    if rows is not None:
        return rows.items()
    pieces: list[bytes] = []
    for item in y.items:
        piece = b"" if item.__class__ is List and not item.items else _text(item)
        if piece is None:
            raise QError("type")
        pieces.append(piece)
    return pieces


def _join_symbols(y: Value) -> Value:
    if y.__class__ is Vec and y.t == T.S:
        names = sym_names(y)
        return sym(("/" if names and names[0].startswith(":") else ".").join(names))
    if y.__class__ is Sym:
        return y
    if isinstance(y, List) and any(item.__class__ is Sym for item in y.items):
        return _join_symbols(sym_vec([text_of(item) for item in y.items]))
    return string(b"".join(piece + b"\n" for piece in _pieces(y)))


def _number(y: Value, bits: bool) -> Value:
    """A number from its bits or bytes, most significant first."""
    if isinstance(y, List) and y.__class__ is not Nd and not y.items:
        raise QError("type")
    if isinstance(y, List):
        return collapse([_number(item, bits) for item in y.items])
    if y.__class__ is not Vec or y.t != (T.B if bits else T.X):
        raise QError("type")
    data = (
        np.packbits(y.a).tobytes() if bits and len(y.a) % 8 == 0 else b"" if bits else y.a.tobytes()
    )
    qtype = _BY_WIDTH.get(len(data))
    if qtype is None or (qtype == T.X and not bits):
        raise QError("length")
    if qtype == T.G:
        return Atom(T.G, data)
    return atom(qtype, np.frombuffer(data, T.DTYPE[qtype].newbyteorder(">"))[0])


def _from_digits(x: Value, y: Value) -> Value:
    if not is_list(y) or (y.__class__ is Vec and y.t in (T.C, T.S, T.G, T.ENUM)):
        raise QError("type")
    items = y.items
    if not items:
        return 0
    if is_list(x):
        bases = x.items
        if len(bases) != len(items):
            raise QError("length")
        total = items[0]
        for base, item in zip(bases[1:], items[1:], strict=True):
            total = add(mul(total, base), item)
        return total
    if not (atom_t(x) in (*_INTS, T.E, T.F) or x.__class__ is Special):
        raise QError("type")
    start = mul(items[0], x) if len(items) > 1 else add(items[0], mul(0, x))
    if len(items) == 1:
        return start
    return reduce(lambda acc, d: add(mul(acc, x), d), items[2:], add(start, items[1]))
