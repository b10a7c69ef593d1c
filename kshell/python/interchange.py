"""Data frames that only support `__dataframe__`, the interchange protocol: columns are read from their buffers.

The protocol's types are Arrow's, but a boolean may take a byte, and nulls may be marked by a bit, a byte, a value or a
float's NaN.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.core import ListValue, Vec, sym_codes

if TYPE_CHECKING:
    from kshell.python.into import Made

_CPU = 1
_INT, _UINT, _FLOAT, _BOOL, _STRING, _DATETIME, _CATEGORY = 0, 1, 2, 20, 21, 22, 23
_LETTERS = {_INT: "i", _UINT: "u", _FLOAT: "f", _BOOL: "u", _STRING: "u", _DATETIME: "i"}
_NAN, _VALUE, _BITS, _BYTES = 1, 2, 3, 4  # how nulls are marked
_UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}


def offers(x: object) -> bool:
    """Does it support the protocol?"""
    return hasattr(type(x), "__dataframe__")


def read(x: Any, made: type[Made]) -> dict[str, ListValue]:
    """The columns of a frame by name."""
    frame = x.__dataframe__()
    names = [str(name) for name in frame.column_names()]
    if len(set(names)) < len(names):
        raise QError("two columns of one name")
    out: dict[str, ListValue] = {}
    for i, name in enumerate(names):
        problem = ""
        try:
            out[name] = _column(frame.get_column(i), made)
        except QError as e:
            problem = e.text
        except (NotImplementedError, TypeError, ValueError, RuntimeError) as e:
            problem = str(e)
        if problem:
            raise QError(f"column {name}: {problem}")
    return out


def _column(column: Any, made: type[Made]) -> ListValue:
    parts = [_chunk(chunk, made) for chunk in column.get_chunks() if chunk.size()] or [
        _chunk(column, made)
    ]
    if len(parts) == 1:
        return parts[0]
    vectors = [part for part in parts if part.__class__ is Vec]
    if len(vectors) == len(parts) and len({v.t for v in vectors}) == 1:
        return Vec(vectors[0].t, np.concatenate([v.a for v in vectors]))
    return made.joined([i for part in parts for i in part.items])


def _chunk(c: Any, made: type[Made]) -> ListValue:
    kind, bits, form, _ = c.dtype
    n, start, buffers = c.size(), c.offset, c.get_buffers()
    if kind not in (*_LETTERS, _CATEGORY):
        raise QError(f"no q type for a column of kind {int(kind)}")
    absent = _absent(c, buffers, start, n)
    if kind == _STRING:
        return _texts(buffers, start, n, absent)
    found, given = buffers["data"]
    if kind == _CATEGORY:
        codes = _view(found, f"{_LETTERS[given[0]]}{given[1] // 8}", start, n).astype(np.int64)
        known = c.describe_categorical["categories"]
        return made.coded(_column(known, made), codes, absent)
    if kind == _BOOL and bits == 1:
        a = _bits(found, start, n)
    else:
        a = _view(found, f"{_LETTERS[kind]}{bits // 8}", start, n)
    if kind == _BOOL:
        a = a.astype(bool)
    elif kind == _DATETIME:
        a = _times(a, form)
    if absent is None or not absent.any():
        return made.array(a)
    return made.array(np.ma.array(a, mask=absent))


def _times(a: np.ndarray, form: str) -> np.ndarray:
    """Counts as numpy times."""
    if form == "tdD":
        return a.astype(np.int64).view("M8[D]")
    if form[:2] == "ts" and form[2:3] in _UNITS:
        return a.astype(np.int64).view(f"M8[{_UNITS[form[2]]}]")
    if form == "tdm":
        return a.astype(np.int64).view("M8[ms]").astype("M8[D]")
    if form[:2] in ("tt", "tD") and form[2:3] in _UNITS:
        return a.astype(np.int64).view(f"m8[{_UNITS[form[2]]}]")
    raise QError(f"no q type for Arrow's {form}")


def _texts(buffers: dict[str, Any], start: int, n: int, absent: np.ndarray | None) -> Vec:
    """Strings as symbols; null becomes the empty symbol."""
    found, given = buffers["offsets"]
    ends = _view(found, f"i{given[1] // 8}", start, n + 1).astype(np.int64).tolist()
    data = _view(buffers["data"][0], "u1", 0, ends[-1] if n else 0).tobytes()
    gone = [False] * n if absent is None else absent.tolist()
    return Vec(
        T.S,
        sym_codes(
            [
                "" if g else data[end:b].decode("utf-8", "surrogateescape")
                for end, b, g in zip(ends, ends[1:], gone, strict=False)
            ]
        ),
    )


def _absent(c: Any, buffers: dict[str, Any], start: int, n: int) -> np.ndarray | None:
    """Which items are null; None if the items themselves show it, or none are."""
    kind, value = c.describe_null
    if kind == _VALUE:
        found, given = buffers["data"]
        if given[0] not in _LETTERS:
            return None
        return _view(found, f"{_LETTERS[given[0]]}{given[1] // 8}", start, n) == value
    if kind not in (_BITS, _BYTES) or buffers["validity"] is None:
        return None
    found = buffers["validity"][0]
    mask = _bits(found, start, n) if kind == _BITS else _view(found, "u1", start, n).astype(bool)
    return mask if value else ~mask


def _bits(found: Any, start: int, n: int) -> np.ndarray:
    first = start // 8
    data = _view(found, "u1", first, (start + n + 7) // 8 - first)
    return np.unpackbits(data, bitorder="little")[start - 8 * first :][:n].astype(bool)


def _view(found: Any, dtype: str, start: int, n: int) -> np.ndarray:
    """Items of a buffer as an array over its memory."""
    if found.__dlpack_device__()[0] != _CPU:
        raise QError("its data are not in the memory of the CPU")
    size = np.dtype(dtype).itemsize
    if not n:
        return np.empty(0, dtype)
    if (start + n) * size > found.bufsize:
        raise QError("length")
    data: Any = (ctypes.c_char * (n * size)).from_address(found.ptr + start * size)
    return np.frombuffer(data, dtype, n).copy()


__all__ = ["offers", "read"]
