"""Files that Arrow reads: Parquet, its own format, text, and folders of these.

A part is a row group of a Parquet file, a batch of a file in Arrow's format, a file of text.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from kshell.errors import QError
from kshell.kapi.tables.parts import Parts, rows_of_part
from kshell.store.arrow.conversion import reading, table_of
from kshell.store.arrow.files import BATCH, ArrowCols, Part, arrow, dataset_of
from kshell.values.base.core import Table


class Dataset(Parts):
    """Files of Parquet or text, or a folder of them, with the names and values in its folders' names as columns."""

    def __init__(self, path: str, kind: str) -> None:
        self.what = path
        if kind == "csv":
            self.advice = "save it as a splayed table or as Parquet, which are not read as text"
        self._dataset = dataset_of(path, kind)
        self.names = list(self._dataset.schema.names)
        found = list(self._dataset.get_fragments())
        if kind == "parquet":
            found = [part for f in found for part in reading(f.path, f.split_by_row_group)]
        self._parts = found

    def __len__(self) -> int:
        return len(self._parts)

    def rows(self, i: int) -> int | None:
        groups = getattr(self._parts[i], "row_groups", None)
        return None if groups is None else sum(group.num_rows for group in groups)

    def read(self, i: int, names: Sequence[str]) -> Table:
        fragment, schema = self._parts[i], self._dataset.schema
        columns = list(names)
        return table_of(
            self.where(i), fragment.to_table, schema=schema, columns=columns, batch_size=BATCH
        )

    def on_use(self, i: int, names: Sequence[str]) -> Table:
        if not hasattr(self._parts[i], "row_groups"):
            return self.read(i, names)
        part = Part(self._parts[i], self._dataset.schema)
        return Table(list(names), ArrowCols(list(names), self.where(i), part))

    def whole(self, names: Sequence[str]) -> Table:
        return table_of(self.what, self._dataset.to_table, columns=list(names), batch_size=BATCH)

    def where(self, i: int) -> str:
        fragment = self._parts[i]
        groups = getattr(fragment, "row_groups", None)
        return f"row group {groups[0].id} of {fragment.path}" if groups else str(fragment.path)


class Batches(Parts):
    """Files in Arrow's own format, or its format for streams, as those of Hugging Face's datasets are: mapped, in the
    order of their names."""

    def __init__(self, path: str, files: Sequence[str]) -> None:
        self.what = path
        arrow(path)
        self._ipc = importlib.import_module("pyarrow.ipc")
        self._arrow = importlib.import_module("pyarrow")
        self._parts: list[tuple[str, int, Any]] = []  # the file, the number, and how to read it
        self.names: list[str] = []
        for file in files:
            reading(file, self._add, file)

    def _add(self, file: str) -> None:
        source = self._arrow.memory_map(file)
        if source.read(6) == b"ARROW1":
            reader = self._ipc.open_file(source)
            made = [(file, i, reader.get_batch) for i in range(reader.num_record_batches)]
        else:
            source.seek(0)
            reader = self._ipc.open_stream(source)
            whole = reader.read_all()
            step = rows_of_part(whole.nbytes // max(1, whole.num_rows))
            batches = whole.to_batches(max_chunksize=step)
            made = [(file, i, batches.__getitem__) for i in range(len(batches))]
        names = list(reader.schema.names)
        if self.names and names != self.names:
            raise QError(
                f"the columns are {', '.join(names)}, before they were {', '.join(self.names)}"
            )
        self.names = names
        self._parts += made

    def __len__(self) -> int:
        return len(self._parts)

    def rows(self, i: int) -> int | None:
        _, number, batch = self._parts[i]
        return None if batch.__name__ == "get_batch" else int(batch(number).num_rows)

    def read(self, i: int, names: Sequence[str]) -> Table:
        _, number, batch = self._parts[i]
        columns = list(names)

        def made() -> Any:
            return self._arrow.Table.from_batches([batch(number)]).select(columns)

        return table_of(self.where(i), made)

    def whole(self, names: Sequence[str]) -> Table:
        columns = list(names)

        def made() -> Any:
            found = [batch(number) for _, number, batch in self._parts]
            return self._arrow.Table.from_batches(found).select(columns)

        return table_of(self.what, made)

    def where(self, i: int) -> str:
        file, number, _ = self._parts[i]
        return f"batch {number} of {file}"
