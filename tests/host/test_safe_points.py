"""When a program answers, and that nobody can stop or change it by leaving."""

from __future__ import annotations

import json
import random
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kshell.host.watcher import wait_for_steps
from kshell.values.base.build import string
from tests.host.programs import PROGRAMS, Client, Program, Refused, alone, running

# long evaluations between steps
EVALUATES = PROGRAMS["plain"].replace("def main", """def evaluate():
    net.eval()
    with torch.inference_mode():
        for _ in range(400):
            net(x)
            time.sleep(.01)
    net.train()
def main""").replace("digest(net))\nmain", "digest(net))\n        if step % 3 == 0:\n            evaluate()\nmain")
SLEEPS = PROGRAMS["plain"].replace("digest(net))\nmain", "digest(net))\n        time.sleep(3)\nmain")
assert "evaluate()\nmain" in EVALUATES and "sleep(3)\nmain" in SLEEPS


def state(program: Program, word: str = "where") -> dict[str, object]:
    """What the program says of itself, at once."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(10)
        asking.connect(f"{program.run}/{program.pid}.where")
        asking.sendall(f"{word}\n".encode())
        data = b""
        while part := asking.recv(1 << 16):
            data += part
    found: dict[str, object] = json.loads(data)
    return found


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
        found = state(program)
        assert time.monotonic() - start < 1
        assert found["pid"] == program.pid and found["step"] in (1, 2) and found["what"] == "training"
        assert found["program"] == "train.py" and 0 < float(str(found["since"])) < 3 and found["attached"] in (0, 1)
        assert "train.py" in str(found["stack"]) and "time.sleep(3)" in str(found["stack"])
        assert client("1+1") == 2


def test_a_query_that_runs_long_is_stopped(tmp_path: Path) -> None:
    with running(tmp_path, PROGRAMS["plain"], STEPS="2000") as program:
        client = program.client()
        client.send(string("while[1b;1+1]"))
        program.until(lambda: state(program)["what"] == "busy" or None)
        time.sleep(0.2)
        state(program, "stop")
        with pytest.raises(Refused, match="stop"):
            client.answer()
        at = client(".run.step")
        state(program, "stop")  # nothing runs
        program.wait_for(at + 5)


@pytest.mark.parametrize("kills", [pytest.param(n, marks=pytest.mark.slow) for n in (12, 500)])
def test_the_death_of_clients_changes_nothing(tmp_path: Path, kills: int) -> None:
    steps = str(100 + 30 * kills)
    expected = alone(tmp_path / "alone", PROGRAMS["plain"], STEPS=steps, PAUSE="0")
    asking = "import sys; from tests.host.programs import Client; c = Client(sys.argv[1]); print(flush=True)\nwhile True: c('gradtable optimizer')"
    draw = random.Random(5)
    with running(tmp_path / "asked", PROGRAMS["plain"], STEPS=steps, PAUSE="0.004") as program:
        program.client().close()
        path = str(program.run / str(program.pid))
        for i in range(kills):
            if i % 6:  # most die without having been a process of their own, which takes long to start
                client = Client(path)
                for _ in range(draw.randrange(3)):
                    client.send(string("parmtable net"))
                time.sleep(draw.random() * 0.02)
                client.socket.close()
                continue
            child = subprocess.Popen([sys.executable, "-c", asking, path], stdout=subprocess.PIPE, env=program.environment)
            assert child.stdout is not None
            child.stdout.readline()
            time.sleep(draw.random() * 0.1)
            child.kill()
            child.communicate()
        assert program.ended() == expected
    assert list(program.run.iterdir()) == []


@pytest.mark.slow
def test_what_a_killed_program_left_is_removed(tmp_path: Path) -> None:
    with running(tmp_path, PROGRAMS["plain"]) as program:
        program.client().close()
        program.kill()
        assert len(list(program.run.iterdir())) == 2
        listed = subprocess.run(
            [sys.executable, "-c", "from kshell.attach import place; print(place.listening())"],
            env=program.environment, capture_output=True, text=True, check=True,
        )
        assert listed.stdout.strip() == "[]"
        assert list(program.run.iterdir()) == []


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
