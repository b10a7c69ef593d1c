"""Tests use one thread of torch: they are many small programs, which two threads only make wait for one another;
`make test` runs them in as many processes as there are cores.

Generated inputs are the same at every run of continuous integration, and new ones at every run by hand.

Tests of a long product are marked `sampled(n)`: one of n is run by `make test`, another one each time, and all by
`make test-all`. KSHELL_SLOW=n draws one of n of those that are marked slow in the same way. Slow tests and those that are
marked `first` are begun before others, so that no process waits for one at the end.
"""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Callable
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
SLOW = int(os.environ.get("KSHELL_SLOW", "1"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    terminalreporter.write_line(f"Of the sampled tests, KSHELL_SAMPLE={SAMPLE} draws the same again.")


def pytest_unconfigure() -> None:
    warm.close()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A sampled test that is not drawn counts as slow."""
    slow = [item for item in items if item.get_closest_marker("slow")]
    left = {id(item) for item in undrawn(slow, lambda item: SLOW)} if SLOW > 1 else set()
    items[:] = [item for item in items if id(item) not in left]
    items.sort(key=lambda item: not (item.get_closest_marker("first") or item.get_closest_marker("slow")))
    sampled = [item for item in items if item.get_closest_marker("sampled") and not item.get_closest_marker("slow")]
    for item in undrawn(sampled, lambda item: item.get_closest_marker("sampled").args[0]):
        item.add_marker(pytest.mark.slow)


def undrawn(items: list[pytest.Item], share: Callable[[pytest.Item], int]) -> list[pytest.Item]:
    """Those that are not drawn: of the tests of a function one in n is, and of what is left over one as often as that
    makes. Which folder a file stands in makes no difference."""
    functions: dict[str, dict[str, pytest.Item]] = {}
    for item in items:
        name = f"{item.path.name}::{item.nodeid.partition('::')[2]}"
        functions.setdefault(name.partition("[")[0], {})[name] = item
    left = []
    for function, found in functions.items():
        n = share(next(iter(found.values())))
        many = len(found) // n + (lot(function) % n < len(found) % n)
        left += [found[name] for name in sorted(found, key=lot)[many:]]
    return left


def lot(name: str) -> int:
    """The number by which a name is drawn."""
    return crc32(f"{SAMPLE} {name}".encode())


@pytest.fixture(autouse=True, scope="module")
def frozen() -> None:
    """What the modules of tests before left is not looked at by every garbage collection of this one."""
    gc.freeze()
