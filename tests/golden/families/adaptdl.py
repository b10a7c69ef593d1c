"""AdaptDL's rules on given statistics, and runs of steps with micro-batches and several processes."""

from __future__ import annotations

from typing import Any

from tests.golden.runner import Case, Family


def _flat(x: Any) -> list[Any]:
    return [v for i in x for v in _flat(i)] if isinstance(x, list) else [x]


def _runs(case: Case, world: int) -> list[Any]:
    """A row a step, the same on every process; parameters as vectors, factors for each group."""
    groups = len(case["in"]["lr_by_group"])
    rows = [{"skipped": 0, **row, "params": [_flat(p) for p in row["params"]]} for row in case["out"]]
    for row in rows:
        if isinstance(row.get("factor"), int | float):
            row["factor"] = [row["factor"]] * groups
    return [rows] * world


def _rules(case: Case, world: int) -> list[Any]:
    """Factors as kshell has them: a number where there is one group, and otherwise a list of those of all groups. The
    files have one number for the rules that give all groups the same, and a list of one for adascale's single group."""
    out = dict(case["out"])
    if "var_avg" in case["in"]:
        groups = len(case["in"]["var_avg"])
        each = [f if isinstance(f, list) else [f] * groups for f in out["factor"]]
        out["factor"] = [f[0] if groups == len(f) == 1 else f for f in each]
    return [out]


FAMILIES = [
    Family("adaptdl_runs", "adaptdl.q", _runs, rtol=1e-5, atol=1e-5),
    Family("adaptdl_rules", "adaptdl.q", _rules, rtol=1e-12, atol=1e-12),
]
