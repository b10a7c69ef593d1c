"""Tests use one thread of torch: they are many small programs, which two threads only make wait for one another;
`make test` runs them in as many processes as there are cores.

Generated inputs are the same at every run of continuous integration, and new ones at every run by hand.

Tests of a long product are marked `sampled(n)`: one of n is run by `make test`, another one each time, and all by
`make test-all`. Tests of hypothesis, which try a hundred inputs each, are sampled(3) where they do not say otherwise. Of
tests that still take long, by tests/seconds.txt, fewer are drawn: each time some of them. With KSHELL_SLOW=n one in n of
the other slow tests is run, where they are run.
"""

from __future__ import annotations

import gc
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator
from zlib import crc32

import pytest
from hypothesis import settings

from tests.support import seconds, versions, warm

os.environ.setdefault("OMP_NUM_THREADS", "1")
settings.register_profile("ci", derandomize=True, deadline=None)  # time is measured by the benchmarks
settings.register_profile("by hand", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "by hand")

# which of the sampled and slow tests are drawn; the processes that run tests take it from the one that starts them
SAMPLE = os.environ.setdefault("KSHELL_SAMPLE", str(random.randrange(1_000_000)))
SLOW = int(os.environ.get("KSHELL_SLOW", "1"))
PROPERTIES = 3  # one in so many of the tests of hypothesis is drawn

gc.disable()  # until all tests are collected: what that makes stays


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    left_out = [text for report in terminalreporter.getreports("passed") for name, text in report.user_properties
                if name == "left out" and report.when == "call"]
    for text in sorted(set(left_out)):
        terminalreporter.write_line(f"{text}: {left_out.count(text)} line(s) of tests/cases left out")
    terminalreporter.write_line(f"Of the sampled tests, KSHELL_SAMPLE={SAMPLE} draws the same again.")


def pytest_unconfigure() -> None:
    warm.close()


class Draw:
    """Draws every n-th of the cases of one test, beginning with one that SAMPLE tells. Those of a file are collected
    together, so a file run alone draws the same."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def __call__(self, name: str, n: int) -> bool:
        place = self.seen[name]
        self.seen[name] += 1
        return (place + crc32(f"{SAMPLE} {name}".encode())) % n == 0


def one_in(item: pytest.Item, times: int) -> int:
    """How many cases of a test there are to each that is drawn; it takes so many times what it may."""
    if sampled := item.get_closest_marker("sampled"):
        return int(sampled.args[0]) * times
    return times * (PROPERTIES if getattr(getattr(item, "obj", None), "is_hypothesis_test", False) else 1)


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests of what this torch is too old for are skipped, with the reason. A sampled test that is not drawn counts as slow; a slow one that is not drawn is left out. Which folder a test's file
    stands in makes no difference. Of tests that are asked for by name all are drawn."""
    for item in items:
        if reason := versions.of_item(item):
            item.add_marker(pytest.mark.skip(reason=reason))
    if any("::" in arg for arg in config.args):
        return
    draw, long = Draw(), seconds.known()
    left_out = []
    for item in items:
        name = f"{item.path.name}::{getattr(item, 'originalname', item.name)}"
        if item.get_closest_marker("slow"):
            if not draw(name + " slow", SLOW):
                left_out.append(item)
        elif (n := one_in(item, seconds.times(name, long))) > 1 and not draw(name, n):
            item.add_marker(pytest.mark.slow)
    if left_out:
        gone = set(left_out)
        items[:] = [item for item in items if item not in gone]
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture(autouse=True)
def no_types_of_python() -> Iterator[None]:
    """Classes of Python that a test made types are none after it: they are those of a process."""
    yield
    types = sys.modules.get("kshell.kapi.base.python_types")
    if types is not None:
        types.forget_all()


@pytest.fixture(autouse=True, scope="module")
def frozen() -> None:
    """What the modules of tests before left is not looked at by every garbage collection of this one."""
    gc.freeze()
