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
from kshell.lang.each.verb_at_once import FEW
from kshell.values.base.build import collapse
from kshell.values.base.core import HOLE, List, Nd, Table, Value, Vec
from kshell.values.base.functions import Comp, Lambda, Prim, Proj
from kshell.values.items.pick import take_at

_TRIED = 1024  # with more items, a few are tried first
_AT_ONCE = 1 << 18  # the largest list, in values, that is built at once
_TRIES = 3  # failures of a function before it is tried less and less often

_missed: dict[Any, _Missed] = {}  # failed callers of lambdas, by the ids of the lambdas' trees


def each(f: Value, x: Value) -> Value | None:
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
    if f.rank != 1 or len(f.args) + 1 - f.holes != f.f.rank:
        return None
    args = [x if arg is HOLE else arg for arg in f.args] + [x] * (1 - f.holes)
    if f.f.__class__ is Prim and f.f.name == "ssr" and args[0] is x:
        return text_at_once.replaced(*args)
    return together(f.f, args, [arg is HOLE for arg in f.args] + [True] * (1 - f.holes))


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
    count = len(args[0]) if many[0] else len(args[1])
    least = verb_at_once.FEW_ROWS if _is_product(f) else FEW
    if count < least or any(
        m and arg.__class__ is Table for arg, m in zip(args, many, strict=True)
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
    items = x.items
    if any([i.__class__ is not List or len(i) != f.rank for i in items]):
        return None
    args = [collapse(list(column)) for column in zip(*[i.items for i in items], strict=True)]
    return run(f, args, [True] * f.rank, FEW // 2)


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
    n = min(len(arg) for arg, m in zip(args, many, strict=True) if m)
    if n < (least or FEW) or any(
        arg.__class__ not in (Vec, List, Nd) for arg, m in zip(args, many, strict=True) if m
    ):
        return None
    trees = [f.tree]
    if not _worth(trees):
        return None
    try:
        if n > _TRIED:  # failing early is cheap
            few = np.arange(FEW)
            some = [take_at(arg, few) if m else arg for arg, m in zip(args, many, strict=True)]
            _run(f, some, many, FEW)
        found = _run(f, args, many, n)
        _missed.pop((id(f.tree),), None)
        return found
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


def _trees(f: Value) -> list[Any] | None:
    """The trees of the lambdas that a composition calls first; None if there are none, or if that is not possible."""
    out: list[Any] = []
    for g in f.fs:
        while g.__class__ is Proj:
            g = g.f
        if isinstance(g, Lambda):
            out.append(g.tree)
        elif g.__class__ is not Prim:
            return None
    return out or None


def _widest(f: Comp) -> int:
    """The length of the longest list among its captured values."""
    return max(
        [
            1,
            *(
                len(arg)
                for g in f.fs
                if g.__class__ is Proj
                for arg in g.args
                if arg.__class__ is Vec
            ),
        ]
    )


def composed(f: Comp, x: Value) -> Value | None:
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
        found = []
        for k in range(0, len(x), step):
            some = x if step >= len(x) else take_at(x, np.arange(k, min(k + step, len(x))))
            found.append(value_list(Batch(None, len(some), {}).call(f, [Many(some)]), len(some)))
        _missed.pop(tuple(map(id, trees)), None)
        return (
            found[0]
            if len(found) == 1
            else merged(
                [
                    (np.arange(k, k + len(v)), Many(v))
                    for k, v in zip(range(0, len(x), step), found, strict=True)
                ],
                len(x),
            )
        )
    except (No, Never, QError, RecursionError, MemoryError):
        _failed(trees)
    return None


def _run(f: Lambda, args: Sequence[Value], many: Sequence[bool], n: int) -> Value:
    env = {
        param: Many(arg) if m else arg
        for param, arg, m in zip(f.params or ("x",), args, many, strict=True)
    }
    found = Batch(f, n, env).body(f.tree.body)
    return Vec(found.t, found.a, "", found.dom) if found.__class__ is Vec and found.attr else found
