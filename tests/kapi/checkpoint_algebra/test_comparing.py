"""Comparing tensors and their statistics, against formulas in float64 on whole tensors."""

from __future__ import annotations

import hashlib
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kshell.kapi.checkpoint_algebra import merging
from kshell.kapi.checkpoint_algebra.comparing import difference, statistics

ANY = st.floats(width=32, allow_nan=True, allow_infinity=True)


def near(a: float, b: float) -> bool:
    return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12)


def test_golden_numbers() -> None:
    t = torch.tensor([[3.0, -4], [0, math.inf]])
    s = statistics(t)
    assert s[:-1] == (math.inf, 1, -4, 3, -1 / 3, 0.25)
    assert s.digest == hashlib.sha256(t.numpy().tobytes()).hexdigest()
    d = difference(torch.tensor([3.0, 4]), torch.tensor([3.0, 0]))
    assert d == (False, 4, 0.8, 0.6, 0.5)
    assert difference(t, t.clone()).same and not difference(t, t.double()).same
    assert difference(t, t.double()).changed == 0
    assert not difference(torch.tensor([0.0]), torch.tensor([-0.0])).same
    assert difference(torch.tensor([math.nan]), torch.tensor([math.nan])).changed == 0
    other = difference(torch.zeros(2), torch.zeros(3))
    assert not other.same and all(map(math.isnan, other[1:]))
    none = statistics(torch.zeros(0))
    assert none[:2] == (0, 0) and all(map(math.isnan, none[2:6]))
    assert math.isnan(statistics(torch.tensor([math.nan])).mean)


@given(st.lists(ANY, min_size=1, max_size=40), st.sampled_from([torch.float32, torch.float64, torch.bfloat16]), st.integers(1, 50))
def test_statistics_by_their_definition(values: list[float], dtype: torch.dtype, piece: int) -> None:
    t = torch.tensor(values).to(dtype)
    old, merging.PIECE = merging.PIECE, piece
    try:
        s = statistics(t)
    finally:
        merging.PIECE = old
    x = t.double()
    finite = x[x.isfinite()]
    assert near(s.norm, float((x * x).sum().sqrt())) and s.bad == int((~x.isfinite()).sum())
    assert near(s.zeros, float((x == 0).double().mean()))
    if len(finite):
        assert (s.lo, s.hi) == (float(finite.min()), float(finite.max()))
        assert math.isclose(s.mean, float(finite.mean()), rel_tol=1e-9, abs_tol=1e-9 * max(1, float(finite.abs().max())))
    else:
        assert all(map(math.isnan, (s.lo, s.hi, s.mean)))
    assert s.digest == hashlib.sha256(t.view(torch.uint8).numpy().tobytes()).hexdigest()


@given(st.lists(st.tuples(st.floats(-9, 9, width=32), st.floats(-9, 9, width=32)), min_size=1, max_size=40), st.integers(1, 50))
def test_differences_by_their_definition(values: list[tuple[float, float]], piece: int) -> None:
    a, b = (torch.tensor(column) for column in zip(*values, strict=True))
    old, merging.PIECE = merging.PIECE, piece
    try:
        d = difference(a, b)
    finally:
        merging.PIECE = old
    x, y = a.double(), b.double()
    assert d.maxabs == float((x - y).abs().max()) and near(d.changed, float((x != y).double().mean()))
    nan = math.nan
    assert near(d.rel, float((x - y).norm() / x.norm()) if x.norm() else nan)
    assert near(d.cos, float(x @ y / (x.norm() * y.norm())) if x.norm() * y.norm() else nan)
    assert d.same == (a.numpy().tobytes() == b.numpy().tobytes())


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool, torch.uint8, torch.complex64, torch.float16, torch.float8_e4m3fn])
def test_other_types_and_strides(dtype: torch.dtype) -> None:
    t = torch.arange(12).reshape(3, 4).to(torch.float32).to(dtype).t()
    assert statistics(t) == statistics(t.contiguous())
    assert difference(t, t.contiguous()).same
    assert difference(t, torch.zeros_like(t)).changed == pytest.approx(11 / 12)


def test_threads_change_nothing() -> None:
    g = torch.Generator().manual_seed(1)
    a, b = (torch.randn(3, 1 << 19, generator=g) for _ in range(2))
    threads = torch.get_num_threads()
    found = []
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            found.append((statistics(a), difference(a, b)))
    finally:
        torch.set_num_threads(threads)
    assert found[0] == found[1]
