"""Small programs of the kinds that PyTorch's users write, in q and in plain PyTorch: from the same weights and with the
same random numbers each step has the same loss."""

from __future__ import annotations

import io

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from kshell.kapi.base.convert import as_tensor
from kshell.session import Session


@pytest.fixture
def session() -> Session:
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run('setting(`threads;1);seed 1;system"S 1"')
    return s


def weights(session: Session, m: str = "m") -> dict[str, torch.Tensor]:
    """The parameters and buffers of a module in q, copied."""
    found = session.run(f"{m}").obj.state_dict()
    return {k: v.detach().clone() for k, v in found.items()}


def losses(session: Session, text: str) -> list[float]:
    return [float(v) for v in session.run(text).a]


def test_cells_by_lbfgs(session: Session) -> None:
    """Two recurrent cells read waves place by place; L-BFGS calls back for loss and gradients."""
    for line in ("x:tensor sin((til 20)+/:6?40)%4", "m:module`moduledict",
                 "{module(m;1;x)}each((`lstmcell;`a;1;5);(`grucell;`b;5;5);(`linear;`c;5;1))", "to(m;`double)",
                 "place:{[s;x]a:forward(m;`a;x;s 0);b:forward(m;`b;a 0;s 1);(a;b;forward(m;`c;b))}",
                 "run1:{[x]z:(6;5)#0f;s:place\\[(vector(z;z);tensor z);(split(x;1;1))[]];cat(s[;2];1)}",
                 "o:opt(`lbfgs;m;.5;`iter,6);r:()",
                 "near:{[]zerograd o;l:mse(run1 x[;til 19];x[;1+til 19]);backward l;r,:tensor l;l}"):
        session.run(line)
    x = as_tensor(session.run("x"))
    m = nn.ModuleDict({"a": nn.LSTMCell(1, 5), "b": nn.GRUCell(5, 5), "c": nn.Linear(5, 1)}).double()
    m.load_state_dict(weights(session))
    o = torch.optim.LBFGS(m.parameters(), lr=.5, max_iter=6)
    want: list[float] = []

    def near() -> torch.Tensor:
        o.zero_grad()
        h = c = g = torch.zeros(6, 5, dtype=torch.double)
        out = []
        for p in x[:, :-1].split(1, 1):
            h, c = m["a"](p, (h, c))
            g = m["b"](h, g)
            out.append(m["c"](g))
        loss = F.mse_loss(torch.cat(out, 1), x[:, 1:])
        want.append(loss.item())
        loss.backward()
        return loss

    for _ in range(2):
        o.step(near)
    session.run("do[2;step(o;near)]")
    assert losses(session, "r") == want and len(want) > 6


def test_two_nets(session: Session) -> None:
    """One network draws, another judges; each has an optimizer, and the output of one is detached for the other."""
    for line in ("g:module seq(`sequential;(`linear;3;8);(`batchnorm1d;8);(`relu;1b);(`linear;8;2);`tanh)",
                 "d:module seq(`sequential;(`linear;2;8);(`leakyrelu;.2);(`drop;.3);(`linear;8;1);`sigmoid;(`flatten;0))",
                 "x:tensor(`rand;16 2)", "a:opt(`adam;g;.01;.5);b:opt(`adam;d;.01;.5)",
                 "go:{[i]zerograd d;k:bce(forward(d;x);oneslike x[;0]);backward k;y:forward(g;tensor(`randn;16 3));"
                 "l:bce(forward(d;detach y);zeroslike x[;0]);backward l;step b;zerograd g;"
                 "n:bce(forward(d;y);oneslike x[;0]);backward n;step a;return each(k;l;n)}"):
        session.run(line)
    g = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(True), nn.Linear(8, 2), nn.Tanh())
    d = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(.2), nn.Dropout(.3), nn.Linear(8, 1), nn.Sigmoid(), nn.Flatten(0))
    g.load_state_dict(weights(session, "g"))
    d.load_state_dict(weights(session, "d"))
    x, one, none = as_tensor(session.run("x")), torch.ones(16), torch.zeros(16)
    a, b = (torch.optim.Adam(m.parameters(), lr=.01, betas=(.5, .999), fused=True) for m in (g, d))
    got = losses(session, "seed 2;raze go each til 8")
    want = []
    torch.manual_seed(2)
    for _ in range(8):
        d.zero_grad()
        k = F.binary_cross_entropy(d(x), one)
        k.backward()
        y = g(torch.randn(16, 3))
        n = F.binary_cross_entropy(d(y.detach()), none)
        n.backward()
        b.step()
        g.zero_grad()
        e = F.binary_cross_entropy(d(y), one)
        e.backward()
        a.step()
        want += [k.item(), n.item(), e.item()]
    assert got == want


@pytest.mark.filterwarnings("ignore")
def test_masked_transformer(session: Session) -> None:
    """A transformer that normalizes first, with a mask of places, of padding, and a loss that ignores padding."""
    for line in ("m:module`moduledict", "{module(m;1;x)}each((`embed;`e;9;8);"
                 "(`transformer;`t;8;2;1;1;16;.1;`batchfirst`normfirst!11b);(`linear;`f;8;9))",
                 "x:tensor 4 6#1+24?8;x[1;3_til 6]:0;y:tensor 4 5#1+20?8;y[2;4]:0",
                 "mask:tensor triu((4 4)#-0we;1);o:opt(`sgd;m;.1;.9);ls:loss(`ce;`ignore,0)",
                 "go:{[i]zerograd o;k:forward(m;`t;forward(m;`e;x);forward(m;`e;y[;til 4]);[];mask;[];x=0;y[;til 4]=0);"
                 "l:loss(ls;reshape(forward(m;`f;k);-1 9);reshape(y[;1+til 4];-1));backward l;clip(m;.5);step o;"
                 "return l}"):
        session.run(line)
    m = nn.ModuleDict({"e": nn.Embedding(9, 8), "t": nn.Transformer(8, 2, 1, 1, 16, .1, batch_first=True,
                                                                   norm_first=True), "f": nn.Linear(8, 9)})
    m.load_state_dict(weights(session))
    x, y, mask = (as_tensor(session.run(k)) for k in ("x", "y", "mask"))
    o = torch.optim.SGD(m.parameters(), lr=.1, momentum=.9, fused=True)
    got = losses(session, "seed 2;go each til 8")
    want = []
    torch.manual_seed(2)
    for _ in range(8):
        o.zero_grad()
        s = y[:, :4]
        k = m["t"](m["e"](x), m["e"](s), None, mask, None, x == 0, s == 0)
        loss = F.cross_entropy(m["f"](k).view(-1, 9), y[:, 1:].reshape(-1), ignore_index=0)
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), .5)
        o.step()
        want.append(loss.item())
    assert got == want


def test_descent_by_hand(session: Session) -> None:
    """Parameters of a dictionary moved against their gradients without an optimizer; a function of q does the rest."""
    for line in ("s:sparse tensor 5 5#.5 0 0 0 .5 .5e;x:tensor(`randn;5 3);c:0 1 0 1 1",
                 "p:dict`w`b!(tensor(`randn;3 2);tensor 2#0e);gradflag(p;1b)",
                 "f:{[p]logsoftmax(p[`b]+s mmu relu x mmu p`w;1)}",
                 "go:{[i]zerograd p;l:nll(f p;c);backward l;p[]-:.5e*value grad p;return l}"):
        session.run(line)
    s, x, w, b = (as_tensor(session.run(k)).detach().clone() for k in ("s", "x", "p`w", "p`b"))
    w.requires_grad_()
    b.requires_grad_()
    got = losses(session, "go each til 10")
    want = []
    for _ in range(10):
        loss = F.nll_loss(F.log_softmax(torch.matmul(s, torch.relu(x @ w)) + b, 1), torch.tensor([0, 1, 0, 1, 1]))
        w.grad, b.grad = torch.autograd.grad(loss, (w, b))
        with torch.no_grad():
            w -= .5 * w.grad
            b -= .5 * b.grad
        want.append(loss.item())
    assert got == pytest.approx(want, rel=1e-6) and got[-1] < got[0]
