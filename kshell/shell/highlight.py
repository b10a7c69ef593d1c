"""Colours for typed text, from kshell's own lexer; one line at a time, so that a long text costs only what is
visible."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from kshell.parse.lex import coloured, open_after, open_before, string_end

LONGEST = 20_000  # maximum characters coloured per line
BLOCK = 128  # lines for which the construct open before them is determined at a time
# lexer class -> style
STYLE = {
    "string": "ansigreen", "symbol": "ansiyellow", "number": "ansicyan", "word": "bold ansiblue", "name": "",
    "verb": "", "iterator": "ansimagenta", "bracket": "", "comment": "ansibrightblack", "command": "ansimagenta",
    "error": "ansired",
}  # fmt: skip


def colours() -> bool:
    """Are colours wanted? Not if NO_COLOR is set to anything."""
    return not os.environ.get("NO_COLOR")


class QLexer(Lexer):
    """The lexer that prompt_toolkit queries for the styles of lines."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = document.lines
        inside: dict[int, str] = {}  # the construct open before a line
        extent = [0, -1]  # offset where a string is open -> its end

        def closed(i: int) -> bool:
            """Is a string that is open at the end of a line closed later?"""
            offset = document.translate_row_col_to_index(i, len(lines[i]))
            if not (
                extent[0] and extent[0] <= offset < (extent[1] if extent[1] >= 0 else offset + 1)
            ):
                extent[:] = offset, string_end(document.text, offset)
            return extent[1] >= 0

        def line(i: int) -> StyleAndTextTuples:
            if i >= len(lines):
                return []
            if i not in inside:
                first = i - i % BLOCK
                state = open_before(document.text[: document.translate_row_col_to_index(first, 0)])
                for index in range(first, min(first + BLOCK, len(lines))):
                    inside[index] = state
                    state = open_after(lines[index], state)
            return styled(lines[i], inside[i], open_after(lines[i], inside[i]) == '"' and closed(i))

        return line


@lru_cache(maxsize=512)
def styled(line: str, inside: str, goes_on: bool) -> StyleAndTextTuples:
    """The styled fragments of a line, given the construct open before it. Does it leave a string open that is closed
    later?"""
    if len(line) > LONGEST:
        return [("", line)]
    fragments: StyleAndTextTuples = []
    position = 0
    spans = coloured(line, inside)
    if goes_on and spans:
        spans[-1] = ("string", *spans[-1][1:])
    for kind, start, end in [*spans, ("", len(line), len(line))]:
        fragments += [
            (style, piece)
            for style, piece in (("", line[position:start]), (f"class:q.{kind}", line[start:end]))
            if piece
        ]
        position = end
    return fragments
