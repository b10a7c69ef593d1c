"""Transformers on rows that q picks, and recurrent networks: B5, B6, B8 and B10."""

from __future__ import annotations

import io
import math
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention
from torch.optim import Adam, AdamW

from kshell.session import Session
from tests.bench.checked import Program, Work, data_of, optimizer, same


class Block(nn.Module):
    """Attention to what came before, then two layers, each beside a way around it."""

    def __init__(self, d: int, heads: int, p: float = 0.0) -> None:
        super().__init__()
        self.heads, self.p = heads, p
        self.norm, self.into, self.out = nn.LayerNorm(d), nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d, bias=False), nn.GELU(), nn.Linear(4 * d, d),
                                 nn.Dropout(p))
        self.drop = nn.Dropout(p)

    def forward(self, x: Any) -> Any:
        b, n, d = x.shape
        q, k, v = (t.view(b, n, self.heads, -1).transpose(1, 2) for t in self.into(self.norm(x)).chunk(3, -1))
        y = scaled_dot_product_attention(q, k, v, dropout_p=self.p if self.training else 0.0, is_causal=True)
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(b, n, d)))
        return x + self.mlp(x)


class Words(nn.Module):
    """A small GPT: embeddings of tokens and places, blocks, logits."""

    def __init__(self, words: int, d: int, heads: int, n: int, p: float = 0.0) -> None:
        super().__init__()
        self.token, self.place, self.drop = nn.Embedding(words, d), nn.Embedding(n, d), nn.Dropout(p)
        self.blocks = nn.Sequential(Block(d, heads, p), Block(d, heads, p), nn.LayerNorm(d), nn.Linear(d, words, bias=False))

    def forward(self, x: Any) -> Any:
        return self.blocks(self.drop(self.token(x) + self.place.weight[:x.shape[1]]))


# ------------------------------------------------------------------ sums of two numbers as rows of digits

SUMS = """
seed 1;
rows:{j:x div 100; k:x mod 100; flip raze vs'[2 2 3#'10;(j;k;j+k)]}til 10000;
d:64; u:tensor triu(6 6#-0we;1); I:3600?10000; J:neg[1000]?10000;
blk:{[d;h]q1:seq(`sequential;(`selfattention;d;h;0.;1b));
 q2:seq(`sequential;(`layernorm;d);(`linear;d;4*d;0b);`gelu;(`linear;4*d;d)); (`sequential;(`residual;q1);(`residual;q2))};
out:seq(`sequential;(`layernorm;d);(`linear;d;10;0b));
out,:enlist(`transform;seq(`sequential;(`reshape;-1 10));seq(`sequential;(`select;1;-1)));
q:module(`seqlist;seq(`sequential;(`embedseq;10;d;6));blk[d;4];blk[d;4];out);
m:model(q;loss`ce;opt(`adamw;q;.0006));
one:{[m;u;x]y:1_'x; x:-1_'x; y[;til 3]:-100; nograd m; l:backward(m;(x;u);raze y); clip(m;1); step m; l};
pick:{[m;u;x]x,'argmax(evaluate(m;x;u);1)};
right:{[m;u;x]t:flip update ok:predict=a+b from `a`b`predict!10 sv'0 2 4_flip 3 pick[m;u]/4#'x; exec avg ok from t};
go:{r:one[m;u]each rows 0N 200#I; r,right[m;u]rows J};
"""


def sums(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    m = same(Words(10, 64, 4, 6), s)
    o = optimizer(AdamW, m.parameters(), fused, lr=0.0006)
    a, b = torch.arange(10000) // 100, torch.arange(10000) % 100
    c = a + b
    rows = torch.stack([a // 10, a % 10, b // 10, b % 10, c // 100, c // 10 % 10, c % 10], 1)
    batches, tests = torch.from_numpy(s["I"].a).view(18, 200), torch.from_numpy(s["J"].a)

    def go() -> list[float]:
        out = []
        m.train()
        for i in batches:
            x, y = rows[i, :-1], rows[i, 1:].clone()
            y[:, :3] = -100
            o.zero_grad()
            e = cross_entropy(m(x).reshape(-1, 10), y.reshape(-1))
            e.backward()
            nn.utils.clip_grad_norm_(m.parameters(), 1)
            o.step()
            out.append(e.item())
        m.eval()
        with torch.no_grad():
            x = rows[tests, :4]
            for _ in range(3):
                x = torch.cat([x, m(x)[:, -1].argmax(1, keepdim=True)], 1)
            good = (x[:, 4] * 100 + x[:, 5] * 10 + x[:, 6] == c[tests]).double().mean().item()
        return [*out, good]

    return [m], go


# ------------------------------------------------------------------ a text, letter by letter, by a transformer

LETTERS = """
seed 1;
v:65; d:64; n:128; w:WIDTH; T:100000?v; I:(STEPS,w)#(STEPS*w)?100000-n+1; u:tensor triu((2#n)#-0we;1);
attend:{[d;h;p]seq(`sequential;(`selfattention;d;h;p;1b);(`drop;p))};
widen:{[d;p]seq(`sequential;(`layernorm;d);(`linear;d;4*d;0b);`gelu;(`linear;4*d;d);(`drop;p))};
blk:{[d;h;p](`sequential;(`residual;attend[d;h;p]);(`residual;widen[d;p]))}[d;4;.1];
out:seq(`sequential;(`layernorm;d);(`linear;d;v;0b));
out,:enlist(`transform;seq(`sequential;(`reshape;-1,v));seq(`sequential;(`select;1;-1)));
q:module(`seqlist;seq(`sequential;(`embedseq;v;d;n);(`drop;.1));blk;blk;out);
k:parmtypes q; b:where(k in`layernorm`embed`embedpos)|key[k]like"*.bias";
o:opt(`adamw;();.0006;.9;.95); opt(o;0;(q;b);`decay,0f); opt(o;1;(q;key[k]except b);`decay,.1);
m:model(q;loss`ce;o);
rate:{[i].0006*.1|.5*1+cos acos[-1]*i%100};
say:{[i;r;l]2 "step: ",(-4$string i),"  rate: ",.Q.fmt[7;5;r],"  loss:",.Q.fmt[6;3;l],"\\r";};
one:{[m;T;u;n;s;i]x:T i+\\:til n+1; nograd m; l:backward(m;(-1_'x;u);raze 1_'x); j:1+s 0; r:rate j;
 clip(m;1); say[j;r;l]; lr(m;r); step m; (j;l)};
go:{last each one[m;T;u;n]\\[0 0n;I]};
"""


def letters(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    m = same(Words(65, 64, 4, 128, 0.1), s)
    few = [p for name, p in m.named_parameters() if p.dim() < 2 or name.startswith(("token", "place"))]
    many = [p for p in m.parameters() if not any(p is q for q in few)]
    o = optimizer(AdamW, [{"params": few, "weight_decay": 0.0}, {"params": many, "weight_decay": 0.1}], fused,
                  lr=0.0006, betas=(0.9, 0.95))
    text, starts, place = torch.from_numpy(s["T"].a), torch.from_numpy(s["I"].a), torch.arange(129)
    said = io.StringIO()

    def go() -> list[float]:
        out = []
        for k, i in enumerate(starts):
            x = text[i[:, None] + place]
            o.zero_grad()
            e = cross_entropy(m(x[:, :-1]).reshape(-1, 65), x[:, 1:].reshape(-1))
            e.backward()
            rate = 0.0006 * max(0.1, 0.5 * (1 + math.cos(math.pi * (k + 1) / 100)))
            nn.utils.clip_grad_norm_(m.parameters(), 1)
            out.append(e.item())
            print(f"step: {k + 1:4}  rate: {rate:7.5f}  loss:{out[-1]:6.3f}", end="\r", file=said)
            for g in o.param_groups:
                g["lr"] = rate
            o.step()
        return out

    return [m], go


def of_letters(width: int, steps: int) -> str:
    return LETTERS.replace("WIDTH", str(width)).replace("STEPS", str(steps))


# ------------------------------------------------------------------ a text, letter by letter, by an LSTM

STATES = """
seed 1;
h:512; n:100; w:32; a:65; t:tensor(((3*n*w)+1)?a);
r:module`recur; module(r;1;`sequential); module(r;2;`transform);
module(r;3;`sequential); module(r;4;(`reshape;-1,n)); module(r;3;`sequential); module(r;4;(`reshape;1 1));
module(r;2;(`embed;a;a)); module(r;1;(`lstm;a;h;2;1b;1b;.5));
module(r;1;`sequential); module(r;2;(`drop;.5)); module(r;2;(`reshape;-1,h)); module(r;2;(`linear;h;a));
m:model(r;loss`ce;opt(`adam;r));
f:{[m;t;v;w;i]x:narrow(t;0;i;w); y:narrow(t;0;i+1;w); vector(v;0;x); zerograd m; use[v]forward(m;v);
 backward z:loss(m;(v;0);y); clip(m;5); step m; free y; return z};
"""
PASSES = STATES + "go:{v:vector 0e; r:f[m;t;v;n*w]each n*w*til 3; free v; r};"
WRITES = STATES + """letter:{[m;v;x]vector(v;0;tensor x); use[v]eforward(m;v); multinomial first softmax vector[(v;0)]%.8};
go:{v:vector 0e; r:200 letter[m;v]\\7; free v; r};
"""


class Letters(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.read = nn.Embedding(65, 65), nn.LSTM(65, 512, 2, batch_first=True, dropout=0.5)
        self.drop, self.out = nn.Dropout(0.5), nn.Linear(512, 65)

    def forward(self, x: Any, state: Any = None) -> Any:
        y, state = self.read(self.embed(x), state)
        return self.out(self.drop(y).reshape(-1, 512)), tuple(t.detach() for t in state)


def passes(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    m = same(Letters(), s)
    o, text = optimizer(Adam, m.parameters(), fused), s["t"].obj

    def go() -> list[float]:
        state, out = None, []
        for i in range(0, 9600, 3200):
            x, y = text[i:i + 3200].view(-1, 100), text[i + 1:i + 3201]
            o.zero_grad()
            z, state = m(x, state)
            e = cross_entropy(z, y)
            e.backward()
            nn.utils.clip_grad_norm_(m.parameters(), 5)
            o.step()
            out.append(e.item())
        return out

    return [m], go


def writes(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    m = same(Letters(), s).eval()

    def go() -> list[int]:
        state, out = None, [7]
        with torch.no_grad():
            for _ in range(200):
                z, state = m(torch.tensor([[out[-1]]]), state)
                out.append(int(torch.multinomial(torch.softmax(z[0].double() / 0.8, 0), 1)))
        return out

    return [m], go


# ------------------------------------------------------------------ images as sequences of their rows

LSTM = """
seed 1;
q:module`recur; module(q;1;(`lstm;`lstm;28;128;2;1b;1b)); module(q;1;`sequential);
module(q;2;(`select;`last;1;-1)); module(q;2;(`linear;`decode;128;10));
m:model(q;loss`ce;opt(`adamw;q));
train(m;`batchsize`hidden`metrics;(60;0b;`batchloss)); train(m;tensor(`randn;1200 28 28);tensor(`randint;10;1200;`long));
go:{run m};
"""


class Rows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.read, self.decode = nn.LSTM(28, 128, 2, batch_first=True), nn.Linear(128, 10)

    def forward(self, x: Any) -> Any:
        return self.decode(self.read(x)[0][:, -1])


def lstm(s: Session, fused: bool) -> tuple[list[nn.Module], Work]:
    m = same(Rows(), s)
    o, (x, y) = optimizer(AdamW, m.parameters(), fused), data_of(s)

    def go() -> list[float]:
        losses = []
        for i in range(0, 1200, 60):
            o.zero_grad()
            z = cross_entropy(m(x[i:i + 60]), y[i:i + 60])
            z.backward()
            o.step()
            losses.append(z.detach())
        return torch.stack(losses).tolist()  # type: ignore[no-any-return]

    return [m], go


PROGRAMS = (
    Program("B5 transformer that adds, 18 steps and a test", SUMS, sums, 1, 1.15, limit=1e-6, rounds=3),
    Program("B6 letters by a transformer, batch 32, a step", of_letters(32, 5), letters, 5, 1.2, rounds=3),
    Program("B6 letters by a transformer, batch 200, a step", of_letters(200, 1), letters, 1, 1.2, rounds=3),
    Program("B8 letters by an LSTM, batch 32 of 128, a step", PASSES, passes, 3, 1.05, rounds=3),
    Program("B8 200 letters written, a letter", WRITES, writes, 200, 2),
    Program("B10 LSTM by run, batch 60, 20 of 100 steps, a step", LSTM, lstm, 20, 1.05),
)
