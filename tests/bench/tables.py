"""Tables of a million rows, and text files, against pandas and polars, which are needed for nothing else."""

from __future__ import annotations

import importlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from kshell.session import Session
from kshell.shell.cli import tune_allocator, tune_collector
from kshell.values.session.context import enter, leave
from tests.bench.timing import least, row

N, LINES = 1_000_000, 100_000
Peer = Callable[[], Any]


def module(name: str) -> Any:
    """A module, or None if it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def write_mixed(path: Path) -> None:
    """A file with a column each of longs, floats, symbols, dates, times and strings."""
    rng = np.random.default_rng(0)
    words = ["alpha", "beta", "gamma", "delta", "some words of a text", "x"]
    days = np.datetime_as_string(np.datetime64("2000-01-01") + rng.integers(0, 9000, LINES)).tolist()
    cols = (rng.integers(0, 10**9, LINES).tolist(), (rng.random(LINES) * 1000).round(6).tolist(),
            rng.integers(0, 1000, LINES).tolist(), days, rng.integers(0, 86_400_000, LINES).tolist(),
            rng.integers(0, 6, LINES).tolist())
    lines = (f"{j},{f},s{s},{d},{t // 3600000:02d}:{t // 60000 % 60:02d}:{t // 1000 % 60:02d}.{t % 1000:03d},{words[w]}"
             for j, f, s, d, t, w in zip(*cols, strict=True))
    path.write_text("\n".join(["j,f,s,d,t,w", *lines, ""]))


def write_wide(path: Path, quotes: bool) -> None:
    """A file of eleven columns, with floats of all their digits, timestamps, booleans, and texts that may hold commas
    and quotes."""
    rng = np.random.default_rng(1)
    texts = ["alpha", '"beta, and more"', "gamma", '"a ""quoted"" word"', "", "x y z"] if quotes else \
        ["alpha", "beta", "gamma", "a word", "", "x y z"]
    days = np.datetime_as_string(np.datetime64("2000-01-01") + rng.integers(0, 9000, LINES)).tolist()
    stamps = np.datetime_as_string(np.datetime64("2000-01-01T00:00:00", "ns") + rng.integers(0, 7 * 10**17, LINES))
    times = np.datetime_as_string(np.datetime64("2000-01-01T00:00:00", "ms") + rng.integers(0, 86_400_000, LINES))
    cols = [rng.integers(0, 100, LINES).tolist(), rng.integers(-10**6, 10**6, LINES).tolist(),
            rng.integers(0, 10**15, LINES).tolist(), map(repr, rng.normal(size=LINES).tolist()),
            rng.random(LINES).round(4).tolist(), [f"s{k}" for k in rng.integers(0, 5000, LINES)], days,
            [s[11:] for s in times.tolist()], stamps.tolist(), [texts[k] for k in rng.integers(0, 6, LINES)],
            rng.integers(0, 2, LINES).tolist()]
    lines = (",".join(map(str, line)) for line in zip(*cols, strict=True))
    path.write_text("\n".join(["h,i,j,f,e,s,d,t,p,w,b", *lines, ""]))


def report() -> list[str]:
    os.environ.setdefault("POLARS_MAX_THREADS", "1")
    pd, pl = module("pandas"), module("polars")
    tune_allocator()
    tune_collector()
    s = Session()
    s.run("\\S -7")
    s.run(f"n:{N};lo:n?1000;i:n?1000000000;f:n?1f;sy:(`$'string til 1000)lo;d:2000.01.01+n?3000;tm:n?24:00:00.000;"
          "t:([]a:lo;b:i;sy;f;d;tm);k:([a:til 1000]z:1000?1f);sm:100?`4;"
          "trd:`tm xasc([]sy:n?sm;tm:n?24:00:00.000;sz:n?100);qt:`tm xasc([]sy:n?sm;tm:n?24:00:00.000;bid:n?1f);"
          "g:select b,f by a from t;P:`$string til 1000")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mixed.csv"
        write_mixed(path)
        for quotes in (False, True):
            write_wide(path.with_name(f"{'quoted' if quotes else 'wide'}.csv"), quotes)
        token = enter(s)
        try:
            return list(_rows(s, pd, pl, path))
        finally:
            leave(token)


def _rows(s: Session, pd: Any, pl: Any, path: Path) -> Any:
    lo, i, f, tm = (s[n].a for n in ("lo", "i", "f", "tm"))
    names = np.array([str(k) for k in range(1000)])[lo]
    peers: dict[str, Peer] = {}
    df = frame = None
    if pd is not None:
        df = pd.DataFrame({"a": lo, "b": i, "sy": pd.Categorical(names), "f": f, "d": s["d"].a, "tm": tm})
        dk = pd.DataFrame({"a": np.arange(1000), "z": s["k"].v.cols[0].a})
        trd, qt = ({c: col.a for c, col in zip(s[n].names, s[n].cols, strict=True)} for n in ("trd", "qt"))
        dt, dq = pd.DataFrame(trd), pd.DataFrame(qt)
        lists = df.groupby("a").agg({"b": list, "f": list})
        out = str(path) + ".out"
        peers = {
            "select sum b by a from t": lambda: df.groupby("a")["b"].sum(),
            "select sum b by sy from t": lambda: df.groupby("sy", observed=True)["b"].sum(),
            "select sum b,avg f,max b,count i by a from t":
                lambda: df.groupby("a").agg(s=("b", "sum"), f=("f", "mean"), m=("b", "max"), n=("b", "size")),
            "select sum b by a,d from t": lambda: df.groupby(["a", "d"])["b"].sum(),
            "select from t where f=(max;f)fby a": lambda: df[df.f == df.groupby("a")["f"].transform("max")],
            "update s:sums b by a from t": lambda: df.groupby("a")["b"].cumsum(),
            "`a`d`tm xasc t": lambda: df.sort_values(["a", "d", "tm"], kind="stable"),
            "`a xgroup t": lambda: {k: df.iloc[v] for k, v in df.groupby("a").indices.items()},
            "ungroup g": lambda: lists.explode(["b", "f"]),
            "t lj k": lambda: df.merge(dk, on="a", how="left"),
            "t uj 0!k": lambda: pd.concat([df, dk]),
            "aj[`sy`tm;trd;qt]": lambda: pd.merge_asof(dt, dq, on="tm", by="sy"),
            "exec P#sy!b by d:d from 100000#t":
                lambda: df[:100000].pivot_table(index="d", columns="sy", values="b", aggfunc="last"),
            f'("JFSDT*";enlist",")0:`:{path}': lambda: pd.read_csv(path, parse_dates=["d"], engine="c"),
            **{f'("HIJFESDTP*B";enlist",")0:`:{path.with_name(name)}':
               lambda name=name: pd.read_csv(path.with_name(name), parse_dates=["d", "p"], engine="c")
               for name in ("wide.csv", "quoted.csv")},
            f"`:{out} 0:csv 0:100000#t": lambda: df[:100000].to_csv(out, index=False),
        }
    if pl is not None:
        frame = pl.DataFrame({"a": lo, "b": i, "sy": names}).with_columns(pl.col("sy").cast(pl.Categorical))
    targets = {"select sum b by a from t": 2.0, "select sum b by sy from t": 2.0, f"`:{path}.out 0:csv 0:100000#t": 1.0}
    if pd is None:
        yield "     pandas is not installed: its rows are left out"
    if pl is None:
        yield "     polars is not installed: it is left out of the peers of select"
    for text, peer in peers.items():
        ours, theirs = least(lambda text=text: s.run(text + ";"), peer)
        who, target = "pandas", targets.get(text, 1.5 if ".csv" in text and "0:`" in text else 5.0)
        if frame is not None and text.startswith("select sum b by ") and text in targets:
            key = "a" if " by a " in text else "sy"
            other = least(lambda: None, lambda key=key: frame.group_by(key).agg(pl.col("b").sum()))[1]
            theirs, who = min((theirs, who), (other, "polars"))
        yield row(text.replace(f"{path.parent}/", "")[:40], ours, theirs, target, who)
