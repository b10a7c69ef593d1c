"""The parser: trees of every construct, literals, errors and their places, scripts, and the generated form."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from calendar import monthrange
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.lang.console.format import quoted
from kshell.parse import complete, fast, fold, generate, lex, parse, split_script
from kshell.parse import tree as N
from kshell.parse.grammar import oracle, read, text
from kshell.parse.lex import CLASSES, coloured, scan
from kshell.parse.literals import number, string

INFIX = frozenset({"each", "in", "mod", "div", "over", "cross", "xdesc", "upsert"})
GRAMMAR = read(text())


def infix(name: str) -> bool:
    return name in INFIX


def short(x: Any) -> str:
    """A tree in a few characters: (f a b) for an application, f~g for a composition."""
    if isinstance(x, (list, tuple)):
        return ";".join(short(item) for item in x)
    if not isinstance(x, N.Node):
        return "" if x is None else str(x)
    name = type(x).__name__
    if name == "Lit":
        return f"{x.data}{'' if x.t == 'j' else x.t}" if not isinstance(x.data, list) else f"<{short(x.data)}>{x.t}"
    if name in ("Name", "Verb"):
        return x.name if name == "Name" else x.glyph
    if name == "Elided":
        return "_"
    if name == "Apply":
        return "(" + " ".join(short(a) for a in [x.f, *x.args]) + ")"
    if name == "Iterator":
        return f"{short(x.f)}{x.glyph}"
    if name == "Compose":
        return "~".join(short(f) for f in x.fs)
    if name == "Assign":
        return f"{{{short(x.target)} {short(x.op)}: {short(x.value)}}}"
    if name == "Lambda":
        return f"\\{'' if x.params is None else '[' + ';'.join(x.params) + ']'}{short(x.body)}\\"
    return f"{name}[{'|'.join(short(getattr(x, f)) for f in x.fields)}]"


def one(line: str) -> Any:
    """The tree of a line of one statement."""
    (node,) = parse(line, infix)
    return node.expr


TREES = {
    "2*3+4": "(* 2 (+ 3 4))",
    "x-1": "(- x 1)",
    "x -1": "(x -1)",
    "x - 1": "(- x 1)",
    "1 -2": "<1;-2>j",
    "1-2": "(- 1 2)",
    "x[0]-1": "(- (x 0) 1)",
    "(x)-1": "(- x 1)",
    "3.5-1": "(- 3.5f 1)",
    "`a-1": "(- as 1)",
    "a:-1": "{a : -1}",
    "+/-1 2": "(+/ <-1;2>j)",
    "-x": "(- x)",
    "~x": "(~ x)",
    "f x y": "(f (x y))",
    "f[x;y]z": "((f x y) z)",
    "f[]": "(f)",
    "f[;1]": "(f _ 1)",
    "f[1][2]": "((f 1) 2)",
    "1 2 3[0]": "(<1;2;3>j 0)",
    '"abc"[1]': "(b'abc'c 1)",
    "-[5]": "(- 5 _)",
    "::[5]": "(:: 5)",
    "x in y": "(in x y)",
    "count each x": "(each count x)",
    "x mod y div z": "(mod x (div y z))",
    "each[f;x]": "(each f x)",
    "x in\\:y": "(in\\: x y)",
    "+/x": "(+/ x)",
    "0+/x": "(+/ 0 x)",
    "+/[0;x]": "(+/ 0 x)",
    "f'x": "(f' x)",
    "x f'y": "(f' x y)",
    "f'[x;y]": "(f' x y)",
    "f''": "f''",
    "x,/:\\:y": "(,/:\\: x y)",
    "x -': y": "(-': x y)",
    "(+/)x": "(+/ x)",
    "((+))": "+",
    "(in)x": "(in x)",
    "'[f;g]": "(' f g)",
    "c:'[f;g]": "{c : (' f g)}",
    "('[;])over x": "(over (' _ _) x)",
    "(/)": "/",
    "#:'x": "(#:' x)",
    "(#:)": "#:",
    "(2*)": "(* 2 _)",
    "f:+": "{f : +}",
    "(f g@)": "f~(@ g _)",
    '(.1*"j"$10*)': "(* 0.1f _)~($ jc _)~(* 10 _)",
    "(0|+)": "(| 0 _)~+",
    "m:`t xdesc upsert": "{m : (xdesc ts _)~upsert}",
    "n:sum abs::": "{n : sum~abs}",
    "1 2 ::": "<1;2>j",
    "(::)": "::",
    "f[::]": "(f ::)",
    "(neg each)": "(each neg _)",
    "x:y:2": "{x : {y : 2}}",
    "x+:1": "{x +: 1}",
    "x[i;j],:2": "{(x i j) ,: 2}",
    "x::2": "View[x|2|2]",
    "1,x::2": "(, 1 {x ::: 2})",
    "x[0]::2": "{(x 0) ::: 2}",
    "x<=:2": "{x <=: 2}",
    "f x:2": "(f {x : 2})",
    "(a;b):x": "{ListOf[a;b] : x}",
    "@[x;i;:;y]": "(@ x i : y)",
    "@[x;i;+:;y]": "(@ x i +: y)",
    "`f 0:x": "(0: fs x)",
    "1_x": "(_ 1 x)",
    "a_b": "a_b",
    "a _b": "(_ a b)",
    ".a.b c.d": "(.a.b c.d)",
    "x .y": "(x .y)",
    "f . x": "(. f x)",
    "()": "ListOf[]",
    "(x)": "x",
    "(1;`a)": "ListOf[1;as]",
    "(;1)": "ListOf[_;1]",
    "{x+y}": "\\(+ x y)\\",
    "{[a;b]a;b}": "\\[a;b]a;b\\",
    "{[]}": "\\[]\\",
    "{a;;b;}": "\\a;b;_\\",
    "{:x}": "\\Return[x]\\",
    "{'x}": "\\Signal[x]\\",
    "{[(a;b);c]a}": "\\[_arg0;c]{ListOf[a;b] : _arg0};a\\",
    "{[x;]x}": "\\[x;_arg1]x\\",
    "{x}[1]": "(\\x\\ 1)",
    "'`type": "Signal[types]",
    "f 'x": "(f Signal[x])",
    "a, 'b": "(,' a b)",
    "a,'b": "(,' a b)",
    "$[a;b;c]": "Cond[a;b;c]",
    "$[a;;c]": "Cond[a;_;c]",
    "$[a;b]": "($ a b)",
    "if[a;b;:c]": "Control[if|a;b;Return[c]]",
    "do[3;x;]": "Control[do|3;x]",
    "if": "if",
    "a:[b:1;b+2]": "{a : Block[{b : 1};(+ b 2)]}",
    "[a;b]": "Block[a;b]",
    "a: :[1;r:`f;2;3]": "{a : (: 1 {r : fs} 2 3)}",
    "([]a:1;b)": "TableOf[|a;1;;b]",
    "([k:x]a:y)": "TableOf[k;x|a;y]",
    "([a:1;b:2])": "DictOf[a;1;b;2]",
    "([a:;b:c]):d": "{DictOf[a;_;b;c] : d}",
    "select from t": "Select[select||||t|]",
    "select a,b:2*c by d from t where e in f,g>1":
        "Select[select||;a;b;(* 2 c)|;d|t|(in e f);(> g 1)]",
    "select[5;>p]from t": "Select[select|5;>;p|||t|]",
    "select[<p]a from t": "Select[select|;<;p|;a||t|]",
    "select distinct a,b from t": "Select[select|distinct|;a;;b||t|]",
    "select distinct from t": "Select[select|distinct|||t|]",
    "exec a by b from t": "Select[exec||;a|;b|t|]",
    "update x:f[a,b],y:(c,d)from t": "Select[update||x;(f (, a b));y;(, c d)||t|]",
    "delete a from `t": "Select[delete||;a||ts|]",
    "select from select from t where a,b": "Select[select||||Select[select||||t|a;b]|]",
    "select a from t,u where where c": "Select[select||;a||(, t u)|(where c)]",
    "x in exec y from t": "(in x Select[exec||;y||t|])",
    "(select from t)lj u": "(Select[select||||t|] (lj u))",
    "select a,'b from t": "Select[select||;(,' a b)||t|]",
    "selector fromage": "(selector fromage)",
}


@pytest.mark.parametrize("line", TREES, ids=str)
def test_trees(line: str) -> None:
    assert short(one(line)) == TREES[line]


def test_statements() -> None:
    nodes = parse("a:1;b;c", infix)
    assert [(short(n.expr), n.show) for n in nodes] == [("{a : 1}", False), ("b", False), ("c", True)]
    assert [n.show for n in parse("a;", infix)] == [False]
    assert parse("", infix) == [] and parse(" / only this", infix) == [] and parse(";;", infix) == []


def test_commands_and_prefixes() -> None:
    assert parse("\\l a.q", infix)[0].text == "l a.q"
    assert parse("\\", infix)[0].text == "" and parse("\\\\", infix)[0].text == "\\"
    node = parse("k)#x", infix)[0]
    assert (node.letter, node.text) == ("k", "#x")
    assert short(parse("q)1+1", infix)[0].expr) == "(+ 1 1)"


def test_places() -> None:
    node = one("f:{[a] a + b}[1]")
    assert node.value.f.text == "{[a] a + b}"
    plus = node.value.f.body[0]
    assert (plus.start, plus.end, plus.at) == (7, 12, 9)
    assert (node.value.start, node.value.at, node.at) == (2, 2, 1)


# ---------------------------------------------------------------------------------------------------- literals
LITERALS = {
    "1": ("j", 1), "-1": ("j", -1), "1 2 3": ("j", [1, 2, 3]), "7h": ("h", 7), "1 2i": ("i", [1, 2]), "5j": ("j", 5),
    "1.": ("f", 1.0), ".5": ("f", 0.5), "1e-3": ("f", 0.001), "2f": ("f", 2.0), "1 2.5": ("f", [1.0, 2.5]),
    "1 2e": ("e", [1.0, 2.0]), "1.5e3": ("f", 1500.0), "2.5e": ("e", 2.5), "1 2 3f": ("f", [1.0, 2.0, 3.0]),
    "1b": ("b", True), "010b": ("b", [False, True, False]), "0x0a": ("x", 10), "0x0aff": ("x", [10, 255]),
    "0x": ("x", []), "0xf": ("x", 15),
    "0N": ("j", -(2**63)), "0W": ("j", 2**63 - 1), "-0W": ("j", 1 - 2**63), "0Nh": ("h", -(2**15)),
    "-0Wi": ("i", 1 - 2**31), "1 0N 2h": ("h", [1, -(2**15), 2]), "0w": ("f", math.inf), "-0we": ("e", -math.inf),
    "1 0W 2f": ("f", [1.0, math.inf, 2.0]), "0Ng": ("g", bytes(16)), "0Nd": ("d", -(2**31)),
    "9223372036854775807": ("j", 2**63 - 1),
    "2000.01.01": ("d", 0), "1999.12.31": ("d", -1), "2024.02.29": ("d", 8825),
    "2000.01.02 0Nd": ("d", [1, -(2**31)]), "2000.01.02 0N": ("d", [1, -(2**31)]),
    "2000.03m": ("m", 2), "1999.12 2000.01m": ("m", [-1, 0]),
    "12:00": ("u", 720), "9:30": ("u", 570), "12:00:01": ("v", 43201), "00:00:00.5": ("t", 500),
    "00:00:01:250": ("t", 1250), "00:00:00.0001": ("n", 100_000), "0D": ("n", 0), "1D02": ("n", 93_600_000_000_000),
    "-0D00:00:01": ("n", -1_000_000_000), "0D00:00:00.000000001 0N": ("n", [1, -(2**63)]),
    "2000.01.01D": ("p", 0), "2000.01.02D00:00:00.000000001": ("p", 86_400_000_000_001),
    "2000.01.01D 2000.01.02": ("p", [0, 86_400_000_000_000]), "2000.01.01T12:00": ("z", 0.5),
    "12:00 12:00:01": ("v", [43200, 43201]), "5n": ("n", 5), "12:00n": ("n", 43_200_000_000_000),
}  # fmt: skip


@pytest.mark.parametrize("literal", LITERALS, ids=str)
def test_literals(literal: str) -> None:
    node = one(literal)
    assert isinstance(node, N.Lit) and (node.t, node.data) == LITERALS[literal]


def test_float_nulls() -> None:
    t, data = number("0n 1 0N")
    assert t == "f" and math.isnan(data[0]) and math.isnan(data[2])


@pytest.mark.parametrize("literal", ["2000.13.01", "2023.02.29", "12:60", "12x", "1.2.3", "0101", "012b", "0xg1",
                                     "1 2x", "1b 2", "0Ng 1", "0Nq", "1e1e1"])
def test_false_literals(literal: str) -> None:
    if literal == "0101":
        assert one(literal).data == 101
        return
    with pytest.raises(QError):
        parse(literal, infix)


@pytest.mark.parametrize("literal", ["9223372036854775808", "40000h", "1 3000000000i", "9" * 5000, "1 " + "9" * 5000])
def test_out_of_range(literal: str) -> None:
    with pytest.raises(QError, match="limit"):
        parse(literal, infix)


def test_strings() -> None:
    assert string('"a"') == ("c", "a") and string('""') == ("c", b"") and string('"\\101"') == ("c", "A")
    assert string(r'"a\n\t\r\"\\\001"') == ("c", b'a\n\t\r"\\\x01')
    assert string('"é"') == ("c", "é".encode()) and string('"\\377"') == ("c", "\xff")


@given(st.binary(min_size=2, max_size=20))
def test_quoting_is_reversed(data: bytes) -> None:
    assert string(quoted(data)) == ("c", data)


@given(st.lists(st.integers(-(2**63) + 2, 2**63 - 2), min_size=1, max_size=9))
def test_longs(values: list[int]) -> None:
    node = one("(" + " ".join(map(str, values)) + ")")
    assert (node.data if isinstance(node.data, list) else [node.data]) == values


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=9))
def test_floats(values: list[float]) -> None:
    t, data = number(" ".join(map(repr, values)))
    assert t == "f" and (data if isinstance(data, list) else [data]) == values


@given(st.dates())
def test_dates(day: Any) -> None:
    assert number(f"{day.year:04}.{day.month:02}.{day.day:02}") == ("d", day.toordinal() - 730120)


@given(st.dates())
def test_no_day_follows_the_last_of_a_month(day: Any) -> None:
    last = monthrange(day.year, day.month)[1]
    with pytest.raises(QError):
        parse(f"{day.year:04}.{day.month:02}.{last + 1:02}", infix)


def test_symbols() -> None:
    assert one("`").data == "" and one("`a`").data == ["a", ""] and one("`a.b_2").data == "a.b_2"
    assert one("`:a/b.q`:h:5000").data == [":a/b.q", ":h:5000"]
    assert short(one("`a `b")) == "(as bs)" and short(one("`a/`b")) == "(as/ bs)"


# ---------------------------------------------------------------------------------------------------- errors
ERRORS = {
    "(1": ("(", 0), "1)": (")", 1), "f[x)": (")", 3), "{(}": ("}", 2), "f[{x": ("{", 2), '1,"ab': ('"', 2),
    "a]b": ("]", 1), "1+é": ("char", 2), "x \\y": ("\\", 2), "1+2x": ("2x", 2), "from": ("from", 0),
    "a by b": ("by", 2),
    "select a": ("from", 8), "select from": ("from", 11), "select a,,b from t": ("parse", 9), "if[]": ("parse", 0),
    "(select a;b)": ("from", 9),
}  # fmt: skip


@pytest.mark.parametrize("line", ERRORS, ids=str)
def test_errors(line: str) -> None:
    with pytest.raises(QError) as e:
        parse(line, infix)
    assert (e.value.text, e.value.frames[0].pos) == ERRORS[line]
    assert e.value.frames[0].source.text == line


@pytest.mark.sampled(3)
@pytest.mark.parametrize("opener", ["(", "[", "{", "(1;", "f[1;", "{[a]", "$[a;", "([]a:", "if[1;", "(f@", "a:[b;"])
def test_nesting(opener: str) -> None:
    bracket = next(c for c in reversed(opener) if c in "([{") if opener[-1] != "]" else "{"
    if opener == "([]a:":
        bracket = "("
    closer = {"(": ")", "[": "]", "{": "}"}[bracket]
    parse(opener * 199 + "1" + closer * 199, infix)
    with pytest.raises(QError, match="limit"):
        parse(opener * 100_000, infix)


def test_nested_templates_have_a_limit() -> None:
    parse("select a from " * 200 + "t", infix)
    parse("(select a from " * 100 + "t" + ")" * 100, infix)
    parse("select a from t;" * 500, infix)
    with pytest.raises(QError, match="limit"):
        parse("select a from " * 10_000 + "t", infix)


LONG = ["x+", "f ", "1;", "1 ", "1.5 ", "`a", "x[0]", "a:", "'", ".", "-", "1-", "{}", "/ a\n x ", "where ", "0x",
        "1e-1", "`:", "a.", "\\ ", '"', '"\\', "1:2", "::", "x:1\n", "2000.01.01 "]


@pytest.mark.parametrize("part", LONG)
def test_long_texts(part: str) -> None:
    try:
        parse(part * 20_000, infix)
    except QError as e:
        assert e.frames
    complete(part * 20_000)


def words(line: str) -> list[str]:
    return line.split(" ")


PIECES = [
    *words("( ) [ ] { } ; : :: + - +: <= ~ / \\ /: \\: ' ': ` `a `:a/b \"a\" \" 1 0x1 01b 2000.01.01 12:00 0N 0Ng 0n"),
    *words("x y in each select from where by exec update delete if[ do while $ $[ f[ 0: 1: .z.s . _ a_b 1.5e3 0D 1D1"),
    *words("é \0 \ufeff 😀 , # k) \\l 1h 1z 5u 0Nd 0wh 2p ([ ]) (1) {[ ,: @[ ![ 0Wd ' distinct ` .a"),
    " ", "\n", " / a", "\n/\n", "\n\\\n", "1 2", "5 6u", "9" * 30,
]  # fmt: skip


def only_qerror(line: str) -> None:
    try:
        parse(line, infix)
    except QError as e:
        assert 0 <= e.frames[0].pos <= len(line), line
    complete(line)
    spans = coloured(line)
    assert all(a[2] <= b[1] for a, b in pairwise(spans)), line


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join))
def test_any_tokens(line: str) -> None:
    only_qerror(line)


@given(st.text(max_size=40))
def test_any_text(line: str) -> None:
    only_qerror(line)


def test_random_lines() -> None:
    rng = random.Random(7)
    for _ in range(20_000):
        only_qerror("".join(rng.choice(PIECES) + rng.choice(["", " "]) for _ in range(rng.randint(1, 12))))


# ---------------------------------------------------------------------------------------------------- generated form
def test_fast_is_generated_from_the_grammar() -> None:
    assert Path(fast.__file__).read_text() == generate.generate(), "run python -m kshell.parse.generate"


def test_pyparsing_is_not_imported() -> None:
    code = "import sys; import kshell.parse; sys.exit('pyparsing' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_rules_and_builders() -> None:
    """Every rule has a builder, every builder a rule, and both an example that parses."""
    choices = {"atom"}  # a choice of rules adds nothing of its own
    builders = {name[:-1] for name in vars(fold) if name.endswith("_") and not name.startswith("_")}
    assert builders == set(GRAMMAR.rules) - choices
    for name in GRAMMAR.rules:
        if name not in choices:
            parse(GRAMMAR.examples[name].split("   ")[0], infix)


def test_token_examples() -> None:
    for kind, name in zip(GRAMMAR.kinds, GRAMMAR.names, strict=True):
        if name and name not in ("end", "apart", "unclosed", "bad", "bracket", "iterator", "by"):
            example = GRAMMAR.examples[name].split(" ")[0]
            assert scan(example).kinds[0] == kind
    assert set(CLASSES) <= set(GRAMMAR.kinds)


def dump(x: Any) -> Any:
    if isinstance(x, N.Node):
        return (type(x).__name__, x.start, x.end, x.at, *[dump(getattr(x, f)) for f in x.fields])
    return [dump(i) for i in x] if isinstance(x, (list, tuple)) else repr(x)


class Oracle:
    """pyparsing's reading of a line."""

    def __init__(self) -> None:
        self.tokens: Any = None
        self.reader = oracle(read(text()), self.build)

    def build(self, name: str, start: int, end: int, items: list[Any]) -> Any:
        return getattr(fold, name + "_")(self.tokens, start, end, items)

    def __call__(self, line: str) -> Any:
        self.tokens = lex(line)
        self.tokens.is_infix = infix
        return self.reader(self.tokens.kinds)


ORACLE = Oracle()


def same_as_oracle(line: str) -> None:
    try:
        tokens = lex(line)
        tokens.is_infix = infix
        nodes = fast._row(tokens, 0)
        if tokens.kinds[tokens.i] != ".":
            return
    except QError:
        return
    assert dump(nodes) == dump(ORACLE(line))


def test_oracle_agrees_on_the_trees() -> None:
    for line in TREES:
        same_as_oracle(line)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(list(TREES)), min_size=1, max_size=4), st.sampled_from([";", " ", "+", ",", "@"]))
def test_oracle_agrees_on_mixtures(lines: list[str], glue: str) -> None:
    same_as_oracle(glue.join(lines))
    same_as_oracle("f[" + ";".join(lines) + "]")


# ---------------------------------------------------------------------------------------------------- scripts, prompt
SCRIPT = """#!/usr/bin/env kshell
/ a comment
a:1; b:2   / another

/
all of this
is a comment
\\
f:{[x]
  x+a;
/ between the lines

  x*b
 }
\\d .u
t:([]
  a:1 2
)
c:3
\\
not q at all )(
"""


def test_split_script() -> None:
    parts = split_script(SCRIPT)
    assert [(line, part.split("\n")[0]) for line, part in parts] == [
        (3, "a:1; b:2   / another"), (9, "f:{[x]"), (15, "\\d .u"), (16, "t:([]"), (19, "c:3")]
    assert parts[1][1].endswith("\n }") and parts[3][1].endswith("\n)")
    (node,) = parse(parts[1][1], infix)
    assert [short(n) for n in node.expr.value.body] == ["(+ x a)", "(* x b)"]


def test_whole_script() -> None:
    nodes = parse(SCRIPT.replace("#", "/"), infix)
    assert [type(n).__name__ for n in nodes] == ["Statement"] * 3 + ["Command"] + ["Statement"] * 2
    assert SCRIPT[nodes[2].expr.value.start : nodes[2].expr.value.end] == nodes[2].expr.value.text


def test_complete() -> None:
    for line in ("", "1+1", "(1;2)", "f:{x}", "1)", '"a"', "\\ts f[", "a:1 / (", "/ (", "(]", "/\nx\n\\", "x}"):
        assert complete(line), line
    for line in ("(1;", "f:{x", '"a', '"a\\"', "f[1;(2;3]"[:-1], "/\nx", "/", "{\n x"):
        assert not complete(line), line


def test_coloured() -> None:
    line = 'select a from t where b="x",c in`d / e'
    kinds = [(k, line[a:b]) for k, a, b in coloured(line)]
    assert kinds[:6] == [("word", "select"), ("name", "a"), ("word", "from"), ("name", "t"), ("word", "where"),
                         ("name", "b")]
    assert kinds[7:] == [("string", '"x"'), ("verb", ","), ("name", "c"), ("name", "in"), ("symbol", "`d"),
                         ("comment", "/ e")]
    assert coloured("/ all") == [("comment", 0, 5)] and coloured("\\l x") == [("command", 0, 4)]
    assert coloured('a "b') == [("name", 0, 1), ("error", 2, 4)]
