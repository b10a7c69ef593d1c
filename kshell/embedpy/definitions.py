"""embedPy's definitions of a function for both sides, `def< f(x): ...`: in Python text the mark after `def` or `class`
makes a q variable of that name, a declared function of the Python one."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator

from kshell.embedpy import code
from kshell.embedpy.applying import declared, guarded
from kshell.values.session.context import running

_PERHAPS = re.compile(r"^(def|class)[<>*]", re.MULTILINE)
_MARKS = {"def": "<>*", "class": ">*"}


def execute(text: str, file: str = "", line: int = 0) -> None:
    """Run statements; what they define with a mark is a q function too."""
    plain, marks = parted(text)
    guarded("e", code.execute, plain, file, line)
    variables = code.main_module().__dict__
    for name, mark in marks.items():
        if name[0] != "_":  # no q name begins so: it is Python's own
            running().names.set(name, declared(variables[name], mark))


def parted(text: str) -> tuple[str, dict[str, str]]:
    """The text as Python, with a blank for each mark, and the marks by name."""
    if not _PERHAPS.search(text):
        return text, {}
    lines, marks = text.split("\n"), {}
    for row, column, name in _marked(text):
        line = lines[row - 1]
        marks[name] = line[column]
        lines[row - 1] = f"{line[:column]} {line[column + 1 :]}"
    return "\n".join(lines), marks


def _marked(text: str) -> Iterator[tuple[int, int, str]]:
    """Line, column and name of each definition with a mark, as far as the text is made of Python's tokens."""
    import tokenize

    tokens: list[tokenize.TokenInfo] = []
    with contextlib.suppress(tokenize.TokenError, SyntaxError):  # the compiler says what is wrong
        tokens.extend(tokenize.generate_tokens(io.StringIO(text).readline))
    for word, mark, name, bracket in zip(tokens, tokens[1:], tokens[2:], tokens[3:], strict=False):
        at_start = word.start[1] == 0 and mark.start == word.end
        if at_start and bracket.string == "(" and mark.string in _MARKS.get(word.string, ()):
            yield *mark.start, name.string
