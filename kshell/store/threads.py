"""Work on several items by as many threads as there are processors."""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_threads(work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """What some work gives for each item, in their order. The first exception ends it."""
    from concurrent.futures import ThreadPoolExecutor

    several = min(len(items), os.cpu_count() or 1)
    if several < 2:
        return list(map(work, items))
    with ThreadPoolExecutor(several, "kshell-read") as pool:
        made = [pool.submit(contextvars.copy_context().run, work, item) for item in items]
        try:
            return [future.result() for future in made]
        finally:
            pool.shutdown(cancel_futures=True)
