"""Run by torchrun in two processes: edits of modules that `fully_shard` has divided, and of the same modules whole; both
compute the same, with the same batches. Prints how many cases there were."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

from kshell.errors import QError
from kshell.host.edits import Edits
from kshell.python.session import Session

Net = Any


class Tied(nn.Module):
    """Two layers with one weight."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 4)
        self.b.weight = self.a.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.c(self.b(self.a(x).relu()))
        return out


def plain() -> Net:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Sequential(nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 8)), nn.Linear(8, 4))


def wrapped(*units: str, sizes: tuple[int, ...] = (2,), **settings: Any) -> Callable[[Net], None]:
    """What makes units of some modules and the whole one, on a mesh of some sizes."""

    def wrap(net: Net) -> None:
        mesh = init_device_mesh("cpu", sizes, mesh_dim_names=("copies", "parts")[-len(sizes) :])
        for name in (*units, ""):
            fully_shard(net.get_submodule(name), mesh=mesh, **settings)

    return wrap


CASES: dict[str, tuple[Callable[[], Net], Callable[[Net], None], list[str]]] = {
    "a layer of the outermost unit": (plain, wrapped(), ["child(net;`3;(`linear;8;4;0b))", "undo 1", "child(net;`0;(`linear;8;16))", "undo 2"]),
    "a layer that is a unit": (plain, wrapped("0", "3"), ["child(net;`3;(`linear;8;4;0b))", "child(net;`0;(`linear;8;16))", "undo 1", "undo 2"]),
    "a layer within a unit": (plain, wrapped("2"), ["child(net;`2.0;(`linear;16;16;0b))", "undo 1", "undo 1"]),
    "a unit with units in it": (plain, wrapped("2.0", "2"), ["child(net;`2;(`seqnest;(`linear;16;16);`relu;(`linear;16;8)))", "undo 1", "undo 1"]),
    "a module with a unit in it": (plain, wrapped("2.0"), ["child(net;`2;(`seqnest;(`linear;16;8);`relu))", "undo 1", "undo 1"]),
    "a layer without parameters in a unit's place": (plain, wrapped("2"), ["child(net;`2.0;`relu)", "child(net;`2.2;(`linear;16;8))", "undo 2"]),
    "a unit without parameters": (plain, wrapped("2.0", "2.2"), ["child(net;`2.0;`relu)", "undo 1", "child(net;`2.0;(`linear;16;16;0b))"]),
    "an outermost unit without parameters": (
        plain, wrapped("0", "2", "3"), ["child(net;`1;(`linear;16;16))", "undo 1", "undo 1", "child(net;`1;`tanh)"]),
    "two layers at once": (plain, wrapped("0"), ["child(net;`0;(`linear;8;16));child(net;`3;(`linear;8;4;0b))", "undo 1"]),
    "a frozen layer": (plain, wrapped("0"), ["freeze(net;`0`3)", "child(net;`3;(`linear;8;4))", "unfreeze net", "undo 3"]),
    "a rate of its own": (plain, wrapped("2"), ["parmtable(net;update lr:.02 from parmtable[net]where name like\"3.*\")", "child(net;`3;(`linear;8;4))"]),
    "whole parameters after the forward call": (plain, wrapped("0", "2", reshard_after_forward=False), ["child(net;`0;(`linear;8;16))", "undo 1"]),
    "parts and copies": (plain, wrapped("0", sizes=(1, 2)), ["child(net;`0;(`linear;8;16));child(net;`3;(`linear;8;4))", "undo 1"]),
    "copies of one part": (plain, wrapped("0", sizes=(2, 1)), ["child(net;`0;(`linear;8;16));child(net;`3;(`linear;8;4))", "undo 1"]),
    "a weight that two layers have": (Tied, wrapped(), ["child(net;`b;(`linear;8;8))", "undo 1", "child(net;`a;(`linear;8;8;0b))"]),
}


class Side:
    """A module with an optimizer, and the edits of both."""

    def __init__(self, make: Callable[[], Net], wrap: Callable[[Net], None] = lambda net: None) -> None:
        torch.manual_seed(1)
        self.net = make()
        wrap(self.net)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), lr=0.01)
        self.session = Session(err=io.StringIO())
        self.session["net"], self.session["optimizer"] = self.net, self.optimizer
        self.edits = Edits(self.session, lambda: 0, lambda: {"net": self.net, "optimizer": self.optimizer})

    def train(self, x: torch.Tensor) -> float:
        self.optimizer.zero_grad()
        loss = (self.net(x) - x[:, :4]).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def edit(self, text: str, seed: int) -> None:
        torch.manual_seed(seed)
        if text.startswith("undo"):
            self.session.handle(self.edits.undo, int(text.split()[1]))
        else:
            self.session.handle(self.edits.attempt, text, self.session.evaluate, text)

    def values(self) -> dict[str, torch.Tensor]:
        return {n: p.detach().full_tensor() if hasattr(p, "full_tensor") else p.detach() for n, p in self.net.named_parameters()}


def run(name: str) -> None:
    make, wrap, texts = CASES[name]
    whole, divided = Side(make), Side(make, wrap)
    for seed, text in enumerate(["", *texts], 10):
        if text:
            for side in (whole, divided):
                side.edit(text, seed)
        for step in range(3):
            torch.manual_seed(100 * seed + step)
            x = torch.randn(12, 8)
            a, b = whole.train(x), divided.train(x)
            assert abs(a - b) < 1e-5 * (1 + abs(a)), (name, text, step, a, b)
        same(whole.values(), divided.values(), (name, text))
        options = StateDictOptions(full_state_dict=True)
        same(whole.net.state_dict(), {**whole.net.state_dict(), **get_model_state_dict(divided.net, options=options)}, (name, text))
        assert all(hasattr(p, "full_tensor") for p in divided.net.parameters())
        table = ".Q.s select name,parmgroup,size,lr,gradflag from parmtable net"
        assert divided.session(table) == whole.session(table)


def same(a: dict[str, torch.Tensor], b: dict[str, torch.Tensor], where: object) -> None:
    assert list(a) == list(b), (where, list(a), list(b))
    for n in a:
        torch.testing.assert_close(a[n], b[n], rtol=1e-4, atol=1e-5, msg=lambda m, n=n: f"{where} {n}: {m}")


def refused() -> None:
    """What cannot be exchanged is refused, and nothing changes."""
    side = Side(plain, lambda net: [fully_shard([net[0], net[1]]), fully_shard(net)])  # type: ignore[arg-type,return-value]
    side.train(torch.ones(3, 8))
    before = side.values()
    try:
        side.edit("child(net;`0;(`linear;8;16))", 1)
        raise AssertionError("not refused")
    except QError as e:
        assert e.text == "nyi: child under fully_shard"
    same(before, side.values(), "refused")
    side.train(torch.ones(3, 8))


def main() -> None:
    torch.set_num_threads(1)
    os.environ["KSHELL_EDITS"] = os.devnull
    dist.init_process_group("gloo")
    for name in CASES:
        run(name)
    refused()
    if dist.get_rank() == 0:
        print(len(CASES), "cases")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
