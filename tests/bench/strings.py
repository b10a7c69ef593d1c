"""Verbs on lists of strings, and text of values, against Python's comprehensions over the same strings."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.session import Session
from kshell.shell.cli import tune_allocator, tune_collector
from kshell.values.session.context import enter, leave
from tests.bench.timing import least, row

N = 1_000_000
WORDS = ["hello world", "foo bar baz", "x,y,z", "qq"]


def report() -> list[str]:
    tune_allocator()
    tune_collector()
    s = Session()
    s.run("\\S -7")
    s.run(f'n:{N};i:n?1000000000;f:n?1f;sy:(`$\'string til 1000)n?1000;d:2000.01.01+n?9000;p:2000.01.01D00+n?1000000000'
          '*1000000000;si:string i;sf:string f;sd:string d;sp:string p;ss_:string sy;big:","sv si;'
          'w:100000#("hello world";"foo bar baz";"x,y,z";"qq");js:.j.j([]a:100000#i;b:100000#f;c:100000#sy)')
    i, f, d, p = (s[n].a for n in ("i", "f", "d", "p"))
    si, sf = list(map(str, i.tolist())), list(map(repr, f.tolist()))
    days = np.datetime_as_string((d + 10957).astype("M8[D]"))
    stamps = np.datetime_as_string((p + 10957 * 86_400_000_000_000).astype("M8[ns]"))
    names = [x.s for x in s["sy"].items]
    big, w, data = ",".join(si), WORDS * (100_000 // 4), json.loads(s["js"].a.tobytes())
    rows: list[tuple[str, Callable[[], Any]]] = [
        ("string i", lambda: list(map(str, i.tolist()))),
        ("string f", lambda: list(map(repr, f.tolist()))),
        ("string sy", lambda: [str(x) for x in names]),
        ("string d", lambda: np.datetime_as_string(d.astype("M8[D]")).tolist()),
        ("string p", lambda: np.datetime_as_string(p.astype("M8[ns]")).tolist()),
        ('"J"$si', lambda: list(map(int, si))),
        ('"F"$sf', lambda: list(map(float, sf))),
        ('"D"$sd', lambda: days.astype("M8[D]")),
        ('"P"$sp', lambda: stamps.astype("M8[ns]")),
        ("`$ss_", lambda: np.unique(names, return_inverse=True)),
        ("`int$i", lambda: i.astype(np.int32)),
        ("`long$f", lambda: np.rint(f).astype(np.int64)),
        ('sy like "1*"', lambda: [x.startswith("1") for x in names]),
        ('si like "1*"', lambda: [x.startswith("1") for x in si]),
        ('si like "*12*"', lambda: ["12" in x for x in si]),
        ('","sv si', lambda: ",".join([str(x) for x in si])),
        ('","vs big', lambda: big.split(",")),
        ("upper big", lambda: big.upper()),
        ("upper each w", lambda: [x.upper() for x in w]),
        ("trim each w", lambda: [x.strip() for x in w]),
        ('ssr[;"o";"0"]each w', lambda: [x.replace("o", "0") for x in w]),
        ('" "vs/:w', lambda: [x.split(" ") for x in w]),
        ("w,\'w", lambda: [x + x for x in w]),
        ("distinct w", lambda: list(dict.fromkeys([x + "" for x in w]))),
        ("asc w", lambda: sorted(w)),
        (".j.j([]a:100000#i;b:100000#f;c:100000#sy)", lambda: json.dumps(data)),
        (".j.k js", lambda: json.loads(json.dumps(data))),
    ]
    out = []
    token = enter(s)
    try:
        for text, peer in rows:
            ours, theirs = least(lambda text=text: s.run(text + ";"), peer, 3)
            out.append(row(text, ours, theirs, 5, "Python or numpy"))
    finally:
        leave(token)
    return out
