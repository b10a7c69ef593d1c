"""Python values as q values for `.p`: embedPy's table, extended only where embedPy would leave a bare object.

What has no q value is never refused: it stays a bare object, alone or inside a list.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from kshell.embedpy.callables import QFunction
from kshell.errors import QError, first_line
from kshell.python.torch_side import adopt
from kshell.values.base import types as T
from kshell.values.base.build import collapse, empty, longs, regular
from kshell.values.base.core import (
    INF_J,
    NIL,
    NINF_J,
    Atom,
    Dict,
    List,
    ListValue,
    Nd,
    Special,
    Table,
    Value,
    Vec,
    long,
)
from kshell.values.base.from_numpy import NATIVE
from kshell.values.base.functions import APPLY, Foreign, Function, Handle
from kshell.values.base.symbols import Sym, sym_codes
from kshell.values.session.context import perhaps

_Q_VALUES = (Vec, List, Nd, Dict, Table, Atom, Sym, Special, Function, Handle)
# numpy's types that q has, and others in a type that holds all their numbers
_TYPES: dict[str, tuple[int, str]] = {
    "b1": (T.B, "b1"), "u1": (T.X, "u1"), "i2": (T.H, "i2"), "i4": (T.I, "i4"), "i8": (T.J, "i8"),
    "f4": (T.E, "f4"), "f8": (T.F, "f8"), "i1": (T.H, "i2"), "u2": (T.I, "i4"), "u4": (T.J, "i8"),
    "u8": (T.J, "i8"), "f2": (T.E, "f4"),
}  # fmt: skip

# the q functions for objects that have no q value, by session
CONVERSION: WeakKeyDictionary[Any, Value] = WeakKeyDictionary()


def to_q(x: Any) -> Value:
    """The q value of a Python value; a bare object if it has none."""
    convert = _BY_CLASS.get(type(x))
    return _other(x) if convert is None else convert(x)


def _other(x: Any) -> Value:
    """The same for what is not exactly of one of the most common classes."""
    cls = type(x)
    if x is NIL or issubclass(cls, _Q_VALUES):
        return x
    for base, convert in _BASES:
        if issubclass(cls, base):
            return convert(x)
    if "torch" in sys.modules:
        adopted = adopt().value_of(x)
        if adopted is not None:
            return adopted
    if cls.__module__.startswith(("pandas.core.arrays", "pandas.arrays")):
        return array(np.asarray(x))
    convert_other = CONVERSION.get(perhaps()) if CONVERSION else None
    return Foreign(x) if convert_other is None else APPLY.fn(convert_other, [Foreign(x)])


def _int(x: int) -> Value:
    if -T.LONG_MAX < x < T.LONG_MAX:
        return x
    return long(x) if x == -T.M63 else INF_J if x > 0 else NINF_J


def _text(x: str) -> Value:
    try:
        return Vec(T.C, np.frombuffer(x.encode(), np.uint8))
    except UnicodeEncodeError as e:
        problem = QError(first_line(str(e)))
    raise problem


def _bytes(x: bytes | bytearray | memoryview) -> Value:
    return Vec(T.X, np.frombuffer(bytes(x), np.uint8))


def _list(x: Any) -> ListValue:
    items = list(x)
    if items and all(item.__class__ is int for item in items):
        return longs([_raw(item) for item in items])
    return collapse([to_q(item) for item in items]) if items else List([])


def _raw(x: int) -> int:
    return min(max(x, -T.M63), T.LONG_MAX)


def _dict(x: Mapping[Any, Any]) -> Value:
    keys, values = list(x), [to_q(value) for value in x.values()]
    named = keys and all(key.__class__ is str for key in keys)
    return Dict(
        Vec(T.S, sym_codes(keys)) if named else _list(keys),
        collapse(values) if values else List([]),
    )


def _numpy(x: np.generic) -> Value:
    if isinstance(x, np.str_):
        return _text(str(x))
    return array(np.asarray(x), x)


def array(a: np.ndarray, whole: Any = None) -> Value:
    """The value of an array: an atom, a vector, or a nested list; itself, bare, if q has not its type. `whole` is the
    object to be left bare instead of it."""
    if type(a) is np.ndarray and a.ndim == 1 and a.size and a.dtype.isnative:
        own = NATIVE.get(a.dtype.char)
        if own is not None:
            return Vec(own, a.copy())
    whole = a if whole is None else whole
    if a.dtype.kind == "O":
        return _list(a.tolist()) if a.ndim else to_q(a.item())
    if a.dtype.kind in "UT":
        return _list(a.tolist()) if a.ndim else _text(str(a.item()))
    known = _TYPES.get(a.dtype.str[1:])
    if known is None or a.dtype.names:
        return Foreign(whole)
    qtype, name = known
    if a.dtype.str[1:] == "u8" and a.size and int(a.max()) >= T.M63:
        return Foreign(whole)
    if isinstance(a, np.ma.MaskedArray):
        a = a.data
    if a.ndim == 1 and not len(a):
        return empty(qtype)
    if a.ndim > 1 and not len(a):
        return List([])
    return regular(qtype, np.array(a, name, order="C", subok=False))


_BY_CLASS: dict[type, Callable[[Any], Value]] = {
    type(None): lambda x: NIL,
    bool: lambda x: x,
    int: _int,
    float: lambda x: x,
    str: _text,
    bytes: _bytes,
    list: _list,
    tuple: _list,
    dict: _dict,
    np.ndarray: array,
    QFunction: lambda x: x.value,
}
_BASES: tuple[tuple[type, Callable[[Any], Value]], ...] = (
    (bool, bool),
    (np.generic, _numpy),
    (int, lambda x: _int(int(x))),
    (float, float),
    (str, lambda x: _text(str(x))),
    (bytes, _bytes),
    (bytearray, _bytes),
    (memoryview, _bytes),
    (np.ndarray, array),
    (range, _list),
    (list, _list),
    (tuple, _list),
    (Mapping, _dict),
)
