"""Questions about a tree that the compiler asks before it emits code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kshell import registry
from kshell.parse import tree as N
from kshell.values.dispatch import ATOMIC


def children(node: Any) -> Iterator[Any]:
    """The nodes directly under a node, lambdas' bodies left out (their names are their own)."""
    if isinstance(node, N.Lambda):
        return
    for field in node.fields:
        yield from _nodes(getattr(node, field))


def _nodes(x: Any) -> Iterator[Any]:
    if isinstance(x, N.Node):
        yield x
    elif isinstance(x, (list, tuple)):
        for item in x:
            yield from _nodes(item)


def walk(nodes: Any) -> Iterator[Any]:
    """Every node under these, themselves included, lambdas entered no further."""
    stack = list(_nodes(nodes))
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node))


def params_of(node: Any) -> tuple[str, ...]:
    """The parameters of a lambda; implicit ones are x, y, z up to the last that its body names."""
    if node.params is not None:
        return tuple(node.params)
    used = {n.name.split(".")[0] for n in walk(node.body) if isinstance(n, N.Name)}
    return ("x", "y", "z")[: 3 if "z" in used else 2 if "y" in used else 1]


def _pattern_names(target: Any) -> Iterator[str]:
    for t in target.items:
        if isinstance(t, N.Name):
            yield t.name
        elif isinstance(t, N.ListOf):
            yield from _pattern_names(t)


def locals_of(body: list[Any], params: tuple[str, ...]) -> set[str]:
    """The names that a lambda's body assigns with `:` (or indexed, or compound), other than its parameters."""
    found: set[str] = set()
    for node in walk(body):
        if not isinstance(node, N.Assign):
            continue
        t = node.target
        if isinstance(t, N.ListOf):
            found.update(_pattern_names(t))
        elif isinstance(t, N.Name) and node.op is None and "." not in t.name:
            found.add(t.name)
    return found - set(params)


def set_first(body: list[Any], name: str) -> bool:
    """Is `name:...` a statement at the start of the body, before anything that reads the name?"""
    for stmt in body:
        if isinstance(stmt, N.Assign) and isinstance(stmt.target, N.Name) and stmt.target.name == name \
                and stmt.op is None and not uses([stmt.value], name):
            return True
        if uses([stmt], name) or isinstance(stmt, (N.Return, N.Signal)):
            return False
    return False


def uses(nodes: Any, name: str) -> bool:
    """Does the code name this variable?"""
    return any(isinstance(n, N.Name) and (n.name == name or n.name.startswith(name + ".")) for n in walk(nodes))


def assigns(nodes: Any) -> set[str]:
    """The unqualified variables assigned in some code."""
    found: set[str] = set()
    for node in walk(nodes):
        if isinstance(node, N.Assign):
            t = node.target
            if isinstance(t, N.ListOf):
                found.update(_pattern_names(t))
            elif isinstance(t, N.Name):
                found.add(t.name)
            elif isinstance(t, N.Apply) and isinstance(t.f, N.Name):
                found.add(t.f.name)
    return found


def loops(nodes: Any) -> bool:
    """Is there a `while` or `do`?"""
    return any(isinstance(n, N.Control) and n.word in ("while", "do") for n in walk(nodes))


def inferred_name(node: Any) -> str:
    """The column name that q infers from an expression: the last part of the variable that is reached by the first
    argument of operators and the last one of everything else; `x` if that is none."""
    seen = "x"
    while True:
        if isinstance(node, N.Name):
            word = registry.find("verb", node.name) is not None
            return seen if word or node.name == "i" else node.name.rpartition(".")[2]  # i numbers the rows
        if isinstance(node, N.Apply) and node.args:
            operator = isinstance(node.f, N.Verb) or (isinstance(node.f, N.Name) and node.f.name in ("and", "or"))
            node = node.args[0] if operator else node.args[-1]
        elif isinstance(node, N.Assign):
            node = node.target
        else:
            return seen


def column_names(pairs: list[tuple[str | None, Any]]) -> list[str]:
    """The names of columns, given or inferred; a repeated one gets 1, 2, ... appended."""
    out: list[str] = []
    for given, node in pairs:
        name = given or inferred_name(node)
        base, n = name, 0
        while name in out:
            n += 1
            name = f"{base}{n}"
        out.append(name)
    return out


def atomic_expr(node: Any, params: tuple[str, ...]) -> bool:
    """Is the expression made of atomic verbs on the parameters and number atoms alone, each parameter in it?"""
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
    f, n = node.f, len(node.args)
    name = f.glyph if isinstance(f, N.Verb) else f.name if isinstance(f, N.Name) else ""
    if (f.__class__ is N.Verb and n == 1) or name in params:
        return False
    return (name, n) in ATOMIC and all(_atomic(a, params) for a in node.args)
