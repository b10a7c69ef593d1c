"""Training as programs do it, beside the same work in PyTorch: loops written by hand, and loops that `run` drives.

Sizes are a part of those of the programs. One thread; the least processor time of several pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kshell.session import Session
from tests.bench.timing import least, row

Work = Callable[[], Any]

# ------------------------------------------------------------------ small network, every call by hand

SPIRALS = """
q:module seq(`sequential;(`linear;2;100);`relu;(`linear;100;3));
l:loss`ce; o:opt(`sgd;q;.2;.99);
X:tensor(`randn;3000 2); Y:tensor(`randint;3;3000;`long);
f:{[q;l;o;x;y]zerograd o; x:forward(q;x); backward y:loss(l;x;y); free x; step o; return y};
go:{do[100;f[q;l;o;X;Y]]};
"""


def spirals() -> Work:
    import torch

    q = torch.nn.Sequential(torch.nn.Linear(2, 100), torch.nn.ReLU(), torch.nn.Linear(100, 3))
    o, loss = torch.optim.SGD(q.parameters(), 0.2, 0.99), torch.nn.CrossEntropyLoss()
    x, y = torch.randn(3000, 2), torch.randint(3, (3000,))

    def go() -> None:
        for _ in range(100):
            o.zero_grad(set_to_none=False)
            z = loss(q(x), y)
            z.backward()
            o.step()
            z.item()

    return go


# ------------------------------------------------------------------ loops that run drives

EPOCHS = """
q:module seq(`sequential;(`linear;2;100);`relu;(`linear;100;3));
m:model(q;loss`ce;opt(`adamw;q;.01));
train(m;`batchsize`shuffle`metrics;(3000;1b;`accuracy));
train(m;tensor(`randn;3000 2);tensor(`randint;3;3000;`long));
go:{do[100;run m]};
"""

LOGIT = """
q:module enlist(`linear;784;10);
m:model(q;loss`ce;opt(`sgd;q;.04));
train(m;`batchsize`shuffle;100,1b); train(m;tensor(`randn;6000 784);tensor(`randint;10;6000;`long));
go:{do[5;run m]};
"""

BY_HAND = """
q:module enlist(`linear;784;10);
m:model(q;loss`ce;opt(`sgd;q;.04));
X:tensor(`randn;6000 784); Y:tensor(`randint;10;6000;`long);
f:{[m;x;y;i]nograd m; l:backward(m;x i;y i); step m; l};
go:{do[5;r:avg f[m;X;Y]each 100 cut neg[6000]?6000];r};
"""

LSTM = """
q:module`recur; module(q;1;(`lstm;`lstm;28;128;2;1b;1b)); module(q;1;`sequential);
module(q;2;(`select;`last;1;-1)); module(q;2;(`linear;`decode;128;10));
m:model(q;loss`ce;opt(`adamw;q));
train(m;`batchsize`hidden;(60;0b)); train(m;tensor(`randn;600 28 28);tensor(`randint;10;600;`long));
go:{run m};
"""


def shuffled(q: Any, o: Any, x: Any, y: Any, batch: int, epochs: int, accuracy: bool = False) -> Work:
    """Epochs over batches of shuffled data; the mean loss of each, or its accuracy."""
    import torch

    loss, n = torch.nn.CrossEntropyLoss(), len(y)

    def go() -> list[float]:
        out = []
        for _ in range(epochs):
            order = torch.randperm(n)
            a, b, losses, right = x[order], y[order], [], 0
            for i in range(0, n, batch):
                xi, yi = a[i:i + batch], b[i:i + batch]
                o.zero_grad()
                z = q(xi)
                e = loss(z, yi)
                e.backward()
                o.step()
                if accuracy:
                    right += int((z.argmax(1) == yi).sum())
                else:
                    losses.append(e.detach())
            out.append(right / n if accuracy else torch.stack(losses).mean().item())
        return out

    return go


def epochs() -> Work:
    import torch

    q = torch.nn.Sequential(torch.nn.Linear(2, 100), torch.nn.ReLU(), torch.nn.Linear(100, 3))
    return shuffled(q, torch.optim.AdamW(q.parameters(), 0.01), torch.randn(3000, 2), torch.randint(3, (3000,)), 3000,
                    100, accuracy=True)


def logit() -> Work:
    import torch

    q = torch.nn.Linear(784, 10)
    return shuffled(q, torch.optim.SGD(q.parameters(), 0.04), torch.randn(6000, 784), torch.randint(10, (6000,)), 100, 5)


def lstm() -> Work:
    import torch

    read, decode = torch.nn.LSTM(28, 128, 2, batch_first=True), torch.nn.Linear(128, 10)
    o = torch.optim.AdamW([*read.parameters(), *decode.parameters()])
    x, y, loss = torch.randn(600, 28, 28), torch.randint(10, (600,)), torch.nn.CrossEntropyLoss()

    def go() -> float:
        losses = []
        for i in range(0, 600, 60):
            o.zero_grad()
            z = loss(decode(read(x[i:i + 60])[0][:, -1]), y[i:i + 60])
            z.backward()
            o.step()
            losses.append(z.detach())
        return torch.stack(losses).mean().item()

    return go


# ------------------------------------------------------------------ a transformer on rows that q picks

SUMS = """
rows:{j:x div 100; k:x mod 100; flip raze vs'[2 2 3#'10;(j;k;j+k)]}til 10000;
d:64; u:tensor triu(6 6#-0we;1);
blk:{[d;h]q1:seq(`sequential;(`selfattention;d;h;0.;1b));
 q2:seq(`sequential;(`layernorm;d);(`linear;d;4*d;0b);`gelu;(`linear;4*d;d)); (`sequential;(`residual;q1);(`residual;q2))};
out:seq(`sequential;(`layernorm;d);(`linear;d;10;0b));
out,:enlist(`transform;seq(`sequential;(`reshape;-1 10));seq(`sequential;(`select;1;-1)));
q:module(`seqlist;seq(`sequential;(`embedseq;10;d;6));blk[d;4];blk[d;4];out);
m:model(q;loss`ce;opt(`adamw;q;.0006));
one:{[m;u;x]y:1_'x; x:-1_'x; y[;til 3]:-100; nograd m; l:backward(m;(x;u);raze y); clip(m;1); step m; l};
pick:{[m;u;x]x,'argmax(evaluate(m;x;u);1)};
right:{[m;u;x]t:flip update ok:predict=a+b from `a`b`predict!10 sv'0 2 4_flip 3 pick[m;u]/4#'x; exec avg ok from t};
go:{one[m;u]each rows 0N 200#neg[1000]?10000; right[m;u]rows neg[1000]?10000};
"""


def sums() -> Work:
    import torch
    from torch import nn
    from torch.nn.functional import cross_entropy, scaled_dot_product_attention

    d = 64

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.into, self.out = nn.LayerNorm(d), nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d)
            self.mlp = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d, bias=False), nn.GELU(), nn.Linear(4 * d, d))

        def forward(self, x: Any) -> Any:
            b, n, _ = x.shape
            q, k, v = (t.view(b, n, 4, -1).transpose(1, 2) for t in self.into(self.norm(x)).chunk(3, -1))
            y = scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(b, n, d))
            return x + self.mlp(x)

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.token, self.place = nn.Embedding(10, d), nn.Embedding(6, d)
            self.blocks = nn.Sequential(Block(), Block(), nn.LayerNorm(d), nn.Linear(d, 10, bias=False))

        def forward(self, x: Any) -> Any:
            return self.blocks(self.token(x) + self.place(torch.arange(x.shape[1])))

    m = Net()
    o = torch.optim.AdamW(m.parameters(), 0.0006)
    a, b = torch.arange(10000) // 100, torch.arange(10000) % 100
    s = a + b
    rows = torch.stack([a // 10, a % 10, b // 10, b % 10, s // 100, s // 10 % 10, s % 10], 1)

    def go() -> float:
        m.train()
        for i in torch.randperm(10000)[:1000].view(5, 200):
            x, y = rows[i, :-1], rows[i, 1:].clone()
            y[:, :3] = -100
            o.zero_grad()
            e = cross_entropy(m(x).reshape(-1, 10), y.reshape(-1))
            e.backward()
            nn.utils.clip_grad_norm_(m.parameters(), 1)
            o.step()
            e.item()
        m.eval()
        with torch.no_grad():
            i = torch.randperm(10000)[:1000]
            x = rows[i, :4]
            for _ in range(3):
                x = torch.cat([x, m(x)[:, -1].argmax(1, keepdim=True)], 1)
            return (x[:, 4] * 100 + x[:, 5] * 10 + x[:, 6] == s[i]).double().mean().item()

    return go


# ------------------------------------------------------------------ blocks within blocks, epochs of few steps

NBEATS = """
gen:{[u;b;f;t]m:`linear,'((`theta;u;t;0b);(`backcast;t;b);(`forecast;t;f));
 enlist(`fork;seq(`sequential`bc;m 0;`relu;m 1);seq(`sequential`fc;m 0;`relu;m 2))};
block:{[u;n;b;f;t]r:(`sequential;(`linear;b;u);`relu); r,:(2*n-1)#((`linear;u;u);`relu); seq[r],gen[u;b;f;t]};
q:module`nbeats,raze block[256;4;15;5]''[3#'4 8];
m:model(q;loss`mse;opt(`adamw;q;`decay,.1));
train(m;`batchsize;30); train(m;tensor(`randn;119 15);tensor(`randn;119 5));
go:{%/[10{(y[0]+run x;1+y 1)}[m]/0 0]};
"""


def nbeats() -> Work:
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self, theta: int) -> None:
            super().__init__()
            layers: list[Any] = [nn.Linear(15, 256), nn.ReLU()]
            for _ in range(3):
                layers += [nn.Linear(256, 256), nn.ReLU()]
            self.body = nn.Sequential(*layers)
            self.back = nn.Sequential(nn.Linear(256, theta, bias=False), nn.ReLU(), nn.Linear(theta, 15))
            self.ahead = nn.Sequential(nn.Linear(256, theta, bias=False), nn.ReLU(), nn.Linear(theta, 5))

        def forward(self, x: Any) -> Any:
            h = self.body(x)
            return self.back(h), self.ahead(h)

    blocks = nn.ModuleList([Block(t) for t in (4, 4, 4, 8, 8, 8)])
    o, loss = torch.optim.AdamW(blocks.parameters(), weight_decay=0.1), nn.MSELoss()
    data, target = torch.randn(119, 15), torch.randn(119, 5)

    def go() -> float:
        total = 0.0
        for _ in range(10):
            losses = []
            for i in range(0, 119, 30):
                o.zero_grad()
                x, y = data[i:i + 30], torch.zeros(())
                for block in blocks:
                    back, ahead = block(x)
                    x, y = x - back, y + ahead
                e = loss(y, target[i:i + 30])
                e.backward()
                o.step()
                losses.append(e.detach())
            total += torch.stack(losses).mean().item()
        return total / 10

    return go


WORK: tuple[tuple[str, str, Callable[[], Work], int, float], ...] = (
    ("spirals by hand, a step", SPIRALS, spirals, 100, 1.25),
    ("spirals by run and accuracy, an epoch", EPOCHS, epochs, 100, 1.3),
    ("logistic 784-10 by run, an epoch of 60", LOGIT, logit, 5, 1.15),
    ("logistic 784-10 by hand, an epoch of 60", BY_HAND, logit, 5, 1.15),
    ("transformer that adds, 5 steps and a test", SUMS, sums, 1, 1.15),
    ("N-BEATS by run, an epoch of 4 steps", NBEATS, nbeats, 10, 1.15),
    ("LSTM by run, 10 steps of 60", LSTM, lstm, 1, 1.05),
)


def report() -> list[str]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    out = []
    for name, text, peer, n, target in WORK:
        s = Session()
        for line in text.strip().replace("\n ", " ").split("\n"):
            s.run(line)
        a, b = least(lambda s=s: s.run("go[]"), peer(), 5)  # type: ignore[misc]
        out.append(row(name, a / n, b / n, target, "PyTorch loop"))
    torch.set_num_threads(before)
    return out
