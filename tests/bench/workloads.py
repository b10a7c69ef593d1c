"""Small programs in q against the same programs in Python or numpy, and what one call of a scalar lambda costs."""

from __future__ import annotations

import itertools
import math

import numpy as np

from kshell.session import Session
from kshell.shell.cli import tune_allocator, tune_collector
from tests.bench.timing import least, row

Q = r"""
pal:{[s]n:count s;b:0;i:0;while[i<n;l:i-1;r:i+1;while[$[l<0;0b;r<n;s[l]=s r;0b];l-:1;r+:1];b:b|r-l+1;i+:1];b}
stem:{[w]$[w like"*sses";-2_w;w like"*ies";-2_w;w like"*ss";w;w like"*s";-1_w;w like"*ing";-3_w;w like"*ed";-2_w;w]}
pascal:{[n]n{(x,0)+0,x}/1}
"""
WORDS = [a + b + c for a, b, c in itertools.product(
    ("re", "un", "out", "over", "in", "fore", "mis", "sub", "up", "under"),
    ("walk", "press", "carr", "stand", "fill", "count", "mark", "sort", "join", "load", "cast", "line", "book"),
    ("", "s", "ing", "ed", "sses", "ies", "er", "able"))] * 11


def py_pal(s: str) -> int:
    n, b = len(s), 0
    for i in range(n):
        l, r = i - 1, i + 1
        while l >= 0 and r < n and s[l] == s[r]:
            l, r = l - 1, r + 1
        b = max(b, r - l - 1)
    return b


def py_stem(w: str) -> str:
    if w.endswith("sses") or w.endswith("ies"):
        return w[:-2]
    if w.endswith("ss"):
        return w
    if w.endswith("s"):
        return w[:-1]
    return w[:-3] if w.endswith("ing") else w[:-2] if w.endswith("ed") else w


def py_inc(x: int) -> int:
    return x + 1


def py_repeat(n: int) -> int:
    x = 0
    for _ in range(n):
        x = py_inc(x)
    return x


def py_pascal(n: int) -> list[int]:
    row_ = [1]
    for _ in range(n):
        row_ = [1, *map(sum, itertools.pairwise(row_)), 1]
    return row_


def report() -> list[str]:
    tune_allocator()
    tune_collector()
    s = Session()
    for line in Q.strip().split("\n"):
        s.run(line)
    text = "".join(np.random.default_rng(2).choice(list("ab"), 20000))
    s.run(f'txt:"{text}";w:({";".join(chr(34) + w + chr(34) for w in WORDS)})')
    assert s.run("pal txt") == py_pal(text)
    assert s.run("pascal 60").a.tolist() == [math.comb(60, k) for k in range(61)] == py_pascal(60)
    assert [x.a.tobytes().decode() for x in s.run("stem each w").items] == list(map(py_stem, WORDS))
    rows = [
        ("sum til 10000000", lambda: np.arange(10_000_000).sum(), 1.3, "numpy"),
        ("sums til 10000000", lambda: np.cumsum(np.arange(10_000_000)), 1.3, "numpy"),
        ("{x+1}/[1000000;0]", lambda: py_repeat(1_000_000), 4, "CPython"),
        ("do[300;pascal 60]", lambda: [py_pascal(60) for _ in range(300)], 4, "CPython"),
        ("pal txt", lambda: py_pal(text), math.inf, "CPython"),
        (f"stem each {len(WORDS)} words", lambda: list(map(py_stem, WORDS)), math.inf, "CPython"),
    ]
    out = []
    for name, peer, target, who in rows:
        q = "stem each w" if name.startswith("stem") else name
        ours, theirs = least(lambda q=q: s.run(q + ";"), peer, 3)
        out.append(row(name, ours, theirs, target, who))
        if name.startswith("{"):
            call = ours / 1_000_000 * 1e6  # microseconds
            out.append(f"{'ok  ' if call <= 5 else 'MISS'} one call of a scalar lambda: {call:.3f} us (<= 5)")
    return out
