"""Tables with texts as bytes, in files and as lines, against Arrow and polars on the same columns: 1,000,000 rows of five
columns."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.ipc

from kshell.session import Session
from tests.bench.timing import paired, row

ROWS = 1_000_000
DEFINED = f"""n:{ROWS};t:([]j:til n;f:n?1f;s:n?`3;d:2024.01.01+n?300;w:(til[10]#\\:"abcdefghij")n?10);texts:100000#t`w"""


def report() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp())
    try:
        yield from _rows(folder)
    finally:
        shutil.rmtree(folder)


def _rows(folder: Path) -> Iterator[str]:
    s = Session()
    s.run(DEFINED)
    table, file = _arrow(), str(folder / "x.arrow")

    def run(text: str) -> Callable[[], Any]:
        return lambda: s.run(text)

    def streamed() -> Any:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return sink.getvalue()

    buffer = streamed()
    stored = lambda: pa.feather.write_feather(table, file, compression="uncompressed")  # noqa: E731
    loaded = lambda: pa.feather.read_table(file, memory_map=False)  # noqa: E731
    stored()
    s.run(f"b:-8!t;`:{folder}/t set t;`:{folder}/sp/ set .Q.en[`:{folder};t]")
    frame, lines = pl.from_arrow(table), folder / "peer.csv"
    assert isinstance(frame, pl.DataFrame)
    texts = ["abcdefghij"[: i % 10] for i in range(100_000)]
    peers: list[tuple[str, Callable[[], Any], str, float]] = [
        ("-8!t;", streamed, "Arrow's stream", 40),
        ("-9!b;", lambda: pa.ipc.open_stream(bytes(buffer)).read_all(), "Arrow's stream", 80),
        (f"`:{folder}/t set t;", stored, "Arrow's file", 12),
        (f"get`:{folder}/t;", loaded, "Arrow's file", 50),
        (f"`:{folder}/sp/ set .Q.en[`:{folder};t];", stored, "Arrow's file", 16),
        (f"count each exec w from get`:{folder}/sp/;", loaded, "Arrow's file", 15),
        (f"`:{folder}/a.csv 0:csv 0:t;", lambda: frame.write_csv(lines), "polars", 9),
        (f'("JFSD*";enlist",")0:`:{folder}/a.csv;', lambda: pl.read_csv(lines, try_parse_dates=True), "polars", 4),
        ('texts ss\\:"cd";', lambda: [text.find("cd") for text in texts], "a loop in Python", 12),
    ]
    for text, peer, who, bound in peers:
        name = text.rstrip(";").replace(str(folder), "")
        yield row(name, *paired(run(text), peer, 3), bound, who)


def _arrow() -> Any:
    rng = np.random.default_rng(0)
    words = ["abcdefghij"[:k] for k in range(10)]
    return pa.table({
        "j": np.arange(ROWS), "f": rng.random(ROWS), "s": pa.array(rng.integers(0, 1000, ROWS).astype(str)).dictionary_encode(),
        "d": pa.array(rng.integers(0, 300, ROWS).astype("datetime64[D]")), "w": pa.array([words[i] for i in rng.integers(0, 10, ROWS)])})
