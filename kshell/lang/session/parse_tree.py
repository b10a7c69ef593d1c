"""Parse trees as q values: `parse` converts a node to a value; `eval` and functional qSQL compile values again.

A variable is a symbol, a symbol constant an enlisted symbol, an application a list of the function and its arguments.
"""

from __future__ import annotations

from typing import Any

from kshell import registry
from kshell.errors import Frame, QError, Source
from kshell.lang.compiler.aggregate_calls import aggregate_of
from kshell.lang.compiler.code_objects import build, caller_locals
from kshell.lang.compiler.compile import Compiler, check_stores, compile_lambda, is_infix, known
from kshell.lang.compiler.expr import K_UNARY, E
from kshell.lang.compiler.literal import value_of
from kshell.lang.compiler.tree_queries import column_names, group_clash, inferred_name, walk
from kshell.lang.qsql import functional
from kshell.lang.qsql.select import Phrase
from kshell.parse import parse as parse_text
from kshell.parse import tree as N
from kshell.registry import verb
from kshell.values.base import types as T
from kshell.values.base.build import collapse, enlist
from kshell.values.base.core import (
    INF_J,
    NIL,
    Atom,
    Dict,
    List,
    Sym,
    Value,
    Vec,
    is_list,
    sym,
    sym_vec,
    text_of,
)
from kshell.values.base.functions import Function, Iter, Prim
from kshell.values.session.context import running
from kshell.values.session.restrict import RESTRICTING, restriction

# ------------------------------------------------------------------ node to value


def tree_value(node: Any) -> Value:
    """The q parse tree of a node."""
    made = getattr(_Values, type(node).__name__, None)
    if made is None:
        raise QError("nyi")
    return made(node)


_AMENDS: dict[str, Any] = {}


def amend_prim(op: Any) -> Value:
    """The value of `+:` in `x+:y`."""
    name = op.glyph if isinstance(op, N.Verb) else op.name
    entry = registry.find("verb", name)
    if name not in _AMENDS and entry is not None:
        _AMENDS[name] = Prim(name + ":", entry.fns, entry, 101)
    return _AMENDS.get(name) or sym(name + ":")


def _row(head: Value, nodes: list[Any]) -> Value:
    return List([head, *map(tree_value, nodes)])


class _Values:
    """A builder for each node type, by type name."""

    @staticmethod
    def Lit(node: Any) -> Value:
        x = value_of(node)
        return enlist(x) if x.__class__ is Sym or (x.__class__ is Vec and x.t == T.S) else x

    @staticmethod
    def Name(node: Any) -> Value:
        return known(node.name)

    @staticmethod
    def Verb(node: Any) -> Value:
        return known(node.glyph)

    @staticmethod
    def Iterator(node: Any) -> Value:
        if node.f is None:
            return Iter(node.glyph)
        return List([Iter(node.glyph), tree_value(node.f)])

    @staticmethod
    def Elided(node: Any) -> Value:
        return NIL

    @staticmethod
    def ListOf(node: Any) -> Value:
        return _row(known("enlist"), node.items) if node.items else List([])

    @staticmethod
    def TableOf(node: Any) -> Value:
        cols = List([known("flip"), _literal(node.cols)])
        return (
            List([known("!"), List([known("flip"), _literal(node.keys)]), cols])
            if node.keys
            else cols
        )

    @staticmethod
    def DictOf(node: Any) -> Value:
        return _literal(node.items)

    @staticmethod
    def Apply(node: Any) -> Value:
        f = node.f
        if isinstance(f, N.Verb) and len(node.args) == 1 and f.glyph + ":" in K_UNARY:
            return List([known(K_UNARY[f.glyph + ":"]), tree_value(node.args[0])])
        return List([tree_value(f), *(map(tree_value, node.args) if node.args else [NIL])])

    @staticmethod
    def Compose(node: Any) -> Value:
        return _row(known("'"), node.fs)

    @staticmethod
    def Assign(node: Any) -> Value:
        op = NIL if node.op == "::" else known(":") if node.op is None else amend_prim(node.op)
        return List([op, tree_value(node.target), tree_value(node.value)])

    @staticmethod
    def View(node: Any) -> Value:
        body = node.body[0] if len(node.body) == 1 else N.Block(node.body, node.start, node.end)
        return List([NIL, sym(node.name), tree_value(body)])

    @staticmethod
    def Lambda(node: Any) -> Value:
        names = running().names
        return compile_lambda(node, Source(node.text), names, names.current)

    @staticmethod
    def Cond(node: Any) -> Value:
        return _row(known("$"), node.args)

    @staticmethod
    def Control(node: Any) -> Value:
        return _row(sym(node.word), node.args)

    @staticmethod
    def Block(node: Any) -> Value:
        return _row(Atom(T.C, 59), node.items)

    @staticmethod
    def Return(node: Any) -> Value:
        return List([known(":"), tree_value(node.value)])

    @staticmethod
    def Signal(node: Any) -> Value:
        return List([Iter("'"), tree_value(node.value)])

    @staticmethod
    def Select(node: Any) -> Value:
        return _select_value(node)


def _literal(pairs: list[tuple[str | None, Any]]) -> Value:
    """`names!values` for the columns of a literal."""
    values = List([known("enlist"), *(tree_value(n) for _, n in pairs)])
    return List([known("!"), enlist(sym_vec(column_names(pairs))), values])


def _pairs(pairs: list[tuple[str | None, Any]]) -> Value:
    names = column_names(pairs)
    return Dict(sym_vec(names), collapse([tree_value(n) for _, n in pairs]))


def _exec_value(pairs: list[tuple[str | None, Any]]) -> Value:
    """The columns or keys of an exec; an unnamed one stands for itself."""
    if len(pairs) == 1 and pairs[0][0] is None:
        return enlist(tree_value(pairs[0][1]))
    return _pairs(pairs) if pairs else List([])


def _limit_values(options: Any) -> list[Value]:
    """The fifth and sixth arguments of a select: row limit and order."""
    if not options or "distinct" in options:
        return []
    count, order, column = options
    n = [INF_J if count is None else tree_value(count)]
    return (
        n
        if order is None
        else [*n, enlist(List([known("idesc" if order == ">" else "iasc"), tree_value(column)]))]
    )


def _select_value(node: Any) -> Value:
    """The functional form of a template."""
    where: Value = List([]) if not node.where else enlist(List([tree_value(w) for w in node.where]))
    if node.verb == "delete":
        cols: Value = (
            enlist(sym_vec([inferred_name(n) for _, n in node.cols]))
            if node.cols
            else Vec(T.S, sym_vec([]).a)
        )
        return List([known("!"), tree_value(node.source), where, False, cols])
    distinct = node.options is not None and "distinct" in node.options
    if node.verb == "exec":
        names = node.cols
        if distinct and names:
            names = [
                (names[0][0], N.Apply(N.Name("distinct", 0, 0), [names[0][1]], 0, 0)),
                *names[1:],
            ]
        by, cols = _exec_value(node.by or []), _exec_value(names)
    else:
        clash = group_clash(node)
        if clash:
            raise QError(clash)
        by, cols = (
            _pairs(node.by) if node.by else distinct,
            _pairs(node.cols) if node.cols else List([]),
        )
    head = known("!" if node.verb == "update" else "?")
    return List([head, tree_value(node.source), where, by, cols, *_limit_values(node.options)])


# ------------------------------------------------------------------ value to node


class Const(N.Node):
    """A constant in a tree made from a value."""

    __slots__ = ("value",)

    def __init__(self, value: Value) -> None:
        super().__init__(0, 0)
        self.value = value


def node_of(x: Value) -> Any:
    """The node for a parse tree value."""
    c = x.__class__
    if c is Sym:
        return N.Name(x.s, 0, 0) if x.s else Const(x)
    if c is Vec and x.t == T.S and len(x):
        if len(x) == 1:
            return Const(x.item(0))
        x = List(x.items)  # a name applied to names
        c = List
    if c is not List or not x.items:
        return Const(x)
    head, *args = x.items
    if not args:
        return Const(head)
    special = _special(head, args)
    if special is not None:
        return special
    return N.Apply(_head(head), [_argument(arg) for arg in args], 0, 0)


def _special(head: Value, args: list[Value]) -> Any:
    """The node for an assignment, derived function, signal or block; None for a plain application."""
    cls = head.__class__
    if cls is Iter and len(args) == 1:
        if head.glyph == "'" and (
            args[0].__class__ is not Sym and not isinstance(args[0], (Function, List))
        ):
            return N.Signal(node_of(args[0]), 0, 0)
        return N.Iterator(head.glyph, _head(args[0]), 0, 0)
    if cls is Prim and head.name == "$" and len(args) > 2:
        return N.Cond([_argument(arg) for arg in args], 0, 0)
    if cls is Sym and head.s in ("if", "while", "do"):
        return N.Control(head.s, [_argument(arg) for arg in args], 0, 0)
    if cls is Atom and head.t == T.C and head.v == 59:
        return N.Block([_argument(arg) for arg in args], 0, 0)
    if len(args) != 2 or not (cls is Prim or head is NIL):
        return None
    op: Any = None
    if head is NIL:
        op = "::"
    elif _AMENDS.get(head.name[:-1]) is head and head is not None:
        op = N.Verb(head.name[:-1], 0, 0)
    elif head.name != ":":
        return None
    if args[0].__class__ is not Sym and not (is_list(args[0]) and len(args[0]) > 1):
        return None
    return N.Assign(_target(node_of(args[0])), op, _argument(args[1]), 0, 0)


def _target(node: Any) -> Any:
    """A node as an assignment target: `(enlist;a;b)` is a pattern."""
    if isinstance(node, N.Apply) and isinstance(node.f, N.Name) and node.f.name == "enlist":
        return N.ListOf([_target(arg) for arg in node.args], 0, 0)
    return node


def _head(x: Value) -> Any:
    if x.__class__ is List:
        return node_of(x)
    name = getattr(x, "name", None)
    if isinstance(name, str) and registry.find("verb", name) is not None:
        return N.Name(name, 0, 0)
    return N.Name(x.s, 0, 0) if x.__class__ is Sym else Const(x)


def _argument(x: Value) -> Any:
    return Const(NIL) if x is NIL else node_of(x)


class _TreeCompiler(Compiler):
    """The compiler, for trees that contain values."""

    caller: dict[str, Any] = {}  # the locals of the function that calls functional qSQL

    def _Const(self, node: Any) -> E:
        return self.const(node.value)

    def variable(self, node: Any) -> E:
        found = self.caller.get(self.local(node.name)) if self.caller else None
        return (
            self.const(found)
            if found is not None and node.name[0] != "_"
            else super().variable(node)
        )


def phrase(x: Value) -> Phrase:
    """The Phrase for a parse tree in functional qSQL: a symbol is a column, else a local variable of the calling
    function, else a global."""
    return _node_phrase(node_of(x), caller_locals())


def _node_phrase(node: Any, caller: dict[str, Any]) -> Phrase:
    names = running().names
    c = _TreeCompiler(names, names.current, Source(""), None)
    c.columns, c.caller = 1, caller
    c.tail(node)
    fn = build("_p", "_c", c.block, c.consts, c.source, c.space)
    found = aggregate_of(node)
    agg = found and (
        found[0],
        *(a.name if isinstance(a, N.Name) else _node_phrase(a, caller) for a in found[1]),
    )
    return Phrase(fn, node, inferred_name(node), agg)


# ------------------------------------------------------------------ the verbs


@verb("parse")
def parse(x: Value) -> Value:
    """The parse tree of a q string.

    q)parse"1+2"
    +
    1
    2
    """
    text = text_of(x)
    source = Source(text)
    problem: QError | None = None
    out: list[Value] = []
    try:
        found = [s.expr for s in parse_text(text, is_infix, source) if isinstance(s, N.Statement)]
        for node in walk(found):
            _check_unary(node, source)
        out = [tree_value(node) for node in found]
    except QError as e:
        problem = e
    if problem is not None:
        problem.frames.append(Frame(Source("", name=".q.parse"), 0))
        raise problem
    if len(out) == 1:
        return out[0]
    return List([Atom(T.C, 59), *out]) if out else NIL


def _check_unary(node: Any, source: Source) -> None:
    """`+2`: an operator without a unary form, used as if it had one, is an error."""
    if (
        node.__class__ is not N.Apply
        or node.f.__class__ is not N.Verb
        or len(node.args) != 1
        or node.f.glyph == "-"
    ):
        return
    entry = registry.find("verb", node.f.glyph)
    if (
        entry is not None
        and 1 not in entry.fns
        and source.text[node.f.end : node.f.end + 1] not in ("[", ")")
    ):
        raise QError(node.f.glyph, node.f.start, source)


@verb("eval")
def eval_(x: Value) -> Value:
    """Evaluate a parse tree.

    q)eval(+;1;2)
    3
    """
    names = running().names
    c = _TreeCompiler(names, names.current, Source(""), None)
    c.tail(node_of(x))
    head: list[Any] = ["global " + ",".join(sorted(c.global_stores))] if c.global_stores else []
    return build("_s", "", head + c.block, c.consts, c.source, c.space)()


@verb("reval")
def reval(x: Value) -> Value:
    """Evaluate a parse tree like eval, but without changing, running or opening anything outside.

    Assigning a global is 'noupdate, and so are functions that write files, step, train or edit k-api objects. System
    commands other than those that read, exit, hopen and communication with other processes are 'access. Files are read
    only below the current folder. Random numbers drawn inside do not affect those drawn outside.

    q)reval(+;1;2)
    3
    q)a:1
    q)reval parse"a:2"
    'noupdate: `. `a
      [0]  reval parse"a:2"
           ^
    """
    check_stores(running().names)
    with restriction():
        return eval_(x)


RESTRICTING.add(id(reval.__code__))


def connect() -> None:
    """Connect qsql to the compilation of parse trees to phrases."""
    functional.TREE.set(phrase)
