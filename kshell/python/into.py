"""Python values to q values. Arrays and data frames are copied, because q values never change; torch objects are
shared.

str becomes a symbol and bytes a string, as in other interfaces to q; None becomes the null of its list's type, else
`::`. Objects from libraries are recognized by what their class supports, without importing the library. Objects without
a q equivalent are stored as they are, alone and in lists and dictionaries (`Foreign`), as are objects that raise an
exception when examined.
"""

from __future__ import annotations

import datetime as dt
import decimal
import fractions
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

import numpy as np

from kshell.errors import QError
from kshell.python import arrow, interchange, noted
from kshell.python.objects import Function, Table
from kshell.python.outof import QUICK, from_q
from kshell.python.torch_side import adopt
from kshell.values.base import core
from kshell.values.base import types as T
from kshell.values.base.build import collapse, empty, guid_vec, longs, regular, string
from kshell.values.base.core import (
    NIL,
    NULL_J,
    Atom,
    Dict,
    List,
    ListValue,
    Value,
    Vec,
    atom,
    atom_t,
    long,
)
from kshell.values.base.from_numpy import NoType, typed
from kshell.values.base.functions import Door, Foreign, Handle, PyFunction
from kshell.values.base.functions import Function as QFunction
from kshell.values.base.symbols import Sym, sym, sym_codes

_Q_VALUES = (Vec, List, Dict, core.Table, Atom, Sym, core.Special, QFunction, Handle)


def to_q(x: object) -> Value:
    """The q value of a Python object; an object without one is stored as it is. An error if part of it cannot be
    converted."""
    converter = _PLAIN.get(type(x))  # `__class__` may lie
    return _other(x) if converter is None else converter(x)


def _other(x: Any) -> Value:
    """Convert an object that is not exactly of one of the most common classes."""
    object_class = type(x)
    try:
        if x is NIL or issubclass(object_class, _Q_VALUES):
            return x
        for base, convert in _CLASSES:
            if issubclass(object_class, base):
                return convert(x)
        return _duck(x)
    except (QError, MemoryError, RecursionError):
        raise
    except Exception:  # it is not what it seemed to be
        return Foreign(x)


def _can(x: object, *names: str) -> bool:
    """Does its class have all of these? An instance may fake any attribute."""
    return all(hasattr(type(x), name) for name in names)


def _duck(x: Any) -> Value:
    """Convert an object of a class outside Python and numpy: torch objects, data frames and columns, arrays of other
    libraries, functions."""
    adopted = adopt().value_of(x)
    if adopted is not None:
        return adopted
    if missing(x):
        return NIL
    if _can(x, "iloc", "dtypes"):
        return _frame(x) if _can(x, "columns") else _series(x)
    if arrow.offers(x):
        return _arrow(x)
    if interchange.offers(x):
        return _keyed(interchange.read(x, Made), ())
    if _can(x, "to_datetime64") or _can(x, "to_timedelta64"):
        return to_q(x.to_datetime64() if _can(x, "to_datetime64") else x.to_timedelta64())
    if _can(x, "__array__"):
        return array(np.asarray(x))
    if issubclass(type(x), Mapping):
        return _dict(x)
    if issubclass(type(x), Sequence):
        return listing(list(x))
    return function(x) if callable(x) else Foreign(x)


def function(f: Callable[..., Any]) -> Value:
    """A Python function as a q function that converts as a Session does. Its errors begin with its name. Python gets
    the function itself back."""
    name = getattr(f, "__name__", None)
    return PyFunction(f, DOOR, name if isinstance(name, str) else type(f).__name__)


DOOR = Door(from_q, to_q, QUICK)


# ------------------------------------------------------------------ atoms


def _long(n: int) -> Value:
    if not -T.M63 <= n < T.M63:
        raise QError("limit")
    return long(n)


def _bytes(x: bytes) -> Value:
    return atom(T.C, x[0]) if isinstance(x, np.bytes_) and len(x) == 1 else string(bytes(x))


def _datetime(x: dt.datetime) -> Value:
    """A timestamp, in UTC if it has a time zone; pandas' own has nanoseconds."""
    if x.tzinfo is not None:
        x = x.astimezone(dt.UTC).replace(tzinfo=None)
    return array(
        np.asarray(x.to_datetime64() if hasattr(x, "to_datetime64") else np.datetime64(x, "us"))
    )


def _timedelta(x: dt.timedelta) -> Value:
    delta = x.to_timedelta64() if hasattr(x, "to_timedelta64") else np.timedelta64(x, "us")
    return array(np.asarray(delta.astype("m8[ns]")))


def _time(x: dt.time) -> Value:
    micro = ((x.hour * 60 + x.minute) * 60 + x.second) * 1_000_000 + x.microsecond
    return Atom(T.N, micro * 1000)


def missing(x: object) -> bool:
    """Is it pandas' missing value marker?"""
    return type(x).__name__ in ("NAType", "NaTType")


# ------------------------------------------------------------------ lists, dictionaries


def listing(items: list[Any]) -> Value:
    """The q list for some Python values: a vector if all have one type, with None as its null; for tensors a handle."""
    classes = set(map(type, items))
    if len(classes) == 1:
        item_class = next(iter(classes))
        if item_class is str:
            return Vec(T.S, sym_codes(items))
        if item_class is float or item_class is bool:
            return Vec(T.F if item_class is float else T.B, np.array(items))
        if item_class is int:
            return longs(_longs(items))
    if adopt().all_tensors(items):
        return adopt().vector_of(items)
    values = [to_q(item) for item in items]
    return collapse(_filled(values) if any(item is NIL for item in values) else values)


def _longs(items: list[int]) -> np.ndarray:
    try:
        return np.array(items, np.int64)
    except OverflowError:
        pass
    raise QError("limit")


def _filled(items: list[Value]) -> list[Value]:
    """Items with `::` replaced by the null of their type, if they have one type with a null."""
    known = [x for x in items if x is not NIL]
    types = set(map(atom_t, known))
    qtype = next(iter(types)) if len(types) == 1 else 0
    vectors = [x for x in known if x.__class__ is Vec]
    if vectors and len(vectors) == len(known) and len({x.t for x in vectors}) == 1:
        return [empty(vectors[0].t) if x is NIL else x for x in items]  # for lists, the empty one
    if qtype == 0 or qtype in (T.B, T.X, T.ENUM):
        return items
    null = sym("") if qtype == T.S else atom(qtype, T.NULL[qtype])
    return [null if x is NIL else x for x in items]


def _dict(x: Mapping[Any, Any]) -> Value:
    keys, values = list(x), list(x.values())
    if adopt().all_tensors(values) and all(isinstance(key, str) for key in keys):
        return adopt().dict_of(x)
    return Dict(_items(keys), _items(values))


def _items(items: list[Any]) -> ListValue:
    """The list of keys, values or column items; tensors become handles."""
    if adopt().all_tensors(items):
        return List([to_q(item) for item in items])
    return cast("ListValue", listing(items))  # only for handles of tensors


def _table(x: Table) -> Value:
    """A table from Python columns, keyed by the columns in `key`."""
    return _keyed({name: column(value, name) for name, value in x.items()}, x.key)


def _keyed(cols: dict[str, ListValue], key: Sequence[str]) -> Value:
    if len({len(value) for value in cols.values()}) > 1:
        raise QError("length")
    name_lists = [[column for column in cols if (column in key) is side] for side in (True, False)]
    key_table, value_table = (
        core.Table(names, [cols[name] for name in names]) for names in name_lists
    )
    return Dict(key_table, value_table) if key else value_table


def column(x: Any, name: str = "") -> ListValue:
    """The q column of a Python one."""
    value = (
        array(x)
        if isinstance(x, np.ndarray)
        else _items(list(x))
        if isinstance(x, list | tuple)
        else to_q(x)
    )
    if value.__class__ is Vec or value.__class__ is core.Table or isinstance(value, List):
        return value
    raise QError(f"column {name}: expected a list, given {type(x).__name__}")


# ------------------------------------------------------------------ numpy


def _numpy(x: np.ndarray | np.generic) -> Value:
    """The value of a numpy array or scalar; if q lacks its type, the object itself."""
    try:
        return array(np.asarray(x) if isinstance(x, np.generic) else x)
    except NoType:
        return Foreign(x)


def array(a: np.ndarray) -> Value:
    """The value of an array: an atom, a vector or a nested list; for a structured array a table. Masked items become
    null."""
    if a.dtype.names:
        return _structured(a, a.dtype.names)
    kind = a.dtype.kind
    if kind == "U" and not a.size:
        return regular(T.S, np.empty(a.shape, np.int32))
    if kind in "OUT":
        return listing(a.tolist()) if a.ndim else to_q(a.item())
    if kind == "S" and a.dtype.itemsize == 1:
        return regular(T.C, np.array(a, order="C").view(np.uint8).reshape(a.shape))
    if kind == "S":
        return listing(a.tolist()) if a.ndim else string(a.item())
    mask = np.ma.getmaskarray(a) if isinstance(a, np.ma.MaskedArray) else None
    data = a.data if isinstance(a, np.ma.MaskedArray) else a
    qtype, values = typed(data)
    if mask is not None and mask.any():
        if qtype in (T.B, T.X):
            return _gaps(qtype, values, mask)
        if qtype == T.G:
            raise QError(f"there is no null of type {T.TYPE[qtype].name}")
        values = values.copy() if values is data else values
        values[mask] = T.NULL[qtype]
    if values.ndim and not len(values):
        return empty(qtype) if values.ndim == 1 else List([])
    return regular(qtype, values)


def _structured(a: np.ndarray, names: Sequence[str]) -> Value:
    """A structured array as a table."""
    fields = np.ma.asarray(a) if isinstance(a, np.ma.MaskedArray) else a
    return _keyed({name: column(fields[name], name) for name in names}, ())


def _gaps(t: int, a: np.ndarray, mask: np.ndarray) -> Value:
    """The list of items of a type without null: `::` stands for masked ones."""
    if a.ndim > 1:
        return List(
            [array(np.ma.array(row, mask=masked)) for row, masked in zip(a, mask, strict=True)]
        )
    if not a.ndim:
        return NIL
    items = [bool(item) if t == T.B else atom(t, item) for item in a.tolist()]
    return List(
        [NIL if masked else item for item, masked in zip(items, mask.tolist(), strict=True)]
    )


# ------------------------------------------------------------------ frames


def _frame(x: Any) -> Value:
    """A table from a data frame with pandas-like columns; named index levels become its key."""
    columns = {
        str(name): _series(x.iloc[:, index], str(name)) for index, name in enumerate(x.columns)
    }
    named = [(index, str(name)) for index, name in enumerate(x.index.names) if name is not None]
    key_columns = {
        name: _series(x.index.get_level_values(index).to_series(), name) for index, name in named
    }
    if len(columns) < len(x.columns) or columns.keys() & key_columns.keys():
        raise QError("two columns of one name")
    types, _ = noted.of(x)
    found = {
        name: noted.restored(column, types[name]) if name in types else column
        for name, column in (key_columns | columns).items()
    }
    return _keyed(found, tuple(key_columns))


def _series(x: Any, name: str = "") -> ListValue:
    """The vector for a pandas-like column."""
    try:
        return _column(x)
    except QError as e:
        problem = e.text
    raise QError(f"column {name}: {problem}" if name else problem)


def _column(x: Any) -> ListValue:
    dtype = x.dtype
    if hasattr(dtype, "categories"):
        return _coded(column(x.cat.categories.to_series()), x.cat.codes.to_numpy())
    if getattr(dtype, "tz", None) is not None and hasattr(x, "dt"):
        x = x.dt.tz_convert("UTC").dt.tz_localize(None)
        dtype = x.dtype
    if isinstance(dtype, np.dtype) and dtype.kind != "O":
        return cast("ListValue", array(x.to_numpy()))
    absent = np.asarray(x.isna(), bool)
    numpy_dtype = getattr(dtype, "numpy_dtype", None)
    if isinstance(numpy_dtype, np.dtype) and numpy_dtype.kind in "biufmM":
        null = numpy_dtype.type("NaT") if numpy_dtype.kind in "mM" else numpy_dtype.type(0)
        # fall back to objects if the library cannot provide that type
        with suppress(ValueError, TypeError):
            masked = np.ma.array(x.to_numpy(dtype=numpy_dtype, na_value=null), mask=absent)
            return cast("ListValue", array(masked))
    items = x.to_numpy(dtype=object)
    return _items(
        [
            None if is_absent else item
            for item, is_absent in zip(items.tolist(), absent.tolist(), strict=True)
        ]
    )


def _coded(values: ListValue, codes: np.ndarray, absent: np.ndarray | None = None) -> ListValue:
    """Items of a list by index; where the index is negative, or `absent` is set, the null of its type."""
    missing = codes < 0 if absent is None else absent | (codes < 0)
    if not missing.any() and values.__class__ is Vec:
        return Vec(values.t, values.a[codes])
    if values.__class__ is Vec and values.t not in (T.B, T.X, T.ENUM):
        null = np.array([T.NULL[values.t]], values.a.dtype)
        return Vec(values.t, np.append(values.a, null)[np.where(missing, -1, codes)])
    items = [*values.items, NIL]
    return collapse(
        _filled(
            [
                items[-1 if is_missing else code]
                for code, is_missing in zip(codes.tolist(), missing.tolist(), strict=True)
            ]
        )
    )


def _arrow(x: Any) -> Value:
    """The table, or for data that is not a struct the vector, from an object that offers Arrow data."""
    names, columns = arrow.read(x, Made)
    if names is None:
        return columns[0]
    if len(set(names)) < len(names):
        raise QError("two columns of one name")
    types, key = noted.of(x)
    found = {
        name: noted.restored(column, types[name]) if name in types else column
        for name, column in zip(names, columns, strict=True)
    }
    return _keyed(found, tuple(key) if {*key} <= {*names} else ())


class Made:
    """The column constructors for arrow.py."""

    # for arrays with a dimension, and for items that are not tensors
    array = staticmethod(cast("Callable[[np.ndarray], ListValue]", array))
    coded = staticmethod(_coded)
    listing = staticmethod(cast("Callable[[list[Any]], ListValue]", listing))
    joined = staticmethod(collapse)


_PLAIN: dict[type, Callable[[Any], Value]] = {
    type(None): lambda x: NIL,
    bool: lambda x: x,
    float: lambda x: x,
    int: _long,
    str: sym,
    bytes: _bytes,
    list: listing,
    tuple: lambda x: listing(list(x)),
    dict: _dict,
    np.ndarray: _numpy,
    Table: _table,
    Function: lambda x: x.value,
}
# fmt: off  # a table
_CLASSES: tuple[tuple[Any, Callable[[Any], Value]], ...] = (
    (np.ma.core.MaskedConstant, lambda x: NULL_J),
    (np.bytes_, _bytes),
    (np.str_, lambda x: sym(str(x))),
    (np.ndarray, _numpy),
    (np.generic, _numpy),
    (bool, bool),
    (int, lambda x: _long(int(x))),
    (float, float),
    (str, lambda x: sym(str(x))),
    ((bytes, bytearray, memoryview), lambda x: string(bytes(x))),
    (uuid.UUID, lambda x: Atom(T.G, x.bytes)),
    (dt.datetime, lambda x: NIL if missing(x) else _datetime(x)),
    (dt.timedelta, lambda x: _timedelta(x)),
    (dt.date, lambda x: array(np.asarray(np.datetime64(x, "D")))),
    (dt.time, _time),
    ((decimal.Decimal, fractions.Fraction), float),
    (range, lambda x: longs(np.arange(x.start, x.stop, x.step))),
    (dict, _dict),
    ((list, tuple, set, frozenset), lambda x: listing(list(x))),
)
# fmt: on
__all__ = ["array", "column", "guid_vec", "listing", "to_q"]
