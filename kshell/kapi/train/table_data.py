"""Data of models that is a table or a query over one: read part by part, in a thread ahead of the steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError
from kshell.kapi.module.api import device_of_module
from kshell.kapi.tables.ahead import Ahead
from kshell.kapi.tables.columns import Vocabulary
from kshell.kapi.tables.holes import Tensors, batches
from kshell.kapi.tables.order import Order
from kshell.kapi.tables.rounds import in_rounds
from kshell.kapi.tables.splits import TEST, TRAIN
from kshell.kapi.tensor.batch_view import count
from kshell.kapi.train.options import Settings
from kshell.kapi.train.skip_option import skipped
from kshell.kapi.train.sources import Source
from kshell.kapi.train.table_options import TESTS, options_given
from kshell.kapi.train.table_reading import Given, Reading
from kshell.values.base import types as T
from kshell.values.base.build import symdict
from kshell.values.base.core import Table, Value, Vec, sym_names, sym_vec, text_of
from kshell.values.base.narrow import is_text
from kshell.values.base.symbols import Sym, sym

if TYPE_CHECKING:
    from torch.nn import Module

WAITS = 0.2  # the share of the time from which on waiting for rows is worth a warning
LONG = 3.0  # seconds of a pass from which on it is


class TableData(Source):
    """The rows of a table. `seed` is that of their order, None for the table's own; `epoch` counts the passes, or the
    orders as long as they are not mixed anew."""

    __slots__ = ("_read", "epoch", "feed", "module", "seed", "settings", "table", "words")
    own = False

    def __init__(self, table: Given, m: Module | None, what: str) -> None:
        super().__init__(table.source, None, what)
        self.table, self.module = table, m
        self.settings: Settings | None = None  # those of its model
        self._read: Reading | None = None
        self.words: Vocabulary = {}  # those that its model knows already
        self.feed: Ahead[Tensors] | None = None  # of the present pass
        self.seed: int | None = None
        self.epoch = 0

    def reading(self, call: str) -> Reading:
        """How it is read: made on first use, since a query of a snapshot's is evaluated when it is asked for."""
        texts = [] if self.settings is None else skipped(self.settings["skip"])
        if self._read is None:
            assert self.module is not None
            self._read = Reading(self.table, self.module, call, texts, self.words)
        self._read.leave_out(texts, call)
        return self._read

    @property
    def drawn(self) -> bool:
        """Are the rows of a pass drawn, by weight?"""
        return "weight" in self.table.options

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

    def known(self) -> Vocabulary:
        """The vocabulary that has been read from the columns, or given."""
        return {} if self._read is None else self._read.columns.vocabulary

    def learned(self) -> dict[str, Value]:
        """The vocabulary as an option, if there is one that has been read from the columns."""
        found = self.known()
        if not found:
            return {}
        return {"vocabulary": symdict(list(found), [sym_vec(words) for words in found.values()])}

    def rows(self) -> int | None:
        return self.reading("train").kept()

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

    def _locked(self, rows: Tensors) -> Tensors:
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


def is_table(x: Value) -> bool:
    """Is this argument data that is a table: a table, or the path of one, or those of several?"""
    if x.__class__ is Vec and x.t == T.S and len(x):
        return all(name.startswith(":") for name in sym_names(x))
    return x.__class__ is Table or (x.__class__ is Sym and x.s.startswith(":"))


def table_data(
    given: Sequence[Value], m: Module, settings: Settings, words: Vocabulary, call: str
) -> TableData:
    """Data from (table[;query][;options]). `words` are those that the model knows, by column: others are added to them
    by data for training, and are errors in data for testing."""
    rest = list(given[1:])
    text = text_of(rest.pop(0)) if rest and is_text(rest[0]) else None
    options = options_given(rest.pop(0) if rest else None, call)
    if rest:
        raise CallError(call, expected="(table;query;options)", given=f"{len(given)} arguments")
    if "split" in options:
        options.setdefault("side", sym(TEST if call in TESTS else TRAIN))
    data = TableData(Given(given[0], text, options), m, "")
    data.settings, data.words = settings, words
    reading = data.reading(call)
    data.what = reading.what
    if call in TESTS and options.pop("weight", None) is not None:
        options |= {"x": sym_vec(reading.columns.inputs), "y": sym_vec(reading.columns.targets)}
    return data
