"""Programs in processes of their own, with a small torch that says what is imported, and a host that says what it is asked."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import ROOT

Done = subprocess.CompletedProcess[str]
KSHELL = [sys.executable, "-m", "kshell"]
RUN = [*KSHELL, "run"]
SITE = ROOT / "kshell" / "attach" / "site"
HOST = """\
import sys, types
host = types.ModuleType("kshell.host.host")
host.listen = lambda: print("listen", flush=True)
host.listen_at_first_step = lambda: print("listen at the first step", flush=True)
sys.modules[host.__name__] = host
"""
TORCH = {
    "__init__.py": "from torch import optim\nprint('torch is complete', flush=True)\n",
    "optim/__init__.py": "import torch.optim.optimizer\n",
    "optim/optimizer.py": "print('torch.optim.optimizer', flush=True)\n",
    "distributed/__init__.py": "",
    "distributed/run.py": "",
}
IMPORTED = "torch.optim.optimizer\ntorch is complete\n"


def environment(*path: str | Path, **variables: str) -> dict[str, str]:
    """The environment of a program: no variable of kshell's but those given, and folders before kshell's own."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("KSHELL_")}
    return {**env, "PYTHONPATH": os.pathsep.join([*map(str, path), str(ROOT)]), **variables}


def run(words: list[str], cwd: Path, env: dict[str, str] | None = None, stdin: str = "") -> Done:
    env = environment() if env is None else env
    return subprocess.run(words, cwd=cwd, env=env, input=stdin, capture_output=True, text=True, timeout=120)


def write(folder: Path, **files: str) -> None:
    """Write Python files, and those of the host and of torch, which are found by programs in the folder."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "fake_host.py").write_text(HOST)
    for path, text in TORCH.items():
        file = folder / "torch" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
