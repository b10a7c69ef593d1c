"""Amend: `x[i;j]:v`, `x[i]+:v`, `@[x;i;f;y]`, `.[x;path;f;y]` on lists, dictionaries, tables and rectangular arrays.

Values are shared, so amending makes a new value; assign_in_place writes to the old array, for callers that hold the
only reference. Index vectors are handled by numpy if the items fit the vector; repeated indexes accumulate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.build import collapse, longs
from kshell.values.base.core import (
    HOLE,
    NIL,
    Atom,
    Dict,
    List,
    ListValue,
    Nd,
    Special,
    Sym,
    Table,
    Value,
    Vec,
    atom,
    atom_t,
    is_atom,
    is_list,
    raw,
    seq_items,
    sym_vec,
)
from kshell.values.base.functions import Handle, Prim
from kshell.values.base.narrow import has_items, list_value, names_in
from kshell.values.change.append import append_item, append_row, retype
from kshell.values.change.join import grown, join_dicts
from kshell.values.change.place import block, part, place, plain_numbers, single
from kshell.values.engine.apply import pyfn
from kshell.values.engine.dispatch import ATOMIC
from kshell.values.items.index import list_positions
from kshell.values.items.pick import null_of, take_at
from kshell.values.items.search import depth, find
from kshell.values.session.interrupts import AMENDED, HOLD, PENDING, let_through

Path = Sequence[Value]


class _Missing:
    def __repr__(self) -> str:
        return "missing"


MISSING: Any = _Missing()
_ACCUMULATE = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "|": np.maximum,
    "&": np.minimum,
    "or": np.maximum,
    "and": np.minimum,
}
_INDEX = (T.B, T.X, T.H, T.I, T.J, T.ENUM)
_HELD = (Atom, Sym, Special)  # atoms that hold a raw value
_NUMBERS = (T.H, T.I, T.J, T.E, T.F)


# ------------------------------------------------------------------ entry points


def amend(x: Value, path: Path, f: Value | None, y: Value = MISSING) -> Value:
    """x with f[old] or f[old;y] in place of each item at the path; if f is None or `:`, y itself."""
    if isinstance(x, Handle):
        if y is MISSING and f is not None:
            return x.amend(path, None, pyfn(f, 1)(x.index(path)))
        return x.amend(path, f, y)
    if f is None or is_assign(f):
        return assign_at(x, path, y if y is not MISSING else NIL)
    if not len(path):
        out = pyfn(f, 1)(x) if y is MISSING else pyfn(f, 2)(x, y)
        return let_through("", out) if PENDING else out
    if len(path) == 1 and path[0] is NIL and y is not MISSING and _whole(x, f):
        out = pyfn(f, 2)(x, y)
        return let_through("", out) if PENDING else out
    return _Amend(f, y is MISSING).all_or_nothing(x, path, y)


def assign_at(x: Value, path: Path, y: Value) -> Value:
    """x with y at the path: `x[i;j]:y`. New keys are added to dictionaries."""
    if not len(path):
        return y
    if isinstance(x, Handle):
        return x.amend(path, None, y)
    try:
        out = _ASSIGN.at(x, path, y)
        return let_through("", out) if PENDING else out
    except _Reached:
        pass
    return _Amend(None).all_or_nothing(x, path, y)


# the Python class of a type's atoms, if any
_CLASS_OF = tuple({T.J: int, T.F: float, T.B: bool}.get(num) for num in range(T.ENUM + 1))


@overload
def assign_in_place(x: ListValue, path: tuple[Value], y: Value) -> ListValue: ...
@overload
def assign_in_place(x: Value, path: Path, y: Value) -> Value: ...
def assign_in_place(x: Value, path: Path, y: Value) -> Value:
    """assign_at, for a caller that holds the only reference to x: the array itself is written if y fits."""
    i = path[0] if len(path) else NIL
    if len(path) == 1 and i.__class__ is int:
        if x.__class__ is Vec and 0 <= i < len(x.a):
            qtype = x.t
            if y.__class__ is _CLASS_OF[qtype]:
                x.a[i] = y
                x.look = 0
            elif isinstance(y, _HELD) and y.t == qtype and qtype not in (T.G, T.ENUM):
                x.a[i] = y.v
                x.wrote()
            else:
                return assign_at(x, path, y)
            x.attr = "g" if x.attr == "g" else ""
            return x
        if type(x) is List and 1 < len(x.items) > i >= 0 and _stays_general(x.items, i, y):
            x.items[i] = y
            x.look = 0
            x.attr = "g" if x.attr == "g" else ""
            return x
    if type(x) is Nd or type(x) is Vec:
        position = place(x, path)
        data = None if position is None else block(x, position, y)
        if data is not None:
            x.a[position] = data
            if type(x) is Vec:
                x.attr = "g" if x.attr == "g" else ""
                x.wrote()
            return x
    return assign_at(x, path, y)


def _stays_general(items: list[Value], i: int, y: Value) -> bool:
    """Will a general list certainly not become a vector when y replaces item i?"""
    qtype = atom_t(y)
    return not qtype or atom_t(items[0 if i else 1]) != qtype


def _whole(x: Value, f: Value) -> bool:
    """Does `@[x;::;f;y]` apply f to all of x rather than item by item? For atoms, and when joining to a vector."""
    return bool(atom_t(x)) or (x.__class__ is Vec and f.__class__ is Prim and f.name == ",")


def is_assign(f: Value | None) -> bool:
    """Is it `:`, which stores the new value unchanged?"""
    return f is None or (f.__class__ is Prim and f.name == ":")


# ------------------------------------------------------------------ the general case


def _name_of(x: Value) -> str:
    """The name of a column, which must be a symbol."""
    if x.__class__ is not Sym:
        raise QError("type")
    return x.s


class _Amend:
    """One amendment: its function, and whether that takes only the old value.

    Values are created anew, but objects behind handles are changed in place. To leave everything unchanged on an error,
    an amendment of several items records how to undo the change of each handle.
    """

    def __init__(self, f: Value | None, alone: bool = False) -> None:
        self.f, self.alone, self.plain = f, alone, f is None
        self.several = False
        self.changed: list[Callable[[], None]] = []
        self.note = ""  # for an interrupt, if a handle was changed
        self.name = f.name if f.__class__ is Prim else ""
        self.fn: Any = None if f is None else pyfn(f, 1) if alone else pyfn(f, 2)

    def new(self, old: Value, y: Value) -> Value:
        """The replacement for one item."""
        return y if self.plain else self.fn(old) if self.alone else self.fn(old, y)

    @overload
    def at(self, x: ListValue, path: Path, y: Value) -> ListValue: ...
    @overload
    def at(self, x: Value, path: Path, y: Value) -> Value: ...
    def at(self, x: Value, path: Path, y: Value) -> Value:
        """x amended at a path of at least one index."""
        if type(x) is Nd or type(x) is Vec:
            found = self.array(x, path, y)
            if found is not None:
                return found
        if type(x) is Table:
            return self.table(x, path, y)
        if type(x) is Dict:
            return self.dict(x, path, y)
        if type(x) is Vec or isinstance(x, List):
            return self.list(x, path, y)
        if isinstance(x, Handle):
            return self.handle(x, path, y)
        raise QError("type")

    def all_or_nothing(self, x: Value, path: Path, y: Value) -> Value:
        """x amended at a path; on an error, changed handles are restored."""
        try:
            out = self.at(x, path, y)
        except BaseException as e:
            if self.changed:
                with HOLD:
                    for undo in reversed(self.changed):
                        undo()
                e.__dict__.pop("note", None)  # for an interrupt that waited for one of the changes
            raise
        return let_through(self.note, out) if PENDING else out

    def handle(self, x: Handle, path: Path, y: Value) -> Value:
        """A handle in a list, dictionary or table: its object is changed in place."""
        if self.several:
            self.changed.append(x.undo(path))
        out = amend(x, path, self.f, MISSING if self.alone else y)
        self.note = AMENDED
        return out

    # -------------------------------------------------------------- lists

    def array(self, x: Vec | Nd, path: Path, y: Value) -> Vec | Nd | None:
        """Through numpy, if the path consists of integers and whole axes and the new items fit the array; else None."""
        if len(path) > x.a.ndim:
            return None
        position = place(x, path)
        if position is None:
            return None
        if not self.plain:
            if (
                len(path) == 1
                and self.name in _ACCUMULATE
                and not self.alone
                and x.__class__ is Vec
            ):
                found = self.accumulate(x, position[0], y)
                if found is not None:
                    return found
            if not single(position) or not self.whole(y):
                return None
            y = self.new(part(x, position), y)
        data = block(x, position, y)
        if data is None:
            return None
        array = x.a.copy()
        array[position] = data
        return (
            Vec(x.t, array, x.attr if x.attr == "g" else "", x.dom)
            if x.__class__ is Vec
            else Nd(x.t, array)
        )

    def whole(self, y: Value) -> bool:
        """Can f be applied to all old items at once? Yes for an atomic verb, if y is not a list or has one number per
        item."""
        atomic = (self.name, 1 if self.alone else 2) in ATOMIC
        return atomic and (self.alone or is_atom(y) or y.__class__ is Vec or y.__class__ is Nd)

    def accumulate(self, x: Vec, at: int | np.ndarray, y: Value) -> Vec | None:
        """`x[i]+:y` with repeated indexes, through numpy: numbers of one type, none null."""
        qtype, op = x.t, _ACCUMULATE[self.name]
        if qtype not in (T.J, T.F, T.I, T.H) or at.__class__ is not np.ndarray:
            return None
        if y.__class__ is Vec and y.t == qtype:
            b = y.a
            if len(b) != len(at):
                raise QError("length")
        elif atom_t(y) == qtype:
            b = np.array([raw(y)], x.a.dtype)
        else:
            return None
        if not (plain_numbers(x.a, qtype) and plain_numbers(b, qtype)) or (
            op is np.multiply and qtype != T.F
        ):
            return None
        array = x.a.copy()
        op.at(array, at, b if len(b) == len(at) else b[0])
        return Vec(qtype, array)

    def list(self, x: Vec | List, path: Path, y: Value) -> ListValue:
        """A list, item by item."""
        i = path[0]
        count = len(x)
        if x.__class__ is Vec and len(path) == 1:
            return self.vector(x, i, y)
        items = list(x.items)
        for k, v in self.pairs(_indexes(i, count), y, i):
            if k.__class__ is not int:
                items = list(self.at(collapse(items), (k, *path[1:]), v).items)
            elif not 0 <= k < count:
                raise QError("length")
            else:
                items[k] = self.below(items[k], path[1:], v)
        return _relist(x, items)

    def vector(self, x: Vec, i: Value, y: Value) -> Vec:
        """A vector, where only the items at the index are examined. All must be atoms of its type."""
        count = len(x.a)
        new: dict[int, Value] = {}
        pairs = list(self.pairs(_indexes(i, count), y, i))
        if any(k.__class__ is not int for k, _ in pairs):
            for k, v in pairs:
                x = self.vector(x, k, v)
            return x
        for k, v in pairs:
            if k.__class__ is not int or not 0 <= k < count:
                raise QError("length")
            else:
                new[k] = self.new(new[k] if k in new else x.item(k), v)
        if not new:
            return x
        new_items = retype(x, list(new.values()))
        array = x.a.copy()
        array[list(new)] = new_items.a
        return Vec(x.t, array, "", x.dom)

    def below(self, old: Value, rest: Path, v: Value) -> Value:
        return self.at(old, rest, v) if rest else self.new(old, v)

    def pairs(
        self, keys: int | Sequence[Value], y: Value, i: Value
    ) -> Iterable[tuple[Value, Value]]:
        """Each index with its part of y: item by item if the index is a list and y is too."""
        if isinstance(keys, int):
            return ((keys, y),)
        self.several = self.several or len(keys) > 1
        if self.alone or not (
            is_list(y) or y.__class__ is Table or (y.__class__ is Dict and i is NIL)
        ):
            return ((key, y) for key in keys)
        if len(y) != len(keys):
            raise QError("length")
        return zip(keys, seq_items(y), strict=True)

    # -------------------------------------------------------------- dictionaries

    def dict(self, d: Dict, path: Path, y: Value) -> Dict:
        i, rest = path[0], path[1:]
        if i is NIL or i is HOLE:
            return Dict(d.k, self.at(d.v, path, y), d.attr)
        if d.keyed:
            return self.keyed(d, i, rest, y)
        if d.attr == "s":
            positions = find(d.k, i)
            if positions.__class__ not in (int, np.ndarray) or np.any(positions >= len(d.k)):
                raise QError("step")
            out = self.dict(Dict(d.k, d.v), path, y)
            return Dict(out.k, out.v, "s")
        if not is_list(i) or (isinstance(d.k, List) and len(d.k) and _is_key(d.k, i)):
            return self.dict_item(d, i, rest, y)
        if i.__class__ is Vec and d.k.__class__ is Vec and len(i) > 1 and len(d.k):
            if self.plain and not rest:
                y = y if is_list(y) else take_at(collapse([y]), np.zeros(len(i), np.int64))
                if len(y) != len(i):
                    raise QError("length")
                return join_dicts(d, Dict(i, y), strict=True)
            positions = find(d.k, i)
            # no new keys: amend items of the values
            if positions.__class__ is np.ndarray and (positions < len(d.k)).all():
                return Dict(d.k, self.at(d.v, (longs(positions), *rest), y))
        for k, v in self.pairs(seq_items(i), y, i):
            # a key that is itself a list, not a list of keys
            whole = is_list(k) and (isinstance(d.k, List) or not len(d.k))
            d = self.dict_item(d, k, rest, v) if whole else self.dict(d, (k, *rest), v)
        return d

    def dict_item(self, d: Dict, key: Value, rest: Path, y: Value) -> Dict:
        """One key, which may be new."""
        count = len(d.k)
        positions = find(d.k, key) if count or d.k.__class__ is Vec else 0
        if positions.__class__ is np.ndarray:
            raise QError("type")
        if positions < count:
            return Dict(d.k, self.at(d.v, (positions, *rest), y))
        return Dict(grown(d.k, append_item(d.k, key)), append_item(d.v, self.first(d, rest, y)))

    def first(self, d: Dict, rest: Path, y: Value) -> Value:
        """The value for a new key."""
        old = null_of(d.v)
        if not rest and not self.plain and not self.alone:
            if isinstance(old, List) and not len(d.k) and self.name in _ACCUMULATE:
                old = (
                    0 if self.name == "-" else MISSING
                )  # the type of an empty dictionary's values is unknown
            elif is_atom(old):
                old = (
                    atom(atom_t(old), 0)
                    if self.name in ("+", "-") and atom_t(old) in _NUMBERS
                    else MISSING
                )
        if rest and rest[0].__class__ is Sym and isinstance(old, List) and not len(old):
            old = Dict(List([]), List([]))
        return self.at(old, rest, y) if rest else y if old is MISSING else self.new(old, y)

    def keyed(self, d: Dict, i: Value, rest: Path, y: Value) -> Dict:
        """A keyed table by key: a row, or an item of a row; a new key adds a row."""
        keys, values = d.tables
        one = len(keys.names) == 1
        if i.__class__ is Sym and i.s in values.names and not one:
            return Dict(keys, self.table(values, (i, *rest), y))
        if i.__class__ is Table:
            for k, v in self.pairs(i.items, y, i):
                d = self.keyed(d, k, rest, v)
            return d
        many = is_list(i) and (i.__class__ is Vec if one else bool(len(i)) and is_list(i.item(0)))
        if many and not (one and keys.cols[0].__class__ is not Vec):
            for k, v in self.pairs(seq_items(i), y, i):
                d = self.keyed(d, k, rest, v)
            return d
        row = i
        if row.__class__ is not Dict:
            row = Dict(sym_vec(keys.names), List([i]) if one and not is_list(i) else list_value(i))
        positions = find(keys, row)
        if positions >= len(keys):
            old, keys = keys, append_row(keys, row)
            if one:
                keys = Table(keys.names, [grown(old.cols[0], keys.cols[0])])
            values = append_row(values, null_of(values))
        return Dict(keys, self.table(values, (int(positions), *rest), y))

    # -------------------------------------------------------------- tables

    def table(self, t: Table, path: Path, y: Value) -> Table:
        i, rest = path[0], path[1:]
        if i.__class__ is Sym:
            return self.column(t, i.s, rest, y)
        if i.__class__ is Vec and i.t == T.S:
            return self.columns(t, self.pairs(i.items, y, i), rest)
        if rest and rest[0].__class__ is Sym:
            return self.column(t, rest[0].s, (i, *rest[1:]), y)
        if i is NIL or i is HOLE:
            return self.all_rows(t, rest, y)
        keys = _indexes(i, len(t))
        if isinstance(keys, list):
            if rest and rest[0].__class__ is Vec and not is_list(y):
                return self.columns(t, ((item, y) for item in rest[0].items), (i, *rest[1:]))
            for k, v in self.pairs(keys, y, i):
                t = self.row(t, k, rest, v)
            return t
        return self.row(t, keys, rest, y)

    def all_rows(self, t: Table, rest: Path, y: Value) -> Table:
        names = rest[0] if rest else NIL
        cols = sym_vec(t.names).items if names is NIL or names is HOLE else seq_items(names)
        return self.columns(t, self.pairs(cols, y, NIL), (NIL, *rest[1:]))

    def columns(self, t: Table, pairs: Iterable[tuple[Value, Value]], rest: Path) -> Table:
        """Several columns of a table, each with its value."""
        own = t.copied()
        for name, y in pairs:
            self.put_column(own, _name_of(name), rest, y)
        return own

    def column(self, t: Table, name: str, rest: Path, y: Value) -> Table:
        own = t.copied()
        self.put_column(own, name, rest, y)
        return own

    def put_column(self, t: Table, name: str, rest: Path, y: Value) -> None:
        """One column of a table that nobody else has."""
        count = len(t)
        if t.has(name):
            k = t.place(name)
            old = t.cols[k]
            if old.__class__ is Table and self.plain and not _fits(old, rest, y):
                old = List(
                    [old.item(i) for i in range(count)]
                )  # a list of dictionaries that no longer match
            new = self.at(old, rest, y) if rest else self.new(old, y)
            if not has_items(new):
                new = take_at(collapse([new]), np.zeros(count, np.int64))
            if len(new) != count:
                raise QError("length")
            t.cols[k] = new
            return
        if rest or self.alone or not self.plain:
            raise QError(name)
        new = y if is_list(y) else take_at(collapse([y]), np.zeros(count, np.int64))
        if len(new) != count and t.names:
            raise QError("length")
        t.add(name, new)

    def row(self, t: Table, k: Value, rest: Path, y: Value) -> Table:
        """One row: from a dictionary (possibly with only some of the columns) or a list of items."""
        if k.__class__ is not int:
            raise QError("type")
        if not 0 <= k < len(t):
            raise QError("length")
        if rest:
            return self.columns(t, self.pairs(seq_items(rest[0]), y, rest[0]), (k, *rest[1:]))
        new = self.new(t.item(k), y)
        if new.__class__ is Dict:
            names, items = names_in(new.k), seq_items(new.v)
            if not all(map(t.has, names)):
                raise QError("mismatch")
        else:
            names, items = t.names, seq_items(new) if is_list(new) else [new] * len(t.names)
            if len(items) != len(names):
                raise QError("length")
        own = t.copied()
        for name, item in zip(names, items, strict=True):
            _ASSIGN.put_column(own, name, (k,), item)
        return own


def _fits(t: Table, rest: Path, y: Value) -> bool:
    """Does a column that is a table stay one if y is assigned to a row of it, or to an item of a row?"""
    if not rest or rest[0].__class__ is not int:
        return True
    if len(rest) > 1:
        return rest[1].__class__ is not Sym or rest[1].s in t.names
    return (
        y.__class__ is Dict
        and not y.keyed
        and {item.s for item in seq_items(y.k) if item.__class__ is Sym} == set(t.names)
    )


class _Reached(Exception):
    """The path of an assignment leads into a handle."""


class _Assign(_Amend):
    """The shared assignment: it has no state, and leaves assignments that change handles to others."""

    def handle(self, x: Handle, path: Path, y: Value) -> Value:
        raise _Reached


_ASSIGN = _Assign(None)


def first_value(d: Dict, f: Value, y: Value) -> Value:
    """The value that `d[key]f:y` stores under a new key."""
    return _Amend(f).first(d, (), y)


# ------------------------------------------------------------------ parts


def _is_key(keys: ListValue, i: Value) -> bool:
    """If keys are themselves lists: is this list one of them (or as deep) rather than a list of keys?"""
    return depth(i) <= depth(keys.item(0))


def _indexes(i: Value, n: int) -> int | list[Value]:
    """An index as an int, or as a list of items."""
    if i is NIL or i is HOLE:
        return list(range(n))
    if i.__class__ is int:
        return i
    positions = list_positions(i)
    if positions is not None:
        return positions.tolist()
    if i.__class__ is Vec or isinstance(i, List):
        if i.__class__ is Vec and len(i.a):
            raise QError("type")
        return i.items
    qtype = atom_t(i)
    if qtype in _INDEX:
        return int(raw(i))
    raise QError("type")


def _relist(x: Vec | List, items: list[Value]) -> ListValue:
    """The list of amended items. A vector stays one; a list of atoms of one type becomes one."""
    if x.__class__ is Vec:
        return retype(x, items) if items else x
    return collapse(items) if items and is_atom(items[0]) else List(items)
