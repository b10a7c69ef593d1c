"""The losses of `.run.steps`: whatever way `backward` is called."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.checkpoint import checkpoint

from kshell.host.steps import Steps
from kshell.python.outof import from_q
from tests.host.programs import BEGIN, END, NET, running

w = torch.nn.Parameter(torch.tensor(3.0))
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)


class Named(torch.Tensor):
    """A class of tensors that torch asks how its functions are called."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return super().__torch_function__(func, types, args, kwargs or {})


def scaled() -> None:
    torch.autograd.backward(scaler.scale([w * 2, w * 3]))


def with_a_device() -> None:
    with torch.device("cpu"):  # a mode, which is asked as such a class is
        torch.autograd.backward(w * 2)
        (w * 2).backward()


def with_edges() -> None:
    torch.autograd.backward(torch.autograd.graph.get_gradient_edge(w * 2))


# what is called before a step, and the loss of that
CALLS: dict[str, tuple[Callable[[], Any], float]] = {
    "the method": (lambda: (w * 2).backward(), 6),
    "the method with a gradient": (lambda: (w * 2).backward(torch.tensor(1.0)), 6),
    "the function": (lambda: torch.autograd.backward(w * 2), 6),
    "the function by name": (lambda: torch.autograd.backward(tensors=w * 2, retain_graph=True), 6),
    "several": (lambda: torch.autograd.backward([w * 2, w * 3]), 15),
    "both ways": (lambda: ((w * 2).backward(), torch.autograd.backward((w * 3,))), 15),
    "in another pass": (lambda: checkpoint(lambda x: x * 2, w, use_reentrant=True).backward(), 6),
    "a class of its own": (lambda: (w * 2).as_subclass(Named).backward(), 6),
    "a class of its own, by the function": (lambda: torch.autograd.backward((w * 2).as_subclass(Named)), 6),
    "with a device": (with_a_device, 12),
    "scaled": (lambda: scaler.scale(w * 2).backward(), 6),
    "several scaled": (scaled, 15),
    "several numbers": (lambda: (w * torch.ones(3)).backward(torch.ones(3)), math.nan),
    "edges": (with_edges, math.nan),
    "none": (lambda: None, math.nan),
}


@pytest.fixture
def steps() -> Iterator[Steps]:
    found = Steps()
    found.watch(lambda _: None)
    yield found
    found.unwatch()


@pytest.mark.parametrize("name", CALLS)
def test_what_backward_is_called_on_is_the_loss(steps: Steps, name: str) -> None:
    call, loss = CALLS[name]
    optimizer = torch.optim.SGD([w], lr=0.0)
    call()
    optimizer.step()
    assert from_q(steps.table({}))["loss"].tolist() == pytest.approx([loss], nan_ok=True)


def test_a_closure_that_is_called_again_and_again_counts_once(steps: Steps) -> None:
    def closure() -> torch.Tensor:
        loss = (w - 5) ** 2
        torch.autograd.backward([loss])
        return loss

    optimizer = torch.optim.LBFGS([w], lr=0.0, max_iter=3)
    w.grad = None
    optimizer.step(closure)  # type: ignore[arg-type]
    assert from_q(steps.table({}))["loss"].tolist() == [4.0]


def test_torch_is_left_as_it_was() -> None:
    before = torch.autograd.backward, torch.Tensor.backward
    steps = Steps()
    steps.watch(lambda _: None)
    taken = torch.autograd.backward
    given = [(p.name, p.default) for p in inspect.signature(taken, follow_wrapped=False).parameters.values()]
    assert given == [(p.name, p.default) for p in inspect.signature(before[0]).parameters.values()]
    steps.unwatch()
    assert (torch.autograd.backward, torch.Tensor.backward) == before
    taken(w * 2)  # by a module that imported the function meanwhile
    assert steps.losses == []


def test_a_pass_that_a_client_makes_is_no_loss_of_the_program(tmp_path: Path) -> None:
    text = BEGIN + NET + """
from torch.autograd import backward
optimizer = torch.optim.SGD(net.parameters(), lr=0.)
def main():
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        backward(loss_fn(net(x) * 0, y * 0 + 1))
        optimizer.step()
        say(step, optimizer)
main()
""" + END
    with running(tmp_path, text, STEPS="100000") as program:
        client = program.client()
        client("pause[]")
        client("m:module seq(`sequential;(`linear;8;1))")
        client("backward Sum forward(m;x)")
        at = client(".run.step")
        client("go[]")
        program.until(lambda: client(".run.step") > at + 3)
        assert set(client("exec loss from .run.steps").tolist()) == {1.0}
