"""Each of a small lambda: its expressions run once, on all items at once, instead of once an item.

`{2*1+count x} each l` is `2*1+count each l`: a lambda of pure verbs is carried out verb by verb on the list of what
every item gives (lifts.py), conditions on the items that they are for. Where a verb has no such way, or anything is
wrong, the answer is None, and the items are taken one by one: what is pure may be begun again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.lang import lifts
from kshell.lang.lifts import FEW
from kshell.lang.literal import value_of
from kshell.lang.parts import part, rows
from kshell.lang.scan import column_names
from kshell.lang.truth import truth
from kshell.parse import tree as N
from kshell.registry import find
from kshell.values import types as T
from kshell.values.build import collapse
from kshell.values.context import running
from kshell.values.core import HOLE, Dict, List, Nd, Table, Value, Vec, atom_t, is_list, raw, seq_items
from kshell.values.functions import Lambda, Prim, Proj
from kshell.values.index import index1, take_at

_TRIED = 1024  # items, of which more are not taken at once before a few of them were
_KEPT = 1024  # lambdas that cannot be carried out so

_OVER = {"+": "sum", "*": "prd", "|": "max", "&": "min", "or": "max", "and": "min"}
_never: dict[int, Any] = {}  # the trees of such lambdas, by their id


class _Never(Exception):
    """The lambda has something in it that is not carried out for all items at once."""


class _No(Exception):
    """These items cannot be taken at once."""


class Many:
    """What every item gives: a list, table or `Columns`."""

    __slots__ = ("v",)

    def __init__(self, v: Any) -> None:
        self.v = v


class Columns:
    """What `(a;b;c)` gives for every item, as the list of what each of a, b, c does."""

    __slots__ = ("cols", "n")

    def __init__(self, cols: list[Any], n: int) -> None:
        self.cols, self.n = cols, n

    def columns(self) -> list[Value]:
        return [c.v if c.__class__ is Many else collapse([c] * self.n) for c in self.cols]

    def rows(self) -> Value:
        return collapse([collapse(list(r)) for r in zip(*map(seq_items, self.columns()), strict=True)])


def each(f: Value, x: Value) -> Value | None:
    """`f each x` for all items at once, or None if there is no such way."""
    if x.__class__ is Table or len(x) < (lifts.FEW_ROWS if f.__class__ is Proj and _is_product(f.f) else FEW):
        return None
    if f.__class__ is Prim:
        return lifts.monad(f.name, x) if lifts.has(f.name, 1) else None
    if f.__class__ is not Proj:
        return run(f, (x,), (True,))
    if f.rank != 1 or len(f.args) + 1 - f.holes != f.f.rank:
        return None
    args = [x if a is HOLE else a for a in f.args] + [x] * (1 - f.holes)
    if f.f.__class__ is Prim and f.f.name == "ssr" and args[0] is x:
        return lifts.replaced(*args)
    return together(f.f, args, [a is HOLE for a in f.args] + [True] * (1 - f.holes))


def _is_product(f: Value) -> bool:
    """Is it the matrix product, of which each call costs more than a row of it?"""
    return f.__class__ is Prim and f.name in ("$", "mmu")


def together(f: Value, args: Sequence[Value], many: Sequence[bool]) -> Value | None:
    """f on corresponding items of those arguments that are many, and all of the others; None if there is no way for
    all items at once."""
    if isinstance(f, Lambda):
        return run(f, args, many)
    if f.__class__ is not Prim or len(args) != 2 or not lifts.has(f.name, 2):
        return None
    n = len(args[0]) if many[0] else len(args[1])
    least = lifts.FEW_ROWS if _is_product(f) else FEW
    if n < least or any(m and a.__class__ is Table for a, m in zip(args, many, strict=True)):
        return None
    return lifts.dyad(f.name, args[0], many[0], args[1], many[1])


def run(f: Value, args: Sequence[Value], many: Sequence[bool]) -> Value | None:
    """f on corresponding items of those arguments that are many, and all of the others; None if it is no lambda that
    can be carried out on all at once."""
    if not isinstance(f, Lambda) or f.tree is None or f.rank != len(args) or id(f.tree) in _never:
        return None
    n = min(len(a) for a, m in zip(args, many, strict=True) if m)
    if n < FEW or any(a.__class__ not in (Vec, List, Nd) for a, m in zip(args, many, strict=True) if m):
        return None
    try:
        if n > _TRIED:  # what fails soon costs little
            few = np.arange(FEW)
            _run(f, [take_at(a, few) if m else a for a, m in zip(args, many, strict=True)], many, FEW)
        return _run(f, args, many, n)
    except _Never:
        if len(_never) > _KEPT:
            _never.clear()
        _never[id(f.tree)] = f.tree
    except (_No, QError, RecursionError):
        pass  # the items one by one find an error again, in their order
    return None


def _run(f: Lambda, args: Sequence[Value], many: Sequence[bool], n: int) -> Value:
    env = {p: Many(a) if m else a for p, a, m in zip(f.params or ("x",), args, many, strict=True)}
    found = _Batch(f, n, env).body(f.tree.body)
    return Vec(found.t, found.a, "", found.dom) if found.__class__ is Vec and found.attr else found


class _Batch:
    """A lambda being carried out for n items: `env` has its parameters and locals; `first` what it had when these items
    were taken from among others."""

    def __init__(self, f: Lambda, n: int, env: dict[str, Any]) -> None:
        self.f, self.n, self.env = f, n, env
        self.first: dict[str, Any] = {}
        self.at = np.arange(n)  # which of all items these are

    def body(self, statements: list[Any]) -> Value:
        """The list of the results."""
        done: list[tuple[Any, Any]] = []
        n = self.n
        last = self.statements(statements, done)
        if last is not None:
            done.append((self.at, last))
        return _merged(done, n)

    def statements(self, nodes: list[Any], done: list[tuple[Any, Any]]) -> Any:
        """The value of the last of some statements for the items that get there, None if there are none; `done` takes
        what was returned before."""
        value: Any = None
        for k, node in enumerate(nodes):
            if isinstance(node, N.Return):
                done.append((self.at, self.expr(node.value)))
                return None
            if isinstance(node, N.Control):
                if node.word != "if" or k == len(nodes) - 1:
                    raise _Never
                self.branch(node.args, done)
                if not len(self.at):
                    return None
                continue
            value = self.expr(node)
        if value is None:
            raise _Never
        return value

    def branch(self, args: list[Any], done: list[tuple[Any, Any]]) -> None:
        """`if[c;...]`: the statements for the items for which c holds."""
        yes, no = self.split(self.expr(args[0]))
        if not len(yes):
            return
        inner = self.some(yes)
        for k, node in enumerate(args[1:]):
            if isinstance(node, N.Return):
                done.append((inner.at, inner.expr(node.value)))
                if k != len(args) - 2:
                    raise _Never
                rest = self.some(no)
                self.at, self.n, self.env = rest.at, rest.n, rest.env
                return
            if not isinstance(node, N.Assign):
                raise _Never
            inner.expr(node)
        for name, v in inner.env.items():
            if name not in self.env:
                if len(no):
                    raise _No  # it has no value for the others
                self.env[name] = v
            elif v is not inner.first.get(name):
                others = _taken(self.env[name], no)
                self.env[name] = Many(_merged([(yes, v), (no, others)] if len(no) else [(yes, v)], self.n))

    def some(self, at: Any) -> _Batch:
        """The same at some of the items."""
        out = _Batch(self.f, len(at), {k: _taken(v, at) for k, v in self.env.items()} if len(at) else {})
        out.at, out.first = self.at[at], dict(out.env)
        return out

    def split(self, c: Any) -> tuple[Any, Any]:
        """Where a condition holds, and where it does not."""
        if c.__class__ is not Many:
            every, none = np.arange(self.n), np.arange(0)
            return (every, none) if truth(c) else (none, every)
        if c.v.__class__ is not Vec or c.v.t not in (T.B, T.J, T.I, T.H):
            raise _No
        holds = c.v.a != 0
        return np.flatnonzero(holds), np.flatnonzero(~holds)

    # ------------------------------------------------------------------ expressions

    def expr(self, node: Any) -> Any:
        """The value of an expression: Many, or one value for all items."""
        work = getattr(self, "_" + type(node).__name__, None)
        if work is None:
            raise _Never
        return work(node)

    def _Lit(self, node: Any) -> Any:
        return value_of(node)

    def _Name(self, node: Any) -> Any:
        name = node.name
        if name in self.env:
            return self.env[name]
        if "." in name or name in self.f.locals or find("verb", name) is not None:
            raise _Never
        v = running().names.get(name, self.f.ctx)
        if not atom_t(v) and not is_list(v) and v.__class__ is not Dict:
            raise _No
        return v

    def _Assign(self, node: Any) -> Any:
        if not isinstance(node.target, N.Name) or node.op == "::" or "." in node.target.name:
            raise _Never
        name = node.target.name
        v = self.expr(node.value)
        if node.op is not None:
            if name not in self.env:
                raise _Never
            v = self.verb(node.op.glyph, [self.env[name], v])
        elif name not in self.f.locals and name not in self.env:
            raise _Never
        self.env[name] = v
        return v

    def _Block(self, node: Any) -> Any:
        v = None
        for n in node.items:
            v = self.expr(n)
        if v is None:
            raise _Never
        return v

    def _Cond(self, node: Any) -> Any:
        args = node.args
        if not len(args) % 2:
            raise _Never
        rest, done = self, []
        back = np.arange(self.n)
        for k in range(0, len(args) - 1, 2):
            before = dict(rest.env)
            yes, no = rest.split(rest.expr(args[k]))
            if len(yes):
                inner = rest.some(yes)
                done.append((back[yes], inner.expr(args[k + 1])))
                if any(v is not inner.first.get(name) for name, v in inner.env.items()):
                    raise _No  # a branch that assigns
            if rest is not self and any(v is not before.get(name) for name, v in rest.env.items()):
                raise _No
            if not len(no):
                break
            if len(yes):
                rest, back = rest.some(no), back[no]
        else:
            inner = rest.some(np.arange(rest.n))
            done.append((back, inner.expr(args[-1])))
            if any(v is not inner.first.get(name) for name, v in inner.env.items()):
                raise _No
        if len(done) == 1 and done[0][1].__class__ is not Many:
            return done[0][1]
        return Many(_merged(done, self.n))

    def many_of(self, nodes: list[Any]) -> list[Any]:
        """Arguments, the last first."""
        return [self.expr(n) for n in reversed(nodes)][::-1]

    def _ListOf(self, node: Any) -> Any:
        if not node.items:
            return List([])
        cols = self.many_of(node.items)
        if not any(c.__class__ is Many for c in cols):
            return collapse(cols)
        types = {c.v.t if c.__class__ is Many and c.v.__class__ is Vec else 0 if c.__class__ is Many else atom_t(c)
                 for c in cols}
        if len(types) == 1 and not types & {0, T.G, T.ENUM}:
            t = types.pop()
            a = np.empty((self.n, len(cols)), T.DTYPE[t])
            for k, c in enumerate(cols):
                a[:, k] = c.v.a if c.__class__ is Many else raw(c)
            return Many(Nd(t, a))
        return Many(Columns(cols, self.n))

    def _DictOf(self, node: Any) -> Any:
        names = column_names(node.items)
        cols = self.many_of([v for _, v in node.items])
        if not names or len(set(names)) != len(names) or not any(c.__class__ is Many for c in cols):
            raise _Never
        return Many(self.table(names, Columns(cols, self.n)))

    def table(self, names: list[str], c: Columns) -> Table:
        """What every item gives as a dictionary, which in a list are a table."""
        cols = c.columns()
        if any(isinstance(col, Columns) for col in cols):
            raise _No
        return Table(names, cols)

    def _Apply(self, node: Any) -> Any:
        f, args = node.f, node.args
        if not args or any(isinstance(a, N.Elided) for a in args):
            raise _Never
        if isinstance(f, N.Iterator):
            glyph = f.f.glyph if isinstance(f.f, N.Verb) else f.f.name if isinstance(f.f, N.Name) else ""
            if f.glyph != "/" or len(args) != 1 or glyph not in _OVER:
                raise _Never
            x = self.expr(args[0])
            p = part(x.v) if x.__class__ is Many else None
            if p is None or p.m == -1 or not p.sizes.all() or p.t not in T.NUMERIC:
                raise _No
            return self.verb(_OVER[glyph], [x])
        name = f.glyph if isinstance(f, N.Verb) else f.name if isinstance(f, N.Name) else ""
        if name and name not in self.env and find("verb", name) is not None:
            if not lifts.has(name, len(args)) or (isinstance(f, N.Verb) and len(args) == 1):
                raise _Never
            return self.verb(name, self.many_of(args))
        if len(args) != 1:
            raise _Never
        i = self.expr(args[0])
        return self.verb("@", [self.expr(f), i])

    def verb(self, name: str, args: list[Any]) -> Any:
        """A verb on arguments of which any may be many."""
        many = [a.__class__ is Many for a in args]
        if not any(many):
            if name == "@" and (is_list(args[0]) or args[0].__class__ is Dict):
                return index1(*args)
            fn = lifts.prim(name, len(args))
            if fn is None or name in ("?", "@"):  # which could be a deal
                raise _Never
            return fn(*args)
        values = [a.v if m else a for a, m in zip(args, many, strict=True)]
        if any(v.__class__ is Columns for v in values):
            if name == "!" and not many[0] and values[0].__class__ is Vec and values[0].t == T.S \
                    and len(values[0].a) == len(values[1].cols) == len(set(values[0].a.tolist())):
                return Many(self.table([s.s for s in values[0].items], values[1]))
            raise _No
        found = lifts.monad(name, values[0]) if len(args) == 1 else lifts.dyad(name, values[0], many[0], values[1],
                                                                               many[1])
        if found is None or len(found) != self.n:
            raise _No
        return Many(found)


def _taken(v: Any, at: Any) -> Any:
    """A value at some of the items."""
    if v.__class__ is not Many:
        return v
    if v.v.__class__ is Columns:
        return Many(Columns([_taken(c, at) for c in v.v.cols], len(at)))
    return Many(take_at(v.v, at))


def _merged(done: list[tuple[Any, Any]], n: int) -> Value:
    """The list of n results of which parts were found: (which items, what they give)."""
    if len(done) == 1:
        v = done[0][1]
        if v.__class__ is not Many:
            return _repeated(v, n)
        return v.v.rows() if v.v.__class__ is Columns else v.v
    lists = [_merged([(at, v)], len(at)) for at, v in done]
    back = np.empty(n, np.int64)
    back[np.concatenate([at for at, _ in done])] = np.arange(n)
    first = lists[0]
    if all(v.__class__ is Vec and v.t == first.t and v.t != T.ENUM for v in lists):
        return Vec(first.t, np.concatenate([v.a for v in lists])[back])
    parts = [part(v) for v in lists]
    if all(p is not None and p.m != -1 and p.t == parts[0].t for p in parts):  # type: ignore[union-attr]
        sizes = np.concatenate([p.sizes for p in parts])  # type: ignore[union-attr]
        a = np.concatenate([p.a for p in parts])  # type: ignore[union-attr]
        return take_at(rows(parts[0].t, a, n, None, np.cumsum(sizes)), back)  # type: ignore[union-attr]
    items = [i for v in lists for i in seq_items(v)]
    return collapse([items[k] for k in back.tolist()])


def _repeated(v: Value, n: int) -> Value:
    t = atom_t(v)
    return Vec(t, np.full(n, raw(v), T.DTYPE[t])) if t and t not in (T.G, T.ENUM) else collapse([v] * n)
