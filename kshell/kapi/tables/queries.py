"""Queries over tables that are read part by part: a template of q is evaluated in each part.

What needs more than a row at a time, such as `deltas` or `by`, is evaluated over all rows at once; in a database, over
each partition, as q itself does it. A query that names several tables of a database is evaluated in each partition,
with all of them cut to it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kshell.errors import SAID, CallError, QError
from kshell.kapi.base.q_calls import applied
from kshell.kapi.tables.parts import Partitions, Parts, Ranges
from kshell.kapi.tables.rows import Rows
from kshell.values.base.core import NIL, Dict, Table, Value, Vec
from kshell.values.session.context import running

if TYPE_CHECKING:
    from kshell.kapi.tables.left_out import LeftOut

# what comes after `from`, and what after that: a name that is followed by [ is that of a function
_FROM = re.compile(r"\bfrom\s+(?!(?:select|exec|update|delete)\b)([a-zA-Z][\w.]*)\s*(where\b|\S)?")
# a join that keeps the rows of its second argument, if that is a query
_AJ = r"(?:aj0?|ajf0?)\s*\[[^][;()]*;\s*(?:select|update|delete)\b"
_INNER = re.compile(rf"\bfrom\s+(?:(?:select|update|delete)\b|{_AJ})")
_WHOLE = re.compile(
    r"\b(?:select|exec)\s*(?:\[[^]]*\])?\s*(?:distinct\s+)?from\b|\b(?:update|delete)\b"
)
_FIRST = re.compile(r"\bselect\s*\[")  # rows of the result
_EACH = re.compile(rf"\s*(?:(?:select|update|delete)\b|{_AJ})")
WORD = re.compile(r"[a-zA-Z]\w*")
# a query that begins with one of these words, its table and its condition
_PHRASES = re.compile(
    r"\s*(?:select|exec|delete)\b(?!\s*\[).*?\bfrom\s+(?!select\b|exec\b)([a-zA-Z]\w*)\s*(?:\bwhere\b(.*))?$",
    re.DOTALL,
)
_FEW = 20  # names that a message lists
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


def phrases(text: str) -> tuple[str, str] | None:
    """The table and the condition of a plain query, which is empty if it has none; None for any other text."""
    found = _PHRASES.match(text)
    return None if found is None else (found[1], found[2] or "")


def at_once(words: set[str], parts: Parts) -> bool:
    """Does a text of these words need more than a row at a time, so that it is evaluated over all rows at once?"""
    return not parts.natural and bool(words & (_ALL | _AROUND))


def asked(
    function: Value,
    tables: Sequence[Table],
    words: set[str],
    text: str,
    parts: Parts,
    call: str,
) -> Value:
    """What a text of some words gives for some rows of a table in parts, and of those beside it. A name in it that
    stands for nothing is told as a column that the table lacks."""
    name = ""
    try:
        return applied(function, [*tables])
    except QError as e:
        if e.text not in words or any(e.text in table.names for table in tables):
            raise
        name = e.text
    if name in [m[1] for m in _FROM.finditer(text)]:
        raise CallError(
            call,
            f'there is no table {name} beside {parts.what} (given "{text}")',
            hint=f"open it before, {name}:get`:path, or name the paths of both, {call}(m;`:path`:{name};..)",
            given=SAID,
        )
    raise CallError(
        call,
        f'{parts.what} has no column {name}, only {_listed(name, parts.names)} (given "{text}")',
        given=SAID,
    )


def _listed(name: str, names: list[str]) -> str:
    """Names in words; of very many those that are most like one of them."""
    if len(names) <= _FEW:
        return ", ".join(names)
    like = difflib.get_close_matches(name, names, 4, 0.5) or names[:4]
    return f"{', '.join(like)} and {len(names) - len(like)} others"


class Query:
    """A template of one table, or of several of a database. `named` are the names that it gives tables."""

    def __init__(self, text: str, call: str) -> None:
        found = [m for m in _FROM.finditer(text) if m[2] != "["]
        self.named = list(dict.fromkeys(m[1] for m in found))
        if not found or "." in self.named[0]:
            raise CallError(
                call,
                expected='a query of one table, as "select x,y from t where ..."',
                given=f'"{text}"',
            )
        self.text, self._call = text, call
        self._words = set(WORD.findall(text))
        self._takes_all = _WHOLE.search(text) is not None or any(
            m[2] not in (None, ")", "]", "}", ";", ",", "where") for m in found
        )
        froms = len(re.findall(r"\bfrom\b", text))
        one_each = _EACH.match(text) and froms == len(found) + len(_INNER.findall(text))
        # does it leave out rows, or make more?
        self.chooses = not one_each or bool(self._words & (_ALL | {"where", "ungroup"}))
        self.others: list[str] = []  # the tables of a database beside that whose rows these are
        self._further: list[Table] = []  # whole tables that stand beside each part
        self._function: Value = NIL
        self._parts: Parts | None = None
        self._chosen: Value | None = None  # the function that gives the places of its rows

    def bind(self, parts: Parts) -> None:
        """Use it for a table."""
        self._parts = parts
        name = self.named[0]
        if isinstance(parts, Partitions):
            name = parts.name if parts.name in self.named else name
            self.others = [n for n in self.named if n != name and n in parts.db.tables]
        self.chooses = self.chooses or name != self.named[0]
        further = [n for n in parts.further if n != name and n in self._words]
        self._further = [parts.further[n] for n in further]
        parameters = ";".join([name, *self.others, *further])
        self._function = compiled(f"{{[{parameters}] {self.text}}}", self.text, self._call)

    def names(self, parts: Parts) -> list[str]:
        """The columns that it may use: all that it names, or all there are if it names none."""
        used = [name for name in parts.names if name in self._words]
        return used if used and not self._takes_all else list(parts.names)

    def in_parts(self, parts: Parts) -> bool:
        """Is the result that for each part, one after the other?"""
        if self.others:
            return True
        around = _ALL if parts.natural else _ALL | _AROUND
        return not self._words & around and _FIRST.search(self.text) is None

    def chosen(self, table: Table) -> np.ndarray:
        """The places of the rows that it chooses."""
        found = phrases(self.text)
        if found is None or not found[1]:
            raise CallError(
                self._call,
                expected='a query "select .. from t where .." beside skip',
                given=f'"{self.text}"',
            )
        if self._chosen is None:
            text = f"{{[{found[0]}] exec i from {found[0]} where {found[1]}}}"
            self._chosen = compiled(text, self.text, self._call)
        places: Value = applied(self._chosen, [table])
        assert places.__class__ is Vec
        return places.a

    def result(self, table: Table, others: Sequence[Table] = ()) -> Table:
        """The rows that it gives for a table and those beside it."""
        assert self._parts is not None
        tables = [table, *others, *self._further]
        found = asked(self._function, tables, self._words, self.text, self._parts, self._call)
        if found.__class__ is Dict and found.keyed:
            keys, values = found.tables
            found = Table([*keys.names, *values.names], [*keys.cols, *values.cols])
        if found.__class__ is not Table:
            raise CallError(
                self._call, expected="a query that gives a table", given=f'"{self.text}"'
            )
        return found


def compiled(function: str, text: str, call: str) -> Value:
    problem = ""
    try:
        compiled: Value = running().evaluate(function)
        return compiled
    except QError as e:
        problem = e.text
    raise CallError(call, f'"{text}": {problem}', says=(call,))


class Selected(Rows):
    """The rows of a query over a table, or of the table itself, part by part."""

    def __init__(self, parts: Parts, query: Query | None) -> None:
        names = parts.names
        if query is not None:
            query.bind(parts)
            names = query.names(parts)
        if query is not None and not query.in_parts(parts):
            parts, query = Ranges(query.result(parts.whole(names)), parts.what), None
            names = parts.names
        self.parts, self._query, self._names = parts, query, names
        self.left: LeftOut | None = None

    def only(self, names: Collection[str | None]) -> None:
        """Read no other columns, if there is no query that says which."""
        if self._query is None:
            self._names = [name for name in self._names if name in names]

    def rows_of(self, i: int) -> int | None:
        return None if self._query is not None and self._query.chooses else self.parts.rows(i)

    def taken(self, i: int) -> tuple[Table, None]:
        query = self._query
        if query is None:
            return self.parts.read(i, self._names), None
        read = self.parts.on_use if query.chooses else self.parts.read
        table = read(i, self._names)
        found = query.result(table, self.parts.beside(i, query.others))
        if not query.chooses and len(found) != len(table):
            raise QError(
                f"{self.parts.where(i)}: the query gives {len(found)} rows for {len(table)}",
                hint="a query chooses rows by where",
            )
        return found, None

    def leave_out(self, left: LeftOut) -> None:
        """Mark some rows of the parts, in place of those that were marked."""
        if left.n and self._query is not None and self._query.chooses:
            self._query.chosen(self.parts.read(0, self._names))
        self.left = left

    def marked(self, i: int) -> np.ndarray | None:
        """Which of the rows that `taken` gives of a part are left out; None if none are."""
        places = None if self.left is None else self.left.of(i)
        if places is None:
            return None
        if self._query is not None and self._query.chooses:
            rows = self._query.chosen(self.parts.read(i, self._names))
            return np.isin(rows, places)
        found = np.zeros(self.parts.rows(i) or len(self.taken(i)[0]), bool)
        found[places] = True
        return found

    @property
    def free(self) -> bool:
        return self.parts.free and not (self._query is not None and self._query.chooses)

    def read_at(self, rows: np.ndarray) -> Table:
        table = self.parts.read_at(rows, self._names)
        return table if self._query is None else self._query.result(table)

    def advice(self) -> str:
        """What makes reading faster."""
        query = (
            "" if self._query is None else "compute the query's columns once, and save them; or "
        )
        return f"{query}{self.parts.advice}"
