"""Rows of a table that is read part by part: all of them, those of a query, or those of one side of a split."""

from __future__ import annotations

import numpy as np

from kshell.kapi.tables.parts import Parts
from kshell.values.base.core import Table


class Rows:
    """Rows of the parts of a table."""

    parts: Parts

    def __len__(self) -> int:
        """The number of parts."""
        return len(self.parts)

    def rows_of(self, i: int) -> int | None:
        """The number of rows of a part; None if only reading it tells."""
        raise NotImplementedError

    def taken(self, i: int) -> tuple[Table, np.ndarray | None]:
        """The rows of a part, and where they are in it; None if they are all."""
        raise NotImplementedError

    @property
    def free(self) -> bool:
        """Can some rows be read, in any order, by `read_at`?"""
        return False

    def read_at(self, rows: np.ndarray) -> Table:
        """Some rows, if the table is `free`."""
        raise NotImplementedError

    def places(self, rows: np.ndarray) -> np.ndarray:
        """Where some rows are in the table, if that is `free`."""
        return rows

    def rows(self) -> int | None:
        """The number of all rows; None if only reading them tells."""
        found = [self.rows_of(i) for i in range(len(self.parts))]
        return None if None in found else sum(n or 0 for n in found)

    def counted(self) -> list[int]:
        """The number of rows of each part, for which parts are read if need be."""
        found = [self.rows_of(i) for i in range(len(self.parts))]
        return [len(self.taken(i)[0]) if n is None else n for i, n in enumerate(found)]
