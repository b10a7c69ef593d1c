"""The prompt inside a running Python program: on a pseudo-terminal, and with lines from a pipe."""

from __future__ import annotations

import asyncio
import io
import os
import pty
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import kshell
from kshell.python import taking
from tests import ROOT
from tests.shell.test_cli import Terminal
from tests.support import warm

PROGRAM = """
import signal, torch, kshell
torch.manual_seed(0)
m = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Linear(2, 1))
o = torch.optim.SGD(m.parameters(), lr=.5)
x = torch.ones(4, 3)
before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
s = kshell.embed(opt=o, model=m, x=x, n=[1, 2])
assert before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
print("lr", o.param_groups[0]["lr"], "x", x[0, 0].item(), "n", s.n.tolist(), "alive", "y" in s)
try:
    print("then", input())
except EOFError:
    print("then nothing")
try:
    kshell.embed(s, n=5)
except SystemExit:
    print("no")
print("n", s.n)
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


@pytest.mark.sampled(2)
def test_lines_from_a_pipe(program: Path) -> None:
    lines = "lr opt\nlr(opt;.25)\nx[0;0]:7e\nexec name from parmtable model\n1+`a\ny:n*2\nf:{x+1}\n\\\\\na line\nf 1\nexit 3\n"
    done = subprocess.run([sys.executable, str(program)], input=lines, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        ",0.5", "`0.weight`0.bias`1.weight`1.bias", "lr 0.25 x 7.0 n [1, 2] alive True", "then a line", "2", "n 5"]
    assert done.stderr.splitlines() == ["'type", "  [0]  1+`a", "        ^"]
    assert done.returncode == 0


def test_the_end_of_a_pipe(program: Path) -> None:
    done = warm.run([sys.executable, str(program)], input="2+3", capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["5", "lr 0.5 x 1.0 n [1, 2] alive False", "then nothing", "n 5"]
    assert (done.returncode, done.stderr) == (0, "")


class Program(Terminal):
    """A Python program on a pseudo-terminal."""

    def __init__(self, path: Path) -> None:
        self.open([sys.executable, str(path)])


def test_on_a_terminal(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    t = Program(program)
    t.until("kshell")
    t.until("q)")
    t.send("lr opt\r")
    t.until(",0.5")
    t.until("q)")
    t.send("lr(opt;.125);y:1\r")
    t.until("q)")
    t.send("-1\"go\",\"ing\";while[1b;1+1]\r")
    t.until("going")
    t.send("\x03")
    t.until("'stop")
    t.until("q)")
    t.send("\x04")
    t.until("lr 0.125 x 1.0 n [1, 2] alive True")
    t.send("typed\r")
    t.until("then typed")
    t.until("q)")
    t.send("n+1\r")
    t.until("\n6")
    t.until("q)")
    t.send("\\\\\r")
    t.until("n 5")
    assert t.close() == 0


class Lines(io.StringIO):
    """Standard input that is no terminal, and that another test may look at."""


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets lines be read from standard input."""
    return lambda text: monkeypatch.setattr(sys, "stdin", Lines(text))


def test_where_there_can_be_no_prompt(typed: Callable[[str], None], capsys: pytest.CaptureFixture[str]) -> None:
    """The values are there all the same, and the program goes on."""
    typed("exit 1")
    found: list[kshell.Session] = []
    thread = threading.Thread(target=lambda: found.append(kshell.embed(n=5)))
    thread.start()
    thread.join()
    assert capsys.readouterr().err == "embed: no prompt: it needs the main thread; the program goes on\n"

    async def work() -> None:
        found.append(kshell.embed(n=6))

    asyncio.run(work())
    assert capsys.readouterr().err == \
        "embed: no prompt: an event loop is running in this thread; in a notebook use %%q; the program goes on\n"
    assert [s["n"] for s in found] == [5, 6]


class Broken(Lines):
    def readline(self, *_: Any) -> str:
        raise OSError("gone")


def test_nothing_is_raised(typed: Callable[[str], None], capsys: pytest.CaptureFixture[str],
                           monkeypatch: pytest.MonkeyPatch) -> None:
    for stream, why in ((None, "standard input is closed"), (Broken(), "OSError: gone")):
        monkeypatch.setattr(sys, "stdin", stream)
        assert kshell.embed(n=1).n == 1
        assert capsys.readouterr().err == f"embed: no prompt: {why}; the program goes on\n"
    typed("n+1\nbig\n")
    before = signal.getsignal(signal.SIGINT)
    s = kshell.embed(til=1, n=1, big=2**64, select=2, _x=3)
    assert capsys.readouterr().out == "2\nforeign\n" and s.n == 1 and s["big"] == 2**64 and "til" not in list(s)
    typed("1")
    kshell.embed(torch.nn.Linear(1, 1), n=1)  # type: ignore[arg-type]
    out, err = capsys.readouterr()
    assert out == "1\n" and err == "embed: expected a session, given Linear; variables go by name: embed(x=x)\n"
    assert signal.getsignal(signal.SIGINT) is before


def test_what_is_told_of_names(typed: Callable[[str], None], capsys: pytest.CaptureFixture[str]) -> None:
    typed("")
    kshell.embed(til=1, big=2**64, a=object(), select=2)
    assert capsys.readouterr().err == ("embed: not taken as they are: til, select (no name in q)\n"
                                       "embed: not taken as they are: big (held as it is: limit)\n")


CALLER = """
from __future__ import annotations
import signal, os, sys, pathlib, torch, kshell
import numpy as np
from typing import Any
from torch import nn
from torch.utils.data import DataLoader

rate, seed, n, my_var, til, _own, big = 1e-3, 5, 3, 2.5, 9, 1, [0] * 1_000_001
path = pathlib.Path("a")
signal.signal(signal.SIGUSR1, lambda number, frame: kshell.embed(frame))

class Net(nn.Module):
    pass

def twice(x):
    return 2 * x

def train(x):
    return x

def main(n):
    m = nn.Linear(2, 1)
    o = torch.optim.SGD(m.parameters(), lr=0.5)
    sch = torch.optim.lr_scheduler.StepLR(o, 3)
    loader, x, w = DataLoader([1, 2]), torch.ones(2, 2), {"a": 1, "p": path}
    s = kshell.embed()
    print(o.param_groups[0]["lr"], x[0, 0].item(), s.w["p"] is path, s["loader"] is loader, sch.last_epoch)
    os.kill(os.getpid(), signal.SIGUSR1)
    print(o.param_groups[0]["lr"])

main(4)
"""


def test_the_caller_s_variables(tmp_path: Path) -> None:
    """Those of the function and its module, without what is no data or would be in the way; and by a signal."""
    path = tmp_path / "run.py"
    path.write_text(CALLER)
    lines = ("lr(o;.25)\nx[0;0]:7e\nmy_var,n\ntwice 4\nexec name from parmtable m\nstep sch\nseed 1\nloader\n"
             "\\\\\nlr(o;.125)\nn\n\\\\\n")
    done = warm.run([sys.executable, str(path)], input=lines, capture_output=True, text=True, check=False)
    at = [i for i, line in enumerate(CALLER.splitlines(), 1) if "embed()" in line or "os.kill" in line]
    assert done.stdout.splitlines()[:5] == ["2.5", "4", "8", "`weight`bias", "foreign"], done.stdout + done.stderr
    assert done.stdout.splitlines()[5:] == ["0.25 7.0 True True 1", "4", "0.125"]
    note = ("dictionary w; float rate, my_var; function twice, main; long n; module m; optimizer\n  o; scheduler sch; tensor x; "
            "foreign DataLoader loader; foreign PosixPath path\nnot taken: seed, train (would hide the function of that name)\n"
            "not taken: til (no name in q)\nnot taken: big (large; embed(big=big) copies it)\n")
    first, second = done.stderr.split("from run.py:")[1:]
    assert first == (f"{at[0]}: {note}lr: steplr also sets the rates: its next step continues from yours\n")
    assert second.startswith(f"{at[1]}: dictionary w;") and "session" not in second
    assert done.returncode == 0


def test_large_values_are_not_copied_unasked() -> None:
    small = taking.small
    assert small([1] * 10) and small({"a": [[1, 2], "x"]}) and small(np.zeros(10)) and small("x")
    assert not small([0] * 1_000_001) and not small([[0] * 600_000, [0] * 600_000]) and not small(
        np.broadcast_to(np.zeros(1), (1 << 26,)))
    nested: list[object] = []
    nested.append(nested)
    assert small(nested)


def test_variables_that_cannot_be_read(typed: Callable[[str], None], capsys: pytest.CaptureFixture[str]) -> None:
    """An object that raises whatever it is asked is held as it is."""

    class Bad:
        def __getattr__(self, name: str) -> object:
            raise RuntimeError(name)

    class Reads(dict[str, int]):
        def values(self) -> object:  # type: ignore[override]
            raise AssertionError("was read")

    bad, reads = Bad(), Reads(a=1)
    typed("bad")
    s = kshell.embed()
    assert capsys.readouterr().out == "foreign\n" and s["bad"] is bad and s["reads"] is reads


def test_in_the_background_of_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    outer, inner = pty.openpty()
    try:
        monkeypatch.setattr(sys, "stdin", os.fdopen(os.dup(inner)))
        monkeypatch.setattr(os, "tcgetpgrp", lambda fd: os.getpgrp() + 1)
        kshell.embed(n=1)
        assert "in the background of its terminal" in capsys.readouterr().err
    finally:
        os.close(outer)
        os.close(inner)


HOST = """
import sys, threading
import numpy as np
before = np.geterr(), sys.getrecursionlimit()
import kshell
s = kshell.Session()
assert (np.geterr(), sys.getrecursionlimit()) == before
assert list(s("neg 1 2%0 0")) == [-np.inf] * 2 and s("{$[x;.z.s x-1;0]}700") == 0
s["a"] = np.array([1.0, np.nan])
s("b:`long$1e300 0n;c:a%0;d:{x xexp y}[10 0n;400]")
s["b"], s["c"], s["d"]
assert s("@[{.z.s x+1};0;{x}]") == b"stack"
threads = [threading.Thread(target=s, args=("do[200;1 2%0 0]",)) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert (np.geterr(), sys.getrecursionlimit()) == before
try:
    np.array([1.0]) / 0
except RuntimeWarning:
    print("warned")
"""


def test_the_host_program_keeps_its_warnings_and_depth() -> None:
    """q's arithmetic warns of nothing and its functions nest deeper than Python's, yet only while q code runs."""
    done = subprocess.run([sys.executable, "-W", "error::RuntimeWarning", "-c", HOST], capture_output=True, text=True,
                          timeout=120, check=False, cwd=ROOT)
    assert (done.stdout, done.stderr) == ("warned\n", "")
