"""Several folders of Parquet in one folder, partitioned by the same field, as a database of these tables."""

from __future__ import annotations

import os

from kshell.store import parted
from kshell.store.arrow.conversion import table_of
from kshell.store.arrow.files import Folders, folders_of
from kshell.values.base.core import Table


class Together(parted.Database):
    """Tables of Parquet, by name. A value of the field that one lacks is a partition without rows there."""

    def __init__(self, root: str, folders: dict[str, Folders]) -> None:
        first = next(iter(folders.values()))
        self.root, self.field, self.t = root, first.field, first.t
        self.segments, self.per_segment, self.prototypes = [], [], {}
        self._folders = folders
        self.tables = {name: folder.tables[folder.name] for name, folder in folders.items()}
        self.PV = sorted({value for folder in folders.values() for value in folder.PV})
        self.PD = [root] * len(self.PV)
        self.view(None)

    def folder(self, part: int) -> str:
        return f"{self.root}, {self.field} {parted.name_of(self.pv[part], self.t)}"

    def part(self, name: str, i: int) -> Table:
        folder, value = self._folders[name], self.pv[i]
        if value in folder.pv:
            return folder.part(folder.name, folder.pv.index(value))
        names = self.tables[name]
        return table_of(self.root, lambda: folder.schema.empty_table().select(names))


def database_of(path: str) -> Together | None:
    """The database in a folder, if it has nothing but two or more such folders."""
    names = sorted(name for name in os.listdir(path) if name[0] not in "._")
    inner = [f"{path}/{name}" for name in names]
    if len(names) < 2 or not all(map(_has_values, inner)):
        return None
    found = [folders_of(folder) for folder in inner]
    folders = {name: folder for name, folder in zip(names, found, strict=True) if folder}
    by = {(folder.field, folder.t) for folder in folders.values()}
    return Together(path, folders) if len(folders) == len(names) and len(by) == 1 else None


def _has_values(path: str) -> bool:
    """Is it a folder of folders that are named by values?"""
    return os.path.isdir(path) and all(
        "=" in name for name in os.listdir(path) if name[0] not in "._"
    )
