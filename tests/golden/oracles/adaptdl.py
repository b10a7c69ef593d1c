"""Scaling rules and the gradient noise scale: all processes in one loop, one parameter a group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Row = dict[str, Any]


class Mean:
    """An exponential mean that knows how much weight it has."""

    def __init__(self) -> None:
        self.total = self.weight = 0.0

    def take(self, x: float, keep: float) -> float:
        self.total = keep * self.total + (1 - keep) * x
        self.weight = keep * self.weight + 1 - keep
        return self.total / self.weight


def gain(var: list[float], sqr: list[float], s: float) -> float:
    v, q = sum(max(x, 1e-6) for x in var), sum(max(x, 0.0) for x in sqr)
    return (v + q) / (v / s + q)


def factors(rule: str, s: float, var: list[float], sqr: list[float], progress: float = 0.0,
            legw: dict[str, Any] | None = None) -> list[float]:
    if rule in ("adascale", "adamscale"):
        out = [(max(v, 1e-6) + max(q, 0)) / (max(v, 1e-6) / s + max(q, 0)) for v, q in zip(var, sqr, strict=True)]
        return [math.sqrt(f) for f in out] if rule == "adamscale" else out
    one = {"linear": s, "sqrt": math.sqrt(s), "legw": math.sqrt(s)}[rule]
    if legw:
        need = legw["base_warmup_epochs"] * s * legw["data_size"] / legw["batch_size"]
        one *= min(1.0, progress / need) if need else 1.0
    return [one] * len(var)


def simulate(x: dict[str, Any]) -> list[Row]:
    """The rows of a run from its inputs."""
    world, a = x["world"], x["accum_scale"]
    params = [np.array(p, np.float32) for p in x["init"]]
    moments: list[Any] = [None] * len(params)
    n = len(params)
    sqr, var = [1.0] * n, [0.0] * n
    means = [(Mean(), Mean()) for _ in range(n)]
    biased, last, progress, rows = False, None, 0.0, []
    for t, micro in enumerate(x["grads"], 1):
        a = x.get("set_accum_scale_before_step", {}).get(str(t), a)
        c = len(micro)
        each = [[[np.array(g, np.float64) for g in rank] for rank in step] for step in micro]
        now = [sum(each[k][r][j] for k in range(c) for r in range(world)) / (c * world) for j in range(n)]
        row: Row = {"t": t, "scale": a * c}
        if all(np.isfinite(g).all() for g in now):
            row["factor"] = None
            many = c * world
            if many > 1:
                if biased:
                    means = [(Mean(), Mean()) for _ in range(n)]
                biased, last, count, s = False, None, many, a * c
                one = [sum((each[k][r][j] ** 2).sum() for k in range(c) for r in range(world)) / many for j in range(n)]
                both = [(g ** 2).sum() for g in now]
            elif last is not None:
                count, s = 2, 2 * a
                one = [((p ** 2).sum() + (g ** 2).sum()) / 2 for p, g in zip(last, now, strict=True)]
                both = [(((p + g) / 2) ** 2).sum() for p, g in zip(last, now, strict=True)]
            else:
                count, s = 1, a
            if many == 1:
                biased, last = True, now
            if count > 1:
                keep = 0.999 ** s
                for j in range(n):
                    sqr[j] = float(means[j][0].take((count * both[j] - one[j]) / (count - 1), keep))
                    var[j] = float(means[j][1].take((one[j] - both[j]) * s / (count - 1), keep))
            row["factor"] = factors(x["rule"], a * c, var, sqr, progress, x.get("legw"))
            for j in range(n):
                g = now[j].astype(np.float32)
                if x["momentum"]:
                    moments[j] = g if moments[j] is None else np.float32(x["momentum"]) * moments[j] + g
                    g = moments[j]
                params[j] = params[j] - np.float32(x["lr_by_group"][j] * row["factor"][j]) * g
            progress += gain(var, sqr, a * c)
        else:
            row["skipped"] = 1
        rows.append(row | {"sqr_avg": list(sqr), "var_avg": list(var), "gain": gain(var, sqr, a * c),
                           "progress": progress, "params": [p.tolist() for p in params]})
    return rows


def run(name: str, seed: int, world: int, counts: list[int], rule: str = "adascale", noise: float = 0.5,
        holes: tuple[int, ...] = (), **more: Any) -> dict[str, Any]:
    """A case with gradients around a mean; in the steps `holes` one number of one process is not finite."""
    rng = np.random.default_rng(seed)
    sizes = [(4,), (2, 3)]
    init = [np.round(rng.normal(size=s), 3).tolist() for s in sizes]
    mean = [rng.normal(size=s) for s in sizes]
    grads = [[[[np.round(m + noise * rng.normal(size=m.shape), 4).tolist() for m in mean] for _ in range(world)]
              for _ in range(c)] for c in counts]
    for t in holes:
        grads[t - 1][-1][-1][1][0][2] = "nan"
    x = {"world": world, "init": init, "lr_by_group": [0.05, 0.02], "momentum": 0.0, "rule": rule,
         "accum_scale": float(world), "grads": grads, **more}
    numbers = {**x, "grads": [[[[np.array(g, dtype=float).tolist() for g in r] for r in k] for k in t] for t in grads]}
    return {"name": f"{name}-w{world}", "in": x, "out": simulate(numbers)}


def runs() -> list[dict[str, Any]]:
    legw = {"base_warmup_epochs": 1, "data_size": 48, "batch_size": 16}
    out = [run("alone", 1, 1, [1] * 6), run("pairs", 2, 1, [2] * 6), run("mixed", 3, 1, [1, 1, 3, 2, 1, 1, 1, 4]),
           run("holes", 4, 1, [2] * 6, holes=(2, 5)), run("holes-alone", 5, 1, [1] * 6, holes=(3,)),
           run("scaled", 6, 1, [1, 2, 1, 1, 1, 2], set_accum_scale_before_step={"3": 2.0, "6": 0.5}),
           run("momentum", 7, 1, [2] * 5, momentum=0.9), run("fraction", 8, 1, [2] * 4, accum_scale=1.5),
           run("calm", 9, 1, [2] * 4, noise=0.0), run("linear", 10, 1, [2] * 4, "linear"),
           run("sqrt", 11, 1, [1] * 4, "sqrt", accum_scale=4.0), run("legw", 12, 1, [2] * 8, "legw", legw=legw),
           run("adam", 13, 1, [2] * 4, "adamscale"), run("holes-mixed", 14, 1, [3, 1, 2, 1, 2], holes=(2, 3))]
    for world in (2, 4):
        out += [run("ada", 20 + world, world, [1] * 5), run("micro", 30 + world, world, [2] * 4),
                run("hole", 40 + world, world, [1] * 4, holes=(2,)),
                run("legw", 50 + world, world, [1] * 6, "legw", legw=legw)]
    return out


def rules() -> list[dict[str, Any]]:
    scales, var, sqr = [0.25, 1, 3, 8, 64], [2, 0, 0.5, 1e-9], [0.5, 3, -0.25, -1]
    out = []
    for rule in ("adascale", "adamscale"):
        out.append({"name": rule, "in": {"rule": rule, "var_avg": var, "sqr_avg": sqr, "scales": scales},
                    "out": {"factor": [factors(rule, s, var, sqr) for s in scales],
                            "gain": [gain(var, sqr, s) for s in scales]}})
    for rule in ("linear", "sqrt"):
        out.append({"name": rule, "in": {"rule": rule, "var_avg": [2], "sqr_avg": [0.5], "scales": scales},
                    "out": {"factor": [factors(rule, s, [2], [0.5])[0] for s in scales],
                            "gain": [gain([2], [0.5], s) for s in scales]}})
    # one group in a list, and one number for several groups
    out.append({"name": "adascale", "in": {"rule": "adascale", "var_avg": [2], "sqr_avg": [0.5], "scales": [3]},
                "out": {"factor": [factors("adascale", 3, [2], [0.5])], "gain": [gain([2], [0.5], 3)]}})
    out.append({"name": "linear", "in": {"rule": "linear", "var_avg": var, "sqr_avg": sqr, "scales": [3, 8]},
                "out": {"factor": [3, 8], "gain": [gain(var, sqr, s) for s in (3, 8)]}})
    for epochs in (0, 4):
        legw = {"base_warmup_epochs": epochs, "data_size": 640, "batch_size": 32}
        progress = [0, 7, 80, 81, 1000]
        out.append({"name": f"legw-{epochs}", "in": {"rule": "legw", **legw, "progress": progress, "scales": scales},
                    "out": {"factor": [[factors("legw", s, [0], [0], p, legw)[0] for s in scales] for p in progress]}})
    return out


def files() -> dict[str, dict[str, Any]]:
    return {"adaptdl_runs": {"about": "Steps under a rule: the gradient of micro-batch a on process r for parameter j is "
                                      "grads[t][a][r][j]; a row a step. Tolerance 1e-5.", "cases": runs()},
            "adaptdl_rules": {"about": "Factors and gains of rules at scales, on given statistics. Tolerance 1e-12.",
                              "cases": rules()}}
