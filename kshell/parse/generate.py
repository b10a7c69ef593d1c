"""Generate Python functions from the grammar's pyparsing elements: writes parse/fast.py.

    python -m kshell.parse.generate

Token kinds are single characters and the grammar needs only one token of look-ahead, so every choice tests one
character. Rules used by others are inlined unless that would create a loop; a rule's value is what the builder with its
name in parse/fold.py returns for its items.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyparsing as pp

from kshell.parse.grammar import Grammar, read, text

# rules that become separate functions
OWN = (
    "expr",
    "phrase",
    "source",
    "list",
    "lambda",
    "query",
)
START = "row"
SOLE = ("term",)  # rules whose value is their only item, if there is just one
HEAD = '''"""The parser proper, generated from grammar/q.ebnf by parse/generate.py: do not edit."""
# ruff: noqa

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kshell.parse import fold
from kshell.parse.fold import fail

if TYPE_CHECKING:
    from kshell.parse.lex import Tokens

MASTER = {master!r}
KINDS = {kinds!r}
NAMES = {names!r}
'''


class Generator:
    """Emits one function per rule in OWN."""

    def __init__(self, grammar: Grammar) -> None:
        self.rules = grammar.rules
        self.lines: list[str] = []
        self.temps = 0

    def source(self) -> str:
        for name in (START, *OWN):
            self.function(name)
        return "\n".join(self.lines)

    def emit(self, depth: int, *lines: str) -> None:
        self.lines += ["    " * depth + line for line in lines]

    def function(self, name: str) -> None:
        self.temps = 0
        self.emit(0, "", "", f"def _{name}(p: Tokens, i: int) -> Any:")
        self.emit(1, "kinds = p.kinds")
        self.rule(name, "out", 1, False)
        self.emit(1, "p.i = i", f"return {self.built(name, 'out')}")

    def rule(self, name: str, out: str, depth: int, known: bool) -> None:
        """The code that collects a rule's items in the list `out`."""
        self.emit(depth, f"s_{out} = i", f"{out}: list[Any] = []")
        self.element(self.rules[name].expr, out, depth, known)

    def built(self, name: str, out: str) -> str:
        return f"fold.{name}_(p, s_{out}, i, {out})"

    def store(self, out: str, value: str) -> str:
        """`out` is a list to append the value to or, with an equals sign, a variable to assign."""
        return f"{out[1:]} = {value}" if out[0] == "=" else f"{out}.append({value})"

    def element(self, e: Any, out: str, depth: int, known: bool) -> None:
        """The code for an element; `known` if its first token has already been tested."""
        if isinstance(e, pp.Forward):
            self.reference(e.name, out, depth, known)
        elif isinstance(e, pp.And):
            for index, element in enumerate(e.exprs):
                self.element(element, out, depth, known and index == 0)
        elif isinstance(e, pp.MatchFirst):
            self.choice(e, out, depth)
        elif isinstance(e, (pp.ZeroOrMore, pp.Opt)):
            self.emit(
                depth, f"{'while' if isinstance(e, pp.ZeroOrMore) else 'if'} {self.test(e.expr)}:"
            )
            self.element(e.expr, out, depth + 1, True)
        else:
            self.token(e, out, depth, known)

    def token(self, e: Any, out: str, depth: int, known: bool) -> None:
        is_kept = not isinstance(e, pp.Suppress)
        kind = (e if is_kept else e.expr).match
        if not known:
            self.emit(depth, f"if kinds[i] != {kind!r}:", f"    fail(p, i, {kind!r})")
        if is_kept:
            self.emit(depth, self.store(out, "i"))
        self.emit(depth, "i += 1")

    def reference(self, name: str, out: str, depth: int, known: bool) -> None:
        if name in OWN:
            self.emit(depth, self.store(out, f"_{name}(p, i)"), "i = p.i")
            return
        body = self.rules[name].expr
        if isinstance(body, pp.MatchFirst):  # a choice adds no node of its own
            self.element(body, out, depth, known)
            return
        self.temps += 1
        variable = f"t{self.temps}"
        if name in SOLE:
            self.sole(name, body, variable, depth, known)
            self.emit(depth, self.store(out, f"v_{variable}"))
            return
        self.rule(name, variable, depth, known)
        self.emit(depth, self.store(out, self.built(name, variable)))

    def sole(self, name: str, body: Any, inner: str, depth: int, known: bool) -> None:
        """A rule `first { more }` that is just its first item if there are no more: no list is created then."""
        first, more = body.exprs
        self.emit(depth, f"s_{inner} = i", f"v_{inner}: Any")
        self.element(first, f"=v_{inner}", depth, known)
        self.emit(depth, f"if {self.test(more.expr)}:", f"    {inner} = [v_{inner}]")
        self.element(more, inner, depth + 1, False)
        self.emit(depth + 1, f"v_{inner} = {self.built(name, inner)}")

    def choice(self, e: Any, out: str, depth: int) -> None:
        """One test per alternative, the longest first; single-token alternatives share a test."""
        tokens, others = _sorted(self.flat(e))
        tests = [(tokens, None)] if tokens else []
        tests += [(self.first(element)[0], element) for element in others]
        keyword = "if"
        for kinds, element in sorted(tests, key=lambda t: -len(t[0])):
            self.emit(depth, f"{keyword} {_among(kinds)}:")
            if element is None:
                self.emit(depth + 1, self.store(out, "i"), "i += 1")
            else:
                self.element(element, out, depth + 1, True)
            keyword = "elif"
        self.emit(depth, "else:", "    fail(p, i, '')")

    def flat(self, e: Any) -> list[Any]:
        """The alternatives, including those of rules that are themselves choices."""
        alternatives = []
        for element in e.exprs:
            body = (
                element.expr
                if isinstance(element, pp.Forward) and element.name not in OWN
                else element
            )
            alternatives += self.flat(body) if isinstance(body, pp.MatchFirst) else [element]
        return alternatives

    def test(self, e: Any) -> str:
        return _among(self.first(e)[0])

    def first(self, e: Any) -> tuple[str, bool]:
        """The token kinds that an element can begin with, and whether it may be empty."""
        if isinstance(e, pp.Forward):
            return self.first(e.expr)
        if isinstance(e, (pp.ZeroOrMore, pp.Opt)):
            return self.first(e.expr)[0], True
        if isinstance(e, pp.MatchFirst):
            choices = [self.first(element) for element in e.exprs]
            kinds = "".join(letters for letters, _ in choices)
            if len(set(kinds)) < len(kinds):
                raise ValueError(f"a choice is not decided by one token: {e}")
            return kinds, any(empty for _, empty in choices)
        if isinstance(e, pp.And):
            kinds = ""
            for element in e.exprs:
                element_kinds, empty = self.first(element)
                kinds += element_kinds
                if not empty:
                    return kinds, False
            return kinds, True
        literal: Any = e.expr if isinstance(e, pp.Suppress) else e
        return literal.match, False


def _sorted(parts: list[Any]) -> tuple[str, list[Any]]:
    """The token kinds of single-token parts, and the other parts."""
    tokens = "".join(element.match for element in parts if isinstance(element, pp.Literal))
    return tokens, [element for element in parts if not isinstance(element, pp.Literal)]


def _among(kinds: str) -> str:
    return f"kinds[i] == {kinds!r}" if len(kinds) == 1 else f"kinds[i] in {kinds!r}"


def generate() -> str:
    """The text of fast.py."""
    grammar = read(text())
    header = HEAD.format(master=grammar.master, kinds=grammar.kinds, names=grammar.names)
    return header + Generator(grammar).source() + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("fast.py").write_text(generate(), encoding="utf-8")
