"""Freezing parameters: turn their gradients off and on, optionally with new values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import items, names_of, size_text, unknown
from kshell.kapi.base.call import api
from kshell.kapi.base.convert import as_tensor, kname
from kshell.kapi.base.handles import (
    DictHandle,
    KHandle,
    ModelHandle,
    ModuleHandle,
    TensorHandle,
    VectorHandle,
    handle,
)
from kshell.kapi.base.lazy_torch import torch
from kshell.kapi.module.api import module_behind
from kshell.kapi.tensor.gradients import set_flags
from kshell.values.base.core import NIL, Dict, List, Value, seq_items
from kshell.values.base.symbols import Sym


@api(
    "freeze",
    "freeze ptr",
    "freeze(m;names)",
    "freeze(m;names;values)",
    "freeze(m;dictionary)",
    held=True,
    target="torch.nn.Module.requires_grad_",
    effect="changes",
)
def freeze(x: Value) -> Value:
    """Turn off gradients of parameters: all, the named ones, those of named children, or named ones with values to set.

    q)m:module enlist(`linear;2;1)
    q)freeze(m;`bias;3.0)
    q)gradflag m
    weight| 1
    bias  | 0
    q)tensor parm(m;`bias)
    ,3e
    """
    return _freeze(x, False, "freeze")


@api(
    "unfreeze",
    "unfreeze ptr",
    "unfreeze(m;names)",
    "unfreeze(m;names;values)",
    "unfreeze(m;dictionary)",
    held=True,
    effect="changes",
)
def unfreeze(x: Value) -> Value:
    """Turn on gradients of parameters: all, the named ones, those of named children, or named ones with values to set.

    q)m:module enlist(`linear;2;1)
    q)freeze m
    q)unfreeze(m;`bias)
    q)gradflag m
    weight| 0
    bias  | 1
    """
    return _freeze(x, True, "unfreeze")


def _freeze(x: Value, flag: bool, call: str) -> Value:
    target = handle(x)
    if target is not None:
        set_flags(_all_tensors(target, call), flag)
        return NIL
    args = items(x) if x.__class__ is List else []
    if len(args) == 1:
        return _freeze(args[0], flag, call)
    if not 2 <= len(args) <= 3:
        raise QError(f"{call}: expecting 2-3 args, (module;names;values), {len(args)} given")
    named = _named(args[0], call)
    wanted = names_of(args[1])
    if wanted is not None:
        values = _new_values(args, wanted, call)
        if not values:
            wanted = [inner for name in wanted for inner in _inside(named, name)]
    elif len(args) == 3:
        raise QError(f"{call}: expecting 2nd arg of dictionary, but given {len(args)} args")
    else:
        wanted, values = _from_dict(args[1], call)
    _check_names(named, wanted, values, call)
    set_flags([named[name] for name in wanted], flag)
    with torch.no_grad():
        for name, value in zip(wanted, values, strict=False):
            named[name].copy_(value)
    return NIL


def _all_tensors(h: KHandle, call: str) -> Sequence[Any]:
    if isinstance(h, TensorHandle):
        return [h.get()]
    if isinstance(h, VectorHandle | DictHandle):
        return list(h.obj.values() if isinstance(h, DictHandle) else h.obj)
    if isinstance(h, ModuleHandle | ModelHandle):
        return list(module_behind(h, call).parameters())
    raise QError(f"{call}: not implemented for {h.kind}")


def _named(x: Value, call: str) -> dict[str, Any]:
    if x.__class__ is DictHandle:
        return x.get()
    if isinstance(x, ModuleHandle | ModelHandle):
        return dict(module_behind(x, call).named_parameters())
    raise CallError(
        call, expecting="1st arg of module,model or parameter dictionary", given=kname(x)
    )


def _inside(named: dict[str, Any], name: str) -> list[str]:
    """The parameter names of a child module; for a parameter, its own name."""
    inside = [] if name in named else [path for path in named if path.startswith(f"{name}.")]
    return inside or [name]


def _new_values(given: Sequence[Value], wanted: list[str], call: str) -> list[Any]:
    if len(given) == 2:
        return []
    x = given[2]
    if given[1].__class__ is Sym:
        return [as_tensor(x)]
    values = (
        list(x.get()) if x.__class__ is VectorHandle else [as_tensor(item) for item in seq_items(x)]
    )
    if len(values) != len(wanted):
        raise QError(
            f"{call}: {len(wanted)}-element list of names but {len(values)}-element list of values"
        )
    return values


def _from_dict(x: Value, call: str) -> tuple[list[str], list[Any]]:
    if x.__class__ is DictHandle:
        return list(x.get()), list(x.get().values())
    if x.__class__ is Dict and names_of(x.k) is not None:
        return names_of(x.k) or [], [as_tensor(item) for item in seq_items(x.v)]
    raise CallError(call, f"unrecognized 2nd arg, {kname(x)}", given=SAID, expected=UNSAID)


def _check_names(named: dict[str, Any], wanted: list[str], values: list[Any], call: str) -> None:
    for position, name in enumerate(wanted):
        param = named.get(name)
        if param is None:
            raise unknown("unable to find parameter `", name, named, call=call, given=UNSAID)
        if values and not _fits(values[position].shape, param.shape):
            raise QError(
                f"{call}: size mismatch for parameter `{name}, size is {size_text(param.shape)} vs new size of "
                f"{size_text(values[position].shape)}"
            )


def _fits(small: Sequence[int], full: Sequence[int]) -> bool:
    """Does a shape broadcast to another?"""
    if len(small) > len(full):
        return False
    return all(
        extent in (1, target)
        for extent, target in zip(reversed(small), reversed(full), strict=False)
    )
