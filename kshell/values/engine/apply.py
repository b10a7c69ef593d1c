"""Application: `f x`, `f[x;y]`, with projection for too few arguments and 'rank for too many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kshell import registry
from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.core import HOLE, NIL, Atom, Dict, List, Nd, Table, Value, Vec, raw
from kshell.values.base.describe import implicit, listed, rank_hint, short
from kshell.values.base.functions import (
    APPLY,
    Derived,
    Function,
    Handle,
    Lambda,
    Lambda1,
    Lambda2,
    Prim,
    Proj,
    PyCall,
    PyFunction,
)
from kshell.values.base.primitives import spelled
from kshell.values.base.symbols import Sym
from kshell.values.items.index import index, index1, index2
from kshell.values.session.context import running


def apply1(f: Any, x: Value) -> Value:
    """`f x`: one argument."""
    cls = f.__class__
    if cls is Lambda1:
        return f.fn(x)
    if cls is Vec:
        if x.__class__ is int and 0 <= x < len(f.a):
            return f.item(x)
        return index1(f, x)
    if cls is Dict or cls is List or cls is Nd or cls is Table:
        return index1(f, x)
    if cls is Prim:
        function = f.fns.get(1) or f.fns.get(-1)
        if function is not None:
            return function(x)
    if cls is PyFunction or cls is PyCall:
        return f.call1(x)
    return apply(f, (x,))


def apply2(f: Any, x: Value, y: Value) -> Value:
    """`f[x;y]`: two arguments."""
    cls = f.__class__
    if cls is PyFunction:
        return f.call2(x, y)
    if x is not HOLE and y is not HOLE:
        if cls is Lambda2:
            return f.fn(x, y)
        if cls is Nd or cls is List or cls is Table or cls is Dict:
            return index2(f, x, y)
        if cls is Prim and 2 in f.fns:
            return f.fns[2](x, y)
    return apply(f, (x, y))


# a request to the process that a name is the address of: lang/verbs/connect.py
ONE_SHOT = registry.Hook()


@APPLY.set
def apply(f: Value, args: Sequence[Value]) -> Value:
    """`f[args]` for any value f. Without arguments, :: is passed as the only one."""
    if not args:
        args = (NIL,)
    if isinstance(f, Function):
        count = len(args)
        for argument in args:
            if argument is HOLE:
                return project(f, args)
        if f.__class__ is Prim:
            function = f.fns.get(count) or f.fns.get(-1)
            if function is not None:
                return function(*args)
            if count > 1 and (derived := spelled(f.name)) is not None:  # `sums[x;y]` is x+\\y
                return derived.call(args)
        rank = f.rank
        if rank == 0 or count == rank:
            return f.call(args)
        if count < rank:
            if count == 1 and args[0] is NIL and isinstance(f, Lambda):
                _warn_of_projection(f)
            return project(f, args)
        if isinstance(f, Lambda) and not f.params and count == 1:
            return f.call(args)
        if f.__class__ is Derived and takes(f, count):
            return f.call(args)
        raise QError("rank", hint=rank_hint(f, count))
    if f.__class__ is Sym:
        if (
            f.s[:1] == ":"
            and args[0].__class__ is Sym
            and (getter := registry.find("verb", "get")) is not None
        ):
            return getter.fns[1](List([f, *args]))
        if f.s[:1] == ":" and len(args) == 1 and (reply := ONE_SHOT.fn(f.s, args[0])) is not None:
            return reply
        return apply(named(f), args)
    if f is NIL:
        if len(args) == 1:
            return args[0]
        raise QError("rank")
    if isinstance(f, Handle):
        return f.index(args)
    if f.__class__ is int or (f.__class__ is Atom and f.t in (T.I, T.H)):
        result = running().send(raw(f), args)
        return f if result is None else result
    return index(f, args)


def _warn_of_projection(f: Lambda) -> None:
    """Warn once that `f[]` calls nothing if f has two or more of the parameters x, y and z and there are globals with
    these names."""
    session = running()
    space = session.names.spaces.get(f.ctx, {})
    hidden = [param for param in f.params if param in space]
    if implicit(f.text) and hidden and f.text not in session.warned:
        session.warned.add(f.text)
        session.warn(
            f"warning: {short(f)} was called without arguments, which gives a projection and runs nothing: "
            f"{listed(f.params)} are its parameters there, not the global{'s' * (len(hidden) > 1)} "
            f"{listed(hidden)}\n"
        )


def named(x: Sym) -> Value:
    """The value named by a symbol: a variable or, with a leading colon, a data file or splayed table."""
    getter = registry.find("verb", "get") if x.s[:1] == ":" else None
    return running().names.get(x.s) if getter is None else getter.fns[1](x)


def project(f: Value, args: Sequence[Value]) -> Value:
    """The projection of f on args, some of which are HOLE; trailing ones may be missing altogether."""
    args = tuple(args)
    if f.__class__ is Proj:
        if len(args) > f.rank:
            raise QError("rank")
        arguments = f.fill(args)
        holes = sum(argument is HOLE for argument in arguments)
        return Proj(
            f.f, arguments, f.rank - len(args) + sum(argument is HOLE for argument in args) - holes
        )
    rank = full_rank(f, len(args))
    if len(args) > rank:
        if not takes(f, len(args)):
            raise QError("rank")
        rank = len(args)
    return Proj(f, args, rank - len(args))


def full_rank(f: Value, given: int) -> int:
    """The total number of arguments of a projection of f on `given` ones."""
    if isinstance(f, Prim):
        counts = [count for count in f.fns if count >= given]
        return min(counts) if counts else given if -1 in f.fns else max(f.fns)
    return getattr(f, "rank", 0) or max(given, 2)


def takes(f: Value, n: int) -> bool:
    """Does a verb, or `'` on it, have a form with n arguments? `@'[x;i;f;y]` has the four of `@`."""
    while f.__class__ is Derived and f.glyph == "'":
        f = f.f
    return f.__class__ is Prim and (
        n in f.fns or -1 in f.fns or (n > 1 and spelled(f.name) is not None)
    )


def pyfn(f: Value, n: int) -> Callable[..., Value]:
    """A Python callable with n positional arguments that applies f: for loops in iterators and verbs."""
    if isinstance(f, Lambda) and f.rank == n:
        return f.fn
    if f.__class__ is Prim:
        function = f.fns.get(n)
        if function is not None:
            return function
    if f.__class__ is PyFunction and n < 3:
        return f.call1 if n == 1 else f.call2
    if isinstance(f, Function) and f.rank in (n, 0) and f.__class__ is not Prim:
        call = f.call
        return lambda *args: call(args)
    if n == 1:
        return lambda x: apply(f, (x,))
    return lambda *args: apply(f, args)


def is_function(x: Value) -> bool:
    """Can x be applied as a function (rather than indexed)?"""
    return isinstance(x, Function)
