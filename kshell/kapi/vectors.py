"""`vector` and `dict`: lists and dictionaries of tensors; `gradflag`, `grad` and gradients of tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kshell.errors import QError
from kshell.kapi.args import flag_of, is_empty, items, long_of, longs_of, names_of
from kshell.kapi.call import api
from kshell.kapi.convert import dict_q, kname, list_q, to_q, to_tensor
from kshell.kapi.handles import (
    DictHandle,
    KHandle,
    TensorHandle,
    VectorHandle,
    dict_handle,
    handle,
    vector_handle,
)
from kshell.values.core import NIL, Dict, List, Value, Vec, is_list, seq_items


def owned(values: Sequence[Value], call: str) -> list[Any]:
    """The tensors of some values, whose handles are given up: a tensor handle gives its tensor, an array a new one.

    Everything is read before any handle is freed, so an error changes nothing.
    """
    tensors = []
    for v in values:
        h = handle(v)
        if h is None:
            tensors.append(to_tensor(v))
        elif h.__class__ is TensorHandle:
            tensors.append(h.obj)
        else:
            raise QError(f"{call}: expected tensor or array, given {kname(v)}")
    for v in values:
        if isinstance(v, KHandle):
            v.free()
    return tensors


def _positions(x: Value, n: int, call: str) -> list[int]:
    at = longs_of(x)
    if at is None:
        raise QError(f"{call}: expected long index for vector, given {kname(x)}")
    for i in at:
        if not 0 <= i < n:
            raise QError(f"{call}: vector[{i}] out of bounds, index must be less than {n}")
    return at


def _values(x: Value, n: int, single: bool, call: str) -> list[Value]:
    """The n values for n places: x itself for a single one, else the items of x."""
    if single:
        return [x]
    if not is_list(x) or len(x) != n:
        raise QError(f"{call}: {n} places but {len(x) if is_list(x) else 1} value(s)")
    return seq_items(x)


# ------------------------------------------------------------------ vector


@api("vector", "vector(x1;x2;..)", "vector v", "vector(v;i)", "vector(v;i;value)", "vector(v;w)", held=True)
def vector(x: Value) -> Value:
    """Make a vector of tensors, read it back as a list, replace or append some of its tensors.

    Tensor handles put into a vector are given up to it; `addref` keeps one. Index 0N or -1 appends.

    q)v:vector(1 2;3 4 5.0)
    q)vector(v;1)
    3 4 5f

    q)vector(v;0;01b)
    q)vector v
    01b
    3 4 5f
    """
    if x.__class__ is VectorHandle:
        return list_q(x.get())
    if is_empty(x):
        return vector_handle([])
    if x.__class__ is Vec or not is_list(x):
        return vector_handle(owned([x], "vector"))
    found = items(x)
    if found[0].__class__ is VectorHandle:
        return _vector_edit(found[0], found[1:])
    return vector_handle(owned(found, "vector"))


def _vector_edit(h: VectorHandle, rest: Sequence[Value]) -> Value:
    tensors = h.get()
    if len(rest) == 1:
        if rest[0].__class__ is VectorHandle:
            tensors.extend(rest[0].take() if rest[0] is not h else list(tensors))
            return NIL
        at = _positions(rest[0], len(tensors), "vector")
        return to_q(tensors[at[0]]) if long_of(rest[0]) is not None else list_q([tensors[i] for i in at])
    if len(rest) != 2:
        raise QError(f"vector: expecting up to 3 args, given {len(rest) + 1}")
    n = longs_of(rest[0])
    if n is not None and len(n) == 1 and n[0] in (-1, -(1 << 63)):
        tensors.extend(owned([rest[1]], "vector"))
        return NIL
    at = _positions(rest[0], len(tensors), "vector")
    made = owned(_values(rest[1], len(at), long_of(rest[0]) is not None, "vector"), "vector")
    for i, t in zip(at, made, strict=True):
        tensors[i] = t
    return NIL


# ------------------------------------------------------------------ dict


@api("dict", "dict kdict", "dict(keys;values)", "dict d", "dict(d;keys)", "dict(d;keys;values)", "dict(d;kdict)",
     held=True)
def dict_(x: Value) -> Value:
    """Make a dictionary of tensors, read it back as a q dictionary, add or replace some of its tensors.

    q)d:dict`a`b!(1 2;3 4 5.0)
    q)dict(d;`c;10b)
    q)dict d
    a| 1 2
    b| 3 4 5f
    c| 10b
    """
    if x.__class__ is DictHandle:
        return dict_q(x.get())
    if is_empty(x):
        return dict_handle({})
    if x.__class__ is Dict:
        return dict_handle(_pairs_of(x.k, seq_items(x.v)))
    if not is_list(x):
        raise QError(f"dict: expected dictionary, or keys and values, given {kname(x)}")
    found = items(x)
    if found[0].__class__ is DictHandle:
        return _dict_edit(found[0], found[1:])
    if len(found) != 2:
        raise QError(f"dict: expecting keys and values, given {len(found)} arg(s)")
    names = names_of(found[0])
    if names is None:
        raise QError(f"dict: expected symbol keys, given {kname(found[0])}")
    single = found[0].__class__ is not Vec and not isinstance(found[0], List)
    return dict_handle(_pairs_of(found[0], _values(found[1], len(names), single, "dict")))


def _pairs_of(keys: Value, values: Sequence[Value]) -> dict[str, Any]:
    names = names_of(keys)
    if names is None:
        raise QError(f"dict: expected symbol keys, given {kname(keys)}")
    if len(set(names)) < len(names):
        raise QError("dict: duplicate key")
    return dict(zip(names, owned(values, "dict"), strict=True))


def keys_of(h: DictHandle, x: Value, call: str) -> list[str]:
    """The names that x selects from a dictionary of tensors."""
    names = names_of(x)
    if names is None:
        raise QError(f"{call}: expected symbol key(s) for dictionary, given {kname(x)}")
    for n in names:
        if n not in h.obj:
            raise QError(f"{call}: no dictionary key `{n}")
    return names


def _dict_edit(h: DictHandle, rest: Sequence[Value]) -> Value:
    named = h.get()
    if len(rest) == 1 and rest[0].__class__ is Dict:
        named.update(_pairs_of(rest[0].k, seq_items(rest[0].v)))
        return NIL
    if len(rest) == 1:
        names = keys_of(h, rest[0], "dict")
        single = rest[0].__class__ is not Vec and not isinstance(rest[0], List)
        return to_q(named[names[0]]) if single else list_q([named[n] for n in names])
    if len(rest) != 2:
        raise QError(f"dict: expecting up to 3 args, given {len(rest) + 1}")
    single = rest[0].__class__ is not Vec and not isinstance(rest[0], List)
    count = len(names_of(rest[0]) or ())
    named.update(_pairs_of(rest[0], _values(rest[1], count, single, "dict")))
    return NIL


# ------------------------------------------------------------------ parts of them


def tensors_in(h: KHandle, select: Value = None, call: str = "") -> list[tuple[Any, Any]] | None:
    """(place, tensor) of a tensor, vector or dictionary handle, all or the selected ones; None for other classes."""
    if h.__class__ is TensorHandle:
        return [(None, h.get())]
    if h.__class__ is VectorHandle:
        at = range(len(h.get())) if select is None else _positions(select, len(h.obj), call)
        return [(i, h.obj[i]) for i in at]
    if h.__class__ is DictHandle:
        names = list(h.get()) if select is None else keys_of(h, select, call)
        return [(n, h.obj[n]) for n in names]
    return None


def put_in(h: KHandle, place: Any, t: Any) -> None:
    """Replace the tensor at a place that `tensors_in` gave."""
    if place is None:
        h.obj = t
    else:
        h.obj[place] = t


def is_selector(x: Value) -> bool:
    """Can x select from a vector or dictionary (a long or symbol, or several)? A flag cannot."""
    return flag_of(x) is None and (bool(longs_of(x)) or bool(names_of(x)))
