"""q values as Python values for `.p`: embedPy's table, which keeps temporal values as counts and nulls as bit patterns.

Arrays are read-only views of q's memory: a view counts as a reference, so q copies before it changes what Python holds.
"""

from __future__ import annotations

import contextvars
import threading
import uuid
from collections.abc import Callable
from typing import Any

import numpy as np

from kshell.embedpy.callables import QFunction, RaisedInPython
from kshell.embedpy.into_q import to_q
from kshell.errors import QError
from kshell.lang.compiler.code_objects import with_frames
from kshell.lang.compiler.compile import check_stores
from kshell.python.torch_side import adopt
from kshell.values.base import types as T
from kshell.values.base.build import as_nd
from kshell.values.base.core import Atom, Dict, EnumAtom, List, Nd, Special, Table, Value, Vec
from kshell.values.base.from_numpy import view_of
from kshell.values.base.functions import Foreign, Function, Handle
from kshell.values.base.symbols import Sym, sym_at
from kshell.values.engine.apply import apply
from kshell.values.items.pick import unenum
from kshell.values.session import context


def to_python(x: Value) -> Any:
    """The Python value of a q value. UnicodeDecodeError for text that is not UTF-8."""
    convert = QUICK.get(x.__class__)
    if convert is not None:
        return convert(x)
    if isinstance(x, Foreign):
        return x.obj
    if isinstance(x, Handle):
        return adopt().object_of(x)
    return QFunction(x, _call) if isinstance(x, Function) else None


def _call(f: QFunction, args: tuple[Any, ...]) -> Any:
    """The result of a q function for Python's arguments. In another thread it may read, and assigns nothing."""
    given = [to_q(argument) for argument in args]
    try:
        if context.perhaps() is not None:
            return to_python(apply(f.value, given))
        return contextvars.Context().run(_elsewhere, f, given)
    except QError as e:
        error = RaisedInPython(with_frames(e, e.__traceback__))
    raise error


def _elsewhere(f: QFunction, given: list[Value]) -> Any:
    token = context.enter(f.session)
    if threading.current_thread() is not threading.main_thread():
        check_stores(f.session.names)
        context.work_as(context.Worker(0, np.random.default_rng()))
        context.block(True)
    try:
        return to_python(apply(f.value, given))
    finally:
        context.leave(token)


def text(data: bytes) -> str:
    """The text of a string."""
    return data.decode("utf-8")


def _symbol(x: Sym) -> str:
    return x.s if x.s.isascii() else text(x.s.encode("utf-8", "surrogateescape"))


def _atom(x: Atom) -> Any:
    convert = _ATOMS.get(x.t)
    return x.v if convert is None else convert(x)


_ATOMS: dict[int, Callable[[Atom], Any]] = {
    T.C: lambda x: text(bytes((x.v,))),
    T.X: lambda x: bytes((x.v,)),
    T.G: lambda x: uuid.UUID(bytes=bytes(x.v)),
    T.ENUM: lambda x: to_python(unenum(x)),
}


def _vector(x: Vec) -> Any:
    convert = _VECTORS.get(x.t)
    return view_of(x.a) if convert is None else convert(x)


_VECTORS: dict[int, Callable[[Vec], Any]] = {
    T.C: lambda x: text(x.a.tobytes()),
    T.X: lambda x: x.a.tobytes(),
    T.S: lambda x: [_symbol(sym_at(code)) for code in x.a.tolist()],
    T.G: lambda x: [uuid.UUID(bytes=bytes(item)) for item in x.a],
    T.ENUM: lambda x: to_python(unenum(x)),
}


def _nested(x: Nd) -> Any:
    if x.t in _VECTORS:
        return [to_python(item) for item in x.items]
    return _rows(x.a)


def _rows(a: np.ndarray) -> Any:
    """The rows of an array of several dimensions: lists of lists, the innermost ones arrays."""
    return view_of(a) if a.ndim == 1 else [_rows(row) for row in a]


def _list(x: List) -> Any:
    nested = as_nd(x)
    return [to_python(item) for item in x.items] if nested is None else _nested(nested)


def _dict(x: Dict) -> Any:
    if x.keyed:
        keys, values = x.tables
        return _table(keys) | _table(values)
    found: dict[Any, Any] = {}
    for key, value in zip(x.k.items, x.v.items, strict=True):
        found.setdefault(_hashable(to_python(key)), to_python(value))  # q finds the first of two
    return found


def _hashable(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return tuple(x.tolist())
    return tuple(map(_hashable, x)) if isinstance(x, list) else x


def _table(x: Table) -> Any:
    return {name: to_python(column) for name, column in zip(x.names, x.cols, strict=True)}


# conversions by class; of all other values those of handles, Python objects and functions alone
QUICK: dict[type, Callable[[Any], Any]] = {
    int: lambda x: x,
    float: lambda x: x,
    bool: lambda x: x,
    Special: lambda x: x.v,
    Sym: _symbol,
    Atom: _atom,
    EnumAtom: _atom,
    Vec: _vector,
    Nd: _nested,
    List: _list,
    Dict: _dict,
    Table: _table,
}
