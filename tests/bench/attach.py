"""What it costs a training program that somebody could attach to it: the time inside the hooks around a step of about
5 ms, and inside `backward` besides torch's own, with and without a watch on finite values; less what it costs to time
these, which is as much: behind the kernels of a step nothing is left in the processor's caches."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.optim import optimizer as optimizers

from kshell.host.host import Host
from tests.bench.timing import row

STEPS = 300


def report() -> list[str]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    folder = tempfile.mkdtemp()
    os.environ["KSHELL_RUN"] = folder
    try:
        return _rows()
    finally:
        torch.set_num_threads(threads)
        del os.environ["KSHELL_RUN"]
        shutil.rmtree(folder)


class Inside:
    """The seconds inside some functions, less those inside of torch's own."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def timed(self, f: Callable[..., Any], sign: int = 1) -> Callable[..., Any]:
        def g(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter()
            try:
                return f(*args, **kwargs)
            finally:
                self.seconds += sign * (time.perf_counter() - start)

        return g


def _rows() -> list[str]:
    torch.manual_seed(0)
    net = torch.nn.Sequential(*[layer for _ in range(6) for layer in (torch.nn.Linear(256, 256), torch.nn.ReLU())])
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-4)
    x = torch.randn(128, 256)
    inside, host, backward = Inside(), Host(), torch.autograd.backward
    before, after = optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks

    def steps() -> None:
        optimizer.zero_grad()
        (net(x) - x).square().mean().backward()
        optimizer.step()

    def measured() -> tuple[float, float]:
        """The seconds of a step inside the hooks, and besides."""
        for _ in range(STEPS // 5):
            steps()
        inside.seconds, start = 0.0, time.perf_counter()
        for _ in range(STEPS):
            steps()
        whole = time.perf_counter() - start
        return inside.seconds / STEPS, (whole - inside.seconds) / STEPS

    def share(label: str, timers: float, gate: float) -> str:
        hooks, rest = measured()
        return row(label, hooks - timers, rest, gate, "torch's step")

    def time_hooks(hooks: dict[int, Any]) -> None:
        for key, hosts in list(hooks.items()):
            hooks[key] = inside.timed(hosts)

    def hook(*args: Any) -> None:
        pass

    timed_backward = inside.timed(backward, -1)
    try:
        torch.autograd.backward = inside.timed(timed_backward)
        after[-1] = inside.timed(hook)
        timers_after, _ = measured()
        before[-1] = inside.timed(hook)
        timers_around, _ = measured()
        del before[-1], after[-1]

        torch.autograd.backward = timed_backward
        host.steps.watch(host.stepped)
        torch.autograd.backward = inside.timed(torch.autograd.backward)
        time_hooks(after)
        host.watcher.start()
        rows = [share("hooks of a program that listens", timers_after, 0.005)]
        host.watches.add("nan", "finite", "log")
        host.variables.bound = {"net": (net, None)}
        host.guard.watch()
        time_hooks(before)
        rows.append(share("with a watch on finite values", timers_around, 0.015))
        return rows
    finally:
        host.end()
        torch.autograd.backward = backward
