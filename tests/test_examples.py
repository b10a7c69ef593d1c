"""The programs of examples/ run as a user runs them, and end in the line that says what they reached."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
# program: what its last line is, with a number; the least and the most it may be
LAST = {
    "linear": (r"largest difference (\d+\.\d+)", 0, .001),
    "groups": (r"accuracy (\d+\.\d)%", 95, 100),
    "digits": (r"accuracy (\d+\.\d)%", 95, 100),
}
SLOW = {"digits"}


def run(name: str, folder: Path) -> str:
    """The output of an example, run from another folder."""
    done = subprocess.run([sys.executable, "-m", "kshell", str(EXAMPLES / f"{name}.q")], cwd=folder,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    return done.stdout


def test_every_example_is_here() -> None:
    assert {p.stem for p in EXAMPLES.glob("*.q")} == set(LAST)


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in LAST])
def test_example(name: str, tmp_path: Path) -> None:
    out = run(name, tmp_path)
    pattern, low, high = LAST[name]
    found = re.fullmatch(pattern, out.rstrip("\n").split("\n")[-1])
    assert found, out
    assert low <= float(found[1]) <= high, out
    if name == "digits":
        assert "state restored: the same" in out
    assert not list(tmp_path.iterdir()), "an example leaves nothing behind"
