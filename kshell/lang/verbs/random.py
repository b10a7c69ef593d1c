"""Random values: rand, and `n?x` where x is not a list to search. The generator belongs to the session (`\\S`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import longs
from kshell.values.base.core import Dict, Special, Table, Value, Vec, atom_t, is_list, sym_vec
from kshell.values.base.functions import Handle
from kshell.values.base.narrow import list_value
from kshell.values.base.symbols import Sym
from kshell.values.engine.cast import SPANS, array1
from kshell.values.items.pick import take_at
from kshell.values.session.context import running

_INTS = (T.B, T.X, T.H, T.I, T.J)
_QUICK = 1 << 31  # below this, a random float has enough bits for a random integer
_LETTERS = "abcdefghijklmnop"
_DAY = {T.N: 86_400_000_000_000, T.U: 1440, T.V: 86_400, T.T: 86_400_000}
# the range for a zero point in time: 2000 to 2003
_ERA = {
    T.P: 4 * 365 * 86_400_000_000_000,
    T.D: 4 * 365,
    T.M: 48,
}


def roll(x: Value, y: Value) -> Value:
    """`x?y` for an integer atom x: x items of a list, or x random values below an atom; negative x deals without
    repetition, null x permutes."""
    if x.__class__ is int and y.__class__ is int and x > 0 and 0 < y <= _QUICK:
        return longs((running().rng.random(x) * y).astype(np.int64))
    if isinstance(y, Handle) and y.folded:
        return _rows_of(x, y)
    count = _count(x)
    if count is None:
        return permute(y)
    if count < 0:
        return deal(x, y)
    if is_list(y) or y.__class__ in (Table, Dict):
        source = y.v if y.__class__ is Dict else y
        if not len(source):
            raise QError("length")
        return take_at(source, running().rng.integers(0, len(source), count))
    if y.__class__ is Sym:
        return _symbols(count, y, distinct=False)
    qtype = atom_t(y)
    if not qtype:
        raise QError("type")
    return Vec(qtype, _values(qtype, count, array1(y, qtype).item(0) if qtype != T.G else None))


def _rows_of(x: Value, h: Handle) -> Value:
    """Rows of a tensor, drawn like items of a list."""
    length = h.length()
    if not length:
        raise QError("length")
    return h.index((roll(x, length),))


def _count(x: Value) -> int | None:
    """The count; None for null. 'type if x is not an integer atom."""
    qtype = atom_t(x)
    if qtype not in _INTS:
        raise QError("type")
    number = int(array1(x, qtype)[0])
    if qtype in T.SIGNED and number == T.NULL[qtype]:
        return None
    if number == T.LONG_MAX:
        raise QError("wsfull")
    return number


def _values(t: int, n: int, top: Any) -> np.ndarray:
    """n raw values of type t below `top`; zero stands for the full range of the type."""
    generator = running().rng
    dtype = T.DTYPE[t]
    if t == T.G:
        return np.frombuffer(generator.bytes(16 * n), "V16")
    if t in T.FLOATS:
        return (generator.random(n) * top).astype(dtype)
    if t == T.B:
        return generator.integers(0, 2, n).astype(np.bool_)
    if t == T.C:
        return (
            generator.integers(97, 123, n).astype(dtype)
            if top == 32
            else generator.integers(0, max(top, 1), n).astype(dtype)
        )
    if t in T.SIGNED and top == T.NULL[t]:
        top = 0
    if top == 0:
        top = _DAY[t] if t in SPANS else _ERA.get(t, 0)
        if not top:
            limits = np.iinfo(dtype)
            return generator.integers(limits.min + 1 if t != T.X else 0, limits.max, n, dtype, True)
    if top < 0:
        raise QError("domain")
    return generator.integers(0, top, n, np.int64).astype(dtype)


def _symbols(n: int, y: Sym, distinct: bool) -> Value:
    """n symbols with as many letters as y says: `3 is three. For the name of a symbol list, enumerated members of
    it."""
    generator = running().rng
    if y.s and not y.s.isdigit():
        domain = running().names.find(y.s)
        if domain.__class__ is not Vec or domain.t != T.S:
            raise QError("type")
        if not len(domain):
            raise QError("length")
        indices = _choose(len(domain), n) if distinct else generator.integers(0, len(domain), n)
        return Vec(T.ENUM, indices.astype(np.int64), "", y.s)
    length = int(y.s or 4)
    if not 0 < length <= 8:
        raise QError("length")
    drawn: dict[str, None] = {}
    if distinct and n > len(_LETTERS) ** length:
        raise QError("length")
    while True:
        codes = generator.integers(0, len(_LETTERS), (n, length)).astype(np.uint8) + 97
        names = [row.tobytes().decode() for row in codes]
        if not distinct:
            return sym_vec(names)
        drawn.update(dict.fromkeys(names))
        if len(drawn) >= n:
            return sym_vec(list(drawn)[:n])


def deal(x: Value, y: Value) -> Value:
    """`x?y` for negative x: -x different items of a list, or different integers below y; 'length if there are too
    few."""
    count = _count(x)
    if count is None or count >= 0:
        return roll(x, y)
    if isinstance(y, Handle) and y.folded:
        return _rows_of(x, y)
    generator = running().rng
    if is_list(y) or y.__class__ in (Table, Dict):
        source = y.v if y.__class__ is Dict else y
        return take_at(source, _choose(len(source), -count))
    if y.__class__ is Sym:
        return _symbols(-count, y, distinct=True)
    qtype = atom_t(y)
    if qtype == T.G:
        return Vec(qtype, np.frombuffer(generator.bytes(-16 * count), "V16"))
    if qtype not in (T.X, T.H, T.I, T.J):
        raise QError("type")
    limit = int(array1(y, qtype)[0])
    if limit == 0 and qtype == T.J:
        return longs(generator.integers(-T.LONG_MAX, T.LONG_MAX, -count))
    return Vec(qtype, _choose(limit, -count).astype(T.DTYPE[qtype]))


def _choose(count: int, n: int) -> np.ndarray:
    if n > count:
        raise QError("length")
    generator = running().rng
    if n * 8 > count:
        return generator.permutation(count)[:n]
    return generator.choice(count, n, replace=False)


def permute(y: Value) -> Value:
    """`0N?y`: the items of a list, or the integers below y, in random order."""
    if is_list(y) or y.__class__ is Table:
        return take_at(y, running().rng.permutation(len(y)))
    qtype = atom_t(y)
    if qtype not in _INTS or y.__class__ is Special or array1(y, qtype)[0] < 0:
        raise QError("type")
    return longs(running().rng.permutation(int(array1(y, qtype)[0])))


@verb("rand")
def rand(x: Value) -> Value:
    """One random item of a list, or a random value below x.

    q)(rand 10)within 0 9
    1b
    """
    if x.__class__ is int and 0 < x <= _QUICK:
        return int(running().rng.random() * x)
    picked = roll(1, x)
    return picked.index((0,)) if isinstance(picked, Handle) else list_value(picked).item(0)
