"""The time of one expression from the command line against importing torch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.bench.timing import paired, row

KSHELL = Path(sys.executable).parent / "kshell"


def report() -> list[str]:
    ours = [str(KSHELL), "-e", "1+1"]
    peer = [sys.executable, "-c", "import torch"]
    a, b = paired(lambda: subprocess.run(ours, check=True, capture_output=True),
                  lambda: subprocess.run(peer, check=True, capture_output=True), 5)
    return [row("kshell -e '1+1'", a, b, 0.2, "python -c 'import torch'")]
