"""Training programs that know nothing of kshell, started as processes, and a client that asks them."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kshell.errors import QError
from kshell.ipc import wire
from kshell.python.outof import from_q
from kshell.values.base.build import string
from kshell.values.base.core import List, Value, text_of
from kshell.values.base.symbols import sym
from tests import ROOT
from tests.support import warm

# what all programs begin with: LOG takes a line for each step, so that the program itself says what it did; its words
# are the step, the first group's rate, what `seen` gives, and further rates; of what is sharded, this process's part
BEGIN = """
import os, sys, time
import torch
torch.manual_seed(3)
torch.set_num_threads(1)
STEPS = int(os.environ.get("STEPS", 400))
PAUSE = float(os.environ.get("PAUSE", 0.004))
LOG = open("log.txt", "w", buffering=1)
def say(step, optimizer, *more):
    rates = [group["lr"] for group in optimizer.param_groups]
    print(step, rates[0], *more, *rates[1:], file=LOG)
    time.sleep(PAUSE)
def part(t):
    return t.detach().to_local() if hasattr(t, "to_local") else t.detach()
def digest(module):
    return "%.17g" % sum((part(p).double().flatten() * torch.arange(1, part(p).numel() + 1)).sum().item() * (i + 1) for i, p in enumerate(module.parameters()))
"""
# the norm of the gradients, a digest of the first layer; type, numbers and digest of the last one
SEEN = """
def seen(net, first, last):
    gradients = [part(p.grad) for p in net.parameters() if p.grad is not None]
    norm = sum(g.double().square().sum().item() for g in gradients) ** .5
    return norm, digest(first), type(last).__name__, sum(p.numel() for p in last.parameters()), digest(last)
"""
NET = SEEN + """
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Dropout(.1), torch.nn.Linear(16, 1))
x = torch.randn(64, 8)
y = x.sum(1, keepdim=True)
loss_fn = torch.nn.MSELoss()
"""
END = """
print("end", digest(net), file=LOG)
"""

PROGRAMS = {
    "plain": BEGIN + NET + """
optimizer = torch.optim.AdamW(net.parameters(), lr=.01)
def main():
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        loss_fn(net(x), y).backward()
        optimizer.step()
        say(step, optimizer, *seen(net, net[0], net[3]))
main()
""" + END,
    "a class": BEGIN + NET + """
class Trainer:
    def __init__(self):
        self.model, self.optimizer = net, torch.optim.SGD(net.parameters(), lr=.01, momentum=.9)
        self.scheduler = torch.optim.lr_scheduler.StepLR(self.optimizer, 300)
    def fit(self):
        for step in range(1, STEPS + 1):
            self.optimizer.zero_grad(set_to_none=False)
            loss_fn(self.model(x), y).backward()
            self.optimizer.step()
            self.scheduler.step()
            say(step, self.optimizer, *seen(net, net[0], net[3]))
Trainer().fit()
""" + END,
    "scaled and accumulated": BEGIN + NET + """
optimizer = torch.optim.AdamW(net.parameters(), lr=.01)
scaler = torch.amp.GradScaler("cpu")
def main():
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        for part, target in zip(x.chunk(4), y.chunk(4)):
            with torch.autocast("cpu", torch.bfloat16):
                loss = loss_fn(net(part), target) / 4
            scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        say(step, optimizer, *seen(net, net[0], net[3]))
main()
""" + END,
    "two groups": BEGIN + NET + """
first, last = list(net[0].parameters()), list(net[3].parameters())
optimizer = torch.optim.AdamW([{"params": last, "lr": .01}, {"params": first, "lr": .02}])
def main():
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        loss_fn(net(x), y).backward()
        optimizer.step()
        say(step, optimizer, *seen(net, net[0], net[3]))
main()
""" + END,
    "two optimizers": BEGIN + NET + """
other = torch.nn.Linear(8, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=.01)
second = torch.optim.SGD(other.parameters(), lr=.02)
def main():
    for step in range(1, STEPS + 1):
        for module, o in ((net, optimizer), (other, second)):
            o.zero_grad()
            loss_fn(module(x), y).backward()
            o.step()
        say(step, optimizer, *seen(net, net[0], net[3]), second.param_groups[0]["lr"])
main()
""" + END,
    "closure": BEGIN + NET + """
optimizer = torch.optim.LBFGS(net.parameters(), lr=.01, max_iter=2)
def closure():
    optimizer.zero_grad()
    loss = loss_fn(net(x), y)
    loss.backward()
    return loss
def main():
    for step in range(1, STEPS + 1):
        optimizer.step(closure)
        say(step, optimizer, *seen(net, net[0], net[3]))
main()
""" + END,
    "compiled": BEGIN + NET + """
optimizer = torch.optim.AdamW(net.parameters(), lr=.01)
fast = torch.compile(net, backend=os.environ.get("BACKEND", "aot_eager"))
def main():
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        loss_fn(fast(x), y).backward()
        optimizer.step()
        say(step, optimizer, *seen(net, net[0], net[3]))
main()
""" + END,
    "averaged": BEGIN + NET + """
optimizer = torch.optim.SGD(net.parameters(), lr=.01)
average = torch.optim.swa_utils.AveragedModel(net)
scheduler = torch.optim.swa_utils.SWALR(optimizer, swa_lr=.01, anneal_epochs=1)
def main():
    for step in range(1, STEPS + 1):
        optimizer.zero_grad()
        loss_fn(net(x), y).backward()
        optimizer.step()
        if step > 20:
            average.update_parameters(net)
            scheduler.step()
        say(step, optimizer, *seen(net, net[0], net[3]))
main()
""" + END,
}


LAUNCHER = "torch.distributed.run"
LINE = "import kshell; kshell.listen()\n"


class Refused(Exception):
    """The error that a program answered with."""


class Client:
    """A connection to a program."""

    def __init__(self, path: str | int, timeout: float = 60.0) -> None:
        self.socket = socket.socket(socket.AF_UNIX if isinstance(path, str) else socket.AF_INET)
        self.socket.settimeout(timeout)
        self.socket.connect(path if isinstance(path, str) else ("127.0.0.1", path))
        self.socket.sendall(b"me:\6\0")
        assert self.socket.recv(1) == b"\6"

    def send(self, x: Value) -> None:
        self.socket.sendall(wire.message(wire.SYNC, x))

    def answer(self) -> Value:
        data = b""
        while len(data) < 8 or len(data) < struct.unpack_from("<I", data, 4)[0]:
            more = self.socket.recv(1 << 16)
            if not more:
                raise ConnectionError
            data += more
        try:
            return wire.value(data)
        except wire.Remote as e:
            problem = str(e)
        raise Refused(problem)

    def __call__(self, text: str) -> Any:
        """The value of a query, as Python has it."""
        self.send(string(text))
        return from_q(self.answer())

    def typed(self, line: str) -> tuple[str, str, str]:
        """What a line at a prompt prints, its errors, and the next prompt."""
        self.send(List([sym(".run.line"), string(line), 40, 300]))
        answer = self.answer()
        assert isinstance(answer, List)
        shown, warned, prompt = (text_of(part) for part in answer.items)
        return shown, warned, prompt

    def close(self) -> None:
        self.socket.close()


class Program:
    """A program that runs, in a folder of its own."""

    def __init__(self, folder: Path, text: str, **environment: str) -> None:
        self.folder, self.run = folder, folder / "run"
        (folder / "train.py").write_text(text)
        outside = {name: value for name, value in os.environ.items() if name != "KSHELL_LISTEN"}
        self.environment = {**outside, "PYTHONPATH": str(ROOT), "KSHELL_RUN": str(self.run), **environment}
        self.process: subprocess.Popen[str] | warm.Process | None = None

    def start(self, *words: str, by: Any = None) -> Program:
        """Start it by some words. Without them it listens by a line of its own, and is forked from a process that has
        imported torch."""
        if not words:
            path = self.folder / "train.py"
            path.write_text(LINE + path.read_text())
            words, by = (sys.executable, "train.py"), by or warm.Process
        self.process = (by or subprocess.Popen)(
            words, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return self

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    @property
    def log(self) -> list[list[str]]:
        """The lines that the program wrote, in words."""
        path = self.folder / "log.txt"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []

    def wait_for(self, step: int) -> None:
        """Wait until it has made a step."""
        self.until(lambda: self.log and (self.log[-1][0] == "end" or int(self.log[-1][0]) >= step))

    def until(self, condition: Any, seconds: float = 120.0) -> Any:
        end = time.monotonic() + seconds
        while not (found := condition()):
            assert self.process is not None and (self.process.poll() is None or condition()), self.output()
            assert time.monotonic() < end, "not in time"
            time.sleep(0.02)
        return found

    def client(self) -> Client:
        """A client, as soon as the program listens."""

        def connected() -> Client | None:
            try:
                return Client(str(self.run / str(self.pid)))
            except (FileNotFoundError, ConnectionRefusedError):
                return None

        found: Client = self.until(connected)
        return found

    def state(self, word: str = "where") -> dict[str, Any]:
        """What it says of itself, at once."""
        with socket.socket(socket.AF_UNIX) as asking:
            asking.settimeout(10)
            asking.connect(f"{self.run}/{self.pid}.where")
            asking.sendall(f"{word}\n".encode())
            data = b""
            while part := asking.recv(1 << 16):
                data += part
        found: dict[str, Any] = json.loads(data)
        return found

    def output(self) -> str:
        assert self.process is not None
        return self.process.communicate(timeout=120)[0]

    def ended(self) -> str:
        """Wait for its end; the digest of its parameters."""
        output = self.output()
        assert self.process is not None and self.process.returncode == 0, output
        assert self.log[-1][0] == "end", output
        return self.log[-1][1]

    def kill(self) -> None:
        if self.process is None or self.process.poll() is not None:
            return
        is_launcher = LAUNCHER in self.process.args  # it ends those that it started
        self.process.send_signal(signal.SIGTERM if is_launcher else signal.SIGKILL)
        self.process.communicate(timeout=60)


@contextmanager
def running(
    folder: Path, text: str, *words: str, start: bool = True, by: Any = None, **environment: str
) -> Iterator[Program]:
    """A program, until the end of the block, which may start it itself."""
    folder.mkdir(exist_ok=True)
    program = Program(folder, text, **environment)
    try:
        if start:
            program.start(*words, by=by)
        yield program
    finally:
        program.kill()


def alone(folder: Path, text: str, *, by: Any = warm.Process, **environment: str) -> str:
    """The digest of a program's parameters that was run by python alone."""
    with running(folder, text, sys.executable, "train.py", by=by, **environment) as program:
        return program.ended()


__all__ = ["PROGRAMS", "Client", "Program", "QError", "Refused", "alone", "running"]
