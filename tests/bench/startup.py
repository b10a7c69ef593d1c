"""The time of one expression from the command line against importing torch: the processor time of the processes."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path

from tests.bench.timing import row

ENV = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}  # modules are compiled once
KSHELL = Path(sys.executable).parent / "kshell"


def _effort(command: list[str]) -> float:
    """Processor seconds of a process."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True, env=ENV)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def report() -> list[str]:
    ours = [str(KSHELL), "-e", "1+1"]
    peer = [sys.executable, "-c", "import torch"]
    _effort(ours), _effort(peer)
    both = [(_effort(ours), _effort(peer)) for _ in range(5)]
    a, b = min(a for a, _ in both), min(b for _, b in both)
    # importing numpy alone takes .07 to .09 of it
    return [row("kshell -e '1+1'", a, b, 0.16, "python -c 'import torch'")]
