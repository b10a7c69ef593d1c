"""From the pyparsing elements of the grammar to Python functions: writes parse/fast.py.

    python -m kshell.parse.generate

Kinds are single characters and the grammar needs no look-ahead but the next one, so every choice is a test of one
character. A rule that is used by others becomes part of them where that makes no loop; its value is what the builder of
that name in parse/fold.py makes of its items.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyparsing as pp

from kshell.parse.grammar import Grammar, read, text

OWN = ("line", "expr", "phrase", "source", "list", "lambda", "query")  # rules that are functions of their own
HEAD = '''"""The parser proper, generated from grammar/q.ebnf by parse/generate.py: do not edit."""
# ruff: noqa

from __future__ import annotations

from typing import Any

from kshell.parse import fold
from kshell.parse.fold import fail

MASTER = {master!r}
KINDS = {kinds!r}
NAMES = {names!r}
'''


class Generator:
    """Emits one function a rule of OWN."""

    def __init__(self, grammar: Grammar) -> None:
        self.rules = grammar.rules
        self.lines: list[str] = []
        self.temps = 0

    def source(self) -> str:
        for name in OWN:
            self.function(name)
        return "\n".join(self.lines)

    def function(self, name: str) -> None:
        self.temps = 0
        self.lines += ["", "", f"def _{name}(p: Any, i: int) -> Any:", "    kinds = p.kinds"]
        self.rule(name, "out", 1)
        self.lines += ["    p.i = i", f"    return {self.built(name, 'out', 's_out')}"]

    def rule(self, name: str, out: str, depth: int) -> None:
        """The code that collects a rule's items in the list `out`."""
        pad = "    " * depth
        self.lines.append(f"{pad}s_{out}, {out} = i, []")
        self.element(self.rules[name].expr, out, depth)

    def built(self, name: str, out: str, start: str) -> str:
        return f"fold.{name}_(p, {start}, i, {out})"

    def element(self, e: Any, out: str, depth: int) -> None:
        pad = "    " * depth
        if isinstance(e, pp.Forward):
            self.reference(e.name, out, depth)
        elif isinstance(e, pp.And):
            for part in e.exprs:
                self.element(part, out, depth)
        elif isinstance(e, pp.MatchFirst):
            self.choice(e, out, depth)
        elif isinstance(e, pp.ZeroOrMore):
            self.lines.append(f"{pad}while {self.test(e.expr)}:")
            self.element(e.expr, out, depth + 1)
        elif isinstance(e, pp.Opt):
            self.lines.append(f"{pad}if {self.test(e.expr)}:")
            self.element(e.expr, out, depth + 1)
        else:
            self.token(e, out, depth)

    def token(self, e: Any, out: str, depth: int) -> None:
        pad = "    " * depth
        keep = not isinstance(e, pp.Suppress)
        kind = (e if keep else e.expr).match
        self.lines += [f"{pad}if kinds[i] != {kind!r}:", f"{pad}    fail(p, i, {kind!r})"]
        self.lines += [f"{pad}{out}.append(i)"] * keep + [f"{pad}i += 1"]

    def reference(self, name: str, out: str, depth: int) -> None:
        pad = "    " * depth
        if name in OWN:
            self.lines += [f"{pad}{out}.append(_{name}(p, i))", f"{pad}i = p.i"]
            return
        body = self.rules[name].expr
        if isinstance(body, pp.MatchFirst):  # a choice adds nothing of its own
            self.element(body, out, depth)
            return
        self.temps += 1
        inner = f"t{self.temps}"
        self.rule(name, inner, depth)
        self.lines.append(f"{pad}{out}.append({self.built(name, inner, 's_' + inner)})")

    def choice(self, e: Any, out: str, depth: int) -> None:
        """A test an alternative; those that are one token each share a test."""
        pad = "    " * depth
        word = "if"
        tokens, others = _sorted(self.flat(e))
        if tokens:
            self.lines += [f"{pad}if {_among(tokens)}:", f"{pad}    {out}.append(i)", f"{pad}    i += 1"]
            word = "elif"
        for part in others:
            self.lines.append(f"{pad}{word} {self.test(part)}:")
            self.element(part, out, depth + 1)
            word = "elif"
        self.lines += [f"{pad}else:", f"{pad}    fail(p, i, '')"]

    def flat(self, e: Any) -> list[Any]:
        """The alternatives, those of rules that are choices themselves included."""
        found = []
        for part in e.exprs:
            body = part.expr if isinstance(part, pp.Forward) and part.name not in OWN else part
            found += self.flat(body) if isinstance(body, pp.MatchFirst) else [part]
        return found

    def test(self, e: Any) -> str:
        return _among(self.first(e)[0])

    def first(self, e: Any) -> tuple[str, bool]:
        """The kinds that an element can begin with, and whether it may be empty."""
        if isinstance(e, pp.Forward):
            return self.first(e.expr)
        if isinstance(e, (pp.ZeroOrMore, pp.Opt)):
            return self.first(e.expr)[0], True
        if isinstance(e, pp.MatchFirst):
            parts = [self.first(x) for x in e.exprs]
            kinds = "".join(k for k, _ in parts)
            if len(set(kinds)) < len(kinds):
                raise ValueError(f"a choice is not decided by one token: {e}")
            return kinds, any(empty for _, empty in parts)
        if isinstance(e, pp.And):
            kinds = ""
            for part in e.exprs:
                more, empty = self.first(part)
                kinds += more
                if not empty:
                    return kinds, False
            return kinds, True
        return (e.expr if isinstance(e, pp.Suppress) else e).match, False


def _sorted(parts: list[Any]) -> tuple[str, list[Any]]:
    """The kinds of the parts that are single tokens, and the other parts."""
    tokens = "".join(p.match for p in parts if isinstance(p, pp.Literal))
    return tokens, [p for p in parts if not isinstance(p, pp.Literal)]


def _among(kinds: str) -> str:
    return f"kinds[i] == {kinds!r}" if len(kinds) == 1 else f"kinds[i] in {kinds!r}"


def generate() -> str:
    """The text of fast.py."""
    grammar = read(text())
    head = HEAD.format(master=grammar.master, kinds=grammar.kinds, names=grammar.names)
    return head + Generator(grammar).source() + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("fast.py").write_text(generate(), encoding="utf-8")
