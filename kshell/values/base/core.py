"""The classes of q values.

A long, float or boolean atom is Python's int, float or bool. 0N, 0W and -0W are the three objects of Special, which are
not ints, so that arithmetic on ints need not check for nulls. Every other atom is an Atom (type, raw value) or an
interned Sym. A vector is a Vec with a numpy array; a general list a List; a rectangular nested list may be an Nd, one
n-dimensional array that only looks like lists of lists. Values never change once others can see them.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias, final

import numpy as np

from kshell.errors import QError
from kshell.registry import Hook
from kshell.values.base import types as T
from kshell.values.base.symbols import SYMBOLS, Sym, sym

if TYPE_CHECKING:
    from typing_extensions import TypeIs

    from kshell.values.base.functions import Function, Handle

ListValue: TypeAlias = "Vec | List | Table"  # has indexed items: `len(x)`, `x.items`, `x.item(i)`
AtomValue: TypeAlias = "int | float | Special | Atom | Sym"  # a boolean is a bool, which is an int
Value: TypeAlias = "AtomValue | ListValue | Dict | _Nil | _Hole | Function | Handle"  # any q value


@final
class Special:
    """0N, 0W and -0W: the longs that are not ordinary numbers. `v` is the raw 64-bit pattern.

    Python's operators on them behave like q's longs (null stays null, infinities are plain numbers that wrap), so code
    compiled for longs can use + - * and comparisons without checks.
    """

    __slots__ = ("text", "v")
    t = T.J

    def __init__(self, v: int, text: str) -> None:
        self.v, self.text = v, text

    def __repr__(self) -> str:
        return self.text

    def __hash__(self) -> int:
        return hash(self.v)

    def _with(self, other: object, op: Callable[[int, int], int]) -> Any:
        if other.__class__ is Special:
            number = other.v
        elif other.__class__ is int:
            number = other
        else:
            return NotImplemented
        if self.v == -T.M63 or number == -T.M63:
            return NULL_J
        return long(op(self.v, number))

    def __add__(self, o: object) -> Any:
        return self._with(o, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, o: object) -> Any:
        return self._with(o, lambda a, b: a - b)

    def __rsub__(self, o: object) -> Any:
        return self._with(o, lambda a, b: b - a)

    def __mul__(self, o: object) -> Any:
        return self._with(o, lambda a, b: a * b)

    __rmul__ = __mul__

    def __neg__(self) -> Any:
        return self if self is NULL_J else long(-self.v)

    def __lt__(self, o: AtomValue) -> Any:
        return self.v < raw(o)

    def __le__(self, o: AtomValue) -> Any:
        return self.v <= raw(o)

    def __gt__(self, o: AtomValue) -> Any:
        return self.v > raw(o)

    def __ge__(self, o: AtomValue) -> Any:
        return self.v >= raw(o)

    def __eq__(self, o: object) -> Any:
        return self is o

    def __ne__(self, o: object) -> Any:
        return self is not o


NULL_J = Special(-T.M63, "0N")
INF_J = Special(T.LONG_MAX, "0W")
NINF_J = Special(-T.LONG_MAX, "-0W")
_SPECIAL = {s.v: s for s in (NULL_J, INF_J, NINF_J)}


def long(n: int) -> int | Special:
    """The long atom for a Python int: wrapped to 64 bits, the three special patterns as their objects."""
    if -T.LONG_MAX < n < T.LONG_MAX:
        return n
    n = (n + T.M63 & (1 << 64) - 1) - T.M63
    return _SPECIAL.get(n, n)


class Atom:
    """An atom of any type without its own Python class; `t` is the positive type number, `v` the raw value."""

    __slots__ = ("t", "v")

    v: Any  # an int, a float, or the bytes of a guid

    def __init__(self, t: int, v: float | bytes) -> None:
        self.t, self.v = t, v

    def __repr__(self) -> str:
        return f"Atom({T.TYPE[self.t].char}, {self.v})"


@final
class EnumAtom(Atom):
    """One item of an enumeration: `v` indexes the list named `dom`."""

    __slots__ = ("dom",)

    def __init__(self, v: int, dom: str) -> None:
        super().__init__(T.ENUM, v)
        self.dom = dom


_CHARS = [Atom(T.C, code) for code in range(256)]


@final
class Vec:
    """A vector of one q type. `t` type number, `a` numpy array (T.DTYPE[t], 1-d), `attr` one of '' s u p g.

    An enumeration (t 20) also has `dom`, the name of the list that it indexes. `whole` is set once it is known whether
    the array is free of nulls (see cast.whole); `look` counts searches for single items, and later holds a dictionary
    of positions (see keys.place_one). Code that writes to the array resets both with `wrote`.
    """

    __slots__ = ("a", "attr", "dom", "look", "t", "whole")
    whole: bool
    look: int | dict[Any, int]

    def __init__(self, t: int, a: np.ndarray, attr: str = "", dom: str = "") -> None:
        self.t, self.a, self.attr, self.dom = t, a, attr, dom

    def __len__(self) -> int:
        return len(self.a)

    def wrote(self) -> None:
        """The array was written: reset what was known about its items."""
        self.whole = False
        self.look = 0

    @property
    def items(self) -> list[Value]:
        """The items as atoms."""
        return atoms(self.t, self.a, self.dom)

    def item(self, i: int) -> Value:
        """Item i as an atom; i must be in range."""
        qtype = self.t
        raw_item = self.a.item(i)
        if qtype == T.J:
            return raw_item if -T.LONG_MAX < raw_item < T.LONG_MAX else _SPECIAL[raw_item]
        if qtype == T.F or qtype == T.B:
            return raw_item
        if qtype == T.C:
            return _CHARS[raw_item]
        if qtype == T.S:
            return SYMBOLS[raw_item]
        if qtype == T.ENUM:
            return EnumAtom(raw_item, self.dom)
        return Atom(qtype, bytes(self.a[i]) if qtype == T.G else raw_item)

    def __repr__(self) -> str:
        return f"Vec({T.TYPE[self.t].char}, {self.a!r})"


@final
class Flat:
    """Vectors of one type stored one after another in an array: type `t`, array `a`, and the end of each."""

    __slots__ = ("a", "ends", "t")

    def __init__(self, t: int, a: np.ndarray, ends: np.ndarray) -> None:
        self.t, self.a, self.ends = t, a, ends

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def starts(self) -> np.ndarray:
        starts = np.zeros_like(self.ends)
        starts[1:] = self.ends[:-1]
        return starts

    @property
    def sizes(self) -> np.ndarray:
        return np.diff(self.ends, prepend=0)

    def item(self, i: int) -> Vec:
        return Vec(self.t, self.a[self.ends[i - 1] if i else 0 : self.ends[i]])

    def vectors(self) -> list[Value]:
        qtype, array, ends = self.t, self.a, self.ends.tolist()
        enabled = gc.isenabled()
        gc.disable()  # many objects, no garbage
        try:
            return [Vec(qtype, array[i:j]) for i, j in zip([0, *ends[:-1]], ends, strict=True)]
        finally:
            if enabled:
                gc.enable()


class List:
    """A general list. `attr` is its attribute: none, s or u.

    A list from `flat_list` has no items until they are needed; until then `flat` holds them, else it is None. peach
    threads may read at the same time, so `flat` is read once into a local.
    """

    __slots__ = ("__weakref__", "_attr", "flat", "items", "look")
    _attr: str
    # the number of searches for single items, later the number of indexed items and their positions
    look: int | list[Any]
    flat: Flat | None
    items: list[Value]

    def __init__(self, items: list[Value]) -> None:
        self.items = items
        self.flat = None

    def __getattr__(self, name: str) -> Any:
        """Slots that are not set."""
        if name == "items":
            flat = self.flat
            if flat is None:  # another thread has just created them
                return object.__getattribute__(self, name)
            self.items = items = flat.vectors()
            self.flat = None
            return items
        if name == "_attr":
            return ""
        if name == "look":
            return 0
        if name == "flat":
            return None
        raise AttributeError(name)

    @property
    def attr(self) -> str:
        return self._attr  # set only on the few lists that have one

    @attr.setter
    def attr(self, a: str) -> None:
        self._attr = a

    def __len__(self) -> int:
        flat = self.flat
        return len(self.items) if flat is None else len(flat)

    def item(self, i: int) -> Value:
        flat = self.flat
        return self.items[i] if flat is None else flat.item(i)

    def __repr__(self) -> str:
        return f"List({self.items!r})"


def flat_list(t: int, a: np.ndarray, ends: np.ndarray) -> List:
    """The general list of vectors of type t stored one after another in an array, given the end of each."""
    if not len(ends):
        return List([])
    result = List.__new__(List)
    result.flat = Flat(t, a, ends)
    return result


@final
class Nd(List):
    """A rectangular nested list of one simple type, stored as one array of two or more dimensions."""

    __slots__ = ("a", "t")

    def __init__(self, t: int, a: np.ndarray) -> None:
        self.t, self.a = t, a

    def __len__(self) -> int:
        return len(self.a)

    def item(self, i: int) -> Value:
        return self.wrap(self.a[i])

    def wrap(self, a: np.ndarray) -> Value:
        """Part of the array as a value: a vector if one dimension is left, else another Nd."""
        return Vec(self.t, a) if a.ndim == 1 else Nd(self.t, a)

    @property
    def items(self) -> list[Value]:  # type: ignore[override]
        return [self.wrap(array) for array in self.a]

    def __repr__(self) -> str:
        return f"Nd({T.TYPE[self.t].char}, {self.a.shape})"


@final
class Dict:
    """A dictionary: `k` keys and `v` values, both list values (Vec, List, Table) of equal length.

    A keyed table is the Dict of two Tables. `attr` is 's' on a step function.
    """

    __slots__ = ("attr", "k", "v")

    def __init__(self, k: ListValue, v: ListValue, attr: str = "") -> None:
        self.k, self.v, self.attr = k, v, attr

    def __len__(self) -> int:
        return len(self.k)

    @property
    def keyed(self) -> bool:
        """Is it a keyed table?"""
        return self.k.__class__ is Table and self.v.__class__ is Table

    @property
    def tables(self) -> tuple[Table, Table]:
        """The keys and the values of a keyed table."""
        keys, values = self.k, self.v
        if keys.__class__ is Table and values.__class__ is Table:
            return keys, values
        raise QError("type")

    @property
    def unkeyed(self) -> Table:
        """A keyed table as an unkeyed one."""
        keys, values = self.tables
        return Table(keys.names + values.names, keys.cols + values.cols)

    def __repr__(self) -> str:
        return f"Dict({self.k!r}, {self.v!r})"


_MANY_NAMES = 12  # with fewer columns, a name is searched linearly


COLLAPSE = Hook()  # makes the list of some items as q would: values/base/build.py


@final
class Table:
    """A table: `names` column names (str), `cols` the columns, list values of equal length. `attr` is 's' if `s# made
    it; it holds as long as its first column has an attribute. `look` is as for vectors, for rows."""

    __slots__ = ("_keys", "_places", "attr", "cols", "look", "names")
    _keys: Vec  # the names, once a row was asked for
    _places: dict[str, int]  # name -> index, if there are many columns
    look: int | dict[Any, int]

    def __init__(self, names: list[str], cols: list[ListValue], attr: str = "") -> None:
        self.names, self.cols, self.attr = names, cols, attr

    def __len__(self) -> int:
        cols: Any = self.cols  # those of a file know how many rows there are
        return int(cols.rows()) if cols.__class__ is not list else len(cols[0]) if cols else 0

    def col(self, name: str) -> ListValue:
        if len(self.names) <= _MANY_NAMES:
            return self.cols[self.names.index(name)]
        return self.cols[self.place(name)]

    def place(self, name: str) -> int:
        """The index of the column with a name; ValueError if unknown."""
        names = self.names
        if len(names) <= _MANY_NAMES:
            return names.index(name)
        try:
            return self._places[name]
        except AttributeError:
            self._places = dict(zip(reversed(names), range(len(names) - 1, -1, -1), strict=True))
            return self.place(name)
        except KeyError:
            pass
        raise ValueError(name)

    def has(self, name: str) -> bool:
        """Is there a column with that name?"""
        if len(self.names) <= _MANY_NAMES:
            return name in self.names
        try:
            return name in self._places
        except AttributeError:
            self.place(self.names[0])
            return name in self._places

    def copied(self) -> Table:
        """A table with the same columns, some of which may be replaced."""
        table = Table(list(self.names), list(self.cols))
        places = getattr(self, "_places", None)
        if places is not None:
            table._places = dict(places)
        return table

    def add(self, name: str, col: ListValue) -> None:
        """Append a column to a table that nobody else has."""
        self.names.append(name)
        self.cols.append(col)
        self._keys = sym_vec(self.names)
        places = getattr(self, "_places", None)
        if places is not None:
            places[name] = len(self.names) - 1

    @property
    def items(self) -> list[Value]:
        keys = sym_vec(self.names)
        return [
            Dict(keys, COLLAPSE.fn(list(row)))
            for row in zip(*map(seq_items, self.cols), strict=True)
        ]

    def item(self, i: int) -> Dict:
        """Row i as a dictionary."""
        try:
            keys = self._keys
        except AttributeError:
            keys = self._keys = sym_vec(self.names)
        return Dict(keys, COLLAPSE.fn([column.item(i) for column in self.cols]))

    def __repr__(self) -> str:
        return f"Table({self.names!r})"


def sym_vec(names: Iterable[str]) -> Vec:
    """The symbol vector for some names."""
    return Vec(T.S, np.array([sym(name).v for name in names], np.int32))


def sym_names(x: Vec) -> list[str]:
    """The names in a symbol vector."""
    return [SYMBOLS[code].s for code in x.a.tolist()]


@final
class _Nil:
    """The generic null `::`; as a function, identity."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "::"


@final
class _Hole:
    """An omitted argument in a projection."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<hole>"


NIL = _Nil()
HOLE = _Hole()

# ------------------------------------------------------------------ atoms and raw values

_PYTYPE = {int: T.J, float: T.F, bool: T.B, Special: T.J, Sym: T.S}


def atom(t: int, v: Any) -> AtomValue:
    """The atom of type t with raw value v (a Python or numpy scalar)."""
    if t == T.J:
        number = int(v)
        return number if -T.LONG_MAX < number < T.LONG_MAX else long(number)
    if t == T.F:
        return float(v)
    if t == T.B:
        return bool(v)
    if t == T.S:
        return SYMBOLS[int(v)]
    if t == T.E or t == T.Z:
        return Atom(t, float(v))
    if t == T.G:
        return Atom(t, bytes(v))
    return Atom(t, int(v))


def atoms(t: int, a: np.ndarray, dom: str = "") -> list[Value]:
    """The atoms of a 1-d array of type t."""
    raw_items = a.tolist()
    if t == T.J:
        if len(a) and (a.min() <= -T.LONG_MAX or a.max() == T.LONG_MAX):
            for position in np.flatnonzero((a <= -T.LONG_MAX) | (a == T.LONG_MAX)).tolist():
                raw_items[position] = _SPECIAL[raw_items[position]]
        return raw_items
    if t == T.F or t == T.B:
        return raw_items
    if t == T.S:
        return [SYMBOLS[raw_item] for raw_item in raw_items]
    if t == T.ENUM:
        return [EnumAtom(raw_item, dom) for raw_item in raw_items]
    if t == T.G:
        return [Atom(t, bytes(guid)) for guid in a]
    return [Atom(t, raw_item) for raw_item in raw_items]


def raw(x: Value) -> Any:
    """The raw value of an atom: int, float, bytes or bool; special longs as their bit patterns, symbols as codes."""
    cls = x.__class__
    return x if cls is int or cls is float or cls is bool else x.v  # type: ignore[union-attr]


def atom_t(x: Value) -> int:
    """The positive type number of an atom, 0 for anything else."""
    qtype = _PYTYPE.get(x.__class__)
    if qtype is not None:
        return qtype
    return x.t if isinstance(x, Atom) else 0


def is_atom(x: Value) -> TypeIs[AtomValue]:
    """Is x an atom (of a simple type; functions, dictionaries and :: are not)?"""
    return x.__class__ in _PYTYPE or isinstance(x, Atom)


def is_list(x: Value) -> TypeIs[Vec | List]:
    """Is x a vector or a general list?"""
    return x.__class__ is Vec or isinstance(x, List)


def char(c: str) -> Atom:
    """The char atom of a one-character string (a character below 256)."""
    return Atom(T.C, ord(c))


def seq_items(x: Value) -> list[Value]:
    """The items of any list, table or dictionary (its values), as a Python list. An atom is 'type."""
    if x.__class__ is List or x.__class__ is Vec or x.__class__ is Nd or x.__class__ is Table:
        return x.items
    if x.__class__ is Dict:
        return seq_items(x.v)
    raise QError("type")


def text_of(x: Value) -> str:
    """The Python string for a q string, char or symbol; anything else is 'type."""
    if x.__class__ is Sym:
        return x.s
    if x.__class__ is Vec and x.t == T.C:
        return x.a.tobytes().decode("utf-8", "surrogateescape")
    if x.__class__ is Atom and x.t == T.C:
        return chr(x.v)
    if x.__class__ is List and not x.items:
        return ""
    raise QError("type")
