"""The evaluator against the same code in Python."""

from __future__ import annotations

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
    return out
