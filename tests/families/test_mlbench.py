"""mlbench_core's optimizers in one process: what differs from the originals, options, state. (Several:
tests/parallel/test_ranks.py.)"""

from __future__ import annotations

import copy
import io
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from kshell.errors import QError
from kshell.families.mlbench.fp16 import FP16, LossScale
from kshell.families.mlbench.optimizers import (
    CentralizedSparsifiedSGD,
    DecentralizedSGD,
    SignSGD,
    SparsifiedSGD,
    neighbors_of,
)
from kshell.families.mlbench.powersgd import PowerSGD, orthogonalize
from kshell.optim.aggregate import Aggregated, Aggregation, CentralizedAdam, CentralizedSGD
from kshell.session import Session
from tests.support import warm

# optimizer: how to make one in q over a module m
MADE = {
    "signsgd": "opt(`signsgd;m;.01;`momentum`nesterov!(.9;1b))",
    "sparsifiedsgd": "opt(`sparsifiedsgd;m;.1;`k`seed!(3;5))",
    "centralizedsparsifiedsgd": "opt(`centralizedsparsifiedsgd;m;.1;(`k;3;`random;1b))",
    "centralizedsgd": "opt(`centralizedsgd;m;.1;.9;`decay,.01)",
    "centralizedweights": "opt(`centralizedsgd;m;.1;.9;`agggrad`bylayer!01b)",
    "centralizedadam": "opt(`centralizedadam;m;.01;`amsgrad,1b)",
    "powersgd": "opt(`powersgd;m;.1;`rank`reuse`always`momentum!(2;1b;1b;.9))",
    "powerfresh": "opt(`powersgd;m;.1;`always,1b)",
    "decentralizedsgd": "opt(`decentralizedsgd;m;.1;(`momentum;.9;`neighbors;topo`ring;`weights;`metropolis))",
    "agg": "r:opt(`adam;m;.01);agg(r;`world;`clip`bylayer!(1.;1b));r",
    "fp16sgd": "fp16(m;(`sgd;.1;.9);`init`window!(16;2))",
    "fp16adam": "fp16(m;(`adam;.01);`init`window`max!(16;2;64.))",
    "fp16lamb": "fp16(m;`lamb;(`before;1b))",
}
NET = "m:module seq(`sequential;(`linear;`a;5;4);`tanh;(`linear;`b;4;3))"
DATA = 'X:20 6 5#"e"$sin til 600;Y:20 6 3#"e"$cos til 360'
STEP = ("one:{[i]nograd o;z:mse(forward(m;X i);Y i);$[h;backward(o;z);backward z];step o;(raze/)value dict parms m};"
        "go:{[i]one each i}")


def q(*lines: str) -> Session:
    """A session after some lines."""
    s = Session(out=io.StringIO())
    for line in lines:
        s.run(line)
    return s


def leaf(*values: float, dtype: torch.dtype = torch.float32) -> Any:
    return torch.tensor(values, dtype=dtype, requires_grad=True)


def closure_of(o: Any, p: Tensor, calls: list[int]) -> Callable[[], Tensor]:
    def closure() -> Tensor:
        calls.append(1)
        o.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    return closure


MAKERS: dict[str, Callable[[Any], Any]] = {
    "sign": lambda p: SignSGD(p, .1), "sparse": lambda p: SparsifiedSGD(p, .1, k=2),
    "centralsparse": lambda p: CentralizedSparsifiedSGD(p, .1, k=2), "sgd": lambda p: CentralizedSGD(p, .1),
    "adam": lambda p: CentralizedAdam(p, .1), "power": lambda p: PowerSGD(p, .1, always=True),
    "decentral": lambda p: DecentralizedSGD(p, .1), "agg": lambda p: Aggregated(torch.optim.SGD(p, lr=.1))}


# ------------------------------------------------------------------ every optimizer


@pytest.mark.parametrize("name", MAKERS)
def test_closure_gives_its_loss(name: str) -> None:
    p = leaf(1, -2, 3)
    o = MAKERS[name]([p])
    calls: list[int] = []
    with torch.no_grad():  # gradients are enabled for the closure
        assert o.step(closure_of(o, p, calls)).item() == 14 and calls == [1]
    assert p.tolist() != [1, -2, 3]


@pytest.mark.parametrize("name", MAKERS)
def test_generators_of_the_user_are_left_alone(name: str) -> None:
    p = torch.ones(4, 3, requires_grad=True)
    p.grad = torch.ones(4, 3)
    np.random.seed(3)
    torch.manual_seed(3)
    before = torch.get_rng_state(), np.random.get_state()[1].copy()  # type: ignore[union-attr]
    o = MAKERS[name]([p])
    for _ in range(3):
        o.step()
    assert torch.equal(before[0], torch.get_rng_state()) and torch.initial_seed() == 3
    assert (before[1] == np.random.get_state()[1]).all()  # type: ignore[union-attr]


@pytest.mark.parametrize("name", MAKERS)
def test_frozen_parameters_missing_gradients_and_their_gradients_stay(name: str) -> None:
    a, b = torch.ones(3, 2, requires_grad=True), torch.ones(2, requires_grad=True)
    frozen = torch.ones(2, 2)
    o = MAKERS[name]([a, b, frozen])
    a.grad = torch.full((3, 2), 2.0)
    o.step()
    assert frozen.tolist() == [[1, 1], [1, 1]] and b.tolist() == [1, 1] and b.grad is None
    assert bool((a != 1).any())
    if name != "power":  # whose gradients hold what SGD saw
        assert bool((a.grad == 2).all())


@pytest.mark.parametrize("name", MAKERS)
def test_copies_and_state_dicts_go_on_alike(name: str) -> None:
    start = torch.arange(12.0).reshape(3, 4)
    p = start.clone().requires_grad_()
    o = MAKERS[name]([p])
    for i in range(3):
        p.grad = torch.sin(start + i)
        o.step()
    r = p.detach().clone().requires_grad_()
    other = MAKERS[name]([r])
    other.load_state_dict(copy.deepcopy(o.state_dict()))
    for i in range(3):
        p.grad, r.grad = torch.cos(start + i), torch.cos(start + i)
        o.step()
        other.step()
    assert torch.equal(p, r)


def test_decay_leaves_gradients_alone() -> None:
    """What weights lose by decay is no part of `.grad`."""
    for cls in (SignSGD, SparsifiedSGD, CentralizedSparsifiedSGD, CentralizedSGD, CentralizedAdam, DecentralizedSGD, PowerSGD):
        p = leaf(1, -2, 3)
        p.grad = torch.tensor([1.0, 2, 3])
        made: Any = cls([p], .1, weight_decay=.5)
        for _ in range(2):
            made.step()
        assert p.grad.tolist() == [1, 2, 3] and p.tolist() != [1, -2, 3], cls


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("name", MAKERS)
def test_nothing_leaves_the_gpu(name: str) -> None:
    """A4, P7: parameters, what is kept for them and what is calculated stay on their device."""
    p, q = (torch.ones(*s, device="cuda", requires_grad=True) for s in ((4, 3), (3,)))
    o = MAKERS[name]([p, q])
    for i in range(3):
        p.grad, q.grad = torch.full_like(p, i + 1.0), torch.full_like(q, -1.0)
        o.step()
    assert p.is_cuda and q.is_cuda and bool((p != 1).any()) and bool((q != 1).any())
    assert all(v.is_cuda or not v.dim() for t in (p, q) for v in o.state[t].values() if isinstance(v, Tensor))


def test_steps_after_zero_grad_to_none() -> None:
    for make in MAKERS.values():
        p = torch.ones(3, 2, requires_grad=True)
        o = make([p])
        p.grad = torch.ones(3, 2)
        o.zero_grad(set_to_none=True)
        o.step()
        assert p.grad is None


# ------------------------------------------------------------------ aggregation


def test_denominator_counts_for_one_process() -> None:
    """A5"""
    p = leaf(1)
    p.grad = torch.ones(1)
    Aggregated(torch.optim.SGD([p], lr=1.0), "custom").step(denom=4)
    assert p.tolist() == [.75]


def test_aggregation_refused() -> None:
    """A6, A7"""
    for args, text in ((("custom", False, False, False), "only be averaged over the world"),
                       (("both",), "unrecognized average"), (("world", False, False, True, -1.0), "Invalid clip")):
        with pytest.raises(ValueError, match=text):
            Aggregation(*args)  # type: ignore[arg-type]
    for denom in (None, 0, -1, math.nan, math.inf):
        with pytest.raises(ValueError, match="needs a denominator"):
            Aggregation("custom").divisor(denom)
    with pytest.raises(ValueError, match="for custom averages"):
        Aggregation().divisor(3)


def test_clip_counts_for_both_kinds() -> None:
    for agggrad in (True, False):
        p = leaf(0, 0)
        p.grad = torch.tensor([3.0, 4.0])
        Aggregated(torch.optim.SGD([p], lr=1.0), clip=1.0, agggrad=agggrad).step()
        assert torch.allclose(p, torch.tensor([-.6, -.8]), atol=1e-6)


# ------------------------------------------------------------------ sparsified


def test_construction_leaves_weights_alone() -> None:
    """S1"""
    p = leaf(1, 2, 3)
    CentralizedSparsifiedSGD([p], .1)
    assert p.tolist() == [1, 2, 3]


def test_every_coordinate_moves() -> None:
    """S2, S3: two rows, vectors, a tail, k above the size"""
    for shape, k in (((2, 4), 3), ((5,), 2), ((5,), 50), ((1, 1), 1), ((), 4)):
        p = torch.zeros(shape, dtype=torch.float64, requires_grad=True)
        o = SparsifiedSGD([p], .5, k=k)
        for i in range(60):
            p.grad = torch.ones_like(p)
            before = p.detach().clone()
            o.step()
            assert 1 <= int((p != before).sum()) <= min(k, p.numel())
            assert torch.allclose(-p + o.state[p]["memory"], torch.full_like(p, .5 * (i + 1)), atol=1e-12)
        assert bool((p != 0).all())


@pytest.mark.parametrize("random", [False, True])
def test_k_coordinates_leave_the_memory(random: bool) -> None:
    """Exactly k at each step: they are what is applied, and all others are still there."""
    p = torch.zeros(4, 3, dtype=torch.float64, requires_grad=True)
    o = SparsifiedSGD([p], 1.0, k=4, random=random)
    for t in range(6):
        before = p.detach().clone()
        p.grad = torch.full_like(p, 1.0 + t)
        o.step()
        gone = o.state[p]["memory"] == 0
        assert int(gone.sum()) == 4 and torch.equal(gone, p != before)


def test_rate_counts_and_decay_is_per_step() -> None:
    """S6"""
    p = leaf(2, 2)
    p.grad = torch.ones(2)
    SparsifiedSGD([p], .25, weight_decay=.5, k=2).step()
    assert p.tolist() == [.75, .75]


def test_estimates_are_weighted_means() -> None:
    p = leaf(0, 0, 0, 0, dtype=torch.float64)
    o = SparsifiedSGD([p], 1.0, k=2)
    assert o.estimates()[0].tolist() == [0, 0, 0, 0]
    seen = []
    for t in range(5):
        p.grad = torch.tensor([1.0, 2, 3, 4], dtype=torch.float64)
        o.step()
        seen.append(p.detach().clone())
        o.update_estimates(t)
    w = torch.tensor([(t + 2.0) ** 2 for t in range(5)], dtype=torch.float64)
    assert torch.allclose(o.estimates()[0], (torch.stack(seen) * w[:, None]).sum(0) / w.sum(), atol=1e-12)


# ------------------------------------------------------------------ powersgd


def test_orthonormal_columns() -> None:
    """P1, P2: dependent columns, very large and small ones, zeros"""
    m = torch.tensor([[1.0, 2, 1], [2, 4, 0], [3, 6, 0]])
    for found in (orthogonalize(m), orthogonalize(m * 1e25), orthogonalize(m * 1e-25), orthogonalize(m.half())):
        p = found.double()
        assert torch.allclose(p.T @ p, torch.eye(3, dtype=torch.float64), atol=2e-3)
        assert torch.allclose(p[:, 0], m[:, 0].double() / 14 ** .5, atol=1e-3)
    assert bool((orthogonalize(torch.zeros(3, 2)) == 0).all())


def test_one_process_is_plain_sgd_or_compresses() -> None:
    g = torch.randn(4, 3, generator=torch.Generator().manual_seed(1))
    p = torch.zeros(4, 3, requires_grad=True)
    p.grad = g.clone()
    PowerSGD([p], 1.0).step()
    assert torch.equal(p, -g)
    p = torch.zeros(4, 3, requires_grad=True)
    o = PowerSGD([p], 1.0, always=True)
    p.grad = g.clone()
    o.step()
    assert torch.linalg.matrix_rank(p.detach()) == 1
    assert torch.allclose(o.state[p]["memory"] - p, g, atol=1e-6)
    for _ in range(300):
        p.grad = g.clone()
        o.step()
    assert torch.allclose(p / -301, g, atol=.05)  # the mean of what is sent tends to the gradient


# ------------------------------------------------------------------ neighbours


def test_topologies() -> None:
    assert [neighbors_of("ring", r, 4) for r in range(4)] == [[1, 3], [0, 2], [1, 3], [0, 2]]
    assert [neighbors_of("line", r, 3) for r in range(3)] == [[1], [0, 2], [1]]
    assert [neighbors_of("star", r, 3) for r in range(3)] == [[1, 2], [0], [0]]
    assert [neighbors_of("full", r, 3) for r in range(3)] == [[1, 2], [0, 2], [0, 1]]
    assert [neighbors_of(g, 0, 1) for g in ("ring", "line", "star", "full")] == [[]] * 4
    assert neighbors_of("ring", 0, 2) == [1]


# ------------------------------------------------------------------ half precision


def halves(o_lr: float = 1.0, **options: Any) -> tuple[Any, FP16]:
    p = torch.ones(2, dtype=torch.float16, requires_grad=True)
    return p, FP16([p], lambda g: torch.optim.SGD(g, lr=o_lr), **options)


def test_loss_is_not_changed() -> None:
    """F2"""
    p, o = halves(init=32)
    loss = (p * p).sum()
    o.backward(loss)
    assert loss.item() == 2 and p.grad.tolist() == [64, 64]


def test_unused_and_frozen_parameters() -> None:
    """F3"""
    a, b, c = (torch.ones(2, dtype=torch.float16, requires_grad=True) for _ in range(3))
    c.requires_grad_(False)
    o = FP16([a, b, c], lambda g: torch.optim.SGD(g, lr=.5), init=1)
    o.backward(a.sum())
    assert o.step() is True
    assert (a.tolist(), b.tolist(), c.tolist()) == ([.5, .5], [1, 1], [1, 1])


def test_scale_bounds() -> None:
    """F4, F5"""
    assert LossScale(64, most=16).scale == 16
    p, o = halves(init=1, least=.25)
    p.grad = torch.full((2,), torch.inf).half()
    assert o.step() is False and o.scaler.scale == .5
    with pytest.raises(RuntimeError, match="Minimum loss scale"):
        o.step()
    assert p.tolist() == [1, 1]
    for bad in ({"init": 0}, {"factor": 1}, {"window": 0}, {"most": -1}, {"least": -1}, {"clip": 0}):
        with pytest.raises(ValueError, match="Invalid"):
            halves(**bad)


def test_multiplier_and_denominator() -> None:
    """F1"""
    p, o = halves(init=2, average="custom")
    p.grad = torch.tensor([8.0, 16.0]).half()
    assert o.step(multiplier=2, denom=4) is True
    assert p.tolist() == [.5, 0]
    with pytest.raises(ValueError, match="needs a denominator"):
        o.step()
    with pytest.raises(ValueError, match="Invalid multiplier"):
        o.step(multiplier=0)


def test_master_weights_do_not_depend_on_the_scale() -> None:
    def run(scale: float) -> Tensor:
        p, o = halves(.1, init=scale)
        for t in range(5):
            o.zero_grad()
            o.backward((p * torch.tensor([.5, -.25 * t]).half()).sum())
            assert o.step() is True
        return o.flat_master()

    assert torch.equal(run(1), run(64)) and torch.equal(run(1), run(1024))


def test_horovod_is_no_option() -> None:
    with pytest.raises(QError, match="horovod"):
        q("fp16(tensor(1 2e;`half`grad);`sgd;`horovod,1b)")


def test_copies_both_ways() -> None:
    p, o = halves()
    with torch.no_grad():
        p.copy_(torch.tensor([3.0, 4.0]))
    o.model_to_master()
    assert o.flat_master().tolist() == [3, 4]
    with torch.no_grad():
        o.masters[0].copy_(torch.tensor([5.0, 6.0]))
    o.master_to_model()
    assert p.tolist() == [5, 6]


def test_half_state_goes_on() -> None:
    def make() -> tuple[Any, FP16]:
        p = torch.ones(3, dtype=torch.float16, requires_grad=True)
        return p, FP16([p], lambda g: torch.optim.Adam(g, lr=.01), init=8, window=2)

    p, o = make()
    for t in range(3):
        p.grad = torch.tensor([1.0, t, -2]).half()
        o.step()
    r, other = make()
    with torch.no_grad():
        r.copy_(p)
    other.load_state_dict(copy.deepcopy(o.state_dict()))
    for t in range(3):
        for x, y in ((p, o), (r, other)):
            x.grad = torch.tensor([t, torch.inf if t == 1 else 1, 3]).half()
            y.step()
    assert torch.equal(o.flat_master(), other.flat_master()) and torch.equal(p, r)
    assert (o.scaler.scale, o.scaler.iter, o.scaler.last) == (other.scaler.scale, other.scaler.iter, other.scaler.last)


# ------------------------------------------------------------------ the same through q


@pytest.mark.parametrize("name", MADE)
def test_what_every_optimizer_answers(name: str) -> None:
    half = "to(m;`half)" if name.startswith("fp16") else "::"
    s = q(f"seed 4;{NET};{half};o:{MADE[name]}")
    assert [k.s for k in s.run("3#key opt o").items] == ["optimizer", "options", "parms"]
    s.run("lr(o;.5);opt(o;1;();.25)")
    assert s.run("lr o").a.tolist() == [.5, .25]
    assert s.run("count opt[o]`parms") == s.run("size o") == 4
    assert s.run("`lr in key help objtype o") is True
    assert s.run("class o").s == "optimizer"
    wraps = [k.s for k in s.run("key opt[o]`wrap").items] if name[:3] in ("agg", "fp1") else []
    assert wraps == ({"agg": ["agg"]}.get(name, ["fp16"]) if wraps else [])


@pytest.mark.sampled(2)
def test_restored_in_another_process(tmp_path: Path) -> None:
    """Five steps, the state to files, five more: here, and in a process that reads the files."""
    lines = []
    for name in MADE:
        half = "1b" if name.startswith("fp16") else "0b"
        s = q(f"seed 4;h:{half};{NET};if[h;to(m;`half)];o:{MADE[name]}", DATA, STEP)
        if half == "1b":
            s.run("X:tensor(X;`half);Y:tensor(Y;`half)")
        else:
            s.run("X:tensor X;Y:tensor Y")
        s.run(f'go til 5;p:{{hsym`$"{tmp_path}/{name}-",x}}')
        s.run('p["m"]set state m;p["o"]set state o;p["w"]set r:go 5+til 5;p["s"]set -8!(state o)`options`extra')
        assert s.run("1<count distinct r") is True
        lines += [f'p:{{hsym`$"{tmp_path}/{name}-",x}};h:{half};{DATA}', STEP,
                  "X:tensor$[h;(X;`half);X];Y:tensor$[h;(Y;`half);Y]",
                  'm:module get p"m";if[h;to(m;`half)];o:opt(get p"o";m);r:go 5+til 5',
                  f'-1"{name} ",raze string((-8!r)~-8!get p"w";(get p"s")~-8!(state o)`options`extra)']
    file = tmp_path / "go.q"
    file.write_text(";\n".join(lines) + ";\n")
    done = warm.run([sys.executable, "-m", "kshell", "-q", str(file)], capture_output=True, text=True, timeout=170)
    assert done.stdout.split("\n")[:-1] == [f"{n} 11" for n in MADE], done.stderr


def test_a_step_with_a_function() -> None:
    s = q("t:tensor(1 2e;`grad);o:opt(`sgd;t;.5);agg(o;`world)", "f:{nograd t;backward v:Sum mul(t;t);v}")
    assert s.run("step(o;f)").v == 5
    assert s.run("tensor t").a.tolist() == [0, 0]


def test_timings_and_traffic() -> None:
    s = q("t:tensor(1 2e;`grad);o:opt(`sgd;t;.5)", "timings(o;1b)", "do[3;nograd o;backward(o;Sum mul(t;t));step o]")
    backward, communication, update = s.run("value timings o").a.tolist()
    assert backward > 0 and communication == 0 and update > 0
    s.run("timings(o;0b)")
    with pytest.raises(QError, match="not asked for"):
        s.run("timings o")
    assert [k.s for k in s.run("key traffic[]").items] == ["calls", "bytes", "seconds"]


def test_a_model_runs_with_each() -> None:
    for name in ("signsgd", "sparsifiedsgd", "centralizedadam", "powersgd", "agg"):
        s = q(f"seed 4;{NET};w:dict parms m;o:{MADE[name]};mm:model(addref m;loss`mse;o)",
              "train(mm;`batchsize;4);train(mm;12 5#\"e\"$sin til 60;12 3#\"e\"$cos til 36)")
        assert s.run("0<run mm") is True
        assert s.run("w~dict parms m") is False
