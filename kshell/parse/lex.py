"""From text to tokens. Brackets are balanced here and their nesting limited; text that is not q is rejected here."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import NamedTuple

from kshell.errors import QError, Source
from kshell.parse.fast import KINDS, MASTER, NAMES

MAX_NESTING = 200

_MASTER = re.compile(MASTER, re.ASCII)
_BRACKETS = re.compile(r"[()\[\]{}]")
_NESTING = re.compile(r"[()\[\]{};q]")
_CLOSER = {"(": ")", "[": "]", "{": "}"}
_FAULTS = re.compile(r"[!?]")
_BRACKET = len(KINDS) - 3  # the group of brackets, whose kind is their text
assert NAMES[_BRACKET] == "bracket"


class Token(NamedTuple):
    """One token: its kind (a character of grammar/q.ebnf), text and offsets."""

    kind: str
    text: str
    start: int
    end: int


class Tokens:
    """The tokens of a text: a string of kinds, ended by '.', and the offsets of each. `i` is the parser's position."""

    __slots__ = ("ends", "i", "is_infix", "kinds", "source", "starts", "text")
    is_infix: Callable[[str], bool]  # is a name infix?

    def __init__(
        self, text: str, kinds: str, starts: list[int], ends: list[int], source: Source | None
    ) -> None:
        self.text, self.kinds, self.starts, self.ends, self.source = (
            text,
            kinds,
            starts,
            ends,
            source,
        )
        self.i = 0

    def __len__(self) -> int:
        return len(self.kinds) - 1

    def __getitem__(self, i: int) -> Token:
        return Token(
            self.kinds[i], self.text[self.starts[i] : self.ends[i]], self.starts[i], self.ends[i]
        )

    def __iter__(self) -> Iterator[Token]:
        return (self[index] for index in range(len(self)))


def scan(text: str, start: int = 0, end: int | None = None, source: Source | None = None) -> Tokens:
    """The tokens of text[start:end], without any checks."""
    kinds: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    kind_of, bracket = KINDS, _BRACKET
    for match in _MASTER.finditer(text, start, len(text) if end is None else end):
        group = match.lastindex
        token_start, token_end = match.span(group)  # type: ignore[arg-type]
        kinds.append(kind_of[group] if group != bracket else text[token_start])  # type: ignore[index]
        starts.append(token_start)
        ends.append(token_end)
        if kind_of[group] == ".":  # type: ignore[index]
            break
    if text.find("_-", start, ends[-1]) >= 0:
        _signs(text, kinds, starts, ends)
    return Tokens(text, "".join(kinds), starts, ends, source)


def _signs(text: str, kinds: list[str], starts: list[int], ends: list[int]) -> None:
    """Attach a minus sign after the verb `_` to the adjacent number, as after any verb: `1_-1_x`. Judging by characters
    alone, it could follow a name that ends in `_`."""
    for index in reversed(range(1, len(kinds) - 1)):
        if (
            kinds[index - 1 : index + 2] == ["+", "+", "0"]
            and text[starts[index - 1] : ends[index]] == "_-"
            and starts[index + 1] == ends[index]
        ):
            starts[index + 1] -= 1
            del kinds[index], starts[index], ends[index]


def lex(text: str, start: int = 0, end: int | None = None, source: Source | None = None) -> Tokens:
    """The tokens of text[start:end]. A QError points at text that is not q, or at an unmatched bracket."""
    tokens = scan(text, start, end, source)
    kinds = tokens.kinds
    fault = _FAULTS.search(kinds)
    open_ = _open(tokens, fault.start() if fault else len(kinds))
    if fault:
        raise _error('"' if fault[0] == "?" else "char", tokens, fault.start())
    if open_:
        raise _error(kinds[open_[-1]], tokens, open_[-1])
    return tokens


def _open(tokens: Tokens, limit: int) -> list[int]:
    """The brackets left open by the tokens before `limit`. A template also nests, up to the next `;` or closing
    bracket."""
    kinds = tokens.kinds
    open_: list[int] = []
    for match in (_NESTING if "q" in kinds else _BRACKETS).finditer(kinds, 0, limit):
        index = match.start()
        kind = kinds[index]
        if kind in "([{q":
            open_.append(index)
            if len(open_) > MAX_NESTING:
                raise _error("limit", tokens, index)
            continue
        while open_ and kinds[open_[-1]] == "q":
            open_.pop()
        if kind != ";" and (not open_ or _CLOSER[kinds[open_.pop()]] != kind):
            raise _error(kind, tokens, index)
    while open_ and kinds[open_[-1]] == "q":
        open_.pop()
    return open_


def _error(text: str, tokens: Tokens, i: int) -> QError:
    return QError(text, tokens.starts[i], tokens.source or Source(tokens.text))


_STRING = r'"[^"\\]*+(?:\\(?s:.)[^"\\]*+)*+"'
_BLOCK = r"[ \t\r]*+\n(?s:.)*?\n\\[ \t\r]*+(?=\n|\Z)"
_COMMENT = rf"/(?:(?<=\n/)(?:{_BLOCK}|(?![ \t\r]*+(?:\n|\Z))[^\n]*+)|(?<=[^\S\n]/)[^\n]*+)|\\(?<=\n\\)[^\n]*+"
# text up to an unclosed string or block comment; a line that begins with \ is a command and opens neither
_CLOSED = re.compile(rf'(?:\s++(?:{_COMMENT})?+|{_STRING}|(?!(?<=\s)/)[^"\s]++)*+')
# lines before the first one with code, each with the line break before it
_SKIPPED = re.compile(
    r"(?:\n(?:/[ \t\r]*+(?=\n)(?s:.)*?(?:\n\\[ \t\r]*+|\Z)|[^\S\n]*+(?:/[^\n]*+)?)(?=\n|\Z))*+"
)
_MAYBE_SKIPPED = frozenset("/ \t\r\n")
_NO_CODE = re.compile(f"{_STRING}|{_COMMENT}")
_NO_BRACKETS = re.compile(r"[^()\[\]{}]++")
_STRING_END = re.compile(_STRING[1:])
_PAIRS = ("()", "[]", "{}")


def code_start(text: str) -> int:
    """The offset of the first line that is not blank or a comment; if there is none, the length of the text."""
    if text[:1] not in _MAYBE_SKIPPED:
        return 0
    return min(_SKIPPED.match("\n" + text).end(), len(text))  # type: ignore[union-attr]


def left_open(text: str) -> tuple[str, int]:
    """The construct that a typed text leaves open, and its offset: `"` for a string, `/` for a block comment (from a
    lone `/` to a lone `\\`); if neither, empty and the length of the text."""
    end = _CLOSED.match("\n" + text).end() - 1  # type: ignore[union-attr]
    return text[end : end + 1], end


@lru_cache(maxsize=32)
def open_before(head: str) -> str:
    """The construct left open by the lines before one, as named by left_open."""
    return left_open(head)[0]


def open_after(line: str, before: str) -> str:
    """The construct left open after a line, given the one open before it."""
    if before == "/":
        return "" if line.rstrip() == "\\" else "/"
    return left_open(before + line)[0]


def open_at(text: str) -> str:
    """The construct open at the end of a text; that of the lines before the last one is cached while typing."""
    start = text.rfind("\n") + 1
    return open_after(text[start:], open_before(text[:start]))


def string_end(text: str, start: int) -> int:
    """The end of the string that is open at an offset; -1 if it is not closed."""
    match = _STRING_END.match(text, start)
    return match.end() if match else -1


def complete(text: str) -> bool:
    """Is a typed text complete, without an open bracket, string or block comment? Invalid text is: adding more would
    not fix it."""
    if text[:1] == "\\":
        return True
    kind, end = left_open(text)
    brackets = _NO_BRACKETS.sub("", _NO_CODE.sub("", "\n" + text[:end]))
    length = -1
    while length != len(brackets):
        length = len(brackets)
        for pair in _PAIRS:
            brackets = brackets.replace(pair, "")
    return any(character in brackets for character in ")]}") or not (brackets or kind)


# prompt colours: token kind -> class
CLASSES = {
    '"': "string", "?": "error", "`": "symbol", "0": "number", "q": "word", "b": "word", "f": "word", "w": "word",
    "i": "word", "a": "name", "g": "verb", ",": "verb", "=": "verb", "+": "verb", ":": "verb", "'": "iterator",
    "~": "iterator", "!": "error",
}  # fmt: skip


def coloured(text: str, inside: str = "") -> list[tuple[str, int, int]]:
    """(class, start, end) for each token and comment of a text, for highlighting: string symbol number word name verb
    iterator bracket comment command error. Text that is not q is coloured as far as possible. `inside` is the construct
    left open by the preceding text, as in left_open; inside a block comment, the text must be a single line."""
    if not inside and text[:1] == "\\":
        return [("command", 0, len(text))]
    spans: list[tuple[str, int, int]] = []
    if inside == "/":
        return [("comment", 0, len(text))] if text else spans
    text = (inside or "\n") + text  # after a line break, a slash begins a comment
    tokens = scan(text)
    offset = 1
    for kind, start, end in zip(tokens.kinds, tokens.starts, tokens.ends, strict=True):
        skipped = text[offset:start]
        if "/" in skipped or "\\" in skipped:
            spans.append(
                (
                    "comment",
                    offset + len(skipped) - len(skipped.lstrip()) - 1,
                    offset + len(skipped.rstrip()) - 1,
                )
            )
        offset = end
        if kind != ".":
            spans.append((CLASSES.get(kind, "bracket"), max(start - 1, 0), offset - 1))
    return spans
