"""Tables in files of Parquet and Arrow, read by pyarrow: a column when it is used.

A folder whose folders are named by date, month or number, as `date=2024-01-01`, is a partitioned table.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from kshell.errors import QError
from kshell.store import parted, splay
from kshell.store.arrow.bounds import Bounds, may_meet, of_groups
from kshell.store.arrow.conversion import PieceCols, is_words, reading, table_of
from kshell.store.arrow.words import Words
from kshell.store.splay import Condition, Result
from kshell.store.threads import in_threads
from kshell.values.base import types as T
from kshell.values.base.core import ListValue, Table, Value
from kshell.values.items.pick import take_at
from kshell.values.session.restrict import check_read, lifted

FORMATS = {
    ".parquet": "parquet",
    ".arrow": "ipc",
    ".feather": "feather",
}  # and what Arrow calls them
BATCH = 1 << 20  # rows that Arrow reads together: the words of a row group are made anew for each


def is_arrow(path: str) -> bool:
    """Is it a file of Parquet or Arrow, or a folder of files of Parquet, perhaps in folders named by values?"""
    if os.path.isfile(path):
        return os.path.splitext(path)[1].lower() in FORMATS
    if not os.path.isdir(path):
        return False
    return any(name.endswith(".parquet") or "=" in name for name in os.listdir(path))


def read(path: str) -> Table:
    """The table in a file or folder; nothing but its names is read before it is used."""
    check_read(path)
    path = path.rstrip("/") or "/"
    kind = FORMATS.get(os.path.splitext(path)[1].lower(), "parquet")
    dataset = dataset_of(path, "parquet" if os.path.isdir(path) else kind)
    by_folder = _parted(path, dataset)
    if by_folder is not None:
        return parted.table(by_folder, by_folder.name)
    names = list(dataset.schema.names)
    return Table(names, ArrowCols(names, path, dataset))


class ArrowCols(splay.LazyCols):
    """The columns of a dataset of Arrow, or of a part of one."""

    def __init__(self, names: list[str], path: str, dataset: Any) -> None:
        super().__init__(names, f":{path}")
        self.path, self._dataset = path, dataset
        self._words: dict[str, Words] = {}
        self._known: dict[str, tuple[frozenset[str], list[Bounds | None]]] = {}  # by column

    def make(self, i: int) -> Value:
        name = self.names[i]
        kind = self._dataset.schema.field(name).type
        if is_words(kind):
            pieces = self.in_pieces([name], lambda piece: piece.cols[0])
            if pieces is not None:
                return parted.joined(pieces)
        with lifted():  # code that holds the table may read its content
            found: Value = table_of(
                self.path, self._dataset.to_table, self._words, columns=[name], batch_size=BATCH
            ).cols[0]
            return found

    def in_pieces(
        self,
        names: Sequence[str],
        work: Callable[[Table], Result],
        conditions: Sequence[Condition] = (),
    ) -> list[Result] | None:
        if all(self.read(self.names.index(name)) is not None for name in names):
            return None
        parts, ends = self._groups
        may = self._may(conditions)
        if may is not None:
            ends = np.cumsum(np.diff(ends, prepend=0)[may])
            parts = [parts[i] for i in np.flatnonzero(may).tolist()]
        number = (ends - 1) // BATCH  # of the piece that a row group is in, by its last row
        first = np.flatnonzero(np.diff(number, prepend=-1)).tolist()
        if len(first) < 2:
            return None
        pieces = [parts[i:j] for i, j in pairwise([*first, len(parts)])]

        def of_piece(piece: list[Any]) -> Result:
            found = reading(self.path, _read_together, piece, self._dataset.schema, list(names))
            return work(Table(list(names), PieceCols(found, self.path, self._words)))

        with lifted():
            return in_threads(of_piece, pieces)

    def rows(self) -> int:
        read = next(
            (column for i in range(len(self)) if (column := self.read(i)) is not None), None
        )
        return int(self._dataset.count_rows()) if read is None else len(read)

    def candidates(self, conditions: Sequence[Condition]) -> np.ndarray | None:
        may = self._may(conditions)
        return (
            None
            if may is None
            else np.flatnonzero(np.repeat(may, np.diff(self._groups[1], prepend=0)))
        )

    def _may(self, conditions: Sequence[Condition]) -> np.ndarray | None:
        """Which row groups may have rows that meet all conditions; None for all."""
        wanted = [c for c in conditions if self.read(self.names.index(c.name)) is None]
        if not wanted:
            return None
        may = np.ones(len(self._groups[0]), bool)
        for condition in wanted:
            with lifted():
                types, bounds = reading(self.path, self._bounds, condition.name)
            if condition.type in types:
                may &= [b is None or may_meet(condition, b) for b in bounds]
        return None if may.all() else may

    def _bounds(self, name: str) -> tuple[frozenset[str], list[Bounds | None]]:
        if name not in self._known:
            self._known[name] = of_groups(name, self._dataset, self._groups[0])
        return self._known[name]

    def taken(self, name: str, rows: np.ndarray) -> ListValue:
        """Some rows of a column: of Parquet the row groups that have them are read."""
        if self.read(self.names.index(name)) is None:
            if not len(rows):
                none = self._dataset.schema.empty_table
                return table_of(self.path, lambda: none().select([name])).cols[0]
            ends = self._groups[1]
            at = np.searchsorted(ends, rows, side="right")
            used = np.unique(at)
            if len(used) < len(ends):
                return self._of_groups(name, rows, at, used)
        return super().taken(name, rows)

    @cached_property
    def _groups(self) -> tuple[list[Any], np.ndarray]:
        """The row groups, and the number of the row after each."""
        with lifted():
            files = reading(self.path, lambda: list(self._dataset.get_fragments()))
            counted = [found for file in files for found in _groups_of(file)]
        parts = [part for part, _ in counted]
        return parts, np.cumsum([count for _, count in counted], dtype=np.int64)

    def _of_groups(
        self, name: str, rows: np.ndarray, at: np.ndarray, used: np.ndarray
    ) -> ListValue:
        parts, ends = self._groups
        counts = np.diff(ends, prepend=0)
        before = np.cumsum(counts[used]) - counts[used]  # rows of those that are read, before each
        places = rows - (ends - counts)[at] + before[np.searchsorted(used, at)]
        chosen = [parts[i] for i in used.tolist()]
        read = partial(_read_together, chosen, self._dataset.schema)
        with lifted():
            column = table_of(self.path, read, self._words, columns=[name]).cols[0]
        return take_at(column, places)

    def there(self) -> bool:
        return os.path.exists(self.path)


def _read_together(parts: Sequence[Any], schema: Any, columns: list[str]) -> Any:
    """Some columns of parts of a dataset, one after the other."""
    found = [part.to_table(schema=schema, columns=columns, batch_size=BATCH) for part in parts]
    return importlib.import_module("pyarrow").concat_tables(found)


class Part:
    """One part of a dataset as a dataset: a row group of a file, or a file."""

    def __init__(self, fragment: Any, schema: Any) -> None:
        self._fragment, self.schema = fragment, schema

    def get_fragments(self) -> list[Any]:
        return [self._fragment]

    def count_rows(self) -> int:
        return sum(count for _, count in _groups_of(self._fragment))

    def to_table(self, **named: Any) -> Any:
        return self._fragment.to_table(schema=self.schema, **named)


def _groups_of(file: Any) -> list[tuple[Any, int]]:
    """The row groups of a file of Parquet, with their rows; other files are one."""
    split = getattr(file, "split_by_row_group", None)
    if split is None:
        return [(file, file.count_rows())]
    groups = reading(file.path, split)
    return [(group, sum(part.num_rows for part in group.row_groups)) for group in groups]


class Folders(parted.Database):
    """A folder of files of Parquet in folders named by the values of one field, as a partitioned database of one
    table."""

    def __init__(
        self, root: str, dataset: Any, field: str, t: int, files: dict[int, list[Any]]
    ) -> None:
        self.root, self.field, self.t = root, field, t
        self.name = os.path.basename(root)
        self.segments, self.per_segment = [], []
        self.schema, self._files = dataset.schema, files
        self.PV = sorted(files)
        self.PD = [root] * len(self.PV)
        self.prototypes = {}
        self.tables = {self.name: [name for name in dataset.schema.names if name != field]}
        self.view(None)

    def folder(self, part: int) -> str:
        return os.path.dirname(str(self._files[self.pv[part]][0].path))

    def count(self, name: str) -> list[int]:
        if not self.counts:
            files = [self._files[value] for value in self.pv]
            self.counts[name] = [sum(file.count_rows() for file in found) for found in files]
        return self.counts[name]

    def part(self, name: str, i: int) -> Table:
        names = self.tables[name]
        found = self._files[self.pv[i]]
        whole = importlib.import_module("pyarrow.dataset").FileSystemDataset(
            found, self.schema, found[0].format, found[0].filesystem
        )
        return Table(list(names), ArrowCols(list(names), self.folder(i), whole))

    def empty(self, name: str) -> Table:
        names = self.tables[name]
        return table_of(self.root, lambda: self.schema.empty_table().select(names))


def folders_of(path: str) -> Folders | None:
    """A folder of Parquet as a partitioned database, if it is one."""
    check_read(path)
    return _parted(path, dataset_of(path, "parquet"))


def _parted(path: str, dataset: Any) -> Folders | None:
    """The folder as a partitioned database, if its folders are named by one field that is a date or a number."""
    files: dict[int, list[Any]] = {}
    fields: dict[str, int] = {}
    for file in dataset.get_fragments() if os.path.isdir(path) else ():
        named = _FOLDER.findall(file.path[len(path) :])
        if len(named) != 1:
            return None
        field, value = named[0]
        if _DATE.fullmatch(value):
            fields[field], raw = T.D, parted.raw_of(value.replace("-", "."), T.D)
        elif value.isdigit():
            fields[field], raw = T.I, int(value)
        else:
            return None
        files.setdefault(raw, []).append(file)
    if len(fields) != 1:
        return None
    ((field, t),) = fields.items()
    return Folders(path, dataset, field, t, files)


def dataset_of(path: str, kind: str) -> Any:
    """What pyarrow calls a dataset: the files at a path, in the format that Arrow calls so."""
    return reading(path, _opened, arrow(path), path, kind)


# a name and its value in the name of a folder, and a value that is a date
_FOLDER = re.compile(r"([^/=]+)=([^/]*)(?=/)")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _opened(datasets: Any, path: str, kind: str) -> Any:
    """The files of Arrow at a path. Folders' names that are dates, which Arrow takes for texts, are dates. Texts of
    Parquet are read as they are stored, as places in a list of words, each of which becomes a symbol once."""
    arrow = importlib.import_module("pyarrow")
    how: Any = kind
    found = datasets.dataset(path, format=how, partitioning="hive")
    texts = [f.name for f in found.schema if arrow.types.is_string(f.type)]
    if kind == "parquet" and texts:
        texts = _few_words(found, texts)
        how = datasets.ParquetFileFormat(dictionary_columns=texts)
        found = datasets.dataset(path, format=how, partitioning="hive")
    values: dict[str, set[str]] = {}
    for file in found.files:
        for name, value in _FOLDER.findall(file[len(path) :]):
            values.setdefault(name, set()).add(value)
    dates = [name for name, given in values.items() if all(map(_DATE.fullmatch, given))]
    if not dates:
        return found
    types = [(n, arrow.date32() if n in dates else found.schema.field(n).type) for n in values]
    by_folder = datasets.partitioning(arrow.schema(types), flavor="hive")
    return datasets.dataset(path, format=how, partitioning=by_folder)


def _few_words(dataset: Any, texts: Sequence[str]) -> list[str]:
    """Those of some columns that the first row group stores as places in a list of words, as far as their size tells.
    It is written so until the words are too many, and from then on each text; to read these as places takes several
    times as long as to read them, and then to look for equal ones."""
    file = next(iter(dataset.get_fragments()), None)
    if file is None or not file.row_groups:
        return []
    stored = file.metadata.row_group(file.row_groups[0].id)
    columns = [stored.column(i) for i in range(stored.num_columns)]
    sizes = {c.path_in_schema: c.total_uncompressed_size / max(1, c.num_values) for c in columns}
    return [name for name in texts if sizes.get(name, 0) < _PLACE]


_PLACE = 4  # bytes of a text from which on it is not stored as a place


def arrow(path: str) -> Any:
    try:
        return importlib.import_module("pyarrow.dataset")
    except ImportError:
        kind = os.path.splitext(path)[1]
        raise QError(
            f"{path}: pyarrow is needed to read {kind or 'it'}", hint="pip install kshell[frames]"
        ) from None
