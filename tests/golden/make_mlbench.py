"""Case files of the mlbench families, computed here in numpy: all processes in one, from the formulas of the papers.

`python -m tests.golden.make_mlbench` writes them to tests/golden/cases. Nothing of kshell.optim is used.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from tests.golden.runner import CASES

Array = np.ndarray
RNG = np.random.default_rng(20)


def grid(*shape: int, scale: float = 8, most: int = 16) -> Array:
    """Random multiples of 1/scale."""
    return RNG.integers(-most, most + 1, shape) / scale


def write(name: str, about: str, cases: list[dict[str, Any]]) -> None:
    """A case file."""
    (CASES / f"{name}.json").write_text(json.dumps({"about": about, "cases": cases}) + "\n")


def lists(x: Any) -> Any:
    """Arrays as lists."""
    if isinstance(x, dict):
        return {k: lists(v) for k, v in x.items()}
    if isinstance(x, list | tuple):
        return [lists(v) for v in x]
    return x.tolist() if isinstance(x, np.ndarray | np.generic) else x


# ------------------------------------------------------------------ inner optimizers, on flat vectors


class Sgd:
    """SGD with momentum, dampening, decay, Nesterov's form; with `sign` the sign of its direction."""

    def __init__(self, lr: float, momentum: float = 0, dampening: float = 0, weight_decay: float = 0, nesterov: int = 0,
                 sign: bool = False) -> None:
        self.lr, self.mu, self.damp, self.wd, self.nest, self.sign = lr, momentum, dampening, weight_decay, nesterov, sign
        self.b: Any = None

    def step(self, p: Array, g: Array) -> Array:
        """The parameters after a step."""
        d = g + self.wd * p
        if self.mu:
            self.b = d if self.b is None else self.mu * self.b + (1 - self.damp) * d
            d = d + self.mu * self.b if self.nest else self.b
        return p - self.lr * (np.sign(d) if self.sign else d)


class Adam:
    """Adam, with amsgrad."""

    def __init__(self, lr: float, betas: tuple[float, float] = (.9, .999), eps: float = 1e-8, weight_decay: float = 0,
                 amsgrad: int = 0) -> None:
        self.lr, self.b1, self.b2, self.eps, self.wd, self.ams = lr, *betas, eps, weight_decay, amsgrad
        self.m: Any = 0.0
        self.v: Any = 0.0
        self.top: Any = 0.0
        self.t = 0

    def step(self, p: Array, g: Array) -> Array:
        """The parameters after a step."""
        g = g + self.wd * p
        self.t += 1
        self.m, self.v = self.b1 * self.m + (1 - self.b1) * g, self.b2 * self.v + (1 - self.b2) * g * g
        self.top = np.maximum(self.top, self.v)
        v = self.top if self.ams else self.v
        return p - self.lr * self.m / (1 - self.b1 ** self.t) / (np.sqrt(v / (1 - self.b2 ** self.t)) + self.eps)


# ------------------------------------------------------------------ a linear model


def linear(p: Array, x: Array, y: Array, n: int) -> tuple[float, Array]:
    """Loss and gradient of the mean of (x W' + b - y)^2; p is W by rows, then b (if there is one)."""
    k = y.shape[1]
    w, b = p[:n * k].reshape(k, n), p[n * k:]
    e = x @ w.T + (b if len(b) else 0) - y
    d = 2 * e / e.size
    return float((e * e).mean()), np.concatenate([(d.T @ x).ravel(), d.sum(0) if len(b) else np.zeros(0)])


def problem(world: int, same: bool = True, batch: int = 4, n: int = 3, k: int = 2) -> dict[str, Any]:
    """Data and starts of every process."""
    w, b = grid(k, n), grid(k)
    return {"X": grid(world, batch, n), "Y": grid(world, batch, k),
            "W0": np.stack([w if same else grid(k, n) for _ in range(world)]),
            "b0": np.stack([b if same else grid(k) for _ in range(world)]),
            "loss": "mean over batch and outputs of (x W^T + b - y)^2", "world": world}


def starts(given: dict[str, Any]) -> list[Array]:
    return [np.concatenate([w.ravel(), b]) for w, b in zip(given["W0"], given["b0"], strict=True)]


def simulate(given: dict[str, Any], ps: list[Array], steps: int,
             one: Callable[[int, list[Array], list[Array]], list[Array]]) -> list[dict[str, Any]]:
    """Rows of a file: `one(t, parameters, gradients)` gives the parameters of every process after step t."""
    out: list[dict[str, Any]] = [{"t": 0, "params": ps}]
    for t in range(1, steps + 1):
        found = [linear(p, x, y, x.shape[1]) for p, x, y in zip(ps, given["X"], given["Y"], strict=True)]
        ps = one(t, ps, [g for _, g in found])
        out.append({"t": t, "loss_before": [v for v, _ in found], "params": ps})
    return out


def case(name: str, given: dict[str, Any], out: Any) -> dict[str, Any]:
    return {"name": f"{name}-w{given['world']}" if "world" in given else name, "in": lists(given), "out": lists(out)}


# ------------------------------------------------------------------ the families


def central() -> None:
    cases = []
    for name, opt, cfg, worlds in [
            ("sgd-nest-wd", "CentralizedSGD", {"lr": .04, "momentum": .8, "nesterov": 1, "weight_decay": .02}, (1, 2, 4)),
            ("sgd-damp-bylayer", "CentralizedSGD", {"lr": .06, "momentum": .9, "dampening": .3, "by_layer": 1}, (2,)),
            ("sgd-weights", "CentralizedSGD", {"lr": .05, "momentum": .7, "agg_grad": 0}, (2, 4)),
            ("adam-ams", "CentralizedAdam", {"lr": .08, "betas": [.85, .99], "amsgrad": 1, "weight_decay": .01}, (1, 2))]:
        for world in worlds:
            weights = cfg.get("agg_grad") == 0
            given = {**problem(world, not weights), "opt": opt, "cfg": cfg}
            own = {k: v for k, v in cfg.items() if k not in ("by_layer", "agg_grad")}
            inner: list[Any] = [(Adam if "Adam" in opt else Sgd)(**own) for _ in range(world)]  # type: ignore[arg-type]

            def one(t: int, ps: list[Array], gs: list[Array], inner: Any = inner, weights: bool = weights) -> list[Array]:
                if weights:
                    return [np.mean([o.step(p, g) for o, p, g in zip(inner, ps, gs, strict=True)], 0)] * len(ps)
                return [o.step(p, np.mean(gs, 0)) for o, p in zip(inner, ps, strict=True)]

            ps = starts(given)
            cases.append(case(name, given, simulate(given, [np.mean(ps, 0)] * world if weights else ps, 5, one)))
    write("mlbench_central", "CentralizedSGD and CentralizedAdam, float64; params by process. Tolerance 1e-9.", cases)


def custom() -> None:
    cases = []
    for name, base, own, cfg, denom, worlds in [
            ("clip", "sgd", {"lr": .1, "momentum": .5}, {"average_world": 1, "grad_clip": 1.2}, None, (1, 2)),
            ("denom", "sgd", {"lr": .05}, {"average_custom": 1}, [4, 3, 7, 5, 6], (1, 2)),
            ("before-bylayer", "adam", {"lr": .05}, {"average_custom": 1, "divide_before": 1, "by_layer": 1},
             [2, 4, 8, 3, 5], (4,)),
            ("sign", "signsgd", {"lr": .1, "momentum": .6}, {"average_world": 1}, None, (4,))]:
        for world in worlds:
            given = {**problem(world), "base": base, "base_cfg": own, "cfg": cfg, "denom": denom}
            inner: list[Any] = [Adam(**own) if base == "adam" else Sgd(**own, sign=base == "signsgd")  # type: ignore
                                for _ in range(world)]
            clip = cfg.get("grad_clip", np.inf)

            def one(t: int, ps: list[Array], gs: list[Array], inner: Any = inner, clip: float = clip,
                    denom: Any = denom) -> list[Array]:
                g = np.sum(gs, 0) / (denom[t - 1] if denom else len(gs))
                g = g * min(1, clip / (np.linalg.norm(g) + 1e-6))
                return [o.step(p, g) for o, p in zip(inner, ps, strict=True)]

            cases.append(case(name, given, simulate(given, starts(given), 5, one)))
    write("mlbench_custom", "Aggregation around SGD, Adam, SignSGD, float64. Tolerance 1e-9.", cases)


def decentral() -> None:
    cases = []
    graphs = {"alone": [[]], "pair": [[1], [0]], "ring": [[1, 3], [2, 0], [3, 1], [0, 2]],
              "star": [[1, 2, 3], [0], [0], [0]]}
    for name, near in graphs.items():
        world = len(near)
        cfg: dict[str, Any] = {"lr": .04, "momentum": .5}
        given = {**problem(world, False), "neighbors": near, "cfg": cfg}
        inner = [Sgd(**cfg) for _ in near]

        def one(t: int, ps: list[Array], gs: list[Array], inner: Any = inner, near: Any = near) -> list[Array]:
            ps = [o.step(p, g) for o, p, g in zip(inner, ps, gs, strict=True)]
            return [np.mean([ps[j] for j in [r, *near[r]]], 0) for r in range(len(ps))]

        cases.append(case(name, given, simulate(given, starts(given), 5, one)))
    write("mlbench_decentral", "DecentralizedSGD, float64. Tolerance 1e-9.", cases)


def sparse() -> None:
    cases = []
    for name, d, cfg, seed, worlds in [
            ("block-tail", 11, {"random_sparse": 0, "lr": .05, "sparse_grad_size": 3}, 77, (1, 2)),
            ("random", 8, {"random_sparse": 1, "lr": .05, "sparse_grad_size": 3}, 78, (2, 4)),
            ("sum", 6, {"random_sparse": 0, "average_world": 0, "lr": .03, "sparse_grad_size": 4}, 79, (2,)),
            ("all", 4, {"random_sparse": 0, "lr": .03, "sparse_grad_size": 9}, 80, (1,))]:
        k, world_sum = cfg["sparse_grad_size"], cfg.get("average_world") == 0
        for world in worlds:
            w = grid(1, d)
            given = {"X": grid(world, 5, d), "Y": grid(world, 5, 1), "W0": w, "d": d, "cfg": cfg,
                     "np_seed_by_rank": [seed + r for r in range(world)], "loss": "mean over batch of (x W^T - y)^2",
                     "world": world}
            draws = [np.random.RandomState(seed + r) for r in range(world)]
            p, mem, est = w[0].copy(), np.zeros((world, d)), w[0].copy()
            out: list[dict[str, Any]] = [{"t": 0, "params": [p] * world}]
            for t in range(1, 8):
                losses, gs = zip(*[linear(p, given["X"][r], given["Y"][r], d) for r in range(world)], strict=True)
                mem = mem + cfg["lr"] * np.array(gs)
                u = np.zeros(d)
                picked: list[Any] = []
                for r in range(world):
                    if cfg["random_sparse"]:
                        at = draws[r].choice(d, min(k, d), replace=False)
                        picked.append(at)
                    else:
                        b = draws[r].randint(0, -(-d // min(k, d)))
                        picked.append(b)
                        at = np.arange(b * min(k, d), min((b + 1) * min(k, d), d))
                    u[at] += mem[r, at]
                    mem[r, at] = 0
                p = p - (u if world_sum else u / world)
                tau, s = d / k, t - 1
                rho = (s + tau) ** 2 / sum((j + tau) ** 2 for j in range(s + 1))  # weights (t + tau)^2
                est = (1 - rho) * est + rho * p
                out.append({"t": t, "loss_before": losses, "picked": picked, "params": [p] * world,
                            "memory": mem.copy(), "estimated": [est] * world})
            cases.append(case(name, given, out))
    write("mlbench_sparse", "CentralizedSparsifiedSGD on a (1,d) weight, float64. Tolerance 1e-6.", cases)


class Power:
    """Compression of matrices on all processes at once."""

    def __init__(self, shapes: list[tuple[int, ...]], world: int, rank: int, reuse: int) -> None:
        self.draws, self.rank, self.reuse, self.world = np.random.RandomState(1), rank, reuse, world
        self.e = [np.zeros((world, *s)) for s in shapes]
        self.q: list[Any] = [None] * len(shapes)
        self.drawn: list[Array] = []  # in the last round

    def reduce(self, gs: list[Array]) -> list[Array]:
        """What each parameter's gradients (by process) become."""
        out = []
        self.drawn = []
        for i, g in enumerate(gs):
            if g.ndim == 2:
                out.append(g.mean(0))
                continue
            a = g + self.e[i]
            _, n, m = a.shape
            if self.q[i] is None or not self.reuse:
                made = torch.Generator().manual_seed(int(self.draws.randint(1_000_000_000)))
                self.q[i] = torch.randn(m, min(n, m, self.rank), generator=made).double().numpy()
                self.drawn.append(self.q[i])
            p, _ = np.linalg.qr((a @ self.q[i]).sum(0))
            self.q[i] = (a.transpose(0, 2, 1) @ p).mean(0)
            out.append(p @ self.q[i].T)
            self.e[i] = a - out[-1]
        return out

    def memory(self) -> list[Array]:
        """By process, all of it flat."""
        return [np.concatenate([e[r].ravel() for e in self.e]) for r in range(self.world)]


def power() -> None:
    cases = []
    for name, dims, cfg, world in [("r1", [5, 4, 3], {"lr": .1}, 2), ("r2-mom", [5, 4, 3], {"lr": .08, "rank": 2,
                                                                                         "momentum": .5}, 2),
                                   ("reuse", [5, 4, 3], {"lr": .1, "reuse_query": 1, "weight_decay": .01}, 4)]:
        a, b, c = dims
        init = [grid(b, a, scale=32), grid(b, scale=32), grid(c, b, scale=32), grid(c, scale=32)]
        given = {"dims": dims, "model": "linear(a,b) tanh linear(b,c); params order W1,b1,W2,b2", "init": init,
                 "X": grid(world, 6, a), "Y": grid(world, 6, c), "loss": "mean over batch and outputs of (f(x)-y)^2",
                 "cfg": cfg, "world": world}
        ps = [p.copy() for p in init]
        made = Power([p.shape for p in ps], world, int(cfg.get("rank", 1)), int(cfg.get("reuse_query", 0)))
        inner = [Sgd(**{k: v for k, v in cfg.items() if k not in ("rank", "reuse_query")}) for _ in ps]
        out: list[dict[str, Any]] = [{"t": 0, "params": np.concatenate([p.ravel() for p in ps])}]
        for t in range(1, 6):
            losses, gs = [], []
            for x, y in zip(given["X"], given["Y"], strict=True):
                h = np.tanh(x @ ps[0].T + ps[1])
                e = h @ ps[2].T + ps[3] - y
                d = 2 * e / e.size
                back = (d @ ps[2]) * (1 - h * h)
                losses.append(float((e * e).mean()))
                gs.append([back.T @ x, back.sum(0), d.T @ h, d.sum(0)])
            update = made.reduce([np.stack(g) for g in zip(*gs, strict=True)])
            ps = [o.step(p, g) for o, p, g in zip(inner, ps, update, strict=True)]
            out.append({"t": t, "loss_before": losses, "params": np.concatenate([p.ravel() for p in ps]),
                        "update_grad": np.concatenate([g.ravel() for g in update]), "memory": made.memory(), "q": made.drawn})
        cases.append(case(name, given, out))
    write("mlbench_power", "PowerSGD on an MLP, float32 against float64. Tolerance 1e-4.", cases)
    cases = []
    for name, cfg, world, low in [("r2", {"rank": 2}, 2, 0), ("reuse", {"rank": 1, "reuse_query": 1}, 4, 0),
                                  ("exact-rank1", {"rank": 2}, 2, 1)]:
        m = np.stack([np.outer(grid(5), grid(4)) for _ in range(world)]) if low else grid(world, 5, 4)
        given = {"M": m, "bias": grid(world, 3), "cfg": cfg, "rounds": 5, "world": world}
        made = Power([(5, 4), (3,)], world, cfg["rank"], int(cfg.get("reuse_query", 0)))
        out = []
        for t in range(1, 6):
            g, bias = made.reduce([given["M"], given["bias"]])
            out.append({"t": t, "out": m.mean(0) if low else g, "out_bias": bias, "memory": made.e[0].copy(),
                        "q": made.drawn})
        cases.append(case(name, given, out))
    write("mlbench_power_matrix", "PowerSGD's reduction of constant matrices; in exact-rank1 the matrices of two processes "
          "have rank 1 and the approximation 2, so it is the mean. Tolerance 1e-4.", cases)


def small() -> None:
    cases = []
    for name, cfg in [("plain", {"lr": .1, "weight_decay": .3}), ("nest", {"lr": .2, "momentum": .7, "nesterov": 1})]:
        w, gs = grid(5), grid(6, 5, most=3)
        o, p, out = Sgd(**cfg, sign=True), w, []
        for g in gs:
            p = o.step(p, g)
            out.append(p)
        cases.append(case(name, {"w0": w, "grads": gs, "cfg": cfg}, out))
    write("mlbench_sign", "SignSGD, float64. Tolerance 1e-12.", cases)

    cases = []
    for name, shape in [("o6x3", (6, 3)), ("o3x3", (3, 3))]:
        m = grid(*shape)
        out = m.astype(float)
        for i in range(shape[1]):  # Gram and Schmidt's, twice for precision
            for _ in range(2):
                for j in range(i):
                    out[:, i] -= out[:, j] * (out[:, j] @ out[:, i])
            out[:, i] /= np.linalg.norm(out[:, i])
        cases.append({"name": name, "in": lists(m), "out": lists(out)})
    write("mlbench_orthogonalize", "Orthonormal columns in the direction of the input's. Tolerance 1e-5.", cases)

    cases = []
    for name, cfg in [("grow", {"init_scale": 8, "scale_factor": 2, "scale_window": 3}),
                      ("capped", {"init_scale": 64, "scale_factor": 4, "scale_window": 2, "max_scale": 512})]:
        flags = (RNG.random(30) < .15).astype(int)
        scale, good, out = float(cfg["init_scale"]), 0, []
        for bad in flags:
            good = 0 if bad else good + 1
            if bad:
                scale /= cfg["scale_factor"]
            elif good == cfg["scale_window"]:
                scale, good = min(scale * cfg["scale_factor"], cfg.get("max_scale", np.inf)), 0
            out.append(scale)
        cases.append({"name": name, "in": {"cfg": cfg, "overflow": lists(flags)}, "out": out})
    write("mlbench_lossscale", "The scale after each step, some of which overflow. Exact.", cases)


def halves() -> None:
    cases = []
    for name, cfg, denom, worlds in [
            ("sgd", {"average_world": 1, "init_scale": 8, "scale_window": 2}, None, (1, 2)),
            ("denom", {"average_custom": 1, "init_scale": 8, "scale_window": 2}, [2, 4, 8, 2, 4, 8], (1, 2)),
            ("inf", {"average_world": 1, "init_scale": 8, "scale_window": 2}, None, (2,))]:
        for world in worlds:
            w, b = grid(2, 3), grid(2)
            grads: Any = grid(6, world, 8, scale=2)
            if name == "inf":
                grads[2, 1, 4] = np.inf
            master = np.concatenate([w.ravel(), b]).astype(np.float32)
            own = {"lr": .125, "momentum": .5}
            o, scale, good, out = Sgd(**own), 8.0, 0, []
            for t, g in enumerate(grads, 1):
                half = g.astype(np.float16).sum(0, dtype=np.float16) / np.float16(denom[t - 1] if denom else world)
                whole = half.astype(np.float32) / np.float32(scale)
                fine, used = bool(np.isfinite(whole).all()), scale
                good = good + 1 if fine else 0
                if not fine:
                    scale /= 2
                elif good == 2:
                    scale, good = scale * 2, 0
                if fine:
                    master = o.step(master, whole).astype(np.float32)
                out.append({"t": t, "scale_used": used, "scale_after": scale, "updated": int(fine), "master": master,
                            "half": master.astype(np.float16).astype(float)})
            shown = [[[v if np.isfinite(v) else "inf" for v in row] for row in g.tolist()] for g in grads]
            given = {"w0": w, "b0": b, "grads_half_scaled": shown, "base": "sgd", "base_cfg": own, "cfg": cfg,
                     "multiplier": 1, "denom": denom, "world": world}
            cases.append(case(name, given, out))
    write("mlbench_fp16", "Half parameters, float32 master; gradients by hand, scaled. Tolerance 1e-6.", cases)


if __name__ == "__main__":
    for make in (central, custom, decentral, sparse, power, small, halves):
        make()
