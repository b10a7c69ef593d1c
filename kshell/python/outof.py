"""q values to Python values: numpy arrays owned by the caller, dicts, tables; torch objects are shared."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.python.objects import Function, Table
from kshell.python.torch_side import adopt
from kshell.values.base import core
from kshell.values.base import types as T
from kshell.values.base.build import as_nd
from kshell.values.base.core import NULL_J, Atom, Dict, EnumAtom, List, Nd, Special, Value, Vec
from kshell.values.base.functions import Foreign, Handle
from kshell.values.base.functions import Function as QFunction
from kshell.values.base.symbols import Sym, sym_at
from kshell.values.items.pick import unenum
from kshell.values.session.context import running

# q's temporal types in numpy: data type, and q's epoch counted from 1970
_TIMES = {
    T.P: ("M8[ns]", 946_684_800_000_000_000),
    T.M: ("M8[M]", 360),
    T.D: ("M8[D]", 10957),
    T.N: ("m8[ns]", 0),
    T.U: ("m8[m]", 0),
    T.V: ("m8[s]", 0),
    T.T: ("m8[ms]", 0),
}
_DAY = 86_400_000  # milliseconds


def from_q(x: Value) -> Any:
    """The Python value of a q value. Longs, floats, booleans and symbols become Python's own types, other atoms
    numpy's; a string becomes bytes, an integer null None (in an array: masked)."""
    convert = QUICK.get(x.__class__)
    if convert is not None:
        return convert(x)
    if isinstance(x, Handle):
        return adopt().object_of(x)
    if isinstance(x, Foreign):
        return x.obj
    return _function(x) if isinstance(x, QFunction) else None


def _function(x: QFunction) -> Any:
    """A q function as a Python callable."""
    session: Any = running()
    return Function(x, session.apply, session.show(x))


def _list(x: List) -> Any:
    nested = as_nd(x)
    return vector(nested) if nested is not None else [from_q(item) for item in x.items]


def _atom(x: Atom) -> Any:
    if x.t == T.ENUM:
        return from_q(unenum(x))
    if x.t == T.C:
        return np.bytes_(bytes([x.v]))
    if x.t == T.G:
        return uuid.UUID(bytes=x.v)
    if x.v == T.NULL[x.t] and x.t in (T.H, T.I):
        return None
    return vector(Vec(x.t, np.array([x.v], T.DTYPE[x.t])))[0]


def vector(x: Vec | Nd) -> Any:
    """The array for a vector or rectangular nested list; for a string bytes, for several a list of bytes."""
    qtype, array = x.t, x.a
    if qtype == T.ENUM:
        return from_q(unenum(x))
    if qtype == T.C:
        return array.tobytes() if x.__class__ is Vec else [from_q(item) for item in x.items]
    if qtype == T.S:
        if not array.size:
            return np.empty(array.shape, "U1")  # an empty object array would lose the type
        distinct, indices = np.unique(array, return_inverse=True)
        names = np.array([sym_at(code).s for code in distinct.tolist()], object)
        return names[indices.reshape(array.shape)]
    if qtype == T.G and not array.size:
        return np.empty(array.shape, "V16")
    if qtype == T.G:
        guids = np.empty(array.shape, object)
        guids.reshape(-1)[:] = [uuid.UUID(bytes=bytes(guid)) for guid in array.reshape(-1)]
        return guids
    if qtype == T.Z:
        return _datetimes(array)
    if qtype in _TIMES:
        return _times(qtype, array)
    if qtype in (T.H, T.I, T.J):
        absent = array == T.NULL[qtype]
        if absent.any():
            return np.ma.array(array.copy(), mask=absent)
    return array.copy()


def _times(t: int, a: np.ndarray) -> np.ndarray:
    dtype, epoch = _TIMES[t]
    times = (a.astype(np.int64) + epoch).view(dtype)
    times[a == T.NULL[t]] = "NaT"
    if epoch and t == T.P:  # numpy's range ends in 2262, q's in 2292
        times[(a > T.LONG_MAX - epoch)] = np.datetime64(T.LONG_MAX, "ns")
    return times


def _datetimes(a: np.ndarray) -> np.ndarray:
    """Datetimes (days as floats) in milliseconds."""
    known = np.isfinite(a)
    datetimes = np.full(a.shape, "NaT", "M8[ms]")
    datetimes[known] = (np.rint(a[known] * _DAY).astype(np.int64) + 10957 * _DAY).view("M8[ms]")
    return datetimes


def _dict(x: Dict) -> Any:
    if x.keyed:
        keys, values = x.tables
        return Table(_table(keys) | _table(values), keys.names)
    entries: dict[Any, Any] = {}
    for key, value in zip(x.k.items, x.v.items, strict=True):
        # of equal keys, q finds the first
        entries.setdefault(_hashable(from_q(key)), from_q(value))
    return entries


def _hashable(x: Any) -> Any:
    """x as a dict key; unhashable objects stay q values. An instance may claim any class."""
    if issubclass(type(x), dict):
        return tuple(map(_hashable, x.items()))
    if issubclass(type(x), list | tuple):
        return tuple(map(_hashable, x))
    if issubclass(type(x), np.ndarray):
        return _hashable(x.tolist())
    try:
        hash(x)
        return x
    except Exception:
        return Foreign(x)


def _table(x: core.Table) -> Table:
    return Table(zip(x.names, map(_column, x.cols), strict=True))


def _column(x: Value) -> Any:
    """A column: a one-dimensional array, or a list. Characters become numpy byte strings of length one."""
    if x.__class__ is Vec and x.t == T.C:
        return np.frombuffer(x.a.tobytes(), "S1")
    return [from_q(item) for item in x.items] if isinstance(x, List) else from_q(x)


# conversions by class; of all other values those of handles, Python objects and functions alone
QUICK: dict[type, Callable[[Any], Any]] = {
    int: lambda x: x,
    float: lambda x: x,
    bool: lambda x: x,
    Special: lambda x: None if x is NULL_J else x.v,
    Sym: lambda x: x.s,
    Atom: _atom,
    EnumAtom: _atom,
    Vec: vector,
    Nd: vector,
    List: _list,
    Dict: _dict,
    core.Table: _table,
}
