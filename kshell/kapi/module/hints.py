"""Hints under errors of definitions of modules: what was probably meant."""

from __future__ import annotations

from collections.abc import Sequence

from kshell import registry
from kshell.kapi.module.options import module_record
from kshell.registry import Entry
from kshell.values.base.core import Sym, Value, is_list


def name_hint(entry: Entry, name: str, args: Sequence[Value]) -> str:
    """A hint where an option was meant by the symbol that was taken for the module's name; empty otherwise."""
    if not name or not entry.options:
        return ""
    if name in {option.name for option in entry.options}:
        return (f"`{name} was taken for the module's name: an option by its name is one item with its value, "
                f"(`{entry.name};(`{name};value))")
    first = entry.options[0]
    if first.type == "symbol" and module_record(entry).parse is None and args:
        return f"`{name} was taken for the module's name: the option is (`{first.name};`{name})"
    return ""


def layers_hint(entry: Entry, args: Sequence[Value]) -> str:
    """A hint where a container's layers stand among its own options, or its options beside it; empty otherwise."""
    if not module_record(entry).container or (args and not any(head_type(arg) for arg in args)):
        return ""
    head = f"(`{entry.name};..)" if entry.options else f"`{entry.name}"
    return f"what defines a {entry.name} is one item, its layers are the items after it: seq({head};(`linear;..);..)"


def head_type(x: Value) -> Entry | None:
    """The module type with which a list begins."""
    head = x.items[0] if is_list(x) and len(x) else None
    return registry.find("module", head.s) if isinstance(head, Sym) else None
