"""Checks that need several processes: `\\l` of this file runs them all on every rank (test_ranks.py starts it).

Each is a deviation from the programs where the optimizers come from, or an invariant of an optimizer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from torch import Tensor, nn

from kshell.families.mlbench.fp16 import FP16
from kshell.families.mlbench.optimizers import (
    CentralizedSparsifiedSGD,
    DecentralizedSGD,
    neighbors_of,
)
from kshell.families.mlbench.powersgd import PowerSGD
from kshell.families.streamer.optimizer import Streamer
from kshell.optim import comm
from kshell.optim.aggregate import Aggregated, CentralizedAdam, CentralizedSGD

R, W = comm.rank(), comm.world()


def own(*shape: int, seed: int = 0, dtype: torch.dtype = torch.float64) -> Tensor:
    """Random numbers that differ by process."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(100 * seed + R), dtype=torch.float64).to(dtype)


def leaf(t: Tensor) -> Any:
    return t.clone().requires_grad_()


def every(t: Tensor) -> Tensor:
    """A tensor of each process, stacked."""
    out = [torch.empty_like(t) for _ in range(W)]
    dist.all_gather(out, t.detach().contiguous())
    return torch.stack(out)


def equal_everywhere(t: Tensor) -> bool:
    found = every(t)
    return bool((found == found[0]).all())


@contextmanager
def refused(text: str) -> Iterator[None]:
    """A ValueError with this text, on every process."""
    said = ""
    try:
        yield
    except ValueError as e:
        said = str(e)
    flags = every(torch.tensor([float(bool(re.search(text, said)))]))
    assert bool((flags == 1).all()), f"{said!r} is not {text!r} everywhere"


# ------------------------------------------------------------------ aggregation


def check_frozen_and_missing_gradients() -> None:
    """A1: frozen parameters take no part; a gradient that is missing here is zeros, everywhere missing stays None."""
    a, b, c, frozen = (leaf(torch.ones(2)) for _ in range(4))
    frozen.requires_grad_(False)
    a.grad = torch.full((2,), float(R))
    if R == 0:
        b.grad = torch.full((2,), float(W))
    o = Aggregated(torch.optim.SGD([a, b, c, frozen], lr=1.0))
    o.step()
    assert a.tolist() == [1 - (W - 1) / 2] * 2
    assert b.tolist() == [0, 0] and c.grad is None and c.tolist() == [1, 1] and frozen.tolist() == [1, 1]


def check_sums_are_those_of_one_vector() -> None:
    """By model the elements are summed as one vector, nothing behind them: a sum of half precision depends on where
    the vector is cut."""
    ps = [leaf(torch.zeros(3, 4, dtype=torch.float16)), leaf(torch.zeros(5, dtype=torch.float16))]
    gs = [own(*p.shape, seed=3, dtype=torch.float16) for p in ps]
    whole = torch.cat([g.flatten() for g in gs])
    dist.all_reduce(whole)
    for o in (Aggregated(torch.optim.SGD(ps, lr=1.0)), CentralizedSGD(ps, lr=1.0)):
        for p, g in zip(ps, gs, strict=True):
            p.grad = g.clone()
        o.step()
        assert torch.equal(torch.cat([p.grad.flatten() for p in ps]), whole / W)


def check_closure_before_aggregation() -> None:
    """A2: with a closure all processes step by the same gradient."""
    p = leaf(torch.ones(1))
    for o in (CentralizedSGD([p], lr=1.0), Aggregated(torch.optim.SGD([p], lr=1.0))):
        def closure(o: Any = o) -> Tensor:
            o.zero_grad()
            loss = (p * (R + 1)).sum()
            loss.backward()
            return loss

        before = p.item()
        loss = o.step(closure)
        assert abs(loss.item() - before * (R + 1)) < 1e-6 and abs(before - p.item() - (W + 1) / 2) < 1e-6


def check_types_stay_what_they_are() -> None:
    """A3: a gradient in double precision loses nothing beside one in single."""
    a, b = leaf(torch.ones(1)), leaf(torch.ones(1, dtype=torch.float64))
    a.grad, b.grad = torch.ones(1), torch.full((1,), 1 + 2.0 ** -40, dtype=torch.float64)
    Aggregated(torch.optim.SGD([a, b], lr=1.0)).step()
    assert b.grad.item() == 1 + 2.0 ** -40


def check_storage_stays() -> None:
    """A8: weights are averaged in place."""
    p = leaf(own(3))
    at = p.data_ptr()
    o = CentralizedSGD([p], lr=.1, agggrad=False)
    p.grad = own(3, seed=1)
    o.step()
    assert p.data_ptr() == at and equal_everywhere(p)


def check_denominators_must_agree() -> None:
    p = leaf(torch.ones(1))
    p.grad = torch.ones(1)
    o = Aggregated(torch.optim.SGD([p], lr=1.0), "custom")
    with refused("denominators differ between processes"):
        o.step(denom=1 + R)
    with refused("needs a denominator"):
        o.step()
    assert p.item() == 1
    o.step(denom=4.0)
    assert p.item() == 1 - W / 4


def check_sizes_must_agree() -> None:
    """Parameters of different sizes are refused by each optimizer, before anything is sent."""
    for make in (CentralizedSGD, PowerSGD, DecentralizedSGD, CentralizedSparsifiedSGD,
                 lambda p: Aggregated(torch.optim.SGD(p, lr=1.0))):
        p = leaf(torch.ones(1 + R))
        p.grad = torch.ones(1 + R)
        with refused("parameters differ between processes"):
            make([p]).step()
        assert bool((p == 1).all())


def check_equal_start_stays_equal_and_is_one_process() -> None:
    """agggrad: equal parameters stay so, and are those of one process with all batches together."""
    x, y = own(4, 3, seed=2), own(4, 2, seed=3)
    net = nn.Linear(3, 2).double()
    for p in net.parameters():
        dist.broadcast(p.data, 0)
    other = nn.Linear(3, 2).double()
    other.load_state_dict(net.state_dict())
    o, alone = CentralizedAdam(net.parameters(), lr=.05), torch.optim.Adam(other.parameters(), lr=.05)
    xs, ys = every(x).reshape(-1, 3), every(y).reshape(-1, 2)
    for _ in range(5):
        for model, opt, a, b in ((net, o, x, y), (other, alone, xs, ys)):
            opt.zero_grad()
            nn.functional.mse_loss(model(a), b).backward()
            opt.step()
        assert all(equal_everywhere(p) for p in net.parameters())
    assert all(torch.allclose(p, q, atol=1e-12) for p, q in zip(net.parameters(), other.parameters(), strict=True))


# ------------------------------------------------------------------ sparsified


def check_sparsified() -> None:
    """S2, S3, S4, S7: every shape, the tail, k above the size; what is sent and what is kept is all there was."""
    for random in (False, True):
        params = [leaf(torch.zeros(*s, dtype=torch.float64)) for s in ((2, 4), (5,), (3,), (1, 7))]
        o = CentralizedSparsifiedSGD(params, lr=.5, k=3, random=random, average=False, seed=5)
        total = [torch.zeros_like(p) for p in params]
        calls = []
        for t in range(30):
            for p, all_of in zip(params, total, strict=True):
                p.grad = own(*p.shape, seed=t)
                all_of += .5 * p.grad
            before = comm.METER.calls
            o.step()
            calls.append(comm.METER.calls - before)
        assert max(calls[1:]) <= 3, calls
        for p, all_of in zip(params, total, strict=True):
            both = every(all_of).sum(0) - every(o.state[p]["memory"]).sum(0)
            assert torch.allclose(-p, both, atol=1e-12) and equal_everywhere(p)
            assert bool((p != 0).all()), "some coordinates never moved"
        assert bool((o.state[params[2]]["memory"] == 0).all())


def check_sparsified_far_coordinates() -> None:
    """S4: coordinates above 2^24, which single precision cannot count, and values in double precision."""
    far = (1 << 24) + 1
    p = leaf(torch.zeros(far + 2, dtype=torch.float64))
    o = CentralizedSparsifiedSGD([p], lr=1.0, k=1, average=False)
    o._choose = lambda d, group: torch.tensor([far])  # type: ignore[method-assign]
    p.grad = torch.zeros_like(p)
    p.grad[far] = 1 + 2.0 ** -40
    o.step()
    assert p[far].item() == -W * (1 + 2.0 ** -40) and p.count_nonzero().item() == 1


def check_sparsified_draws_differ() -> None:
    """S5: processes choose for themselves, whatever the global generators hold."""
    np.random.seed(1)
    torch.manual_seed(1)
    p = leaf(torch.zeros(64))
    o = CentralizedSparsifiedSGD([p], lr=1.0, k=4, random=True)
    p.grad = torch.ones(64)
    o.step()
    assert not equal_everywhere(o.state[p]["memory"])


def check_sparsified_not_finite() -> None:
    """S8: a gradient that is not finite on one process leaves all memories finite."""
    p = leaf(torch.zeros(6))
    o = CentralizedSparsifiedSGD([p], lr=1.0, k=2)
    p.grad = torch.full((6,), torch.nan) if R == W - 1 else torch.ones(6)
    o.step()
    assert p.tolist() == [0] * 6 and not o.state[p]
    p.grad = torch.ones(6)
    o.step()
    assert bool(p.isfinite().all()) and bool((p != 0).any())


# ------------------------------------------------------------------ powersgd


def check_power_exact_for_low_rank() -> None:
    """P1: matrices whose sum has rank r are reduced exactly by r columns, or more."""
    for rank in (1, 2, 3):
        u, v = torch.randn(6, 1, generator=torch.Generator().manual_seed(3)), own(5, dtype=torch.float32)
        p = leaf(torch.zeros(6, 5))
        p.grad = u @ v[None]
        mean = every(p.grad).mean(0)
        PowerSGD([p], lr=1.0, rank=rank).step()
        assert torch.allclose(p.grad, mean, atol=1e-5 * float(mean.abs().max())), rank


def check_power_extremes() -> None:
    """P2: values near the ends of the type."""
    for scale in (1e25, 1e-25):
        p = leaf(torch.zeros(4, 3))
        u = torch.randn(4, 1, generator=torch.Generator().manual_seed(3))
        p.grad = u @ own(1, 3, dtype=torch.float32) * scale
        mean = every(p.grad).mean(0)
        PowerSGD([p], lr=1.0, rank=1).step()
        assert torch.allclose(p.grad / scale, mean / scale, atol=1e-5)


def check_power_any_model() -> None:
    """P3, P4: no vectors, no matrices, half and double precision, four dimensions, one frozen."""
    for shapes in (((3, 2),), ((3,),), ((3, 2, 2, 2), (4,))):
        for dtype in (torch.float16, torch.float32, torch.float64):
            params = [leaf(torch.zeros(*s, dtype=dtype)) for s in shapes] + [torch.zeros(2, 2)]
            for i, p in enumerate(params[:-1]):
                p.grad = own(*p.shape, seed=i, dtype=dtype)
            PowerSGD(params, lr=.1).step()
            assert all(p.dtype is dtype and equal_everywhere(p) and bool((p != 0).any()) for p in params[:-1])
    params = [leaf(torch.zeros(3, 2)), leaf(torch.zeros(3, 2, dtype=torch.float64))]
    for p in params:
        p.grad = own(3, 2, dtype=p.dtype)
    PowerSGD(params, lr=.1).step()
    assert params[0].grad.dtype is torch.float32 and params[1].grad.dtype is torch.float64


def check_power_by_layer() -> None:
    """P5: one parameter at a time gives the same numbers."""
    def run(bylayer: bool) -> list[Tensor]:
        params = [leaf(torch.zeros(4, 3, dtype=torch.float64)), leaf(torch.zeros(3, dtype=torch.float64)),
                  leaf(torch.zeros(3, 5, dtype=torch.float64))]
        o = PowerSGD(params, lr=.1, rank=2, bylayer=bylayer, reuse=True)
        for t in range(3):
            for i, p in enumerate(params):
                p.grad = own(*p.shape, seed=10 * t + i)
            o.step()
        return params

    assert all(torch.allclose(a, b, atol=1e-12) for a, b in zip(run(False), run(True), strict=True))


def check_power_memory() -> None:
    """The mean of the memories is what the approximations have left out."""
    p = leaf(torch.zeros(6, 5, dtype=torch.float64))
    o = PowerSGD([p], lr=.1, rank=2)
    given, out = torch.zeros(6, 5, dtype=torch.float64), torch.zeros(6, 5, dtype=torch.float64)
    for t in range(6):
        p.grad = own(6, 5, seed=t)
        given += every(p.grad).mean(0)
        o.step()
        out += p.grad
        assert torch.linalg.matrix_rank(p.grad) <= 2
    assert torch.allclose(every(o.state[p]["memory"]).mean(0), given - out, atol=1e-12)


def check_power_mean_of_outs() -> None:
    """Of a matrix that stays the mean of what is applied tends to the mean over processes, as one over the steps."""
    g = own(8, 10)
    mean = every(g).mean(0)
    for rank, most in ((1, .12), (4, .03)):
        p = leaf(torch.zeros(8, 10, dtype=torch.float64))
        o = PowerSGD([p], lr=1.0, rank=rank)
        far = []
        for t in range(80):
            p.grad = g.clone()
            o.step()
            if t in (39, 79):
                far.append(float((p.detach() / (t + 1) + mean).norm() / mean.norm()))
        assert far[1] < most and far[1] < .75 * far[0], (rank, far)


def check_power_small_matrices() -> None:
    """P8: matrices are compressed also where that is no less to send."""
    p = leaf(torch.zeros(2, 2))
    p.grad = own(2, 2, dtype=torch.float32)
    PowerSGD([p], lr=1.0).step()
    assert torch.linalg.matrix_rank(p.grad) == 1 and equal_everywhere(p)


def check_power_not_finite() -> None:
    """P9: a sum that is not finite leaves the step out, on every process."""
    for shape in ((3, 2), (3,)):
        p = leaf(torch.zeros(*shape))
        o = PowerSGD([p], lr=1.0, reuse=True)
        p.grad = torch.full(shape, torch.inf) if R == 0 else torch.ones(shape)
        o.step()
        assert bool((p == 0).all()) and not o.state[p]
        p.grad = torch.ones(shape)
        o.step()
        assert torch.allclose(p, -torch.ones(shape), atol=1e-6)


# ------------------------------------------------------------------ decentral


def check_decentral_every_graph() -> None:
    """D1, D2, D5: process 0, no neighbours, the drift of the mean on irregular graphs and its absence with metropolis."""
    for graph in ("ring", "full", "line", "star"):
        near = neighbors_of(graph, R, W)
        degrees = {len(neighbors_of(graph, r, W)) for r in range(W)}
        for weights in ("uniform", "metropolis"):
            p = leaf(own(4))
            mean = every(p).mean(0)
            o = DecentralizedSGD([p], lr=.5, neighbors=near, weights=weights)
            p.grad = own(4, seed=1)
            want = mean - .5 * every(p.grad).mean(0)
            o.step()
            kept = torch.allclose(every(p).mean(0), want, atol=1e-12)
            assert kept is (weights == "metropolis" or len(degrees) == 1), (graph, weights)
    p = leaf(own(4))
    o, start = DecentralizedSGD([p], lr=1.0), p.detach().clone()
    p.grad = torch.ones(4, dtype=torch.float64)
    o.step()
    assert torch.equal(p, start - 1)


def check_decentral_refused() -> None:
    """D3: neighbours that do not list each other, and others that are none, are refused alike everywhere."""
    p = leaf(torch.ones(2))
    with refused(r"neighbors not symmetric \(0 lists 1, 1 does not list 0\)"):
        DecentralizedSGD([p], neighbors=[1] if R == 0 else [])
    with refused(f"neighbors: 1 lists {W}"):
        DecentralizedSGD([p], neighbors=[W] if R == 1 else [])
    with refused("neighbors: 0 lists 0"):
        DecentralizedSGD([p], neighbors=[0] if R == 0 else [])
    with refused("neighbors: 0 lists one of them twice"):
        DecentralizedSGD([p], neighbors=[1, 1] if R == 0 else [0] if R == 1 else [])


# ------------------------------------------------------------------ half precision


def check_half_skips_together() -> None:
    """A gradient that is not finite on one process skips the step on all; half sums that overflow do too."""
    p = leaf(torch.ones(2).half())
    o = FP16([p], lambda g: torch.optim.SGD(g, lr=1.0), init=16, window=2)
    p.grad = torch.tensor([1.0, torch.inf if R == W - 1 else 1.0]).half()
    assert o.step() is False and o.scaler.scale == 8 and p.tolist() == [1, 1]
    for before in (False, True):
        q = leaf(torch.ones(1).half())
        o = FP16([q], lambda g: torch.optim.SGD(g, lr=1.0), init=65536, before=before)
        q.grad = torch.full((1,), 40000.0).half()
        assert o.step() is before


def check_half_equal_everywhere() -> None:
    p = leaf(torch.ones(3).half())
    o = FP16([p], lambda g: torch.optim.SGD(g, lr=.1, momentum=.9), init=4)
    for t in range(4):
        o.zero_grad()
        o.backward((p * own(3, seed=t, dtype=torch.float16)).sum())
        assert o.step() is True
    assert equal_everywhere(p.float()) and equal_everywhere(o.flat_master())


# ------------------------------------------------------------------ layers at paces of their own


def check_streamer_waits_for_equal_layers() -> None:
    """T2, T6: with 1, 2, .. layers nothing is averaged, and nothing hangs; it is as soon as all have as many. Between
    averages processes do not talk."""
    made = [leaf(own(2, seed=j)) for j in range(W)]
    o = Streamer([(p, ()) for p in made[:R + 1]], "sgd", max_layers=W, average_every=3)
    o.step()
    calls = comm.METER.calls
    o.step()
    assert comm.METER.calls == calls
    for _ in range(3):
        o.step()
    assert not equal_everywhere(made[0])
    for p in made[R + 1:]:
        o.add_layer(p)
    want = [every(p).mean(0) for p in made]
    o.step()
    assert all(torch.allclose(p, m, atol=1e-15) and equal_everywhere(p) for p, m in zip(made, want, strict=True))
    calls, start = comm.METER.calls, made[0].detach().clone()
    o.step()
    assert comm.METER.calls == calls and torch.equal(made[0], start)


def check_streamer_averages_after_the_gradients() -> None:
    """T4: a step that averages has the gradients of the weights with which its losses were calculated."""
    f, g = leaf(own(3)), leaf(own(3, seed=1))
    o = Streamer([(f, g)], "sgd", average_every=1, optimize_every=2)
    before = g.detach().clone()
    o.loss(0, (f * g).sum(), 2)
    assert o.step() is False
    assert torch.equal(f.grad, 2 * before) and equal_everywhere(f) and equal_everywhere(g)
    before = g.detach().clone()
    o.loss(0, (f * g).sum(), 2)
    start = f.detach().clone()
    assert o.step() is True
    assert torch.allclose(f, start - 1e-4 * every(own(3, seed=1) + before).mean(0) / 2, atol=1e-12)


def check_streamer_refused() -> None:
    """Processes that average at different steps, updates that are due here only, parameters of other sizes."""
    p = leaf(own(2))
    o = Streamer([p], "sgd", lr=1, average_every=2 + R % 2, optimize_every=1)
    before = p.detach().clone()
    o.loss(0, p.sum())
    with refused("processes average at different steps: every 2"):
        o.step()
    assert torch.equal(p, before) and p.grad is None
    o = Streamer([p], "sgd", lr=1, average_every=2, optimize_every=1 + R % 2)
    o.loss(0, p.sum())
    with refused("options differ between processes"):
        o.gather(True)
    o = Streamer([p], "sgd", lr=1, average_every=2, optimize_every=1)
    if R == 0:
        o.loss(0, p.sum())
    with refused("an update is due on some processes only: 0"):
        o.gather(True)
    assert torch.equal(p, before) and p.grad is None and o.step_counter == [0]
    q = leaf(own(1 + R % 2))
    o = Streamer([q], average_every=1)
    before = q.detach().clone()
    with refused("parameters differ between processes"):
        o.step()
    assert torch.equal(q, before)


def check_streamer_types_and_storage() -> None:
    """Parameters of several types are averaged in place, frozen ones too."""
    a, b = leaf(own(2)), leaf(own(2, seed=1, dtype=torch.float32))
    b.requires_grad_(False)
    at, want = (a.data_ptr(), b.data_ptr()), [every(t).mean(0) for t in (a, b)]
    o = Streamer([([a, b], ())], average_every=1)
    o.step()
    assert (a.data_ptr(), b.data_ptr()) == at and a.dtype is torch.float64 and b.dtype is torch.float32
    assert torch.allclose(a, want[0], atol=1e-15) and torch.allclose(b, want[1], atol=1e-6)


def run(names: str = "") -> None:
    """Run the checks on this process; 0 tells which were done."""
    found: dict[str, Callable[[], None]] = {k: v for k, v in globals().items() if k.startswith("check_")}
    torch.manual_seed(11 + R)
    np.random.seed(11 + R)
    for name, check in found.items():
        state, other = torch.get_rng_state(), np.random.get_state()[1].tolist()  # type: ignore[union-attr]
        try:
            check()
        except AssertionError as e:
            raise AssertionError(f"{name}: {e} (rank {R})") from None
        if name not in ("check_sparsified_draws_differ", "check_equal_start_stays_equal_and_is_one_process"):
            assert torch.equal(state, torch.get_rng_state()), f"{name} changed torch's generator"
            assert other == np.random.get_state()[1].tolist(), f"{name} changed numpy's generator"  # type: ignore
        if R == 0:
            print(name, flush=True)


if W > 1:
    run()
