"""`run` and its parts against the same loops in plain PyTorch; fused steps; interrupts of runs."""

from __future__ import annotations

import io
import itertools
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from kshell.errors import QError
from kshell.nn.direct import forward_of
from kshell.optim import fused
from kshell.session import Session

DATA = "n:50;seed 5;x:tensor(`randn;n,4);y:tensor(`randint;3;n);q:module seq(`sequential;(`linear;4;6);`relu;(`linear;6;3))"


@pytest.fixture
def session() -> Session:
    made = Session(out=io.StringIO(), err=io.StringIO())
    made.run(DATA)
    return made


def copy_of(session: Session) -> nn.Sequential:
    made = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    for p, given in zip(made.parameters(), session["q"].obj.parameters(), strict=True):
        p.data = given.detach().clone()
    return made


def weights(m: Any) -> bytes:
    return b"".join(p.detach().numpy().tobytes() for p in m.parameters())


OPTIMIZERS = [
    ("(`sgd;q;.1)", torch.optim.SGD, {"lr": .1}), ("(`sgd;q;.1;.9)", torch.optim.SGD, {"lr": .1, "momentum": .9}),
    ("(`adam;q;.01;`amsgrad,1b)", torch.optim.Adam, {"lr": .01, "amsgrad": True}),
    ("(`adamw;q;.01)", torch.optim.AdamW, {"lr": .01}), ("(`adagrad;q;.1)", torch.optim.Adagrad, {"lr": .1}),
    ("(`rmsprop;q;.01)", torch.optim.RMSprop, {"lr": .01}),
]


@pytest.mark.parametrize(("given", "cls", "options"), OPTIMIZERS, ids=[o[0] for o in OPTIMIZERS])
@pytest.mark.parametrize("shuffle", [False, True])
def test_run_is_the_loop(session: Session, given: str, cls: Any, options: dict[str, Any], shuffle: bool) -> None:
    """Three epochs: bit-equal to PyTorch with the same kernels and batches, and close to its default kernels."""
    m = copy_of(session)
    plain = copy_of(session)
    x, y = session["x"].obj.clone(), session["y"].obj.clone()
    session.run(f"m:model(addref q;loss`ce;opt{given});train(m;`batchsize`shuffle`metrics;(8;{int(shuffle)}b;`batchloss))")
    session.run("train(m;x;y);seed 11")
    found = [np.asarray(session.run("run m").a) for _ in range(3)]
    for net, kernels in ((m, True), (plain, False)):
        more = {"fused": kernels} if cls is not torch.optim.RMSprop else {}
        o = cls(net.parameters(), **options, **more)
        torch.manual_seed(11)
        order = torch.arange(50)
        losses = []
        for _ in range(3):
            order = order[torch.randperm(50)] if shuffle else order
            for i in range(0, 50, 8):
                o.zero_grad()
                loss = nn.functional.cross_entropy(net(x[order[i:i + 8]]), y[order[i:i + 8]])
                loss.backward()
                o.step()
                losses.append(loss.item())
        if kernels:
            assert weights(net) == weights(session["q"].obj)
            assert np.concatenate(found).tolist() == losses
        else:
            for p, other in zip(net.parameters(), session["q"].obj.parameters(), strict=True):
                assert torch.allclose(p, other, rtol=1e-5, atol=1e-5)


def test_metrics(session: Session) -> None:
    session.run("m:model(addref q;loss`ce;opt(`sgd;q;.1));test(m;`batchsize`dictionary;(20;1b))")
    session.run("test(m;`metrics;`loss`batchloss`accuracy`matches`predict`output)")
    session.run("r:testrun(m;x;y)")
    m, x, y = session["q"].obj, session["x"].obj, session["y"].obj
    with torch.no_grad():
        out = m(x)
        losses = [nn.functional.cross_entropy(out[i:i + 20], y[i:i + 20]).item() for i in (0, 20, 40)]
    assert session.run("r`batchloss").a.tolist() == pytest.approx(losses)
    assert session.run("r`loss") == pytest.approx(np.mean(losses))
    guess = out.argmax(1)
    assert session.run("r`predict").a.tolist() == guess.tolist()
    good = int((guess == y).sum())
    assert session.run("r`matches").a.tolist() == [good, 50] and session.run("r`accuracy") == 2 * good
    assert np.allclose(np.stack([v.a for v in session.run("r`output").items]), out.numpy())


@pytest.mark.parametrize("form", ["lstm", "gru", "rnn"])
def test_the_hidden_state_goes_on(session: Session, form: str) -> None:
    """With the option `hidden` a batch begins with the state that the batch before ended with."""
    session.run(f"q:module enlist(`{form};4;4;1;`batchfirst,1b);x:tensor(`randn;6 5 4);y:tensor(`randn;6 5 4)")
    session.run("m:model(addref q;loss`mse;opt(`sgd;q;0.));test(m;`batchsize`hidden`metrics;(2;1b;`output`hidden))")
    session.run("r:testrun(m;x;y)")
    m, x = session["q"].obj, session["x"].obj
    m = m[0] if isinstance(m, nn.Sequential) else m
    state, outs = None, []
    with torch.no_grad():
        for i in (0, 2, 4):
            out, state = m(x[i:i + 2], state) if state is not None else m(x[i:i + 2])
            outs.append(out)
    session.run("o:tensor first r")
    assert torch.allclose(session["o"].obj, torch.cat(outs))
    session.run("train(m;`batchsize`hidden;2,1b);run(m;x;y)")


def test_tasks_share_an_order(session: Session) -> None:
    """Two tasks with one seed see every row once an epoch."""
    seen = []
    for task in range(2):
        session.run("m:model(module`identity;loss`mse;opt`sgd)")
        session.run(f"train(m;`batchsize`shuffle`shuffleseed`tasks`task;(3;1b;9;2;{task}))")
        session.run("train(m;til 14);r:();while[batch m;r,:return input m]")
        seen.append(session.run("r").a.tolist())
    assert sorted(seen[0] + seen[1]) == list(range(14)) and seen[0] != sorted(seen[0])


def test_lbfgs_steps_by_a_closure(session: Session) -> None:
    m, x, y = copy_of(session), session["x"].obj, session["y"].obj
    session.run("m:model(addref q;loss`ce;opt(`lbfgs;q;.5;`iter,6));train(m;`batchsize;50);r:run(m;x;y)")
    o = torch.optim.LBFGS(m.parameters(), .5, max_iter=6)

    def closure() -> Any:
        o.zero_grad()
        loss = nn.functional.cross_entropy(m(x), y)
        loss.backward()
        return loss

    first = o.step(closure)
    assert session.run("r") == pytest.approx(first.item())
    assert weights(m) == weights(session["q"].obj)


def test_a_run_that_fails_changes_no_mode(session: Session) -> None:
    session.run("m:model(addref q;loss`ce;opt(`sgd;q;.1));training(q;0b)")
    with pytest.raises(QError):
        session.run("run(m;x;tensor(50#99))")
    assert session.run("training q") is False and torch.is_grad_enabled()
    session.run("training(q;1b);run(m;x;y)")


def test_clipping_in_a_run(session: Session) -> None:
    m = copy_of(session)
    session.run("m:model(addref q;loss`ce;opt(`sgd;q;1.));train(m;`batchsize`clipnorm;(50;.1));run(m;x;y)")
    o = torch.optim.SGD(m.parameters(), 1., fused=True)
    nn.functional.cross_entropy(m(session["x"].obj), session["y"].obj).backward()
    nn.utils.clip_grad_norm_(m.parameters(), .1)
    o.step()
    assert weights(m) == weights(session["q"].obj)


# ------------------------------------------------------------------ fused steps

FUSED = [
    (torch.optim.SGD, {"lr": .1}), (torch.optim.SGD, {"lr": .1, "momentum": .9, "nesterov": True, "weight_decay": .1}),
    (torch.optim.SGD, {"lr": .1, "momentum": .9, "dampening": .3, "maximize": True}),
    (torch.optim.Adam, {"lr": .1, "amsgrad": True}), (torch.optim.Adam, {"weight_decay": .1}),
    (torch.optim.AdamW, {"lr": .01}), (torch.optim.Adagrad, {"lr": .1, "initial_accumulator_value": .3, "lr_decay": .1}),
]


@pytest.mark.parametrize(("case", "dtype"), list(itertools.product(range(len(FUSED)), [torch.float32, torch.float64])))
def test_fused_steps(case: int, dtype: Any) -> None:
    """Two groups, a step in which some parameters have no gradient: bit-equal to torch's own fused steps."""
    cls, options = FUSED[case]
    found = []
    for direct in (False, True):
        torch.manual_seed(1)
        m = nn.Sequential(nn.Linear(12, 6), nn.ReLU(), nn.Linear(6, 3)).to(dtype)
        o = cls([{"params": m[0].parameters()}, {"params": m[2].parameters(), "lr": .02}],
                **options, **({} if direct else {"fused": True}))
        for i in range(5):
            x = torch.randn(7, 12, dtype=dtype)
            (m[0](x) if i == 2 else m(x)).pow(2).sum().backward()
            if direct:
                assert fused.step(o)
            else:
                o.step()
            o.zero_grad()
        found.append([*m.parameters(), *(v for p in m.parameters() for v in o.state[p].values())])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_what_no_fused_kernel_takes() -> None:
    p = nn.Parameter(torch.ones(2, dtype=torch.bfloat16))
    p.grad = torch.ones_like(p)
    assert not fused.step(torch.optim.SGD([p]))
    q = nn.Parameter(torch.ones(2))
    q.grad = torch.ones(2)
    assert not fused.step(torch.optim.Rprop([q])) and not fused.step(torch.optim.SGD([q], fused=False))
    hooked = torch.optim.SGD([q])
    hooked.register_step_pre_hook(lambda *a: None)
    assert not fused.step(hooked) and q.tolist() == [1, 1]
    sparse = nn.Parameter(torch.ones(3, 2))
    sparse.grad = torch.ones(3, 2).to_sparse()
    assert not fused.step(torch.optim.SGD([sparse]))


def test_direct_calls_are_the_module() -> None:
    m = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Tanh(), nn.Dropout(.5)), nn.BatchNorm1d(4))
    x = torch.randn(5, 3)
    torch.manual_seed(1)
    a = m(x)
    torch.manual_seed(1)
    assert torch.equal(a, forward_of(m)(x))
    calls: list[int] = []
    m[1][0].register_forward_hook(lambda *_: calls.append(1))
    forward_of(m)(x)
    assert calls == [1]
