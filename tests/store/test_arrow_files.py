"""Files of Parquet and Arrow as tables of q: queries give what they give in memory, and read what they need."""

from __future__ import annotations

import datetime as dt
import random
from pathlib import Path

import pytest

from kshell.errors import QError
from kshell.session import Session

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
