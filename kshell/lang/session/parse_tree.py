"""Parse trees as q values: `parse` converts a node to a value; `eval` and functional qSQL compile values again.

A variable is a symbol, a symbol constant an enlisted symbol, an application a list of the function and its arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kshell import registry
from kshell.errors import Frame, QError, Source
from kshell.lang.compiler.aggregate_calls import aggregate_of
from kshell.lang.compiler.built_ins import is_infix, known
from kshell.lang.compiler.code_objects import build, caller_locals
from kshell.lang.compiler.compile import Compiler, check_stores, compile_lambda
from kshell.lang.compiler.expr import K_UNARY, E
from kshell.lang.compiler.literal import value_of
from kshell.lang.compiler.tree_queries import Const, column_names, group_clash, inferred_name, walk
from kshell.lang.qsql import functional
from kshell.lang.qsql.select import Phrase
from kshell.parse import parse_text
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
    Value,
    Vec,
    is_list,
    sym_vec,
    text_of,
)
from kshell.values.base.functions import Function, Iter, Prim
from kshell.values.base.symbols import Sym, sym
from kshell.values.session.context import running
from kshell.values.session.restrict import RESTRICTING, restriction

# ------------------------------------------------------------------ node to value


def tree_value(node: N.Node) -> Value:
    """The q parse tree of a node."""
    convert = getattr(_Values, type(node).__name__, None)
    if convert is None:
        raise QError("nyi")
    return convert(node)


_AMENDS: dict[str, Any] = {}


def amend_prim(name: str) -> Value:
    """The value of `+:` in `x+:y`."""
    entry = registry.find("verb", name)
    if name not in _AMENDS and entry is not None:
        _AMENDS[name] = Prim(name + ":", entry.fns, entry, 101)
    return _AMENDS.get(name) or sym(name + ":")


def _row(head: Value, nodes: Sequence[N.Node]) -> Value:
    return List([head, *map(tree_value, nodes)])


class _Values:
    """A builder for each node type, by type name."""

    @staticmethod
    def Lit(node: N.Lit) -> Value:
        value = value_of(node)
        return (
            enlist(value)
            if value.__class__ is Sym or (value.__class__ is Vec and value.t == T.S)
            else value
        )

    @staticmethod
    def Name(node: N.Name) -> Value:
        return known(node.name)

    @staticmethod
    def Verb(node: N.Verb) -> Value:
        return known(node.glyph)

    @staticmethod
    def Iterator(node: N.Iterator) -> Value:
        if node.f is None:
            return Iter(node.glyph)
        return List([Iter(node.glyph), tree_value(node.f)])

    @staticmethod
    def Elided(node: N.Elided) -> Value:
        return NIL

    @staticmethod
    def ListOf(node: N.ListOf) -> Value:
        return _row(known("enlist"), node.items) if node.items else List([])

    @staticmethod
    def TableOf(node: N.TableOf) -> Value:
        columns = List([known("flip"), _literal(node.cols)])
        return (
            List([known("!"), List([known("flip"), _literal(node.keys)]), columns])
            if node.keys
            else columns
        )

    @staticmethod
    def DictOf(node: N.DictOf) -> Value:
        return _literal(node.items)

    @staticmethod
    def Apply(node: N.Apply) -> Value:
        function = node.f
        if isinstance(function, N.Verb) and len(node.args) == 1 and function.glyph + ":" in K_UNARY:
            return List([known(K_UNARY[function.glyph + ":"]), tree_value(node.args[0])])
        return List([tree_value(function), *(map(tree_value, node.args) if node.args else [NIL])])

    @staticmethod
    def Compose(node: N.Compose) -> Value:
        return _row(known("'"), node.fs)

    @staticmethod
    def Assign(node: N.Assign) -> Value:
        if isinstance(node.op, N.Verb):
            operator = amend_prim(node.op.glyph)
        else:
            operator = known(":") if node.op is None else NIL
        return List([operator, tree_value(node.target), tree_value(node.value)])

    @staticmethod
    def View(node: N.View) -> Value:
        body = node.body[0] if len(node.body) == 1 else N.Block(node.body, node.start, node.end)
        return List([NIL, sym(node.name), tree_value(body)])

    @staticmethod
    def Lambda(node: N.Lambda) -> Value:
        names = running().names
        return compile_lambda(node, Source(node.text), names, names.current)

    @staticmethod
    def Cond(node: N.Cond) -> Value:
        return _row(known("$"), node.args)

    @staticmethod
    def Control(node: N.Control) -> Value:
        return _row(sym(node.word), node.args)

    @staticmethod
    def Block(node: N.Block) -> Value:
        return _row(Atom(T.C, 59), node.items)

    @staticmethod
    def Return(node: N.Return) -> Value:
        return List([known(":"), tree_value(node.value)])

    @staticmethod
    def Signal(node: N.Signal) -> Value:
        return List([Iter("'"), tree_value(node.value)])

    @staticmethod
    def Select(node: N.Select) -> Value:
        return _select_value(node)


def _literal(pairs: list[N.Column]) -> Value:
    """`names!values` for the columns of a literal."""
    values = List([known("enlist"), *(tree_value(node) for _, node in pairs)])
    return List([known("!"), enlist(sym_vec(column_names(pairs))), values])


def _pairs(pairs: list[N.Column]) -> Value:
    names = column_names(pairs)
    return Dict(sym_vec(names), collapse([tree_value(node) for _, node in pairs]))


def _exec_value(pairs: list[N.Column]) -> Value:
    """The columns or keys of an exec; an unnamed one stands for itself."""
    if len(pairs) == 1 and pairs[0][0] is None:
        return enlist(tree_value(pairs[0][1]))
    return _pairs(pairs) if pairs else List([])


def _limit_values(options: N.Options) -> list[Value]:
    """The fifth and sixth arguments of a select: row limit and order."""
    if not isinstance(options, tuple):
        return []
    count, order, column = options
    limit = [INF_J if count is None else tree_value(count)]
    if order is None or column is None:
        return limit
    return [*limit, enlist(List([known("idesc" if order == ">" else "iasc"), tree_value(column)]))]


def _select_value(node: N.Select) -> Value:
    """The functional form of a template."""
    where: Value = List([]) if not node.where else enlist(List([tree_value(w) for w in node.where]))
    if node.verb == "delete":
        columns: Value = (
            enlist(sym_vec([inferred_name(column) for _, column in node.cols]))
            if node.cols
            else Vec(T.S, sym_vec([]).a)
        )
        return List([known("!"), tree_value(node.source), where, False, columns])
    distinct = node.options == "distinct"
    if node.verb == "exec":
        names = node.cols
        if distinct and names:
            names = [
                (names[0][0], N.Apply(N.Name("distinct", 0, 0), [names[0][1]], 0, 0)),
                *names[1:],
            ]
        grouping, columns = _exec_value(node.by or []), _exec_value(names)
    else:
        clash = group_clash(node)
        if clash:
            raise QError(clash)
        grouping, columns = (
            _pairs(node.by) if node.by else distinct,
            _pairs(node.cols) if node.cols else List([]),
        )
    function = known("!" if node.verb == "update" else "?")
    return List(
        [function, tree_value(node.source), where, grouping, columns, *_limit_values(node.options)]
    )


# ------------------------------------------------------------------ value to node


def node_of(x: Value) -> N.Node:
    """The node for a parse tree value."""
    if x.__class__ is Sym:
        return N.Name(x.s, 0, 0) if x.s else Const(x)
    if x.__class__ is Vec and x.t == T.S and len(x):
        if len(x) == 1:
            return Const(x.item(0))
        x = List(x.items)  # a name applied to names
    if x.__class__ is not List or not x.items:
        return Const(x)
    function, *arguments = x.items
    if not arguments:
        return Const(function)
    special = _special(function, arguments)
    if special is not None:
        return special
    return N.Apply(_head(function), [_argument(argument) for argument in arguments], 0, 0)


def _special(head: Value, args: list[Value]) -> N.Node | None:
    """The node for an assignment, derived function, signal or block; None for a plain application."""
    if head.__class__ is Iter and len(args) == 1:
        if head.glyph == "'" and (
            args[0].__class__ is not Sym and not isinstance(args[0], (Function, List))
        ):
            return N.Signal(node_of(args[0]), 0, 0)
        return N.Iterator(head.glyph, _head(args[0]), 0, 0)
    if head.__class__ is Prim and head.name == "$" and len(args) > 2:
        return N.Cond([_argument(argument) for argument in args], 0, 0)
    if head.__class__ is Sym and head.s in ("if", "while", "do"):
        return N.Control(head.s, [_argument(argument) for argument in args], 0, 0)
    if head.__class__ is Atom and head.t == T.C and head.v == 59:
        return N.Block([_argument(argument) for argument in args], 0, 0)
    if len(args) != 2:
        return None
    operator: N.Verb | str | None = None
    if head is NIL:
        operator = "::"
    elif head.__class__ is not Prim:
        return None
    elif _AMENDS.get(head.name[:-1]) is head:
        operator = N.Verb(head.name[:-1], 0, 0)
    elif head.name != ":":
        return None
    if args[0].__class__ is not Sym and not (is_list(args[0]) and len(args[0]) > 1):
        return None
    return N.Assign(_target(node_of(args[0])), operator, _argument(args[1]), 0, 0)


def _target(node: N.Node) -> N.Node:
    """A node as an assignment target: `(enlist;a;b)` is a pattern."""
    if isinstance(node, N.Apply) and isinstance(node.f, N.Name) and node.f.name == "enlist":
        return N.ListOf([_target(argument) for argument in node.args], 0, 0)
    return node


def _head(x: Value) -> N.Node:
    if x.__class__ is List:
        return node_of(x)
    name = getattr(x, "name", None)
    if isinstance(name, str) and registry.find("verb", name) is not None:
        return N.Name(name, 0, 0)
    return N.Name(x.s, 0, 0) if x.__class__ is Sym else Const(x)


def _argument(x: Value) -> N.Node:
    return Const(NIL) if x is NIL else node_of(x)


class _TreeCompiler(Compiler):
    """The compiler, for trees that contain values."""

    caller: dict[str, Any] = {}  # the locals of the function that calls functional qSQL

    def _Const(self, node: Const) -> E:
        return self.const(node.value)

    def variable(self, node: N.Name) -> E:
        value = self.caller.get(self.local(node.name)) if self.caller else None
        return (
            self.const(value)
            if value is not None and node.name[0] != "_"
            else super().variable(node)
        )


def phrase(x: Value) -> Phrase:
    """The Phrase for a parse tree in functional qSQL: a symbol is a column, else a local variable of the calling
    function, else a global."""
    return _node_phrase(node_of(x), caller_locals())


def _node_phrase(node: N.Node, caller: dict[str, Any]) -> Phrase:
    names = running().names
    compiler = _TreeCompiler(names, names.current, Source(""), None)
    compiler.columns, compiler.caller = 1, caller
    compiler.tail(node)
    function = build("_p", "_c", compiler.block, compiler.consts, compiler.source, compiler.space)
    parsed = aggregate_of(node)
    aggregate = parsed and (
        parsed[0],
        *(
            argument.name if isinstance(argument, N.Name) else _node_phrase(argument, caller)
            for argument in parsed[1]
        ),
    )
    return Phrase(function, node, inferred_name(node), aggregate)


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
    trees: list[Value] = []
    try:
        nodes = [
            statement.expr
            for statement in parse_text(text, is_infix, source)
            if isinstance(statement, N.Statement)
        ]
        for node in walk(nodes):
            _check_unary(node, source)
        trees = [tree_value(node) for node in nodes]
    except QError as e:
        problem = e
    if problem is not None:
        problem.frames.append(Frame(Source("", name=".q.parse"), 0))
        raise problem
    if len(trees) == 1:
        return trees[0]
    return List([Atom(T.C, 59), *trees]) if trees else NIL


def _check_unary(node: N.Node, source: Source) -> None:
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
    compiler = _TreeCompiler(names, names.current, Source(""), None)
    compiler.tail(node_of(x))
    lines: list[Any] = (
        ["global " + ",".join(sorted(compiler.global_stores))] if compiler.global_stores else []
    )
    return build(
        "_s", "", lines + compiler.block, compiler.consts, compiler.source, compiler.space
    )()


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
