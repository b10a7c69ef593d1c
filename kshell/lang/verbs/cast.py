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
    Table,
    Value,
    Vec,
    atom,
    atom_t,
    is_list,
)
from kshell.values.base.functions import Handle
from kshell.values.base.narrow import list_value
from kshell.values.base.symbols import Sym, sym
from kshell.values.engine.cast import array1, cast_value, is_part, part_array
from kshell.values.engine.cast_atoms import DIRECT
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
    direct = DIRECT.get((y.__class__, _number_of(x)))
    if direct is not None and (made := direct(y)) is not None:
        return made
    if isinstance(x, Handle):
        return x.dyad("$", x, y)
    if isinstance(y, Handle):
        return y.dyad("$", x, y)
    if x.__class__ is Sym or (x.__class__ is Atom and x.t in (T.C, T.H)):
        return _to_type(x, y)
    if x.__class__ is int:
        return pad(x, y)
    if x.__class__ is Atom and x.t in (T.I, T.X):
        return pad(x.v, y)
    if x.__class__ is Vec or isinstance(x, List):
        return _by_list(x, y)
    raise QError("type")


def _number_of(x: Value) -> int:
    """The number of a type that is named by a symbol or a small letter; 0 for anything else."""
    if x.__class__ is Sym:
        return _BY_SYMBOL.get(x, 0)
    return _BY_LETTER.get(x.v, 0) if x.__class__ is Atom and x.t == T.C else 0


_BY_SYMBOL = {sym(name): row.num for name, row in T.BY_NAME.items()}
_BY_LETTER = {ord(letter): row.num for letter, row in T.BY_CHAR.items() if letter.islower()}


def _to_type(x: Sym | Atom, y: Value) -> Value:
    """y as the type named by a symbol, character or number. Handles in a list, dictionary or table are cast by the
    k-api, which knows more types."""
    try:
        if type(x) is Sym:
            return _by_symbol(x.s, y)
        return _by_char(chr(x.v), y) if x.t == T.C else _by_number(x.v, y)
    except QError:
        if not _with_handles(y):
            raise
    return deep(y, lambda v: dollar(x, v) if isinstance(v, Handle) else _beside_handles(x, v))


def _beside_handles(x: Sym | Atom, v: Value) -> Value:
    """Cast a q value in the same list as tensors, which have more types than q values."""
    try:
        return dollar(x, v)
    except QError as e:
        error = e
        if x.__class__ is Sym and e.text == x.s:
            error = QError(
                f"$: `{x.s} is a type of tensors only, given {_type_word(v)} beside tensors",
                hint="make a tensor of each item first: tensor x",
            )
    raise error


def _type_word(v: Value) -> str:
    qtype = v.t if v.__class__ is Vec or v.__class__ is Nd else atom_t(v)
    return T.TYPE[abs(qtype)].name if qtype else "a value that is no number"


def _with_handles(y: Value) -> bool:
    """Does a list, dictionary or table contain handles?"""
    if y.__class__ is Dict:
        return _with_handles(y.v)
    children = y.cols if y.__class__ is Table else y.items if y.__class__ is List else ()
    return any(isinstance(item, Handle) or _with_handles(item) for item in children)


def _by_symbol(name: str, y: Value) -> Value:
    if not name:
        return tok(T.S, y)
    qtype = T.BY_NAME.get(name)
    if qtype is not None:
        return cast(qtype.num, y)
    return part(name, y) if is_part(name) else enumerate_(name, y)


def _by_char(c: str, y: Value) -> Value:
    if c == "*":
        return y
    qtype = T.BY_CHAR.get(c.lower())
    if qtype is None:
        raise QError("type")
    return cast(qtype.num, y) if c.islower() else tok(qtype.num, y)


def _by_number(n: int, y: Value) -> Value:
    if n == 0:
        return y
    if abs(n) not in T.DTYPE or abs(n) == T.ENUM:
        raise QError("type")
    return cast(n, y) if n > 0 else tok(-n, y)


def _by_list(x: Vec | List, y: Value) -> Value:
    """A list of types, each applied to the whole of an atom or string y or to its own item; or a matrix product."""
    if float_array(x) is not None:
        return mmu(x, y)
    if not is_list(y) or (y.__class__ is Vec and y.t == T.C and len(x) != len(y)):
        return collapse([dollar(kind, y) for kind in x.items])
    if len(x) != len(y):
        raise QError("length")
    return collapse([dollar(kind, item) for kind, item in zip(x.items, y.items, strict=True)])


# ------------------------------------------------------------------ cast


def deep(y: Value, leaf: Callable[[Value], Value]) -> Value:
    """Apply leaf to every atom and vector in y, recursing into lists, dictionaries and tables."""
    if y.__class__ is List:
        return collapse([deep(item, leaf) for item in y.items])
    if y.__class__ is Dict:
        return Dict(y.k, list_value(deep(y.v, leaf)))
    if y.__class__ is Table:
        return Table(y.names, [list_value(deep(column, leaf)) for column in y.cols])
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
    if y.__class__ is Vec and y.t == T.C:
        return sym(tok_text(y))
    if y.__class__ is Atom and y.t == T.C:
        return sym(chr(y.v).strip())
    if y.__class__ is Nd and y.t == T.C:
        return collapse([_symbols(row) for row in y.items])
    return cast_value(y, T.S)


def part(name: str, x: Value) -> Value:
    """A named part of temporal values, as in `x.year`: year mm dd week hh uu ss, or a temporal type: date, minute..."""
    temporal_type = T.BY_NAME.get(name)
    if temporal_type is not None:
        return cast(temporal_type.num, x)
    if not is_part(name):
        raise QError("type")

    def leaf(y: Value) -> Value:
        if y.__class__ is Vec or y.__class__ is Nd:
            part_type, array = part_array(y.a, y.t, name)
            return Vec(part_type, array) if y.__class__ is Vec else Nd(part_type, array)
        qtype = atom_t(y)
        part_type, array = (
            part_array(array1(y, qtype), qtype, name) if qtype in T.TEMPORAL else (0, np.empty(0))
        )
        if not part_type:
            raise QError("type")
        return atom(part_type, array[0])

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

    padded = each_string(y, (lambda s: s[:n].ljust(n)) if n >= 0 else (lambda s: s[n:].rjust(-n)))
    return deep(y, leaf) if padded is None else padded


# ------------------------------------------------------------------ enumerate


def enumerate_(name: str, y: Value) -> Value:
    """y as an enumeration over the list (or keyed table) called `name`; 'cast if an item is not in it."""
    target = running().names.get(name)
    if target.__class__ is Dict and target.keyed and len(target.tables[0].cols) > 1:
        return _rows_of(target.tables[0], name, y)
    members = domain(name)
    count = len(members)

    def leaf(v: Value) -> Value:
        if v.__class__ is Vec and v.t == T.ENUM and v.dom == name:
            return v
        v = unenum(v)
        if isinstance(members, Table) or not (v.__class__ is Vec or atom_t(v)):
            raise QError("type")
        position = find_at(members, v)
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
    rows = [item for item in y.items if is_list(item)] if isinstance(y, List) else []
    if isinstance(y, List) and len(rows) == len(y):
        if any(len(row) != len(keys.cols) for row in rows):
            raise QError("length")
        y = Table(
            keys.names,
            [collapse([row.item(index) for row in rows]) for index in range(len(keys.cols))],
        )
    position = find_at(keys, y) if not is_list(y) or len(y) else np.empty(0, np.int64)
    if np.any(np.asarray(position) >= len(keys)):
        raise QError("cast")
    return (
        Vec(T.ENUM, position.astype(np.int64), "", name)
        if isinstance(position, np.ndarray)
        else EnumAtom(int(position), name)
    )
