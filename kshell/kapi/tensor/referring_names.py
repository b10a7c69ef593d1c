"""The variables that refer to objects: for ``obj`names`` and notes at the prompt."""

from __future__ import annotations

from collections.abc import Iterator

from kshell.kapi.base.handles import KHandle
from kshell.values.base.core import Dict, List, Table, Value
from kshell.values.base.functions import Handle
from kshell.values.session.context import running

DEEP = 4  # nesting levels searched for handles


def referring() -> dict[int, list[str]]:
    """The variables in all namespaces that refer to each object, by handle number: their value is the object, or
    contains it."""
    names: dict[int, list[str]] = {}
    for space, variables in running().names.spaces.items():
        for name, value in list(variables.items()):
            if name[0] == "_":
                continue
            qualified = name if space == "." else f"{space}.{name}"
            for handle in _handles(value, DEEP):
                own_names = names.setdefault(handle.number, [])
                if qualified not in own_names:
                    own_names.append(qualified)
    return names


def _handles(x: Value, deep: int) -> Iterator[Handle]:
    """The handles in a value."""
    if isinstance(x, KHandle):
        yield x
    elif deep:
        inner = (
            x.items
            if x.__class__ is List
            else (x.k, x.v)
            if x.__class__ is Dict
            else x.cols
            if x.__class__ is Table
            else ()
        )
        for item in inner:
            yield from _handles(item, deep - 1)
