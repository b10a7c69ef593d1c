"""Verbs on a million items against numpy (and torch, where its algorithm is the better one), in one run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from kshell.session import Session
from kshell.shell.cli import tune_allocator
from tests.bench.timing import least, row

N = 1_000_000
Peer = Callable[[], Any]


def np_group(a: np.ndarray) -> list[np.ndarray]:
    order = np.argsort(a, kind="stable")
    keys = a[order]
    return np.split(order, np.flatnonzero(keys[1:] != keys[:-1]) + 1)


def torch_distinct(a: np.ndarray) -> torch.Tensor:
    """First occurrences in order: a stable sort, and where its neighbours differ."""
    keys, order = torch.sort(torch.from_numpy(a), stable=True)
    new = torch.ones(len(a), dtype=torch.bool)
    torch.ne(keys[1:], keys[:-1], out=new[1:])
    return torch.sort(order[new]).values


def torch_group(a: np.ndarray) -> tuple[torch.Tensor, ...]:
    keys, order = torch.sort(torch.from_numpy(a), stable=True)
    sizes = torch.unique_consecutive(keys, return_counts=True)[1]
    return torch.split(order, sizes.tolist())


def torch_find(hay: np.ndarray, needles: np.ndarray) -> torch.Tensor:
    keys, order = torch.sort(torch.from_numpy(hay), stable=True)
    at = torch.searchsorted(keys, torch.from_numpy(needles)).clamp_max(len(hay) - 1)
    return torch.where(keys[at] == torch.from_numpy(needles), order[at], len(hay))


def report() -> list[str]:
    """Rows: ours, the peer, the ratio and what it may be."""
    tune_allocator()
    torch.set_num_threads(1)
    s = Session()
    rng = np.random.default_rng(1)
    s.run("\\S -7")
    s.run(f"i:{N}?1000000000;k:{N}?1000000000;f:{N}?1f;g:{N}?1f;lo:{N}?1000;sy:`$'string til 1000;sy:sy lo;"
          "w:100000?1000000000;b:f>.5;")
    v = {name: s[name].a for name in ("i", "k", "f", "g", "lo", "sy", "w", "b")}
    pick = rng.permutation(N)
    s["p"] = s["lo"].__class__(7, pick)
    rows: list[tuple[str, str, Peer, float, str]] = [
        ("i+k", "i+k", lambda: v["i"] + v["k"], 1.3, "numpy"),
        ("i-k", "i-k", lambda: v["i"] - v["k"], 1.3, "numpy"),
        ("i*k", "i*k", lambda: v["i"] * v["k"], 1.3, "numpy"),
        ("i+7", "i+7", lambda: v["i"] + 7, 1.3, "numpy"),
        ("f+g", "f+g", lambda: v["f"] + v["g"], 1.3, "numpy"),
        ("f*g", "f*g", lambda: v["f"] * v["g"], 1.3, "numpy"),
        ("sum i", "sum i", lambda: v["i"].sum(), 1.3, "numpy"),
        ("sum f", "sum f", lambda: v["f"].sum(), 1.3, "numpy"),
        ("max i", "max i", lambda: v["i"].max(), 1.3, "numpy"),
        ("max f", "max f", lambda: v["f"].max(), 1.3, "numpy"),
        ("avg f", "avg f", lambda: v["f"].mean(), 1.3, "numpy"),
        ("where b", "where b", lambda: np.flatnonzero(v["b"]), 1.3, "numpy"),
        ("i p", "i p", lambda: v["i"][pick], 1.3, "numpy"),
        ("sums i", "sums i", lambda: np.cumsum(v["i"]), 1.3, "numpy"),
        ("sums f", "sums f", lambda: np.cumsum(v["f"]), 1.3, "numpy"),
        ("i>k", "i>k", lambda: v["i"] > v["k"], 1.3, "numpy"),
        ("asc i", "asc i", lambda: np.sort(v["i"]), 1.2, "numpy"),
        ("asc f", "asc f", lambda: np.sort(v["f"]), 1.2, "numpy"),
        ("iasc i", "iasc i", lambda: torch.sort(torch.from_numpy(v["i"]), stable=True), 1.5, "torch"),
        ("iasc f", "iasc f", lambda: np.argsort(v["f"], kind="stable"), 1.5, "numpy"),
        ("distinct i", "distinct i", lambda: torch_distinct(v["i"]), 1.5, "torch"),
        ("distinct lo", "distinct lo", lambda: torch_distinct(v["lo"]), 1.5, "torch"),
        ("distinct symbols", "distinct sy", lambda: torch_distinct(v["sy"]), 1.5, "torch"),
        ("group lo", "group lo", lambda: torch_group(v["lo"]), 1.5, "torch"),
        ("group symbols", "group sy", lambda: torch_group(v["sy"]), 1.5, "torch"),
        ("i?w", "i?w", lambda: torch_find(v["i"], v["w"]), 1.5, "torch"),
        ("w in i", "w in i", lambda: torch_find(v["i"], v["w"]), 1.5, "torch"),
        ("lo?lo", "lo?lo", lambda: torch_find(v["lo"], v["lo"]), 1.5, "torch"),
    ]
    out = []
    for name, text, peer, target, who in rows:
        s.run(f"run:{{[] {text};}}")
        fn = s["run"].fn
        ours, theirs = least(lambda fn=fn: fn(None), peer, 7)
        out.append(row(name, ours, theirs, target, who))
    return out
