"""The accumulators over and scan: folding, repetition and convergence, with shortcuts where numpy has a function.

Specified by q's reference, "Accumulators".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kshell.errors import QError
from kshell.lang.tables.condition import times, truth
from kshell.lang.verbs import lists, running, stats
from kshell.lang.verbs.arith import add, mul
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import Dict, List, ListValue, Nd, Table, Value, Vec, seq_items
from kshell.values.base.functions import Function, Handle, Prim
from kshell.values.base.match import match
from kshell.values.base.narrow import list_value
from kshell.values.base.symbols import Sym
from kshell.values.engine.apply import apply, pyfn
from kshell.values.session.context import running as session

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Fn = Callable[..., Value]


def is_collection(x: Value) -> TypeIs[ListValue | Dict]:
    """Does x have items to iterate over? (A handle counts as an atom here, except for unary each.)"""
    return x.__class__ in (Vec, Dict, Table) or isinstance(x, List)


def name_of(f: Value) -> str:
    return f.name if f.__class__ is Prim else ""


_REDUCE: dict[str, Fn] = {
    "+": stats.sum_,
    "*": stats.prd,
    "|": stats.max_,
    "&": stats.min_,
    ",": lists.raze,
    "or": stats.max_,
    "and": stats.min_,
}
_ACCUMULATE: dict[str, Fn] = {
    "+": running.sums,
    "*": running.prds,
    "|": running.maxs,
    "&": running.mins,
    "or": running.maxs,
    "and": running.mins,
}


def over1(f: Value, x: Value) -> Value:
    """`f/ x`: a unary f is repeated until it converges; a binary f folds the list."""
    rank = rank_of(f)
    if rank == 1:
        return converge(f, x, None)
    if not is_collection(x) and not getattr(x, "folded", False):
        return x
    quick = _REDUCE.get(name_of(f))
    if isinstance(x, Handle) and quick is not None:
        return quick(x)
    if quick is not None and (
        (x.__class__ is Vec and x.t in T.NUMERIC and len(x)) or name_of(f) == ","
    ):
        return quick(x)
    if x.__class__ is Dict:
        return over1(f, x.v)
    items = x.rows() if isinstance(x, Handle) else seq_items(x)
    if not items:
        return _identity(f, x)
    if rank > 2:
        raise QError("rank")
    function = pyfn(f, 2)
    result = items[0]
    remaining = iter(items[1:])
    for item in remaining:
        result = function(result, item)
    return result


def _identity(f: Value, x: Value) -> Value:
    """The result of folding an empty list: the operator's identity, else an empty list."""
    name = name_of(f)
    if name in _REDUCE and name != ",":
        return _REDUCE[name](x)
    return List([])


def scan1(f: Value, x: Value) -> Value:
    """`f\\ x`: the steps of `f/ x`."""
    rank = rank_of(f)
    if rank == 1:
        results: list[Value] = []
        converge(f, x, results)
        return collapse(results)
    if not is_collection(x) and not getattr(x, "folded", False):
        return x
    quick = _ACCUMULATE.get(name_of(f))
    if isinstance(x, Handle) and quick is not None:
        return quick(x)
    if quick is not None and x.__class__ is Vec and x.t in T.NUMERIC:
        return quick(x)
    if x.__class__ is Dict:
        return Dict(x.k, list_value(scan1(f, x.v)))
    items = x.rows() if isinstance(x, Handle) else seq_items(x)
    if not items:
        return List([])
    if rank > 2:
        raise QError("rank")
    function = pyfn(f, 2)
    result = items[0]
    if name_of(f) == "," and not is_collection(result):
        result = collapse([result])  # () comes before it
    steps = [result]
    remaining = iter(items[1:])
    for item in remaining:
        result = function(result, item)
        steps.append(result)
    return collapse(steps)


def rank_of(f: Value) -> int:
    """The number of arguments by which over and scan choose their form; for a list or dictionary, its depth plus the
    arguments of the functions in it."""
    if f.__class__ is Prim:
        return 2 if 2 in f.fns else 1 if -1 in f.fns else f.rank
    if isinstance(f, Function):
        return f.rank or 1  # for `f/`, which takes one or two arguments, the unary form
    if f.__class__ is Sym:
        return rank_of(session().names.get(f.s))
    depth = 0
    while is_collection(f):
        depth += 1
        items = f.v if isinstance(f, Dict) else f
        if items.__class__ is Vec or not len(items):
            break
        f = items.item(0)
    return depth + (f.rank or 1 if isinstance(f, Function) else 0) or 1


def converge(f: Value, x: Value, steps: list[Value] | None) -> Value:
    """Repeat f until the result repeats, or returns to the first one."""
    function = pyfn(f, 1)
    start = x
    while True:
        if steps is not None:
            steps.append(x)
        y = function(x)
        if _again(y, x) or _again(y, start):
            return x
        x = y


def _again(y: Value, x: Value) -> bool:
    """Are two results the same? Each tensor is a new object, so tensors are compared by value."""
    return y.same(x) if isinstance(y, Handle) else match(y, x)


def over2(f: Value, x: Value, y: Value) -> Value:
    """`x f/ y`: x is a count, a condition, or the initial left argument."""
    if is_weight(f):
        return weighed(f, x, y, None)
    if rank_of(f) == 1:
        return repeat(f, x, y, None)
    states = machine(f, x, y)
    if states is not None:
        return states[-1] if states else x
    function = pyfn(f, 2)
    items = gone_through(y)
    if items is None:
        return function(x, y)
    remaining = iter(items)
    for item in remaining:
        x = function(x, item)
    return x


def gone_through(y: Value) -> Sequence[Value] | None:
    """The items a fold runs over: those of a list, the rows of a tensor handle; None for an atom."""
    if isinstance(y, Handle):
        return y.rows() if y.folded else None
    return seq_items(y) if is_collection(y) else None


def machine(f: Value, x: Value, y: Value) -> list[int] | None:
    """The states of `x f\\ y` where f is a matrix of longs (the transitions) and y a vector of longs or booleans; None
    if they are not, or if a step leads outside the matrix, which gives a null."""
    if x.__class__ is not int or y.__class__ is not Vec or y.t not in (T.B, T.J) or len(y) < 16:
        return None
    if not isinstance(f, List):
        return None
    items = f.items if f.__class__ is Nd or len(f) < len(y) else []
    rows = [row for row in items if row.__class__ is Vec and row.t == T.J and len(row)]
    if not rows or len(rows) < len(items):
        return None
    if x < 0 or y.a.min() < 0 or min(row.a.min() for row in rows) < 0:
        return None
    table = [row.a.tolist() for row in rows]
    state, states = x, []
    try:
        for item in y.a.astype(np.int64).tolist():
            state = table[state][item]
            states.append(state)
    except IndexError:
        return None
    return states


def is_weight(f: Value) -> bool:
    """Is it a float or a vector of floats, used instead of a function to multiply the previous result?"""
    return f.__class__ is float or (f.__class__ is Vec and f.t == T.F)


def weighed(f: Value, x: Value, y: Value, steps: list[Value] | None) -> Value:
    """`x f/ y` for floats: y + x*f, where each result is the next x."""
    items = gone_through(y)
    if items is None:
        return add(y, mul(x, f))
    if is_collection(f) and len(f) != len(items):
        raise QError("length")
    for weight, addend in zip(
        seq_items(f) if is_collection(f) else [f] * len(items), items, strict=True
    ):
        x = add(addend, mul(x, weight))
        if steps is not None:
            steps.append(x)
    return x


def scan2(f: Value, x: Value, y: Value) -> Value:
    """`x f\\ y`: the steps of `x f/ y`; for a fold, without x itself."""
    steps: list[Value] = []
    if is_weight(f):
        result = weighed(f, x, y, steps)
        return result if gone_through(y) is None else collapse(steps)
    if rank_of(f) == 1:
        repeat(f, x, y, steps)
        return collapse(steps)
    states = machine(f, x, y)
    if states is not None:
        return Vec(T.J, np.array(states, np.int64))
    function = pyfn(f, 2)
    items = gone_through(y)
    if items is None:
        return function(x, y)
    results = []
    remaining = iter(items)
    for item in remaining:
        x = function(x, item)
        results.append(x)
    if y.__class__ is Dict:
        return Dict(y.k, collapse(results))
    return collapse(results)


def repeat(f: Value, x: Value, y: Value, steps: list[Value] | None) -> Value:
    """Apply f to y x times, or while the condition x holds."""
    function = pyfn(f, 1)
    if isinstance(x, Function) or is_collection(x) or x.__class__ is Sym:
        test = pyfn(x, 1)
        if steps is not None:
            steps.append(y)
        while truth(test(y)):
            y = function(y)
            if steps is not None:
                steps.append(y)
        return y
    if steps is not None:
        steps.append(y)
    turns = iter(range(times(x)))
    for _ in turns:
        y = function(y)
        if steps is not None:
            steps.append(y)
    return y


def fold_n(f: Value, args: Sequence[Value], steps: list[Value] | None) -> Value:
    """`f/[x;y;z;...]`: the first argument is the initial value, the others are iterated together."""
    result, *others = args
    others = [argument.v if argument.__class__ is Dict else argument for argument in others]
    sequences = [gone_through(argument) for argument in others]
    sizes = {len(sequence) for sequence in sequences if sequence is not None}
    if len(sizes) > 1:
        raise QError("length")
    if not sizes:
        result = apply(f, args)
        if steps is not None:
            steps.append(result)
        return result
    length = sizes.pop()
    columns = [
        [argument] * length if sequence is None else sequence
        for argument, sequence in zip(others, sequences, strict=True)
    ]
    function = pyfn(f, len(args))
    remaining = zip(*columns, strict=True)
    for arguments in remaining:
        result = function(result, *arguments)
        if steps is not None:
            steps.append(result)
    return result
