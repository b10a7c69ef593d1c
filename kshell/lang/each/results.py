"""Results of a vectorized lambda, one per item (lambda_at_once.py)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.lang.each.grouped import Dicts
from kshell.lang.tables.flat_items import part, rows
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import HOLE, List, Value, Vec, atom_t, raw, seq_items
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

    def columns(self) -> list[Value]:
        return [
            listed(column.v) if column.__class__ is Many else collapse([column] * self.n)
            for column in self.cols
        ]

    def rows(self) -> Value:
        return collapse(
            [collapse(list(r)) for r in zip(*map(seq_items, self.columns()), strict=True)]
        )


class Bound:
    """A projection with an argument that is many."""

    __slots__ = ("args", "f")

    def __init__(self, f: Any, args: list[Any]) -> None:
        self.f, self.args = f, args

    def fill(self, args: list[Any]) -> list[Any]:
        rest = iter(args)
        return [*(next(rest, HOLE) if arg is HOLE else arg for arg in self.args), *rest]


def bound(f: Any, args: list[Any]) -> Any:
    """A projection."""
    if any(arg.__class__ in (Many, Bound) for arg in args) or f.__class__ is Bound:
        return Bound(f, args)
    return project(f, args)


def value_list(v: Any, n: int) -> Value:
    """A list of n results."""
    if v.__class__ is Bound or isinstance(v, Function):
        raise No
    return merged([(None, v)], n)


def listed(v: Any) -> Value:
    """The results as a list in which dictionaries do not form a table."""
    return List(v.items()) if v.__class__ is Dicts else v


def taken(v: Any, at: Any) -> Any:
    """A value at some of the items."""
    if v.__class__ is Bound:
        return Bound(taken(v.f, at), [taken(arg, at) for arg in v.args])
    if v.__class__ is not Many:
        return v
    if v.v.__class__ is Dicts:
        return Many(v.v.taken(at))
    if v.v.__class__ is Columns:
        return Many(Columns([taken(column, at) for column in v.v.cols], len(at)))
    return Many(take_at(v.v, at))


def merged(done: list[tuple[Any, Any]], n: int) -> Value:
    """The list of n results, merged from parts: (which items, their results)."""
    if len(done) == 1:
        v = done[0][1]
        if v.__class__ is not Many:
            return repeated(v, n)
        return (
            v.v.rows()
            if v.v.__class__ is Columns
            else collapse(v.v.items())
            if v.v.__class__ is Dicts
            else v.v
        )
    if any(v.__class__ is Bound or isinstance(v, Function) for _, v in done):
        raise No
    lists = [merged([(at, v)], len(at)) for at, v in done]
    back = np.empty(n, np.int64)
    back[np.concatenate([at for at, _ in done])] = np.arange(n)
    first = lists[0]
    if all(inner.__class__ is Vec and inner.t == first.t and inner.t != T.ENUM for inner in lists):
        return Vec(first.t, np.concatenate([inner.a for inner in lists])[back])
    parts = [p for v in lists if (p := part(v)) is not None]
    if len(parts) == len(lists) and all(part.m != -1 and part.t == parts[0].t for part in parts):
        sizes = np.concatenate([part.sizes for part in parts])
        array = np.concatenate([part.a for part in parts])
        return take_at(rows(parts[0].t, array, n, None, np.cumsum(sizes)), back)
    items = [i for inner in lists for i in seq_items(inner)]
    return collapse([items[k] for k in back.tolist()])


def repeated(v: Value, n: int) -> Value:
    qtype = atom_t(v)
    return (
        Vec(qtype, np.full(n, raw(v), T.DTYPE[qtype]))
        if qtype and qtype not in (T.G, T.ENUM)
        else collapse([v] * n)
    )
