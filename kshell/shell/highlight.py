"""Colours of what is typed, from kshell's own lexer; a statement at a time, so that a long text costs what is seen."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache

from prompt_toolkit.document import Document
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.lexers import Lexer

from kshell.parse.lex import coloured

LONGEST = 20_000  # characters of one statement that are coloured
# a class of the lexer: its style
STYLE = {
    "string": "ansigreen", "symbol": "ansiyellow", "number": "ansicyan", "word": "bold ansiblue", "name": "",
    "verb": "", "iterator": "ansimagenta", "bracket": "", "comment": "ansibrightblack", "command": "ansimagenta",
    "error": "ansired",
}  # fmt: skip
Lines = list[StyleAndTextTuples]


def colours() -> bool:
    """Are colours wanted? Not if NO_COLOR is set to anything."""
    return not os.environ.get("NO_COLOR")


def continues(line: str) -> bool:
    """Does a line continue the one before it?"""
    return not line or line[0] in " \t)]}"


class QLexer(Lexer):
    """What prompt_toolkit asks for the styles of lines."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        lines = document.lines
        comments = _comments(document.text) if "\n/\n" in f"\n{document.text}\n" else frozenset()
        last: list[tuple[int, int, Lines]] = [(0, 0, [])]  # the statement that was asked for last, and its lines

        def line(i: int) -> StyleAndTextTuples:
            if i >= len(lines):
                return []
            if i in comments:
                return [("class:q.comment", lines[i])]
            start, end, shown = last[0]
            if start <= i < end:
                return shown[i - start]
            start, end = i, i + 1
            while start and continues(lines[start]) and start - 1 not in comments:
                start -= 1
            while end < len(lines) and continues(lines[end]):
                end += 1
            last[0] = start, end, styled("\n".join(lines[start:end]))
            return last[0][2][i - start]

        return line


@lru_cache(maxsize=8)
def _comments(text: str) -> frozenset[int]:
    """The numbers of the lines of block comments, from a lone `/` to a lone `\\`."""
    out = []
    inside = False
    for i, line in enumerate(text.split("\n")):
        bare = line.rstrip()
        if inside or bare == "/":
            out.append(i)
            inside = bare != "\\"
    return frozenset(out)


@lru_cache(maxsize=512)
def styled(text: str) -> Lines:
    """The styled fragments of each line of a statement."""
    if len(text) > LONGEST:
        return [[("", line)] for line in text.split("\n")]
    out: Lines = [[]]
    at = 0
    for kind, start, end in [*coloured(text), ("", len(text), len(text))]:
        for style, piece in (("", text[at:start]), (f"class:q.{kind}", text[start:end])):
            for n, part in enumerate(piece.split("\n")):
                if n:
                    out.append([])
                if part:
                    out[-1].append((style, part))
        at = end
    return out
