"""q's operators on vectors and dictionaries of tensors: pointwise operators apply to each tensor; indexing is by
position or name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import CallError, QError
from kshell.kapi.base import guard
from kshell.kapi.base.args import longs_of, names_of
from kshell.kapi.base.call import invoke
from kshell.kapi.base.convert import kname, to_tensor
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    VectorHandle,
    behaviour,
    dict_handle,
    tensor_handle,
    vector_handle,
)
from kshell.kapi.tensor.containers import put_named
from kshell.kapi.tensor.indexing import amend, index, undo
from kshell.kapi.tensor.operators import DYADS, MONADS, operand, pair
from kshell.values.base.core import HOLE, NIL, Atom, Dict, List, Value, is_list, seq_items, sym_vec
from kshell.values.base.functions import Prim
from kshell.values.base.symbols import Sym
from kshell.values.engine.apply import apply
from kshell.values.session.interrupts import stoppable
from kshell.values.session.restrict import refuse

if TYPE_CHECKING:
    from torch import Tensor

# fmt: off  # a table
# the pointwise unary verbs
_ATOMIC = (
    "neg",
    "abs",
    "sqrt",
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "floor",
    "ceiling",
    "signum",
    "reciprocal",
    "not",
    "null",
)
# fmt: on
# the binary operators and verbs that are not pointwise
_WHOLE = ("mmu", "lsq", "cov", "scov", "cor", "in", "bin", "binr", "deltas", "ratios", "#", "_")


def _tensors_of(h: KHandle) -> dict[Any, Any]:
    """The tensors of a vector or dictionary, by position or name."""
    members = h.get()
    return members if isinstance(members, dict) else dict(enumerate(members))


def _holder(h: KHandle, tensors: dict[Any, Any]) -> KHandle:
    return dict_handle(tensors) if h.__class__ is DictHandle else vector_handle(tensors.values())


def _defined(name: str, t: Tensor | None) -> Tensor:
    if t is None:
        raise CallError(name, "undefined tensor", says=("tensor",))
    return t


@behaviour("do_monad", VectorHandle, DictHandle)
def each_monad(h: KHandle, name: str) -> Value:
    """Apply the pointwise unary verb `name` to each tensor: a new vector or dictionary. For a dictionary, `key` returns
    the names and `value` a list of the tensors."""
    if h.__class__ is DictHandle and name in ("key", "value"):
        return sym_vec(list(h.get())) if name == "key" else at_place(h, (NIL,))
    if name not in _ATOMIC:
        raise QError(f"{'condition' if name == 'item' else name}: not implemented for {h.plural}")
    function = MONADS[name]
    return _holder(
        h,
        {
            key: invoke(name, function, _defined(name, tensor))
            for key, tensor in _tensors_of(h).items()
        },
    )


@behaviour("do_dyad", VectorHandle, DictHandle)
def each_dyad(h: KHandle, name: str, x: Value, y: Value) -> Value:
    """Apply the pointwise binary verb `name` to each tensor and the other operand, or its corresponding item."""
    cast = name == "$" and h is y and x.__class__ in (Sym, Atom)
    if name in _WHOLE or not (cast or (name in DYADS and name != "$")):
        raise QError(f"{name}: not implemented for {kname(x)} and {kname(y)}")
    tensors = _tensors_of(h)
    each_x, each_y = _spread(name, x, h, tensors), _spread(name, y, h, tensors)
    return _holder(
        h,
        {
            key: pair(name, each_x[key], each_y[key], _defined(name, tensor))
            for key, tensor in tensors.items()
        },
    )


def _spread(name: str, x: Value, h: KHandle, own: dict[Any, Any]) -> dict[Any, Any]:
    """The operand for each tensor of h: an item of x, if x is a list or dictionary of the same length, else x
    itself."""
    if x is h:
        return own
    if x.__class__ is DictHandle or x.__class__ is Dict:
        if h.__class__ is not DictHandle:
            raise QError(f"{name}: not implemented for {kname(h)} and {kname(x)}")
        operands = (
            x.get()
            if isinstance(x, DictHandle)
            else dict(zip(names_of(x.k) or (), seq_items(x.v), strict=False))
        )
        if operands.keys() != own.keys():
            raise QError(f"{name}: expected the keys {_listed(own)}, given {_listed(operands)}")
        return operands
    if x.__class__ is not VectorHandle and (isinstance(x, KHandle) or not is_list(x)):
        return dict.fromkeys(own, x)
    items = x.get() if x.__class__ is VectorHandle else seq_items(x)
    if len(items) != len(own):
        raise QError(f"{name}: {len(own)} tensor(s) and {len(items)} value(s)")
    return dict(zip(own, items, strict=True))


def _listed(keys: Iterable[str]) -> str:
    return "".join("`" + key for key in keys) or "()"


def _places_in(h: KHandle, i: Value) -> Sequence[Any]:
    """The positions that an index selects from a vector (by position) or dictionary (by name)."""
    vector = h.__class__ is VectorHandle
    members = h.get()
    positions = (
        list(members if not vector else range(len(members)))
        if i is NIL or i is HOLE
        else longs_of(i)
        if vector
        else names_of(i)
    )
    if positions is None or isinstance(i, KHandle):
        raise CallError(
            "index", expected=f"{'long' if vector else 'symbol'}(s) for {h.kind}", given=kname(i)
        )
    if any(
        position not in (members if not vector else range(len(members))) for position in positions
    ):
        raise QError("index")
    return positions


@behaviour("do_index", VectorHandle, DictHandle)
def at_place(h: KHandle, args: Sequence[Value]) -> Value:
    """`v i`, ``d`key``: a handle for one tensor, a list for several; further indices index the tensors."""
    positions = _places_in(h, args[0])
    handles = [tensor_handle(h.get()[position]) for position in positions]
    items: list[Value] = [*handles]
    if len(args) > 1:
        items = [index(handle, args[1:]) for handle in handles]
    return List(items) if args[0] is NIL or args[0] is HOLE or is_list(args[0]) else items[0]


@behaviour("do_amend", VectorHandle, DictHandle)
def amend_place(h: KHandle, args: Sequence[Value], f: Value, y: Value) -> Value:
    """`v[i]:y`, ``d[`key]+:y``: replace tensors in a vector or dictionary. A module's parameters, and tensors that
    require gradients, are not replaced but given the values. Further indices amend the tensors."""
    if len(args) < 2:
        refuse("amend")  # the container's tensors are replaced, their memory is not written
    members = h.get()
    every = not args or args[0] is NIL or args[0] is HOLE
    named = h.__class__ is DictHandle and len(args) == 1 and not every and (f is None or f is NIL)
    several = every or is_list(args[0])
    positions = names_of(args[0]) if named else _places_in(h, args[0] if args else NIL)
    if positions is None:
        raise CallError("amend", expected="symbol(s) for dictionary", given=kname(args[0]))
    values = [y] * len(positions)
    if several and isinstance(y, VectorHandle | DictHandle):
        y = List(_held_by(y, positions))
    if several and is_list(y) and not isinstance(y, KHandle):
        if len(y) != len(positions):
            raise QError(f"amend: {len(positions)} tensor(s) and {len(y)} value(s)")
        values = seq_items(y)
    if len(args) > 1:
        selected = [_defined("amend", members[position]) for position in positions]
        with guard.kept(selected if len(selected) > 1 else ()):
            for tensor, value in zip(selected, values, strict=True):
                amend(tensor_handle(tensor), args[1:], f, value)
        return h
    tensors = [
        _put(members[position] if position in positions and not named else None, f, value)
        for position, value in zip(positions, values, strict=True)
    ]
    if isinstance(h, DictHandle):
        put_named(h, dict(zip(positions, tensors, strict=True)), "amend")
        return h
    for position, tensor in zip(positions, tensors, strict=True):
        members[position] = tensor
    return h


@behaviour("do_undo", VectorHandle, DictHandle)
def undo_place(h: KHandle, args: Sequence[Value]) -> Callable[[], None]:
    """A function that restores the current tensors of a vector or dictionary, and the values at an index."""
    members = h.get()
    before = members.copy()
    if len(args) > 1:
        restorers = [
            undo(tensor_handle(_defined("amend", members[position])), args[1:])
            for position in _places_in(h, args[0])
        ]
    else:
        restorers = [
            undo(tensor_handle(tensor), (NIL,))
            for tensor in _tensors_of(h).values()
            if tensor is not None and tensor.requires_grad
        ]

    def put_back() -> None:
        for restorer in restorers:
            restorer()
        members.clear()
        members.update(before) if isinstance(members, dict) else members.extend(before)

    return put_back


def _held_by(y: VectorHandle | DictHandle, places: Sequence[Any]) -> list[Value]:
    """The tensors to put at some positions: those of a vector in order, those of a dictionary by name."""
    members = y.get()
    if not isinstance(members, dict):
        return [tensor_handle(tensor) for tensor in members]
    if set(members) != set(places):
        raise QError(f"amend: expected tensors {_shown(places)}, given {_shown(members)}")
    return [tensor_handle(members[place]) for place in places]


def _shown(places: Iterable[Any]) -> str:
    return "".join(f"`{place}" for place in places) or "none"


def _put(old: Tensor | None, f: Value, y: Value) -> Any:
    """The replacement for a tensor: y, f of the tensor, or f of the tensor and y."""
    name = f.name if f.__class__ is Prim else ""
    if f is not None and f is not NIL and name != ":":
        handle = tensor_handle(_defined("amend", old))
        y = stoppable(apply, f, (handle,) if y is NIL or y is HOLE else (handle, y))
    replacement = operand("amend", y)
    return replacement if isinstance(y, KHandle) else to_tensor(y)  # a separate tensor
