"""The prompt inside a running Python program: on a pseudo-terminal, and with lines from a pipe."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import kshell
from tests.test_cli import Terminal

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


def test_lines_from_a_pipe(program: Path) -> None:
    lines = "lr opt\nlr(opt;.25)\nx[0;0]:7e\nexec name from parmtable model\n1+`a\ny:n*2\nf:{x+1}\n\\\\\na line\nf 1\nexit 3\n"
    done = subprocess.run([sys.executable, str(program)], input=lines, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        ",0.5", "`0.weight`0.bias`1.weight`1.bias", "lr 0.25 x 7.0 n [1, 2] alive True", "then a line", "2", "n 5"]
    assert done.stderr.splitlines() == ["'type", "  [0]  1+`a", "        ^"]
    assert done.returncode == 0


def test_the_end_of_a_pipe(program: Path) -> None:
    done = subprocess.run([sys.executable, str(program)], input="2+3", capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["5", "lr 0.5 x 1.0 n [1, 2] alive False", "then nothing", "n 5"]
    assert (done.returncode, done.stderr) == (0, "")


class Program(Terminal):
    """A Python program on a pseudo-terminal."""

    def __init__(self, path: Path) -> None:
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.environ["TERM"] = "xterm"
            os.execv(sys.executable, [sys.executable, str(path)])
        self.seen = ""


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


def test_where_there_can_be_no_prompt() -> None:
    found: list[str] = []

    def work() -> None:
        try:
            kshell.embed()
        except RuntimeError as e:
            found.append(str(e))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == ["embed: the prompt needs the main thread"]


def test_not_in_an_event_loop() -> None:
    import asyncio

    async def work() -> None:
        kshell.embed()

    with pytest.raises(RuntimeError, match="event loop"):
        asyncio.run(work())


def test_a_name_that_q_cannot_have() -> None:
    with pytest.raises(kshell.QError, match="assign"):
        kshell.embed(til=1)
