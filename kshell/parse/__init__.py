"""From q text to trees: `parse`, and what scripts and the prompt need to know about a text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kshell.errors import Source
from kshell.parse import fast, tree
from kshell.parse.lex import code_start, complete, lex
from kshell.parse.script import logical_lines, split_script

__all__ = ["complete", "lex", "logical_lines", "parse", "parse_text", "split_script"]


def parse(
    text: str, is_infix: Callable[[str], bool], source: Source | None = None
) -> list[tree.Line]:
    """The statements of a line or a whole script: Statement, Command and Prefixed nodes.

    `is_infix` says whether a name can be used infix. Only a line's last expression is to be shown, unless it ends in a
    semicolon. Text that is not valid q is a QError that points into `source`.
    """
    if source is None:
        source = Source(text)
    if "\n" not in text and text[:1] not in ("\\", "/"):
        return statement(text, 0, len(text), is_infix, source)
    nodes: list[tree.Line] = []
    for start, end in logical_lines(text, typed=True):
        nodes += statement(text, start, end, is_infix, source)
    return nodes


def parse_text(
    text: str, is_infix: Callable[[str], bool], source: Source | None = None
) -> list[tree.Line]:
    """The statements of a text that is evaluated as a value, between its semicolons: a line break in it is a blank, but
    ends a comment."""
    return statement(text, code_start(text), len(text), is_infix, source or Source(text))


def statement(
    text: str, start: int, end: int, is_infix: Callable[[str], bool], source: Source
) -> list[tree.Line]:
    """The nodes of one logical line, text[start:end]."""
    if text[start : start + 1] == "\\":
        return [tree.Command(text[start + 1 : end].rstrip(), start, end)]
    if text[start + 1 : start + 2] == ")" and text[start].isascii() and text[start].isalpha():
        if text[start] != "q":
            return [tree.Prefixed(text[start], text[start + 2 : end], start, end)]
        return statement(text, start + 2, end, is_infix, source)
    tokens = lex(text, start, end, source)
    tokens.is_infix = is_infix
    nodes = fast._row(tokens, 0)
    if tokens.kinds[tokens.i] != ".":
        fast.fail(tokens, tokens.i, "")
    first, *rest = nodes
    if first.__class__ is tree.Assign and first.op == "::":
        definition = view(first, rest, text, tokens.ends[tokens.i - 1])
        if definition is not None:
            return [tree.Statement(definition, False, definition.start, definition.end)]
    final = len(nodes) - 1
    return [
        tree.Statement(node, index == final, node.start, node.end)
        for index, node in enumerate(nodes)
        if node.__class__ is not tree.Elided
    ]


def view(first: tree.Assign, rest: Sequence[tree.Node], text: str, end: int) -> tree.View | None:
    """The View for a line that starts with `name::`, or None if the name assigned is not in the root."""
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
