"""Session values as JSON for a manifest, plus arrays: the content of a snapshot file.

Every value has a form, `[tag, ..]`; arrays of fixed-width items are members of the file. Handles are written and read
by the k-api: see `handle` in Encoder and Decoder.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Sequence
from typing import Any, TypeGuard

import numpy as np

from kshell import registry
from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.store import codec, costs
from kshell.store.archive import Archive, Member, member
from kshell.values.base import types as T
from kshell.values.base.core import (
    HOLE,
    NIL,
    Dict,
    List,
    ListValue,
    Nd,
    Table,
    Value,
    Vec,
    atom_t,
    flat_list,
)
from kshell.values.base.functions import (
    Comp,
    Derived,
    Foreign,
    Function,
    Handle,
    Iter,
    Lambda,
    ListProj,
    Prim,
    Proj,
    View,
)

Form = list[Any]
_SHORT = 1 << 10  # bytes; longer arrays become members
_FORM = 220  # approximate bytes of memory per value, besides the content of its form
_PIECE = 1 << 20  # items
MAX_DEPTH = 200


def _fixed(t: int) -> bool:
    return t in T.DTYPE and t not in (T.S, T.ENUM)


def _plain(x: Value) -> bool:
    """Does a list contain only data, without functions or handles?"""
    if isinstance(x, List):
        return x.__class__ is Nd or x.flat is not None or all(map(_plain, x.items))
    if x.__class__ is Dict:
        return _plain(x.k) and _plain(x.v)
    if x.__class__ is Table:
        return all(map(_plain, x.cols))
    return not isinstance(x, Function | Handle) and x is not HOLE


def _are_lists(made: list[Value]) -> TypeGuard[list[ListValue]]:
    """Do they all have a length? A table column may be a dictionary."""
    return all(isinstance(column, Vec | List | Table | Dict) for column in made)


def _alike(items: Sequence[Value]) -> TypeGuard[Sequence[Vec]]:
    """Are a list's items vectors of one type, such as strings?"""
    first = items[0]
    qtype = first.t if first.__class__ is Vec else 0
    return _fixed(qtype) and all(
        item.__class__ is Vec and item.t == qtype and not item.attr for item in items
    )


def holds_python(x: Any) -> bool:
    """Is a value an object of Python, or is one inside it? A file holds none."""
    if x.__class__ is Vec or x.__class__ is Nd or isinstance(x, Foreign):
        return isinstance(x, Foreign)
    if isinstance(x, List):
        return x.flat is None and any(map(holds_python, x.items))
    if x.__class__ is Dict:
        return holds_python(x.k) or holds_python(x.v)
    if x.__class__ is Table:
        return any(map(holds_python, x.cols))
    if isinstance(x, Proj | ListProj):
        return holds_python(getattr(x, "f", None)) or any(map(holds_python, x.args))
    if isinstance(x, Comp):
        return any(map(holds_python, x.fs))
    return isinstance(x, Derived) and holds_python(x.f)


def form_cost(form: Form) -> int:
    """The approximate memory for a form's value, besides its arrays and nested values."""
    tag = form[0]
    if tag == "h":
        return 0
    code_cost = costs.function_cost(form[1]) if tag == "f" and form[1].__class__ is str else 0
    inside = sum(16 * len(part) for part in form[1:] if part.__class__ is list)
    return _FORM + code_cost + inside


class Encoder:
    """Encodes values; `members` collects the arrays, or with `copy` copies of them; `needs` counts the bytes of memory
    that a Decoder will need, besides those of the arrays."""

    def __init__(self, handle: Callable[[Handle], int] | None = None, copy: bool = False) -> None:
        self.members: list[Member] = []
        self.copy = copy
        self.handle = handle
        self.depth = self.needs = 0

    def add(self, m: Member) -> int:
        """The number of a new array."""
        self.members.append(m._replace(data=memoryview(bytes(m.data))) if self.copy else m)
        return len(self.members) - 1

    def array(self, a: np.ndarray) -> int:
        return self.add(member(a))

    def value(self, x: Value) -> Form:
        """The form of a value; 'type if it has none."""
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                raise QError("limit")
            form = self._value(x)
            self.needs += form_cost(form)
            return form
        finally:
            self.depth -= 1

    def _value(self, x: Value) -> Form:
        if x.__class__ is Vec and _fixed(x.t) and len(x):
            return ["v", x.t, x.attr, self.array(x.a)]
        if x.__class__ is Vec and x.t == T.S and 4 * len(x) > _SHORT:
            return self._symbols(x)
        if x.__class__ is Nd and _fixed(x.t):
            return ["nd", x.t, self.array(x.a)]
        if x.__class__ is List and x.flat is not None and _fixed(x.flat.t):
            return ["flat", x.flat.t, self.array(x.flat.a), self.array(x.flat.ends)]
        if x.__class__ is List and len(x) > _SHORT and not x.attr and _alike(x.items):
            return self._end_to_end(x.items)
        if isinstance(x, Handle):
            if self.handle is None:
                raise QError("type")
            return ["h", self.handle(x)]
        if isinstance(x, Function):
            return self._function(x)
        if x.__class__ is Dict:
            return ["d", self.value(x.k), self.value(x.v), x.attr]
        if x.__class__ is Table:
            return ["t", list(x.names), [self.value(column) for column in x.cols]]
        if isinstance(x, List) and not (x.items and _plain(x)):
            return ["l", [self.value(item) for item in x.items], x.attr]
        if isinstance(x, List) and x.attr:
            return ["a", x.attr, self._value(List(x.items))]
        if x is HOLE:
            return ["hole"]
        return self._coded(x)

    def _end_to_end(self, items: Sequence[Vec]) -> Form:
        """A list of vectors of one type, as one array with end offsets."""
        sizes = np.fromiter(map(len, items), np.int64, len(items))
        joined = np.concatenate([item.a for item in items])
        return ["flat", items[0].t, self.array(joined), self.array(np.cumsum(sizes))]

    def _symbols(self, x: Vec) -> Form:
        """Many symbols as indices into a short list of them: this is read in one piece, without extra memory."""
        present = np.zeros(int(x.a.max()) + 1, bool)
        present[x.a] = True
        positions = np.cumsum(present, dtype=np.int32) - np.int32(1)
        return [
            "s",
            x.attr,
            self.array(positions[x.a]),
            self._coded(Vec(T.S, np.flatnonzero(present).astype(x.a.dtype))),
        ]

    def _coded(self, x: Value) -> Form:
        data = codec.encode(x, file=True)
        self.needs += len(data) + costs.cost(x)
        if len(data) < _SHORT:
            return ["q", base64.b64encode(data).decode()]
        return ["Q", self.array(np.frombuffer(data, np.uint8))]

    def _function(self, x: Value) -> Form:
        if isinstance(x, Lambda):
            if x.text == codec.LOCKED:
                raise QError("a locked function cannot be saved")
            return ["f", x.text, x.ctx, x.own, x.source.name, x.source.file, x.source.line]
        if isinstance(x, Prim):
            entry = None if x.entry is None else registry.find(x.entry.kind, x.entry.name)
            if entry is None or entry is not x.entry:
                return self._coded(x)
            return ["p", entry.kind, entry.name, x.name, x.t]
        if isinstance(x, Proj):
            holes = sum(argument is HOLE for argument in x.args)
            return [
                "proj",
                self.value(x.f),
                [self.value(argument) for argument in x.args],
                x.rank - holes,
            ]
        if isinstance(x, ListProj):
            return ["lp", [self.value(argument) for argument in x.args]]
        if isinstance(x, Comp):
            return ["comp", [self.value(function) for function in x.fs]]
        if isinstance(x, Iter):
            return ["it", x.glyph]
        if isinstance(x, Derived):
            return ["der", x.glyph, self.value(x.f)]
        if isinstance(x, View):
            raise QError("a view cannot be saved in a list")
        raise CallError(UNSAID, x.unsaved, given=SAID) if hasattr(x, "unsaved") else QError("type")


class Decoder:
    """Decodes the values in a file written by an Encoder."""

    def __init__(self, archive: Archive, handle: Callable[[int], Value] | None = None) -> None:
        self.archive, self.handle = archive, handle
        self.depth = 0

    def value(self, form: Form) -> Value:
        """The value of a form. ValueError, KeyError, TypeError and the like if it is invalid."""
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                raise ValueError("too deep")
            self.archive.room.need(form_cost(form))
            tag, *fields = form
            return _READ[tag](self, *fields)
        finally:
            self.depth -= 1

    def _typed(self, t: int, i: int) -> np.ndarray:
        array = self.archive.array(i)
        if (
            not _fixed(t)
            or array.dtype != T.DTYPE[t]
            or (t == T.B and array.size and int(array.view(np.uint8).max()) > 1)
        ):
            raise ValueError(f"array {i} has a wrong type")
        return array

    def _vec(self, t: int, attr: str, i: int) -> Value:
        array = self._typed(t, i)
        if array.ndim != 1 or attr not in codec.ATTRS:
            raise ValueError(f"array {i} is no vector")
        return Vec(t, array, attr)

    def _symbols(self, attr: str, i: int, form: Form) -> Value:
        array, names = self.archive.array(i), self.value(form)
        if (
            array.dtype != np.int32
            or array.ndim != 1
            or not len(array)
            or names.__class__ is not Vec
            or names.t != T.S
            or attr not in codec.ATTRS
            or int(array.min()) < 0
            or int(array.max()) >= len(names)
        ):
            raise ValueError(f"array {i} has wrong symbols")
        for offset in range(0, len(array), _PIECE):
            array[offset : offset + _PIECE] = names.a[array[offset : offset + _PIECE]]
        return Vec(T.S, array, attr)

    def _nd(self, t: int, i: int) -> Value:
        array = self._typed(t, i)
        if array.ndim < 2:
            raise ValueError(f"array {i} is no nested list")
        return Nd(t, array)

    def _flat(self, t: int, i: int, j: int) -> Value:
        array, ends = self._typed(t, i), self.archive.array(j)
        sizes = np.diff(ends, prepend=0)
        if (
            array.ndim != 1
            or ends.ndim != 1
            or ends.dtype.kind != "i"
            or (sizes < 0).any()
            or (ends[-1] if len(ends) else 0) > len(array)
        ):
            raise ValueError(f"array {j} has wrong ends")
        return flat_list(t, array, ends)

    def _handle(self, i: int) -> Value:
        if self.handle is None:
            raise ValueError("a handle")
        return self.handle(i)

    def _dict(self, k: Form, v: Form, attr: str) -> Value:
        halves = [self.value(k), self.value(v)]
        if not _are_lists(halves) or len(halves[0]) != len(halves[1]):
            raise ValueError("a wrong dictionary")
        return Dict(halves[0], halves[1], "s" if attr == "s" else "")

    def _table(self, names: list[str], cols: list[Form]) -> Value:
        columns = [self.value(column) for column in cols]
        if (
            len(names) != len(columns)
            or any(name.__class__ is not str for name in names)
            or not _are_lists(columns)
            or len(set(map(len, columns))) > 1
        ):
            raise ValueError("a wrong table")
        return Table(list(names), columns)

    def _list(self, items: list[Form], attr: str = "") -> Value:
        result = List([self.value(form) for form in items])
        if attr in ("s", "u"):
            result.attr = attr
        return result

    def _attr(self, attr: str, form: Form) -> Value:
        result = self.value(form)
        if attr not in ("s", "u") or result.__class__ is not List:
            raise ValueError("a wrong attribute")
        result.attr = attr
        return result

    def _short(self, text: str) -> Value:
        return self._decoded(base64.b64decode(text, validate=True))

    def _long(self, i: int) -> Value:
        array = self.archive.array(i)
        if array.dtype != np.uint8 or array.ndim != 1:
            raise ValueError(f"array {i} has a wrong type")
        return self._decoded(array.data.toreadonly())

    def _decoded(self, data: bytes | memoryview) -> Value:
        room = self.archive.room
        room.need(len(data))
        return codec.decode(data, need=room.need)

    def _lambda(
        self, text: str, ctx: str, own: str = "", shown: str = "", file: str = "", line: int = 0
    ) -> Value:
        if (
            ctx[:1] != "."
            or any(x.__class__ is not str for x in (own, shown, file))
            or line.__class__ is not int
        ):
            raise ValueError("a wrong function")
        return codec.LAMBDA.fn(text, ctx, own, shown, file, line)

    def _prim(self, kind: str, entry: str, name: str, t: int) -> Value:
        registered = registry.find(kind, entry)
        if (
            registered is None
            or not registered.fns
            or t.__class__ is not int
            or not 100 <= t <= 112
        ):
            raise ValueError(f"{entry} is not known here")
        return Prim(name, registered.fns, registered, t)

    def _proj(self, f: Form, args: list[Form], missing: int) -> Value:
        if missing.__class__ is not int or not 0 <= missing <= 8:
            raise ValueError("a wrong projection")
        return Proj(self.value(f), tuple(self.value(form) for form in args), missing)

    def _comp(self, fs: list[Form]) -> Value:
        if not fs:
            raise ValueError("a wrong composition")
        return Comp(tuple(self.value(form) for form in fs))


_READ: dict[str, Callable[..., Value]] = {
    "v": Decoder._vec, "s": Decoder._symbols, "nd": Decoder._nd, "flat": Decoder._flat, "h": Decoder._handle,
    "d": Decoder._dict, "t": Decoder._table, "l": Decoder._list, "a": Decoder._attr, "q": Decoder._short,
    "Q": Decoder._long, "f": Decoder._lambda, "p": Decoder._prim, "proj": Decoder._proj, "comp": Decoder._comp,
    "hole": lambda d: HOLE, "lp": lambda d, args: ListProj(tuple(d.value(arg) for arg in args)),
    "it": lambda d, glyph: Iter(glyph), "der": lambda d, glyph, f: Derived(glyph, d.value(f)),
}  # fmt: skip


def is_value(x: Value) -> bool:
    """Can x be the value of a variable?"""
    return (
        x is NIL or atom_t(x) != 0 or isinstance(x, Vec | List | Dict | Table | Function | Handle)
    )
