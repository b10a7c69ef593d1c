"""Tables of Arrow as tables of q: texts become symbols, numbers stay where they are if they are only read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.errors import QError, first_line, message_of
from kshell.store.arrow.words import Words
from kshell.store.splay import Coded, LazyCols
from kshell.values.base import types as T
from kshell.values.base.core import Table, Value, Vec
from kshell.values.base.functions import FROM_ARROW

TEXTS = ("string", "large_string")


def is_words(kind: Any) -> bool:
    """Is a type of Arrow that of texts, each by itself or as a place in a list?"""
    return str(kind.value_type if hasattr(kind, "index_type") else kind) in TEXTS


class PieceCols(LazyCols):
    """The columns of a table of Arrow that are only read, each made on use. `words` are those that have been seen."""

    def __init__(self, table: Any, where: str, words: dict[str, Words]) -> None:
        super().__init__(list(table.column_names), where)
        self._table, self._words = table, words

    def make(self, i: int) -> Value:
        found: Value = table_of(
            self.origin, self._table.select, self._words, True, columns=[i]
        ).cols[0]
        return found

    def rows(self) -> int:
        return int(self._table.num_rows)

    def coded(self, name: str) -> Coded | None:
        column = self._table.column(name)
        if not is_words(column.type) or not hasattr(column.type, "index_type"):
            return None
        if column.num_chunks != 1 or column.null_count or _says_types(self._table):
            return None
        chunk = column.chunk(0)
        known = reading(
            self.origin, self._words.setdefault(name, Words()).symbols, [chunk.dictionary]
        )
        if known is None or not len(known) or (np.diff(np.sort(known)) == 0).any():
            return None
        return Coded(chunk.indices.to_numpy(), Vec(T.S, known))


def table_of(
    where: str,
    read: Callable[..., Any],
    words: dict[str, Words] | None = None,
    views: bool = False,
    **named: Any,
) -> Table:
    """A table of Arrow as one of q. `words` are those that have been seen, by column. With `views`, numbers may stay
    where they are, to be read only."""

    def made() -> tuple[list[str], Any, dict[str, Vec]]:
        table = read(**named)
        simple = _simple(table, {} if words is None else words, views)
        return table.column_names, _of_one_list(table.drop_columns(list(simple))), simple

    names, table, simple = reading(where, made)
    others: Value = FROM_ARROW.fn(table) if len(table.column_names) else Table([], [])
    if others.__class__ is not Table:
        raise QError(f"{where}: a column cannot be one of q")
    if not simple:
        return others
    return Table(names, [simple[n] if n in simple else others.col(n) for n in names])


def _simple(table: Any, words: dict[str, Words], views: bool) -> dict[str, Vec]:
    """The columns of texts that are symbols, but for very long ones, and the views. A table with a note says itself
    what its columns are."""
    found: dict[str, Vec] = {}
    if _says_types(table):
        return found
    for name, kind in zip(table.schema.names, table.schema.types, strict=True):
        if table.schema.names.count(name) > 1:
            continue
        column, kind = table.column(name), str(kind)
        if is_words(column.type):
            known = words.setdefault(name, Words())
            codes = _codes(known, column) if kind not in TEXTS else known.symbols(column.chunks)
            if codes is not None:
                found[name] = Vec(T.S, codes)
        elif views and kind in _ALIKE and column.num_chunks == 1 and not column.null_count:
            found[name] = Vec(_ALIKE[kind], column.chunk(0).to_numpy())
    return found


def _says_types(table: Any) -> bool:
    """Has a table of Arrow a note that says which types of q its columns have?"""
    return table.schema.metadata is not None and b"kshell" in table.schema.metadata


def _codes(words: Words, column: Any) -> np.ndarray | None:
    """The symbols of places in lists of words, of which each chunk may have its own."""
    if column.null_count:
        return None
    found = []
    for chunk in column.chunks:
        known = words.symbols([chunk.dictionary])
        if known is None:
            return None
        found.append(known[chunk.indices.to_numpy()])
    return found[0] if len(found) == 1 else np.concatenate([np.zeros(0, np.int32), *found])


# numbers that q stores as Arrow does
_ALIKE = {"int16": T.H, "int32": T.I, "int64": T.J, "float": T.E, "double": T.F}


def _of_one_list(table: Any) -> Any:
    """The same, with one list of words for each column that has such: row groups have their own, with mostly the
    same."""
    has_words = any(hasattr(kind, "index_type") for kind in table.schema.types)
    return table.unify_dictionaries().combine_chunks() if has_words else table


def reading(where: str, f: Callable[..., Any], *args: Any, **named: Any) -> Any:
    """What Arrow reads; its exceptions name the file, and the row group."""
    problem = ""
    try:
        return f(*args, **named)
    except Exception as exc:  # of any kind, for what stands in a damaged file
        problem = first_line(message_of(exc))
    raise QError(f"{where}: {problem}")
