"""Optimizers of mlbench_core, at the number of processes of each case."""

from __future__ import annotations

from typing import Any

from tests.golden.runner import Case, Family, world_of

# what the files record of draws shows in what the draws lead to
_DRAWN = ("picked", "q")
_OF_ALL = ("t", "update_grad", "out", "out_bias")


def _steps(case: Case) -> dict[str, Any]:
    """The case's `in`, and how many steps the file has numbers of."""
    return {**case["in"], "steps": len(case["out"]) - 1}


def _row(row: dict[str, Any], r: int, world: int) -> dict[str, Any]:
    """What one process has of a step: its own of what is a list by process."""
    out = {}
    for key, value in row.items():
        if key not in _DRAWN:
            own = key not in _OF_ALL and isinstance(value, list) and len(value) == world and \
                (key == "loss_before" or isinstance(value[0], list))
            out[key] = value[r] if own else value
    return out


def _rounds(case: Case, world: int) -> list[Any]:
    return [[_row(row, r, world) for row in case["out"]] for r in range(world)]


def _by_rank(case: Case, world: int) -> list[Any]:
    """What is before the first step, and the steps."""
    return [[first, steps] for first, *steps in _rounds(case, world)]


def _half_sums(case: Case) -> float:
    """Half-precision sums over more than two processes depend on their order."""
    return 3e-4 if world_of(case) > 2 else 0.0


FAMILIES = [
    Family("mlbench_sign", "mlbench.q", rtol=0, atol=1e-12),
    Family("mlbench_central", "mlbench.q", _by_rank, rtol=0, atol=1e-9, feed=_steps),
    Family("mlbench_custom", "mlbench.q", _by_rank, rtol=0, atol=1e-9, feed=_steps),
    Family("mlbench_decentral", "mlbench.q", _by_rank, rtol=0, atol=1e-9, feed=_steps),
    Family("mlbench_sparse", "mlbench.q", _by_rank, rtol=0, atol=1e-6, feed=_steps),
    Family("mlbench_power", "mlbench.q", _by_rank, rtol=1e-4, atol=1e-4, feed=_steps),
    Family("mlbench_power_matrix", "mlbench.q", _rounds, rtol=0, atol=1e-4),
    Family("mlbench_orthogonalize", "mlbench.q", rtol=0, atol=1e-5),
    Family("mlbench_lossscale", "mlbench.q", rtol=0, atol=0),
    Family("mlbench_fp16", "mlbench.q", rtol=0, atol=1e-6, loose=_half_sums),
]
