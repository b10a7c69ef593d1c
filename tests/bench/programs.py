"""Training as programs do it, beside the same work in PyTorch: the workloads B1 to B11, with their sizes or the part of
them that is run. (B12, the way of data, is `memory`.)

One thread; the least processor time of several pairs. Results and weights are compared first, with PyTorch's fused
kernels; timed is PyTorch as it is by default.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from kshell.shell.cli import tune_allocator
from tests.bench import dense, images, sequences
from tests.bench.checked import Program, line


def _place(p: Program) -> int:
    return int(p.name[1:].split()[0])


def report() -> Iterator[str]:
    tune_allocator()  # as the shell does; the peers gain by it too
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for p in sorted((*dense.PROGRAMS, *sequences.PROGRAMS, *images.PROGRAMS), key=_place):
            yield line(p)
    finally:
        torch.set_num_threads(before)
