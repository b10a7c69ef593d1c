"""The programs of the benchmarks find what the same work in plain PyTorch finds, from the same start."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.bench import dense, images, sequences
from tests.bench.checked import Program, apart, difference

_LARGE = ("60,000", "batch 200", "convolutions")  # left to the benchmarks
PROGRAMS = [p for p in (*dense.PROGRAMS, *sequences.PROGRAMS, *images.PROGRAMS) if not any(w in p.name for w in _LARGE)]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.slow
@pytest.mark.parametrize("program", PROGRAMS, ids=[p.name for p in PROGRAMS])
def test_a_program_is_its_peer(program: Program) -> None:
    assert difference(program) <= program.limit


def test_a_difference_is_seen() -> None:
    """A peer with another rate is found out."""
    p = next(p for p in PROGRAMS if p.name.startswith("B1 "))
    text = p.text.replace("opt(`sgd;m;.2;.99)", "opt(`sgd;m;.201;.99)")
    assert text != p.text
    assert difference(p._replace(text=text)) > 1e-4
    assert apart(torch.ones(2).numpy(), torch.ones(3).numpy()) == float("inf")
