"""Reading Arrow data from any library through its C interface (`__arrow_c_stream__`, `__arrow_c_array__`).

https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html. The memory belongs to the producer,
so everything is copied. The caller decides what columns are made of (`Made` in into.py).
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from ctypes import POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.core import List, ListValue, Table, Vec, flat_list
from kshell.values.base.symbols import sym_codes

if TYPE_CHECKING:
    from kshell.python.into import Made


class Schema(Structure):
    """ArrowSchema."""


class Array(Structure):
    """ArrowArray."""


class Stream(Structure):
    """ArrowArrayStream."""


RELEASE = ctypes.CFUNCTYPE(None, c_void_p)
GET = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
ERROR = ctypes.CFUNCTYPE(c_void_p, c_void_p)
Schema._fields_ = [
    ("format", c_char_p),
    ("name", c_char_p),
    ("metadata", c_void_p),
    ("flags", c_int64),
    ("n_children", c_int64),
    ("children", POINTER(POINTER(Schema))),
    ("dictionary", POINTER(Schema)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]
Array._fields_ = [
    ("length", c_int64),
    ("null_count", c_int64),
    ("offset", c_int64),
    ("n_buffers", c_int64),
    ("n_children", c_int64),
    ("buffers", POINTER(c_void_p)),
    ("children", POINTER(POINTER(Array))),
    ("dictionary", POINTER(Array)),
    ("release", c_void_p),
    ("private_data", c_void_p),
]
Stream._fields_ = [
    ("get_schema", c_void_p),
    ("get_next", c_void_p),
    ("get_last_error", c_void_p),
    ("release", c_void_p),
    ("private_data", c_void_p),
]

_capsule = ctypes.pythonapi.PyCapsule_GetPointer
_capsule.restype, _capsule.argtypes = c_void_p, [ctypes.py_object, c_char_p]

_NUMBERS = {
    "c": "i1",
    "C": "u1",
    "s": "i2",
    "S": "u2",
    "i": "i4",
    "I": "u4",
    "l": "i8",
    "L": "u8",
    "e": "f2",
    "f": "f4",
    "g": "f8",
}
_ALIKE = frozenset("silfg")  # those of which q has the same
# temporal formats without a time zone: storage type, numpy's type, and the result type
_TIMES = {
    "tdD": ("i4", "M8[D]", "M8[D]"),
    "tdm": ("i8", "M8[ms]", "M8[D]"),
    "tts": ("i4", "m8[s]", "m8[s]"),
    "ttm": ("i4", "m8[ms]", "m8[ms]"),
    "ttu": ("i8", "m8[us]", "m8[us]"),
    "ttn": ("i8", "m8[ns]", "m8[ns]"),
    **{f"tD{u[0]}": ("i8", f"m8[{u}]", f"m8[{u}]") for u in ("s", "ms", "us", "ns")},
}
_UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}
_CALLS = ("__arrow_c_stream__", "__arrow_c_array__")


def offers(x: object) -> bool:
    """Does it offer Arrow data?"""
    return any(hasattr(type(x), method) for method in _CALLS)


def read(x: Any, made: type[Made]) -> tuple[list[str] | None, list[ListValue]]:
    """The names and columns of an object's Arrow data; without names, the single column of data that is not a
    struct."""
    error = ""
    try:
        if hasattr(type(x), _CALLS[0]):
            return _read_stream(x.__arrow_c_stream__(), made)
        schema, array = x.__arrow_c_array__()
        return _read_array(schema, array, made)
    except (ImportError, NotImplementedError) as e:
        error = str(e)
    raise QError(f"no Arrow data of a Python object of class {type(x).__name__}: {error}")


def _read_stream(capsule: object, made: type[Made]) -> tuple[list[str] | None, list[ListValue]]:
    address = _capsule(capsule, b"arrow_array_stream")
    stream, schema = Stream.from_address(address), Schema()
    arrays: list[Array] = []
    try:
        _ok(stream, address, GET(stream.get_schema)(address, ctypes.addressof(schema)))
        while True:
            array = Array()
            _ok(stream, address, GET(stream.get_next)(address, ctypes.addressof(array)))
            if not array.release:
                break
            arrays.append(array)
        return _columns(schema, arrays, made)
    finally:
        for structure in (*arrays, schema):
            if structure.release:
                RELEASE(structure.release)(ctypes.addressof(structure))


def _ok(stream: Stream, at: int, code: int) -> None:
    if code:
        message = ERROR(stream.get_last_error)(at) if stream.get_last_error else None
        raise QError(
            ctypes.string_at(message).decode("utf-8", "replace")
            if message
            else "Arrow data cannot be read"
        )


def _read_array(
    schema: object, array: object, made: type[Made]
) -> tuple[list[str] | None, list[ListValue]]:
    structure = Schema.from_address(_capsule(schema, b"arrow_schema"))
    return _columns(structure, [Array.from_address(_capsule(array, b"arrow_array"))], made)


def _columns(
    schema: Schema, arrays: list[Array], made: type[Made]
) -> tuple[list[str] | None, list[ListValue]]:
    if schema.format != b"+s":
        return None, [
            _joined(
                schema, [_Part(schema, array, array.offset, array.length) for array in arrays], made
            )
        ]
    names, columns = [], []
    for index in range(schema.n_children):
        child = schema.children[index].contents
        parts = [_child(schema, array, index, array.offset, array.length) for array in arrays]
        name = (child.name or b"").decode("utf-8", "replace")
        problem = ""
        try:
            columns.append(_joined(child, parts, made))
        except QError as e:
            problem = e.text
        if problem:
            raise QError(f"column {name}: {problem}")
        names.append(name)
    return names, columns


def _child(schema: Schema, a: Array, i: int, start: int, n: int) -> _Part:
    child = a.children[i].contents
    return _Part(schema.children[i].contents, child, child.offset + start, n)


class _Part:
    """Items start..start+n of an array, interpreted by its schema."""

    __slots__ = ("a", "n", "s", "start")

    def __init__(self, schema: Schema, array: Array, start: int, n: int) -> None:
        self.s, self.a, self.start, self.n = schema, array, start, n

    def buffer(self, i: int, dtype: str, start: int, n: int) -> np.ndarray:
        """Part of a buffer as an array over the producer's memory."""
        address, itemsize = self.a.buffers[i], np.dtype(dtype).itemsize
        if not n or not address:
            return np.zeros(n, dtype)
        memory: Any = (ctypes.c_char * (n * itemsize)).from_address(address + start * itemsize)
        return np.frombuffer(memory, dtype, n)

    def bits(self, i: int) -> np.ndarray:
        first_byte = self.start // 8
        packed = self.buffer(i, "u1", first_byte, (self.start + self.n + 7) // 8 - first_byte)
        skipped = self.start - 8 * first_byte
        return np.unpackbits(packed, bitorder="little")[skipped : skipped + self.n].view(bool)

    def has_more(self) -> bool:
        """Are there nulls, or a dictionary?"""
        return bool(self.s.dictionary) or self.absent() is not None

    def absent(self) -> np.ndarray | None:
        """Which items are null; None if none are."""
        if not self.a.null_count or not self.a.n_buffers or not self.a.buffers[0]:
            return None
        return ~self.bits(0)

    def numbers(self, dtype: str, i: int = 1) -> np.ndarray:
        return self.buffer(i, dtype, self.start, self.n)


def _joined(schema: Schema, parts: list[_Part], made: type[Made]) -> ListValue:
    """The column formed by the parts of all arrays in a stream."""
    fmt = (schema.format or b"").decode()
    if len(parts) > 1 and fmt in _ALIKE and not any(map(_Part.has_more, parts)):
        empty = cast("Vec", made.array(np.empty(0, _NUMBERS[fmt])))
        numbers = [part.numbers(_NUMBERS[fmt]) for part in parts]
        return Vec(empty.t, np.concatenate(numbers, dtype=empty.a.dtype))
    columns = [_part(fmt, part, made) for part in parts if part.n]
    if len(columns) == 1:
        return columns[0]
    if not columns:
        return _none(fmt, schema, made)
    tables = [column for column in columns if column.__class__ is Table]
    if len(tables) == len(columns):
        return Table(
            tables[0].names,
            [
                _together([table.cols[index] for table in tables], made)
                for index in range(len(tables[0].names))
            ],
        )
    return _together(columns, made)


def _together(values: Sequence[ListValue], made: type[Made]) -> ListValue:
    vectors = [value for value in values if value.__class__ is Vec]
    if len(vectors) == len(values) and len({vector.t for vector in vectors}) == 1:
        return Vec(vectors[0].t, np.concatenate([vector.a for vector in vectors]))
    return made.listing([item for value in values for item in value.items])


def _none(fmt: str, schema: Schema, made: type[Made]) -> ListValue:
    """An empty column of the type that it would have."""
    if fmt in _NUMBERS and not schema.dictionary:
        return made.array(np.empty(0, _NUMBERS[fmt]))
    if fmt in _TIMES or fmt.startswith("ts"):
        return made.array(np.empty(0, _TIMES[fmt][2] if fmt in _TIMES else "M8[ns]"))
    if schema.dictionary or fmt in ("u", "U", "vu"):
        return Vec(T.S, np.empty(0, np.int32))
    return made.array(np.empty(0, bool)) if fmt == "b" else List([])


def _part(fmt: str, p: _Part, made: type[Made]) -> ListValue:
    if p.s.dictionary:
        dictionary = p.a.dictionary.contents
        inner = _Part(p.s.dictionary.contents, dictionary, dictionary.offset, dictionary.length)
        values = _joined(inner.s, [inner], made)
        absent = p.absent()
        codes = p.numbers(_NUMBERS[fmt]).astype(np.int64)
        return made.coded(values, codes if absent is None else np.where(absent, -1, codes), absent)
    reader = _SIMPLE.get(fmt)
    if reader is not None:
        return reader(p, made)
    if fmt in _NUMBERS:
        return _masked(p.numbers(_NUMBERS[fmt]), p, made)
    if fmt in _TIMES or (fmt[:2] == "ts" and fmt[2:3] in _UNITS):
        unit = _UNITS.get(fmt[2:3], "")
        stored, dtype, target = _TIMES.get(fmt) or ("i8", f"M8[{unit}]", f"M8[{unit}]")
        array = p.numbers(stored).astype(np.int64).view(dtype).astype(target)
        return _masked(array, p, made)
    prefix, _, suffix = fmt.partition(":")
    if prefix == "w":
        return _fixed(p, int(suffix), made)
    if prefix == "d" and suffix.count(",") < 2:
        words = p.buffer(1, "u8", 2 * p.start, 2 * p.n).reshape(-1, 2)
        high, low = words[:, 1].view("i8"), words[:, 0].view("i8")
        integers = np.where(high == low >> 63, low, high * 2.0**64 + words[:, 0])
        return _masked(integers / 10.0 ** int(suffix.split(",")[1]), p, made)
    if prefix == "+w":
        list_size = int(suffix)
        ends = np.arange(1, p.n + 1, dtype=np.int64) * list_size
        return _nested(p, _child(p.s, p.a, 0, p.start * list_size, p.n * list_size), ends, made)
    raise QError(f"no q type for Arrow's {fmt}")


def _masked(a: np.ndarray, p: _Part, made: type[Made]) -> ListValue:
    absent = p.absent()
    return made.array(a if absent is None else np.ma.array(a, mask=absent))


def _ends(p: _Part, dtype: str) -> tuple[int, np.ndarray]:
    """The start of the first item in the data, and the end of each relative to it."""
    offsets = p.buffer(1, dtype, p.start, p.n + 1).astype(np.int64)
    return int(offsets[0]), offsets[1:] - offsets[0]


def _texts(dtype: str) -> Callable[[_Part, type[Made]], ListValue]:
    """UTF-8 as symbols; null becomes the empty symbol."""

    def run(p: _Part, made: type[Made]) -> ListValue:
        start, ends = _ends(p, dtype)
        encoded = p.buffer(2, "u1", start, int(ends[-1])).tobytes()
        absent = p.absent()
        bounds = [0, *ends.tolist()]
        texts = [
            encoded[begin:end].decode("utf-8", "surrogateescape")
            for begin, end in zip(bounds, bounds[1:], strict=False)
        ]
        if absent is not None:
            texts = [
                "" if is_absent else text
                for text, is_absent in zip(texts, absent.tolist(), strict=True)
            ]
        return Vec(T.S, sym_codes(texts))

    return run


def _bytes(dtype: str) -> Callable[[_Part, type[Made]], ListValue]:
    """Binary data as strings."""

    def run(p: _Part, made: type[Made]) -> ListValue:
        start, ends = _ends(p, dtype)
        return _flat(T.C, p.buffer(2, "u1", start, int(ends[-1])).copy(), ends, p.absent())

    return run


def _views(text: bool) -> Callable[[_Part, type[Made]], ListValue]:
    """Texts or bytes in view format: short ones are in the view itself, others in data buffers; each view is read once,
    however often it occurs."""

    def run(p: _Part, made: type[Made]) -> ListValue:
        views, absent = p.buffer(1, "V16", p.start, p.n), p.absent()
        if absent is not None:
            views = views.copy()
            views[absent] = b"\0" * 16
        view_items = views.tolist()
        count = int(p.a.n_buffers) - 3
        sizes = p.buffer(count + 2, "i8", 0, count)
        buffers = [
            p.buffer(2 + index, "u1", 0, int(sizes[index])).tobytes() for index in range(count)
        ]
        distinct = dict.fromkeys(view_items)
        contents = [_viewed(view, buffers) for view in distinct]
        if text:
            codes = sym_codes(
                [content.decode("utf-8", "surrogateescape") for content in contents]
            ).tolist()
            view_codes = dict(zip(distinct, codes, strict=True))
            return Vec(
                T.S, np.fromiter(map(view_codes.__getitem__, view_items), np.int32, len(view_items))
            )
        items = list(map(dict(zip(distinct, contents, strict=True)).__getitem__, view_items))
        return flat_list(
            T.C,
            np.frombuffer(b"".join(items), np.uint8),
            np.cumsum([len(content) for content in items]),
        )

    return run


def _viewed(view: bytes, datas: list[bytes]) -> bytes:
    """The bytes that a 16-byte view refers to."""
    length, _, index, offset = _VIEW.unpack(view)
    return view[4 : 4 + length] if length <= 12 else datas[index][offset : offset + length]


_VIEW = struct.Struct("<4i")


def _fixed(p: _Part, size: int, made: type[Made]) -> ListValue:
    if size == 16:
        return _masked_guid(p)
    ends = np.arange(1, p.n + 1, dtype=np.int64) * size
    return _flat(T.C, p.buffer(1, "u1", p.start * size, p.n * size).copy(), ends, p.absent())


def _masked_guid(p: _Part) -> ListValue:
    guids = p.buffer(1, "V16", p.start, p.n).copy()
    absent = p.absent()
    if absent is not None:
        guids[absent] = b"\0" * 16
    return Vec(T.G, guids)


def _flat(t: int, a: np.ndarray, ends: np.ndarray, absent: np.ndarray | None) -> ListValue:
    """The list of vectors stored one after another; null becomes empty."""
    if absent is not None:
        sizes = np.diff(ends, prepend=0)
        a = a[~np.repeat(absent, sizes)]
        ends = np.cumsum(np.where(absent, 0, sizes))
    return flat_list(t, a, ends)


def _lists(dtype: str) -> Callable[[_Part, type[Made]], ListValue]:
    def run(p: _Part, made: type[Made]) -> ListValue:
        start, ends = _ends(p, dtype)
        return _nested(p, _child(p.s, p.a, 0, start, int(ends[-1])), ends, made)

    return run


def _nested(p: _Part, child: _Part, ends: np.ndarray, made: type[Made]) -> ListValue:
    values = _joined(child.s, [child], made)
    if values.__class__ is Vec:
        return _flat(values.t, values.a, ends, p.absent())
    items, bounds = values.items, [0, *ends.tolist()]
    return List(
        [made.listing(items[begin:end]) for begin, end in zip(bounds, bounds[1:], strict=False)]
    )


def _struct(p: _Part, made: type[Made]) -> ListValue:
    """Rows of named fields: a table. (A row cannot be null; its fields are.)"""
    field_count = int(p.s.n_children)
    names = [
        (p.s.children[index].contents.name or b"").decode("utf-8", "replace")
        for index in range(field_count)
    ]
    return Table(
        names,
        [
            _joined(p.s.children[index].contents, [_child(p.s, p.a, index, p.start, p.n)], made)
            for index in range(field_count)
        ],
    )


def _nothing(p: _Part, made: type[Made]) -> ListValue:
    return made.listing([None] * p.n)


_SIMPLE: dict[str, Callable[[_Part, type[Made]], ListValue]] = {
    "n": _nothing,
    "b": lambda p, made: _masked(p.bits(1), p, made),
    "u": _texts("i4"),
    "U": _texts("i8"),
    "z": _bytes("i4"),
    "Z": _bytes("i8"),
    "vu": _views(True),
    "vz": _views(False),
    "+l": _lists("i4"),
    "+L": _lists("i8"),
    "+s": _struct,
}
__all__ = ["GET", "RELEASE", "Array", "Schema", "Stream", "offers", "read"]
