"""The q types: one row each, from which all type tables are derived."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

M63 = 1 << 63
LONG_MAX = M63 - 1  # 0W; the largest ordinary long is one less
NAN = float("-nan")  # with the sign of q's null
INF = float("inf")


class QType(NamedTuple):
    """One q type: number, character, name, numpy dtype of a vector, raw null and infinity, size in bytes."""

    num: int
    char: str
    name: str
    dtype: np.dtype
    null: Any
    inf: Any
    size: int


def _row(
    num: int, char: str, name: str, dtype: str, null: float | bytes, inf: float | None
) -> QType:
    numpy_type = np.dtype(dtype)
    return QType(num, char, name, numpy_type, null, inf, numpy_type.itemsize)


_I16, _I32, _I64 = (-(1 << 15), (1 << 15) - 1), (-(1 << 31), (1 << 31) - 1), (-M63, M63 - 1)

# symbols are codes into the pool of interned names (code 0 is the empty symbol), chars are bytes, guids 16 bytes
ROWS = (
    _row(1, "b", "boolean", "?", False, None),
    _row(2, "g", "guid", "V16", b"\0" * 16, None),
    _row(4, "x", "byte", "u1", 0, None),
    _row(5, "h", "short", "i2", *_I16),
    _row(6, "i", "int", "i4", *_I32),
    _row(7, "j", "long", "i8", *_I64),
    _row(8, "e", "real", "f4", NAN, INF),
    _row(9, "f", "float", "f8", NAN, INF),
    _row(10, "c", "char", "u1", 32, None),
    _row(11, "s", "symbol", "i4", 0, None),
    _row(12, "p", "timestamp", "i8", *_I64),
    _row(13, "m", "month", "i4", *_I32),
    _row(14, "d", "date", "i4", *_I32),
    _row(15, "z", "datetime", "f8", NAN, INF),
    _row(16, "n", "timespan", "i8", *_I64),
    _row(17, "u", "minute", "i4", *_I32),
    _row(18, "v", "second", "i4", *_I32),
    _row(19, "t", "time", "i4", *_I32),
    _row(20, "s", "enum", "i8", -M63, None),
)

TYPE: dict[int, QType] = {row.num: row for row in ROWS}
BY_CHAR: dict[str, QType] = {row.char: row for row in ROWS if row.num != 20}
BY_NAME: dict[str, QType] = {row.name: row for row in ROWS if row.num != 20}
DTYPE: dict[int, np.dtype] = {row.num: row.dtype for row in ROWS}
NULL: dict[int, Any] = {row.num: row.null for row in ROWS}

# type numbers by name, for code that switches on them
(B, G, X, H, I, J, E, F, C, S, P, M, D, Z, N, U, V, T, ENUM) = (row.num for row in ROWS)
INTEGRAL = frozenset({B, X, H, I, J, C, P, M, D, N, U, V, T})
SIGNED = frozenset({H, I, J, P, M, D, N, U, V, T})  # integer types with a null
FLOATS = frozenset({E, F, Z})
TEMPORAL = frozenset({P, M, D, Z, N, U, V, T})
NUMERIC = frozenset({B, X, H, I, J, E, F})
