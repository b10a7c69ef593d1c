"""`vector` and `dict`: lists and dictionaries of tensors, also used by `gradflag` and `grad`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import flag_of, is_empty, items, long_of, longs_of, names_of, size_text
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import dict_q, kname, list_q, put, to_q, to_tensor
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    TensorHandle,
    VectorHandle,
    dict_handle,
    handle,
    lend,
    vector_handle,
)
from kshell.values.base.core import NIL, NULL_J, Dict, Value, Vec, is_atom, is_list, seq_items

if TYPE_CHECKING:
    from torch import Tensor


def _vector_of(values: Sequence[Value]) -> VectorHandle:
    """A vector of the tensors of some values, which are lent to it."""
    whole = vector_handle(read_tensors(values, "vector"))
    lend(values, whole)
    return whole


def _dict_of(names: Sequence[str], values: Sequence[Value]) -> DictHandle:
    """A dictionary of the tensors of some values, which are lent to it."""
    dictionary = dict_handle(dict(zip(names, read_tensors(values, "dict"), strict=True)))
    lend(values, dictionary)
    return dictionary


def read_tensors(values: Sequence[Value], call: str) -> list[Any]:
    """The tensors of some values: a tensor handle's tensor, or a new one for an array. The handles are unchanged."""
    tensors = []
    for value in values:
        source = handle(value)
        if source is None:
            tensors.append(to_tensor(value))
        elif source.__class__ is TensorHandle:
            tensors.append(source.obj)
        else:
            raise CallError(call, expected="tensor or array", given=kname(value))
    return tensors


def _positions(x: Value, n: int, call: str, grow: bool = False) -> list[int]:
    """The positions that x selects in a vector of n tensors; with `grow`, -1 and 0N append."""
    positions = longs_of(x)
    if positions is None:
        raise CallError(call, expected="long index for vector", given=kname(x))
    for slot, index in enumerate(positions):
        if grow and index in (-1, NULL_J.v):
            positions[slot], n = n, n + 1
        elif not 0 <= index < n:
            # show nulls as such, not as their number
            raise CallError(
                call,
                f"vector[{index}] out of bounds, index must be less than {n}",
                given=UNSAID if index < 0 else SAID,
            )
    return positions


def _values(x: Value, n: int, single: bool, call: str) -> list[Value]:
    """n values for n positions: x itself for one, else the items of x; for one position, x may also be a one-item
    list."""
    if single:
        return [x]
    values: list[Value] = x.items if is_list(x) else [x]
    if len(values) != n:
        raise CallError(
            call,
            f"length error, {n} {'key(s)' if call == 'dict' else 'place(s)'} with "
            f"{len(values)} value(s)",
            says=(n, len(values)),
        )
    return values


# ------------------------------------------------------------------ vector


@api(
    "vector",
    "vector(x1;x2;..)",
    "vector v",
    "vector(v;i)",
    "vector(v;i;value)",
    "vector(v;w)",
    held=True,
    effect="reads1",
)
def vector(x: Value) -> Value:
    """Make a vector of tensors, read it back as a list, replace or append tensors.

    Each item of a list becomes a tensor, also the numbers of a simple list. Tensor handles put into a vector are lent
    to it: they are stale until it is freed; use `addref` to keep one. Index 0N or -1 appends.

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
    if x.__class__ is Vec:
        return vector_handle([tensor.clone() for tensor in to_tensor(x, own=False)])
    if not is_list(x):
        return _vector_of([x])
    args = items(x)
    if args[0].__class__ is VectorHandle:
        return _vector_edit(args[0], args[1:])
    return _vector_of(args)


def _vector_edit(h: VectorHandle, rest: Sequence[Value]) -> Value:
    tensors = h.get()
    if not rest:
        return list_q(tensors)
    if len(rest) == 1:
        if rest[0].__class__ is VectorHandle:
            tensors.extend(list(rest[0].get()))
            lend(rest, h)
            return NIL
        positions = _positions(rest[0], len(tensors), "vector")
        return (
            to_q(tensors[positions[0]])
            if long_of(rest[0]) is not None
            else list_q([tensors[position] for position in positions])
        )
    if len(rest) != 2:
        raise QError(f"vector: expecting up to 3 args, given {len(rest) + 1}")
    positions = _positions(rest[0], len(tensors), "vector", grow=True)
    values = _values(rest[1], len(positions), long_of(rest[0]) is not None, "vector")
    replacements = read_tensors(values, "vector")
    tensors.extend([None] * (max(positions, default=-1) + 1 - len(tensors)))
    for position, tensor in zip(positions, replacements, strict=True):
        tensors[position] = tensor
    lend(values, h)
    return NIL


# ------------------------------------------------------------------ dict


@api(
    "dict",
    "dict kdict",
    "dict(keys;values)",
    "dict d",
    "dict(d;keys)",
    "dict(d;keys;values)",
    "dict(d;kdict)",
    held=True,
    effect="reads1",
)
def dict_(x: Value) -> Value:
    """Make a dictionary of tensors, read it back as a q dictionary, add or replace tensors.

    Tensors that require gradients, and those of `parms` or `buffers`, are not replaced but given the values.

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
        return _dict_of(_keys(x.k), seq_items(x.v))
    if not is_list(x):
        raise CallError("dict", expected="dictionary, or keys and values", given=kname(x))
    args = items(x)
    if args[0].__class__ is DictHandle:
        return _dict_edit(args[0], args[1:])
    if len(args) != 2:
        raise QError(f"dict: expecting keys and values, given {len(args)} arg(s)")
    names = _keys(args[0])
    return _dict_of(names, _values(args[1], len(names), is_atom(args[0]), "dict"))


def _keys(x: Value) -> list[str]:
    """The names in x, as keys for tensors."""
    names = names_of(x)
    if names is None:
        raise CallError("dict", expected="symbol keys", given=kname(x))
    if len(set(names)) < len(names):
        raise CallError("dict", "duplicate key")
    return names


def keys_of(h: DictHandle, x: Value, call: str) -> list[str]:
    """The names in x that select from a dictionary of tensors."""
    names = names_of(x)
    if names is None:
        raise CallError(call, expected="symbol key(s) for dictionary", given=kname(x))
    for name in names:
        if name not in h.obj:
            raise QError(f"{call}: no dictionary key `{name}")
    return names


def _dict_edit(h: DictHandle, rest: Sequence[Value]) -> Value:
    named = h.get()
    if not rest:
        return dict_q(named)
    if len(rest) == 1 and rest[0].__class__ is Dict:
        names, values = _keys(rest[0].k), seq_items(rest[0].v)
    elif len(rest) == 1:
        names = keys_of(h, rest[0], "dict")
        return (
            to_q(named[names[0]]) if is_atom(rest[0]) else list_q([named[name] for name in names])
        )
    elif len(rest) == 2:
        names = _keys(rest[0])
        values = _values(rest[1], len(names), is_atom(rest[0]), "dict")
    else:
        raise QError(f"dict: expecting up to 3 args, given {len(rest) + 1}")
    put_named(h, dict(zip(names, read_tensors(values, "dict"), strict=True)), "dict")
    lend(values, h)
    return NIL


def put_named(h: DictHandle, tensors: dict[str, Any], call: str) -> None:
    """Put tensors into a dictionary: a module's parameters and buffers, and tensors that require gradients, are given
    the values; all others are replaced. On an error, nothing changes."""
    named = h.get()
    of_module = hasattr(named, "objtype")  # the dictionary of a module's parameters or buffers
    in_place = {
        key: (named[key], tensor)
        for key, tensor in tensors.items()
        if key in named
        and named[key] is not None
        and tensor is not None
        and (of_module or named[key].requires_grad)
    }
    for key, (current, replacement) in in_place.items():
        if not fits(replacement.shape, current.shape):
            raise QError(
                f"{call}: `{key} with size of {size_text(current.shape)} cannot be updated with new values of size "
                + size_text(replacement.shape)
            )
    for current, replacement in in_place.values():
        put(current, replacement)
    named.update({key: tensor for key, tensor in tensors.items() if key not in in_place})


def fits(size: Sequence[int], into: Sequence[int]) -> bool:
    """Can a tensor of one size be copied into another size: no more dimensions, and each equal or 1?"""
    return len(size) <= len(into) and all(
        extent in (1, target) for extent, target in zip(size[::-1], into[::-1], strict=False)
    )


# ------------------------------------------------------------------ parts of them


def tensors_in(
    h: Value, select: Value | None = None, call: str = ""
) -> list[tuple[Any, Any]] | None:
    """(position, tensor) pairs of a tensor, vector or dictionary handle, all or the selected ones; None for other
    classes."""
    if h.__class__ is TensorHandle:
        return [(None, h.get())]
    if h.__class__ is VectorHandle:
        positions = range(len(h.get())) if select is None else _positions(select, len(h.obj), call)
        return [(position, h.obj[position]) for position in positions]
    if h.__class__ is DictHandle:
        names = list(h.get()) if select is None else keys_of(h, select, call)
        return [(name, h.obj[name]) for name in names]
    return None


def put_in(h: KHandle, place: str | int | None, t: Tensor | None) -> None:
    """Replace the tensor at a position from `tensors_in`."""
    if place is None:
        h.obj = t
    else:
        h.obj[place] = t


def is_selector(x: Value) -> bool:
    """Can x select from a vector or dictionary (longs or symbols)? A flag cannot."""
    return flag_of(x) is None and (bool(longs_of(x)) or bool(names_of(x)))
