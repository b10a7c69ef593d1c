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
    NIL,
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
    of_nulls: bool | None = None,
) -> Verb2:
    """The atomic binary verb with the rule `planner`; None from the planner is 'type.

    `alone` computes the result for a key that only one of two dictionaries has (given the value, and whether it was on
    the left); by default the value itself. `of_nulls` is the result for two generic nulls, if there is one.
    """
    ATOMIC.add((name, 2))
    plans: dict[int, Plan] = {}

    def plan(tx: int, ty: int) -> Plan | None:
        rule = planner(tx, ty)
        if rule is not None:
            plans[tx << 5 | ty] = rule
        return rule

    def run(x: Value, y: Value) -> Value:
        if x.__class__ is Vec:
            qtype = x.t
            if y.__class__ is Vec:
                rule = plans.get(qtype << 5 | y.t) or plan(qtype, y.t)
                if rule is not None:
                    if len(x.a) != len(y.a):
                        raise QError("length")
                    if rule.bare is not None and len(x.a) > _LONG and whole(x) and whole(y):
                        return Vec(rule.t, rule.bare(x.a, y.a))
                    return Vec(rule.t, rule.fn(x.a, y.a))
            else:
                y_type = atom_t(y)
                if y_type:
                    rule = plans.get(qtype << 5 | y_type) or plan(qtype, y_type)
                    if rule is not None:
                        y_array = array1(y, y_type)
                        if (
                            rule.bare is not None
                            and len(x.a) > _LONG
                            and whole(x)
                            and y_array[0] != T.NULL[y_type]
                        ):
                            return Vec(rule.t, rule.bare(x.a, y_array))
                        return Vec(rule.t, rule.fn(x.a, y_array))
        else:
            qtype = atom_t(x)
            if qtype:
                if y.__class__ is Vec:
                    rule = plans.get(qtype << 5 | y.t) or plan(qtype, y.t)
                    if rule is not None:
                        x_array = array1(x, qtype)
                        if (
                            rule.bare is not None
                            and len(y.a) > _LONG
                            and whole(y)
                            and x_array[0] != T.NULL[qtype]
                        ):
                            return Vec(rule.t, rule.bare(x_array, y.a))
                        return Vec(rule.t, rule.fn(x_array, y.a))
                else:
                    y_type = atom_t(y)
                    if y_type:
                        rule = plans.get(qtype << 5 | y_type) or plan(qtype, y_type)
                        if rule is not None:
                            if rule.one is not None:
                                return atom(rule.t, rule.one(raw(x), raw(y)))
                            return atom(rule.t, rule.fn(array1(x, qtype), array1(y, y_type))[0])
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
        if of_nulls is not None and x is NIL and y is NIL:
            return of_nulls
        raise QError("type")

    def plan_nd(x: Value, y: Value) -> Value | None:
        """Rectangular nested lists in one numpy call, or None."""
        qtype = x.t if cls_array(x) else atom_t(x)
        y_type = y.t if cls_array(y) else atom_t(y)
        rule = (plans.get(qtype << 5 | y_type) or plan(qtype, y_type)) if qtype and y_type else None
        if rule is None:
            return None
        x_array = x.a if cls_array(x) else array1(x, qtype)
        y_array = y.a if cls_array(y) else array1(y, y_type)
        if cls_array(x) and cls_array(y):
            shared = min(x_array.ndim, y_array.ndim)
            if x_array.shape[:shared] != y_array.shape[:shared]:
                raise QError("length")
            x_array = x_array.reshape(x_array.shape + (1,) * (y_array.ndim - shared))
            y_array = y_array.reshape(y_array.shape + (1,) * (x_array.ndim - y_array.ndim))
        return Nd(rule.t, rule.fn(x_array, y_array))

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
    x_list, y_list = x if is_list(x) else None, y if is_list(y) else None
    if x_list is not None and y_list is not None and len(x_list) != len(y_list):
        raise QError("length")
    if (x_list is not None or atom_t(x)) and (y_list is not None or atom_t(y)):
        x_stacked, y_stacked = _stackable(x), _stackable(y)
        if (x_stacked.__class__ is Nd or not isinstance(x_stacked, List)) and (
            y_stacked.__class__ is Nd or not isinstance(y_stacked, List)
        ):
            result = plan_nd(x_stacked, y_stacked)
            if result is not None:
                return result
    if x_list is None:
        return collapse([run(x, item) for item in seq_items(y)])
    if y_list is None:
        return collapse([run(item, y) for item in x_list.items])
    return collapse(
        [run(x_item, item) for x_item, item in zip(x_list.items, y_list.items, strict=True)]
    )


def _tables(run: Parts2, x: Value, y: Value, alone: Alone | None = None) -> Table:
    """A table with an atom, a list (one item per column) or a table: as dictionaries of columns, matched by name."""
    if x.__class__ is Table and y.__class__ is Table:
        if len(x) != len(y):
            raise QError("length")
        columns = {
            name: run(column, y.col(name))
            if y.has(name)
            else alone(column, True)
            if alone
            else column
            for name, column in zip(x.names, x.cols, strict=True)
        }
        for name, c in zip(y.names, y.cols, strict=True):
            if name not in columns:
                columns[name] = alone(c, False) if alone else c
        return Table(list(columns), list(columns.values()))
    if x.__class__ is Table:
        return Table(x.names, [run(c, cell) for c, cell in zip(x.cols, _cells(x, y), strict=True)])
    if y.__class__ is Table:
        return Table(y.names, [run(cell, c) for c, cell in zip(y.cols, _cells(y, x), strict=True)])
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
        dictionary, operand = x, y
    elif y.__class__ is Dict:
        dictionary, operand = y, x
    else:
        raise QError("type")
    if operand.__class__ is Table and not dictionary.keyed:
        if dictionary.k.__class__ is not Vec or dictionary.k.t != T.S:
            raise QError("type")
        cells = collapse([index1(dictionary, item) for item in sym_vec(operand.names).items])
        return _tables(run, cells, y) if dictionary is x else _tables(run, x, cells)
    verb = _values_of(run, dictionary, alone)
    return Dict(
        dictionary.k,
        verb(dictionary.v, operand) if dictionary is x else verb(operand, dictionary.v),
    )


def _values_of(run: Parts2, d: Dict, alone: Alone | None) -> Parts2:
    """The verb on the values of a dictionary: those of a keyed table are a table, even if the verb rejects tables."""
    return (lambda a, b: _tables(run, a, b, alone)) if d.keyed else run


def _two_dicts(run: Parts2, x: Dict, y: Dict, alone: Alone | None) -> Dict:
    """The union of the keys; the verb runs where both have one."""
    verb = _values_of(run, x, alone) if y.keyed else run
    if same_keys(x.k, y.k):
        return Dict(x.k, verb(x.v, y.v))
    positions = _find(x.k, y.k)
    count = len(x.k)
    matched = positions < count
    if matched.all() and count == len(positions) and np.array_equal(positions, np.arange(count)):
        return Dict(x.k, verb(x.v, y.v))
    missing = np.flatnonzero(~matched)
    shared = positions[matched]
    unmatched = np.ones(count, np.bool_)
    unmatched[shared] = False
    remaining = np.flatnonzero(unmatched)
    x_alone, y_alone = take_at(x.v, remaining), take_at(y.v, missing)
    if alone is not None:
        x_alone, y_alone = (
            alone(items, side) if len(items) else items
            for items, side in ((x_alone, True), (y_alone, False))
        )
    parts = [verb(take_at(x.v, shared), take_at(y.v, np.flatnonzero(matched))), x_alone, y_alone]
    values = append([part for part in parts if len(part)] or parts[:1])
    order = np.empty(count + len(missing), np.int64)  # the position of each key's value in `values`
    order[shared] = np.arange(len(shared))
    order[remaining] = len(shared) + np.arange(len(remaining))
    order[count:] = count + np.arange(len(missing))
    return Dict(
        append([x.k, take_at(y.k, missing)]) if len(missing) else x.k, take_at(values, order)
    )


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
# compared without tolerance
_EXACT = frozenset((T.B, T.X, T.H, T.I, T.J, T.C, T.S, T.P, T.M, T.D, T.N, T.U, T.V, T.T))


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
        qtype, domain = first.t, first.dom
        arrays = [
            part.a
            for part in parts
            if part.__class__ is Vec and part.t == qtype and part.dom == domain
        ]
        if len(arrays) == len(parts):
            return Vec(qtype, np.concatenate(arrays), "", domain)
    return collapse([item for part in parts for item in part.items])


def monad(name: str, planner: Callable[[int], Plan | None]) -> Verb1:
    """The atomic unary verb with the rule `planner`; None from the planner is 'type."""
    ATOMIC.add((name, 1))
    plans: dict[int, Plan] = {}

    def plan(t: int) -> Plan | None:
        rule = planner(t)
        if rule is not None:
            plans[t] = rule
        return rule

    def run(x: Value) -> Value:
        if x.__class__ is Vec or x.__class__ is Nd:
            rule = plans.get(x.t) or plan(x.t)
            if rule is not None:
                return x.__class__(rule.t, rule.fn(x.a))
        else:
            qtype = atom_t(x)
            if qtype:
                rule = plans.get(qtype) or plan(qtype)
                if rule is not None:
                    return atom(
                        rule.t,
                        rule.one(raw(x)) if rule.one is not None else rule.fn(array1(x, qtype))[0],
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
        stacked = _stackable(x)
        return (
            run(stacked) if stacked.__class__ is Nd else collapse([run(item) for item in x.items])
        )
    each: Parts1 = run
    if x.__class__ is Dict:
        return Dict(x.k, each(x.v))
    if x.__class__ is Table:
        return Table(x.names, [each(column) for column in x.cols])
    raise QError("type")
