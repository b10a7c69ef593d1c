"""The first value that is not finite, in loops of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import get_ident
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode

from kshell.host.finite import Finding, Finite
from kshell.host.host import Host
from kshell.host.steps import Steps

NAN, INF = float("nan"), float("inf")
BAD, ROW = 7, 5  # the step and row in which something is not finite


class Watched:
    """A run that is looked at."""

    def __init__(self, module: nn.Module) -> None:
        self.found: list[Finding] = []
        self.steps = Steps()
        self.finite = Finite(self.steps, get_ident(), lambda optimizer: module, self.found.append)
        self.steps.stepping = self.stepping
        self.steps.watch(self.stepped)
        self.finite.begin()

    def stepping(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        self.finite.look_at_gradients(optimizer)

    def stepped(self, optimizer: Any) -> None:
        self.finite.pending = None
        self.finite.step_ended(optimizer)

    @property
    def step(self) -> int:
        """The step that is made."""
        return self.steps.number + 1

    def end(self) -> None:
        self.finite.end()
        self.steps.unwatch()


@pytest.fixture
def watch() -> Iterator[Callable[[nn.Module], Watched]]:
    made: list[Watched] = []

    def start(module: nn.Module) -> Watched:
        made.append(Watched(module))
        return made[-1]

    yield start
    for watched in made:
        watched.end()


def network() -> nn.Sequential:
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))


def spoiled(t: torch.Tensor) -> torch.Tensor:
    t = t.clone()
    t[ROW] = NAN
    return t


def train(net: nn.Module, watched: Watched, steps: int = 12, x: Any = None, y: Any = None) -> None:
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    loss_fn = nn.MSELoss()
    for _ in range(steps):
        bad = watched.step == BAD
        a, b = torch.randn(16, 4), torch.randn(16, 1)
        optimizer.zero_grad()
        loss_fn(net(x(a) if x and bad else a), y(b) if y and bad else b).backward()
        optimizer.step()


@pytest.mark.parametrize("layer", ["0", "1", "2", "3", "4", "5"])
def test_a_layer_whose_output_a_hook_spoils(watch: Any, layer: str) -> None:
    net = network()
    watched = watch(net)
    net[int(layer)].register_forward_hook(lambda m, a, out: spoiled(out) if watched.step == BAD else out)
    train(net, watched)
    (found,) = watched.found
    assert (found.step, found.layer, found.rows, found.what) == (BAD, layer, [ROW], "the loss is")
    assert found.text == f"step {BAD}: the loss is not finite in {layer}, rows {ROW}"


class Counting(nn.Module):
    """A layer that counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        return spoiled(x) if self.calls == BAD else x


def test_a_layer_that_counts_its_calls(watch: Any) -> None:
    net = network()
    net.insert(3, Counting())
    watched = watch(net)
    train(net, watched)
    (found,) = watched.found
    assert (found.step, found.layer, found.rows) == (BAD, "3", [ROW])
    assert net[3].calls == 12  # as without the repeated call


@pytest.mark.parametrize("layer", ["0", "3"])
def test_what_cannot_be_repeated_is_seen_in_the_graph(watch: Any, layer: str) -> None:
    net, calls = network(), []

    def hook(m: Any, a: Any, out: Any) -> Any:
        calls.append(1)
        return spoiled(out) if len(calls) == BAD else out

    watched = watch(net)
    net[int(layer)].register_forward_hook(hook)
    train(net, watched)
    (found,) = watched.found
    assert (found.step, found.layer, found.rows, found.is_near) == (BAD, layer, [ROW], True)
    assert f"in or after {layer}, rows {ROW}" in found.text


def test_rows_of_the_input_and_of_the_target(watch: Any) -> None:
    for x, y in ((spoiled, None), (None, spoiled)):
        net = network()
        watched = watch(net)
        train(net, watched, x=x, y=y)
        watched.end()
        (found,) = watched.found
        assert (found.step, found.layer, found.rows) == (BAD, "the input", [ROW])


def test_a_target_of_a_function(watch: Any) -> None:
    net = network()
    watched = watch(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(9):
        y = torch.randn(16, 1)
        optimizer.zero_grad()
        nn.functional.mse_loss(net(torch.randn(16, 4)), spoiled(y) if watched.step == BAD else y).backward()
        optimizer.step()
    assert [(f.step, f.rows) for f in watched.found] == [(BAD, [ROW])]


def test_a_parameter_that_somebody_spoils(watch: Any) -> None:
    net = network()
    watched = watch(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(9):
        if watched.step == BAD:
            with torch.no_grad():
                net[3].weight[0, 0] = INF
        optimizer.zero_grad()
        nn.functional.mse_loss(net(torch.randn(16, 4)), torch.randn(16, 1)).backward()
        optimizer.step()
    (found,) = watched.found
    assert (found.step, found.what, found.layer) == (BAD, "parameter 3.weight is", "3")


@pytest.mark.parametrize("looks", [True, False])
def test_a_gradient(watch: Any, looks: bool) -> None:
    """Also where gradients were not looked at in this step: the optimizer's state tells of it in the next one."""
    net = network()
    watched = watch(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(9):
        watched.finite._next = 0.0 if looks else INF
        optimizer.zero_grad()
        nn.functional.mse_loss(net(torch.randn(16, 4)), torch.randn(16, 1)).backward()
        if watched.step == BAD:
            net[3].weight.grad[0, 0] = INF
        optimizer.step()
    (found,) = watched.found
    assert (found.step, found.layer) == (BAD, "3")
    assert found.what == ("the gradient is" if looks else "the gradient of 3.weight was")


def test_a_backward_pass_that_spoils_what_comes_before_it(watch: Any) -> None:
    net = network()
    watched = watch(net)
    net[4].register_full_backward_hook(lambda m, given, out: (given[0] * (NAN if watched.step == BAD else 1),))
    watched.finite._next = 0.0
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(9):
        watched.finite._next = 0.0
        optimizer.zero_grad()
        nn.functional.mse_loss(net(torch.randn(16, 4)), torch.randn(16, 1)).backward()
        optimizer.step()
    assert [(f.step, f.layer, f.what) for f in watched.found] == [(BAD, "3", "the gradient is")]


def test_parts_of_a_batch(watch: Any) -> None:
    net = network()
    watched = watch(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    part = [0]
    net[3].register_forward_hook(lambda m, a, out: spoiled(out) if watched.step == BAD and part == [1] else out)
    for _ in range(9):
        optimizer.zero_grad()
        for part[0] in range(4):
            (nn.functional.mse_loss(net(torch.randn(16, 4)), torch.randn(16, 1)) / 4).backward()
        optimizer.step()
    assert [(f.step, f.layer, f.rows) for f in watched.found] == [(BAD, "3", [ROW])]


def test_a_step_that_calls_the_loss_itself(watch: Any) -> None:
    net = network()
    watched = watch(net)
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.01, max_iter=2)
    net[3].register_forward_hook(lambda m, a, out: spoiled(out) if watched.step == BAD else out)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(x), y)
        loss.backward()
        return loss

    for _ in range(9):
        optimizer.step(closure)
    assert [(f.step, f.layer, f.rows) for f in watched.found] == [(BAD, "3", [ROW])]


def test_a_scaled_loss_whose_step_is_left_out(watch: Any) -> None:
    net = network()
    watched = watch(net)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**100)  # infinite at first, which is no finding
    for i in range(200):
        optimizer.zero_grad()
        with torch.autocast("cpu", torch.bfloat16):
            out = net(spoiled(torch.randn(16, 4)) if i == 150 else torch.randn(16, 4))
            loss = nn.functional.mse_loss(out, torch.randn(16, 1))
        step = watched.step
        scaler.scale(loss).backward()
        if i == 150:
            assert [(f.step, f.layer, f.rows) for f in watched.found] == [(step, "the input", [ROW])]
        scaler.step(optimizer)
        scaler.update()
    assert len(watched.found) == 1


def test_two_optimizers_count_their_own_steps(watch: Any) -> None:
    first, second = network(), network()
    watched = watch(second)
    optimizers = [torch.optim.Adam(net.parameters(), lr=0.01) for net in (first, second)]
    made = [0]
    second[0].register_forward_hook(lambda m, a, out: spoiled(out) if made == [BAD] else out)
    for made[0] in range(1, 10):
        for net, optimizer in zip((first, second), optimizers, strict=True):
            optimizer.zero_grad()
            nn.functional.mse_loss(net(torch.randn(16, 4)), torch.randn(16, 1)).backward()
            optimizer.step()
    assert [(f.step, f.layer, f.optimizer is optimizers[1]) for f in watched.found] == [(BAD, "0", True)]


def test_a_compiled_module(watch: Any) -> None:
    net = network()
    watched = watch(net)
    train(torch.compile(net, backend="eager"), watched, x=spoiled)
    assert [(f.step, f.layer, f.rows) for f in watched.found] == [(BAD, "the input", [ROW])]


def test_a_run_is_the_same_with_a_watch(watch: Any) -> None:
    ends = []
    for is_watched in (True, False):
        net = network()
        net.append(nn.BatchNorm1d(1))
        watched = watch(net) if is_watched else None
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        for i in range(12):
            optimizer.zero_grad()
            x = torch.randn(16, 4)
            loss = net(spoiled(x) if i == BAD else x).square().mean()
            loss.backward()
            if i == BAD:
                for p in net.parameters():
                    p.grad = None
            optimizer.step()
        ends.append([*[p.detach().clone() for p in net.parameters()], torch.rand(3)])
        if watched is not None:
            watched.end()
            assert len(watched.found) == 1
    assert all(torch.equal(a, b) for a, b in zip(*ends, strict=True))
    assert nn.Module.__call__.__qualname__ == "Module._wrapped_call_impl"


def test_modules_and_losses_of_other_kinds(watch: Any) -> None:
    """Scripted modules, keyword arguments, named outputs, losses without a value, norms that are too large: nothing is
    raised into the program, and nothing is found that is not there."""
    scripted = torch.jit.script(nn.Linear(4, 4))
    net = network()

    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net, self.first = net, scripted

        def forward(self, *, batch: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            return {"out": self.net(batch["x"])}

    whole = Whole()
    watched = watch(whole)
    optimizer = torch.optim.SGD(whole.parameters(), lr=1e-9)
    for i in range(1, 10):
        optimizer.zero_grad()
        x = torch.randn(16, 4)
        whole(batch={"x": scripted(spoiled(x) if i == BAD else x)})["out"].mean().backward()
        optimizer.step()
    assert [(f.step, f.layer, f.rows) for f in watched.found] == [(BAD, "the input", [ROW])]
    torch.ones((), device="meta", requires_grad=True).mul(2).backward()
    with FakeTensorMode():
        fake = torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)
        fake.param_groups[0]["params"][0].sum().backward()
        fake.step()
    half = torch.full((100,), 3e4, dtype=torch.float16, requires_grad=True)
    watched.finite._next = 0.0
    small = torch.optim.SGD([half], lr=0.1)
    half.grad = torch.full((100,), 3e4, dtype=torch.float16)
    small.step()
    assert len(watched.found) == 1


def test_a_closure_keeps_what_stands_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The arguments of a step, in their places or by name, with the closure that is looked at."""
    monkeypatch.setenv("KSHELL_RUN", str(tmp_path / "run"))
    host = Host()
    try:
        host.guard.watch()
        for args, kwargs in ((("o", lambda: 3, "more"), {}), (("o",), {"closure": lambda: 3, "more": 1})):
            given, named = host.guard.stepping(object(), args, kwargs)
            closure = named["closure"] if named else given[1]
            assert callable(closure) and closure is not (kwargs["closure"] if kwargs else args[1])
            assert len(given) == len(args) and set(named) == set(kwargs) and given[2:] == args[2:]
        assert host.guard.stepping(SimpleNamespace(param_groups=[]), ("o", None), {}) is None
    finally:
        host.end()
