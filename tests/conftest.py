"""Tests use one thread of torch: they are many small programs, which two threads only make wait for one another;
`make test` runs them in as many processes as there are cores.

Generated inputs are the same at every run of continuous integration, and new ones at every run by hand.
"""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("ci", derandomize=True, deadline=None)  # time is measured by the benchmarks
settings.register_profile("by hand", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "by hand")


@pytest.fixture(autouse=True, scope="module")
def frozen() -> None:
    """What the modules of tests before left is not looked at by every garbage collection of this one."""
    gc.freeze()
