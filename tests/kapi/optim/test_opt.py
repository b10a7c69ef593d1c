"""Optimizers against torch itself: the same numbers, and restored ones go on bit for bit as if never saved."""

from __future__ import annotations

import contextlib
import gc
import io
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from kshell import registry
from kshell.errors import QError
from kshell.families.lamb.optimizer import Lamb
from kshell.kapi.base.handles import OptimizerHandle, table
from kshell.kapi.optim.host_wrappers import adopt
from kshell.kapi.optim.optimizer import optimizer
from kshell.registry import Option
from kshell.session import Session
from tests.support.versions import has


@pytest.fixture
def s() -> Session:
    return Session(out=io.StringIO())


# name: (options in q, torch's optimizer with the same)
SEVEN: dict[str, tuple[str, Any]] = {
    "adagrad": ("`lr`lrdecay`decay`init`eps!.05 .1 .01 .2 1e-8", lambda p: torch.optim.Adagrad(
        p, lr=.05, lr_decay=.1, weight_decay=.01, initial_accumulator_value=.2, eps=1e-8)),
    "adam": ("(`lr;.01;`beta1;.8;`decay;.1;`amsgrad;1b)", lambda p: torch.optim.Adam(
        p, lr=.01, betas=(.8, .999), weight_decay=.1, amsgrad=True)),
    "adamw": ("`lr`beta2`eps!.01 .99 1e-6", lambda p: torch.optim.AdamW(p, lr=.01, betas=(.9, .99), eps=1e-6)),
    "lamb": ("`lr`decay!.01 .1", lambda p: Lamb(p, lr=.01, weight_decay=.1)),
    "lbfgs": ("(`lr;.5;`iter;4;`search;`strong_wolfe)", lambda p: torch.optim.LBFGS(
        p, lr=.5, max_iter=4, max_eval=5, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
        line_search_fn="strong_wolfe")),
    "rmsprop": ("(`lr;.01;`momentum;.5;`centered;1b)", lambda p: torch.optim.RMSprop(
        p, lr=.01, momentum=.5, centered=True)),
    "sgd": ("(`lr;.05;`momentum;.9;`nesterov;1b;`decay;.01)", lambda p: torch.optim.SGD(
        p, lr=.05, momentum=.9, nesterov=True, weight_decay=.01)),
}


def make(s: Session, name: str, dtype: Any = torch.float32) -> tuple[Any, Any]:
    """A network and its optimizer, as the session's m and o; gives (module, Opt)."""
    torch.manual_seed(7)
    s.run("m:module seq(`sequential;(`linear;`a;5;4);`tanh;(`linear;`b;4;3))")
    m = s.run("m").obj.to(dtype)
    s.run(f"o:opt(`{name};m;{SEVEN[name][0]})")
    return m, s.run("o").obj


def advance(m: Any, o: Any, steps: int, first: int = 0) -> None:
    """Steps on data that depends on the number of the step; through a closure, as every torch optimizer allows."""
    dtype = next(m.parameters()).dtype
    for i in range(first, first + steps):
        g = torch.Generator().manual_seed(i)
        x, y = torch.randn(6, 5, generator=g).to(dtype), torch.randn(6, 3, generator=g).to(dtype)

        def closure(x: Any = x, y: Any = y) -> Any:
            for p in m.parameters():
                p.grad = None
            loss = (m(x) - y).square().mean()
            loss.backward()
            return loss

        o.step(closure)


def weights(m: Any) -> list[Any]:
    return [p.detach().clone() for p in m.parameters()]


@pytest.mark.parametrize("name", SEVEN)
def test_same_numbers_as_torch(s: Session, name: str) -> None:
    m, o = make(s, name)
    before = weights(m)
    advance(m, o, 5)
    got = weights(m)
    with torch.no_grad():
        for p, q in zip(m.parameters(), before, strict=True):
            p.copy_(q)
    advance(m, SEVEN[name][1](m.parameters()), 5)
    assert all(torch.equal(a, b) for a, b in zip(got, weights(m), strict=True))
    assert not torch.equal(before[0], got[0])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", SEVEN)
def test_restored_goes_on(s: Session, name: str, dtype: Any) -> None:
    m, o = make(s, name, dtype)
    advance(m, o, 3)
    s.run("t:state m; s:state o; n:module t; r:opt(s;n)")
    assert s.run("s~'state r").v.items == [True, True, False]
    assert s.run("s[`parms;`buffers]~(state[r]`parms)`buffers") is True
    assert s.run("(tensorcount o;elements o;bytes o)~(tensorcount r;elements r;bytes r)") is True
    n, r = s.run("n").obj, s.run("r").obj
    advance(m, o, 3, 3)
    advance(n, r, 3, 3)
    assert all(torch.equal(a, b) for a, b in zip(weights(m), weights(n), strict=True))
    assert s.run("state[o][`parms;`buffers]~(state[r]`parms)`buffers") is True


def test_state_through_a_file(s: Session, tmp_path: Any) -> None:
    m, o = make(s, "adamw")
    advance(m, o, 2)
    s.run(f'mf:hsym`$"{tmp_path}/m"; of:hsym`$"{tmp_path}/o"')
    s.run("mf set state m; of set s:state o; free[]; m:module get mf; o:opt(get of;m)")
    assert s.run("s~'state o").v.items == [True, True, False]
    n = s.run("m").obj
    o2 = s.run("o").obj
    advance(m, o, 2, 2)
    advance(n, o2, 2, 2)
    assert all(torch.equal(a, b) for a, b in zip(weights(m), weights(n), strict=True))


# ------------------------------------------------------------------ one entry for an optimizer


class Signed(torch.optim.Optimizer):
    """Steps by the sign of a running sum of gradients; counts steps in a Python int.

    q)1
    1
    """

    def __init__(self, params: Any, lr: float = .1, keep: float = .5, odd: bool = False) -> None:
        super().__init__(params, {"lr": lr, "keep": keep, "odd": odd})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:  # type: ignore[override]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state.update(step=0, total=torch.zeros_like(p), seen=[], scale=1.0)
                state["step"] += 1
                state["total"].mul_(group["keep"]).add_(p.grad)
                state["seen"].append(p.grad.abs().max())
                state["scale"] *= 1 - 1 / (10 + state["step"])
                p.sub_(state["total"].sign(), alpha=group["lr"] * state["scale"])
        return loss


@pytest.fixture(params=["options", "signature"])
def planted(request: Any) -> Iterator[str]:
    given = (Option("lr", "double", .1), Option("hold", "double", .5, "keep"), Option("odd", "boolean", False))
    optimizer("signed", *(given if request.param == "options" else ()))(Signed)
    yield "hold" if request.param == "options" else "keep"
    registry.remove("optimizer", "signed")


def test_one_entry_is_enough(s: Session, planted: str) -> None:
    m, _ = make(s, "sgd")
    s.run(f"o:opt(`signed;(m;`a);.2;`{planted},.9)")
    s.run("opt(o;1;(m;`b);.3)")
    o = s.run("o").obj
    assert s.run("lr o").a.tolist() == [.2, .3]
    assert s.run(f"opt[o][`options;`{planted}]").a.tolist() == [.9, .9]
    assert s.run("`signed in exec optimizer from help`optimizer") is True
    assert s.run(f"(cols help o)~`lr`{planted}`odd") is True
    assert s.run("(help`signed)~options`signed") is True
    advance(m, o, 3)
    s.run("t:state m; s:state o; n:module t; r:opt(s;n)")
    assert s.run("s~'state r").v.items == [True, True, False]
    assert s.run("cols s[`parms;`buffers]").items == s.run("`step`total`seen`scale").items
    advance(m, o, 3, 3)
    advance(s.run("n").obj, s.run("r").obj, 3, 3)
    assert all(torch.equal(a, b) for a, b in zip(weights(m), weights(s.run("n").obj), strict=True))
    state = next(iter(s.run("r").obj.torch.state.values()))
    assert state["step"] == 6 and isinstance(state["step"], int)


def test_adopted_from_python(s: Session) -> None:
    m, _ = make(s, "sgd")
    o = adopt(torch.optim.NAdam(m.parameters(), lr=.5), m)
    assert o.entry.name == "nadam"
    assert adopt(torch.optim.Adam(m.parameters())).entry.name == "adam"


# ------------------------------------------------------------------ LAMB


def lamb_by_hand(p: Any, grads: list[Any], norms: list[Any], **kw: Any) -> Any:
    """The update of section by section, in float64."""
    lr, b1, b2, eps, decay = kw["lr"], .9, .999, 1e-8, kw["decay"]
    p, m, v = p.double().clone(), 0.0, 0.0
    for t, (g, norm) in enumerate(zip(grads, norms, strict=True), 1):
        g = g.double() / norm
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g * g
        u = (m / (1 - b1 ** t)) / (v.sqrt() / (1 - b2 ** t) ** .5 + eps) if kw["unbiased"] else m / (v.sqrt() + eps)
        u = u + decay * p
        r = (p.norm() / u.norm()).item() if p.norm() > 0 and u.norm() > 0 else 1.0
        p = p - lr * (min(max(r, 0.0), kw["most"]) if kw["clip"] else r) * u
    return p


@pytest.mark.parametrize("unbiased", [True, False])
@pytest.mark.parametrize("clip", [True, False])
def test_lamb_update(unbiased: bool, clip: bool) -> None:
    torch.manual_seed(1)
    ps = [torch.randn(4, 3, dtype=torch.float64), torch.randn(2, dtype=torch.float64)]
    grads = [[torch.randn_like(p) for p in ps] for _ in range(4)]
    live = [p.clone().requires_grad_() for p in ps]
    o = Lamb([{"params": live[:1]}, {"params": live[1:], "globalnorm": False}], lr=.05, weight_decay=.1,
             unbiased=unbiased, trustclip=clip, trustmax=.7)
    for step in grads:
        for p, g in zip(live, step, strict=True):
            p.grad = g.clone()
        o.step()
        # the gradients are as they were
        assert all(p.grad is not None and torch.equal(p.grad, g) for p, g in zip(live, step, strict=True))
    total = [torch.cat([g.flatten() for g in step]).norm() for step in grads]
    for k, norms in ((0, total), (1, [1.0] * 4)):
        want = lamb_by_hand(ps[k], [step[k] for step in grads], norms, lr=.05, decay=.1, unbiased=unbiased, clip=clip,
                            most=.7)
        assert torch.allclose(live[k].detach(), want, rtol=1e-12, atol=1e-14)


def test_lamb_without_gradients() -> None:
    p = torch.ones(3, requires_grad=True)
    o = Lamb([p])
    o.step()
    p.grad = torch.zeros(3)
    o.step()
    assert torch.equal(p.detach(), torch.ones(3))
    p.grad = torch.ones(3).to_sparse()
    with pytest.raises(RuntimeError, match="lamb: sparse gradients not implemented"):
        o.step()


# ------------------------------------------------------------------ nothing changes after an error


@pytest.mark.parametrize("line", [
    "opt(o;1;n;-1.)", "opt(o;0;n;.1;-2.)", "opt(o;0;(n;n2:1);.1)", "opt(o;0;n;`foo,1.)", "opt(o;3;n)", "opt(o;0;m)",
    "opt(o;1;(n;`nosuch))", "opt(o;0;();`nesterov,1b)", "lr(o;-1.)", "lr(o;.1 .2)", "opt(o;0;c)",
])
def test_failed_call_changes_nothing(s: Session, line: str) -> None:
    make(s, "sgd")
    s.run("n:module seq(`sequential`N;(`linear;2;2)); c:module seq(`sequential`a;(`linear;2;2)); o:opt(`sgd;m;.1)")
    s.run("opt(o;0;module seq(`sequential`a;(`linear;3;3)))") if line.endswith("c)") else None
    s.run("b:state o; k:names module o")
    with pytest.raises(QError):
        s.run(line)
    assert s.run("b~state o") is True
    assert s.run("k~names module o") is True


def test_refused_options_keep_no_handle(s: Session) -> None:
    """What torch refuses is no reason for an optimizer to stay alive until Python looks for cycles."""
    make(s, "sgd")
    gc.disable()
    try:
        for line in ("opt(o;0;();`lr,-1f)", "@[opt;(o;0;();`lr,-1f);::]"):
            with contextlib.suppress(QError):
                s.run(line)
            s.run("o:opt(`sgd;m;.1)")
            assert s.run("exec count i from obj[] where class=`optimizer") == 1, line
    finally:
        gc.enable()


def test_handles_of_optimizers(s: Session) -> None:
    make(s, "sgd")
    o = s.run("o")
    assert isinstance(o, OptimizerHandle)
    assert s.run("ref m").__class__ is int and s.run("ref m") == 2
    s.run("p:addref o; free o; step p")
    with pytest.raises(QError, match="stale pointer"):
        s.run("step o")
    assert table() is not None


@pytest.mark.sampled(4)
def test_steps_and_restores_without_the_compiler() -> None:
    """torch's compiler, whose import takes most of a second and 80 MB, is not brought by an optimizer; once it is there,
    steps are the same."""
    made = "sgd adam adamw adagrad rmsprop adadelta adamax nadam radam rprop asgd adafactor muon lamb"
    given = "`sgd;m;.1;.9;(`foreach;1b)", "`adam;m;(`fused;0b)", "`adamw;m;(`amsgrad;1b)"
    names = [*(f"`{name};m" for name in made.split() if has(name)), *given]
    lines = [f"parm(m;`weight;2 2#1 2 3 4e);w:parm(m;`weight);o:opt({name});do[3;zerograd m;backward Sum forward(m;1 2#1 -2e);"
             "step o];r:opt(state o;m);step r;-3!tensor w" for name in names]
    code = ("import sys;from kshell.session import Session;s=Session();s.run('system\"P 17\";m:module enlist(`linear;2;2;"
            f"0b)');made=lambda:[s.run(line).a.tobytes() for line in {lines!r}];first=made();"
            "assert 'torch._dynamo' not in sys.modules;import torch._dynamo;assert first==made() and len(set(first))>9")
    assert subprocess.run([sys.executable, "-c", code], timeout=120, check=False).returncode == 0


def test_failed_layers_change_nothing_between_tensors(s: Session) -> None:
    """Tensors of several calls are in one dictionary, which an error sets back."""
    s.run("f:tensor(1 2e;`grad);g:tensor(3 4e;`grad);p:tensor(5e;`grad);o:opt(`streamer;enlist(f;p));b:state o")
    s.run("n:parmnames o")
    with pytest.raises(QError, match="already in group"):
        s.run("addlayer(o;(g;f))")
    assert s.run("b~state o") is True
    assert s.run("n~parmnames o") is True
