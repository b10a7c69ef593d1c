"""Which cases of the sampled tests a run draws: tests/conftest.py."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import ROOT, conftest

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
        capture_output=True, text=True, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), "KSHELL_SAMPLE": sample, "KSHELL_SLOW": "3"}, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return set(re.findall(r"::(test_\w+\[\d+\]) PASSED", done.stdout))


def test_a_case_is_drawn_whatever_else_is_collected(tmp_path: Path) -> None:
    some = run(tmp_path, "-m", "not slow", "test_cases.py")
    assert 5 < len(some) < 40 and some == run(tmp_path, "-m", "not slow", ".")
    rest = run(tmp_path, "-m", "slow", "-k", "test_some", "test_cases.py")
    assert len(some | rest) == 60 and not some & rest
    assert some != run(tmp_path, "-m", "not slow", "test_cases.py", sample="8")
    slow = run(tmp_path, "-k", "test_slow", "test_cases.py")
    assert 5 < len(slow) < 40


def test_a_case_that_is_asked_for_is_run(tmp_path: Path) -> None:
    for sample in ("1", "2", "3"):
        for case in ("test_some[0]", "test_some[59]"):
            assert run(tmp_path, "-m", "not slow", f"test_cases.py::{case}", sample=sample) == {case}
        assert run(tmp_path, "test_cases.py::test_slow[5]", sample=sample) == {"test_slow[5]"}


def test_the_share_that_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    for sample in ("1", "123456"):
        monkeypatch.setattr(conftest, "SAMPLE", sample)
        for n in (1, 3, 6):
            count = sum(conftest.drawn(f"test_x.py::test_y[{i}]", n) for i in range(6000))
            assert abs(count - 6000 // n) < 300
