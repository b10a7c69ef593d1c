"""The maps each, each-left, each-right and each-prior, with shortcuts where numpy has a function; derived functions.

Specified by q's reference, "Maps".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

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
from kshell.values.base.core import HOLE, Dict, List, Nd, Table, Value, Vec, atom_t, seq_items
from kshell.values.base.functions import Derived, Function, Handle, Lambda, Lambda1, Prim, Proj
from kshell.values.base.match import match
from kshell.values.engine.apply import apply, apply1, project, pyfn, takes
from kshell.values.engine.dispatch import ATOMIC, same_keys
from kshell.values.items.index import find_at, index1
from kshell.values.items.pick import null_of

Fn = Callable[..., Value]


# ------------------------------------------------------------------ each


def each1(f: Value, x: Value) -> Value:
    """`f' x`, `f each x`: f on each item; the keys of dictionaries and keyed tables are kept. The item of a handle is
    its number, except for k-api functions, which get the handle."""
    cls = x.__class__
    if cls is Dict:
        return Dict(x.k, each1(f, x.v))
    if (
        cls is List
        and f.__class__ is Lambda1
        and x.flat is None
        and 0 < len(x.items) < lambda_at_once.FEW
        and not DEBUGGED[0]
    ):
        called = f.fn  # a shortcut for what follows: code that walks trees has lists of a few items
        return collapse([called(i) for i in x.items])
    if not is_collection(x):
        if isinstance(x, Handle) and getattr(getattr(f, "entry", None), "kind", "") != "api":
            return collapse([pyfn(f, 1)(x.number)])
        return apply1(f, x)
    if not len(x):
        return List([])
    if (cls is Vec or cls is Nd) and is_atomic(f, 1):
        if not DEBUGGED[0] or f.__class__ is Prim:
            return apply1(f, x)
        whole = applied(f, (x,))
        if whole is not None:
            return whole
    found = lambda_at_once.each(f, x)
    if found is not None:
        return found
    function = pyfn(f, 1)
    if DEBUGGED[0]:
        return collapse(one_by_one(function, zip(seq_items(x), strict=True)))
    return collapse([function(i) for i in seq_items(x)])


def each_parallel(f: Value, x: Value) -> Value:
    """`f': x`, `f peach x`: like each, with the items distributed over threads; a single item is evaluated here."""
    if x.__class__ is Dict:
        return Dict(x.k, each_parallel(f, x.v))
    n = peach.wanted(len(x)) if is_collection(x) else 0
    if not n or ((x.__class__ is Vec or x.__class__ is Nd) and is_atomic(f, 1)):
        return each1(f, x)
    return collapse(peach.share(pyfn(f, 1), seq_items(x), n))


def is_atomic(f: Value, n: int) -> bool:
    """Does f process lists of its n arguments item by item, so that it can be given whole vectors? True for atomic
    verbs, their projections on an atom, and lambdas of a single expression made of such verbs, numbers and parameters.
    """
    cls = f.__class__
    if cls is Prim:
        return (f.name, n) in ATOMIC
    if cls is Proj and f.f.__class__ is Prim:
        return (
            (f.f.name, len(f.args)) in ATOMIC
            and f.rank == n
            and all(arg is HOLE or atom_t(arg) for arg in f.args)
        )
    if not isinstance(f, Lambda) or f.rank != n or f.tree is None or len(f.tree.body) != 1:
        return False
    found = _ATOMIC.get(id(f.tree))
    if found is None or found[0] is not f.tree:
        if len(_ATOMIC) > 4096:
            _ATOMIC.clear()
        found = _ATOMIC[id(f.tree)] = (f.tree, atomic_expr(f.tree.body[0], f.params or ("x",)))
    return found[1]


_ATOMIC: dict[int, tuple[Any, bool]] = {}


def each2(f: Value, x: Value, y: Value) -> Value:
    """`x f' y`: f on corresponding items; an atom pairs with every item."""
    cx, cy = is_collection(x), is_collection(y)
    if not cx and not cy:
        return apply(f, (x, y))
    if x.__class__ is Dict or y.__class__ is Dict:
        return _each_dicts(f, (x, y))
    if is_case(f):
        return case(f, (x, y))
    count = len(x) if cx else len(y)
    if cx and cy and count != len(y):
        raise QError("length")
    if not count:
        return List([])
    if (
        (x.__class__ is Vec if cx else atom_t(x))
        and (y.__class__ is Vec if cy else atom_t(y))
        and is_atomic(f, 2)
    ):
        if not DEBUGGED[0] or f.__class__ is Prim:
            return apply(f, (x, y))
        whole = applied(f, (x, y))
        if whole is not None:
            return whole
    found = lambda_at_once.together(f, (x, y), (cx, cy))
    if found is not None:
        return found
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
        both = [seq_items(a) if many else [a] * count for a, many in ((x, cx), (y, cy))]
        return collapse(one_by_one(function, zip(*both, strict=True)))
    if not cy:
        return collapse([function(i, y) for i in seq_items(x)])
    if not cx:
        return collapse([function(x, i) for i in seq_items(y)])
    if x.__class__ is Table and y.__class__ is Table and name_of(f) == ",":
        cols = {
            **dict(zip(x.names, x.cols, strict=True)),
            **dict(zip(y.names, y.cols, strict=True)),
        }
        return Table(list(cols), list(cols.values()))
    return collapse([function(i, j) for i, j in zip(seq_items(x), seq_items(y), strict=True)])


def _each_dicts(f: Value, args: Sequence[Value]) -> Value:
    """Each with several arguments, some of them dictionaries: items with the same key are paired."""
    keys = next(arg.k for arg in args if arg.__class__ is Dict)
    for arg in args:
        if (
            arg.__class__ is Dict
            and arg.k is not keys
            and not same_keys(arg.k, keys)
            and not match(arg.k, keys)
        ):
            keys = lists.join(keys, index1(arg.k, _not_in(keys, arg.k)))
    cols = [_under(arg, keys) if arg.__class__ is Dict else arg for arg in args]
    return Dict(keys, each_n(f, cols))


def _under(d: Dict, keys: Value) -> Value:
    """The values of a dictionary for some keys."""
    return d.v if not d.keyed and same_keys(d.k, keys) else index1(d, keys)


def _not_in(keys: Value, more: Value) -> Value:
    return Vec(T.J, np.flatnonzero(find_at(keys, more) == len(keys)))


def each_n(f: Value, args: Sequence[Value]) -> Value:
    """`f'[x;y;z;...]` for any number of arguments."""
    if len(args) == 1:
        return each1(f, args[0])
    if len(args) == 2:
        return each2(f, args[0], args[1])
    if is_case(f):
        return case(f, args)
    if any(arg.__class__ is Dict for arg in args):
        return _each_dicts(f, args)
    sizes = {len(arg) for arg in args if is_collection(arg)}
    if len(sizes) > 1:
        raise QError("length")
    if not sizes:
        return apply(f, args)
    n = sizes.pop()
    found = lambda_at_once.together(f, args, [is_collection(arg) for arg in args])
    if found is not None:
        return found
    cols = [seq_items(arg) if is_collection(arg) else [arg] * n for arg in args]
    function = pyfn(f, len(args))
    if DEBUGGED[0]:
        return collapse(one_by_one(function, zip(*cols, strict=True)))
    return collapse([function(*row) for row in zip(*cols, strict=True)])


def is_case(f: Value) -> bool:
    """Is it a vector of integers, whose `'` picks each item from the argument with that number?"""
    return f.__class__ is Vec and f.t in (T.H, T.I, T.J)


def case(f: Vec, args: Sequence[Value]) -> Value:
    """`i'[a;b;...]`: item n comes from argument i[n]; atoms are repeated."""
    if f.a.size and not 0 <= f.a.min() <= f.a.max() < len(args):
        raise QError("index")
    cols = [seq_items(arg) if is_collection(arg) else arg for arg in args]
    count = len(f.a)
    for k in set(f.a.tolist()):
        if isinstance(cols[k], list) and len(cols[k]) != count:
            raise QError("length")
    picked = (cols[k] for k in f.a.tolist())
    return collapse([c[i] if isinstance(c, list) else c for i, c in enumerate(picked)])


def each_left(f: Value, x: Value, y: Value) -> Value:
    """`x f\\: y`: each item of x with the whole of y."""
    if not is_collection(x):
        return apply(f, (x, y))
    if x.__class__ is Dict:
        return Dict(x.k, each_left(f, x.v, y))
    found = lambda_at_once.together(f, (x, y), (True, False))
    if found is not None:
        return found
    function = pyfn(f, 2)
    if DEBUGGED[0]:
        return collapse(one_by_one(function, ((i, y) for i in seq_items(x))))
    return collapse([function(i, y) for i in seq_items(x)])


def each_right(f: Value, x: Value, y: Value) -> Value:
    """`x f/: y`: the whole of x with each item of y."""
    if not is_collection(y):
        return apply(f, (x, y))
    if y.__class__ is Dict:
        return Dict(y.k, each_right(f, x, y.v))
    if name_of(f) == "vs" and atom_t(x) in (T.B, T.X) and y.__class__ is Vec and len(y):
        return apply(f, (x, y))  # which processes a list item by item
    if name_of(f) == "vs" and atom_t(x) and y.__class__ is Vec:
        return each2(f, x, y)
    found = lambda_at_once.together(f, (x, y), (False, True))
    if found is not None:
        return found
    function = pyfn(f, 2)
    if DEBUGGED[0]:
        return collapse(one_by_one(function, ((x, i) for i in seq_items(y))))
    return collapse([function(x, i) for i in seq_items(y)])


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
    handle = isinstance(x, Handle) and x.folded
    if handle and name in _STEPS:
        return _STEPS[name](x)
    if not (handle or is_collection(x)) or not len(x):
        return x
    if x.__class__ is Dict:
        return Dict(x.k, prior1(f, x.v))
    if name == "-" and x.__class__ is Vec:
        return running.deltas(x)
    items = x.rows() if handle else seq_items(x)
    if not items:
        return x
    if name in (",", "&", "|", "and", "or"):
        first = items[0]
    else:
        before = _BEFORE.get(name)
        first = apply(f, (items[0], null_of(x) if before is None else before))
    return collapse([first, *_pairs(f, items)])


def _pairs(f: Value, items: list[Value]) -> list[Value]:
    function = pyfn(f, 2)
    if DEBUGGED[0]:
        return one_by_one(function, zip(items[1:], items, strict=False))
    return [function(b, item) for item, b in zip(items, items[1:], strict=False)]


def prior2(f: Value, x: Value, y: Value) -> Value:
    """`x f': y`: like `f': y`, with x before the first item."""
    if not is_collection(y):
        return apply(f, (y, x))
    if not len(y):
        return y
    if y.__class__ is Dict:
        return Dict(y.k, prior2(f, x, y.v))
    items = seq_items(y)
    first = apply(f, (items[0], x))
    return collapse([first, *_pairs(f, items)])


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
    count, g = len(args), d.glyph
    if count == 1:
        if g in ("/:", "\\:"):
            return _text(d, args[0])
        return _ONE[g](d.f, args[0])
    if count == 2:
        return _TWO[g](d.f, args[0], args[1])
    if g == "'":
        return each_n(d.f, args)
    if g == "/":
        return fold_n(d.f, args, None)
    if g == "\\":
        steps: list[Value] = []
        fold_n(d.f, args, steps)
        of = next((arg for arg in args[1:] if arg.__class__ is Dict), None)
        return collapse(steps) if of is None else Dict(of.k, collapse(steps))
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
