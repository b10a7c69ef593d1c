"""How a table that is data is read: part by part, as tensors, in the order of a pass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kshell.errors import CallError
from kshell.kapi.tables.columns import DROP, Vocabulary
from kshell.kapi.tables.holes import Tensors, cut, joined, mixed, spread, with_holes
from kshell.kapi.tables.left_out import Condition, LeftOut
from kshell.kapi.tables.opening import parts_of
from kshell.kapi.tables.order import Order
from kshell.kapi.tables.parts import ROWS
from kshell.kapi.tables.queries import Query, Selected
from kshell.kapi.tables.weights import Weights
from kshell.kapi.train.table_options import (
    TESTS,
    column_of,
    columns_of,
    least_one,
    resize,
    rows_of_side,
    vocabulary_of,
)
from kshell.values.base.core import Table, Value

if TYPE_CHECKING:
    from torch.nn import Module

AHEAD = 2  # windows that are made ahead of the steps


class Given(NamedTuple):
    """What the user gave: a table or a path, the text of a query, options. `name` is that of a table of a database,
    if not the query says it."""

    source: Value
    query: str | None
    options: dict[str, Value]
    name: str | None = None


class Reading:
    """A table as it is read: its rows, how they become tensors, and how many together."""

    def __init__(
        self, table: Given, m: Module, call: str, skip: Sequence[str], words: Vocabulary
    ) -> None:
        options = table.options
        query = None if table.query is None else Query(table.query, call)
        names = [] if query is None else query.named
        parts = parts_of(table.source, names, table.name, call)
        resize(parts, options, call)
        self.what = parts.what
        self.made = self.bytes = 0  # rows and bytes of tensors of a pass, so far
        rows = self._all = Selected(parts, query)
        self._skip: Sequence[str] = ()
        self.left = LeftOut(rows.parts, ())
        self.leave_out(skip, call)
        place, first = _first(rows, call)
        weight = column_of(options, "weight", first, call)
        self._selected, split = rows_of_side(rows, first, options, call)
        named = {weight, *(() if split is None else split.columns)}
        self.columns = columns_of(first, named, options, m, call)
        if split is None or not split.by_all:
            rows.only({*self.columns.inputs, *self.columns.targets, *named})
        given = options.get("vocabulary")
        if given is not None:
            self.columns.vocabulary = vocabulary_of(given, call)
        elif self.columns.has_words(first):
            self.columns.vocabulary = {name: dict(known) for name, known in words.items()}
            if not words or call not in TESTS:
                for i in range(len(rows)):
                    self.columns.learn(rows.taken(i)[0])
        if self._selected is rows and not self.left.n:
            self._made(first, rows.parts.where(place))
        else:
            self._begin(place, call)
        self._weights = (
            None if weight is None or call in TESTS else Weights(self._selected, weight, call)
        )
        self.window = least_one(options, "window", ROWS, call)
        self.ahead = least_one(options, "ahead", AHEAD, call)

    def _begin(self, place: int, call: str) -> None:
        """What the columns become, by the first rows that are not left out."""
        for i in range(place, len(self._selected) if self.left.n else place + 1):
            found = self._read(i)
            if found is not None and (found[2] is None or found[2].any()):
                return
        if self.left.n:
            given = f"none in {self.what} that skip does not name"
            raise CallError(call, expected="rows", given=given)

    def leave_out(self, texts: Sequence[str], call: str) -> list[int]:
        """Leave out the rows that queries or conditions name, and say how many each names. The order and the numbers of
        batches stay: those with such rows are smaller."""
        if texts != self._skip:
            left = LeftOut(self._all.parts, [Condition(text, call) for text in texts])
            self._all.leave_out(left)
            self.left, self._skip = left, texts
        return self.left.counts

    def _read(self, i: int) -> Tensors | None:
        """The rows of a part as tensors; None if there are none."""
        table, at = self._selected.taken(i)
        return self._made(table, self._selected.parts.where(i), i, at) if len(table) else None

    def _made(self, table: Table, where: str, part: int | None = None, at: Any = None) -> Tensors:
        """Rows as tensors; of a `part`, some are left out; `at` these are in it, if they are not all."""
        left = None if part is None else self._all.marked(part)
        if left is not None and at is not None:
            left = left[at]
        return self._counted(with_holes(self.columns, table, left, where, at))

    def _counted(self, rows: Tensors) -> Tensors:
        x, y, _ = rows
        self.made += len(x)
        self.bytes += x.nbytes + (0 if y is None else y.nbytes)
        return rows

    def advice(self) -> str:
        """What makes reading faster."""
        return self._all.advice()

    def _rows_of(self, i: int) -> int | None:
        """The number of rows of a part; None if only reading it tells."""
        return None if self.columns.nulls == DROP else self._selected.rows_of(i)

    def rows(self) -> int | None:
        """The number of all rows; None if only reading them tells."""
        if self.columns.nulls == DROP:
            return None
        return self._selected.rows() if self._weights is None else self._weights.n

    def kept(self) -> int | None:
        """The same without those that are left out."""
        n = self.rows()
        if n is None or not self.left.n:
            return n
        is_whole = self._selected is self._all and self._weights is None
        return n - self.left.n if is_whole else None

    def windows(self, order: Order | None, skip: int) -> Iterator[Tensors]:
        """The rows of the table after the first `skip`, as many together as are mixed. What is skipped is not read, as
        far as the numbers of rows are known."""
        if order is not None and self._selected.free and self.columns.nulls != DROP:
            yield from self._anywhere(order, skip)
            return
        if order is not None and self._weights is not None:
            yield from self._drawn(self._weights, order, skip)
            return
        n = len(self._selected)
        window: list[int] = []
        parts: list[int] = list(range(n)) if order is None else order.parts(n)
        number = have = 0
        read: list[Tensors] = []
        for place, i in enumerate(parts):
            known = self._rows_of(i)
            if known is None:
                found = self._read(i)
                known = 0 if found is None else len(found[0])
                read += [] if found is None else [found]
            else:
                window.append(i)
            have += known
            is_last = place == n - 1
            if not have or (order is not None and have < order.window and not is_last):
                continue
            if skip >= have:
                skip -= have
            else:
                rows = read or [found for j in window if (found := self._read(j)) is not None]
                made = joined(rows) if order is None else mixed(rows, order.rows(number, have))
                yield cut(made, skip, have) if skip else made
                skip = 0
            window, read, have, number = [], [], 0, number + 1

    def _anywhere(self, order: Order, skip: int) -> Iterator[Tensors]:
        """The rows of a table of which each can be read alone, in a random order of all, a part's number together."""
        step = self._selected.parts.rows(0) or 1
        weights = self._weights
        rows = order.rows(0, self.rows() or 0) if weights is None else weights.anywhere(order)
        rows = rows[skip:]
        for start in range(0, len(rows), step):
            at = rows[start : start + step]
            left = self.left.among(self._selected.places(at))
            there = at if left is None else at[~left]
            found = None
            if len(there):
                places = self._selected.places(there)
                table = self._selected.read_at(there)
                found = self.columns.tensors(table, self.what, places)
            yield self._counted(spread(self.columns, found, left))

    def _drawn(self, weights: Weights, order: Order, skip: int) -> Iterator[Tensors]:
        """The rows of a pass that are drawn by weight, after the first `skip`."""
        for number, draws in enumerate(weights.windows(order)):
            have = sum(draw.rows for draw in draws)
            if self.columns.nulls != DROP and skip >= have:
                skip -= have
                continue
            rows = []
            for draw in draws:
                table, at = weights.taken(order, draw)
                where = self._selected.parts.where(draw.part)
                rows.append(self._made(table, where, draw.part, at))
            have = sum(len(x) for x, _, _ in rows)
            if skip < have:
                made = mixed(rows, order.rows(number, have))
                yield cut(made, skip, have) if skip else made
            skip = max(0, skip - have)


def _first(rows: Selected, call: str) -> tuple[int, Table]:
    """The first part that has rows, and these."""
    for i in range(len(rows)):
        table, _ = rows.taken(i)
        if len(table):
            return i, table
    raise CallError(call, expected="rows", given=f"none in {rows.parts.what}")
