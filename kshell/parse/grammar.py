"""The grammar from grammar/q.ebnf: its tokens, and its rules as pyparsing elements over token kinds.

The elements serve as the tests' oracle and draw the railroad diagrams; parse/generate.py turns them into the Python
functions of parse/fast.py, which are what runs. So running q does not import pyparsing.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import pyparsing as pp

_COMMENT = re.compile(r"\(\*.*?\*\)", re.S)
_TOKEN = re.compile(r"^(\w+)\s*(?:'(.)')? = /(.*)/ ;", re.M)
_RULE = re.compile(r"^(\w+)\s*= (?!/)(.*?) ;$", re.M)


class Grammar(NamedTuple):
    """The content of q.ebnf. `master` is the regular expression for all tokens: group n is the token of `kinds[n]`.
    `rules` maps a rule's name to its pyparsing element, `examples` a name to its example."""

    master: str
    kinds: str
    names: tuple[str, ...]
    rules: dict[str, pp.Forward]
    examples: dict[str, str]


def text() -> str:
    """The text of q.ebnf, from the installed package, else from the surrounding checkout."""
    inside = files("kshell") / "grammar" / "q.ebnf"
    beside = Path(__file__).parents[2] / "grammar" / "q.ebnf"
    return (inside if inside.is_file() else beside).read_text(encoding="utf-8")


def read(source: str) -> Grammar:
    """The grammar defined by an EBNF text."""
    examples = dict(re.findall(r"^(\w+) .* ;[ \t]+\(\* (.*?) \*\)$", source, re.M))
    plain = re.sub(r"(?<= ;)[ \t]+\(\*.*\*\)$", "", source, flags=re.M)
    fragments: dict[str, str] = {}
    tokens: list[tuple[str, str, str]] = []
    for name, kind, regex in _TOKEN.findall(plain):
        regex = re.sub(r"<(\w+)>", lambda m: fragments[m[1]], regex.replace("\\/", "/"))
        if kind:
            tokens.append((name, kind, regex))
        else:
            fragments[name] = regex
    alternatives = "|".join(f"({regex})" for _, _, regex in tokens)
    master = f"{fragments['blank']}(?:{alternatives}|(\\Z))"
    kinds = " " + "".join(kind for _, kind, _ in tokens) + "."
    rules = _elements(
        dict(_RULE.findall(_COMMENT.sub("", plain))), {name: kind for name, kind, _ in tokens}
    )
    return Grammar(master, kinds, ("", *(name for name, _, _ in tokens), "end"), rules, examples)


def _elements(bodies: dict[str, str], kinds: dict[str, str]) -> dict[str, pp.Forward]:
    """One named element per rule; the bodies are parsed by a small pyparsing grammar of EBNF."""
    rules: dict[str, Any] = {name: pp.Forward().set_name(name) for name in bodies}
    alternatives = pp.Forward()
    word = pp.Word(pp.alphas)
    quoted = pp.QuotedString('"')
    word.set_parse_action(
        lambda t: rules[t[0]] if t[0] in rules else pp.Literal(kinds[t[0]]).set_name(t[0])
    )
    quoted.set_parse_action(lambda t: pp.Suppress(pp.Literal(t[0])))
    many = (pp.Suppress("{") + alternatives + pp.Suppress("}")).set_parse_action(
        lambda t: pp.ZeroOrMore(t[0])
    )
    perhaps = (pp.Suppress("[") + alternatives + pp.Suppress("]")).set_parse_action(
        lambda t: pp.Opt(t[0])
    )
    sequence = pp.OneOrMore(word | quoted | many | perhaps)
    sequence.set_parse_action(lambda t: pp.And(list(t)) if len(t) > 1 else t[0])
    alternatives <<= pp.DelimitedList(sequence, "|")
    alternatives.set_parse_action(lambda t: pp.MatchFirst(list(t)) if len(t) > 1 else t[0])
    for name, body in bodies.items():
        rules[name] <<= alternatives.parse_string(body, parse_all=True)[0]
    return rules


def oracle(
    grammar: Grammar, build: Callable[[str, int, int, list[Any]], Any]
) -> Callable[[str], Any]:
    """A pyparsing parser for strings of token kinds. A rule's value is `build(name, start, end, items)`, where a token
    counts as its index. It raises pyparsing's ParseException, and modifies the grammar's elements."""
    for element in _all(grammar):
        element.leave_whitespace(recursive=False)
        if isinstance(element, pp.Literal):
            element.set_parse_action(lambda s, at, t: at)
    for name, rule in grammar.rules.items():
        if not isinstance(rule.expr, pp.MatchFirst):  # a choice adds no node of its own
            rule <<= rule.expr + pp.Empty().leave_whitespace().set_parse_action(lambda s, at, t: at)
            rule.set_parse_action(lambda s, at, t, name=name: build(name, at, t[-1], list(t)[:-1]))
    complete = grammar.rules["row"] + pp.Suppress(pp.Literal("."))

    def parse(kinds: str) -> Any:
        (value,) = complete.parse_string(kinds, parse_all=True)
        return value

    return parse


def _all(grammar: Grammar) -> list[Any]:
    """Every element under the rules, without duplicates."""
    elements: dict[int, Any] = {}
    stack: list[Any] = list(grammar.rules.values())
    while stack:
        element = stack.pop()
        if id(element) not in elements:
            elements[id(element)] = element
            stack += getattr(element, "exprs", None) or (
                [element.expr] if getattr(element, "expr", None) else []
            )
    return list(elements.values())


def diagram(path: str) -> None:
    """Write the railroad diagram of the rules as an HTML file (requires the extra `docs`)."""
    grammar = read(text())
    grammar.rules["row"].create_diagram(path, vertical=4, show_results_names=False)
