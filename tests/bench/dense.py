"""Small dense networks, by hand and by `run`: B1 to B4 and B9."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.optim import SGD, AdamW

from kshell.session import Session
from tests.bench.checked import Program, Work, data_of, optimizer, same

# ------------------------------------------------------------------ every call by hand

SPIRALS = """
seed 1;
m:module seq(`sequential;(`linear;2;100);`relu;(`linear;100;3));
l:loss`ce; o:opt(`sgd;m;.2;.99);
X:tensor(`randn;3000 2); Y:tensor(`randint;3;3000;`long);
f:{[q;l;o;x;y;i]zerograd o; x:forward(q;x); backward y:loss(l;x;y); free x; step o; return y};
go:{f[m;l;o;X;Y]each til 200};
"""


def spirals(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    q = same(nn.Sequential(nn.Linear(2, 100), nn.ReLU(), nn.Linear(100, 3)), s)
    o, loss = optimizer(SGD, q.parameters(), fused, lr=0.2, momentum=0.99), nn.CrossEntropyLoss()
    x, y = s["X"].obj, s["Y"].obj

    def go() -> list[float]:
        out = []
        for _ in range(200):
            o.zero_grad(set_to_none=False)
            z = loss(q(x), y)
            z.backward()
            o.step()
            out.append(z.item())
        return out

    return [q], go


# ------------------------------------------------------------------ loops that run drives

EPOCHS = """
seed 1;
q:module seq(`sequential;(`linear;2;100);`relu;(`linear;100;3));
m:model(q;loss`ce;opt(`adamw;q;.01));
train(m;`batchsize`shuffle`metrics;(3000;1b;`accuracy));
train(m;tensor(`randn;3000 2);tensor(`randint;3;3000;`long));
go:{{run m}each til 100};
"""

LOGIT = """
seed 1;
q:module enlist(`linear;784;10);
m:model(q;loss`ce;opt(`sgd;q;.04));
train(m;`batchsize`shuffle`metrics;(100;1b;`batchloss)); train(m;tensor(`randn;60000 784);tensor(`randint;10;60000;`long));
go:{run m};
"""

LOGIT_BY_HAND = """
seed 1;
q:module enlist(`linear;784;10);
m:model(q;loss`ce;opt(`sgd;q;.04));
X:tensor(`randn;6000 784); Y:tensor(`randint;10;6000;`long); I:5 60 100#raze{neg[6000]?6000}each til 5;
f:{[m;x;y;i]nograd m; l:backward(m;x i;y i); step m; l};
go:{avg each f[m;X;Y]''[I]};
"""

LINEAR = """
seed 1;
q:module seq(`sequential;(`linear;784;800);`relu;(`linear;800;10));
m:model(q;loss`ce;opt(`sgd;q;.05;.9;`nesterov,1b));
train(m;`batchsize`shuffle`metrics;(100;1b;`batchloss)); train(m;tensor(`randn;60000 784);tensor(`randint;10;60000;`long));
go:{run m};
"""


def shuffled(q: Any, o: Any, x: Any, y: Any, batch: int, epochs: int, accuracy: bool = False) -> Work:
    """Epochs over batches of shuffled data; the loss of each batch, or the accuracy of each epoch."""
    loss, n = nn.CrossEntropyLoss(), len(y)

    def go() -> list[float]:
        nonlocal x, y
        out: list[float] = []
        for _ in range(epochs):
            order = torch.randperm(n)
            x, y = x[order], y[order]
            losses, right = [], 0
            for i in range(0, n, batch):
                xi, yi = x[i:i + batch], y[i:i + batch]
                o.zero_grad()
                z = q(xi)
                e = loss(z, yi)
                e.backward()
                o.step()
                if accuracy:
                    right += int((z.argmax(1) == yi).sum())
                else:
                    losses.append(e.detach())
            out += [100 * right / n] if accuracy else torch.stack(losses).tolist()
        return out

    return go


def epochs(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    q = same(nn.Sequential(nn.Linear(2, 100), nn.ReLU(), nn.Linear(100, 3)), s)
    return [q], shuffled(q, optimizer(AdamW, q.parameters(), fused, lr=0.01), *data_of(s), 3000, 100, accuracy=True)


def logit(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    q = same(nn.Linear(784, 10), s)
    return [q], shuffled(q, optimizer(SGD, q.parameters(), fused, lr=0.04), *data_of(s), 100, 1)


def linear(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    q = same(nn.Sequential(nn.Linear(784, 800), nn.ReLU(), nn.Linear(800, 10)), s)
    o = optimizer(SGD, q.parameters(), fused, lr=0.05, momentum=0.9, nesterov=True)
    return [q], shuffled(q, o, *data_of(s), 100, 1)


def logit_by_hand(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    q = same(nn.Linear(784, 10), s)
    o, loss = optimizer(SGD, q.parameters(), fused, lr=0.04), nn.CrossEntropyLoss()
    x, y, rows = s["X"].obj, s["Y"].obj, torch.from_numpy(s["I"].a)

    def go() -> list[float]:
        out = []
        for epoch in rows:
            total = 0.0
            for i in epoch:
                o.zero_grad()
                e = loss(q(x[i]), y[i])
                e.backward()
                o.step()
                total += e.item()
            out.append(total / len(epoch))
        return out

    return [q], go


# ------------------------------------------------------------------ blocks within blocks, epochs of few steps

NBEATS = """
seed 1;
gen:{[u;b;f;t]m:`linear,'((`theta;u;t;0b);(`backcast;t;b);(`forecast;t;f));
 enlist(`fork;seq(`sequential`bc;m 0;`relu;m 1);seq(`sequential`fc;m 0;`relu;m 2))};
block:{[u;n;b;f;t]r:(`sequential;(`linear;b;u);`relu); r,:(2*n-1)#((`linear;u;u);`relu); seq[r],gen[u;b;f;t]};
q:module`nbeats,raze block[256;4;15;5]''[3#'4 8];
m:model(q;loss`mse;opt(`adamw;q;`decay,.1));
train(m;`batchsize;30); train(m;tensor(`randn;119 15);tensor(`randn;119 5));
go:{%/[25{(y[0]+run x;1+y 1)}[m]/0 0]};
"""


def nbeats(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
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

    blocks = same(nn.ModuleList([Block(t) for t in (4, 4, 4, 8, 8, 8)]), s)
    o, loss = optimizer(AdamW, blocks.parameters(), fused, weight_decay=0.1), nn.MSELoss()
    data, target = data_of(s)

    def go() -> float:
        total = 0.0
        for _ in range(25):
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
                losses.append(e.detach().double())
            total += torch.stack(losses).mean().item()
        return total / 25

    return [blocks], go


PROGRAMS = (
    Program("B1 spirals by hand, 200 steps, a step", SPIRALS, spirals, 200, 1.25),
    Program("B2 spirals by run, accuracy, 100 epochs, an epoch", EPOCHS, epochs, 100, 1.3),
    Program("B3 logistic 784-10 by run, 60,000 rows", LOGIT, logit, 1, 1.15),
    Program("B3 logistic 784-10 by hand, 6,000 rows, an epoch", LOGIT_BY_HAND, logit_by_hand, 5, 1.15),
    Program("B4 linear 784-800-10 by run, 60,000 rows", LINEAR, linear, 1, 1.05, rounds=2),
    Program("B9 N-BEATS by run, 25 epochs, an epoch", NBEATS, nbeats, 25, 1.15, limit=1e-6),
)
