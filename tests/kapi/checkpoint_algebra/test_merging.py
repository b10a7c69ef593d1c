"""Merging tensors: golden numbers, formulas in float64, and mergekit's own results where it is installed."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.kapi.checkpoint_algebra import merging

TYPES = [torch.float32, torch.float64, torch.bfloat16, torch.float16]


def models(seed: int, n: int, shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    g = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=g, dtype=torch.float64).to(dtype) for _ in range(n)]


def bits(a: torch.Tensor, b: torch.Tensor) -> bool:
    """Do two tensors have the same type, size and bytes?"""
    return a.dtype == b.dtype and a.shape == b.shape and torch.equal(a.contiguous().view(torch.uint8), b.contiguous().view(torch.uint8))


def test_golden_numbers() -> None:
    x, y = torch.tensor([1.0, 2, 3]), torch.tensor([3.0, 2, -1])
    assert merging.linear([x, y], [1, 3]).tolist() == [2.5, 2, 0]
    assert merging.linear([x, y], [1, 3], False).tolist() == [10, 8, 0]
    base = torch.tensor([1.0, 1, 1, 1])
    d1, d2 = torch.tensor([4.0, -1, 2, 0.5]), torch.tensor([-1.0, -2, 2, 0])
    a, b = base + d1, base + d2
    assert merging.task_arithmetic(base, [a, b], [1, 0.5], 2.0).tolist() == [8, -3, 7, 2]
    # of d1 4 and 2 are kept, of d2 -2 and 2: where both are, the mean
    assert merging.ties(base, [a, b], [1, 1], [0.5, 0.5]).tolist() == [5, -1, 3, 1]
    # all kept: the signs of the sums are + - + +, so -1 is left out, and 0 is no vote
    assert merging.ties(base, [a, b], [1, 1], [1, 1]).tolist() == [5, -0.5, 3, 1.5]
    assert merging.ties(base, [a, b], [1, 3], [1, 1], normalize=False).tolist() == [5, -6, 9, 1.5]
    mask = torch.tensor([True, False, True, False])
    assert merging.dare(base, [a], [1], [0.5], [mask], rescale="none").tolist() == [5, 1, 3, 1]
    assert merging.dare(base, [a], [1], [0.5], [mask], rescale="paper").tolist() == [9, 1, 5, 1]
    assert merging.dare(base, [a], [1], [0.5], [mask]).tolist() == [1 + 4 * 7.5 / 6, 1, 1 + 2 * 7.5 / 6, 1]
    half = merging.slerp(torch.tensor([1.0, 0]), torch.tensor([0.0, 1]), 0.5)
    assert torch.allclose(half, torch.full((2,), 0.5**0.5))
    assert merging.slerp(x, 2 * x, 0.25).tolist() == [1.25, 2.5, 3.75]


def exact_ties(base: Any, others: Any, weights: Any, density: Any, scale: float, normalize: bool) -> Any:
    """TIES in float64, by its formula; nothing may be equal at the border."""
    deltas = []
    for x, w, share in zip(others, weights, density, strict=True):
        d = (x - base).reshape(-1)
        if share < 1:
            border = d.abs().sort(descending=True)[0][max(1, int(share * len(d))) - 1]
            d = torch.where(d.abs() >= border, d, 0)
        deltas.append(w * d)
    sign = torch.where(sum(deltas) >= 0, 1.0, -1.0)
    masks = [d.sign() == sign for d in deltas]
    total = sum(d * m for d, m in zip(deltas, masks, strict=True))
    divisor = sum(w * m.double() for w, m in zip(weights, masks, strict=True))
    divisor[divisor == 0] = 1
    return base + scale * (total / divisor if normalize else total).reshape(base.shape)


WEIGHTS = st.lists(st.floats(0.125, 4), min_size=1, max_size=4)


@settings(max_examples=60)
@given(st.integers(0, 10**6), WEIGHTS, st.floats(0.1, 1), st.floats(-2, 2), st.sampled_from([(5,), (3, 4), (2, 3, 5), (1,), ()]))
def test_formulas(seed: int, weights: list[float], density: float, scale: float, shape: tuple[int, ...]) -> None:
    base, *others = models(seed, len(weights) + 1, shape, torch.float64)
    shares = [density] * len(weights)
    total = sum(w * x for w, x in zip(weights, others, strict=True))
    moved = sum(w * (x - base) for w, x in zip(weights, others, strict=True))
    near = {"rtol": 1e-12, "atol": 1e-12}
    assert torch.allclose(merging.linear(iter(others), weights), total / sum(weights), **near)
    assert torch.allclose(merging.linear(others, weights, False), total, **near)
    assert torch.allclose(merging.task_arithmetic(base, others, weights, scale), base + scale * moved, **near)
    for normalize in (False, True):
        want = exact_ties(base, others, weights, shares, scale, normalize)
        assert torch.allclose(merging.ties(base, others, weights, shares, scale, normalize), want, **near)
    masks = [merging.dropped(base.numel(), density, torch.Generator().manual_seed(seed + i)) for i in range(len(weights))]
    kept = [w * (x - base) * m.reshape(base.shape) / density if density < 1 else w * (x - base)
            for x, w, m in zip(others, weights, masks, strict=True)]
    want = base + scale * sum(kept)
    assert torch.allclose(merging.dare(base, others, weights, shares, masks, scale, "paper"), want, **near)


@pytest.mark.parametrize("dtype", TYPES)
def test_pieces_change_nothing_and_the_result_is_rounded_once(dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    base, *others = models(3, 4, (9, 11), dtype)
    turned = [x.t().contiguous().t() for x in others]  # not contiguous
    weights, share = [1.0, 0.25, 2.0], [0.4, 0.5, 0.6]
    masks = [merging.dropped(99, 0.5, torch.Generator().manual_seed(i)) for i in range(3)]

    def results(given: list[torch.Tensor]) -> list[torch.Tensor]:
        return [merging.linear(given, weights), merging.task_arithmetic(base, given, weights, 0.5), merging.ties(base, given, weights, share),
                merging.dare(base, given, weights, share, masks, is_elected=True, rescale="paper")]

    whole = results(others)
    assert all(x.dtype == dtype and x.shape == base.shape for x in whole)
    monkeypatch.setattr(merging, "PIECE", 7)
    monkeypatch.setattr(merging, "NEAR", 7)
    assert all(map(bits, whole, results(turned)))
    assert torch.equal(masks[0], merging.dropped(99, 0.5, torch.Generator().manual_seed(0)))
    middle = merging.slerp(base, others[0], 0.3)
    monkeypatch.undo()
    assert torch.allclose(merging.slerp(base, others[0], 0.3).double(), middle.double(), rtol=1e-2 if dtype.itemsize == 2 else 1e-5)
    if dtype.itemsize < 4:
        exact = base.double() + 0.5 * sum(w * (x.double() - base.double()) for w, x in zip(weights, others, strict=True))
        assert (whole[1].double() - exact).abs().max() <= torch.finfo(dtype).eps * exact.abs().max()


def test_nothing_that_is_given_changes() -> None:
    base, *others = models(5, 3, (4, 5))
    before = [x.clone() for x in (base, *others)]
    mask = merging.dropped(20, 0.5, torch.Generator().manual_seed(1))
    merging.linear(others, [1, 2])
    merging.ties(base, others, [1, 2], [0.5, 0.5], 2.0)
    merging.dare(base, others, [1, 2], [0.5, 0.5], [mask, mask], 2.0)
    out = merging.slerp(base, others[0], 0.0)
    out.zero_()
    assert all(map(torch.equal, before, (base, *others)))


def test_at_the_border_of_ties_exactly_the_share_is_kept() -> None:
    base = torch.zeros(10)
    x = torch.tensor([1.0, 2, 2, 2, 2, 2, 2, 1, 3, 0])
    out = merging.ties(base, [x], [1], [0.3])
    assert sorted(out.tolist(), reverse=True)[:4] == [3, 2, 2, 0]
    assert int((merging.ties(base, [x], [1], [0.01]) != 0).sum()) == 1
    assert int((merging.ties(base, [x], [1], [0.0]) != 0).sum()) == 0
    assert merging.ties(torch.zeros(0), [torch.zeros(0)], [1], [0.5]).shape == (0,)


def test_sizes_that_differ() -> None:
    a, b = torch.zeros(2, 3), torch.zeros(3, 2)
    for work in (lambda: merging.linear([a, b], [1, 1]), lambda: merging.task_arithmetic(a, [b], [1]),
                 lambda: merging.ties(a, [b], [1], [1]), lambda: merging.slerp(a, b, 0.5)):
        with pytest.raises(ValueError, match=r"the sizes differ: \[2, 3\] and \[3, 2\]"):
            work()


def test_how_many_items_dare_keeps() -> None:
    mask = merging.dropped(200_000, 0.3, torch.Generator().manual_seed(1))
    assert abs(float(mask.double().mean()) - 0.3) < 0.005
    base, x = torch.zeros(200_000), torch.rand(200_000, generator=torch.Generator().manual_seed(2))
    out = merging.dare(base, [x], [1], [0.3], [mask])
    assert abs(float(out.abs().double().sum() / x.double().sum()) - 1) < 1e-6  # the l1 norm is as before


# ------------------------------------------------------------------ mergekit


SHAPES = [(33,), (16, 20), (3, 4, 5), (1,), (300, 70)]


def group(base: torch.Tensor, others: list[torch.Tensor], **settings: Any) -> Any:
    """The result of one of mergekit's methods for a base and some models."""
    pytest.importorskip("mergekit")
    from mergekit.merge_methods import generalized_task_arithmetic as g
    from mergekit.sparsify import SparsificationMethod

    class Entry:
        def __init__(self, tensor: torch.Tensor, number: int) -> None:
            self.tensor, self.id = tensor, number

    class Group:
        pass

    at = Group()
    at.base, at.non_base = Entry(base, -1), [Entry(x, i) for i, x in enumerate(others)]  # type: ignore[attr-defined]
    method = g.GeneralizedTaskArithmeticMerge(
        consensus_method=g.ConsensusMethod.sum if settings.pop("elected") else None,
        sparsification_method={"": None, "largest": SparsificationMethod.magnitude, "random": SparsificationMethod.random}[settings.pop("sparse")],
        default_normalize=False, default_rescale=False, method_name="m", method_pretty_name=None, method_reference_url=None)
    keys = {"weight": dict(enumerate(settings.pop("weights"))), "density": dict(enumerate(settings.pop("density")))}
    return method.merge_group(at, int8_mask=False, **keys, **settings)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_mergekit_linear_has_the_same_bits(shape: tuple[int, ...], n: int) -> None:
    pytest.importorskip("mergekit")
    from mergekit.merge_methods.linear import linear_merge

    for dtype in TYPES:
        given = models(n, n, shape, dtype)
        weights = [0.3 + 0.7 * i for i in range(n)]

        class Batch:
            tensors = [x.unsqueeze(0) for x in given]

        for normalize in (True, False):
            method = linear_merge.implementation
            want = method(Batch(), torch.tensor([weights], dtype=torch.float64), normalize)
            assert bits(merging.linear(given, weights, normalize), want[0])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_mergekit_task_arithmetic_and_ties_have_the_same_bits(shape: tuple[int, ...], n: int) -> None:
    base, *others = models(n + 7, n + 1, shape)
    weights, shares = [0.3 + 0.7 * i for i in range(n)], [0.2 + 0.1 * i for i in range(n)]
    for scale in (1.0, 0.7):
        common = {"weights": weights, "density": shares, "lambda": scale, "rescale": False}
        want = group(base, others, elected=False, sparse="", normalize=False, **common)
        assert bits(merging.task_arithmetic(base, others, weights, scale), want)
        for normalize in (True, False):
            want = group(base, others, elected=True, sparse="largest", normalize=normalize, **common)
            assert bits(merging.ties(base, others, weights, shares, scale, normalize), want)


def test_mergekit_ties_keeps_the_same_of_equal_items() -> None:
    g = torch.Generator().manual_seed(1)
    base, *others = (torch.randint(0, 4, (60, 50), generator=g).float() for _ in range(4))
    want = group(base, others, elected=True, sparse="largest", normalize=True, weights=[1, 2, 3], density=[0.3] * 3,
                 rescale=False, **{"lambda": 1.0})
    assert bits(merging.ties(base, others, [1, 2, 3], [0.3] * 3), want)


@pytest.mark.parametrize("elected", [True, False])
def test_mergekit_dare_with_the_same_mask(elected: bool) -> None:
    base, *others = models(11, 4, (40, 30))
    weights, shares = [1.0, 0.5, 2.0], [0.3, 0.5, 0.9]
    for rescale in (True, False):
        torch.manual_seed(5)
        want = group(base, others, elected=elected, sparse="random", normalize=False, weights=weights, density=shares,
                     rescale=rescale, **{"lambda": 0.8})
        g = torch.Generator().manual_seed(5)
        masks = [merging.dropped(base.numel(), share, g) for share in shares]
        got = merging.dare(base, others, weights, shares, masks, 0.8, "l1" if rescale else "none", elected)
        assert torch.allclose(got, want, rtol=1e-5, atol=1e-6) if rescale else bits(got, want)


@pytest.mark.parametrize("shape", [*SHAPES, (1500, 1000)])
def test_mergekit_slerp_has_the_same_bits(shape: tuple[int, ...]) -> None:
    pytest.importorskip("mergekit")
    from mergekit.merge_methods.slerp import slerp

    for dtype in TYPES:
        a, b = models(2, 2, shape, dtype)
        for t in (0.0, 0.3, 0.5, 1.0):
            for other in (b, a + 1e-3 * b, torch.zeros_like(a)):
                want = slerp(torch.tensor([t], dtype=torch.float64), a.unsqueeze(0), other.unsqueeze(0))[0]
                assert bits(merging.slerp(a, other, t), want)
