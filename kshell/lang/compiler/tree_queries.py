"""Questions about a tree that the compiler asks before emitting code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from kshell import registry
from kshell.parse import tree as N
from kshell.values.engine.dispatch import ATOMIC

Nodes: TypeAlias = "N.Node | Sequence[N.Node]"
# leaf nodes; lambdas count as leaves, because the names in their bodies are their own
_LEAVES = frozenset((N.Lit, N.Name, N.Verb, N.Elided, N.Lambda, N.Command, N.Prefixed))


def children(node: N.Node) -> list[N.Node]:
    """The nodes directly under a node, except lambda bodies."""
    nodes: list[N.Node] = []
    if node.__class__ not in _LEAVES:
        for field in node.fields:
            _gather(getattr(node, field), nodes)
    return nodes


def _gather(x: object, out: list[N.Node]) -> None:
    """Add the nodes in a field, possibly nested in lists, to out."""
    if isinstance(x, N.Node):
        out.append(x)
    elif isinstance(x, (list, tuple)):
        for item in x:
            _gather(item, out)


class Const(N.Node):
    """A constant in a tree made from a value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        super().__init__(0, 0)
        self.value = value


def walk(nodes: Nodes, templates: bool = True) -> Iterator[N.Node]:
    """Every node under these, including themselves; lambdas are not entered; templates, if not to be entered either,
    only contribute the source and the row limit."""
    stack: list[N.Node] = []
    _gather(nodes, stack)
    while stack:
        node = stack.pop()
        yield node
        if node.__class__ in _LEAVES:
            continue
        if node.__class__ is N.Apply:  # the common case of inner nodes: all fields are nodes
            stack.append(node.f)
            stack += node.args
        elif node.__class__ is N.Select and not templates:
            _gather(
                (node.source, node.options[0] if isinstance(node.options, tuple) else None), stack
            )
        else:
            for field in node.fields:
                _gather(getattr(node, field), stack)


def params_of(node: N.Lambda) -> tuple[str, ...]:
    """The parameters of a lambda; implicit ones are x, y, z up to the last one its body uses."""
    if node.params is not None:
        return tuple(node.params)
    used = {
        descendant.name.split(".")[0]
        for descendant in walk(node.body, templates=False)
        if isinstance(descendant, N.Name)
    }
    return ("x", "y", "z")[: 3 if "z" in used else 2 if "y" in used else 1]


def pattern_names(target: N.Node) -> Iterator[str]:
    """The names that a pattern assigns."""
    if isinstance(target, N.Name):
        yield target.name
    elif isinstance(target, N.ListOf):
        for element in target.items:
            yield from pattern_names(element)
    elif isinstance(target, N.Assign):
        yield from pattern_names(target.target)
    elif isinstance(target, N.DictOf):
        for _, element in target.items:
            yield from pattern_names(element)
    elif isinstance(target, N.TableOf):
        for _, element in [*(target.keys or ()), *target.cols]:
            yield from pattern_names(element)
    elif isinstance(target, N.Apply) and _is_pattern(target.f):
        for element in target.args:
            yield from pattern_names(element)


def _is_pattern(f: N.Node) -> bool:
    return isinstance(f, N.Verb) or (isinstance(f, N.Name) and f.name == "flip")


def locals_of(body: list[N.Node], params: tuple[str, ...]) -> set[str]:
    """The names that a lambda's body assigns with `:` (also indexed or compound), other than its parameters."""
    names: set[str] = set()
    for node in walk(body):
        if isinstance(node, N.Assign) and node.op is None:
            names.update(pattern_names(node.target))
        elif (
            isinstance(node, N.Apply)
            and isinstance(node.f, N.Verb)
            and node.f.glyph == ":"
            and len(node.args) > 2
        ):
            for pattern in node.args[1:-1:2]:
                names.update(pattern_names(pattern))
    return {name for name in names if "." not in name} - set(params)


def late_local(body: list[N.Node], local: set[str]) -> N.Name | None:
    """The Name of a local that is set as a global, `a::1`, before `a:1` makes it a local; None if there is none."""
    early: set[str] = set()
    assigned: set[str] = set()
    targets = [
        (node.target, node.op)
        for node in walk(body)
        if isinstance(node, N.Assign) and isinstance(node.target, N.Name)
    ]
    for target, operator in sorted(targets, key=lambda pair: pair[0].start):
        if operator == "::" and target.name not in assigned:
            early.add(target.name)
        elif operator is None and target.name in early & local:
            return target
        elif operator is None:
            assigned.add(target.name)
    return None


def set_first(body: list[N.Node]) -> set[str]:
    """The variables that statements at the start of the body assign before anything reads them."""
    names: set[str] = set()
    mentioned: set[str] = set()
    for statement in body:
        if isinstance(statement, (N.Return, N.Signal)):
            break
        name, node = "", statement
        if (
            isinstance(statement, N.Assign)
            and isinstance(statement.target, N.Name)
            and statement.op is None
        ):
            name, node = statement.target.name, statement.value
        mentioned |= {node.name.split(".")[0] for node in walk([node]) if isinstance(node, N.Name)}
        if name and name not in mentioned:
            names.add(name)
    return names


def uses(nodes: Nodes, name: str) -> bool:
    """Does the code refer to this variable?"""
    return any(
        isinstance(node, N.Name) and (node.name == name or node.name.startswith(name + "."))
        for node in walk(nodes)
    )


def assigns(nodes: Nodes) -> set[str]:
    """The unqualified variables assigned in some code."""
    names: set[str] = set()
    for node in walk(nodes):
        if isinstance(node, N.Assign):
            target = node.target
            names.update(pattern_names(target))
            if isinstance(target, N.Apply) and isinstance(target.f, N.Name):
                names.add(target.f.name)
    return names


def loops(nodes: Nodes) -> bool:
    """Is there a `while` or `do`?"""
    return any(isinstance(node, N.Control) and node.word in ("while", "do") for node in walk(nodes))


# operators whose column is named after the first argument: `a+b` is a, but `` `g#a `` and `5 xbar a` are also a
_FIRST = frozenset(
    ("+", "-", "*", "%", "&", "|", "^", "=", "<", ">", "<>", "<=", ">=", "and", "or")
)
_COMPARE = frozenset(("=", "<", ">", "<>", "<=", ">="))


def inferred_name(node: N.Node) -> str:
    """The column name that q infers from an expression: the last part of the variable reached through the first
    argument of arithmetic operators and comparisons (or their second, if the first is a constant), and through the last
    argument of everything else; `x` if there is none."""
    default = "x"
    while True:
        if isinstance(node, N.Name):
            is_word = registry.find("verb", node.name) is not None
            # i numbers the rows
            return default if is_word or node.name == "i" else node.name.rpartition(".")[2]
        if isinstance(node, N.Apply) and node.args:
            operator = (
                node.f.glyph
                if isinstance(node.f, N.Verb)
                else node.f.name
                if isinstance(node.f, N.Name)
                else ""
            )
            takes_first = operator in _FIRST and not (
                operator in _COMPARE and isinstance(node.args[0], N.Lit)
            )
            node = node.args[0 if takes_first else -1]
        elif isinstance(node, N.Assign):
            node = node.target
        elif isinstance(node, N.ListOf) and node.items:
            node = node.items[-1]
        else:
            return default


def column_names(pairs: list[N.Column]) -> list[str]:
    """The names of columns, given or inferred; duplicates get 1, 2, ... appended."""
    names: list[str] = []
    for explicit, node in pairs:
        name = explicit or inferred_name(node)
        prefix, number = name, 0
        while name in names:
            number += 1
            name = f"{prefix}{number}"
        names.append(name)
    return names


def group_clash(node: N.Select) -> str:
    """The error if a select gives a column the name of a group, else ''."""
    if node.verb == "select" and node.by and node.cols:
        groups = set(column_names(node.by))
        for name in column_names(node.cols):
            if name in groups:
                return f"dup names for cols/groups {name}"
    return ""


def atomic_expr(node: N.Node, params: tuple[str, ...]) -> bool:
    """Does the expression consist only of atomic verbs on the parameters and number atoms, with every parameter in
    it?"""
    if not isinstance(node, N.Apply) or not _atomic(node, params):
        return False
    return {
        descendant.name for descendant in walk([node]) if isinstance(descendant, N.Name)
    } >= set(params)


def _atomic(node: N.Node, params: tuple[str, ...]) -> bool:
    if isinstance(node, N.Lit):
        return node.t in "bhijef" and not isinstance(node.data, list)
    if isinstance(node, N.Name):
        return node.name in params
    if not isinstance(node, N.Apply):
        return False
    function, count = node.f, len(node.args)
    name = (
        function.glyph
        if isinstance(function, N.Verb)
        else function.name
        if isinstance(function, N.Name)
        else ""
    )
    if (function.__class__ is N.Verb and count == 1) or name in params:
        return False
    return (name, count) in ATOMIC and all(_atomic(argument, params) for argument in node.args)
