"""The wheel, built and installed in an environment with nothing else in it."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "KSHELL", "VIRTUAL"))}
NEEDS = ("numpy", "prompt_toolkit", "pyparsing", "safetensors")  # besides torch

pytestmark = [pytest.mark.extra, pytest.mark.xdist_group("wheel")]


def out(*words: str | Path, text: str = "", cwd: Path | None = None) -> str:
    found = subprocess.run([*map(str, words)], input=text, capture_output=True, text=True, env=CLEAN, cwd=cwd, timeout=300)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    found = subprocess.run([*pip, "wheel", ROOT, "--no-deps", "-w", folder], capture_output=True, text=True, timeout=300)
    if "No matching distribution found for hatchling" in found.stderr:
        pytest.skip("hatchling, which builds the wheel, cannot be had here")
    assert found.returncode == 0, found.stderr
    return next(folder.glob("kshell-*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of commands of a new environment with the wheel, and without torch."""
    home = tmp_path_factory.mktemp("bare")
    venv.create(home)
    commands = home / "bin"
    pip = [sys.executable, "-m", "pip", "--python", commands / "python", "install", "-q", "--disable-pip-version-check"]
    out(*pip, *(f"{name}=={metadata.version(name)}" for name in NEEDS))
    out(*pip, "--no-deps", wheel)
    return commands


def test_what_is_in_it(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tracked = out("git", "ls-files", "kshell", cwd=ROOT).splitlines()
    assert {*tracked} <= {*names}
    assert {"kshell/py.typed", "kshell-listen.pth"} <= {*names}
    assert any(name.startswith("kshell/grammar/") for name in names)
    others = {name.split("/")[0] for name in names} - {"kshell", "kshell-listen.pth"}
    assert all(name.endswith(".dist-info") for name in others)


def test_q_in_a_bare_environment(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "s.q").write_text('show select sum v by k from([]k:`a`b`a;v:1 2 3)\n-1 .j.j`a`b!1 2;\n')
    assert out(installed / "kshell", "s.q", cwd=tmp_path).splitlines() == ["k| v", "-| -", "a| 4", "b| 2", '{"a":1,"b":2}']
    assert out(installed / "kshell", "--version").startswith("kshell ")
    assert out(installed / "python", "-c", "import kshell; print(kshell.Session()('sum til 10'))") == "45\n"
    told = subprocess.run([installed / "kshell", "--doctor"], capture_output=True, text=True, env=CLEAN)
    assert told.returncode == 1 and "torch               missing" in told.stdout


def test_the_k_api_beside_torch(installed: Path, tmp_path: Path) -> None:
    """Torch of the environment of the tests comes in by its path, since it is large."""
    import torch

    site = next((installed.parent / "lib").glob("python*/site-packages"))
    path = site / "torch-of-the-tests.pth"
    path.write_text(str(Path(torch.__file__).parents[1]) + "\n")
    try:
        lines = "m:module seq(`sequential;(`linear;2;1);`relu)\nexec sum elements from parmtable m\ntensor 2*tensor 1 2e\n"
        assert out(installed / "kshell", "-q", text=lines, cwd=tmp_path).splitlines() == ["3", "2 4e"]
    finally:
        path.unlink()
