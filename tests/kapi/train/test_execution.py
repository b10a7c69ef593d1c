"""Options of runs, averages, autocast, checkpointing and compilation against the same things in plain PyTorch."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

import kshell
from kshell.errors import QError
from kshell.session import Session

DATA = ("seed 5;x:tensor(`randn;50 4);y:tensor(`randint;3;50);"
        "q:module seq(`sequential;(`linear;4;6);`relu;(`linear;6;3))")


@pytest.fixture
def s() -> Session:
    made = Session(out=io.StringIO(), err=io.StringIO())
    made.run(DATA)
    return made


def copy_of(s: Session) -> nn.Sequential:
    made = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3))
    made.load_state_dict(dict(zip(made.state_dict(), s["q"].obj.state_dict().values(), strict=True)))
    return made


def same(a: Any, b: Any) -> bool:
    return all(torch.equal(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))


def model(s: Session, options: str, optimizer: str = "(`adam;q;.01)") -> Any:
    s.run(f"m:model(addref q;loss`ce;opt{optimizer});train(m;`batchsize`metrics;(8;`batchloss));train(m;{options});"
          "train(m;x;y)")
    return s["m"].obj


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("every", [1, 3, 100])
def test_accumulate(s: Session, every: int, clip: bool) -> None:
    """A step every so many batches, by the gradient of the mean of their losses; the last ones may be fewer."""
    net = copy_of(s)
    model(s, f"`accumulate`clipnorm;({every};{'.5' if clip else '()'})")
    found = np.concatenate([np.asarray(s.run("run m").a) for _ in range(2)])
    x, y = s["x"].obj, s["y"].obj
    o = torch.optim.Adam(net.parameters(), lr=.01, fused=True)
    losses = []
    for _ in range(2):
        batches = list(range(0, 50, 8))
        for k in range(0, len(batches), every):
            group = batches[k:k + every]
            o.zero_grad()
            for i in group:
                loss = cross_entropy(net(x[i:i + 8]), y[i:i + 8])
                (loss / len(group) if len(group) > 1 else loss).backward()
                losses.append(loss.item())
            if clip:
                nn.utils.clip_grad_norm_(net.parameters(), .5)
            o.step()
    assert same(net, s["q"].obj)
    assert found.tolist() == losses


def test_accumulated_is_one_batch(s: Session) -> None:
    """Equal batches accumulated step as one large batch does."""
    net = copy_of(s)
    s.run("x:tensor(`randn;48 4);y:tensor(`randint;3;48)")
    model(s, "`accumulate;6", "(`sgd;q;.1)")
    s.run("run m")
    loss = cross_entropy(net(s["x"].obj), s["y"].obj)
    loss.backward()
    torch.optim.SGD(net.parameters(), lr=.1).step()
    assert all(torch.allclose(p, q, atol=1e-6) for p, q in zip(net.parameters(), s["q"].obj.parameters(), strict=True))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(s: Session, dtype: Any) -> None:
    net = copy_of(s)
    name = "bfloat16" if dtype is torch.bfloat16 else "half"
    model(s, f"`autocast;`{name}")
    found = np.asarray(s.run("run m").a)
    x, y = s["x"].obj, s["y"].obj
    o = torch.optim.Adam(net.parameters(), lr=.01, fused=True)
    losses = []
    for i in range(0, 50, 8):
        o.zero_grad()
        with torch.autocast("cpu", dtype=dtype):
            loss = cross_entropy(net(x[i:i + 8]), y[i:i + 8])
        loss.backward()
        o.step()
        losses.append(loss.item())
    assert same(net, s["q"].obj)
    assert found.tolist() == losses
    s.run(f"test(m;`autocast`metrics`tensor;(`{name};`output;1b))")
    with torch.no_grad(), torch.autocast("cpu", dtype=dtype):
        assert torch.equal(s.run("testrun(m;x;y)").obj, net(x))


def test_gradscale(s: Session) -> None:
    """A power of two scales exactly, so nothing but the scale tells a run with it from one without."""
    net = copy_of(s)
    model(s, "`clipnorm;.5")
    s.run("do[3;run m];p:dict parms q")
    with torch.no_grad():
        for p, q in zip(s["q"].obj.parameters(), net.parameters(), strict=True):
            p.copy_(q)
    model(s, "`clipnorm`gradscale;(.5;4096)")
    s.run("do[3;run m]")
    assert s.run("p~dict parms q") is True
    assert s.run("train(m;`gradscale)").a.tolist() == [4096.0, 21.0]


def test_gradscale_grows_and_shrinks(s: Session) -> None:
    model(s, "`gradscale;4096 1995")
    s.run("run m")
    assert s.run("train(m;`gradscale)").a.tolist() == [8192.0, 2.0]
    s.run("train(m;`gradscale;1e38);train(m;`batchsize;50);p:dict parms q;x:1000*x;run(m;x;y)")
    assert s.run("train(m;`gradscale)").a.tolist() == pytest.approx([5e37, 0.0])
    assert s.run("p~dict parms q") is True


def test_gradscale_as_torch_does(s: Session) -> None:
    net = copy_of(s)
    model(s, "`gradscale`autocast;(65536;`half)", "(`rmsprop;q;.01)")
    s.run("do[2;run m]")
    x, y = s["x"].obj, s["y"].obj
    o, scaler = torch.optim.RMSprop(net.parameters(), lr=.01), torch.amp.GradScaler("cpu", init_scale=65536)
    for i in [*range(0, 50, 8)] * 2:
        o.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = cross_entropy(net(x[i:i + 8]), y[i:i + 8])
        scaler.scale(loss).backward()
        scaler.step(o)
        scaler.update()
    assert same(net, s["q"].obj)
    assert s.run("train(m;`gradscale)").a[0] == scaler.get_scale()


def test_exponential_means(s: Session) -> None:
    net = copy_of(s)
    means = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(.9))
    means.update_parameters(net)
    s.run("p:copyparms q")
    for k in range(5):
        with torch.no_grad():
            for a, b in zip(net.parameters(), s["q"].obj.parameters(), strict=True):
                a.add_(torch.full_like(a, k + 1.5))
                b.copy_(a)
        means.update_parameters(net)
        assert s.run("emaparms(q;p;.9)") == k + 2
    held = s["p"].obj
    for name, p in zip((n for n, _ in s["q"].obj.named_parameters()), means.module.parameters(), strict=True):
        assert torch.equal(held[name], p)


def saved_bytes(m: Any, x: Any) -> int:
    """How many bytes a forward calculation keeps for backward."""
    kept: dict[int, int] = {}

    def pack(t: Any) -> Any:
        kept[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        m(x)
    return sum(kept.values())


def test_checkpoint_saves_memory_and_changes_nothing(s: Session) -> None:
    s.run("q:module seq(`sequential;(`linear;4;256);(`drop;.5);`tanh;(`linear;256;256);`tanh;(`linear;256;3))")
    m, x = s["q"].obj, s["x"].obj
    whole = saved_bytes(m, x)
    s.run("seed 1;backward l:ce(forward(q;x);y);g:exec grad from parmtable q;nograd q")
    s.run("checkpoint(q;1b)")
    assert saved_bytes(m, x) < whole / 4
    s.run("seed 1;backward k:ce(forward(q;x);y)")
    assert s.run("g~exec grad from parmtable q") is True
    assert s.run("(tensor l)~tensor k") is True
    s.run("m:model(addref q;loss`ce;opt(`sgd;q;.1));seed 2;r:run(m;x;y);p:dict parms q")
    s.run("checkpoint(q;0b)")
    assert s.run("-9h=type r") is True


def test_compiled(s: Session) -> None:
    before = s.run("y0:evaluate(q;x)")
    s.run("compile(q;`aot_eager)")
    assert s.run("1e-6>max abs raze y0-evaluate(q;x)") is True
    assert s["q"].obj._compiled_call_impl is not None
    model(s, "`metrics;`loss")
    assert isinstance(s.run("run m"), float)
    s.run("compile(q;0b)")
    assert s["q"].obj._compiled_call_impl is None and before is not None


@pytest.mark.slow
def test_compiled_by_inductor(s: Session) -> None:
    s.run("y0:evaluate(q;x);compile q")
    assert s.run("1e-5>max abs raze y0-evaluate(q;x)") is True


def test_no_compiler(s: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(QError, match="compile: no C\\+\\+ compiler found"):
        s.run("compile q")
    assert s["q"].obj._compiled_call_impl is None


def test_threads_that_train_one_model_take_turns() -> None:
    """Each update is made whole: gradients of two threads on the same parameters would crash the process."""
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run("\\s 4")
    s.run("q:module enlist(`linear;8;2);o:opt(`adam;q);m:model(q;loss`ce;o);train(m;`batchsize;1)")
    s.run("train(m;tensor(`randn;150 8);tensor(`randint;2;150));losses:{run m}peach til 4")
    assert s.show(s.run("(count losses;all 0<raze losses)")) == "4\n1b"
    optimizer, module = s.run("o").obj.torch, s.run("q").obj
    assert {int(optimizer.state[parameter]["step"]) for parameter in module.parameters()} == {600}


def test_what_had_no_part_in_a_batch_is_left_alone() -> None:
    """As in PyTorch, gradients of the batch before are dropped, not zeroed: an optimizer with momentum would go on moving
    the parameters that the next batch does not use."""
    class Chosen(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.once = nn.Linear(4, 3), nn.Linear(4, 3)
            self.calls = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return self.used(x) + self.once(x) if self.calls == 1 else self.used(x)

    module = Chosen()
    s = kshell.Session()
    s.c = module
    s("o:opt(`adam;c;.1);n:model(c;loss`ce;o);train(n;`batchsize;8);train(n;tensor(`randn;32 4);tensor(`randint;3;32));")
    s("run n")
    state = s("o").state
    assert [int(state[p]["step"]) for p in (module.used.weight, module.once.weight)] == [4, 1]
