"""Calls of Python functions from q, against the same calls from Python, and arrays on their way in and out against a copy.
Whole statements: with their loops, and with the conversion of what goes out and comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from kshell.python.session import Session
from kshell.shell.cli import tune_allocator
from tests.bench.timing import row

TEXT = """
def same(x): return x
def first(x,y): return x
def add(x,y=1): return x+y
class A: pass
a=A(); a.b=1
"""
_CALLS, _ROUNDS = 1000, 1500


def same(x: Any) -> Any:
    return x


def first(x: Any, y: Any) -> Any:
    return x


def add(x: Any, y: Any = 1) -> Any:
    return x + y


def keyword() -> None:
    """A Python loop of calls with a keyword argument."""
    for _ in range(_CALLS):
        add(3, y=4)


def starred() -> None:
    more = {"y": 4}
    for _ in range(_CALLS):
        add(3, **more)


def listed() -> None:
    both = [3, 4]
    for _ in range(_CALLS):
        add(*both)


def loop(f: Callable[..., Any], *args: Any) -> Callable[[], None]:
    """A Python loop of calls."""
    if len(args) == 1:
        (x,) = args

        def one() -> None:
            for _ in range(_CALLS):
                f(x)

        return one
    x, y = args

    def two() -> None:
        for _ in range(_CALLS):
            f(x, y)

    return two


def quickest(works: list[Callable[[], Any]], rounds: int = _ROUNDS) -> list[float]:
    """The least seconds of each of some works, which take turns. They are short, so that most are not disturbed."""
    found = [9.0] * len(works)
    for _ in range(rounds):
        for i, work in enumerate(works):
            start = time.perf_counter()
            work()
            found[i] = min(found[i], time.perf_counter() - start)
    return found


def report() -> Iterator[str]:
    tune_allocator()
    s = Session()
    s.run(".p.e" + '"' + TEXT.replace("\n", "\\n") + '"')
    s.run("f:.p.get[`same;<];g:.p.get[`first;<];h:.p.get[`add;<];w:.p.get`same;o:.p.get`a;v:til 10;l:til 1000")
    s.run("z:.p.get`add;d:(1#`y)!1#4;p:3 4")
    s["k"] = same
    plain, two = loop(same, 3), loop(first, 3, 4)
    statements = [
        ("f 3", plain, 2), ("f[3;4]", two, 2), ("k 3, of a Session", plain, 2), ("f 3.5", plain, 2), ("f x", plain, 3),
        ("f`a", plain, 40), ('f"abc"', plain, 40), ("f v", plain, 60), ("w 3", plain, 15), ("z[3;`y pykw 4]", keyword, 60),
        ("h[3;`y pykw 4]", keyword, 2), ("h[x;`y pykw x]", keyword, 3), ("h[3;pykwargs d]", starred, 40),
        ("h pyarglist p", listed, 40), ("o`:b", plain, 30),
    ]  # fmt: skip
    for name, peer, target in statements:
        code = name.partition(",")[0].replace("f[3;4]", "g[3;4]")
        s.run("run:{[n;x]do[n;" + code + "]}")
        run = s.run("run").fn
        ours, theirs = quickest([partial(run, _CALLS, 3), peer])
        of = {keyword: "add(3, y=4)", starred: "add(3, **d)", listed: "add(*p)"}.get(peer, "f(3)")
        yield row(f"do[n;{name}]", ours / _CALLS, theirs / _CALLS, target, f"for: {of}")
    ours, theirs = quickest([partial(s.run, "f each l;"), lambda: list(map(same, range(_CALLS)))])
    yield row("f each til 1000", ours / _CALLS, theirs / _CALLS, 10, "list(map(f, range))")
    yield from arrays(s)


def arrays(s: Session) -> Iterator[str]:
    """What 10,000,000 floats cost on their way, against one: they are not copied."""
    s.run(".p.e\"import numpy as np\\ndef size(x): return x.size\\ndef made(n): return np.empty(n)\"")
    s.run("size:.p.get[`size;<];made:.p.get[`made;<];one:1?1f;many:10000000?1f")
    s.run("out:{[n;x]do[n;size x]};got:{[n;m]do[n;made m]}")
    out, got = s.run("out").fn, s.run("got").fn
    ours, theirs = quickest([partial(out, 100, s.run("many")), partial(out, 100, s.run("one"))])
    yield row("10,000,000 floats to Python", ours / 100, theirs / 100, 1.2, "one")
    ours, theirs = quickest([partial(got, 100, 10_000_000), loop(np.empty, 10_000_000)], 100)
    yield row("10,000,000 floats from Python, new", ours / 100, theirs / _CALLS, 3, "in Python")
