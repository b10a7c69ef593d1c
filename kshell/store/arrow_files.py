"""Tables in files of Parquet and Arrow, read by pyarrow: a column when it is used.

A folder whose folders are named by date, month or number, as `date=2024-01-01`, is a partitioned table.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Callable
from typing import Any

from kshell.errors import QError, first_line, message_of
from kshell.store import parted, splay
from kshell.values.base import types as T
from kshell.values.base.core import Table, Value
from kshell.values.base.functions import FROM_ARROW
from kshell.values.session.restrict import check_read, lifted

FORMATS = {
    ".parquet": "parquet",
    ".arrow": "ipc",
    ".feather": "feather",
}  # and what Arrow calls them


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

    def __init__(self, names: list[str], path: str, dataset: Any, **named: Any) -> None:
        super().__init__(names, f":{path}")
        self.path, self._dataset, self._named = path, dataset, named

    def make(self, i: int) -> Value:
        with lifted():  # code that holds the table may read its content
            columns = [self.names[i]]
            found: Value = table_of(
                self.path, self._dataset.to_table, columns=columns, **self._named
            ).cols[0]
            return found

    def there(self) -> bool:
        return os.path.exists(self.path)


class Folders(parted.Database):
    """A folder of files of Parquet in folders named by the values of one field, as a partitioned database of one
    table."""

    def __init__(
        self, root: str, dataset: Any, field: str, t: int, files: dict[int, list[Any]]
    ) -> None:
        self.root, self.field, self.t = root, field, t
        self.name = os.path.basename(root)
        self.segments, self.per_segment = [], []
        self._schema, self._files = dataset.schema, files
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
            found, self._schema, found[0].format, found[0].filesystem
        )
        return Table(list(names), ArrowCols(list(names), self.folder(i), whole))


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
    """The files of Arrow at a path. Folders' names that are dates, which Arrow takes for texts, are dates."""
    found = datasets.dataset(path, format=kind, partitioning="hive")
    values: dict[str, set[str]] = {}
    for file in found.files:
        for name, value in _FOLDER.findall(file[len(path) :]):
            values.setdefault(name, set()).add(value)
    dates = [name for name, given in values.items() if all(map(_DATE.fullmatch, given))]
    if not dates:
        return found
    arrow = importlib.import_module("pyarrow")
    types = [(n, arrow.date32() if n in dates else found.schema.field(n).type) for n in values]
    by_folder = datasets.partitioning(arrow.schema(types), flavor="hive")
    return datasets.dataset(path, format=kind, partitioning=by_folder)


def arrow(path: str) -> Any:
    try:
        return importlib.import_module("pyarrow.dataset")
    except ImportError:
        kind = os.path.splitext(path)[1]
        raise QError(
            f"{path}: pyarrow is needed to read {kind or 'it'}", hint="pip install kshell[frames]"
        ) from None


def table_of(where: str, read: Callable[..., Any], **named: Any) -> Table:
    """A table of Arrow as one of q."""
    found: Value = FROM_ARROW.fn(reading(where, read, **named))
    if found.__class__ is not Table:
        raise QError(f"{where}: a column cannot be one of q")
    return found


def reading(where: str, f: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """What Arrow reads; its exceptions name the file, and the row group."""
    problem = ""
    try:
        return f(*args, **named)
    except Exception as exc:  # of any kind, for what stands in a damaged file
        problem = first_line(message_of(exc))
    raise QError(f"{where}: {problem}")
