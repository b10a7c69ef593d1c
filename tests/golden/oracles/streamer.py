"""STREAMER's optimizer: reach weights as fractions, and runs in which gradients are written out by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

Array = np.ndarray


def reach(layer: int, layers: int, alpha: Fraction) -> tuple[list[list[int]], list[float]]:
    """Layers by distance, and the weights of the distances."""
    found: dict[int, list[int]] = {}
    for j in range(layers):
        found.setdefault(abs(j - layer), []).append(j)
    parts = [alpha ** -d for d in sorted(found)]
    return [found[d] for d in sorted(found)], [float(w / sum(parts)) for w in parts]


class Rule:
    """SGD, or Adam with its usual constants, of one vector."""

    def __init__(self, name: str, lr: float) -> None:
        self.adam, self.lr, self.t = name == "adam", lr, 0
        self.m: Any = 0.0
        self.v: Any = 0.0

    def step(self, p: Array, g: Array) -> Array:
        if not self.adam:
            return p - self.lr * g
        self.t += 1
        self.m, self.v = 0.9 * self.m + 0.1 * g, 0.999 * self.v + 0.001 * g * g
        m, v = self.m / (1 - 0.9 ** self.t), self.v / (1 - 0.999 ** self.t)
        return p - self.lr * m / (np.sqrt(v) + 1e-8)


class Process:
    """The vectors of one process, what they have gathered, and its counters."""

    def __init__(self, x: dict[str, Any], r: int) -> None:
        self.f: list[Any] = [np.array(v, float) for v in x["f0"][r]]
        self.p: list[Any] = [np.array(v, float) for v in x["p0"][r]]
        n = len(self.f)
        self.rules = [Rule(x["inner"], x["lr"]) for _ in range(2 * n)]
        self.clear()

    def clear(self) -> None:
        n = len(self.f)
        self.gf, self.gp = [np.zeros_like(v) for v in self.f], [np.zeros_like(v) for v in self.p]
        self.cf, self.cp, self.steps = [0.0] * n, [0.0] * n, [0] * n

    def gather(self, x: dict[str, Any], n: int, event: dict[str, float], y: dict[str, Any]) -> None:
        """The gradients of half the squared norm of a.f + p - y, for the layers of an event."""
        alpha = Fraction(x["alpha"]) if x.get("hgn_reach", 1) else Fraction(1)
        for key, ago in event.items():
            l, ts = int(key), ago if x["hgn_timescale"] else 1
            rest = sum(x["a"][l][i] * self.f[i] for i in range(n)) + self.p[l] - np.array(y[key])
            self.gp[l] = self.gp[l] + ts * rest
            for near, w in zip(*reach(l, n, alpha), strict=True):
                for j in near:
                    self.gf[j] = self.gf[j] + ts * w * x["a"][l][j] * rest
        for key, ago in event.items():
            ts = ago if x["hgn_timescale"] else 1
            self.cp[int(key)] += ts
            self.steps[int(key)] += 1
            for j in range(n):
                self.cf[j] += ts

    def update(self) -> None:
        for i in range(len(self.f)):
            if self.cf[i]:
                self.f[i] = self.rules[2 * i].step(self.f[i], self.gf[i] / self.cf[i])
            if self.cp[i]:
                self.p[i] = self.rules[2 * i + 1].step(self.p[i], self.gp[i] / self.cp[i])
        self.clear()


def simulate(x: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a run: all processes in one loop."""
    each = [Process(x, r) for r in range(x["world"])]
    rows, waited = [], 0
    for t, event in enumerate(x["events"], 1):
        n = x["layers"]
        if "initial_layers" in x:
            n = x["initial_layers"] + sum(t >= at for at in x["layer_added_before_step"])
        for r, one in enumerate(each):
            one.gather(x, n, event, x["Y"][r][t - 1])
        due = each[0].steps[n - 1] >= x["optimize_every"]
        for one in each if due else ():
            one.update()
        waited += 1
        if waited >= x["average_every"] and len(each) > 1:
            waited = 0
            for i in range(n):
                f, p = sum(o.f[i] for o in each) / len(each), sum(o.p[i] for o in each) / len(each)
                for one in each:
                    one.f[i], one.p[i] = f, p
        first = each[0]
        rows.append({"t": t, "n_layers": n, "optimized": int(due), "f_counter": list(first.cf),
                     "p_counter": list(first.cp), "step_counter": list(first.steps),
                     **{k: [[v.tolist() for v in getattr(o, name)] for o in each]
                        for k, name in (("f", "f"), ("p", "p"), ("f_grad", "gf"), ("p_grad", "gp"))}})
    return rows


def run(name: str, seed: int, layers: int, steps: int, world: int = 1, **more: Any) -> dict[str, Any]:
    """A case with layers that run more rarely the higher they are."""
    rng = np.random.default_rng(seed)

    def grid(*shape: int) -> Any:
        return (rng.integers(-16, 17, shape) / 8).tolist()

    x = {"world": world, "layers": layers, "alpha": 3, "optimize_every": 2, "average_every": 1000, "hgn_timescale": 1,
         "inner": "sgd", "lr": 0.125, "max_layers": layers, **more}
    events, last = [], [0] * layers
    for t in range(1, steps + 1):
        n = layers
        if "initial_layers" in x:
            n = x["initial_layers"] + sum(t >= at for at in x["layer_added_before_step"])
        event = {}
        for l in range(n):
            if l == 0 or rng.random() < 0.7 ** l:
                event[str(l)], last[l] = t - last[l], t
        events.append(event)
    x |= {"f0": [grid(layers, 2) for _ in range(world)], "p0": [grid(layers, 2) for _ in range(world)],
          "a": grid(layers, layers), "events": events,
          "Y": [[{k: grid(2) for k in e} for e in events] for _ in range(world)]}
    return {"name": f"{name}-w{world}", "in": x, "out": simulate(x)}


def runs() -> list[dict[str, Any]]:
    out = [run("one", 1, 1, 5), run("three", 2, 3, 12), run("five", 3, 5, 14, optimize_every=1),
           run("adam", 4, 3, 14, inner="adam", lr=0.0625), run("plain-time", 5, 3, 10, hgn_timescale=0),
           run("no-reach", 6, 4, 12, hgn_reach=0, optimize_every=1), run("equal", 7, 3, 10, alpha=1),
           run("far", 8, 3, 10, alpha=0.5), run("steep", 9, 3, 10, alpha=10),
           run("grow", 10, 4, 16, initial_layers=1, layer_added_before_step=[3, 8, 9], optimize_every=1),
           run("grow-adam", 11, 3, 14, initial_layers=2, layer_added_before_step=[6], inner="adam")]
    for world in (2, 4):
        out += [run("mean", 20 + world, 2, 10, world, average_every=3),
                run("mean-each", 30 + world, 2, 6, world, average_every=1, inner="adam", optimize_every=1),
                run("mean-grow", 40 + world, 3, 10, world, average_every=2, initial_layers=2,
                    layer_added_before_step=[5], alpha=2)]
    return out


def groups() -> list[dict[str, Any]]:
    out = []
    for alpha in (0.25, 1, 1.5, 3, 100):
        for layers in (1, 2, 5, 8):
            for layer in sorted({0, layers // 2, layers - 1}):
                found, weights = reach(layer, layers, Fraction(alpha))
                assert math.isclose(sum(weights), 1)
                out.append({"name": f"a{alpha}-n{layers}-l{layer}",
                            "in": {"alpha": alpha, "layers": layers, "layer": layer},
                            "out": {"groups": found, "weights": weights}})
    return out


def files() -> dict[str, dict[str, Any]]:
    return {"streamer_groups": {"about": "Layers by their distance from one, and the weights alpha^-distance over their "
                                         "sum. Tolerance 1e-6.", "cases": groups()},
            "streamer_runs": {"about": "Layers with vectors f and p; the loss of a layer is half the squared norm of "
                                       "a.f + p - Y. A row a step: counters, gradients gathered, parameters; by process. "
                                       "Tolerance 1e-5.", "cases": runs()}}
