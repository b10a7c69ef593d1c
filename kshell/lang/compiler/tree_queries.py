"""Questions about a tree that the compiler asks before emitting code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kshell import registry
from kshell.parse import tree as N
from kshell.values.engine.dispatch import ATOMIC

# leaf nodes; lambdas count as leaves, because the names in their bodies are their own
_LEAVES = frozenset((N.Lit, N.Name, N.Verb, N.Elided, N.Lambda, N.Command, N.Prefixed))


def children(node: Any) -> list[Any]:
    """The nodes directly under a node, except lambda bodies."""
    out: list[Any] = []
    if node.__class__ not in _LEAVES:
        for field in node.fields:
            _gather(getattr(node, field), out)
    return out


def _gather(x: Any, out: list[Any]) -> None:
    """Add the nodes in a field, possibly nested in lists, to out."""
    if isinstance(x, N.Node):
        out.append(x)
    elif x.__class__ is list or x.__class__ is tuple:
        for item in x:
            _gather(item, out)


def walk(nodes: Any, templates: bool = True) -> Iterator[Any]:
    """Every node under these, including themselves; lambdas are not entered; templates, if not to be entered either,
    only contribute the source and the row limit."""
    stack: list[Any] = []
    _gather(nodes, stack)
    while stack:
        node = stack.pop()
        yield node
        kind = node.__class__
        if kind in _LEAVES:
            continue
        if kind is N.Apply:  # the common case of inner nodes: all fields are nodes
            stack.append(node.f)
            stack += node.args
        elif kind is N.Select and not templates:
            _gather(
                (node.source, node.options[0] if isinstance(node.options, tuple) else None), stack
            )
        else:
            for field in node.fields:
                _gather(getattr(node, field), stack)


def params_of(node: Any) -> tuple[str, ...]:
    """The parameters of a lambda; implicit ones are x, y, z up to the last one its body uses."""
    if node.params is not None:
        return tuple(node.params)
    used = {n.name.split(".")[0] for n in walk(node.body, templates=False) if isinstance(n, N.Name)}
    return ("x", "y", "z")[: 3 if "z" in used else 2 if "y" in used else 1]


def pattern_names(target: Any) -> Iterator[str]:
    """The names that a pattern assigns."""
    if isinstance(target, N.Name):
        yield target.name
    elif isinstance(target, N.ListOf):
        for t in target.items:
            yield from pattern_names(t)
    elif isinstance(target, N.Assign):
        yield from pattern_names(target.target)
    elif isinstance(target, (N.DictOf, N.TableOf)):
        for _, t in [
            *(getattr(target, "keys", None) or ()),
            *(getattr(target, "cols", None) or target.items),
        ]:
            yield from pattern_names(t)
    elif isinstance(target, N.Apply) and (isinstance(target.f, N.Verb) or target.f.name == "flip"):
        for t in target.args:
            yield from pattern_names(t)


def locals_of(body: list[Any], params: tuple[str, ...]) -> set[str]:
    """The names that a lambda's body assigns with `:` (also indexed or compound), other than its parameters."""
    found: set[str] = set()
    for node in walk(body):
        if isinstance(node, N.Assign) and node.op is None:
            found.update(pattern_names(node.target))
        elif (
            isinstance(node, N.Apply)
            and isinstance(node.f, N.Verb)
            and node.f.glyph == ":"
            and len(node.args) > 2
        ):
            for arg in node.args[1:-1:2]:
                found.update(pattern_names(arg))
    return {n for n in found if "." not in n} - set(params)


def late_local(body: list[Any], local: set[str]) -> Any:
    """The Name of a local that is set as a global, `a::1`, before `a:1` makes it a local; None if there is none."""
    early: set[str] = set()
    done: set[str] = set()
    targets = [
        (n.target, n.op)
        for n in walk(body)
        if isinstance(n, N.Assign) and isinstance(n.target, N.Name)
    ]
    for t, op in sorted(targets, key=lambda pair: pair[0].start):
        if op == "::" and t.name not in done:
            early.add(t.name)
        elif op is None and t.name in early & local:
            return t
        elif op is None:
            done.add(t.name)
    return None


def set_first(body: list[Any]) -> set[str]:
    """The variables that statements at the start of the body assign before anything reads them."""
    found: set[str] = set()
    read: set[str] = set()
    for stmt in body:
        if isinstance(stmt, (N.Return, N.Signal)):
            break
        plain = isinstance(stmt, N.Assign) and isinstance(stmt.target, N.Name) and stmt.op is None
        read |= {
            n.name.split(".")[0]
            for n in walk([stmt.value if plain else stmt])
            if isinstance(n, N.Name)
        }
        if plain and stmt.target.name not in read:
            found.add(stmt.target.name)
    return found


def uses(nodes: Any, name: str) -> bool:
    """Does the code refer to this variable?"""
    return any(
        isinstance(n, N.Name) and (n.name == name or n.name.startswith(name + "."))
        for n in walk(nodes)
    )


def assigns(nodes: Any) -> set[str]:
    """The unqualified variables assigned in some code."""
    found: set[str] = set()
    for node in walk(nodes):
        if isinstance(node, N.Assign):
            t = node.target
            found.update(pattern_names(t))
            if isinstance(t, N.Apply) and isinstance(t.f, N.Name):
                found.add(t.f.name)
    return found


def loops(nodes: Any) -> bool:
    """Is there a `while` or `do`?"""
    return any(isinstance(n, N.Control) and n.word in ("while", "do") for n in walk(nodes))


# operators whose column is named after the first argument: `a+b` is a, but `` `g#a `` and `5 xbar a` are also a
_FIRST = frozenset(
    ("+", "-", "*", "%", "&", "|", "^", "=", "<", ">", "<>", "<=", ">=", "and", "or")
)
_COMPARE = frozenset(("=", "<", ">", "<>", "<=", ">="))


def inferred_name(node: Any) -> str:
    """The column name that q infers from an expression: the last part of the variable reached through the first
    argument of arithmetic operators and comparisons (or their second, if the first is a constant), and through the last
    argument of everything else; `x` if there is none."""
    seen = "x"
    while True:
        if isinstance(node, N.Name):
            word = registry.find("verb", node.name) is not None
            return (
                seen if word or node.name == "i" else node.name.rpartition(".")[2]
            )  # i numbers the rows
        if isinstance(node, N.Apply) and node.args:
            verb = (
                node.f.glyph
                if isinstance(node.f, N.Verb)
                else node.f.name
                if isinstance(node.f, N.Name)
                else ""
            )
            first = verb in _FIRST and not (verb in _COMPARE and isinstance(node.args[0], N.Lit))
            node = node.args[0 if first else -1]
        elif isinstance(node, N.Assign):
            node = node.target
        elif isinstance(node, N.ListOf) and node.items:
            node = node.items[-1]
        else:
            return seen


def column_names(pairs: list[tuple[str | None, Any]]) -> list[str]:
    """The names of columns, given or inferred; duplicates get 1, 2, ... appended."""
    out: list[str] = []
    for given, node in pairs:
        name = given or inferred_name(node)
        base, n = name, 0
        while name in out:
            n += 1
            name = f"{base}{n}"
        out.append(name)
    return out


def group_clash(node: Any) -> str:
    """The error if a select gives a column the name of a group, else ''."""
    if node.verb == "select" and node.by and node.cols:
        groups = set(column_names(node.by))
        for name in column_names(node.cols):
            if name in groups:
                return f"dup names for cols/groups {name}"
    return ""


def atomic_expr(node: Any, params: tuple[str, ...]) -> bool:
    """Does the expression consist only of atomic verbs on the parameters and number atoms, with every parameter in
    it?"""
    if not isinstance(node, N.Apply) or not _atomic(node, params):
        return False
    return {n.name for n in walk([node]) if isinstance(n, N.Name)} >= set(params)


def _atomic(node: Any, params: tuple[str, ...]) -> bool:
    if isinstance(node, N.Lit):
        return node.t in "bhijef" and not isinstance(node.data, list)
    if isinstance(node, N.Name):
        return node.name in params
    if not isinstance(node, N.Apply):
        return False
    f, count = node.f, len(node.args)
    name = f.glyph if isinstance(f, N.Verb) else f.name if isinstance(f, N.Name) else ""
    if (f.__class__ is N.Verb and count == 1) or name in params:
        return False
    return (name, count) in ATOMIC and all(_atomic(arg, params) for arg in node.args)
