"""Which tests take long: tests/seconds.txt, a line a test with the seconds that its cases took in one run of `make test`.

`make seconds` measures them again, with two processors that do nothing else.
"""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections import Counter

from tests import ROOT

FILE = ROOT / "tests" / "seconds.txt"
# seconds that the cases of one test may take in `make test`, on average: of one that takes n times as long one case in n
# is drawn. 0 draws as if each took no time, to measure them
BUDGET = float(os.environ.get("KSHELL_BUDGET", "0.12"))
LEAST = 0.25  # seconds of those in the file
_MEASURED = re.compile(r"^(\d+\.\d\d)s (?:call|setup|teardown) +\S*?(\w+\.py)::(\w+)", re.MULTILINE)


def known() -> dict[str, float]:
    """The seconds of the tests that take long, by the names of file and test."""
    lines = (line.split() for line in FILE.read_text().splitlines())
    return {name: float(seconds) for seconds, name in lines}


def times(name: str, seconds: dict[str, float]) -> int:
    """How many times its budget a test takes."""
    return max(1, math.ceil(seconds.get(name, 0.0) / BUDGET)) if BUDGET else 1


def measured(report: str) -> dict[str, float]:
    """The seconds of the tests that a report of pytest's durations is about, longest first, without the short ones."""
    found: Counter[str] = Counter()
    for seconds, file, test in _MEASURED.findall(report):
        found[f"{file}::{test}"] += float(seconds)
    return {name: seconds for name, seconds in found.most_common() if seconds > LEAST}


def main() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "--durations=0", "-m", "not slow and not extra", "-n", "2", "--dist", "loadgroup"],
        cwd=ROOT, env={**os.environ, "KSHELL_BUDGET": "0"}, capture_output=True, text=True, check=False)
    print(done.stdout[-500:])
    if done.returncode == 0:
        FILE.write_text("".join(f"{seconds:.2f} {name}\n" for name, seconds in measured(done.stdout).items()))
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
