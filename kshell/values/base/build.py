"""Creating values: vectors from Python data, lists that collapse to vectors and tables, dictionaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import numpy as np

from kshell.errors import QError
from kshell.values.base import types as T
from kshell.values.base.core import (
    COLLAPSE,
    Atom,
    AtomValue,
    Dict,
    EnumAtom,
    List,
    ListValue,
    Nd,
    Special,
    Table,
    Value,
    Vec,
    atom,
    atom_t,
    sym_names,
    sym_vec,
    text_of,
)
from kshell.values.base.symbols import Sym

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def vec(t: int, data: ArrayLike) -> Vec:
    """The vector of type t over raw data (a sequence or an array)."""
    return Vec(t, np.asarray(data, T.DTYPE[t]))


def longs(data: ArrayLike) -> Vec:
    return Vec(T.J, np.asarray(data, np.int64))


def floats(data: ArrayLike) -> Vec:
    return Vec(T.F, np.asarray(data, np.float64))


def bools(data: ArrayLike) -> Vec:
    return Vec(T.B, np.asarray(data, np.bool_))


def string(s: str | bytes) -> Vec:
    """The q string (char vector) for a text, in UTF-8."""
    if isinstance(s, str):
        s = s.encode("utf-8", "surrogateescape")
    return Vec(T.C, np.frombuffer(s, np.uint8))


def text_bytes(x: Value) -> bytes:
    """The UTF-8 bytes of a string, char or symbol; anything else is 'type."""
    return text_of(x).encode("utf-8", "surrogateescape")


def data_of(x: Value) -> bytes:
    """As `text_bytes`, also of a byte vector."""
    if x.__class__ is Vec and x.t in (T.C, T.X):
        return bytes(x.a.tobytes())
    return text_bytes(x)


def empty(t: int = 0) -> Vec | List:
    """The empty vector of type t; for type 0, the empty general list."""
    return Vec(t, np.empty(0, T.DTYPE[t])) if t else List([])


def guid_vec(data: Sequence[bytes]) -> Vec:
    return Vec(T.G, np.frombuffer(b"".join(data), "V16"))


@COLLAPSE.set
def collapse(items: list[Value]) -> ListValue:
    """The list of these items as q would make it: a vector if all are atoms of one type, a table if all are
    dictionaries with the same symbol keys, else a general list. Takes ownership of `items`."""
    if not items:
        return List(items)
    first = items[0]
    cls = first.__class__
    if cls is Vec or cls is List:
        return List(items)
    qtype = atom_t(first)
    if not qtype:
        return _rows(items, first.k) if first.__class__ is Dict and not first.keyed else List(items)
    classes = set(map(type, items))
    if len(classes) == 1:
        if qtype in (T.J, T.F, T.B) and first.__class__ is not Special:
            return Vec(qtype, np.fromiter(items, T.DTYPE[qtype], len(items)))
        if qtype == T.S:
            return Vec(qtype, np.array([x.v for x in cast("list[Sym]", items)], np.int32))
    elif not classes <= {int, Special}:
        return List(items)
    if first.__class__ is EnumAtom:
        domain = first.dom
        members = cast("list[EnumAtom]", items)
        if all(x.dom == domain for x in members):
            return Vec(T.ENUM, np.array([x.v for x in members], np.int64), "", domain)
        return List(items)
    if qtype == T.J:
        numbers = cast("list[int | Special]", items)
        return Vec(
            qtype, np.array([x.v if x.__class__ is Special else x for x in numbers], np.int64)
        )
    atoms = cast("list[Atom]", items)
    if any(x.t != qtype for x in atoms):
        return List(items)
    if qtype == T.G:
        return guid_vec([x.v for x in atoms])
    return Vec(qtype, np.array([x.v for x in atoms], T.DTYPE[qtype]))


def _rows(items: list[Value], keys: ListValue) -> List | Table:
    """A list of dictionaries with the symbol keys of the first as a table."""
    if keys.__class__ is not Vec or keys.t != T.S or not len(keys):
        return List(items)
    for item in items:
        if item.__class__ is not Dict or item.k.__class__ is not Vec or item.k.t != T.S:
            return List(items)
        if item.k is not keys and not np.array_equal(item.k.a, keys.a):
            return List(items)
    names = sym_names(keys)
    values = [item.v for item in cast("list[Dict]", items)]
    first = values[0]
    if first.__class__ is Vec and first.t != T.ENUM:
        qtype = first.t
        arrays = [value.a for value in values if value.__class__ is Vec and value.t == qtype]
        if len(arrays) == len(values):
            return Table(
                names, [Vec(qtype, column) for column in np.ascontiguousarray(np.stack(arrays).T)]
            )
    if _are_tables(values):
        return Table(names, [_across(values, i) for i in range(len(names))])
    rows = [value.items for value in values]
    return Table(names, [collapse([row[index] for row in rows]) for index in range(len(names))])


def _are_tables(values: Sequence[Value]) -> bool:
    """Are these tables with the same columns?"""
    first = values[0]
    return first.__class__ is Table and all(
        value.__class__ is Table and value.names == first.names for value in values
    )


def _across(cols: Sequence[ListValue], i: int) -> ListValue:
    """Item i of each of some columns, as `collapse` makes it. Rows of tables stay in columns: to make each row of
    dictionaries in dictionaries would take time that grows without bound with their depth."""
    first = cols[0]
    if _are_tables(cols):
        tables = cast("list[Table]", cols)
        names = tables[0].names
        return Table(
            list(names), [_across([t.cols[c] for t in tables], i) for c in range(len(names))]
        )
    if first.__class__ is Vec and first.t != T.ENUM:
        arrays = [col.a[i : i + 1] for col in cols if col.__class__ is Vec and col.t == first.t]
        if len(arrays) == len(cols):
            return Vec(first.t, np.concatenate(arrays))
    return collapse([col.item(i) for col in cols])


def enlist(x: Value) -> ListValue:
    """The one-item list of x; for a dictionary with symbol keys, a one-row table."""
    return collapse([x])


def regular(t: int, a: np.ndarray) -> AtomValue | Vec | Nd:
    """A value for an array of any number of dimensions: atom, vector or rectangular nested list."""
    return atom(t, a[()]) if a.ndim == 0 else Vec(t, a) if a.ndim == 1 else Nd(t, a)


def as_nd(x: Value) -> Nd | None:
    """The Nd for a general list of equally long vectors of one type (or of such lists), else None."""
    if x.__class__ is Nd:
        return x
    if x.__class__ is not List or not len(x):
        return None
    flat = x.flat
    if flat is not None:
        sizes = flat.sizes
        if flat.t == T.ENUM or (sizes != sizes[0]).any():
            return None
        return Nd(flat.t, flat.a[: flat.ends[-1]].reshape(len(flat), sizes[0]))
    first = x.items[0]
    if first.__class__ is Vec:
        qtype, count = first.t, len(first.a)
        if qtype == T.ENUM or any(
            item.__class__ is not Vec or item.t != qtype or len(item.a) != count for item in x.items
        ):
            return None
        return Nd(qtype, np.stack([item.a for item in cast("list[Vec]", x.items)]))
    if not isinstance(first, List):
        return None
    arrays = [as_nd(item) for item in x.items]
    first_array = arrays[0]
    if first_array is None or any(
        array is None or array.t != first_array.t or array.a.shape != first_array.a.shape
        for array in arrays
    ):
        return None
    return Nd(first_array.t, np.stack([array.a for array in arrays if array is not None]))


def mkdict(k: ListValue, v: ListValue) -> Dict:
    """The dictionary k!v of two lists; 'length if they differ in length."""
    if len(k) != len(v):
        raise QError("length")
    return Dict(k, v)


def symdict(names: Sequence[str], values: list[Value]) -> Dict:
    """A dictionary with symbol keys; the values collapse to a vector if possible."""
    return Dict(sym_vec(names), collapse(values))


def table(names: Sequence[str], cols: Sequence[ListValue]) -> Table:
    """A table from columns that are lists of equal length; 'length otherwise."""
    if len({len(column) for column in cols}) > 1:
        raise QError("length")
    return Table(list(names), list(cols))


def real(x: float) -> Atom:
    """The real atom nearest to x."""
    return Atom(T.E, float(np.float32(x)))


def short(n: int) -> Atom:
    return Atom(T.H, n)
