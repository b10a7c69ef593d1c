"""Processes killed at random moments of their saves: the last snapshot they told of, or a later one, is there and whole."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kshell.session import Session
from tests import ROOT
from tests.support import warm

MEGA = 1 << 20


class Savers:
    """Asks for processes that save."""

    def __init__(self) -> None:
        env = {**os.environ, "OMP_NUM_THREADS": "1"}
        self.process = warm.Process([sys.executable, "-m", "tests.kapi.checkpoint.savers"], env=env, cwd=ROOT,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def start(self, folder: Path, megabytes: int) -> int:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([str(folder), megabytes * MEGA // 8]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def gone(self) -> None:
        assert self.process.stdout and self.process.stdout.readline() == "gone\n"


@pytest.fixture(scope="module")
def savers() -> Iterator[Savers]:
    made = Savers()
    yield made
    made.process.kill()
    made.process.wait()


def told(folder: Path) -> int:
    """The number of the last snapshot that was told of."""
    lines = (folder / "told").read_text().split() if (folder / "told").exists() else []
    return int(lines[-1]) if lines else 0


def wait_for(folder: Path, number: int) -> float:
    """Wait until that snapshot was told of; how long that took."""
    start = time.monotonic()
    while told(folder) < number:
        assert time.monotonic() < start + 120
        time.sleep(0.002)
    return time.monotonic() - start


def leftovers(folder: Path) -> list[str]:
    return [f for f in os.listdir(folder) if f.endswith(".tmp")]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("megabytes", "kills"), [(8, 10), (200, 2), pytest.param(8, 440, marks=pytest.mark.slow),
                                                  pytest.param(200, 60, marks=pytest.mark.slow)])
def test_killed_while_saving(megabytes: int, kills: int, savers: Savers, tmp_path: Path,
                             monkeypatch: pytest.MonkeyPatch) -> None:
    """Kill a process at a random moment of its second or third save, and read what it left."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(kills)
    left = later = 0
    reader = Session()
    for _ in range(kills):
        (tmp_path / "told").unlink(missing_ok=True)
        pid = savers.start(tmp_path, megabytes)
        wait_for(tmp_path, 1)
        period = wait_for(tmp_path, 2)
        time.sleep(rng.random() * period * 1.2)
        os.kill(pid, signal.SIGKILL)
        savers.gone()
        last, beside = told(tmp_path), leftovers(tmp_path)
        assert len(beside) <= 1  # its own; what the one before left was swept
        left += len(beside)
        reader.run("resume`:a.ks")
        n = reader.run("n")
        assert last <= n <= last + 1
        later += n > last
        assert reader.run("(all v=n)&(all n=tensor w)&count[v]=count tensor w") is True
        steps = {int(x["step"]) for x in reader["o"].obj.torch.state.values()}
        assert steps == {n}
        assert not leftovers(tmp_path)  # swept when it was read
    assert left >= kills // 5  # most moments are within a save
    print(f"{kills} kills while {megabytes} MB are saved: none lost, none unreadable; {left} left a file beside, all "
          f"swept; {later} ended after the new file had its place and before it was told of")
