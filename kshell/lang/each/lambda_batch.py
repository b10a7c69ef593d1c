"""Evaluation of a small lambda for many items at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from kshell.lang.compiler.compile import prim
from kshell.lang.compiler.literal import value_of
from kshell.lang.compiler.tree_queries import column_names
from kshell.lang.each import grouped, verb_at_once
from kshell.lang.each.grouped import Dicts
from kshell.lang.each.results import (
    Bound,
    Columns,
    Many,
    Never,
    No,
    bound,
    merged,
    taken,
    value_list,
)
from kshell.lang.tables.condition import truth
from kshell.lang.tables.flat_items import part
from kshell.parse import tree as N
from kshell.registry import find
from kshell.values.base import types as T
from kshell.values.base.build import collapse
from kshell.values.base.core import (
    HOLE,
    NIL,
    Dict,
    List,
    Nd,
    Table,
    Value,
    Vec,
    atom_t,
    is_list,
    raw,
    seq_items,
)
from kshell.values.base.functions import Comp, Derived, Function, Lambda, Prim, Proj
from kshell.values.items.index import index1
from kshell.values.session.context import running

KEPT = 1024  # the most lambdas remembered
IMPOSSIBLE: dict[int, Any] = {}  # trees of lambdas that cannot be vectorized, by id
_OVER = {"+": "sum", "*": "prd", "|": "max", "&": "min", "or": "max", "and": "min"}
# verbs that give the same result every time for arguments shared by all items
_PURE = frozenset(("group", "key", "value", "type", "wsum", "wavg", "asc", "desc", "iasc", "idesc"))
_FUNCTIONS = (Lambda, Prim, Proj, Comp)


def give_up(tree: Any) -> None:
    """Remember that the lambda with this tree cannot be vectorized."""
    if len(IMPOSSIBLE) > KEPT:
        IMPOSSIBLE.clear()
    IMPOSSIBLE[id(tree)] = tree


def _still_wants(f: Any, args: list[Any], full: list[Any]) -> bool:
    """Are these arguments (`full` includes those already bound) too few to evaluate a projection?"""
    rank = f.f.rank if isinstance(f.f, Function) else 1
    few = len(full) < rank if f.__class__ is Bound else len(args) < f.rank
    return few or HOLE in full


def _names_all(x: Value, y: Columns) -> bool:
    """Is x a vector of distinct symbols, one per column?"""
    if x.__class__ is not Vec or x.t != T.S:
        return False
    return len(x.a) == len(y.cols) == len(set(x.a.tolist()))


class Batch:
    """The evaluation of a lambda for n items: `env` has its parameters and locals; `first` those from before these
    items were selected."""

    def __init__(self, f: Lambda | None, n: int, env: dict[str, Any]) -> None:
        self.f: Any = f
        self.n, self.env = n, env
        self.first: dict[str, Any] = {}
        self.at = np.arange(n)  # the positions of these items among all

    def body(self, statements: list[Any]) -> Value:
        """The list of results."""
        done: list[tuple[Any, Any]] = []
        n = self.n
        last = self.statements(statements, done)
        if last is not None:
            done.append((self.at, last))
        return merged(done, n)

    def result(self, statements: list[Any]) -> Any:
        """The result of the statements: Many, or one value shared by all items."""
        done: list[tuple[Any, Any]] = []
        n = self.n
        last = self.statements(statements, done)
        if not done:
            return last
        if last is not None:
            done.append((self.at, last))
        return Many(merged(done, n))

    def statements(self, nodes: list[Any], done: list[tuple[Any, Any]]) -> Any:
        """The value of the last statement for the items that reach it; None if no item does. `done` collects values
        returned earlier."""
        value: Any = None
        for k, node in enumerate(nodes):
            if isinstance(node, N.Return):
                done.append((self.at, self.expr(node.value)))
                return None
            if isinstance(node, N.Control):
                if node.word != "if" or k == len(nodes) - 1:
                    raise Never
                self.branch(node.args, done)
                if not len(self.at):
                    return None
                continue
            value = self.expr(node)
        if value is None:
            raise Never
        return value

    def branch(self, args: list[Any], done: list[tuple[Any, Any]]) -> None:
        """`if[c;...]`: run the statements for the items where c holds."""
        yes, no = self.split(self.expr(args[0]))
        if not len(yes):
            return
        inner = self.some(yes)
        for k, node in enumerate(args[1:]):
            if isinstance(node, N.Return):
                done.append((inner.at, inner.expr(node.value)))
                if k != len(args) - 2:
                    raise Never
                rest = self.some(no)
                self.at, self.n, self.env = rest.at, rest.n, rest.env
                return
            if not isinstance(node, N.Assign):
                raise Never
            inner.expr(node)
        for name, value in inner.env.items():
            if name not in self.env:
                if len(no):
                    raise No  # the other items have no value
                self.env[name] = value
            elif value is not inner.first.get(name):
                others = taken(self.env[name], no)
                self.env[name] = Many(
                    merged([(yes, value), (no, others)] if len(no) else [(yes, value)], self.n)
                )

    def some(self, at: Any) -> Batch:
        """The same evaluation for some of the items."""
        if len(at) == self.n:
            out = Batch(self.f, self.n, dict(self.env))
            out.at, out.first = self.at, dict(self.env)
            return out
        out = Batch(
            self.f,
            len(at),
            {key: taken(value, at) for key, value in self.env.items()} if len(at) else {},
        )
        out.at, out.first = self.at[at], dict(out.env)
        return out

    def split(self, c: Any) -> tuple[Any, Any]:
        """The positions where a condition holds, and where it does not."""
        if c.__class__ is not Many:
            every, none = np.arange(self.n), np.arange(0)
            return (every, none) if truth(c) else (none, every)
        if c.v.__class__ is not Vec or c.v.t not in (T.B, T.J, T.I, T.H):
            raise No
        holds = c.v.a != 0
        return np.flatnonzero(holds), np.flatnonzero(~holds)

    # ------------------------------------------------------------------ expressions

    def expr(self, node: Any) -> Any:
        """The value of an expression: Many, or one value shared by all items."""
        work = _WORK.get(node.__class__)
        if work is None:
            raise Never
        return work(self, node)

    def _Lit(self, node: Any) -> Any:
        return value_of(node)

    def _Name(self, node: Any) -> Any:
        name = node.name
        if name in self.env:
            return self.env[name]
        if "." in name or name in self.f.locals:
            raise Never
        if find("verb", name) is not None:
            return _primitive(name)
        v = running().names.get(name, self.f.ctx)
        if (
            not atom_t(v)
            and not is_list(v)
            and v.__class__ is not Dict
            and not isinstance(v, _FUNCTIONS)
        ):
            raise No
        return v

    def _Verb(self, node: Any) -> Any:
        return NIL if node.glyph == "::" else _primitive(node.glyph)

    def _Lambda(self, node: Any) -> Any:
        for const in self.f.consts:
            if isinstance(const, Lambda) and const.tree is node:
                return const
        raise Never

    def _Assign(self, node: Any) -> Any:
        if not isinstance(node.target, N.Name) or node.op == "::" or "." in node.target.name:
            raise Never
        name = node.target.name
        v = self.expr(node.value)
        if node.op is not None:
            if name not in self.env:
                raise Never
            v = self.verb(node.op.glyph, [self.env[name], v])
        elif name not in self.f.locals and name not in self.env:
            raise Never
        self.env[name] = v
        return v

    def _Block(self, node: Any) -> Any:
        v = None
        for item in node.items:
            v = self.expr(item)
        if v is None:
            raise Never
        return v

    def _Cond(self, node: Any) -> Any:
        args = node.args
        if not len(args) % 2:
            raise Never
        rest, done = self, []
        back = np.arange(self.n)
        for k in range(0, len(args) - 1, 2):
            before = dict(rest.env)
            yes, no = rest.split(rest.expr(args[k]))
            if len(yes):
                inner = rest.some(yes)
                done.append((back[yes], inner.expr(args[k + 1])))
                if any(value is not inner.first.get(name) for name, value in inner.env.items()):
                    raise No  # a branch with assignments
            if rest is not self and any(
                value is not before.get(name) for name, value in rest.env.items()
            ):
                raise No
            if not len(no):
                break
            if len(yes):
                rest, back = rest.some(no), back[no]
        else:
            inner = rest.some(np.arange(rest.n))
            done.append((back, inner.expr(args[-1])))
            if any(value is not inner.first.get(name) for name, value in inner.env.items()):
                raise No
        if len(done) == 1:
            return done[0][1]
        return Many(merged(done, self.n))

    def many_of(self, nodes: list[Any]) -> list[Any]:
        """Arguments, evaluated from the last to the first."""
        return [self.expr(node) for node in reversed(nodes)][::-1]

    def _ListOf(self, node: Any) -> Any:
        if not node.items:
            return List([])
        cols = self.many_of(node.items)
        if any(column.__class__ is Bound for column in cols):
            raise No
        if not any(column.__class__ is Many for column in cols):
            return collapse(cols)
        types = {
            column.v.t
            if column.__class__ is Many and column.v.__class__ is Vec
            else 0
            if column.__class__ is Many
            else atom_t(column)
            for column in cols
        }
        if len(types) == 1 and not types & {0, T.G, T.ENUM}:
            t = types.pop()
            array = np.empty((self.n, len(cols)), T.DTYPE[t])
            for k, column in enumerate(cols):
                array[:, k] = column.v.a if column.__class__ is Many else raw(column)
            return Many(Nd(t, array))
        return Many(Columns(cols, self.n))

    def _DictOf(self, node: Any) -> Any:
        names = column_names(node.items)
        cols = self.many_of([v for _, v in node.items])
        if (
            not names
            or len(set(names)) != len(names)
            or not any(column.__class__ is Many for column in cols)
        ):
            raise Never
        return Many(self.table(names, Columns(cols, self.n)))

    def table(self, names: list[str], c: Columns) -> Table:
        """The dictionaries of all items, which form a table in a list."""
        cols = c.columns()
        if any(isinstance(col, Columns) for col in cols):
            raise No
        return Table(names, cols)

    def _Apply(self, node: Any) -> Any:
        f, args = node.f, node.args
        if not args:
            raise Never
        if isinstance(f, N.Iterator):
            return self.iterated(f, args)
        name = f.glyph if isinstance(f, N.Verb) else f.name if isinstance(f, N.Name) else ""
        if N.Elided in map(type, args):
            rest = iter(self.many_of([arg for arg in args if not isinstance(arg, N.Elided)]))
            return self.call(
                self.expr(f), [HOLE if isinstance(arg, N.Elided) else next(rest) for arg in args]
            )
        if name and name not in self.env and find("verb", name) is not None:
            if name in ("each", "peach"):
                if len(args) != 2:
                    raise Never
                x = self.expr(args[1])
                return self.each(self.expr(args[0]), [x])
            if not _has(name, len(args)) or (isinstance(f, N.Verb) and len(args) == 1):
                raise Never
            return self.verb(name, self.many_of(args))
        given = self.many_of(args)
        return self.call(self.expr(f), given)

    def iterated(self, f: Any, args: list[Any]) -> Any:
        """A verb or function with an iterator: `+/`, or `f'`."""
        if f.glyph == "'" and f.f is not None:
            given = self.many_of(args)
            return self.each(self.expr(f.f), given)
        glyph = (
            f.f.glyph if isinstance(f.f, N.Verb) else f.f.name if isinstance(f.f, N.Name) else ""
        )
        if f.glyph != "/" or len(args) != 1 or glyph not in _OVER or glyph in self.env:
            raise Never
        x = self.expr(args[0])
        p = part(x.v) if x.__class__ is Many else None
        if p is None or p.m == -1 or not p.sizes.all() or p.t not in T.NUMERIC:
            raise No
        return self.verb(_OVER[glyph], [x])

    # ------------------------------------------------------------------ functions

    def call(self, f: Any, args: list[Any]) -> Any:
        """Apply one function, list or dictionary to the values of all items."""
        cls = f.__class__
        if isinstance(f, Lambda):
            if HOLE in args or len(args) < f.rank:
                return bound(f, args)
            if f.tree is None or len(args) != f.rank or id(f.tree) in IMPOSSIBLE:
                raise No
            env = dict(zip(f.params or ("x",), args, strict=True))
            try:
                return Batch(f, self.n, env).result(f.tree.body)
            except Never:
                give_up(f.tree)
                raise No from None
        if cls is Prim:
            if HOLE in args:
                return bound(f, args)
            if getattr(f.entry, "kind", "") != "verb" or not _has(f.name, len(args)):
                raise No
            return self.verb(f.name, args)
        if cls is Proj or cls is Bound:
            full = list(f.fill(args))
            return bound(f.f, full) if _still_wants(f, args, full) else self.call(f.f, full)
        if cls is Comp:
            for g in reversed(f.fs):
                args = [self.call(g, args)]
            return args[0]
        if cls is Derived and f.glyph == "'":
            return self.each(f.f, args)
        if f is NIL and len(args) == 1:
            return args[0]
        if len(args) != 1 or isinstance(f, Function) or HOLE in args:
            raise No
        return self.verb("@", [f, *args])

    def each(self, f: Any, args: list[Any]) -> Any:
        """`f'` on the values of all items: f on the items of all of them."""
        lists = [arg for arg in args if arg.__class__ is Many]
        if not lists and len(args) == 1 and not isinstance(args[0], Function):
            return self.constant(f, args[0])
        d = lists[0].v if lists else None
        if d.__class__ is Dicts:
            if any(
                inner.v.__class__ is not Dicts or not d.alike(inner.v) for inner in lists
            ) or len(lists) != len(args):
                raise No
            return Many(d.like(self.inner(f, [Many(arg.v.v) for arg in args], d.ids)))
        if len(args) != 1 or not lists or d.__class__ is Columns:
            raise No
        p = part(d)
        if p is None or p.m == -1 or not len(p.a):
            raise No
        found = p.filled(self.inner(f, [Many(p.vector())], p.ids))
        if found is None or not p.sizes.all():
            raise No
        return Many(found)

    def constant(self, f: Any, x: Value) -> Value:
        """`f'x` where x is shared by all items."""
        if x.__class__ is Dict and not x.keyed:
            return Dict(x.k, self.constant(f, x.v))
        if x.__class__ not in (Vec, List, Nd) or not len(x):
            raise No
        found = [self.call(f, [i]) for i in seq_items(x)]
        if any(v.__class__ in (Many, Bound) for v in found):
            raise No
        return collapse(found)

    def inner(self, f: Any, args: list[Any], ids: Any) -> Value:
        """f on the items of items: `ids` has the outer item of each."""
        return value_list(Batch(None, len(ids), {}).call(taken(f, ids), args), len(ids))

    def verb(self, name: str, args: list[Any]) -> Any:
        """A verb on arguments any of which may be many."""
        x, mx = args[0], args[0].__class__ is Many
        if mx:
            x = x.v
        if len(args) == 1:
            return Many(self.monad(name, x)) if mx else _constant(name, args)
        y, my = args[1], args[1].__class__ is Many
        if my:
            y = y.v
        if len(args) > 2 or not (mx or my):
            return _constant(name, args)
        cls, cy = x.__class__, y.__class__
        if cls is Dicts or cy is Dicts:
            found = (
                None
                if isinstance(x, _ODD) or isinstance(y, _ODD)
                else grouped.dyad(name, x, mx, y, my)
            )
        elif cls is Columns or cy is Columns:
            if mx or name != "!" or not _names_all(x, y):
                raise No
            return Many(self.table([item.s for item in x.items], y))
        else:
            found = (
                None
                if isinstance(x, _ODD) or isinstance(y, _ODD)
                else verb_at_once.dyad(name, x, mx, y, my)
            )
        if found is None or len(found) != self.n:
            raise No
        return Many(found)

    def monad(self, name: str, x: Any) -> Any:
        """A verb on the values of all items."""
        if x.__class__ is Dicts:
            found = grouped.monad(name, x)
        elif x.__class__ is Columns:
            raise No
        elif name == "group":
            found = grouped.group(x)
        else:
            found = grouped.types(x) if name == "type" else verb_at_once.monad(name, x)
        if found is None or len(found) != self.n:
            raise No
        return found


_ODD = (Bound, Columns, Function)
_WORK: dict[type, Any] = {  # the evaluator for each node type
    getattr(N, name[1:]): work
    for name, work in vars(Batch).items()
    if name[:1] == "_" and hasattr(N, name[1:])
}


def _constant(name: str, args: list[Any]) -> Value:
    """A verb on a value shared by all items."""
    for arg in args:
        if arg.__class__ is Bound or arg.__class__ is Many:
            raise No
    x = args[0]
    if name == "@" and len(args) == 2 and (is_list(x) or x.__class__ is Dict):
        return index1(*args)
    fn = verb_at_once.prim(name, len(args))
    if fn is None or name in ("?", "@"):  # which could be a deal (`-n?x`)
        raise No
    if (name == "!" and atom_t(x)) or (name in ("key", "value") and x.__class__ is not Dict):
        raise No  # which could do anything
    return fn(*args)


def _has(name: str, n: int) -> bool:
    """Can a verb of n arguments be evaluated here?"""
    return verb_at_once.has(name, n) or (name in _PURE and verb_at_once.prim(name, n) is not None)


def _primitive(name: str) -> Value:
    entry = find("verb", name)
    if entry is None:
        raise Never
    return prim(entry)
