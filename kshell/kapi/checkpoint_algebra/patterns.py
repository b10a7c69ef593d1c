"""Matching names against patterns that may come from files: in time proportional to the name, whatever the pattern.

A regular expression is read into a graph of states, and all states that a name can be in are followed at once
(Thompson 1968, "Regular expression search algorithm"), so that nothing is tried again and again. It has literals, `.`,
`[..]`, `\\d \\w \\s` and their opposites, groups, `|`, `* + ? {m,n}` also with `?`, `^` and `$`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from kshell.errors import QError
from kshell.kapi.checkpoint_algebra.problems import problem

_MOST = 10_000  # states
_DEEPEST = 50  # groups in groups
_LONGEST = 1000  # characters of a pattern
_SPECIAL = frozenset("\\.^$*+?{}[]|()")

Test = Callable[[str], bool]
_CLASSES: dict[str, Test] = {
    "d": str.isdecimal,
    "w": lambda c: c.isalnum() or c == "_",
    "s": str.isspace,
}
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}


class _State:
    """A place in the graph: `test` leads to `following` over a character; without one, all `free` are reached at once
    if `anchor`, "^" or "$", holds."""

    __slots__ = ("anchor", "following", "free", "test")

    def __init__(self, test: Test | None = None, anchor: str = "") -> None:
        self.test, self.anchor = test, anchor
        self.following: _State | None = None
        self.free: list[_State] = []


class _Part:
    """A part of a pattern, with its first and last state."""

    __slots__ = ("first", "last")

    def __init__(self, first: _State, last: _State) -> None:
        self.first, self.last = first, last


class _Reader:
    """Reads a pattern; QError if it is too large, or not understood."""

    def __init__(self, text: str) -> None:
        self.text, self.at, self.depth, self.count = text, 0, 0, 0
        if len(text) > _LONGEST:
            raise self.wrong("is too long")

    def wrong(self, why: str) -> QError:
        return problem(f"the pattern {self.text[:60]} {why}")

    def state(self, test: Test | None = None, anchor: str = "") -> _State:
        self.count += 1
        if self.count > _MOST:
            raise self.wrong("is too large")
        return _State(test, anchor)

    def whole(self) -> _Part:
        part = self.choice()
        if self.at < len(self.text):
            raise self.wrong("has a ) without a (")
        return part

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def take(self) -> str:
        char = self.peek()
        if not char:
            raise self.wrong("is not complete")
        self.at += 1
        return char

    def choice(self) -> _Part:
        first, last = self.state(), self.state()
        while True:
            part = self.sequence()
            first.free.append(part.first)
            part.last.free.append(last)
            if self.peek() != "|":
                return _Part(first, last)
            self.at += 1

    def sequence(self) -> _Part:
        first = last = self.state()
        while self.peek() and self.peek() not in "|)":
            part = self.repeated()
            last.free.append(part.first)
            last = part.last
        return _Part(first, last)

    def repeated(self) -> _Part:
        start = self.at
        part = self.item()
        while (bounds := self.bounds()) is not None:
            end = self.at
            part = self.times(part, start, *bounds)
            self.at = end
            if self.peek() == "?":  # the shortest match: the same names match
                self.at += 1
        return part

    def bounds(self) -> tuple[int, int | None] | None:
        """What is after an item: the least and the most repetitions; None if it is not repeated."""
        char = self.peek()
        if char and char in "*+?":
            self.at += 1
            return {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        end = self.text.find("}", self.at)
        if char != "{" or end < 0:
            return None
        low, comma, high = self.text[self.at + 1 : end].partition(",")
        if not all(n.isascii() and n.isdecimal() and len(n) < 5 for n in (low, high) if n) or not (
            low or high
        ):
            return None
        self.at = end + 1
        least = int(low or 0)
        return least, int(high) if high else None if comma else least

    def times(self, part: _Part, start: int, least: int, most: int | None) -> _Part:
        """A part that is repeated; its copies are read from the text again."""
        first = last = self.state()
        copies = least if most is None else most
        for i in range(copies):
            if i:
                self.at = start
                part = self.item()
            last.free.append(part.first)
            if i >= least:
                last.free.append(part.last)
            last = part.last
        if most is not None:
            return _Part(first, last)
        if least:
            part.last.free.append(part.first)
            return _Part(first, last)
        loop = self.state()
        first.free += [part.first, loop]
        part.last.free += [part.first, loop]
        return _Part(first, loop)

    def item(self) -> _Part:
        char = self.take()
        if char == "(":
            return self.group()
        if char in "^$":
            state = self.state(anchor=char)
            return _Part(state, state)
        if char in "*+?":
            raise self.wrong(f"repeats nothing at {char}")
        if char == ".":
            return self.one(lambda c: c != "\n")
        if char == "[":
            return self.one(self.set())
        if char == "\\":
            return self.one(self.escape())
        return self.one(char.__eq__)

    def one(self, test: Test) -> _Part:
        """A character that passes a test."""
        first, last = self.state(test), self.state()
        first.following = last
        return _Part(first, last)

    def group(self) -> _Part:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.wrong("is nested too deep")
        if self.peek() == "?":
            self.at += 1
            if self.take() != ":":
                raise self.wrong("has a group of a kind that is not known here")
        part = self.choice()
        if self.take() != ")":
            raise self.wrong("is not complete")
        self.depth -= 1
        return part

    def escape(self) -> Test:
        char = self.take()
        if char.lower() in _CLASSES and char.isalpha():
            inside = _CLASSES[char.lower()]
            return inside if char.islower() else lambda c: not inside(c)
        if char.isalnum() and char not in _ESCAPES:
            raise self.wrong(f"has \\{char}, which is not known here")
        return _ESCAPES.get(char, char).__eq__

    def set(self) -> Test:
        """What is between brackets."""
        is_other = self.peek() == "^"
        self.at += is_other
        tests: list[Test] = []
        is_first = True
        while (char := self.take()) != "]" or is_first:
            is_first = False
            if char == "\\":
                tests.append(self.escape())
            elif self.peek() == "-" and self.text[self.at + 1 : self.at + 2] not in ("]", ""):
                self.at += 1
                tests.append(self.range(char, self.take()))
            else:
                tests.append(char.__eq__)
        return lambda c: any(test(c) for test in tests) != is_other

    def range(self, low: str, high: str) -> Test:
        if high == "\\" or high < low:
            raise self.wrong("has a wrong range")
        return lambda c: low <= c <= high


def _reached(states: list[_State], is_start: bool, is_end: bool) -> list[_State]:
    """The states, and those that they lead to without a character."""
    seen: dict[int, _State] = {}
    waiting = list(states)
    while waiting:
        state = waiting.pop()
        holds = {"^": is_start, "$": is_end, "": True}[state.anchor]
        if id(state) not in seen:
            seen[id(state)] = state
            if holds:
                waiting += state.free
    return list(seen.values())


def _matches(part: _Part, name: str) -> bool:
    """Does a whole name match?"""
    states = _reached([part.first], True, not name)
    for i, char in enumerate(name):
        states = [
            s.following for s in states if s.test is not None and s.following and s.test(char)
        ]
        if not states:
            return False
        states = _reached(states, False, i == len(name) - 1)
    return part.last in states


@lru_cache(256)
def _graph(text: str) -> _Part:
    return _Reader(text).whole()


def matches(pattern: str, name: str) -> bool:
    """Does a regular expression match a whole name? QError if the pattern is too large or not understood."""
    return _matches(_graph(pattern), name)


def is_suffix(key: str, name: str) -> bool:
    """Does a key of a PEFT adapter's `rank_pattern` or `alpha_pattern` name a module: is the name, or its end after a
    dot, matched by the key? A key without special characters, dots aside, is compared as text. QError as `matches`."""
    if not _SPECIAL - {"."} & set(key) and (name == key or name.endswith(f".{key}")):
        return True
    return matches(f"(?:.*\\.)?(?:{key})", name)


def is_like(pattern: str, name: str) -> bool:
    """Does a name match a pattern of q's `like`: `*`, `?`, `[..]` and other characters as they are?"""
    return matches(_of_like(pattern), name)


@lru_cache(256)
def _of_like(pattern: str) -> str:
    """The regular expression for a pattern of `like`."""
    out, at = [], 0
    while at < len(pattern):
        char = pattern[at]
        end = pattern.find("]", at + 2) if char == "[" else -1
        if end > 0:
            inside = pattern[at + 1 : end].replace("\\", "\\\\")
            out.append(f"[{inside}]")
            at = end
        else:
            wild = {"*": "(?:.|\n)*", "?": "(?:.|\n)"}
            out.append(wild.get(char, f"\\{char}" if char in _SPECIAL else char))
        at += 1
    return "".join(out)
