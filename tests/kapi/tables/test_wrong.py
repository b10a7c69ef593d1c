"""Tables that cannot be data: an error says what is wrong, where; the session and the model are as before."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.session import Session

BEGIN = """n:1000;t:([]a:n?1f;s:n?`u`v;b:n?1f;y:n?1f)
q:module enlist(`linear;2;1);m:model(q;loss`mse;opt(`sgd;q));train(m;1 2#1e;1 1#1e)
"""
WRONG = {
    "train(m;`:nothing)": "train: no table at nothing",
    'train(m;t;"a from t")': 'train: "a from t": from',
    'train(m;t;"2+2")': 'train: expected a query of one table, as "select x,y from t where ...", given "2\\+2"',
    'train(m;t;"select a,nope from t")': 'train: the table has no column nope, only a, s, b, y \\(given "select a,nope from t"\\)',
    'run(m;t;"select a,y from t where nope=2")': "run: the table has no column nope, only a, s, b, y",
    'train(m;t;"select avg nope,first y by s from t")': "train: the table has no column nope, only a, s, b, y",
    'train(m;([]c:til 30),\'flip(`$"c",/:string til 30)!30#enlist til 30;"select c,c31 from t")':
        "train: the table has no column c31, only c3, c1, c30|the table has no column c31, only c.* and 27 others",
    'train(m;t;"exec a from t")': "train: expected a query that gives a table",
    'train(m;0#t;"select a,y from t")': "train: expected rows, given none in the table",
    "train(m;t;`windows`x!1 2)": "unrecognized train option of a table: windows",
    "train(m;t;enlist[`window]!enlist 0)": "train window: expected a number of at least one",
    "train(m;t;enlist[`x]!enlist`nope)": "train: x: no column nope",
    "train(m;t;enlist[`nulls]!enlist`keep)": "train nulls: expected `error, `drop or a number",
    "train(m;t;3)": "train: expected a dictionary of options by name, given long scalar",
    "train(m;update a:0n from t where i=7;`x`y!(`a`b;`y))": "rows 0 to 999 of the table: column a has a null in row 7",
    "train(m;([]a:(1 2;1 2 3);y:1 2f))": "column a: expected numbers, words, times or vectors of one length",
    "train(m;([]a:1 2f;g:2?0Ng;y:1 2f))": "column g: expected numbers, words, times or vectors of one length, given type 2h",
    "train(m;t;`x`y`vocabulary!(`a`s;`y;enlist[`s]!enlist`u`w))": "'v' is not in the vocabulary of 2 words",
}


@pytest.fixture
def s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Session:
    monkeypatch.chdir(tmp_path)
    session = Session()
    for line in BEGIN.splitlines():
        session.run(line)
    return session


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_said_and_the_data_stays(s: Session, text: str) -> None:
    with pytest.raises(QError, match=WRONG[text]):
        s.run(text)
    s.run("run m")
    assert s.run("datasize m") == 1


def test_a_part_that_is_damaged_is_named_and_the_run_goes_on_after_it_is_mended(s: Session, tmp_path: Path) -> None:
    s.run("{(`$\":db/\",string[x],\"/t/\")set select a,b,y from t}each til 5")
    s.run('train(m;`:db;"select a,b,y from t");train(m;`batchsize;100)')
    file = tmp_path / "db" / "3" / "t" / "b"
    whole = file.read_bytes()
    file.write_bytes(whole[:200])
    with pytest.raises(QError, match="db/3/t/b"):
        s.run("run m")
    file.write_bytes(whole)
    assert s.run("datasize m") == 5000
    s.run("count0:0;train(m;`callback;{count0::x`batch});run m")
    assert s.run("count0") == 50


def test_a_file_that_vanishes_in_mid_pass_is_named(s: Session, tmp_path: Path) -> None:
    s.run("{(`$\":db/\",string[x],\"/t/\")set select a,b,y from t}each til 9")
    s.run('train(m;`:db;"select a,b,y from t where a<2";enlist[`ahead]!enlist 1);train(m;`batchsize;100)')
    os.rename(tmp_path / "db" / "7", tmp_path / "seven")
    with pytest.raises(QError, match="db/7"):
        s.run("run m")
    os.rename(tmp_path / "seven", tmp_path / "db" / "7")
    s.run("run m")


def test_rows_of_another_type_are_named(s: Session) -> None:
    s.run("{(`$\":db/\",string[x],\"/t/\")set select a,b,y from t}each til 3")
    s.run("`:db/2/t/b set 1000#enlist 0x00ff 0x01")
    s.run('train(m;`:db;"select a,b,y from t")')
    with pytest.raises(QError, match="t in db/2: column b: expected real numbers as before, given vectors of 3 whole numbers"):
        s.run("run m")


@pytest.mark.extra
def test_a_damaged_row_group_is_named(s: Session, tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    table = pa.table({name: [float(i) for i in range(1000)] for name in "aby"})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100, compression="zstd")
    data = bytearray((tmp_path / "t.parquet").read_bytes())
    found = pq.ParquetFile(tmp_path / "t.parquet").metadata.row_group(6).column(0)
    s.run("train(m;`:t.parquet)")
    start = found.dictionary_page_offset or found.data_page_offset
    data[start + 8 : start + 120] = bytes(112)
    (tmp_path / "t.parquet").write_bytes(data)
    with pytest.raises(QError, match=r"row group 6 of t\.parquet|row group 6 of .*t\.parquet"):
        s.run("run m")
