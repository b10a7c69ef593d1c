"""Rows of embeddings and of an optimizer's state of them."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.kapi.checkpoint_algebra.vocabulary import FILLS, is_by_row, positions, resized


@given(st.integers(1, 7), st.integers(0, 12), st.sampled_from(FILLS), st.sampled_from([(), (3,), (2, 2)]),
       st.sampled_from([torch.float32, torch.float64, torch.bfloat16]))
def test_old_rows_stay(count: int, rows: int, fill: str, rest: tuple[int, ...], dtype: torch.dtype) -> None:
    g = torch.Generator().manual_seed(1)
    w = torch.randn((count, *rest), generator=g).to(dtype)
    before = w.clone()
    out = resized(w, rows, fill, g)
    assert out.shape == (rows, *rest) and out.dtype == dtype and torch.equal(w, before)
    n = min(rows, count)
    assert torch.equal(out[:n], w[:n])
    if fill == "zeros":
        assert not out[n:].any()
    if fill == "mean":
        assert torch.allclose(out[n:].double(), w.double().mean(0).expand(rows - n, *rest), atol=0.02 if dtype == torch.bfloat16 else 1e-6)
    if fill == "normal" and count == 1:  # no covariance
        assert torch.allclose(out[n:].double(), w.double().expand(rows - n, *rest), atol=1e-5)


def test_new_rows_have_the_mean_and_covariance_of_the_old() -> None:
    g = torch.Generator().manual_seed(2)
    turn = torch.tensor([[2.0, 0, 0], [1, 1, 0], [0, 0.5, 0.1]])
    w = torch.randn(50, 3, generator=g) @ turn + torch.tensor([5.0, -1, 0])
    new = resized(w, 40_050, "normal", g)[50:]
    want = torch.cov(w.T, correction=0)
    assert torch.allclose(new.mean(0), w.mean(0), atol=0.05)
    assert torch.allclose(torch.cov(new.T), want, atol=0.03 * float(want.abs().max()))
    near = resized(w, 20_050, "normal", g, 1e-4)[50:]
    assert torch.allclose(torch.cov(near.T), want * 1e-4, atol=0.05e-4 * float(want.abs().max()))
    assert torch.equal(resized(w, 60, "normal", torch.Generator().manual_seed(3)), resized(w, 60, "normal", torch.Generator().manual_seed(3)))


def test_which_buffers_have_rows() -> None:
    for key, size, want in (("exp_avg", (5, 3), True), ("step", (), False), ("exp_avg_sq_row", (5,), True), ("exp_avg_sq_col", (3,), False),
                            ("row_var", (5, 1), True), ("col_var", (1, 3), False), ("momentum_buffer", (5, 3), True), ("other", (4, 3), False)):
        assert is_by_row(key, size, (5, 3)) == want, key
    assert not is_by_row("exp_avg_sq_col", (5,), (5, 5)) and is_by_row("exp_avg_sq_row", (5,), (5, 5))


SIZES = {"emb": (9, 4), "a": (4, 4), "head": (9, 4), "bias": (9,), "b": (4,)}


def adam(*sizes: tuple[int, ...]) -> dict[int, dict[str, tuple[int, ...]]]:
    return {i: {"step": (), "exp_avg": size, "exp_avg_sq": size} for i, size in enumerate(sizes)}


def test_parameters_are_found_by_size() -> None:
    state = adam((4, 4), (9, 4), (9, 4), (4,), (9,))  # in two groups
    assert positions(state, SIZES, ["emb", "head", "bias"]) == [1, 2, 4]
    assert positions({}, SIZES, ["emb", "head"]) == []
    with pytest.raises(QError, match="emb and head have the same size: give the order"):
        positions(state, SIZES, ["emb"])
    with pytest.raises(QError, match="bias and b have the same size"):
        positions(adam((5,), (5,)), {"bias": (5,), "b": (5,)}, ["bias"])
    factored = {0: {"step": (), "exp_avg_sq_row": (9,), "exp_avg_sq_col": (4,)}, 1: {"exp_avg_sq": (9,)}, 2: {"row_var": (4, 1), "col_var": (1, 4)}}
    assert positions(factored, {"emb": (9, 4), "a": (4, 4), "bias": (9,)}, ["emb", "bias"]) == [0, 1]


def test_parameters_are_found_by_order() -> None:
    order = ["emb", "a", "head", "bias", "b"]
    state = adam(*(SIZES[name] for name in order))
    assert positions(state, SIZES, ["emb"], order) == [0]
    assert positions(state, SIZES, ["head", "bias"], order) == [2, 3]
    assert positions({2: state[2]}, SIZES, ["emb", "head"], order) == [2]  # one without a state, as it is frozen
    with pytest.raises(QError, match="x is not among the parameters"):
        positions(state, {"x": (9, 4)}, ["x"], order)
    with pytest.raises(QError, match="parameter 1 of the optimizer has not the size of emb"):
        positions(state, SIZES, ["emb"], ["a", "emb", *order[2:]])
