"""Files of Parquet and Arrow as tables of q: queries give what they give in memory, and read what they need."""

from __future__ import annotations

import datetime as dt
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kshell.errors import QError
from kshell.lang.qsql import partitioned
from kshell.lang.qsql.by_pieces import Grouping
from kshell.session import Session
from kshell.store.arrow import files as arrow_files
from kshell.store.arrow.words import Words
from kshell.values.base.core import sym_vec
from kshell.values.base.symbols import sym_at

pytestmark = pytest.mark.extra
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")

QUERIES = (
    "select from t",
    "select a,k from t where date=2024.01.02",
    "select from t where date within 2024.01.02 2024.01.03,a>.5",
    "select count i by date from t",
    "select n:count i,v:sum a,m:max k by s from t where k<4",
    "select avg a,dev a by k,s from t",
    "exec a from t where k=3",
    "exec sum a by s from t",
    "select distinct s from t",
    "select first a,last k by date from t",
    "select a from t where s in`u`w,k=max k",
    "exec count i from t",
    "meta t",
    "cols t",
    "count t",
    "select med a by date from t where date>2024.01.01",
    "select s,a from t where a>.99",
)


def rows() -> dict[str, list[object]]:
    r = random.Random(5)
    days = [dt.date(2024, 1, 1 + i // 250) for i in range(1000)]
    return {"date": days, "a": [r.random() for _ in days], "k": [r.randrange(6) for _ in days],
            "s": [r.choice("uvw") for _ in days]}


@pytest.fixture(params=("hive", "parquet", "feather", "folder"))
def s(request: pytest.FixtureRequest, tmp_path: Path) -> Session:
    """A session with the table t in memory, and u, the same in files."""
    table = pa.table(rows())
    table = table.set_column(3, "s", table["s"].dictionary_encode())
    where = tmp_path / "t"
    if request.param == "hive":
        pq.write_to_dataset(table, where, partition_cols=["date"])
    elif request.param == "folder":
        where.mkdir()
        for i in range(4):
            pq.write_table(table.slice(250 * i, 250), where / f"{i}.parquet", row_group_size=100)
    elif request.param == "parquet":
        where = tmp_path / "t.parquet"
        pq.write_table(table, where, row_group_size=130)
    else:
        where = tmp_path / "t.feather"
        feather.write_feather(table, str(where), chunksize=170)
    session = Session()
    session.run(f"u:get`$\":{where}\";f:`$\":{where}\"")
    session.run("t:select from u")
    if request.param != "hive":
        session.run("t:([]date:raze 250#'2024.01.01+til 4;a:t`a;k:t`k;s:t`s)")
    return session


# of which q gives others, or errors, for partitioned tables
IN_ONE = ("select from t where i in 3 900 5", "select[3;>a]s,k from t where k=1,a>.8", "select[-2]from t where k=2")


@pytest.mark.parametrize("s", ("parquet", "feather", "folder"), indirect=True)
@pytest.mark.parametrize("query", IN_ONE)
def test_a_query_of_one_table(s: Session, query: str) -> None:
    assert s.run(f"({query})~{query.replace(' t', ' u').replace(']from t', ']from u')}") is True


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_gives_what_it_gives_in_memory(s: Session, query: str) -> None:
    expected = s.run(f"-8!{query}").a.tobytes()  # type: ignore[union-attr]
    assert s.run(f"-8!{query.replace(' t', ' u')}").a.tobytes() == expected  # type: ignore[union-attr]
    if query.startswith(("select", "exec")):
        assert s.run(f"-8!{query.replace('from t', 'from f')}").a.tobytes() == expected  # type: ignore[union-attr]


def test_folders_that_a_condition_leaves_out_are_not_read(tmp_path: Path) -> None:
    pq.write_to_dataset(pa.table(rows()), tmp_path / "t", partition_cols=["date"])
    session = Session()
    session.run(f"u:get`$\":{tmp_path}/t\";n:count u")
    for file in (tmp_path / "t" / "date=2024-01-03").iterdir():
        file.write_bytes(b"PAR1 no more PAR1")
    assert session.run("exec count i from u where date=2024.01.02") == 250
    with pytest.raises(QError, match="date=2024-01-03: "):
        session.run("exec sum a from u")


def test_numbers_name_folders_too(tmp_path: Path) -> None:
    pq.write_to_dataset(pa.table({"k": [3, 1, 2, 1], "a": [1.0, 2.0, 3.0, 4.0]}), tmp_path / "t", partition_cols=["k"])
    session = Session()
    session.run(f"u:get`$\":{tmp_path}/t\"")
    assert session.run("(exec sum a by k from u)~1 2 3i!6 3 1f") is True
    assert session.run("(select from u where k=1)~([]k:1 1i;a:2 4f)") is True


@pytest.mark.parametrize("content", (b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1", b"no file of Parquet"))
def test_a_damaged_file_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.parquet").write_bytes(content)
    session = Session()
    with pytest.raises(QError, match=r"t\.parquet: "):
        session.run(f"get`$\":{tmp_path}/t.parquet\"")
    assert session.run("1+1") == 2


def spoiled(path: Path, group: int, column: int) -> None:
    """Write over what a row group has of a column."""
    chunk = pq.ParquetFile(path).metadata.row_group(group).column(column)
    with path.open("r+b") as f:
        f.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
        f.write(b"\xff" * chunk.total_compressed_size)


def test_row_groups_and_columns_that_no_row_needs_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": list(range(1000)), "b": list(range(1000)), "s": ["u", "v"] * 500}), path, row_group_size=100)
    spoiled(path, 2, 1)
    spoiled(path, 7, 2)
    s = Session()
    s.run(f"t:get`$\":{path}\"")
    assert s.run("count t") == 1000
    assert s.run("exec b from t where a in 950 20 330").a.tolist() == [20, 330, 950]
    assert s.run("(exec s from t where a=11)~enlist`v")
    with pytest.raises(QError, match=r"t\.parquet"):
        s.run("exec b from t where a=250")
    assert s.run("exec sum a from t") == 499500


def test_texts_become_symbols_once(tmp_path: Path) -> None:
    """However they are stored; a null is the empty symbol."""
    texts = ["a", None, "", "b", "\u00e9", "a"] * 50 + [str(i) for i in range(300)]
    expected = [t or "" for t in texts]
    for name, how in (("plain", {"use_dictionary": False}), ("coded", {}), ("groups", {"row_group_size": 7})):
        pq.write_table(pa.table({"s": texts}), tmp_path / f"{name}.parquet", **how)
        s = Session()
        s.run(f"t:get`$\":{tmp_path}/{name}.parquet\"")
        s.names.set("e", sym_vec(expected))
        assert s.run("e~t`s") is True


# literals of one value or several, by the column; row groups have two values each, from 0 to 19
LITERALS = {
    "k": lambda *ks: " ".join(map(str, ks)), "x": lambda *ks: " ".join(map(str, ks)),
    "h": lambda *ks: " ".join(map(str, ks)) + "h", "u": lambda *ks: " ".join(map(str, ks)),
    "d": lambda *ks: " ".join(f"2024.01.{k + 1:02}" for k in ks), "s": lambda *ks: "".join(f"`s{k:02}" for k in ks),
    "p": lambda *ks: " ".join(f"2024.01.{k + 1:02}D00:00:00.000001" for k in ks), "f": lambda *ks: " ".join(f"{k}.0" for k in ks),
}
CONDITIONS = ("{c}={l(7)}", "{c}<{l(3)}", "{c}<={l(2)}", "{c}>{l(16)}", "{c}>={l(17)}", "{c} in {l(3,11)}", "{c} within {l(4,6)}",
              "{l(5)}>{c}", "{l(12)}<={c},n>600", "{c}<>{l(7)}", "not {c}={l(7)}", "{c}={l(25)}", "{c}={l(7)},n=max n",
              "n=max n,{c}={l(7)}", "{c}={l(7)},k in 7 8", "k>3,{c}={l(7)},n<360", "{c}={l(7,8)}", "{c}=0N", "{c}<0W", "{c}>-0W",
              "{c} in enlist {l(7)}", "{c}=`nosuch", "{c} within {l(6,4)}", "i<5,{c}={l(0)}")
FORMS = ("select from t where ", "exec sum n by k from t where ", "exec i from t where ", "select[2]n,{c} from t where ",
         "select count i from t where ")


def string_of(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


@pytest.mark.parametrize("c", LITERALS)
def test_conditions_that_leave_row_groups_out(tmp_path: Path, c: str) -> None:
    """The result, or the error, is that of the table in memory."""
    ks = [i // 50 for i in range(1000)]
    days = [dt.date(2024, 1, 1) + dt.timedelta(k) for k in ks]
    times = [dt.datetime(2024, 1, 1, microsecond=1) + dt.timedelta(k) for k in ks]
    columns = {"n": list(range(1000)), "k": ks, "x": pa.array([None if k == 4 else k for k in ks], pa.int64()), "d": days,
               "p": pa.array(times, pa.timestamp("us")), "s": [None if k == 5 else f"s{k:02}" for k in ks], "h": pa.array(ks, pa.int16()),
               "u": pa.array(ks, pa.uint8()), "f": [float(k) for k in ks]}
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=100)
    s = Session()
    s.run(f"t:select from f:get`$\":{path}\"")
    for form in FORMS:
        for condition in CONDITIONS:
            text = re.sub(r"\{l\(([\d,]+)\)\}", lambda m: LITERALS[c](*map(int, m[1].split(","))), form + condition).replace("{c}", c)
            s.run(f"u:get`$\":{path}\"")
            found, expected = (s.run(f"-8!@[value;{string_of(t)};{{x}}]").a.tobytes() for t in (text.replace("from t", "from u"), text))
            assert found == expected, text


def test_what_a_condition_leaves_out_is_not_read(tmp_path: Path) -> None:
    """Nor are files in folders whose names say that no row can meet it, also where they are named by two fields."""
    path = tmp_path / "t.parquet"
    table = pa.table({"a": list(range(1000)), "b": [f"s{i // 100}" for i in range(1000)], "v": [1.0] * 1000})
    pq.write_table(table, path, row_group_size=100)
    for column in range(3):
        spoiled(path, 2, column)
    s = Session()
    for text, expected in (("exec sum v from t where a within 320 340", 21.0), ("exec count v from t where b=`s7,a<750", 50),
                           ("exec sum v from t where a in 5 999", 2.0)):
        s.run(f"t:get`$\":{path}\"")
        assert s.run(text) == expected
    for text in ("exec sum v from t where a<340", "exec sum v from t where a=250", "exec sum v from t where b=`s2"):
        s.run(f"t:get`$\":{path}\"")
        with pytest.raises(QError, match=r"t\.parquet"):
            s.run(text)
    folder = tmp_path / "hive"
    rows = pa.table({"day": [dt.date(2024, 1, 1 + i // 10) for i in range(40)], "sym": ["a", "b"] * 20, "v": list(range(40))})
    pq.write_to_dataset(rows, folder, partition_cols=["day", "sym"])
    for file in (folder / "day=2024-01-02" / "sym=b").iterdir():
        spoiled(file, 0, 0)
    s.run(f"h:get`$\":{folder}\"")
    assert s.run("exec asc v from h where day=2024.01.02,sym=`a").a.tolist() == [10, 12, 14, 16, 18]
    assert s.run("exec sum v from h where sym=`a") == sum(range(0, 40, 2))
    with pytest.raises(QError, match="hive"):
        s.run("exec sum v from h where day=2024.01.02")


# a grouped query of pieces: keys of several types, nulls, words that are stored one by one and as places
BY_PIECES = (
    "select n:count i,v:sum a,m:max k,l:min k,f:first s,e:last k by s from t",
    "select v:sum e,r:avg e,x:sum h,y:max h,z:all b,c:any b,d:avg k by w from t",
    "select sum a,v:sum k,r:avg a by k,s from t",
    "select last w,max a,min e by d from t",
    "`n xdesc select n:count w by w,d from t",
    "select med a,v:sum a by s from t",
    "select sum a*k by s from t",
    "select first s,v:count w by b from t",
    "exec sum a by s from t",
    "exec n:count i,max k by s,b from t",
    "exec last w by d:d from t where k>0,a<1",
    "select sum a,first w,last w by s from t where k in 7 0N,not null e",
    "select n:count i,k wavg e,e wavg h by d from t where d within 2024.01.02 2024.01.05",
    "select sum a by h>0,2 xbar h,d.month from t where s in`u`v",
    "select sum e*h,avg neg h by b from t where b",
    "{[x;y]select v:avg k by s from t where d>x,h in y}[2024.01.03;1 -5h]",
    "select sum a,first w by s from t where d>2030.01.01",
    "exec sum a by s from t where d>2030.01.01",
    "select sum a by s from t where k=max k",
    "select sum a by s from t where i<9",
    "select[2;>v]v:count i by d from t where h=1",
    "?[t;enlist(in;`s;enlist`u`v);(enlist`s)!enlist`s;`n`v!((count;`i);(sum;`e))]",
)
# of these, such that are looked at all at once
AT_ONCE = ("med a", "select sum a by s from t where k=max k", "where i<9", "d>2030")


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """A table of several pieces, in memory as t and in files as u."""
    r, n = random.Random(7), 3000
    words = [f"word {i}" * r.randrange(4) for i in range(900)]
    columns = {
        "s": pa.array([r.choice([*"uvw", None]) for _ in range(n)]).dictionary_encode(),
        "w": pa.array([r.choice([*words, None]) for _ in range(n)]),
        "a": pa.array([r.choice([1.5, -2.25, float("nan"), 0.0, None]) for _ in range(n)]),
        "e": pa.array([r.choice([0.5, 3.0, None]) for _ in range(n)], pa.float32()),
        "k": pa.array([r.choice([1 << 40, -3, 7, None]) for _ in range(n)]),
        "h": pa.array([r.choice([1, 32767, -5]) for _ in range(n)], pa.int16()),
        "b": pa.array([r.choice([True, False]) for _ in range(n)]),
        "d": pa.array([dt.date(2024, 1, r.randrange(1, 9)) for _ in range(n)]),
    }
    where = tmp_path_factory.mktemp("pieces") / "t.parquet"
    pq.write_table(pa.table(columns), where, row_group_size=170, dictionary_pagesize_limit=2000)
    session = Session()
    session.run(f"f:`$\":{where}\";t:select from get f")
    return session


@pytest.mark.parametrize("query", BY_PIECES)
def test_a_grouped_query_of_pieces_is_that_of_the_whole(pieces: Session, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums of these numbers are exact, in whatever order."""
    monkeypatch.setattr(arrow_files, "BATCH", 400)
    put_together = []
    together = Grouping.together
    monkeypatch.setattr(
        Grouping, "together", lambda g, made: put_together.append(len(made)) or together(g, made)
    )
    pieces.run("u:get f")
    u = query.replace(" from t", " from u").replace("?[t;", "?[u;")
    assert pieces.run(f"({query})~{u}") is True
    assert put_together == [] if any(text in query for text in AT_ONCE) else put_together[0] > 2
    pieces.run("u:get f;kind:{$[.Q.qt x;meta x;type each(key x;value x)]}")
    assert pieces.run(f"kind[{query}]~kind {u}") is True


KEYS = ("s", "w", "k", "h", "b", "d", "d.month", "s,b", "k:neg k,h", "w,d,b", "2 xbar h")
VALUES = (
    "n:count i",
    "u1:sum a",
    "u2:avg k",
    "u3:max e",
    "u4:min h",
    "u5:first w",
    "u6:last d",
    "u7:any b",
    "u8:h wavg e",
    "u9:sum k*h",
)
CONDITIONS = (
    "k>0",
    "s in`u`w",
    "d within 2024.01.02 2024.01.06",
    "b",
    "not b",
    "null k",
    "h=1h",
    "e>0.",
    "(h>0)|b",
    "d<2023.01.01",
)


@settings(max_examples=60, deadline=None)
@given(
    verb=st.sampled_from(("select", "exec")),
    by=st.sampled_from(KEYS),
    room=st.sampled_from((200, 400, 1100)),
    values=st.lists(st.sampled_from(VALUES), min_size=1, max_size=4, unique=True),
    where=st.lists(st.sampled_from(CONDITIONS), max_size=3, unique=True),
)
def test_any_grouped_query_of_pieces_is_that_of_the_whole(
    pieces: Session, verb: str, by: str, room: int, values: list[str], where: list[str]
) -> None:
    text = f"{verb} {','.join(values)} by {by} from %s{' where ' if where else ''}{','.join(where)}"
    with pytest.MonkeyPatch.context() as m:
        m.setattr(arrow_files, "BATCH", room)
        pieces.run("u:get f")
        assert pieces.run(f"({text % 't'})~{text % 'u'}") is True, text


@pytest.mark.parametrize("query", BY_PIECES)
def test_a_grouped_query_of_partitions_is_that_of_the_whole(
    pieces: Session, query: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Those that look at other rows differ: conditions see a partition."""
    if query.endswith("k=max k") or "i<9" in query or "[2;" in query:
        pytest.skip("q itself gives others for partitions")
    monkeypatch.setattr(partitioned, "MANY", 100)
    pq.write_to_dataset(
        pq.read_table(pieces.run("1_string f").a.tobytes().decode()),
        tmp_path / "h",
        partition_cols=["d"],
    )
    pieces.run(f't0:t;t:`d xasc t;u:get`$":{tmp_path}/h"')
    try:
        assert (
            pieces.run(f"({query})~{query.replace(' from t', ' from u').replace('?[t;', '?[u;')}")
            is True
        )
    finally:
        pieces.run("t:t0")


def test_pieces_without_rows_that_meet_conditions_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow_files, "BATCH", 100)
    path = tmp_path / "t.parquet"
    pq.write_table(
        pa.table(
            {"a": list(range(1000)), "k": [f"s{i % 3}" for i in range(1000)], "v": [1.0] * 1000}
        ),
        path,
        row_group_size=100,
    )
    for column in range(3):
        spoiled(path, 2, column)
    s = Session()
    s.run(f't:get`$":{path}"')
    assert s.run("value exec sum v by k from t where a within 410 729").a.tolist() == [
        107,
        106,
        107,
    ]
    assert s.run("count select sum v by k from t where a>5000") == 0
    with pytest.raises(QError, match=r"t\.parquet"):
        s.run("select sum v by k from t where a<729")


def test_an_error_in_a_piece_names_the_file(pieces: Session, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(arrow_files, "BATCH", 400)
    where = tmp_path / "bad.parquet"
    table = pa.table({"s": ["u", "v"] * 1000, "a": [float(i) for i in range(2000)]})
    pq.write_table(table, where, row_group_size=200, compression="none")
    content = bytearray(where.read_bytes())
    start = pq.read_metadata(where).row_group(6).column(1).dictionary_page_offset
    content[start : start + 40] = b"\xff" * 40
    where.write_bytes(content)
    with pytest.raises(QError, match=re.escape(str(where))):
        pieces.run(f"select sum a by s from get`$\":{where}\"")


def test_texts_are_the_symbols_that_they_spell() -> None:
    """In arrays with offsets, nulls, characters of several bytes, and words that share slots."""
    r, words = random.Random(3), Words()
    for kind in (pa.string(), pa.large_string()) * 3:
        pool = ["".join(r.choice("ab\0é𝄞01") for _ in range(r.randrange(r.choice((3, 9, 20))))) for _ in range(5000)]
        texts = [r.choice([*pool[: r.choice((1, 50, 5000))], None]) for _ in range(9000)]
        array = pa.array(texts, kind)
        found = words.symbols([array[:70], array[70:71], array[71:]])
        assert found is not None
        assert [sym_at(code).s for code in found.tolist()] == [text or "" for text in texts]
    assert words.symbols([pa.array(["a", "b" * 65])]) is None


def test_columns_keep_their_order(tmp_path: Path) -> None:
    where, empty = tmp_path / "t.parquet", tmp_path / "e.parquet"
    table = pa.table({"s": ["u", "v"], "a": [1, 2], "w": ["x", "y"], "b": [1.5, 2.5]})
    pq.write_table(table, where)
    pq.write_table(table.slice(0, 0), empty)
    session = Session()
    for file in (where, empty):
        assert session.run(f"`s`a`w`b~cols select from get`$\":{file}\"") is True
        assert session.run(f"\"sjsf\"~exec t from meta get`$\":{file}\"") is True
