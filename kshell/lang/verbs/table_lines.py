"""Tables as lines of text, `csv 0:t`: the fields of each column as ranges of an array, put side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kshell.errors import QError
from kshell.lang.console.float_texts import float_flat
from kshell.lang.console.format import extremes, integer_flat, raw_text, raw_texts, text_matrix
from kshell.store.text import csv_field
from kshell.values.base import types as T
from kshell.values.base.core import Dict, List, Table, Value, Vec, seq_items
from kshell.values.base.narrow import vec_value
from kshell.values.base.symbols import sym_at
from kshell.values.engine.cast import EPOCH_DAYS
from kshell.values.items.keys import group_keys
from kshell.values.items.pick import unenum
from kshell.values.items.rows import Rows, rows_of, side_by_side, string_list, string_rows
from kshell.values.session.context import running

_BLOCK = 1 << 14  # lines at a time: they stay in the cache
_ISO = {T.M: 7, T.P: 10, T.Z: 10}  # the length within which - replaces . in dates


def table_lines(x: Value, sep: bytes) -> List:
    """A table (names first) or a list of columns as lines."""
    if x.__class__ is Dict and x.keyed:
        key_table, value_table = x.tables
        x = Table(key_table.names + value_table.names, key_table.cols + value_table.cols)
    header = b""
    if x.__class__ is Table:
        names = [name.encode("utf-8", "surrogateescape") for name in x.names]
        header = sep.join([csv_field(name, sep) for name in names])
        columns: Sequence[Value] = x.cols
    else:
        columns = seq_items(x)
        if columns and not hasattr(columns[0], "__len__"):
            raise QError("type")
    if not columns:
        return List([])
    sources = [_source(column, sep) for column in columns]
    if len({len(source) for source in sources}) > 1:
        raise QError("length")
    blocks = [(np.frombuffer(header, np.uint8), np.array([len(header)]))] if header else []
    for start in range(0, len(sources[0]), _BLOCK):
        fields = [_fields(source, slice(start, start + _BLOCK), sep) for source in sources]
        blocks.append(side_by_side(fields, sep, b""))
    if not blocks:
        return List([])
    characters, sizes = zip(*blocks, strict=True)
    return string_list(np.concatenate(characters), np.concatenate(sizes))


def _source(col: Value, sep: bytes) -> Vec | Rows:
    """A column: a vector, or the fields of a list of strings or of symbols."""
    if isinstance(col, List):
        rows = string_rows(col)
        if rows is None:
            raise QError("type")
        plain = sep not in rows.raw and b"\n" not in rows.raw
        return rows if plain else rows_of([csv_field(item, sep) for item in rows.items()])
    if col.__class__ is not Vec:
        raise QError("type")
    if col.t == T.S:
        first, groups = group_keys(col.a)
        names = [
            sym_at(code).s.encode("utf-8", "surrogateescape") for code in col.a[first].tolist()
        ]
        return rows_of([csv_field(name, sep) for name in names]).at(groups)
    return col


def _fields(source: Vec | Rows, lines: slice, sep: bytes) -> Rows:
    """The fields of a column in some lines; dates are written as in ISO 8601."""
    if isinstance(source, Rows):
        return source.at(lines)
    col = Vec(source.t, source.a[lines], "", source.dom if source.t == T.ENUM else "")
    if sep not in b".:-0123456789DTabcdefwnN+":
        rows = _times(col) if col.t in (T.D, T.T, T.P) else _numbers(col)
        if rows is not None:
            return rows
    return rows_of(_each(col, sep))


def _each(col: Vec, sep: bytes) -> list[bytes]:
    """The fields of a vector other than symbols, one by one."""
    if col.t == T.C:
        return [csv_field(bytes((code,)), sep) for code in col.a.tolist()]
    if col.t == T.D:
        return _dates(col)
    if not len(col):
        return []
    texts = "\n".join(_texts_of(col)).encode("utf-8", "surrogateescape").split(b"\n")
    date_length = _ISO.get(col.t)
    if date_length is not None:
        texts = [
            stamp[:date_length].replace(b".", b"-") + stamp[date_length:].replace(b"D", b"T")
            for stamp in texts
        ]
    if col.t == T.ENUM or sep in b".:-0123456789DTabcdefwnN+":
        return [csv_field(item, sep) for item in texts]
    return texts


def _dates(col: Vec) -> list[bytes]:
    """Dates in ISO 8601 format; nulls are empty."""
    days = (col.a.astype(np.int64) + EPOCH_DAYS).astype("M8[D]")
    days[col.a == T.NULL[T.D]] = np.datetime64("NaT", "D")
    texts = np.datetime_as_string(days).astype("S").tolist()
    for index in np.flatnonzero(np.abs(col.a) == T.TYPE[T.D].inf).tolist():
        texts[index] = b"0W" if col.a[index] > 0 else b"-0W"
    return [b"" if date == b"NaT" else date for date in texts]


def _times(col: Vec) -> Rows | None:
    """The fields of dates, times and timestamps with a fixed layout; None for other ones."""
    extreme = extremes(col.t, col.a)
    matrix = text_matrix(
        col.t, np.where(extreme, col.a.dtype.type(0), col.a) if len(extreme) else col.a
    )
    if matrix is None:
        return None
    if col.t != T.T:
        matrix[:, [4, 7]] = 45
    if col.t == T.P:
        matrix[:, 10] = 84
    count, width = matrix.shape
    special = np.flatnonzero(extreme)
    texts = [raw_text(col.t, col.a[index], 0).encode() for index in special.tolist()]
    starts, sizes = np.arange(count) * width, np.full(count, width)
    sizes[special] = list(map(len, texts))
    starts[special] = count * width + np.cumsum(sizes[special]) - sizes[special]
    return Rows(matrix.tobytes() + b"".join(texts), starts, sizes)


def _numbers(col: Vec) -> Rows | None:
    """The fields of integers and floats; None if there are nulls, infinities or only a few, and for other types."""
    if col.t in (T.E, T.F):
        digits = running().settings.P
        flat = float_flat(col.a, digits) if np.isfinite(col.a).all() else None
    else:
        flat = integer_flat(col.t, col.a)
    if flat is None:
        return None
    characters, sizes = flat
    return Rows(characters.tobytes(), np.cumsum(sizes) - sizes, sizes)


def _texts_of(col: Vec) -> list[str]:
    """The texts of a vector's items, as from `string`."""
    if col.t == T.ENUM:
        col = vec_value(unenum(col))
    return raw_texts(col.t, col.a, running().settings.P, "")
