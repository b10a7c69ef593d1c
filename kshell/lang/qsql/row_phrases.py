"""Which phrases have a value for each row that depends on nothing but that row: they can be evaluated in pieces of the
rows, in any order."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from kshell.lang.compiler import tree_queries
from kshell.lang.compiler.aggregate_calls import ROWWISE
from kshell.lang.qsql.select import Phrase
from kshell.parse import tree as N
from kshell.values.base.core import Value, is_atom
from kshell.values.session.context import running

_OF_LISTS = frozenset(("in", "within", "like"))  # what has one list at its right for all rows


def of_rows(p: Phrase, columns: Collection[str]) -> bool:
    """Is it such a phrase of some columns?"""
    return _of_rows(p.node, p, columns)


def _of_rows(node: N.Node, p: Phrase, columns: Collection[str]) -> bool:
    if isinstance(node, N.Name):
        name = node.name.split(".")[0]
        return name in columns or (name != "i" and _is_atom(node.name, p))
    if isinstance(node, N.Lit):
        return isinstance(node.data, (int, float, str))
    if isinstance(node, tree_queries.Const):
        return is_atom(node.value)
    if not isinstance(node, N.Apply) or not isinstance(node.f, (N.Name, N.Verb)):
        return False
    verb = node.f.name if isinstance(node.f, N.Name) else node.f.glyph
    if verb in _OF_LISTS and len(node.args) == 2:
        return _of_rows(node.args[0], p, columns) and _is_fixed(node.args[1], columns)
    if verb not in ROWWISE or (isinstance(node.f, N.Verb) and len(node.args) != 2):
        return False
    return all(_of_rows(argument, p, columns) for argument in node.args)


def _is_atom(name: str, p: Phrase) -> bool:
    """Is it the name of a variable that is an atom?"""
    code, given = getattr(p.fn, "__code__", None), getattr(p.fn, "__defaults__", None) or ()
    locals_: dict[str, Any] = {}
    if code is not None and given:
        names = code.co_varnames[: code.co_argcount]
        locals_ = {
            n.removeprefix("_l_"): x for n, x in zip(names[-len(given) :], given, strict=True)
        }
    found: Value = locals_[name] if name in locals_ else running().names.find(name, None)
    return found is not None and is_atom(found)


def _is_fixed(node: N.Node, columns: Collection[str]) -> bool:
    """Is it a literal or a variable, and so the same for all rows?"""
    if isinstance(node, N.Lit | tree_queries.Const):
        return True
    return isinstance(node, N.Name) and node.name.split(".")[0] not in {*columns, "i"}


def columns_in(phrases: Collection[Phrase], columns: Collection[str]) -> list[str]:
    """Those of some columns that phrases name, in their order."""
    nodes = tree_queries.walk([p.node for p in phrases])
    named = {node.name.split(".")[0] for node in nodes if isinstance(node, N.Name)}
    return [name for name in columns if name in named]
