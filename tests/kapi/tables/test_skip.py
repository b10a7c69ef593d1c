"""Rows that are left out by a query: the order and the numbers of batches stay, only these rows are not there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.kapi.tables import array_files, parts
from kshell.session import Session

BEGIN = """q:module enlist(`linear;1;1);m:model(q;loss`mse;opt(`sgd;q;0.));got:();
keep:{got,:enlist"j"$raze tensor first x;x}
train(m;`transform`shuffleseed;(keep;3));
taken:{got::();run x;got}
t:([]id:til 300;a:"e"$til 300;b:(til 300)mod 7;y:300#0f)
"""
SOURCES = {
    "in memory": ("t", "select a,y from t"),
    "rows chosen": ("t", "select a,y from t where b<>5"),
    "nulls dropped": ("update y:0n from t where b=4", "select a,y from t"),
    "splayed": ("`:db/t", "select a,y from t"),
    "partitioned": ("`:parted", "select a,y from t"),
    "rows of partitions": ("`:parted", "select a,y from t where b within 1 5"),
    "arrays": ("`:arrays", "select a,y from t"),
}
MORE = {"nulls dropped": "`window`nulls!({};`drop)"}
WRITTEN = """`:db/t/ set t;
{(`$":parted/",string[x],"/t/")set select from t where id within(100*x;99+100*x)}each til 3;
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("skip")
    s = Session()
    with pytest.MonkeyPatch.context() as m:
        m.chdir(made)
        run(s, BEGIN + WRITTEN)
        (made / "arrays").mkdir()
        n = np.arange(300)
        for name, a in {"id": n, "a": n.astype(np.float32), "b": n % 7, "y": 0.0 * n}.items():
            np.save(made / "arrays" / f"{name}.npy", a)
    return made


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    monkeypatch.setattr(parts, "ROWS", 16)
    monkeypatch.setattr(parts, "LEAST", 1)
    monkeypatch.chdir(folder)


def run(s: Session, text: str) -> Any:
    found: Any = None
    for line in text.splitlines():
        found = s.run(line)
    return found


def session(kind: str, shuffle: bool, width: int = 20, window: int = 50) -> Session:
    s = Session()
    run(s, BEGIN)
    source, query = SOURCES[kind]
    options = MORE.get(kind, "enlist[`window]!enlist {}").format(window)
    s.run(f"train(m;`batchsize`shuffle;({width};{int(shuffle)}b))")
    s.run(f'train(m;{source};"{query}";{options})')
    return s


def taken(s: Session, text: str = "taken m") -> list[list[int]]:
    return [list(batch.a.tolist()) for batch in s.run(text).items]  # type: ignore[union-attr]


def without(batches: list[list[int]], rows: set[int]) -> list[list[int]]:
    """Batches as a run has them: one without rows makes no step."""
    left = [[row for row in batch if row not in rows] for batch in batches]
    return [batch for batch in left if batch]


@pytest.mark.parametrize("shuffle", (False, True))
@pytest.mark.parametrize("kind", SOURCES)
def test_a_pass_is_as_before_but_for_the_rows_named(kind: str, shuffle: bool) -> None:
    whole, s = session(kind, shuffle), session(kind, shuffle)
    expected = taken(whole)
    s.run('train(m;`skip;"select from t where id in 3 7 150 151 299")')
    assert s.run("exec rows from train(m;`skip)").a.tolist() == [5]  # type: ignore[union-attr]
    assert taken(s) == without(expected, {3, 7, 150, 151, 299})
    s.run('train(m;`skip;"a within 200 260")')
    assert taken(s) == without(taken(whole), {3, 7, 150, 151, 299, *range(200, 261)})
    s.run("train(m;`skip;delete from(train(m;`skip))where rows=5)")
    assert taken(s) == without(taken(whole), set(range(200, 261)))
    s.run("train(m;`skip;[])")
    assert taken(s) == taken(whole)
    assert s.run("(::)~train(m;`skip)") is True


@settings(max_examples=20, deadline=None)
@given(
    kind=st.sampled_from(list(SOURCES)),
    rows=st.sets(st.integers(0, 299), max_size=60),
    width=st.integers(5, 60),
    window=st.integers(1, 120),
    stop=st.integers(1, 3),
    shuffle=st.booleans(),
)
def test_rows_are_left_out_in_the_middle_of_a_pass(
    kind: str, rows: set[int], width: int, window: int, stop: int, shuffle: bool
) -> None:
    """The rest of the pass has the rows of before, in their order, but for those named; a batch has its number."""
    parts.ROWS, parts.LEAST = 16, 1
    whole, s = session(kind, shuffle, width, window), session(kind, shuffle, width, window)
    expected = taken(whole)
    s.run(f"train(m;`callback;{{if[{stop}=x`batch;'enough]}})")
    with pytest.raises(QError, match="enough"):
        taken(s)
    s.run("train(m;`callback;[])")
    s.run(f'train(m;`skip;"id in {" ".join(map(str, sorted(rows))) or "0#0"}")')
    s.run("train(m;`transform;[])")
    for n in (0, stop):
        s.run(f"batch(m;{n})")
        assert s.run('"j"$(),raze tensor input m').a.tolist() == [  # type: ignore[union-attr]
            row for row in expected[n] if row not in rows
        ]
    s.run("train(m;`transform;keep)")
    assert taken(s) == without(expected[stop:], rows)
    assert taken(s) == without(taken(whole), rows)


def test_tasks_share_what_is_left() -> None:
    every = taken(session("in memory", True))
    found = []
    for task in range(3):
        s = session("in memory", True)
        s.run(f'train(m;`tasks`task;3,{task});train(m;`skip;"b=2")')
        found.append(taken(s))
    bad = {row for row in range(300) if row % 7 == 2}
    assert found == [without(every[task::3], bad) for task in range(3)]


def test_a_row_that_cannot_be_used_is_left_out_and_the_run_goes_on() -> None:
    s = session("in memory", False)
    s.run('train(m;update a:0Ne from t where id=107;"select a,y from t")')
    with pytest.raises(QError, match="rows 96 to 111 of the table: column a has a null in row 11"):
        s.run("got:();run m")
    assert s.run("count got") == 4  # the batches before its window
    s.run('train(m;`skip;"null a")')
    rest = taken(s)
    assert rest[0] == list(range(80, 100)) and rest[1] == [*range(100, 107), *range(108, 120)] and len(rest) == 11


def test_words_and_vectors_that_do_not_fit_are_left_out() -> None:
    s = Session()
    run(s, BEGIN)
    s.run("u:([]id:til 50;v:@[50#enlist 1 2e;33;:;1 2 3e];y:50#0f);w:module enlist(`linear;2;1);m:model(w;loss`mse;opt(`sgd;w))")
    with pytest.raises(QError, match="column v"):
        s.run('train(m;u;"select v,y from u");run m')
    s.run('train(m;`skip;"3=count each v");train(m;u;"select v,y from u")')
    assert s.run("-9h=type run m") is True
    s.run("u:([]id:til 50;v:@[50#`a`b;33;:;`zz];y:50#0f);w:module enlist(`linear;1;1);m:model(w;loss`mse;opt(`sgd;w))")
    s.run('train(m;`skip;"v=`zz");train(m;u;`x`y`vocabulary!(`v;`y;enlist[`v]!enlist`a`b))')
    with pytest.raises(QError, match="same dtype"):
        s.run("run m")  # words are whole numbers, which this module does not take: the row was no matter


def test_conditions_that_look_at_other_rows() -> None:
    """Over all rows at once; in a database over those of a partition, as in q."""
    for kind, condition, bad in (
        ("in memory", "a>avg a", set(range(150, 300))),
        ("splayed", "i in 5 250", {5, 250}),
        ("splayed", "1<deltas b", {0} - {0}),
        ("partitioned", "i=5", {5, 105, 205}),
        ("partitioned", "a=max a", {99, 199, 299}),
        ("arrays", "id=max id", {299}),
    ):
        whole, s = session(kind, True), session(kind, True)
        s.run(f'train(m;`skip;"{condition}")')
        assert s.run("first exec rows from train(m;`skip)") == len(bad), condition
        assert taken(s) == without(taken(whole), bad), condition


@pytest.mark.parametrize("kind", ("in memory", "splayed", "arrays"))
@pytest.mark.parametrize(("condition", "bad"), {
    "b=3": {i for i in range(300) if i % 7 == 3}, "i in 5 16 250": {5, 16, 250}, "a>100,i within 90 110": {*range(101, 111)},
    "(i=299)|b>6": {299}, "id<>i": set(),
}.items())
def test_a_condition_of_single_rows_is_looked_at_part_by_part(kind: str, condition: str, bad: set[int]) -> None:
    """Of the columns that it names."""
    whole, s, read = session(kind, True), session(kind, True), []

    def not_whole(self: parts.Parts, names: Sequence[str]) -> None:
        raise AssertionError("all rows were read")

    with pytest.MonkeyPatch.context() as m:
        for cls in (parts.Ranges, parts.Splayed, array_files.Arrays):
            before = cls.read
            m.setattr(cls, "whole", not_whole)
            m.setattr(cls, "read", lambda self, i, names, before=before: read.append(set(names)) or before(self, i, names))
        s.run(f'train(m;`skip;"{condition}")')
    named = set(re.findall(r"\w+", condition)) & {"id", "a", "b"}
    assert len(read) >= 19 and all(names == (named or {names.copy().pop()}) for names in read)
    assert s.run("first exec rows from train(m;`skip)") == len(bad)
    assert taken(s) == without(taken(whole), bad)


def test_a_query_over_all_rows_has_conditions_on_its_own_columns() -> None:
    s = session("in memory", False)
    s.run('train(m;t;"select avg a,first y by b from t";`x`y!(`a;`y))')
    whole = taken(s)
    s.run('train(m;t;"select avg a,first y by b from t";`x`y!(`a;`y))')
    with pytest.raises(QError, match="skip: the table has no column id, only b, a, y"):
        s.run('train(m;`skip;"id=3")')
    s.run('train(m;`skip;"b=3")')
    assert taken(s) == [whole[0][:3] + whole[0][4:]]


@pytest.mark.parametrize("kind", ("rows chosen", "partitioned", "arrays"))
def test_a_snapshot_keeps_what_is_left_out_and_where_it_was_said(tmp_path: Path, kind: str) -> None:
    whole, s = session(kind, True), session(kind, True)
    expected = taken(whole)
    s.run("train(m;`callback;{if[3=x`batch;'enough]})")
    with pytest.raises(QError, match="enough"):
        taken(s)
    s.run('train(m;`callback;[]);train(m;`skip;"a>200")')
    s.run(f"snapshot`:{tmp_path}/kept")
    other = Session()
    other.run(f"resume`:{tmp_path}/kept")
    assert other.run("train(m;`skip)").col("batch").a.tolist() == [3]  # type: ignore[union-attr]
    assert other.run("train(m;`skip)").col("epoch").a.tolist() == [1]  # type: ignore[union-attr]
    assert taken(other) == without(expected[3:], set(range(201, 300)))


def test_data_for_testing_has_its_own() -> None:
    s = session("in memory", False)
    s.run('test(m;`batchsize`metrics;(50;`batchloss));test(m;t;"select a,y from t");test(m;`skip;"id<60")')
    assert s.run("count testrun m") == 5
    assert s.run("testsize m") == 240
    assert len(taken(s)) == 15


def test_new_data_is_without_such_rows_too() -> None:
    s = session("in memory", False)
    s.run('train(m;`skip;"b=2")')
    s.run('train(m;50#t;"select a,y from t")')
    assert s.run("exec rows from train(m;`skip)").a.tolist() == [7]  # type: ignore[union-attr]
    assert s.run("datasize m") == 43
    with pytest.raises(QError, match="train: the table has no column b, only a, y"):
        s.run("train(m;select a,y from t)")
    assert s.run("datasize m") == 43


@pytest.mark.parametrize(("text", "error"), {
    'train(m;`skip;"nope=3")': "skip: the table has no column nope, only id, a, b, y",
    'train(m;`skip;"select from t where nope=3")': "skip: the table has no column nope",
    'train(m;`skip;"select from t")': "skip: expected \"select from t where ..\" or its condition",
    'train(m;`skip;"")': "skip: expected \"select from t where ..\" or its condition",
    'train(m;`skip;"a>")': "skip: \"a>\": type",
    'train(m;`skip;"a>(")': "skip: \"a>\\(\": ",
    'train(m;`skip;"2+`a")': "skip: \"2\\+`a\": type",
    "train(m;`skip;3)": "skip: expected a query, as \"select from t where ..\", or several, given long scalar",
    'train(m;`skip;("a>3";4))': "skip: expected a query",
    "train(m;`skip;t)": "skip: expected rows of the option's table, given table",
    'train(m;`skip`batchsize;("a>3";-1))': "batchsize: cannot be less than zero",
}.items())
def test_what_is_wrong_changes_nothing(text: str, error: str) -> None:
    s = session("in memory", False)
    s.run('train(m;`skip;"b=2")')
    before = s.run("-8!train(m;`skip)")
    with pytest.raises(QError, match=error):
        s.run(text)
    assert s.run("-8!train(m;`skip)").a.tolist() == before.a.tolist()  # type: ignore[union-attr]
    bad = {row for row in range(300) if row % 7 == 2}
    assert taken(s) == without([list(range(i, i + 20)) for i in range(0, 300, 20)], bad)


def test_another_table_of_a_database_is_not_the_data() -> None:
    s = session("partitioned", False)
    with pytest.raises(QError, match='skip: expected a query of t, given "select from quote where b=2"'):
        s.run('train(m;`skip;"select from quote where b=2")')


def test_of_other_data_no_rows_are_left_out() -> None:
    s = session("in memory", False)
    s.run('train(m;`skip;"b=2")')
    with pytest.raises(QError, match="train: skip leaves out rows of tables"):
        s.run("train(m;4 1#1e;4 1#1e)")
    s.run("train(m;`skip;[]);train(m;`transform;[]);train(m;4 1#1e;4 1#1e)")
    with pytest.raises(QError, match="train: skip leaves out rows of tables"):
        s.run('train(m;`skip;"b=2")')
    assert s.run("-9h=type run m") is True
