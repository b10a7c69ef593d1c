"""STREAMER's optimizer: reach weights, and runs of layers of different paces, on one and several processes."""

from __future__ import annotations

from typing import Any

from tests.golden.runner import Case, Family

_OF_ALL = ("t", "n_layers", "optimized", "f_counter", "p_counter", "step_counter")


def _runs(case: Case, world: int) -> list[Any]:
    """A row a step; of what is by process, its own."""
    return [[{k: v if k in _OF_ALL else v[r] for k, v in row.items()} for row in case["out"]] for r in range(world)]


FAMILIES = [
    Family("streamer_groups", "streamer.q", rtol=0, atol=1e-6),
    Family("streamer_runs", "streamer.q", _runs, rtol=1e-5, atol=1e-5),
]
