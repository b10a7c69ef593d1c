"""Optimizers of mlbench_core, at the number of processes of each case."""

from __future__ import annotations

from typing import Any

from tests.golden.runner import Case, Family, differences, world_of

_OF_ALL = ("t", "update_grad", "out", "out_bias")


def _steps(case: Case) -> dict[str, Any]:
    """The case's `in`, and how many steps the file has numbers of."""
    return {**case["in"], "steps": len(case["out"]) - 1}


def _row(row: dict[str, Any], r: int, world: int) -> dict[str, Any]:
    """What one process has of a step: its own of what is a list by process. Draws are not what kshell gives: they are
    held against what they lead to."""
    out = {}
    for key, value in row.items():
        if key not in ("picked", "q"):
            own = key not in _OF_ALL and isinstance(value, list) and len(value) == world and \
                (key == "loss_before" or isinstance(value[0], list))
            out[key] = value[r] if own else value
    return out


def _rounds(case: Case, world: int) -> list[Any]:
    return [[_row(row, r, world) for row in case["out"]] for r in range(world)]


def _by_rank(case: Case, world: int) -> list[Any]:
    """What is before the first step, and the steps."""
    return [[first, steps] for first, *steps in _rounds(case, world)]


def _sparse(case: Case, world: int) -> list[Any]:
    """A ValueError where the file has coordinates as picked that are still in its memory, or are none."""
    given = case["in"]
    d, k = int(given["d"]), int(given["cfg"].get("sparse_grad_size", 10))
    for row in case["out"][1:]:
        for pick, memory in zip(row.get("picked", []), row["memory"], strict=False):
            block = not isinstance(pick, list)
            at = list(range(pick * k, min(d, pick * k + k))) if block else pick
            if not at or (not block and len(set(at)) < min(k, d)) or any(not 0 <= i < d or memory[i] for i in at):
                raise ValueError(f"step {row['t']} cannot have picked {pick}")
    return _by_rank(case, world)


def _drawn(case: Case, sizes: list[tuple[int, int]]) -> None:
    """Are the queries of a file those that are drawn for matrices of these sizes by the first seed? A ValueError if not;
    kshell shows queries in what they lead to only."""
    import numpy as np
    import torch

    config = case["in"]["cfg"]
    seeds = np.random.RandomState(1)
    for step, row in enumerate(r for r in case["out"] if r["t"] > 0):
        draws = [] if step and config.get("reuse_query") else [
            torch.randn(m, min(n, m, int(config.get("rank", 1))),
                        generator=torch.Generator().manual_seed(int(seeds.randint(1_000_000_000)))).tolist()
            for n, m in sizes]
        wrong = list(differences(draws, row.get("q", draws), 0, 1e-6)) if world_of(case) > 1 else []
        if wrong:
            raise ValueError(f"q of step {row['t']} is not drawn so: {wrong[0]}")


def _power(case: Case, world: int) -> list[Any]:
    a, b, c = case["in"]["dims"]
    _drawn(case, [(b, a), (c, b)])
    return _by_rank(case, world)


def _power_matrix(case: Case, world: int) -> list[Any]:
    first = case["in"]["M"][0]
    _drawn(case, [(len(first), len(first[0]))])
    return _rounds(case, world)


def _half_sums(case: Case) -> float:
    """Half-precision sums over more than two processes depend on their order."""
    return 3e-4 if world_of(case) > 2 else 0.0


FAMILIES = [
    Family("mlbench_sign", "mlbench.q", rtol=0, atol=1e-12),
    Family("mlbench_central", "mlbench.q", _by_rank, rtol=0, atol=1e-9, feed=_steps),
    Family("mlbench_custom", "mlbench.q", _by_rank, rtol=0, atol=1e-9, feed=_steps),
    Family("mlbench_decentral", "mlbench.q", _by_rank, rtol=0, atol=1e-9, feed=_steps),
    Family("mlbench_sparse", "mlbench.q", _sparse, rtol=0, atol=1e-6, feed=_steps),
    Family("mlbench_power", "mlbench.q", _power, rtol=1e-4, atol=1e-4, feed=_steps),
    Family("mlbench_power_matrix", "mlbench.q", _power_matrix, rtol=0, atol=1e-4),
    Family("mlbench_orthogonalize", "mlbench.q", rtol=0, atol=1e-5),
    Family("mlbench_lossscale", "mlbench.q", rtol=0, atol=0),
    Family("mlbench_fp16", "mlbench.q", rtol=0, atol=1e-6, loose=_half_sums),
]
