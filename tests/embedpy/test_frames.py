"""Tables as frames of pandas, polars and Arrow, and back."""

from __future__ import annotations

import numpy as np
import pytest

from kshell.python.session import Session

pytestmark = pytest.mark.extra
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")

COLUMNS = {
    "b": "101b", "x": "0x010203", "h": "1 0N -3h", "hw": "0W -0W 1h", "ii": "1 0N 3i", "iw": "0W -0W 1i", "j": "1 0N 3", "j0": "1 2 3",
    "jw": "0W -0W 1", "e": "1 0n 3e", "ew": "0w -0w 1e", "f": "1 0n 3", "fw": "0w -0w 1.5", "c": '"abc"', "cb": '"a b"',
    "s": "`a``b", "sx": "`$(\"é\";\"a b\";\"\")", "p": "2026.01.01D01:02:03.123456789 0Np 1999.12.31D00:00", "m": "2026.01 0N 1999.12m",
    "d": "2026.01.01 0N 1999.12.31", "n": "0D01:00:00.000000001 0Nn -0D02", "u": "01:00 0Nu 23:59", "v": "01:00:00 0Nv 23:59:59",
    "t": "01:00:00.001 0Nt 23:59:59.999", "g": '"G"$("deadbeef-dead-beef-dead-beefdeadbeef";"00000000-0000-0000-0000-000000000001";"")',
    "str": '("ab";"";"cde")', "l": "(1 2;0#0;3 4 5)", "lf": "(1 2f;0#0n;enlist 3f)",
}  # fmt: skip
# what polars, which carries no note, gives back as another type: characters, months, minutes, seconds, guids
CHANGED = {"c", "cb", "m", "u", "v", "g"}


@pytest.fixture(scope="module")
def session() -> Session:
    s = Session()
    s.run("t:([]" + ";".join(f"{name}:{text}" for name, text in COLUMNS.items()) + ")")
    s.run("k:2!select s,d,j,f from t")
    s.run("same:{(meta[x]~meta y)and x~y}")
    return s


def back(word: str) -> str:
    return f"{{.p.toq .p.{word} x}}"


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("word", ["topd", "topa", "topl"])
def test_a_column_goes_out_and_comes_back(session: Session, word: str, name: str) -> None:
    whole = f"(exec {name} from t)~exec {name} from {back(word)} select {name} from t"
    assert session(whole) is (word != "topl" or name not in CHANGED)
    assert session(f"count[t]=count {back(word)} select {name} from t") is True


@pytest.mark.parametrize("name", [name for name in COLUMNS if name not in ("str", "l", "lf")])
@pytest.mark.parametrize("word", ["topd", "topa"])
def test_an_empty_column_keeps_its_type(session: Session, word: str, name: str) -> None:
    assert session(f"same[e;{back(word)} e:0#select {name} from t]") is True


@pytest.mark.parametrize("word", ["topd", "topa"])
def test_a_table_comes_back(session: Session, word: str) -> None:
    assert session(f"same[t;{back(word)} t]") is True


def test_keys_are_the_index(session: Session) -> None:
    assert session(f"same[k;{back('topd')} k]") is True
    assert session(f"same[k;{back('topa')} k]") is True
    assert session(f"(0!select j,f from k)~0!select j,f from {back('topl')} k") is True
    assert list(session(".p.topd k").index.names) == ["s", "d"]


def test_frames_are_changed_on_the_way(session: Session) -> None:
    """The note is about the columns that are still there."""
    lines = {
        ".p.toq .p.topd[t][`:drop;`columns pykw`j`f]": "delete j,f from t",
        ".p.toq .p.topd[t][`:head;2]": "2#t",
        ".p.toq .p.topa[t][`:slice;1;2]": "1_t",
        ".p.toq .p.topa[t][`:drop_columns;`j`f]": "delete j,f from t",
    }
    for line, expected in lines.items():
        assert session(f"same[{line};{expected}]") is True, line
    renamed = ".p.toq .p.topd[t][`:rename;`columns pykw(enlist`u)!enlist`u2]"  # the note has no type for its new name
    assert session(f"(exec u2 from {renamed})~`second$exec u from t") is True


def test_a_note_that_is_not_true_any_more_changes_nothing(session: Session) -> None:
    session.run("w:.p.topd([]d:2026.01.01 2026.01.02;u:01:00 02:00;c:\"ab\")")
    session.run(".p.set[`w;w]")
    session.run(".p.e\"import pandas as pd;w.loc[0,'d']=pd.Timestamp('2026-01-01 12:00');w.loc[0,'u']=pd.Timedelta('61s')\"")
    assert session("exec t from meta .p.toq w") == b"pvc"
    session.run(".p.e\"w.attrs['kshell']='{\\\"types\\\":{\\\"d\\\":\\\"?\\\"}}'\"")
    assert session("exec t from meta .p.toq w") == b"pvs"
    session.run(".p.e\"w.attrs['kshell']=7\"")
    assert session("cols .p.toq w").tolist() == ["d", "u", "c"]


@pytest.mark.parametrize("word", ["topd", "topa", "topl"])
def test_numbers_without_nulls_are_not_copied(session: Session, word: str) -> None:
    session.run("big:([]f:til[1000]*1.5;j:til 1000;e:`real$til 1000)")
    frame, table = session(f".p.{word} big"), session.names.spaces["."]["big"]
    for name, column in zip(table.names, table.cols, strict=True):
        there = np.asarray(frame[name])
        assert np.shares_memory(there, column.a), name


def test_what_python_holds_does_not_change(session: Session) -> None:
    session.run("v:([]f:1 2 3f)")
    frame = session(".p.topd v")
    session.run("update f:9f from`v where i=0")
    session.run("v[1;`f]:7f")
    assert frame["f"].tolist() == [1, 2, 3]


def test_lists_are_series(session: Session) -> None:
    assert session("(`a``b;1 0N 2;2026.01.01 0Nd)~.p.toq each .p.topa each(`a``b;1 0N 2;2026.01.01 0Nd)") is True
    assert session(".p.toq .p.topd 1 0N 2").tolist() == [1, None, 2]
    assert session(".p.toq .p.topl`a`b").tolist() == ["a", "b"]
    assert session(".p.toq .p.topa 2026.01.01 0Nd").astype(str).tolist() == ["2026-01-01", "NaT"]


@pytest.mark.parametrize(("given", "kind"), [("1", -7), ("`a`b!1 2", 99), ("`a", -11), ("{x}", 100), ("(::)", 101)])
@pytest.mark.parametrize("word", ["topd", "topa", "topl"])
def test_what_is_no_table(session: Session, word: str, given: str, kind: int) -> None:
    assert session(f"@[.p.{word};{given};{{`$x}}]") == f"{word}: expected a table or a list, given type {kind}h"


def test_a_large_table_comes_back(session: Session) -> None:
    session.run("l:([]s:200000?`a`b`c;d:2026.01.01+200000?100;f:200000?1f;j:200000?100;n:200000?0D01)")
    assert session("l~.p.toq .p.topd l") is True
    assert session("l~.p.toq .p.topa l") is True
