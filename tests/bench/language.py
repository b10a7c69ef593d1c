"""The evaluator against the same code in Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kshell.session import Session
from kshell.shell.cli import tune_allocator
from tests.bench.timing import least, row


def py_loop(n: int) -> int:
    i = s = 0
    while i < n:
        s += i
        i += 1
    return s


def py_fib(n: int) -> int:
    return n if n < 2 else py_fib(n - 1) + py_fib(n - 2)


def py_inc(x: int) -> int:
    return x + 1


def py_big(x: int) -> int:
    return x + 1 if x > 0 else x - 1


# small lambdas on 100,000 numbers l, strings st and vectors v; the expression of the same comprehension
LAMBDAS: list[tuple[str, Callable[[Any, Any, Any], Any]]] = [
    ("{x,x}each l", lambda i, t, v: [[x, x] for x in i]),
    ("{x,1}each l", lambda i, t, v: [[x, 1] for x in i]),
    ("{(x;2*x)}each l", lambda i, t, v: [(x, 2 * x) for x in i]),
    ("{count string x}each l", lambda i, t, v: [len(str(x)) for x in i]),
    ("{`a`b x mod 2}each l", lambda i, t, v: [("a", "b")[x % 2] for x in i]),
    ("{b:x+1;b*2}each l", lambda i, t, v: [(x + 1) * 2 for x in i]),
    ("{if[x>500;:0];x*2}each l", lambda i, t, v: [0 if x > 500 else x * 2 for x in i]),
    ("{$[x in 3 4 5;x;0]}each l", lambda i, t, v: [x if x in (3, 4, 5) else 0 for x in i]),
    ("{r:0;i:0;while[i<3;r+:x;i+:1];r}each l", lambda i, t, v: [sum(x for _ in range(3)) for x in i]),
    ("{til x}each l mod 5", lambda i, t, v: [list(range(x % 5)) for x in i]),
    ("{`a`b!(x;2*x)}each l", lambda i, t, v: [{"a": x, "b": 2 * x} for x in i]),
    ("{x[0]}each st", lambda i, t, v: [x[0] for x in t]),
    ("{upper x}each st", lambda i, t, v: [x.upper() for x in t]),
    ('{x,"a"}each st', lambda i, t, v: [x + "a" for x in t]),
    ('{"J"$x}each st', lambda i, t, v: [int(x) for x in t]),
    ("{sum x*x}each v", lambda i, t, v: [sum(y * y for y in x) for x in v]),
    ("{x where x>3}each v", lambda i, t, v: [[y for y in x if y > 3] for x in v]),
    ("{distinct x}each v", lambda i, t, v: [list(dict.fromkeys(x)) for x in v]),
    ("{3 in x}each v", lambda i, t, v: [3 in x for x in v]),
]


def report() -> list[str]:
    tune_allocator()
    s = Session()
    s.run("loop:{[n]i:0;s:0;while[i<n;s+:i;i+:1];s}")
    s.run("fib:{$[x<2;x;fib[x-1]+fib[x-2]]}")
    s.run("inc:{x+1}")
    s.run("big:{$[x>0;x+1;x-1]}")
    assert s.run("loop 10") == py_loop(10) and s.run("fib 15") == py_fib(15)
    out = []
    a, b = least(lambda: s.run("loop 1000000"), lambda: py_loop(1_000_000), 5)
    out.append(row("while loop summing to 1e6", a, b, 4, "CPython"))
    a, b = least(lambda: s.run("fib 24"), lambda: py_fib(24), 7)
    out.append(row("fib 24", a, b, 4, "CPython"))
    a, b = least(lambda: s.run("{x+1}each til 100000;"), lambda: [py_inc(i) for i in range(100_000)], 9)
    out.append(row("{x+1}each til 100000", a, b, 0.1, "list comprehension"))
    a, b = least(lambda: s.run("big each til 100000;"), lambda: [py_big(i) for i in range(100_000)], 9)
    out.append(row("a lambda with a condition, each", a, b, 2, "list comprehension"))
    s.run("l:100000?1000;st:string l;v:(100000?10)#\\:til 10")
    data = s["l"].a.tolist(), [str(x) for x in s["l"].a.tolist()], [x.a.tolist() for x in s.run("raze 1 cut v").items]
    for text, peer in LAMBDAS:
        a, b = least(partial(s.run, text + ";"), partial(peer, *data), 9)
        out.append(row(text, a, b, 2, "list comprehension"))
    return out
