"""Optimizers from mlbench_core that change what a step consists of: signs, a few coordinates, neighbours.

Frozen parameters are skipped, gradients are not modified, and random numbers come from the optimizer's own generators.
Distributed ones also run in a single process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor
from torch.optim import SGD, Optimizer

from kshell.errors import said
from kshell.optim import comm
from kshell.optim.comm import Draws


def _at_least(least: float, **values: float) -> None:
    """ValueError if a value is below the minimum."""
    for name, value in values.items():
        if not value >= least:
            raise said(ValueError(f"Invalid {name} value: {value:g}"))


class SignSGD(Optimizer):
    """Steps of constant size by the sign of SGD's direction; weight decay is applied inside the sign.

    Bernstein et al. 2018, arXiv 1802.04434; mlbench_core's SignSGD, with SGD's momentum. ValueError for options out of
    range.

        d = g + weight_decay p
        b = d at first, then momentum b + (1 - dampening) d;   d = d + momentum b if `nesterov`, else b
        p <- p - lr sign(d)
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.01,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
    ) -> None:
        _at_least(0, **{"learning rate": lr, "momentum": momentum, "weight_decay": weight_decay})
        if nesterov and (momentum <= 0 or dampening != 0):
            raise said(ValueError("Nesterov momentum requires a momentum and zero dampening"))
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
            },
        )

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update; returns the closure's loss."""
        loss = comm.loss_of(closure)
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    param.sub_(self._direction(param, group).sign(), alpha=group["lr"])
        return loss

    def _direction(self, p: Tensor, group: dict[str, Any]) -> Tensor:
        d: Any = p.grad
        if group["weight_decay"]:
            d = d.add(p, alpha=group["weight_decay"])
        momentum = group["momentum"]
        if not momentum:
            return d
        state = self.state[p]
        if "momentum_buffer" in state:
            b = state["momentum_buffer"].mul_(momentum).add_(d, alpha=1 - group["dampening"])
        else:
            b = state["momentum_buffer"] = d.clone()
        return d.add(b, alpha=momentum) if group["nesterov"] else b


class SparsifiedSGD(Draws, Optimizer):
    """SGD that applies a few coordinates of each parameter per step and accumulates the others.

    Stich, Cordonnier and Jaggi 2018, arXiv 1809.07599, algorithm 1; mlbench_core's single-process optimizer. For a
    parameter with d elements, row by row:

        m <- m + lr g
        choose k coordinates: k consecutive ones, or with `random` any
        u = m there, 0 elsewhere;   m <- m - u
        p <- p - u - weight_decay p                    (decay per step: not multiplied by the rate)

    Blocks start at multiples of k; the last may be shorter. Draws come from RandomState(seed + rank). A gradient that
    is not finite leaves the parameter and its memory unchanged. Each parameter has an estimate: the running mean of its
    values with weights (t + d/k)^2, updated by `update_estimates`. ValueError for options out of range.
    """

    shared = False  # are coordinates sent to other processes?

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.01,
        weight_decay: float = 0,
        k: int = 10,
        random: bool = False,
        seed: int = 1,
        average: bool = True,
    ) -> None:
        _at_least(0, **{"learning rate": lr, "weight_decay": weight_decay, "seed": seed})
        _at_least(1, k=k)
        options = {"lr": lr, "weight_decay": weight_decay, "k": k, "random": random, "seed": seed}
        super().__init__(params, options | ({"average": average} if self.shared else {}))

    # ------------------------------------------------------------ random draws

    def seed(self) -> int:
        """Each process draws its own numbers."""
        return (super().seed() + comm.rank()) % (1 << 32)

    def _choose(self, d: int, group: dict[str, Any]) -> Tensor:
        """The coordinates for this step, out of d."""
        k = min(group["k"], d)
        if group["random"]:
            return torch.from_numpy(self.draws.choice(d, k, replace=False).astype(np.int64))
        b = int(self.draws.randint(0, -(-d // k)))
        return torch.arange(b * k, min(b * k + k, d))

    # ------------------------------------------------------------ steps

    def _states(self, p: Tensor) -> dict[str, Any]:
        state = self.state[p]
        if "memory" not in state:
            state["memory"] = torch.zeros_like(p, memory_format=torch.contiguous_format)
            state["estimated"] = p.detach().clone(memory_format=torch.contiguous_format)
        return state

    def _fit(self, work: Sequence[tuple[Tensor, Any]]) -> list[bool]:
        """Which gradients are finite."""
        return comm.finite(p.grad for p, _ in work)

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One update; returns the closure's loss."""
        loss = comm.loss_of(closure)
        work = [
            (param, group)
            for group in self.param_groups
            for param in group["params"]
            if param.requires_grad and param.numel() and (self.shared or param.grad is not None)
        ]
        sent: list[tuple[Tensor, Any, Tensor, Tensor]] = []
        for (p, group), fit in zip(work, self._fit(work), strict=True):
            if fit:
                memory = self._states(p)["memory"].view(-1)
                if p.grad is not None:
                    memory.add_(p.grad.reshape(-1).to(memory.dtype), alpha=group["lr"])
                at = self._choose(p.numel(), group).to(p.device)
                sent.append((p, group, at, memory[at]))
                memory[at] = 0
        for (p, group, _, _), u in zip(sent, self._combine(sent), strict=True):
            if group["weight_decay"]:
                u.add_(p, alpha=group["weight_decay"])
            p.sub_(u)
        return loss

    def _combine(self, sent: Sequence[tuple[Tensor, Any, Tensor, Tensor]]) -> list[Tensor]:
        """The update of each parameter."""
        return [_scattered(p, [(at, values)]) for p, _, at, values in sent]

    # ------------------------------------------------------------ estimates

    @torch.no_grad()
    def update_estimates(self, t: int, k: int | None = None) -> None:
        """After step t, counted from 0: update the running means with the parameters. k defaults to each group's
        own."""
        _at_least(0, t=t)
        _at_least(1, k=1 if k is None else k)
        for group in self.param_groups:
            for param in group["params"]:
                if param.requires_grad and param.numel():
                    tau = param.numel() / (k or group["k"])
                    rho = (
                        6 * (t + tau) ** 2 / ((1 + t) * (6 * tau**2 + t + 6 * tau * t + 2 * t * t))
                    )
                    self._states(param)["estimated"].mul_(1 - rho).add_(param, alpha=rho)

    def estimates(self) -> list[Tensor]:
        """The estimate of each parameter; if there is none yet, the parameter's current value."""
        return [
            self.state.get(param, {}).get("estimated", param).detach().clone()
            for group in self.param_groups
            for param in group["params"]
        ]


def _scattered(p: Tensor, parts: Iterable[tuple[Tensor, Tensor]]) -> Tensor:
    """Values summed at their coordinates, in the shape of p."""
    u = torch.zeros(p.numel(), dtype=p.dtype, device=p.device)
    for at, values in parts:
        u.index_add_(0, at, values.to(p.dtype))
    return u.view(p.shape)


class CentralizedSparsifiedSGD(comm.Together, SparsifiedSGD):
    """SparsifiedSGD whose update uses the coordinates selected by all processes, each for itself; after mlbench_core's
    CentralizedSparsifiedSGD.

    u is the sum of what they sent, divided by their number if `average`. A gradient that is not finite on one process
    leaves the parameter and all memories unchanged. Parameters or options that differ between processes raise
    ValueError on all.
    """

    shared = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.01,
        weight_decay: float = 0,
        k: int = 10,
        random: bool = False,
        seed: int = 1,
        average: bool = True,
    ) -> None:
        super().__init__(params, lr, weight_decay, k, random, seed, average)

    def free(self, group: dict[str, Any]) -> Iterable[str]:
        """Each process draws its own numbers."""
        return ("seed",)

    def _fit(self, work: Sequence[tuple[Tensor, Any]]) -> list[bool]:
        if comm.world() == 1:
            return super()._fit(work)
        # check gradients before the collective call: a sparse one is rejected there
        found = (
            super()._fit(work)
            if not any(p.grad is not None and p.grad.is_sparse for p, _ in work)
            else []
        )
        wrong = self.meet("step", more=found.count(False))
        if not any(wrong):
            return found
        return [all(column) for column in zip(*comm.gathered(found, torch.uint8), strict=True)]

    def _combine(self, sent: Sequence[tuple[Tensor, Any, Tensor, Tensor]]) -> list[Tensor]:
        """One exchange of all coordinates, and one of the values for each data type."""
        if comm.world() == 1:
            return super()._combine(sent)
        if not sent:
            return []
        longest = [min(group["k"], p.numel()) for p, group, _, _ in sent]
        # a short block is padded: coordinate 0 gets an extra zero
        at = torch.cat([_padded(a, n) for (_, _, a, _), n in zip(sent, longest, strict=True)])
        coordinates = [a.split(longest) for a in comm.all_gather(at)]
        out: list[Any] = [None] * len(sent)
        kinds: dict[Any, list[int]] = {}
        for i, (p, *_) in enumerate(sent):
            kinds.setdefault(p.dtype, []).append(i)
        for members in kinds.values():
            sizes = [longest[i] for i in members]
            values = comm.all_gather(
                torch.cat(
                    [_padded(sent[i][3], size) for i, size in zip(members, sizes, strict=True)]
                )
            )
            by_rank = [value.split(sizes) for value in values]
            for j, i in enumerate(members):
                p, group = sent[i][:2]
                out[i] = _scattered(
                    p,
                    [
                        (coordinate[i], v[j])
                        for coordinate, v in zip(coordinates, by_rank, strict=True)
                    ],
                )
                if group["average"]:
                    out[i].div_(comm.world())
        return out


def _padded(t: Tensor, n: int) -> Tensor:
    return torch.nn.functional.pad(t, (0, n - len(t)))


# ------------------------------------------------------------------ neighbours

TOPOLOGIES = ("ring", "full", "line", "star")


def neighbors_of(topology: str, rank: int, world: int) -> list[int]:
    """The neighbours of a process in a ring, a full graph, a line, or a star around 0."""
    if topology == "ring":
        found = {(rank - 1) % world, (rank + 1) % world}
    elif topology == "full":
        found = set(range(world))
    elif topology == "line":
        found = {rank - 1, rank + 1} & set(range(world))
    elif topology == "star":
        found = {0} if rank else set(range(world))
    else:
        raise said(
            ValueError(
                f"topo: unrecognized topology {topology}, expecting one of {', '.join(TOPOLOGIES)}"
            ),
            topology,
        )
    return sorted(found - {rank})


class DecentralizedSGD(comm.Together, SGD):
    """Local SGD on each process, followed by averaging weights with its neighbours.

    Lian et al. 2017, arXiv 1705.09056, algorithm 1; mlbench_core's DecentralizedSGD. The metropolis weights are from
    Xiao, Boyd and Lall 2005 (IPSN).

        p <- sum of w_j p_j over itself and its neighbours

    With uniform `weights`, w is 1 / (neighbours + 1); if numbers of neighbours differ, the mean over all processes then
    drifts. With metropolis, w_j = 1 / (1 + the larger of the two processes' numbers of neighbours), and the process
    itself has the remaining weight. Neighbours must list each other: if not, or if parameters differ, ValueError on all
    processes.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.01,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        neighbors: Iterable[int] | int = (),
        weights: str = "uniform",
        bylayer: bool = False,
    ) -> None:
        given = _listed(neighbors)
        if weights not in ("uniform", "metropolis"):
            raise said(ValueError(f"Invalid weights value: {weights}"))
        super().__init__(
            params,
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
        )
        self.defaults.update(neighbors=given, weights=weights, bylayer=bylayer)
        for group in self.param_groups:
            group.setdefault("neighbors", given)
            group.setdefault("weights", weights)
            group.setdefault("bylayer", bylayer)
        if not comm.is_alone():
            self.attached()

    def attached(self) -> None:
        """Check that all processes can exchange with their neighbours; if not, the same ValueError on every process."""
        super().attached()
        self._look()

    def free(self, group: dict[str, Any]) -> Iterable[str]:
        """Each process steps on its own, with its own rates and neighbours."""
        return group.keys() - {"weights", "bylayer"}

    def _lists(self) -> tuple[Any, ...]:
        """The neighbours of each group, and the number of processes."""
        return comm.world(), *(_listed(group["neighbors"]) for group in self.param_groups)

    def _look(self) -> None:
        """Exchange neighbour lists, collectively: how many each process has, by group."""
        lists = self._lists()
        self._degrees = [_graph(mine) for mine in lists[1:]]
        self._graphs = lists

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """A local update, then averaging; returns the closure's loss."""
        loss = comm.loss_of(closure)
        new = vars(self).get("_graphs") != self._lists()
        if comm.world() > 1:
            new = any(self.meet("step", more=int(new), dense=False))
        if new:
            self._look()
        super().step()
        kinds: dict[Any, list[Tensor]] = {}
        for group, degrees in zip(self.param_groups, self._degrees, strict=True):
            near = _listed(group["neighbors"])
            if near:
                key = near, group["bylayer"], tuple(_weights(near, degrees, group["weights"]))
                kinds.setdefault(key, []).extend(comm.trained(group["params"]))
        for (near, bylayer, weights), params in kinds.items():
            _mix(params, near, weights, bylayer)
        return loss


def _listed(neighbors: Iterable[int] | int) -> tuple[int, ...]:
    return (neighbors,) if isinstance(neighbors, int) else tuple(neighbors)


def _graph(mine: Sequence[int]) -> list[int]:
    n, r = comm.world(), comm.rank()
    bad = next((j for j in mine if not 0 <= j < n or j == r), None)
    row = [
        -1 if bad is None else bad,
        int(bad is not None),
        int(len(set(mine)) < len(mine)),
        *[int(j in mine) for j in range(n)],
    ]
    rows = [row] if n == 1 else [[int(v) for v in found] for found in comm.gathered(row)]
    for i, (wrong, refused, twice, *_) in enumerate(rows):
        if refused:
            raise said(
                ValueError(f"neighbors: {i} lists {wrong}, expecting others of 0 to {n - 1}")
            )
        if twice:
            raise said(ValueError(f"neighbors: {i} lists one of them twice"))
    links = [found[3:] for found in rows]
    for i in range(n):
        for j in range(n):
            if links[i][j] and not links[j][i]:
                raise said(
                    ValueError(f"neighbors not symmetric ({i} lists {j}, {j} does not list {i})")
                )
    return [sum(found) for found in links]


def _weights(near: Sequence[int], degrees: Sequence[int], kind: str) -> list[float]:
    """The averaging weights of the neighbours."""
    if kind == "uniform":
        return [1 / (len(near) + 1)] * len(near)
    mine = degrees[comm.rank()]
    return [1 / (1 + max(mine, degrees[j])) for j in near]


@torch.no_grad()
def _mix(
    params: Sequence[Tensor], near: Sequence[int], weights: Sequence[float], bylayer: bool
) -> None:
    for part in comm.buckets(params, bylayer):
        mine = comm.flat(part)
        theirs = [torch.empty_like(mine) for _ in near]
        ops = [dist.P2POp(dist.isend, mine, j) for j in near]
        ops += [dist.P2POp(dist.irecv, their, j) for their, j in zip(theirs, near, strict=True)]

        def exchange(ops: list[Any] = ops) -> None:
            for work in dist.batch_isend_irecv(ops):
                work.wait()

        comm.METER.run(exchange, *([mine] * len(near)))
        if len(set(weights)) == 1 and weights[0] == 1 / (len(near) + 1):
            total = mine.clone()
            for their in theirs:
                total.add_(their)
            comm.spread(total.div_(len(near) + 1), part)
        else:
            total = mine * (1 - sum(weights))
            for their, weight in zip(theirs, weights, strict=True):
                total.add_(their, alpha=weight)
            comm.spread(total, part)
