"""Networks on images: two against each other (B7), convolutions and a compact transformer (B11)."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.optim import SGD, Adam, AdamW

from kshell.session import Session
from tests.bench.checked import Program, Work, data_of, optimizer, same

# ------------------------------------------------------------------ one makes images, one tells them from those given

ADVERSARY = """
seed 1;
w:60; X:tensor(`randn;300 1 28 28);
a:`pad`bias!(1;0b);
maker:module seq(`sequential;(`convtranspose2d;100;256;4;`bias,0b);(`batchnorm2d;256);`relu;
 (`convtranspose2d;256;128;3;2;a);(`batchnorm2d;128);`relu;(`convtranspose2d;128;64;4;2;a);(`batchnorm2d;64);`relu;
 (`convtranspose2d;64;1;4;2;a);`tanh);
a:`bias,0b;
judge:module seq(`sequential;(`conv2d;1;64;4;2;1;a);(`leakyrelu;.2);(`conv2d;64;128;4;2;1;a);(`batchnorm2d;128);(`leakyrelu;.2);
 (`conv2d;128;256;4;2;1;a);(`batchnorm2d;256);(`leakyrelu;.2);(`conv2d;256;1;3;1;0;a);`sigmoid;(`flatten;0));
g:model(maker;loss`bce;opt(`adam;maker;.0002;.5)); d:model(judge;loss`bce;opt(`adam;judge;.0002;.5));
t:(tensor(;w)@)'[`empty`zeros`ones]; noise:tensor(`empty;w,100 1 1);
turn:{[d;g;t;x;z;w;i]batch(x;w;i);
 uniform(t 0;.8;1.); zerograd d; real:backward(d;x;t 0);
 normal z; y:forward(g;z); fake:detach y; made:backward(d;fake;t 1); free fake; step d;
 zerograd g; won:backward(d;y;t 2); free y; step g; (real+made),won};
go:{r:turn[d;g;t;X;noise;w]each til 5; restore X; r};
"""


def adversary(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    maker = same(nn.Sequential(
        nn.ConvTranspose2d(100, 256, 4, bias=False), nn.BatchNorm2d(256), nn.ReLU(),
        nn.ConvTranspose2d(256, 128, 3, 2, 1, bias=False), nn.BatchNorm2d(128), nn.ReLU(),
        nn.ConvTranspose2d(128, 64, 4, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
        nn.ConvTranspose2d(64, 1, 4, 2, 1, bias=False), nn.Tanh()), s, "g")
    judge = same(nn.Sequential(
        nn.Conv2d(1, 64, 4, 2, 1, bias=False), nn.LeakyReLU(0.2),
        nn.Conv2d(64, 128, 4, 2, 1, bias=False), nn.BatchNorm2d(128), nn.LeakyReLU(0.2),
        nn.Conv2d(128, 256, 4, 2, 1, bias=False), nn.BatchNorm2d(256), nn.LeakyReLU(0.2),
        nn.Conv2d(256, 1, 3, bias=False), nn.Sigmoid(), nn.Flatten(0)), s, "d")
    g, d = (optimizer(Adam, m.parameters(), fused, lr=0.0002, betas=(0.5, 0.999)) for m in (maker, judge))
    images, loss, no, yes = s["X"].obj, nn.BCELoss(), torch.zeros(60), torch.ones(60)

    def go() -> list[float]:
        out = []
        for i in range(0, 300, 60):
            nearly = torch.empty(60).uniform_(0.8, 1.0)
            d.zero_grad()
            real = loss(judge(images[i:i + 60]), nearly)
            real.backward()
            y = maker(torch.randn(60, 100, 1, 1))
            made = loss(judge(y.detach()), no)
            made.backward()
            d.step()
            g.zero_grad()
            won = loss(judge(y), yes)
            won.backward()
            g.step()
            out += [(real + made).item(), won.item()]
        return out

    return [maker, judge], go


# ------------------------------------------------------------------ two convolutions, large batches

CONV = """
seed 1;
q:module seq(`sequential;(`conv2d;1;20;5);(`batchnorm2d;20);`relu;(`maxpool2d;2);(`conv2d;20;50;5);(`batchnorm2d;50);`relu;
 (`maxpool2d;2);`flatten;(`linear;800;500);`relu;(`linear;500;10));
m:model(q;loss`ce;opt(`sgd;q;.05));
train(m;`batchsize`shuffle`metrics;(1000;1b;`batchloss)); train(m;tensor(`randn;3000 1 28 28);tensor(`randint;10;3000;`long));
go:{run m};
"""


def shuffled(m: nn.Module, o: Any, loss: nn.Module, x: Any, y: Any, batch: int) -> Work:
    """An epoch over batches of shuffled images: the losses."""

    def go() -> list[float]:
        nonlocal x, y
        order = torch.randperm(len(y))
        x, y = x[order], y[order]
        losses = []
        for i in range(0, len(y), batch):
            o.zero_grad()
            e = loss(m(x[i:i + batch]), y[i:i + batch])
            e.backward()
            o.step()
            losses.append(e.detach())
        return torch.stack(losses).tolist()  # type: ignore[no-any-return]

    return go


def conv(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    m = same(nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.BatchNorm2d(20), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.BatchNorm2d(50),
        nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 500), nn.ReLU(), nn.Linear(500, 10)), s)
    return [m], shuffled(m, optimizer(SGD, m.parameters(), fused, lr=0.05), nn.CrossEntropyLoss(), *data_of(s), 1000)


# ------------------------------------------------------------------ a compact transformer on tokens of convolutions

COMPACT = """
seed 1;
e:128; h:2; p:.1;
way:{[p;x]seq(`sequential),x,enlist(`droppath;p)};
blk:{[e;h;p;r](`sequential;(`residual;way[r;enlist(`selfattention;e;h;p;1b)]);
 (`residual;way[r;((`layernorm;e);(`linear;e;e);`gelu;(`linear;e;e))]))}[e;h;p];
see:{[i;o]((`conv2d;i;o;3;1;1;`bias,0b);`relu;(`maxpool2d;3;2;1))};
norm:(`zscore;.13e;.31e);
q:{module(x;1;module y); x}/[module`sequential;(
 (`transform;seq(`sequential;(`randomcrop;28;3);norm);seq(`sequential;norm));
 seq(`seqnest),see[1;64],see[64;e],((`flatten;2;3);`transpose);
 (`residual;seq(`sequential;(`embedpos;49;e)));
 (`seqlist;blk 0.;blk p);
 (`seqnest;enlist(`layernorm;e);(`seqjoin;seq(`sequential;(`linear;e;1);(`softmax;1);`transpose);`matmul);enlist(`squeeze;-2);
  enlist(`linear;e;10)))];
k:parmtypes q; b:where(k in`layernorm`embedpos)|key[k]like"*.bias";
o:opt(`adamw;();.0005;.9;.95); opt(o;0;(q;b);`decay,0f); opt(o;1;(q;key[k]except b);`decay,.1);
m:model(q;loss(`ce;`smoothing,.2);o);
train(m;`batchsize`shuffle`metrics;(50;1b;`batchloss)); train(m;tensor(`rand;500 1 28 28);tensor(`randint;10;500;`long));
go:{run m};
"""


def drop_path(x: Any, p: float) -> Any:
    """Whole samples without what a layer adds, as often as p."""
    return x / (1 - p) * (torch.rand(x.shape[0], 1, 1) + (1 - p)).floor() if p else x


class Encoder(nn.Module):
    def __init__(self, d: int, heads: int, p: float, path: float) -> None:
        super().__init__()
        self.heads, self.p, self.path = heads, p, path
        self.norm, self.into, self.out = nn.LayerNorm(d), nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, d), nn.GELU(), nn.Linear(d, d))

    def forward(self, x: Any) -> Any:
        b, n, d = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.into(self.norm(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.p)
        x = x + drop_path(self.out(y.transpose(1, 2).reshape(b, n, d)), self.path)
        return x + drop_path(self.mlp(x), self.path)


class Compact(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.see = nn.Sequential(nn.Conv2d(1, 64, 3, 1, 1, bias=False), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
                                 nn.Conv2d(64, 128, 3, 1, 1, bias=False), nn.ReLU(), nn.MaxPool2d(3, 2, 1), nn.Flatten(2, 3))
        self.place = nn.Embedding(49, 128)
        self.blocks = nn.Sequential(Encoder(128, 2, 0.1, 0.0), Encoder(128, 2, 0.1, 0.1))
        self.norm, self.pool, self.out = nn.LayerNorm(128), nn.Linear(128, 1), nn.Linear(128, 10)

    def forward(self, x: Any) -> Any:
        n = len(x)
        down, right = torch.randint(7, (n,)), torch.randint(7, (n,))
        rows, cols, at = down[:, None] + torch.arange(28), right[:, None] + torch.arange(28), torch.arange(n)
        x = F.pad(x, (3, 3, 3, 3))[at[:, None, None], :, rows[:, :, None], cols[:, None, :]].movedim(-1, 1)
        x = self.see((x - 0.13) / 0.31).transpose(-2, -1)
        x = self.norm(self.blocks(x + self.place.weight))
        return self.out((torch.softmax(self.pool(x), 1).transpose(-2, -1) @ x).squeeze(-2))


def compact(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    m = same(Compact(), s)
    few = [p for name, p in m.named_parameters() if p.dim() < 2 or name == "place.weight"]
    many = [p for p in m.parameters() if not any(p is q for q in few)]
    o = optimizer(AdamW, [{"params": few, "weight_decay": 0.0}, {"params": many, "weight_decay": 0.1}], fused,
                  lr=0.0005, betas=(0.9, 0.95))
    return [m], shuffled(m, o, nn.CrossEntropyLoss(label_smoothing=0.2), *data_of(s), 50)


PROGRAMS = (
    Program("B7 two networks on images, batch 60, 5 of 20 steps, a step", ADVERSARY, adversary, 5, 1.05, models="gd"),
    Program("B11 convolutions, batch 1,000, 3 of 60 steps, a step", CONV, conv, 3, 1.03),
    Program("B11 compact transformer, batch 50, 10 of 100 steps, a step", COMPACT, compact, 10, 1.03, limit=1e-4),
)
