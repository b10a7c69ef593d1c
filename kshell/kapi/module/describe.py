"""Descriptions of live modules: type, name and options, read from the torch object; definitions and states; text in
libtorch's format.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kshell import registry
from kshell.kapi.base.convert import dict_q, to_q
from kshell.kapi.base.python_types import entry_of_object
from kshell.kapi.module.options import (
    ModuleRecord,
    as_dict,
    class_of,
    live_values,
    module_record,
    type_record,
)
from kshell.registry import Entry
from kshell.values.base.build import collapse, longs, symdict, table
from kshell.values.base.core import Dict, Value, sym_vec
from kshell.values.base.symbols import sym

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

# ------------------------------------------------------------------ names and types of live modules

_NAME = "kshell_name"
REPLACED = "kshell_replaced"  # names of children that replaced those a module made itself
_CLASSES: list[tuple[int, dict[type, Entry]]] = []


def name_of_module(m: Module) -> str:
    """The name a module was given, or an empty string."""
    return str(m.__dict__.get(_NAME, ""))


def set_name(m: Module, name: str) -> None:
    if name:
        m.__dict__[_NAME] = name


def _classes() -> dict[type, Entry]:
    if not _CLASSES or _CLASSES[0][0] != registry.version():
        _CLASSES[:] = [
            (
                registry.version(),
                {
                    class_of(entry): entry
                    for entry in registry.entries("module")
                    if module_record(entry).python is None
                },
            )
        ]
    return _CLASSES[0][1]


def type_of(m: Module) -> Entry | None:
    """The module type of a live module: that of its class, or of the nearest base class that has one."""
    return entry_of_object(m, "module", _classes())


def type_name(m: Module) -> str:
    """The symbol for a live module's type; for an unregistered class, the class name."""
    entry = type_of(m)
    return entry.name if entry is not None else type(m).__name__


def label(m: Module) -> str:
    """A module's class as named in messages: `Linear`, `knn::SeqNest`."""
    entry = type_of(m)
    if entry is None:
        return type(m).__name__
    if special := module_record(entry).label:
        return special
    package, _, class_name = entry.target.rpartition(".")
    return (
        class_name
        if package == "torch.nn"
        else f"knn::{class_name}"
        if package.startswith("kshell")
        else type(m).__name__
    )


def pytorch_name(entry: Entry) -> str:
    """The class or function of an entry as named in the help tables."""
    return type_record(entry).pytorch or entry.target


def mark_replaced(m: Module, key: str) -> None:
    """Record that a child of a module is not the one that the module made."""
    m.__dict__[REPLACED] = tuple(dict.fromkeys((*m.__dict__.get(REPLACED, ()), key)))


def is_container(m: Module) -> bool:
    """Is the module one whose children are added to it?"""
    entry = type_of(m)
    return entry is not None and module_record(entry).container


# ------------------------------------------------------------------ definitions and states


def options_of(m: Module, every: bool, state: bool) -> Dict:
    """A live module's options as a q dictionary."""
    entry = type_of(m)
    if entry is None:
        return symdict([], [])
    live = module_record(entry).live
    if live is not None:
        return live(m, every, state)
    return as_dict(entry, live_values(entry, m), every)


def definition(m: Module, every: bool = True, state: bool = False) -> Value:
    """Depth, type, name and options of a module, with `state` also its parameters and buffers: a dictionary for a
    single module, a table with one row per module for a container."""
    names = ["depth", "module", "name", "options"] + (["parms", "buffers"] if state else [])
    if not is_container(m) and next(m.children(), None) is None:
        return symdict(
            names, _row(m, 0, name_of_module(m), every, _Shared() if state else None, "")
        )
    rows: list[list[Value]] = []
    _walk(m, 0, name_of_module(m), every, _Shared() if state else None, "", rows)
    columns = list(zip(*rows, strict=True))
    return table(
        names,
        [
            longs(columns[0]),
            sym_vec([symbol.s for symbol in columns[1]]),
            sym_vec([symbol.s for symbol in columns[2]]),
            *(collapse(list(column)) for column in columns[3:]),
        ],
    )


class _Shared(dict[int, str]):
    """The parameters of a state by id, with the name of their first occurrence."""

    def value(self, t: Tensor, name: str) -> Value:
        """A parameter's values; for one that occurred before, its name there."""
        first = self.setdefault(id(t), name)
        return to_q(t) if first == name else sym(first)


def _row(
    m: Module, depth: int, name: str, every: bool, state: _Shared | None, path: str
) -> list[Value]:
    options = options_of(m, every, state is not None)
    row: list[Value] = [depth, sym(type_name(m)), sym(name), options]
    if state is not None:
        parms = {
            key: state.value(value, f"{path}{key}")
            for key, value in m._parameters.items()
            if value is not None
        }
        buffers = {key: value for key, value in m._buffers.items() if value is not None}
        row += [symdict(list(parms), list(parms.values())), dict_q(buffers)]
    return row


def _walk(
    m: Module,
    depth: int,
    name: str,
    every: bool,
    state: _Shared | None,
    path: str,
    rows: list[list[Value]],
) -> None:
    rows.append(_row(m, depth, name, every, state, path))
    for key, child in m._modules.items():  # named_children would omit a child that occurs twice
        if child is not None:
            _walk(child, depth + 1, key, every, state, f"{path}{key}.", rows)


def named_parameters(m: Module) -> Iterator[tuple[Any, str, str]]:
    """Each parameter of a module and its submodules: (tensor, type of the owning module, dotted name)."""
    for path, submodule in m.named_modules():
        kind = ""
        for name, tensor in submodule._parameters.items():
            if tensor is not None:
                kind = kind or type_name(submodule)
                yield tensor, kind, f"{path}.{name}" if path else name


# ------------------------------------------------------------------ text in libtorch's form

# options that libtorch writes as lists, one number per dimension
_LISTED = re.compile(r"\b(kernel_size|stride|padding|dilation|output_size)=(\d+)")
# C++ writes six digits, and 1 for 1.0
_FLOAT = re.compile(r"-?\d+(?:\.\d+(?:e[-+]?\d+)?|e[-+]?\d+)")
_ENUM = re.compile(r"\b(mode|padding_mode)='?([a-z])([a-z-]*)'?")  # an enumerated value: kReflect
_ALONE = re.compile(r"=\[(\d+)\]")
_UNKNOWN = ModuleRecord()  # the class is not a module type


def cpp_text(m: Module, indent: str = "") -> str:
    """The text for a module, `torch::nn::Linear(in_features=784, out_features=10, bias=true)`, with its children
    indented below."""
    entry = type_of(m)
    record = _UNKNOWN if entry is None else module_record(entry)
    own_class = entry is None or not entry.target.startswith("torch.")
    name = label(m) if own_class else "torch::nn::" + label(m) + record.suffix
    children = list(m.named_children())
    bare = record.container and record.text is None  # only its name is written
    # libtorch's modules do not show options before children
    options = "" if bare or (children and not own_class) else _options_text(m, entry, record)
    if not bare and (options or not children):
        name += f"({options})"
    if not children:
        return name
    inner = indent + "  "
    lines = [f"{inner}({key}): {cpp_text(child, inner)}" for key, child in children]
    return name + record.open + "(\n" + "\n".join(lines) + f"\n{indent})"


def _lower(text: str) -> str:
    return re.sub(r"=True\b", "=true", re.sub(r"=False\b", "=false", text))


def number(x: float) -> str:
    """A number in C++ notation: six digits, and no point unless needed."""
    return f"{x:g}"


def _options_text(m: Module, entry: Entry | None, record: ModuleRecord) -> str:
    if record.text is not None:
        return _lower(record.text(m))
    text = m.extra_repr()
    text = text.replace("(", "[").replace(",)", "]").replace(")", "]")
    text = _FLOAT.sub(lambda found: number(float(found[0])), _lower(text))
    text = _ENUM.sub(lambda found: f"{found[1]}=k{found[2].upper()}{found[3]}", text)
    text = re.sub(r"\bpadding=(same|valid)\b", r"padding='\1'", text)
    if entry is not None and not any(option.name == "bias" for option in entry.options):
        text = re.sub(r", bias=(true|false)", "", text)  # norms: libtorch lacks this option
    dims = record.dims
    if dims == 1:
        text = _ALONE.sub(r"=\1", text)
    elif dims:
        text = _LISTED.sub(lambda found: f"{found[1]}=[{', '.join([found[2]] * dims)}]", text)
    return text
