"""NumPy's numbers, arrays and types in pickles: what the names of NumPy 1 and 2 mean."""

from __future__ import annotations

import re
from math import prod
from typing import Any

import numpy as np

from kshell.checkpoints.pickles.machine import Global, Node
from kshell.checkpoints.pickles.meanings import WORDS, Meanings, Unknown, Word, given, known

_MOST = 64  # dimensions
_CODE = re.compile(r"[biufcSUV]\d{1,9}|[OM?]8?|m8|b1")
_SCALARS = re.compile(
    r"numpy\.(bool_?|u?int(8|16|32|64)|float(16|32|64)|complex(64|128)|str_|bytes_|datetime64|timedelta64|ndarray"
    r"|dtypes\.\w+DType)"
)


def _both(name: str) -> tuple[str, str]:
    return f"numpy.core.{name}", f"numpy._core.{name}"


@known("numpy.dtype")
def _dtype(m: Meanings, x: Node) -> np.dtype:
    code = m.plain(x.args[0], str)
    if not _CODE.fullmatch(code):
        raise Unknown
    state: tuple[Any, ...] = (
        m.plain(x.state, tuple) if x.states else (3, "|", None, None, None, -1, -1, 0)
    )
    order, sub, names, fields = state[1:5]
    if fields is not None:
        return _record(m, names, m.plain(fields, dict), state[5])
    if sub is not None:
        base, shape = m.plain(sub, tuple)
        return np.dtype(
            (
                m.plain(base, np.dtype, *_KINDS),
                m.ints(shape if shape.__class__ is tuple else (shape,)),
            )
        )
    kind = np.dtype(code)
    if kind.kind in "Mm" and len(state) > 8:
        unit, step = m.plain(state[8], tuple)[1][:2]
        unit = m.of(unit)
        kind = np.dtype(
            f"{code[0]}8[{step if step != 1 else ''}{unit.decode() if unit.__class__ is bytes else unit}]"
        )
    if kind.kind in "SUV" and state[5] >= 0:
        kind = np.dtype(f"{kind.kind}{int(state[5]) // (4 if kind.kind == 'U' else 1)}")
    return kind.newbyteorder(m.plain(order, str)) if order in ("<", ">") else kind


_KINDS = tuple({type(np.dtype(code)) for code in "?bhilqBHILQefdFDSUVOMm"})


def _record(m: Meanings, names: Any, fields: dict[Any, Any], size: int) -> np.dtype:
    """The type of rows with named fields."""
    parts = [m.plain(fields[name], tuple) for name in m.plain(names, tuple)]
    kinds = [m.plain(part[0], np.dtype, *_KINDS) for part in parts]
    return np.dtype(
        {
            "names": list(names),
            "formats": kinds,
            "offsets": [part[1] for part in parts],
            "itemsize": size,
        }
    )


def _array(
    m: Meanings, data: Any, kind: np.dtype, shape: tuple[int, ...], is_fortran: bool
) -> np.ndarray:
    """An array of some bytes, or of objects of the pickle. ValueError if the bytes are too few or too many."""
    if len(shape) > _MOST or any(n < 0 for n in shape):
        raise ValueError("an array of a wrong size")
    count = prod(shape)
    if kind.hasobject:
        items = m.plain(data, list)
        if kind != np.dtype(object) or len(items) != count:
            raise Unknown
        m.room.need(16 * count)
        result = np.empty(count, object)
        result[:] = items
    else:
        raw = m.plain(data, bytes, bytearray)
        if len(raw) != count * kind.itemsize:
            raise ValueError("an array has a wrong length")
        m.room.need(len(raw))
        if not kind.itemsize:
            return np.zeros(shape, kind)
        result = np.frombuffer(raw, kind)
        if not kind.isnative and not kind.fields:
            result = result.astype(kind.newbyteorder("="))
    return result.reshape(shape[::-1]).T if is_fortran else result.reshape(shape)


@known(*_both("multiarray._reconstruct"))
def _reconstructed(m: Meanings, x: Node) -> np.ndarray:
    cls = x.args[0]
    if cls.__class__ is not Global or cls.known != "numpy.ndarray" or not x.states:
        raise Unknown
    *_, shape, kind, is_fortran, data = m.plain(x.state, tuple)
    return _array(m, data, m.plain(kind, np.dtype, *_KINDS), m.ints(shape), bool(is_fortran))


@known(*_both("numeric._frombuffer"))
def _from_buffer(m: Meanings, x: Node) -> np.ndarray:
    data, kind, shape, order = given(x, 4, 4)
    return _array(m, data, m.plain(kind, np.dtype, *_KINDS), m.ints(shape), order == "F")


@known(*_both("multiarray.scalar"))
def _scalar(m: Meanings, x: Node) -> Any:
    kind = m.plain(x.args[0], np.dtype, *_KINDS)
    if kind.hasobject:
        return m.of(x.args[1])
    data = m.of(x.args[1])
    if data.__class__ is str:  # as Python 2 wrote it
        data = data.encode("latin-1")
    if data.__class__ is not bytes or len(data) != kind.itemsize:
        raise Unknown
    return np.frombuffer(data, kind)[0] if kind.itemsize else kind.type()


WORDS["numpy."] = lambda name: Word(name) if _SCALARS.fullmatch(name) else None
