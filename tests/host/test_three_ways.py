"""Training programs that know nothing of kshell, each of them listening in three ways: another process reads the
gradients of a step, changes one group's rate, freezes a layer and replaces one, and the program's own log shows it."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from tests.host.logs import logged, shows_that_they_are_undone, shows_the_edits
from tests.host.programs import LINE, PROGRAMS, Client, running
from tests.host.trainers import TRAINERS

PYTHON = [sys.executable, "train.py"]
# the words that start a program, its environment, and the lines before its own
WAYS: dict[str, tuple[list[str], dict[str, str], str]] = {
    "run": ([sys.executable, "-m", "kshell", "run", "train.py"], {}, ""),
    "variable": (PYTHON, {"KSHELL_LISTEN": "1"}, ""),
    "line": (PYTHON, {}, LINE),
}


class Task(NamedTuple):
    """What is done in a program: the rate of the first group, what freezes a layer and replaces another one, and how
    many numbers the new one has."""

    rate: str = "lr(optimizer;.003)"
    freeze: str = "freeze(net;`0)"
    replace: str = "child(net;`3;(`linear;16;1;0b))"
    numbers: int = 16
    layers: tuple[str, ...] = ("0.weight", "0.bias", "3.weight", "3.bias")


TASKS = {
    "two groups": Task(rate="lr(optimizer;.003 .02)", layers=("3.weight", "3.bias", "0.weight", "0.bias")),
    "averaged": Task(rate="lr(optimizer;.003;1b)"),  # the rate from which the scheduler computes, too
    "transformers": Task("lr(optimizer;.003 .001;1b)", "freeze(net;`transformer.wte)", "child(net;`lm_head;(`linear;16;64))", 1088, ()),
    "accelerate": Task(replace="child(net;`2;(`linear;16;1;0b))", layers=("0.weight", "0.bias", "2.weight", "2.bias")),
    "lightning": Task(freeze="freeze(net;`net.0)", replace="child(net;`net.2;(`linear;16;1;0b))",
                      layers=("net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias")),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("name", "way"), [*itertools.product(PROGRAMS, WAYS)])
def test_a_program_is_queried_and_edited(tmp_path: Path, name: str, way: str) -> None:
    is_queried_and_edited(tmp_path, PROGRAMS[name], way, TASKS.get(name, Task()))


@pytest.mark.extra
@pytest.mark.slow
@pytest.mark.parametrize(("name", "way"), [*itertools.product(TRAINERS, WAYS)])
def test_a_trainer_is_queried_and_edited(tmp_path: Path, name: str, way: str) -> None:
    pytest.importorskip(name)
    is_queried_and_edited(tmp_path, TRAINERS[name], way, TASKS[name])


def is_queried_and_edited(folder: Path, text: str, way: str, task: Task) -> None:
    words, environment, before = WAYS[way]
    lines = [task.rate, task.freeze, task.replace, "undo 3"]
    with running(folder, before + text, *words, PAUSE="0.01", HF_HUB_OFFLINE="1", **environment) as program:
        client = program.client()
        program.wait_for(8)
        step, norm = gradients(client, task)
        program.wait_for(step + 1)  # what is logged of the step is the same without the edits
        steps = [edited(client, line) for line in lines[:3]]
        program.wait_for(steps[2] + 4)
        steps.append(edited(client, lines[3]))
        client.close()
        program.wait_for(steps[3] + 4)
        log = logged(folder / "log.txt")
        assert log[step].norm == pytest.approx(norm, rel=1e-4)
        shows_the_edits(log, *steps[:3], task.numbers)
        shows_that_they_are_undone(log, steps[3])
        file = (program.folder / f"kshell-edits-{program.pid}.q").read_text()
        carried_out = [line for line in file.splitlines() if line[0] != "/"]
        assert carried_out == [f'.run.at[{at};"{line}"]' for at, line in zip(steps, lines, strict=True)]


def edited(client: Client, line: str) -> int:
    """The step after which an edit was made."""
    client(line)
    edits = client(".run.edits")
    assert edits["text"][-1].decode() == line
    return int(edits["step"][-1])


def gradients(client: Client, task: Task) -> tuple[int, float]:
    """The number of a step, and the norm of its gradients."""
    step, table, steps = client("(.run.step;select name,norm from gradtable optimizer;.run.steps)")
    assert list(table["name"]) == list(task.layers) or not task.layers
    assert len(table["name"]) >= 4 and all(table["norm"] > 0)
    assert step >= 7 and steps["step"][-1] == step and len(steps["step"]) >= step
    assert all(steps["loss"] > 0) and all(steps["seconds"][-5:] > 0) and "optimizer" in set(steps["opt"])
    return int(step), float(np.sqrt(np.square(table["norm"].astype(float)).sum()))
