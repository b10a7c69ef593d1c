"""Data of models that is a table or a query over one: read part by part, in a thread ahead of the steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kshell.errors import CallError
from kshell.kapi.base.args import long_of, name_of, names_of, number_of, unknown
from kshell.kapi.base.convert import default_dtype, kname
from kshell.kapi.module.api import device_of_module, tensors_of_module
from kshell.kapi.tables.ahead import Ahead
from kshell.kapi.tables.columns import DROP, ERROR, Columns
from kshell.kapi.tables.holes import Rows, batches, cut, joined, mixed, spread, with_holes
from kshell.kapi.tables.left_out import Condition, LeftOut
from kshell.kapi.tables.opening import parts_of_path, parts_of_table
from kshell.kapi.tables.order import Order
from kshell.kapi.tables.parts import ROWS
from kshell.kapi.tables.queries import Query, Selected
from kshell.kapi.tables.rounds import in_rounds
from kshell.kapi.tensor.batch_view import count
from kshell.kapi.train.options import Settings
from kshell.kapi.train.skip_option import skipped
from kshell.kapi.train.sources import Source
from kshell.values.base.build import symdict
from kshell.values.base.core import Dict, Sym, Table, Value, seq_items, sym_vec, text_of
from kshell.values.base.narrow import is_text

if TYPE_CHECKING:
    from torch.nn import Module

AHEAD = 2  # windows that are made ahead of the steps
WAITS = 0.2  # the share of the time from which on waiting for rows is worth a warning
LONG = 3.0  # seconds of a pass from which on it is


class Given(NamedTuple):
    """What the user gave: a table or a path, the text of a query, options. `name` is that of a table of a database,
    if not the query says it."""

    source: Value
    query: str | None
    options: dict[str, Value]
    name: str | None = None


class TableData(Source):
    """The rows of a table. `seed` is that of their order, None for the table's own; `epoch` counts the passes, or the
    orders as long as they are not mixed anew."""

    __slots__ = ("_read", "epoch", "feed", "module", "seed", "settings", "table")
    own = False

    def __init__(self, table: Given, m: Module | None, what: str) -> None:
        super().__init__(table.source, None, what)
        self.table, self.module = table, m
        self.settings: Settings | None = None  # those of its model
        self._read: Reading | None = None
        self.feed: Ahead[Rows] | None = None  # of the present pass
        self.seed: int | None = None
        self.epoch = 0

    def reading(self, call: str) -> Reading:
        """How it is read: made on first use, since a query of a snapshot's is evaluated when it is asked for."""
        texts = [] if self.settings is None else skipped(self.settings["skip"])
        if self._read is None:
            assert self.module is not None
            self._read = Reading(self.table, self.module, call, texts)
        self._read.leave_out(texts, call)
        return self._read

    def place(self) -> tuple[int, int]:
        """The pass, and its batch that comes next."""
        return self.epoch, self.at

    def position(self, s: Settings) -> dict[str, int | None]:
        return {
            "epoch": self.epoch,
            "batch": self.at,
            "seed": self.seed,
            "batchsize": s["batchsize"],
        }

    def named(self, texts: Sequence[str]) -> list[int]:
        """How many rows each of some queries names, which are left out from now on."""
        counts = self.reading("skip").leave_out(texts, "skip")
        self.hide()
        return counts

    def learned(self) -> dict[str, Value]:
        """The vocabulary as an option, if there is one that has been read from the columns."""
        found = None if self._read is None else self._read.columns.vocabulary
        if not found:
            return {}
        return {"vocabulary": symdict(list(found), [sym_vec(words) for words in found.values()])}

    def rows(self) -> int | None:
        reading = self.reading("train")
        n = reading.rows()
        return None if n is None else n - reading.left.n

    def length(self, s: Settings) -> int | None:
        n = self.reading("train").rows()
        if n is None:
            return None
        return count(n, min(s["batchsize"] or n, n), s["droplast"]) if n else 0

    def again(self) -> bool:
        return True

    def shuffle(self, seed: int) -> None:
        """Begin the next pass in another order."""
        self.seed = seed
        self.epoch += 1

    def begin(self, call: str, s: Settings, at: int) -> Iterator[Any]:
        reading, width = self.reading(call), s["batchsize"]
        windows = reading.windows(self._order(reading), at * width)
        feed = self.feed = Ahead(map(self._locked, windows), reading.ahead)
        reading.bytes = reading.made = 0
        return batches(feed, width, s["droplast"])

    def is_empty(self, batch: Any) -> bool:
        return not len(batch[0])

    def shared(self, batches: Iterator[tuple[int, Any]], s: Settings) -> Iterator[tuple[int, Any]]:
        return in_rounds(batches, s["task"], s["tasks"]) if s["tasks"] > 1 else batches

    def _order(self, reading: Reading) -> Order | None:
        return None if self.seed is None else Order(self.seed, self.epoch, reading.window)

    def numbered(self, call: str, s: Settings, n: int) -> Any:
        reading, width, total = self.reading(call), s["batchsize"], self.length(s)
        if n >= (1 if not width else n + 1 if total is None else total):
            return None
        windows = reading.windows(self._order(reading), n * width)
        return next(batches(windows, width, s["droplast"]), None)

    def _locked(self, rows: Rows) -> Rows:
        """The rows in page-locked memory if the module is on a GPU, which copies from there while it computes."""
        assert self.module is not None
        if device_of_module(self.module).type != "cuda":
            return rows
        x, y, kept = rows
        return x.pin_memory(), None if y is None else y.pin_memory(), kept

    def progress(self, seconds: float) -> dict[str, float]:
        """What the progress line says of reading: rows a second, megabytes, the share of the time that steps wait."""
        if self.feed is None or self._read is None or seconds <= 0:
            return {}
        waits = self.feed.waited / seconds
        return {"rows/s": self._read.made / seconds, "MB": self._read.bytes / 1e6, "waits": waits}

    def advice(self, seconds: float) -> str:
        """What would help, if steps have waited for rows for more than a fifth of a time that matters."""
        if self.feed is None or self._read is None or seconds < LONG:
            return ""
        share = self.feed.waited / seconds
        if share < WAITS:
            return ""
        return f"{share:.0%} of the time went into waiting for rows of {self.what}: {self._read.advice()}"


class Reading:
    """A table as it is read: its rows, how they become tensors, and how many together."""

    def __init__(self, table: Given, m: Module, call: str, skip: Sequence[str] = ()) -> None:
        options = table.options
        query = None if table.query is None else Query(table.query, call)
        if isinstance(table.source, Table):
            parts = parts_of_table(table.source, call)
        else:
            assert isinstance(table.source, Sym)
            named = table.name or (None if query is None else query.table)
            parts = parts_of_path(table.source.s[1:], named, call)
        self.what = parts.what
        self.made = self.bytes = 0  # rows and bytes of tensors of a pass, so far
        self._selected = Selected(parts, query)
        if not len(self._selected):
            raise CallError(call, expected="rows", given=f"none in {parts.what}")
        self._skip: Sequence[str] = ()
        self.left = LeftOut(self._selected.parts, ())
        self.leave_out(skip, call)
        first = self._selected.read(0)
        self.columns = _columns(first, options, m, call)
        given = options.get("vocabulary")
        if given is not None:
            self.columns.vocabulary = _vocabulary(given, call)
        elif self.columns.has_words(first):
            for i in range(len(self._selected)):
                self.columns.learn(self._selected.read(i))
        self._first(first, call)
        self.window = _least_one(options, "window", ROWS, call)
        self.ahead = _least_one(options, "ahead", AHEAD, call)

    def _first(self, first: Table, call: str) -> None:
        """What the columns become, by the first rows that are not left out; `first` are those of the first part."""
        for i in range(len(self._selected)):
            at = self._selected.marked(i)
            if at is None or not at.all():
                self._tensors(i, self._selected.read(i) if i else first)
                return
        raise CallError(call, expected="rows", given=f"none in {self.what} that skip does not name")

    def leave_out(self, texts: Sequence[str], call: str) -> list[int]:
        """Leave out the rows that queries or conditions name, and say how many each names. The order and the numbers of
        batches stay: those with such rows are smaller."""
        if texts != self._skip:
            left = LeftOut(self._selected.parts, [Condition(text, call) for text in texts])
            self._selected.leave_out(left)
            self.left, self._skip = left, texts
        return self.left.counts

    def _tensors(self, i: int, table: Table) -> Rows:
        return self._made(table, self._selected.marked(i), self._selected.parts.where(i))

    def _made(self, table: Table, left: np.ndarray | None, where: str) -> Rows:
        return self._counted(with_holes(self.columns, table, left, where))

    def _counted(self, rows: Rows) -> Rows:
        x, y, _ = rows
        self.made += len(x)
        self.bytes += x.nbytes + (0 if y is None else y.nbytes)
        return rows

    def advice(self) -> str:
        """What makes reading faster."""
        return self._selected.advice()

    def _rows_of(self, i: int) -> int | None:
        """The number of rows of a part; None if only reading it tells."""
        return None if self.columns.nulls == DROP else self._selected.rows_of(i)

    def rows(self) -> int | None:
        """The number of all rows; None if only reading them tells."""
        return None if self.columns.nulls == DROP else self._selected.rows()

    def windows(self, order: Order | None, skip: int) -> Iterator[Rows]:
        """The rows of the table after the first `skip`, as many together as are mixed. What is skipped is not read, as
        far as the numbers of rows are known."""
        if order is not None and self._selected.free and self.columns.nulls != DROP:
            yield from self._anywhere(order, skip)
            return
        n = len(self._selected)
        window: list[int] = []
        parts: list[int] = list(range(n)) if order is None else order.parts(n)
        number = have = 0
        read: list[Rows] = []
        for place, i in enumerate(parts):
            known = self._rows_of(i)
            if known is None:
                read.append(self._tensors(i, self._selected.read(i)))
                known = len(read[-1][0])
            else:
                window.append(i)
            have += known
            is_last = place == n - 1
            if not have or (order is not None and have < order.window and not is_last):
                continue
            if skip >= have:
                skip -= have
            else:
                rows = read or [self._tensors(j, self._selected.read(j)) for j in window]
                made = joined(rows) if order is None else mixed(rows, order.rows(number, have))
                yield cut(made, skip, have) if skip else made
                skip = 0
            window, read, have, number = [], [], 0, number + 1

    def _anywhere(self, order: Order, skip: int) -> Iterator[Rows]:
        """The rows of a table of which each can be read alone, in a random order of all, a part's number together."""
        step = self._selected.parts.rows(0) or 1
        rows = order.rows(0, self.rows() or 0)[skip:]
        for start in range(0, len(rows), step):
            at = rows[start : start + step]
            left = self.left.among(at)
            there = at if left is None else at[~left]
            where = f"{len(there)} rows of {self.what}"
            table = self._selected.read_at(there)
            found = self.columns.tensors(table, where) if len(there) else None
            yield self._counted(spread(self.columns, found, left))


# ------------------------------------------------------------------ what the user gives

_OPTIONS = ("x", "y", "nulls", "window", "ahead", "vocabulary")


def is_table(x: Value) -> bool:
    """Is this argument data that is a table: a table, or the path of one?"""
    return x.__class__ is Table or (x.__class__ is Sym and x.s.startswith(":"))


def table_data(given: Sequence[Value], m: Module, settings: Settings, call: str) -> TableData:
    """Data from (table[;query][;options])."""
    rest = list(given[1:])
    text = text_of(rest.pop(0)) if rest and is_text(rest[0]) else None
    options = _options(rest.pop(0) if rest else None, call)
    if rest:
        raise CallError(call, expected="(table;query;options)", given=f"{len(given)} arguments")
    data = TableData(Given(given[0], text, options), m, "")
    data.settings = settings
    data.what = data.reading(call).what
    return data


def _options(x: Value | None, call: str) -> dict[str, Value]:
    if x is None:
        return {}
    names = names_of(x.k) if x.__class__ is Dict else None
    if names is None:
        raise CallError(call, expected="a dictionary of options by name", given=kname(x))
    for name in names:
        if name not in _OPTIONS:
            raise unknown(f"unrecognized {call} option of a table: ", name, _OPTIONS)
    assert isinstance(x, Dict)
    return dict(zip(names, seq_items(x.v), strict=True))


def _least_one(options: dict[str, Value], name: str, usual: int, call: str) -> int:
    given = options.get(name)
    if given is None:
        return usual
    number = long_of(given)
    if number is None or number < 1:
        raise CallError(call, at=name, expected="a number of at least one", given=kname(given))
    return number


def _columns(table: Table, options: dict[str, Value], m: Module, call: str) -> Columns:
    """Which columns are inputs and targets: what is said, else the last one is the target."""
    chosen: dict[str, list[str] | None] = {}
    for side in ("x", "y"):
        given = options.get(side)
        names = None if given is None else names_of(given)
        if given is not None and names is None:
            raise CallError(call, at=side, expected="names of columns", given=kname(given))
        for name in names or ():
            if name not in table.names:
                raise unknown(f"{side}: no column ", name, table.names)
        chosen[side] = None if names is None else list(names)
    x, y = chosen["x"], chosen["y"]
    if y is None:
        left = [name for name in table.names if name not in (x or ())]
        y = left[-1:] if x is not None or len(left) > 1 else []
    if x is None:
        x = [name for name in table.names if name not in y]
    if not x:
        raise CallError(
            call, expected="a column of inputs", given=f"the columns {', '.join(table.names)}"
        )
    return Columns(x, y, _nulls(options.get("nulls"), call), _dtype(m))


def _nulls(x: Value | None, call: str) -> str | float:
    if x is None:
        return ERROR
    name, number = name_of(x), number_of(x)
    if name in (DROP, ERROR):
        return name
    if number is None:
        raise CallError(call, at="nulls", expected="`error, `drop or a number", given=kname(x))
    return float(number)


def _vocabulary(x: Value, call: str) -> dict[str, dict[str, int]]:
    columns = names_of(x.k) if x.__class__ is Dict else None
    words = [names_of(item) for item in seq_items(x.v)] if isinstance(x, Dict) else []
    if columns is None or None in words:
        raise CallError(
            call, at="vocabulary", expected="a dictionary of symbols by column", given=kname(x)
        )
    return {
        column: {word: i for i, word in enumerate(found or ())}
        for column, found in zip(columns, words, strict=True)
    }


def _dtype(m: Module) -> Any:
    """The type of the module's parameters that are no whole numbers."""
    found = (t.dtype for t in tensors_of_module(m) if t.is_floating_point())
    return next(found, default_dtype())
