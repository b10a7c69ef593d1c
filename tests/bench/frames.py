"""A table of 100,000 rows as a frame of pandas and of Arrow, against pandas' and Arrow's own from the same columns."""

from __future__ import annotations

from collections.abc import Iterator

from kshell.python.session import Session
from tests.bench.timing import least, row

TABLE = "t:([]s:100000?`a`b`c`d;d:2026.01.01+100000?100;f:100000?1f;j:100000?100;n:100000?0D01)"


def report() -> Iterator[str]:
    import pandas
    import pyarrow

    s = Session()
    s.run(TABLE)
    own = s("t")
    columns = {name: column.astype("M8[s]") if name == "d" else column for name, column in own.items()}
    ours, theirs = least(lambda: s.run("w:.p.topd t;"), lambda: pandas.DataFrame(columns), 20)
    yield row("a table to pandas", ours, theirs, 1, "DataFrame of arrays")
    ours, theirs = least(lambda: s.run("w:.p.topa t;"), lambda: pyarrow.table(columns), 20)
    yield row("a table to Arrow", ours, theirs, 1.5, "pyarrow.table of arrays")
    frame = pandas.DataFrame(columns)
    s["frame"] = frame
    s.run("w:.p.topd t;")
    ours, theirs = least(lambda: s.run("r:.p.toq w;"), lambda: {name: frame[name].to_numpy(copy=True) for name in frame}, 20)
    yield row("a frame of pandas to q", ours, theirs, 5, "copies of its arrays")
