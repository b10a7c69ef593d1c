"""Single items in loops, against the same in CPython: both in a function that does it 20,000 times."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from kshell.session import Session
from tests.bench.timing import least, row

TIMES = 20_000
DEFINED = """v:til 100;f:100?1f;st:"the quick brown fox";m:10 10#til 100;l:(1 2;3 4 5;"ab");d:`a`b`c!1 2 3;n:(1 2 3)!4 5 6
t:([]a:til 50;b:50?`x`y);kt:([k:til 50]v:til 50;w:50?1f);i:3;fl:2.25"""
NAMES: dict[str, Any] = {
    "v": list(range(100)), "f": [0.5] * 100, "st": "the quick brown fox", "m": [list(range(10)) for _ in range(10)], "l": [[1, 2], [3, 4, 5], "ab"],
    "d": {"a": 1, "b": 2, "c": 3}, "n": {1: 4, 2: 5, 3: 6}, "t": {"a": list(range(50)), "b": ["x"] * 50}, "kt": {k: {"v": k, "w": 0.5} for k in range(50)},
    "i": 3, "fl": 2.25}
# q, Python, and how many times as long it may take
ITEMS: list[tuple[str, str, float]] = [
    ("v i", "v[i]", 40), ("f i", "f[i]", 40), ("st i", "st[i]", 40), ("l 1", "l[1]", 80), ("m[2;3]", "m[2][3]", 60), ("l[1;2]", "l[1][2]", 60),
    ("d`b", 'd["b"]', 60), ("n 2", "n[2]", 60), ("t 3", "dict(a=3, b=t['b'][3])", 40), ("t[3;`a]", 't["a"][3]', 60), ("kt[3;`v]", 'kt[3]["v"]', 60),
    ("v[3]+:7", "v[3] += 7", 60), ("v[5]:9", "v[5] = 9", 60), ("d[`b]+:7", 'd["b"] += 7', 60), ('"f"$i', "float(i)", 20), ('"j"$fl', "round(fl)", 20),
]


def report() -> list[str]:
    s = Session()
    s.run(DEFINED)
    out = []
    for q, python, bound in ITEMS:
        s.run(f"it:{{do[{TIMES};{q}]}}")
        a, b = least(partial(s.run, "it[]"), _python(python), 9)
        out.append(row(q, a, b, bound, python))
    return out


def _python(text: str) -> Callable[[], None]:
    names = dict(NAMES)
    exec(f"def it():\n for _ in range({TIMES}): {text}", names)
    return names["it"]  # type: ignore[no-any-return]
