"""What a step, a run and a call cost: a loop written by hand, `run m` against the loop that most people write, and one
call of `add`. One thread; the least processor time of several pairs."""

from __future__ import annotations

import torch
from torch import nn
from torch.optim import AdamW
from torch.utils.data import DataLoader, TensorDataset

from kshell.session import Session
from tests.bench.checked import Program, Work, data_of, difference, optimizer, same, session_of
from tests.bench.dense import shuffled
from tests.bench.timing import least, row

Q = """
seed 1;
q:module seq(`sequential;(`linear;2;100);`relu;(`linear;100;3));
o:opt(`adamw;q;.01);
x:tensor(`randn;3000 2); y:tensor(`randint;3;3000;`long);
l:loss`ce;
one:{[x;y]zerograd o; yh:forward(q;x); t:loss(l;yh;y); backward t; step o; return t};
steps:{[n]do[n;r:one[x;y]];r};
"""


def by_hand(n: int) -> Work:
    torch.manual_seed(1)
    q = nn.Sequential(nn.Linear(2, 100), nn.ReLU(), nn.Linear(100, 3))
    o = AdamW(q.parameters(), 0.01)
    x, y, loss = torch.randn(3000, 2), torch.randint(3, (3000,)), nn.CrossEntropyLoss()

    def go() -> float:
        r = 0.0
        for _ in range(n):
            o.zero_grad(set_to_none=False)
            z = loss(q(x), y)
            z.backward()
            o.step()
            r = z.item()
        return r

    return go


RUN = """
seed 1; n:20000;
X:tensor(`randn;n,128); Y:tensor(`randint;10;n);
a:module seq(`sequential;(`linear;128;64);`relu;(`linear;64;10));
m:model(a;loss`ce;opt(`adamw;a)); train(m;`batchsize`shuffle;20,1b); train(m;X;Y);
"""


def loader_loop(s: Session, _fused: bool) -> tuple[list[nn.Module], Work]:
    """The loop that most people write: DataLoader with shuffling, default AdamW, the loss read at every step."""
    data = TensorDataset(*data_of(s))
    q = same(nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)), s)
    o, loss = AdamW(q.parameters()), nn.CrossEntropyLoss()

    def go() -> float:
        total = 0.0
        for x, y in DataLoader(data, batch_size=20, shuffle=True):
            o.zero_grad()
            z = loss(q(x), y)
            z.backward()
            o.step()
            total += z.item()
        return total

    return [q], go


def index_loop(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    """The same by the batches that `run` takes."""
    q = same(nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)), s)
    return [q], shuffled(q, optimizer(AdamW, q.parameters(), fused), *data_of(s), 20, 1)


def bits() -> list[str]:
    """How far an epoch of `run m` is from the same batches in PyTorch, with fused kernels and with the default ones."""
    text = RUN + "train(m;`metrics;`batchloss); go:{run m}"
    out = []
    for name, fused, limit in (("fused", True, 0.0), ("default", False, 1e-5)):
        found = difference(Program(name, text, lambda s, _, f=fused: index_loop(s, f), 1, 1))  # type: ignore[misc]
        out.append(f"{'ok  ' if found <= limit else 'MISS'} {'run m, 1,000 steps, losses and weights':40} apart by "
                   f"{found:.0e} from PyTorch's {name} AdamW (<= {limit:g})")
    return out


def adds() -> Work:
    x, y = torch.randn(10), torch.randn(10)

    def go() -> None:
        for _ in range(10000):
            torch.add(x, y)

    return go


def report() -> list[str]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        s, n = session_of(Q), 100
        assert 0 < float(s.run("steps 1").v) < 3
        a, b = least(lambda: s.run(f"steps {n}"), by_hand(n), 7)
        out = [row("training step, MLP 2-100-3, 3,000 rows", a / n, b / n, 1.25, "PyTorch loop")]
        s = session_of(RUN)
        a, b = least(lambda: s.run("run m"), loader_loop(s, False)[1], 3)
        out += [row("run m, MLP 128-64-10, batch 20, a batch", a / 1000, b / 1000, 0.55, "DataLoader loop"), *bits()]
        s = session_of("u:tensor(`randn;10); v:tensor(`randn;10); g:{[n;a;b]do[n;add(a;b)]}")
        a, b = least(lambda: s.run("g[10000;u;v]"), adds(), 7)
        return [*out, row("add(x;y) of 10 elements", a / 10000, b / 10000, 4, "torch.add")]
    finally:
        torch.set_num_threads(before)
