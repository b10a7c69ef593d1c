"""Rows drawn by weight: how often each comes, in an order by seed and pass, shared by tasks, with bounded memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.kapi.tables import parts
from kshell.kapi.tables.order import Order
from kshell.kapi.tables.parts import Ranges
from kshell.kapi.tables.queries import Selected
from kshell.kapi.tables.weights import Weights
from kshell.session import Session
from kshell.values.base import types as T
from kshell.values.base.core import Table, Vec

BEGIN = ("q:module enlist(`linear;1;1);m:model(q;loss`mse;opt(`sgd;q));got:();"
         "train(m;`transform;{got,:first each tensor first x;x});"
         "taken:{got::();run x;\"j\"$got}")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "ROWS", 16)


def session(weights: list[float], width: int = 8, window: int = 40, seed: int = 3, **more: int) -> Session:
    s = Session()
    s.run(BEGIN)
    s.run(f"w:0f,{' '.join(map(repr, weights))}")
    for name, value in {"batchsize": width, "shuffleseed": seed, **more}.items():
        s.run(f"train(m;`{name};{value})")
    s.run("w:\"f\"$1_w;t:([]a:\"e\"$til count w;w;y:count[w]#0f)")
    s.run(f"train(m;t;`weight`window`ahead!(`w;{window};1))")
    return s


def taken(s: Session) -> list[int]:
    found: list[int] = s.run("taken m").a.tolist()  # type: ignore[union-attr]
    return found


WEIGHTS = st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0, 40.0]), min_size=1, max_size=120).filter(any)


@settings(max_examples=15, deadline=None)
@given(weights=WEIGHTS, width=st.integers(1, 40), window=st.integers(1, 100), tasks=st.integers(2, 5))
def test_the_rows_are_a_function_of_seed_and_pass_and_shared_by_tasks(
    weights: list[float], width: int, window: int, tasks: int
) -> None:
    parts.ROWS = 16
    s = session(weights, width, window)
    first, second = taken(s), taken(s)
    n = len(weights)
    assert len(first) == len(second) == n and all(weights[row] for row in first + second)
    again = session(weights, width, window)
    assert (taken(again), taken(again)) == (first, second)
    if len(set(first)) > 10:
        assert first != second and taken(session(weights, width, window, seed=4)) != first
    batches = [first[i : i + width] for i in range(0, n, width)]
    for task in range(tasks):
        shared = session(weights, width, window, tasks=tasks, task=task)
        assert taken(shared) == [row for batch in batches[task::tasks] for row in batch]


def drawn(weights: np.ndarray, seed: int, window: int, epoch: int = 1) -> list[np.ndarray]:
    """The rows of the windows of a pass."""
    table = Table(["a", "w"], [Vec(T.J, np.arange(len(weights))), Vec(T.F, weights)])
    found, order = Weights(Selected(Ranges(table, "t"), None), "w", "train"), Order(seed, epoch, window)
    return [np.concatenate([found.taken(order, draw)[0].col("a").a for draw in window]) for window in found.windows(order)]  # type: ignore[union-attr]


@pytest.mark.parametrize("shape", ("even", "skewed", "one row", "by part"))
def test_a_row_comes_as_often_as_its_weight_says(shape: str) -> None:
    n, passes = 400, 250
    rng = np.random.default_rng(5)
    weights = {"even": np.ones(n), "skewed": rng.random(n) ** 6, "one row": np.eye(1, n, 77)[0] * 500 + rng.random(n),
               "by part": np.repeat(np.arange(n // 16), 16).astype(float)}[shape]
    weights = np.where(np.arange(n) % 7 == 3, 0.0, weights)
    counts = np.zeros(n)
    for seed in range(passes):
        rows = np.concatenate(drawn(weights, seed, 64))
        assert len(rows) == n
        counts += np.bincount(rows, minlength=n)
    expected = weights / weights.sum() * n * passes
    assert not counts[weights == 0].any()
    often = expected > 0
    off = (counts - expected)[often] / np.sqrt(expected[often] * (1 - expected[often] / (n * passes)))
    assert np.abs(off[expected[often] > 5]).max() < 5
    # of two rows, how often both come is that of draws one after the other, not of parts whose numbers are fixed
    assert 0.8 < np.mean(off[expected[often] > 5] ** 2) < 1.25


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 400), window=st.integers(1, 100), power=st.integers(0, 30), seed=st.integers(-5, 5))
def test_a_window_is_no_larger_than_it_and_a_part(n: int, window: int, power: int, seed: int) -> None:
    parts.ROWS = 16
    weights = np.random.default_rng(n).random(n) ** power + 1e-300
    sizes = [len(rows) for rows in drawn(weights, seed, window)]
    assert sum(sizes) == n and max(sizes) < window + max(window // 4, min(16, n))


def test_parts_without_weights_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    whole = Ranges.read

    def noted(self: Ranges, i: int, names: list[str]) -> Table:
        read.append(i)
        return whole(self, i, names)

    monkeypatch.setattr(Ranges, "read", noted)
    weights = np.where(np.arange(160) // 16 == 4, 1.0, 0.0)
    rows = np.concatenate(drawn(weights, 1, 1000))
    assert read == [*range(10), 4] and set(rows.tolist()) <= set(range(64, 80))


def test_the_column_is_left_out_unless_it_is_named() -> None:
    s = session([1.0] * 20, 20)
    s.run("run m;batch m")
    assert s.run("size input m").a.tolist() == [20, 1]  # type: ignore[union-attr]
    s.run("q:module enlist(`linear;2;1);m:model(q;loss`mse;opt(`sgd;q));train(m;`batchsize;20)")
    s.run("train(m;t;`weight`x`y!(`w;`a`w;`y));batch m")
    assert s.run("size input m").a.tolist() == [20, 2]  # type: ignore[union-attr]


def test_in_testing_each_row_comes_once() -> None:
    s = session([0.0, 5.0] * 30)
    s.run("seen:();test(m;`transform;{seen,:first each tensor first x;x});test(m;t;enlist[`weight]!enlist`w);testrun m")
    assert s.run('"j"$seen').a.tolist() == list(range(60))  # type: ignore[union-attr]


def test_other_processes_go_on_with_another_number_of_tasks(tmp_path: Path) -> None:
    weights = [float(i % 5) for i in range(200)]
    whole = taken(session(weights, 7, 50))
    s = session(weights, 7, 50)
    s.run("train(m;`callback;{if[10=x`batch;'enough]})")
    with pytest.raises(QError, match="enough"):
        taken(s)
    before = s.run('"j"$got').a.tolist()  # type: ignore[union-attr]
    assert before == whole[:70]
    s.run(f"snapshot`:{tmp_path}/at")
    rest = []
    for task in range(2):
        other = Session()
        other.run(f"resume`:{tmp_path}/at;train(m;`callback;::);train(m;`tasks`task;2,{task})")
        rest += taken(other)
    assert sorted(before + rest) == sorted(whole)


def test_arrays_are_drawn_anywhere(tmp_path: Path) -> None:
    weights = np.arange(64) % 5.0
    np.save(tmp_path / "a.npy", np.arange(64, dtype=np.float32))
    np.save(tmp_path / "w.npy", weights)
    np.save(tmp_path / "y.npy", np.zeros(64))
    s = Session()
    s.run(BEGIN)
    s.run(f'train(m;`$":{tmp_path}";enlist[`weight]!enlist`w)')
    passes = [taken(s) for _ in range(200)]
    assert passes[0] != passes[1] and all(len(rows) == 64 for rows in passes)
    counts = np.bincount(np.concatenate(passes), minlength=64)
    expected = weights / weights.sum() * 64 * 200
    assert not counts[weights == 0].any() and (np.abs(counts - expected) <= 5 * np.sqrt(expected)).all()


WRONG = {
    "a null": ("update w:0n from t where i=20", "rows 16 to 31 of the table: column w has a null in row 4, expected"),
    "a null of longs": ('update w:?[i=20;0N;1]from t', "rows 16 to 31 of the table: column w has a null in row 4, expected"),
    "negative": ("update w:-2. from t where i=3", "rows 0 to 15 of the table: column w has the weight -2 in row 3, expected"),
    "infinite": ("update w:0w from t where i=3", "rows 0 to 15 of the table: column w has the weight inf in row 3, expected"),
    "no sum": ("update w:1e308 from t", "train weight: expected a finite sum, given the column w, with a sum of inf"),
    "zeros": ("update w:0f from t", "train weight: expected a sum above zero, given the column w, all of it 0"),
    "words": ("update w:`a from t", "rows 0 to 15 of the table: column w: expected numbers as weights, given symbol list"),
    "none": ("delete w from t", "train: weight: no column w"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_weights(name: str) -> None:
    s = session([1.0] * 50)
    change, message = WRONG[name]
    s.run(f"u:{change}")
    with pytest.raises(QError, match=message):
        s.run("train(m;u;enlist[`weight]!enlist`w)")
    assert len(taken(s)) == 50
    with pytest.raises(QError, match="train weight: expected the name of a column, given long scalar"):
        s.run("train(m;t;enlist[`weight]!enlist 3)")


def test_a_side_without_rows_cannot_be_drawn_from() -> None:
    s = session([1.0] * 50)
    with pytest.raises(QError, match="train weight: expected rows, given none in the table"):
        s.run("train(m;t;`weight`split!(`w;(`a;-1)))")


def test_weights_that_vanish_after_the_data_was_set_are_named(tmp_path: Path) -> None:
    s = session([1.0] * 50)
    s.run(f'(`$":{tmp_path}/t/")set t;train(m;`$":{tmp_path}/t/";enlist[`weight]!enlist`w);(`$":{tmp_path}/t/w")set 50#0f')
    with pytest.raises(QError, match=rf"rows \d+ to \d+ of .*{tmp_path.name}/t: column w has no weights above zero"):
        s.run("train(m;`shuffle;0b);run m")


def test_a_null_in_a_row_that_is_drawn_is_named_by_its_place_in_the_part() -> None:
    s = session([1.0] * 50)
    s.run("u:update a:0Ne from t where i=37;u:update w:\"f\"$i=37 from u")
    with pytest.raises(QError, match="rows 32 to 47 of the table: column a has a null in row 5"):
        s.run("run(m;u;enlist[`weight]!enlist`w)")
