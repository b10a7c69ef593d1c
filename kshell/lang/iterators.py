"""The iterators: each, each-left, each-right, each-prior, over and scan, with rules for the cases numpy has a call for.

Source of behaviour: q's reference, "Maps" and "Accumulators".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.lang import batch, threads
from kshell.lang.scan import atomic_expr
from kshell.lang.stepwise import DEBUGGED, applied, one_by_one
from kshell.lang.truth import times, truth
from kshell.lang.verbs import encode, lists, running, stats
from kshell.lang.verbs.arith import add, mul
from kshell.registry import find
from kshell.values import types as T
from kshell.values.apply import apply, apply1, project, pyfn, takes
from kshell.values.build import collapse
from kshell.values.context import running as session
from kshell.values.core import HOLE, Dict, List, Nd, Sym, Table, Value, Vec, atom_t, seq_items
from kshell.values.dispatch import ATOMIC
from kshell.values.functions import Derived, Function, Handle, Lambda, Prim, Proj
from kshell.values.index import find_at, index1, null_of
from kshell.values.match import match

Fn = Callable[..., Value]


def is_collection(x: Value) -> bool:
    """Does x have items to iterate over? (A handle is an atom here, save for each with one argument.)"""
    return x.__class__ in (Vec, Dict, Table) or isinstance(x, List)


def name_of(f: Value) -> str:
    return f.name if f.__class__ is Prim else ""


# ------------------------------------------------------------------ each


def each1(f: Value, x: Value) -> Value:
    """`f' x`, `f each x`: f on each item; the keys of a dictionary and of a keyed table stay. The item of a handle is
    its number, but for functions of the k-api, which want the handle."""
    if not is_collection(x):
        if isinstance(x, Handle) and getattr(getattr(f, "entry", None), "kind", "") != "api":
            return collapse([pyfn(f, 1)(x.number)])
        return apply1(f, x)
    if x.__class__ is Dict:
        return Dict(x.k, each1(f, x.v))
    if not len(x):
        return List([])
    if (x.__class__ is Vec or x.__class__ is Nd) and is_atomic(f, 1):
        if not DEBUGGED[0] or f.__class__ is Prim:
            return apply1(f, x)
        whole = applied(f, (x,))
        if whole is not None:
            return whole
    found = batch.each(f, x)
    if found is not None:
        return found
    fn = pyfn(f, 1)
    if DEBUGGED[0]:
        return collapse(one_by_one(fn, zip(seq_items(x), strict=True)))
    return collapse([fn(i) for i in seq_items(x)])


def each_parallel(f: Value, x: Value) -> Value:
    """`f': x`, `f peach x`: as each, with the items dealt out to threads; a single item is computed here."""
    if x.__class__ is Dict:
        return Dict(x.k, each_parallel(f, x.v))
    n = threads.wanted(len(x)) if is_collection(x) else 0
    if not n or ((x.__class__ is Vec or x.__class__ is Nd) and is_atomic(f, 1)):
        return each1(f, x)
    return collapse(threads.share(pyfn(f, 1), seq_items(x), n))


def is_atomic(f: Value, n: int) -> bool:
    """Does f work through lists of its n arguments item by item, so that it may be given whole vectors at once? An
    atomic verb does, its projection on an atom, and a lambda of one expression of such verbs, numbers and parameters.
    """
    c = f.__class__
    if c is Prim:
        return (f.name, n) in ATOMIC
    if c is Proj and f.f.__class__ is Prim:
        return (f.f.name, len(f.args)) in ATOMIC and f.rank == n and all(a is HOLE or atom_t(a) for a in f.args)
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
    """`x f' y`: f on corresponding items; an atom goes with every item."""
    cx, cy = is_collection(x), is_collection(y)
    if not cx and not cy:
        return apply(f, (x, y))
    if x.__class__ is Dict or y.__class__ is Dict:
        return _each_dicts(f, (x, y))
    if is_case(f):
        return case(f, (x, y))
    n = len(x) if cx else len(y)
    if cx and cy and n != len(y):
        raise QError("length")
    if not n:
        return List([])
    if (x.__class__ is Vec if cx else atom_t(x)) and (y.__class__ is Vec if cy else atom_t(y)) and is_atomic(f, 2):
        if not DEBUGGED[0] or f.__class__ is Prim:
            return apply(f, (x, y))
        whole = applied(f, (x, y))
        if whole is not None:
            return whole
    found = batch.together(f, (x, y), (cx, cy))
    if found is not None:
        return found
    if name_of(f) == "vs" and x.__class__ is int and x > 1 and y.__class__ is Vec and y.t == T.J and y.a.min() >= 0:
        return encode.digits_each(x, y)
    fn = pyfn(f, 2)
    if DEBUGGED[0] and name_of(f) != ",":
        both = [seq_items(a) if many else [a] * n for a, many in ((x, cx), (y, cy))]
        return collapse(one_by_one(fn, zip(*both, strict=True)))
    if not cy:
        return collapse([fn(i, y) for i in seq_items(x)])
    if not cx:
        return collapse([fn(x, i) for i in seq_items(y)])
    if x.__class__ is Table and y.__class__ is Table and name_of(f) == ",":
        cols = {**dict(zip(x.names, x.cols, strict=True)), **dict(zip(y.names, y.cols, strict=True))}
        return Table(list(cols), list(cols.values()))
    return collapse([fn(i, j) for i, j in zip(seq_items(x), seq_items(y), strict=True)])


def _each_dicts(f: Value, args: Sequence[Value]) -> Value:
    """Each of several arguments, some of them dictionaries: the items under the same key."""
    keys = next(a.k for a in args if a.__class__ is Dict)
    for a in args:
        if a.__class__ is Dict and a.k is not keys and not match(a.k, keys):
            keys = lists.join(keys, index1(a.k, _not_in(keys, a.k)))
    cols = [index1(a, keys) if a.__class__ is Dict else a for a in args]
    return Dict(keys, each_n(f, cols))


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
    if any(a.__class__ is Dict for a in args):
        return _each_dicts(f, args)
    sizes = {len(a) for a in args if is_collection(a)}
    if len(sizes) > 1:
        raise QError("length")
    if not sizes:
        return apply(f, args)
    n = sizes.pop()
    found = batch.together(f, args, [is_collection(a) for a in args])
    if found is not None:
        return found
    cols = [seq_items(a) if is_collection(a) else [a] * n for a in args]
    fn = pyfn(f, len(args))
    if DEBUGGED[0]:
        return collapse(one_by_one(fn, zip(*cols, strict=True)))
    return collapse([fn(*row) for row in zip(*cols, strict=True)])


def is_case(f: Value) -> bool:
    """Is it a vector of integers, whose `'` picks each item from the argument of that number?"""
    return f.__class__ is Vec and f.t in (T.H, T.I, T.J)


def case(f: Vec, args: Sequence[Value]) -> Value:
    """`i'[a;b;...]`: item n is that of the argument i[n]; an atom stands for as many items as are needed."""
    if f.a.size and not 0 <= f.a.min() <= f.a.max() < len(args):
        raise QError("index")
    cols = [seq_items(a) if is_collection(a) else a for a in args]
    n = len(f.a)
    for k in set(f.a.tolist()):
        if isinstance(cols[k], list) and len(cols[k]) != n:
            raise QError("length")
    picked = (cols[k] for k in f.a.tolist())
    return collapse([c[i] if isinstance(c, list) else c for i, c in enumerate(picked)])


def each_left(f: Value, x: Value, y: Value) -> Value:
    """`x f\\: y`: each item of x with the whole of y."""
    if not is_collection(x):
        return apply(f, (x, y))
    if x.__class__ is Dict:
        return Dict(x.k, each_left(f, x.v, y))
    found = batch.together(f, (x, y), (True, False))
    if found is not None:
        return found
    fn = pyfn(f, 2)
    if DEBUGGED[0]:
        return collapse(one_by_one(fn, ((i, y) for i in seq_items(x))))
    return collapse([fn(i, y) for i in seq_items(x)])


def each_right(f: Value, x: Value, y: Value) -> Value:
    """`x f/: y`: the whole of x with each item of y."""
    if not is_collection(y):
        return apply(f, (x, y))
    if y.__class__ is Dict:
        return Dict(y.k, each_right(f, x, y.v))
    if name_of(f) == "vs" and atom_t(x) in (T.B, T.X) and y.__class__ is Vec and len(y):
        return apply(f, (x, y))  # which takes a list item by item
    if name_of(f) == "vs" and atom_t(x) and y.__class__ is Vec:
        return each2(f, x, y)
    found = batch.together(f, (x, y), (False, True))
    if found is not None:
        return found
    fn = pyfn(f, 2)
    if DEBUGGED[0]:
        return collapse(one_by_one(fn, ((x, i) for i in seq_items(y))))
    return collapse([fn(x, i) for i in seq_items(y)])


# ------------------------------------------------------------------ each-prior


# what goes before the first item: the identity of the operator, where that makes a difference to the item itself
_BEFORE: dict[str, Value] = {"-": 0, "+": 0, "*": 1, "%": 1}
# of a tensor, these are one call
_STEPS: dict[str, Fn] = {"-": running.deltas, "%": running.ratios}


def prior1(f: Value, x: Value) -> Value:
    """`f': x`: f between each item and the one before it; the first has the identity of f before it, else a null.

    A function of one argument is applied to each item, in threads.
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
    fn = pyfn(f, 2)
    if DEBUGGED[0]:
        return one_by_one(fn, zip(items[1:], items, strict=False))
    return [fn(b, a) for a, b in zip(items, items[1:], strict=False)]


def prior2(f: Value, x: Value, y: Value) -> Value:
    """`x f': y`: as `f': y`, with x before the first item."""
    if not is_collection(y):
        return apply(f, (y, x))
    if not len(y):
        return y
    if y.__class__ is Dict:
        return Dict(y.k, prior2(f, x, y.v))
    items = seq_items(y)
    first = apply(f, (items[0], x))
    return collapse([first, *_pairs(f, items)])


# ------------------------------------------------------------------ over and scan

_REDUCE: dict[str, Fn] = {"+": stats.sum_, "*": stats.prd, "|": stats.max_, "&": stats.min_, ",": lists.raze,
                          "or": stats.max_, "and": stats.min_}
_ACCUMULATE: dict[str, Fn] = {"+": running.sums, "*": running.prds, "|": running.maxs, "&": running.mins,
                              "or": running.maxs, "and": running.mins}


def over1(f: Value, x: Value) -> Value:
    """`f/ x`: with one argument, until it converges; with two, folds the list."""
    rank = rank_of(f)
    if rank == 1:
        return converge(f, x, None)
    if not is_collection(x) and not getattr(x, "folded", False):
        return x
    quick = _REDUCE.get(name_of(f))
    if isinstance(x, Handle) and quick is not None:
        return quick(x)
    if quick is not None and ((x.__class__ is Vec and x.t in T.NUMERIC and len(x)) or name_of(f) == ","):
        return quick(x)
    if x.__class__ is Dict:
        return over1(f, x.v)
    items = x.rows() if isinstance(x, Handle) else seq_items(x)
    if not items:
        return _identity(f, x)
    if rank > 2:
        raise QError("rank")
    fn = pyfn(f, 2)
    out = items[0]
    left = iter(items[1:])
    for i in left:
        out = fn(out, i)
    return out


def _identity(f: Value, x: Value) -> Value:
    """What folding an empty list gives: the identity of the operator, else an empty list."""
    name = name_of(f)
    if name in _REDUCE and name != ",":
        return _REDUCE[name](x)
    return List([])


def scan1(f: Value, x: Value) -> Value:
    """`f\\ x`: the steps of `f/ x`."""
    rank = rank_of(f)
    if rank == 1:
        out: list[Value] = []
        converge(f, x, out)
        return collapse(out)
    if not is_collection(x) and not getattr(x, "folded", False):
        return x
    quick = _ACCUMULATE.get(name_of(f))
    if isinstance(x, Handle) and quick is not None:
        return quick(x)
    if quick is not None and x.__class__ is Vec and x.t in T.NUMERIC:
        return quick(x)
    if x.__class__ is Dict:
        return Dict(x.k, scan1(f, x.v))
    items = x.rows() if isinstance(x, Handle) else seq_items(x)
    if not items:
        return List([])
    if rank > 2:
        raise QError("rank")
    fn = pyfn(f, 2)
    acc = items[0]
    if name_of(f) == "," and not is_collection(acc):
        acc = collapse([acc])  # () goes before it
    steps = [acc]
    left = iter(items[1:])
    for i in left:
        acc = fn(acc, i)
        steps.append(acc)
    return collapse(steps)


def rank_of(f: Value) -> int:
    """The number of arguments by which over and scan choose their form; of a list or dictionary, its depth, and the
    arguments of the functions in it."""
    if f.__class__ is Prim:
        return 2 if 2 in f.fns else 1 if -1 in f.fns else f.rank
    if isinstance(f, Function):
        return f.rank or 1  # of `f/`, which takes one argument or two, the form with one
    if f.__class__ is Sym:
        return rank_of(session().names.get(f.s))
    depth = 0
    while is_collection(f):
        depth += 1
        f = f.v if f.__class__ is Dict else f
        if f.__class__ is Vec or not len(f):
            break
        f = f.item(0)
    return depth + (f.rank or 1 if isinstance(f, Function) else 0) or 1


def converge(f: Value, x: Value, steps: list[Value] | None) -> Value:
    """f again and again until the result repeats, or is the first one again."""
    fn = pyfn(f, 1)
    first = x
    while True:
        if steps is not None:
            steps.append(x)
        y = fn(x)
        if _again(y, x) or _again(y, first):
            return x
        x = y


def _again(y: Value, x: Value) -> bool:
    """Is a result the same as another one? Each tensor is a new one, so they are asked."""
    return y.same(x) if isinstance(y, Handle) else match(y, x)


def over2(f: Value, x: Value, y: Value) -> Value:
    """`x f/ y`: x is how often, a condition, or the first left argument."""
    if is_weight(f):
        return weighed(f, x, y, None)
    if rank_of(f) == 1:
        return repeat(f, x, y, None)
    states = machine(f, x, y)
    if states is not None:
        return states[-1] if states else x
    fn = pyfn(f, 2)
    if not is_collection(y):
        return fn(x, y)
    left = iter(seq_items(y))
    for i in left:
        x = fn(x, i)
    return x


def machine(f: Value, x: Value, y: Value) -> list[int] | None:
    """The states of `x f\\ y` for f a matrix of longs, the transitions, and y a vector of longs or booleans; None if
    they are none, or if one step leads out of the matrix: that makes a null."""
    if x.__class__ is not int or y.__class__ is not Vec or y.t not in (T.B, T.J) or len(y) < 16:
        return None
    if not isinstance(f, List):
        return None
    rows = f.items if f.__class__ is Nd or len(f) < len(y) else []
    if not rows or any(r.__class__ is not Vec or r.t != T.J or not len(r) for r in rows):
        return None
    if x < 0 or y.a.min() < 0 or min(r.a.min() for r in rows) < 0:
        return None
    table = [r.a.tolist() for r in rows]
    out = []
    try:
        for i in y.a.astype(np.int64).tolist():
            x = table[x][i]
            out.append(x)
    except IndexError:
        return None
    return out


def is_weight(f: Value) -> bool:
    """Is it a float, or a vector of floats: in place of a function, what the last result is multiplied by?"""
    return f.__class__ is float or (f.__class__ is Vec and f.t == T.F)


def weighed(f: Value, x: Value, y: Value, steps: list[Value] | None) -> Value:
    """`x f/ y` for floats: y + x*f, each result the x of the next."""
    if not is_collection(y):
        return add(y, mul(x, f))
    if is_collection(f) and len(f) != len(y):
        raise QError("length")
    items = seq_items(y)
    for w, i in zip(seq_items(f) if is_collection(f) else [f] * len(items), items, strict=True):
        x = add(i, mul(x, w))
        if steps is not None:
            steps.append(x)
    return x


def scan2(f: Value, x: Value, y: Value) -> Value:
    """`x f\\ y`: the steps of `x f/ y`; for a fold, without x itself."""
    steps: list[Value] = []
    if is_weight(f):
        last = weighed(f, x, y, steps)
        return collapse(steps) if is_collection(y) else last
    if rank_of(f) == 1:
        repeat(f, x, y, steps)
        return collapse(steps)
    states = machine(f, x, y)
    if states is not None:
        return Vec(T.J, np.array(states, np.int64))
    fn = pyfn(f, 2)
    if not is_collection(y):
        return fn(x, y)
    out = []
    left = iter(seq_items(y))
    for i in left:
        x = fn(x, i)
        out.append(x)
    if y.__class__ is Dict:
        return Dict(y.k, collapse(out))
    return collapse(out)


def repeat(f: Value, x: Value, y: Value, steps: list[Value] | None) -> Value:
    """f on y x times, or as long as the condition x holds of it."""
    fn = pyfn(f, 1)
    if isinstance(x, Function) or is_collection(x) or x.__class__ is Sym:
        test = pyfn(x, 1)
        if steps is not None:
            steps.append(y)
        while truth(test(y)):
            y = fn(y)
            if steps is not None:
                steps.append(y)
        return y
    if steps is not None:
        steps.append(y)
    turns = iter(range(times(x)))
    for _ in turns:
        y = fn(y)
        if steps is not None:
            steps.append(y)
    return y


def fold_n(f: Value, args: Sequence[Value], steps: list[Value] | None) -> Value:
    """`f/[x;y;z;...]`: the first argument is the start, the others go item by item."""
    x, *rest = args
    rest = [a.v if a.__class__ is Dict else a for a in rest]
    sizes = {len(a) for a in rest if is_collection(a)}
    if len(sizes) > 1:
        raise QError("length")
    if not sizes:
        x = apply(f, args)
        if steps is not None:
            steps.append(x)
        return x
    n = sizes.pop()
    cols = [seq_items(a) if is_collection(a) else [a] * n for a in rest]
    fn = pyfn(f, len(args))
    left = zip(*cols, strict=True)
    for row in left:
        x = fn(x, *row)
        if steps is not None:
            steps.append(x)
    return x


# ------------------------------------------------------------------ derived functions

_ONE: dict[str, Fn] = {"'": each1, "/": over1, "\\": scan1, "':": prior1, "/:": each1, "\\:": each1}
_TWO: dict[str, Fn] = {"'": each2, "/": over2, "\\": scan2, "':": prior2, "/:": each_right, "\\:": each_left}


def _text(d: Derived, x: Value) -> Value:
    """`f/: x`, `f\\: x` of a list or atom f: joins strings, or takes a number apart, as sv and vs do."""
    if isinstance(d.f, Function):
        raise QError("rank")
    entry = find("verb", "sv" if d.glyph == "/:" else "vs")
    assert entry is not None
    return entry.fns[2](d.f, x)  # type: ignore[no-any-return]


def run(d: Derived, args: Sequence[Value]) -> Value:
    """Apply a derived function."""
    if HOLE in args:
        raise QError("rank")
    n, g = len(args), d.glyph
    if n == 1:
        if g in ("/:", "\\:"):
            return _text(d, args[0])
        return _ONE[g](d.f, args[0])
    if n == 2:
        return _TWO[g](d.f, args[0], args[1])
    if g == "'":
        return each_n(d.f, args)
    if g == "/":
        return fold_n(d.f, args, None)
    if g == "\\":
        steps: list[Value] = []
        fold_n(d.f, args, steps)
        of = next((a for a in args[1:] if a.__class__ is Dict), None)
        return collapse(steps) if of is None else Dict(of.k, collapse(steps))
    raise QError("rank")


Derived.run = staticmethod(run)


def _called(glyph: str, n: int, most: int) -> Fn:
    """The iterator as the compiler calls it, with n arguments. The derived function has the rank of f, for `/` and `\\`
    if that is above two; with fewer arguments than `most` and that rank allow it is projected."""
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
