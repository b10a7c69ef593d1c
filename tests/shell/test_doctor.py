"""`kshell --doctor`, and a machine without torch."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from kshell.shell import doctor
from tests.shell.test_cli import run

VERSIONS = [
    ("2.13.0+cpu", ">=2.13", True),
    ("2.13.0", ">=2.8", True),
    ("2.7.1", ">=2.8", False),
    ("2.10.0", ">=2.9", True),
    ("10.0", ">=9", True),
    ("9.1", ">=8,<9.2", True),
    ("9.2", "<9.2,>=8", False),
    ("9.2.1", "<9.2,>=8", False),
    ("1.0.1", "==1.0.1", True),
    ("1.0.2", "==1.0.1", False),
    ("2.4", "", True),
    ("3.0.53", ">=3.0.40", True),
    ("3.0.4", ">=3.0.40", False),
]


@pytest.mark.parametrize(("version", "versions", "expected"), VERSIONS)
def test_versions(version: str, versions: str, expected: bool) -> None:
    assert doctor.fits(version, versions) is expected


def test_every_extra_says_what_it_adds() -> None:
    assert {need.extra for need in doctor._needs()} - {""} == {*doctor.ADDS}


def test_what_is_there() -> None:
    found = run("--doctor")
    lines = found.stdout.splitlines()
    assert found.returncode == 0 and not found.stderr
    assert f"  torch               {metadata.version('torch')}" in lines
    assert any(line.startswith("devices: cpu, ") for line in lines)
    assert "  numpy               " + metadata.version("numpy") in lines


@pytest.fixture
def without_torch(tmp_path: Path) -> dict[str, str]:
    """An environment in which torch cannot be found."""
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Missing:\n"
        "    @staticmethod\n"
        "    def find_spec(name, path=None, target=None):\n"
        "        if name == 'torch':\n"
        "            raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"
        "sys.meta_path.insert(0, Missing)\n")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path[:1], os.environ.get("PYTHONPATH", "")])}


NO_TORCH = """1+1
select sum a by b from([]a:1 2;b:3 4)
tensor 1 2
key help`adam
.p.qeval"1+1"
"""


def test_q_works_without_torch(without_torch: dict[str, str], tmp_path: Path) -> None:
    found = subprocess.run([sys.executable, "-m", "kshell", "-q"], input=NO_TORCH, env=without_torch, text=True,
                           capture_output=True, timeout=60, cwd=tmp_path)
    assert found.stdout.splitlines() == ["2", "b| a", "-| -", "3| 1", "4| 2", "`lr`beta1`beta2`eps`decay`amsgrad", "2"]
    assert found.stderr.splitlines()[0] == "'no torch here: pip install torch"
    assert "hint: kshell --doctor shows what is there" in found.stderr
    told = subprocess.run([sys.executable, "-m", "kshell", "--doctor"], env=without_torch, text=True, capture_output=True,
                          timeout=60, cwd=tmp_path)
    assert told.returncode == 0 and "torch cannot be imported: No module named 'torch'" in told.stdout
