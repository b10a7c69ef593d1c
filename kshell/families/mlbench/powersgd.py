"""PowerSGD: gradients sent as two low-rank matrices, with error feedback.

Vogels, Karimireddy and Jaggi 2019, arXiv 1905.13727.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD

from kshell.errors import said
from kshell.optim import comm
from kshell.optim.comm import Draws


def orthogonalize(m: Tensor) -> Tensor:
    """Orthonormal columns with the span of a matrix, each in the direction of its own column, as in Gram-Schmidt;
    columns of a zero matrix stay zero. Computed by QR, so dependent columns also give orthonormal ones. Half precision
    is computed in single precision."""
    wide = m if m.dtype in (torch.float32, torch.float64) else m.float()
    q, r = torch.linalg.qr(wide)
    signs = torch.where(r.diagonal() < 0, -1, 1) * wide.any()
    return (q * signs).to(m.dtype)


class _Part:
    """A parameter in one step: a matrix, compressed, or a vector, sent uncompressed."""

    __slots__ = ("a", "held", "out", "p", "product", "query")

    def __init__(self, p: Tensor, a: Tensor) -> None:
        self.p, self.a = p, a  # gradient plus error, as a matrix if compressed
        self.product: Any = None
        self.query: Any = None
        self.out: Any = None
        self.held = True  # does any process have a gradient?

    @property
    def sent(self) -> Tensor:
        """The tensor that is sent first: the product with the query, or the vector."""
        return self.a if self.query is None else self.product


class PowerSGD(comm.Together, Draws, SGD):
    """torch's SGD with the mean gradient over all processes, sent in compressed form.

    Vogels, Karimireddy and Jaggi 2019, arXiv 1905.13727, algorithms 1 and 2; mlbench_core's PowerSGD. For a parameter
    with two or more dimensions, treated as a matrix with shape[0] rows, and its error E (initially 0):

        A = g + E
        Q random, the same on every process; with `reuse`, from the previous step
        P = orthonormal columns of the sum over processes of A Q
        Q = the mean over processes of A' P
        g <- P Q',   E <- A - P Q'

    P and Q have at most `rank` columns. Other parameters are sent uncompressed. A single process does plain SGD unless
    `always`. If a sum is not finite, the step is skipped on every process. Gradients then hold what SGD used.
    ValueError for options out of range, and on all processes for parameters or options that differ.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.01,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        rank: int = 1,
        reuse: bool = False,
        bylayer: bool = False,
        seed: int = 1,
        always: bool = False,
    ) -> None:
        if rank < 1:
            raise said(ValueError(f"Invalid rank value: {rank}"))
        if not 0 <= seed < 1 << 32:
            raise said(ValueError(f"Invalid seed value: {seed}"))
        super().__init__(
            params,
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
        )
        more = {"rank": rank, "reuse": reuse, "bylayer": bylayer, "seed": seed, "always": always}
        self.defaults.update(more)
        for group in self.param_groups:
            for key, value in more.items():
                group.setdefault(key, value)

    # ------------------------------------------------------------ random queries

    def _query(self, part: _Part, rank: int) -> Tensor:
        """A new query, the same on every process because their generators are."""
        n, m = part.a.shape
        made = torch.Generator().manual_seed(int(self.draws.randint(1_000_000_000)))
        return torch.randn(m, min(n, m, rank), generator=made).to(
            dtype=part.a.dtype, device=part.a.device
        )

    def _drawn(self) -> str:
        """The source of queries: which are cached, and the generator's position."""
        kept: Any = self.draws.get_state()
        held = [
            i
            for i, p in enumerate(
                param for group in self.param_groups if group["reuse"] for param in group["params"]
            )
            if "query" in self.state.get(p, ())
        ]
        return f"{int(kept[1][0])} {kept[2]}, held {held}"

    # ------------------------------------------------------------ steps

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Compress and step; returns the closure's loss."""
        loss = comm.loss_of(closure)
        if comm.world() > 1:
            self.meet("step", own=(("random queries", self._drawn()),))
        if self._compress():
            super().step()
        return loss

    @torch.no_grad()
    def _compress(self) -> bool:
        """Replace gradients by the mean of the compressed ones; False, with only the generator changed, if it is not
        finite."""
        work = [
            (group, self._parts(group))
            for group in self.param_groups
            if comm.world() > 1 or group["always"]
        ]
        for group, parts in work:
            for part in parts:
                if part.a.dim() == 2:
                    held = self.state[part.p].get("query") if group["reuse"] else None
                    part.query = (
                        self._query(part, group["rank"]) if held is None else held.to(part.a)
                    )
                    part.product = part.a @ part.query
            if not _sum(parts, group["bylayer"]):
                return False
        for group, parts in work:
            matrices = [part for part in parts if part.query is not None]
            for part in matrices:
                part.product = orthogonalize(part.product)
                part.query = part.a.t() @ part.product
            if comm.world() > 1:
                for some in comm.buckets([part.query for part in matrices], group["bylayer"]):
                    comm.spread(comm.all_reduce(comm.flat(some)).div_(comm.world()), some)
            for part in parts:
                self._put(part, group["reuse"])
        return True

    def _parts(self, group: dict[str, Any]) -> list[_Part]:
        """Gradients plus errors; with several processes, a missing gradient counts as zeros."""
        out = []
        for p in comm.trained(group["params"]):
            if not p.numel() or (p.grad is None and comm.world() == 1):
                continue
            g = torch.zeros_like(p) if p.grad is None else p.grad
            if p.dim() > 1:
                a = g.reshape(p.shape[0], -1)
                error = self.state[p].get("memory")
                if a.dtype not in (torch.float32, torch.float64):
                    a = a.float()
                a = a.clone() if error is None else a + error.view(a.shape)
            else:
                a = g.clone()
            part = _Part(p, a)
            part.held = p.grad is not None
            out.append(part)
        return out

    def _put(self, part: _Part, reuse: bool) -> None:
        """Store the result in the gradient, the rest in the memory."""
        p, out = part.p, part.a
        if not part.held:
            return
        if part.query is not None:
            out = part.product @ part.query.t()
            state = self.state[p]
            state["memory"] = (part.a - out).to(p.dtype).view(p.shape)
            if reuse:
                state["query"] = part.query
        if p.grad is None:
            p.grad = torch.empty_like(p)
        p.grad.copy_(out.view(p.shape))


def _sum(parts: Sequence[_Part], bylayer: bool) -> bool:
    """Sum products over the processes, average vectors; returns whether all of it is finite. The message also says
    which gradients exist."""
    if comm.world() == 1:
        return all(comm.finite(part.sent for part in parts))
    sums = []
    lots = [[part] for part in parts] if bylayer else _by_type(parts)
    for lot in lots:
        sent = [part.sent for part in lot]
        v = comm.all_reduce(comm.flat(sent, [float(part.held) for part in lot]))
        sums.append(v)
        comm.spread(v, sent)
        for part, held in zip(lot, v[-len(lot) :].tolist(), strict=True):
            part.held = bool(held)
            if part.query is None:
                part.a.div_(comm.world())
    return all(comm.finite(sums))


def _by_type(parts: Sequence[_Part]) -> list[list[_Part]]:
    found: dict[Any, list[_Part]] = {}
    for part in parts:
        found.setdefault((part.sent.dtype, part.sent.device), []).append(part)
    return list(found.values())
