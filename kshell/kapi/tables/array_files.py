"""Files of arrays and of pictures as tables: numpy's .npy, mapped, and folders of images by class."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from kshell.errors import QError, first_line, message_of
from kshell.kapi.tables.parts import Equal, rows_of_part
from kshell.store.threads import in_threads
from kshell.values.base import types as T
from kshell.values.base.build import regular
from kshell.values.base.core import Table, sym_vec
from kshell.values.base.from_numpy import NoType, typed

IMAGES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")
_GREY = ("1", "L", "LA", "I;16")  # modes of images of one channel
IMAGE, CLASS = "image", "class"  # the columns of a folder of images


class Arrays(Equal):
    """Arrays of one length in files of .npy, by name; of each the rows of a part are read."""

    free = True

    def __init__(self, files: dict[str, str]) -> None:
        self.what, self.names = ", ".join(files.values()), list(files)
        self._arrays = {name: _mapped(file) for name, file in files.items()}
        lengths = {name: len(a) for name, a in self._arrays.items()}
        self.n = next(iter(lengths.values()))
        if set(lengths.values()) != {self.n}:
            raise QError(f"{self.what}: arrays of {', '.join(map(str, lengths.values()))} rows")
        rows = [a.nbytes // max(1, self.n) for a in self._arrays.values()]
        self.step = rows_of_part(sum(rows))

    def read(self, i: int, names: Sequence[str]) -> Table:
        start = i * self.step
        return self._table(slice(start, start + self.rows(i)), names)

    def read_at(self, rows: np.ndarray, names: Sequence[str]) -> Table:
        return self._table(rows, names)

    def whole(self, names: Sequence[str]) -> Table:
        return self._table(slice(None), names)

    def _table(self, at: Any, names: Sequence[str]) -> Table:
        found = [typed(np.array(self._arrays[name][at])) for name in names]
        return Table(list(names), [regular(t, a) for t, a in found])  # type: ignore[misc]

    def where(self, i: int) -> str:
        start = i * self.step
        return f"rows {start} to {start + self.rows(i) - 1} of {self.what}"


def _mapped(file: str) -> np.ndarray:
    problem = ""
    try:
        a: np.ndarray = np.load(file, mmap_mode="r", allow_pickle=False)
        if a.ndim:
            typed(a[:0])
            return a
        problem = "one number, expected rows"
    except NoType:
        problem = f"no numbers of q: {a.dtype}"
    except (OSError, ValueError) as exc:
        problem = first_line(message_of(exc))
    raise QError(f"{file}: {problem}")


class Images(Equal):
    """A folder of images in folders that are their classes. An image is channels by rows by columns, from 0 to 1. All
    have the size of the first one; or they are made to have `size`, rows and columns: resized so that they cover it, of
    which the middle is taken."""

    free = True

    size: tuple[int, int] | None = None

    def __init__(self, path: str, files: Sequence[str]) -> None:
        self.what, self.names = path, [IMAGE, CLASS]
        self._path, self._files = path, list(files)
        self._reader: Any = None
        with suppress(ImportError):
            self._reader = importlib.import_module("PIL.Image")
        if self._reader is None:
            raise QError(f"{path}: Pillow is needed to read images", hint="pip install pillow")
        self.n = len(self._files)
        self.resize(None)

    def resize(self, size: tuple[int, int] | None) -> None:
        """Make all have this size."""
        self.size = size
        first = self._pixels(self._files[0])
        self._shape = first.shape
        self.step = rows_of_part(4 * first.size)

    def read(self, i: int, names: Sequence[str]) -> Table:
        start = i * self.step
        return self.read_at(np.arange(start, start + self.rows(i)), names)

    def read_at(self, rows: np.ndarray, names: Sequence[str]) -> Table:
        files = [self._files[i] for i in rows.tolist()]
        columns: list[Any] = []
        for name in names:
            if name == CLASS:
                classes = [os.path.relpath(file, self._path).split(os.sep)[0] for file in files]
                columns.append(sym_vec(classes))
            else:
                pixels = np.empty((len(files), *self._shape), np.float32)
                in_threads(partial(self._put, pixels, files), range(len(files)))
                columns.append(regular(T.E, pixels))
        return Table(list(names), columns)

    def whole(self, names: Sequence[str]) -> Table:
        return self.read_at(np.arange(len(self._files)), names)

    def _put(self, pixels: np.ndarray, files: Sequence[str], i: int) -> None:
        """Read an image to its place among several."""
        found = self._pixels(files[i])
        if found.shape != self._shape:
            was, given = ("x".join(map(str, shape)) for shape in (self._shape, found.shape))
            raise QError(
                f"{files[i]}: expected an image of {was} as the first one, given {given}",
                hint="the option size resizes them",
            )
        np.divide(found, np.float32(255), out=pixels[i])

    def _pixels(self, file: str) -> np.ndarray:
        """The pixels of an image, from 0 to 255."""
        problem = ""
        try:
            with self._reader.open(file) as image:
                whole = None if self.size is None else _covering(image.size, self.size)
                if whole is not None:
                    # JPEG is read at a half or less, if that is still twice as large
                    image.draft(image.mode, (2 * whole[0], 2 * whole[1]))
                found = image.convert("L" if image.mode in _GREY else "RGB")
            if whole is not None and self.size is not None:
                found = _middle(self._resized(found, whole), self.size)
            a = np.asarray(found)
            return a[None] if a.ndim == 2 else a.transpose(2, 0, 1)
        except Exception as exc:  # of any kind, for what stands in a damaged file
            problem = first_line(message_of(exc))
        raise QError(f"{file}: {problem}")

    def _resized(self, image: Any, size: tuple[int, int]) -> Any:
        if image.size == size:
            return image
        return image.resize(size, self._reader.Resampling.BILINEAR)

    def where(self, i: int) -> str:
        return f"images {i * self.step} to {i * self.step + self.rows(i) - 1} of {self.what}"


def _covering(given: tuple[int, int], size: tuple[int, int]) -> tuple[int, int]:
    """The least width and height, in the proportion that an image is given in, that cover rows and columns."""
    rows, columns = size
    width, height = given
    scale = max(columns / width, rows / height)
    return max(columns, round(width * scale)), max(rows, round(height * scale))


def _middle(image: Any, size: tuple[int, int]) -> Any:
    rows, columns = size
    left, top = (image.width - columns) // 2, (image.height - rows) // 2
    return image.crop((left, top, left + columns, top + rows))
