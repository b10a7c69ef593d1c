"""Which template phrases are aggregates that can be computed for all groups at once."""

from __future__ import annotations

from collections.abc import Callable

from kshell import registry
from kshell.parse import tree as N
from kshell.values.base.core import ListValue

# verbs whose result has one item per row, computed from that row alone
ROWWISE = frozenset((
    "+", "-", "*", "%", "=", "<>", "<", ">", "<=", ">=", "&", "|", "^", "neg", "abs", "not", "null", "signum", "sqrt",
    "exp", "log", "floor", "ceiling", "reciprocal", "sin", "cos", "tan", "div", "mod", "xbar", "xexp", "xlog", "and",
    "or",
))  # fmt: skip
AGGREGATES: dict[str, Callable[..., ListValue | None]] = {}


def aggregate_of(node: N.Node) -> tuple[str, list[N.Node]] | None:
    """(verb, argument nodes) of a phrase that can be computed for all groups at once: an aggregate of columns, or of
    rowwise functions of them."""
    if (
        not isinstance(node, N.Apply)
        or not isinstance(node.f, N.Name)
        or node.f.name not in AGGREGATES
    ):
        return None
    if len(node.args) + 1 != AGGREGATES[node.f.name].__code__.co_argcount:
        return None
    if all(_is_rowwise(argument) and not isinstance(argument, N.Lit) for argument in node.args):
        return node.f.name, node.args
    return None


def _is_rowwise(node: N.Node) -> bool:
    if isinstance(node, N.Name):
        return registry.find("verb", node.name) is None
    if isinstance(node, N.Lit):
        return isinstance(node.data, (int, float, str))  # an atom
    if not isinstance(node, N.Apply) or not isinstance(node.f, (N.Name, N.Verb)):
        return False
    verb = node.f.name if isinstance(node.f, N.Name) else node.f.glyph
    return verb in ROWWISE and all(map(_is_rowwise, node.args))
