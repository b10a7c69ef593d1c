"""When a program answers."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
import torch

from kshell.host.steps import Counted, Steps, wait_for_steps
from kshell.values.base.build import string
from tests.host.programs import PROGRAMS, Refused, running

# long evaluations between steps
EVALUATES = PROGRAMS["plain"].replace("def main", """def evaluate():
    net.eval()
    with torch.inference_mode():
        for _ in range(400):
            net(x)
            time.sleep(.01)
    net.train()
def main""").replace("net[3]))\nmain", "net[3]))\n        if step % 3 == 0:\n            evaluate()\nmain")
SLEEPS = PROGRAMS["plain"].replace("net[3]))\nmain", "net[3]))\n        time.sleep(3)\nmain")
assert "evaluate()\nmain" in EVALUATES and "sleep(3)\nmain" in SLEEPS


def test_a_forward_call_answers_where_steps_stop_coming(tmp_path: Path) -> None:
    with running(tmp_path, EVALUATES) as program:
        client = program.client()
        program.wait_for(3)
        time.sleep(0.5)
        start = time.monotonic()
        assert client(".run.step") == 3
        assert client("count parmtable net") == 4
        assert time.monotonic() - start < 3  # an evaluation takes four seconds
        with pytest.raises(Refused, match="forward call"):
            client("lr(optimizer;.5)")
        assert client("first lr optimizer") == 0.01


@pytest.mark.slow
def test_it_says_where_it_is_while_it_does_something_else(tmp_path: Path) -> None:
    with running(tmp_path, SLEEPS) as program:
        client = program.client()
        program.wait_for(1)
        time.sleep(0.3)
        start = time.monotonic()
        found = program.state()
        assert time.monotonic() - start < 1
        assert found["pid"] == program.pid and found["step"] in (1, 2) and found["what"] == "training"
        assert found["program"] == "train.py" and 0 < float(str(found["since"])) < 3 and found["attached"] in (0, 1)
        assert "train.py" in str(found["stack"]) and "time.sleep(3)" in str(found["stack"])
        assert client("1+1") == 2


def test_a_query_that_runs_long_is_stopped(tmp_path: Path) -> None:
    with running(tmp_path, PROGRAMS["plain"], STEPS="2000") as program:
        client = program.client()
        client.send(string("while[1b;1+1]"))
        program.until(lambda: program.state()["what"] == "busy" or None)
        time.sleep(0.2)
        program.state("stop")
        with pytest.raises(Refused, match="stop"):
            client.answer()
        at = client(".run.step")
        program.state("stop")  # nothing runs
        program.wait_for(at + 5)


def test_hooks_are_not_put_into_a_step_that_another_thread_makes() -> None:
    """Python's lists of hooks may not change while they are gone through."""
    steps: dict[str, object] = {}
    exec(compile("def step(ends):\n    ends.wait(20)\n", "/x/torch/optim/optimizer.py", "exec"), steps)
    ends = threading.Event()
    thread = threading.Thread(target=steps["step"], args=(ends,))  # type: ignore[arg-type]
    thread.start()
    start = time.monotonic()
    threading.Timer(0.3, ends.set).start()
    wait_for_steps()
    assert 0.2 < time.monotonic() - start < 0.9
    thread.join()
    start = time.monotonic()
    wait_for_steps()
    assert time.monotonic() - start < 0.2


def test_an_edit_waits_for_the_end_of_a_long_step(tmp_path: Path) -> None:
    """Also where a step has several forward calls and takes longer than a client is usually patient."""
    slow = PROGRAMS["plain"].replace("loss_fn(net(x), y).backward()", "\n        ".join([
        "for part, target in zip(x.chunk(4), y.chunk(4)):", "    time.sleep(.3)", "    loss_fn(net(part), target).backward()"]))
    assert "chunk" in slow
    with running(tmp_path, slow, PAUSE="0") as program:
        client = program.client()
        program.wait_for(2)
        for rate in (0.5, 0.25, 0.125):
            client(f"lr(optimizer;{rate})")
            at = client(".run.step")
            program.wait_for(at + 1)
            assert float(program.log[-1][1]) == rate


def test_how_long_steps_usually_take() -> None:
    steps = Steps()
    counted = Counted(torch.optim.SGD([torch.ones(1)]), 0)
    assert steps.usual() == 0
    for now in (1.0, 2.0, 3.0, 43.0, 44.0, 45.0):
        steps.rows.append((counted, 1, now, 0.1, [], None, None))
        assert steps.usual() in (0, 1)
