"""Vectorized each for small lambdas: every expression is evaluated once, for all items, instead of once per item.

`{2*1+count x} each l` is `2*1+count each l`: a lambda of pure verbs is evaluated verb by verb on lists that have one
value per item (verb_at_once.py); conditions split the items. If a verb has no vectorized version, or anything fails,
the result is None and the items are evaluated one by one: pure code can safely be restarted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.lang.each import text_at_once, verb_at_once
from kshell.lang.each.lambda_batch import IMPOSSIBLE, KEPT, Batch, give_up
from kshell.lang.each.results import Many, Never, No, merged, value_list
from kshell.lang.each.verb_at_once import FEW, length
from kshell.values.base.build import collapse
from kshell.values.base.core import HOLE, Dict, List, ListValue, Nd, Table, Value, Vec
from kshell.values.base.functions import Comp, Function, Lambda, Prim, Proj
from kshell.values.base.narrow import list_value
from kshell.values.items.pick import take_at

_TRIED = 1024  # with more items, a few are tried first
_AT_ONCE = 1 << 18  # the largest list, in values, that is built at once
_TRIES = 3  # failures of a function before it is tried less and less often

_missed: dict[Any, _Missed] = {}  # failed callers of lambdas, by the ids of the lambdas' trees


def each(f: Value, x: ListValue | Dict) -> Value | None:
    """`f each x` vectorized over all items, or None if that is not possible."""
    if x.__class__ is Table or len(x) < (
        verb_at_once.FEW_ROWS
        if f.__class__ is Proj and _is_product(f.f)
        else FEW // 16
        if f.__class__ is Comp
        else FEW
    ):
        return None
    if f.__class__ is Prim:
        return verb_at_once.monad(f.name, x) if verb_at_once.has(f.name, 1) else None
    if f.__class__ is not Proj:
        return composed(f, x) if f.__class__ is Comp else run(f, (x,), (True,))
    inner = f.f
    if not isinstance(inner, Function) or f.rank != 1:
        return None
    if len(f.args) + 1 - f.holes != inner.rank:
        return None
    arguments = [x if argument is HOLE else argument for argument in f.args] + [x] * (1 - f.holes)
    if inner.__class__ is Prim and inner.name == "ssr" and arguments[0] is x:
        return text_at_once.replaced(*arguments)
    return together(
        inner, arguments, [argument is HOLE for argument in f.args] + [True] * (1 - f.holes)
    )


def _is_product(f: Value) -> bool:
    """Is it the matrix product, where a call costs more than multiplying a row?"""
    return f.__class__ is Prim and f.name in ("$", "mmu")


def together(f: Value, args: Sequence[Value], many: Sequence[bool]) -> Value | None:
    """f on corresponding items of the arguments that are many, with the others as they are; None if it cannot be
    vectorized."""
    if isinstance(f, Lambda):
        return run(f, args, many)
    if f.__class__ is not Prim or len(args) != 2:
        return None
    if f.name == "." and isinstance(args[0], Lambda) and not many[0]:
        return _spelled(args[0], args[1])
    if not verb_at_once.has(f.name, 2):
        return None
    count = length(args[0] if many[0] else args[1])
    least = verb_at_once.FEW_ROWS if _is_product(f) else FEW
    if count < least or any(
        flag and argument.__class__ is Table for argument, flag in zip(args, many, strict=True)
    ):
        return None
    return verb_at_once.dyad(f.name, args[0], many[0], args[1], many[1])


def _spelled(f: Lambda, x: Value) -> Value | None:
    """`f ./: x`, where each item of x is a full argument list."""
    if (
        x.__class__ is not List
        or len(x) < FEW // 2
        or f.rank < 2
        or f.tree is None
        or id(f.tree) in IMPOSSIBLE
    ):
        return None
    items = [item for item in x.items if item.__class__ is List and len(item) == f.rank]
    if len(items) < len(x):
        return None
    arguments = [
        collapse(list(column)) for column in zip(*[item.items for item in items], strict=True)
    ]
    return run(f, arguments, [True] * f.rank, FEW // 2)


def run(f: Value, args: Sequence[Value], many: Sequence[bool], least: int = 0) -> Value | None:
    """f on corresponding items of the arguments that are many, with the others as they are; None unless it is a lambda
    that can be vectorized."""
    if (
        not isinstance(f, Lambda)
        or f.tree is None
        or f.rank != len(args)
        or id(f.tree) in IMPOSSIBLE
    ):
        return None
    count = min(length(arg) for arg, flag in zip(args, many, strict=True) if flag)
    if count < (least or FEW) or any(
        arg.__class__ not in (Vec, List, Nd) for arg, flag in zip(args, many, strict=True) if flag
    ):
        return None
    trees = [f.tree]
    if not _worth(trees):
        return None
    try:
        if count > _TRIED:  # failing early is cheap
            rows = np.arange(FEW)
            sample = [
                take_at(list_value(arg), rows) if flag else arg
                for arg, flag in zip(args, many, strict=True)
            ]
            _run(f, sample, many, FEW)
        results = _run(f, args, many, count)
        _missed.pop((id(f.tree),), None)
        return results
    except Never:
        give_up(f.tree)
    except (No, QError, RecursionError, MemoryError):
        _failed(trees)  # evaluation item by item raises the error again, in order
    return None


def _worth(trees: list[Any]) -> bool:
    """May something that failed before be tried again?"""
    missed = _missed.get(tuple(map(id, trees)))
    if missed is None or missed.fails < _TRIES:
        return True
    missed.left -= 1
    return missed.left < 0


class _Missed:
    """How often the code with these trees has failed, and how often it is skipped from now on."""

    __slots__ = ("fails", "left", "trees")

    def __init__(self, trees: list[Any]) -> None:
        self.trees, self.fails, self.left = trees, 0, 0


def _failed(trees: list[Any]) -> None:
    if len(_missed) > KEPT:
        _missed.clear()
    missed = _missed.setdefault(tuple(map(id, trees)), _Missed(trees))
    missed.fails = min(missed.fails + 1, 8)
    missed.left = 1 << missed.fails


def _trees(f: Comp) -> list[Any] | None:
    """The trees of the lambdas that a composition calls first; None if there are none, or if that is not possible."""
    trees: list[Any] = []
    for function in f.fs:
        while function.__class__ is Proj:
            function = function.f
        if isinstance(function, Lambda):
            trees.append(function.tree)
        elif function.__class__ is not Prim:
            return None
    return trees or None


def _widest(f: Comp) -> int:
    """The length of the longest list among its captured values."""
    return max(
        [
            1,
            *(
                len(arg)
                for function in f.fs
                if function.__class__ is Proj
                for arg in function.args
                if arg.__class__ is Vec
            ),
        ]
    )


def composed(f: Comp, x: ListValue | Dict) -> Value | None:
    """A composition that calls a lambda, applied to each item of x."""
    trees = _trees(f)
    if (
        trees is None
        or x.__class__ not in (Vec, List, Nd)
        or any(tree is None or id(tree) in IMPOSSIBLE for tree in trees)
    ):
        return None
    if not _worth(trees):
        return None
    try:
        step = max(FEW, _AT_ONCE // _widest(f))
        lists = []
        for k in range(0, len(x), step):
            rows = x if step >= len(x) else take_at(x, np.arange(k, min(k + step, len(x))))
            lists.append(value_list(Batch(None, len(rows), {}).call(f, [Many(rows)]), len(rows)))
        _missed.pop(tuple(map(id, trees)), None)
        return (
            lists[0]
            if len(lists) == 1
            else merged(
                [
                    (np.arange(k, k + len(values)), Many(values))
                    for k, values in zip(range(0, len(x), step), lists, strict=True)
                ],
                len(x),
            )
        )
    except (No, Never, QError, RecursionError, MemoryError):
        _failed(trees)
    return None


def _run(f: Lambda, args: Sequence[Value], many: Sequence[bool], n: int) -> Value:
    variables = {
        param: Many(argument) if flag else argument
        for param, argument, flag in zip(f.params or ("x",), args, many, strict=True)
    }
    results = Batch(f, n, variables).body(f.tree.body)
    return (
        Vec(results.t, results.a, "", results.dom)
        if results.__class__ is Vec and results.attr
        else results
    )
