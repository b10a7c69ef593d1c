"""The parser: logical lines a second, against pyparsing over the same tokens, and growth with length."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from kshell.parse import fold, lex, parse
from kshell.parse.grammar import oracle, read, text
from tests.bench.timing import paired, row

INFIX = frozenset({"each", "in", "mod", "div", "over", "within", "lj", "xasc"})
LINES = [
    "x:til 10",
    "f:{[a;b] a+b*2}",
    "f[1 2 3;4]-x 0",
    "t:([]s:`a`b`a;p:1.5 2 3;d:2024.01.01 2024.01.02 2024.01.03)",
    "select n:count i,avg p by s from t where d within 2024.01.01 2024.01.02,p>1",
    "r:{$[x<2;x;.z.s[x-1]+.z.s x-2]} each til 20",
    "d:`lr`momentum`nesterov!(.1;.9;1b)",
    "loss:{[m;x;y] avg sum each e*e:y-m x}",
    "if[1000<n+:1;show(`step;n;loss[m;x;y]);n:0]",
    "rnd:(.1*\"j\"$10*)",
    "(+/)x*x",
    "x[`a;1 2],:3",
]


def infix(name: str) -> bool:
    return name in INFIX


def all_lines() -> None:
    for line in LINES:
        parse(line, infix)


def by_pyparsing() -> Callable[[], Any]:
    """A function that parses the lines with the grammar's own elements."""
    tokens: list[Any] = [None]
    reader = oracle(read(text()), lambda name, a, b, items: getattr(fold, name + "_")(tokens[0], a, b, items))

    def run() -> None:
        for line in LINES:
            tokens[0] = lex(line)
            tokens[0].is_infix = infix
            reader(tokens[0].kinds)

    return run


def seconds(line: str) -> float:
    start = time.perf_counter()
    parse(line, infix)
    return time.perf_counter() - start


def report() -> list[str]:
    ours, peer = paired(all_lines, by_pyparsing(), repeat=20)
    rate = len(LINES) / ours
    out = [row(f"{len(LINES)} lines", ours, peer, 0.2, "pyparsing, same tokens"),
           f"{'ok  ' if rate >= 20000 else 'MISS'} {rate:,.0f} lines a second (>= 20,000)"]
    for name, part in (("infix", "x+"), ("prefix", "f "), ("list", "1;"), ("numbers", "1.5 ")):
        times = [min(seconds(part * n + "1") for _ in range(3)) for n in (100, 1000, 10000, 100000)]
        out.append(f"     {name:8} us a term, for 100 to 100,000 terms: "
                   + " ".join(f"{t * 1e6 / n:.2f}" for t, n in zip(times, (100, 1000, 10000, 100000), strict=True)))
    out.append(f"     200 nested brackets: {seconds('(1;' * 200 + '1' + ')' * 200) * 1e3:.2f} ms")
    return out
