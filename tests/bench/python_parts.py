"""Python's parts in a step of `run`: a class of the user's against the same layers as types of kshell, a loss in Python
against the built-in, a DataLoader against the usual loop over it. One thread; the least processor time of several pairs."""

from __future__ import annotations

import json

import torch
from torch import nn
from torch.optim import AdamW
from torch.utils.data import DataLoader, TensorDataset

from tests.bench.checked import Work, data_of, same, session_of
from tests.bench.timing import least, row

PYTHON = """
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = torch.nn.Linear(128, 64), torch.nn.Linear(64, 10)
    def forward(self, x): return self.b(torch.relu(self.a(x)))
ce = torch.nn.functional.cross_entropy
def loader(x, y): return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), 20)
"""
TEXT = """
seed 1; n:4000;
X:tensor(`randn;n,128); Y:tensor(`randint;10;n);
b:module seq(`sequential;(`linear;128;64);`relu;(`linear;64;10));
a:.p.eval["Net()"]`;
made:{[q;l]k:model(q;l;opt(`adamw;q));train(k;`batchsize;20);train(k;X;Y);k};
types:made[b;loss`ce]; class:made[a;loss`ce]; python:made[b;.p.get`ce]; q:made[b;{ce(x;y)}];
m:made[b;loss`ce]; train(m;.p.get[`loader][X;Y]);
"""


def report() -> list[str]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        s = session_of(".p.e" + json.dumps(PYTHON) + TEXT)
        rows = []
        for name, run, peer, target, words in (
            ("run, a class of the user's, a batch", "run class", "run types", 1.05, "types of kshell"),
            ("run, a loss in Python, a batch", "run python", "run types", 1.1, "the loss ce"),
            ("run, a loss in q, a batch", "run q", "run types", 1.3, "the loss ce"),
        ):
            a, b = least(lambda text=run: s.run(text), lambda text=peer: s.run(text), 40)  # type: ignore[misc]
            rows.append(row(name, a / 200, b / 200, target, words))
        net = same(nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)), s)
        for name, fused in (("the loop over it", False), ("with a fused AdamW", True)):
            a, b = least(lambda: s.run("run m"), loop(net, TensorDataset(*data_of(s, "types")), fused), 40)
            rows.append(row("run over a DataLoader, a batch", a / 200, b / 200, 1.0, name))
        return rows
    finally:
        torch.set_num_threads(before)


def loop(net: nn.Module, data: TensorDataset, fused: bool) -> Work:
    """The loop that most people write."""
    o, loss = AdamW(net.parameters(), fused=fused), nn.CrossEntropyLoss()

    def go() -> float:
        total = 0.0
        for x, y in DataLoader(data, batch_size=20):
            o.zero_grad()
            z = loss(net(x), y)
            z.backward()
            o.step()
            total += z.item()
        return total

    return go
