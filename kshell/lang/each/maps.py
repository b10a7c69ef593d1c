"""The maps each, each-left, each-right and each-prior, with shortcuts where numpy has a function; derived functions.

Specified by q's reference, "Maps".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np

from kshell.errors import QError
from kshell.lang.compiler.stepwise import DEBUGGED, applied, one_by_one
from kshell.lang.compiler.tree_queries import atomic_expr
from kshell.lang.each import lambda_at_once, peach
from kshell.lang.each.accumulators import (
    fold_n,
    is_collection,
    name_of,
    over1,
    over2,
    rank_of,
    scan1,
    scan2,
)
from kshell.lang.verbs import encode, lists, running
from kshell.registry import find
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import (
    HOLE,
    Dict,
    List,
    ListValue,
    Nd,
    Table,
    Value,
    Vec,
    atom_t,
    seq_items,
)
from kshell.values.base.functions import Derived, Function, Handle, Lambda, Lambda1, Prim, Proj
from kshell.values.base.match import match
from kshell.values.base.narrow import list_value
from kshell.values.engine.apply import apply, apply1, project, pyfn, takes
from kshell.values.engine.dispatch import ATOMIC, same_keys
from kshell.values.items.index import find_at, index1
from kshell.values.items.pick import null_of

Fn = Callable[..., Value]


# ------------------------------------------------------------------ each


def each1(f: Value, x: Value) -> Value:
    """`f' x`, `f each x`: f on each item; the keys of dictionaries and keyed tables are kept. The item of a handle is
    its number, except for k-api functions, which get the handle."""
    if x.__class__ is Dict:
        return Dict(x.k, list_value(each1(f, x.v)))
    if (
        x.__class__ is List
        and f.__class__ is Lambda1
        and x.flat is None
        and 0 < len(x.items) < lambda_at_once.FEW
        and not DEBUGGED[0]
    ):
        called = f.fn  # a shortcut for what follows: code that walks trees has lists of a few items
        return collapse([called(item) for item in x.items])
    if not is_collection(x):
        if isinstance(x, Handle) and getattr(getattr(f, "entry", None), "kind", "") != "api":
            return collapse([pyfn(f, 1)(x.number)])
        return apply1(f, x)
    if not len(x):
        return List([])
    kind = x.__class__
    if (kind is Vec or kind is Nd) and is_atomic(f, 1):
        if not DEBUGGED[0] or f.__class__ is Prim:
            return apply1(f, x)
        vector_result = applied(f, (x,))
        if vector_result is not None:
            return vector_result
    results = lambda_at_once.each(f, x)
    if results is not None:
        return results
    function = pyfn(f, 1)
    if DEBUGGED[0]:
        return collapse(one_by_one(function, zip(seq_items(x), strict=True)))
    return collapse([function(item) for item in seq_items(x)])


def each_parallel(f: Value, x: Value) -> Value:
    """`f': x`, `f peach x`: like each, with the items distributed over threads; a single item is evaluated here."""
    if x.__class__ is Dict:
        return Dict(x.k, list_value(each_parallel(f, x.v)))
    threads = peach.wanted(len(x)) if is_collection(x) else 0
    if not threads or ((x.__class__ is Vec or x.__class__ is Nd) and is_atomic(f, 1)):
        return each1(f, x)
    return collapse(peach.share(pyfn(f, 1), seq_items(x), threads))


def is_atomic(f: Value, n: int) -> bool:
    """Does f process lists of its n arguments item by item, so that it can be given whole vectors? True for atomic
    verbs, their projections on an atom, and lambdas of a single expression made of such verbs, numbers and parameters.
    """
    if f.__class__ is Prim:
        return (f.name, n) in ATOMIC
    if f.__class__ is Proj and f.f.__class__ is Prim:
        return (
            (f.f.name, len(f.args)) in ATOMIC
            and f.rank == n
            and all(argument is HOLE or atom_t(argument) for argument in f.args)
        )
    if not isinstance(f, Lambda) or f.rank != n or f.tree is None or len(f.tree.body) != 1:
        return False
    entry = _ATOMIC.get(id(f.tree))
    if entry is None or entry[0] is not f.tree:
        if len(_ATOMIC) > 4096:
            _ATOMIC.clear()
        entry = _ATOMIC[id(f.tree)] = (f.tree, atomic_expr(f.tree.body[0], f.params or ("x",)))
    return entry[1]


_ATOMIC: dict[int, tuple[Any, bool]] = {}


def each2(f: Value, x: Value, y: Value) -> Value:
    """`x f' y`: f on corresponding items; an atom pairs with every item."""
    xn = len(x) if is_collection(x) else -1
    yn = len(y) if is_collection(y) else -1
    x_many, y_many = xn >= 0, yn >= 0
    if not x_many and not y_many:
        return apply(f, (x, y))
    if x.__class__ is Dict or y.__class__ is Dict:
        return _each_dicts(f, (x, y))
    if is_case(f):
        return case(f, (x, y))
    count = max(xn, yn)
    if x_many and y_many and xn != yn:
        raise QError("length")
    if not count:
        return List([])
    if (
        (x.__class__ is Vec if x_many else atom_t(x))
        and (y.__class__ is Vec if y_many else atom_t(y))
        and is_atomic(f, 2)
    ):
        if not DEBUGGED[0] or f.__class__ is Prim:
            return apply(f, (x, y))
        vector_result = applied(f, (x, y))
        if vector_result is not None:
            return vector_result
    results = lambda_at_once.together(f, (x, y), (x_many, y_many))
    if results is not None:
        return results
    if (
        name_of(f) == "vs"
        and x.__class__ is int
        and x > 1
        and y.__class__ is Vec
        and y.t == T.J
        and y.a.min() >= 0
    ):
        return encode.digits_each(x, y)
    function = pyfn(f, 2)
    if DEBUGGED[0] and name_of(f) != ",":
        operands = [seq_items(a) if many else [a] * count for a, many in ((x, x_many), (y, y_many))]
        return collapse(one_by_one(function, zip(*operands, strict=True)))
    if not y_many:
        return collapse([function(i, y) for i in seq_items(x)])
    if not x_many:
        return collapse([function(x, i) for i in seq_items(y)])
    if x.__class__ is Table and y.__class__ is Table and name_of(f) == ",":
        columns = {
            **dict(zip(x.names, x.cols, strict=True)),
            **dict(zip(y.names, y.cols, strict=True)),
        }
        return Table(list(columns), list(columns.values()))
    return collapse([function(i, j) for i, j in zip(seq_items(x), seq_items(y), strict=True)])


def _each_dicts(f: Value, args: Sequence[Value]) -> Value:
    """Each with several arguments, some of them dictionaries: items with the same key are paired."""
    keys: ListValue = next(argument.k for argument in args if argument.__class__ is Dict)
    for argument in args:
        if (
            argument.__class__ is Dict
            and argument.k is not keys
            and not same_keys(argument.k, keys)
            and not match(argument.k, keys)
        ):
            more = index1(argument.k, _not_in(keys, argument.k))
            keys = list_value(lists.join(keys, more))
    columns = [
        _under(argument, keys) if argument.__class__ is Dict else argument for argument in args
    ]
    return Dict(keys, list_value(each_n(f, columns)))


def _under(d: Dict, keys: ListValue) -> Value:
    """The values of a dictionary for some keys."""
    return d.v if not d.keyed and same_keys(d.k, keys) else index1(d, keys)


def _not_in(keys: ListValue, more: ListValue) -> Vec:
    return Vec(T.J, np.flatnonzero(find_at(keys, more) == len(keys)))


def each_n(f: Value, args: Sequence[Value]) -> Value:
    """`f'[x;y;z;...]` for any number of arguments."""
    if len(args) == 1:
        return each1(f, args[0])
    if len(args) == 2:
        return each2(f, args[0], args[1])
    if is_case(f):
        return case(f, args)
    if any(argument.__class__ is Dict for argument in args):
        return _each_dicts(f, args)
    sizes = {len(argument) for argument in args if is_collection(argument)}
    if len(sizes) > 1:
        raise QError("length")
    if not sizes:
        return apply(f, args)
    length = sizes.pop()
    results = lambda_at_once.together(f, args, [is_collection(argument) for argument in args])
    if results is not None:
        return results
    columns = [
        seq_items(argument) if is_collection(argument) else [argument] * length for argument in args
    ]
    function = pyfn(f, len(args))
    if DEBUGGED[0]:
        return collapse(one_by_one(function, zip(*columns, strict=True)))
    return collapse([function(*arguments) for arguments in zip(*columns, strict=True)])


def is_case(f: Value) -> TypeGuard[Vec]:
    """Is it a vector of integers, whose `'` picks each item from the argument with that number?"""
    return f.__class__ is Vec and f.t in (T.H, T.I, T.J)


def case(f: Vec, args: Sequence[Value]) -> Value:
    """`i'[a;b;...]`: item n comes from argument i[n]; atoms are repeated."""
    if f.a.size and not 0 <= f.a.min() <= f.a.max() < len(args):
        raise QError("index")
    columns = [seq_items(argument) if is_collection(argument) else argument for argument in args]
    count = len(f.a)
    for number in set(f.a.tolist()):
        if isinstance(columns[number], list) and len(columns[number]) != count:
            raise QError("length")
    picked = (columns[number] for number in f.a.tolist())
    return collapse(
        [
            column[position] if isinstance(column, list) else column
            for position, column in enumerate(picked)
        ]
    )


def each_left(f: Value, x: Value, y: Value) -> Value:
    """`x f\\: y`: each item of x with the whole of y."""
    if not is_collection(x):
        return apply(f, (x, y))
    if x.__class__ is Dict:
        return Dict(x.k, list_value(each_left(f, x.v, y)))
    results = lambda_at_once.together(f, (x, y), (True, False))
    if results is not None:
        return results
    function = pyfn(f, 2)
    if DEBUGGED[0]:
        return collapse(one_by_one(function, ((item, y) for item in seq_items(x))))
    return collapse([function(item, y) for item in seq_items(x)])


def each_right(f: Value, x: Value, y: Value) -> Value:
    """`x f/: y`: the whole of x with each item of y."""
    if not is_collection(y):
        return apply(f, (x, y))
    if y.__class__ is Dict:
        return Dict(y.k, list_value(each_right(f, x, y.v)))
    if name_of(f) == "vs" and atom_t(x) in (T.B, T.X) and y.__class__ is Vec and len(y):
        return apply(f, (x, y))  # which processes a list item by item
    if name_of(f) == "vs" and atom_t(x) and y.__class__ is Vec:
        return each2(f, x, y)
    results = lambda_at_once.together(f, (x, y), (False, True))
    if results is not None:
        return results
    function = pyfn(f, 2)
    if DEBUGGED[0]:
        return collapse(one_by_one(function, ((x, item) for item in seq_items(y))))
    return collapse([function(x, item) for item in seq_items(y)])


# ------------------------------------------------------------------ each-prior


# the predecessor of the first item: the operator's identity, where f of it differs from the item itself
_BEFORE: dict[str, Value] = {"-": 0, "+": 0, "*": 1, "%": 1}
# for a tensor, these are one call
_STEPS: dict[str, Fn] = {"-": running.deltas, "%": running.ratios}


def prior1(f: Value, x: Value) -> Value:
    """`f': x`: f of each item and its predecessor; the first is paired with f's identity, else with a null.

    A unary f is applied to each item, in threads.
    """
    if rank_of(f) == 1 and not is_collection(f):
        return each_parallel(f, x)
    name = name_of(f)
    if isinstance(x, Handle) and x.folded:
        if name in _STEPS:
            return _STEPS[name](x)
        items = x.rows() if len(x) else []
    elif not is_collection(x) or not len(x):
        return x
    elif x.__class__ is Dict:
        return Dict(x.k, list_value(prior1(f, x.v)))
    elif name == "-" and x.__class__ is Vec:
        return running.deltas(x)
    else:
        items = seq_items(x)
    if not items:
        return x
    if name in (",", "&", "|", "and", "or"):
        result = items[0]
    else:
        before = _BEFORE.get(name)
        result = apply(f, (items[0], null_of(x) if before is None else before))
    return collapse([result, *_pairs(f, items)])


def _pairs(f: Value, items: list[Value]) -> list[Value]:
    function = pyfn(f, 2)
    if DEBUGGED[0]:
        return one_by_one(function, zip(items[1:], items, strict=False))
    return [function(following, item) for item, following in zip(items, items[1:], strict=False)]


def prior2(f: Value, x: Value, y: Value) -> Value:
    """`x f': y`: like `f': y`, with x before the first item."""
    if not is_collection(y):
        return apply(f, (y, x))
    if not len(y):
        return y
    if y.__class__ is Dict:
        return Dict(y.k, list_value(prior2(f, x, y.v)))
    items = seq_items(y)
    result = apply(f, (items[0], x))
    return collapse([result, *_pairs(f, items)])


# ------------------------------------------------------------------ derived functions

_ONE: dict[str, Fn] = {"'": each1, "/": over1, "\\": scan1, "':": prior1, "/:": each1, "\\:": each1}
_TWO: dict[str, Fn] = {
    "'": each2,
    "/": over2,
    "\\": scan2,
    "':": prior2,
    "/:": each_right,
    "\\:": each_left,
}


def _text(d: Derived, x: Value) -> Value:
    """`f/: x`, `f\\: x` where f is a list or atom: joins strings or splits a number, as sv and vs do."""
    if isinstance(d.f, Function):
        raise QError("rank")
    entry = find("verb", "sv" if d.glyph == "/:" else "vs")
    assert entry is not None
    return entry.fns[2](d.f, x)


def run(d: Derived, args: Sequence[Value]) -> Value:
    """Apply a derived function."""
    if HOLE in args:
        raise QError("rank")
    count, glyph = len(args), d.glyph
    if count == 1:
        if glyph in ("/:", "\\:"):
            return _text(d, args[0])
        return _ONE[glyph](d.f, args[0])
    if count == 2:
        return _TWO[glyph](d.f, args[0], args[1])
    if glyph == "'":
        return each_n(d.f, args)
    if glyph == "/":
        return fold_n(d.f, args, None)
    if glyph == "\\":
        steps: list[Value] = []
        fold_n(d.f, args, steps)
        mapping = next((argument for argument in args[1:] if argument.__class__ is Dict), None)
        return collapse(steps) if mapping is None else Dict(mapping.k, collapse(steps))
    raise QError("rank")


Derived.run = staticmethod(run)


def _called(glyph: str, n: int, most: int) -> Fn:
    """The iterator as the compiler calls it, with n arguments. The derived function has the rank of f for `/` and `\\`
    if that is above two; with fewer arguments than `most` and that rank allow, the result is a projection."""
    run = (_ONE if n == 1 else _TWO)[glyph]

    def call1(f: Value, x: Value) -> Value:
        if isinstance(f, Function) and f.rank > most and not takes(f, 1):
            return project(Derived(glyph, f), (x,))
        return run(f, x)

    def call2(f: Value, x: Value, y: Value) -> Value:
        if isinstance(f, Function) and f.rank > most and not takes(f, 2):
            return project(Derived(glyph, f), (x, y))
        return run(f, x, y)

    return call1 if n == 1 else call2


CALLS = {
    "_each1": _called("'", 1, 1), "_each2": _called("'", 2, 2), "_over1": _called("/", 1, 2),
    "_over2": _called("/", 2, 2), "_scan1": _called("\\", 1, 2), "_scan2": _called("\\", 2, 2),
    "_prior1": prior1, "_prior2": prior2, "_left": each_left, "_right": each_right,
}  # fmt: skip
