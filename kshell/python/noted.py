"""Which q types the columns of a frame had: a note that the frame carries, since most libraries have fewer types.

pandas keeps it in `attrs`, Arrow tables in the metadata of their schema; both hand it on to most of what is made of a
frame. When a frame comes back, a column of which the note is still true is of its type again.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from kshell.values.base import types as T
from kshell.values.base.build import empty
from kshell.values.base.core import ListValue, Table, Vec, sym_names
from kshell.values.engine.cast import cast_value

KEY = "kshell"


def note(columns: Table, key: Sequence[str]) -> str:
    """The note of a table with key columns."""
    types = {
        name: T.TYPE[column.t].char
        for name, column in zip(columns.names, columns.cols, strict=True)
        if column.__class__ is Vec and column.t != T.ENUM
    }
    return json.dumps({"types": types, "key": list(key)})


def of(x: Any) -> tuple[dict[str, int], list[str]]:
    """The types by column, and the key columns, in the note of a frame; none if it has no note."""
    found: Any = None
    attributes = getattr(x, "attrs", None)
    if isinstance(attributes, dict):
        found = attributes.get(KEY)
    else:
        metadata = getattr(getattr(x, "schema", None), "metadata", None)
        if isinstance(metadata, dict):
            found = metadata.get(KEY.encode())
    try:
        told = json.loads(found)
        types = {name: T.BY_CHAR[char].num for name, char in told["types"].items()}
        return types, [name for name in told["key"] if isinstance(name, str)]
    except (TypeError, ValueError, KeyError, AttributeError):
        return {}, []


def restored(column: ListValue, t: int) -> ListValue:
    """A column as one of a type, if that changes no value; else as it is."""
    if not len(column):
        return empty(t)
    if column.__class__ is not Vec or column.t == t:
        return column
    if column.t == T.S:
        return _characters(column) if t == T.C else column
    if {column.t, t} & {T.S, T.C, T.G, T.B, T.X}:
        return column
    try:
        made: Any = cast_value(column, t)
        back: Any = cast_value(made, column.t)
    except Exception:  # the note is not kshell's own any more
        return column
    is_same = np.array_equal(back.a, column.a, equal_nan=column.a.dtype.kind == "f")
    return cast(ListValue, made) if is_same else column


def _characters(column: Vec) -> Vec:
    """Symbols of one character each as a string."""
    names = sym_names(column)
    if all(len(name) == 1 and name.isascii() for name in names):
        return Vec(T.C, np.frombuffer("".join(names).encode(), np.uint8))
    return column
