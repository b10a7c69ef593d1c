"""Batches of a table by their numbers: those of the present pass, and the place where a run goes on stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.kapi.tables import parts
from kshell.session import Session
from tests.kapi.tables.test_order import session, taken

SHOWN = 'shown:{batch(m;x);"j"$raze tensor input m};train(m;`transform;[]);'


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "ROWS", 16)


def shown(s: Session, n: int) -> list[int]:
    found: list[int] = s.run(f"(),shown {n}").a.tolist()  # type: ignore[union-attr]
    return found


@settings(max_examples=15, deadline=None)
@given(rows=st.integers(1, 200), width=st.integers(1, 40), window=st.integers(1, 100), data=st.data())
def test_a_number_shows_the_batch_of_the_pass_that_was_run(rows: int, width: int, window: int, data: st.DataObject) -> None:
    parts.ROWS = 16
    s = session(rows, width, window)
    order = taken(s)
    batches = [order[i : i + width] for i in range(0, rows, width)]
    s.run(SHOWN)
    for n in data.draw(st.lists(st.integers(0, len(batches) - 1), min_size=1, max_size=4)):
        assert shown(s, n) == batches[n]
    n = data.draw(st.integers(0, len(batches) - 1))
    shown(s, n)
    rest = []
    while s.run("batch m"):
        rest += s.run('"j"$(),raze tensor input m').a.tolist()  # type: ignore[union-attr]
    assert rest == order[(n + 1) * width :]


@pytest.mark.parametrize("tasks", (1, 2, 3))
def test_looking_changes_neither_the_place_nor_the_order(tasks: int) -> None:
    s, whole = session(200, 7, 50, tasks=tasks), session(200, 7, 50, tasks=tasks)
    expected = [taken(whole), taken(whole)]
    every = session(200, 7, 50)
    pass1 = taken(every)
    s.run("train(m;`callback;{if[4=x`batch;'enough]})")
    with pytest.raises(QError, match="enough"):
        taken(s)
    before = s.run('"j"$got').a.tolist()  # type: ignore[union-attr]
    s.run("keep:got;" + SHOWN)
    for n in (0, 3, 4, 5, 28):  # of all tasks
        assert shown(s, n) == pass1[n * 7 : n * 7 + 7]
    s.run("train(m;`transform;{got,:first each tensor first x;x});train(m;`callback;[])")
    assert [before + taken(s), taken(s)] == expected


def test_a_place_in_the_middle_of_a_round_of_tasks_is_gone_on_from() -> None:
    """Of 29 batches 4 were taken by one process; three go on, are stopped again, and one ends."""
    order = taken(session(200, 7, 50))
    got: list[int] = []
    for task in range(3):
        s = session(200, 7, 50)
        s.run("train(m;`callback;{if[4=x`batch;'enough]})")
        with pytest.raises(QError, match="enough"):
            taken(s)
        s.run(f"train(m;`tasks`task;3,{task});n:0;train(m;`callback;{{if[5=n+:1;'enough]}})")
        with pytest.raises(QError, match="enough"):
            taken(s)
        got += s.run('"j"$got').a.tolist()  # type: ignore[union-attr]
        s.run("train(m;`callback;[]);train(m;`task`tasks;0 1)")
        last = taken(s)
    assert sorted(got) == sorted(order[4 * 7 : 19 * 7])
    assert last == order[19 * 7 :]


def test_loaders_have_no_batches_by_number() -> None:
    s = Session()
    s.run("m:model(module`identity;loss`mse;opt`sgd);n:0;train(m;{[]n+:1;$[n<4;til 3;::]})")
    with pytest.raises(QError, match="batch: the function gives its batches one after the other, none by its number"):
        s.run("batch(m;0)")


def test_datasets_with_items_have_them() -> None:
    s = Session()
    s.run('.p.e"""import torch\nclass Rows(torch.utils.data.Dataset):\n    def __len__(self): return 10\n'
          '    def __getitem__(self, i): return torch.tensor([float(i)]), torch.tensor([0.0])"""'.replace('"""', '"'))
    s.run("m:model(module`identity;loss`mse;opt`sgd);train(m;`batchsize;4);train(m;.p.eval[\"Rows()\"])")
    s.run("batch(m;2)")
    assert s.run('"j"$raze tensor input m').a.tolist() == [8, 9]  # type: ignore[union-attr]
    assert s.run("batch m") is False
    with pytest.raises(QError, match="batch: there is no batch 3 in this pass, which has 3, from 0"):
        s.run("batch(m;3)")
