"""`$`: cast, tok, pad, enumerate, and matrix products of floats."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kshell.errors import QError
from kshell.lang.verbs.matrix import float_array, mmu
from kshell.lang.verbs.tok import tok, tok_rows, tok_text
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import collapse, empty, string
from kshell.values.base.core import (
    Atom,
    Dict,
    EnumAtom,
    List,
    Nd,
    Sym,
    Table,
    Value,
    Vec,
    atom,
    atom_t,
    is_list,
    sym,
)
from kshell.values.base.functions import Handle
from kshell.values.engine.cast import array1, cast_value, is_part, part_array
from kshell.values.items.index import find_at
from kshell.values.items.pick import domain, unenum
from kshell.values.items.rows import each_string, string_rows
from kshell.values.session.context import running


@verb("$", "x$y")
def dollar(x: Value, y: Value) -> Value:
    """Cast y to type x; parse text, pad, enumerate, multiply matrices.

    q)`int$6.6
    7i
    q)"J"$("12";"x")
    12 0N
    q)-5$"ab"
    "   ab"
    q)1 2 3f$4 5 6f
    32f
    """
    if isinstance(x, Handle):
        return x.dyad("$", x, y)
    if isinstance(y, Handle):
        return y.dyad("$", x, y)
    cls = x.__class__
    if cls is Sym or (cls is Atom and x.t in (T.C, T.H)):
        return _to_type(x, y)
    if cls is int or (cls is Atom and x.t in (T.I, T.X)):
        return pad(x if cls is int else x.v, y)
    if cls is Vec or isinstance(x, List):
        return _by_list(x, y)
    raise QError("type")


def _to_type(x: Value, y: Value) -> Value:
    """y as the type named by a symbol, character or number. Handles in a list, dictionary or table are cast by the
    k-api, which knows more types."""
    try:
        if x.__class__ is Sym:
            return _by_symbol(x.s, y)
        return _by_char(chr(x.v), y) if x.t == T.C else _by_number(x.v, y)
    except QError:
        if not _with_handles(y):
            raise
    return deep(y, lambda v: dollar(x, v) if isinstance(v, Handle) else _beside_handles(x, v))


def _beside_handles(x: Value, v: Value) -> Value:
    """Cast a q value in the same list as tensors, which have more types than q values."""
    try:
        return dollar(x, v)
    except QError as e:
        known = x.__class__ is not Sym or e.text != x.s
        error = (
            e
            if known
            else QError(
                f"$: `{x.s} is a type of tensors only, given {_type_word(v)} beside tensors",
                hint="make a tensor of each item first: tensor x",
            )
        )
    raise error


def _type_word(v: Value) -> str:
    qtype = v.t if v.__class__ is Vec or v.__class__ is Nd else atom_t(v)
    return T.TYPE[abs(qtype)].name if qtype else "a value that is no number"


def _with_handles(y: Value) -> bool:
    """Does a list, dictionary or table contain handles?"""
    cls = y.__class__
    if cls is Dict:
        return _with_handles(y.v)
    parts = y.cols if cls is Table else y.items if cls is List else ()
    return any(isinstance(i, Handle) or _with_handles(i) for i in parts)


def _by_symbol(name: str, y: Value) -> Value:
    if not name:
        return tok(T.S, y)
    found = T.BY_NAME.get(name)
    if found is not None:
        return cast(found.num, y)
    return part(name, y) if is_part(name) else enumerate_(name, y)


def _by_char(c: str, y: Value) -> Value:
    if c == "*":
        return y
    found = T.BY_CHAR.get(c.lower())
    if found is None:
        raise QError("type")
    return cast(found.num, y) if c.islower() else tok(found.num, y)


def _by_number(n: int, y: Value) -> Value:
    if n == 0:
        return y
    if abs(n) not in T.DTYPE or abs(n) == T.ENUM:
        raise QError("type")
    return cast(n, y) if n > 0 else tok(-n, y)


def _by_list(x: Value, y: Value) -> Value:
    """A list of types, each applied to the whole of an atom or string y or to its own item; or a matrix product."""
    if float_array(x) is not None:
        return mmu(x, y)
    if not is_list(y) or (y.__class__ is Vec and y.t == T.C and len(x) != len(y)):
        return collapse([dollar(i, y) for i in x.items])
    if len(x) != len(y):
        raise QError("length")
    return collapse([dollar(i, j) for i, j in zip(x.items, y.items, strict=True)])


# ------------------------------------------------------------------ cast


def deep(y: Value, leaf: Callable[[Value], Value]) -> Value:
    """Apply leaf to every atom and vector in y, recursing into lists, dictionaries and tables."""
    cls = y.__class__
    if cls is List:
        return collapse([deep(i, leaf) for i in y.items])
    if cls is Dict:
        return Dict(y.k, deep(y.v, leaf))
    if cls is Table:
        return Table(y.names, [deep(col, leaf) for col in y.cols])
    return leaf(y)


def cast(t: int, y: Value) -> Value:
    """y converted to type t, recursively."""
    if y.__class__ is List and not y.items:
        return empty(t)
    if t == T.S:
        rows = string_rows(y)
        return deep(y, _symbols) if rows is None else tok_rows(T.S, rows)
    return deep(y, lambda v: cast_value(v, t))


def _symbols(y: Value) -> Value:
    cls = y.__class__
    if cls is Vec and y.t == T.C:
        return sym(tok_text(y))
    if cls is Atom and y.t == T.C:
        return sym(chr(y.v).strip())
    if cls is Nd and y.t == T.C:
        return collapse([_symbols(row) for row in y.items])
    return cast_value(y, T.S)


def part(name: str, x: Value) -> Value:
    """A named part of temporal values, as in `x.year`: year mm dd week hh uu ss, or a temporal type: date, minute..."""
    found = T.BY_NAME.get(name)
    if found is not None:
        return cast(found.num, x)
    if not is_part(name):
        raise QError("type")

    def leaf(y: Value) -> Value:
        if y.__class__ is Vec or y.__class__ is Nd:
            t, a = part_array(y.a, y.t, name)
            return Vec(t, a) if y.__class__ is Vec else Nd(t, a)
        qtype = atom_t(y)
        t, a = (
            part_array(array1(y, qtype), qtype, name) if qtype in T.TEMPORAL else (0, np.empty(0))
        )
        if not t:
            raise QError("type")
        return atom(t, a[0])

    return deep(x, leaf)


# ------------------------------------------------------------------ pad


def pad(n: int, y: Value) -> Value:
    """Strings cut or padded with blanks to |n| characters; padded on the left if n is negative."""

    def leaf(s: Value) -> Value:
        if s.__class__ is Atom and s.t == T.C:
            s = string(bytes([s.v]))
        if s.__class__ is Nd and s.t == T.C:
            return collapse([leaf(row) for row in s.items])
        if s.__class__ is not Vec or s.t != T.C:
            raise QError("type")
        text = s.a.tobytes()
        return string(text[:n].ljust(n) if n >= 0 else text[n:].rjust(-n))

    found = each_string(y, (lambda s: s[:n].ljust(n)) if n >= 0 else (lambda s: s[n:].rjust(-n)))
    return deep(y, leaf) if found is None else found


# ------------------------------------------------------------------ enumerate


def enumerate_(name: str, y: Value) -> Value:
    """y as an enumeration over the list (or keyed table) called `name`; 'cast if an item is not in it."""
    found = running().names.get(name)
    if found.__class__ is Dict and found.keyed and len(found.k.cols) > 1:
        return _rows_of(found.k, name, y)
    dom = domain(name)
    count = len(dom)

    def leaf(v: Value) -> Value:
        if v.__class__ is Vec and v.t == T.ENUM and v.dom == name:
            return v
        v = unenum(v)
        if isinstance(dom, Table) or not (v.__class__ is Vec or atom_t(v)):
            raise QError("type")
        position = find_at(dom, v)
        if isinstance(position, np.ndarray):
            if (position >= count).any():
                raise QError("cast")
            return Vec(T.ENUM, position.astype(np.int64), "", name)
        if position >= count:
            raise QError("cast")
        return EnumAtom(int(position), name)

    if y.__class__ is List and not y.items:
        return Vec(T.ENUM, np.empty(0, np.int64), "", name)
    return deep(y, leaf)


def _rows_of(keys: Table, name: str, y: Value) -> Value:
    """The row numbers of a key of several columns, or of a list of such keys; 'cast for a missing key."""
    if y.__class__ is Vec and y.t == T.ENUM and y.dom == name:
        return y
    if isinstance(y, List) and all(is_list(i) for i in y.items):
        if any(len(i) != len(keys.cols) for i in y.items):
            raise QError("length")
        y = Table(
            keys.names, [collapse([i.item(k) for i in y.items]) for k in range(len(keys.cols))]
        )
    position = find_at(keys, y) if not is_list(y) or len(y) else np.empty(0, np.int64)
    if np.any(np.asarray(position) >= len(keys)):
        raise QError("cast")
    return (
        Vec(T.ENUM, position.astype(np.int64), "", name)
        if isinstance(position, np.ndarray)
        else EnumAtom(int(position), name)
    )
