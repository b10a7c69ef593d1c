"""Tests use one thread of torch: they are many small programs, which two threads only make wait for one another; `make test` runs them in as many processes as there are cores.

Generated inputs are the same at every run of continuous integration, and new ones at every run by hand.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("ci", derandomize=True, deadline=None)  # time is measured by the benchmarks
settings.register_profile("by hand", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "by hand")

# their examples write files of the same names, so one process runs them all
ONE_PROCESS = ("test_cases.py", "test_docs.py", "test_registration.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.name in ONE_PROCESS:
            item.add_marker(pytest.mark.xdist_group("files"))
