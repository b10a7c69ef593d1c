"""Scaling rules: estimates, factors, restored rates, micro-batches, processes, state, and what the original gets wrong."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from kshell.families.adaptdl.rules import (
    AdamScale,
    AdaScale,
    GradientNoiseScale,
    LEGWScale,
    LinearScale,
    ScalingRule,
    SqrtScale,
)
from kshell.session import Session
from tests.support import warm
from tests.support.runner import console

RULES = (AdaScale, AdamScale, LinearScale, SqrtScale)


def sgd(*sizes: int, lr: float = 0.1) -> tuple[list[Tensor], torch.optim.Optimizer]:
    """Zeros of some sizes, a parameter group each."""
    params = [nn.Parameter(torch.zeros(n)) for n in sizes]
    return params, torch.optim.SGD([{"params": [p]} for p in params], lr=lr)


def push(params: list[Tensor], *grads: Any) -> None:
    """A backward pass that brings these gradients."""
    sum((p * torch.tensor(g)).sum() for p, g in zip(params, grads, strict=True)).backward()


# ------------------------------------------------------------------ the classes, without q


def test_estimates_of_two_micro_batches() -> None:
    params, o = sgd(2)
    r = AdaScale(o)
    push(params, [1.0, 2.0])
    push(params, [3.0, 2.0])
    assert r.noise.accum_count == 2 and r.noise.scale == 2
    r.step()
    # mean square 9, square of the mean 8
    assert r.noise.sqr == [pytest.approx(7)] and r.noise.var == [pytest.approx(2)]
    assert torch.allclose(params[0], torch.tensor([-0.2, -0.2]) * 9 / 8)
    assert r.progress == pytest.approx(9 / 8) == r.noise.gain(2)


def test_factor_is_one_at_scale_one_and_between_one_and_the_scale() -> None:
    torch.manual_seed(0)
    params, o = sgd(4, 3)
    r = AdaScale(o)
    for _ in range(8):
        for _ in range(3):
            push(params, *(torch.randn(len(p)).tolist() for p in params))
        before = r.progress
        r.step()
        assert 1 <= r.progress - before <= 3 and r.last is not None
        assert r.progress - before == pytest.approx(r.last[2])
        r.zero_grad()
        assert r.factors(1) == [1.0, 1.0]
        for scale in (1, 2, 7, 1000):
            for f in (*r.factors(scale), r.noise.gain(scale)):
                assert 1 - 1e-12 <= f <= scale * (1 + 1e-12)


@pytest.mark.parametrize("cls", RULES)
def test_rates_are_restored_after_a_step_and_after_an_error(cls: type[ScalingRule]) -> None:
    params, o = sgd(2, 2)
    held = torch.tensor(0.5)
    o.param_groups[1]["lr"] = held
    r = cls(o, accum_scale=4.0)
    push(params, [1.0, 1.0], [1.0, 1.0])
    r.step()
    assert o.param_groups[0]["lr"] == 0.1 and o.param_groups[1]["lr"] is held and held.item() == 0.5
    r.zero_grad()
    push(params, [1.0, 1.0], [1.0, 1.0])
    o.step = lambda *a: 1 / 0  # type: ignore[method-assign]
    progress = r.progress
    with pytest.raises(ZeroDivisionError):
        r.step()
    assert o.param_groups[0]["lr"] == 0.1 and r.progress == progress and r.noise.accum_count == 0


def test_the_local_random_state_is_left_alone() -> None:
    before = torch.get_rng_state()
    params, o = sgd(3)
    r = AdaScale(o)
    push(params, [1.0, 2.0, 3.0])
    r.step()
    assert torch.equal(before, torch.get_rng_state())


def test_zero_grad_to_none_and_to_zero() -> None:
    for none in (True, False):
        params, o = sgd(2)
        r = AdaScale(o)
        push(params, [1.0, 1.0])
        r.zero_grad(set_to_none=none)
        assert r.noise.accum_count == 0
        assert (params[0].grad is None) == none


def test_without_a_gradient_there_is_no_step() -> None:
    params, o = sgd(2)
    r = AdaScale(o)
    with pytest.raises(ValueError, match="no gradient"):
        r.step()
    push(params, [1.0, 1.0])
    r.zero_grad()  # between backward and step
    with pytest.raises(ValueError, match="no gradient"):
        r.step()
    assert r.progress == 0 and o.param_groups[0]["lr"] == 0.1


def test_a_frozen_parameter() -> None:
    m = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 1))
    m[0].weight.requires_grad_(False)
    frozen = m[0].weight.detach().clone()
    r = AdaScale(torch.optim.SGD(m.parameters(), lr=0.1))
    for _ in range(2):
        m(torch.ones(3, 2)).sum().backward()
        r.step()
        r.zero_grad()
    assert torch.equal(m[0].weight, frozen) and r.noise.biased


def test_a_parameter_without_a_gradient() -> None:
    params, o = sgd(2, 2)
    r = AdaScale(o)
    for g in ([1.0, 0.0], [0.0, 1.0]):
        (params[0] * torch.tensor(g)).sum().backward()
        r.step()
        r.zero_grad()
    assert params[1].grad is None and r.noise.sqr[1] == 0


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_gradient_that_is_not_finite_is_no_step(bad: float) -> None:
    params, o = sgd(2)
    r = AdaScale(o)
    push(params, [1.0, 2.0])
    push(params, [3.0, 2.0])
    r.step()
    r.zero_grad()
    before = r.state_dict(), params[0].detach().clone()
    push(params, [1.0, bad])
    push(params, [1.0, 1.0])
    r.step()
    assert r.state_dict() == before[0] and torch.equal(params[0], before[1])
    assert o.param_groups[0]["lr"] == 0.1 and r.noise.accum_count == 0


def test_from_single_gradients_to_many_forgets_and_back_keeps() -> None:
    params, o = sgd(1)
    r = AdaScale(o)

    def step(*grads: float) -> tuple[float, float]:
        for g in grads:
            push(params, [g])
        r.step()
        r.zero_grad()
        return r.noise.sqr[0], r.noise.var[0]

    assert step(1.0) == (1, 0)  # nothing to compare with yet
    assert step(3.0) == (pytest.approx(3), pytest.approx(2))  # of (1, 3): mean square 5, square of the mean 4
    assert step(2.0, 4.0) == (pytest.approx(8), pytest.approx(2))  # only of these
    assert step(5.0) == (pytest.approx(8), pytest.approx(2))  # the first one again
    a = step(5.0)[0]  # in one mean with the estimate of many
    assert 8 < a < 25


def test_another_accum_scale_drops_gradients_and_the_same_does_not() -> None:
    params, o = sgd(1)
    r = LinearScale(o, accum_scale=2.0)
    push(params, [1.0])
    r.noise.set_accum_scale(2.0)
    assert r.noise.accum_count == 1 and params[0].grad is not None
    r.noise.set_accum_scale(3.0)
    assert r.noise.accum_count == 0 and params[0].grad is None
    push(params, [1.0])
    r.step()
    assert params[0].item() == pytest.approx(-0.3)


def test_legw() -> None:
    params, o = sgd(1)
    r = LEGWScale(o, 1, 8, 4, accum_scale=4.0)  # a warm-up of 8 steps of the base batch
    push(params, [1.0])
    r.step()
    assert params[0].item() == 0 and r.progress == pytest.approx(1, abs=1e-4)  # the first step has rate 0
    assert r.factors(4)[0] == pytest.approx(2 / 8, abs=1e-4)
    r.progress = 100
    assert r.factors(4) == [2.0]
    assert LEGWScale(o, 0, 8, 4).factors(9) == [3.0]


@pytest.mark.parametrize("cls,args", [(AdaScale, {"accum_scale": 0}), (AdaScale, {"accum_scale": math.nan}),
                                      (AdaScale, {"loss_scale": -1.0}), (LEGWScale, (-1, 10, 10)),
                                      (LEGWScale, (1, 0, 10)), (LEGWScale, (1, 10, 0))])
def test_options_out_of_range(cls: Any, args: Any) -> None:
    with pytest.raises(ValueError):
        cls(sgd(1)[1], **args) if isinstance(args, dict) else cls(sgd(1)[1], *args)


def test_a_closure() -> None:
    params, o = sgd(1)
    r = LinearScale(o, accum_scale=2.0)

    def closure() -> Tensor:
        loss = (params[0] - 1).square().sum()
        loss.backward()
        return loss

    assert r.step(closure).item() == 1
    assert params[0].item() == pytest.approx(0.4)


def test_a_loss_scale() -> None:
    rows = []
    for k in (1.0, 1024.0):
        params, o = sgd(2)
        r = AdaScale(o, loss_scale=k)
        push(params, [k, 2 * k])
        push(params, [3 * k, 2 * k])
        r.step()
        rows.append((params[0].tolist(), r.state_dict()))
    assert rows[0] == rows[1]


def test_a_state_continues_bit_for_bit() -> None:
    torch.manual_seed(3)
    grads = [[torch.randn(3).tolist() for _ in range(1 + t % 2)] for t in range(12)]

    def go(r: AdaScale, params: list[Tensor], part: slice) -> None:
        for micro in grads[part]:
            for g in micro:
                push(params, g)
            r.step()
            r.zero_grad()

    params, o = sgd(3)
    whole = AdaScale(o)
    go(whole, params, slice(0, 12))
    first, o = sgd(3)
    r = AdaScale(o)
    go(r, first, slice(0, 7))
    state = r.state_dict()
    assert state["last"] is not None and state["biased"]
    second, o = sgd(3)
    with torch.no_grad():
        second[0].copy_(first[0])
    r = AdaScale(o, accum_scale=9.0)
    r.load_state_dict(state)
    go(r, second, slice(7, 12))
    assert torch.equal(params[0], second[0]) and whole.progress == r.progress
    for key in ("sqr", "var", "sums"):
        assert whole.state_dict()[key] == r.state_dict()[key]


def test_a_state_of_other_parameters_is_refused_and_changes_nothing() -> None:
    params, o = sgd(3)
    r = AdaScale(o)
    push(params, [1.0, 2.0, 3.0])
    r.step()
    for sizes in ((3, 1), (4,)):
        other = AdaScale(sgd(*sizes)[1])
        before = other.state_dict()
        with pytest.raises(ValueError):
            other.load_state_dict(r.state_dict())
        assert other.state_dict() == before


def test_a_dropped_estimator_notices_nothing() -> None:
    params, o = sgd(1)
    noise = GradientNoiseScale(o)
    hooks = noise._hooks
    noise.detach()
    push(params, [1.0])
    assert not hooks and noise.accum_count == 0
    import gc
    import weakref

    ref = weakref.ref(GradientNoiseScale(o))
    gc.collect()
    assert ref() is None
    push(params, [1.0])


def test_a_gradient_of_a_double_model_and_of_a_sparse_one() -> None:
    p = nn.Parameter(torch.zeros(2, dtype=torch.float64))
    r = AdaScale(torch.optim.SGD([p], lr=0.1))
    (p * torch.tensor([1.0, 1e-9], dtype=torch.float64)).sum().backward()
    r.step()
    assert p.dtype == torch.float64 and p[1].item() == pytest.approx(-1e-10)
    m = nn.Embedding(4, 2, sparse=True)
    s = AdaScale(torch.optim.SGD(m.parameters(), lr=0.1))
    for _ in range(2):
        m(torch.tensor([0, 2, 2])).sum().backward()
    s.step()
    assert all(map(math.isfinite, s.noise.sqr))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("groups,accum,noise", [(1, 1, 0.0), (2, 1, 0.0), (2, 2, 0.05)])
def test_rosenbrock(groups: int, accum: int, noise: float) -> None:
    """AdaScale goes down the valley, with one and two groups, micro-batches, noise."""
    torch.manual_seed(1)
    xy = [nn.Parameter(torch.tensor(0.2, dtype=torch.float64)) for _ in range(2)]
    o = torch.optim.SGD([{"params": [p]} for p in xy] if groups == 2 else [{"params": xy}], lr=0.001)
    r = AdaScale(o)
    for _ in range(6000):
        for _ in range(accum):
            x, y = xy
            loss = (1 - x) ** 2 + 100 * (y - x * x) ** 2 + noise * (x * torch.randn(()) + y * torch.randn(()))
            loss.backward()
        r.step()
        r.zero_grad()
    assert abs(xy[0].item() - 1) < 0.12 and abs(xy[1].item() - 1) < 0.24


# ------------------------------------------------------------------ in q


def session_of(*lines: str) -> Session:
    session = Session()
    for line in lines:
        assert console(session, line) == "", line
    return session


MAKE = ("t:tensor(2#0e;`grad)", "o:opt(`sgd;t;1.)")


def test_a_step_of_the_optimizer_is_a_step_under_the_rule() -> None:
    for step in ("step s", "step o"):
        s = session_of(*MAKE, "s:scale(o;`linear)", "backward Sum mul(t;1 2e)", "backward(s;Sum mul(t;3 2e))", step)
        assert console(s, "tensor t") == "-4 -4e\n"
        assert console(s, "gns[s]`progress") == "1.125\n"
        assert console(s, "lr o") == ",1f\n"


def test_a_skipped_step_says_so() -> None:
    s = session_of(*MAKE, "s:scale(o;`adascale)", "backward Sum mul(t;1 0n)")
    assert console(s, "step s") == "0b\n"
    assert console(s, "(tensor t;gns[s]`progress`sqr`var)") == "0 0e\n(0f;,1f;,0f)\n"
    assert console(s, "zerograd s;backward Sum mul(t;1 2e);step s") == ""


def test_the_scale_of_a_skipped_step_is_told() -> None:
    s = session_of(*MAKE, "s:scale(o;`linear)", "backward Sum mul(t;1 2e);step s;zerograd s",
                   "backward Sum mul(t;1 0n);backward Sum mul(t;1 2e);backward Sum mul(t;1 2e)")
    assert console(s, "step s") == "0b\n"
    assert console(s, "zerograd s;gns[s]`scale`factor`progress") == "3f\n,3f\n1f\n"


def test_no_gradient_and_gradients_dropped() -> None:
    s = session_of(*MAKE, "s:scale(o;`adascale)")
    assert console(s, "step s").startswith("'step: no gradient (given ")
    assert console(s, "backward Sum t;zerograd s;step s").startswith("'step: no gradient (given ")
    assert console(s, "backward Sum t;nograd s;step o").startswith("'step: no gradient (given ")
    assert console(s, "tensor t") == "0 0e\n"


def test_taking_it_away_and_another_one() -> None:
    s = session_of(*MAKE, "s:scale(o;`linear;`accum,4.)", "scale(o;::)", "backward Sum t", "step o")
    assert console(s, "tensor t") == "-1 -1e\n"
    assert console(s, "step s").startswith("'step: the optimizer no longer uses this rule")
    assert console(s, "scale o").startswith("'scale: the optimizer has no rule")
    s = session_of(*MAKE, "s:scale(o;`linear;`accum,4.)", "r:scale(o;`sqrt;`accum,4.)", "backward Sum t", "step o")
    assert console(s, "tensor t") == "-2 -2e\n"
    assert console(s, "(objtype;class)@\\:scale o") == "`sqrt`rule\n"
    assert console(s, "same(1;2)") != ""


def test_options_of_batches() -> None:
    s = session_of(*MAKE)
    assert console(s, "gns[scale(o;`linear;`base`local!32 64)]`scale") == "2f\n"
    assert console(s, "gns[scale(o;`linear;2)]`scale") == "2f\n"
    assert console(s, "(options scale(o;`legw;5;1000;`base,32))`batch") == "32\n"
    assert console(s, "s:scale(o;`linear);scale(s;`accum,3.);(scale[s][`options]`accum;gns[s]`scale)") == "3 3f\n"


@pytest.mark.parametrize("text,error", [
    ("scale(o;`foo)", "scale: unrecognized rule: foo"), ("scale(o;`linear;`foo,1)", "scale: unrecognized rule setting: foo"),
    ("scale(o;`linear;`epochs,1)", "linear option: epochs not recognized"),
    ("scale(o;`legw)", "legw: epochs not defined"), ("scale(o;`legw;1;10)", "legw: batch not defined"),
    ("scale(o;`linear;-1.)", "linear: accum is -1.0, expecting a positive number"),
    ("scale(o;`linear;`lossscale,0.)", "linear: lossscale is 0.0, expecting a positive number"),
    ("scale(o;`linear;`accum`base`local!(1.;2;3))", "linear: give either accum or local, not both"),
    ("scale(o;`linear;`local,3)", "linear: local requires base"),
    ("scale(o;`linear;`base,0)", "linear base: 0 is below 1"), ("scale o", "scale: the optimizer has no rule"),
    ("scale 1", "scale: expecting optimizer or model, and the name of a rule"),
    ("gns o", "gns: expecting a rule, and optional scales"),
    ("gns(scale(o;`linear);0 1.)", "gns: expecting a rule and scales above 0"),
    ("scale(scale(o;`linear);`base,1)", "scale: base cannot be changed, only accum and lossscale"),
    ("scale(scale(o;`linear);`accum,0.)", "scale: accum is 0.0, expecting a positive number"),
    ("backward scale(o;`linear)", "backward: expecting a rule, a loss and optional mode"),
    ("scale(o;(enlist`rule)!enlist`linear)",
     "scale: unrecognized state, expecting the name of a rule and its options"),
    ("scale(o;@[state scale(o;`linear);`state;`progress`accum#])", "scale: the state has no sqr"),
    ("scale(opt(`sgd;());state scale(o;`linear))", ""),
    ("scale(fp16(tensor(1 2e;`half`grad);`sgd);`linear)", "scale: the steps of fp16 cannot be scaled"),
])
def test_what_is_refused(text: str, error: str) -> None:
    s = session_of(*MAKE)
    said = console(s, text)
    assert said.startswith((f"'{error}\n", f"'{error} (given ")) if error else not said.startswith("'"), said


def test_with_a_model_and_groups_made_later() -> None:
    s = session_of("m:module enlist(`linear;2;1)", "q:model(m;loss`mse;opt(`sgd;(m;`weight);.5))",
                   "s:scale(q;`linear;2)", "opt(opt q;1;(q;`bias))", "r:backward(q;1 2#1e;1 1#3e)", "step q")
    assert console(s, "count each gns[s]`sqr`factor") == "2 2\n"


def test_beside_other_wraps() -> None:
    """Whatever the order in which they were put on: gradients are looked at before they are clipped."""
    for lines in (("agg(o;`world;`clip,1.)", "s:scale(o;`linear)"), ("s:scale(o;`linear)", "agg(o;`world;`clip,1.)")):
        s = session_of(*MAKE, *lines, "backward Sum mul(t;3 4e)", "backward Sum mul(t;3 4e)", "step s")
        assert console(s, "first gns[s]`sqr") == "25f\n"
        assert console(s, "all .00001>abs 1.2 1.6+tensor t") == "1b\n"


SCRIPT = r"""
xs:tensor "e"$(0N 4#til 96)mod 5; ys:tensor "e"$24 2#(til 48)mod 7
go:{[n]do[n;zerograd s; {i:24?24; backward(s;mse(forward(m;xs i);ys i))}each til 1+first 1?2; step s]}
said:{-1 raze string raze{-8!x}each value dict parms m; -1 .Q.s1 gns s; -1 .Q.s1 lr o;}
"""


def run(folder: Path, *parts: str, n: int = 1) -> str:
    (folder / "s.q").write_text("\n".join(parts))
    more = ["-n", str(n)] if n > 1 else []
    done = warm.run([sys.executable, "-m", "kshell", *more, "-q", "s.q"], cwd=folder, capture_output=True,
                    text=True, timeout=120, stdin=subprocess.DEVNULL)
    return done.stdout + done.stderr


@pytest.mark.sampled(3)
def test_saved_restored_and_continued_is_bit_equal(tmp_path: Path) -> None:
    """Of every rule: five steps, a file, a new process, five more; restored by itself and with its optimizer."""
    whole, first, alone, along = [SCRIPT], [SCRIPT], [SCRIPT], [SCRIPT]
    for i, rule in enumerate(("adascale", "adamscale", "linear", "sqrt", "legw;1;40;8")):
        make = f"seed 5;m:module enlist(`linear;4;2);o:opt(`sgd;m;.01;.9);s:scale(o;`{rule};`accum,1.5)\nsystem\"S 1\""
        after = "system\"S 2\";go 5;said[]"
        whole += [make, "go 5", after]
        first += [make, "go 5", f"`:m{i} set state m;`:o{i} set state o;`:s{i} set state s;"]
        again = f"m:module get`:m{i};o:opt(get`:o{i};m)"
        along += [f"{again};s:scale o", after]
        alone += [f"{again};scale(o;::);s:scale(o;get`:s{i})", after]
    want = run(tmp_path, *whole)
    assert run(tmp_path, *first) == ""
    assert run(tmp_path, *along) == want == run(tmp_path, *alone)
    assert len(want.splitlines()) == 3 * 5


def test_processes_that_do_not_agree_get_the_same_error(tmp_path: Path) -> None:
    lines = ("t:tensor(2#0e;`grad);o:opt(`sgd;t;1.);s:scale(o;`linear)", "backward Sum t",
             "if[rank[]=1;backward Sum t]", "r:@[step;s;{x}];say r",
             "zerograd s;if[rank[]=0;backward Sum t];r:@[step;s;{x}];say r",
             "zerograd s;backward Sum mul(t;(1 2e;3 2e)rank[]);step s;say tensor t;say gns[s]`sqr",
             # with weights averaged afterwards, and with gradients averaged by agg and clipped
             "t:tensor(2#0e;`grad);o:opt(`sgd;t;1.);s:scale(o;`linear;`accum,1.);agg(o;`world;`agggrad,0b)",
             "backward Sum mul(t;(1 2e;3 2e)rank[]);step s;say(tensor t;gns[s]`sqr)",
             "t:tensor(2#0e;`grad);o:opt(`sgd;t;1.);s:scale(o;`linear;`accum,1.);agg(o;`world;`clip,1.)",
             "backward Sum mul(t;(1 2e;3 2e)rank[]);step s;say(all .0001>abs .70711+tensor t;gns[s]`sqr)")
    said = run(tmp_path, *lines, n=2)
    assert said.count("step: numbers of micro-batches differ between processes: 1 2") == 2, said
    assert said.count("step: no gradient on process 1") == 2, said
    assert said.count("-4 -4e") == 2 and said.count(",7f") == 6, said
    assert said.count("-2 -2e") == 2 and said.count("1b") == 2, said
