"""Derivatives and vmap of functions of q against torch.func and loops."""

from __future__ import annotations

import io
import threading
from typing import Any

import pytest
import torch

from kshell.session import Session

# a function in q, the same in torch
SCALAR: list[tuple[str, Any]] = [
    ("{Sum x*x*x}", lambda x: (x * x * x).sum()), ("{Sum Exp Sin x}", lambda x: x.sin().exp().sum()),
    ("{prd x}", lambda x: x.prod()), ("{mse(tanh x;0*x)}", lambda x: torch.nn.functional.mse_loss(x.tanh(), 0 * x)),
]
VECTOR: list[tuple[str, Any]] = [
    ("{x*x}", lambda x: x * x), ("{sums x}", lambda x: x.cumsum(0)), ("{Exp[x]%Sum Exp x}", lambda x: x.softmax(0)),
    ("{x mmu x}", lambda x: x @ x),
]


@pytest.fixture
def s() -> Session:
    made = Session(out=io.StringIO())
    made.run("seed 4;x:tensor(`randn;5);v:tensor(`randn;5);X:tensor(`randn;6 5)")
    return made


def close(a: Any, b: Any) -> bool:
    return torch.allclose(a, b, rtol=1e-5, atol=1e-6) and a.shape == b.shape


@pytest.mark.parametrize(("text", "f"), SCALAR, ids=[t for t, _ in SCALAR])
def test_scalar_functions(s: Session, text: str, f: Any) -> None:
    x, v, rows = s["x"].obj, s["v"].obj, s["X"].obj
    assert close(s.run(f"autograd({text};x)").obj, torch.func.grad(f)(x))
    assert close(s.run(f"hessian({text};x)").obj, torch.func.hessian(f)(x))
    assert close(s.run(f"jvp({text};x;v)").obj[1], torch.func.jvp(f, (x,), (v,))[1])
    assert close(s.run(f"vmap({{autograd({text};x)}};X)").obj, torch.stack([torch.func.grad(f)(r) for r in rows]))


@pytest.mark.parametrize(("text", "f"), VECTOR, ids=[t for t, _ in VECTOR])
def test_vector_functions(s: Session, text: str, f: Any) -> None:
    x, rows = s["x"].obj, s["X"].obj
    assert close(s.run(f"jacobian({text};x)").obj, torch.func.jacrev(f)(x))
    assert close(s.run(f"vmap({text};X)").obj, torch.stack([f(r) for r in rows]))
    w = torch.ones_like(f(x)) * 1.5
    s.run(f"w:0*{text}[x];w+:1.5e")
    assert close(s.run(f"vjp({text};x;w)").obj[1], torch.func.vjp(f, x)[1](w)[0])


def test_gradients_of_items_of_a_module(s: Session) -> None:
    """A gradient of the parameters for each row of a batch."""
    s.run("W:tensor(`randn;3 5);f:{[W;r]autograd({[r;W]Sum tanh W mmu r}[r];W)}")
    got = s.run("vmap(f W;X)").obj
    w = s["W"].obj
    want = [torch.func.grad(lambda w, r=r: (w @ r).tanh().sum())(w) for r in s["X"].obj]
    assert close(got, torch.stack(want))


def test_nothing_is_left(s: Session) -> None:
    before = s.run("count obj[]")
    for text in ("autograd({Sum x*x};x)", "jacobian({x*x};x)", "hessian({Sum x*x};x)", "vmap({x*x};X)", "jvp({x*x};x;v)"):
        s.run(f"{text};")
    assert s.run("count obj[]") == before
    assert s["x"].obj.grad is None and not s["x"].obj.requires_grad


def test_own_gradient(s: Session) -> None:
    """A calculation with its own backward calculation, which here is the right one, has torch's derivatives."""
    own = "{customgrad({x*sin x};{[d;x]d*sin[x]+x*cos x};x)}"
    x, rows = s["x"].obj, s["X"].obj

    def f(x: Any) -> Any:
        return x * x.sin()

    assert close(s.run(f"{own}[x]").obj, f(x))
    assert close(s.run(f"jacobian({own};x)").obj, torch.func.jacrev(f)(x))
    assert close(s.run(f"hessian({{Sum {own}[x]}};x)").obj, torch.func.hessian(lambda x: f(x).sum())(x))
    assert close(s.run(f"vmap({{autograd({{Sum {own}[x]}};x)}};X)").obj,
                 torch.stack([torch.func.grad(lambda x: f(x).sum())(r) for r in rows]))


def test_own_gradient_in_another_thread(s: Session) -> None:
    """torch calculates the gradients of a device in a thread of its own, which knows of no session."""
    s.run("k:3;t:tensor(1 2e;`grad);y:customgrad({x*x};{[d;x]k*d*x};t)")
    y = s["y"].obj
    work = threading.Thread(target=lambda: y.sum().backward())
    work.start()
    work.join()
    assert s["t"].obj.grad.tolist() == [3, 6]
