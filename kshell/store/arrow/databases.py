"""Several folders of Parquet in one folder, partitioned by the same field, as a database of these tables."""

from __future__ import annotations

import os

from kshell.store.arrow.files import Folders, folders_of
from kshell.store.parted import Beside


def database_of(path: str) -> Beside | None:
    """The database in a folder, if it has nothing but two or more such folders."""
    names = sorted(name for name in os.listdir(path) if name[0] not in "._")
    inner = [f"{path}/{name}" for name in names]
    if len(names) < 2 or not all(map(_has_values, inner)):
        return None
    found = [folders_of(folder) for folder in inner]
    folders: dict[str, Folders] = {n: f for n, f in zip(names, found, strict=True) if f}
    if len(folders) < len(names) or len({(f.field, f.t) for f in folders.values()}) > 1:
        return None
    return Beside({name: (folder, folder.name) for name, folder in folders.items()}, path)


def _has_values(path: str) -> bool:
    """Is it a folder of folders that are named by values?"""
    return os.path.isdir(path) and all(
        "=" in name for name in os.listdir(path) if name[0] not in "._"
    )
