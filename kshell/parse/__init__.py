"""From q text to trees: `parse`, and what scripts and the prompt need to know about a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kshell.errors import Source
from kshell.parse import fast, tree
from kshell.parse.lex import complete, lex
from kshell.parse.script import logical_lines, split_script

__all__ = ["complete", "lex", "logical_lines", "parse", "split_script"]


def parse(text: str, is_infix: Callable[[str], bool], source: Source | None = None) -> list[Any]:
    """The statements of a line or a whole script: Statement, Command and Prefixed nodes.

    `is_infix` says whether a name can be used infix. Only a line's last expression is to be shown, unless it ends in a
    semicolon. Text that is not valid q is a QError that points into `source`.
    """
    if source is None:
        source = Source(text)
    if "\n" not in text and text[:1] not in ("\\", "/"):
        return statement(text, 0, len(text), is_infix, source)
    out: list[Any] = []
    for start, end in logical_lines(text, typed=True):
        out += statement(text, start, end, is_infix, source)
    return out


def statement(
    text: str, start: int, end: int, is_infix: Callable[[str], bool], source: Source
) -> list[Any]:
    """The nodes of one logical line, text[start:end]."""
    if text[start : start + 1] == "\\":
        return [tree.Command(text[start + 1 : end].rstrip(), start, end)]
    if text[start + 1 : start + 2] == ")" and text[start].isascii() and text[start].isalpha():
        if text[start] != "q":
            return [tree.Prefixed(text[start], text[start + 2 : end], start, end)]
        start += 2
    tokens = lex(text, start, end, source)
    tokens.is_infix = is_infix
    nodes = fast._row(tokens, 0)
    if tokens.kinds[tokens.i] != ".":
        fast.fail(tokens, tokens.i, "")
    if nodes[0].__class__ is tree.Assign and nodes[0].op == "::":
        found = view(nodes, text, tokens.ends[tokens.i - 1])
        if found is not None:
            return [tree.Statement(found, False, found.start, found.end)]
    last = len(nodes) - 1
    return [
        tree.Statement(node, i == last, node.start, node.end)
        for i, node in enumerate(nodes)
        if node.__class__ is not tree.Elided
    ]


def view(nodes: Any, text: str, end: int) -> Any:
    """The View for a line that starts with `name::`, or None if the name assigned is not in the root."""
    first, *rest = nodes
    if first.target.__class__ is not tree.Name or first.target.name[0] == ".":
        return None
    return tree.View(
        first.target.name,
        [first.value, *rest],
        text[first.at + 2 : end].strip(),
        first.start,
        end,
        first.at,
    )
