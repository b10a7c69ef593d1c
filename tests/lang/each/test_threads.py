"""The threads of peach: the same results as each, in order; errors, random numbers, interrupts. Threads with sessions of
their own."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from kshell.errors import QError
from kshell.session import Session
from kshell.values.base.build import string
from kshell.values.base.core import List
from kshell.values.session.interrupts import HOLD
from tests.support import warm

KSHELL = [sys.executable, "-m", "kshell", "-q"]


@pytest.fixture
def session() -> Iterator[Session]:
    s = Session()
    s.run("\\s 3")
    yield s
    if s.pool is not None:
        s.pool.executor.shutdown()


@pytest.mark.parametrize("f", ["{(x;sum til x)}", "{string x}", "{$[x mod 2;`$string x;x]}", "{tensor x+tensor 1 2}"])
def test_peach_gives_what_each_gives(session: Session, f: str) -> None:
    assert session.run(f"({f} each til 50)~{f} peach til 50") is True


def test_items_run_in_other_threads_at_once(session: Session) -> None:
    started = threading.Barrier(3, timeout=20)  # broken, and so an error, unless three items are computed at once
    session["wait"] = session.run("{x}")
    session["wait"].fn = lambda x: started.wait() and threading.get_ident()
    found = session.run("{wait x;x}peach 1 2 3")
    assert list(found.items) == [1, 2, 3]


def test_a_single_item_runs_in_the_main_thread(session: Session) -> None:
    session.run("peach[{pa::x};enlist 4]")
    assert session["pa"] == 4


def test_the_first_item_that_fails_gives_the_error(session: Session) -> None:
    for _ in range(20):
        with pytest.raises(QError) as failed:
            session.run("{if[x in 4 5 17;'string x];x}peach til 20")
        assert failed.value.text == "4"
        assert [f.source.text[:1] for f in failed.value.frames] == ["{", "{"]


def test_nothing_is_changed_by_a_refused_assignment(session: Session) -> None:
    session.run("v:1 2 3;t:([]a:1 2);f:{v[0]:x};g:{v,:x};h:{v::x};k:{`t insert enlist x};old:{w::x}")
    before = [session["v"], session["t"]]
    for f in ("f", "g", "h", "k", "{delete v from`.}"):
        with pytest.raises(QError, match="noupdate"):
            session.run(f"{f} peach 5 6")
    assert session["v"] is before[0] and session["t"] is before[1]
    assert session.run("v").a.tolist() == [1, 2, 3]
    session.run("old 3")
    assert session["w"] == 3


def test_random_numbers_do_not_depend_on_which_thread_is_first() -> None:
    texts = []
    for _ in range(5):
        s = Session()
        s.run("\\s 3")
        texts.append(s.run("-3!({x?1000}peach 9#3;{x?1000}peach 9#3;3?1000)").a.tobytes())
        s.pool.executor.shutdown()
    assert len(set(texts)) == 1


def test_deep_calls_are_an_error_in_threads_too(session: Session) -> None:
    with pytest.raises(QError) as failed:
        session.run("{.z.s x}peach 1 2")
    assert failed.value.text == "stack"
    assert session.run("{$[x>0;1+.z.s x-1;0]}peach 900 800").a.tolist() == [900, 800]


def test_a_held_section_of_another_thread_is_its_own() -> None:
    inside, go = threading.Event(), threading.Event()

    def work() -> None:
        with HOLD:
            inside.set()
            go.wait(20)

    t = threading.Thread(target=work)
    t.start()
    inside.wait(20)
    try:
        assert HOLD.depth == 0
        assert t.ident is not None and HOLD.holds(t.ident)
    finally:
        go.set()
        t.join()
    assert not HOLD.holds(t.ident)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("f", ["{while[1b;]}", "{x+1}/[0W;]", "{while[1b;sum til 1000]}"])
def test_an_interrupt_stops_the_threads(f: str) -> None:
    p = subprocess.Popen(KSHELL, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert p.stdin and p.stdout
    try:
        p.stdin.write(f'\\s 2\n-1"ready";\n{f}peach 1 2\n{{x+1}}peach 1 2 3\n-1"alive";\n')
        p.stdin.flush()
        assert p.stdout.readline() == "ready\n"
        time.sleep(0.5)
        p.send_signal(signal.SIGINT)
        lines = []
        while not lines or lines[-1] != "alive\n":
            lines.append(p.stdout.readline())
            assert lines[-1], "the session died"
        assert lines[0] == "'stop\n" and lines[-2] == "2 3 4\n"
    finally:
        p.kill()
        p.wait()


def test_threads_may_look_at_one_list_at_once(session: Session) -> None:
    """The items of a list of vectors are put into one array, or taken out of it, when they are looked at."""
    for n in range(6):
        session["l"] = List([string("abc" * (1 + i % 7)) for i in range(20_000)])
        session.run("f:{(sum count each l),(count raze l),count l x}")
        assert session.run("(f peach 7*til 6)~6#enlist f 0") is True, n


TRAINED_AND_LOOKED_AT = r"""
import sys, threading, time
import torch
from kshell import Session

m = torch.nn.Sequential(torch.nn.Linear(8, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
over, begun, steps = threading.Event(), threading.Event(), 0

def train():
    global steps
    s = Session()
    s.m, s.o, s.x = m, torch.optim.AdamW(m.parameters()), torch.randn(64, 8)
    s("k:model(m;loss`mse;o);train(k;`batchsize;16);train(k;x;64 1#0e)")
    s("fit:{[i]" + sys.argv[1] + "}")
    while not over.is_set():
        s("fit 0")
        steps += 1
        begun.set()

t = threading.Thread(target=train)
t.start()
q = Session()
q.m, _ = m, begun.wait(30)
until = time.monotonic() + 1
while time.monotonic() < until:
    time.sleep(.001)
    q("exec max grad from parmtable m")
over.set()
t.join()
print(steps > 10)
"""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("step", ["nograd o;backward mse(forward(m;x);64 1#0e);step o",
                                  "nograd m;backward mse(forward(m;x);64 1#0e);step o", "run k"])
def test_gradients_may_be_looked_at_while_another_thread_trains(step: str) -> None:
    """Reading a gradient that another thread is dropping ended the process."""
    done = warm.run([sys.executable, "-c", TRAINED_AND_LOOKED_AT, step], capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "True\n")
