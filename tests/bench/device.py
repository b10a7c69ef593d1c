"""On an accelerator: steps by hand, `run`, one call, copies there and back, and the peak of memory, each against PyTorch
on the same device. Time by the clock, the device waited for at the end; where there is no accelerator one line says so."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import SGD, AdamW
from torch.utils.data import DataLoader, Dataset, TensorDataset

from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.core import Table, Vec
from tests.bench import generation
from tests.bench.checked import Work, data_of, optimizer, same, session_of
from tests.bench.images import CONV
from tests.bench.timing import paired, row

STEPS = """
seed 1;
m:module seq(`sequential;(`linear;2;100);`relu;(`linear;100;3)); to(m;`{device});
o:opt(`adamw;m;.01); l:loss`ce;
X:tensor(`randn;3000 2;`{device}); Y:tensor(`randint;3;3000;`long,`{device});
one:{{[x;y]zerograd o; yh:forward(m;x); t:loss(l;yh;y); backward t; step o; free yh; free t}};
go:{{do[200;one[X;Y]]}};
"""

RUN = """
seed 1; n:20000;
q:module seq(`sequential;(`linear;128;64);`relu;(`linear;64;10));
m:model(q;loss`ce;opt(`adamw;q)); train(m;`batchsize`shuffle;(100;1b));
train(m;tensor(`randn;n,128);tensor(`randint;10;n)); to(m;`{device});
X:tensor(`randn;n,128;`{device}); Y:tensor(`randint;10;n;`{device});
go:{{run m}};
"""


def wait() -> None:
    torch.accelerator.synchronize()


def waited(work: Callable[[], Any]) -> Work:
    """Work that is over when the device is."""

    def go() -> None:
        work()
        wait()

    return go


def dense(*sizes: int) -> nn.Sequential:
    """Linear layers with ReLU between them."""
    layers: list[nn.Module] = []
    for a, b in zip(sizes, sizes[1:], strict=False):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def stepped(s: Session, device: str) -> Work:
    """200 steps by hand on data that is there."""
    m = same(dense(2, 100, 3).to(device), s)
    o, loss, x, y = AdamW(m.parameters(), 0.01), nn.CrossEntropyLoss(), s["X"].obj, s["Y"].obj

    def go() -> None:
        for _ in range(200):
            o.zero_grad(set_to_none=False)
            loss(m(x), y).backward()
            o.step()

    return go


def loaded(s: Session, device: str) -> Work:
    """An epoch by DataLoader from the CPU's memory, each batch brought to the device."""
    data = data_of(s)
    m = same(dense(128, 64, 10).to(device), s)
    o, loss = AdamW(m.parameters()), nn.CrossEntropyLoss()

    def go() -> float:
        total = torch.zeros((), device=device)
        for x, y in DataLoader(TensorDataset(*data), batch_size=100, shuffle=True):
            o.zero_grad()
            z = loss(m(x.to(device)), y.to(device))
            z.backward()
            o.step()
            total += z.detach()
        return total.item()

    return go


def indexed(m: nn.Module, o: Any, x: Tensor, y: Tensor, batch: int) -> Work:
    """An epoch over shuffled data that is on the device, its losses read at the end."""
    loss = nn.CrossEntropyLoss()

    def go() -> list[float]:
        order = torch.randperm(len(y), device=y.device)
        losses = []
        for i in range(0, len(y), batch):
            rows = order[i:i + batch]
            o.zero_grad()
            z = loss(m(x[rows]), y[rows])
            z.backward()
            o.step()
            losses.append(z.detach())
        return torch.stack(losses).tolist()

    return go


def convolutions() -> nn.Module:
    """The network of `images.CONV`."""
    return nn.Sequential(nn.Conv2d(1, 20, 5), nn.BatchNorm2d(20), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5),
                         nn.BatchNorm2d(50), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(800, 500), nn.ReLU(),
                         nn.Linear(500, 10))


def peak(work: Callable[[], Any]) -> int:
    """The most bytes in use on the device while work runs, beyond those in use before."""
    torch.accelerator.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    work()
    torch.accelerator.synchronize()
    return torch.cuda.max_memory_allocated() - before


def training(device: str) -> Iterator[str]:
    s = session_of(STEPS.format(device=device))
    ours, theirs = paired(waited(lambda: s.run("go[]")), waited(stepped(s, device)))
    yield row("training step, MLP 2-100-3, 3,000 rows", ours / 200, theirs / 200, 1.25, "PyTorch loop")
    s = session_of(RUN.format(device=device))
    ours, theirs = paired(waited(lambda: s.run("go[]")), waited(loaded(s, device)), 5)
    yield row("run m, data on the CPU, a batch of 100", ours / 200, theirs / 200, 0.7, "DataLoader loop")
    s.run("train(m;X;Y)")
    m = same(dense(128, 64, 10).to(device), s)
    peer = indexed(m, optimizer(AdamW, m.parameters(), True), s["X"].obj, s["Y"].obj, 100)
    ours, theirs = paired(waited(lambda: s.run("go[]")), waited(peer), 5)
    yield row("run m, data on the device, a batch of 100", ours / 200, theirs / 200, 1.1, "fused loop")


def images(device: str) -> Iterator[str]:
    s = session_of(CONV)
    s.run(f"to(m;`{device}); train(m;tensor(`randn;3000 1 28 28;`{device});tensor(`randint;10;3000;`long,`{device}))")
    x, y = data_of(s)
    m = same(convolutions().to(device), s)
    peer = indexed(m, optimizer(SGD, m.parameters(), True, lr=0.05), x, y, 1000)
    ours, theirs = paired(waited(lambda: s.run("go[]")), waited(peer), 5)
    yield row("run m, convolutions, batch 1,000, an epoch", ours, theirs, 1.25, "fused loop")
    if device == "cuda":
        a, b = peak(lambda: s.run("go[]")), peak(peer)
        mark = "ok  " if a <= 1.1 * b else "MISS"
        yield f"{mark} {'its peak of memory':40} {a / 1e6:10.1f} MB  {'fused loop':22} {b / 1e6:10.1f} MB  ratio {a / b:6.3f}  (<= 1.1)"


def calls(device: str) -> Iterator[str]:
    s = session_of(f"u:tensor(`randn;10;`{device}); v:tensor(`randn;10;`{device}); g:{{[n;a;b]do[n;add(a;b)]}}")
    x, y = s["u"].obj, s["v"].obj

    def adds() -> None:
        for _ in range(10000):
            torch.add(x, y)

    ours, theirs = paired(waited(lambda: s.run("g[10000;u;v]")), waited(adds))
    yield row("add(x;y) of 10 elements", ours / 10000, theirs / 10000, 4, "torch.add")
    s.run(f"A:tensor(`randn;4096 4096;`{device});B:tensor(`randn;4096 4096;`{device})")
    a, b = s["A"].obj, s["B"].obj
    ours, theirs = paired(waited(lambda: s.run("do[10;mm(A;B)]")), waited(lambda: [a @ b for _ in range(10)]))
    yield row("mm, 4,096 x 4,096, single precision", ours / 10, theirs / 10, 1.05, "a @ b")


def copies(device: str) -> Iterator[str]:
    s = session_of(f"X:20000000?1e; there:{{t:tensor(X;`{device});free t}}; T:tensor(X;`{device}); back:{{tensor T}}")
    x, t = np.asarray(s.run("X").a), s["T"].obj
    ours, theirs = paired(waited(lambda: s.run("there[]")), waited(lambda: torch.from_numpy(x).to(device)))
    yield row("20,000,000 reals there", ours, theirs, 1.5, "from_numpy, to")
    ours, theirs = paired(waited(lambda: s.run("back[];")), waited(lambda: t.cpu().numpy()))
    yield row("20,000,000 reals back", ours, theirs, 1.5, "cpu, numpy")


class Mapped(Dataset[Any]):
    """Rows of an array that is a map of a file."""

    def __init__(self, path: str) -> None:
        self.rows = np.load(path, mmap_mode="r")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i: int) -> tuple[Tensor, Tensor]:
        r = torch.from_numpy(self.rows[i].copy())
        return r[:-1], r[-1:]


def tables(device: str) -> Iterator[str]:
    """A pass over a table of files, read ahead into memory that the device reads, and over the same rows by a DataLoader."""
    n, width, batch = 200_000, 20, 1024
    rows = np.random.default_rng(1).random((n, width + 1), np.float32)
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/rows.npy", rows)
        s = session_of(f"q:module seq(`sequential;(`linear;{width};64);`relu;(`linear;64;1));to(q;`{device});"
                       f"m:model(q;loss`mse;opt(`adamw;q;.01));train(m;`batchsize`shuffle;{batch},1b)")
        names = [*(f"x{i}" for i in range(width)), "y"]
        s.names.set("t", Table(names, [Vec(T.E, np.ascontiguousarray(column)) for column in rows.T]))
        s.run(f"(`$\":{folder}/t/\")set t;train(m;`$\":{folder}/t\")")
        net, loss = dense(width, 64, 1).to(device), nn.MSELoss()
        o = AdamW(net.parameters(), 0.01, fused=True)
        loader = DataLoader(Mapped(f"{folder}/rows.npy"), batch, shuffle=True, num_workers=4, pin_memory=True, persistent_workers=True)

        def peer() -> None:
            for x, y in loader:
                o.zero_grad()
                loss(net(x.to(device, non_blocking=True)), y.to(device, non_blocking=True)).backward()
                o.step()

        ours, theirs = paired(waited(lambda: s.run("run m")), waited(peer), 3)
        yield row("run m, a splayed table, a batch of 1,024", ours * batch / n, theirs * batch / n, 0.67, "DataLoader, 4 workers")


def report() -> Iterator[str]:
    """The lines of the benchmark."""
    here = torch.accelerator.current_accelerator(check_available=True)
    if here is None:
        yield "     no accelerator here: nothing to measure"
        return
    name = torch.cuda.get_device_name() if here.type == "cuda" else here.type
    yield f"     {name}, torch {torch.__version__}, Python {platform.python_version()}"
    for part in (training, images, calls, copies, tables, generation.report):
        yield from part(here.type)
