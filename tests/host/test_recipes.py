"""The recipes of docs/attach.md that need no program that listens: their very lines, in real processes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import ROOT
from tests.shell.test_cli import Terminal

PAGE = ROOT / "docs" / "attach.md"
NET = """
import signal, threading, time
import torch
import kshell
torch.manual_seed(3)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Linear(4, 1))
x = torch.randn(32, 8)
def update():
    optimizer.zero_grad()
    net(x).square().mean().backward()
    optimizer.step()
"""
SGD = "optimizer = torch.optim.SGD(net.parameters(), lr=.01)\n"
SIGNALLED = """
print("training", flush=True)
while optimizer.param_groups[0]["lr"] == .01:
    update()
print("rate", optimizer.param_groups[0]["lr"])
"""
TWO_THREADS = """
for step in range(2500):
    with lock:
        update()
    time.sleep(.001)
with lock:
    done.set()
print("end", "%.17g" % sum(p.detach().double().sum().item() for p in net.parameters()))
"""
OF_A_JOB = """
import torch.distributed as dist
dist.init_process_group("gloo")
net = torch.nn.parallel.DistributedDataParallel(net)
""" + SGD + """
for step in range(102):
    update()
    {recipe}
open(f"rate{{dist.get_rank()}}", "w").write(str(optimizer.param_groups[0]["lr"]))
dist.destroy_process_group()
"""


def recipe(word: str) -> str:
    """The block of Python on the page that has a word."""
    found = [block for block in re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(), re.M | re.S) if word in block]
    assert len(found) == 1
    return str(found[0])


class OnTerminal(Terminal):
    """Python on a pseudo-terminal, which is its own, as from a shell."""

    def __init__(self, folder: Path, *words: str) -> None:
        before = dict(os.environ)
        os.environ.update({"XDG_STATE_HOME": str(folder), "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"})
        try:
            with contextlib.chdir(folder):
                self.open([sys.executable, *words], new=True)
        finally:
            os.environ.clear()
            os.environ.update(before)


@contextmanager
def on_terminal(folder: Path, text: str, *words: str) -> Iterator[OnTerminal]:
    (folder / "train.py").write_text(text)
    terminal = OnTerminal(folder, *words, str(folder / "train.py"))
    try:
        yield terminal
    finally:
        if terminal.process.poll() is None:
            terminal.process.send_signal(signal.SIGTERM)
            terminal.process.wait(60)
        os.close(terminal.fd)


@pytest.mark.slow
def test_a_signal_opens_the_prompt_on_the_terminal(tmp_path: Path) -> None:
    with on_terminal(tmp_path, NET + SGD + recipe("SIGUSR1") + SIGNALLED) as t:
        t.until("training")
        os.kill(t.process.pid, signal.SIGUSR1)
        t.until("q)")
        t.send("lr o\r")
        t.until(",0.01")
        t.until("q)")
        t.send("exec name from parmtable m\r")
        t.until("`0.weight`0.bias`1.weight`1.bias")
        t.until("q)")
        t.send("lr(o;.125)\r")
        t.send("lr o\r")
        t.until(",0.125")
        t.until("q)")
        t.send("\x04")
        t.until("rate 0.125")
        assert t.process.wait(60) == 0


@pytest.mark.slow
def test_a_second_thread_asks_a_session(tmp_path: Path) -> None:
    """It gets answers while the program trains, and the program ends as without it."""
    ends = []
    for name, part in (("alone", recipe("def report").split("\n")[0] + "\n"), ("asked", recipe("def report"))):
        (tmp_path / f"{name}.py").write_text(NET + SGD + part + TWO_THREADS)
        out = subprocess.run(
            [sys.executable, f"{name}.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=120, check=True,
        )
        assert not out.stderr
        *told, end = out.stdout.splitlines()
        ends.append(end)
    assert ends[0] == ends[1] and ends[0].startswith("end ")
    norms = [float(line.split()[0]) for line in told]
    assert len(set(norms)) > 1 and {line.split()[1] for line in told} == {"0.01"}


@pytest.mark.slow
def test_the_first_process_of_a_job_opens_the_prompt(tmp_path: Path) -> None:
    text = NET + OF_A_JOB.format(recipe=recipe("dist.get_rank()").replace("\n", "\n    "))
    words = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "--local-addr", "127.0.0.1"]
    with on_terminal(tmp_path, text, *words) as t:
        t.until("q)")
        t.send("lr(o;.5);lr o\r")
        t.until(",0.5")
        t.until("q)")
        t.send("\x04")
        assert t.process.wait(60) == 0
    assert [(tmp_path / f"rate{rank}").read_text() for rank in (0, 1)] == ["0.5", "0.01"]
