"""Built-in names: their values, and which can be used infix."""

from __future__ import annotations

from kshell import registry
from kshell.values.base.core import Value
from kshell.values.base.functions import Function, Prim
from kshell.values.base.primitives import type_of_entry
from kshell.values.base.symbols import sym
from kshell.values.session.context import running

_PRIMS: dict[int, Prim] = {}


def prim(entry: registry.Entry) -> Prim:
    """The value of a registered verb, iterator keyword or api function: one Prim per entry."""
    primitive = _PRIMS.get(id(entry))
    if primitive is None or primitive.entry is not entry:
        primitive = _PRIMS[id(entry)] = Prim(entry.name, entry.fns, entry, type_of_entry(entry))
    return primitive


def known(name: str) -> Value:
    """The value of a built-in name; a symbol for any other name."""
    entry = registry.find("verb", name)
    return prim(entry) if entry is not None else sym(name)


def is_infix(name: str) -> bool:
    """Can this name be used infix?"""
    entry = registry.find("verb", name)
    if entry is not None:
        return entry.infix
    keyword = running().names.spaces.get(".q", {}).get(name)  # a keyword defined by the user
    return isinstance(keyword, Function) and keyword.rank == 2
