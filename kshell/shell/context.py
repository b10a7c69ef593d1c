"""The cursor's context in q text: the open brackets around it with their heads and arguments, from the lexer.

Nothing is parsed: half a line is enough, and text that is not valid q is understood as far as possible.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field

from kshell.parse.lex import Token, open_at, scan

WORDS = "aigqfbw"  # token kinds that are names or keywords
_WORD = re.compile(r"[.A-Za-z][\w.]*\Z", re.ASCII)
_CLOSERS = {")": "(", "]": "[", "}": "{"}
LONGEST = 10_000  # maximum characters of a statement examined
GROUP = "G"  # token kind for a whole bracket


@dataclass
class Call:
    """An open bracket: its type, the name before it, and the tokens of its arguments so far."""

    kind: str = ""
    head: str = ""
    start: int = 0
    args: list[list[Token]] = field(default_factory=lambda: [[]])

    def symbol(self, i: int) -> str:
        """Argument i, if it is a single symbol; else empty."""
        argument = self.args[i] if i < len(self.args) else []
        return argument[0].text[1:] if len(argument) == 1 and argument[0].kind == "`" else ""

    def names(self) -> list[str]:
        """The names that form an argument by themselves."""
        return [
            argument[0].text
            for argument in self.args
            if len(argument) == 1 and argument[0].kind == "a"
        ]


@dataclass
class Place:
    """The text that ends at the cursor: `kind` is symbol, file or word, `prefix` its text so far (for a symbol, the
    text after the last backquote). `calls` are the open brackets, outermost first; the first stands for the line
    itself."""

    kind: str
    prefix: str
    calls: list[Call]
    names: list[str]  # names inside the open lambda

    @property
    def arg(self) -> list[Token]:
        """The tokens of the current argument, up to the prefix."""
        return self.calls[-1].args[-1]


def statement_start(text: str, limit: int = sys.maxsize) -> int:
    """The start of the statement that contains the end of a text: lines that begin with a blank continue it. More than
    `limit` characters from the end, any of its lines will do."""
    start = text.rfind("\n") + 1
    while (
        start
        and len(text) - start <= limit
        and text[start : start + 1] in ("", " ", "\t", "\n", ")", "]", "}")
    ):
        start = text.rfind("\n", 0, start - 1) + 1
    return start


def place(text: str) -> Place | None:
    """The context at the end of a text; None inside a string or comment, and where nothing can follow."""
    if open_at(text):
        return None
    whole = start = statement_start(text, LONGEST)
    if len(text) - start > LONGEST:  # brackets around the last lines are then not seen
        start = text.find("\n", len(text) - LONGEST) + 1 or start
    cut = start > whole
    line = "\n" + text[start:]  # after a line break, a slash begins a comment
    tokens = list(scan(line))
    last_token = tokens[-1] if tokens else Token("", "", 0, 0)
    if last_token.kind in '"0?' and last_token.end == len(line):
        return None
    if "/" in line[last_token.end :]:
        return None
    if last_token.kind == "`" and last_token.end == len(line):
        prefix = last_token.text.rpartition("`")[2]
        if prefix[:1] == ":":
            return Place("file", prefix[1:], *_around(tokens[:-1], cut))
        whole = last_token.text.count("`") == 1
        before = (
            tokens[:-1]
            if whole
            else [*tokens[:-1], last_token._replace(text=last_token.text.rpartition("`")[0])]
        )
        return Place("symbol", prefix, *_around(before, cut))
    match = _WORD.search(line)
    prefix = match[0] if match else ""
    return Place(
        "word",
        prefix,
        *_around([token for token in tokens if token.start < len(line) - len(prefix)], cut),
    )


def _around(tokens: list[Token], cut: bool) -> tuple[list[Call], list[str]]:
    """The brackets left open by tokens, and the names since the outermost open brace; all names if the start of the
    statement is cut off."""
    calls = [Call()]
    for token in tokens:
        argument = calls[-1].args[-1]
        if token.kind in "([{":
            calls.append(
                Call(token.kind, "" if token.kind == "{" else _head(argument), token.start)
            )
        elif token.kind in ")]}":
            if calls[-1].kind == _CLOSERS[token.kind]:
                start = calls.pop().start
                calls[-1].args[-1].append(Token(GROUP, "", start, token.end))
        elif token.kind == ";":
            calls[-1].args.append([])
        elif token.kind != ".":
            argument.append(token)
    brace = -1 if cut else next((call.start for call in calls if call.kind == "{"), None)
    return calls, [] if brace is None else [
        token.text for token in tokens if token.kind == "a" and token.start > brace
    ]


def _head(arg: list[Token]) -> str:
    """The name before a bracket; `enlist` and `seq`, which make lists, are looked through."""
    names = [token for token in arg[-2:] if token.kind in WORDS]
    if not arg or arg[-1].kind not in WORDS:
        return ""
    last_name = names[-1].text
    if last_name in ("enlist", "seq"):
        return names[0].text if len(names) == 2 else "module" if last_name == "seq" else last_name
    return last_name
