"""Questions about a tree that the compiler asks before it emits code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kshell import registry
from kshell.parse import tree as N


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
    """The column name that q infers from an expression: the last part of its leftmost variable; `x` if none."""
    seen = "x"
    while True:
        if isinstance(node, N.Name):
            word = registry.find("verb", node.name) is not None
            return seen if word or node.name == "i" else node.name.rpartition(".")[2]  # i numbers the rows
        if isinstance(node, N.Apply) and node.args:
            infix = len(node.args) == 2 and node.at >= node.args[0].end
            if infix and isinstance(node.f, N.Name) and isinstance(node.args[0], N.Lit):
                infix = False  # `5 xbar t` is named t, though `5*t` is not
            node = node.args[0] if infix else node.args[-1]
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
    """Is the expression made of atomic verbs on the parameter and number atoms alone, the parameter in it?"""
    if not isinstance(node, N.Apply):
        return False
    return _atomic(node, params) and any(isinstance(n, N.Name) and n.name in params for n in walk([node]))


def _atomic(node: Any, params: tuple[str, ...]) -> bool:
    if isinstance(node, N.Lit):
        return node.t in "hijef" and not isinstance(node.data, list)
    if isinstance(node, N.Name):
        return node.name in params
    if not isinstance(node, N.Apply):
        return False
    f = node.f
    name = f.glyph if isinstance(f, N.Verb) else f.name if isinstance(f, N.Name) else ""
    entry = registry.find("verb", name)
    return entry is not None and bool(entry.extra.get("atomic")) and all(_atomic(a, params) for a in node.args)
