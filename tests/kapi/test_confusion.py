"""Confusion matrices, counted pair by pair by numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from kshell.errors import QError
from kshell.session import Session


def counted(y: np.ndarray, p: np.ndarray, n: int) -> np.ndarray:
    """The matrix, one pair after the other."""
    out = np.zeros((n, n), np.int64)
    for a, b in zip(y.ravel(), p.ravel(), strict=True):
        out[a, b] += 1
    return out


def matrix(s: Session, text: str) -> np.ndarray:
    """The counts of a q expression's table."""
    return np.array([c.a for c in s.run(text).v.cols], np.int64).T


@pytest.mark.parametrize("shape", [(200,), (20, 5), (0,)])
@pytest.mark.parametrize("kind", [torch.int64, torch.int32, torch.uint8, torch.float32])
def test_numbers_of_classes(shape: tuple[int, ...], kind: torch.dtype) -> None:
    s, rng = Session(), np.random.default_rng(1)
    y, p = rng.integers(0, 6, shape), rng.integers(0, 4, shape)  # classes 4 and 5 are never predicted
    from kshell.kapi.base.handles import tensor_handle

    s.names.set("y", tensor_handle(torch.tensor(y).to(kind)))
    s.names.set("p", tensor_handle(torch.tensor(p).to(kind)))
    both = "confusion(y;p;`$'\"abcdef\")"
    if len(shape) > 1 and kind.is_floating_point:
        with pytest.raises(QError, match=r"6 name.*scores of 5 classes"):
            s.run(both)
        return
    assert np.array_equal(matrix(s, both), counted(y, p, 6))
    if y.size:
        assert np.array_equal(matrix(s, "confusion(y;p)"), counted(y, p, int(y.max()) + 1))
        assert np.array_equal(matrix(s, "confusion(tensor y;tensor p)"), counted(y, p, int(y.max()) + 1))


def test_scores_and_ignored_labels() -> None:
    s, rng = Session(), np.random.default_rng(2)
    y, x = rng.integers(-1, 4, (30, 7)), rng.normal(size=(30, 7, 4))
    from kshell.kapi.base.handles import tensor_handle

    s.names.set("y", tensor_handle(torch.tensor(y)))
    s.names.set("x", tensor_handle(torch.tensor(x)))
    keep, p = y >= 0, x.argmax(-1)
    found = counted(y[keep], p[keep], 4)
    assert np.array_equal(matrix(s, "confusion(y;x;();-1)"), found)
    s.run("z:floor x[;;0]*0")
    assert np.array_equal(matrix(s, "confusion(x;z)"), counted(p, 0 * p, 4))  # scores may be the true ones
    with pytest.raises(QError, match="class number -1 is below 0"):
        s.run("confusion(y;x)")
