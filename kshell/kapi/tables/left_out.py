"""Rows that conditions of q name, to be left out of a table that is read part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from kshell.errors import SAID, CallError, QError
from kshell.kapi.tables.parts import Equal, Partitions, Parts
from kshell.kapi.tables.queries import WORD, asked, at_once, compiled, phrases
from kshell.values.base.build import longs
from kshell.values.base.core import Table, Vec


class Condition:
    """A condition on rows, by itself or as that of a query: `select from t where ..`."""

    def __init__(self, text: str, call: str) -> None:
        self.text, self._call = text, call
        found = phrases(text)
        self._table: str | None = None if found is None else found[0]
        phrase = text if found is None else found[1]
        if not phrase.strip():
            raise CallError(
                call, expected='"select from t where .." or its condition', given=f'"{text}"'
            )
        self._words = set(WORD.findall(phrase))
        name = self._table or "rows0"
        self._function = compiled(f"{{[{name}] exec i from {name} where {phrase}}}", text, call)

    def rows(self, parts: Parts) -> Iterator[tuple[int, np.ndarray]]:
        """The parts with rows that it names, and their places there. Where it needs more than a row at a time, all rows
        of its columns are looked at at once; in a database, those of a partition."""
        if isinstance(parts, Partitions) and self._table not in (None, parts.name):
            raise CallError(self._call, expected=f"a query of {parts.name}", given=f'"{self.text}"')
        names = [name for name in parts.names if name in self._words] or parts.names[-1:]
        n, start = len(parts), 0
        by_part = not at_once(self._words - {"i"}, parts)
        numbered = not parts.natural and "i" in self._words and "i" not in parts.names
        whole = None if by_part else self._places(parts.whole(names), parts)
        for i in range(n):
            if whole is None and not numbered:
                found = self._places(parts.read(i, names), parts)
            elif whole is None:
                found = self._places(_numbered(parts.read(i, names), start), parts) - start
                start += self._count(parts, names, i)
            else:
                end = start + self._count(parts, names, i)
                first, last = np.searchsorted(whole, (start, end)).tolist()
                found, start = whole[first:last] - start, end
            if len(found):
                yield i, found

    def _places(self, table: Table, parts: Parts) -> np.ndarray:
        problem = "no condition on rows"
        try:
            found = asked(self._function, [table], self._words, self.text, parts, self._call)
            if found.__class__ is Vec:
                return np.sort(found.a)
        except CallError:
            raise
        except QError as e:
            problem = e.text
        raise CallError(self._call, f'"{self.text}": {problem}', given=SAID)

    @staticmethod
    def _count(parts: Parts, names: list[str], i: int) -> int:
        known = parts.rows(i)
        return len(parts.read(i, names)) if known is None else known


def _numbered(table: Table, start: int) -> Table:
    """Some rows with their numbers in the whole table, which q calls i."""
    rows = longs(np.arange(start, start + len(table)))
    return Table([*table.names, "i"], [*table.cols, rows])


class LeftOut:
    """The rows of a table that conditions name: `counts` says how many each."""

    def __init__(self, parts: Parts, conditions: Sequence[Condition]) -> None:
        self.counts: list[int] = []
        self._parts, self._places = parts, dict[int, np.ndarray]()
        for condition in conditions:
            self.counts.append(0)
            for i, places in condition.rows(parts):
                self.counts[-1] += len(places)
                self._places[i] = np.union1d(self._places.get(i, places), places)
        self.n = sum(map(len, self._places.values()))

    def of(self, i: int) -> np.ndarray | None:
        """The places of the rows of a part that are left out, in order; None if there are none."""
        return self._places.get(i)

    def among(self, rows: np.ndarray) -> np.ndarray | None:
        """Which of some rows of a table that is `free` are left out; None if none are."""
        parts = self._parts
        if not self._places or not isinstance(parts, Equal):
            return None
        every = np.concatenate([i * parts.step + places for i, places in self._places.items()])
        found = np.isin(rows, every)
        return found if found.any() else None
