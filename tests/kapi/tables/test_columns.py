"""Columns of numbers side by side, and which of their rows have nulls."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.kapi.tables import columns


@settings(max_examples=40, deadline=None)
@given(width=st.integers(1, 40), rows=st.integers(0, 300), room=st.integers(64, 9000), dtype=st.sampled_from(("float32", "float64", "int64")),
       kind=st.sampled_from(("f4", "f8", "i2", "i8", "?")))
def test_columns_are_turned_some_rows_at_a_time(width: int, rows: int, room: int, dtype: str, kind: str) -> None:
    r = np.random.default_rng(width * rows)
    arrays = [(r.random(rows) * 9).astype(kind) for _ in range(width)]
    with pytest.MonkeyPatch.context() as m:
        m.setattr(columns, "_TURNED", room)
        found = columns._turned(arrays, dtype)
    assert found.dtype == dtype and found.flags.c_contiguous
    assert np.array_equal(found, np.stack(arrays, 1).astype(dtype))


@settings(max_examples=60, deadline=None)
@given(values=st.lists(st.sampled_from([1.5, -np.inf, np.inf, np.nan, 0.0]), max_size=6), kind=st.sampled_from(("f4", "f8", "i2", "i8", "b")))
def test_rows_with_nulls(values: list[float], kind: str) -> None:
    if kind in ("f4", "f8"):
        a = np.array(values, kind)
        expected = np.isnan(a)
    elif kind == "b":
        a, expected = np.array(values) > 0, np.zeros(len(values), bool)
    else:
        expected = np.isnan(np.array(values, float))
        a = np.where(expected, np.iinfo(kind).min, 3).astype(kind)
    found = columns._nulls(a)
    assert found is None if not expected.any() else found is not None and found.tolist() == expected.tolist()
    if len(values) % 2 == 0 and len(values):
        rows = columns._nulls(a.reshape(-1, 2))
        assert (rows is None) == (not expected.any())
