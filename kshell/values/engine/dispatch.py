"""The engine for atomic verbs: one rule for two types, applied to atoms, vectors, nested lists, dictionaries and
tables.

A verb provides a planner: for the types of its operands, a Plan with the result type and a function on raw numpy arrays
(and optionally a faster one on raw atoms). The engine caches the plans and handles the recursion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.build import as_nd, collapse
from kshell.values.base.core import (
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
    is_list,
    raw,
    seq_items,
    sym_vec,
)
from kshell.values.base.functions import Handle
from kshell.values.engine.cast import array1, whole
from kshell.values.items.index import find_at, index1
from kshell.values.items.pick import take_at, unenum

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Array = np.ndarray
_LONG = 4096  # longer vectors cache whether they contain nulls
_SHORT_ROW = 4096  # rows up to this length are stacked into one array before a verb runs on them


class Plan:
    """How a verb treats two types (or one): result type `t`, `fn` on raw arrays, `one` on raw atoms or None; `bare`, if
    there is a faster way for long arrays of one integer type known to contain no null."""

    __slots__ = ("bare", "fn", "one", "t")

    def __init__(
        self,
        t: int,
        fn: Callable[..., Array],
        one: Callable[..., Any] | None = None,
        bare: Callable[..., Array] | None = None,
    ) -> None:
        self.t, self.fn, self.one, self.bare = t, fn, one, bare


ATOMIC: set[tuple[str, int]] = set()  # the verbs created here, by name and number of arguments

Verb2 = Callable[[Value, Value], Value]
Verb1 = Callable[[Value], Value]
# verbs that return a list for a list, and so apply to the parts of a table or dictionary
Parts1 = Callable[[Value], Any]
Parts2 = Callable[[Value, Value], Any]
Alone = Callable[[Value, bool], Any]


def dyad(
    name: str,
    planner: Callable[[int, int], Plan | None],
    alone: Alone | None = None,
    tables: bool = True,
) -> Verb2:
    """The atomic binary verb with the rule `planner`; None from the planner is 'type.

    `alone` computes the result for a key that only one of two dictionaries has (given the value, and whether it was on
    the left); by default the value itself.
    """
    ATOMIC.add((name, 2))
    plans: dict[int, Plan] = {}

    def plan(tx: int, ty: int) -> Plan | None:
        found = planner(tx, ty)
        if found is not None:
            plans[tx << 5 | ty] = found
        return found

    def run(x: Value, y: Value) -> Value:
        if x.__class__ is Vec:
            qtype = x.t
            if y.__class__ is Vec:
                p = plans.get(qtype << 5 | y.t) or plan(qtype, y.t)
                if p is not None:
                    if len(x.a) != len(y.a):
                        raise QError("length")
                    if p.bare is not None and len(x.a) > _LONG and whole(x) and whole(y):
                        return Vec(p.t, p.bare(x.a, y.a))
                    return Vec(p.t, p.fn(x.a, y.a))
            else:
                ty = atom_t(y)
                if ty:
                    p = plans.get(qtype << 5 | ty) or plan(qtype, ty)
                    if p is not None:
                        b = array1(y, ty)
                        if (
                            p.bare is not None
                            and len(x.a) > _LONG
                            and whole(x)
                            and b[0] != T.NULL[ty]
                        ):
                            return Vec(p.t, p.bare(x.a, b))
                        return Vec(p.t, p.fn(x.a, b))
        else:
            qtype = atom_t(x)
            if qtype:
                if y.__class__ is Vec:
                    p = plans.get(qtype << 5 | y.t) or plan(qtype, y.t)
                    if p is not None:
                        a = array1(x, qtype)
                        if (
                            p.bare is not None
                            and len(y.a) > _LONG
                            and whole(y)
                            and a[0] != T.NULL[qtype]
                        ):
                            return Vec(p.t, p.bare(a, y.a))
                        return Vec(p.t, p.fn(a, y.a))
                else:
                    ty = atom_t(y)
                    if ty:
                        p = plans.get(qtype << 5 | ty) or plan(qtype, ty)
                        if p is not None:
                            if p.one is not None:
                                return atom(p.t, p.one(raw(x), raw(y)))
                            return atom(p.t, p.fn(array1(x, qtype), array1(y, ty))[0])
        return slow(x, y)

    def slow(x: Value, y: Value) -> Value:
        if isinstance(x, Handle):
            return x.dyad(name, x, y)
        if isinstance(y, Handle):
            return y.dyad(name, x, y)
        if x.__class__ is Dict or y.__class__ is Dict:
            return _dicts(run, x, y, alone)
        if _is_enum(x) or _is_enum(y):
            return run(unenum(x), unenum(y))
        if x.__class__ is Table or y.__class__ is Table:
            if not tables:
                raise QError("type")
            return _tables(run, x, y, alone)
        if isinstance(x, List) or isinstance(y, List):
            return _lists(run, plan_nd, x, y)
        raise QError("type")

    def plan_nd(x: Value, y: Value) -> Value | None:
        """Rectangular nested lists in one numpy call, or None."""
        qtype = x.t if cls_array(x) else atom_t(x)
        ty = y.t if cls_array(y) else atom_t(y)
        p = (plans.get(qtype << 5 | ty) or plan(qtype, ty)) if qtype and ty else None
        if p is None:
            return None
        a = x.a if cls_array(x) else array1(x, qtype)
        b = y.a if cls_array(y) else array1(y, ty)
        if cls_array(x) and cls_array(y):
            k = min(a.ndim, b.ndim)
            if a.shape[:k] != b.shape[:k]:
                raise QError("length")
            a = a.reshape(a.shape + (1,) * (b.ndim - k))
            b = b.reshape(b.shape + (1,) * (a.ndim - b.ndim))
        return Nd(p.t, p.fn(a, b))

    return run


def cls_array(x: Value) -> TypeIs[Vec | Nd]:
    """Is it stored as one numpy array?"""
    return x.__class__ is Vec or x.__class__ is Nd


def _is_enum(x: Value) -> bool:
    return x.__class__ is EnumAtom or (x.__class__ is Vec and x.t == T.ENUM)


def _stackable(x: Value) -> Value:
    """A general list as an Nd if it is rectangular with short rows, else unchanged."""
    if (
        x.__class__ is List
        and len(x.items) > 2
        and is_list(x.items[0])
        and len(x.items[0]) <= _SHORT_ROW
    ):
        return as_nd(x) or x
    return x


def _lists(
    run: Verb2, plan_nd: Callable[[Value, Value], Value | None], x: Value, y: Value
) -> Value:
    xs, ys = x if is_list(x) else None, y if is_list(y) else None
    if xs is not None and ys is not None and len(xs) != len(ys):
        raise QError("length")
    if (xs is not None or atom_t(x)) and (ys is not None or atom_t(y)):
        sx, sy = _stackable(x), _stackable(y)
        if (sx.__class__ is Nd or not isinstance(sx, List)) and (
            sy.__class__ is Nd or not isinstance(sy, List)
        ):
            r = plan_nd(sx, sy)
            if r is not None:
                return r
    if xs is None:
        return collapse([run(x, item) for item in seq_items(y)])
    if ys is None:
        return collapse([run(item, y) for item in xs.items])
    return collapse([run(a, item) for a, item in zip(xs.items, ys.items, strict=True)])


def _tables(run: Parts2, x: Value, y: Value, alone: Alone | None = None) -> Table:
    """A table with an atom, a list (one item per column) or a table: as dictionaries of columns, matched by name."""
    if x.__class__ is Table and y.__class__ is Table:
        if len(x) != len(y):
            raise QError("length")
        cols = {
            name: run(column, y.col(name))
            if y.has(name)
            else alone(column, True)
            if alone
            else column
            for name, column in zip(x.names, x.cols, strict=True)
        }
        for name, c in zip(y.names, y.cols, strict=True):
            if name not in cols:
                cols[name] = alone(c, False) if alone else c
        return Table(list(cols), list(cols.values()))
    if x.__class__ is Table:
        return Table(x.names, [run(c, o) for c, o in zip(x.cols, _cells(x, y), strict=True)])
    if y.__class__ is Table:
        return Table(y.names, [run(o, c) for c, o in zip(y.cols, _cells(y, x), strict=True)])
    raise QError("type")


def _cells(t: Table, x: Value) -> list[Value]:
    """The part of x for each column of a table: its items if it is a list, else x itself."""
    if not is_list(x):
        return [x] * len(t.names)
    if len(x) != len(t.names):
        raise QError("length")
    return x.items


def _dicts(run: Parts2, x: Value, y: Value, alone: Alone | None) -> Dict | Table:
    if x.__class__ is Dict and y.__class__ is Dict:
        return _two_dicts(run, x, y, alone)
    if x.__class__ is Dict:
        d, other = x, y
    elif y.__class__ is Dict:
        d, other = y, x
    else:
        raise QError("type")
    if other.__class__ is Table and not d.keyed:
        if d.k.__class__ is not Vec or d.k.t != T.S:
            raise QError("type")
        cells = collapse([index1(d, item) for item in sym_vec(other.names).items])
        return _tables(run, cells, y) if d is x else _tables(run, x, cells)
    on = _values_of(run, d, alone)
    return Dict(d.k, on(d.v, other) if d is x else on(other, d.v))


def _values_of(run: Parts2, d: Dict, alone: Alone | None) -> Parts2:
    """The verb on the values of a dictionary: those of a keyed table are a table, even if the verb rejects tables."""
    return (lambda a, b: _tables(run, a, b, alone)) if d.keyed else run


def _two_dicts(run: Parts2, x: Dict, y: Dict, alone: Alone | None) -> Dict:
    """The union of the keys; the verb runs where both have one."""
    on = _values_of(run, x, alone) if y.keyed else run
    if same_keys(x.k, y.k):
        return Dict(x.k, on(x.v, y.v))
    at = _find(x.k, y.k)
    count = len(x.k)
    hit = at < count
    if hit.all() and count == len(at) and np.array_equal(at, np.arange(count)):
        return Dict(x.k, on(x.v, y.v))
    new = np.flatnonzero(~hit)
    both = at[hit]
    alone_here = np.ones(count, np.bool_)
    alone_here[both] = False
    left = np.flatnonzero(alone_here)
    mine, theirs = take_at(x.v, left), take_at(y.v, new)
    if alone is not None:
        mine, theirs = (
            alone(v, side) if len(v) else v for v, side in ((mine, True), (theirs, False))
        )
    parts = [on(take_at(x.v, both), take_at(y.v, np.flatnonzero(hit))), mine, theirs]
    values = append([part for part in parts if len(part)] or parts[:1])
    place = np.empty(count + len(new), np.int64)  # the position of each key's value in `values`
    place[both] = np.arange(len(both))
    place[left] = len(both) + np.arange(len(left))
    place[count:] = count + np.arange(len(new))
    return Dict(append([x.k, take_at(y.k, new)]) if len(new) else x.k, take_at(values, place))


def same_keys(x: Value, y: Value) -> bool:
    """Are these the same few distinct keys in the same order? False may also mean that only a search could tell."""
    if (
        x.__class__ is not Vec
        or y.__class__ is not Vec
        or x.t != y.t
        or x.t not in _EXACT
        or x.dom != y.dom
    ):
        return False
    keys = x.a.tolist() if len(x.a) <= _FEW_KEYS else []
    return bool(keys) and (x is y or keys == y.a.tolist()) and len(set(keys)) == len(keys)


_FEW_KEYS = 64
_EXACT = frozenset(
    (T.B, T.X, T.H, T.I, T.J, T.C, T.S, T.P, T.M, T.D, T.N, T.U, T.V, T.T)
)  # compared without tolerance


def _find(keys: ListValue, wanted: ListValue) -> Array:
    position = find_at(keys, wanted)
    return (
        position
        if isinstance(position, np.ndarray)
        else np.array([find_at(keys, item) for item in wanted.items], np.int64)
    )


def append(parts: Sequence[ListValue]) -> ListValue:
    """Lists or tables concatenated: a vector if all are vectors of one type, else collapsed items."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if first.__class__ is Table:
        names = set(first.names)
        tables = [part for part in parts if part.__class__ is Table and set(part.names) == names]
        if len(tables) != len(parts):
            raise QError("mismatch")
        return Table(
            first.names, [append([part.col(name) for part in tables]) for name in first.names]
        )
    if first.__class__ is Vec:
        qtype, dom = first.t, first.dom
        arrays = [p.a for p in parts if p.__class__ is Vec and p.t == qtype and p.dom == dom]
        if len(arrays) == len(parts):
            return Vec(qtype, np.concatenate(arrays), "", dom)
    return collapse([item for part in parts for item in part.items])


def monad(name: str, planner: Callable[[int], Plan | None]) -> Verb1:
    """The atomic unary verb with the rule `planner`; None from the planner is 'type."""
    ATOMIC.add((name, 1))
    plans: dict[int, Plan] = {}

    def plan(t: int) -> Plan | None:
        found = planner(t)
        if found is not None:
            plans[t] = found
        return found

    def run(x: Value) -> Value:
        if x.__class__ is Vec or x.__class__ is Nd:
            p = plans.get(x.t) or plan(x.t)
            if p is not None:
                return x.__class__(p.t, p.fn(x.a))
        else:
            qtype = atom_t(x)
            if qtype:
                p = plans.get(qtype) or plan(qtype)
                if p is not None:
                    return atom(
                        p.t, p.one(raw(x)) if p.one is not None else p.fn(array1(x, qtype))[0]
                    )
        return _within(run, name, x)

    return run


def _within(run: Verb1, name: str, x: Value) -> Value:
    """Apply an atomic unary verb to the parts of a value that is neither an atom nor an array."""
    if isinstance(x, Handle):
        return x.monad(name)
    if _is_enum(x):
        return run(unenum(x))
    if x.__class__ is List:
        s = _stackable(x)
        return run(s) if s.__class__ is Nd else collapse([run(i) for i in x.items])
    each: Parts1 = run
    if x.__class__ is Dict:
        return Dict(x.k, each(x.v))
    if x.__class__ is Table:
        return Table(x.names, [each(col) for col in x.cols])
    raise QError("type")
