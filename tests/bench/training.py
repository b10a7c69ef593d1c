"""A training loop written by hand: in q and in Python, same model, data and optimizer."""

from __future__ import annotations

from kshell.session import Session
from tests.bench.timing import paired, row

Q = """
seed 1;
q:module seq(`sequential;(`linear;2;100);`relu;(`linear;100;3));
o:opt(`adamw;q;.01);
x:tensor(`randn;3000 2); y:tensor(`randint;3;3000;`long);
l:loss`ce;
one:{[x;y]zerograd o; yh:forward(q;x); t:loss(l;yh;y); backward t; step o; return t};
steps:{[n]do[n;r:one[x;y]];r};
"""


def peer(n: int) -> object:
    import torch

    torch.manual_seed(1)
    q = torch.nn.Sequential(torch.nn.Linear(2, 100), torch.nn.ReLU(), torch.nn.Linear(100, 3))
    o = torch.optim.AdamW(q.parameters(), 0.01)
    x, y, l = torch.randn(3000, 2), torch.randint(3, (3000,)), torch.nn.CrossEntropyLoss()

    def run() -> float:
        r = 0.0
        for _ in range(n):
            o.zero_grad(set_to_none=False)
            z = l(q(x), y)
            z.backward()
            o.step()
            r = z.item()
        return r

    return run


RUN = """
n:20000;
X:tensor(`randn;n,128); Y:tensor(`randint;10;n);
a:module seq(`sequential;(`linear;128;64);`relu;(`linear;64;10));
m:model(a;loss`ce;opt(`adamw;a)); train(m;`batchsize`shuffle;20,1b); train(m;X;Y);
"""


def loader_loop() -> object:
    """The loop that most people write: DataLoader with shuffling, default AdamW, the loss read at every step."""
    import torch
    from torch.utils.data import DataLoader, TensorDataset

    data = TensorDataset(torch.randn(20000, 128), torch.randint(10, (20000,)))
    q = torch.nn.Sequential(torch.nn.Linear(128, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))
    o, loss = torch.optim.AdamW(q.parameters()), torch.nn.CrossEntropyLoss()

    def run() -> float:
        total = 0.0
        for x, y in DataLoader(data, batch_size=20, shuffle=True):
            o.zero_grad()
            z = loss(q(x), y)
            z.backward()
            o.step()
            total += z.item()
        return total

    return run


def adds() -> object:
    import torch

    x, y = torch.randn(10), torch.randn(10)

    def run() -> None:
        for _ in range(10000):
            torch.add(x, y)

    return run


def report() -> list[str]:
    s = Session()
    for line in Q.strip().split("\n"):
        s.run(line)
    n = 100
    assert 0 < float(s.run("steps 1").v) < 3
    run = peer(n)
    a, b = paired(lambda: s.run(f"steps {n}"), run, 7)  # type: ignore[arg-type]
    out = [row("training step, MLP 2-100-3, 3,000 rows", a / n, b / n, 1.25, "PyTorch loop")]
    s.run("setting(`threads;1)")
    for line in RUN.strip().split("\n"):
        s.run(line)
    a, b = paired(lambda: s.run("run m"), loader_loop(), 3)  # type: ignore[arg-type]
    out.append(row("run m, MLP 128-64-10, batch 20, a batch", a / 1000, b / 1000, 0.55, "DataLoader loop"))
    s.run("u:tensor(`randn;10); v:tensor(`randn;10); g:{[n;a;b]do[n;add(a;b)]}")
    a, b = paired(lambda: s.run("g[10000;u;v]"), adds(), 7)  # type: ignore[arg-type]
    out.append(row("add(x;y) of 10 elements", a / 10000, b / 10000, 4, "torch.add"))
    return out
