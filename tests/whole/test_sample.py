"""Which cases of the sampled tests a run draws: tests/conftest.py."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from pathlib import Path

from tests import ROOT
from tests.support import seconds

CASES = """
import pytest

@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", range(60))
def test_some(case):
    pass

@pytest.mark.slow
@pytest.mark.parametrize("case", range(60))
def test_slow(case):
    pass
"""


def run(folder: Path, *args: str, sample: str = "7") -> set[str]:
    """The cases that pytest runs."""
    (folder / "test_cases.py").write_text(CASES)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-v", "-p", "tests.conftest", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", str(folder), *args],
        capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), "KSHELL_SAMPLE": sample, "KSHELL_SLOW": "3", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return set(re.findall(r"::(test_\w+\[\d+\]) PASSED", done.stdout))


def test_a_case_is_drawn_whatever_else_is_collected(tmp_path: Path) -> None:
    some = run(tmp_path, "-m", "not slow", "test_cases.py")
    drawn = {case for case in some if case.startswith("test_some")}
    assert len(drawn) == 20 and len(some - drawn) == 0
    rest = run(tmp_path, "-m", "slow", ".")
    assert len(drawn | {case for case in rest if case.startswith("test_some")}) == 60 and not drawn & rest
    assert len([case for case in rest if case.startswith("test_slow")]) == 20
    assert some != run(tmp_path, "-m", "not slow", "test_cases.py", sample="8")


def test_a_case_that_is_asked_for_is_run(tmp_path: Path) -> None:
    cases = {"test_some[0]", "test_some[1]", "test_some[2]", "test_slow[5]"}
    assert run(tmp_path, *(f"test_cases.py::{case}" for case in cases)) == cases


def test_tests_that_take_long_are_drawn_seldom() -> None:
    report = ("10.50s call     tests/a/test_x.py::test_long[1-a::b]\n0.25s setup    tests/a/test_x.py::test_long[2]\n"
              "0.20s call     tests/b/test_y.py::test_short\n(9 durations < 0.005s hidden.  Use -vv to show these durations.)\n")
    long = seconds.measured(report)
    assert long == {"test_x.py::test_long": 10.75}
    assert seconds.times("test_x.py::test_long", long) == math.ceil(10.75 / seconds.BUDGET) and seconds.times("test_y.py::test_short", long) == 1
    assert all(" " not in name and taken >= seconds.LEAST for name, taken in seconds.known().items())
