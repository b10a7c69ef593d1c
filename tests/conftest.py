"""Tests use one thread of torch: they are many small programs, which two threads only make wait for one another;
`make test` runs them in as many processes as there are cores.

Generated inputs are the same at every run of continuous integration, and new ones at every run by hand.

Tests of a long product are marked `sampled(n)`: about one of n is run by `make test`, another one each time, and all by
`make test-all`.
"""

from __future__ import annotations

import gc
import os
import random
from zlib import crc32

import pytest
from hypothesis import settings

from tests.support import warm

os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("ci", derandomize=True, deadline=None)  # time is measured by the benchmarks
settings.register_profile("by hand", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "by hand")

# which of the sampled tests are drawn; the processes that run tests take it from the one that starts them
SAMPLE = os.environ.setdefault("KSHELL_SAMPLE", str(random.randrange(1_000_000)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"Of the sampled tests, KSHELL_SAMPLE={SAMPLE} draws the same again.")


def pytest_unconfigure() -> None:
    warm.close()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A sampled test that is not drawn counts as slow. Which folder its file stands in makes no difference."""
    for item in items:
        sampled = item.get_closest_marker("sampled")
        name = f"{item.path.name}::{item.nodeid.partition('::')[2]}"
        if sampled is not None and crc32(f"{SAMPLE} {name}".encode()) % sampled.args[0]:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True, scope="module")
def frozen() -> None:
    """What the modules of tests before left is not looked at by every garbage collection of this one."""
    gc.freeze()
