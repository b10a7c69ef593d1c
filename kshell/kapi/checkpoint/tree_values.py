"""What is in a checkpoint as q values.

None is ::, a string a symbol, a tensor a tensor handle, a list or tuple a list, a dictionary a dictionary, an object of
an unknown class an object handle; numbers and arrays of NumPy, dates and times are q's own. In an optimizer's
state_dict, the state is a keyed table with one row per parameter, and the groups are a table.
"""

from __future__ import annotations

import datetime
import uuid
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from kshell.checkpoints.base.stored import Stored
from kshell.checkpoints.pickles.editing import Read
from kshell.checkpoints.pickles.machine import Global, Node
from kshell.checkpoints.pickles.meanings import Branch, Kept, Meanings, content
from kshell.errors import QError
from kshell.kapi.base.handles import tensor_handle
from kshell.kapi.base.lazy_torch import loaded, torch
from kshell.kapi.base.plain_values import ToQ
from kshell.kapi.checkpoint.state_dicts import is_optimizer
from kshell.kapi.checkpoint.stored_tensors import stored_handle
from kshell.registry import Hook
from kshell.store.archive import WRONG, wrong
from kshell.values.base import types as T
from kshell.values.base.build import collapse, empty, guid_vec, longs, regular, symdict
from kshell.values.base.core import NIL, Dict, List, Table, Value, Vec, long, seq_items, sym_vec
from kshell.values.base.from_numpy import typed
from kshell.values.base.symbols import sym

MOST = 5_000_000  # maximum number of values in a checkpoint
MAX_DEPTH = 100
_AGAIN = 100_000  # values that may occur a second time


class _Reader(ToQ):
    """Tensors become handles, lists of dictionaries with equal keys tables, other Python and torch types symbols.
    `room`: the maximum number of values. Objects that a file stores once and refers to repeatedly count every time."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.depth = 0
        self.meanings: Meanings | None = None  # of the pickle that the values are of

    def value(self, v: object, key: str = "") -> Value:
        self.room -= 1
        if self.room < 0 or self.depth > MAX_DEPTH:
            raise QError("limit")
        if v.__class__ is Branch:
            return self._branch(v)
        if v.__class__ is Read:
            return self._read(v)
        shown = getattr(v, "shown", None)
        if shown is not None:
            return shown
        if v.__class__ is Node or v.__class__ is Global:
            return self._object(v, key)
        if isinstance(v, Stored):
            return stored_handle(v) if v.live is None else tensor_handle(v.live)
        if v is None:
            return NIL
        if v.__class__ is bool or v.__class__ is float:
            return v
        if v.__class__ is int:
            return self.integer(v)
        if isinstance(v, str):
            return sym(str(v))
        if isinstance(v, dict):
            shown = self.dictionary(v)
            if v.__class__ is dict and self.meanings is not None:
                _note(shown, v, Branch(self.meanings, v))
            return shown
        return self.sequence(v) if isinstance(v, list | tuple) else self.other(v, key)

    def _branch(self, v: Branch) -> Value:
        before, self.meanings = self.meanings, v.meanings
        try:
            return self.value(v.graph)
        finally:
            self.meanings = before

    def _read(self, v: Read) -> Value:
        """A dictionary that was one of a file, as a part of a tree."""
        before, self.meanings = self.meanings, v.branch.meanings
        try:
            made = self.dictionary(v)
        finally:
            self.meanings = before
        _note(made, v, v.branch)
        return made

    def _object(self, v: Any, key: str) -> Value:
        meanings = self.meanings
        if meanings is None:
            raise QError("ckpt: an object of a pickle without its file")
        found = meanings.of(v)
        if found is v or found.__class__ is Global:
            handle: Value = OBJECT_HANDLE.fn(Branch(meanings, v))
            return handle
        made = self.value(found, key)
        if isinstance(found, dict):
            _note(made, found, Branch(meanings, v))
        return made

    def shown(self, v: Any) -> Any:
        """A value of Python, for one of a pickle."""
        return self.meanings.of(v) if self.meanings is not None else v

    def inside(self, values: Iterable[Any], depth: int = 1) -> list[Value]:
        """The values in a value."""
        self.depth += depth
        items = [self.value(value) for value in values]
        self.depth -= depth
        return items

    def integer(self, v: int) -> Value:
        return long(v) if -(1 << 63) < v < 1 << 63 else sym(str(v))

    def sequence(self, v: list[Any] | tuple[Any, ...]) -> Value:
        rows = [self.shown(row) for row in v]
        if (
            rows
            and all(isinstance(row, dict) and row.keys() == rows[0].keys() and row for row in rows)
            and all(isinstance(name, str) for name in rows[0])
        ):
            return self._table(rows, list(rows[0]))
        return collapse(self.inside(v))

    def _table(self, rows: Sequence[dict[str, Any]], names: list[str]) -> Table:
        return Table(
            names, [collapse(self.inside((row[name] for row in rows), 2)) for name in names]
        )

    def dictionary(self, v: dict[Any, Any]) -> Value:
        state, groups = (self.shown(v.get(key)) for key in ("state", "param_groups"))
        if not is_optimizer({**v, "state": state, "param_groups": groups}):
            return self._dict(v)
        values = [
            self._states(state) if key == "state" else self.inside([item])[0]
            for key, item in v.items()
        ]
        return symdict(list(v), values)

    def _dict(self, v: dict[Any, Any]) -> Value:
        values = self.inside(v.values())
        is_named = all(isinstance(key, str) for key in v)
        keys = sym_vec(list(v)) if is_named else collapse(self.inside(v))
        return Dict(keys, collapse(values))

    def _states(self, state: dict[Any, Any]) -> Value:
        """The state of an optimizer: a keyed table, if all parameters have the same buffers."""
        rows = [self.shown(row) for row in state.values()]
        names = list(rows[0]) if rows and isinstance(rows[0], dict) else []
        if (
            names
            and all(isinstance(row, dict) and list(row) == names for row in rows)
            and all(isinstance(name, str) for name in names)
            and {*map(type, state)} in ({int}, {str})
        ):
            keys = longs(list(state)) if int in map(type, state) else sym_vec(list(state))
            return Dict(Table(["parm"], [keys]), self._table(rows, names))
        self.depth += 1
        table = self._dict(state)
        self.depth -= 1
        return table

    def other(self, v: Any, key: str) -> Value:
        if isinstance(v, bytes | bytearray):
            return Vec(T.X, _bytes(v))
        if isinstance(v, set | frozenset):
            return self.value(sorted(v, key=str))
        if isinstance(v, np.ndarray | np.generic):
            return self._array(np.asarray(v))
        if isinstance(v, datetime.datetime | datetime.date | datetime.timedelta | datetime.time):
            try:
                return _time(v)
            except QError:  # earlier or later than q's type reaches
                return self.value(str(v))
        if isinstance(v, uuid.UUID):
            return seq_items(guid_vec([v.bytes]))[0]
        if loaded() and isinstance(v, torch.Tensor):
            return tensor_handle(v)
        if isinstance(v, Kept):
            return Vec(T.X, _bytes(content(v)))
        return sym(str(v))

    def _array(self, v: np.ndarray) -> Value:
        """An array of NumPy: of numbers and times as q's, of texts symbols, of rows a table; text if q has no type."""
        self.room -= v.size
        if self.room < 0:
            raise QError("limit")
        if v.dtype.names:
            columns = [collapse(self.inside(v[name].tolist(), 2)) for name in v.dtype.names]
            return Table(list(v.dtype.names), columns)
        if v.dtype.kind in "OUS":
            return self.value(v.tolist())
        try:
            kind, items = typed(v)
        except QError:  # complex numbers, and those that q's type does not reach
            return self.value(np.vectorize(str, otypes=[object])(v).tolist())
        return empty(kind) if items.ndim == 1 and not len(items) else regular(kind, items)


def _time(v: Any) -> Value:
    """A date, time or span; a time with a zone in UTC."""
    if isinstance(v, datetime.time):
        seconds = (v.hour * 60 + v.minute) * 60 + v.second
        v = datetime.timedelta(seconds=seconds, microseconds=v.microsecond)
    if isinstance(v, datetime.datetime) and v.tzinfo is not None:
        v = v.astimezone(datetime.UTC).replace(tzinfo=None)
    is_date = not isinstance(v, datetime.datetime) and isinstance(v, datetime.date)
    made = (
        np.datetime64(v, "D" if is_date else "us")
        if isinstance(v, datetime.date)
        else np.timedelta64(v, "us")
    )
    return regular(*typed(np.asarray(made)))


def _bytes(v: bytes | bytearray) -> Any:
    return np.frombuffer(bytes(v), np.uint8)


OBJECT_HANDLE = Hook()  # makes the handle of an object: kapi/checkpoint/objects.py


class _Noted(NamedTuple):
    """A dictionary of a file: what tells its keys in q, the keys themselves, and the object that it was."""

    alive: ref[Any]
    keys: list[Any]
    branch: Branch


_NOTED: dict[int, _Noted] = {}  # by identity of what tells the keys; while these are used


def _teller(keys: Any) -> Any:
    """What keys of q are known by: these and copies of them with other values have it."""
    return keys.a if keys.__class__ is Vec else keys if keys.__class__ is List else None


def _note(x: Value, v: dict[Any, Any], branch: Branch) -> None:
    teller = _teller(x.k) if x.__class__ is Dict else None
    if teller is not None:
        number = id(teller)
        alive = ref(teller, lambda _: _NOTED.pop(number, None))
        _NOTED[number] = _Noted(alive, list(v), branch)


def noted(x: Dict) -> _Noted | None:
    """The dictionary of a file that has the keys of this one, if these are still the ones that it was read with."""
    teller = _teller(x.k)
    found = _NOTED.get(id(teller))
    return found if found is not None and found.alive() is teller else None


def to_q_value(v: object, made: int = MOST, path: str = "it") -> Value:
    """The q value of a tree from a checkpoint in whose pickles `made` values were; 'limit if there are more values than
    q could show, or many times more than were made. QError for what is damaged in the file at `path`."""
    try:
        reader = _Reader(min(MOST, made + _AGAIN))
        return reader.value(v)
    except (RecursionError, *WRONG) as e:
        problem = wrong("ckpt", v.meanings.path if isinstance(v, Branch) else path, e)
    raise problem
