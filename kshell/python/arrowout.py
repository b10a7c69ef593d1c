"""Exporting a table as Arrow data through the C stream interface, so that any library can make a data frame from it.

Symbols become dictionary-encoded UTF-8, strings binary, times of day durations; null or masked values become null, but
a NaN stays one.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_void_p, pointer
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from kshell.python.arrow import GET, RELEASE, Array, Schema, Stream
from kshell.python.objects import ARROW, Table

_FORMATS = {
    "i1": "c",
    "u1": "C",
    "i2": "s",
    "u2": "S",
    "i4": "i",
    "u4": "I",
    "i8": "l",
    "u8": "L",
    "f2": "e",
    "f4": "f",
    "f8": "g",
}
_UNITS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}
_NULLABLE = 2

_NEW = ctypes.pythonapi.PyCapsule_New
_NEW.restype, _NEW.argtypes = ctypes.py_object, [c_void_p, c_char_p, c_void_p]
_GET = ctypes.pythonapi.PyCapsule_GetPointer
_NAME = b"arrow_array_stream"


class Made(NamedTuple):
    """One array: format, length, null bitmap or None, the other buffers, children by name, and a dictionary."""

    format: str
    n: int
    absent: np.ndarray | None
    buffers: list[np.ndarray]
    children: tuple[tuple[str, Made], ...] = ()
    dictionary: Made | None = None


class Coded:
    """A column of texts by their places among the distinct ones."""

    def __init__(self, texts: list[str], places: np.ndarray) -> None:
        self.texts, self.places = texts, places

    def __len__(self) -> int:
        return len(self.places)


# ------------------------------------------------------------------ columns


def made(x: Any, name: str = "") -> Made:
    """The Arrow form of a column; TypeError if it has none."""
    if isinstance(x, np.ndarray) and x.ndim == 1 and x.dtype.kind not in "OUSV":
        return _numbers(x)
    if isinstance(x, np.ndarray) and x.dtype.kind == "V" and not len(x):  # of guids
        return Made("w:16", 0, None, [np.empty(0, np.uint8)])
    if isinstance(x, Table):
        return _struct(x)
    if isinstance(x, Coded):
        return _coded(x.texts, x.places)
    if isinstance(x, dict):
        raise TypeError(f"column {name} has no Arrow form")
    items = x.tolist() if isinstance(x, np.ndarray) else list(x)
    classes = set(map(type, items))
    if classes == {type(None)}:
        return Made("n", len(items), None, [])
    if classes <= {str}:
        return _symbols(items)
    if classes <= {bytes, np.bytes_}:
        return _joined("z", [np.frombuffer(item, np.uint8) for item in items], np.uint8)
    if classes == {UUID}:
        return Made(
            "w:16",
            len(items),
            None,
            [np.frombuffer(b"".join(item.bytes for item in items), np.uint8)],
        )
    if all(isinstance(item, np.ndarray | list | bytes) for item in items) and not classes & {bytes}:
        return _lists(items, name)
    raise TypeError(f"column {name} has no Arrow form")


def _struct(x: Table) -> Made:
    """A table, one child per column."""
    return Made(
        "+s", x.rows, None, [], tuple((name, made(value, name)) for name, value in x.items())
    )


def _numbers(x: np.ndarray) -> Made:
    absent = np.ma.getmaskarray(x) if isinstance(x, np.ma.MaskedArray) else None
    array = np.ascontiguousarray(x.data if isinstance(x, np.ma.MaskedArray) else x)
    kind = array.dtype.kind
    if kind == "b":
        return Made("b", len(array), absent, [np.packbits(array, bitorder="little")])
    if kind not in "mM":
        return Made(_FORMATS[f"{kind}{array.dtype.itemsize}"], len(array), absent, [array])
    absent = np.isnat(array) if absent is None else absent | np.isnat(array)
    unit = np.datetime_data(array.dtype)[0]
    if kind == "M" and unit in ("Y", "M", "W", "D"):
        days = np.where(absent, 0, array.astype("M8[D]").astype(np.int64)).astype(np.int32)
        return Made("tdD", len(array), absent, [days])
    if unit not in _UNITS:
        array, unit = array.astype(f"{kind}8[s]"), "s"
    arrow_format = f"ts{_UNITS[unit]}:" if kind == "M" else f"tD{_UNITS[unit]}"
    return Made(arrow_format, len(array), absent, [array.view(np.int64)])


def _symbols(items: list[str]) -> Made:
    codes = {text: code for code, text in enumerate(dict.fromkeys(items))}
    return _coded(list(codes), np.fromiter(map(codes.__getitem__, items), np.int32, len(items)))


def _coded(texts: list[str], places: np.ndarray) -> Made:
    encoded = [np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8) for text in texts]
    return Made("i", len(places), None, [places], (), _joined("u", encoded, np.uint8))


def _offsets(items: list[Any]) -> np.ndarray:
    offsets = np.zeros(len(items) + 1, np.int64)
    np.cumsum([len(item) for item in items], out=offsets[1:])
    return offsets


def _joined(fmt: str, items: list[np.ndarray], dtype: type) -> Made:
    """Texts or bytes concatenated; from 2 GB on with wide offsets."""
    offsets = _offsets(items)
    contents = np.concatenate(items) if items else np.empty(0, dtype)
    is_wide = len(contents) >= 1 << 31
    return Made(
        fmt.upper() if is_wide else fmt,
        len(items),
        None,
        [offsets if is_wide else offsets.astype(np.int32), contents],
    )


def _lists(items: list[Any], name: str) -> Made:
    """Lists of one type."""
    arrays = [item for item in items if isinstance(item, np.ndarray) and item.ndim == 1]
    if items and len(arrays) == len(items) and len({array.dtype for array in arrays}) == 1:
        if any(isinstance(array, np.ma.MaskedArray) for array in arrays):
            inner = made(np.ma.concatenate(arrays), name)
        else:
            inner = made(np.concatenate(arrays), name)
    else:
        flat = [x for item in items for x in item]
        inner = made(
            np.array(flat) if flat and all(isinstance(x, int | float) for x in flat) else flat, name
        )
    return Made("+L", len(items), None, [_offsets(items)], (("item", inner),))


# ------------------------------------------------------------------ the C structures

# memory referenced by exported structures until they are released, by the address of their private data
_HELD: dict[int, Any] = {}
_COUNT = [0]


def _hold(*things: Any) -> int:
    _COUNT[0] += 1
    _HELD[_COUNT[0]] = things
    return _COUNT[0]


def _released(cls: Any) -> Any:
    def release(at: int) -> None:
        structure = cls.from_address(at)
        for index in range(structure.n_children if cls is not Stream else 0):
            child = structure.children[index]
            if child and child.contents.release:
                RELEASE(child.contents.release)(ctypes.addressof(child.contents))
        if cls is not Stream and structure.dictionary and structure.dictionary.contents.release:
            RELEASE(structure.dictionary.contents.release)(
                ctypes.addressof(structure.dictionary.contents)
            )
        _HELD.pop(structure.private_data, None)
        structure.release = None

    return RELEASE(release)


_RELEASE = {cls: _released(cls) for cls in (Schema, Array, Stream)}


def _address(callback: Any) -> int:
    return ctypes.cast(callback, c_void_p).value or 0


def _pointers(cls: type, found: list[Any]) -> Any:
    return (POINTER(cls) * max(len(found), 1))(*map(pointer, found))


def _schema(out: Schema, m: Made, name: str) -> None:
    children = [Schema() for _ in m.children]
    for child_schema, (label, child) in zip(children, m.children, strict=True):
        _schema(child_schema, child, label)
    pointers = _pointers(Schema, children)
    texts = m.format.encode(), name.encode("utf-8", "replace")  # the structure has their addresses
    out.format, out.name, out.flags = *texts, _NULLABLE
    out.n_children, out.children = len(children), pointers
    inner = Schema()
    if m.dictionary is not None:
        _schema(inner, m.dictionary, "")
        out.dictionary = pointer(inner)
    out.release, out.private_data = (
        _address(_RELEASE[Schema]),
        _hold(children, pointers, inner, texts),
    )


def _array(out: Array, m: Made) -> None:
    children = [Array() for _ in m.children]
    for child_array, (_, child) in zip(children, m.children, strict=True):
        _array(child_array, child)
    pointers = _pointers(Array, children)
    absent = m.absent if m.absent is not None and m.absent.any() else None
    validity = None if absent is None else np.packbits(~absent, bitorder="little")
    arrays = [np.ascontiguousarray(buffer) for buffer in m.buffers]
    buffers = (c_void_p * (1 + len(arrays)))(
        None if validity is None else validity.ctypes.data, *(array.ctypes.data for array in arrays)
    )
    null_count = 0 if absent is None else int(absent.sum())
    out.length, out.null_count, out.offset = m.n, m.n if m.format == "n" else null_count, 0
    out.n_buffers, out.buffers = (
        (m.format != "n") + len(arrays),
        ctypes.cast(buffers, POINTER(c_void_p)),
    )
    out.n_children, out.children = len(children), pointers
    inner = Array()
    if m.dictionary is not None:
        _array(inner, m.dictionary)
        out.dictionary = pointer(inner)
    out.release, out.private_data = (
        _address(_RELEASE[Array]),
        _hold(children, pointers, validity, arrays, buffers, inner),
    )


@ARROW.set
def stream(table: Table) -> Any:
    """The capsule with a stream of one array: a struct of the table's columns."""
    root = _struct(table)
    delivered = [False]

    def get_schema(_: int, at: int) -> int:
        ctypes.memset(at, 0, ctypes.sizeof(Schema))
        _schema(Schema.from_address(at), root, "")
        return 0

    def get_next(_: int, at: int) -> int:
        ctypes.memset(at, 0, ctypes.sizeof(Array))
        if not delivered[0]:
            delivered[0] = True
            _array(Array.from_address(at), root)
        return 0

    structure = Stream()
    calls = GET(get_schema), GET(get_next), _NO_ERROR
    structure.get_schema, structure.get_next, structure.get_last_error = map(_address, calls)
    structure.release, structure.private_data = _address(_RELEASE[Stream]), _hold(calls, root)
    _HELD[-ctypes.addressof(structure)] = structure
    return _NEW(ctypes.addressof(structure), _NAME, ctypes.cast(_DESTROY, c_void_p))


def _destroy(capsule: int) -> None:
    """The destructor of the capsule: release the stream, if its consumer has not."""
    get_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(
        ("PyCapsule_GetPointer", ctypes.pythonapi)
    )
    address = get_pointer(capsule, _NAME)
    structure = Stream.from_address(address)
    if structure.release:
        RELEASE(structure.release)(address)
    _HELD.pop(-address, None)


_DESTROY = ctypes.PYFUNCTYPE(None, c_void_p)(_destroy)
_NO_ERROR = ctypes.CFUNCTYPE(c_void_p, c_void_p)(lambda at: None)
