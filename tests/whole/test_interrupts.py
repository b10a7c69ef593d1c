"""Ctrl-C at random moments, in real processes: 'stop is printed, nothing is left half done, the session goes on."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from queue import Empty, Queue
from typing import Any

import pytest

from kshell.errors import QError, QExit
from kshell.session import Session
from kshell.values.session import interrupts
from tests.support import warm

KSHELL = [sys.executable, "-m", "kshell", "-q"]


class Shell:
    """A kshell that is given lines through a pipe; `ask` waits for what it prints until a mark."""

    def __init__(self, folder: Path, start: Any = warm.Process) -> None:
        self.p = start(KSHELL, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=folder)
        self.marks = 0
        self.lines: Queue[str] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.p.stdout
        for line in self.p.stdout:
            self.lines.put(line.rstrip("\n"))

    def send(self, text: str) -> None:
        assert self.p.stdin
        self.p.stdin.write(text + "\n")
        self.p.stdin.flush()

    def until(self, mark: str, seconds: float = 60) -> list[str]:
        out: list[str] = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                out.append(self.lines.get(timeout=0.5))
            except Empty:
                assert self.p.poll() is None, ("the session died", self.p.returncode, out)
                continue
            if out[-1] == mark:
                return out[:-1]
        raise AssertionError(f"no answer: {out[-5:]}")

    def ask(self, text: str) -> list[str]:
        """What a line prints."""
        self.marks += 1
        self.send(f'{text}\n-1"mark {self.marks}";')
        return self.until(f"mark {self.marks}")

    def interrupted(self, text: str, after: float) -> list[str]:
        """What a line prints that is interrupted some seconds after it began; a command needs a line of its own."""
        self.marks += 1
        between = "\n" if text.startswith("\\") else ""
        self.send(f'-1"go {self.marks}";{between}{text}\n-1"mark {self.marks}";')
        self.until(f"go {self.marks}")
        time.sleep(after)
        self.p.send_signal(signal.SIGINT)
        return self.until(f"mark {self.marks}")


@pytest.fixture
def shell(tmp_path: Path) -> Iterator[Shell]:
    made = Shell(tmp_path)
    yield made
    made.p.kill()
    made.p.wait()


def alive(shell: Shell) -> None:
    assert shell.ask("1+1") == ["2"]


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["while[1b;]", "while[1b;a:1]", "do[0W;a:1]", "{while[1b;x+:1]}1", "{.Q.s1 x}each 50000000#0",
                                  "{x+1}/[0W;0]", "{1b}{x}/1", "(+)/[50000000#enlist 1 2]",
                                  "{.z.s x;.z.s x}each 100000000#0", "while[1b;.Q.s til 1000]",
                                  "while[1b;value\"1+1\"]", "while[1b;-8!til 100000]", "while[1b;parse\"f[1;2]\"]",
                                  "while[1b;select y:sum x by x mod 7 from([]x:til 1000)]", "{.Q.s1 x;x}':[100000000#0]"])
def test_loops(shell: Shell, loop: str) -> None:
    shell.ask("keep:til 10")
    rng = random.Random(loop)
    for _ in range(3):
        out = shell.interrupted(loop, 0.1 + 0.3 * rng.random())
        assert "'stop" in out or ".z.s" in loop, out
        assert shell.ask("keep~til 10") == ["1b"]
    alive(shell)


def test_two_interrupts_end_a_loop_of_traps(shell: Shell) -> None:
    """One that a trap catches is followed by one that none does."""
    shell.send("-1\"go\";\nwhile[1b;@[{while[1b;]};0;0]]\n-1\"done\";")
    shell.until("go")
    for _ in range(2):
        time.sleep(0.4)
        shell.p.send_signal(signal.SIGINT)
    assert "'stop" in shell.until("done")
    alive(shell)


@pytest.mark.sampled(2)
def test_training_loop(shell: Shell) -> None:
    """Every interrupt leaves the table of handles, the modes and the optimizer as a whole number of steps would."""
    shell.ask("m:module((`sequential;());(`linear;20;64);`relu;(`drop;.2);(`linear;64;3));l:loss`ce")
    shell.ask("o:opt(`adam;m;.01);x:tensor(`randn;64 20);y:tensor(`randint;3;64)")
    shell.ask("f:{zerograd o;backward loss(l;forward(m;x);y);step o};f[];f[]")
    handles = shell.ask("count obj[]")
    rng = random.Random(1)
    for _ in range(15):
        assert "'stop" in shell.interrupted("while[1b;f[]]", 0.05 + 0.1 * rng.random())
        assert shell.ask("count obj[]") == handles
        assert shell.ask("training m") == ["1b"]
    assert shell.ask("count distinct(exec buffers from state[o]`parms)@\\:`step") == ["1"]
    alive(shell)


# small training, each step of which is the same whenever it is made; what a loop does again and again; the state
SETTING = """xs:8 6#.01e*til 48;ys:8 3#.1e*til 24;tx:tensor xs;ty:tensor ys;l:loss`mse
xx:tensor 32 6#raze xs;yy:tensor 32 3#raze ys
net:{seed 7;q::module seq(`sequential;(`linear;6;16);`tanh;(`linear;16;3));o::opt OPT;}
one:{zerograd o;backward loss(l;forward(q;tx);ty);step o}
digest:{md5"c"$-8!(state q;delete pointer from(state o)`parms)}
later:{n:0;make[];while[(n<5000)&not x~digest[];one[];n+:1];n}
"""
MODEL = """one:{backstep(m;tx;ty)}
make:{net[];m::model(q;loss`mse;o);train(m;`batchsize`shuffle TRAIN;(8;0b) VALUES);train(m;xx;yy);}
digest:{md5"c"$-8!((state m)`module;delete pointer from((state m)`optimizer)`parms)}
"""
TRAINED = {  # optimizer, options of train, what is made of the network, what is interrupted
    "steps": ("(`adam;q;.01)", None, "make:net", "one[]"),
    "momentum": ("(`sgd;q;.01;.9)", None, "make:net", "one[]"),
    "one by one": ("(`adamw;q;.01;`foreach,0b)", None, "make:net", "one[]"),
    "fused": ("(`adamw;q;.01;`fused,1b)", None, "make:net", "one[]"),
    "run": ("(`adam;q;.01)", ("", ""), "", "run m"),
    "run with momentum": ("(`sgd;q;.01;.9)", ("", ""), "", "run m"),
    "run with clipping": ("(`adamw;q;.01)", (",`clipnorm", ",.5"), "", "run m"),
    "compiled": ("(`adam;q;.01)", None, "make:{net[];compile(q;`eager)}", "one[]"),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("kind", "times"), [
    ("steps", 8), ("fused", 8), ("run", 8),
    *(pytest.param(k, 40, marks=pytest.mark.slow) for k in TRAINED)])
def test_no_step_is_half_done(kind: str, times: int, shell: Shell) -> None:
    """After an interrupt at a random moment the parameters, and what the optimizer keeps of them, are in all bits those
    after some number of whole steps, and the session goes on from there."""
    optimizer, train, make, loop = TRAINED[kind]
    text = SETTING.replace("OPT", optimizer) + make
    if train is not None:
        text += MODEL.replace(" TRAIN", train[0]).replace(" VALUES", train[1])
    for line in text.splitlines():
        assert shell.ask(line) == [], line
    shell.ask("make[];one[];make[]")  # what is loaded or compiled when it is first used
    start = time.monotonic()
    shell.ask("do[30;one[]]")
    step = (time.monotonic() - start) / 30
    shell.ask("make[];after:{d:digest[];one[];d}each til 150")
    assert shell.ask("make[];count distinct after") == ["150"]
    handles, rng, moved = shell.ask("count obj[]"), random.Random(times), 0
    for _ in range(times):
        out = shell.interrupted(f"while[1b;{loop}]", step * 40 * rng.random())
        assert "'stop" in out, out
        (found,) = shell.ask("after?digest[]")
        assert shell.ask("count obj[]") == handles
        if int(found) > 148:  # more steps than the first ones
            (found,) = shell.ask("later digest[]")
            assert int(found) < 5000, "half a step"
        else:
            shell.ask("one[]")
            assert shell.ask("after?digest[]") == [str(int(found) + 1)]
        moved += int(found) > 0
        shell.ask("make[]")
    assert moved > times // 2
    alive(shell)
    print(f"{kind}: {times} interrupts, no half step")


def test_a_run_stops_after_a_batch(shell: Shell) -> None:
    """`run` and `testrun` of a pass that takes a minute stop at once, say how far they were, and can be called again."""
    shell.ask("x:tensor(`randn;40000 256);y:tensor(`randint;10;40000);q:module enlist(`linear;256;10)")
    shell.ask("m:model(q;loss`ce;opt(`sgd;q;.1));train(m;`batchsize;1);train(m;x;y);test(m;`batchsize;1);test(m;x;y)")
    for call in ("run", "testrun") * 2:
        start = time.monotonic()
        out = shell.interrupted(f"{call} m", 0.3)
        assert time.monotonic() - start < 5
        assert out[0] == "'stop"
        assert re.fullmatch(rf"  \({call}: [\d,]+ of 40,000 batches done\)", out[-1]), out
        assert shell.ask("datasize m") == ["40000"]
    assert shell.ask("train(m;`batchsize;40000);type run m") == ["-9h"]


@pytest.mark.sampled(2)
def test_options_and_states_are_whole(shell: Shell) -> None:
    """Interrupts among edits of groups, states and restores: all of an edit or none, and no handle is left over."""
    shell.ask("m:module((`sequential;());(`linear;20;64);`relu;(`linear;64;3));o:opt(`adam;m;.01)")
    shell.ask("backward Sum forward(m;tensor(`randn;64 20));step o;s:state o")
    shell.ask("f:{lr(o;x);opt(o;();`beta1`beta2!(x;x));state o;q:opt(s;m);c:clone m;free q;x}")
    shell.ask("f .5")
    handles = shell.ask("count obj[]")
    rng = random.Random(3)
    for _ in range(25):
        assert "'stop" in shell.interrupted("while[1b;f rand .9]", 0.02 + 0.1 * rng.random())
        assert shell.ask("count obj[]") == handles
        assert shell.ask("exec beta1~beta2 from last value 2#opt o") == ["1b"]
    alive(shell)


@pytest.mark.sampled(2)
def test_a_step_is_never_cut_in_two(shell: Shell) -> None:
    """A constant gradient of 1 and rate 1: after k steps every item of every parameter is -k. 50 interrupts."""
    shell.ask("v:vector{tensor(20#0e;`grad)}each til 60")
    shell.ask("o:opt(`sgd;v;1.)")
    shell.ask("backward Sum cat v")
    shell.ask("step o")
    assert shell.ask("distinct raze vector v") == [",-1e"]
    rng = random.Random(2)
    before, moved = -1.0, 0
    for _ in range(50):
        out = shell.interrupted("while[1b;step o]", 0.004 + 0.03 * rng.random())
        assert "'stop" in out, out
        (found,) = shell.ask("distinct raze vector v")
        assert found.startswith(",") and found.endswith("e"), ("half a step", found)
        now = float(found[1:-1])
        assert now == int(now) and now <= before
        moved += now < before
        before = now
    assert moved > 40
    alive(shell)


def test_a_file_is_whole(shell: Shell, tmp_path: Path) -> None:
    shell.ask("big:til 500000")
    shell.ask("`:f set big")
    rng = random.Random(4)
    for _ in range(15):
        out = shell.interrupted("{while[1b;`:f set x+big]}0", 0.02 + 0.1 * rng.random())
        assert "'stop" in out
        assert shell.ask("big~get`:f") == ["1b"]
    assert os.listdir(tmp_path) == ["f"]
    alive(shell)


@pytest.mark.sampled(2)
def test_a_script(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "s.q").write_text("n:0\n" + "n+:1\n" * 20000 + "while[1b;n+:1]\n")
    assert "'stop" in shell.interrupted("\\l s.q", 0.2)
    assert "'stop" in shell.interrupted("\\l s.q", 2.5)
    assert int(shell.ask("n")[0]) > 0
    alive(shell)


@pytest.mark.sampled(2)
def test_display_of_a_large_value(shell: Shell) -> None:
    shell.ask("\\c 2000 2000")
    for _ in range(3):
        out = shell.interrupted("while[1b;show{til 500}each til 1000]", 0.4)
        assert any("'stop" in line for line in out)  # perhaps behind the part of a line that was written
    alive(shell)


@pytest.mark.sampled(2)
def test_the_first_use_of_torch(tmp_path: Path) -> None:
    """An interrupt in the import of torch waits until it is over: half of it could not be imported again."""
    shell = Shell(tmp_path, subprocess.Popen)
    try:
        shell.interrupted("t:tensor 1 2 3", 0.3)
        assert shell.ask("tensor tensor 1 2 3") == ["1 2 3"]
        alive(shell)
    finally:
        shell.p.kill()
        shell.p.wait()


@pytest.mark.sampled(2)
def test_nothing_to_stop_between_lines(shell: Shell) -> None:
    alive(shell)
    time.sleep(0.5)  # the line that printed the mark has ended
    for _ in range(5):
        shell.p.send_signal(signal.SIGINT)
        time.sleep(0.02)
    time.sleep(0.5)  # the last has come before the next line is there
    alive(shell)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_end_of_a_held_section_and_no_longer(number: signal.Signals) -> None:
    session, seen = Session(), []

    def work() -> None:
        with interrupts.HOLD:
            with interrupts.HOLD:
                os.kill(os.getpid(), number)
                time.sleep(0.01)
            seen.append("whole")
        seen.append("too far")

    before = signal.signal(number, session.interrupt if number == signal.SIGINT else session.terminate)
    try:
        session.run("a:1")
        with pytest.raises((QError, QExit)) as found:
            session._guarded(work)
    finally:
        signal.signal(number, before)
    assert seen == ["whole"]
    assert found.value.text == "stop" if isinstance(found.value, QError) else found.value.code == 143
    assert not interrupts.PENDING and not interrupts.HOLD.depth


WAITS_AFTER_AN_EDIT = """
import os, select, signal, sys, time
from kshell.errors import QExit
from kshell.session import Session
from kshell.values.session.interrupts import brief

session = Session()
signal.signal(signal.SIGTERM, session.terminate)
signal.signal(signal.SIGINT, session.interrupt)

@brief
def edit():
    print("begun", flush=True)
    time.sleep(0.2)

def waits():
    edit()
    select.select([os.pipe()[0]], [], [], 20)

for _ in range(3):
    begun = time.monotonic()
    try:
        session._guarded(waits)
        print("waited")
    except BaseException as e:
        print(type(e).__name__, e, "" if time.monotonic() < begun + 10 else "too late", flush=True)
"""


@pytest.mark.parametrize(("number", "said"), [(signal.SIGTERM, "QExit 143"), (signal.SIGINT, "QError stop")])
def test_what_came_during_an_edit_ends_the_wait_after_it(number: signal.Signals, said: str) -> None:
    """A signal that came while a short edit was made is sent again: also when a system call waits by then."""
    p = warm.Process([sys.executable, "-c", WAITS_AFTER_AN_EDIT], stdout=subprocess.PIPE, text=True)
    assert p.stdout
    for _ in range(3):
        assert p.stdout.readline() == "begun\n"
        p.send_signal(number)
        assert p.stdout.readline() == said + " \n"
    assert p.wait(30) == 0
