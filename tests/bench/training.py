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


def report() -> list[str]:
    s = Session()
    for line in Q.strip().split("\n"):
        s.run(line)
    n = 100
    assert 0 < float(s.run("steps 1").v) < 3
    run = peer(n)
    a, b = paired(lambda: s.run(f"steps {n}"), run, 7)  # type: ignore[arg-type]
    return [row("training step, MLP 2-100-3, 3,000 rows", a / n, b / n, 1.25, "PyTorch loop")]
