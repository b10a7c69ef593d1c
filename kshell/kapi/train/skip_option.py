"""The option `skip` of `train` and `test`: queries that name rows of a table to be left out. It reads as a table, the
log of what was left out, a row for each query; texts are added to it, a table takes its place."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np

from kshell.errors import SAID, CallError
from kshell.kapi.base.args import is_empty
from kshell.kapi.base.convert import kname
from kshell.values.base import types as T
from kshell.values.base.build import longs, string
from kshell.values.base.core import NIL, List, Table, Value, Vec, seq_items, text_of
from kshell.values.base.narrow import is_text

NAME = "skip"
COLUMNS = ("time", "epoch", "batch", "rows", "query")
_NONE = T.NULL[T.J]
_EPOCH = 946_684_800_000_000_000  # 2000.01.01 in nanoseconds of Unix time


def skipped(log: Value) -> list[str]:
    """The queries of a log, in their order."""
    return [text_of(x) for x in log.col("query").items] if log.__class__ is Table else []


def changed(
    log: Value, x: Value, place: tuple[int, int], count: Callable[[list[str]], list[int]]
) -> Value:
    """The log after the option was set to a value. `place` is the epoch and batch of the pass; `count` says how many
    rows each of some queries names."""
    if is_empty(x):
        count([])
        return NIL
    rows = _rows_of(log)
    if x.__class__ is Table:
        rows = _rows_of(x)
    else:
        known = {row[-1] for row in rows}
        rows += [
            (time.time_ns() - _EPOCH, *place, _NONE, text)
            for text in _texts(x)
            if text not in known
        ]
    return _log(rows, count([row[-1] for row in rows]))


def counted(log: Value, counts: Sequence[int]) -> Value:
    """The log with the numbers of rows that its queries name now."""
    return log if log is NIL else _log(_rows_of(log), counts)


def check_unset(log: Value, call: str) -> None:
    """An error if rows are to be left out, for data that is no table."""
    if log is not NIL:
        raise CallError(
            call,
            f"skip leaves out rows of tables: {call}(m;`skip;[]) before other data",
            given=SAID,
        )


Row = tuple[int, int, int, int, str]


def _log(rows: Sequence[Row], counts: Sequence[int]) -> Value:
    if not rows:
        return NIL
    times, epochs, batches, _, texts = zip(*rows, strict=True)
    return Table(
        list(COLUMNS),
        [
            Vec(T.P, np.array(times, np.int64)),
            longs(list(epochs)),
            longs(list(batches)),
            longs(list(counts)),
            List([string(text) for text in texts]),
        ],
    )


def _rows_of(log: Value) -> list[Row]:
    """The rows of a log, or of a table that was given for one."""
    if log is NIL:
        return []
    if log.__class__ is not Table or tuple(log.names) != COLUMNS:
        raise CallError(NAME, expected="rows of the option's table", given=kname(log))
    numbers, texts = [log.col(name) for name in COLUMNS[:-1]], _texts(log.col("query"))
    if any(column.__class__ is not Vec or column.a.dtype != np.int64 for column in numbers):
        raise CallError(NAME, expected="rows of the option's table", given="a table of other types")
    return list(zip(*(column.a.tolist() for column in numbers), texts, strict=True))  # type: ignore[union-attr]


def _texts(x: Value) -> list[str]:
    """A text, or texts."""
    if is_text(x):
        return [text_of(x)]
    if x.__class__ is List and all(map(is_text, x.items)):
        return [text_of(item) for item in seq_items(x)]
    raise CallError(
        NAME, expected='a query, as "select from t where ..", or several', given=kname(x)
    )
