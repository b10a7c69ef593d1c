"""Results of a vectorized lambda, one per item (lambda_at_once.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.lang.each.grouped import Dicts
from kshell.lang.tables.flat_items import part, rows
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import HOLE, List, ListValue, Value, Vec, atom_t, raw, seq_items
from kshell.values.base.functions import Function
from kshell.values.engine.apply import project
from kshell.values.items.pick import take_at


class Never(Exception):
    """The lambda contains something that cannot be vectorized."""


class No(Exception):
    """These items cannot be evaluated at once."""


class Many:
    """One result per item: a list, table, `Columns` or `Dicts`."""

    __slots__ = ("v",)

    def __init__(self, v: Any) -> None:
        self.v = v


class Columns:
    """`(a;b;c)` for every item, as the list of the results of a, b and c."""

    __slots__ = ("cols", "n")

    def __init__(self, cols: list[Any], n: int) -> None:
        self.cols, self.n = cols, n

    def columns(self) -> list[ListValue]:
        return [
            listed(column.v) if column.__class__ is Many else collapse([column] * self.n)
            for column in self.cols
        ]

    def rows(self) -> ListValue:
        return collapse(
            [collapse(list(fields)) for fields in zip(*map(seq_items, self.columns()), strict=True)]
        )


class Bound:
    """A projection with an argument that is many."""

    __slots__ = ("args", "f")

    def __init__(self, f: Any, args: list[Any]) -> None:
        self.f, self.args = f, args

    def fill(self, args: list[Any]) -> list[Any]:
        remaining = iter(args)
        return [
            *(next(remaining, HOLE) if argument is HOLE else argument for argument in self.args),
            *remaining,
        ]


def bound(f: Any, args: list[Any]) -> Any:
    """A projection."""
    if any(argument.__class__ in (Many, Bound) for argument in args) or f.__class__ is Bound:
        return Bound(f, args)
    return project(f, args)


def value_list(v: Any, n: int) -> ListValue:
    """A list of n results."""
    if v.__class__ is Bound or isinstance(v, Function):
        raise No
    return merged([(None, v)], n)


def listed(v: Any) -> ListValue:
    """The results as a list in which dictionaries do not form a table."""
    return List(v.items()) if v.__class__ is Dicts else v


def taken(v: Any, at: Any) -> Any:
    """A value at some of the items."""
    if v.__class__ is Bound:
        return Bound(taken(v.f, at), [taken(argument, at) for argument in v.args])
    if v.__class__ is not Many:
        return v
    if v.v.__class__ is Dicts:
        return Many(v.v.taken(at))
    if v.v.__class__ is Columns:
        return Many(Columns([taken(column, at) for column in v.v.cols], len(at)))
    return Many(take_at(v.v, at))


def merged(done: list[tuple[Any, Any]], n: int) -> ListValue:
    """The list of n results, merged from parts: (which items, their results)."""
    if len(done) == 1:
        result = done[0][1]
        if result.__class__ is not Many:
            return repeated(result, n)
        return (
            result.v.rows()
            if result.v.__class__ is Columns
            else collapse(result.v.items())
            if result.v.__class__ is Dicts
            else result.v
        )
    if any(result.__class__ is Bound or isinstance(result, Function) for _, result in done):
        raise No
    lists = [merged([(positions, result)], len(positions)) for positions, result in done]
    order = np.empty(n, np.int64)
    order[np.concatenate([positions for positions, _ in done])] = np.arange(n)
    vectors = [column for column in lists if column.__class__ is Vec and column.t != T.ENUM]
    if len(vectors) == len(lists) and len({vector.t for vector in vectors}) == 1:
        return Vec(vectors[0].t, np.concatenate([vector.a for vector in vectors])[order])
    layouts = [layout for result in lists if (layout := part(result)) is not None]
    if len(layouts) == len(lists) and all(
        part.m != -1 and part.t == layouts[0].t for part in layouts
    ):
        sizes = np.concatenate([part.sizes for part in layouts])
        array = np.concatenate([part.a for part in layouts])
        return take_at(rows(layouts[0].t, array, n, None, np.cumsum(sizes)), order)
    items = [item for column in lists for item in seq_items(column)]
    return collapse([items[position] for position in order.tolist()])


def repeated(v: Value, n: int) -> ListValue:
    qtype = atom_t(v)
    return (
        Vec(qtype, np.full(n, raw(v), T.DTYPE[qtype]))
        if qtype and qtype not in (T.G, T.ENUM)
        else collapse([v] * n)
    )
