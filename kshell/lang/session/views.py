"""Views, `name::expression` at the top level of the root namespace: evaluated when they are read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kshell import registry
from kshell.errors import QError, Source
from kshell.lang.compiler.compile import compile_again, compile_statement
from kshell.lang.session.parse_tree import tree_value
from kshell.parse import parse
from kshell.parse import tree as N
from kshell.registry import command, verb
from kshell.values.base import types as T
from kshell.values.base.build import collapse, string
from kshell.values.base.core import NIL, Dict, List, Value, Vec, sym_vec
from kshell.values.base.describe import word_hint
from kshell.values.base.functions import View
from kshell.values.base.symbols import Sym
from kshell.values.change.names import NEW_VIEW, Names
from kshell.values.session.context import running
from kshell.values.session.interrupts import ASSIGNED, PENDING, brief, let_through


def statement(node: N.View, source: Source, names: Names) -> Callable[[], Value]:
    """The Python function for a View node; outside the root namespace it is an ordinary assignment."""
    if names.current != ".":
        assign = N.Assign(
            N.Name(node.name, node.start, node.at),
            "::",
            node.body[0],
            node.start,
            node.end,
            node.at,
        )
        return compile_statement(
            N.Block([assign, *node.body[1:]], node.start, node.end), source, names
        )
    if registry.find("verb", node.name) is not None:
        raise QError("assign", node.at, source, word_hint(node.name))
    return lambda: define(node, source, names)


@brief
def define(node: N.View, source: Source, names: Names) -> Value:
    """Define the view. Code that reads the name as a variable is recompiled."""
    body = node.body[0] if len(node.body) == 1 else N.Block(node.body, node.start, node.end)
    needs = tuple(dict.fromkeys(needed(node.body)))
    compiled: list[Any] = [None, None]

    def compute() -> Value:
        # what names mean may have changed since: from variable to view, from built-in to the user's own
        if compiled[0] != names.generation:
            compiled[:] = [names.generation, compile_statement(body, source, names)]
        return compiled[1]()

    names.define_view(View(node.name, node.text, needs, lambda: tree_value(body), compute))
    for function in list(names.lambdas):
        if function.ctx == "." and node.name in function.globals:
            compile_again(function, names)
    return let_through(ASSIGNED, NIL) if PENDING else NIL


def from_text(name: str, text: str) -> Callable[[], Value]:
    """Check the text of a single view read as data ('corrupt if it is anything else), and return a function that
    defines the view. Nothing is evaluated."""
    source = Source(f"{name}::{text}", "", 0)
    nodes = parse(source.text, lambda _: False, source)
    only = nodes[0] if len(nodes) == 1 else None
    view = only.expr if isinstance(only, N.Statement) else None
    if not isinstance(view, N.View) or view.name != name:
        raise QError("corrupt")
    return lambda: define(view, source, running().names)


NEW_VIEW.set(from_text)


def needed(nodes: object) -> Iterator[str]:
    """The variables that an expression names, from left to right; for a template, only those in its source."""
    for node in nodes if isinstance(nodes, (list, tuple)) else [nodes]:
        if isinstance(node, (list, tuple)):
            yield from needed(node)
        elif isinstance(node, N.Name):
            if registry.find("verb", node.name) is None and node.name[0] != ".":
                yield node.name.split(".")[0]
        elif isinstance(node, N.Select):
            yield from needed(node.source)
        elif isinstance(node, N.Apply) and node.f.__class__ is not N.Name:
            yield from needed(
                [*node.args, node.f] if node.f.__class__ is N.Iterator else [node.f, *node.args]
            )
        elif isinstance(node, N.Node) and not isinstance(node, N.Lambda):
            for field in node.fields:
                yield from needed(
                    getattr(node, field)
                    if isinstance(getattr(node, field), (list, tuple, N.Node))
                    else []
                )


def parts(v: View) -> Value:
    """`value` of a view: the last value, the parse tree, its dependencies, its text."""
    return List([NIL if v.value is None else v.value, v.tree(), sym_vec(v.needs), string(v.text)])


def _named(pick: Any) -> Value:
    symbols = sym_vec(sorted(view for view in list(running().names.views) if pick(view)))
    return Vec(T.S, symbols.a, "s" if len(symbols.a) else "")


@verb("views")
def views(x: Value) -> Value:
    """The names of all views, sorted.

    q)v::w+1
    q)views`
    `s#,`v
    """
    names = running().names
    return _named(lambda n: names.view(n) is not None)


@verb("view")
def view(x: Value) -> Value:
    """The expression of a view, as text.

    q)v::w+1
    q)view`v
    "w+1"
    """
    definition = running().names.view(x.s) if x.__class__ is Sym else None
    if definition is None:
        raise QError("type" if x.__class__ is not Sym else x.s)
    return string(definition.text)


@command("b", "\\b", "\\b .ns", effect="none")
def list_views(arg: str) -> Value:
    """The views of the root namespace.

    q)a:2
    q)v::a*a
    q)\\b
    `s#,`v
    """
    return views(NIL) if arg in ("", ".") else sym_vec([])


@command("B", "\\B", "\\B .ns", effect="none")
def list_pending(arg: str) -> Value:
    """The views that will be evaluated when next read.

    q)a:2
    q)v::a*a
    q)\\B
    ,`v
    q)v
    4
    q)\\B
    `symbol$()
    """
    return sym_vec(
        sorted(view for view in list(running().names.views) if running().names.pending(view))
    )


def depends() -> Value:
    """For each variable used by views, those views: the value of `.z.b`."""
    names = running().names
    dependents: dict[str, list[str]] = {}
    for view in sorted(names.views):
        definition = names.view(view)
        for need in definition.needs if definition is not None else ():
            dependents.setdefault(need, []).append(view)
    return Dict(
        sym_vec(dependents),
        collapse([sym_vec(value) for value in dependents.values()]) if dependents else List([]),
    )
