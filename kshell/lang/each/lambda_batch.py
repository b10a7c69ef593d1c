"""Evaluation of a small lambda for many items at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kshell.lang.compiler.built_ins import prim
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
from kshell.values.base.narrow import list_value
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
    too_few = len(full) < rank if f.__class__ is Bound else len(args) < f.rank
    return too_few or HOLE in full


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
        count = self.n
        result = self.statements(statements, done)
        if result is not None:
            done.append((self.at, result))
        return merged(done, count)

    def result(self, statements: list[Any]) -> Any:
        """The result of the statements: Many, or one value shared by all items."""
        done: list[tuple[Any, Any]] = []
        count = self.n
        result = self.statements(statements, done)
        if not done:
            return result
        if result is not None:
            done.append((self.at, result))
        return Many(merged(done, count))

    def statements(self, nodes: Sequence[N.Node], done: list[tuple[Any, Any]]) -> Any:
        """The value of the last statement for the items that reach it; None if no item does. `done` collects values
        returned earlier."""
        value: Any = None
        for index, node in enumerate(nodes):
            if isinstance(node, N.Return):
                done.append((self.at, self.expr(node.value)))
                return None
            if isinstance(node, N.Control):
                if node.word != "if" or index == len(nodes) - 1:
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
        holding, failing = self.split(self.expr(args[0]))
        if not len(holding):
            return
        consequent = self.some(holding)
        for index, node in enumerate(args[1:]):
            if isinstance(node, N.Return):
                done.append((consequent.at, consequent.expr(node.value)))
                if index != len(args) - 2:
                    raise Never
                otherwise = self.some(failing)
                self.at, self.n, self.env = otherwise.at, otherwise.n, otherwise.env
                return
            if not isinstance(node, N.Assign):
                raise Never
            consequent.expr(node)
        for name, value in consequent.env.items():
            if name not in self.env:
                if len(failing):
                    raise No  # the other items have no value
                self.env[name] = value
            elif value is not consequent.first.get(name):
                others = taken(self.env[name], failing)
                self.env[name] = Many(
                    merged(
                        [(holding, value), (failing, others)]
                        if len(failing)
                        else [(holding, value)],
                        self.n,
                    )
                )

    def some(self, at: Any) -> Batch:
        """The same evaluation for some of the items."""
        if len(at) == self.n:
            batch = Batch(self.f, self.n, dict(self.env))
            batch.at, batch.first = self.at, dict(self.env)
            return batch
        batch = Batch(
            self.f,
            len(at),
            {key: taken(value, at) for key, value in self.env.items()} if len(at) else {},
        )
        batch.at, batch.first = self.at[at], dict(batch.env)
        return batch

    def split(self, c: Any) -> tuple[Any, Any]:
        """The positions where a condition holds, and where it does not."""
        if c.__class__ is not Many:
            every, nowhere = np.arange(self.n), np.arange(0)
            return (every, nowhere) if truth(c) else (nowhere, every)
        if c.v.__class__ is not Vec or c.v.t not in (T.B, T.J, T.I, T.H):
            raise No
        holds = c.v.a != 0
        return np.flatnonzero(holds), np.flatnonzero(~holds)

    # ------------------------------------------------------------------ expressions

    def expr(self, node: N.Node) -> Any:
        """The value of an expression: Many, or one value shared by all items."""
        method = _WORK.get(node.__class__)
        if method is None:
            raise Never
        return method(self, node)

    def _Lit(self, node: N.Lit) -> Any:
        return value_of(node)

    def _Name(self, node: N.Name) -> Any:
        name = node.name
        if name in self.env:
            return self.env[name]
        if "." in name or name in self.f.locals:
            raise Never
        if find("verb", name) is not None:
            return _primitive(name)
        value = running().names.get(name, self.f.ctx)
        if (
            not atom_t(value)
            and not is_list(value)
            and value.__class__ is not Dict
            and not isinstance(value, _FUNCTIONS)
        ):
            raise No
        return value

    def _Verb(self, node: N.Verb) -> Any:
        return NIL if node.glyph == "::" else _primitive(node.glyph)

    def _Lambda(self, node: N.Lambda) -> Any:
        for const in self.f.consts:
            if isinstance(const, Lambda) and const.tree is node:
                return const
        raise Never

    def _Assign(self, node: N.Assign) -> Any:
        if not isinstance(node.target, N.Name) or node.op == "::" or "." in node.target.name:
            raise Never
        name = node.target.name
        value = self.expr(node.value)
        if isinstance(node.op, N.Verb):
            if name not in self.env:
                raise Never
            value = self.verb(node.op.glyph, [self.env[name], value])
        elif name not in self.f.locals and name not in self.env:
            raise Never
        self.env[name] = value
        return value

    def _Block(self, node: N.Block) -> Any:
        value = None
        for statement in node.items:
            value = self.expr(statement)
        if value is None:
            raise Never
        return value

    def _Cond(self, node: N.Cond) -> Any:
        arguments = node.args
        if not len(arguments) % 2:
            raise Never
        remaining, results = self, []
        positions = np.arange(self.n)
        for index in range(0, len(arguments) - 1, 2):
            before = dict(remaining.env)
            holding, failing = remaining.split(remaining.expr(arguments[index]))
            if len(holding):
                branch = remaining.some(holding)
                results.append((positions[holding], branch.expr(arguments[index + 1])))
                if any(value is not branch.first.get(name) for name, value in branch.env.items()):
                    raise No  # a branch with assignments
            if remaining is not self and any(
                value is not before.get(name) for name, value in remaining.env.items()
            ):
                raise No
            if not len(failing):
                break
            if len(holding):
                remaining, positions = remaining.some(failing), positions[failing]
        else:
            branch = remaining.some(np.arange(remaining.n))
            results.append((positions, branch.expr(arguments[-1])))
            if any(value is not branch.first.get(name) for name, value in branch.env.items()):
                raise No
        if len(results) == 1:
            return results[0][1]
        return Many(merged(results, self.n))

    def many_of(self, nodes: Sequence[N.Node]) -> list[Any]:
        """Arguments, evaluated from the last to the first."""
        return [self.expr(node) for node in reversed(nodes)][::-1]

    def _ListOf(self, node: N.ListOf) -> Any:
        if not node.items:
            return List([])
        columns = self.many_of(node.items)
        if any(column.__class__ is Bound for column in columns):
            raise No
        if not any(column.__class__ is Many for column in columns):
            return collapse(columns)
        types = {
            column.v.t
            if column.__class__ is Many and column.v.__class__ is Vec
            else 0
            if column.__class__ is Many
            else atom_t(column)
            for column in columns
        }
        if len(types) == 1 and not types & {0, T.G, T.ENUM}:
            qtype = types.pop()
            array = np.empty((self.n, len(columns)), T.DTYPE[qtype])
            for index, column in enumerate(columns):
                array[:, index] = column.v.a if column.__class__ is Many else raw(column)
            return Many(Nd(qtype, array))
        return Many(Columns(columns, self.n))

    def _DictOf(self, node: N.DictOf) -> Any:
        names = column_names(node.items)
        columns = self.many_of([item for _, item in node.items])
        if (
            not names
            or len(set(names)) != len(names)
            or not any(column.__class__ is Many for column in columns)
        ):
            raise Never
        return Many(self.table(names, Columns(columns, self.n)))

    def table(self, names: list[str], c: Columns) -> Table:
        """The dictionaries of all items, which form a table in a list."""
        columns = c.columns()
        if any(isinstance(column, Columns) for column in columns):
            raise No
        return Table(names, columns)

    def _Apply(self, node: N.Apply) -> Any:
        f, args = node.f, node.args
        if not args:
            raise Never
        if isinstance(f, N.Iterator):
            return self.iterated(f, args)
        name = f.glyph if isinstance(f, N.Verb) else f.name if isinstance(f, N.Name) else ""
        if N.Elided in map(type, args):
            remaining = iter(self.many_of([arg for arg in args if not isinstance(arg, N.Elided)]))
            return self.call(
                self.expr(f),
                [HOLE if isinstance(arg, N.Elided) else next(remaining) for arg in args],
            )
        if name and name not in self.env and find("verb", name) is not None:
            if name in ("each", "peach"):
                if len(args) != 2:
                    raise Never
                operand = self.expr(args[1])
                return self.each(self.expr(args[0]), [operand])
            if not _has(name, len(args)) or (isinstance(f, N.Verb) and len(args) == 1):
                raise Never
            return self.verb(name, self.many_of(args))
        values = self.many_of(args)
        return self.call(self.expr(f), values)

    def iterated(self, f: Any, args: list[Any]) -> Any:
        """A verb or function with an iterator: `+/`, or `f'`."""
        if f.glyph == "'" and f.f is not None:
            values = self.many_of(args)
            return self.each(self.expr(f.f), values)
        glyph = (
            f.f.glyph if isinstance(f.f, N.Verb) else f.f.name if isinstance(f.f, N.Name) else ""
        )
        if f.glyph != "/" or len(args) != 1 or glyph not in _OVER or glyph in self.env:
            raise Never
        operand = self.expr(args[0])
        layout = part(operand.v) if operand.__class__ is Many else None
        if layout is None or layout.m == -1 or not layout.sizes.all() or layout.t not in T.NUMERIC:
            raise No
        return self.verb(_OVER[glyph], [operand])

    # ------------------------------------------------------------------ functions

    def call(self, f: Any, args: list[Any]) -> Any:
        """Apply one function, list or dictionary to the values of all items."""
        kind = f.__class__
        if isinstance(f, Lambda):
            if HOLE in args or len(args) < f.rank:
                return bound(f, args)
            if f.tree is None or len(args) != f.rank or id(f.tree) in IMPOSSIBLE:
                raise No
            variables = dict(zip(f.params or ("x",), args, strict=True))
            try:
                return Batch(f, self.n, variables).result(f.tree.body)
            except Never:
                give_up(f.tree)
                raise No from None
        if kind is Prim:
            if HOLE in args:
                return bound(f, args)
            if getattr(f.entry, "kind", "") != "verb" or not _has(f.name, len(args)):
                raise No
            return self.verb(f.name, args)
        if kind is Proj or kind is Bound:
            filled = list(f.fill(args))
            return bound(f.f, filled) if _still_wants(f, args, filled) else self.call(f.f, filled)
        if kind is Comp:
            for function in reversed(f.fs):
                args = [self.call(function, args)]
            return args[0]
        if kind is Derived and f.glyph == "'":
            return self.each(f.f, args)
        if f is NIL and len(args) == 1:
            return args[0]
        if len(args) != 1 or isinstance(f, Function) or HOLE in args:
            raise No
        return self.verb("@", [f, *args])

    def each(self, f: Any, args: list[Any]) -> Any:
        """`f'` on the values of all items: f on the items of all of them."""
        lists = [argument for argument in args if argument.__class__ is Many]
        if not lists and len(args) == 1 and not isinstance(args[0], Function):
            return self.constant(f, args[0])
        first_list: Any = lists[0].v if lists else None
        if first_list.__class__ is Dicts:
            if any(
                operand.v.__class__ is not Dicts or not first_list.alike(operand.v)
                for operand in lists
            ) or len(lists) != len(args):
                raise No
            return Many(
                first_list.like(
                    self.inner(f, [Many(argument.v.v) for argument in args], first_list.ids)
                )
            )
        if len(args) != 1 or not lists or first_list.__class__ is Columns:
            raise No
        layout = part(first_list)
        if layout is None or layout.m == -1 or not len(layout.a):
            raise No
        results = layout.filled(self.inner(f, [Many(layout.vector())], layout.ids))
        if results is None or not layout.sizes.all():
            raise No
        return Many(results)

    def constant(self, f: Any, x: Value) -> Value:
        """`f'x` where x is shared by all items."""
        if x.__class__ is Dict and not x.keyed:
            return Dict(x.k, list_value(self.constant(f, x.v)))
        if x.__class__ not in (Vec, List, Nd) or not len(x):
            raise No
        results = [self.call(f, [item]) for item in seq_items(x)]
        if any(result.__class__ in (Many, Bound) for result in results):
            raise No
        return collapse(results)

    def inner(self, f: Any, args: list[Any], ids: Any) -> Value:
        """f on the items of items: `ids` has the outer item of each."""
        return value_list(Batch(None, len(ids), {}).call(taken(f, ids), args), len(ids))

    def verb(self, name: str, args: list[Any]) -> Any:
        """A verb on arguments any of which may be many."""
        x, x_many = args[0], args[0].__class__ is Many
        if x_many:
            x = x.v
        if len(args) == 1:
            return Many(self.monad(name, x)) if x_many else _constant(name, args)
        y, y_many = args[1], args[1].__class__ is Many
        if y_many:
            y = y.v
        if len(args) > 2 or not (x_many or y_many):
            return _constant(name, args)
        x_class, y_class = x.__class__, y.__class__
        if x_class is Dicts or y_class is Dicts:
            results = (
                None
                if isinstance(x, _ODD) or isinstance(y, _ODD)
                else grouped.dyad(name, x, x_many, y, y_many)
            )
        elif x_class is Columns or y_class is Columns:
            if x_many or name != "!" or not _names_all(x, y):
                raise No
            return Many(self.table([symbol.s for symbol in x.items], y))
        else:
            results = (
                None
                if isinstance(x, _ODD) or isinstance(y, _ODD)
                else verb_at_once.dyad(name, x, x_many, y, y_many)
            )
        if results is None or len(results) != self.n:
            raise No
        return Many(results)

    def monad(self, name: str, x: Any) -> Any:
        """A verb on the values of all items."""
        if x.__class__ is Dicts:
            results = grouped.monad(name, x)
        elif x.__class__ is Columns:
            raise No
        elif name == "group":
            results = grouped.group(x)
        else:
            results = grouped.types(x) if name == "type" else verb_at_once.monad(name, x)
        if results is None or len(results) != self.n:
            raise No
        return results


_ODD = (Bound, Columns, Function)
_WORK: dict[type, Any] = {  # the evaluator for each node type
    getattr(N, name[1:]): work
    for name, work in vars(Batch).items()
    if name[:1] == "_" and hasattr(N, name[1:])
}


def _constant(name: str, args: list[Any]) -> Value:
    """A verb on a value shared by all items."""
    for argument in args:
        if argument.__class__ is Bound or argument.__class__ is Many:
            raise No
    first_argument = args[0]
    if (
        name == "@"
        and len(args) == 2
        and (is_list(first_argument) or first_argument.__class__ is Dict)
    ):
        return index1(*args)
    function = verb_at_once.prim(name, len(args))
    if function is None or name in ("?", "@"):  # which could be a deal (`-n?x`)
        raise No
    if (name == "!" and atom_t(first_argument)) or (
        name in ("key", "value") and first_argument.__class__ is not Dict
    ):
        raise No  # which could do anything
    return function(*args)


def _has(name: str, n: int) -> bool:
    """Can a verb of n arguments be evaluated here?"""
    return verb_at_once.has(name, n) or (name in _PURE and verb_at_once.prim(name, n) is not None)


def _primitive(name: str) -> Value:
    entry = find("verb", name)
    if entry is None:
        raise Never
    return prim(entry)
