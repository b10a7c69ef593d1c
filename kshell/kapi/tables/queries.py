"""Queries over tables that are read part by part: a template of q is evaluated in each part.

What needs more than a row at a time, such as `deltas` or `by`, is evaluated over all rows at once; in a database, over
each partition, as q itself does it.
"""

from __future__ import annotations

import re

import numpy as np

from kshell.errors import CallError, QError
from kshell.kapi.base.q_calls import applied
from kshell.kapi.tables.parts import Parts, Ranges
from kshell.values.base.core import Dict, Table, Value
from kshell.values.session.context import running

_FROM = re.compile(r"\bfrom\s+(?!select\b|exec\b)([a-zA-Z][\w.]*)")
_WORD = re.compile(r"[a-zA-Z]\w*")
# fmt: off  # words
# of a query that needs all rows, and of one that needs those around a row
_ALL = frozenset(
    (
        "all",
        "any",
        "avg",
        "by",
        "cor",
        "count",
        "cov",
        "dev",
        "distinct",
        "exec",
        "fby",
        "first",
        "last",
        "max",
        "med",
        "min",
        "prd",
        "scov",
        "sdev",
        "sum",
        "svar",
        "var",
        "wavg",
        "wsum",
    )
)
_AROUND = frozenset(
    (
        "avgs",
        "cross",
        "deltas",
        "differ",
        "ema",
        "except",
        "fills",
        "group",
        "i",
        "iasc",
        "idesc",
        "inter",
        "mavg",
        "maxs",
        "mcount",
        "mdev",
        "mins",
        "mmax",
        "mmin",
        "msum",
        "next",
        "over",
        "peach",
        "prds",
        "prev",
        "prior",
        "rank",
        "ratios",
        "reverse",
        "rotate",
        "scan",
        "sums",
        "til",
        "union",
        "xprev",
        "xrank",
    )
)
# fmt: on


class Query:
    """A template of one table. `table` is the name that it gives the table."""

    def __init__(self, text: str, call: str) -> None:
        named = _FROM.search(text)
        if named is None or "." in named[1]:
            raise CallError(
                call,
                expected='a query of one table, as "select x,y from t where ..."',
                given=f'"{text}"',
            )
        self.text, self.table, self._call = text, named[1], call
        self._words = set(_WORD.findall(text))
        self.chooses = "where" in self._words  # does it leave out rows?
        self._function = _compiled(f"{{[{self.table}] {text}}}", text, call)

    def names(self, parts: Parts) -> list[str]:
        """The columns that it may use: all that it names, or all there are if it names none."""
        used = [name for name in parts.names if name in self._words]
        return used if used and not self._takes_all() else list(parts.names)

    def _takes_all(self) -> bool:
        return re.search(r"\b(select|exec)\s+from\b", self.text) is not None

    def in_parts(self, parts: Parts) -> bool:
        """Is the result that for each part, one after the other?"""
        return not self._words & (_ALL if parts.natural else _ALL | _AROUND)

    def result(self, table: Table) -> Table:
        """The rows that it gives for a table."""
        found: Value = applied(self._function, [table])
        if found.__class__ is Dict and found.keyed:
            keys, values = found.tables
            found = Table([*keys.names, *values.names], [*keys.cols, *values.cols])
        if found.__class__ is not Table:
            raise CallError(
                self._call, expected="a query that gives a table", given=f'"{self.text}"'
            )
        return found


def _compiled(function: str, text: str, call: str) -> Value:
    problem = ""
    try:
        compiled: Value = running().evaluate(function)
        return compiled
    except QError as e:
        problem = e.text
    raise CallError(call, f'"{text}": {problem}', says=(call,))


class Selected:
    """The rows of a query over a table, or of the table itself, part by part."""

    def __init__(self, parts: Parts, query: Query | None) -> None:
        names = parts.names if query is None else query.names(parts)
        if query is not None and not query.in_parts(parts):
            parts, query = Ranges(query.result(parts.whole(names)), parts.what), None
            names = parts.names
        self.parts, self._query, self._names = parts, query, names

    def __len__(self) -> int:
        return len(self.parts)

    def rows_of(self, i: int) -> int | None:
        """The number of rows of a part; None if only reading it tells."""
        return None if self._query is not None and self._query.chooses else self.parts.rows(i)

    def rows(self) -> int | None:
        """The number of all rows; None if only reading them tells."""
        found = [self.rows_of(i) for i in range(len(self.parts))]
        return None if None in found else sum(n or 0 for n in found)

    def read(self, i: int) -> Table:
        """The rows of a part."""
        table = self.parts.read(i, self._names)
        return table if self._query is None else self._query.result(table)

    @property
    def free(self) -> bool:
        """Can some rows be read, in any order, by `read_at`?"""
        return self.parts.free and not (self._query is not None and self._query.chooses)

    def read_at(self, rows: np.ndarray) -> Table:
        """Some rows, if the table is `free`."""
        table = self.parts.read_at(rows, self._names)
        return table if self._query is None else self._query.result(table)

    def advice(self) -> str:
        """What makes reading faster."""
        query = (
            "" if self._query is None else "compute the query's columns once, and save them; or "
        )
        return f"{query}{self.parts.advice}"
