"""Models trained on tables wherever these are: the bits of a run over the same rows as arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kshell.errors import QError
from kshell.python.outof import from_q
from kshell.python.session import Session

N, PARTS = 1000, 4
# columns of all kinds; date is the partition's
TABLE = ("n:1000;t:([]date:raze 250#'2024.01.01+til 4;a:n?1f;b:n?10;c:n?1e;s:n?`u`v`w;y:n?1f);"
         "net:{seed 3;module enlist(`linear;x;1)};"
         "fresh:{m::model(q;loss`mse;opt(`sgd;q::net x;.01));train(m;`batchsize;32);}")
QUERIES = {
    "columns": ("select a,c,y from trade", "(flip(t`a;\"f\"$t`c);t`y)"),
    "computed": ("select a:2*a,b,y:neg y from trade", "(flip(2*t`a;\"f\"$t`b);neg t`y)"),
    "chosen rows": ("select a,c,y from trade where b>4,a<.9",
                    "{(flip(x`a;\"f\"$x`c);x`y)}select from t where b>4,a<.9"),
    "chosen dates": ("select a,b,y from trade where date within 2024.01.02 2024.01.03",
                     "{(flip(x`a;\"f\"$x`b);x`y)}select from t where date within 2024.01.02 2024.01.03"),
    "vectors": ("select x:flip(a;b*1.5),y from trade", "(flip(t`a;1.5*t`b);t`y)"),
}
Made = Callable[[Session, Path], str]


def in_memory(s: Session, folder: Path) -> str:
    return "t"


def splayed(s: Session, folder: Path) -> str:
    s.run(f'(`$":{folder}/trade/")set .Q.en[`$":{folder}";t]')
    return f'(`$":{folder}/trade/")'


def partitioned(s: Session, folder: Path) -> str:
    s.run(f'trade:t;{{[d]trade::delete date from select from t where date=d;.Q.dpft[`$":{folder}";d;`b;`trade]}}each distinct t`date;'
          't:raze{`b xasc select from t where date=x}each distinct t`date;delete trade from `.')
    return f'(`$":{folder}")'


def parquet(s: Session, folder: Path) -> str:
    import pyarrow.parquet

    pyarrow.parquet.write_table(frame(s), folder / "t.parquet", row_group_size=150)
    return f'(`$":{folder}/t.parquet")'


def hive(s: Session, folder: Path) -> str:
    import pyarrow.parquet

    pyarrow.parquet.write_to_dataset(frame(s), folder / "t", partition_cols=["date"])
    return f'(`$":{folder}/t")'


def feather(s: Session, folder: Path) -> str:
    import pyarrow.feather

    pyarrow.feather.write_feather(frame(s), str(folder / "t.feather"))
    return f'(`$":{folder}/t.feather")'


def stream(s: Session, folder: Path) -> str:
    """As a dataset of Hugging Face is on disk."""
    import pyarrow

    (folder / "t").mkdir()
    whole = frame(s)
    for i in range(2):
        file = str(folder / "t" / f"data-0000{i}-of-00002.arrow")
        with pyarrow.OSFile(file, "wb") as f, pyarrow.ipc.new_stream(f, whole.schema) as out:
            out.write_table(whole.slice(500 * i, 500), 100)
    for name in ("state.json", "dataset_info.json"):
        (folder / "t" / name).write_text("{}")
    return f'(`$":{folder}/t")'


def csv(s: Session, folder: Path) -> str:
    import pyarrow.csv

    pyarrow.csv.write_csv(frame(s), folder / "t.csv")
    return f'(`$":{folder}/t.csv")'


def frame(s: Session) -> Any:
    """The table as one of Arrow."""
    return from_q(s.run(".p.unwrap .p.topa t"))


MADE: list[Any] = [in_memory, splayed, partitioned,
                   *(pytest.param(f, marks=pytest.mark.extra) for f in (parquet, hive, feather, stream, csv))]


@pytest.fixture
def s() -> Session:
    session = Session()
    session.run(TABLE)
    return session


def trained(s: Session, data: str, width: int = 2) -> str:
    """The bits of the parameters after a pass."""
    s.run(f"fresh {width}")
    s.run(f"run(enlist[m],{data})")
    return str(from_q(s.run("`$raze string -8!(tensor parm(q;`weight);tensor parm(q;`bias))")))


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("made", MADE)
def test_a_pass_over_a_table_has_the_bits_of_one_over_arrays(s: Session, tmp_path: Path, made: Made, query: str) -> None:
    if made is not in_memory and made not in (splayed, partitioned):
        pytest.importorskip("pyarrow")
    source = made(s, tmp_path)
    text, arrays = QUERIES[query]
    expected = trained(s, f'{{("e"$x;"e"$enlist each y)}}. {arrays}')
    assert trained(s, f'({source};"{text}")') == expected
    assert trained(s, f'({source};"{text}";enlist[`ahead]!enlist 1)') == expected


@pytest.mark.extra
def test_row_groups_and_folders_that_a_query_leaves_out_are_not_read(tmp_path: Path) -> None:
    """They are damaged; the rows of the others are those of the same query in memory."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"a": [float(i) for i in range(1000)], "k": [i // 100 for i in range(1000)], "y": [float(i % 7) for i in range(1000)]})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, row_group_size=100)
    chunk = pq.ParquetFile(path).metadata.row_group(7).column(0)
    with path.open("r+b") as f:
        f.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
        f.write(b"\xff" * chunk.total_compressed_size)
    s = Session()
    s.run("q:module enlist(`linear;1;1);m:model(q;loss`mse;opt(`sgd;q;0f));train(m;`batchsize;64);got:();"
          "train(m;`transform;{got,:first each tensor first x;x})")
    s.run(f'train(m;`$":{path}";"select a,y from t where k within 2 5,y<3");run m')
    assert s.run('"j"$got').a.tolist() == [i for i in range(200, 600) if i % 7 < 3]
    with pytest.raises(QError, match=r"row group 7 of .*t\.parquet"):
        s.run(f'train(m;`$":{path}";"select a,y from t where y<3");run m')
    folder = tmp_path / "hive"
    pq.write_to_dataset(table.append_column("z", pa.array(["u", "v"] * 500)), folder, partition_cols=["k", "z"])
    for file in (folder / "k=4" / "z=v").iterdir():
        meta = pq.ParquetFile(file).metadata.row_group(0).column(0)
        with file.open("r+b") as f:
            f.seek(meta.dictionary_page_offset or meta.data_page_offset)
            f.write(b"\xff" * meta.total_compressed_size)
    s.run(f'got:();train(m;`$":{folder}";"select a,y from t where k=4,z=`u");run m')
    assert sorted(s.run('"j"$got').a.tolist()) == list(range(400, 500, 2))
