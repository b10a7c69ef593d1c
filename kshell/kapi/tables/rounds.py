"""Batches of a table for processes that compute together: each is given one of every round, also where a round has
fewer batches than processes, or one without rows. Every row is one process's, but for rounds of fewer rows than
processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any

from kshell.kapi.base.lazy_torch import torch

if TYPE_CHECKING:
    from torch import Tensor

Batch = tuple["Tensor", "Tensor | None"]


def in_rounds(
    batches: Iterator[tuple[int, Batch]], task: int, tasks: int
) -> Iterator[tuple[int, Batch]]:
    """The batches of a task, with their numbers; `batches` are those of all tasks."""
    while found := list(islice(batches, tasks)):
        own = _share([rows for _, rows in found], task, tasks)
        if own is not None:
            yield found[0][0] + task, own


def _share(found: list[Batch], task: int, tasks: int) -> Batch | None:
    """What a task gets of a round; None if there are no rows in it."""
    if len(found) == tasks and all(len(x) for x, _ in found):
        return found[task]
    n = sum(len(x) for x, _ in found)
    if not n:
        return None
    at = torch.arange(task, max(n, task + 1), tasks) % n
    targets = [y for _, y in found if y is not None]
    x: Any = torch.cat([x for x, _ in found])
    return x[at], torch.cat(targets)[at] if targets else None
