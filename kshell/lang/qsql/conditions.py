"""The leading conditions of a query that compare a column with a literal: what stores the column may know which rows
cannot meet them without reading it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from kshell.lang.qsql.select import Phrase
from kshell.lang.tables.columns import Columns, OnDisk
from kshell.parse import tree as N
from kshell.store.splay import Condition
from kshell.values.base import types as T

_TURNED = {
    "=": "=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}  # the verb where the literal is at its left
_COUNTS = {
    "in": range(1, 1000),
    "within": range(2, 3),
}  # of values in the literal; else one, an atom


def candidates(c: Columns, where: Sequence[Phrase]) -> Columns:
    """The columns at the rows that may meet the first conditions, if they are stored where that is known."""
    if c.cols.__class__ is not OnDisk:
        return c
    conditions = leading(c.cols, where)
    rows = c.cols.source.candidates(conditions) if conditions else None
    return c if rows is None else c.restrict(rows)


def leading(names: Collection[str], where: Sequence[Phrase]) -> list[Condition]:
    """The first conditions that compare one of some columns with a literal."""
    found = []
    for phrase in where:
        condition = _simple(phrase.node)
        if condition is None or condition.name not in names:
            break
        found.append(condition)
    return found


def _simple(node: N.Node) -> Condition | None:
    """verb[column;literal], whichever is first; None for all else, and for nulls and infinities."""
    if not isinstance(node, N.Apply) or len(node.args) != 2:
        return None
    verb = node.f.glyph if isinstance(node.f, N.Verb) else getattr(node.f, "name", "")
    left, right = node.args
    if isinstance(left, N.Lit):
        verb, left, right = _TURNED.get(verb, ""), right, left
    if not isinstance(left, N.Name) or not isinstance(right, N.Lit) or right.t not in "hijdps":
        return None
    is_atom = right.data.__class__ is not list
    values = [right.data] if is_atom else right.data
    is_right = len(values) in _COUNTS[verb] if verb in _COUNTS else verb in _TURNED and is_atom
    if right.t == "s":
        is_right = is_right and verb in ("=", "in")
        values = [text.encode("utf-8", "surrogateescape") for text in values]
    else:
        row = T.BY_CHAR[right.t]
        is_right = is_right and not {row.null, row.inf, -row.inf} & {*values}
    return Condition(left.name, verb, right.t, values) if is_right else None
