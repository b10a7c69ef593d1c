"""Binary search of many keys from a table, and as-of matches within runs of equal keys: what the general ways find."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.values.base import types as T
from kshell.values.base.core import Vec
from kshell.values.items import keys, search

TOP = np.iinfo(np.int64).max
NUMBERS = st.one_of(st.integers(-50, 50), st.integers(-(2**40), 2**40), st.integers(-(2**61), 2**61), st.sampled_from([TOP, -TOP, 0]))


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few keys are many here."""
    monkeypatch.setattr(keys, "_MANY", 1)


def numbers(most: int) -> st.SearchStrategy[np.ndarray]:
    """Numbers of which some are far from the others, and many may be equal."""
    lists = st.lists(NUMBERS, min_size=1, max_size=most)
    return st.one_of(lists, st.lists(st.sampled_from([3, 4, 2**50]), min_size=1, max_size=most)).map(lambda v: np.array(v, np.int64))


@settings(max_examples=300)
@given(numbers(60), numbers(60), st.booleans())
def test_the_table_leads_where_a_search_does(tops: np.ndarray, wanted: np.ndarray, right: bool) -> None:
    tops = np.sort(tops)
    expected = np.searchsorted(tops, wanted, "right" if right else "left")
    assert (keys.seek(tops, wanted, right) == expected).all()
    found = keys._seek_from_table(tops, wanted, right)
    assert (found is None) == (int(tops[-1]) - int(tops[0]) >= 1 << 62)
    assert found is None or (found == expected).all()


def test_what_is_out_of_order_is_searched_as_before() -> None:
    tops, wanted = np.array([5, 1, 9, 2]), np.array([1, 9, 3])
    assert keys._seek_from_table(tops, wanted, True) is None
    assert (keys.seek(tops, wanted, True) >= 0).all()


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 20)), min_size=1, max_size=80), st.lists(st.tuples(st.integers(-5, 5), st.integers(-2, 25)), min_size=1, max_size=40),
       st.sampled_from([T.J, T.I, T.H, T.D]), st.booleans(), st.booleans())
def test_matches_in_runs(rows: list[tuple[int, int]], wanted: list[tuple[int, int]], kind: int, right: bool, are_runs: bool) -> None:
    """Whether the rows of equal keys stand together or not, and whatever the type of the keys."""
    rows = sorted(rows * 9, key=(lambda row: row) if are_runs else (lambda row: row[1]))
    if are_runs:  # the runs in another order than that of their keys
        order = {-3: 5, 2: 0, 0: 1}
        rows.sort(key=lambda row: (order.get(row[0], 3 + row[0] / 10), row[1]))

    def columns(pairs: list[tuple[int, int]]) -> list[Vec]:
        a = np.array(pairs)
        return [Vec(kind, a[:, 0].astype(T.DTYPE[kind])), Vec(T.J, a[:, 1].astype(np.int64))]

    x, y = columns(rows), columns(wanted)
    found = search.search_rows(x, y, right)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "runs_of", lambda *_: None)
        assert (found == search.search_rows(x, y, right)).all()
    for (key, value), row in zip(wanted, found.tolist(), strict=True):
        there = [i for i, (k, v) in enumerate(rows) if k == key and (v <= value if right else v >= value)]
        assert rows[row] == rows[there[-1 if right else 0]] if there else row == -1
