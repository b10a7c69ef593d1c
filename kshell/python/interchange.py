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
from kshell.values.base.core import ListValue, Vec
from kshell.values.base.symbols import sym_codes

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
    columns: dict[str, ListValue] = {}
    for index, name in enumerate(names):
        problem = ""
        try:
            columns[name] = _column(frame.get_column(index), made)
        except QError as e:
            problem = e.text
        except (NotImplementedError, TypeError, ValueError, RuntimeError) as e:
            problem = str(e)
        if problem:
            raise QError(f"column {name}: {problem}")
    return columns


def _column(column: Any, made: type[Made]) -> ListValue:
    pieces = [_chunk(chunk, made) for chunk in column.get_chunks() if chunk.size()] or [
        _chunk(column, made)
    ]
    if len(pieces) == 1:
        return pieces[0]
    vectors = [piece for piece in pieces if piece.__class__ is Vec]
    if len(vectors) == len(pieces) and len({vector.t for vector in vectors}) == 1:
        return Vec(vectors[0].t, np.concatenate([vector.a for vector in vectors]))
    return made.joined([item for piece in pieces for item in piece.items])


def _chunk(c: Any, made: type[Made]) -> ListValue:
    kind, bits, time_format, _ = c.dtype
    length, start, buffers = c.size(), c.offset, c.get_buffers()
    if kind not in (*_LETTERS, _CATEGORY):
        raise QError(f"no q type for a column of kind {int(kind)}")
    absent = _absent(c, buffers, start, length)
    if kind == _STRING:
        return _texts(buffers, start, length, absent)
    buffer, dtype = buffers["data"]
    if kind == _CATEGORY:
        codes = _view(buffer, f"{_LETTERS[dtype[0]]}{dtype[1] // 8}", start, length).astype(
            np.int64
        )
        categories = c.describe_categorical["categories"]
        return made.coded(_column(categories, made), codes, absent)
    if kind == _BOOL and bits == 1:
        array = _bits(buffer, start, length)
    else:
        array = _view(buffer, f"{_LETTERS[kind]}{bits // 8}", start, length)
    if kind == _BOOL:
        array = array.astype(bool)
    elif kind == _DATETIME:
        array = _times(array, time_format)
    if absent is None or not absent.any():
        return made.array(array)
    return made.array(np.ma.array(array, mask=absent))


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
    buffer, dtype = buffers["offsets"]
    offsets = _view(buffer, f"i{dtype[1] // 8}", start, n + 1).astype(np.int64).tolist()
    encoded = _view(buffers["data"][0], "u1", 0, offsets[-1] if n else 0).tobytes()
    nulls = [False] * n if absent is None else absent.tolist()
    return Vec(
        T.S,
        sym_codes(
            [
                "" if is_null else encoded[begin:stop].decode("utf-8", "surrogateescape")
                for begin, stop, is_null in zip(offsets, offsets[1:], nulls, strict=False)
            ]
        ),
    )


def _absent(c: Any, buffers: dict[str, Any], start: int, n: int) -> np.ndarray | None:
    """Which items are null; None if the items themselves show it, or none are."""
    kind, value = c.describe_null
    if kind == _VALUE:
        buffer, dtype = buffers["data"]
        if dtype[0] not in _LETTERS:
            return None
        return _view(buffer, f"{_LETTERS[dtype[0]]}{dtype[1] // 8}", start, n) == value
    if kind not in (_BITS, _BYTES) or buffers["validity"] is None:
        return None
    buffer = buffers["validity"][0]
    mask = _bits(buffer, start, n) if kind == _BITS else _view(buffer, "u1", start, n).astype(bool)
    return mask if value else ~mask


def _bits(found: Any, start: int, n: int) -> np.ndarray:
    first_byte = start // 8
    packed = _view(found, "u1", first_byte, (start + n + 7) // 8 - first_byte)
    return np.unpackbits(packed, bitorder="little")[start - 8 * first_byte :][:n].astype(bool)


def _view(found: Any, dtype: str, start: int, n: int) -> np.ndarray:
    """Items of a buffer as an array over its memory."""
    if found.__dlpack_device__()[0] != _CPU:
        raise QError("its data are not in the memory of the CPU")
    itemsize = np.dtype(dtype).itemsize
    if not n:
        return np.empty(0, dtype)
    if (start + n) * itemsize > found.bufsize:
        raise QError("length")
    memory: Any = (ctypes.c_char * (n * itemsize)).from_address(found.ptr + start * itemsize)
    return np.frombuffer(memory, dtype, n).copy()


__all__ = ["offers", "read"]
