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
from kshell.values.base.symbols import Sym
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
        result = pyfn(f, 1)(x) if y is MISSING else pyfn(f, 2)(x, y)
        return let_through("", result) if PENDING else result
    if len(path) == 1 and path[0] is NIL and y is not MISSING and _whole(x, f):
        result = pyfn(f, 2)(x, y)
        return let_through("", result) if PENDING else result
    return _Amend(f, y is MISSING).all_or_nothing(x, path, y)


def assign_at(x: Value, path: Path, y: Value) -> Value:
    """x with y at the path: `x[i;j]:y`. New keys are added to dictionaries."""
    if not len(path):
        return y
    if isinstance(x, Handle):
        return x.amend(path, None, y)
    try:
        result = _ASSIGN.at(x, path, y)
        return let_through("", result) if PENDING else result
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
    index = path[0] if len(path) else NIL
    if len(path) == 1 and index.__class__ is int:
        if x.__class__ is Vec and 0 <= index < len(x.a):
            qtype = x.t
            if y.__class__ is _CLASS_OF[qtype]:
                x.a[index] = y
                x.look = 0
            elif isinstance(y, _HELD) and y.t == qtype and qtype not in (T.G, T.ENUM):
                x.a[index] = y.v
                x.wrote()
            else:
                return assign_at(x, path, y)
            x.attr = "g" if x.attr == "g" else ""
            return x
        if type(x) is List and 1 < len(x.items) > index >= 0 and _stays_general(x.items, index, y):
            x.items[index] = y
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
            amended = self.array(x, path, y)
            if amended is not None:
                return amended
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
            result = self.at(x, path, y)
        except BaseException as error:
            if self.changed:
                with HOLD:
                    for undo in reversed(self.changed):
                        undo()
                # for an interrupt that waited for one of the changes
                error.__dict__.pop("note", None)
            raise
        return let_through(self.note, result) if PENDING else result

    def handle(self, x: Handle, path: Path, y: Value) -> Value:
        """A handle in a list, dictionary or table: its object is changed in place."""
        if self.several:
            self.changed.append(x.undo(path))
        result = amend(x, path, self.f, MISSING if self.alone else y)
        self.note = AMENDED
        return result

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
                amended = self.accumulate(x, position[0], y)
                if amended is not None:
                    return amended
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
        qtype, ufunc = x.t, _ACCUMULATE[self.name]
        if qtype not in (T.J, T.F, T.I, T.H) or at.__class__ is not np.ndarray:
            return None
        if y.__class__ is Vec and y.t == qtype:
            operand = y.a
            if len(operand) != len(at):
                raise QError("length")
        elif atom_t(y) == qtype:
            operand = np.array([raw(y)], x.a.dtype)
        else:
            return None
        if not (plain_numbers(x.a, qtype) and plain_numbers(operand, qtype)) or (
            ufunc is np.multiply and qtype != T.F
        ):
            return None
        array = x.a.copy()
        ufunc.at(array, at, operand if len(operand) == len(at) else operand[0])
        return Vec(qtype, array)

    def list(self, x: Vec | List, path: Path, y: Value) -> ListValue:
        """A list, item by item."""
        index = path[0]
        count = len(x)
        if x.__class__ is Vec and len(path) == 1:
            return self.vector(x, index, y)
        items = list(x.items)
        for position, value in self.pairs(_indexes(index, count), y, index):
            if position.__class__ is not int:
                items = list(self.at(collapse(items), (position, *path[1:]), value).items)
            elif not 0 <= position < count:
                raise QError("length")
            else:
                items[position] = self.below(items[position], path[1:], value)
        return _relist(x, items)

    def vector(self, x: Vec, i: Value, y: Value) -> Vec:
        """A vector, where only the items at the index are examined. All must be atoms of its type."""
        count = len(x.a)
        values: dict[int, Value] = {}
        pairs = list(self.pairs(_indexes(i, count), y, i))
        if any(position.__class__ is not int for position, _ in pairs):
            for position, value in pairs:
                x = self.vector(x, position, value)
            return x
        for position, value in pairs:
            if position.__class__ is not int or not 0 <= position < count:
                raise QError("length")
            else:
                values[position] = self.new(
                    values[position] if position in values else x.item(position), value
                )
        if not values:
            return x
        new_items = retype(x, list(values.values()))
        array = x.a.copy()
        array[list(values)] = new_items.a
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
        index, rest = path[0], path[1:]
        if index is NIL or index is HOLE:
            return Dict(d.k, self.at(d.v, path, y), d.attr)
        if d.keyed:
            return self.keyed(d, index, rest, y)
        if d.attr == "s":
            positions = find(d.k, index)
            if positions.__class__ not in (int, np.ndarray) or np.any(positions >= len(d.k)):
                raise QError("step")
            result = self.dict(Dict(d.k, d.v), path, y)
            return Dict(result.k, result.v, "s")
        if not is_list(index) or (isinstance(d.k, List) and len(d.k) and _is_key(d.k, index)):
            return self.dict_item(d, index, rest, y)
        if index.__class__ is Vec and d.k.__class__ is Vec and len(index) > 1 and len(d.k):
            if self.plain and not rest:
                y = y if is_list(y) else take_at(collapse([y]), np.zeros(len(index), np.int64))
                if len(y) != len(index):
                    raise QError("length")
                return join_dicts(d, Dict(index, y), strict=True)
            positions = find(d.k, index)
            # no new keys: amend items of the values
            if positions.__class__ is np.ndarray and (positions < len(d.k)).all():
                return Dict(d.k, self.at(d.v, (longs(positions), *rest), y))
        for key, value in self.pairs(seq_items(index), y, index):
            # a key that is itself a list, not a list of keys
            is_key = is_list(key) and (isinstance(d.k, List) or not len(d.k))
            d = self.dict_item(d, key, rest, value) if is_key else self.dict(d, (key, *rest), value)
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
        default = null_of(d.v)
        if not rest and not self.plain and not self.alone:
            if isinstance(default, List) and not len(d.k) and self.name in _ACCUMULATE:
                # the type of an empty dictionary's values is unknown
                default = 0 if self.name == "-" else MISSING
            elif is_atom(default):
                default = (
                    atom(atom_t(default), 0)
                    if self.name in ("+", "-") and atom_t(default) in _NUMBERS
                    else MISSING
                )
        if rest and rest[0].__class__ is Sym and isinstance(default, List) and not len(default):
            default = Dict(List([]), List([]))
        return (
            self.at(default, rest, y) if rest else y if default is MISSING else self.new(default, y)
        )

    def keyed(self, d: Dict, i: Value, rest: Path, y: Value) -> Dict:
        """A keyed table by key: a row, or an item of a row; a new key adds a row."""
        keys, values = d.tables
        single_key = len(keys.names) == 1
        if i.__class__ is Sym and i.s in values.names and not single_key:
            return Dict(keys, self.table(values, (i, *rest), y))
        if i.__class__ is Table:
            for key, value in self.pairs(i.items, y, i):
                d = self.keyed(d, key, rest, value)
            return d
        several = is_list(i) and (
            i.__class__ is Vec if single_key else bool(len(i)) and is_list(i.item(0))
        )
        if several and not (single_key and keys.cols[0].__class__ is not Vec):
            for key, value in self.pairs(seq_items(i), y, i):
                d = self.keyed(d, key, rest, value)
            return d
        row = i
        if row.__class__ is not Dict:
            row = Dict(
                sym_vec(keys.names), List([i]) if single_key and not is_list(i) else list_value(i)
            )
        positions = find(keys, row)
        if positions >= len(keys):
            old_keys, keys = keys, append_row(keys, row)
            if single_key:
                keys = Table(keys.names, [grown(old_keys.cols[0], keys.cols[0])])
            values = append_row(values, null_of(values))
        return Dict(keys, self.table(values, (int(positions), *rest), y))

    # -------------------------------------------------------------- tables

    def table(self, t: Table, path: Path, y: Value) -> Table:
        index, rest = path[0], path[1:]
        if index.__class__ is Sym:
            return self.column(t, index.s, rest, y)
        if index.__class__ is Vec and index.t == T.S:
            return self.columns(t, self.pairs(index.items, y, index), rest)
        if rest and rest[0].__class__ is Sym:
            return self.column(t, rest[0].s, (index, *rest[1:]), y)
        if index is NIL or index is HOLE:
            return self.all_rows(t, rest, y)
        keys = _indexes(index, len(t))
        if isinstance(keys, list):
            if rest and rest[0].__class__ is Vec and not is_list(y):
                return self.columns(t, ((item, y) for item in rest[0].items), (index, *rest[1:]))
            for position, value in self.pairs(keys, y, index):
                t = self.row(t, position, rest, value)
            return t
        return self.row(t, keys, rest, y)

    def all_rows(self, t: Table, rest: Path, y: Value) -> Table:
        names = rest[0] if rest else NIL
        columns = sym_vec(t.names).items if names is NIL or names is HOLE else seq_items(names)
        return self.columns(t, self.pairs(columns, y, NIL), (NIL, *rest[1:]))

    def columns(self, t: Table, pairs: Iterable[tuple[Value, Value]], rest: Path) -> Table:
        """Several columns of a table, each with its value."""
        table = t.copied()
        for name, y in pairs:
            self.put_column(table, _name_of(name), rest, y)
        return table

    def column(self, t: Table, name: str, rest: Path, y: Value) -> Table:
        table = t.copied()
        self.put_column(table, name, rest, y)
        return table

    def put_column(self, t: Table, name: str, rest: Path, y: Value) -> None:
        """One column of a table that nobody else has."""
        count = len(t)
        if t.has(name):
            index = t.place(name)
            column = t.cols[index]
            if column.__class__ is Table and self.plain and not _fits(column, rest, y):
                # a list of dictionaries that no longer match
                column = List([column.item(row) for row in range(count)])
            amended = self.at(column, rest, y) if rest else self.new(column, y)
            if not has_items(amended):
                amended = take_at(collapse([amended]), np.zeros(count, np.int64))
            if len(amended) != count:
                raise QError("length")
            t.cols[index] = amended
            return
        if rest or self.alone or not self.plain:
            raise QError(name)
        amended = y if is_list(y) else take_at(collapse([y]), np.zeros(count, np.int64))
        if len(amended) != count and t.names:
            raise QError("length")
        t.add(name, amended)

    def row(self, t: Table, k: Value, rest: Path, y: Value) -> Table:
        """One row: from a dictionary (possibly with only some of the columns) or a list of items."""
        if k.__class__ is not int:
            raise QError("type")
        if not 0 <= k < len(t):
            raise QError("length")
        if rest:
            return self.columns(t, self.pairs(seq_items(rest[0]), y, rest[0]), (k, *rest[1:]))
        replacement = self.new(t.item(k), y)
        if replacement.__class__ is Dict:
            names, items = names_in(replacement.k), seq_items(replacement.v)
            if not all(map(t.has, names)):
                raise QError("mismatch")
        else:
            names, items = (
                t.names,
                seq_items(replacement) if is_list(replacement) else [replacement] * len(t.names),
            )
            if len(items) != len(names):
                raise QError("length")
        table = t.copied()
        for name, item in zip(names, items, strict=True):
            _ASSIGN.put_column(table, name, (k,), item)
        return table


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
