"""Module inputs and outputs by name: keyword arguments of forward, named outputs.

The signature of forward decides whether a dictionary holds inputs by name or is itself an input.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kshell.errors import SAID, UNSAID, CallError, QError
from kshell.kapi.base.args import names_of, unknown
from kshell.kapi.base.convert import is_array, kname, to_tensor
from kshell.kapi.base.handles import DictHandle, KHandle, ModuleHandle, TensorHandle, VectorHandle
from kshell.kapi.module.describe import type_of
from kshell.kapi.module.options import module_record
from kshell.values.base.core import NIL, Dict, List, seq_items, text_of
from kshell.values.base.functions import Foreign
from kshell.values.base.narrow import is_text
from kshell.values.base.symbols import Sym

if TYPE_CHECKING:
    from torch import device as Device
    from torch.nn import Module

_DICTIONARY = re.compile(r"\b(?:[Dd]ict|Mapping|TypedDict)\b")  # in an annotation


class Inputs(list[Any]):
    """The positional inputs of a module, and those by name."""

    __slots__ = ("named",)

    def __init__(self, tensors: Iterable[Any] = (), named: Mapping[str, Any] | None = None) -> None:
        super().__init__(tensors)
        self.named = dict(named or {})


# ------------------------------------------------------------------ inputs


class _Signature:
    """The signature of a module's forward: names, number of positional inputs, whether it takes other names."""

    def __init__(self, m: Module) -> None:
        parameters = inspect.signature(m.forward).parameters.values()
        self.names = [
            parameter.name
            for parameter in parameters
            if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        ]
        self.places = [
            parameter
            for parameter in parameters
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
        self.all_places = any(
            parameter.kind is parameter.VAR_POSITIONAL for parameter in parameters
        )
        self.all_names = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)

    def takes_dictionary(self, before: int) -> bool:
        """Is the input after that many required, or annotated as a dictionary?"""
        if before >= len(self.places):
            return self.all_places
        param = self.places[before]
        return param.default is param.empty or bool(_DICTIONARY.search(str(param.annotation)))


def _tensors_only(m: Module) -> bool:
    """Does the module take only tensors: a type from torch or kshell with its own forward?"""
    entry = type_of(m)
    if entry is None or (record := module_record(entry)).cls is not None:
        return False
    return not record.container or entry.name == "callback"


def _are_names(m: Module, names: Sequence[str], before: int, call: str) -> bool:
    """Are these names of inputs? If not, a dictionary with them is one input."""
    signature = _Signature(m)
    wrong = [name for name in names if name not in signature.names]
    if not wrong:
        return True
    if len(wrong) == len(names) and not _tensors_only(m) and signature.takes_dictionary(before):
        return False
    if signature.all_names:
        return True
    raise unknown(
        f"{type(m).__name__} has no input `",
        wrong[0],
        signature.names,
        f", its inputs are {' '.join(signature.names)}" if signature.names else "",
        call=call,
    )


def add_named(
    tensors: list[Any], x: Dict | DictHandle, m: Module, call: str, device: Device
) -> Inputs | None:
    """The inputs, including those in a call's final dictionary; None for a dictionary of tensors that stands for as
    many positional inputs."""
    if isinstance(x, DictHandle):
        return _with_tensors(tensors, x.get(), m, call)
    names = names_of(x.k)
    if names is None:
        raise QError(f"{call}: inputs by name have symbols for keys, given {kname(x.k)}")
    named = {
        name: as_torch(item, device, call) for name, item in zip(names, seq_items(x.v), strict=True)
    }
    return (
        Inputs(tensors, named)
        if _are_names(m, names, len(tensors), call)
        else Inputs([*tensors, named])
    )


def _with_tensors(tensors: list[Any], named: dict[str, Any], m: Module, call: str) -> Inputs | None:
    if by_name(m, named):
        return Inputs(tensors, named)
    entry = type_of(m)
    if entry is not None and module_record(entry).cls is None:
        return None
    signature = _Signature(m)
    return (
        None
        if signature.all_places or len(tensors) + len(named) <= len(signature.places)
        else Inputs([*tensors, dict(named)])
    )


def by_name(m: Module, named: Mapping[str, Any]) -> bool:
    """Are the names in a dictionary of tensors all names of inputs?"""
    return bool(named) and not set(named) - set(_Signature(m).names)


def as_torch(x: Any, device: Device | None = None, call: str = UNSAID) -> Any:
    """The Python value for a function of torch or of the user's: tensors from handles and arrays, on a device if one is
    given; numbers, flags and texts from atoms; dictionaries and lists of these; Python objects are themselves."""
    if isinstance(x, TensorHandle | DictHandle | ModuleHandle):
        return x.get()
    if isinstance(x, VectorHandle):
        return list(x.get())
    if x is NIL or x.__class__ in (bool, int, float):
        return None if x is NIL else x
    if x.__class__ is Sym:
        return x.s
    if is_text(x):
        return text_of(x)
    if x.__class__ is Dict and (names := names_of(x.k)) is not None:
        return {
            name: as_torch(item, device, call)
            for name, item in zip(names, seq_items(x.v), strict=True)
        }
    if is_array(x):
        return to_tensor(x) if device is None else to_tensor(x, own=device.type == "cpu").to(device)
    if x.__class__ is List:
        return [as_torch(item, device, call) for item in x.items]
    if isinstance(x, Foreign):
        return x.obj
    if isinstance(x, KHandle):
        return x.obj
    raise CallError(
        call, f"a {kname(x)} is no tensor, number, text, list or dictionary of them", given=SAID
    )


# ------------------------------------------------------------------ outputs


def named_output(out: object) -> dict[str, Any] | None:
    """The parts of a named output by name: a mapping, a dataclass, a named tuple; None for anything else."""
    if isinstance(out, Mapping):
        return {str(key): value for key, value in out.items()}
    if dataclasses.is_dataclass(out) and not isinstance(out, type):
        return {field.name: getattr(out, field.name) for field in dataclasses.fields(out)}
    if isinstance(out, tuple) and hasattr(out, "_asdict"):
        return dict(out._asdict())
    return None
