"""Paired timing: a program and its peer in turns in one run, so that both see the same machine; ratios of medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any


def best_of(fn: Callable[[], Any], repeat: int = 1) -> float:
    """Seconds of one call, the mean of `repeat`."""
    start = time.perf_counter()
    for _ in range(repeat):
        fn()
    return (time.perf_counter() - start) / repeat


def paired(ours: Callable[[], Any], peer: Callable[[], Any], rounds: int = 7, repeat: int = 1) -> tuple[float, float]:
    """Median seconds of ours and of the peer, run alternately after one warm-up each."""
    ours(), peer()
    a, b = [], []
    for _ in range(rounds):
        a.append(best_of(ours, repeat))
        b.append(best_of(peer, repeat))
    return statistics.median(a), statistics.median(b)


def effort(fn: Callable[[], Any]) -> float:
    """Processor seconds of one call."""
    start = time.process_time()
    fn()
    return time.process_time() - start


def least(ours: Callable[[], Any], peer: Callable[[], Any], rounds: int = 5) -> tuple[float, float]:
    """The least processor seconds of ours and of the peer, run alternately after one warm-up each: for work that takes
    long beside what other programs of the machine do to it."""
    ours(), peer()
    both = [(effort(ours), effort(peer)) for _ in range(rounds)]
    return min(a for a, _ in both), min(b for _, b in both)


def row(name: str, ours: float, peer: float, target: float, peer_name: str) -> str:
    """One line of a report: times, ratio and the target."""
    ratio = ours / peer
    mark = "ok  " if ratio <= target else "MISS"
    times = f"{ours * 1e3:10.3f} ms  {peer_name:22} {peer * 1e3:10.3f} ms"
    return f"{mark} {name:40} {times}  ratio {ratio:6.3f}  (<= {target:g})"
