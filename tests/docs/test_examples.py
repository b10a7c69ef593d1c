"""The programs of examples/ run as a user runs them, and end in the line that says what they reached."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests import ROOT
from tests.support import warm

EXAMPLES = ROOT / "examples"
# program: what its last line is, with a number; the least and the most it may be
LAST = {
    "linear": (r"largest difference (\d+\.\d+)", 0, .001),
    "groups": (r"accuracy (\d+\.\d)%", 95, 100),
    "digits": (r"accuracy (\d+\.\d)%", 95, 100),
    "lstm": (r"accuracy (\d+\.\d)%", 85, 100),
    "swa": (r"accuracy of the mean (\d+\.\d)%", 90, 100),
    "callback": (r"accuracy (\d+\.\d)%", 85, 100),
    "loader": (r"accuracy (\d+\.\d)%", 88, 100),
    "attention": (r"accuracy (\d+\.\d)%", 98, 100),
    "compressed": (r"accuracy 9\d\.\d%, lost by compression (\d+\.\d)%", 0, 1.5),
}
PROCESSES = {"compressed": 2}
SLOW = {"digits", "attention"}
# the parts of slow programs that make them shorter, and the least that the last line may then say
SHORT = {
    "digits": ({"fit 4": "fit 1", "fit 3": "fit 1"}, 85),
    "attention": ({"batch:100; epochs:8": "batch:100; epochs:2", "9000": "1800"}, 0),
}


def run(program: Path, folder: Path) -> str:
    """The output of an example, run from another folder."""
    n = PROCESSES.get(program.stem, 1)
    several = ["-n", str(n)] if n > 1 else []
    done = warm.run([sys.executable, "-m", "kshell", *several, str(program), "-q"],  # a slow machine: no progress
                    cwd=folder, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def test_every_example_is_here() -> None:
    assert {p.stem for p in EXAMPLES.glob("*.q")} == set(LAST)


def ends_well(name: str, out: str, low: float) -> None:
    """The last line is what the example promises, with a number that is good enough."""
    pattern, _, high = LAST[name]
    found = re.fullmatch(pattern, out.rstrip("\n").split("\n")[-1])
    assert found, out
    assert low <= float(found[1]) <= high, out
    assert name != "digits" or "state restored: the same" in out


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in LAST])
def test_example(name: str, tmp_path: Path) -> None:
    ends_well(name, run(EXAMPLES / f"{name}.q", tmp_path), LAST[name][1])
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", sorted(SLOW))
def test_a_slow_example_in_short(name: str, tmp_path: Path) -> None:
    text = (EXAMPLES / f"{name}.q").read_text()
    changes, low = SHORT[name]
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "short.q").write_text(text)
    (tmp_path / "data").symlink_to(EXAMPLES / "data")
    ends_well(name, run(tmp_path / "short.q", tmp_path), low)
