"""The order of the rows of a pass: by seed and epoch, mixed in windows, shared by tasks, with each row once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.kapi.tables import parts
from kshell.session import Session

BEGIN = ("q:module enlist(`linear;1;1);m:model(q;loss`mse;opt(`sgd;q));got:();"
         "train(m;`transform;{got,:first each tensor first x;x});"
         "t:{([]a:\"e\"$til x;y:x#0f)};"
         "taken:{got::();run x;\"j\"$got}")


def session(rows: int, width: int, window: int, seed: int = 3, **more: int) -> Session:
    s = Session()
    s.run(BEGIN)
    for name, value in {"batchsize": width, "shuffleseed": seed, **more}.items():
        s.run(f"train(m;`{name};{value})")
    s.run("train(m;`shuffle;1b)")
    s.run(f"train(m;t {rows};`window`ahead!{window} 1)")
    return s


def taken(s: Session) -> list[int]:
    found: list[int] = s.run("taken m").a.tolist()  # type: ignore[union-attr]
    return found


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "ROWS", 16)


@settings(max_examples=25, deadline=None)
@given(rows=st.integers(1, 300), width=st.integers(1, 40), window=st.integers(1, 100))
def test_each_row_comes_once_a_pass_in_an_order_of_its_own(rows: int, width: int, window: int) -> None:
    parts.ROWS = 16
    s = session(rows, width, window)
    first, second = taken(s), taken(s)
    assert sorted(first) == sorted(second) == list(range(rows))
    assert rows < 20 or first != second
    again = session(rows, width, window)
    assert (taken(again), taken(again)) == (first, second)
    other = session(rows, width, window, seed=4)
    assert rows < 20 or taken(other) != first


@settings(max_examples=15, deadline=None)
@given(rows=st.integers(1, 300), width=st.integers(1, 40), window=st.integers(1, 100), tasks=st.integers(2, 9))
def test_tasks_share_the_rows_of_a_pass(rows: int, width: int, window: int, tasks: int) -> None:
    parts.ROWS = 16
    whole = taken(session(rows, width, window))
    shared = [taken(session(rows, width, window, tasks=tasks, task=task)) for task in range(tasks)]
    assert sorted(row for found in shared for row in found) == sorted(whole) == list(range(rows))
    batches = [whole[i : i + width] for i in range(0, rows, width)]
    assert shared == [[row for batch in batches[task::tasks] for row in batch] for task in range(tasks)]


def test_rows_are_mixed_within_a_window_and_a_part() -> None:
    order = np.array(taken(session(1600, 10, 64)))
    spread = [len(set((order[i : i + 64] // 16).tolist())) for i in range(0, 1600, 64)]
    assert spread == [4] * 25  # four parts each, whole


def test_a_pass_without_shuffling_has_the_order_of_the_table() -> None:
    s = session(100, 7, 50)
    s.run("train(m;`shuffle;0b);train(m;t 100)")
    assert taken(s) == list(range(100))


def test_an_incomplete_last_batch_is_left_out() -> None:
    s = session(100, 7, 50)
    s.run("train(m;`droplast;1b)")
    assert len(taken(s)) == 98


def test_another_process_goes_on_with_another_number_of_tasks(tmp_path: Path) -> None:
    s = session(200, 7, 50)
    whole = taken(session(200, 7, 50))
    s.run("train(m;`callback;{if[10=x`batch;'enough]})")
    with pytest.raises(QError, match="enough"):
        taken(s)
    before = s.run("\"j\"$got").a.tolist()  # type: ignore[union-attr]
    assert before == whole[:70]
    rest = []
    for task in range(2):
        s.run(f"snapshot`:{tmp_path}/at{task}")
    for task in range(2):
        other = Session()
        other.run(f"resume`:{tmp_path}/at{task};train(m;`callback;::);train(m;`tasks`task;2,{task})")
        rest += taken(other)
    assert sorted(before + rest) == sorted(whole)
