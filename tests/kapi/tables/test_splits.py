"""Sides of a table: the rows of each are the same wherever and in which order they are, and none is in two of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.kapi.tables import parts
from kshell.kapi.tables.row_hashes import shares
from kshell.session import Session
from kshell.values.base.core import Table
from tests.kapi.tables import test_sources as sources

BEGIN = ("n:1000;t:([]date:raze 250#'2024.01.01+til 4;id:n#til 90;a:\"e\"$til n;s:n#`u`v`w`x`y;y:n#0f);"
         "q:module enlist(`linear;1;1);m:model(q;loss`mse;opt(`sgd;q));got:();"
         "note:{got,:first each tensor first x;x};train(m;`transform;note);test(m;`transform;note);"
         "train(m;`batchsize`shuffleseed;50 3);"
         "rows:{got::();x y;\"j\"$got}")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "ROWS", 64)


@pytest.fixture
def s() -> Session:
    session = Session()
    session.run(BEGIN)
    return session


def rows(s: Session, split: str, call: str = "train", side: str = "", data: str = "t") -> list[int]:
    """The numbers of the rows that a model is given, in their order."""
    side_name, side_value = ("`side", f";{side}") if side else ("", "")
    s.run(f"{call}(m;{data};`x`y`split{side_name}!(`a;`y;{split}{side_value}))")
    run = "testrun" if call == "test" else "run"
    return list(s.run(f"rows[{run};m]").a.tolist())  # type: ignore[union-attr]


def values(s: Session, text: str) -> Any:
    return s.run(text).a  # type: ignore[union-attr]


SPLITS = {
    "a share of the rows": ".8",
    "a share by columns": "(.8;`id)",
    "a share by two columns": "(.3;`id`s)",
    "every fifth row": "5",
    "the third of seven": "7 2",
    "folds by a column": "(4;1;`id)",
    "the last fold by a column": "(4;`id)",
    "by date": "(`date;2024.01.04)",
    "by a number": "(`id;17.5)",
    "by a word": "`s`x",
}


@pytest.mark.parametrize("shuffle", (False, True))
@pytest.mark.parametrize("name", SPLITS)
def test_what_trains_does_not_test_and_all_rows_do_one_of_them(s: Session, name: str, shuffle: bool) -> None:
    s.run(f"train(m;`shuffle;{shuffle:d}b)")
    train, test = rows(s, SPLITS[name]), rows(s, SPLITS[name], "test")
    assert train and test and sorted(train + test) == list(range(1000))
    assert shuffle == (train != sorted(train)) and test == sorted(test)
    assert rows(s, SPLITS[name], "train", "`test") != rows(s, SPLITS[name], "train", "`train")
    assert sorted(rows(s, SPLITS[name], "train", "`test")) == test


def test_rows_of_pieces(s: Session) -> None:
    every = np.arange(1000)
    assert rows(s, "5") == every[every % 5 != 4].tolist()
    assert rows(s, "5 1", "test") == every[every % 5 == 1].tolist()
    assert rows(s, "5 1", "train", "3") == every[every % 5 == 3].tolist()
    date = values(s, "t`date") - 8766
    assert rows(s, "(`date;2024.01.02 2024.01.04)") == every[date < 1].tolist()
    assert rows(s, "(`date;2024.01.02 2024.01.04)", "train", "1") == every[(date >= 1) & (date < 3)].tolist()
    assert rows(s, "(`date;2024.01.02 2024.01.04)", "test") == every[date >= 3].tolist()
    assert s.run("train(m;t;`x`y`split!(`a;`y;5))") == 16
    assert s.run("datasize m") == 800 and s.run("train(m;t;`x`y`split!(`a;`y;.5))") is s.run("0N")


def test_rows_of_an_id_are_on_one_side_and_folds_are_even(s: Session) -> None:
    ids = values(s, "t`id")
    folds = [rows(s, "(5;`id)", "train", str(k)) for k in range(5)]
    assert sorted(row for fold in folds for row in fold) == list(range(1000))
    found = [set(ids[fold].tolist()) for fold in folds]
    assert sum(map(len, found)) == 90 and min(map(len, found)) >= 9
    s.run("t:update id:til n from t")
    assert all(abs(len(rows(s, "(5;`id)", "train", str(k))) - 200) < 60 for k in range(5))
    # pieces of more cuts are parts of the same
    thirds = [rows(s, "(.25 .5;`id)", "train", str(k)) for k in range(3)]
    assert sorted(thirds[0] + thirds[1]) == rows(s, "(.5;`id)") and thirds[2] == rows(s, "(.5;`id)", "test")


def test_columns_of_the_split_are_left_out_unless_they_are_named(s: Session) -> None:
    s.run("train(m;`transform;[])")
    s.run('train(m;t;"select id,s,a,y from t";enlist[`split]!enlist(.5;`id`s));run m;batch m')
    assert s.run("size input m").a.tolist()[1:] == [1]  # type: ignore[union-attr]
    s.run("q:module enlist(`linear;2;1);m:model(q;loss`mse;opt(`sgd;q))")
    s.run("train(m;t;`x`y`split!(`id`a;`y;(.5;`id)));run m")


Made = Callable[[Session, Path], str]


@pytest.mark.parametrize("made", sources.MADE)
@pytest.mark.parametrize("split", ("(.5;`date`b`s`y)", "(3;0;`c)", ".5", "(`date;2024.01.03)"))
def test_the_rows_are_those_of_their_values_wherever_they_are(tmp_path: Path, made: Made, split: str) -> None:
    if made not in (sources.in_memory, sources.splayed, sources.partitioned):
        pytest.importorskip("pyarrow")
    s = Session()
    s.run(sources.TABLE + ";t:update c:0Ne from t where i in 3 5,not b=1;")
    s.run("q:module enlist(`linear;1;1);m:model(q;loss`mse;opt(`sgd;q));got:();"
          "note:{got,:raze tensor last x;x};train(m;`transform;note);test(m;`transform;note);bits:{got::();x y;asc got}")
    s.run(f"o:`x`y`split!(`y;`y;{split})")
    s.run("train(m;t;o);test(m;t;o)")
    expected = [np.array(values(s, f"bits[{run};m]")) for run in ("run", "testrun")]
    assert all(len(found) > 100 for found in expected) and sum(map(len, expected)) == 1000
    text = '"select date,a,b,c,s,y from trade"'
    source = made(s, tmp_path)
    s.run(f"train(m;{source};{text};o);test(m;{source};{text};o)")
    for run, same in zip(("run", "testrun"), expected, strict=True):
        assert (values(s, f"bits[{run};m]") == same).all()
    s.run("t:t neg[n]?n;train(m;t;o);test(m;t;o)")  # in another order
    for run, same in zip(("run", "testrun"), expected, strict=True):
        assert (values(s, f"bits[{run};m]") == same).all()


# texts whose values are equal, one beside the other
EQUAL = ("til 9", "\"i\"$til 9", "\"f\"$til 9", "\"e\"$til 9", "\"h\"$til 9", "0x000102030405060708"), (
    "2024.01.01 0N 2000.01.01", "`timestamp$2024.01.01 0N 2000.01.01", "`month$2024.01.01 0N 2000.01.01",
    "`datetime$2024.01.01 0N 2000.01.01"), (
    "`u`v`", '("u";"v";"")', '("u";enlist"v";"")', "`u`v`"), (
    "10:30 0Nu", "10:30:00 0Nv", "10:30:00.000 0Nt", "0D10:30 0Nn"), (
    "0n 1.5 -0. .1", "0Ne,1.5 0 .1e"), ("(1 2;3 4)", "(1 2f;3 4f)", "(1 2i;3 4i)")


@pytest.mark.parametrize("texts", EQUAL)
def test_values_that_are_equal_have_the_same_hash(texts: tuple[str, ...]) -> None:
    s = Session()
    found = [shares(hashed(s, text), ["a"], "t") for text in texts]
    assert all((one == found[0]).all() for one in found) and len(set(found[0].tolist())) > 1


def hashed(s: Session, text: str) -> Table:
    table = s.run(f"([]a:{text})")
    assert isinstance(table, Table)
    return table


def test_the_hash_is_the_same_in_every_version() -> None:
    """A change of it would move rows from training to testing between versions of kshell."""
    s = Session()
    s.run("t:([]a:1 2 0N;b:`u`v`;c:1.5 2 0n;d:2024.01.01 2024.01.02 0Nd;e:(\"ab\";\"c\";\"\");f:(1 2;3 4;5 6))")
    table = s.run("t")
    assert isinstance(table, Table)
    found = [round(float(x), 9) for name in "abcdef" for x in shares(table, [name], "t")]
    assert found == HASHES
    assert (shares(table, ["b", "a"], "t") == shares(table, ["a", "b"], "t")).all()


HASHES = [
    0.862856149, 0.89861655, 0.258351806, 0.150293247, 0.112523772, 0.890170433,
    0.889147473, 0.89861655, 0.258351806, 0.490936805, 0.635946808, 0.258351806,
    0.003340422, 0.899804614, 0.890170433, 0.386524323, 0.383464208, 0.547722015,
]


@pytest.mark.parametrize("text", ("til 200000", "2*til 200000", "sqrt til 200000", "`$string til 20000", "string til 20000",
                                  "2000.01.01+til 40000", "0D00:00:01*til 100000", "200000?0Ng", "flip(til 9000;reverse til 9000)"))
def test_hashes_are_even(text: str) -> None:
    found = shares(hashed(Session(), text), ["a"], "t")
    counts = np.bincount((found * 50).astype(int), minlength=50)
    mean = len(found) / 50
    assert 20 < ((counts - mean) ** 2 / mean).sum() < 95  # chi-squared of 49 degrees: one in 10,000 on each side
    assert len(set(found.tolist())) == len(found)


@settings(max_examples=20, deadline=None)
@given(n=st.integers(1, 200), width=st.integers(1, 30), tasks=st.integers(2, 5), weighted=st.booleans(),
       split=st.sampled_from([".5", "(.5;`b)", "3", "4 1", "(3;1;`b)", "(`b;3)"]))
def test_tasks_share_the_rows_of_a_side(n: int, width: int, tasks: int, weighted: bool, split: str) -> None:
    parts.ROWS = 16
    weight = ("`weight", ";`w") if weighted else ("", "")

    def session(task: int, tasks: int) -> Session:
        s = Session()
        s.run(BEGIN)
        s.run(f"train(m;`batchsize`tasks`task;{width} {tasks} {task});train(m;`shuffle;1b)")
        s.run(f't:([]a:"e"$til {n};b:{n}#til 7;w:"f"$1+{n}#til 3;y:{n}#0f)')
        s.run(f"train(m;t;`x`y`split`window{weight[0]}!(`a;`y;{split};40{weight[1]}))")
        return s

    whole = session(0, 1)
    first, second = (values(whole, "rows[run;m]") for _ in range(2))
    side = sorted(rows(whole, split))
    assert len(first) == len(second) == len(side) and set(first.tolist()) <= set(side)
    assert weighted or sorted(first.tolist()) == side == sorted(second.tolist())
    for task in range(tasks):
        shared = session(task, tasks)
        for one in (first, second):
            batches = [one[i : i + width] for i in range(0, len(one), width)]
            expected = [row for batch in batches[task::tasks] for row in batch.tolist()]
            assert values(shared, "\"j\"$rows[run;m]").tolist() == expected


def test_both_sides_have_the_vocabulary_of_all_rows(s: Session) -> None:
    s.run("t:([]s:`u`v`w`x;a:4#0f;y:4#0f);o:`split`x`y!(`s`w;`s`a;`y);q:module enlist(`linear;2;1)")
    s.run("m:model(q;loss`mse;opt(`sgd;q));train(m;`transform;note);test(m;`transform;note);train(m;t;o);test(m;t;o)")
    assert values(s, "rows[run;m]").tolist() == [0, 1] and values(s, "rows[testrun;m]").tolist() == [2, 3]


def test_a_snapshot_keeps_the_sides(s: Session, tmp_path: Path) -> None:
    s.run("o:`x`y`split`weight!(`a;`y;(.6;`id);`id);train(m;t;o);test(m;t;o)")
    first, tested = values(s, "rows[run;m]"), values(s, "rows[testrun;m]")
    s.run(f"snapshot`:{tmp_path}/at")
    second = values(s, "rows[run;m]")
    other = Session()
    other.run(f"resume`:{tmp_path}/at")
    assert (values(other, "rows[run;m]") == second).all() and (values(other, "rows[testrun;m]") == tested).all()
    assert set(first.tolist()) | set(second.tolist()) <= set(range(1000)) - set(tested.tolist())


def test_only_the_columns_that_are_used_are_read(s: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    read: set[str] = set()
    whole = parts.Ranges.read

    def noted(self: parts.Ranges, i: int, names: list[str]) -> Table:
        read.update(names)
        return whole(self, i, names)

    s.run("o:`x`y`split`weight!(`a;`y;(.6;`id);`id);train(m;t;o)")
    monkeypatch.setattr(parts.Ranges, "read", noted)
    s.run("run m")
    assert read == {"a", "id", "y"}
    s.run("train(m;t;`x`y`split!(`a;`y;.6));run m")
    assert read == {"a", "id", "y", "s", "date"}


def test_arrays_are_mixed_as_a_whole_on_their_side(s: Session, tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(200, dtype=np.float32))
    np.save(tmp_path / "b.npy", np.arange(200) % 11)
    np.save(tmp_path / "y.npy", np.zeros(200))
    s.run("train(m;`shuffle;1b)")
    for split in ("4", ".5", "(.5;`b)", "(`b;4)"):
        train, test = (rows(s, split, call, data=f'`$":{tmp_path}"') for call in ("train", "test"))
        assert sorted(train + test) == list(range(200)) and test == sorted(test) and train != sorted(train)


WRONG = {
    "`split`x!(1.5;`a)": "train split: expected shares in ascending order, above 0 and below 1, given 1.5",
    "`split`x!(.5 .2;`a)": "train split: expected shares in ascending order, above 0 and below 1, given 0.5 0.2",
    "`split`x!(0n;`a)": "train split: expected shares in ascending order, above 0 and below 1, given nan",
    "`split`x!(1;`a)": "train split: expected two folds or more, and the number of one of them from 0, given 1",
    "`split`x!(5 5;`a)": "train split: expected two folds or more, and the number of one of them from 0, given 5 5",
    "`split`x!((5;-1;`id);`a)": "train split: expected two folds or more, and the number of one of them from 0, given 5 -1",
    "`split`x!(5 1 2;`a)": "train split: expected a share, a number of folds, .*given long list",
    "`split`x!(`id;`a)": "train split: expected a share, a number of folds, .*given symbol scalar",
    "`split`x!((.5;`id;3);`a)": "train split: expected a share, a number of folds, .*given general list",
    "`split`x!((.5;`nope);`a)": "train: split: no column nope",
    "`split`x!((`nope;3);`a)": "train: split: no column nope",
    "`split`x!((`date;2024.01.03 2024.01.02);`a)": "train split: expected values in ascending order at which pieces of column date begin, given date list",
    "`split`x!((`date;0Nd);`a)": "train split: expected values in ascending order .*given date scalar",
    "`split`x!((`s;3);`a)": "rows 0 to 63 of the table: column s: expected values that compare with the cuts of the split, long list, given symbol list",
    "`split`side!(5;`valid)": "train side: expected `train, `test or the number of a piece, from 0 to 4, given valid",
    "`split`side!(.8;2)": "train side: expected `train, `test or the number of a piece, from 0 to 1, given 2",
    "`split`side!(.8;0N)": "train side: expected `train, `test or the number of a piece, from 0 to 1, given 0N",
    "`x`y`side!(`a;`y;`test)": "train side: expected the option split with it",
}


@pytest.mark.parametrize("options", WRONG)
def test_wrong_splits(s: Session, options: str) -> None:
    before = rows(s, "5")
    with pytest.raises(QError, match=WRONG[options]):
        s.run(f"train(m;t;{options})")
    with pytest.raises(QError, match=WRONG[options].replace("train", "test", 1)):
        s.run(f"test(m;t;{options})")
    assert values(s, "rows[run;m]").tolist() == before


def test_columns_that_have_no_hash_are_named(s: Session) -> None:
    s.run("u:update v:n#(1 2;3 4 5) from t")
    with pytest.raises(QError, match=r"rows 0 to .* of the table: column v: expected numbers, words, times or vectors of one length to split by"):
        s.run("train(m;u;`x`y`split!(`a;`y;(.5;`v)))")


def test_a_null_on_a_side_is_named_by_its_row_in_the_part(s: Session) -> None:
    s.run("u:update a:0Ne from t where i=80,not null a")
    with pytest.raises(QError, match="rows 64 to 127 of the table: column a has a null in row 16"):
        rows(s, "3 2", data="u", side="`test")
    assert len(rows(s, "3 2", data="u")) == 667
