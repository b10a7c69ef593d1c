"""What tutorials and recipes of PyTorch do, in q and in plain PyTorch: the same weights, the same random numbers and
the same numbers in the end."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F
from torch.nn.utils import prune

from kshell.errors import QError
from kshell.kapi.base.convert import as_tensor
from kshell.kapi.base.handles import TensorHandle
from kshell.session import Session


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    s = Session(out=io.StringIO(), err=io.StringIO())
    s.run('setting(`threads;1);seed 1;system"S 1"')
    return s


def run(session: Session, *lines: str) -> None:
    for line in lines:
        session.run(line)


def tensor(session: Session, text: str) -> torch.Tensor:
    """A tensor or array that q calculates, copied."""
    return as_tensor(session.run(text)).detach().clone()


def weights(session: Session, m: str = "m") -> dict[str, torch.Tensor]:
    """The parameters and buffers of a module in q, copied."""
    return {k: v.detach().clone() for k, v in session.run(m).obj.state_dict().items()}


def losses(session: Session, text: str) -> list[float]:
    return [float(v) for v in session.run(text).a]


def near(a: Any, b: Any, rtol: float = 1e-5) -> bool:
    a, b = torch.as_tensor(a), torch.as_tensor(b)
    return a.shape == b.shape and torch.allclose(a.double(), b.double(), rtol=rtol, atol=1e-7)


def mlp(*sizes: int) -> nn.Sequential:
    layers = [k for a, b in zip(sizes, sizes[1:], strict=False) for k in (nn.Linear(a, b), nn.Tanh())]
    return nn.Sequential(*layers[:-1])


NET = "m:module seq(`sequential;(`linear;4;5);`tanh;(`linear;5;3))"


# ------------------------------------------------------------------ derivatives


def cube(x: Any) -> Any:
    return (x * x * x).sum()


def grad(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return torch.func.grad(f)


# q of x and v, the same in torch
NESTED: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("(jvp({autograd({Sum x*x*x};x)};x;v))1", lambda x, v: torch.func.jvp(grad(cube), (x,), (v,))[1]),
    ("(jvp({(vjp({x*x*x};x;tensor 1 1 1 1f))1};x;v))1", lambda x, v: torch.func.jvp(grad(cube), (x,), (v,))[1]),
    ("(jvp({(vjp({x*x*x};x;tensor 1 1 1 1f))0};x;v))1", lambda x, v: 3 * x * x * v),
    ("(jvp({(jvp({x*x*x};x;v))1};x;v))1", lambda x, v: 6 * x * v * v),
    ("(jvp({(jvp({[a;b]a*b};x;x*x;v;x))1};x;v))1",
     lambda x, v: torch.func.jvp(lambda x: torch.func.jvp(lambda a, b: a * b, (x, x * x), (v, x))[1], (x,), (v,))[1]),
    ("(jvp({diag jacobian({x*x*x};x)};x;v))1", lambda x, v: 6 * x * v),
    ("(jvp({Sum hessian({Sum x*x*x};x)};x;v))1", lambda x, v: (6 * v).sum()),
    ("(jvp({vmap({autograd({x*x*x};x)};x)};x;v))1", lambda x, v: 6 * x * v),
    ("autograd({Sum v*(jvp({autograd({Sum x*x*x};x)};x;v))1};x)", lambda x, v: 6 * v * v),
    ("(jvp({x*nograd({x*x};x)};x;v))1",
     lambda x, v: torch.func.jvp(lambda x: x * x * x, (x,), (v,))[1]),
    ("vmap({(jvp({autograd({x*x*x};x)};x;tensor 1f))1};x)", lambda x, v: 6 * x),
]


@pytest.mark.parametrize(("text", "want"), NESTED, ids=[t for t, _ in NESTED])
def test_derivatives_of_derivatives(session: Session, text: str, want: Callable[[Any, Any], Any]) -> None:
    run(session, "x:tensor 1 2 3 -.5;v:tensor 1 .5 -1 2")
    got = as_tensor(session.run(text)).detach()
    assert near(got, want(tensor(session, "x"), tensor(session, "v")))


def test_a_direction_is_gone_after_an_error(session: Session) -> None:
    run(session, "x:tensor 1 2f")
    with pytest.raises(QError, match="bad"):
        session.run("jvp({'bad};x;x)")
    assert near(tensor(session, "(jvp({x*x};x;x))1"), [2, 8])


def test_polynomial_with_a_gradient_of_its_own(session: Session) -> None:
    """A polynomial of Legendre fitted to a sine by a calculation with its own backward."""
    run(session, "x:tensor(`linspace;-3.14;3.14;50;`double);y:sin x", "p:dict`a`b`c`d!0 -1 0 .3",
        "gradflag(p;1b)", "leg:{customgrad({.5*(5*x*x*x)-3*x};{[g;x]g*1.5*(5*x*x)-1};x)}",
        "go:{[i]l:Sum square y-p[`a]+p[`b]*leg p[`c]+p[`d]*x;zerograd p;backward l;p[]-:5e-6*value grad p;return l}")
    assert session.run("gradcheck(leg;.1 -.5 2)") is True
    x = tensor(session, "x")
    p = [torch.tensor(v, dtype=torch.double, requires_grad=True) for v in (0.0, -1.0, 0.0, 0.3)]
    want = []
    for _ in range(10):
        z = p[2] + p[3] * x
        loss = (x.sin() - (p[0] + p[1] * .5 * (5 * z ** 3 - 3 * z))).square().sum()
        for t, g in zip(p, torch.autograd.grad(loss, p), strict=True):
            t.data -= 5e-6 * g
        want.append(loss.item())
    assert losses(session, "go each til 10") == pytest.approx(want, rel=1e-9) and want[-1] < want[0]
    with pytest.raises(QError, match="gradcheck: the parameters of the module are float, expecting double"):
        session.run("gradcheck(module enlist(`linear;2;1);1 2#1f)")
    with pytest.raises(QError, match="gradcheck: Jacobian mismatch for output 0 with respect to input 0"):
        session.run("gradcheck({customgrad({x*x};{[g;x]3*g*x};x)};1 2f)")


def test_penalty_on_gradients(session: Session) -> None:
    """The norm of the gradient by the input is part of the loss, so it is differentiated again."""
    run(session, NET, "x:tensor(`randn;6 4;`grad);o:opt(`adam;m;.01)",
        "go:{[i]zerograd o;y:Sum forward(m;x);g:autograd(y;x;`create);l:mean square vnorm[(g;2f;1)]-1;backward l;step o;"
        "return l}")
    m = mlp(4, 5, 3)
    m.load_state_dict({k: v for k, v in zip(m.state_dict(), weights(session).values(), strict=True)})
    o, x, want = torch.optim.Adam(m.parameters(), lr=.01, fused=True), tensor(session, "x").requires_grad_(), []
    for _ in range(4):
        o.zero_grad()
        g, = torch.autograd.grad(m(x).sum(), x, create_graph=True)
        loss = (g.norm(2, 1) - 1).square().mean()
        loss.backward()
        o.step()
        want.append(loss.item())
    assert losses(session, "go each til 4") == pytest.approx(want, rel=1e-5)


def test_hooks_of_tensors(session: Session) -> None:
    run(session, "w:tensor(1 2 3e;`grad);seen:()", "registerhook(w;{seen,:enlist tensor x;x*1 0 1e})",
        "registerhook(w;{seen,:enlist tensor 2*x;})")
    w = torch.tensor([1.0, 2, 3], requires_grad=True)
    w.register_hook(lambda g: g * torch.tensor([1.0, 0, 1]))
    run(session, "y:w*w;retaingrad y;backward Sum 3*y")
    y = w * w
    y.retain_grad()
    (3 * y).sum().backward()
    assert near(tensor(session, "grad w"), w.grad) and near(tensor(session, "grad y"), y.grad)
    assert session.run("seen~(6 12 18e;12 0 36e)") is True
    run(session, "registerhook(w;::);nograd w;backward Sum w*w")
    assert session.run("(grad w)~2 4 6e") is True and session.run("count seen") == 2
    for text, message in (("registerhook(w;{1 2e});backward Sum w*w", "must return a gradient of size [3], or ::"),
                          ("registerhook(tensor 1e;{x})", "registerhook: cannot register a hook on a tensor that"),
                          ("registerhook w", "registerhook: expecting (tensor;function)"),
                          ("retaingrad tensor 1 2e", "retaingrad: can't retain_grad"),
                          ("retaingrad 1", "retaingrad: expecting a tensor, given long scalar")):
        with pytest.raises(QError) as e:
            session.run(text)
        assert message in e.value.text


@pytest.mark.filterwarnings("ignore")
def test_a_null_gradient_is_found(session: Session) -> None:
    run(session, "x:tensor(-1 4e;`grad);f:{Sum sqrt x}", "backward f x")
    run(session, "setting`anomaly,1b")
    try:
        assert session.run("last key setting[]").s == "anomaly"
        with pytest.raises(QError, match="backward: Function 'SqrtBackward0' returned nan values"):
            session.run("backward f x")
    finally:
        run(session, "setting`anomaly,0b")
    assert session.run("(`anomaly in key setting[];setting`anomaly)").a.tolist() == [False, False]


# ------------------------------------------------------------------ parameters as an input


def loss_of(m: nn.Module, p: dict[str, Any], x: Any, y: Any) -> Any:
    return F.cross_entropy(functional_call(m, p, (x,)), y)


def named(session: Session, text: str) -> dict[str, torch.Tensor]:
    """The tensors of a dictionary by name, copied."""
    return {k: t.detach().clone() for k, t in session.run(text).obj.items()}


def test_gradients_of_each_sample(session: Session) -> None:
    run(session, NET, "X:tensor(`randn;6 4);Y:tensor 6?3", "f:{[m;x;y;p]ce(functionalcall(m;p;x);y)}",
        "each1:{[f;m;p;x;y]autograd(f[m;x;y];p)}[f;m;parms m]")
    m, p, x, y = mlp(4, 5, 3), weights(session), tensor(session, "X"), tensor(session, "Y")
    one = torch.func.grad(lambda p, x, y: loss_of(m, p, x, y))
    for got, want in ((named(session, "vmap(each1;X;Y)"), torch.func.vmap(one, (None, 0, 0))(p, x, y)),
                      (named(session, "each1[X;Y]"), one(p, x, y)),
                      (named(session, "autograd(f[m;X;Y;parms m];parms m)"), one(p, x, y))):
        assert got.keys() == want.keys() == p.keys() and all(near(got[k], want[k], 1e-4) for k in p)
    got = session.run("h:hessian(f[m;X;Y];parms m);tensor h[`0.weight;`2.bias]")
    want = torch.func.hessian(lambda p: loss_of(m, p, x, y))(p)["0.weight"]["2.bias"]
    assert near(as_tensor(got), want, 1e-4)
    v = {k: torch.ones_like(t) for k, t in p.items()}
    got = as_tensor(session.run("(jvp(f[m;X;Y];parms m;dict k!oneslike each(parms m)k:parmnames m))1")).detach()
    assert near(got, torch.func.jvp(lambda p: loss_of(m, p, x, y), (p,), (v,))[1])
    out = as_tensor(session.run("(jacobian({[m;x;p]functionalcall(m;p;x)}[m;X];parms m))`2.bias")).detach()
    assert near(out, torch.func.jacrev(lambda p: functional_call(m, p, (x,)))(p)["2.bias"])


def test_an_ensemble_at_once(session: Session) -> None:
    run(session, "ms:{" + NET + ";m}each til 3;X:tensor(`randn;6 4)",
        "s:dict parmnames[first ms]!stack each flip{value parms x}each ms")
    want = torch.stack([tensor(session, f"forward(ms {i};X)") for i in range(3)])
    assert near(tensor(session, "vmap({[m;x;p]functionalcall(m;p;x)}[first ms;X];s)"), want)
    # each with a batch of its own
    assert near(tensor(session, "vmap({[m;p;x]functionalcall(m;p;x)}[first ms];s;stack 3#enlist X)"), want)


def test_tangent_kernel(session: Session) -> None:
    run(session, NET, "X:tensor(`randn;4 4);Z:tensor(`randn;2 4)",
        "jac:{vmap({[m;p;x]jacobian({[m;x;p]functionalcall(m;p;x)}[m;x];p)}[m;parms m];x)}",
        "part:{einsum(\"naf,mbf->nmab\";flatten(x;2;-1);flatten(y;2;-1))}",
        "a:jac X;b:jac Z;k:Sum(stack{part[a x;b x]}each parmnames m;0)")
    m, p, x, z = mlp(4, 5, 3), weights(session), tensor(session, "X"), tensor(session, "Z")
    jac = torch.func.vmap(torch.func.jacrev(lambda p, x: functional_call(m, p, (x,))), (None, 0))
    a, b = jac(p, x), jac(p, z)
    want = sum(torch.einsum("naf,mbf->nmab", a[k].flatten(2), b[k].flatten(2)) for k in p)
    assert near(tensor(session, "k"), want, 1e-4)


def test_steps_within_a_step(session: Session) -> None:
    """The outer loss is that of parameters after an inner step, which is differentiated, too."""
    run(session, NET, "X:tensor(`randn;6 4);Y:tensor 6?3;o:opt(`sgd;m;.1)",
        "f:{[m;x;y;p]ce(functionalcall(m;p;x);y)}",
        "go:{[i]zerograd o;p:parms m;g:autograd(f[m;X;Y;p];p;`create);l:f[m;X;Y;p-.4*g];backward l;step o;return l}")
    m, x, y = mlp(4, 5, 3), tensor(session, "X"), tensor(session, "Y")
    m.load_state_dict(weights(session))
    o, want = torch.optim.SGD(m.parameters(), lr=.1, fused=True), []
    for _ in range(3):
        o.zero_grad()
        p = dict(m.named_parameters())
        g = torch.autograd.grad(loss_of(m, p, x, y), list(p.values()), create_graph=True)
        loss = loss_of(m, {k: t - .4 * d for (k, t), d in zip(p.items(), g, strict=True)}, x, y)
        loss.backward()
        o.step()
        want.append(loss.item())
    assert losses(session, "go each til 3") == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize(("text", "message"), [
    ("functionalcall(m;parms m)", "functionalcall: expecting (module;dictionary;input;..)"),
    ("functionalcall(m;1;X)", "functionalcall: expecting a dictionary of tensors by name, given long scalar"),
    ("functionalcall(m;(enlist`a)!enlist 1e;X)", "functionalcall: no parameter or buffer `a"),
    ("functionalcall(m;(enlist`2.bias)!enlist 1 2e;X)", "functionalcall: The expanded size"),
    ("autograd({x};`a`b!(1;`c))", "autograd: expecting tensor or array, or dictionary of these, for input"),
    ("jvp({x};1 2e;`a`b!1 2e)", "jvp: expecting (function;input;..;direction;..), one direction for each input"),
    ("vjp({x};1 2e;`a`b!1 2e)", "vjp: expecting a tensor or array for weights"),
    ("customgrad({x};{x};parms m)", "customgrad: expecting tensor or array for input, given dictionary"),
    ("jacobian({(x`a;x`b)};`a`b!1 2e)", "jacobian: the function must return one tensor, given 2"),
    ("autograd(Sum X;1)", "autograd: expecting (tensor;tensor, vector or dictionary) and optional mode")])
def test_errors_of_parameters_as_an_input(session: Session, text: str, message: str) -> None:
    run(session, NET, "X:tensor(`randn;6 4)")
    with pytest.raises(QError) as e:
        session.run(text)
    assert e.value.text.startswith(message)


# ------------------------------------------------------------------ parts of models and their states


def test_parts_of_a_state(session: Session) -> None:
    """A model takes what fits of another's state, under other names, and says what it lacks."""
    run(session, "a:module seq(`sequential;(`linear;`body;4;5);`tanh;(`linear;`head;5;3))",
        "b:module seq(`sequential;(`linear;`body;4;5);`tanh;(`linear;`top;5;2))", "ckpt(`:a.pt;a)")
    found = session.run("putstate(b;ckpt`:a.pt;0b)")
    assert [[k.s for k in part.items] for part in found.v.items] == [["top.weight", "top.bias"],
                                                                    ["head.weight", "head.bias"]]
    want, got = weights(session, "a"), weights(session, "b")
    assert torch.equal(want["body.weight"], got["body.weight"]) and torch.equal(want["body.bias"], got["body.bias"])
    run(session, "d:ckpt`:a.pt;d:(`$ssr[;\"body\";\"stem\"]each string key d)!value d",
        "c:module seq(`sequential;(`linear;`stem;4;5);`tanh;(`linear;`head;5;3))", "putstate(c;d)")
    assert torch.equal(weights(session, "c")["stem.weight"], want["body.weight"])
    for text, message in (("putstate(b;ckpt`:a.pt)", "putstate: no top.weight given"),
                          ("putstate(c;ckpt`:a.pt)", "putstate: no stem.weight given"),
                          ("putstate(b;(enlist`top.bias)!enlist 3#1e;0b)",
                           "putstate: size mismatch, top.bias is [2], given [3]"),
                          ("putstate(b;(enlist`top.bias)!enlist`a;0b)",
                           "putstate: expecting a tensor of size [2] for top.bias, given a symbol"),
                          ("putstate(b;d;`a)", "putstate: expecting a module or an optimizer, a dictionary, and for a"),
                          ("putstate(opt(`sgd;b);d;0b)", "putstate: a strict flag is for modules")):
        before = weights(session, "b")
        with pytest.raises(QError) as e:
            session.run(text)
        assert e.value.text.startswith(message)
        assert all(torch.equal(t, before[k]) for k, t in weights(session, "b").items())


def test_a_network_without_its_head(session: Session) -> None:
    """Layers of a trained network in another one, frozen, with a new head of its own rate."""
    run(session, "m:module seq(`sequential;(`linear;`a;4;5);`tanh;(`linear;`b;5;3))",
        "n:module seq enlist[`sequential],(-1_value children m),enlist(`linear;`top;5;2)", "freeze(n;`a)",
        "o:opt(`sgd;(n;`top);.1;.9);X:tensor(`randn;6 4);Y:tensor 6?2",
        "go:{[i]zerograd o;l:ce(forward(n;X);Y);backward l;step o;return l}")
    assert [k.s for k in session.run("childnames n").items] == ["a", "1", "top"]
    assert session.run("same(parm(n;`a.weight);parm(m;`a.weight))") is True
    k = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 2))
    k.load_state_dict(dict(zip(k.state_dict(), weights(session, "n").values(), strict=True)))
    k[0].requires_grad_(False)
    o, x, y = torch.optim.SGD(k[2].parameters(), lr=.1, momentum=.9, fused=True), tensor(session, "X"), tensor(session, "Y")
    want = []
    for _ in range(4):
        o.zero_grad()
        loss = F.cross_entropy(k(x), y)
        loss.backward()
        o.step()
        want.append(loss.item())
    assert losses(session, "go each til 4") == want
    for text, message in (("module seq(`sequential;m)", "sequential: unable to create type-erased module"),
                          ("module(`sequential;(child(m;`a);enlist`tanh))",
                           "linear: an existing module cannot be given layers in a specification"),
                          ("module seq(`sequential;child(m;`a);child(m;`a))", "sequential: a module named `a is already"),
                          ("module seq(`sequential;o)", "seq: scalar expected to be a symbol, given")):
        with pytest.raises(QError) as e:
            session.run(text)
        assert e.value.text.startswith(message)
    assert session.run("size each parms m").k.items == session.run("parmnames m").items


def test_one_weight_for_words_in_and_out(session: Session) -> None:
    """A language model whose last layer has the weights of its first, and a mask of what comes later."""
    run(session, "m:module`moduledict", "{module(m;1;x)}each((`embed;`e;9;8);(`encoderlayer;`t;8;2;16;0f;"
        "`batchfirst,1b);(`linear;`o;8;9;0b))", "parm(m;`o.weight;enlist parm(m;`e.weight))",
        "x:tensor 4 6#24?9;mask:tensor triu((5 5)#-0we;1);o:opt(`adamw;m;.01)",
        "go:{[i]zerograd o;h:forward(m;`t;forward(m;`e;x[;til 5]);mask);"
        "l:ce(reshape(forward(m;`o;h);-1 9);reshape(x[;1+til 5];-1));backward l;clip(m;.5);step o;return l}")
    m = nn.ModuleDict({"e": nn.Embedding(9, 8), "t": nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True),
                       "o": nn.Linear(8, 9, bias=False)})
    m.load_state_dict(weights(session))
    m["o"].weight = m["e"].weight
    o, x = torch.optim.AdamW(m.parameters(), lr=.01, fused=True), tensor(session, "x")
    mask, want = torch.full((5, 5), -torch.inf).triu(1), []
    for _ in range(4):
        o.zero_grad()
        loss = F.cross_entropy(m["o"](m["t"](m["e"](x[:, :5]), mask)).reshape(-1, 9), x[:, 1:].reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(m.parameters(), .5)
        o.step()
        want.append(loss.item())
    assert losses(session, "go each til 4") == pytest.approx(want, rel=1e-6)
    assert session.run("same(parm(m;`o.weight);parm(m;`e.weight))") is True
    for text, message in (("parm(m;`t.linear1.bias;enlist parm(m;`e.weight))", "parm: size mismatch, bias is [16], given [9, 8]"),
                          ("n:module enlist(`linear;8;9);p:opt(`sgd;n);parm(n;`weight;enlist parm(m;`e.weight))",
                           "parm: an optimizer has weight already")):
        with pytest.raises(QError) as e:
            session.run(text)
        assert e.value.text.startswith(message)


def test_means_of_weights(session: Session) -> None:
    """Exponential means by a dictionary as a whole; then the rates of the averaging phase."""
    run(session, NET, "e:clone m;p:parms e;o:opt(`sgd;m;.1);s:sched(o;`swalr;.02;3);X:tensor(`randn;6 4);Y:tensor 6?3",
        "go:{[i]zerograd o;l:ce(forward(m;X);Y);backward l;step o;step s;p[]:(.9*p)+.1*parms m;first lr o}")
    m, x, y = mlp(4, 5, 3), tensor(session, "X"), tensor(session, "Y")
    m.load_state_dict(weights(session))
    o = torch.optim.SGD(m.parameters(), lr=.1, fused=True)
    s, mean = torch.optim.swa_utils.SWALR(o, .02, 3), {k: t.clone() for k, t in m.state_dict().items()}
    want = []
    for _ in range(5):
        o.zero_grad()
        F.cross_entropy(m(x), y).backward()
        o.step()
        s.step()
        mean = {k: .9 * mean[k] + .1 * t for k, t in m.state_dict().items()}
        want.append(s.get_last_lr()[0])
    assert losses(session, "go each til 5") == want
    assert all(near(t, mean[k]) for k, t in weights(session, "e").items())
    for text, message in (("p[]:1 2e", "amend: 4 tensor(s) and 2 value(s)"),
                          ("p[]:dict`a`b!1 2e", "amend: expected tensors `0.weight`0.bias`2.weight`2.bias, given `a`b")):
        with pytest.raises(QError) as e:
            session.run(text)
        assert e.value.text.startswith(message)


# ------------------------------------------------------------------ models


def test_translation_with_attention(session: Session) -> None:
    """A recurrent encoder of padded sequences, a decoder that looks back by additive attention, forced targets."""
    run(session, "x:padsequence(tensor 1 2 3 4;tensor 5 6;tensor 7 8 1;1b);y:tensor 3 3#1+9?8",
        "e:module`moduledict;d:module`moduledict", "{module(e;1;x)}each((`embed;`e;9;6;`padindex,0);(`gru;`g;6;6;`batchfirst,1b))",
        "{module(d;1;x)}each((`embed;`e;9;6);(`linear;`q;6;6);(`linear;`k;6;6);(`linear;`v;6;1);"
        "(`gru;`g;12;6;`batchfirst,1b);(`linear;`o;6;9))", "a:opt(`sgd;e;.1);b:opt(`sgd;d;.1)",
        "place:{[o;s;w](h;l):s;q:transpose(h;0;1);r:tanh forward[(d;`q;q)]+forward(d;`k;o);"
        "c:bmm(softmax(transpose(forward(d;`v;r);1;2);-1);o);(z;n):forward(d;`g;cat((forward(d;`e;w);c);2);h);"
        "(n;forward(d;`o;z))}",
        "go:{[i]zerograd each(a;b);(o;h):forward(e;`g;forward(e;`e;x));w:enlist[oneslike y[;enlist 0]],"
        "{[i]y[;enlist i]}each til 2;z:place[o]\\[(h;0);w];l:ce(reshape(cat(z[;1];1);-1 9);reshape(y;-1));backward l;"
        "step each(a;b);return l}")
    e = nn.ModuleDict({"e": nn.Embedding(9, 6, padding_idx=0), "g": nn.GRU(6, 6, batch_first=True)})
    d = nn.ModuleDict({"e": nn.Embedding(9, 6), "q": nn.Linear(6, 6), "k": nn.Linear(6, 6), "v": nn.Linear(6, 1),
                       "g": nn.GRU(12, 6, batch_first=True), "o": nn.Linear(6, 9)})
    e.load_state_dict(weights(session, "e"))
    d.load_state_dict(weights(session, "d"))
    x, y = tensor(session, "x"), tensor(session, "y")
    assert torch.equal(x, nn.utils.rnn.pad_sequence([torch.tensor(v) for v in ([1, 2, 3, 4], [5, 6], [7, 8, 1])], True))
    a, b = (torch.optim.SGD(m.parameters(), lr=.1, fused=True) for m in (e, d))
    want = []
    for _ in range(3):
        a.zero_grad()
        b.zero_grad()
        o, h = e["g"](e["e"](x))
        w, out = torch.ones_like(y[:, :1]), []
        for i in range(3):
            score = d["v"](torch.tanh(d["q"](h.transpose(0, 1)) + d["k"](o)))
            z, h = d["g"](torch.cat([d["e"](w), score.transpose(1, 2).softmax(-1) @ o], 2), h)
            out.append(d["o"](z))
            w = y[:, i:i + 1]
        loss = F.cross_entropy(torch.cat(out, 1).reshape(-1, 9), y.reshape(-1))
        loss.backward()
        a.step()
        b.step()
        want.append(loss.item())
    assert losses(session, "go each til 3") == pytest.approx(want, rel=1e-5)


def test_values_of_actions(session: Session) -> None:
    """Two networks, of which one follows the other slowly; the target is without gradients."""
    run(session, "m:module seq(`sequential;(`linear;4;5);`tanh;(`linear;5;2));t:clone m;pt:parms t",
        "o:opt(`adamw;m;.01;`amsgrad,1b);S:tensor(`randn;6 4);N:tensor(`randn;6 4);R:tensor(`rand;6)",
        "A:tensor 6 1#6?2;D:tensor 110110b",
        "go:{[i]q:gather(forward(m;S);1;A);n:tensor(`zeros;6);n[D]:nograd({amax(forward(t;x);1)};N D);"
        "l:smoothl1(q;unsqueeze(R+.99*n;1));zerograd o;backward l;clipv(m;.5);step o;pt[]:(.995*pt)+.005*parms m;"
        "return l}")
    m, t = mlp(4, 5, 2), mlp(4, 5, 2)
    m.load_state_dict(weights(session))
    t.load_state_dict(weights(session, "t"))
    s, n, r, a, d = (tensor(session, k) for k in "SNRAD")
    o, want = torch.optim.AdamW(m.parameters(), lr=.01, amsgrad=True, fused=True), []
    for _ in range(4):
        v = torch.zeros(6)
        with torch.no_grad():
            v[d] = t(n[d]).amax(1)
        loss = F.smooth_l1_loss(m(s).gather(1, a), (r + .99 * v).unsqueeze(1))
        o.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(m.parameters(), .5)
        o.step()
        for p, q in zip(t.parameters(), m.parameters(), strict=True):
            p.data = .995 * p.data + .005 * q.data
        want.append(loss.item())
    assert losses(session, "go each til 4") == pytest.approx(want, rel=1e-5)


def test_pictures_moved_and_attacked(session: Session) -> None:
    """A spatial transformer, whose maps begin as the identity; then the input is moved along the sign of its
    gradient."""
    run(session, "m:module`moduledict", "{module(m;1;x)}each((`linear;`loc;36;6);(`conv2d;`c;1;2;3);(`linear;`f;32;3))",
        "zeros parm(m;`loc.weight);parm(m;`loc.bias;1 0 0 0 1 0e)",
        "f:{[x]th:reshape(forward(m;`loc;flatten(x;1));-1 2 3);y:gridsample(x;affinegrid(th;size x));"
        "forward(m;`f;flatten(relu forward(m;`c;y);1))}", "o:opt(`sgd;m;.05);x:tensor(`rand;4 1 6 6);y:0 2 1 0",
        "go:{[i]zerograd o;l:ce(f x;y);backward l;step o;return l}")
    m = nn.ModuleDict({"loc": nn.Linear(36, 6), "c": nn.Conv2d(1, 2, 3), "f": nn.Linear(32, 3)})
    m.load_state_dict(weights(session))

    def f(x: Any) -> Any:
        theta = m["loc"](x.flatten(1)).view(-1, 2, 3)
        y = F.grid_sample(x, F.affine_grid(theta, list(x.shape), align_corners=False), align_corners=False)
        return m["f"](m["c"](y).relu().flatten(1))

    o, x, y, want = torch.optim.SGD(m.parameters(), lr=.05, fused=True), tensor(session, "x"), torch.tensor([0, 2, 1, 0]), []
    for _ in range(3):
        o.zero_grad()
        loss = F.cross_entropy(f(x), y)
        loss.backward()
        o.step()
        want.append(loss.item())
    assert losses(session, "go each til 3") == pytest.approx(want, rel=1e-5)
    run(session, "z:copyto(x;`grad);backward ce(f z;y);adv:clamp(detach[z]+.1*signum grad z;0;1)")
    z = x.clone().requires_grad_()
    F.cross_entropy(f(z), y).backward()
    assert near(tensor(session, "adv"), (x + .1 * z.grad.sign()).clamp(0, 1))


def test_a_code_drawn_at_random(session: Session) -> None:
    """A variational autoencoder."""
    run(session, "m:module`moduledict",
        "{module(m;1;x)}each((`linear;`a;6;8);(`linear;`mu;8;2);(`linear;`lv;8;2);(`linear;`d;2;8);(`linear;`e;8;6))",
        "o:opt(`adam;m;.01);x:tensor(`rand;4 6)",
        "go:{[i]zerograd o;h:relu forward(m;`a;x);mu:forward(m;`mu;h);lv:forward(m;`lv;h);"
        "z:mu+randnlike[mu]*exp .5*lv;y:sigmoid forward(m;`e;relu forward(m;`d;z));"
        "l:bce[(y;x;`sum)]-.5*Sum(1+lv)-(mu*mu)+exp lv;backward l;step o;return l}")
    m = nn.ModuleDict({"a": nn.Linear(6, 8), "mu": nn.Linear(8, 2), "lv": nn.Linear(8, 2), "d": nn.Linear(2, 8),
                       "e": nn.Linear(8, 6)})
    m.load_state_dict(weights(session))
    o, x, want = torch.optim.Adam(m.parameters(), lr=.01, fused=True), tensor(session, "x"), []
    got = losses(session, "seed 3;go each til 4")
    torch.manual_seed(3)
    for _ in range(4):
        o.zero_grad()
        h = m["a"](x).relu()
        mu, lv = m["mu"](h), m["lv"](h)
        y = m["e"](m["d"](mu + torch.randn_like(mu) * (.5 * lv).exp()).relu()).sigmoid()
        loss = F.binary_cross_entropy(y, x, reduction="sum") - .5 * (1 + lv - mu * mu - lv.exp()).sum()
        loss.backward()
        o.step()
        want.append(loss.item())
    assert got == pytest.approx(want, rel=1e-5)


def test_a_small_network_learns_from_a_large_one(session: Session) -> None:
    """Soft targets at a temperature, in steps of two batches under autocast, with a rate in cycles."""
    run(session, "t:module seq(`sequential;(`linear;4;9);`tanh;(`linear;9;3));" + NET,
        "o:opt(`sgd;m;.1;.9);s:sched(o;`cosineannealingwarmrestarts;2;2);X:tensor(`randn;8 4);Y:tensor 8?3",
        "f:{[x;y]t:nograd({softmax(forward[(t;x)]%2;1)};x);z:forward(m;x);"
        "(.75*ce(z;y))+.25*4*kl(logsoftmax(z%2;1);t;`batchmean)}",
        "half:{l:autocast[(`bfloat16;f;X x;Y x)]%2;backward l;return l}",
        "go:{[i]zerograd o;l:sum half each(til 4;4+til 4);step o;step s;l}")
    t, m = mlp(4, 9, 3), mlp(4, 5, 3)
    t.load_state_dict(weights(session, "t"))
    m.load_state_dict(weights(session))
    o, x, y, want = torch.optim.SGD(m.parameters(), lr=.1, momentum=.9, fused=True), tensor(session, "X"), tensor(session, "Y"), []
    s = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 2, 2)
    for _ in range(6):
        o.zero_grad()
        whole = 0.0
        for part in (slice(0, 4), slice(4, 8)):
            with torch.autocast("cpu", torch.bfloat16):
                with torch.no_grad():
                    soft = (t(x[part]) / 2).softmax(1)
                z = m(x[part])
                loss = (.75 * F.cross_entropy(z, y[part])
                        + .25 * 4 * F.kl_div((z / 2).log_softmax(1), soft, reduction="batchmean")) / 2
            loss.backward()
            whole += loss.item()
        o.step()
        s.step()
        want.append(whole)
    assert losses(session, "go each til 6") == pytest.approx(want, rel=1e-6)


def test_weights_made_of_others(session: Session) -> None:
    """Weights as direction and length, as a symmetric matrix, and under a mask: callbacks that make them of theirs."""
    run(session, "wn:module enlist(`callback;{[m;x]v:parm(m;`v);linear(x;parm[(m;`g)]*v%vnorm(v;2f;1;1b);parm(m;`b))})",
        "sy:module enlist(`callback;{[m;x]w:triu parm(m;`w);x mmu w+flip triu(w;1)})",
        "pr:module enlist(`callback;{[m;x]linear(x;parm[(m;`w)]*buffer(m;`mask);parm(m;`b))})",
        "parm(wn;`v;tensor(`randn;4 4));parm(wn;`g;tensor(`rand;4 1));parm(wn;`b;tensor 4#0e)",
        "parm(sy;`w;tensor(`randn;4 4));parm(pr;`w;tensor(`randn;2 4));parm(pr;`b;tensor 2#0e)",
        "w:parm(pr;`w);buffer(pr;`mask;(abs w)>=quantile(flatten abs w;.5))",
        "m:module seq(`sequential;wn;sy;pr);X:tensor(`randn;6 4);Y:tensor(`randn;6 2);o:opt(`adam;m;.05)",
        "go:{[i]zerograd o;l:mse(forward(m;X);Y);backward l;step o;return l}")
    a, b, c = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4)), nn.Linear(4, 4, bias=False), nn.Linear(4, 2)
    own = weights(session)
    with torch.no_grad():
        a.parametrizations.weight.original0.copy_(own["0.g"])
        a.parametrizations.weight.original1.copy_(own["0.v"])
        a.bias.copy_(own["0.b"])
        b.weight.copy_(own["1.w"])
        c.weight.copy_(own["2.w"])
        c.bias.copy_(own["2.b"])

    class Symmetric(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.triu() + x.triu(1).transpose(-1, -2)

    nn.utils.parametrize.register_parametrization(b, "weight", Symmetric())
    prune.l1_unstructured(c, "weight", amount=.5)
    assert torch.equal(own["2.mask"].float(), c.weight_mask)
    k, x, y, want = nn.Sequential(a, b, c), tensor(session, "X"), tensor(session, "Y"), []
    o = torch.optim.Adam(k.parameters(), lr=.05, fused=True)
    for _ in range(4):
        o.zero_grad()
        loss = F.mse_loss(k(x), y)
        loss.backward()
        o.step()
        want.append(loss.item())
    assert losses(session, "go each til 4") == pytest.approx(want, rel=1e-5)


def test_bags_and_sparse_gradients(session: Session) -> None:
    """Texts as bags of words of any number, steps for the rows that occur; a graph as a sparse matrix of its edges."""
    run(session, "m:module`moduledict", "module(m;1;(`embedbag;`e;10;3;`mode`sparse!(`mean;1b)));module(m;1;(`linear;`f;3;2))",
        "o:opt(`sparseadam;(m;`e);.1);p:opt(`sgd;(m;`f);.1);w:1 2 4 5 4 3 9;at:0 2 5",
        "go:{[i]zerograd m;l:ce(forward(m;`f;forward(m;`e;w;at));0 1 1);backward l;step each(o;p);return l}")
    m = nn.ModuleDict({"e": nn.EmbeddingBag(10, 3, mode="mean", sparse=True), "f": nn.Linear(3, 2)})
    m.load_state_dict(weights(session))
    o, p = torch.optim.SparseAdam(m["e"].parameters(), lr=.1), torch.optim.SGD(m["f"].parameters(), lr=.1, fused=True)
    w, at, want = torch.tensor([1, 2, 4, 5, 4, 3, 9]), torch.tensor([0, 2, 5]), []
    for _ in range(4):
        m.zero_grad()
        loss = F.cross_entropy(m["f"](m["e"](w, at)), torch.tensor([0, 1, 1]))
        loss.backward()
        o.step()
        p.step()
        want.append(loss.item())
    assert losses(session, "go each til 4") == pytest.approx(want, rel=1e-5)
    run(session, "s:tensor(`sparse;(0 1 1 2;2 0 2 1);3 4 5 1e;3 3);z:tensor(`randn;3 2;`grad);backward Sum square s mmu z")
    z = tensor(session, "z").requires_grad_()
    s = torch.sparse_coo_tensor([[0, 1, 1, 2], [2, 0, 2, 1]], [3.0, 4, 5, 1], (3, 3))
    (s @ z).square().sum().backward()
    assert near(tensor(session, "grad z"), z.grad)


# ------------------------------------------------------------------ small things


def test_several_results_have_names(session: Session) -> None:
    run(session, "m:module enlist(`lstm;3;4);x:tensor(`randn;5 2 3);(y;h;c):forward(m;x);(v;i):topk(y;2;2)")
    m = nn.LSTM(3, 4)
    m.load_state_dict(weights(session))
    y, (h, c) = m(tensor(session, "x"))
    for name, want in zip("yhcvi", (y, h, c, *y.topk(2, 2)), strict=True):
        assert isinstance(session[name], TensorHandle) and near(tensor(session, name), want)
    with pytest.raises(QError, match="length"):
        session.run("(a;b):forward(m;x)")
    run(session, "(a;b):x")  # one tensor goes to both names, as any atom does
    assert session.run("all(same(a;x);same(b;x))") is True


def pad(given: Sequence[Sequence[float]], **options: Any) -> torch.Tensor:
    return nn.utils.rnn.pad_sequence([torch.tensor(g) for g in given], **options)


@pytest.mark.parametrize(("text", "want"), [
    ("padsequence(1 2 3;4 5)", pad([[1, 2, 3], [4, 5]])),
    ("padsequence(1 2 3e;4 5e;1b;-1)", pad([[1., 2, 3], [4., 5]], batch_first=True, padding_value=-1)),
    ("padsequence(tensor 1 2 3e;4 5e;`value,.5)", pad([[1., 2, 3], [4., 5]], padding_value=.5)),
    ("padsequence(vector(1 2;3 4 5;enlist 6);1b)", pad([[1, 2], [3, 4, 5], [6]], batch_first=True)),
    ("padsequence(2 2#1 2 3 4;1 2#5 6;1b)", pad([[[1, 2], [3, 4]], [[5, 6]]], batch_first=True))])  # type: ignore[list-item]
def test_sequences_of_one_length(session: Session, text: str, want: torch.Tensor) -> None:
    got = tensor(session, text)
    assert torch.equal(got, want) and got.dtype == want.dtype


@pytest.mark.parametrize(("text", "message"), [
    ("padsequence()", "padsequence: expecting sequences"), ("padsequence(1;2)", "padsequence: unexpected long scalar"),
    ("padsequence(1 2;`a)", "padsequence: unexpected symbol scalar, expecting batchfirst (boolean), value"),
    ("padsequence(1 2;`foo,1)", "padsequence option: foo not recognized, expecting batchfirst, value"),
    ("padsequence(2 2#1;1 3#1)", "padsequence: The size of tensor")])
def test_errors_of_sequences(session: Session, text: str, message: str) -> None:
    with pytest.raises(QError) as e:
        session.run(text)
    assert e.value.text.startswith(message)


def test_torch_names_are_found(session: Session) -> None:
    """What a name of torch is called here is told by a search for that name."""
    for name, here in {"clip_grad_norm_": "clip", "load_state_dict": "putstate", "named_parameters": "parms",
                       "manual_seed": "seed", "requires_grad_": "gradflag", "zero_grad": "zerograd", "GradScaler":
                       "gradscale", "functional_call": "functionalcall", "autograd.Function": "customgrad",
                       "register_buffer": "buffer", "register_hook": "registerhook", "pad_sequence": "padsequence",
                       "sparse_coo_tensor": "sparse", "SWALR": "swalr", "detect_anomaly": "anomaly",
                       "torch.profiler.profile": "profile", "strict=False": "putstate"}.items():
        session.out = io.StringIO()
        run(session, rf"\?{name}")
        found = [line.split()[0] for line in session.out.getvalue().splitlines()]
        assert here in found, name


@pytest.mark.parametrize(("text", "message"), [
    ("opt(`adam;m;`weight_decay,.1)", "opt: unrecognized optimizer setting: weight_decay (near `decay)"),
    ("loss(`ce;`labelsmoothing,.1)", "loss: unrecognized loss setting: labelsmoothing (near `smoothing)"),
    ("module enlist(`lstm;3;4;`bidirectional,1b)", "lstm: unrecognized option `bidirectional (near `bi)"),
    ("module enlist(`linear;3;4;`outfeatures,1)", "linear: unrecognized option `outfeatures (near `out`in)"),
    ("module enlist(`drop;`zzz,1b)", "drop: unrecognized option `zzz"),
    ("sched(opt(`sgd;m);`steplr;`step_size,3)", "sched: unrecognized scheduler setting: step_size (near `stepsize)"),
    ("sched(opt(`sgd;m);`warm)", "sched: unrecognized scheduler: warm (near `cosineannealingwarmrestarts)"),
    ("forward(m;X)%2", "%: not implemented for modules; the result of a call is f[(a;b)], not f(a;b)")])
def test_names_of_torch_lead_to_those_here(session: Session, text: str, message: str) -> None:
    run(session, NET, "X:tensor(`randn;6 4)")
    with pytest.raises(QError) as e:
        session.run(text)
    assert e.value.text == message
